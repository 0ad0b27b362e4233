//! What can go wrong while drawing, filming or plotting: place, cause, what to do.

use std::path::PathBuf;

/// Every failure of this crate. Bad input is always answered with one of these, never with a panic.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// Width or height is zero, or the picture is larger than [`crate::Look::LARGEST_SIDE`].
    #[error(
        "picture size {width}×{height}: both sides must be 1 to {largest} pixels\n       give a size such as 1280×720"
    )]
    Size {
        /// Asked width [px].
        width: u32,
        /// Asked height [px].
        height: u32,
        /// Largest side allowed [px].
        largest: u32,
    },
    /// A list that goes with the nodes or faces has another length.
    #[error(
        "{place}: {what} has {found} entries, but there are {expected} {of}\n       give one for each, or leave the list empty"
    )]
    Length {
        /// Which thing, e.g. `cloth 0`.
        place: String,
        /// Which list.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length needed.
        expected: usize,
        /// What it should go with: nodes or faces.
        of: &'static str,
    },
    /// A face or a list refers to a node that isn't there.
    #[error(
        "{place}: {what} {index} refers to {target} {value}, but there are only {count}\n       check that faces and nodes come from the same frame"
    )]
    Range {
        /// Which thing, e.g. `cloth 0`.
        place: String,
        /// What refers, e.g. `face`.
        what: &'static str,
        /// Its number.
        index: usize,
        /// What is referred to, e.g. `node`.
        target: &'static str,
        /// The number referred to.
        value: u32,
        /// How many there are.
        count: usize,
    },
    /// A number that must be finite is infinite or not a number.
    #[error(
        "{place}: {what} {index} is not finite\n       the simulation has most likely blown up before this frame; look at the last frames of stats.csv"
    )]
    NonFinite {
        /// Which thing, e.g. `cloth 0`.
        place: String,
        /// Which number, e.g. `position of node`.
        what: &'static str,
        /// Its number.
        index: usize,
    },
    /// A setting has no meaning.
    #[error("{what} is {value}\n       {advice}")]
    Setting {
        /// Which setting.
        what: &'static str,
        /// What was given.
        value: String,
        /// What would do.
        advice: &'static str,
    },
    /// The camera can't look anywhere.
    #[error("camera at ({x}, {y}, {z}): {cause}\n       {advice}")]
    Camera {
        /// Place of the eye [m].
        x: f32,
        /// Place of the eye [m].
        y: f32,
        /// Place of the eye [m].
        z: f32,
        /// What is wrong.
        cause: String,
        /// What to do.
        advice: &'static str,
    },
    /// An image file can't be used.
    #[error("{}: {cause}\n       give a PNG or JPEG file that exists", path.display())]
    Texture {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: String,
    },
    /// A file can't be written.
    #[error("{}: can't be written: {cause}\n       check the folder, its rights and the space left; what was finished before is untouched", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: String,
    },
    /// The film encoder refused.
    #[error("{}: frame {frame}: {cause}\n       stills are not affected; try another size, or make no film", path.display())]
    Film {
        /// The film's file.
        path: PathBuf,
        /// Frame at which it happened.
        frame: usize,
        /// What the encoder or muxer said.
        cause: String,
    },
    /// A plot can't be drawn.
    #[error("plot `{title}`: {cause}")]
    Plot {
        /// Title of the plot.
        title: String,
        /// Why.
        cause: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_place_cause_and_remedy() {
        let e = RenderError::Texture { path: "silk/weft.png".into(), cause: "no such file".into() };
        let text = e.to_string();
        assert!(text.contains("silk/weft.png") && text.contains("no such file") && text.contains("PNG"));
        let e = RenderError::Range {
            place: "cloth 1".into(),
            what: "face",
            index: 7,
            target: "node",
            value: 99,
            count: 12,
        };
        assert_eq!(e.to_string().lines().next(), Some("cloth 1: face 7 refers to node 99, but there are only 12"));
    }
}
