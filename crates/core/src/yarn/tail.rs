//! Ends of yarns beyond the last crossing that holds them, when these are drawn through it.
//!
//! A yarn that is drawn out gets shorter at its tip. Its last spring shrinks to `packing` and then becomes one with the spring before: its particle takes the place of the tip, and what was the tip is *dust*, which
//! is nowhere and has no mass that moves. What sticks out of a crossing by less than `packing` has slipped out. From the next step on the yarn up to the next crossing that holds it is divided into as many springs as it has
//! spacings, the longest of them first: what was drawn through the crossing lies in one long spring, and dust becomes particles again. All points of before stay, and new ones are between them as the yarn is drawn, half a thickness off its crossing, so it goes on lying where it lay: evenly divided ones would cut off its bends, and pass through what is in them.
//!
//! So no spring is shorter than yarns are thick, and every segment can keep off all others ([`super::collide`]).

use super::state::{Family, Kind, Woven};
use crate::math::Vec3;

/// Nodes of a yarn from a crossing that holds it to its tip.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tail {
    family: Family,
    yarn: usize,
    /// The place along the yarn that is held.
    root: usize,
    /// Springs from there to the tip.
    springs: usize,
    /// True if the tip is further along the yarn.
    forwards: bool,
}

impl Tail {
    /// Place along the yarn of its node `k`.
    fn node(&self, k: usize) -> usize {
        if self.forwards { self.root + k } else { self.root - k }
    }

    /// Place along the yarn at which the spring from node `k` to the next begins.
    fn spring(&self, k: usize) -> usize {
        if self.forwards { self.root + k } else { self.root - k - 1 }
    }
}

impl Woven {
    /// True if nothing of a yarn is left at a crossing that it isn't held by.
    pub(super) fn is_dust(&self, family: Family, c: usize) -> bool {
        let (stride, along) = (self.line(family).1, self.on_yarn(family, c).1);
        self.kind[c] == Kind::Disconnected && !self.live(family, c) && !(along > 0 && self.live(family, c - stride))
    }

    /// What there is of a yarn beyond a place along it, up to a tip; nothing if another crossing holds it.
    pub(super) fn tail(&self, family: Family, yarn: usize, root: usize, forwards: bool) -> Option<Tail> {
        let count = self.line(family).0;
        let mut tail = Tail { family, yarn, root, springs: 0, forwards };
        loop {
            let at = tail.node(tail.springs);
            let end = if forwards { at + 1 == count } else { at == 0 };
            if end || !self.live(family, self.crossing_of(family, yarn, tail.spring(tail.springs))) {
                return Some(tail);
            }
            tail.springs += 1;
            if self.kind[self.crossing_of(family, yarn, tail.node(tail.springs))] != Kind::Disconnected {
                return None;
            }
        }
    }

    fn kill(&mut self, family: Family, c: usize) {
        let springs = self.springs_mut(family);
        (springs.stiffness[c], springs.tension[c], springs.pull[c]) = (0.0, 0.0, 0.0);
        self.tables.ready = false;
    }

    /// The tip of a tail goes back, as long as its last spring is as short as can be and isn't the only one. Returns what is left of it.
    pub(super) fn recede(&mut self, mut tail: Tail) -> Tail {
        // What is that short to rounding.
        let least = self.spec.packing * self.spec.spacing * (1.0 + 1e-3);
        let mut changed = Vec::new();
        while tail.springs > 1 {
            let Tail { family, yarn, springs, .. } = tail;
            let spring = |k: usize| self.crossing_of(family, yarn, tail.spring(k));
            let (last, before) = (spring(springs - 1), spring(springs - 2));
            let rest = self.springs(family).rest[last];
            let [tip, next] =
                [springs, springs - 1].map(|k| self.particle(family, self.crossing_of(family, yarn, tail.node(k))));
            let id = before as u32 + if family == Family::Weft { self.kind.len() as u32 } else { 0 };
            // A yarn that is bent around another one waits until it isn't.
            if rest > least || self.would_pass(id, usize::from(tail.forwards), self.at.get(tip)) {
                break;
            }
            for points in [&mut self.at, &mut self.v, &mut self.gone] {
                points.set(next, points.get(tip));
            }
            self.v.set(tip, Vec3::ZERO);
            self.springs_mut(family).rest[before] += rest;
            self.kill(family, last);
            changed.push(before);
            tail.springs -= 1;
        }
        if !changed.is_empty() {
            self.forget_pairs(tail.family, &changed);
        }
        tail
    }

    /// A yarn has slipped out of a crossing: what sticks out there is drawn in.
    pub(super) fn slip_out(&mut self, family: Family, from: usize) {
        let (yarn, at) = self.on_yarn(family, from);
        let tails = [false, true].map(|forwards| self.tail(family, yarn, at, forwards));
        // An end on one side, and on the other what holds it.
        let ([None, Some(beyond)] | [Some(beyond), None]) = tails else { return };
        // Its length goes to the spring before.
        let inner = self.crossing_of(family, yarn, if beyond.forwards { at - 1 } else { at });
        for k in 0..beyond.springs {
            let spring = self.crossing_of(family, yarn, beyond.spring(k));
            self.springs_mut(family).rest[inner] += self.springs(family).rest[spring];
            self.kill(family, spring);
            let tip = self.particle(family, self.crossing_of(family, yarn, beyond.node(k + 1)));
            self.v.set(tip, Vec3::ZERO);
        }
    }

    /// Divides a tail into as many springs as it has spacings, as far as there is dust beyond its tip.
    pub(super) fn divide(&mut self, tail: Tail) {
        let Tail { family, yarn, root, springs, forwards } = tail;
        let most = if forwards { self.line(family).0 - 1 - root } else { root };
        let dust = |k: &usize| self.is_dust(family, self.crossing_of(family, yarn, tail.node(k + 1)));
        let most = springs + (springs..most).take_while(dust).count();
        let crossing = |woven: &Self, along: usize| woven.crossing_of(family, yarn, along);
        let rests: Vec<f64> = (0..springs).map(|k| self.springs(family).rest[crossing(self, tail.spring(k))]).collect();
        let many = ((rests.iter().sum::<f64>() / self.spec.spacing) as usize).clamp(springs, most.max(springs));
        let pieces = pieces(&rests, many, self.spec.packing * self.spec.spacing);
        let many = pieces.iter().sum();
        if many == springs {
            return;
        }
        let stiffness = self.springs(family).stiffness[crossing(self, tail.spring(0))];
        let particles: Vec<usize> = (0..=many).map(|k| self.particle(family, crossing(self, tail.node(k)))).collect();
        let mut columns =
            [&self.at, &self.v, &self.gone].map(|of| particles.iter().map(|&p| of.get(p)).collect::<Vec<_>>());
        // Where both yarns are one particle this one is drawn beside it, and what lies beyond begins there.
        columns[0][0] = self.drawn(family, crossing(self, root));
        let crossings: Vec<usize> = (0..many).map(|k| crossing(self, tail.spring(k))).collect();
        let mut next = 0;
        for (s, (rest, count)) in rests.into_iter().zip(pieces).enumerate() {
            for piece in 1..=count {
                let all = self.springs_mut(family);
                let c = crossings[next];
                (all.stiffness[c], all.rest[c], all.tension[c], all.pull[c]) =
                    (stiffness, rest / count as f64, 0.0, 0.0);
                next += 1;
                for (to, of) in [&mut self.at, &mut self.v, &mut self.gone].into_iter().zip(&columns) {
                    // The last one is exactly where it was.
                    let place =
                        if piece == count { of[s + 1] } else { of[s].lerp(of[s + 1], piece as f64 / count as f64) };
                    to.set(particles[next], place);
                }
            }
        }
        self.forget_pairs(family, &crossings);
        self.tables.ready = false;
    }
}

/// Into how many pieces to divide springs of these lengths at rest [m], so that there are `many` in all: again and again one more of those whose pieces are longest, the first of equals, as long as none becomes shorter than `least` [m].
fn pieces(rests: &[f64], many: usize, least: f64) -> Vec<usize> {
    let mut pieces = vec![1; rests.len()];
    for _ in rests.len()..many {
        let length = |k: usize| rests[k] / pieces[k] as f64;
        let longest = (0..rests.len()).reduce(|a, b| if length(b) > length(a) { b } else { a });
        let Some(k) = longest.filter(|&k| rests[k] >= least * (pieces[k] + 1) as f64) else { break };
        pieces[k] += 1;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use crate::yarn::Spec;

    /// The part of a weft beyond the first crossing, which alone holds it, as a bent end of three springs of which the first is long; what was beyond is dust.
    fn bent() -> (Woven, Tail) {
        let mut cloth = Woven::new(Spec::muslin(12, 3), Placement::default()).unwrap();
        cloth.split(&(0..cloth.crossings()).collect::<Vec<_>>(), Kind::Disconnected);
        let l = cloth.spec.spacing;
        let places = [[0.0, 0.0], [4.3, 0.0], [4.3, 1.1], [3.2, 1.1]].map(|[x, y]| Vec3::new(x * l, y * l, 0.0));
        for (k, place) in places.into_iter().enumerate() {
            let c = cloth.crossing(k, 1);
            let p = cloth.particle(Family::Weft, c);
            cloth.at.set(p, place);
            cloth.v.set(p, place * (1.0 + k as f64));
            cloth.weft.rest[c] = places.get(k + 1).map_or(0.0, |next| next.distance(place));
        }
        (3..11).for_each(|k| {
            let c = cloth.crossing(k, 1);
            cloth.kill(Family::Weft, c);
        });
        let tail = cloth.tail(Family::Weft, 1, 0, true).unwrap();
        assert_eq!(tail.springs, 3);
        (cloth, tail)
    }

    fn line(cloth: &Woven) -> Vec<Vec3> {
        let springs = cloth.tail(Family::Weft, 1, 0, true).unwrap().springs;
        (0..=springs).map(|k| cloth.at.get(cloth.particle(Family::Weft, cloth.crossing(k, 1)))).collect()
    }

    fn rests(cloth: &Woven) -> Vec<f64> {
        (0..line(cloth).len() - 1).map(|k| cloth.weft.rest[cloth.crossing(k, 1)]).collect()
    }

    #[test]
    fn what_is_divided_lies_where_it_lay() {
        let (mut cloth, tail) = bent();
        let (before, long) = (line(&cloth), rests(&cloth).iter().sum::<f64>());
        cloth.divide(tail);
        let (after, l) = (line(&cloth), cloth.spec.spacing);
        // Four pieces of 1.08 spacings instead of one of 4.3; the bends are where they were.
        assert_eq!(after.len(), 7);
        assert!(before.iter().all(|x| after.contains(x)), "{after:?}");
        assert!(after[..5].iter().all(|x| x.y == 0.0));
        assert!(rests(&cloth).iter().all(|rest| (1.0..1.2).contains(&(rest / l))));
        assert!((rests(&cloth).iter().sum::<f64>() / long - 1.0).abs() < 1e-12);
    }

    #[test]
    fn what_is_divided_lies_where_it_was_drawn() {
        let (mut cloth, tail) = bent();
        let root = cloth.crossing(0, 1);
        // Half a thickness off its first point, where a warp holds it.
        cloth.kind[root] = Kind::Sliding;
        cloth.at.set(root, Vec3::ZERO);
        let drawn = |cloth: &Woven, k: usize| cloth.drawn(Family::Weft, cloth.crossing(k, 1));
        let (first, bend) = (drawn(&cloth, 0), drawn(&cloth, 1));
        assert!(first.z.abs() > 0.4 * cloth.spec.thickness);
        cloth.divide(tail);
        assert_eq!(drawn(&cloth, 0), first);
        for k in 1..=4 {
            let off = drawn(&cloth, k).distance(first.lerp(bend, 0.25 * k as f64));
            assert!(off < 1e-12, "{k}: {off}");
        }
    }

    #[test]
    fn what_has_receded_keeps_its_length_when_it_is_divided() {
        let (mut cloth, tail) = bent();
        // Its last spring is as short as can be.
        let (l, last) = (cloth.spec.spacing, cloth.crossing(2, 1));
        cloth.weft.rest[last] = cloth.spec.packing * l;
        let long = rests(&cloth).iter().sum::<f64>();
        let left = cloth.recede(tail);
        assert_eq!(left.springs, 2);
        cloth.divide(left);
        assert!(rests(&cloth).len() > 3);
        assert!((rests(&cloth).iter().sum::<f64>() / long - 1.0).abs() < 1e-12);
    }
}
