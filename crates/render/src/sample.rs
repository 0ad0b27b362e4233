//! Sample points: where in the pixel, when in the shutter, which part of the sun and of the sky.
//!
//! The first two Sobol dimensions with hash-based Owen scrambling (B. Burley, *Practical Hash-based Owen Scrambling*,
//! 2020): pairs of numbers, shuffled anew for each use, seeded by pixel. A picture therefore depends on nothing but its
//! input: no clock, no thread, no state.

use glam::{Vec2, Vec3, vec2, vec3};

/// A good 32-bit mix (the finaliser of murmur3).
pub fn hash(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x85eb_ca6b);
    x ^= x >> 13;
    x = x.wrapping_mul(0xc2b2_ae35);
    x ^ (x >> 16)
}

/// Mix of two numbers.
pub fn hash2(a: u32, b: u32) -> u32 {
    hash(a ^ hash(b).wrapping_add(0x9e37_79b9).wrapping_add(a << 6).wrapping_add(a >> 2))
}

/// A number in 0..1 from a hash.
pub fn unit(h: u32) -> f32 {
    (h >> 8) as f32 * (1.0 / 16_777_216.0)
}

/// Laine–Karras permutation on bit-reversed numbers: an Owen scramble.
fn scramble(x: u32, seed: u32) -> u32 {
    let mut x = x.reverse_bits();
    x = x.wrapping_add(seed);
    x ^= x.wrapping_mul(0x6c50_b47c);
    x ^= x.wrapping_mul(0xb82f_1e52);
    x ^= x.wrapping_mul(0xc7af_e638);
    x ^= x.wrapping_mul(0x8d22_f6e6);
    x.reverse_bits()
}

/// Second Sobol dimension. Its matrix is Pascal's triangle modulo 2, a fivefold Kronecker product of (1 1; 0 1), so it takes
/// five shifts instead of a loop over bits.
fn sobol1(mut x: u32) -> u32 {
    x ^= (x & 0xaaaa_aaaa) >> 1;
    x ^= (x & 0xcccc_cccc) >> 2;
    x ^= (x & 0xf0f0_f0f0) >> 4;
    x ^= (x & 0xff00_ff00) >> 8;
    x ^= (x & 0xffff_0000) >> 16;
    x.reverse_bits()
}

/// The sample numbers of one ray path.
#[derive(Clone, Copy, Debug)]
pub struct Sampler {
    /// Seed of the pixel.
    pub seed: u32,
    /// Number of the sample in the pixel.
    pub index: u32,
}

impl Sampler {
    /// For pixel (x, y), sample `index`.
    pub fn new(x: u32, y: u32, index: u32) -> Self {
        Self { seed: hash2(x.wrapping_mul(0x1f1f_1f1f), y), index }
    }

    /// Pair number `use_number`, each in 0..1; over the samples of a pixel they fill the square evenly.
    pub fn pair(&self, use_number: u32) -> Vec2 {
        let seed = hash2(self.seed, use_number);
        let index = scramble(self.index, seed);
        let x = scramble(index.reverse_bits(), hash(seed ^ 0xa511_e9b3));
        let y = scramble(sobol1(index), hash(seed ^ 0x63d8_3595));
        vec2(unit(x), unit(y))
    }

    /// A number that differs for each path, for coverage tests.
    pub fn path_seed(&self) -> u32 {
        hash2(self.seed, self.index)
    }
}

/// Two directions square to the unit vector `n` (Duff et al., 2017).
pub fn basis(n: Vec3) -> (Vec3, Vec3) {
    let sign = if n.z >= 0.0 { 1.0 } else { -1.0 };
    let a = -1.0 / (sign + n.z);
    let b = n.x * n.y * a;
    (vec3(1.0 + sign * n.x * n.x * a, sign * b, -sign * n.x), vec3(b, sign + n.y * n.y * a, -n.y))
}

/// Point in the unit disk.
pub fn disk(u: Vec2) -> Vec2 {
    let r = u.x.sqrt();
    let (s, c) = libm::sincosf(core::f32::consts::TAU * u.y);
    vec2(r * c, r * s)
}

/// Direction about `n`, as likely as its cosine.
pub fn cosine_hemisphere(n: Vec3, u: Vec2) -> Vec3 {
    let d = disk(u);
    let (t, b) = basis(n);
    t * d.x + b * d.y + n * (1.0 - u.x).max(0.0).sqrt()
}

/// Direction in the cone about `axis` whose half angle has tangent `spread`.
pub fn cone(axis: Vec3, spread: f32, u: Vec2) -> Vec3 {
    let d = disk(u) * spread;
    let (t, b) = basis(axis);
    (axis + t * d.x + b * d.y).normalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_fill_the_square_evenly() {
        // A (0, 2)-net: 16 samples put exactly one in each of 16 columns, rows and 4×4 cells, whatever the pixel.
        for pixel in 0..20 {
            for use_number in 0..4 {
                let (mut columns, mut rows, mut cells) = ([0; 16], [0; 16], [0; 16]);
                for i in 0..16 {
                    let p = Sampler::new(pixel, 7, i).pair(use_number);
                    columns[(p.x * 16.0) as usize] += 1;
                    rows[(p.y * 16.0) as usize] += 1;
                    cells[(p.x * 4.0) as usize * 4 + (p.y * 4.0) as usize] += 1;
                }
                assert_eq!((columns, rows, cells), ([1; 16], [1; 16], [1; 16]));
            }
        }
    }

    #[test]
    fn hemisphere_has_mean_cosine_two_thirds() {
        let n = vec3(0.3, -0.8, 0.52).normalize();
        let mean: f32 =
            (0..1024).map(|i| cosine_hemisphere(n, Sampler::new(3, 4, i).pair(0)).dot(n)).sum::<f32>() / 1024.0;
        // Exact mean 2/3; a net of 1024 points errs by well under 1/64.
        assert!((mean - 2.0 / 3.0).abs() < 0.01, "{mean}");
    }
}
