//! Crossings that are held, moved by keyframes or tied to a body.
//!
//! Held crossings don't feel anything; what springs pull them with is the hold's load, and a body that crossings are tied to is pushed by it.

use super::line::GROUP;
use super::spec::Solver;
use super::state::{Family, Woven};
use crate::body::{Bodies, Pose};
use crate::grip::Key;
use crate::math::{Vec3, rotate, turn};
use serde::{Deserialize, Serialize};

/// What moves held crossings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum By {
    /// Keyframes in order of time, relative to where the hold took hold; empty: it stays.
    Keys(Vec<Key>),
    /// The body with this number.
    Body(usize),
}

/// Crossings that are held together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hold {
    /// Name in results.
    pub name: String,
    /// What moves it.
    pub by: By,
    /// Time at which it lets go [s].
    pub release: Option<f64>,
    /// Force that the cloth exerts on it [N], mean over the last step.
    pub load: Vec3,
    /// Crossings, and for both yarns where each was when held [m]; in the body's own coordinates if it is tied to one.
    pub(super) points: Vec<(usize, [Vec3; 2])>,
    /// The mean of the places, about which it turns.
    middle: Vec3,
    released: bool,
}

impl Hold {
    /// True once it has let go.
    pub fn is_released(&self) -> bool {
        self.released
    }

    /// Crossings that it holds, or held.
    pub fn crossings(&self) -> impl Iterator<Item = usize> + '_ {
        self.points.iter().map(|&(c, _)| c)
    }

    /// Where points are at a time, by where they were.
    fn motion(&self, time: f64, pose: Option<Pose>) -> impl Fn(Vec3) -> Vec3 {
        let keys = match &self.by {
            By::Keys(keys) => Some(Key::at(keys, time)),
            By::Body(_) => None,
        };
        let middle = self.middle;
        move |from| match (keys, pose) {
            (Some(key), _) => {
                let (angle, arm) = (key.turn.length(), from - middle);
                let arm = if angle > 0.0 { rotate(arm, key.turn / angle, angle) } else { arm };
                middle + arm + key.shift
            }
            (None, Some(pose)) => pose.apply(from),
            (None, None) => from,
        }
    }
}

/// Where a body will be after `h` [s] with the velocity it has.
pub(super) fn ahead(bodies: &Bodies, i: usize, h: f64) -> Pose {
    let (pose, middle) = (bodies.pose(i), bodies.middle(i));
    let by = turn(bodies.spin(i) * h);
    Pose { place: middle + bodies.velocity(i) * h + by * (pose.place - middle), turn: by * pose.turn }
}

impl Woven {
    /// Holds crossings where they are, to be moved by `by` from now on until `release` [s]. Numbers that are no crossing, or are held already, are
    /// left out; a body's number must be one of those given to every [`Woven::step`]. Springs near what is held from the start are stronger ([`super::Spec::at_holds`]).
    pub fn hold(&mut self, name: &str, crossings: &[usize], by: By, release: Option<f64>, bodies: &Bodies) {
        let number = self.holds.len() as u32 + 1;
        let pose = match by {
            By::Body(i) if i < bodies.len() => Some(bodies.pose(i)),
            _ => None,
        };
        let mut points = Vec::new();
        for &c in crossings {
            if self.held.get(c) == Some(&0) {
                self.held[c] = number;
                let at = Family::BOTH.map(|family| self.position(family, c));
                points.push((c, at.map(|at| pose.map_or(at, |pose| pose.local(at)))));
            }
        }
        let middle = points.iter().map(|(_, [a, b])| (*a + *b) * 0.5).sum::<Vec3>() / points.len().max(1) as f64;
        if self.step_count() == 0 {
            self.strengthen(&points.iter().map(|&(c, _)| c).collect::<Vec<_>>());
        }
        self.holds.push(Hold { name: name.into(), by, release, load: Vec3::ZERO, points, middle, released: false });
        self.tables.ready = false;
    }

    /// True if a crossing is held.
    pub fn is_held(&self, crossing: usize) -> bool {
        self.held[crossing] != 0
    }

    /// Holds so far, in the order in which they were made.
    pub fn holds(&self) -> &[Hold] {
        &self.holds
    }

    /// The last hold of a name, to give it other keyframes or another time to let go.
    pub fn hold_mut(&mut self, name: &str) -> Option<&mut Hold> {
        self.holds.iter_mut().rev().find(|hold| hold.name == name)
    }

    /// Lets another wind blow from a time on [s, m/s].
    pub fn shift_wind(&mut self, time: f64, velocity: Vec3) {
        self.spec.wind.shift(time, velocity);
    }

    /// Springs near held crossings are stronger.
    fn strengthen(&mut self, held: &[usize]) {
        let (warps, wefts, reach) = (self.spec.warps, self.spec.wefts, self.spec.hold_reach);
        let mut near = vec![false; self.kind.len()];
        for &c in held {
            let (i, j) = (c % warps, c / warps);
            for b in j.saturating_sub(reach)..(j + reach).min(wefts - 1) + 1 {
                for a in i.saturating_sub(reach)..(i + reach).min(warps - 1) + 1 {
                    near[b * warps + a] = true;
                }
            }
        }
        let factor = self.spec.at_holds;
        for family in Family::BOTH {
            let stride = self.line(family).1;
            let strength = &mut self.springs_mut(family).strength;
            for c in 0..strength.len() {
                if near[c] || near.get(c + stride) == Some(&true) {
                    strength[c] *= factor;
                }
            }
        }
    }

    /// Begins a step at `time` [s]: holds whose time has come let go.
    pub(super) fn let_go(&mut self, time: f64) {
        for hold in self.holds.iter_mut().filter(|hold| !hold.released) {
            hold.load = Vec3::ZERO;
            if hold.release.is_some_and(|release| time + 0.5 * self.spec.step >= release) {
                hold.released = true;
                hold.points.iter().for_each(|&(c, _)| self.held[c] = 0);
                self.tables.ready = false;
            }
        }
    }

    /// Gives held crossings the velocity that brings them where they should be when a substep of `h` from `time` on ends [s].
    pub(super) fn drive(&mut self, bodies: &Bodies, time: f64, h: f64) {
        let mut holds = std::mem::take(&mut self.holds);
        for hold in holds.iter_mut().filter(|hold| !hold.released) {
            let pose = match hold.by {
                By::Body(i) if i < bodies.len() => Some(ahead(bodies, i, h)),
                _ => None,
            };
            let target = hold.motion(time + h, pose);
            for &(c, from) in &hold.points {
                for (family, from) in Family::BOTH.into_iter().zip(from) {
                    if family == Family::Weft && self.kind[c].is_one() {
                        continue;
                    }
                    let p = self.particle(family, c);
                    self.v.set(p, (target(from) - self.at.get(p)) / h);
                }
            }
        }
        self.holds = holds;
    }

    /// A held crossing became a couple: its yarns are held where they are now, relative to the hold.
    pub(super) fn hold_split(&mut self, c: usize, apart: Vec3) {
        let number = self.held[c] as usize;
        let Some(hold) = number.checked_sub(1).and_then(|n| self.holds.get_mut(n)) else { return };
        if let (Some((_, at)), By::Keys(_)) = (hold.points.iter_mut().find(|(held, _)| *held == c), &hold.by) {
            *at = [at[0] + apart, at[0] - apart];
        }
    }

    /// Adds a substep's share of the loads of holds, and does to bodies what is done to them in it.
    pub(super) fn weigh(&mut self, bodies: &mut Bodies, h: f64, share: f64) {
        let mut holds = std::mem::take(&mut self.holds);
        for (hold, ties) in holds.iter_mut().zip(&self.tables.ties).filter(|(hold, _)| !hold.released) {
            for tie in ties {
                let force = self.tied(tie, h);
                hold.load += force * share;
                if let By::Body(i) = hold.by
                    && i < bodies.len()
                {
                    let arm = self.position(Family::Warp, tie.held as usize) - bodies.middle(i);
                    bodies.push(i, force * h, arm.cross(force) * h);
                }
            }
        }
        self.holds = holds;
    }

    /// What a spring pulled a held crossing with in a substep of `h` [N].
    fn tied(&self, tie: &Tie, h: f64) -> Vec3 {
        let (family, from) = (tie.family, tie.spring as usize);
        let d = self.position(family, from + self.line(family).1) - self.position(family, from);
        let tension = match self.spec.solver {
            Solver::Lines { .. } => {
                let blocks = if family == Family::Warp { &self.tables.warps } else { &self.tables.wefts };
                let (yarn, along) = self.on_yarn(family, from);
                f64::from(blocks[yarn / GROUP].nodes[along].pull[yarn % GROUP]) / (h * h)
            }
            Solver::Sweeps { .. } => self.springs(family).tension[from],
        };
        d.normalize_or_zero() * if tie.held == tie.spring { tension } else { -tension }
    }

    /// Springs from what each hold holds to all else: those within a hold pull it nowhere.
    pub(super) fn ties(&self) -> Vec<Vec<Tie>> {
        let of = |hold: &Hold| {
            let mut ties = Vec::new();
            for &(c, _) in &hold.points {
                for family in Family::BOTH {
                    let (count, stride) = self.line(family);
                    let along = self.on_yarn(family, c).1;
                    let after = (along + 1 < count).then(|| (c, c + stride));
                    let before = (along > 0).then(|| (c - stride, c - stride));
                    for (spring, other) in after.into_iter().chain(before) {
                        if self.held[other] != self.held[c] {
                            ties.push(Tie { family, held: c as u32, spring: spring as u32 });
                        }
                    }
                }
            }
            ties
        };
        self.holds.iter().map(of).collect()
    }
}

/// A spring from a held crossing to one that isn't, or by another hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tie {
    family: Family,
    held: u32,
    /// The crossing that it begins at.
    spring: u32,
}
