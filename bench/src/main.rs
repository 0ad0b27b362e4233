//! The same work on ripstop and on other engines, in one run.
//!
//! `cargo run --release -p ripstop-bench -- hang [--sizes 50,100,200] [--threads 1,2] [-o DIR]`, and the same with `ball` and `torn [--ways xpbd,rapier]`; `yarns`; `toughness [--specimens slit,trouser] [--solvers implicit,xpbd] [--sizes 8,4,2]`
//!
//! Figures are to be read as ratios of rows of one run: machines differ, and so does one machine from hour to hour.

mod ball;
mod hang;
mod peer;
mod strain;
mod torn;
mod toughness;
mod yarns;

use anyhow::Context;
use clap::{Parser, Subcommand};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The same work on ripstop and on other engines, in one run.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    work: Work,
}

#[derive(Subcommand)]
enum Work {
    /// A sheet of 1 m and 0.2 kg/m² hung by two corners, 2 s at 60 frames/s: cost of a frame against error of strain.
    Hang {
        /// Nodes per side.
        #[arg(long, value_delimiter = ',', default_values_t = [50, 100, 200], value_parser = clap::value_parser!(u32).range(3..=2000))]
        sizes: Vec<u32>,
        /// Threads.
        #[arg(long, value_delimiter = ',', default_values_t = [1, 2], value_parser = clap::value_parser!(u16).range(1..=256))]
        threads: Vec<u16>,
        /// Folder for hang.json, hang.md and hang.svg.
        #[arg(short, long, default_value = "out/bench")]
        output: PathBuf,
    },
    /// A ball thrown on a level sheet of 1 m held on two sides, 1.5 s at 60 frames/s: cost of a frame, and stretch.
    Ball {
        /// Nodes per side.
        #[arg(long, value_delimiter = ',', default_values_t = [50, 100], value_parser = clap::value_parser!(u32).range(3..=500))]
        sizes: Vec<u32>,
        /// Threads.
        #[arg(long, value_delimiter = ',', default_values_t = [1], value_parser = clap::value_parser!(u16).range(1..=256))]
        threads: Vec<u16>,
        /// Folder for ball.json and ball.md.
        #[arg(short, long, default_value = "out/bench")]
        output: PathBuf,
    },
    /// A heavy ball through such a sheet, which tears: cost of a frame, and how it comes apart.
    Torn {
        /// Whose cloth is torn, and how.
        #[arg(long, value_delimiter = ',', value_enum, default_values_t = [torn::Way::Implicit, torn::Way::Xpbd, torn::Way::XpbdThrough, torn::Way::XpbdFiner, torn::Way::Rapier])]
        ways: Vec<torn::Way>,
        /// Nodes per side.
        #[arg(long, value_delimiter = ',', default_values_t = [50, 100], value_parser = clap::value_parser!(u32).range(3..=500))]
        sizes: Vec<u32>,
        /// Threads.
        #[arg(long, value_delimiter = ',', default_values_t = [2], value_parser = clap::value_parser!(u16).range(1..=256))]
        threads: Vec<u16>,
        /// Folder for torn.json and torn.md.
        #[arg(short, long, default_value = "out/bench")]
        output: PathBuf,
    },
    /// Two corners of woven cloth pulled apart: time per frame against crossings, and two levels against yarns alone.
    Yarns {
        /// Warps; there are half as many wefts.
        #[arg(long, value_delimiter = ',', default_values_t = [40, 80, 120, 160, 200, 240], value_parser = clap::value_parser!(u32).range(8..=2000))]
        sizes: Vec<u32>,
        /// Threads.
        #[arg(long, value_delimiter = ',', default_values_t = [2, 1], value_parser = clap::value_parser!(u16).range(1..=256))]
        threads: Vec<u16>,
        /// Sequences of each size, which differ by the strengths of yarns.
        #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100))]
        seeds: u16,
        /// Warps of the cloth that is computed at two levels and as yarns alone; 0: not at all.
        #[arg(long, default_value_t = 120, value_parser = clap::value_parser!(u32).range(0..=1000))]
        all_yarn: u32,
        /// Folder for yarns.json, yarns-scaling.svg and yarns-levels.svg.
        #[arg(short, long, default_value = "out/bench")]
        output: PathBuf,
    },
    /// Specimens torn on meshes of several sizes: does the load depend on the mesh?
    Toughness {
        /// What is torn.
        #[arg(long, value_delimiter = ',', value_enum, default_values_t = [toughness::Which::Strip, toughness::Which::Slit])]
        specimens: Vec<toughness::Which>,
        /// How it is integrated.
        #[arg(long, value_delimiter = ',', value_enum, default_values_t = [toughness::Solver::Implicit])]
        solvers: Vec<toughness::Solver>,
        /// Lengths of edges [mm].
        #[arg(long, value_delimiter = ',', default_values_t = [8.0, 4.0, 2.0], value_parser = length)]
        sizes: Vec<f64>,
        /// Folder for toughness.json, toughness.md and toughness.svg.
        #[arg(short, long, default_value = "out/bench")]
        output: PathBuf,
    },
    /// Draws the plot of an earlier run again.
    Plot {
        /// Folder with hang.json.
        folder: PathBuf,
    },
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().work {
        Work::Hang { sizes, threads, output } => hang::run(&sizes, &threads, &output),
        Work::Ball { sizes, threads, output } => ball::run(&sizes, &threads, &output),
        Work::Torn { ways, sizes, threads, output } => torn::run(&ways, &sizes, &threads, &output),
        Work::Yarns { sizes, threads, seeds, all_yarn, output } => {
            yarns::run(&sizes, &threads, seeds, all_yarn, &output)
        }
        Work::Toughness { specimens, solvers, sizes, output } => toughness::run(&specimens, &solvers, &sizes, &output),
        Work::Plot { folder } => hang::draw(&folder),
    }
}

/// A length of edges that specimens of 50 mm can have [mm].
fn length(text: &str) -> Result<f64, String> {
    let sound = text.parse().ok().filter(|mm| (0.2..=12.5).contains(mm));
    sound.ok_or_else(|| "it goes from 0.2 to 12.5 mm".into())
}

/// Prints a table and writes it as NAME.md, and its rows as NAME.json, into a folder.
fn write(folder: &Path, name: &str, table: &str, rows: &impl Serialize) -> anyhow::Result<()> {
    print!("{table}");
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    for (end, text) in [("md", table), ("json", &serde_json::to_string_pretty(rows)?)] {
        let path = folder.join(name).with_extension(end);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
