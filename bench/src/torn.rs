//! A heavy ball through a sheet that is held on two sides: what a frame costs while cloth tears, and how it comes apart.

use crate::ball::{Ball, DENSITY, FRAMES, cloth, held, thrown};
use crate::peer::Rapier;
use anyhow::Context;
use clap::ValueEnum;
use ripstop::contact::ContactSettings;
use ripstop::criterion::Toughness;
use ripstop::fabric::{Strength, Toughness as Energies};
use ripstop::integrator::{Implicit, Integrator, Xpbd, XpbdSettings};
use ripstop::mesh::{Mesh, height_share, pieces};
use ripstop::model::{Surroundings, membrane};
use ripstop::opening::Through;
use ripstop::potential::Elasticity;
use ripstop::simulation::{Stage, StepError, Watch};
use ripstop::tear::{Policy, Refine, Tearing};
use ripstop::{Fabric, Simulation, Vec3};
use serde::Serialize;
use std::path::Path;
use std::time::{Duration, Instant};

/// Fast and heavy enough to go through both sheets.
const BALL: Ball =
    Ball { radius: 0.12, mass: 4.0, place: Vec3::new(0.5, 0.2, 0.5), velocity: Vec3::new(0.0, -6.0, 0.0) };

/// Strain at which rapier's edges tear.
const TEAR_STRAIN: f32 = 0.3;

/// What a frame may take at most [ms].
const LATE: f64 = 66.0;

/// Faces below which a piece counts as confetti.
const SMALL: usize = 10;

/// How many times ours is thrown, a millimetre farther each time: how a sheet tears is chance. Figures are means, of the worst frame and of what may not be too little the worst.
const THROWS: usize = 3;
/// How much farther [m].
const FARTHER: f64 = 1e-3;

#[derive(Serialize)]
struct Row {
    engine: &'static str,
    solver: &'static str,
    /// Cloth meets itself.
    on_itself: bool,
    nodes: u32,
    threads: u16,
    ms_per_frame: f64,
    ms_worst: f64,
    /// Frames that took longer than [`LATE`].
    late: f64,
    /// Share of the time in `measure`, `tear` and `follow`.
    tearing: Option<f64>,
    /// Every stage with what it takes [ms/frame].
    stages: Vec<(&'static str, f64)>,
    tears: Option<f64>,
    pieces: Option<f64>,
    /// Area of pieces of fewer faces than [`SMALL`], of all.
    confetti: Option<f64>,
    /// Smallest height of a face over its longest side, in the material.
    flattest: Option<f64>,
    ball_height: f64,
    /// Why it ended before its time.
    failed: Option<String>,
}

impl Row {
    /// The mean of some runs.
    fn mean(rows: Vec<Self>) -> Option<Self> {
        let count = rows.len() as f64;
        let mean = |of: &dyn Fn(&Self) -> f64| rows.iter().map(of).sum::<f64>() / count;
        let maybe = |of: &dyn Fn(&Self) -> Option<f64>| Some(rows.iter().map(of).sum::<Option<f64>>()? / count);
        let first = rows.first()?;
        let stages = first.stages.iter().enumerate();
        Some(Self {
            ms_per_frame: mean(&|row| row.ms_per_frame),
            ms_worst: rows.iter().map(|row| row.ms_worst).fold(0.0, f64::max),
            late: mean(&|row| row.late),
            tearing: maybe(&|row| row.tearing),
            stages: stages.map(|(k, &(name, _))| (name, mean(&|row| row.stages[k].1))).collect(),
            tears: maybe(&|row| row.tears),
            pieces: maybe(&|row| row.pieces),
            confetti: rows.iter().filter_map(|row| row.confetti).reduce(f64::max),
            flattest: rows.iter().filter_map(|row| row.flattest).reduce(f64::min),
            ball_height: mean(&|row| row.ball_height),
            failed: rows.iter().find_map(|row| row.failed.clone()),
            ..*first
        })
    }
}

/// How long each stage has taken.
struct Stages {
    spent: [Duration; Stage::ALL.len()],
    now: Option<(usize, Instant)>,
}

impl Stages {
    fn leave(&mut self) {
        if let Some((stage, since)) = self.now.take() {
            self.spent[stage] += since.elapsed();
        }
    }

    /// Every stage with what it took in each of `frames` [ms].
    fn per_frame(&self, frames: usize) -> Vec<(&'static str, f64)> {
        let ms = |spent: Duration| 1e3 * spent.as_secs_f64() / frames as f64;
        Stage::ALL.iter().zip(self.spent).map(|(stage, spent)| (stage.name(), ms(spent))).collect()
    }

    /// Share of the time that these stages took.
    fn share(&self, of: &[Stage]) -> f64 {
        let whole: Duration = self.spent.iter().sum();
        let part: Duration = Stage::ALL.iter().zip(self.spent).filter(|(s, _)| of.contains(s)).map(|(_, t)| t).sum();
        part.as_secs_f64() / whole.as_secs_f64()
    }
}

impl Watch for Stages {
    fn enter(&mut self, stage: Stage) {
        self.leave();
        self.now = Stage::ALL.iter().position(|s| *s == stage).map(|at| (at, Instant::now()));
    }
}

/// One of our ways, or another engine's.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Way {
    /// Implicit steps; cloth meets itself.
    Implicit,
    /// XPBD; cloth meets itself.
    Xpbd,
    /// XPBD; cloth passes through itself, as rapier's does by default.
    XpbdThrough,
    /// The same from a quarter of the nodes, as fine as the others where it tears.
    XpbdFiner,
    /// rapier.
    Rapier,
}

impl Way {
    fn solver(self) -> &'static str {
        match self {
            Self::Implicit => "implicit, 4 steps, toughness",
            Self::Xpbd | Self::XpbdThrough => "xpbd, 4 steps of 16 substeps, toughness",
            Self::XpbdFiner => "the same, fine where it tears, from half of the nodes per side",
            Self::Rapier => "its defaults, tear strain 0.3",
        }
    }

    fn on_itself(self) -> bool {
        matches!(self, Self::Implicit | Self::Xpbd)
    }
}

/// The ball moves by two and a half edges of the finer sheet in such a step.
const STEPS: usize = 4;

/// So many that stress can be read for play without bringing forces into balance (ω²h² = 85 at 100²).
const SUBSTEPS: u32 = 16;

fn ours(side: usize, way: Way, throw: usize) -> anyhow::Result<Simulation> {
    let finer = (way == Way::XpbdFiner).then(|| 1.0 / (side as f64 - 1.0));
    let cloth = cloth(if finer.is_some() { side / 2 } else { side })?;
    let fabric = Fabric {
        density: DENSITY,
        stretch: 2000.0,
        bend: 1e-5,
        strength: Some(Strength { weft: 200.0, warp: 200.0, bias: None }),
        toughness: Some(Energies { weft: 1.0, warp: 1.0, grid: None }),
        ..Fabric::default()
    };
    let elasticity = Elasticity { weft: 2000.0, across: 40.0, warp: 2000.0, shear: 60.0 };
    let mut potentials = membrane(&fabric, elasticity, &cloth);
    potentials.extend(Surroundings::default().loads(&cloth));
    let mut toughness = Toughness::of(&fabric, &cloth).map_err(anyhow::Error::msg)?;
    let mut through = Through::of(&cloth);
    if let Some(edge) = finer {
        (toughness, through) = (toughness.finer(edge), through.finer(edge));
    }
    let mut tearing = Tearing::new(toughness, through);
    tearing.refine = finer.map(|edge| Refine { edge });
    tearing.policy = Policy::EndOfStep { rounds: 4 };
    tearing.coherence.smallest_piece = 1e-3;
    let settings = ContactSettings { thickness: 1e-3, friction: 0.4, stiffness: 2000.0, on_itself: way.on_itself() };
    let xpbd = XpbdSettings { substeps: SUBSTEPS, balance: false, ..XpbdSettings::default() };
    let integrator: Box<dyn Integrator> =
        if way == Way::Implicit { Box::<Implicit>::default() } else { Box::new(Xpbd::new(xpbd)) };
    let place = BALL.place + Vec3::X * (FARTHER * throw as f64);
    let (grip, bodies) = (held(&cloth), thrown(&Ball { place, ..BALL })?);
    let h = 1.0 / (60.0 * STEPS as f64);
    let simulation = Simulation::boxed(cloth, potentials, integrator, h).grip(grip).with_bodies(bodies);
    Ok(simulation.contact(settings).tearing(tearing))
}

/// Pieces, the area of the small ones of all, and the smallest height over longest side.
fn shape(mesh: &Mesh) -> (usize, f64, f64) {
    let parts = pieces(mesh);
    let mut faces = vec![0; parts.areas.len()];
    mesh.faces().for_each(|f| faces[parts.of_face[f] as usize] += 1);
    let small: f64 = parts.areas.iter().zip(&faces).filter(|(_, faces)| **faces < SMALL).map(|(area, _)| area).sum();
    let flattest = mesh.faces().map(|f| height_share(mesh.face_uv(f))).fold(f64::INFINITY, f64::min);
    (parts.areas.len(), small / parts.areas.iter().sum::<f64>(), flattest)
}

/// Milliseconds of a frame, of the longest one, how many took too long, and why it ended too early.
fn timed(mut frame: impl FnMut() -> Result<(), StepError>) -> (f64, f64, usize, Option<String>) {
    let (mut sum, mut worst, mut late, mut count) = (0.0, 0.0f64, 0, 0);
    let mut failed = None;
    while count < FRAMES && failed.is_none() {
        let begin = Instant::now();
        failed = frame().err();
        let ms = 1e3 * begin.elapsed().as_secs_f64();
        (sum, worst, count) = (sum + ms, worst.max(ms), count + 1);
        late += usize::from(ms > LATE);
    }
    (sum / count as f64, worst, late, failed.map(|error| error.to_string()))
}

/// One throw of ours.
fn throw(side: u32, threads: u16, way: Way, throw: usize) -> anyhow::Result<Row> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build().context("threads")?;
    let mut simulation = ours(side as usize, way, throw)?;
    let mut stages = Stages { spent: Default::default(), now: None };
    let (ms_per_frame, ms_worst, late, failed) = timed(|| {
        pool.install(|| {
            (0..STEPS).try_for_each(|_| simulation.step_watched(&mut stages))?;
            stages.leave();
            Ok(())
        })
    });
    let (pieces, confetti, flattest) = shape(&simulation.cloth().mesh);
    Ok(Row {
        engine: "ripstop",
        solver: way.solver(),
        on_itself: way.on_itself(),
        nodes: side,
        threads,
        ms_per_frame,
        ms_worst,
        late: late as f64,
        tearing: Some(stages.share(&[Stage::Measure, Stage::Tear, Stage::Follow])),
        stages: stages.per_frame(FRAMES),
        tears: Some(simulation.tear_count() as f64),
        pieces: Some(pieces as f64),
        confetti: Some(confetti),
        flattest: Some(flattest),
        ball_height: simulation.bodies().middle(0).y,
        failed,
    })
}

/// One throw of rapier's.
fn throw_rapier(side: u32, threads: u16) -> anyhow::Result<Row> {
    let (mut rapier, ball) =
        Rapier::with_ball(side as usize, DENSITY, &BALL, threads.into(), Some(TEAR_STRAIN), false)?;
    let (ms_per_frame, ms_worst, late, failed) = timed(|| {
        rapier.frame();
        Ok(())
    });
    Ok(Row {
        engine: "rapier 0.36",
        solver: Way::Rapier.solver(),
        on_itself: Way::Rapier.on_itself(),
        nodes: side,
        threads,
        ms_per_frame,
        ms_worst,
        late: late as f64,
        tearing: None,
        stages: Vec::new(),
        tears: None,
        pieces: None,
        confetti: None,
        flattest: None,
        ball_height: rapier.height(ball),
        failed,
    })
}

/// Runs all engines and writes table and rows.
pub fn run(ways: &[Way], sizes: &[u32], threads: &[u16], output: &Path) -> anyhow::Result<()> {
    let mut rows: Vec<Row> = Vec::new();
    for (&side, &threads) in sizes.iter().flat_map(|side| threads.iter().map(move |threads| (side, threads))) {
        for &way in ways.iter().filter(|way| **way != Way::Rapier) {
            let throws: anyhow::Result<Vec<Row>> = (0..THROWS).map(|k| throw(side, threads, way, k)).collect();
            rows.extend(Row::mean(throws?));
        }
        if ways.contains(&Way::Rapier) {
            rows.push(throw_rapier(side, threads)?);
        }
    }
    crate::write(output, "torn", &table(&rows), &rows)
}

fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| engine | solver | meets itself | nodes | threads | ms/frame | worst | frames over 66 ms | tearing % | tears | pieces | confetti % | flattest face | ball at m | ended by |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "–".into());
    for row in rows {
        text += &format!(
            "| {} | {} | {} | {}² | {} | {:.1} | {:.0} | {:.1} | {} | {} | {} | {} | {} | {:.2} | {} |\n",
            row.engine,
            row.solver,
            if row.on_itself { "yes" } else { "no" },
            row.nodes,
            row.threads,
            row.ms_per_frame,
            row.ms_worst,
            row.late,
            or_none(row.tearing.map(|share| format!("{:.1}", 100.0 * share))),
            or_none(row.tears.map(|tears| format!("{tears:.0}"))),
            or_none(row.pieces.map(|pieces| format!("{pieces:.0}"))),
            or_none(row.confetti.map(|share| format!("{:.2}", 100.0 * share.abs()))),
            or_none(row.flattest.map(|share| format!("{share:.2}"))),
            row.ball_height,
            or_none(row.failed.clone())
        );
    }
    text
}
