//! What strays from the way that it was foreseen to go becomes pairs within the step.
//!
//! Pairs are found once per step ([`super::collide`]): two segments are none if they stay further apart than `reach` all the time, each particle going the way w that it would go by its speed. So no two of them meet as long as all particles are near that way *at that time*:
//!
//! |x(t) − x₀ − w t| ≤ r,  2 r < reach
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | x₀, w | `from`, `way` | m | where a particle is foreseen when the step begins, and how far it goes until it ends |
//! | t | `time` | 1 | part of the step that is over |
//! | r | [`STRAY`] T | m | how far it may be from there |
//!
//! Ends of yarns that are let go, and those that are stopped by what they meet, aren't. So in every substep, when yarns have moved and before pairs are kept apart, particles of free yarns are looked at. One that strays is foreseen anew, by how it moves now, and its segments are compared with
//! all others again; what may meet becomes a pair, which is on its side as it was when the substep began. Then the law above holds for it again.
//!
//! Such bounds are known from offset geometric contact (Chen et al. 2025), which stops what leaves them; here they are set anew, so that nothing is slowed down.
//! Limits: whole cloth isn't looked at. What keeps pairs apart moves particles after the look; the rest of `reach` is for that.

use super::bundle::{Bundle, MOST};
use super::collide::Found;
use super::near::Near;
use super::pair::Pair;
use super::state::{Family, Woven};
use crate::contact::tree::Swept;
use crate::math::Vec3;
use crate::parallel;
use glam::Vec3A;
use smallvec::SmallVec;

/// How far a particle may be from where it was foreseen [T].
const STRAY: f64 = 0.7;

/// Patches of what has strayed that are work for one thread.
const FEW: usize = 8;

/// A particle that is looked at, and how it is foreseen: as if it had begun the step at `from` [m].
#[derive(Clone, Copy, Debug)]
struct Seen {
    from: Vec3,
    way: Vec3,
    particle: u32,
}

/// What has strayed in a step.
#[derive(Clone, Debug, Default)]
pub(super) struct Strays {
    /// Particles of free yarns.
    seen: Vec<Seen>,
    /// By particles: their number among these, from one on; zero if they are none.
    place: Vec<u32>,
    /// Segments of those that have strayed, and boxes around these as they are foreseen now.
    segments: Vec<(u32, Swept)>,
    /// By segments: their number among these, from one on.
    number: Vec<u32>,
    /// Pairs that were added, in order.
    pairs: Vec<[u32; 2]>,
}

impl Strays {
    /// Begins a step of so many particles.
    fn begin(&mut self, count: usize) {
        self.place.resize(count, 0);
        for seen in self.seen.drain(..) {
            self.place[seen.particle as usize] = 0;
        }
        self.number.resize(count, 0);
        for (id, _) in self.segments.drain(..) {
            self.number[id as usize] = 0;
        }
        self.pairs.clear();
    }
}

impl Woven {
    /// Nothing has strayed.
    pub(super) fn begin_strays(&mut self) {
        let mut strays = std::mem::take(&mut self.tables.strays);
        strays.begin(self.at.len());
        let near = &self.tables.near;
        for &particle in near.folds.loose() {
            let p = particle as usize;
            strays.seen.push(Seen { from: self.at.get(p), way: near.way[p], particle });
            strays.place[p] = strays.seen.len() as u32;
        }
        self.tables.strays = strays;
    }

    /// Where a particle is foreseen when the step begins, and how far it goes [m].
    fn foreseen(&self, strays: &Strays, near: &Near, p: usize) -> [Vec3; 2] {
        match strays.place[p] {
            0 => [self.gone.get(p), near.way[p]],
            k => [strays.seen[k as usize - 1].from, strays.seen[k as usize - 1].way],
        }
    }

    /// Adds pairs of what has strayed by this time, as a part of the step; `share` is the part of a substep.
    pub(super) fn follow_strays(&mut self, time: f64, share: f64) {
        let far = STRAY * self.spec.thickness;
        let is_far = |seen: &&Seen| {
            let p = seen.particle as usize;
            self.at.get(p).distance_squared(seen.from + seen.way * time) > far * far && self.tables.w[p] > 0.0
        };
        let strayed: Vec<u32> = self.tables.strays.seen.iter().filter(is_far).map(|seen| seen.particle).collect();
        if strayed.is_empty() {
            return;
        }
        let mut strays = std::mem::take(&mut self.tables.strays);
        let near = std::mem::take(&mut self.tables.near);
        for &particle in &strayed {
            let p = particle as usize;
            let x = self.at.get(p);
            let way = self.look_ahead((x - self.tables.before.get(p)) / share);
            strays.seen[strays.place[p] as usize - 1] = Seen { from: x - way * time, way, particle };
        }
        let mut found = self.stray_pairs(&mut strays, &near, &strayed);
        found.sort_unstable_by_key(Found::order);
        found.dedup_by_key(|found| found.key);
        found.retain(|found| match self.tables.keys.binary_search(&found.order()) {
            // It has gone further than it was to rest for.
            Ok(k) => {
                self.rests[k] = self.rests[k].min(1);
                false
            }
            Err(_) => strays.pairs.binary_search(&found.key).is_err(),
        });
        for found in &found {
            let ends = self.ends_of(found.key.map(|id| near.folds.item(id)));
            // All were on their side when the substep began.
            self.pairs.push(Pair::seen(found.key, ends.corners(&self.tables.before), found.way));
            self.rests.push(0);
            self.tables.ends.push(ends);
        }
        if !found.is_empty() {
            strays.pairs.extend(found.iter().map(|found| found.key));
            // Two lists in order, which this sort sees.
            strays.pairs.sort();
            self.added = strays.pairs.len() as u32;
        }
        (self.tables.strays, self.tables.near) = (strays, near);
    }

    /// Pairs with segments of particles that have just strayed.
    fn stray_pairs(&self, strays: &mut Strays, near: &Near, strayed: &[u32]) -> Vec<Found> {
        let reach = near.reach as f32;
        let own = strayed.iter().flat_map(|&p| self.segments_at(p as usize));
        let mut own: Vec<(usize, u32)> = own.map(|id| (near.folds.patch(id), id)).collect();
        own.sort_unstable();
        own.dedup();
        for &(_, id) in &own {
            let swept = Swept::of(self.ends_in_motion(strays, near, id).map(|(from, way, _)| (from, way)));
            let number = &mut strays.number[id as usize];
            if *number == 0 {
                strays.segments.push((id, swept));
                *number = strays.segments.len() as u32;
            }
            strays.segments[*number as usize - 1].1 = swept;
        }
        // Those of a patch hang together.
        let groups: Vec<&[(usize, u32)]> = own.chunk_by(|a, b| a.0 == b.0).collect();
        let mut lists = vec![Vec::new(); groups.len().div_ceil(FEW)];
        let strays = &*strays;
        parallel::for_each_chunk(&mut lists, 1, |k, list| {
            let fill = |bundle: &mut Bundle, ids: &[u32]| {
                bundle.fill(ids.iter().map(|&id| self.ends_in_motion(strays, near, id)), Vec3A::ZERO);
            };
            let (mut bundle, mut others, mut candidates) = (Bundle::default(), Bundle::default(), Vec::new());
            for group in groups.iter().skip(k * FEW).take(FEW) {
                let own: SmallVec<[u32; MOST]> = group.iter().map(|of| of.1).collect();
                fill(&mut bundle, &own);
                let mut add = |[k, id]: [u32; 2], way: f32| {
                    if k != id {
                        list[0].extend(self.meet([k, id].map(|id| near.folds.item(id)), way.into()));
                    }
                };
                near.folds.beside(&bundle, reach, &mut candidates, |k, id, way| add([own[usize::from(k)], id], way));
                // What has strayed is elsewhere.
                let beside = strays.segments.iter().filter(|(_, swept)| swept.may_meet(&bundle.around, reach));
                let beside: Vec<u32> = beside.map(|&(id, _)| id).collect();
                for part in beside.chunks(MOST) {
                    fill(&mut others, part);
                    bundle.candidates(&others, Vec3A::X, reach, &mut candidates);
                    for candidate in &candidates {
                        let [k, l] = candidate.segments.map(usize::from);
                        add([own[k], part[l]], candidate.way);
                    }
                }
            }
        });
        lists.into_iter().flatten().collect()
    }

    /// Where the ends of a segment are foreseen to be drawn when the step begins, how far they go, and their particles.
    fn ends_in_motion(&self, strays: &Strays, near: &Near, id: u32) -> [(Vec3A, Vec3A, u32); 2] {
        let item = near.folds.item(id);
        [0, 1].map(|k| {
            let (c, p) = (item.segment.crossings[k] as usize, item.segment.ends[k] as usize);
            let [from, way] = self.foreseen(strays, near, p);
            ((from + self.normal[c] * item.over[k] - near.origin).as_vec3a(), way.as_vec3a(), p as u32)
        })
    }

    /// Segments of yarns that end at a particle.
    fn segments_at(&self, p: usize) -> SmallVec<[u32; 4]> {
        let count = self.kind.len();
        let c = p % count;
        let mut all = SmallVec::new();
        for family in Family::BOTH.into_iter().filter(|&family| self.particle(family, c) == p) {
            let (stride, along) = (self.line(family).1, self.on_yarn(family, c).1);
            let first = if family == Family::Weft { count } else { 0 };
            let back = (along > 0 && self.live(family, c - stride)).then(|| c - stride);
            all.extend(back.into_iter().chain(self.live(family, c).then_some(c)).map(|c| (first + c) as u32));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::Bodies;
    use crate::cloth::Placement;
    use crate::yarn::{Kind, Spec, Watch};

    #[test]
    fn an_end_that_whips_passes_through_nothing_that_it_was_not_to_meet() {
        let mut spec = Spec::muslin(6, 6);
        (spec.gravity, spec.unbreakable) = (Vec3::ZERO, true);
        let (l, thickness) = (spec.spacing, spec.thickness);
        // How far below the end of a weft, which is drawn up, another yarn is.
        for below in [1.7, 1.9, 2.1] {
            let mut cloth = Woven::new(spec.clone(), Placement::default()).unwrap();
            cloth.split(&(0..cloth.crossings()).collect::<Vec<_>>(), Kind::Disconnected);
            for c in 0..cloth.crossings() {
                let (i, j) = (c % 6, c / 6);
                let [warp, weft] = Family::BOTH.map(|family| cloth.particle(family, c));
                let up = if i > 3 { 1.5 * l } else { 0.0 };
                let away = |yarn: usize, of: usize| if yarn == of { 0.0 } else { 0.1 * (1 + yarn) as f64 };
                cloth.at.set(weft, Vec3::new(i as f64 * l, up, away(j, 2)));
                let across = Vec3::new(4.2 * l, 1.5 * l - below * thickness, (j as f64 - 2.5) * l);
                cloth.at.set(warp, across + Vec3::Y * away(i, 1));
            }
            let (mut watch, mut bodies) = (Watch::new(&cloth), Bodies::default());
            for _ in 0..8 {
                cloth.step_watched(&mut bodies, |cloth| watch.look(cloth)).unwrap();
                watch.end_step(&cloth);
                assert_eq!(watch.take(), [], "{below} T");
            }
        }
    }
}
