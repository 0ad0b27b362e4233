//! `ripstop run`

use crate::pictures::{PictureArgs, Run};
use crate::render::drawing_bar;
use crate::{End, say};
use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ripstop_scene::Summary;
use ripstop_scene::run::{Format, Options, Progress};
use std::collections::HashMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Arguments of `ripstop run`.
#[derive(clap::Args)]
pub struct Args {
    /// Scene files
    #[arg(required = true, value_name = "SCENE")]
    scenes: Vec<PathBuf>,
    /// Folder for the results [default: out/<scene>]; with several scenes each gets a folder in it
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Threads to use [default: all cores]; the results don't depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Stop after so many frames
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    frames: Option<u32>,
    /// Go on from the last checkpoint of a run that was stopped
    #[arg(long)]
    resume: bool,
    /// Formats to export
    #[arg(long, value_enum, value_delimiter = ',', default_value = "usda")]
    format: Vec<FormatArg>,
    /// Draw nothing: no film, no stills, no report
    #[arg(long, conflicts_with_all = ["draft", "finished", "size", "colour", "camera"])]
    no_film: bool,
    #[command(flatten)]
    pictures: PictureArgs,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum FormatArg {
    /// USD with changing topology, for Blender and Houdini
    Usda,
    /// One OBJ file per frame
    Obj,
    /// One PLY file per frame
    Ply,
    /// Only the cache of frames
    None,
}

/// Runs every scene; stops at the first error, goes on after an expectation that wasn't met.
pub fn run(args: &Args) -> Result<End> {
    let pool = crate::threads(args.threads)?;
    let mut folders: HashMap<PathBuf, &Path> = HashMap::new();
    let mut jobs = Vec::new();
    for scene in &args.scenes {
        let name = scene_name(scene)?;
        let folder = match &args.output {
            Some(output) if args.scenes.len() == 1 => output.clone(),
            Some(output) => output.join(&name),
            None => Path::new("out").join(&name),
        };
        if let Some(other) = folders.insert(folder.clone(), scene) {
            bail!(
                "{} and {} would both write to {}\n       run them one by one with -o",
                other.display(),
                scene.display(),
                folder.display()
            );
        }
        jobs.push((scene, name, folder));
    }
    let mut end = End::Done;
    for (scene, name, folder) in jobs {
        let options = Options {
            folder: folder.clone(),
            frames: args.frames,
            resume: args.resume,
            formats: args.format.iter().filter_map(|f| f.format()).collect(),
            checkpoint_every: 10,
        };
        let bar = progress_bar(&name);
        let summary =
            pool.install(|| ripstop_scene::run::run(scene, &name, &options, &mut |progress| show(&bar, &progress)));
        bar.finish_and_clear();
        let summary = summary?;
        report(&summary, &folder);
        if !args.no_film {
            pool.install(|| draw(args, &folder))?;
        }
        if !summary.met() {
            end = End::Unmet;
        }
    }
    Ok(end)
}

/// Film, stills and report of a finished run.
fn draw(args: &Args, folder: &Path) -> Result<()> {
    let mut run = Run::open(folder)?;
    let bar = drawing_bar(&run.name, run.picture_count());
    let drawn = run.draw_all(&args.pictures, folder, &mut || bar.inc(1));
    bar.finish_and_clear();
    let page = crate::report::write(folder, &drawn?)?;
    say(format!("  look at {}", page.display()));
    Ok(())
}

impl FormatArg {
    fn format(self) -> Option<Format> {
        match self {
            Self::Usda => Some(Format::Usda),
            Self::Obj => Some(Format::Obj),
            Self::Ply => Some(Format::Ply),
            Self::None => None,
        }
    }
}

/// Name of a scene: its file without ending, behind its folder if that is part of a gallery (`phillips-lateral`).
pub fn scene_name(path: &Path) -> Result<String> {
    let stem = path
        .file_stem()
        .and_then(|s| s.to_str())
        .with_context(|| format!("{}: not a file\n       name a scene, a .toml file", path.display()))?;
    let group = path.parent().and_then(|p| p.file_name()).and_then(|p| p.to_str());
    Ok(match group {
        Some(group)
            if path.parent().and_then(|p| p.parent()).is_some_and(|g| g.file_name().is_some_and(|n| n == "scenes")) =>
        {
            format!("{group}-{stem}")
        }
        _ => stem.to_string(),
    })
}

fn progress_bar(name: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    }
    let style = ProgressStyle::with_template("{prefix} {bar:30} frame {pos}/{len}, {eta} left, {msg}")
        .expect("the template is a constant");
    ProgressBar::new(1).with_style(style).with_prefix(name.to_string())
}

fn show(bar: &ProgressBar, progress: &Progress<'_>) {
    match *progress {
        Progress::Frame { index, last, tears, .. } => {
            bar.set_length(u64::from(last) + 1);
            bar.set_position(u64::from(index) + 1);
            bar.set_message(format!("{tears} torn"));
        }
        Progress::Export(what) => bar.set_message(format!("writing {what}")),
        Progress::Warning(warning) => bar.suspend(|| eprintln!("warning: {warning}")),
    }
}

/// The final lines: what happened, and what was not as expected.
fn report(summary: &Summary, folder: &Path) {
    let met = summary.expectations.iter().filter(|o| o.met).count();
    let first = summary.first_tear.as_ref().map_or(String::new(), |t| format!(" from {:.2} s on", t.time));
    println!(
        "{}: {} frames, {} edges torn{first}, {} pieces, {:.1} × real time, {met} of {} expectations met -> {}",
        summary.scene,
        summary.frames,
        summary.tears,
        summary.end.pieces,
        summary.real_time_ratio,
        summary.expectations.len(),
        folder.display()
    );
    if summary.unfinished_steps > 0 {
        println!(
            "  warning: {} of {} steps ended before the integrator's tolerance was reached, {:.1e} left at worst: \
             allow more `newton` rounds, or take smaller steps",
            summary.unfinished_steps, summary.steps, summary.largest_residual
        );
    }
    for outcome in summary.expectations.iter().filter(|o| !o.met) {
        let value = outcome.value.map_or("nothing to measure".into(), |v| format!("{v:.4}"));
        println!("  not met: {} is {value}, expected {}", outcome.name, outcome.expected);
    }
}
