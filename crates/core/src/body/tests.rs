//! Laws of rigid bodies.

use super::*;
use crate::math::Quat;
use std::f64::consts::PI;

const EARTH: Vec3 = Vec3::new(0.0, -9.81, 0.0);

fn free(mass: Real) -> Drive {
    Drive::Free { mass, velocity: Vec3::ZERO, spin: Vec3::ZERO }
}

fn ball(radius: Real, place: Vec3, drive: Drive) -> BodySpec {
    BodySpec::new("ball", Shape::Ball { radius }).at(Pose::at(place)).driven(drive)
}

fn run(bodies: &mut Bodies, from: Real, h: Real, steps: u32) {
    for i in 0..steps {
        bodies.drive(from + f64::from(i) * h, h);
        bodies.advance(h);
    }
}

fn hash(bodies: &Bodies) -> u64 {
    let mut print = Fingerprint::default();
    bodies.fingerprint(&mut print);
    print.value()
}

#[test]
fn free_fall_is_that_of_symplectic_euler() {
    let velocity = Vec3::new(1.0, 2.0, 0.0);
    let drive = Drive::Free { mass: 3.0, velocity, spin: Vec3::ZERO };
    let mut bodies = Bodies::new(vec![ball(0.1, Vec3::ZERO, drive)], EARTH).unwrap();
    let (h, n) = (1e-3, 1000);
    run(&mut bodies, 0.0, h, n);
    let t = f64::from(n) * h;
    assert!((bodies.velocity(0) - (velocity + EARTH * t)).length() < 1e-12);
    assert!((bodies.middle(0) - (velocity * t + EARTH * (0.5 * t * (t + h)))).length() < 1e-12);
}

#[test]
fn a_ball_on_a_plane_comes_to_rest_and_stays_for_a_minute() {
    let radius = 0.1;
    let plane = BodySpec::new("floor", Shape::Plane);
    let mut bodies = Bodies::new(vec![plane, ball(radius, Vec3::Y * 0.5, free(1.0))], EARTH).unwrap();
    let h = 1.0 / 240.0;
    run(&mut bodies, 0.0, h, 480);
    let rest = bodies.middle(1);
    assert!((rest.y - radius).abs() < 1e-3 * radius, "it rests on the plane, not in it: {}", rest.y);
    for second in 0..60 {
        run(&mut bodies, 2.0 + f64::from(second), h, 240);
        assert!((bodies.middle(1) - rest).length() < 1e-6, "second {second}: {}", bodies.middle(1) - rest);
        assert!(bodies.velocity(1).length() < 1e-6, "second {second}: {}", bodies.velocity(1));
    }
}

#[test]
fn what_is_foreseen_comes_and_asking_changes_nothing() {
    let make = || {
        let thrown = Drive::Free { mass: 2.0, velocity: Vec3::new(1.0, -3.0, 0.0), spin: Vec3::Z };
        let specs = vec![
            BodySpec::new("floor", Shape::Plane),
            ball(0.1, Vec3::Y * 0.13, thrown),
            ball(0.1, Vec3::new(2.0, 1.0, 0.0), free(1.0)),
        ];
        Bodies::new(specs, EARTH).unwrap()
    };
    let (mut asked, mut other, h) = (make(), make(), 1.0 / 240.0);
    let mut met = false;
    for i in 0..100 {
        asked.drive(f64::from(i) * h, h);
        other.drive(f64::from(i) * h, h);
        let changes = asked.foresee(h);
        let ends = [1, 2].map(|b| asked.middle(b) + (asked.velocity(b) + changes[b].0) * h);
        let spins = [1, 2].map(|b| asked.spin(b) + changes[b].1);
        asked.advance(h);
        other.advance(h);
        for b in [1, 2] {
            assert!((asked.middle(b) - ends[b - 1]).length() < 1e-9, "body {b} in step {i}");
            assert!((asked.spin(b) - spins[b - 1]).length() < 1e-9, "body {b} in step {i}");
        }
        // The floor stops the first at once, and nothing is in the way of the second.
        met |= changes[1].0.y > 1.0;
        assert_eq!(changes[2], (Vec3::ZERO, Vec3::ZERO), "step {i}");
        assert_eq!(hash(&asked), hash(&other), "step {i}");
    }
    assert!(met);
}

#[test]
fn what_falls_on_a_plane_leaves_room_for_cloth_at_once() {
    let (radius, room, h) = (0.1, 1e-3, 1.0 / 240.0);
    for speed in [0.5, 2.0, 5.0, 12.0] {
        let drive = Drive::Free { mass: 5.0, velocity: Vec3::Y * -speed, spin: Vec3::ZERO };
        let specs = vec![BodySpec::new("floor", Shape::Plane), ball(radius, Vec3::Y * 0.137, drive)];
        let mut bodies = Bodies::new(specs, EARTH).unwrap();
        bodies.leave_room(room);
        for i in 0..120 {
            run(&mut bodies, f64::from(i) * h, h, 1);
            let left = bodies.middle(1).y - radius;
            assert!(left > 1.9 * room, "{left} m are left after {i} steps at {speed} m/s");
        }
        assert!(bodies.middle(1).y - radius < 3.0 * room, "{speed} m/s: {}", bodies.middle(1));
    }
}

#[test]
fn every_solid_shape_rests_on_a_plane() {
    let cube = Surface::cuboid(Vec3::splat(0.2));
    let shapes = [
        Shape::Box { sides: Vec3::splat(0.2) },
        Shape::Cylinder { radius: 0.15, height: 0.2 },
        Shape::Hull { points: cube.points.clone() },
        Shape::Mesh { points: cube.points, triangles: cube.triangles },
    ];
    for shape in shapes {
        let name = shape.name();
        let body = BodySpec::new(name, shape).at(Pose::at(Vec3::Y * 0.15)).driven(free(0.5));
        let mut bodies = Bodies::new(vec![BodySpec::new("floor", Shape::Plane), body], EARTH).unwrap();
        run(&mut bodies, 0.0, 1.0 / 240.0, 480);
        assert!((bodies.middle(1) - Vec3::Y * 0.1).length() < 1e-3, "{name}: {}", bodies.middle(1));
        assert!(bodies.velocity(1).length() < 1e-3, "{name}: {}", bodies.velocity(1));
    }
}

#[test]
fn a_collision_keeps_momentum_and_gains_no_energy() {
    let drive = |mass, x| Drive::Free { mass, velocity: Vec3::X * x, spin: Vec3::new(0.0, 0.3, x) };
    let specs =
        vec![ball(0.1, Vec3::X * -0.3, drive(1.0, 2.0)), ball(0.15, Vec3::new(0.3, 0.1, 0.0), drive(3.0, -1.0))];
    let mut bodies = Bodies::new(specs, Vec3::ZERO).unwrap();
    let (momentum, turning, energy) = (bodies.momentum(), bodies.angular_momentum(), bodies.kinetic_energy());
    run(&mut bodies, 0.0, 1e-3, 600);
    assert!((bodies.velocity(0).x - 2.0).abs() > 0.5, "they did meet: {}", bodies.velocity(0));
    assert!((bodies.momentum() - momentum).length() < 1e-12);
    // rapier's contact point is the same for both bodies up to how far they move in a step.
    assert!(
        (bodies.angular_momentum() - turning).length() < 1e-2 * turning.length(),
        "{}",
        bodies.angular_momentum() - turning
    );
    assert!(bodies.kinetic_energy() <= energy * (1.0 + 1e-12));
}

#[test]
fn inertia_of_a_box_in_world_axes() {
    let sides = Vec3::new(0.2, 0.6, 0.4);
    let quarter = Quat::from_xyzw(0.0, 0.0, 0.5_f64.sqrt(), 0.5_f64.sqrt());
    let pose = Pose { place: Vec3::new(1.0, 2.0, 3.0), turn: quarter };
    let spec = BodySpec::new("box", Shape::Box { sides }).at(pose).driven(free(2.0));
    let mut bodies = Bodies::new(vec![spec], EARTH).unwrap();
    let (inverse_mass, inverse) = bodies.inertia(0);
    assert!((inverse_mass - 0.5).abs() < 1e-15);
    // A quarter turn about z swaps x and y: m (b² + c²) / 12.
    let axis = |b: Real, c: Real| 12.0 / (2.0 * (b * b + c * c));
    let exact = Vec3::new(axis(sides.x, sides.z), axis(sides.y, sides.z), axis(sides.x, sides.y));
    assert!((inverse * Vec3::ONE - exact).length() < 1e-12, "{inverse}");
    bodies.push(0, Vec3::X * 4.0, Vec3::Y * 0.1);
    assert!((bodies.velocity(0) - Vec3::X * 2.0).length() < 1e-14);
    assert!((bodies.spin(0) - Vec3::Y * 0.1 * exact.y).length() < 1e-14);
    assert!(
        (bodies.velocity_at(0, pose.place + Vec3::Z) - bodies.velocity(0) - Vec3::X * 0.1 * exact.y).length() < 1e-14
    );
}

#[test]
fn mass_of_meshes_is_that_of_their_inside() {
    // A box of triangles away from its own origin.
    let (sides, shift) = (Vec3::new(0.2, 0.6, 0.4), Vec3::new(3.0, -1.0, 0.5));
    let mut cube = Surface::cuboid(sides);
    cube.points.iter_mut().for_each(|p| *p += shift);
    let exact = Bodies::new(vec![BodySpec::new("box", Shape::Box { sides }).driven(free(2.0))], EARTH).unwrap();
    let (points, triangles) = (cube.points, cube.triangles);
    for shape in [Shape::Hull { points: points.clone() }, Shape::Mesh { points, triangles }] {
        let bodies = Bodies::new(vec![BodySpec::new("mesh", shape).driven(free(2.0))], EARTH).unwrap();
        assert!((bodies.middle(0) - shift).length() < 1e-12);
        let off = bodies.inertia(0).1 - exact.inertia(0).1;
        assert!(off.to_cols_array().iter().all(|x| x.abs() < 1e-9), "{off}");
    }
}

#[test]
fn a_free_spin_keeps_angular_momentum_and_a_unit_turn() {
    let drive = Drive::Free { mass: 1.0, velocity: Vec3::ZERO, spin: Vec3::new(3.0, 0.1, 0.2) };
    let spec = BodySpec::new("box", Shape::Box { sides: Vec3::new(0.3, 0.2, 0.1) }).driven(drive);
    let mut bodies = Bodies::new(vec![spec], Vec3::ZERO).unwrap();
    let (turning, energy) = (bodies.angular_momentum(), bodies.kinetic_energy());
    run(&mut bodies, 0.0, 1e-3, 5000);
    assert!((bodies.pose(0).turn.length() - 1.0).abs() < 1e-12);
    // rapier's explicit gyroscopic step is of first order.
    assert!((bodies.angular_momentum() - turning).length() < 2e-2 * turning.length(), "{}", bodies.angular_momentum());
    assert!((bodies.kinetic_energy() / energy - 1.0).abs() < 2e-2, "{}", bodies.kinetic_energy() / energy);
}

#[test]
fn a_scripted_body_is_at_its_keys_and_pushes_a_free_one() {
    let key = |time, shift, turn| Key { time, shift, turn };
    let keys = vec![key(0.0, Vec3::ZERO, Vec3::ZERO), key(1.0, Vec3::X, Vec3::Y * PI)];
    let sides = Vec3::splat(0.2);
    let mover = BodySpec::new("mover", Shape::Box { sides }).at(Pose::at(Vec3::Y)).driven(Drive::Scripted(keys));
    let mut bodies = Bodies::new(vec![mover, ball(0.1, Vec3::new(0.5, 1.0, 0.0), free(5.0))], Vec3::ZERO).unwrap();
    let h = 0.01;
    for i in 0..100 {
        bodies.drive(f64::from(i) * h, h);
        if i < 50 {
            assert!((bodies.velocity(0) - Vec3::X).length() < 1e-12);
            assert!((bodies.spin(0) - Vec3::Y * PI).length() < 1e-11);
        }
        bodies.advance(h);
        let share = (f64::from(i) * h + h).min(1.0);
        assert_eq!(bodies.pose(0).place, Vec3::Y + Vec3::X * share);
        assert_eq!(bodies.pose(0).turn, turn(Vec3::Y * (PI * share)));
    }
    assert!(bodies.middle(1).x > 1.15, "pushed before it: {}", bodies.middle(1));
    assert_eq!(bodies.inertia(0), (0.0, Mat3::ZERO));
    bodies.push(0, Vec3::ONE, Vec3::ONE);
    run(&mut bodies, 1.0, h, 1);
    assert_eq!(bodies.velocity(0), Vec3::ZERO, "it stands still after its last key and feels no push");
}

#[test]
fn a_script_turns_a_mesh_about_its_middle() {
    let shift = Vec3::new(0.0, 0.0, 2.0);
    let mut cube = Surface::cuboid(Vec3::ONE);
    cube.points.iter_mut().for_each(|p| *p += shift);
    let shape = Shape::Mesh { points: cube.points, triangles: cube.triangles };
    let keys = vec![Key { time: -1.0, shift: Vec3::X, turn: Vec3::Y * (0.5 * PI) }];
    let keys = [keys, vec![Key { time: 0.5, shift: Vec3::Y, turn: Vec3::ZERO }]].concat();
    let mut bodies = Bodies::new(vec![BodySpec::new("cube", shape).driven(Drive::Scripted(keys))], EARTH).unwrap();
    let first = bodies.middle(0) - shift;
    assert!((first - Vec3::new(1.0, 2.0, 0.0) / 3.0).length() < 1e-12, "it starts where its keys have it: {first}");
    assert!((bodies.pose(0).turn * Vec3::Z - turn(Vec3::Y * (PI / 6.0)) * Vec3::Z).length() < 1e-12);
    bodies.drive(0.3, 0.3);
    bodies.advance(0.3);
    assert!((bodies.middle(0) - shift - Vec3::Y).length() < 1e-12 && bodies.pose(0).turn == Quat::IDENTITY);
}

/// A little of everything, thrown on a floor.
fn heap() -> Bodies {
    let cube = Surface::cuboid(Vec3::splat(0.2));
    let keys = vec![
        Key { time: 0.0, shift: Vec3::ZERO, turn: Vec3::ZERO },
        Key { time: 1.0, shift: Vec3::X * 0.5, turn: Vec3::Y },
    ];
    let drive =
        |i: f64| Drive::Free { mass: 0.3 + 0.1 * i, velocity: Vec3::X * 0.2 * i, spin: Vec3::new(1.0, i, -1.0) };
    let shapes = [
        Shape::Ball { radius: 0.1 },
        Shape::Capsule { radius: 0.06, height: 0.3 },
        Shape::Cylinder { radius: 0.1, height: 0.15 },
        Shape::Box { sides: Vec3::new(0.1, 0.2, 0.3) },
        Shape::Hull { points: cube.points.clone() },
        Shape::Mesh { points: cube.points, triangles: cube.triangles },
    ];
    let mut specs = vec![
        BodySpec::new("floor", Shape::Plane),
        BodySpec::new("arm", Shape::Box { sides: Vec3::new(0.1, 0.4, 1.0) }).driven(Drive::Scripted(keys)),
    ];
    for (i, shape) in shapes.into_iter().enumerate() {
        let i = i as f64;
        let place = Vec3::new(0.3 + 0.03 * i, 0.3 + 0.25 * i, 0.02 * i);
        specs.push(BodySpec::new(format!("thing {i}"), shape).at(Pose::at(place)).driven(drive(i)));
    }
    Bodies::new(specs, EARTH).unwrap()
}

#[test]
fn a_heap_stays_above_the_floor() {
    let mut bodies = heap();
    run(&mut bodies, 0.0, 1.0 / 240.0, 720);
    assert_eq!(bodies.broken(), None);
    for (i, body) in bodies.iter().enumerate().filter(|(_, body)| body.is_free()) {
        let low = body.surface.points.iter().map(|p| bodies.pose(i).apply(*p).y).fold(f64::MAX, f64::min);
        assert!(low > -2e-3, "{} is {low} m deep in the floor", body.name);
    }
}

#[test]
fn the_same_bits_after_a_checkpoint() {
    let (h, n) = (1.0 / 240.0, 200);
    let mut whole = heap();
    run(&mut whole, 0.0, h, n);
    let kept = postcard::to_stdvec(&whole).unwrap();
    let middle = hash(&whole);
    run(&mut whole, f64::from(n) * h, h, n);
    let mut resumed = heap();
    assert!(resumed.restore(postcard::from_bytes(&kept).unwrap()));
    assert_eq!(hash(&resumed), middle);
    run(&mut resumed, f64::from(n) * h, h, n);
    assert_eq!(hash(&resumed), hash(&whole));
    assert_ne!(hash(&resumed), middle, "something still moves");
    assert!(!Bodies::default().restore(postcard::from_bytes(&kept).unwrap()), "other bodies");
}

#[test]
fn going_back_undoes_a_step() {
    let mut bodies = heap();
    run(&mut bodies, 0.0, 0.01, 20);
    bodies.drive(0.2, 0.01);
    let (driven, pose) = (hash(&bodies), bodies.pose(1));
    bodies.advance(0.01);
    assert_eq!(bodies.pose_before(1), pose);
    assert_ne!(hash(&bodies), driven);
    bodies.go_back();
    assert_eq!(hash(&bodies), driven);
    // In two parts, a scripted body is at its key too.
    bodies.advance(0.004);
    bodies.advance(0.006);
    assert!((bodies.pose(1).place.x - 0.105).abs() < 1e-14, "{}", bodies.pose(1).place.x);
}

#[test]
fn ties_are_points_of_the_body_and_follow_a_split() {
    let pose = Pose { place: Vec3::Y, turn: turn(Vec3::Z * (0.5 * PI)) };
    let mut bodies = Bodies::new(vec![BodySpec::new("cube", Shape::Box { sides: Vec3::ONE }).at(pose)], EARTH).unwrap();
    bodies.tie(0, [(NodeId(3), Vec3::ZERO), (NodeId(5), Vec3::new(0.5, 1.0, 0.0))]);
    bodies.follow(&Change::NodeSplit { node: NodeId(5), copy: NodeId(9) });
    bodies.follow(&Change::NodeSplit { node: NodeId(4), copy: NodeId(10) });
    let ties = &bodies.get(0).unwrap().ties;
    assert_eq!(ties.iter().map(|tie| tie.0).collect::<Vec<_>>(), [NodeId(3), NodeId(5), NodeId(9)]);
    assert!((ties[1].1 - Vec3::Y * -0.5).length() < 1e-15, "{}", ties[1].1);
    assert_eq!(ties[2].1, ties[1].1);
}

#[test]
fn what_cannot_be_is_refused_with_its_key() {
    let cube = || Surface::cuboid(Vec3::ONE);
    let mesh = |points, triangles| Shape::Mesh { points, triangles };
    let open = mesh(cube().points, cube().triangles[1..].to_vec());
    let flat = (0..9).map(|i| Vec3::new(f64::from(i % 3), f64::from(i / 3), f64::from(i % 3))).collect();
    let line = (0..9).map(|i| Vec3::ONE * f64::from(i)).collect();
    let still = || Drive::Fixed;
    let cases = [
        (Shape::Ball { radius: 0.0 }, still(), "shape", "above zero"),
        (Shape::Ball { radius: f64::NAN }, still(), "shape", "NaN"),
        (Shape::Ball { radius: 1e300 }, free(1.0), "shape", "beyond"),
        (Shape::Box { sides: Vec3::new(1.0, -1.0, 1.0) }, still(), "shape", "above zero"),
        (Shape::Capsule { radius: 0.5, height: 1.0 }, still(), "shape", "round ends"),
        (Shape::Cylinder { radius: 0.5, height: f64::INFINITY }, still(), "shape", "finite"),
        (Shape::Hull { points: flat }, still(), "shape", "plane"),
        (Shape::Hull { points: line }, still(), "shape", "plane"),
        (Shape::Hull { points: vec![Vec3::ZERO; 20] }, still(), "shape", "plane"),
        (Shape::Hull { points: vec![Vec3::X] }, still(), "shape", "at least four"),
        (Shape::Hull { points: vec![Vec3::NAN; 5] }, still(), "shape", "not a number"),
        (mesh(vec![Vec3::ZERO; 3], vec![[0, 1, 2]]), still(), "shape", "no area"),
        (mesh(vec![Vec3::ZERO; 3], vec![[0, 1, 7]]), still(), "shape", "names point 7"),
        (mesh(Vec::new(), Vec::new()), still(), "shape", "no faces"),
        (open.clone(), free(1.0), "shape", "open"),
        (Shape::Plane, free(1.0), "shape", "can't be free"),
        (Shape::Ball { radius: 1.0 }, free(0.0), "mass", "above zero"),
        (Shape::Ball { radius: 1.0 }, free(f64::NAN), "mass", "NaN"),
        (
            Shape::Ball { radius: 1.0 },
            Drive::Free { mass: 1.0, velocity: Vec3::NAN, spin: Vec3::ZERO },
            "velocity",
            "number",
        ),
    ];
    for (shape, drive, key, says) in cases {
        let spec = BodySpec::new("thing", shape.clone()).driven(drive);
        let error = Bodies::new(vec![BodySpec::new("floor", Shape::Plane), spec], EARTH).unwrap_err();
        assert_eq!((error.number, error.key), (1, key), "{shape:?}: {error}");
        assert!(error.to_string().contains(says), "{shape:?}: {error}");
    }
    assert!(Bodies::new(vec![BodySpec::new("screen", open)], EARTH).is_ok(), "open and fixed is allowed");
    let mut rough = BodySpec::new("floor", Shape::Plane);
    rough.friction = Some(-0.1);
    assert_eq!(Bodies::new(vec![rough], EARTH).unwrap_err().key, "friction");
    let turned =
        BodySpec::new("floor", Shape::Plane).at(Pose { place: Vec3::ZERO, turn: Quat::from_xyzw(0.0, 0.0, 0.0, 0.0) });
    assert_eq!(Bodies::new(vec![turned], EARTH).unwrap_err().key, "turn");
}

#[test]
fn an_inside_out_mesh_is_turned_and_told() {
    let mut cube = Surface::cuboid(Vec3::ONE);
    cube.turn_over();
    let shape = Shape::Mesh { points: cube.points, triangles: cube.triangles };
    let bodies = Bodies::new(vec![BodySpec::new("cube", shape).driven(free(2.0))], EARTH).unwrap();
    let body = bodies.get(0).unwrap();
    assert!(body.surface.volume() > 0.0);
    assert!(body.warning.as_ref().is_some_and(|text| text.contains("inside out")));
    assert!(bodies.inertia(0).1.x_axis.x > 0.0);
}

#[test]
fn a_body_that_is_no_number_stops_the_step() {
    let mut bodies = heap();
    bodies.push(3, Vec3::NAN, Vec3::ZERO);
    assert_eq!(bodies.broken(), Some(3));
    bodies.advance(0.01);
    assert_eq!(bodies.broken(), Some(3), "it is not put right in silence");
}
