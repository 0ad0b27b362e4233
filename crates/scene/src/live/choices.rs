//! What can be chosen for a scene that is played, and what is.

use super::criteria::OFFERS;
use super::paint::Painted;
use super::{Live, document};
use crate::fabric;
use ripstop::Vec3;
use serde::{Deserialize, Serialize};
use toml::Value;

/// Names of openings, with what to call them.
const OPENINGS: [(&str, &str); 5] = [
    ("snap", "along edges"),
    ("plane", "by a plane"),
    ("onward", "on from tips"),
    ("halve", "by halving edges"),
    ("through", "through triangles"),
];

/// Something to choose.
#[derive(Clone, Debug, Serialize)]
pub struct Choice {
    /// Name in scenes.
    pub name: String,
    /// What to call it.
    pub label: String,
}

/// What can be chosen, and what is now.
#[derive(Clone, Debug, Serialize)]
pub struct Options {
    /// Fabrics.
    pub fabrics: Vec<Choice>,
    /// Criteria.
    pub criteria: Vec<Choice>,
    /// Openings.
    pub openings: Vec<Choice>,
    /// What is chosen now.
    pub now: Chosen,
    /// What can be done.
    pub can: Abilities,
}

/// What is chosen.
#[derive(Clone, Debug, Serialize)]
pub struct Chosen {
    /// Fabric; none if it is the scene's own.
    pub fabric: Option<String>,
    /// Criterion; none if nothing tears.
    pub criterion: Option<String>,
    /// Opening.
    pub opening: Option<String>,
    /// Factor of strength.
    pub strength: f64,
    /// Wind [m/s].
    pub wind: Vec3,
    /// Strength map that was painted, in the place of a file's name; none if it is the scene's own.
    pub map: Option<String>,
}

/// What can be done with a cloth.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Abilities {
    /// Its strength can be painted.
    pub paint: bool,
    /// There are criteria and openings to choose from.
    pub tear_menus: bool,
    /// There are fabrics to choose from.
    pub fabric: bool,
}

/// Other choices; what is left out stays.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Change {
    /// Fabric.
    pub fabric: Option<String>,
    /// Criterion.
    pub criterion: Option<String>,
    /// Opening.
    pub opening: Option<String>,
    /// Factor of strength.
    pub strength: Option<f64>,
    /// Strength map, in the place of a file's name.
    pub map: Option<String>,
}

impl Live {
    /// What can be chosen here.
    pub fn options(&self) -> Options {
        let woven = self.built.engine.woven().is_some();
        let choice = |(name, label): (&str, &str)| Choice { name: name.into(), label: label.into() };
        let criteria = OFFERS.iter().filter(|offer| !woven && (offer.fits)(&self.scene));
        let document = self.document();
        let tear = document.get("tear").and_then(Value::as_table);
        let criterion = document::criterion(&document).map(|(kind, _)| kind.to_string());
        let usual = if criterion.as_deref() == Some("toughness") { "through" } else { "snap" };
        let opening = tear.map(|tear| tear.get("opening").and_then(Value::as_str).unwrap_or(usual).to_string());
        let openings = OPENINGS.into_iter().filter(|_| !woven && criterion.is_some()).map(choice).collect();
        let own = self.scene.fabric.name.clone();
        Options {
            fabrics: if woven { Vec::new() } else { self.fabrics() },
            criteria: criteria.map(|offer| choice((offer.name, offer.label))).collect(),
            openings,
            now: Chosen {
                fabric: self.settings.fabric.clone().or(own),
                opening: opening.filter(|_| criterion.is_some()),
                strength: self.settings.strength,
                wind: self.scene.surroundings().wind.mean(self.now()),
                map: self.settings.map.as_ref().map(Painted::name),
                criterion: criterion.clone(),
            },
            can: Abilities { paint: !woven && criterion.is_some(), tear_menus: !woven, fabric: !woven },
        }
    }

    /// Fabrics of which the scene can be made.
    fn fabrics(&self) -> Vec<Choice> {
        let explicit = self.scene.integrator.is_explicit();
        let fits = |name: &str| {
            // Explicit steps are too long for some.
            let mut settings = self.settings.clone();
            settings.fabric = Some(name.into());
            let mut document = self.base.clone();
            document::choose(&mut document, &settings, self.built.fabric.stretch, None);
            !explicit || Self::build(&self.name, &document).is_ok()
        };
        let known = fabric::names().filter_map(|name| Some((name, fabric::named(name).ok()?)));
        let choice = |(name, known): (&str, fabric::KnownFabric)| Choice { name: name.into(), label: known.title };
        known.filter(|(name, _)| fits(name)).map(choice).collect()
    }
}
