//! What is counted while a run goes on: the raw material of summaries and expectations. Part of a checkpoint.

use crate::engine::{Effort, Engine, Moment, Start, Torn};
use ripstop::Vec3;
use ripstop::contact::Report;
use serde::{Deserialize, Serialize};

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
