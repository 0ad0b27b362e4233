//! From fine to coarse: a grid in material space, three times as wide, with bilinear weights.
//!
//! A_c = Pᵀ A P (Galerkin), where row i of P has the weights of point i in the four corners of its cell. Held points have no
//! weights: corrections from coarser grids don't move them. Grid points that no weight reaches are left out; those that reach
//! several parts of cloth which aren't connected within their reach have an unknown for each part.

use super::{Pattern, RoundMatrix};
use crate::math::{Mat3f, Vec2, Vec3f};

/// How much wider a grid is than the points below it.
const COARSENING: f64 = 3.0;

/// One step from fine to coarse.
pub struct Transfer {
    /// Weights of every finer point; unused ones are zero.
    weights: Vec<[(u32, f32); 4]>,
    /// Coarse columns that row `i` of A P has: `columns[start[i]..start[i + 1]]`, sorted.
    start: Vec<u32>,
    /// For every finer block the places among those columns of its column's four weights.
    slots: Vec<[u8; 4]>,
    /// For every finer row, four times the places in the coarse matrix of its columns.
    places: Vec<u32>,
}

/// More cells than any sheet has: material coordinates far apart, with nothing between.
const MOST_CELLS: f64 = 1e8;

/// Numbers the unknowns of a grid: one for each connected part of what a grid point reaches, so that the two sides of a slit
/// don't share one. Replaces grid points in `weights` by numbers, and returns the place of each.
fn number(
    matrix: &RoundMatrix,
    weights: &mut [[(u32, f32); 4]],
    grid_points: usize,
    place: impl Fn(usize) -> Vec2,
) -> Vec<Vec2> {
    // Who is reached by which grid point, in order: a counting sort.
    let reached = |weights: &[[(u32, f32); 4]], i: usize| weights[i].into_iter().enumerate().filter(|(_, w)| w.1 > 0.0);
    let mut start = vec![0; grid_points + 1];
    for i in 0..weights.len() {
        reached(weights, i).for_each(|(_, w)| start[w.0 as usize + 1] += 1);
    }
    for k in 0..grid_points {
        start[k + 1] += start[k];
    }
    let mut next = start.clone();
    let mut members = vec![(0, 0); start[grid_points]];
    for i in 0..weights.len() {
        for (slot, w) in reached(weights, i) {
            members[next[w.0 as usize]] = (i, slot);
            next[w.0 as usize] += 1;
        }
    }
    let (mut points, mut waiting) = (Vec::new(), Vec::new());
    // Of each point the grid point that was last seen to reach it, and its slot there until it is numbered.
    let mut open: Vec<(usize, Option<usize>)> = vec![(usize::MAX, None); weights.len()];
    for k in 0..grid_points {
        let members = &members[start[k]..start[k + 1]];
        members.iter().for_each(|&(i, slot)| open[i] = (k, Some(slot)));
        for &(first, _) in members {
            if open[first].1.is_none() {
                continue;
            }
            waiting.push(first);
            while let Some(i) = waiting.pop() {
                if let (true, Some(slot)) = (open[i].0 == k, open[i].1.take()) {
                    weights[i][slot].0 = points.len() as u32;
                    waiting.extend(matrix.row(i).0.iter().map(|&j| j as usize).filter(|&j| open[j].0 == k));
                }
            }
            points.push(place(k));
        }
    }
    points
}

impl Transfer {
    /// The grid over points `uv`, `spacing` apart, that `matrix` couples; `None` if it would be no smaller. Also the places
    /// of its points and its matrix, yet without numbers.
    pub fn new(
        matrix: &RoundMatrix,
        uv: &[Vec2],
        free: impl Fn(usize) -> bool,
        spacing: f64,
    ) -> Option<(Self, Vec<Vec2>, RoundMatrix)> {
        let (low, high) = uv.iter().fold((Vec2::MAX, Vec2::MIN), |(low, high), &p| (low.min(p), high.max(p)));
        let cell = COARSENING * spacing;
        // Cells that fit the sheet exactly, so that its borders lie on grid lines.
        let cells = ((high - low) / cell).round().max(Vec2::ONE);
        let count = cells.x * cells.y;
        if count.is_nan() || count > MOST_CELLS {
            return None;
        }
        let width = ((high - low) / cells).max(Vec2::splat(f64::MIN_POSITIVE));
        let across = cells.x as usize + 1;
        let mut weights = Vec::with_capacity(uv.len());
        for (i, &p) in uv.iter().enumerate() {
            let at = (p - low) / width;
            let corner = at.floor().min(cells - Vec2::ONE).max(Vec2::ZERO);
            let (t, first) = (at - corner, corner.y as usize * across + corner.x as usize);
            let mut four = [(0, 0.0); 4];
            if free(i) {
                let (s, u) = (t.x.clamp(0.0, 1.0), t.y.clamp(0.0, 1.0));
                let all =
                    [(0, (1.0 - s) * (1.0 - u)), (1, s * (1.0 - u)), (across, (1.0 - s) * u), (across + 1, s * u)];
                for (four, (offset, weight)) in four.iter_mut().zip(all) {
                    // Weights that are rounding errors would make unknowns of their own.
                    if weight > 1e-9 {
                        *four = ((first + offset) as u32, weight as f32);
                    }
                }
            }
            weights.push(four);
        }
        let places = |k: usize| low + width * Vec2::new((k % across) as f64, (k / across) as f64);
        let points = number(matrix, &mut weights, across * (cells.y as usize + 1), places);
        if points.is_empty() || 2 * points.len() > uv.len() {
            return None;
        }
        let (transfer, coarse) =
            Self { weights, start: vec![0], slots: Vec::new(), places: Vec::new() }.link(matrix, points.len());
        Some((transfer, points, coarse))
    }

    /// Finds the pattern of the coarse matrix, and where everything goes.
    fn link(mut self, matrix: &RoundMatrix, count: usize) -> (Self, RoundMatrix) {
        let mut pattern = Pattern::new(count);
        let mut columns: Vec<u32> = Vec::new();
        let reached = |i: usize| self.weights[i].iter().filter(|w| w.1 > 0.0).map(|w| w.0);
        for i in 0..matrix.row_count() {
            let first = columns.len();
            columns.extend(matrix.row(i).0.iter().flat_map(|&j| reached(j as usize)));
            columns[first..].sort_unstable();
            let mut kept = first;
            for k in first..columns.len() {
                if k == first || columns[k] != columns[kept - 1] {
                    columns[kept] = columns[k];
                    kept += 1;
                }
            }
            columns.truncate(kept);
            let row = &columns[first..];
            assert!(row.len() < 256, "a node that pulls at more than 256 grid points");
            for &j in matrix.row(i).0 {
                let place = |w: (u32, f32)| row.binary_search(&w.0).unwrap_or(0) as u8;
                self.slots.push(self.weights[j as usize].map(place));
            }
            reached(i).for_each(|a| pattern.add_row(a as usize, row));
            self.start.push(columns.len() as u32);
        }
        let coarse = RoundMatrix::new(pattern);
        for i in 0..matrix.row_count() {
            let row = &columns[self.start[i] as usize..self.start[i + 1] as usize];
            for (a, w) in self.weights[i] {
                self.places
                    .extend(row.iter().map(|&b| if w > 0.0 { coarse.find(a as usize, b as usize) as u32 } else { 0 }));
            }
        }
        (self, coarse)
    }

    /// coarse = Pᵀ fine P.
    pub fn project(&self, fine: &RoundMatrix, coarse: &mut RoundMatrix) {
        coarse.clear();
        let mut sums = [Mat3f::ZERO; 256];
        let mut slots = self.slots.iter();
        for i in 0..fine.row_count() {
            let (first, count) = (self.start[i] as usize, (self.start[i + 1] - self.start[i]) as usize);
            let (columns, blocks) = fine.row(i);
            let row_weights = &self.weights[i];
            if row_weights.iter().all(|w| w.1 == 0.0) {
                slots.by_ref().take(columns.len()).for_each(drop);
                continue;
            }
            let sums = &mut sums[..count];
            sums.fill(Mat3f::ZERO);
            for ((&j, block), slot) in columns.iter().zip(blocks).zip(slots.by_ref()) {
                for (&(_, weight), &slot) in self.weights[j as usize].iter().zip(slot) {
                    if weight > 0.0 {
                        sums[slot as usize] += *block * weight;
                    }
                }
            }
            for (k, &(_, weight)) in row_weights.iter().enumerate().filter(|(_, w)| w.1 > 0.0) {
                let places = &self.places[4 * first + k * count..4 * first + (k + 1) * count];
                for (&place, sum) in places.iter().zip(&*sums) {
                    coarse.add_at(place as usize, *sum * weight);
                }
            }
        }
    }

    /// coarse = Pᵀ fine.
    pub fn restrict(&self, fine: &[Vec3f], coarse: &mut [Vec3f]) {
        coarse.fill(Vec3f::ZERO);
        for (weights, value) in self.weights.iter().zip(fine) {
            for &(a, weight) in weights {
                coarse[a as usize] += *value * weight;
            }
        }
    }

    /// fine += P coarse.
    pub fn add_prolonged(&self, coarse: &[Vec3f], fine: &mut [Vec3f]) {
        crate::parallel::for_each(fine, |i, value| {
            for &(a, weight) in &self.weights[i] {
                *value += coarse[a as usize] * weight;
            }
        });
    }
}
