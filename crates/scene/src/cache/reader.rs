//! Reading a cache: any frame, or all in order, one in memory at a time.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::chunk::{self, BODY, Chunk, FRAM, HEAD, TOPO, YARN};
use super::codec::{self, CacheHeader, FRAME_FIXED, FrameStart};
use super::frame::{BodySurface, Frame, Topology};
use super::store::Store;
use super::{CacheError, Result};

/// What is known of a frame without reading it.
#[derive(Debug, Clone, Copy)]
pub struct FrameEntry {
    /// The frame's number.
    pub index: u32,
    /// Simulated time [s].
    pub time: f64,
    /// Number of nodes.
    pub node_count: u32,
    /// Whether this frame's topology is not that of the frame before. True for the first.
    pub topology_changed: bool,
    topology: Chunk,
    frame: Chunk,
    yarns: Option<Chunk>,
    /// Where the frame begins: the end of the one before.
    start: u64,
}

/// What a quick look through a file found: heads of chunks, no payloads.
pub(super) struct Scan {
    pub header: CacheHeader,
    pub entries: Vec<FrameEntry>,
    bodies: Option<Chunk>,
    /// End of the header, and of the surfaces of bodies.
    header_end: u64,
}

impl Scan {
    /// Looks through the first `limit` bytes.
    pub fn read(file: &mut Store, path: &Path, limit: u64) -> Result<Scan> {
        let failed = |source| CacheError::io(path, "read it")(source);
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let (header, header_end) = CacheHeader::read(file, path)?;
        let mut scan = Scan { header, entries: Vec::new(), bodies: None, header_end };
        let (mut at, mut topology, mut changed, mut yarns) = (header_end, None, false, None);
        while let Some(chunk) = chunk::at(file, at, limit).map_err(failed)? {
            at = chunk.end();
            match (chunk.kind, topology) {
                (BODY, None) => (scan.bodies, scan.header_end) = (Some(chunk), at),
                (TOPO, _) => (topology, changed) = (Some(chunk), true),
                (YARN, _) => yarns = Some(chunk),
                (FRAM, Some(topology)) if chunk.length >= FRAME_FIXED as u64 => {
                    file.seek(SeekFrom::Start(chunk.start + HEAD as u64)).map_err(failed)?;
                    let FrameStart { index, time, node_count, .. } = FrameStart::read(file).map_err(failed)?;
                    scan.entries.push(FrameEntry {
                        index,
                        time,
                        node_count,
                        topology_changed: std::mem::take(&mut changed),
                        topology,
                        frame: chunk,
                        yarns: yarns.take(),
                        start: scan.end(),
                    });
                }
                (FRAM, _) => break,
                _ => {}
            }
        }
        scan.drop_unsound_tail(file).map_err(failed)?;
        Ok(scan)
    }

    /// Where the last whole frame ends.
    pub fn end(&self) -> u64 {
        self.entries.last().map_or(self.header_end, |entry| entry.frame.end())
    }

    /// After a power cut the last frames may have their length but not their bytes.
    fn drop_unsound_tail(&mut self, file: &mut Store) -> std::io::Result<()> {
        while let Some(last) = self.entries.last() {
            let topology_sound = last.topology.start < last.start || last.topology.payload(file)?.is_some();
            let yarns_sound = last.yarns.is_none_or(|yarns| matches!(yarns.payload(file), Ok(Some(_))));
            if topology_sound && yarns_sound && last.frame.payload(file)?.is_some() {
                break;
            }
            self.entries.pop();
        }
        Ok(())
    }
}

/// Reads a cache.
#[derive(Debug)]
pub struct CacheReader {
    path: PathBuf,
    file: Store,
    header: CacheHeader,
    entries: Vec<FrameEntry>,
    left_over: u64,
    bodies: Option<Chunk>,
    /// The topology read last and where it begins in the file.
    topology: Option<(u64, Arc<Topology>)>,
}

impl CacheReader {
    /// Opens a cache and finds its whole frames. A file that was cut short opens too: see
    /// [`left_over`](CacheReader::left_over).
    pub fn open(path: impl AsRef<Path>) -> Result<CacheReader> {
        let path = path.as_ref();
        let file = File::open(path).map_err(CacheError::io(path, "open it"))?;
        Self::over(Store::File(file), path)
    }

    pub(super) fn over(mut file: Store, path: &Path) -> Result<CacheReader> {
        let length = file.seek(SeekFrom::End(0)).map_err(CacheError::io(path, "read it"))?;
        let scan = Scan::read(&mut file, path, length)?;
        let left_over = length - scan.end();
        let Scan { header, entries, bodies, .. } = scan;
        Ok(CacheReader { path: path.to_path_buf(), file, header, entries, left_over, bodies, topology: None })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the cache says about the whole run.
    pub fn header(&self) -> &CacheHeader {
        &self.header
    }

    /// Number of whole frames.
    pub fn frame_count(&self) -> usize {
        self.entries.len()
    }

    /// What is known of every whole frame without reading it.
    pub fn entries(&self) -> &[FrameEntry] {
        &self.entries
    }

    /// Bytes after the last whole frame: 0 unless the run was killed or the disk was full.
    pub fn left_over(&self) -> u64 {
        self.left_over
    }

    /// An error if the file was cut short.
    pub fn whole(&self) -> Result<()> {
        if self.left_over == 0 { Ok(()) } else { Err(self.truncated()) }
    }

    /// Reads the frame at a place in the file, counted from 0 (not the frame's number).
    pub fn frame(&mut self, record: usize) -> Result<Frame> {
        let topology = self.topology(record)?;
        let entry = self.entry(record)?;
        let payload = self.payload(record, entry.frame)?;
        if entry.node_count as usize != topology.node_count() {
            let what = format!("it has {} nodes, its topology {}", entry.node_count, topology.node_count());
            return Err(self.damaged(record, what));
        }
        let yarns = match entry.yarns {
            None => None,
            Some(chunk) => {
                let payload = self.payload(record, chunk)?;
                let yarns = codec::get_yarns(&payload);
                Some(yarns.ok_or_else(|| self.damaged(record, "its yarns don't add up".into()))?)
            }
        };
        let frame = codec::get_frame(&payload, topology);
        let frame = frame.ok_or_else(|| self.damaged(record, "its tables don't add up".into()))?;
        Ok(Frame { yarns, ..frame })
    }

    /// Reads the topology of the frame at a place in the file. Frames between two changes share it.
    pub fn topology(&mut self, record: usize) -> Result<Arc<Topology>> {
        let entry = self.entry(record)?;
        if let Some((start, topology)) = &self.topology
            && *start == entry.topology.start
        {
            return Ok(topology.clone());
        }
        let payload = self.payload(record, entry.topology)?;
        let topology = codec::get_topology(&payload)
            .ok_or_else(|| self.damaged(record, "its topology's tables don't add up".into()))?;
        topology.check().map_err(|fault| self.faulty(entry.index, fault))?;
        let topology = Arc::new(topology);
        self.topology = Some((entry.topology.start, topology.clone()));
        Ok(topology)
    }

    /// Reads the surfaces of all rigid bodies, in the order of their poses in frames.
    pub fn bodies(&mut self) -> Result<Vec<BodySurface>> {
        let Some(chunk) = self.bodies else { return Ok(Vec::new()) };
        let payload = self.payload(0, chunk)?;
        codec::get_bodies(&payload).ok_or_else(|| self.damaged(0, "the surfaces of its bodies don't add up".into()))
    }

    /// All whole frames in order, one in memory at a time.
    pub fn frames(&mut self) -> Frames<'_> {
        Frames { reader: self, next: 0 }
    }

    fn entry(&self, record: usize) -> Result<FrameEntry> {
        self.entries.get(record).copied().ok_or_else(|| {
            if self.left_over > 0 {
                return self.truncated();
            }
            CacheError::NoSuchFrame { path: self.path.clone(), record, count: self.frame_count() }
        })
    }

    fn payload(&mut self, record: usize, chunk: Chunk) -> Result<Vec<u8>> {
        let read = chunk.payload(&mut self.file).map_err(CacheError::io(&self.path, "read it"))?;
        read.ok_or_else(|| self.damaged(record, "its check sum is wrong".into()))
    }

    fn truncated(&self) -> CacheError {
        CacheError::Truncated { path: self.path.clone(), record: self.frame_count(), left_over: self.left_over }
    }

    fn damaged(&self, record: usize, what: String) -> CacheError {
        CacheError::Damaged { path: self.path.clone(), record, what }
    }

    fn faulty(&self, index: u32, fault: super::FrameFault) -> CacheError {
        CacheError::Frame { path: self.path.clone(), index, fault }
    }
}

/// The frames of a cache in order.
#[derive(Debug)]
pub struct Frames<'a> {
    reader: &'a mut CacheReader,
    next: usize,
}

impl Iterator for Frames<'_> {
    type Item = Result<Frame>;

    fn next(&mut self) -> Option<Result<Frame>> {
        let record = self.next;
        self.next += 1;
        (record < self.reader.frame_count()).then(|| self.reader.frame(record))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::super::sample;
    use super::*;

    #[test]
    fn what_was_written_is_read_in_any_order() {
        let (folder, path) = sample::place();
        for seed in 0..20 {
            let frames = sample::frames(seed, 12);
            sample::write(&path, &frames);
            let mut reader = CacheReader::open(&path).unwrap();
            assert_eq!(reader.header(), &sample::header());
            assert_eq!((reader.frame_count(), reader.left_over()), (frames.len(), 0));
            for record in (0..frames.len()).rev().chain([3, 0, 7]) {
                assert_eq!(reader.frame(record).unwrap(), frames[record]);
            }
            let streamed: Vec<Frame> = reader.frames().map(|frame| frame.unwrap()).collect();
            assert_eq!(streamed, frames);
            for (k, pair) in streamed.windows(2).enumerate() {
                let shared = Arc::ptr_eq(&pair[0].topology, &pair[1].topology);
                assert_eq!(shared, !reader.entries()[k + 1].topology_changed);
                assert_eq!(shared, pair[0].topology == pair[1].topology);
            }
        }
        drop(folder);
    }

    #[test]
    fn a_file_cut_at_any_byte_keeps_its_whole_frames() {
        let (_folder, path) = sample::place();
        let frames = sample::frames(5, 6);
        let ends = sample::write(&path, &frames);
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        for length in (0..=ends[frames.len()]).rev() {
            file.set_len(length).unwrap();
            let whole = ends.iter().filter(|&&end| end <= length).count();
            match CacheReader::open(&path) {
                Ok(mut reader) => {
                    let (last, count) = (ends[whole - 1], whole - 1);
                    assert_eq!((reader.frame_count(), reader.left_over()), (count, length - last), "cut at {length}");
                    assert_eq!(reader.frames().map(|frame| frame.unwrap()).collect::<Vec<_>>(), frames[..count]);
                    assert_eq!(reader.whole().is_err(), length != last);
                }
                Err(error) => {
                    assert!(whole == 0 && matches!(error, CacheError::NoHeader { .. }), "cut at {length}: {error}")
                }
            }
        }
    }

    #[test]
    fn no_flipped_byte_is_taken_for_the_truth() {
        let (_folder, path) = sample::place();
        let frames = sample::frames(6, 4);
        let ends = sample::write(&path, &frames);
        let bytes = fs::read(&path).unwrap();
        let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        let mut set = |place: usize, byte: u8| {
            file.seek(SeekFrom::Start(place as u64)).unwrap();
            file.write_all(&[byte]).unwrap();
        };
        for place in ends[0] as usize..bytes.len() {
            set(place, bytes[place] ^ 0x41);
            let mut reader = CacheReader::open(&path).unwrap();
            let mut lost = reader.left_over() > 0;
            for (record, frame) in frames.iter().enumerate().take(reader.frame_count()) {
                match reader.frame(record) {
                    Ok(read) => assert_eq!(&read, frame, "byte {place}"),
                    Err(_) => lost = true,
                }
            }
            assert!(lost, "byte {place} was flipped and nobody noticed");
            set(place, bytes[place]);
        }
    }

    #[test]
    fn surfaces_of_bodies_are_read_or_refused() {
        let (_folder, path) = sample::place();
        let frames = sample::frames(8, 3);
        let ends = sample::write_with(&path, &sample::bodies(), &frames);
        let bytes = fs::read(&path).unwrap();
        let mut reader = CacheReader::open(&path).unwrap();
        assert_eq!(reader.bodies().unwrap(), sample::bodies());
        assert_eq!(reader.frames().map(|frame| frame.unwrap()).collect::<Vec<_>>(), frames);
        let head = sample::header().encode().len();
        for place in head..ends[0] as usize {
            let mut flipped = bytes.clone();
            flipped[place] ^= 0x41;
            fs::write(&path, flipped).unwrap();
            let bodies = CacheReader::open(&path).and_then(|mut reader| reader.bodies());
            assert!(bodies.is_err() || bodies.is_ok_and(|b| b.is_empty()), "byte {place}");
        }
        sample::write(&path, &frames);
        assert_eq!(CacheReader::open(&path).unwrap().bodies().unwrap(), []);
    }

    #[test]
    fn the_errors_say_place_cause_and_remedy() {
        let (folder, path) = sample::place();
        let text = |path: &Path| {
            let error = CacheReader::open(path).unwrap_err().to_string();
            error.replace(&folder.path().display().to_string(), "out")
        };
        assert_eq!(
            text(&path),
            "out/frames.bin: cannot open it: No such file or directory (os error 2)\n       check the path"
        );
        fs::write(&path, b"PK\x03\x04 something else").unwrap();
        assert_eq!(
            text(&path),
            "out/frames.bin: not a ripstop cache\n       give a frames.bin written by `ripstop run`"
        );
        let mut newer = sample::header().encode();
        newer[8] = 9;
        fs::write(&path, newer).unwrap();
        assert_eq!(
            text(&path),
            "out/frames.bin: made by a newer version of ripstop (cache format 9, this program reads up to 1)\n       \
             use that version, or run the scene again with this one"
        );
        fs::write(&path, []).unwrap();
        assert_eq!(
            text(&path),
            "out/frames.bin: ends inside its header, before the first frame\n       run the scene again"
        );
        sample::write(&path, &sample::frames(1, 3));
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        let error = CacheReader::open(&path).unwrap().whole().unwrap_err().to_string();
        assert!(error.contains("truncated in frame record 2"), "{error}");
        assert!(error.contains("the 2 frames before it stay readable"), "{error}");
    }

    #[test]
    fn a_face_that_names_no_node_is_refused_even_with_a_right_check_sum() {
        let (_folder, path) = sample::place();
        let mut bytes = sample::header().encode();
        let mut frame = sample::frames(2, 1).remove(0);
        let mut topology = (*frame.topology).clone();
        topology.faces[1][2] = 77;
        frame.topology = Arc::new(topology);
        let mut buffer = Vec::new();
        chunk::open(&mut buffer, TOPO);
        codec::put_topology(&mut buffer, &frame.topology);
        chunk::close(&mut buffer);
        bytes.append(&mut buffer);
        chunk::open(&mut buffer, FRAM);
        codec::put_frame(&mut buffer, &frame);
        chunk::close(&mut buffer);
        bytes.append(&mut buffer);
        fs::write(&path, bytes).unwrap();
        let error = CacheReader::open(&path).unwrap().frame(0).unwrap_err().to_string();
        assert!(error.contains("face 1 names node 77, but there are only"), "{error}");
    }
}
