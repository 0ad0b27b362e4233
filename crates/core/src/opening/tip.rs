//! The tip of a slit goes on with what cuts: a node that slides within the material, not a row of divisions.
//!
//! A tip is the node at which the two lips of a slit meet. Its faces close around it, so it may lie anywhere among them: the lips then end there, straight from the nodes
//! behind it. [`lead`] brings it to a place, by the first of these that can be done, again and again:
//!
//! - **Room.** A node nearer than [`ROOM`] edges to the way ahead slides aside. If it can't, it slides onto the goal, the edge to it opens, and it is the tip.
//! - **Slide.** The tip slides to the goal, or half the way, or a quarter …, as long as all its faces keep a height of [`LEAST_HEIGHT`] of their longest side (11°), or where that is no way at all, [`LEAST`] of it (3.4°).
//! - **Flip.** An edge of the faces around the tip turns if that makes the flatter of its two faces less flat: what lies across the way gets out of it so, and what is left behind goes to others.
//!
//! Where the last edge of the lips has become longer than [`LONG`] edges, both lips get a node in the middle of it. So a slit of any length has edges of ½ … 1 [`LONG`], and no short ones.
//!
//! Where cloth is bent a slide and a flip move its surface. None is made that would move it through a body that is sharp: with every face goes the tetrahedron between the surfaces before and after, and it must be `clear`. None is
//! made where faces are at more than [`BENT`] to each other.
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | | `edge` | m | mean edge of the cloth as it was at the start |
//! | | `goal` | m | where in the material the tip is to be |
//!
//! Source: own; that nodes of a triangulation move with a crack's tip and edges turn around it is common in finite elements for cracks (remeshing at the tip).
//!
//! Limits: the goal isn't always reached, and the caller has to look. A tip that is held or on a seam stays.

use super::cut::LEAST;
use crate::cloth::Cloth;
use crate::criterion::star;
use crate::math::{Vec2, Vec3};
use ripstop_mesh::{Change, ChangeLog, CornerId, EdgeId, Id, LEAST_HEIGHT, Mesh, NodeId, height_share};
use smallvec::SmallVec;

/// No node is left nearer to the way of a tip, in edges.
pub const ROOM: f64 = 0.3;
/// Lips get a node where their last edge is longer, in edges.
pub const LONG: f64 = 1.4;
/// Faces at a larger angle to each other have a cosine below this, and stay as they are (about 35°).
const BENT: f64 = 0.82;
/// What a flip must gain in height over longest side.
const GAIN: f64 = 0.03;
/// Most slides on the way to one goal.
const TRIES: usize = 16;

/// The node at which the lips of a slit meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tip {
    /// The node.
    pub node: NodeId,
    /// Where it is in the material [m].
    pub at: Vec2,
    /// The place on the lips behind it [m].
    pub back: Vec2,
    /// The last edges of the two lips.
    pub lips: [EdgeId; 2],
}

impl Tip {
    /// The tip at a node, if it is one.
    pub fn of(cloth: &Cloth, node: NodeId) -> Option<Self> {
        let mesh = &cloth.mesh;
        let first = mesh.fan(node).next()?;
        let last = mesh.fan(node).last()?;
        if mesh.twin(first).is_some() {
            return None;
        }
        let lips = [mesh.edge(first), mesh.edge(last.prev())];
        let (at, back) = (mesh.uv(first), mesh.uv(first.next()));
        let torn = lips.iter().all(|e| cloth.torn.get(e.index()).is_some_and(|torn| *torn));
        (torn && mesh.uv(last) == at && mesh.uv(last.prev()).distance(back) < 1e-9 * at.distance(back))
            .then_some(Self { node, at, back, lips })
    }

    /// All tips of a cloth, in the order of their nodes.
    pub fn all(cloth: &Cloth) -> Vec<Self> {
        cloth.mesh.nodes().filter(|&n| cloth.weak[n]).filter_map(|n| Self::of(cloth, n)).collect()
    }

    /// From the lips behind to the tip [m].
    pub fn along(&self) -> Vec2 {
        self.at - self.back
    }
}

/// True if nothing sharp is in a tetrahedron [m] in the world, of the cloth as it is (0) or as it was when the step began (1).
pub type Clear<'a> = dyn Fn(usize, [Vec3; 4]) -> bool + 'a;

/// Brings the tip at `node` as near to `goal` [m, material] as it goes; returns the node that is the tip then. `before` are the places of nodes when the step began, if they count. The cloth
/// must have followed all earlier edits, and has to follow those that are added to `log`.
pub fn lead(
    cloth: &mut Cloth,
    before: Option<&[Vec3]>,
    (node, goal): (NodeId, Vec2),
    edge: f64,
    clear: &Clear<'_>,
    log: &mut ChangeLog,
) -> NodeId {
    let views = usize::from(before.is_some()) + 1;
    let mut leader = Leader { cloth, before, views, moved: Vec::new(), edge, clear, log };
    leader.lead(node, goal)
}

struct Leader<'a> {
    cloth: &'a mut Cloth,
    before: Option<&'a [Vec3]>,
    views: usize,
    /// Where nodes are that the edits have moved or made, now and when the step began.
    moved: Vec<(NodeId, [Vec3; 2])>,
    edge: f64,
    clear: &'a Clear<'a>,
    log: &'a mut ChangeLog,
}

impl Leader<'_> {
    fn lead(&mut self, mut node: NodeId, goal: Vec2) -> NodeId {
        for _ in 0..TRIES {
            let Some(tip) = Tip::of(self.cloth, node) else { return node };
            if self.is_fixed(node) || tip.at.distance(goal) < 1e-6 * self.edge {
                break;
            }
            if let Some(next) = self.make_room(&tip, goal) {
                node = next;
                self.improve(node);
                break;
            }
            let shares = [1.0, 0.5, 0.25, 0.125];
            let slid = shares.into_iter().any(|s| self.slide(node, tip.at.lerp(goal, s), LEAST_HEIGHT));
            let flipped = self.improve(node);
            if !slid && !flipped && !shares.into_iter().any(|s| self.slide(node, tip.at.lerp(goal, s), LEAST)) {
                break;
            }
        }
        if let Some(tip) = Tip::of(self.cloth, node) {
            self.divide(&tip);
        }
        node
    }

    fn is_fixed(&self, n: NodeId) -> bool {
        let stitched = |e: EdgeId| self.cloth.seams.of(e).is_some();
        self.cloth.held_by.get(n.index()).is_none_or(|grip| *grip != 0)
            || star(&self.cloth.mesh, n).any(|(e, _)| stitched(e))
    }

    /// Where a node is in a view.
    fn x(&self, n: NodeId, view: usize) -> Vec3 {
        if let Some((_, x)) = self.moved.iter().rev().find(|(moved, _)| *moved == n) {
            return x[view];
        }
        match self.before.filter(|_| view == 1) {
            Some(before) => before[n.index()],
            None => self.cloth.x[n],
        }
    }

    /// Slides a node, if its faces stay sound and nothing sharp is in the way.
    fn slide(&mut self, n: NodeId, uv: Vec2, least: f64) -> bool {
        let mesh = &self.cloth.mesh;
        if !mesh.may_slide_within(n, uv, least) {
            return false;
        }
        let Some((c, at)) = mesh.place_beside(n, uv) else { return false };
        let corners = [c, c.next(), c.prev()].map(|c| mesh.node(c));
        let to = [0, 1].map(|view| {
            let x = corners.map(|n| self.x(n, view.min(self.views - 1)));
            x[0] * at[0] + x[1] * at[1] + x[2] * at[2]
        });
        for view in 0..self.views {
            let from = self.x(n, view);
            let passes = |c: CornerId| {
                let [a, b] = [c.next(), c.prev()].map(|c| self.x(mesh.node(c), view));
                // What is crossed already, at the end of a step, is no worse for it.
                (self.clear)(view, [from, a, b, to[view]]) || !(self.clear)(view, [from, a, b, b])
            };
            if !mesh.fan(n).all(passes) {
                return false;
            }
        }
        let slid = self.cloth.mesh.relocate_within(n, uv, least, self.log);
        if slid {
            self.moved.push((n, to));
        }
        slid
    }

    /// Gets nodes out of the way from the tip to the goal. Where one can't, it goes there itself, and is the tip.
    fn make_room(&mut self, tip: &Tip, goal: Vec2) -> Option<NodeId> {
        let room = ROOM * self.edge;
        let way = goal - tip.at;
        let far = way.length();
        let ahead = way / far;
        let mesh = &self.cloth.mesh;
        let ends = |e: EdgeId| mesh.edge_nodes(e).into_iter().find(|&n| n != tip.node);
        let around: SmallVec<[NodeId; 12]> = star(mesh, tip.node).filter_map(|(e, _)| ends(e)).collect();
        for n in around {
            let mesh = &self.cloth.mesh;
            let p = mesh.node_uv(n) - tip.at;
            let (s, off) = (p.dot(ahead), ahead.perp_dot(p));
            let nearest = ahead * s.clamp(0.0, far);
            if s <= 0.0 || p.distance(nearest) >= room || mesh.is_border_node(n) || self.is_fixed(n) {
                continue;
            }
            // Aside: straight away from the way, and where it lies on it to the side or ahead.
            let side = ahead.perp() * if off < 0.0 { -1.0 } else { 1.0 };
            let away = (p - nearest).try_normalize().unwrap_or(side);
            let aside = [nearest + away * room, ahead * s + side * room, ahead * (far + room)];
            if aside.into_iter().any(|to| self.slide(n, tip.at + to, LEAST_HEIGHT)) {
                continue;
            }
            let long = tip.along().length() >= ROOM * self.edge && far >= 0.5 * ROOM * self.edge;
            if long && self.slide(n, goal, LEAST_HEIGHT) {
                let mesh = &self.cloth.mesh;
                let e = star(mesh, tip.node).map(|(e, _)| e).find(|&e| mesh.edge_nodes(e).contains(&n))?;
                let from = self.log.len();
                self.cloth.mesh.open_edge(e, self.log);
                for k in from..self.log.len() {
                    if let Change::NodeSplit { node, copy } = self.log[k] {
                        let x = [0, 1].map(|view| self.x(node, view.min(self.views - 1)));
                        self.moved.push((copy, x));
                    }
                }
                self.mark_lips(from);
                return Some(n);
            }
        }
        None
    }

    /// The cloth hasn't followed yet, but what is a lip has to be known.
    fn mark_lips(&mut self, from: usize) {
        for change in &self.log[from..] {
            if let Change::EdgeOpened { edge, lip } = *change {
                self.cloth.torn.grow(lip.index() + 1, false);
                (self.cloth.torn[edge], self.cloth.torn[lip]) = (true, true);
            }
        }
    }

    /// Turns edges around a node for the better; returns whether there were any.
    fn improve(&mut self, node: NodeId) -> bool {
        let mut any = false;
        for _ in 0..TRIES {
            let mesh = &self.cloth.mesh;
            let edges = mesh.fan(node).flat_map(|c| c.face().corners()).map(|c| mesh.edge(c));
            let gain = |e: EdgeId| {
                let [was, is] = mesh.flipped_heights(e)?;
                (is > was + GAIN && self.may_flip(e)).then_some((is - was, e))
            };
            let best = edges.filter_map(gain).max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
            let Some((_, e)) = best else { break };
            if !self.cloth.mesh.flip_edge(e, self.log) {
                break;
            }
            any = true;
        }
        any
    }

    /// True if an edge is no stitch, and the surface may move from its one diagonal to the other.
    fn may_flip(&self, e: EdgeId) -> bool {
        let mesh = &self.cloth.mesh;
        let c = mesh.edge_corner(e);
        let Some(d) = mesh.twin(c) else { return false };
        let nodes = [c, c.next(), c.prev(), d.prev()].map(|c| mesh.node(c));
        let alike = |view: usize| {
            let x = nodes.map(|n| self.x(n, view));
            let normal = |[a, b, c]: [Vec3; 3]| (b - a).cross(c - a).normalize_or_zero();
            let [a, b, o, p] = x;
            normal([a, b, o]).dot(normal([b, a, p])) > BENT
                && normal([p, b, o]).dot(normal([o, a, p])) > BENT
                && (self.clear)(view, x)
        };
        self.cloth.seams.of(e).is_none() && (0..self.views).all(alike)
    }

    /// Puts a node into the middle of the last edges of the lips, where they are long.
    fn divide(&mut self, tip: &Tip) {
        let length = tip.along().length();
        if length < LONG * self.edge {
            return;
        }
        let middle = tip.at.lerp(tip.back, 0.5);
        let sound = |mesh: &Mesh, e: EdgeId| {
            let c = mesh.edge_corner(e);
            let [a, b, o] = [c, c.next(), c.prev()].map(|c| mesh.uv(c));
            height_share([a, middle, o]).min(height_share([middle, b, o])) >= 0.5 * LEAST_HEIGHT
        };
        if !tip.lips.iter().all(|&e| sound(&self.cloth.mesh, e)) {
            return;
        }
        for e in tip.lips {
            let [a, b] = self.cloth.mesh.edge_nodes(e);
            let x = [0, 1].map(|view| {
                let view = view.min(self.views - 1);
                self.x(a, view).lerp(self.x(b, view), 0.5)
            });
            let node = self.cloth.mesh.split_edge(e, 0.5, self.log);
            self.moved.push((node, x));
        }
    }
}
