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
mod through;
pub mod tip;

pub use cut::{FINEST, Patch, cut, cut_around, trace, trace_on};
pub use halve::Halve;
pub use onward::Onward;
pub(crate) use path::way;
pub use path::{nearest as nearest_node, nearest_on_line, open_path};
pub use plane::Plane;
pub use snap::Snap;
pub use through::Through;

use crate::cloth::Cloth;
use crate::math::Vec2;
use crate::tear::Part;
use ripstop_mesh::{Change, ChangeLog, CornerId, EdgeId, Mesh, NodeId};
use smallvec::SmallVec;

/// The edges that one opening opens: two inside, one on the border, seldom more.
type Edges = SmallVec<[EdgeId; 4]>;

/// What an opening chooses to do, as numbers.
pub type Choice = [u64; 3];

/// A way to open the mesh.
pub trait Opening: Send + Sync {
    /// Name in scenes.
    fn name(&self) -> &'static str;

    /// True if [`open`](Self::open) would change the mesh: what can't be opened is not asked for again and again.
    fn can_open(&self, cloth: &Cloth, part: &Part) -> bool;

    /// Edits `cloth.mesh` so that it parts where and as asked. Leaves it as it is where there is nothing to part.
    fn open(&self, cloth: &mut Cloth, part: &Part, log: &mut ChangeLog);

    /// What [`open`](Self::open) would do: as long as this is the same, and nothing around is edited, it opens the same. `None` if that isn't known without trying.
    fn choice(&self, _cloth: &Cloth, _part: &Part) -> Option<Choice> {
        None
    }

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

/// What divided triangles may become.
#[derive(Clone, Copy, Debug)]
struct Shape {
    /// Cosine of the smallest angle.
    least_angle: f64,
    /// Shortest edge [m].
    least_length: f64,
}

/// Smallest angle that a split may leave [degrees]: that of a right-angled isosceles triangle split twice, by a little.
const LEAST_ANGLE: f64 = 10.0;
/// Shortest edge over the mean edge of the cloth as it was at the start.
const LEAST_SHARE: f64 = 0.35;

impl Shape {
    /// For a cloth as it is at the start.
    fn of(cloth: &Cloth) -> Self {
        let least_angle = crate::math::sin_cos(LEAST_ANGLE.to_radians()).1;
        Self { least_angle, least_length: LEAST_SHARE * cloth.mean_edge() }
    }

    /// The same for edges of this length [m].
    fn finer(self, edge: f64) -> Self {
        Self { least_length: LEAST_SHARE * edge, ..self }
    }

    /// True if an edge may be divided at this share of its length.
    fn may_split(&self, mesh: &Mesh, e: EdgeId, at: f64) -> bool {
        let c = mesh.edge_corner(e);
        let well_shaped = |(c, at): (CornerId, f64)| {
            let [a, b, o] = [c, c.next(), c.prev()].map(|c| mesh.uv(c));
            let m = a.lerp(b, at);
            let sharp = largest_cosine([a, m, o]).max(largest_cosine([m, b, o])) > self.least_angle;
            !sharp && m.distance(o) >= self.least_length
        };
        let mut sides = [Some((c, at)), mesh.twin(c).map(|d| (d, 1.0 - at))].into_iter().flatten();
        at.min(1.0 - at) * mesh.edge_length(e) >= self.least_length && sides.all(well_shaped)
    }

    /// True if no face at a node gets a smaller angle than it may by moving the node to `uv`, unless it has a smaller one already.
    fn may_move(&self, mesh: &Mesh, n: NodeId, uv: Vec2) -> bool {
        mesh.fan(n).all(|c| {
            let was = [c, c.next(), c.prev()].map(|c| mesh.uv(c));
            let short = [was[1], was[2]].into_iter().map(|p| (p.distance(uv), p.distance(was[0])));
            largest_cosine([uv, was[1], was[2]]) <= self.least_angle.max(largest_cosine(was))
                && short.into_iter().all(|(is, was)| is >= self.least_length.min(was))
        })
    }
}

/// Cosine of a triangle's smallest angle.
fn largest_cosine(p: [Vec2; 3]) -> f64 {
    let cosine = |k: usize| {
        let (a, b) = (p[(k + 1) % 3] - p[k], p[(k + 2) % 3] - p[k]);
        a.dot(b) / (a.length() * b.length())
    };
    (0..3).map(cosine).fold(-1.0, f64::max)
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
