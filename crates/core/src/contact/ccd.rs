//! When moving points, edges and triangles first meet: two queries that never miss.
//!
//! A point and a triangle meet at (t, u, v) if F = p − (a + u (b − a) + v (c − a)) is zero there, u, v ≥ 0, u + v ≤ 1; two edges if
//! F = (a + u (b − a)) − (c + v (d − c)) is, 0 ≤ u, v ≤ 1. Every corner moves along a straight line, x(t) = x₀ + t (x₁ − x₀), 0 ≤ t ≤ 1. F is
//! linear in each of t, u and v, so over a box of them each component lies between its values at the eight corners of the box: the
//! tightest bounds there are.
//! A box whose bounds leave out zero has no contact; another one is halved along the side over which F varies most.
//!
//! **Promise.** If the exact motions come as near as `gap` in every component anywhere in 0 ≤ t ≤ 1, a time is returned, and it is not
//! later than the first such time. Rounding is inside the bounds (`ROUNDING`). Nothing is special about flat triangles, edges without length,
//! parallel or coplanar ones, or things that don't move: they have many roots instead of one, and the earliest counts.
//!
//! **How conservative.** A time may be returned though nothing meets if the two come nearer to each other than `gap` + `tolerance` in every component.
//! The time is early by at most a thousandth of itself and what F varies by `tolerance` in; after `MOST_BOXES` boxes the search stops
//! and the earliest time that is not ruled out is returned.
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | x₀, x₁ | `from`, `to` | m | the four corners at the beginning and at the end |
//! | gap | `gap` | m | distance, component by component, that counts as contact |
//! | tolerance | `tolerance` | m | bounds of F below which a box isn't halved |
//!
//! Source: Karaöz 2015 eqs. 2.61–2.68 and Metaaphanon 2009 eq. 5 ask for the roots of a cubic and then whether the point lies inside; roots that
//! coincide, or a cubic that vanishes (all four coplanar all the time), are lost in rounding. This is the inclusion search of Snyder 1992, with the bounds of
//! Wang et al. 2021.

use crate::math::Vec3;

/// Four corners: a point and a triangle, or two edges.
pub type Corners = [Vec3; 4];

/// Bound of the rounding of F over the largest coordinate: some forty operations of 2⁻⁵³ each, doubled.
const ROUNDING: f64 = 1e-14;

/// Boxes after which the search stops.
const MOST_BOXES: u32 = 100_000;

/// How much earlier than the earliest box found another must be to be looked at, a share of its time.
const EARLIER: f64 = 1e-3;

/// What to look for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Query {
    /// Distance in every component that counts as contact [m].
    pub gap: f64,
    /// Resolution [m].
    pub tolerance: f64,
}

impl Default for Query {
    /// Touching, to a micrometre.
    fn default() -> Self {
        Self { gap: 0.0, tolerance: 1e-6 }
    }
}

/// First time in 0 … 1 at which a point (corner 0) meets a triangle (corners 1 to 3); see the promise above.
pub fn point_triangle(from: &Corners, to: &Corners, query: Query) -> Option<f64> {
    let at = |[p, a, b, c]: Corners, u: f64, v: f64| p - (a + (b - a) * u + (c - a) * v);
    search(from, to, query, at, |u, v| u + v <= 1.0)
}

/// First time in 0 … 1 at which an edge (corners 0 and 1) meets another one (corners 2 and 3); see the promise above.
pub fn edge_edge(from: &Corners, to: &Corners, query: Query) -> Option<f64> {
    let at = |[a, b, c, d]: Corners, u: f64, v: f64| (a + (b - a) * u) - (c + (d - c) * v);
    search(from, to, query, at, |_, _| true)
}

/// Ranges of t, u and v. Their ends are multiples of powers of two, so halving is exact.
type Box3 = [[f64; 2]; 3];

/// Bounds of F over a box: the smallest and largest values of each component, and the side over which F varies most.
fn bounds(from: &Corners, to: &Corners, at: impl Fn(Corners, f64, f64) -> Vec3, ranges: &Box3) -> (Vec3, Vec3, usize) {
    let [time, us, vs] = ranges;
    let mut values = [Vec3::ZERO; 8];
    for (i, t) in time.iter().enumerate() {
        let mut now = *from;
        for (now, to) in now.iter_mut().zip(to) {
            *now += (*to - *now) * *t;
        }
        for (j, u) in us.iter().enumerate() {
            for (k, v) in vs.iter().enumerate() {
                values[4 * i + 2 * j + k] = at(now, *u, *v);
            }
        }
    }
    let low = values.iter().copied().fold(Vec3::INFINITY, Vec3::min);
    let high = values.iter().copied().fold(Vec3::NEG_INFINITY, Vec3::max);
    let varies = |bit: usize| {
        let pairs = (0..8).filter(|i| i & bit == 0);
        pairs.map(|i| (values[i | bit] - values[i]).abs().max_element()).fold(0.0, f64::max)
    };
    let by = [varies(4), varies(2), varies(1)];
    let side = if by[0] >= by[1].max(by[2]) { 0 } else { 1 + usize::from(by[2] > by[1]) };
    (low, high, side)
}

fn search(
    from: &Corners,
    to: &Corners,
    query: Query,
    at: impl Fn(Corners, f64, f64) -> Vec3 + Copy,
    inside: impl Fn(f64, f64) -> bool,
) -> Option<f64> {
    let largest = from.iter().chain(to).map(|x| x.abs().max_element()).fold(0.0, f64::max);
    let reach = query.gap + ROUNDING * largest;
    // Finer than rounding there is nothing to see.
    let finest = query.tolerance.max(4.0 * ROUNDING * largest);
    let mut best: Option<f64> = None;
    // The search goes into the depth: at most three halvings per bit of a number.
    let mut stack: Vec<Box3> = Vec::with_capacity(64);
    stack.push([[0.0, 1.0]; 3]);
    let mut seen = 0;
    while let Some(ranges) = stack.pop() {
        let [[begin, _], us, vs] = ranges;
        if best.is_some_and(|best| begin >= best * (1.0 - EARLIER)) || !inside(us[0], vs[0]) {
            continue;
        }
        seen += 1;
        let (low, high, side) = bounds(from, to, at, &ranges);
        // Written so that what is no number counts as contact.
        if (low.cmpgt(Vec3::splat(reach)) | high.cmplt(Vec3::splat(-reach))).any() {
            continue;
        }
        let [low_end, high_end] = ranges[side];
        let middle = 0.5 * (low_end + high_end);
        let fine = (high - low).max_element() <= finest || middle <= low_end || middle >= high_end;
        if fine || seen >= MOST_BOXES {
            best = Some(best.map_or(begin, |best| best.min(begin)));
            continue;
        }
        let (mut first, mut second) = (ranges, ranges);
        (first[side][1], second[side][0]) = (middle, middle);
        stack.extend([second, first]);
    }
    best.map(|best| best * (1.0 - EARLIER))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::hash_unit;

    fn vector(seed: u64, key: u64) -> Vec3 {
        let number = |k| 2.0 * hash_unit(seed, 3 * key + k) - 1.0;
        Vec3::new(number(0), number(1), number(2))
    }

    fn corners(seed: u64, key: u64) -> Corners {
        std::array::from_fn(|k| vector(seed, 4 * key + k as u64))
    }

    fn moved(from: &Corners, to: &Corners, t: f64) -> Corners {
        std::array::from_fn(|k| from[k] + (to[k] - from[k]) * t)
    }

    /// Moves the first corner (and with `edge` the second along with it) so that there is contact at (t, u, v).
    fn meet(from: &mut Corners, to: &mut Corners, [t, u, v]: [f64; 3], edge: bool) {
        let now = moved(from, to, t);
        let apart = if edge {
            now[0] + (now[1] - now[0]) * u - (now[2] + (now[3] - now[2]) * v)
        } else {
            now[0] - (now[1] + (now[2] - now[1]) * u + (now[3] - now[1]) * v)
        };
        for k in 0..=usize::from(edge) {
            from[k] -= apart;
            to[k] -= apart;
        }
    }

    /// Smallest distance at time t over a fine grid of u and v.
    fn distance(now: &Corners, edge: bool) -> f64 {
        let mut least = f64::INFINITY;
        for (i, j) in (0..=100).flat_map(|i| (0..=100).map(move |j| (i, j))) {
            let (u, v) = (f64::from(i) / 100.0, f64::from(j) / 100.0);
            let [a, b, c, d] = *now;
            if edge {
                least = least.min((a + (b - a) * u).distance(c + (d - c) * v));
            } else if u + v <= 1.0 {
                least = least.min(a.distance(b + (c - b) * u + (d - b) * v));
            }
        }
        least
    }

    #[test]
    fn made_collisions_are_never_missed_and_never_told_late() {
        for seed in 0..2000 {
            let edge = seed % 2 == 1;
            let (mut from, mut to) = (corners(seed, 0), corners(seed, 1));
            let [t, mut u, mut v] = [0, 1, 2].map(|k| hash_unit(seed, 1000 + k));
            if seed % 5 == 0 {
                (u, v) = (u.round(), 0.0);
            }
            if !edge && u + v > 1.0 {
                (u, v) = (1.0 - u, 1.0 - v);
            }
            meet(&mut from, &mut to, [t, u, v], edge);
            let query = Query { gap: 1e-12, ..Query::default() };
            let found = if edge { edge_edge(&from, &to, query) } else { point_triangle(&from, &to, query) };
            let found = found.unwrap_or_else(|| panic!("query {seed} missed"));
            assert!(found <= t + 1e-12, "query {seed}: {found} after {t}");
            // Not a false alarm: at that time they are near, as fast as they come nearer in a thousandth of the time.
            let near = distance(&moved(&from, &to, found), edge);
            assert!(near < 0.08, "query {seed}: at {found} they are {near} apart");
        }
    }

    #[test]
    fn what_stays_apart_is_left_alone() {
        let mut alarms = 0;
        for seed in 0..500 {
            let edge = seed % 2 == 1;
            let (mut from, mut to) = (corners(seed, 0), corners(seed, 1));
            // Everything else stays below, the first corner (and its edge) above, by a hair.
            for k in 0..4 {
                let above = k == 0 || (edge && k == 1);
                for x in [&mut from[k], &mut to[k]] {
                    x.z = if above { 2e-5 + x.z.abs() } else { -x.z.abs() };
                }
            }
            let found = if edge {
                edge_edge(&from, &to, Query::default())
            } else {
                point_triangle(&from, &to, Query::default())
            };
            alarms += usize::from(found.is_some());
        }
        assert_eq!(alarms, 0);
    }

    #[test]
    fn degenerate_cases_have_defined_answers() {
        let [o, x, y] = [Vec3::ZERO, Vec3::X, Vec3::Y];
        let query = Query::default();
        let down = |c: Corners, by: f64| {
            let mut to = c;
            to[0].z -= by;
            to
        };
        // A point that falls onto the plane beside the triangle, and onto its edge, its corner, its inside.
        for (u, v, hits) in
            [(0.6, 0.6, false), (-0.1, 0.5, false), (0.5, 0.5, true), (0.0, 0.0, true), (0.2, 0.2, true)]
        {
            let from = [Vec3::new(u, v, 1.0), o, x, y];
            let found = point_triangle(&from, &down(from, 2.0), query);
            assert_eq!(found.is_some(), hits, "{u} {v}");
            assert!(found.is_none_or(|t| t <= 0.5 && t > 0.498));
        }
        // A triangle without area, and one that is a point.
        let from = [Vec3::new(0.5, 0.0, 1.0), o, x, x * 0.5];
        assert!(point_triangle(&from, &down(from, 2.0), query).is_some());
        let from = [Vec3::new(0.0, 0.0, 1.0), o, o, o];
        assert!(point_triangle(&from, &down(from, 2.0), query).is_some());
        // Coplanar all the time: a point that slides into a triangle.
        let from = [Vec3::new(-1.0, 0.25, 0.0), o, x, y];
        let to = [Vec3::new(1.0, 0.25, 0.0), o, x, y];
        let found = point_triangle(&from, &to, query).unwrap();
        assert!(found <= 0.5 && found > 0.498, "{found}");
        // Parallel edges that meet along their length, collinear ones that meet at their ends, and passing ones.
        let from = [o, x, Vec3::new(0.2, 0.0, 1.0), Vec3::new(0.9, 0.0, 1.0)];
        let mut to = from;
        (to[2].z, to[3].z) = (-1.0, -1.0);
        let found = edge_edge(&from, &to, query).unwrap();
        assert!(found <= 0.5 && found > 0.498, "{found}");
        let from = [o, x, x * 3.0, x * 4.0];
        let found = edge_edge(&from, &[o, x, x * -1.0, o], query).unwrap();
        assert!(found <= 0.5 && found > 0.498, "{found}");
        assert_eq!(edge_edge(&from, &from.map(|p| p + y * 3.0), query), None);
        // Nothing moves: apart, and in contact from the beginning.
        let still = [Vec3::new(0.2, 0.2, 0.5), o, x, y];
        assert_eq!(point_triangle(&still, &still, query), None);
        assert_eq!(point_triangle(&still, &still, Query { gap: 0.5, ..query }), Some(0.0));
        let touching = [Vec3::new(0.2, 0.2, 0.0), o, x, y];
        assert_eq!(point_triangle(&touching, &touching, query), Some(0.0));
        // What is no number is a contact at once: nobody may rely on it being far away.
        let lost = [Vec3::NAN, o, x, y];
        assert_eq!(point_triangle(&lost, &still, query), Some(0.0));
    }

    #[test]
    fn far_from_the_origin_and_in_tiny_scenes_nothing_is_missed() {
        for (seed, scale, far) in [(1, 1.0, 1e6), (2, 1e-3, 10.0), (3, 1e-4, 0.0), (4, 1e3, 1e3)] {
            for seed in (0..200).map(|k| 1000 * seed + k) {
                let place = Vec3::new(far, -far, far);
                let (mut from, mut to) = (corners(seed, 0).map(|x| x * scale), corners(seed, 1).map(|x| x * scale));
                meet(&mut from, &mut to, [0.37, 0.3, 0.3], false);
                // Moving far away rounds the corners, so contact is only to that.
                let (from, to) = (from.map(|x| x + place), to.map(|x| x + place));
                let gap = 1e-15 * (scale + far) * 4.0;
                let query = Query { gap, tolerance: 1e-6 * scale };
                let found = point_triangle(&from, &to, query).unwrap_or_else(|| panic!("{scale} {far} missed"));
                assert!(found <= 0.37 + 1e-9 + 1e-14 * far / scale);
            }
        }
    }
}
