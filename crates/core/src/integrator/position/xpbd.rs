//! XPBD: position-based dynamics with compliance and small substeps.

use super::levels::Levels;
use super::{Shifts, Tables};
use crate::cloth::Touched;
use crate::integrator::{Integrator, Motion};
use crate::math::Vec3;
use serde::Deserialize;

/// Settings of [`Xpbd`].
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct XpbdSettings {
    /// Parts that a step is divided into.
    pub substeps: u32,
    /// Times that every element is projected in each.
    pub iterations: u32,
    /// Coarser graphs that carry corrections far.
    pub levels: u32,
}

impl Default for XpbdSettings {
    fn default() -> Self {
        Self { substeps: 16, iterations: 1, levels: 0 }
    }
}

/// Position-based dynamics with compliance.
#[derive(Default)]
pub struct Xpbd {
    /// How.
    pub settings: XpbdSettings,
    tables: Tables,
    levels: Levels,
    shifts: Shifts,
    load: Vec<Vec3>,
}

impl Xpbd {
    /// XPBD with these settings.
    pub fn new(settings: XpbdSettings) -> Self {
        Self { settings, ..Self::default() }
    }
}

impl Integrator for Xpbd {
    fn name(&self) -> &'static str {
        "xpbd"
    }

    fn advance(&mut self, Motion { cloth, forces }: Motion<'_>, h: f64) {
        let XpbdSettings { substeps, iterations, levels: level_count } = self.settings;
        let Self { tables, levels, shifts, load, .. } = self;
        let changed = tables.link(cloth, forces);
        if level_count > 0 && (changed || !levels.fit(cloth)) {
            *levels = Levels::new(cloth, &forces.bounds(cloth), level_count);
        }
        load.resize(cloth.x.len(), Vec3::ZERO);
        forces.evaluate_part(false, cloth, &cloth.x, &cloth.v, load);
        let part = h / f64::from(substeps.max(1));
        shifts.begin(cloth, load, part);
        tables.begin(cloth, part);
        levels.begin(&cloth.x, part);
        for substep in 0..substeps.max(1) {
            shifts.predict(substep == 0);
            tables.forget(iterations > 1);
            for iteration in 0..iterations.max(1) {
                tables.sweep_general(cloth, forces, shifts);
                if iteration == 0 {
                    levels.sweep(shifts);
                }
                tables.sweep_springs(shifts, iterations > 1);
            }
        }
        shifts.settle();
        shifts.end(cloth, h);
    }

    fn stable_step(&self, _omega: f64, _rate: f64) -> f64 {
        f64::INFINITY
    }

    fn follow(&mut self, touched: &Touched) {
        self.tables.follow(touched);
    }
}
