//! A folder of files, one per frame, that takes its place when all are written.

use std::fs;
use std::path::{Path, PathBuf};

use super::beside::{Beside, name_beside};
use super::{Progress, Result, failed, not_empty};
use crate::cache::{CacheReader, Frame};

/// Writes `cloth_NNNN.extension` for every frame with `write`; the number is the frame's.
///
/// The files are made in a folder beside. When all are there it is renamed; if the target exists, the frames of an
/// earlier export in it are replaced (all of them, so that no frame of a longer run stays), and other files are left alone.
pub(super) fn export(
    reader: &mut CacheReader,
    folder: &Path,
    extension: &str,
    progress: &mut dyn FnMut(Progress),
    mut write: impl FnMut(&Frame, &mut Beside) -> Result<()>,
) -> Result<()> {
    not_empty(reader)?;
    let scratch = Scratch::create(folder, extension)?;
    let total = reader.frame_count();
    for (done, frame) in reader.frames().enumerate() {
        progress(Progress { done, total });
        let frame = frame?;
        let mut file = Beside::create(&scratch.path.join(format!("cloth_{:04}.{extension}", frame.index)))?;
        write(&frame, &mut file)?;
        file.finish()?;
    }
    scratch.finish()?;
    progress(Progress { done: total, total });
    Ok(())
}

/// The folder beside. Goes away when dropped.
struct Scratch<'a> {
    target: &'a Path,
    path: PathBuf,
    extension: &'a str,
}

impl<'a> Scratch<'a> {
    fn create(target: &'a Path, extension: &'a str) -> Result<Scratch<'a>> {
        if target.exists() && !target.is_dir() {
            return Err(failed(target, "make a folder of it")(std::io::ErrorKind::NotADirectory.into()));
        }
        let scratch = Scratch { target, path: name_beside(target), extension };
        fs::create_dir_all(&scratch.path).map_err(failed(target, "create it"))?;
        // Left by an export that was killed.
        remove(&frames_in(&scratch.path, extension)?)?;
        Ok(scratch)
    }

    fn finish(self) -> Result<()> {
        if !self.target.exists() {
            return fs::rename(&self.path, self.target).map_err(failed(self.target, "put the finished folder there"));
        }
        remove(&frames_in(self.target, self.extension)?)?;
        for path in frames_in(&self.path, self.extension)? {
            let target = self.target.join(path.file_name().unwrap_or_default());
            fs::rename(&path, &target).map_err(failed(&target, "put the finished file there"))?;
        }
        Ok(())
    }
}

/// The frames in a folder: files named as this export names them.
fn frames_in(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let is_frame = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let name = name.strip_suffix(".tmp").unwrap_or(name);
        let number = name.strip_prefix("cloth_").and_then(|name| name.strip_suffix(extension)?.strip_suffix('.'));
        number.is_some_and(|number| number.len() >= 4 && number.bytes().all(|b| b.is_ascii_digit()))
    };
    let read = fs::read_dir(folder).and_then(|entries| {
        let paths: std::io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
        paths
    });
    Ok(read.map_err(failed(folder, "list it"))?.into_iter().filter(is_frame).collect())
}

/// Removes the frames of an earlier export, and their folder unless other files are in it.
pub(crate) fn forget(folder: &Path, extension: &str) -> Result<()> {
    if folder.is_dir() {
        remove(&frames_in(folder, extension)?)?;
        // Fails if something else is in it, which is then left alone.
        let _ = fs::remove_dir(folder);
    }
    Ok(())
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        // After a rename there is nothing to remove; after an error that error is the one to report.
        if let Ok(frames) = frames_in(&self.path, self.extension) {
            let _ = remove(&frames);
        }
        let _ = fs::remove_dir(&self.path);
    }
}

fn remove(files: &[PathBuf]) -> Result<()> {
    files.iter().try_for_each(|path| fs::remove_file(path).map_err(failed(path, "remove it")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::cache::sample;

    fn names(folder: &Path) -> BTreeSet<String> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_shorter_run_replaces_all_frames_of_a_longer_one_and_nothing_else() {
        let (folder, cache) = sample::place();
        let target = folder.path().join("obj");
        for (count, extra) in [(7, None), (3, Some("cloth_notes.obj"))] {
            sample::write(&cache, &sample::frames(1, count));
            if let Some(extra) = extra {
                fs::write(target.join(extra), "mine").unwrap();
            }
            let mut steps = Vec::new();
            let mut reader = CacheReader::open(&cache).unwrap();
            crate::export::obj(&mut reader, &target, &mut |p| steps.push((p.done, p.total))).unwrap();
            let total = count as usize;
            assert_eq!(steps, (0..=total).map(|done| (done, total)).collect::<Vec<_>>());
            let expected = (0..count).map(|k| format!("cloth_{k:04}.obj")).chain(extra.map(String::from)).collect();
            assert_eq!(names(&target), expected);
            assert_eq!(names(folder.path()), ["frames.bin", "obj"].map(String::from).into());
        }
    }

    #[test]
    fn a_damaged_frame_leaves_the_earlier_export() {
        let (folder, cache) = sample::place();
        let target = folder.path().join("ply");
        let ends = sample::write(&cache, &sample::frames(1, 4));
        let export = || crate::export::ply(&mut CacheReader::open(&cache).unwrap(), &target, &mut |_| {});
        export().unwrap();
        let before = names(&target);
        let mut bytes = fs::read(&cache).unwrap();
        bytes[ends[2] as usize - 5] ^= 1;
        fs::write(&cache, bytes).unwrap();
        let error = export().unwrap_err().to_string();
        assert!(error.contains("frame record 1 is damaged: its check sum is wrong"), "{error}");
        assert_eq!(names(&target), before);
        assert_eq!(names(folder.path()), ["frames.bin", "ply"].map(String::from).into());
    }
}
