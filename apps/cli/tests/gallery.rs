//! Every scene of the gallery runs and keeps its promises. One test per group, so that they run side by side.

use std::path::{Path, PathBuf};
use std::process::Command;

fn scenes(group: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes").join(group);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<_> =
        entries.map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "toml")).collect();
    files.sort();
    files
}

/// Runs all scenes of a folder with one thread each, without pictures, and demands exit code 0.
fn keeps_its_promises(group: &str) {
    let files = scenes(group);
    assert!(!files.is_empty(), "{group} has scenes");
    for file in files {
        let folder = tempfile::tempdir().unwrap();
        let run = Command::new(env!("CARGO_BIN_EXE_ripstop"))
            .args(["run", "--threads", "1", "--format", "none", "--no-film", "-o"])
            .arg(folder.path().join("out"))
            .arg(&file)
            .output()
            .unwrap();
        let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
        println!("{out}{err}");
        assert!(run.status.success(), "{}: {}\n{out}{err}", file.display(), run.status);
        if group == "contact" {
            nothing_crosses(&folder.path().join("out"));
        }
    }
}

/// `ripstop verify` finds nothing in a run, or in any of its variants.
fn nothing_crosses(folder: &Path) {
    let variants: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    let runs = variants.iter().filter(|p| p.join("frames.bin").exists()).map(PathBuf::as_path);
    let runs: Vec<&Path> = if folder.join("frames.bin").exists() { vec![folder] } else { runs.collect() };
    assert!(!runs.is_empty(), "{} has a run", folder.display());
    for run in runs {
        let verify = Command::new(env!("CARGO_BIN_EXE_ripstop")).arg("verify").arg(run).output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&verify.stdout), String::from_utf8_lossy(&verify.stderr));
        assert!(verify.status.success(), "{}\n{out}{err}", run.display());
    }
}

#[test]
fn quickstart() {
    keeps_its_promises("");
}

#[test]
fn phillips() {
    keeps_its_promises("phillips");
}

#[test]
fn onal() {
    keeps_its_promises("onal");
}

#[test]
fn bartels() {
    keeps_its_promises("bartels");
}

#[test]
fn metaaphanon() {
    keeps_its_promises("metaaphanon");
}

#[test]
fn karaoz() {
    keeps_its_promises("karaoz");
}

#[test]
fn direction() {
    keeps_its_promises("direction");
}

#[test]
fn contact() {
    keeps_its_promises("contact");
}

#[test]
fn standards() {
    keeps_its_promises("standards");
}

#[test]
fn play() {
    keeps_its_promises("play");
}
