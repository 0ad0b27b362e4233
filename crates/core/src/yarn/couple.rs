//! Couples of two particles, as the paper has them: where a warp and a weft cross at yarn level they stay T apart and slide over each other. Of `all_yarn`, of
//! [`super::Sliding::Frictionless`] and of sweeps; else crossings that slide are one particle ([`super::slide`]), since these tremble where much pulls at them.
//!
//! d = P_warp(a) − P_weft(b) − σ T n,  P(a) = (1 − t) x_p + t x_q between the two particles around a
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | a, b | `along` | 1 | where the yarns touch, along each in crossings: material points |
//! | n | `normal` | 1 | normal of the cloth, from the tangents of two segments, once per step, on the side it was on |
//! | σ | `side` | 1 | 1 where the weave has the warp on top, else −1 |
//! | T | `thickness` | m | distance kept |
//! | f | `friction` | N | what the crossing sticks with: f₀ × its grip ([`super::weave`]) |
//! | W | `weight` | 1/kg | Σ w β² over the particles, β = 1 − t, t |
//!
//! The part of d along n is removed wholly; the part along the cloth too as long as the force that it takes is below f: the material points are anchored,
//! so what holds at rest doesn't creep. Beyond that only f pulls, and the points slide along their yarns by what is left: a and b hop from segment to
//! segment. The force is p + d/(W h²), where p is four fifths of the last substep's, which act before yarns are solved: so friction builds up to
//! five times what one substep could move.
//! They never pass the neighbouring crossing of the same yarn, which is `packing` away at least: yarns bunch, and then drag each other along, with [`JAM`] f at most. Past
//! the end of a yarn by half a crossing (the end sticks out that far) the couple is released. Where one of the yarns
//! ends, no crossing beyond holding the same part of it, it can be lifted off: what holds the two together along n is no more than f there, and past θ_dist the couple is released. Elsewhere the weave itself holds the yarns together, however fast they are torn: they go over
//! and under their neighbours on both sides.
//!
//! Source: Metaaphanon 2009 §3.3, eq. 1. Deviations: weights are normalised by W, since the paper's correct twice at the ends of segments;
//! the normal comes from the weave instead of the nearest points, which are biased where yarns are kinked; friction, without which the weave runs out. With
//! `Sliding::Frictionless` the points slide freely, and couples part by the paper's rule.

use super::points::Points;
use super::spec::{Sliding, Spec};
use super::state::{Family, Kind, Springs, Woven};
use crate::math::Vec3;

/// No neighbour.
const NONE: u32 = u32::MAX;

/// A crossing whose two particles hold each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Couple {
    crossing: u32,
    /// Crossings of the same yarn that hold, before and after: on the warp and on the weft.
    near: [[u32; 2]; 2],
    /// Distance from weft to warp that is kept [m].
    apart: Vec3,
    /// What it sticks with in a substep [N s²]; infinite if connected.
    stick: f64,
    /// One of its yarns ends here, so that it may be lifted off.
    ends: bool,
    /// Came to the end of a yarn, or too far apart.
    pub released: bool,
}

impl Couple {
    pub fn crossing(&self) -> usize {
        self.crossing as usize
    }
}

/// A point of a yarn: between two particles.
#[derive(Clone, Copy)]
struct Place {
    p: usize,
    q: usize,
    t: f64,
}

impl Place {
    #[inline(always)]
    fn of(&self, x: &Points) -> Vec3 {
        let p = x.get(self.p);
        if self.t == 0.0 { p } else { p * (1.0 - self.t) + x.get(self.q) * self.t }
    }

    #[inline(always)]
    fn weight(&self, w: &[f64]) -> f64 {
        let s = 1.0 - self.t;
        w[self.p] * s * s + w[self.q] * self.t * self.t
    }

    #[inline(always)]
    fn push(&self, x: &mut Points, w: &[f64], by: Vec3) {
        x.add(self.p, by * ((1.0 - self.t) * w[self.p]));
        if self.t != 0.0 {
            x.add(self.q, by * (self.t * w[self.q]));
        }
    }
}

/// A yarn, to find places on.
#[derive(Clone, Copy)]
struct Yarn<'a> {
    family: Family,
    springs: &'a Springs,
    kind: &'a [Kind],
    /// Crossing at its beginning, difference from one to the next, and number of them.
    first: usize,
    stride: usize,
    count: usize,
}

impl Yarn<'_> {
    #[inline(always)]
    fn particle(&self, along: usize) -> usize {
        let c = self.first + along * self.stride;
        if self.family == Family::Weft && !self.kind[c].is_one() { c + self.kind.len() } else { c }
    }

    #[inline(always)]
    fn live(&self, along: usize) -> bool {
        along + 1 < self.count && self.springs.stiffness[self.first + along * self.stride] > 0.0
    }

    /// The segment that a point belongs to: the one after a whole number if it is there, else the one before.
    #[inline(always)]
    fn segment(&self, at: f64) -> Option<(usize, f64)> {
        let low = at as usize;
        let t = at - low as f64;
        if self.live(low) {
            Some((low, t))
        } else if t == 0.0 && low > 0 && self.live(low - 1) {
            Some((low - 1, 1.0))
        } else {
            None
        }
    }

    #[inline(always)]
    fn place(&self, at: f64) -> Place {
        let low = (at as usize).min(self.count - 1);
        let t = at - low as f64;
        let p = self.particle(low);
        if t == 0.0 || !self.live(low) { Place { p, q: p, t: 0.0 } } else { Place { p, q: self.particle(low + 1), t } }
    }

    /// Segment around a point [m per crossing]; zero for a particle without springs.
    #[inline(always)]
    fn direction(&self, at: f64, x: &Points) -> Vec3 {
        self.segment(at).map_or(Vec3::ZERO, |(s, _)| x.get(self.particle(s + 1)) - x.get(self.particle(s)))
    }

    /// Moves a point along the yarn, as far as it goes.
    fn slide(&self, at: f64, by: f64) -> f64 {
        let to = at + by;
        if by < 0.0 {
            let mut low = at.floor();
            while to < low && low > 0.0 && self.live(low as usize - 1) {
                low -= 1.0;
            }
            to.max(low)
        } else {
            let mut high = at.ceil();
            while to > high && self.live(high as usize) {
                high += 1.0;
            }
            to.min(high)
        }
    }
}

/// The yarns of a couple.
#[inline(always)]
fn yarns<'a>(couple: &Couple, kind: &'a [Kind], springs: [&'a Springs; 2], spec: &Spec) -> [Yarn<'a>; 2] {
    let (warps, wefts) = (spec.warps, spec.wefts);
    let (i, j) = (couple.crossing as usize % warps, couple.crossing as usize / warps);
    [
        Yarn { family: Family::Warp, springs: springs[0], kind, first: i, stride: warps, count: wefts },
        Yarn { family: Family::Weft, springs: springs[1], kind, first: j * warps, stride: 1, count: warps },
    ]
}

/// Where a couple touches.
#[inline(always)]
fn places(couple: &Couple, [a, b]: [f64; 2], kind: &[Kind], springs: [&Springs; 2], spec: &Spec) -> [Place; 2] {
    let c = couple.crossing as usize;
    if a == (c / spec.warps) as f64 && b == (c % spec.warps) as f64 {
        // Node to node, as woven.
        return [Place { p: c, q: c, t: 0.0 }, Place { p: kind.len() + c, q: kind.len() + c, t: 0.0 }];
    }
    let [on_warp, on_weft] = yarns(couple, kind, springs, spec);
    [on_warp.place(a), on_weft.place(b)]
}

/// Share of what a couple did that goes on into the next substep: all of it would ring.
const GOES_ON: f64 = 0.8;

/// Furthest that a point slides in a substep [crossings].
const FURTHEST: f64 = 2.0;

/// What jammed yarns pass on to each other, over what a crossing sticks with.
const JAM: f64 = 4.0;

/// How far a yarn's end sticks out of its last crossing [crossings].
const OVERHANG: f64 = 0.5;

impl Woven {
    /// Couples as they are when a step begins: normals and neighbours.
    pub(super) fn find_couples(&mut self, h: f64) {
        let mut couples = std::mem::take(&mut self.tables.couples);
        couples.clear();
        for c in 0..self.kind.len() {
            let stick = match self.kind[c] {
                Kind::Welded | Kind::Sliding | Kind::Disconnected => continue,
                Kind::Connected => f64::INFINITY,
                Kind::Loose => self.friction(c) * h * h,
            };
            self.turn_normal(c);
            let near = Family::BOTH.map(|family| self.neighbours(family, c));
            let apart = self.normal[c] * (self.side(c) * self.spec.thickness);
            let ends = Family::BOTH.iter().zip(near).any(|(&family, near)| self.ends(family, c, near));
            couples.push(Couple { crossing: c as u32, near, apart, stick, ends, released: false });
        }
        self.tables.couples = couples;
    }

    /// Nearest crossings along a yarn that hold.
    fn neighbours(&self, family: Family, c: usize) -> [u32; 2] {
        let (count, stride) = self.line(family);
        let along = self.on_yarn(family, c).1;
        let holds = |c: &usize| self.kind[*c] != Kind::Disconnected;
        let before = (1..=along).map(|k| c - k * stride).take(8).find(holds);
        let after = (1..count - along).map(|k| c + k * stride).take(8).find(holds);
        [before, after].map(|c| c.map_or(NONE, |c| c as u32))
    }

    /// True if a yarn ends at a crossing: none before, or none after it, holds the same part of the yarn.
    fn ends(&self, family: Family, c: usize, [before, after]: [u32; 2]) -> bool {
        let along = &self.along[usize::from(family == Family::Weft)];
        let yarn = self.on_yarn(family, c).0;
        let joined = |a: u32, b: u32| {
            let springs = along[a as usize] as usize..along[b as usize].ceil() as usize;
            springs.into_iter().all(|s| self.live(family, self.crossing_of(family, yarn, s)))
        };
        let c = c as u32;
        before == NONE || after == NONE || !joined(before, c) || !joined(c, after)
    }

    /// The friction of the last substep goes on, a little less: before yarns are solved, so that they feel it.
    pub(super) fn press_on(&mut self) {
        let Self { at, kind, warp, weft, along, press, tables, spec, .. } = self;
        let super::tables::Tables { couples, w, .. } = tables;
        for couple in couples.iter().filter(|couple| !couple.released) {
            let c = couple.crossing as usize;
            let n = couple.apart / spec.thickness;
            // Friction alone, which has a limit: what keeps yarns T apart, or connected ones together, would ring.
            let friction = (press[c] - n * press[c].dot(n)) * GOES_ON;
            let goes_on = couple.stick.is_finite() && friction.length_squared() <= couple.stick * couple.stick;
            press[c] = if goes_on { friction } else { Vec3::ZERO };
            let [p, q] = places(couple, [along[0][c], along[1][c]], kind, [warp, weft], spec);
            p.push(at, w, -press[c]);
            q.push(at, w, press[c]);
        }
    }

    /// Keeps all couples together, one after the other.
    pub(super) fn hold_couples(&mut self) {
        let Self { at, kind, warp, weft, along, press, tables, spec, .. } = self;
        let super::tables::Tables { couples, w, .. } = tables;
        let literal = matches!(spec.sliding, Sliding::Frictionless);
        let half = kind.len();
        for couple in couples.iter_mut().filter(|couple| !couple.released) {
            let c = couple.crossing as usize;
            let [a, b] = [along[0][c], along[1][c]];
            let [p, q] = places(couple, [a, b], kind, [warp, weft], spec);
            let weight = p.weight(w) + q.weight(w);
            if weight == 0.0 {
                continue;
            }
            let d = p.of(at) - q.of(at) - couple.apart;
            let n = couple.apart / spec.thickness;
            let lifted = d.dot(n);
            // Pulled apart at the end of a yarn: held with no more than the friction, and let go of once that wasn't enough.
            let most = couple.stick * weight;
            let held = if couple.ends && !literal && lifted > most { most } else { lifted };
            if lifted - held > spec.apart || !d.is_finite() {
                couple.released = true;
                continue;
            }
            let off = n * held;
            let d = d - n * (lifted - held);
            // All that it would take to hold along the cloth, with what went on already.
            let gone_on = press[c] - n * press[c].dot(n);
            let wanted = gone_on + (d - off) / weight;
            let length = wanted.length();
            if length <= couple.stick {
                let by = d / weight;
                press[c] += by;
                p.push(at, w, -by);
                q.push(at, w, by);
                continue;
            }
            // Slides: friction does what it can, the points move along their yarns by the rest.
            let by = wanted * (couple.stick / length) - gone_on;
            let rest = (d - off) - by * weight;
            let [on_warp, on_weft] = yarns(couple, kind, [warp, weft], spec);
            let directions = [on_warp.direction(a, at), on_weft.direction(b, at)];
            let way = solve(directions, rest).map(|way| way.clamp(-FURTHEST, FURTHEST));
            let reached = [on_warp.slide(a, way[0]), on_weft.slide(b, way[1])];
            let limit = |k: usize, from: f64| {
                let [before, after] = couple.near[k].map(|c| if c == NONE { None } else { Some(along[k][c as usize]) });
                // Neighbours that are too near already don't push back.
                let low = before.map_or(f64::NEG_INFINITY, |at| (at + spec.packing).min(from));
                let high = after.map_or(f64::INFINITY, |at| (at - spec.packing).max(from));
                reached[k].clamp(low, high)
            };
            let to = [limit(0, a), limit(1, b)];
            // What the points could not do: jammed yarns drag each other, ends hang out.
            let left = rest + directions[0] * (to[0] - a) - directions[1] * (to[1] - b);
            let at_end = reached[0] != a + way[0] || reached[1] != b + way[1];
            let overhang = OVERHANG * spec.spacing;
            if at_end && left.length_squared() > overhang * overhang {
                couple.released = true;
                continue;
            }
            (along[0][c], along[1][c]) = (to[0], to[1]);
            let friction = off / weight + by;
            press[c] += friction;
            // Yarns that are jammed slip over others in turn: what they pass on has a limit.
            let jam = left / weight;
            let jam = jam.clamp_length_max(JAM * couple.stick);
            let by = if at_end { friction } else { friction + jam };
            p.push(at, w, -by);
            q.push(at, w, by);
            if literal && (at.get(c) - at.get(half + c)).length_squared() > spec.apart * spec.apart {
                couple.released = true;
            }
        }
    }

    /// Crossings whose couples were released in this step.
    pub(super) fn released(&self) -> Vec<usize> {
        self.tables.couples.iter().filter(|couple| couple.released).map(|couple| couple.crossing as usize).collect()
    }
}

/// By how much to move the points along warp u and weft v so that their distance changes by −r as nearly as can be.
fn solve([u, v]: [Vec3; 2], r: Vec3) -> [f64; 2] {
    let (uu, vv, uv) = (u.dot(u), v.dot(v), u.dot(v));
    let (ur, vr) = (-u.dot(r), v.dot(r));
    let determinant = uu * vv - uv * uv;
    // Nearly parallel yarns share the way.
    if determinant > 0.05 * uu * vv {
        [(ur * vv + uv * vr) / determinant, (vr * uu + uv * ur) / determinant]
    } else {
        [0.5 * ur * crate::math::inverse_or_zero(uu), 0.5 * vr * crate::math::inverse_or_zero(vv)]
    }
}
