//! All that can touch: points, edges and triangles of bodies and cloth in one numbering, and which of them are near each other.
//!
//! Points of bodies come first, nodes of the cloth after them, so that numbers stay as they are when the cloth tears. A pair is a point with
//! a triangle or an edge with an edge, never of one body and never with a corner in common.
//!
//! Pairs are found from pairs of triangles, each point and edge being asked for by one of its triangles only. A list of pairs
//! stays good as long as no point has moved by more than half of the slack that it was made with; in small steps that is
//! many steps.

use super::row::{NOBODY, Row};
use super::tree::{Swept, Tree};
use crate::body::{Bodies, Body};
use crate::cloth::Cloth;
use crate::math::Vec3;
use crate::parallel;
use glam::Vec3A;
use serde::{Deserialize, Serialize};

/// Two things that may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Pair {
    /// A point and a triangle.
    PointFace(u32, u32),
    /// Two edges, the smaller number first.
    EdgeEdge(u32, u32),
}

/// A triangle and what it asks for.
#[derive(Clone, Copy, Debug)]
struct Face {
    points: [u32; 3],
    edges: [u32; 3],
    /// Bit k: it asks for its point k; bit 3 + k: for its edge k.
    owns: u8,
}

/// True if cloth meets the body: not if it holds some of it, which could be anywhere in it.
fn meets(body: &Body) -> bool {
    body.ties.is_empty()
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
    faces: Vec<Face>,
    edges: Vec<[u32; 2]>,
    /// The triangle that asks for each point, and for each edge.
    face_of: (Vec<u32>, Vec<u32>),
    /// Where all points are at the beginning of the step [m].
    pub start: Vec<Vec3>,
    /// Where they are now [m].
    pub now: Vec<Vec3>,
    tree: Tree,
    built: bool,
    origin: Vec3,
    single: Vec<(Vec3A, Vec3A)>,
    lists: Vec<Vec<Pair>>,
    /// Pairs that may touch.
    pub pairs: Vec<Pair>,
    /// Where points were when the pairs were listed, and half the slack of the list; no list if negative.
    listed: Vec<Vec3>,
    listed_from: Vec<Vec3>,
    slack: f64,
}

impl Field {
    /// Takes points, edges and triangles of bodies and cloth anew: at the beginning, and after edits of the cloth.
    pub fn link(&mut self, cloth: &Cloth, bodies: &Bodies, on_itself: bool) {
        self.on_itself = on_itself;
        self.faces.clear();
        self.edges.clear();
        self.body_of.clear();
        for (b, body) in bodies.iter().enumerate().filter(|(_, body)| meets(body)) {
            let (first, first_edge) = (self.body_of.len() as u32, self.edges.len() as u32);
            let surface = &body.surface;
            self.body_of.resize(self.body_of.len() + surface.points.len(), b as u32);
            self.edges.extend(surface.edges.iter().map(|e| e.map(|p| p + first)));
            let edge = |a: u32, b: u32| {
                let at = surface.edges.binary_search(&[a.min(b), a.max(b)]);
                first_edge + at.unwrap_or_default() as u32
            };
            self.faces.extend(surface.triangles.iter().map(|&[a, b, c]| Face {
                points: [a + first, b + first, c + first],
                edges: [edge(a, b), edge(b, c), edge(c, a)],
                owns: 0,
            }));
        }
        (self.body_points, self.body_faces) = (self.body_of.len(), self.faces.len());
        let (first, first_edge) = (self.body_points as u32, self.edges.len() as u32);
        let mesh = &cloth.mesh;
        self.edges.extend(mesh.edges().map(|e| mesh.edge_nodes(e).map(|n| n.0 + first)));
        self.faces.extend(mesh.faces().map(|f| Face {
            points: mesh.face_nodes(f).map(|n| n.0 + first),
            edges: f.corners().map(|c| mesh.edge(c).0 + first_edge),
            owns: 0,
        }));
        let (points, edges) = &mut self.face_of;
        points.clear();
        points.resize(self.body_points + mesh.node_count(), u32::MAX);
        edges.clear();
        edges.resize(self.edges.len(), u32::MAX);
        for (f, face) in self.faces.iter_mut().enumerate() {
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
        self.built = false;
        self.slack = -1.0;
    }

    /// True if the point belongs to a body.
    #[inline]
    pub fn is_body(&self, point: u32) -> bool {
        (point as usize) < self.body_points
    }

    /// The four points of a pair: the point and the three of the triangle, or two and two.
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
        }
    }

    /// Which way two things lie apart whose nearest points coincide, as those of the lips of a fresh tear do: from the middle of a triangle of one to that of the other.
    pub fn beside(&self, pair: Pair) -> Option<Vec3> {
        let (a, b) = match pair {
            Pair::PointFace(p, f) => (self.face_of.0[p as usize], f),
            Pair::EdgeEdge(e, f) => (self.face_of.1[e as usize], self.face_of.1[f as usize]),
        };
        let middle = |f: u32| {
            self.faces.get(f as usize).map(|face| face.points.iter().map(|&p| self.start[p as usize]).sum::<Vec3>())
        };
        (middle(a)? - middle(b)?).try_normalize()
    }

    /// Sets where all points are, at the beginning of the step or now.
    pub fn place(out: &mut Vec<Vec3>, cloth: &[Vec3], bodies: &Bodies, before: bool) {
        out.clear();
        for (b, body) in bodies.iter().enumerate().filter(|(_, body)| meets(body)) {
            let pose = if before { bodies.pose_before(b) } else { bodies.pose(b) };
            out.extend(body.surface.points.iter().map(|&p| pose.apply(p)));
        }
        out.extend_from_slice(cloth);
    }

    /// Sets where all points would be at the end of a step of `h` [s] if they went on as they move now.
    pub fn foresee(&mut self, v: &[Vec3], bodies: &Bodies, h: f64) {
        let Self { start, now, body_of, body_points, .. } = self;
        now.clear();
        now.extend(
            start[..*body_points].iter().zip(&*body_of).map(|(x, &b)| *x + bodies.velocity_at(b as usize, *x) * h),
        );
        now.extend(start[*body_points..].iter().zip(v).map(|(x, v)| *x + *v * h));
    }

    /// True if the list of pairs is complete for points that go from where it was made to `x`, or rest there.
    fn is_listed(&self, x: &[Vec3]) -> bool {
        if self.slack < 0.0 || x.len() != self.listed.len() {
            return false;
        }
        let limit = (0.5 * self.slack) * (0.5 * self.slack);
        x.iter().zip(&self.listed).all(|(a, b)| a.distance_squared(*b) <= limit)
    }

    /// Lists the pairs that come as near as `reach` [m] to each other between the beginning of the step and now. The list stays good while nothing moves further than half of
    /// `slack` [m]. True if there is a new list.
    pub fn list(&mut self, reach: f64, slack: f64) -> bool {
        // The way to where the list was made is in it from the same beginning.
        let same = self.slack >= 0.0 && self.listed_from == self.start;
        if (same || self.is_listed(&self.start)) && self.is_listed(&self.now) {
            return false;
        }
        let Self { start, now, single, tree, faces, edges, origin, .. } = self;
        let mut largest = 0.0f64;
        *origin = start.last().copied().unwrap_or_default();
        single.resize(start.len(), (Vec3A::ZERO, Vec3A::ZERO));
        for x in start.iter().chain(&*now) {
            largest = largest.max((*x - *origin).abs().max_element());
        }
        parallel::for_each(single, |i, single| {
            *single = ((start[i] - *origin).as_vec3a(), (now[i] - start[i]).as_vec3a());
        });
        let at = |p: u32| single[p as usize];
        if !self.built {
            let middle = |f: &Face| f.points.iter().map(|&p| at(p).0).sum::<Vec3A>() / 3.0;
            tree.build(&faces.iter().map(middle).collect::<Vec<_>>(), self.body_faces as u32);
        }
        let boxed = |f: u32| Swept::of(faces[f as usize].points.map(at));
        // Built anew next time if it has become bad.
        self.built = tree.refit(boxed);
        // What single precision rounds away of two places and two displacements.
        let reach = (reach + slack + 1e-6 * largest) as f32;
        let (body_faces, on_itself) = (self.body_faces as u32, self.on_itself);
        let take = |f: u32, g: u32, f_box: &Swept, g_box: &Swept, list: &mut Vec<Pair>| {
            if !on_itself && f >= body_faces && g >= body_faces {
                return;
            }
            let (fs, gs) = (&faces[f as usize], &faces[g as usize]);
            for k in 0..3 {
                let p = fs.points[k];
                if fs.owns >> k & 1 == 1 && !gs.points.contains(&p) && Swept::of([at(p)]).may_meet(g_box, reach) {
                    list.push(Pair::PointFace(p, g));
                }
                let p = gs.points[k];
                if gs.owns >> k & 1 == 1 && !fs.points.contains(&p) && Swept::of([at(p)]).may_meet(f_box, reach) {
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
                    if apart && e_box.may_meet(&Swept::of([at(c), at(d)]), reach) {
                        list.push(Pair::EdgeEdge(e.min(o), e.max(o)));
                    }
                }
            }
        };
        tree.pairs(reach, take, &mut self.lists);
        self.pairs.clear();
        self.lists.iter().for_each(|list| self.pairs.extend_from_slice(list));
        self.listed.clear();
        self.listed.extend_from_slice(&self.now);
        self.listed_from.clear();
        self.listed_from.extend_from_slice(&self.start);
        self.slack = slack;
        true
    }
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
