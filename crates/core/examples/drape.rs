//! A sheet of 1 m falls on a ball: what contact costs beside the same sheet without it.
//!
//!     cargo run --release -p ripstop --example drape -- [nodes] [threads] [implicit | xpbd] [frames] [free body mass]
//!
//! Prints milliseconds per frame by stage, with contact and, for as many frames, falling freely.

use ripstop::body::{Bodies, BodySpec, Drive, Pose, Shape};
use ripstop::contact::ContactSettings;
use ripstop::integrator::{Implicit, ImplicitSettings, Integrator, Xpbd};
use ripstop::mesh::{Vec2, generate};
use ripstop::potential::Elasticity;
use ripstop::{Cloth, Fabric, Placement, Simulation, Stage, Vec3, Watch, model};
use std::time::Instant;

struct Clock {
    stage: Stage,
    since: Instant,
    seconds: [f64; 8],
}

impl Clock {
    fn note(&mut self) {
        let at = Stage::ALL.iter().position(|&stage| stage == self.stage).unwrap();
        self.seconds[at] += self.since.elapsed().as_secs_f64();
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
    let number = |at: usize, or: f64| words.get(at).map_or(or, |word| word.parse().unwrap());
    let (nodes, threads, frames) = (number(0, 100.0) as usize, number(1, 1.0) as usize, number(3, 90.0) as usize);
    let how = words.get(2).map_or("implicit", |word| word);
    let mass = number(4, 0.0);
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().unwrap();
    for contact in [true, false] {
        let fabric = Fabric { stretch: 2000.0, shear: 60.0, bend: 1e-4, thickness: 1e-3, ..Fabric::SOFT };
        let place = Placement { origin: Vec3::new(-0.5, 0.25, -0.5), weft: Vec3::X, warp: Vec3::Z };
        let mesh = generate::irregular(Vec2::ONE, 1.0 / (nodes - 1) as f64, 3).unwrap();
        let cloth = Cloth::flat(mesh, fabric.density, place);
        let mut potentials = model::membrane(&fabric, Elasticity::of(&fabric), &cloth);
        potentials.extend(model::Surroundings::default().loads(&cloth));
        let integrator: Box<dyn Integrator> = match how {
            "implicit" => Box::new(Implicit::new(ImplicitSettings {
                newton: std::env::var("NEWTON").map_or(1, |w| w.parse().unwrap()),
                ..ImplicitSettings::default()
            })),
            _ => Box::new(Xpbd::default()),
        };
        let h = 1.0 / std::env::var("HZ").map_or(60.0, |w| w.parse().unwrap());
        let mut simulation = Simulation::boxed(cloth, potentials, integrator, h);
        if contact {
            let drive =
                if mass > 0.0 { Drive::Free { mass, velocity: Vec3::ZERO, spin: Vec3::ZERO } } else { Drive::Fixed };
            let ball = BodySpec::new("ball", Shape::Ball { radius: 0.2 }).driven(drive);
            let floor = BodySpec::new("floor", Shape::Plane).at(Pose::at(Vec3::new(0.0, -0.7, 0.0)));
            let bodies = Bodies::new(vec![ball, floor], Vec3::new(0.0, -9.81, 0.0)).unwrap();
            let settings = ContactSettings {
                thickness: fabric.thickness,
                friction: std::env::var("MU").map_or(0.4, |w| w.parse().unwrap()),
                stiffness: fabric.stretch,
                on_itself: true,
            };
            simulation = simulation.with_bodies(bodies).contact(settings);
        }
        let mut clock = Clock { stage: Stage::Drive, since: Instant::now(), seconds: [0.0; 8] };
        let begin = Instant::now();
        for frame in 0..frames {
            simulation.step_watched(&mut clock).unwrap();
            if contact && (frame % 10 == 9 || std::env::var("ALL").is_ok()) {
                let c = simulation.cloth();
                let strain = c.mesh.edges().map(|e| c.total_strain(e)).fold(0.0, f64::max);
                let worst = c.mesh.edges().max_by(|a, b| c.total_strain(*a).total_cmp(&c.total_strain(*b))).unwrap();
                let [wa, wb] = c.mesh.edge_nodes(worst);
                println!(
                    "worst {:?} {:?} {:?} {:?} r {} {} rest {}",
                    c.x[wa],
                    c.v[wa],
                    c.x[wb],
                    c.v[wb],
                    c.x[wa].length(),
                    c.x[wb].length(),
                    c.rest[worst]
                );
                for row in simulation.contacts().rows() {
                    if row.nodes.iter().zip(row.weights).any(|(&n, w)| w != 0.0 && (n == wa.0 || n == wb.0)) {
                        println!(
                            "  row {:?} w {:.2?} n {:.3?} gap {:.5} before {:.2e} d {:.5} f {}",
                            row.nodes, row.weights, row.normal, row.gap, row.before.0, row.distance, row.feature
                        );
                    }
                }
                let lowest = c.x.iter().map(|x| x.y).fold(f64::INFINITY, f64::min);
                let rows = simulation.contacts().rows();
                let own = rows.iter().filter(|row| row.body == u32::MAX).count();
                let pushing = rows.iter().filter(|row| row.body == u32::MAX && row.before.0 > 0.0).count();
                println!(
                    "{own} own, {pushing} pushing; {frame}: {:?}, rows {}, lowest {lowest:.3}, kinetic {:.2e} J, largest strain {strain:.3}, {:.1} s",
                    simulation.contacts().report(),
                    simulation.contacts().rows().len(),
                    c.kinetic_energy(),
                    begin.elapsed().as_secs_f64()
                );
            }
        }
        clock.note();
        let each: Vec<String> = Stage::ALL
            .iter()
            .zip(clock.seconds)
            .filter(|(_, s)| *s > 0.0)
            .map(|(stage, s)| format!("{} {:.1}", stage.name(), 1e3 * s / frames as f64))
            .collect();
        println!(
            "contact {contact}: {} ms per frame; all {:.1}",
            each.join(", "),
            1e3 * clock.seconds.iter().sum::<f64>() / frames as f64
        );
        if contact && let Ok(path) = std::env::var("OBJ") {
            let c = simulation.cloth();
            let mut text = String::new();
            for x in c.x.iter() {
                text += &format!("v {} {} {}\n", x.x, x.y, x.z);
            }
            for f in c.mesh.faces() {
                let [a, b, d] = c.mesh.face_nodes(f).map(|n| n.0 + 1);
                text += &format!("f {a} {b} {d}\n");
            }
            std::fs::write(path, text).unwrap();
        }
    }
}
