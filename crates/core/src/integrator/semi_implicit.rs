//! Semi-implicit: elastic forces as they are, damping at the end of each half step. Order 2 without damping, 1 with.
//!
//! v½ = v₀ + ½h M⁻¹ F(x₀, v½),  x₁ = x₀ + h v½,  v₁ = v½ + ½h M⁻¹ F(x₁, v₁)
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | F | `forces` | N | force of springs and membranes, linear in v: F(x, v) = F(x, 0) − D v; loads with v as it is before the half step |
//! | M | `cloth.mass` | kg | masses of nodes |
//! | h | | s | step |
//!
//! Each half step is a system (M + ½h D) Δ = ½h F(x, v), Δ = v½ − v₀ or v₁ − v½, symmetric and close to M. Conjugate gradients
//! solve it without a matrix: D p = F(x, 0) − F(x, p) is one more evaluation of forces.
//!
//! Parameters: `tolerance` of the systems (largest residual over right-hand side), and at most so many `iterations`; a system that
//! isn't solved within them ends the step with an error.
//!
//! Source: Bridson 2003 §2, which Bartels 2014 asks for. Without damping it is leapfrog: a swing keeps its energy, where implicit
//! Euler eats it, and the step is limited by stiffness alone (ω h < 2), however strong the damping. Deviation: contacts come at the
//! end, not between the halves. Limits: for soft or light-footed cloth; a stiff one wants implicit Euler.

use super::{Integrator, Motion, Unsolved, add_scaled, touch};
use crate::cloth::Cloth;
use crate::math::Vec3;
use crate::parallel;
use crate::potential::Forces;
use serde::Deserialize;

/// Settings of [`SemiImplicit`].
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SemiImplicitSettings {
    /// Largest residual of a system, over its right-hand side.
    pub tolerance: f64,
    /// Iterations after which a system counts as unsolved.
    pub iterations: u32,
}

impl Default for SemiImplicitSettings {
    fn default() -> Self {
        Self { tolerance: 1e-6, iterations: 200 }
    }
}

/// Elastic forces explicitly, damping implicitly.
#[derive(Default)]
pub struct SemiImplicit {
    /// How.
    pub settings: SemiImplicitSettings,
    elastic: Vec<Vec3>,
    residual: Vec<Vec3>,
    search: Vec<Vec3>,
    image: Vec<Vec3>,
    change: Vec<Vec3>,
    unsolved: Option<Unsolved>,
}

impl SemiImplicit {
    /// The scheme with these settings.
    pub fn new(settings: SemiImplicitSettings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Changes velocities by half a step of `half` [s].
    fn kick(&mut self, cloth: &mut Cloth, forces: &mut Forces, half: f64) {
        let w = &cloth.inverse_mass;
        let Self { settings, elastic, residual, search, image, change, .. } = self;
        for buffer in [&mut *elastic, &mut *residual, &mut *search, &mut *image, &mut *change] {
            buffer.clear();
            buffer.resize(cloth.x.len(), Vec3::ZERO);
        }
        forces.evaluate_part(true, cloth, &cloth.x, change, elastic);
        forces.evaluate(cloth, &cloth.x, &cloth.v, residual);
        // Held nodes take no part: their rows are zero.
        parallel::for_each(residual, |i, r| *r = if w.as_ref()[i] == 0.0 { Vec3::ZERO } else { *r * half });
        let over_mass = |a: &[Vec3], b: &[Vec3]| parallel::sum(a.len(), |i| a[i].dot(b[i]) * w.as_ref()[i]);
        let begin = over_mass(residual, residual);
        let goal = begin * settings.tolerance * settings.tolerance;
        let mut left = begin;
        parallel::for_each(search, |i, p| *p = residual[i] * w.as_ref()[i]);
        let mut iterations = 0;
        while left > goal && iterations < settings.iterations {
            forces.evaluate_part(true, cloth, &cloth.x, search, image);
            parallel::for_each(image, |i, image| {
                let damped = (elastic[i] - *image) * half;
                let row = search[i] * cloth.mass.as_ref()[i] + damped;
                *image = if w.as_ref()[i] == 0.0 { Vec3::ZERO } else { row };
            });
            let share = left / parallel::sum(search.len(), |i| search[i].dot(image[i]));
            add_scaled(change, share, search);
            add_scaled(residual, -share, image);
            let now = over_mass(residual, residual);
            parallel::for_each(search, |i, p| *p = *p * (now / left) + residual[i] * w.as_ref()[i]);
            left = now;
            iterations += 1;
        }
        if left.is_nan() || left > goal {
            self.unsolved = Some(Unsolved { iterations, residual: (left / begin).sqrt() });
        }
        add_scaled(&mut cloth.v, 1.0, &self.change);
    }
}

impl Integrator for SemiImplicit {
    fn name(&self) -> &'static str {
        "semi_implicit"
    }

    fn advance(&mut self, Motion { cloth, forces, contacts, .. }: Motion<'_>, h: f64) {
        self.unsolved = None;
        self.kick(cloth, forces, 0.5 * h);
        add_scaled(&mut cloth.x, h, &cloth.v);
        self.kick(cloth, forces, 0.5 * h);
        touch(contacts, cloth, h);
    }

    fn stable_step(&self, omega: f64, _rate: f64) -> f64 {
        if omega > 0.0 { 2.0 / omega } else { f64::INFINITY }
    }

    fn unsolved(&self) -> Option<Unsolved> {
        self.unsolved
    }
}
