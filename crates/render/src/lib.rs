//! Pictures, films and plots of simulated cloth, drawn on the CPU: the same picture on every machine, no GPU, no driver.
//!
//! ```text
//! Scene (cloths, bodies, yarns, markers, floor, light) ─┐
//! Camera (given, or framed on the whole motion)         ├─► render() ─► RgbImage ─► save() · film::Film · sheet::contact
//! Look (size, quality, colouring, texture, shutter)     ┘
//! ```
//!
//! One picture: `check → World (boxes, tree) → first samples → more where they disagree → tone → writing over it`.
//! Each stage is one file. Numbers for report pages come from [`plot`], as SVG.
//!
//! ```
//! use glam::{Vec2, Vec3};
//! use ripstop_render::{Camera, Cloth, Look, Scene, render};
//!
//! let positions = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::new(1.0, 1.0, 0.0)];
//! let faces = [[0, 1, 2], [2, 1, 3]];
//! let uv = faces.map(|f| f.map(|n| positions[n as usize].truncate()));
//! let cloth = Cloth { positions: &positions, faces: &faces, corner_uv: &uv, ..Cloth::default() };
//! let scene = Scene { cloths: vec![cloth], floor: Some(-0.2), ..Scene::default() };
//! let look = Look::draft(64, 36);
//! let picture = render(&scene, &Camera::framing(scene.bounds(), look.aspect()), &look)?;
//! assert_eq!(picture.dimensions(), (64, 36));
//! # Ok::<(), ripstop_render::RenderError>(())
//! ```

// Units stand in brackets, as in `[m]`, all over the project: they are no links.
#![allow(rustdoc::broken_intra_doc_links)]

mod camera;
pub mod colour;
mod curve;
mod error;
mod even;
#[cfg(feature = "film")]
pub mod film;
pub mod font;
mod inside;
pub mod lips;
mod look;
mod overlay;
mod picture;
pub mod plot;
mod sample;
mod scene;
mod shade;
pub mod sheet;
mod texture;
mod world;

pub use camera::Camera;
pub use error::RenderError;
pub use image::RgbImage;
pub use look::{Colouring, Dye, Legend, Look, Quality, Texture};
pub use picture::{render, save};
pub use scene::{Body, Bounds, Cloth, Light, Marker, Scene, Shape, Yarn};
pub use texture::ImageTexture;
