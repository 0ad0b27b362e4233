//! Implicit Euler: forces are taken at the end of the step, so stiff cloth stays calm at large steps. Order 1.
//!
//! (M + h D + h² K) v₁ = M v₀ + h f(x₀),  x₁ = x₀ + h v₁
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | M | `cloth.mass` | kg | masses of nodes |
//! | K, D | `matrix` | N/m, N·s/m | stiffness −∂F/∂x, made positive semi-definite, and damping −∂F/∂v |
//! | f | | N | force of springs and membranes at rest velocity, and of loads as they are at the beginning |
//! | h | | s | step over `substeps` |
//!
//! Parameters: `newton` (1: the linear system above; more: so many rounds at most of v ← v − α A⁻¹ R(v), of which that system is the first, with
//! R = M (v − v₀) − h F(x₀ + h v, v), until |R| is `tolerance` of what it was, with α halved until the slope along the way is no more than
//! half of its size at the start), `substeps`, and for each system `tolerance`, at most `iterations`, and the preconditioner.
//! A linear system that isn't solved within its iterations is tried again without coarser grids, then with a millionth of each row's stiffness added to its mass; then it ends the step with an error. Rounds of Newton's method that end
//! before |R| is small enough don't: each is a better answer than the linear one. Such steps are counted and told of at the end.
//!
//! Source: Karaöz 2015 eqs. 2.42–2.48, Bartels 2014 eq. 10. Deviations: K is made definite, see the elements; both leave damping
//! out. One linear system is not the solution of the implicit equations (Bartels eq. 8): at 1/60 s it takes most of a swing's energy;
//! two substeps keep as much as two rounds of Newton for less time. Loads (wind, drag) are explicit: they are soft. Held nodes
//! have trivial rows and move by the velocity that their grip gives them.

use super::{Integrator, Motion, Unsolved, add_scaled};
use crate::cloth::{Cloth, Touched};
use crate::contact::Contacts;
use crate::math::Vec3;
use crate::parallel;
use crate::potential::Forces;
use crate::sparse::{BlockMatrix, Conjugate, Coupling, Preconditioner, PreconditionerKind};
use serde::Deserialize;

/// Settings of [`Implicit`].
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ImplicitSettings {
    /// Largest residual of a linear system, over its right-hand side.
    pub tolerance: f64,
    /// Iterations after which a linear system counts as unsolved.
    pub iterations: u32,
    /// Rounds of Newton's method; one is the linearised step.
    pub newton: u32,
    /// Parts that a step is divided into.
    pub substeps: u32,
    /// What conjugate gradients are preconditioned by.
    pub preconditioner: PreconditionerKind,
}

impl Default for ImplicitSettings {
    fn default() -> Self {
        Self {
            tolerance: 3e-2,
            iterations: 1000,
            newton: 1,
            substeps: 1,
            preconditioner: PreconditionerKind::default(),
        }
    }
}

/// Implicit Euler.
#[derive(Default)]
pub struct Implicit {
    /// How.
    pub settings: ImplicitSettings,
    matrix: BlockMatrix,
    preconditioner: Preconditioner,
    conjugate: Conjugate,
    /// Nodes that were held when the preconditioner was linked.
    held: Vec<bool>,
    stale: bool,
    load: Vec<Vec3>,
    force: Vec<Vec3>,
    residual: Vec<Vec3>,
    change: Vec<Vec3>,
    x_trial: Vec<Vec3>,
    v_trial: Vec<Vec3>,
    v_best: Vec<Vec3>,
    unsolved: Option<Unsolved>,
    unfinished: Option<Unsolved>,
    solves: u64,
    iterations: u64,
}

/// What rounding may take of a row of the matrix, over its largest number: some sixteen roundings of single precision.
const ROUNDING: f64 = 1e-6;

/// Rounds in which contacts find out what they do, at most.
const ROUNDS: u32 = 6;

/// Least tolerance of a system with free bodies.
const LEAST: f64 = 1e-4;

/// Share of the loads that counts as nothing, over the tolerance.
const SLIGHT: f64 = 0.2;

/// How often a round of contacts is shortened, at most.
const HALVINGS: u32 = 2;

/// True if a way that began downhill by `slope` and ends uphill by `rise` went far past the valley.
fn past(slope: f64, rise: f64) -> bool {
    rise > 0.5 * slope
}

fn dot(a: &[Vec3], b: &[Vec3]) -> f64 {
    parallel::sum(a.len(), |i| a[i].dot(b[i]))
}

impl Implicit {
    /// Implicit Euler with these settings.
    pub fn new(settings: ImplicitSettings) -> Self {
        Self { preconditioner: Preconditioner::new(settings.preconditioner), settings, ..Self::default() }
    }

    /// Linear systems solved, and iterations that took, since the beginning.
    pub fn effort(&self) -> (u64, u64) {
        (self.solves, self.iterations)
    }

    /// Follows changes of topology and of what is held.
    fn link(&mut self, cloth: &Cloth, forces: &mut Forces) {
        let count = cloth.x.len();
        let moved_on = self.stale || self.matrix.row_count() != count;
        if moved_on {
            forces.link_stiffness(&mut self.matrix.pattern, count);
            self.stale = false;
        }
        let held = |w: &f64| *w == 0.0;
        if moved_on || !self.held.iter().copied().eq(cloth.inverse_mass.iter().map(held)) {
            self.held.clear();
            self.held.extend(cloth.inverse_mass.iter().map(held));
            self.preconditioner.link(&self.matrix.pattern, cloth);
        }
        for buffer in [
            &mut self.load,
            &mut self.force,
            &mut self.residual,
            &mut self.change,
            &mut self.x_trial,
            &mut self.v_trial,
        ] {
            buffer.resize(count, Vec3::ZERO);
        }
    }

    /// Solves A `change` = `residual`, for A at positions that were assembled, and notes how it went. `again` if since the last solve only ties have changed.
    fn solve(&mut self, coupling: &dyn Coupling, tolerance: f64, again: bool) {
        for (i, _) in self.held.iter().enumerate().filter(|(_, held)| **held) {
            self.residual[i] = Vec3::ZERO;
            self.matrix.hold(i);
        }
        if again {
            self.preconditioner.prepare_finest(&self.matrix);
        } else {
            self.preconditioner.prepare(&self.matrix);
        }
        let Self { matrix, preconditioner, conjugate, residual, change, settings, .. } = self;
        let limits = (tolerance, settings.iterations);
        let mut solved = conjugate.solve(matrix, coupling, preconditioner, residual, change, limits);
        self.iterations += u64::from(solved.iterations);
        // Where yarns are pulled straight (`standards/denim`), coarser grids can make the preconditioner lose its sign, and the solution runs away; sweeps alone don't. Probably sums in single precision lose
        // what inertia and shear add to a hundred thousand times that.
        if !solved.converged && preconditioner.drop_grids() {
            solved = conjugate.solve(matrix, coupling, preconditioner, residual, change, limits);
            self.iterations += u64::from(solved.iterations);
            self.stale = true;
        }
        // Blocks are rounded to single precision, each by itself: where cloth is drawn out so far that it is ten million times as stiff as it is heavy, what is left need not be definite any more.
        if !solved.converged {
            matrix.firm(ROUNDING);
            preconditioner.prepare(matrix);
            solved = conjugate.solve(matrix, coupling, preconditioner, residual, change, limits);
            self.iterations += u64::from(solved.iterations);
        }
        self.solves += 1;
        if !solved.converged {
            self.unsolved = Some(Unsolved { iterations: solved.iterations, residual: solved.residual });
        }
    }

    fn substep(&mut self, cloth: &mut Cloth, forces: &mut Forces, contacts: &mut Contacts, h: f64) {
        self.link(cloth, forces);
        let touches = contacts.predict(cloth, h);
        forces.evaluate_part(false, cloth, &cloth.x, &cloth.v, &mut self.load);
        // Forces at rest velocity: damping is linear, so its part of v₁ is all in the matrix.
        self.v_trial.fill(Vec3::ZERO);
        forces.evaluate_part(true, cloth, &cloth.x, &self.v_trial, &mut self.force);
        forces.fill_stiffness(&cloth.mass, &cloth.x, h * h, h, &mut self.matrix);
        {
            let (matrix, load, force, v, mass) = (&self.matrix, &self.load, &self.force, &cloth.v, &cloth.mass);
            parallel::for_each(&mut self.residual, |i, r| {
                *r = v.as_ref()[i] * mass.as_ref()[i] + (load[i] + force[i]) * h - matrix.row_times(i, v);
            });
        }
        if touches {
            self.solve_touching(cloth, contacts, h);
        } else {
            self.solve(&(), self.settings.tolerance, false);
        }
        if self.settings.newton > 1 {
            self.improve(cloth, forces, contacts, h);
        } else {
            add_scaled(&mut cloth.v, 1.0, &self.change);
        }
        add_scaled(&mut cloth.x, h, &cloth.v);
        contacts.settle(cloth, h);
    }

    /// Moves nodes towards where stiff forces and `load` [N] are in balance, by a step of `h` [s] from rest, and leaves velocities alone. Returns how much there was out
    /// of balance before [N·s].
    pub(super) fn relax(&mut self, cloth: &mut Cloth, forces: &mut Forces, load: &[Vec3], h: f64) -> f64 {
        (self.unsolved, self.unfinished) = (None, None);
        self.link(cloth, forces);
        self.v_trial.fill(Vec3::ZERO);
        forces.evaluate_part(true, cloth, &cloth.x, &self.v_trial, &mut self.force);
        forces.fill_stiffness(&cloth.mass, &cloth.x, h * h, h, &mut self.matrix);
        let force = &self.force;
        parallel::for_each(&mut self.residual, |i, r| *r = (load[i] + force[i]) * h);
        self.solve(&(), self.settings.tolerance, false);
        add_scaled(&mut cloth.x, h, &self.change);
        dot(&self.residual, &self.residual).sqrt()
    }

    /// residual = what is left for contacts, as their lines are now, if velocities have changed by `total`. `free` is what there is without either.
    fn left(&mut self, free: &[Vec3], total: &[Vec3], contacts: &mut Contacts) {
        let matrix = &self.matrix;
        parallel::for_each(&mut self.residual, |i, r| *r = free[i] - matrix.row_times(i, total));
        let (predictor, rows, bodies) = contacts.predictor();
        predictor.add_impulses(rows, bodies, &self.v_trial, &mut self.residual);
        for (r, _) in self.residual.iter_mut().zip(&self.held).filter(|(_, held)| **held) {
            *r = Vec3::ZERO;
        }
    }

    /// Solves with contacts, again until their forces are those of the velocities that come out.
    fn solve_touching(&mut self, cloth: &Cloth, contacts: &mut Contacts, h: f64) {
        let mut free = std::mem::take(&mut self.v_best);
        let mut total = std::mem::take(&mut self.x_trial);
        let mut kept = std::mem::take(&mut self.force);
        free.clear();
        free.extend_from_slice(&self.residual);
        total.fill(Vec3::ZERO);
        self.v_trial.copy_from_slice(&cloth.v);
        self.left(&free, &total, contacts);
        let tolerance = self.settings.tolerance;
        let mut size = dot(&self.residual, &self.residual).sqrt();
        // What lies still has hardly a residual to begin with: a part of the loads is as good a measure.
        let (mut scale, mut least) = (size.max(SLIGHT * h * dot(&self.load, &self.load).sqrt()), tolerance);
        let (predictor, rows, bodies) = contacts.predictor();
        if predictor.moves_bodies(rows) {
            // Rows as stiff as a heavy body needs them begin with impulses far beyond what the cloth will get: those that stop it are the measure.
            kept.copy_from_slice(&free);
            predictor.add_stops(rows, bodies, &cloth.v, &mut kept);
            scale = scale.min(dot(&kept, &kept).sqrt().max(SLIGHT * h * dot(&self.load, &self.load).sqrt()));
            least = LEAST;
        }
        let goal = 2.0 * tolerance * scale;
        for round in 0..ROUNDS {
            kept.copy_from_slice(&total);
            let (predictor, rows, _) = contacts.predictor();
            predictor.tie(rows, &cloth.inverse_mass, &mut self.matrix);
            // No round needs to come much nearer than the goal.
            let enough = (0.5 * goal / size).clamp(least, 0.5);
            self.solve(&predictor.linked(rows, &cloth.inverse_mass), enough, round > 0);
            self.matrix.untie();
            let slope = dot(&self.change, &self.residual);
            let mut share = 1.0;
            for halving in 0..=HALVINGS {
                {
                    let (kept, change, v) = (&kept, &self.change, &cloth.v);
                    parallel::for_each_pair(&mut total, &mut self.v_trial, |i, total, trial| {
                        *total = kept[i] + change[i] * share;
                        *trial = v.as_ref()[i] + *total;
                    });
                }
                let (predictor, rows, bodies) = contacts.predictor();
                if halving == 0 {
                    predictor.note(rows, bodies, &self.v_trial);
                } else {
                    predictor.shorten(share);
                }
                predictor.redraw(rows, bodies, &self.v_trial);
                self.left(&free, &total, contacts);
                let rise = -dot(&self.change, &self.residual);
                if past(slope, rise) {
                    share *= (slope / (slope + rise)).clamp(0.1, 0.5);
                } else {
                    break;
                }
            }
            size = dot(&self.residual, &self.residual).sqrt();
            if size <= goal {
                break;
            }
        }
        self.change.copy_from_slice(&total);
        (self.v_best, self.x_trial, self.force) = (free, total, kept);
    }

    /// residual = −R for velocities v + `share` · change, which are left in `v_trial`.
    fn remain(
        &mut self,
        cloth: &Cloth,
        forces: &mut Forces,
        contacts: &mut Contacts,
        (v, share): (&[Vec3], f64),
        h: f64,
    ) {
        let (change, x) = (&self.change, &cloth.x);
        parallel::for_each_pair(&mut self.x_trial, &mut self.v_trial, |i, x_trial, v_trial| {
            *v_trial = v[i] + change[i] * share;
            *x_trial = x.as_ref()[i] + *v_trial * h;
        });
        forces.evaluate_part(true, cloth, &self.x_trial, &self.v_trial, &mut self.force);
        let (load, force, v_trial) = (&self.load, &self.force, &self.v_trial);
        parallel::for_each(&mut self.residual, |i, r| {
            let slowed = (cloth.v.as_ref()[i] - v_trial[i]) * cloth.mass.as_ref()[i];
            *r = slowed + (load[i] + force[i]) * h;
        });
        let (predictor, rows, bodies) = contacts.predictor();
        predictor.add_impulses(rows, bodies, &self.v_trial, &mut self.residual);
        for (r, _) in self.residual.iter_mut().zip(&self.held).filter(|(_, held)| **held) {
            *r = Vec3::ZERO;
        }
    }

    /// Goes from velocities `v` along `change`, half as far as long as that is past the valley; where that ends is left in `v_trial`, what remains there in `residual`.
    fn search(&mut self, cloth: &Cloth, forces: &mut Forces, contacts: &mut Contacts, v: &[Vec3], h: f64) {
        let slope = dot(&self.change, &self.residual);
        let mut share = 1.0;
        for _ in 0..8 {
            self.remain(cloth, forces, contacts, (v, share), h);
            if !past(slope, -dot(&self.change, &self.residual)) {
                break;
            }
            share *= 0.5;
        }
    }

    /// Rounds of Newton's method from the linearised step on.
    fn improve(&mut self, cloth: &mut Cloth, forces: &mut Forces, contacts: &mut Contacts, h: f64) {
        let goal = self.settings.tolerance * dot(&self.residual, &self.residual).sqrt();
        let mut v = std::mem::take(&mut self.v_best);
        v.clear();
        v.extend_from_slice(&cloth.v);
        // What resists a pull only once it has moved, such as a lip that a bond pulls out of its plane, would be flung so far that the next system is as stiff as what is drawn out there, and can't be solved.
        self.search(cloth, forces, contacts, &v, h);
        v.copy_from_slice(&self.v_trial);
        for _ in 1..self.settings.newton {
            if dot(&self.residual, &self.residual).sqrt() <= goal {
                break;
            }
            forces.fill_stiffness(&cloth.mass, &self.x_trial, h * h, h, &mut self.matrix);
            let (predictor, rows, _) = contacts.predictor();
            predictor.tie(rows, &cloth.inverse_mass, &mut self.matrix);
            self.solve(&predictor.linked(rows, &cloth.inverse_mass), self.settings.tolerance, false);
            self.search(cloth, forces, contacts, &v, h);
            v.copy_from_slice(&self.v_trial);
            let (predictor, rows, bodies) = contacts.predictor();
            predictor.note(rows, bodies, &v);
            predictor.redraw(rows, bodies, &v);
        }
        let left = dot(&self.residual, &self.residual).sqrt();
        let share = self.settings.tolerance * left / goal;
        if left > goal && self.unfinished.is_none_or(|worst| worst.residual < share) {
            self.unfinished = Some(Unsolved { iterations: self.settings.newton, residual: share });
        }
        let (predictor, rows, bodies) = contacts.predictor();
        predictor.note(rows, bodies, &v);
        cloth.v.copy_from_slice(&v);
        self.v_best = v;
    }
}

impl Integrator for Implicit {
    fn name(&self) -> &'static str {
        "implicit"
    }

    fn advance(&mut self, Motion { cloth, forces, mut contacts, .. }: Motion<'_>, h: f64) {
        (self.unsolved, self.unfinished) = (None, None);
        let substeps = self.settings.substeps.max(1);
        for _ in 0..substeps {
            let mut none = Contacts::default();
            let contacts = contacts.as_deref_mut().unwrap_or(&mut none);
            self.substep(cloth, forces, contacts, h / f64::from(substeps));
        }
    }

    fn stable_step(&self, _omega: f64, _rate: f64) -> f64 {
        f64::INFINITY
    }

    fn follow(&mut self, touched: &Touched) {
        self.stale |= touched.topology;
    }

    fn unsolved(&self) -> Option<Unsolved> {
        self.unsolved
    }

    fn unfinished(&self) -> Option<Unsolved> {
        self.unfinished
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use crate::fabric::Fabric;
    use crate::integrator::Rk4;
    use crate::model::{self, Surroundings};
    use crate::potential::{Elasticity, Potential};
    use crate::simulation::{Simulation, StepError};
    use crate::tear::HandTear;
    use crate::{Grip, Key};
    use proptest::prelude::*;
    use ripstop_mesh::{ChangeLog, NodeId, Vec2, generate};

    const FABRIC: Fabric =
        Fabric { density: 0.2, stretch: 800.0, shear: 40.0, bend: 1e-4, damping: 2e-4, ..Fabric::SOFT };

    fn sheet(size: Vec2, spacing: f64) -> Cloth {
        let place = Placement { warp: Vec3::new(0.0, 0.6, 0.8), ..Placement::default() };
        Cloth::flat(generate::irregular(size, spacing, 3).unwrap(), FABRIC.density, place)
    }

    fn membrane(cloth: &Cloth, around: &Surroundings) -> Vec<Box<dyn Potential>> {
        let mut potentials = model::membrane(&FABRIC, Elasticity::of(&FABRIC), cloth);
        potentials.extend(around.loads(cloth));
        potentials
    }

    fn springs(cloth: &Cloth, around: &Surroundings) -> Vec<Box<dyn Potential>> {
        let mut potentials = model::springs(&FABRIC, cloth);
        potentials.extend(around.loads(cloth));
        potentials
    }

    type Model = fn(&Cloth, &Surroundings) -> Vec<Box<dyn Potential>>;

    fn settings(kind: PreconditionerKind, newton: u32) -> ImplicitSettings {
        ImplicitSettings { preconditioner: kind, newton, ..ImplicitSettings::default() }
    }

    const KINDS: [PreconditionerKind; 3] =
        [PreconditionerKind::Jacobi, PreconditionerKind::Ssor, PreconditionerKind::Grids];

    /// A sheet held by one corner, in wind of its own making.
    fn swinging(model: Model, integrator: impl Integrator + 'static, h: f64) -> Simulation {
        let cloth = sheet(Vec2::new(1.0, 0.7), 0.08);
        let potentials = model(&cloth, &Surroundings::default());
        let grip = Grip::still("corner", &[NodeId(0)], &cloth);
        Simulation::new(cloth, potentials, integrator, h).grip(grip)
    }

    #[test]
    fn stays_bounded_far_past_the_explicit_limit() {
        for model in [springs as Model, membrane as Model] {
            let limit = swinging(model, Rk4::default(), 1.0).stable_step();
            for (newton, kind) in [(1, KINDS[0]), (1, KINDS[1]), (1, KINDS[2]), (6, KINDS[2])] {
                let mut simulation = swinging(model, Implicit::new(settings(kind, newton)), 100.0 * limit);
                assert_eq!(simulation.stable_step(), f64::INFINITY);
                for _ in 0..(2.0 / (100.0 * limit)).ceil() as usize {
                    simulation.step().unwrap();
                }
                let cloth = simulation.cloth();
                let highest = cloth.x.iter().map(|x| x.distance(cloth.x[NodeId(0)])).fold(0.0, f64::max);
                assert!(highest < 1.4, "a sheet of 1.22 m reaches {highest} m");
                let speed = cloth.v.iter().map(|v| v.length()).fold(0.0, f64::max);
                // From rest it can't fall further than twice its diagonal: v² = 2 g s.
                assert!(speed < 7.0, "{speed} m/s");
            }
        }
    }

    #[test]
    fn free_fall_is_that_of_order_one() {
        let mut cloth = sheet(Vec2::ONE, 0.3);
        let start = cloth.x.clone();
        let around = Surroundings { viscous: 0.0, ..Surroundings::default() };
        let mut forces = Forces::new(membrane(&cloth, &around));
        let mut implicit = Implicit::new(ImplicitSettings { tolerance: 1e-12, ..ImplicitSettings::default() });
        for _ in 0..50 {
            implicit.advance(Motion::new(&mut cloth, &mut forces), 0.02);
        }
        for (n, a) in start.iter().enumerate() {
            let n = NodeId(n as u32);
            assert!((cloth.v[n].y + 9.81).abs() < 1e-9);
            // Σ h (k h g) = g t (t + h) / 2
            assert!((cloth.x[n].y - a.y + 0.5 * 9.81 * 1.02).abs() < 1e-9);
        }
    }

    #[test]
    fn without_loads_momentum_is_kept() {
        let mut cloth = sheet(Vec2::ONE, 0.15);
        for n in cloth.mesh.nodes() {
            let p = cloth.x[n];
            cloth.v[n] = Vec3::new(1.0 - p.y, 2.0 * p.x * p.x, p.y * p.z);
        }
        let momentum = |c: &Cloth| c.mesh.nodes().map(|n| c.v[n] * c.mass[n]).sum::<Vec3>();
        let before = momentum(&cloth);
        let around = Surroundings { gravity: Vec3::ZERO, viscous: 0.0, ..Surroundings::default() };
        let mut forces = Forces::new(membrane(&cloth, &around));
        let mut implicit =
            Implicit::new(ImplicitSettings { tolerance: 1e-10, newton: 3, ..ImplicitSettings::default() });
        for _ in 0..30 {
            implicit.advance(Motion::new(&mut cloth, &mut forces), 1.0 / 60.0);
        }
        assert!(implicit.unsolved().is_none());
        assert!((momentum(&cloth) - before).length() < 1e-8 * before.length());
    }

    #[test]
    fn a_hanging_strip_stretches_by_its_weight() {
        // Stiff enough for Green's strain to be the ordinary one; no Poisson's ratio, so that the held end is not special.
        let (length, stiffness) = (1.0, 1000.0);
        let mesh = generate::irregular(Vec2::new(0.2, length), 0.04, 1).unwrap();
        let mut cloth = Cloth::flat(mesh, 0.2, Placement::default());
        let (top, bottom): (Vec<_>, Vec<_>) = cloth
            .mesh
            .nodes()
            .filter(|&n| [0.0, length].contains(&cloth.mesh.node_uv(n).y))
            .partition(|&n| cloth.x[n].y == length);
        top.iter().for_each(|&n| cloth.hold(n, Some(0)));
        let elasticity = Elasticity { weft: stiffness, across: 0.0, warp: stiffness, shear: 0.5 * stiffness };
        let mut potentials = model::membrane(&FABRIC, elasticity, &cloth);
        potentials.extend(Surroundings::default().loads(&cloth));
        let mut forces = Forces::new(potentials);
        let mut implicit = Implicit::default();
        for _ in 0..300 {
            implicit.advance(Motion::new(&mut cloth, &mut forces), 1.0 / 60.0);
        }
        let fallen = -bottom.iter().map(|&n| cloth.x[n].y).sum::<f64>() / bottom.len() as f64;
        let expected = 0.2 * 9.81 * length * length / (2.0 * stiffness);
        assert!((fallen / expected - 1.0).abs() < 0.02, "{fallen} m, expected {expected} m");
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let hash = |threads: usize, kind| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                // More than one domain of the preconditioner's sweeps.
                let cloth = sheet(Vec2::ONE, 0.014);
                assert!(cloth.x.len() > 5000);
                let grip = Grip::still("corner", &[NodeId(0)], &cloth);
                let potentials = membrane(&cloth, &Surroundings::default());
                let integrator = Implicit::new(settings(kind, 2));
                let mut simulation = Simulation::new(cloth, potentials, integrator, 1.0 / 60.0).grip(grip);
                (0..3).for_each(|_| simulation.step().unwrap());
                simulation.state_hash()
            })
        };
        for kind in KINDS {
            assert_eq!(hash(1, kind), hash(2, kind), "{kind:?}");
        }
    }

    #[test]
    fn the_rest_shape_is_that_of_rk4() {
        let rest = |integrator: Box<dyn Integrator>, h: f64, model: Model| {
            let cloth = sheet(Vec2::new(0.3, 0.2), 0.06);
            let around = Surroundings { viscous: 4.0, ..Surroundings::default() };
            let potentials = model(&cloth, &around);
            let held: Vec<NodeId> = cloth.mesh.nodes().filter(|&n| cloth.mesh.node_uv(n).y == 0.2).collect();
            let grip = Grip::still("top", &held, &cloth);
            let mut simulation = Simulation::boxed(cloth, potentials, integrator, h).grip(grip);
            while simulation.time() < 6.0 {
                simulation.step().unwrap();
            }
            assert!(simulation.cloth().kinetic_energy() < 1e-7, "{} J", simulation.cloth().kinetic_energy());
            simulation.cloth().x.to_vec()
        };
        for model in [springs as Model, membrane as Model] {
            let implicit = rest(Box::<Implicit>::default(), 1.0 / 60.0, model);
            let explicit = rest(Box::<Rk4>::default(), 2e-4, model);
            let far = implicit.iter().zip(&explicit).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
            assert!(far < 0.01 * 0.36, "{far} m apart on a sheet of 0.36 m");
        }
    }

    #[test]
    fn held_nodes_go_where_their_grip_goes() {
        let cloth = sheet(Vec2::ONE, 0.2);
        let start = cloth.x[NodeId(0)];
        let keys =
            [(0.0, 0.0), (0.5, 0.3)].map(|(time, x)| Key { time, shift: Vec3::X * x, turn: Vec3::ZERO }).to_vec();
        let grip = Grip::moving("hand", &[NodeId(0)], &cloth, keys);
        let potentials = springs(&cloth, &Surroundings::default());
        let integrator = Implicit::new(ImplicitSettings { substeps: 3, ..ImplicitSettings::default() });
        let mut simulation = Simulation::new(cloth, potentials, integrator, 1.0 / 60.0).grip(grip);
        (0..31).for_each(|_| simulation.step().unwrap());
        assert!((simulation.cloth().x[NodeId(0)] - start - Vec3::X * 0.3).length() < 1e-12);
    }

    #[test]
    fn what_is_not_solved_is_an_error() {
        let few = ImplicitSettings { iterations: 2, ..settings(PreconditionerKind::Jacobi, 1) };
        let mut simulation = swinging(membrane, Implicit::new(few), 1.0 / 60.0);
        let error = (0..20).find_map(|_| simulation.step().err()).expect("two iterations don't do");
        assert!(matches!(error, StepError::Unsolved { iterations: 2, residual, .. } if residual > 1e-2), "{error}");
    }

    #[test]
    fn rounds_that_do_not_suffice_are_told() {
        let told = |newton: u32, tolerance: f64| {
            let integrator = Implicit::new(ImplicitSettings { newton, tolerance, ..ImplicitSettings::default() });
            let mut simulation = swinging(membrane, integrator, 1.0 / 60.0);
            let steps = (0..20).map(|_| simulation.step().map(|()| simulation.unfinished()).unwrap());
            steps.flatten().collect::<Vec<_>>()
        };
        assert_eq!(told(1, 1e-6), [], "one linear system promises nothing");
        assert_eq!(told(100, 1e-6), [], "what is left out of the stiffness makes rounds many, not endless");
        let few = told(2, 1e-6);
        assert!(few.len() > 10 && few.iter().all(|u| u.iterations == 2 && u.residual > 1e-6), "{few:?}");
    }

    #[test]
    fn newton_solves_the_implicit_equations() {
        // One linear system leaves a part of the residual; rounds of Newton's method make it small.
        let remaining = |newton| {
            let mut cloth = sheet(Vec2::ONE, 0.15);
            cloth.hold(NodeId(0), Some(0));
            let mut forces = Forces::new(membrane(&cloth, &Surroundings::default()));
            let mut implicit =
                Implicit::new(ImplicitSettings { newton, tolerance: 1e-6, ..ImplicitSettings::default() });
            let mut worst: f64 = 0.0;
            for _ in 0..40 {
                let before = cloth.clone();
                implicit.advance(Motion::new(&mut cloth, &mut forces), 1.0 / 60.0);
                implicit.change.fill(Vec3::ZERO);
                implicit.remain(&before, &mut forces, &mut Contacts::default(), (&cloth.v, 1.0), 1.0 / 60.0);
                worst = worst.max(dot(&implicit.residual, &implicit.residual).sqrt());
            }
            worst
        };
        let (linear, newton) = (remaining(1), remaining(30));
        assert!(newton < 1e-3 * linear, "{newton} against {linear} kg·m/s");
    }

    #[test]
    fn what_resists_only_once_it_has_moved_is_not_flung() {
        // Flat cloth, held all around, falls across its plane, in which nothing resists at first: by g h² if nothing did.
        let (h, g) = (1.0 / 60.0, 6000.0);
        let goes = |newton| {
            let mut cloth = sheet(Vec2::ONE, 0.1);
            let border: Vec<NodeId> = cloth.mesh.nodes().filter(|&n| cloth.mesh.is_border_node(n)).collect();
            border.iter().for_each(|&n| cloth.hold(n, Some(0)));
            let middle = crate::opening::nearest_node(&cloth.mesh, Vec2::splat(0.5));
            let from = cloth.x[middle];
            let around = Surroundings { gravity: Vec3::new(0.0, -0.8, 0.6) * g, ..Surroundings::default() };
            let mut forces = Forces::new(membrane(&cloth, &around));
            let settings = ImplicitSettings { newton, tolerance: 1e-6, ..ImplicitSettings::default() };
            Implicit::new(settings).advance(Motion::new(&mut cloth, &mut forces), h);
            cloth.x[middle].distance(from)
        };
        let (linear, few, exact) = (goes(1), goes(5), goes(100));
        assert!(linear > 0.9 * g * h * h && linear > 4.0 * exact, "{linear} and {exact} m");
        assert!((few / exact - 1.0).abs() < 0.1, "{few} and {exact} m");
    }

    #[test]
    fn what_is_cut_off_falls_freely() {
        let mesh = generate::grid(Vec2::ONE, [21, 21]).unwrap();
        let cloth = Cloth::flat(mesh, FABRIC.density, Placement::default());
        let top: Vec<NodeId> = cloth.mesh.nodes().filter(|&n| cloth.mesh.node_uv(n).y == 1.0).collect();
        let around = Surroundings { viscous: 0.0, ..Surroundings::default() };
        let potentials = membrane(&cloth, &around);
        let grip = Grip::still("top", &top, &cloth);
        let cut = HandTear { time: 0.5, path: vec![Vec2::new(0.0, 0.5), Vec2::new(1.0, 0.5)] };
        let integrator = Implicit::new(ImplicitSettings { tolerance: 1e-8, ..ImplicitSettings::default() });
        let mut simulation = Simulation::new(cloth, potentials, integrator, 1.0 / 60.0).grip(grip).tear_by_hand(cut);
        let mut fallen = Vec::new();
        for _ in 0..60 {
            simulation.step().unwrap();
            let c = simulation.cloth();
            let below =
                c.mesh.nodes().filter(|&n| c.mesh.fan(n).all(|k| c.mesh.face_uv(k.face()).iter().all(|p| p.y < 0.501)));
            let (momentum, mass) = below.fold((0.0, 0.0), |(p, m), n| (p + c.mass[n] * c.v[n].y, m + c.mass[n]));
            fallen.push(momentum / mass);
        }
        assert!(simulation.tear_count() >= 20);
        let (early, late) = (fallen[35], fallen[59]);
        assert!((late - early + 9.81 * 24.0 / 60.0).abs() < 1e-5, "{early} m/s, then {late} m/s");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        /// As a run resumed from a checkpoint does, which makes everything anew.
        #[test]
        fn what_follows_edits_gives_the_bits_of_what_is_made_anew(
            edits in prop::collection::vec((0u8..8, any::<u32>(), 0.2..0.45f64), 1..60), per_log in 1usize..6, per_step in 1usize..4,
        ) {
            let mut cloth = sheet(Vec2::new(1.0, 0.7), 0.1);
            cloth.hold(NodeId(0), Some(0));
            let mut forces = Forces::new(membrane(&cloth, &Surroundings::default()));
            let mut implicit = Implicit::new(settings(PreconditionerKind::Grids, 2));
            implicit.advance(Motion::new(&mut cloth, &mut forces), 0.01);
            for (count, batch) in edits.chunks(per_log).enumerate() {
                let mut log = ChangeLog::new();
                for &(kind, id, t) in batch {
                    let (mut edges, mut faces) = (cloth.mesh.edges(), cloth.mesh.faces());
                    let (edge, face) = (id as usize % edges.len(), id as usize % faces.len());
                    let (Some(edge), Some(face)) = (edges.nth(edge), faces.nth(face)) else { continue };
                    match kind {
                        0 => { cloth.mesh.split_edge(edge, t, &mut log); }
                        1 => { cloth.mesh.split_face(face, [t, t, 1.0 - 2.0 * t], &mut log); }
                        2..5 => { cloth.mesh.open_edge(edge, &mut log); }
                        _ => {
                            let node = cloth.mesh.edge_nodes(edge)[id as usize % 2];
                            if !cloth.mesh.edge_nodes(edge).contains(&NodeId(0)) {
                                cloth.mesh.merge(node, edge, &mut log);
                            }
                        }
                    }
                }
                cloth.follow(&log);
                let touched = Touched::by(&cloth.mesh, &log);
                forces.follow(&cloth, &touched);
                implicit.follow(&touched);
                if count % per_step > 0 {
                    continue;
                }
                let mut other = cloth.clone();
                let mut made = Forces::new(membrane(&other, &Surroundings::default()));
                let mut anew = Implicit::new(implicit.settings);
                implicit.advance(Motion::new(&mut cloth, &mut forces), 0.01);
                anew.advance(Motion::new(&mut other, &mut made), 0.01);
                prop_assert!(implicit.matrix == anew.matrix, "matrices differ after {} edits", count + 1);
                let bits = |cloth: &Cloth| cloth.x.iter().map(|x| x.to_array().map(f64::to_bits)).collect::<Vec<_>>();
                prop_assert_eq!(bits(&cloth), bits(&other));
            }
        }
    }

    #[test]
    fn slits_leave_every_system_solvable() {
        // New nodes are numbered last, far from their neighbours: more than one domain of the sweeps.
        let mut cloth = Cloth::flat(generate::grid(Vec2::ONE, [81, 81]).unwrap(), FABRIC.density, Placement::default());
        let mut log = ChangeLog::new();
        for e in cloth.mesh.edges() {
            let [a, b] = cloth.mesh.edge_nodes(e).map(|n| cloth.mesh.node_uv(n) * 80.0);
            let on_slit = (a.x - b.x).abs() < 1e-6 && (a.x.round() as u32).is_multiple_of(8) && a.y.max(b.y) < 64.5;
            if on_slit && !cloth.mesh.is_border_edge(e) {
                cloth.mesh.open_edge(e, &mut log);
            }
        }
        cloth.follow(&log);
        assert!(cloth.x.len() > 81 * 81 + 500);
        for corner in [80 * 81, 81 * 81 - 1] {
            cloth.hold(NodeId(corner), Some(0));
        }
        let mut forces = Forces::new(membrane(&cloth, &Surroundings::default()));
        let mut implicit = Implicit::default();
        for step in 0..8 {
            implicit.advance(Motion::new(&mut cloth, &mut forces), 1.0 / 60.0);
            assert_eq!(implicit.unsolved(), None, "step {step}");
        }
        let (solves, iterations) = implicit.effort();
        assert!(iterations < 20 * solves, "{iterations} iterations in {solves} systems");
    }
}
