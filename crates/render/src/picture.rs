//! From scene to picture.
//!
//! Two passes over the pixels, each split among threads by bands of rows. The first gives every pixel a few samples. The
//! second gives more where they disagree: by the error of the mean `√(variance / n)` of the displayed brightness, and at edges
//! by the contrast with the eight neighbours. Each pixel depends only on the first pass and on its own number, so the
//! picture is the same bits for any number of threads.

use crate::camera::{Camera, View};
use crate::colour::{encode_rgb, film, luminance, plain};
use crate::error::RenderError;
use crate::look::{Look, Quality};
use crate::overlay;
use crate::sample::Sampler;
use crate::scene::Scene;
use crate::shade::Shader;
use crate::world::World;
use glam::{Vec2, Vec3, vec2};
use image::RgbImage;
use rayon::prelude::*;

/// Rows per band: few enough that threads end together, many enough that neighbouring rays share caches.
const BAND: usize = 8;
/// Contrast of displayed brightness between neighbours that counts as an edge.
const EDGE: f32 = 0.035;
/// Error of the mean brightness that is good enough: about one step of an 8-bit display at middle grey.
const GOOD: f32 = 0.005;

/// Samples of one pixel so far.
#[derive(Clone, Copy, Default)]
struct Pixel {
    sum: Vec3,
    /// Sum of displayed brightness and of its square.
    brightness: f32,
    square: f32,
    count: f32,
}

impl Pixel {
    fn add(&mut self, light: Vec3) {
        let y = perceived(light);
        self.sum += light;
        self.brightness += y;
        self.square += y * y;
        self.count += 1.0;
    }

    fn level(&self) -> f32 {
        self.brightness / self.count
    }

    fn error(&self) -> f32 {
        let mean = self.level();
        let variance = (self.square / self.count - mean * mean).max(0.0);
        (variance / (self.count - 1.0).max(1.0)).sqrt()
    }
}

/// Brightness on a scale of equal steps, roughly.
fn perceived(light: Vec3) -> f32 {
    let y = luminance(light).max(0.0);
    (y / (0.6 + y)).sqrt()
}

/// Draws one picture. Runs on the current rayon pool.
pub fn render(scene: &Scene, camera: &Camera, look: &Look) -> Result<RgbImage, RenderError> {
    look.check()?;
    scene.check()?;
    let view = camera.prepare(look.width, look.height)?;
    let world = World::new(scene, look);
    crate::inside::check_eye(scene, &world, camera.eye)?;
    let range = overlay::value_range(scene, look);
    let shader = Shader::new(&world, scene, look, &view, range);
    let pixels = trace(&shader, look);
    let mut image = develop(&pixels, look, &view);
    overlay::draw(&mut image, scene, look, &view, range);
    Ok(image)
}

fn trace(shader: &Shader, look: &Look) -> Vec<Pixel> {
    let (width, height) = (look.width as usize, look.height as usize);
    let (first, most) = look.quality.samples();
    let sample = |pixel: &mut Pixel, x: usize, y: usize, from: u32, to: u32| {
        for index in from..to {
            let sampler = Sampler::new(x as u32, y as u32, index);
            // A draft's first ray goes through the middle: less shimmer from frame to frame.
            let offset = if to == 1 { Vec2::splat(0.5) } else { sampler.pair(0) };
            pixel.add(shader.radiance(vec2(x as f32, y as f32) + offset, &sampler));
        }
    };
    let mut pixels = vec![Pixel::default(); width * height];
    pixels.par_chunks_mut(width * BAND).enumerate().for_each(|(band, rows)| {
        // Down columns within the band: neighbouring rays run through the same part of the tree.
        let band_height = rows.len() / width;
        for x in 0..width {
            for j in 0..band_height {
                sample(&mut rows[j * width + x], x, band * BAND + j, 0, first);
            }
        }
    });
    let coarse: Vec<(f32, f32)> = pixels.par_iter().map(|p| (p.level(), p.error())).collect();
    let wanted = |x: usize, y: usize| {
        let (level, error) = coarse[y * width + x];
        let around = (y.saturating_sub(1)..(y + 2).min(height))
            .flat_map(|j| (x.saturating_sub(1)..(x + 2).min(width)).map(move |i| j * width + i));
        let contrast = around.map(|i| (coarse[i].0 - level).abs()).fold(0.0, f32::max);
        let by_contrast = if contrast > EDGE { most.min(first + 8) } else { first };
        let ratio = error / GOOD;
        let by_error = if look.quality == Quality::Final { (first as f32 * ratio * ratio) as u32 } else { first };
        by_contrast.max(by_error).min(most)
    };
    pixels.par_chunks_mut(width * BAND).enumerate().for_each(|(band, rows)| {
        for (i, pixel) in rows.iter_mut().enumerate() {
            let (x, y) = (i % width, band * BAND + i / width);
            sample(pixel, x, y, first, wanted(x, y));
        }
    });
    pixels
}

/// Means, exposure, vignette, tone.
fn develop(pixels: &[Pixel], look: &Look, view: &View) -> RgbImage {
    let figure = look.colouring.is_figure();
    let width = look.width as usize;
    let reach = view.size.length_squared() * 0.25;
    let mut bytes = vec![0u8; pixels.len() * 3];
    bytes.par_chunks_mut(width * 3).enumerate().for_each(|(y, row)| {
        for (x, out) in row.chunks_exact_mut(3).enumerate() {
            let pixel = &pixels[y * width + x];
            let light = pixel.sum / pixel.count * look.exposure;
            let shown = if figure {
                plain(light)
            } else {
                let r2 = (vec2(x as f32 + 0.5, y as f32 + 0.5) - view.size * 0.5).length_squared() / reach;
                film(light * (0.86 * (1.0 - 0.20 * r2 * r2)))
            };
            out.copy_from_slice(&encode_rgb(shown));
        }
    });
    RgbImage::from_raw(look.width, look.height, bytes).unwrap_or_default()
}
