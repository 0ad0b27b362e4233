//! Segments of yarns as they are drawn: half a thickness off the crossings where both yarns are one particle, along its normal. Which of them are near each other: [`super::fold`].
//!
//! *Free* are segments with a disconnected crossing, one that has slipped by more than [`SLIPPED`], or one at which a yarn ends; all others are *whole* cloth.

use super::fold::Folds;
use super::state::{Family, Kind, Woven};
use crate::math::Vec3;
use crate::parallel;

/// A segment of a yarn.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Segment {
    /// Its yarn's family.
    pub weft: bool,
    pub yarn: u32,
    pub along: u32,
    /// Crossings that it is between.
    pub crossings: [u32; 2],
    /// Particles there.
    pub ends: [u32; 2],
}

impl Segment {
    pub fn family(&self) -> Family {
        if self.weft { Family::Weft } else { Family::Warp }
    }
}

/// Slip from which on a crossing's yarns count as free [crossings]: before that neighbours keep it in its place.
const SLIPPED: f64 = 0.5;

/// Furthest that a particle is looked ahead [spacings].
const AHEAD: f64 = 40.0;

/// What may be near each other.
#[derive(Default)]
pub(super) struct Near {
    /// By segments: whether it is free.
    pub free: Vec<bool>,
    /// How far particles go in a step [m].
    pub way: Vec<Vec3>,
    pub folds: Folds,
    /// The place that bundles are counted from, and how near segments are that may touch [m].
    pub origin: Vec3,
    pub reach: f64,
}

impl Clone for Near {
    /// An empty one: it is made anew when it is wanted.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl std::fmt::Debug for Near {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} segments", self.free.len())
    }
}

#[cfg(test)]
impl Near {
    /// Is a segment part of a free yarn?
    pub fn is_free(&self, id: u32) -> bool {
        self.free[id as usize]
    }
}

impl Woven {
    /// How far along the normal of a crossing a yarn is drawn off its particle [m]: half a thickness where both are one.
    #[inline(always)]
    pub(super) fn over(&self, family: Family, c: usize) -> f64 {
        let over = if family == Family::Warp { 0.5 } else { -0.5 } * self.spec.thickness;
        if self.kind[c].is_one() { over * self.side(c) } else { 0.0 }
    }

    /// That as a vector [m].
    #[inline(always)]
    pub(super) fn beside(&self, family: Family, c: usize) -> Vec3 {
        self.normal[c] * self.over(family, c)
    }

    /// Where a yarn is drawn at a crossing [m].
    #[inline(always)]
    pub(super) fn drawn(&self, family: Family, c: usize) -> Vec3 {
        self.position(family, c) + self.beside(family, c)
    }

    /// Is the segment with this number there?
    pub(super) fn is_live(&self, id: u32) -> bool {
        let (count, id) = (self.kind.len(), id as usize);
        if id < count { self.live(Family::Warp, id) } else { self.live(Family::Weft, id - count) }
    }

    /// A segment by its number: its first crossing, and for wefts the number of all crossings more.
    #[inline(always)]
    pub(super) fn segment(&self, id: u32) -> Segment {
        let (count, id) = (self.kind.len(), id as usize);
        let (family, c) = if id < count { (Family::Warp, id) } else { (Family::Weft, id - count) };
        let (yarn, along) = self.on_yarn(family, c);
        let next = c + self.line(family).1;
        // Past the last crossing of a yarn there is none.
        let crossings = [c, if next < count { next } else { c }];
        let ends = crossings.map(|c| self.particle(family, c) as u32);
        let crossings = crossings.map(|c| c as u32);
        Segment { weft: family == Family::Weft, yarn: yarn as u32, along: along as u32, crossings, ends }
    }

    /// Where the ends of a segment are drawn [m].
    #[inline(always)]
    pub(super) fn drawn_ends(&self, segment: &Segment) -> [Vec3; 2] {
        segment.crossings.map(|c| self.drawn(segment.family(), c as usize))
    }

    /// How far a particle goes in so many steps, if it goes on as in the last one [m].
    #[inline(always)]
    pub(super) fn ahead(&self, p: u32, steps: f64) -> Vec3 {
        (self.gone.get(p as usize) * steps).clamp_length_max(AHEAD * self.spec.spacing)
    }

    /// A way that isn't further than particles are looked ahead [m].
    #[inline(always)]
    pub(super) fn look_ahead(&self, way: Vec3) -> Vec3 {
        way.clamp_length_max(AHEAD * self.spec.spacing)
    }

    /// True if a yarn of a crossing ends there within the cloth.
    fn ends_at(&self, c: usize) -> bool {
        Family::BOTH.into_iter().any(|family| {
            let ((count, stride), along) = (self.line(family), self.on_yarn(family, c).1);
            along + 1 < count && !self.live(family, c) || along > 0 && !self.live(family, c - stride)
        })
    }

    /// Which segments are free.
    pub(super) fn mark_free(&self, near: &mut Near) {
        let (count, warps) = (self.kind.len(), self.spec.warps);
        let slipped = |c: usize| match self.kind[c] {
            Kind::Disconnected => true,
            Kind::Loose | Kind::Sliding => {
                let slip = |k: usize, from: usize| (self.along[k][c] - from as f64).abs() > SLIPPED;
                slip(0, c / warps) || slip(1, c % warps) || self.ends_at(c)
            }
            Kind::Welded | Kind::Connected => false,
        };
        near.free.clear();
        near.free.resize(2 * count, false);
        for c in (0..count).filter(|&c| slipped(c)) {
            for (k, family) in Family::BOTH.into_iter().enumerate() {
                let (stride, along) = (self.line(family).1, self.on_yarn(family, c).1);
                let before = if along > 0 { Some(c - stride) } else { None };
                for s in before.into_iter().chain([c]).filter(|&s| self.live(family, s)) {
                    near.free[k * count + s] = true;
                }
            }
        }
    }

    /// How far all particles go in a step: as fast as they are at the end of the last one, since what is let go of, as the ends of a yarn that broke, was slower before.
    pub(super) fn find_ways(&self, near: &mut Near) {
        near.way.resize(self.v.len(), Vec3::ZERO);
        parallel::for_each(&mut near.way, |p, way| *way = self.look_ahead(self.v.get(p) * self.spec.step));
    }
}
