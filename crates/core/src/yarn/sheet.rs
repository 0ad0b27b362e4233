//! The dense part of a substep but for yarns themselves: motion, shear of whole cloth.
//!
//! Rows of crossings are divided into groups of eight wefts; a group writes its own rows only, so threads change nothing.
//! Shear springs join the diagonals of cells and push only (rest √2 spacings): compliant constraints like the others, λ = C/(w + w + 1/(k h²)), in four
//! turns (rising and falling ones, between even and odd rows), in each of which no two share a particle. Neighbouring yarns have a width, so cells can't be sheared shut: no diagonal is ever shorter than `packing`, and at a crossing
//! that holds, beside a tear, the next particles along both of its yarns come no nearer to each other either (as the yarns are shorter there, by as much less). Else the yarns would turn through each other. Air drags every particle by
//! a |u| u, u = wind − v; the wind is that of sheets ([`crate::wind`]), with gusts at every particle's place, once per step.
//!
//! Diagonals of whole cloth are computed in single precision, from differences of positions that were taken before they are rounded (as yarns are, `cross`); positions and motion are not.
//!
//! Source: Metaaphanon 2009 §3.2 (springs), §4 (steps 1–5).

use super::cross::Pull;
use super::line::{Block, GROUP};
use super::points::Points;
use super::spec::Spec;
use super::state::Woven;
use super::tables::Tables;
use crate::lanes::{self, LANES, Work};
use crate::math::Vec3;
use crate::parallel;
use std::ops::Range;

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
pub(super) type Rows<'a> = [&'a mut [f64]; 3];

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
            let come = [(a0[i] - x0[i]) * per_h, (a1[i] - x1[i]) * per_h, (a2[i] - x2[i]) * per_h];
            let come = [come[0] * keep[i], come[1] * keep[i], come[2] * keep[i]];
            // What is held has its velocity from what holds it.
            let mut v = if comes & free { come } else { [v0[i], v1[i], v2[i]] };
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
    w: [&'a [f32]; 2],
    /// One where there is such a spring.
    live: &'a [f32],
    /// 1/(k h²) [1/kg].
    soft: f32,
    rest: f32,
    /// Shortest that a diagonal can be [m].
    lock: f32,
}

impl Work for Shear<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { low, high, w, live, soft, rest, lock } = self;
        let ([a0, a1, a2], [b0, b1, b2]) = (low, high);
        for first in (0..live.len()).step_by(LANES) {
            let all = first..(first + LANES).min(live.len());
            let (a0, a1, a2) = (&mut a0[all.clone()], &mut a1[all.clone()], &mut a2[all.clone()]);
            let (b0, b1, b2) = (&mut b0[all.clone()], &mut b1[all.clone()], &mut b2[all.clone()]);
            let w = [&wide(&w[0][all.clone()]), &wide(&w[1][all.clone()])];
            let d = [&between(a0, b0), &between(a1, b1), &between(a2, b2)];
            let [by_a, by_b] = &push(d, w, &wide(&live[all]), [soft, rest, lock]);
            for (to, by, d) in [(a0, by_a, d[0]), (a1, by_a, d[1]), (a2, by_a, d[2])] {
                add(to, by, d);
            }
            for (to, by, d) in [(b0, by_b, d[0]), (b1, by_b, d[1]), (b2, by_b, d[2])] {
                add(to, by, d);
            }
        }
    }
}

/// One number in single precision for each of [`LANES`] rows.
pub(super) type Singles = [f32; LANES];

/// Some numbers, and nothing after them.
#[inline(always)]
fn wide(numbers: &[f32]) -> Singles {
    let mut all = [0.0; LANES];
    match numbers.first_chunk::<LANES>() {
        Some(numbers) => all = *numbers,
        None => all[..numbers.len()].copy_from_slice(numbers),
    }
    all
}

/// From one row to another along an axis: rounded only after the difference was taken.
#[inline(always)]
pub(super) fn between(low: &[f64], high: &[f64]) -> Singles {
    let mut d = [0.0; LANES];
    if let (Some(low), Some(high)) = (low.first_chunk::<LANES>(), high.first_chunk::<LANES>()) {
        for i in 0..LANES {
            d[i] = (high[i] - low[i]) as f32;
        }
    } else {
        for (d, (low, high)) in d.iter_mut().zip(low.iter().zip(high)) {
            *d = (high - low) as f32;
        }
    }
    d
}

/// What moves the two ends of diagonals d, over them: w λ/|d| of shear springs and of what keeps cells open.
#[inline(always)]
fn push(
    [x, y, z]: [&Singles; 3],
    [wa, wb]: [&Singles; 2],
    live: &Singles,
    [soft, rest, lock]: [f32; 3],
) -> [Singles; 2] {
    let (mut by_a, mut by_b) = ([0.0; LANES], [0.0; LANES]);
    for i in 0..LANES {
        let length = (x[i] * x[i] + y[i] * y[i] + z[i] * z[i]).sqrt();
        let both = wa[i] + wb[i];
        // Where both are held there is nothing to move, but something to divide by.
        let (weak, rigid) = (both + soft, both.max(1.0));
        let short = (length - rest).min(0.0) * rigid + (length - lock).min(0.0) * weak;
        let by = live[i] * short / (weak * rigid * (length + f32::MIN_POSITIVE));
        (by_a[i], by_b[i]) = (wa[i] * by, -wb[i] * by);
    }
    [by_a, by_b]
}

/// Moves particles of a row along an axis.
#[inline(always)]
fn add(to: &mut [f64], by: &Singles, d: &Singles) {
    if let Some(to) = to.first_chunk_mut::<LANES>() {
        for i in 0..LANES {
            to[i] += f64::from(by[i] * d[i]);
        }
    } else {
        for (to, (by, d)) in to.iter_mut().zip(by.iter().zip(d)) {
            *to += f64::from(by * d);
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
pub(super) fn for_each_part<T: Send>(parts: Vec<T>, crossings: usize, work: impl Fn(T) + Sync + Send) {
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
    w: &'a [f32],
    rising: &'a [f32],
    falling: &'a [f32],
    warps: usize,
    soft: f64,
    rest: f64,
    lock: f64,
}

impl Diagonals<'_> {
    fn push(self, rows: &mut Rows<'_>, first: usize) {
        let Self { w, rising, falling, warps, soft, rest, lock } = self;
        let (soft, rest, lock) = (soft as f32, rest as f32, lock as f32);
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

/// 1/(k h²) of a spring that is as good as none [1/kg]: beyond it products in single precision aren't numbers any more.
const NOTHING: f64 = 1e24;

impl Tables {
    /// Shear springs for a substep of `h` [s], if there are any.
    fn diagonals(&self, spec: &Spec, h: f64) -> Option<Diagonals<'_>> {
        let Self { light: w, rising, falling, .. } = self;
        let (soft, rest) = ((1.0 / (spec.shear * h * h)).min(NOTHING), std::f64::consts::SQRT_2 * spec.spacing);
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
        let Tables { w, keep, gust, .. } = &*tables;
        let diagonals = tables.diagonals(spec, h);
        let (from, v) = (&*at, &*v);
        for_each_part(parts(&mut to, &mut guess, warps), half, |Part { group, x: mut to, v: mut guess }| {
            let first = group * GROUP;
            let here = first * warps..first * warps + to[0][0].len();
            let mut go = |grid: usize, part: Range<usize>| {
                let (low, high) = (part.start - here.start, part.end - here.start);
                let range = grid * half + part.start..grid * half + part.end;
                let [at, v] = [from, v].map(|points| points.0.each_ref().map(|p| &p[range.clone()]));
                let (w, keep, gust) = (&w[range.clone()], &keep[range.clone()], &gust[range]);
                let to = &mut to[grid].each_mut().map(|p| &mut p[low..high]);
                let guess = &mut guess[grid].each_mut().map(|p| &mut p[low..high]);
                lanes::run(Move { air, come, at, to, v, guess, w, keep, gust });
            };
            go(0, here.clone());
            tables.doubled_in(here.clone()).iter().for_each(|part| go(1, part.clone()));
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
        let guess = &self.tables.guess;
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
            Either::Pull(group, block) => {
                lanes::run(Pull { nodes: &mut block.nodes, group, guess, warps, first: first_substep == Some(true) });
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
        // And corners of torn cells: yarns that leave a crossing at a small angle don't turn through each other.
        for lock in locks {
            let [c, p, q] = [lock.at, lock.ends[0], lock.ends[1]].map(|p| p as usize);
            let x = self.at.get(c);
            let (a, b) = (self.at.get(p) - x, self.at.get(q) - x);
            let n = self.normal[c] * lock.sense;
            let (to_a, to_b) = (n.cross(b), a.cross(n));
            let missing = self.spec.packing * (a.length_squared() * b.length_squared()).sqrt() - to_a.dot(a);
            if missing <= 0.0 || a.dot(b) <= 0.0 {
                continue;
            }
            let to_c = -(to_a + to_b);
            let weight = w[p] * to_a.length_squared() + w[q] * to_b.length_squared() + w[c] * to_c.length_squared();
            if weight > 0.0 {
                let by = missing / weight;
                self.at.add(p, to_a * (by * w[p]));
                self.at.add(q, to_b * (by * w[q]));
                self.at.add(c, to_c * (by * w[c]));
            }
        }
        self.tables.warps = blocks;
    }

    /// At the beginning of a step: where particles are, for [`Self::velocities`] to tell how far they went. Where there are no second particles none go.
    pub(super) fn note_places(&mut self) {
        let half = self.kind.len();
        for (gone, at) in self.gone.0.iter_mut().zip(&self.at.0) {
            gone[..half].copy_from_slice(&at[..half]);
            for part in &self.tables.doubled {
                let part = half + part.start..half + part.end;
                gone[part.clone()].copy_from_slice(&at[part]);
            }
        }
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
        let Tables { before, keep, .. } = &*tables;
        let rows = parts(at, v, warps).into_iter().zip(gone.halves(half, GROUP * warps)).collect();
        for_each_part(rows, half, |(Part { group, x, mut v }, mut gone)| {
            let first = group * GROUP * warps;
            let mut come = |grid: usize, part: Range<usize>| {
                let (here, all) =
                    (part.start - first..part.end - first, grid * half + part.start..grid * half + part.end);
                for axis in 0..3 {
                    let x = &x[grid][axis][here.clone()];
                    lanes::run(Gone { gone: &mut gone[grid][axis][here.clone()], x });
                    let (from, keep) = (&before.0[axis][all.clone()], &keep[all.clone()]);
                    lanes::run(Come { v: &mut v[grid][axis][here.clone()], x, from, keep, per_h });
                }
            };
            let here = first..first + x[0][0].len();
            come(0, here.clone());
            tables.doubled_in(here).iter().for_each(|part| come(1, part.clone()));
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
