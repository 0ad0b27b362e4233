//! Openings: what the mesh does where cloth parts.
//!
//! An opening is given a node and the pull there, and edits the mesh along the line across the pull. Any opening
//! works with any criterion.
//!
//! To add one: a file here with an `impl Opening`, and its arm in the scene reader.

pub mod cut;
mod halve;
mod onward;
mod path;
mod plane;
mod snap;

pub use cut::{FINEST, cut, trace};
pub use halve::Halve;
pub use onward::Onward;
pub use path::{nearest as nearest_node, open_path};
pub(crate) use path::{nearest_on_line, way};
pub use plane::Plane;
pub use snap::Snap;

use crate::cloth::Cloth;
use crate::math::Vec2;
use crate::tear::Part;
use ripstop_mesh::{Change, ChangeLog, CornerId, EdgeId, Mesh};
use smallvec::SmallVec;

/// The edges that one opening opens: two inside, one on the border, seldom more.
type Edges = SmallVec<[EdgeId; 4]>;

/// A way to open the mesh.
pub trait Opening: Send {
    /// Name in scenes.
    fn name(&self) -> &'static str;

    /// True if [`open`](Self::open) would change the mesh: what can't be opened is not asked for again and again.
    fn can_open(&self, cloth: &Cloth, part: &Part) -> bool;

    /// Edits `cloth.mesh` so that it parts where and as asked. Leaves it as it is where there is nothing to part.
    fn open(&self, cloth: &mut Cloth, part: &Part, log: &mut ChangeLog);

    /// Moves nodes of the changes in `log`, which the cloth has followed by now, so that what has just parted doesn't at once
    /// part again. May not add energy.
    fn ease(&self, _cloth: &mut Cloth, _part: &Part, _log: &[Change]) {}
}

/// Opens these edges.
fn open_all(cloth: &mut Cloth, edges: Edges, log: &mut ChangeLog) {
    for e in edges {
        cloth.mesh.open_edge(e, log);
    }
}

/// Direction from a node to the middle of its corner's face, in the material.
fn towards_face(mesh: &Mesh, c: CornerId) -> Vec2 {
    let [a, b, d] = [c, c.next(), c.prev()].map(|c| mesh.uv(c));
    ((b + d) * 0.5 - a).normalize_or_zero()
}

/// A flat sheet, for tests.
#[cfg(test)]
fn sheet(mesh: Mesh) -> Cloth {
    Cloth::flat(mesh, 0.2, crate::cloth::Placement::default())
}
