//! A sheet of 1 m² hung by two corners, implicitly: time, iterations and strain; and what it costs to follow a tear.
//!
//! `cargo run --release -p ripstop --example hang -- [nodes per side] [threads] [preconditioner] [tolerance] [substeps] [newton] [slits]`
//! `cargo run --release -p ripstop --example hang -- tear [nodes per side] [threads]`
//!
//! Strain is that of edges farther than 0.1 m from the held corners, where it grows with resolution without end.

use ripstop::cloth::Touched;
use ripstop::integrator::{Implicit, ImplicitSettings, Integrator, Motion};
use ripstop::mesh::{ChangeLog, EdgeId, NodeId, generate};
use ripstop::model::{Surroundings, membrane};
use ripstop::potential::{Elasticity, Forces};
use ripstop::sparse::{Pattern, Preconditioner, PreconditionerKind};
use ripstop::{Cloth, Fabric, Placement, Vec2, Vec3};
use std::time::Instant;

fn main() {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let tear = words.first().is_some_and(|word| word == "tear");
    if tear {
        words.remove(0);
    }
    let number = |k: usize, usual: f64| words.get(k).and_then(|w| w.parse().ok()).unwrap_or(usual);
    let (side, threads) = (number(0, 100.0) as usize, number(1, 1.0) as usize);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    if tear {
        return pool.install(|| follow(side));
    }
    let preconditioner = match words.get(2).map(String::as_str) {
        Some("jacobi") => PreconditionerKind::Jacobi,
        Some("ssor") => PreconditionerKind::Ssor,
        _ => PreconditionerKind::Grids,
    };
    let usual = ImplicitSettings::default();
    let (tolerance, substeps, newton) = (number(3, usual.tolerance), number(4, 1.0) as u32, number(5, 1.0) as u32);
    let settings = ImplicitSettings { tolerance, substeps, newton, preconditioner, iterations: 5000 };
    pool.install(|| hang(side, settings, number(6, 0.0) as usize));
}

/// Edges along a line of constant u, from below up to `high`.
fn line(cloth: &Cloth, u: f64, high: f64) -> Vec<EdgeId> {
    let ends = |e: EdgeId| cloth.mesh.edge_nodes(e).map(|n| cloth.mesh.node_uv(n));
    let on_line = |e: &EdgeId| ends(*e).iter().all(|p| (p.x - u).abs() < 1e-6 && p.y < high);
    let mut edges: Vec<EdgeId> = cloth.mesh.edges().filter(on_line).collect();
    edges.sort_by(|a, b| ends(*a)[0].y.min(ends(*a)[1].y).total_cmp(&ends(*b)[0].y.min(ends(*b)[1].y)));
    edges
}

fn sheet(side: usize, slits: usize) -> (Cloth, Forces) {
    let fabric = Fabric { density: 0.2, bend: 1e-4, damping: 0.0, ..Fabric::default() };
    let place = Placement { warp: Vec3::Z, ..Placement::default() };
    let mut cloth = Cloth::flat(generate::grid(Vec2::ONE, [side; 2]).expect("a grid"), fabric.density, place);
    let mut log = ChangeLog::new();
    for slit in 1..=slits {
        for e in line(&cloth, (side * slit / (slits + 1)) as f64 / (side - 1) as f64, 0.8) {
            cloth.mesh.open_edge(e, &mut log);
        }
    }
    cloth.follow(&log);
    for n in [side * (side - 1), side * side - 1] {
        cloth.hold(NodeId(n as u32), Some(0));
    }
    let elasticity = Elasticity { weft: 2000.0, across: 40.0, warp: 2000.0, shear: 60.0 };
    let mut potentials = membrane(&fabric, elasticity, &cloth);
    potentials.extend(Surroundings::default().loads(&cloth));
    (cloth, Forces::new(potentials))
}

fn hang(side: usize, settings: ImplicitSettings, slits: usize) {
    let (mut cloth, mut forces) = sheet(side, slits);
    let mut integrator = Implicit::new(settings);
    let (frames, h) = (120, 1.0 / 60.0);
    let mut unsolved = 0;
    let mut spent = Vec::new();
    for _ in 0..frames {
        let begin = Instant::now();
        integrator.advance(Motion::new(&mut cloth, &mut forces), h);
        spent.push(begin.elapsed().as_secs_f64() * 1e3);
        unsolved += u32::from(integrator.unsolved().is_some());
    }
    let milliseconds = spent.iter().sum::<f64>() / f64::from(frames);
    let (solves, iterations) = integrator.effort();
    let far = |e: &EdgeId| {
        let ends = cloth.mesh.edge_nodes(*e).map(|n| cloth.mesh.node_uv(n));
        ends.iter().all(|p| p.distance(Vec2::Y) > 0.1 && p.distance(Vec2::ONE) > 0.1)
    };
    let mut strains: Vec<f64> = cloth.mesh.edges().filter(far).map(|e| cloth.total_strain(e)).collect();
    strains.sort_by(f64::total_cmp);
    let mean = strains.iter().sum::<f64>() / strains.len() as f64;
    let largest = cloth.mesh.edges().map(|e| cloth.total_strain(e)).fold(0.0, f64::max);
    println!(
        "{side}² {:?} {} threads: {milliseconds:.2} ms/frame (a tenth of them below {:.2}), {:.2} solves per step, {:.1} iterations per solve, {unsolved} unsolved, strain p99 {:.3} %, mean {:.4} %, largest {:.2} % ({:.1} % at the corners), kinetic {:.4} J",
        settings.preconditioner,
        rayon::current_num_threads(),
        low(spent),
        solves as f64 / f64::from(frames * settings.substeps),
        iterations as f64 / solves as f64,
        100.0 * strains[strains.len() * 99 / 100],
        100.0 * mean,
        100.0 * strains[strains.len() - 1],
        100.0 * largest,
        cloth.kinetic_energy(),
    );
}

/// What a tenth is below: on a machine that has other things to do, the time that the work itself takes.
fn low(mut spent: Vec<f64>) -> f64 {
    spent.sort_by(f64::total_cmp);
    spent[spent.len() / 10]
}

/// A tear that grows edge by edge from the lower hem: microseconds per edge.
fn follow(side: usize) {
    let (mut cloth, mut forces) = sheet(side, 0);
    let mut pattern = Pattern::default();
    let mut preconditioner = Preconditioner::new(PreconditionerKind::Grids);
    let begin = Instant::now();
    forces.link_stiffness(&mut pattern, cloth.x.len());
    let anew = begin.elapsed();
    preconditioner.link(&pattern, &cloth);
    println!("{side}²: made anew, matrix {anew:?}, grids {:?}", begin.elapsed() - anew);
    let edges = line(&cloth, (side / 2) as f64 / (side - 1) as f64, 0.8);
    let mut spent = [const { Vec::new() }; 3];
    for &e in &edges {
        let mut log = ChangeLog::new();
        cloth.mesh.open_edge(e, &mut log);
        cloth.follow(&log);
        let touched = Touched::by(&cloth.mesh, &log);
        let mut clock = Instant::now();
        let mut lap = |k: usize| {
            spent[k].push(clock.elapsed().as_secs_f64() * 1e6);
            clock = Instant::now();
        };
        forces.follow(&cloth, &touched);
        lap(0);
        forces.link_stiffness(&mut pattern, cloth.x.len());
        lap(1);
        preconditioner.link(&pattern, &cloth);
        lap(2);
    }
    let [elements, matrix, grids] = spent.map(low);
    println!(
        "{side}²: {} edges opened one by one, µs each (a tenth below): elements {elements:.0}, matrix {matrix:.0}, grids {grids:.0}",
        edges.len()
    );
}
