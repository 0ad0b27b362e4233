//! Couples: where a warp and a weft cross at yarn level they stay T apart and slide over each other, with friction.
//!
//! d = P_warp(a) − P_weft(b) − σ T n,  P(a) = (1 − t) x_p + t x_q between the two particles around a
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | a, b | `along` | 1 | where the yarns touch, along each in crossings: material points |
//! | n | `normal` | 1 | normal of the cloth, from the tangents over two segments, once per step |
//! | σ | `side` | 1 | 1 where the weave has the warp on top, else −1 |
//! | T | `thickness` | m | distance kept |
//! | f | `friction` | N | what the crossing sticks with: f₀ × its grip ([`super::Weave::grip`]) |
//! | W | `weight` | 1/kg | Σ w β² over the particles, β = 1 − t, t |
//!
//! The part of d along n is removed wholly; the part along the cloth too as long as |d|/(W h²) ≤ f: the material points are anchored, so what
//! holds at rest doesn't creep. Beyond that only f pulls, and the points slide along their yarns by what is left: a and b hop from segment to segment.
//! They never pass the neighbouring crossing of the same yarn, which is `packing` away at least: yarns bunch, and then drag each other along. Past
//! the end of a yarn by half a crossing (the end sticks out that far) the couple is released.
//!
//! Source: Metaaphanon 2009 §3.3, eq. 1. Deviations: weights are normalised by W, since the paper's correct twice at the ends of segments;
//! the normal comes from the weave instead of the nearest points, which are biased where yarns are kinked; friction, without which the weave runs out. With
//! `Sliding::Frictionless` the points slide freely, and couples part by the paper's rule.

use super::points::Points;
use super::spec::Sliding;
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
        if self.family == Family::Weft && self.kind[c] != Kind::Welded { c + self.kind.len() } else { c }
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
        let (low, high) = (at.floor() as usize, at.ceil() as usize);
        if to < low as f64 && (low == 0 || !self.live(low - 1)) {
            low as f64
        } else if to > high as f64 && !self.live(high) {
            high as f64
        } else {
            to
        }
    }
}

/// Furthest that a point slides in a substep [crossings]: less than a segment.
const FURTHEST: f64 = 0.5;

/// How far a yarn's end sticks out of its last crossing [crossings].
const OVERHANG: f64 = 0.5;

impl Woven {
    /// Couples as they are when a step begins: normals and neighbours.
    pub(super) fn find_couples(&mut self, h: f64) {
        let mut couples = std::mem::take(&mut self.tables.couples);
        couples.clear();
        for c in 0..self.kind.len() {
            let stick = match self.kind[c] {
                Kind::Welded | Kind::Disconnected => continue,
                Kind::Connected => f64::INFINITY,
                Kind::Loose => self.friction(c) * h * h,
            };
            if let Some(normal) = self.cloth_normal(c) {
                self.normal[c] = normal;
            }
            let near = Family::BOTH.map(|family| self.neighbours(family, c));
            let apart = self.normal[c] * (self.side(c) * self.spec.thickness);
            couples.push(Couple { crossing: c as u32, near, apart, stick, released: false });
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

    /// Keeps all couples together, one after the other.
    pub(super) fn hold_couples(&mut self) {
        let Self { at, kind, warp, weft, along, tables, spec, .. } = self;
        let super::tables::Tables { couples, w, .. } = tables;
        let (warps, wefts, count) = (spec.warps, spec.wefts, kind.len());
        let literal = matches!(spec.sliding, Sliding::Frictionless);
        for couple in couples.iter_mut().filter(|couple| !couple.released) {
            let c = couple.crossing as usize;
            let [a, b] = [along[0][c], along[1][c]];
            let (i, j) = (c % warps, c / warps);
            let on_warp = Yarn { family: Family::Warp, springs: warp, kind, first: i, stride: warps, count: wefts };
            let on_weft = Yarn { family: Family::Weft, springs: weft, kind, first: j * warps, stride: 1, count: warps };
            let woven = a == j as f64 && b == i as f64;
            let [p, q] = if woven {
                [Place { p: c, q: c, t: 0.0 }, Place { p: count + c, q: count + c, t: 0.0 }]
            } else {
                [on_warp.place(a), on_weft.place(b)]
            };
            let weight = p.weight(w) + q.weight(w);
            if weight == 0.0 {
                continue;
            }
            let d = p.of(at) - q.of(at) - couple.apart;
            let n = couple.apart / spec.thickness;
            let off = n * d.dot(n);
            let across = d - off;
            let length = across.length();
            if (off.length_squared() > spec.apart * spec.apart && !literal) || !length.is_finite() {
                couple.released = true;
                continue;
            }
            let stuck = couple.stick * weight;
            if length <= stuck {
                let by = d / weight;
                p.push(at, w, -by);
                q.push(at, w, by);
                continue;
            }
            // Slides: friction does what it can, the points move along their yarns by the rest.
            let rest = across * (1.0 - stuck / length);
            let directions = [on_warp.direction(a, at), on_weft.direction(b, at)];
            let by = solve(directions, rest).map(|by| by.clamp(-FURTHEST, FURTHEST));
            let limit = |k: usize, from: f64, by: f64| {
                let yarn = if k == 0 { on_warp } else { on_weft };
                let [before, after] = couple.near[k].map(|c| if c == NONE { None } else { Some(along[k][c as usize]) });
                let to = yarn.slide(from, by);
                // Neighbours that are too near already don't push back.
                let low = before.map_or(f64::NEG_INFINITY, |at| (at + spec.packing).min(from));
                let high = after.map_or(f64::INFINITY, |at| (at - spec.packing).max(from));
                to.clamp(low, high)
            };
            let to = [limit(0, a, by[0]), limit(1, b, by[1])];
            // What the points could not do: jammed yarns drag each other; ends hang out.
            let left = rest + directions[0] * (to[0] - a) - directions[1] * (to[1] - b);
            let ends = [on_warp.slide(a, by[0]) != a + by[0], on_weft.slide(b, by[1]) != b + by[1]];
            let over = left.length_squared() > (OVERHANG * spec.spacing) * (OVERHANG * spec.spacing);
            if over && (ends[0] || ends[1]) {
                couple.released = true;
                continue;
            }
            let jammed = if ends[0] || ends[1] { Vec3::ZERO } else { left };
            (along[0][c], along[1][c]) = (to[0], to[1]);
            let by = (off + across * (stuck / length) + jammed) / weight;
            p.push(at, w, -by);
            q.push(at, w, by);
            if literal && (at.get(c) - at.get(count + c)).length_squared() > spec.apart * spec.apart {
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
