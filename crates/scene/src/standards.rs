//! Tests of the trade: the scenes of `scenes/standards`, with any fabric, in both directions.

use crate::curve::Reading;
use crate::error::SceneError;
use crate::fabric::KnownFabric;
use crate::variant::Part;
use std::path::Path;
use toml::{Table, Value};

/// One standard test.
pub struct Standard {
    /// Name of its scene.
    pub name: &'static str,
    /// The standard.
    pub by: &'static str,
    /// What it reads from the curve of the grip `jaw`.
    pub reading: Reading,
    /// What a laboratory would be expected to find [N], of a fabric, where warp (or else weft) yarns break.
    expected: fn(&KnownFabric, bool) -> Option<f64>,
    /// The scene.
    text: &'static str,
    /// As the scene has it the warp is pulled to breaking; otherwise the weft.
    breaks_warp: bool,
}

/// Width of the strip of ISO 13934-1 [m].
pub const STRIP_WIDTH: f64 = 0.05;
/// Its length between the jaws [m].
pub const STRIP_LENGTH: f64 = 0.2;

/// All of them.
pub const ALL: [Standard; 4] = [
    Standard {
        name: "strip",
        by: "ISO 13934-1",
        reading: Reading::Largest,
        expected: |known, warp| {
            let measured = known.tests.get("strip").map(|test| if warp { test.warp } else { test.weft });
            measured.or(known.fabric.strength.map(|s| STRIP_WIDTH * if warp { s.warp } else { s.weft }))
        },
        text: include_str!("../../../scenes/standards/strip.toml"),
        breaks_warp: true,
    },
    Standard {
        name: "trouser",
        by: "ISO 13937-2",
        reading: Reading::MeanOfPeaks,
        expected: trouser_force,
        text: include_str!("../../../scenes/standards/trouser.toml"),
        breaks_warp: false,
    },
    Standard {
        name: "tongue",
        by: "ASTM D2261",
        reading: Reading::FiveHighestPeaks,
        expected: trouser_force,
        text: include_str!("../../../scenes/standards/tongue.toml"),
        breaks_warp: false,
    },
    Standard {
        name: "trapezoid",
        by: "ASTM D5587",
        reading: Reading::FiveHighestPeaks,
        // How many yarns share the load depends on how they stretch: no figure of a fabric says it.
        expected: |known, warp| known.tests.get("trapezoid").map(|test| if warp { test.warp } else { test.weft }),
        text: include_str!("../../../scenes/standards/trapezoid.toml"),
        breaks_warp: false,
    },
];

/// Two legs do 2 F per length of tear, so F = G_c / 2 where nobody has measured it.
fn trouser_force(known: &KnownFabric, warp: bool) -> Option<f64> {
    let measured = known.tests.get("trouser").map(|test| if warp { test.warp } else { test.weft });
    measured.or(known.fabric.toughness.map(|t| 0.5 * if warp { t.warp } else { t.weft }))
}

impl Standard {
    /// What a laboratory would be expected to find [N].
    pub fn expected(&self, known: &KnownFabric, warp: bool) -> Option<f64> {
        (self.expected)(known, warp)
    }

    /// The scene with this fabric, a name or an absolute path, such that warp (or else weft) yarns break. Nothing is promised of it.
    ///
    /// # Errors
    /// None, unless the scene that is part of the program is wrong.
    pub fn part(&self, fabric: &str, warp: bool) -> Result<Part, SceneError> {
        let mut scene: Table = self.text.parse().expect("a scene of the program");
        scene.remove("expect");
        let mut chosen = Table::new();
        let key = if crate::fabric::names().any(|name| name == fabric) { "name" } else { "file" };
        chosen.insert(key.into(), Value::String(fabric.into()));
        chosen.insert("turned".into(), Value::Boolean(warp != self.breaks_warp));
        scene.insert("fabric".into(), Value::Table(chosen));
        Ok(Part::of_text(Path::new(&format!("{}.toml", self.name)), scene.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_takes_every_fabric_that_has_what_it_needs() {
        for name in crate::fabric::names() {
            let known = crate::fabric::named(name).unwrap();
            let whole = known.fabric.strength.is_some() && known.fabric.toughness.is_some();
            for standard in &ALL {
                for warp in [true, false] {
                    let built = standard.part(name, warp).unwrap().build();
                    assert_eq!(built.is_ok(), whole, "{} of {name}: {:?}", standard.name, built.err());
                    assert_eq!(
                        standard.expected(&known, warp).is_some(),
                        match standard.name {
                            "strip" => known.fabric.strength.is_some(),
                            "trapezoid" => false,
                            _ => known.fabric.toughness.is_some(),
                        }
                    );
                }
            }
        }
    }

    #[test]
    fn what_was_measured_is_what_the_figures_say() {
        for name in crate::fabric::names() {
            let known = crate::fabric::named(name).unwrap();
            for (test, reference) in &known.tests {
                let (strength, toughness) = (known.fabric.strength.unwrap(), known.fabric.toughness.unwrap());
                let grid = toughness.grid.map_or(1.0, |g| 1.0 + (g.factor - 1.0) * g.width / g.spacing);
                for (measured, strength, toughness) in
                    [(reference.warp, strength.warp, toughness.warp), (reference.weft, strength.weft, toughness.weft)]
                {
                    let figure = if test == "strip" { STRIP_WIDTH * strength } else { 0.5 * grid * toughness };
                    assert!(
                        (figure / measured - 1.0).abs() < 0.01,
                        "{name}, {test}: {figure} N, measured {measured} N"
                    );
                }
            }
        }
    }
}
