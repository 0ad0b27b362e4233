//! Laws of exact cuts in a simulation.

use ripstop::integrator::{Implicit, ImplicitSettings, Rk4};
use ripstop::mesh::{NodeId, generate, pieces};
use ripstop::model::{Surroundings, membrane, springs};
use ripstop::opening::cut;
use ripstop::potential::Elasticity;
use ripstop::tear::{Cause, HandTear};
use ripstop::{Cloth, Fabric, Grip, Placement, Simulation, Vec2, Vec3};

fn sheet() -> Cloth {
    Cloth::flat(generate::irregular(Vec2::ONE, 0.07, 2).unwrap(), Fabric::SOFT.density, Placement::default())
}

/// Hangs from its top in a vacuum.
fn hanging() -> Simulation {
    let cloth = sheet();
    let top: Vec<NodeId> = cloth.mesh.nodes().filter(|&n| cloth.mesh.node_uv(n).y == 1.0).collect();
    let mut potentials = membrane(&Fabric::SOFT, Elasticity::of(&Fabric::SOFT), &cloth);
    potentials.extend(Surroundings { viscous: 0.0, ..Surroundings::default() }.loads(&cloth));
    let grip = Grip::still("top", &top, &cloth);
    let integrator = Implicit::new(ImplicitSettings { tolerance: 1e-8, ..ImplicitSettings::default() });
    Simulation::new(cloth, potentials, integrator, 1.0 / 60.0).grip(grip)
}

#[test]
fn a_cut_in_the_world_lets_the_lower_part_fall() {
    let mut simulation = hanging();
    (0..5).for_each(|_| simulation.step().unwrap());
    let path = [Vec3::new(-0.3, 0.43, 0.01), Vec3::new(1.3, 0.61, -0.01)];
    assert_eq!(simulation.cut_world(&[path[0] + Vec3::Z, path[1] + Vec3::Z], 0.08), 0, "beside the cloth");
    assert_eq!(simulation.cut_world(&path, 0.08), 1);
    let mut fallen = Vec::new();
    for step in 0..24 {
        simulation.step().unwrap();
        let opened = simulation.events();
        assert_eq!(opened.is_empty(), step != 0, "once");
        assert!(opened.iter().all(|event| event.cause == Cause::Hand && event.ratio == f64::INFINITY));
        let cloth = simulation.cloth();
        cloth.mesh.check().unwrap();
        let parts = pieces(&cloth.mesh);
        assert_eq!(parts.areas.len(), 2);
        let below = |n: &NodeId| cloth.mesh.fan(*n).all(|c| cloth.mesh.face_uv(c.face()).iter().any(|p| p.y < 0.45));
        let low: Vec<NodeId> = cloth.mesh.nodes().filter(below).collect();
        let mass: f64 = low.iter().map(|&n| cloth.mass[n]).sum();
        fallen.push(low.iter().map(|&n| cloth.v[n].y * cloth.mass[n]).sum::<f64>() / mass);
    }
    // The part oscillates as it relaxes, but falls as a whole.
    let gained = fallen[23] - fallen[3];
    assert!((gained / (-9.81 * 20.0 / 60.0) - 1.0).abs() < 0.05, "{gained} m/s in 20 steps");
}

#[test]
fn a_cut_by_hand_comes_at_its_time_and_on_its_line() {
    let (a, b) = (Vec2::new(0.0, 0.31), Vec2::new(1.0, 0.77));
    let mut simulation = hanging().cut_by_hand(HandTear { time: 0.05, path: vec![a, b] });
    for step in 0..6 {
        simulation.step().unwrap();
        assert_eq!(simulation.events().is_empty(), step != 3);
        for event in simulation.events() {
            assert!((b - a).perp_dot(event.uv - a).abs() < 1e-12);
        }
    }
    let areas = pieces(&simulation.cloth().mesh).areas;
    assert!(areas.iter().any(|area| (area - 0.54).abs() < 1e-12), "{areas:?}");
}

#[test]
fn explicit_steps_stay_stable_after_cuts() {
    // What scenes with cuts allow for.
    let cloth = sheet();
    let potentials = springs(&Fabric::SOFT, &cloth);
    let mut simulation = Simulation::new(cloth, potentials, Rk4::default(), 1e-4);
    let before = simulation.stable_step();
    for k in 0..6 {
        let y = 0.13 + 0.13 * f64::from(k);
        simulation.cut(&[Vec2::new(-0.1, y), Vec2::new(1.1, 0.9 - 0.8 * y)]);
    }
    simulation.step().unwrap();
    let after = simulation.stable_step();
    assert!(after > cut::STEP * before, "{after} s of {before} s");
}
