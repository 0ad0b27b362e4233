//! What is written and drawn over a picture: colour bar with figures, the most strained node, caption.

use crate::camera::View;
use crate::colour::{Map, srgb};
use crate::font::{TextSize, blend, write};
use crate::look::{Colouring, Look};
use crate::scene::{Marker, Scene};
use glam::{Vec2, Vec3, vec2};
use image::RgbImage;

/// Draws everything that belongs over the picture.
pub(crate) fn draw(image: &mut RgbImage, scene: &Scene, look: &Look, view: &View, range: [f32; 2]) {
    let size = TextSize::for_height(image.height());
    // In a thumbnail there is no room for figures.
    if let Some(map) = look.colouring.map().filter(|_| image.width() >= 240 && image.height() >= 160) {
        colour_bar(image, look, map, range, size);
    }
    for marker in &scene.markers {
        if let Marker::Peak { place, direction } = *marker {
            peak(image, view, place, direction, (image.height() as f32 / 540.0).clamp(0.6, 4.0));
        }
    }
    let margin = size.height() as i64 * 3 / 4;
    let bottom = image.height() as i64 - margin - size.height() as i64;
    haloed(image, &look.caption, margin, bottom, size);
    let left = image.width() as i64 - margin - size.width(&look.note) as i64;
    haloed(image, &look.note, left, bottom, size);
}

/// Dark letters with a pale halo: legible on anything.
fn haloed(image: &mut RgbImage, text: &str, x: i64, y: i64, size: TextSize) {
    let (w, h) = (size.width(text) as usize + 4, size.height() as usize + 4);
    if text.is_empty() || w > 4 * image.width() as usize + 64 {
        return;
    }
    let mut mask = RgbImage::new(w as u32, h as u32);
    write(&mut mask, text, 2, 2, size, Vec3::ONE);
    let cover = |i: i64, j: i64| {
        let inside = i >= 0 && j >= 0 && i < w as i64 && j < h as i64;
        if inside { mask.get_pixel(i as u32, j as u32).0[0] as f32 / 255.0 } else { 0.0 }
    };
    for j in 0..h as i64 {
        for i in 0..w as i64 {
            let around = [(-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (1, 1), (-1, 1), (1, -1)];
            let halo = around.iter().map(|(a, b)| cover(i + a, j + b)).fold(0.0, f32::max);
            blend(image, x + i - 2, y + j - 2, Vec3::splat(0.92), halo * 0.6);
            blend(image, x + i - 2, y + j - 2, srgb(0x1d1f23), cover(i, j));
        }
    }
}

/// Ends of the colour map: as asked, or from 0 (or the lowest below it) to the highest, rounded up to 1, 2 or 5.
pub(crate) fn value_range(scene: &Scene, look: &Look) -> [f32; 2] {
    if let Some(range) = look.legend.range {
        return range;
    }
    let values = || scene.cloths.iter().filter_map(|c| c.node_value).flatten().copied();
    let (low, high) = (values().fold(0.0, f32::min), values().fold(0.0, f32::max));
    let up = |x: f32| if x > 0.0 { nice_above(x) } else { 0.0 };
    let range = [-up(-low), up(high)];
    if range[1] > range[0] { range } else { [0.0, 1.0] }
}

/// The smallest of 1, 1.5, 2, 3, 5, 7 × 10ⁿ that is not below `x`.
fn nice_above(x: f32) -> f32 {
    let ten = libm::powf(10.0, libm::floorf(libm::log10f(x)));
    [1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0].map(|m| m * ten).into_iter().find(|&v| v >= x * 0.999_999).unwrap_or(x)
}

/// A figure of the bar, with digits enough to tell one step of it exactly.
fn figure(value: f32, step: f32, percent: bool) -> String {
    let (value, step) = if percent { (value * 100.0, step * 100.0) } else { (value, step) };
    let unit = if percent { " %" } else { "" };
    if !(1e-3..1e5).contains(&step) {
        return format!("{value:.1e}{unit}");
    }
    let exact = |digits: &usize| {
        let scale = [1.0, 10.0, 100.0, 1e3, 1e4][*digits] * step;
        (scale - scale.round()).abs() < 0.01 * scale
    };
    let digits = (0..4).find(exact).unwrap_or(4);
    format!("{value:.digits$}{unit}")
}

fn colour_bar(image: &mut RgbImage, look: &Look, map: Map, [low, high]: [f32; 2], size: TextSize) {
    let (w, h) = (image.width() as i64, image.height() as i64);
    let line = size.height() as i64;
    let bar_height = (h * 2 / 5).max(1);
    let bar_width = (line * 3 / 4).max(4);
    let label = match (look.legend.label.as_str(), look.colouring) {
        ("", Colouring::PlasticStrain) => "plastic strain",
        ("", _) => "strain",
        (label, _) => label,
    };
    const STEPS: i64 = 4;
    let step = (high - low) / STEPS as f32;
    let figures: Vec<String> = (0..=STEPS).map(|i| figure(low + step * i as f32, step, look.legend.percent)).collect();
    let widest = figures.iter().map(|f| size.width(f) as i64).max().unwrap_or(0);
    let block = (bar_width + line / 2 + widest).max(size.width(label) as i64);
    let left = w - line - block;
    let top = line + line * 3 / 2;
    haloed(image, label, left, line, size);
    for y in 0..bar_height {
        let c = map.at(1.0 - (y as f32 + 0.5) / bar_height as f32);
        for x in 0..bar_width {
            blend(image, left + x, top + y, c, 1.0);
        }
    }
    let ink = srgb(0x1d1f23);
    for x in -1..=bar_width {
        blend(image, left + x, top - 1, ink, 0.8);
        blend(image, left + x, top + bar_height, ink, 0.8);
    }
    for y in 0..bar_height {
        blend(image, left - 1, top + y, ink, 0.8);
        blend(image, left + bar_width, top + y, ink, 0.8);
    }
    for (i, text) in figures.iter().enumerate() {
        let y = top + bar_height - 1 - (bar_height - 1) * i as i64 / STEPS;
        for x in 0..line / 4 {
            blend(image, left + bar_width + 1 + x, y, ink, 0.9);
        }
        haloed(image, text, left + bar_width + line / 2, y - line / 2, size);
    }
}

/// A ring round the place and a line through it along the direction as seen.
fn peak(image: &mut RgbImage, view: &View, place: Vec3, direction: Vec3, scale: f32) {
    let Some((centre, depth)) = view.project(place) else { return };
    if !centre.is_finite() || centre.abs().max_element() > 1e6 {
        return;
    }
    let radius = 8.0 * scale;
    ring(image, centre, radius, 3.6 * scale, Vec3::splat(0.95));
    ring(image, centre, radius, 1.9 * scale, srgb(0x14161a));
    let step = direction.normalize_or_zero() * depth * view.pixel * 20.0;
    if let Some((ahead, _)) = view.project(place + step) {
        // The line shortens as the direction turns towards the eye.
        let way = (ahead - centre) * (1.9 * scale);
        if way.is_finite() && way.length() > 1.0 {
            let start = way.normalize() * radius;
            for sign in [-1.0, 1.0] {
                let ends = [centre + start * sign, centre + (start + way) * sign];
                stroke(image, ends, 3.6 * scale, Vec3::splat(0.95));
            }
            for sign in [-1.0, 1.0] {
                let ends = [centre + start * sign, centre + (start + way) * sign];
                stroke(image, ends, 1.9 * scale, srgb(0x14161a));
            }
        }
    }
}

/// Paints pixels near a shape whose distance [px] from a point is given.
fn paint(image: &mut RgbImage, low: Vec2, high: Vec2, colour: Vec3, width: f32, distance: impl Fn(Vec2) -> f32) {
    let limit = vec2(image.width() as f32, image.height() as f32);
    let (low, high) = ((low - width).floor().max(Vec2::ZERO), (high + width).ceil().min(limit));
    for y in low.y as i64..high.y as i64 {
        for x in low.x as i64..high.x as i64 {
            let d = distance(vec2(x as f32 + 0.5, y as f32 + 0.5));
            blend(image, x, y, colour, (width * 0.5 + 0.5 - d).clamp(0.0, 1.0));
        }
    }
}

fn ring(image: &mut RgbImage, centre: Vec2, radius: f32, width: f32, colour: Vec3) {
    let r = Vec2::splat(radius);
    paint(image, centre - r, centre + r, colour, width, |p| (p.distance(centre) - radius).abs());
}

fn stroke(image: &mut RgbImage, [a, b]: [Vec2; 2], width: f32, colour: Vec3) {
    paint(image, a.min(b), a.max(b), colour, width, |p| {
        let s = ((p - a).dot(b - a) / (b - a).length_squared().max(1e-12)).clamp(0.0, 1.0);
        p.distance(a + (b - a) * s)
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Cloth;

    #[test]
    fn ranges_are_round_and_hold_all_values() {
        let range = |values: &[f32]| {
            let cloth = Cloth { node_value: Some(values), ..Cloth::default() };
            value_range(&Scene { cloths: vec![cloth], ..Scene::default() }, &Look::default())
        };
        assert_eq!(range(&[0.0, 0.13]), [0.0, 0.15]);
        assert_eq!(range(&[-0.02, 0.5]), [-0.02, 0.5]);
        assert_eq!(range(&[0.0, 0.0]), [0.0, 1.0]);
        assert_eq!(range(&[]), [0.0, 1.0]);
    }

    #[test]
    fn figures_have_enough_digits() {
        assert_eq!(figure(0.15, 0.05, false), "0.15");
        assert_eq!(figure(0.05, 0.05, true), "5 %");
        assert_eq!(figure(0.225, 0.075, true), "22.5 %");
        assert_eq!(figure(0.0375, 0.0125, true), "3.75 %");
        assert_eq!(figure(5e-5, 2.5e-5, false), "5.0e-5");
    }

    #[test]
    fn a_colour_bar_runs_from_high_at_the_top_to_low_at_the_foot() {
        let mut image = RgbImage::from_pixel(400, 300, image::Rgb([90; 3]));
        let look = Look { colouring: Colouring::Strain, ..Look::default() };
        colour_bar(&mut image, &look, Map::Heat, [0.0, 0.2], TextSize::Small);
        // Find the bar: the column with most pixels that are not grey.
        let coloured = |x: u32| (0..300).filter(|&y| image.get_pixel(x, y).0 != [90; 3]).count();
        let column = (0..400).max_by_key(|&x| coloured(x)).unwrap();
        assert!(coloured(column) >= 120);
        let rows: Vec<u32> = (0..300).filter(|&y| image.get_pixel(column + 4, y).0 != [90; 3]).collect();
        let light = |y: u32| image.get_pixel(column + 4, y).0.iter().map(|&b| b as u32).sum::<u32>();
        assert!(light(rows[10]) + 150 < light(rows[rows.len() - 10]));
    }

    #[test]
    fn a_peak_far_outside_is_harmless() {
        let view = crate::Camera { eye: Vec3::Z, target: Vec3::ZERO, up: Vec3::Y, fov_y_degrees: 40.0 };
        let view = view.prepare(40, 40).unwrap();
        let mut image = RgbImage::new(40, 40);
        peak(&mut image, &view, Vec3::new(1e9, 0.0, 0.999), Vec3::X, 1.0);
        assert!(image.pixels().all(|p| p.0 == [0; 3]));
        peak(&mut image, &view, Vec3::ZERO, Vec3::X, 1.0);
        assert!(image.pixels().any(|p| p.0 != [0; 3]));
    }
}
