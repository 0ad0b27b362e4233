//! The dense part of a substep: motion, shear of whole cloth, all yarns.
//!
//! Rows of crossings are divided into groups of eight wefts; a group writes its own rows only, so threads change nothing.
//! Shear springs join the diagonals of cells and push only (rest √2 spacings): compliant constraints like the others, λ = C/(w + w + 1/(k h²)), in four
//! turns (rising and falling ones, between even and odd rows), in each of which no two share a particle. Air drags every particle by
//! a |u| u, u = wind − v.
//!
//! Source: Metaaphanon 2009 §3.2 (springs), §4 (steps 1–5).

use super::line::{Block, GROUP, Solve};
use super::points::Points;
use super::state::Woven;
use super::tables::Tables;
use crate::lanes::{self, Work};
use crate::math::Vec3;
use crate::parallel;

/// What moves particles in a substep.
#[derive(Clone, Copy)]
struct Air {
    h: f64,
    /// Change of velocity by gravity [m/s].
    fall: Vec3,
    wind: Vec3,
    drag: f64,
}

/// Eight rows of one grid.
type Rows<'a> = [&'a mut [f64]; 3];

/// Moves particles on: velocity, then position from where it was.
struct Move<'a, 'b> {
    air: Air,
    x: &'a mut Rows<'b>,
    v: &'a mut Rows<'b>,
    from: [&'a [f64]; 3],
    w: &'a [f64],
}

impl Work for Move<'_, '_> {
    #[inline(always)]
    fn run(self) {
        let Self { air: Air { h, fall, wind, drag }, x, v, from, w } = self;
        let count = w.len();
        let [x0, x1, x2] = x;
        let (x0, x1, x2) = (&mut x0[..count], &mut x1[..count], &mut x2[..count]);
        let [v0, v1, v2] = v;
        let (v0, v1, v2) = (&mut v0[..count], &mut v1[..count], &mut v2[..count]);
        let (f0, f1, f2) = (&from[0][..count], &from[1][..count], &from[2][..count]);
        for i in 0..count {
            let u = [wind.x - v0[i], wind.y - v1[i], wind.z - v2[i]];
            let speed = (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]).sqrt();
            // Never more than the speed itself, however fast.
            let part = drag * h * speed / (1.0 + drag * h * speed);
            let free = if w[i] > 0.0 { 1.0 } else { 0.0 };
            v0[i] += free * (fall.x + part * u[0]);
            v1[i] += free * (fall.y + part * u[1]);
            v2[i] += free * (fall.z + part * u[2]);
            x0[i] = f0[i] + h * v0[i];
            x1[i] = f1[i] + h * v1[i];
            x2[i] = f2[i] + h * v2[i];
        }
    }
}

/// Diagonals between two neighbouring rows, of one direction: from `low[i]` to `high[i]`.
struct Shear<'a> {
    low: [&'a mut [f64]; 3],
    high: [&'a mut [f64]; 3],
    w: [&'a [f64]; 2],
    /// One where there is such a spring.
    live: &'a [f64],
    /// 1/(k h²) [1/kg].
    soft: f64,
    rest: f64,
}

impl Work for Shear<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { low, high, w, live, soft, rest } = self;
        let count = live.len();
        let ([a0, a1, a2], [b0, b1, b2]) = (low, high);
        let (a0, a1, a2) = (&mut a0[..count], &mut a1[..count], &mut a2[..count]);
        let (b0, b1, b2) = (&mut b0[..count], &mut b1[..count], &mut b2[..count]);
        let (wa, wb) = (&w[0][..count], &w[1][..count]);
        for i in 0..count {
            let d = [b0[i] - a0[i], b1[i] - a1[i], b2[i] - a2[i]];
            let length = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
            let by = live[i] * (length - rest).min(0.0) / ((wa[i] + wb[i] + soft) * (length + f64::MIN_POSITIVE));
            a0[i] += wa[i] * by * d[0];
            a1[i] += wa[i] * by * d[1];
            a2[i] += wa[i] * by * d[2];
            b0[i] -= wb[i] * by * d[0];
            b1[i] -= wb[i] * by * d[1];
            b2[i] -= wb[i] * by * d[2];
        }
    }
}

/// Rows that are computed together, by both grids.
struct Part<'a> {
    group: usize,
    x: [Rows<'a>; 2],
    v: [Rows<'a>; 2],
}

/// [`parallel::for_each_part`], but alone without asking other threads: a substep is too short for that.
fn for_each_part<T: Send>(parts: Vec<T>, work: impl Fn(T) + Sync + Send) {
    match rayon::current_num_threads() {
        1 => parts.into_iter().for_each(work),
        _ => parallel::for_each_part(parts, work),
    }
}

/// Divides both grids into groups of rows.
fn parts<'a>(x: &'a mut Points, v: &'a mut Points, warps: usize) -> Vec<Part<'a>> {
    let (half, size) = (x.len() / 2, GROUP * warps);
    let both = x.halves(half, size).zip(v.halves(half, size));
    both.enumerate().map(|(group, (x, v))| Part { group, x, v }).collect()
}

impl Woven {
    /// Velocities by gravity, air and shear; positions by velocities.
    pub(super) fn predict(&mut self, h: f64) {
        let Self { at, v, tables, spec, step, .. } = self;
        std::mem::swap(at, &mut tables.before);
        let (warps, half) = (spec.warps, tables.rising.len());
        let wind = spec.wind.mean(*step as f64 * spec.step);
        let air = Air { h, fall: spec.gravity * h, wind, drag: spec.air };
        let Tables { w, before, doubled, .. } = &*tables;
        for_each_part(parts(at, v, warps), |Part { group, mut x, mut v }| {
            let first = group * GROUP;
            let rows = x[0][0].len() / warps;
            for grid in 0..2 {
                let begin = grid * half + first * warps;
                let range = begin..begin + rows * warps;
                if grid == 1 && !doubled[first..first + rows].contains(&true) {
                    continue;
                }
                let from = before.0.each_ref().map(|p| &p[range.clone()]);
                lanes::run(Move { air, x: &mut x[grid], v: &mut v[grid], from, w: &w[range.clone()] });
            }
        });
    }

    /// All shear springs.
    pub(super) fn shear(&mut self, h: f64) {
        if self.spec.shear == 0.0 {
            return;
        }
        let (warps, half) = (self.spec.warps, self.kind.len());
        let rest = std::f64::consts::SQRT_2 * self.spec.spacing;
        let soft = 1.0 / (self.spec.shear * h * h);
        let Tables { w, rising, falling, shears, .. } = &self.tables;
        for odd in 0..2 {
            let begin = odd * warps;
            let [x, y, z] = self.at.0.each_mut().map(|column| column[begin..half].chunks_mut(GROUP * warps));
            let parts: Vec<(usize, Rows<'_>)> =
                x.zip(y).zip(z).enumerate().map(|(k, ((x, y), z))| (begin + k * GROUP * warps, [x, y, z])).collect();
            for_each_part(parts, |(first, mut rows)| {
                for pair in 0..rows[0].len() / (2 * warps) {
                    let c = first + 2 * pair * warps;
                    let cells = warps - 1;
                    for (live, a, b) in [(rising, 0, 1), (falling, 1, 0)] {
                        let mut low = rows.each_mut().map(|column| column[2 * pair * warps..].split_at_mut(warps));
                        let [l, u]: [Rows<'_>; 2] = {
                            let [x, y, z] = &mut low;
                            [
                                [&mut x.0[a..], &mut y.0[a..], &mut z.0[a..]],
                                [&mut x.1[b..], &mut y.1[b..], &mut z.1[b..]],
                            ]
                        };
                        let w = [&w[c + a..c + a + cells], &w[c + warps + b..c + warps + b + cells]];
                        lanes::run(Shear { low: l, high: u, w, live: &live[c..c + cells], soft, rest });
                    }
                }
            });
        }
        // Diagonals with doubled ends: each of the two with half the stiffness.
        for &[a, b] in shears {
            let (a, b) = (a as usize, b as usize);
            let d = self.at.get(b) - self.at.get(a);
            let length = d.length();
            if length < rest && length > 0.0 {
                let by = d * ((length - rest) / ((w[a] + w[b] + 2.0 * soft) * length));
                self.at.add(a, by * w[a]);
                self.at.add(b, -by * w[b]);
            }
        }
    }

    /// All warps, then all wefts.
    pub(super) fn solve_lines(&mut self, h: f64) {
        let Self { at, v, tables, spec, kind, .. } = self;
        let Tables { warps: blocks, wefts, .. } = tables;
        let warps = spec.warps;
        let (h2, bend, buckle) = (h * h, spec.bend, 1.0 / spec.compression);
        parallel::for_each_chunk(blocks, 1, |g, block| {
            let block = &mut block[0];
            for (axis, column) in at.0.iter().enumerate() {
                for (s, lane) in block.x[axis].iter_mut().enumerate() {
                    let row = &column[s * warps..(s + 1) * warps];
                    match row.get(g * GROUP..(g + 1) * GROUP) {
                        Some(whole) => lane.copy_from_slice(whole),
                        None => (0..GROUP).for_each(|l| lane[l] = row[(g * GROUP + l).min(warps - 1)]),
                    }
                }
            }
            lanes::run(Solve { block, h2, bend, buckle });
        });
        let blocks = &*blocks;
        let rows = parts(at, v, warps).into_iter().zip(wefts.iter_mut()).collect::<Vec<_>>();
        for_each_part(rows, |(Part { group, mut x, .. }, block)| {
            let first = group * GROUP;
            let rows = x[0][0].len() / warps;
            let doubled = &kind[first * warps..(first + rows) * warps];
            for axis in 0..3 {
                let [low, high] = &mut x;
                take_warps(low[axis], blocks, axis, first, warps);
                gather(&mut block.x[axis], low[axis], high[axis], doubled, warps);
            }
            lanes::run(Solve { block, h2, bend, buckle });
            for axis in 0..3 {
                let [low, high] = &mut x;
                scatter(&block.x[axis], low[axis], high[axis], doubled, warps);
            }
        });
    }

    /// Velocities from where particles have come.
    pub(super) fn velocities(&mut self, h: f64) {
        let per_h = 1.0 / h;
        let Self { at, v, tables, .. } = self;
        for axis in 0..3 {
            let (x, from, keep) = (&at.0[axis], &tables.before.0[axis], &tables.keep);
            for (i, v) in v.0[axis].iter_mut().enumerate() {
                *v = (x[i] - from[i]) * per_h * keep[i];
            }
        }
    }
}

/// Rows of the grid from the blocks of warps.
fn take_warps(rows: &mut [f64], blocks: &[Block], axis: usize, first: usize, warps: usize) {
    for (k, row) in rows.chunks_mut(warps).enumerate() {
        for (chunk, block) in row.chunks_mut(GROUP).zip(blocks) {
            chunk.copy_from_slice(&block.x[axis][first + k][..chunk.len()]);
        }
    }
}

/// Wefts, each in its lane, from where their particles are.
fn gather(lanes: &mut [super::line::Lane], low: &[f64], high: &[f64], kind: &[super::state::Kind], warps: usize) {
    let rows = low.len() / warps;
    for l in 0..GROUP {
        let begin = l.min(rows - 1) * warps;
        let (low, high, kind) = (&low[begin..begin + warps], &high[begin..begin + warps], &kind[begin..begin + warps]);
        for (i, lane) in lanes.iter_mut().enumerate() {
            lane[l] = if kind[i] == super::state::Kind::Welded { low[i] } else { high[i] };
        }
    }
}

/// And back.
fn scatter(lanes: &[super::line::Lane], low: &mut [f64], high: &mut [f64], kind: &[super::state::Kind], warps: usize) {
    let rows = low.len() / warps;
    for l in 0..rows {
        for i in 0..warps {
            let c = l * warps + i;
            if kind[c] == super::state::Kind::Welded {
                low[c] = lanes[i][l];
            } else {
                high[c] = lanes[i][l];
            }
        }
    }
}
