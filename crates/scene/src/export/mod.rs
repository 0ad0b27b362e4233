//! Exports of a [cache](crate::cache): USD for Blender and Houdini, OBJ and PLY sequences for everything else.
//!
//! All exporters read one frame at a time. They write beside the target, to a name that ends in `.tmp`, and rename when
//! the whole is written: nothing half-written looks finished, and an export that failed leaves the one before it in place.
//! Of a cache that was cut short they export the frames that are whole.
//!
//! | format | function | holds |
//! |---|---|---|
//! | USD text | [`usda`] | one file: points, velocities, changing topology, uv, strain, plastic strain, parents; rigid bodies with their motion |
//! | OBJ | [`obj`] | a file per frame: points, uv; rigid bodies |
//! | PLY, binary | [`ply`] | a file per frame: points, velocities, strain, plastic strain, uv |

mod beside;
mod number;
mod obj;
mod ply;
mod sequence;
mod usda;
mod usda_bodies;
mod usda_yarns;

use std::io;
use std::path::{Path, PathBuf};

pub use obj::{obj, obj_text};
pub use ply::ply;
pub(crate) use sequence::forget;
pub use usda::{usda, usda_text};

use crate::cache::{CacheError, CacheReader, advice};

/// How far an export has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Steps done, of about equal length.
    pub done: usize,
    /// All steps of this export.
    pub total: usize,
}

/// An export that could not be made. The target is as it was before.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The cache could not be read.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The cache has no whole frame.
    #[error("{}: no whole frame in it, so nothing to export\n       run the scene again", .path.display())]
    Empty {
        /// The cache.
        path: PathBuf,
    },
    /// The operating system refused: no such folder, no permission, disk full, …
    #[error("{}: cannot {doing}: {source}\n       {}", .path.display(), advice(.source))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was being done, to be read after "cannot".
        doing: &'static str,
        /// The system's reason.
        source: io::Error,
    },
}

/// What exporters return.
pub type Result<T> = std::result::Result<T, ExportError>;

fn failed(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> ExportError {
    let path = path.to_path_buf();
    move |source| ExportError::Io { path, doing, source }
}

fn not_empty(reader: &CacheReader) -> Result<()> {
    if reader.frame_count() > 0 { Ok(()) } else { Err(ExportError::Empty { path: reader.path().to_path_buf() }) }
}
