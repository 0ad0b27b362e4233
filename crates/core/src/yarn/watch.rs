//! Counts what passes through what, from outside: yarns as they are drawn, compared after every substep.
//!
//! What [`Woven::take_passings`] tells is what the step itself noticed; this asks again without knowing of pairs, so it is slow and for tests.
//!
//! From look to look all ends are taken to go straight. What passes and comes back is nothing; so segments that have passed an odd number of times when it is asked count.
//! Where two segments end at the crossing of their yarns, which holds them, only whole steps are compared: at their end its normal follows. Crossings may turn by a right angle and more in a step; on straight ways all of
//! what turns comes near one line, and the least that it is bent by then makes it pass. So what all arms of a crossing have turned together doesn't count there: they are taken to have begun the step turned like that.

use super::normals::fitted;
use super::pass::{Passing, Strand, has_passed, passings};
use super::read::Run;
use super::state::{Family, Kind, Woven};
use crate::math::Vec3;
use std::collections::BTreeSet;

/// Yarns as they were last seen, and which have passed since.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// At the last look, and after the last step.
    look: Vec<Run>,
    step: Vec<Run>,
    /// Yarns and segments that have passed each other and haven't come back.
    through: BTreeSet<([u64; 2], [usize; 2])>,
}

impl Watch {
    /// To be called within a step, after every substep ([`Woven::step_watched`]).
    pub fn look(&mut self, cloth: &Woven) {
        let runs = cloth.runs();
        self.note(compare(cloth, &self.look, &runs).filter(|passing| !cross_here(cloth, passing)));
        self.look = runs;
    }

    /// To be called after every step.
    pub fn end_step(&mut self, cloth: &Woven) {
        self.look(cloth);
        let here = compare(cloth, &self.step, &self.look).filter(|passing| cross_here(cloth, passing));
        let passed: Vec<Passing> = here.filter(|passing| passed_turned([&self.step, &self.look], passing)).collect();
        self.note(passed.into_iter());
        self.step.clone_from(&self.look);
    }

    /// How many pairs of segments have passed since it was last asked.
    pub fn take(&mut self) -> usize {
        std::mem::take(&mut self.through).len()
    }

    fn note(&mut self, passings: impl Iterator<Item = Passing>) {
        for Passing { yarns, segments, .. } in passings {
            if !self.through.remove(&(yarns, segments)) {
                self.through.insert((yarns, segments));
            }
        }
    }
}

fn compare(cloth: &Woven, from: &[Run], to: &[Run]) -> impl Iterator<Item = Passing> + use<> {
    let radius = 0.5 * cloth.spec().thickness;
    passings(&drawn(from, radius), &drawn(to, radius)).into_iter()
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

/// Whether two segments end at the crossing of their yarns, which holds them.
fn cross_here(cloth: &Woven, passing: &Passing) -> bool {
    let (yarns, s) = (passing.yarns, passing.segments);
    if yarns[0] % 2 == yarns[1] % 2 {
        return false;
    }
    let (a, b) = if yarns[0].is_multiple_of(2) { (0, 1) } else { (1, 0) };
    let (warp, weft) = ((yarns[a] / 2) as usize, (yarns[b] / 2) as usize);
    matches!(cloth.kind(cloth.crossing(warp, weft)), Kind::Welded | Kind::Sliding)
        && (s[a] == weft || s[a] + 1 == weft)
        && (s[b] == warp || s[b] + 1 == warp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use crate::math::{Quat, hash_unit};
    use crate::yarn::Spec;

    /// How many pairs of arms of the crossing in the middle pass from one cloth to another, by straight ways and apart from what they turn together.
    fn passed(from: &Woven, to: &Woven) -> [usize; 2] {
        let runs = [from.runs(), to.runs()];
        let here: Vec<Passing> =
            compare(from, &runs[0], &runs[1]).filter(|passing| cross_here(from, passing)).collect();
        let turned = here.iter().filter(|passing| passed_turned([&runs[0], &runs[1]], passing)).count();
        [here.len(), turned]
    }

    #[test]
    fn what_turns_as_a_whole_passes_nothing_and_what_changes_sides_does() {
        let flat = Woven::new(Spec::muslin(3, 3), Placement::default()).unwrap();
        let turn = Quat::from_axis_angle(Vec3::new(1.0, 2.0, 0.0).normalize(), 2.8);
        let (mut bent, mut straight) = (0, 0);
        for seed in 0..200 {
            // Bent a little, then turned as a whole.
            let mut there = flat.clone();
            for c in 0..there.crossings() {
                let by = Vec3::from([0, 1, 2].map(|k| hash_unit(seed, 3 * c as u64 + k) - 0.5));
                there.at.add(c, by * (0.5 * flat.spec.spacing));
            }
            if passed(&flat, &there) != [0, 0] {
                continue;
            }
            for c in 0..there.crossings() {
                there.at.set(c, turn * there.at.get(c));
                there.normal[c] = turn * there.normal[c];
            }
            let [by_straight_ways, apart_from_the_turn] = passed(&flat, &there);
            assert_eq!(apart_from_the_turn, 0, "{seed}");
            (bent, straight) = (bent + 1, straight + by_straight_ways);
        }
        // By straight ways half a turn brings all of it through one line.
        assert!(bent > 100 && straight > 0, "{bent} {straight}");
        // The other yarn on top.
        let mut other = flat.clone();
        let c = flat.crossing(1, 1);
        other.normal[c] = -other.normal[c];
        assert!(passed(&flat, &other)[1] > 0);
    }
}
