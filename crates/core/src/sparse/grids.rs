//! From fine to coarse: a grid in material space, three times as wide, with bilinear weights.
//!
//! A_c = Pᵀ A P (Galerkin), where row i of P has the weights of point i in the four corners of its cell. Held points have no
//! weights: corrections from coarser grids don't move them. Grid points that no weight reaches are left out; those that reach
//! several parts of cloth which aren't connected within their reach have an unknown for each part.

use super::{Block, BlockMatrix, Pattern};
use crate::lists::Lists;
use crate::math::{Vec2, Vec3f};
use crate::parallel;
use smallvec::SmallVec;

/// How much wider a grid is than the points below it.
const COARSENING: f64 = 3.0;

/// Weights of one finer point; unused ones are zero.
type Weights = [(u32, f32); 4];

/// One step from fine to coarse.
pub struct Transfer {
    /// Weights of every finer point.
    weights: Vec<Weights>,
    /// The same by coarse point: finer points in order, times four, plus which of their weights it is.
    members: Lists,
    /// Row `i` of A P has `start[i + 1] - start[i]` blocks.
    start: Vec<u32>,
    /// For every finer block the places in that row of its column's four weights.
    slots: Vec<[u16; 4]>,
    /// For every finer row and each of its four weights, the places of that row's blocks in the row of the coarse matrix.
    places: Vec<u16>,
}

/// More cells than any sheet has: material coordinates far apart, with nothing between.
const MOST_CELLS: f64 = 1e8;

/// Numbers the unknowns of a grid: one for each connected part of what a grid point reaches, so that the two sides of a slit
/// don't share one. Replaces grid points in `weights` by numbers, and returns the place of each.
fn number(pattern: &Pattern, weights: &mut [Weights], grid_points: usize, place: impl Fn(usize) -> Vec2) -> Vec<Vec2> {
    let members = by_coarse(weights, grid_points);
    let (mut points, mut waiting) = (Vec::new(), Vec::new());
    // Of each point the grid point that was last seen to reach it, and its slot there until it is numbered.
    let mut open: Vec<(usize, Option<usize>)> = vec![(usize::MAX, None); weights.len()];
    for k in 0..grid_points {
        let members = members.row(k).iter().map(|&member| (member as usize / 4, member as usize % 4));
        members.clone().for_each(|(i, slot)| open[i] = (k, Some(slot)));
        for (first, _) in members {
            if open[first].1.is_none() {
                continue;
            }
            waiting.push(first);
            while let Some(i) = waiting.pop() {
                if let (true, Some(slot)) = (open[i].0 == k, open[i].1.take()) {
                    weights[i][slot].0 = points.len() as u32;
                    waiting.extend(pattern.row(i).iter().map(|&j| j as usize).filter(|&j| open[j].0 == k));
                }
            }
            points.push(place(k));
        }
    }
    points
}

/// The members of every coarse point.
fn by_coarse(weights: &[Weights], count: usize) -> Lists {
    Lists::collect(count, |put| {
        for (i, weights) in weights.iter().enumerate() {
            for (which, &(a, _)) in weights.iter().enumerate().filter(|(_, w)| w.1 > 0.0) {
                put(a as usize, (4 * i + which) as u32);
            }
        }
    })
}

impl Transfer {
    /// The grid over points `uv`, `spacing` apart, that a matrix of this pattern couples; `None` if it would be no smaller.
    /// Also the places of its points and the pattern of its matrix.
    pub fn new(
        pattern: &Pattern,
        uv: &[Vec2],
        free: impl Fn(usize) -> bool,
        spacing: f64,
    ) -> Option<(Self, Vec<Vec2>, Pattern)> {
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
        let points = number(pattern, &mut weights, across * (cells.y as usize + 1), places);
        if points.is_empty() || 2 * points.len() > uv.len() {
            return None;
        }
        let (transfer, coarse) = Self::link(weights, pattern, points.len())?;
        Some((transfer, points, coarse))
    }

    /// Finds the pattern of the coarse matrix, and where everything goes. `None` if rows are too long for it.
    fn link(weights: Vec<Weights>, pattern: &Pattern, count: usize) -> Option<(Self, Pattern)> {
        let members = by_coarse(&weights, count);
        // Of each coarse point the row that last had it, and where.
        let mut seen: Vec<(u32, u16)> = vec![(u32::MAX, 0); count];
        let (mut start, mut columns, mut slots) = (vec![0], Vec::new(), Vec::with_capacity(pattern.block_count()));
        for i in 0..weights.len() {
            let begin = columns.len();
            for &j in pattern.row(i) {
                let mut slot = [0; 4];
                for (slot, &(b, weight)) in slot.iter_mut().zip(&weights[j as usize]) {
                    if weight > 0.0 {
                        let seen = &mut seen[b as usize];
                        if seen.0 != i as u32 {
                            *seen = (i as u32, u16::try_from(columns.len() - begin).ok()?);
                            columns.push(b);
                        }
                        *slot = seen.1;
                    }
                }
                slots.push(slot);
            }
            start.push(columns.len() as u32);
        }
        let row = |i: usize| start[i] as usize..start[i + 1] as usize;
        seen.fill((u32::MAX, 0));
        let mut coarse = Pattern::default();
        let all: Vec<u32> = (0..count as u32).collect();
        coarse.follow(count, &all, |a, found| {
            for member in members.row(a) {
                for &b in &columns[row(*member as usize / 4)] {
                    if seen[b as usize].0 != a as u32 {
                        seen[b as usize].0 = a as u32;
                        found.push(b);
                    }
                }
            }
        });
        let mut places = vec![0; 4 * columns.len()];
        for a in 0..count {
            for (place, &b) in coarse.row(a).iter().enumerate() {
                seen[b as usize].1 = u16::try_from(place).ok()?;
            }
            for member in members.row(a) {
                let row = row(*member as usize / 4);
                let begin = 4 * row.start + (*member as usize % 4) * row.len();
                for (place, &b) in places[begin..begin + row.len()].iter_mut().zip(&columns[row]) {
                    *place = seen[b as usize].1;
                }
            }
        }
        Some((Self { weights, members, start, slots, places }, coarse))
    }

    /// coarse = Pᵀ fine P.
    pub fn project(&self, fine: &BlockMatrix, coarse: &mut BlockMatrix) {
        let longest = self.start.windows(2).map(|s| s[1] - s[0]).max().unwrap_or(0);
        coarse.fill(|rows| {
            let range = rows.range();
            let mine = |&(a, weight): &(u32, f32)| weight > 0.0 && range.contains(&(a as usize));
            let mut sums: SmallVec<[Block; 32]> = SmallVec::from_elem([0.0; 9], longest as usize);
            // Finer rows come in order whatever the part, so parts change no bit.
            for (i, weights) in self.weights.iter().enumerate().filter(|(_, weights)| weights.iter().any(mine)) {
                let (begin, count) = (self.start[i] as usize, (self.start[i + 1] - self.start[i]) as usize);
                let (columns, blocks) = fine.row(i);
                let slots = &self.slots[fine.pattern.range(i)];
                let sums = &mut sums[..count];
                sums.fill([0.0; 9]);
                for ((&j, block), slot) in columns.iter().zip(blocks).zip(slots) {
                    for (&(_, weight), &slot) in self.weights[j as usize].iter().zip(slot) {
                        if weight > 0.0 {
                            add(&mut sums[slot as usize], block, weight);
                        }
                    }
                }
                for (k, &(a, weight)) in weights.iter().enumerate().filter(|(_, w)| mine(w)) {
                    let places = &self.places[4 * begin + k * count..4 * begin + (k + 1) * count];
                    let row = rows.row(a as usize);
                    for (&place, sum) in places.iter().zip(&*sums) {
                        add(&mut row[place as usize], sum, weight);
                    }
                }
            }
        });
    }

    /// coarse = Pᵀ fine.
    pub fn restrict(&self, fine: &[Vec3f], coarse: &mut [Vec3f]) {
        parallel::for_each(coarse, |a, sum| {
            *sum = Vec3f::ZERO;
            for member in self.members.row(a).iter().map(|&member| member as usize) {
                *sum += fine[member / 4] * self.weights[member / 4][member % 4].1;
            }
        });
    }

    /// fine += P coarse.
    pub fn add_prolonged(&self, coarse: &[Vec3f], fine: &mut [Vec3f]) {
        parallel::for_each(fine, |i, value| {
            for &(a, weight) in &self.weights[i] {
                *value += coarse[a as usize] * weight;
            }
        });
    }
}

/// sum += weight · block.
#[inline(always)]
fn add(sum: &mut Block, block: &Block, weight: f32) {
    for k in 0..9 {
        sum[k] += block[k] * weight;
    }
}
