//! The state of a woven cloth: everything that is kept between steps.
//!
//! Crossing c = j · warps + i is where warp i and weft j met when the cloth was woven. There are two grids of particles with a place for
//! every crossing: row c is the warp's, row crossings + c the weft's. As long as a crossing is *welded* it has one particle, in the warp's
//! place, with the mass of both, and is computed once; the weft's place is unused. A spring is named by the crossing it begins at, in the
//! order of its yarn; ids never change, and a cut spring is one of stiffness zero.
//!
//! Where the yarns of a crossing touch is kept as two numbers: how far along the warp and along the weft, counted in crossings. They begin
//! as whole numbers and change as the yarns slip: with friction by what has flowed through the crossing ([`super::slide`]), as a couple of two particles by
//! where along the yarns it is.

use super::fold::Fold;
use super::hold::Hold;
use super::pair::Pair;
use super::pass::Passing;
use super::points::Points;
use super::spec::{Sliding, Solver, Spec, SpecError};
use super::tables::Tables;
use crate::cloth::Placement;
use crate::math::{Vec3, hash_unit};
use serde::{Deserialize, Serialize};

/// The two families of yarns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Family {
    /// Along v.
    Warp,
    /// Along u.
    Weft,
}

impl Family {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Warp, Self::Weft];
}

/// What holds the yarns of a crossing together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// They are one particle: whole cloth.
    Welded,
    /// They are one particle, and slide through it with friction.
    Sliding,
    /// Two particles that don't slide (only of `all_yarn`).
    Connected,
    /// Two particles that slide over each other, T apart (of `all_yarn`, and without friction).
    Loose,
    /// Nothing.
    Disconnected,
}

impl Kind {
    /// True if both yarns are one particle.
    #[inline(always)]
    pub fn is_one(self) -> bool {
        matches!(self, Self::Welded | Self::Sliding)
    }
}

/// A yarn was cut.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cut {
    /// When [s].
    pub time: f64,
    /// Where the middle of the cut spring was [m].
    pub place: Vec3,
    /// Family of the yarn.
    pub family: Family,
    /// Its number.
    pub yarn: usize,
    /// The spring: from this crossing of the yarn to the next.
    pub segment: usize,
    /// Its tension over its breaking force.
    pub ratio: f64,
    /// Cut along a line instead of broken by its tension.
    pub by_hand: bool,
}

/// The structural springs of one family, by the crossing that they begin at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Springs {
    /// Stiffness [N/m], zero for a cut one (and past the last crossing of a yarn).
    pub stiffness: Vec<f64>,
    /// Rest length [m].
    pub rest: Vec<f64>,
    /// Breaking force [N].
    pub strength: Vec<f64>,
    /// Tension, mean over the last step [N].
    pub tension: Vec<f64>,
    /// Tension of the last substep, times its square [N s²].
    pub(super) pull: Vec<f64>,
}

/// A woven cloth in motion. Make it with [`Woven::new`], hold it with [`Woven::hold`], move it with [`Woven::step`]; read it with
/// [`Woven::runs`], [`Woven::counts`] and [`Woven::take_events`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Woven {
    pub(super) spec: Spec,
    pub(super) step: u64,
    /// Positions [m] and velocities [m/s] of warps' and wefts' particles.
    pub(super) at: Points,
    pub(super) v: Points,
    /// How far they went in the last step [m].
    pub(super) gone: Points,
    pub(super) kind: Vec<Kind>,
    /// Number of the hold plus one; zero if free.
    pub(super) held: Vec<u32>,
    pub(super) holds: Vec<Hold>,
    pub(super) warp: Springs,
    pub(super) weft: Springs,
    /// Where yarns touch: along the warp and along the weft, in crossings of the material.
    pub(super) along: [Vec<f64>; 2],
    /// What of the warp and of the weft sticks out beyond a crossing, if the yarn ends there [m].
    pub(super) stub: [Vec<f64>; 2],
    /// From weft to warp at crossings that have the warp on top (unit).
    pub(super) normal: Vec<Vec3>,
    /// Crossings, in order, that were bent when their normals last turned, or whose normals don't follow their yarns.
    pub(super) bent: Vec<u32>,
    /// What couples did to their wefts in the last substep, times its square [N s²]; to warps the opposite.
    pub(super) press: Vec<Vec3>,
    /// Square of the substep that tensions and frictions are kept for [s²]; zero before the first.
    pub(super) h2: f64,
    /// Pairs of segments that may touch, in the order of their numbers as they were found when the step began.
    pub(super) pairs: Vec<Pair>,
    /// How many of them were added within the step, which are behind the others.
    pub(super) added: u32,
    /// After how many looks the next one at each of them is due; none if it is too near.
    pub(super) rests: Vec<u8>,
    /// Segments, by their numbers, that were divided anew when the last step ended: they are others than before.
    pub(super) divided: Vec<u32>,
    /// Patches of whole cloth, by their first segments, those that may meet, and the step from which on these are looked for anew.
    pub(super) patches: Vec<u32>,
    pub(super) folds: Vec<Fold>,
    pub(super) fold_until: u64,
    /// What has passed through each other since it was last asked for.
    pub(super) passed: Vec<Passing>,
    pub(super) events: Vec<Cut>,
    pub(super) cuts: u64,
    #[serde(skip)]
    pub(super) tables: Tables,
}

impl Woven {
    /// A flat cloth at rest.
    pub fn new(spec: Spec, place: Placement) -> Result<Self, SpecError> {
        spec.check()?;
        let (warps, wefts) = (spec.warps, spec.wefts);
        let count = warps * wefts;
        let mut at = Points::zeros(2 * count);
        for c in 0..count {
            let (u, v) = ((c % warps) as f64 * spec.spacing, (c / warps) as f64 * spec.spacing);
            at.set(c, place.origin + place.weft * u + place.warp * v);
        }
        let springs = |family: Family| {
            let strong = |yarn| spec.ripstop.as_ref().map_or(1.0, |grid| grid.of(yarn));
            let of = |c: usize| match family {
                Family::Warp => (c % warps, c / warps + 1 < wefts),
                Family::Weft => (c / warps, c % warps + 1 < warps),
            };
            let stiffness = |c| if of(c).1 { spec.stretch * strong(of(c).0) } else { 0.0 };
            let strength = |c: usize| {
                let key = 2 * c as u64 + u64::from(family == Family::Weft);
                let chance = 1.0 + spec.spread * (2.0 * hash_unit(spec.seed, key) - 1.0);
                spec.breaking_force() * strong(of(c).0) * chance
            };
            Springs {
                stiffness: (0..count).map(stiffness).collect(),
                rest: vec![spec.spacing; count],
                strength: (0..count).map(strength).collect(),
                tension: vec![0.0; count],
                pull: vec![0.0; count],
            }
        };
        let mut woven = Self {
            step: 0,
            at,
            v: Points::zeros(2 * count),
            gone: Points::zeros(2 * count),
            kind: vec![Kind::Welded; count],
            held: vec![0; count],
            holds: Vec::new(),
            warp: springs(Family::Warp),
            weft: springs(Family::Weft),
            along: [(0..count).map(|c| (c / warps) as f64).collect(), (0..count).map(|c| (c % warps) as f64).collect()],
            stub: [(); 2].map(|()| vec![0.5 * spec.spacing; count]),
            normal: vec![place.weft.cross(place.warp).normalize_or_zero(); count],
            bent: Vec::new(),
            press: vec![Vec3::ZERO; count],
            h2: 0.0,
            pairs: Vec::new(),
            added: 0,
            rests: Vec::new(),
            divided: Vec::new(),
            folds: Vec::new(),
            patches: Vec::new(),
            fold_until: 0,
            passed: Vec::new(),
            events: Vec::new(),
            cuts: 0,
            tables: Tables::default(),
            spec,
        };
        if woven.spec.all_yarn {
            woven.split(&(0..count).collect::<Vec<_>>(), Kind::Connected);
        }
        Ok(woven)
    }

    /// Its parameters.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Time [s].
    pub fn time(&self) -> f64 {
        self.step as f64 * self.spec.step
    }

    /// Number of crossings.
    pub fn crossings(&self) -> usize {
        self.kind.len()
    }

    /// The crossing of warp `i` and weft `j`.
    pub fn crossing(&self, i: usize, j: usize) -> usize {
        j * self.spec.warps + i
    }

    /// What holds a crossing together.
    pub fn kind(&self, crossing: usize) -> Kind {
        self.kind[crossing]
    }

    /// Structural springs of a family.
    pub fn springs(&self, family: Family) -> &Springs {
        match family {
            Family::Warp => &self.warp,
            Family::Weft => &self.weft,
        }
    }

    pub(super) fn springs_mut(&mut self, family: Family) -> &mut Springs {
        match family {
            Family::Warp => &mut self.warp,
            Family::Weft => &mut self.weft,
        }
    }

    /// Crossings of a yarn, and from each to the next the difference of their numbers.
    pub(super) fn line(&self, family: Family) -> (usize, usize) {
        match family {
            Family::Warp => (self.spec.wefts, self.spec.warps),
            Family::Weft => (self.spec.warps, 1),
        }
    }

    /// The yarn of a family that passes a crossing, and where along it.
    pub(super) fn on_yarn(&self, family: Family, c: usize) -> (usize, usize) {
        let (i, j) = (c % self.spec.warps, c / self.spec.warps);
        match family {
            Family::Warp => (i, j),
            Family::Weft => (j, i),
        }
    }

    /// Number of yarns of a family.
    pub(super) fn yarns(&self, family: Family) -> usize {
        match family {
            Family::Warp => self.spec.warps,
            Family::Weft => self.spec.wefts,
        }
    }

    /// The crossing at a place along a yarn.
    pub(super) fn crossing_of(&self, family: Family, yarn: usize, along: usize) -> usize {
        match family {
            Family::Warp => along * self.spec.warps + yarn,
            Family::Weft => yarn * self.spec.warps + along,
        }
    }

    /// The particle of a family's yarn at a crossing.
    #[inline(always)]
    pub(super) fn particle(&self, family: Family, c: usize) -> usize {
        if family == Family::Weft && !self.kind[c].is_one() { c + self.kind.len() } else { c }
    }

    /// Position of a yarn at a crossing [m]; of whole cloth that of the crossing.
    pub fn position(&self, family: Family, crossing: usize) -> Vec3 {
        self.at.get(self.particle(family, crossing))
    }

    /// Velocity of a yarn at a crossing [m/s].
    pub fn velocity(&self, family: Family, crossing: usize) -> Vec3 {
        self.v.get(self.particle(family, crossing))
    }

    /// Gives a yarn at a crossing another velocity [m/s].
    pub fn set_velocity(&mut self, family: Family, crossing: usize, v: Vec3) {
        let p = self.particle(family, crossing);
        self.v.set(p, v);
    }

    /// Mass of the particle of a yarn at a crossing [kg]; held or not.
    pub fn mass(&self, crossing: usize) -> f64 {
        self.spec.node_mass() * if self.kind[crossing].is_one() { 1.0 } else { 0.5 }
    }

    /// Is the spring that begins at a crossing there?
    #[inline(always)]
    pub(super) fn live(&self, family: Family, c: usize) -> bool {
        self.springs(family).stiffness[c] > 0.0
    }

    /// What becomes of whole cloth that comes loose.
    pub(super) fn loosened(&self) -> Kind {
        let one =
            matches!(self.spec.sliding, Sliding::Friction { .. }) && matches!(self.spec.solver, Solver::Lines { .. });
        if one && !self.spec.all_yarn { Kind::Sliding } else { Kind::Loose }
    }

    /// Force that a crossing's yarns stick with [N]: by the share of its four neighbours along them that bend them around each other, which are those of the other kind that still hold.
    pub(super) fn friction(&self, c: usize) -> f64 {
        let Sliding::Friction { force } = self.spec.sliding else { return 0.0 };
        let mut bent = 0;
        for family in Family::BOTH {
            let (count, stride) = self.line(family);
            let along = self.on_yarn(family, c).1;
            let bends = |n: usize| self.kind[n] != Kind::Disconnected && self.side(n) != self.side(c);
            bent += u32::from(along > 0 && self.live(family, c - stride) && bends(c - stride));
            bent += u32::from(along + 1 < count && self.live(family, c) && bends(c + stride));
        }
        force * 0.25 * f64::from(bent)
    }

    /// Direction of a yarn at a crossing: the sum of those of its segments before and after, as far as it isn't cut.
    fn tangent(&self, family: Family, c: usize) -> Vec3 {
        let (count, stride) = self.line(family);
        let (_, along) = self.on_yarn(family, c);
        let x = self.position(family, c);
        let before = along > 0 && self.live(family, c - stride);
        let after = along + 1 < count && self.live(family, c);
        let mut sum = Vec3::ZERO;
        if before {
            sum += (x - self.position(family, c - stride)).normalize_or_zero();
        }
        if after {
            sum += (self.position(family, c + stride) - x).normalize_or_zero();
        }
        sum
    }

    /// Square of the sine of a sixth of a right angle: below that the yarns say little about the cloth.
    pub(super) const ASLANT: f64 = 0.06;

    /// Normal of the cloth at a crossing: across both yarns (unit), if they aren't parallel. With a⁺, a⁻ the directions in which the warp leaves it and b⁺, b⁻ those of the weft it is that of (b⁺ − b⁻) × (a⁺ − a⁻),
    /// the area that b⁺, −a⁺, b⁻, −a⁻ go around: as long as it is within them the yarns, apart along it, don't cut each other however they are bent there.
    pub(super) fn cloth_normal(&self, c: usize) -> Option<Vec3> {
        let (u, v) = (self.tangent(Family::Weft, c), self.tangent(Family::Warp, c));
        let n = u.cross(v);
        (n.length_squared() > Self::ASLANT * u.length_squared() * v.length_squared()).then(|| n.normalize())
    }

    /// The normal of a crossing turns with its yarns; those that turn past being parallel don't change sides.
    pub(super) fn turn_normal(&mut self, c: usize) {
        if let Some(normal) = self.cloth_normal(c) {
            self.normal[c] = if normal.dot(self.normal[c]) < 0.0 { -normal } else { normal };
        }
    }

    /// 1 where the warp is on top, −1 where the weft is.
    pub(super) fn side(&self, c: usize) -> f64 {
        let over = self.spec.weave.warp_over(c % self.spec.warps, c / self.spec.warps);
        if over { 1.0 } else { -1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yarn::Weave;

    #[test]
    fn longer_floats_hold_less_and_so_do_edges() {
        let twill = |a, b| Weave::twill(a, b).unwrap();
        let of = [
            (Weave::plain(), 1.0),
            (twill(2, 1), 2.0 / 3.0),
            (twill(2, 2), 0.5),
            (twill(3, 1), 0.5),
            (Weave::basket(), 0.5),
            (Weave::satin5(), 0.4),
        ];
        for (weave, grip) in of {
            let mut spec = Spec::muslin(62, 62);
            (spec.weave, spec.sliding) = (weave, Sliding::Friction { force: 1.0 });
            let cloth = Woven::new(spec, Placement::default()).unwrap();
            let inside = (0..3600).map(|k| cloth.crossing(1 + k % 60, 1 + k / 60));
            let mean = inside.map(|c| cloth.friction(c)).sum::<f64>() / 3600.0;
            assert!((mean - grip).abs() < 1e-12, "{:?}: {mean}", cloth.spec.weave);
        }
        let mut spec = Spec::muslin(9, 9);
        spec.sliding = Sliding::Friction { force: 1.0 };
        let mut cloth = Woven::new(spec, Placement::default()).unwrap();
        assert_eq!([(0, 0), (4, 0), (4, 4)].map(|(i, j)| cloth.friction(cloth.crossing(i, j))), [0.5, 0.75, 1.0]);
        // What doesn't hold any more bends nothing, and neither does what a cut has parted.
        let c = cloth.crossing(4, 4);
        cloth.split(&[c], Kind::Disconnected);
        assert_eq!([c - 1, c + 1, c - 9, c + 9, c + 2].map(|c| cloth.friction(c)), [0.75, 0.75, 0.75, 0.75, 1.0]);
        cloth.weft.stiffness[c + 1] = 0.0;
        assert_eq!([c + 1, c + 2].map(|c| cloth.friction(c)), [0.5, 0.75]);
    }
}
