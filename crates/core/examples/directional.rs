//! Strength by direction: what the search for the best line costs and finds, beside trying three lines per triangle, and what share of
//! a step the criterion takes when nothing tears.
//!
//! `cargo run --release -p ripstop --example directional -- [nodes per side] [threads]`

use ripstop::criterion::{Direction, Directional, Sectors, Strengths, View};
use ripstop::integrator::{Implicit, ImplicitSettings};
use ripstop::math::{atan2, hash_unit};
use ripstop::mesh::{NodeId, generate};
use ripstop::model::{Surroundings, membrane};
use ripstop::opening::Snap;
use ripstop::potential::{Elasticity, Forces};
use ripstop::simulation::{Stage, Watch};
use ripstop::tear::{Fields, Policy, Resistance, Tearing};
use ripstop::{Cloth, Fabric, Grip, Placement, Simulation, Vec2, Vec3};
use std::time::Instant;

const SHEET: Elasticity = Elasticity { weft: 2000.0, across: 40.0, warp: 2000.0, shear: 60.0 };

fn main() {
    let number = |k: usize, usual: usize| std::env::args().nth(k).and_then(|w| w.parse().ok()).unwrap_or(usual);
    let (side, threads) = (number(1, 100), number(2, 1));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    pool.install(|| {
        search(side);
        steps(side);
    });
}

/// K's cloths 2 and 4 (angles from weft), times a factor.
fn strengths(rows: [f64; 4], times: f64) -> Strengths {
    let angles = [0.0, 45.0, 90.0, 135.0];
    let row = |k: usize| Direction { angle: angles[k], strength: rows[k] * times };
    Strengths::new(&[row(0), row(1), row(2), row(3)]).expect("a table")
}

/// ω of the best of some lines per face.
fn tried(view: View<'_>, strengths: &Strengths, n: NodeId, per_face: u32) -> f64 {
    let (mesh, around) = (&view.cloth.mesh, Sectors::of(view, n));
    let mut best = 0.0f64;
    for c in mesh.fan(n) {
        let [a, b] = [c.next(), c.prev()].map(|to| (mesh.uv(to) - mesh.uv(c)).normalize());
        for k in 1..=per_face {
            let share = f64::from(k) / f64::from(per_face + 1);
            let s = a.lerp(b, share).normalize();
            let angle = atan2(s.y, s.x).rem_euclid(std::f64::consts::PI);
            best = best.max(around.along(s) / (strengths.at(angle) * view.resist(n, s.perp())));
        }
    }
    best
}

fn search(side: usize) {
    let spacing = 1.0 / side as f64;
    let mesh = generate::irregular(Vec2::ONE, spacing, 1).expect("a mesh");
    let mut cloth = Cloth::flat(mesh, 0.2, Placement::default());
    for n in cloth.mesh.nodes() {
        let (p, shake) = (cloth.x[n], |k| 0.02 * spacing * hash_unit(k, u64::from(n.0)));
        cloth.x[n] = Vec3::new(1.03 * p.x, 1.02 * p.y + 0.02 * p.x * p.x, 0.1 * p.x * p.y)
            + Vec3::new(shake(1), shake(2), shake(3));
    }
    let forces = Forces::new(membrane(&Fabric::default(), SHEET, &cloth));
    let fields = Fields::of(&cloth, &forces);
    let resistance = Resistance::default();
    let view =
        View { cloth: &cloth, fields: &fields, resistance: &resistance, forces: &forces, round: 0, opens: &|_| true };
    let nodes: Vec<NodeId> = cloth.mesh.nodes().filter(|&n| !cloth.mesh.is_border_node(n)).collect();
    println!("{} nodes inside, every one searched in full (one thread)", nodes.len());
    for (name, rows) in [("cloth 2", [12.0, 25.0, 35.0, 25.0]), ("cloth 4", [6.46, 7.65, 5.0, 7.98])] {
        let table = strengths(rows, 1.0);
        let criterion = Directional::new(table.clone());
        let timed = |find: &dyn Fn(NodeId) -> f64| {
            let mut all = Vec::new();
            let mut least = f64::INFINITY;
            for _ in 0..5 {
                let start = Instant::now();
                all = nodes.iter().map(|&n| find(n)).collect::<Vec<f64>>();
                least = least.min(start.elapsed().as_secs_f64() / nodes.len() as f64 * 1e6);
            }
            (all, least)
        };
        let (best, cost) = timed(&|n| criterion.best(view, n, 0.0).map_or(0.0, |(ratio, _)| ratio));
        println!("{name}: exact {cost:.2} µs a node");
        let over = best.iter().copied().fold(0.0, f64::max);
        let (_, quick) = timed(&|n| criterion.best(view, n, over).map_or(0.0, |(ratio, _)| ratio));
        println!("{name}: exact {quick:.2} µs a node if no line reaches what is asked for");
        for per_face in [3, 30, 300] {
            let (found, cost) = timed(&|n| tried(view, &table, n, per_face));
            let missed = best.iter().zip(&found).map(|(b, f)| 1.0 - f / b);
            let most = missed.clone().fold(f64::MIN, f64::max);
            let mean = missed.sum::<f64>() / best.len() as f64;
            println!(
                "{name}: {per_face} lines a face {cost:.2} µs a node, ω missed {:.3} % at most, {:.4} % in the mean",
                100.0 * most,
                100.0 * mean
            );
        }
    }
}

/// Seconds by stage.
struct Clock {
    stage: Stage,
    since: Instant,
    measure: f64,
    all: f64,
}

impl Watch for Clock {
    fn enter(&mut self, stage: Stage) {
        let passed = self.since.elapsed().as_secs_f64();
        self.all += passed;
        if self.stage == Stage::Measure {
            self.measure += passed;
        }
        (self.stage, self.since) = (stage, Instant::now());
    }
}

fn steps(side: usize) {
    let fabric = Fabric { density: 0.2, bend: 1e-4, ..Fabric::default() };
    let mesh = generate::grid(Vec2::ONE, [side; 2]).expect("a grid");
    let cloth = Cloth::flat(mesh, fabric.density, Placement { warp: Vec3::Z, ..Placement::default() });
    let corners = [side * (side - 1), side * side - 1].map(|n| NodeId(n as u32));
    // Just holds (the second): then many nodes are looked at.
    for times in [50.0, 5.0, 2.0] {
        let mut potentials = membrane(&fabric, SHEET, &cloth);
        potentials.extend(Surroundings::default().loads(&cloth));
        let grip = Grip::still("corners", &corners, &cloth);
        let mut tearing = Tearing::new(Directional::new(strengths([12.0, 25.0, 35.0, 25.0], times)), Snap);
        tearing.policy = Policy::EndOfStep { rounds: 1 };
        let implicit = Implicit::new(ImplicitSettings::default());
        let mut simulation =
            Simulation::new(cloth.clone(), potentials, implicit, 1.0 / 240.0).grip(grip).tearing(tearing);
        let mut clock = Clock { stage: Stage::Record, since: Instant::now(), measure: 0.0, all: 0.0 };
        for step in 0..120 {
            if step == 20 {
                (clock.measure, clock.all) = (0.0, 0.0);
            }
            simulation.step_watched(&mut clock).expect("a step");
            clock.enter(Stage::Record);
        }
        println!(
            "{side}², strengths × {times}: {} tears; a step {:.2} ms, of which `measure` {:.3} ms: {:.2} %",
            simulation.tear_count(),
            10.0 * clock.all,
            10.0 * clock.measure,
            100.0 * clock.measure / clock.all
        );
    }
}
