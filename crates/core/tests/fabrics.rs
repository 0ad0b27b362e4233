//! Sheets at rest against what the books say of beams and strips: cantilevers and hanging weights.

use ripstop::fabric::{ElasticityKind, Fabric};
use ripstop::integrator::{Implicit, ImplicitSettings};
use ripstop::mesh::{Mesh, NodeId, generate};
use ripstop::model::{Surroundings, membrane};
use ripstop::potential::{Bending, Measured};
use ripstop::{Cloth, Grip, Placement, Simulation, Vec2, Vec3};

/// Steps until nothing moves.
fn settle(mut simulation: Simulation) -> Cloth {
    for _ in 0..2000 {
        simulation.step().unwrap();
        if simulation.step_count() > 20 && simulation.cloth().v.iter().all(|v| v.length() < 3e-7) {
            return simulation.cloth().clone();
        }
    }
    panic!("still moving at {} J", simulation.cloth().kinetic_energy());
}

fn simulate(fabric: &Fabric, cloth: Cloth, gravity: Vec3, held: &[NodeId]) -> Cloth {
    let around = Surroundings { gravity, viscous: 0.0, ..Surroundings::default() };
    let mut potentials = membrane(fabric, fabric.law(), &cloth);
    potentials.extend(around.loads(&cloth));
    let grip = Grip::still("held", held, &cloth);
    let implicit = Implicit::new(ImplicitSettings { tolerance: 1e-8, ..ImplicitSettings::default() });
    settle(Simulation::new(cloth, potentials, implicit, 0.2).grip(grip))
}

/// How far the end of a strip sinks, over w L⁴ / 8 B of a beam clamped at one end. The strip lies along `weft` or warp, and
/// is clamped up to `root`; hinges on that line are half in the clamp, which acts half a `cell` further in.
fn sinks(mesh: Mesh, fabric: &Fabric, stiffness: f64, lies_along_u: bool, root: f64, cell: f64) -> f64 {
    let along = |p: Vec2| if lies_along_u { p.x } else { p.y };
    let (weft, warp) = if lies_along_u { (Vec3::X, Vec3::Z) } else { (Vec3::Z, Vec3::X) };
    let cloth = Cloth::flat(mesh, fabric.density, Placement { origin: Vec3::ZERO, weft, warp });
    let held: Vec<NodeId> = cloth.mesh.nodes().filter(|&n| along(cloth.mesh.node_uv(n)) < root + 1e-6).collect();
    let tip = cloth.mesh.nodes().map(|n| along(cloth.mesh.node_uv(n))).fold(0.0, f64::max);
    let length = tip - root + 0.5 * cell;
    // A weight that lets it sink by a fiftieth of its length: little enough for the linear theory.
    let gravity = 0.02 * 8.0 * stiffness / (fabric.density * length * length * length);
    let end = simulate(fabric, cloth, Vec3::NEG_Y * gravity, &held);
    let ends = end.mesh.nodes().filter(|&n| along(end.mesh.node_uv(n)) > tip - 1e-6);
    let (sum, count) = ends.fold((0.0, 0.0), |(sum, count), n| (sum - end.x[n].y, count + 1.0));
    sum / count / (0.02 * length)
}

#[test]
fn a_cantilever_sinks_as_far_as_beams_do() {
    let fabric = Fabric { stretch: 2000.0, shear: 100.0, bend: 5e-5, ..Fabric::default() };
    let strip = || generate::grid(Vec2::new(0.205, 0.05), [42, 11]).unwrap();
    // The clamp, and free sides, which the grid bends the other way a little: 6 %.
    let grid = sinks(strip(), &fabric, 5e-5, true, 0.005, 0.005);
    assert!((grid - 1.0).abs() < 0.06, "a grid sinks {grid} of the theory");
    let coarse = sinks(generate::grid(Vec2::new(0.21, 0.05), [22, 6]).unwrap(), &fabric, 5e-5, true, 0.01, 0.01);
    assert!((coarse - 1.0).abs() < 0.06, "a coarse grid sinks {coarse}");
    // Irregular meshes have hinges in all directions, whose products the energy leaves out: they are up to a tenth softer.
    let irregular = generate::irregular(Vec2::new(0.2, 0.08), 0.01, 2).unwrap();
    let irregular = sinks(irregular, &fabric, 5e-5, true, 0.012, 0.01);
    assert!((0.9..1.12).contains(&irregular), "an irregular mesh sinks {irregular}");
    let other = generate::grid(Vec2::new(0.05, 0.205), [11, 42]).unwrap();
    // Hinges of other directions share in the bending, on top of the above.
    let measured = Bending::constant([6e-5, 7e-5, 9e-5]);
    let fabric = Fabric { bending: Some(measured), ..fabric };
    let along_weft = sinks(strip(), &fabric, 6e-5, true, 0.005, 0.005);
    assert!((along_weft - 1.0).abs() < 0.1, "along the weft {along_weft}");
    let along_warp = sinks(other, &fabric, 9e-5, false, 0.005, 0.005);
    assert!((along_warp - 1.0).abs() < 0.18, "along the warp {along_warp}");
}

/// Stretch of a strip that hangs from its top, with a weight on its lower end [N/m].
fn hangs(fabric: &Fabric, weight: f64, along_u: bool) -> f64 {
    let (size, nodes) = if along_u { (Vec2::new(0.3, 0.05), [31, 6]) } else { (Vec2::new(0.05, 0.3), [6, 31]) };
    let (weft, warp) = if along_u { (Vec3::NEG_Y, Vec3::X) } else { (Vec3::X, Vec3::NEG_Y) };
    let place = Placement { origin: Vec3::ZERO, weft, warp };
    let mut cloth = Cloth::flat(generate::grid(size, nodes).unwrap(), 1e-6, place);
    let along = |mesh: &Mesh, n| if along_u { mesh.node_uv(n).x } else { mesh.node_uv(n).y };
    let row = |cloth: &Cloth, at: f64| -> Vec<NodeId> {
        cloth.mesh.nodes().filter(|&n| (along(&cloth.mesh, n) - at).abs() < 1e-9).collect()
    };
    let (top, bottom) = (row(&cloth, 0.0), row(&cloth, 0.3));
    // A bar that is free to become narrower: mass in proportion to the width at each node.
    for (k, &n) in bottom.iter().enumerate() {
        let width = if k == 0 || k + 1 == bottom.len() { 0.005 } else { 0.01 };
        cloth.mass[n] = weight * width / 9.81;
        cloth.hold(n, None);
    }
    let end = simulate(fabric, cloth, Vec3::NEG_Y * 9.81, &top);
    // The middle half: away from the grip, which can't become narrower.
    let mean = |row: &[NodeId]| row.iter().map(|&n| -end.x[n].y).sum::<f64>() / row.len() as f64;
    (mean(&row(&end, 0.22)) - mean(&row(&end, 0.1))) / 0.12 - 1.0
}

#[test]
fn a_strip_with_a_weight_stretches_as_its_curve_says() {
    // A knit: soft, and much stiffer where it is stretched.
    let measured = ElasticityKind::Measured(Measured {
        strain: 0.17,
        matrices: [
            [17.0, -15.0, 34.0, 37.0],
            [46.0, 54.0, 261.0, 30.0],
            [49.0, 88.0, 206.0, 23.0],
            [124.0, 105.0, 366.0, 44.0],
            [140.0, 74.0, 414.0, 74.0],
            [127.0, 86.0, 406.0, 32.0],
        ],
    });
    let woven = ElasticityKind::Orthotropic { c11: 230.0, c12: 40.0, c22: 1050.0, c33: 60.0 };
    let same = ElasticityKind::Isotropic { young: 400.0, poisson: 0.3 };
    for (kind, weight) in [(measured, 4.0), (woven, 20.0), (same, 20.0)] {
        let fabric = Fabric { elasticity: Some(kind), bend: 0.0, ..Fabric::default() };
        for along_u in [true, false] {
            let curve = fabric.stretch_under(if along_u { 0.0 } else { std::f64::consts::FRAC_PI_2 }, weight);
            let found = hangs(&fabric, weight, along_u);
            assert!((found / curve - 1.0).abs() < 0.02, "{}: {found} against {curve}", kind.name());
        }
    }
}
