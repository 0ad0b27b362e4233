//! Files that a scene names, or carries itself as `data:…;base64,…` in the place of a name.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::io;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// How the text of a file inside a scene begins.
const DATA: &str = "data:";
/// What stands before the bytes.
const BASE64: &str = ";base64,";

/// The bytes inside a name, if it carries them.
fn carried(name: &str) -> Option<io::Result<Vec<u8>>> {
    let (_, text) = name.strip_prefix(DATA)?.split_once(BASE64)?;
    Some(STANDARD.decode(text.trim()).map_err(io::Error::other))
}

/// True if a name carries the file itself.
pub(crate) fn is_inside(name: &str) -> bool {
    name.starts_with(DATA) && name.contains(BASE64)
}

/// Reads a file, or what its name carries.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    path.to_str().and_then(carried).unwrap_or_else(|| std::fs::read(path))
}

/// A file's name in errors.
pub fn shown(path: &Path) -> String {
    if path.to_str().is_some_and(is_inside) { "the file in the scene".into() } else { path.display().to_string() }
}

/// Bytes from base64; nothing if it is none.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text.trim()).ok()
}

/// Bytes as what may stand for a file's name; `kind` is a media type such as `image/png`.
pub fn name_of(kind: &str, bytes: &[u8]) -> String {
    format!("{DATA}{kind}{BASE64}{}", STANDARD.encode(bytes))
}

/// The media type of a file by the ending of its name.
fn kind_of(name: &str) -> &'static str {
    match Path::new(name).extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).as_deref() {
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("json") => "application/json",
        Some("obj") => "model/obj",
        _ => "text/plain",
    }
}

/// Puts files into a scene where it names them, so that it needs none beside it. `find` has the bytes of a file by the name that stands in the scene. Returns how many
/// there are.
pub fn carry(scene: &mut Table, find: &dyn Fn(&str) -> Option<Vec<u8>>) -> usize {
    let mut count = 0;
    let mut put = |place: Option<&mut Value>| {
        if let Some(Value::String(name)) = place
            && let Some(bytes) = find(name)
        {
            *name = name_of(kind_of(name), &bytes);
            count += 1;
        }
    };
    for path in [&["cloth", "obj", "file"][..], &["fabric", "file"], &["tear", "map", "image"], &["look", "texture"]] {
        put(value(scene, path));
    }
    for body in scene.get_mut("body").and_then(Value::as_array_mut).into_iter().flatten() {
        put(body.as_table_mut().and_then(|body| value(body, &["shape", "mesh", "file"])));
    }
    count
}

fn value<'a>(table: &'a mut Table, path: &[&str]) -> Option<&'a mut Value> {
    let (last, tables) = path.split_last()?;
    tables.iter().try_fold(table, |table, key| table.get_mut(*key)?.as_table_mut())?.get_mut(*last)
}

/// The path of a file that a scene in `folder` names; a name that carries the file is its own.
pub(crate) fn beside(folder: &Path, name: &str) -> PathBuf {
    if is_inside(name) { PathBuf::from(name) } else { folder.join(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_carried_comes_back_and_bad_text_is_an_error() {
        let name = name_of("model/obj", b"v 0 0 0\n");
        assert_eq!(read(&beside(Path::new("some/folder"), &name)).unwrap(), b"v 0 0 0\n");
        assert_eq!(shown(Path::new(&name)), "the file in the scene");
        assert!(read(Path::new("data:text/plain;base64,@@@")).is_err());
        assert_eq!(beside(Path::new("a"), "b.obj"), Path::new("a/b.obj"));
    }

    #[test]
    fn every_file_of_a_scene_is_carried() {
        let mut scene: Table = r#"
            cloth = { obj = { file = "cloth.obj" } }
            fabric = { file = "f.json" }
            look = { texture = "missing.png" }
            body = [{ shape = "plane" }, { shape = { mesh = { file = "body.obj" } } }]
        "#
        .parse()
        .unwrap();
        carry(&mut scene, &|name| (name != "missing.png").then(|| name.as_bytes().to_vec()));
        let text = scene.to_string();
        assert_eq!(text.matches("base64").count(), 3, "{text}");
        assert!(text.contains("missing.png") && text.contains("application/json"));
    }
}
