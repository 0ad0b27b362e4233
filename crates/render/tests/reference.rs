//! Small pictures compared with stored ones.
//!
//! Tolerance: arithmetic is the same on every machine, but the tree may be walked in another order where boxes touch, which
//! can move single samples. So the mean difference must stay below half a step of 255, and no more than one pixel in a
//! hundred may differ by more than 8 steps. To store anew after a wanted change, and then look at them:
//! `RIPSTOP_STORE_PICTURES=1 cargo test -p ripstop-render --test reference`.

#[path = "../examples/synthetic/mod.rs"]
mod synthetic;

use glam::{Quat, vec3};
use ripstop_render::{Body, Camera, Colouring, Look, Marker, Scene, Shape, Texture, Yarn, render};
use std::path::Path;

fn compare(name: &str, edit: impl FnOnce(&mut Look)) {
    let hanging = synthetic::Hanging::new(600, 0.4);
    let coil: Vec<_> = (0..24)
        .map(|i| i as f32 * 0.6)
        .map(|a| vec3(0.1 + 0.08 * libm::cosf(a), 0.02 + 0.004 * a, 0.45 + 0.06 * libm::sinf(a)))
        .collect();
    let mut block = Body::at(Shape::Cuboid { half: vec3(0.11, 0.07, 0.09) }, vec3(-0.48, 0.07, 0.28));
    block.rotation = Quat::from_xyzw(0.0, 0.259, 0.0, 0.966).normalize();
    let scene = Scene {
        cloths: vec![hanging.cloth()],
        bodies: vec![Body::at(Shape::Sphere { radius: 0.14 }, vec3(0.5, 0.14, 0.30)), block],
        yarns: vec![Yarn { points: &coil, radius: 0.012, tip_fade: [0.02; 2], ..Yarn::default() }],
        markers: vec![Marker::Peak {
            place: hanging.positions[hanging.positions.len() - 3],
            direction: vec3(1.0, 0.0, 0.0),
        }],
        floor: Some(0.0),
        ..Scene::default()
    };
    let mut look = Look { width: 160, height: 120, shutter: 0.5, ..Look::default() };
    edit(&mut look);
    let picture = render(&scene, &Camera::framing(scene.bounds(), look.aspect()), &look).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/pictures/{name}.png"));
    if std::env::var_os("RIPSTOP_STORE_PICTURES").is_some() {
        picture.save(&path).unwrap();
    }
    let stored = image::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())).to_rgb8();
    assert_eq!(picture.dimensions(), stored.dimensions());
    let differences: Vec<u8> = picture.as_raw().iter().zip(stored.as_raw()).map(|(a, b)| a.abs_diff(*b)).collect();
    let mean = differences.iter().map(|&d| d as f32).sum::<f32>() / differences.len() as f32;
    let far = differences.chunks(3).filter(|c| c.iter().any(|&d| d > 8)).count();
    let all = differences.len() / 3;
    assert!(mean < 0.5 && far * 100 <= all, "{name}: mean difference {mean}, {far} of {all} pixels far off");
}

#[test]
fn fabric() {
    compare("fabric", |_| {});
}

#[test]
fn strain() {
    compare("strain", |look| {
        (look.width, look.height, look.colouring) = (240, 180, Colouring::Strain);
        look.caption = "strain".into();
    });
}

#[test]
fn checker_draft() {
    compare("checker-draft", |look| *look = Look { texture: Texture::Checker, ..Look::draft(160, 120) });
}
