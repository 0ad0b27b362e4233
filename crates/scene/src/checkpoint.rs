//! Checkpoints: a run that was stopped goes on bit for bit.

use crate::engine::{State, StateRef};
use crate::tally::Tally;
use serde::{Deserialize, Serialize};
use std::io::{Seek, Write};
use std::path::Path;

/// Format of the file; a newer program may not read an older one's.
const VERSION: u32 = 12;
const MAGIC: &[u8; 8] = b"ripstopC";

/// Everything a run needs to go on, as read.
#[derive(Clone, Deserialize)]
pub struct Checkpoint {
    /// CRC of the scene file: a checkpoint fits only its own scene.
    pub scene_check: u32,
    /// Frames written.
    pub frames: u32,
    /// What moves.
    pub state: State,
    /// What was counted.
    pub tally: Tally,
    /// Lengths of the cache, the events and the statistics so far [bytes].
    pub lengths: [u64; 3],
    /// Seconds by stage so far.
    pub seconds: Vec<f64>,
}

/// The same, to be written: nothing is copied, since a state can fill the memory.
#[derive(Serialize)]
pub struct CheckpointRef<'a> {
    /// See [`Checkpoint::scene_check`].
    pub scene_check: u32,
    /// See [`Checkpoint::frames`].
    pub frames: u32,
    /// See [`Checkpoint::state`].
    pub state: StateRef<'a>,
    /// See [`Checkpoint::tally`].
    pub tally: &'a Tally,
    /// See [`Checkpoint::lengths`].
    pub lengths: [u64; 3],
    /// See [`Checkpoint::seconds`].
    pub seconds: &'a [f64],
}

impl CheckpointRef<'_> {
    /// Writes it beside, then in place of the last one.
    pub fn write(&self, path: &Path) -> std::io::Result<()> {
        crate::whole::write_beside(path, |file| {
            let mut file = std::io::BufWriter::new(file);
            file.write_all(MAGIC)?;
            file.write_all(&VERSION.to_le_bytes())?;
            file.write_all(&[0; 4])?;
            let mut body = Checked { file, check: crc32fast::Hasher::new(), fault: None };
            if let Err(e) = postcard::to_io(self, &mut body) {
                // The format only says that it could not go on; the file knows why.
                return Err(body.fault.take().unwrap_or_else(|| std::io::Error::other(e)));
            }
            body.flush()?;
            let Checked { mut file, check, .. } = body;
            file.seek(std::io::SeekFrom::Start(12))?;
            file.write_all(&check.finalize().to_le_bytes())?;
            file.flush()
        })
    }
}

/// Counts the check sum of what passes.
struct Checked<W> {
    file: W,
    check: crc32fast::Hasher,
    /// Why writing failed.
    fault: Option<std::io::Error>,
}

impl<W: Write> Write for Checked<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.file.write(bytes);
        match &written {
            Ok(count) => self.check.update(&bytes[..*count]),
            Err(e) if e.kind() != std::io::ErrorKind::Interrupted => {
                self.fault = Some(e.raw_os_error().map_or_else(|| e.kind().into(), std::io::Error::from_raw_os_error));
            }
            Err(_) => {}
        }
        written
    }
    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

impl Checkpoint {
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
