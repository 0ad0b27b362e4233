//! What a woven cloth is made of, and how it is computed: all its parameters, in SI units.

use super::weave::{Ripstop, Weave};
use crate::math::Vec3;
use crate::wind::Wind;
use serde::{Deserialize, Serialize};

/// How yarns slide over each other at loose crossings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Sliding {
    /// They stick until the force along the cloth passes a limit.
    Friction {
        /// Limit per crossing where yarns change sides to all neighbours [N]; others hold in proportion ([`super::weave`]).
        force: f64,
    },
    /// The paper's: nothing holds them, and a couple whose particles are further apart than [`Spec::apart`] is disconnected.
    Frictionless,
}

/// How structural springs are solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Solver {
    /// Every yarn at once, exactly ([`super::line`]), in substeps.
    Lines {
        /// Substeps of a step where yarns slide; whole cloth takes two thirds of it, couples of two particles half as many again.
        substeps: u32,
    },
    /// The paper's: springs one by one in the order of their distance to held nodes, again and again ([`super::sweep`]).
    Sweeps {
        /// Sweeps of a step, N_proj.
        count: u32,
    },
}

/// Damping of velocities [1/s].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Damping {
    /// Of whole cloth.
    pub sheet: f64,
    /// Of yarns at crossings that hold.
    pub couple: f64,
    /// Of free yarns.
    pub free: f64,
}

/// A woven cloth. Start from [`Spec::muslin`] or [`Spec::table1`] and change what should differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// Yarns along v; wefts have as many crossings.
    pub warps: usize,
    /// Yarns along u; warps have as many crossings.
    pub wefts: usize,
    /// From yarn to yarn [m].
    pub spacing: f64,
    /// Distance of warp and weft where they cross, T; also how near free yarns come [m].
    pub thickness: f64,
    /// Mass per area [kg/m²].
    pub density: f64,
    /// Stiffness of a structural spring [N/m].
    pub stretch: f64,
    /// Share of it that is left when a yarn is pushed: yarns buckle.
    pub compression: f64,
    /// Stiffness of a bend spring [N/m].
    pub bend: f64,
    /// Stiffness of a shear spring [N/m].
    pub shear: f64,
    /// Mean strain at which a spring breaks, θ_tear.
    pub breaking: f64,
    /// By how much it varies from spring to spring, as a share of it.
    pub spread: f64,
    /// Share of a spring's breaking force above which its surroundings become yarns, θ_trans / θ_tear. With 1 friction alone says when crossings come loose: a sixth faster, shorter
    /// frays, and loads spread further.
    pub transition: f64,
    /// Distance beyond T at which a couple is disconnected, θ_dist [m]; with friction only where a yarn ends.
    pub apart: f64,
    /// How yarns slide.
    pub sliding: Sliding,
    /// Smallest distance of neighbouring crossings along a yarn, as a share of the spacing: yarns have a width.
    pub packing: f64,
    /// Factor of the strength of springs near held crossings.
    pub at_holds: f64,
    /// How near, in crossings.
    pub hold_reach: usize,
    /// Damping.
    pub damping: Damping,
    /// Air drag: acceleration over the square of the speed against the air [1/m].
    pub air: f64,
    /// Coefficient of friction on bodies that have none of their own.
    pub body_friction: f64,
    /// Wind.
    pub wind: Wind,
    /// Gravity [m/s²].
    pub gravity: Vec3,
    /// Pattern.
    pub weave: Weave,
    /// Stronger yarns.
    pub ripstop: Option<Ripstop>,
    /// Every crossing a couple from the start (and *connected*): the paper's "all-yarn" model, to compare with.
    pub all_yarn: bool,
    /// Free and slipped yarns collide with each other.
    pub self_collision: bool,
    /// Nothing breaks or becomes a couple: for the test run that finds the number of sweeps.
    pub unbreakable: bool,
    /// Solver.
    pub solver: Solver,
    /// Time step [s].
    pub step: f64,
    /// Other seeds break elsewhere.
    pub seed: u64,
}

/// Why a woven cloth can't be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("woven cloth: `{key}` is {value}; {advice}")]
pub struct SpecError {
    /// Which parameter.
    pub key: &'static str,
    /// What it is.
    pub value: String,
    /// What to do.
    pub advice: &'static str,
}

/// Most yarns in one direction.
const MOST: usize = 20_000;

/// Most crossings: more would be a slip, at about a kilobyte each.
const MOST_CROSSINGS: usize = 20_000_000;

impl Spec {
    /// Plain-woven cotton, ten yarns per centimetre, 0.2 kg/m². Yarns are of the paper's kind (14 N/m instead of its 6, 7.5 %), far weaker than
    /// real ones: a small ball tears them. Breaking force over friction is 20.
    pub fn muslin(warps: usize, wefts: usize) -> Self {
        let (stretch, spacing, breaking) = (14.0, 1e-3, 0.075);
        Self {
            warps,
            wefts,
            spacing,
            thickness: 2.5e-4,
            density: 0.2,
            stretch,
            compression: 0.05,
            bend: 0.02,
            shear: 0.3,
            breaking,
            spread: 0.33,
            transition: 0.9,
            apart: 2e-4,
            sliding: Sliding::Friction { force: stretch * spacing * breaking / 20.0 },
            packing: 0.35,
            at_holds: 2.0,
            hold_reach: 6,
            damping: Damping { sheet: 2.0, couple: 10.0, free: 25.0 },
            air: 0.5,
            body_friction: 0.3,
            wind: Wind::default(),
            gravity: Vec3::new(0.0, -9.81, 0.0),
            weave: Weave::plain(),
            ripstop: None,
            all_yarn: false,
            self_collision: true,
            unbreakable: false,
            solver: Solver::Lines { substeps: 10 },
            step: 1.0 / 240.0,
            seed: 1,
        }
    }

    /// The paper's constants (Table 1), from cgs to SI, its model without friction and its sweeps. Its cloth is ten times as heavy
    /// as one of its kind: large sheets tear under their own weight.
    pub fn table1(warps: usize, wefts: usize) -> Self {
        // 1 g/s² = 10⁻³ N/m, 1 g/cm² = 10 kg/m², 1 cm = 10⁻² m.
        Self {
            spacing: 1e-2 / 10.0,
            thickness: 0.01e-2,
            density: 0.25 * 10.0,
            stretch: 6000.0e-3,
            compression: 1.0,
            bend: 5.0e-3,
            shear: 2.0e-3,
            breaking: 0.075,
            spread: 1.0 / 3.0,
            transition: 0.9,
            apart: 0.02e-2,
            sliding: Sliding::Frictionless,
            at_holds: 1.0,
            air: 0.0,
            solver: Solver::Sweeps { count: 40 },
            ..Self::muslin(warps, wefts)
        }
    }

    /// The same with a friction such that a spring of mean strength breaks at `ratio` times it.
    pub fn with_break_over_friction(mut self, ratio: f64) -> Self {
        self.sliding = Sliding::Friction { force: self.breaking_force() / ratio };
        self
    }

    /// Mean force at which a spring breaks [N].
    pub fn breaking_force(&self) -> f64 {
        self.stretch * self.spacing * self.breaking
    }

    /// Mass of a crossing [kg].
    pub fn node_mass(&self) -> f64 {
        self.density * self.spacing * self.spacing
    }

    /// Refuses what can't be computed.
    pub fn check(&self) -> Result<(), SpecError> {
        let fault = |key, value: String, advice| Err(SpecError { key, value, advice });
        for (key, count) in [("warps", self.warps), ("wefts", self.wefts)] {
            if !(2..=MOST).contains(&count) {
                return fault(key, count.to_string(), "give 2 to 20000 yarns");
            }
        }
        if self.warps * self.wefts > MOST_CROSSINGS {
            let value = format!("{} with {} wefts", self.warps, self.wefts);
            return fault("warps", value, "at most twenty million crossings are possible");
        }
        let positive = [
            ("spacing", self.spacing),
            ("thickness", self.thickness),
            ("density", self.density),
            ("stretch", self.stretch),
            ("compression", self.compression),
            ("breaking", self.breaking),
            ("transition", self.transition),
            ("apart", self.apart),
            ("at_holds", self.at_holds),
            ("step", self.step),
        ];
        let friction = match self.sliding {
            Sliding::Friction { force } => force,
            Sliding::Frictionless => 0.0,
        };
        let none_or_more = [
            ("bend", self.bend),
            ("shear", self.shear),
            ("spread", self.spread),
            ("sliding", friction),
            ("packing", self.packing),
            ("damping.sheet", self.damping.sheet),
            ("damping.couple", self.damping.couple),
            ("damping.free", self.damping.free),
            ("air", self.air),
            ("body_friction", self.body_friction),
        ];
        for (key, value) in positive {
            if !(value.is_finite() && value > 0.0) {
                return fault(key, value.to_string(), "it must be a number above zero");
            }
        }
        for (key, value) in none_or_more {
            if !(value.is_finite() && value >= 0.0) {
                return fault(key, value.to_string(), "it must be a number, zero or more");
            }
        }
        for (key, value) in [("spread", self.spread), ("packing", self.packing)] {
            if value >= 1.0 {
                return fault(key, value.to_string(), "it must be below one");
            }
        }
        if self.compression > 1.0 || self.transition > 1.0 {
            let (key, value) = if self.compression > 1.0 {
                ("compression", self.compression)
            } else {
                ("transition", self.transition)
            };
            return fault(key, value.to_string(), "it is a share: one at most");
        }
        if self.thickness >= self.spacing {
            return fault("thickness", self.thickness.to_string(), "it must be below the spacing of the yarns");
        }
        let wind = &self.wind;
        if !wind.keys.iter().all(|(time, v)| time.is_finite() && v.is_finite()) || !wind.gust.is_finite() {
            return fault("wind", format!("{:?}", wind.keys), "give ordinary numbers");
        }
        if wind.gust != 0.0 && !(wind.period > 0.0 && wind.length > 0.0) {
            return fault(
                "wind",
                format!("{} s, {} m", wind.period, wind.length),
                "gusts need a period and a length above zero",
            );
        }
        if !self.gravity.is_finite() {
            return fault("gravity", self.gravity.to_string(), "give ordinary numbers");
        }
        match self.solver {
            Solver::Lines { substeps: count } | Solver::Sweeps { count } if !(1..=1000).contains(&count) => {
                fault("solver", count.to_string(), "give 1 to 1000 substeps or sweeps")
            }
            _ => Ok(()),
        }
    }
}
