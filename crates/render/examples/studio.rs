//! Draws a made-up torn cloth in every colouring: `cargo run --release -p ripstop-render --example studio -- out 640 360`.

mod synthetic;

use glam::{Vec3, vec3};
use ripstop_render::{
    Body, Bounds, Camera, Colouring, Legend, Look, Marker, Quality, Scene, Shape, Texture, Yarn, colour::srgb, render,
    save,
};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap_or_else(|| "out".into());
    let width: u32 = arguments.next().and_then(|a| a.parse().ok()).unwrap_or(960);
    let height: u32 = arguments.next().and_then(|a| a.parse().ok()).unwrap_or(540);
    let only = arguments.next();
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;

    let hanging = synthetic::Hanging::new(20_000, 0.4);
    let mut ball = Body::at(Shape::Sphere { radius: 0.13 }, vec3(0.62, 0.13, 0.30));
    ball.rotation = glam::Quat::from_xyzw(0.3, 0.2, 0.1, 0.9).normalize();
    let mut block = Body::at(Shape::Cuboid { half: vec3(0.11, 0.07, 0.09) }, vec3(-0.58, 0.07, 0.28));
    block.colour = Some(srgb(0x7d8f8a));
    let mut rod = Body::at(Shape::Capsule { half_length: 0.62, radius: 0.011 }, vec3(0.0, 1.205, -0.0));
    rod.rotation = glam::Quat::from_xyzw(0.0, 0.0, core::f32::consts::FRAC_1_SQRT_2, core::f32::consts::FRAC_1_SQRT_2);
    rod.colour = Some(srgb(0x6b5240));
    let coil: Vec<Vec3> = (0..40)
        .map(|i| {
            let a = i as f32 * 0.55;
            vec3(0.18 + 0.07 * libm::cosf(a) + 0.002 * a, 0.008 + 0.0016 * a, 0.46 + 0.05 * libm::sinf(a))
        })
        .collect();
    let yarn = Yarn { points: &coil, radius: 0.007, tip_fade: [0.03; 2], ..Yarn::default() };
    let highest = (0..hanging.value.len()).max_by(|&a, &b| hanging.value[a].total_cmp(&hanging.value[b])).unwrap_or(0);
    let scene = Scene {
        cloths: vec![hanging.cloth()],
        bodies: vec![ball, block, rod],
        yarns: vec![yarn],
        floor: Some(0.0),
        ..Scene::default()
    };
    let bounds = scene.bounds().union(Bounds::of([vec3(0.0, 0.0, 0.0)]));
    let pictures = [
        ("fabric", Colouring::Fabric, Texture::Fabric, Quality::Final),
        ("draft", Colouring::Fabric, Texture::Fabric, Quality::Draft),
        ("checker", Colouring::Fabric, Texture::Checker, Quality::Final),
        ("strain", Colouring::Strain, Texture::Fabric, Quality::Final),
        ("plastic", Colouring::PlasticStrain, Texture::Fabric, Quality::Final),
        ("pieces", Colouring::Pieces, Texture::Fabric, Quality::Final),
        ("two-tone", Colouring::TwoTone, Texture::Fabric, Quality::Final),
        ("wire", Colouring::Wire, Texture::Fabric, Quality::Final),
        ("close", Colouring::Fabric, Texture::Fabric, Quality::Final),
        ("blur", Colouring::Fabric, Texture::Fabric, Quality::Final),
    ];
    for (name, colouring, texture, quality) in pictures {
        if only.as_ref().is_some_and(|o| o != name) {
            continue;
        }
        let mut look = Look { width, height, colouring, texture, quality, ..Look::default() };
        let mut camera = Camera::framing(bounds, look.aspect());
        let mut shown = scene.clone();
        match name {
            "strain" | "plastic" => {
                look.legend = Legend { percent: true, ..Legend::default() };
                (look.caption, look.note) = ("hanging sheet, tear at its foot".into(), "t = 0.400 s".into());
                let place = hanging.positions[highest];
                shown.markers = vec![Marker::Peak { place, direction: vec3(1.0, 0.25, 0.0) }];
            }
            "close" => {
                camera.target = vec3(0.03, 0.62, 0.1);
                camera.eye = vec3(0.35, 0.70, 1.1);
            }
            "blur" => (look.shutter, look.frame_seconds) = (0.5, 0.2),
            _ => {}
        }
        let start = std::time::Instant::now();
        let image = render(&shown, &camera, &look)?;
        println!("{name:10} {:.2} s", start.elapsed().as_secs_f32());
        save(&image, &folder.join(format!("{name}.png")))?;
    }
    Ok(())
}
