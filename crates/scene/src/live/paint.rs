//! A strength map that is painted on the cloth: white is full strength, black none but [`BLACK`].

use crate::error::SceneError;
use crate::inline;
use image::{GrayImage, ImageFormat, Luma};
use ripstop::Vec2;
use std::io::Cursor;
use std::path::Path;

/// Relative strength where the picture is black.
pub const BLACK: f64 = 0.1;
/// Pixels of its longer side.
const SIDE: f64 = 256.0;

/// The picture, and where it lies on the material.
#[derive(Clone, Debug)]
pub struct Painted {
    picture: GrayImage,
    low: Vec2,
    size: Vec2,
}

impl Painted {
    /// A white one over the material from `low` to `high` [m]; or the map of a scene, named as it stands there, with its strength where it is black.
    pub fn over(low: Vec2, high: Vec2, map: Option<(&str, f64)>) -> Result<Self, SceneError> {
        let size = high - low;
        let scale = SIDE / size.max_element();
        let pixels = |length: f64| (length * scale).ceil().clamp(2.0, SIDE) as u32;
        let picture = match map {
            None => GrayImage::from_pixel(pixels(size.x), pixels(size.y), Luma([255])),
            Some((name, black)) => {
                let fault =
                    |e: String| SceneError::of_file(name, e, "use a PNG or JPEG picture; white is full strength");
                let bytes = inline::read(Path::new(name)).map_err(|e| fault(e.to_string()))?;
                let picture = image::load_from_memory(&bytes).map_err(|e| fault(e.to_string()))?;
                let mut picture = picture.to_luma8();
                // The same strengths, where black means less.
                for Luma([p]) in picture.pixels_mut() {
                    let factor = black + (1.0 - black) * f64::from(*p) / 255.0;
                    *p = grey(factor);
                }
                picture
            }
        };
        Ok(Self { picture, low, size })
    }

    /// The pixel, with fractions, at a place on the material [m]; v goes up where rows go down.
    fn pixel(&self, uv: Vec2) -> (f64, f64) {
        let share = (uv - self.low) / self.size;
        (share.x * f64::from(self.picture.width()), (1.0 - share.y) * f64::from(self.picture.height()))
    }

    /// A dab of a round brush: relative `strength` in the middle, what was there at its rim.
    pub fn dab(&mut self, uv: Vec2, radius: f64, strength: f64) {
        let (x, y) = self.pixel(uv);
        let per_metre = f64::from(self.picture.width()) / self.size.x;
        let reach = (radius * per_metre).max(1.0);
        let (low, high) = ([x - reach, y - reach], [x + reach, y + reach]);
        let within =
            |from: f64, to: f64, most: u32| (from.floor().max(0.0) as u32)..((to.ceil().max(0.0) as u32).min(most));
        for row in within(low[1], high[1], self.picture.height()) {
            for column in within(low[0], high[0], self.picture.width()) {
                let off = Vec2::new(f64::from(column) + 0.5 - x, f64::from(row) + 0.5 - y).length() / reach;
                if off < 1.0 {
                    // Full in the inner half, fading to the rim.
                    let cover = (2.0 * (1.0 - off)).min(1.0);
                    let Luma([p]) = self.picture.get_pixel_mut(column, row);
                    *p = (f64::from(*p) + (f64::from(grey(strength)) - f64::from(*p)) * cover).round() as u8;
                }
            }
        }
    }

    /// Relative strength at a place on the material [m].
    pub fn at(&self, uv: Vec2) -> f64 {
        let (x, y) = self.pixel(uv);
        let (column, row) = (x.max(0.0) as u32, y.max(0.0) as u32);
        let pixel = self.picture.get_pixel(column.min(self.picture.width() - 1), row.min(self.picture.height() - 1));
        BLACK + (1.0 - BLACK) * f64::from(pixel.0[0]) / 255.0
    }

    /// The picture in the place of a file's name.
    pub fn name(&self) -> String {
        let mut bytes = Cursor::new(Vec::new());
        self.picture.write_to(&mut bytes, ImageFormat::Png).expect("memory takes every picture");
        inline::name_of("image/png", bytes.get_ref())
    }
}

/// The grey of a relative strength.
fn grey(factor: f64) -> u8 {
    (255.0 * ((factor - BLACK) / (1.0 - BLACK)).clamp(0.0, 1.0)).round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dab_is_weak_in_its_middle_and_the_picture_comes_back() {
        let mut painted = Painted::over(Vec2::ZERO, Vec2::new(2.0, 1.0), None).unwrap();
        painted.dab(Vec2::new(0.5, 0.75), 0.1, 0.4);
        let close = |uv: Vec2, strength: f64| (painted.at(uv) - strength).abs() < 0.01;
        assert!(close(Vec2::new(0.5, 0.75), 0.4), "{}", painted.at(Vec2::new(0.5, 0.75)));
        assert!(close(Vec2::new(0.5, 0.25), 1.0) && close(Vec2::new(0.7, 0.75), 1.0));
        painted.dab(Vec2::new(9.0, 9.0), 0.1, 0.0);
        let again = Painted::over(Vec2::ZERO, Vec2::new(2.0, 1.0), Some((&painted.name(), BLACK))).unwrap();
        assert!((again.at(Vec2::new(0.5, 0.75)) - 0.4).abs() < 0.01);
    }
}
