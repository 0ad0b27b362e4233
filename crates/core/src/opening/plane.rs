//! Opening `plane`: faces on either side of the plane across the pull go to either node.
//!
//! Every face at the node lies on the side of its middle; the edges between faces of different sides are opened.
//!
//! Source: Souza 2014 as told by Bartels 2014 §5 and his Fig. 1. Limits: if all faces lie on one side nothing happens.

use super::{Edges, Opening, open_all, towards_face};
use crate::cloth::Cloth;
use crate::math::Vec2;
use crate::tear::Part;
use ripstop_mesh::{ChangeLog, CornerId, Mesh, NodeId};

/// Splits a node by a plane.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plane;

impl Opening for Plane {
    fn name(&self) -> &'static str {
        "plane"
    }

    fn can_open(&self, cloth: &Cloth, part: &Part) -> bool {
        !between(&cloth.mesh, part.node, part.pull).is_empty()
    }

    fn open(&self, cloth: &mut Cloth, part: &Part, log: &mut ChangeLog) {
        open_all(cloth, between(&cloth.mesh, part.node, part.pull), log);
    }
}

/// The edges between faces on different sides of the plane.
fn between(mesh: &Mesh, node: NodeId, pull: Vec2) -> Edges {
    let front = |c| towards_face(mesh, c).dot(pull) > 0.0;
    let parts = |c: &CornerId| mesh.twin(*c).is_some_and(|d| front(*c) != front(d.next()));
    mesh.fan(node).filter(parts).map(|c| mesh.edge(c)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::sheet;
    use super::*;
    use ripstop_mesh::generate;

    #[test]
    fn one_node_is_doubled_and_every_face_is_on_its_side() {
        for degrees in [0.0, 20.0, 45.0, 110.0, 170.0] {
            let mut cloth = sheet(generate::irregular(Vec2::ONE, 0.2, 4).unwrap());
            let node = cloth.mesh.nodes().find(|&n| cloth.mesh.node_uv(n).distance(Vec2::splat(0.5)) < 0.12).unwrap();
            let pull = Vec2::from_angle(f64::to_radians(degrees));
            let nodes = cloth.mesh.node_count();
            Plane.open(&mut cloth, &Part { node, pull, ratio: 1.1 }, &mut ChangeLog::new());
            let mesh = &cloth.mesh;
            mesh.check().unwrap();
            assert_eq!(mesh.node_count(), nodes + 1);
            let copy = NodeId(nodes as u32);
            let side = |n| mesh.fan(n).map(|c| towards_face(mesh, c).dot(pull) > 0.0).collect::<Vec<_>>();
            let (a, b) = (side(node), side(copy));
            assert!(a.iter().all(|s| *s == a[0]) && b.iter().all(|s| *s != a[0]), "{a:?} {b:?}");
        }
    }
}
