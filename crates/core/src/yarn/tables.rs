//! Tables that are functions of the state: made anew when it changed its kind anywhere.

use super::couple::Couple;
use super::cross::Own;
use super::hold::Tie;
use super::line::{Block, GROUP};
use super::meet::Solid;
use super::near::Near;
use super::pair::{Ends, Pair};
use super::points::Points;
use super::sheet::for_each_part;
use super::slide::Slide;
use super::state::{Family, Kind, Woven};
use super::stray::Strays;
use super::zone::Zones;
use crate::lanes::LANES;
use crate::math::Vec3;
use crate::parallel;
use std::ops::Range;

/// A corner of a cell at a crossing that holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lock {
    /// The crossing.
    pub at: u32,
    /// The next particles along its warp and along its weft.
    pub ends: [u32; 2],
    /// One if weft and warp go on in the same sense from there, both forwards or both backwards, else minus one.
    pub sense: f64,
}

/// What a step works with.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    /// True once they agree with the state.
    pub ready: bool,
    /// True if they were made anew for this step or the one before, so that particles may be others.
    pub fresh: bool,
    /// Inverse mass of every particle [1/kg]; zero if held or unused.
    pub w: Vec<f64>,
    /// The same of warps' particles in single precision.
    pub light: Vec<f32>,
    /// What velocities are multiplied by in a substep; zero where unused.
    pub keep: Vec<f64>,
    /// Positions when the substep began.
    pub before: Points,
    /// Where inertia alone takes particles in a substep [m].
    pub guess: Points,
    /// Warps and wefts in groups.
    pub warps: Vec<Block>,
    pub wefts: Vec<Block>,
    /// One for a diagonal of whole cloth, by the first crossing of its cell: to the next one but one, and from the next one.
    pub rising: Vec<f32>,
    pub falling: Vec<f32>,
    /// Other diagonals, doubled: two particles each.
    pub shears: Vec<[u32; 2]>,
    /// Corners of torn cells at crossings that hold.
    pub locks: Vec<Lock>,
    /// Crossings among which some have two particles, in order: parts of rows, so that little else is with them.
    pub doubled: Vec<Range<usize>>,
    /// Yarns at crossings that they slide through: of warps and of wefts, in groups.
    pub slides: [Vec<Vec<Slide>>; 2],
    /// Crossings with two particles that hold each other.
    pub couples: Vec<Couple>,
    /// What pairs of segments are found with.
    pub near: Near,
    /// What pairs were ordered by when the step began: a number is found sooner than a pair.
    pub keys: Vec<u64>,
    /// Room for pairs, and for how long they rest.
    pub pairs: Vec<Pair>,
    pub rests: Vec<u8>,
    /// Ends of pairs, in the order of these.
    pub ends: Vec<Ends>,
    /// Pairs that have passed.
    pub wrong: Vec<u32>,
    /// What has strayed in a step.
    pub strays: Strays,
    /// What goes together for a substep.
    pub zones: Zones,
    /// By holds: springs that pull at them.
    pub ties: Vec<Vec<Tie>>,
    /// Bodies as yarns meet them.
    pub solids: Vec<Solid>,
    /// Normals of crossings when the step began.
    pub normal_before: Vec<Vec3>,
    /// What gusts multiply the wind by, for every particle.
    pub gust: Vec<f64>,
    /// Crossings of two particles: on warps and on wefts, in groups.
    pub own: [Vec<Vec<Own>>; 2],
    /// Crossings that are where they were woven, so that their shear springs mean something.
    pub in_place: Vec<bool>,
    /// Springs in the order of sweeps: family, crossing; empty until they are wanted.
    pub order: Vec<(Family, u32)>,
}

impl Tables {
    /// Those of the crossings with two particles that are among these, which are whole rows.
    pub fn doubled_in(&self, rows: Range<usize>) -> &[Range<usize>] {
        let from = self.doubled.partition_point(|part| part.start < rows.start);
        let to = self.doubled.partition_point(|part| part.start < rows.end);
        &self.doubled[from..to]
    }
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
        for points in [&mut t.before, &mut t.guess] {
            points.0.iter_mut().for_each(|column| column.resize(2 * count, 0.0));
        }
        self.follow_particles(&mut t, h);
        self.follow_shears(&mut t);
        self.follow_blocks(&mut t, h);
        t.own = Family::BOTH.map(|family| self.own(family));
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
                let begin = c / warps * warps;
                let part = begin + (c - begin) / LANES * LANES;
                let all = part..(part + LANES).min(begin + warps);
                match t.doubled.last_mut() {
                    Some(last) if last.end > part => {}
                    Some(last) if last.end == part && part > begin => last.end = all.end,
                    _ => t.doubled.push(all),
                }
                for (family, p) in Family::BOTH.into_iter().zip([c, count + c]) {
                    if self.is_dust(family, c) {
                        t.w[p] = 0.0;
                    }
                }
            }
        }
        t.light.clear();
        t.light.extend(t.w[..count].iter().map(|&w| w as f32));
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
        t.in_place.clear();
        t.in_place.extend((0..count).map(|c| self.in_place(c)));
        let in_place = &t.in_place;
        let one = |c: usize| self.kind[c].is_one();
        // The particle of a crossing in the upper or the lower plane.
        let layer = |c: usize, upper: bool| {
            let family = if (self.side(c) > 0.0) == upper { Family::Warp } else { Family::Weft };
            self.particle(family, c) as u32
        };
        let mut found: Vec<(Vec<[u32; 2]>, Vec<Lock>)> = vec![Default::default(); wefts.div_ceil(GROUP)];
        let rows = t.rising.chunks_mut(GROUP * warps).zip(t.falling.chunks_mut(GROUP * warps));
        let parts = rows.zip(&mut found).enumerate().collect();
        for_each_part(parts, count, |(group, ((rising, falling), (shears, locks)))| {
            let first = group * GROUP;
            for (i, j) in (first..(first + GROUP).min(wefts - 1)).flat_map(|j| (0..warps - 1).map(move |i| (i, j))) {
                let c = j * warps + i;
                let corners = [c, c + 1, c + warps, c + warps + 1];
                let sides = self.live(Family::Weft, c)
                    && self.live(Family::Weft, c + warps)
                    && self.live(Family::Warp, c)
                    && self.live(Family::Warp, c + 1);
                if !(sides && corners.iter().all(|&c| in_place[c])) {
                    // Each corner: the crossing, the next along its warp and along its weft, the springs to them, and the sense.
                    let [a, b, d, e] = corners;
                    for (at, [warp, weft], [on_warp, on_weft], sense) in [
                        (a, [d, b], [a, a], 1.0),
                        (b, [e, a], [b, a], -1.0),
                        (d, [a, e], [a, d], -1.0),
                        (e, [b, d], [b, d], 1.0),
                    ] {
                        if one(at) && self.live(Family::Warp, on_warp) && self.live(Family::Weft, on_weft) {
                            let ends = [self.particle(Family::Warp, warp), self.particle(Family::Weft, weft)];
                            locks.push(Lock { at: at as u32, ends: ends.map(|p| p as u32), sense });
                        }
                    }
                    continue;
                }
                let here = c - first * warps;
                for ([a, b], diagonals) in [([c, c + warps + 1], &mut *rising), ([c + 1, c + warps], &mut *falling)] {
                    if one(a) && one(b) {
                        diagonals[here] = 1.0;
                    } else {
                        shears.extend([true, false].map(|upper| [layer(a, upper), layer(b, upper)]));
                    }
                }
            }
        });
        t.shears.clear();
        t.shears.extend(found.iter().flat_map(|of| &of.0));
        t.locks.clear();
        t.locks.extend(found.iter().flat_map(|of| &of.1));
    }

    /// Crossings of two particles, by the groups of a family's yarns.
    fn own(&self, family: Family) -> Vec<Vec<Own>> {
        let mut groups = vec![Vec::new(); self.yarns(family).div_ceil(GROUP)];
        for c in (0..self.kind.len()).filter(|&c| !self.kind[c].is_one()) {
            let (yarn, at) = self.on_yarn(family, c);
            let lane = (yarn % GROUP) as u32;
            groups[yarn / GROUP].push(Own { at: at as u32, lane, crossing: c as u32, d: [0.0; 3] });
        }
        groups
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
                for s in 0..nodes {
                    for l in 0..GROUP {
                        let yarn = (g * GROUP + l).min(yarns - 1);
                        let c = self.crossing_of(family, yarn, s);
                        let (k, rest) = (springs.stiffness[c], springs.rest[c]);
                        let heavy = |s: usize| w[self.particle(family, self.crossing_of(family, yarn, s))];
                        let live = |s: usize| self.live(family, self.crossing_of(family, yarn, s));
                        let node = &mut block.nodes[s];
                        node.w[l] = heavy(s) as f32;
                        (block.rest[s][l], node.rest[l]) = (rest, rest as f32);
                        node.pull[l] = if k > 0.0 { springs.pull[c] as f32 } else { 0.0 };
                        node.live[l] = if k > 0.0 { 1.0 } else { 0.0 };
                        let bent = s + 2 < nodes && live(s) && live(s + 1);
                        let k_bend = self.spec.bend * h * h;
                        let bend = |w: f64| (k_bend / (1.0 + 2.0 * k_bend * w)) as f32;
                        node.bend[l] = if bent { bend(heavy(s) + heavy(s + 2)) } else { 0.0 };
                        // A spring of another length is as much stiffer as it is shorter.
                        let k = if k > 0.0 { k } else { self.spec.stretch };
                        node.soft[l] = (rest / (k * self.spec.spacing * h * h)) as f32;
                    }
                }
            });
        }
    }
}
