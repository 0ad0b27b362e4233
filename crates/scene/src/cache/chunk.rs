//! Chunks: the checked parcels a cache is made of (layout in the [module's page](super)).

use std::io::{self, Read, Seek, SeekFrom};

/// Kind of the chunk that holds the surfaces of bodies.
pub(super) const BODY: [u8; 4] = *b"BODY";
/// Kind of the chunk that holds a topology.
pub(super) const TOPO: [u8; 4] = *b"TOPO";
/// Kind of the chunk that holds the yarns of a frame.
pub(super) const YARN: [u8; 4] = *b"YARN";
/// Kind of the chunk that closes a frame.
pub(super) const FRAM: [u8; 4] = *b"FRAM";
/// Bytes of a chunk before its payload.
pub(super) const HEAD: usize = 20;

/// Where a chunk lies in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunk {
    pub kind: [u8; 4],
    /// Start of the chunk.
    pub start: u64,
    /// Bytes of the payload.
    pub length: u64,
    check: u32,
}

impl Chunk {
    /// Where the chunk ends.
    pub fn end(&self) -> u64 {
        self.start + HEAD as u64 + self.length
    }

    /// Reads the payload; `None` if it isn't what was written.
    pub fn payload(&self, file: &mut (impl Read + Seek)) -> io::Result<Option<Vec<u8>>> {
        file.seek(SeekFrom::Start(self.start + HEAD as u64))?;
        let mut payload = vec![0; self.length as usize];
        file.read_exact(&mut payload)?;
        Ok((crc32fast::hash(&payload) == self.check).then_some(payload))
    }
}

/// Starts a chunk in `buffer` whose payload is appended by the caller, then [`close`]d.
pub(super) fn open(buffer: &mut Vec<u8>, kind: [u8; 4]) {
    buffer.clear();
    buffer.extend_from_slice(&kind);
    buffer.resize(HEAD, 0);
}

/// Fills in length and checks of the chunk in `buffer`.
pub(super) fn close(buffer: &mut [u8]) {
    let length = (buffer.len() - HEAD) as u64;
    let check = crc32fast::hash(&buffer[HEAD..]);
    buffer[4..12].copy_from_slice(&length.to_le_bytes());
    buffer[12..16].copy_from_slice(&check.to_le_bytes());
    let head_check = crc32fast::hash(&buffer[..16]);
    buffer[16..20].copy_from_slice(&head_check.to_le_bytes());
}

/// Finds the chunk at `start`; `None` if there is no whole one before `end`. Reads the head only.
pub(super) fn at(file: &mut (impl Read + Seek), start: u64, end: u64) -> io::Result<Option<Chunk>> {
    if end.saturating_sub(start) < HEAD as u64 {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(start))?;
    let mut head = [0; HEAD];
    file.read_exact(&mut head)?;
    let [k0, k1, k2, k3, length @ .., c0, c1, c2, c3, h0, h1, h2, h3] = head;
    let length = u64::from_le_bytes(length);
    let chunk = Chunk { kind: [k0, k1, k2, k3], start, length, check: u32::from_le_bytes([c0, c1, c2, c3]) };
    let sound = crc32fast::hash(&head[..16]) == u32::from_le_bytes([h0, h1, h2, h3]);
    Ok((sound && length <= end - start - HEAD as u64).then_some(chunk))
}
