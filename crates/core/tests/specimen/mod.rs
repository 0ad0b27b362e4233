//! Specimens of a testing laboratory, pulled to their end.

use ripstop::criterion::{Directional, Toughness};
use ripstop::fabric::{Fabric, Strength, Toughness as Energies};
use ripstop::integrator::{Implicit, ImplicitSettings, Integrator, Xpbd, XpbdSettings};
use ripstop::mesh::{ChangeLog, Mesh, NodeId, generate};
use ripstop::model::membrane;
use ripstop::opening::{Through, cut};
use ripstop::potential::{Bond, Elasticity};
use ripstop::tear::{Policy, Refine, Tearing};
use ripstop::{Cloth, Grip, Key, Placement, Simulation, Vec2, Vec3};

/// Width and length of all specimens [m].
const SIZE: Vec2 = Vec2::new(0.05, 0.1);

/// Energy that tearing costs per length [N].
const TOUGHNESS: f64 = 0.0934;

/// What is torn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Specimen {
    /// A strip.
    Strip,
    /// One with a slit of 20 mm across its middle.
    Slit,
    /// One with a slit of 15 mm from its edge.
    Edge,
    /// The same, whose slit ends at a pin.
    Pinned,
    /// One cut along its middle to its half, whose legs are pulled out of its plane.
    Trouser,
}

fn fabric() -> Fabric {
    Fabric {
        density: 0.2,
        bend: 1e-6,
        damping: 2e-4,
        elasticity: Some(Elasticity { weft: 2000.0, across: 40.0, warp: 2000.0, shear: 60.0 }.into()),
        strength: Some(Strength { weft: 100.0, warp: 100.0, bias: None }),
        toughness: Some(Energies { weft: TOUGHNESS, warp: TOUGHNESS, grid: None }),
        ..Fabric::default()
    }
}

/// What a testing machine and a ruler would say of a run.
pub struct Run {
    /// Load when the first edge tore [N].
    pub onset: f64,
    /// Largest load [N].
    pub largest: f64,
    /// Mean load while it tore [N].
    pub mean: f64,
    /// Work less stored energy, per torn length [N].
    pub work: f64,
    /// Largest distance of the tear from its line [m].
    pub off: f64,
    /// Steps taken.
    pub steps: u32,
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
        Specimen::Edge | Specimen::Pinned => vec![Vec2::new(0.0, middle.y), Vec2::new(0.015, middle.y)],
        Specimen::Trouser => vec![Vec2::new(middle.x, 0.0), middle],
    }
}

/// Tears one on a mesh with edges of `size` [m], regular if `seed` is zero, that is made finer where it tears if `fine` [m] is less.
pub fn run(specimen: Specimen, (size, fine): (f64, f64), seed: u64, integrator: &str, criterion: &str) -> Run {
    let fabric = fabric();
    let mut cloth = Cloth::flat(mesh(size, seed), fabric.density, Placement::default());
    let line = notch(specimen);
    if !line.is_empty() {
        let mut log = ChangeLog::new();
        cut(&mut cloth, &line, 0.2 * fine.min(size), &mut log);
        cloth.follow(&log);
    }
    let slack = 1e-9;
    let at = |cloth: &Cloth, wanted: &dyn Fn(Vec2) -> bool| -> Vec<NodeId> {
        cloth.mesh.nodes().filter(|&n| wanted(cloth.mesh.node_uv(n))).collect()
    };
    let (speed, h, most): (f64, f64, f64) =
        if specimen == Specimen::Trouser { (0.05, 1.0 / 480.0, 4.0) } else { (0.01, 1.0 / 480.0, 1.5) };
    let pulled = |to: Vec3| {
        let key = |t: f64, move_by: Vec3| Key { time: t, shift: move_by, turn: Vec3::ZERO };
        vec![key(0.0, Vec3::ZERO), key(most, to * most)]
    };
    let mut grips: Vec<Grip> = if specimen == Specimen::Trouser {
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
    if specimen == Specimen::Pinned {
        let tips: Vec<NodeId> = cloth.tips.iter().map(|tip| tip.node).collect();
        grips.push(Grip::moving("pin", &tips, &cloth, Vec::new()));
    }
    let tearing = match criterion {
        "directional" => {
            let mut tearing = Tearing::new(Directional::new(fabric.strength.unwrap().by_tear()), Through::of(&cloth));
            tearing.policy = Policy::EndOfStep { rounds: 1 };
            tearing
        }
        _ => {
            let (criterion, opening) = (Toughness::of(&fabric, &cloth).unwrap(), Through::of(&cloth));
            let mut tearing = if fine < size {
                Tearing::new(criterion.finer(fine), opening.finer(fine))
            } else {
                Tearing::new(criterion, opening)
            };
            tearing.refine = (fine < size).then_some(Refine { edge: fine });
            tearing.policy = Policy::EndOfStep { rounds: 8 };
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
    let (mut work, mut onset) = (0.0, 0.0);
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
        let load = 0.5 * simulation.grips().iter().map(|grip| grip.load.dot(across).abs()).sum::<f64>();
        largest = largest.max(load);
        if torn == 0.0 {
            onset = load;
        }
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
        if torn > end || ripstop::mesh::pieces(&simulation.cloth().mesh).areas.len() > 1 {
            break;
        }
    }
    let stored: f64 = simulation.energies().iter().map(|(_, energy)| energy).sum();
    let mean = loads.iter().sum::<f64>() / loads.len().max(1) as f64;
    // What bonds have still to spend is not torn yet.
    let unspent = |bond: &Bond| 0.5 * bond.force * (bond.end - bond.widest) * (bond.end - bond.widest) / bond.end;
    let unspent: f64 = simulation.cloth().bonds.iter().map(unspent).sum();
    let torn = torn - unspent / TOUGHNESS;
    Run { onset, largest, mean, work: (work - stored) / torn, off, steps: taken }
}
