//! Tables that are functions of the state: made anew when it changed its kind anywhere.

use super::collide::Near;
use super::couple::Couple;
use super::hold::Tie;
use super::line::{Block, GROUP};
use super::meet::Solid;
use super::points::Points;
use super::slide::Slide;
use super::state::{Family, Kind, Woven};
use crate::parallel;

/// What a step works with.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    /// True once they agree with the state.
    pub ready: bool,
    /// True if they were made anew for this step or the one before, so that particles may be others.
    pub fresh: bool,
    /// Inverse mass of every particle [1/kg]; zero if held or unused.
    pub w: Vec<f64>,
    /// What velocities are multiplied by in a substep; zero where unused.
    pub keep: Vec<f64>,
    /// Positions when the substep began.
    pub before: Points,
    /// Where inertia alone takes particles in a substep [m].
    pub guess: Points,
    /// What moves them from there, tensions and all else, then what tensions make of it [m].
    pub moved: Points,
    /// By crossings: what warps, then what wefts hold particles with, over their inertia.
    pub heavy: Vec<f64>,
    /// Warps and wefts in groups.
    pub warps: Vec<Block>,
    pub wefts: Vec<Block>,
    /// One for a diagonal of whole cloth, by the first crossing of its cell: to the next one but one, and from the next one.
    pub rising: Vec<f64>,
    pub falling: Vec<f64>,
    /// Other diagonals, doubled: two particles each.
    pub shears: Vec<[u32; 2]>,
    /// Corners of torn cells at crossings that hold: the next particles along both yarns, and how near to each other they can be [m].
    pub locks: Vec<([u32; 2], f64)>,
    /// By rows: whether any crossing has two particles.
    pub doubled: Vec<bool>,
    /// Yarns at crossings that they slide through: of warps and of wefts, in groups.
    pub slides: [Vec<Vec<Slide>>; 2],
    /// Crossings with two particles that hold each other.
    pub couples: Vec<Couple>,
    /// What pairs of segments are found with.
    pub near: Near,
    /// Pairs that are on the wrong side of each other.
    pub wrong: Vec<u32>,
    /// By holds: springs that pull at them.
    pub ties: Vec<Vec<Tie>>,
    /// Bodies as yarns meet them.
    pub solids: Vec<Solid>,
    /// What gusts multiply the wind by, for every particle.
    pub gust: Vec<f64>,
    /// All bits set where a crossing has two particles, none where it has one.
    pub two: Vec<u64>,
    /// Crossings that are where they were woven, so that their shear springs mean something.
    pub in_place: Vec<bool>,
    /// Springs in the order of sweeps: family, crossing; empty until they are wanted.
    pub order: Vec<(Family, u32)>,
}

impl Woven {
    /// Brings the tables up to date, for a substep of `h` [s].
    pub(super) fn follow(&mut self, h: f64) {
        let slid = |slide: &Slide| self.tables.in_place[slide.crossing()] != self.in_place(slide.crossing());
        let moved = |couple: &Couple| self.tables.in_place[couple.crossing()] != self.in_place(couple.crossing());
        let same = self.tables.ready
            && !self.tables.couples.iter().any(moved)
            && !self.tables.slides.iter().flatten().flatten().any(slid);
        self.tables.fresh = !same;
        if same {
            return;
        }
        let mut t = std::mem::take(&mut self.tables);
        let count = self.kind.len();
        t.heavy.resize(count, 0.0);
        for points in [&mut t.before, &mut t.moved, &mut t.guess] {
            points.0.iter_mut().for_each(|column| column.resize(2 * count, 0.0));
        }
        self.follow_particles(&mut t, h);
        self.follow_shears(&mut t);
        self.follow_blocks(&mut t, h);
        t.slides = Family::BOTH.map(|family| self.slides(family, h));
        t.order.clear();
        t.ties = self.ties();
        (t.ready, t.fresh) = (true, true);
        self.tables = t;
    }

    fn follow_particles(&self, t: &mut Tables, h: f64) {
        let count = self.kind.len();
        let warps = self.spec.warps;
        t.w.clear();
        t.w.resize(2 * count, 0.0);
        t.keep.clear();
        t.keep.resize(2 * count, 0.0);
        t.doubled.clear();
        t.doubled.resize(self.spec.wefts, false);
        t.two.clear();
        t.two.extend(self.kind.iter().map(|&kind| if kind.is_one() { 0 } else { u64::MAX }));
        t.gust.clear();
        t.gust.resize(2 * count, 1.0);
        let keep = |rate: f64| 1.0 / (1.0 + rate * h);
        let damping = self.spec.damping;
        for c in 0..count {
            let rate = match self.kind[c] {
                Kind::Welded => damping.sheet,
                Kind::Sliding | Kind::Connected | Kind::Loose => damping.couple,
                Kind::Disconnected => damping.free,
            };
            let held = self.held[c] != 0;
            let (w, keep) = if held { (0.0, 1.0) } else { (1.0 / self.mass(c), keep(rate)) };
            (t.w[c], t.keep[c]) = (w, keep);
            if !self.kind[c].is_one() {
                (t.w[count + c], t.keep[count + c]) = (w, keep);
                t.doubled[c / warps] = true;
            }
        }
    }

    /// True if a crossing still is where it was woven, to half a spacing.
    fn in_place(&self, c: usize) -> bool {
        let slip = |family: Family, k: usize| (self.along[k][c] - self.on_yarn(family, c).1 as f64).abs();
        self.kind[c] != Kind::Disconnected && slip(Family::Warp, 0) < 0.5 && slip(Family::Weft, 1) < 0.5
    }

    fn follow_shears(&self, t: &mut Tables) {
        let (warps, wefts, count) = (self.spec.warps, self.spec.wefts, self.kind.len());
        for diagonals in [&mut t.rising, &mut t.falling] {
            diagonals.clear();
            diagonals.resize(count, 0.0);
        }
        t.shears.clear();
        t.locks.clear();
        t.in_place.clear();
        t.in_place.extend((0..count).map(|c| self.in_place(c)));
        let one = |c: usize| self.kind[c].is_one();
        // The particle of a crossing in the upper or the lower plane.
        let layer = |c: usize, upper: bool| {
            let family = if (self.side(c) > 0.0) == upper { Family::Warp } else { Family::Weft };
            self.particle(family, c) as u32
        };
        for j in 0..wefts - 1 {
            for i in 0..warps - 1 {
                let c = j * warps + i;
                let corners = [c, c + 1, c + warps, c + warps + 1];
                let sides = self.live(Family::Weft, c)
                    && self.live(Family::Weft, c + warps)
                    && self.live(Family::Warp, c)
                    && self.live(Family::Warp, c + 1);
                if !(sides && corners.iter().all(|&c| t.in_place[c])) {
                    // Each corner: the crossing, the next along its warp and along its weft, and the springs to them.
                    let [a, b, d, e] = corners;
                    for (at, [warp, weft], [on_warp, on_weft]) in
                        [(a, [d, b], [a, a]), (b, [e, a], [b, a]), (d, [a, e], [a, d]), (e, [b, d], [b, d])]
                    {
                        if one(at) && self.live(Family::Warp, on_warp) && self.live(Family::Weft, on_weft) {
                            let ends = [self.particle(Family::Warp, warp), self.particle(Family::Weft, weft)];
                            let rest = self.warp.rest[on_warp].min(self.weft.rest[on_weft]).min(self.spec.spacing);
                            t.locks.push((ends.map(|p| p as u32), self.spec.packing * rest));
                        }
                    }
                    continue;
                }
                for ([a, b], diagonals) in [([c, c + warps + 1], &mut t.rising), ([c + 1, c + warps], &mut t.falling)] {
                    if one(a) && one(b) {
                        diagonals[c] = 1.0;
                    } else {
                        t.shears.extend([true, false].map(|upper| [layer(a, upper), layer(b, upper)]));
                    }
                }
            }
        }
    }

    fn follow_blocks(&self, t: &mut Tables, h: f64) {
        let Tables { w, warps, wefts, .. } = t;
        let w = &*w;
        for (family, blocks) in [(Family::Warp, warps), (Family::Weft, wefts)] {
            let (nodes, yarns) = (self.line(family).0, self.yarns(family));
            blocks.resize_with(yarns.div_ceil(GROUP), || Block::new(nodes));
            let springs = self.springs(family);
            parallel::for_each_chunk(blocks, 1, |g, block| {
                let block = &mut block[0];
                for l in 0..GROUP {
                    let yarn = (g * GROUP + l).min(yarns - 1);
                    for s in 0..nodes {
                        let c = self.crossing_of(family, yarn, s);
                        let k = springs.stiffness[c];
                        block.w[s][l] = w[self.particle(family, c)];
                        block.shared[s][l] = if self.kind[c].is_one() { 1.0 } else { 0.0 };
                        block.rest[s][l] = springs.rest[c];
                        block.pull[s][l] = springs.pull[c];
                        block.live[s][l] = if k > 0.0 { 1.0 } else { 0.0 };
                        let next = if s + 2 < nodes {
                            w[self.particle(family, self.crossing_of(family, yarn, s + 2))]
                        } else {
                            0.0
                        };
                        let k_bend = self.spec.bend * h * h;
                        block.bend[s][l] = k_bend / (1.0 + 2.0 * k_bend * (w[self.particle(family, c)] + next));
                        // A spring of another length is as much stiffer as it is shorter.
                        let k = if k > 0.0 { k } else { self.spec.stretch };
                        block.soft[s][l] = springs.rest[c] / (k * self.spec.spacing * h * h);
                    }
                }
            });
        }
    }
}
