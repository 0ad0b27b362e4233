//! What is told of a tear.

use super::Request;
use crate::cloth::Cloth;
use crate::math::{Vec2, Vec3, atan2};
use crate::opening::tip::Tip;
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
    /// By a sharp edge of a body.
    Cut {
        /// Number of the body.
        body: u32,
    },
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

/// One edge that opened, or what a slit has become longer by at its tip. Events count changes of the mesh, not requests.
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
    /// Tip that went along the edge.
    pub tip: Option<u32>,
    /// Why.
    pub cause: Cause,
}

/// Where a node is, or will be if `log` moves it. Those that `log` made have no position yet: they are where the node they were copied from is, or on the edge or face
/// they were made in.
fn place(cloth: &Cloth, log: &[Change], n: NodeId) -> Vec3 {
    if let Some(x) = cloth.x.get(n.0 as usize) {
        let moved = log.iter().find_map(|change| match *change {
            Change::NodeMoved { node, corners, at } if node == n => {
                Some(corners.iter().zip(at).map(|(&corner, share)| cloth.x[corner] * share).sum())
            }
            _ => None,
        });
        return moved.unwrap_or(*x);
    }
    let at = |n: NodeId| place(cloth, log, n);
    let made = log.iter().find_map(|change| match *change {
        Change::NodeSplit { node, copy } if copy == n => Some(at(node)),
        Change::EdgeSplit { tail, head, at: share, node, .. } if node == n => Some(at(tail).lerp(at(head), share)),
        Change::FaceSplit { corners, at: shares, node, .. } if node == n => {
            Some(corners.into_iter().zip(shares).map(|(corner, share)| at(corner) * share).sum())
        }
        _ => None,
    });
    made.unwrap_or_default()
}

/// Adds an event for what a slit has become longer by since its tip was at `was`, in the material and in the world [m]. Where the edge at the tip opened in this step, its event, one of those from
/// `first` on, tells of it as it is now.
pub(crate) fn follow_tip(
    cloth: &Cloth,
    tip: &Tip,
    was: (Vec2, Vec3),
    cause: Cause,
    (first, events): (usize, &mut Vec<Event>),
) {
    let [edge, lip] = tip.lips;
    let own = events[first..].iter_mut().find(|event| tip.lips.contains(&event.edge) || tip.lips.contains(&event.lip));
    let ends = cloth.mesh.edge_nodes(edge);
    let behind = ends.into_iter().find(|&n| n != tip.node).unwrap_or(tip.node);
    let (from, x) = if own.is_some() { (tip.back, cloth.x[behind]) } else { was };
    let (along, world) = (tip.at - from, cloth.x[tip.node] - x);
    if own.is_none() && along.dot(tip.along()) <= 0.0 {
        return;
    }
    let event = Event {
        time: 0.0,
        step: 0,
        edge,
        lip,
        node: tip.node,
        uv: (tip.at + from) * 0.5,
        place: (cloth.x[tip.node] + x) * 0.5,
        direction: world.normalize_or_zero(),
        angle: half_turn(along),
        length: along.length(),
        ratio: f64::INFINITY,
        seam: None,
        tip: None,
        cause,
    };
    match own {
        Some(own) => *own = event,
        None => events.push(event),
    }
}

/// Angle of a direction of the material from weft [rad], in [0, π).
fn half_turn(along: Vec2) -> f64 {
    let (angle, half_turn) = (atan2(along.y, along.x), std::f64::consts::PI);
    if angle < 0.0 {
        angle + half_turn
    } else if angle >= half_turn {
        angle - half_turn
    } else {
        angle
    }
}

/// Adds an event for every edge that `log` opened. Time, step and tip are filled in by the stepper.
pub(super) fn describe(cloth: &Cloth, log: &[Change], cause: Cause, request: &Request, events: &mut Vec<Event>) {
    let at = |n: NodeId| place(cloth, log, n);
    for change in log {
        let Change::EdgeOpened { edge, lip } = *change else { continue };
        let c = cloth.mesh.edge_corner(edge);
        let [a, b] = [cloth.mesh.uv(c), cloth.mesh.uv(c.next())];
        let [tail, head] = cloth.mesh.edge_nodes(edge);
        let (along, world) = (b - a, at(head) - at(tail));
        events.push(Event {
            time: 0.0,
            step: 0,
            edge,
            lip,
            node: if let Request::Part(part) = request { part.node } else { tail },
            uv: (a + b) * 0.5,
            place: (at(tail) + at(head)) * 0.5,
            direction: world.normalize_or_zero(),
            angle: half_turn(along),
            length: along.length(),
            ratio: request.ratio(),
            seam: cloth.seams.of(edge),
            tip: None,
            cause,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use ripstop_mesh::{ChangeLog, generate};

    #[test]
    fn events_of_split_edges_are_where_the_cloth_is() {
        let mut cloth = Cloth::flat(generate::grid(Vec2::ONE, [3, 3]).unwrap(), 0.2, Placement::default());
        cloth.x.iter_mut().for_each(|x| *x += Vec3::Z);
        let part = super::super::Part { node: NodeId(4), pull: Vec2::X, ratio: 1.2 };
        let (mut log, mut events) = (ChangeLog::new(), Vec::new());
        crate::opening::Opening::open(&crate::opening::Halve::of(&cloth), &mut cloth, &part, &mut log);
        describe(&cloth, &log, Cause::Hand, &Request::Part(part), &mut events);
        assert_eq!(events.len(), 2);
        for event in events {
            assert!(event.place.distance(event.uv.extend(1.0)) < 1e-15, "{} for {}", event.place, event.uv);
        }
    }
}
