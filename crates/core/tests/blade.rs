//! Laws of blades: bodies whose sharp edges cut.

use ripstop::body::{BodySpec, Drive, Shape, Sharp};
use ripstop::contact::crossing::Crossings;
use ripstop::contact::{ContactSettings, Cutting};
use ripstop::integrator::{Implicit, ImplicitSettings};
use ripstop::math::turn;
use ripstop::mesh::{NodeId, generate, pieces};
use ripstop::model::{Surroundings, membrane};
use ripstop::opening::nearest_on_line;
use ripstop::opening::tip::Tip;
use ripstop::potential::Elasticity;
use ripstop::tear::{Cause, Event};
use ripstop::{Bodies, Cloth, Fabric, Key, Placement, Pose, Simulation, Vec2, Vec3};
use std::f64::consts::PI;

const FABRIC: Fabric = Fabric { density: 0.2, stretch: 800.0, shear: 80.0, ..Fabric::SOFT };
const SPACING: f64 = 0.06;

/// A metre of cloth in the plane y = 0, from the origin along x and z.
fn sheet() -> Cloth {
    let place = Placement { origin: Vec3::ZERO, weft: Vec3::X, warp: Vec3::Z };
    Cloth::flat(generate::irregular(Vec2::ONE, SPACING, 4).unwrap(), FABRIC.density, place)
}

/// Held where `held` says.
fn hold(mut cloth: Cloth, held: impl Fn(Vec2) -> bool) -> Cloth {
    let nodes: Vec<NodeId> = cloth.mesh.nodes().filter(|&n| held(cloth.mesh.node_uv(n))).collect();
    nodes.into_iter().for_each(|n| cloth.hold(n, Some(0)));
    cloth
}

/// Held along the sides at z = 0 and z = 1.
fn taut() -> Cloth {
    hold(sheet(), |uv| uv.y == 0.0 || uv.y == 1.0)
}

/// A wedge: its sharp edge along x through its origin, its back 5 cm above and 4 mm thick along z.
fn knife(length: f64) -> BodySpec {
    let (l, depth, t) = (0.5 * length, 0.05, 0.002);
    let at = |x: f64| [Vec3::new(x, 0.0, 0.0), Vec3::new(x, depth, -t), Vec3::new(x, depth, t)];
    let points = [at(-l), at(l)].concat();
    let triangles = vec![[0, 1, 2], [3, 5, 4], [0, 4, 1], [0, 3, 4], [0, 2, 5], [0, 5, 3], [1, 4, 5], [1, 5, 2]];
    BodySpec::new("knife", Shape::Mesh { points, triangles }).sharpened(Sharp::Below(0.7))
}

/// The knife with its edge upright, looking along x, at a point of the plane y = 0.
fn upright(at: Vec2) -> BodySpec {
    knife(0.4).at(Pose { place: Vec3::new(at.x, 0.0, at.y), turn: turn(Vec3::Z * 0.5 * PI) })
}

/// Moved from where it is put to one place after the other, at times [s].
fn moved(spec: BodySpec, keys: &[(f64, Vec3)]) -> BodySpec {
    let key = |&(time, shift): &(f64, Vec3)| Key { time, shift, turn: Vec3::ZERO };
    spec.driven(Drive::Scripted([(0.0, Vec3::ZERO)].iter().chain(keys).map(key).collect()))
}

/// Without air, in steps of `h` [s].
fn simulation(cloth: Cloth, body: BodySpec, gravity: Vec3, h: f64) -> Simulation {
    let mut potentials = membrane(&FABRIC, Elasticity::of(&FABRIC), &cloth);
    potentials.extend(Surroundings { gravity, viscous: 0.0, ..Surroundings::default() }.loads(&cloth));
    let settings = ContactSettings { thickness: 5e-4, friction: 0.2, stiffness: 800.0, on_itself: true };
    let integrator = Implicit::new(ImplicitSettings { tolerance: 1e-6, ..ImplicitSettings::default() });
    Simulation::new(cloth, potentials, integrator, h)
        .with_bodies(Bodies::new(vec![body], gravity).unwrap())
        .contact(settings)
        .cutting(Cutting::of(&FABRIC))
}

/// Takes so many steps; returns all events. What there is of cloth stays, and the blade is beside it.
fn run(simulation: &mut Simulation, steps: u32) -> Vec<Event> {
    let mass: f64 = simulation.cloth().mass.iter().sum();
    let mut events = Vec::new();
    for step in 0..steps {
        simulation.step().unwrap();
        events.extend_from_slice(simulation.events());
        let cloth = simulation.cloth();
        cloth.mesh.check().unwrap();
        let crossings = Crossings::of(cloth, simulation.bodies());
        let report = simulation.contacts().report();
        let faces: Vec<u32> = crossings.bodies[0].iter().map(|pair| pair[0]).collect();
        assert!(faces.is_empty(), "step {step}: the blade is in {faces:?}, {report:?}");
    }
    assert!(events.iter().all(|e| e.cause == Cause::Cut { body: 0 }));
    let cloth = simulation.cloth();
    assert!((cloth.mesh.area() - 1.0).abs() < 1e-12, "area {}", cloth.mesh.area());
    assert!((cloth.mass.iter().sum::<f64>() / mass - 1.0).abs() < 1e-12);
    events
}

/// The same for an upright blade in taut cloth, whose slit has one tip: where that was from the blade in the world, in edges, after every step in which there was one. (In the material it can't be told from outside, since the
/// blade carries the cloth along.)
fn run_and_look_ahead(simulation: &mut Simulation, steps: u32) -> (Vec<Event>, Vec<Vec2>) {
    let (mut events, mut ahead) = (Vec::new(), Vec::new());
    for _ in 0..steps {
        events.extend(run(simulation, 1));
        let cloth = simulation.cloth();
        let tips = Tip::all(cloth);
        assert!(tips.len() <= 1, "{tips:?}");
        let at = simulation.bodies().pose(0).place;
        ahead
            .extend(tips.iter().map(|tip| Vec2::new(cloth.x[tip.node].x - at.x, cloth.x[tip.node].z - at.z) / SPACING));
    }
    (events, ahead)
}

/// The furthest that a slit is ahead of a blade, in edges: 0.4 and two thicknesses by `contact::blade`, on edges that are a little longer in the mean than the spacing, and what the cloth is strained by.
const AHEAD: f64 = 0.5;

/// How far a slit may be off the way of the blade, in edges.
const OFF: f64 = 0.1;

/// Largest distance of the middles of opened edges from a line through points.
fn off(events: &[Event], path: &[Vec2]) -> f64 {
    let off = |p: Vec2, e: &[Vec2]| nearest_on_line(p, e[0], e[1]).distance(p);
    let far = |p: Vec2| path.windows(2).map(|e| off(p, e)).fold(f64::INFINITY, f64::min);
    events.iter().map(|e| far(e.uv)).fold(0.0, f64::max)
}

#[test]
fn straight_down_through_a_resting_sheet_the_slit_is_exact() {
    for steps in [1u32, 10] {
        let down = knife(1.4).at(Pose::at(Vec3::new(0.5, 0.011, 0.47)));
        let down = moved(down, &[(0.02, Vec3::Y * -0.03)]);
        let mut simulation = simulation(sheet(), down, Vec3::ZERO, 0.02 / f64::from(steps));
        let events = run(&mut simulation, steps);
        let far = off(&events, &[Vec2::new(0.0, 0.47), Vec2::new(1.0, 0.47)]);
        assert!(far < 1e-12, "{far} m off in {steps} steps");
        let mut areas = pieces(&simulation.cloth().mesh).areas;
        areas.sort_by(f64::total_cmp);
        assert!(areas.len() == 2 && (areas[0] - 0.47).abs() < 1e-9, "{areas:?}");
    }
}

#[test]
fn from_the_border_the_slit_is_where_the_blade_has_been() {
    for steps in [10u32, 20, 40, 80] {
        let along = moved(upright(Vec2::new(-0.03, 0.47)), &[(0.2, Vec3::X * 0.5)]);
        let mut simulation = simulation(taut(), along, Vec3::ZERO, 0.2 / f64::from(steps));
        let (events, ahead) = run_and_look_ahead(&mut simulation, steps);
        let far = off(&events, &[Vec2::new(0.0, 0.47), Vec2::new(1.0, 0.47)]);
        assert!(far < OFF * SPACING, "{far} m off in {steps} steps");
        assert!(ahead.iter().all(|p| p.x > 0.0 && p.x < AHEAD && p.y.abs() < OFF), "{ahead:?} in {steps} steps");
        assert_eq!(pieces(&simulation.cloth().mesh).areas.len(), 1);
        let length: f64 = events.iter().map(|e| e.length).sum();
        assert!(length > 0.47 && length < 0.47 + AHEAD * SPACING, "{length} m for 0.47 m in {steps} steps");
    }
}

#[test]
fn leaving_it_has_parted_the_cloth() {
    let along = moved(upright(Vec2::new(-0.03, 0.47)), &[(0.4, Vec3::X * 1.2)]);
    let mut simulation = simulation(taut(), along, Vec3::ZERO, 0.01);
    let events = run(&mut simulation, 40);
    assert!(off(&events, &[Vec2::new(0.0, 0.47), Vec2::new(1.0, 0.47)]) < OFF * SPACING);
    let areas = pieces(&simulation.cloth().mesh).areas;
    assert_eq!(areas.len(), 2, "{areas:?}");
}

#[test]
fn a_blade_that_turns_leaves_a_slit_that_turns() {
    let (a, b) = (Vec2::new(-0.03, 0.4), Vec2::new(0.45, 0.4));
    for c in [Vec2::new(0.8, 0.65), Vec2::new(0.8, 0.3)] {
        let shift = |p: Vec2| Vec3::new(p.x - a.x, 0.0, p.y - a.y);
        let along = moved(upright(a), &[(0.2, shift(b)), (0.4, shift(c))]);
        let mut simulation = simulation(taut(), along, Vec3::ZERO, 0.01);
        let (events, ahead) = run_and_look_ahead(&mut simulation, 40);
        // It was so far ahead when the blade turned.
        let far = off(&events, &[a, b, c]);
        assert!(far < AHEAD * SPACING, "{far} m off to {c}");
        assert!(ahead.iter().all(|p| p.length() < AHEAD), "{ahead:?} edges ahead to {c}");
        // Two edges after it, and from there on, the tip is straight ahead of it.
        let onward = (c - b).normalize();
        let late = (2.0 * SPACING / (c - b).length() * 20.0).ceil() as usize;
        let off = ahead[ahead.len() - (20 - late)..].iter().map(|p| onward.perp_dot(*p).abs()).fold(0.0, f64::max);
        // Twice as much as straight on: the blade doesn't turn with its way and pushes the cloth aside with its flat side.
        assert!(off < 2.0 * OFF, "{off} edges beside the blade, to {c}");
        assert_eq!(pieces(&simulation.cloth().mesh).areas.len(), 1);
    }
}

#[test]
fn below_the_resistance_a_sharp_edge_is_a_contact() {
    // Twice √(0.2 × 800) kg/(m²·s) at 0.2 m/s are 5 N/m of the 20 that this cloth resists.
    let down = moved(knife(0.3).at(Pose::at(Vec3::new(0.5, 0.01, 0.5))), &[(0.1, Vec3::Y * -0.02)]);
    let mut simulation = simulation(taut(), down, Vec3::ZERO, 0.005);
    assert!(run(&mut simulation, 20).is_empty());
    assert!(simulation.cloth().x.iter().any(|x| x.y < -0.005), "pushed down");
}

#[test]
fn a_cut_keeps_momentum() {
    // A free blade and a free sheet, and nothing that resists.
    let falls = Drive::Free { mass: 0.5, velocity: Vec3::Y * -3.0, spin: Vec3::ZERO };
    let down = knife(1.4).at(Pose::at(Vec3::new(0.5, 0.011, 0.47))).driven(falls);
    let mut simulation =
        simulation(sheet(), down, Vec3::ZERO, 0.004).cutting(Cutting { resistance: 0.0, impedance: 1.0 });
    let momentum = |simulation: &Simulation| {
        let cloth = simulation.cloth();
        cloth.mesh.nodes().map(|n| cloth.v[n] * cloth.mass[n]).sum::<Vec3>() + simulation.bodies().momentum()
    };
    let before = momentum(&simulation);
    assert!(!run(&mut simulation, 6).is_empty());
    let change = momentum(&simulation) - before;
    assert!(change.length() < 1e-3 * before.length(), "{change} of {before} N·s");
}

#[test]
fn swinging_about_a_blade_in_its_slit_the_cloth_gets_no_new_cut() {
    // Hangs from its top, z = 1, which is up here; the blade comes from the side and stays.
    let gravity = Vec3::Z * -9.81;
    let mut cloth = hold(sheet(), |uv| uv.y == 1.0);
    for n in cloth.mesh.nodes() {
        cloth.v[n] = Vec3::Y * (1.0 - cloth.x[n].z);
    }
    let along = moved(upright(Vec2::new(-0.03, 0.47)), &[(0.2, Vec3::X * 0.5)]);
    let mut simulation = simulation(cloth, along, gravity, 0.005);
    let while_it_moves = run(&mut simulation, 42);
    assert!(!while_it_moves.is_empty());
    let after = run(&mut simulation, 400);
    assert!(after.is_empty(), "{} edges in 2 s", after.len());
}

#[test]
fn threads_change_no_bit() {
    let hash = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let along = moved(upright(Vec2::new(-0.03, 0.47)), &[(0.2, Vec3::X * 0.5)]);
            let mut simulation = simulation(taut(), along, Vec3::Y * -9.81, 0.005);
            assert!(!run(&mut simulation, 20).is_empty());
            simulation.state_hash()
        })
    };
    assert_eq!(hash(1), hash(2));
}
