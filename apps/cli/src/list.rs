//! `ripstop scenes`

use crate::{End, say};
use anyhow::{Result, bail};
use ripstop_scene::Scene;
use std::path::{Path, PathBuf};

/// Arguments of `ripstop scenes`.
#[derive(clap::Args)]
pub struct Args {
    /// Folder of the gallery
    #[arg(default_value = "scenes", value_name = "DIR")]
    folder: PathBuf,
}

/// Lists all scenes below a folder.
pub fn list(args: &Args) -> Result<End> {
    let mut files = Vec::new();
    collect(&args.folder, &mut files)?;
    if files.is_empty() {
        bail!("{}: no scenes\n       scenes are .toml files; name another folder", args.folder.display());
    }
    files.sort();
    let width = files.iter().map(|f| f.display().to_string().len()).max().unwrap_or(0);
    for file in files {
        let title = Scene::title(&file)?;
        say(format!("{:width$}  {title}", file.display().to_string()));
    }
    Ok(End::Done)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) => bail!("{}: can't be listed: {e}\n       name the folder of the scenes", folder.display()),
    };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "toml") {
            files.push(path);
        }
    }
    Ok(())
}
