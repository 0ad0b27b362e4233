//! Free yarns keep off each other.
//!
//! Segments of yarns with a disconnected crossing, or one that has slipped by half a spacing, are compared with each other once per step: those that are near, or
//! that would meet within the step by the velocities they have ([`crate::contact::ccd`], which doesn't miss any), become pairs. In every substep each
//! pair is kept T apart along the line between its nearest points, which stays on the side it was on when the step began:
//!
//! λ = (T − d) / Σ w β²,  x ← x ± w β λ n
//!
//! Not compared: segments of one yarn that are near along it, and segments around a crossing that still holds.
//! Source: Metaaphanon 2009 §4.2, eq. 5. Deviations: inclusion search instead of the roots of a cubic. Limits: whole cloth isn't met; pairs that meet only by
//! what pushes them within a step are seen at its end.

use super::state::{Family, Kind, Woven};
use crate::contact::{ccd, distance};
use crate::math::Vec3;

/// Two segments that may touch: their particles, and from the second to the first (unit).
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    ends: [usize; 4],
    normal: Vec3,
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

/// Share of T beyond T within which segments are near.
const NEAR: f64 = 0.5;

/// Furthest that a particle is looked ahead [spacings].
const AHEAD: f64 = 10.0;

impl Woven {
    /// Pairs of segments for the next step.
    pub(super) fn find_pairs(&mut self) {
        let mut pairs = std::mem::take(&mut self.tables.pairs);
        pairs.clear();
        if self.spec.self_collision {
            let segments = self.free_segments();
            let cell = 2.0 * self.spec.spacing;
            for (a, b) in overlapping(&segments, cell) {
                if !self.together(&segments[a], &segments[b]) {
                    pairs.extend(self.pair(&segments[a], &segments[b]));
                }
            }
        }
        self.tables.pairs = pairs;
    }

    /// How far a particle goes in the next step, at most so far.
    fn ahead(&self, p: usize) -> Vec3 {
        (self.v.get(p) * self.spec.step).clamp_length_max(AHEAD * self.spec.spacing)
    }

    fn free_segments(&self) -> Vec<Segment> {
        let slipped = |c: usize| {
            self.kind[c] == Kind::Disconnected
                || self.kind[c] == Kind::Loose
                    && Family::BOTH
                        .iter()
                        .enumerate()
                        .any(|(k, &family)| (self.along[k][c] - self.on_yarn(family, c).1 as f64).abs() > 0.5)
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
                let to = ends.map(|p| self.at.get(p) + self.ahead(p));
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

    fn pair(&self, a: &Segment, b: &Segment) -> Option<Pair> {
        let ends = [a.ends[0], a.ends[1], b.ends[0], b.ends[1]];
        let from = ends.map(|p| self.at.get(p));
        let between = nearest(&from).0;
        let thickness = self.spec.thickness;
        let near = between.length() < (1.0 + NEAR) * thickness;
        let meet = || {
            let to = ends.map(|p| self.at.get(p) + self.ahead(p));
            ccd::edge_edge(&from, &to, ccd::Query { gap: thickness, tolerance: 0.1 * thickness }).is_some()
        };
        if !(near || meet()) {
            return None;
        }
        let across = || (from[1] - from[0]).cross(from[3] - from[2]).try_normalize().unwrap_or(Vec3::Y);
        let normal = between.try_normalize().unwrap_or_else(across);
        Some(Pair { ends, normal })
    }

    /// Keeps all pairs apart, one after the other.
    pub(super) fn keep_apart(&mut self) {
        let thickness = self.spec.thickness;
        let super::tables::Tables { pairs, w, .. } = &mut self.tables;
        for pair in pairs {
            let x = pair.ends.map(|p| self.at.get(p));
            let (between, s, t) = nearest(&x);
            let side = between.dot(pair.normal);
            let length = between.length();
            if side > 0.0 && length >= thickness {
                pair.normal = between / length;
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

/// Pairs of segments with overlapping boxes, each once, in order: by a grid of cells of a given size.
fn overlapping(segments: &[Segment], cell: f64) -> Vec<(usize, usize)> {
    let mut cells: Vec<([i32; 3], u32)> = Vec::new();
    for (n, segment) in segments.iter().enumerate() {
        let (low, high) = ((segment.low / cell).floor(), (segment.high / cell).floor());
        for x in low.x as i32..=high.x as i32 {
            for y in low.y as i32..=high.y as i32 {
                cells.extend((low.z as i32..=high.z as i32).map(|z| ([x, y, z], n as u32)));
            }
        }
    }
    cells.sort_unstable();
    let mut pairs = Vec::new();
    for same in cells.chunk_by(|a, b| a.0 == b.0) {
        for (k, &(_, a)) in same.iter().enumerate() {
            for &(_, b) in &same[k + 1..] {
                let (p, q) = (&segments[a as usize], &segments[b as usize]);
                if p.low.cmple(q.high).all() && q.low.cmple(p.high).all() {
                    pairs.push((a as usize, b as usize));
                }
            }
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}
