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
//! one element. Stiffness: κ Σ ∇α ∇αᵀ over the three corners (Gauss-Newton), positive semi-definite and exact at rest.

use super::{Element, Row, Tangent};
use crate::cloth::Cloth;
use crate::math::{Mat3, Vec3, angle, inverse_or_zero, outer};
use ripstop_mesh::FaceId;

/// Springs on corner angles.
pub struct Shear {
    /// Resistance S [N/m].
    pub stiffness: f64,
}

/// Sine and cosine of the first, then of the second angle at rest (the three add up to π, so two tell the third),
/// and stiffness κ [N·m] of the face.
type Angles = [f64; 5];

/// How far the three angles of a face with these edges have opened [rad]. `double_area` is twice its area.
#[inline(always)]
fn opened(rest: &Angles, edge: &[Vec3; 3], length_squared: &[f64; 3], double_area: f64) -> [f64; 3] {
    // sin and cos of α − α₀ from those of α, all times the lengths of the two edges.
    let turned = |dot: f64, product: f64, sin: f64, cos: f64| {
        angle(double_area * cos - dot * sin, dot * cos + double_area * sin, product.sqrt())
    };
    let a = turned(-edge[0].dot(edge[2]), length_squared[0] * length_squared[2], rest[0], rest[1]);
    let b = turned(-edge[1].dot(edge[0]), length_squared[1] * length_squared[0], rest[2], rest[3]);
    [a, b, -a - b]
}

/// The edges of a face, each from a corner to the next.
#[inline(always)]
fn edges(x: &[Vec3; 3]) -> [Vec3; 3] {
    [x[1] - x[0], x[2] - x[1], x[0] - x[2]]
}

#[inline(always)]
fn squares(edge: &[Vec3; 3]) -> [f64; 3] {
    [edge[0].length_squared(), edge[1].length_squared(), edge[2].length_squared()]
}

impl Element<3, 5> for Shear {
    type Key = FaceId;
    const NAME: &'static str = "shear";
    const STIFF: bool = true;

    fn row(&self, cloth: &Cloth, f: FaceId) -> Option<Row<3, 5>> {
        let uv = cloth.mesh.face_uv(f);
        let rest_angle = |k: usize| {
            let (p, q) = (uv[(k + 1) % 3] - uv[k], uv[(k + 2) % 3] - uv[k]);
            let size = p.length() * q.length();
            (p.perp_dot(q).abs() / size, p.dot(q) / size)
        };
        let ((s0, c0), (s1, c1)) = (rest_angle(0), rest_angle(1));
        let stiffness = self.stiffness * cloth.mesh.face_area(f).abs();
        Some((cloth.mesh.face_nodes(f), [s0, c0, s1, c1, stiffness]))
    }

    #[inline(always)]
    fn energy(&self, rest: &Angles, x: &[Vec3; 3]) -> f64 {
        let edge = edges(x);
        let [a, b, c] = opened(rest, &edge, &squares(&edge), edge[0].cross(edge[1]).length());
        0.5 * rest[4] * (a * a + b * b + c * c)
    }

    #[inline(always)]
    fn force(&self, rest: &Angles, x: &[Vec3; 3], _v: &[Vec3; 3]) -> [Vec3; 3] {
        let edge = edges(x);
        let length_squared = squares(&edge);
        let normal = edge[0].cross(edge[1]);
        let double_area = normal.length();
        let opened = opened(rest, &edge, &length_squared, double_area);
        let product = length_squared[0] * length_squared[1] * length_squared[2];
        // One division for the normal and the three edges.
        let inverse = inverse_or_zero(double_area * product);
        let unit = normal * (rest[4] * inverse * product);
        // Edge k joins corners k and k + 1. Turning it, by the moments of both, pushes its ends apart across it:
        // D̂ / |e| is the edge turned by a quarter over its length squared.
        let mut push = [Vec3::ZERO; 3];
        for (k, next, last) in [(0, 1, 2), (1, 2, 0), (2, 0, 1)] {
            let per_length = inverse * double_area * length_squared[next] * length_squared[last];
            push[k] = unit.cross(edge[k]) * ((opened[k] - opened[next]) * per_length);
        }
        // Corner k feels edge k at its tail and edge k − 1 at its head.
        [push[2] - push[0], push[0] - push[1], push[1] - push[2]]
    }

    #[inline(always)]
    fn tangent(&self, rest: &Angles, x: &[Vec3; 3], per_x: f64, _per_v: f64) -> Tangent<3> {
        let edge = edges(x);
        let length_squared = squares(&edge);
        let normal = edge[0].cross(edge[1]);
        let unit = normal * inverse_or_zero(normal.length());
        // How edge k turns when its head moves; its tail turns it the other way.
        let mut turn = [Vec3::ZERO; 3];
        for k in 0..3 {
            turn[k] = unit.cross(edge[k]) * inverse_or_zero(length_squared[k]);
        }
        let mut stiffness = [[Mat3::ZERO; 3]; 3];
        for (k, next, last) in [(0, 1, 2), (1, 2, 0), (2, 0, 1)] {
            // The angle at corner k opens when edge k − 1 turns ahead of edge k.
            let mut slope = [Vec3::ZERO; 3];
            slope[last] = -turn[last];
            slope[next] = -turn[k];
            slope[k] = turn[last] + turn[k];
            for i in 0..3 {
                for j in 0..3 {
                    stiffness[i][j] += outer(slope[i], slope[j]) * (per_x * rest[4]);
                }
            }
        }
        stiffness
    }

    fn bounds(&self, &[s0, c0, s1, c1, _]: &Angles) -> (f64, f64) {
        // Each of three corners: moment κ per radian, lever and response both 1/|e|, on both edges: 12 κ / e² for the
        // shortest edge. With κ = S A and e² = 2 A sin² / (sin sin sin) by the law of sines, the area drops out.
        let s2 = s0 * c1 + c0 * s1;
        let least = s0.min(s1).min(s2);
        (6.0 * self.stiffness * s0 * s1 * s2 / (least * least), 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::laws;
    use super::*;
    use crate::math::{rotate, sin_cos};

    const X: [Vec3; 3] = [Vec3::new(0.1, 0.0, 0.2), Vec3::new(1.1, 0.3, -0.1), Vec3::new(0.3, 0.9, 0.4)];

    fn rest(first: f64, second: f64) -> Angles {
        let ((s0, c0), (s1, c1)) = (sin_cos(first), sin_cos(second));
        [s0, c0, s1, c1, 30.0]
    }

    #[test]
    fn obeys_the_laws() {
        let shear = Shear { stiffness: 1.0 };
        laws::force_is_the_gradient(&shear, &rest(1.2, 0.9), X, 30.0);
        laws::force_is_the_gradient(&shear, &rest(0.3, 2.1), X, 30.0);
        laws::balanced(X, shear.force(&rest(1.2, 0.9), &X, &[Vec3::ZERO; 3]), 30.0);
    }

    #[test]
    fn a_larger_copy_is_not_sheared() {
        let angle = |k: usize| (X[(k + 1) % 3] - X[k]).angle_between(X[(k + 2) % 3] - X[k]);
        let rest = rest(angle(0), angle(1));
        laws::stiffness_is_the_slope(&Shear { stiffness: 1.0 }, &rest, X, 30.0);
        laws::stiffness_never_pushes(&Shear { stiffness: 1.0 }, &rest, X.map(|p| p * Vec3::new(0.7, 1.4, 1.0)), 30.0);
        let moved = X.map(|p| rotate(p * 1.3, Vec3::Z, 0.4) + Vec3::ONE);
        assert!(Shear { stiffness: 1.0 }.energy(&rest, &moved) < 1e-20);
    }
}
