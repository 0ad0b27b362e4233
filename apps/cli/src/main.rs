//! The `ripstop` program: simulates scenes of cloth that tears.

mod check;
mod fabric;
mod list;
mod pictures;
mod render;
mod report;
mod run;
mod sheet;
mod standards;
mod verify;
mod view;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use std::io::Write;
use std::process::ExitCode;

/// Simulates cloth that tears.
#[derive(Parser)]
#[command(name = "ripstop", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Simulate scenes and write caches, events, statistics, a film and a report
    Run(run::Args),
    /// Draw a run again from its cache: another camera, colouring, size or quality
    Render(render::Args),
    /// Draw several runs side by side
    Sheet(sheet::Args),
    /// Look through finished runs for cloth that has passed through itself or into a body
    Verify(verify::Args),
    /// Load and validate scenes and say what they would do, without running them
    Check(check::Args),
    /// List the scenes there are, with one line each
    Scenes(list::Args),
    /// Grab and tear cloth in the browser
    View(view::Args),
    /// List fabrics, show their figures and sources, import measurements
    Fabric(fabric::Args),
    /// Test a fabric as laboratories do: strip, trouser, tongue and trapezoid, with curves and references
    Standards(standards::Args),
}

/// Prints a line. A reader that has gone away (`| head`) is no error: there is nobody left to tell.
pub fn say(line: impl std::fmt::Display) {
    if writeln!(std::io::stdout(), "{line}").is_err() {
        std::process::exit(0);
    }
}

/// How a command that did not fail ended.
pub enum End {
    /// Everything as it should be.
    Done,
    /// A scene's expectation was not met, or a run has crossings.
    Unmet,
}

/// So many threads, or one for every core.
fn threads(count: Option<u16>) -> Result<rayon::ThreadPool> {
    let pool = rayon::ThreadPoolBuilder::new();
    let pool = if let Some(count) = count { pool.num_threads(count.into()) } else { pool };
    pool.build().context("can't start the threads")
}

fn main() -> ExitCode {
    let end = match Cli::parse().command {
        Command::Run(args) => run::run(&args),
        Command::Render(args) => render::render(&args),
        Command::Sheet(args) => sheet::sheet(&args),
        Command::Verify(args) => verify::verify(&args),
        Command::Check(args) => check::check(&args),
        Command::Scenes(args) => list::list(&args),
        Command::View(args) => view::view(&args),
        Command::Fabric(args) => fabric::fabric(&args),
        Command::Standards(args) => standards::standards(&args),
    };
    match end {
        Ok(End::Done) => ExitCode::SUCCESS,
        Ok(End::Unmet) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {}", with_causes(&error));
            ExitCode::from(2)
        }
    }
}

/// The text of an error, followed by those of its causes that are not part of it already.
fn with_causes(error: &anyhow::Error) -> String {
    error.chain().map(|cause| cause.to_string()).fold(String::new(), |text, cause| match text {
        _ if text.is_empty() => cause,
        _ if text.contains(&cause) => text,
        _ => format!("{text}: {cause}"),
    })
}
