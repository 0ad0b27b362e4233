//! Opening `halve`: the edge that is stretched too far is split in its middle, and the cloth parts across it.
//!
//! At a node that is no tip, the edge most nearly along the pull is split in the middle; with it the one or two faces beside it.
//! The new edges from the middle to the opposite corners open, so the middle becomes two nodes and the corners become weak: tips
//! of the tear. At a tip the tear goes on along an existing edge ([`Onward`](super::Onward)).
//!
//! The halves would be as overstretched as the edge was. So each of the two middles moves towards the end it hangs on, until its half has the
//! strain ε / ω, just below the threshold (§3.2.1):
//!
//! l′ = l₀ (1 + ε / ω) · (1 − 10⁻³),  but not below the rest length
//!
//! and only by as much (the whole way, half, a quarter …) as leaves the springs of the edges at the middle with no more energy than before. A middle moves on the segment between the ends of its edge, within the faces that hang on it: they shrink into
//! themselves, so nothing is passed through.
//!
//! Slivers: a split that would leave an angle below `least_angle`, or an edge below `least_length`, is not made; there the cloth parts along existing
//! edges instead. So no number of tears makes an angle smaller than the smaller of `least_angle` and what the mesh began with. The least
//! angle that splitting a right-angled isosceles triangle must make is 18.4° (from a leg's middle), an equilateral one's 30°.
//!
//! Explicit integrators need shorter steps in the end: a fourth of what the cloth needs at the start is enough ([`Halve::STEP`]).
//!
//! Source: Önal & İşler 2013 §3.2.1, Figs. 3–4. Deviations: the bound on the move, which the paper leaves open, and that on slivers.

use super::{Opening, Shape, onward, open_all};
use crate::cloth::Cloth;
use crate::criterion::star;
use crate::math::{Vec2, Vec3};
use crate::tear::Part;
use ripstop_mesh::{Change, ChangeLog, EdgeId, NodeId};

/// Splits edges in the middle.
#[derive(Clone, Copy, Debug)]
pub struct Halve {
    shape: Shape,
}

impl Halve {
    /// For a cloth as it is at the start.
    pub fn of(cloth: &Cloth) -> Self {
        Self { shape: Shape::of(cloth) }
    }

    /// What the stable step of an explicit integrator may shrink to, over what it is at the start: edges get shorter, and nodes lighter.
    pub const STEP: f64 = 0.25;

    /// The edge to split at `part`, if it may be.
    fn edge(&self, cloth: &Cloth, part: &Part) -> Option<EdgeId> {
        if cloth.weak[part.node] {
            return None;
        }
        let along = |d: Vec2| d.normalize_or_zero().dot(part.pull).abs();
        let (e, _) = star(&cloth.mesh, part.node).max_by(|a, b| along(a.1).total_cmp(&along(b.1)))?;
        self.shape.may_split(&cloth.mesh, e, 0.5).then_some(e)
    }
}

impl Opening for Halve {
    fn name(&self) -> &'static str {
        "halve"
    }

    fn can_open(&self, cloth: &Cloth, part: &Part) -> bool {
        self.edge(cloth, part).is_some() || !onward::edges(cloth, part).is_empty()
    }

    fn open(&self, cloth: &mut Cloth, part: &Part, log: &mut ChangeLog) {
        let Some(e) = self.edge(cloth, part) else {
            return open_all(cloth, onward::edges(cloth, part), log);
        };
        cloth.mesh.split_edge(e, 0.5, log);
        let Some(&Change::EdgeSplit { spokes, .. }) = log.last() else { return };
        open_all(cloth, spokes.into_iter().flatten().collect(), log);
    }

    fn ease(&self, cloth: &mut Cloth, part: &Part, log: &[Change]) {
        for change in log {
            let Change::EdgeSplit { edge, rest, .. } = *change else { continue };
            // Middles are the newest nodes of their halves.
            for half in [edge, rest] {
                let [a, b] = cloth.mesh.edge_nodes(half);
                let (end, middle) = if a < b { (a, b) } else { (b, a) };
                shorten(cloth, half, end, middle, part.ratio);
            }
        }
    }
}

/// Moves `middle` towards `end` until the strain of their edge is a `ratio`th of what it is, if no other edge forbids it.
fn shorten(cloth: &mut Cloth, half: EdgeId, end: NodeId, middle: NodeId, ratio: f64) {
    let (from, to) = (cloth.x[middle], cloth.x[end]);
    let (length, strain) = (from.distance(to), cloth.total_strain(half));
    let wanted = (cloth.woven[half] * (1.0 + strain / ratio) * (1.0 - 1e-3)).max(cloth.rest[half]);
    if wanted >= length || cloth.is_held(middle) {
        return;
    }
    let way = (to - from) * (1.0 - wanted / length);
    let mesh = &cloth.mesh;
    // Energy of the springs at the middle, with the stiffness that edges have by their faces, for a fabric of 2 N/m.
    let energy = |at: Vec3| {
        let springs = star(mesh, middle).map(|(e, _)| {
            let sides = [Some(mesh.edge_corner(e)), mesh.twin(mesh.edge_corner(e))].into_iter().flatten();
            let area: f64 = sides.map(|c| mesh.face_area(c.face()).abs()).sum();
            let [a, b] = mesh.edge_nodes(e);
            let off = at.distance(cloth.x[if a == middle { b } else { a }]) - cloth.rest[e];
            area / (cloth.woven[e] * cloth.woven[e]) * off * off
        });
        springs.sum::<f64>()
    };
    let now = energy(from);
    let mut shares = std::iter::successors(Some(1.0), |share| Some(0.5 * share)).take(8);
    let share = shares.find(|&share| energy(from + way * share) <= now).unwrap_or(0.0);
    cloth.x[middle] = from + way * share;
}

#[cfg(test)]
mod tests {
    use super::super::{largest_cosine, sheet};
    use super::*;
    use crate::potential::{ElementSet, Potential, Stretch};
    use ripstop_mesh::{Mesh, generate};

    fn stretched() -> (Cloth, Part) {
        let mesh = generate::irregular(Vec2::ONE, 0.1, 5).unwrap();
        let mut cloth = sheet(mesh);
        cloth.x.iter_mut().for_each(|x| *x = Vec3::new(1.3 * x.x, 0.95 * x.y, 0.1 * x.x * x.y));
        let middle = cloth.mesh.nodes().find(|&n| cloth.mesh.node_uv(n).distance(Vec2::splat(0.5)) < 0.06).unwrap();
        let edge = star(&cloth.mesh, middle).max_by(|a, b| cloth.total_strain(a.0).total_cmp(&cloth.total_strain(b.0)));
        let pull = edge.unwrap().1.normalize();
        (cloth, Part { node: middle, pull, ratio: 1.2 })
    }

    #[test]
    fn one_edge_becomes_two_halves_below_the_threshold_and_two_weak_tips() {
        let (mut cloth, part) = stretched();
        let halve = Halve::of(&cloth);
        let (area, nodes) = (cloth.mesh.area(), cloth.mesh.node_count());
        let strain = star(&cloth.mesh, part.node).map(|(e, _)| cloth.total_strain(e)).fold(0.0, f64::max);
        let stretch = Stretch { stiffness: 1000.0, damping: 0.0 };
        let mut log = ChangeLog::new();
        halve.open(&mut cloth, &part, &mut log);
        cloth.follow(&log);
        let before = ElementSet::new(stretch, &cloth).energy(&cloth);
        halve.ease(&mut cloth, &part, &log);
        let after = ElementSet::new(Stretch { stiffness: 1000.0, damping: 0.0 }, &cloth).energy(&cloth);
        assert!(after < before, "{before} J became {after} J");
        cloth.mesh.check().unwrap();
        assert!((cloth.mesh.area() - area).abs() < 1e-14);
        assert_eq!(cloth.mesh.node_count(), nodes + 2);
        assert_eq!(cloth.weak.iter().filter(|weak| **weak).count(), 2);
        let Change::EdgeSplit { edge, rest, .. } = log[0] else { panic!("split first") };
        for half in [edge, rest] {
            assert!(cloth.total_strain(half) < strain / part.ratio, "{} of {strain}", cloth.total_strain(half));
        }
    }

    #[test]
    fn splits_stop_before_slivers() {
        // Asked for everywhere, again and again: angles stay above the bound, and the mesh stops growing.
        let mut cloth = stretched().0;
        let halve = Halve::of(&cloth);
        let smallest = |mesh: &Mesh| mesh.faces().map(|f| largest_cosine(mesh.face_uv(f))).fold(-1.0, f64::max);
        let start = smallest(&cloth.mesh);
        let shortest = cloth.mesh.edges().map(|e| cloth.mesh.edge_length(e)).fold(f64::INFINITY, f64::min);
        let mut splits = 0;
        for round in 0..40 {
            for n in 0..cloth.mesh.node_count() {
                let pull = Vec2::from_angle(f64::from(round) * 0.7 + n as f64);
                let part = Part { node: NodeId(n as u32), pull, ratio: 1.1 };
                // All nodes count as sound, which is the worst case.
                cloth.weak[part.node] = false;
                if let Some(e) = halve.edge(&cloth, &part) {
                    let mut log = ChangeLog::new();
                    cloth.mesh.split_edge(e, 0.5, &mut log);
                    cloth.follow(&log);
                    splits += 1;
                }
            }
        }
        let end = smallest(&cloth.mesh);
        assert!(splits > 100, "{splits} splits");
        assert!(end <= start.max(halve.shape.least_angle), "cosine {start} became {end}");
        let short = cloth.mesh.edges().map(|e| cloth.mesh.edge_length(e)).fold(f64::INFINITY, f64::min);
        assert!(short >= shortest.min(halve.shape.least_length), "an edge of {short} m");
    }
}
