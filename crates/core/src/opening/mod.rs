//! Openings: what the mesh does where cloth parts.
//!
//! An opening is given a node and the pull there, and edits the mesh along the line across the pull. Any opening
//! works with any criterion.
//!
//! To add one: a file here with an `impl Opening`, and its arm in the scene reader.

mod path;
mod plane;
mod snap;

pub use path::{nearest as nearest_node, open_path};
pub(crate) use path::{nearest_on_line, way};
pub use plane::Plane;
pub use snap::Snap;

use crate::math::Vec2;
use ripstop_mesh::{ChangeLog, CornerId, EdgeId, Mesh, NodeId};
use smallvec::SmallVec;

/// The edges that one opening opens: two inside, one on the border, seldom more.
type Edges = SmallVec<[EdgeId; 4]>;

/// A way to open the mesh.
pub trait Opening: Send {
    /// Name in scenes.
    fn name(&self) -> &'static str;

    /// True if [`open`](Self::open) would change the mesh: what can't be opened is not asked for again and again.
    fn can_open(&self, mesh: &Mesh, node: NodeId, pull: Vec2) -> bool;

    /// Parts the cloth at `node` across `pull` (unit, in the material). Leaves the mesh as it is where there is nothing to
    /// part.
    fn open(&self, mesh: &mut Mesh, node: NodeId, pull: Vec2, log: &mut ChangeLog);
}

/// Direction from a node to the middle of its corner's face, in the material.
fn towards_face(mesh: &Mesh, c: CornerId) -> Vec2 {
    let [a, b, d] = [c, c.next(), c.prev()].map(|c| mesh.uv(c));
    ((b + d) * 0.5 - a).normalize_or_zero()
}
