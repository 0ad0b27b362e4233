//! The paper's own solver: springs one by one, from the held crossings outwards, N_proj times.
//!
//! Each spring is a compliant constraint (XPBD) with 1/k: λ ← λ + (C − λ/(k h²)) / (w + w + 1/(k h²)). With Table 1 and h = 1/240 s explicit springs
//! would be far beyond their limit (k h²/m ≈ 42), so that the projections carry the stiffness. Couples are held together after every sweep, bend springs act
//! explicitly before.
//!
//! N_proj is what keeps all strains below the lowest breaking strain in a test run where nothing breaks ([`sweeps_needed`]).
//!
//! Source: Metaaphanon 2009 §4.1. Limits: sweeps don't converge; of a hanging sheet 80 × 40 they leave several per cent of strain that no spring
//! has, which is why [`super::line`] exists.

use super::spec::Solver;
use super::state::{Family, Kind, Woven};
use super::step::StepError;
use crate::body::Bodies;
use std::collections::VecDeque;

impl Woven {
    /// Springs in the order of the distance of their nearer end to held crossings.
    pub(super) fn order(&self) -> Vec<(Family, u32)> {
        let count = self.kind.len();
        let mut far = vec![u32::MAX; count];
        let mut queue: VecDeque<usize> = (0..count).filter(|&c| self.held[c] != 0).collect();
        queue.iter().for_each(|&c| far[c] = 0);
        while let Some(c) = queue.pop_front() {
            for family in Family::BOTH {
                let (length, stride) = self.line(family);
                let along = self.on_yarn(family, c).1;
                let next = [(along + 1 < length).then(|| c + stride), (along > 0).then(|| c - stride)];
                for n in next.into_iter().flatten().filter(|&n| far[n] == u32::MAX).collect::<Vec<_>>() {
                    far[n] = far[c] + 1;
                    queue.push_back(n);
                }
            }
        }
        let mut order: Vec<(u32, u32, Family)> = Vec::new();
        for family in Family::BOTH {
            let stride = self.line(family).1;
            let springs = (0..count).filter(|&c| self.live(family, c));
            order.extend(springs.map(|c| (far[c].min(far[c + stride]), c as u32, family)));
        }
        order.sort_unstable();
        order.into_iter().map(|(_, c, family)| (family, c)).collect()
    }

    /// `count` sweeps over all springs; their forces become the tensions.
    pub(super) fn sweep(&mut self, h: f64, count: u32) {
        if self.tables.order.is_empty() {
            self.tables.order = self.order();
        }
        self.bend_explicitly(h);
        // Within a step sweeps add up; from step to step nothing goes on.
        self.press.fill(crate::math::Vec3::ZERO);
        let order = std::mem::take(&mut self.tables.order);
        let mut lambda = vec![0.0; order.len()];
        for _ in 0..count {
            for (&(family, c), lambda) in order.iter().zip(&mut lambda) {
                let c = c as usize;
                let stride = self.line(family).1;
                let (p, q) = (self.particle(family, c), self.particle(family, c + stride));
                let springs = self.springs(family);
                let k = springs.stiffness[c];
                let d = self.at.get(q) - self.at.get(p);
                let length = d.length();
                let (wp, wq) = (self.tables.w[p], self.tables.w[q]);
                if k == 0.0 || length == 0.0 || wp + wq == 0.0 {
                    continue;
                }
                let stretched = length - springs.rest[c];
                let k = if stretched < 0.0 { k * self.spec.compression } else { k };
                let soft = 1.0 / (k * h * h);
                let by = (stretched - soft * *lambda) / (wp + wq + soft);
                *lambda += by;
                self.at.add(p, d * (by * wp / length));
                self.at.add(q, d * (-by * wq / length));
            }
            self.hold_couples();
        }
        // The paper measures strain after the sweeps; as a tension it is the spring's.
        for &(family, c) in &order {
            let c = c as usize;
            let stride = self.line(family).1;
            let length = self.position(family, c).distance(self.position(family, c + stride));
            let springs = self.springs_mut(family);
            springs.tension[c] = springs.stiffness[c] * (length - springs.rest[c]);
        }
        self.tables.order = order;
    }

    fn bend_explicitly(&mut self, h: f64) {
        for family in Family::BOTH {
            let (count, stride) = self.line(family);
            for c in 0..self.kind.len() {
                if self.on_yarn(family, c).1 + 2 >= count || !self.live(family, c) || !self.live(family, c + stride) {
                    continue;
                }
                let (p, q) = (self.particle(family, c), self.particle(family, c + 2 * stride));
                let rest = self.springs(family).rest[c] + self.springs(family).rest[c + stride];
                let d = self.tables.before.get(q) - self.tables.before.get(p);
                let (wp, wq, k) = (self.tables.w[p], self.tables.w[q], self.spec.bend * h * h);
                let pull = k / (1.0 + 2.0 * k * (wp + wq)) * (1.0 - rest / d.length().max(1e-12));
                self.at.add(p, d * (pull * wp));
                self.at.add(q, d * (-pull * wq));
            }
        }
    }

    /// Largest strain of any spring.
    pub fn largest_strain(&self) -> f64 {
        let mut most = 0.0_f64;
        for family in Family::BOTH {
            let stride = self.line(family).1;
            for c in (0..self.kind.len()).filter(|&c| self.live(family, c)) {
                let length = self.position(family, c).distance(self.position(family, c + stride));
                most = most.max(length / self.springs(family).rest[c] - 1.0);
            }
        }
        most
    }

    /// True if any crossing is two particles that hold each other.
    pub(super) fn has_pairs(&self) -> bool {
        self.kind.iter().any(|kind| matches!(kind, Kind::Connected | Kind::Loose))
    }

    /// True if any crossing has been anything but whole cloth.
    pub fn has_couples(&self) -> bool {
        self.kind.iter().any(|&kind| kind != Kind::Welded)
    }
}

/// Sweeps that keep every spring below the lowest breaking strain in a test run of `steps` steps without what tears the cloth: `make` builds the
/// cloth (and bodies) for it. Nothing if `most` aren't enough.
pub fn sweeps_needed(make: impl Fn() -> (Woven, Bodies), steps: u32, most: u32) -> Result<Option<u32>, StepError> {
    let holds = |count: u32| -> Result<bool, StepError> {
        let (mut woven, mut bodies) = make();
        woven.spec.solver = Solver::Sweeps { count };
        woven.spec.unbreakable = true;
        let limit = woven.spec.breaking * (1.0 - woven.spec.spread);
        for _ in 0..steps {
            woven.step(&mut bodies)?;
            if woven.largest_strain() >= limit {
                return Ok(false);
            }
        }
        Ok(true)
    };
    if !holds(most)? {
        return Ok(None);
    }
    // More sweeps strain less: halve the range.
    let (mut low, mut high) = (0, most);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle)? { high = middle } else { low = middle }
    }
    Ok(Some(high))
}
