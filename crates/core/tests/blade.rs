//! Laws of blades: bodies whose sharp edges cut.

use ripstop::body::{BodySpec, Drive, Shape, Sharp};
use ripstop::contact::crossing::Crossings;
use ripstop::contact::{ContactSettings, Cutting};
use ripstop::integrator::{Implicit, ImplicitSettings};
use ripstop::math::turn;
use ripstop::mesh::{generate, pieces};
use ripstop::model::{Surroundings, membrane};
use ripstop::potential::Elasticity;
use ripstop::tear::{Cause, Event};
use ripstop::{Bodies, Cloth, Fabric, Key, Placement, Pose, Simulation, Vec2, Vec3};

const FABRIC: Fabric = Fabric { density: 0.2, stretch: 800.0, shear: 80.0, ..Fabric::SOFT };
fn var(name: &str, usual: f64) -> f64 { std::env::var(name).ok().and_then(|s| s.parse().ok()).unwrap_or(usual) }

/// A metre of cloth in the plane y = 0, from the origin along x and z.
fn sheet() -> Cloth {
    let place = Placement { origin: Vec3::ZERO, weft: Vec3::X, warp: Vec3::Z };
    Cloth::flat(generate::irregular(Vec2::ONE, var("SPACING", 0.06), 4).unwrap(), FABRIC.density, place)
}

/// The same, held along the sides at z = 0 and z = 1.
fn held() -> Cloth {
    let mut cloth = sheet();
    for n in cloth.mesh.nodes() {
        if cloth.x[n].z == 0.0 || cloth.x[n].z == 1.0 {
            cloth.hold(n, Some(0));
        }
    }
    cloth
}

/// A wedge: its sharp edge along x through its origin, its back `depth` above, `thick` along z there.
fn knife(length: f64, depth: f64, thick: f64) -> BodySpec {
    let (l, t) = (0.5 * length, 0.5 * thick);
    let at = |x: f64| [Vec3::new(x, 0.0, 0.0), Vec3::new(x, depth, -t), Vec3::new(x, depth, t)];
    let points = [at(-l), at(l)].concat();
    let triangles = vec![
        [0, 1, 2], [3, 5, 4], [0, 4, 1], [0, 3, 4], [0, 2, 5], [0, 5, 3], [1, 4, 5], [1, 5, 2],
    ];
    BodySpec::new("knife", Shape::Mesh { points, triangles }).sharpened(Sharp::Below(0.7))
}

/// Moved from where it is put, over `time` [s].
fn moved(spec: BodySpec, by: Vec3, time: f64) -> BodySpec {
    let key = |time: f64, shift: Vec3| Key { time, shift, turn: Vec3::ZERO };
    spec.driven(Drive::Scripted(vec![key(0.0, Vec3::ZERO), key(time, by)]))
}

/// Without gravity and air, in steps of `h` [s].
fn simulation(cloth: Cloth, body: BodySpec, gravity: Vec3, h: f64) -> Simulation {
    let mut potentials = membrane(&FABRIC, Elasticity::of(&FABRIC), &cloth);
    potentials.extend(Surroundings { gravity, viscous: 0.0, ..Surroundings::default() }.loads(&cloth));
    let settings = ContactSettings { thickness: var("THICK", 1e-3), friction: 0.2, stiffness: 800.0, on_itself: true };
    let integrator = Implicit::new(ImplicitSettings { tolerance: 1e-6, ..ImplicitSettings::default() });
    Simulation::new(cloth, potentials, integrator, h)
        .with_bodies(Bodies::new(vec![body], gravity).unwrap())
        .contact(settings)
        .cutting(Cutting::of(&FABRIC))
}

fn crossings(simulation: &Simulation) -> usize {
    let found = Crossings::of(simulation.cloth(), simulation.bodies());
    found.itself.len() + found.bodies.iter().map(Vec::len).sum::<usize>()
}

/// Takes so many steps; returns all events. Nothing may cross.
fn run(simulation: &mut Simulation, steps: u32) -> Vec<Event> {
    let mut events = Vec::new();
    for step in 0..steps {
        simulation.step().unwrap();
        events.extend_from_slice(simulation.events());
        simulation.cloth().mesh.check().unwrap();
        let report = simulation.contacts().report();
        if std::env::var("ROWS").is_ok() {
            let cloth = simulation.cloth();
            let mut rows: Vec<_> = simulation.contacts().rows().iter().filter(|r| r.before.0 > 0.0).collect();
            rows.sort_by(|a, b| b.before.0.total_cmp(&a.before.0));
            for r in rows.iter().take(8) {
                let uv: Vec2 = (0..4).map(|k| cloth.mesh.node_uv(ripstop::mesh::NodeId(r.nodes[k])) * r.weights[k].abs()).sum::<Vec2>() ;
                eprintln!("   body {} F {:.2} N n {:.2} gap {:.5} d {:.5} w {:.2?} nodes {:?} uv {uv:.4}", r.body as i32, r.before.0, r.normal, r.gap, r.distance, r.weights, r.nodes);
            }
            let fast = cloth.mesh.nodes().max_by(|a, b| cloth.v[*a].length().total_cmp(&cloth.v[*b].length())).unwrap();
            eprintln!("   fastest {fast:?} at {:.4} uv {:.4} v {:.2} mass {:.2e}", cloth.x[fast], cloth.mesh.node_uv(fast), cloth.v[fast], cloth.mass[fast]);
        }
        eprintln!(
            "step {step}: {} events, {} crossings, {report:?}, strain {:.3}, v {:.2}",
            simulation.events().len(),
            crossings(simulation),
            simulation.cloth().mesh.edges().map(|e| simulation.cloth().total_strain(e).abs()).fold(0.0, f64::max),
            simulation.cloth().v.iter().map(|v| v.length()).fold(0.0, f64::max),
        );
    }
    events
}

/// Largest distance of the middles of opened edges from a line.
fn off(events: &[Event], a: Vec2, b: Vec2) -> f64 {
    let along = (b - a).normalize();
    events.iter().map(|e| along.perp_dot(e.uv - a).abs()).fold(0.0, f64::max)
}

#[test]
fn straight_down_through_a_resting_sheet() {
    for steps in [1u32, 10] {
        let down = moved(knife(1.4, 0.05, 0.004).at(Pose::at(Vec3::new(0.5, 0.011, 0.47))), Vec3::Y * -0.03, 0.02);
        let mut simulation = simulation(sheet(), down, Vec3::ZERO, 0.02 / f64::from(steps));
        let events = run(&mut simulation, steps);
        assert!(!events.is_empty() && events.iter().all(|e| e.cause == Cause::Cut { body: 0 }));
        let (a, b) = (Vec2::new(0.0, 0.47), Vec2::new(1.0, 0.47));
        eprintln!("off {}", off(&events, a, b));
        assert_eq!(pieces(&simulation.cloth().mesh).areas.len(), 2);
    }
}

#[test]
fn sideways_from_the_border() {
    for steps in [var("STEPS", 40.0) as u32] {
        // The edge upright, going along x.
        let turned = Pose { place: Vec3::new(-0.03, 0.0, 0.47), turn: turn(Vec3::Z * 0.5 * std::f64::consts::PI) };
        let along = moved(knife(0.4, 0.05, var("BLADE_T", 0.004)).at(turned), Vec3::X * 0.5, 0.2);
        let mut simulation = simulation(held(), along, Vec3::ZERO, 0.2 / f64::from(steps));
        let events = run(&mut simulation, steps);
        eprintln!("off {}", off(&events, Vec2::new(0.0, 0.47), Vec2::new(1.0, 0.47)));
        let longest = events.iter().map(|e| e.uv.x + 0.5 * e.length).fold(0.0, f64::max);
        eprintln!("as far as {longest}");
    }
}
