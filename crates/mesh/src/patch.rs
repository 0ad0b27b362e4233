//! A few faces as a mesh of their own, on which edits can be tried without a copy of everything.

use crate::{Column, CornerId, EdgeId, FaceId, Id, Mesh, NodeId, Retired};

/// Some faces of a mesh as a mesh of their own, see [`Mesh::patch`].
pub struct Patch {
    /// The faces, linked among each other.
    pub mesh: Mesh,
    /// The node of the whole mesh that each node is.
    pub nodes: Column<NodeId, NodeId>,
    /// The edge of the whole mesh that each edge is.
    pub edges: Column<EdgeId, EdgeId>,
    /// Edges beyond which the whole mesh goes on, in order of their ids.
    pub rim: Vec<EdgeId>,
}

impl Mesh {
    /// These faces, each once and in order of their ids, as a mesh of their own. Ids keep their order, and fans begin where they do here. A node whose faces hang
    /// together only by others than these becomes several.
    pub fn patch(&self, faces: &[FaceId]) -> Patch {
        debug_assert!(faces.is_sorted_by(|a, b| a < b), "faces in order");
        let here = |c: CornerId| {
            let face = faces.binary_search(&c.face()).ok()?;
            let k = c.face().corners().iter().position(|&corner| corner == c)?;
            Some(FaceId::new(face).corners()[k])
        };
        let old: Vec<CornerId> = faces.iter().flat_map(|face| face.corners()).collect();
        let mut edges: Vec<EdgeId> = old.iter().map(|&c| self.edge(c)).collect();
        let mut mesh = Self {
            corner_node: Column::filled(old.len(), NodeId(u32::MAX)),
            corner_twin: Column::from_rows(
                old.iter().map(|&c| self.twin(c).and_then(here).unwrap_or(CornerId::NONE)).collect(),
            ),
            corner_edge: Column::new(),
            corner_uv: Column::from_rows(old.iter().map(|&c| self.uv(c)).collect()),
            node_corner: Column::new(),
            edge_corner: Column::new(),
            retired: Retired::default(),
        };
        let mut by_node: Vec<(NodeId, CornerId)> =
            old.iter().zip(mesh.corners()).map(|(&c, k)| (self.node(c), k)).collect();
        by_node.sort_unstable();
        let mut nodes = Column::new();
        for &(node, c) in &by_node {
            if mesh.corner_node[c] != NodeId(u32::MAX) {
                continue;
            }
            let first = mesh.first_of_fan(c);
            let closed = mesh.corner_twin[first] != CornerId::NONE;
            let first = here(self.node_corner[node]).filter(|_| closed).unwrap_or(first);
            let n = mesh.node_corner.push(first);
            nodes.push(node);
            let fan: Vec<CornerId> = mesh.fan(n).collect();
            fan.into_iter().for_each(|c| mesh.corner_node[c] = n);
        }
        let of_corner = edges.clone();
        edges.sort_unstable();
        edges.dedup();
        mesh.corner_edge = Column::from_rows(
            of_corner.iter().map(|e| EdgeId::new(edges.partition_point(|other| other < e))).collect(),
        );
        let mut rim = Vec::new();
        for (k, &e) in edges.iter().enumerate() {
            let (c, twin) = (self.edge_corner(e), self.twin(self.edge_corner(e)));
            let sides = [here(c), twin.and_then(here)];
            if twin.is_some() && sides.contains(&None) {
                rim.push(EdgeId::new(k));
            }
            mesh.edge_corner.push(sides.into_iter().flatten().next().unwrap_or(CornerId::NONE));
        }
        Patch { mesh, nodes, edges: Column::from_rows(edges), rim }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChangeLog, Vec2, generate};

    #[test]
    fn some_faces_of_a_torn_sheet_are_a_sound_mesh() {
        let mut mesh = generate::irregular(Vec2::ONE, 0.1, 3).unwrap();
        let mut log = ChangeLog::new();
        for e in mesh.edges().step_by(5) {
            mesh.open_edge(e, &mut log);
        }
        let mut several = 0;
        for step in 1..8 {
            let faces: Vec<FaceId> = mesh.faces().step_by(step).collect();
            let patch = mesh.patch(&faces);
            patch.mesh.check().unwrap();
            assert_eq!(patch.mesh.face_count(), faces.len());
            for (f, &old) in patch.mesh.faces().zip(&faces) {
                assert_eq!(patch.mesh.face_uv(f), mesh.face_uv(old));
                assert_eq!(patch.mesh.face_nodes(f).map(|n| patch.nodes[n]), mesh.face_nodes(old));
                for (c, d) in f.corners().into_iter().zip(old.corners()) {
                    assert_eq!(patch.edges[patch.mesh.edge(c)], mesh.edge(d));
                    let cut = patch.mesh.twin(c).is_none() && mesh.twin(d).is_some();
                    assert_eq!(cut, patch.rim.contains(&patch.mesh.edge(c)));
                }
            }
            assert!(patch.nodes.is_sorted() && patch.edges.is_sorted());
            let mut nodes = patch.nodes.to_vec();
            nodes.dedup();
            several += patch.nodes.len() - nodes.len();
            if step == 1 {
                assert!(patch.rim.is_empty() && patch.mesh == mesh, "all faces are the mesh itself");
            }
        }
        assert!(several > 10, "nodes whose faces don't hang together are several");
    }
}
