//! The frame cache, `frames.bin`: the one file a run writes its frames to, and the one that exporters, pictures and
//! checks read.
//!
//! A run appends one frame at a time and never goes back, so memory is bounded by one frame; a run that was killed
//! keeps every frame it had finished and can go on from a checkpoint; a finished run can be exported and drawn again.
//!
//! # The format, version 1
//!
//! Everything is little-endian. The file is an opening followed by chunks.
//!
//! | opening | type | |
//! |---|---|---|
//! | magic | 8 bytes | `ripstop` and a zero |
//! | version | u32 | 1 |
//! | length | u32 | bytes of the header that follows |
//! | check | u32 | CRC-32 of the header |
//! | header | | frames per second f64, metres per unit f64 (1), up axis u8 (`Y`), scene name (UTF-8, the rest) |
//!
//! | chunk | type | |
//! |---|---|---|
//! | kind | 4 bytes | `BODY`, `TOPO`, `YARN` or `FRAM`; a reader skips kinds it doesn't know |
//! | length | u64 | bytes of the payload |
//! | check | u32 | CRC-32 of the payload |
//! | head check | u32 | CRC-32 of the 16 bytes before it |
//! | payload | | see the tables in `codec.rs` |
//!
//! `BODY` comes first, if there are rigid bodies, and only once. `FRAM` closes a frame. `TOPO` comes before it in the frames where the [`Topology`] changed, `YARN` in all frames of woven cloth, so a frame that is not
//! closed is no frame, and a file cut anywhere is read up to its last whole one. Equal frames make equal bytes: a run
//! that was resumed leaves the same file as one that was not.
//!
//! ```
//! use std::sync::Arc;
//! use ripstop_scene::cache::{CacheHeader, CacheReader, CacheWriter, Frame, Topology};
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("frames.bin");
//! let topology = Arc::new(Topology {
//!     faces: vec![[0, 1, 2]],
//!     corner_uv: vec![[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]],
//!     torn: vec![[false; 3]],
//!     parent: vec![0, 1, 2],
//!     held: vec![true, false, false],
//! });
//! let mut writer = CacheWriter::create(&path, CacheHeader { scene: "one face".into(), frames_per_second: 24.0 })?;
//! writer.append(&Frame {
//!     index: 0,
//!     time: 0.0,
//!     points: vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
//!     velocities: vec![[0.0; 3]; 3],
//!     strain: vec![0.0; 3],
//!     plastic: vec![0.0; 3],
//!     topology,
//!     bodies: vec![],
//!     yarns: None,
//! })?;
//!
//! let mut reader = CacheReader::open(&path)?;
//! assert_eq!(reader.frame(0)?.points.len(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chunk;
mod codec;
mod error;
mod frame;
mod reader;
#[cfg(test)]
pub(crate) mod sample;
mod store;
mod writer;

pub use codec::CacheHeader;
pub use error::CacheError;
pub(crate) use error::advice;
pub use frame::{BodyPose, BodySurface, Curve, Frame, FrameFault, Passed, Topology, Yarns};
pub use reader::{CacheReader, FrameEntry, Frames};
pub use writer::CacheWriter;

/// The version of the format this program writes, and the newest it reads.
pub const VERSION: u32 = 1;
/// Metres per unit of length in every cache.
pub const METRES_PER_UNIT: f64 = 1.0;
/// The axis that points up in every cache.
pub const UP_AXIS: char = 'Y';

/// What the functions of this module return.
pub type Result<T> = std::result::Result<T, CacheError>;
