//! Refuses a camera that stands inside a body or in the cloth itself: the picture would be one blur of colour.

use crate::error::RenderError;
use crate::scene::{Bounds, Scene, Shape};
use crate::world::World;
use glam::Vec3;

/// Whether the eye has room.
pub(crate) fn check_eye(scene: &Scene, world: &World, eye: Vec3) -> Result<(), RenderError> {
    let fail = |cause: String| {
        let advice = "move the eye back, or let the camera be framed automatically";
        Err(RenderError::Camera { x: eye.x, y: eye.y, z: eye.z, cause, advice })
    };
    for (i, body) in scene.bodies.iter().enumerate() {
        let p = body.rotation.inverse() * (eye - body.position);
        let inside = match body.shape {
            Shape::Sphere { radius } => p.length() < radius,
            Shape::Cuboid { half } => (half - p.abs()).min_element() > 0.0,
            Shape::Capsule { half_length, radius } => {
                (p - Vec3::Y * p.y.clamp(-half_length, half_length)).length() < radius
            }
            Shape::Mesh { .. } => false,
        };
        if inside {
            return fail(format!("it stands inside body {i}"));
        }
    }
    for (i, cloth) in scene.cloths.iter().enumerate() {
        let reach = (cloth.thickness * 0.5).max(world.skin * 4.0);
        let touched = cloth.faces.iter().position(|face| {
            let corners = face.map(|n| cloth.positions[n as usize]);
            let mut bounds = Bounds::EMPTY;
            corners.iter().for_each(|&c| bounds.include(c, reach));
            let near = eye.cmpge(bounds.min).all() && eye.cmple(bounds.max).all();
            near && distance(eye, corners) < reach
        });
        if let Some(face) = touched {
            return fail(format!("it stands in face {face} of cloth {i}"));
        }
    }
    Ok(())
}

/// Distance of a point from a triangle (C. Ericson, *Real-Time Collision Detection*, 2005, §5.1.5).
fn distance(p: Vec3, [a, b, c]: [Vec3; 3]) -> f32 {
    let on_edge = |a: Vec3, b: Vec3| {
        let s = ((p - a).dot(b - a) / (b - a).length_squared().max(1e-30)).clamp(0.0, 1.0);
        p.distance(a + (b - a) * s)
    };
    let n = (b - a).cross(c - a);
    let over = |a: Vec3, b: Vec3| (b - a).cross(p - a).dot(n) >= 0.0;
    if n != Vec3::ZERO && over(a, b) && over(b, c) && over(c, a) {
        return (p - a).dot(n.normalize_or_zero()).abs();
    }
    on_edge(a, b).min(on_edge(b, c)).min(on_edge(c, a))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Body, Camera, Cloth, Look, render};

    #[test]
    fn an_eye_in_cloth_or_body_is_refused() {
        let positions = [Vec3::ZERO, Vec3::X, Vec3::Y];
        let cloth = Cloth { positions: &positions, faces: &[[0, 1, 2]], ..Cloth::default() };
        let body = Body::at(Shape::Capsule { half_length: 1.0, radius: 0.5 }, Vec3::splat(9.0));
        let scene = Scene { cloths: vec![cloth], bodies: vec![body], ..Scene::default() };
        let look_from = |eye| {
            let camera = Camera { eye, target: Vec3::NEG_ONE, up: Vec3::Y, fov_y_degrees: 30.0 };
            render(&scene, &camera, &Look::draft(8, 8)).map_err(|e| e.to_string())
        };
        assert!(look_from(Vec3::new(0.2, 0.2, 0.0)).unwrap_err().contains("face 0 of cloth 0"));
        assert!(look_from(Vec3::new(9.0, 10.2, 9.2)).unwrap_err().contains("inside body 0"));
        assert!(look_from(Vec3::new(0.2, 0.2, 1.0)).is_ok());
    }

    #[test]
    fn distances_to_face_edge_and_corner() {
        let t = [Vec3::ZERO, Vec3::X, Vec3::Y];
        assert!((distance(Vec3::new(0.2, 0.2, 0.7), t) - 0.7).abs() < 1e-6);
        assert!((distance(Vec3::new(0.5, -2.0, 0.0), t) - 2.0).abs() < 1e-6);
        assert!((distance(Vec3::new(4.0, 0.0, 4.0), t) - 5.0).abs() < 1e-6);
    }
}
