//! What can go wrong with a cache: the place, the cause, what to do.

use std::io;
use std::path::{Path, PathBuf};

use super::frame::FrameFault;

/// An error of the frame cache. Its text names the file, the cause and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// The operating system refused: no such file, no permission, disk full, …
    #[error("{}: cannot {doing}: {source}\n       {}", .path.display(), advice(.source))]
    Io {
        /// The cache file.
        path: PathBuf,
        /// What was being done, to be read after "cannot".
        doing: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// The file doesn't open with the cache's magic bytes.
    #[error("{}: not a ripstop cache\n       give a frames.bin written by `ripstop run`", .path.display())]
    NotACache {
        /// The file.
        path: PathBuf,
    },
    /// The file was made by a newer program.
    #[error("{}: made by a newer version of ripstop (cache format {found}, this program reads up to {known})\n       \
        use that version, or run the scene again with this one", .path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of the format in the file.
        found: u32,
        /// The newest version this program reads.
        known: u32,
    },
    /// The file ends inside its header: there is no frame in it.
    #[error("{}: ends inside its header, before the first frame\n       run the scene again", .path.display())]
    NoHeader {
        /// The file.
        path: PathBuf,
    },
    /// The file ends inside a frame, as after a kill or on a full disk.
    #[error("{}: truncated in frame record {record}; {left_over} bytes after the last whole frame\n       \
        the {record} frames before it stay readable; `ripstop run --resume` goes on from the last checkpoint",
        .path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Number of whole frames, and so the place of the first one that isn't.
        record: usize,
        /// Bytes after the last whole frame.
        left_over: u64,
    },
    /// Bytes inside the file are not what was written.
    #[error("{}: frame record {record} is damaged: {what}\n       \
        the other frames stay readable; run the scene again to replace it", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The place of the frame in the file.
        record: usize,
        /// What doesn't fit.
        what: String,
    },
    /// A frame was asked for that the file doesn't have.
    #[error("{}: no frame record {record}; the cache has {count}", .path.display())]
    NoSuchFrame {
        /// The file.
        path: PathBuf,
        /// The place asked for.
        record: usize,
        /// How many frames there are.
        count: usize,
    },
    /// A frame that cannot be written or was written wrong: sizes that don't fit, a face that names a node that isn't
    /// there, a number that isn't finite.
    #[error("{}: frame {index}: {fault}\n       the frames before it are kept", .path.display())]
    Frame {
        /// The file.
        path: PathBuf,
        /// The frame's number.
        index: u32,
        /// What is wrong with it.
        fault: FrameFault,
    },
    /// The place to resume from is not the end of a whole frame of this file.
    #[error("{}: cannot go on from byte {position}: no frame ends there (whole frames end at byte {end})\n       \
        the checkpoint belongs to another run; start again without `--resume`", .path.display())]
    NotAFrameEnd {
        /// The file.
        path: PathBuf,
        /// The place asked for.
        position: u64,
        /// Where the last whole frame ends.
        end: u64,
    },
}

impl CacheError {
    /// Wraps a system error with the file and the deed.
    pub(super) fn io(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> CacheError {
        let path = path.to_path_buf();
        move |source| CacheError::Io { path, doing, source }
    }
}

/// What to do about a system error that stopped a file from being read or written.
pub(crate) fn advice(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound => "check the path",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "check the permissions, or choose another folder with `-o`"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "make room or choose another disk with `-o`; every frame that was finished stays readable"
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory => {
            "a file and a folder are mixed up: check the path"
        }
        _ => "every frame that was finished stays readable",
    }
}
