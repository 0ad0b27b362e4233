//! Yarns keep off each other: free ones, free ones and whole cloth, whole cloth and itself.
//!
//! Once per step segments that are near each other, or would meet within the step by the velocities they have ([`crate::contact::ccd`], which doesn't
//! miss any), become pairs. Then each pair is kept T apart along the line between its nearest points, which stays on the side it was on when the
//! step began:
//!
//! λ = (T − d) / Σ w β²,  x ← x ± w β λ n
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | T | `thickness` | m | distance kept |
//! | d, n | `between`, `normal` | m, 1 | from the nearest point of the second segment to that of the first; its direction |
//! | β | `share` | 1 | 1 − s, s, t − 1, −t: shares of the four ends at the nearest points |
//!
//! It is enough to do so in every third substep, and less often for pairs that are further apart than they go in the meantime, by twice the speed at
//! which they began the step.
//!
//! What may be near is found by the [tree](crate::contact::tree) of boxes that sheets use, which asks for the *relative* motion. Its leaves are segments of free yarns (those with
//! a disconnected crossing, or one that has slipped by more than [`SLIPPED`]), one by one, and tiles of 4 × 4 crossings of the rest. The tree depends on what came before, but which
//! pairs there are doesn't, and they are put in the order of their segments: so a resumed run agrees in every bit.
//!
//! Not compared: segments of one yarn that are near along it, segments around a crossing that still holds, tiles that touch.
//! Source: Metaaphanon 2009 §4.2, eq. 5. Deviations: inclusion search instead of the roots of a cubic; whole cloth too. Limits: pairs that meet only by
//! what pushes them within a step are seen at its end; the tip of a yarn can go through between the yarns of whole cloth; folds sharper than two tiles aren't seen.

use super::state::{Family, Kind, Woven};
use crate::contact::tree::{Swept, Tree};
use crate::contact::{ccd, distance};
use crate::math::Vec3;
use glam::Vec3A;

/// Two segments that may touch.
#[derive(Clone, Copy, Debug)]
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
}

/// A segment of a yarn.
struct Segment {
    family: Family,
    yarn: usize,
    along: usize,
    ends: [usize; 2],
}

/// What may be near each other, and the tree over it.
#[derive(Default)]
pub(super) struct Near {
    /// Segments of free yarns.
    free: Vec<u32>,
    /// Segments of the rest, tile by tile.
    whole: Vec<u32>,
    /// Tiles: column, row and where their segments end.
    tiles: Vec<([u32; 2], u32)>,
    /// Where particles are and how far they go, in single precision around an origin.
    points: Vec<(Vec3A, Vec3A)>,
    tree: Tree,
    built: bool,
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
const SLIPPED: f64 = 1.5;

/// Substeps from one time that pairs are kept apart to the next.
pub(super) const EVERY: u32 = 3;

/// Share of T beyond T within which segments are near.
const NEAR: f64 = 0.5;

/// Furthest that a particle is looked ahead [spacings].
const AHEAD: f64 = 40.0;

/// Crossings along the side of a tile.
const TILE: usize = 4;

/// Most looks that a pair rests.
const MOST_RESTS: f64 = 8.0;

impl Near {
    fn tile(&self, t: usize) -> &[u32] {
        let begin = if t == 0 { 0 } else { self.tiles[t - 1].1 };
        &self.whole[begin as usize..self.tiles[t].1 as usize]
    }
}

impl Woven {
    /// Pairs of segments for the next step.
    pub(super) fn find_pairs(&mut self) {
        self.tables.pairs.clear();
        if !self.spec.self_collision {
            return;
        }
        let mut near = std::mem::take(&mut self.tables.near);
        self.list_units(&mut near);
        let origin = self.at.get(0);
        let mut largest = 0.0_f64;
        near.points.clear();
        for p in 0..self.at.len() {
            let (x, way) = (self.at.get(p) - origin, self.ahead(p));
            // What has no particle isn't asked for.
            if p < self.kind.len() || self.kind[p - self.kind.len()] != Kind::Welded {
                largest = largest.max((x.abs() + way.abs()).max_element());
            }
            near.points.push((x.as_vec3a(), way.as_vec3a()));
        }
        let (singles, units) = (near.free.len(), near.free.len() + near.tiles.len());
        let (mut tree, mut lists) = (std::mem::take(&mut near.tree), std::mem::take(&mut near.lists));
        let points = &near.points;
        let swept = |id: u32| Swept::of(self.segment(id).ends.map(|p| points[p]));
        let boxed = |unit: u32| match (unit as usize).checked_sub(singles) {
            None => swept(near.free[unit as usize]),
            Some(tile) => {
                let ends = near.tile(tile).iter().flat_map(|&id| self.segment(id).ends).map(|p| points[p]);
                let none = (Vec3A::splat(f32::INFINITY), Vec3A::splat(f32::NEG_INFINITY));
                let (x, u) =
                    ends.fold((none, none), |(x, u), (y, v)| ((x.0.min(y), x.1.max(y)), (u.0.min(v), u.1.max(v))));
                Swept::of([(x.0, u.0), (x.1, u.1)])
            }
        };
        if !near.built {
            let middle = |unit: usize| {
                let id = if unit < singles { near.free[unit] } else { near.tile(unit - singles)[0] };
                points[self.segment(id).ends[0]].0
            };
            tree.build(&(0..units).map(middle).collect::<Vec<_>>(), 0);
        }
        let built = tree.refit(boxed);
        let reach = (1.0 + NEAR) * self.spec.thickness + 1e-6 * largest;
        let reach = reach as f32;
        let take = |f: u32, g: u32, f_box: &Swept, g_box: &Swept, list: &mut Vec<Pair>| {
            let (f, g) = (f as usize, g as usize);
            match (f.checked_sub(singles), g.checked_sub(singles)) {
                (None, None) => list.extend(self.pair(near.free[f], near.free[g])),
                (Some(tile), None) | (None, Some(tile)) => {
                    let (id, id_box) = if f < singles { (near.free[f], f_box) } else { (near.free[g], g_box) };
                    let meets = |other: &&u32| swept(**other).may_meet(id_box, reach);
                    list.extend(near.tile(tile).iter().filter(meets).filter_map(|&other| self.pair(id, other)));
                }
                (Some(a), Some(b)) => {
                    let ([p, q], [r, s]) = (near.tiles[a].0, near.tiles[b].0);
                    if p.abs_diff(r) <= 1 && q.abs_diff(s) <= 1 {
                        return;
                    }
                    for &id in near.tile(a) {
                        let id_box = swept(id);
                        if !id_box.may_meet(g_box, reach) {
                            continue;
                        }
                        let meets = |other: &&u32| swept(**other).may_meet(&id_box, reach);
                        list.extend(near.tile(b).iter().filter(meets).filter_map(|&other| self.pair(id, other)));
                    }
                }
            }
        };
        tree.pairs(reach, take, &mut lists);
        let mut pairs = std::mem::take(&mut self.tables.pairs);
        lists.iter().for_each(|list| pairs.extend_from_slice(list));
        pairs.sort_unstable_by_key(|pair| pair.key);
        self.tables.pairs = pairs;
        (near.tree, near.built, near.lists) = (tree, built, lists);
        self.tables.near = near;
    }

    /// Which segments are free and which are whole cloth.
    fn list_units(&self, near: &mut Near) {
        let (count, warps, wefts) = (self.kind.len(), self.spec.warps, self.spec.wefts);
        let slipped = |c: usize| match self.kind[c] {
            Kind::Disconnected => true,
            Kind::Loose => {
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
                if end > near.tiles.last().map_or(0, |tile| tile.1) {
                    near.tiles.push(([(column / TILE) as u32, (row / TILE) as u32], end));
                }
            }
        }
        near.built &= before == near.free && whole == near.whole;
    }

    /// How far a particle goes in the next step, at most so far.
    fn ahead(&self, p: usize) -> Vec3 {
        (self.v.get(p) * self.spec.step).clamp_length_max(AHEAD * self.spec.spacing)
    }

    /// A segment by its number: its first crossing, and for wefts the number of all crossings more.
    #[inline(always)]
    fn segment(&self, id: u32) -> Segment {
        let (count, id) = (self.kind.len(), id as usize);
        let (family, c) = if id < count { (Family::Warp, id) } else { (Family::Weft, id - count) };
        let (yarn, along) = self.on_yarn(family, c);
        let ends = [self.particle(family, c), self.particle(family, c + self.line(family).1)];
        Segment { family, yarn, along, ends }
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

    /// The pair of two segments, if they are near or come near.
    fn pair(&self, one: u32, other: u32) -> Option<Pair> {
        let key = [one.min(other), one.max(other)];
        let (a, b) = (self.segment(key[0]), self.segment(key[1]));
        if self.together(&a, &b) {
            return None;
        }
        let ends = [a.ends[0], a.ends[1], b.ends[0], b.ends[1]];
        let from = ends.map(|p| self.at.get(p));
        let way = ends.map(|p| self.ahead(p));
        // They can't meet if no two ends come nearer to each other by as much.
        let nearer = |(i, j): (usize, usize)| (way[i] - way[j]).length_squared();
        let most = [(0, 2), (0, 3), (1, 2), (1, 3)].into_iter().map(nearer).fold(0.0, f64::max).sqrt();
        let between = nearest(&from).0;
        let thickness = self.spec.thickness;
        let length = between.length();
        let near = length < (1.0 + NEAR) * thickness;
        let meet = || {
            // What comes as near as 2 T becomes a pair: a finer answer would cost more than the pair does.
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
        Some(Pair { key, ends: ends.map(|p| p as u32), normal, way: most, rests: 0 })
    }

    /// Keeps all pairs apart, one after the other; `share` is the part of a step from one look to the next.
    pub(super) fn keep_apart(&mut self, share: f64) {
        let thickness = self.spec.thickness;
        let super::tables::Tables { pairs, w, .. } = &mut self.tables;
        for pair in pairs {
            if pair.rests > 0 {
                pair.rests -= 1;
                continue;
            }
            let ends = pair.ends.map(|p| p as usize);
            let x = ends.map(|p| self.at.get(p));
            let (between, s, t) = nearest(&x);
            let side = between.dot(pair.normal);
            let length = between.length();
            if side > 0.0 && length >= thickness {
                pair.normal = between / length;
                // Twice as fast as it began, and a little more.
                let goes = 2.0 * pair.way * share + 0.1 * thickness;
                pair.rests = ((length - thickness) / goes).min(MOST_RESTS) as u8;
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
            let weight: f64 = ends.iter().zip(share).map(|(&p, b)| w[p] * b * b).sum();
            if weight > 0.0 {
                // Never further than T in one go: deep ones come free over several substeps.
                let by = pair.normal * (missing.min(thickness) / weight);
                for (&p, b) in ends.iter().zip(share) {
                    self.at.add(p, by * (b * w[p]));
                }
            }
        }
    }
}

/// From the nearest point of the second segment to that of the first, and where they are.
#[inline(always)]
fn nearest(x: &[Vec3; 4]) -> (Vec3, f64, f64) {
    let (s, t) = distance::edge_edge([x[0], x[1]], [x[2], x[3]]);
    ((x[0] + (x[1] - x[0]) * s) - (x[2] + (x[3] - x[2]) * t), s, t)
}
