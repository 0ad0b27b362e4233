//! The step asks for no memory while nothing tears: a counting allocator watches.
#![allow(unsafe_code)] // An allocator can't be written without.

use ripstop::contact::ccd::{self, Corners, Query};
use ripstop::criterion::{Criterion, EdgeStrain, Form, SeparationTensor};
use ripstop::integrator::{Euler, Implicit, ImplicitSettings, Integrator, Midpoint, Pbd, Rk4, Xpbd};
use ripstop::math::hash_unit;
use ripstop::mesh::generate;
use ripstop::model::{Surroundings, springs};
use ripstop::opening::{Plane, Snap};
use ripstop::plastic::Plasticity;
use ripstop::tear::seam::steps_along;
use ripstop::tear::{HandTear, Policy, Resistance, Seam, StrengthMap, Tearing, Unpick};
use ripstop::wind::Wind;
use ripstop::{Cloth, Fabric, Grip, Key, Placement, Simulation, Vec2, Vec3};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    /// Requests for memory by this thread: tests on other threads don't disturb it.
    static REQUESTS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: everything is handed to the system's allocator unchanged; the counter is no part of it and needs no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        REQUESTS.set(REQUESTS.get() + 1);
        // SAFETY: the caller keeps the promises of `alloc`.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the promises of `dealloc`.
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        REQUESTS.set(REQUESTS.get() + 1);
        // SAFETY: the caller keeps the promises of `realloc`.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const STRENGTH: f64 = 0.5;

/// A sheet with everything that acts on it: two grips, one of them moving, gravity, gusty wind, drag; with a seam that holds.
fn sheet(integrator: Box<dyn Integrator>) -> Simulation {
    let fabric = Fabric::default();
    let mesh = generate::irregular(Vec2::new(1.0, 0.6), 0.05, 1).unwrap();
    let mut cloth = Cloth::flat(mesh, fabric.density, Placement::default());
    let steps = steps_along(&cloth.mesh, &[Vec2::new(0.5, 0.0), Vec2::new(0.5, 0.6)]);
    let unpick = Some(Unpick { from: 100.0, to: 200.0, reverse: false });
    let seam = Seam { name: "seam".into(), strength: Some(1.0), opens_at: None, unpick };
    assert!(cloth.seams.sew(&cloth.mesh, seam, &steps) > 8);
    let at = |u: f64| cloth.mesh.nodes().filter(|&n| cloth.mesh.node_uv(n).x == u).collect::<Vec<_>>();
    let key = |time, shift| Key { time, shift, turn: Vec3::X * time };
    let keys = vec![key(0.0, Vec3::ZERO), key(0.04, Vec3::X * 0.1), key(10.0, Vec3::X * 0.1)];
    let (left, right) = (Grip::still("left", &at(0.0), &cloth), Grip::moving("right", &at(1.0), &cloth, keys));
    let wind =
        Wind { keys: vec![(0.0, Vec3::Z * 3.0)], gust: 0.5, period: 0.1, length: 0.3, seed: 1, shifts: Vec::new() };
    let air = Surroundings { pressure: 0.5, drag: 0.1, wind, ..Surroundings::default() };
    let mut potentials = springs(&fabric, &cloth);
    potentials.extend(air.loads(&cloth));
    Simulation::boxed(cloth, potentials, integrator, 1e-4).grip(left).grip(right)
}

/// Requests for memory in 100 steps after a few to warm up, and the largest strain then.
fn requests(mut simulation: Simulation) -> (usize, f64) {
    // One thread: handing chunks to others is the thread pool's business, and its queues grow when they must.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(move || {
        // Long enough for the pull to have come, so that criteria look closely.
        for _ in 0..500 {
            simulation.step().unwrap();
        }
        let before = REQUESTS.get();
        for _ in 0..100 {
            simulation.step().unwrap();
        }
        let asked = REQUESTS.get() - before;
        assert_eq!(simulation.tear_count(), 0, "this is about steps in which nothing tears");
        let cloth = simulation.cloth();
        (asked, cloth.mesh.edges().map(|e| cloth.total_strain(e)).fold(0.0, f64::max))
    })
}

#[test]
fn the_counter_counts() {
    let before = REQUESTS.get();
    std::hint::black_box(vec![1, 2, 3]);
    assert_eq!(REQUESTS.get(), before + 1);
}

#[test]
fn integrators_ask_for_nothing() {
    let newton = ImplicitSettings { newton: 3, substeps: 2, ..ImplicitSettings::default() };
    let integrators: [Box<dyn Integrator>; 7] = [
        Box::new(Euler::default()),
        Box::new(Midpoint::default()),
        Box::new(Rk4::default()),
        Box::new(Implicit::default()),
        Box::new(Implicit::new(newton)),
        Box::new(Xpbd::default()),
        Box::new(Pbd::default()),
    ];
    for integrator in integrators {
        let name = integrator.name();
        assert_eq!(requests(sheet(integrator)).0, 0, "{name}");
    }
}

#[test]
fn tearing_asks_for_nothing_until_it_tears() {
    let map =
        || StrengthMap { width: 2, height: 1, factors: vec![0.9, 1.0], origin: Vec2::ZERO, size: Vec2::new(1.0, 0.6) };
    for policy in [Policy::EndOfStep { rounds: 4 }, Policy::FirstTear { limit: 8 }] {
        let criteria: [Box<dyn Criterion>; 2] =
            [Box::new(SeparationTensor::new(STRENGTH, Form::Normalised)), Box::new(EdgeStrain { strength: STRENGTH })];
        for criterion in criteria {
            let name = criterion.name();
            let mut tearing = Tearing::boxed(criterion, Box::new(Snap));
            tearing.policy = policy;
            tearing.resistance = Resistance::new(Some(map()), None, 0.5);
            let (asked, strain) = requests(sheet(Box::new(Rk4::default())).tearing(tearing));
            assert_eq!(asked, 0, "{name}, {policy:?}, at strain {strain}");
        }
    }
}

#[test]
fn a_close_look_asks_for_nothing() {
    // Strains between 0.6 of the strength and the strength: the tensor is computed at every strained node.
    let (_, strain) = requests(sheet(Box::new(Rk4::default())));
    let mut looked = 0;
    for share in [0.75, 0.85, 0.95] {
        let tearing = Tearing::new(SeparationTensor::new(strain / share, Form::Normalised), Plane);
        let (asked, strain_now) = requests(sheet(Box::new(Rk4::default())).tearing(tearing));
        assert_eq!(asked, 0);
        looked += usize::from(strain_now > 0.6 * strain / share);
    }
    assert_eq!(looked, 3, "the pull must be strong enough for a close look");
}

#[test]
fn plasticity_far_below_yield_asks_for_nothing() {
    // Below 0.4 of the yield strain, from which on nodes are looked at closely.
    let (_, strain) = requests(sheet(Box::new(Rk4::default())));
    let plastic = Plasticity { yield_strain: 4.0 * strain, flow: 1.0 };
    assert_eq!(requests(sheet(Box::new(Rk4::default())).plasticity(plastic)).0, 0);
}

#[test]
fn a_tear_by_hand_that_is_yet_to_come_asks_for_nothing() {
    let hand = HandTear { time: 1.0, path: vec![Vec2::new(0.5, 0.0), Vec2::new(0.5, 0.6)] };
    assert_eq!(requests(sheet(Box::new(Rk4::default())).tear_by_hand(hand)).0, 0);
}

#[test]
fn continuous_collision_asks_for_nothing() {
    let corner = |seed: u64, k: u64| Vec3::from([0, 1, 2].map(|i| hash_unit(seed, 3 * k + i)));
    let before = REQUESTS.get();
    let mut hits = 0;
    for seed in 0..1000 {
        let mut from: Corners = std::array::from_fn(|k| corner(seed, k as u64));
        let mut to: Corners = std::array::from_fn(|k| corner(seed, 4 + k as u64));
        if seed % 4 == 0 {
            // Flat all the time: what needs the longest search.
            from.iter_mut().chain(&mut to).for_each(|x| x.z = 0.0);
        }
        hits += usize::from(ccd::point_triangle(&from, &to, Query::default()).is_some());
        hits += usize::from(ccd::edge_edge(&from, &to, Query::default()).is_some());
    }
    assert_eq!(REQUESTS.get(), before);
    assert!(hits > 100, "{hits}");
}
