//! Counts what passes through what, from outside: yarns as they are drawn, compared after every substep.
//!
//! What [`Woven::take_passings`] tells is what the step itself noticed; this asks again without knowing of pairs, so it is slow: for tests, and for `ripstop run --verify`.
//!
//! From look to look all ends are taken to go straight ([`super::pass`]). What passes and comes back is nothing, also if it comes back through the next segment of the same yarn, as yarns do that slip over a bend: where the segments of two yarns that have passed hang together an odd
//! number of passings counts, when it is asked, as one.
//!
//! Where two segments end at the crossing of their yarns, which holds them, only whole steps are compared: at their end its normal follows. Crossings may turn by a right angle and more in a step; on straight ways all of
//! what turns comes near one line, and the least that it is bent by then makes it pass. So what all arms of a crossing have turned together doesn't count there: they are taken to have begun the step turned like that. Where a yarn slips from such an arm
//! to the next segment within a step, both are asked by substeps whether it has come back: what is seen on two ways can't be held against each other.
//! Arms are what hangs on the crossing: what is beyond a cut goes its own way.
//!
//! What has at the end of a step, when normals have followed, the very shape that it had when the step began has gone as one stiff body as far as anyone can see ([`super::knot`]): where it was in the substeps between is nowhere drawn, and taking that back on straight ways, after
//! it had slipped around an end, would look like a passing.
//!
//! Between two steps nothing moves, but ends of yarns are divided anew ([`super::tail`]), and a segment's number is then that of another one. So these ends are followed by shares of their length instead: both divisions get the points of both, and go straight from the one to the other.
//!
//! Limits: what has passed before its yarn was divided anew and comes back afterwards isn't known by its number any more, and is told twice.

use super::normals::fitted;
use super::pass::{Passing, Strand, flat, has_passed, passings};
use super::read::Run;
use super::state::{Family, Kind, Woven};
use crate::math::Vec3;
use crate::sets::Sets;
use std::collections::BTreeMap;

/// Two yarns and two segments.
type Key = ([u64; 2], [usize; 2]);

/// Yarns as they were last seen, and which have passed since.
#[derive(Clone, Debug)]
pub struct Watch {
    /// At the last look, and after the last step.
    look: Vec<Run>,
    step: Vec<Run>,
    /// What has passed each other in this step and hasn't come back, and whether at a crossing that holds.
    way: BTreeMap<Key, (Passing, bool)>,
    /// The same in steps before, but for what is at crossings that hold.
    through: BTreeMap<Key, Passing>,
}

impl Watch {
    /// A first look, between two steps.
    pub fn new(cloth: &Woven) -> Self {
        Self { look: cloth.runs(), step: cloth.runs(), way: BTreeMap::new(), through: BTreeMap::new() }
    }

    /// To be called within a step, after every substep and when normals have followed ([`Woven::step_watched`]).
    pub fn look(&mut self, cloth: &Woven) {
        let runs = cloth.runs();
        for passing in compare(cloth, &self.look, &runs) {
            toggle(&mut self.way, key(&passing), (passing, cross_here(&runs, &passing)));
        }
        self.look = runs;
    }

    /// To be called after every step.
    pub fn end_step(&mut self, cloth: &Woven) {
        let runs = cloth.runs();
        let divided = divided_anew(&self.look, &runs, 0.5 * cloth.spec().thickness);
        for &passing in &divided {
            toggle(&mut self.way, key(&passing), (passing, false));
        }
        let way: Vec<(Passing, bool)> = std::mem::take(&mut self.way).into_values().collect();
        let stays = |of: &Passing| !divided.contains(of) && keep_shape([&self.step, &self.look], of);
        let moved = |of: &Vec<(Passing, bool)>| of.iter().any(|(passing, _)| !stays(passing));
        let beside = odd(&way, |of| &of.0).into_iter().filter(moved);
        let beside = beside.filter_map(|of| of.into_iter().find(|(_, here)| !here));
        let beside: Vec<Passing> = beside.map(|(passing, _)| passing).collect();
        // What comes apart when a step ends held in it.
        let here = compare(cloth, &self.step, &self.look).into_iter();
        let here = here.filter(|passing| cross_here(&self.look, passing));
        let here = here.filter(|passing| passed_turned([&self.step, &self.look], passing));
        // By the two ways of looking one passing may be told twice.
        let here: Vec<Passing> = here.filter(|passing| !beside.iter().any(|of| hang_together(of, passing))).collect();
        for passing in beside.into_iter().chain(here) {
            toggle(&mut self.through, key(&passing), Passing { time: cloth.time(), ..passing });
        }
        (self.step, self.look) = (runs.clone(), runs);
    }

    /// What has passed since it was last asked, in order of the yarns; `time` is that of the step [s].
    pub fn take(&mut self) -> Vec<Passing> {
        let all: Vec<Passing> = std::mem::take(&mut self.through).into_values().collect();
        odd(&all, |passing| passing).into_iter().map(|of| of[0]).collect()
    }
}

fn key(passing: &Passing) -> Key {
    (passing.yarns, passing.segments)
}

/// What has come back is gone.
fn toggle<T>(map: &mut BTreeMap<Key, T>, key: Key, value: T) {
    if map.remove(&key).is_none() {
        map.insert(key, value);
    }
}

/// Whether two passings are of the same yarns and of segments that are the same or next to each other.
fn hang_together(a: &Passing, b: &Passing) -> bool {
    a.yarns == b.yarns && a.segments.iter().zip(&b.segments).all(|(a, b)| a.abs_diff(*b) <= 1)
}

/// Of passings in order of their keys: those of which the segments hang together, if they are an odd number.
fn odd<T: Copy>(all: &[T], of: impl Fn(&T) -> &Passing) -> Vec<Vec<T>> {
    let mut sets = Sets::new(all.len());
    for (k, a) in all.iter().enumerate() {
        let a = of(a);
        for (l, b) in all.iter().enumerate().skip(k + 1) {
            if of(b).yarns != a.yarns {
                break;
            }
            if hang_together(a, of(b)) {
                sets.join(k as u32, l as u32);
            }
        }
    }
    let mut together = vec![Vec::new(); all.len()];
    all.iter().enumerate().for_each(|(k, of)| together[sets.root(k as u32) as usize].push(*of));
    together.into_iter().filter(|of| of.len() % 2 == 1).collect()
}

fn compare(cloth: &Woven, from: &[Run], to: &[Run]) -> Vec<Passing> {
    let radius = 0.5 * cloth.spec().thickness;
    passings(&drawn(from, radius), &drawn(to, radius))
}

fn drawn(runs: &[Run], radius: f64) -> Vec<Strand<'_>> {
    runs.iter().map(|run| run.strand(radius)).collect()
}

/// A part of a yarn that has a point at one of its crossings, if there is one.
fn part(runs: &[Run], family: Family, yarn: usize, at: usize) -> Option<&Run> {
    runs.iter().find(|run| run.family == family && run.yarn == yarn && run.point(at).is_some())
}

impl Run {
    /// Where it is at a crossing of its yarn, if it is there.
    fn point(&self, at: usize) -> Option<Vec3> {
        self.points.get(at.checked_sub(self.first)?).copied()
    }

    /// Does something hold it at a crossing of its yarn?
    fn is_held(&self, at: usize) -> bool {
        at.checked_sub(self.first).and_then(|k| self.kinds.get(k)).is_some_and(|kind| *kind != Kind::Disconnected)
    }

    /// Its points from one crossing of its yarn to another one, if all are there.
    fn between(&self, from: usize, to: usize) -> Option<Vec<Vec3>> {
        if from <= to {
            (from..=to).map(|at| self.point(at)).collect()
        } else {
            (to..=from).rev().map(|at| self.point(at)).collect()
        }
    }
}

/// A part of a yarn an end of which was divided anew: points before and after, and the number that each of its segments has afterwards.
struct Divided {
    points: [Vec<Vec3>; 2],
    numbers: Vec<usize>,
}

impl Divided {
    /// If an end of this part was: it is elsewhere than before, but for its tip.
    fn new(before: &[Run], after: &Run) -> Option<Self> {
        let all = after.first..after.first + after.points.len();
        let same = |run: &&Run| run.family == after.family && run.yarn == after.yarn;
        let before = before.iter().filter(same).find(|run| all.clone().any(|at| run.is_held(at)))?;
        let mut held = all.clone().filter(|&at| before.is_held(at));
        let low = held.next()?;
        let high = held.next_back().unwrap_or(low);
        let end = |run: &Run, forth: bool| {
            let tip = if forth { run.first + run.points.len() - 1 } else { run.first };
            run.between(if forth { high } else { low }, tip)
        };
        let [back, forth] = [false, true].map(|forth| {
            let (from, to) = (end(before, forth)?, end(after, forth)?);
            let near = from.last()?.distance(*to.last()?) < TIP;
            (near && from.len() > 1 && to.len() > 1 && from != to).then(|| with_points_of_both(&from, &to))
        });
        if back.is_none() && forth.is_none() {
            return None;
        }
        let mut of = Self { points: [Vec::new(), Vec::new()], numbers: Vec::new() };
        match back {
            Some((points, numbers)) => {
                for (k, points) in points.into_iter().enumerate() {
                    of.points[k].extend(points.into_iter().skip(1).rev());
                }
                of.numbers.extend(numbers.into_iter().rev().map(|k| low - 1 - k));
            }
            None => of.add(before, after, before.first.max(after.first)..low),
        }
        of.add(before, after, low..high);
        match forth {
            Some((points, numbers)) => {
                of.points.iter_mut().zip(points).for_each(|(all, points)| all.extend(points));
                of.numbers.extend(numbers.into_iter().map(|k| high + k));
            }
            None => {
                let tip = |run: &Run| run.first + run.points.len() - 1;
                let last = tip(before).min(tip(after));
                of.add(before, after, high..last);
                [before, after].into_iter().zip(&mut of.points).for_each(|(run, all)| all.extend(run.point(last)));
            }
        }
        Some(of)
    }

    /// Adds segments that have the same number before and after, without the last point.
    fn add(&mut self, before: &Run, after: &Run, segments: std::ops::Range<usize>) {
        for at in segments {
            [before, after].into_iter().zip(&mut self.points).for_each(|(run, all)| all.extend(run.point(at)));
            self.numbers.push(at);
        }
    }
}

/// How far from each other tips are the same [m]: what is rounded away, and far less than yarns are thick.
const TIP: f64 = 1e-9;

/// Two lines with the points of both, at the same shares of their lengths, and of each segment the number of that of the second line that it is part of.
fn with_points_of_both(a: &[Vec3], b: &[Vec3]) -> ([Vec<Vec3>; 2], Vec<usize>) {
    let shares = |line: &[Vec3]| {
        let mut far = vec![0.0];
        line.windows(2).for_each(|ends| far.push(far[far.len() - 1] + ends[0].distance(ends[1])));
        let all = far[far.len() - 1].max(f64::MIN_POSITIVE);
        far.iter_mut().for_each(|far| *far /= all);
        far
    };
    let place = |line: &[Vec3], shares: &[f64], share: f64| {
        let k = shares.partition_point(|of| *of <= share).clamp(1, line.len() - 1) - 1;
        let part = (share - shares[k]) / (shares[k + 1] - shares[k]).max(f64::MIN_POSITIVE);
        (k, line[k].lerp(line[k + 1], part.clamp(0.0, 1.0)))
    };
    let (own, other) = (shares(a), shares(b));
    let mut all: Vec<f64> = own.iter().chain(&other).copied().collect();
    all.sort_by(f64::total_cmp);
    // What two points have between them by rounding is no segment.
    all.dedup_by(|next, share| *next - *share < 1e-9);
    let points = [(a, &own), (b, &other)].map(|(line, shares)| all.iter().map(|&s| place(line, shares, s).1).collect());
    let numbers = all.windows(2).map(|two| place(b, &other, 0.5 * (two[0] + two[1])).0).collect();
    (points, numbers)
}

/// What has passed as ends of yarns of this radius [m] were divided anew.
fn divided_anew(before: &[Run], after: &[Run], radius: f64) -> Vec<Passing> {
    let divided: Vec<Option<Divided>> = after.iter().map(|run| Divided::new(before, run)).collect();
    let (mut from, mut to) = (drawn(before, radius), Vec::new());
    for (k, (run, divided)) in after.iter().zip(&divided).enumerate() {
        let strand = run.strand(radius);
        let Some(divided) = divided else {
            to.push(strand);
            continue;
        };
        // As if it were another yarn, so that numbers of its parts are no others'.
        let yarn = strand.yarn + ((k as u64 + 1) << 32);
        let [old, new] = divided.points.each_ref().map(|points| Strand { yarn, first: 0, points, radius });
        from.push(old);
        to.push(new);
    }
    let named = |Passing { yarns, segments, time, place }: Passing| {
        let [a, b] = [0, 1].map(|k| match (yarns[k] >> 32).checked_sub(1) {
            None => (yarns[k], segments[k]),
            Some(part) => {
                let of = divided[part as usize].as_ref().expect("it is named after one");
                (yarns[k] & u64::from(u32::MAX), of.numbers[segments[k]])
            }
        });
        let (a, b) = (a.min(b), a.max(b));
        Passing { yarns: [a.0, b.0], segments: [a.1, b.1], time, place }
    };
    let mut found: Vec<Passing> = passings(&from, &to).into_iter().map(named).collect();
    found.sort_by_key(key);
    found
}

/// Whether two segments are to each other in one picture as in another, by the distances of their ends and by the side.
fn keep_shape(pictures: [&[Run]; 2], passing: &Passing) -> bool {
    let corners = |runs: &[Run]| -> Option<[Vec3; 4]> {
        let end = |k: usize, at: usize| {
            let (yarn, family) =
                (passing.yarns[k], if passing.yarns[k].is_multiple_of(2) { Family::Warp } else { Family::Weft });
            part(runs, family, (yarn / 2) as usize, at)?.point(at)
        };
        let [a, b] = passing.segments;
        Some([end(0, a)?, end(0, a + 1)?, end(1, b)?, end(1, b + 1)?])
    };
    let [Some(x), Some(y)] = pictures.map(corners) else { return false };
    let same = |i: usize, k: usize| (x[i].distance(x[k]) - y[i].distance(y[k])).abs() < TIP;
    (flat(&x) > 0.0) == (flat(&y) > 0.0) && (0..4).all(|i| (0..i).all(|k| same(i, k)))
}

/// Whether two segments at the crossing of their yarns have passed from one picture to another, apart from what all of its arms have turned together.
fn passed_turned(pictures: [&[Run]; 2], passing: &Passing) -> bool {
    let (yarns, s) = (passing.yarns, passing.segments);
    let (a, b) = if yarns[0].is_multiple_of(2) { (0, 1) } else { (1, 0) };
    let (warp, weft) = ((yarns[a] / 2) as usize, (yarns[b] / 2) as usize);
    // Of the parts that the crossing holds.
    let parts = |family: Family| {
        let (yarn, at) = if family == Family::Warp { (warp, weft) } else { (weft, warp) };
        pictures.map(|runs| part(runs, family, yarn, at))
    };
    let parts = Family::BOTH.map(parts);
    let at = |family: Family, k: usize| {
        let [x, y] = parts[usize::from(family == Family::Weft)].map(|run| run.and_then(|run| run.point(k)));
        Some([x?, y?])
    };
    let (Some(p), Some(q)) = (at(Family::Warp, weft), at(Family::Weft, warp)) else { return true };
    let middle = [0, 1].map(|k| (p[k] + q[k]) * 0.5);
    let next = [(Family::Warp, weft), (Family::Weft, warp)];
    let next = next.into_iter().flat_map(|(family, k)| [k.checked_sub(1), Some(k + 1)].map(|k| at(family, k?)));
    let arms = next.flatten().map(|ends| [0, 1].map(|k| (ends[k] - middle[k]).normalize_or_zero()));
    let turn = fitted(arms);
    let ends = [(Family::Warp, s[a]), (Family::Warp, s[a] + 1), (Family::Weft, s[b]), (Family::Weft, s[b] + 1)];
    let ends = ends.map(|(family, k)| at(family, k).unwrap_or([passing.place; 2]));
    has_passed(&ends.map(|[from, _]| middle[1] + turn * (from - middle[0])), &ends.map(|[_, to]| to))
}

/// Whether two segments end at the crossing of their yarns, which holds them in this picture.
fn cross_here(runs: &[Run], passing: &Passing) -> bool {
    let (yarns, s) = (passing.yarns, passing.segments);
    if yarns[0] % 2 == yarns[1] % 2 {
        return false;
    }
    let (a, b) = if yarns[0].is_multiple_of(2) { (0, 1) } else { (1, 0) };
    let (warp, weft) = ((yarns[a] / 2) as usize, (yarns[b] / 2) as usize);
    let holds = |run: &Run| {
        let kind = weft.checked_sub(run.first).and_then(|k| run.kinds.get(k));
        kind.is_some_and(|kind| kind.is_one())
    };
    (s[a] == weft || s[a] + 1 == weft)
        && (s[b] == warp || s[b] + 1 == warp)
        && runs.iter().any(|run| run.family == Family::Warp && run.yarn == warp && holds(run))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use crate::math::{Quat, hash_unit};
    use crate::yarn::Spec;

    fn random(seed: u64, k: u64) -> Vec3 {
        Vec3::from([0, 1, 2].map(|a| hash_unit(seed, 3 * k + a) - 0.5))
    }

    fn part_of(family: Family, yarn: usize, first: usize, points: &[[f64; 3]]) -> Run {
        let points: Vec<Vec3> = points.iter().map(|&x| Vec3::from(x) * 1e-3).collect();
        Run { family, yarn, first, kinds: vec![Kind::Sliding; points.len()], points }
    }

    #[test]
    fn what_is_beyond_a_cut_is_no_arm() {
        // Crossings at the ends of yarns, in mm, before and after a step of scenes that tear: the arms of the other yarn and of this one, and the place beyond the cut of this one.
        struct Case {
            whole: [[[f64; 3]; 3]; 2],
            cut: [[[f64; 3]; 3]; 2],
        }
        let cube = Case {
            whole: [
                [[127.5631, 23.7664, -6.9157], [127.2629, 24.9704, -6.9119], [128.2282, 25.3373, -7.1706]],
                [[126.9438, 24.6454, -6.5920], [127.3184, 25.7036, -6.6745], [128.1518, 25.9851, -6.5163]],
            ],
            cut: [
                [[127.4794, 26.3837, -6.9788], [127.4794, 24.8544, -6.9584], [127.8592, 23.0031, -7.4841]],
                [[127.3087, 27.0522, -6.8511], [127.1543, 25.8790, -6.7437], [127.7874, 23.7823, -6.9836]],
            ],
        };
        let two_balls = Case {
            whole: [
                [[10.1169, 35.1907, 1.2067], [9.6565, 34.6763, 0.1567], [f64::NAN; 3]],
                [[9.7265, 35.1516, -0.5125], [10.0193, 33.8901, -0.5320], [f64::NAN; 3]],
            ],
            cut: [
                [[9.1638, 35.7837, 0.7011], [9.8130, 34.8331, 0.0410], [24.9729, 22.8795, 4.9285]],
                [[9.9369, 35.0285, 0.1768], [10.2508, 33.9694, -0.5835], [25.0049, 22.4762, 5.2459]],
            ],
        };
        // They cross at place 1 of both; whether the part beyond place 1 of the cut one is another.
        let pictures = |case: &Case, is_cut: bool| {
            [0, 1].map(|k| {
                let there = case.whole[k].iter().take_while(|x| x[0].is_finite()).count();
                let mut runs = vec![part_of(Family::Warp, 1, 0, &case.whole[k][..there])];
                runs.push(part_of(Family::Weft, 1, 0, &case.cut[k][..if is_cut { 2 } else { 3 }]));
                runs.extend(is_cut.then(|| part_of(Family::Weft, 1, 2, &case.cut[k][2..])));
                runs
            })
        };
        for (case, name) in [(cube, "cube"), (two_balls, "two balls")] {
            let told = |is_cut: bool| {
                let [from, to] = pictures(&case, is_cut);
                let found = passings(&drawn(&from, 1e-4), &drawn(&to, 1e-4));
                let arms = found.iter().filter(|passing| passing.segments[1] == 0);
                let turned = arms.clone().filter(|passing| passed_turned([&from, &to], passing)).count();
                [arms.count(), turned]
            };
            // On straight ways they pass, and if what is beyond were an arm too.
            assert_eq!(told(false), [1, 1], "{name}");
            assert_eq!(told(true), [1, 0], "{name}");
        }
    }

    #[test]
    fn ends_that_are_divided_anew_pass_only_what_they_cut_off() {
        // Both are held at their first two places; what is beyond is an end.
        let end_of = |family: Family, yarn: usize, points: &[[f64; 3]]| {
            let mut run = part_of(family, yarn, 10, points);
            run.kinds.iter_mut().skip(2).for_each(|kind| *kind = Kind::Disconnected);
            run
        };
        let weft = |end: &[[f64; 3]]| end_of(Family::Weft, 3, &[&[[-1.0, 0.0, 0.0], [0.0; 3]], end].concat());
        // Comes up from below and goes over the weft.
        let warp = |end: &[f64]| {
            let at = |x: f64| [x, 0.4 * (x - 2.0), 0.1 - 0.55 * (x - 3.0).clamp(0.0, 2.0)];
            end_of(Family::Warp, 8, &[6.0, 5.0].iter().chain(end).map(|&x| at(x)).collect::<Vec<_>>())
        };
        let radius = 1e-4;
        let before = [warp(&[3.0, 1.0, 0.3]), weft(&[[4.0, 0.0, 0.0]])];
        let along = [1.0, 2.0, 3.0, 4.0].map(|x| [x, 0.0, 0.0]);
        let after = [warp(&[4.4, 3.9, 3.3, 2.7, 2.1, 1.5, 0.9, 0.3]), weft(&along)];
        // By their numbers they would have.
        assert!(!passings(&drawn(&before, radius), &drawn(&after, radius)).is_empty());
        assert_eq!(divided_anew(&before, &after, radius), []);
        // What was within a bend that is cut off is outside of it then.
        for (y, through) in [(0.5, vec![([0, 7], [0, 11])]), (1.5, vec![])] {
            let other = part_of(Family::Warp, 0, 0, &[[0.8, y, -1.0], [0.8, y, 1.0]]);
            let bent = [weft(&[[1.0, 1.0, 0.0], [2.0, 0.0, 0.0]]), other.clone()];
            let found = divided_anew(&bent, &[weft(&[[2.0, 0.0, 0.0]]), other], radius);
            assert_eq!(found.iter().map(key).collect::<Vec<_>>(), through, "{y}");
        }
    }

    /// What is found as a cloth of three by three, bent a little, turns within a step; its normals follow at its end, and then its middle may come apart or its yarns change sides.
    fn turned(seed: u64, angle: f64, apart: bool, other_side: bool) -> usize {
        let mut cloth = Woven::new(Spec::muslin(3, 3), Placement::default()).unwrap();
        for c in 0..cloth.crossings() {
            cloth.at.add(c, random(seed, c as u64) * (0.5 * cloth.spec.spacing));
        }
        let (mut watch, middle) = (Watch::new(&cloth), cloth.crossing(1, 1));
        let turn = |angle: f64| Quat::from_axis_angle(Vec3::new(1.0, 2.0, 0.0).normalize(), angle);
        for _ in 0..10 {
            for c in 0..cloth.crossings() {
                cloth.at.set(c, turn(0.1 * angle) * cloth.at.get(c));
            }
            watch.look(&cloth);
        }
        cloth.normal.iter_mut().for_each(|normal| *normal = turn(angle) * *normal);
        if other_side {
            cloth.normal[middle] = -cloth.normal[middle];
        }
        watch.look(&cloth);
        if apart {
            cloth.split(&[middle], Kind::Disconnected);
        }
        watch.end_step(&cloth);
        watch.take().iter().filter(|passing| passing.yarns == [2, 3] || passing.yarns == [3, 2]).count()
    }

    #[test]
    fn what_turns_as_a_whole_passes_nothing_and_what_changes_sides_does() {
        for seed in 0..100 {
            for angle in [0.5, 1.6, 2.8] {
                assert_eq!(turned(seed, angle, false, false), 0, "{seed} {angle}");
                assert_eq!(turned(seed, angle, true, false), 0, "{seed} {angle}");
            }
        }
        // The other yarn on top.
        assert!((0..100).filter(|&seed| turned(seed, 1.6, false, true) > 0).count() > 50);
    }

    #[test]
    fn what_comes_back_through_the_next_segment_has_not_passed() {
        let mut cloth = Woven::new(Spec::muslin(3, 5), Placement::default()).unwrap();
        cloth.split(&(0..cloth.crossings()).collect::<Vec<_>>(), Kind::Disconnected);
        // Warp 1 goes along y; the middle of weft 0 goes through it before one of its points, and back behind it. All others are far away.
        let put = |cloth: &mut Woven, y: f64, z: f64| {
            for c in 0..cloth.crossings() {
                let (i, j) = (c % 3, c / 3);
                let away = |is: bool| if is { 0.0 } else { 10.0 * (1 + c) as f64 };
                cloth.at.set(c, Vec3::new(0.01 * j as f64, j as f64, away(i == 1)));
                let p = cloth.particle(Family::Weft, c);
                cloth.at.set(p, Vec3::new(i as f64 - 0.7, y, z - away(j == 0)));
            }
        };
        put(&mut cloth, 1.7, 0.1);
        let mut watch = Watch::new(&cloth);
        let mut passed = |ways: &[[f64; 2]]| {
            for &[y, z] in ways {
                put(&mut cloth, y, z);
                watch.end_step(&cloth);
            }
            let found = watch.through.len();
            [found, watch.take().len()]
        };
        assert_eq!(passed(&[[1.7, -0.1], [2.3, -0.1], [2.3, 0.1]]), [2, 0]);
        assert_eq!(passed(&[[2.3, -0.1], [1.7, -0.1]]), [1, 1]);
    }

    #[test]
    fn what_ends_a_step_with_the_shape_that_it_had_has_not_passed() {
        let mut cloth = Woven::new(Spec::muslin(3, 5), Placement::default()).unwrap();
        cloth.split(&(0..cloth.crossings()).collect::<Vec<_>>(), Kind::Disconnected);
        // Warp 1 goes along y; the middle of weft 0 goes around its end. All others are far away, and all is turned.
        let put = |cloth: &mut Woven, angle: f64, y: f64, z: f64| {
            let turn = Quat::from_axis_angle(Vec3::new(1.0, 2.0, 0.0).normalize(), angle);
            for c in 0..cloth.crossings() {
                let (i, j) = (c % 3, c / 3);
                let away = |is: bool| if is { 0.0 } else { 10.0 * (1 + c) as f64 };
                cloth.at.set(c, turn * Vec3::new(0.01 * j as f64, j as f64, away(i == 1)));
                let p = cloth.particle(Family::Weft, c);
                cloth.at.set(p, turn * Vec3::new(i as f64 - 0.7, y, z - away(j == 0)));
            }
        };
        let mut told = |z: f64| {
            put(&mut cloth, 0.0, 1.7, 0.1);
            let mut watch = Watch::new(&cloth);
            for [y, z] in [[4.4, 0.1], [4.4, -0.1], [1.7, -0.1]] {
                put(&mut cloth, 0.0, y, z);
                watch.look(&cloth);
            }
            put(&mut cloth, 0.1, 1.7, z);
            watch.look(&cloth);
            assert_eq!(watch.way.len(), usize::from(z > 0.0));
            watch.end_step(&cloth);
            watch.take().len()
        };
        // Where it began, elsewhere on that side, and on the other side, which it has come to around the end.
        assert_eq!([told(0.1), told(0.101), told(-0.1)], [0, 1, 0]);
    }

    #[test]
    fn what_slips_from_the_arm_of_a_crossing_to_the_next_segment_has_not_passed() {
        let mut cloth = Woven::new(Spec::muslin(3, 5), Placement::default()).unwrap();
        let [from, to] = [1, 2].map(|i| cloth.drawn(Family::Weft, cloth.crossing(i, 1)));
        // The point of warp 1 next to its crossing with weft 1 goes around the weft behind it: its arm passes in one substep, the segment beyond in the next one, and it is on its side again.
        let (next, middle) = (cloth.crossing(1, 2), from.midpoint(to));
        let put = |cloth: &mut Woven, angle: f64| {
            let (sin, cos) = crate::math::sin_cos(angle);
            let beside = cloth.beside(Family::Warp, next);
            cloth.at.set(
                next,
                middle + Vec3::new(0.0, cos, sin * cloth.side(cloth.crossing(1, 1))) * (0.25 * cloth.spec.spacing)
                    - beside,
            );
            cloth.runs()
        };
        let pictures = [-0.5, 3.9, 1.75].map(|angle| put(&mut cloth, angle));
        let both = |passing: &Passing| passing.yarns == [2, 3];
        let ways = [0, 1].map(|k| compare(&cloth, &pictures[k], &pictures[k + 1]).into_iter().filter(both));
        let here: Vec<bool> = ways.into_iter().flatten().map(|passing| cross_here(&pictures[0], &passing)).collect();
        assert_eq!(here, [true, false]);
        put(&mut cloth, -0.5);
        let mut watch = Watch::new(&cloth);
        for angle in [3.9, 1.75] {
            put(&mut cloth, angle);
            watch.look(&cloth);
        }
        watch.end_step(&cloth);
        assert!(!watch.take().iter().any(both));
    }
}
