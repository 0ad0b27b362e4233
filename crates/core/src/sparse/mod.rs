//! Sparse symmetric systems of 3×3 blocks, one row per node, and how they are solved.
//!
//! A [`Pattern`] says which nodes pull at each other, every row sorted by column; it follows edits row by row, and is a function of
//! the elements, not of how the state was reached. A [`BlockMatrix`] has a block for each pair, in single precision. [`Conjugate`]
//! solves by preconditioned conjugate gradients; [`Preconditioner`] is what it is preconditioned by, see there for the choice.

mod conjugate;
mod dense;
mod grids;
mod matrix;
mod precondition;

pub use conjugate::{Conjugate, Coupling, Solved};
pub use matrix::{Block, BlockMatrix, Pattern, Rows, TRANSPOSED};
pub use precondition::{Preconditioner, PreconditionerKind};
