//! Draws yarns that `cargo run --release -p ripstop --example yarn -- CASE out=FOLDER` has written:
//! `cargo run --release -p ripstop-render --example yarn_still -- FOLDER/0050.txt still.png [width height]`.
//!
//! A line is a yarn between cuts: `w` or `f` (warp, weft), its number, the number of its first crossing, then x y z [m] and a kind for each point.

use glam::Vec3;
use ripstop_render::{Camera, Look, Quality, Scene, Yarn, colour, render, save};
use std::error::Error;
use std::path::Path;

/// A yarn between cuts.
struct Line {
    warp: bool,
    /// Number along its yarn of the first point.
    first: usize,
    points: Vec<Vec3>,
}

fn read(text: &str) -> Result<Vec<Line>, Box<dyn Error>> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let warp = words.next() == Some("w");
        let numbers = words.map(str::parse::<f32>).collect::<Result<Vec<_>, _>>()?;
        let first = numbers.get(1).copied().unwrap_or_default() as usize;
        let points = numbers[2.min(numbers.len())..].chunks_exact(4).map(|p| Vec3::new(p[0], p[1], p[2])).collect();
        lines.push(Line { warp, first, points });
    }
    Ok(lines)
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, picture, ..] = &args[..] else { return Err("name a file of yarns and a picture".into()) };
    let size = |k: usize, usual: u32| args.get(k).map_or(Ok(usual), |word| word.parse());
    let lines = read(&std::fs::read_to_string(file)?)?;
    let lengths = lines.iter().flat_map(|line| line.points.windows(2).map(|p| p[0].distance(p[1])));
    let mut lengths: Vec<f32> = lengths.collect();
    lengths.sort_by(f32::total_cmp);
    let spacing = lengths.get(lengths.len() / 2).copied().ok_or("no yarns in this file")?;
    let longest = |warp: bool| lines.iter().filter(|l| l.warp == warp).map(|l| l.first + l.points.len()).max();
    let yarns = lines.iter().map(|line| {
        let ends = longest(line.warp).unwrap_or_default();
        let fade = |torn: bool| if torn { 1.2 * spacing } else { 0.0 };
        Yarn {
            points: &line.points,
            radius: 0.3 * spacing,
            colour: Some(colour::srgb(if line.warp { 0xe6dcc6 } else { 0x3f6fb5 })),
            tip_fade: [fade(line.first > 0), fade(line.first + line.points.len() < ends)],
            ..Yarn::default()
        }
    });
    let scene = Scene { yarns: yarns.collect(), ..Scene::default() };
    let look = Look { width: size(2, 1920)?, height: size(3, 1080)?, quality: Quality::Final, ..Look::default() };
    let camera = Camera::framing(scene.bounds(), look.aspect());
    save(&render(&scene, &camera, &look)?, Path::new(picture))?;
    Ok(())
}
