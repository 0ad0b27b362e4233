//! Laws of the woven cloth: whole cloth, tearing, fraying, same bits.

use ripstop::Vec3;
use ripstop::body::{Bodies, BodySpec, Drive, Pose, Shape};
use ripstop::cloth::Placement;
use ripstop::grip::Key;
use ripstop::yarn::{By, Damping, Family, Kind, Solver, Spec, Weave, Woven, sweeps_needed};

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

/// Mean length of free ends over seeds [crossings].
fn fray(ratio: f64) -> f64 {
    let mut all = Vec::new();
    for seed in 1..=4 {
        let mut spec = Spec::muslin(40, 20).with_break_over_friction(ratio);
        spec.seed = seed;
        // Slowly: yarns are drawn out by friction, not thrown.
        let mut cloth = bars(spec, 0.6, 2.0);
        run(&mut cloth, 1.2);
        all.extend(cloth.free_lengths());
    }
    assert!(all.len() > 100, "{} ends", all.len());
    all.iter().sum::<f64>() / all.len() as f64
}

#[test]
fn less_friction_frays_further() {
    let (long, short) = (fray(50.0), fray(10.0));
    assert!(long > 3.0 && short < 1.5, "free ends of {long} and {short} crossings");
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
