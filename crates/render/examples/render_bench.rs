//! Seconds per picture against triangles: `cargo run --release -p ripstop-render --example render_bench`.
//!
//! 1280×720 by default (`-- WIDTH HEIGHT`, a third number draws one count only), the studio's torn cloth filling the picture, floor below, 0.5 shutter.

mod synthetic;

use glam::vec3;
use ripstop_render::{Body, Camera, Look, Quality, Scene, Shape, render};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).filter_map(|a| a.parse::<u32>().ok());
    let (width, height) = (arguments.next().unwrap_or(1280), arguments.next().unwrap_or(720));
    println!("{width}×{height}, {} threads", rayon::current_num_threads());
    println!("{:>10} {:>9} {:>9}", "triangles", "draft s", "final s");
    let counts = arguments.next().map_or(vec![10_000, 20_000, 100_000, 1_000_000], |count| vec![count as usize]);
    for count in counts {
        let hanging = synthetic::Hanging::new(count, 0.4);
        let ball = Body::at(Shape::Sphere { radius: 0.13 }, vec3(0.62, 0.13, 0.30));
        let scene = Scene { cloths: vec![hanging.cloth()], bodies: vec![ball], floor: Some(0.0), ..Scene::default() };
        let seconds = |quality| -> Result<f32, ripstop_render::RenderError> {
            let look = Look { width, height, quality, shutter: 0.5, ..Look::default() };
            let camera = Camera::framing(scene.bounds(), look.aspect());
            let start = Instant::now();
            render(&scene, &camera, &look)?;
            Ok(start.elapsed().as_secs_f32())
        };
        // The first draft warms the caches.
        seconds(Quality::Draft)?;
        let (draft, fine) = (seconds(Quality::Draft)?, seconds(Quality::Final)?);
        println!("{:>10} {draft:>9.2} {fine:>9.2}", hanging.faces.len());
    }
    Ok(())
}
