//! Light along one ray.
//!
//! *Sun*: a warm disk, met by one shadow ray aimed at a random point of it (soft shadow). *Sky*: light falling on a face
//! with normal n is `E(n) = mix(ground, sky, ½ + ½ n·up)`; one ray, as likely as its cosine, tells how much of it
//! arrives (ambient occlusion), and brings a little colour of what it meets. An open place gets exactly `E`, without noise.
//!
//! *Cloth* (two-sided): Lambert on the lit side; on the other side light shines through, tinted twice; a fuzz at glancing
//! angles `f = (1 − n·v)⁴`. Coarse triangles cast no blocky shadow on themselves: the start of a shadow ray is lifted to
//! the smooth surface spanned by the node normals (J. Hanika, *Hacking the shadow terminator*, 2021).
//! *Yarn*: a blend of Lambert on the round surface and of J. Kajiya and T. Kay (1989): diffuse `sin(t, l)`, gloss
//! `(cos(t,l) cos(t,v) + sin(t,l) sin(t,v))ᵖ` with the direction t of the fibres, which lie in twisted plies.
//! *Floor*: takes shadows only. Its own colour is the backdrop's, so there is no horizon.

use crate::camera::View;
use crate::colour::{luminance, piece, srgb};
use crate::even;
use crate::lips::tangents;
use crate::look::{Colouring, Look, Quality};
use crate::sample::{Sampler, cone, cosine_hemisphere, hash2, unit};
use crate::scene::{Light, Scene};
use crate::world::{Beam, Hit, HitKind, Owner, World};
use glam::{Vec2, Vec3};

/// Share of light that shines through cloth.
const THROUGH: f32 = 0.34;

/// What a surface is made of at a point.
struct Matter {
    albedo: Vec3,
    /// Unit normals towards the viewer: of the shape and of the fine surface.
    shape: Vec3,
    fine: Vec3,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Cloth,
    /// Along a tangent.
    Fibre(Vec3),
    Glazed,
}

/// All that is needed to follow a ray.
pub(crate) struct Shader<'s, 'a> {
    pub world: &'s World<'a>,
    pub scene: &'s Scene<'a>,
    pub look: &'s Look,
    pub view: &'s View,
    light: Light,
    sun_direction: Vec3,
    sun_spread: f32,
    up: Vec3,
    /// Values at the ends of the colour map.
    range: [f32; 2],
    /// Middle and width of the light pool on the floor.
    pool: (Vec3, f32),
}

impl<'s, 'a> Shader<'s, 'a> {
    pub fn new(world: &'s World<'a>, scene: &'s Scene<'a>, look: &'s Look, view: &'s View, range: [f32; 2]) -> Self {
        let up = scene.up.normalize();
        let mut light = scene.light;
        if look.colouring.is_figure() {
            // Colours carry meaning: white light, shallow shade.
            light.sun = Vec3::splat(luminance(light.sun) * 0.34);
            light.sky = Vec3::splat(luminance(light.sky) * 1.05);
            light.ground = Vec3::splat(luminance(light.ground) * 1.9);
        }
        let shoulder = || {
            let back = view.back.reject_from(up).try_normalize().unwrap_or(view.above);
            let right = view.right;
            up * 0.85 - right * 0.88 + back * 0.42
        };
        let sun_direction = light.sun_direction.and_then(Vec3::try_normalize).unwrap_or_else(|| shoulder().normalize());
        let sun_spread = libm::tanf(light.sun_radius_degrees.clamp(0.0, 60.0).to_radians());
        let pool = if world.bounds.is_empty() {
            (Vec3::ZERO, 1.0)
        } else {
            (world.bounds.centre(), world.bounds.diagonal().max(1e-6) * 0.9)
        };
        Self { world, scene, look, view, light, sun_direction, sun_spread, up, range, pool }
    }

    /// Light seen at place `p` of the picture [px], and the number of the thing it comes from if that is of one even
    /// colour (there, neighbouring pixels may lend each other samples), else [`even::ROUGH`].
    pub fn radiance(&self, p: Vec2, sampler: &Sampler) -> (Vec3, u32) {
        let beam = Beam {
            origin: self.view.eye,
            direction: self.view.direction(p),
            time: if self.look.open_seconds() > 0.0 { sampler.pair(1).x - 0.5 } else { 0.0 },
            seed: sampler.path_seed(),
            near: 0.0,
        };
        let floor = self.floor_distance(&beam);
        if let Some(hit) = self.world.first(&beam, floor.unwrap_or(f32::MAX)) {
            return (self.surface(&beam, &hit, sampler), self.even_thing(&hit));
        }
        let backdrop = self.backdrop(p);
        match floor {
            Some(t) => (backdrop * self.floor_share(&beam, t, sampler), 1),
            None => (backdrop, 2),
        }
    }

    fn even_thing(&self, hit: &Hit) -> u32 {
        match (hit.owner, self.look.colouring) {
            (Owner::Body(i), _) => hash2(1, i as u32),
            (Owner::Cloth(i), Colouring::Strain | Colouring::PlasticStrain | Colouring::TwoTone) => hash2(2, i as u32),
            (Owner::Cloth(i), Colouring::Pieces) => {
                let HitKind::Face { face, .. } = hit.kind else { return even::ROUGH };
                let cloth = &self.world.sheets[i].cloth;
                let node = cloth.faces[face][0] as usize;
                hash2(hash2(3, i as u32), cloth.node_piece.map_or(0, |p| p[node]))
            }
            _ => even::ROUGH,
        }
    }

    /// Soft gradient behind everything, by height in the picture.
    fn backdrop(&self, p: Vec2) -> Vec3 {
        let y = (1.0 - p.y / self.view.size.y).clamp(0.0, 1.0);
        let s = y * y * (3.0 - 2.0 * y);
        let c = self.light.backdrop[0].lerp(self.light.backdrop[1], s);
        if self.look.colouring.is_figure() { Vec3::splat(luminance(c)) * 0.93 } else { c }
    }

    fn floor_distance(&self, beam: &Beam) -> Option<f32> {
        let height = self.scene.floor?;
        let fall = beam.direction.dot(self.up);
        let t = (height - beam.origin.dot(self.up)) / fall;
        (fall < -1e-6 && t > 0.0 && t.is_finite()).then_some(t)
    }

    /// Light on the floor as a share of what it would get with nothing around, times the pool of light.
    fn floor_share(&self, beam: &Beam, t: f32, sampler: &Sampler) -> Vec3 {
        let place = beam.origin + beam.direction * t;
        let sun = self.light.sun * self.up.dot(self.sun_direction).max(0.0);
        let sky = self.sky(self.up);
        let start = place + self.up * self.world.skin;
        let shadow = if sun == Vec3::ZERO { 1.0 } else { self.sun_seen(start, beam, sampler) };
        let open = self.sky_seen(start, self.up, beam, sampler);
        let share = (sun * shadow + sky * open) / (sun + sky).max(Vec3::splat(1e-6));
        let r = (place - self.pool.0).reject_from(self.up).length() / self.pool.1;
        // Far away the floor goes over into the backdrop.
        let near = 1.0 / (1.0 + 0.05 * r * r);
        Vec3::ONE.lerp(share * (1.0 + 0.16 / (1.0 + r * r)), near)
    }

    fn sky(&self, n: Vec3) -> Vec3 {
        self.light.ground.lerp(self.light.sky, 0.5 + 0.5 * n.dot(self.up))
    }

    fn sun_seen(&self, start: Vec3, beam: &Beam, sampler: &Sampler) -> f32 {
        let direction = match self.look.quality {
            Quality::Draft => self.sun_direction,
            Quality::Final => cone(self.sun_direction, self.sun_spread, sampler.pair(2)),
        };
        let shadow = Beam { origin: start, direction, near: 0.0, ..*beam };
        if self.world.blocker(&shadow, f32::MAX).is_some() { 0.0 } else { 1.0 }
    }

    /// Part of the sky's light that arrives, with the colour of what is in the way.
    fn sky_seen(&self, start: Vec3, n: Vec3, beam: &Beam, sampler: &Sampler) -> Vec3 {
        if self.look.quality == Quality::Draft {
            return Vec3::ONE;
        }
        let direction = cosine_hemisphere(n, sampler.pair(3));
        let way = Beam { origin: start, direction, near: 0.0, ..*beam };
        match self.world.blocker(&way, f32::MAX) {
            Some(owner) => self.mean_colour(owner) * 0.22,
            None => {
                // Towards a floor close below: it lies in the shade of what stands here.
                let size = self.pool.1;
                let near = self.floor_distance(&way).map_or(1.0, |t| 0.25 + 0.75 * t / (t + 0.12 * size));
                Vec3::splat(near)
            }
        }
    }

    fn mean_colour(&self, owner: Owner) -> Vec3 {
        match owner {
            Owner::Cloth(i) if self.look.colouring == Colouring::Fabric => self.world.sheets[i].cover.mean(),
            Owner::Body(i) => self.scene.bodies[i].colour.unwrap_or(Vec3::splat(0.7)),
            Owner::Ball(c) => c,
            _ => Vec3::splat(0.6),
        }
    }

    fn surface(&self, beam: &Beam, hit: &Hit, sampler: &Sampler) -> Vec3 {
        let place = beam.origin + beam.direction * hit.t;
        let matter = self.matter(beam, hit, place);
        let (n, v, l) = (matter.fine, -beam.direction, self.sun_direction);
        let facing = n.dot(l);
        let soft = self.lifted(hit, place, matter.shape);
        let skin = self.world.skin;
        let mut out = Vec3::ZERO;
        // Sun. Cloth and fibres also take light from behind.
        let lit_side = matter.shape.dot(l) > 0.0;
        let direct = match matter.kind {
            Kind::Cloth if facing > 0.0 => matter.albedo * facing,
            Kind::Cloth => matter.albedo * matter.albedo * (THROUGH * -facing),
            Kind::Glazed => matter.albedo * facing.max(0.0) + Vec3::splat(gloss(n, l, v)),
            Kind::Fibre(t) => fibre(matter.albedo, t, n, l, v),
        };
        if direct != Vec3::ZERO && (lit_side || matter.kind != Kind::Glazed) {
            let start = if lit_side { soft + matter.shape * skin } else { place - matter.shape * (skin * 2.0) };
            out += direct * self.light.sun * self.sun_seen(start, beam, sampler);
        }
        // Sky.
        let open = self.sky_seen(soft + matter.shape * skin, matter.shape, beam, sampler);
        out += matter.albedo * self.sky(n) * open;
        let glancing = (1.0 - n.dot(v).abs()).clamp(0.0, 1.0);
        let g2 = glancing * glancing;
        match matter.kind {
            Kind::Cloth => {
                out += matter.albedo * matter.albedo * self.sky(-n) * (THROUGH * 0.6) * open;
                if !self.look.colouring.is_figure() {
                    let fuzz = matter.albedo.lerp(Vec3::ONE, 0.35) * (0.34 * g2 * g2);
                    out += fuzz * (self.sky(n) * open + self.light.sun * (0.5 * facing.max(0.0)));
                }
            }
            Kind::Glazed => out += self.sky(n * (2.0 * n.dot(v)) - v) * open * (0.03 + 0.5 * g2 * g2 * glancing),
            Kind::Fibre(_) => {}
        }
        out
    }

    /// Start of shadow rays: `place` lifted to the smooth surface.
    fn lifted(&self, hit: &Hit, place: Vec3, towards: Vec3) -> Vec3 {
        let (HitKind::Face { face, weights, corners }, Owner::Cloth(i)) = (hit.kind, hit.owner) else { return place };
        let sheet = &self.world.sheets[i];
        let nodes = sheet.cloth.faces[face];
        (0..3).fold(place, |sum, k| {
            let n = sheet.normals[nodes[k] as usize];
            let n = if n.dot(towards) < 0.0 { -n } else { n };
            let below = (place - corners[k]).dot(n).min(0.0);
            sum - n * (below * weights[k])
        })
    }

    fn matter(&self, beam: &Beam, hit: &Hit, place: Vec3) -> Matter {
        let v = -beam.direction;
        match hit.kind {
            HitKind::Face { face, weights, corners } => {
                let flat = (corners[1] - corners[0]).cross(corners[2] - corners[0]).normalize_or_zero();
                let front = flat.dot(v) >= 0.0;
                let shape = if front { flat } else { -flat };
                match hit.owner {
                    Owner::Cloth(i) => {
                        // Size of the pixel on the cloth.
                        let footprint = hit.t * self.view.pixel / flat.dot(v).abs().max(0.15);
                        self.cloth(i, face, weights, corners, shape, front, footprint)
                    }
                    Owner::Body(i) => {
                        let n = blend(self.world.shells[i][face], weights);
                        let fine = if front { n } else { -n };
                        let albedo = self.scene.bodies[i].colour.unwrap_or(srgb(0xd9d4cb));
                        Matter { albedo, shape, fine, kind: Kind::Glazed }
                    }
                    _ => Matter { albedo: Vec3::splat(0.5), shape, fine: shape, kind: Kind::Glazed },
                }
            }
            HitKind::Round { ends, along, bend } => self.round(hit, ends, (along, bend), place),
        }
    }

    fn round(&self, hit: &Hit, [a, b]: [Vec3; 2], (along, bend): (f32, [Vec3; 2]), place: Vec3) -> Matter {
        let owner = hit.owner;
        let axis = b - a;
        let s = ((place - a).dot(axis) / axis.length_squared().max(1e-30)).clamp(0.0, 1.0);
        let off = place - a - axis * s;
        // Smooth over joints, but round at ends.
        let tangent = bend[0].lerp(bend[1], s).try_normalize().unwrap_or(axis.normalize_or_zero());
        let n = if s > 0.0 && s < 1.0 { off.reject_from(tangent) } else { off };
        let n = n.try_normalize().unwrap_or(off.normalize_or_zero());
        let colouring = self.look.colouring;
        let dye = &self.look.dye;
        let pale = srgb(0xd8d5cf);
        let (albedo, kind) = match owner {
            Owner::Body(i) => {
                let body = &self.scene.bodies[i];
                let albedo = body.colour.unwrap_or(srgb(0xd9d4cb));
                // Two thin great circles make rolling visible.
                let local = (body.rotation.inverse() * (place - body.position)).normalize_or_zero();
                let line = local.x.abs().min(local.z.abs()) < 0.012;
                (if line && axis == Vec3::ZERO { albedo * 0.72 } else { albedo }, Kind::Glazed)
            }
            Owner::Ball(colour) => (colour, Kind::Glazed),
            Owner::Yarn(i) => {
                let own = self.scene.yarns[i].colour.unwrap_or(dye.front);
                if !matches!(colouring, Colouring::Fabric | Colouring::Pieces) {
                    let c = if colouring == Colouring::TwoTone { srgb(0xd9822b) } else { pale };
                    return Matter { albedo: c, shape: n, fine: n, kind: Kind::Fibre(tangent) };
                }
                // No two yarns are dyed quite alike.
                let shade = 0.93 + 0.14 * unit(hash2(i as u32, 0x7a51));
                let at = along + s * axis.length();
                // What a pixel can't show is left out.
                let seen = ((off.length() / (hit.t * self.view.pixel) - 1.0) * 0.4).clamp(0.0, 1.0);
                return twisted(own * shade, tangent, n, off.length(), at, seen);
            }
            Owner::Lip(i) | Owner::Fibre(i) if !colouring.is_figure() => {
                (self.world.sheets[i].cover.mean().lerp(dye.fibre, 0.72), Kind::Fibre(tangent))
            }
            Owner::Hem(i) if !colouring.is_figure() => (self.world.sheets[i].cover.mean() * 0.85, Kind::Fibre(tangent)),
            Owner::Lip(_) if colouring == Colouring::Wire => (srgb(0xd0341c), Kind::Fibre(tangent)),
            Owner::Hem(_) if colouring == Colouring::Wire => (srgb(0x2f3a44), Kind::Fibre(tangent)),
            Owner::Lip(_) | Owner::Fibre(_) => (pale * 0.55, Kind::Fibre(tangent)),
            _ => (pale * 0.8, Kind::Fibre(tangent)),
        };
        Matter { albedo, shape: n, fine: n, kind }
    }

    #[allow(clippy::too_many_arguments)]
    fn cloth(
        &self,
        i: usize,
        face: usize,
        weights: Vec3,
        corners: [Vec3; 3],
        shape: Vec3,
        front: bool,
        footprint: f32,
    ) -> Matter {
        let sheet = &self.world.sheets[i];
        let nodes = sheet.cloth.faces[face];
        let smooth = blend(nodes.map(|n| sheet.normals[n as usize]), weights);
        let mut fine = if smooth.dot(shape) < 0.0 { -smooth } else { smooth };
        // Distance from each edge [m], edge k facing corner k + 2.
        let double_area = (corners[1] - corners[0]).cross(corners[2] - corners[0]).length();
        let edge_distance = |k: usize| {
            let length = corners[k].distance(corners[(k + 1) % 3]).max(1e-20);
            weights[(k + 2) % 3].max(0.0) * double_area / length
        };
        let mut albedo = match self.look.colouring {
            Colouring::Strain | Colouring::PlasticStrain => {
                let values = sheet.cloth.node_value.map(|v| nodes.map(|n| v[n as usize])).unwrap_or([0.0; 3]);
                let value = values[0] * weights.x + values[1] * weights.y + values[2] * weights.z;
                let map = self.look.colouring.map().unwrap_or(crate::colour::Map::Heat);
                map.at((value - self.range[0]) / (self.range[1] - self.range[0]))
            }
            Colouring::Pieces => piece(sheet.cloth.node_piece.map_or(i as u32, |p| p[nodes[0] as usize])),
            Colouring::TwoTone => srgb(0x6f93a8),
            Colouring::Wire => srgb(0xdedbd4),
            Colouring::Fabric => match sheet.cloth.corner_uv.get(face) {
                Some(uv) => {
                    let place = uv[0] * weights.x + uv[1] * weights.y + uv[2] * weights.z;
                    let pattern = sheet.cover.at(place, footprint, front);
                    if let Some([du, dv]) = tangents(corners, *uv) {
                        let slope = pattern.slope * 0.55;
                        let tilt = du.normalize_or_zero() * slope.x + dv.normalize_or_zero() * slope.y;
                        fine = (fine + tilt).try_normalize().unwrap_or(fine);
                    }
                    // Raw fibre along torn lips.
                    let torn = |k: &usize| sheet.torn[face] & (1 << k) != 0;
                    let from_lip = (0..3).filter(torn).map(edge_distance).fold(f32::INFINITY, f32::min);
                    let strip = sheet.cover.pitch * 0.5;
                    let pale = (1.0 - from_lip / strip).clamp(0.0, 1.0);
                    pattern.albedo.lerp(self.look.dye.fibre, 0.75 * pale * pale)
                }
                None => sheet.cover.mean(),
            },
        };
        if self.look.colouring == Colouring::Wire {
            let nearest = (0..3).map(edge_distance).fold(f32::INFINITY, f32::min);
            let line = |distance: f32, pixels: f32| (pixels * 0.5 + 0.5 - distance / footprint).clamp(0.0, 1.0);
            // Lines closer than a few pixels would only darken the sheet.
            let room = (double_area.sqrt() / (9.0 * footprint)).clamp(0.15, 1.0);
            albedo = albedo.lerp(srgb(0x2f3a44), 0.85 * room * line(nearest, 0.9));
        }
        Matter { albedo, shape, fine, kind: Kind::Cloth }
    }
}

fn blend(v: [Vec3; 3], weights: Vec3) -> Vec3 {
    (v[0] * weights.x + v[1] * weights.y + v[2] * weights.z).normalize_or_zero()
}

/// A yarn of three plies: its surface h = cos ψ, ψ = 3φ + 2π s/p with the angle φ around the axis and the length s along it, p six radii. Its
/// fibres run along the plies, and the grooves between them are darker. `seen` is how much of it shows.
fn twisted(albedo: Vec3, t: Vec3, n: Vec3, radius: f32, s: f32, seen: f32) -> Matter {
    const PLIES: f32 = 3.0;
    const PITCH: f32 = 6.0;
    let around = t.cross(n);
    let from = Vec3::new(0.36, 0.48, 0.8).reject_from(t).normalize_or_zero();
    let angle = libm::atan2f(n.dot(t.cross(from)), n.dot(from));
    let turns = std::f32::consts::TAU / PITCH;
    let phase = PLIES * angle + turns * s / radius.max(1e-9);
    let slope = libm::sinf(phase) * 0.45 * seen;
    let lay = turns / PLIES;
    let fine = (n + (around + t * lay) * slope).normalize_or_zero();
    let groove = 1.0 - 0.22 * seen * (0.5 - 0.5 * libm::cosf(phase));
    Matter { albedo: albedo * groove, shape: n, fine, kind: Kind::Fibre((t - around * lay).normalize_or_zero()) }
}

/// Gloss of a glaze: `(n·h)^64`, by squaring.
fn gloss(n: Vec3, l: Vec3, v: Vec3) -> f32 {
    let mut c = n.dot((l + v).normalize_or_zero()).max(0.0);
    for _ in 0..6 {
        c *= c;
    }
    0.35 * c
}

/// Kajiya–Kay with a Lambert part.
fn fibre(albedo: Vec3, t: Vec3, n: Vec3, l: Vec3, v: Vec3) -> Vec3 {
    let (cl, cv) = (t.dot(l), t.dot(v));
    let (sl, sv) = ((1.0 - cl * cl).max(0.0).sqrt(), (1.0 - cv * cv).max(0.0).sqrt());
    let mut shine = (sl * sv - cl * cv).max(0.0);
    for _ in 0..4 {
        shine *= shine;
    }
    let round = n.dot(l);
    let diffuse = 0.45 * sl * (0.5 + 0.5 * round) + 0.6 * round.max(0.0);
    albedo * diffuse + Vec3::splat(0.10 * shine * (0.5 + 0.5 * round))
}
