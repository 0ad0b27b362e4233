//! The map stays true: folders, files and stages that docs/ARCHITECTURE.md names exist, no crate uses what its row doesn't
//! allow, and every dependency has its reason in docs/DEPENDENCIES.md.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Everything between single backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Rows of the table of rooms: crate, folder, what it may use.
fn rooms(map: &str) -> Vec<(String, String, BTreeSet<String>)> {
    let rows = map.lines().filter(|l| l.starts_with("| `ripstop"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').collect();
        let name: Vec<&str> = quoted(cells[1]).collect();
        (name[0].into(), name[1].into(), quoted(cells[3]).map(String::from).collect())
    })
    .collect()
}

/// Names in a `[dependencies]` table, without those for tests.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let after = manifest.split_once("[dependencies]").expect("every crate has dependencies").1;
    let table = after.split("\n[").next().unwrap_or(after);
    let key = |line: &str| {
        let name: String = line.chars().take_while(|c| c.is_alphanumeric() || "-_".contains(*c)).collect();
        (!name.is_empty() && line.contains('=')).then_some(name)
    };
    table.lines().filter_map(key).collect()
}

#[test]
fn named_paths_exist() {
    let map = text("docs/ARCHITECTURE.md");
    let paths =
        quoted(&map).filter(|w| ["crates/", "apps/", "docs/", "scenes/", "fabrics/"].iter().any(|p| w.starts_with(p)));
    let paths: BTreeSet<&str> = paths.collect();
    assert!(paths.len() > 20, "the map names its rooms");
    for path in paths {
        assert!(root().join(path).exists(), "docs/ARCHITECTURE.md names {path}, which is not there");
    }
}

#[test]
fn stages_are_those_of_the_code() {
    let map = text("docs/ARCHITECTURE.md");
    let line = map.lines().find(|l| l.starts_with("1 `")).expect("the line of stages");
    let named: Vec<&str> = quoted(line).collect();
    let stages: Vec<&str> = ripstop::Stage::ALL.iter().map(|s| s.name()).collect();
    assert_eq!(named, stages);
}

#[test]
fn no_crate_uses_what_its_row_does_not_allow() {
    let rooms = rooms(&text("docs/ARCHITECTURE.md"));
    assert!(rooms.len() >= 5, "a row for every crate");
    let members = ["crates", "apps", ""].iter().flat_map(|d| std::fs::read_dir(root().join(d)).unwrap());
    for member in members.map(|m| m.unwrap().path()).filter(|m| m.join("Cargo.toml").exists()) {
        let folder = member.strip_prefix(root()).unwrap().display().to_string();
        let (name, _, allowed) = rooms.iter().find(|r| r.1 == folder).unwrap_or_else(|| panic!("no row for {folder}"));
        let used = dependencies(&text(&format!("{folder}/Cargo.toml")));
        let strange: Vec<_> = used.difference(allowed).collect();
        assert!(strange.is_empty(), "{name} uses {strange:?}, which docs/ARCHITECTURE.md does not allow");
    }
}

#[test]
fn every_dependency_has_its_reason() {
    let reasons = text("docs/DEPENDENCIES.md");
    let named: BTreeSet<&str> = quoted(&reasons).collect();
    for (_, folder, _) in rooms(&text("docs/ARCHITECTURE.md")) {
        for used in dependencies(&text(&format!("{folder}/Cargo.toml"))) {
            assert!(
                used.starts_with("ripstop") || named.contains(used.as_str()),
                "{used} has no line in docs/DEPENDENCIES.md"
            );
        }
    }
}
