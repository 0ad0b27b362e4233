//! What would end a substep on the wrong side of each other goes together for that substep.
//!
//! Pairs are kept apart one after the other ([`super::collide`]); where a yarn has more neighbours than can be, and where a tip goes in between, some have passed when all is done. When the substep began none had. So the four
//! particles of such a pair become a *zone*: they go back to where they were then, and from there all by the same way d, that of their common momentum:
//!
//! x = x₀ + d,  d = Σ m (x′ − x₀) / Σ m,  v = d/h
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | x₀ | `start` | m | where a particle was when the substep began |
//! | x′ − x₀ | `way` | m | how far it would have gone |
//! | m | 1/`w` | kg | its mass; what is held goes where its hold takes it, and all of its zone with it |
//!
//! What is in one zone is as far apart as it was, so it hasn't passed. What a zone passes through by that joins it, zones too, until nothing has passed: the more there are in zones the fewer can, so that ends, at last with everything where it was.
//! Momentum stays, what comes together in a zone has stopped against each other. If a hold itself drives a pair through each other, its crossings wait for a substep with the others.
//!
//! Which pairs are asked: those that had passed when all were kept apart, and those with particles that were moved so far in it that they may have. Some of these rest, since they are far from each other where springs alone would have brought them; they are asked from x₀ on,
//! not from where they were last seen.
//!
//! Source: Bridson, Fedkiw and Anderson 2002, "Robust treatment of collisions, contact and friction for cloth animation", §7.3 (rigid impact zones; after Provot 1997). Deviations: by positions and in every substep; zones don't turn, since a substep is short.
//! Limits: pairs alone; the yarns of one crossing are [`super::normals`]'s. What was on the wrong side when the substep began stays there.

use super::pair::Pair;
use super::state::Woven;
use crate::lists::Lists;
use crate::math::Vec3;

/// A particle that was moved by what it met.
#[derive(Clone, Copy, Debug)]
struct Moved {
    particle: u32,
    /// Where it was when the substep began, and before it was moved [m].
    start: Vec3,
    from: Vec3,
    /// Square of how far from there it has been since [m²].
    far: f64,
}

/// A particle of a zone.
#[derive(Clone, Copy, Debug)]
struct Member {
    particle: u32,
    /// Another one of its zone, or itself if it is the one that it goes by.
    up: u32,
    start: Vec3,
    way: Vec3,
    /// Of the one that a zone goes by: all of it goes the mean way, also what is held.
    waits: bool,
}

/// What is moved in a substep, and what goes together.
#[derive(Clone, Debug, Default)]
pub(super) struct Zones {
    moved: Vec<Moved>,
    members: Vec<Member>,
    /// By particles: their number among these, and among members, from one on; zero if they are none.
    place: Vec<[u32; 2]>,
    /// By particles: the pairs that they are ends of, and how many pairs there were; until it is asked for, nothing.
    pub around: Option<(Lists, usize)>,
}

/// Share of T that both ends of a moved particle's way are within for pairs with it not to be asked: four times that is what two segments can come nearer by while they are kept T apart.
const FAR: f64 = 0.25;

impl Zones {
    /// Begins a substep of so many particles.
    pub fn begin(&mut self, count: usize) {
        self.place.resize(count, [0; 2]);
        for moved in self.moved.drain(..) {
            self.place[moved.particle as usize][0] = 0;
        }
    }

    /// There are other pairs.
    pub fn pairs_changed(&mut self) {
        self.around = None;
    }

    /// A particle at `from`, which began the substep at `start` if it was not noted before, is going to be moved.
    #[inline(always)]
    pub fn note(&mut self, particle: usize, from: Vec3, start: Vec3) {
        let place = &mut self.place[particle][0];
        if *place == 0 {
            self.moved.push(Moved { particle: particle as u32, start, from, far: 0.0 });
            *place = self.moved.len() as u32;
        }
    }

    /// A particle that was noted is now here.
    #[inline(always)]
    pub fn moved(&mut self, particle: usize, at: Vec3) {
        let moved = &mut self.moved[self.place[particle][0] as usize - 1];
        moved.far = moved.far.max(at.distance_squared(moved.from));
    }

    /// Where a particle began the substep, if that was changed since.
    fn start(&self, particle: usize) -> Option<Vec3> {
        let place = self.place[particle][0] as usize;
        place.checked_sub(1).map(|k| self.moved[k].start)
    }

    /// The member that the zone of member `k` goes by.
    fn root(&self, mut k: u32) -> u32 {
        while self.members[k as usize].up != k {
            k = self.members[k as usize].up;
        }
        k
    }

    /// Joins two members' zones; false if they are one.
    fn join(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        let (low, high) = (a.min(b), a.max(b));
        self.members[high as usize].up = low;
        self.members[low as usize].waits |= self.members[high as usize].waits;
        low != high
    }
}

impl Woven {
    /// At the end of a substep: what has passed in it goes back.
    pub(super) fn hold_back(&mut self) {
        let mut zones = std::mem::take(&mut self.tables.zones);
        let mut wrong = std::mem::take(&mut self.tables.wrong);
        let far = FAR * self.spec.thickness;
        let mut asked: Vec<u32> = wrong.clone();
        if !self.pairs.is_empty() {
            let far = zones.moved.iter().filter(|moved| moved.far > far * far).map(|moved| moved.particle);
            let far: Vec<u32> = far.collect();
            self.pairs_around(&mut zones.around, far.into_iter(), &mut asked);
        }
        while !asked.is_empty() {
            self.wake_where_they_began(&zones, &asked);
            asked.retain(|&k| self.has_passed(k));
            wrong.clone_from(&asked);
            let mut changed = false;
            for &k in &asked {
                changed |= self.join_pair(&mut zones, k);
            }
            if !changed {
                break;
            }
            self.place_zones(&zones);
            let members: Vec<u32> = zones.members.iter().map(|member| member.particle).collect();
            self.pairs_around(&mut zones.around, members.into_iter(), &mut asked);
        }
        for member in zones.members.drain(..) {
            self.tables.before.set(member.particle as usize, member.start);
            zones.place[member.particle as usize][1] = 0;
        }
        (self.tables.zones, self.tables.wrong) = (zones, wrong);
    }

    /// Adds the pairs that particles are ends of, and puts all in order.
    pub(super) fn pairs_around(
        &self,
        around: &mut Option<(Lists, usize)>,
        of: impl Iterator<Item = u32>,
        asked: &mut Vec<u32>,
    ) {
        let mut of: Vec<u32> = of.collect();
        if !of.is_empty() {
            let ends = &self.tables.ends;
            let all = |each: &mut dyn FnMut(usize, u32)| {
                for (k, ends) in ends.iter().enumerate() {
                    ends.particles.iter().for_each(|&p| each(p as usize, k as u32));
                }
            };
            let (around, known) =
                around.get_or_insert_with(|| (Lists::collect(self.at.len(), all), self.tables.ends.len()));
            of.iter().for_each(|&p| asked.extend_from_slice(around.row(p as usize)));
            // Those that were added since.
            of.sort_unstable();
            let with = |k: &usize| ends[*k].particles.iter().any(|p| of.binary_search(p).is_ok());
            asked.extend((*known..ends.len()).filter(with).map(|k| k as u32));
        }
        asked.sort_unstable();
        asked.dedup();
    }

    /// Pairs that rested until others moved them go from where they were when the substep began.
    fn wake_where_they_began(&mut self, zones: &Zones, pairs: &[u32]) {
        for &k in pairs {
            let start = |p: usize| zones.start(p).unwrap_or_else(|| self.tables.before.get(p));
            self.wake(k, self.tables.ends[k as usize].drawn(start));
        }
    }

    fn has_passed(&self, k: u32) -> bool {
        self.pairs[k as usize].has_passed(&self.tables.ends[k as usize].corners(&self.at))
    }

    /// Makes a zone of the particles of a pair that has passed; false if they are one and can't be helped, or had passed before.
    fn join_pair(&mut self, zones: &mut Zones, k: u32) -> bool {
        let ends = &self.tables.ends[k as usize];
        let start = |p: usize| zones.start(p).unwrap_or_else(|| self.tables.before.get(p));
        let pair: &Pair = &self.pairs[k as usize];
        if pair.has_passed(&ends.drawn(start)) {
            return false;
        }
        let particles = ends.particles;
        let starts = particles.map(|p| start(p as usize));
        let mut numbers = [0; 4];
        let mut changed = false;
        for (n, (&p, &start)) in particles.iter().zip(&starts).enumerate() {
            let place = &mut zones.place[p as usize][1];
            if *place == 0 {
                let up = zones.members.len() as u32;
                zones.members.push(Member {
                    particle: p,
                    up,
                    start,
                    way: self.at.get(p as usize) - start,
                    waits: false,
                });
                *place = up + 1;
                changed = true;
            }
            numbers[n] = *place - 1;
        }
        for n in 1..4 {
            changed |= zones.join(numbers[0], numbers[n]);
        }
        if !changed {
            // They went together and have passed all the same: by what is held among them.
            let root = zones.root(numbers[0]) as usize;
            changed = !std::mem::replace(&mut zones.members[root].waits, true);
        }
        changed
    }

    /// Puts all zones where they go.
    fn place_zones(&mut self, zones: &Zones) {
        let w = &self.tables.w;
        let mut order: Vec<(u32, u32)> = (0..zones.members.len() as u32).map(|k| (zones.root(k), k)).collect();
        order.sort_unstable_by_key(|&(root, k)| (root, zones.members[k as usize].particle));
        for zone in order.chunk_by(|a, b| a.0 == b.0) {
            let members = || zone.iter().map(|&(_, k)| &zones.members[k as usize]);
            let waits = zones.members[zone[0].0 as usize].waits;
            let held = members().find(|member| w[member.particle as usize] == 0.0);
            let way = match held {
                _ if waits => members().map(|member| member.way).sum::<Vec3>() / zone.len() as f64,
                Some(held) => held.way,
                None => {
                    let mass = |member: &Member| 1.0 / w[member.particle as usize];
                    let momentum = members().map(|member| member.way * mass(member)).sum::<Vec3>();
                    momentum / members().map(mass).sum::<f64>()
                }
            };
            for member in members() {
                let own = w[member.particle as usize] == 0.0 && !waits;
                self.at.set(member.particle as usize, member.start + if own { member.way } else { way });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use crate::yarn::{Family, Kind, Spec};

    #[test]
    fn what_has_passed_goes_back_together_and_keeps_its_momentum() {
        let mut cloth = Woven::new(Spec::muslin(12, 12), Placement::default()).unwrap();
        cloth.split(&(0..cloth.crossings()).collect::<Vec<_>>(), Kind::Disconnected);
        for c in 0..cloth.crossings() {
            // Nothing meets at its ends.
            let p = cloth.particle(Family::Weft, c);
            cloth.at.add(p, Vec3::new(3e-4, 4e-4, 0.0));
        }
        cloth.follow(1e-3);
        cloth.find_pairs();
        cloth.tables.before.clone_from(&cloth.at);
        cloth.tables.zones.begin(cloth.at.len());
        let start = cloth.at.clone();
        // Weft 5 goes through all warps, and one warp with it for a part of the way.
        for k in 0..12 {
            let c = cloth.crossing(k, 5);
            let p = cloth.particle(Family::Weft, c);
            cloth.at.add(p, Vec3::Z * (2.0 * cloth.side(c) * cloth.spec.thickness));
            cloth.at.add(cloth.crossing(4, k), Vec3::X * 1e-5);
        }
        let way = |cloth: &Woven| (0..start.len()).map(|p| cloth.at.get(p) - start.get(p)).sum::<Vec3>();
        let (wanted, moved) = (way(&cloth), cloth.at.clone());
        let passed = |cloth: &Woven| (0..cloth.pairs.len() as u32).filter(|&k| cloth.has_passed(k)).count();
        assert!(passed(&cloth) > 8);
        cloth.tables.wrong = (0..cloth.pairs.len() as u32).collect();
        cloth.hold_back();
        assert_eq!((passed(&cloth), cloth.tables.wrong.len()), (0, 0));
        assert!(way(&cloth).distance(wanted) < 1e-15, "{} instead of {wanted}", way(&cloth));
        // Velocities are those of the ways, and far from it nothing has changed.
        for p in (0..start.len()).filter(|&p| cloth.at.get(p) != moved.get(p)) {
            assert_eq!(cloth.tables.before.get(p), start.get(p));
        }
        let far = cloth.crossing(4, 10);
        assert_eq!(cloth.at.get(far), moved.get(far));
    }

    #[test]
    fn what_rested_goes_back_to_where_it_was_when_the_substep_began() {
        let mut cloth = Woven::new(Spec::muslin(6, 6), Placement::default()).unwrap();
        cloth.split(&(0..cloth.crossings()).collect::<Vec<_>>(), Kind::Disconnected);
        let (l, thickness) = (cloth.spec.spacing, cloth.spec.thickness);
        // Weft 2 over the middle of a segment of warp 2, or under it; all others far away.
        let put = |cloth: &mut Woven, z: f64| {
            for c in 0..cloth.crossings() {
                let (i, j) = (c % 6, c / 6);
                let away = |yarn: usize| if yarn == 2 { 0.0 } else { 0.1 * (1 + yarn) as f64 };
                cloth.at.set(c, Vec3::new(2.5 * l, j as f64 * l, away(i)));
                let p = cloth.particle(Family::Weft, c);
                cloth.at.set(p, Vec3::new(i as f64 * l, 2.5 * l, z * thickness - away(j)));
            }
        };
        // It was last seen under it, and has gone around its end since.
        put(&mut cloth, -1.2);
        cloth.follow(1e-3);
        cloth.find_pairs();
        let key = [cloth.crossing(2, 2) as u32, (cloth.crossings() + cloth.crossing(2, 2)) as u32];
        let k = cloth.pairs.iter().position(|pair| pair.key == key).expect("they are near");
        cloth.rests.fill(5);
        put(&mut cloth, 0.6);
        cloth.tables.before.clone_from(&cloth.at);
        // What others do to it brings it through.
        cloth.tables.zones.begin(cloth.at.len());
        put(&mut cloth, -0.6);
        for p in 0..cloth.at.len() {
            let start = cloth.tables.before.get(p);
            cloth.tables.zones.note(p, start, start);
            cloth.tables.zones.moved(p, cloth.at.get(p));
        }
        cloth.tables.wrong.clear();
        cloth.hold_back();
        let [from, to] = [&cloth.tables.before, &cloth.at].map(|at| cloth.tables.ends[k].corners(at));
        assert!(!super::super::pass::has_passed(&from, &to));
        assert!(to[2].z > to[0].z);
    }

    #[test]
    fn what_is_held_takes_its_zone_with_it() {
        let mut cloth = Woven::new(Spec::muslin(8, 8), Placement::default()).unwrap();
        cloth.split(&(0..cloth.crossings()).collect::<Vec<_>>(), Kind::Disconnected);
        for c in 0..cloth.crossings() {
            let p = cloth.particle(Family::Weft, c);
            cloth.at.add(p, Vec3::new(3e-4, 4e-4, 0.0));
        }
        cloth.follow(1e-3);
        cloth.find_pairs();
        cloth.tables.before.clone_from(&cloth.at);
        cloth.tables.zones.begin(cloth.at.len());
        let start = cloth.at.clone();
        let by = Vec3::Z * (2.0 * cloth.spec.thickness);
        let held: Vec<usize> = (0..8).map(|i| cloth.particle(Family::Weft, cloth.crossing(i, 4))).collect();
        for &p in &held {
            cloth.at.add(p, by);
            cloth.tables.w[p] = 0.0;
        }
        cloth.tables.wrong = (0..cloth.pairs.len() as u32).collect();
        cloth.hold_back();
        assert!((0..cloth.pairs.len() as u32).all(|k| !cloth.has_passed(k)));
        for &p in &held {
            assert_eq!(cloth.at.get(p), start.get(p) + by);
        }
        let taken = (0..start.len()).filter(|p| !held.contains(p) && cloth.at.get(*p) != start.get(*p)).count();
        assert!(taken > 6, "{taken}");
    }
}
