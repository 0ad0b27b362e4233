//! Writing in pictures: Noto Sans Mono, as anti-aliased bitmaps from the crate `noto-sans-mono-bitmap`.

use crate::colour::{decode, encode_rgb};
use glam::{Vec3, vec3};
use image::RgbImage;
use noto_sans_mono_bitmap::{FontWeight, RasterHeight, RasterizedChar, get_raster, get_raster_width};

/// Height of letters in a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextSize {
    /// 16 px.
    Small,
    /// 20 px.
    Medium,
    /// 24 px.
    Large,
    /// 32 px.
    Huge,
}

impl TextSize {
    /// A size that reads well in a picture of this height [px].
    pub fn for_height(height: u32) -> Self {
        match height {
            0..=599 => TextSize::Small,
            600..=899 => TextSize::Medium,
            900..=1199 => TextSize::Large,
            _ => TextSize::Huge,
        }
    }

    fn raster(self) -> RasterHeight {
        match self {
            TextSize::Small => RasterHeight::Size16,
            TextSize::Medium => RasterHeight::Size20,
            TextSize::Large => RasterHeight::Size24,
            TextSize::Huge => RasterHeight::Size32,
        }
    }

    /// Height of a line [px].
    pub fn height(self) -> u32 {
        self.raster().val() as u32
    }

    /// Width of `text` [px].
    pub fn width(self, text: &str) -> u32 {
        text.chars().count() as u32 * get_raster_width(FontWeight::Regular, self.raster()) as u32
    }
}

fn glyph(c: char, size: TextSize) -> Option<RasterizedChar> {
    get_raster(c, FontWeight::Regular, size.raster()).or_else(|| get_raster('?', FontWeight::Regular, size.raster()))
}

/// How much of letter `c` covers the place (x, y), both 0..1 from the upper left of its cell.
pub(crate) fn coverage(c: char, x: f32, y: f32) -> f32 {
    let Some(g) = glyph(c, TextSize::Huge) else { return 0.0 };
    let (w, h) = (g.width() as i32, g.height() as i32);
    let (fx, fy) = (x * w as f32 - 0.5, y * h as f32 - 0.5);
    let (ix, iy) = (fx.floor() as i32, fy.floor() as i32);
    let (tx, ty) = (fx - ix as f32, fy - iy as f32);
    let at = |i: i32, j: i32| {
        if (0..w).contains(&i) && (0..h).contains(&j) {
            g.pixel(i as usize, j as usize).unwrap_or(0) as f32 / 255.0
        } else {
            0.0
        }
    };
    let row = |j| at(ix, j) * (1.0 - tx) + at(ix + 1, j) * tx;
    row(iy) * (1.0 - ty) + row(iy + 1) * ty
}

/// Mixes `colour` over a pixel; outside the picture nothing happens.
pub(crate) fn blend(image: &mut RgbImage, x: i64, y: i64, colour: Vec3, alpha: f32) {
    if x < 0 || y < 0 || x >= image.width() as i64 || y >= image.height() as i64 || alpha <= 0.0 {
        return;
    }
    let pixel = image.get_pixel_mut(x as u32, y as u32);
    let [r, g, b] = pixel.0.map(|byte| decode(byte as f32 / 255.0));
    pixel.0 = encode_rgb(vec3(r, g, b).lerp(colour, alpha.min(1.0)));
}

/// Writes `text` with its upper left corner at (x, y); what falls outside is cut off.
pub fn write(image: &mut RgbImage, text: &str, x: i64, y: i64, size: TextSize, colour: Vec3) {
    let mut left = x;
    for c in text.chars() {
        let Some(g) = glyph(c, size) else { continue };
        for (j, row) in g.rows().enumerate() {
            for (i, &cover) in row.iter().enumerate() {
                blend(image, left + i as i64, y + j as i64, colour, cover as f32 / 255.0);
            }
        }
        left += g.width() as i64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_drawn_where_told_and_cut_at_the_border() {
        let mut image = RgbImage::new(60, 30);
        write(&mut image, "I", 20, 5, TextSize::Small, Vec3::ONE);
        let lit: Vec<(u32, u32)> = image.enumerate_pixels().filter(|p| p.2.0[0] > 128).map(|p| (p.0, p.1)).collect();
        assert!(lit.len() > 8);
        assert!(lit.iter().all(|&(x, y)| (20..29).contains(&x) && (5..21).contains(&y)));
        write(&mut image, "WWWW \u{1f9f5}", -10, 25, TextSize::Huge, Vec3::ONE);
    }

    #[test]
    fn coverage_tells_letters_apart() {
        let middle = |c| coverage(c, 0.5, 0.55);
        assert!(middle('I') > 0.5 && middle(' ') == 0.0);
    }
}
