//! A ball thrown on a sheet that is held on two sides: cost of contact, and how much the sheet stretches.

use crate::peer::Rapier;
use crate::strain::Strain;
use anyhow::Context;
use ripstop::body::{Bodies, BodySpec, Drive, Pose, Shape};
use ripstop::contact::ContactSettings;
use ripstop::integrator::{Implicit, Integrator, Xpbd, XpbdSettings};
use ripstop::mesh::{NodeId, generate};
use ripstop::model::{Surroundings, membrane, springs};
use ripstop::potential::Elasticity;
use ripstop::{Cloth, Fabric, Grip, Placement, Simulation, Vec2, Vec3};
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

pub const FRAMES: usize = 90;
pub const DENSITY: f64 = 0.2;

/// What is thrown.
pub struct Ball {
    /// [m]
    pub radius: f64,
    /// [kg]
    pub mass: f64,
    /// Where it begins [m].
    pub place: Vec3,
    /// [m/s]
    pub velocity: Vec3,
}

const BALL: Ball =
    Ball { radius: 0.12, mass: 0.3, place: Vec3::new(0.5, 0.2, 0.5), velocity: Vec3::new(0.0, -2.0, 0.0) };

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
    strain_p99: f64,
    strain_mean: f64,
    strain_max: f64,
    strain_max_ever: f64,
    ball_height: f64,
}

/// A level sheet of 1 m.
pub fn cloth(side: usize) -> anyhow::Result<Cloth> {
    let mesh = generate::grid(Vec2::ONE, [side; 2]).context("the grid")?;
    Ok(Cloth::flat(mesh, DENSITY, Placement { warp: Vec3::Z, ..Placement::default() }))
}

/// Holds two of its sides.
pub fn held(cloth: &Cloth) -> Grip {
    let held: Vec<NodeId> = cloth.mesh.nodes().filter(|&n| [0.0, 1.0].contains(&cloth.mesh.node_uv(n).x)).collect();
    Grip::still("sides", &held, cloth)
}

/// The ball on its way.
pub fn thrown(ball: &Ball) -> anyhow::Result<Bodies> {
    let drive = Drive::Free { mass: ball.mass, velocity: ball.velocity, spin: Vec3::ZERO };
    let ball = BodySpec::new("ball", Shape::Ball { radius: ball.radius }).at(Pose::at(ball.place)).driven(drive);
    Ok(Bodies::new(vec![ball], Vec3::new(0.0, -9.81, 0.0))?)
}

/// Steps to a frame.
const STEPS: usize = 4;

fn ours(side: usize, implicit: bool, on_itself: bool) -> anyhow::Result<Simulation> {
    let cloth = cloth(side)?;
    let fabric =
        Fabric { density: DENSITY, stretch: 2000.0, shear: 0.0, bend: 1e-4, damping: 0.0, ..Fabric::default() };
    let mut potentials = if implicit {
        membrane(&fabric, Elasticity { weft: 2000.0, across: 40.0, warp: 2000.0, shear: 60.0 }, &cloth)
    } else {
        springs(&Fabric { bend: 0.0, ..fabric }, &cloth)
    };
    potentials.extend(Surroundings::default().loads(&cloth));
    let (grip, bodies) = (held(&cloth), thrown(&BALL)?);
    let settings = ContactSettings { thickness: 1e-3, friction: 0.4, stiffness: 2000.0, on_itself };
    // Rows of contact are those of the beginning of a step, so steps are short and have few substeps.
    let xpbd = XpbdSettings { substeps: 4, ..XpbdSettings::default() };
    let integrator: Box<dyn Integrator> = if implicit { Box::<Implicit>::default() } else { Box::new(Xpbd::new(xpbd)) };
    let h = 1.0 / (60.0 * STEPS as f64);
    Ok(Simulation::boxed(cloth, potentials, integrator, h).grip(grip).with_bodies(bodies).contact(settings))
}

/// Milliseconds of frames, the strain at the end and the largest at any frame.
fn timed(
    sheet: &Cloth,
    mut frame: impl FnMut() -> anyhow::Result<Vec<Vec3>>,
) -> anyhow::Result<(Vec<f64>, Strain, f64)> {
    let (mut times, mut last, mut ever) = (Vec::new(), Strain::default(), 0.0f64);
    for _ in 0..FRAMES {
        let begin = Instant::now();
        let x = frame()?;
        times.push(1e3 * begin.elapsed().as_secs_f64());
        last = Strain::of(sheet, &[], &x);
        ever = ever.max(last.max);
    }
    Ok((times, last, ever))
}

/// Runs all engines and writes table and rows.
pub fn run(sizes: &[u32], threads: &[u16], output: &Path) -> anyhow::Result<()> {
    let mut rows: Vec<Row> = Vec::new();
    for (&side, &threads) in sizes.iter().flat_map(|side| threads.iter().map(move |threads| (side, threads))) {
        let sheet = cloth(side as usize)?;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build().context("threads")?;
        let mut add = |engine, solver, on_itself, (times, strain, ever): (Vec<f64>, Strain, f64), ball_height| {
            rows.push(Row {
                engine,
                solver,
                on_itself,
                nodes: side,
                threads,
                ms_per_frame: times.iter().sum::<f64>() / FRAMES as f64,
                ms_worst: times.iter().copied().fold(0.0, f64::max),
                strain_p99: strain.p99,
                strain_mean: strain.mean,
                strain_max: strain.max,
                strain_max_ever: ever,
                ball_height,
            });
        };
        for (implicit, on_itself) in [(true, true), (false, true), (false, false)] {
            let mut simulation = ours(side as usize, implicit, on_itself)?;
            let found = pool.install(|| {
                timed(&sheet, || {
                    for _ in 0..STEPS {
                        simulation.step()?;
                    }
                    Ok(simulation.cloth().x.to_vec())
                })
            })?;
            let solver = if implicit { "implicit, 4 steps, membrane" } else { "xpbd, 4 steps of 4 substeps, springs" };
            add("ripstop", solver, on_itself, found, simulation.bodies().middle(0).y);
        }
        // By default rapier's cloth passes through itself.
        for on_itself in [true, false] {
            let (mut rapier, ball) = Rapier::with_ball(side as usize, DENSITY, &BALL, threads.into(), None, on_itself)?;
            let found = timed(&sheet, || {
                rapier.frame();
                Ok(rapier.positions())
            })?;
            let height = rapier.height(ball);
            add("rapier 0.36", "its defaults", on_itself, found, height);
        }
    }
    let mut text = String::from(
        "| engine | solver | meets itself | nodes | threads | ms/frame | worst | p99 % | mean % | largest % | largest ever % | ball at m |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in &rows {
        text += &format!(
            "| {} | {} | {} | {}² | {} | {:.1} | {:.0} | {:.2} | {:.2} | {:.1} | {:.1} | {:.3} |\n",
            row.engine,
            row.solver,
            if row.on_itself { "yes" } else { "no" },
            row.nodes,
            row.threads,
            row.ms_per_frame,
            row.ms_worst,
            100.0 * row.strain_p99,
            100.0 * row.strain_mean,
            100.0 * row.strain_max,
            100.0 * row.strain_max_ever,
            row.ball_height
        );
    }
    crate::write(output, "ball", &text, &rows)
}
