//! Options of all commands that draw.

use glam::Vec3;
use ripstop_render::{Camera, Colouring, Look, Quality, Texture};
use ripstop_scene::file;

/// How pictures are to be drawn.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct PictureArgs {
    /// Draw stills as fast as the film: hard shadow, no light from the sky
    #[arg(long, conflicts_with = "finished")]
    pub draft: bool,
    /// Draw the film with as much care as the stills, with motion blur; takes some twenty times as long
    #[arg(long = "final")]
    pub finished: bool,
    /// Size of pictures [default: film 960x540, stills 1280x720]
    #[arg(long, value_name = "WxH", value_parser = size)]
    pub size: Option<Size>,
    /// What colours show [default: what the scene says]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub colour: Option<Colour>,
    /// Eye and target [default: the scene's camera, or framed on the whole motion]
    #[arg(long, value_name = "X,Y,Z:X,Y,Z", value_parser = camera, allow_hyphen_values = true)]
    pub camera: Option<Camera>,
}

/// Width and height [px].
pub type Size = (u32, u32);

/// Pictures as wide or high as the film's encoder takes them.
const LARGEST_SIDE: u32 = 3840;
const FILM_SIZE: Size = (960, 540);
const STILL_SIZE: Size = (1280, 720);

/// What the colours of a picture show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Colour {
    /// The cloth as it looks
    Fabric,
    /// A numbered checker by material coordinates
    Checker,
    /// Strain, with the most strained node marked
    Strain,
    /// Plastic strain
    Plastic,
    /// Every piece in its own colour
    Pieces,
    /// The mesh, with torn lips in red
    Wire,
    /// Woven cloth: what is whole in one colour, yarns in another
    Levels,
}

impl From<file::Colouring> for Colour {
    fn from(colouring: file::Colouring) -> Self {
        match colouring {
            file::Colouring::Fabric => Self::Fabric,
            file::Colouring::Checker => Self::Checker,
            file::Colouring::Strain => Self::Strain,
            file::Colouring::Plastic => Self::Plastic,
            file::Colouring::Pieces => Self::Pieces,
            file::Colouring::Wire => Self::Wire,
            file::Colouring::Levels => Self::Levels,
        }
    }
}

impl Colour {
    /// The renderer's word for it.
    pub fn colouring(self) -> Colouring {
        match self {
            Self::Fabric | Self::Checker | Self::Levels => Colouring::Fabric,
            Self::Strain => Colouring::Strain,
            Self::Plastic => Colouring::PlasticStrain,
            Self::Pieces => Colouring::Pieces,
            Self::Wire => Colouring::Wire,
        }
    }
}

impl PictureArgs {
    /// Size, care and shutter of the film.
    pub fn film(&self) -> Look {
        let (width, height) = self.size.unwrap_or(FILM_SIZE);
        let quality = if self.finished { Quality::Final } else { Quality::Draft };
        // Half of the frame time, as film cameras have it.
        Look { width, height, quality, shutter: 0.5, texture: Texture::Fabric, ..Look::default() }
    }

    /// Size and care of stills. They are sharp: no motion blur.
    pub fn still(&self) -> Look {
        self.still_of(STILL_SIZE)
    }

    /// The same with another usual size.
    pub fn still_of(&self, usual: Size) -> Look {
        let (width, height) = self.size.unwrap_or(usual);
        let quality = if self.draft { Quality::Draft } else { Quality::Final };
        Look { width, height, quality, ..Look::default() }
    }
}

fn size(text: &str) -> Result<Size, String> {
    let whole = |part: &str| part.trim().parse::<u32>().ok();
    let sides = text.split_once(['x', 'X', '×']).and_then(|(w, h)| Some((whole(w)?, whole(h)?)));
    let (width, height) = sides.ok_or("give width and height in pixels, such as 1280x720")?;
    if width == 0 || height == 0 || width > LARGEST_SIDE || height > LARGEST_SIDE {
        return Err(format!("both sides must be 1 to {LARGEST_SIDE} pixels, such as 1280x720"));
    }
    Ok((width, height))
}

fn camera(text: &str) -> Result<Camera, String> {
    let point = |part: &str| {
        let numbers: Vec<f32> = part.split(',').map_while(|n| n.trim().parse().ok()).collect();
        let given = part.split(',').count();
        let point = <[f32; 3]>::try_from(numbers).ok()?;
        (given == 3 && point.iter().all(|x| x.is_finite())).then(|| point.into())
    };
    let points = text.split_once(':').and_then(|(eye, target)| Some((point(eye)?, point(target)?)));
    let (eye, target) =
        points.ok_or("give the places of eye and target in metres, such as 1.5,1,2:0.5,0.4,0 (x,y,z:x,y,z)")?;
    if eye == target {
        return Err("eye and target are the same place: move the eye away from what it looks at".into());
    }
    Ok(Camera { eye, target, up: Vec3::Y, fov_y_degrees: Camera::LENS_DEGREES })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_refused() {
        assert_eq!(size("640x360"), Ok((640, 360)));
        assert_eq!(size("640×360"), Ok((640, 360)));
        for wrong in ["0x360", "640", "640x", "-3x9", "99999x9", "axb", ""] {
            assert!(size(wrong).unwrap_err().contains("such as 1280x720"), "{wrong}");
        }
    }

    #[test]
    fn cameras_are_read_and_refused() {
        let read = camera("-1,0.5,2 : 0,0,-0.25").unwrap();
        assert_eq!((read.eye.to_array(), read.target.to_array()), ([-1.0, 0.5, 2.0], [0.0, 0.0, -0.25]));
        for wrong in ["", "1,2,3", "1,2:3,4,5", "1,2,3,4:0,0,0", "1,2,x:0,0,0", "nan,0,0:0,0,0"] {
            assert!(camera(wrong).unwrap_err().contains("such as"), "{wrong}");
        }
        assert!(camera("1,2,3:1,2,3").unwrap_err().contains("same place"));
    }
}
