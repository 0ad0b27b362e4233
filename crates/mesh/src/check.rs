//! What a mesh must satisfy: checks of input faces, and of the structure after edits.

use crate::{CornerId, EdgeId, FaceId, Id, Mesh, NodeId, Retired, Vec2};
use std::collections::HashMap;

/// Why faces don't make a mesh. Faces are counted from zero, as in the input.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MeshError {
    /// No face at all.
    #[error("the mesh has no faces")]
    Empty,
    /// More than `u32` can count.
    #[error("the mesh is too large: {corners} corners, at most 4 294 967 294")]
    TooLarge {
        /// Corners of the input.
        corners: usize,
    },
    /// A face names a node that doesn't exist.
    #[error("face {face} names node {node}, but there are {node_count} nodes")]
    NoSuchNode {
        /// The face.
        face: FaceId,
        /// The missing node.
        node: u32,
        /// Nodes there are.
        node_count: usize,
    },
    /// A node in no face.
    #[error("node {node} belongs to no face")]
    Unused {
        /// The node.
        node: NodeId,
    },
    /// A face names a node twice.
    #[error("face {face} is degenerate: it uses node {node} twice")]
    RepeatedNode {
        /// The face.
        face: FaceId,
        /// The node.
        node: u32,
    },
    /// A face with no area in material space.
    #[error("face {face} is degenerate: its material area is {area:e} m²")]
    NoArea {
        /// The face.
        face: FaceId,
        /// Its area.
        area: f64,
    },
    /// NaN or infinity in the material coordinates.
    #[error("face {face} has a material coordinate that is not a number")]
    NotFinite {
        /// The face.
        face: FaceId,
    },
    /// The same three nodes twice.
    #[error("face {face} is a duplicate of face {other}")]
    Duplicate {
        /// The later face.
        face: FaceId,
        /// The earlier one.
        other: FaceId,
    },
    /// Three or more faces at an edge.
    #[error("face {face} makes the edge {}–{} non-manifold: {count} faces share it, at most 2 can", nodes[0], nodes[1])]
    CrowdedEdge {
        /// The last of the faces.
        face: FaceId,
        /// Ends of the edge.
        nodes: [NodeId; 2],
        /// Faces at the edge.
        count: usize,
    },
    /// Neighbours that run along their edge in the same direction.
    #[error("face {face} is turned over against its neighbour, face {other}")]
    Flipped {
        /// The face.
        face: FaceId,
        /// Its neighbour.
        other: FaceId,
    },
    /// Two fans meet only in a point.
    #[error("node {node} is non-manifold: face {face} touches the other faces there in that point only")]
    BowTie {
        /// The node.
        node: NodeId,
        /// A face of the second fan.
        face: FaceId,
    },
}

/// A broken invariant of the structure, found by [`Mesh::check`]: always a bug of an edit, never of the input.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("mesh invariant broken: {0}")]
pub struct Invalid(String);

/// Input checks that need no adjacency.
pub(crate) fn faces(node_count: usize, faces: &[[u32; 3]], uv: &[[Vec2; 3]]) -> Result<(), MeshError> {
    if faces.is_empty() {
        return Err(MeshError::Empty);
    }
    if 3 * faces.len() >= u32::MAX as usize {
        return Err(MeshError::TooLarge { corners: 3 * faces.len() });
    }
    let mut used = vec![false; node_count];
    let mut seen: HashMap<[u32; 3], FaceId> = HashMap::with_capacity(faces.len());
    for (index, (nodes, uv)) in faces.iter().zip(uv).enumerate() {
        let face = FaceId(index as u32);
        for (k, &node) in nodes.iter().enumerate() {
            match used.get_mut(node as usize) {
                Some(used) => *used = true,
                None => return Err(MeshError::NoSuchNode { face, node, node_count }),
            }
            if nodes[..k].contains(&node) {
                return Err(MeshError::RepeatedNode { face, node });
            }
        }
        if !uv.iter().all(|p| p.is_finite()) {
            return Err(MeshError::NotFinite { face });
        }
        let [a, b, c] = *uv;
        let area = 0.5 * (b - a).perp_dot(c - a);
        // A face thinner than a millionth of its length can't be told from a line.
        let longest = a.distance_squared(b).max(b.distance_squared(c)).max(c.distance_squared(a));
        if area.abs() <= 1e-6 * longest {
            return Err(MeshError::NoArea { face, area });
        }
        let mut key = *nodes;
        key.sort_unstable();
        if let Some(&other) = seen.get(&key) {
            return Err(MeshError::Duplicate { face, other });
        }
        seen.insert(key, face);
    }
    match used.iter().position(|&u| !u) {
        Some(node) => Err(MeshError::Unused { node: NodeId(node as u32) }),
        None => Ok(()),
    }
}

impl Mesh {
    /// Checks every invariant of the structure, in time linear in its size. For tests and after edits in doubt.
    pub fn check(&self) -> Result<(), Invalid> {
        let fail = |text: String| Err(Invalid(text));
        let mut sides = vec![0u8; self.edge_count()];
        for c in self.corners() {
            let e = self.edge(c);
            if e.0 as usize >= self.edge_count() || self.node(c).0 as usize >= self.node_count() {
                return fail(format!("{c:?} names {e:?} and {:?}", self.node(c)));
            }
            if self.is_retired_corner(c) || self.is_retired_edge(e) || self.is_retired_node(self.node(c)) {
                return fail(format!("{c:?} is there, but its {e:?} or its {:?} isn't", self.node(c)));
            }
            sides[e.0 as usize] += 1;
            if let Some(d) = self.twin(c) {
                if self.twin(d) != Some(c) || self.edge(d) != e {
                    return fail(format!("twins {c:?} and {d:?} disagree"));
                }
                if self.node(c) != self.node(d.next()) || self.node(d) != self.node(c.next()) {
                    return fail(format!("twins {c:?} and {d:?} have different ends"));
                }
            }
        }
        for e in self.edges() {
            let c = self.edge_corner(e);
            let expected = if self.is_border_edge(e) { 1 } else { 2 };
            if self.edge(c) != e || sides[e.0 as usize] != expected {
                return fail(format!("{e:?} has {} sides, {expected} expected", sides[e.0 as usize]));
            }
        }
        self.check_retired()?;
        self.check_fans()
    }

    fn check_retired(&self) -> Result<(), Invalid> {
        let Retired { nodes, edges, faces } = self.retired();
        let all = faces.iter().all(|f| f.corners().into_iter().all(|c| self.is_retired_corner(c)))
            && edges.iter().all(|&e| self.is_retired_edge(e))
            && nodes.iter().all(|&n| self.is_retired_node(n) && self.fan(n).next().is_none());
        let ordered = nodes.is_sorted_by(|a, b| a < b) && edges.is_sorted_by(|a, b| a < b);
        match all && ordered && faces.is_sorted_by(|a, b| a < b) {
            true => Ok(()),
            false => Err(Invalid("what is retired isn't marked so".into())),
        }
    }

    fn check_fans(&self) -> Result<(), Invalid> {
        let mut visited = vec![false; self.corner_node.len()];
        for n in self.nodes() {
            let first = self.node_corner[n];
            if first == CornerId::NONE {
                return Err(Invalid(format!("{n:?} has no corner")));
            }
            for c in self.fan(n) {
                if self.node(c) != n || std::mem::replace(&mut visited[c.0 as usize], true) {
                    return Err(Invalid(format!("fan of {n:?} runs over {c:?} of {:?}", self.node(c))));
                }
                if c != first && self.twin(c).is_none() {
                    return Err(Invalid(format!("border {n:?} doesn't begin at its border: {c:?}")));
                }
            }
        }
        match self.corners().map(|c| c.index()).find(|&c| !visited[c]) {
            Some(c) => Err(Invalid(format!("CornerId({c}) is in no fan of its node"))),
            None => Ok(()),
        }
    }

    /// The border edges, in order of their ids.
    pub fn border_edges(&self) -> impl Iterator<Item = EdgeId> + '_ {
        self.edges().filter(|&e| self.is_border_edge(e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(points: &[(f64, f64)], faces: &[[u32; 3]]) -> Result<Mesh, MeshError> {
        let uv: Vec<_> = faces
            .iter()
            .map(|f| f.map(|n| points.get(n as usize).map_or(Vec2::ZERO, |p| Vec2::new(p.0, p.1))))
            .collect();
        Mesh::from_faces(points.len(), faces, &uv)
    }

    const SQUARE: [(f64, f64); 4] = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)];

    #[test]
    fn bad_meshes_are_refused_by_the_face() {
        use MeshError::*;
        assert_eq!(flat(&SQUARE, &[]), Err(Empty));
        assert!(matches!(flat(&SQUARE, &[[0, 1, 2], [0, 2, 9]]), Err(NoSuchNode { face: FaceId(1), node: 9, .. })));
        assert!(matches!(flat(&SQUARE, &[[0, 1, 2]]), Err(Unused { node: NodeId(3) })));
        assert!(matches!(flat(&SQUARE, &[[0, 1, 2], [0, 3, 3]]), Err(RepeatedNode { face: FaceId(1), .. })));
        assert!(matches!(flat(&SQUARE, &[[0, 1, 2], [0, 2, 3], [2, 0, 1]]), Err(Duplicate { face: FaceId(2), .. })));
        assert!(matches!(flat(&SQUARE, &[[0, 1, 2], [0, 3, 2]]), Err(Flipped { face: FaceId(1), other: FaceId(0) })));
        let line = [(0.0, 0.0), (1.0, 0.0), (2.0, 0.0)];
        assert!(matches!(flat(&line, &[[0, 1, 2]]), Err(NoArea { face: FaceId(0), .. })));
        let nan = [(0.0, 0.0), (1.0, f64::NAN), (2.0, 1.0)];
        assert!(matches!(flat(&nan, &[[0, 1, 2]]), Err(NotFinite { face: FaceId(0) })));
        let fin = [(0.0, 0.0), (1.0, 0.0), (0.5, 1.0), (0.5, -1.0), (0.2, 0.9)];
        assert!(matches!(
            flat(&fin, &[[0, 1, 2], [1, 0, 3], [0, 1, 4]]),
            Err(CrowdedEdge { face: FaceId(2), count: 3, .. })
        ));
        let bow = [(0.0, 0.0), (1.0, 0.5), (1.0, -0.5), (-1.0, 0.5), (-1.0, -0.5)];
        assert!(matches!(flat(&bow, &[[0, 2, 1], [0, 3, 4]]), Err(BowTie { node: NodeId(0), face: FaceId(1) })));
    }
}
