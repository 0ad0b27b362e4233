//! Writing a cache: append frames, note the place for a checkpoint, go on after a stop.

use std::fs::{File, OpenOptions};
use std::io::{self, Cursor, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::chunk::{self, BODY, FRAM, TOPO, YARN};
use super::codec::{self, CacheHeader};
use super::frame::{BodySurface, Frame, FrameFault, Topology};
use super::reader::{CacheReader, Scan};
use super::store::Store;
use super::{CacheError, Result};

/// Writes a cache, frame by frame.
///
/// Every [`append`](CacheWriter::append) hands the whole frame to the operating system, so a killed process loses no
/// frame it had appended.
#[derive(Debug)]
pub struct CacheWriter {
    path: PathBuf,
    file: Store,
    header: CacheHeader,
    position: u64,
    frame_count: usize,
    /// Number of the last frame and its topology.
    last: Option<(u32, Arc<Topology>)>,
    /// One chunk, kept to spare allocations.
    buffer: Vec<u8>,
}

impl CacheWriter {
    /// Starts a new cache, replacing one that is there.
    pub fn create(path: impl AsRef<Path>, header: CacheHeader) -> Result<CacheWriter> {
        Self::create_with(path, header, &[])
    }

    /// Starts a new cache of cloth with rigid bodies, replacing one that is there.
    pub fn create_with(path: impl AsRef<Path>, header: CacheHeader, bodies: &[BodySurface]) -> Result<CacheWriter> {
        let path = path.as_ref();
        let file = File::create(path).map_err(CacheError::io(path, "create it"))?;
        Self::over(Store::File(file), path, header, bodies)
    }

    /// Starts a cache in memory.
    pub fn in_memory(header: CacheHeader, bodies: &[BodySurface]) -> Result<CacheWriter> {
        Self::over(Store::Memory(Cursor::default()), Path::new("memory"), header, bodies)
    }

    /// Reads what was written so far.
    pub fn into_reader(self) -> Result<CacheReader> {
        CacheReader::over(self.file, &self.path)
    }

    fn over(mut file: Store, path: &Path, header: CacheHeader, bodies: &[BodySurface]) -> Result<CacheWriter> {
        for body in bodies {
            body.check().map_err(|fault| CacheError::Frame { path: path.to_path_buf(), index: 0, fault })?;
        }
        let mut opening = header.encode();
        if !bodies.is_empty() {
            let mut chunk = Vec::new();
            chunk::open(&mut chunk, BODY);
            codec::put_bodies(&mut chunk, bodies);
            chunk::close(&mut chunk);
            opening.append(&mut chunk);
        }
        file.write_all(&opening).map_err(CacheError::io(path, "write to it"))?;
        Ok(CacheWriter {
            path: path.to_path_buf(),
            file,
            header,
            position: opening.len() as u64,
            frame_count: 0,
            last: None,
            buffer: Vec::new(),
        })
    }

    /// Goes on with a cache from the [`position`](CacheWriter::position) a checkpoint has kept; what was written after
    /// it is cut off. The file will be the same, byte for byte, as that of a run that was never stopped.
    pub fn resume(path: impl AsRef<Path>, position: u64) -> Result<CacheWriter> {
        let path = path.as_ref();
        let failed = |source| CacheError::io(path, "go on with it")(source);
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
        let mut file = Store::File(file);
        let length = file.seek(SeekFrom::End(0)).map_err(failed)?;
        let scan = Scan::read(&mut file, path, length.min(position))?;
        if scan.end() != position {
            let end = CacheReader::open(path).map_or(scan.end(), |reader| length - reader.left_over());
            return Err(CacheError::NotAFrameEnd { path: path.to_path_buf(), position, end });
        }
        let frame_count = scan.entries.len();
        let last = match scan.entries.last() {
            None => None,
            Some(entry) => Some((entry.index, CacheReader::open(path)?.topology(frame_count - 1)?)),
        };
        file.set_len(position).map_err(failed)?;
        file.seek(SeekFrom::Start(position)).map_err(failed)?;
        let (path, header) = (path.to_path_buf(), scan.header);
        Ok(CacheWriter { path, file, header, position, frame_count, last, buffer: Vec::new() })
    }

    /// What the cache says about the whole run.
    pub fn header(&self) -> &CacheHeader {
        &self.header
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of frames in the file.
    pub fn frame_count(&self) -> usize {
        self.frame_count
    }

    /// Bytes up to the end of the last frame. To be kept in a checkpoint, after a [`flush`](CacheWriter::flush).
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Appends a frame. A frame that is refused or doesn't fit on the disk leaves the file as it was.
    pub fn append(&mut self, frame: &Frame) -> Result<()> {
        let before = self.last.as_ref();
        let changed = before.is_none_or(|(_, last)| !Arc::ptr_eq(last, &frame.topology) && *last != frame.topology);
        let order = match before {
            Some(&(before, _)) if before >= frame.index => Err(FrameFault::Order { before }),
            _ => Ok(()),
        };
        let topology = || if changed { frame.topology.check() } else { Ok(()) };
        order.and_then(|()| topology()).and_then(|()| frame.check()).map_err(|fault| CacheError::Frame {
            path: self.path.clone(),
            index: frame.index,
            fault,
        })?;

        match self.write(frame, changed) {
            Ok(bytes) => self.position += bytes,
            Err(source) => {
                // If even this fails, the reader still knows a frame that was cut short.
                let _ = self.file.set_len(self.position);
                let _ = self.file.seek(SeekFrom::Start(self.position));
                return Err(CacheError::io(&self.path, "write to it")(source));
            }
        }
        self.frame_count += 1;
        self.last = Some((frame.index, frame.topology.clone()));
        Ok(())
    }

    /// Makes sure that all frames are on the disk, not only with the operating system: a checkpoint must not know of
    /// frames that a power cut can take away.
    pub fn flush(&mut self) -> Result<()> {
        self.file.sync_data().map_err(CacheError::io(&self.path, "write to it"))
    }

    fn write(&mut self, frame: &Frame, topology_changed: bool) -> io::Result<u64> {
        let mut bytes = 0;
        if topology_changed {
            chunk::open(&mut self.buffer, TOPO);
            codec::put_topology(&mut self.buffer, &frame.topology);
            bytes += self.write_chunk()?;
        }
        if let Some(yarns) = &frame.yarns {
            chunk::open(&mut self.buffer, YARN);
            codec::put_yarns(&mut self.buffer, yarns);
            bytes += self.write_chunk()?;
        }
        chunk::open(&mut self.buffer, FRAM);
        codec::put_frame(&mut self.buffer, frame);
        bytes += self.write_chunk()?;
        Ok(bytes)
    }

    fn write_chunk(&mut self) -> io::Result<u64> {
        chunk::close(&mut self.buffer);
        self.file.write_all(&self.buffer)?;
        Ok(self.buffer.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::sample;
    use super::*;

    #[test]
    fn a_resumed_file_is_the_same_byte_for_byte() {
        let (_folder, path) = sample::place();
        let frames = sample::frames(3, 8);
        let ends = sample::write_with(&path, &sample::bodies(), &frames);
        let uninterrupted = fs::read(&path).unwrap();
        for (done, &end) in ends.iter().enumerate() {
            // Frames after the checkpoint and the half of one: what a killed run leaves.
            let killed_at = (end as usize + 1_000).min(uninterrupted.len());
            fs::write(&path, &uninterrupted[..killed_at]).unwrap();
            let mut writer = CacheWriter::resume(&path, end).unwrap();
            assert_eq!((writer.frame_count(), writer.position()), (done, end));
            assert_eq!(writer.header(), &sample::header());
            for frame in &frames[done..] {
                // A topology of the resumed run is equal to the one in the file, but not the same object.
                let topology = Arc::new((*frame.topology).clone());
                writer.append(&Frame { topology, ..frame.clone() }).unwrap();
            }
            assert!(fs::read(&path).unwrap() == uninterrupted, "resumed after {done} frames");
        }
    }

    #[test]
    fn resuming_where_no_frame_ends_changes_nothing() {
        let (_folder, path) = sample::place();
        let ends = sample::write(&path, &sample::frames(4, 3));
        let bytes = fs::read(&path).unwrap();
        for position in [0, ends[1] + 1, ends[3] + 50] {
            let error = CacheWriter::resume(&path, position).unwrap_err();
            assert!(matches!(error, CacheError::NotAFrameEnd { end, .. } if end == ends[3]), "{error}");
            assert!(fs::read(&path).unwrap() == bytes);
        }
    }

    #[test]
    fn a_bad_frame_is_refused_and_the_file_stays() {
        let (_folder, path) = sample::place();
        let frames = sample::frames(7, 2);
        sample::write(&path, &frames[..1]);
        let length = fs::metadata(&path).unwrap().len();
        let mut writer = CacheWriter::resume(&path, length).unwrap();
        let mut refused = |change: &dyn Fn(&mut Frame), cause: &str| {
            let mut frame = frames[1].clone();
            change(&mut frame);
            let error = writer.append(&frame).unwrap_err().to_string();
            assert!(error.contains(cause), "{error}");
            assert_eq!(fs::metadata(&path).unwrap().len(), length);
        };
        refused(&|f| f.points[4][1] = f32::NAN, "`points` of element 4 is not finite");
        refused(&|f| f.strain[2] = f32::INFINITY, "`strain` of element 2 is not finite");
        refused(&|f| f.velocities.truncate(3), "`velocities` has");
        refused(&|f| f.index = 0, "comes after frame 0; frame numbers must grow");
        refused(&|f| Arc::make_mut(&mut f.topology).parent[3] = 1_000, "the parent of node 3 names node 1000");
        refused(&|f| Arc::make_mut(&mut f.topology).torn.truncate(1), "`torn` has");
        writer.append(&frames[1]).unwrap();
        assert_eq!(CacheReader::open(&path).unwrap().frame(1).unwrap(), frames[1]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_an_error_with_advice() {
        let error = CacheWriter::create("/dev/full", sample::header()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "/dev/full: cannot write to it: No space left on device (os error 28)\n       \
             make room or choose another disk with `-o`; every frame that was finished stays readable"
        );
    }
}
