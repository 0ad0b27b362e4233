//! The cloth: its mesh and everything about it that has to be kept between steps.
//!
//! All other tables (element sets, gather lists) are functions of this one, so a checkpoint is a [`Cloth`] and a
//! clock, and a resumed run continues bit for bit.

use crate::math::{Vec2, Vec3};
use crate::parallel;
use crate::potential::Bonds;
use crate::tear::{Seams, Tips};
use ripstop_mesh::{Change, ChangeLog, Column, CornerId, EdgeId, FaceId, Id, Mesh, NodeId, Patch};
use serde::{Deserialize, Serialize};

/// Where a flat sheet lies at the start: material point (u, v) at `origin + u·weft + v·warp`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Placement {
    /// World position of the material origin [m].
    pub origin: Vec3,
    /// Direction of u (unit).
    pub weft: Vec3,
    /// Direction of v (unit).
    pub warp: Vec3,
}

impl Default for Placement {
    /// Upright: u to the right, v up.
    fn default() -> Self {
        Self { origin: Vec3::ZERO, weft: Vec3::X, warp: Vec3::Y }
    }
}

/// The state of a sheet of cloth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cloth {
    /// Topology and material coordinates.
    pub mesh: Mesh,
    /// Mass per area [kg/m²].
    pub density: f64,
    /// Position of every node [m].
    pub x: Column<NodeId, Vec3>,
    /// Velocity of every node [m/s].
    pub v: Column<NodeId, Vec3>,
    /// How far from its position the last step left every node that an integrator then brought into [balance](crate::integrator::Integrator::balance), from
    /// where the next step begins [m]; no rows without one.
    pub lean: Column<NodeId, Vec3>,
    /// Mean velocity of every node over the last step [m/s], for integrators whose velocities [tremble](crate::integrator::Integrator::trembles) where things may touch; no rows without one.
    pub drift: Column<NodeId, Vec3>,
    /// Mass of every node [kg]: a third of each of its faces.
    pub mass: Column<NodeId, f64>,
    /// One over mass, zero for a held node [1/kg].
    pub inverse_mass: Column<NodeId, f64>,
    /// Grip that holds the node (its number plus one), zero if it is free.
    pub held_by: Column<NodeId, u32>,
    /// Node that this one was split from; itself if it was there from the start. Of a retired node the one that it went into.
    pub parent: Column<NodeId, NodeId>,
    /// Node is the tip of a tear, where cloth gives way more easily (Önal & İşler 2013 §3.2.2).
    pub weak: Column<NodeId, bool>,
    /// When the cloth last parted at the node [s]; minus infinity if it never did.
    pub parted_at: Column<NodeId, f64>,
    /// Rest length of every edge as woven [m].
    pub woven: Column<EdgeId, f64>,
    /// Rest length of every edge now, after plastic flow [m].
    pub rest: Column<EdgeId, f64>,
    /// Edge is a lip of a tear.
    pub torn: Column<EdgeId, bool>,
    /// Node never parts by load; no rows if all may.
    pub untearable: Column<NodeId, bool>,
    /// Seams, with the edges of them that still hold.
    pub seams: Seams,
    /// Tips of tears.
    pub tips: Tips,
    /// Nodes around which cloth was made fine because it was about to part there, each with when it had parted there before that [s]: it stays fine around them until it has again.
    pub asked: Vec<(NodeId, f64)>,
    /// What still holds where cloth has just parted.
    pub bonds: Bonds,
    /// How far the surface may move when nodes slide within the material [m]: where things touch, a part of the thickness.
    pub stray: f64,
}

impl Cloth {
    /// A sheet laid out flat and at rest.
    pub fn flat(mesh: Mesh, density: f64, place: Placement) -> Self {
        let at = |uv: Vec2| place.origin + place.weft * uv.x + place.warp * uv.y;
        let x = Column::from_rows(mesh.nodes().map(|n| at(mesh.node_uv(n))).collect());
        Self::shaped(mesh, density, x)
    }

    /// A sheet with given positions, at rest; its rest shape is that of its material coordinates.
    pub fn shaped(mesh: Mesh, density: f64, x: Column<NodeId, Vec3>) -> Self {
        let count = mesh.node_count();
        assert_eq!(x.len(), count, "one position per node");
        let woven: Column<EdgeId, f64> = Column::from_rows(mesh.edges().map(|e| mesh.edge_length(e)).collect());
        let mut cloth = Self {
            density,
            x,
            v: Column::filled(count, Vec3::ZERO),
            lean: Column::new(),
            drift: Column::new(),
            mass: Column::filled(count, 0.0),
            inverse_mass: Column::filled(count, 0.0),
            held_by: Column::filled(count, 0),
            parent: Column::from_rows(mesh.nodes().collect()),
            weak: Column::filled(count, false),
            parted_at: Column::filled(count, f64::NEG_INFINITY),
            rest: woven.clone(),
            torn: Column::filled(mesh.edge_count(), false),
            untearable: Column::new(),
            seams: Seams::default(),
            tips: Tips::default(),
            asked: Vec::new(),
            bonds: Bonds::default(),
            stray: f64::INFINITY,
            woven,
            mesh,
        };
        for n in cloth.mesh.nodes() {
            cloth.weigh(n);
        }
        cloth
    }

    /// Gives a node the mass of its faces. A retired one has none, and like a held one nothing moves it.
    fn weigh(&mut self, n: NodeId) {
        if self.mesh.is_retired_node(n) {
            (self.mass[n], self.inverse_mass[n]) = (0.0, 0.0);
            return;
        }
        let area: f64 = self.mesh.fan(n).map(|c| self.mesh.face_area(c.face()).abs()).sum();
        self.mass[n] = self.density * area / 3.0;
        self.inverse_mass[n] = if self.held_by[n] == 0 { 1.0 / self.mass[n] } else { 0.0 };
    }

    /// Holds a node by a grip, or lets it go.
    pub fn hold(&mut self, n: NodeId, grip: Option<usize>) {
        self.held_by[n] = grip.map_or(0, |g| g as u32 + 1);
        let free = grip.is_none() && !self.mesh.is_retired_node(n);
        self.inverse_mass[n] = if free { 1.0 / self.mass[n] } else { 0.0 };
    }

    /// Keeps these nodes from parting by load, and what is made between them.
    pub fn keep_whole(&mut self, nodes: &[NodeId]) {
        self.untearable.grow(self.mesh.node_count(), false);
        nodes.iter().for_each(|&n| self.untearable[n] = true);
    }

    /// True if some grip holds this node.
    #[inline]
    pub fn is_held(&self, n: NodeId) -> bool {
        self.held_by[n] != 0
    }

    /// Elongation over woven length: elastic and plastic together (P eq. 33).
    #[inline]
    pub fn total_strain(&self, e: EdgeId) -> f64 {
        let [a, b] = self.mesh.edge_nodes(e);
        self.x[a].distance(self.x[b]) / self.woven[e] - 1.0
    }

    /// Elongation over the present rest length.
    #[inline]
    pub fn elastic_strain(&self, e: EdgeId) -> f64 {
        let [a, b] = self.mesh.edge_nodes(e);
        self.x[a].distance(self.x[b]) / self.rest[e] - 1.0
    }

    /// Follows the edits in `log`, which `self.mesh` has gone through already. New nodes take place and velocity from
    /// the material point they are made at, so mass, momentum and the strain of every face stay as they were. What a merge takes away is shared out: mass and
    /// momentum stay as they were, and no energy of motion is gained.
    pub fn follow(&mut self, log: &[Change]) {
        let moved = log.iter().any(|change| matches!(change, Change::NodeMoved { .. }));
        let known = self.x.len();
        let momentum = if moved { self.momentum(self.mesh.nodes().filter(|n| n.index() < known)) } else { Vec3::ZERO };
        for (k, &change) in log.iter().enumerate() {
            self.seams.follow(&change);
            match change {
                Change::EdgeSplit { edge, rest, tail, head, at, node, spokes, .. } => {
                    self.add_node(node, tail, &[(tail, 1.0 - at), (head, at)]);
                    let (flow, torn) = (self.rest[edge] / self.woven[edge], self.torn[edge]);
                    for e in [Some(rest), spokes[0], spokes[1], Some(edge)].into_iter().flatten() {
                        self.weave(e, flow, torn && (e == edge || e == rest));
                    }
                }
                Change::FaceSplit { corners, edges, at, node, spokes, .. } => {
                    let weights: [_; 3] = std::array::from_fn(|k| (corners[k], at[k]));
                    self.add_node(node, corners[0], &weights);
                    let flow = edges.iter().map(|&e| self.rest[e] / self.woven[e]).sum::<f64>() / 3.0;
                    for e in spokes {
                        self.weave(e, flow, false);
                    }
                }
                Change::EdgeOpened { edge, lip } => {
                    let flow = self.rest[edge] / self.woven[edge];
                    for e in [edge, lip] {
                        self.weave(e, flow, true);
                    }
                }
                Change::NodeSplit { node, copy } => self.add_node(copy, node, &[(node, 1.0)]),
                Change::EdgeFlipped { edge, sides, .. } => {
                    let flow = sides.iter().map(|&e| self.rest[e] / self.woven[e]).sum::<f64>() / 4.0;
                    self.weave(edge, flow, false);
                }
                Change::NodeMoved { node, corners, at } => {
                    let mix = |column: &Column<NodeId, Vec3>| corners.iter().zip(at).map(|(&n, w)| column[n] * w).sum();
                    (self.x[node], self.v[node]) = (mix(&self.x), mix(&self.v));
                    for column in [&mut self.lean, &mut self.drift].into_iter().filter(|column| !column.is_empty()) {
                        column[node] = mix(column);
                    }
                    for e in copies(node, &log[k..]).iter().flat_map(|&n| edges_at(&self.mesh, n)).collect::<Vec<_>>() {
                        // Those that are made later in the log are woven then.
                        if e.index() < self.woven.len() {
                            self.weave(e, self.rest[e] / self.woven[e], self.torn[e]);
                        }
                    }
                }
                Change::NodeMerged { node, into, edge, spokes, .. } => {
                    for e in [Some(edge), spokes[0], spokes[1]].into_iter().flatten() {
                        (self.woven[e], self.rest[e], self.torn[e]) = (0.0, 0.0, false);
                    }
                    for e in copies(into, &log[k..]).iter().flat_map(|&n| edges_at(&self.mesh, n)).collect::<Vec<_>>() {
                        if e.index() < self.woven.len() {
                            self.weave(e, self.rest[e] / self.woven[e], self.torn[e]);
                        }
                    }
                    self.parent[node] = into;
                    (self.held_by[node], self.weak[node]) = (0, false);
                }
            }
        }
        self.move_weak_marks(log);
        let weak = &self.weak;
        self.tips.follow(&self.mesh, log, |n| weak[n]);
        let touched = Touched::by(&self.mesh, log).nodes;
        if log.iter().any(|change| matches!(change, Change::NodeMerged { .. })) {
            self.share_out(&touched);
        } else {
            touched.iter().for_each(|&n| self.weigh(n));
        }
        if moved && !touched.iter().any(|&n| self.is_held(n)) {
            // A node that has moved has other shares of its neighbours' mass; all together go on as fast as before.
            let mass: f64 = touched.iter().map(|&n| self.mass[n]).sum();
            let change = (momentum - self.momentum(self.mesh.nodes())) / mass;
            touched.iter().for_each(|&n| self.v[n] += change);
        }
    }

    /// Some faces as a cloth of their own, to try openings on ([`Mesh::patch`]): all that these look at is there.
    pub(crate) fn patch(&self, faces: &[FaceId]) -> (Self, Patch) {
        let mut patch = self.mesh.patch(faces);
        let mesh = std::mem::take(&mut patch.mesh);
        let place = Column::from_rows(patch.nodes.iter().map(|&n| self.x[n]).collect());
        let mut cloth = Self::shaped(mesh, self.density, place);
        for n in cloth.mesh.nodes() {
            let old = patch.nodes[n];
            (cloth.v[n], cloth.held_by[n], cloth.weak[n]) = (self.v[old], self.held_by[old], self.weak[old]);
            cloth.parted_at[n] = self.parted_at[old];
            if !self.untearable.is_empty() {
                cloth.untearable.push(self.untearable[old]);
            }
        }
        for e in cloth.mesh.edges() {
            let old = patch.edges[e];
            (cloth.woven[e], cloth.rest[e], cloth.torn[e]) = (self.woven[old], self.rest[old], self.torn[old]);
        }
        cloth.seams = self.seams.patch(&patch.edges);
        cloth.stray = self.stray;
        (cloth, patch)
    }

    /// Gives nodes the mass of their faces after some were taken away. What is left over anywhere is mixed, with the velocities that it had, and joins those that have become heavier: momentum
    /// is kept, and as in every mixture of things that stay together energy of motion is lost, never gained.
    fn share_out(&mut self, touched: &[NodeId]) {
        let was: Vec<f64> = touched.iter().map(|&n| self.mass[n]).collect();
        touched.iter().for_each(|&n| self.weigh(n));
        let (mut mass, mut momentum) = (0.0, Vec3::ZERO);
        for (&n, was) in touched.iter().zip(&was) {
            let left = (was - self.mass[n]).max(0.0);
            (mass, momentum) = (mass + left, momentum + self.v[n] * left);
        }
        let mixed = momentum / mass.max(f64::MIN_POSITIVE);
        for (&n, was) in touched.iter().zip(&was) {
            if self.mesh.is_retired_node(n) {
                self.v[n] = Vec3::ZERO;
                for column in [&mut self.lean, &mut self.drift].into_iter().filter(|column| !column.is_empty()) {
                    column[n] = Vec3::ZERO;
                }
            } else if self.mass[n] > *was && !self.is_held(n) {
                self.v[n] = (self.v[n] * *was + mixed * (self.mass[n] - was)) / self.mass[n];
            }
        }
    }

    /// The node that stands for one: itself while it is there, and for a retired one that which it went into in the end.
    pub fn stands_for(&self, mut n: NodeId) -> NodeId {
        // Each on the way was taken away after the one before, so it ends.
        while self.mesh.is_retired_node(n) {
            n = self.parent[n];
        }
        n
    }

    /// What a step changes of every node: positions, velocities, lean and drift.
    pub(crate) fn motion(&self) -> [&Column<NodeId, Vec3>; 4] {
        [&self.x, &self.v, &self.lean, &self.drift]
    }

    fn momentum(&self, nodes: impl Iterator<Item = NodeId>) -> Vec3 {
        nodes.map(|n| self.v[n] * self.mass[n]).sum()
    }

    /// True if [`slide`](Self::slide) would move the node.
    pub fn may_slide(&self, node: NodeId, uv: Vec2) -> bool {
        let stitched = |e: EdgeId| self.seams.of(e).is_some();
        !self.is_held(node)
            && !edges_at(&self.mesh, node).any(stitched)
            && self.mesh.may_slide(node, uv)
            && self.bulge(node, uv).is_some_and(|bulge| bulge <= self.stray)
    }

    /// How far the surface moves at a node [m] if that slides to another place of the material: nothing where the cloth is flat.
    fn bulge(&self, node: NodeId, uv: Vec2) -> Option<f64> {
        let mesh = &self.mesh;
        let (c, at) = mesh.place_beside(node, uv)?;
        let mix = |nodes: [Vec3; 3], w: [f64; 3]| nodes[0] * w[0] + nodes[1] * w[1] + nodes[2] * w[2];
        let corners = |c: CornerId| [c, c.next(), c.prev()];
        let to = mix(corners(c).map(|c| self.x[mesh.node(c)]), at);
        let was = mesh.node_uv(node);
        // The place that the node has left, in the face that is then over it.
        let left = |c: CornerId| {
            let [_, b, d] = corners(c);
            let weights = ripstop_mesh::barycentric([uv, mesh.uv(b), mesh.uv(d)], was)?;
            Some((weights, mix([to, self.x[mesh.node(b)], self.x[mesh.node(d)]], weights)))
        };
        let least = |w: &[f64; 3]| w[0].min(w[1]).min(w[2]);
        let over = mesh.fan(node).filter_map(left).max_by(|a, b| least(&a.0).total_cmp(&least(&b.0)));
        over.map(|(_, place)| place.distance(self.x[node]))
    }

    /// Moves a node to another place of the material [m] beside it, if its faces stay sound ([`Mesh::slide`]) and the surface stays within [`stray`](Self::stray). In the world it goes to where
    /// that place of the cloth is, with the velocity there. Held nodes and ends of stitches stay. The cloth must have followed all
    /// edits, and has followed this one. Returns whether it moved.
    pub fn slide(&mut self, node: NodeId, uv: Vec2, log: &mut ChangeLog) -> bool {
        debug_assert_eq!(self.x.len(), self.mesh.node_count(), "the cloth has followed its edits");
        let mut own = ChangeLog::new();
        if !self.may_slide(node, uv) || !self.mesh.relocate(node, uv, &mut own) {
            return false;
        }
        self.follow(&own);
        // To those that read the log the node moved to where it is.
        log.push(Change::NodeMoved { node, corners: [node; 3], at: [1.0, 0.0, 0.0] });
        true
    }

    /// Both ends of an opened edge are weak if the lips still meet there: the tip of a tear. Where they part, nothing is
    /// weak any more, so the mark moves on with the tip.
    fn move_weak_marks(&mut self, log: &[Change]) {
        for change in log {
            if let Change::NodeSplit { node, copy } = *change {
                (self.weak[node], self.weak[copy]) = (false, false);
            }
        }
        for change in log {
            let Change::EdgeOpened { edge, lip } = *change else { continue };
            let ([a, b], [c, d]) = (self.mesh.edge_nodes(edge), self.mesh.edge_nodes(lip));
            // The lip runs the other way.
            for (n, _) in [(a, d), (b, c)].into_iter().filter(|(n, other)| n == other) {
                self.weak[n] = true;
            }
        }
    }

    /// Notes for all nodes that `log` parted that it was at `time` [s].
    pub(crate) fn note_time(&mut self, log: &[Change], time: f64) {
        for change in log {
            let Change::EdgeOpened { edge, lip } = *change else { continue };
            for n in [edge, lip].into_iter().flat_map(|e| self.mesh.edge_nodes(e)) {
                self.parted_at[n] = time;
            }
        }
    }

    fn add_node(&mut self, node: NodeId, parent: NodeId, from: &[(NodeId, f64)]) {
        debug_assert_eq!(node.index(), self.x.len());
        let mix = |column: &Column<NodeId, Vec3>| from.iter().map(|&(n, w)| column[n] * w).sum();
        let (x, v) = (mix(&self.x), mix(&self.v));
        // A point between held nodes of one grip is held by it too.
        let grip = self.held_by[from[0].0];
        let held = if from.iter().all(|&(n, _)| self.held_by[n] == grip) { grip } else { 0 };
        self.x.push(x);
        self.v.push(v);
        for column in [&mut self.lean, &mut self.drift].into_iter().filter(|column| !column.is_empty()) {
            column.push(mix(column));
        }
        self.mass.push(0.0);
        self.inverse_mass.push(0.0);
        self.held_by.push(held);
        self.parent.push(parent);
        self.weak.push(false);
        self.parted_at.push(f64::NEG_INFINITY);
        if !self.untearable.is_empty() {
            self.untearable.push(from.iter().all(|&(n, _)| self.untearable[n]));
        }
    }

    /// Gives an edge, new or changed, the woven length of its material coordinates and a rest length `flow` times
    /// that. (Material lengths are final even if a later change of the same log divides the edge again.)
    fn weave(&mut self, e: EdgeId, flow: f64, torn: bool) {
        let rows = e.index() + 1;
        self.woven.grow(rows, 0.0);
        self.rest.grow(rows, 0.0);
        self.torn.grow(rows, false);
        let length = self.mesh.edge_length(e);
        (self.woven[e], self.rest[e], self.torn[e]) = (length, flow * length, torn);
    }

    /// Mean length of edges in the material [m].
    pub fn mean_edge(&self) -> f64 {
        // Those that are retired have no length.
        self.woven.iter().sum::<f64>() / self.mesh.edges().len().max(1) as f64
    }

    /// Energy of motion [J].
    pub fn kinetic_energy(&self) -> f64 {
        parallel::sum(self.x.len(), |i| {
            let n = NodeId::new(i);
            0.5 * self.mass[n] * self.v[n].length_squared()
        })
    }

    /// Length of the diagonal of the box around all nodes [m].
    pub fn extent(&self) -> f64 {
        let places = self.mesh.nodes().map(|n| self.x[n]);
        let (low, high) = places.fold((Vec3::MAX, Vec3::MIN), |(low, high), p| (low.min(p), high.max(p)));
        (high - low).length()
    }
}

/// A node, and those that have corners of its in the end: what was split from it in `log`, and what it went into.
fn copies(node: NodeId, log: &[Change]) -> Vec<NodeId> {
    let mut all = vec![node];
    for change in log {
        if let Change::NodeSplit { node, copy: other } | Change::NodeMerged { node, into: other, .. } = *change
            && all.contains(&node)
        {
            all.push(other);
        }
    }
    all
}

fn edges_at(mesh: &Mesh, n: NodeId) -> impl Iterator<Item = EdgeId> + '_ {
    crate::criterion::star(mesh, n).map(|(e, _)| e)
}

/// The elements whose stencil or rest values an edit may have changed, in order and without repeats; those that it took away are among them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Touched {
    /// Nodes at the ends of changed edges.
    pub nodes: Vec<NodeId>,
    /// All edges of the faces around those nodes.
    pub edges: Vec<EdgeId>,
    /// The faces around those nodes.
    pub faces: Vec<FaceId>,
    /// Topology changed, not rest values alone.
    pub topology: bool,
}

impl Touched {
    /// What the edits in `log` touched.
    pub fn by(mesh: &Mesh, log: &[Change]) -> Self {
        let mut nodes = Vec::new();
        let (mut gone_edges, mut gone_faces) = (Vec::new(), Vec::new());
        for (k, change) in log.iter().enumerate() {
            match *change {
                Change::EdgeSplit { tail, head, node, faces, .. } => {
                    nodes.extend([tail, head, node]);
                    nodes.extend(faces.iter().flatten().flat_map(|&(old, _)| mesh.face_nodes(old)));
                }
                Change::FaceSplit { corners, node, .. } => nodes.extend(corners.into_iter().chain([node])),
                Change::EdgeOpened { edge, lip } => {
                    nodes.extend([edge, lip].into_iter().flat_map(|e| mesh.edge_nodes(e)));
                }
                Change::NodeSplit { node, copy } => nodes.extend([node, copy]),
                Change::EdgeFlipped { corners, .. } => nodes.extend(corners),
                Change::NodeMoved { node, .. } => {
                    let fans = copies(node, &log[k..]).into_iter().flat_map(|n| mesh.fan(n));
                    nodes.extend(fans.flat_map(|c| mesh.face_nodes(c.face())));
                }
                Change::NodeMerged { node, into, edge, faces, spokes, .. } => {
                    nodes.extend([node, into]);
                    let fans = copies(into, &log[k..]).into_iter().flat_map(|n| mesh.fan(n));
                    nodes.extend(fans.flat_map(|c| mesh.face_nodes(c.face())));
                    gone_edges.extend([Some(edge), spokes[0], spokes[1]].into_iter().flatten());
                    gone_faces.extend(faces.into_iter().flatten());
                }
            }
        }
        nodes.sort_unstable();
        nodes.dedup();
        let mut faces: Vec<_> = nodes.iter().flat_map(|&n| mesh.fan(n).map(|c| c.face())).collect();
        let mut edges: Vec<_> = faces.iter().flat_map(|f| f.corners().map(|c| mesh.edge(c))).collect();
        faces.append(&mut gone_faces);
        faces.sort_unstable();
        faces.dedup();
        edges.append(&mut gone_edges);
        edges.sort_unstable();
        edges.dedup();
        Self { nodes, edges, faces, topology: !log.is_empty() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ripstop_mesh::generate;

    /// Mass, momentum, and the St.Venant-Kirchhoff energy of all faces for unit constants: what no edit may change.
    fn conserved(cloth: &Cloth) -> [f64; 5] {
        let momentum: Vec3 = cloth.mesh.nodes().map(|n| cloth.v[n] * cloth.mass[n]).sum();
        let membrane = cloth.mesh.faces().map(|f| {
            let uv = cloth.mesh.face_uv(f);
            let x = cloth.mesh.face_nodes(f).map(|n| cloth.x[n]);
            let area = cloth.mesh.face_area(f);
            let (p, q, a, b) = (uv[1] - uv[0], uv[2] - uv[0], x[1] - x[0], x[2] - x[0]);
            let det = p.perp_dot(q);
            let (fu, fv) = ((a * q.y - b * p.y) / det, (b * p.x - a * q.x) / det);
            let strain = [0.5 * (fu.dot(fu) - 1.0), 0.5 * (fv.dot(fv) - 1.0), fu.dot(fv)];
            area * strain.iter().map(|e| e * e).sum::<f64>()
        });
        let [px, py, pz] = momentum.to_array();
        [cloth.mass.iter().sum(), px, py, pz, membrane.sum()]
    }

    /// One of those that are there.
    fn one<I>(mut ids: impl ExactSizeIterator<Item = I>, number: u32) -> I {
        let count = ids.len();
        ids.nth(number as usize % count).expect("there are some")
    }

    #[test]
    fn a_moved_node_stays_on_the_cloth_and_keeps_mass_momentum_and_flow() {
        let mut cloth =
            Cloth::flat(generate::irregular(Vec2::new(1.0, 0.7), 0.1, 1).unwrap(), 0.3, Placement::default());
        for n in cloth.mesh.nodes() {
            let p = cloth.x[n];
            cloth.x[n] = Vec3::new(1.2 * p.x + 0.3, 0.9 * p.y + 0.1 * p.x, 0.3 * p.x - 0.2 * p.y);
            cloth.v[n] = Vec3::new(p.y, -p.x * p.y, 1.0 + p.x);
        }
        cloth.rest.iter_mut().for_each(|rest| *rest *= 1.1);
        let before = conserved(&cloth);
        let inner: Vec<NodeId> = cloth.mesh.nodes().filter(|&n| !cloth.mesh.is_border_node(n)).collect();
        for (k, &n) in inner.iter().enumerate() {
            let uv = cloth.mesh.node_uv(n) + Vec2::new(0.012, if k % 2 == 0 { 0.01 } else { -0.015 });
            let mut log = ChangeLog::new();
            // Opened in the same log: its edges then belong to two nodes.
            let edges: Vec<EdgeId> = edges_at(&cloth.mesh, n).step_by(2).take(2).collect();
            if cloth.mesh.relocate(n, uv, &mut log) && k % 5 == 0 {
                for e in edges {
                    cloth.mesh.open_edge(e, &mut log);
                }
            }
            cloth.follow(&log);
        }
        // The map from material to world is linear, so being on the cloth is strain that stays, of every face.
        for (was, is) in before.iter().zip(conserved(&cloth)) {
            assert!((was - is).abs() < 1e-11, "{was} became {is}");
        }
        for e in cloth.mesh.edges() {
            assert!((cloth.woven[e] - cloth.mesh.edge_length(e)).abs() < 1e-15);
            assert!((cloth.rest[e] / cloth.woven[e] - 1.1).abs() < 1e-12);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn merges_keep_mass_momentum_and_even_strain_and_gain_no_energy(
            edits in prop::collection::vec((0u8..8, any::<u32>(), 0.2..0.45f64), 1..120), per_log in 1usize..4,
        ) {
            let mut cloth = Cloth::flat(generate::irregular(Vec2::new(1.0, 0.7), 0.15, 1).unwrap(), 0.3, Placement::default());
            for n in cloth.mesh.nodes() {
                let p = cloth.x[n];
                // Strained alike everywhere, so that no triangle of the material has another energy.
                cloth.x[n] = Vec3::new(1.2 * p.x, 0.9 * p.y + 0.1 * p.x, 0.3 * p.x - 0.2 * p.y);
                cloth.v[n] = Vec3::new(p.y, -p.x * p.y, 1.0 + p.x);
            }
            cloth.lean.grow(cloth.x.len(), Vec3::X);
            let before = conserved(&cloth);
            let mut moving = cloth.kinetic_energy();
            for batch in edits.chunks(per_log) {
                let mut log = ChangeLog::new();
                for &(kind, id, t) in batch {
                    let edge = one(cloth.mesh.edges(), id);
                    match kind {
                        0 | 1 => { cloth.mesh.split_edge(edge, t, &mut log); }
                        2 => { cloth.mesh.open_edge(edge, &mut log); }
                        _ => { cloth.mesh.merge(cloth.mesh.edge_nodes(edge)[id as usize % 2], edge, &mut log); }
                    }
                }
                cloth.follow(&log);
                cloth.mesh.check().unwrap();
                for (was, is) in before.iter().zip(conserved(&cloth)) {
                    prop_assert!((was - is).abs() < 1e-11, "{was} became {is}");
                }
                for e in cloth.mesh.edges() {
                    prop_assert!((cloth.woven[e] - cloth.mesh.edge_length(e)).abs() < 1e-15);
                    prop_assert!((cloth.rest[e] / cloth.woven[e] - 1.0).abs() < 1e-12);
                }
                for &n in &cloth.mesh.retired().nodes {
                    prop_assert!(cloth.mass[n] == 0.0 && cloth.inverse_mass[n] == 0.0 && cloth.v[n] == Vec3::ZERO);
                    prop_assert!(cloth.x[n].is_finite() && !cloth.mesh.is_retired_node(cloth.stands_for(n)));
                }
                prop_assert!(cloth.mesh.nodes().all(|n| cloth.mass[n] > 0.0));
                // Splits share mass out too, which can change energy of motion; merges by themselves only lose it.
                let now = cloth.kinetic_energy();
                if !log.is_empty() && log.iter().all(|change| matches!(change, Change::NodeMerged { .. })) {
                    prop_assert!(now <= moving * (1.0 + 1e-12), "{moving} J became {now} J");
                }
                moving = now;
            }
        }

        #[test]
        fn edits_keep_mass_momentum_and_membrane_energy(
            edits in prop::collection::vec((0u8..4, any::<u32>(), 0.2..0.45f64), 1..60), per_log in 1usize..5,
        ) {
            let mut cloth = Cloth::flat(generate::irregular(Vec2::new(1.0, 0.7), 0.2, 1).unwrap(), 0.3, Placement::default());
            for n in cloth.mesh.nodes() {
                let p = cloth.x[n];
                cloth.x[n] = Vec3::new(1.2 * p.x, 0.9 * p.y + 0.1 * p.x * p.x, 0.3 * p.x * p.y);
                cloth.v[n] = Vec3::new(p.y, -p.x * p.y, 1.0 + p.x);
            }
            let before = conserved(&cloth);
            for batch in edits.chunks(per_log) {
                let mut log = ChangeLog::new();
                for &(kind, id, t) in batch {
                    match kind {
                        0 => { cloth.mesh.split_edge(one(cloth.mesh.edges(), id), t, &mut log); }
                        1 => { cloth.mesh.split_face(one(cloth.mesh.faces(), id), [t, t, 1.0 - 2.0 * t], &mut log); }
                        _ => { cloth.mesh.open_edge(one(cloth.mesh.edges(), id), &mut log); }
                    }
                }
                cloth.follow(&log);
                for (was, is) in before.iter().zip(conserved(&cloth)) {
                    prop_assert!((was - is).abs() < 1e-11, "{was} became {is}");
                }
                for e in cloth.mesh.edges() {
                    prop_assert!((cloth.woven[e] - cloth.mesh.edge_length(e)).abs() < 1e-15);
                }
            }
        }
    }
}
