//! Loops that become vector code, for the widest vectors this machine has.
//!
//! A [`Work`] is a plain loop over plain numbers, without a branch in its body. It is compiled twice: for what every
//! machine of the target has (two numbers at a time on x86-64 and with WASM's SIMD), and for AVX2 (four), which is taken
//! where it is found at run time. Both round every operation alike: no fused multiply-add is enabled, and the
//! compiler may not reorder sums. So the width never changes a bit.

/// Rows that are computed together: a multiple of every vector width, few enough to stay in the first-level cache.
pub const LANES: usize = 32;

/// One number for each of [`LANES`] rows.
pub type Lanes = [f64; LANES];

/// A loop to run with wide vectors. `run` and all it calls must be `#[inline(always)]`: what isn't inlined stays narrow.
pub trait Work {
    /// Runs it.
    fn run(self);
}

/// Runs `work` with the widest vectors there are.
#[inline]
pub fn run(work: impl Work) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn wide(work: impl Work) {
            work.run();
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: `wide` is safe but for needing AVX2, which was found the line above.
            #[allow(unsafe_code)]
            unsafe {
                wide(work);
            }
            return;
        }
    }
    work.run();
}
