//! An exact cut: the cloth opens along a line drawn on the material, not along the edges beside it.
//!
//! Two passes over every straight stretch of the line, from a to b, with places on it measured by s = (p − a)·d̂ and d = d̂ × (p − a):
//!
//! 1. **Way.** Where the line would divide an edge poorly (a part below [`SHARE`] of it, or a height share below 0.15), the nearer end of the edge slides onto the line: in the material to its
//!    foot a + s d̂, in the world to where that point of the cloth is ([`Cloth::slide`]). Nodes near a corner or end of the line slide onto
//!    that. On the border and on lips of earlier cuts nodes slide along the border.
//! 2. **Walk.** From node to node: of the edges around the node, the line leaves through one, at t = d₀ / (d₀ − d₁) of its length. That edge is
//!    divided there ([`Mesh::split_edge`](ripstop_mesh::Mesh::split_edge)), or the walk goes to the node that lies on the line; an end inside a face divides the face. Where the cloth ends, the walk goes on
//!    where the line next enters a face: across the lips of an earlier cut, across holes, or never. The edges that were walked
//!    open at last.
//!
//! A division is never made if an edge would become shorter than `finest`, or a face would
//! get a height below [`LEAST`] of its longest side. There, and where a node can't slide (it is held, a corner of the border, an end of
//! a stitch, or its faces would become slivers), the walk goes through the nearer end of the edge. So:
//!
//! - no cut, and no number of cuts, leaves an angle below asin 0.06 = 3.4°, or what the mesh had before, or an edge shorter than
//!   `finest` by dividing;
//! - the cut lies on the line exactly, but for such nodes, which are off it by half an edge at most. A straight cut through fresh cloth is
//!   exact, unless it passes a corner of the border by less than an edge; one that runs closer than `finest` beside another wanders onto it. Ends inside and corners of the line are where they were asked for if their face can be divided there,
//!   and otherwise on the nearest edge or node.
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | d̂ | `along` | 1 | direction of the stretch |
//! | s | `at` | m | place along it |
//! | d | `off` | m | distance from it, positive to the left |
//! | t | | 1 | where on an edge the line crosses |
//! | | `finest` | m | shortest edge that is made |
//!
//! Source: own; the division of triangles where a blade meets them is Karaöz 2015 §3.3, who divides wherever they meet and says nothing of
//! slivers. Deviation: none of the three edges of his node–triangle cut opens but the one along the path.
//!
//! Limits: explicit integrators need far shorter steps after a cut ([`STEP`]), since faces along it are small; implicit and position-based ones don't. Slides can leave edges
//! shorter than `finest` (a quarter of it after 500 cuts). Sliding keeps mass, but strain and momentum only where neighbouring faces are strained and move alike, and on bent cloth it moves the surface by the bend
//! within one face. Where two patches have the same material coordinates, the line cuts the one whose face it enters first.

use super::nearest_on_line;
use crate::cloth::Cloth;
use crate::contact::distance::point_triangle;
use crate::criterion::star;
use crate::math::{Vec2, Vec3};
use ripstop_mesh::{Change, ChangeLog, CornerId, EdgeId, FaceId, NodeId, barycentric, height_share};

/// Where a part of a divided edge would be less than this share of it, its end slides instead.
pub const SHARE: f64 = 0.2;
/// Height over longest side that a face must have to be made by a cut.
pub const LEAST: f64 = 0.06;
/// The same, below which a node rather slides than an edge is divided: what is made first is divided again by the spokes of the next edge.
const POOR: f64 = 0.15;
/// Rounds of sliding: a slide can make room for another.
const ROUNDS: usize = 3;

/// The shortest edge that cuts make, over the mean edge of the cloth as it was at the start.
pub const FINEST: f64 = 0.15;

/// What the stable step of an explicit integrator may shrink to, over what it is at the start: measured, 0.037 after six cuts that cross each other.
pub const STEP: f64 = 0.03;

/// Opens the cloth exactly along the polyline `path` [m, material], making no edge shorter than `finest` [m]. What lies beside the cloth cuts nothing. The cloth must have
/// followed all earlier edits, and has to follow those that are added to `log`.
pub fn cut(cloth: &mut Cloth, path: &[Vec2], finest: f64, log: &mut ChangeLog) {
    cut_around(cloth, path, finest, &[], log);
}

/// The same, where nodes that are `fixed` don't slide.
pub fn cut_around(cloth: &mut Cloth, path: &[Vec2], finest: f64, fixed: &[NodeId], log: &mut ChangeLog) {
    let lines: Vec<Line> = path.windows(2).filter_map(|ends| Line::new(ends[0], ends[1])).collect();
    let Some(first) = lines.first() else { return };
    if path.iter().any(|p| !p.is_finite()) {
        return;
    }
    let tiny = 1e-9 * finest;
    let mut kept = fixed.to_vec();
    for point in std::iter::once(first.a).chain(lines.iter().map(|line| line.b)) {
        gather(cloth, point, &mut kept, log);
    }
    for line in &lines {
        make_way(cloth, line, Bounds { finest, tiny }, &mut kept, log);
    }
    let mut walk = Walk { cloth, log, bounds: Bounds { finest, tiny }, edges: Vec::new() };
    let mut at = None;
    for line in &lines {
        at = walk.along(line, at);
    }
    for e in walk.edges {
        walk.cloth.mesh.open_edge(e, walk.log);
    }
}

/// The stretches of a line in the world [m] that lie on the cloth, as lines on the material [m] for [`cut`]. The line is followed in steps of a mean edge;
/// points further than `within` [m] from the cloth are not on it. A point beyond the border belongs to the plane of the nearest face,
/// so that a line that leaves the cloth does so straight on.
pub fn trace(cloth: &Cloth, path: &[Vec3], within: f64) -> Vec<Vec<Vec2>> {
    let mesh = &cloth.mesh;
    let open = |c: CornerId| mesh.twin(c).is_none();
    let patch = |f: FaceId| {
        let [a, b, c] = f.corners();
        Patch { x: mesh.face_nodes(f).map(|n| cloth.x[n]), uv: mesh.face_uv(f), open: [b, c, a].map(open) }
    };
    trace_on(&mesh.faces().map(patch).collect::<Vec<_>>(), cloth.mean_edge(), path, within)
}

/// A triangle of cloth, as lines in the world are traced on it.
#[derive(Clone, Copy, Debug)]
pub struct Patch {
    /// Its corners in the world [m].
    pub x: [Vec3; 3],
    /// And on the material [m].
    pub uv: [Vec2; 3],
    /// True if there is no cloth beyond the side that is opposite to the corner.
    pub open: [bool; 3],
}

/// [`trace`] on any triangles, in steps of `step` [m].
pub fn trace_on(cloth: &[Patch], step: f64, path: &[Vec3], within: f64) -> Vec<Vec<Vec2>> {
    let length: f64 = path.windows(2).map(|ends| ends[0].distance(ends[1])).sum();
    if !length.is_finite() {
        return Vec::new();
    }
    // A line of more steps than that is far longer than the cloth.
    let step = step.max(length / MOST_STEPS);
    let mut runs: Vec<Vec<Vec2>> = vec![Vec::new()];
    let mut last: Option<(Vec2, Vec3)> = None;
    for ends in path.windows(2) {
        let length = ends[0].distance(ends[1]);
        let steps = (length / step).ceil() as usize;
        for i in usize::from(last.is_some())..=steps {
            let point = ends[0].lerp(ends[1], i as f64 / steps.max(1) as f64);
            let here = on_cloth(cloth, point, within).map(|uv| (uv, point));
            // A leap in the material is the border of a patch.
            let leaps = last.zip(here).is_some_and(|((a, p), (b, q))| a.distance(b) > LEAP * p.distance(q).max(step));
            if (here.is_none() || leaps) && runs.last().is_some_and(|run| !run.is_empty()) {
                runs.push(Vec::new());
            }
            if let (Some((uv, _)), Some(run)) = (here, runs.last_mut()) {
                run.push(uv);
            }
            last = here;
        }
    }
    runs.iter().map(|run| straighten(run, 1e-3 * step)).filter(|run| run.len() > 1).collect()
}

/// Most steps in which a line is followed.
const MOST_STEPS: f64 = 1e4;
/// Steps in the material that are longer than this many steps in the world lead to another patch.
const LEAP: f64 = 4.0;

/// The place in the material of the point of the cloth nearest to `point`, if there is one `within` a distance [m].
fn on_cloth(cloth: &[Patch], point: Vec3, within: f64) -> Option<Vec2> {
    let mut best: Option<(f64, &Patch, [f64; 3])> = None;
    let mut reach = within;
    for patch in cloth {
        let x = patch.x;
        let (low, high) = (x[0].min(x[1]).min(x[2]), x[0].max(x[1]).max(x[2]));
        if point.distance_squared(point.clamp(low, high)) > reach * reach {
            continue;
        }
        let nearest = point_triangle(point, x);
        let far = nearest.of(x).distance(point);
        if far <= reach && best.is_none_or(|(least, ..)| far < least) {
            best = Some((far, patch, nearest.weights));
            reach = far;
        }
    }
    let (_, patch, mut weights) = best?;
    if (0..3).any(|k| weights[k] == 0.0 && patch.open[k]) {
        let [a, b, c] = patch.x;
        let normal = (b - a).cross(c - a);
        let (v, w) = ((point - a).cross(c - a).dot(normal), (b - a).cross(point - a).dot(normal));
        let (v, w) = (v / normal.length_squared(), w / normal.length_squared());
        if v.is_finite() && w.is_finite() {
            weights = [1.0 - v - w, v, w];
        }
    }
    let uv = patch.uv;
    Some(uv[0] * weights[0] + uv[1] * weights[1] + uv[2] * weights[2])
}

/// Leaves out points of a line that are within `tolerance` [m] of the line without them (Douglas and Peucker 1973).
pub(crate) fn straighten(points: &[Vec2], tolerance: f64) -> Vec<Vec2> {
    let mut kept = vec![false; points.len()];
    let mut spans = vec![(0, points.len().saturating_sub(1))];
    while let Some((from, to)) = spans.pop() {
        if to >= points.len() {
            continue;
        }
        (kept[from], kept[to]) = (true, true);
        let far = |i: usize| points[i].distance(nearest_on_line(points[i], points[from], points[to]));
        let farthest = (from + 1..to).max_by(|&a, &b| far(a).total_cmp(&far(b)));
        if let Some(i) = farthest.filter(|&i| far(i) > tolerance) {
            spans.extend([(from, i), (i, to)]);
        }
    }
    points.iter().zip(kept).filter(|(_, kept)| *kept).map(|(p, _)| *p).collect()
}

/// A straight stretch of the line.
#[derive(Clone, Copy, Debug)]
struct Line {
    a: Vec2,
    b: Vec2,
    along: Vec2,
    length: f64,
}

impl Line {
    fn new(a: Vec2, b: Vec2) -> Option<Self> {
        let length = a.distance(b);
        (length > 0.0).then(|| Self { a, b, along: (b - a) / length, length })
    }

    fn off(&self, p: Vec2) -> f64 {
        self.along.perp_dot(p - self.a)
    }

    fn at(&self, p: Vec2) -> f64 {
        self.along.dot(p - self.a)
    }

    fn point(&self, s: f64) -> Vec2 {
        if s >= self.length { self.b } else { self.a + self.along * s }
    }

    /// The part of the line within a triangle, from `s0` to `s1` [m].
    fn within(&self, uv: [Vec2; 3]) -> Option<(f64, f64)> {
        let turn = (uv[1] - uv[0]).perp_dot(uv[2] - uv[0]).signum();
        let (mut from, mut to) = (0.0f64, self.length);
        for k in 0..3 {
            let side = (uv[(k + 1) % 3] - uv[k]) * turn;
            // Inside is to the left of every side: height + s · climb ≥ 0.
            let (height, climb) = (side.perp_dot(self.a - uv[k]), side.perp_dot(self.along));
            // A line along a side is inside: what climbs by rounding alone doesn't.
            if climb.abs() <= ALONG * side.length() {
                if height < -ALONG * side.length() * self.length {
                    return None;
                }
            } else if climb > 0.0 {
                from = from.max(-height / climb);
            } else {
                to = to.min(-height / climb);
            }
        }
        (from < to).then_some((from, to))
    }
}

/// A line at a smaller angle to a side of a face [rad] runs along it.
const ALONG: f64 = 1e-11;

/// What is too small.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// Shortest edge that is made [m].
    finest: f64,
    /// What counts as none, for rounding [m].
    tiny: f64,
}

impl Bounds {
    /// True if the edge of the half-edge `c` may be divided at the share `t` from its own node on, into faces with a height share of `least`.
    fn may_divide(&self, cloth: &Cloth, c: CornerId, t: f64, least: f64) -> bool {
        let mesh = &cloth.mesh;
        let sound = |(c, t): (CornerId, f64)| {
            let [a, b, o] = [c, c.next(), c.prev()].map(|c| mesh.uv(c));
            let m = a.lerp(b, t);
            m.distance(a).min(m.distance(b)).min(m.distance(o)) >= self.finest
                && height_share([a, m, o]).min(height_share([m, b, o])) >= least
        };
        t > 0.0 && t < 1.0 && [Some((c, t)), mesh.twin(c).map(|d| (d, 1.0 - t))].into_iter().flatten().all(sound)
    }
}

/// Slides what is near a corner or end of the line onto it.
fn gather(cloth: &mut Cloth, point: Vec2, kept: &mut Vec<NodeId>, log: &mut ChangeLog) {
    let near = |n: &NodeId| {
        let far = cloth.mesh.node_uv(*n).distance(point);
        far > 0.0 && star(&cloth.mesh, *n).all(|(_, spoke)| far < 2.0 * SHARE * spoke.length())
    };
    let nodes: Vec<NodeId> = cloth.mesh.nodes().filter(near).collect();
    for n in nodes {
        if !kept.contains(&n) && cloth.slide(n, point, log) {
            kept.push(n);
        }
    }
    kept.extend(cloth.mesh.nodes().filter(|&n| cloth.mesh.node_uv(n) == point));
}

/// Slides nodes onto the line where it would divide their edges badly.
fn make_way(cloth: &mut Cloth, line: &Line, bounds: Bounds, kept: &mut Vec<NodeId>, log: &mut ChangeLog) {
    let (low, high) = (line.a.min(line.b), line.a.max(line.b));
    let beside = |e: &EdgeId| {
        let c = cloth.mesh.edge_corner(*e);
        let (p, q) = (cloth.mesh.uv(c), cloth.mesh.uv(c.next()));
        p.max(q).cmpge(low).all() && p.min(q).cmple(high).all()
    };
    let mut edges: Vec<EdgeId> = cloth.mesh.edges().filter(beside).collect();
    // Nodes of the border have one way to go, so they choose first.
    edges.sort_by_key(|&e| !cloth.mesh.is_border_edge(e));
    for _ in 0..ROUNDS {
        let mut moved = false;
        for &e in &edges {
            let c = cloth.mesh.edge_corner(e);
            let (p, q) = (cloth.mesh.uv(c), cloth.mesh.uv(c.next()));
            let (from, to) = (line.off(p), line.off(q));
            if from.abs() < bounds.tiny || to.abs() < bounds.tiny || (from > 0.0) == (to > 0.0) {
                continue;
            }
            let t = from / (from - to);
            let crossing = p.lerp(q, t);
            let s = line.at(crossing);
            let well = (SHARE..=1.0 - SHARE).contains(&t) && bounds.may_divide(cloth, c, t, POOR);
            if s < -bounds.tiny || s > line.length + bounds.tiny || well {
                continue;
            }
            let nodes = cloth.mesh.edge_nodes(e);
            let ends = if t < 0.5 { [(nodes[0], p), (nodes[1], q)] } else { [(nodes[1], q), (nodes[0], p)] };
            for (n, uv) in ends {
                let foot = line.a + line.along * line.at(uv);
                if kept.contains(&n) || ![foot, crossing].into_iter().any(|place| cloth.slide(n, place, log)) {
                    continue;
                }
                kept.push(n);
                moved = true;
                break;
            }
        }
        if !moved {
            break;
        }
    }
}

/// What lies ahead of a node on the line.
#[derive(Clone, Copy, Debug)]
enum Ahead {
    /// A node on the line: this corner's.
    Node(CornerId),
    /// This half-edge, at this share from its own node on.
    Edge(CornerId, f64),
}

struct Walk<'a> {
    cloth: &'a mut Cloth,
    log: &'a mut ChangeLog,
    bounds: Bounds,
    /// Edges to open, in order.
    edges: Vec<EdgeId>,
}

impl Walk<'_> {
    /// Walks along `line` from the node and material place `at`, or from where it enters the cloth. Returns where it ends; none if outside.
    fn along(&mut self, line: &Line, mut at: Option<(NodeId, Vec2)>) -> Option<(NodeId, Vec2)> {
        let tiny = self.bounds.tiny;
        let mut s = 0.0;
        let mut been: Vec<NodeId> = at.iter().map(|&(n, _)| n).collect();
        while s < line.length - tiny {
            let Some((n, uv)) = at else {
                let (face, from, to) = self.entry(line, s)?;
                let (n, uv) = self.place(face, line.point(from));
                // A face whose nearest node has been passed is passed with it.
                s = if been.contains(&n) { to } else { from };
                if !been.contains(&n) {
                    been.push(n);
                    at = Some((n, uv));
                }
                continue;
            };
            s = f64::max(s, line.at(uv));
            at = match self.ahead(line, n, uv, s) {
                None => None,
                Some((there, _)) if there > line.length + tiny => return Some(self.end(line, n, uv)),
                Some((_, Ahead::Node(c))) => Some(self.go(n, self.cloth.mesh.node(c))),
                Some((there, Ahead::Edge(c, t))) => {
                    let node = self.divide(c, t).or_else(|| {
                        let mesh = &self.cloth.mesh;
                        let ends = [c, c.next()].map(|c| mesh.node(c));
                        let ends = if t < 0.5 { ends } else { [ends[1], ends[0]] };
                        ends.into_iter().find(|end| !been.contains(end))
                    });
                    if node.is_none() {
                        s = there;
                    }
                    node.map(|m| self.go(n, m))
                }
            };
            been.extend(at.map(|(n, _)| n));
        }
        at
    }

    /// Where the line first is inside a face after `s`: the face, and from where to where.
    fn entry(&self, line: &Line, s: f64) -> Option<(FaceId, f64, f64)> {
        let mesh = &self.cloth.mesh;
        let mut best: Option<(FaceId, f64, f64)> = None;
        for face in mesh.faces() {
            let Some((from, to)) = line.within(mesh.face_uv(face)) else { continue };
            let from = from.max(s);
            if to > from + self.bounds.tiny && best.is_none_or(|(_, first, _)| from < first) {
                best = Some((face, from, to));
            }
        }
        best
    }

    /// What the line meets last of the edges and nodes around `n`, which is at `uv`, and where on the line that is; none where the cloth ends.
    fn ahead(&self, line: &Line, n: NodeId, uv: Vec2, s: f64) -> Option<(f64, Ahead)> {
        let (mesh, tiny) = (&self.cloth.mesh, self.bounds.tiny);
        let mut best: Option<(f64, Ahead)> = None;
        let mut meet = |at: f64, what: Ahead| {
            if at > s + tiny && best.is_none_or(|(last, _)| at > last) {
                best = Some((at, what));
            }
        };
        // Corners elsewhere in the material belong to another patch.
        for c in mesh.fan(n).filter(|&c| mesh.uv(c).distance(uv) < tiny) {
            let (p, q) = (c.next(), c.prev());
            let (from, to) = (line.off(mesh.uv(p)), line.off(mesh.uv(q)));
            for (off, corner) in [(from, p), (to, q)] {
                if off.abs() < tiny {
                    meet(line.at(mesh.uv(corner)), Ahead::Node(corner));
                }
            }
            if from.abs() >= tiny && to.abs() >= tiny && (from > 0.0) != (to > 0.0) {
                let t = from / (from - to);
                meet(line.at(mesh.uv(p).lerp(mesh.uv(q), t)), Ahead::Edge(p, t));
            }
        }
        best
    }

    /// Ends the stretch in one of the faces around `n`.
    fn end(&mut self, line: &Line, n: NodeId, uv: Vec2) -> (NodeId, Vec2) {
        let mesh = &self.cloth.mesh;
        let least = |c: CornerId| {
            barycentric(mesh.face_uv(c.face()), line.b).map_or(f64::MIN, |w| w.into_iter().fold(1.0, f64::min))
        };
        let corners = mesh.fan(n).filter(|&c| mesh.uv(c).distance(uv) < self.bounds.tiny);
        let Some(c) = corners.max_by(|&a, &b| least(a).total_cmp(&least(b))).filter(|&c| least(c) > -1e-9) else {
            return (n, uv);
        };
        let (m, place) = self.place(c.face(), line.b);
        if m == n { (m, place) } else { self.go(n, m) }
    }

    /// Makes the edge between two nodes part of the cut; returns where that leads.
    fn go(&mut self, n: NodeId, m: NodeId) -> (NodeId, Vec2) {
        let mesh = &self.cloth.mesh;
        for c in mesh.fan(n) {
            for (side, end) in [(c, c.next()), (c.prev(), c.prev())] {
                if mesh.node(end) == m {
                    self.edges.push(mesh.edge(side));
                    return (m, mesh.uv(end));
                }
            }
        }
        debug_assert!(false, "the walk goes along edges");
        (m, mesh.node_uv(m))
    }

    /// A node at, or near, a point of a face.
    fn place(&mut self, face: FaceId, point: Vec2) -> (NodeId, Vec2) {
        let (mesh, finest) = (&self.cloth.mesh, self.bounds.finest);
        let corners = face.corners();
        let uv = corners.map(|c| mesh.uv(c));
        let weights = barycentric(uv, point).unwrap_or([1.0, 0.0, 0.0]);
        let far = |k: usize| uv[k].distance(point);
        let nearest = (0..3).min_by(|&a, &b| far(a).total_cmp(&far(b))).unwrap_or(0);
        if far(nearest) < self.bounds.tiny {
            return (mesh.node(corners[nearest]), uv[nearest]);
        }
        let part = |k: usize| height_share([uv[k], uv[(k + 1) % 3], point]);
        if (0..3).all(|k| part(k) >= LEAST && far(k) >= finest) {
            return (self.cloth.mesh.split_face(face, weights, self.log), point);
        }
        // Onto the edge that is nearest: opposite the smallest weight, in heights.
        let height = |k: usize| weights[k] / uv[(k + 1) % 3].distance(uv[(k + 2) % 3]);
        let k = (0..3).min_by(|&a, &b| height(a).total_cmp(&height(b))).unwrap_or(0);
        let (c, p, q) = (corners[(k + 1) % 3], uv[(k + 1) % 3], uv[(k + 2) % 3]);
        let t = (point - p).dot(q - p) / p.distance_squared(q);
        match self.divide(c, t) {
            Some(node) => (node, p.lerp(q, t)),
            // On the border only the border will do.
            None if weights[k] < 1e-9 => {
                let end = if t < 0.5 { (k + 1) % 3 } else { (k + 2) % 3 };
                (self.cloth.mesh.node(corners[end]), uv[end])
            }
            None => (self.cloth.mesh.node(corners[nearest]), uv[nearest]),
        }
    }

    /// Divides the edge of the half-edge `c` at the share `t` from its own node on, if that is sound.
    fn divide(&mut self, c: CornerId, t: f64) -> Option<NodeId> {
        if !self.bounds.may_divide(self.cloth, c, t, LEAST) {
            return None;
        }
        let mesh = &mut self.cloth.mesh;
        let e = mesh.edge(c);
        let node = mesh.split_edge(e, if mesh.edge_corner(e) == c { t } else { 1.0 - t }, self.log);
        // A path that crosses itself divides what it is to open.
        if let (true, Some(&Change::EdgeSplit { rest, .. })) = (self.edges.contains(&e), self.log.last()) {
            self.edges.push(rest);
        }
        Some(node)
    }
}

#[cfg(test)]
mod tests {
    use super::super::sheet;
    use super::*;
    use ripstop_mesh::{Mesh, generate, pieces};

    /// Random numbers in 0 … 1.
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 11) as f64 / (1u64 << 53) as f64
        }
        fn point(&mut self) -> Vec2 {
            Vec2::new(self.roll(), self.roll())
        }
    }

    fn finest(cloth: &Cloth) -> f64 {
        FINEST * cloth.mean_edge()
    }

    /// Cuts, follows, checks, and returns the log.
    fn cut_by(cloth: &mut Cloth, path: &[Vec2], finest: f64) -> ChangeLog {
        let mut log = ChangeLog::new();
        cut(cloth, path, finest, &mut log);
        cloth.follow(&log);
        cloth.mesh.check().unwrap();
        log
    }

    fn opened(cloth: &Cloth, log: &[Change]) -> Vec<[Vec2; 2]> {
        let ends = |e: EdgeId| [cloth.mesh.edge_corner(e), cloth.mesh.edge_corner(e).next()].map(|c| cloth.mesh.uv(c));
        let edge = |change: &Change| match *change {
            Change::EdgeOpened { edge, .. } => Some(ends(edge)),
            _ => None,
        };
        log.iter().filter_map(edge).collect()
    }

    fn meshes(seed: u64) -> [Mesh; 2] {
        [generate::grid(Vec2::ONE, [14, 14]).unwrap(), generate::irregular(Vec2::ONE, 0.07, seed).unwrap()]
    }

    fn lowest(mesh: &Mesh) -> f64 {
        mesh.faces().map(|f| height_share(mesh.face_uv(f))).fold(1.0, f64::min)
    }

    #[test]
    fn straight_cuts_through_fresh_cloth_are_exact() {
        let mut dice = Dice(1);
        for round in 0..100 {
            for mesh in meshes(round) {
                let mut cloth = sheet(mesh);
                // An edge and more away from the corners of the sheet, which can't slide.
                let (a, b) = (0.08 + 0.84 * dice.roll(), 0.08 + 0.84 * dice.roll());
                let finest = finest(&cloth);
                let log = cut_by(&mut cloth, &[Vec2::new(-0.1, a), Vec2::new(1.1, b)], finest);
                let line = Line::new(Vec2::new(-0.1, a), Vec2::new(1.1, b)).unwrap();
                let far = opened(&cloth, &log).iter().flatten().map(|&p| line.off(p).abs()).fold(0.0, f64::max);
                assert!(far < 1e-12, "round {round}: {far} m off the line from {a} to {b}");
                let mut areas = pieces(&cloth.mesh).areas;
                let below = 0.5 * (a + b);
                areas.sort_by(|x, y| (x - below).abs().total_cmp(&(y - below).abs()));
                assert_eq!(areas.len(), 2, "round {round}: {a} to {b}");
                assert!((areas[0] - below).abs() < 1e-12, "{areas:?} for {below}");
                assert!(lowest(&cloth.mesh) >= LEAST);
            }
        }
    }

    #[test]
    fn cuts_go_on_across_lips_and_turn() {
        for mesh in meshes(3) {
            let mut cloth = sheet(mesh);
            let finest = finest(&cloth);
            for x in [0.23, 0.52, 0.81] {
                cut_by(&mut cloth, &[Vec2::new(x, 0.0), Vec2::new(x, 1.0)], finest);
            }
            cut_by(&mut cloth, &[Vec2::new(0.0, 0.31), Vec2::new(0.37, 0.4), Vec2::new(1.0, 0.31)], finest);
            let areas = pieces(&cloth.mesh).areas;
            assert_eq!(areas.len(), 8, "{areas:?}");
            // Below the turning line: 0.31 and half of 0.09 more.
            let low = |x: f64| 0.31 * x + 0.5 * x * x * 0.09 / 0.37;
            let far = areas.iter().map(|a| (a - low(0.23)).abs()).fold(1.0, f64::min);
            assert!(far < 1e-3, "{areas:?} for {}", low(0.23));
        }
    }

    #[test]
    fn a_closed_line_cuts_out_its_inside() {
        let corners =
            [(0.3, 0.31), (0.74, 0.28), (0.69, 0.71), (0.27, 0.66), (0.3, 0.31)].map(|(u, v)| Vec2::new(u, v));
        let area = 0.5 * corners.windows(2).map(|p| p[0].perp_dot(p[1])).sum::<f64>();
        for mesh in meshes(5) {
            let mut cloth = sheet(mesh);
            let finest = finest(&cloth);
            cut_by(&mut cloth, &corners, finest);
            let areas = pieces(&cloth.mesh).areas;
            assert_eq!(areas.len(), 2);
            // Corners may be off by a quarter of an edge; the sides are 1.7 m long.
            assert!((areas[1] - area).abs() < 0.5 * 0.25 * 0.07 * 1.7, "{areas:?} for {area}");
        }
    }

    #[test]
    fn an_end_inside_is_where_it_was_asked_for() {
        let mut dice = Dice(7);
        for round in 0..20 {
            for mesh in meshes(round) {
                let mut cloth = sheet(mesh);
                let (a, b) = (dice.point() * 0.8 + 0.1, dice.point() * 0.8 + 0.1);
                let finest = finest(&cloth);
                let log = cut_by(&mut cloth, &[a, b], finest);
                if a.distance(b) < 0.2 {
                    continue;
                }
                let slit = opened(&cloth, &log);
                let length: f64 = slit.iter().map(|[p, q]| p.distance(*q)).sum();
                assert_eq!(pieces(&cloth.mesh).areas.len(), 1);
                // An end may be off by half an edge.
                assert!((length - a.distance(b)).abs() < 0.07, "{length} m for {a} to {b}");
                let nearest = |p: Vec2| slit.iter().flatten().map(|q| q.distance(p)).fold(1.0, f64::min);
                assert!(nearest(a).max(nearest(b)) < 0.035, "{} and {} m off", nearest(a), nearest(b));
            }
        }
    }

    #[test]
    fn what_is_no_line_on_the_cloth_does_nothing() {
        let whole = sheet(generate::grid(Vec2::ONE, [7, 7]).unwrap());
        let (p, out) = (Vec2::splat(0.4), Vec2::new(1.5, 0.0));
        let nan = Vec2::new(f64::NAN, 0.0);
        for path in [&[][..], &[p], &[p, p], &[out, out + Vec2::Y], &[p, nan, out], &[nan, nan], &[p, Vec2::INFINITY]] {
            let mut cloth = whole.clone();
            assert!(cut_by(&mut cloth, path, 0.01).is_empty(), "{path:?}");
            assert!(cloth == whole);
        }
    }

    #[test]
    fn the_same_cut_again_opens_nothing() {
        for mesh in meshes(2) {
            let mut cloth = sheet(mesh);
            let finest = finest(&cloth);
            let path = [Vec2::new(0.1, 0.21), Vec2::new(0.83, 0.67)];
            let log = cut_by(&mut cloth, &path, finest);
            assert!(!opened(&cloth, &log).is_empty());
            let log = cut_by(&mut cloth, &path, finest);
            assert!(opened(&cloth, &log).is_empty(), "{log:?}");
        }
    }

    #[test]
    fn a_line_in_the_world_is_traced_on_the_cloth() {
        // A sheet rolled to a half pipe: a line along it, from outside to outside, above it.
        let mut cloth = sheet(generate::irregular(Vec2::ONE, 0.05, 3).unwrap());
        let round = |uv: Vec2| {
            let (sin, cos) = crate::math::sin_cos(std::f64::consts::PI * (uv.x - 0.5));
            Vec3::new(sin, uv.y * std::f64::consts::PI, cos) / std::f64::consts::PI
        };
        for n in cloth.mesh.nodes() {
            cloth.x[n] = round(cloth.mesh.node_uv(n));
        }
        let (top, side) = (Vec3::Z * 0.01, Vec2::new(0.62, 0.0));
        let path = [round(side - Vec2::Y * 0.3) + top, round(side + Vec2::Y * 1.3) + top];
        let runs = trace(&cloth, &path, 0.06);
        assert_eq!(runs.len(), 1);
        for p in &runs[0] {
            assert!((p.x - 0.62).abs() < 0.01, "{p}");
        }
        let finest = finest(&cloth);
        cut_by(&mut cloth, &runs[0], finest);
        let areas = pieces(&cloth.mesh).areas;
        assert!(areas.len() == 2 && (areas[0].max(areas[1]) - 0.62).abs() < 0.01, "{areas:?}");
        assert!(trace(&cloth, &[Vec3::splat(9.0), Vec3::splat(10.0)], 0.06).is_empty());
        assert!(trace(&cloth, &[Vec3::NAN, Vec3::ZERO], 0.06).is_empty());
    }

    #[test]
    fn no_needles_after_500_cuts() {
        let meshes = [generate::grid(Vec2::ONE, [8, 8]).unwrap(), generate::irregular(Vec2::ONE, 0.12, 11).unwrap()];
        for mesh in meshes {
            let mut cloth = sheet(mesh);
            // A map that is the same everywhere: whatever slides must stay on it.
            let place = |uv: Vec2| Vec3::new(1.2 * uv.x, 0.9 * uv.y + 0.1 * uv.x, 0.3 * uv.x - 0.2 * uv.y);
            let turned = |p: Vec3| Vec3::new(p.y, p.z, p.x);
            for n in cloth.mesh.nodes() {
                (cloth.x[n], cloth.v[n]) = (place(cloth.mesh.node_uv(n)), turned(place(cloth.mesh.node_uv(n))));
            }
            let (finest, mass, start) = (finest(&cloth), cloth.mass.iter().sum::<f64>(), lowest(&cloth.mesh));
            let mut dice = Dice(5);
            for _ in 0..500 {
                let a = dice.point() * 1.2 - 0.1;
                let path = [a, a + (dice.point() - 0.5) * 0.7, a + (dice.point() - 0.5)];
                let mut log = ChangeLog::new();
                cut(&mut cloth, &path, finest, &mut log);
                cloth.follow(&log);
            }
            cloth.mesh.check().unwrap();
            assert!(lowest(&cloth.mesh) >= start.min(LEAST), "{}", lowest(&cloth.mesh));
            assert!((cloth.mesh.area() - 1.0).abs() < 1e-9);
            assert!((cloth.mass.iter().sum::<f64>() / mass - 1.0).abs() < 1e-9);
            for n in cloth.mesh.nodes() {
                let uv = cloth.mesh.node_uv(n);
                assert!(cloth.x[n].distance(place(uv)) < 1e-9);
                // Masses have changed places, and momentum is kept: velocities are a little off the map.
                let off = cloth.v[n].distance(turned(place(uv)));
                assert!(off < 0.05, "{off} m/s");
            }
            for e in cloth.mesh.edges() {
                assert!((cloth.woven[e] - cloth.mesh.edge_length(e)).abs() < 1e-15);
            }
        }
    }
}
