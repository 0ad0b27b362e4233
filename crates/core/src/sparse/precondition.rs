//! Preconditioners: cheap approximations of A⁻¹.
//!
//! | kind | what | when |
//! |---|---|---|
//! | `jacobi` | inverse of the diagonal blocks | small steps, soft cloth |
//! | `ssor` | a sweep of Gauss-Seidel forward and one backward | a few hundred nodes |
//! | `grids` | the same sweeps around a correction from ever coarser grids in material space (V-cycle) | the default |
//!
//! Sweeps go over domains of fixed size, each taking new values of its own rows and old ones of others: the same bits for any
//! number of threads, and symmetric, since the backward sweep is the forward one's adjoint. Half of what couples a row to other
//! domains (sum of absolute values) is added to its diagonal: then sweeps converge for every positive definite A (Baker and others
//! 2011, "ℓ1 smoothers"), without which the preconditioner need not be positive, and wasn't where tears had numbered nodes far apart.
//!
//! All is in single precision, which is half the memory to go through; [`Conjugate`](super::Conjugate) makes up for it.
//!
//! Grids: each three times as wide as the points below, bilinear weights, Galerkin matrices, until few points are left, for which
//! Cholesky's factors are taken. Where a slit parts the cloth, grid points have an unknown for each side. Limits: built anew
//! whenever topology changes or a node is held or let go. Material coordinates must be flat.

use super::dense::Dense;
use super::grids::Transfer;
use super::matrix::times;
use super::{Block, BlockMatrix, Pattern};
use crate::cloth::Cloth;
use crate::math::{Mat3, Mat3f, Vec2, Vec3f};
use crate::parallel;
use glam::Vec4;
use serde::Deserialize;

/// Which approximation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PreconditionerKind {
    /// Diagonal blocks.
    Jacobi,
    /// Sweeps.
    Ssor,
    /// Sweeps and coarser grids.
    #[default]
    Grids,
}

/// Rows that one sweep goes over in order: more lose less at their borders, fewer are work for more threads.
const DOMAIN: usize = 4096;

/// So few points are solved directly.
const FEW: usize = 40;

/// A preconditioner and its tables.
#[derive(Default)]
pub struct Preconditioner {
    /// Which approximation.
    pub kind: PreconditionerKind,
    sweeps: Sweeps,
    grids: Vec<Grid>,
    few: Dense,
}

/// A coarser level.
struct Grid {
    below: Transfer,
    matrix: BlockMatrix,
    sweeps: Sweeps,
    r: Vec<Vec3f>,
    z: Vec<Vec3f>,
}

impl Preconditioner {
    /// One of this kind, which must be linked before use.
    pub fn new(kind: PreconditionerKind) -> Self {
        Self { kind, ..Self::default() }
    }

    /// Builds what depends on topology and on which nodes are held.
    pub fn link(&mut self, pattern: &Pattern, cloth: &Cloth) {
        self.grids.clear();
        if self.kind != PreconditionerKind::Grids {
            return;
        }
        // Retired nodes have a row as held ones do.
        let mut uv: Vec<Vec2> = cloth.x.ids().map(|n| cloth.mesh.node_uv(n)).collect();
        let mut spacing = (cloth.mesh.area().abs() / cloth.mesh.nodes().len() as f64).sqrt();
        loop {
            let (above, held) = match self.grids.last() {
                None => (pattern, Some(&cloth.inverse_mass)),
                Some(grid) => (&grid.matrix.pattern, None),
            };
            if above.row_count() <= FEW {
                break;
            }
            let free = |i: usize| held.is_none_or(|inverse_mass| inverse_mass.as_ref()[i] > 0.0);
            let Some((below, points, coarse)) = Transfer::new(above, &uv, free, spacing) else { break };
            let count = points.len();
            self.grids.push(Grid {
                below,
                matrix: BlockMatrix::new(coarse),
                sweeps: Sweeps::default(),
                r: vec![Vec3f::ZERO; count],
                z: vec![Vec3f::ZERO; count],
            });
            uv = points;
            spacing *= 3.0;
        }
    }

    /// Follows the numbers of the matrix.
    pub fn prepare(&mut self, matrix: &BlockMatrix) {
        self.sweeps.prepare(matrix);
        let direct = self.direct();
        let mut above = matrix;
        for grid in &mut self.grids {
            grid.below.project(above, &mut grid.matrix);
            grid.sweeps.prepare(&grid.matrix);
            above = &grid.matrix;
        }
        if direct {
            self.few.factor(above);
        }
    }

    /// Follows the numbers of the matrix where little has changed since it was prepared: coarser levels stay as they are.
    pub fn prepare_finest(&mut self, matrix: &BlockMatrix) {
        self.sweeps.prepare(matrix);
    }

    /// Leaves coarser grids out until it is linked again. False if there are none.
    pub fn drop_grids(&mut self) -> bool {
        let any = !self.grids.is_empty();
        self.grids.clear();
        any
    }

    /// The coarsest grid is solved directly.
    fn direct(&self) -> bool {
        self.grids.last().is_some_and(|grid| grid.matrix.row_count() <= FEW)
    }

    /// z = B r, for the matrix that this was prepared for.
    pub fn apply(&mut self, matrix: &BlockMatrix, r: &[Vec3f], z: &mut Vec<Vec3f>) {
        if self.kind == PreconditionerKind::Jacobi {
            return parallel::for_each(z, |i, z| *z = self.sweeps.inverse[i] * r[i]);
        }
        let direct = self.direct();
        let Self { sweeps, grids, few, .. } = self;
        cycle(matrix, sweeps, r, z, grids, direct.then_some(few));
    }
}

/// One V-cycle from this level down and up again.
fn cycle(
    matrix: &BlockMatrix,
    sweeps: &mut Sweeps,
    r: &[Vec3f],
    z: &mut Vec<Vec3f>,
    coarser: &mut [Grid],
    few: Option<&mut Dense>,
) {
    sweeps.forward(matrix, r, z);
    if let Some((grid, coarser)) = coarser.split_first_mut() {
        sweeps.remainder(matrix, z);
        grid.below.restrict(&sweeps.spare, &mut grid.r);
        match few {
            Some(few) if coarser.is_empty() => few.solve(&grid.r, &mut grid.z),
            few => cycle(&grid.matrix, &mut grid.sweeps, &grid.r, &mut grid.z, coarser, few),
        }
        grid.below.add_prolonged(&grid.z, z);
    }
    sweeps.backward(matrix, r, z);
}

/// Sweeps of Gauss-Seidel over one matrix.
#[derive(Default)]
struct Sweeps {
    /// Half the sum of what couples a row to other domains, component by component.
    extra: Vec<Vec3f>,
    /// Inverse of every diagonal block D′, which is D with `extra` added.
    inverse: Vec<Mat3f>,
    spare: Vec<Vec3f>,
}

/// Sum of absolute values of each row of a block.
fn sizes(block: &Block) -> Vec3f {
    let [a, b, c] = [0, 3, 6].map(|k| Vec3f::from_slice(&block[k..k + 3]).abs());
    a + b + c
}

impl Sweeps {
    fn prepare(&mut self, matrix: &BlockMatrix) {
        self.inverse.resize(matrix.row_count(), Mat3f::ZERO);
        self.spare.resize(matrix.row_count(), Vec3f::ZERO);
        self.extra.resize(matrix.row_count(), Vec3f::ZERO);
        parallel::for_each_pair(&mut self.inverse, &mut self.extra, |i, inverse, extra| {
            let (columns, blocks) = matrix.row(i);
            *extra = Vec3f::ZERO;
            for (_, block) in columns.iter().zip(blocks).filter(|(j, _)| **j as usize / DOMAIN != i / DOMAIN) {
                *extra += sizes(block) * 0.5;
            }
            let block = Mat3::from_cols_array(&matrix.diagonal(i).map(f64::from));
            let block = block + Mat3::from_diagonal(extra.as_dvec3());
            let made = block.inverse().as_mat3();
            *inverse = if block.determinant() > 0.0 && made.is_finite() { made.into() } else { Mat3f::ZERO };
        });
    }

    /// From zero: z = (D′ + L)⁻¹ r, with L the blocks below the diagonal within a domain.
    fn forward(&self, matrix: &BlockMatrix, r: &[Vec3f], z: &mut [Vec3f]) {
        parallel::for_each_chunk(z, DOMAIN, |first, z| {
            for k in 0..z.len() {
                let (columns, numbers, middle) = matrix.numbers(first + k);
                let mut done = Vec4::ZERO;
                for (place, &j) in columns[..middle].iter().enumerate() {
                    if j as usize >= first {
                        done += times(&numbers[9 * place..], z[j as usize - first]);
                    }
                }
                z[k] = self.inverse[first + k] * (r[first + k] - Vec3f::from_vec4(done));
            }
        });
    }

    /// After a forward sweep, spare = r − A z: what D′ and L have done is done, so only the others are left.
    fn remainder(&mut self, matrix: &BlockMatrix, z: &[Vec3f]) {
        let extra = &self.extra;
        parallel::for_each_chunk(&mut self.spare, DOMAIN, |first, spare| {
            for (k, spare) in spare.iter_mut().enumerate() {
                let (columns, numbers, middle) = matrix.numbers(first + k);
                let before = columns[..middle].iter().take_while(|j| (**j as usize) < first).count();
                let mut done = Vec4::ZERO;
                for place in (0..before).chain(middle + 1..columns.len()) {
                    done += times(&numbers[9 * place..], z[columns[place] as usize]);
                }
                *spare = extra[first + k] * z[first + k] - Vec3f::from_vec4(done);
            }
        });
    }

    /// z ← z + (D′ + Lᵀ)⁻¹ (r − A z).
    fn backward(&mut self, matrix: &BlockMatrix, r: &[Vec3f], z: &mut Vec<Vec3f>) {
        let Self { extra, inverse, spare } = self;
        let old = &z[..];
        parallel::for_each_chunk(spare, DOMAIN, |first, new| {
            for k in (0..new.len()).rev() {
                let (columns, numbers, middle) = matrix.numbers(first + k);
                let mut done = Vec4::ZERO;
                for (place, &j) in columns.iter().enumerate().take(middle) {
                    done += times(&numbers[9 * place..], old[j as usize]);
                }
                for (place, &j) in columns.iter().enumerate().skip(middle + 1) {
                    let value = new.get(j as usize - first).unwrap_or_else(|| &old[j as usize]);
                    done += times(&numbers[9 * place..], *value);
                }
                let rest = r[first + k] + extra[first + k] * old[first + k] - Vec3f::from_vec4(done);
                new[k] = inverse[first + k] * rest;
            }
        });
        std::mem::swap(z, spare);
    }
}
