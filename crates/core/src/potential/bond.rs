//! What still holds two nodes that have just parted: the work of tearing, spent as the lips open.
//!
//! F = F_p(d) · δ / d,  d = max(δ, δ_m),  F_p(d) = F₀ (δ_c − d)⁺ / (δ_c − δ₀)
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | δ | | m | distance of the two nodes |
//! | δ_m | `widest` | m | largest it has been at the end of a step, at least δ₀ |
//! | δ₀ | [`FIRST`] δ_c | m | distance at which the bond pulls most |
//! | F₀ | `force` | N | largest pull: half of what the cloth carried there when it parted, at least 0.3 G_c or what makes δ_c 30 mm, whichever is less (in `tear/mod.rs`) |
//! | δ_c | `end` | m | distance at which nothing is left: 2 G_c Δa / F₀ |
//!
//! The pull rises to F₀ within δ₀ and falls in a straight line to nothing: ½ F₀ δ_c = G_c Δa, the energy that tearing a length Δa costs. Unloading goes
//! straight to the origin, and nothing heals. Cloth that parts without a bond spends only a quarter to a half of G_c, depending on mesh and speed.
//!
//! Stiffness: F_p/d in all directions while δ < δ_m (exact); across the bond alone beyond, where the pull falls: the matrix stays positive semi-definite.
//!
//! Source: cohesive zones (Barenblatt 1962, Hillerborg 1976), in the form that the prototype found to spend exactly G_c. Deviation: a finite first slope
//! instead of a rigid one, so that a step can be solved.

use super::{Element, Row, Tangent};
use crate::cloth::Cloth;
use crate::math::{Mat3, Vec3, inverse_or_zero, outer};
use ripstop_mesh::NodeId;
use serde::{Deserialize, Serialize};

/// δ₀ over δ_c.
pub const FIRST: f64 = 0.02;

/// One bond.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bond {
    /// The node that was split off.
    pub node: NodeId,
    /// The one that it was split from.
    pub from: NodeId,
    /// Largest pull [N].
    pub force: f64,
    /// Largest distance so far [m].
    pub widest: f64,
    /// Distance at which it is gone [m].
    pub end: f64,
    /// What tearing costs here per length [N].
    pub cost: f64,
}

impl Bond {
    /// A bond that spends `cost` [N] over a `length` of tear [m], from a pull of `force` [N] on.
    pub fn new(node: NodeId, from: NodeId, force: f64, (cost, length): (f64, f64)) -> Self {
        let end = 2.0 * cost * length / force;
        Self { node, from, force, widest: FIRST * end, end, cost }
    }

    /// What it pulls at this distance [m], over that [N/m].
    pub fn stiffness(&self, apart: f64) -> f64 {
        pull(&[self.force, self.widest, self.end], apart).0
    }

    /// True if it hasn't begun to give way.
    pub fn is_fast(&self) -> bool {
        self.widest <= FIRST * self.end
    }
}

/// All bonds of a cloth, in the order of the nodes that were split off.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bonds {
    all: Vec<Bond>,
}

impl Bonds {
    /// Adds one.
    pub(crate) fn add(&mut self, bond: Bond) {
        let at = self.all.partition_point(|other| other.node < bond.node);
        self.all.insert(at, bond);
    }

    /// The bond of a node that was split off.
    pub fn of(&self, node: NodeId) -> Option<&Bond> {
        let at = self.all.binary_search_by_key(&node, |bond| bond.node).ok()?;
        Some(&self.all[at])
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Bond> {
        self.all.iter()
    }
}

impl Cloth {
    /// Bonds wear as their nodes move apart. Returns the nodes whose bonds have changed, and whether any is gone.
    pub(crate) fn wear_bonds(&mut self) -> (Vec<NodeId>, bool) {
        let (mut changed, mut gone) = (Vec::new(), false);
        let x = &self.x;
        self.bonds.all.retain_mut(|bond| {
            let apart = x[bond.node].distance(x[bond.from]);
            if apart > bond.widest {
                bond.widest = apart;
                changed.push(bond.node);
            }
            gone |= apart >= bond.end;
            apart < bond.end
        });
        (changed, gone)
    }
}

/// The element of all bonds.
pub struct Hold;

/// F₀ [N], δ_m and δ_c [m].
type Law = [f64; 3];

/// F_p / d [N/m], and whether the pull falls.
#[inline(always)]
fn pull(&[force, widest, end]: &Law, apart: f64) -> (f64, bool) {
    let reach = apart.max(widest);
    let peak = force * (end - reach).max(0.0) / (end * (1.0 - FIRST));
    (peak / reach, apart > widest)
}

impl Element<2, 3> for Hold {
    type Key = NodeId;
    const NAME: &'static str = "bonds";
    const STIFF: bool = true;

    fn row(&self, cloth: &Cloth, n: NodeId) -> Option<Row<2, 3>> {
        let bond = cloth.bonds.of(n)?;
        Some(([bond.node, bond.from], [bond.force, bond.widest, bond.end]))
    }

    #[inline(always)]
    fn energy(&self, law: &Law, x: &[Vec3; 2]) -> f64 {
        let &[force, widest, end] = law;
        let apart = x[0].distance(x[1]);
        let near = apart.min(widest);
        let rising = 0.5 * pull(law, near).0 * near * near;
        let (from, to) = (end - widest, (end - apart.max(widest)).max(0.0));
        rising + 0.5 * force * (from * from - to * to) / (end * (1.0 - FIRST))
    }

    #[inline(always)]
    fn force(&self, law: &Law, x: &[Vec3; 2], _v: &[Vec3; 2]) -> [Vec3; 2] {
        let along = x[1] - x[0];
        let on = along * pull(law, along.length()).0;
        [on, -on]
    }

    #[inline(always)]
    fn tangent(&self, law: &Law, x: &[Vec3; 2], per_x: f64, _per_v: f64) -> Tangent<2> {
        let along = x[1] - x[0];
        let length = along.length();
        let (stiffness, falls) = pull(law, length);
        let unit = along * inverse_or_zero(length);
        let less = if falls { 1.0 } else { 0.0 };
        let both = (Mat3::IDENTITY - outer(unit, unit) * less) * (stiffness * per_x);
        [[both, -both], [-both, both]]
    }

    fn bounds(&self, law: &Law) -> (f64, f64) {
        (2.0 * pull(law, 0.0).0, 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::laws;
    use super::*;

    const BOND: Law = [20.0, 0.002, 0.01];

    #[test]
    fn obeys_the_laws() {
        for apart in [0.0005, 0.0015, 0.004, 0.009, 0.02] {
            let x = [Vec3::ZERO, Vec3::new(0.6, 0.0, 0.8) * apart];
            laws::force_is_the_gradient(&Hold, &BOND, x, 1e4);
            laws::balanced(x, Hold.force(&BOND, &x, &[Vec3::ZERO; 2]), 1e4);
            laws::stiffness_never_pushes(&Hold, &BOND, x, 1e4);
        }
        laws::stiffness_is_the_slope(&Hold, &BOND, [Vec3::ZERO, Vec3::new(0.0006, 0.0, 0.0008)], 1e4);
    }

    #[test]
    fn pulled_apart_it_spends_its_energy() {
        let bond = Bond::new(NodeId(1), NodeId(0), 7.0, (2.0, 0.025));
        let law = [bond.force, bond.widest, bond.end];
        let steps = 100_000;
        let d = 1.2 * bond.end / f64::from(steps);
        let pull = |k: i32| Hold.force(&law, &[Vec3::ZERO, Vec3::X * (f64::from(k) + 0.5) * d], &[Vec3::ZERO; 2])[0].x;
        let work: f64 = (0..steps).map(|k| pull(k) * d).sum();
        assert!((work / 0.05 - 1.0).abs() < 1e-6, "{work}");
    }
}
