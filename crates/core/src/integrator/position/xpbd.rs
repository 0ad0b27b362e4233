//! XPBD: position-based dynamics with compliance, in small substeps.
//!
//! v ← v + h w f,  x ← x₀ + h v;  `iterations` times every element: Δλ and Δx as in `potential/project.rs`;  v ← (x − x₀)/h
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | h | | s | step over `substeps` |
//! | f | `load` | N | gravity, wind and drag, as they are at the beginning of the step |
//! | w | `cloth.inverse_mass` | 1/kg | zero for a held node, which moves by the velocity of its grip |
//!
//! Where stress is read, forces are brought into balance after a step, see `balance.rs`: loads are right then, and a step costs about as much as an implicit one. Without (`balance = false`) stress is read where sweeps leave the
//! cloth: single faces are off by a factor of three, the mean over those of a node and along a line by less. Strips of 4 mm edges then tear at 0.5 to 0.9 of their strength with ω²h² = 130 (for the highest frequency ω of the cloth and a
//! substep h), trousers at 1.6 to 6 times their load, by mesh. That is for play: quick, and calm where a body hits hard, if substeps are short (ω²h² below 100).
//!
//! What is softer than the stiffest elements, as bending is, is projected less often, by the ratio of the frequencies, but within one over its own (see `potential/project.rs`).
//!
//! Parameters: `substeps` (default 16), `iterations` (1), `levels` (6: coarser
//! graphs, at most so many, see `levels.rs`; 0: none), `balance` (true). Constraints and compliances are the elements' own: springs C = l − l₀ with
//! compliance 1/k, hinges C = θ with compliance θ/M, others C = √(2U) with compliance 1. Order: bending, shear or membrane, levels, springs.
//!
//! Source: Macklin, Müller, Chentanez 2016; Macklin et al. 2019 (small steps). Deviations: loads are evaluated once per step, not
//! per substep, to save time (what it would cost wasn't measured); damping acts along the constraint, so that of a membrane only along its present
//! strain. Positions are shifts from the beginning of the step in single precision: see `Shifts` for what that should leave of velocities.
//!
//! Limits: stable at any step, but not converged: with too few substeps a fine sheet is rubber, with levels it is stiffer than its
//! fabric. In a hanging strip 40 × 4 came closer to the law than 160 × 1 (0.5 % against 6 to 7 %).

use super::balance::Balance;
use super::levels::Levels;
use super::{Shifts, Tables};
use crate::cloth::Touched;
use crate::integrator::{Integrator, Motion, Unsolved};
use crate::math::Vec3;
use serde::Deserialize;

/// Settings of [`Xpbd`].
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct XpbdSettings {
    /// Parts that a step is divided into.
    pub substeps: u32,
    /// Times that every element is projected in each.
    pub iterations: u32,
    /// Coarser graphs that carry corrections far, at most; none if zero.
    pub levels: u32,
    /// Where stress is read, forces are brought into balance after every step.
    pub balance: bool,
}

impl Default for XpbdSettings {
    fn default() -> Self {
        Self { substeps: 16, iterations: 1, levels: 6, balance: true }
    }
}

/// Position-based dynamics with compliance.
#[derive(Default)]
pub struct Xpbd {
    /// How.
    pub settings: XpbdSettings,
    tables: Tables,
    levels: Levels,
    shifts: Shifts,
    load: Vec<Vec3>,
    /// Stress will be read.
    read: bool,
    balance: Option<Balance>,
}

impl Xpbd {
    /// XPBD with these settings.
    pub fn new(settings: XpbdSettings) -> Self {
        Self { settings, ..Self::default() }
    }
}

impl Integrator for Xpbd {
    fn name(&self) -> &'static str {
        "xpbd"
    }

    fn advance(&mut self, Motion { cloth, forces, mut contacts, share }: Motion<'_>, h: f64) {
        let XpbdSettings { substeps, iterations, levels: level_count, .. } = self.settings;
        let substeps = (f64::from(substeps.max(1)) * share).ceil() as u32;
        let Self { tables, levels, shifts, load, read, balance, .. } = self;
        let changed = tables.link(cloth, forces);
        let part = h / f64::from(substeps);
        let mut balance = balance.as_mut();
        if let Some(balance) = &mut balance {
            balance.begin(cloth);
        }
        // Coarser graphs pull beside the cloth.
        if level_count > 0 && !*read && (changed || !levels.fit(cloth)) {
            *levels = Levels::new(cloth, &tables.places, &forces.bounds(cloth), level_count);
        }
        load.resize(cloth.x.len(), Vec3::ZERO);
        forces.evaluate_part(false, cloth, &cloth.x, &cloth.v, load);
        shifts.begin(cloth, &tables.places, load, part);
        tables.begin(shifts, substeps);
        levels.begin(&shifts.start, part);
        for substep in 0..substeps {
            shifts.predict(substep == 0);
            tables.forget(iterations > 1);
            for iteration in 0..iterations.max(1) {
                tables.sweep_general(forces, shifts, substep, iterations > 1);
                if iteration == 0 {
                    levels.sweep(shifts);
                }
                tables.sweep_springs(shifts, iterations > 1);
            }
            if let Some(contacts) = &mut contacts {
                if let Some(balance) = &mut balance {
                    balance.before_contacts(&shifts.now);
                }
                shifts.meet(contacts, &tables.places, &cloth.inverse_mass, substep == 0);
                if let Some(balance) = &mut balance {
                    balance.after_contacts(&shifts.now);
                }
            }
        }
        shifts.settle();
        shifts.end(cloth, &tables.places, h);
        if let Some(balance) = balance {
            balance.end(cloth, &tables.places, forces, load, (part, h));
        }
    }

    fn balance(&mut self) {
        self.read = true;
        if self.settings.balance {
            self.balance.get_or_insert_default();
        }
    }

    fn is_balanced(&self) -> bool {
        self.balance.is_some()
    }

    fn contact_step(&self) -> f64 {
        super::CONTACT_STEP
    }

    fn trembles(&self) -> bool {
        true
    }

    fn stable_step(&self, _omega: f64, _rate: f64) -> f64 {
        f64::INFINITY
    }

    fn follow(&mut self, touched: &Touched) {
        if let Some(balance) = &mut self.balance {
            balance.follow(touched);
        }
    }

    fn unsolved(&self) -> Option<Unsolved> {
        self.balance.as_ref().and_then(Balance::unsolved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::{Cloth, Placement};
    use crate::fabric::Fabric;
    use crate::integrator::Rk4;
    use crate::model::{self, Surroundings};
    use crate::potential::{Elasticity, Forces, Potential};
    use crate::simulation::Simulation;
    use crate::tear::HandTear;
    use crate::{Grip, Key};
    use ripstop_mesh::{ChangeLog, EdgeId, NodeId, Vec2, generate};

    const FABRIC: Fabric =
        Fabric { density: 0.2, stretch: 800.0, shear: 40.0, bend: 3e-4, damping: 2e-4, ..Fabric::SOFT };

    type Model = fn(&Cloth) -> Vec<Box<dyn Potential>>;

    fn springs(cloth: &Cloth) -> Vec<Box<dyn Potential>> {
        model::springs(&FABRIC, cloth)
    }

    fn membrane(cloth: &Cloth) -> Vec<Box<dyn Potential>> {
        model::membrane(&FABRIC, Elasticity::of(&FABRIC), cloth)
    }

    fn with(model: Model, around: &Surroundings, cloth: &Cloth) -> Vec<Box<dyn Potential>> {
        let mut potentials = model(cloth);
        potentials.extend(around.loads(cloth));
        potentials
    }

    fn sheet(size: Vec2, spacing: f64) -> Cloth {
        let place = Placement { warp: Vec3::new(0.0, 0.6, 0.8), ..Placement::default() };
        Cloth::flat(generate::irregular(size, spacing, 3).unwrap(), FABRIC.density, place)
    }

    fn xpbd(substeps: u32, iterations: u32, levels: u32) -> Xpbd {
        Xpbd::new(XpbdSettings { substeps, iterations, levels, ..XpbdSettings::default() })
    }

    fn bits(cloth: &Cloth) -> Vec<[u64; 3]> {
        cloth.x.iter().chain(&*cloth.v).map(|v| v.to_array().map(f64::to_bits)).collect()
    }

    fn still_air() -> Surroundings {
        Surroundings { viscous: 0.0, ..Surroundings::default() }
    }

    #[test]
    fn the_rest_shape_is_that_of_rk4() {
        let rest = |integrator: Box<dyn Integrator>, h: f64, model: Model| {
            let cloth = sheet(Vec2::new(0.3, 0.2), 0.06);
            let around = Surroundings { viscous: 4.0, ..Surroundings::default() };
            let potentials = with(model, &around, &cloth);
            let held: Vec<NodeId> = cloth.mesh.nodes().filter(|&n| cloth.mesh.node_uv(n).y == 0.2).collect();
            let grip = Grip::still("top", &held, &cloth);
            let mut simulation = Simulation::boxed(cloth, potentials, integrator, h).grip(grip);
            while simulation.time() < 6.0 {
                simulation.step().unwrap();
            }
            assert!(simulation.cloth().kinetic_energy() < 1e-6, "{} J", simulation.cloth().kinetic_energy());
            simulation.cloth().x.to_vec()
        };
        for (name, model) in [("springs", springs as Model), ("membrane", membrane as Model)] {
            let explicit = rest(Box::<Rk4>::default(), 2e-4, model);
            for levels in [0, 6] {
                let xpbd = rest(Box::new(xpbd(16, 1, levels)), 1.0 / 60.0, model);
                let far = xpbd.iter().zip(&explicit).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
                assert!(far < 0.01 * 0.3, "{name}, {levels} levels: {far} m apart on a sheet of 0.3 m");
            }
        }
    }

    #[test]
    fn without_loads_momentum_is_kept() {
        for (levels, model) in [(0, springs as Model), (4, springs as Model), (4, membrane as Model)] {
            let mut cloth = sheet(Vec2::ONE, 0.06);
            for n in cloth.mesh.nodes() {
                let p = cloth.x[n];
                cloth.v[n] = Vec3::new(1.0 - p.y, 2.0 * p.x * p.x, p.y * p.z);
            }
            let momentum = |c: &Cloth| c.mesh.nodes().map(|n| c.v[n] * c.mass[n]).sum::<Vec3>();
            let spin = |c: &Cloth| c.mesh.nodes().map(|n| c.x[n].cross(c.v[n]) * c.mass[n]).sum::<Vec3>();
            let (before, spin_before) = (momentum(&cloth), spin(&cloth));
            let mut forces = Forces::new(model(&cloth));
            let mut xpbd = xpbd(10, 1, levels);
            for _ in 0..30 {
                xpbd.advance(Motion::new(&mut cloth, &mut forces), 1.0 / 60.0);
            }
            // Single precision: 6e-8 of shifts and velocities in each of 300 substeps.
            let off = (momentum(&cloth) - before).length() / before.length();
            assert!(off < 1e-5, "momentum, {levels} levels: {off}");
            // A move along the present direction turns nothing about the place where it was found, but velocities are those of the
            // whole substep: the difference is of second order in it.
            let off = (spin(&cloth) - spin_before).length() / spin_before.length();
            assert!(off < 1e-2, "turning, {levels} levels: {off}");
        }
    }

    /// How far the lower end of a strip falls, over ρgL²/2E.
    fn fallen(model: Model, substeps: u32, iterations: u32) -> f64 {
        let length = 1.0;
        let mesh = generate::irregular(Vec2::new(0.2, length), 0.04, 1).unwrap();
        let mut cloth = Cloth::flat(mesh, 0.2, Placement::default());
        let top: Vec<NodeId> = cloth.mesh.nodes().filter(|&n| cloth.mesh.node_uv(n).y == length).collect();
        top.iter().for_each(|&n| cloth.hold(n, Some(0)));
        let mut potentials = model(&cloth);
        potentials.extend(Surroundings::default().loads(&cloth));
        let mut forces = Forces::new(potentials);
        let mut xpbd = xpbd(substeps, iterations, 0);
        for _ in 0..300 {
            xpbd.advance(Motion::new(&mut cloth, &mut forces), 1.0 / 60.0);
        }
        let bottom: Vec<f64> =
            cloth.mesh.nodes().filter(|&n| cloth.mesh.node_uv(n).y == 0.0).map(|n| cloth.x[n].y).collect();
        -bottom.iter().sum::<f64>() / bottom.len() as f64 / (0.2 * 9.81 * length * length / (2.0 * 1000.0))
    }

    #[test]
    fn a_hanging_strip_stretches_by_its_weight() {
        // No Poisson's ratio, so that the held end is not special.
        let membrane = |cloth: &Cloth| {
            let elasticity = Elasticity { weft: 1000.0, across: 0.0, warp: 1000.0, shear: 500.0 };
            model::membrane(&FABRIC, elasticity, cloth)
        };
        let springs =
            |cloth: &Cloth| model::springs(&Fabric { stretch: 1000.0, shear: 0.0, bend: 0.0, ..FABRIC }, cloth);
        for fallen in [fallen(membrane, 40, 4), fallen(springs, 40, 4)] {
            assert!((fallen - 1.0).abs() < 0.03, "{fallen} of ρgL²/2E");
        }
        // One iteration is not converged, but comes closer with the square of the substeps.
        let (few, many) = (fallen(springs, 20, 1) - 1.0, fallen(springs, 80, 1) - 1.0);
        assert!(many > 0.0 && many < few / 8.0, "{few} with 20 substeps, {many} with 80");
    }

    #[test]
    fn a_spring_swings_at_its_own_pace_whatever_the_substeps() {
        // A node on two springs at right angles, as in the tests of explicit integrators: k = 50 N/m on a sixth of a kilogram.
        for (substeps, iterations) in [(20, 1), (80, 1), (20, 5), (80, 5)] {
            let mut cloth = Cloth::flat(generate::grid(Vec2::ONE, [2, 2]).unwrap(), 1.0, Placement::default());
            for n in [0, 2, 3] {
                cloth.hold(NodeId(n), Some(0));
            }
            let fabric = Fabric { stretch: 100.0, shear: 0.0, bend: 0.0, damping: 0.0, ..FABRIC };
            let mut forces = Forces::new(model::springs(&fabric, &cloth));
            cloth.x[NodeId(1)].x += 1e-3;
            let mut xpbd = xpbd(substeps, iterations, 0);
            let (h, mut crossings) = (1.0 / 60.0, Vec::new());
            for step in 0..300 {
                let was = cloth.x[NodeId(1)].x - 1.0;
                xpbd.advance(Motion::new(&mut cloth, &mut forces), h);
                let is = cloth.x[NodeId(1)].x - 1.0;
                if was > 0.0 && is <= 0.0 {
                    crossings.push((f64::from(step) + was / (was - is)) * h);
                }
            }
            let period = (crossings[crossings.len() - 1] - crossings[0]) / (crossings.len() - 1) as f64;
            let expected = 2.0 * std::f64::consts::PI / f64::sqrt(50.0 * 6.0);
            assert!((period / expected - 1.0).abs() < 2e-3, "{substeps} × {iterations}: {period} s, {expected} s");
        }
    }

    #[test]
    fn free_fall_is_that_of_order_one_wherever_the_cloth_is() {
        for origin in [Vec3::ZERO, Vec3::new(-1e4, 1e4, 3e3)] {
            let mesh = generate::irregular(Vec2::ONE, 0.3, 3).unwrap();
            let mut cloth = Cloth::flat(mesh, FABRIC.density, Placement { origin, ..Placement::default() });
            let start = cloth.x.clone();
            let mut forces = Forces::new(with(springs, &still_air(), &cloth));
            let mut xpbd = xpbd(10, 1, 3);
            for _ in 0..50 {
                xpbd.advance(Motion::new(&mut cloth, &mut forces), 0.02);
            }
            for (a, b) in start.iter().zip(&*cloth.x) {
                // Single precision of velocities, and of rest lengths that are off by their last digit.
                assert!((b.y - a.y + 0.5 * 9.81 * 1.002).abs() < 1e-4, "{}", b.y - a.y);
            }
        }
    }

    /// A sheet with everything, on two windows of nodes and more.
    fn large(levels: u32) -> Simulation {
        let mesh = generate::grid(Vec2::ONE, [80, 80]).unwrap();
        let cloth = Cloth::flat(mesh, FABRIC.density, Placement { warp: Vec3::Z, ..Placement::default() });
        let grip = Grip::still("corner", &[NodeId(0), NodeId(79)], &cloth);
        let potentials = with(springs, &Surroundings::default(), &cloth);
        let cut = HandTear { time: 2.0 / 60.0, path: vec![Vec2::new(0.2, 0.5), Vec2::new(0.7, 0.55)] };
        Simulation::new(cloth, potentials, xpbd(5, 2, levels), 1.0 / 60.0).grip(grip).tear_by_hand(cut)
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let hash = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut simulation = large(4);
                (0..5).for_each(|_| simulation.step().unwrap());
                assert!(simulation.tear_count() > 20);
                simulation.state_hash()
            })
        };
        assert_eq!(hash(1), hash(2));
    }

    #[test]
    fn a_new_integrator_goes_on_as_the_old_one_would() {
        // What a checkpoint keeps is the cloth: tables, colours and levels must follow from it alone.
        let mut cloth = sheet(Vec2::ONE, 0.03);
        cloth.hold(NodeId(0), Some(0));
        let mut forces = Forces::new(with(springs, &Surroundings::default(), &cloth));
        let mut old = xpbd(6, 1, 4);
        for round in 0..6 {
            let mut log = ChangeLog::new();
            for e in cloth.mesh.edges().skip(17 * round).step_by(61) {
                cloth.mesh.open_edge(e, &mut log);
            }
            let e = EdgeId(5 + 100 * round as u32);
            if !cloth.mesh.is_retired_edge(e) {
                cloth.mesh.split_edge(e, 0.4, &mut log);
            }
            for e in cloth.mesh.edges().skip(11 * round).step_by(37) {
                let ends = cloth.mesh.edge_nodes(e);
                if !cloth.mesh.is_retired_edge(e) && !ends.contains(&NodeId(0)) {
                    cloth.mesh.merge(ends[round % 2], e, &mut log);
                }
            }
            cloth.follow(&log);
            let touched = Touched::by(&cloth.mesh, &log);
            forces.follow(&cloth, &touched);
            old.follow(&touched);
            let mut copy = cloth.clone();
            let mut new_forces = Forces::new(with(springs, &Surroundings::default(), &copy));
            let mut new = xpbd(6, 1, 4);
            for _ in 0..2 {
                old.advance(Motion::new(&mut cloth, &mut forces), 1.0 / 60.0);
                new.advance(Motion::new(&mut copy, &mut new_forces), 1.0 / 60.0);
            }
            assert_eq!(bits(&cloth), bits(&copy), "round {round}");
        }
        assert!(cloth.mesh.retired().nodes.len() > 50);
    }

    #[test]
    fn held_nodes_go_where_their_grip_goes() {
        let cloth = sheet(Vec2::ONE, 0.1);
        let start = cloth.x[NodeId(0)];
        let key = |time, x: f64| Key { time, shift: Vec3::X * x, turn: Vec3::ZERO };
        let grip = Grip::moving("hand", &[NodeId(0)], &cloth, vec![key(0.0, 0.0), key(0.5, 0.3)]);
        let potentials = with(springs, &Surroundings::default(), &cloth);
        let mut simulation = Simulation::new(cloth, potentials, Xpbd::default(), 1.0 / 60.0).grip(grip);
        (0..31).for_each(|_| simulation.step().unwrap());
        assert!((simulation.cloth().x[NodeId(0)] - start - Vec3::X * 0.3).length() < 1e-12);
    }

    #[test]
    fn what_is_cut_off_falls_freely() {
        let mesh = generate::grid(Vec2::ONE, [33, 33]).unwrap();
        let cloth = Cloth::flat(mesh, FABRIC.density, Placement::default());
        let top: Vec<NodeId> = cloth.mesh.nodes().filter(|&n| cloth.mesh.node_uv(n).y == 1.0).collect();
        let potentials = with(springs, &still_air(), &cloth);
        let grip = Grip::still("top", &top, &cloth);
        let cut = HandTear { time: 0.5, path: vec![Vec2::new(0.0, 0.5), Vec2::new(1.0, 0.5)] };
        let mut simulation =
            Simulation::new(cloth, potentials, xpbd(12, 1, 6), 1.0 / 60.0).grip(grip).tear_by_hand(cut);
        let mut fallen = Vec::new();
        for _ in 0..60 {
            simulation.step().unwrap();
            let c = simulation.cloth();
            let below =
                c.mesh.nodes().filter(|&n| c.mesh.fan(n).all(|k| c.mesh.face_uv(k.face()).iter().all(|p| p.y < 0.501)));
            let (momentum, mass) = below.fold((0.0, 0.0), |(p, m), n| (p + c.mass[n] * c.v[n].y, m + c.mass[n]));
            fallen.push(momentum / mass);
        }
        assert!(simulation.tear_count() >= 32);
        let (early, late) = (fallen[35], fallen[59]);
        assert!((late - early + 9.81 * 24.0 / 60.0).abs() < 1e-4, "{early} m/s, then {late} m/s");
    }

    #[test]
    fn levels_make_a_fine_sheet_less_of_rubber() {
        let strain = |levels: u32| {
            let mesh = generate::grid(Vec2::ONE, [60, 60]).unwrap();
            let place = Placement { warp: Vec3::Z, ..Placement::default() };
            let mut cloth = Cloth::flat(mesh, FABRIC.density, place);
            [59 * 60, 60 * 60 - 1].into_iter().for_each(|n| cloth.hold(NodeId(n), Some(0)));
            let mut forces = Forces::new(with(springs, &Surroundings::default(), &cloth));
            let mut xpbd = xpbd(6, 1, levels);
            for _ in 0..60 {
                xpbd.advance(Motion::new(&mut cloth, &mut forces), 1.0 / 60.0);
            }
            let mut all: Vec<f64> = cloth.mesh.edges().map(|e| cloth.total_strain(e)).collect();
            all.sort_by(f64::total_cmp);
            all[all.len() * 99 / 100]
        };
        let (without, with) = (strain(0), strain(6));
        assert!(with < 0.4 * without, "{with} with levels, {without} without");
    }
}
