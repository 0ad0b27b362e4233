//! The matrix: rows of blocks.

use crate::math::{Mat3, Mat3f, Vec3, Vec3f};
use crate::parallel;

/// Which pairs of nodes have a block.
pub struct Pattern {
    /// For each node those it shares an element with, some of them more than once.
    rows: Vec<Vec<u32>>,
}

impl Pattern {
    /// Every node with itself.
    pub fn new(node_count: usize) -> Self {
        Self { rows: (0..node_count as u32).map(|n| vec![n]).collect() }
    }

    /// All pairs among the nodes of one element.
    pub fn add(&mut self, nodes: &[usize]) {
        for &i in nodes {
            let row = &mut self.rows[i];
            for &j in nodes {
                // Elements name neighbours again and again.
                if !row.contains(&(j as u32)) {
                    row.push(j as u32);
                }
            }
        }
    }

    /// A row's pairs with `columns`, which must come the other way round too.
    pub(super) fn add_row(&mut self, i: usize, columns: &[u32]) {
        let row = &mut self.rows[i];
        for j in columns {
            if !row.contains(j) {
                row.push(*j);
            }
        }
    }
}

/// A symmetric matrix of 3×3 blocks, in double precision, or in single for preconditioners.
#[derive(Clone, Debug)]
pub struct BlockMatrix<B = Mat3> {
    /// Row `i` has the blocks `start[i]..start[i + 1]`, sorted by column.
    start: Vec<u32>,
    column: Vec<u32>,
    block: Vec<B>,
    /// Where the diagonal block of each row is.
    diagonal: Vec<u32>,
    /// Where the transposed block of each block is.
    mirror: Vec<u32>,
}

impl<B> Default for BlockMatrix<B> {
    fn default() -> Self {
        Self { start: vec![0], column: Vec::new(), block: Vec::new(), diagonal: Vec::new(), mirror: Vec::new() }
    }
}

impl<B: Copy + Default> BlockMatrix<B> {
    /// Blocks without meaning yet.
    pub fn new(pattern: Pattern) -> Self {
        let mut matrix = Self::default();
        for mut row in pattern.rows {
            row.sort_unstable();
            row.dedup();
            matrix.column.extend_from_slice(&row);
            matrix.start.push(matrix.column.len() as u32);
        }
        let rows = matrix.row_count();
        matrix.block = vec![B::default(); matrix.column.len()];
        // Rows come in order, so the transposed blocks of a row's come in order too.
        let mut next: Vec<u32> = matrix.start[..rows].to_vec();
        matrix.mirror = vec![0; matrix.column.len()];
        for i in 0..rows {
            for k in matrix.range(i) {
                let j = matrix.column[k] as usize;
                matrix.mirror[k] = next[j];
                next[j] += 1;
                if i == j {
                    matrix.diagonal.push(k as u32);
                }
            }
        }
        matrix
    }

    /// Rows, and columns.
    pub fn row_count(&self) -> usize {
        self.start.len().saturating_sub(1)
    }

    /// Blocks, both halves.
    pub fn block_count(&self) -> usize {
        self.column.len()
    }

    #[inline]
    fn range(&self, i: usize) -> std::ops::Range<usize> {
        self.start[i] as usize..self.start[i + 1] as usize
    }

    /// Columns and blocks of a row.
    #[inline]
    pub fn row(&self, i: usize) -> (&[u32], &[B]) {
        let range = self.range(i);
        (&self.column[range.clone()], &self.block[range])
    }

    /// The diagonal block of a row.
    #[inline]
    pub fn diagonal(&self, i: usize) -> &B {
        &self.block[self.diagonal[i] as usize]
    }

    /// Where the block of a pair is, which must be in the pattern.
    #[inline]
    pub(super) fn find(&self, i: usize, j: usize) -> usize {
        let range = self.range(i);
        let (first, row) = (range.start, &self.column[range]);
        // Rows are short: counting is faster than halving, which guesses wrong every time.
        first + row.iter().map(|&column| usize::from(column < j as u32)).sum::<usize>()
    }
}

impl BlockMatrix {
    /// Makes all blocks zero but for `mass[i]` on the diagonal.
    pub fn reset(&mut self, mass: &[f64]) {
        self.block.fill(Mat3::ZERO);
        for (&k, &m) in self.diagonal.iter().zip(mass) {
            self.block[k as usize] = Mat3::from_diagonal(Vec3::splat(m));
        }
    }

    /// Keeps unknown `i` at zero whatever happens to others, if its right-hand side is zero: its row and column become
    /// zero but for `mass` on the diagonal.
    pub fn hold(&mut self, i: usize, mass: f64) {
        for k in self.range(i) {
            self.block[k] = Mat3::ZERO;
            self.block[self.mirror[k] as usize] = Mat3::ZERO;
        }
        self.block[self.diagonal[i] as usize] = Mat3::from_diagonal(Vec3::splat(mass));
    }

    /// Adds the blocks of one element, of which only the upper half is read.
    #[inline]
    pub fn add<const N: usize>(&mut self, nodes: &[usize; N], blocks: &[[Mat3; N]; N]) {
        for a in 0..N {
            self.block[self.diagonal[nodes[a]] as usize] += blocks[a][a];
            for b in a + 1..N {
                let at = self.find(nodes[a], nodes[b]);
                self.block[at] += blocks[a][b];
                self.block[self.mirror[at] as usize] += blocks[a][b].transpose();
            }
        }
    }

    /// out = A x.
    pub fn multiply(&self, x: &[Vec3], out: &mut [Vec3]) {
        parallel::for_each(out, |i, out| *out = self.row_times(i, x));
    }

    /// Row `i` of A x.
    #[inline]
    pub fn row_times(&self, i: usize, x: &[Vec3]) -> Vec3 {
        let (columns, blocks) = self.row(i);
        columns.iter().zip(blocks).map(|(&j, block)| *block * x[j as usize]).sum()
    }
}

impl BlockMatrix<Mat3f> {
    /// The pattern of another matrix, blocks without meaning yet.
    pub(super) fn like(other: &BlockMatrix) -> Self {
        Self {
            start: other.start.clone(),
            column: other.column.clone(),
            block: vec![Mat3f::ZERO; other.block.len()],
            diagonal: other.diagonal.clone(),
            mirror: other.mirror.clone(),
        }
    }

    /// Rounds the blocks of a matrix of the same pattern.
    pub(super) fn round(&mut self, other: &BlockMatrix) {
        parallel::for_each(&mut self.block, |k, block| *block = other.block[k].as_mat3());
    }

    /// Makes all blocks zero.
    pub(super) fn clear(&mut self) {
        self.block.fill(Mat3f::ZERO);
    }

    /// Adds to the block at a place that [`find`](Self::find) gave.
    #[inline]
    pub(super) fn add_at(&mut self, place: usize, block: Mat3f) {
        self.block[place] += block;
    }

    /// out = A x.
    pub(super) fn multiply(&self, x: &[Vec3f], out: &mut [Vec3f]) {
        parallel::for_each(out, |i, out| {
            let (columns, blocks) = self.row(i);
            let mut sum = Vec3f::ZERO;
            for (&j, block) in columns.iter().zip(blocks) {
                sum += *block * x[j as usize];
            }
            *out = sum;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::hash_unit;

    #[test]
    fn elements_add_up_to_a_symmetric_matrix() {
        let elements: [[usize; 3]; 3] = [[0, 3, 1], [4, 1, 3], [2, 4, 3]];
        let mut pattern = Pattern::new(6);
        elements.iter().for_each(|nodes| pattern.add(nodes));
        let mut matrix: BlockMatrix = BlockMatrix::new(pattern);
        matrix.reset(&[1.0; 6]);
        let mut dense = vec![vec![Mat3::ZERO; 6]; 6];
        (0..6).for_each(|i| dense[i][i] = Mat3::IDENTITY);
        for (e, nodes) in elements.iter().enumerate() {
            let mut blocks = [[Mat3::ZERO; 3]; 3];
            for (a, b) in (0..3).flat_map(|a| (a..3).map(move |b| (a, b))) {
                let made =
                    Mat3::from_cols_array(&std::array::from_fn(|k| hash_unit(e as u64, (9 * (3 * a + b) + k) as u64)));
                let made = if a == b { made + made.transpose() } else { made };
                (blocks[a][b], blocks[b][a]) = (made, made.transpose());
            }
            matrix.add(nodes, &blocks);
            for (a, b) in (0..3).flat_map(|a| (0..3).map(move |b| (a, b))) {
                dense[nodes[a]][nodes[b]] += blocks[a][b];
            }
        }
        let x: Vec<Vec3> = (0..6).map(|i| Vec3::new(i as f64, 1.0, -2.0 * i as f64)).collect();
        let mut out = vec![Vec3::ZERO; 6];
        matrix.multiply(&x, &mut out);
        for i in 0..6 {
            let exact: Vec3 = (0..6).map(|j| dense[i][j] * x[j]).sum();
            assert!((out[i] - exact).length() < 1e-13);
        }
        assert_eq!(matrix.block_count(), 6 + 2 * 7);
    }
}
