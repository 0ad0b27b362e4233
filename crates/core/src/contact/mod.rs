//! Contact: what keeps things from passing through each other.
//!
//! [`ccd`] says when moving corners first meet, [`distance`] which points of two things are nearest, [`crossing`] which faces have passed through each other.

pub mod ccd;
pub mod crossing;
pub mod distance;
