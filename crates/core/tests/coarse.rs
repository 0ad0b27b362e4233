//! Cloth that is made fine where it tears and coarse again behind, in whole runs: laws of `refine`.

use ripstop::contact::ContactSettings;
use ripstop::contact::crossing::Crossings;
use ripstop::criterion::Toughness;
use ripstop::fabric::{Fabric, Strength, Toughness as Energies};
use ripstop::integrator::{Implicit, ImplicitSettings, Integrator, Xpbd, XpbdSettings};
use ripstop::mesh::{NodeId, generate, pieces};
use ripstop::model::membrane;
use ripstop::opening::Through;
use ripstop::potential::Elasticity;
use ripstop::tear::{HandTear, Refine, Tearing};
use ripstop::{Cloth, Grip, Key, Placement, Simulation, Snapshot, Vec2, Vec3};

const SIDE: f64 = 0.1;
const FINE: f64 = 0.003;
/// What is nearer to a tip may stay fine [m]: 14 h, as `tear/coarsen.rs` has it.
const NEAR: f64 = 14.0 * FINE;

fn fabric() -> Fabric {
    Fabric {
        density: 0.2,
        bend: 1e-6,
        damping: 2e-4,
        elasticity: Some(Elasticity { weft: 2000.0, across: 40.0, warp: 2000.0, shear: 60.0 }.into()),
        strength: Some(Strength { weft: 100.0, warp: 100.0, bias: None }),
        toughness: Some(Energies { weft: 0.0934, warp: 0.0934, grid: None }),
        ..Fabric::default()
    }
}

/// A sheet of 20 mm triangles with a slit in its middle, pulled until it is two.
fn slit(integrator: Box<dyn Integrator>, contact: bool) -> Simulation {
    let fabric = fabric();
    let mesh = generate::irregular(Vec2::splat(SIDE), 0.02, 1).unwrap();
    let cloth = Cloth::flat(mesh, fabric.density, Placement::default());
    let row = |y: f64| cloth.mesh.nodes().filter(|&n| cloth.mesh.node_uv(n).y == y).collect::<Vec<NodeId>>();
    let pulled = |by: f64| {
        let key = |time: f64, y: f64| Key { time, shift: Vec3::Y * y, turn: Vec3::ZERO };
        vec![key(0.0, 0.0), key(0.5, by)]
    };
    let grips = [
        Grip::moving("low", &row(0.0), &cloth, pulled(-0.006)),
        Grip::moving("high", &row(SIDE), &cloth, pulled(0.006)),
    ];
    let criterion = Toughness::of(&fabric, &cloth).unwrap().finer(FINE);
    let mut tearing = Tearing::new(criterion, Through::of(&cloth).finer(FINE));
    tearing.refine = Some(Refine { edge: FINE });
    let path = vec![Vec2::new(0.035, 0.05), Vec2::new(0.065, 0.05)];
    let potentials = membrane(&fabric, fabric.law(), &cloth);
    let mut simulation = Simulation::boxed(cloth, potentials, integrator, 1.0 / 240.0)
        .tearing(tearing)
        .cut_by_hand(HandTear { time: 0.0, path });
    if contact {
        simulation =
            simulation.contact(ContactSettings { thickness: 3e-4, friction: 0.3, stiffness: 1000.0, on_itself: true });
    }
    for grip in grips {
        simulation = simulation.grip(grip);
    }
    simulation
}

/// Makes an integrator anew.
type Make = fn() -> Box<dyn Integrator>;

fn integrators() -> [(&'static str, Make); 2] {
    [
        ("implicit", || Box::new(Implicit::new(ImplicitSettings { tolerance: 1e-4, ..ImplicitSettings::default() }))),
        ("xpbd", || Box::new(Xpbd::new(XpbdSettings::default()))),
    ]
}

/// Triangles that no tip is near, per area [1/m²], and their share of the cloth.
fn behind_tips(cloth: &Cloth) -> (f64, f64) {
    let mesh = &cloth.mesh;
    let tips: Vec<Vec2> = cloth.tips.iter().map(|tip| mesh.node_uv(tip.node)).collect();
    let far = |at: &Vec2| tips.iter().all(|tip| tip.distance(*at) > NEAR);
    let faces: Vec<_> = mesh.faces().filter(|&face| mesh.face_uv(face).iter().all(far)).collect();
    let area: f64 = faces.iter().map(|&face| mesh.face_area(face)).sum();
    (faces.len() as f64 / area, area / mesh.area())
}

#[test]
fn a_sheet_that_was_torn_through_is_coarse_again() {
    for (name, integrator) in integrators() {
        for contact in [false, true] {
            let mut simulation = slit(integrator(), contact);
            let start = (simulation.cloth().mesh.faces().len(), simulation.cloth().mesh.area());
            let mass: f64 = simulation.cloth().mass.iter().sum();
            let mut finest = 0;
            for _ in 0..160 {
                simulation.step().unwrap();
                finest = finest.max(simulation.cloth().mesh.faces().len());
            }
            let cloth = simulation.cloth();
            // A branch may be left in a lip, and cloth stays fine around its tip.
            let (now, share) = behind_tips(cloth);
            let fine = finest as f64 / start.1;
            println!(
                "{name}, contact {contact}: {} faces, at most {finest}, in the end {now:.0} per m² where no tip is near, {share:.2} of it, {fine:.0} before",
                start.0
            );
            let large = pieces(&cloth.mesh).areas.into_iter().filter(|area| 10.0 * area > start.1).count();
            assert_eq!(large, 2, "{name}: torn through, crumbs aside");
            cloth.mesh.check().unwrap();
            assert!(
                finest > 10 * start.0 && share > 0.3 && 4.0 * now < fine,
                "{name}: {fine} faces per m² became {now}"
            );
            assert!((cloth.mesh.area() / start.1 - 1.0).abs() < 1e-12);
            assert!((cloth.mass.iter().sum::<f64>() / mass - 1.0).abs() < 1e-12);
            if contact {
                assert_eq!(Crossings::of(cloth, simulation.bodies()).count(), 0, "{name}");
            }
        }
    }
}

#[test]
fn a_run_that_goes_on_from_a_checkpoint_after_merges_agrees_in_every_bit() {
    for (name, integrator) in integrators() {
        let mut whole = slit(integrator(), true);
        let mut resumed = None;
        for _ in 0..160 {
            whole.step().unwrap();
            // In the midst of it: some are gone already, more will go.
            if resumed.is_none() && whole.cloth().mesh.retired().nodes.len() > 20 {
                let kept = postcard::to_allocvec(&whole.snapshot()).unwrap();
                let mut other = slit(integrator(), true);
                other.restore(postcard::from_bytes::<Snapshot>(&kept).unwrap());
                resumed = Some((whole.step_count(), whole.cloth().mesh.retired().nodes.len(), other));
            }
        }
        let (step, gone, mut other) = resumed.expect("something is taken away");
        while other.step_count() < whole.step_count() {
            other.step().unwrap();
        }
        assert!(whole.cloth().mesh.retired().nodes.len() > gone, "{name}: nothing goes after step {step}");
        assert_eq!(whole.state_hash(), other.state_hash(), "{name}, from step {step}");
    }
}
