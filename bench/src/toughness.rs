//! Does the load at which cloth tears depend on the mesh? Specimens of a testing laboratory, torn with criterion `toughness`, with the same on coarse meshes that are made finer where they tear, and with `directional`, a threshold
//! on stress.

#[path = "../../crates/core/tests/specimen/mod.rs"]
mod specimen;

use anyhow::Context;
use clap::ValueEnum;
use ripstop_render::plot::{self, Labels, Series};
use serde::Serialize;
use specimen::Specimen;
use std::path::Path;
use std::time::Instant;

/// Meshes of one size: regular and two irregular ones.
const SEEDS: [u64; 3] = [0, 1, 2];
/// Ways to tear.
const WAYS: [&str; 3] = ["toughness", "toughness, finer where it tears", "directional"];

/// What is torn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// A strip of 50 × 100 mm.
    Strip,
    /// One with a slit of 20 mm across its middle.
    Slit,
    /// One with a slit of 15 mm from its edge.
    Edge,
    /// The same, whose slit ends at a pin.
    Pinned,
    /// One cut along its middle to its half, whose legs are pulled out of its plane.
    Trouser,
}

/// How it is integrated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Solver {
    Implicit,
    Xpbd,
}

/// One way to tear one, with edges of one length.
#[derive(Serialize)]
struct Row {
    specimen: Which,
    solver: Solver,
    way: &'static str,
    edge_mm: f64,
    /// Edges of the mesh as it was at the start.
    start_mm: f64,
    /// Mean over all meshes of the largest load, of trousers of the mean load [N].
    load: f64,
    /// Standard deviation over that.
    variation: f64,
    /// By mesh: load when the first edge tore [N], work less what is stored per torn length [N], farthest that the tear was off its line [mm], steps.
    onset: Vec<f64>,
    work: Vec<f64>,
    off_mm: Vec<f64>,
    steps: Vec<u32>,
    seconds: f64,
}

fn measure((specimen, solver): (Which, Solver), (start_mm, edge_mm): (f64, f64), way: &'static str) -> Row {
    let begin = Instant::now();
    let torn = match specimen {
        Which::Strip => Specimen::Strip,
        Which::Slit => Specimen::Slit,
        Which::Edge => Specimen::Edge,
        Which::Pinned => Specimen::Pinned,
        Which::Trouser => Specimen::Trouser,
    };
    let integrator = if solver == Solver::Xpbd { "xpbd" } else { "implicit" };
    let criterion = if way == WAYS[2] { "directional" } else { "toughness" };
    let size = (start_mm * 1e-3, edge_mm * 1e-3);
    let runs = SEEDS.map(|seed| specimen::run(torn, size, seed, integrator, criterion));
    let loads = runs.each_ref().map(|run| if specimen == Which::Trouser { run.mean } else { run.largest });
    let load = loads.iter().sum::<f64>() / loads.len() as f64;
    let square = loads.iter().map(|l| (l / load - 1.0) * (l / load - 1.0)).sum::<f64>() / loads.len() as f64;
    Row {
        specimen,
        solver,
        way,
        edge_mm,
        start_mm,
        load,
        variation: square.sqrt(),
        onset: runs.iter().map(|run| run.onset).collect(),
        work: runs.iter().map(|run| run.work).collect(),
        off_mm: runs.iter().map(|run| 1e3 * run.off).collect(),
        steps: runs.iter().map(|run| run.steps).collect(),
        seconds: begin.elapsed().as_secs_f64(),
    }
}

pub fn run(specimens: &[Which], solvers: &[Solver], sizes: &[f64], output: &Path) -> anyhow::Result<()> {
    let coarsest = sizes.iter().copied().fold(0.0, f64::max);
    let mut rows: Vec<Row> = Vec::new();
    for what in specimens.iter().flat_map(|specimen| solvers.iter().map(move |solver| (*specimen, *solver))) {
        for way in WAYS {
            let finer = way == WAYS[1];
            for &size in sizes.iter().filter(|size| !finer || **size < coarsest) {
                rows.push(measure(what, (if finer { coarsest } else { size }, size), way));
            }
        }
    }
    let mut text = String::from(
        "| specimen | solver | way to tear | edges mm | at the start mm | load N | variation % | work per length N | off its line mm | s |\n|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in &rows {
        let name = |value: Option<clap::builder::PossibleValue>| value.map_or(String::new(), |v| v.get_name().into());
        let mean = row.work.iter().sum::<f64>() / row.work.len() as f64;
        text += &format!(
            "| {} | {} | {} | {} | {} | {:.4} | {:.1} | {mean:.3} | {:.1} | {:.1} |\n",
            name(row.specimen.to_possible_value()),
            name(row.solver.to_possible_value()),
            row.way,
            row.edge_mm,
            row.start_mm,
            row.load,
            100.0 * row.variation,
            row.off_mm.iter().copied().fold(0.0, f64::max),
            row.seconds
        );
    }
    crate::write(output, "toughness", &text, &rows)?;
    let series = WAYS.map(|way| {
        let slit = |row: &&Row| row.way == way && row.specimen == Which::Slit && row.solver == Solver::Implicit;
        Series { name: way.into(), points: rows.iter().filter(slit).map(|row| (row.edge_mm, row.load)).collect() }
    });
    if series[0].points.is_empty() {
        return Ok(());
    }
    let labels = Labels {
        title: "Load of a slit strip against edges".into(),
        x: "length of edges [mm]".into(),
        y: "largest load [N]".into(),
    };
    let path = output.join("toughness.svg");
    std::fs::write(&path, plot::lines(&labels, &series)?).with_context(|| format!("cannot write {}", path.display()))
}
