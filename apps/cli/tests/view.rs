//! The page's server, asked over a socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

struct Viewer(Child, String);

impl Drop for Viewer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn page_is_built() -> bool {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../web/dist/index.html").exists()
}

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ripstop"));
    command.args(["view", "--no-open"]).args(words).current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    command
}

fn start(words: &[&str]) -> Viewer {
    let mut child = command(words).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_default().to_string();
    Viewer(child, address)
}

fn get(viewer: &Viewer, path: &str) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(&viewer.1).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", viewer.1).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let end = bytes.windows(4).position(|end| end == b"\r\n\r\n").unwrap();
    (String::from_utf8_lossy(&bytes[..end]).into_owned(), bytes.split_off(end + 4))
}

#[test]
fn the_page_comes_with_its_engine_its_policy_and_the_scene() {
    if !page_is_built() {
        let output = command(&[]).output().unwrap();
        let says = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && says.contains("tools/page"), "{says}");
        return;
    }
    let viewer = start(&["scenes/karaoz/stab.toml"]);
    assert!(viewer.1.starts_with("127.0.0.1:"), "{}", viewer.1);
    let (head, body) = get(&viewer, "/");
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("Content-Security-Policy: default-src 'self'"), "{head}");
    assert!(String::from_utf8_lossy(&body).contains("<canvas"));
    let (head, body) = get(&viewer, "/ripstop.wasm");
    assert!(head.contains("application/wasm") && body.starts_with(b"\0asm"));
    let (_, body) = get(&viewer, "/scene.json");
    let scene: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(scene["name"], "stab.toml");
    assert!(!scene["files"].as_array().unwrap().is_empty(), "the blade comes with it");
    for path in ["/../Cargo.toml", "/..%2f..%2fCargo.toml", "/scenes/../../Cargo.toml", "//etc/passwd"] {
        assert!(get(&viewer, path).0.starts_with("HTTP/1.1 404"), "{path}");
    }
    // Nonsense ends nothing.
    let mut stream = TcpStream::connect(&viewer.1).unwrap();
    stream.write_all(&[0xff; 20_000]).ok();
    drop(stream);
    assert!(get(&viewer, "/").0.starts_with("HTTP/1.1 200"));
}

#[test]
fn a_scene_that_is_wrong_is_an_error_before_anything_is_served() {
    let output = command(&["scenes/nothing-here.toml"]).output().unwrap();
    let says = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{says}");
    assert!(says.contains(if page_is_built() { "nothing-here.toml" } else { "tools/page" }), "{says}");
}
