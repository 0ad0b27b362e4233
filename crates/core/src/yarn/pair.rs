//! Two segments that may touch: on which side of each other they belong, where that was last seen, and whether they have passed since.

use super::pass;
use super::points::Points;
use crate::contact::ccd;
use crate::math::Vec3;
use serde::{Deserialize, Serialize};

/// Two segments that may touch.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Pair {
    /// Their numbers, the smaller one first.
    pub key: [u32; 2],
    /// From the second to the first (unit), when it was last seen on its side.
    pub normal: Vec3,
    /// Where its ends were drawn then [m].
    pub seen: ccd::Corners,
    /// How far they come nearer to each other in a step, at most [m].
    pub way: f64,
    /// How far apart they were at the last look [m], and how many looks it rests from there on; none if that isn't known.
    pub apart: f32,
    pub rested: u8,
    /// Steps in which it was on the wrong side.
    pub wrong: u8,
    /// It had passed when the step began, before it was a pair.
    pub late: bool,
}

impl Pair {
    pub const NONE: Self = Self {
        key: [0; 2],
        normal: Vec3::Y,
        seen: [Vec3::ZERO; 4],
        way: 0.0,
        apart: 0.0,
        rested: 0,
        wrong: 0,
        late: false,
    };

    /// A new one, seen on its side at these corners.
    pub fn seen(key: [u32; 2], seen: ccd::Corners, way: f64) -> Self {
        let across = || (seen[1] - seen[0]).cross(seen[3] - seen[2]).try_normalize().unwrap_or(Vec3::Y);
        let normal = nearest(&seen).0.try_normalize().unwrap_or_else(across);
        Self { key, normal, seen, way, ..Self::NONE }
    }

    /// True if its corners have passed.
    #[inline(always)]
    pub fn has_passed(&self, x: &ccd::Corners) -> bool {
        // What is apart along a line all the way doesn't pass.
        let apart = |x: &ccd::Corners| along(x, self.normal) > 0.0;
        !(apart(x) && apart(&self.seen)) && pass::has_passed(&self.seen, x)
    }

    /// Follows its corners; it stays as it was seen if it has passed.
    #[inline(always)]
    pub fn follow(&mut self, x: &ccd::Corners) {
        if !self.has_passed(x) {
            let (between, ..) = nearest(x);
            let length = between.length();
            if length * length > SHORT {
                (self.normal, self.seen) = (between / length, *x);
            }
        }
    }
}

/// The ends of a pair: particles, and where yarns are drawn beside them [m].
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub particles: [u32; 4],
    pub beside: [Vec3; 4],
}

impl Ends {
    /// Where they are drawn [m].
    #[inline(always)]
    pub fn corners(&self, at: &Points) -> ccd::Corners {
        self.drawn(|p| at.get(p))
    }

    /// Where they would be drawn if particles were elsewhere [m].
    #[inline(always)]
    pub fn drawn(&self, at: impl Fn(usize) -> Vec3) -> ccd::Corners {
        let of = |k: usize| at(self.particles[k] as usize) + self.beside[k];
        [of(0), of(1), of(2), of(3)]
    }
}

/// Square of a length that is none [m²].
pub(super) const SHORT: f64 = 1e-24;

/// How far the first segment is beyond the second one along a line (unit), at least [m].
#[inline(always)]
pub(super) fn along(x: &ccd::Corners, line: Vec3) -> f64 {
    let along = [x[0].dot(line), x[1].dot(line), x[2].dot(line), x[3].dot(line)];
    along[0].min(along[1]) - along[2].max(along[3])
}

/// From the nearest point of the second segment to that of the first, and where they are. As [`crate::contact::distance::edge_edge`] does, but without care for segments
/// that have no length, and in a third of the time; of parallel ones a point that both are beside counts.
#[inline(always)]
pub(super) fn nearest(x: &[Vec3; 4]) -> (Vec3, f64, f64) {
    let (d1, d2, r) = (x[1] - x[0], x[3] - x[2], x[0] - x[2]);
    let (a, b, e) = (d1.dot(d1), d1.dot(d2), d2.dot(d2));
    let (c, f) = (d1.dot(r), d2.dot(r));
    let area = a * e - b * b;
    let s = if area > 1e-6 * a * e { ((b * f - c * e) / area).clamp(0.0, 1.0) } else { 0.5 };
    let t = ((b * s + f) / e.max(SHORT)).clamp(0.0, 1.0);
    let s = ((b * t - c) / a.max(SHORT)).clamp(0.0, 1.0);
    (r + d1 * s - d2 * t, s, t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::distance;
    use crate::math::hash_unit;

    #[test]
    fn nearest_points_are_those_of_the_careful_search() {
        for seed in 0..20_000 {
            let vector = |k: u64| Vec3::from([0, 1, 2].map(|a| 2.0 * hash_unit(seed, 3 * k + a) - 1.0));
            let mut x = [0, 1, 2, 3].map(vector);
            if seed % 3 == 0 {
                // Nearly parallel.
                x[3] = x[2] + (x[1] - x[0]) * hash_unit(seed, 50) + vector(9) * 1e-2;
            }
            let law = distance::edge_edge_squared([x[0], x[1]], [x[2], x[3]]).sqrt();
            let (between, s, t) = nearest(&x);
            assert!((0.0..=1.0).contains(&s) && (0.0..=1.0).contains(&t));
            // One turn from the feet on the lines: off by little, and only where segments are nearly parallel.
            let off = between.length() - law;
            assert!(off > -1e-12 && (off < 1e-9 || seed % 3 == 0 && off < 0.05), "{seed}: {off}");
        }
    }
}
