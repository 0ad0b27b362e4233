//! Preconditioned conjugate gradients.
//!
//! x ← x + α p,  r ← r − α A p,  α = rᵀz / pᵀAp;  z = B r,  p ← z + (rᵀz)ₙₑᵥ/(rᵀz)ₒₗ p, until |r| ≤ tolerance · |b|
//!
//! Source: Baraff and Witkin 1998 §5 without their filter: rows of held nodes are [made trivial](super::BlockMatrix::hold)
//! instead, which comes to the same. Sums go over chunks of fixed size, so the number of threads changes no bit. A matrix
//! that turns out not to be positive definite (pᵀAp ≤ 0) ends the solve, and the answer says so.

use super::{BlockMatrix, Preconditioner};
use crate::math::Vec3;
use crate::parallel;

/// How a solve went.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Solved {
    /// Iterations taken.
    pub iterations: u32,
    /// What is left of the right-hand side: |b − A x| / |b|.
    pub residual: f64,
    /// The residual is within the tolerance.
    pub converged: bool,
}

/// Vectors that solves use one after the other.
#[derive(Default)]
pub struct Conjugate {
    r: Vec<Vec3>,
    z: Vec<Vec3>,
    p: Vec<Vec3>,
    ap: Vec<Vec3>,
}

fn dot(a: &[Vec3], b: &[Vec3]) -> f64 {
    parallel::sum(a.len(), |i| a[i].dot(b[i]))
}

impl Conjugate {
    /// Solves A x = b from x = 0, to |b − A x| ≤ `tolerance` |b|, in at most `limit` iterations. The preconditioner must
    /// have been prepared for `a`.
    pub fn solve(
        &mut self,
        a: &BlockMatrix,
        preconditioner: &mut Preconditioner,
        b: &[Vec3],
        x: &mut [Vec3],
        (tolerance, limit): (f64, u32),
    ) -> Solved {
        let Self { r, z, p, ap } = self;
        for buffer in [&mut *r, &mut *z, &mut *p, &mut *ap] {
            buffer.resize(b.len(), Vec3::ZERO);
        }
        x.fill(Vec3::ZERO);
        let size = dot(b, b).sqrt();
        if size == 0.0 {
            return Solved { converged: true, ..Solved::default() };
        }
        r.copy_from_slice(b);
        preconditioner.apply(a, r, z);
        p.copy_from_slice(z);
        let mut rz = dot(r, z);
        let mut solved = Solved { residual: 1.0, ..Solved::default() };
        while solved.iterations < limit {
            a.multiply(p, ap);
            let curvature = dot(p, ap);
            // Also if it is no number.
            if !(curvature > 0.0 && rz > 0.0) {
                break;
            }
            let alpha = rz / curvature;
            parallel::for_each_pair(x, r, |i, x, r| {
                *x += p[i] * alpha;
                *r -= ap[i] * alpha;
            });
            solved.iterations += 1;
            solved.residual = dot(r, r).sqrt() / size;
            if solved.residual <= tolerance {
                solved.converged = true;
                break;
            }
            preconditioner.apply(a, r, z);
            let before = std::mem::replace(&mut rz, dot(r, z));
            let beta = rz / before;
            parallel::for_each(p, |i, p| *p = z[i] + *p * beta);
        }
        solved
    }
}
