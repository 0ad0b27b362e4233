//! Every scene of the gallery can be read and built, and has a title that fits on a line.

use ripstop_scene::variant::Parts;
use std::path::{Path, PathBuf};

fn scenes(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(scenes(&path));
        } else if path.extension().is_some_and(|e| e == "toml") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn every_scene_can_be_built_and_has_a_title() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes");
    let all = scenes(&folder);
    assert!(!all.is_empty(), "no scenes in {}", folder.display());
    let mut titles = std::collections::HashMap::new();
    for path in all {
        let parts = Parts::read(&path).unwrap_or_else(|e| panic!("{e}")).parts;
        let mut built = parts.iter().map(|part| part.build().unwrap_or_else(|e| panic!("{e}")));
        let (scene, first) = built.next().unwrap();
        assert!(built.all(|(_, built)| built.frame_count > 0));
        let title = scene.title.trim().to_string();
        assert!(!title.is_empty() && title.chars().count() < 80, "{}: title `{title}`", path.display());
        assert!(first.engine.counts().faces > 0);
        if let Some(other) = titles.insert(title, path.clone()) {
            panic!("{} and {} have the same title", path.display(), other.display());
        }
    }
}
