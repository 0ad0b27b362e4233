//! `ripstop run`

use crate::pictures::{PictureArgs, Run};
use crate::render::drawing_bar;
use crate::{End, say};
use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rayon::ThreadPool;
use ripstop_scene::run::{Format, Options, Progress, RunError};
use ripstop_scene::variant::{Part, Parts};
use ripstop_scene::whole::write_whole;
use ripstop_scene::{Outcome, Summary};
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
    /// Compare all yarns of woven cloth after every substep, for `ripstop verify` to tell what passed; slow
    #[arg(long)]
    verify: bool,
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
        jobs.push((Parts::read(scene)?, name, folder));
    }
    let mut met = true;
    for (parts, name, folder) in jobs {
        met &= if parts.is_several() {
            several(args, &pool, &parts, &name, &folder)?
        } else {
            let summary = one(args, &pool, &parts.parts[0], &name, &folder, args.resume)?;
            report(&summary, &folder);
            if !args.no_film {
                pool.install(|| draw(args, &folder))?;
            }
            summary.met()
        };
    }
    Ok(if met { End::Done } else { End::Unmet })
}

/// Simulates one scene or variant.
fn one(
    args: &Args,
    pool: &ThreadPool,
    part: &Part,
    name: &str,
    folder: &Path,
    resume: bool,
) -> Result<Summary, RunError> {
    let options = Options {
        folder: folder.to_path_buf(),
        frames: args.frames,
        resume,
        verify: args.verify,
        formats: args.format.iter().filter_map(|f| f.format()).collect(),
        checkpoint_every: 10,
    };
    let bar = progress_bar(name);
    let summary = pool.install(|| ripstop_scene::run::run(part, name, &options, &mut |progress| show(&bar, &progress)));
    bar.finish_and_clear();
    summary
}

/// Simulates every variant of a scene into a folder of its own, then compares them. True if everything was as promised.
fn several(args: &Args, pool: &ThreadPool, parts: &Parts, name: &str, folder: &Path) -> Result<bool> {
    // A slip in the last variant must not wait for the first ones to run.
    for part in &parts.parts {
        part.build()?;
    }
    let (mut met, mut rows, mut folders) = (true, Vec::new(), Vec::new());
    for part in &parts.parts {
        let variant = part.name.as_deref().unwrap_or_default();
        let (name, folder) = (format!("{name}-{variant}"), folder.join(variant));
        let earlier = if args.resume { part.finished_in(&folder) } else { None };
        let ran = match earlier {
            Some(summary) => Ok(summary),
            None => one(args, pool, part, &name, &folder, args.resume && folder.join("checkpoint.bin").exists()),
        };
        let row = match ran {
            Ok(summary) => {
                report(&summary, &folder);
                if part.fails {
                    println!("  not met: it ran to its end, expected to fail");
                }
                met &= summary.met() && !part.fails;
                folders.push(folder);
                Row::of(variant, &summary)
            }
            Err(RunError::Step { cause, .. }) if part.fails => {
                println!("{name}: fails as expected: {cause}");
                Row::failed(variant, cause.to_string())
            }
            Err(error) => return Err(error.into()),
        };
        rows.push(row);
    }
    let whole = args.frames.is_none();
    let outcomes = if whole { ripstop_scene::variant::judge(&parts.together, &folders)? } else { Vec::new() };
    report_unmet(&outcomes);
    met &= outcomes.iter().all(|outcome| outcome.met);
    let page = serde_json::json!({ "variants": rows, "together": outcomes });
    let path = folder.join("together.json");
    write_whole(&path, format!("{page:#}\n").as_bytes())
        .with_context(|| format!("{}: can't be written\n       choose another folder with -o", path.display()))?;
    println!("{}", Row::table(&rows));
    for outcome in &outcomes {
        let judged = if outcome.met { "as expected" } else { "not as expected" };
        println!("{name}: {} is {}, {judged}: {}", outcome.name, value_of(outcome), outcome.expected);
    }
    if !args.no_film {
        for folder in &folders {
            pool.install(|| draw(args, folder))?;
        }
        pool.install(|| crate::sheet::write(&folders, None, &args.pictures, &folder.join("sheet.png")))?;
    }
    Ok(met)
}

/// What a variant took and gave, for comparison.
#[derive(serde::Serialize)]
struct Row {
    variant: String,
    step: Option<f64>,
    stable_step: Option<f64>,
    /// Wall-clock time per simulated second [s].
    cost: Option<f64>,
    tears: Option<usize>,
    first_tear: Option<f64>,
    /// Mean direction of what was torn, from weft [degrees].
    direction: Option<f64>,
    largest_load: Option<f64>,
    largest_strain: Option<f64>,
    state_hash: Option<String>,
    failed: Option<String>,
}

impl Row {
    fn of(variant: &str, summary: &Summary) -> Self {
        Self {
            variant: variant.into(),
            step: Some(summary.step),
            stable_step: summary.stable_step,
            cost: Some(1.0 / summary.real_time_ratio),
            tears: Some(summary.tears),
            first_tear: summary.first_tear.as_ref().map(|first| first.time),
            direction: summary.torn_direction,
            largest_load: Some(summary.largest_load),
            largest_strain: Some(summary.largest_strain),
            state_hash: Some(summary.state_hash.clone()),
            failed: None,
        }
    }

    fn failed(variant: &str, cause: String) -> Self {
        let none = None;
        Self {
            variant: variant.into(),
            step: none,
            stable_step: none,
            cost: none,
            tears: None,
            first_tear: none,
            direction: none,
            largest_load: none,
            largest_strain: none,
            state_hash: None,
            failed: Some(cause),
        }
    }

    fn table(rows: &[Self]) -> String {
        let width = rows.iter().map(|row| row.variant.len()).max().unwrap_or(0).max(7);
        let mut text = format!(
            "{:width$}  {:>9}  {:>11}  {:>8}  {:>6}  {:>10}  {:>7}  {:>9}  {:>8}",
            "variant", "step", "stable up to", "s per s", "tears", "first tear", "along", "load", "strain"
        );
        for row in rows {
            if let Some(cause) = &row.failed {
                text += &format!("\n{:width$}  fails: {cause}", row.variant);
                continue;
            }
            let seconds = |value: Option<f64>| value.map_or("any".into(), |s| format!("{s:.1e} s"));
            text += &format!(
                "\n{:width$}  {:>9}  {:>12}  {:>8}  {:>6}  {:>10}  {:>7}  {:>9}  {:>8}",
                row.variant,
                seconds(row.step),
                seconds(row.stable_step),
                row.cost.map_or(String::new(), |c| format!("{c:.3}")),
                row.tears.map_or(String::new(), |n| n.to_string()),
                row.first_tear.map_or("-".into(), |t| format!("{t:.3} s")),
                row.direction.map_or("-".into(), |angle| format!("{angle:.0}°")),
                row.largest_load.map_or(String::new(), |load| format!("{load:.2e} N")),
                row.largest_strain.map_or(String::new(), |s| format!("{:.2} %", 100.0 * s)),
            );
        }
        text
    }
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
    report_unmet(&summary.expectations);
}

fn report_unmet(outcomes: &[Outcome]) {
    for outcome in outcomes.iter().filter(|o| !o.met) {
        println!("  not met: {} is {}, expected {}", outcome.name, value_of(outcome), outcome.expected);
    }
}

fn value_of(outcome: &Outcome) -> String {
    outcome.value.map_or("nothing to measure".into(), |v| format!("{v:.4}"))
}
