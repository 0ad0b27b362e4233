//! Yarns keep off each other: free ones, free ones and whole cloth, whole cloth and itself.
//!
//! Segments that are near each other as they are drawn, or may be if they go on as fast as in the step before, become pairs ([`super::near`], [`super::fold`]). Then each pair is kept T apart along the line between its nearest points, in every substep:
//!
//! λ = (T − d) / Σ w β²,  x ← x ± w β λ n
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | T | `thickness` | m | distance kept |
//! | d, n | `between`, `normal` | m, 1 | from the nearest point of the second segment to that of the first; its direction |
//! | β | `share` | 1 | 1 − s, s, t − 1, −t: shares of the four ends at the nearest points |
//!
//! Whether a pair has *passed* is asked exactly, from where it was last seen on its own side to where it is ([`super::pass`]): then it goes back along the line that was between its nearest points at that time. Near ones are seen when the substep begins, all at
//! once: a yarn that slips from one segment of another to the next has then passed neither or both. A new pair is seen as it
//! was when the last step began, so what has passed before it was a pair goes back too; but as it is now if its segments weren't there then, or were those of a crossing. What brings a
//! pair apart changes velocities only as far as they brought it together: what is deep in each other comes apart without being thrown apart.
//!
//! In every substep pairs are looked at first, all at once: those nearer than T, or passed, are then kept apart one after the other. Pairs that are further apart than they can come nearer in the meantime, by
//! how they come nearer now, rest for some looks. What is moved by what others do to it, after the look, wakes: the way from where it was last seen isn't the one that it went (`zone`, `knot`). Pairs that have passed are gone over again, up to [`ROUNDS`] times; what is on the wrong side all the same goes back to where it was (`zone`, `knot`). What can't, since it had passed before it was a pair, is told ([`Woven::take_passings`]).
//!
//! Not compared: segments of one yarn that follow each other, or have less than T of it between them, and segments that meet at a crossing that holds ([`super::normals`] sees to these).
//! Source: Metaaphanon 2009 §4.2, eq. 5. Deviations: all of a pair's way instead of one step, bounds of speed instead of the roots of a cubic to find it; whole cloth too. What goes elsewhere than was foreseen makes pairs within the step (`stray`). Limits: whole cloth that does may pass through something that it is no pair with.

use super::fold::Item;
use super::near::Segment;
use super::pair::{Ends, Pair, SHORT, along, nearest};
use super::pass::{self, Passing};
use super::state::{Family, Kind, Woven};
use crate::contact::ccd;
use crate::math::Vec3;
use crate::parallel;

/// Two segments that may come near each other in a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub key: [u32; 2],
    /// How far they come nearer to each other, at most [m].
    pub way: f64,
}

impl Found {
    /// What they are ordered by: one number is compared sooner than two.
    pub fn order(&self) -> u64 {
        u64::from(self.key[0]) << 32 | u64::from(self.key[1])
    }
}

/// A pair that is too near, instead of the number of looks after which the next one is due.
const CLOSE: u8 = 0;

/// How often pairs that have passed are gone over at the end of a step, at most.
const ROUNDS: u32 = 16;

/// Steps after which a pair that is on the wrong side stays there: what doesn't come free tears at everything around.
const FORGET: u8 = 24;

/// Share of T beyond T within which segments are near.
const NEAR: f64 = 0.5;

/// Share of T by which segments of whole cloth may be further apart, so that they need not be compared in every step.
const SKIN: f64 = 0.5;

/// Pairs that are work for one thread.
const MANY_PAIRS: usize = 512;

/// Segments along a yarn between which its length is asked for.
const MANY: usize = 24;

/// Most looks that a pair rests.
const MOST_RESTS: f64 = 12.0;

impl Woven {
    /// Pairs of segments for the next step.
    pub(super) fn find_pairs(&mut self) {
        if !self.spec.self_collision {
            return;
        }
        let mut near = std::mem::take(&mut self.tables.near);
        self.mark_free(&mut near);
        self.find_ways(&mut near);
        let [reach, skin] = [1.0 + NEAR, SKIN].map(|share| share * self.spec.thickness);
        let mut found = self.near_pairs(&mut near, [reach, skin], Self::meet);
        let mut resting = vec![Vec::new(); self.pairs.len().div_ceil(MANY_PAIRS)];
        parallel::for_each_chunk(&mut resting, 1, |k, resting| {
            let pairs = self.pairs.iter().skip(k * MANY_PAIRS).take(MANY_PAIRS);
            let rests = |pair: &Pair| self.resting(&near, pair.key).map(|way| Found { key: pair.key, way });
            resting[0].extend(pairs.filter_map(rests));
        });
        found.extend(resting.into_iter().flatten());
        // No two are of the same segments, so there is one order.
        parallel::sort_by_key(&mut found, Found::order);
        self.tables.keys.clear();
        self.tables.keys.extend(found.iter().map(Found::order));
        // What was a pair before knows which side it belongs to.
        let mut pairs = std::mem::take(&mut self.tables.pairs);
        let mut rests = std::mem::take(&mut self.tables.rests);
        let mut ends = std::mem::take(&mut self.tables.ends);
        // Those that were added within the last step are behind the others.
        let known = self.pairs.len() - self.added as usize;
        let mut added: Vec<([u32; 2], usize)> = (known..self.pairs.len()).map(|k| (self.pairs[k].key, k)).collect();
        added.sort_unstable();
        self.added = 0;
        pairs.resize(found.len(), Pair::NONE);
        rests.resize(found.len(), CLOSE);
        ends.resize(found.len(), Ends { particles: [0; 4], beside: [Vec3::ZERO; 4] });
        parallel::for_each_triple(&mut pairs, &mut rests, &mut ends, |first, pairs, rests, ends| {
            let begin = self.pairs[..known].partition_point(|old| old.key < found[first].key);
            let mut old = self.pairs[begin..known].iter().zip(&self.rests[begin..known]).peekable();
            let in_step = |key: [u32; 2]| {
                let k = added.binary_search_by_key(&key, |of| of.0).ok()?;
                Some((&self.pairs[added[k].1], &self.rests[added[k].1]))
            };
            for (((pair, rest), ends), found) in pairs.iter_mut().zip(rests).zip(ends).zip(&found[first..]) {
                *ends = self.ends_of(found.key.map(|id| near.folds.item(id)));
                while old.next_if(|(old, _)| old.key < found.key).is_some() {}
                let before = old.next_if(|(old, _)| old.key == found.key).or_else(|| in_step(found.key));
                (*pair, *rest) = match before.filter(|(old, _)| old.wrong < FORGET) {
                    Some((old, rest)) => (Pair { way: found.way, late: old.wrong > 0, ..*old }, *rest),
                    None => (self.pair(found, ends), CLOSE),
                };
            }
        });
        self.tables.pairs = std::mem::replace(&mut self.pairs, pairs);
        self.tables.rests = std::mem::replace(&mut self.rests, rests);
        self.tables.ends = ends;
        self.tables.near = near;
        self.tables.zones.pairs_changed();
        self.begin_strays();
    }

    /// Where the ends of two segments are.
    pub(super) fn ends_of(&self, [a, b]: [&Item; 2]) -> Ends {
        let beside = |item: &Item| {
            let of = |k: usize| self.normal[item.segment.crossings[k] as usize] * item.over[k];
            [of(0), of(1)]
        };
        let ([p, q], [r, s], [c, d], [e, f]) = (a.segment.ends, b.segment.ends, beside(a), beside(b));
        Ends { particles: [p, q, r, s], beside: [c, d, e, f] }
    }

    /// Where the ends of a pair are drawn, with another normal of a crossing than it has.
    fn corners_with(&self, k: u32, c: usize, normal: Vec3) -> ccd::Corners {
        let [a, b] = self.pairs[k as usize].key.map(|id| self.tables.near.folds.item(id));
        let of = |item: &Item, k: usize| {
            let there = item.segment.crossings[k] as usize;
            let normal = if there == c { normal } else { self.normal[there] };
            self.at.get(item.segment.ends[k] as usize) + normal * item.over[k]
        };
        [of(a, 0), of(a, 1), of(b, 0), of(b, 1)]
    }

    /// True if a pair has passed, with another normal of a crossing than it has.
    pub(super) fn has_passed_with(&self, k: u32, c: usize, normal: Vec3) -> bool {
        self.pairs[k as usize].has_passed(&self.corners_with(k, c, normal))
    }

    /// True if a pair had passed when the step began.
    pub(super) fn is_late(&self, k: u32) -> bool {
        self.pairs[k as usize].late
    }

    /// A pair is on its side as it is now.
    pub(super) fn see(&mut self, k: u32) {
        let x = self.corners_with(k, usize::MAX, Vec3::ZERO);
        let (between, ..) = nearest(&x);
        let pair = &mut self.pairs[k as usize];
        (pair.seen, pair.wrong) = (x, 0);
        pair.normal = between.try_normalize().unwrap_or(pair.normal);
        self.rests[k as usize] = CLOSE;
    }

    /// A pair that isn't near was on its side where its ends were drawn until now, and is looked at anew; how it came there from where it was last seen nobody knows.
    pub(super) fn wake(&mut self, k: u32, drawn: ccd::Corners) {
        let (pair, rests) = (&mut self.pairs[k as usize], &mut self.rests[k as usize]);
        if *rests != CLOSE {
            *pair = Pair { wrong: pair.wrong, late: pair.late, ..Pair::seen(pair.key, drawn, pair.way) };
            *rests = CLOSE;
        }
    }

    /// Pairs that have passed as the normals are now, of those that are so near that they may have.
    pub(super) fn turned_through(&self) -> Vec<u32> {
        let mut lists = vec![Vec::new(); self.pairs.len().div_ceil(MANY_PAIRS)];
        // Both yarns are moved by T at most, and they are T apart at least when their next look is due.
        let near = 3.0 * self.spec.thickness as f32;
        parallel::for_each_chunk(&mut lists, 1, |list, found| {
            let first = list * MANY_PAIRS;
            let here = (first..(first + MANY_PAIRS).min(self.pairs.len())).filter(|&k| {
                let is_near = self.rests[k] == CLOSE || self.pairs[k].apart < near;
                is_near && self.has_passed_with(k as u32, usize::MAX, Vec3::ZERO)
            });
            found[0].extend(here.map(|k| k as u32));
        });
        lists.into_iter().flatten().collect()
    }

    /// Crossings that a pair is drawn beside.
    pub(super) fn crossings_of(&self, k: u32) -> impl Iterator<Item = usize> {
        let items = self.pairs[k as usize].key.map(|id| self.tables.near.folds.item(id));
        let all = items.into_iter().flat_map(|item| item.segment.crossings).map(|c| c as usize);
        all.filter(|&c| self.kind[c].is_one())
    }

    /// True if two segments are of one yarn and near along it, or meet at a crossing that holds.
    #[inline(always)]
    fn together(&self, a: &Segment, b: &Segment) -> bool {
        if a.weft == b.weft {
            return a.yarn == b.yarn && self.follow_each_other(a, b);
        }
        let (warp, weft) = if b.weft { (a, b) } else { (b, a) };
        let c = self.crossing(warp.yarn as usize, weft.yarn as usize);
        match self.kind[c] {
            Kind::Disconnected => false,
            // It stays at its place along both.
            Kind::Welded | Kind::Sliding => {
                warp.crossings.contains(&(c as u32)) && weft.crossings.contains(&(c as u32))
            }
            Kind::Connected | Kind::Loose => {
                let near = |k: usize, along: u32| (self.along[k][c] - (f64::from(along) + 0.5)).abs() < 1.5;
                near(0, warp.along) && near(1, weft.along)
            }
        }
    }

    /// True if two segments of a yarn are so near along it that they can't be kept apart: there is less than T between them. Where `packing` is more than that, which it is to be, only those that share a point are.
    fn follow_each_other(&self, a: &Segment, b: &Segment) -> bool {
        let (low, high) = (a.along.min(b.along), a.along.max(b.along));
        if high - low <= 1 {
            return true;
        }
        let rest = |s: u32| self.springs(a.family()).rest[self.crossing_of(a.family(), a.yarn as usize, s as usize)];
        let between = low + 1..high;
        between.len() <= MANY && between.map(rest).sum::<f64>() < self.spec.thickness
    }

    /// Forgets what was known of pairs with segments of a family that begin at these crossings: they have gone elsewhere along their yarn, and are on their side of all others there.
    pub(super) fn forget_pairs(&mut self, family: Family, crossings: &[usize]) {
        let first = if family == Family::Weft { self.kind.len() } else { 0 };
        self.divided.extend(crossings.iter().map(|c| (first + c) as u32));
        let moved = |id: u32| (id as usize).checked_sub(first).is_some_and(|c| crossings.contains(&c));
        let stays: Vec<bool> = self.pairs.iter().map(|pair| !pair.key.iter().any(|&id| moved(id))).collect();
        let mut stay = stays.iter();
        self.pairs.retain(|_| *stay.next().expect("as many as pairs"));
        self.added = stays.iter().rev().take(self.added as usize).filter(|stays| **stays).count() as u32;
        let mut stay = stays.iter();
        self.rests.retain(|_| *stay.next().expect("as many as pairs"));
    }

    /// True if a segment would pass through another one that it is near to if its end `k` went straight to `to`.
    pub(super) fn would_pass(&self, id: u32, k: usize, to: Vec3) -> bool {
        let segment = self.segment(id);
        let ends = self.drawn_ends(&segment);
        let mut moved = ends;
        moved[k] = to;
        let passes = |other: [Vec3; 2]| {
            pass::has_passed(&[ends[0], ends[1], other[0], other[1]], &[moved[0], moved[1], other[0], other[1]])
        };
        let near = self.pairs.iter().filter(|pair| pair.key.contains(&id));
        let beside = near.map(|pair| if pair.key[0] == id { pair.key[1] } else { pair.key[0] });
        if beside.filter(|&id| self.is_live(id)).any(|id| passes(self.drawn_ends(&self.segment(id)))) {
            return true;
        }
        // The other yarn at the crossing that it begins at.
        let root = segment.crossings[1 - k] as usize;
        let other = if segment.weft { Family::Warp } else { Family::Weft };
        let ((_, stride), along) = (self.line(other), self.on_yarn(other, root).1);
        let from = self.drawn(other, root);
        let back = (along > 0 && self.live(other, root - stride)).then(|| root - stride);
        let forth = self.live(other, root).then(|| root + stride);
        self.kind[root].is_one() && back.into_iter().chain(forth).any(|c| passes([from, self.drawn(other, c)]))
    }

    /// Two segments that come near each other as a pair, unless they belong together.
    #[inline(always)]
    pub(super) fn meet(&self, [a, b]: [&Item; 2], way: f64) -> Option<Found> {
        let apart = !self.together(&a.segment, &b.segment);
        apart.then(|| Found { key: [a.id.min(b.id), a.id.max(b.id)], way })
    }

    /// A new pair.
    fn pair(&self, found: &Found, ends: &Ends) -> Pair {
        // When the last step began.
        let at = ends.corners(&self.at);
        let before = |k: usize| at[k] - self.ahead(ends.particles[k], 1.0);
        let is_new = found.key.iter().any(|id| self.divided.contains(id)) || self.was_crossing(ends);
        let seen = if is_new { at } else { [before(0), before(1), before(2), before(3)] };
        let pair = Pair::seen(found.key, seen, found.way);
        Pair { late: pair.has_passed(&at), ..pair }
    }

    /// True if two segments meet at a crossing that held until now: its two particles have gone the same way. As long as it did its normal kept them on their sides.
    fn was_crossing(&self, ends: &Ends) -> bool {
        let half = self.kind.len() as u32;
        let [a, b, c, d] = ends.particles;
        let split = |p: u32, q: u32| p.abs_diff(q) == half && self.gone.get(p as usize) == self.gone.get(q as usize);
        split(a, c) || split(a, d) || split(b, c) || split(b, d)
    }

    /// Keeps pairs apart; `share` is the part of a step from one look to the next.
    pub(super) fn keep_apart(&mut self, share: f64) {
        self.tables.zones.begin(self.at.len());
        self.look_at_pairs(share);
        // Those that are too near, one after the other: each feels what the ones before it did.
        let mut wrong = std::mem::take(&mut self.tables.wrong);
        wrong.clear();
        for k in 0..self.pairs.len() {
            if self.rests[k] == CLOSE && self.keep_pair(k) {
                wrong.push(k as u32);
            }
        }
        for _ in 0..ROUNDS {
            if wrong.is_empty() {
                break;
            }
            wrong.retain(|&k| self.keep_pair(k as usize));
        }
        self.tables.wrong = wrong;
    }

    /// At the end of a step: pairs that are on the wrong side are told, when they come to be there.
    pub(super) fn tell_wrong(&mut self) {
        let wrong = std::mem::take(&mut self.tables.wrong);
        for &k in &wrong {
            let pair = &mut self.pairs[k as usize];
            pair.wrong += 1;
            if pair.wrong == 1 {
                let (key, place) = (pair.key, (pair.seen[0] + pair.seen[2]) * 0.5);
                self.tell_passing(key, place);
            }
        }
        self.tables.wrong = wrong;
    }

    /// Which pairs are nearer than T or have passed, and how long others need not be looked at.
    fn look_at_pairs(&mut self, share: f64) {
        let thickness = self.spec.thickness;
        let (at, before, ends) = (&self.at, &self.tables.before, &self.tables.ends);
        parallel::for_each_pair(&mut self.pairs, &mut self.rests, |k, pair, rests| {
            if *rests > 1 {
                *rests -= 1;
                return;
            }
            let x = ends[k].corners(at);
            // Along the line between them when they were last followed they are no further apart than they are, and while they are apart there they don't pass.
            let mut apart = along(&x, pair.normal);
            // What they came nearer to each other by since the last look they may come again, and more if they turn; by the same measure, or they would seem to go away.
            let looks = f64::from(pair.rested.max(1));
            let mut closing = if pair.rested > 0 { (f64::from(pair.apart) - apart) / looks } else { pair.way * share };
            if apart < thickness || *rests == CLOSE {
                let (begin, length) = (ends[k].corners(before), nearest(&x).0.length());
                // They are seen as they were when the substep began: where they are now they may not stay. And all of them, so that what slips from one segment of a yarn to the next has passed neither or both.
                pair.follow(&begin);
                if length < thickness || pair.has_passed(&x) {
                    (*rests, pair.rested) = (CLOSE, 0);
                    return;
                }
                (pair.wrong, apart) = (0, length);
                // What rested for long may have become faster in this substep.
                closing = closing.max(nearest(&begin).0.length() - length);
            }
            let goes = 1.5 * closing.max(0.0) + 0.5 * pair.way * share + 0.1 * thickness;
            *rests = 1 + ((apart - thickness) / goes).min(MOST_RESTS) as u8;
            (pair.apart, pair.rested) = (apart as f32, *rests);
        });
    }

    /// Notes that two segments have passed through each other.
    pub(super) fn tell_passing(&mut self, key: [u32; 2], place: Vec3) {
        let [a, b] = key.map(|id| self.segment(id));
        let yarns = [&a, &b].map(|of| 2 * u64::from(of.yarn) + u64::from(of.weft));
        let segments = [&a, &b].map(|of| of.along as usize);
        self.passed.push(Passing { yarns, segments, time: self.time(), place });
    }

    /// Keeps a pair apart. True if it has passed.
    fn keep_pair(&mut self, k: usize) -> bool {
        let thickness = self.spec.thickness;
        let (pair, ends) = (&mut self.pairs[k], &self.tables.ends[k]);
        let w = &self.tables.w;
        let at = ends.particles.map(|p| p as usize);
        let x = ends.corners(&self.at);
        let (between, s, t) = nearest(&x);
        let length = between.length();
        let passed = pair.has_passed(&x);
        if !passed {
            pair.wrong = 0;
            if length >= thickness {
                return false;
            }
        }
        let normal = if passed || length * length < SHORT { pair.normal } else { between / length };
        // Never further than T in one go: deep ones come free over several substeps.
        let missing = (thickness - between.dot(normal)).min(thickness);
        let share = [1.0 - s, s, t - 1.0, -t];
        let weight = w[at[0]] * share[0] * share[0]
            + w[at[1]] * share[1] * share[1]
            + w[at[2]] * share[2] * share[2]
            + w[at[3]] * share[3] * share[3];
        if weight > 0.0 {
            let before = &mut self.tables.before;
            at.iter().for_each(|&p| self.tables.zones.note(p, self.at.get(p), before.get(p)));
            let come = |k: usize| (self.at.get(at[k]) - before.get(at[k])).dot(normal) * share[k];
            let nearer = -(come(0) + come(1) + come(2) + come(3));
            let quietly = (missing - nearer.max(0.0)).max(0.0);
            for k in 0..4 {
                let by = normal * (share[k] * w[at[k]] / weight);
                self.at.add(at[k], by * missing);
                before.add(at[k], by * quietly);
                self.tables.zones.moved(at[k], self.at.get(at[k]));
            }
        }
        passed
    }
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

    /// All pairs of segments that would come as near as pairs are in a step, by asking every two.
    fn by_asking_all(cloth: &Woven) -> Vec<[u32; 2]> {
        let all: Vec<u32> = (0..2 * cloth.crossings() as u32).filter(|&id| cloth.is_live(id)).collect();
        let reach = (1.0 + NEAR) * cloth.spec.thickness;
        let meet = |key: &[u32; 2]| {
            let [a, b] = key.map(|id| cloth.segment(id));
            let ([i, j], [k, l]) = (cloth.drawn_ends(&a), cloth.drawn_ends(&b));
            let from = [i, j, k, l];
            let way = [a.ends[0], a.ends[1], b.ends[0], b.ends[1]]
                .map(|p| cloth.look_ahead(cloth.v.get(p as usize) * cloth.spec.step));
            let apart = |t: f64| {
                let [i, j, k, l] = std::array::from_fn(|k| from[k] + way[k] * t);
                distance::edge_edge_squared([i, j], [k, l]).sqrt()
            };
            !cloth.together(&a, &b) && (0..=20).any(|k| apart(f64::from(k) / 20.0) < 0.95 * reach)
        };
        let pairs = all.iter().enumerate().flat_map(|(k, &a)| all[k + 1..].iter().map(move |&b| [a, b]));
        pairs.filter(meet).collect()
    }

    #[test]
    fn no_pair_with_a_free_yarn_is_missed_and_none_is_found_twice() {
        for seed in 0..6 {
            let mut cloth = Woven::new(Spec::muslin(17, 14), Placement::default()).unwrap();
            let loose: Vec<usize> = (0..30).map(|k| (hash_unit(seed, k) * 238.0) as usize).collect();
            cloth.split(&loose, Kind::Disconnected);
            for p in 0..cloth.at.len() {
                let r = |k| hash_unit(seed, 100 + 6 * p as u64 + k) - 0.5;
                // Crumpled, and some of it fast.
                cloth.at.add(p, Vec3::new(r(0), r(1), r(2)) * 2e-3);
                let far = if p % 29 == 0 { 4e-2 } else { 1e-3 };
                cloth.v.set(p, Vec3::new(r(3), r(4), r(5)) * (far / cloth.spec.step));
            }
            cloth.follow(1e-3);
            cloth.find_pairs();
            let mut near = super::super::near::Near::default();
            cloth.mark_free(&mut near);
            let free = |key: &[u32; 2]| key.iter().any(|&id| near.is_free(id));
            let found = keys(&cloth);
            assert!(found.windows(2).all(|two| two[0] < two[1]), "{seed}: one is found twice");
            let law: Vec<[u32; 2]> = by_asking_all(&cloth).into_iter().filter(free).collect();
            assert!(law.len() > 150, "{}", law.len());
            let missed: Vec<_> = law.iter().filter(|key| found.binary_search(key).is_err()).collect();
            assert!(missed.is_empty(), "{seed}: {} missed, {:?} first", missed.len(), missed[0]);
        }
    }

    #[test]
    fn what_has_passed_goes_back_and_nothing_is_thrown_about() {
        let mut cloth = Woven::new(Spec::muslin(12, 12), Placement::default()).unwrap();
        let all: Vec<usize> = (0..cloth.crossings()).collect();
        cloth.split(&all, Kind::Disconnected);
        let momentum = |cloth: &Woven| {
            let by = |p: usize| (cloth.at.get(p) - cloth.tables.before.get(p)) * cloth.spec.node_mass();
            (0..cloth.at.len()).map(by).sum::<Vec3>()
        };
        // Nothing meets at its ends.
        for c in 0..cloth.crossings() {
            let p = cloth.particle(Family::Weft, c);
            cloth.at.add(p, Vec3::new(3e-4, 4e-4, 0.0));
        }
        cloth.follow(1e-3);
        cloth.find_pairs();
        // Weft 5 goes through all warps, by half a thickness.
        let went = Vec3::Z * (1.5 * cloth.spec.thickness);
        let apart = |cloth: &Woven, i: usize| {
            let c = cloth.crossing(i, 5);
            (cloth.position(Family::Warp, c) - cloth.position(Family::Weft, c)).z * cloth.side(c)
        };
        for i in 0..12 {
            let c = cloth.crossing(i, 5);
            let p = cloth.particle(Family::Weft, c);
            cloth.at.add(p, went * cloth.side(c));
        }
        cloth.tables.before.clone_from(&cloth.at);
        assert!((1..11).all(|i| apart(&cloth, i) < 0.0));
        (0..60).for_each(|_| cloth.keep_apart(0.1));
        for i in 1..11 {
            assert!(apart(&cloth, i) > 0.9 * cloth.spec.thickness, "{i}: {}", apart(&cloth, i));
        }
        // Nothing was moving, so nothing moves.
        assert!(momentum(&cloth).length() < 1e-18);
        let speeds = (0..cloth.at.len()).map(|p| (cloth.at.get(p) - cloth.tables.before.get(p)).length());
        assert!(speeds.fold(0.0, f64::max) < 1e-15);
    }

    #[test]
    fn what_comes_together_stops_and_keeps_its_momentum() {
        let mut cloth = Woven::new(Spec::muslin(12, 12), Placement::default()).unwrap();
        let all: Vec<usize> = (0..cloth.crossings()).collect();
        cloth.split(&all, Kind::Disconnected);
        cloth.follow(1e-3);
        cloth.find_pairs();
        let c = cloth.crossing(6, 6);
        let [p, q] = Family::BOTH.map(|family| cloth.particle(family, c));
        cloth.tables.before.clone_from(&cloth.at);
        // The warp's particle comes nearer by a fifth of the thickness.
        let by = cloth.normal[c] * (-0.2 * cloth.side(c) * cloth.spec.thickness);
        cloth.at.add(p, by);
        (0..40).for_each(|_| cloth.keep_apart(0.1));
        let gone = |p: usize| cloth.at.get(p) - cloth.tables.before.get(p);
        let all = (0..cloth.at.len()).map(gone).sum::<Vec3>();
        assert!(all.distance(by) < 1e-15, "{all} instead of {by}");
        assert!((gone(p) - gone(q)).dot(by) < 0.1 * by.length_squared());
    }

    #[test]
    fn a_pair_is_seen_where_it_was_and_not_where_it_would_have_gone() {
        let mut cloth = Woven::new(Spec::muslin(6, 6), Placement::default()).unwrap();
        cloth.split(&(0..cloth.crossings()).collect::<Vec<_>>(), Kind::Disconnected);
        let (l, thickness) = (cloth.spec.spacing, cloth.spec.thickness);
        // Weft 2 over the middle of a segment of warp 2, or beside it; all others far away.
        let put = |cloth: &mut Woven, y: f64, z: f64| {
            for c in 0..cloth.crossings() {
                let (i, j) = (c % 6, c / 6);
                let away = |yarn: usize| if yarn == 2 { 0.0 } else { 0.1 * (1 + yarn) as f64 };
                cloth.at.set(c, Vec3::new(2.5 * l, j as f64 * l, away(i)));
                let p = cloth.particle(Family::Weft, c);
                cloth.at.set(p, Vec3::new(i as f64 * l, y * l, z * thickness - away(j)));
            }
        };
        put(&mut cloth, 2.5, 0.6);
        cloth.follow(1e-3);
        cloth.find_pairs();
        let key = [cloth.crossing(2, 2) as u32, (cloth.crossings() + cloth.crossing(2, 2)) as u32];
        let k = cloth.pairs.iter().position(|pair| pair.key == key).expect("they are near");
        cloth.tables.before.clone_from(&cloth.at);
        // Springs would bring it around the end of the segment to below it, where it is far from it.
        put(&mut cloth, 3.7, -0.6);
        cloth.look_at_pairs(0.1);
        let passed = |cloth: &Woven| cloth.pairs[k].has_passed(&cloth.tables.ends[k].corners(&cloth.at));
        assert!(cloth.rests[k] != CLOSE && !passed(&cloth));
        // What else it meets brings it back there, and so through it.
        put(&mut cloth, 2.5, -0.6);
        assert!(passed(&cloth));
    }

    #[test]
    fn a_pair_that_was_measured_along_another_line_wakes_in_time() {
        let mut cloth = Woven::new(Spec::muslin(6, 6), Placement::default()).unwrap();
        cloth.split(&(0..cloth.crossings()).collect::<Vec<_>>(), Kind::Disconnected);
        let (l, thickness) = (cloth.spec.spacing, cloth.spec.thickness);
        // Weft 2 over the middle of a segment of warp 2; all others far away.
        let put = |cloth: &mut Woven, z: f64| {
            for c in 0..cloth.crossings() {
                let (i, j) = (c % 6, c / 6);
                let away = |yarn: usize| if yarn == 2 { 0.0 } else { 0.1 * (1 + yarn) as f64 };
                cloth.at.set(c, Vec3::new(2.5 * l, j as f64 * l, away(i)));
                let p = cloth.particle(Family::Weft, c);
                cloth.at.set(p, Vec3::new(i as f64 * l, 2.5 * l, z * thickness - away(j)));
            }
        };
        put(&mut cloth, 1.2);
        cloth.follow(1e-3);
        cloth.find_pairs();
        let key = [cloth.crossing(2, 2) as u32, (cloth.crossings() + cloth.crossing(2, 2)) as u32];
        let k = cloth.pairs.iter().position(|pair| pair.key == key).expect("they are near");
        let (x, down) = (|cloth: &Woven| cloth.tables.ends[k].corners(&cloth.at), 0.4);
        // It rested for few looks or for many.
        for rested in [1, 12] {
            // Three thicknesses apart, but only a little more than one along the line that it was last seen by.
            let mut z = 3.0;
            put(&mut cloth, z);
            let mut lines = (0..80).map(|k| Vec3::new(0.0, 0.01 * f64::from(k), -1.0).normalize());
            let aslant = lines.rfind(|&line| along(&x(&cloth), line) > 1.3 * thickness).unwrap();
            let apart = along(&x(&cloth), aslant);
            assert!(apart < 1.35 * thickness);
            cloth.rests[k] = 1;
            let pair = &mut cloth.pairs[k];
            (pair.normal, pair.apart, pair.rested, pair.way) = (aslant, apart as f32, rested, 0.0);
            // From there on it comes nearer, as fast all the time.
            while z > 0.7 {
                cloth.tables.before.clone_from(&cloth.at);
                z -= down;
                put(&mut cloth, z);
                cloth.look_at_pairs(0.1);
            }
            assert_eq!(cloth.rests[k], CLOSE, "{rested}");
        }
    }

    #[test]
    fn ends_that_were_divided_anew_are_on_their_side() {
        let mut cloth = Woven::new(Spec::muslin(6, 6), Placement::default()).unwrap();
        cloth.split(&(0..cloth.crossings()).collect::<Vec<_>>(), Kind::Disconnected);
        let (l, thickness) = (cloth.spec.spacing, cloth.spec.thickness);
        // Weft 2 over the middle of a segment of warp 2; all others far away.
        for c in 0..cloth.crossings() {
            let (i, j) = (c % 6, c / 6);
            let away = |yarn: usize| if yarn == 2 { 0.0 } else { 0.1 * (1 + yarn) as f64 };
            cloth.at.set(c, Vec3::new(2.5 * l, (j as f64 - 2.5) * l, away(i)));
            let p = cloth.particle(Family::Weft, c);
            cloth.at.set(p, Vec3::new(i as f64 * l, 0.0, 0.6 * thickness - away(j)));
            // It was below it when the step began, and has gone around its end.
            cloth.gone.set(p, Vec3::Z * (1.2 * thickness));
        }
        cloth.follow(1e-3);
        let c = cloth.crossing(2, 2);
        let late = |cloth: &mut Woven| {
            cloth.find_pairs();
            let key = [c as u32, (cloth.crossings() + c) as u32];
            cloth.pairs.iter().find(|pair| pair.key == key).expect("they are near").late
        };
        cloth.forget_pairs(Family::Warp, &[c]);
        assert!(!late(&mut cloth));
        // What was the same in the step before has passed if it has gone straight.
        cloth.divided.clear();
        cloth.pairs.clear();
        cloth.rests.clear();
        assert!(late(&mut cloth));
    }

    #[test]
    fn a_yarn_passes_through_itself_nowhere_beside_a_short_segment() {
        let mut spec = Spec::muslin(6, 6);
        (spec.gravity, spec.unbreakable) = (Vec3::ZERO, true);
        let thickness = spec.thickness;
        assert!(spec.packing * spec.spacing > thickness);
        let mut cloth = Woven::new(spec, Placement::default()).unwrap();
        cloth.split(&(0..cloth.crossings()).collect::<Vec<_>>(), Kind::Disconnected);
        // The end of weft 2 lies over the last segment but two of it, with one of `packing` between them, and goes down. All others are far away.
        let places =
            [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [3.0, 0.0, 0.0], [3.0, 0.2, 0.3], [2.4, -0.6, 0.3]];
        let place = |i: usize| Vec3::from(places[i]) * 1e-3;
        for c in 0..cloth.crossings() {
            let (i, j) = (c % 6, c / 6);
            let away = |yarn: usize| if yarn == 2 { 0.0 } else { 0.1 * (1 + yarn) as f64 };
            cloth.at.add(c, Vec3::Z * (1.0 + 0.1 * i as f64));
            let p = cloth.particle(Family::Weft, c);
            cloth.at.set(p, place(i) - Vec3::Z * away(j));
            cloth.weft.rest[c] = place(i).distance(place((i + 1).min(5)));
            if i > 3 {
                cloth.v.set(p, Vec3::Z * -0.3);
            }
        }
        let between = cloth.weft.rest[cloth.crossing(3, 2)];
        assert!(between > thickness && between < 2.0 * thickness);
        let (mut watch, mut bodies) = (crate::yarn::Watch::new(&cloth), crate::body::Bodies::default());
        for _ in 0..6 {
            cloth.step_watched(&mut bodies, |cloth| watch.look(cloth)).unwrap();
            watch.end_step(&cloth);
            assert_eq!(watch.take(), []);
        }
    }

    #[test]
    fn cells_that_are_sheared_nearly_shut_meet_themselves() {
        let mut cloth = Woven::new(Spec::muslin(12, 12), Placement::default()).unwrap();
        let (l, sine) = (cloth.spec.spacing, 0.3_f64);
        let aslant = Vec3::new((1.0 - sine * sine).sqrt(), sine, 0.0) * l;
        for c in 0..cloth.crossings() {
            cloth.at.set(c, Vec3::X * ((c % 12) as f64 * l) + aslant * (c / 12) as f64);
        }
        cloth.follow(1e-3);
        cloth.find_pairs();
        let (found, law) = (keys(&cloth), by_asking_all(&cloth));
        assert!(law.len() > 100, "{}", law.len());
        let missed: Vec<_> = law.iter().filter(|key| !found.contains(key)).collect();
        assert!(missed.is_empty(), "{} of {} missed", missed.len(), law.len());
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
}
