//! Springs on the angle between neighbouring faces: resistance to bending out of plane.
//!
//! F_l = −M / r_l · n̂_l,  F_k = −M / r_k · n̂_k,  M = κ θ;  the edge's ends take the opposite, shared by the lever rule
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | θ | `turned` | rad | angle between the normals of the two faces, zero when flat |
//! | r_l, r_k | | m | distance of the outer nodes from the edge |
//! | κ | `stiffness` | N·m | B l² g / (A₁ + A₂) |
//! | g | | 1 | ⅔ π / (α₁ + α₂) |
//! | B | `fabric.bend` | N·m | bending stiffness of the fabric |
//! | l, A₁, A₂ | | m, m² | edge and areas of its two faces in the material |
//! | α₁, α₂ | | rad | angles of the two faces opposite to the edge in the material |
//!
//! Source: Phillips 2008 eqs. 15–18. Deviations: κ is scaled by the hinge, so that one fabric has one stiffness on any mesh. In a
//! lattice of equilateral triangles (g = 1), bent anyhow, it is exactly B. In a grid with alternating diagonals every other node
//! may rise a little and so share the bending among hinges in all directions; with one factor for its straight hinges and one for
//! its diagonals the stiffness becomes B in all directions if they are 4/3 and 2/3: what g is there. Irregular meshes are within a
//! tenth of B. (Grinspun 2003 has three times this κ, for a B of its own.) Eq. 17 gives node i the share d_l/|e_ij| of F_l with d_l
//! measured from i, which leaves a net torque: by the lever rule that share is j's, and i has 1 − d_l/|e_ij|. Cloth is woven
//! flat: the rest angle is zero.
//!
//! Stiffness: κ ∇θ ∇θᵀ (Gauss-Newton), positive semi-definite as it stands and exact where θ = 0; what is left out, κ θ ∇²θ,
//! has both signs.
//!
//! Faces that are crushed, to less than half of the hinge's smaller height at rest, have hardly a normal any more, and 1/r grows beyond all bounds. κ is then less by the square of what is left of that half: forces and stiffness
//! are no larger than with it, and still in balance. What the energy changes by that is left out of the forces.
//!
//! Constraint: C = θ with compliance 1/κ.

use super::{Constraint, Element, Row, Tangent};
use crate::cloth::Cloth;
use crate::math::{Mat3, Vec3, angle, atan2, inverse_or_zero, outer};
use ripstop_mesh::{CornerId, EdgeId};
use std::f64::consts::PI;

/// Springs on hinges.
pub struct Bend {
    /// Bending stiffness B [N·m].
    pub stiffness: f64,
}

/// Stiffness κ [N·m] of one hinge and, for the bound of the stiffness, the smaller of its two heights over the edge,
/// squared [m²].
type Hinge = [f64; 2];

/// Nodes: the two ends of the edge, then the outer node of the face that runs along it and of the other face.
pub(super) type Nodes = [Vec3; 4];

/// A hinge in the material.
pub(super) struct Shape {
    /// Of the edge [m].
    pub length: f64,
    /// A₁ + A₂ [m²].
    pub area: f64,
    /// g: its share in the bending of the sheet.
    pub share: f64,
    /// The smaller of the two heights over the edge [m].
    pub low: f64,
}

impl Shape {
    pub fn of(cloth: &Cloth, e: EdgeId, sides: [CornerId; 2]) -> Self {
        let mesh = &cloth.mesh;
        let [area, other] = sides.map(|c| mesh.face_area(c.face()).abs());
        let opposite = |c: CornerId| {
            let tip = mesh.uv(c.prev());
            let (p, q) = (mesh.uv(c) - tip, mesh.uv(c.next()) - tip);
            atan2(p.perp_dot(q).abs(), p.dot(q))
        };
        let length = cloth.woven[e];
        let share = 2.0 / 3.0 * PI / (opposite(sides[0]) + opposite(sides[1]));
        Self { length, area: area + other, share, low: 2.0 * area.min(other) / length }
    }
}

/// Edge vector, and the two normals with twice the area as length. Both point to the same side when flat.
#[inline(always)]
pub(super) fn frame(x: &Nodes) -> (Vec3, Vec3, Vec3) {
    let edge = x[1] - x[0];
    (edge, edge.cross(x[2] - x[0]), (x[3] - x[0]).cross(edge))
}

/// Angle between the normals. (n₁ × n₂)·ê = −|e| n₁·(x₃ − x₀): no second cross product.
#[inline(always)]
pub(super) fn turned(x: &Nodes, length: f64, n1: Vec3, n2: Vec3, squares: f64) -> f64 {
    angle(-length * n1.dot(x[3] - x[0]), n1.dot(n2), squares.sqrt())
}

/// The least height of a face of a hinge that has all of its stiffness, over the smaller of the two at rest.
pub(crate) const CRUSHED: f64 = 0.5;

/// What is left of the stiffness of a hinge, by the squares of its normals, of its length and of the smaller height at rest.
#[inline(always)]
pub(super) fn uncrushed(s1: f64, s2: f64, length_squared: f64, low_squared: f64) -> f64 {
    let least = CRUSHED * CRUSHED * low_squared * length_squared;
    (s1.min(s2) / least.max(f64::MIN_POSITIVE)).min(1.0)
}

/// −M ∇θ: the force on each node of a moment M [N·m] that closes the hinge. Normals come with their squares.
#[inline(always)]
pub(super) fn along(
    x: &Nodes,
    moment: f64,
    edge: Vec3,
    (n1, s1): (Vec3, f64),
    (n2, s2): (Vec3, f64),
    length_squared: f64,
) -> Nodes {
    let squares = s1 * s2;
    let moment = moment * length_squared.sqrt();
    // One division for all three: n / |n|² · |e| is the unit normal over the height.
    let inverse = inverse_or_zero(squares * length_squared);
    let on_2 = n1 * (moment * (inverse * s2 * length_squared));
    let on_3 = n2 * (moment * (inverse * s1 * length_squared));
    let per_length = inverse * squares;
    let share_2 = (x[2] - x[0]).dot(edge) * per_length;
    let share_3 = (x[3] - x[0]).dot(edge) * per_length;
    let on_1 = -(on_2 * share_2 + on_3 * share_3);
    [-(on_1 + on_2 + on_3), on_1, on_2, on_3]
}

/// C = θ, of which `stiffness` [N·m] is one over the compliance: its moment over θ.
#[inline(always)]
pub(super) fn angle_constraint(x: &Nodes, low_squared: f64, stiffness: impl Fn(f64) -> f64) -> Constraint<4> {
    let (edge, n1, n2) = frame(x);
    let (s1, s2, length_squared) = (n1.length_squared(), n2.length_squared(), edge.length_squared());
    let value = turned(x, length_squared.sqrt(), n1, n2, s1 * s2);
    let slope = along(x, -1.0, edge, (n1, s1), (n2, s2), length_squared);
    let left = uncrushed(s1, s2, length_squared, low_squared);
    Constraint { value, slope, compliance: 1.0 / (left * stiffness(value)) }
}

impl Element<4, 2> for Bend {
    type Key = EdgeId;
    const NAME: &'static str = "bend";
    const STIFF: bool = true;

    fn row(&self, cloth: &Cloth, e: EdgeId) -> Option<Row<4, 2>> {
        let mesh = &cloth.mesh;
        let c = mesh.edge_corner(e);
        let d = mesh.twin(c)?;
        let [a, b] = mesh.edge_nodes(e);
        let Shape { length, area, share, low } = Shape::of(cloth, e, [c, d]);
        let stiffness = self.stiffness * length * length * share / area;
        Some(([a, b, mesh.node(c.prev()), mesh.node(d.prev())], [stiffness, low * low]))
    }

    #[inline(always)]
    fn energy(&self, &[stiffness, low]: &Hinge, x: &Nodes) -> f64 {
        let (edge, n1, n2) = frame(x);
        let (s1, s2, length_squared) = (n1.length_squared(), n2.length_squared(), edge.length_squared());
        let turned = turned(x, length_squared.sqrt(), n1, n2, s1 * s2);
        0.5 * stiffness * uncrushed(s1, s2, length_squared, low) * turned * turned
    }

    #[inline(always)]
    fn force(&self, &[stiffness, low]: &Hinge, x: &Nodes, _v: &Nodes) -> Nodes {
        let (edge, n1, n2) = frame(x);
        let (s1, s2, length_squared) = (n1.length_squared(), n2.length_squared(), edge.length_squared());
        let stiffness = stiffness * uncrushed(s1, s2, length_squared, low);
        let moment = stiffness * turned(x, length_squared.sqrt(), n1, n2, s1 * s2);
        along(x, moment, edge, (n1, s1), (n2, s2), length_squared)
    }

    #[inline(always)]
    fn tangent(&self, &[stiffness, low]: &Hinge, x: &Nodes, per_x: f64, _per_v: f64) -> Tangent<4> {
        let (edge, n1, n2) = frame(x);
        let (s1, s2, length_squared) = (n1.length_squared(), n2.length_squared(), edge.length_squared());
        let stiffness = stiffness * uncrushed(s1, s2, length_squared, low);
        let slope = along(x, 1.0, edge, (n1, s1), (n2, s2), length_squared);
        let mut all = [[Mat3::ZERO; 4]; 4];
        for i in 0..4 {
            let scaled = slope[i] * (per_x * stiffness);
            for j in 0..4 {
                all[i][j] = outer(scaled, slope[j]);
            }
        }
        all
    }

    #[inline(always)]
    fn constraint(&self, &[stiffness, low]: &Hinge, x: &Nodes) -> Constraint<4> {
        angle_constraint(x, low, |_| stiffness)
    }

    fn hinge(&self, rest: &Hinge) -> Option<[f64; 2]> {
        Some(*rest)
    }

    fn bounds(&self, &[stiffness, height_squared]: &Hinge) -> (f64, f64) {
        (4.0 * stiffness / height_squared, 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::laws;
    use super::*;

    const FOLDED: Nodes =
        [Vec3::new(0.0, 0.0, 0.0), Vec3::new(0.2, 1.0, 0.1), Vec3::new(-0.8, 0.4, 0.3), Vec3::new(0.9, 0.7, -0.5)];
    const HINGE: Hinge = [2.0, 1.0];

    #[test]
    fn obeys_the_laws() {
        let bend = Bend { stiffness: 1.0 };
        laws::force_is_the_gradient(&bend, &HINGE, FOLDED, 2.0);
        laws::balanced(FOLDED, bend.force(&HINGE, &FOLDED, &[Vec3::ZERO; 4]), 2.0);
        let mut upside_down = FOLDED;
        upside_down.swap(2, 3);
        laws::force_is_the_gradient(&bend, &HINGE, upside_down, 2.0);
    }

    #[test]
    fn flat_is_at_rest_whatever_its_shape() {
        let flat = FOLDED.map(|p| Vec3::new(p.x * 1.2 + p.y * 0.3, p.y, 0.0));
        assert!(Bend { stiffness: 1.0 }.energy(&HINGE, &flat) < 1e-25);
        laws::stiffness_is_the_slope(&Bend { stiffness: 1.0 }, &HINGE, flat, 2.0);
        laws::stiffness_never_pushes(&Bend { stiffness: 1.0 }, &HINGE, FOLDED, 2.0);
    }

    #[test]
    fn crushed_faces_bend_no_harder_than_half_of_one() {
        let bend = Bend { stiffness: 1.0 };
        let most = HINGE[0] / (CRUSHED * CRUSHED * HINGE[1]);
        for height in [0.4, 1e-2, 1e-5, 0.0] {
            let mut crushed = FOLDED;
            let (edge, n1, _) = frame(&FOLDED);
            crushed[2] = FOLDED[0] + edge * 0.4 + n1.cross(edge).normalize() * height;
            let stiffness = bend.tangent(&HINGE, &crushed, 1.0, 0.0)[2][2];
            assert!(stiffness.col(0).length() < 1.0001 * most, "height {height}: {stiffness:?}");
            laws::balanced(crushed, bend.force(&HINGE, &crushed, &[Vec3::ZERO; 4]), 2.0);
            laws::stiffness_never_pushes(&bend, &HINGE, crushed, 2.0);
        }
    }

    #[test]
    fn a_fold_wants_to_open() {
        let bend = Bend { stiffness: 1.0 };
        let force = bend.force(&HINGE, &FOLDED, &[Vec3::ZERO; 4]);
        let opened: Nodes = std::array::from_fn(|k| FOLDED[k] + force[k] * 1e-3);
        assert!(bend.energy(&HINGE, &opened) < bend.energy(&HINGE, &FOLDED));
    }
}
