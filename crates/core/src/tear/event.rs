//! What is told of a tear.

use super::Request;
use crate::cloth::Cloth;
use crate::math::{Vec2, Vec3, atan2};
use ripstop_mesh::{Change, EdgeId, NodeId};

/// Why an edge opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The load passed the resistance.
    Load {
        /// By this criterion.
        criterion: &'static str,
    },
    /// By hand, or by a program.
    Hand,
    /// A seam came undone.
    Seam {
        /// Number of the seam.
        seam: u32,
        /// What undid it.
        reason: SeamReason,
    },
}

/// What undoes a seam.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeamReason {
    /// The load passed its resistance.
    Load,
    /// Its time had come.
    Time,
    /// It is being unpicked.
    Unpick,
}

/// One edge that opened. Events count changes of the mesh, not requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// When [s]: the end of the step, or the instant within it.
    pub time: f64,
    /// Step in which it happened, from zero.
    pub step: u64,
    /// The edge that opened.
    pub edge: EdgeId,
    /// Its other lip.
    pub lip: EdgeId,
    /// Node at which the cloth parted; for a tear by hand the tail of the edge.
    pub node: NodeId,
    /// Middle of the edge in the material [m].
    pub uv: Vec2,
    /// Middle of the edge in the world [m].
    pub place: Vec3,
    /// Direction of the opened edge in the world (unit).
    pub direction: Vec3,
    /// Direction of the opened edge in the material: angle from weft (u) [rad], in [0, π).
    pub angle: f64,
    /// Rest length of the edge [m].
    pub length: f64,
    /// Load over resistance; infinite by hand.
    pub ratio: f64,
    /// Seam that the edge was a stitch of, whatever opened it.
    pub seam: Option<u32>,
    /// Why.
    pub cause: Cause,
}

/// Adds an event for every edge that `log` opened. Time and step are filled in by the stepper.
pub(super) fn describe(cloth: &Cloth, log: &[Change], cause: Cause, request: &Request, events: &mut Vec<Event>) {
    // Nodes that this log made have no position yet; they are where the node they were copied from is.
    let at = |n: NodeId| {
        let source = log.iter().rev().fold(n, |n, change| match *change {
            Change::NodeSplit { node, copy } if copy == n => node,
            _ => n,
        });
        cloth.x.get(source.0 as usize).copied().unwrap_or_default()
    };
    for change in log {
        let Change::EdgeOpened { edge, lip } = *change else { continue };
        let c = cloth.mesh.edge_corner(edge);
        let [a, b] = [cloth.mesh.uv(c), cloth.mesh.uv(c.next())];
        let [tail, head] = cloth.mesh.edge_nodes(edge);
        let (along, world) = (b - a, at(head) - at(tail));
        let angle = atan2(along.y, along.x);
        let half_turn = std::f64::consts::PI;
        events.push(Event {
            time: 0.0,
            step: 0,
            edge,
            lip,
            node: if let Request::Part { node, .. } = request { *node } else { tail },
            uv: (a + b) * 0.5,
            place: (at(tail) + at(head)) * 0.5,
            direction: world.normalize_or_zero(),
            angle: if angle < 0.0 {
                angle + half_turn
            } else if angle >= half_turn {
                angle - half_turn
            } else {
                angle
            },
            length: along.length(),
            ratio: request.ratio(),
            seam: cloth.seams.of(edge),
            cause,
        });
    }
}
