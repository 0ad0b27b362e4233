//! Number types and the few functions the standard library would compute differently on different machines.

use glam::DVec3;
use serde::{Deserialize, Serialize};

/// The number type of the engine.
pub type Real = f64;
/// Positions [m], velocities [m/s], forces [N].
pub type Vec3 = DVec3;
pub use ripstop_mesh::Vec2;

/// Angle of the vector (x, y) [rad], by libm: same bits everywhere.
#[inline]
pub fn atan2(y: Real, x: Real) -> Real {
    libm::atan2(y, x)
}

/// The angle whose sine and cosine are in proportion to `s` and `c` [rad], for vectors of length `size` = √(s² + c²).
/// Made for angles near zero, where it costs a division and a polynomial: with t = tan(φ/2) = s / (size + c),
/// φ = 2 atan t by its series, whose first missing term is below 1e-13 for |φ| < 0.4; larger angles go to libm.
#[inline]
pub fn small_angle(s: Real, c: Real, size: Real) -> Real {
    let t = s / (size + c);
    let q = t * t;
    if q < 0.041 {
        let series = -1.0 / 15.0 + q * (1.0 / 17.0);
        let series = 1.0 / 13.0 + q * series;
        let series = -1.0 / 11.0 + q * series;
        let series = 1.0 / 9.0 + q * series;
        let series = -1.0 / 7.0 + q * series;
        let series = 1.0 / 5.0 + q * series;
        let series = -1.0 / 3.0 + q * series;
        2.0 * (t + t * q * series)
    } else {
        atan2(s, c)
    }
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
    fn small_angles_are_exact_and_meet_the_large_ones() {
        for i in -314..=314 {
            let angle = f64::from(i) * 0.01;
            let (sin, cos) = sin_cos(angle);
            assert!((small_angle(3.0 * sin, 3.0 * cos, 3.0) - angle).abs() < 2e-13, "{angle}");
        }
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
