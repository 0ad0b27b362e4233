//! Integrators: how positions and velocities advance over one step.
//!
//! All of them see a [`Motion`]: the cloth, its forces as a function of positions and velocities, and its [contacts](crate::contact::row). Held nodes
//! have inverse mass zero and keep the velocity that their grip gives them, so they arrive where the grip wants them
//! without any integrator knowing of grips.
//!
//! To add one: a file here with an `impl Integrator`, and its arm in the scene reader.

mod euler;
mod implicit;
mod midpoint;
mod position;
mod rk4;
mod semi_implicit;

pub use euler::Euler;
pub use implicit::{Implicit, ImplicitSettings};
pub use midpoint::Midpoint;
pub use position::{Pbd, PbdSettings, Xpbd, XpbdSettings};
pub use rk4::Rk4;
pub use semi_implicit::{SemiImplicit, SemiImplicitSettings};

use crate::cloth::{Cloth, Touched};
use crate::contact::Contacts;
use crate::math::Vec3;
use crate::parallel;
use crate::potential::Forces;

/// A cloth and what moves it.
pub struct Motion<'a> {
    /// The cloth to advance.
    pub cloth: &'a mut Cloth,
    /// What acts on it.
    pub forces: &'a mut Forces,
    /// What it touches, if anything may.
    pub contacts: Option<&'a mut Contacts>,
    /// Share of a whole step that this is, where [`Integrator::contact_step`] had it divided.
    pub share: f64,
}

impl<'a> Motion<'a> {
    /// A cloth that touches nothing.
    pub fn new(cloth: &'a mut Cloth, forces: &'a mut Forces) -> Self {
        Self { cloth, forces, contacts: None, share: 1.0 }
    }
}

/// Takes contacts into a step of `h` [s] that is otherwise done.
fn touch(contacts: Option<&mut Contacts>, cloth: &mut Cloth, h: f64) {
    if let Some(contacts) = contacts {
        contacts.finish(cloth, h);
    }
}

/// A way to advance by one step.
pub trait Integrator: Send {
    /// Name in scenes, statistics and errors.
    fn name(&self) -> &'static str;

    /// Advances positions and velocities by `h` [s].
    fn advance(&mut self, motion: Motion<'_>, h: f64);

    /// Largest step [s] that is stable for a mode of angular frequency `omega` [1/s] damped at `rate` [1/s];
    /// infinite if every step is.
    fn stable_step(&self, omega: f64, rate: f64) -> f64;

    /// Longest step [s] over which the places of contact may be taken as they were at its beginning. Where things may touch, longer
    /// steps are divided, and contact is looked for in every part.
    fn contact_step(&self) -> f64 {
        f64::INFINITY
    }

    /// Velocities at the end of a step say little of where nodes go in the next one: they are those of a short substep, in which cloth swings to and fro within a step.
    /// What will meet is then foreseen by the mean velocity over the last step.
    fn trembles(&self) -> bool {
        false
    }

    /// Stress will be read after every step: forces are to be in balance then.
    fn balance(&mut self) {}

    /// Forces were brought into balance after the last step. What damping did to the motion is in their balance with accelerations, so elastic forces stand for both.
    fn is_balanced(&self) -> bool {
        false
    }

    /// Follows edits of the cloth.
    fn follow(&mut self, _touched: &Touched) {}

    /// The last system of the last [`advance`](Self::advance) that could not be solved, if there was one.
    fn unsolved(&self) -> Option<Unsolved> {
        None
    }

    /// Where in the last [`advance`](Self::advance) a method that goes round by round ended furthest from its goal, if it
    /// did anywhere: the step is as good as the rounds that were allowed.
    fn unfinished(&self) -> Option<Unsolved> {
        None
    }
}

/// A system of equations that was given up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unsolved {
    /// Iterations taken, or rounds.
    pub iterations: u32,
    /// What was left of the right-hand side, as a share of it.
    pub residual: f64,
}

/// Accelerations of all nodes: those of held nodes are zero.
fn accelerate(cloth: &Cloth, forces: &mut Forces, x: &[Vec3], v: &[Vec3], a: &mut [Vec3]) {
    forces.evaluate(cloth, x, v, a);
    for (a, w) in a.iter_mut().zip(&*cloth.inverse_mass) {
        *a *= *w;
    }
}

/// out = base + h · slope, row by row.
fn extrapolate(out: &mut [Vec3], base: &[Vec3], h: f64, slope: &[Vec3]) {
    parallel::for_each(out, |i, out| *out = base[i] + slope[i] * h);
}

/// x += h · slope, row by row.
fn add_scaled(x: &mut [Vec3], h: f64, slope: &[Vec3]) {
    parallel::for_each(x, |i, x| *x += slope[i] * h);
}

/// Largest step [s] that keeps a damped oscillator inside the stability region of an explicit scheme that reaches
/// `imaginary` along the imaginary and `real` along the negative real axis: the smaller of the two limits, which is
/// safe since both regions are convex there.
fn explicit_limit(omega: f64, rate: f64, imaginary: f64, real: f64) -> f64 {
    // rate = τ ω²: the overdamped eigenvalue is at most `rate`.
    let along = |reach: f64, speed: f64| if speed > 0.0 { reach / speed } else { f64::INFINITY };
    along(imaginary, omega).min(along(real, rate))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use crate::fabric::Fabric;
    use crate::model;
    use ripstop_mesh::{Vec2, generate};

    /// End state after 0.2 s of a small hanging sheet with all elements.
    fn end_state(mut integrator: Box<dyn Integrator>, steps: usize, damped: bool) -> Vec<Vec3> {
        let share = f64::from(u8::from(damped));
        let fabric =
            Fabric { density: 1.0, stretch: 20.0, shear: 2.0, bend: 0.01, damping: 0.01 * share, ..Fabric::default() };
        let mut cloth = Cloth::flat(generate::irregular(Vec2::ONE, 0.34, 1).unwrap(), 1.0, Placement::default());
        cloth.hold(ripstop_mesh::NodeId(0), Some(0));
        for n in cloth.mesh.nodes() {
            let p = cloth.x[n];
            cloth.v[n] = if cloth.is_held(n) { Vec3::ZERO } else { Vec3::new(0.0, 0.0, p.x) };
        }
        let mut potentials = model::springs(&fabric, &cloth);
        potentials.extend(model::Surroundings { viscous: 0.1 * share, ..Default::default() }.loads(&cloth));
        let mut forces = Forces::new(potentials);
        for _ in 0..steps {
            integrator.advance(Motion::new(&mut cloth, &mut forces), 0.2 / steps as f64);
        }
        cloth.x.iter().chain(&*cloth.v).copied().collect()
    }

    /// Systems solved to the last digits.
    fn exactly(newton: u32) -> ImplicitSettings {
        ImplicitSettings { tolerance: 1e-11, newton, ..ImplicitSettings::default() }
    }

    fn order(make: fn() -> Box<dyn Integrator>, steps: usize, damped: bool) -> f64 {
        let exact = end_state(Box::new(Rk4::default()), 4096, damped);
        let error = |steps| -> f64 {
            end_state(make(), steps, damped)
                .iter()
                .zip(&exact)
                .map(|(a, b)| (*a - *b).length_squared())
                .sum::<f64>()
                .sqrt()
        };
        (error(steps) / error(2 * steps)).log2()
    }

    #[test]
    fn measured_orders_are_one_two_and_four() {
        for (name, order, expected) in [
            ("euler", order(|| Box::new(Euler::default()), 400, true), 1.0),
            ("midpoint", order(|| Box::new(Midpoint::default()), 100, true), 2.0),
            ("rk4", order(|| Box::new(Rk4::default()), 50, true), 4.0),
            ("implicit", order(|| Box::new(Implicit::new(exactly(1))), 400, true), 1.0),
            ("implicit with newton", order(|| Box::new(Implicit::new(exactly(8))), 400, true), 1.0),
            ("semi-implicit", order(|| Box::new(SemiImplicit::default()), 400, true), 1.0),
            ("semi-implicit, undamped", order(|| Box::new(SemiImplicit::default()), 100, false), 2.0),
        ] {
            assert!((order - expected).abs() < 0.15, "{name}: order {order}");
        }
    }

    #[test]
    fn free_fall_is_exact_from_second_order_on() {
        let makes: [fn() -> Box<dyn Integrator>; 2] = [|| Box::new(Midpoint::default()), || Box::new(Rk4::default())];
        for make in makes {
            let mut cloth = Cloth::flat(generate::grid(Vec2::ONE, [3, 3]).unwrap(), 0.2, Placement::default());
            let start = cloth.x.clone();
            let around = model::Surroundings { viscous: 0.0, ..Default::default() };
            let mut forces = Forces::new(around.loads(&cloth));
            let mut integrator = make();
            for _ in 0..50 {
                integrator.advance(Motion::new(&mut cloth, &mut forces), 0.02);
            }
            for (a, b) in start.iter().zip(&*cloth.x) {
                assert!((b.y - a.y + 0.5 * 9.81).abs() < 1e-12, "{}", integrator.name());
            }
        }
    }

    /// How far a node on two springs at right angles is from rest after 400 steps of `share` of the stated limit.
    fn strays(mut integrator: Box<dyn Integrator>, damping: f64, share: f64) -> f64 {
        let mut cloth = Cloth::flat(generate::grid(Vec2::ONE, [2, 2]).unwrap(), 1.0, Placement::default());
        for n in [0, 2, 3] {
            cloth.hold(ripstop_mesh::NodeId(n), Some(0));
        }
        let fabric = Fabric { stretch: 100.0, shear: 0.0, bend: 0.0, damping, ..Fabric::default() };
        let mut forces = Forces::new(model::springs(&fabric, &cloth));
        cloth.x[ripstop_mesh::NodeId(1)] += Vec3::new(1e-6, 2e-6, 0.0);
        // Springs of E/2 on a sixth of a kilogram.
        let (omega, rate) = (f64::sqrt(50.0 * 6.0), damping * 50.0 * 6.0);
        let h = share * integrator.stable_step(omega, rate);
        for _ in 0..400 {
            integrator.advance(Motion::new(&mut cloth, &mut forces), h);
        }
        cloth.x[ripstop_mesh::NodeId(1)].distance(Vec3::X)
    }

    #[test]
    fn stated_limits_are_stable() {
        assert!(strays(Box::new(Euler::default()), 0.1, 0.9) < 1e-5);
        assert!(strays(Box::new(Midpoint::default()), 0.1, 0.9) < 1e-5);
        assert!(strays(Box::new(Rk4::default()), 0.1, 0.9) < 1e-5);
        assert!(strays(Box::new(Rk4::default()), 0.0, 0.9) < 1e-5);
        // Ten times critical damping, which no explicit scheme takes at this step.
        assert!(strays(Box::new(SemiImplicit::default()), 1.0, 0.9) < 1e-5);
        assert!(strays(Box::new(SemiImplicit::default()), 0.0, 0.9) < 1e-5);
        // And for the undamped scheme of order 4 the limit is sharp.
        let beyond = strays(Box::new(Rk4::default()), 0.0, 1.15);
        assert!(beyond.is_nan() || beyond > 1e-2, "{beyond}");
        // Leapfrog's too; what grows is soon so large that it is no longer a linear spring's.
        let beyond = strays(Box::new(SemiImplicit::default()), 0.0, 1.15);
        assert!(beyond.is_nan() || beyond > 1e-2, "{beyond}");
    }
}
