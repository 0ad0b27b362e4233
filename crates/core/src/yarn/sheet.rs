//! The dense part of a substep: motion, shear of whole cloth, all yarns.
//!
//! Rows of crossings are divided into groups of eight wefts; a group writes its own rows only, so threads change nothing.
//! Shear springs join the diagonals of cells and push only (rest √2 spacings); they act explicitly at the positions that the substep begins
//! with, divided by 1 + 8 k h² w, which keeps them stable for any stiffness. Air drags every particle by a |u| u, u = wind − v.
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

/// Shear springs of whole cloth: stiffness over the mass of a crossing and rest length.
#[derive(Clone, Copy)]
struct Shear<'a> {
    k: f64,
    rest: f64,
    warps: usize,
    from: &'a Points,
    rising: &'a [f64],
    falling: &'a [f64],
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
    /// Acceleration by shear [m/s²], or nothing.
    push: Option<&'a [Vec<f64>; 3]>,
}

impl Work for Move<'_, '_> {
    #[inline(always)]
    fn run(self) {
        let Self { air: Air { h, fall, wind, drag }, x, v, from, w, push } = self;
        let count = w.len();
        let [x0, x1, x2] = x;
        let (x0, x1, x2) = (&mut x0[..count], &mut x1[..count], &mut x2[..count]);
        let [v0, v1, v2] = v;
        let (v0, v1, v2) = (&mut v0[..count], &mut v1[..count], &mut v2[..count]);
        let [f0, f1, f2] = from.map(|f| &f[..count]);
        if let Some([p0, p1, p2]) = push {
            let (p0, p1, p2) = (&p0[..count], &p1[..count], &p2[..count]);
            for i in 0..count {
                let h = if w[i] > 0.0 { h } else { 0.0 };
                v0[i] += p0[i] * h;
                v1[i] += p1[i] * h;
                v2[i] += p2[i] * h;
            }
        }
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

/// Accelerations of the rows from `first` on by shear springs.
struct Push<'a> {
    shear: Shear<'a>,
    first: usize,
    out: &'a mut [Vec<f64>; 3],
}

impl Work for Push<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { shear, first, out } = self;
        let warps = shear.warps;
        let rows = out[0].len() / warps;
        let last = shear.rising.len() / warps - 1;
        out.iter_mut().for_each(|column| column.fill(0.0));
        // Cells between row j and the next one: those above and below the rows count too.
        for j in first.saturating_sub(1)..(first + rows).min(last) {
            let cell = j * warps;
            for (along, [a, b]) in [(shear.rising, [0, warps + 1]), (shear.falling, [1, warps])] {
                let here = &along[cell..cell + warps - 1];
                let [from, to] = [a, b].map(|k| shear.from.0.each_ref().map(|p| &p[cell + k..cell + k + warps - 1]));
                // Where the ends are in `out`, if they are there.
                let inside = [(j >= first).then(|| (j - first) * warps + a), (j + 1 < first + rows).then(|| cell + b - first * warps)];
                let force = |i: usize| {
                    let d = [to[0][i] - from[0][i], to[1][i] - from[1][i], to[2][i] - from[2][i]];
                    let length = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
                    let pull = shear.k * here[i] * (length - shear.rest).min(0.0) / (length + f64::MIN_POSITIVE);
                    [d[0] * pull, d[1] * pull, d[2] * pull]
                };
                let [o0, o1, o2] = &mut *out;
                if let Some(at) = inside[0] {
                    let end = at + warps - 1;
                    let (o0, o1, o2) = (&mut o0[at..end], &mut o1[at..end], &mut o2[at..end]);
                    for i in 0..warps - 1 {
                        let f = force(i);
                        o0[i] += f[0];
                        o1[i] += f[1];
                        o2[i] += f[2];
                    }
                }
                if let Some(at) = inside[1] {
                    let end = at + warps - 1;
                    let (o0, o1, o2) = (&mut o0[at..end], &mut o1[at..end], &mut o2[at..end]);
                    for i in 0..warps - 1 {
                        let f = force(i);
                        o0[i] -= f[0];
                        o1[i] -= f[1];
                        o2[i] -= f[2];
                    }
                }
            }
        }
    }
}

/// Rows that are computed together, by both grids.
struct Part<'a> {
    group: usize,
    x: [Rows<'a>; 2],
    v: [Rows<'a>; 2],
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
        let w = 1.0 / spec.node_mass();
        let k = spec.shear * w / (1.0 + 8.0 * spec.shear * w * h * h);
        let rest = std::f64::consts::SQRT_2 * spec.spacing;
        let Tables { w, before, doubled, rising, falling, .. } = &*tables;
        let shear = Shear { k, rest, warps, from: before, rising, falling };
        parallel::for_each_part(parts(at, v, warps), |Part { group, mut x, mut v }| {
            let first = group * GROUP;
            let rows = x[0][0].len() / warps;
            let mut push = [(); 3].map(|()| vec![0.0; rows * warps]);
            if shear.k > 0.0 {
                lanes::run(Push { shear, first, out: &mut push });
            }
            for grid in 0..2 {
                let begin = grid * half + first * warps;
                let range = begin..begin + rows * warps;
                if grid == 1 && !doubled[first..first + rows].contains(&true) {
                    continue;
                }
                let from = before.0.each_ref().map(|p| &p[range.clone()]);
                let push = (grid == 0).then_some(&push);
                lanes::run(Move { air, x: &mut x[grid], v: &mut v[grid], from, w: &w[range.clone()], push });
            }
        });
        self.shear_couples(h);
    }

    /// Diagonals with doubled ends: each of the two with half the stiffness.
    fn shear_couples(&mut self, h: f64) {
        let Tables { shears, w, before, .. } = &self.tables;
        let rest = std::f64::consts::SQRT_2 * self.spec.spacing;
        let half = 0.5 * self.spec.shear * h * h;
        for &[a, b] in shears {
            let (a, b) = (a as usize, b as usize);
            let d = before.get(b) - before.get(a);
            let length = d.length();
            if length < rest && length > 0.0 {
                let k = half / (1.0 + 4.0 * half * (w[a] + w[b]));
                let f = d * (k * (length - rest) / length);
                self.at.add(a, f * w[a]);
                self.at.add(b, -f * w[b]);
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
        parallel::for_each_part(rows, |(Part { group, mut x, .. }, block)| {
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
