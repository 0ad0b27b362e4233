//! `ripstop view`: the page, served from inside the program to this machine alone.

mod server;

use crate::{End, say};
use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ripstop_scene::variant::Parts;
use serde_json::json;
use server::{Files, Server};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// The page's files, by their names; none if it was not built.
static PAGE: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

#[derive(clap::Args)]
pub struct Args {
    /// Scene to begin with; the page has a gallery of its own
    scene: Option<PathBuf>,
    /// Port on 127.0.0.1; a free one if left out
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Only serve the page, don't open it in the browser
    #[arg(long)]
    no_open: bool,
}

pub fn view(args: &Args) -> Result<End> {
    if PAGE.is_empty() {
        bail!(
            "the page is not in this program: it was not built yet\n       run tools/page, then build the program again"
        );
    }
    let mut files: Files = PAGE.iter().map(|(name, bytes)| ((*name).into(), Cow::Borrowed(*bytes))).collect();
    if let Some(path) = &args.scene {
        files.insert("scene.json".into(), Cow::Owned(packed(path)?));
    }
    let server = Server::bind(args.port, files).with_context(|| match args.port {
        0 => "no port of 127.0.0.1 could be opened".into(),
        port => format!("port {port} of 127.0.0.1 can't be opened; leave --port out to take a free one"),
    })?;
    let address = format!("http://{}/", server.address());
    say(format!("the page is at {address}   (Ctrl-C ends it)"));
    if !args.no_open && open::that_detached(&address).is_err() {
        say("open that address in a browser");
    }
    server.run();
    Ok(End::Done)
}

/// A scene and the files it names, as the page reads them. It must be one that can be built.
fn packed(path: &Path) -> Result<Vec<u8>> {
    let parts = Parts::read(path)?;
    for part in &parts.parts {
        part.build()?;
    }
    let text = std::fs::read_to_string(path).with_context(|| format!("{}: can't be read", path.display()))?;
    let files: Vec<_> = parts
        .files()
        .into_iter()
        .map(|(name, bytes)| json!({ "name": name, "data": STANDARD.encode(bytes) }))
        .collect();
    let name = path.file_name().map_or("scene.toml".into(), |name| name.to_string_lossy());
    Ok(json!({ "name": name, "text": text, "files": files }).to_string().into_bytes())
}
