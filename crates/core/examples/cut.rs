//! What a cut costs: a sheet of 100 × 100 nodes that hangs from its top is cut across; frames before, at and after the cut.
//!
//! `cargo run --release -p ripstop --example cut`

use ripstop::integrator::{Implicit, ImplicitSettings};
use ripstop::mesh::{NodeId, generate, pieces};
use ripstop::model::{Surroundings, membrane};
use ripstop::potential::Elasticity;
use ripstop::{Cloth, Fabric, Grip, Placement, Simulation, Vec2};
use std::time::Instant;

fn main() {
    let mesh = generate::grid(Vec2::ONE, [100, 100]).expect("a grid");
    let cloth = Cloth::flat(mesh, Fabric::SOFT.density, Placement::default());
    let top: Vec<NodeId> = cloth.mesh.nodes().filter(|&n| cloth.mesh.node_uv(n).y == 1.0).collect();
    let mut potentials = membrane(&Fabric::SOFT, Elasticity::of(&Fabric::SOFT), &cloth);
    potentials.extend(Surroundings::default().loads(&cloth));
    let grip = Grip::still("top", &top, &cloth);
    let integrator = Implicit::new(ImplicitSettings::default());
    let mut simulation = Simulation::new(cloth, potentials, integrator, 1.0 / 60.0).grip(grip);
    for frame in 0..60 {
        if frame == 30 {
            simulation.cut(&[Vec2::new(-0.1, 0.43), Vec2::new(1.1, 0.57)]);
        }
        let start = Instant::now();
        simulation.step().expect("a step");
        let seconds = start.elapsed().as_secs_f64();
        if (20..40).contains(&frame) {
            let parts = pieces(&simulation.cloth().mesh).areas.len();
            println!("frame {frame}: {:.2} ms, {} opened, {parts} pieces", 1e3 * seconds, simulation.events().len());
        }
    }
}
