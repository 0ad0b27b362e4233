//! Puts the page into the program, if `tools/page` has built it.

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// All files below a folder, in order.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

fn main() {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../web/dist");
    println!("cargo::rerun-if-changed={}", dist.display());
    let mut found = Vec::new();
    files(&dist, &mut found);
    let mut list = String::from("&[\n");
    for path in &found {
        let name = path.strip_prefix(&dist).expect("below it").to_string_lossy().replace('\\', "/");
        if !name.starts_with('.') {
            writeln!(list, "    ({name:?}, include_bytes!({:?}) as &[u8]),", path.display().to_string())
                .expect("a string");
        }
    }
    list.push_str("]\n");
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&out).join("page.rs"), list).expect("the build's own folder can be written to");
}
