//! Seams: lines of stitches along which cloth gives way before it tears, or when it is told to.
//!
//! A seam is a chain of edges. It opens along them, exactly, for any of three reasons, whichever comes first:
//!
//! - **load**: where the criterion's load passes the seam's resistance. With the pull p̂ (unit) and n̂ across the seam,
//!   resistance = strength · f / (p̂·n̂)²: the share of a pull that acts across the seam, against a fraction f of the cloth's
//!   strength. It is the cloth that tears, and not the seam, where f / (p̂·n̂)² > 1. A node inside parts with both of its
//!   stitches, a tip with the one ahead, so the seam opens stitch by stitch as load asks, under every criterion and whatever
//!   the opening;
//! - **time**: all of it at `opens_at`, whatever the load;
//! - **unpicking**: from one end to the other while time goes from `from` to `to`, a stitch when half of it is passed.
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | f | `strength` | 1 | strength of the seam over that of the cloth, above 0 and at most 1; none: load doesn't open it |
//! | n̂ | `along.perp()` | 1 | across the line that was drawn, not across the edges, which may wander about it |
//! | | `from`, `to` | 1 | where on the seam a stitch begins and ends, as a share of its length |
//!
//! Stitches are state of the cloth: they follow edits of the mesh (both halves of a divided edge are stitches) and are part of a
//! checkpoint. An edge that has opened, for whatever reason, is no stitch any more.
//!
//! Limits: of the criterion's load only the largest pull counts, so a seam along the larger of two pulls doesn't see the
//! smaller. Two seams with one edge in common: the first has it.

use super::Request;
use super::event::{Cause, Event, SeamReason, describe};
use crate::cloth::Cloth;
use crate::criterion::star;
use crate::math::Vec2;
use crate::opening::{nearest_on_line, way};
use ripstop_mesh::{Change, ChangeLog, Column, EdgeId, Mesh, NodeId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a seam is and when it opens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seam {
    /// Name in results.
    pub name: String,
    /// Strength over that of the cloth, above 0 and at most 1; without it load doesn't open the seam.
    pub strength: Option<f64>,
    /// When all of it opens [s].
    pub opens_at: Option<f64>,
    /// When it is unpicked.
    pub unpick: Option<Unpick>,
}

/// A seam that comes undone along its length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unpick {
    /// When it begins [s].
    pub from: f64,
    /// When it is through [s].
    pub to: f64,
    /// From the end of the line to its beginning.
    #[serde(default)]
    pub reverse: bool,
}

impl Seam {
    /// True if this place of the seam, a share of its length, is to be open at `time` [s], and why.
    fn due(&self, place: f64, time: f64) -> Option<SeamReason> {
        if self.opens_at.is_some_and(|at| at < time) {
            return Some(SeamReason::Time);
        }
        let unpick = self.unpick.filter(|unpick| unpick.from < time)?;
        let passed = (time - unpick.from) / (unpick.to - unpick.from);
        let ahead = if unpick.reverse { 1.0 - place } else { place };
        (ahead < passed || time > unpick.to).then_some(SeamReason::Unpick)
    }
}

/// One edge of a seam that still holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stitch {
    /// Number of its seam.
    pub seam: u32,
    /// Where on the seam its tail is, as a share of the seam's length.
    pub from: f64,
    /// Where its head is.
    pub to: f64,
    /// Direction of the seam there (unit, material).
    pub along: Vec2,
}

/// A step of the way along a seam.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The edge.
    pub edge: EdgeId,
    /// The way goes from its tail to its head.
    pub forward: bool,
    /// Direction of the seam there (unit, material).
    pub along: Vec2,
}

/// The edges closest to a line on the material [m], from its beginning to its end: the same search as for tears by hand.
pub fn steps_along(mesh: &Mesh, path: &[Vec2]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for ends in path.windows(2) {
        let along = (ends[1] - ends[0]).normalize_or_zero();
        steps.extend(way(mesh, ends[0], ends[1]).into_iter().map(|(edge, forward)| Step { edge, forward, along }));
    }
    steps
}

/// The same for a flat sheet that is not in use yet, whose nodes along the way are drawn onto the line as far as their faces
/// stay sound ([`Mesh::slide`]); those in `kept` stay, and the nodes of the way are added to them.
pub fn draw_along(mesh: &mut Mesh, path: &[Vec2], kept: &mut Vec<NodeId>) -> Vec<Step> {
    // Nodes in their places make a straighter way possible, and that one has other nodes.
    for _ in 0..DRAWS {
        let nodes = nodes_of(mesh, &steps_along(mesh, path));
        if draw(mesh, path, &nodes, kept) {
            break;
        }
        make_room(mesh, &nodes, kept);
    }
    let steps = steps_along(mesh, path);
    kept.extend(nodes_of(mesh, &steps));
    steps
}

/// Rounds of drawing a sheet to a line; most are done after two.
const DRAWS: u32 = 8;

/// Moves the neighbours of some nodes to the middle of their own neighbours.
fn make_room(mesh: &mut Mesh, nodes: &[NodeId], kept: &[NodeId]) {
    let ends = |mesh: &Mesh, n: NodeId| star(mesh, n).flat_map(|(e, _)| mesh.edge_nodes(e)).collect::<Vec<_>>();
    let mut beside: Vec<NodeId> = nodes.iter().flat_map(|&n| ends(mesh, n)).collect();
    beside.sort_unstable();
    beside.dedup();
    beside.retain(|n| !nodes.contains(n) && !kept.contains(n) && !mesh.is_border_node(*n));
    for n in beside {
        let spokes: Vec<Vec2> = star(mesh, n).map(|(_, spoke)| spoke).collect();
        let middle = mesh.node_uv(n) + spokes.iter().sum::<Vec2>() / spokes.len() as f64;
        mesh.slide(n, middle);
    }
}

fn nodes_of(mesh: &Mesh, steps: &[Step]) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> = steps.iter().flat_map(|step| mesh.edge_nodes(step.edge)).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// Draws nodes onto a line, as far as their faces stay sound; true if all are on it.
fn draw(mesh: &mut Mesh, path: &[Vec2], nodes: &[NodeId], kept: &[NodeId]) -> bool {
    let far = |mesh: &Mesh, n: NodeId, p: Vec2| mesh.node_uv(n).distance_squared(p);
    let free: Vec<NodeId> = nodes.iter().copied().filter(|n| !kept.contains(n)).collect();
    // Corners of the line have a node of their own.
    let mut places: Vec<(NodeId, Vec2)> = Vec::new();
    for &p in path {
        let nearest = free.iter().copied().min_by(|&a, &b| far(mesh, a, p).total_cmp(&far(mesh, b, p)));
        places.extend(nearest.filter(|n| places.iter().all(|(m, _)| m != n)).map(|n| (n, p)));
    }
    for &n in &free {
        let on = path.windows(2).map(|ends| nearest_on_line(mesh.node_uv(n), ends[0], ends[1]));
        let nearest = on.min_by(|&a, &b| far(mesh, n, a).total_cmp(&far(mesh, n, b)));
        places.extend(nearest.filter(|_| places.iter().all(|(m, _)| *m != n)).map(|p| (n, p)));
    }
    // What had no room at first may have some when its neighbours are in their places.
    for _ in 0..2 {
        for &(n, p) in &places {
            mesh.slide(n, p);
        }
    }
    places.iter().all(|&(n, p)| mesh.node_uv(n) == p)
}

/// Edges in any order as a way from end to end: it begins at the loose end that comes first in the list, or with the first edge
/// if there is none, and goes on with the next chain when one is through.
pub fn steps_of(mesh: &Mesh, edges: &[EdgeId]) -> Vec<Step> {
    let mut left: Vec<EdgeId> = edges.to_vec();
    let mut steps = Vec::new();
    while !left.is_empty() {
        let ends = |n: NodeId| left.iter().filter(|&&e| mesh.edge_nodes(e).contains(&n)).count();
        let loose = left.iter().flat_map(|&e| mesh.edge_nodes(e)).find(|&n| ends(n) == 1);
        let mut at = loose.unwrap_or_else(|| mesh.edge_nodes(left[0])[0]);
        while let Some(i) = left.iter().position(|&e| mesh.edge_nodes(e).contains(&at)) {
            let edge = left.remove(i);
            let [tail, head] = mesh.edge_nodes(edge);
            let c = mesh.edge_corner(edge);
            let along = (mesh.uv(c.next()) - mesh.uv(c)).normalize_or_zero();
            let forward = tail == at;
            steps.push(Step { edge, forward, along });
            at = if forward { head } else { tail };
        }
    }
    steps
}

/// All seams of a cloth.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Seams {
    seams: Vec<Seam>,
    /// Edges that still hold.
    stitches: BTreeMap<EdgeId, Stitch>,
}

impl Seams {
    /// Sews a seam along `steps` and returns how many stitches it has: none on the border, where there is nothing to hold.
    pub fn sew(&mut self, mesh: &Mesh, seam: Seam, steps: &[Step]) -> usize {
        let number = self.seams.len() as u32;
        self.seams.push(seam);
        let length: f64 = steps.iter().map(|step| mesh.edge_length(step.edge)).sum();
        let (before, mut passed) = (self.stitches.len(), 0.0);
        for step in steps {
            let begin = passed / length;
            passed += mesh.edge_length(step.edge);
            let end = passed / length;
            let (from, to) = if step.forward { (begin, end) } else { (end, begin) };
            if !mesh.is_border_edge(step.edge) {
                self.stitches.entry(step.edge).or_insert(Stitch { seam: number, from, to, along: step.along });
            }
        }
        self.stitches.len() - before
    }

    /// The same of some edges, which have other ids there.
    pub(crate) fn patch(&self, edges: &Column<EdgeId, EdgeId>) -> Self {
        let kept = |e: EdgeId| self.stitches.get(&edges[e]).map(|&stitch| (e, stitch));
        Self { seams: self.seams.clone(), stitches: edges.ids().filter_map(kept).collect() }
    }

    /// The seams in the order in which they were sewn.
    pub fn iter(&self) -> impl Iterator<Item = &Seam> {
        self.seams.iter()
    }

    /// The edges that still hold, in order of their ids.
    pub fn stitches(&self) -> impl Iterator<Item = (EdgeId, &Stitch)> {
        self.stitches.iter().map(|(&e, stitch)| (e, stitch))
    }

    /// The seam of an edge, if it is a stitch.
    pub fn of(&self, e: EdgeId) -> Option<u32> {
        self.stitches.get(&e).map(|stitch| stitch.seam)
    }

    /// Strength of a stitch over that of the cloth; none if load doesn't open it.
    pub(super) fn strength(&self, stitch: &Stitch) -> Option<f64> {
        self.seams[stitch.seam as usize].strength
    }

    /// Follows an edit of the mesh.
    pub(crate) fn follow(&mut self, change: &Change) {
        match *change {
            Change::EdgeSplit { edge, rest, at, .. } => {
                if let Some(stitch) = self.stitches.get_mut(&edge) {
                    let middle = stitch.from + (stitch.to - stitch.from) * at;
                    let half = Stitch { from: middle, ..*stitch };
                    stitch.to = middle;
                    self.stitches.insert(rest, half);
                }
            }
            Change::EdgeOpened { edge, .. } => {
                self.stitches.remove(&edge);
            }
            Change::FaceSplit { .. }
            | Change::NodeSplit { .. }
            | Change::NodeMoved { .. }
            | Change::EdgeFlipped { .. } => {}
            // A stitch that is taken away goes with its edge; cloth is made coarser beside seams alone.
            Change::NodeMerged { edge, spokes, .. } => {
                for e in [Some(edge), spokes[0], spokes[1]].into_iter().flatten() {
                    self.stitches.remove(&e);
                }
            }
        }
    }

    /// Stitches that are to be open at `time` [s] whatever the load, in the order in which the seam is undone.
    fn due(&self, time: f64) -> Vec<(EdgeId, u32, SeamReason)> {
        let due = |(&e, stitch): (&EdgeId, &Stitch)| {
            let (seam, place) = (&self.seams[stitch.seam as usize], 0.5 * (stitch.from + stitch.to));
            let order = if seam.unpick.is_some_and(|unpick| unpick.reverse) { -place } else { place };
            seam.due(place, time).map(|reason| (stitch.seam, order, e, reason))
        };
        let mut found: Vec<_> = self.stitches.iter().filter_map(due).collect();
        found.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
        found.into_iter().map(|(seam, _, e, reason)| (e, seam, reason)).collect()
    }
}

/// Opens what is to be open at `time` [s], whatever the load.
pub(crate) fn open_due(cloth: &mut Cloth, time: f64, log: &mut ChangeLog, events: &mut Vec<Event>) {
    for (e, seam, reason) in cloth.seams.due(time) {
        let from = log.len();
        cloth.mesh.open_edge(e, log);
        describe(cloth, &log[from..], Cause::Seam { seam, reason }, &Request::Along { path: Vec::new() }, events);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use ripstop_mesh::{FaceId, generate, pieces};

    fn plain(name: &str) -> Seam {
        Seam { name: name.into(), strength: None, opens_at: None, unpick: None }
    }

    /// A metre of grid with a seam along u = 0.5, from the bottom to the top.
    fn sewn(seam: Seam) -> Cloth {
        let mut cloth = Cloth::flat(generate::grid(Vec2::ONE, [9, 9]).unwrap(), 0.2, Placement::default());
        let steps = steps_along(&cloth.mesh, &[Vec2::new(0.5, 0.0), Vec2::new(0.5, 1.0)]);
        assert_eq!(cloth.seams.sew(&cloth.mesh, seam, &steps), 8);
        cloth
    }

    fn open_until(cloth: &mut Cloth, time: f64) -> Vec<Event> {
        let (mut log, mut events) = (ChangeLog::new(), Vec::new());
        open_due(cloth, time, &mut log, &mut events);
        cloth.follow(&log);
        events
    }

    #[test]
    fn stitches_lie_end_to_end_from_the_beginning_to_the_end() {
        let cloth = sewn(plain("a"));
        let mut ends: Vec<[f64; 4]> = (cloth.seams.stitches())
            .map(|(e, s)| {
                let [tail, head] = cloth.mesh.edge_nodes(e).map(|n| cloth.mesh.node_uv(n).y);
                [s.from, s.to, tail, head]
            })
            .collect();
        ends.sort_by(|a, b| a[0].min(a[1]).total_cmp(&b[0].min(b[1])));
        for [from, to, tail, head] in ends {
            assert!((from - tail).abs() < 1e-12 && (to - head).abs() < 1e-12, "{from} {to} at {tail} {head}");
        }
    }

    #[test]
    fn loose_edges_become_a_way() {
        let cloth = sewn(plain("a"));
        let mut edges: Vec<EdgeId> = cloth.seams.stitches().map(|(e, _)| e).collect();
        edges.sort_by_key(|e| (e.0 * 7) % 11);
        let steps = steps_of(&cloth.mesh, &edges);
        let ends = |s: &Step| {
            let [a, b] = cloth.mesh.edge_nodes(s.edge);
            if s.forward { (a, b) } else { (b, a) }
        };
        assert_eq!(steps.len(), 8);
        assert!(steps.windows(2).all(|pair| ends(&pair[0]).1 == ends(&pair[1]).0), "{steps:?}");
        // A loop, and two chains apart from each other.
        let around: Vec<EdgeId> = FaceId(0).corners().map(|c| cloth.mesh.edge(c)).to_vec();
        assert_eq!(steps_of(&cloth.mesh, &around).len(), 3);
        assert_eq!(steps_of(&cloth.mesh, &[edges[0], *around.last().unwrap()]).len(), 2);
    }

    #[test]
    fn a_seam_opens_wholly_at_its_time() {
        let mut cloth = sewn(Seam { opens_at: Some(2.0), ..plain("a") });
        assert!(open_until(&mut cloth, 1.999).is_empty());
        let events = open_until(&mut cloth, 2.001);
        assert_eq!(events.len(), 8);
        assert!(events.iter().all(|e| e.seam == Some(0) && e.uv.x == 0.5));
        assert!(events.iter().all(|e| e.cause == Cause::Seam { seam: 0, reason: SeamReason::Time }));
        assert_eq!(pieces(&cloth.mesh).areas, [0.5, 0.5]);
        assert_eq!(cloth.seams.stitches().count(), 0);
        assert!(open_until(&mut cloth, 9.0).is_empty(), "once");
    }

    #[test]
    fn unpicking_goes_along_the_seam_at_an_even_pace() {
        for reverse in [false, true] {
            let mut cloth = sewn(Seam { unpick: Some(Unpick { from: 1.0, to: 3.0, reverse }), ..plain("a") });
            let mut open = 0.0;
            for k in 0..=40 {
                let time = 0.9 + 0.055 * f64::from(k);
                for event in open_until(&mut cloth, time) {
                    let ahead = if reverse { 1.0 - event.uv.y } else { event.uv.y };
                    assert!((ahead - open - event.length / 2.0).abs() < 1e-12, "{ahead} after {open}");
                    open += event.length;
                }
                let passed = ((time - 1.0) / 2.0).clamp(0.0, 1.0);
                assert!((open - passed).abs() <= 0.5 / 8.0 + 1e-12, "{open} open at {passed}");
            }
            assert_eq!(open, 1.0);
        }
    }

    #[test]
    fn halves_of_a_stitch_are_stitches_and_what_is_open_is_none() {
        let mut cloth = sewn(plain("a"));
        let (edge, was) = cloth.seams.stitches().map(|(e, s)| (e, *s)).nth(3).unwrap();
        let mut log = ChangeLog::new();
        cloth.mesh.split_edge(edge, 0.25, &mut log);
        let rest = EdgeId(
            log.iter()
                .find_map(|c| match c {
                    Change::EdgeSplit { rest, .. } => Some(rest.0),
                    _ => None,
                })
                .unwrap(),
        );
        cloth.follow(&log);
        assert_eq!(cloth.seams.stitches().count(), 9);
        let [a, b] = [edge, rest].map(|e| cloth.seams.stitches[&e]);
        assert_eq!((a.from, a.to, b.to), (was.from, b.from, was.to));
        assert!((a.to - (was.from + 0.25 * (was.to - was.from))).abs() < 1e-15);
        let mut log = ChangeLog::new();
        cloth.mesh.open_edge(rest, &mut log);
        cloth.follow(&log);
        assert_eq!((cloth.seams.of(edge), cloth.seams.of(rest)), (Some(0), None));
    }

    #[test]
    fn a_sheet_is_drawn_to_the_line_of_its_seam() {
        let path = [Vec2::new(0.0, 0.31), Vec2::new(0.45, 0.4), Vec2::new(0.7, 1.0)];
        let off = |mesh: &Mesh, n: NodeId| {
            let uv = mesh.node_uv(n);
            let lines = path.windows(2).map(|ends| uv.distance(nearest_on_line(uv, ends[0], ends[1])));
            lines.fold(f64::INFINITY, f64::min)
        };
        let mut found = Vec::new();
        for seed in 0..12 {
            let mut mesh = generate::irregular(Vec2::ONE, 0.06, seed).unwrap();
            let offs = |mesh: &Mesh| {
                let nodes = nodes_of(mesh, &steps_along(mesh, &path));
                nodes.iter().map(|&n| off(mesh, n)).collect::<Vec<f64>>()
            };
            let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
            let was = mean(&offs(&mesh));
            let mut kept = Vec::new();
            draw_along(&mut mesh, &path, &mut kept);
            mesh.check().unwrap();
            assert!((mesh.area() - 1.0).abs() < 1e-9);
            let is = offs(&mesh);
            let met = is.iter().filter(|off| **off < 1e-9).count();
            found.push((was, mean(&is), is.len() - met));
            // A second seam leaves the first one where it is.
            let places: Vec<Vec2> = kept.iter().map(|&n| mesh.node_uv(n)).collect();
            draw_along(&mut mesh, &[Vec2::new(0.2, 0.0), Vec2::new(0.3, 1.0)], &mut kept);
            assert!(kept.iter().zip(&places).all(|(&n, p)| mesh.node_uv(n) == *p));
            assert!(kept.len() > places.len());
        }
        // Of about 25 nodes one or two may have no room.
        assert!(found.iter().all(|&(was, is, _)| was > 0.006 && is < 0.1 * was), "{found:?}");
        assert!(found.iter().all(|&(_, _, off)| off <= 2), "{found:?}");
    }

    #[test]
    fn a_seam_on_the_border_holds_nothing() {
        let mut cloth = sewn(plain("a"));
        let steps = steps_along(&cloth.mesh, &[Vec2::new(0.0, 0.0), Vec2::new(0.0, 1.0)]);
        assert_eq!((steps.len(), cloth.seams.sew(&cloth.mesh, plain("b"), &steps)), (8, 0));
    }
}
