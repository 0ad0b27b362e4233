//! Damped springs along the edges: resistance to stretch.
//!
//! F_a = (k (l − l₀) + d ḽ) ê,  F_b = −F_a,  ḽ = (v_b − v_a)·ê,  ê from a to b
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | l₀ | `rest` | m | rest length now, after plastic flow |
//! | k | `stiffness` | N/m | Σ over the one or two faces of the edge of E A / l₀² |
//! | d | `damping` | N·s/m | τ k |
//! | E | `fabric.stretch` | N/m | membrane stiffness of the fabric |
//! | τ | `fabric.damping` | s | dashpot over spring |
//! | A | | m² | material area of the face |
//!
//! Source: Phillips 2008 eqs. 10–11, Bartels 2014 eq. 4. Deviations: with ê from i to j the printed sign of P's eq. 10
//! pushes a stretched pair apart; here a stretched spring pulls its ends together. P and B give every spring the
//! same k; here k follows from the faces (Van Gelder 1998), so that one fabric has one stiffness on any mesh: in
//! equilateral triangles k = √3/2 · E, which is exactly a sheet of Young's modulus E and Poisson's ratio 1/3. Stiffness
//! belongs to the half-edge: a lip keeps its own half, so opening an edge keeps the energy.
//!
//! Stiffness: k ê êᵀ + k max(0, 1 − l₀/l) (I − ê êᵀ), exact while stretched; the clamp leaves out what a compressed spring
//! gives away by turning aside, so that the matrix stays positive semi-definite. Damping: d ê êᵀ, exact.
//!
//! Constraint: C = l − l₀ with compliance 1/k.
//!
//! Limits: Poisson's ratio is that of the lattice, about 1/3; a square grid with its diagonals is a fifth stiffer along its threads
//! than `stretch` says, an irregular mesh within a few percent of it.

use super::{Constraint, Element, Row, Tangent};
use crate::cloth::Cloth;
use crate::fabric::Fabric;
use crate::math::{Mat3, Vec3, inverse_or_zero, outer};
use ripstop_mesh::EdgeId;

/// Damped springs along the edges.
pub struct Stretch {
    /// Membrane stiffness E [N/m].
    pub stiffness: f64,
    /// Dashpot over spring τ [s].
    pub damping: f64,
}

impl Stretch {
    /// The stretch of this fabric.
    pub fn of(fabric: &Fabric) -> Self {
        Self { stiffness: fabric.stretch, damping: fabric.damping }
    }
}

/// Rest length l₀ [m] and stiffness k [N/m] of one spring.
type Spring = [f64; 2];

impl Element<2, 2> for Stretch {
    type Key = EdgeId;
    const NAME: &'static str = "stretch";
    const STIFF: bool = true;

    fn row(&self, cloth: &Cloth, e: EdgeId) -> Option<Row<2, 2>> {
        let mesh = &cloth.mesh;
        let c = mesh.edge_corner(e);
        let area: f64 = [Some(c), mesh.twin(c)].into_iter().flatten().map(|c| mesh.face_area(c.face()).abs()).sum();
        let stiffness = self.stiffness * area / (cloth.woven[e] * cloth.woven[e]);
        Some((mesh.edge_nodes(e), [cloth.rest[e], stiffness]))
    }

    #[inline(always)]
    fn energy(&self, &[rest, stiffness]: &Spring, x: &[Vec3; 2]) -> f64 {
        let stretch = x[0].distance(x[1]) - rest;
        0.5 * stiffness * stretch * stretch
    }

    #[inline(always)]
    fn force(&self, &[rest, stiffness]: &Spring, x: &[Vec3; 2], v: &[Vec3; 2]) -> [Vec3; 2] {
        let along = x[1] - x[0];
        let length = along.length();
        let unit = along * inverse_or_zero(length);
        let pull = unit * (stiffness * (length - rest) + self.damping * stiffness * (v[1] - v[0]).dot(unit));
        [pull, -pull]
    }

    #[inline(always)]
    fn tangent(&self, &[rest, stiffness]: &Spring, x: &[Vec3; 2], per_x: f64, per_v: f64) -> Tangent<2> {
        let along = x[1] - x[0];
        let length = along.length();
        let inverse = inverse_or_zero(length);
        let unit = along * inverse;
        let across = per_x * stiffness * (1.0 - rest * inverse).max(0.0);
        let both = outer(unit, unit) * (per_x * stiffness + per_v * self.damping * stiffness - across)
            + Mat3::from_diagonal(Vec3::splat(across));
        [[both, -both], [-both, both]]
    }

    fn constraint(&self, &[rest, stiffness]: &Spring, x: &[Vec3; 2]) -> Constraint<2> {
        let along = x[1] - x[0];
        let length = along.length();
        let unit = along * inverse_or_zero(length);
        Constraint { value: length - rest, slope: [-unit, unit], compliance: 1.0 / stiffness }
    }

    fn spring(&self, spring: &Spring) -> Option<[f64; 2]> {
        Some(*spring)
    }

    fn lag(&self) -> f64 {
        self.damping
    }

    fn bounds(&self, &[_, stiffness]: &Spring) -> (f64, f64) {
        // Both ends move against each other: Gershgorin's bound of the pair is twice the constant.
        (2.0 * stiffness, 2.0 * self.damping * stiffness)
    }
}

#[cfg(test)]
mod tests {
    use super::super::laws;
    use super::*;
    use crate::cloth::Placement;
    use crate::potential::{ElementSet, Potential};
    use ripstop_mesh::{ChangeLog, Vec2, generate};

    const SPRING: Spring = [1.0, 50.0];
    const X: [Vec3; 2] = [Vec3::new(0.1, 0.2, -0.3), Vec3::new(1.2, 0.7, 0.4)];

    #[test]
    fn obeys_the_laws() {
        let stretch = Stretch { stiffness: 1.0, damping: 0.04 };
        laws::force_is_the_gradient(&stretch, &SPRING, X, 50.0);
        let v = [Vec3::new(0.3, -1.0, 0.0), Vec3::new(-0.5, 0.2, 0.9)];
        laws::balanced(X, stretch.force(&SPRING, &X, &v), 50.0);
        laws::stiffness_is_the_slope(&stretch, &SPRING, X, 50.0);
        laws::damping_is_the_slope(&stretch, &SPRING, X, 2.0);
        let short = [X[0], X[0] + (X[1] - X[0]) * 0.3];
        laws::stiffness_never_pushes(&stretch, &SPRING, short, 50.0);
    }

    #[test]
    fn a_stretched_spring_pulls_its_ends_together() {
        let [f, _] = Stretch { stiffness: 1.0, damping: 0.0 }.force(&SPRING, &X, &[Vec3::ZERO; 2]);
        assert!(f.dot(X[1] - X[0]) > 0.0);
    }

    #[test]
    fn a_sheet_has_the_stiffness_of_its_fabric_on_any_mesh() {
        // Uniform isotropic strain s in springs: energy per area = ½ E s² · Σ edges of a face (3 per face) = 1.5 E s².
        for mesh in [generate::grid(Vec2::ONE, [9, 9]).unwrap(), generate::irregular(Vec2::ONE, 0.1, 2).unwrap()] {
            let mut cloth = Cloth::flat(mesh, 0.2, Placement::default());
            let set = ElementSet::new(Stretch { stiffness: 1000.0, damping: 0.0 }, &cloth);
            cloth.x.iter_mut().for_each(|x| *x *= 1.01);
            assert!((set.energy(&cloth) - 1.5 * 1000.0 * 1e-4).abs() < 1e-9);
        }
    }

    #[test]
    fn opening_edges_keeps_the_energy() {
        let mut cloth = Cloth::flat(generate::irregular(Vec2::ONE, 0.2, 5).unwrap(), 0.2, Placement::default());
        let stretched = |mut c: Cloth| {
            c.x.iter_mut().for_each(|x| *x = Vec3::new(x.x * 1.1 + 0.02 * x.y, x.y * 0.95, x.x * x.y * 0.1));
            ElementSet::new(Stretch { stiffness: 500.0, damping: 0.0 }, &c).energy(&c)
        };
        let before = stretched(cloth.clone());
        let mut log = ChangeLog::new();
        for e in cloth.mesh.edges().step_by(3) {
            cloth.mesh.open_edge(e, &mut log);
        }
        cloth.follow(&log);
        let after = stretched(cloth);
        assert!((after / before - 1.0).abs() < 1e-12, "{before} J became {after} J");
    }
}
