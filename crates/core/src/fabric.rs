//! What a cloth is made of.

use crate::criterion::{Direction, Strengths};
use crate::math::{Vec2, sin_cos};
use crate::potential::{Bending, Crimped, Elasticity, Law, Measured, MeasuredLaw};
use serde::{Deserialize, Serialize};

/// Properties of a woven sheet, per area and length, so that they don't depend on the mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fabric {
    /// Mass per area [kg/m²].
    pub density: f64,
    /// Membrane stiffness: force per width at unit strain [N/m].
    pub stretch: f64,
    /// Resistance to shear: moment per area and radian of a corner's change [N/m]. Usually a tenth of `stretch`.
    pub shear: f64,
    /// Bending stiffness [N·m].
    pub bend: f64,
    /// Damping of stretch: dashpot over spring constant [s].
    pub damping: f64,
    /// Thickness [m].
    pub thickness: f64,
    /// Coefficient of friction of the fabric on itself.
    pub friction: f64,
    /// Force along a sharp edge from which on it cuts [N/m]; see [`contact::blade`](crate::contact::blade).
    pub cut_resistance: f64,
    /// How finite elements resist strain; `None`: as `stretch` and `shear` say.
    pub elasticity: Option<ElasticityKind>,
    /// Bending by direction and curvature; `None`: `bend` for all.
    pub bending: Option<Bending>,
    /// Load at which it breaks, where it is known.
    pub strength: Option<Strength>,
    /// Energy that tearing it costs, where it is known.
    pub toughness: Option<Toughness>,
}

/// How finite elements resist strain.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ElasticityKind {
    /// Alike in all directions.
    Isotropic {
        /// Young's modulus per width [N/m].
        young: f64,
        /// Poisson's ratio.
        poisson: f64,
    },
    /// Its axes weft and warp.
    Orthotropic {
        /// Stiffness along the weft [N/m].
        c11: f64,
        /// Coupling of weft and warp [N/m].
        c12: f64,
        /// Stiffness along the warp [N/m].
        c22: f64,
        /// Stiffness of shear [N/m].
        c33: f64,
    },
    /// Other matrices for other strains.
    Measured(Measured),
    /// Soft until its yarns are straight, then stiff.
    Crimped(Crimped),
}

/// Load per width at which a strip breaks [N/m], by the direction it is cut in.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Strength {
    /// Along the weft.
    pub weft: f64,
    /// Along the warp.
    pub warp: f64,
    /// At 45°, where it is known.
    pub bias: Option<f64>,
}

/// Energy that tearing costs per length of tear [N = J/m], by the yarns that it breaks. Twice the mean force of a trouser test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Toughness {
    /// A tear along the warp, which breaks weft yarns.
    pub weft: f64,
    /// A tear along the weft, which breaks warp yarns.
    pub warp: f64,
    /// Stronger yarns in a grid.
    pub grid: Option<StrongYarns>,
}

/// The grid of a ripstop weave.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StrongYarns {
    /// From one to the next [m].
    pub spacing: f64,
    /// Width of cloth that each of them takes [m].
    pub width: f64,
    /// Their toughness over that of the cloth between them.
    pub factor: f64,
}

impl Default for Fabric {
    fn default() -> Self {
        Self::SOFT
    }
}

/// The first property that makes no sense: its table, key and why.
pub type Flaw = (Option<&'static str>, &'static str, String);

fn must(key: &'static str, value: f64, ok: bool, rule: &str) -> Result<(), (&'static str, String)> {
    if ok && value.is_finite() { Ok(()) } else { Err((key, format!("`{key}` is {value}, but must be {rule}"))) }
}

impl Fabric {
    /// A soft cotton-like sheet that explicit integrators can handle: 200 g/m², 1 % strain at 8 N/m.
    pub const SOFT: Self = Self {
        density: 0.2,
        stretch: 800.0,
        shear: 40.0,
        bend: 6e-5,
        damping: 2e-4,
        thickness: 5e-4,
        friction: 0.4,
        cut_resistance: 20.0,
        elasticity: None,
        bending: None,
        strength: None,
        toughness: None,
    };

    /// The same fabric cut crosswise: its warp along u, its weft along v.
    pub fn turned(mut self) -> Self {
        self.elasticity = self.elasticity.map(ElasticityKind::turned);
        self.bending = self.bending.map(|mut bending| {
            bending.stiffness.reverse();
            bending
        });
        self.strength = self.strength.map(|s| Strength { weft: s.warp, warp: s.weft, ..s });
        self.toughness = self.toughness.map(|t| Toughness { weft: t.warp, warp: t.weft, ..t });
        self
    }

    /// The first property that makes no sense, with the reason.
    pub fn check(&self) -> Result<(), Flaw> {
        self.check_numbers().map_err(|(key, cause)| (None, key, cause))?;
        if let Some(elasticity) = self.elasticity {
            elasticity.check().map_err(|(key, cause)| (Some("elasticity"), key, cause))?;
        }
        if let Some(bending) = self.bending {
            bending.check().map_err(|(key, cause)| (Some("bending"), key, cause))?;
        }
        if let Some(strength) = self.strength {
            strength.check().map_err(|(key, cause)| (Some("strength"), key, cause))?;
        }
        if let Some(toughness) = self.toughness {
            toughness.check().map_err(|(key, cause)| (Some("toughness"), key, cause))?;
        }
        Ok(())
    }

    fn check_numbers(&self) -> Result<(), (&'static str, String)> {
        must("density", self.density, self.density > 0.0, "above zero [kg/m²]")?;
        must("stretch", self.stretch, self.stretch > 0.0, "above zero [N/m]")?;
        must("shear", self.shear, self.shear >= 0.0, "zero or more [N/m]")?;
        must("bend", self.bend, self.bend >= 0.0, "zero or more [N·m]")?;
        must("damping", self.damping, self.damping >= 0.0, "zero or more [s]")?;
        must("thickness", self.thickness, self.thickness > 0.0, "above zero [m]")?;
        must("friction", self.friction, self.friction >= 0.0, "zero or more")?;
        must("cut_resistance", self.cut_resistance, self.cut_resistance >= 0.0, "zero or more [N/m]")
    }

    /// How finite elements of it resist strain.
    pub fn law(&self) -> ElasticityKind {
        self.elasticity.unwrap_or_else(|| Elasticity::of(self).into())
    }

    /// Load [N/m] on a long strip, cut at an angle [rad] to the weft, that is stretched to 1 + `stretch` of its length: what
    /// pulls across and shears is free to give way.
    pub fn load(&self, angle: f64, stretch: f64) -> f64 {
        self.law().load(angle, stretch)
    }

    /// Energy per area [J/m²] of such a strip when a load [N/m] is reached, and its stretch then.
    pub fn energy_up_to(&self, angle: f64, load: f64) -> (f64, f64) {
        let stretch = self.stretch_under(angle, load);
        const PARTS: u32 = 64;
        let part = stretch / f64::from(PARTS);
        let middle = |k: u32| self.load(angle, (f64::from(k) + 0.5) * part);
        ((0..PARTS).map(middle).sum::<f64>() * part, stretch)
    }

    /// Stretch of such a strip under a load [N/m], up to 1 (twice its length).
    pub fn stretch_under(&self, angle: f64, load: f64) -> f64 {
        let law = self.law();
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..50 {
            let middle = 0.5 * (low + high);
            if law.load(angle, middle) < load { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    }
}

impl From<Elasticity> for ElasticityKind {
    fn from(c: Elasticity) -> Self {
        Self::Orthotropic { c11: c.weft, c12: c.across, c22: c.warp, c33: c.shear }
    }
}

impl ElasticityKind {
    /// Name of its table.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Isotropic { .. } => "isotropic",
            Self::Orthotropic { .. } => "orthotropic",
            Self::Measured(_) => "measured",
            Self::Crimped(_) => "crimped",
        }
    }

    /// With weft and warp exchanged.
    fn turned(self) -> Self {
        match self {
            Self::Isotropic { .. } => self,
            Self::Orthotropic { c11, c12, c22, c33 } => Self::Orthotropic { c11: c22, c12, c22: c11, c33 },
            Self::Measured(mut measured) => {
                // All but the first are by angle from the weft.
                measured.matrices[1..].reverse();
                measured.matrices = measured.matrices.map(|[c11, c12, c22, c33]| [c22, c12, c11, c33]);
                Self::Measured(measured)
            }
            Self::Crimped(crimped) => Self::Crimped(Crimped { weft: crimped.warp, warp: crimped.weft, ..crimped }),
        }
    }

    /// The matrix C at rest.
    pub fn at_rest(&self) -> Elasticity {
        match *self {
            Self::Isotropic { young, poisson } => Elasticity::isotropic(young, poisson),
            Self::Orthotropic { c11, c12, c22, c33 } => Elasticity { weft: c11, across: c12, warp: c22, shear: c33 },
            Self::Measured(measured) => measured.row(0),
            Self::Crimped(crimped) => crimped.at_rest(),
        }
    }

    /// The first number that makes no sense, and why.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        match *self {
            Self::Isotropic { young, poisson } => {
                must("young", young, young > 0.0, "above zero [N/m]")?;
                must("poisson", poisson, poisson > -1.0 && poisson < 1.0, "between -1 and 1")
            }
            Self::Orthotropic { .. } => self.at_rest().check(),
            Self::Measured(measured) => measured.check(),
            Self::Crimped(crimped) => crimped.check(),
        }
    }

    /// See [`Fabric::load`].
    pub fn load(&self, angle: f64, stretch: f64) -> f64 {
        match *self {
            Self::Measured(measured) => load(&MeasuredLaw::from(measured), angle, stretch),
            Self::Crimped(crimped) => load(&crimped, angle, stretch),
            _ => load(&self.at_rest(), angle, stretch),
        }
    }
}

/// Uniaxial stress: the strain across and the shear are those that leave no stress but along the strip. C depends on them,
/// so they are found by turns, half a step at a time.
fn load(law: &impl Law, angle: f64, stretch: f64) -> f64 {
    let (s, c) = sin_cos(angle);
    let (n, m) = (Vec2::new(c, s), Vec2::new(-s, c));
    // Strain (ε_uu, ε_vv, γ) of a pull along n, of one along m, and of shear between both.
    let pull = |d: Vec2| [d.x * d.x, d.y * d.y, 2.0 * d.x * d.y];
    let (along, across, sheared) =
        (pull(n), pull(m), [2.0 * n.x * m.x, 2.0 * n.y * m.y, 2.0 * (n.x * m.y + n.y * m.x)]);
    let strain =
        |e: f64, f: f64, g: f64| -> [f64; 3] { std::array::from_fn(|k| e * along[k] + f * across[k] + g * sheared[k]) };
    let work = |stress: [f64; 3], by: &[f64; 3]| (0..3).map(|k| stress[k] * by[k]).sum::<f64>();
    let e = stretch + 0.5 * stretch * stretch;
    let (mut f, mut g) = (0.0, 0.0);
    for _ in 0..200 {
        let mut matrix = law.at(strain(e, f, g));
        // A sheet without any shear stiffness could be sheared at will.
        matrix.shear += 1e-9 * (matrix.weft + matrix.warp);
        let stress = |by: &[f64; 3]| matrix.stress(*by);
        let (by_across, by_sheared) = (stress(&across), stress(&sheared));
        let (a, b, d) = (work(by_across, &across), work(by_across, &sheared), work(by_sheared, &sheared));
        let pulled = stress(&along);
        let (p, q) = (-e * work(pulled, &across), -e * work(pulled, &sheared));
        let determinant = a * d - b * b;
        let (to_f, to_g) = ((p * d - q * b) / determinant, (a * q - b * p) / determinant);
        (f, g) = (f + 0.5 * (to_f - f), g + 0.5 * (to_g - g));
    }
    let at = strain(e, f, g);
    (1.0 + stretch) * work(law.at(at).stress(at), &along)
}

impl Strength {
    /// The same by direction of the tear: a pull along the weft breaks weft yarns and tears along the warp. Where the bias isn't known it is as strong as
    /// the mean of both.
    pub fn by_tear(&self) -> Strengths {
        let bias = self.bias.unwrap_or(0.5 * (self.weft + self.warp));
        let table = [(0.0, self.warp), (45.0, bias), (90.0, self.weft), (135.0, bias)];
        Strengths::new(&table.map(|(angle, strength)| Direction { angle, strength })).expect("checked")
    }

    fn check(&self) -> Result<(), (&'static str, String)> {
        let loads = [("weft", Some(self.weft)), ("warp", Some(self.warp)), ("bias", self.bias)];
        loads
            .into_iter()
            .try_for_each(|(key, load)| load.map_or(Ok(()), |load| must(key, load, load > 0.0, "above zero [N/m]")))
    }
}

impl Toughness {
    fn check(&self) -> Result<(), (&'static str, String)> {
        must("weft", self.weft, self.weft > 0.0, "above zero [N]")?;
        must("warp", self.warp, self.warp > 0.0, "above zero [N]")?;
        let Some(StrongYarns { spacing, width, factor }) = self.grid else { return Ok(()) };
        must("spacing", spacing, spacing > 0.0, "above zero [m]")?;
        must("width", width, width > 0.0 && width <= spacing, "above zero and at most `spacing` [m]")?;
        must("factor", factor, factor > 0.0, "above zero")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::FRAC_PI_4;

    #[test]
    fn impossible_fabrics_are_named() {
        assert!(Fabric::default().check().is_ok());
        let flaw = |fabric: Fabric| fabric.check().map_err(|(table, key, _)| (table, key)).unwrap_err();
        assert_eq!(flaw(Fabric { density: -0.2, ..Fabric::default() }), (None, "density"));
        assert_eq!(flaw(Fabric { bend: f64::NAN, ..Fabric::default() }), (None, "bend"));
        assert_eq!(flaw(Fabric { thickness: 0.0, ..Fabric::default() }), (None, "thickness"));
        let kind = ElasticityKind::Isotropic { young: 100.0, poisson: 1.5 };
        assert_eq!(flaw(Fabric { elasticity: Some(kind), ..Fabric::default() }), (Some("elasticity"), "poisson"));
        let strength = Some(Strength { weft: 1.0, warp: 1.0, bias: Some(-1.0) });
        assert_eq!(flaw(Fabric { strength, ..Fabric::default() }), (Some("strength"), "bias"));
    }

    #[test]
    fn strips_pull_as_by_hand() {
        let strip = |kind: ElasticityKind, angle: f64| kind.load(angle, 1e-6) / 1e-6;
        let same = ElasticityKind::Isotropic { young: 700.0, poisson: 0.3 };
        for angle in [0.0, 0.3, FRAC_PI_4, 1.2] {
            assert!((strip(same, angle) / 700.0 - 1.0).abs() < 1e-5, "Young's modulus in every direction");
        }
        let woven = ElasticityKind::Orthotropic { c11: 900.0, c12: 90.0, c22: 500.0, c33: 40.0 };
        assert!((strip(woven, 0.0) / (900.0 - 90.0 * 90.0 / 500.0) - 1.0).abs() < 1e-5);
        // 4/E₄₅ = 1/E_u + 1/E_v + 1/c₃₃ − 2ν/E, from the inverse of C.
        let d = 900.0 * 500.0 - 90.0 * 90.0;
        let bias = 4.0 / (500.0 / d + 900.0 / d - 2.0 * 90.0 / d + 1.0 / 40.0);
        assert!((strip(woven, FRAC_PI_4) / bias - 1.0).abs() < 1e-5, "{} {bias}", strip(woven, FRAC_PI_4));
        let fabric = Fabric { elasticity: Some(woven), ..Fabric::default() };
        let stretched = fabric.stretch_under(0.4, 30.0);
        assert!((fabric.load(0.4, stretched) / 30.0 - 1.0).abs() < 1e-9);
    }
}
