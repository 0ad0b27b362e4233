//! `summary.json`: what happened, in one page.

use crate::engine::Start;
use crate::expect::{Evidence, judge, mean_angle};
use crate::tally::Tally;
use ripstop::contact::{Report, Untangled};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One expectation and what came out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Key in `[expect]`.
    pub name: String,
    /// What was asked for.
    pub expected: String,
    /// What came out; none if there was nothing to measure.
    pub value: Option<f64>,
    /// Whether it fits.
    pub met: bool,
}

/// Counts at one end of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Nodes.
    pub nodes: usize,
    /// Faces.
    pub faces: usize,
    /// Pieces.
    pub pieces: usize,
    /// Material area [m²].
    pub area: f64,
}

impl Counts {
    fn of(counts: &Start) -> Self {
        Self { nodes: counts.nodes, faces: counts.faces, pieces: counts.pieces, area: counts.area }
    }
}

/// The first tear.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct First {
    /// When [s].
    pub time: f64,
    /// Node that parted.
    pub node: u32,
    /// Where in the material [m].
    pub uv: [f64; 2],
    /// Where in the world [m].
    pub place: [f64; 3],
    /// Direction from weft [degrees].
    pub direction: f64,
}

/// The page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Name of the scene.
    pub scene: String,
    /// Its title.
    pub title: String,
    /// Version of ripstop.
    pub version: String,
    /// Fingerprint of the last state: equal for runs that agree in every bit.
    pub state_hash: String,
    /// Frames written.
    pub frames: u32,
    /// Steps taken.
    pub steps: u64,
    /// Length of a step [s].
    pub step: f64,
    /// Largest stable step, estimated at the end [s]; none if every step is.
    pub stable_step: Option<f64>,
    /// At the start.
    pub start: Counts,
    /// At the end.
    pub end: Counts,
    /// Areas of the pieces at the end [m²], largest first.
    pub piece_areas: Vec<f64>,
    /// Edges opened, by whatever, or yarns cut.
    pub tears: usize,
    /// Edges opened by blades.
    pub cuts: usize,
    /// The first tear.
    pub first_tear: Option<First>,
    /// Sum of the rest lengths of opened edges [m].
    pub torn_length: f64,
    /// Mean direction of the torn length from weft [degrees].
    pub torn_direction: Option<f64>,
    /// Torn length [m] by direction from weft, 18 bins of 10 degrees.
    pub torn_histogram: [f64; 18],
    /// Largest load on a grip at any frame [N].
    pub largest_load: f64,
    /// Largest total strain of an edge at any frame.
    pub largest_strain: f64,
    /// Steps in which the integrator's rounds ended before they reached its tolerance.
    pub unfinished_steps: u64,
    /// The most that was left in such a step, as a share of what there was at its beginning.
    pub largest_residual: f64,
    /// What contact had to do: the most places that touched in a step, and in all steps pairs that were stopped, nodes that were frozen, pairs that failed.
    pub contact: Report,
    /// What crossed at the start, and how it was freed.
    pub untangled: Untangled,
    /// Energies at the end [J].
    pub energies: BTreeMap<String, f64>,
    /// Wall-clock seconds by stage; `total` is the whole run with its output.
    pub seconds: BTreeMap<String, f64>,
    /// Simulated seconds per second of computing (stages only).
    pub real_time_ratio: f64,
    /// Expectations with what came out.
    pub expectations: Vec<Outcome>,
}

impl Summary {
    /// Sums up a finished run.
    pub fn of(name: &str, evidence: &Evidence<'_>, frames: u32, seconds: BTreeMap<String, f64>) -> Self {
        let Evidence { scene, tally, engine, .. } = *evidence;
        let (areas, end) = (engine.piece_areas(), engine.counts());
        let start = &tally.start;
        let computing: f64 = seconds.iter().filter(|(stage, _)| *stage != "total").map(|(_, s)| s).sum();
        Self {
            scene: name.into(),
            title: scene.title.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            state_hash: format!("{:016x}", engine.state_hash()),
            frames,
            steps: engine.step_count(),
            step: engine.step_length(),
            stable_step: Some(engine.stable_step()).filter(|step| step.is_finite()),
            start: Counts::of(start),
            end: Counts::of(&end),
            piece_areas: areas,
            tears: tally.torn.len(),
            cuts: tally.torn.iter().filter(|t| t.cut.is_some()).count(),
            first_tear: first(tally),
            torn_length: tally.torn.iter().map(|t| t.length).sum(),
            torn_direction: (!tally.torn.is_empty()).then(|| mean_angle(&tally.torn).rem_euclid(180.0)),
            torn_histogram: histogram(tally),
            largest_load: tally.moments.iter().flat_map(|m| &m.loads).map(|load| load.length()).fold(0.0, f64::max),
            largest_strain: tally.largest_strain,
            unfinished_steps: tally.unfinished_steps,
            largest_residual: tally.largest_residual,
            contact: tally.contact,
            untangled: Untangled::default(),
            energies: engine.energies().into_iter().map(|(name, joule)| (name.to_string(), joule)).collect(),
            real_time_ratio: engine.time() / computing.max(1e-9),
            seconds,
            expectations: judge(evidence),
        }
    }

    /// True if every expectation was met.
    pub fn met(&self) -> bool {
        self.expectations.iter().all(|outcome| outcome.met)
    }
}

fn first(tally: &Tally) -> Option<First> {
    tally.torn.first().map(|t| First {
        time: t.time,
        node: t.node,
        uv: t.uv.to_array(),
        place: t.place.to_array(),
        direction: t.angle.to_degrees(),
    })
}

fn histogram(tally: &Tally) -> [f64; 18] {
    let mut bins = [0.0; 18];
    for t in &tally.torn {
        bins[((t.angle.to_degrees() / 10.0) as usize).min(17)] += t.length;
    }
    bins
}
