//! Blades: sharp edges of bodies cut the cloth that they pass through.
//!
//! A sharp edge is an ordinary contact while the cloth resists, and a knife from there on:
//!
//! F = Z v + P ≥ R
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | F | | N/m | force along the edge with which whole cloth would meet it |
//! | Z | `impedance` | kg/(m²·s) | 2 √(density × stretch): a sheet that is hit along a line at speed v answers with Z v, by waves that run off to both sides |
//! | v | | m/s | speed of the edge against the cloth, in whatever direction: drawn along itself it cuts too |
//! | P | `pressed` | N/m | force of its contacts in the step before, over the mean edge of the cloth |
//! | R | `resistance` | N/m | resistance of the fabric to being cut |
//!
//! **In the step.** Where F ≥ R a sharp edge (its points, and the sides of the blade where they are nearest by the sharp edge) makes no [row](super::row), so that the cloth
//! isn't pushed ahead of it. In a step every sharp edge sweeps a ribbon from where it was to
//! where it is. The ribbon is met with every face of the cloth in the face's own, moving, frame (u, v in its plane, height above it), in pieces of time no longer than the way of a mean
//! edge; where the height is zero is where the blade has been, on the material. These stretches are joined into lines, and the cloth is opened along them
//! ([`opening::cut`](crate::opening::cut)). That is done twice: before the step for what it would pass through if everything went on as it moves now, so that contact and integration see the lips; and when cloth and bodies have moved, for what
//! was passed through all the same, with the same edits of the cloth as it was at the beginning, so that the last pass of contact sees lips that part where the blade passes between them. The flat sides of
//! the blade push them aside as any body does. Points go in likewise: the edges that meet there sweep a slit to both sides of it. Near a blade, where the cloth is bent, no node slides.
//!
//! **Slits go on.** A ribbon is a little longer than the step. Where a line ends at the blade within [`REACH`] mean edges ahead of the tip of a slit, that tip goes on to it and [`LEAD`] mean edges further the way that the blade goes against the cloth around,
//! by sliding within the material ([`opening::tip`](crate::opening::tip)), when it has less than [`LEFT`] of that left: so a slit ends where the blade is and at most [`LEAD`] + [`NEAR`] mean edges and two thicknesses ahead of it. Where the blade has turned by more than 25°, the tip
//! stays where the blade turned, and a new one goes on from there. Near the border or another slit the cloth between parts. A line elsewhere begins a slit, as far ahead of the blade. What is nearer than [`BESIDE`] mean edges to lips and not ahead of a tip is left out, so nothing is cut
//! beside a slit in which the blade stands while the cloth swings (Karaöz 2015 §4.3 met that, and advises shorter steps). The mesh itself is the memory of where slits end, so there is nothing to keep from step to step.
//!
//! **Contact of blades.** On thin bodies the nearest point of one triangle is often hidden behind another. So for bodies with sharp edges, rows and impulses act only along the way from the nearest point of the whole body, of what meets a node in a step the first comes first, edges within a plane are left out,
//! and lips may pass by at a hundredth of the thickness.
//!
//! **Work.** A free body loses R × thickness × length of the slit of its energy of motion, and the momentum that goes with it.
//!
//! Source: sharp nodes and edges, the threshold per fabric, and cutting in the pass that finds collisions are Karaöz 2015 §3.3. Deviations: he divides the
//! triangle that is hit, at the place of the hit, and opens what is nearest to the motion; here the slit is the blade's way itself.
//!
//! Limits: no measured R is known as force per length, so values are estimates. A sharp edge cuts as a whole: if F ≥ R at one
//! of the faces that it sweeps, then at all. A slit that turns is off by what it was ahead of the blade at the turn. Where patches overlap in the material, see [`opening::cut`](crate::opening::cut). Steps in which a blade would go further than half a mean edge are divided, into 32 parts at most; a faster blade may catch lips. All triangles of a blade are asked for each
//! place that is near, so it should have hundreds at most. A blade that is moved across its own plane, with its flat side first, is up to 0.7 edges behind its slit (measured at 76°).

use super::field::{Field, Pair};
use super::{Contacts, Memory, distance};
use crate::body::{Bodies, Pose};
use crate::cloth::Cloth;
use crate::fabric::Fabric;
use crate::math::{Vec2, Vec3};
use crate::opening::cut::straighten;
use crate::opening::nearest_on_line;
use crate::opening::tip::Tip;
use ripstop_mesh::{CornerId, EdgeId, FaceId, NodeId};

/// How cloth resists blades.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cutting {
    /// Force along an edge from which on it cuts [N/m].
    pub resistance: f64,
    /// Force along an edge over the speed with which it hits the cloth [kg/(m²·s)].
    pub impedance: f64,
}

impl Cutting {
    /// That of a fabric.
    pub fn of(fabric: &Fabric) -> Self {
        Self { resistance: fabric.cut_resistance, impedance: 2.0 * (fabric.density * fabric.stretch).sqrt() }
    }
}

/// What a blade has cut in a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Stroke {
    /// Number of the body.
    pub body: u32,
    /// Line on the material [m].
    pub path: Vec<Vec2>,
    /// The tip that goes on along the line, if a slit goes on.
    pub tip: Option<NodeId>,
    /// Which ends of the line are at the blade: a tip is to be just there.
    pub at_blade: [bool; 2],
}

/// Nearer than so many mean edges to the lips of a slit nothing is cut but from its tip on.
pub const BESIDE: f64 = 1.0;

/// A slit goes so many mean edges ahead of where a blade can come, and at most by [`NEAR`] and two thicknesses more ahead of the blade. With less, thick blades strain stiff cloth at the tip until it tears by load (`karaoz/sword`
/// does up to 0.3, and again from 0.45 on).
pub const LEAD: f64 = 0.35;

/// A tip goes on when it has less than this share of [`LEAD`] left: moved in every step it would cost more and gain nothing.
const LEFT: f64 = 0.7;

/// A tip further than so many mean edges from where the blade goes is another one's.
const REACH: f64 = 0.9;

/// A slit goes round a corner where the blade goes at an angle of this cosine to it (25°); below that its last edge turns, by half of it at a time.
const CORNER: f64 = 0.906;

/// No corner is nearer than so many mean edges to the node of the lips behind it.
const BEHIND: f64 = 0.35;

/// Where a border or another slit is nearer than so many mean edges ahead of a tip, the cloth between them parts.
const LAST: f64 = 0.35;

/// Most pieces of time that a ribbon is divided into.
const MOST_PIECES: f64 = 64.0;

/// A blade comes no nearer to the tip of its slit than two thicknesses and this many mean edges.
const NEAR: f64 = 0.05;

/// Turns of a line by less than so many mean edges aren't followed: every turn needs a node.
const STRAIGHT: f64 = 0.03;

/// What is nearer than so many mean edges is the cloth around a blade.
const AROUND: f64 = 5.0;

/// Faces at a larger angle to each other [rad] are bent: a node that slides by half an edge of centimetres then leaves the surface by a tenth of a millimetre.
const BENT: f64 = 0.02;

/// Stretches of a line that are nearer to each other than this many mean edges are joined.
const JOINED: f64 = 0.02;

impl Contacts {
    /// Takes the force of the step before on every sharp edge from what contacts remember.
    pub(super) fn press(&mut self, cloth: &Cloth) {
        let Self { field, pressed, memory, .. } = self;
        pressed.clear();
        pressed.resize(field.sharp.len(), 0.0);
        if pressed.is_empty() {
            return;
        }
        let edge = cloth.mean_edge();
        for &Memory { pair, push, .. } in memory.iter() {
            let mut press = |k: usize| pressed[k] = f64::max(pressed[k], push / edge);
            match pair {
                Pair::EdgeEdge(e, f) => [e, f].into_iter().filter_map(|e| field.sharp_edge(e)).for_each(&mut press),
                Pair::PointFace(p, _) => field.sharp_at(p).for_each(&mut press),
                Pair::BallNode(..) => {}
            }
        }
    }

    /// True if the nearer side of a pair is sharp and cuts there, so that it is no contact.
    pub(super) fn is_cutting(&self, pair: Pair, weights: [f64; 4], cloth: &Cloth, bodies: &Bodies) -> bool {
        let Self { field, pressed, cutting: Some(cutting), .. } = self else { return false };
        if field.sharp.is_empty() {
            return false;
        }
        let corners = field.corners(pair);
        let Some(&on) = corners.iter().find(|&&p| field.is_keen(p)) else { return false };
        let sharp: Vec<usize> = match pair {
            Pair::BallNode(..) => return false,
            Pair::EdgeEdge(e, f) => [e, f].into_iter().filter_map(|e| field.sharp_edge(e)).collect(),
            Pair::PointFace(p, _) if field.is_body(p) => field.sharp_at(p).collect(),
            Pair::PointFace(..) => {
                let near: Vec<u32> = (1..4).filter(|&k| weights[k] < 0.0).map(|k| corners[k]).collect();
                match near[..] {
                    [p] => field.sharp_at(p).collect(),
                    [p, q] => field.sharp.binary_search(&[p.min(q), p.max(q)]).into_iter().collect(),
                    _ => Vec::new(),
                }
            }
        };
        if sharp.is_empty() {
            return false;
        }
        let body = field.body_of[on as usize] as usize;
        let mut gone = Vec3::ZERO;
        let mut sign = 0.0;
        for (&p, w) in corners.iter().zip(weights) {
            let x = field.start[p as usize];
            gone += if field.is_body(p) {
                sign += w;
                bodies.velocity_at(body, x) * w
            } else {
                cloth.v.as_ref()[p as usize - field.body_points] * w
            };
        }
        let gone = if sign > 0.0 { gone } else { -gone };
        sharp.iter().any(|&k| cutting.impedance * gone.length() + pressed[k] >= cutting.resistance)
    }

    fn has_blades(&self, bodies: &Bodies) -> bool {
        self.cutting.is_some() && bodies.iter().any(|body| !body.surface.sharp.is_empty())
    }

    /// What the sharp edges of bodies will pass through in a step of `h` [s] that begins if everything goes on as it moves now.
    pub fn foreseen_strokes(&self, cloth: &Cloth, bodies: &Bodies, h: f64) -> Vec<Stroke> {
        if !self.has_blades(bodies) {
            return Vec::new();
        }
        let to: Vec<Vec3> = cloth.x.iter().zip(cloth.v.iter()).map(|(x, v)| *x + *v * h).collect();
        let sweep = |b: usize, p: Vec3| {
            let from = bodies.pose(b).apply(p);
            [from, from + bodies.velocity_at(b, from) * h]
        };
        self.strokes(cloth, [&cloth.x, &to], bodies, sweep, h)
    }

    /// What they have passed through in a step of `h` [s] at whose end cloth and bodies have arrived.
    pub fn actual_strokes(&self, cloth: &Cloth, bodies: &Bodies, h: f64) -> Vec<Stroke> {
        let sweep = |b: usize, p: Vec3| [bodies.pose_before(b).apply(p), bodies.pose(b).apply(p)];
        self.strokes(cloth, [&self.start, &cloth.x], bodies, sweep, h)
    }

    /// Nodes near a blade that a cut may not slide within the cloth: where it is bent, that would move its surface into the blade. `before` is the cloth when the step began.
    pub fn around_blade(&self, cloth: &Cloth, before: Option<&Cloth>, bodies: &Bodies, body: usize) -> Vec<NodeId> {
        let reach = cloth.mean_edge();
        let Some(surface) = bodies.get(body).map(|body| &body.surface) else { return Vec::new() };
        let near = |cloth: &Cloth, pose: Pose, n: NodeId| {
            let x = pose.local(cloth.x[n]);
            surface.triangles.iter().any(|t| {
                let t = t.map(|p| surface.points[p as usize]);
                distance::point_triangle(x, t).of(t).distance_squared(x) < reach * reach
            })
        };
        let mesh = &cloth.mesh;
        let is_bent = |cloth: &Cloth, n: NodeId| {
            let normal = |c: CornerId| {
                let [a, b, d] = mesh.face_nodes(c.face()).map(|n| cloth.x[n]);
                (b - a).cross(d - a).normalize_or_zero()
            };
            let first = mesh.fan(n).next().map_or(Vec3::ZERO, normal);
            mesh.fan(n).any(|c| normal(c).cross(first).length_squared() > BENT * BENT)
        };
        let is_fixed = |n: &NodeId| {
            (is_bent(cloth, *n) && near(cloth, bodies.pose(body), *n))
                || before.is_some_and(|was| is_bent(was, *n) && near(was, bodies.pose_before(body), *n))
        };
        mesh.nodes().filter(is_fixed).collect()
    }

    fn strokes(
        &self,
        cloth: &Cloth,
        x: [&[Vec3]; 2],
        bodies: &Bodies,
        sweep: impl Fn(usize, Vec3) -> [Vec3; 2],
        h: f64,
    ) -> Vec<Stroke> {
        let (Some(cutting), Some(settings)) = (self.cutting, self.settings) else { return Vec::new() };
        if !self.has_blades(bodies) {
            return Vec::new();
        }
        let mean = cloth.mean_edge();
        let limits = Limits { mean, near: 2.0 * settings.fitting(cloth) + NEAR * mean, lead: LEAD * mean };
        let mut strokes = Vec::new();
        let mut lips = None;
        for (b, body) in bodies.iter().enumerate().filter(|(_, body)| body.ties.is_empty()) {
            let mut found = Vec::new();
            for &e in &body.surface.sharp {
                let ends = body.surface.edges[e as usize];
                let [p, q] = ends.map(|p| sweep(b, body.surface.points[p as usize]));
                let sweep = Sweep { from: [p[0], q[0]], to: [p[1], q[1]] };
                let pressed = self.field.pressed_of(&self.pressed, b as u32, ends);
                sweep.cross(cloth, x, limits, (cutting, pressed, h), &mut found);
            }
            if found.is_empty() {
                continue;
            }
            let lips = lips.get_or_insert_with(|| Lips::of(cloth));
            for mut line in join(found, JOINED * mean) {
                line.points = straighten(&line.points, 1e-3 * mean);
                for side in [0, 1].into_iter().filter(|&side| line.end[side] == End::Blade) {
                    strokes.extend(lips.go_on(&line, side, cloth, b as u32, limits));
                }
                let line = line.carried_on(limits);
                for path in lips.leave(&line, limits) {
                    let ends = [0, 1].map(|side| {
                        let (own, of) = if side == 0 {
                            (path.first(), line.points.first())
                        } else {
                            (path.last(), line.points.last())
                        };
                        line.end[side] == End::Blade && own == of
                    });
                    strokes.push(Stroke { body: b as u32, path, tip: None, at_blade: ends });
                }
            }
        }
        strokes
    }

    /// The triangles of a body near a place [m] in the world: as it is, and as it was when the step began.
    pub fn triangles_near(&self, bodies: &Bodies, body: usize, place: Vec3, reach: f64) -> [Vec<[Vec3; 3]>; 2] {
        let Some(surface) = bodies.get(body).map(|body| &body.surface) else { return Default::default() };
        [bodies.pose(body), bodies.pose_before(body)].map(|pose| {
            let all = surface.triangles.iter().map(|t| t.map(|p| pose.apply(surface.points[p as usize])));
            let near = |t: &[Vec3; 3]| distance::point_triangle(place, *t).of(*t).distance(place) < reach;
            all.filter(near).collect()
        })
    }
}

/// True if a triangle and a tetrahedron, which may be flat, have a point in common: no plane along their faces, nor one along an edge of each, is between them.
pub fn meets(tetrahedron: [Vec3; 4], triangle: [Vec3; 3]) -> bool {
    let [a, b, c, d] = tetrahedron;
    let (low, high) = (a.min(b).min(c).min(d), a.max(b).max(c).max(d));
    let (least, most) = (triangle[0].min(triangle[1]).min(triangle[2]), triangle[0].max(triangle[1]).max(triangle[2]));
    if least.cmpgt(high).any() || most.cmplt(low).any() {
        return false;
    }
    let parts = |axis: Vec3| {
        let span = |points: &[Vec3]| {
            let at = points.iter().map(|p| (*p - a).dot(axis));
            at.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), at| (low.min(at), high.max(at)))
        };
        let (own, other) = (span(&tetrahedron), span(&triangle));
        own.1 < other.0 || other.1 < own.0
    };
    let sides = [triangle[1] - triangle[0], triangle[2] - triangle[1], triangle[0] - triangle[2]];
    let edges = [b - a, c - a, d - a, c - b, d - b, d - c];
    let faces =
        [edges[0].cross(edges[1]), edges[0].cross(edges[2]), edges[1].cross(edges[2]), edges[3].cross(edges[4])];
    let crossed = edges.iter().flat_map(|e| sides.map(|side| e.cross(side)));
    // Within the plane of a flat one.
    let within =
        sides.map(|side| side.cross(sides[0].cross(sides[1]))).into_iter().chain(edges.map(|e| e.cross(faces[0])));
    !faces.into_iter().chain([sides[0].cross(sides[1])]).chain(crossed).chain(within).any(parts)
}

impl Field {
    /// Number of an edge among the sharp ones.
    fn sharp_edge(&self, edge: u32) -> Option<usize> {
        self.sharp.binary_search(&self.edge(edge)).ok()
    }

    /// Sharp edges that end at a point.
    fn sharp_at(&self, point: u32) -> impl Iterator<Item = usize> + '_ {
        let none = !self.is_keen(point);
        (0..if none { 0 } else { self.sharp.len() }).filter(move |&k| self.sharp[k].contains(&point))
    }

    fn pressed_of(&self, pressed: &[f64], body: u32, ends: [u32; 2]) -> f64 {
        let first = self.body_of.iter().position(|&of| of == body).unwrap_or_default() as u32;
        let at = self.sharp.binary_search(&ends.map(|p| p + first));
        at.ok().and_then(|k| pressed.get(k)).copied().unwrap_or_default()
    }
}

/// A sharp edge in a step.
struct Sweep {
    from: [Vec3; 2],
    to: [Vec3; 2],
}

/// What a stretch of a line ends at.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    /// The next face, or the next piece of the ribbon.
    Side,
    /// The border of the cloth.
    Border,
    /// The sharp edge at the end of the step.
    Blade,
}

/// A stretch of a line within a face.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    at: [Vec2; 2],
    end: [End; 2],
    /// Which way the place where the blade is goes on, if it ends there.
    ahead: Vec2,
    face: FaceId,
}

/// A point in the frame of a face: weights of its second and third corner, and height above it [m].
#[derive(Clone, Copy)]
struct Local {
    u: f64,
    v: f64,
    height: f64,
}

impl Local {
    fn of(p: Vec3, [a, b, c]: [Vec3; 3]) -> Option<Self> {
        let normal = (b - a).cross(c - a);
        let area = normal.length_squared();
        let (u, v) = ((p - a).cross(c - a).dot(normal) / area, (b - a).cross(p - a).dot(normal) / area);
        let height = (p - a).dot(normal) / area.sqrt();
        (u.is_finite() && v.is_finite() && height.is_finite()).then_some(Self { u, v, height })
    }

    /// Where the way to another point passes the plane of the face: weights of the second and third corner.
    fn through(&self, other: &Self) -> Option<[f64; 2]> {
        if (self.height >= 0.0) == (other.height >= 0.0) {
            return None;
        }
        let t = self.height / (self.height - other.height);
        Some([self.u + (other.u - self.u) * t, self.v + (other.v - self.v) * t])
    }
}

impl Sweep {
    /// Adds the stretches in which the ribbon passes through faces of the cloth, which moves from `x_t0` to `x_t1`, if it cuts there.
    fn cross(
        &self,
        cloth: &Cloth,
        [x_t0, x_t1]: [&[Vec3]; 2],
        limits: Limits,
        (cutting, pressed, h): (Cutting, f64, f64),
        found: &mut Vec<Stretch>,
    ) {
        let all = [self.from[0], self.from[1], self.to[0], self.to[1]];
        let (low, high) = all.iter().fold((all[0], all[0]), |(low, high), &p| (low.min(p), high.max(p)));
        let (low, high) = (low - limits.near, high + limits.near);
        let mesh = &cloth.mesh;
        let first = found.len();
        let mut hardest = 0.0f64;
        for face in mesh.faces() {
            let nodes = mesh.face_nodes(face);
            let (from, to) = (nodes.map(|n| x_t0[n.0 as usize]), nodes.map(|n| x_t1[n.0 as usize]));
            let least = from[0].min(from[1]).min(from[2]).min(to[0]).min(to[1]).min(to[2]);
            let most = from[0].max(from[1]).max(from[2]).max(to[0]).max(to[1]).max(to[2]);
            if !(most.cmpge(low).all() && least.cmple(high).all()) {
                continue;
            }
            let moved = (to[0] + to[1] + to[2] - from[0] - from[1] - from[2]) / 3.0;
            let before = found.len();
            self.cross_face(cloth, face, [from, to], limits, found);
            if found.len() > before {
                let gone = [0, 1].map(|k| (self.to[k] - self.from[k] - moved).length());
                hardest = hardest.max(cutting.impedance * gone[0].max(gone[1]) / h + pressed);
            }
        }
        if hardest < cutting.resistance {
            found.truncate(first);
        }
        self.aim(cloth, [x_t0, x_t1], limits, &mut found[first..]);
    }

    /// Finds which way stretches that end at the blade go on: the edge goes on as it moves, against the cloth around as a whole, since what is next to a blade trembles.
    /// A point where a line along b that moves by w passes a plane of normal n moves by w − b (n·w)/(n·b).
    fn aim(&self, cloth: &Cloth, [x_t0, x_t1]: [&[Vec3]; 2], limits: Limits, found: &mut [Stretch]) {
        for stretch in found.iter_mut().filter(|stretch| stretch.end.contains(&End::Blade)) {
            let corners = cloth.mesh.face_nodes(stretch.face).map(|n| x_t1[n.0 as usize]);
            let middle = (corners[0] + corners[1] + corners[2]) / 3.0;
            let (mut mass, mut drift) = (0.0, Vec3::ZERO);
            for n in cloth.mesh.nodes() {
                let (a, b) = (&x_t0[n.0 as usize], &x_t1[n.0 as usize]);
                if b.distance_squared(middle) < (AROUND * limits.mean) * (AROUND * limits.mean) {
                    (mass, drift) = (mass + cloth.mass[n], drift + (*b - *a) * cloth.mass[n]);
                }
            }
            let share = distance::point_edge(middle, self.to);
            let w = self.from[0].lerp(self.from[1], share);
            let w = self.to[0].lerp(self.to[1], share) - w - drift / mass.max(f64::MIN_POSITIVE);
            let (n, b) = ((corners[1] - corners[0]).cross(corners[2] - corners[0]), self.to[1] - self.to[0]);
            let goes = w - b * (n.dot(w) / n.dot(b));
            let [o, e, f] = cloth.mesh.face_uv(stretch.face);
            let ahead = Local::of(corners[0] + goes, corners).map(|at| (e - o) * at.u + (f - o) * at.v);
            stretch.ahead = ahead.unwrap_or_default();
        }
    }

    fn cross_face(
        &self,
        cloth: &Cloth,
        face: FaceId,
        [from, to]: [[Vec3; 3]; 2],
        limits: Limits,
        found: &mut Vec<Stretch>,
    ) {
        let far = [0, 1].map(|k| {
            let own = self.to[k] - self.from[k];
            (0..3).map(|c| (own - (to[c] - from[c])).length()).fold(0.0, f64::max)
        });
        let far = far[0].max(far[1]);
        let pieces = (far / limits.mean).ceil().clamp(1.0, MOST_PIECES);
        // A little longer than the step.
        let until = 1.0 + (limits.near / far).min(1.0);
        let at = |t: f64| -> Option<[Local; 2]> {
            let corners = std::array::from_fn(|k| from[k].lerp(to[k], t));
            let [a, b] = [0, 1].map(|k| Local::of(self.from[k].lerp(self.to[k], t), corners));
            Some([a?, b?])
        };
        let Some(mut last) = at(0.0) else { return };
        for piece in 0..pieces as u32 {
            let Some(next) = at(until * f64::from(piece + 1) / pieces) else { return };
            let ends = f64::from(piece + 1) == pieces;
            let ([a, b], [c, d]) = (last, next);
            // Two triangles; the side from c to d is where the blade is at last.
            for (triangle, leading) in [([a, b, d], None), ([a, d, c], Some(1))] {
                let mut cut: [([f64; 2], End); 2] = [([0.0; 2], End::Side); 2];
                let mut count = 0;
                for k in 0..3 {
                    if let Some(place) = triangle[k].through(&triangle[(k + 1) % 3])
                        && count < 2
                    {
                        cut[count] = (place, if ends && leading == Some(k) { End::Blade } else { End::Side });
                        count += 1;
                    }
                }
                if count == 2 {
                    found.extend(clip(cloth, face, cut));
                }
            }
            last = next;
        }
    }
}

/// The part of a stretch within a face; its ends are weights of the second and third corner.
fn clip(cloth: &Cloth, face: FaceId, [(p, p_end), (q, q_end)]: [([f64; 2], End); 2]) -> Option<Stretch> {
    let mesh = &cloth.mesh;
    let weights = |[u, v]: [f64; 2]| [1.0 - u - v, u, v];
    let (a, b) = (weights(p), weights(q));
    let (mut from, mut to) = ((0.0f64, p_end), (1.0f64, q_end));
    let corners = face.corners();
    for k in 0..3 {
        // Opposite of corner k is the side that begins at the next corner.
        let side = if mesh.twin(corners[(k + 1) % 3]).is_none() { End::Border } else { End::Side };
        if a[k] < 0.0 && b[k] < 0.0 {
            return None;
        }
        let t = a[k] / (a[k] - b[k]);
        if a[k] < 0.0 && t > from.0 {
            from = (t, side);
        } else if b[k] < 0.0 && t < to.0 {
            to = (t, side);
        }
    }
    if from.0 >= to.0 {
        return None;
    }
    let uv = mesh.face_uv(face);
    let at = |t: f64| (0..3).map(|k| uv[k] * (a[k] + (b[k] - a[k]) * t)).sum::<Vec2>();
    Some(Stretch { at: [at(from.0), at(to.0)], end: [from.1, to.1], ahead: Vec2::ZERO, face })
}

/// What lines are made by [m].
#[derive(Clone, Copy)]
struct Limits {
    mean: f64,
    /// How far from the tip of its slit a blade may come.
    near: f64,
    /// How far a slit goes on from there.
    lead: f64,
}

/// Stretches joined.
#[derive(Clone, Debug)]
struct Line {
    points: Vec<Vec2>,
    end: [End; 2],
    ahead: [Vec2; 2],
}

/// Joins stretches whose ends are `near` [m] each other.
fn join(mut left: Vec<Stretch>, near: f64) -> Vec<Line> {
    let mut lines = Vec::new();
    left.reverse();
    while let Some(first) = left.pop() {
        let mut line = Line { points: first.at.to_vec(), end: first.end, ahead: [first.ahead; 2] };
        for side in [1, 0] {
            loop {
                let tail = if side == 1 { line.points[line.points.len() - 1] } else { line.points[0] };
                let mut best: Option<(f64, usize, usize)> = None;
                for (i, stretch) in left.iter().enumerate().rev() {
                    for k in 0..2 {
                        let far = stretch.at[k].distance(tail);
                        if far < near && best.is_none_or(|(least, ..)| far < least) {
                            best = Some((far, i, k));
                        }
                    }
                }
                // What ends at the blade or the border has no next one, but its other half may lie there.
                let Some((_, i, k)) = best else { break };
                let next = left.remove(i);
                (line.end[side], line.ahead[side]) = (next.end[1 - k], next.ahead);
                if side == 1 {
                    line.points.push(next.at[1 - k]);
                } else {
                    line.points.insert(0, next.at[1 - k]);
                }
            }
        }
        lines.push(line);
    }
    lines
}

impl Line {
    /// An end, and which way the line goes there.
    fn outward(&self, side: usize) -> Option<(Vec2, Vec2)> {
        let last = self.points.len() - 1;
        let (end, before) = if side == 0 {
            (self.points[0], self.points[1.min(last)])
        } else {
            (self.points[last], self.points[last.saturating_sub(1)])
        };
        let own = (end - before).try_normalize();
        let ahead = if self.end[side] == End::Blade { self.ahead[side].try_normalize().or(own) } else { own };
        Some((end, ahead?))
    }

    /// The line carried on ahead of the blade and out of the cloth.
    fn carried_on(mut self, limits: Limits) -> Self {
        let ends = [0, 1].map(|side| (self.end[side], self.outward(side)));
        for (side, (end, outward)) in ends.into_iter().enumerate() {
            let Some((from, ahead)) = outward else { continue };
            let further = match end {
                End::Side => continue,
                End::Border => from + ahead * (BESIDE * limits.mean),
                End::Blade => from + ahead * limits.lead,
            };
            if side == 0 {
                self.points.insert(0, further);
            } else {
                self.points.push(further);
            }
        }
        self.points = straighten(&self.points, 1e-3 * limits.mean);
        self
    }
}

/// The lips of all cuts and tears, and where they meet.
struct Lips {
    edges: Vec<[Vec2; 2]>,
    tips: Vec<Tip>,
}

impl Lips {
    fn of(cloth: &Cloth) -> Self {
        let mesh = &cloth.mesh;
        let ends = |e: EdgeId| [mesh.edge_corner(e), mesh.edge_corner(e).next()].map(|c| mesh.uv(c));
        Self { edges: mesh.edges().filter(|&e| cloth.torn[e]).map(ends).collect(), tips: Tip::all(cloth) }
    }

    /// The way from a tip to where the blade is at an end of a line, and ahead of it.
    fn go_on(&self, line: &Line, side: usize, cloth: &Cloth, body: u32, limits: Limits) -> Option<Stroke> {
        let (end, ahead) = line.outward(side)?;
        let (mean, goal) = (limits.mean, end + ahead * limits.lead);
        let before_it = |tip: &&Tip| goal.distance(tip.at) < REACH * mean && (goal - tip.at).dot(tip.along()) >= 0.0;
        let tip =
            self.tips.iter().filter(before_it).min_by(|a, b| a.at.distance(goal).total_cmp(&b.at.distance(goal)))?;
        if (goal - tip.at).dot(ahead) < (1.0 - LEFT) * limits.lead {
            return None;
        }
        let stroke = |path, tip, at_blade| Some(Stroke { body, path, tip, at_blade: [false, at_blade] });
        if let Some(out) = leaves(cloth, tip, goal + ahead * (LAST * mean)) {
            return stroke(vec![tip.at, out], None, false);
        }
        let (along, length) = (tip.along().normalize_or_zero(), tip.along().length());
        let corner = (end - tip.back).dot(along);
        if ahead.dot(along) < CORNER && corner.min(length) > BEHIND * mean {
            return stroke(vec![tip.at, tip.back + along * corner.min(length), goal], Some(tip.node), true);
        }
        // The way of a blade in cloth that trembles is known to some degrees.
        let goal = end + (ahead + along).normalize_or_zero() * limits.lead;
        stroke(vec![tip.at, goal], Some(tip.node), true)
    }

    /// The point of a lip that is nearest to `p`.
    fn nearest(&self, p: Vec2) -> Option<Vec2> {
        let foot = |[a, b]: &[Vec2; 2]| nearest_on_line(p, *a, *b);
        self.edges.iter().map(foot).min_by(|a, b| a.distance(p).total_cmp(&b.distance(p)))
    }

    /// The parts of a line that are not beside a lip, each joined to the lip where it was.
    fn leave(&self, line: &Line, limits: Limits) -> Vec<Vec<Vec2>> {
        let beside = BESIDE * limits.mean;
        let mut paths: Vec<Vec<Vec2>> = Vec::new();
        let mut path: Vec<Vec2> = Vec::new();
        let mut cut_short = false;
        let end = |path: &mut Vec<Vec2>, paths: &mut Vec<Vec<Vec2>>, to_lip: bool| {
            let mut whole = std::mem::take(path);
            if to_lip && let Some(lip) = whole.last().and_then(|&p| self.nearest(p)) {
                whole.push(lip);
            }
            let length: f64 = whole.windows(2).map(|ends| ends[0].distance(ends[1])).sum();
            if length > 0.5 * limits.lead {
                paths.push(whole);
            }
        };
        for ends in line.points.windows(2) {
            let (a, b) = (ends[0], ends[1]);
            let mut spans: Vec<(f64, f64)> =
                self.edges.iter().filter_map(|&lip| near_span(a, b, lip, beside)).collect();
            spans.sort_by(|x, y| x.0.total_cmp(&y.0));
            let mut at = 0.0;
            for (from, to) in spans.into_iter().chain([(1.0, 1.0)]) {
                if from > at || (from == 1.0 && at < 1.0) {
                    if path.is_empty() {
                        let begin = a.lerp(b, at);
                        if at > 0.0 || cut_short {
                            path.extend(self.nearest(begin));
                        }
                        path.push(begin);
                    }
                    path.push(a.lerp(b, from));
                }
                if from < 1.0 {
                    if !path.is_empty() {
                        end(&mut path, &mut paths, true);
                    }
                    cut_short = true;
                }
                at = f64::max(at, to);
            }
            if at < 1.0 || !path.is_empty() {
                cut_short = false;
            }
        }
        end(&mut path, &mut paths, false);
        for path in &mut paths {
            *path = straighten(path, STRAIGHT * limits.mean);
        }
        paths
    }
}

/// A little beyond the first place at which the way from a tip to `goal` passes the border or another lip.
fn leaves(cloth: &Cloth, tip: &Tip, goal: Vec2) -> Option<Vec2> {
    let mesh = &cloth.mesh;
    let way = goal - tip.at;
    let passed = |c: CornerId| {
        let (p, side) = (mesh.uv(c) - tip.at, mesh.uv(c.next()) - mesh.uv(c));
        let across = way.perp_dot(side);
        let (s, t) = (p.perp_dot(side) / across, p.perp_dot(way) / across);
        (s > 0.0 && s <= 1.0 && (0.0..=1.0).contains(&t)).then_some(s)
    };
    let others = mesh.border_edges().filter(|e| !tip.lips.contains(e)).map(|e| mesh.edge_corner(e));
    let first = others.filter_map(passed).min_by(f64::total_cmp)?;
    Some(tip.at + way * (first + LAST))
}

/// From where to where, of 0 … 1, the way from `a` to `b` is nearer than `beside` [m] to a lip.
fn near_span(a: Vec2, b: Vec2, [p, q]: [Vec2; 2], beside: f64) -> Option<(f64, f64)> {
    let (low, high) = (p.min(q) - beside, p.max(q) + beside);
    if a.max(b).cmplt(low).any() || a.min(b).cmpgt(high).any() {
        return None;
    }
    let d = b - a;
    let length = d.length();
    if length == 0.0 {
        return (a.distance(nearest_on_line(a, p, q)) < beside).then_some((0.0, 1.0));
    }
    let (mut from, mut to) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut add = |(s, e): (f64, f64)| (from, to) = (f64::min(from, s), f64::max(to, e));
    for centre in [p, q] {
        let at = (centre - a).dot(d) / length;
        let off = (centre - a).perp_dot(d) / length;
        let half = beside * beside - off * off;
        if half > 0.0 {
            add(((at - half.sqrt()) / length, (at + half.sqrt()) / length));
        }
    }
    // Between the ends: |off| < beside and the foot inside; both are linear.
    let side = q - p;
    if side.length_squared() > 0.0 {
        let (mut s, mut e) = (0.0f64, 1.0f64);
        let mut inside = |value: f64, slope: f64| {
            // value + t slope ≥ 0
            if slope > 0.0 {
                s = s.max(-value / slope);
            } else if slope < 0.0 {
                e = e.min(-value / slope);
            } else if value < 0.0 {
                e = -1.0;
            }
        };
        let (foot, climb) = ((a - p).dot(side), d.dot(side));
        inside(foot, climb);
        inside(side.length_squared() - foot, -climb);
        let (off, drift, reach) = (side.perp_dot(a - p), side.perp_dot(d), beside * side.length());
        inside(reach - off, -drift);
        inside(reach + off, drift);
        if s < e {
            add((s, e));
        }
    }
    let (from, to) = (from.max(0.0), to.min(1.0));
    (from < to).then_some((from, to))
}
