//! A sheet hung by two corners: cost of a frame against error of strain.

use crate::peer::Rapier;
use crate::strain::Strain;
use anyhow::Context;
use ripstop::integrator::{Implicit, ImplicitSettings, Integrator, Motion, Xpbd, XpbdSettings};
use ripstop::mesh::{NodeId, generate};
use ripstop::model::{Surroundings, membrane, springs};
use ripstop::potential::{Elasticity, Forces, Potential};
use ripstop::{Cloth, Fabric, Placement, Vec2, Vec3};
use ripstop_render::plot::{self, Labels, Series};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Instant;

const FRAMES: usize = 120;
const FRAME: f64 = 1.0 / 60.0;
/// Frames at the end whose strain is averaged: what swings is not judged by one moment.
const JUDGED: usize = 30;

/// Steps per frame of the run that others are compared with: fewer for a large sheet, of which 16 take more than ten minutes.
fn fine_steps(side: usize) -> u32 {
    if side > 150 { 4 } else { 16 }
}

/// The sheet, before it falls: flat and level.
pub struct Sheet {
    /// Nodes per side.
    pub side: usize,
    /// kg/m²; the sheet has one square metre.
    pub density: f64,
    /// The two corners.
    pub held: [usize; 2],
    cloth: Cloth,
}

/// Stiffness of both models [N/m].
const STIFFNESS: f64 = 2000.0;

#[derive(Clone, Copy, PartialEq)]
enum Model {
    Springs,
    Membrane,
}

impl Sheet {
    fn new(side: usize) -> anyhow::Result<Self> {
        let density = 0.2;
        let mesh = generate::grid(Vec2::ONE, [side; 2]).context("the grid")?;
        let mut cloth = Cloth::flat(mesh, density, Placement { warp: Vec3::Z, ..Placement::default() });
        let held = [side * (side - 1), side * side - 1];
        held.iter().for_each(|&n| cloth.hold(NodeId(n as u32), Some(0)));
        Ok(Self { side, density, held, cloth })
    }

    fn forces(&self, model: Model) -> Forces {
        // Springs on edges alone, as other engines have them: their diagonals resist shear.
        let bend = if model == Model::Springs { 0.0 } else { 1e-4 };
        let fabric =
            Fabric { density: self.density, stretch: STIFFNESS, shear: 0.0, bend, damping: 0.0, ..Fabric::default() };
        let mut potentials: Vec<Box<dyn Potential>> = match model {
            Model::Springs => springs(&fabric, &self.cloth),
            Model::Membrane => {
                let elasticity = Elasticity { weft: STIFFNESS, across: 40.0, warp: STIFFNESS, shear: 60.0 };
                membrane(&fabric, elasticity, &self.cloth)
            }
        };
        potentials.extend(Surroundings::default().loads(&self.cloth));
        Forces::new(potentials)
    }

    /// Times of a frame and the strain at the end, `steps` to a frame.
    fn hang(&self, model: Model, mut integrator: Box<dyn Integrator>, steps: u32) -> (Times, Strain) {
        let (mut cloth, mut forces) = (self.cloth.clone(), self.forces(model));
        let advance = || {
            for _ in 0..steps {
                let motion = Motion::new(&mut cloth, &mut forces);
                integrator.advance(motion, FRAME / f64::from(steps));
            }
            cloth.x.to_vec()
        };
        self.timed(advance)
    }

    /// Times of a frame and the strain at the end, for `frame`, which advances and says where the nodes are.
    fn timed(&self, mut frame: impl FnMut() -> Vec<Vec3>) -> (Times, Strain) {
        let (mut times, mut judged) = (Vec::new(), Vec::new());
        for i in 0..FRAMES {
            let begin = Instant::now();
            let x = frame();
            times.push(1e3 * begin.elapsed().as_secs_f64());
            if i + JUDGED >= FRAMES {
                judged.push(Strain::of(&self.cloth, &self.held, &x));
            }
        }
        let mean = times.iter().sum::<f64>() / FRAMES as f64;
        times.sort_by(f64::total_cmp);
        (Times { mean, quick: times[FRAMES / 10] }, Strain::mean_of(&judged))
    }
}

/// Milliseconds of a frame.
#[derive(Clone, Copy)]
struct Times {
    mean: f64,
    /// What a tenth is below: on a machine that has other things to do, nearer to what the work itself takes.
    quick: f64,
}

/// One engine with one setting.
#[derive(Serialize, Deserialize)]
struct Row {
    engine: String,
    solver: String,
    model: String,
    /// Nodes per side.
    side: usize,
    nodes: usize,
    threads: usize,
    ms_per_frame: f64,
    /// What a tenth of the frames are below; rows of older runs don't have it.
    ms_quick: Option<f64>,
    strain_p99: f64,
    strain_mean: f64,
    /// Largest away from the held corners.
    strain_max: f64,
    /// Largest of all.
    strain_pin: f64,
    /// How far p99, mean and largest are from those of the fine run of the same model (of ours for other engines).
    error_p99: f64,
    error_mean: f64,
    error_max: f64,
}

/// A solver of ours to measure.
struct Solver {
    name: &'static str,
    model: Model,
    make: fn() -> Box<dyn Integrator>,
    steps: u32,
}

fn implicit(tolerance: f64, newton: u32, substeps: u32) -> Box<dyn Integrator> {
    Box::new(Implicit::new(ImplicitSettings { tolerance, newton, substeps, ..ImplicitSettings::default() }))
}

fn xpbd(substeps: u32, levels: u32) -> Box<dyn Integrator> {
    Box::new(Xpbd::new(XpbdSettings { substeps, levels, ..XpbdSettings::default() }))
}

const SOLVERS: &[Solver] = &[
    Solver { name: "implicit, tolerance 1e-1", model: Model::Membrane, make: || implicit(1e-1, 1, 1), steps: 1 },
    Solver { name: "implicit", model: Model::Membrane, make: || Box::new(Implicit::default()), steps: 1 },
    Solver {
        name: "implicit, 2 substeps",
        model: Model::Membrane,
        make: || implicit(ImplicitSettings::default().tolerance, 1, 2),
        steps: 1,
    },
    Solver { name: "xpbd, 8 substeps", model: Model::Springs, make: || xpbd(8, 6), steps: 1 },
    Solver { name: "xpbd, 12 substeps", model: Model::Springs, make: || xpbd(12, 6), steps: 1 },
    Solver { name: "xpbd, 16 substeps", model: Model::Springs, make: || xpbd(16, 6), steps: 1 },
    Solver { name: "xpbd, 4 substeps, no levels", model: Model::Springs, make: || xpbd(4, 0), steps: 1 },
    Solver { name: "xpbd, 16 substeps, no levels", model: Model::Springs, make: || xpbd(16, 0), steps: 1 },
    Solver { name: "xpbd, 64 substeps, no levels", model: Model::Springs, make: || xpbd(64, 0), steps: 1 },
    Solver { name: "xpbd, 16 substeps", model: Model::Membrane, make: || xpbd(16, 6), steps: 1 },
];

/// Substeps that rapier is asked for; 4 is its own choice. 64 take more than five minutes for a large sheet, and are left out there.
const RAPIER_SUBSTEPS: [usize; 3] = [4, 16, 64];

/// Measures all and writes `hang.json`, `hang.md` and `hang.svg`.
pub fn run(sizes: &[u32], threads: &[u16], output: &Path) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    for &side in sizes {
        let mut add = |row: Row| {
            eprintln!("{}", line(&row));
            rows.push(row);
        };
        let sheet = Sheet::new(side as usize)?;
        let mut fine = [Strain::default(); 2];
        for model in [Model::Springs, Model::Membrane] {
            let steps = fine_steps(sheet.side);
            let measured = pool(all_threads())?.install(|| sheet.hang(model, implicit(1e-3, 1, 1), steps));
            fine[model as usize] = measured.1;
            add(row(("ripstop", format!("fine, {steps} steps")), model, &sheet, all_threads(), measured, measured.1));
        }
        for threads in threads.iter().map(|&threads| usize::from(threads)) {
            for solver in SOLVERS {
                let model = solver.model;
                let measured = pool(threads)?.install(|| sheet.hang(model, (solver.make)(), solver.steps));
                add(row(("ripstop", solver.name.into()), model, &sheet, threads, measured, fine[model as usize]));
            }
            for substeps in RAPIER_SUBSTEPS.into_iter().filter(|&n| n < 64 || side <= 150) {
                let mut rapier = Rapier::new(&sheet, substeps, threads)?;
                let measured = sheet.timed(|| {
                    rapier.frame();
                    rapier.positions()
                });
                let name = ("rapier 0.36", format!("constraints, {substeps} substeps"));
                let ours = fine[Model::Springs as usize];
                add(Row { model: "its own".into(), ..row(name, Model::Springs, &sheet, threads, measured, ours) });
            }
        }
        // What is measured by now stays if the run is ended.
        write(&rows, output)?;
    }
    Ok(())
}

fn all_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn pool(threads: usize) -> anyhow::Result<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().context("threads")
}

fn row(
    (engine, solver): (&'static str, String),
    model: Model,
    sheet: &Sheet,
    threads: usize,
    (times, strain): (Times, Strain),
    exact: Strain,
) -> Row {
    Row {
        engine: engine.into(),
        solver,
        model: if model == Model::Springs { "springs" } else { "membrane" }.into(),
        side: sheet.side,
        nodes: sheet.side * sheet.side,
        threads,
        ms_per_frame: times.mean,
        ms_quick: Some(times.quick),
        strain_p99: strain.p99,
        strain_mean: strain.mean,
        strain_max: strain.max,
        strain_pin: strain.pin,
        error_p99: (strain.p99 - exact.p99).abs(),
        error_mean: (strain.mean - exact.mean).abs(),
        error_max: (strain.max - exact.max).abs(),
    }
}

/// A line of the table: strains in percent, errors in points.
fn line(row: &Row) -> String {
    let percent = |share: f64| format!("{:.2}", 100.0 * share);
    format!(
        "| {} | {} | {} | {}² | {} | {:.2} | {:.2} | {} | {} | {} | {} | {} / {} / {} |",
        row.engine,
        row.solver,
        row.model,
        row.side,
        row.threads,
        row.ms_per_frame,
        row.ms_quick.unwrap_or(row.ms_per_frame),
        percent(row.strain_p99),
        percent(row.strain_mean),
        percent(row.strain_max),
        percent(row.strain_pin),
        percent(row.error_p99),
        percent(row.error_mean),
        percent(row.error_max)
    )
}

fn write(rows: &[Row], output: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(output).with_context(|| format!("cannot make the folder {}", output.display()))?;
    let save = |name: &str, text: String| {
        let path = output.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    let head = "| engine | solver | model | nodes | threads | ms/frame | quickest tenth | p99 % | mean % | largest % | at the pins % | error p99 / mean / largest, points |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n";
    let table: String = head.to_owned() + &rows.iter().map(|row| line(row) + "\n").collect::<String>();
    save("hang.json", serde_json::to_string_pretty(rows)? + "\n")?;
    save("hang.md", table)?;
    save("hang.svg", picture(rows)?)
}

/// Draws `hang.svg` again from `hang.json` in the same folder.
pub fn draw(folder: &Path) -> anyhow::Result<()> {
    let path = folder.join("hang.json");
    let text = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let rows: Vec<Row> = serde_json::from_slice(&text).with_context(|| format!("{} has no rows", path.display()))?;
    let target = folder.join("hang.svg");
    std::fs::write(&target, picture(&rows)?).with_context(|| format!("cannot write {}", target.display()))
}

/// Cost against error, both as powers of ten, of the largest sheet on the fewest threads: one line per way to solve.
fn picture(rows: &[Row]) -> anyhow::Result<String> {
    let threads = rows.iter().filter(|row| row.error_max > 0.0).map(|row| row.threads).min().unwrap_or(1);
    let side = rows.iter().map(|row| row.side).max().unwrap_or(0);
    let mut series: Vec<Series> = Vec::new();
    for row in rows.iter().filter(|row| row.side == side && row.threads == threads && row.error_max > 0.0) {
        let way = match row.solver.as_str() {
            solver if solver.contains("no levels") => "xpbd, no levels",
            solver if solver.contains("xpbd") && row.model == "membrane" => "xpbd, membrane",
            solver => solver,
        };
        let name = match row.engine.as_str() {
            "ripstop" if way == row.solver => way.split(',').next().unwrap_or(way),
            "ripstop" => way,
            other => other,
        };
        // Errors below a hundredth of a point are drawn there.
        let point =
            (libm::log10(row.ms_quick.unwrap_or(row.ms_per_frame)), libm::log10(100.0 * row.error_max.max(1e-4)));
        match series.iter_mut().find(|s| s.name == name) {
            Some(line) => line.points.push(point),
            None => series.push(Series { name: name.into(), points: vec![point] }),
        }
    }
    series.iter_mut().for_each(|line| line.points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    let labels = Labels {
        title: format!("{side}² nodes hung by two corners: cost against error"),
        x: "log₁₀ of ms per frame, quickest tenth".into(),
        y: "log₁₀ of error of largest strain [points]".into(),
    };
    plot::lines(&labels, &series).context("the plot")
}
