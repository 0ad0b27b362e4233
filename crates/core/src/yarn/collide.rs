//! Free yarns keep off each other.
//!
//! Segments of yarns with a disconnected crossing, or one that has slipped by more than a crossing, are compared with each other once per step: those that are near, or
//! that would meet within the step by the velocities they have ([`crate::contact::ccd`], which doesn't miss any), become pairs. Then each
//! pair is kept T apart along the line between its nearest points, which stays on the side it was on when the step began:
//!
//! λ = (T − d) / Σ w β²,  x ← x ± w β λ n
//!
//! It is enough to do so in every third substep: at 0.5 m/s nothing comes nearer by T in between.
//!
//! Not compared: segments of one yarn that are near along it, and segments around a crossing that still holds.
//! Source: Metaaphanon 2009 §4.2, eq. 5. Deviations: inclusion search instead of the roots of a cubic. Limits: whole cloth isn't met; pairs that meet only by
//! what pushes them within a step are seen at its end.

use super::state::{Family, Kind, Woven};
use crate::contact::{ccd, distance};
use crate::math::Vec3;
use rayon::prelude::*;

/// Two segments that may touch: their particles, and from the second to the first (unit).
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    ends: [usize; 4],
    normal: Vec3,
    /// Times that it needs no look, since it was far apart.
    rests: u8,
}

/// A segment of a free yarn.
struct Segment {
    family: Family,
    yarn: usize,
    along: usize,
    ends: [usize; 2],
    low: Vec3,
    high: Vec3,
}

/// Slip from which on a crossing's yarns count as free [crossings]: before that neighbours keep it in its place.
const SLIPPED: f64 = 1.5;

/// Substeps from one time that pairs are kept apart to the next.
pub(super) const EVERY: u32 = 3;

/// Share of T beyond T within which segments are near.
const NEAR: f64 = 0.5;

/// Furthest that a particle is looked ahead [spacings].
const AHEAD: f64 = 4.0;

impl Woven {
    /// Pairs of segments for the next step.
    pub(super) fn find_pairs(&mut self) {
        let mut pairs = std::mem::take(&mut self.tables.pairs);
        pairs.clear();
        if self.spec.self_collision {
            let common = self.common();
            let segments = self.free_segments(common);
            let pair = |&(a, b): &(u32, u32)| {
                let (a, b) = (&segments[a as usize], &segments[b as usize]);
                if self.together(a, b) { None } else { self.pair(a, b, common) }
            };
            // In the order of the candidates, whoever looks at them.
            pairs.par_extend(overlapping(&segments, 1.5 * self.spec.spacing).par_iter().filter_map(pair));
        }
        self.tables.pairs = pairs;
    }

    /// How far a particle goes in the next step beside what all do, at most so far.
    fn ahead(&self, p: usize, common: Vec3) -> Vec3 {
        ((self.v.get(p) - common) * self.spec.step).clamp_length_max(AHEAD * self.spec.spacing)
    }

    /// Mean velocity of free yarns [m/s]: what falls together doesn't meet.
    fn common(&self) -> Vec3 {
        let half = self.kind.len();
        let free = (0..half).filter(|&c| self.kind[c] == Kind::Disconnected);
        let (sum, count) =
            free.fold((Vec3::ZERO, 0.0), |(sum, n), c| (sum + self.v.get(c) + self.v.get(half + c), n + 2.0));
        sum / f64::max(count, 1.0)
    }

    fn free_segments(&self, common: Vec3) -> Vec<Segment> {
        let slipped = |c: usize| {
            self.kind[c] == Kind::Disconnected
                || self.kind[c] == Kind::Loose
                    && Family::BOTH
                        .iter()
                        .enumerate()
                        .any(|(k, &family)| (self.along[k][c] - self.on_yarn(family, c).1 as f64).abs() > SLIPPED)
        };
        let free: Vec<bool> = (0..self.kind.len()).map(slipped).collect();
        let mut segments = Vec::new();
        for family in Family::BOTH {
            let stride = self.line(family).1;
            for c in 0..self.kind.len() {
                if !self.live(family, c) || !(free[c] || free[c + stride]) {
                    continue;
                }
                let ends = [self.particle(family, c), self.particle(family, c + stride)];
                let at = ends.map(|p| self.at.get(p));
                let to = ends.map(|p| self.at.get(p) + self.ahead(p, common));
                let around = Vec3::splat(0.5 * (1.0 + NEAR) * self.spec.thickness);
                let low = at[0].min(at[1]).min(to[0]).min(to[1]) - around;
                let high = at[0].max(at[1]).max(to[0]).max(to[1]) + around;
                let (yarn, along) = self.on_yarn(family, c);
                segments.push(Segment { family, yarn, along, ends, low, high });
            }
        }
        segments
    }

    /// True if two segments are of one yarn and near along it, or around a crossing that holds.
    fn together(&self, a: &Segment, b: &Segment) -> bool {
        if a.family == b.family {
            return a.yarn == b.yarn && a.along.abs_diff(b.along) <= 2;
        }
        let (warp, weft) = if a.family == Family::Warp { (a, b) } else { (b, a) };
        let c = self.crossing(warp.yarn, weft.yarn);
        let near = |k: usize, along: usize| (self.along[k][c] - (along as f64 + 0.5)).abs() < 1.5;
        self.kind[c] != Kind::Disconnected && near(0, warp.along) && near(1, weft.along)
    }

    fn pair(&self, a: &Segment, b: &Segment, common: Vec3) -> Option<Pair> {
        let ends = [a.ends[0], a.ends[1], b.ends[0], b.ends[1]];
        let from = ends.map(|p| self.at.get(p));
        let between = nearest(&from).0;
        let thickness = self.spec.thickness;
        let length = between.length();
        let near = length < (1.0 + NEAR) * thickness;
        let meet = || {
            let way = ends.map(|p| self.ahead(p, common));
            // What comes as near as 2 T becomes a pair: a finer answer would cost more than the pair does.
            // They can't meet if no two ends come nearer to each other by as much.
            let nearer = |(i, j): (usize, usize)| (way[i] - way[j]).length();
            let most = [(0, 2), (0, 3), (1, 2), (1, 3)].into_iter().map(nearer).fold(0.0, f64::max);
            if length - most > 2.0 * thickness {
                return false;
            }
            let to = [0, 1, 2, 3].map(|k| from[k] + way[k]);
            ccd::edge_edge(&from, &to, ccd::Query { gap: thickness, tolerance: thickness }).is_some()
        };
        if !(near || meet()) {
            return None;
        }
        let across = || (from[1] - from[0]).cross(from[3] - from[2]).try_normalize().unwrap_or(Vec3::Y);
        let normal = between.try_normalize().unwrap_or_else(across);
        Some(Pair { ends, normal, rests: 0 })
    }

    /// Keeps all pairs apart, one after the other.
    pub(super) fn keep_apart(&mut self) {
        let thickness = self.spec.thickness;
        let super::tables::Tables { pairs, w, .. } = &mut self.tables;
        for pair in pairs {
            if pair.rests > 0 {
                pair.rests -= 1;
                continue;
            }
            let x = pair.ends.map(|p| self.at.get(p));
            let (between, s, t) = nearest(&x);
            let side = between.dot(pair.normal);
            let length = between.length();
            if side > 0.0 && length >= thickness {
                pair.normal = between / length;
                pair.rests = u8::from(length > (1.0 + 0.5 * NEAR) * thickness);
                continue;
            }
            // Still on its side: the line between the points is the new normal; passed: back along the old one.
            let missing = if side > 0.0 {
                pair.normal = between / length;
                thickness - length
            } else {
                thickness - side
            };
            let share = [1.0 - s, s, t - 1.0, -t];
            let weight: f64 = pair.ends.iter().zip(share).map(|(&p, b)| w[p] * b * b).sum();
            if weight > 0.0 {
                // Never further than T in one go: deep ones come free over several substeps.
                let by = pair.normal * (missing.min(thickness) / weight);
                for (&p, b) in pair.ends.iter().zip(share) {
                    self.at.add(p, by * (b * w[p]));
                }
            }
        }
    }
}

/// From the nearest point of the second segment to that of the first, and where they are.
fn nearest(x: &[Vec3; 4]) -> (Vec3, f64, f64) {
    let (s, t) = distance::edge_edge([x[0], x[1]], [x[2], x[3]]);
    ((x[0] + (x[1] - x[0]) * s) - (x[2] + (x[3] - x[2]) * t), s, t)
}

/// Pairs of segments with overlapping boxes, each once: by a grid of cells of a given size.
fn overlapping(segments: &[Segment], cell: f64) -> Vec<(u32, u32)> {
    // Cells as one number, 21 bits each way, from a million cells below the origin on; far away several share one, which does no harm.
    let key =
        |[x, y, z]: [i64; 3]| (x as u64 & 0x1f_ffff) << 42 | (y as u64 & 0x1f_ffff) << 21 | (z as u64 & 0x1f_ffff);
    let place = |p: Vec3| {
        let q = p / cell + Vec3::splat(1_048_576.0);
        [q.x as i64, q.y as i64, q.z as i64]
    };
    let mut cells: Vec<(u64, u32)> = Vec::with_capacity(4 * segments.len());
    for (n, segment) in segments.iter().enumerate() {
        let (low, high) = (place(segment.low), place(segment.high));
        for x in low[0]..=high[0] {
            for y in low[1]..=high[1] {
                cells.extend((low[2]..=high[2]).map(|z| (key([x, y, z]), n as u32)));
            }
        }
    }
    cells.sort_unstable();
    let mut pairs = Vec::new();
    for same in cells.chunk_by(|a, b| a.0 == b.0) {
        for (k, &(at, a)) in same.iter().enumerate() {
            for &(_, b) in &same[k + 1..] {
                let (p, q) = (&segments[a as usize], &segments[b as usize]);
                if a != b && p.low.cmple(q.high).all() && q.low.cmple(p.high).all() {
                    // Of the cells that they share only the first one counts.
                    if key(place(p.low.max(q.low))) == at {
                        pairs.push((a, b));
                    }
                }
            }
        }
    }
    pairs
}
