//! Where the bytes of a cache are: a file, or memory for what never touches a disk.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};

/// Bytes of a cache.
#[derive(Debug)]
pub(super) enum Store {
    File(File),
    Memory(Cursor<Vec<u8>>),
}

impl Store {
    /// Cuts or extends it to a length.
    pub fn set_len(&mut self, length: u64) -> io::Result<()> {
        match self {
            Self::File(file) => file.set_len(length),
            Self::Memory(bytes) => {
                bytes.get_mut().resize(length as usize, 0);
                Ok(())
            }
        }
    }

    /// Makes sure that it outlasts a power cut, if it is a file.
    pub fn sync_data(&self) -> io::Result<()> {
        match self {
            Self::File(file) => file.sync_data(),
            Self::Memory(_) => Ok(()),
        }
    }
}

impl Read for Store {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(bytes),
            Self::Memory(memory) => memory.read(bytes),
        }
    }
}

impl Write for Store {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Memory(memory) => memory.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Memory(memory) => memory.flush(),
        }
    }
}

impl Seek for Store {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::File(file) => file.seek(to),
            Self::Memory(memory) => memory.seek(to),
        }
    }
}
