//! A triangle mesh that can be split and torn.
//!
//! A half-edge is a corner: `corner = 3·face + k`, running from its own node to the node of the next corner, so
//! next, previous and face are arithmetic ([`Mesh`]). Six verbs change the mesh ([`Mesh::split_edge`],
//! [`Mesh::split_face`], [`Mesh::open_edge`], [`Mesh::relocate`], [`Mesh::flip_edge`], [`Mesh::merge`]); each appends to a [`ChangeLog`] what it did, and every table that
//! holds per-element values follows that log. An id stays valid for the whole run and is never given twice: editing appends,
//! and what a merge takes away is retired ([`Retired`]).
//!
//! This crate knows nothing of mass, force, files or threads.

mod change;
mod check;
mod column;
mod edit;
pub mod generate;
mod id;
mod marks;
mod merge;
mod mesh;
mod patch;
mod pieces;

pub use change::{Change, ChangeLog};
pub use check::{Invalid, MeshError};
pub use column::Column;
pub use edit::{LEAST_HEIGHT, barycentric, height_share};
pub use id::{CornerId, EdgeId, FaceId, Id, NodeId};
pub use marks::Marks;
pub use merge::Merged;
pub use mesh::{Fan, Ids, Mesh, Retired};
pub use patch::Patch;
pub use pieces::{Pieces, pieces};

/// Material coordinates and other plane vectors [m]: weft = x = u, warp = y = v.
pub type Vec2 = glam::DVec2;
