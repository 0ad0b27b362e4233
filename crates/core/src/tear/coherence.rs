//! What keeps a tear together, for every criterion and opening: how often, how soon again, how small.
//!
//! Tears that follow the load alone can shatter cloth: within a few steps everything near the first tear is past its strength, before the
//! cloth had time to give way. What Önal & İşler 2013 saw in their weak points (a tear should run on, not begin anew beside itself) is here as limits that
//! all methods share; the weak factor itself is part of [`Resistance`](super::Resistance).
//!
//! - `per_step`, `per_second`: at most so many openings, the most urgent first. An allowance grows by `per_second` · h in a step, up to one
//!   opening or one step's worth.
//! - `pause`: a node at which cloth parted doesn't part again before so long [s]. A tear then runs no faster than an edge per pause.
//! - `smallest_piece`: nothing opens that would set a piece free that is smaller than this [m²].

use super::Part;
use crate::cloth::Cloth;
use crate::criterion::star;
use crate::math::Vec2;
use crate::opening::{Choice, Opening};
use ripstop_mesh::{Change, ChangeLog, FaceId, Marks, Mesh, NodeId, Patch};

/// Faces that there is room for at first where they are counted.
const SEEN: usize = 48;

/// Limits on tearing by load. The default is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coherence {
    /// Openings in a step.
    pub per_step: u32,
    /// Openings in a second.
    pub per_second: f64,
    /// Time between two openings at a node [s].
    pub pause: f64,
    /// Area below which no piece comes off [m²].
    pub smallest_piece: f64,
}

impl Default for Coherence {
    fn default() -> Self {
        Self { per_step: u32::MAX, per_second: f64::INFINITY, pause: 0.0, smallest_piece: 0.0 }
    }
}

/// How many openings are left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Budget {
    /// In this step.
    in_step: u32,
    /// By the rate: what a checkpoint has to keep.
    pub allowance: f64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { in_step: 0, allowance: 1.0 }
    }
}

impl Budget {
    /// A step of `h` [s] begins.
    pub fn begin(&mut self, limits: &Coherence, h: f64) {
        let earned = limits.per_second * h;
        self.in_step = 0;
        self.allowance = (self.allowance + earned).min(earned.max(1.0));
    }

    /// True if one more may open.
    pub fn is_left(&self, limits: &Coherence) -> bool {
        // A sum of tenths may be a little short of one.
        self.in_step < limits.per_step && self.allowance > 1.0 - 1e-9
    }

    /// One opened.
    pub fn spend(&mut self) {
        self.in_step += 1;
        self.allowance -= 1.0;
    }
}

impl Coherence {
    /// True if the cloth at `n` has rested since it last parted.
    pub(super) fn rested(&self, cloth: &Cloth, n: NodeId, time: f64) -> bool {
        time - cloth.parted_at[n] >= self.pause
    }

    /// If opening at `part` would set too small a piece free, why. Tried on a copy of the cloth around the node, where its star could be cut through at all and may have nothing large behind it.
    pub(super) fn crumbles(&self, cloth: &Cloth, part: &Part, opening: &dyn Opening) -> Option<Crumb> {
        let least = self.smallest_piece;
        if least <= 0.0 || !could_detach(cloth, part.node) || hangs_on(&cloth.mesh, part.node, least) {
            return None;
        }
        let faces = around(&cloth.mesh, part.node, least);
        let crumbles = sets_free_among(cloth, &faces, part, opening, least);
        let choice = opening.choice(cloth, part);
        crumbles.then_some(Crumb { node: part.node, pull: part.pull, choice, faces })
    }
}

/// A place that doesn't open since too small a piece would come off. It is asked for in every step, as long as the load is there.
#[derive(Debug)]
pub(super) struct Crumb {
    pub node: NodeId,
    pub pull: Vec2,
    /// What opening there would do.
    pub choice: Option<Choice>,
    /// The piece and all that opening there may change: as long as nothing of that is edited, and the choice is the same, it crumbles.
    faces: Vec<FaceId>,
}

/// Keeps what is still so after edits of these faces.
pub(super) fn retain_unedited(crumbs: &mut Vec<Crumb>, mesh: &Mesh, edited: &[FaceId]) {
    if !crumbs.is_empty() && !edited.is_empty() {
        let edited = Marks::of(mesh.face_count(), edited.iter().copied());
        crumbs.retain(|crumb| !crumb.faces.iter().any(|&face| edited.has(face)));
    }
}

/// True if opening at `part` sets a piece free that is smaller than `least` [m²], by trying among some faces.
fn sets_free_among(cloth: &Cloth, faces: &[FaceId], part: &Part, opening: &dyn Opening, least: f64) -> bool {
    let (mut trial, Patch { nodes, rim, .. }) = cloth.patch(faces);
    let Some(node) = nodes.ids().find(|&n| nodes[n] == part.node) else { return false };
    let mut log = ChangeLog::new();
    opening.open(&mut trial, &Part { node, ..*part }, &mut log);
    let split = log.iter().filter_map(|change| match *change {
        Change::NodeSplit { node, copy } => Some([node, copy]),
        _ => None,
    });
    let mut faces = split.flatten().filter_map(|n| trial.mesh.fan(n).next()).map(|c| c.face());
    let on_rim = |face: FaceId| face.corners().iter().any(|&c| rim.binary_search(&trial.mesh.edge(c)).is_ok());
    faces.any(|face| {
        let (sum, seen) = flood(&trial.mesh, face, &Marks::none(trial.mesh.face_count()), least);
        // Beyond the rim there is more.
        sum < least && !seen.into_iter().any(on_rim)
    })
}

/// The faces among which an opening at `node` may change something, with what hangs on these alone if that is smaller than `area` [m²], in order: beyond their rim there is more than that.
fn around(mesh: &Mesh, node: NodeId, area: f64) -> Vec<FaceId> {
    let mut faces: Vec<FaceId> = mesh.fan(node).map(|c| c.face()).collect();
    // Openings change what is at a node and its neighbours, and look at what is beside that.
    for _ in 0..2 {
        let nodes = in_order(faces.iter().flat_map(|&face| mesh.face_nodes(face)).collect());
        faces = in_order(nodes.into_iter().flat_map(|n| mesh.fan(n)).map(|c| c.face()).collect());
    }
    let beyond = |face: &FaceId| face.corners().map(|c| mesh.twin(c).map(|twin| twin.face()));
    let within = Marks::of(mesh.face_count(), faces.iter().copied());
    let beside: Vec<FaceId> = faces.iter().flat_map(beyond).flatten().filter(|&face| !within.has(face)).collect();
    let mut known = within.clone();
    for first in in_order(beside) {
        if !known.has(first) {
            let (sum, seen) = flood(mesh, first, &within, area);
            seen.iter().for_each(|&face| {
                known.add(face);
            });
            if sum < area {
                faces.extend(seen);
            }
        }
    }
    in_order(faces)
}

/// Each of some items once, in order.
fn in_order<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    items.sort_unstable();
    items.dedup();
    items
}

/// Edges that open at a node cut something off only if they lead from border to border.
fn could_detach(cloth: &Cloth, node: NodeId) -> bool {
    let mesh = &cloth.mesh;
    let inside = |e| mesh.twin(mesh.edge_corner(e)).is_some();
    let ends = star(mesh, node).filter(|&(e, _)| inside(e)).flat_map(|(e, _)| mesh.edge_nodes(e));
    let reached = ends.filter(|&n| n != node && mesh.is_border_node(n)).count();
    reached + usize::from(mesh.is_border_node(node)) >= 2
}

/// True if every face of a node goes on, across the side opposite to the node, in cloth of `area` [m²] that hangs together without them. What opens among these faces then sets free nothing smaller: each part of one has some of that
/// side.
fn hangs_on(mesh: &Mesh, node: NodeId, area: f64) -> bool {
    let star = Marks::of(mesh.face_count(), mesh.fan(node).map(|c| c.face()));
    // Most of these faces hang together.
    let mut large: Vec<FaceId> = Vec::new();
    mesh.fan(node).all(|c| {
        let beyond = mesh.twin(c.next()).map(|twin| twin.face()).filter(|&face| !star.has(face));
        beyond.is_some_and(|face| {
            large.contains(&face) || {
                let (sum, seen) = flood(mesh, face, &star, area);
                large.extend(seen);
                sum >= area
            }
        })
    })
}

/// The area of a face and what hangs together with it, `without` some, as far as it takes to come to `enough` [m²], and these faces.
fn flood(mesh: &Mesh, first: FaceId, without: &Marks<FaceId>, enough: f64) -> (f64, Vec<FaceId>) {
    let mut known = without.clone();
    known.add(first);
    let mut seen = Vec::with_capacity(SEEN);
    let mut left = Vec::with_capacity(SEEN);
    seen.push(first);
    left.push(first);
    let mut sum = 0.0;
    while let Some(face) = left.pop() {
        sum += mesh.face_area(face).abs();
        if sum >= enough {
            break;
        }
        let beside = face.corners().into_iter().filter_map(|c| mesh.twin(c)).map(|c| c.face());
        for face in beside.filter(|&face| known.add(face)) {
            seen.push(face);
            left.push(face);
        }
    }
    (sum, seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::{Placement, Touched};
    use crate::opening::{Plane, Snap, Through};
    use ripstop_mesh::generate;

    #[test]
    fn a_rate_below_one_per_step_lets_one_pass_now_and_then() {
        let limits = Coherence { per_second: 10.0, ..Coherence::default() };
        let mut budget = Budget::default();
        let mut opened = 0;
        for _ in 0..300 {
            budget.begin(&limits, 0.01);
            while budget.is_left(&limits) {
                budget.spend();
                opened += 1;
            }
        }
        assert!((30..=31).contains(&opened), "{opened} in 3 s");
    }

    #[test]
    fn the_corner_of_a_sheet_does_not_come_off_if_it_is_too_small() {
        let cloth = Cloth::flat(generate::grid(Vec2::ONE, [4, 4]).unwrap(), 0.2, Placement::default());
        // Pulled along the diagonal at the border node beside a corner, the edge across it opens: half a cell comes off.
        let node = cloth.mesh.nodes().find(|&n| cloth.mesh.node_uv(n) == Vec2::new(2.0 / 3.0, 0.0)).unwrap();
        let part = Part { node, pull: Vec2::new(1.0, -1.0).normalize(), ratio: 1.5 };
        assert!(Snap.can_open(&cloth, &part));
        let comes_off = |smallest_piece| {
            Coherence { smallest_piece, ..Coherence::default() }.crumbles(&cloth, &part, &Snap).is_none()
        };
        assert!(comes_off(0.0) && comes_off(0.05) && !comes_off(0.06));
    }

    /// The same by trying around the node.
    fn sets_free(cloth: &Cloth, part: &Part, opening: &dyn Opening, least: f64) -> bool {
        sets_free_among(cloth, &around(&cloth.mesh, part.node, least), part, opening, least)
    }

    #[test]
    fn what_crumbles_does_so_until_it_is_edited_or_something_else_would_open() {
        let mut cloth = Cloth::flat(generate::irregular(Vec2::ONE, 0.05, 7).unwrap(), 0.2, Placement::default());
        let (through, coherence) = (Through::of(&cloth), Coherence { smallest_piece: 0.01, ..Coherence::default() });
        let edges: Vec<_> = cloth.mesh.edges().collect();
        let (mut crumbs, mut kept, mut differ) = (Vec::new(), 0, 0);
        // Nodes slide where the cloth is flat enough, and how it is folded changes from round to round.
        cloth.stray = 1e-3;
        for round in 0..40 {
            let fold = |x: f64| 0.03 * (2.5 * x + 0.17 * round as f64).fract();
            cloth.x.iter_mut().for_each(|x| x.z = fold(x.x));
            let mut log = ChangeLog::new();
            edges.iter().skip(round).step_by(240).for_each(|&e| {
                cloth.mesh.open_edge(e, &mut log);
            });
            cloth.follow(&log);
            let touched = Touched::by(&cloth.mesh, &log);
            retain_unedited(&mut crumbs, &cloth.mesh, &touched.faces);
            for &Crumb { node, pull, choice, .. } in &crumbs {
                let part = Part { node, pull, ratio: 1.5 };
                if choice.is_some() && choice == through.choice(&cloth, &part) {
                    kept += 1;
                    assert!(coherence.crumbles(&cloth, &part, &through).is_some(), "{part:?}");
                } else {
                    differ += 1;
                }
            }
            crumbs.clear();
            for node in cloth.mesh.nodes() {
                let parts = [Vec2::X, Vec2::Y].map(|pull| Part { node, pull, ratio: 1.5 });
                crumbs.extend(parts.iter().filter_map(|part| coherence.crumbles(&cloth, part, &through)));
            }
        }
        assert!(kept > 300 && differ > 30, "{kept}, {differ}");
    }

    #[test]
    fn trying_around_a_node_tells_what_trying_on_all_of_the_cloth_does() {
        let mut cloth = Cloth::flat(generate::irregular(Vec2::ONE, 0.05, 5).unwrap(), 0.2, Placement::default());
        let mut log = ChangeLog::new();
        for e in cloth.mesh.edges().step_by(6) {
            cloth.mesh.open_edge(e, &mut log);
        }
        cloth.follow(&log);
        let (through, least) = (Through::of(&cloth), 0.01);
        let all: Vec<FaceId> = cloth.mesh.faces().collect();
        let (mut free, mut kept) = (0, 0);
        for node in cloth.mesh.nodes().filter(|&n| could_detach(&cloth, n)) {
            for pull in [Vec2::X, Vec2::Y, Vec2::new(0.6, 0.8), Vec2::new(0.8, -0.6)] {
                let part = Part { node, pull, ratio: 1.5 };
                for opening in [&Snap as &dyn Opening, &Plane, &through] {
                    let sets_free = sets_free(&cloth, &part, opening, least);
                    let wanted = sets_free_among(&cloth, &all, &part, opening, least);
                    assert_eq!(sets_free, wanted, "{node:?}, {pull}, {}", opening.name());
                    (free, kept) = (free + u32::from(sets_free), kept + u32::from(!sets_free));
                }
            }
        }
        assert!(free > 100 && kept > 100, "{free}, {kept}");
    }

    #[test]
    fn what_goes_on_in_large_cloth_sets_nothing_small_free() {
        let mut cloth = Cloth::flat(generate::irregular(Vec2::ONE, 0.05, 3).unwrap(), 0.2, Placement::default());
        let mut log = ChangeLog::new();
        for e in cloth.mesh.edges().step_by(7) {
            cloth.mesh.open_edge(e, &mut log);
        }
        cloth.follow(&log);
        let (through, least) = (Through::of(&cloth), 0.01);
        let (mut known, mut free) = (0, 0);
        for node in cloth.mesh.nodes().filter(|&n| could_detach(&cloth, n)) {
            for pull in [Vec2::X, Vec2::Y, Vec2::new(0.6, 0.8), Vec2::new(0.8, -0.6)] {
                let part = Part { node, pull, ratio: 1.5 };
                for opening in [&Snap as &dyn Opening, &Plane, &through] {
                    let (hangs, sets_free) =
                        (hangs_on(&cloth.mesh, node, least), sets_free(&cloth, &part, opening, least));
                    assert!(!(hangs && sets_free), "{node:?}, {pull}, {}", opening.name());
                    (known, free) = (known + u32::from(hangs), free + u32::from(sets_free));
                }
            }
        }
        assert!(known > 100 && free > 100, "{known}, {free}");
    }
}
