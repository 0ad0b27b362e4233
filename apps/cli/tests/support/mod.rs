//! A folder of its own for each test, in which the program runs, so that every path it prints is relative.
#![allow(dead_code)] // Every test file uses its own part of this.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A small scene without faults; tests change one thing in it.
pub const STRIP: &str = r#"title = "A strip pulled at both ends"

[time]
duration = 0.2
step = 1e-3

[cloth.grid]
size = [1.0, 0.5]
nodes = [9, 5]

[fabric]
density = 0.2

[[grip]]
name = "held"
where = { side = "left" }

[[grip]]
name = "pulled"
where = { side = "right" }
keys = [
  { t = 0.0 },
  { t = 0.2, move = [0.1, 0, 0] },
]

[tear]
opening = "snap"

[tear.criterion.separation_tensor]
strength = 0.3
"#;

/// `text` with one thing changed, which must be there.
pub fn change(text: &str, from: &str, to: &str) -> String {
    assert_eq!(text.matches(from).count(), 1, "`{from}` must be in the scene once");
    text.replace(from, to)
}

/// [`STRIP`] with one thing changed.
pub fn strip(from: &str, to: &str) -> String {
    change(STRIP, from, to)
}

pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    pub fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// Names of the files in a folder, in order.
    pub fn files(&self, name: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(name)).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub fn command(&self, args: &[&str]) -> Command {
        self.in_here(env!("CARGO_BIN_EXE_ripstop"), args)
    }

    /// The program through a shell that runs `before` first.
    pub fn shell(&self, before: &str, args: &[&str]) -> Command {
        let script = format!("{before}; exec {} \"$@\"", env!("CARGO_BIN_EXE_ripstop"));
        self.in_here("sh", &[&["-c", &script, "sh"], args].concat())
    }

    fn in_here(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.0.path());
        // Pictures have their own tests; here they would only take time.
        if args.contains(&"run") && args.iter().any(|a| a.ends_with(".toml")) {
            command.arg("--no-film");
        }
        // Terminals and habits of the caller must not show in the texts.
        command.env_remove("RUST_BACKTRACE").env_remove("RAYON_NUM_THREADS").env("COLUMNS", "100");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs and must end well.
    pub fn succeed(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?} failed:\n{}{}", stdout(&output), stderr(&output));
        stdout(&output)
    }

    pub fn summary(&self, folder: &str) -> serde_json::Value {
        serde_json::from_str(&self.text(&format!("{folder}/summary.json"))).unwrap()
    }
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The text with every number replaced by `#`, for those that follow from the engine and may change with it.
pub fn without_numbers(text: &str) -> String {
    let digit = |c: char| c.is_ascii_digit();
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(digit) {
        let tail = &rest[at..];
        let end = tail.find(|c: char| !digit(c) && c != '.').unwrap_or(tail.len());
        // An exponent belongs to its number.
        let power = tail[end..].strip_prefix("e-").map_or(0, |p| 2 + p.find(|c| !digit(c)).unwrap_or(p.len()));
        out += &rest[..at];
        out.push('#');
        rest = &tail[end + power..];
    }
    out + rest
}

/// Every file below a folder.
pub fn all_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(all_files(&path)) } else { found.push(path) }
    }
    found
}
