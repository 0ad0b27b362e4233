//! All that can touch: points, edges and triangles of bodies and cloth in one numbering, and which of them are near each other.
//!
//! To cloth that is fine beside it a ball is one point, its middle, with a radius: nodes and triangles of the cloth meet it by their distance from there, so it is round and costs a pair for each of them.
//! Of other bodies cloth meets the triangles.
//!
//! Points of bodies come first, nodes of the cloth after them, so that numbers stay as they are when the cloth tears. A pair is a point with
//! a triangle or an edge with an edge, never of one body and never with a corner in common.
//!
//! Pairs are found from pairs of triangles, each point and edge being asked for by one of its triangles only. A list is made for some steps to come, in which every point is taken to go on as
//! it moves now, and stays good as long as none is farther from that way than half of the slack that the list was made with. If few are, only their pairs are looked for anew.
//! Pairs that a plane keeps apart by more than reach and slack all that time are not in it: in flat cloth there are none. What is listed changes no result, only how soon it is there.

use super::distance::{edge_edge, point_triangle};
use super::flat::Flat;
use super::nearest;
use super::row::{NOBODY, Row};
use super::tree::{Swept, Tree};
use crate::body::{Bodies, Body, Shape};
use crate::cloth::Cloth;
use crate::math::{Vec3, mapped};
use crate::parallel;
use glam::Vec3A;
use ripstop_mesh::{EdgeId, FaceId, Id};
use serde::{Deserialize, Serialize};

/// Two things that may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Pair {
    /// A point and a triangle.
    PointFace(u32, u32),
    /// Two edges, the smaller number first.
    EdgeEdge(u32, u32),
    /// The middle of a ball and a node.
    BallNode(u32, u32),
}

/// A distance in single precision that is no larger.
pub fn rounded_down(distance: f64) -> f32 {
    (distance * (1.0 - 1e-6)) as f32
}

/// A triangle and what it asks for.
#[derive(Clone, Copy, Debug)]
struct Face {
    points: [u32; 3],
    edges: [u32; 3],
    /// Bit k: it asks for its point k; bit 3 + k: for its edge k.
    owns: u8,
    /// It is no longer part of the cloth: nothing meets it.
    retired: bool,
}

/// True if cloth meets the body: not if it holds some of it, which could be anywhere in it.
fn meets(body: &Body) -> bool {
    body.ties.is_empty()
}

/// A ball is met as it is by cloth whose edges are at most this share of its radius: then nodes are dense enough to keep it off in every direction. Coarser cloth meets its triangles.
const FINE: f64 = 0.2;

/// The radius of a body that is met as a ball [m], by cloth with edges of this length [m] in the mean; zero if it isn't.
fn radius(body: &Body, edge: f64) -> f64 {
    match body.shape {
        Shape::Ball { radius } if body.surface.sharp.is_empty() && edge <= FINE * radius => radius,
        _ => 0.0,
    }
}

/// The points by which a body is met, in its own coordinates [m]; of one that is met as a ball its middle.
pub fn points(body: &Body, radius: f64) -> &[Vec3] {
    if radius > 0.0 { &[Vec3::ZERO] } else { &body.surface.points }
}

/// Everything that can touch.
#[derive(Default)]
pub struct Field {
    /// Points of bodies: the first ones.
    pub body_points: usize,
    /// Triangles of bodies: the first ones.
    body_faces: usize,
    /// Pairs of the cloth with itself count.
    on_itself: bool,
    /// Body of each point of a body.
    pub body_of: Vec<u32>,
    /// Radius of each point of a body [m]: zero but for the middle of a ball.
    radii: Vec<f64>,
    /// The same of each body.
    pub round: Vec<f64>,
    /// Points of the edges that cut, in order.
    pub sharp: Vec<[u32; 2]>,
    /// Of each point of a body: it belongs to such an edge.
    keen: Vec<bool>,
    /// Of each body: its triangles, if it has such edges.
    honed: Vec<std::ops::Range<u32>>,
    /// Of each point: it is a node that is held.
    held: Vec<bool>,
    faces: Vec<Face>,
    edges: Vec<[u32; 2]>,
    /// The triangle that asks for each point, and for each edge.
    face_of: (Vec<u32>, Vec<u32>),
    /// Where all points are at the beginning of the step [m].
    pub start: Vec<Vec3>,
    /// Where they are now [m].
    pub now: Vec<Vec3>,
    tree: Tree,
    flat: Flat,
    /// Triangles that are retired.
    gone: Vec<FaceId>,
    built: bool,
    origin: Vec3,
    /// Where points are at time zero of the list, from the origin, and by how much they move until its end.
    single: Vec<(Vec3A, Vec3A)>,
    /// Largest coordinate among these [m].
    largest: f64,
    /// Triangles with a point that has strayed.
    lively: Vec<bool>,
    lists: Vec<Vec<Pair>>,
    /// Pairs that may touch.
    pub pairs: Vec<Pair>,
    /// Their distances at the beginning of the step, rounded down [m]; negative if not known.
    pub apart: Vec<f32>,
    /// Points that are elsewhere than the list takes them to be; none if all are listed anew.
    strayed: Vec<bool>,
    /// Points of triangles that have changed since the list was made.
    changed: Vec<bool>,
    /// Triangles have joined the tree since then.
    relinked: bool,
    /// Where the list takes every point to be at its time zero [m], and its velocity [m/s].
    ways: Vec<(Vec3, Vec3)>,
    /// Slack of the list [m]; no list if negative.
    slack: f64,
    /// Time of the list at the beginning of the step, its length, and the last time of the list [s].
    clock: f64,
    h: f64,
    until: f64,
}

impl Field {
    /// Takes points, edges and triangles of bodies and cloth anew: at the beginning, and after edits of the cloth.
    pub fn link(&mut self, cloth: &Cloth, bodies: &Bodies, on_itself: bool) {
        self.on_itself = on_itself;
        let (body_faces, body_points) = (self.body_faces, self.body_points);
        self.faces.clear();
        self.edges.clear();
        self.body_of.clear();
        self.radii.clear();
        let edge = cloth.mean_edge();
        self.round.clear();
        self.round.extend(bodies.iter().map(|body| radius(body, edge)));
        self.sharp.clear();
        let mut flat: Vec<u32> = Vec::new();
        self.honed.clear();
        self.honed.resize(bodies.len(), 0..0);
        for (b, body) in bodies.iter().enumerate().filter(|(_, body)| meets(body)) {
            let (first, first_edge) = (self.body_of.len() as u32, self.edges.len() as u32);
            let surface = &body.surface;
            let radius = self.round[b];
            self.body_of.resize(self.body_of.len() + points(body, radius).len(), b as u32);
            self.radii.resize(self.body_of.len(), radius);
            if radius > 0.0 {
                continue;
            }
            self.edges.extend(surface.edges.iter().map(|e| e.map(|p| p + first)));
            flat.extend(surface.flat.iter().map(|e| e + first_edge));
            self.sharp.extend(surface.sharp.iter().map(|&e| surface.edges[e as usize].map(|p| p + first)));
            let edge = |a: u32, b: u32| {
                let at = surface.edges.binary_search(&[a.min(b), a.max(b)]);
                first_edge + at.unwrap_or_default() as u32
            };
            if !surface.sharp.is_empty() {
                let faces = self.faces.len() as u32;
                self.honed[b] = faces..faces + surface.triangles.len() as u32;
            }
            self.faces.extend(surface.triangles.iter().map(|&[a, b, c]| Face {
                points: [a + first, b + first, c + first],
                edges: [edge(a, b), edge(b, c), edge(c, a)],
                owns: 0,
                retired: false,
            }));
        }
        (self.body_points, self.body_faces) = (self.body_of.len(), self.faces.len());
        self.keen.clear();
        self.keen.resize(self.body_points, false);
        self.sharp.iter().flatten().for_each(|&p| self.keen[p as usize] = true);
        let (first, first_edge) = (self.body_points as u32, self.edges.len() as u32);
        let mesh = &cloth.mesh;
        // Numbers are those of the mesh, so what is retired has its rows.
        self.edges.extend((0..mesh.edge_count()).map(|e| mesh.edge_nodes(EdgeId::new(e)).map(|n| n.0 + first)));
        self.faces.extend((0..mesh.face_count()).map(FaceId::new).map(|f| Face {
            points: mesh.face_nodes(f).map(|n| n.0 + first),
            edges: f.corners().map(|c| mesh.edge(c).0 + first_edge),
            owns: 0,
            retired: mesh.is_retired_face(f),
        }));
        let points_now = self.body_points + mesh.node_count();
        let (points, edges) = &mut self.face_of;
        points.clear();
        points.resize(points_now, u32::MAX);
        edges.clear();
        edges.resize(self.edges.len(), u32::MAX);
        // Nobody asks for these.
        flat.iter().for_each(|&e| edges[e as usize] = 0);
        for (f, face) in self.faces.iter_mut().enumerate().filter(|(_, face)| !face.retired) {
            for k in 0..3 {
                for (asked, bit) in
                    [(&mut points[face.points[k] as usize], k), (&mut edges[face.edges[k] as usize], 3 + k)]
                {
                    if *asked == u32::MAX {
                        *asked = f as u32;
                        face.owns |= 1 << bit;
                    }
                }
            }
        }
        let changed = self.flat.link(cloth);
        // What was listed of triangles that have gone is good no more, nor are their places in the tree.
        if self.gone != mesh.retired().faces {
            self.gone.clone_from(&mesh.retired().faces);
            (self.built, self.slack) = (false, -1.0);
        }
        // After edits the tree stays as it is but for what is new.
        let (first, flat) = (self.body_faces as u32, &self.flat);
        let beside = |f: u32| flat.beside(f.checked_sub(first)?).map(|g| g + first);
        self.built &= body_faces == self.body_faces && self.tree.extend(self.faces.len(), beside);
        if self.built {
            let marked: Vec<bool> = std::iter::repeat_n(false, body_faces).chain(changed.iter().copied()).collect();
            self.flat.forget_changed(&changed, &self.tree.marked(&marked));
        }
        self.relinked = true;
        let round_only = self.body_faces == 0 && !on_itself;
        if !(self.built || round_only) || body_points != self.body_points || self.ways.len() > points_now {
            self.slack = -1.0;
        }
        if self.slack >= 0.0 {
            // What was listed of triangles that are as they were is good still.
            self.changed.resize(points_now, true);
            for (face, _) in self.faces[self.body_faces..].iter().zip(&changed).filter(|(_, changed)| **changed) {
                face.points.iter().for_each(|&p| self.changed[p as usize] = true);
            }
        }
    }

    /// Radius of the ball of a pair [m]; zero if there is none.
    #[inline]
    pub fn radius(&self, pair: Pair) -> f64 {
        match pair {
            Pair::PointFace(p, _) | Pair::BallNode(p, _) => self.radii.get(p as usize).copied().unwrap_or(0.0),
            Pair::EdgeEdge(..) => 0.0,
        }
    }

    /// True if the point belongs to a body.
    #[inline]
    pub fn is_body(&self, point: u32) -> bool {
        (point as usize) < self.body_points
    }

    /// Takes from one over their masses [1/kg] which nodes are held.
    pub fn hold(&mut self, inverse_mass: &[f64]) {
        self.held.clear();
        self.held.resize(self.body_points, false);
        self.held.extend(inverse_mass.iter().map(|w| *w == 0.0));
    }

    /// True if all corners of a pair but one are held nodes. Where two grips meet, nothing of the cloth can keep them apart: its free corners would be thrown aside, so they pass.
    #[inline]
    pub fn is_gripped(&self, corners: [u32; 4]) -> bool {
        corners.iter().filter(|&&p| self.held[p as usize]).count() > 2
    }

    /// True if the point belongs to an edge that cuts.
    #[inline]
    pub fn is_keen(&self, point: u32) -> bool {
        self.keen.get(point as usize).is_some_and(|keen| *keen)
    }

    /// The triangles of the body of a pair if it has edges that cut; none of all others.
    #[inline]
    pub fn honed(&self, corners: [u32; 4]) -> std::ops::Range<u32> {
        if self.sharp.is_empty() {
            return 0..0;
        }
        let body = corners.iter().find_map(|&p| self.body_of.get(p as usize));
        body.map_or(0..0, |&b| self.honed[b as usize].clone())
    }

    /// From the nearest point of a whole blade to where a pair of it is near the cloth; none if the pair has that point itself. On a thin blade cloth is within reach of many triangles, and of all but
    /// one of them from a direction in which there is nothing. Blades have few triangles, so all are asked.
    pub fn nearer(
        &self,
        corners: [u32; 4],
        weights: [f64; 4],
        distance: f64,
        at: impl Fn(u32) -> Vec3,
    ) -> Option<Vec3> {
        let (mut place, mut sign) = (Vec3::ZERO, 0.0);
        for (&p, w) in corners.iter().zip(weights) {
            if !self.is_body(p) {
                (place, sign) = (place + at(p) * w, sign + w);
            }
        }
        let place = if sign > 0.0 { place } else { -place };
        let apart = |f: u32| {
            let x = self.faces[f as usize].points.map(&at);
            place - point_triangle(place, x).of(x)
        };
        let least = self.honed(corners).map(apart).min_by(|a, b| a.length().total_cmp(&b.length()));
        let sign = if sign > 0.0 { 1.0 } else { -1.0 };
        least.filter(|apart| apart.length() < distance * (1.0 - 1e-3) - 1e-9).map(|apart| apart * sign)
    }

    /// The points of an edge.
    #[inline]
    pub fn edge(&self, edge: u32) -> [u32; 2] {
        self.edges[edge as usize]
    }

    /// The four points of a pair: the point and the three of the triangle, or two and two, or the ball's and three times the node.
    #[inline]
    pub fn corners(&self, pair: Pair) -> [u32; 4] {
        match pair {
            Pair::PointFace(p, f) => {
                let [a, b, c] = self.faces[f as usize].points;
                [p, a, b, c]
            }
            Pair::EdgeEdge(e, f) => {
                let ([a, b], [c, d]) = (self.edges[e as usize], self.edges[f as usize]);
                [a, b, c, d]
            }
            Pair::BallNode(p, n) => [p, n, n, n],
        }
    }

    /// Which way two things lie apart whose nearest points coincide, as those of the lips of a fresh tear do: from the middle of a triangle of one to that of the other. Across the
    /// surface of a body, on the side on which the cloth's triangle lies: the middle of a large triangle, as a floor has them, says nothing about the place.
    pub fn beside(&self, pair: Pair) -> Option<Vec3> {
        let (a, b) = match pair {
            Pair::PointFace(p, f) => (self.face_of.0[p as usize], f),
            Pair::EdgeEdge(e, f) => (self.face_of.1[e as usize], self.face_of.1[f as usize]),
            Pair::BallNode(..) => return None,
        };
        let corners = |f: u32| self.faces.get(f as usize).map(|face| face.points.map(|p| self.start[p as usize]));
        let ([a, b], [first, second]) = ([corners(a)?, corners(b)?], [a, b].map(|f| (f as usize) < self.body_faces));
        let middle = |x: [Vec3; 3]| x[0] + x[1] + x[2];
        let across = |body: [Vec3; 3], cloth: [Vec3; 3]| {
            let normal = (body[1] - body[0]).cross(body[2] - body[0]).normalize_or_zero();
            if normal.dot(middle(cloth) - body[0] * 3.0) < 0.0 { -normal } else { normal }
        };
        match (first, second) {
            (false, true) => across(b, a).try_normalize(),
            (true, false) => (-across(a, b)).try_normalize(),
            _ => (middle(a) - middle(b)).try_normalize(),
        }
    }

    /// Sets where all points are, at the beginning of the step or now, with the radii of bodies that are met as balls.
    pub fn place(out: &mut Vec<Vec3>, round: &[f64], cloth: &[Vec3], bodies: &Bodies, before: bool) {
        out.clear();
        for (b, body) in bodies.iter().enumerate().filter(|(_, body)| meets(body)) {
            let pose = if before { bodies.pose_before(b) } else { bodies.pose(b) };
            out.extend(points(body, round[b]).iter().map(|&p| pose.apply(p)));
        }
        out.extend_from_slice(cloth);
    }

    /// Begins a step of `h` [s], after the last one: sets where all points would be at its end if they went on as they move now. `speed` is the velocity [m/s] of a body
    /// at a place [m].
    pub fn foresee(&mut self, v: &[Vec3], speed: impl Fn(usize, Vec3) -> Vec3, h: f64) {
        (self.clock, self.h) = (self.clock + self.h, h);
        let Self { start, now, body_of, body_points, .. } = self;
        now.clear();
        now.extend(start[..*body_points].iter().zip(&*body_of).map(|(x, &b)| *x + speed(b as usize, *x) * h));
        now.extend(start[*body_points..].iter().zip(v).map(|(x, v)| *x + *v * h));
    }

    /// True if there is nothing to list: cloth doesn't meet itself, and all of it stays farther than `reach` [m] from all bodies.
    fn is_far(&self, reach: f64) -> bool {
        if self.on_itself {
            return false;
        }
        let around = |from: usize, to: usize| {
            let ends = self.start[from..to].iter().zip(&self.now[from..to]);
            // What is no number is in every box.
            let none = (Vec3::INFINITY, Vec3::NEG_INFINITY, Vec3::ZERO);
            let (low, high, sound) = ends.fold(none, |(low, high, sound), (a, b)| {
                (low.min(*a).min(*b), high.max(*a).max(*b), sound + (*a + *b) * 0.0)
            });
            (low + sound, high + sound)
        };
        let radius = self.radii.iter().copied().fold(0.0, f64::max);
        let ((low, high), (least, most)) = (around(0, self.body_points), around(self.body_points, self.start.len()));
        let gap = (low - most).max(least - high).max_element();
        gap > reach + radius
    }

    /// True if the list is good for this step. Otherwise notes what has strayed, if that is little. Asked again in the same step, only what has `moved` since needs a look.
    fn is_listed(&mut self, moved: Option<&[bool]>) -> bool {
        let Self { start, now, strayed, changed, ways, slack, clock, h, until, .. } = self;
        strayed.clear();
        if *slack < 0.0 {
            changed.clear();
        }
        if *slack < 0.0 || ways.len() > now.len() {
            return false;
        }
        // New points are among those that have changed.
        ways.resize(now.len(), (Vec3::ZERO, Vec3::ZERO));
        changed.resize(now.len(), false);
        let (begin, end) = (*clock, *clock + *h);
        if end > *until * (1.0 + 1e-9) {
            return false;
        }
        let limit = (0.5 * *slack) * (0.5 * *slack);
        let (mut count, mut total) = (0, 0);
        strayed.extend(start.iter().zip(&*now).zip(&*ways).enumerate().map(|(i, ((start, now), &(place, by)))| {
            total += 1;
            if moved.is_some_and(|moved| !moved[i]) && !changed[i] {
                return false;
            }
            // Straight ways that are near at both ends are near all the time. What is no number has strayed.
            let near = (*start - place - by * begin).length_squared().max((*now - place - by * end).length_squared());
            let strayed = changed[i] || near.is_nan() || near > limit;
            count += usize::from(strayed);
            strayed
        }));
        // A list is mended only if that is much less work.
        if count == 0 || 2 * count > total {
            strayed.clear();
        }
        count == 0
    }

    /// Takes the ways of all points, or of those that have strayed, to be as they are now.
    fn set_ways(&mut self) {
        let Self { start, now, strayed, ways, clock, h, until, .. } = self;
        if strayed.is_empty() {
            (*clock, *until) = (0.0, STEPS * *h);
            ways.clear();
            ways.extend(start.iter().zip(&*now).map(|(start, now)| (*start, (*now - *start) / *h)));
            return;
        }
        for (i, way) in ways.iter_mut().enumerate().filter(|(i, _)| strayed[*i]) {
            let by = (now[i] - start[i]) / *h;
            *way = (start[i] - by * *clock, by);
        }
    }

    /// Lists the pairs that come as near as `reach` [m] to each other between the beginning of the step and now. The list stays good while nothing moves further than half of
    /// `slack` [m] from where it would go. True if there is a new list. Asked again in the same step, only points that have `moved` since are looked at.
    pub fn list(&mut self, reach: f64, slack: f64, moved: Option<&[bool]>) -> bool {
        if self.is_far(reach) {
            self.pairs.clear();
            self.apart.clear();
            // Good for this time alone.
            self.slack = -1.0;
            return true;
        }
        if self.is_listed(moved) {
            return false;
        }
        self.changed.fill(false);
        self.set_ways();
        let Self { ways, single, largest, tree, flat, faces, edges, origin, strayed, lively, until, .. } = self;
        let all = strayed.is_empty();
        if all {
            *origin = ways.last().map_or(Vec3::ZERO, |way| way.0);
            *largest = 0.0;
        }
        single.resize(ways.len(), (Vec3A::ZERO, Vec3A::ZERO));
        // The whole time of the list, also where it was mended later: so boxes of different age fit together.
        for (i, (single, &(place, by))) in single.iter_mut().zip(&*ways).enumerate() {
            if all || strayed[i] {
                let (x, u) = (place - *origin, by * *until);
                *largest = largest.max(x.abs().max((x + u).abs()).max_element());
                *single = (x.as_vec3a(), u.as_vec3a());
            }
        }
        let largest = *largest;
        let at = |p: u32| single[p as usize];
        let boxed = |f: u32| Swept::of(mapped(faces[f as usize].points, at));
        let stray = |points: &[u32]| all || points.iter().any(|&p| strayed[p as usize]);
        // With nothing but balls to meet there is nothing that a tree could find.
        let round_only = self.body_faces == 0 && !self.on_itself;
        let new = !self.built && !round_only;
        if new {
            let middle = |f: &Face| f.points.iter().map(|&p| at(p).0).sum::<Vec3A>() / 3.0;
            let there = |f: u32| !faces[f as usize].retired;
            tree.build_of(&faces.iter().map(middle).collect::<Vec<_>>(), self.body_faces as u32, there);
            flat.forget();
        }
        // Built anew next time if it has become bad.
        if (all || new || std::mem::take(&mut self.relinked)) && !round_only {
            self.built = tree.refit(boxed);
        }
        if !all && !round_only {
            lively.clear();
            lively.extend(faces.iter().map(|face| stray(&face.points)));
            tree.enliven(lively, boxed);
        }
        // What single precision rounds away of two places and two displacements.
        let reach = (reach + slack + 1e-6 * largest) as f32;
        let (body_faces, on_itself) = (self.body_faces as u32, self.on_itself);
        let take = |f: u32, g: u32, f_box: &Swept, g_box: &Swept, list: &mut Vec<Pair>| {
            if !on_itself && f >= body_faces && g >= body_faces {
                return;
            }
            let (fs, gs) = (&faces[f as usize], &faces[g as usize]);
            let (f_strayed, g_strayed) = (stray(&fs.points), stray(&gs.points));
            if (!f_strayed && !g_strayed) || open_fan(fs.points, gs.points, at, reach) {
                return;
            }
            for k in 0..3 {
                let p = fs.points[k];
                if fs.owns >> k & 1 == 1
                    && (g_strayed || stray(&[p]))
                    && !gs.points.contains(&p)
                    && Swept::of([at(p)]).may_meet(g_box, reach)
                    && !stays_out(at(p), mapped(gs.points, at), reach)
                {
                    list.push(Pair::PointFace(p, g));
                }
                let p = gs.points[k];
                if gs.owns >> k & 1 == 1
                    && (f_strayed || stray(&[p]))
                    && !fs.points.contains(&p)
                    && Swept::of([at(p)]).may_meet(f_box, reach)
                    && !stays_out(at(p), mapped(fs.points, at), reach)
                {
                    list.push(Pair::PointFace(p, f));
                }
            }
            if fs.owns >> 3 == 0 || gs.owns >> 3 == 0 {
                return;
            }
            for i in (0..3).filter(|i| fs.owns >> (3 + i) & 1 == 1) {
                let e = fs.edges[i];
                let [a, b] = edges[e as usize];
                let e_box = Swept::of([at(a), at(b)]);
                if !e_box.may_meet(g_box, reach) {
                    continue;
                }
                for j in (0..3).filter(|j| gs.owns >> (3 + j) & 1 == 1) {
                    let o = gs.edges[j];
                    let [c, d] = edges[o as usize];
                    let apart = a != c && a != d && b != c && b != d;
                    if apart
                        && stray(&[a, b, c, d])
                        && e_box.may_meet(&Swept::of([at(c), at(d)]), reach)
                        && !stay_apart([at(a), at(b)], [at(c), at(d)], reach)
                    {
                        list.push(Pair::EdgeEdge(e.min(o), e.max(o)));
                    }
                }
            }
        };
        if on_itself {
            let some = if all || new { None } else { Some(&lively[..]) };
            flat.place(tree, body_faces, some, |f| mapped(faces[f + body_faces as usize].points, at));
        }
        let calm = |nodes: (u32, u32), of: [&[u32]; 2]| !on_itself || flat.is_calm(nodes, of, reach, largest as f32);
        if round_only {
            self.lists.clear();
        } else {
            tree.pairs(reach, calm, take, &mut self.lists);
        }
        let mut round = Vec::new();
        for (p, &radius) in self.radii.iter().enumerate().filter(|(_, radius)| **radius > 0.0) {
            let (p, reach) = (p as u32, reach + radius as f32 * (1.0 + 1e-6));
            let (ball, ball_strayed) = (Swept::of([at(p)]), stray(&[p]));
            let meets = |n: u32| ball.may_meet(&Swept::of([at(n)]), reach);
            let ball_at = at(p);
            for n in self.body_points as u32..ways.len() as u32 {
                // A node that no triangle asks for is retired.
                if self.face_of.0[n as usize] != u32::MAX && (ball_strayed || stray(&[n])) && meets(n) {
                    round.push(Pair::BallNode(p, n));
                }
            }
            for (f, face) in faces.iter().enumerate().skip(body_faces as usize).filter(|(_, face)| !face.retired) {
                let near = (ball_strayed || stray(&face.points)) && ball.may_meet(&boxed(f as u32), reach);
                if near && !stays_out(ball_at, mapped(face.points, at), reach) {
                    round.push(Pair::PointFace(p, f as u32));
                }
            }
        }
        self.keep_unstrayed();
        self.lists.iter().chain([&round]).for_each(|list| self.pairs.extend_from_slice(list));
        self.apart.resize(self.pairs.len(), -1.0);
        self.slack = slack;
        true
    }

    /// Finds the distances at the beginning of the step that aren't known yet.
    pub fn measure(&mut self) {
        let mut apart = std::mem::take(&mut self.apart);
        parallel::for_each(&mut apart, |i, apart| {
            if *apart < 0.0 {
                let pair = self.pairs[i];
                let (_, between) = nearest(pair, mapped(self.corners(pair), |p| self.start[p as usize]));
                *apart = rounded_down((between.length() - self.radius(pair)).max(0.0));
            }
        });
        self.apart = apart;
    }

    /// Leaves of the list what is still good.
    fn keep_unstrayed(&mut self) {
        let mut kept = 0;
        if !self.strayed.is_empty() {
            for i in 0..self.pairs.len() {
                let pair = self.pairs[i];
                if !self.corners(pair).iter().any(|&p| self.strayed[p as usize]) {
                    (self.pairs[kept], self.apart[kept]) = (pair, self.apart[i]);
                    kept += 1;
                }
            }
        }
        self.pairs.truncate(kept);
        self.apart.truncate(kept);
    }
}

/// Where something begins and by how much it moves, in single precision.
type Way = (Vec3A, Vec3A);

/// True if all points of one thing stay farther than `reach` from all of another along `n`, from the first of which they are measured.
#[inline(always)]
fn separates<const M: usize, const N: usize>(n: Vec3A, one: [Way; M], other: [Way; N], reach: f32) -> bool {
    let (x, u) = one[0];
    let (mut begin, mut end) = (f32::INFINITY, f32::INFINITY);
    let (mut begin_other, mut end_other) = (f32::NEG_INFINITY, f32::NEG_INFINITY);
    for (y, v) in one {
        let (from, by) = (n.dot(y - x), n.dot(v - u));
        (begin, end) = (begin.min(from), end.min(from + by));
    }
    for (y, v) in other {
        let (from, by) = (n.dot(y - x), n.dot(v - u));
        (begin_other, end_other) = (begin_other.max(from), end_other.max(from + by));
    }
    (begin - begin_other).min(end - end_other) > reach * n.length()
}

/// True if a plane is found that keeps a point farther than `reach` from a triangle all the time.
#[inline]
fn stays_out(p: Way, triangle: [Way; 3], reach: f32) -> bool {
    let [(a, _), (b, _), (c, _)] = triangle;
    if separates(p.0 - (a + b + c) / 3.0, [p], triangle, reach) {
        return true;
    }
    let x = mapped([a, b, c], |x| (x - p.0).as_dvec3());
    let n = -point_triangle(Vec3::ZERO, x).of(x);
    separates(n.as_vec3a(), [p], triangle, reach)
}

/// True if a plane is found that keeps two edges farther apart than `reach` all the time.
#[inline]
fn stay_apart(one: [Way; 2], other: [Way; 2], reach: f32) -> bool {
    let ([(a, _), (b, _)], [(c, _), (d, _)]) = (one, other);
    let (along, apart) = (b - a, (a + b) - (c + d));
    let across = apart - along * (along.dot(apart) / along.length_squared());
    if separates(across, one, other, reach) {
        return true;
    }
    let [b, c, d] = mapped([b, c, d], |x| (x - a).as_dvec3());
    let (s, t) = edge_edge([Vec3::ZERO, b], [c, d]);
    let n = b * s - (c + (d - c) * t);
    separates(n.as_vec3a(), one, other, reach)
}

/// Steps that a list is made for. One that is made at the end of a step, by the way that things have gone, is good at the beginning of the next as well, since they are taken to go on so.
const STEPS: f64 = 2.0;

/// True if two triangles that share one point stay apart otherwise, by more than `reach`: along the line between their middles each lies on its side of that point, and its
/// two other points lie that far from it.
#[inline]
fn open_fan(f: [u32; 3], g: [u32; 3], at: impl Fn(u32) -> (Vec3A, Vec3A), reach: f32) -> bool {
    let mut shared = None;
    for i in 0..3 {
        for j in 0..3 {
            if f[i] == g[j] {
                if shared.is_some() {
                    return false;
                }
                shared = Some((i, j));
            }
        }
    }
    let Some((i, j)) = shared else { return false };
    let (x, u) = at(f[i]);
    let (b, c) = (at(f[(i + 1) % 3]), at(f[(i + 2) % 3]));
    let (d, e) = (at(g[(j + 1) % 3]), at(g[(j + 2) % 3]));
    let way = (b.0 + c.0) - (d.0 + e.0);
    // How far a point is on its side at the nearest, at the beginning or at the end.
    let far = |(y, v): (Vec3A, Vec3A), side: Vec3A| side.dot(y - x) + side.dot(v - u).min(0.0);
    let least = far(b, way).min(far(c, way)).min(far(d, -way)).min(far(e, -way));
    least > reach * way.length()
}

impl Field {
    /// The row of a pair whose corners have these weights, without direction and settings.
    pub fn row(&self, corners: [u32; 4], weights: [f64; 4], bodies: &Bodies) -> Row {
        let (mut nodes, mut own) = ([0; 4], [0.0; 4]);
        let (mut body, mut sign, mut place) = (NOBODY, 0.0, Vec3::ZERO);
        let mut first = None;
        for (k, (&p, w)) in corners.iter().zip(weights).enumerate() {
            if self.is_body(p) {
                body = self.body_of[p as usize];
                sign += w;
                place += self.start[p as usize] * w;
            } else {
                (nodes[k], own[k]) = (p - self.body_points as u32, w);
                first = first.or(Some(nodes[k]));
            }
        }
        // Corners of bodies stand for a node that is there, with weight zero.
        for (k, &p) in corners.iter().enumerate() {
            if self.is_body(p) {
                nodes[k] = first.unwrap_or_default();
            }
        }
        if body == NOBODY {
            return Row::new(nodes, own, (NOBODY, 0.0, Vec3::ZERO));
        }
        let sign = if sign > 0.0 { 1.0 } else { -1.0 };
        Row::new(nodes, own, (body, sign, place * sign - bodies.middle(body as usize)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::{BodySpec, Pose, Shape};
    use crate::cloth::Placement;
    use crate::contact::distance::{edge_edge_squared, point_triangle_squared};
    use crate::math::hash_unit;
    use ripstop_mesh::{Vec2, generate};

    const REACH: f64 = 0.004;

    /// True if all that comes near at the beginning, in the middle or at the end of the step is listed: of the cloth with itself, and of its nodes with a body.
    fn is_whole(field: &Field) -> bool {
        let mut listed = field.pairs.clone();
        listed.sort_unstable();
        let mut whole = true;
        let mut ask = |pair: Pair, time: f64| {
            let c = field.corners(pair);
            let [a, b, c, d] = c.map(|p| field.start[p as usize].lerp(field.now[p as usize], time));
            let squared = match pair {
                Pair::PointFace(..) => point_triangle_squared(a, [b, c, d]),
                Pair::EdgeEdge(..) => edge_edge_squared([a, b], [c, d]),
                Pair::BallNode(..) => a.distance_squared(b),
            };
            whole &= squared >= REACH * REACH || listed.binary_search(&pair).is_ok();
        };
        let first = field.body_points as u32;
        for time in [0.0, 0.5, 1.0] {
            for (p, f) in (first..field.start.len() as u32).flat_map(|p| (0..field.faces.len()).map(move |f| (p, f))) {
                let there = field.face_of.0[p as usize] != u32::MAX && !field.faces[f].retired;
                if there && !field.faces[f].points.contains(&p) {
                    ask(Pair::PointFace(p, f as u32), time);
                }
            }
            let there = |e: usize| field.face_of.1[e] != u32::MAX;
            for (e, [a, b]) in field.edges.iter().enumerate().filter(|(_, e)| !field.is_body(e[0])) {
                for (o, [c, d]) in field.edges.iter().enumerate().skip(e + 1) {
                    if there(e) && there(o) && a != c && a != d && b != c && b != d {
                        ask(Pair::EdgeEdge(e as u32, o as u32), time);
                    }
                }
            }
        }
        whole
    }

    #[test]
    fn a_list_that_is_mended_leaves_out_nothing_that_comes_near() {
        let place = Placement { warp: Vec3::Z, ..Placement::default() };
        let mut cloth = Cloth::flat(generate::irregular(Vec2::splat(0.3), 0.03, 4).unwrap(), 0.2, place);
        // Folded over itself, above a box.
        for x in cloth.x.iter_mut().filter(|x| x.x > 0.15) {
            (x.x, x.y) = (0.3 - x.x, 0.006 + 0.01 * (x.x - 0.15));
        }
        let spec =
            BodySpec::new("box", Shape::Box { sides: Vec3::splat(0.1) }).at(Pose::at(Vec3::new(0.1, -0.053, 0.1)));
        let bodies = Bodies::new(vec![spec], Vec3::ZERO).unwrap();
        let mut field = Field::default();
        field.link(&cloth, &bodies, true);
        let (slack, h) = (0.003, 0.01);
        let (mut mended, mut anew) = (0, 0);
        for step in 0..40u64 {
            let noise = |key: u64, k: u64| 2.0 * hash_unit(1000 * step + k, key) - 1.0;
            let wild = |key: u64| Vec3::new(noise(key, 1), noise(key, 2), noise(key, 3));
            // All of it sways; every third step some of it goes its own way, and now and then all of it.
            let sway = Vec3::new(0.0, 0.3 * noise(0, 9), 0.1);
            let share = match step % 6 {
                2 => 0.1,
                5 => 1.0,
                _ => 0.0,
            };
            for (n, v) in cloth.v.iter_mut().enumerate() {
                let own = if hash_unit(step, n as u64) < share { 0.5 } else { 0.02 };
                *v = sway + wild(n as u64) * own;
            }
            Field::place(&mut field.start, &field.round, &cloth.x, &bodies, false);
            field.foresee(&cloth.v, |b, x| bodies.velocity_at(b, x), h);
            for other in [false, true] {
                if other {
                    // Some end elsewhere than was foreseen.
                    let first = field.body_points;
                    for (n, x) in field.now[first..].iter_mut().enumerate().filter(|(n, _)| n % 7 == step as usize % 7)
                    {
                        *x += wild(1000 + n as u64) * 0.003;
                    }
                }
                let new = field.list(REACH, slack, None);
                mended += u32::from(new && !field.strayed.is_empty());
                anew += u32::from(new && field.strayed.is_empty());
                assert!(is_whole(&field), "step {step}");
            }
            cloth.x.copy_from_slice(&field.now[field.body_points..]);
        }
        assert!(mended > 3 && anew > 3, "{mended} mended, {anew} anew");
        assert!(!field.pairs.is_empty());
    }

    #[test]
    fn a_list_that_is_mended_after_tears_leaves_out_nothing_that_comes_near() {
        let place = Placement { warp: Vec3::Z, ..Placement::default() };
        let mut cloth = Cloth::flat(generate::irregular(Vec2::splat(0.3), 0.03, 4).unwrap(), 0.2, place);
        for x in cloth.x.iter_mut().filter(|x| x.x > 0.15) {
            (x.x, x.y) = (0.3 - x.x, 0.006 + 0.01 * (x.x - 0.15));
        }
        let ball = BodySpec::new("ball", Shape::Ball { radius: 0.2 }).at(Pose::at(Vec3::new(0.1, -0.204, 0.1)));
        let bodies = Bodies::new(vec![ball], Vec3::ZERO).unwrap();
        let mut field = Field::default();
        field.link(&cloth, &bodies, true);
        assert_eq!(field.body_points, 1, "a ball is one point");
        let mut mended = 0;
        for step in 0..33u32 {
            if step % 3 == 2 {
                let mut log = ripstop_mesh::ChangeLog::new();
                let e = cloth.mesh.edges().cycle().nth(17 * step as usize).unwrap();
                if step < 24 {
                    cloth.mesh.split_edge(e, 0.4, &mut log);
                    cloth.mesh.open_edge(e, &mut log);
                    cloth.mesh.open_edge(EdgeId(e.0 + 1), &mut log);
                } else {
                    for e in cloth.mesh.edges().step_by(19) {
                        cloth.mesh.merge(cloth.mesh.edge_nodes(e)[0], e, &mut log);
                    }
                    assert!(!log.is_empty());
                }
                cloth.follow(&log);
                field.link(&cloth, &bodies, true);
            }
            Field::place(&mut field.start, &field.round, &cloth.x, &bodies, false);
            field.foresee(&cloth.v, |b, x| bodies.velocity_at(b, x), 0.01);
            let new = field.list(REACH, 0.003, None);
            mended += u32::from(new && !field.strayed.is_empty());
            assert!(is_whole(&field), "step {step}");
            let near = |n: usize| (field.start[0].distance(field.start[n]) - 0.2).abs() < REACH;
            let listed = |n: usize| field.pairs.contains(&Pair::BallNode(0, n as u32));
            let gone = |n: usize| cloth.mesh.is_retired_node(ripstop_mesh::NodeId(n as u32 - 1));
            assert!((1..field.start.len()).all(|n| gone(n) || !near(n) || listed(n)), "step {step}: nodes at the ball");
            let names = |p: u32| p > 0 && gone(p as usize);
            assert!(
                !field.pairs.iter().any(|&pair| field.corners(pair).into_iter().any(names)),
                "step {step}: retired"
            );
        }
        assert!(mended > 3, "{mended} mended");
    }
}
