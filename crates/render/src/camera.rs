//! The camera: a pinhole, given or framed on the whole motion.
//!
//! Framing: from a fixed three-quarter direction `d`, the eye stands at `c + s·d` with the least distance `s` at which every
//! corner of the bounds lies inside the view cone less a margin, and the target is then shifted so that the picture is
//! centred. A long lens (28°) keeps proportions true.

use crate::error::RenderError;
use crate::scene::Bounds;
use glam::{Vec2, Vec3, vec2, vec3};

/// Where one looks from and to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Eye [m].
    pub eye: Vec3,
    /// Point looked at [m].
    pub target: Vec3,
    /// Which way is up in the picture.
    pub up: Vec3,
    /// Angle from the lower to the upper edge [degrees].
    pub fov_y_degrees: f32,
}

impl Camera {
    /// The angle of view that framing uses [degrees].
    pub const LENS_DEGREES: f32 = 28.0;

    /// Three-quarter view of `bounds` (of the whole motion) with y up; `aspect` = width / height.
    pub fn framing(bounds: Bounds, aspect: f32) -> Self {
        Self::framing_from(bounds, aspect, vec3(0.46, 0.30, 1.0), Vec3::Y)
    }

    /// View of `bounds` from the direction `from` (pointing to the eye) with `up`.
    pub fn framing_from(bounds: Bounds, aspect: f32, from: Vec3, up: Vec3) -> Self {
        const MARGIN: f32 = 1.12;
        let bounds = if bounds.is_empty() { Bounds { min: Vec3::splat(-0.5), max: Vec3::splat(0.5) } } else { bounds };
        let aspect = if aspect.is_finite() && aspect > 0.0 { aspect } else { 1.0 };
        let from = from.try_normalize().unwrap_or(Vec3::Z);
        let up = if up.cross(from).length() < 1e-3 { from.any_orthonormal_vector() } else { up };
        let right = up.cross(from).normalize();
        let above = from.cross(right);
        let tan = libm::tanf(Self::LENS_DEGREES.to_radians() * 0.5) / MARGIN;
        let slope = vec2(tan * aspect, tan);
        let corners = bounds.corners().map(|c| {
            let r = c - bounds.centre();
            (vec2(r.dot(right), r.dot(above)), r.dot(from))
        });
        // Each side of the picture gives `±x + slope·z ≤ slope·s ± shift`: two sides together fix s and the shift.
        let (mut distance, mut shift) = (1e-3_f32, Vec2::ZERO);
        for _ in 0..2 {
            for k in 0..2 {
                let reach = |sign: f32| {
                    corners.iter().map(|(p, z)| sign * p[k] + slope[k] * z).fold(f32::NEG_INFINITY, f32::max)
                };
                let (high, low) = (reach(1.0), reach(-1.0));
                distance = distance.max((high + low) / (2.0 * slope[k]));
                shift[k] = (high - low) * 0.5;
            }
        }
        let nearest = corners.iter().map(|c| c.1).fold(0.0, f32::max);
        let target = bounds.centre() + right * shift.x + above * shift.y;
        Self { eye: target + from * distance.max(nearest * 1.2), target, up, fov_y_degrees: Self::LENS_DEGREES }
    }

    /// Prepared for a picture size, or what is wrong with the camera.
    pub(crate) fn prepare(&self, width: u32, height: u32) -> Result<View, RenderError> {
        let fail = |cause: &str, advice| {
            let Vec3 { x, y, z } = self.eye;
            Err(RenderError::Camera { x, y, z, cause: cause.into(), advice })
        };
        if !(self.eye.is_finite() && self.target.is_finite() && self.up.is_finite()) {
            return fail("eye, target or up is not finite", "give three finite numbers for each");
        }
        if !(self.fov_y_degrees > 0.1 && self.fov_y_degrees < 170.0) {
            return fail("angle of view is not between 0.1° and 170°", "28° looks natural");
        }
        let scale = self.eye.abs().max(self.target.abs()).max_element();
        let away = self.eye - self.target;
        if away.length() <= 1e-6 * scale.max(1e-6) {
            return fail("it looks from its own target", "move the eye away from the target");
        }
        let back = away.normalize();
        let mut up = self.up;
        if up.cross(back).length() < 1e-4 * up.length().max(1e-20) {
            // Straight down or up: any direction does for up.
            up = back.any_orthonormal_vector();
        }
        let right = up.cross(back).normalize();
        let above = back.cross(right);
        let half_y = libm::tanf(self.fov_y_degrees.to_radians() * 0.5);
        let pixel = 2.0 * half_y / height as f32;
        Ok(View { eye: self.eye, back, right, above, pixel, size: vec2(width as f32, height as f32) })
    }
}

/// A camera for one picture size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub eye: Vec3,
    pub back: Vec3,
    pub right: Vec3,
    pub above: Vec3,
    /// Width of a pixel at distance 1.
    pub pixel: f32,
    /// Picture size [px].
    pub size: Vec2,
}

impl View {
    /// Unit direction through the place `p` in the picture [px], from the upper left.
    pub fn direction(&self, p: Vec2) -> Vec3 {
        let q = (p - self.size * 0.5) * self.pixel;
        (self.right * q.x - self.above * q.y - self.back).normalize()
    }

    /// Where in the picture a point is seen [px], with its depth [m]; `None` behind the eye.
    pub fn project(&self, point: Vec3) -> Option<(Vec2, f32)> {
        let r = point - self.eye;
        let depth = -r.dot(self.back);
        (depth > 1e-6).then(|| {
            let q = vec2(r.dot(self.right), -r.dot(self.above)) / (depth * self.pixel);
            (q + self.size * 0.5, depth)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn framing_holds_the_bounds_and_fills_the_picture() {
        for (w, h) in [(1280, 720), (400, 900), (500, 500)] {
            let bounds = Bounds { min: vec3(-1.0, 0.2, -0.3), max: vec3(2.0, 1.4, 0.1) };
            let view = Camera::framing(bounds, w as f32 / h as f32).prepare(w, h).unwrap();
            let seen = bounds.corners().map(|c| view.project(c).unwrap().0);
            let low = seen.iter().fold(Vec2::MAX, |a, &b| a.min(b));
            let high = seen.iter().fold(Vec2::MIN, |a, &b| a.max(b));
            let size = vec2(w as f32, h as f32);
            assert!(low.min_element() >= 0.0 && (size - high).min_element() >= 0.0, "{w}×{h}: {low} {high}");
            assert!(((high - low) / size).max_element() > 0.75, "{w}×{h}: too small");
        }
    }

    #[test]
    fn projection_undoes_direction() {
        let view = Camera { eye: vec3(1.0, 2.0, 5.0), target: Vec3::ZERO, up: Vec3::Y, fov_y_degrees: 40.0 }
            .prepare(640, 360)
            .unwrap();
        let p = vec2(100.5, 300.5);
        let (q, _) = view.project(view.eye + view.direction(p) * 3.0).unwrap();
        assert!((p - q).length() < 1e-2);
        // Right in space is right in the picture, up is up.
        assert!(view.project(Vec3::X).unwrap().0.x > 320.0 && view.project(Vec3::Y).unwrap().0.y < 180.0);
    }

    #[test]
    fn a_camera_at_its_target_is_refused() {
        let camera = Camera { eye: Vec3::ONE, target: Vec3::ONE, up: Vec3::Y, fov_y_degrees: 30.0 };
        assert!(camera.prepare(10, 10).unwrap_err().to_string().contains("own target"));
        let straight_down = Camera { eye: Vec3::Y, target: Vec3::ZERO, up: Vec3::Y, fov_y_degrees: 30.0 };
        assert!(straight_down.prepare(10, 10).is_ok());
    }
}
