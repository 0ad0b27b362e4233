//! From a frame of the cache to a picture: which colours, which marks, which light.
//!
//! Rigid bodies are drawn as [`super::solids`] has them. Held nodes are drawn as plates where whole triangles are held, as bars where neighbours on the border are held together, else as balls. In pictures of
//! strain the most strained node carries a ring and a line along its most strained edge (Phillips 2008, Fig. 49).

use super::args::{Colour, PictureArgs};
use super::solids::{Solid, linear};
use super::survey::Survey;
use super::threads::{Dyes, Threads};
use glam::{Quat, Vec2, Vec3};
use ripstop_render::colour::srgb;
use ripstop_render::{
    Body, Camera, Cloth, Dye, ImageTexture, Legend, Look, Marker, Quality, RenderError, RgbImage, Scene, Shape,
    Texture, render,
};
use ripstop_scene::cache::{Frame, Topology};
use ripstop_scene::{file, keep};
use std::collections::BTreeMap;
use std::path::Path;

/// Radius of bars and balls, over the size of the cloth.
const BAR: f32 = 0.0075;
/// How far plates are off the cloth, over that radius.
const PLATE: f32 = 0.4;
/// Colour of what holds the cloth.
const HOLDER: u32 = 0x3a3f47;
/// Strain from which on the most strained node is marked, over the upper end of colours.
const WORTH_A_SIGN: f32 = 0.02;

/// Draws the frames of one run: everything that stays the same from frame to frame.
pub struct Artist<'a> {
    survey: &'a Survey,
    colour: Colour,
    camera: Camera,
    look: Look,
    floor: Option<f32>,
    solids: &'a [Solid],
    dyes: Dyes,
}

impl<'a> Artist<'a> {
    /// Prepares pictures of a run's `scene` in `folder`, of the size and care in `look`.
    pub fn new(
        scene: &file::Scene,
        folder: &Path,
        (survey, solids): (&'a Survey, &'a [Solid]),
        args: &PictureArgs,
        look: Look,
    ) -> Result<Self, RenderError> {
        let colour = args.colour.unwrap_or(scene.look.colouring.into());
        let texture = match (&scene.look.texture, colour) {
            (_, Colour::Checker) => Texture::Checker,
            (Some(file), Colour::Fabric) => Texture::Image(ImageTexture::open(&folder.join(keep::texture_file(file)))?),
            _ => Texture::Fabric,
        };
        let own = scene.camera.map(|c| Camera {
            eye: c.eye.as_vec3(),
            target: c.target.as_vec3(),
            up: Vec3::Y,
            fov_y_degrees: c.angle as f32,
        });
        let top = if colour == Colour::Plastic { survey.plastic } else { survey.strain };
        Ok(Self {
            survey,
            colour,
            camera: args.camera.or(own).unwrap_or_else(|| Camera::framing(survey.bounds, look.aspect())),
            look: Look {
                colouring: colour.colouring(),
                texture,
                dye: scene.look.colour.map_or(Dye::default(), dyed),
                frame_seconds: (1.0 / scene.time.fps) as f32,
                legend: Legend { label: String::new(), range: Some([0.0, top]), percent: true },
                ..look
            },
            floor: scene.look.floor.map(|height| height as f32),
            solids,
            dyes: Dyes::of(&scene.look),
        })
    }

    /// True if the frame after the one to be drawn matters: bodies are blurred by their way to it.
    pub fn looks_ahead(&self) -> bool {
        !self.solids.is_empty() && self.look.quality == Quality::Final && self.look.shutter > 0.0
    }

    /// Draws a frame, with `caption` at its foot; `next` is the frame after it, if it matters.
    pub fn draw(&self, frame: &Frame, next: Option<&Frame>, caption: &str) -> Result<RgbImage, RenderError> {
        let topology = &frame.topology;
        let points: Vec<Vec3> = frame.points.iter().map(|&p| p.into()).collect();
        let velocities: Vec<Vec3> = frame.velocities.iter().map(|&v| v.into()).collect();
        let corner_uv: Vec<[Vec2; 3]> = topology.corner_uv.iter().map(|face| face.map(Vec2::from)).collect();
        let torn = torn_edges(topology);
        let value = match self.colour {
            Colour::Strain => Some(frame.strain.as_slice()),
            Colour::Plastic => Some(frame.plastic.as_slice()),
            _ => None,
        };
        let piece = (self.colour == Colour::Pieces).then(|| pieces(topology));
        let cloth = Cloth {
            positions: &points,
            velocities: &velocities,
            faces: &topology.faces,
            corner_uv: &corner_uv,
            node_value: value,
            node_piece: piece.as_deref(),
            torn_edges: &torn,
            ..Cloth::default()
        };
        let top = frame.strain.iter().copied().fold(0.0, f32::max);
        // Cloth at rest has no most strained node worth a sign.
        let marked = self.colour == Colour::Strain && top > WORTH_A_SIGN * self.survey.strain;
        let markers = if marked { peak(frame).into_iter().collect() } else { Vec::new() };
        let placed = || self.solids.iter().zip(&frame.bodies);
        let squares: Vec<_> = placed().map(|(solid, pose)| solid.square(pose, self.survey.bounds)).collect();
        let floor = self.floor.or_else(|| placed().find_map(|(solid, pose)| solid.floor(pose)));
        let (plate_points, plate_faces) = self.plates(frame, &points);
        let mut bodies = self.holds(frame, &points, &velocities);
        if !plate_faces.is_empty() {
            let shape = Shape::Mesh { positions: &plate_points, faces: &plate_faces };
            bodies.push(Body { colour: Some(srgb(HOLDER)), ..Body::at(shape, Vec3::ZERO) });
        }
        for (i, (solid, pose)) in placed().enumerate().filter(|(_, (solid, pose))| solid.floor(pose).is_none()) {
            let next = next.and_then(|next| next.bodies.get(i));
            bodies.push(solid.body(pose, next, self.look.frame_seconds, squares[i].as_deref()));
        }
        let threads = frame.yarns.as_ref().map(Threads::of);
        let yarns = frame.yarns.as_ref().zip(threads.as_ref());
        let yarns = yarns.map_or(Vec::new(), |(yarns, threads)| threads.curves(yarns, self.colour, self.dyes));
        // Cloth that is drawn as yarns has no sheet.
        let only_yarns = frame.yarns.is_some() && matches!(self.colour, Colour::Fabric | Colour::Levels);
        let cloths = if only_yarns { Vec::new() } else { vec![cloth] };
        let scene = Scene { cloths, yarns, bodies, markers, floor, ..Scene::default() };
        let look = Look { caption: caption.into(), note: format!("{:.2} s", frame.time), ..self.look.clone() };
        render(&scene, &self.camera, &look)
    }

    /// Both sides of clamps that hold whole triangles: nodes and faces. They move with the cloth, so they aren't blurred.
    fn plates(&self, frame: &Frame, points: &[Vec3]) -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let held = |n: &u32| frame.topology.held.get(*n as usize).copied().unwrap_or(false);
        let (mut places, mut normals): (Vec<Vec3>, Vec<Vec3>) = Default::default();
        let (mut numbers, mut sides) = (BTreeMap::new(), Vec::new());
        for face in self.survey.plates.iter().filter(|face| face.iter().all(held)) {
            let [a, b, c] = face.map(|n| points[n as usize]);
            let own = face.map(|n| {
                *numbers.entry(n).or_insert_with(|| {
                    places.push(points[n as usize]);
                    normals.push(Vec3::ZERO);
                    places.len() as u32 - 1
                })
            });
            own.into_iter().for_each(|n| normals[n as usize] += (b - a).cross(c - a));
            sides.push(own);
        }
        let (count, off) = (places.len() as u32, self.survey.size * BAR * PLATE);
        let moved = |by: f32| places.iter().zip(&normals).map(move |(p, n)| *p + n.normalize_or_zero() * by);
        let back = sides.iter().map(|&[a, b, c]| [a, c, b].map(|n| n + count));
        (moved(off).chain(moved(-off)).collect(), sides.iter().copied().chain(back).collect())
    }

    /// Bars and balls at held nodes.
    fn holds<'b>(&self, frame: &Frame, points: &[Vec3], velocities: &[Vec3]) -> Vec<Body<'b>> {
        let held = |n: u32| frame.topology.held.get(n as usize).copied().unwrap_or(false);
        let radius = self.survey.size * BAR;
        let body = |shape: Shape<'b>, position: Vec3, velocity: Vec3| Body {
            velocity,
            colour: Some(srgb(HOLDER)),
            ..Body::at(shape, position)
        };
        let bars = self.survey.bars.iter().filter(|bar| bar.iter().all(|&n| held(n))).map(|bar| {
            let [a, b] = bar.map(|n| points[n as usize]);
            let [va, vb] = bar.map(|n| velocities[n as usize]);
            let shape = Shape::Capsule { half_length: a.distance(b) * 0.5, radius };
            let along = (b - a).try_normalize().unwrap_or(Vec3::Y);
            Body { rotation: Quat::from_rotation_arc(Vec3::Y, along), ..body(shape, (a + b) * 0.5, (va + vb) * 0.5) }
        });
        let balls = self.survey.balls.iter().filter(|&&n| held(n)).map(|&n| {
            let shape = Shape::Sphere { radius: radius * 0.8 };
            body(shape, points[n as usize], velocities[n as usize])
        });
        bars.chain(balls).collect()
    }
}

/// Colours of a cloth of one colour: its back paler, its grid a little lighter, its fibres almost white.
fn dyed(colour: [f32; 3]) -> Dye {
    let front = linear(colour);
    let towards = |share: f32| front.lerp(Vec3::new(0.85, 0.80, 0.73), share);
    Dye { front, back: towards(0.3), grid: towards(0.16), fibre: towards(0.8) }
}

/// Torn lips as (face, corner).
fn torn_edges(topology: &Topology) -> Vec<[u32; 2]> {
    let faces = topology.torn.iter().enumerate();
    faces.flat_map(|(f, torn)| (0..3).filter(|&k| torn[k]).map(move |k| [f as u32, k as u32])).collect()
}

/// Piece of every node: the least node that hangs together with it, so that a piece keeps its colour over a film.
fn pieces(topology: &Topology) -> Vec<u32> {
    let mut root: Vec<u32> = (0..topology.node_count() as u32).collect();
    fn find(root: &mut [u32], mut n: u32) -> u32 {
        while root[n as usize] != n {
            root[n as usize] = root[root[n as usize] as usize];
            n = root[n as usize];
        }
        n
    }
    for face in &topology.faces {
        for pair in [[face[0], face[1]], [face[1], face[2]]] {
            let [a, b] = pair.map(|n| find(&mut root, n));
            root[a.max(b) as usize] = a.min(b);
        }
    }
    (0..root.len() as u32).map(|n| find(&mut root, n)).collect()
}

/// The most strained node and the direction of its most strained edge.
fn peak(frame: &Frame) -> Option<Marker> {
    let topology = &frame.topology;
    let node = (0..frame.strain.len()).max_by(|&a, &b| frame.strain[a].total_cmp(&frame.strain[b]))?;
    let place = Vec3::from(*frame.points.get(node)?);
    let mut most = (f32::NEG_INFINITY, Vec3::ZERO);
    for (face, uv) in topology.faces.iter().zip(&topology.corner_uv) {
        let Some(k) = face.iter().position(|&n| n as usize == node) else { continue };
        for j in [(k + 1) % 3, (k + 2) % 3] {
            let edge = Vec3::from(frame.points[face[j] as usize]) - place;
            let woven = Vec2::from(uv[j]).distance(Vec2::from(uv[k]));
            let strain = edge.length() / woven.max(1e-12) - 1.0;
            if strain > most.0 {
                most = (strain, edge.normalize_or_zero());
            }
        }
    }
    Some(Marker::Peak { place, direction: most.1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// Two faces that share no node, the second stretched along x.
    fn frame() -> Frame {
        let topology = Topology {
            faces: vec![[0, 1, 2], [3, 4, 5]],
            corner_uv: vec![[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]; 2],
            torn: vec![[false, true, false], [false, false, true]],
            parent: (0..6).collect(),
            held: vec![false; 6],
        };
        let flat = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let pulled = [[0.0, 0.0, 0.0], [1.5, 0.0, 0.0], [0.0, 1.0, 0.0]];
        Frame {
            index: 0,
            time: 0.0,
            points: [flat, pulled].concat(),
            velocities: vec![[0.0; 3]; 6],
            strain: vec![0.0, 0.0, 0.0, 0.5, 0.4, 0.2],
            plastic: vec![0.0; 6],
            topology: Arc::new(topology),
            bodies: Vec::new(),
            yarns: None,
        }
    }

    #[test]
    fn the_peak_points_along_the_most_strained_edge() {
        let Some(Marker::Peak { place, direction }) = peak(&frame()) else { panic!("no peak") };
        assert_eq!((place, direction), (Vec3::ZERO, Vec3::X));
    }

    #[test]
    fn pieces_and_lips_are_found() {
        let topology = frame().topology;
        assert_eq!(pieces(&topology), [0, 0, 0, 3, 3, 3]);
        assert_eq!(torn_edges(&topology), [[0, 1], [1, 2]]);
    }

    #[test]
    fn a_dyed_cloth_is_paler_behind() {
        let dye = dyed([0.1, 0.2, 2.0]);
        assert!(dye.back.x > dye.front.x && dye.fibre.x > dye.back.x && dye.front.z == 1.0);
        assert_eq!(dyed([f32::NAN; 3]).front, Vec3::ZERO);
    }
}
