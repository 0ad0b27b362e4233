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

/// A simulation with a clock for its stages.
struct Timed {
    simulation: Simulation,
    stage: Stage,
    since: Instant,
    seconds: [f64; Stage::ALL.len()],
}

struct Clock<'a>(&'a mut Stage, &'a mut Instant, &'a mut [f64; Stage::ALL.len()]);

impl Watch for Clock<'_> {
    fn enter(&mut self, stage: Stage) {
        self.2[*self.0 as usize] += self.1.elapsed().as_secs_f64();
        (*self.0, *self.1) = (stage, Instant::now());
    }
}

impl Timed {
    fn new(simulation: Simulation) -> Self {
        Self { simulation, stage: Stage::Drive, since: Instant::now(), seconds: [0.0; Stage::ALL.len()] }
    }

    fn step(&mut self) {
        let Self { simulation, stage, since, seconds } = self;
        (*stage, *since) = (Stage::Drive, Instant::now());
        let mut clock = Clock(stage, since, seconds);
        simulation.step_watched(&mut clock).expect("a step");
        clock.enter(Stage::Drive);
    }

    /// Milliseconds of all steps.
    fn all(&self) -> f64 {
        1e3 * self.seconds.iter().sum::<f64>()
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, or: f64| words.get(at).map_or(or, |word| word.parse().expect("a number"));
    let (nodes, threads, steps) = (number(0, 100.0) as usize, number(1, 1.0) as usize, number(3, 240.0) as usize);
    let how = words.get(2).map_or("implicit", |word| word);
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().expect("threads");
    let ball = BodySpec::new("ball", Shape::Ball { radius: 0.2 });
    let floor = BodySpec::new("floor", Shape::Plane).at(Pose::at(Vec3::new(0.0, -0.7, 0.0)));
    let bodies = Bodies::new(vec![ball, floor], Vec3::new(0.0, -9.81, 0.0)).expect("bodies");
    let settings = ContactSettings { thickness: 1e-3, friction: 0.4, stiffness: 2000.0, on_itself: true };
    let h = 1.0 / number(4, 240.0);
    let mut alone = Timed::new(sheet(nodes, how, h));
    let mut touching = Timed::new(sheet(nodes, how, h).with_bodies(bodies).contact(settings));
    let (part, mut before) = ((steps / 10).max(1), (0.0, 0.0));
    for step in 1..=steps {
        // In turns, so that what else the machine does slows both.
        alone.step();
        touching.step();
        if step % part == 0 {
            let simulation = &touching.simulation;
            let c = simulation.cloth();
            let strain = c.mesh.edges().map(|e| c.total_strain(e)).fold(0.0, f64::max);
            let now = (touching.all(), alone.all());
            println!(
                "  {:.2} s: {:.1} ms per step, {:.2} × without, largest strain {:.1} %, {:?}",
                simulation.time(),
                (now.0 - before.0) / part as f64,
                (now.0 - before.0) / (now.1 - before.1),
                100.0 * strain,
                simulation.contacts().report(),
            );
            before = now;
        }
    }
    for (name, timed) in [("without contact", &alone), ("with contact", &touching)] {
        let stage = |s: &Stage| format!("{} {:.1}", s.name(), 1e3 * timed.seconds[*s as usize] / steps as f64);
        let each: Vec<String> = Stage::ALL.iter().filter(|s| timed.seconds[**s as usize] > 1e-3).map(stage).collect();
        println!("{how} {nodes}², {name}: {:.1} ms per step: {}", timed.all() / steps as f64, each.join(", "));
    }
    println!("with contact {:.2} × the time without", touching.all() / alone.all());
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
