//! Nearest points of a point and a triangle, and of two edges.
//!
//! A point p and the triangle Σ wₖ xₖ, w ≥ 0, Σ wₖ = 1: if p lies above the inside, its weights are those of its foot, from areas (the
//! cross product n = (b − a) × (c − a), not the Gram determinant, which loses half the digits). Otherwise the nearest point lies on an edge that sees p, one with a negative
//! weight: were p behind both edges of a corner, it would not be nearest to that corner. Two edges a + s (b − a) and c + t (d − c): the feet of the
//! common normal, s held in 0 … 1, then t for that s, then s for that t.
//!
//! Where n is too small to tell (slivers, triangles without area, parallel edges, edges without length) every edge, or every end, is asked as
//! well and the least distance counts; that needs no n. So the answer is always a point of the thing, and no farther than the nearest one
//! but for rounding: some 10⁻¹⁵ of the size and distance of the whole, at worst 10⁻⁹ of it in squared distance at the edge of what counts as a sliver.
//! Where several points are nearest (parallel edges) one of them is returned, the same one every time.
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | w | `weights` | 1 | weights of the triangle's corners |
//! | s, t | | 1 | places along the two edges, 0 … 1 |
//!
//! Source: Ericson 2005, *Real-Time Collision Detection*, 5.1.5 and 5.1.9, with the regions replaced as said, since his tests of regions disagree with each other
//! on flat triangles.
//!
//! Limits: what is no number yields weights that may be no numbers, never a panic.

use crate::math::Vec3;

/// A triangle or a pair of edges with sin²(angle) below this is flat: there the rounding of n, 10⁻¹⁵, moves the foot by 10⁻¹⁰ of the size.
const FLAT: f64 = 1e-10;

/// The point of a triangle that is nearest to another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest3 {
    /// Weights of the three corners: none negative, sum 1.
    pub weights: [f64; 3],
}

impl Nearest3 {
    /// The point itself.
    #[inline(always)]
    pub fn of(&self, [a, b, c]: [Vec3; 3]) -> Vec3 {
        a * self.weights[0] + b * self.weights[1] + c * self.weights[2]
    }
}

/// Where on the edge from `a` to `b` the nearest point to `p` is, 0 … 1; 0 if the edge has no length.
#[inline(always)]
pub fn point_edge(p: Vec3, [a, b]: [Vec3; 2]) -> f64 {
    let along = b - a;
    let (at, length) = ((p - a).dot(along), along.length_squared());
    if at <= 0.0 || length == 0.0 {
        0.0
    } else if at >= length {
        1.0
    } else {
        at / length
    }
}

/// The point of a triangle nearest to `p`.
#[inline]
pub fn point_triangle(p: Vec3, [a, b, c]: [Vec3; 3]) -> Nearest3 {
    let (ab, ac, ap) = (b - a, c - a, p - a);
    let n = ab.cross(ac);
    let area = n.length_squared();
    let longest = ab.length_squared().max(ac.length_squared()).max((c - b).length_squared());
    let flat = area <= FLAT * longest * longest;
    let (v, w) = (ap.cross(ac).dot(n), ab.cross(ap).dot(n));
    let u = area - v - w;
    let above = u >= 0.0 && v >= 0.0 && w >= 0.0 && area > 0.0;
    let foot = || {
        let (v, w) = (v / area, w / area);
        [(1.0 - v - w).max(0.0), v, w]
    };
    if above && !flat {
        return Nearest3 { weights: foot() };
    }
    let mut best = (f64::INFINITY, [1.0, 0.0, 0.0]);
    let mut ask = |weights: [f64; 3]| {
        let squared = (a * weights[0] + b * weights[1] + c * weights[2]).distance_squared(p);
        if squared < best.0 {
            best = (squared, weights);
        }
    };
    if flat || u < 0.0 {
        let s = point_edge(p, [b, c]);
        ask([0.0, 1.0 - s, s]);
    }
    if flat || v < 0.0 {
        let s = point_edge(p, [a, c]);
        ask([1.0 - s, 0.0, s]);
    }
    if flat || w < 0.0 {
        let s = point_edge(p, [a, b]);
        ask([1.0 - s, s, 0.0]);
    }
    if above {
        ask(foot());
    }
    Nearest3 { weights: best.1 }
}

/// Places (s, t) of the nearest points on the edges a–b and c–d.
#[inline]
pub fn edge_edge([a, b]: [Vec3; 2], [c, d]: [Vec3; 2]) -> (f64, f64) {
    let (first, second, apart) = (b - a, d - c, c - a);
    let n = first.cross(second);
    let area = n.length_squared();
    let flat = area <= FLAT * first.length_squared() * second.length_squared();
    // The feet of the common normal, drawn back to the edges one after the other.
    let feet = || {
        let s = (apart.cross(second).dot(n) / area).clamp(0.0, 1.0);
        let t = point_edge(a + first * s, [c, d]);
        if t == 0.0 || t == 1.0 { (point_edge(if t == 0.0 { c } else { d }, [a, b]), t) } else { (s, t) }
    };
    if !flat {
        return feet();
    }
    let mut best = (f64::INFINITY, (0.0, 0.0));
    let mut ask = |(s, t): (f64, f64)| {
        let squared = (a + first * s).distance_squared(c + second * t);
        if squared < best.0 {
            best = (squared, (s, t));
        }
    };
    ask((0.0, point_edge(a, [c, d])));
    ask((1.0, point_edge(b, [c, d])));
    ask((point_edge(c, [a, b]), 0.0));
    ask((point_edge(d, [a, b]), 1.0));
    if area > 0.0 {
        ask(feet());
    }
    best.1
}

/// Squared distance of a point and a triangle [m²].
#[inline]
pub fn point_triangle_squared(p: Vec3, triangle: [Vec3; 3]) -> f64 {
    point_triangle(p, triangle).of(triangle).distance_squared(p)
}

/// Squared distance of two edges [m²].
#[inline]
pub fn edge_edge_squared([a, b]: [Vec3; 2], [c, d]: [Vec3; 2]) -> f64 {
    let (s, t) = edge_edge([a, b], [c, d]);
    (a + (b - a) * s).distance_squared(c + (d - c) * t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::hash_unit;

    /// Four corners of many kinds: anywhere, on a coarse lattice (flat, parallel, coincident), slivers, far away, tiny.
    fn corners(seed: u64) -> ([Vec3; 4], f64) {
        let number = |key: u64| 2.0 * hash_unit(seed, key) - 1.0;
        let vector = |key: u64| Vec3::new(number(3 * key), number(3 * key + 1), number(3 * key + 2));
        let mut four: [Vec3; 4] = std::array::from_fn(|k| vector(k as u64));
        match seed % 6 {
            0 | 1 => (four, 1.0),
            2 => (four.map(|x| (x * 1.5).round()), 2.0),
            3 => {
                // The last three nearly on a line, the last two edges nearly parallel.
                let thin = [1e-4, 1e-6, 1e-9, 1e-12, 0.0][(seed / 6 % 5) as usize];
                four[3] = four[2] + (four[2] - four[1]) * number(50) + vector(20) * thin;
                if seed % 12 == 3 {
                    four[1] = four[0] + (four[3] - four[2]) * number(51) + vector(21) * thin;
                }
                (four, 3.0)
            }
            4 => (four.map(|x| x * 1e-6), 1e-6),
            _ => (four.map(|x| x + Vec3::splat(1e3)), 1e3),
        }
    }

    /// How far the squared distance may be from the least one by what the nearest point of a convex set satisfies: no corner lies
    /// farther towards the other one.
    fn excess(from: Vec3, to: Vec3, corners: &[Vec3]) -> f64 {
        corners.iter().map(|x| (to - from).dot(*x - from)).fold(0.0, f64::max)
    }

    #[test]
    fn no_corner_of_a_triangle_lies_farther_towards_the_point() {
        for seed in 0..60_000 {
            let ([p, a, b, c], size) = corners(seed);
            let nearest = point_triangle(p, [a, b, c]);
            let [u, v, w] = nearest.weights;
            assert!(u >= 0.0 && v >= 0.0 && w >= 0.0 && (u + v + w - 1.0).abs() < 1e-14, "{seed}: {nearest:?}");
            let excess = excess(nearest.of([a, b, c]), p, &[a, b, c]);
            assert!(excess <= 1e-9 * size * size, "{seed}: {excess:e}");
            if seed % 6 != 3 {
                assert!(excess <= 1e-12 * size * size, "{seed}: {excess:e}");
            }
        }
    }

    #[test]
    fn no_end_of_an_edge_lies_farther_towards_the_other() {
        for seed in 0..60_000 {
            let ([a, b, c, d], size) = corners(seed);
            let (s, t) = edge_edge([a, b], [c, d]);
            assert!((0.0..=1.0).contains(&s) && (0.0..=1.0).contains(&t), "{seed}: {s} {t}");
            let (x, y) = (a + (b - a) * s, c + (d - c) * t);
            let excess = excess(x, y, &[a, b]).max(excess(y, x, &[c, d]));
            assert!(excess <= 1e-9 * size * size, "{seed}: {excess:e}");
            if seed % 6 != 3 {
                assert!(excess <= 1e-12 * size * size, "{seed}: {excess:e}");
            }
        }
    }

    #[test]
    fn no_point_of_a_fine_grid_is_nearer() {
        let steps = || (0..=40).flat_map(|i| (0..=40).map(move |j| (f64::from(i) / 40.0, f64::from(j) / 40.0)));
        for seed in 0..1200 {
            let ([a, b, c, d], size) = corners(seed);
            let slack = 1e-9 * size * size;
            let least = steps().filter(|(u, v)| u + v <= 1.0);
            let least = least.map(|(u, v)| a.distance_squared(b + (c - b) * u + (d - b) * v)).fold(f64::MAX, f64::min);
            let found = point_triangle_squared(a, [b, c, d]);
            assert!(found <= least + slack, "{seed}: {found} {least}");
            let least = steps().map(|(s, t)| (a + (b - a) * s).distance_squared(c + (d - c) * t));
            let least = least.fold(f64::MAX, f64::min);
            let found = edge_edge_squared([a, b], [c, d]);
            assert!(found <= least + slack, "{seed}: {found} {least}");
        }
    }

    #[test]
    fn every_region_and_every_degenerate_thing() {
        let [o, x, y, z] = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z];
        let weights = |p: Vec3, t: [Vec3; 3]| point_triangle(p, t).weights;
        let p = |u: f64, v: f64| Vec3::new(u, v, 0.7);
        assert_eq!(weights(p(0.25, 0.5), [o, x, y]), [0.25, 0.25, 0.5]);
        assert_eq!(weights(p(-1.0, -1.0), [o, x, y]), [1.0, 0.0, 0.0]);
        assert_eq!(weights(p(3.0, 0.5), [o, x, y]), [0.0, 1.0, 0.0]);
        assert_eq!(weights(p(0.5, 3.0), [o, x, y]), [0.0, 0.0, 1.0]);
        assert_eq!(weights(p(0.25, -1.0), [o, x, y]), [0.75, 0.25, 0.0]);
        assert_eq!(weights(p(-1.0, 0.25), [o, x, y]), [0.75, 0.0, 0.25]);
        assert_eq!(weights(p(1.0, 1.0), [o, x, y]), [0.0, 0.5, 0.5]);
        // Nearest to a corner though behind one of its edges: an obtuse triangle.
        assert_eq!(weights(Vec3::new(-2.0, 0.1, 0.0), [o, x, Vec3::new(-1.0, 0.2, 0.0)]), [0.0, 0.0, 1.0]);
        // A point, a segment.
        assert_eq!(point_triangle_squared(z, [o, o, o]), 1.0);
        assert_eq!(point_triangle_squared(x * 0.5 + z, [o, x, x * 0.5]), 1.0);
        assert_eq!(point_triangle_squared(x * 2.0, [o, x * 3.0, x]), 0.0);
        // Edges: crossing, parallel, on one line, without length.
        assert_eq!(edge_edge([-x, x], [z - y, z + y]), (0.5, 0.5));
        assert_eq!(edge_edge_squared([o, x], [z + x * 0.5, z + x * 2.0]), 1.0);
        assert_eq!(edge_edge_squared([o, x], [x * 3.0, x * 2.0]), 1.0);
        assert_eq!(edge_edge([o, x], [x * 3.0, x * 2.0]), (1.0, 1.0));
        assert_eq!(edge_edge([o, x], [y + x * 0.25, y + x * 0.25]).0, 0.25);
        assert_eq!(edge_edge_squared([o, o], [z, z]), 1.0);
    }

    #[test]
    fn what_is_no_number_does_not_panic() {
        let lost = Vec3::NAN;
        point_triangle(lost, [Vec3::ZERO, Vec3::X, Vec3::Y]);
        point_triangle(Vec3::ZERO, [Vec3::INFINITY, lost, Vec3::Y]);
        edge_edge([lost, Vec3::X], [Vec3::ZERO, Vec3::Y]);
        edge_edge([Vec3::INFINITY, Vec3::X], [Vec3::ZERO, lost]);
    }
}
