#![doc = include_str!("../../../README.md")]
//! # The engine
//!
//! A [`Simulation`] owns a [`Cloth`] and advances it by [`Simulation::step`], a short list of stages. Models hand
//! integrators [`potential::Potential`]s; criteria look at [`tear::Fields`] and answer with [`tear::Request`]s; one
//! resolver turns those into edits of the mesh, and every table follows the edit log.
//!
//! Everything is in SI units. The same input gives the same bits on every machine and for any number of threads.
//! This crate reads no files, prints nothing and looks at no clock.

pub mod body;
pub mod cloth;
pub mod contact;
pub mod criterion;
pub mod fabric;
pub mod grip;
pub mod integrator;
mod keyframe;
pub mod lanes;
pub mod lists;
pub mod math;
pub mod model;
pub mod opening;
pub mod parallel;
pub mod plastic;
pub mod potential;
pub mod sets;
pub mod simulation;
pub mod sparse;
mod team;
pub mod tear;
pub mod wind;
pub mod yarn;

pub use body::{Bodies, Pose};
pub use cloth::{Cloth, Placement};
pub use fabric::Fabric;
pub use grip::{Grip, Key};
pub use math::{Quat, Vec2, Vec3};
pub use ripstop_mesh as mesh;
pub use simulation::{Simulation, Snapshot, SnapshotRef, Stage, StepError, Watch};
