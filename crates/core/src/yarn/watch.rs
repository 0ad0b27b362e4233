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

use super::normals::fitted;
use super::pass::{Passing, Strand, has_passed, passings};
use super::read::Run;
use super::state::{Family, Woven};
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

    /// To be called within a step, after every substep ([`Woven::step_watched`]).
    pub fn look(&mut self, cloth: &Woven) {
        let runs = cloth.runs();
        self.follow(cloth, &runs, &runs);
        self.look = runs;
    }

    /// To be called after every step.
    pub fn end_step(&mut self, cloth: &Woven) {
        let runs = cloth.runs();
        // What comes apart when a step ends held in it.
        let held = self.look.clone();
        self.follow(cloth, &runs, &held);
        let way: Vec<(Passing, bool)> = std::mem::take(&mut self.way).into_values().collect();
        let beside = odd(&way, |of| &of.0).into_iter().filter_map(|of| of.into_iter().find(|(_, here)| !here));
        let beside: Vec<Passing> = beside.map(|(passing, _)| passing).collect();
        let here = compare(cloth, &self.step, &runs).into_iter().filter(|passing| cross_here(&held, passing));
        let here = here.filter(|passing| passed_turned([&self.step, &runs], passing));
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

    /// Notes what has passed from the last look to these yarns; `held` tells which crossings hold.
    fn follow(&mut self, cloth: &Woven, runs: &[Run], held: &[Run]) {
        for passing in compare(cloth, &self.look, runs) {
            toggle(&mut self.way, key(&passing), (passing, cross_here(held, &passing)));
        }
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

/// Where a yarn is at a crossing of it, if it is there.
fn point(runs: &[Run], family: Family, yarn: usize, at: usize) -> Option<Vec3> {
    let of = runs.iter().filter(|run| run.family == family && run.yarn == yarn);
    of.filter_map(|run| run.points.get(at.checked_sub(run.first)?).copied()).next()
}

/// Whether two segments at the crossing of their yarns have passed from one picture to another, apart from what all of its arms have turned together.
fn passed_turned(pictures: [&[Run]; 2], passing: &Passing) -> bool {
    let (yarns, s) = (passing.yarns, passing.segments);
    let (a, b) = if yarns[0].is_multiple_of(2) { (0, 1) } else { (1, 0) };
    let (warp, weft) = ((yarns[a] / 2) as usize, (yarns[b] / 2) as usize);
    let at = |family: Family, k: usize| {
        let yarn = if family == Family::Warp { warp } else { weft };
        let [x, y] = pictures.map(|runs| point(runs, family, yarn, k));
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
    use crate::yarn::{Kind, Spec};

    fn random(seed: u64, k: u64) -> Vec3 {
        Vec3::from([0, 1, 2].map(|a| hash_unit(seed, 3 * k + a) - 0.5))
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
