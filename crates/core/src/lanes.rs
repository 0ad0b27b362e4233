//! Loops that become vector code, for the widest vectors this machine has.
//!
//! A [`Work`] is a plain loop over plain numbers, without a branch in its body. It is compiled for several [`Width`]s:
//! for what every machine of the target has (two numbers at a time on x86-64), for AVX2 (four) and for AVX-512 (eight);
//! the widest that is found at run time is taken. All round every operation alike: the compiler may neither reorder
//! sums nor fuse a product with a sum, even where (as with AVX-512) the machine could. So the width never changes a bit.

/// Rows that are computed together: a multiple of every vector width, few enough to stay in the first-level cache.
pub const LANES: usize = 32;

/// One number for each of [`LANES`] rows.
pub type Lanes = [f64; LANES];

/// A loop to run with wide vectors. `run` and all it calls must be `#[inline(always)]`: what isn't inlined stays narrow. That goes for closures too, which can't be marked: within loops `map` of arrays and `for_each` are inlined
/// or not from one build to the next, so they are written out as loops.
pub trait Work {
    /// Runs it.
    fn run(self);
}

/// Tells the machine that all of this will be used soon, where it can be told. Loops in which it is the memory that takes the time tell it of the next block; no bit depends on it.
#[inline(always)]
pub fn fetch<T>(what: &T) {
    #[cfg(target_arch = "x86_64")]
    for byte in (0..size_of::<T>()).step_by(64) {
        // SAFETY: a place within `what`, and a hint that reads nothing, by an instruction that every such machine has.
        #[allow(unsafe_code)]
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(what).cast::<i8>().add(byte));
        }
    }
    let _ = what;
}

/// Vector widths that code is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// What every machine of the target has.
    Narrow,
    /// AVX2.
    Four,
    /// AVX-512.
    Eight,
}

impl Width {
    /// All widths, the widest first.
    pub const ALL: [Self; 3] = [Self::Eight, Self::Four, Self::Narrow];

    /// True if this machine has it.
    #[inline]
    pub fn is_here(self) -> bool {
        match self {
            Self::Narrow => true,
            #[cfg(target_arch = "x86_64")]
            Self::Four => is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Self::Eight => is_x86_feature_detected!("avx512f"),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Four | Self::Eight => false,
        }
    }
}

/// Runs `work` with the widest vectors this machine has.
#[inline]
pub fn run(work: impl Work) {
    run_at(Width::ALL.into_iter().find(|width| width.is_here()).unwrap_or(Width::Narrow), work);
}

/// Runs `work` with vectors of this width, or narrow ones if this machine doesn't have it.
pub fn run_at(width: Width, work: impl Work) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn four(work: impl Work) {
            work.run();
        }
        #[target_feature(enable = "avx512f")]
        fn eight(work: impl Work) {
            work.run();
        }
        // SAFETY: these functions are safe but for needing instructions that `is_here` has found.
        #[allow(unsafe_code)]
        unsafe {
            match width {
                Width::Four if width.is_here() => return four(work),
                Width::Eight if width.is_here() => return eight(work),
                _ => {}
            }
        }
    }
    let _ = width;
    work.run();
}
