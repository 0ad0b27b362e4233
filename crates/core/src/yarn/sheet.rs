//! The dense part of a substep: motion, shear of whole cloth, all yarns.
//!
//! Rows of crossings are divided into groups of eight wefts; a group writes its own rows only, so threads change nothing.
//! Shear springs join the diagonals of cells and push only (rest √2 spacings): compliant constraints like the others, λ = C/(w + w + 1/(k h²)), in four
//! turns (rising and falling ones, between even and odd rows), in each of which no two share a particle. Neighbouring yarns have a width, so cells can't be sheared shut: no diagonal is ever shorter than `packing`, and at a crossing
//! that holds, beside a tear, the next particles along both of its yarns come no nearer to each other either (as the yarns are shorter there, by as much less). Else the yarns would turn through each other. Air drags every particle by
//! a |u| u, u = wind − v; the wind is that of sheets ([`crate::wind`]), with gusts at every particle's place, once per step.
//!
//! Source: Metaaphanon 2009 §3.2 (springs), §4 (steps 1–5).

use super::line::{Block, GROUP, Lane, Pulled, Relax, Remain, Solve};
use super::points::Points;
use super::slide;
use super::spec::Spec;
use super::state::Woven;
use super::tables::Tables;
use crate::lanes::{self, LANES, Lanes, Work};
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
    /// One over the last substep [1/s], if velocities are still to be taken from where particles have come in it.
    come: Option<f64>,
    at: [&'a [f64]; 3],
    /// Where they were when the last substep began; then where they go.
    to: &'a mut Rows<'b>,
    /// Velocities when the step began, and those of what is held; the end of the step brings others.
    v: [&'a [f64]; 3],
    /// Where inertia alone takes them.
    guess: &'a mut Rows<'b>,
    w: &'a [f64],
    keep: &'a [f64],
    /// What gusts multiply the wind by.
    gust: &'a [f64],
}

impl Work for Move<'_, '_> {
    #[inline(always)]
    fn run(self) {
        let Self { air: Air { h, fall, wind, drag }, come, at, to, v, guess, w, keep, gust } = self;
        let count = w.len();
        let (keep, gust) = (&keep[..count], &gust[..count]);
        let [a0, a1, a2] = at.map(|column| &column[..count]);
        let [x0, x1, x2] = to.each_mut().map(|column| &mut column[..count]);
        let [v0, v1, v2] = v.map(|column| &column[..count]);
        let [g0, g1, g2] = guess.each_mut().map(|column| &mut column[..count]);
        let (comes, per_h) = (come.is_some(), come.unwrap_or(0.0));
        for i in 0..count {
            let free = w[i] > 0.0;
            let mut v = [v0[i], v1[i], v2[i]];
            // What is held has its velocity from what holds it.
            let come = [a0[i] - x0[i], a1[i] - x1[i], a2[i] - x2[i]].map(|way| way * per_h * keep[i]);
            v = if comes & free { come } else { v };
            let g = gust[i];
            (g0[i], g1[i], g2[i]) = (a0[i] + h * v[0], a1[i] + h * v[1], a2[i] + h * v[2]);
            let u = [wind.x * g - v[0], wind.y * g - v[1], wind.z * g - v[2]];
            let speed = (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]).sqrt();
            // Never more than the speed itself, however fast.
            let part = drag * h * speed / (1.0 + drag * h * speed);
            let free = if free { 1.0 } else { 0.0 };
            v[0] += free * (fall.x + part * u[0]);
            v[1] += free * (fall.y + part * u[1]);
            v[2] += free * (fall.z + part * u[2]);
            (x0[i], x1[i], x2[i]) = (a0[i] + h * v[0], a1[i] + h * v[1], a2[i] + h * v[2]);
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
    /// Shortest that a diagonal can be [m].
    lock: f64,
}

impl Work for Shear<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { low, high, w, live, soft, rest, lock } = self;
        let count = live.len();
        let ([a0, a1, a2], [b0, b1, b2]) = (low, high);
        let (a0, a1, a2) = (&mut a0[..count], &mut a1[..count], &mut a2[..count]);
        let (b0, b1, b2) = (&mut b0[..count], &mut b1[..count], &mut b2[..count]);
        let (wa, wb) = (&w[0][..count], &w[1][..count]);
        for i in 0..count {
            let d = [b0[i] - a0[i], b1[i] - a1[i], b2[i] - a2[i]];
            let length = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
            let both = wa[i] + wb[i];
            // Where both are held there is nothing to move, but something to divide by.
            let (weak, rigid) = (both + soft, both.max(1.0));
            let short = (length - rest).min(0.0) * rigid + (length - lock).min(0.0) * weak;
            let by = live[i] * short / (weak * rigid * (length + f64::MIN_POSITIVE));
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

/// Crossings below which other threads aren't asked: a substep takes about a hundred microseconds then, and asking them five times ten.
const FEW: usize = 1024;

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

/// Diagonals of cells between two rows and the next two and so on, from crossing `first` on.
#[derive(Clone, Copy)]
struct Diagonals<'a> {
    w: &'a [f64],
    rising: &'a [f64],
    falling: &'a [f64],
    warps: usize,
    soft: f64,
    rest: f64,
    lock: f64,
}

impl Diagonals<'_> {
    fn push(self, rows: &mut Rows<'_>, first: usize) {
        let Self { w, rising, falling, warps, soft, rest, lock } = self;
        let cells = warps - 1;
        for pair in 0..rows[0].len() / (2 * warps) {
            let c = first + 2 * pair * warps;
            for (live, a, b) in [(rising, 0, 1), (falling, 1, 0)] {
                let [x, y, z] = rows.each_mut().map(|column| column[2 * pair * warps..].split_at_mut(warps));
                let low = [&mut x.0[a..], &mut y.0[a..], &mut z.0[a..]];
                let high = [&mut x.1[b..], &mut y.1[b..], &mut z.1[b..]];
                let w = [&w[c + a..c + a + cells], &w[c + warps + b..c + warps + b + cells]];
                lanes::run(Shear { low, high, w, live: &live[c..c + cells], soft, rest, lock });
            }
        }
    }
}

impl Tables {
    /// Shear springs for a substep of `h` [s], if there are any.
    fn diagonals(&self, spec: &Spec, h: f64) -> Option<Diagonals<'_>> {
        let Self { w, rising, falling, .. } = self;
        let (soft, rest) = (1.0 / (spec.shear * h * h), std::f64::consts::SQRT_2 * spec.spacing);
        let lock = spec.packing * spec.spacing;
        (spec.shear > 0.0).then_some(Diagonals { w, rising, falling, warps: spec.warps, soft, rest, lock })
    }
}

/// What can be done at the same time.
enum Either<'a> {
    Shear(usize, Rows<'a>),
    Pull(usize, &'a mut Block),
}

impl Woven {
    /// Velocities by where particles have come, unless it is the first substep, gravity and air; positions by velocities; shear between each even row and the next.
    pub(super) fn predict(&mut self, h: f64, first_substep: bool) {
        let Self { at, v, tables, spec, step, .. } = self;
        let (mut guess, mut to) = (std::mem::take(&mut tables.guess), std::mem::take(&mut tables.before));
        let (warps, half) = (spec.warps, tables.rising.len());
        let wind = spec.wind.mean(*step as f64 * spec.step);
        let air = Air { h, fall: spec.gravity * h, wind, drag: spec.air };
        let come = (!first_substep).then_some(1.0 / h);
        let Tables { w, keep, doubled, gust, .. } = &*tables;
        let diagonals = tables.diagonals(spec, h);
        let (from, v) = (&*at, &*v);
        for_each_part(parts(&mut to, &mut guess, warps), half, |Part { group, x: mut to, v: mut guess }| {
            let first = group * GROUP;
            let rows = to[0][0].len() / warps;
            for grid in 0..2 {
                let begin = grid * half + first * warps;
                let range = begin..begin + rows * warps;
                if grid == 1 && !doubled[first..first + rows].contains(&true) {
                    continue;
                }
                let at = from.0.each_ref().map(|p| &p[range.clone()]);
                let (w, keep, gust) = (&w[range.clone()], &keep[range.clone()], &gust[range]);
                let v = v.0.each_ref().map(|p| &p[begin..begin + rows * warps]);
                let (to, guess) = (&mut to[grid], &mut guess[grid]);
                lanes::run(Move { air, come, at, to, v, guess, w, keep, gust });
            }
            if let Some(diagonals) = diagonals {
                diagonals.push(&mut to[0], first * warps);
            }
        });
        tables.guess = guess;
        tables.before = std::mem::replace(at, to);
    }

    /// Shear between each odd row and the next, and what else there is of it. At the same time, which doesn't touch it, what pulls at warps, if `first_substep` says which lengths they have.
    pub(super) fn shear(&mut self, h: f64, first_substep: Option<bool>) {
        let (warps, half) = (self.spec.warps, self.kind.len());
        let mut blocks = std::mem::take(&mut self.tables.warps);
        let diagonals = self.tables.diagonals(&self.spec, h);
        let (guess, bend) = (&self.tables.guess, self.spec.bend > 0.0);
        let mut both: Vec<Either<'_>> = Vec::new();
        if diagonals.is_some() {
            let [x, y, z] = self.at.0.each_mut().map(|column| column[warps..half].chunks_mut(GROUP * warps));
            let rows = x.zip(y).zip(z).enumerate();
            both.extend(rows.map(|(k, ((x, y), z))| Either::Shear(warps + k * GROUP * warps, [x, y, z])));
        }
        if first_substep.is_some() {
            both.extend(blocks.iter_mut().enumerate().map(|(g, block)| Either::Pull(g, block)));
        }
        for_each_part(both, half, |part| match part {
            Either::Shear(first, mut rows) => diagonals.iter().for_each(|all| all.push(&mut rows, first)),
            Either::Pull(g, block) => {
                for (lanes, column) in block.x.iter_mut().zip(&guess.0) {
                    take_columns(lanes, column, g, warps);
                }
                lanes::run(Pulled { block, bend, first: first_substep == Some(true) });
            }
        });
        let Some(Diagonals { soft, rest, .. }) = diagonals else {
            self.tables.warps = blocks;
            return;
        };
        let Tables { w, shears, locks, .. } = &self.tables;
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
        // And corners of torn cells.
        for &([a, b], lock) in locks {
            let (a, b) = (a as usize, b as usize);
            let d = self.at.get(b) - self.at.get(a);
            let (length, both) = (d.length(), w[a] + w[b]);
            if length < lock && length > 0.0 && both > 0.0 {
                let by = d * ((length - lock) / (both * length));
                self.at.add(a, by * w[a]);
                self.at.add(b, -by * w[b]);
            }
        }
        self.tables.warps = blocks;
    }

    /// All yarns, in the first substep of a step or another one. First both families go on with the tensions that they have (what pulls at warps is known from [`Self::shear`]), then warps and after them wefts get
    /// what is missing, and flow through the crossings that they slide through ([`super::slide`]).
    pub(super) fn solve_lines(&mut self, h: f64, first_substep: bool) {
        let by = self.flow();
        let Self { at, v, tables, spec, kind, .. } = self;
        let Tables { warps: blocks, wefts, doubled, two, moved, guess, heavy, slides, .. } = tables;
        let [warp_slides, weft_slides] = slides;
        let warps = spec.warps;
        let (h2, bend, buckle) = (h * h, spec.bend > 0.0, 1.0 / spec.compression);
        let any = |first: usize, rows: usize| doubled[first..first + rows].contains(&true);
        let pulled = &*blocks;
        let all = parts(moved, guess, warps).into_iter().zip(at.halves(kind.len(), GROUP * warps));
        let rows = all.zip(heavy.chunks_mut(GROUP * warps)).zip(wefts.iter_mut()).collect::<Vec<_>>();
        for_each_part(rows, kind.len(), |(((Part { group, x: moved, v: guess }, want), heavy), block)| {
            let first = group * GROUP;
            let rows = heavy.len() / warps;
            let turned = Turned { two: &two[first * warps..(first + rows) * warps], warps };
            let any = any(first, rows);
            let [by, _] = moved;
            for axis in 0..3 {
                let high = any.then_some(&*guess[1][axis]);
                lanes::run(Gather { lanes: &mut block.x[axis], low: guess[0][axis], high, turned });
                take_warps(by[axis], |g| &pulled[g].d[axis], first, warps);
                lanes::run(AddGone { by: by[axis], to: want[0][axis], from: guess[0][axis] });
            }
            take_warps(heavy, |g| &pulled[g].heavy, first, warps);
            lanes::run(Gather { lanes: &mut block.across, low: heavy, high: None, turned });
            lanes::run(Across { block });
            lanes::run(Pulled { block, bend, first: first_substep });
            for axis in 0..3 {
                let high = any.then_some([&*want[1][axis], &*guess[1][axis]]);
                lanes::run(AddBoth { lanes: &mut block.d[axis], low: by[axis], high, turned });
            }
            lanes::run(Relax { block });
            for axis in 0..3 {
                // What warps have for themselves stays.
                lanes::run(Scatter { lanes: &block.d[axis], low: by[axis], high: None, turned });
            }
            lanes::run(Scatter { lanes: &block.heavy, low: heavy, high: None, turned });
        });
        let columns = blocks.iter_mut().zip(warp_slides).enumerate().collect();
        for_each_part(columns, kind.len(), |(g, (block, slides))| {
            for (lanes, column) in block.d.iter_mut().zip(&moved.0) {
                take_columns(lanes, column, g, warps);
            }
            take_columns(&mut block.across, heavy, g, warps);
            lanes::run(Across { block });
            lanes::run(Remain { block });
            lanes::run(Relax { block });
            lanes::run(Go { block });
            lanes::run(Solve { block, h2, buckle });
            slide::flow(slides, block, by);
        });
        let blocks = &*blocks;
        let rows = parts(at, v, warps).into_iter().zip(wefts.iter_mut()).zip(weft_slides).collect::<Vec<_>>();
        for_each_part(rows, kind.len(), |((Part { group, mut x, .. }, block), slides)| {
            let first = group * GROUP;
            let rows = x[0][0].len() / warps;
            let turned = Turned { two: &two[first * warps..(first + rows) * warps], warps };
            let any = any(first, rows);
            for axis in 0..3 {
                let [low, high] = &mut x;
                take_warps(low[axis], |g| &blocks[g].x[axis], first, warps);
                if any {
                    let (x, d) = (&block.x[axis], &block.d[axis]);
                    lanes::run(GoAlone { x, d, high: high[axis], turned });
                }
                let high = any.then_some(&*high[axis]);
                lanes::run(Gather { lanes: &mut block.x[axis], low: low[axis], high, turned });
            }
            lanes::run(Solve { block, h2, buckle });
            for axis in 0..3 {
                let [low, high] = &mut x;
                let high = any.then_some(&mut *high[axis]);
                lanes::run(Scatter { lanes: &block.x[axis], low: low[axis], high, turned });
            }
            slide::flow(slides, block, by);
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

    /// At the end of a step: velocities from where particles have come in its last substep, and how far they went in all of it.
    pub(super) fn velocities(&mut self, h: f64) {
        let per_h = 1.0 / h;
        let (half, warps) = (self.kind.len(), self.spec.warps);
        let Self { at, v, tables, gone, .. } = self;
        let Tables { before, keep, doubled, .. } = &*tables;
        let rows = parts(at, v, warps).into_iter().zip(gone.halves(half, GROUP * warps)).collect();
        for_each_part(rows, half, |(Part { group, x, v }, gone)| {
            for (grid, ((x, v), gone)) in x.into_iter().zip(v).zip(gone).enumerate() {
                for axis in 0..3 {
                    lanes::run(Gone { gone: gone[axis], x: x[axis] });
                }
                for (k, row) in (group * GROUP..(group + 1) * GROUP).take(x[0].len() / warps).enumerate() {
                    let (here, all) = (k * warps..(k + 1) * warps, grid * half + row * warps);
                    if grid == 1 && !doubled[row] {
                        continue;
                    }
                    for axis in 0..3 {
                        let (from, keep) = (&before.0[axis][all..all + warps], &keep[all..all + warps]);
                        let (v, x) = (&mut v[axis][here.clone()], &x[axis][here.clone()]);
                        lanes::run(Come { v, x, from, keep, per_h });
                    }
                }
            }
        });
    }
}

/// How far particles went along one axis; before, where they were.
struct Gone<'a> {
    gone: &'a mut [f64],
    x: &'a [f64],
}

impl Work for Gone<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { gone, x } = self;
        let count = gone.len();
        let x = &x[..count];
        for i in 0..count {
            gone[i] = x[i] - gone[i];
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

/// Rows of the grid from the blocks of warps: `of` tells what of each.
fn take_warps<'a>(rows: &mut [f64], of: impl Fn(usize) -> &'a Vec<Lane>, first: usize, warps: usize) {
    for (k, row) in rows.chunks_mut(warps).enumerate() {
        for (g, chunk) in row.chunks_mut(GROUP).enumerate() {
            chunk.copy_from_slice(&of(g)[first + k][..chunk.len()]);
        }
    }
}

/// The warps of group `g`, each in its lane, from rows of the grid.
fn take_columns(lanes: &mut [Lane], column: &[f64], g: usize, warps: usize) {
    for (s, lane) in lanes.iter_mut().enumerate() {
        let row = &column[s * warps..(s + 1) * warps];
        match row.get(g * GROUP..(g + 1) * GROUP) {
            Some(whole) => lane.copy_from_slice(whole),
            None => (0..GROUP).for_each(|l| lane[l] = row[(g * GROUP + l).min(warps - 1)]),
        }
    }
}

/// Particles of a block go where tensions move them.
struct Go<'a> {
    block: &'a mut Block,
}

impl Work for Go<'_> {
    #[inline(always)]
    fn run(self) {
        for (x, d) in self.block.x.iter_mut().zip(&self.block.d) {
            for (x, d) in x.iter_mut().zip(d) {
                *x = std::array::from_fn(|l| x[l] + d[l]);
            }
        }
    }
}

/// Adds how far all else than tensions has moved particles, along one axis.
struct AddGone<'a> {
    by: &'a mut [f64],
    to: &'a [f64],
    from: &'a [f64],
}

impl Work for AddGone<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { by, to, from } = self;
        let count = by.len();
        let (to, from) = (&to[..count], &from[..count]);
        for i in 0..count {
            by[i] += to[i] - from[i];
        }
    }
}

/// Twice what yarns across hold particles with, where they are shared.
struct Across<'a> {
    block: &'a mut Block,
}

impl Work for Across<'_> {
    #[inline(always)]
    fn run(self) {
        for (across, shared) in self.block.across.iter_mut().zip(&self.block.shared) {
            *across = std::array::from_fn(|l| 2.0 * across[l] * shared[l]);
        }
    }
}

/// The first of two numbers where no bit of `two` is set, the second where all are.
#[inline(always)]
fn select(two: u64, low: f64, high: f64) -> f64 {
    f64::from_bits(low.to_bits() & !two | high.to_bits() & two)
}

/// Numbers of some crossings of eight rows: between rows and lanes, since only what surely doesn't overlap becomes vector code.
type Eight = [Lanes; GROUP];

/// Rows become lanes.
#[inline(always)]
fn weave(lanes: &mut [Lane], rows: &Eight) {
    let count = lanes.len().min(LANES);
    let lanes = &mut lanes[..count];
    let [a, b, c, d, e, f, g, h] = rows;
    for i in 0..count {
        lanes[i] = [a[i], b[i], c[i], d[i], e[i], f[i], g[i], h[i]];
    }
}

/// Lanes become rows.
#[inline(always)]
fn unravel(lanes: &[Lane], rows: &mut Eight) {
    let count = lanes.len().min(LANES);
    let lanes = &lanes[..count];
    let [a, b, c, d, e, f, g, h] = rows;
    for i in 0..count {
        let lane = &lanes[i];
        (a[i], b[i], c[i], d[i]) = (lane[0], lane[1], lane[2], lane[3]);
        (e[i], f[i], g[i], h[i]) = (lane[4], lane[5], lane[6], lane[7]);
    }
}

/// Eight rows of the grid, or fewer at its end.
#[derive(Clone, Copy)]
struct Turned<'a> {
    /// All bits set where a crossing has two particles.
    two: &'a [u64],
    warps: usize,
}

impl Turned<'_> {
    fn rows(self) -> usize {
        self.two.len() / self.warps
    }

    /// Crossings of row `l` in part `k` of it, of which there are `count`.
    #[inline(always)]
    fn range(self, l: usize, k: usize, count: usize) -> std::ops::Range<usize> {
        let begin = l * self.warps + k * LANES;
        begin..begin + count
    }

    /// Part `k` of the rows, each number by `of`; what there is less than eight rows is that of the last one.
    #[inline(always)]
    fn read<const N: usize>(
        self,
        k: usize,
        count: usize,
        from: [&[f64]; N],
        of: impl Fn(u64, [f64; N]) -> f64,
    ) -> Eight {
        let mut eight = [[0.0; LANES]; GROUP];
        for (l, to) in eight.iter_mut().enumerate() {
            let range = self.range(l.min(self.rows() - 1), k, count);
            let (two, from) = (&self.two[range.clone()], from.map(|rows| &rows[range.clone()][..count]));
            let to = &mut to[..count];
            for i in 0..count {
                to[i] = of(two[i], from.map(|row| row[i]));
            }
        }
        eight
    }

    /// Gives part `k` of the rows back, to either grid.
    #[inline(always)]
    fn write(self, k: usize, count: usize, eight: &Eight, low: Option<&mut [f64]>, high: Option<&mut [f64]>) {
        for (grid, rows) in [low, high].into_iter().enumerate() {
            let Some(rows) = rows else { continue };
            for (l, from) in eight.iter().enumerate().take(self.rows()) {
                let range = self.range(l, k, count);
                let (to, two, from) = (&mut rows[range.clone()][..count], &self.two[range][..count], &from[..count]);
                for i in 0..count {
                    to[i] = if grid == 0 { select(two[i], from[i], to[i]) } else { select(two[i], to[i], from[i]) };
                }
            }
        }
    }
}

/// Wefts, each in its lane, from where their particles are: along one axis.
struct Gather<'a> {
    lanes: &'a mut [Lane],
    low: &'a [f64],
    /// Nothing if no crossing has two particles.
    high: Option<&'a [f64]>,
    turned: Turned<'a>,
}

impl Work for Gather<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { lanes, low, high, turned } = self;
        for (k, lanes) in lanes.chunks_mut(LANES).enumerate() {
            let eight = match high {
                None => turned.read(k, lanes.len(), [low], |_, [low]| low),
                Some(high) => turned.read(k, lanes.len(), [low, high], |two, [low, high]| select(two, low, high)),
            };
            weave(lanes, &eight);
        }
    }
}

/// And back.
struct Scatter<'a> {
    lanes: &'a [Lane],
    low: &'a mut [f64],
    high: Option<&'a mut [f64]>,
    turned: Turned<'a>,
}

impl Work for Scatter<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { lanes, low, mut high, turned } = self;
        let mut eight = [[0.0; LANES]; GROUP];
        for (k, lanes) in lanes.chunks(LANES).enumerate() {
            unravel(lanes, &mut eight);
            turned.write(k, lanes.len(), &eight, Some(low), high.as_deref_mut());
        }
    }
}

/// Adds to what moves wefts, along one axis: where both yarns are one particle what moves warps, elsewhere what all else than tensions has moved the weft's by.
struct AddBoth<'a> {
    lanes: &'a mut [Lane],
    low: &'a [f64],
    /// Where the weft's particles have gone, and from where; nothing if no crossing has two.
    high: Option<[&'a [f64]; 2]>,
    turned: Turned<'a>,
}

impl Work for AddBoth<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { lanes, low, high, turned } = self;
        let mut more = [[0.0; GROUP]; LANES];
        for (k, lanes) in lanes.chunks_mut(LANES).enumerate() {
            let count = lanes.len();
            let eight = match high {
                None => turned.read(k, count, [low], |_, [low]| low),
                Some([to, from]) => {
                    turned.read(k, count, [low, to, from], |two, [low, to, from]| select(two, low, to - from))
                }
            };
            weave(&mut more[..count], &eight);
            for (lane, more) in lanes.iter_mut().zip(&more) {
                (0..GROUP).for_each(|l| lane[l] += more[l]);
            }
        }
    }
}

/// Particles of wefts that are none of warps go where tensions move them, along one axis.
struct GoAlone<'a> {
    x: &'a [Lane],
    d: &'a [Lane],
    high: &'a mut [f64],
    turned: Turned<'a>,
}

impl Work for GoAlone<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { x, d, high, turned } = self;
        let (mut to, mut eight) = ([[0.0; GROUP]; LANES], [[0.0; LANES]; GROUP]);
        for (k, (x, d)) in x.chunks(LANES).zip(d.chunks(LANES)).enumerate() {
            for (to, (x, d)) in to.iter_mut().zip(x.iter().zip(d)) {
                *to = std::array::from_fn(|l| x[l] + d[l]);
            }
            unravel(&to[..x.len()], &mut eight);
            turned.write(k, x.len(), &eight, None, Some(high));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use crate::yarn::{Family, Kind};

    #[test]
    fn cells_cannot_be_sheared_shut() {
        let mut spec = Spec::muslin(12, 10);
        // Nothing but the width of yarns.
        (spec.shear, spec.gravity, spec.air) = (1e-9, Vec3::ZERO, 0.0);
        let lock = spec.packing * spec.spacing;
        let mut cloth = Woven::new(spec, Placement::default()).unwrap();
        // Torn in one place: a crossing that doesn't hold, beside cells without springs.
        let torn = cloth.crossing(5, 5);
        cloth.split(&(0..cloth.crossings()).collect::<Vec<_>>(), Kind::Sliding);
        cloth.split(&[torn], Kind::Disconnected);
        for p in 0..cloth.at.len() {
            let x = cloth.at.get(p);
            cloth.at.set(p, Vec3::new(x.x + 0.99 * x.y, 0.14 * x.y, x.z));
        }
        let h = 4e-4;
        cloth.follow(h);
        // From a crossing to the next along its weft, and from there to the one beside it along its warp.
        let shortest = |cloth: &Woven| {
            let cells = (0..11).flat_map(|i| (0..9).map(move |j| (i, j)));
            let corner = |(i, j)| {
                let (weft, warp) = (cloth.crossing(i + 1, j), cloth.crossing(i, j + 1));
                cloth.position(Family::Weft, weft).distance(cloth.position(Family::Warp, warp))
            };
            cells.filter(|&(i, j)| cloth.crossing(i, j) != torn).map(corner).fold(f64::INFINITY, f64::min)
        };
        assert!(shortest(&cloth) < 0.5 * lock);
        for _ in 0..400 {
            cloth.predict(h, true);
            cloth.shear(h, None);
        }
        assert!(shortest(&cloth) > 0.99 * lock, "{} instead of {lock}", shortest(&cloth));
    }
}
