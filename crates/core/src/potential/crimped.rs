//! Woven cloth as it is pulled to its end: soft while the crimp of its yarns straightens, then as stiff as the yarns.
//!
//! N(e) = k e + (K − k) r(e),  S = N / (1 + e),  e = √(1 + 2 ε) − 1;  for ε < 0: S = k ε
//!
//! r(e) = 0 below e_l − w,  (e − e_l + w)² / 4w up to e_l + w,  e − e_l above
//!
//! σ_uu = S_u(ε_uu) + c₁₂ ε_vv,  σ_vv = S_v(ε_vv) + c₁₂ ε_uu,  σ_uv = c₃₃ γ
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | e | | 1 | elongation along a thread |
//! | ε | `strain` | 1 | Green's strain of it, as in [`Membrane`](super::Membrane) |
//! | N | | N/m | load per width of cloth at rest, as a testing machine writes it |
//! | S | | N/m | the same as second Piola-Kirchhoff stress |
//! | k, K | `soft`, `stiff` | N/m | slope of N before and after the crimp is straight |
//! | e_l | `locking` | 1 | elongation at which it is |
//! | w | | 1 | half of the width of the bend between both, half of e_l |
//! | c₁₂, c₃₃ | `c12`, `c33` | N/m | coupling of the two directions, and stiffness of shear: the same at every strain |
//!
//! The energy is exact: ∫ S dε = ∫ N de, a polynomial; so are stress and slope as its derivatives.
//!
//! Source: the J-shaped load curve of every strip test of woven cloth (ISO 13934-1); two slopes and where they meet are what can be read from one.
//! The law itself is ours. Limits: what one direction does doesn't stiffen the other (crimp interchange is only c₁₂), and there is no hysteresis.

use super::membrane::{Elasticity, Law};
use serde::{Deserialize, Serialize};

/// The load curve of a strip along one thread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// Slope at the beginning [N/m].
    pub soft: f64,
    /// Elongation at which yarns are straight.
    pub locking: f64,
    /// Slope from there on [N/m].
    pub stiff: f64,
}

/// Two curves, their coupling and shear.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Crimped {
    /// Along the weft.
    pub weft: Curve,
    /// Along the warp.
    pub warp: Curve,
    /// Coupling of weft and warp [N/m].
    pub c12: f64,
    /// Stiffness of shear [N/m].
    pub c33: f64,
}

/// What a strain along a thread gives: S over ε, slope of S [N/m], and energy per area [J/m²].
struct Along {
    secant: f64,
    slope: f64,
    energy: f64,
}

impl Curve {
    /// Load per width at an elongation [N/m], its slope [N/m] and the energy per area up to there [J/m²].
    #[inline(always)]
    pub fn at(&self, e: f64) -> (f64, f64, f64) {
        let w = 0.5 * self.locking;
        let bent = (e - self.locking + w).clamp(0.0, 2.0 * w);
        let straight = (e - self.locking - w).max(0.0);
        let ramp = bent * bent / (4.0 * w) + straight;
        let inside = if straight > 0.0 { 1.0 } else { bent / (2.0 * w) };
        let sum = bent * bent * bent / (12.0 * w) + straight * (w + 0.5 * straight);
        let more = self.stiff - self.soft;
        (self.soft * e + more * ramp, self.soft + more * inside, 0.5 * self.soft * e * e + more * sum)
    }

    #[inline(always)]
    fn along(&self, strain: f64) -> Along {
        let pulled = strain.max(0.0);
        let length = (1.0 + 2.0 * pulled).sqrt();
        // Without cancellation for small strain.
        let e = 2.0 * pulled / (1.0 + length);
        let (load, rise, energy) = self.at(e);
        let by_soft = self.soft / ((1.0 + 0.5 * e) * length);
        let by_more = (load - self.soft * e) / (length * (pulled + f64::MIN_POSITIVE));
        let slope = (rise - load / length) / (length * length);
        let pushed = strain.min(0.0);
        Along {
            secant: if strain > 0.0 { by_soft + by_more } else { self.soft },
            slope: if strain > 0.0 { slope } else { self.soft },
            energy: energy + 0.5 * self.soft * pushed * pushed,
        }
    }

    fn check(&self) -> Result<(), String> {
        let Self { soft, locking, stiff } = *self;
        let must = |what: &str, value: f64, ok: bool, rule: &str| {
            if ok && value.is_finite() { Ok(()) } else { Err(format!("`{what}` is {value}, but must be {rule}")) }
        };
        must("soft", soft, soft > 0.0, "above zero [N/m]")?;
        must("stiff", stiff, stiff >= soft, "at least `soft` [N/m]")?;
        must("locking", locking, locking > 0.0 && locking < 1.0, "between 0 and 1 (0.1: ten percent longer)")
    }

    /// Elongation under a load per width [N/m].
    pub fn elongation(&self, load: f64) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        while self.at(high).0 < load {
            high *= 2.0;
        }
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if self.at(middle).0 < load { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    }
}

impl Crimped {
    /// The first number that makes no sense, and why.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        self.weft.check().map_err(|cause| ("weft", format!("in `weft` {cause}")))?;
        self.warp.check().map_err(|cause| ("warp", format!("in `warp` {cause}")))?;
        let Self { c12, c33, .. } = *self;
        if !(c33 >= 0.0 && c33.is_finite()) {
            return Err(("c33", format!("`c33` is {c33}, but must be zero or more [N/m]")));
        }
        // Slopes fall a little below the soft ones before the crimp is straight.
        if !c12.is_finite() || c12 * c12 >= 0.25 * self.weft.soft * self.warp.soft {
            let rule = "below half of the root of both `soft` in size, or strain would give energy";
            return Err(("c12", format!("`c12` is {c12}, but must be {rule}")));
        }
        Ok(())
    }

    /// The matrix at rest.
    pub fn at_rest(&self) -> Elasticity {
        Elasticity { weft: self.weft.soft, across: self.c12, warp: self.warp.soft, shear: self.c33 }
    }
}

impl Law for Crimped {
    #[inline(always)]
    fn at(&self, [u, v, _]: [f64; 3]) -> Elasticity {
        let (weft, warp) = (self.weft.along(u).secant, self.warp.along(v).secant);
        Elasticity { weft, across: self.c12, warp, shear: self.c33 }
    }

    #[inline(always)]
    fn slope(&self, [u, v, _]: [f64; 3]) -> Elasticity {
        let (weft, warp) = (self.weft.along(u).slope, self.warp.along(v).slope);
        Elasticity { weft, across: self.c12, warp, shear: self.c33 }
    }

    #[inline(always)]
    fn energy(&self, [u, v, shear]: [f64; 3]) -> f64 {
        let mixed = self.c12 * u * v + 0.5 * self.c33 * shear * shear;
        self.weft.along(u).energy + self.warp.along(v).energy + mixed
    }

    fn most(&self) -> f64 {
        Elasticity { weft: self.weft.stiff, warp: self.warp.stiff, ..self.at_rest() }.most()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::ElasticityKind;

    const CLOTH: Crimped = Crimped {
        weft: Curve { soft: 400.0, locking: 0.12, stiff: 30_000.0 },
        warp: Curve { soft: 900.0, locking: 0.05, stiff: 60_000.0 },
        c12: 100.0,
        c33: 60.0,
    };

    #[test]
    fn a_strip_pulls_as_its_curve_says() {
        for (angle, curve) in [(0.0, CLOTH.weft), (std::f64::consts::FRAC_PI_2, CLOTH.warp)] {
            for e in [0.01, 0.05, 0.1, 0.15, 0.25] {
                let strip = ElasticityKind::Crimped(Crimped { c12: 0.0, ..CLOTH }).load(angle, e);
                assert!((strip / curve.at(e).0 - 1.0).abs() < 1e-6, "{e}: {strip} {}", curve.at(e).0);
            }
        }
        let e = CLOTH.warp.elongation(5000.0);
        assert!((CLOTH.warp.at(e).0 / 5000.0 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn stress_is_the_slope_of_the_energy_and_its_slope_that_of_the_stress() {
        let step = 1e-6;
        for strain in [[0.01, -0.02, 0.03], [0.1, 0.2, -0.1], [0.001, 0.06, 0.0], [-0.1, 0.11, 0.2]] {
            let (at, slope) = (CLOTH.at(strain).stress(strain), CLOTH.slope(strain));
            for k in 0..3 {
                let moved = |d: f64| {
                    let mut s = strain;
                    s[k] += d;
                    s
                };
                let energy = (CLOTH.energy(moved(step)) - CLOTH.energy(moved(-step))) / (2.0 * step);
                assert!((energy - at[k]).abs() < 1e-5 * (1.0 + at[k].abs()), "{strain:?} {k}: {energy} {}", at[k]);
                let stress = |d: f64| CLOTH.at(moved(d)).stress(moved(d))[k];
                let rise = (stress(step) - stress(-step)) / (2.0 * step);
                let exact = [slope.weft, slope.warp, slope.shear][k];
                assert!((rise / exact - 1.0).abs() < 1e-4, "{strain:?} {k}: {rise} {exact}");
            }
        }
    }

    #[test]
    fn impossible_curves_are_named() {
        assert!(CLOTH.check().is_ok());
        let flaw = |c: Crimped| c.check().unwrap_err().0;
        assert_eq!(flaw(Crimped { weft: Curve { soft: -1.0, ..CLOTH.weft }, ..CLOTH }), "weft");
        assert_eq!(flaw(Crimped { warp: Curve { stiff: 1.0, ..CLOTH.warp }, ..CLOTH }), "warp");
        assert_eq!(flaw(Crimped { c12: 500.0, ..CLOTH }), "c12");
    }
}
