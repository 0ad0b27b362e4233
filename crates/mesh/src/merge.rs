//! Taking a node away: what undoes a split.
//!
//! A node n goes along one of its edges to the other end m: the two faces of that edge vanish, all other faces of n have their corner in m from now on. Where n was put on an edge by
//! [`Mesh::split_edge`] and has the four faces of that still (two on the border), the faces are again those that were split. Taking away the nodes of splits in the reverse order would do if nothing
//! happened in between; but tears move nodes, turn edges and open some, so that few nodes keep the faces that they were made with. The verb takes all stars that can do without their node:
//!
//! - inside, where every face that stays keeps its side up and is no sliver: together they then cover what they covered;
//! - on a border, lips included, if both neighbours there lie in line with it in the material, and only along that line.
//!
//! The material is as it was: area and all uv of what stays, to rounding. Nothing is taken away at a uv seam, or where two parts would come to hang together otherwise than before.

use crate::{Change, ChangeLog, CornerId, EdgeId, LEAST_HEIGHT, Mesh, NodeId, Retired, Vec2, height_share};

/// How far a node of the border may lie off the line of its neighbours, as area over the squared distance of these: what rounding leaves of a point that was put there by interpolation.
const IN_LINE: f64 = 1e-12;

/// One side of the edge that vanishes: half-edges of its face.
#[derive(Clone, Copy)]
struct Side {
    /// Along the edge, whichever way it runs.
    along: CornerId,
    /// Along the edge that stays, at `into`.
    stays: CornerId,
    /// Along the edge that goes, at the node.
    goes: CornerId,
}

/// What a [`merge`](Mesh::merge) would leave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Merged {
    /// Node that the other goes into.
    pub into: NodeId,
    /// The smallest [`height_share`] of the faces that were there, and of those that stay.
    pub height: [f64; 2],
    /// The longest edge of a face that stays [m].
    pub longest: f64,
}

impl Mesh {
    /// Takes `node` away along `edge` to its other end. Returns false, and does nothing, if the edge isn't one of the node's or if it [can't](Self::merged) be, or if a face would become
    /// a sliver (a height below [`LEAST_HEIGHT`] of its longest side, unless one was worse before).
    pub fn merge(&mut self, node: NodeId, edge: EdgeId, log: &mut ChangeLog) -> bool {
        let Some(Merged { into, height: [was, is], .. }) = self.merged(node, edge) else { return false };
        if is < LEAST_HEIGHT.min(was) {
            return false;
        }
        let sides = self.sides_at(node, edge);
        let uv = self.uv_at(sides, into);
        let gone = sides.map(|side| side.map(|side| side.along.face()));
        let moves: Vec<CornerId> = self.fan(node).filter(|c| !gone.contains(&Some(c.face()))).collect();
        // Nodes whose fan may begin in a face that vanishes, with a corner of theirs that stays. The first is `into`.
        let mut fans = vec![(into, moves[0])];
        for side in sides.into_iter().flatten() {
            let over = if side.stays == side.along.next() { side.stays.next() } else { side.stays };
            let over = self.node(over);
            let corner = self.fan(over).find(|c| !gone.contains(&Some(c.face())));
            fans.extend(corner.map(|corner| (over, corner)));
        }
        let (mut spokes, mut stay) = ([None; 2], [None; 2]);
        for (k, side) in sides.iter().enumerate() {
            let Some(Side { stays, goes, .. }) = *side else { continue };
            let (e_stays, e_goes) = (self.edge(stays), self.edge(goes));
            // What lies beyond the two edges meets at the one that stays.
            match (self.twin(stays), self.corner_twin[goes]) {
                (Some(c), d) => self.link(d, c, e_stays),
                (None, d) => (self.corner_twin[d], self.corner_edge[d]) = (CornerId::NONE, e_stays),
            }
            self.edge_corner[e_stays] = self.twin(stays).unwrap_or(self.corner_twin[goes]);
            self.edge_corner[e_goes] = goes;
            (spokes[k], stay[k]) = (Some(e_goes), Some(e_stays));
            Retired::add(&mut self.retired.edges, e_goes);
        }
        for &c in &moves {
            (self.corner_node[c], self.corner_uv[c]) = (into, uv);
        }
        for side in sides.into_iter().flatten() {
            side.along.face().corners().into_iter().for_each(|c| self.corner_twin[c] = c);
            Retired::add(&mut self.retired.faces, side.along.face());
            self.edge_corner[edge] = side.along;
            // Of the two ends of the edge that goes one is the node.
            self.node_corner[node] = if self.node(side.goes) == node { side.goes } else { side.goes.next() };
        }
        Retired::add(&mut self.retired.edges, edge);
        Retired::add(&mut self.retired.nodes, node);
        for (n, corner) in fans {
            if self.is_retired_corner(self.node_corner[n]) || n == into {
                self.node_corner[n] = self.first_of_fan(corner);
            }
        }
        log.push(Change::NodeMerged { node, into, edge, faces: gone, spokes, sides: stay });
        true
    }

    /// What taking `node` away along `edge` to its other end would leave; none if it can't be: if the edge isn't one of the node's, on the border if the node isn't in line with its
    /// neighbours there or the edge leads inside, at a uv seam, if a face would turn over, or if what is left would not be a mesh.
    pub fn merged(&self, node: NodeId, edge: EdgeId) -> Option<Merged> {
        if self.is_retired_edge(edge) || !self.edge_nodes(edge).contains(&node) {
            return None;
        }
        let into = self.edge_nodes(edge).into_iter().find(|&n| n != node)?;
        let sides = self.sides_at(node, edge);
        let at = self.node_uv(node);
        let to = self.uv_at(sides, into);
        // What lies on the far side of the vanishing faces is there, so that no node loses its last face.
        if sides.iter().flatten().any(|side| self.twin(side.goes).is_none() || self.uv_of(side.along, into) != to) {
            return None;
        }
        if self.is_border_node(node) && !(self.is_border_edge(edge) && self.is_in_line(node)) {
            return None;
        }
        let vanishes = |c: CornerId| sides.iter().flatten().any(|side| side.along.face() == c.face());
        let (mut was, mut is, mut longest) = (f64::INFINITY, f64::INFINITY, 0.0);
        for c in self.fan(node) {
            let before = [c, c.next(), c.prev()].map(|c| self.uv(c));
            let agrees = self.twin(c).is_none_or(|d| self.uv(d) == before[1]);
            if before[0] != at || !agrees {
                return None;
            }
            was = height_share(before).min(was);
            if !vanishes(c) {
                let after = [to, before[1], before[2]];
                is = height_share(after).min(is);
                longest = (0..3).map(|k| after[k].distance(after[(k + 1) % 3])).fold(longest, f64::max);
            }
        }
        // The two have no neighbours in common but those of the faces that vanish: others would be joined twice.
        let around = |n: NodeId| self.fan(n).flat_map(|c| [self.node(c.next()), self.node(c.prev())]);
        let mut shared: Vec<NodeId> = around(node).filter(|&n| around(into).any(|m| m == n)).collect();
        shared.sort_unstable();
        shared.dedup();
        let sound = is > 0.0 && is.is_finite() && shared.len() == sides.iter().flatten().count();
        sound.then_some(Merged { into, height: [was, is], longest })
    }

    /// The sides of an edge, of which `node` is an end: first that in which it begins there.
    fn sides_at(&self, node: NodeId, edge: EdgeId) -> [Option<Side>; 2] {
        let c = self.edge_corner(edge);
        [Some(c), self.twin(c)].map(|along| {
            let along = along?;
            let (next, prev) = (along.next(), along.prev());
            let from_node = self.node(along) == node;
            let (stays, goes) = if from_node { (next, prev) } else { (prev, next) };
            Some(Side { along, stays, goes })
        })
    }

    /// The material coordinates of `into` in the first face of the edge.
    fn uv_at(&self, sides: [Option<Side>; 2], into: NodeId) -> Vec2 {
        sides[0].map_or(self.node_uv(into), |side| self.uv_of(side.along, into))
    }

    /// The material coordinates of an end of a half-edge, in its face.
    fn uv_of(&self, along: CornerId, end: NodeId) -> Vec2 {
        self.uv(if self.node(along) == end { along } else { along.next() })
    }

    /// True if a node of the border lies between its neighbours there, on their line in the material.
    fn is_in_line(&self, node: NodeId) -> bool {
        let (Some(first), Some(last)) = (self.fan(node).next(), self.fan(node).last()) else { return false };
        let [a, b] = [first.next(), last.prev()].map(|c| self.uv(c) - self.uv(first));
        a.dot(b) < 0.0 && a.perp_dot(b).abs() <= IN_LINE * a.distance_squared(b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;

    /// Every face by the coordinates of its corners, from the least on: what a mesh is but for its numbers.
    fn shape(mesh: &Mesh) -> Vec<[[u64; 2]; 3]> {
        let mut faces: Vec<_> = mesh
            .faces()
            .map(|f| {
                let mut corners = mesh.face_uv(f).map(|p| p.to_array().map(f64::to_bits));
                let least = (0..3).min_by_key(|&k| corners[k]).unwrap_or(0);
                corners.rotate_left(least);
                corners
            })
            .collect();
        faces.sort_unstable();
        faces
    }

    #[test]
    fn a_split_is_undone_to_either_end() {
        let mesh = generate::irregular(Vec2::new(1.0, 0.8), 0.2, 2).unwrap();
        for e in mesh.edges() {
            for end in 0..2 {
                let (mut other, mut log) = (mesh.clone(), ChangeLog::new());
                let node = other.split_edge(e, 0.5, &mut log);
                let Change::EdgeSplit { edge, rest, faces, .. } = log[0] else { panic!("split first") };
                assert!(other.merge(node, [edge, rest][end], &mut log));
                other.check().unwrap();
                assert_eq!(shape(&other), shape(&mesh));
                let sides = faces.iter().flatten().count();
                let Retired { nodes, edges, faces } = other.retired();
                assert_eq!((nodes.len(), edges.len(), faces.len()), (1, 1 + sides, sides));
                assert_eq!(other.nodes().len(), mesh.nodes().len());
                assert_eq!(other.edges().len(), mesh.edges().len());
                assert_eq!(other.node_count(), mesh.node_count() + 1, "ids are never used again");
            }
        }
    }

    #[test]
    fn a_border_keeps_its_corners_and_a_slit_its_tips() {
        let mut mesh = generate::grid(Vec2::ONE, [9, 9]).unwrap();
        let mut log = ChangeLog::new();
        let at = |mesh: &Mesh, uv: Vec2| mesh.nodes().find(|&n| mesh.node_uv(n) == uv).unwrap();
        let edges = |mesh: &Mesh, n: NodeId| {
            let mut edges: Vec<EdgeId> = mesh.fan(n).flat_map(|c| [mesh.edge(c), mesh.edge(c.prev())]).collect();
            edges.sort_unstable();
            edges.dedup();
            edges
        };
        let corner = at(&mesh, Vec2::ZERO);
        assert!(edges(&mesh, corner).into_iter().all(|e| mesh.merged(corner, e).is_none()), "a corner stays");
        // A border node goes along the border alone.
        let side = at(&mesh, Vec2::new(0.5, 0.0));
        let along: Vec<EdgeId> = edges(&mesh, side).into_iter().filter(|&e| mesh.merged(side, e).is_some()).collect();
        assert!(!along.is_empty() && along.iter().all(|&e| mesh.is_border_edge(e)), "{along:?}");
        // A slit of four edges: its ends stay, the lips' middles may go.
        let slit: Vec<EdgeId> = mesh
            .edges()
            .filter(|&e| {
                let [a, b] = mesh.edge_nodes(e).map(|n| mesh.node_uv(n));
                a.y == 0.5 && b.y == 0.5 && a.x.min(b.x) >= 0.25 && a.x.max(b.x) <= 0.75
            })
            .collect();
        assert_eq!(slit.len(), 4);
        slit.iter().for_each(|&e| assert!(mesh.open_edge(e, &mut log)));
        for tip in [0.25, 0.75].map(|x| at(&mesh, Vec2::new(x, 0.5))) {
            assert!(edges(&mesh, tip).into_iter().all(|e| mesh.merged(tip, e).is_none()), "a tip stays");
        }
        let middles: Vec<NodeId> = mesh.nodes().filter(|&n| mesh.node_uv(n) == Vec2::splat(0.5)).collect();
        assert_eq!(middles.len(), 2);
        for n in middles {
            let lip = edges(&mesh, n).into_iter().find(|&e| mesh.merged(n, e).is_some()).expect("a straight lip");
            assert!(mesh.is_border_edge(lip) && mesh.merge(n, lip, &mut log));
            mesh.check().unwrap();
        }
        assert!((mesh.area() - 1.0).abs() < 1e-14);
        // What is gone can't be edited.
        let gone = mesh.retired().edges[0];
        assert!(!mesh.open_edge(gone, &mut log) && !mesh.flip_edge(gone, &mut log));
        assert!(mesh.merged(mesh.retired().nodes[0], gone).is_none());
    }
}
