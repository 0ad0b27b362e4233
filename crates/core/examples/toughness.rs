//! Does the load at which cloth tears depend on the mesh? Specimens of a testing laboratory, torn with criterion `toughness` on meshes of several sizes and
//! kinds, and the same with `directional` for comparison.
//!
//! `cargo run --release -p ripstop --example toughness -- [slit|edge|trouser|strip|all] [implicit|xpbd] [toughness|directional] [sizes]`
//!
//! Prints for every mesh: the largest load [N], the mean load while tearing [N], the work of the grips less stored energy per torn length
//! [N], and how far the tear is off its line [mm].

use ripstop::criterion::{Directional, Toughness};
use ripstop::fabric::{Fabric, Strength, Toughness as Energies};
use ripstop::integrator::{Implicit, ImplicitSettings, Integrator, Xpbd, XpbdSettings};
use ripstop::mesh::{ChangeLog, Mesh, NodeId, generate};
use ripstop::model::membrane;
use ripstop::opening::{Through, cut};
use ripstop::potential::Elasticity;
use ripstop::tear::{Policy, Tearing};
use ripstop::{Cloth, Grip, Key, Placement, Simulation, Vec2, Vec3};

/// Width and length of all specimens [m].
const SIZE: Vec2 = Vec2::new(0.05, 0.1);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Specimen {
    Strip,
    Slit,
    Edge,
    Trouser,
}

fn fabric() -> Fabric {
    Fabric {
        density: 0.2,
        bend: 1e-6,
        damping: 2e-3,
        elasticity: Some(Elasticity { weft: 2000.0, across: 40.0, warp: 2000.0, shear: 60.0 }.into()),
        strength: Some(Strength { weft: 100.0, warp: 100.0, bias: None }),
        toughness: Some(Energies { weft: 0.0934, warp: 0.0934, grid: None }),
        ..Fabric::default()
    }
}

fn main() {
    let argument = |k: usize| std::env::args().nth(k).unwrap_or_default();
    let wanted = argument(1);
    let sizes: Vec<f64> = match argument(4).as_str() {
        "" => vec![4.0, 2.0, 1.0],
        list => list.split(',').map(|size| size.parse().expect("sizes in mm, like 4,2")).collect(),
    };
    let all = [
        ("strip", Specimen::Strip),
        ("slit", Specimen::Slit),
        ("edge", Specimen::Edge),
        ("trouser", Specimen::Trouser),
    ];
    for (name, specimen) in all.into_iter().filter(|(name, _)| wanted == *name || wanted == "all" || wanted.is_empty())
    {
        println!(
            "{name}: size [mm], mesh, largest load [N], mean load [N], work per length [N], off its line [mm], steps"
        );
        for &size in &sizes {
            let mut peaks = Vec::new();
            for (mesh, seed) in [("regular", 0), ("irregular 1", 1), ("irregular 2", 2)] {
                let run = run(specimen, size * 1e-3, seed, &argument(2), &argument(3));
                println!(
                    "  {size:4} {mesh:12} {:8.4} {:8.4} {:8.4} {:6.2} {:6}",
                    run.largest,
                    run.mean,
                    run.work,
                    1e3 * run.off,
                    run.steps
                );
                peaks.push(if specimen == Specimen::Trouser { run.mean } else { run.largest });
            }
            let mean = peaks.iter().sum::<f64>() / peaks.len() as f64;
            let spread = (peaks.iter().map(|p| (p / mean - 1.0).powi(2)).sum::<f64>() / peaks.len() as f64).sqrt();
            println!("  {size:4} all          {mean:8.4}, variation {:.1} %", 100.0 * spread);
        }
    }
}

struct Run {
    largest: f64,
    mean: f64,
    work: f64,
    off: f64,
    steps: u32,
}

fn mesh(size: f64, seed: u64) -> Mesh {
    if seed == 0 {
        let count = |length: f64| (length / size).round() as usize + 1;
        generate::grid(SIZE, [count(SIZE.x), count(SIZE.y)]).expect("a grid")
    } else {
        generate::irregular(SIZE, size, seed).expect("a mesh")
    }
}

/// The line that the specimen is cut along beforehand.
fn notch(specimen: Specimen) -> Vec<Vec2> {
    let middle = 0.5 * SIZE;
    match specimen {
        Specimen::Strip => Vec::new(),
        Specimen::Slit => vec![middle - Vec2::X * 0.01, middle + Vec2::X * 0.01],
        Specimen::Edge => vec![Vec2::new(0.0, middle.y), Vec2::new(0.015, middle.y)],
        Specimen::Trouser => vec![Vec2::new(middle.x, 0.0), middle],
    }
}

fn run(specimen: Specimen, size: f64, seed: u64, integrator: &str, criterion: &str) -> Run {
    let fabric = fabric();
    let mut cloth = Cloth::flat(mesh(size, seed), fabric.density, Placement::default());
    let line = notch(specimen);
    if !line.is_empty() {
        let mut log = ChangeLog::new();
        cut(&mut cloth, &line, 0.2 * size, &mut log);
        cloth.follow(&log);
    }
    let slack = 1e-9;
    let at = |cloth: &Cloth, wanted: &dyn Fn(Vec2) -> bool| -> Vec<NodeId> {
        cloth.mesh.nodes().filter(|&n| wanted(cloth.mesh.node_uv(n))).collect()
    };
    let (speed, h, most): (f64, f64, f64) =
        if specimen == Specimen::Trouser { (0.2, 1.0 / 480.0, 0.6) } else { (0.01, 1.0 / 480.0, 1.5) };
    let pulled = |to: Vec3| {
        let key = |t: f64, move_by: Vec3| Key { t, move_by, ..Key::default() };
        vec![key(0.0, Vec3::ZERO), key(most, to * most)]
    };
    let grips: Vec<Grip> = if specimen == Specimen::Trouser {
        // The node at the mouth of the cut is two.
        let half = |left: bool| {
            let side = |n: &NodeId| {
                let middle =
                    cloth.mesh.fan(*n).map(|c| cloth.mesh.face_uv(c.face()).iter().map(|p| p.x).sum::<f64>() / 3.0);
                (middle.clone().sum::<f64>() / middle.count() as f64) < 0.5 * SIZE.x
            };
            at(&cloth, &|uv| uv.y < slack).into_iter().filter(|n| side(n) == left).collect::<Vec<_>>()
        };
        let (left, right) = (half(true), half(false));
        vec![
            Grip::moving("left", &left, &cloth, pulled(Vec3::Z * (-0.5 * speed))),
            Grip::moving("right", &right, &cloth, pulled(Vec3::Z * (0.5 * speed))),
        ]
    } else {
        let (low, high) = (at(&cloth, &|uv| uv.y < slack), at(&cloth, &|uv| uv.y > SIZE.y - slack));
        vec![
            Grip::moving("below", &low, &cloth, pulled(Vec3::Y * (-0.5 * speed))),
            Grip::moving("above", &high, &cloth, pulled(Vec3::Y * (0.5 * speed))),
        ]
    };
    let tearing = match criterion {
        "directional" => {
            let mut tearing = Tearing::new(Directional::new(fabric.strength.unwrap().by_tear()), Through::of(&cloth));
            tearing.policy = Policy::EndOfStep { rounds: 1 };
            tearing
        }
        _ => {
            let mut tearing = Tearing::new(Toughness::of(&fabric, &cloth).unwrap(), Through::of(&cloth));
            tearing.policy = Policy::EndOfStep { rounds: 4 };
            tearing
        }
    };
    let potentials = membrane(&fabric, fabric.law(), &cloth);
    let integrator: Box<dyn Integrator> = if integrator == "xpbd" {
        Box::new(Xpbd::new(XpbdSettings::default()))
    } else {
        Box::new(Implicit::new(ImplicitSettings { tolerance: 1e-5, ..ImplicitSettings::default() }))
    };
    let across = if specimen == Specimen::Trouser { Vec3::Z } else { Vec3::Y };
    let mut simulation = Simulation::boxed(cloth, potentials, integrator, h).tearing(tearing);
    for grip in grips {
        simulation = simulation.grip(grip);
    }
    let (mut largest, mut loads, mut off, mut torn) = (0.0f64, Vec::new(), 0.0f64, 0.0);
    let (mut work, mut before) = (0.0, 0.0);
    let mut last = 0.0;
    let steps = (most / h) as u32;
    let mut taken = 0;
    let end = if specimen == Specimen::Trouser { 0.035 } else { f64::INFINITY };
    for step in 0..steps {
        taken = step + 1;
        if let Err(error) = simulation.step() {
            println!("    {error}");
            break;
        }
        simulation.weigh_grips();
        let load = 0.5 * simulation.grips().iter().map(|grip| grip.load().dot(across).abs()).sum::<f64>();
        largest = largest.max(load);
        work += 0.5 * (load + last) * speed * h;
        last = load;
        for event in simulation.events() {
            torn += event.length;
            let from =
                if specimen == Specimen::Trouser { event.uv.x - 0.5 * SIZE.x } else { event.uv.y - 0.5 * SIZE.y };
            off = off.max(from.abs());
        }
        if torn > 0.005 {
            loads.push(load);
        }
        if torn == 0.0 {
            before = 0.0;
        }
        if torn > end || ripstop::mesh::pieces(&simulation.cloth().mesh).areas.len() > 1 {
            break;
        }
    }
    let stored: f64 = simulation.energies().iter().map(|(_, energy)| energy).sum();
    let mean = loads.iter().sum::<f64>() / loads.len().max(1) as f64;
    Run { largest, mean, work: (work - stored - before) / torn, off, steps: taken }
}
