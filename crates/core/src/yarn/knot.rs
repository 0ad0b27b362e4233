//! What has got through each other by the end of a step all the same goes back, as one stiff shape.
//!
//! In substeps no pair passes ([`super::zone`]). But the two yarns of a crossing are drawn along its normal, which follows them once per step ([`super::normals`]); where one is bent around the other and a third draws it sideways there may be no normal with which
//! they haven't passed, and a normal that turns may move a yarn through a third one. When the step began nothing had passed. So what has becomes a *knot*: its particles have the shape that they had then, turned and moved as they have turned and moved on the whole:
//!
//! x = x̄ + R (x₀ − x̄₀),  n = R n₀
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | x₀, n₀ | `start`, `before` | m, 1 | a particle and the normal of a crossing when the step began |
//! | x̄, x̄₀ | `to`, `from` | m | means of the knot's particles, by mass; by what is held if there is any |
//! | R | `turn` | 1 | the turn that fits their way best |
//!
//! What has passed through a knot by that joins it, as in zones, and that ends. All of a knot has one velocity afterwards. What is held stays where its hold has it; if that is what drives it through, it goes with the knot until the next substep.
//!
//! Source: as [`super::zone`], here with turns. Knots are rare: none in most steps.
//! Limits: what passed in the step before, when it was no pair yet, is no knot: it is told.

use super::normals::{Arms, fitted};
use super::state::{Family, Woven};
use crate::math::Vec3;
use crate::sets::Sets;
use std::collections::{BTreeMap, BTreeSet};

/// Particles that go together.
struct Knots {
    sets: Sets,
    /// Where they would have gone [m].
    members: BTreeMap<u32, Vec3>,
    /// Particles, one of each knot at least, in which what is held goes with the others.
    stiff: BTreeSet<u32>,
}

/// How often knots grow, at most.
const ROUNDS: usize = 200;

impl Knots {
    fn is_member(&self, p: u32) -> bool {
        self.members.contains_key(&p)
    }

    /// True if particles are in one knot.
    fn is_one(&mut self, particles: &[u32]) -> bool {
        let root = self.sets.root(particles[0]);
        particles.iter().all(|&p| self.members.contains_key(&p) && self.sets.root(p) == root)
    }

    /// True if they are, and have the shape that they had: nothing among them is held elsewhere.
    fn keeps(&mut self, particles: &[u32], w: &[f64]) -> bool {
        self.is_one(particles) && (particles.iter().all(|&p| w[p as usize] > 0.0) || self.is_stiff(particles[0]))
    }

    /// True if what is held goes with the knot of a particle.
    fn is_stiff(&mut self, p: u32) -> bool {
        let root = self.sets.root(p);
        self.stiff.iter().any(|&p| self.sets.root(p) == root)
    }

    /// Joins particles; false if nothing changes by that.
    fn join(&mut self, particles: &[u32], at: impl Fn(u32) -> Vec3) -> bool {
        if self.is_one(particles) {
            return !self.is_stiff(particles[0]) && self.stiff.insert(particles[0]);
        }
        for &p in particles {
            self.members.entry(p).or_insert_with(|| at(p));
            self.sets.join(particles[0], p);
        }
        true
    }

    /// The knots of some particles, each in the order of its own, and whether what is held goes with it.
    fn of(&mut self, particles: &BTreeSet<u32>) -> Vec<(Vec<(u32, Vec3)>, bool)> {
        let roots: BTreeSet<u32> = particles.iter().map(|&p| self.sets.root(p)).collect();
        let mut knots: BTreeMap<u32, Vec<(u32, Vec3)>> = BTreeMap::new();
        for (&p, &at) in &self.members {
            let root = self.sets.root(p);
            if roots.contains(&root) {
                knots.entry(root).or_default().push((p, at));
            }
        }
        knots.into_iter().map(|(root, members)| (members, self.is_stiff(root))).collect()
    }
}

impl Woven {
    /// Puts back what has passed: pairs, and arms at crossings; `before` are the normals when the step began. What can't be helped, which is told.
    pub(super) fn tie_knots(
        &mut self,
        mut pairs: Vec<u32>,
        mut crossings: Vec<usize>,
        before: &[Vec3],
    ) -> (Vec<u32>, Vec<usize>) {
        // What had passed before it was a pair has no shape to go back to.
        let late: Vec<u32> = pairs.iter().copied().filter(|&k| self.is_late(k)).collect();
        pairs.retain(|&k| !self.is_late(k));
        // Crossings that take another normal beside a knot, each at most once, and those that just have.
        let (mut turned, mut turning) = (BTreeSet::new(), Vec::new());
        let mut knots = Knots { sets: Sets::new(self.at.len()), members: BTreeMap::new(), stiff: BTreeSet::new() };
        let mut woken = BTreeSet::new();
        for _ in 0..ROUNDS {
            let mut changed = BTreeSet::new();
            let sets = pairs.iter().map(|&k| self.tables.ends[k as usize].particles.to_vec());
            for particles in sets.chain(crossings.iter().map(|&c| self.arm_particles(c))) {
                if knots.join(&particles, |p| self.at.get(p as usize)) {
                    changed.insert(particles[0]);
                }
            }
            if changed.is_empty() && turning.is_empty() {
                break;
            }
            let changed = knots.of(&changed);
            self.wake_around(changed.iter().flat_map(|(members, _)| members.iter().map(|&(p, _)| p)), &mut woken);
            for (members, stiff) in &changed {
                self.place_knot(members, *stiff, before);
            }
            // All that is beside other knots was fine before.
            let members = changed.iter().flat_map(|(members, _)| members.iter().map(|&(p, _)| p));
            let members: Vec<u32> = members.chain(turning).collect();
            (pairs, crossings, turning) = self.untied(&mut knots, &members, &mut turned, before);
        }
        // What went together is where it belongs.
        let mut together = Vec::new();
        let members: Vec<u32> = knots.members.keys().copied().collect();
        self.pairs_of(&members, &mut together);
        let ends = |k: u32| self.tables.ends[k as usize].particles;
        together.retain(|&k| knots.is_one(&ends(k)) && !pairs.contains(&k) && !self.is_late(k));
        together.into_iter().for_each(|k| self.see(k));
        pairs.extend(late);
        (pairs, crossings)
    }

    /// Pairs that a knot is going to move are seen where the last substep has left them, each once: the way back begins there.
    fn wake_around(&mut self, members: impl Iterator<Item = u32>, woken: &mut BTreeSet<u32>) {
        let mut pairs = Vec::new();
        self.pairs_of(&members.collect::<Vec<_>>(), &mut pairs);
        for k in pairs.into_iter().filter(|&k| woken.insert(k)) {
            let drawn = self.tables.ends[k as usize].corners(&self.at);
            self.wake(k, drawn);
            self.pairs[k as usize].follow(&drawn);
        }
    }

    /// Particles of a crossing and of the next ones along its yarns.
    fn arm_particles(&self, c: usize) -> Vec<u32> {
        let mut particles = vec![c as u32];
        for family in Family::BOTH {
            let ((count, stride), along) = (self.line(family), self.on_yarn(family, c).1);
            let back = (along > 0 && self.live(family, c - stride)).then(|| c - stride);
            let forth = (along + 1 < count && self.live(family, c)).then(|| c + stride);
            particles.extend(back.into_iter().chain(forth).map(|c| self.particle(family, c) as u32));
        }
        particles
    }

    /// Puts the particles of a knot where they go together.
    fn place_knot(&mut self, members: &[(u32, Vec3)], stiff: bool, before: &[Vec3]) {
        let w = &self.tables.w;
        let is_held = |p: u32| w[p as usize] == 0.0;
        let held = members.iter().any(|&(p, _)| is_held(p));
        let mass = |p: u32| match (held, is_held(p)) {
            (true, is_held) => f64::from(u8::from(is_held)),
            _ => 1.0 / w[p as usize],
        };
        let start = |p: u32| self.at.get(p as usize) - self.gone.get(p as usize);
        let starts: Vec<Vec3> = members.iter().map(|&(p, _)| start(p)).collect();
        let (mut all, mut from, mut to, mut v) = (0.0, Vec3::ZERO, Vec3::ZERO, Vec3::ZERO);
        for (&(p, at), &start) in members.iter().zip(&starts) {
            let m = mass(p);
            (all, from, to, v) = (all + m, from + start * m, to + at * m, v + self.v.get(p as usize) * m);
        }
        let (from, to, v) = (from / all, to / all, v / all);
        let ways = members.iter().zip(&starts).map(|(&(_, at), &start)| [start - from, at - to]);
        let turn = fitted(ways.map(|way| way.map(|arm| arm / self.spec.spacing)));
        for (&(p, at), &start) in members.iter().zip(&starts) {
            let own = self.tables.w[p as usize] == 0.0 && !stiff;
            let (p, x) = (p as usize, if own { at } else { to + turn * (start - from) });
            self.at.set(p, x);
            self.gone.set(p, x - start);
            if !own {
                self.v.set(p, v);
            }
            if p < self.kind.len() && self.kind[p].is_one() {
                self.normal[p] = (turn * before[p]).normalize();
            }
        }
    }

    /// Pairs and crossings that have passed now, with these particles of knots or beside them, and crossings that have taken another normal instead: what is beside these is to be asked in turn.
    fn untied(
        &mut self,
        knots: &mut Knots,
        members: &[u32],
        turned: &mut BTreeSet<usize>,
        before: &[Vec3],
    ) -> (Vec<u32>, Vec<usize>, Vec<u32>) {
        let mut turning = Vec::new();
        let count = self.kind.len();
        let mut crossings: Vec<usize> = members.iter().map(|&p| p as usize % count).collect();
        crossings.extend(crossings.clone().into_iter().flat_map(|c| self.around(c)));
        crossings.retain(|&c| self.kind[c].is_one());
        crossings.sort_unstable();
        crossings.dedup();
        crossings.retain(|&c| {
            let particles = self.arm_particles(c);
            if knots.keeps(&particles, &self.tables.w) {
                return false;
            }
            if Arms::followed(self, c, before).wrong(self.normal[c]) == 0 {
                return false;
            }
            // What is in no knot may take another normal.
            let free = !knots.is_member(c as u32) && turned.insert(c);
            let other = if free { self.other_normal(c, before, false) } else { None };
            match other {
                Some((normal, 0)) => {
                    self.normal[c] = normal;
                    turning.push(c as u32);
                    false
                }
                _ => true,
            }
        });
        let mut pairs = Vec::new();
        self.pairs_of(members, &mut pairs);
        pairs.retain(|&k| {
            let ends = self.tables.ends[k as usize].particles;
            !self.is_late(k) && !knots.keeps(&ends, &self.tables.w) && self.has_passed_with(k, usize::MAX, Vec3::ZERO)
        });
        (pairs, crossings, turning)
    }

    /// The pairs that particles are ends of, in order.
    fn pairs_of(&mut self, particles: &[u32], pairs: &mut Vec<u32>) {
        let mut zones = std::mem::take(&mut self.tables.zones);
        self.pairs_around(&mut zones.around, particles.iter().copied(), pairs);
        self.tables.zones = zones;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use crate::yarn::{Kind, Spec};

    #[test]
    fn what_rested_joins_a_knot_that_goes_back_through_it() {
        let mut cloth = Woven::new(Spec::muslin(6, 6), Placement::default()).unwrap();
        cloth.split(&(0..cloth.crossings()).collect::<Vec<_>>(), Kind::Disconnected);
        let (l, thickness) = (cloth.spec.spacing, cloth.spec.thickness);
        // Weft 2 across the middles of segments of warps 1 and 2; all others far away.
        let put = |cloth: &mut Woven, y: f64, z: f64| {
            for c in 0..cloth.crossings() {
                let (i, j) = (c % 6, c / 6);
                let away = |yarn: usize, is: bool| if is { 0.0 } else { 0.1 * (1 + yarn) as f64 };
                cloth.at.set(c, Vec3::new((i as f64 + 0.5) * l, j as f64 * l, away(i, i == 1 || i == 2)));
                let p = cloth.particle(Family::Weft, c);
                cloth.at.set(p, Vec3::new(i as f64 * l, y * l, z * thickness - away(j, j == 2)));
            }
        };
        put(&mut cloth, 2.5, 0.6);
        cloth.follow(1e-3);
        cloth.find_pairs();
        let number = |cloth: &Woven, i: usize| {
            let key = [cloth.crossing(i, 2) as u32, (cloth.crossings() + cloth.crossing(i, 2)) as u32];
            cloth.pairs.iter().position(|pair| pair.key == key).expect("they are near")
        };
        let (through, around) = (number(&cloth, 1), number(&cloth, 2));
        // When the step began it was over both. It has gone around the end of warp 2, and rested meanwhile, and through warp 1.
        put(&mut cloth, 2.5, 4.0);
        let start = cloth.at.clone();
        let corners = |cloth: &Woven, k: usize| cloth.tables.ends[k].corners(&cloth.at);
        cloth.pairs[through].seen = corners(&cloth, through);
        put(&mut cloth, 3.6, 4.0);
        cloth.pairs[around].seen = corners(&cloth, around);
        cloth.rests[around] = 5;
        put(&mut cloth, 2.5, -0.3);
        for p in 0..cloth.at.len() {
            cloth.gone.set(p, cloth.at.get(p) - start.get(p));
        }
        let normals = cloth.normal.clone();
        let (pairs, crossings) = cloth.tie_knots(vec![through as u32], Vec::new(), &normals);
        assert!(pairs.is_empty() && crossings.is_empty());
        // Warp 1 takes the weft back, which would go through warp 2 by that; so all have the shape that they had.
        for k in [through, around] {
            let (x, y) = (cloth.tables.ends[k].corners(&start), corners(&cloth, k));
            for (i, j) in [(0, 2), (0, 3), (1, 2), (1, 3)] {
                let off = x[i].distance(x[j]) - y[i].distance(y[j]);
                assert!(off.abs() < 1e-12, "{k}: {off}");
            }
        }
    }
}
