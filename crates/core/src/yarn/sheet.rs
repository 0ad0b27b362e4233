//! The dense part of a substep: motion, shear of whole cloth, all yarns.
//!
//! Rows of crossings are divided into groups of eight wefts; a group writes its own rows only, so threads change nothing.
//! Shear springs join the diagonals of cells and push only (rest √2 spacings): compliant constraints like the others, λ = C/(w + w + 1/(k h²)), in four
//! turns (rising and falling ones, between even and odd rows), in each of which no two share a particle. Air drags every particle by
//! a |u| u, u = wind − v; the wind is that of sheets ([`crate::wind`]), with gusts at every particle's place, once per step.
//!
//! Source: Metaaphanon 2009 §3.2 (springs), §4 (steps 1–5).

use super::line::{Block, GROUP, Lane, Solve};
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
    /// Mean wind [m/s].
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
    /// What gusts multiply the wind by.
    gust: &'a [f64],
}

impl Work for Move<'_, '_> {
    #[inline(always)]
    fn run(self) {
        let Self { air: Air { h, fall, wind, drag }, x, v, from, w, gust } = self;
        let count = w.len();
        let gust = &gust[..count];
        let [x0, x1, x2] = x;
        let (x0, x1, x2) = (&mut x0[..count], &mut x1[..count], &mut x2[..count]);
        let [v0, v1, v2] = v;
        let (v0, v1, v2) = (&mut v0[..count], &mut v1[..count], &mut v2[..count]);
        let (f0, f1, f2) = (&from[0][..count], &from[1][..count], &from[2][..count]);
        for i in 0..count {
            let g = gust[i];
            let u = [wind.x * g - v0[i], wind.y * g - v1[i], wind.z * g - v2[i]];
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

/// Crossings below which other threads aren't asked: a substep takes some hundred microseconds then, and asking them six times ten each.
const FEW: usize = 8192;

/// [`parallel::for_each_part`], but alone if there are few crossings.
fn for_each_part<T: Send>(parts: Vec<T>, crossings: usize, work: impl Fn(T) + Sync + Send) {
    if crossings < FEW || rayon::current_num_threads() == 1 {
        parts.into_iter().for_each(work);
    } else {
        parallel::for_each_part(parts, work);
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
        let Tables { w, before, doubled, gust, .. } = &*tables;
        for_each_part(parts(at, v, warps), half, |Part { group, mut x, mut v }| {
            let first = group * GROUP;
            let rows = x[0][0].len() / warps;
            for grid in 0..2 {
                let begin = grid * half + first * warps;
                let range = begin..begin + rows * warps;
                if grid == 1 && !doubled[first..first + rows].contains(&true) {
                    continue;
                }
                let from = before.0.each_ref().map(|p| &p[range.clone()]);
                let gust = &gust[range.clone()];
                lanes::run(Move { air, x: &mut x[grid], v: &mut v[grid], from, w: &w[range.clone()], gust });
            }
        });
    }

    /// All shear springs, in one of `weak` substeps.
    pub(super) fn shear(&mut self, h: f64, weak: f64) {
        if self.spec.shear == 0.0 {
            return;
        }
        let (warps, half) = (self.spec.warps, self.kind.len());
        let rest = std::f64::consts::SQRT_2 * self.spec.spacing;
        let soft = 1.0 / (self.spec.shear * weak * h * h);
        let Tables { w, rising, falling, shears, .. } = &self.tables;
        for odd in 0..2 {
            let begin = odd * warps;
            let [x, y, z] = self.at.0.each_mut().map(|column| column[begin..half].chunks_mut(GROUP * warps));
            let parts: Vec<(usize, Rows<'_>)> =
                x.zip(y).zip(z).enumerate().map(|(k, ((x, y), z))| (begin + k * GROUP * warps, [x, y, z])).collect();
            for_each_part(parts, half, |(first, mut rows)| {
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

    /// All warps, then all wefts, in the first substep of a step or another one; `bend` if bend springs act.
    pub(super) fn solve_lines(&mut self, h: f64, first_substep: bool, bend: bool) {
        let Self { at, v, tables, spec, kind, .. } = self;
        let Tables { warps: blocks, wefts, doubled, two, .. } = tables;
        let warps = spec.warps;
        let (h2, bend, buckle) = (h * h, bend && spec.bend > 0.0, 1.0 / spec.compression);
        for_each_part(blocks.iter_mut().enumerate().collect(), kind.len(), |(g, block)| {
            for (axis, column) in at.0.iter().enumerate() {
                for (s, lane) in block.x[axis].iter_mut().enumerate() {
                    let row = &column[s * warps..(s + 1) * warps];
                    match row.get(g * GROUP..(g + 1) * GROUP) {
                        Some(whole) => lane.copy_from_slice(whole),
                        None => (0..GROUP).for_each(|l| lane[l] = row[(g * GROUP + l).min(warps - 1)]),
                    }
                }
            }
            lanes::run(Solve { block, h2, bend, first: first_substep, buckle });
        });
        let blocks = &*blocks;
        let rows = parts(at, v, warps).into_iter().zip(wefts.iter_mut()).collect::<Vec<_>>();
        for_each_part(rows, kind.len(), |(Part { group, mut x, .. }, block)| {
            let first = group * GROUP;
            let rows = x[0][0].len() / warps;
            let two = &two[first * warps..(first + rows) * warps];
            let any = doubled[first..first + rows].contains(&true);
            for axis in 0..3 {
                let [low, high] = &mut x;
                take_warps(low[axis], blocks, axis, first, warps);
                lanes::run(Gather {
                    lanes: &mut block.x[axis],
                    low: low[axis],
                    high: any.then_some(&*high[axis]),
                    two,
                    warps,
                });
            }
            lanes::run(Solve { block, h2, bend, first: first_substep, buckle });
            for axis in 0..3 {
                let [low, high] = &mut x;
                let high = any.then_some(&mut *high[axis]);
                lanes::run(Scatter { lanes: &block.x[axis], low: low[axis], high, two, warps });
            }
        });
    }

    /// What gusts make of the wind, for every particle, once per step.
    pub(super) fn find_gusts(&mut self) {
        if self.spec.wind.gust == 0.0 {
            return;
        }
        let time = self.time();
        let Self { at, tables, spec, .. } = self;
        let direction = spec.wind.mean(time).normalize_or_zero();
        parallel::for_each(&mut tables.gust, |p, gust| *gust = spec.wind.gust_factor(time, at.get(p), direction));
    }

    /// Velocities from where particles have come.
    pub(super) fn velocities(&mut self, h: f64) {
        let per_h = 1.0 / h;
        let (half, warps) = (self.kind.len(), self.spec.warps);
        let Self { at, v, tables, .. } = self;
        let Tables { before, keep, doubled, .. } = tables;
        for axis in 0..3 {
            let mut come = |range: std::ops::Range<usize>| {
                let (x, from, keep) =
                    (&at.0[axis][range.clone()], &before.0[axis][range.clone()], &keep[range.clone()]);
                lanes::run(Come { v: &mut v.0[axis][range], x, from, keep, per_h });
            };
            come(0..half);
            for row in (0..doubled.len()).filter(|&row| doubled[row]) {
                come(half + row * warps..half + (row + 1) * warps);
            }
        }
    }
}

/// Velocities along one axis.
struct Come<'a> {
    v: &'a mut [f64],
    x: &'a [f64],
    from: &'a [f64],
    keep: &'a [f64],
    per_h: f64,
}

impl Work for Come<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { v, x, from, keep, per_h } = self;
        let count = v.len();
        let (x, from, keep) = (&x[..count], &from[..count], &keep[..count]);
        for i in 0..count {
            v[i] = (x[i] - from[i]) * per_h * keep[i];
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

/// The first of two numbers where no bit of `two` is set, the second where all are.
#[inline(always)]
fn select(two: u64, low: f64, high: f64) -> f64 {
    f64::from_bits(low.to_bits() & !two | high.to_bits() & two)
}

/// Wefts, each in its lane, from where their particles are: along one axis.
struct Gather<'a> {
    lanes: &'a mut [Lane],
    low: &'a [f64],
    /// Nothing if no crossing has two particles.
    high: Option<&'a [f64]>,
    two: &'a [u64],
    warps: usize,
}

impl Work for Gather<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { lanes, low, high, two, warps } = self;
        let rows = low.len() / warps;
        // Squares of eight rows by eight crossings.
        for (k, square) in lanes.chunks_mut(GROUP).enumerate() {
            let begin = k * GROUP;
            for l in 0..GROUP {
                let at = l.min(rows - 1) * warps + begin;
                let range = at..at + square.len();
                let low = &low[range.clone()];
                match high {
                    None => square.iter_mut().zip(low).for_each(|(lane, &x)| lane[l] = x),
                    Some(high) => {
                        let (high, two) = (&high[range.clone()], &two[range]);
                        for (i, lane) in square.iter_mut().enumerate() {
                            lane[l] = select(two[i], low[i], high[i]);
                        }
                    }
                }
            }
        }
    }
}

/// And back.
struct Scatter<'a> {
    lanes: &'a [Lane],
    low: &'a mut [f64],
    high: Option<&'a mut [f64]>,
    two: &'a [u64],
    warps: usize,
}

impl Work for Scatter<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { lanes, low, mut high, two, warps } = self;
        let rows = low.len() / warps;
        for (k, square) in lanes.chunks(GROUP).enumerate() {
            let begin = k * GROUP;
            for l in 0..rows {
                let at = l * warps + begin;
                let range = at..at + square.len();
                let low = &mut low[range.clone()];
                match &mut high {
                    None => low.iter_mut().zip(square).for_each(|(x, lane)| *x = lane[l]),
                    Some(high) => {
                        let (high, two) = (&mut high[range.clone()], &two[range]);
                        for (i, lane) in square.iter().enumerate() {
                            low[i] = select(two[i], lane[l], low[i]);
                            high[i] = select(two[i], high[i], lane[l]);
                        }
                    }
                }
            }
        }
    }
}
