//! Whether yarns pass through each other or are in bodies: for checks of what was computed or stored, from curves alone.
//!
//! [`passings`] compares two pictures of the same yarns, a step or a frame apart. Every point moves along a straight line from the one to the other; a segment of a yarn
//! is known by the yarn and its number along it, so that one which is there in one picture only, since the yarn was cut, is left out. Two segments a b and c d can pass where their four ends are in one plane:
//!
//! f(t) = (c − a) · ((b − a) × (d − c)) = 0,  0 ≤ t ≤ 1
//!
//! Pairs that come as near as nothing are found by the [tree](crate::contact::tree) and the [inclusion search](crate::contact::ccd), which miss none; of those the roots
//! of f at which the segments have a point in common are counted. An odd number is a passing: they are on the other side of each other afterwards. So a warp that was
//! over a weft and is under it then is a passing, at whatever crossing; a yarn whose end slips past another one isn't.
//!
//! [`overlaps`] looks at one picture: segments that are nearer than a share of their radii's sum. [`inside_bodies`] counts points in bodies.
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | a, b, c, d | `corners` | m | ends of two segments |
//! | f | `flat` | m³ | six times the volume between them |
//! | t | `time` | 1 | from one picture (0) to the other (1) |
//!
//! Limits: between pictures yarns may have gone other ways than straight; the further pictures are apart, the more passings are told that weren't. Segments that share a point, and those next to them along
//! a yarn, aren't compared. A passing through a point of a yarn may be told of both of its segments.
//!
//! Source: Metaaphanon 2009 eq. 5 for f.

use super::read::Run;
use super::state::Family;
use crate::body::{Bodies, Shape};
use crate::contact::tree::{Swept, Tree};
use crate::contact::{ccd, crossing, distance};
use crate::math::Vec3;
use glam::Vec3A;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// A part of a yarn between cuts, in one picture.
#[derive(Clone, Copy, Debug)]
pub struct Strand<'a> {
    /// The yarn; the same number in every picture, and for all parts of a yarn.
    pub yarn: u64,
    /// Number along the whole yarn of its first point.
    pub first: usize,
    /// Points [m].
    pub points: &'a [Vec3],
    /// Radius of the yarn [m].
    pub radius: f64,
}

/// Two segments that have passed through each other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Passing {
    /// The yarns.
    pub yarns: [u64; 2],
    /// The segments: from this point of the yarn to the next.
    pub segments: [usize; 2],
    /// When, from 0 to 1; of what a cloth tells itself, the time [s].
    pub time: f64,
    /// Where [m].
    pub place: Vec3,
}

/// Two segments that are in each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overlap {
    /// The yarns.
    pub yarns: [u64; 2],
    /// The segments: from this point of the yarn to the next.
    pub segments: [usize; 2],
    /// Distance of their middle lines [m].
    pub distance: f64,
    /// Where [m].
    pub place: Vec3,
}

impl Run {
    /// The run as a strand of a yarn with this radius [m]. Warps have even numbers, wefts odd ones.
    pub fn strand(&self, radius: f64) -> Strand<'_> {
        let yarn = 2 * self.yarn as u64 + u64::from(self.family == Family::Weft);
        Strand { yarn, first: self.first, points: &self.points, radius }
    }
}

/// A segment in one picture or two.
#[derive(Clone, Copy)]
struct Segment {
    yarn: u64,
    number: usize,
    from: [Vec3; 2],
    to: [Vec3; 2],
    radius: f64,
}

/// All segments of a picture, in order.
fn segments(strands: &[Strand<'_>]) -> Vec<Segment> {
    let of = |strand: &Strand<'_>| {
        let Strand { yarn, first, radius, .. } = *strand;
        let ends = strand.points.windows(2).map(|pair| [pair[0], pair[1]]).collect::<Vec<_>>();
        ends.into_iter().enumerate().map(move |(k, from)| Segment { yarn, number: first + k, from, to: from, radius })
    };
    let finite = |segment: &Segment| segment.from.iter().all(|x| x.is_finite());
    let mut all: Vec<Segment> = strands.iter().flat_map(of).filter(finite).collect();
    all.sort_by_key(|segment| (segment.yarn, segment.number));
    all
}

/// Pairs of segments that may come as near as `reach` [m], in order; `take` makes something of them.
fn pairs<T: Send>(segments: &[Segment], reach: f64, take: impl Fn(&Segment, &Segment) -> Option<T> + Sync) -> Vec<T> {
    let Some(origin) = segments.first().map(|segment| segment.from[0]) else { return Vec::new() };
    let all = segments.iter().flat_map(|segment| segment.from.iter().chain(&segment.to));
    let size = all.fold(f64::MIN_POSITIVE, |size, x| size.max((*x - origin).abs().max_element()));
    let corner =
        |s: &Segment, k: usize| (((s.from[k] - origin) / size).as_vec3a(), ((s.to[k] - s.from[k]) / size).as_vec3a());
    let mut tree = Tree::default();
    tree.build(&segments.iter().map(|s| corner(s, 0).0).collect::<Vec<Vec3A>>(), 0);
    tree.refit(|s| Swept::of([0, 1].map(|k| corner(&segments[s as usize], k))));
    let mut lists = Vec::new();
    let test = |a: u32, b: u32, _: &Swept, _: &Swept, list: &mut Vec<((u32, u32), T)>| {
        let (a, b) = (a.min(b), a.max(b));
        let (first, second) = (&segments[a as usize], &segments[b as usize]);
        let beside = first.yarn == second.yarn && first.number.abs_diff(second.number) <= 1;
        if !beside && let Some(found) = take(first, second) {
            list.push(((a, b), found));
        }
    };
    // What single precision rounds away, in units of the whole.
    tree.pairs((reach / size) as f32 + 2e-6, |_, _| false, test, &mut lists);
    let mut found: Vec<((u32, u32), T)> = lists.into_iter().flatten().collect();
    found.sort_by_key(|(key, _)| *key);
    found.into_iter().map(|(_, found)| found).collect()
}

/// Segments that pass through each other from one picture to the next, in order of the yarns' numbers.
pub fn passings(before: &[Strand<'_>], after: &[Strand<'_>]) -> Vec<Passing> {
    let later = segments(after);
    let mut both = segments(before);
    both.retain_mut(|segment| {
        let key = (segment.yarn, segment.number);
        match later.binary_search_by_key(&key, |later| (later.yarn, later.number)) {
            Ok(k) => {
                segment.to = later[k].from;
                true
            }
            Err(_) => false,
        }
    });
    pairs(&both, 0.0, |a, b| {
        let (from, to) = ([a.from[0], a.from[1], b.from[0], b.from[1]], [a.to[0], a.to[1], b.to[0], b.to[1]]);
        let (time, place) = pass(&from, &to)?;
        Some(Passing { yarns: [a.yarn, b.yarn], segments: [a.number, b.number], time, place })
    })
}

/// Pairs of segments of one picture whose middle lines are nearer than `share` of the sum of their radii, in order of the yarns' numbers. Those of one yarn
/// with at most one between them bend into each other and don't count.
pub fn overlaps(strands: &[Strand<'_>], share: f64) -> Vec<Overlap> {
    let all = segments(strands);
    let widest = all.iter().map(|segment| segment.radius).fold(0.0, f64::max);
    pairs(&all, 2.0 * share * widest, |a, b| {
        if a.yarn == b.yarn && a.number.abs_diff(b.number) <= 2 {
            return None;
        }
        let (s, t) = distance::edge_edge(a.from, b.from);
        let [p, q] = [(a, s), (b, t)].map(|(segment, s)| segment.from[0].lerp(segment.from[1], s));
        let distance = p.distance(q);
        (distance < share * (a.radius + b.radius)).then(|| Overlap {
            yarns: [a.yarn, b.yarn],
            segments: [a.number, b.number],
            distance,
            place: (p + q) * 0.5,
        })
    })
}

/// Number of points that are in bodies, as these are now. Open meshes have no inside.
pub fn inside_bodies(points: impl IntoIterator<Item = Vec3>, bodies: &Bodies) -> usize {
    let around: Vec<(Vec3, Vec3)> = bodies
        .iter()
        .map(|body| body.surface.points.iter().fold((Vec3::MAX, Vec3::MIN), |(a, b), &p| (a.min(p), b.max(p))))
        .collect();
    let inside = |p: Vec3| {
        bodies.iter().enumerate().any(|(i, body)| {
            let p = bodies.pose(i).local(p);
            let (low, high) = around[i];
            match body.shape {
                Shape::Plane => p.y < 0.0,
                _ => {
                    let near = body.surface.closed && p.cmpge(low).all() && p.cmple(high).all();
                    near && crossing::inside(&body.surface.points, &body.surface.triangles, p)
                }
            }
        })
    };
    points.into_iter().filter(|&p| inside(p)).count()
}

/// Six times the volume between two segments [m³].
#[inline(always)]
pub(super) fn flat([a, b, c, d]: &ccd::Corners) -> f64 {
    (*c - *a).dot((*b - *a).cross(*d - *c))
}

/// True if two segments are on the other side of each other, having gone straight from one place to another.
pub(super) fn has_passed(from: &ccd::Corners, to: &ccd::Corners) -> bool {
    let at = |t: f64| flat(&between(from, to, t));
    may_have_roots([at(0.0), at(1.0 / 3.0), at(2.0 / 3.0), at(1.0)]) && meetings(from, to).is_some()
}

/// False only if a cubic with these values at 0, 1/3, 2/3 and 1 has one sign from 0 to 1. These values may have one sign and the cubic another one between them, but it is within what its Bernstein coefficients are between.
#[inline(always)]
fn may_have_roots([p, q, r, s]: [f64; 4]) -> bool {
    let first = p > 0.0;
    let inner = [-5.0 * p + 18.0 * q - 9.0 * r + 2.0 * s, 2.0 * p - 9.0 * q + 18.0 * r - 5.0 * s];
    (s > 0.0) != first || inner.into_iter().any(|of| (of > 0.0) != first)
}

/// Corners on their way.
#[inline(always)]
fn between(from: &ccd::Corners, to: &ccd::Corners, t: f64) -> ccd::Corners {
    std::array::from_fn(|k| from[k] + (to[k] - from[k]) * t)
}

/// First time at which two segments have a point in common, and the point, if they have one an odd number of times.
fn pass(from: &ccd::Corners, to: &ccd::Corners) -> Option<(f64, Vec3)> {
    let size = from.iter().chain(to).map(|x| x.distance(from[0])).fold(0.0, f64::max);
    let tolerance = 1e-9 * size;
    ccd::edge_edge(from, to, ccd::Query { gap: tolerance, tolerance })?;
    meetings(from, to)
}

/// The same, without asking first whether they come near at all.
fn meetings(from: &ccd::Corners, to: &ccd::Corners) -> Option<(f64, Vec3)> {
    let size = from.iter().chain(to).map(|x| x.distance_squared(from[0])).fold(0.0, f64::max).sqrt();
    let mut count = 0;
    let mut first = None;
    for root in roots(|t| flat(&between(from, to, t))) {
        let [a, b, c, d] = between(from, to, root);
        let (s, t) = distance::edge_edge([a, b], [c, d]);
        let (p, q) = (a + (b - a) * s, c + (d - c) * t);
        if p.distance(q) < 1e-6 * size {
            count += 1;
            first = first.or(Some((root, p)));
        }
    }
    first.filter(|_| count % 2 == 1)
}

/// Zeros of a cubic between 0 and 1 at which its sign changes, in order.
fn roots(f: impl Fn(f64) -> f64) -> SmallVec<[f64; 3]> {
    // Its coefficients, from four values.
    let [p, q, r, s] = [0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0].map(&f);
    let (c3, c2, c1) =
        (4.5 * (s - p) + 13.5 * (q - r), 9.0 * p - 22.5 * q + 18.0 * r - 4.5 * s, -5.5 * p + 9.0 * q - 4.5 * r + s);
    // Between its extremes it only rises or falls.
    let mut ends: SmallVec<[f64; 4]> = SmallVec::new();
    ends.push(0.0);
    let root = (c2 * c2 - 3.0 * c3 * c1).max(0.0).sqrt();
    let sum = -(c2 + root.copysign(c2));
    let mut extremes = [sum / (3.0 * c3), c1 / sum];
    extremes.sort_by(f64::total_cmp);
    ends.extend(extremes.into_iter().filter(|t| *t > 0.0 && *t < 1.0));
    ends.push(1.0);
    let mut roots = SmallVec::new();
    for pair in ends.windows(2) {
        let (mut low, mut high) = (pair[0], pair[1]);
        let begin = f(low) > 0.0;
        if begin == (f(high) > 0.0) {
            continue;
        }
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if (f(middle) > 0.0) == begin { low = middle } else { high = middle }
        }
        roots.push(0.5 * (low + high));
    }
    roots
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::hash_unit;

    fn strand(yarn: u64, points: &[Vec3]) -> Strand<'_> {
        Strand { yarn, first: 3, points, radius: 0.1 }
    }

    fn line(y: f64, z: f64, along: Vec3) -> [Vec3; 3] {
        [-1.0, 0.0, 1.0].map(|k| Vec3::new(0.3 * along.x, y, z) + along * k)
    }

    #[test]
    fn a_yarn_that_comes_out_on_the_other_side_has_passed() {
        let still = line(0.3, 0.0, Vec3::X);
        let (above, below) = (line(0.0, 0.3, Vec3::Y), line(0.0, -0.1, Vec3::Y));
        let found = passings(&[strand(1, &still), strand(2, &above)], &[strand(1, &still), strand(2, &below)]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].yarns, found[0].segments), ([1, 2], [3, 4]));
        assert!((found[0].time - 0.75).abs() < 1e-9 && found[0].place.distance(Vec3::new(0.0, 0.3, 0.0)) < 1e-9);
        // All together may go anywhere, and turn.
        let go = |p: Vec3| Vec3::new(-p.y, p.x, p.z) + Vec3::splat(5.0);
        let (s, a) = (still.map(go), above.map(go));
        assert!(passings(&[strand(1, &still), strand(2, &above)], &[strand(1, &s), strand(2, &a)]).is_empty());
        // Beside its end it may.
        let away = below.map(|p| p + Vec3::X * 4.0);
        let there = above.map(|p| p + Vec3::X * 4.0);
        assert!(passings(&[strand(1, &still), strand(2, &there)], &[strand(1, &still), strand(2, &away)]).is_empty());
        // Another part of the yarn is another segment.
        let cut = Strand { first: 40, ..strand(2, &below) };
        assert!(passings(&[strand(1, &still), strand(2, &above)], &[strand(1, &still), cut]).is_empty());
    }

    #[test]
    fn through_and_back_is_no_passing() {
        // A segment that turns about its own middle while it goes down and up again has two roots.
        let from = [
            Vec3::new(-1.0, 0.0, 0.0),
            Vec3::new(1.0, 0.0, 0.0),
            Vec3::new(-0.5, -1.0, -0.1),
            Vec3::new(0.5, 1.0, 0.2),
        ];
        let to = [from[0], from[1], Vec3::new(-0.5, -1.0, 0.2), Vec3::new(0.5, 1.0, -0.1)];
        assert!(pass(&from, &to).is_none());
        let to = [from[0], from[1], Vec3::new(-0.5, -1.0, -0.4), Vec3::new(0.5, 1.0, -0.1)];
        assert!(pass(&from, &to).is_some());
    }

    #[test]
    fn what_passes_for_a_part_of_the_way_beside_an_end_has_passed() {
        // Of `bars`, `seed=2`, at 1.88 s [mm]: from 0.05 to 0.29 of the way they are on the other side, which they come back from beyond the end of the second one.
        let from = [
            Vec3::new(-18.841217218682715, -12.372671158606154, 1.4226905326623319),
            Vec3::new(-18.39305981805332, -13.526645353777378, 1.1380388592555127),
            Vec3::new(-18.51433793838342, -12.75766722514097, 1.2052058197720222),
            Vec3::new(-18.895418083973627, -14.630451051211022, 1.5145619889261508),
        ];
        let to = [
            Vec3::new(-18.68178460546725, -12.048815052584741, 1.405957507528461),
            Vec3::new(-18.381710914667566, -13.187629646305501, 1.1216714562893777),
            Vec3::new(-18.67228049822476, -13.403467636771959, 1.3693295031717912),
            Vec3::new(-18.857122620121926, -14.718847303525994, 1.4174707696062172),
        ];
        assert!((0..4).all(|k| flat(&between(&from, &to, f64::from(k) / 3.0)) < 0.0));
        assert!(pass(&from, &to).is_some() && has_passed(&from, &to));
        // Whoever asks, the answer is the same.
        let mut passed = 0;
        for seed in 0..20_000 {
            let vector = |k: u64| Vec3::from([0, 1, 2].map(|a| 2.0 * hash_unit(seed, 3 * k + a) - 1.0));
            let from = [0, 1, 2, 3].map(vector);
            let to = std::array::from_fn(|k| from[k] + vector(4 + k as u64));
            assert_eq!(pass(&from, &to).is_some(), has_passed(&from, &to), "{seed}");
            passed += usize::from(has_passed(&from, &to));
        }
        assert!(passed > 1000, "{passed}");
    }

    #[test]
    fn cubics_have_the_roots_they_are_made_of() {
        for (a, b, c) in [(0.2, 0.5, 0.9), (0.1, 0.11, 0.9), (-1.0, 0.5, 3.0), (-2.0, -1.0, 2.0)] {
            let found = roots(|t| 7.0 * (t - a) * (t - b) * (t - c));
            let inside: Vec<f64> = [a, b, c].into_iter().filter(|t| (0.0..1.0).contains(t)).collect();
            assert_eq!(found.len(), inside.len(), "{found:?}");
            assert!(found.iter().zip(&inside).all(|(f, i)| (f - i).abs() < 1e-12), "{found:?}");
        }
        // Straight lines and parabolas are cubics too.
        assert_eq!(roots(|t| t - 0.25).as_slice(), [0.25]);
        assert_eq!(roots(|t| (t - 0.25) * (t - 0.75)).len(), 2);
        assert!(roots(|_| 1.0).is_empty() && roots(|_| f64::NAN).is_empty());
    }

    #[test]
    fn yarns_in_each_other_overlap() {
        let x = line(0.3, 0.0, Vec3::X);
        for (z, count) in [(0.25, 0), (0.15, 0), (0.05, 1)] {
            let y = line(0.0, z, Vec3::Y);
            let found = overlaps(&[strand(1, &x), strand(2, &y)], 0.5);
            assert_eq!(found.len(), count, "{z}");
            assert!(found.iter().all(|o| (o.distance - z).abs() < 1e-12));
        }
        let lost = [Vec3::NAN, Vec3::X];
        assert!(overlaps(&[strand(1, &lost), strand(2, &x)], 0.5).is_empty());
    }
}
