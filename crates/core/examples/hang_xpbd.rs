//! A sheet of springs of 1 m² hung by two corners, by XPBD: time, strain and calm, beside the converged run.
//!
//! `cargo run --release -p ripstop --example hang_xpbd -- [nodes per side] [threads] [substeps] [iterations] [levels] [damping] [converge]`
//! `cargo run --release -p ripstop --example hang_xpbd -- rows [nodes per side]`: what one projection of each kind of element takes
//! `cargo run --release -p ripstop --example hang_xpbd -- tear [nodes per side] [levels]`: what it takes to follow a tear
//!
//! `converge` runs implicit Euler with so many substeps as well, for the same 2 s (slow). Strain is that of edges that don't end
//! within 10 cm of a held corner, mean of the last half second; times are those of the quickest frame.

use ripstop::cloth::Touched;
use ripstop::integrator::{Implicit, ImplicitSettings, Integrator, Motion, Xpbd, XpbdSettings};
use ripstop::mesh::{ChangeLog, EdgeId, NodeId, generate};
use ripstop::model::{Surroundings, springs};
use ripstop::potential::{
    Bend, Bending, Elasticity, ElementSet, Forces, MeasuredBend, Membrane, Potential, Shear, Stretch,
};
use ripstop::{Cloth, Fabric, Placement, Vec2, Vec3};
use std::time::Instant;

const FRAMES: usize = 120;
const JUDGED: usize = 30;

fn main() {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let mode = words.first().filter(|word| word.parse::<f64>().is_err()).cloned();
    if mode.is_some() {
        words.remove(0);
    }
    let number = |k: usize, usual: f64| words.get(k).and_then(|word| word.parse().ok()).unwrap_or(usual);
    let side = number(0, 100.0) as usize;
    let usual = XpbdSettings::default();
    match mode.as_deref() {
        Some("rows") => return rows(side),
        Some("tear") => return tear(side, number(1, f64::from(usual.levels)) as u32),
        _ => {}
    }
    let (threads, damping) = (number(1, 1.0) as usize, number(5, 0.0));
    let settings = XpbdSettings {
        substeps: number(2, f64::from(usual.substeps)) as u32,
        iterations: number(3, f64::from(usual.iterations)) as u32,
        levels: number(4, f64::from(usual.levels)) as u32,
        ..usual
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    pool.install(|| {
        if number(6, 0.0) > 0.0 {
            let fine =
                ImplicitSettings { substeps: number(6, 0.0) as u32, tolerance: 1e-4, newton: 3, ..Default::default() };
            hang(side, damping, "implicit", &mut Implicit::new(fine));
        }
        let mut xpbd = Xpbd::new(settings);
        let name =
            format!("{} substeps × {} iterations, {} levels", settings.substeps, settings.iterations, settings.levels);
        let best = hang(side, damping, &name, &mut xpbd);
        let projected = f64::from(settings.substeps * settings.iterations) * (3 * side * side - 4 * side + 1) as f64;
        println!("    {:.2} ns per projected edge, all else included", best * 1e6 / projected);
    });
}

fn sheet(side: usize, held: &[usize]) -> Cloth {
    let place = Placement { warp: Vec3::Z, ..Placement::default() };
    let mut cloth = Cloth::flat(generate::grid(Vec2::ONE, [side; 2]).expect("a grid"), 0.2, place);
    held.iter().for_each(|&n| cloth.hold(NodeId(n as u32), Some(0)));
    cloth
}

fn corners(side: usize) -> [usize; 2] {
    [side * (side - 1), side * side - 1]
}

fn hung(side: usize, damping: f64) -> (Cloth, Forces) {
    let fabric = Fabric { density: 0.2, stretch: 2000.0, shear: 0.0, bend: 0.0, damping, ..Fabric::default() };
    let cloth = sheet(side, &corners(side));
    let mut potentials = springs(&fabric, &cloth);
    potentials.extend(Surroundings::default().loads(&cloth));
    (cloth, Forces::new(potentials))
}

/// Milliseconds of one step of a frame.
fn frame(integrator: &mut dyn Integrator, cloth: &mut Cloth, forces: &mut Forces) -> f64 {
    let begin = Instant::now();
    integrator.advance(Motion::new(cloth, forces), 1.0 / 60.0);
    begin.elapsed().as_secs_f64() * 1e3
}

/// Milliseconds of the quickest frame.
fn hang(side: usize, damping: f64, name: &str, integrator: &mut dyn Integrator) -> f64 {
    let (mut cloth, mut forces) = hung(side, damping);
    let uv = |cloth: &Cloth, n: NodeId| cloth.mesh.node_uv(n);
    let held = corners(side).map(|n| uv(&cloth, NodeId(n as u32)));
    let mut frames = Vec::new();
    let (mut largest, mut pins, mut p99, mut mean) = (0.0, 0.0, 0.0, 0.0);
    for i in 0..FRAMES {
        frames.push(frame(integrator, &mut cloth, &mut forces));
        if i + JUDGED < FRAMES {
            continue;
        }
        let away = |n: NodeId| held.iter().all(|h| h.distance(uv(&cloth, n)) >= 0.1);
        let edges = || cloth.mesh.edges();
        let mut strains: Vec<f64> = edges()
            .filter(|&e| cloth.mesh.edge_nodes(e).into_iter().all(away))
            .map(|e| cloth.total_strain(e))
            .collect();
        strains.sort_by(f64::total_cmp);
        let part = 100.0 / JUDGED as f64;
        pins += part * edges().map(|e| cloth.total_strain(e)).fold(0.0, f64::max);
        largest += part * strains[strains.len() - 1];
        p99 += part * strains[strains.len() * 99 / 100];
        mean += part * strains.iter().sum::<f64>() / strains.len() as f64;
    }
    let mean_time = frames.iter().sum::<f64>() / frames.len() as f64;
    let speed = (2.0 * cloth.kinetic_energy() / 0.2).sqrt();
    let lowest = cloth.x.iter().map(|x| x.y).fold(0.0, f64::min);
    frames.sort_by(f64::total_cmp);
    println!(
        "{side}² {} threads, {name}: {mean_time:.2} ms/frame, quickest tenth {:.2}, quickest {:.2}; strain away from the corners: largest {largest:.2} %, p99 {p99:.3} %, mean {mean:.3} % (all: {pins:.1} %); at the end lowest {lowest:.4} m, rms speed {speed:.4} m/s",
        rayon::current_num_threads(),
        frames[frames.len() / 10],
        frames[0],
    );
    frames[0]
}

/// Nanoseconds to project one element of each kind, on one thread.
fn rows(side: usize) {
    let cloth = sheet(side, &[]);
    let kinds: Vec<Box<dyn Potential>> = vec![
        Box::new(ElementSet::new(Stretch { stiffness: 2000.0, damping: 0.0 }, &cloth)),
        Box::new(ElementSet::new(Shear { stiffness: 60.0 }, &cloth)),
        Box::new(ElementSet::new(Bend { stiffness: 1e-4 }, &cloth)),
        Box::new(ElementSet::new(MeasuredBend::from(Bending::constant([1e-4; 3])), &cloth)),
        Box::new(ElementSet::new(
            Membrane { elasticity: Elasticity { weft: 2000.0, across: 40.0, warp: 2000.0, shear: 60.0 }, damping: 0.0 },
            &cloth,
        )),
    ];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("threads");
    pool.install(|| {
        let run = |potentials: Vec<Box<dyn Potential>>| {
            let (mut cloth, mut forces) = (cloth.clone(), Forces::new(potentials));
            let mut xpbd =
                Xpbd::new(XpbdSettings { substeps: 20, iterations: 1, levels: 0, ..XpbdSettings::default() });
            (0..60).map(|_| frame(&mut xpbd, &mut cloth, &mut forces)).fold(f64::MAX, f64::min)
        };
        let nothing = run(Vec::new());
        println!("{side}²: {:.1} ns per node and substep without elements", nothing * 5e4 / (side * side) as f64);
        for kind in kinds {
            let (name, mut count) = (kind.name(), 0);
            kind.visit_rows(&mut |_, _| count += 1);
            println!(
                "{side}²: {name}, {count} rows: {:.2} ns per row",
                (run(vec![kind]) - nothing) * 5e4 / f64::from(count)
            );
        }
    });
}

/// Milliseconds that a step takes longer after a tear of one edge, on one thread.
fn tear(side: usize, levels: u32) {
    let (mut cloth, mut forces) = hung(side, 0.0);
    let mut xpbd = Xpbd::new(XpbdSettings { substeps: 1, iterations: 1, levels, ..XpbdSettings::default() });
    let u = (side / 2) as f64 / (side - 1) as f64;
    let on_line = |e: &EdgeId| {
        let ends = cloth.mesh.edge_nodes(*e).map(|n| cloth.mesh.node_uv(n));
        ends.iter().all(|p| (p.x - u).abs() < 1e-6 && p.y < 0.8)
    };
    let edges: Vec<EdgeId> = cloth.mesh.edges().filter(on_line).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("threads");
    pool.install(|| {
        frame(&mut xpbd, &mut cloth, &mut forces);
        let (mut plain, mut torn) = (Vec::new(), Vec::new());
        for &e in &edges {
            let mut log = ChangeLog::new();
            cloth.mesh.open_edge(e, &mut log);
            cloth.follow(&log);
            let touched = Touched::by(&cloth.mesh, &log);
            forces.follow(&cloth, &touched);
            xpbd.follow(&touched);
            torn.push(frame(&mut xpbd, &mut cloth, &mut forces));
            plain.push(frame(&mut xpbd, &mut cloth, &mut forces));
        }
        let best = |times: Vec<f64>| times.into_iter().fold(f64::MAX, f64::min);
        let (plain, torn) = (best(plain), best(torn));
        println!(
            "{side}², {levels} levels: a step of one substep {plain:.3} ms, after a tear {torn:.3} ms (quickest of {})",
            edges.len()
        );
    });
}
