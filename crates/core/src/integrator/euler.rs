//! Explicit Euler: both velocity and acceleration from the beginning of the step. Order 1.
//!
//! x₁ = x₀ + h v₀,  v₁ = v₀ + h a(x₀, v₀)
//!
//! Source: Phillips 2008 eqs. 1–5, Bartels 2014 eq. 7. Limits: an undamped spring gains energy at every step, so only
//! damped cloth is stable, with small steps.

use super::{Integrator, Motion, accelerate, add_scaled, touch};
use crate::math::Vec3;

/// Explicit Euler.
#[derive(Default)]
pub struct Euler {
    a: Vec<Vec3>,
}

impl Integrator for Euler {
    fn name(&self) -> &'static str {
        "euler"
    }

    fn advance(&mut self, Motion { cloth, forces, contacts, .. }: Motion<'_>, h: f64) {
        self.a.resize(cloth.x.len(), Vec3::ZERO);
        accelerate(cloth, forces, &cloth.x, &cloth.v, &mut self.a);
        add_scaled(&mut cloth.x, h, &cloth.v);
        add_scaled(&mut cloth.v, h, &self.a);
        touch(contacts, cloth, h);
    }

    fn stable_step(&self, omega: f64, rate: f64) -> f64 {
        // |1 + hλ| ≤ 1 for λ² + rate·λ + ω² = 0: h ≤ rate/ω² while underdamped, 2/rate when overdamped.
        if omega == 0.0 { f64::INFINITY } else { (rate / (omega * omega)).min(2.0 / rate) }
    }
}
