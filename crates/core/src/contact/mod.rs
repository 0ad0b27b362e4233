//! Contact: what keeps things from passing through each other.
//!
//! [`ccd`] says when moving corners first meet.

pub mod ccd;
