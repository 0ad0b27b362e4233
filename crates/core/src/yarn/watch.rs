//! Counts what passes through what, from outside: yarns as they are drawn, compared after every substep.
//!
//! What [`Woven::take_passings`] tells is what the step itself noticed; this asks again without knowing of pairs, so it is slow and for tests.
//!
//! From look to look all ends are taken to go straight. What passes and comes back is nothing; so segments that have passed an odd number of times when it is asked count.
//! Where two segments end at the crossing of their yarns, which holds them, only whole steps are compared: at their end its normal follows.

use super::pass::{Passing, Strand, passings};
use super::read::Run;
use super::state::{Kind, Woven};
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
        self.note(compare(cloth, &self.step, &self.look).filter(|passing| cross_here(cloth, passing)));
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
