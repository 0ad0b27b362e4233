//! The step of a woven cloth.

use super::line::GROUP;
use super::points::Points;
use super::spec::Solver;
use super::state::{Family, Woven};
use crate::body::Bodies;
use crate::lanes::{self, LANES, Work};
use crate::parallel;

/// Why a step could not be taken. The state is then not to be used any more.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StepError {
    /// A particle is nowhere, or as good as.
    #[error(
        "step {step} (t = {time:.4} s): the {family:?} at crossing {crossing} of the woven cloth moves at {speed:.0} m/s, more than a step can follow; try more substeps, or slower holds and bodies"
    )]
    Exploded {
        /// Step, from zero.
        step: u64,
        /// Time at its beginning [s].
        time: f64,
        /// Yarn.
        family: Family,
        /// First such crossing.
        crossing: usize,
        /// Its speed [m/s]; may be no number.
        speed: f64,
    },
    /// A body is nowhere.
    #[error("step {step} (t = {time:.4} s): body {body} became non-finite; give it more mass, or try a smaller step")]
    Body {
        /// Step, from zero.
        step: u64,
        /// Time at its beginning [s].
        time: f64,
        /// Its number.
        body: usize,
    },
}

/// Speed that nothing here has [m/s].
const ABSURD: f64 = 1e4;

impl Woven {
    /// Advances by one step. `bodies` are the same in every step; none: `Bodies::default()`.
    pub fn step(&mut self, bodies: &mut Bodies) -> Result<(), StepError> {
        self.step_watched(bodies, |_| {})
    }

    /// [`Self::step`], with a look at the cloth after every substep, and one when normals have followed and nothing has changed yet.
    pub fn step_watched(&mut self, bodies: &mut Bodies, mut look: impl FnMut(&Self)) -> Result<(), StepError> {
        let (substeps, sweeps) = match self.spec.solver {
            // Whole cloth is solved well in fewer; couples of two particles need more.
            Solver::Lines { substeps } if self.has_pairs() => (substeps + substeps / 2, None),
            Solver::Lines { substeps } if self.has_couples() => (substeps, None),
            Solver::Lines { substeps } => ((2 * substeps).div_ceil(3), None),
            Solver::Sweeps { count } => (1, Some(count)),
        };
        let h = self.spec.step / f64::from(substeps);
        self.take_substep(h);
        let time = self.time();
        self.let_go(time);
        self.check()?;
        self.follow(h);
        self.find_couples(h);
        self.find_pairs();
        self.find_gusts();
        self.note_places();
        for k in 1..=substeps {
            // Bodies move in substeps too: light ones that hang on stiff yarns would be thrown about by a step's worth of pull.
            let now = time + h * f64::from(k - 1);
            bodies.drive(now, h);
            self.drive(bodies, now, h);
            if k == 1 {
                self.find_near_bodies(bodies);
            }
            self.predict(h, k == 1);
            self.shear(h, sweeps.is_none().then_some(k == 1));
            match sweeps {
                None => {
                    self.press_on();
                    self.solve_lines(k == 1);
                    self.hold_couples();
                }
                Some(count) => self.sweep(h, count),
            }
            self.follow_strays(f64::from(k) / f64::from(substeps), 1.0 / f64::from(substeps));
            self.keep_apart(1.0 / f64::from(substeps));
            self.meet_bodies(bodies, h);
            self.hold_back();
            self.weigh(bodies, h, 1.0 / f64::from(substeps));
            bodies.advance(h);
            look(self);
        }
        self.velocities(h);
        if sweeps.is_none() {
            self.take_tensions(substeps, h);
            self.take_slides();
        }
        self.check()?;
        self.turn_normals();
        self.tell_wrong();
        if let Some(body) = bodies.broken() {
            return Err(StepError::Body { step: self.step, time: self.time(), body });
        }
        look(self);
        self.change();
        self.step += 1;
        Ok(())
    }

    /// What is kept as force times h² goes on as the same force with another h.
    fn take_substep(&mut self, h: f64) {
        let h2 = h * h;
        if self.h2 == h2 {
            return;
        }
        if self.h2 > 0.0 {
            let factor = h2 / self.h2;
            self.warp.pull.iter_mut().chain(&mut self.weft.pull).for_each(|pull| *pull *= factor);
            self.press.iter_mut().for_each(|press| *press *= factor);
        }
        self.h2 = h2;
        self.tables.ready = false;
    }

    /// Mean tensions of a step of substeps of `h` [s], and what has become of rest lengths in it.
    pub(super) fn take_tensions(&mut self, substeps: u32, h: f64) {
        let mean = 1.0 / (f64::from(substeps) * h * h);
        let warps = self.spec.warps;
        for family in Family::BOTH {
            let (blocks, springs) = match family {
                Family::Warp => (&self.tables.warps, &mut self.warp),
                Family::Weft => (&self.tables.wefts, &mut self.weft),
            };
            parallel::for_each_triple(&mut springs.tension, &mut springs.pull, &mut springs.rest, |first, t, p, r| {
                let (mut i, mut j) = (first % warps, first / warps);
                for ((tension, pull), rest) in t.iter_mut().zip(p).zip(r) {
                    let (yarn, s) = if family == Family::Warp { (i, j) } else { (j, i) };
                    let (block, lane) = (&blocks[yarn / GROUP], yarn % GROUP);
                    let node = &block.nodes[s];
                    *tension = f64::from(node.tension[lane]) * mean;
                    *pull = f64::from(node.pull[lane]);
                    *rest = block.rest[s][lane];
                    (i, j) = if i + 1 == warps { (0, j + 1) } else { (i + 1, j) };
                }
            });
        }
    }

    /// Refuses a state that no step can go on from.
    fn check(&self) -> Result<(), StepError> {
        let count = self.kind.len();
        // All at once; only if that fails one by one.
        let mut fine = true;
        lanes::run(Fine { at: &self.at, v: &self.v, fine: &mut fine });
        if fine {
            return Ok(());
        }
        for p in 0..2 * count {
            let v = self.v.get(p);
            // Written so that what is no number is refused.
            if !(v.length_squared() < ABSURD * ABSURD && self.at.get(p).is_finite()) {
                let family = if p < count { Family::Warp } else { Family::Weft };
                let (step, time, crossing) = (self.step, self.time(), p % count);
                return Err(StepError::Exploded { step, time, family, crossing, speed: v.length() });
            }
        }
        Ok(())
    }
}

/// Whether all particles are somewhere, and slow enough.
struct Fine<'a> {
    at: &'a Points,
    v: &'a Points,
    fine: &'a mut bool,
}

impl Work for Fine<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { at, v, fine } = self;
        let count = at.len();
        let [x, y, z] = [&at.0[0][..count], &at.0[1][..count], &at.0[2][..count]];
        let [vx, vy, vz] = [&v.0[0][..count], &v.0[1][..count], &v.0[2][..count]];
        let mut bad = [0_u64; LANES];
        let mut all = 0;
        for first in (0..count).step_by(LANES) {
            for l in 0..LANES.min(count - first) {
                let p = first + l;
                let speed = vx[p] * vx[p] + vy[p] * vy[p] + vz[p] * vz[p];
                // A number times zero is zero if it is finite.
                let is_fine = (speed < ABSURD * ABSURD) & (x[p] * 0.0 + y[p] * 0.0 + z[p] * 0.0 == 0.0);
                bad[l] |= u64::from(!is_fine);
            }
        }
        for bad in bad {
            all |= bad;
        }
        *fine = all == 0;
    }
}
