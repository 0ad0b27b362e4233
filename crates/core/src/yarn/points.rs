//! Vectors as three columns of numbers, so that loops over them become vector code.

use crate::math::Vec3;
use serde::{Deserialize, Serialize};

/// Rows of x, y and z.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Points(pub [Vec<f64>; 3]);

impl Points {
    /// `count` rows of zeros.
    pub fn zeros(count: usize) -> Self {
        Self([(); 3].map(|()| vec![0.0; count]))
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.0[0].len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0[0].is_empty()
    }

    /// A row.
    #[inline(always)]
    pub fn get(&self, i: usize) -> Vec3 {
        Vec3::new(self.0[0][i], self.0[1][i], self.0[2][i])
    }

    /// Writes a row.
    #[inline(always)]
    pub fn set(&mut self, i: usize, p: Vec3) {
        (self.0[0][i], self.0[1][i], self.0[2][i]) = (p.x, p.y, p.z);
    }

    /// Adds to a row.
    #[inline(always)]
    pub fn add(&mut self, i: usize, p: Vec3) {
        self.0[0][i] += p.x;
        self.0[1][i] += p.y;
        self.0[2][i] += p.z;
    }

    /// The columns of rows `0..half` and of the rest, each divided after every `size` rows.
    pub(super) fn halves(&mut self, half: usize, size: usize) -> impl Iterator<Item = [[&mut [f64]; 3]; 2]> {
        let [x, y, z] = self.0.each_mut().map(|column| {
            let (low, high) = column.split_at_mut(half);
            low.chunks_mut(size).zip(high.chunks_mut(size))
        });
        x.zip(y).zip(z).map(|(((x0, x1), (y0, y1)), (z0, z1))| [[x0, y0, z0], [x1, y1, z1]])
    }
}
