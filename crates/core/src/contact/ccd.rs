//! When moving points, edges and triangles first meet: two queries that never miss.
//!
//! A point and a triangle meet at (t, u, v) if F = p − (a + u (b − a) + v (c − a)) is zero there, u, v ≥ 0, u + v ≤ 1; two edges if
//! F = (a + u (b − a)) − (c + v (d − c)) is, 0 ≤ u, v ≤ 1. Every corner moves along a straight line, x(t) = x₀ + t (x₁ − x₀), 0 ≤ t ≤ 1.
//!
//! **March.** Most queries end here. At time t the nearest points give a direction n. F · n lies between its values at pairs of corners (p and a, b, c; or
//! a, b and c, d), whatever u and v are, and each of those is linear in t. So as long as all of them are above gap |n|₁ there is no contact, and the march goes on
//! to the time at which the first one isn't. It ends when that is after the end (no contact), when the two are nearer than `gap` + `tolerance` (contact), or when it
//! gets no farther or has made `MOST_STEPS` steps; then the search goes on from there. What n is doesn't matter for the truth of this, only for how far one gets.
//!
//! **Search.** F is linear in each of t, u and v, so over a box of them each component lies between its values at the eight corners of the box: the
//! tightest bounds there are. A box whose bounds leave out zero has no contact; another one is halved along the side over which F varies most.
//! Things that slide past each other near their common plane would need boxes as fine as what is between them in all three ranges. So F is bounded along the
//! normal ∂F/∂u × ∂F/∂v of the box as well, over which the two are spread least: F over a box is a mean of its values at the corners, so this is as true.
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
//! | n | `n` | 1 | direction that separates the two |
//!
//! Source: Karaöz 2015 eqs. 2.61–2.68 and Metaaphanon 2009 eq. 5 ask for the roots of a cubic and then whether the point lies inside; roots that
//! coincide, or a cubic that vanishes (all four coplanar all the time), are lost in rounding. The search is the inclusion search of Snyder 1992, with the bounds of
//! Wang et al. 2021; the march is the conservative advancement of Mirtich 1996, with the speeds along n instead of bounds of all speeds.

use super::distance;
use crate::math::{Vec3, array};
use smallvec::{SmallVec, smallvec};

/// Four corners: a point and a triangle, or two edges.
pub type Corners = [Vec3; 4];

/// Bound of the rounding of F over the largest coordinate: some forty operations of 2⁻⁵³ each, doubled.
const ROUNDING: f64 = 1e-14;

/// Steps of the march after which the search takes over. The random queries of `tools/ccd_check.py` take least time with 40 to 200.
const MOST_STEPS: u32 = 64;

/// A time that was computed in five operations, times this, is not later than the exact one.
const NOT_LATER: f64 = 1.0 - 4.0 * f64::EPSILON;

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
    let apart = |[p, a, b, c]: Corners| p - distance::point_triangle(p, [a, b, c]).of([a, b, c]);
    match march(from, to, query, apart, [[0, 1], [0, 2], [0, 3]]) {
        March::Ends(answer) => answer,
        March::GoOn(begin) => {
            let at = |[p, a, b, c]: Corners, u: f64, v: f64| p - (a + (b - a) * u + (c - a) * v);
            search(from, to, query, begin, at, |u, v| u + v <= 1.0)
        }
    }
}

/// First time in 0 … 1 at which an edge (corners 0 and 1) meets another one (corners 2 and 3); see the promise above.
pub fn edge_edge(from: &Corners, to: &Corners, query: Query) -> Option<f64> {
    let apart = |[a, b, c, d]: Corners| {
        let (s, t) = distance::edge_edge([a, b], [c, d]);
        (a + (b - a) * s) - (c + (d - c) * t)
    };
    match march(from, to, query, apart, [[0, 2], [0, 3], [1, 2], [1, 3]]) {
        March::Ends(answer) => answer,
        March::GoOn(begin) => {
            let at = |[a, b, c, d]: Corners, u: f64, v: f64| (a + (b - a) * u) - (c + (d - c) * v);
            search(from, to, query, begin, at, |_, _| true)
        }
    }
}

/// The largest coordinate, which rounding is in proportion to.
fn largest(from: &Corners, to: &Corners) -> f64 {
    from.iter().chain(to).fold(Vec3::ZERO, |most, x| most.max(x.abs())).max_element()
}

/// Bounds of F below which there is nothing more to see: finer than rounding nothing is.
fn finest(query: Query, largest: f64) -> f64 {
    query.tolerance.max(4.0 * ROUNDING * largest)
}

/// How a march ended.
enum March {
    /// With the answer.
    Ends(Option<f64>),
    /// There is no contact before this time; after it, nobody knows.
    GoOn(f64),
}

/// Goes through the time from one separating plane to the next. `apart` is the vector between the nearest points, `pairs` the corners whose
/// differences F is a mean of.
#[inline(always)]
fn march<const PAIRS: usize>(
    from: &Corners,
    to: &Corners,
    query: Query,
    apart: impl Fn(Corners) -> Vec3,
    pairs: [[usize; 2]; PAIRS],
) -> March {
    let largest = largest(from, to);
    let reach = (query.gap + ROUNDING * largest) / NOT_LATER;
    let near = query.gap + finest(query, largest);
    let mut t = 0.0;
    for _ in 0..MOST_STEPS {
        let apart = apart(array(|k| from[k] + (to[k] - from[k]) * t));
        let distance = apart.length();
        if distance <= near {
            return March::Ends(Some(t));
        }
        let n = apart / distance;
        let reach = reach * (n.x.abs() + n.y.abs() + n.z.abs());
        // Distances along n beyond reach, of every pair, at the beginning, now and at the end.
        let (mut next, mut separated) = (f64::INFINITY, true);
        for [i, j] in pairs {
            let begin = (from[i] - from[j]).dot(n) - reach;
            let end = (to[i] - to[j]).dot(n) - reach;
            if end > 0.0 {
                separated &= begin + (end - begin) * t > 0.0 || begin > 0.0;
            } else {
                next = next.min(begin / (begin - end) * NOT_LATER);
                separated &= begin > 0.0;
            }
        }
        // Written so that what is no number goes on to the search.
        if separated && next > 1.0 {
            return March::Ends(None);
        }
        if !(separated && next > t) {
            return March::GoOn(t);
        }
        t = next;
    }
    March::GoOn(t)
}

/// Ranges of t, u and v.
type Box3 = [[f64; 2]; 3];

/// F at the corners of a box, in the order of t, u and v.
fn values(from: &Corners, to: &Corners, at: impl Fn(Corners, f64, f64) -> Vec3, [time, us, vs]: &Box3) -> [Vec3; 8] {
    let mut values = [Vec3::ZERO; 8];
    for (i, t) in time.iter().enumerate() {
        let now = array(|k| from[k] + (to[k] - from[k]) * *t);
        for (j, u) in us.iter().enumerate() {
            for (k, v) in vs.iter().enumerate() {
                values[4 * i + 2 * j + k] = at(now, *u, *v);
            }
        }
    }
    values
}

/// The side of a box over which F varies most.
fn widest(values: &[Vec3; 8]) -> usize {
    let varies = |bit: usize| {
        let pairs = (0..8).filter(|i| i & bit == 0);
        pairs.map(|i| (values[i | bit] - values[i]).abs().max_element()).fold(0.0, f64::max)
    };
    let by = [varies(4), varies(2), varies(1)];
    if by[0] >= by[1].max(by[2]) { 0 } else { 1 + usize::from(by[2] > by[1]) }
}

/// Whether F stays beyond `reach` on one side of the plane that u and v span in the middle of the box's time.
fn kept_apart(values: &[Vec3; 8], reach: f64) -> bool {
    let by_u = (values[2] - values[0]) + (values[6] - values[4]);
    let by_v = (values[1] - values[0]) + (values[5] - values[4]);
    let n = by_u.cross(by_v).normalize_or_zero();
    // What n is doesn't matter for the truth of this; where it vanishes nothing is said.
    let reach = reach * (n.x.abs() + n.y.abs() + n.z.abs());
    let along = values.map(|f| f.dot(n));
    along.iter().all(|f| *f > reach) || along.iter().all(|f| *f < -reach)
}

fn search(
    from: &Corners,
    to: &Corners,
    query: Query,
    begin: f64,
    at: impl Fn(Corners, f64, f64) -> Vec3 + Copy,
    inside: impl Fn(f64, f64) -> bool,
) -> Option<f64> {
    let largest = largest(from, to);
    let reach = Vec3::splat(query.gap + ROUNDING * largest);
    let finest = finest(query, largest);
    // A time at which there is contact, or none is ruled out: the earliest found.
    let mut best: Option<f64> = None;
    // The search goes into the depth. A side is halved while F varies by more than a third of `finest` along it: less than fifty times, and there are three
    // sides. Only what is no number needs more.
    let mut stack: SmallVec<[Box3; 256]> = smallvec![[[begin, 1.0], [0.0, 1.0], [0.0, 1.0]]];
    let mut seen = 0;
    while let Some(ranges) = stack.pop() {
        let [time, us, vs] = ranges;
        if best.is_some_and(|best| time[0] >= best * (1.0 - EARLIER)) || !inside(us[0], vs[0]) {
            continue;
        }
        seen += 1;
        let values = values(from, to, at, &ranges);
        let low = values.iter().copied().fold(Vec3::INFINITY, Vec3::min);
        let high = values.iter().copied().fold(Vec3::NEG_INFINITY, Vec3::max);
        // Written so that what is no number counts as contact.
        if (low.cmpgt(reach) | high.cmplt(-reach)).any() || kept_apart(&values, reach.x) {
            continue;
        }
        // Contact at a corner of the box needs no closer look: nothing later than it matters.
        let meets = |i: usize| {
            values[i].abs().cmple(reach).all() && inside(us[usize::from(i & 2 != 0)], vs[usize::from(i & 1 != 0)])
        };
        let side = widest(&values);
        let [low_end, high_end] = ranges[side];
        let middle = 0.5 * (low_end + high_end);
        let fine = (high - low).max_element() <= finest || middle <= low_end || middle >= high_end;
        let found = if fine || seen >= MOST_BOXES || (0..4).any(meets) {
            Some(time[0])
        } else {
            (4..8).any(meets).then_some(time[1])
        };
        if let Some(found) = found {
            best = Some(best.map_or(found, |best| best.min(found)));
            if found == time[0] {
                continue;
            }
        }
        let (mut first, mut second) = (ranges, ranges);
        (first[side][1], second[side][0]) = (middle, middle);
        stack.extend([second, first]);
    }
    best.map(|best| (best * (1.0 - EARLIER)).max(begin))
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

    /// Smallest of the largest components of F at time t: what `gap` is compared with. Found from below by halving boxes.
    fn box_distance(now: &Corners, edge: bool) -> f64 {
        let asks = |gap: f64| {
            let query = Query { gap, tolerance: 1e-6 };
            let at = |[a, b, c, d]: Corners, u: f64, v: f64| {
                if edge { (a + (b - a) * u) - (c + (d - c) * v) } else { a - (b + (c - b) * u + (d - b) * v) }
            };
            search(now, now, query, 0.0, at, |u, v| edge || u + v <= 1.0).is_some()
        };
        let (mut low, mut high) = (0.0, 4.0);
        for _ in 0..22 {
            let middle = 0.5 * (low + high);
            if asks(middle) { high = middle } else { low = middle }
        }
        high
    }

    #[test]
    fn a_gap_counts_component_by_component_from_the_first_time_it_is_reached() {
        let (mut met, mut first) = (0, 0);
        for seed in 0..120 {
            let edge = seed % 2 == 1;
            let (from, to) = (corners(seed, 7), corners(seed, 8));
            let gap = [0.01, 0.1, 0.3][(seed % 3) as usize];
            let query = Query { gap, tolerance: 1e-6 };
            let found = if edge { edge_edge(&from, &to, query) } else { point_triangle(&from, &to, query) };
            let times = (0..=60).map(|k| f64::from(k) / 60.0);
            let mut near = times.map(|t| (t, box_distance(&moved(&from, &to, t), edge))).filter(|(_, d)| *d <= gap);
            if let Some((t, _)) = near.next() {
                met += 1;
                let found = found.unwrap_or_else(|| panic!("query {seed} missed"));
                assert!(found <= t, "query {seed}: {found} after {t}");
            }
            if let Some(found) = found {
                // At that time, or within the thousandth it may be early, they are as near as that.
                let least = box_distance(&moved(&from, &to, found), edge);
                assert!(least <= gap + 4e-6 + 8.0 * EARLIER * found, "query {seed}: at {found} they are {least} apart");
                first += 1;
            }
        }
        assert!(met > 30 && first < 110, "{met} {first}");
    }

    #[test]
    fn the_march_says_what_the_search_says() {
        for seed in 0..4000 {
            let edge = seed % 2 == 1;
            let (from, mut to) = (corners(seed, 3), corners(seed, 4));
            if seed % 3 == 0 {
                to = moved(&from, &to, 0.05);
            }
            let at = |[a, b, c, d]: Corners, u: f64, v: f64| {
                if edge { (a + (b - a) * u) - (c + (d - c) * v) } else { a - (b + (c - b) * u + (d - b) * v) }
            };
            let searched = search(&from, &to, Query::default(), 0.0, at, |u, v| edge || u + v <= 1.0);
            let ask = if edge { edge_edge } else { point_triangle };
            let found = ask(&from, &to, Query::default());
            assert_eq!(found.is_some(), searched.is_some(), "query {seed}");
            if let (Some(found), Some(searched)) = (found, searched) {
                assert!((found - searched).abs() < 2.0 * EARLIER, "query {seed}: {found} {searched}");
            }
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
    fn the_search_tells_apart_what_slides_past_near_a_plane() {
        for seed in 0..200 {
            let edge = seed % 2 == 1;
            let (mut from, mut to) = (corners(seed, 0), corners(seed, 1));
            // The first thing above a plane that is oblique to all axes, the other below it, by some times the tolerance.
            let normal = vector(seed, 20).normalize();
            for x in [&mut from, &mut to] {
                for (k, x) in x.iter_mut().enumerate() {
                    let above = if k == 0 || (edge && k == 1) { 1.0 } else { -1.0 };
                    *x += normal * (4e-6 * above - normal.dot(*x));
                }
            }
            let at = |[a, b, c, d]: Corners, u: f64, v: f64| {
                if edge { (a + (b - a) * u) - (c + (d - c) * v) } else { a - (b + (c - b) * u + (d - b) * v) }
            };
            let found = search(&from, &to, Query::default(), 0.0, at, |u, v| edge || u + v <= 1.0);
            assert_eq!(found, None, "query {seed}");
        }
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
