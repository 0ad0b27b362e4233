//! Criteria: where is load / resistance = ω above one, and along which line?
//!
//! A criterion looks at the measured [`Fields`](crate::tear::Fields) of a cloth and answers with requests. It knows
//! nothing of how the mesh will be opened, and what the load is divided by comes from [`Resistance`].
//!
//! To add one: a file here with an `impl Criterion`, and its arm in the scene reader.

mod directional;
mod edge_strain;
mod release;
mod separation_tensor;
mod smooth;
mod toughness;

pub use directional::{Direction, Directional, Sectors, Strengths};
pub use edge_strain::EdgeStrain;
pub(crate) use release::{faces_within, pull_at};
pub use separation_tensor::{Form, GATE, SeparationTensor, separation, star};
pub use toughness::Toughness;

use crate::cloth::{Cloth, Touched};
use crate::math::Vec2;
use crate::potential::Forces;
use crate::tear::{Fields, Part, Request, Resistance};
use ripstop_mesh::{Column, NodeId};

/// What a criterion may look at.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The cloth.
    pub cloth: &'a Cloth,
    /// Its measured fields.
    pub fields: &'a Fields,
    /// What strength is multiplied by, from place to place.
    pub resistance: &'a Resistance,
    /// What the cloth is held together by.
    pub forces: &'a Forces,
    /// Round of measuring and tearing at the end of a step, from zero.
    pub round: u32,
    /// True if a request would be met: its node has rested, the mesh can open there, and no piece comes off that is too small.
    pub opens: &'a (dyn Fn(&Part) -> bool + Sync),
}

impl View<'_> {
    /// What strength is multiplied by at `n` for a pull along `pull`.
    #[inline]
    pub fn resist(&self, n: NodeId, pull: Vec2) -> f64 {
        self.resistance.at(self.cloth, n, pull)
    }

    /// A node can part if it is free, nothing keeps it whole, and more than one face meets there.
    pub fn can_part(&self, n: NodeId) -> bool {
        !self.cloth.is_held(n)
            && self.resistance.least_at(self.cloth, n) < f64::INFINITY
            && self.cloth.mesh.fan(n).nth(1).is_some()
    }
}

/// Nodes that were looked at in this round, without clearing a table between rounds.
#[derive(Clone, Debug, Default)]
struct Seen {
    round: u32,
    last: Column<NodeId, u32>,
}

impl Seen {
    /// A new round over so many nodes.
    fn begin(&mut self, nodes: usize) {
        self.round = self.round.wrapping_add(1);
        self.last.grow(nodes, 0);
    }

    /// True when a node is met for the first time in a round.
    #[inline]
    fn is_new(&mut self, n: NodeId) -> bool {
        std::mem::replace(&mut self.last[n], self.round) != self.round
    }
}

/// A rule for when and where cloth tears.
pub trait Criterion: Send {
    /// Name in scenes and events.
    fn name(&self) -> &'static str;

    /// True if it looks at [`Fields::faces`], which models without faces that resist don't have, instead of [`Fields::edge_strain`].
    fn wants_stress(&self) -> bool {
        false
    }

    /// True if stress must be in balance when it is looked at: an integrator that leaves it uneven then brings it there.
    fn wants_balance(&self) -> bool {
        false
    }

    /// Adds a request for every place where ω > 1.
    fn find(&mut self, view: View<'_>, requests: &mut Vec<Request>);

    /// Energy per length [N] that a tear from `at` over `way` [m] of material costs where `part` was asked for: it is held by bonds that spend it. `None` if it parts at once.
    fn spends(&self, _view: View<'_>, _part: &Part, _at: Vec2, _way: Vec2) -> Option<f64> {
        None
    }

    /// True if tears are held by [bonds](crate::potential::Bond).
    fn bonds(&self) -> bool {
        false
    }

    /// Follows edits of the cloth, if it keeps tables of its own.
    fn follow(&mut self, _cloth: &Cloth, _touched: &Touched) {}

    /// The ω that the place of `request` has in this state, zero if it has none. Used to find when within a step
    /// it passed one.
    fn ratio(&self, view: View<'_>, request: &Request) -> f64;
}
