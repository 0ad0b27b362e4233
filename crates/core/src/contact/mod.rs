//! Contact: what keeps things from passing through each other.
//!
//! [`ccd`] says when moving corners first meet, [`distance`] which points of two things are nearest.

pub mod ccd;
pub mod distance;
