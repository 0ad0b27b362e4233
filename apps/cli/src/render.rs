//! `ripstop render`

use crate::pictures::{PictureArgs, Run};
use crate::report;
use crate::{End, say};
use anyhow::{Result, anyhow};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::path::PathBuf;

/// Arguments of `ripstop render`.
#[derive(clap::Args)]
pub struct Args {
    /// Folder of a run
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Folder for the pictures [default: the run's own]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Draw only stills of these frames, no film
    #[arg(long, value_name = "FRAME", num_args = 1..)]
    still: Vec<u32>,
    /// Threads to use [default: all cores]; the pictures don't depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    #[command(flatten)]
    pictures: PictureArgs,
}

/// Draws a run again from its cache.
pub fn render(args: &Args) -> Result<End> {
    let pool = crate::threads(args.threads)?;
    let mut run = Run::open(&args.folder)?;
    if let Some(warning) = &run.warning {
        eprintln!("warning: {warning}");
    }
    let target = args.output.as_ref().unwrap_or(&args.folder);
    std::fs::create_dir_all(target)
        .map_err(|e| anyhow!("{}: can't be made: {e}\n       choose another folder with -o", target.display()))?;
    if !args.still.is_empty() {
        let moments = run.stills(&args.still)?;
        let bar = drawing_bar(&run.name, moments.len());
        let drawn = pool.install(|| run.draw_stills(&moments, &args.pictures, target, &mut || bar.inc(1)));
        bar.finish_and_clear();
        for still in drawn? {
            say(format!("{}: frame {} -> {}", run.name, still.index, still.path.display()));
        }
        return Ok(End::Done);
    }
    let bar = drawing_bar(&run.name, run.picture_count());
    let drawn = pool.install(|| run.draw_all(&args.pictures, target, &mut || bar.inc(1)));
    bar.finish_and_clear();
    let drawn = drawn?;
    say(format!(
        "{}: {} stills in {:.1} s, film of {} frames in {:.1} s -> {}",
        run.name,
        drawn.stills.len(),
        drawn.seconds[0],
        run.frame_count(),
        drawn.seconds[1],
        target.display()
    ));
    if args.output.is_none() && run.folder.join("summary.json").exists() {
        report::write(&run.folder, &drawn)?;
    }
    Ok(End::Done)
}

/// A bar for so many pictures; nothing where nobody looks.
pub fn drawing_bar(name: &str, count: usize) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    }
    let style = ProgressStyle::with_template("{prefix} {bar:30} picture {pos}/{len}, {eta} left")
        .expect("the template is a constant");
    ProgressBar::new(count as u64).with_style(style).with_prefix(name.to_string())
}
