//! Balance after projections, so that stress can be read from positions.
//!
//! (M/h² + D/h + K) Δx = f(x) + F − M (v₁ − v₀)/h + c,  x ← x + Δx
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | M, D, K | | kg, N·s/m, N/m | masses, damping and stiffness, as in [`Implicit`] |
//! | f | | N | force of springs and membranes where projections have left them |
//! | F | `load` | N | gravity, wind and drag of the step |
//! | v₀, v₁ | `velocity` | m/s | velocities before and after the step |
//! | c | `pushed` | N | what contacts did, by how far they moved nodes |
//! | h | | s | the step |
//!
//! One element is projected after the other, and each gives way to those before it, so at the end of a sweep the last ones are slack and the first ones stretched: in a strip under an
//! even load by a factor of three, with [coarser graphs](super::levels) of thirty. As a sum they are right, as the motion shows, but each by itself says nothing of the load there. Here nodes
//! go where forces are in balance with the accelerations that came out, by rounds of implicit Euler from rest. Motion doesn't change by it: velocities stay, and the
//! next step begins where projections ended (`cloth.lean`). Waves slower than a step stay as well.
//!
//! Coarser graphs are left out then: they pull beside the cloth, and make it tremble.
//! Costs about as much as steps of [`Implicit`] do; done only for criteria that [ask](crate::criterion::Criterion::wants_balance).

use crate::cloth::{Cloth, Touched};
use crate::integrator::{Implicit, ImplicitSettings, Integrator, Unsolved};
use crate::math::Vec3;
use crate::potential::{Forces, Shift, widen};

/// What may be left of the forces that are out of balance, after a round and in all.
const TOLERANCE: f64 = 1e-2;

/// Rounds at most. At the tip of a slit, where strain is as large as cloth bears, two left loads a quarter off that four don't.
const ROUNDS: u32 = 4;

/// Brings forces into balance.
pub(super) struct Balance {
    implicit: Implicit,
    /// When the step began [m/s].
    velocity: Vec<Vec3>,
    /// Sum of what contacts moved [m].
    pushed: Vec<Vec3>,
    /// Before contacts moved them [m].
    unpushed: Vec<Shift>,
}

impl Default for Balance {
    fn default() -> Self {
        let implicit = Implicit::new(ImplicitSettings { tolerance: TOLERANCE, ..ImplicitSettings::default() });
        Self { implicit, velocity: Vec::new(), pushed: Vec::new(), unpushed: Vec::new() }
    }
}

impl Balance {
    /// A step begins.
    pub(super) fn begin(&mut self, cloth: &mut Cloth) {
        for (x, lean) in cloth.x.iter_mut().zip(&*cloth.lean) {
            *x += *lean;
        }
        self.velocity.clear();
        self.velocity.extend_from_slice(&cloth.v);
        self.pushed.clear();
        self.pushed.resize(cloth.x.len(), Vec3::ZERO);
    }

    /// Contacts are about to move nodes.
    pub(super) fn before_contacts(&mut self, now: &[Shift]) {
        self.unpushed.clear();
        self.unpushed.extend_from_slice(&now[..self.pushed.len()]);
    }

    /// Contacts have moved nodes.
    pub(super) fn after_contacts(&mut self, now: &[Shift]) {
        for ((pushed, before), now) in self.pushed.iter_mut().zip(&self.unpushed).zip(now) {
            *pushed += widen(*now) - widen(*before);
        }
    }

    /// The step of `h` [s], in parts of `part` [s], is done.
    pub(super) fn end(&mut self, cloth: &mut Cloth, forces: &mut Forces, load: &mut [Vec3], (part, h): (f64, f64)) {
        for (i, load) in load.iter_mut().enumerate() {
            let gained = cloth.v.as_ref()[i] - self.velocity[i] - self.pushed[i] / part;
            *load -= gained * (cloth.mass.as_ref()[i] / h);
        }
        cloth.lean.grow(cloth.x.len(), Vec3::ZERO);
        cloth.lean.copy_from_slice(&cloth.x);
        let mut first = 0.0;
        for round in 0..ROUNDS {
            let left = self.implicit.relax(cloth, forces, load, h);
            if round == 0 {
                first = left;
            } else if left < TOLERANCE * first {
                break;
            }
        }
        for (lean, x) in cloth.lean.iter_mut().zip(&*cloth.x) {
            *lean -= *x;
        }
    }

    pub(super) fn follow(&mut self, touched: &Touched) {
        self.implicit.follow(touched);
    }

    pub(super) fn unsolved(&self) -> Option<Unsolved> {
        self.implicit.unsolved()
    }
}
