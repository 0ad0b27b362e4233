//! A sheet of 1 m falls on a ball: what contact costs beside the same sheet falling freely for as many steps.
//!
//!     cargo run --release -p ripstop --example drape -- [nodes] [threads] [implicit | xpbd] [steps] [steps per second]
//!
//! Prints milliseconds per step by stage, and for every tenth of the run how many places touch and what a step took, which shows how cost grows with contacts.

use ripstop::body::{Bodies, BodySpec, Pose, Shape};
use ripstop::contact::ContactSettings;
use ripstop::integrator::{Implicit, Integrator, Xpbd};
use ripstop::mesh::{Vec2, generate};
use ripstop::potential::Elasticity;
use ripstop::{Cloth, Fabric, Placement, Simulation, Stage, Vec3, Watch, model};
use std::time::Instant;

struct Clock {
    stage: Stage,
    since: Instant,
    seconds: [f64; Stage::ALL.len()],
}

impl Clock {
    fn note(&mut self) {
        self.seconds[self.stage as usize] += self.since.elapsed().as_secs_f64();
    }
}

impl Watch for Clock {
    fn enter(&mut self, stage: Stage) {
        self.note();
        (self.stage, self.since) = (stage, Instant::now());
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, or: f64| words.get(at).map_or(or, |word| word.parse().expect("a number"));
    let (nodes, threads, steps) = (number(0, 100.0) as usize, number(1, 1.0) as usize, number(3, 240.0) as usize);
    let how = words.get(2).map_or("implicit", |word| word);
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().expect("threads");
    let mut alone = 0.0;
    for contact in [false, true] {
        let mut simulation = sheet(nodes, how, 1.0 / number(4, 240.0));
        if contact {
            let ball = BodySpec::new("ball", Shape::Ball { radius: 0.2 });
            let floor = BodySpec::new("floor", Shape::Plane).at(Pose::at(Vec3::new(0.0, -0.7, 0.0)));
            let bodies = Bodies::new(vec![ball, floor], Vec3::new(0.0, -9.81, 0.0)).expect("bodies");
            let settings = ContactSettings { thickness: 1e-3, friction: 0.4, stiffness: 2000.0, on_itself: true };
            simulation = simulation.with_bodies(bodies).contact(settings);
        }
        let mut clock = Clock { stage: Stage::Drive, since: Instant::now(), seconds: [0.0; Stage::ALL.len()] };
        let mut tenth = Instant::now();
        for step in 1..=steps {
            simulation.step_watched(&mut clock).expect("a step");
            if contact && step % (steps / 10).max(1) == 0 {
                let c = simulation.cloth();
                let strain = c.mesh.edges().map(|e| c.total_strain(e)).fold(0.0, f64::max);
                println!(
                    "  {:.2} s: {} touch, {:.1} ms per step, largest strain {:.1} %, {:?}",
                    simulation.time(),
                    simulation.contacts().report().touching,
                    1e3 * tenth.elapsed().as_secs_f64() / (steps / 10).max(1) as f64,
                    100.0 * strain,
                    simulation.contacts().report(),
                );
                tenth = Instant::now();
            }
        }
        clock.note();
        let stage =
            |stage: &Stage| format!("{} {:.1}", stage.name(), 1e3 * clock.seconds[*stage as usize] / steps as f64);
        let each: Vec<String> = Stage::ALL.iter().filter(|s| clock.seconds[**s as usize] > 1e-4).map(stage).collect();
        let all = 1e3 * clock.seconds.iter().sum::<f64>() / steps as f64;
        println!("{} {nodes}², contact {contact}: {all:.1} ms per step: {}", how, each.join(", "));
        if contact {
            println!("with contact {:.2} × the time without", all / alone);
        }
        alone = all;
    }
}

fn sheet(nodes: usize, how: &str, h: f64) -> Simulation {
    let fabric = Fabric { stretch: 2000.0, shear: 60.0, bend: 2e-5, ..Fabric::SOFT };
    let place = Placement { origin: Vec3::new(-0.5, 0.21, -0.5), weft: Vec3::X, warp: Vec3::Z };
    let mesh = generate::irregular(Vec2::ONE, 1.07 / (nodes - 1) as f64, 3).expect("a mesh");
    let cloth = Cloth::flat(mesh, fabric.density, place);
    let mut potentials = model::membrane(&fabric, Elasticity::of(&fabric), &cloth);
    potentials.extend(model::Surroundings::default().loads(&cloth));
    let integrator: Box<dyn Integrator> =
        if how == "xpbd" { Box::<Xpbd>::default() } else { Box::<Implicit>::default() };
    Simulation::boxed(cloth, potentials, integrator, h)
}
