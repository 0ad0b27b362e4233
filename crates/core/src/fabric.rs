//! What a cloth is made of.

use serde::{Deserialize, Serialize};

/// Properties of a woven sheet, per area and length, so that they don't depend on the mesh.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
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
}

impl Default for Fabric {
    /// A soft cotton-like sheet that explicit integrators can handle: 200 g/m², 1 % strain at 8 N/m.
    fn default() -> Self {
        Self { density: 0.2, stretch: 800.0, shear: 40.0, bend: 2e-5, damping: 2e-4 }
    }
}

impl Fabric {
    /// The first property that makes no sense, with the reason.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let must = |key, value: f64, ok: bool, rule: &str| {
            if ok && value.is_finite() { Ok(()) } else { Err((key, format!("`{key}` is {value}, but must be {rule}"))) }
        };
        must("density", self.density, self.density > 0.0, "above zero [kg/m²]")?;
        must("stretch", self.stretch, self.stretch > 0.0, "above zero [N/m]")?;
        must("shear", self.shear, self.shear >= 0.0, "zero or more [N/m]")?;
        must("bend", self.bend, self.bend >= 0.0, "zero or more [N·m]")?;
        must("damping", self.damping, self.damping >= 0.0, "zero or more [s]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_fabrics_are_named() {
        assert!(Fabric::default().check().is_ok());
        assert_eq!(Fabric { density: -0.2, ..Fabric::default() }.check().unwrap_err().0, "density");
        assert_eq!(Fabric { bend: f64::NAN, ..Fabric::default() }.check().unwrap_err().0, "bend");
    }
}
