//! Rigid bodies in pictures: their surfaces as the cache has them, where each frame has them.
//!
//! A plane has no end: a level one is drawn as the floor, a tilted one as a square around the middle of the picture.

use glam::{Quat, Vec3};
use ripstop_render::colour::decode;
use ripstop_render::{Body, Bounds, Shape};
use ripstop_scene::cache::{BodyPose, BodySurface};
use ripstop_scene::file;

/// Half the side of a tilted plane, over the size of what the camera holds.
const PLANE: f32 = 2.0;
/// Largest tilt of a plane that is a floor: 1 − cosine.
const LEVEL: f32 = 1e-6;

/// A body made ready.
#[derive(Clone, Debug)]
pub struct Solid {
    points: Vec<Vec3>,
    faces: Vec<[u32; 3]>,
    colour: Option<Vec3>,
    plane: bool,
    bounds: Bounds,
}

/// A colour of a scene, in linear light.
pub fn linear(colour: [f32; 3]) -> Vec3 {
    Vec3::from(colour.map(|c| decode(if c.is_finite() { c.clamp(0.0, 1.0) } else { 0.0 })))
}

impl Solid {
    /// A body of `scene`, which tells planes.
    pub fn new(surface: BodySurface, scene: &file::Scene) -> Self {
        let table = scene.body.iter().find(|table| table.name == surface.name);
        let points: Vec<Vec3> = surface.points.into_iter().map(Vec3::from).collect();
        Self {
            bounds: Bounds::of(points.iter().copied()),
            points,
            faces: surface.triangles,
            colour: surface.colour.map(linear),
            plane: table.is_some_and(|table| matches!(table.shape, file::ShapeKind::Plane)),
        }
    }

    /// The box around it at a pose; nothing of a plane.
    pub fn bounds(&self, pose: &BodyPose) -> Bounds {
        if self.plane || self.bounds.is_empty() {
            return Bounds::EMPTY;
        }
        let (place, turn) = parts(pose);
        Bounds::of(self.bounds.corners().map(|corner| place + turn * corner))
    }

    /// Height of the floor that it is, if it is one.
    pub fn floor(&self, pose: &BodyPose) -> Option<f32> {
        let (place, turn) = parts(pose);
        (self.plane && (turn * Vec3::Y).y > 1.0 - LEVEL).then_some(place.y)
    }

    /// Points of a square of a tilted plane, around the middle of `view`.
    pub fn square(&self, pose: &BodyPose, view: Bounds) -> Option<Vec<Vec3>> {
        if !self.plane || self.floor(pose).is_some() {
            return None;
        }
        let (place, turn) = parts(pose);
        let middle = turn.conjugate() * (view.centre() - place);
        let half = PLANE * view.diagonal();
        let corner = |x: f32, z: f32| Vec3::new(middle.x + x * half, 0.0, middle.z + z * half);
        Some(vec![corner(-1.0, -1.0), corner(-1.0, 1.0), corner(1.0, 1.0), corner(1.0, -1.0)])
    }

    /// The body at a pose, on its way to another `seconds` later; `square` instead of its own points, if there is one.
    pub fn body<'a>(
        &'a self,
        pose: &BodyPose,
        next: Option<&BodyPose>,
        seconds: f32,
        square: Option<&'a [Vec3]>,
    ) -> Body<'a> {
        let (position, rotation) = parts(pose);
        let (mut velocity, mut spin) = (Vec3::ZERO, Vec3::ZERO);
        if let Some((place, turn)) = next.map(parts).filter(|_| seconds > 0.0) {
            let change = turn * rotation.conjugate();
            velocity = (place - position) / seconds;
            // Twice the sine of half the angle: near enough for the blur of a frame.
            spin = Vec3::new(change.x, change.y, change.z) * (2.0 / seconds).copysign(change.w);
        }
        let shape = Shape::Mesh { positions: square.unwrap_or(&self.points), faces: &self.faces };
        Body { shape, position, rotation, velocity, spin, colour: self.colour }
    }
}

fn parts(pose: &BodyPose) -> (Vec3, Quat) {
    (pose.position.into(), Quat::from_array(pose.rotation))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TITLE: &str = "title = 'x'\n[time]\nduration = 1\nstep = 1e-3\n[cloth.grid]\nsize = [1, 1]\nnodes = [3, 3]\n";

    fn solid(shape: &str) -> Solid {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scene.toml");
        std::fs::write(&path, format!("{TITLE}[[body]]\nname = 'it'\nshape = {shape}\n")).unwrap();
        let scene = ripstop_scene::Scene::parse(&path).unwrap();
        let points = vec![[-1.0, 0.0, -1.0], [-1.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, 0.0, -1.0]];
        let triangles = vec![[0, 1, 2], [0, 2, 3]];
        Solid::new(BodySurface { name: "it".into(), colour: Some([1.0, 0.0, 0.5]), points, triangles }, &scene)
    }

    #[test]
    fn planes_are_floors_or_squares() {
        let level = BodyPose { position: [0.0, -0.5, 3.0], rotation: [0.0, 0.6, 0.0, 0.8] };
        let tilted = BodyPose { position: [0.0, -0.5, 0.0], rotation: [0.0, 0.0, 0.6, 0.8] };
        let plane = solid("'plane'");
        assert_eq!(plane.floor(&level), Some(-0.5));
        let view = Bounds { min: Vec3::splat(-1.0), max: Vec3::splat(3.0) };
        assert!(plane.square(&level, view).is_none() && plane.floor(&tilted).is_none());
        let square = plane.square(&tilted, view).unwrap();
        let (place, turn) = parts(&tilted);
        let middle = square.iter().map(|p| place + turn * *p).sum::<Vec3>() / 4.0;
        // The foot of the perpendicular from the middle of the view.
        let off = view.centre() - middle;
        assert!(off.cross(turn * Vec3::Y).length() < 1e-5, "{off}");
        assert!(plane.bounds(&level).is_empty());
        let ball = solid("{ ball = { radius = 1 } }");
        assert!(
            ball.floor(&level).is_none() && ball.square(&tilted, view).is_none() && !ball.bounds(&level).is_empty()
        );
    }

    #[test]
    fn blur_follows_the_way_to_the_next_frame() {
        let now = BodyPose { position: [0.0; 3], rotation: [0.0, 0.0, 0.0, 1.0] };
        // The same turn with either sign.
        for sign in [1.0, -1.0] {
            let next = BodyPose { position: [0.1, 0.0, 0.0], rotation: [0.0, 0.02 * sign, 0.0, sign] };
            let ball = solid("{ ball = { radius = 1 } }");
            let body = ball.body(&now, Some(&next), 0.1, None);
            assert!((body.velocity - Vec3::X).length() < 1e-6 && (body.spin - Vec3::Y * 0.4).length() < 1e-6);
            assert_eq!(ball.body(&now, None, 0.1, None).velocity, Vec3::ZERO);
        }
    }
}
