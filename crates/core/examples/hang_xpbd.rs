//! A sheet of springs of 1 m² hung by two corners, by XPBD: time, strain and calm, beside the converged run.
//!
//! `cargo run --release -p ripstop --example hang_xpbd -- [nodes per side] [threads] [substeps] [iterations] [levels] [damping] [converge]`
//!
//! `converge` 1 runs implicit Euler with many substeps as well, for the same 2 s (slow). Strain is that of edges that don't end
//! within 5 cm of a held corner.

use ripstop::integrator::{Implicit, ImplicitSettings, Integrator, Motion, Xpbd, XpbdSettings};
use ripstop::mesh::{NodeId, generate};
use ripstop::model::{Surroundings, springs};
use ripstop::potential::Forces;
use ripstop::{Cloth, Fabric, Placement, Vec2, Vec3};
use std::time::Instant;

const FRAMES: u32 = 120;

fn main() {
    let words: Vec<f64> = std::env::args().skip(1).map_while(|word| word.parse().ok()).collect();
    let number = |k: usize, usual: f64| words.get(k).copied().unwrap_or(usual);
    let (side, threads, damping) = (number(0, 100.0) as usize, number(1, 1.0) as usize, number(5, 0.0));
    let usual = XpbdSettings::default();
    let settings = XpbdSettings {
        substeps: number(2, f64::from(usual.substeps)) as u32,
        iterations: number(3, f64::from(usual.iterations)) as u32,
        levels: number(4, f64::from(usual.levels)) as u32,
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

/// Milliseconds of the quickest tenth of frames.
fn hang(side: usize, damping: f64, name: &str, integrator: &mut dyn Integrator) -> f64 {
    let fabric = Fabric { density: 0.2, stretch: 2000.0, shear: 0.0, bend: 0.0, damping, ..Fabric::default() };
    let place = Placement { warp: Vec3::Z, ..Placement::default() };
    let mut cloth = Cloth::flat(generate::grid(Vec2::ONE, [side; 2]).expect("a grid"), fabric.density, place);
    let corners = [side * (side - 1), side * side - 1].map(|n| NodeId(n as u32));
    corners.iter().for_each(|&n| cloth.hold(n, Some(0)));
    let mut potentials = springs(&fabric, &cloth);
    potentials.extend(Surroundings { viscous: 0.0, ..Surroundings::default() }.loads(&cloth));
    let mut forces = Forces::new(potentials);
    let mut frames = Vec::new();
    for _ in 0..FRAMES {
        let begin = Instant::now();
        integrator.advance(Motion::new(&mut cloth, &mut forces), 1.0 / 60.0);
        frames.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    let mean_time = frames.iter().sum::<f64>() / frames.len() as f64;
    frames.sort_by(f64::total_cmp);
    let away = |n: NodeId| corners.iter().all(|&c| cloth.mesh.node_uv(c).distance(cloth.mesh.node_uv(n)) > 0.05);
    let edges = || cloth.mesh.edges();
    let largest = edges().map(|e| cloth.total_strain(e)).fold(0.0, f64::max);
    let mut strains: Vec<f64> =
        edges().filter(|&e| cloth.mesh.edge_nodes(e).into_iter().all(away)).map(|e| cloth.total_strain(e)).collect();
    strains.sort_by(f64::total_cmp);
    let mean = strains.iter().sum::<f64>() / strains.len() as f64;
    let speed = (2.0 * cloth.kinetic_energy() / 0.2).sqrt();
    let lowest = cloth.x.iter().map(|x| x.y).fold(0.0, f64::min);
    println!(
        "{side}² {} threads, {name}: {mean_time:.2} ms/frame (quickest tenth {:.2}); strain largest {:.2} %, away from the corners: largest {:.2} %, p99 {:.3} %, mean {:.3} %; lowest {lowest:.4} m, rms speed {speed:.4} m/s",
        rayon::current_num_threads(),
        frames[frames.len() / 10],
        100.0 * largest,
        100.0 * strains[strains.len() - 1],
        100.0 * strains[strains.len() * 99 / 100],
        100.0 * mean,
    );
    frames[frames.len() / 10]
}
