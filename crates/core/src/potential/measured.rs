//! Elasticity as it was measured: another matrix for every direction and amount of strain.
//!
//! σ = C(ε) ε,  C = (1 − t) C₀ + t (M + w (A(φ) − M)),  t = min(λ₁⁺ / ε_m, 1),  w = min((λ₁ − λ₂) / λ₁, 1)
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | ε | `strain` | 1 | ε_uu, ε_vv, γ, as in [`Membrane`](super::Membrane) |
//! | λ₁ ≥ λ₂ | | 1 | principal strains of ε |
//! | φ | | rad | angle of λ₁'s direction to the weft, mirrored into 0 to 90° |
//! | C₀ | `matrices[0]` | N/m | c₁₁ c₁₂ c₂₂ c₃₃ at no strain |
//! | A(φ) | `matrices[1..6]` | N/m | those at strain ε_m in the directions 0, 22.5, 45, 67.5, 90°; linear between |
//! | M | | N/m | mean of A over all directions |
//! | ε_m | `strain` | 1 | strain at which A was measured; beyond it C stays as it is |
//! | t, w | | 1 | how much of ε_m there is, and how much of a direction |
//!
//! Source: Karaöz 2015 eqs. 2.59–2.60 with the measurements of Wang, O'Brien and Ramamoorthi 2011. Deviations: K indexes the data
//! by "the angle between the eigenvectors" of the strain, which is always 90°; what they are indexed by is the angle of the
//! *principal* strain to the weft, and the amount of strain, which K leaves out. The data have no amounts either: rows 2 to 6 are
//! at about 17 %. Where both principal strains are alike there is no direction: w fades A(φ) into its mean, so that C is
//! continuous everywhere; while λ₂ ≤ 0, as in a pulled strip, w is 1 and the measured points are met exactly. Some measured c₃₃
//! are below zero (where γ is small they are hardly determined by the test); a sheet with such a C would shear by itself without
//! end, so they count as zero. So does a c₁₂ that is too far below zero. K's Table 4.14 shows
//! that it took all that is below zero as zero.
//!
//! All C are mixtures of positive semi-definite ones and so positive semi-definite themselves. Stiffness: C at twice the strain,
//! which is the slope of σ along a growing strain up to ε_m/2, never less than half of it, and exact at rest and beyond ε_m; how C
//! turns with the direction is left out.
//!
//! Limits: stress is a secant law of measured points, and not the slope of an energy. What is reported as energy is
//! ½ εᵀC(ε)ε; around a closed loop of strain work is won or lost, at most a few tenths of that energy for the fabrics here (see the
//! test), and damping and implicit Euler take more than that. Wang's fit has c₃₃ act on Volino's γ = U·V, as K does.

use super::membrane::{Elasticity, Law};
use crate::math::angle;
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// Matrices C by direction and amount of strain.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// Strain at which all matrices but the first were measured.
    #[serde(default = "seventeen")]
    pub strain: f64,
    /// Rows c11, c12, c22, c33 [N/m]: at no strain, then in the directions 0, 22.5, 45, 67.5 and 90° to the weft.
    pub matrices: [[f64; 4]; 6],
}

fn seventeen() -> f64 {
    0.17
}

/// What the rows of [`Measured::matrices`] are called.
pub const ROWS: [&str; 6] = ["rest", "0°", "22.5°", "45°", "67.5°", "90°"];

impl Measured {
    /// The first thing that makes no sense, and why.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        if !(self.strain > 0.0 && self.strain.is_finite()) {
            return Err(("strain", format!("`strain` is {}, but must be above zero", self.strain)));
        }
        for (k, (row, name)) in self.matrices.iter().zip(ROWS).enumerate() {
            // What isn't a number is told as it is.
            let c = if row.iter().all(|c| c.is_finite()) { self.row(k) } else { matrix(row) };
            c.check().map_err(|(_, cause)| ("matrices", format!("in the row of {name} {cause}")))?;
        }
        Ok(())
    }

    /// Rows with a number that counts as zero, since it is below zero and can't be.
    pub fn raised(&self) -> impl Iterator<Item = &'static str> + '_ {
        (0..6).filter(|&k| self.row(k) != matrix(&self.matrices[k])).map(|k| ROWS[k])
    }

    /// The matrix of one row as it is used: c33 below zero counts as zero, and so does c12 where it is so far below zero that
    /// strain would give energy.
    pub fn row(&self, row: usize) -> Elasticity {
        let c = matrix(&self.matrices[row]);
        let possible = c.across >= 0.0 || c.across * c.across < c.weft * c.warp;
        Elasticity { shear: c.shear.max(0.0), across: if possible { c.across } else { 0.0 }, ..c }
    }
}

fn matrix(&[weft, across, warp, shear]: &[f64; 4]) -> Elasticity {
    Elasticity { weft, across, warp, shear }
}

/// [`Measured`] made ready for the loop: differences of rows.
pub struct MeasuredLaw {
    /// C₀, and M − C₀.
    rest: [f64; 4],
    to_mean: [f64; 4],
    /// A(0°) − M, and from each direction to the next.
    first: [f64; 4],
    turns: [[f64; 4]; 4],
    /// 1 / ε_m.
    per_strain: f64,
    most: f64,
}

impl From<Measured> for MeasuredLaw {
    fn from(measured: Measured) -> Self {
        let rows: [[f64; 4]; 6] = std::array::from_fn(|k| {
            let c = measured.row(k);
            [c.weft, c.across, c.warp, c.shear]
        });
        let each = |f: &dyn Fn(usize) -> f64| -> [f64; 4] { std::array::from_fn(f) };
        // Over the circle: the outer two directions are met once, the others from both sides.
        let mean = each(&|k| (0.5 * (rows[1][k] + rows[5][k]) + rows[2][k] + rows[3][k] + rows[4][k]) / 4.0);
        Self {
            rest: rows[0],
            to_mean: each(&|k| mean[k] - rows[0][k]),
            first: each(&|k| rows[1][k] - mean[k]),
            turns: std::array::from_fn(|turn| each(&|k| rows[turn + 2][k] - rows[turn + 1][k])),
            per_strain: 1.0 / measured.strain,
            // The slope of a stress that grows with its strain is up to twice C.
            most: rows.iter().map(|row| 2.0 * matrix(row).most()).fold(0.0, f64::max),
        }
    }
}

impl MeasuredLaw {
    /// C, as if there were `times` as much strain in the same direction.
    #[inline(always)]
    fn mixed(&self, [u, v, shear]: [f64; 3], times: f64) -> Elasticity {
        let (mean, half, off) = (0.5 * (u + v), 0.5 * (u - v), (0.5 * shear).abs());
        let radius = (half * half + off * off).sqrt();
        let largest = (mean + radius).max(0.0);
        let amount = (largest * (times * self.per_strain)).min(1.0);
        let direction = amount * (2.0 * radius / (largest + f64::MIN_POSITIVE)).min(1.0);
        // Twice the angle to the weft, in eighths of a turn.
        let eighths = angle(off, half, radius) * (4.0 / PI);
        let (a, b) = (eighths.min(1.0), (eighths - 1.0).clamp(0.0, 1.0));
        let (c, d) = ((eighths - 2.0).clamp(0.0, 1.0), (eighths - 3.0).max(0.0));
        let [t0, t1, t2, t3] = &self.turns;
        let mut all = [0.0; 4];
        for k in 0..4 {
            let turned = self.first[k] + ((t0[k] * a + t1[k] * b) + (t2[k] * c + t3[k] * d));
            all[k] = self.rest[k] + (amount * self.to_mean[k] + direction * turned);
        }
        Elasticity { weft: all[0], across: all[1], warp: all[2], shear: all[3] }
    }
}

impl Law for MeasuredLaw {
    #[inline(always)]
    fn at(&self, strain: [f64; 3]) -> Elasticity {
        self.mixed(strain, 1.0)
    }

    #[inline(always)]
    fn slope(&self, strain: [f64; 3]) -> Elasticity {
        self.mixed(strain, 2.0)
    }

    fn most(&self) -> f64 {
        self.most
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::{Membrane, laws};
    use super::*;
    use crate::cloth::{Cloth, Placement};
    use crate::math::{Vec3, rotate, sin_cos};
    use crate::potential::Element;
    use ripstop_mesh::{FaceId, Vec2, generate};

    /// Of no fabric, but as uneven as the worst of them, c33 below zero included.
    pub const KNIT: Measured = Measured {
        strain: 0.17,
        matrices: [
            [17.0, -15.0, 34.0, 37.0],
            [46.0, 54.0, 261.0, -30.0],
            [49.0, 88.0, 206.0, 23.0],
            [124.0, 105.0, 366.0, 44.0],
            [140.0, 74.0, 414.0, -174.0],
            [127.0, 86.0, 406.0, 32.0],
        ],
    };

    /// Strains `along` a direction [degrees] and `across` it.
    fn strain(degrees: f64, along: f64, across: f64) -> [f64; 3] {
        let (s, c) = sin_cos(degrees.to_radians());
        [along * c * c + across * s * s, along * s * s + across * c * c, 2.0 * (along - across) * s * c]
    }

    fn close(a: Elasticity, b: Elasticity) -> bool {
        let gap = [a.weft - b.weft, a.across - b.across, a.warp - b.warp, a.shear - b.shear];
        gap.iter().all(|d| d.abs() < 1e-9)
    }

    #[test]
    fn measured_points_are_met() {
        let law = MeasuredLaw::from(KNIT);
        assert!(close(law.at([0.0; 3]), KNIT.row(0)));
        for (k, degrees) in [0.0, 22.5, 45.0, 67.5, 90.0].into_iter().enumerate() {
            for across in [0.0, -0.1] {
                let at = strain(degrees, 0.17, across);
                assert!(close(law.at(at), KNIT.row(k + 1)), "{degrees}°: {:?}", law.at(at));
                // Threads cross at right angles: the mirrored direction is the same.
                assert!(close(law.at([at[0], at[1], -at[2]]), KNIT.row(k + 1)));
                let beyond = strain(degrees, 0.3, across);
                assert!(close(law.at(beyond), KNIT.row(k + 1)), "clamped beyond");
                let stress = law.at(at).stress(at);
                let [c11, c12, c22, c33] = KNIT.matrices[k + 1];
                let by_hand = [c11 * at[0] + c12 * at[1], c12 * at[0] + c22 * at[1], c33.max(0.0) * at[2]];
                assert!(stress.iter().zip(by_hand).all(|(a, b)| (a - b).abs() < 1e-9));
            }
        }
    }

    #[test]
    fn stress_has_no_jump_anywhere() {
        let law = MeasuredLaw::from(KNIT);
        let stress = |e: [f64; 3]| law.at(e).stress(e);
        // Strains of all kinds, those without a direction among them, and small steps from them.
        let number = |seed: u64, key: u64| 2.0 * crate::math::hash_unit(seed, key) - 1.0;
        for seed in 0..20_000 {
            let mut e: [f64; 3] = std::array::from_fn(|k| 0.25 * number(seed, k as u64));
            if seed % 4 == 0 {
                (e[1], e[2]) = (e[0], 0.0);
            }
            let near: [f64; 3] = std::array::from_fn(|k| e[k] + 1e-7 * number(seed, k as u64 + 7));
            let (a, b) = (stress(e), stress(near));
            let jump = (0..3).map(|k| (a[k] - b[k]).abs()).fold(0.0, f64::max);
            assert!(jump < 1e-7 * 3e4, "{e:?}: {jump} N/m");
        }
    }

    #[test]
    fn strain_always_costs_energy() {
        let law = MeasuredLaw::from(KNIT);
        for seed in 0..20_000 {
            let e: [f64; 3] = std::array::from_fn(|k| 0.6 * crate::math::hash_unit(seed, k as u64) - 0.3);
            for c in [law.at(e), law.slope(e)] {
                assert!(c.shear >= -1e-12 && c.weft > 0.0 && c.weft * c.warp > c.across * c.across, "{e:?}: {c:?}");
                assert!(c.most() <= law.most());
            }
        }
    }

    /// Work [J/m²] that a loop of strain gives back: −∮ σ dε.
    fn won(law: &MeasuredLaw, corners: &[[f64; 3]]) -> f64 {
        const PARTS: usize = 2000;
        let mut work = 0.0;
        for (k, from) in corners.iter().enumerate() {
            let to = corners[(k + 1) % corners.len()];
            for part in 0..PARTS {
                let share = (part as f64 + 0.5) / PARTS as f64;
                let e: [f64; 3] = std::array::from_fn(|i| from[i] + (to[i] - from[i]) * share);
                let s = law.at(e).stress(e);
                work -= (0..3).map(|i| s[i] * (to[i] - from[i]) / PARTS as f64).sum::<f64>();
            }
        }
        work
    }

    #[test]
    fn a_loop_of_strain_wins_or_loses_a_bounded_share() {
        let law = MeasuredLaw::from(KNIT);
        let energy = |e: [f64; 3]| 0.5 * e.iter().zip(law.at(e).stress(e)).map(|(e, s)| e * s).sum::<f64>();
        let mut worst = 0.0_f64;
        for seed in 0..300 {
            let number = |key: u64| crate::math::hash_unit(seed, key);
            let corner = |k: u64| strain(180.0 * number(k), 0.2 * number(k + 10), -0.05 * number(k + 20));
            let corners = [[0.0; 3], corner(1), corner(2)];
            let largest = corners.iter().map(|e| energy(*e)).fold(0.0, f64::max);
            let (there, back) = (won(&law, &corners), won(&law, &[corners[0], corners[2], corners[1]]));
            assert!((there + back).abs() < 1e-6 * largest, "what is won one way round is lost the other");
            worst = worst.max(there.abs() / largest);
        }
        // As bad as any that was measured; a law with an energy has 0, a fabric's own hysteresis is 0.3 to 0.6.
        assert!(worst > 0.01 && worst < 0.4, "{worst}");
        // There and back on the same way nothing is won.
        assert!(won(&law, &[[0.0; 3], strain(30.0, 0.15, -0.02)]).abs() < 1e-12);
        let even = Measured { matrices: [KNIT.matrices[5]; 6], ..KNIT };
        let corners = [[0.0; 3], strain(10.0, 0.15, 0.0), strain(70.0, 0.1, -0.1)];
        assert!(won(&MeasuredLaw::from(even), &corners).abs() < 1e-12, "one matrix is a plain linear law");
    }

    #[test]
    fn obeys_the_laws() {
        let sheet = Membrane { elasticity: MeasuredLaw::from(KNIT), damping: 0.1 };
        let face = |weft: Vec3, warp: Vec3| {
            let place = Placement { origin: Vec3::new(0.3, 0.1, -0.2), weft, warp };
            let cloth = Cloth::flat(generate::irregular(Vec2::new(1.0, 0.7), 0.15, 4).unwrap(), 0.2, place);
            let (nodes, rest) = sheet.row(&cloth, FaceId(7)).unwrap();
            (rest, nodes.map(|n| cloth.x[n]))
        };
        let (rest, x) = face(Vec3::new(1.1, 0.2, 0.1), Vec3::new(-0.1, 0.9, 0.7));
        let v = [Vec3::new(0.3, -1.0, 0.0), Vec3::new(-0.5, 0.2, 0.9), Vec3::new(0.1, 0.4, -0.7)];
        laws::balanced(x, sheet.force(&rest, &x, &v), 50.0);
        laws::damping_is_the_slope(&sheet, &rest, x, 50.0);
        laws::stiffness_never_pushes(&sheet, &rest, x, 50.0);
        let (rest, short) = face(Vec3::new(0.8, 0.2, 0.1), Vec3::new(-0.1, 0.6, 0.2));
        laws::stiffness_never_pushes(&sheet, &rest, short, 50.0);
        // Turned as a whole it costs nothing, and damping slows neither fall nor spin.
        let turned = |p: Vec3| rotate(p, Vec3::new(1.0, 2.0, 2.0) / 3.0, 1.1);
        let (rest, x) = face(turned(Vec3::X), turned(Vec3::Y));
        assert!(sheet.energy(&rest, &x) < 1e-28);
        let v = x.map(|p| Vec3::new(1.0, -3.0, 2.0) + Vec3::new(0.3, -0.2, 0.9).cross(p));
        assert!(sheet.force(&rest, &x, &v).iter().all(|f| f.length() < 1e-12));
    }

    #[test]
    fn impossible_data_are_named() {
        assert!(KNIT.check().is_ok());
        let with = |row: usize, column: usize, value: f64| {
            let mut bad = KNIT;
            bad.matrices[row][column] = value;
            bad.check().unwrap_err()
        };
        assert!(with(2, 0, -1.0).1.contains("22.5°"));
        assert!(with(0, 1, 200.0).1.contains("c12"));
        assert!(with(3, 3, f64::NAN).1.contains("c33"));
        assert_eq!(Measured { strain: 0.0, ..KNIT }.check().unwrap_err().0, "strain");
        let mut odd = KNIT;
        odd.matrices[0][1] = -200.0;
        assert!(odd.check().is_ok() && odd.raised().next() == Some("rest") && odd.row(0).across == 0.0);
        assert_eq!(KNIT.raised().collect::<Vec<_>>(), ["0°", "67.5°"]);
    }
}
