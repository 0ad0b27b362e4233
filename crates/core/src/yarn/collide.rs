//! Yarns keep off each other: free ones, free ones and whole cloth, whole cloth and itself.
//!
//! Every two to six steps, by how fast free yarns change their shape, segments that are near each other, or would meet until the next time if they went on as in the step before ([`crate::contact::ccd`], which doesn't
//! miss any), become pairs. Then each pair is kept T apart along the line between its nearest points, which stays on the side it was on when the
//! pair was found, also over several lists:
//!
//! λ = (T − d) / Σ w β²,  x ← x ± w β λ n
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | T | `thickness` | m | distance kept |
//! | d, n | `between`, `normal` | m, 1 | from the nearest point of the second segment to that of the first; its direction |
//! | β | `share` | 1 | 1 − s, s, t − 1, −t: shares of the four ends at the nearest points |
//!
//! It is enough to do so in every other substep, and less often for pairs that are further apart than they go in the meantime, by twice the speed at
//! which they began the step.
//!
//! What may be near is found by the [tree](crate::contact::tree) of boxes that sheets use, which asks for the *relative* motion. Its leaves are segments of free yarns (those with
//! a disconnected crossing, or one that has slipped by more than [`SLIPPED`]), one by one, and tiles of 4 × 4 crossings of the rest. The tree depends on what came before, but which
//! pairs there are doesn't, and they are put in the order of their segments and kept with the state: so a resumed run agrees in every bit. What comes free between two lists is compared with all
//! that is near, and its pairs are added.
//!
//! At the end of a step pairs that are on the wrong side of each other are gone over again, up to [`ROUNDS`] times.
//!
//! Not compared: segments of one yarn that are near along it, segments around a crossing that still holds, tiles that touch and are flat together.
//! Source: Metaaphanon 2009 §4.2, eq. 5. Deviations: inclusion search instead of the roots of a cubic; whole cloth too. Limits: pairs that meet only by
//! what pushes them within a step are seen at its end; the tip of a yarn can go through between the yarns of whole cloth.

use super::state::{Family, Kind, Woven};
use crate::contact::ccd;
use crate::contact::tree::{Swept, Tree};
use crate::math::Vec3;
use crate::parallel;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Two segments that may touch.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Pair {
    /// Their numbers, the smaller one first.
    key: [u32; 2],
    /// Their particles.
    ends: [u32; 4],
    /// From the second to the first (unit).
    normal: Vec3,
    /// How far they come nearer to each other in a step, at most [m].
    way: f64,
    /// Looks that it doesn't need, since it was far apart.
    rests: u8,
    /// Lists in which it was on the wrong side.
    wrong: u8,
}

/// A segment of a yarn.
#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    /// Its yarn's family.
    weft: bool,
    yarn: u32,
    along: u32,
    ends: [u32; 2],
}

/// Some crossings of whole cloth.
#[derive(Clone, Copy)]
struct Tile {
    /// Column and row.
    place: [u32; 2],
    /// Where its segments end.
    end: u32,
    /// Mean normal (unit), and the least cosine of a crossing's with it.
    normal: Vec3,
    flat: f64,
}

impl Tile {
    /// True if tiles that touch are so flat together that they can't meet: a sheet has to turn by more than half a circle to come back to itself.
    fn lies_with(&self, other: &Self) -> bool {
        self.flat > FLAT && other.flat > FLAT && self.normal.dot(other.normal) > FLAT_TOGETHER
    }
}

/// Least cosine within a flat tile and between two. Tiles whose mean normals are less than a right angle apart may touch where both are bent the same way, but seldom do.
const FLAT: f64 = 0.3;
const FLAT_TOGETHER: f64 = 0.0;

/// Least cosine within a tile that doesn't meet itself.
const FOLDED: f64 = 0.3;

/// What may be near each other, and the tree over it.
#[derive(Default)]
pub(super) struct Near {
    /// All segments by their numbers; those that are cut are of no meaning.
    segments: Vec<Segment>,
    /// Segments of free yarns.
    free: Vec<u32>,
    /// Segments of the rest, tile by tile.
    whole: Vec<u32>,
    /// Tiles of the rest.
    tiles: Vec<Tile>,
    /// How many steps the list is for, and how far particles go in them [m].
    steps: f64,
    way: Vec<Vec3>,
    /// Where segments are and how far they go, by their numbers, in single precision around an origin.
    boxes: Vec<Swept>,
    tree: Tree,
    built: bool,
    /// Segments may have other particles than the table says.
    stale: bool,
    lists: Vec<Vec<Pair>>,
}

impl Clone for Near {
    /// An empty one: it is made anew when it is wanted.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl std::fmt::Debug for Near {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} free segments, {} tiles", self.free.len(), self.tiles.len())
    }
}

/// Slip from which on a crossing's yarns count as free [crossings]: before that neighbours keep it in its place.
const SLIPPED: f64 = 0.5;

/// Substeps from one time that pairs are kept apart to the next.
pub(super) const EVERY: u32 = 2;

/// Square of a length that is none [m²].
const SHORT: f64 = 1e-24;

/// How often pairs that are on the wrong side of each other are gone over at the end of a step, at most.
const ROUNDS: u32 = 8;

/// Lists after which a pair that is on the wrong side stays there.
const FORGET: u8 = 2;

/// Steps from one list of pairs to the next, at least and at most.
const STEPS: [f64; 2] = [2.0, 6.0];

/// How far the ends of a free segment go in that time beside each other, root of the mean square [spacings].
const ASIDE: f64 = 0.25;

/// Share of T beyond T within which segments are near.
const NEAR: f64 = 0.5;

/// Furthest that a particle is looked ahead [spacings].
const AHEAD: f64 = 40.0;

/// Segments along a yarn between which its length is asked for.
const MANY: usize = 24;

/// Crossings along the side of a tile.
const TILE: usize = 4;

/// Tiles, and segments that have come free, that are work for one thread.
const FEW_TILES: usize = 128;
const FEW_FREED: usize = 4;

/// Most looks that a pair rests.
const MOST_RESTS: f64 = 12.0;

impl Near {
    fn tile(&self, t: usize) -> &[u32] {
        let begin = if t == 0 { 0 } else { self.tiles[t - 1].end };
        &self.whole[begin as usize..self.tiles[t].end as usize]
    }
}

impl Woven {
    /// Pairs of segments for the next steps.
    pub(super) fn find_pairs(&mut self) {
        if !self.spec.self_collision {
            return;
        }
        let mut near = std::mem::take(&mut self.tables.near);
        near.stale |= self.tables.fresh;
        if self.step >= self.list_until {
            self.list_pairs(&mut near);
        } else if self.tables.fresh {
            // Particles may be others.
            let mut pairs = std::mem::take(&mut self.pairs);
            parallel::for_each(&mut pairs, |_, pair| {
                let (a, b) = (self.segment(pair.key[0]), self.segment(pair.key[1]));
                pair.ends = [a.ends[0], a.ends[1], b.ends[0], b.ends[1]];
            });
            pairs.retain(|pair| self.is_live(pair.key[0]) && self.is_live(pair.key[1]));
            self.pairs = pairs;
        }
        self.list_freed();
        self.tables.near = near;
    }

    fn list_pairs(&mut self, near: &mut Near) {
        self.list_units(near);
        let origin = self.at.get(0);
        let steps = self.steps_ahead(near);
        self.list_until = self.step + steps as u64;
        self.freed.clear();
        near.steps = steps;
        let particles = self.gone.len();
        near.way.resize(particles, Vec3::ZERO);
        let mut largest = vec![0.0_f64; particles.div_ceil(parallel::CHUNK)];
        parallel::for_each_domain(&mut near.way, parallel::CHUNK, &mut largest, |first, ways, largest| {
            for (p, way) in (first..).zip(ways) {
                *way = self.ahead(p, steps);
                // The weft's place is unused where both yarns are one particle.
                if p < self.kind.len() || !self.kind[p - self.kind.len()].is_one() {
                    *largest = largest.max(((self.at.get(p) - origin).abs() + way.abs()).max_element());
                }
            }
        });
        let largest = largest.into_iter().fold(0.0, f64::max);
        near.boxes.resize(near.segments.len(), Swept::NONE);
        let Near { boxes, segments, way, .. } = &mut *near;
        parallel::for_each(boxes, |id, of| {
            let corner = |p: u32| ((self.at.get(p as usize) - origin).as_vec3a(), way[p as usize].as_vec3a());
            *of = Swept::of(segments[id].ends.map(corner));
        });
        let (singles, units) = (near.free.len(), near.free.len() + near.tiles.len());
        let (mut tree, mut lists) = (std::mem::take(&mut near.tree), std::mem::take(&mut near.lists));
        let corners = |id: u32| {
            let ends = near.segments[id as usize].ends;
            ends.map(|p| ((self.at.get(p as usize) - origin).as_vec3a(), near.way[p as usize].as_vec3a()))
        };
        let boxed = |unit: u32| match (unit as usize).checked_sub(singles) {
            None => near.boxes[near.free[unit as usize] as usize],
            Some(tile) => near.tile(tile).iter().fold(Swept::NONE, |all, &id| all.with(&near.boxes[id as usize])),
        };
        if !near.built {
            let middle = |unit: usize| {
                let id = if unit < singles { near.free[unit] } else { near.tile(unit - singles)[0] };
                corners(id)[0].0
            };
            tree.build(&(0..units).map(middle).collect::<Vec<_>>(), 0);
        }
        let built = tree.refit(boxed);
        let reach = ((1.0 + NEAR) * self.spec.thickness + 1e-6 * largest) as f32;
        let meets = |id: u32, with: &Swept| near.boxes[id as usize].may_meet(with, reach);
        let take = |f: u32, g: u32, f_box: &Swept, g_box: &Swept, list: &mut Vec<Pair>| {
            let (f, g) = (f as usize, g as usize);
            match (f.checked_sub(singles), g.checked_sub(singles)) {
                (None, None) => list.extend(self.listed(near, near.free[f], near.free[g])),
                (Some(tile), None) | (None, Some(tile)) => {
                    let (id, id_box) = if f < singles { (near.free[f], f_box) } else { (near.free[g], g_box) };
                    for &other in near.tile(tile) {
                        if meets(other, id_box) {
                            list.extend(self.listed(near, id, other));
                        }
                    }
                }
                (Some(a), Some(b)) => {
                    let ([p, q], [r, s]) = (near.tiles[a].place, near.tiles[b].place);
                    let touch = p.abs_diff(r) <= 1 && q.abs_diff(s) <= 1;
                    if touch && near.tiles[a].lies_with(&near.tiles[b]) {
                        return;
                    }
                    for &id in near.tile(a) {
                        if !meets(id, g_box) {
                            continue;
                        }
                        let id_box = &near.boxes[id as usize];
                        for &other in near.tile(b) {
                            if meets(other, id_box) {
                                list.extend(self.listed(near, id, other));
                            }
                        }
                    }
                }
            }
        };
        tree.pairs(reach, |_, _| false, take, &mut lists);
        let mut pairs: Vec<Pair> = Vec::with_capacity(self.pairs.len());
        lists.iter().for_each(|list| pairs.extend_from_slice(list));
        for tile in (0..near.tiles.len()).filter(|&t| near.tiles[t].flat < FOLDED) {
            let ids = near.tile(tile);
            for (k, &id) in ids.iter().enumerate() {
                pairs.extend(ids[k + 1..].iter().filter_map(|&other| self.listed(near, id, other)));
            }
        }
        // No two are of the same segments, so there is one order.
        if rayon::current_num_threads() == 1 {
            pairs.sort_unstable_by_key(|pair| pair.key);
        } else {
            pairs.par_sort_unstable_by_key(|pair| pair.key);
        }
        // What is on the wrong side of each other still knows where it belongs, for a while: what doesn't come free tears at everything around.
        let mut old = self.pairs.iter().peekable();
        for pair in &mut pairs {
            while old.next_if(|old| old.key < pair.key).is_some() {}
            if let Some(old) = old.next_if(|old| old.key == pair.key)
                && old.normal.dot(pair.normal) < 0.0
                && old.wrong < FORGET
            {
                (pair.normal, pair.wrong) = (old.normal, old.wrong + 1);
            }
        }
        self.pairs = pairs;
        (near.tree, near.built, near.lists) = (tree, built, lists);
    }

    /// How far a particle goes in so many steps, if it goes on as in the last one [m].
    #[inline(always)]
    fn ahead(&self, p: usize, steps: f64) -> Vec3 {
        (self.gone.get(p) * steps).clamp_length_max(AHEAD * self.spec.spacing)
    }

    /// Adds the pairs of segments that have come free since the list was made, until it is made anew: of each with all that may be near it.
    fn list_freed(&mut self) {
        let mut freed = std::mem::take(&mut self.freed);
        freed.sort_unstable();
        freed.dedup();
        freed.retain(|&id| self.is_live(id));
        if freed.is_empty() {
            return;
        }
        let (count, warps, wefts) = (self.kind.len(), self.spec.warps, self.spec.wefts);
        let steps = (self.list_until - self.step) as f64;
        let origin = self.position(Family::Warp, freed[0] as usize % count);
        let corner = |p: usize| ((self.at.get(p) - origin).as_vec3a(), self.ahead(p, steps).as_vec3a());
        let segment_box = |segment: &Segment| Swept::of(segment.ends.map(|p| corner(p as usize)));
        // Tiles with all segments that begin in them.
        let columns = warps.div_ceil(TILE);
        let crossings = |tile: usize, more: usize| {
            let (i, j) = (tile % columns * TILE, tile / columns * TILE);
            (j..(j + TILE + more).min(wefts))
                .flat_map(move |j| (i..(i + TILE + more).min(warps)).map(move |i| j * warps + i))
        };
        let mut tiles = vec![Swept::NONE; columns * wefts.div_ceil(TILE)];
        parallel::for_each_chunk(&mut tiles, FEW_TILES, |first, tiles| {
            for (k, tile) in tiles.iter_mut().enumerate() {
                for c in crossings(first + k, 1) {
                    *tile = tile.with(&Swept::of([corner(c)]));
                    if !self.kind[c].is_one() {
                        *tile = tile.with(&Swept::of([corner(count + c)]));
                    }
                }
            }
        });
        // What single precision rounds away is far less than T, around what has come free.
        let reach = (3.0 * self.spec.thickness) as f32;
        let mut found = vec![Vec::new(); freed.len()];
        parallel::for_each_chunk(&mut found, FEW_FREED, |first, found| {
            for (found, &id) in found.iter_mut().zip(&freed[first..]) {
                let segment = self.segment(id);
                let around = segment_box(&segment);
                for tile in (0..tiles.len()).filter(|&t| tiles[t].may_meet(&around, reach)) {
                    for other in crossings(tile, 0).flat_map(|c| [c as u32, (count + c) as u32]) {
                        // Of two that have come free one asks.
                        let asks = other < id && freed.binary_search(&other).is_ok();
                        if other == id || asks || !self.is_live(other) {
                            continue;
                        }
                        let with = self.segment(other);
                        if segment_box(&with).may_meet(&around, reach) {
                            let both = if id < other {
                                [(id, segment), (other, with)]
                            } else {
                                [(other, with), (id, segment)]
                            };
                            found.extend(self.pair(both, |p| self.ahead(p, steps), steps));
                        }
                    }
                }
            }
        });
        let known = |pair: &Pair| self.pairs.binary_search_by_key(&pair.key, |pair| pair.key).is_ok();
        let found: Vec<Pair> = found.into_iter().flatten().filter(|pair| !known(pair)).collect();
        self.pairs.extend(found);
        self.pairs.sort_by_key(|pair| pair.key);
    }

    /// Segments around a crossing that has come apart are free now: those that end there, and more of what has little yarn between its particles.
    pub(super) fn free_around(&mut self, c: usize) {
        for family in Family::BOTH {
            let (yarn, at) = self.on_yarn(family, c);
            let first = if family == Family::Weft { self.kind.len() } else { 0 };
            let rest = |s: usize| self.springs(family).rest[self.crossing_of(family, yarn, s)];
            let (before, after) = ((0..at).rev().take(MANY), (at..self.line(family).0 - 1).take(MANY));
            let mut near = Vec::new();
            for springs in [before.collect::<Vec<_>>(), after.collect()] {
                let mut between = 0.0;
                for s in springs {
                    near.push((first + self.crossing_of(family, yarn, s)) as u32);
                    between += rest(s);
                    if between >= 2.0 * self.spec.thickness {
                        break;
                    }
                }
            }
            self.freed.extend(near);
        }
    }

    /// How many steps a list is good for.
    fn steps_ahead(&self, near: &Near) -> f64 {
        let aside = |id: &u32| {
            let [p, q] = near.segments[*id as usize].ends.map(|p| self.gone.get(p as usize));
            p.distance_squared(q)
        };
        let mean = near.free.iter().map(aside).sum::<f64>() / near.free.len().max(1) as f64;
        let steps = ASIDE * self.spec.spacing / mean.sqrt();
        steps.clamp(STEPS[0], STEPS[1]).floor()
    }

    /// Which segments are free and which are whole cloth.
    fn list_units(&self, near: &mut Near) {
        let (count, warps, wefts) = (self.kind.len(), self.spec.warps, self.spec.wefts);
        let slipped = |c: usize| match self.kind[c] {
            Kind::Disconnected => true,
            Kind::Loose | Kind::Sliding => {
                let slip = |k: usize, from: usize| (self.along[k][c] - from as f64).abs() > SLIPPED;
                slip(0, c / warps) || slip(1, c % warps)
            }
            Kind::Welded | Kind::Connected => false,
        };
        let free: Vec<bool> = (0..count).map(slipped).collect();
        let (before, whole) = (std::mem::take(&mut near.free), std::mem::take(&mut near.whole));
        near.tiles.clear();
        for row in (0..wefts).step_by(TILE) {
            for column in (0..warps).step_by(TILE) {
                for j in row..(row + TILE).min(wefts) {
                    for c in j * warps + column..j * warps + (column + TILE).min(warps) {
                        for family in Family::BOTH {
                            if self.live(family, c) {
                                let id = c as u32 + if family == Family::Weft { count as u32 } else { 0 };
                                let loose = free[c] || free[c + self.line(family).1];
                                if loose { near.free.push(id) } else { near.whole.push(id) }
                            }
                        }
                    }
                }
                let end = near.whole.len() as u32;
                if end > near.tiles.last().map_or(0, |tile| tile.end) {
                    let rows = row..(row + TILE).min(wefts);
                    let normals = || {
                        rows.clone()
                            .flat_map(|j| &self.normal[j * warps + column..j * warps + (column + TILE).min(warps)])
                    };
                    let normal = normals().sum::<Vec3>().normalize_or_zero();
                    let flat = normals().fold(1.0, |least: f64, n| least.min(n.dot(normal)));
                    near.tiles.push(Tile { place: [(column / TILE) as u32, (row / TILE) as u32], end, normal, flat });
                }
            }
        }
        let same = before == near.free && whole == near.whole;
        // A copy begins with none.
        if std::mem::take(&mut near.stale) || near.segments.len() != 2 * count {
            near.segments.resize(2 * count, Segment::default());
            parallel::for_each(&mut near.segments, |id, segment| *segment = self.segment(id as u32));
        }
        near.built &= same;
    }

    /// Is the segment with this number there?
    fn is_live(&self, id: u32) -> bool {
        let (count, id) = (self.kind.len(), id as usize);
        if id < count { self.live(Family::Warp, id) } else { self.live(Family::Weft, id - count) }
    }

    /// A segment by its number: its first crossing, and for wefts the number of all crossings more.
    fn segment(&self, id: u32) -> Segment {
        let (count, id) = (self.kind.len(), id as usize);
        let (family, c) = if id < count { (Family::Warp, id) } else { (Family::Weft, id - count) };
        let (yarn, along) = self.on_yarn(family, c);
        let next = c + self.line(family).1;
        // Past the last crossing of a yarn there is none.
        let ends = [c, if next < count { next } else { c }].map(|c| self.particle(family, c) as u32);
        Segment { weft: family == Family::Weft, yarn: yarn as u32, along: along as u32, ends }
    }

    /// True if two segments are of one yarn and near along it, or around a crossing that holds.
    #[inline(always)]
    fn together(&self, a: &Segment, b: &Segment) -> bool {
        if a.weft == b.weft {
            return a.yarn == b.yarn && self.follow_each_other(a, b);
        }
        let (warp, weft) = if b.weft { (a, b) } else { (b, a) };
        let c = self.crossing(warp.yarn as usize, weft.yarn as usize);
        if self.kind[c].is_one() {
            // It stays at its place along both.
            let near = |segment: &Segment, at: u32| match segment.along.checked_sub(at) {
                Some(beyond) => beyond <= 1 || self.is_short(segment, at..segment.along),
                None => at - segment.along <= 2 || self.is_short(segment, segment.along + 1..at),
            };
            return near(warp, weft.yarn) && near(weft, warp.yarn);
        }
        let near = |k: usize, along: u32| (self.along[k][c] - (f64::from(along) + 0.5)).abs() < 1.5;
        self.kind[c] != Kind::Disconnected && near(0, warp.along) && near(1, weft.along)
    }

    /// True if two segments of a yarn are so near along it that they can't be kept apart.
    fn follow_each_other(&self, a: &Segment, b: &Segment) -> bool {
        let (low, high) = (a.along.min(b.along), a.along.max(b.along));
        if high - low <= 2 {
            return true;
        }
        self.is_short(a, low + 1..high)
    }

    /// True if there is no more of a segment's yarn between two places along it than a crossing needs: an end that is drawn in has many particles in little yarn.
    fn is_short(&self, of: &Segment, springs: std::ops::Range<u32>) -> bool {
        let family = if of.weft { Family::Weft } else { Family::Warp };
        let rest = |s: u32| self.springs(family).rest[self.crossing_of(family, of.yarn as usize, s as usize)];
        springs.len() <= MANY && springs.map(rest).sum::<f64>() < 2.0 * self.spec.thickness
    }

    /// Forgets what was known of pairs with segments of a family that begin at these crossings: they have gone elsewhere along their yarn.
    pub(super) fn forget_pairs(&mut self, family: Family, crossings: &[usize]) {
        let first = if family == Family::Weft { self.kind.len() } else { 0 };
        let moved = |id: u32| (id as usize).checked_sub(first).is_some_and(|c| crossings.contains(&c));
        self.pairs.retain(|pair| !pair.key.iter().any(|&id| moved(id)));
        self.freed.extend(crossings.iter().map(|&c| (first + c) as u32));
    }

    /// The pair of two segments of a list, if they are near or come near.
    fn listed(&self, near: &Near, one: u32, other: u32) -> Option<Pair> {
        let both = [one.min(other), one.max(other)].map(|id| (id, near.segments[id as usize]));
        self.pair(both, |p| near.way[p], near.steps)
    }

    /// The pair of two segments with their numbers, if they are near or come near within so many `steps`, in which particles go their `way`.
    fn pair(
        &self,
        [(one, a), (other, b)]: [(u32, Segment); 2],
        way: impl Fn(usize) -> Vec3,
        steps: f64,
    ) -> Option<Pair> {
        if self.together(&a, &b) {
            return None;
        }
        let thickness = self.spec.thickness;
        let (key, ends) = ([one, other], [a.ends[0], a.ends[1], b.ends[0], b.ends[1]]);
        let [i, j, k, l] = [ends[0] as usize, ends[1] as usize, ends[2] as usize, ends[3] as usize];
        let from = [self.at.get(i), self.at.get(j), self.at.get(k), self.at.get(l)];
        let way = [way(i), way(j), way(k), way(l)];
        // They can't meet if no two ends come nearer to each other by as much.
        let nearer = |(i, j): (usize, usize)| (way[i] - way[j]).length_squared();
        let most = [(0, 2), (0, 3), (1, 2), (1, 3)].into_iter().map(nearer).fold(0.0, f64::max).sqrt();
        let between = nearest(&from).0;
        let length = between.length();
        let is_near = length < (1.0 + NEAR) * thickness;
        let meet = || {
            // What comes nearer by T becomes a pair: a finer answer would cost more than the pair does.
            if length - most > 2.0 * thickness {
                return false;
            }
            let to = [from[0] + way[0], from[1] + way[1], from[2] + way[2], from[3] + way[3]];
            // Nor if they stay so far apart along the line between them: all ends do, in a straight line from where they are to where they go.
            let apart = |x: &ccd::Corners| {
                let along = [x[0].dot(between), x[1].dot(between), x[2].dot(between), x[3].dot(between)];
                along[0].min(along[1]) - along[2].max(along[3]) > 2.0 * thickness * length
            };
            if apart(&from) && apart(&to) {
                return false;
            }
            ccd::edge_edge(&from, &to, ccd::Query { gap: thickness, tolerance: thickness }).is_some()
        };
        if !(is_near || meet()) {
            return None;
        }
        let across = || (from[1] - from[0]).cross(from[3] - from[2]).try_normalize().unwrap_or(Vec3::Y);
        let normal = between.try_normalize().unwrap_or_else(across);
        Some(Pair { key, ends, normal, way: most / steps, rests: 0, wrong: 0 })
    }

    /// Keeps all pairs apart, one after the other; `share` is the part of a step from one look to the next, `last` is true at the end of a step.
    pub(super) fn keep_apart(&mut self, share: f64, last: bool) {
        let mut wrong = std::mem::take(&mut self.tables.wrong);
        wrong.clear();
        for k in 0..self.pairs.len() {
            if self.pairs[k].rests > 0 {
                self.pairs[k].rests -= 1;
            } else if self.keep_pair(k, share) {
                wrong.push(k as u32);
            }
        }
        for _ in 0..if last { ROUNDS } else { 0 } {
            wrong.retain(|&k| self.keep_pair(k as usize, share));
        }
        self.tables.wrong = wrong;
    }

    /// Keeps a pair apart. True if it was on the wrong side.
    #[inline(always)]
    fn keep_pair(&mut self, k: usize, share: f64) -> bool {
        let thickness = self.spec.thickness;
        let pair = &mut self.pairs[k];
        let w = &self.tables.w;
        let [i, j, k, l] = pair.ends;
        let ends = [i as usize, j as usize, k as usize, l as usize];
        let x = [self.at.get(ends[0]), self.at.get(ends[1]), self.at.get(ends[2]), self.at.get(ends[3])];
        let (between, s, t) = nearest(&x);
        let side = between.dot(pair.normal);
        let length = between.length();
        if side > 0.0 && length >= thickness {
            pair.normal = between / length;
            // Twice as fast as it began, and a little more.
            let goes = 2.0 * pair.way * share + 0.1 * thickness;
            pair.rests = ((length - thickness) / goes).min(MOST_RESTS) as u8;
            return false;
        }
        // Still on its side: the line between the points is the new normal; passed: back along the old one.
        let missing = if side > 0.0 {
            pair.normal = between / length;
            thickness - length
        } else {
            thickness - side
        };
        let share = [1.0 - s, s, t - 1.0, -t];
        let weight = w[ends[0]] * share[0] * share[0]
            + w[ends[1]] * share[1] * share[1]
            + w[ends[2]] * share[2] * share[2]
            + w[ends[3]] * share[3] * share[3];
        if weight > 0.0 {
            // Never further than T in one go: deep ones come free over several substeps.
            let by = pair.normal * (missing.min(thickness) / weight);
            for (&p, b) in ends.iter().zip(share) {
                self.at.add(p, by * (b * w[p]));
            }
        }
        side <= 0.0
    }
}

/// From the nearest point of the second segment to that of the first, and where they are. As [`crate::contact::distance::edge_edge`] does, but without care for segments
/// that have no length, and in a third of the time; of parallel ones a point that both are beside counts.
#[inline(always)]
fn nearest(x: &[Vec3; 4]) -> (Vec3, f64, f64) {
    let (d1, d2, r) = (x[1] - x[0], x[3] - x[2], x[0] - x[2]);
    let (a, b, e) = (d1.dot(d1), d1.dot(d2), d2.dot(d2));
    let (c, f) = (d1.dot(r), d2.dot(r));
    let area = a * e - b * b;
    let s = if area > 1e-6 * a * e { ((b * f - c * e) / area).clamp(0.0, 1.0) } else { 0.5 };
    let t = ((b * s + f) / e.max(SHORT)).clamp(0.0, 1.0);
    let s = ((b * t - c) / a.max(SHORT)).clamp(0.0, 1.0);
    (r + d1 * s - d2 * t, s, t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use crate::contact::distance;
    use crate::math::hash_unit;
    use crate::yarn::Spec;

    fn keys(cloth: &Woven) -> Vec<[u32; 2]> {
        cloth.pairs.iter().map(|pair| pair.key).collect()
    }

    #[test]
    fn what_comes_free_is_listed_as_if_all_were() {
        let mut cloth = Woven::new(Spec::muslin(14, 12), Placement::default()).unwrap();
        cloth.follow(1e-3);
        cloth.find_pairs();
        assert!(cloth.pairs.is_empty() && cloth.list_until > cloth.step);
        for c in [cloth.crossing(5, 5), cloth.crossing(6, 5), cloth.crossing(13, 0)] {
            cloth.split(&[c], Kind::Disconnected);
            cloth.free_around(c);
            cloth.follow(1e-3);
            cloth.find_pairs();
        }
        let mut anew = cloth.clone();
        anew.list_until = 0;
        anew.follow(1e-3);
        anew.find_pairs();
        // Both warp segments and both weft segments at each, T apart; one of each at the corner.
        assert_eq!(keys(&cloth).len(), 4 + 4 + 1);
        assert_eq!(keys(&cloth), keys(&anew));
    }

    #[test]
    fn sharp_folds_meet_themselves() {
        // Between the rows of a tile, and where two tiles touch.
        for fold in [6, 8] {
            let mut cloth = Woven::new(Spec::muslin(8, 16), Placement::default()).unwrap();
            for c in 8 * fold..cloth.crossings() {
                let row = (c / 8) as f64;
                let (y, z) = ((2 * fold) as f64 - 1.0 - row, cloth.spec.thickness);
                cloth.at.set(c, Vec3::new(cloth.at.get(c).x, y * cloth.spec.spacing, z));
                cloth.normal[c] = -cloth.normal[c];
            }
            cloth.follow(1e-3);
            cloth.find_pairs();
            let weft = |i: usize, j: usize| (cloth.crossings() + cloth.crossing(i, j)) as u32;
            // The row next to the fold but one, and the one that lies on it.
            for i in 0..7 {
                let key = [weft(i, fold - 2), weft(i, fold + 1)];
                assert!(keys(&cloth).contains(&key), "{fold}: {i}");
            }
        }
    }

    #[test]
    fn nearest_points_are_those_of_the_careful_search() {
        for seed in 0..20_000 {
            let vector = |k: u64| Vec3::from([0, 1, 2].map(|a| 2.0 * hash_unit(seed, 3 * k + a) - 1.0));
            let mut x = [0, 1, 2, 3].map(vector);
            if seed % 3 == 0 {
                // Nearly parallel.
                x[3] = x[2] + (x[1] - x[0]) * hash_unit(seed, 50) + vector(9) * 1e-2;
            }
            let law = distance::edge_edge_squared([x[0], x[1]], [x[2], x[3]]).sqrt();
            let (between, s, t) = nearest(&x);
            assert!((0.0..=1.0).contains(&s) && (0.0..=1.0).contains(&t));
            // One turn from the feet on the lines: off by little, and only where segments are nearly parallel.
            let off = between.length() - law;
            assert!(off > -1e-12 && (off < 1e-9 || seed % 3 == 0 && off < 0.05), "{seed}: {off}");
        }
    }
}
