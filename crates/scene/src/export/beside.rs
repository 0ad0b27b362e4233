//! A file that is written beside its target and takes its place when whole.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::{Result, failed};

/// Bytes gathered before they go to the file.
const SPILL: usize = 1 << 18;

/// A file on its way. If it is dropped before [`finish`](Beside::finish), what was written goes away.
pub(super) struct Beside {
    target: PathBuf,
    path: PathBuf,
    /// Nothing: all stays in memory.
    file: Option<File>,
    /// What is written next; append to it, then [`spill`](Beside::spill).
    pub out: Vec<u8>,
    finished: bool,
}

impl Beside {
    pub fn create(target: &Path) -> Result<Beside> {
        let path = name_beside(target);
        let file = File::create(&path).map_err(failed(target, "create it"))?;
        Ok(Beside {
            target: target.to_path_buf(),
            path,
            file: Some(file),
            out: Vec::with_capacity(2 * SPILL),
            finished: false,
        })
    }

    /// Gathers all of it in memory.
    pub fn in_memory() -> Beside {
        Beside { target: PathBuf::new(), path: PathBuf::new(), file: None, out: Vec::new(), finished: true }
    }

    /// Hands what was gathered to the file once it is much.
    #[inline]
    pub fn spill(&mut self) -> Result<()> {
        if self.out.len() < SPILL { Ok(()) } else { self.write() }
    }

    /// Puts the file in its target's place.
    pub fn finish(mut self) -> Result<()> {
        self.write()?;
        let Some(file) = &self.file else { return Ok(()) };
        // Otherwise a power cut could leave an empty file under the right name.
        file.sync_data().map_err(failed(&self.target, "write it"))?;
        fs::rename(&self.path, &self.target).map_err(failed(&self.target, "put the finished file there"))?;
        self.finished = true;
        Ok(())
    }

    fn write(&mut self) -> Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        file.write_all(&self.out).map_err(failed(&self.target, "write it"))?;
        self.out.clear();
        Ok(())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if !self.finished {
            // The error that brought us here is the one to report.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The name with `.tmp` at its end.
pub(super) fn name_beside(target: &Path) -> PathBuf {
    let mut name = target.file_name().unwrap_or("export".as_ref()).to_owned();
    name.push(".tmp");
    target.with_file_name(name)
}
