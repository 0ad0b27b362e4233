//! Number types and the few functions the standard library would compute differently on different machines.

use glam::{DMat3, DQuat, DVec3};
use serde::{Deserialize, Serialize};
use std::f64::consts::{PI, SQRT_2};

/// The number type of the engine.
pub type Real = f64;
/// Positions [m], velocities [m/s], forces [N].
pub type Vec3 = DVec3;
/// Derivatives of vectors by vectors.
pub type Mat3 = DMat3;
/// Turns (unit quaternions).
pub type Quat = DQuat;
/// Single precision, for linear systems: half the memory to go through; in the place of four numbers, as vectors are.
pub type Vec3f = glam::Vec3A;
/// Single precision, as [`Vec3f`].
pub type Mat3f = glam::Mat3A;
pub use ripstop_mesh::Vec2;

/// Angle of the vector (x, y) [rad], by libm: same bits everywhere.
#[inline]
pub fn atan2(y: Real, x: Real) -> Real {
    libm::atan2(y, x)
}

/// The angle whose sine and cosine are in proportion to `s` and `c` [rad], for vectors of length `size` = √(s² + c²);
/// any finite number if all three are zero. Within 1e-13, and without a branch, so that loops over it become vector
/// code.
///
/// t = tan(ψ/2) = |s| / (size + |c|) for the angle ψ from the nearer end of the c axis, at most a right angle. ψ/2 is
/// measured from the nearest of γ = 0, π/8, π/4, as t' = tan(ψ/2 − γ), and φ = ψ or π − ψ = 2γ + 2 atan t'. There
/// |t'| < 0.203, and the first missing term of the series of atan is below 1e-13.
#[inline(always)]
pub fn angle(s: Real, c: Real, size: Real) -> Real {
    // The sum with the smallest number changes no bit of a denominator that isn't zero.
    let (y, x) = (s.abs(), size + c.abs() + Real::MIN_POSITIVE);
    // 0.2024 = √0.041; 0.668 = tan(3π/16); sine and cosine of π/8 and π/4.
    let (sin, cos, twice) = if y < x * 0.2024 {
        (0.0, 1.0, 0.0)
    } else if y < x * 0.668 {
        (0.382_683_432_365_089_8, 0.923_879_532_511_286_7, 0.25 * PI)
    } else {
        (0.5 * SQRT_2, 0.5 * SQRT_2, 0.5 * PI)
    };
    let t = (y * cos - x * sin) / (x * cos + y * sin);
    let q = t * t;
    // In pairs rather than term by term: a chain half as long, and the chain is what a loop over angles waits for.
    let (q2, t2) = (q * q, 2.0 * t);
    let low = (-1.0 / 3.0 + q * (1.0 / 5.0)) + q2 * (-1.0 / 7.0 + q * (1.0 / 9.0));
    let high = (-1.0 / 11.0 + q * (1.0 / 13.0)) + q2 * (-1.0 / 15.0 + q * (1.0 / 17.0));
    let near = (twice + t2) + t2 * q * (low + q2 * q2 * high);
    (if c < 0.0 { PI - near } else { near }).copysign(s)
}

/// 1 / x, and zero where x is zero: what a degenerate element multiplies its forces by.
#[inline(always)]
pub fn inverse_or_zero(x: Real) -> Real {
    let inverse = 1.0 / x;
    if x == 0.0 { 0.0 } else { inverse }
}

/// a bᵀ.
#[inline(always)]
pub fn outer(a: Vec3, b: Vec3) -> Mat3 {
    Mat3::from_cols(a * b.x, a * b.y, a * b.z)
}

/// Sine and cosine by libm: same bits everywhere.
#[inline]
pub fn sin_cos(angle: Real) -> (Real, Real) {
    libm::sincos(angle)
}

/// `p` turned about `axis` (unit) through `angle` [rad]: Rodrigues' formula.
pub fn rotate(p: Vec3, axis: Vec3, angle: Real) -> Vec3 {
    let (s, c) = sin_cos(angle);
    p * c + axis.cross(p) * s + axis * (axis.dot(p) * (1.0 - c))
}

/// The turn about `vector` through its length [rad]. (glam's own takes the sine of the platform.)
pub fn turn(vector: Vec3) -> Quat {
    let angle = vector.length();
    if angle == 0.0 {
        return Quat::IDENTITY;
    }
    let (s, c) = sin_cos(0.5 * angle);
    let axis = vector * (s / angle);
    Quat::from_xyzw(axis.x, axis.y, axis.z, c)
}

/// Axis times angle [rad] of a turn, the shorter way round: the inverse of [`turn`].
pub fn turn_vector(q: Quat) -> Vec3 {
    let q = if q.w < 0.0 { -q } else { q };
    let sine = q.xyz().length();
    // 2 atan(s / w) / s tends to 2 for small s, where the quotient would be 0 / 0.
    if sine == 0.0 { Vec3::ZERO } else { q.xyz() * (2.0 * atan2(sine, q.w) / sine) }
}

/// A symmetric 2×2 tensor in material coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sym2 {
    /// Component along u, u.
    pub xx: Real,
    /// Component along u, v.
    pub xy: Real,
    /// Component along v, v.
    pub yy: Real,
}

/// An array of what `of` makes of each number. The library's `from_fn` and `map` are inlined in hot loops or not, from one build to the next.
#[inline(always)]
pub fn array<T: Copy + Default, const N: usize>(of: impl Fn(usize) -> T) -> [T; N] {
    let mut all = [T::default(); N];
    for (k, item) in all.iter_mut().enumerate() {
        *item = of(k);
    }
    all
}

/// What `of` makes of each of some items, likewise.
#[inline(always)]
pub fn mapped<T: Copy, U: Copy + Default, const N: usize>(items: [T; N], of: impl Fn(T) -> U) -> [U; N] {
    array(|k| of(items[k]))
}

impl Sym2 {
    /// `scale` · d dᵀ.
    #[inline]
    pub fn outer(d: Vec2, scale: Real) -> Self {
        Self { xx: scale * d.x * d.x, xy: scale * d.x * d.y, yy: scale * d.y * d.y }
    }

    /// nᵀ T n.
    #[inline]
    pub fn along(self, n: Vec2) -> Real {
        self.xx * n.x * n.x + 2.0 * self.xy * n.x * n.y + self.yy * n.y * n.y
    }

    /// The larger eigenvalue.
    #[inline(always)]
    pub fn most(self) -> Real {
        let (mean, half) = (0.5 * (self.xx + self.yy), 0.5 * (self.xx - self.yy));
        mean + (half * half + self.xy * self.xy).sqrt()
    }

    /// The larger eigenvalue and its unit eigenvector, which is given the sign that makes it point to +u (or +v).
    pub fn largest(self) -> (Real, Vec2) {
        let (mean, half) = (0.5 * (self.xx + self.yy), 0.5 * (self.xx - self.yy));
        let radius = (half * half + self.xy * self.xy).sqrt();
        // Of the two equivalent forms, the one whose terms don't cancel.
        let axis = if half >= 0.0 { Vec2::new(half + radius, self.xy) } else { Vec2::new(self.xy, radius - half) };
        let axis = axis.try_normalize().unwrap_or(Vec2::X);
        let flip = axis.x < 0.0 || (axis.x == 0.0 && axis.y < 0.0);
        (mean + radius, if flip { -axis } else { axis })
    }

    /// The same tensor without its negative part: each eigenvalue below zero becomes zero.
    #[inline(always)]
    pub fn positive_part(self) -> Self {
        let (mean, half) = (0.5 * (self.xx + self.yy), 0.5 * (self.xx - self.yy));
        let radius = (half * half + self.xy * self.xy).sqrt();
        // λ (T − μ I) / (λ − μ) for the eigenvalues λ > 0 > μ: the projector on λ's axis. Without a branch, so that loops
        // over it become vector code: all of T if both pull, nothing if both push.
        let (high, low) = (mean + radius, mean - radius);
        let part = (high * inverse_or_zero(2.0 * radius)).max(0.0);
        let scale = if low >= 0.0 { 1.0 } else { part };
        let low = low.min(0.0);
        Self { xx: scale * (self.xx - low), xy: scale * self.xy, yy: scale * (self.yy - low) }
    }
}

impl std::ops::Add for Sym2 {
    type Output = Self;
    #[inline]
    fn add(self, o: Self) -> Self {
        Self { xx: self.xx + o.xx, xy: self.xy + o.xy, yy: self.yy + o.yy }
    }
}

impl std::ops::Sub for Sym2 {
    type Output = Self;
    #[inline]
    fn sub(self, o: Self) -> Self {
        Self { xx: self.xx - o.xx, xy: self.xy - o.xy, yy: self.yy - o.yy }
    }
}

/// A number in [0, 1) from a seed and a key, the same everywhere: SplitMix64's finisher.
pub fn hash_unit(seed: u64, key: u64) -> Real {
    let mut z = seed.wrapping_add(key.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as Real / (1u64 << 53) as Real
}

/// FNV-1a over 64-bit words: a fingerprint of a state, not a defence against forgery.
#[derive(Clone, Copy)]
pub struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fingerprint {
    /// Takes in one word.
    #[inline]
    pub fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        self.0 ^= self.0 >> 29;
    }

    /// Takes in the bits of a vector.
    pub fn vector(&mut self, v: Vec3) {
        for x in v.to_array() {
            self.word(x.to_bits());
        }
    }

    /// The fingerprint so far.
    pub fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn largest_eigenpair_of_known_tensors() {
        for degrees in (0..180).step_by(7) {
            let (s, c) = sin_cos(f64::from(degrees).to_radians());
            let (n, m) = (Vec2::new(c, s), Vec2::new(-s, c));
            let (value, axis) = (Sym2::outer(n, 3.0) + Sym2::outer(m, -1.0)).largest();
            assert!((value - 3.0).abs() < 1e-12);
            assert!(axis.perp_dot(n).abs() < 1e-12, "{degrees}°: {axis}");
        }
    }

    #[test]
    fn the_positive_part_keeps_what_pulls() {
        let (n, m) = (Vec2::new(0.6, 0.8), Vec2::new(-0.8, 0.6));
        let made = |a: f64, b: f64| Sym2::outer(n, a) + Sym2::outer(m, b);
        for (a, b) in [(3.0, 1.0), (3.0, -1.0), (-3.0, 0.5), (-3.0, -1.0), (0.0, 0.0)] {
            let rest = made(a, b).positive_part() - made(f64::max(a, 0.0), f64::max(b, 0.0));
            assert!(rest.xx.abs() + rest.xy.abs() + rest.yy.abs() < 1e-14, "{a} {b}");
        }
    }

    #[test]
    fn angles_are_exact_all_around() {
        for i in -31_400..=31_400 {
            let turned = f64::from(i) * 1e-4;
            let (sin, cos) = sin_cos(turned);
            assert!((angle(3.0 * sin, 3.0 * cos, 3.0) - turned).abs() < 2e-13, "{turned}");
        }
        assert_eq!(angle(0.0, -2.0, 2.0), PI);
        assert_eq!(angle(-0.5, 0.0, 0.5), -0.5 * PI);
        assert!(angle(0.0, 0.0, 0.0).is_finite());
    }

    #[test]
    fn turns_agree_with_rodrigues_and_come_back() {
        let p = Vec3::new(0.3, -1.0, 0.7);
        for angle in [0.0, 1e-9, 1e-3, 0.5, 2.0, 3.1] {
            let axis = Vec3::new(1.0, 2.0, 2.0) / 3.0;
            assert!((turn(axis * angle) * p - rotate(p, axis, angle)).length() < 1e-15);
            assert!((turn_vector(turn(axis * angle)) - axis * angle).length() < 1e-15);
        }
        // Three quarters one way are a quarter the other way.
        assert!((turn_vector(turn(Vec3::Y * 1.5 * PI)) + Vec3::Y * 0.5 * PI).length() < 1e-14);
    }

    #[test]
    fn a_turn_keeps_lengths_and_the_axis() {
        let axis = Vec3::new(1.0, 2.0, 2.0) / 3.0;
        let p = Vec3::new(0.3, -1.0, 0.7);
        let q = rotate(p, axis, 1.1);
        assert!((q.length() - p.length()).abs() < 1e-15);
        assert!((q.dot(axis) - p.dot(axis)).abs() < 1e-15);
        assert!((rotate(q, axis, -1.1) - p).length() < 1e-15);
    }
}
