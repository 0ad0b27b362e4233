//! Sparse symmetric systems of 3×3 blocks, one row per node, and how they are solved.
//!
//! A [`Pattern`] collects which nodes pull at each other; a [`BlockMatrix`] has a block for each such pair, every row sorted by
//! column. So its order is a function of the elements and not of how the state was reached. [`Conjugate`] solves by
//! preconditioned conjugate gradients; [`Preconditioner`] is what it is preconditioned by, see there for the choice.

mod conjugate;
mod dense;
mod grids;
mod matrix;
mod precondition;

pub use conjugate::{Conjugate, Solved};
use matrix::RoundMatrix;
pub use matrix::{BlockMatrix, Pattern};
pub use precondition::{Preconditioner, PreconditionerKind};
