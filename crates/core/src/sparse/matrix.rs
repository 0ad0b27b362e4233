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

    /// Where rows begin, and their sorted columns.
    fn rows(self) -> (Vec<u32>, Vec<u32>) {
        let (mut start, mut column) = (vec![0], Vec::new());
        for mut row in self.rows {
            row.sort_unstable();
            column.extend_from_slice(&row);
            start.push(column.len() as u32);
        }
        (start, column)
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

/// A symmetric matrix of 3×3 blocks. Only the diagonal and what is above it is kept: half the memory to fill.
#[derive(Clone, Debug, Default)]
pub struct BlockMatrix {
    /// Row `i` has the columns `column[start[i]..start[i + 1]]`, sorted, in both halves.
    start: Vec<u32>,
    column: Vec<u32>,
    /// Which block each column has; those below the diagonal have a transposed one.
    home: Vec<u32>,
    /// Where the diagonal is among the columns of each row, from the start of all.
    middle: Vec<u32>,
    /// Where the diagonal block of each row is; the rest of the row follows.
    diagonal: Vec<u32>,
    block: Vec<Mat3>,
}

impl BlockMatrix {
    /// All zeros.
    pub fn new(pattern: Pattern) -> Self {
        let (start, column) = pattern.rows();
        let mut matrix = Self { start, column, ..Self::default() };
        let rows = matrix.row_count();
        matrix.home = vec![0; matrix.column.len()];
        // Rows come in order, so the transposed blocks of a row's come in order too.
        let mut next: Vec<u32> = matrix.start[..rows].to_vec();
        let mut count = 0;
        for i in 0..rows {
            for k in matrix.range(i).filter(|&k| matrix.column[k] as usize >= i) {
                let j = matrix.column[k] as usize;
                if i == j {
                    matrix.middle.push(k as u32);
                    matrix.diagonal.push(count);
                }
                matrix.home[next[j] as usize] = count;
                matrix.home[k] = count;
                next[j] += 1;
                count += 1;
            }
        }
        matrix.block = vec![Mat3::ZERO; count as usize];
        matrix
    }

    /// Rows, and columns.
    pub fn row_count(&self) -> usize {
        self.diagonal.len().max(self.start.len().saturating_sub(1))
    }

    #[inline]
    fn range(&self, i: usize) -> std::ops::Range<usize> {
        self.start[i] as usize..self.start[i + 1] as usize
    }

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
            self.block[self.home[k] as usize] = Mat3::ZERO;
        }
        self.block[self.diagonal[i] as usize] = Mat3::from_diagonal(Vec3::splat(mass));
    }

    /// Adds the blocks of one element.
    #[inline]
    pub fn add<const N: usize>(&mut self, nodes: &[usize; N], blocks: &[[Mat3; N]; N]) {
        for a in 0..N {
            self.block[self.diagonal[nodes[a]] as usize] += blocks[a][a];
            for b in a + 1..N {
                let (row, column) = if nodes[a] < nodes[b] { (a, b) } else { (b, a) };
                let at = self.find(nodes[row], nodes[column]);
                self.block[at] += blocks[row][column];
            }
        }
    }

    /// Where the block of a pair is, which must be in the pattern and above the diagonal.
    #[inline]
    fn find(&self, i: usize, j: usize) -> usize {
        let row = &self.column[self.middle[i] as usize..self.start[i + 1] as usize];
        // Rows are short: counting is faster than halving, which guesses wrong every time.
        self.diagonal[i] as usize + row.iter().map(|&column| usize::from(column < j as u32)).sum::<usize>()
    }

    /// Row `i` of A x.
    #[inline]
    pub fn row_times(&self, i: usize, x: &[Vec3]) -> Vec3 {
        let (begin, middle, end) = (self.start[i] as usize, self.middle[i] as usize, self.start[i + 1] as usize);
        let mut sum = Vec3::ZERO;
        for (&j, &home) in self.column[begin..middle].iter().zip(&self.home[begin..middle]) {
            sum += self.block[home as usize].transpose_mul_vec3(x[j as usize]);
        }
        let blocks = &self.block[self.diagonal[i] as usize..];
        for (&j, block) in self.column[middle..end].iter().zip(blocks) {
            sum += *block * x[j as usize];
        }
        sum
    }
}

/// A matrix in single precision, for preconditioners: both halves, row by row.
#[derive(Clone, Debug, Default)]
pub(super) struct RoundMatrix {
    start: Vec<u32>,
    column: Vec<u32>,
    diagonal: Vec<u32>,
    block: Vec<Mat3f>,
}

impl RoundMatrix {
    /// All zeros.
    pub fn new(pattern: Pattern) -> Self {
        let (start, column) = pattern.rows();
        let rows = start.len() - 1;
        let find = |i: usize| {
            let first = start[i] as usize;
            (first + column[first..].iter().position(|&j| j as usize == i).unwrap_or(0)) as u32
        };
        let diagonal = (0..rows).map(find).collect();
        Self { block: vec![Mat3f::ZERO; column.len()], start, column, diagonal }
    }

    /// The pattern of a matrix, all zeros.
    pub fn like(matrix: &BlockMatrix) -> Self {
        Self {
            start: matrix.start.clone(),
            column: matrix.column.clone(),
            diagonal: matrix.middle.clone(),
            block: vec![Mat3f::ZERO; matrix.column.len()],
        }
    }

    /// Rounds the blocks of a matrix of the same pattern.
    pub fn round(&mut self, matrix: &BlockMatrix) {
        for i in 0..self.row_count() {
            let (range, middle) = (self.range(i), self.diagonal[i] as usize);
            for (k, block) in range.clone().zip(&mut self.block[range]) {
                let from = matrix.block[matrix.home[k] as usize].as_mat3();
                *block = if k < middle { from.transpose() } else { from };
            }
        }
    }

    /// Rows, and columns.
    pub fn row_count(&self) -> usize {
        self.diagonal.len()
    }

    #[inline]
    fn range(&self, i: usize) -> std::ops::Range<usize> {
        self.start[i] as usize..self.start[i + 1] as usize
    }

    /// Columns and blocks of a row.
    #[inline]
    pub fn row(&self, i: usize) -> (&[u32], &[Mat3f]) {
        let range = self.range(i);
        (&self.column[range.clone()], &self.block[range])
    }

    /// The diagonal block of a row.
    #[inline]
    pub fn diagonal(&self, i: usize) -> &Mat3f {
        &self.block[self.diagonal[i] as usize]
    }

    /// Where the block of a pair is, which must be in the pattern.
    pub fn find(&self, i: usize, j: usize) -> usize {
        self.range(i).find(|&k| self.column[k] as usize == j).unwrap_or(self.diagonal[i] as usize)
    }

    /// Makes all blocks zero.
    pub fn clear(&mut self) {
        self.block.fill(Mat3f::ZERO);
    }

    /// Adds to the block at a place that [`find`](Self::find) gave.
    #[inline]
    pub fn add_at(&mut self, place: usize, block: Mat3f) {
        self.block[place] += block;
    }

    /// out = A x.
    pub fn multiply(&self, x: &[Vec3f], out: &mut [Vec3f]) {
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
        let mut matrix = BlockMatrix::new(pattern);
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
        let mut out = [Vec3::ZERO; 6];
        (0..6).for_each(|i| out[i] = matrix.row_times(i, &x));
        for i in 0..6 {
            let exact: Vec3 = (0..6).map(|j| dense[i][j] * x[j]).sum();
            assert!((out[i] - exact).length() < 1e-13);
        }
        assert_eq!(matrix.block.len(), 6 + 7);
        let mut round = RoundMatrix::like(&matrix);
        round.round(&matrix);
        let (single, mut answer): (Vec<_>, _) = (x.iter().map(|x| x.as_vec3()).collect(), vec![Vec3f::ZERO; 6]);
        round.multiply(&single, &mut answer);
        for i in 0..6 {
            assert!((answer[i].as_dvec3() - out[i]).length() < 1e-5);
            assert_eq!(
                *round.diagonal(i),
                round.row(i).1[round.row(i).0.iter().position(|&j| j as usize == i).unwrap()]
            );
        }
        matrix.hold(3, 2.0);
        assert_eq!(matrix.row_times(3, &x), x[3] * 2.0);
    }
}
