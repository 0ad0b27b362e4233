//! Laws of the woven cloth: whole cloth, tearing, fraying, same bits.

use ripstop::Vec3;
use ripstop::body::{Bodies, BodySpec, Drive, Pose, Shape};
use ripstop::cloth::Placement;
use ripstop::grip::Key;
use ripstop::wind::Wind;
use ripstop::yarn::{
    By, Damping, Family, Kind, Solver, Spec, Watch, Weave, Woven, inside_bodies, passings, sweeps_needed,
};

fn still() -> By {
    By::Keys(Vec::new())
}

fn moving(from: f64, to: f64, shift: Vec3) -> By {
    let key = |time, shift| Key { time, shift, turn: Vec3::ZERO };
    By::Keys(vec![key(from, Vec3::ZERO), key(to, shift)])
}

fn columns(cloth: &Woven, from: usize, to: usize) -> Vec<usize> {
    (0..cloth.spec().wefts).flat_map(|j| (from..to).map(move |i| (i, j))).map(|(i, j)| cloth.crossing(i, j)).collect()
}

/// Left and right columns held, and drawn apart by `share` of the width in `seconds`.
fn bars(spec: Spec, share: f64, seconds: f64) -> Woven {
    let warps = spec.warps;
    let way = 0.5 * share * warps as f64 * spec.spacing;
    let mut cloth = Woven::new(spec, Placement::default()).unwrap();
    let (left, right) = (columns(&cloth, 0, 2), columns(&cloth, warps - 2, warps));
    let none = Bodies::default();
    cloth.hold("left", &left, moving(0.0, seconds, Vec3::X * -way), None, &none);
    cloth.hold("right", &right, moving(0.0, seconds, Vec3::X * way), None, &none);
    cloth
}

fn run(cloth: &mut Woven, seconds: f64) {
    let mut none = Bodies::default();
    for _ in 0..(seconds / cloth.spec().step).round() as usize {
        cloth.step(&mut none).unwrap();
    }
}

#[test]
fn a_hanging_sheet_strains_as_its_springs_do_and_stays_whole() {
    let mut spec = Spec::muslin(80, 40);
    // Calm down soon; the rest state doesn't depend on it.
    spec.damping = Damping { sheet: 30.0, ..spec.damping };
    let weight = spec.node_mass() * -spec.gravity.y;
    let (stretch, spacing) = (spec.stretch, spec.spacing);
    let mut cloth = Woven::new(spec, Placement::default()).unwrap();
    let top: Vec<usize> = (0..80).map(|i| cloth.crossing(i, 39)).collect();
    cloth.hold("rail", &top, still(), None, &Bodies::default());
    run(&mut cloth, 1.0);
    assert!(!cloth.has_couples() && cloth.take_events().is_empty());
    for i in [0, 13, 40, 79] {
        for s in 0..39 {
            // The spring above crossing s carries it and all below.
            let load = weight * (s + 1) as f64;
            let c = cloth.crossing(i, s);
            let length = cloth.position(Family::Warp, c).distance(cloth.position(Family::Warp, c + 80));
            let strain = length / spacing - 1.0;
            let law = load / (stretch * spacing);
            // Two per cent of the largest: what is left of the fall after a second.
            let largest = 39.0 * weight / (stretch * spacing);
            assert!((strain - law).abs() < 0.02 * largest, "warp {i}, spring {s}: {strain} instead of {law}");
        }
    }
    let load = cloth.holds()[0].load.y;
    let all = -weight * (80 * 39) as f64;
    assert!((load - all).abs() < 0.02 * all.abs(), "{load} instead of {all}");
}

#[test]
fn what_is_not_torn_stays_what_it_is() {
    let mut cloth = bars(Spec::muslin(24, 16), 0.01, 0.5);
    run(&mut cloth, 0.8);
    assert!(!cloth.has_couples());
    assert_eq!(cloth.counts().pieces, 1);
    assert!(cloth.runs().iter().all(|run| run.kinds.iter().all(|&kind| kind == Kind::Welded)));
    assert_eq!(cloth.runs().len(), 24 + 16);
}

#[test]
fn bars_that_move_apart_tear_it_in_two() {
    let mut cloth = bars(Spec::muslin(32, 20), 0.8, 1.0);
    run(&mut cloth, 1.2);
    let counts = cloth.counts();
    let events = cloth.take_events();
    assert!(counts.pieces >= 2 && counts.largest < 32 * 20, "{counts:?}");
    // Every weft joins the bars, so none can be whole unless it was drawn out of a bar's neighbourhood.
    let torn: std::collections::BTreeSet<usize> =
        events.iter().filter(|cut| cut.family == Family::Weft).map(|cut| cut.yarn).collect();
    assert_eq!(torn.len(), 20);
    assert_eq!(events.len() as u64, counts.cuts);
    assert!(events.iter().all(|cut| cut.ratio > 1.0 && cut.place.is_finite() && cut.time > 0.0));
    // No yarn is cut twice in one step, and nothing is left shorter than four crossings by cuts.
    for (k, cut) in events.iter().enumerate() {
        let same = |other: &&ripstop::yarn::Cut| other.family == cut.family && other.yarn == cut.yarn;
        for other in events[k + 1..].iter().filter(same) {
            assert!(other.time > cut.time && other.segment.abs_diff(cut.segment) > 3);
        }
    }
}

/// Passings of two bars' tear as seen from outside, and as the cloth tells them.
fn passings_of_bars(self_collision: bool) -> (usize, usize) {
    let mut cloth = bars(Spec { self_collision, ..Spec::muslin(32, 20) }, 0.8, 1.0);
    let (mut watch, mut none, mut passed) = (Watch::new(&cloth), Bodies::default(), 0);
    for step in 1..=288 {
        cloth.step_watched(&mut none, |cloth| watch.look(cloth)).unwrap();
        watch.end_step(&cloth);
        // By frames: what comes back within one is never drawn.
        if step % 8 == 0 {
            passed += watch.take().len();
        }
    }
    (passed, cloth.take_passings().len())
}

#[test]
fn no_yarn_passes_through_another_one() {
    let ((kept, told), (let_through, _)) = (passings_of_bars(true), passings_of_bars(false));
    assert!(let_through > 200, "nothing would pass anyway: {let_through}");
    assert_eq!(told, 0, "told by the cloth itself");
    // From outside there are some: of ends that whip faster than was foreseen when the step began.
    assert!(kept <= let_through / 100, "{kept} of {let_through} pass");
}

#[test]
fn nor_where_a_load_tears_off_a_corner() {
    // Crossings there are bent around each other and drawn sideways until no normal will do.
    for seed in [1, 2] {
        let mut spec = Spec::muslin(80, 40);
        (spec.stretch, spec.seed) = (24.0, seed);
        let spec = spec.with_break_over_friction(20.0);
        let (width, gravity) = (79.0 * spec.spacing, spec.gravity);
        let side = 0.12 * width;
        let drive = Drive::Free { mass: 1e-3, velocity: Vec3::ZERO, spin: Vec3::ZERO };
        let cube = BodySpec::new("cube", Shape::Box { sides: Vec3::splat(side) });
        let place = Vec3::new(width - 0.3 * side, -0.5 * side, 0.0);
        let mut bodies = Bodies::new(vec![cube.at(Pose::at(place)).driven(drive)], gravity).unwrap();
        let mut cloth = Woven::new(spec, Placement::default()).unwrap();
        let rows = |cloth: &Woven, columns: std::ops::Range<usize>, rows: std::ops::Range<usize>| {
            rows.flat_map(|j| columns.clone().map(move |i| (i, j)))
                .map(|(i, j)| cloth.crossing(i, j))
                .collect::<Vec<_>>()
        };
        let (top, tie) = (rows(&cloth, 0..80, 38..40), rows(&cloth, 70..80, 0..3));
        cloth.hold("top", &top, still(), None, &bodies);
        cloth.hold("tie", &tie, By::Body(0), None, &bodies);
        for _ in 0..120 {
            cloth.step(&mut bodies).unwrap();
        }
        assert!(cloth.cut_count() > 50, "nothing torn, nothing tested");
        let told = cloth.take_passings();
        assert!(told.is_empty(), "seed {seed}: {told:?}");
    }
}

/// Mean length of free ends over seeds, when the cloth is drawn apart by `speed` of its width per second [crossings].
fn fray(ratio: f64, speed: f64) -> f64 {
    let mut all = Vec::new();
    for seed in 1..=4 {
        let mut spec = Spec::muslin(40, 20).with_break_over_friction(ratio);
        spec.seed = seed;
        let mut cloth = bars(spec, 0.6, 0.6 / speed);
        run(&mut cloth, 0.6 / speed);
        all.extend(cloth.free_lengths());
    }
    assert!(all.len() > 100, "{} ends", all.len());
    all.iter().sum::<f64>() / all.len() as f64
}

#[test]
fn less_friction_frays_further() {
    let (long, short) = (fray(50.0, 0.15), fray(10.0, 0.15));
    assert!(long > 3.0 && short < 1.5, "free ends of {long} and {short} crossings");
    // Drawn faster yarns break before they are drawn out as far, but friction says the same.
    for speed in [0.3, 0.6] {
        let [long, middle, short] = [50.0, 20.0, 10.0].map(|ratio| fray(ratio, speed));
        assert!(long > middle && middle > short && short < 1.5, "{long}, {middle}, {short} crossings at {speed}/s");
    }
}

#[test]
fn what_is_torn_comes_to_rest() {
    let mut cloth = bars(Spec::muslin(40, 20), 0.8, 1.0);
    run(&mut cloth, 1.0);
    let counts = cloth.counts();
    assert!(counts.cuts > 0 && counts.couples > 100, "nothing torn, nothing tested: {counts:?}");
    run(&mut cloth, 1.0);
    // Yarns that tremble pass through each other, and this never ends.
    let radius = 0.5 * cloth.spec().thickness;
    let mut before = cloth.runs();
    let step = cloth.spec().step;
    for _ in 0..48 {
        run(&mut cloth, step);
        let now = cloth.runs();
        let [a, b] = [&before, &now].map(|runs| runs.iter().map(|run| run.strand(radius)).collect::<Vec<_>>());
        let passed = passings(&a, &b);
        assert!(passed.is_empty(), "{} s: {passed:?}", cloth.time());
        before = now;
    }
    // Slower than a spacing in a tenth of a second.
    let (mass, ..) = cloth.momentum();
    let speed = (2.0 * cloth.kinetic_energy() / mass).sqrt();
    assert!(speed < 10.0 * cloth.spec().spacing, "{speed} m/s");
}

#[test]
fn twill_loosens_further_than_plain() {
    let loosened = |weave: Weave| {
        let (mut loose, mut torn) = (0, 0);
        for seed in 1..=4 {
            let mut spec = Spec::muslin(40, 20);
            (spec.weave, spec.seed) = (weave.clone(), seed);
            let mut cloth = bars(spec, 0.5, 1.0);
            run(&mut cloth, 1.0);
            let counts = cloth.counts();
            loose += counts.disconnected;
            torn += counts.torn_yarns;
        }
        loose as f64 / torn as f64
    };
    let (plain, twill) = (loosened(Weave::plain()), loosened(Weave::twill(2, 2).unwrap()));
    assert!(twill > 1.1 * plain, "disconnected per torn yarn: plain {plain}, twill {twill}");
}

#[test]
fn all_yarn_pulls_as_two_level_does_before_it_tears() {
    let load = |all_yarn: bool| {
        let mut spec = Spec::muslin(24, 16);
        spec.all_yarn = all_yarn;
        spec.gravity = Vec3::ZERO;
        // Flat: the crimp of thick yarns would give way first.
        spec.thickness = 0.01 * spec.spacing;
        let mut cloth = bars(spec, 0.03, 0.5);
        run(&mut cloth, 0.8);
        assert_eq!(cloth.counts().cuts, 0);
        cloth.holds()[1].load.x
    };
    let (two, all) = (load(false), load(true));
    // Sixteen wefts of stiffness k/21 between the bars, stretched by 3 % of 24 spacings.
    let law = -16.0 * Spec::muslin(24, 16).stretch / 21.0 * 0.03 * 24e-3;
    for load in [two, all] {
        assert!((load / law - 1.0).abs() < 0.03, "{two} and {all} instead of {law}");
    }
}

#[test]
fn threads_and_stops_change_no_bit() {
    let spec = || Spec::muslin(24, 16);
    let go = || {
        let mut cloth = bars(spec(), 0.5, 0.4);
        run(&mut cloth, 0.25);
        assert!(cloth.counts().cuts > 0, "nothing torn, nothing tested");
        cloth.fingerprint()
    };
    let pool = |n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
    let whole = pool(1).install(go);
    assert_eq!(whole, pool(2).install(go));
    let mut cloth = bars(spec(), 0.5, 0.4);
    run(&mut cloth, 0.2);
    let bytes = postcard::to_stdvec(&cloth).unwrap();
    let mut resumed: Woven = postcard::from_bytes(&bytes).unwrap();
    run(&mut resumed, 0.05);
    assert_eq!(resumed.fingerprint(), whole);
}

#[test]
fn absurd_speeds_end_in_an_error() {
    for speed in [1e3, 1e8, 1e300, f64::NAN] {
        let mut cloth = bars(Spec::muslin(12, 8), 0.1, 1.0);
        let c = cloth.crossing(6, 4);
        cloth.set_velocity(Family::Warp, c, Vec3::splat(speed));
        let mut none = Bodies::default();
        let ended = (0..60).find_map(|_| cloth.step(&mut none).err());
        let finite = (0..cloth.crossings()).all(|c| cloth.position(Family::Warp, c).is_finite());
        assert!(ended.is_some() || finite, "{speed}");
        assert!(speed < 1e4 || ended.is_some(), "{speed}");
    }
    assert!(Woven::new(Spec { spacing: 0.0, ..Spec::muslin(4, 4) }, Placement::default()).is_err());
    assert!(Woven::new(Spec::muslin(1, 4), Placement::default()).is_err());
}

#[test]
fn the_papers_sweeps_are_found_and_tear() {
    let make = |share: f64| {
        let mut spec = Spec::table1(12, 10);
        spec.gravity *= 0.1;
        bars(spec, share, 0.3)
    };
    let needed = sweeps_needed(|| (make(0.0), Bodies::default()), 60, 100).unwrap();
    let needed = needed.expect("a hundred sweeps are enough for ten wefts");
    let mut spec = make(0.8).spec().clone();
    spec.solver = Solver::Sweeps { count: needed };
    let mut cloth = bars(spec, 0.8, 0.3);
    run(&mut cloth, 0.5);
    let counts = cloth.counts();
    // Without friction most of what has become yarns comes apart.
    assert!(counts.cuts > 0 && counts.disconnected > counts.couples, "{counts:?}");
}

#[test]
fn a_light_load_on_stiff_yarns_hangs_still() {
    // Ten warps of 24 N/m on 0.1 g: (k/m)^½ times a step of 1/240 s is 6, and in steps instead of substeps it would be thrown about.
    let mut spec = Spec::muslin(30, 20);
    spec.stretch = 24.0;
    let size = Vec3::new(0.029, 0.019, 0.0);
    let side = 0.004;
    let place = Vec3::new(0.5 * size.x, -0.6 * side, 0.0);
    let drive = Drive::Free { mass: 1e-4, velocity: Vec3::ZERO, spin: Vec3::ZERO };
    let cube = BodySpec::new("cube", Shape::Box { sides: Vec3::splat(side) }).at(Pose::at(place)).driven(drive);
    let mut bodies = Bodies::new(vec![cube], spec.gravity).unwrap();
    let mut cloth = Woven::new(spec, Placement::default()).unwrap();
    let row = |cloth: &Woven, j: usize| (0..30).map(|i| cloth.crossing(i, j)).collect::<Vec<_>>();
    let (top, tied) = (row(&cloth, 19), row(&cloth, 0)[10..20].to_vec());
    cloth.hold("top", &top, By::Keys(Vec::new()), None, &bodies);
    cloth.hold("tie", &tied, By::Body(0), None, &bodies);
    let mut fastest = 0.0_f64;
    for _ in 0..360 {
        cloth.step(&mut bodies).unwrap();
        fastest = fastest.max(bodies.velocity(0).length());
    }
    assert!(fastest < 0.1, "it swings, it doesn't fly: {fastest} m/s");
    assert!(cloth.take_events().is_empty());
    // It hangs on the tie, and cloth and load hang on the top.
    let load = |k: usize| cloth.holds()[k].load.y;
    let weight = 1e-4 * 9.81;
    assert!((load(1) / weight - 1.0).abs() < 0.1, "{} N pull it up, it weighs {weight} N", load(1));
    let all = weight + 9.81 * cloth.momentum().0;
    assert!((load(0) / all + 1.0).abs() < 0.1, "{} N on the top, {all} N hang there", load(0));
}

#[test]
fn every_shape_is_met() {
    let roof = |y: f64| {
        vec![
            Vec3::new(-9e-3, 0.0, -9e-3),
            Vec3::new(-9e-3, 0.0, 9e-3),
            Vec3::new(9e-3, 0.0, 9e-3),
            Vec3::new(9e-3, 0.0, -9e-3),
            Vec3::Y * y,
        ]
    };
    let faces = vec![[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]];
    let shapes = [
        Shape::Ball { radius: 8e-3 },
        Shape::Box { sides: Vec3::splat(0.012) },
        Shape::Capsule { radius: 6e-3, height: 0.02 },
        Shape::Cylinder { radius: 8e-3, height: 0.01 },
        Shape::Hull { points: roof(8e-3) },
        Shape::Mesh {
            points: roof(8e-3),
            triangles: faces.clone().into_iter().chain([[0, 2, 1], [0, 3, 2]]).collect(),
        },
        Shape::Mesh { points: roof(8e-3), triangles: faces },
        Shape::Plane,
    ];
    for shape in shapes {
        let name = shape.name();
        let top = match &shape {
            Shape::Ball { radius } => *radius,
            Shape::Box { sides } => 0.5 * sides.y,
            Shape::Capsule { height, .. } | Shape::Cylinder { height, .. } => 0.5 * height,
            Shape::Hull { .. } | Shape::Mesh { .. } => 8e-3,
            Shape::Plane => 0.0,
        };
        // Lies on it after a tenth of a second, flat above its middle.
        let spec = Spec::muslin(16, 16);
        let half = 7.5 * spec.spacing;
        let place = Placement { origin: Vec3::new(-half, top + 2e-3, half), weft: Vec3::X, warp: -Vec3::Z };
        let mut cloth = Woven::new(spec, place).unwrap();
        let mut bodies = Bodies::new(vec![BodySpec::new("body", shape).at(Pose::default())], Vec3::ZERO).unwrap();
        for _ in 0..24 {
            cloth.step(&mut bodies).unwrap();
            let inside = inside_bodies((0..cloth.crossings()).map(|c| cloth.position(Family::Warp, c)), &bodies);
            assert_eq!(inside, 0, "{name} at {} s", cloth.time());
        }
        let middle = cloth.position(Family::Warp, cloth.crossing(8, 8)).y;
        // It would have fallen by 49 mm.
        assert!(middle > top - 2e-3, "{name}: {middle} instead of {top}");
    }
}

#[test]
fn gusts_push_as_sheets_feel_them() {
    let wind =
        Wind { keys: vec![(0.0, Vec3::X * 4.0)], gust: 0.6, period: 0.2, length: 0.003, seed: 3, shifts: Vec::new() };
    let mut spec = Spec::muslin(12, 8);
    (spec.wind, spec.gravity, spec.air) = (wind.clone(), Vec3::ZERO, 0.5);
    spec.damping = Damping { sheet: 0.0, couple: 0.0, free: 0.0 };
    // So soft that in one step every particle goes by itself.
    (spec.stretch, spec.bend, spec.shear) = (1e-9, 0.0, 0.0);
    let (air, step) = (spec.air, spec.step);
    let mut cloth = Woven::new(spec, Placement::default()).unwrap();
    let places: Vec<Vec3> = (0..cloth.crossings()).map(|c| cloth.position(Family::Warp, c)).collect();
    cloth.step(&mut Bodies::default()).unwrap();
    let mut range = (f64::MAX, f64::MIN);
    for (c, place) in places.into_iter().enumerate() {
        let u = 4.0 * wind.gust_factor(0.0, place, Vec3::X);
        range = (range.0.min(u), range.1.max(u));
        // v' = a (u − v)² from rest: v = a u² t / (1 + a u t).
        let law = air * u * u * step / (1.0 + air * u * step);
        let v = cloth.velocity(Family::Warp, c).x;
        assert!((v / law - 1.0).abs() < 0.01, "crossing {c}: {v} instead of {law}");
    }
    assert!(range.1 > 1.3 * range.0, "no gusts, nothing tested: {range:?}");
    let mut spec = Spec::muslin(4, 4);
    spec.wind = Wind { gust: 0.5, ..Wind::default() };
    assert!(Woven::new(spec, Placement::default()).is_err(), "gusts without a period");
}
