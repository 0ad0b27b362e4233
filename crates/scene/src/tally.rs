//! What is counted while a run goes on: the raw material of summaries and expectations. Part of a checkpoint.

use crate::engine::{Effort, Engine};
use ripstop::contact::Report;
use ripstop::mesh::{EdgeId, NodeId};
use ripstop::{Cloth, Vec2, Vec3};
use serde::{Deserialize, Serialize};

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

/// Everything counted so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// At the start.
    pub start: Start,
    /// Opened edges in order.
    pub torn: Vec<Torn>,
    /// One entry per frame.
    pub moments: Vec<Moment>,
    /// Largest total strain of an edge at any frame.
    pub largest_strain: f64,
    /// Steps in which the integrator's rounds ended before they reached its tolerance.
    pub unfinished_steps: u64,
    /// The most that was left in such a step, as a share of what there was at its beginning.
    pub largest_residual: f64,
    /// Crossings at all frames, if they are asked for.
    pub crossings: u64,
    /// What contact had to do in all steps.
    pub contact: Report,
    /// Where bodies were at the start [m].
    pub bodies: Vec<Vec3>,
}

impl Tally {
    /// Counts the cloth as it is before the first step.
    pub fn new(engine: &dyn Engine) -> Self {
        Self {
            start: engine.counts(),
            torn: Vec::new(),
            moments: Vec::new(),
            largest_strain: 0.0,
            unfinished_steps: 0,
            largest_residual: 0.0,
            crossings: 0,
            contact: Report::default(),
            bodies: (0..engine.bodies().len()).map(|b| engine.bodies().middle(b)).collect(),
        }
    }

    /// Takes in what happened in a step; gives the lines that tell of what was torn.
    pub fn step(&mut self, engine: &dyn Engine) -> Vec<serde_json::Value> {
        let Effort { residual, contact } = engine.effort();
        if let Some(residual) = residual {
            self.unfinished_steps += 1;
            self.largest_residual = self.largest_residual.max(residual);
        }
        self.contact.add(&contact);
        let (torn, lines): (Vec<_>, Vec<_>) = engine.torn().into_iter().unzip();
        self.torn.extend(torn);
        lines
    }

    /// Takes in the state at a frame. The loads of the grips must have been weighed.
    pub fn frame(&mut self, engine: &dyn Engine) {
        self.largest_strain = self.largest_strain.max(engine.largest_strain());
        self.moments.push(engine.moment(&self.start));
    }

    /// The moment closest to a time.
    pub fn at(&self, time: f64) -> Option<&Moment> {
        self.moments.iter().min_by(|a, b| (a.time - time).abs().total_cmp(&(b.time - time).abs()))
    }
}

/// Middle of a cloth's mass [m].
pub fn middle(cloth: &Cloth) -> Vec3 {
    let nodes = cloth.mesh.nodes();
    nodes.map(|n| cloth.x[n] * cloth.mass[n]).sum::<Vec3>() / cloth.mass.iter().sum::<f64>()
}

/// Distance between the two ends of the line u = middle, over its material length.
pub(crate) fn waist(cloth: &Cloth, spacing: f64) -> f64 {
    let mesh = &cloth.mesh;
    let bounds = mesh.nodes().map(|n| mesh.node_uv(n)).fold((Vec2::MAX, Vec2::MIN), |(a, b), p| (a.min(p), b.max(p)));
    let middle = 0.5 * (bounds.0.x + bounds.1.x);
    let nearest = |v: f64| {
        let off = |n: &NodeId| mesh.node_uv(*n).distance_squared(Vec2::new(middle, v));
        mesh.nodes().min_by(|a, b| off(a).total_cmp(&off(b))).filter(|n| off(n).sqrt() < spacing)
    };
    match (nearest(bounds.0.y), nearest(bounds.1.y)) {
        (Some(a), Some(b)) => cloth.x[a].distance(cloth.x[b]) / mesh.node_uv(a).distance(mesh.node_uv(b)),
        _ => f64::NAN,
    }
}

/// Plastic strain of every edge.
pub fn plastic_strains(cloth: &Cloth) -> impl Iterator<Item = f64> + '_ {
    cloth.mesh.edges().map(|e: EdgeId| cloth.rest[e] / cloth.woven[e] - 1.0)
}
