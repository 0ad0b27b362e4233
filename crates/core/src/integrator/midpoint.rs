//! Midpoint rule: slopes from half a step ahead. Order 2.
//!
//! K = h f(S₀),  S₁ = S₀ + h f(S₀ + K/2),  S = (x, v)
//!
//! Source: Phillips 2008 eqs. 21–22. Limits: damps nothing by itself; stable for damped cloth only.

use super::{Integrator, Motion, accelerate, add_scaled, explicit_limit, extrapolate, touch};
use crate::math::Vec3;

/// Midpoint rule.
#[derive(Default)]
pub struct Midpoint {
    a: Vec<Vec3>,
    x_mid: Vec<Vec3>,
    v_mid: Vec<Vec3>,
}

impl Integrator for Midpoint {
    fn name(&self) -> &'static str {
        "midpoint"
    }

    fn advance(&mut self, Motion { cloth, forces, contacts, .. }: Motion<'_>, h: f64) {
        let Self { a, x_mid, v_mid } = self;
        for buffer in [&mut *a, &mut *x_mid, &mut *v_mid] {
            buffer.resize(cloth.x.len(), Vec3::ZERO);
        }
        accelerate(cloth, forces, &cloth.x, &cloth.v, a);
        extrapolate(x_mid, &cloth.x, 0.5 * h, &cloth.v);
        extrapolate(v_mid, &cloth.v, 0.5 * h, a);
        accelerate(cloth, forces, x_mid, v_mid, a);
        add_scaled(&mut cloth.x, h, v_mid);
        add_scaled(&mut cloth.v, h, a);
        touch(contacts, cloth, h);
    }

    fn stable_step(&self, omega: f64, rate: f64) -> f64 {
        // The region touches the imaginary axis only at zero; with damping of a few percent it reaches about 1.
        explicit_limit(omega, rate, 1.0, 2.0)
    }
}
