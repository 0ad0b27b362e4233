//! A sheet of 1 m² hung by two corners, implicitly: time, iterations and strain.
//!
//! `cargo run --release -p ripstop --example hang -- [nodes per side] [threads] [preconditioner] [tolerance] [substeps] [newton] [slits]`

use ripstop::integrator::{Implicit, ImplicitSettings, Motion};
use ripstop::mesh::{ChangeLog, NodeId, generate};
use ripstop::model::{Surroundings, membrane};
use ripstop::potential::{Elasticity, Forces};
use ripstop::sparse::PreconditionerKind;
use ripstop::{Cloth, Fabric, Placement, Vec2, Vec3};
use std::time::Instant;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |k: usize, usual: f64| words.get(k).and_then(|w| w.parse().ok()).unwrap_or(usual);
    let (side, threads) = (number(0, 100.0) as usize, number(1, 1.0) as usize);
    let preconditioner = match words.get(2).map(String::as_str) {
        Some("jacobi") => PreconditionerKind::Jacobi,
        Some("ssor") => PreconditionerKind::Ssor,
        _ => PreconditionerKind::Grids,
    };
    let (tolerance, substeps, newton) = (number(3, 1e-2), number(4, 1.0) as u32, number(5, 1.0) as u32);
    let settings = ImplicitSettings { tolerance, substeps, newton, preconditioner, iterations: 5000 };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    pool.install(|| hang(side, settings, number(6, 0.0) as usize));
}

fn hang(side: usize, settings: ImplicitSettings, slits: usize) {
    let fabric = Fabric { density: 0.2, bend: 1e-4, damping: 0.0, ..Fabric::default() };
    let place = Placement { warp: Vec3::Z, ..Placement::default() };
    let mut cloth = Cloth::flat(generate::grid(Vec2::ONE, [side; 2]).expect("a grid"), fabric.density, place);
    let mut log = ChangeLog::new();
    for slit in 1..=slits {
        let u = (side * slit / (slits + 1)) as f64 / (side - 1) as f64;
        for e in cloth.mesh.edges() {
            let [a, b] = cloth.mesh.edge_nodes(e).map(|n| cloth.mesh.node_uv(n));
            if (a.x - u).abs() + (b.x - u).abs() < 1e-6 && a.y.max(b.y) < 0.8 {
                cloth.mesh.open_edge(e, &mut log);
            }
        }
    }
    cloth.follow(&log);
    for n in [side * (side - 1), side * side - 1] {
        cloth.hold(NodeId(n as u32), Some(0));
    }
    let elasticity = Elasticity { weft: 2000.0, across: 40.0, warp: 2000.0, shear: 60.0 };
    let mut potentials = membrane(&fabric, elasticity, &cloth);
    potentials.extend(Surroundings::default().loads(&cloth));
    let mut forces = Forces::new(potentials);
    let mut integrator = Implicit::new(settings);
    let (frames, h) = (120, 1.0 / 60.0);
    let mut unsolved = 0;
    let begin = Instant::now();
    for _ in 0..frames {
        use ripstop::integrator::Integrator;
        integrator.advance(Motion { cloth: &mut cloth, forces: &mut forces }, h);
        unsolved += u32::from(integrator.unsolved().is_some());
    }
    let milliseconds = begin.elapsed().as_secs_f64() * 1e3 / f64::from(frames);
    let (solves, iterations) = integrator.effort();
    let mut strains: Vec<f64> = cloth.mesh.edges().map(|e| cloth.total_strain(e)).collect();
    strains.sort_by(f64::total_cmp);
    let mean = strains.iter().sum::<f64>() / strains.len() as f64;
    println!(
        "{side}² {:?} {} threads: {milliseconds:.2} ms/frame, {:.1} iterations per solve, {unsolved} unsolved, strain p99 {:.3} %, mean {:.3} %, largest {:.1} %, kinetic {:.4} J",
        settings.preconditioner,
        rayon::current_num_threads(),
        iterations as f64 / solves as f64,
        100.0 * strains[strains.len() * 99 / 100],
        100.0 * mean,
        100.0 * strains[strains.len() - 1],
        cloth.kinetic_energy(),
    );
}
