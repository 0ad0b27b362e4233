//! Bending as it was measured: another stiffness for every direction and curvature.
//!
//! M = B(φ, k) · k l,  k = g θ l / (A₁ + A₂);  forces as in [`Bend`](super::Bend);  energy (A₁ + A₂)/g · ∫ B(φ, k) k dk
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | θ, l, g, A₁, A₂ | | rad, m, 1, m² | as in [`Bend`](super::Bend) |
//! | k | | 1/m | curvature across the hinge; the size counts, not the sign |
//! | φ | | rad | direction across the hinge's edge, from the weft, mirrored into 0 to 90° |
//! | B | `stiffness` | N·m | measured for φ = 0, 45, 90° (bending weft, bias and warp) at five curvatures; linear between, constant outside |
//!
//! Source: the measurements of Wang, O'Brien and Ramamoorthi 2011, which Karaöz 2015 uses (§2.5) without saying how. Deviations: the
//! files of these measurements name neither the curvatures nor which line the angle belongs to; here the curvatures are
//! `curvatures`, by default evenly from flat to a radius of 5 cm, and the angle is that of the direction that curves, as it is that
//! of the pull for stretching. Both are assumptions.
//!
//! The moment is the slope of the energy over θ: nothing is won around a loop. Stiffness: B where it falls with k, its slope
//! (B k)' where it rises, times the square of ∇θ; never negative. Constraint: C = θ with compliance θ/M.
//!
//! Limits: hinges of all directions share in any bending, so the directions are blurred: of a fabric that is eight times as
//! stiff along the warp half of it is left, of one that is half as stiff again nine tenths. Where B falls steeply (the last curvature of many fabrics) the moment itself falls, and folds become sharp.

use super::bend::{Nodes, Shape, along, angle_constraint, frame, turned, uncrushed};
use super::{Constraint, Element, Row, Tangent};
use crate::cloth::Cloth;
use crate::math::{Mat3, atan2, outer};
use ripstop_mesh::EdgeId;
use serde::{Deserialize, Serialize};
use std::f64::consts::FRAC_PI_4;

/// Bending stiffness by direction and curvature.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bending {
    /// Curvatures of the columns [1/m], ascending.
    #[serde(default = "even")]
    pub curvatures: [f64; 5],
    /// Rows for bending along 0, 45 and 90° to the weft [N·m].
    pub stiffness: [[f64; 5]; 3],
}

fn even() -> [f64; 5] {
    [0.0, 5.0, 10.0, 15.0, 20.0]
}

impl Bending {
    /// The same at all curvatures: along weft, bias and warp [N·m].
    pub fn constant(along: [f64; 3]) -> Self {
        Self { curvatures: even(), stiffness: along.map(|b| [b; 5]) }
    }

    /// The first thing that makes no sense, and why.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let k = &self.curvatures;
        if !(k[0] >= 0.0 && k[4].is_finite() && k.windows(2).all(|pair| pair[0] < pair[1])) {
            return Err(("curvatures", format!("`curvatures` are {k:?}, but must be zero or more and ascend [1/m]")));
        }
        for (row, degrees) in self.stiffness.iter().zip([0, 45, 90]) {
            if let Some(bad) = row.iter().find(|b| !(**b > 0.0 && b.is_finite())) {
                return Err((
                    "stiffness",
                    format!("in the row of {degrees}° is {bad}, but it must be above zero [N·m]"),
                ));
            }
        }
        Ok(())
    }

    /// The five stiffnesses [N·m] for bending along a direction [rad from the weft].
    pub fn along(&self, direction: f64) -> [f64; 5] {
        // Mirrored at weft and warp.
        let (s, c) = crate::math::sin_cos(direction);
        let eighths = atan2(s.abs(), c.abs()) / FRAC_PI_4;
        let (to_bias, to_warp) = (eighths.clamp(0.0, 1.0), (eighths - 1.0).clamp(0.0, 1.0));
        let [weft, bias, warp] = &self.stiffness;
        std::array::from_fn(|k| weft[k] + (bias[k] - weft[k]) * to_bias + (warp[k] - bias[k]) * to_warp)
    }

    /// B [N·m] at a direction [rad from the weft] and curvature [1/m].
    pub fn at(&self, direction: f64, curvature: f64) -> f64 {
        MeasuredBend::from(*self).stiffness(&self.along(direction), curvature).0
    }
}

/// Hinges with measured stiffness.
pub struct MeasuredBend {
    bending: Bending,
    /// One over the gap to the next curvature [m].
    per_gap: [f64; 4],
}

impl From<Bending> for MeasuredBend {
    fn from(bending: Bending) -> Self {
        let k = bending.curvatures;
        Self { bending, per_gap: std::array::from_fn(|i| 1.0 / (k[i + 1] - k[i])) }
    }
}

/// Curvature per angle g l / (A₁ + A₂) [1/m], (A₁ + A₂)/g [m²], the five stiffnesses [N·m], and the smaller height over the
/// edge, squared [m²].
type Hinge = [f64; 8];

#[inline(always)]
fn five(rest: &Hinge) -> [f64; 5] {
    [rest[2], rest[3], rest[4], rest[5], rest[6]]
}

impl MeasuredBend {
    /// B and dB/dk at the size of a curvature.
    #[inline(always)]
    fn stiffness(&self, b: &[f64; 5], curvature: f64) -> (f64, f64) {
        let k = curvature.abs();
        let (mut value, mut slope) = (b[0], 0.0);
        for i in 0..4 {
            let (step, way) = (b[i + 1] - b[i], (k - self.bending.curvatures[i]) * self.per_gap[i]);
            let inside = way.clamp(0.0, 1.0);
            value += step * inside;
            slope += if way == inside { step * self.per_gap[i] } else { 0.0 };
        }
        (value, slope)
    }

    /// ∫ B k dk from flat: B k is a parabola between two curvatures, for which Simpson's rule is exact.
    fn stored(&self, b: &[f64; 5], curvature: f64) -> f64 {
        let k = curvature.abs();
        let ends = &self.bending.curvatures;
        let moment = |k: f64| self.stiffness(b, k).0 * k;
        let part = |from: f64, to: f64| {
            let to = to.min(k);
            if to <= from {
                0.0
            } else {
                (to - from) / 6.0 * (moment(from) + 4.0 * moment(0.5 * (from + to)) + moment(to))
            }
        };
        let between: f64 = ends.windows(2).map(|pair| part(pair[0], pair[1])).sum();
        part(0.0, ends[0]) + between + part(ends[4], f64::INFINITY)
    }
}

impl Element<4, 8> for MeasuredBend {
    type Key = EdgeId;
    const NAME: &'static str = "bend";
    const STIFF: bool = true;

    fn row(&self, cloth: &Cloth, e: EdgeId) -> Option<Row<4, 8>> {
        let mesh = &cloth.mesh;
        let c = mesh.edge_corner(e);
        let d = mesh.twin(c)?;
        let [a, b] = mesh.edge_nodes(e);
        let Shape { length, area, share, low } = Shape::of(cloth, e, [c, d]);
        let edge = mesh.uv(c.next()) - mesh.uv(c);
        // Across the edge.
        let [b0, b1, b2, b3, b4] = self.bending.along(atan2(-edge.x, edge.y));
        let rest = [share * length / area, area / share, b0, b1, b2, b3, b4, low * low];
        Some(([a, b, mesh.node(c.prev()), mesh.node(d.prev())], rest))
    }

    fn energy(&self, rest: &Hinge, x: &Nodes) -> f64 {
        let (edge, n1, n2) = frame(x);
        let (s1, s2, length_squared) = (n1.length_squared(), n2.length_squared(), edge.length_squared());
        let turned = turned(x, length_squared.sqrt(), n1, n2, s1 * s2);
        rest[1] * uncrushed(s1, s2, length_squared, rest[7]) * self.stored(&five(rest), turned * rest[0])
    }

    #[inline(always)]
    fn force(&self, rest: &Hinge, x: &Nodes, _v: &Nodes) -> Nodes {
        let (edge, n1, n2) = frame(x);
        let (s1, s2, length_squared) = (n1.length_squared(), n2.length_squared(), edge.length_squared());
        let curvature = turned(x, length_squared.sqrt(), n1, n2, s1 * s2) * rest[0];
        let stiffness = self.stiffness(&five(rest), curvature).0 * uncrushed(s1, s2, length_squared, rest[7]);
        along(x, stiffness * curvature * (rest[0] * rest[1]), edge, (n1, s1), (n2, s2), length_squared)
    }

    #[inline(always)]
    fn tangent(&self, rest: &Hinge, x: &Nodes, per_x: f64, _per_v: f64) -> Tangent<4> {
        let (edge, n1, n2) = frame(x);
        let (s1, s2, length_squared) = (n1.length_squared(), n2.length_squared(), edge.length_squared());
        let curvature = turned(x, length_squared.sqrt(), n1, n2, s1 * s2) * rest[0];
        let (stiffness, slope) = self.stiffness(&five(rest), curvature);
        let stiffness = (stiffness + slope.max(0.0) * curvature.abs()) * (rest[0] * rest[0] * rest[1]);
        let stiffness = stiffness * uncrushed(s1, s2, length_squared, rest[7]);
        let gradient = along(x, 1.0, edge, (n1, s1), (n2, s2), length_squared);
        let mut all = [[Mat3::ZERO; 4]; 4];
        for i in 0..4 {
            let scaled = gradient[i] * (per_x * stiffness);
            for j in 0..4 {
                all[i][j] = outer(scaled, gradient[j]);
            }
        }
        all
    }

    #[inline(always)]
    fn constraint(&self, rest: &Hinge, x: &Nodes) -> Constraint<4> {
        let moment = |turned: f64| self.stiffness(&five(rest), turned * rest[0]).0 * (rest[0] * rest[0] * rest[1]);
        angle_constraint(x, rest[7], moment)
    }

    fn bounds(&self, rest: &Hinge) -> (f64, f64) {
        let b = five(rest);
        let rising = (0..4).map(|i| b[i + 1] + (b[i + 1] - b[i]) * self.per_gap[i] * self.bending.curvatures[i + 1]);
        let most = rising.chain(b).fold(0.0, f64::max);
        (4.0 * most * rest[0] * rest[0] * rest[1] / rest[7], 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Bend, laws};
    use super::*;
    use crate::cloth::Placement;
    use crate::math::Vec3;
    use ripstop_mesh::{Vec2, generate};

    /// Rises, falls and falls steeply.
    const STIFF: Bending = Bending {
        curvatures: [0.0, 5.0, 10.0, 15.0, 20.0],
        stiffness: [[64.0, 70.0, 61.0, 62.0, 20.0], [73.0, 60.0, 61.0, 68.0, 36.0], [97.0, 108.0, 113.0, 121.0, 80.0]],
    };

    fn hinge(bending: Bending) -> (MeasuredBend, Hinge) {
        let bend = MeasuredBend::from(bending);
        let cloth = Cloth::flat(generate::grid(Vec2::ONE, [9, 9]).unwrap(), 0.1, Placement::default());
        let e = cloth.mesh.edges().find(|&e| !cloth.mesh.is_border_edge(e)).unwrap();
        let rest = bend.row(&cloth, e).unwrap().1;
        (bend, rest)
    }

    /// A hinge turned by an angle, of another shape than at rest.
    fn folded(angle: f64) -> Nodes {
        let (s, c) = crate::math::sin_cos(angle);
        [Vec3::ZERO, Vec3::new(0.0, 0.2, 0.0), Vec3::new(-0.15, 0.08, 0.0), Vec3::new(0.2 * c, 0.13, 0.2 * s)]
    }

    #[test]
    fn obeys_the_laws() {
        let (bend, rest) = hinge(STIFF);
        for angle in [0.0, 0.1, -0.9, 1.7, 2.9] {
            let x = folded(angle);
            laws::force_is_the_gradient(&bend, &rest, x, 500.0);
            laws::balanced(x, bend.force(&rest, &x, &[Vec3::ZERO; 4]), 500.0);
            laws::stiffness_never_pushes(&bend, &rest, x, 500.0);
        }
        // Where B rises from flat the slope of the moment has a kink there, which differences see.
        let mut level = STIFF;
        level.stiffness.iter_mut().for_each(|row| row[1] = row[0]);
        let (even, level) = hinge(level);
        laws::stiffness_is_the_slope(&even, &level, folded(0.0), 500.0);
        assert!(bend.energy(&rest, &folded(0.0)) < 1e-25, "flat is rest");
    }

    #[test]
    fn measured_points_are_met() {
        for (row, degrees) in [0.0_f64, 45.0, 90.0].into_iter().enumerate() {
            for (column, curvature) in STIFF.curvatures.into_iter().enumerate() {
                for direction in [degrees, -degrees, 180.0 - degrees] {
                    let at = STIFF.at(direction.to_radians(), -curvature);
                    assert!((at - STIFF.stiffness[row][column]).abs() < 1e-9, "{direction}° {curvature}: {at}");
                }
            }
            assert!((STIFF.at(degrees.to_radians(), 99.0) - STIFF.stiffness[row][4]).abs() < 1e-9, "clamped beyond");
        }
    }

    #[test]
    fn one_number_is_the_plain_hinge() {
        let bend = Bend { stiffness: 3.0 };
        let cloth = Cloth::flat(generate::irregular(Vec2::ONE, 0.2, 3).unwrap(), 0.1, Placement::default());
        let measured = MeasuredBend::from(Bending::constant([3.0; 3]));
        for e in cloth.mesh.edges() {
            let (Some((_, plain)), Some((_, rest))) = (bend.row(&cloth, e), measured.row(&cloth, e)) else { continue };
            let x = folded(0.8);
            let (a, b) = (bend.force(&plain, &x, &x), measured.force(&rest, &x, &x));
            assert!(a.iter().zip(b).all(|(a, b)| (*a - b).length() < 1e-9 * a.length()));
            assert!((bend.energy(&plain, &x) / measured.energy(&rest, &x) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn impossible_data_are_named() {
        assert!(STIFF.check().is_ok());
        assert_eq!(Bending { curvatures: [0.0, 5.0, 5.0, 6.0, 7.0], ..STIFF }.check().unwrap_err().0, "curvatures");
        let mut bad = STIFF;
        bad.stiffness[1][2] = -1.0;
        assert!(bad.check().unwrap_err().1.contains("45°"));
        bad.stiffness[1][2] = f64::NAN;
        assert_eq!(bad.check().unwrap_err().0, "stiffness");
    }
}
