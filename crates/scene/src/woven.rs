//! Woven cloth: from `[cloth.woven]` to yarns ([`ripstop::yarn`]).

use crate::engine::{Engine, Weaving};
use crate::error::SceneError;
use crate::file::Scene;
use crate::load::{Built, jumps, not_too_many, uv_bounds};
use crate::source::Source;
use ripstop::contact::Untangled;
use ripstop::contact::crossing::Crossings;
use ripstop::mesh::{Id, Mesh, generate};
use ripstop::yarn::{By, Damping, Ripstop, Sliding, Solver, Spec, Weave, WeaveError, Woven, sweeps_needed};
use ripstop::{Bodies, Cloth, Fabric, Grip, Vec2};
use serde::Deserialize;

/// `[cloth.woven]`: what is left out is that of the cloth it is `like`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WovenTable {
    /// Warps and wefts.
    pub yarns: [usize; 2],
    /// Where the rest comes from.
    #[serde(default)]
    pub like: Like,
    /// Pattern.
    #[serde(default)]
    pub weave: WeaveKind,
    /// Stronger yarns.
    pub ripstop: Option<RipstopTable>,
    /// From yarn to yarn [m].
    pub spacing: Option<f64>,
    /// Distance of warp and weft where they cross [m].
    pub thickness: Option<f64>,
    /// Mass per area [kg/m²].
    pub density: Option<f64>,
    /// Stiffness of a yarn from crossing to crossing [N/m].
    pub stretch: Option<f64>,
    /// Share of it that is left when a yarn is pushed.
    pub compression: Option<f64>,
    /// Resistance to bending [N/m].
    pub bend: Option<f64>,
    /// Resistance to shear [N/m].
    pub shear: Option<f64>,
    /// Mean strain at which a yarn breaks.
    pub breaking: Option<f64>,
    /// By how much it varies, as a share of it.
    pub spread: Option<f64>,
    /// Share of the breaking force from which on cloth becomes yarns.
    pub transition: Option<f64>,
    /// Distance beyond the thickness at which a crossing comes apart [m].
    pub apart: Option<f64>,
    /// Force with which yarns stick at a crossing [N]; 0: nothing holds them, as in the paper.
    pub friction: Option<f64>,
    /// Smallest distance of crossings along a yarn, over the spacing.
    pub packing: Option<f64>,
    /// Factor of strength near held crossings.
    pub at_holds: Option<f64>,
    /// How near, in crossings.
    pub hold_reach: Option<usize>,
    /// Damping of velocities.
    #[serde(default)]
    pub damping: DampingTable,
    /// Coefficient of friction on bodies.
    pub body_friction: Option<f64>,
    /// Every crossing is two particles from the start.
    #[serde(default)]
    pub all_yarn: bool,
    /// Free yarns can't pass through each other.
    pub on_itself: Option<bool>,
    /// How springs are solved.
    pub solver: Option<SolverKind>,
    /// Other seeds break elsewhere.
    pub seed: Option<u64>,
}

/// Cloth that others are like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Like {
    /// Plain cotton with friction between yarns.
    #[default]
    Muslin,
    /// The constants and the model of Metaaphanon 2009, Table 1.
    Table1,
}

/// A pattern of the weave.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum WeaveKind {
    /// Over one, under one.
    #[default]
    Plain,
    /// Over some, under some, shifted by one from weft to weft.
    Twill([usize; 2]),
    /// Over one, under four.
    Satin5,
    /// Plain weave of pairs.
    Basket,
    /// Rows of 0 and 1; 1 where the warp is on top.
    Rows(Vec<Vec<u8>>),
}

/// `ripstop = { every = 8, factor = 3 }`
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RipstopTable {
    /// Every so many yarns of both families.
    pub every: usize,
    /// Their strength and stiffness over that of the others.
    pub factor: f64,
}

/// `damping = { sheet = 2 }` [1/s]
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DampingTable {
    /// Of whole cloth.
    pub sheet: Option<f64>,
    /// Of yarns at crossings that hold.
    pub couple: Option<f64>,
    /// Of free yarns.
    pub free: Option<f64>,
}

/// How springs are solved.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SolverKind {
    /// Every yarn at once, in substeps.
    Lines {
        /// Substeps of a step where there are couples.
        substeps: u32,
    },
    /// Springs one by one, as in the paper.
    Sweeps {
        /// Sweeps of a step; found by a test run if left out.
        count: Option<u32>,
    },
}

/// Sweeps that a test run tries at most, and how long it lasts [s].
const MOST_SWEEPS: u32 = 400;
const TEST_RUN: f64 = 0.5;

/// Tables that say nothing about woven cloth, and where to say it instead.
const NOT_FOR_YARNS: [(&str, &str); 7] = [
    ("fabric", "give `density`, `stretch`, `thickness` … in [cloth.woven]"),
    ("model", "woven cloth has its own: see [cloth.woven]"),
    ("integrator", "woven cloth has its own: see `solver` in [cloth.woven]"),
    ("contact", "see `thickness`, `body_friction` and `on_itself` in [cloth.woven]"),
    ("tear", "yarns break by tension: see `breaking` and `friction` in [cloth.woven]"),
    ("plastic", "yarns don't yield: leave it out"),
    ("seam", "seams are for sheets: leave it out, or make some yarns weaker by `ripstop` with a `factor` below 1"),
];

const TABLE: [&str; 2] = ["cloth", "woven"];

impl WovenTable {
    fn spec(&self, source: &Source, scene: &Scene, step: f64) -> Result<Spec, SceneError> {
        let fault = |key: &str, cause: String, advice: &str| source.fault(&[TABLE[0], TABLE[1], key], cause, advice);
        let [warps, wefts] = self.yarns;
        let mut spec = match self.like {
            Like::Muslin => Spec::muslin(warps, wefts),
            Like::Table1 => Spec::table1(warps, wefts),
        };
        let ratio = match spec.sliding {
            Sliding::Friction { force } => Some(spec.breaking_force() / force),
            Sliding::Frictionless => None,
        };
        for (target, given) in [
            (&mut spec.spacing, self.spacing),
            (&mut spec.thickness, self.thickness),
            (&mut spec.density, self.density),
            (&mut spec.stretch, self.stretch),
            (&mut spec.compression, self.compression),
            (&mut spec.bend, self.bend),
            (&mut spec.shear, self.shear),
            (&mut spec.breaking, self.breaking),
            (&mut spec.spread, self.spread),
            (&mut spec.transition, self.transition),
            (&mut spec.apart, self.apart),
            (&mut spec.packing, self.packing),
            (&mut spec.at_holds, self.at_holds),
            (&mut spec.body_friction, self.body_friction),
        ] {
            *target = given.unwrap_or(*target);
        }
        spec.hold_reach = self.hold_reach.unwrap_or(spec.hold_reach);
        spec.self_collision = self.on_itself.unwrap_or(spec.self_collision);
        spec.seed = self.seed.unwrap_or(spec.seed);
        spec.all_yarn = self.all_yarn;
        let DampingTable { sheet, couple, free } = self.damping;
        spec.damping = Damping {
            sheet: sheet.unwrap_or(spec.damping.sheet),
            couple: couple.unwrap_or(spec.damping.couple),
            free: free.unwrap_or(spec.damping.free),
        };
        spec.sliding = match (self.friction, ratio) {
            (Some(0.0), _) | (None, None) => Sliding::Frictionless,
            (Some(force), _) => Sliding::Friction { force },
            (None, Some(ratio)) => Sliding::Friction { force: spec.breaking_force() / ratio },
        };
        let surroundings = scene.surroundings();
        spec.air = surroundings.drag / spec.density;
        spec.wind = surroundings.wind;
        (spec.gravity, spec.step) = (scene.gravity, step);
        spec.weave = self
            .pattern()
            .map_err(|e| fault("weave", e.to_string(), "rows are written so: { rows = [[1, 0], [0, 1]] }"))?;
        let grid = self.ripstop.map(|grid| Ripstop::new(grid.every, grid.factor)).transpose();
        spec.ripstop = grid.map_err(|e| fault("ripstop", e.to_string(), "ripstop = { every = 8, factor = 3 }"))?;
        match self.solver {
            Some(SolverKind::Lines { substeps }) => spec.solver = Solver::Lines { substeps },
            Some(SolverKind::Sweeps { count }) => spec.solver = Solver::Sweeps { count: count.unwrap_or(MOST_SWEEPS) },
            None => {}
        }
        // Parameters are named as their keys; how many yarns there are is one key here.
        spec.check().map_err(|e| {
            let key = match e.key {
                "warps" | "wefts" => "yarns",
                "sliding" => "friction",
                key => key.split('.').next().unwrap_or(key),
            };
            let name = if e.key.contains('.') || key == "yarns" { e.key } else { key };
            fault(key, format!("`{name}` is {}", e.value), e.advice)
        })?;
        Ok(spec)
    }

    fn pattern(&self) -> Result<Weave, WeaveError> {
        Ok(match &self.weave {
            WeaveKind::Plain => Weave::plain(),
            WeaveKind::Twill([over, under]) => Weave::twill(*over, *under)?,
            WeaveKind::Satin5 => Weave::satin5(),
            WeaveKind::Basket => Weave::basket(),
            WeaveKind::Rows(rows) => Weave::new(rows)?,
        })
    }

    /// A node for every crossing.
    fn grid(&self, source: &Source, spacing: f64) -> Result<Mesh, SceneError> {
        let [warps, wefts] = self.yarns;
        not_too_many(source, &["cloth", "woven", "yarns"], warps as f64 * wefts as f64)?;
        let size = Vec2::new((warps - 1) as f64, (wefts - 1) as f64) * spacing;
        generate::grid(size, self.yarns).map_err(|e| {
            source.fault(&["cloth", "woven", "spacing"], e.to_string(), "give an ordinary spacing, such as 0.001 m")
        })
    }
}

impl Scene {
    /// Everything of a scene with woven cloth.
    pub(crate) fn build_woven(&self, source: &Source, table: &WovenTable, fabric: Fabric) -> Result<Built, SceneError> {
        let given: toml::Table = source.text.parse().unwrap_or_default();
        if let Some((key, advice)) = NOT_FOR_YARNS.iter().find(|(key, _)| given.contains_key(*key)) {
            return Err(source.fault(&[key], format!("[{key}] says nothing about woven cloth"), *advice));
        }
        if let Some(key) = self.expect.of_sheets_alone() {
            let cause = format!("`{key}` is about sheets, and this cloth is woven");
            return Err(source.fault(&["expect", key], cause, "leave it out, or look at `yarns` in [expect]"));
        }
        if self.time.fastest.is_some() {
            let cause = "woven cloth doesn't slow down what is fast";
            return Err(source.fault(&["time", "fastest"], cause, "leave it out"));
        }
        if let Some(i) = self.body.iter().position(|body| body.sharp.is_some()) {
            let cause = format!("body `{}` is sharp, but yarns aren't cut by blades", self.body[i].name);
            return Err(source.fault(&["body", &i.to_string(), "sharp"], cause, "leave `sharp` out"));
        }
        let (steps_per_frame, step, frame_count) = self.steps();
        let spec = table.spec(source, self, step)?;
        let grid = table.grid(source, spec.spacing)?;
        // A sheet with the same nodes: grips and bodies choose theirs as they do from sheets.
        let mut sheet = Cloth::flat(grid.clone(), spec.density, self.place);
        let bounds = uv_bounds(&grid);
        let grips = self.grips(source, &mut sheet, bounds)?;
        let bodies = self.bodies(source, &sheet, bounds, &grips)?;
        apart_at_start(source, &sheet, &bodies)?;
        let mut warnings: Vec<String> = grips.iter().filter_map(jumps).collect();
        warnings.extend(bodies.iter().filter_map(|b| Some(format!("body `{}`: {}", b.name, b.warning.as_ref()?))));
        let make = |spec: Spec, still: bool| -> Result<Woven, SceneError> {
            let mut woven = Woven::new(spec, self.place)
                .map_err(|e| source.fault(&TABLE, e.to_string(), "see [cloth.woven] in the manual"))?;
            hold(&mut woven, &grips, &bodies, still);
            Ok(woven)
        };
        let mut spec = spec;
        if let Some(SolverKind::Sweeps { count: None }) = table.solver {
            let steps = (TEST_RUN / step).ceil() as u32;
            let whole = make(spec.clone(), true)?;
            let found = sweeps_needed(|| (whole.clone(), Bodies::default()), steps, MOST_SWEEPS);
            let found =
                found.map_err(|e| source.fault(&["cloth", "woven", "solver"], e.to_string(), "give `count`"))?;
            let Some(count) = found else {
                let cause = format!("{MOST_SWEEPS} sweeps don't keep the cloth from tearing under its own weight");
                return Err(source.fault(&["cloth", "woven", "solver"], cause, "make it lighter or stronger"));
            };
            spec.solver = Solver::Sweeps { count };
            warnings.push(format!("{count} sweeps per step keep the cloth whole without what tears it"));
        }
        let woven = make(spec, false)?;
        let mut engine = Box::new(Weaving::new(woven, bodies, grid));
        grips.into_iter().filter(|grip| !grip.holds()).for_each(|grip| engine.take(grip));
        self.hand.iter().for_each(|hand| engine.cut(hand.t, hand.path.clone()));
        Ok(Built { engine, fabric, steps_per_frame, frame_count, warnings, untangled: Untangled::default() })
    }
}

/// Hands what grips and bodies hold to a woven cloth; if `still`, nothing moves it.
fn hold(woven: &mut Woven, grips: &[Grip], bodies: &Bodies, still: bool) {
    for grip in grips.iter().filter(|grip| grip.holds()) {
        let crossings: Vec<usize> = grip.nodes().map(|n| n.index()).collect();
        let keys = if still { Vec::new() } else { grip.keys.clone() };
        woven.hold(&grip.name, &crossings, By::Keys(keys), grip.release, bodies);
    }
    for (i, body) in bodies.iter().enumerate().filter(|(_, body)| !body.ties.is_empty()) {
        let crossings: Vec<usize> = body.ties.iter().map(|(n, _)| n.index()).collect();
        // A free body would hang on the cloth; without it the crossings are free too.
        if !still {
            woven.hold(&body.name, &crossings, By::Body(i), None, bodies);
        } else if !body.is_free() {
            woven.hold(&body.name, &crossings, By::Keys(Vec::new()), None, bodies);
        }
    }
}

/// What a body has passed through at the start stays so; only what it holds may.
fn apart_at_start(source: &Source, sheet: &Cloth, bodies: &Bodies) -> Result<(), SceneError> {
    for ((i, body), crossed) in bodies.iter().enumerate().zip(Crossings::of(sheet, bodies).bodies) {
        if body.ties.is_empty() && !crossed.is_empty() {
            let cause = format!("body `{}` crosses the cloth in {} places at the start", body.name, crossed.len());
            return Err(source.fault(&["body", &i.to_string(), "place"], cause, "move one of them, by `place`"));
        }
    }
    Ok(())
}
