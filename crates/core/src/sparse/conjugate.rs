//! Preconditioned conjugate gradients.
//!
//! x ← x + α p,  r ← r − α A p,  α = rᵀz / pᵀAp;  z = B r,  p ← z + (rᵀz)ₙₑᵥ/(rᵀz)ₒₗ p, until |r| ≤ tolerance · |b|
//!
//! Source: Baraff and Witkin 1998 §5 without their filter: rows of held nodes are [zero](super::BlockMatrix::hold)
//! instead, which comes to the same. Deviation: iterations are in single precision, around them b − A x is computed in double
//! precision and solved for anew until it is small enough; so any tolerance is reached, and the answer about it is true for the
//! matrix as it is kept, whose blocks are rounded to single precision. Sums go over chunks of fixed size in double precision, so the number of threads changes no bit. A matrix that turns out not to be
//! positive definite (pᵀAp ≤ 0) ends the solve, and the answer says so.

use super::{BlockMatrix, Preconditioner};
use crate::math::{Vec3, Vec3f};
use crate::parallel;

/// What a matrix has beside its blocks: pairs that come and go with every step, which no pattern can follow. Symmetric and, together with
/// the matrix, positive definite.
pub trait Coupling: Sync {
    /// Adds its product with `x` to `product`.
    fn add_product(&self, x: &[Vec3], product: &mut [Vec3]);
    /// The same in single precision.
    fn add_product_single(&self, x: &[Vec3f], product: &mut [Vec3f]);
}

/// Nothing beside the blocks.
impl Coupling for () {
    fn add_product(&self, _x: &[Vec3], _product: &mut [Vec3]) {}
    fn add_product_single(&self, _x: &[Vec3f], _product: &mut [Vec3f]) {}
}

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
    left: Vec<Vec3>,
    product: Vec<Vec3>,
    x: Vec<Vec3f>,
    r: Vec<Vec3f>,
    z: Vec<Vec3f>,
    p: Vec<Vec3f>,
    ap: Vec<Vec3f>,
}

/// What single precision can be asked for at once.
const SINGLE: f64 = 1e-4;

/// Aim a little below the goal, so that rounding doesn't cost another round.
const MARGIN: f64 = 0.9;

fn dot(a: &[Vec3f], b: &[Vec3f]) -> f64 {
    parallel::sum(a.len(), |i| a[i].as_dvec3().dot(b[i].as_dvec3()))
}

impl Conjugate {
    /// Solves A x = b from x = 0, to |b − A x| ≤ `tolerance` |b|, in at most `limit` iterations, where A is `a` and `coupling`. The
    /// preconditioner must have been prepared for `a`.
    pub fn solve(
        &mut self,
        a: &BlockMatrix,
        coupling: &dyn Coupling,
        preconditioner: &mut Preconditioner,
        b: &[Vec3],
        x: &mut [Vec3],
        (tolerance, limit): (f64, u32),
    ) -> Solved {
        for buffer in [&mut self.x, &mut self.r, &mut self.z, &mut self.p, &mut self.ap] {
            buffer.resize(b.len(), Vec3f::ZERO);
        }
        self.left.clear();
        self.left.extend_from_slice(b);
        x.fill(Vec3::ZERO);
        let norm = |r: &[Vec3]| parallel::sum(r.len(), |i| r[i].length_squared()).sqrt();
        let size = norm(b);
        let mut solved = Solved { residual: 1.0, converged: size == 0.0, ..Solved::default() };
        while !solved.converged && solved.iterations < limit {
            let scale = solved.residual * size;
            let left = &self.left;
            parallel::for_each(&mut self.r, |i, r| *r = (left[i] / scale).as_vec3a());
            let goal = (MARGIN * tolerance / solved.residual).max(SINGLE);
            let taken = self.iterate(a, coupling, preconditioner, goal, limit - solved.iterations);
            solved.iterations += taken;
            let step = &self.x;
            parallel::for_each(x, |i, x| *x += step[i].as_dvec3() * scale);
            let x = &*x;
            self.product.resize(b.len(), Vec3::ZERO);
            parallel::for_each(&mut self.product, |i, product| *product = a.row_times(i, x));
            coupling.add_product(x, &mut self.product);
            let product = &self.product;
            parallel::for_each(&mut self.left, |i, left| *left = b[i] - product[i]);
            let before = std::mem::replace(&mut solved.residual, norm(&self.left) / size);
            solved.converged = solved.residual <= tolerance;
            // Rounds that don't help won't help again.
            if taken == 0 || !solved.residual.is_finite() || solved.residual > MARGIN * before {
                break;
            }
        }
        solved
    }

    /// Solves for `r`, of norm one, from x = 0 until its norm is `goal`. Returns the iterations taken.
    fn iterate(
        &mut self,
        a: &BlockMatrix,
        coupling: &dyn Coupling,
        preconditioner: &mut Preconditioner,
        goal: f64,
        limit: u32,
    ) -> u32 {
        let Self { x, r, z, p, ap, .. } = self;
        x.fill(Vec3f::ZERO);
        preconditioner.apply(a, r, z);
        p.copy_from_slice(z);
        let mut rz = dot(r, z);
        for taken in 0..limit {
            parallel::for_each(ap, |i, ap| *ap = a.row_times_single(i, p));
            coupling.add_product_single(p, ap);
            let curvature = dot(p, ap);
            if !(curvature > 0.0 && rz > 0.0 && rz.is_finite()) {
                return taken;
            }
            let alpha = (rz / curvature) as f32;
            parallel::for_each_pair(x, r, |i, x, r| {
                *x += p[i] * alpha;
                *r -= ap[i] * alpha;
            });
            if dot(r, r).sqrt() <= goal {
                return taken + 1;
            }
            preconditioner.apply(a, r, z);
            let before = std::mem::replace(&mut rz, dot(r, z));
            let beta = (rz / before) as f32;
            parallel::for_each(p, |i, p| *p = z[i] + *p * beta);
        }
        limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{hash_unit, outer};
    use crate::sparse::PreconditionerKind;

    #[test]
    fn what_rounding_has_made_indefinite_is_solved_once_it_is_firm() {
        // A chain of springs a hundred million times as stiff as it is heavy, each in a direction of its own: across them rounding outweighs the mass.
        let count = 40;
        let mut matrix = BlockMatrix::default();
        let all: Vec<u32> = (0..count).collect();
        matrix.pattern.follow(count as usize, &all, |i, columns| {
            columns.extend((i as u32).saturating_sub(1)..count.min(i as u32 + 2));
        });
        let random = |seed: u64, k: u64| Vec3::from([0, 1, 2].map(|c| hash_unit(seed, 3 * k + c) - 0.5));
        let pattern = matrix.pattern.clone();
        matrix.fill_half(&vec![1.0; count as usize], |rows| {
            for i in rows.range() {
                for (_, block) in pattern.row(i).iter().zip(rows.row(i)).filter(|(j, _)| **j > i as u32) {
                    let along = random(1, i as u64).normalize();
                    *block = (outer(along, along) * -1e8).to_cols_array().map(|number| number as f32);
                }
            }
        });
        let b: Vec<Vec3> = (0..u64::from(count)).map(|k| random(2, k)).collect();
        let mut preconditioner = Preconditioner::new(PreconditionerKind::Ssor);
        let mut solve = |matrix: &BlockMatrix| {
            preconditioner.prepare(matrix);
            let mut x = vec![Vec3::ZERO; b.len()];
            Conjugate::default().solve(matrix, &(), &mut preconditioner, &b, &mut x, (1e-3, 1000))
        };
        assert!(!solve(&matrix).converged);
        matrix.firm(1e-6);
        assert!(solve(&matrix).converged);
    }
}
