//! Scenes as TOML files, their runs, and what runs write.
//!
//! [`Parts::read`](variant::Parts::read) reads a file, [`Part::build`](variant::Part::build) checks it and makes the simulation, [`run::run`] steps it and
//! writes caches, events, statistics and a summary, against which [`expect`] holds what the scene promises.

#![allow(rustdoc::broken_intra_doc_links)] // Units are written in brackets.

mod body;
pub mod cache;
mod checkpoint;
pub mod curve;
pub mod engine;
mod error;
pub mod expect;
pub mod export;
pub mod fabric;
pub mod file;
pub mod inline;
pub mod keep;
pub mod live;

mod load;
mod obj;
mod range;
pub mod run;
mod seam;
mod source;
pub mod standards;
mod summary;
pub mod tally;
mod validate;
pub mod variant;
pub mod verify;
pub mod whole;
pub mod woven;

pub use error::SceneError;
pub use file::Scene;
pub use load::Built;
pub use summary::{Outcome, Summary};
