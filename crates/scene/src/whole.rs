//! Files that are whole or not there: written beside their place, then moved to it.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes a file beside its place, then moves it there.
pub fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    write_beside(path, |mut file| file.write_all(bytes))
}

/// The same for a file that is written bit by bit.
pub fn write_beside(path: &Path, write: impl FnOnce(&File) -> std::io::Result<()>) -> std::io::Result<()> {
    let beside = ending(path, ".tmp");
    let whole = || {
        let file = File::create(&beside)?;
        write(&file)?;
        file.sync_data()?;
        std::fs::rename(&beside, path)
    };
    whole().inspect_err(|_| drop(std::fs::remove_file(&beside)))
}

fn ending(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}
