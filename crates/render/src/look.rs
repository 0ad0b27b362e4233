//! How it is drawn: size, quality, colouring, cloth's texture, shutter, writing.

use crate::colour::{Map, srgb};
use crate::error::RenderError;
use crate::texture::ImageTexture;
use glam::Vec3;

/// How much work a picture gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Quality {
    /// One ray per pixel, more only at edges; hard shadow, no occlusion, no motion blur. For looking while it runs.
    Draft,
    /// Soft shadow, light from the whole sky, motion blur.
    #[default]
    Final,
}

impl Quality {
    /// Samples per pixel: at first everywhere, then in all where the first disagree; and the contrast of displayed
    /// brightness between neighbours that counts as an edge.
    pub(crate) fn samples(self) -> (u32, u32, f32) {
        match self {
            Quality::Draft => (1, 4, 0.12),
            Quality::Final => (8, 32, 0.05),
        }
    }
}

/// What the colour of cloth and yarns means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Colouring {
    /// The cloth as it looks.
    #[default]
    Fabric,
    /// Node values as strain, with a colour bar.
    Strain,
    /// Node values as plastic strain, with a colour bar.
    PlasticStrain,
    /// Each piece its own colour.
    Pieces,
    /// Sheet in one colour, yarns in another.
    TwoTone,
    /// Edges drawn over a pale sheet, torn lips in red.
    Wire,
}

impl Colouring {
    /// The colour map of a coloured figure.
    pub fn map(self) -> Option<Map> {
        match self {
            Colouring::Strain => Some(Map::Heat),
            Colouring::PlasticStrain => Some(Map::Tide),
            _ => None,
        }
    }

    /// Whether colours carry meaning, so that light must not tint them.
    pub(crate) fn is_figure(self) -> bool {
        !matches!(self, Colouring::Fabric)
    }
}

/// Colours of the built-in fabric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dye {
    /// Front side.
    pub front: Vec3,
    /// Back side.
    pub back: Vec3,
    /// The reinforcing yarns of the ripstop grid.
    pub grid: Vec3,
    /// Raw fibre at torn lips.
    pub fibre: Vec3,
}

impl Default for Dye {
    fn default() -> Self {
        Self { front: srgb(0xa8392a), back: srgb(0xb9775a), grid: srgb(0xc46a52), fibre: srgb(0xf1e4d0) }
    }
}

/// Pattern on the cloth, placed by corner uv.
#[derive(Clone, Debug, Default)]
pub enum Texture {
    /// Woven cloth with a ripstop grid, in the colours of [`Look::dye`].
    #[default]
    Fabric,
    /// A checker with a number in each field (letter = column along weft, number = row along warp): misplaced texture
    /// shows.
    Checker,
    /// An image.
    Image(ImageTexture),
}

/// Settings of the colour bar.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Legend {
    /// What is shown; empty writes the colouring's name.
    pub label: String,
    /// Values at both ends; `None` takes 0 and the largest, rounded up. Give it for films, or colours change in time.
    pub range: Option<[f32; 2]>,
    /// Written as percent.
    pub percent: bool,
}

/// Everything about the look of a picture.
#[derive(Clone, Debug)]
pub struct Look {
    /// Picture width [px].
    pub width: u32,
    /// Picture height [px].
    pub height: u32,
    /// How much work it gets.
    pub quality: Quality,
    /// What colours mean.
    pub colouring: Colouring,
    /// Pattern of the cloth.
    pub texture: Texture,
    /// Colours of the built-in fabric, lips and fibres.
    pub dye: Dye,
    /// Distance of yarns in the drawn weave [m]; `None` takes one that is visible at the size of the cloth.
    pub weave: Option<f32>,
    /// Part of the frame time during which the shutter is open, 0 to 1; 0 freezes the motion. Film cameras use 0.5.
    pub shutter: f32,
    /// Time between frames [s].
    pub frame_seconds: f32,
    /// Colour bar.
    pub legend: Legend,
    /// Written at the lower left.
    pub caption: String,
    /// Written at the lower right, e.g. the time of the frame.
    pub note: String,
    /// Brightness of the whole picture, 1 = as lit.
    pub exposure: f32,
}

impl Default for Look {
    fn default() -> Self {
        Self {
            width: 1280,
            height: 720,
            quality: Quality::Final,
            colouring: Colouring::Fabric,
            texture: Texture::Fabric,
            dye: Dye::default(),
            weave: None,
            shutter: 0.0,
            frame_seconds: 1.0 / 30.0,
            legend: Legend::default(),
            caption: String::new(),
            note: String::new(),
            exposure: 1.0,
        }
    }
}

impl Look {
    /// Largest side of a picture [px].
    pub const LARGEST_SIDE: u32 = 16_384;

    /// A draft of this size.
    pub fn draft(width: u32, height: u32) -> Self {
        Self { width, height, quality: Quality::Draft, ..Self::default() }
    }

    /// Width / height.
    pub fn aspect(&self) -> f32 {
        self.width as f32 / self.height.max(1) as f32
    }

    /// Time for which the shutter is open [s].
    pub(crate) fn open_seconds(&self) -> f32 {
        if self.quality == Quality::Draft { 0.0 } else { self.shutter * self.frame_seconds }
    }

    pub(crate) fn check(&self) -> Result<(), RenderError> {
        let (width, height, largest) = (self.width, self.height, Self::LARGEST_SIDE);
        if width == 0 || height == 0 || width > largest || height > largest {
            return Err(RenderError::Size { width, height, largest });
        }
        let setting = |what, value: f32, advice| Err(RenderError::Setting { what, value: value.to_string(), advice });
        if !(0.0..=1.0).contains(&self.shutter) {
            return setting("shutter", self.shutter, "give a part of the frame time, 0 to 1; 0.5 looks like film");
        }
        if !(self.frame_seconds.is_finite() && self.frame_seconds >= 0.0) {
            return setting("frame_seconds", self.frame_seconds, "give the time between frames, e.g. 0.0333 s");
        }
        if !(self.exposure.is_finite() && self.exposure > 0.0) {
            return setting("exposure", self.exposure, "give a number above 0; 1 leaves the light as it is");
        }
        if let Some(weave) = self.weave
            && !(weave.is_finite() && weave > 0.0)
        {
            return setting("weave", weave, "give the distance of yarns in metres, e.g. 0.002");
        }
        if let Some([low, high]) = self.legend.range
            && !(low.is_finite() && high.is_finite() && low < high)
        {
            let value = format!("{low} to {high}");
            return Err(RenderError::Setting { what: "range of the colour bar", value, advice: "give low < high" });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senseless_settings_are_refused() {
        assert!(Look::default().check().is_ok());
        let message = |look: Look| look.check().expect_err("must be refused").to_string();
        assert!(message(Look { width: 0, ..Look::default() }).contains("picture size 0×720"));
        assert!(message(Look { shutter: 1.5, ..Look::default() }).contains("shutter is 1.5"));
        assert!(message(Look { weave: Some(0.0), ..Look::default() }).contains("weave"));
        let legend = Legend { range: Some([1.0, 1.0]), ..Legend::default() };
        assert!(message(Look { legend, ..Look::default() }).contains("1 to 1"));
    }
}
