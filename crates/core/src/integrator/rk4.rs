//! The classical Runge-Kutta scheme of order 4.
//!
//! K1 = h f(S₀), K2 = h f(S₀ + K1/2), K3 = h f(S₀ + K2/2), K4 = h f(S₀ + K3), S₁ = S₀ + (K1 + 2 K2 + 2 K3 + K4)/6
//!
//! Source: Phillips 2008 eqs. 23–27. Stable up to h ω = 2.78, damped or not.

use super::{Integrator, Motion, explicit_limit, touch};
use crate::math::Vec3;
use crate::parallel;

/// Runge-Kutta of order 4.
#[derive(Default)]
pub struct Rk4 {
    force: Vec<Vec3>,
    x_stage: Vec<Vec3>,
    v_stage: Vec<Vec3>,
    x_sum: Vec<Vec3>,
    v_sum: Vec<Vec3>,
}

impl Integrator for Rk4 {
    fn name(&self) -> &'static str {
        "rk4"
    }

    fn advance(&mut self, Motion { cloth, forces, contacts, .. }: Motion<'_>, h: f64) {
        let Self { force, x_stage, v_stage, x_sum, v_sum } = self;
        for buffer in [&mut *force, &mut *x_stage, &mut *v_stage, &mut *x_sum, &mut *v_sum] {
            buffer.resize(cloth.x.len(), Vec3::ZERO);
        }
        let (x0, v0, w): (&[Vec3], &[Vec3], &[f64]) = (&cloth.x, &cloth.v, &cloth.inverse_mass);
        x_stage.copy_from_slice(&cloth.x);
        v_stage.copy_from_slice(&cloth.v);
        x_sum.fill(Vec3::ZERO);
        v_sum.fill(Vec3::ZERO);
        for (weight, ahead) in [(1.0, 0.5), (2.0, 0.5), (2.0, 1.0), (1.0, 0.0)] {
            forces.evaluate(cloth, x_stage, v_stage, force);
            parallel::for_each_pair(x_sum, x_stage, |i, sum, x| {
                *sum += v_stage[i] * weight;
                *x = x0[i] + v_stage[i] * (ahead * h);
            });
            parallel::for_each_pair(v_sum, v_stage, |i, sum, v| {
                let a = force[i] * w[i];
                *sum += a * weight;
                *v = v0[i] + a * (ahead * h);
            });
        }
        parallel::for_each(&mut cloth.x, |i, x| *x += x_sum[i] * (h / 6.0));
        parallel::for_each(&mut cloth.v, |i, v| *v += v_sum[i] * (h / 6.0));
        touch(contacts, cloth, h);
    }

    fn stable_step(&self, omega: f64, rate: f64) -> f64 {
        explicit_limit(omega, rate, 2.78, 2.78)
    }
}
