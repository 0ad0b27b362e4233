//! `ripstop verify`

use crate::pictures::open_cache;
use crate::{End, say};
use anyhow::{Result, bail};
use ripstop_scene::cache::BodySurface;
use ripstop_scene::verify::{BadFrame, Solid, Totals, verify as look};
use std::path::{Path, PathBuf};

/// Bad frames that are told one by one.
const TOLD: usize = 20;

/// Arguments of `ripstop verify`.
#[derive(clap::Args)]
pub struct Args {
    /// Folders of finished runs
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Print what was found as JSON, every bad frame
    #[arg(long)]
    json: bool,
    /// Threads to use [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

/// Counts crossings in every frame of every run.
pub fn verify(args: &Args) -> Result<End> {
    let pool = crate::threads(args.threads)?;
    let (mut clean, mut pages) = (true, Vec::new());
    for folder in &args.folders {
        let Run { name, totals, bad } = pool.install(|| Run::look(folder))?;
        clean &= totals.bad_frames == 0;
        if args.json {
            pages.push(serde_json::json!({ "run": folder, "scene": name, "totals": totals, "bad_frames": bad }));
        } else {
            bad.iter().take(TOLD).for_each(|frame| say(line(frame)));
            if bad.len() > TOLD {
                say(format!("… and {} more", frames(bad.len() - TOLD)));
            }
            say(format!("{name}: {}", total(&totals)));
        }
    }
    if args.json {
        say(serde_json::to_string_pretty(&pages)?);
    }
    Ok(if clean { End::Done } else { End::Unmet })
}

struct Run {
    name: String,
    totals: Totals,
    bad: Vec<BadFrame>,
}

impl Run {
    fn look(folder: &Path) -> Result<Self> {
        let mut reader = open_cache(folder)?;
        if reader.path().extension().is_some_and(|e| e == "part") {
            bail!(
                "{}: the run is not finished\n       finish it with `ripstop run SCENE --resume`, then verify it",
                reader.path().display()
            );
        }
        let name = reader.header().scene.clone();
        let mut bad = Vec::new();
        let solid = |body: BodySurface| Solid::new(body.name, &body.points, body.triangles);
        let solids: Vec<Solid> = reader.bodies()?.into_iter().map(solid).collect();
        let totals = look(&mut reader, &solids, &mut |frame| bad.push(frame))?;
        Ok(Self { name, totals, bad })
    }
}

fn frames(count: usize) -> String {
    format!("{count} frame{}", if count == 1 { "" } else { "s" })
}

fn line(bad: &BadFrame) -> String {
    let mut parts = Vec::new();
    if bad.itself > 0 {
        parts.push(format!("{} with itself", bad.itself));
    }
    for body in &bad.bodies {
        if body.crossings > 0 {
            parts.push(format!("{} with `{}`", body.crossings, body.name));
        }
        if body.inside > 0 {
            let pieces = if body.inside == 1 { "piece" } else { "pieces" };
            parts.push(format!("{} {pieces} inside `{}`", body.inside, body.name));
        }
    }
    let first = bad.first.as_ref().map_or(String::new(), |first| {
        let [x, y, z] = first.at;
        let [one, two] = first.faces;
        let yarn = |k: u32| format!("{} {}", if k.is_multiple_of(2) { "warp" } else { "weft" }, k / 2);
        let what = match &first.body {
            _ if first.yarns => format!("{} and {}", yarn(one), yarn(two)),
            None => format!("faces {one} and {two}"),
            Some(name) => format!("face {one} and `{name}`"),
        };
        format!("; first {what} at {x:.4}, {y:.4}, {z:.4}")
    });
    format!("frame {} ({:.3} s): crossings: {}{first}", bad.frame, bad.time, parts.join(", "))
}

fn total(totals: &Totals) -> String {
    let Totals { frames: all, bad_frames, itself, bodies, inside } = *totals;
    if bad_frames == 0 {
        return format!("no crossings in {}", frames(all));
    }
    let inside = if inside > 0 { format!(", {inside} times a piece inside a body") } else { String::new() };
    format!("{itself} crossings with itself, {bodies} with bodies{inside}, in {bad_frames} of {}", frames(all))
}
