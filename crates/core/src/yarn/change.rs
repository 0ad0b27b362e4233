//! How whole cloth becomes yarns, and how yarns break.
//!
//! After every step, in this order:
//! 1. A spring whose tension is above its breaking force is cut: in every yarn the one that is furthest above, and none within three springs of
//!    another cut (a shorter end isn't gripped enough to be pulled apart; it would float as a speck).
//! 2. Where a spring's tension is above θ_trans of its breaking force, its two crossings and their neighbours become yarns: they may slide.
//! 3. So does a crossing whose friction is overcome: where the tension of a yarn changes from one side of the crossing to the other by more
//!    than it sticks with.
//! 4. Crossings that a yarn has slipped out of, and couples that were pulled apart or came to the end of a yarn, are disconnected; that loosens the crossings along both yarns, up to the next one of
//!    the other kind and with it.
//!
//! Splitting, where one particle becomes two: x_warp, x_weft = x ± σ (T/2) n, half the mass each, both with the velocity of the one (eqs. 2–4): mass, linear and
//! angular momentum are unchanged. With friction that is when a crossing is disconnected; in the paper's model when it becomes a couple. Structural and bend springs stay with their yarn; shear springs are doubled with half the stiffness, one in the upper and one
//! in the lower plane (Fig. 5), by `tables.rs`; those of cells with a cut side are gone. Rest lengths are scaled so that strains stay as they were.
//!
//! Source: Metaaphanon 2009 §3.3–3.4. Deviations: the criterion is tension over breaking force instead of strain (the same for straight
//! springs, and free of what the solver leaves over); item 3, since welds don't slip; the limit of item 1; rest lengths.

use super::spec::Sliding;
use super::state::{Cut, Family, Kind, Woven};

/// Springs on both sides of a cut that don't break.
const NEAR_CUT: usize = 3;

impl Woven {
    /// Loosens crossings that hold more than `to` does, and makes two particles of one if it has two.
    pub(super) fn split(&mut self, crossings: &[usize], to: Kind) {
        let mut list: Vec<usize> = crossings.iter().copied().filter(|&c| self.kind[c] < to).collect();
        list.sort_unstable();
        list.dedup();
        if list.is_empty() {
            return;
        }
        self.tables.ready = false;
        let mut springs: Vec<(Family, usize)> = Vec::new();
        let doubles = |kind: Kind| kind.is_one() && !to.is_one();
        for &c in list.iter().filter(|&&c| doubles(self.kind[c])) {
            for family in Family::BOTH {
                let (count, stride) = self.line(family);
                let along = self.on_yarn(family, c).1;
                springs.extend((along + 1 < count).then_some((family, c)));
                springs.extend((along > 0).then(|| (family, c - stride)));
            }
        }
        springs.sort_unstable();
        springs.dedup();
        let lengths: Vec<f64> = springs.iter().map(|&(family, c)| self.length(family, c)).collect();
        let half = self.kind.len();
        for &c in &list {
            let n = self.normal[c];
            if doubles(self.kind[c]) {
                let (x, v, apart) = (self.at.get(c), self.v.get(c), n * (0.5 * self.side(c) * self.spec.thickness));
                self.at.set(c, x + apart);
                self.at.set(half + c, x - apart);
                self.v.set(half + c, v);
                self.gone.set(half + c, self.gone.get(c));
                self.hold_split(c, apart);
            }
            self.kind[c] = to;
        }
        for (&(family, c), &before) in springs.iter().zip(&lengths) {
            let after = self.length(family, c);
            if before > 0.0 && after > 0.0 {
                self.springs_mut(family).rest[c] *= after / before;
            }
        }
    }

    /// Length of a spring [m].
    fn length(&self, family: Family, c: usize) -> f64 {
        let stride = self.line(family).1;
        self.position(family, c).distance(self.position(family, c + stride))
    }

    /// Neighbours of a crossing along its yarns.
    pub(super) fn around(&self, c: usize) -> Vec<usize> {
        let mut around = Vec::with_capacity(4);
        for family in Family::BOTH {
            let (count, stride) = self.line(family);
            let along = self.on_yarn(family, c).1;
            around.extend((along > 0).then(|| c - stride));
            around.extend((along + 1 < count).then_some(c + stride));
        }
        around
    }

    /// All changes of a step.
    pub(super) fn change(&mut self) {
        if self.spec.unbreakable {
            return;
        }
        self.divided.clear();
        for tail in self.tails() {
            let left = self.recede(tail);
            self.divide(left);
        }
        let mut loosen = Vec::new();
        for family in Family::BOTH {
            let stride = self.line(family).1;
            for along in self.strained(family).chunk_by(|a, b| a.0 == b.0) {
                let mut worst: Option<(f64, usize)> = None;
                for &(yarn, s, ratio) in along {
                    let c = self.crossing_of(family, yarn, s);
                    for end in [c, c + stride] {
                        if self.kind[end] == Kind::Welded || self.kind[end] == Kind::Connected {
                            loosen.push(end);
                        }
                        loosen.extend(self.around(end));
                    }
                    if ratio > 1.0 && worst.is_none_or(|(most, _)| ratio > most) && !self.near_cut(family, yarn, s) {
                        worst = Some((ratio, s));
                    }
                }
                if let Some((ratio, s)) = worst {
                    self.cut(family, along[0].0, s, ratio, false);
                }
            }
        }
        self.find_overcome(&mut loosen);
        let slipped = self.slipped_out();
        let apart: Vec<usize> = self.released().into_iter().chain(slipped.iter().map(|&(c, _)| c)).collect();
        self.split(&apart, Kind::Disconnected);
        for &(c, family) in &slipped {
            self.slip_out(family, c);
        }
        apart.iter().for_each(|&c| self.propagate(c, &mut loosen));
        self.split(&loosen, self.loosened());
    }

    /// Springs whose tension is above θ_trans of their breaking force: yarn, place along it, and tension over breaking force; along each yarn.
    fn strained(&self, family: Family) -> Vec<(usize, usize, f64)> {
        let springs = self.springs(family);
        let all = springs.tension.iter().zip(&springs.strength).enumerate();
        // Most are far below, which a product tells sooner than a quotient.
        let far = 0.99 * self.spec.transition;
        let mut strained: Vec<(usize, usize, f64)> = all
            .filter(|&(c, (tension, strength))| !(*tension < far * strength || springs.stiffness[c] == 0.0))
            .map(|(c, (tension, strength))| (c, tension / strength))
            .filter(|&(_, ratio)| ratio >= self.spec.transition)
            .map(|(c, ratio)| (self.on_yarn(family, c).0, self.on_yarn(family, c).1, ratio))
            .collect();
        strained.sort_by_key(|&(yarn, s, _)| (yarn, s));
        strained
    }

    /// True if a spring is too near to a cut to break.
    fn near_cut(&self, family: Family, yarn: usize, s: usize) -> bool {
        let last = self.line(family).0 - 2;
        let near = s.saturating_sub(NEAR_CUT)..=(s + NEAR_CUT).min(last);
        near.into_iter().any(|k| !self.live(family, self.crossing_of(family, yarn, k)))
    }

    /// Cuts the spring of a yarn from crossing `s` of it to the next.
    pub(super) fn cut(&mut self, family: Family, yarn: usize, s: usize, ratio: f64, by_hand: bool) {
        let (count, stride) = self.line(family);
        let c = self.crossing_of(family, yarn, s);
        let place = (self.position(family, c) + self.position(family, c + stride)) * 0.5;
        self.events.push(Cut { time: self.time(), place, family, yarn, segment: s, ratio, by_hand });
        self.cuts += 1;
        let springs = self.springs_mut(family);
        (springs.stiffness[c], springs.tension[c], springs.pull[c]) = (0.0, 0.0, 0.0);
        self.tables.ready = false;
        // Half of it sticks out beyond either crossing; couples of two particles that touched it move to the nearer end.
        let k = usize::from(family == Family::Weft);
        let half = 0.5 * self.springs(family).rest[c];
        (self.stub[k][c], self.stub[k][c + stride]) = (half, half);
        for crossing in (0..count).map(|n| self.crossing_of(family, yarn, n)).collect::<Vec<_>>() {
            let at = &mut self.along[k][crossing];
            if self.kind[crossing] == Kind::Loose && *at > s as f64 && *at < (s + 1) as f64 {
                *at = at.round();
            }
        }
    }

    /// Crossings of whole cloth whose friction is overcome.
    fn find_overcome(&self, loosen: &mut Vec<usize>) {
        let Sliding::Friction { force } = self.spec.sliding else { return };
        let (warps, wefts) = (self.spec.warps, self.spec.wefts);
        for (i, j) in (0..wefts).flat_map(|j| (0..warps).map(move |i| (i, j))) {
            let c = j * warps + i;
            let jump = |tension: &[f64], before: Option<usize>, goes_on: bool| {
                let after = if goes_on { tension[c] } else { 0.0 };
                (after.max(0.0) - before.map_or(0.0, |c| tension[c]).max(0.0)).abs()
            };
            let warp = jump(&self.warp.tension, (j > 0).then(|| c - warps), j + 1 < wefts);
            let weft = jump(&self.weft.tension, (i > 0).then(|| c - 1), i + 1 < warps);
            let jump = warp.max(weft);
            // What one neighbour bends sticks with a quarter.
            if jump > 0.25 * force
                && matches!(self.kind[c], Kind::Welded | Kind::Connected)
                && self.held[c] == 0
                && jump > self.friction(c)
            {
                loosen.push(c);
            }
        }
    }

    /// Along both yarns from a disconnected crossing, up to the next of the other kind and with it.
    fn propagate(&self, from: usize, loosen: &mut Vec<usize>) {
        for family in Family::BOTH {
            let (count, stride) = self.line(family);
            let along = self.on_yarn(family, from).1;
            for k in 1..=along {
                loosen.push(from - k * stride);
                if self.side(from - k * stride) != self.side(from) {
                    break;
                }
            }
            for k in 1..count - along {
                loosen.push(from + k * stride);
                if self.side(from + k * stride) != self.side(from) {
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use crate::math::{Vec3, hash_unit};
    use crate::yarn::{Family, Spec, Weave};

    /// A crumpled cloth in motion.
    fn crumpled() -> Woven {
        let mut spec = Spec::muslin(14, 11);
        spec.weave = Weave::twill(2, 1).unwrap();
        let mut cloth = Woven::new(spec, Placement::default()).unwrap();
        for c in 0..cloth.crossings() {
            let r = |k| hash_unit(7, 6 * c as u64 + k) - 0.5;
            cloth.at.add(c, Vec3::new(r(0), r(1), r(2)) * 3e-4);
            cloth.v.set(c, Vec3::new(r(3), r(4), r(5)));
        }
        cloth.turn_normals();
        cloth
    }

    fn strains(cloth: &Woven) -> Vec<f64> {
        let of = |family: Family| {
            let live = (0..cloth.crossings()).filter(move |&c| cloth.live(family, c));
            live.map(move |c| cloth.length(family, c) / cloth.springs(family).rest[c])
        };
        Family::BOTH.into_iter().flat_map(of).collect()
    }

    #[test]
    fn splits_keep_mass_momentum_and_strain() {
        let mut cloth = crumpled();
        let before = (cloth.momentum(), strains(&cloth));
        // Alone, in a row, and neighbours of what is split already.
        for list in [vec![40], vec![40, 41, 42, 43], (0..cloth.crossings()).collect()] {
            cloth.split(&list, Kind::Loose);
            let ((mass, linear, angular), strained) = (cloth.momentum(), strains(&cloth));
            let (m, l, a) = before.0;
            assert!((mass - m).abs() < 1e-15 * m * 200.0);
            assert!((linear - l).length() < 1e-14 * m && (angular - a).length() < 1e-15 * m);
            assert!(strained.iter().zip(&before.1).all(|(a, b)| (a - b).abs() < 1e-12));
            // T apart, the warp on the side that the weave says.
            for c in list {
                let apart = cloth.position(Family::Warp, c) - cloth.position(Family::Weft, c);
                assert!((apart.length() - cloth.spec.thickness).abs() < 1e-15);
                assert!(apart.dot(cloth.normal[c]) * cloth.side(c) > 0.0);
            }
        }
        assert!(cloth.kind.iter().all(|&kind| kind == Kind::Loose));
    }

    #[test]
    fn a_disconnected_crossing_splits_up_to_the_other_kind() {
        let cloth = crumpled();
        // Along weft 4 of the twill `110`: from any crossing at most three on.
        for i in 3..10 {
            let from = cloth.crossing(i, 4);
            let mut loosen = Vec::new();
            cloth.propagate(from, &mut loosen);
            let right: Vec<usize> = loosen.iter().copied().filter(|&c| c / 14 == 4 && c > from).collect();
            let other = (i + 1..).find(|&k| cloth.side(cloth.crossing(k, 4)) != cloth.side(from)).unwrap();
            assert_eq!(right, (i + 1..=other).map(|k| cloth.crossing(k, 4)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn shear_springs_are_doubled_with_the_same_plane() {
        let mut cloth = crumpled();
        cloth.split(&[cloth.crossing(5, 5)], Kind::Loose);
        cloth.follow(1e-3);
        // Four diagonals meet at a crossing, each twice now; the other ends are one particle.
        assert_eq!(cloth.tables.shears.len(), 8);
        let c = cloth.crossing(5, 5) as u32;
        for pair in cloth.tables.shears.chunks(2) {
            let of = |ends: [u32; 2]| ends.into_iter().find(|&p| p == c || p == c + 154).unwrap();
            assert_ne!(of(pair[0]), of(pair[1]));
        }
        // A cut side takes away the diagonals of the two cells beside it.
        let count = |cloth: &Woven| cloth.tables.rising.iter().chain(&cloth.tables.falling).sum::<f32>();
        let before = count(&cloth);
        cloth.cut(Family::Weft, 2, 9, 1.5, false);
        cloth.follow(1e-3);
        assert_eq!(count(&cloth), before - 4.0);
    }
}
