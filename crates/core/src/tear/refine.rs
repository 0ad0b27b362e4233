//! Coarse cloth becomes fine where it tears: triangles around tips, and where a tear is about to start, are halved until their edges are short enough.
//!
//! A triangle is halved at the middle of its longest edge. If that is not the longest edge of the triangle beyond it, that one is halved first, and so on: so no angle becomes smaller than half
//! of the smallest that the mesh began with, whatever is halved how often, and triangles grow from fine to coarse by themselves (Rivara 1984).
//!
//! Everything within [`NEAR`] edges of a tip is to be fine; if something there isn't, all within [`WIDE`] edges is made so. So a tip goes on for some edges before something has to be done again.
//!
//! The cloth is the same afterwards: new nodes lie on the triangles that were there and move with them, which keeps mass and momentum. Behind tips it becomes coarse again (`coarsen.rs`).
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | h | `edge` | m | edges are to be no longer than 1.5 h in the material |

use crate::criterion::faces_within;
use ripstop_mesh::{ChangeLog, EdgeId, FaceId, Mesh, NodeId, Vec2};

/// How fine cloth is to be where it tears.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refine {
    /// h [m].
    pub edge: f64,
}

/// How far from a tip cloth must be fine [h].
const NEAR: f64 = 5.0;
/// How far it is made fine, if it isn't [h].
const WIDE: f64 = 9.0;
/// Edges may be longer than h by this.
const LONGEST: f64 = 1.5;

impl Refine {
    /// Halves what is too coarse around these nodes. Returns whether something was.
    pub(crate) fn around(&self, mesh: &mut Mesh, nodes: &[NodeId], log: &mut ChangeLog) -> bool {
        let before = log.len();
        for &n in nodes {
            if !self.coarse(mesh, n, NEAR).is_empty() {
                loop {
                    let coarse = self.coarse(mesh, n, WIDE);
                    if coarse.is_empty() {
                        break;
                    }
                    // What was halved for the sake of another may be short enough by now.
                    for face in coarse {
                        if self.is_coarse(mesh, face) {
                            halve(mesh, face, log);
                        }
                    }
                }
            }
        }
        log.len() > before
    }

    /// Keeps those of some nodes around which none of the `edited` ones is: what was fine there still is.
    pub(crate) fn retain_unedited(&self, mesh: &Mesh, edited: &[NodeId], nodes: &mut Vec<NodeId>) {
        let places: Vec<Vec2> =
            edited.iter().filter(|&&n| !mesh.is_retired_node(n)).map(|&n| mesh.node_uv(n)).collect();
        // A face within reach has its other corners an edge farther, at most.
        let reach = (NEAR + 2.0 * LONGEST) * self.edge;
        nodes.retain(|&n| {
            !mesh.is_retired_node(n) && places.iter().all(|place| place.distance(mesh.node_uv(n)) > reach)
        });
    }

    /// Triangles with too long an edge within so many h of a node.
    fn coarse(&self, mesh: &Mesh, n: NodeId, reach: f64) -> Vec<FaceId> {
        let mut faces = faces_within(mesh, n, reach * self.edge);
        faces.retain(|&f| self.is_coarse(mesh, f));
        faces
    }

    fn is_coarse(&self, mesh: &Mesh, face: FaceId) -> bool {
        mesh.edge_length(longest(mesh, face)) > LONGEST * self.edge
    }
}

/// The longest edge of a face in the material; of equals the one with the smallest number.
fn longest(mesh: &Mesh, face: FaceId) -> EdgeId {
    let [a, b, c] = face.corners().map(|c| mesh.edge(c));
    // Lengths that differ by rounding alone are the same from both sides.
    let longer = |e: EdgeId, than: EdgeId| {
        let (e_length, length) = (mesh.edge_length(e), mesh.edge_length(than));
        e_length > length * (1.0 + 1e-9) || (e_length > length * (1.0 - 1e-9) && e < than)
    };
    let best = if longer(b, a) { b } else { a };
    if longer(c, best) { c } else { best }
}

/// Halves a face at its longest edge, and before it what must be so that it can.
fn halve(mesh: &mut Mesh, face: FaceId, log: &mut ChangeLog) {
    let mut way = vec![face];
    while let Some(&face) = way.last() {
        let edge = longest(mesh, face);
        let c = mesh.edge_corner(edge);
        let beyond = [Some(c), mesh.twin(c)].into_iter().flatten().map(|c| c.face()).find(|&f| f != face);
        match beyond {
            // Edges get longer on the way, so it ends.
            Some(other) if longest(mesh, other) != edge && !way.contains(&other) => way.push(other),
            _ => {
                mesh.split_edge(edge, 0.5, log);
                way.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::{Cloth, Placement};
    use crate::math::Vec3;
    use crate::opening::nearest_node;
    use ripstop_mesh::generate;

    fn smallest_angle(mesh: &Mesh) -> f64 {
        let angles = mesh.faces().flat_map(|f| {
            let p = mesh.face_uv(f);
            (0..3).map(move |k| (p[(k + 1) % 3] - p[k]).angle_to(p[(k + 2) % 3] - p[k]).abs())
        });
        angles.fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn a_coarse_sheet_is_fine_around_a_node_and_coarse_elsewhere() {
        for mesh in [generate::irregular(Vec2::ONE, 0.1, 2).unwrap(), generate::grid(Vec2::ONE, [11, 11]).unwrap()] {
            let mut cloth = Cloth::flat(mesh, 0.2, Placement::default());
            cloth.x.iter_mut().for_each(|x| *x = Vec3::new(1.1 * x.x, x.y, 0.1 * x.x * x.y));
            let nodes: Vec<NodeId> = cloth.mesh.nodes().collect();
            nodes.iter().for_each(|&n| cloth.v[n] = cloth.x[n].cross(Vec3::Y));
            let momentum = |cloth: &Cloth| cloth.mesh.nodes().map(|n| cloth.v[n] * cloth.mass[n]).sum::<Vec3>();
            let (faces, angle) = (cloth.mesh.face_count(), smallest_angle(&cloth.mesh));
            let (area, mass, moves) = (cloth.mesh.area(), cloth.mass.iter().sum::<f64>(), momentum(&cloth));
            let refine = Refine { edge: 0.01 };
            let node = nearest_node(&cloth.mesh, Vec2::new(0.33, 0.6));
            let mut log = ChangeLog::new();
            assert!(refine.around(&mut cloth.mesh, &[node], &mut log));
            cloth.follow(&log);
            cloth.mesh.check().unwrap();
            assert!(refine.coarse(&cloth.mesh, node, WIDE).is_empty());
            assert!(!refine.around(&mut cloth.mesh, &[node], &mut ChangeLog::new()), "once is enough");
            // A disc of 9 edges' radius has some 600 triangles of that size; longest edges are between 0.75 and 1.5.
            let more = cloth.mesh.face_count() - faces;
            assert!((300..3000).contains(&more), "{more}");
            let far = nearest_node(&cloth.mesh, Vec2::new(0.9, 0.1));
            assert!(faces_within(&cloth.mesh, far, 0.1).iter().all(|f| (f.0 as usize) < faces));
            assert!(smallest_angle(&cloth.mesh) >= 0.5 * angle - 1e-9);
            assert!((cloth.mesh.area() / area - 1.0).abs() < 1e-12);
            assert!((cloth.mass.iter().sum::<f64>() / mass - 1.0).abs() < 1e-12);
            assert!((momentum(&cloth) - moves).length() < 1e-12 * mass);
        }
    }
}
