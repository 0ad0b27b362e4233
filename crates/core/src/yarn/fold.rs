//! Which segments may touch.
//!
//! Segments belong to *patches*: tiles of 4 × 4 crossings, and where a tile is torn, or some of it is [free](super::near), each of its parts that hangs together, so that no patch has particles of two pieces.
//!
//! **Free patches** and all others are compared in every step, where boxes around them, as far as they would go in the step if they went on as in the one before, touch; found by the [tree](crate::contact::tree) that sheets use.
//!
//! **Whole cloth** meets itself where it is folded. Two patches that come near each other, or one that is bent around, are a *fold*. Folds are found for as many steps as the cloth hardly changes its shape in, and when patches change.
//! Patches that touch and are flat together, and aren't sheared nearly shut, can't meet. Segments of a fold are compared when its patches have moved beside each other by as much as was added to the distance that was asked for; until then the fold *rests*, and so do folds
//! whose patches are far apart along the normal of one.
//!
//! The trees may depend on what came before, but which candidates there are doesn't.

use super::bundle::{Bundle, Candidate, MOST};
use super::near::{Near, Segment};
use super::state::{Family, Woven};
use crate::contact::tree::{Swept, Tree};
use crate::math::Vec3;
use crate::parallel;
use glam::Vec3A;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::ops::Range;

/// Crossings along the side of a tile, each with two segments.
const TILE: usize = 4;
const _: () = assert!(2 * TILE * TILE <= MOST);

/// Steps from one look for folds to the next.
pub(super) const STEPS: u64 = 4;

/// How near patches come in that time to be looked at in every step [spacings], if they went on as they do.
const FOLD: f64 = 1.5;

/// Least cosine within a patch that can't meet itself.
const FLAT: f64 = 0.45;

/// Least cosines within a flat patch and between two that can't meet before folds are looked for again. Those whose mean normals are less than a right angle apart may touch where both are bent the same way, but seldom do.
const FLAT_TOGETHER: [f64; 2] = [0.3, 0.0];

/// The same for patches in which something moves by more than a spacing beside the rest until then: torn edges turn over in three steps.
const FLAT_IN_MOTION: [f64; 2] = [0.5, 0.5];

/// Sine between the yarns of a cell below which it is sheared so much that neighbours along it, which are a spacing times that apart, may meet though all is flat.
const SHEARED: f64 = 0.6;

/// Patches, and folds, that are work for one thread.
const FEW: usize = 16;

/// No patch.
const NONE: u32 = u32::MAX;

/// Segments that hang together, all free or none.
#[derive(Clone, Debug)]
struct Patch {
    /// Its first segment, which tells it from others.
    id: u32,
    tile: u32,
    /// It is part of a torn tile.
    torn: bool,
    /// Where its segments are among all items.
    items: Range<u32>,
}

/// A segment of a patch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    /// Its number.
    pub id: u32,
    pub segment: Segment,
    /// How far along the normals of its crossings it is drawn off its particles [m].
    pub over: [f64; 2],
}

/// All of them: whole ones, then free ones.
#[derive(Clone, Debug, Default)]
struct Patches {
    list: Vec<Patch>,
    /// How many are whole.
    whole: usize,
    /// By tiles: the patches that each is made of.
    tiles: Vec<SmallVec<[Patch; 1]>>,
    /// Segments, [`MOST`] places for those of a tile, patch by patch.
    items: Vec<Item>,
    /// By segments: their item, and the number of their patch.
    place: Vec<u32>,
    number: Vec<u32>,
    /// All segments.
    known: Vec<Item>,
    /// What they were made of: segments that are free and that are there, crossings that are one particle.
    free: Vec<bool>,
    /// Particles of free segments, in order.
    loose: Vec<u32>,
    live: Vec<bool>,
    one: Vec<bool>,
}

impl Patches {
    fn items(&self, patch: &Patch) -> &[Item] {
        &self.items[patch.items.start as usize..patch.items.end as usize]
    }

    /// A segment, if it is there.
    fn item(&self, id: u32) -> Option<&Item> {
        self.items.get(self.place[id as usize] as usize)
    }

    /// The patch of a segment, if it is there.
    fn patch(&self, id: u32) -> Option<&Patch> {
        self.list.get(self.number[id as usize] as usize)
    }

    /// The number of the patch of a segment that is there.
    fn number(&self, id: u32) -> usize {
        self.number[id as usize] as usize
    }

    /// Divides a tile of these segments anew.
    fn divide(&mut self, tile: usize, segments: &[u32]) {
        let Self { tiles, items, place, known, free, live, .. } = self;
        let first = tile * MOST;
        tiles[tile].clear();
        for &id in segments {
            place[id as usize] = NONE;
        }
        let mut put = |at: usize, id: u32| {
            items[first + at] = known[id as usize];
            place[id as usize] = (first + at) as u32;
        };
        let patch = |id: u32, torn: bool, from: usize, count: usize| {
            let start = (first + from) as u32;
            Patch { id, tile: tile as u32, torn, items: start..start + count as u32 }
        };
        if segments.iter().all(|&id| !free[id as usize] && live[id as usize]) {
            segments.iter().enumerate().for_each(|(at, &id)| put(at, id));
            tiles[tile].extend(segments.first().map(|&id| patch(id, false, 0, segments.len())));
            return;
        }
        // The smallest segment that each hangs together with, itself and its ends.
        let there = segments.iter().filter(|&&id| live[id as usize]);
        let mut here: SmallVec<[(u32, u32, [u32; 2]); MOST]> =
            there.map(|&id| (id, id, known[id as usize].segment.ends)).collect();
        loop {
            let mut changed = false;
            for a in 0..here.len() {
                for b in 0..a {
                    let (one, other) = (here[a], here[b]);
                    let joined = one.2.iter().any(|p| other.2.contains(p));
                    if joined && one.0 != other.0 && free[one.1 as usize] == free[other.1 as usize] {
                        here[a].0 = one.0.min(other.0);
                        here[b].0 = here[a].0;
                        changed = true;
                    }
                }
            }
            if !changed {
                break;
            }
        }
        here.sort_unstable_by_key(|of| (of.0, of.1));
        here.iter().enumerate().for_each(|(at, of)| put(at, of.1));
        let mut from = 0;
        for part in here.chunk_by(|a, b| a.0 == b.0) {
            tiles[tile].push(patch(part[0].1, true, from, part.len()));
            from += part.len();
        }
    }

    /// Puts the patches of all tiles into one list: those of whole tiles, those of torn ones, and the free ones.
    fn enlist(&mut self) {
        let Self { list, whole, tiles, items, number, free, loose, .. } = self;
        let is_free = |patch: &Patch| free[patch.id as usize];
        list.clear();
        list.extend(tiles.iter().flatten().filter(|patch| !patch.torn).cloned());
        let from = list.len();
        list.extend(tiles.iter().flatten().filter(|patch| patch.torn).cloned());
        list[from..].sort_unstable_by_key(|patch| (is_free(patch), patch.id));
        *whole = list.partition_point(|patch| !is_free(patch));
        number.fill(NONE);
        for (k, patch) in list.iter().enumerate() {
            for item in &items[patch.items.start as usize..patch.items.end as usize] {
                number[item.id as usize] = k as u32;
            }
        }
        let mut is_loose = vec![false; number.len()];
        for patch in &list[*whole..] {
            let items = &items[patch.items.start as usize..patch.items.end as usize];
            items.iter().flat_map(|item| item.segment.ends).for_each(|p| is_loose[p as usize] = true);
        }
        loose.clear();
        loose.extend((0..number.len() as u32).filter(|&p| is_loose[p as usize]));
    }
}

/// Two patches that may meet, or one that may meet itself.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Fold {
    /// By their first segments, the smaller one first.
    patches: [u32; 2],
    /// How far they may still move beside each other until their segments are compared again [m].
    slack: f32,
    /// How far they moved beside each other in the last step, at most [m].
    way: f32,
    /// Their segments need not be compared in this step.
    rests: bool,
}

impl Fold {
    fn new(patches: [u32; 2]) -> Self {
        Self { patches, slack: 0.0, way: 0.0, rests: false }
    }
}

/// The shape of a patch.
#[derive(Clone, Copy)]
struct Shape {
    /// Mean normal (unit), and the least cosine of a crossing's with it; that of half a circle where it is sheared nearly shut.
    normal: Vec3,
    flat: f64,
    /// Where it is and goes.
    swept: Swept,
}

impl Shape {
    const NONE: Self = Self { normal: Vec3::ZERO, flat: 1.0, swept: Swept::NONE };

    /// True if whole patches that touch are so flat together that they can't meet: a sheet has to turn by more than half a circle to come back to itself.
    fn lies_with(&self, other: &Self, spacing: f64) -> bool {
        let both = self.swept.with(&other.swept);
        let calm = f64::from((both.most - both.least).length()) < spacing;
        let [within, between] = if calm { FLAT_TOGETHER } else { FLAT_IN_MOTION };
        self.flat > within && other.flat > within && self.normal.dot(other.normal) > between
    }
}

/// What is needed to find out.
#[derive(Default)]
pub(super) struct Folds {
    patches: Patches,
    /// By patches: their segments in motion.
    bundles: Vec<Bundle>,
    /// By patches: the first of their folds.
    first: Vec<u32>,
    /// All patches, and whole ones.
    all: Boxes,
    whole: Boxes,
}

impl Folds {
    /// A segment that is there.
    pub fn item(&self, id: u32) -> &Item {
        self.patches.item(id).expect("live segments are in patches")
    }

    /// The number of the patch of a segment that is there.
    pub fn patch(&self, id: u32) -> usize {
        self.patches.number(id)
    }

    /// Particles of free segments, in order.
    pub fn loose(&self) -> &[u32] {
        &self.patches.loose
    }

    /// Segments that may come as near to some others as `reach` [m] within the step, as all were foreseen; `take` gets the number of the other, the segment and how far they come nearer to each other, at most.
    pub fn beside(
        &self,
        bundle: &Bundle,
        reach: f32,
        candidates: &mut Vec<Candidate>,
        mut take: impl FnMut(u8, u32, f32),
    ) {
        self.all.tree.near(&bundle.around, reach, |k| {
            let there = &self.bundles[k as usize];
            bundle.candidates(there, there.normal, reach, candidates);
            let items = self.patches.items(&self.patches.list[k as usize]);
            for candidate in candidates.iter() {
                let [k, l] = candidate.segments;
                take(k, items[usize::from(l)].id, candidate.way);
            }
        });
    }
}

/// A tree, and for how many patches it was built, and how many of them don't count among themselves.
#[derive(Default)]
struct Boxes {
    tree: Tree,
    built: [usize; 2],
}

impl Boxes {
    /// Builds the tree if it is no longer good, and fits it to boxes around patches.
    fn fit(&mut self, [count, mute]: [usize; 2], swept: impl Fn(usize) -> Swept + Sync) {
        if self.built != [count, mute] {
            let middles: Vec<Vec3A> = (0..count).map(|k| swept(k).middle()).collect();
            self.tree.build(&middles, mute as u32);
        }
        let fits = self.tree.refit(|k| swept(k as usize));
        self.built = if fits { [count, mute] } else { [0; 2] };
    }
}

impl Woven {
    /// What hangs together. Tiles in which nothing has changed stay as they are.
    fn find_patches(&self, free: &[bool], patches: &mut Patches) {
        let (warps, wefts, count) = (self.spec.warps, self.spec.wefts, self.kind.len());
        let item = |id: usize| {
            let segment = self.segment(id as u32);
            let over = segment.crossings.map(|c| self.over(segment.family(), c as usize));
            Item { id: id as u32, segment, over }
        };
        let (columns, rows) = (warps.div_ceil(TILE), wefts.div_ceil(TILE));
        let tile_of = |id: usize| id % count / warps / TILE * columns + id % count % warps / TILE;
        let mut changed = vec![false; columns * rows];
        if patches.known.len() != 2 * count {
            let known: Vec<Item> = (0..2 * count).map(item).collect();
            *patches = Patches {
                tiles: vec![SmallVec::new(); columns * rows],
                items: vec![known[0]; columns * rows * MOST],
                place: vec![NONE; 2 * count],
                number: vec![NONE; 2 * count],
                free: free.to_vec(),
                live: (0..2 * count).map(|id| self.is_live(id as u32)).collect(),
                one: self.kind.iter().map(|kind| kind.is_one()).collect(),
                known,
                ..Patches::default()
            };
            changed.fill(true);
        }
        for c in 0..count {
            if self.kind[c].is_one() == patches.one[c] {
                continue;
            }
            patches.one[c] = self.kind[c].is_one();
            let both = [Some(c), c.checked_sub(warps), Some(count + c), (c > 0).then(|| count + c - 1)];
            for id in both.into_iter().flatten() {
                patches.known[id] = item(id);
                changed[tile_of(id)] = true;
            }
        }
        for (family, first) in Family::BOTH.into_iter().zip([0, count]) {
            let stiffness = &self.springs(family).stiffness;
            let (is_free, was_free) = (&free[first..first + count], &mut patches.free[first..first + count]);
            let was_live = &mut patches.live[first..first + count];
            for c in 0..count {
                let is_live = stiffness[c] > 0.0;
                if (is_live != was_live[c]) | (is_free[c] != was_free[c]) {
                    (was_live[c], was_free[c]) = (is_live, is_free[c]);
                    changed[tile_of(first + c)] = true;
                }
            }
        }
        if !changed.contains(&true) {
            return;
        }
        for tile in (0..changed.len()).filter(|&tile| changed[tile]) {
            let segments: SmallVec<[u32; MOST]> = self.tile_segments(tile as u32).collect();
            patches.divide(tile, &segments);
        }
        patches.enlist();
    }

    /// Pairs of segments that may come as near as `reach` [m] within a step; `take` makes something of them, given how far they come nearer to each other, at most. Folds whose patches have moved little beside each other since
    /// their segments were compared, with `skin` [m] more, rest. In no order.
    pub(super) fn near_pairs<T: Send>(
        &mut self,
        near: &mut Near,
        [reach, skin]: [f64; 2],
        take: impl Fn(&Self, [&Item; 2], f64) -> Option<T> + Sync,
    ) -> Vec<T> {
        self.find_folds(near);
        let Near { way, folds, origin: place, reach: far, .. } = near;
        let Folds { patches, bundles, first, all, .. } = folds;
        if self.folds.is_empty() && patches.whole == patches.list.len() {
            return Vec::new();
        }
        let origin = self.at.get(0);
        let rounding = 1e-6 * self.size(origin);
        (*place, *far) = (origin, reach + rounding);
        let (patches, way) = (&*patches, &*way);
        bundles.resize(patches.list.len(), Bundle::default());
        parallel::for_each_chunk(bundles, FEW, |first, bundles| {
            for (bundle, patch) in bundles.iter_mut().zip(&patches.list[first..]) {
                let segments = patches.items(patch).iter().map(|item| {
                    let end = |k: usize| {
                        let (c, p) = (item.segment.crossings[k] as usize, item.segment.ends[k] as usize);
                        let x = self.at.get(p) + self.normal[c] * item.over[k];
                        ((x - origin).as_vec3a(), way[p].as_vec3a(), p as u32)
                    };
                    [end(0), end(1)]
                });
                let normal = self.patch_normals(patches, patch).sum::<Vec3>().normalize_or_zero();
                bundle.fill(segments, normal.as_vec3a());
            }
        });
        let bundles = &*bundles;
        let (near, skinned) = ((reach + rounding) as f32, (reach + skin + rounding) as f32);
        let mut folds = std::mem::take(&mut self.folds);
        // Along which line those that don't rest are compared.
        let mut lines = vec![Vec3A::ZERO; folds.len()];
        parallel::for_each_pair(&mut folds, &mut lines, |_, fold, line| {
            let [a, b] = fold.patches.map(|id| &bundles[patches.number(id)]);
            fold.way = a.around.beside(&b.around);
            fold.slack -= fold.way;
            // What it went last time it may go again.
            fold.rests = fold.slack > fold.way;
            if !fold.rests {
                let apart = a.around.gap(&b.around) - skinned;
                fold.rests = apart > fold.way;
                fold.slack = if fold.rests { apart } else { skin as f32 };
            }
            if !fold.rests {
                let (along, apart) = a.gap(b, near);
                *line = along;
                if apart > near {
                    // Until the next step.
                    (fold.rests, fold.slack) = (true, 0.0);
                }
            }
        });
        first.clear();
        first.resize(patches.list.len(), NONE);
        for (k, fold) in folds.iter().enumerate().rev() {
            first[patches.number(fold.patches[0])] = k as u32;
        }
        let mut meet: Vec<([u32; 2], Vec3A, bool)> = Vec::new();
        let woken = folds.iter().zip(lines).filter(|(fold, _)| !fold.rests);
        meet.extend(woken.map(|(fold, line)| (fold.patches.map(|id| patches.number(id) as u32), line, true)));
        if patches.whole < patches.list.len() {
            all.fit([patches.list.len(), patches.whole], |k| bundles[k].around);
            let mut lists = Vec::new();
            let both = |a: u32, b: u32, _: &Swept, _: &Swept, list: &mut Vec<_>| {
                // A normal of whole cloth, if there is one.
                let line = bundles[a.min(b) as usize].normal;
                list.push(([a, b], line, false));
            };
            all.tree.pairs(near, |_, _| false, both, &mut lists);
            meet.extend(lists.into_iter().flatten());
            let free = patches.whole as u32..patches.list.len() as u32;
            meet.extend(free.map(|k| ([k, k], bundles[k as usize].normal, false)));
        }
        self.folds = folds;
        let cloth = &*self;
        let mut found: Vec<Vec<T>> = Vec::new();
        found.resize_with(meet.len().div_ceil(FEW), Vec::new);
        parallel::for_each_chunk(&mut found, 1, |k, found| {
            let mut candidates = Vec::new();
            for &([p, q], line, whole) in meet.iter().skip(k * FEW).take(FEW) {
                // One by one those of which there are fewer.
                let both = if bundles[p as usize].count <= bundles[q as usize].count { [p, q] } else { [q, p] };
                let [a, b] = both.map(|patch| &bundles[patch as usize]);
                a.candidates(b, line, if whole { skinned } else { near }, &mut candidates);
                let [here, there] = both.map(|patch| patches.items(&patches.list[patch as usize]));
                found[0].extend(candidates.iter().filter_map(|candidate| {
                    let [k, l] = candidate.segments.map(usize::from);
                    take(cloth, [&here[k], &there[l]], candidate.way.into())
                }));
            }
        });
        found.into_iter().flatten().collect()
    }

    /// How far two segments of whole cloth come nearer to each other in a step, at most [m], if their fold rests.
    pub(super) fn resting(&self, near: &Near, ids: [u32; 2]) -> Option<f64> {
        let Folds { patches, first, .. } = &near.folds;
        if ids.iter().any(|&id| near.free[id as usize]) {
            return None;
        }
        let [a, b] = [patches.patch(ids[0])?.id, patches.patch(ids[1])?.id];
        let key = [a.min(b), a.max(b)];
        let from = *first.get(patches.number(key[0]))?;
        let mut there = self.folds.get(from as usize..)?.iter().take_while(|fold| fold.patches[0] == key[0]);
        there.find(|fold| fold.patches == key).filter(|fold| fold.rests).map(|fold| f64::from(fold.way))
    }

    /// Looks for patches, and if it is time to for folds.
    fn find_folds(&mut self, near: &mut Near) {
        self.find_patches(&near.free, &mut near.folds.patches);
        let whole = near.folds.patches.list[..near.folds.patches.whole].iter().map(|patch| patch.id);
        if self.step < self.fold_until && self.patches.iter().copied().eq(whole.clone()) {
            return;
        }
        self.patches = whole.collect();
        self.folds = self.folds_of(&mut near.folds);
        self.fold_until = self.step + STEPS;
    }

    /// Whole patches that may meet, or themselves, within [`STEPS`] steps, in the order of their numbers.
    fn folds_of(&self, folds: &mut Folds) -> Vec<Fold> {
        let Folds { patches, whole, .. } = folds;
        let (patches, columns) = (&*patches, self.spec.warps.div_ceil(TILE) as u32);
        let origin = self.at.get(0);
        let mut shapes = vec![Shape::NONE; patches.whole];
        parallel::for_each_chunk(&mut shapes, FEW, |first, shapes| {
            for (shape, patch) in shapes.iter_mut().zip(&patches.list[first..]) {
                let normals = self.patch_normals(patches, patch);
                shape.normal = normals.clone().sum::<Vec3>().normalize_or_zero();
                shape.flat = normals.fold(1.0, |least: f64, n| least.min(n.dot(shape.normal)));
                if self.is_sheared(patches, patch) {
                    shape.flat = -1.0;
                }
                for &p in patches.items(patch).iter().flat_map(|item| &item.segment.ends) {
                    let ahead = self.ahead(p, STEPS as f64).as_vec3a();
                    let corner = ((self.at.get(p as usize) - origin).as_vec3a(), ahead);
                    shape.swept = shape.swept.with(&Swept::of([corner]));
                }
            }
        });
        whole.fit([shapes.len(), 0], |k| shapes[k].swept);
        let reach = (FOLD * self.spec.spacing + 1e-6 * self.size(origin)) as f32;
        let key = |a: u32, b: u32| {
            let ids = [a, b].map(|k| patches.list[k as usize].id);
            [ids[0].min(ids[1]), ids[0].max(ids[1])]
        };
        let meet = |a: u32, b: u32, _: &Swept, _: &Swept, list: &mut Vec<[u32; 2]>| {
            let [one, other] = [a, b].map(|k| &patches.list[k as usize]);
            let [(p, q), (r, s)] = [one, other].map(|patch| (patch.tile % columns, patch.tile / columns));
            let touch = !one.torn && !other.torn && p.abs_diff(r) <= 1 && q.abs_diff(s) <= 1;
            if !(touch && shapes[a as usize].lies_with(&shapes[b as usize], self.spec.spacing)) {
                list.push(key(a, b));
            }
        };
        let mut lists = Vec::new();
        whole.tree.pairs(reach, |_, _| false, meet, &mut lists);
        let mut pairs: Vec<[u32; 2]> = lists.into_iter().flatten().collect();
        pairs.extend((0..shapes.len() as u32).filter(|&k| shapes[k as usize].flat < FLAT).map(|k| key(k, k)));
        pairs.sort_unstable();
        // What is known of a fold stays.
        let mut known = self.folds.iter().peekable();
        let mut fold = |patches: [u32; 2]| {
            while known.next_if(|known| known.patches < patches).is_some() {}
            known.next_if(|known| known.patches == patches).copied().unwrap_or_else(|| Fold::new(patches))
        };
        pairs.into_iter().map(&mut fold).collect()
    }

    /// Normals of the crossings that segments of a patch begin at, most of them twice.
    fn patch_normals<'a>(&'a self, patches: &'a Patches, patch: &Patch) -> impl Iterator<Item = Vec3> + Clone + 'a {
        patches.items(patch).iter().map(|item| self.normal[item.segment.crossings[0] as usize])
    }

    /// True if some cell of a patch is sheared nearly shut.
    fn is_sheared(&self, patches: &Patches, patch: &Patch) -> bool {
        let along = |item: &Item| {
            let [from, to] = item.segment.ends.map(|p| self.at.get(p as usize));
            to - from
        };
        patches.items(patch).iter().filter(|item| !item.segment.weft).any(|warp| {
            let Some(weft) = patches.item(warp.id + self.kind.len() as u32) else { return false };
            let (a, b) = (along(warp), along(weft));
            a.cross(b).length_squared() < SHEARED * SHEARED * a.length_squared() * b.length_squared()
        })
    }

    /// How far the furthest particle is from a point, along one axis [m].
    fn size(&self, origin: Vec3) -> f64 {
        let far = |p: usize| (self.at.get(p) - origin).abs().max_element();
        (0..self.kind.len()).map(far).fold(0.0, f64::max)
    }

    /// Segments that begin in a tile, also if they are cut.
    fn tile_segments(&self, tile: u32) -> impl Iterator<Item = u32> + use<> {
        let (warps, wefts, count) = (self.spec.warps, self.spec.wefts, self.kind.len());
        let columns = warps.div_ceil(TILE);
        let (i, j) = (tile as usize % columns * TILE, tile as usize / columns * TILE);
        let (right, top) = ((i + TILE).min(warps), (j + TILE).min(wefts));
        let places = (j..top).flat_map(move |j| (i..right).map(move |i| (i, j)));
        places.flat_map(move |(i, j)| {
            let c = j * warps + i;
            let both = [(j + 1 < wefts).then_some(c), (i + 1 < warps).then_some(count + c)];
            both.into_iter().flatten().map(|id| id as u32)
        })
    }
}
