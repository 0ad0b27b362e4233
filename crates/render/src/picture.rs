//! From scene to picture.
//!
//! Two passes over the pixels, each split among threads by bands of rows. The first gives every pixel a few samples. The
//! second gives more where they disagree: by the error of the mean `√(variance / n)` of the displayed brightness, and at edges
//! by the contrast with the eight neighbours. Then pixels of even colour (floor, bodies) lend each other samples where they
//! differ by no more than their errors ([`crate::even`]). Each step of a pixel depends only on the step before and on its own
//! number, so the picture is the same bits for any number of threads.

use crate::camera::{Camera, View};
use crate::colour::{encode_grained, encode_rgb, film, luminance, plain};
use crate::error::RenderError;
use crate::even;
use crate::look::{Look, Quality};
use crate::overlay;
use crate::sample::{Sampler, hash2, unit};
use crate::scene::Scene;
use crate::shade::Shader;
use crate::world::World;
use glam::{Vec2, Vec3, vec2};
use image::RgbImage;
use rayon::prelude::*;
use std::path::Path;

/// Rows per band: few enough that threads end together, many enough that neighbouring rays share caches.
const BAND: usize = 8;
/// Error of the mean brightness that is good enough: about one step of an 8-bit display at middle grey.
const GOOD: f32 = 0.006;

/// Samples of one pixel so far.
#[derive(Clone, Copy, Default)]
struct Pixel {
    sum: Vec3,
    /// Sum of displayed brightness and of its square.
    brightness: f32,
    square: f32,
    count: f32,
    /// The one even thing that all samples met, or [`even::ROUGH`].
    thing: u32,
}

impl Pixel {
    fn add(&mut self, (light, thing): (Vec3, u32)) {
        let y = perceived(light);
        self.thing = if self.count == 0.0 || self.thing == thing { thing } else { even::ROUGH };
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
    let mut light: Vec<Vec3> = pixels.iter().map(|p| p.sum / p.count).collect();
    if look.quality == Quality::Final {
        let states: Vec<even::State> =
            pixels.par_iter().map(|p| even::State { level: p.level(), error: p.error(), thing: p.thing }).collect();
        light = even::smoothed(light, &states, look.width as usize, perceived);
    }
    let mut image = develop(&light, look, &view);
    overlay::draw(&mut image, scene, look, &view, range);
    Ok(image)
}

/// Writes a picture as PNG. It is in `NAME.tmp` until it is whole, so nothing half-written looks finished.
pub fn save(picture: &RgbImage, path: &Path) -> Result<(), RenderError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".tmp");
    let temporary = path.with_file_name(name);
    // Not straight to the file: a buffer that is dropped there says nothing of a full disk.
    let mut bytes = std::io::Cursor::new(Vec::new());
    let whole = picture
        .write_to(&mut bytes, image::ImageFormat::Png)
        .map_err(|e| e.to_string())
        .and_then(|()| std::fs::write(&temporary, bytes.get_ref()).map_err(|e| e.to_string()))
        .and_then(|()| std::fs::rename(&temporary, path).map_err(|e| e.to_string()));
    whole.map_err(|cause| {
        // Nothing is lost by failing here: the file is of no use.
        let _ = std::fs::remove_file(&temporary);
        RenderError::Write { path: path.to_owned(), cause }
    })
}

fn trace(shader: &Shader, look: &Look) -> Vec<Pixel> {
    let (width, height) = (look.width as usize, look.height as usize);
    let (first, most, edge) = look.quality.samples();
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
        let by_contrast = if contrast > edge { most.min(first + 6) } else { first };
        // Noise hides in texture: where neighbours differ anyway, more of it may stay.
        let ratio = error / (GOOD * (1.0 + 14.0 * contrast));
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
fn develop(light: &[Vec3], look: &Look, view: &View) -> RgbImage {
    let figure = look.colouring.is_figure();
    let width = look.width as usize;
    let reach = view.size.length_squared() * 0.25;
    let mut bytes = vec![0u8; light.len() * 3];
    bytes.par_chunks_mut(width * 3).enumerate().for_each(|(y, row)| {
        for (x, out) in row.chunks_exact_mut(3).enumerate() {
            let light = light[y * width + x] * look.exposure;
            let shown = if figure {
                plain(light)
            } else {
                let r2 = (vec2(x as f32 + 0.5, y as f32 + 0.5) - view.size * 0.5).length_squared() / reach;
                film(light * (0.86 * (1.0 - 0.20 * r2 * r2)))
            };
            let bytes = match look.quality {
                Quality::Draft => encode_rgb(shown),
                Quality::Final => encode_grained(shown, unit(hash2(x as u32, 0x9e37 + y as u32))),
            };
            out.copy_from_slice(&bytes);
        }
    });
    RgbImage::from_raw(look.width, look.height, bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Body, Cloth, Colouring, ImageTexture, Light, Marker, Shape, Texture, Yarn};
    use glam::vec3;

    const FRONT: Camera = Camera { eye: vec3(0.0, 0.0, 5.0), target: Vec3::ZERO, up: Vec3::Y, fov_y_degrees: 30.0 };
    const SQUARE: [Vec3; 4] = [vec3(-1.0, -1.0, 0.0), vec3(1.0, -1.0, 0.0), vec3(1.0, 1.0, 0.0), vec3(-1.0, 1.0, 0.0)];
    const FACES: [[u32; 3]; 2] = [[0, 1, 2], [0, 2, 3]];

    fn square_uv() -> [[Vec2; 3]; 2] {
        FACES.map(|f| f.map(|n| SQUARE[n as usize].truncate()))
    }

    fn small(quality: Quality) -> Look {
        Look { width: 60, height: 60, quality, ..Look::default() }
    }

    fn brightness(image: &RgbImage, x: u32, y: u32) -> u32 {
        image.get_pixel(x, y).0.iter().map(|&b| b as u32).sum()
    }

    fn sunny(direction: Vec3) -> Light {
        Light { sun_direction: Some(direction), ..Light::default() }
    }

    #[test]
    fn the_lit_side_is_brighter() {
        let ball = Body::at(Shape::Sphere { radius: 1.0 }, Vec3::ZERO);
        for quality in [Quality::Draft, Quality::Final] {
            for (direction, lit, dark) in [(Vec3::X, 44, 16), (-Vec3::X, 16, 44)] {
                let scene = Scene { bodies: vec![ball], light: sunny(direction), ..Scene::default() };
                let image = render(&scene, &FRONT, &small(quality)).unwrap();
                assert!(brightness(&image, lit, 30) > brightness(&image, dark, 30) + 60);
            }
        }
    }

    #[test]
    fn shadow_falls_away_from_the_sun_and_corners_are_dark() {
        let camera = Camera { eye: vec3(0.0, 6.0, 0.01), ..FRONT };
        let ball = Body::at(Shape::Sphere { radius: 0.4 }, vec3(0.0, 0.4, 0.0));
        let scene = |light| Scene { bodies: vec![ball], floor: Some(0.0), light, ..Scene::default() };
        // From above, x is to the right: a sun at +x throws the shadow to the left.
        let image = render(&scene(sunny(vec3(1.0, 1.0, 0.0))), &camera, &small(Quality::Final)).unwrap();
        assert!(brightness(&image, 13, 30) + 60 < brightness(&image, 46, 30));
        // Without sun there is still the ball's occlusion of the sky, fading with distance.
        let sky_only = Light { sun: Vec3::ZERO, ..Light::default() };
        let image = render(&scene(sky_only), &camera, &small(Quality::Final)).unwrap();
        let at = |x| brightness(&image, x, 30);
        // Grain and display steps are worth up to one step per channel.
        assert!(at(38) + 15 < at(47) && at(40) + 3 < at(47), "{} {} {}", at(38), at(40), at(47));
    }

    #[test]
    fn the_texture_corner_lies_at_the_right_pixel() {
        // Red at the lower left (low u, low v), blue at the upper right, else green.
        let picture = RgbImage::from_fn(32, 32, |x, y| match (x < 4, y < 4, x >= 28, y >= 28) {
            (true, _, _, true) => image::Rgb([255, 0, 0]),
            (_, true, true, _) => image::Rgb([0, 0, 255]),
            _ => image::Rgb([0, 255, 0]),
        });
        let uv = square_uv();
        let cloth = Cloth { positions: &SQUARE, faces: &FACES, corner_uv: &uv, ..Cloth::default() };
        let scene = Scene { cloths: vec![cloth], ..Scene::default() };
        let look = Look { texture: Texture::Image(ImageTexture::new(&picture)), ..small(Quality::Draft) };
        let image = render(&scene, &FRONT, &look).unwrap();
        let view = FRONT.prepare(60, 60).unwrap();
        let seen = |x: f32, y: f32| {
            let (p, _) = view.project(vec3(x, y, 0.0)).unwrap();
            image.get_pixel(p.x as u32, p.y as u32).0
        };
        let strongest = |c: [u8; 3]| (0..3).max_by_key(|&k| c[k]).unwrap();
        assert_eq!(strongest(seen(-0.9, -0.9)), 0);
        assert_eq!(strongest(seen(0.9, 0.9)), 2);
        assert_eq!(strongest(seen(0.9, -0.9)), 1);
        assert_eq!(strongest(seen(-0.9, 0.9)), 1);
    }

    #[test]
    fn motion_blur_widens_an_edge_by_the_way_moved() {
        let velocities = [Vec3::X * 10.0; 4];
        let cloth = Cloth { positions: &SQUARE, velocities: &velocities, faces: &FACES, ..Cloth::default() };
        let light = Light { backdrop: [Vec3::splat(0.7); 2], ..Light::default() };
        let scene = Scene { cloths: vec![cloth], light, ..Scene::default() };
        // Pixels in the middle row that are neither backdrop nor cloth; two-tone has a linear tone.
        let width = |shutter: f32| {
            let look = Look { shutter, frame_seconds: 0.1, colouring: Colouring::TwoTone, ..small(Quality::Final) };
            let image = render(&scene, &FRONT, &look).unwrap();
            let red = |x: u32| crate::colour::decode(image.get_pixel(x, 30).0[0] as f32 / 255.0);
            let (light, dark) = (red(1), red(30));
            (0..30).filter(|&x| (0.125..0.875).contains(&((red(x) - dark) / (light - dark)))).count()
        };
        // 10 m/s × 0.1 s × ½ = 0.5 m; a pixel is 2·5·tan 15°/60 = 0.0447 m: a ramp of 11 pixels, of which three quarters count.
        let (still, moving) = (width(0.0), width(0.5));
        assert!(still <= 2 && (6..=11).contains(&moving), "{still} {moving}");
    }

    #[test]
    fn one_and_two_threads_give_the_same_bits() {
        let uv = square_uv();
        let values = [0.0, 0.1, 0.2, 0.3];
        let velocities = [Vec3::X, Vec3::ZERO, Vec3::Y, Vec3::Z];
        let cloth = Cloth {
            positions: &SQUARE,
            velocities: &velocities,
            faces: &FACES,
            corner_uv: &uv,
            node_value: Some(&values),
            torn_edges: &[[0, 1]],
            held: &[3],
            ..Cloth::default()
        };
        let ball = Body::at(Shape::Sphere { radius: 0.3 }, vec3(0.2, -0.7, 0.6));
        let scene = Scene { cloths: vec![cloth], bodies: vec![ball], floor: Some(-1.0), ..Scene::default() };
        for colouring in [Colouring::Fabric, Colouring::Strain] {
            let look = Look { colouring, shutter: 0.5, ..small(Quality::Final) };
            let with = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| render(&scene, &FRONT, &look).unwrap())
            };
            assert_eq!(with(1), with(2));
        }
    }

    #[test]
    fn strain_is_coloured_in_order_whatever_the_range() {
        let values = [0.0, 0.2, 0.2, 0.0];
        let cloth = Cloth { positions: &SQUARE, faces: &FACES, node_value: Some(&values), ..Cloth::default() };
        let scene = Scene { cloths: vec![cloth], ..Scene::default() };
        let look = Look { colouring: Colouring::Strain, width: 300, height: 300, ..small(Quality::Draft) };
        let image = render(&scene, &FRONT, &look).unwrap();
        // Strain grows to the right; the map grows darker. (The colour bar stands in the upper right.)
        let row: Vec<u32> = [50, 100, 150, 200, 250].iter().map(|&x| brightness(&image, x, 230)).collect();
        assert!(row.windows(2).all(|w| w[1] + 10 < w[0]), "{row:?}");
    }

    #[test]
    fn a_picture_is_saved_whole_or_not_at_all() {
        let folder = std::env::temp_dir().join(format!("ripstop-picture-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let picture = RgbImage::from_pixel(3, 2, image::Rgb([1, 2, 3]));
        save(&picture, &folder.join("still.png")).unwrap();
        assert_eq!(image::open(folder.join("still.png")).unwrap().to_rgb8(), picture);
        // A folder stands where the picture should go.
        std::fs::create_dir(folder.join("taken.png")).unwrap();
        let error = save(&picture, &folder.join("taken.png")).unwrap_err().to_string();
        assert!(error.contains("taken.png") && error.contains("can't be written"), "{error}");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_empty_and_the_degenerate_are_drawn_without_complaint() {
        let empty = Scene::default();
        assert!(render(&empty, &FRONT, &small(Quality::Final)).is_ok());
        let positions = [Vec3::ZERO; 3];
        let uv = [[Vec2::ZERO; 3]];
        let cloth = Cloth {
            positions: &positions,
            faces: &[[0, 1, 2]],
            corner_uv: &uv,
            torn_edges: &[[0, 0]],
            ..Cloth::default()
        };
        let yarns = vec![Yarn::default(), Yarn { points: &positions, radius: 0.1, ..Yarn::default() }];
        let markers = vec![Marker::Peak { place: Vec3::ZERO, direction: Vec3::ZERO }];
        let bodies = vec![Body::at(Shape::Cuboid { half: Vec3::ZERO }, Vec3::ONE)];
        let scene = Scene { cloths: vec![cloth], yarns, markers, bodies, floor: Some(0.0), ..Scene::default() };
        for colouring in [Colouring::Fabric, Colouring::Strain, Colouring::Pieces, Colouring::TwoTone, Colouring::Wire]
        {
            let look = Look { colouring, shutter: 1.0, width: 7, height: 3, ..Look::default() };
            assert!(render(&scene, &FRONT, &look).is_ok());
        }
        let wide = Look { width: 0, ..Look::default() };
        assert!(matches!(render(&scene, &FRONT, &wide), Err(RenderError::Size { .. })));
    }
}
