//! Holds and grips: nodes that stay put or are moved by hand, until let go.

use crate::cloth::Cloth;
use crate::keyframe;
use crate::math::{Vec3, rotate};
use ripstop_mesh::{Change, NodeId};
use serde::{Deserialize, Serialize};

/// Where a grip is at a time, relative to where it took hold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Key {
    /// Time [s].
    pub time: f64,
    /// Displacement [m].
    pub shift: Vec3,
    /// Turn about the grip's middle: axis times angle [rad].
    pub turn: Vec3,
}

impl Key {
    /// Displacement and turn at a time, between keyframes in order of time; none without keyframes.
    pub fn at(keys: &[Self], time: f64) -> Self {
        let still = Self { time, shift: Vec3::ZERO, turn: Vec3::ZERO };
        keyframe::around(keys, time, |key| key.time).map_or(still, |(a, b, s)| Self {
            time,
            shift: a.shift.lerp(b.shift, s),
            turn: a.turn.lerp(b.turn, s),
        })
    }
}

/// Adds to held nodes, each with a point that goes along with it, what an edit split off them or put between them; takes off what it took away.
pub(crate) fn follow(nodes: &mut Vec<(NodeId, Vec3)>, change: &Change) {
    let point = |n: NodeId| nodes.iter().find(|&&(held, _)| held == n).map(|&(_, at)| at);
    let mixed = |from: &[(NodeId, f64)]| from.iter().map(|&(n, w)| point(n).map(|at| at * w)).sum::<Option<Vec3>>();
    let (node, at) = match *change {
        Change::NodeSplit { node, copy } => (copy, point(node)),
        Change::EdgeSplit { tail, head, at, node, .. } => (node, mixed(&[(tail, 1.0 - at), (head, at)])),
        Change::FaceSplit { corners, at, node, .. } => {
            (node, mixed(&[(corners[0], at[0]), (corners[1], at[1]), (corners[2], at[2])]))
        }
        Change::NodeMerged { node, .. } => return nodes.retain(|(held, _)| *held != node),
        Change::EdgeOpened { .. } | Change::NodeMoved { .. } | Change::EdgeFlipped { .. } => return,
    };
    nodes.extend(at.map(|at| (node, at)));
}

/// A set of nodes that move together by keyframes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grip {
    /// Name in results.
    pub name: String,
    /// Keyframes in order of time; linear between, constant outside. Empty: holds still.
    pub keys: Vec<Key>,
    /// Time at which it takes hold [s]; from the start if none.
    pub from: Option<f64>,
    /// Time at which it lets go [s].
    pub release: Option<f64>,
    /// Gripped nodes and where each was when gripped.
    nodes: Vec<(NodeId, Vec3)>,
    /// Point the grip turns about: the mean of its nodes when gripped.
    middle: Vec3,
    /// Force that the cloth exerts on the grip [N], at the end of the last step.
    pub load: Vec3,
    state: Holding,
}

/// What a grip does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Holding {
    /// It takes hold later, of the nodes that have its numbers then.
    WaitsForNumbers,
    /// It takes hold later, of its nodes and of what is split off them until then.
    Waits,
    Holds,
    Released,
}

impl Grip {
    /// A grip that holds `nodes` where they are now.
    pub fn still(name: impl Into<String>, nodes: &[NodeId], cloth: &Cloth) -> Self {
        Self::moving(name, nodes, cloth, Vec::new())
    }

    /// A grip that moves `nodes` by keyframes.
    pub fn moving(name: impl Into<String>, nodes: &[NodeId], cloth: &Cloth, keys: Vec<Key>) -> Self {
        let nodes: Vec<_> = nodes.iter().map(|&n| (n, cloth.x[n])).collect();
        let middle = nodes.iter().map(|&(_, x)| x).sum::<Vec3>() / nodes.len().max(1) as f64;
        let (load, state) = (Vec3::ZERO, Holding::Holds);
        Self { name: name.into(), keys, from: None, release: None, nodes, middle, load, state }
    }

    /// The same, but it takes hold at `time` [s], of its nodes where they are then and of what was split off them; nodes that something holds already are left out.
    pub fn since(mut self, time: f64) -> Self {
        (self.from, self.state) = (Some(time), Holding::Waits);
        self
    }

    /// A grip that takes hold at `time` [s] of the nodes that have these numbers then: some may not be there yet.
    pub fn of_numbers(name: impl Into<String>, nodes: &[NodeId], keys: Vec<Key>, time: f64) -> Self {
        let nodes = nodes.iter().map(|&n| (n, Vec3::ZERO)).collect();
        let (from, state) = (Some(time), Holding::WaitsForNumbers);
        Self { name: name.into(), keys, from, release: None, nodes, middle: Vec3::ZERO, load: Vec3::ZERO, state }
    }

    /// Lets go at `time` [s].
    pub fn until(mut self, time: f64) -> Self {
        self.release = Some(time);
        self
    }

    /// Displacement and turn at a time.
    pub fn key(&self, time: f64) -> Key {
        Key::at(&self.keys, time)
    }

    /// Where its middle is at a time [m].
    pub fn middle(&self, time: f64) -> Vec3 {
        self.middle + self.key(time).shift
    }

    /// Nodes it holds now.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        let held = if self.holds() { &self.nodes[..] } else { &[] };
        held.iter().map(|&(n, _)| n)
    }

    /// Nodes it holds, or is to hold later.
    pub fn wanted(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.nodes.iter().map(|&(n, _)| n)
    }

    /// Nodes that it keeps for itself now: those it holds, or waits for. Which ones those are that it will know by their numbers alone, as one that is taken hold of while a scene is played with,
    /// nobody could know before.
    pub(crate) fn keeps(&self) -> impl Iterator<Item = NodeId> + '_ {
        let kept = if matches!(self.state, Holding::Holds | Holding::Waits) { &self.nodes[..] } else { &[] };
        kept.iter().map(|&(n, _)| n)
    }

    /// True while it holds.
    pub fn holds(&self) -> bool {
        self.state == Holding::Holds
    }

    /// True once it has let go.
    pub fn is_released(&self) -> bool {
        self.state == Holding::Released
    }

    /// Takes hold where it is to hold from the start: called once when the simulation is built.
    pub(crate) fn take(&self, number: usize, cloth: &mut Cloth) {
        self.nodes().for_each(|n| cloth.hold(n, Some(number)));
    }

    /// Takes hold later, of nodes as they are now.
    fn take_late(&mut self, number: usize, cloth: &mut Cloth) {
        let there = |n: NodeId| (n.0 as usize) < cloth.mesh.node_count() && !cloth.mesh.is_retired_node(n);
        let free = |n: NodeId| there(n) && !cloth.is_held(n);
        self.nodes.retain(|&(n, _)| free(n));
        self.nodes.iter_mut().for_each(|(n, at)| *at = cloth.x[*n]);
        self.middle = self.nodes.iter().map(|&(_, at)| at).sum::<Vec3>() / self.nodes.len().max(1) as f64;
        self.state = Holding::Holds;
        self.take(number, cloth);
    }

    /// Gives its nodes the velocity that brings them where they should be at `time + h`; takes hold, as the grip with this `number`, or lets go.
    pub(crate) fn drive(&mut self, number: usize, cloth: &mut Cloth, time: f64, h: f64) {
        // Half a step of slack: what is due at a multiple of the step happens in that step whatever the rounding.
        let due = |at: Option<f64>| at.is_some_and(|at| time + 0.5 * h >= at);
        match self.state {
            Holding::Released => return,
            _ if due(self.release) => {
                self.nodes().for_each(|n| cloth.hold(n, None));
                (self.state, self.load) = (Holding::Released, Vec3::ZERO);
                return;
            }
            Holding::Holds => {}
            _ if due(self.from) => self.take_late(number, cloth),
            _ => return,
        }
        let key = self.key(time + h);
        let angle = key.turn.length();
        for &(n, at) in &self.nodes {
            let arm = at - self.middle;
            let arm = if angle > 0.0 { rotate(arm, key.turn / angle, angle) } else { arm };
            cloth.v[n] = (self.middle + arm + key.shift - cloth.x[n]) / h;
        }
    }

    /// Nodes that were split off held ones, or lie between them, are held too.
    pub(crate) fn follow(&mut self, change: &Change) {
        if self.state != Holding::WaitsForNumbers {
            follow(&mut self.nodes, change);
        }
    }

    /// Records the load from the forces on all nodes.
    pub(crate) fn weigh(&mut self, force: &[Vec3]) {
        self.load = self.nodes().map(|n| force[n.0 as usize]).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use ripstop_mesh::{Vec2, generate};

    #[test]
    fn nodes_arrive_where_the_key_says() {
        let mut cloth = Cloth::flat(generate::grid(Vec2::ONE, [3, 3]).unwrap(), 0.2, Placement::default());
        let nodes = [NodeId(0), NodeId(2)];
        let key = |time, shift, turn| Key { time, shift, turn };
        let keys = vec![key(0.0, Vec3::ZERO, Vec3::ZERO), key(1.0, Vec3::Z, Vec3::Z * std::f64::consts::PI)];
        let mut grip = Grip::moving("hand", &nodes, &cloth, keys);
        grip.take(0, &mut cloth);
        let h = 0.01;
        for i in 0..100 {
            grip.drive(0, &mut cloth, f64::from(i) * h, h);
            for n in nodes {
                let v = cloth.v[n];
                cloth.x[n] += v * h;
            }
        }
        // Half a turn about the middle of (0,0,0) and (1,0,0), and one metre forward.
        assert!((cloth.x[nodes[0]] - Vec3::new(1.0, 0.0, 1.0)).length() < 1e-12);
        assert!((cloth.x[nodes[1]] - Vec3::new(0.0, 0.0, 1.0)).length() < 1e-12);
    }

    #[test]
    fn a_node_between_held_ones_is_held() {
        let mut cloth = Cloth::flat(generate::grid(Vec2::ONE, [3, 3]).unwrap(), 0.2, Placement::default());
        let mut grip = Grip::still("hand", &[NodeId(0), NodeId(1)], &cloth);
        grip.take(0, &mut cloth);
        let edge = cloth.mesh.edges().find(|&e| cloth.mesh.edge_nodes(e) == [NodeId(0), NodeId(1)]).unwrap();
        let mut log = Vec::new();
        let node = cloth.mesh.split_edge(edge, 0.25, &mut log);
        cloth.follow(&log);
        log.iter().for_each(|change| grip.follow(change));
        assert!(cloth.is_held(node) && grip.nodes().any(|n| n == node));
        grip.drive(0, &mut cloth, 0.0, 0.01);
        assert!(cloth.v[node].length() < 1e-12, "it stays where it is");
    }

    #[test]
    fn a_late_grip_takes_nodes_where_they_are_then() {
        let mut cloth = Cloth::flat(generate::grid(Vec2::ONE, [3, 3]).unwrap(), 0.2, Placement::default());
        let early = Grip::still("early", &[NodeId(0)], &cloth);
        early.take(0, &mut cloth);
        let beside = Grip::of_numbers("late", &[NodeId(0), NodeId(4), NodeId(99)], Vec::new(), 0.5);
        let mut late = beside.until(0.8);
        late.drive(1, &mut cloth, 0.48, 0.01);
        assert!(!late.holds() && late.nodes().count() == 0 && !cloth.is_held(NodeId(4)));
        cloth.x[NodeId(4)] += Vec3::Z;
        late.drive(1, &mut cloth, 0.5, 0.01);
        assert_eq!(late.nodes().collect::<Vec<_>>(), [NodeId(4)], "neither what is held nor what isn't there");
        assert!(late.middle(0.5).z > 0.9 && cloth.v[NodeId(4)].length() < 1e-12, "it stays where it was taken");
        late.drive(1, &mut cloth, 0.8, 0.01);
        assert!(late.is_released() && !cloth.is_held(NodeId(4)) && cloth.is_held(NodeId(0)));
    }

    #[test]
    fn letting_go_frees_the_nodes() {
        let mut cloth = Cloth::flat(generate::grid(Vec2::ONE, [3, 3]).unwrap(), 0.2, Placement::default());
        let mut grip = Grip::still("hand", &[NodeId(4)], &cloth).until(0.5);
        grip.take(0, &mut cloth);
        grip.drive(0, &mut cloth, 0.49, 0.01);
        assert!(cloth.is_held(NodeId(4)));
        grip.drive(0, &mut cloth, 0.5, 0.01);
        assert!(!cloth.is_held(NodeId(4)) && cloth.inverse_mass[NodeId(4)] > 0.0);
        assert_eq!(grip.nodes().count(), 0);
    }
}
