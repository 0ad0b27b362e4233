//! A server of a few files to this machine alone: `GET` and `HEAD` of exact names, nothing else. No name leads to the disk.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Files by their names, without a slash before them.
pub type Files = BTreeMap<String, Cow<'static, [u8]>>;

/// Bytes of a request's head, and how long to wait for it.
const MOST_HEAD: usize = 8 << 10;
const PATIENCE: Duration = Duration::from_secs(10);
/// Requests at a time.
const MOST_AT_ONCE: usize = 64;

/// What the page may do: run its own files, WebAssembly and workers among them, and nothing of others.
const POLICY: &str = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; \
    img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; connect-src 'self' data: blob:; \
    object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A server that listens on 127.0.0.1.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    files: Arc<Files>,
}

/// What is answered.
struct Answer<'a> {
    status: &'static str,
    kind: &'static str,
    body: &'a [u8],
}

impl Server {
    /// Listens on a port of 127.0.0.1; on a free one if it is zero.
    pub fn bind(port: u16, files: Files) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, files: Arc::new(files) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until the program ends.
    pub fn run(&self) {
        let busy = Arc::new(AtomicUsize::new(0));
        for stream in self.listener.incoming().flatten() {
            if busy.load(Ordering::Relaxed) >= MOST_AT_ONCE {
                continue;
            }
            busy.fetch_add(1, Ordering::Relaxed);
            let (files, busy, port) = (self.files.clone(), busy.clone(), self.address.port());
            std::thread::spawn(move || {
                // A browser that goes away is nobody's fault.
                let _ = serve(stream, &files, port);
                busy.fetch_sub(1, Ordering::Relaxed);
            });
        }
    }
}

fn serve(mut stream: TcpStream, files: &Files, port: u16) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let head = read_head(&mut stream)?;
    let (answer, with_body) = answer(&head, files, port);
    let Answer { status, kind, body } = answer;
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nContent-Security-Policy: {POLICY}\r\n\
         X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\
         Cache-Control: no-store\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    if with_body {
        stream.write_all(body)?;
    }
    stream.flush()
}

/// The request up to its empty line, or as much as is taken of it.
fn read_head(stream: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    while head.len() < MOST_HEAD && !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut buffer)? {
            0 => break,
            count => head.extend_from_slice(&buffer[..count]),
        }
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// What to answer to a request's head, and whether with its body.
fn answer<'a>(head: &str, files: &'a Files, port: u16) -> (Answer<'a>, bool) {
    let plain = |status| (Answer { status, kind: "text/plain", body: status.as_bytes() }, true);
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(path), Some(version)) = (words.next(), words.next(), words.next()) else {
        return plain("400 Bad Request");
    };
    if !version.starts_with("HTTP/1.") || !head.contains("\r\n\r\n") {
        return plain("400 Bad Request");
    }
    if method != "GET" && method != "HEAD" {
        return plain("405 Method Not Allowed");
    }
    // A page of another name that points to this machine is not ours.
    let host = lines.find_map(|line| line.split_once(':').filter(|(key, _)| key.eq_ignore_ascii_case("host")));
    let ours = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    if !host.is_some_and(|(_, host)| ours.iter().any(|known| known == host.trim())) {
        return plain("403 Forbidden");
    }
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let name = match path.strip_prefix('/') {
        Some("") => "index.html",
        Some(name) => name,
        None => return plain("400 Bad Request"),
    };
    match files.get(name) {
        None => plain("404 Not Found"),
        Some(body) => (Answer { status: "200 OK", kind: kind(name), body }, method == "GET"),
    }
}

/// Media type by the ending of a name.
fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" => "application/json",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" => "image/jpeg",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(request: &str) -> (String, String) {
        let files = Files::from([
            ("index.html".to_string(), Cow::Borrowed(&b"<p>cloth</p>"[..])),
            ("a/engine.wasm".to_string(), Cow::Borrowed(&b"\0asm"[..])),
        ]);
        let (answer, body) = answer(request, &files, 7000);
        let text = if body { String::from_utf8_lossy(answer.body).into_owned() } else { String::new() };
        (format!("{} {}", answer.status, answer.kind), text)
    }

    fn get(path: &str) -> String {
        ask(&format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:7000\r\n\r\n")).0
    }

    #[test]
    fn files_are_found_by_their_names() {
        assert_eq!(get("/"), "200 OK text/html; charset=utf-8");
        assert_eq!(get("/index.html?x=1"), get("/"));
        assert_eq!(get("/a/engine.wasm"), "200 OK application/wasm");
        let head = ask("HEAD / HTTP/1.1\r\nhost: localhost:7000\r\n\r\n");
        assert_eq!(head, ("200 OK text/html; charset=utf-8".into(), String::new()));
    }

    #[test]
    fn nothing_else_is_served() {
        for path in [
            "/..",
            "/../Cargo.toml",
            "/a/../index.html",
            "//index.html",
            "/%2e%2e/x",
            "/a",
            "/a/",
            "/index.html/",
            "/C:/x",
        ] {
            assert_eq!(get(path), "404 Not Found text/plain", "{path}");
        }
        assert_eq!(get("index.html"), "400 Bad Request text/plain");
        assert!(ask("POST / HTTP/1.1\r\nHost: 127.0.0.1:7000\r\n\r\n").0.starts_with("405"));
        assert!(ask("GET / HTTP/1.1\r\nHost: evil.example:7000\r\n\r\n").0.starts_with("403"));
        assert!(ask("GET / HTTP/1.1\r\n\r\n").0.starts_with("403"));
        for nonsense in ["", "\r\n\r\n", "GET", "GET /", "GET / HTTP/1.1", "GET / SPDY\r\n\r\n", "\u{0}\u{1}"] {
            assert!(ask(nonsense).0.starts_with("400"), "{nonsense:?}");
        }
    }
}
