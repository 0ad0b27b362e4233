//! Opening `snap`: the tear follows the existing edges closest to its line.
//!
//! Inside the cloth the two edges closest to the line across the pull are opened, one in each direction. On the border,
//! which includes the tip of a tear, one edge is opened; a tear that thereby reaches the border goes through it, since a
//! node whose faces no longer form one fan is doubled ([`Mesh::open_edge`]).
//!
//! Source: Phillips 2008 §III.C.2, Figs. 36–39. Deviation: on the border the closest edge can lie back along the tear
//! itself, where it would peel off slivers. Of the edges there the one wins that best parts the faces into those pulled one
//! way and those pulled the other: with wₖ = angle of face k · cos(its direction, pull), the smaller of |Σ w| on either
//! side, if the two sums have opposite signs, times the cosine to the line. Where no edge does (all faces on one side of
//! the line), nothing tears.

use super::{Edges, Opening, open_all, towards_face};
use crate::cloth::Cloth;
use crate::math::Vec2;
use crate::tear::Part;
use ripstop_mesh::{ChangeLog, CornerId, EdgeId, Mesh, NodeId};

/// Follows existing edges.
#[derive(Clone, Copy, Debug, Default)]
pub struct Snap;

/// An edge further from the line than this cosine (60°) is no part of the tear.
pub(super) const NEAR: f64 = 0.5;

impl Opening for Snap {
    fn name(&self) -> &'static str {
        "snap"
    }

    fn can_open(&self, cloth: &Cloth, part: &Part) -> bool {
        !nearest(&cloth.mesh, part.node, part.pull).is_empty()
    }

    fn open(&self, cloth: &mut Cloth, part: &Part, log: &mut ChangeLog) {
        open_all(cloth, nearest(&cloth.mesh, part.node, part.pull), log);
    }
}

/// The edges closest to the line across the pull: one each way inside, one on the border.
pub(super) fn nearest(mesh: &Mesh, node: NodeId, pull: Vec2) -> Edges {
    let line = pull.perp();
    if mesh.is_border_node(node) {
        border_edge(mesh, node, pull, line).into_iter().collect()
    } else {
        [line, -line].into_iter().filter_map(|ahead| closest(mesh, node, ahead)).collect()
    }
}

pub(super) fn direction(mesh: &Mesh, c: CornerId) -> Vec2 {
    (mesh.uv(c.next()) - mesh.uv(c)).normalize_or_zero()
}

fn closest(mesh: &Mesh, node: NodeId, ahead: Vec2) -> Option<EdgeId> {
    let near = |c: &CornerId| direction(mesh, *c).dot(ahead);
    let best = mesh.fan(node).max_by(|a, b| near(a).total_cmp(&near(b)))?;
    (near(&best) > NEAR).then(|| mesh.edge(best))
}

fn border_edge(mesh: &Mesh, node: NodeId, pull: Vec2, line: Vec2) -> Option<EdgeId> {
    let pulled = |c: CornerId| {
        let (a, b) = (direction(mesh, c), (mesh.uv(c.prev()) - mesh.uv(c)).normalize_or_zero());
        a.angle_to(b).abs() * towards_face(mesh, c).dot(pull)
    };
    let total: f64 = mesh.fan(node).map(pulled).sum();
    let mut before = 0.0;
    let mut best = (0.0, None);
    for c in mesh.fan(node) {
        // Edge c lies between the faces before it and the faces from its own on.
        let after = total - before;
        if mesh.twin(c).is_some() && before * after < 0.0 {
            let along = direction(mesh, c).dot(line).abs();
            let score = before.abs().min(after.abs()) * along;
            if along > NEAR && score > best.0 {
                best = (score, Some(mesh.edge(c)));
            }
        }
        before += pulled(c);
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::super::sheet;
    use super::*;
    use ripstop_mesh::{Change, generate, pieces};

    fn opened(log: &ChangeLog) -> usize {
        log.iter().filter(|c| matches!(c, Change::EdgeOpened { .. })).count()
    }

    #[test]
    fn inside_two_edges_open_and_one_node_doubles() {
        let mut cloth = sheet(generate::irregular(Vec2::ONE, 0.1, 4).unwrap());
        let mesh = &cloth.mesh;
        let node = mesh.nodes().find(|&n| mesh.node_uv(n).distance(Vec2::splat(0.5)) < 0.06).unwrap();
        let mut log = ChangeLog::new();
        let nodes = mesh.node_count();
        Snap.open(&mut cloth, &Part { node, pull: Vec2::X, ratio: 1.1 }, &mut log);
        cloth.mesh.check().unwrap();
        assert_eq!((opened(&log), cloth.mesh.node_count()), (2, nodes + 1));
    }

    #[test]
    fn a_tip_goes_on_ahead_until_the_sheet_is_in_two() {
        // Pull along u at one border, then at the tip again and again: the tear crosses the sheet along v.
        let mut cloth = sheet(generate::irregular(Vec2::ONE, 0.1, 4).unwrap());
        let mesh = &cloth.mesh;
        let start = mesh.nodes().find(|&n| mesh.node_uv(n).distance(Vec2::new(0.5, 0.0)) < 0.06).unwrap();
        let mut tip = start;
        let mut torn = 0;
        while pieces(&cloth.mesh).areas.len() == 1 {
            let mut log = ChangeLog::new();
            Snap.open(&mut cloth, &Part { node: tip, pull: Vec2::X, ratio: 1.1 }, &mut log);
            let mesh = &cloth.mesh;
            let Some(&Change::EdgeOpened { edge, .. }) = log.first() else { panic!("stuck at {}", mesh.node_uv(tip)) };
            let ahead =
                mesh.edge_nodes(edge).into_iter().max_by(|a, b| mesh.node_uv(*a).y.total_cmp(&mesh.node_uv(*b).y));
            tip = ahead.unwrap();
            torn += 1;
            assert!(torn < 20, "wanders");
        }
        let areas = pieces(&cloth.mesh).areas;
        assert!(areas[1] > 0.3, "{areas:?}");
    }

    #[test]
    fn a_pull_away_from_a_straight_border_opens_nothing() {
        let mut cloth = sheet(generate::grid(Vec2::ONE, [7, 7]).unwrap());
        let mesh = &cloth.mesh;
        let node = mesh.nodes().find(|&n| mesh.node_uv(n) == Vec2::new(0.5, 0.0)).unwrap();
        let mut log = ChangeLog::new();
        Snap.open(&mut cloth, &Part { node, pull: Vec2::Y, ratio: 1.1 }, &mut log);
        assert!(log.is_empty());
    }
}
