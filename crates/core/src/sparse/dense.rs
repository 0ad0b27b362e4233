//! A small symmetric system, by Cholesky's factors.

use super::BlockMatrix;
use crate::math::Vec3f;

/// Factors L of A = L Lᵀ, row by row.
#[derive(Default)]
pub struct Dense {
    size: usize,
    lower: Vec<f64>,
    y: Vec<f64>,
}

impl Dense {
    /// Factors a matrix of few rows.
    pub fn factor(&mut self, a: &BlockMatrix) {
        let n = 3 * a.row_count();
        self.size = n;
        self.lower.clear();
        self.lower.resize(n * n, 0.0);
        self.y.resize(n, 0.0);
        for i in 0..a.row_count() {
            let (columns, blocks) = a.row(i);
            for (&j, block) in columns.iter().zip(blocks) {
                for (r, c) in (0..3).flat_map(|r| [(r, 0), (r, 1), (r, 2)]) {
                    self.lower[(3 * i + r) * n + 3 * j as usize + c] = f64::from(block[3 * c + r]);
                }
            }
        }
        let largest = (0..n).map(|i| self.lower[i * n + i]).fold(0.0, f64::max);
        for i in 0..n {
            let (above, row) = self.lower.split_at_mut(i * n);
            let row = &mut row[..n];
            for j in 0..i {
                let other = &above[j * n..j * n + n];
                let sum: f64 = row[..j].iter().zip(&other[..j]).map(|(a, b)| a * b).sum();
                row[j] = (row[j] - sum) * other[j];
            }
            let pivot = row[i] - row[..i].iter().map(|a| a * a).sum::<f64>();
            // The diagonal is kept as its inverse; an unknown that nothing resists stays zero.
            row[i] = if pivot > 1e-7 * largest { 1.0 / pivot.sqrt() } else { 0.0 };
        }
    }

    /// Solves for one right-hand side.
    pub fn solve(&mut self, b: &[Vec3f], x: &mut [Vec3f]) {
        let (n, lower, y) = (self.size, &self.lower, &mut self.y);
        for i in 0..n {
            let row = &lower[i * n..i * n + n];
            let sum: f64 = row[..i].iter().zip(&*y).map(|(a, b)| a * b).sum();
            y[i] = (f64::from(b[i / 3][i % 3]) - sum) * row[i];
        }
        for i in (0..n).rev() {
            let row = &lower[i * n..i * n + n];
            let value = y[i] * row[i];
            y[..i].iter_mut().zip(row).for_each(|(y, a)| *y -= a * value);
            x[i / 3][i % 3] = value as f32;
        }
    }
}
