//! Connected components: the pieces that a torn cloth has come apart into.

use crate::{Column, FaceId, Mesh};

/// The pieces of a mesh, largest first; ties in order of their smallest face.
#[derive(Clone, Debug, PartialEq)]
pub struct Pieces {
    /// Piece of every face; none that there is, `u32::MAX`, for a retired one.
    pub of_face: Column<FaceId, u32>,
    /// Material area of every piece [m²].
    pub areas: Vec<f64>,
}

/// Finds the pieces: faces that share an edge belong together. (Faces that share a node share edges too, since the
/// corners of a node form one fan.)
pub fn pieces(mesh: &Mesh) -> Pieces {
    const NONE: u32 = u32::MAX;
    let mut of_face = Column::filled(mesh.face_count(), NONE);
    let mut areas = Vec::new();
    let mut todo = Vec::new();
    for seed in mesh.faces() {
        if of_face[seed] != NONE {
            continue;
        }
        let piece = areas.len() as u32;
        let mut area = 0.0;
        of_face[seed] = piece;
        todo.push(seed);
        while let Some(face) = todo.pop() {
            area += mesh.face_area(face);
            for d in face.corners().into_iter().filter_map(|c| mesh.twin(c)) {
                if of_face[d.face()] == NONE {
                    of_face[d.face()] = piece;
                    todo.push(d.face());
                }
            }
        }
        areas.push(area);
    }
    let mut order: Vec<usize> = (0..areas.len()).collect();
    order.sort_by(|&a, &b| areas[b].abs().total_cmp(&areas[a].abs()).then(a.cmp(&b)));
    let mut rank = vec![0u32; areas.len()];
    for (new, &old) in order.iter().enumerate() {
        rank[old] = new as u32;
    }
    for face in mesh.faces() {
        of_face[face] = rank[of_face[face] as usize];
    }
    debug_assert!(mesh.faces().all(|f| of_face[f] != NONE));
    Pieces { of_face, areas: order.into_iter().map(|i| areas[i]).collect() }
}
