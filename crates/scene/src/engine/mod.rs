//! What a run steps and watches: a sheet ([`sheet`]) or woven cloth ([`woven`]). Everything after the step (tallies, frames, statistics,
//! expectations, checkpoints) sees only this.

mod sheet;
mod woven;

pub use sheet::plastic_strains;
pub use woven::Weaving;

use crate::cache::{Frame, Topology};
use ripstop::body::{BodyError, BodySpec};
use ripstop::contact::Report;
use ripstop::{Bodies, Grip, Key, Simulation, Snapshot, SnapshotRef, StepError, Vec2, Vec3, Watch, yarn};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Why a step could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Of a sheet.
    #[error(transparent)]
    Sheet(#[from] StepError),
    /// Of woven cloth.
    #[error(transparent)]
    Woven(#[from] yarn::StepError),
}

/// The state of either, as a checkpoint keeps it.
#[derive(Clone, Deserialize)]
pub enum State {
    /// Of a sheet.
    Sheet(Box<Snapshot>),
    /// Of woven cloth.
    Woven(Box<woven::WovenState>),
}

/// A [`State`] in writing, without a copy.
#[derive(Serialize)]
pub enum StateRef<'a> {
    /// Of a sheet.
    Sheet(SnapshotRef<'a>),
    /// Of woven cloth.
    Woven(woven::WovenRef<'a>),
}

/// How hard a step was.
#[derive(Clone, Copy, Debug, Default)]
pub struct Effort {
    /// What was left when the integrator's rounds ended early, as a share of what there was.
    pub residual: Option<f64>,
    /// What contact did.
    pub contact: Report,
}

/// One opened edge or cut yarn, as far as expectations need it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Torn {
    /// When [s].
    pub time: f64,
    /// Node at which the cloth parted.
    pub node: u32,
    /// Middle of the edge in the material [m].
    pub uv: Vec2,
    /// Middle of the edge in the world [m].
    pub place: Vec3,
    /// Direction in the world (unit).
    pub direction: Vec3,
    /// Direction in the material from weft [rad], in [0, π).
    pub angle: f64,
    /// Rest length [m].
    pub length: f64,
    /// Seam that it was part of.
    pub seam: Option<u32>,
    /// Body that cut it.
    pub cut: Option<u32>,
}

/// One moment of the run, at every frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// When [s].
    pub time: f64,
    /// Lowest point of the cloth [m].
    pub lowest: f64,
    /// Width of the sheet across its middle, along v, over its material width; NaN when torn there.
    pub waist: f64,
    /// Force on each grip [N].
    pub loads: Vec<Vec3>,
    /// Displacement of each grip [m].
    pub shifts: Vec<Vec3>,
}

/// The state of the cloth at the start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// Nodes.
    pub nodes: usize,
    /// Edges.
    pub edges: usize,
    /// Faces.
    pub faces: usize,
    /// Pieces.
    pub pieces: usize,
    /// Material area [m²].
    pub area: f64,
    /// Mean length of edges in the material [m].
    pub spacing: f64,
    /// Height of the highest held node [m].
    pub hold_height: f64,
    /// Middle of the cloth's mass [m].
    pub middle: Vec3,
}

/// Something that moves and tears.
pub trait Engine {
    /// Advances by one step.
    fn step(&mut self, watch: &mut dyn Watch) -> Result<(), EngineError>;
    /// From now on looks from outside for what passes through each other, as far as frames alone don't tell.
    fn watch_passings(&mut self) {}
    /// Brings what is only known at frames up to date: loads of grips, what has passed through each other since the frame before.
    fn weigh(&mut self) {}
    /// Time [s].
    fn time(&self) -> f64;
    /// Steps taken.
    fn step_count(&self) -> u64;
    /// Length of a step [s].
    fn step_length(&self) -> f64;
    /// Largest stable step [s]; infinite if every step is.
    fn stable_step(&self) -> f64;
    /// Equal for states that agree in every bit.
    fn state_hash(&self) -> u64;
    /// Rigid bodies.
    fn bodies(&self) -> &Bodies;
    /// Counts of it as it is now.
    fn counts(&self) -> Start;
    /// Material areas of its pieces [m²], largest first.
    fn piece_areas(&self) -> Vec<f64>;
    /// What was torn in the last step, and the line that tells of each.
    fn torn(&self) -> Vec<(Torn, serde_json::Value)>;
    /// Torn so far.
    fn tear_count(&self) -> u64;
    /// How hard the last step was.
    fn effort(&self) -> Effort {
        Effort::default()
    }
    /// Largest strain now.
    fn largest_strain(&self) -> f64;
    /// What tallies keep of a frame.
    fn moment(&self, start: &Start) -> Moment;
    /// Energies [J].
    fn energies(&self) -> Vec<(&'static str, f64)>;
    /// Names of grips, what pulls each [N] and how far it has moved [m].
    fn grips(&self) -> Vec<(&str, Vec3, Vec3)>;
    /// Counts of its own kind, for statistics.
    fn own_counts(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
    /// Root mean square of its speed [m/s].
    fn speed(&self) -> f64;
    /// Pairs that have passed through each other, of the cloth with itself and with bodies; since it was last asked, if they can be told only from before and after.
    fn crossings(&mut self) -> usize;
    /// A frame for the cache; `last` is the topology of the one before.
    fn frame(&self, index: u32, last: Option<&Arc<Topology>>) -> Frame;
    /// Its state.
    fn state(&self) -> StateRef<'_>;
    /// Goes on from a state of the same scene; false if it is of another kind.
    fn restore(&mut self, state: State) -> bool;
    /// Adds a grip that takes hold later, between two steps.
    fn take(&mut self, grip: Grip);
    /// Name of the grip that holds a node now.
    fn holder(&self, node: u32) -> Option<&str>;
    /// Adds a keyframe after all others of a grip.
    fn steer(&mut self, grip: &str, key: Key);
    /// Tells a grip when to let go [s].
    fn let_go(&mut self, grip: &str, time: f64);
    /// Adds a body, to arrive at its time.
    fn add_body(&mut self, spec: BodySpec) -> Result<(), BodyError>;
    /// Lets another wind blow from a time on [s, m/s].
    fn shift_wind(&mut self, time: f64, velocity: Vec3);
    /// Cuts along a line on the material [m] at a time [s].
    fn cut(&mut self, time: f64, path: Vec<Vec2>);
    /// The stretches of a line in the world [m] that lie within an edge of the cloth, as lines on the material [m].
    fn trace(&self, path: &[Vec3]) -> Vec<Vec<Vec2>>;
    /// The sheet itself, if it is one.
    fn into_sheet(self: Box<Self>) -> Option<Simulation> {
        None
    }
    /// The sheet, if it is one.
    fn sheet(&self) -> Option<&Simulation> {
        None
    }
    /// The woven cloth, if it is one.
    fn woven(&self) -> Option<&Weaving> {
        None
    }
}
