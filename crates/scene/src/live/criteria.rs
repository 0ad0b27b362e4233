//! The criteria that can be chosen for a scene that is played, each in one row of [`OFFERS`]: a criterion of scene files that has a row here is in the menu, in links and
//! in exported scenes.

use super::document::{number, table};
use crate::file::{FabricTable, ModelKind, Scene};
use toml::{Table, Value};

/// A criterion as it is offered.
pub struct Offer {
    /// Its key in `[tear.criterion.…]`.
    pub name: &'static str,
    /// What to call it.
    pub label: &'static str,
    /// Whether a sheet can tear by it.
    pub fits: fn(&Scene) -> bool,
    /// Its table for a sheet that bears this strain and has this stiffness [N/m].
    pub table: fn(f64, f64) -> Table,
    /// The strain that a sheet with such a table bears, with this stiffness [N/m].
    pub strain: fn(&Table, f64) -> Option<f64>,
    /// What strength multiplies: keys of its table, or of the rows of a list in it.
    pub strengths: &'static [&'static str],
}

/// All that are offered, in the order of the menu.
pub const OFFERS: &[Offer] = &[
    Offer {
        name: "separation_tensor",
        label: "separation tensor",
        fits: |_| true,
        table: of_strain,
        strain: own_strain,
        strengths: &["strength"],
    },
    Offer {
        name: "edge_strain",
        label: "strain of edges",
        fits: |_| true,
        table: of_strain,
        strain: own_strain,
        strengths: &["strength"],
    },
    Offer {
        name: "directional",
        label: "stress by direction",
        fits: |scene| matches!(scene.model, ModelKind::Membrane { .. }),
        table: |strain, stretch| {
            let row = |angle: f64| {
                Value::Table(table([("angle", Value::Float(angle)), ("strength", Value::Float(strain * stretch))]))
            };
            table([("strengths", Value::Array(vec![row(0.0), row(90.0)]))])
        },
        strain: |directional, stretch| {
            let rows = directional.get("strengths")?.as_array()?;
            let all: Vec<f64> = rows.iter().filter_map(|row| number(row.get("strength")?)).collect();
            Some(all.iter().sum::<f64>() / all.len().max(1) as f64 / stretch)
        },
        strengths: &["strength"],
    },
    Offer {
        name: "toughness",
        label: "strength and toughness",
        fits: |scene| matches!(scene.model, ModelKind::Membrane { .. }) && has_toughness(&scene.fabric),
        table: |_, _| table([("factor", Value::Float(1.0))]),
        strain: |_, _| None,
        strengths: &["factor"],
    },
];

/// Whether strength and toughness of a fabric are known.
pub fn has_toughness(fabric: &FabricTable) -> bool {
    let named = fabric.name.as_ref().and_then(|name| crate::fabric::named(name).ok());
    let known = |own: bool, of_name: fn(&ripstop::Fabric) -> bool| {
        own || named.as_ref().is_some_and(|known| of_name(&known.fabric))
    };
    known(fabric.strength.is_some(), |fabric| fabric.strength.is_some())
        && known(fabric.toughness.is_some(), |fabric| fabric.toughness.is_some())
}

/// The row of a criterion.
pub fn offer(name: &str) -> Option<&'static Offer> {
    OFFERS.iter().find(|offer| offer.name == name)
}

impl Offer {
    /// Makes a table of this criterion stronger by a factor.
    pub fn strengthen(&self, criterion: &mut Table, factor: f64) {
        for (key, value) in criterion.iter_mut() {
            if self.strengths.contains(&key.as_str()) {
                *value = Value::Float(number(value).unwrap_or(f64::NAN) * factor);
            }
            for row in value.as_array_mut().into_iter().flatten().filter_map(Value::as_table_mut) {
                self.strengthen(row, factor);
            }
        }
    }
}

fn of_strain(strain: f64, _: f64) -> Table {
    table([("strength", Value::Float(strain))])
}

fn own_strain(criterion: &Table, _: f64) -> Option<f64> {
    number(criterion.get("strength")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::CriterionKind;

    #[test]
    fn every_criterion_of_scene_files_is_offered() {
        let nonsense: Table = [("?".to_string(), Value::Table(Table::new()))].into_iter().collect();
        let error = Value::Table(nonsense).try_into::<CriterionKind>().unwrap_err().to_string();
        let known: Vec<&str> = error.split('`').skip(3).step_by(2).collect();
        let offered: Vec<&str> = OFFERS.iter().map(|offer| offer.name).collect();
        assert_eq!(offered, known, "a criterion needs its row in OFFERS: {error}");
    }

    #[test]
    fn tables_are_read_and_give_back_their_strain() {
        for offer in OFFERS {
            let mut given = (offer.table)(0.2, 300.0);
            let kind: Table = [(offer.name.to_string(), Value::Table(given.clone()))].into_iter().collect();
            Value::Table(kind).try_into::<CriterionKind>().unwrap_or_else(|e| panic!("{}: {e}", offer.name));
            if offer.name == "toughness" {
                // It goes by the fabric's own figures, whatever strain that is.
                offer.strengthen(&mut given, 3.0);
                assert_eq!(given["factor"].as_float(), Some(3.0));
                continue;
            }
            assert!(((offer.strain)(&given, 300.0).unwrap() - 0.2).abs() < 1e-12, "{}", offer.name);
            offer.strengthen(&mut given, 3.0);
            assert!(((offer.strain)(&given, 300.0).unwrap() - 0.6).abs() < 1e-12, "{}", offer.name);
        }
    }
}
