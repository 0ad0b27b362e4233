//! A two-second film and the plots of a report: `cargo run --release -p ripstop-render --example make_film -- out`.

mod synthetic;

use glam::vec3;
use ripstop_render::{Body, Camera, Look, Scene, Shape, film::Film, plot, render};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "out".into());
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    let look = Look { shutter: 0.5, ..Look::draft(640, 360) };
    let mut film = Film::create(&folder.join("preview.mp4"), look.width, look.height, 30.0)?;
    let mut camera = None;
    for frame in 0..60 {
        let t = frame as f32 / 30.0;
        let hanging = synthetic::Hanging::new(8_000, t);
        let ball = Body::at(Shape::Sphere { radius: 0.13 }, vec3(0.62, 0.13, 0.30));
        let scene = Scene { cloths: vec![hanging.cloth()], bodies: vec![ball], floor: Some(0.0), ..Scene::default() };
        let camera = camera.get_or_insert_with(|| Camera::framing(scene.bounds(), look.aspect()));
        let look = Look { note: format!("t = {t:.2} s"), ..look.clone() };
        film.push(&render(&scene, camera, &look)?)?;
    }
    film.finish()?;
    let wave = |f: f64, p: f64| {
        (0..400).map(|i| i as f64 * 0.01).map(|t| (t, p + 0.8 * libm::sin(f * t) * libm::exp(-0.4 * t))).collect()
    };
    let series = [("kinetic", 9.0, 1.0), ("elastic", 7.0, 1.6), ("gravity", 2.0, 0.4)]
        .map(|(name, f, p)| plot::Series { name: name.into(), points: wave(f, p) });
    let labels = |title: &str, x: &str, y: &str| plot::Labels { title: title.into(), x: x.into(), y: y.into() };
    std::fs::write(folder.join("lines.svg"), plot::lines(&labels("Energies", "time [s]", "energy [J]"), &series)?)?;
    let bins: Vec<f64> = (0..18).map(|i| 1.0 + 9.0 * libm::exp(-0.15 * (i as f64 - 8.5) * (i as f64 - 8.5))).collect();
    std::fs::write(folder.join("rose.svg"), plot::rose(&labels("Torn direction", "torn length [mm]", ""), &bins)?)?;
    let stages = ["drive", "contact", "integrate", "measure", "tear"].map(|n| (n.to_string(), n.len() as f64 * 0.31));
    std::fs::write(folder.join("bars.svg"), plot::bars(&labels("Seconds by stage", "stage", "time [s]"), &stages)?)?;
    Ok(())
}
