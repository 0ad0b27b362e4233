//! Springs on the corner angles of every face: resistance to shear.
//!
//! F_j = κ (α − α₀) / |e_ij| · D̂_j,  F_k likewise,  F_i = −(F_j + F_k),  energy ½ κ (α − α₀)²
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | α, α₀ | `angle` | rad | angle at node i between the edges to j and k, and in the material |
//! | D̂_j | | 1 | in the face, across e_ij, towards k |
//! | κ | `stiffness` | N·m | S A: one fabric has one resistance on any mesh |
//! | S | `fabric.shear` | N/m | resistance of the fabric |
//! | A | | m² | material area of the face |
//!
//! Source: Phillips 2008 eqs. 12–14, where κ is one constant for all corners. The three corners of a face are
//! one element.

use super::{Element, Row};
use crate::cloth::Cloth;
use crate::math::{Vec3, atan2};
use ripstop_mesh::FaceId;

/// Springs on corner angles.
pub struct Shear {
    /// Resistance S [N/m].
    pub stiffness: f64,
}

/// Rest values of one face.
#[derive(Clone, Copy, Default)]
pub struct Angles {
    angle: [f64; 3],
    stiffness: f64,
    /// Shortest edge squared [m²], for the bound of the stiffness.
    shortest_squared: f64,
}

/// Angle between two edges from the length of their cross product and their dot product.
#[inline]
fn angle(cross: f64, dot: f64) -> f64 {
    atan2(cross, dot)
}

impl Element<3> for Shear {
    type Key = FaceId;
    type Rest = Angles;
    const NAME: &'static str = "shear";

    fn row(&self, cloth: &Cloth, f: FaceId) -> Option<Row<3, Angles>> {
        let uv = cloth.mesh.face_uv(f);
        let rest_angle = |k: usize| {
            let (p, q) = (uv[(k + 1) % 3] - uv[k], uv[(k + 2) % 3] - uv[k]);
            angle(p.perp_dot(q).abs(), p.dot(q))
        };
        let shortest = (0..3).map(|k| uv[k].distance_squared(uv[(k + 1) % 3])).fold(f64::MAX, f64::min);
        let rest = Angles {
            angle: std::array::from_fn(rest_angle),
            stiffness: self.stiffness * cloth.mesh.face_area(f).abs(),
            shortest_squared: shortest,
        };
        Some((cloth.mesh.face_nodes(f), rest))
    }

    fn energy(&self, rest: &Angles, x: &[Vec3; 3]) -> f64 {
        let turned = |k: usize| {
            let (p, q) = (x[(k + 1) % 3] - x[k], x[(k + 2) % 3] - x[k]);
            angle(p.cross(q).length(), p.dot(q)) - rest.angle[k]
        };
        0.5 * rest.stiffness * (0..3).map(|k| turned(k) * turned(k)).sum::<f64>()
    }

    #[inline]
    fn force(&self, rest: &Angles, x: &[Vec3; 3], _v: &[Vec3; 3]) -> [Vec3; 3] {
        let mut force = [Vec3::ZERO; 3];
        let edge = [x[1] - x[0], x[2] - x[1], x[0] - x[2]];
        let normal = edge[0].cross(edge[1]);
        let double_area = normal.length();
        if double_area == 0.0 {
            return force;
        }
        let unit = normal / double_area;
        // Edge k turned by a quarter in its face, over its length squared: D̂ / |e| for both of its ends.
        let inward = edge.map(|e| unit.cross(e) / e.length_squared());
        // The angles add up to π, so two tell the third.
        let a = angle(double_area, -edge[0].dot(edge[2]));
        let b = angle(double_area, -edge[1].dot(edge[0]));
        let turned = [a, b, std::f64::consts::PI - a - b];
        for k in 0..3 {
            let (j, l) = ((k + 1) % 3, (k + 2) % 3);
            let moment = rest.stiffness * (turned[k] - rest.angle[k]);
            // Edge k leaves corner k towards j; edge l comes from l back to k.
            let (on_j, on_l) = (inward[k] * moment, inward[l] * moment);
            force[j] += on_j;
            force[l] += on_l;
            force[k] -= on_j + on_l;
        }
        force
    }

    fn bounds(&self, rest: &Angles) -> (f64, f64) {
        // Each of three corners: moment κ per radian, lever and response both 1/|e|, on both edges.
        (12.0 * rest.stiffness / rest.shortest_squared, 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::laws;
    use super::*;
    use crate::math::rotate;

    const X: [Vec3; 3] = [Vec3::new(0.1, 0.0, 0.2), Vec3::new(1.1, 0.3, -0.1), Vec3::new(0.3, 0.9, 0.4)];
    const REST: Angles = Angles { angle: [1.2, 0.9, 1.0416], stiffness: 30.0, shortest_squared: 1.0 };

    #[test]
    fn obeys_the_laws() {
        let shear = Shear { stiffness: 1.0 };
        laws::force_is_the_gradient(&shear, &REST, X, 30.0);
        laws::balanced(X, shear.force(&REST, &X, &[Vec3::ZERO; 3]), 30.0);
    }

    #[test]
    fn a_larger_copy_is_not_sheared() {
        let mut rest = REST;
        rest.angle = std::array::from_fn(|k| {
            let (p, q) = (X[(k + 1) % 3] - X[k], X[(k + 2) % 3] - X[k]);
            p.angle_between(q)
        });
        let moved = X.map(|p| rotate(p * 1.3, Vec3::Z, 0.4) + Vec3::ONE);
        assert!(Shear { stiffness: 1.0 }.energy(&rest, &moved) < 1e-20);
    }
}
