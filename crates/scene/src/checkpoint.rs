//! Checkpoints: a run that was stopped goes on bit for bit.

use crate::tally::Tally;
use ripstop::Snapshot;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Format of the file; a newer program may not read an older one's.
const VERSION: u32 = 1;
const MAGIC: &[u8; 8] = b"ripstopC";

/// Everything a run needs to go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// CRC of the scene file: a checkpoint fits only its own scene.
    pub scene_check: u32,
    /// Frames written.
    pub frames: u32,
    /// State of the simulation.
    pub snapshot: Snapshot,
    /// What was counted.
    pub tally: Tally,
    /// Lengths of the cache, the events and the statistics so far [bytes].
    pub lengths: [u64; 3],
    /// Seconds by stage so far.
    pub seconds: Vec<f64>,
}

impl Checkpoint {
    /// Writes it beside, then in place of the last one.
    pub fn write(&self, path: &Path) -> std::io::Result<()> {
        let body = postcard::to_allocvec(self).map_err(std::io::Error::other)?;
        let mut bytes = Vec::with_capacity(body.len() + 16);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
        bytes.extend_from_slice(&body);
        crate::run::write_whole(path, &bytes)
    }

    /// Reads one, and says why if it can't be used.
    pub fn read(path: &Path) -> Result<Self, String> {
        let bytes = std::fs::read(path).map_err(|e| format!("can't be read: {e}"))?;
        let (head, body) = bytes.split_at_checked(16).ok_or("is too short to be a checkpoint")?;
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        if &head[..8] != MAGIC {
            return Err("is not a checkpoint".into());
        }
        if word(8) != VERSION {
            return Err(format!("is a checkpoint of version {}, this program reads {VERSION}", word(8)));
        }
        if word(12) != crc32fast::hash(body) {
            return Err("is damaged".into());
        }
        postcard::from_bytes(body).map_err(|e| format!("is damaged: {e}"))
    }
}
