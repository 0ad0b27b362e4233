//! Pattern of the cloth at a place in material coordinates: woven fabric, numbered checker, image.
//!
//! **Weave.** Plain weave with yarns a pitch `p` apart: in every other field of a `p × p` chessboard the warp lies on top,
//! else the weft. The yarn on top is a rounded ridge; its slope tilts the normal. Where a pixel covers more than half a
//! pitch the weave fades out, leaving its mean: nothing flickers.
//!
//! **Ripstop grid.** A reinforcing yarn every six pitches both ways, drawn as lines whose coverage of the pixel is
//! worked out exactly (a box filter), so thin lines stay even at any distance.
//!
//! **Image.** A pyramid of halved images; the level is chosen by the pixel's size on the cloth.

use crate::error::RenderError;
use crate::font;
use crate::look::{Dye, Texture};
use glam::{Vec2, Vec3, vec2, vec3};
use std::path::Path;
use std::sync::Arc;

/// An image to lay on cloth, with its pyramid.
#[derive(Clone, Debug)]
pub struct ImageTexture {
    levels: Arc<Vec<Level>>,
    /// Size of one repeat on the cloth [m]; `None` stretches it once over the whole sheet.
    pub repeat: Option<Vec2>,
}

#[derive(Debug)]
struct Level {
    width: usize,
    height: usize,
    pixels: Vec<Vec3>,
}

impl ImageTexture {
    /// Reads a PNG or JPEG file.
    pub fn open(path: &Path) -> Result<Self, RenderError> {
        let fail = |cause: String| RenderError::Texture { path: path.to_owned(), cause };
        if !path.exists() {
            return Err(fail("texture not found".into()));
        }
        let image = image::ImageReader::open(path)
            .and_then(image::ImageReader::with_guessed_format)
            .map_err(|e| fail(format!("can't be read: {e}")))?
            .decode()
            .map_err(|e| fail(format!("not a usable image: {e}")))?;
        Ok(Self::new(&image.to_rgb8()))
    }

    /// From an image in memory; its upper edge lies at the largest v.
    pub fn new(image: &image::RgbImage) -> Self {
        let decode = |b: u8| crate::colour::decode(b as f32 / 255.0);
        let table: Vec<f32> = (0..=255).map(decode).collect();
        let pixels = image.pixels().map(|p| Vec3::from(p.0.map(|b| table[b as usize]))).collect();
        let mut levels = vec![Level { width: image.width() as usize, height: image.height() as usize, pixels }];
        while let Some(next) = levels.last().and_then(Level::halved) {
            levels.push(next);
        }
        Self { levels: Arc::new(levels), repeat: None }
    }

    fn sample(&self, p: Vec2, footprint: Vec2) -> Vec3 {
        let base = &self.levels[0];
        if base.pixels.is_empty() {
            return Vec3::ZERO;
        }
        let texels = (footprint.x * base.width as f32).max(footprint.y * base.height as f32).max(1.0);
        let level = libm::log2f(texels).clamp(0.0, (self.levels.len() - 1) as f32);
        let i = level as usize;
        let low = self.levels[i].bilinear(p);
        if i + 1 < self.levels.len() { low.lerp(self.levels[i + 1].bilinear(p), level - i as f32) } else { low }
    }
}

impl Level {
    fn halved(&self) -> Option<Level> {
        if self.width <= 1 && self.height <= 1 || self.pixels.is_empty() {
            return None;
        }
        let (width, height) = (self.width.div_ceil(2), self.height.div_ceil(2));
        let mean = |x: usize, y: usize| {
            let at = |i: usize, j: usize| {
                self.pixels[(2 * y + j).min(self.height - 1) * self.width + (2 * x + i).min(self.width - 1)]
            };
            (at(0, 0) + at(1, 0) + at(0, 1) + at(1, 1)) * 0.25
        };
        let pixels = (0..width * height).map(|i| mean(i % width, i / width)).collect();
        Some(Level { width, height, pixels })
    }

    fn bilinear(&self, p: Vec2) -> Vec3 {
        let x = p.x * self.width as f32 - 0.5;
        let y = (1.0 - p.y) * self.height as f32 - 0.5;
        let clamp = |v: f32, n: usize| (v.max(0.0) as usize).min(n - 1);
        let (x0, y0) = (x.floor(), y.floor());
        let (tx, ty) = (x - x0, y - y0);
        let at = |i: f32, j: f32| self.pixels[clamp(j, self.height) * self.width + clamp(i, self.width)];
        let row = |j| at(x0, j).lerp(at(x0 + 1.0, j), tx);
        row(y0).lerp(row(y0 + 1.0), ty)
    }
}

/// What the pattern says about one place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pattern {
    /// Share of light given back.
    pub albedo: Vec3,
    /// Slope of the weave along u and v.
    pub slope: Vec2,
}

/// Pattern of one cloth: texture, where it lies, pitch of the weave.
#[derive(Clone, Debug)]
pub(crate) struct Cover<'a> {
    pub texture: &'a Texture,
    pub dye: &'a Dye,
    /// Lowest uv of the sheet, and its size [m].
    pub origin: Vec2,
    pub extent: Vec2,
    /// Distance of yarns [m].
    pub pitch: f32,
}

impl Cover<'_> {
    /// At `uv` [m], seen by a pixel of width `footprint` [m] on the cloth, from the front or the back.
    pub fn at(&self, uv: Vec2, footprint: f32, front: bool) -> Pattern {
        let (slope, shade) = weave(uv, self.pitch, footprint);
        let albedo = match self.texture {
            Texture::Fabric => self.fabric(uv, footprint, front),
            Texture::Checker => self.checker(uv, front),
            Texture::Image(image) => {
                let size = image.repeat.unwrap_or(self.extent).max(Vec2::splat(1e-9));
                let p = (uv - self.origin) / size;
                let p = if image.repeat.is_some() { p - p.floor() } else { p.clamp(Vec2::ZERO, Vec2::ONE) };
                image.sample(p, Vec2::splat(footprint) / size)
            }
        };
        Pattern { albedo: albedo * shade, slope }
    }

    fn fabric(&self, uv: Vec2, footprint: f32, front: bool) -> Vec3 {
        let p = self.pitch;
        let base = if front { self.dye.front } else { self.dye.back };
        let grid = if front { self.dye.grid } else { self.dye.back.lerp(self.dye.fibre, 0.35) };
        let lines = |period: f32, width: f32| {
            let (a, b) = (covered(uv.x, period, width, footprint), covered(uv.y, period, width, footprint));
            a + b - a * b
        };
        // Wide faint bands under the grid give the eye something to follow through the folds.
        let band = covered(uv.x, 48.0 * p, 24.0 * p, footprint) + covered(uv.y, 48.0 * p, 24.0 * p, footprint);
        (base * (0.90 + 0.10 * band)).lerp(grid, 0.6 * lines(6.0 * p, 0.8 * p))
    }

    fn checker(&self, uv: Vec2, front: bool) -> Vec3 {
        // About eight fields along the longer side, square.
        let field = self.extent.max_element().max(1e-9) / 8.0;
        let q = (uv - self.origin) / field;
        let cell = q.floor();
        let (column, row) = (cell.x.max(0.0) as u32, cell.y.max(0.0) as u32);
        let dark = (column + row) % 2 == 1;
        let (paper, ink) = match (front, dark) {
            (true, false) => (vec3(0.80, 0.77, 0.70), vec3(0.05, 0.13, 0.20)),
            (true, true) => (vec3(0.06, 0.22, 0.30), vec3(0.85, 0.83, 0.76)),
            (false, false) => (vec3(0.82, 0.70, 0.52), vec3(0.22, 0.08, 0.03)),
            (false, true) => (vec3(0.42, 0.16, 0.06), vec3(0.86, 0.80, 0.70)),
        };
        let letter = char::from(b'A' + (column % 26) as u8);
        let number = char::from_digit((row + 1) % 10, 10).unwrap_or('0');
        // Two letters side by side fill the middle of the field; a glyph cell is half as wide as high.
        let f = q - cell;
        let (x, y) = ((f.x - 0.2) / 0.3, (0.8 - f.y) / 0.6);
        let cover = match x {
            x if (0.0..1.0).contains(&x) => font::coverage(letter, x, y),
            x if (1.0..2.0).contains(&x) => font::coverage(number, x - 1.0, y),
            _ => 0.0,
        };
        paper.lerp(ink, cover)
    }

    /// Mean colour, for light thrown on other things.
    pub fn mean(&self) -> Vec3 {
        match self.texture {
            Texture::Fabric => self.dye.front,
            Texture::Checker => vec3(0.42, 0.42, 0.42),
            Texture::Image(image) => image.levels.last().and_then(|l| l.pixels.first()).copied().unwrap_or(Vec3::ONE),
        }
    }
}

/// Slope and shade of the plain weave at `uv`.
fn weave(uv: Vec2, pitch: f32, footprint: f32) -> (Vec2, f32) {
    let strength = (1.6 - 3.0 * footprint / pitch).clamp(0.0, 1.0);
    if strength <= 0.0 {
        return (Vec2::ZERO, 1.0);
    }
    let q = uv / pitch;
    let cell = q.floor();
    let f = q - cell - Vec2::splat(0.5);
    let warp_on_top = (cell.x as i64 + cell.y as i64) & 1 == 0;
    // Across the yarn a round ridge, along it a gentler arc where it dives under its neighbour.
    let (across, along) = (1.5, 0.7);
    let slope = if warp_on_top { vec2(f.x * across, f.y * along) } else { vec2(f.x * along, f.y * across) };
    let edge = if warp_on_top { f.x } else { f.y };
    let gap = 1.0 - 1.1 * edge * edge * strength;
    // The mean of the gap's shade is taken out, so that fading doesn't change the brightness.
    (slope * strength, gap / (1.0 - 1.1 / 12.0 * strength))
}

/// Part of `[x − w/2, x + w/2]` covered by lines of `width` centred on the multiples of `period`.
fn covered(x: f32, period: f32, width: f32, w: f32) -> f32 {
    let w = w.max(1e-9);
    // Integral of the line pattern from −∞, less a constant.
    let integral = |x: f32| {
        let q = x / period + 0.5;
        let n = q.floor();
        n * width + ((q - n - 0.5) * period + width * 0.5).clamp(0.0, width)
    };
    ((integral(x + w * 0.5) - integral(x - w * 0.5)) / w).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_coverage_is_exact() {
        assert!((covered(0.0, 1.0, 0.1, 1e-3) - 1.0).abs() < 1e-3);
        assert_eq!(covered(0.5, 1.0, 0.1, 1e-3), 0.0);
        // A pixel over many lines sees their share; half on a line sees half.
        assert!((covered(0.3, 1.0, 0.1, 50.0) - 0.1).abs() < 1e-3);
        assert!((covered(0.05, 1.0, 0.1, 0.02) - 0.5).abs() < 1e-3);
    }

    #[test]
    fn the_weave_fades_and_keeps_its_mean() {
        let mean = |footprint: f32| {
            let n = 64;
            (0..n * n)
                .map(|i| weave(vec2((i % n) as f32 + 0.5, (i / n) as f32 + 0.5) / n as f32 * 2.0, 1.0, footprint).1)
                .sum::<f32>()
                / (n * n) as f32
        };
        assert!((mean(0.0) - 1.0).abs() < 1e-3);
        assert!((mean(0.4) - 1.0).abs() < 1e-3);
        assert_eq!(weave(vec2(0.3, 0.7), 1.0, 2.0), (Vec2::ZERO, 1.0));
    }

    #[test]
    fn an_image_lies_the_right_way_round() {
        let image = image::RgbImage::from_fn(4, 4, |x, y| image::Rgb(if x < 2 && y < 2 { [255; 3] } else { [0; 3] }));
        let texture = Texture::Image(ImageTexture::new(&image));
        let dye = Dye::default();
        let cover =
            Cover { texture: &texture, dye: &dye, origin: vec2(-1.0, 0.0), extent: vec2(2.0, 3.0), pitch: 1e-3 };
        let at = |u, v| cover.at(vec2(u, v), 1e-2, true).albedo.x;
        // Upper left of the image is at low u, high v.
        assert!(at(-0.9, 2.9) > 0.9);
        assert!(at(0.9, 2.9) < 0.01 && at(-0.9, 0.1) < 0.01);
        // From far away one sees the mean.
        let far = cover.at(vec2(-0.9, 2.9), 100.0, true).albedo.x;
        assert!((far - 0.25).abs() < 1e-3, "{far}");
    }

    #[test]
    fn a_missing_or_broken_texture_names_its_path() {
        let missing = ImageTexture::open(Path::new("no/such/silk.png")).unwrap_err().to_string();
        assert!(missing.contains("no/such/silk.png") && missing.contains("not found"));
        let broken = ImageTexture::open(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))).unwrap_err();
        assert!(broken.to_string().contains("not a usable image"));
    }
}
