//! What a woven cloth shows: yarns as lines of points, counts, lengths of free ends, events.

use super::pass::Passing;
use super::state::{Cut, Family, Kind, Woven};
use crate::math::{Fingerprint, Vec3};
use crate::sets::Sets;

/// Part of a yarn between cuts.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Warp or weft.
    pub family: Family,
    /// Number of the yarn.
    pub yarn: usize,
    /// Which of its crossings the first point is at.
    pub first: usize,
    /// Points, one per crossing [m]. Those of whole cloth are half a thickness off the sheet, by the weave (eq. 2).
    pub points: Vec<Vec3>,
    /// What each crossing is.
    pub kinds: Vec<Kind>,
}

/// How far a cloth has come apart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Crossings whose yarns are held together as two particles.
    pub couples: usize,
    /// Crossings whose yarns aren't held together any more.
    pub disconnected: usize,
    /// Cut springs.
    pub cuts: u64,
    /// Yarns with a cut.
    pub torn_yarns: usize,
    /// Parts that hang together by springs or crossings.
    pub pieces: usize,
    /// Crossings of the largest one.
    pub largest: usize,
}

impl Woven {
    /// All yarns, warps first, each in parts between cuts.
    pub fn runs(&self) -> Vec<Run> {
        let mut runs = Vec::new();
        for family in Family::BOTH {
            let over = if family == Family::Warp { 0.5 } else { -0.5 } * self.spec.thickness;
            for yarn in 0..self.yarns(family) {
                for [first, last] in self.parts(family, yarn) {
                    let all = (first..=last).map(|s| self.crossing_of(family, yarn, s));
                    let point = |c: usize| match self.kind[c] {
                        Kind::Welded | Kind::Sliding => self.at.get(c) + self.normal[c] * (over * self.side(c)),
                        _ => self.position(family, c),
                    };
                    let points = all.clone().map(point).collect();
                    runs.push(Run { family, yarn, first, points, kinds: all.map(|c| self.kind[c]).collect() });
                }
            }
        }
        runs
    }

    /// First and last crossing of the parts of a yarn between cuts.
    fn parts(&self, family: Family, yarn: usize) -> Vec<[usize; 2]> {
        let count = self.line(family).0;
        let mut parts = Vec::new();
        let mut first = 0;
        for s in 0..count {
            let c = self.crossing_of(family, yarn, s);
            if s + 1 == count || !self.live(family, c) {
                if !self.is_dust(family, c) {
                    parts.push([first, s]);
                }
                first = s + 1;
            }
        }
        parts
    }

    /// Lengths of the free ends that cuts have made [crossings]: from each end to the nearest crossing that holds, at most to the other end.
    pub fn free_lengths(&self) -> Vec<f64> {
        let mut lengths = Vec::new();
        for family in Family::BOTH {
            let k = usize::from(family == Family::Weft);
            let count = self.line(family).0;
            for yarn in 0..self.yarns(family) {
                let holds = |s: &usize| self.kind[self.crossing_of(family, yarn, *s)] != Kind::Disconnected;
                // Where crossings are along the yarn: particles move along it where crossings are two of them, and its springs have other lengths where they are one.
                let rest = |s: usize| self.springs(family).rest[self.crossing_of(family, yarn, s)] / self.spec.spacing;
                let one = self.loosened() == Kind::Sliding;
                let mut places = vec![0.0; count];
                (1..count).for_each(|s| places[s] = places[s - 1] + if one { rest(s - 1) } else { 1.0 });
                let place = |s: usize| if one { places[s] } else { self.along[k][self.crossing_of(family, yarn, s)] };
                let touched: Vec<f64> = (0..count).filter(holds).map(place).collect();
                let parts = self.parts(family, yarn);
                for (k_part, &[first, last]) in parts.iter().enumerate() {
                    let (low, high) = (places[first], places[last]);
                    let inside = || touched.iter().copied().filter(|at| (low..=high).contains(at));
                    // Half of a cut spring sticks out beyond its particle, less what has been drawn in since.
                    let stub = |s: usize| {
                        if one { self.stub[k][self.crossing_of(family, yarn, s)] / self.spec.spacing } else { 0.0 }
                    };
                    if k_part > 0 {
                        lengths.push(inside().fold(high, f64::min) - low + stub(first));
                    }
                    if k_part + 1 < parts.len() {
                        lengths.push(high - inside().fold(low, f64::max) + stub(last));
                    }
                }
            }
        }
        lengths
    }

    /// Particles of the parts that hang together by springs or crossings, largest first; a whole crossing counts as two.
    pub fn piece_sizes(&self) -> Vec<usize> {
        let half = self.kind.len();
        let mut sets = Sets::new(2 * half);
        for c in 0..half {
            for family in Family::BOTH {
                if self.live(family, c) {
                    let stride = self.line(family).1;
                    sets.join(self.particle(family, c) as u32, self.particle(family, c + stride) as u32);
                }
            }
            match self.kind[c] {
                Kind::Welded | Kind::Sliding => {
                    sets.join(c as u32, (half + c) as u32);
                }
                Kind::Connected | Kind::Loose => {
                    let at = |k: usize| self.along[k][c].round() as usize;
                    let (i, j) = (c % self.spec.warps, c / self.spec.warps);
                    let warp = self.crossing_of(Family::Warp, i, at(0));
                    let weft = self.crossing_of(Family::Weft, j, at(1));
                    sets.join(self.particle(Family::Warp, warp) as u32, self.particle(Family::Weft, weft) as u32);
                }
                Kind::Disconnected => {}
            }
        }
        let mut sizes = vec![0usize; 2 * half];
        let all = (0..2 * half).filter(|p| {
            let family = if *p < half { Family::Warp } else { Family::Weft };
            !self.is_dust(family, p % half)
        });
        all.for_each(|p| sizes[sets.root(p as u32) as usize] += 1);
        sizes.retain(|&size| size > 0);
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        sizes
    }

    /// How far it has come apart.
    pub fn counts(&self) -> Counts {
        let sizes = self.piece_sizes();
        let torn = |family: Family| (0..self.yarns(family)).filter(|&yarn| self.parts(family, yarn).len() > 1).count();
        let count = |kinds: &[Kind]| self.kind.iter().filter(|kind| kinds.contains(kind)).count();
        Counts {
            couples: count(&[Kind::Sliding, Kind::Connected, Kind::Loose]),
            disconnected: count(&[Kind::Disconnected]),
            cuts: self.cuts,
            torn_yarns: torn(Family::Warp) + torn(Family::Weft),
            pieces: sizes.len(),
            largest: sizes.first().copied().unwrap_or(0).div_ceil(2),
        }
    }

    /// Segments that ended a step on the wrong side of each other, each once, since the last call.
    pub fn take_passings(&mut self) -> Vec<Passing> {
        std::mem::take(&mut self.passed)
    }

    /// Cuts since the last call.
    pub fn take_events(&mut self) -> Vec<Cut> {
        std::mem::take(&mut self.events)
    }

    /// Springs cut so far.
    pub fn cut_count(&self) -> u64 {
        self.cuts
    }

    /// Steps taken.
    pub fn step_count(&self) -> u64 {
        self.step
    }

    /// Kinetic energy [J].
    pub fn kinetic_energy(&self) -> f64 {
        let half = self.kind.len();
        let places = |c: usize| if self.kind[c].is_one() { 1 } else { 2 };
        let of =
            |c: usize| [c, half + c].into_iter().take(places(c)).map(|p| self.v.get(p).length_squared()).sum::<f64>();
        (0..half).map(|c| 0.5 * self.mass(c) * of(c)).sum()
    }

    /// Mass [kg], momentum [kg·m/s] and angular momentum about the origin [kg·m²/s].
    pub fn momentum(&self) -> (f64, Vec3, Vec3) {
        let half = self.kind.len();
        let (mut mass, mut linear, mut angular) = (0.0, Vec3::ZERO, Vec3::ZERO);
        for c in 0..half {
            let m = self.mass(c);
            let both = if self.kind[c].is_one() { 1 } else { 2 };
            for p in [c, half + c].into_iter().take(both) {
                let push = self.v.get(p) * m;
                mass += m;
                linear += push;
                angular += self.at.get(p).cross(push);
            }
        }
        (mass, linear, angular)
    }

    /// A fingerprint of all that moves and holds.
    pub fn fingerprint(&self) -> u64 {
        let mut print = Fingerprint::default();
        print.word(self.step);
        for p in 0..self.at.len() {
            if p < self.kind.len() || !self.kind[p - self.kind.len()].is_one() {
                print.vector(self.at.get(p));
                print.vector(self.v.get(p));
            }
        }
        for c in 0..self.kind.len() {
            print.word(self.kind[c] as u64);
            for value in [self.along[0][c], self.along[1][c], self.warp.stiffness[c], self.weft.stiffness[c]] {
                print.word(value.to_bits());
            }
        }
        print.value()
    }
}
