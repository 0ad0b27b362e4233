//! The scene made ready for rays: triangles and rounds in one bounding volume hierarchy.
//!
//! The hierarchy is `obvhs`' eight-wide compressed one, built by PLOC in O(n log n) for each picture. With an open shutter
//! every primitive carries its way `m` and is met at `p + s·m`, `s ∈ −½..½`; its box is swept over the whole
//! opening, so one hierarchy serves all times. Primitives lie in the order of the leaves, which keeps neighbours in
//! space neighbours in memory.

use crate::curve::{Curve, Round};
use crate::lips::{Lips, uv_bounds};
use crate::look::{Colouring, Look, Quality};
use crate::sample::{hash2, unit};
use crate::scene::{Bounds, Cloth, Marker, Scene, Shape};
use crate::texture::Cover;
use glam::{Vec3, Vec3A};
use obvhs::aabb::Aabb;
use obvhs::bvh2::reinsertion::ReinsertionOptimizer;
use obvhs::cwbvh::{CwBvh, bvh2_to_cwbvh::bvh2_to_cwbvh};
use obvhs::ploc::{PlocBuilder, PlocSearchDistance, SortPrecision};
use obvhs::ray::{Ray, RayHit};

/// Marks a round in the primitive order; the rest of the bits is its number.
const ROUND: u32 = 1 << 31;

/// What a primitive belongs to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Owner {
    Cloth(usize),
    /// Torn rim of a cloth.
    Lip(usize),
    /// Whole border of a cloth.
    Hem(usize),
    /// Loose fibre of a cloth.
    Fibre(usize),
    Body(usize),
    Yarn(usize),
    Ball(Vec3),
}

/// A surface met by a ray.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    pub t: f32,
    pub owner: Owner,
    pub kind: HitKind,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum HitKind {
    /// Face number, corner weights, corners at the ray's time.
    Face { face: usize, weights: Vec3, corners: [Vec3; 3] },
    /// Ends at the ray's time, the length along the curve at the first, and which way the curve goes.
    Round { ends: [Vec3; 2], along: f32, bend: [Vec3; 2] },
}

/// A ray with the shutter time −½..½ and a number for coverage tests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beam {
    pub origin: Vec3,
    pub direction: Vec3,
    pub time: f32,
    pub seed: u32,
    pub near: f32,
}

/// A cloth made ready.
pub(crate) struct Sheet<'a> {
    pub cloth: Cloth<'a>,
    pub normals: Vec<Vec3>,
    pub cover: Cover<'a>,
    /// Bit k is set where edge k of the face is a torn lip.
    pub torn: Vec<u8>,
}

#[derive(Clone, Copy)]
struct Triangle {
    corners: [Vec3; 3],
    owner: u32,
    face: u32,
}

/// Everything rays can meet, except the floor.
pub(crate) struct World<'a> {
    pub sheets: Vec<Sheet<'a>>,
    /// Of each body the normals of its faces' corners.
    pub shells: Vec<Vec<[Vec3; 3]>>,
    pub bounds: Bounds,
    /// Length below which things count as touching [m].
    pub skin: f32,
    owners: Vec<Owner>,
    triangles: Vec<Triangle>,
    /// Ways of the corners while the shutter is open, or empty if nothing moves.
    ways: Vec<[Vec3; 3]>,
    rounds: Vec<Round>,
    order: Vec<u32>,
    tree: Option<CwBvh>,
    /// Around all primitives over the whole opening.
    hull: Bounds,
}

impl<'a> World<'a> {
    /// Builds it for a checked scene.
    pub fn new(scene: &Scene<'a>, look: &'a Look) -> Self {
        let bounds = scene.bounds();
        let size = bounds.diagonal().max(1e-6);
        let mut world = Self {
            sheets: Vec::new(),
            shells: Vec::new(),
            bounds,
            skin: 4e-5 * size,
            owners: Vec::new(),
            triangles: Vec::new(),
            ways: Vec::new(),
            rounds: Vec::new(),
            order: Vec::new(),
            tree: None,
            hull: Bounds::EMPTY,
        };
        for cloth in &scene.cloths {
            world.add_cloth(*cloth, scene.up.normalize(), look, size);
        }
        world.add_bodies(scene, look.open_seconds());
        for (i, yarn) in scene.yarns.iter().enumerate() {
            let owner = world.owner(Owner::Yarn(i));
            let motion: Vec<Vec3> = yarn.velocities.iter().map(|v| *v * look.open_seconds()).collect();
            let curve =
                Curve { points: yarn.points, motion: &motion, radius: yarn.radius, tip_fade: yarn.tip_fade, owner };
            curve.cut(&mut world.rounds);
            if look.colouring != Colouring::Wire {
                curve.fuzz(i as u32, &mut world.rounds);
            }
        }
        for marker in &scene.markers {
            if let Marker::Ball { place, colour } = *marker {
                world.add_ball(place, Vec3::ZERO, size * 0.006, colour);
            }
        }
        if look.open_seconds() == 0.0 || world.ways.iter().flatten().all(|w| *w == Vec3::ZERO) {
            world.ways = Vec::new();
        }
        world.build_tree(look.quality);
        world
    }

    fn owner(&mut self, owner: Owner) -> u32 {
        self.owners.push(owner);
        self.owners.len() as u32 - 1
    }

    fn add_ball(&mut self, place: Vec3, motion: Vec3, radius: f32, colour: Vec3) {
        let owner = self.owner(Owner::Ball(colour));
        self.rounds.push(Round {
            ends: [place; 2],
            motion: [motion; 2],
            radius,
            cover: [1.0; 2],
            along: 0.0,
            bend: [Vec3::ZERO; 2],
            owner,
        });
    }

    fn add_cloth(&mut self, cloth: Cloth<'a>, up: Vec3, look: &'a Look, size: f32) {
        let number = self.sheets.len();
        let open_seconds = look.open_seconds();
        let (origin, high) = uv_bounds(cloth.corner_uv);
        let extent = high - origin;
        let width = if cloth.corner_uv.is_empty() { size } else { extent.max_element().max(1e-6) };
        let pitch = look.weave.unwrap_or(width / 160.0);
        let owner = self.owner(Owner::Cloth(number));
        for (f, face) in cloth.faces.iter().enumerate() {
            let corners = face.map(|n| cloth.positions[n as usize]);
            self.triangles.push(Triangle { corners, owner, face: f as u32 });
            let way = |n: u32| cloth.velocities.get(n as usize).map_or(Vec3::ZERO, |v| *v * open_seconds);
            self.ways.push(face.map(way));
        }
        let mut torn = vec![0u8; cloth.faces.len()];
        for &[f, k] in cloth.torn_edges {
            torn[f as usize] |= 1 << k;
        }
        let owners = [Owner::Lip(number), Owner::Hem(number), Owner::Fibre(number)].map(|o| self.owner(o));
        let radius = (cloth.thickness * 0.5).max(pitch * 0.14);
        let lips = Lips { cloth: &cloth, open_seconds, pitch, radius, owners, up };
        lips.rims(&mut self.rounds);
        if look.colouring != Colouring::Wire {
            lips.fibres(&mut self.rounds);
        }
        for &n in cloth.held {
            let motion = cloth.velocities.get(n as usize).map_or(Vec3::ZERO, |v| *v * open_seconds);
            self.add_ball(cloth.positions[n as usize], motion, size * 0.006, crate::colour::srgb(0x2b2f36));
        }
        let cover = Cover { texture: &look.texture, dye: &look.dye, origin, extent, pitch };
        self.sheets.push(Sheet { cloth, normals: node_normals(cloth.positions, cloth.faces), cover, torn });
    }

    fn add_bodies(&mut self, scene: &Scene<'a>, open_seconds: f32) {
        for (i, body) in scene.bodies.iter().enumerate() {
            let owner = self.owner(Owner::Body(i));
            let place = |p: Vec3| body.position + body.rotation * p;
            let way = |p: Vec3| (body.velocity + body.spin.cross(p - body.position)) * open_seconds;
            let mut faces: Vec<[u32; 3]> = Vec::new();
            let positions: Vec<Vec3> = match body.shape {
                Shape::Sphere { radius } => {
                    self.rounds.push(round_body([body.position; 2], way, radius, owner));
                    Vec::new()
                }
                Shape::Capsule { half_length, radius } => {
                    let ends = [place(-Vec3::Y * half_length), place(Vec3::Y * half_length)];
                    self.rounds.push(round_body(ends, way, radius, owner));
                    Vec::new()
                }
                Shape::Cuboid { half } => {
                    // Corner numbers have bit 0 for x, 1 for y, 2 for z.
                    let quads = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
                    faces = quads.iter().flat_map(|q: &[u32; 4]| [[q[0], q[1], q[2]], [q[0], q[2], q[3]]]).collect();
                    Bounds { min: -half, max: half }.corners().map(place).to_vec()
                }
                Shape::Mesh { positions, faces: own } => {
                    faces = own.to_vec();
                    positions.iter().map(|&p| place(p)).collect()
                }
            };
            for (f, face) in faces.iter().enumerate() {
                let corners = face.map(|n| positions[n as usize]);
                self.triangles.push(Triangle { corners, owner, face: f as u32 });
                self.ways.push(corners.map(way));
            }
            self.shells.push(corner_normals(&positions, &faces));
        }
    }

    fn build_tree(&mut self, quality: Quality) {
        let count = self.triangles.len() + self.rounds.len();
        if count == 0 {
            return;
        }
        let mut boxes = Vec::with_capacity(count);
        for (i, triangle) in self.triangles.iter().enumerate() {
            let way = self.ways.get(i).copied().unwrap_or([Vec3::ZERO; 3]);
            boxes.push(swept(&triangle.corners, &way, 0.0));
        }
        boxes.extend(self.rounds.iter().map(|r| swept(&r.ends, &r.motion, r.radius)));
        self.hull = boxes.iter().fold(Bounds::EMPTY, |b, x| b.union(Bounds { min: x.min.into(), max: x.max.into() }));
        // A better tree pays when each pixel sends dozens of rays.
        let (search, reinsert) = match quality {
            Quality::Draft => (PlocSearchDistance::VeryLow, 0.0),
            Quality::Final => (PlocSearchDistance::Medium, 0.05),
        };
        let mut tree =
            PlocBuilder::with_capacity(count).build(search, &boxes, (0..count as u32).collect(), SortPrecision::U64, 0);
        if reinsert > 0.0 {
            ReinsertionOptimizer::default().run(&mut tree, reinsert, None);
        }
        let tree = bvh2_to_cwbvh(&tree, 3, true, false);
        // Triangles into the order of the leaves.
        let face_count = self.triangles.len();
        let (mut triangles, mut ways) = (Vec::with_capacity(face_count), Vec::with_capacity(self.ways.len()));
        self.order = tree
            .primitive_indices
            .iter()
            .map(|&i| {
                let i = i as usize;
                if i >= face_count {
                    return ROUND | (i - face_count) as u32;
                }
                triangles.push(self.triangles[i]);
                ways.extend(self.ways.get(i));
                triangles.len() as u32 - 1
            })
            .collect();
        (self.triangles, self.ways, self.tree) = (triangles, ways, Some(tree));
    }

    fn corners(&self, i: usize, time: f32) -> [Vec3; 3] {
        let p = self.triangles[i].corners;
        match self.ways.get(i) {
            None => p,
            Some(m) => [p[0] + m[0] * time, p[1] + m[1] * time, p[2] + m[2] * time],
        }
    }

    /// Distance to primitive `id` of the leaf order, or infinity.
    #[inline]
    fn meet(&self, id: usize, beam: &Beam, far: f32) -> f32 {
        let tag = self.order[id];
        if tag & ROUND == 0 {
            let corners = self.corners(tag as usize, beam.time);
            return meet_triangle(corners, beam.origin, beam.direction, beam.near, far).map_or(f32::INFINITY, |h| h.0);
        }
        let round = &self.rounds[(tag & !ROUND) as usize];
        match round.meet(beam.origin, beam.direction, beam.near, far, beam.time) {
            Some((t, s)) => {
                let cover = round.cover[0] + (round.cover[1] - round.cover[0]) * s;
                if cover < 1.0 && unit(hash2(beam.seed, tag)) >= cover { f32::INFINITY } else { t }
            }
            None => f32::INFINITY,
        }
    }

    /// Cheap test that spares most rays of floor and backdrop the tree.
    fn crosses_hull(&self, beam: &Beam) -> bool {
        let inverse = beam.direction.recip();
        let (a, b) = ((self.hull.min - beam.origin) * inverse, (self.hull.max - beam.origin) * inverse);
        // A direction along a side of the hull gives NaN: min and max pass over it.
        let (low, high) = (a.min(b).max_element(), a.max(b).min_element());
        !(low > high || high < 0.0)
    }

    /// The nearest thing on the beam.
    pub fn first(&self, beam: &Beam, far: f32) -> Option<Hit> {
        let tree = self.tree.as_ref().filter(|_| self.crosses_hull(beam))?;
        let mut hit = RayHit::none();
        if !tree.ray_traverse(ray(beam, far), &mut hit, |r, id| self.meet(id, beam, r.tmax)) {
            return None;
        }
        let tag = self.order[hit.primitive_id as usize];
        if tag & ROUND != 0 {
            let round = &self.rounds[(tag & !ROUND) as usize];
            let kind = HitKind::Round { ends: round.at(beam.time), along: round.along, bend: round.bend };
            return Some(Hit { t: hit.t, owner: self.owners[round.owner as usize], kind });
        }
        let triangle = &self.triangles[tag as usize];
        let corners = self.corners(tag as usize, beam.time);
        let (_, u, v) = meet_triangle(corners, beam.origin, beam.direction, beam.near, f32::INFINITY)?;
        let kind = HitKind::Face { face: triangle.face as usize, weights: Vec3::new(1.0 - u - v, u, v), corners };
        Some(Hit { t: hit.t, owner: self.owners[triangle.owner as usize], kind })
    }

    /// Something in the way, whichever is found first.
    pub fn blocker(&self, beam: &Beam, far: f32) -> Option<Owner> {
        let tree = self.tree.as_ref().filter(|_| self.crosses_hull(beam))?;
        let mut found = None;
        tree.ray_traverse_miss(ray(beam, far), |r, id| {
            let t = self.meet(id, beam, r.tmax);
            if t < r.tmax {
                found = Some(id);
            }
            t
        });
        found.map(|id| {
            let tag = self.order[id];
            let owner = if tag & ROUND == 0 {
                self.triangles[tag as usize].owner
            } else {
                self.rounds[(tag & !ROUND) as usize].owner
            };
            self.owners[owner as usize]
        })
    }
}

fn ray(beam: &Beam, far: f32) -> Ray {
    // obvhs 0.4 takes −0 for a positive direction with a negative inverse and then misses; adding 0 makes it +0.
    let direction = beam.direction + Vec3::ZERO;
    Ray::new(beam.origin.into(), direction.into(), beam.near, far)
}

fn round_body(ends: [Vec3; 2], way: impl Fn(Vec3) -> Vec3, radius: f32, owner: u32) -> Round {
    Round { ends, motion: ends.map(way), radius, cover: [1.0; 2], along: 0.0, bend: [Vec3::ZERO; 2], owner }
}

/// Box around points on their way from −½ to ½.
fn swept(points: &[Vec3], ways: &[Vec3], radius: f32) -> Aabb {
    let mut bounds = Bounds::EMPTY;
    for (&p, &w) in points.iter().zip(ways) {
        bounds.include(p - w * 0.5, radius);
        bounds.include(p + w * 0.5, radius);
    }
    Aabb::new(Vec3A::from(bounds.min), Vec3A::from(bounds.max))
}

/// Möller and Trumbore (1997), edges widened by a hair so that no ray slips between neighbours:
/// distance and the weights of corners 1 and 2.
#[inline]
fn meet_triangle(p: [Vec3; 3], o: Vec3, d: Vec3, near: f32, far: f32) -> Option<(f32, f32, f32)> {
    const HAIR: f32 = 2e-5;
    let (e1, e2) = (p[1] - p[0], p[2] - p[0]);
    let h = d.cross(e2);
    let det = e1.dot(h);
    if det == 0.0 {
        return None;
    }
    let inverse = 1.0 / det;
    let s = o - p[0];
    let u = s.dot(h) * inverse;
    if !(-HAIR..=1.0 + HAIR).contains(&u) {
        return None;
    }
    let q = s.cross(e1);
    let v = d.dot(q) * inverse;
    if v < -HAIR || u + v > 1.0 + HAIR {
        return None;
    }
    let t = e2.dot(q) * inverse;
    (t > near && t < far).then_some((t, u, v))
}

/// Area-weighted normal of each node.
pub(crate) fn node_normals(positions: &[Vec3], faces: &[[u32; 3]]) -> Vec<Vec3> {
    let mut normals = vec![Vec3::ZERO; positions.len()];
    for face in faces {
        let [a, b, c] = face.map(|n| positions[n as usize]);
        let area = (b - a).cross(c - a);
        face.iter().for_each(|&n| normals[n as usize] += area);
    }
    normals.iter_mut().for_each(|n| *n = n.normalize_or_zero());
    normals
}

/// Area-weighted normal of each corner, over those faces at its node that lie within 40° of its own.
fn corner_normals(positions: &[Vec3], faces: &[[u32; 3]]) -> Vec<[Vec3; 3]> {
    /// Cosine of 40°: a sharper crease stays sharp.
    const CREASE: f32 = 0.766;
    let area = |face: &[u32; 3]| {
        let [a, b, c] = face.map(|n| positions[n as usize]);
        (b - a).cross(c - a)
    };
    let areas: Vec<Vec3> = faces.iter().map(area).collect();
    let flat: Vec<Vec3> = areas.iter().map(|a| a.normalize_or_zero()).collect();
    // Faces around each node: where its list begins, then the lists.
    let mut start = vec![0usize; positions.len() + 1];
    faces.iter().flatten().for_each(|&n| start[n as usize + 1] += 1);
    (0..positions.len()).for_each(|n| start[n + 1] += start[n]);
    let (mut around, mut next) = (vec![0u32; 3 * faces.len()], start.clone());
    for (f, face) in faces.iter().enumerate() {
        for &n in face {
            around[next[n as usize]] = f as u32;
            next[n as usize] += 1;
        }
    }
    let normal = |f: usize, n: u32| {
        let near = around[start[n as usize]..start[n as usize + 1]].iter().map(|&g| g as usize);
        let sum: Vec3 = near.filter(|&g| g == f || flat[g].dot(flat[f]) > CREASE).map(|g| areas[g]).sum();
        sum.try_normalize().unwrap_or(flat[f])
    };
    faces.iter().enumerate().map(|(f, face)| face.map(|n| normal(f, n))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Body, Yarn};
    use glam::vec3;

    fn random(seed: u32) -> impl FnMut() -> f32 {
        let mut i = 0;
        move || {
            i += 1;
            unit(hash2(seed, i)) * 2.0 - 1.0
        }
    }

    #[test]
    fn the_tree_finds_what_trying_everything_finds() {
        let mut r = random(1);
        let positions: Vec<Vec3> = (0..300).map(|_| vec3(r(), r(), r())).collect();
        let velocities: Vec<Vec3> = (0..300).map(|_| vec3(r(), r(), r())).collect();
        let faces: Vec<[u32; 3]> = (0..100).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
        let cloth = Cloth { positions: &positions, velocities: &velocities, faces: &faces, ..Cloth::default() };
        let points = [vec3(-1.0, -1.0, 0.0), vec3(0.0, 1.0, 0.3), vec3(1.0, -1.0, 0.0)];
        let scene = Scene {
            cloths: vec![cloth],
            bodies: vec![Body::at(Shape::Sphere { radius: 0.4 }, Vec3::ZERO)],
            yarns: vec![Yarn { points: &points, radius: 0.05, ..Yarn::default() }],
            ..Scene::default()
        };
        let look = Look { shutter: 1.0, frame_seconds: 0.5, ..Look::default() };
        let world = World::new(&scene, &look);
        let mut hits = 0;
        for i in 0..500 {
            let origin = vec3(r(), r(), r()) * 3.0;
            // Towards somewhere in the middle; every fifth ray along an axis, with zeros of both signs.
            let aimed = (vec3(r(), r(), r()) * 0.7 - origin).normalize();
            let direction = if i % 5 == 0 { -Vec3::AXES[i as usize / 5 % 3] } else { aimed };
            let beam = Beam {
                origin: if i % 5 == 0 { origin / 3.0 } else { origin },
                direction,
                time: r() * 0.5,
                seed: i,
                near: 0.0,
            };
            let tried = (0..world.order.len()).map(|id| world.meet(id, &beam, f32::MAX)).fold(f32::INFINITY, f32::min);
            let found = world.first(&beam, f32::MAX).map_or(f32::INFINITY, |h| h.t);
            assert_eq!(tried, found);
            assert_eq!(world.blocker(&beam, f32::MAX).is_some(), tried.is_finite());
            hits += usize::from(tried.is_finite());
        }
        assert!((200..480).contains(&hits), "{hits}");
    }

    #[test]
    fn a_moving_triangle_is_met_where_it_is_at_that_time() {
        let positions = [vec3(-1.0, -1.0, 0.0), vec3(1.0, -1.0, 0.0), vec3(0.0, 1.0, 0.0)];
        let velocities = [Vec3::Z * 2.0; 3];
        let cloth = Cloth { positions: &positions, velocities: &velocities, faces: &[[0, 1, 2]], ..Cloth::default() };
        let scene = Scene { cloths: vec![cloth], ..Scene::default() };
        let look = Look { shutter: 0.5, frame_seconds: 1.0, ..Look::default() };
        let world = World::new(&scene, &look);
        for (time, t) in [(-0.5, 5.5), (0.0, 5.0), (0.5, 4.5)] {
            let beam = Beam { origin: Vec3::Z * 5.0, direction: -Vec3::Z, time, seed: 0, near: 0.0 };
            assert!((world.first(&beam, f32::MAX).unwrap().t - t).abs() < 1e-5);
        }
    }

    #[test]
    fn fading_coverage_lets_its_share_of_rays_through() {
        let points = [Vec3::ZERO, Vec3::X];
        let yarns = vec![Yarn { points: &points, radius: 0.1, tip_fade: [0.0, 1.0], ..Yarn::default() }];
        let scene = Scene { yarns, ..Scene::default() };
        // Without stray fibres, which lines don't have.
        let look = Look { colouring: Colouring::Wire, ..Look::default() };
        let world = World::new(&scene, &look);
        let share = |x: f32| {
            let met = (0..2000).filter(|&seed| {
                let beam = Beam { origin: vec3(x, 0.0, 3.0), direction: -Vec3::Z, time: 0.0, seed, near: 0.0 };
                world.first(&beam, f32::MAX).is_some()
            });
            met.count() as f32 / 2000.0
        };
        // Coverage falls linearly; neighbouring pieces overlap by their ball ends, hence the loose upper bound.
        assert!(share(0.1) > 0.85 && (0.35..0.85).contains(&share(0.62)) && share(0.98) < 0.25);
    }

    #[test]
    fn normals_of_bodies_are_smooth_but_for_creases() {
        // A roof of two gentle slopes, and a wall under one of them.
        let p = [Vec3::ZERO, Vec3::Z, vec3(1.0, -0.3, 0.0), vec3(-1.0, -0.3, 0.0), vec3(1.0, -2.0, 0.0)];
        let p = [&p[..], &[vec3(1.0, -0.3, 1.0)]].concat();
        let normals = corner_normals(&p, &[[0, 1, 2], [0, 3, 1], [2, 5, 4]]);
        assert!(normals[0][0].distance(Vec3::Y) < 1e-6, "the ridge is smooth: {:?}", normals[0]);
        assert_eq!(normals[0][0], normals[1][0]);
        assert!(normals[2].iter().all(|n| n.distance(Vec3::X) < 1e-6), "the eave is sharp: {:?}", normals[2]);
        assert!(normals[0][2].x < 0.5);
    }

    #[test]
    fn normals_do_not_reach_across_a_tear() {
        // Two faces at a right angle, joined along an edge or with doubled nodes.
        let p = [Vec3::ZERO, Vec3::Y, Vec3::X, Vec3::Z, Vec3::ZERO, Vec3::Y];
        let joined = node_normals(&p, &[[0, 2, 1], [0, 1, 3]]);
        let torn = node_normals(&p, &[[0, 2, 1], [4, 5, 3]]);
        assert!(joined[0].dot(torn[0]) < 0.8);
        assert!(torn[0].dot(Vec3::Z).abs() > 0.999 && torn[4].dot(Vec3::X).abs() > 0.999);
    }
}
