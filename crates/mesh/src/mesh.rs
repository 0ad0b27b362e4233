//! The corner table: structure, queries and construction.

use crate::{Column, CornerId, EdgeId, FaceId, Id, MeshError, NodeId, Vec2};
use serde::{Deserialize, Serialize};

/// An oriented manifold triangle mesh with material coordinates in its corners.
///
/// Stored per corner: node, twin, edge, uv; per node: the first corner of its one fan; per edge: one half-edge.
/// Everything else is arithmetic. Invariants (checked by [`Mesh::check`]):
/// - twins are mutual, run opposite ways and share their edge;
/// - the corners of a node form exactly one fan, and a border node's first corner has no twin;
/// - an edge's half-edge points back to the edge;
/// - a corner that is its own twin is retired, and with it its face and the node and the edge that begin there.
///
/// What [`merge`](Mesh::merge) takes away is retired: its id stays, is never used again, and no face that is there names it. Counts go on counting it, so that tables with a row for every id
/// keep their rows; [`nodes`](Mesh::nodes), [`edges`](Mesh::edges) and [`faces`](Mesh::faces) leave it out. What is asked about it has an answer, out of date, that names ids within the counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mesh {
    pub(crate) corner_node: Column<CornerId, NodeId>,
    pub(crate) corner_twin: Column<CornerId, CornerId>,
    pub(crate) corner_edge: Column<CornerId, EdgeId>,
    pub(crate) corner_uv: Column<CornerId, Vec2>,
    pub(crate) node_corner: Column<NodeId, CornerId>,
    pub(crate) edge_corner: Column<EdgeId, CornerId>,
    pub(crate) retired: Retired,
}

/// Ids that were given and are no longer in use, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Retired {
    /// Nodes.
    pub nodes: Vec<NodeId>,
    /// Edges.
    pub edges: Vec<EdgeId>,
    /// Faces.
    pub faces: Vec<FaceId>,
}

impl Retired {
    /// Puts an id where it belongs in the order.
    pub(crate) fn add<I: Id>(ids: &mut Vec<I>, id: I) {
        let at = ids.partition_point(|other| *other < id);
        ids.insert(at, id);
    }
}

/// All ids of a kind that are there, in order; see [`Mesh::nodes`]. It borrows nothing, so that the mesh can be edited on the way: what is retired after it began is still handed out.
#[derive(Clone, Debug)]
pub struct Ids<I> {
    next: usize,
    end: usize,
    retired: std::vec::IntoIter<I>,
}

impl<I: Id> Ids<I> {
    /// An empty list of those that are retired takes no memory.
    fn new(count: usize, retired: Vec<I>) -> Self {
        Self { next: 0, end: count, retired: retired.into_iter() }
    }
}

impl<I: Id> Iterator for Ids<I> {
    type Item = I;
    #[inline]
    fn next(&mut self) -> Option<I> {
        while let Some(retired) = self.retired.as_slice().first() {
            if retired.index() != self.next {
                break;
            }
            self.next += 1;
            self.retired.next();
        }
        if self.next >= self.end {
            return None;
        }
        self.next += 1;
        Some(I::new(self.next - 1))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.end - self.next - self.retired.len();
        (left, Some(left))
    }
}

impl<I: Id> ExactSizeIterator for Ids<I> {}

impl Mesh {
    /// Builds the mesh of `faces`, whose entries are nodes `0..node_count`, with the material coordinates `uv` of
    /// each corner [m]. Every node must be used, every edge have at most two faces that run along it in opposite
    /// directions, and every node one fan.
    pub fn from_faces(node_count: usize, faces: &[[u32; 3]], uv: &[[Vec2; 3]]) -> Result<Self, MeshError> {
        assert_eq!(faces.len(), uv.len(), "one uv triple per face");
        crate::check::faces(node_count, faces, uv)?;
        let corner_count = 3 * faces.len();
        let mut mesh = Self {
            corner_node: Column::from_rows(faces.iter().flatten().map(|&n| NodeId(n)).collect()),
            corner_twin: Column::filled(corner_count, CornerId::NONE),
            corner_edge: Column::filled(corner_count, EdgeId(u32::MAX)),
            corner_uv: Column::from_rows(uv.iter().flatten().copied().collect()),
            node_corner: Column::filled(node_count, CornerId::NONE),
            edge_corner: Column::new(),
            retired: Retired::default(),
        };
        mesh.link_twins()?;
        mesh.number_edges();
        mesh.link_nodes()?;
        Ok(mesh)
    }

    fn link_twins(&mut self) -> Result<(), MeshError> {
        let mut sides: Vec<(NodeId, NodeId, CornerId)> = (self.corners())
            .map(|c| {
                let (a, b) = (self.node(c), self.node(c.next()));
                (a.min(b), a.max(b), c)
            })
            .collect();
        sides.sort_unstable();
        for side in sides.chunk_by(|x, y| (x.0, x.1) == (y.0, y.1)) {
            match *side {
                [_] => {}
                [(_, _, c), (_, _, d)] if self.node(c) != self.node(d) => {
                    self.corner_twin[c] = d;
                    self.corner_twin[d] = c;
                }
                [(_, _, c), (_, _, d)] => {
                    return Err(MeshError::Flipped { face: d.face(), other: c.face() });
                }
                [(a, b, _), .., (_, _, c)] => {
                    return Err(MeshError::CrowdedEdge { face: c.face(), nodes: [a, b], count: side.len() });
                }
                [] => unreachable!("chunks are not empty"),
            }
        }
        Ok(())
    }

    fn number_edges(&mut self) {
        for c in self.corners() {
            if self.corner_edge[c] == EdgeId(u32::MAX) {
                let edge = self.edge_corner.push(c);
                self.corner_edge[c] = edge;
                if let Some(d) = self.twin(c) {
                    self.corner_edge[d] = edge;
                }
            }
        }
    }

    fn link_nodes(&mut self) -> Result<(), MeshError> {
        for c in self.corners() {
            let n = self.node(c);
            if self.node_corner[n] == CornerId::NONE {
                self.node_corner[n] = self.first_of_fan(c);
            }
        }
        let mut degree: Column<NodeId, u32> = Column::filled(self.node_count(), 0);
        for c in self.corners() {
            degree[self.node(c)] += 1;
        }
        for n in self.nodes() {
            let fan: Vec<_> = self.fan(n).collect();
            if fan.len() as u32 != degree[n] {
                let stray = self.corners().find(|&c| self.node(c) == n && !fan.contains(&c));
                let face = stray.expect("degree counts a corner outside the fan").face();
                return Err(MeshError::BowTie { node: n, face });
            }
        }
        Ok(())
    }

    /// The most clockwise corner of the fan that `c` belongs to; `c` itself when the fan is closed.
    pub(crate) fn first_of_fan(&self, c: CornerId) -> CornerId {
        let mut first = c;
        while let Some(t) = self.twin(first) {
            first = t.next();
            if first == c {
                break;
            }
        }
        first
    }

    /// Number of nodes, retired ones included: all ids are below it.
    pub fn node_count(&self) -> usize {
        self.node_corner.len()
    }
    /// Number of edges, those of the border and retired ones included: all ids are below it.
    pub fn edge_count(&self) -> usize {
        self.edge_corner.len()
    }
    /// Number of faces, retired ones included: all ids are below it.
    pub fn face_count(&self) -> usize {
        self.corner_node.len() / 3
    }
    /// All nodes that are there, in order of their ids.
    pub fn nodes(&self) -> Ids<NodeId> {
        Ids::new(self.node_count(), self.retired.nodes.clone())
    }
    /// All edges that are there, in order of their ids.
    pub fn edges(&self) -> Ids<EdgeId> {
        Ids::new(self.edge_count(), self.retired.edges.clone())
    }
    /// All faces that are there, in order of their ids.
    pub fn faces(&self) -> Ids<FaceId> {
        Ids::new(self.face_count(), self.retired.faces.clone())
    }
    /// All corners of faces that are there, in order of their ids.
    pub fn corners(&self) -> impl Iterator<Item = CornerId> + use<> {
        self.faces().flat_map(FaceId::corners)
    }
    /// What was taken away.
    pub fn retired(&self) -> &Retired {
        &self.retired
    }
    /// True if the node was taken away.
    #[inline]
    pub fn is_retired_node(&self, n: NodeId) -> bool {
        self.is_retired_corner(self.node_corner[n])
    }
    /// True if the edge was taken away.
    #[inline]
    pub fn is_retired_edge(&self, e: EdgeId) -> bool {
        self.is_retired_corner(self.edge_corner[e])
    }
    /// True if the face was taken away.
    #[inline]
    pub fn is_retired_face(&self, f: FaceId) -> bool {
        self.is_retired_corner(f.corners()[0])
    }
    #[inline]
    pub(crate) fn is_retired_corner(&self, c: CornerId) -> bool {
        self.corner_twin[c] == c
    }

    /// Node of a corner.
    #[inline]
    pub fn node(&self, c: CornerId) -> NodeId {
        self.corner_node[c]
    }
    /// The half-edge on the other side of the same edge; `None` on the border.
    #[inline]
    pub fn twin(&self, c: CornerId) -> Option<CornerId> {
        self.corner_twin[c].some()
    }
    /// Edge that the half-edge `c` is a side of.
    #[inline]
    pub fn edge(&self, c: CornerId) -> EdgeId {
        self.corner_edge[c]
    }
    /// Material coordinates of a corner [m].
    #[inline]
    pub fn uv(&self, c: CornerId) -> Vec2 {
        self.corner_uv[c]
    }
    /// Material coordinates of a node [m]: those of the first corner of its fan.
    #[inline]
    pub fn node_uv(&self, n: NodeId) -> Vec2 {
        self.corner_uv[self.node_corner[n]]
    }
    /// One half-edge of `e`; its direction is the direction of the edge.
    #[inline]
    pub fn edge_corner(&self, e: EdgeId) -> CornerId {
        self.edge_corner[e]
    }
    /// The two ends of an edge, tail first.
    #[inline]
    pub fn edge_nodes(&self, e: EdgeId) -> [NodeId; 2] {
        let c = self.edge_corner[e];
        [self.node(c), self.node(c.next())]
    }
    /// Length of an edge in material coordinates [m].
    pub fn edge_length(&self, e: EdgeId) -> f64 {
        let c = self.edge_corner[e];
        self.uv(c).distance(self.uv(c.next()))
    }
    /// True if only one face has this edge.
    #[inline]
    pub fn is_border_edge(&self, e: EdgeId) -> bool {
        self.corner_twin[self.edge_corner[e]] == CornerId::NONE
    }
    /// True if the fan of this node is open.
    #[inline]
    pub fn is_border_node(&self, n: NodeId) -> bool {
        self.corner_twin[self.node_corner[n]] == CornerId::NONE
    }
    /// The nodes of a face.
    #[inline]
    pub fn face_nodes(&self, f: FaceId) -> [NodeId; 3] {
        let [a, b, c] = f.corners();
        [self.node(a), self.node(b), self.node(c)]
    }
    /// Material coordinates of the corners of a face [m].
    #[inline]
    pub fn face_uv(&self, f: FaceId) -> [Vec2; 3] {
        let [a, b, c] = f.corners();
        [self.uv(a), self.uv(b), self.uv(c)]
    }
    /// Material area of a face [m²]; negative if its uv are turned over.
    #[inline]
    pub fn face_area(&self, f: FaceId) -> f64 {
        let [a, b, c] = self.face_uv(f);
        0.5 * (b - a).perp_dot(c - a)
    }
    /// Material area of the whole mesh [m²].
    pub fn area(&self) -> f64 {
        self.faces().map(|f| self.face_area(f)).sum()
    }
    /// The corners of a node, counter-clockwise; on the border starting with the most clockwise. A retired node has none.
    pub fn fan(&self, n: NodeId) -> Fan<'_> {
        let first = self.node_corner[n];
        Fan { mesh: self, first, next: if self.is_retired_corner(first) { CornerId::NONE } else { first } }
    }
}

/// Iterator over the corners of one node, see [`Mesh::fan`].
#[derive(Clone)]
pub struct Fan<'a> {
    mesh: &'a Mesh,
    first: CornerId,
    next: CornerId,
}

impl Iterator for Fan<'_> {
    type Item = CornerId;
    #[inline]
    fn next(&mut self) -> Option<CornerId> {
        let here = self.next.some()?;
        let after = self.mesh.corner_twin[here.prev()];
        self.next = if after == self.first { CornerId::NONE } else { after };
        Some(here)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;

    #[test]
    fn grid_has_the_counts_of_euler() {
        let mesh = generate::grid(Vec2::new(2.0, 1.0), [5, 4]).unwrap();
        assert_eq!((mesh.node_count(), mesh.face_count()), (20, 24));
        assert_eq!(mesh.node_count() + mesh.face_count() - mesh.edge_count(), 1);
        assert!((mesh.area() - 2.0).abs() < 1e-12);
        mesh.check().unwrap();
    }

    #[test]
    fn a_fan_visits_every_face_of_its_node_once() {
        let mesh = generate::grid(Vec2::ONE, [4, 4]).unwrap();
        for n in mesh.nodes() {
            let mut fan: Vec<_> = mesh.fan(n).map(|c| c.face()).collect();
            let mut all: Vec<_> = mesh.faces().filter(|&f| mesh.face_nodes(f).contains(&n)).collect();
            fan.sort();
            all.sort();
            assert_eq!(fan, all);
        }
    }
}
