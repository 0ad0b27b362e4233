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
use super::state::Woven;
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
    items: Range<u32>,
}

/// A segment of a patch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    /// Its number.
    pub id: u32,
    pub patch: u32,
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
    items: Vec<Item>,
    /// By segments: their item.
    place: Vec<u32>,
    /// All segments, without their patches.
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

    /// The number of the patch of a segment that is there.
    fn number(&self, id: u32) -> usize {
        self.items[self.place[id as usize] as usize].patch as usize
    }

    /// Adds a patch of these segments.
    fn add(&mut self, tile: u32, torn: bool, segments: impl Iterator<Item = u32>) {
        let (first, patch) = (self.items.len(), self.list.len() as u32);
        for id in segments {
            self.place[id as usize] = self.items.len() as u32;
            self.items.push(Item { patch, ..self.known[id as usize] });
        }
        if let Some(item) = self.items.get(first) {
            let items = first as u32..self.items.len() as u32;
            self.list.push(Patch { id: item.id, tile, torn, items });
        }
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
    /// What hangs together.
    fn find_patches(&self, free: &[bool], patches: &mut Patches) {
        let (warps, wefts, count) = (self.spec.warps, self.spec.wefts, self.kind.len());
        let live = |id: usize| self.is_live(id as u32);
        let item = |id: usize| {
            let segment = self.segment(id as u32);
            let over = segment.crossings.map(|c| self.over(segment.family(), c as usize));
            Item { id: id as u32, patch: NONE, segment, over }
        };
        if patches.known.len() != 2 * count {
            patches.known = (0..2 * count).map(item).collect();
            patches.one = self.kind.iter().map(|kind| kind.is_one()).collect();
            patches.live.clear();
        }
        let split: Vec<usize> = (0..count).filter(|&c| self.kind[c].is_one() != patches.one[c]).collect();
        let same = |patches: &Patches| patches.free == free && (0..2 * count).all(|id| patches.live[id] == live(id));
        if split.is_empty() && patches.live.len() == 2 * count && same(patches) {
            return;
        }
        for c in split {
            patches.one[c] = self.kind[c].is_one();
            for id in
                [Some(c), c.checked_sub(warps), Some(count + c), (c > 0).then(|| count + c - 1)].into_iter().flatten()
            {
                patches.known[id] = item(id);
            }
        }
        patches.live.clear();
        patches.live.extend((0..2 * count).map(live));
        patches.free.clear();
        patches.free.extend_from_slice(free);
        patches.list.clear();
        patches.items.clear();
        patches.place.clear();
        patches.place.resize(2 * count, NONE);
        // Segments of torn tiles: the smallest one that it hangs together with, the tile, the segment and its ends.
        let mut torn: Vec<(u32, u32, u32, [u32; 2])> = Vec::new();
        for tile in 0..(warps.div_ceil(TILE) * wefts.div_ceil(TILE)) as u32 {
            let here: SmallVec<[u32; MOST]> = self.tile_segments(tile).collect();
            if here.iter().all(|&id| !free[id as usize] && patches.live[id as usize]) {
                patches.add(tile, false, here.into_iter());
                continue;
            }
            let from = torn.len();
            let there = here.into_iter().filter(|&id| patches.live[id as usize]);
            torn.extend(there.map(|id| (id, tile, id, patches.known[id as usize].segment.ends)));
            let here = &mut torn[from..];
            loop {
                let mut changed = false;
                for a in 0..here.len() {
                    for b in 0..a {
                        let (one, other) = (here[a], here[b]);
                        let joined = one.3.iter().any(|p| other.3.contains(p));
                        if joined && one.0 != other.0 && free[one.2 as usize] == free[other.2 as usize] {
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
        }
        torn.sort_unstable_by_key(|of| (free[of.2 as usize], of.0, of.2));
        for part in torn.chunk_by(|a, b| a.0 == b.0) {
            patches.add(part[0].1, true, part.iter().map(|of| of.2));
        }
        patches.whole = patches.list.partition_point(|patch| !free[patch.id as usize]);
        let of_free = patches.items.iter().filter(|item| free[item.id as usize]);
        patches.loose = of_free.flat_map(|item| item.segment.ends).collect();
        patches.loose.sort_unstable();
        patches.loose.dedup();
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
                        ((x - origin).as_vec3a(), way[p].as_vec3a())
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
                let (along, apart) = a.gap(b);
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
        let [a, b] = [patches.item(ids[0])?, patches.item(ids[1])?].map(|item| patches.list[item.patch as usize].id);
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
