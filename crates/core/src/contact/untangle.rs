//! Frees cloth that is slightly crossed at the start, with itself or with bodies, before the first step.
//!
//! Contact keeps everything on the side where it begins, so what begins on both sides of something must be brought to one of them. Positions are moved, nothing
//! else: velocities stay, and what the move stretches pulls back in the steps that follow. Rounds, until nothing crosses:
//! 1. every edge that goes through a triangle is looked for;
//! 2. ends of such edges that hang together, not by one of them, are a side of a line of crossing. The side from where the fewest nodes are reached within some edges is
//!    what pokes through; of a body, what is behind its surface. Each of its ends must come to the other side of a triangle and be a thickness away from there:
//!
//!    c = t − s n·(x − y),  x ← x + a c s n,  yₖ ← yₖ − (1 − a) c s n wₖ / Σ w²
//!
//! 3. what was not moved itself follows its neighbours, less and less with distance, so that nothing is stretched much at one place.
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | x, y, w | | m, m, 1 | the wrong end, where the edge goes through the triangle, weights of the triangle's corners there |
//! | n, s | `normal`, `side` | 1 | normal of the triangle, ±1 for the right side |
//! | t | `thickness` | m | of contact |
//! | a | `share` | 1 | all for a body; else by how nearly the end moves across its own sheet, which is soft, and not along it |
//!
//! If a node would have to go farther than 1.5 mean edges, or it isn't done after `ROUNDS` rounds, the crossing is **deep**: then all positions are as they were. Bodies never move here.
//! Crossings with bodies are seen to first, so that a deep one of the cloth with itself doesn't hinder them.
//!
//! Source: that the smaller side of a line of crossing is the wrong one is Baraff, Witkin and Kass 2003 (*Untangling cloth*), who fill whole regions, so that lines must be closed or end at
//! borders of one sheet; sides that are looked at `RINGS` edges deep don't need that. Deviation: positions are moved before the simulation, not by forces during it.
//!
//! Limits: lines whose two sides hang together around a near end are not freed.

use super::crossing::Crossings;
use crate::body::{Bodies, Shape};
use crate::cloth::Cloth;
use crate::math::{Vec3, inverse_or_zero};
use crate::sets::Sets;
use ripstop_mesh::{Column, FaceId, Id, NodeId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Rounds at most.
const ROUNDS: u32 = 200;

/// Farthest that a node may have to go, over the mean edge.
const DEEPEST: f64 = 1.5;

/// Farthest that a node goes in a round, over the mean edge.
const STEP: f64 = 0.1;

/// Edges within which sides of a line of crossing are compared.
const RINGS: u32 = 3;

/// Sweeps in which the rest of the cloth follows, in each round.
const SWEEPS: u32 = 8;

/// How much less a node follows than its neighbours: to a third over five edges.
const FADE: f64 = 0.04;

/// How it went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Freed {
    /// Pairs of triangles that crossed at the start.
    pub crossings: usize,
    /// How far a node was moved at most [m].
    pub depth: f64,
    /// Rounds that took.
    pub rounds: u32,
    /// Nothing crosses any more. Otherwise all is as it was.
    pub clean: bool,
}

/// What was crossed at the start, and how freeing it went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Untangled {
    /// The cloth with bodies, if it crossed one.
    pub bodies: Option<Freed>,
    /// The cloth with itself, if it did.
    pub itself: Option<Freed>,
}

/// Frees the cloth of bodies, and of itself if that counts.
pub(super) fn untangle(cloth: &mut Cloth, bodies: &Bodies, thickness: f64, on_itself: bool) -> Untangled {
    let found = Crossings::of(cloth, bodies);
    let mut all = Untangled::default();
    if found.with_bodies() > 0 {
        all.bodies = Some(free(cloth, bodies, thickness, false));
    }
    if on_itself && !found.itself.is_empty() {
        all.itself = Some(free(cloth, bodies, thickness, true));
    }
    all
}

/// Pairs that are to be freed.
fn counted(found: &Crossings, itself: bool) -> usize {
    if itself { found.count() } else { found.with_bodies() }
}

fn free(cloth: &mut Cloth, bodies: &Bodies, thickness: f64, itself: bool) -> Freed {
    let start = cloth.x.clone();
    let mut found = Crossings::of(cloth, bodies);
    let mut freed = Freed { crossings: counted(&found, itself), ..Freed::default() };
    let mut field = Moves::new(cloth);
    while counted(&found, itself) > 0 {
        let knot = Knot::new(cloth, bodies, &found, itself, &field.neighbours);
        let pulled = knot.pull(cloth, thickness, &mut field);
        freed.depth = field.spread(cloth);
        if !pulled || freed.rounds == ROUNDS || freed.depth > DEEPEST * field.spacing {
            cloth.x = start;
            return Freed { clean: false, ..freed };
        }
        freed.rounds += 1;
        for n in cloth.mesh.nodes() {
            cloth.x[n] = start[n] + field.moved[n];
        }
        found = Crossings::of(cloth, bodies);
    }
    Freed { clean: true, ..freed }
}

/// How far nodes have been moved.
struct Moves {
    /// Since the start [m].
    moved: Column<NodeId, Vec3>,
    /// In this round: sum of all pulls [m], and how many there are.
    pulls: Column<NodeId, (Vec3, f64)>,
    /// Nodes that have been pulled themselves in some round.
    pulled: Column<NodeId, bool>,
    neighbours: Column<NodeId, Vec<NodeId>>,
    /// Mean edge [m].
    spacing: f64,
}

impl Moves {
    fn new(cloth: &Cloth) -> Self {
        let count = cloth.mesh.node_count();
        let mut neighbours = Column::filled(count, Vec::new());
        for e in cloth.mesh.edges() {
            let [a, b] = cloth.mesh.edge_nodes(e);
            neighbours[a].push(b);
            neighbours[b].push(a);
        }
        Self {
            moved: Column::filled(count, Vec3::ZERO),
            pulls: Column::filled(count, (Vec3::ZERO, 0.0)),
            pulled: Column::filled(count, false),
            neighbours,
            spacing: cloth.mean_edge(),
        }
    }

    fn pull(&mut self, n: NodeId, by: Vec3) {
        self.pulls[n].0 += by;
        self.pulls[n].1 += 1.0;
    }

    /// Takes in the pulls of a round, and lets the rest follow. Returns how far a node has moved at most [m].
    fn spread(&mut self, cloth: &Cloth) -> f64 {
        let limit = STEP * self.spacing;
        for n in cloth.mesh.nodes() {
            let (sum, count) = std::mem::take(&mut self.pulls[n]);
            if count > 0.0 {
                self.moved[n] += (sum / count).clamp_length_max(limit);
                self.pulled[n] = true;
            }
        }
        let follow = |n: &NodeId| !self.pulled[*n] && cloth.inverse_mass[*n] > 0.0;
        let rest: Vec<NodeId> = cloth.mesh.nodes().filter(follow).collect();
        for _ in 0..SWEEPS {
            for &n in &rest {
                let around = &self.neighbours[n];
                let sum: Vec3 = around.iter().map(|&m| self.moved[m]).sum();
                self.moved[n] = sum / ((1.0 + FADE) * around.len().max(1) as f64);
            }
        }
        self.moved.iter().map(|u| u.length()).fold(0.0, f64::max)
    }
}

/// What an edge goes through.
#[derive(Clone, Copy)]
enum Through {
    /// A face of the cloth, in a line of crossing.
    Face(FaceId, u32),
    /// A triangle of an open body, in a line of crossing.
    Open(u32),
    /// A triangle of a body whose back is the inside.
    Solid,
}

/// An edge of the cloth that goes through a triangle.
struct Pierce {
    ends: [NodeId; 2],
    /// Heights of the ends above the triangle [m].
    heights: [f64; 2],
    through: Through,
    normal: Vec3,
    weights: [f64; 3],
}

/// All that crosses.
struct Knot {
    pierces: Vec<Pierce>,
    /// Faces that edges of bodies go through: where, and away from the body.
    pushed: Vec<(FaceId, [f64; 3], Vec3)>,
    /// Nodes that poke through, by line of crossing.
    pokes: BTreeSet<(u32, NodeId)>,
}

/// Where the edge from `p` to `q` goes through a triangle: its normal, the heights of both above it, and weights of its corners there.
fn pierce([p, q]: [Vec3; 2], [a, b, c]: [Vec3; 3]) -> Option<(Vec3, [f64; 2], [f64; 3])> {
    let cross = (b - a).cross(c - a);
    let area = cross.length();
    let normal = cross * inverse_or_zero(area);
    let heights = [p, q].map(|x| (x - a).dot(normal));
    // An end in the plane counts as behind it, so that of the edges at a node there are always some that go through.
    if (heights[0] > 0.0) == (heights[1] > 0.0) {
        return None;
    }
    let x = p + (q - p) * (heights[0] / (heights[0] - heights[1]));
    let share = |from: Vec3, to: Vec3| (to - from).cross(x - from).dot(normal) / area;
    let weights = [share(b, c), share(c, a), share(a, b)];
    weights.iter().all(|w| *w >= -1e-9).then_some((normal, heights, weights))
}

impl Knot {
    fn new(
        cloth: &Cloth,
        bodies: &Bodies,
        found: &Crossings,
        itself: bool,
        neighbours: &Column<NodeId, Vec<NodeId>>,
    ) -> Self {
        let mesh = &cloth.mesh;
        let mut knot = Self { pierces: Vec::new(), pushed: Vec::new(), pokes: BTreeSet::new() };
        if itself {
            let mut lines = Sets::new(mesh.face_count());
            for &[f, g] in &found.itself {
                lines.join(f, g);
            }
            for &[f, g] in &found.itself {
                let line = lines.root(f);
                let [f, g] = [f, g].map(|f| FaceId::new(f as usize));
                for (of, face) in [(f, g), (g, f)] {
                    let corners = mesh.face_nodes(face).map(|n| cloth.x[n]);
                    let apart = |ends: [NodeId; 2]| !ends.iter().any(|n| mesh.face_nodes(face).contains(n));
                    knot.look(cloth, of, corners, Through::Face(face, line), apart);
                }
            }
        }
        for ((b, body), pairs) in bodies.iter().enumerate().zip(&found.bodies) {
            let solid = body.surface.closed || matches!(body.shape, Shape::Plane);
            // Numbers behind those of faces, which are numbers of lines too.
            let through = if solid { Through::Solid } else { Through::Open((mesh.face_count() + b) as u32) };
            for &[f, t] in pairs {
                let f = FaceId::new(f as usize);
                let points = body.surface.triangles[t as usize];
                let corners = points.map(|p| bodies.pose(b).apply(body.surface.points[p as usize]));
                knot.look(cloth, f, corners, through, |_| true);
                let face = mesh.face_nodes(f).map(|n| cloth.x[n]);
                let [p, q, r] = corners;
                let normal = (q - p).cross(r - p).normalize_or_zero();
                let through = [[p, q], [q, r], [r, p]].map(|edge| pierce(edge, face));
                knot.pushed.extend(through.into_iter().flatten().map(|(_, _, weights)| (f, weights, normal)));
            }
        }
        knot.tell_sides(neighbours);
        knot
    }

    /// Looks which edges of a face go through a triangle.
    fn look(
        &mut self,
        cloth: &Cloth,
        f: FaceId,
        corners: [Vec3; 3],
        through: Through,
        apart: impl Fn([NodeId; 2]) -> bool,
    ) {
        for c in f.corners() {
            let ends = cloth.mesh.edge_nodes(cloth.mesh.edge(c));
            if let Some((normal, heights, weights)) = pierce(ends.map(|n| cloth.x[n]), corners).filter(|_| apart(ends))
            {
                self.pierces.push(Pierce { ends, heights, through, normal, weights });
            }
        }
    }

    /// Finds the sides of lines of crossing, and which of them pokes through.
    fn tell_sides(&mut self, neighbours: &Column<NodeId, Vec<NodeId>>) {
        let mut crossed = BTreeSet::new();
        let mut ends: BTreeMap<u32, BTreeSet<NodeId>> = BTreeMap::new();
        for pierce in &self.pierces {
            let [a, b] = pierce.ends;
            crossed.extend([(a, b), (b, a)]);
            // Of a body that is open too either side may be the wrong one.
            let line = match pierce.through {
                Through::Face(_, line) | Through::Open(line) => line,
                Through::Solid => continue,
            };
            ends.entry(line).or_default().extend(pierce.ends);
        }
        for (line, nodes) in ends {
            let mut sides = Sets::new(nodes.len());
            let nodes: Vec<NodeId> = nodes.into_iter().collect();
            let mut reached = Vec::with_capacity(nodes.len());
            for (i, &n) in nodes.iter().enumerate() {
                for m in neighbours[n].iter().filter(|m| !crossed.contains(&(n, **m))) {
                    if let Ok(j) = nodes.binary_search(m) {
                        sides.join(i as u32, j as u32);
                    }
                }
                reached.push(reach(n, neighbours, &crossed));
            }
            let mut sizes: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
            for (i, reached) in reached.into_iter().enumerate() {
                let (sum, count) = sizes.entry(sides.root(i as u32)).or_default();
                *sum += reached as f64;
                *count += 1.0;
            }
            let mean = |(sum, count): &(f64, f64)| sum / count;
            let least = sizes.iter().min_by(|a, b| mean(a.1).total_cmp(&mean(b.1))).map(|(side, _)| *side);
            let poke = (0..nodes.len()).filter(|&i| Some(sides.root(i as u32)) == least);
            self.pokes.extend(poke.map(|i| (line, nodes[i])));
        }
    }

    /// Which end of an edge is on the wrong side, if one is.
    fn wrong(&self, pierce: &Pierce) -> Option<usize> {
        match pierce.through {
            Through::Solid => Some(usize::from(pierce.heights[0] > 0.0)),
            Through::Face(_, line) | Through::Open(line) => {
                let [a, b] = pierce.ends.map(|n| self.pokes.contains(&(line, n)));
                if a == b { None } else { Some(usize::from(b)) }
            }
        }
    }

    /// Pulls at all nodes that must move. False if there are none.
    fn pull(&self, cloth: &Cloth, thickness: f64, moves: &mut Moves) -> bool {
        let free = |n: NodeId| cloth.inverse_mass[n] > 0.0;
        let mut any = false;
        let mut pull = |n: NodeId, by: Vec3| {
            if free(n) && by != Vec3::ZERO {
                moves.pull(n, by);
                any = true;
            }
        };
        // Moves the place of a face with these weights.
        let shift = |face: FaceId, weights: [f64; 3], by: Vec3, pull: &mut dyn FnMut(NodeId, Vec3)| {
            let nodes = cloth.mesh.face_nodes(face);
            let square: f64 = nodes.iter().zip(weights).filter(|(n, _)| free(**n)).map(|(_, w)| w * w).sum();
            for (n, w) in nodes.into_iter().zip(weights) {
                pull(n, by * (w * inverse_or_zero(square)).min(1.0));
            }
        };
        for pierce in &self.pierces {
            let Some(end) = self.wrong(pierce) else { continue };
            let side = if pierce.heights[1 - end] > 0.0 { 1.0 } else { -1.0 };
            let by = pierce.normal * (side * thickness - pierce.heights[end]);
            let n = pierce.ends[end];
            let Through::Face(face, _) = pierce.through else {
                pull(n, by);
                continue;
            };
            let across = normal(cloth, n).dot(pierce.normal);
            let soft = if free(n) { 0.1 + across * across } else { 0.0 };
            let share = if cloth.mesh.face_nodes(face).into_iter().any(free) { soft / (1.0 + soft) } else { 1.0 };
            pull(n, by * share);
            shift(face, pierce.weights, by * (share - 1.0), &mut pull);
        }
        for &(face, weights, away) in &self.pushed {
            shift(face, weights, away * (0.25 * thickness), &mut pull);
        }
        any
    }
}

/// How many nodes are reached from one within some edges, none of which is crossed.
fn reach(from: NodeId, neighbours: &Column<NodeId, Vec<NodeId>>, crossed: &BTreeSet<(NodeId, NodeId)>) -> usize {
    let mut found = vec![from];
    let mut ring = 0..1;
    for _ in 0..RINGS {
        for i in ring.clone() {
            let n = found[i];
            for &m in &neighbours[n] {
                if !found.contains(&m) && !crossed.contains(&(n, m)) {
                    found.push(m);
                }
            }
        }
        ring = ring.end..found.len();
    }
    found.len()
}

/// Mean normal of the faces around a node.
fn normal(cloth: &Cloth, n: NodeId) -> Vec3 {
    let of = |c: ripstop_mesh::CornerId| {
        let [a, b, d] = [c, c.next(), c.prev()].map(|c| cloth.x[cloth.mesh.node(c)]);
        (b - a).cross(d - a)
    };
    cloth.mesh.fan(n).map(of).sum::<Vec3>().normalize_or_zero()
}
