//! The matrix: rows of blocks.

use crate::lists::Lists;
use crate::math::{Vec3, Vec3f};
use crate::parallel;
use glam::Vec4;
use std::ops::Range;

/// Which pairs of nodes have a block: for every row its columns in order, the row itself among them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pattern {
    columns: Lists,
    /// Where each row has itself, counted from its beginning.
    middle: Vec<u32>,
}

impl Pattern {
    /// Rows, and columns.
    pub fn row_count(&self) -> usize {
        self.middle.len()
    }

    /// Blocks of all rows.
    pub fn block_count(&self) -> usize {
        self.columns.item_count()
    }

    /// Where the blocks of a row are among all.
    #[inline]
    pub fn range(&self, i: usize) -> Range<usize> {
        self.columns.range(i)
    }

    /// Columns of a row.
    #[inline]
    pub fn row(&self, i: usize) -> &[u32] {
        self.columns.row(i)
    }

    /// Where row `i` has column `j`, counted from its beginning; zero if it doesn't.
    #[inline]
    pub fn place(&self, i: usize, j: u32) -> u32 {
        // Rows are short: counting is faster than halving, which guesses wrong every time.
        self.row(i).iter().map(|&column| u32::from(column < j)).sum()
    }

    /// Follows a change of `rows`, see [`Lists::follow`]. `coupled` appends the columns of a row, in any order and as often as
    /// it likes.
    pub fn follow(&mut self, count: usize, rows: &[u32], mut coupled: impl FnMut(usize, &mut Vec<u32>)) {
        let Self { columns, middle } = self;
        middle.resize(count, 0);
        let (mut found, mut kept) = (Vec::new(), Vec::new());
        columns.follow(count, rows, |i, _, columns| {
            found.clear();
            coupled(i, &mut found);
            // Elements name neighbours again and again; few are different.
            kept.clear();
            kept.push(i as u32);
            for &j in &found {
                if !kept.contains(&j) {
                    kept.push(j);
                }
            }
            kept.sort_unstable();
            middle[i] = kept.iter().map(|&j| u32::from(j < i as u32)).sum();
            columns.extend_from_slice(&kept);
        });
    }
}

/// A 3×3 block, column by column.
pub type Block = [f32; 9];

/// A symmetric matrix of 3×3 blocks in single precision, both halves.
///
/// Stiffness answers to differences only: a translation costs nothing, so the blocks of a row of M + K add up to M. Products
/// are therefore M x + Σ A_ij (x_j − x_i), which needs no diagonal and has no error for common motion; rounded blocks could
/// otherwise weigh more than the mass does. What [ties](Self::tie) unknowns to the world is kept apart. Rows of [held](Self::hold) unknowns are zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockMatrix {
    /// Which pairs have a block.
    pub pattern: Pattern,
    /// In the order of the pattern, and one more at the end, so that columns of blocks can be read four numbers at a time.
    block: Vec<Block>,
    /// What elements added to the right of the diagonal, in the same places.
    half: Vec<Block>,
    mass: Vec<f64>,
    /// What ties each unknown to the world; none if empty.
    tie: Vec<Block>,
    /// Blocks that ties have changed, with what they were.
    untied: Vec<(u32, Block)>,
}

/// Some rows of a matrix, to be filled.
pub struct Rows<'a> {
    first: usize,
    /// Starts of these rows and of the next one.
    start: &'a [u32],
    block: &'a mut [Block],
}

impl Rows<'_> {
    /// Numbers of these rows.
    #[inline]
    pub fn range(&self) -> Range<usize> {
        self.first..self.first + self.start.len() - 1
    }

    /// The blocks of a row, which must be one of these.
    #[inline]
    pub fn row(&mut self, i: usize) -> &mut [Block] {
        let (k, origin) = (i - self.first, self.start[0]);
        &mut self.block[(self.start[k] - origin) as usize..(self.start[k + 1] - origin) as usize]
    }
}

/// A block times a vector. The block comes with the number that follows it.
#[inline(always)]
pub(super) fn times(block: &[f32], x: Vec3f) -> Vec4 {
    let block = &block[..10];
    let (a, b, c) = (Vec4::from_slice(&block[..4]), Vec4::from_slice(&block[3..7]), Vec4::from_slice(&block[6..]));
    a * Vec4::splat(x.x) + b * Vec4::splat(x.y) + c * Vec4::splat(x.z)
}

/// The same in double precision.
#[inline(always)]
fn wide(block: &Block, x: Vec3) -> Vec3 {
    let b = block.map(f64::from);
    Vec3::new(b[0], b[1], b[2]) * x.x + Vec3::new(b[3], b[4], b[5]) * x.y + Vec3::new(b[6], b[7], b[8]) * x.z
}

/// Where the numbers of a block are in the transposed one.
pub const TRANSPOSED: [usize; 9] = [0, 3, 6, 1, 4, 7, 2, 5, 8];

/// Calls `work` for parts of all rows, on several threads.
fn in_parts(pattern: &Pattern, block: &mut Vec<Block>, work: impl Fn(&mut Rows) + Sync) {
    // The one at the end is new each time, or there would be a trace of history.
    block.truncate(pattern.block_count());
    block.resize(pattern.block_count() + 1, [0.0; 9]);
    let count = pattern.row_count();
    let part_count = parallel::part_count(count);
    if part_count == 1 {
        return work(&mut Rows { first: 0, start: pattern.columns.starts(), block });
    }
    let (mut parts, mut left, mut first) = (Vec::with_capacity(part_count), &mut block[..], 0);
    for part in 1..=part_count {
        let next = count * part / part_count;
        let start = &pattern.columns.starts()[first..next + 1];
        let (block, rest) = left.split_at_mut((start[next - first] - start[0]) as usize);
        parts.push(Rows { first, start, block });
        (left, first) = (rest, next);
    }
    parallel::for_each_part(parts, |mut rows| work(&mut rows));
}

impl BlockMatrix {
    /// All zeros.
    pub fn new(pattern: Pattern) -> Self {
        Self { block: vec![[0.0; 9]; pattern.block_count() + 1], pattern, ..Self::default() }
    }

    /// Rows, and columns.
    pub fn row_count(&self) -> usize {
        self.pattern.row_count()
    }

    /// Fills the matrix anew: `work` gets rows of zeros and adds to them. It is called for parts of the matrix on several
    /// threads, so what it adds to a row must not depend on the part.
    pub fn fill(&mut self, work: impl Fn(&mut Rows) + Sync) {
        self.mass.clear();
        self.tie.clear();
        self.untied.clear();
        in_parts(&self.pattern, &mut self.block, |rows| {
            rows.block.fill([0.0; 9]);
            work(rows);
        });
    }

    /// Fills the matrix anew with M + K: `work` adds to rows of zeros, as for [`fill`](Self::fill), but only to what is to the right of the
    /// diagonal. The left is the same mirrored, and the diagonal what makes the blocks of a row add up to its `mass`.
    pub fn fill_half(&mut self, mass: &[f64], work: impl Fn(&mut Rows) + Sync) {
        let Self { pattern, block, half, mass: own, tie, untied } = self;
        tie.clear();
        untied.clear();
        own.clear();
        own.extend_from_slice(mass);
        in_parts(pattern, half, |rows| {
            rows.block.fill([0.0; 9]);
            work(rows);
        });
        let half = &*half;
        in_parts(pattern, block, |rows| {
            for i in rows.range() {
                let (columns, middle) = (pattern.row(i), pattern.middle[i] as usize);
                let row = rows.row(i);
                row.copy_from_slice(&half[pattern.range(i)]);
                for (block, &j) in row[..middle].iter_mut().zip(columns) {
                    let j = j as usize;
                    let mirrored = &half[pattern.range(j).start + pattern.place(j, i as u32) as usize];
                    (0..9).for_each(|k| block[k] = mirrored[TRANSPOSED[k]]);
                }
                let mut sum = [0.0; 9];
                for block in &row[..] {
                    (0..9).for_each(|k| sum[k] += block[k]);
                }
                sum = sum.map(|s: f32| -s);
                [0, 4, 8].into_iter().for_each(|k| sum[k] += mass[i] as f32);
                row[middle] = sum;
            }
        });
    }

    /// Ties some unknowns, each two of which have a block, to the world by one spring: it resists the motion Σ w x by `spring` (column by column, symmetric).
    pub fn tie(&mut self, unknowns: &[(u32, f64)], spring: &[f64; 9]) {
        self.tie.resize(self.pattern.row_count(), [0.0; 9]);
        let all: f64 = unknowns.iter().map(|(_, w)| w).sum();
        for &(i, w) in unknowns {
            for k in 0..9 {
                self.tie[i as usize][k] += (spring[k] * (w * all)) as f32;
            }
            let Range { start, .. } = self.pattern.range(i as usize);
            for &(j, other) in unknowns {
                let at = start + self.pattern.place(i as usize, j) as usize;
                self.untied.push((at as u32, self.block[at]));
                for k in 0..9 {
                    self.block[at][k] += (spring[k] * (w * other)) as f32;
                }
            }
        }
    }

    /// Unties all.
    pub fn untie(&mut self) {
        while let Some((at, block)) = self.untied.pop() {
            self.block[at as usize] = block;
        }
        self.tie.clear();
    }

    /// Adds this share of the largest number on its diagonal block to the mass of every row.
    pub fn firm(&mut self, share: f64) {
        for (i, mass) in self.mass.iter_mut().enumerate() {
            let diagonal = &mut self.block[self.pattern.range(i).start + self.pattern.middle[i] as usize];
            let more = share * f64::from([0, 4, 8].map(|k| diagonal[k]).into_iter().fold(0.0, f32::max));
            *mass += more;
            [0, 4, 8].into_iter().for_each(|k| diagonal[k] += more as f32);
        }
    }

    /// Keeps unknown `i` where it is: makes its row zero. Preconditioners and solutions are then zero there, so its column
    /// doesn't matter.
    pub fn hold(&mut self, i: usize) {
        self.block[self.pattern.range(i)].fill([0.0; 9]);
        self.mass[i] = 0.0;
        if let Some(tie) = self.tie.get_mut(i) {
            *tie = [0.0; 9];
        }
    }

    /// Columns and blocks of a row.
    #[inline]
    pub fn row(&self, i: usize) -> (&[u32], &[Block]) {
        (self.pattern.row(i), &self.block[self.pattern.range(i)])
    }

    /// Columns of a row, all numbers of its blocks and one more, and the place of the diagonal.
    #[inline]
    pub(super) fn numbers(&self, i: usize) -> (&[u32], &[f32], usize) {
        let range = self.pattern.range(i);
        let numbers = &self.block.as_flattened()[9 * range.start..9 * range.end + 1];
        (self.pattern.row(i), numbers, self.pattern.middle[i] as usize)
    }

    /// The diagonal block of a row.
    #[inline]
    pub fn diagonal(&self, i: usize) -> &Block {
        &self.block[self.pattern.range(i).start + self.pattern.middle[i] as usize]
    }

    /// Row `i` of A x, in double precision.
    #[inline]
    pub fn row_times(&self, i: usize, x: &[Vec3]) -> Vec3 {
        let (columns, blocks) = self.row(i);
        let mut sum = x[i] * self.mass[i];
        for (&j, block) in columns.iter().zip(blocks) {
            sum += wide(block, x[j as usize] - x[i]);
        }
        self.tie.get(i).map_or(sum, |tie| sum + wide(tie, x[i]))
    }

    /// Row `i` of A x, in single precision.
    #[inline]
    pub(super) fn row_times_single(&self, i: usize, x: &[Vec3f]) -> Vec3f {
        let (columns, numbers, _) = self.numbers(i);
        let mut sum = Vec4::ZERO;
        for (k, &j) in columns.iter().enumerate() {
            sum += times(&numbers[9 * k..], x[j as usize] - x[i]);
        }
        let sum = x[i] * self.mass[i] as f32 + Vec3f::from_vec4(sum);
        self.tie.get(i).map_or(sum, |tie| {
            let [a, b, c] = [0, 3, 6].map(|k| Vec3f::from_slice(&tie[k..k + 3]));
            sum + a * x[i].x + b * x[i].y + c * x[i].z
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Mat3, hash_unit};

    const ELEMENTS: [[usize; 3]; 3] = [[0, 3, 1], [4, 1, 3], [2, 4, 3]];

    fn coupled(i: usize, columns: &mut Vec<u32>) {
        for nodes in ELEMENTS.iter().filter(|nodes| nodes.contains(&i)) {
            columns.extend(nodes.map(|n| n as u32));
        }
    }

    /// Springs of three directions between all pairs of all elements.
    fn filled() -> (BlockMatrix, Vec<Vec<Mat3>>) {
        let mut matrix = BlockMatrix::default();
        matrix.pattern.follow(6, &[0, 1, 2, 3, 4, 5], coupled);
        let mut dense = vec![vec![Mat3::ZERO; 6]; 6];
        for (e, nodes) in ELEMENTS.iter().enumerate() {
            for (a, b) in [(0, 1), (0, 2), (1, 2)] {
                let made = Mat3::from_cols_array(&std::array::from_fn(|k| {
                    f64::from(hash_unit(e as u64, (9 * (3 * a + b) + k) as u64) as f32)
                }));
                for (i, j, made) in [(nodes[a], nodes[b], made), (nodes[b], nodes[a], made.transpose())] {
                    dense[i][j] -= made;
                    dense[i][i] += made;
                }
            }
        }
        let pattern = matrix.pattern.clone();
        matrix.fill_half(&[2.0; 6], |rows| {
            for i in rows.range() {
                for (&j, block) in pattern.row(i).iter().zip(rows.row(i)).filter(|(j, _)| **j > i as u32) {
                    let made = dense[i][j as usize].to_cols_array();
                    (0..9).for_each(|k| block[k] += made[k] as f32);
                }
            }
        });
        (0..6).for_each(|i| dense[i][i] += Mat3::IDENTITY * 2.0);
        (matrix, dense)
    }

    #[test]
    fn products_are_those_of_the_dense_matrix() {
        let (mut matrix, dense) = filled();
        assert_eq!(matrix.pattern.block_count(), 6 + 2 * 7);
        let x: Vec<Vec3> = (0..6).map(|i| Vec3::new(i as f64, 1.0, -2.0 * i as f64)).collect();
        let single: Vec<Vec3f> = x.iter().map(|x| x.as_vec3a()).collect();
        for i in 0..6 {
            let exact: Vec3 = (0..6).map(|j| dense[i][j] * x[j]).sum();
            assert!((matrix.row_times(i, &x) - exact).length() < 1e-5);
            assert!((matrix.row_times_single(i, &single).as_dvec3() - exact).length() < 1e-5);
            let diagonal = Mat3::from_cols_array(&matrix.diagonal(i).map(f64::from));
            assert!((diagonal - dense[i][i]).to_cols_array().iter().all(|d| d.abs() < 1e-6));
        }
        // What ties nodes to the world is in their products and their diagonal blocks, and in no other.
        let loose = matrix.clone();
        let spring = [3.0, 0.5, 0.0, 0.5, 2.0, 0.0, 0.0, 0.0, 1.0];
        let tied = [(3, 0.25), (4, 0.75)];
        matrix.tie(&tied, &spring);
        let felt = Mat3::from_cols_array(&spring) * (x[3] * 0.25 + x[4] * 0.75);
        for i in 0..6 {
            let w = tied.iter().find(|(n, _)| *n as usize == i).map_or(0.0, |(_, w)| *w);
            let exact = loose.row_times(i, &x) + felt * w;
            assert!((matrix.row_times(i, &x) - exact).length() < 1e-5);
            assert!((matrix.row_times_single(i, &single).as_dvec3() - exact).length() < 1e-5);
            assert!((matrix.diagonal(i)[1] - loose.diagonal(i)[1] - (0.5 * w * w) as f32).abs() < 1e-6);
        }
        matrix.untie();
        assert!(matrix == loose);
        // What is firmer weighs more, and couples to others as before.
        matrix.firm(0.5);
        for i in 0..6 {
            let more = 0.5 * f64::from([0, 4, 8].map(|k| loose.diagonal(i)[k]).into_iter().fold(0.0, f32::max));
            assert!((matrix.row_times(i, &x) - loose.row_times(i, &x) - x[i] * more).length() < 1e-5);
            assert!((f64::from(matrix.diagonal(i)[0] - loose.diagonal(i)[0]) - more).abs() < 1e-5);
        }
        matrix.hold(2);
        matrix.hold(3);
        assert_eq!([matrix.row_times(2, &x), matrix.row_times(3, &x)], [Vec3::ZERO; 2]);
    }

    #[test]
    fn common_motion_feels_the_mass_alone() {
        let (matrix, _) = filled();
        for i in 0..6 {
            assert_eq!(matrix.row_times(i, &[Vec3::splat(0.3); 6]), Vec3::splat(0.6));
            assert_eq!(matrix.row_times_single(i, &[Vec3f::splat(0.3); 6]), Vec3f::splat(0.6));
        }
    }

    #[test]
    fn a_pattern_that_follows_is_one_made_anew() {
        let mut whole = Pattern::default();
        whole.follow(6, &[0, 1, 2, 3, 4, 5], coupled);
        let mut grown = Pattern::default();
        // As if the last element weren't there yet, nor nodes 4 and 5.
        grown.follow(4, &[0, 1, 2, 3], |i, columns| {
            if [0, 1, 3].contains(&i) {
                columns.extend([0, 1, 3]);
            }
        });
        assert_ne!(whole, grown);
        grown.follow(6, &[1, 2, 3, 4, 5], coupled);
        assert_eq!(whole, grown);
    }
}
