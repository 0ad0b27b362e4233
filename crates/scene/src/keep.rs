//! What a run's folder keeps of its scene, so that pictures can be drawn from it without the original: the text as
//! `scene.toml`, and the picture on the cloth as `texture.` with the ending it had.

use crate::error::SceneError;
use crate::file::Scene;
use crate::source::Source;
use crate::whole::write_whole;
use std::path::{Path, PathBuf};

/// Name of the scene's copy in a run's folder.
pub const SCENE_FILE: &str = "scene.toml";

/// The files of a scene, read before the run begins: one that is missing is found before anything is simulated.
pub(crate) struct Kept {
    text: String,
    texture: Option<(PathBuf, Vec<u8>)>,
}

impl Kept {
    pub fn read(source: &Source, scene: &Scene) -> Result<Self, SceneError> {
        let texture = scene.look.texture.as_deref().map(|file| {
            let from = source.beside(file);
            let bytes = crate::inline::read(&from).map_err(|e| {
                let cause = format!("texture {}: {e}", crate::inline::shown(&from));
                source.fault(&["look", "texture"], cause, "paths are relative to the scene's folder")
            })?;
            Ok((texture_file(file), bytes))
        });
        Ok(Self { texture: texture.transpose()?, text: source.text.clone() })
    }

    /// Writes them; on an error returns the file it is about.
    pub fn write(&self, folder: &Path) -> Result<(), (PathBuf, std::io::Error)> {
        let write = |name: &Path, bytes: &[u8]| {
            let path = folder.join(name);
            write_whole(&path, bytes).map_err(|e| (path, e))
        };
        if let Some((name, bytes)) = &self.texture {
            write(name, bytes)?;
        }
        write(Path::new(SCENE_FILE), self.text.as_bytes())
    }
}

/// Name of the texture's copy in a run's folder, from the name in the scene.
pub fn texture_file(file: &str) -> PathBuf {
    let ending = Path::new(file).extension().and_then(|e| e.to_str()).unwrap_or("png");
    PathBuf::from(format!("texture.{}", ending.to_ascii_lowercase()))
}

/// Names of pictures and pages made from a run, as they lie in its folder.
pub(crate) fn made_from(folder: &Path) -> Vec<String> {
    let still = |name: &String| name.starts_with("still-") && name.ends_with(".png");
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let stills = names.filter_map(|entry| entry.file_name().into_string().ok()).filter(still);
    ["preview.mp4", "report.html"].map(String::from).into_iter().chain(stills).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_texture_keeps_its_ending() {
        assert_eq!(texture_file("pictures/Silk.JPG"), Path::new("texture.jpg"));
        assert_eq!(texture_file("silk"), Path::new("texture.png"));
    }

    #[test]
    fn only_pictures_of_a_run_are_its_pictures() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["still-0003.png", "still life.txt", "mine.png"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(made_from(folder.path()), ["preview.mp4", "report.html", "still-0003.png"]);
    }
}
