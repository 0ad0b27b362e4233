//! Where and when, by the artist: maps, noise, regions that never tear and seams work under every criterion and opening.

use ripstop::criterion::{Criterion, EdgeStrain, Form, SeparationTensor};
use ripstop::integrator::Rk4;
use ripstop::mesh::{EdgeId, NodeId, generate};
use ripstop::model::springs;
use ripstop::opening::{Halve, Opening, Plane, Snap, Through};
use ripstop::tear::seam::draw_along;
use ripstop::tear::{
    Cause, Event, HandTear, Noise, Policy, Resistance, Seam, SeamReason, StrengthMap, Tearing, Unpick,
};
use ripstop::{Cloth, Fabric, Grip, Key, Placement, Simulation, Vec2, Vec3};

const SIZE: Vec2 = Vec2::new(1.0, 0.5);
const STRENGTH: f64 = 0.2;

/// All ways to tear: criterion, opening and policy, with a name.
fn ways() -> Vec<(String, Tearing)> {
    let criteria: [fn() -> Box<dyn Criterion>; 3] = [
        || Box::new(SeparationTensor::new(STRENGTH, Form::Normalised)),
        || Box::new(SeparationTensor::new(2.25 * STRENGTH, Form::Raw)),
        || Box::new(EdgeStrain { strength: STRENGTH }),
    ];
    let openings: [fn() -> Box<dyn Opening>; 4] =
        [|| Box::new(Snap), || Box::new(Plane), || Box::new(Halve::of(&strip())), || Box::new(Through::of(&strip()))];
    let mut all = Vec::new();
    for (i, criterion) in criteria.iter().enumerate() {
        for opening in openings {
            for policy in [Policy::EndOfStep { rounds: 4 }, Policy::FirstTear { limit: 8 }] {
                let mut tearing = Tearing::boxed(criterion(), opening());
                tearing.policy = policy;
                let name = format!("{} ({i}) with {}, {policy:?}", tearing.criterion.name(), tearing.opening.name());
                all.push((name, tearing));
            }
        }
    }
    all
}

fn strip() -> Cloth {
    Cloth::flat(generate::irregular(SIZE, 0.06, 3).unwrap(), 0.3, Placement::default())
}

fn seam(strength: Option<f64>) -> Seam {
    Seam { name: "seam".into(), strength, opens_at: None, unpick: None }
}

/// The strip with a seam across it, askew.
fn sewn(seam: Seam) -> Cloth {
    let path = [Vec2::new(0.4, 0.0), Vec2::new(0.6, 0.5)];
    let mut mesh = generate::irregular(SIZE, 0.06, 3).unwrap();
    let steps = draw_along(&mut mesh, &path, &mut Vec::new());
    let mut cloth = Cloth::flat(mesh, 0.3, Placement::default());
    assert!(cloth.seams.sew(&cloth.mesh, seam, &steps) > 5);
    cloth
}

/// Held left, pulled to twice its length at the right within a second.
fn pulled(cloth: Cloth, tearing: Tearing) -> Simulation {
    let fabric = Fabric { density: 0.3, stretch: 300.0, shear: 20.0, bend: 0.0, damping: 1e-3, ..Fabric::default() };
    let at = |u: f64| cloth.mesh.nodes().filter(|&n| cloth.mesh.node_uv(n).x == u).collect::<Vec<_>>();
    let key = |time, shift| Key { time, shift, turn: Vec3::ZERO };
    let held = Grip::still("held", &at(0.0), &cloth);
    let pulled = Grip::moving("pulled", &at(SIZE.x), &cloth, vec![key(0.0, Vec3::ZERO), key(1.0, Vec3::X)]);
    let potentials = springs(&fabric, &cloth);
    let stable = Simulation::new(cloth.clone(), springs(&fabric, &cloth), Rk4::default(), 1.0).stable_step();
    let divides = ["halve", "through"].contains(&tearing.opening.name());
    let share = if divides { Halve::STEP } else { 0.5 };
    Simulation::new(cloth, potentials, Rk4::default(), share * stable).grip(held).grip(pulled).tearing(tearing)
}

/// Everything that tears until `time` [s].
fn torn_until(simulation: &mut Simulation, time: f64) -> Vec<Event> {
    let mut torn = Vec::new();
    while simulation.time() < time {
        simulation.step().unwrap();
        torn.extend_from_slice(simulation.events());
    }
    torn
}

fn share_of_length(torn: &[Event], counts: impl Fn(&Event) -> bool) -> f64 {
    torn.iter().filter(|e| counts(e)).map(|e| e.length).sum::<f64>() / torn.iter().map(|e| e.length).sum::<f64>()
}

#[test]
fn a_map_says_where_it_tears_under_every_criterion() {
    for (name, mut tearing) in ways() {
        // Ten columns of which the eighth is weak: u from 0.7 to 0.8, far from where the bare strip tears.
        let factors = (0..10).map(|i| if i == 7 { 0.4 } else { 1.0 }).collect();
        let map = StrengthMap { width: 10, height: 1, factors, origin: Vec2::ZERO, size: SIZE };
        tearing.resistance = Resistance::new(Some(map), None, 0.0);
        let torn = torn_until(&mut pulled(strip(), tearing), 0.2);
        assert!(!torn.is_empty(), "{name}");
        // One edge more to each side: the map is looked up at nodes, edges reach to the next.
        let weak = share_of_length(&torn, |e| (0.62..0.88).contains(&e.uv.x));
        assert!(weak > 0.95, "{name}: {weak} of the length is in the band");
    }
}

#[test]
fn noise_says_where_it_begins_under_every_criterion() {
    for (name, mut tearing) in ways() {
        let noise = Noise { scale: 0.15, amount: 0.6, seed: 4 };
        tearing.resistance = Resistance::default().with_noise(Some(noise));
        let mut simulation = pulled(strip(), tearing);
        let torn = torn_until(&mut simulation, 0.16);
        assert!(!torn.is_empty(), "{name}");
        let at = |n: NodeId| noise.at(simulation.cloth().mesh.node_uv(n));
        assert!(at(torn[0].node) < 0.7, "{name}: begins where strength is {}", at(torn[0].node));
    }
}

fn is_inside(uv: Vec2) -> bool {
    uv.distance(Vec2::new(0.5, 0.25)) < 0.14
}

/// Keeps a disc in the middle whole.
fn with_disc(mut cloth: Cloth) -> Cloth {
    let nodes: Vec<NodeId> = cloth.mesh.nodes().filter(|&n| is_inside(cloth.mesh.node_uv(n))).collect();
    assert!(nodes.len() > 10);
    cloth.keep_whole(&nodes);
    cloth
}

#[test]
fn what_is_kept_whole_stays_whole_under_every_criterion_and_opening() {
    for (name, mut tearing) in ways() {
        // Weaker there than anywhere: it would be the first to tear.
        let factors = (0..10).map(|i| if (4..6).contains(&i) { 0.3 } else { 1.0 }).collect();
        let map = StrengthMap { width: 10, height: 1, factors, origin: Vec2::ZERO, size: SIZE };
        tearing.resistance = Resistance::new(Some(map), None, 0.0);
        let cloth = with_disc(strip());
        // The disc is inside the cloth, so an edge of it that is a border has opened.
        let open = |cloth: &Cloth| {
            let kept = |e: &EdgeId| cloth.mesh.edge_nodes(*e).iter().any(|&n| cloth.untearable[n]);
            cloth.mesh.edges().filter(|&e| cloth.mesh.is_border_edge(e)).filter(kept).count()
        };
        assert_eq!(open(&cloth), 0);
        let mut simulation = pulled(cloth, tearing);
        // To twice its length and beyond all strength.
        let torn = torn_until(&mut simulation, 0.6);
        assert!(torn.len() > 5, "{name}: something tears beside it");
        assert_eq!(open(simulation.cloth()), 0, "{name}");
        assert!(torn.iter().all(|e| matches!(e.cause, Cause::Load { .. })));
    }
}

#[test]
fn hands_and_seams_go_through_what_is_kept_whole() {
    let across = |e: &Event| is_inside(e.uv);
    let tearing = || Tearing::new(EdgeStrain { strength: STRENGTH }, Snap);
    let path = vec![Vec2::new(0.5, 0.0), Vec2::new(0.5, 0.5)];
    let mut hand = pulled(with_disc(strip()), tearing()).tear_by_hand(HandTear { time: 0.0, path });
    assert!(torn_until(&mut hand, 0.01).iter().any(across));
    let timed = Seam { opens_at: Some(0.005), ..seam(None) };
    assert!(torn_until(&mut pulled(with_disc(sewn(timed)), tearing()), 0.01).iter().any(across));
    for (name, tearing) in ways() {
        let torn = torn_until(&mut pulled(with_disc(sewn(seam(Some(0.4)))), tearing), 0.2);
        let inside: Vec<&Event> = torn.iter().filter(|e| across(e)).collect();
        assert!(!inside.is_empty(), "{name}");
        assert!(inside.iter().all(|e| e.cause == Cause::Seam { seam: 0, reason: SeamReason::Load }), "{name}");
    }
}

#[test]
fn a_weak_seam_gives_way_along_its_stitches_under_every_criterion() {
    for (name, tearing) in ways() {
        let mut simulation = pulled(sewn(seam(Some(0.4))), tearing);
        let stitches = simulation.cloth().seams.stitches().count();
        let torn = torn_until(&mut simulation, 0.2);
        assert_eq!(simulation.cloth().seams.stitches().count(), 0, "{name}: all of it opens");
        let on = share_of_length(&torn, |e| e.seam == Some(0));
        // Openings that divide triangles begin a little beside it, before the seam has given way there.
        let divides = ["halve", "through"].iter().any(|opening| name.contains(opening));
        assert!(on > if divides { 0.8 } else { 0.9 }, "{name}: {on} of the torn length is on the seam");
        let given = torn.iter().filter(|e| e.cause == Cause::Seam { seam: 0, reason: SeamReason::Load });
        // Divided stitches are two.
        let count = given.clone().count();
        assert!(count == stitches || divides && count > stitches, "{name}: {count} of {stitches} stitches");
        assert!(given.clone().all(|e| e.ratio >= 1.0 && e.ratio.is_finite()), "{name}");
        // It gives way at 0.4 / cos² 21.8° = 0.46 of the cloth's strength, at 0.093 s if all of the strip were strained alike;
        // clamps and the wave of the pull make it earlier. Without a seam nothing tears before 0.1 s.
        let first = torn[0].time;
        assert!((0.04..0.1).contains(&first), "{name}: first at {first} s");
    }
    for (name, tearing) in ways() {
        assert!(torn_until(&mut pulled(strip(), tearing), 0.1).is_empty(), "{name}: the cloth alone holds");
    }
}

#[test]
fn a_pull_along_a_seam_does_not_open_it() {
    for (name, tearing) in ways() {
        let path = [Vec2::new(0.0, 0.25), Vec2::new(1.0, 0.25)];
        let mut mesh = generate::irregular(SIZE, 0.06, 3).unwrap();
        let steps = draw_along(&mut mesh, &path, &mut Vec::new());
        let mut cloth = Cloth::flat(mesh, 0.3, Placement::default());
        cloth.seams.sew(&cloth.mesh, seam(Some(0.3)), &steps);
        assert!(torn_until(&mut pulled(cloth, tearing), 0.09).is_empty(), "{name}");
    }
}

#[test]
fn whichever_comes_first_opens_a_seam() {
    let causes = |seam: Seam, time: f64| {
        let tearing = Tearing::new(SeparationTensor::new(STRENGTH, Form::Normalised), Snap);
        let torn = torn_until(&mut pulled(sewn(seam), tearing), time);
        let count = |reason| torn.iter().filter(|e| e.cause == Cause::Seam { seam: 0, reason }).count();
        [SeamReason::Load, SeamReason::Time, SeamReason::Unpick].map(count)
    };
    let both = |opens_at| Seam { opens_at: Some(opens_at), ..seam(Some(0.4)) };
    let [load, time, _] = causes(both(0.03), 0.04);
    assert!(load == 0 && time > 5, "{load} {time}");
    let [load, time, _] = causes(both(0.5), 0.2);
    assert!(load > 5 && time == 0, "{load} {time}");
    // Half unpicked when the pull has become too much for the rest.
    let unpick = Some(Unpick { from: 0.0, to: 0.3, reverse: true });
    let [load, _, unpicked] = causes(Seam { unpick, ..seam(Some(0.4)) }, 0.3);
    assert!(load > 0 && unpicked > 0, "{load} {unpicked}");
}

#[test]
fn a_seam_needs_no_criterion_to_open_at_its_time() {
    let fabric = Fabric::default();
    let cloth = sewn(Seam { opens_at: Some(0.01), ..seam(None) });
    let stitches = cloth.seams.stitches().count();
    let potentials = springs(&fabric, &cloth);
    let mut simulation = Simulation::new(cloth, potentials, Rk4::default(), 1e-4);
    let torn = torn_until(&mut simulation, 0.02);
    assert_eq!(torn.len(), stitches);
    for event in torn {
        assert!((event.time - 0.01).abs() <= 0.5e-4 + 1e-12, "{}", event.time);
        assert_eq!(event.cause, Cause::Seam { seam: 0, reason: SeamReason::Time });
    }
}
