//! A handkerchief over a ball, z up, in other colours: `cargo run --release -p ripstop-render --example handkerchief -- out`.
//!
//! Shows that scale (20 cm), axes and dye are free, and the back of the cloth.

use glam::{Vec2, Vec3, vec2, vec3};
use ripstop_render::{Body, Camera, Cloth, Dye, Light, Look, Scene, Shape, colour::srgb, render, save};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "out".into());
    std::fs::create_dir_all(&folder)?;
    const N: usize = 90;
    let radius = 0.035;
    let mut positions = Vec::new();
    let mut uv = Vec::new();
    for j in 0..=N {
        for i in 0..=N {
            let q = vec2(i as f32, j as f32) / N as f32 - Vec2::splat(0.5);
            uv.push(q * 0.2);
            positions.push(place(q * 0.2, radius));
        }
    }
    let mut faces = Vec::new();
    for j in 0..N as u32 {
        for i in 0..N as u32 {
            let a = j * (N as u32 + 1) + i;
            let b = a + N as u32 + 1;
            faces.extend([[a, a + 1, b + 1], [a, b + 1, b]]);
        }
    }
    let corner_uv: Vec<[Vec2; 3]> = faces.iter().map(|f| f.map(|n: u32| uv[n as usize])).collect();
    let cloth = Cloth { positions: &positions, faces: &faces, corner_uv: &corner_uv, ..Cloth::default() };
    let ball = Body::at(Shape::Sphere { radius: radius * 0.97 }, vec3(0.0, 0.0, 0.075));
    let mut post = Body::at(Shape::Capsule { half_length: 0.03, radius: 0.006 }, vec3(0.0, 0.0, 0.02));
    post.rotation = glam::Quat::from_rotation_arc(Vec3::Y, Vec3::Z);
    let scene = Scene {
        cloths: vec![cloth],
        bodies: vec![ball, post],
        floor: Some(0.0),
        up: Vec3::Z,
        light: Light::default(),
        ..Scene::default()
    };
    let dye = Dye { front: srgb(0x27566b), back: srgb(0x6f93a0), grid: srgb(0x4f8599), ..Dye::default() };
    let look = Look { width: 960, height: 640, dye, ..Look::default() };
    let camera = Camera::framing_from(scene.bounds(), look.aspect(), vec3(0.5, -1.0, 0.22), Vec3::Z);
    save(&render(&scene, &camera, &look)?, &Path::new(&folder).join("drape.png"))?;
    Ok(())
}

/// Wraps the square over the ball, then lets it fall in folds.
fn place(q: Vec2, radius: f32) -> Vec3 {
    let r = q.length().max(1e-6);
    let angle = libm::atan2f(q.y, q.x);
    let bend = (r / radius).min(1.45);
    let fall = (r - 1.45 * radius).max(0.0);
    let fold = (fall / 0.04).min(1.0);
    let out = radius * libm::sinf(bend) + fall * (0.16 + 0.2 * fold * libm::sinf(8.0 * angle));
    let height = 0.075 + radius * libm::cosf(bend) - fall * 0.93;
    let (s, c) = libm::sincosf(angle);
    vec3(out * c, out * s, height.max(0.0012))
}
