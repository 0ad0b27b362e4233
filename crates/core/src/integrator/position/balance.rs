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
//! Under load, projections leave fine cloth longer than it is by F h² w for every edge, with the force F and the mass 1/w of a node and the substep h: in legs of trousers of 2 mm edges by 8 % where 0.1 % would be right, or
//! 5 mm in all. From there, four rounds ended with nodes that were out of balance by ten times the load, and energy went into that instead of into the tear. It hardly changes from one step to the next, so rounds begin nearer,
//! where nodes are less most of their last lean: x − θ `lean`, θ = [`KEPT`].
//!
//! Damping isn't in f: what it does to the motion is in v₁ − v₀ already, so stress stands for both, and grips are [weighed](crate::Simulation::weigh_grips) without it.
//!
//! Coarser graphs are left out then: they pull beside the cloth, and make it tremble.
//! Costs about as much as steps of [`Implicit`] do; done only for criteria that [ask](crate::criterion::Criterion::wants_balance).

use super::domain::Places;
use crate::cloth::{Cloth, Touched};
use crate::integrator::{Implicit, ImplicitSettings, Integrator, Unsolved};
use crate::math::Vec3;
use crate::potential::{Forces, Shift, widen};

/// What may be left of the forces that are out of balance, after a round and in all.
const TOLERANCE: f64 = 1e-2;

/// Rounds at most. At the tip of a slit, where strain is as large as cloth bears, two left loads a quarter off that four don't.
const ROUNDS: u32 = 4;

/// How much of its last lean a node begins with. What no force holds, as cloth that swings or turns, is to go on leaning no longer than a few steps: with all of it such nodes ended up to 10 mm from where they moved. Trousers of
/// 2 mm (regular mesh) take 0.0432 N with all of it, 0.0438 with 15/16, 0.0443 with ¾, 0.0444 with ½ (those of 1 mm 0.0454 and 0.0499), 0.0508 with nothing.
const KEPT: f64 = 0.75;

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
    }

    /// Contacts are about to move nodes.
    pub(super) fn before_contacts(&mut self, now: &[Shift]) {
        self.unpushed.clear();
        self.unpushed.extend_from_slice(now);
        self.pushed.resize(now.len(), Vec3::ZERO);
    }

    /// Contacts have moved nodes.
    pub(super) fn after_contacts(&mut self, now: &[Shift]) {
        for ((pushed, before), now) in self.pushed.iter_mut().zip(&self.unpushed).zip(now) {
            *pushed += widen(*now) - widen(*before);
        }
    }

    /// The step of `h` [s], in parts of `part` [s], is done.
    pub(super) fn end(
        &mut self,
        cloth: &mut Cloth,
        places: &Places,
        forces: &mut Forces,
        load: &mut [Vec3],
        (part, h): (f64, f64),
    ) {
        for (i, load) in load.iter_mut().enumerate() {
            let pushed = self.pushed.get(places.of[i] as usize).copied().unwrap_or_default();
            let gained = cloth.v.as_ref()[i] - self.velocity[i] - pushed / part;
            *load -= gained * (cloth.mass.as_ref()[i] / h);
        }
        cloth.lean.grow(cloth.x.len(), Vec3::ZERO);
        for (lean, x) in cloth.lean.iter_mut().zip(&mut *cloth.x) {
            let ended = *x;
            *x -= *lean * KEPT;
            *lean = ended;
        }
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

#[cfg(test)]
mod tests {
    use crate::criterion::Toughness;
    use crate::fabric::{Fabric, Strength, Toughness as Energies};
    use crate::integrator::{Xpbd, XpbdSettings};
    use crate::math::Vec3;
    use crate::model::membrane;
    use crate::opening::{Through, cut};
    use crate::potential::{Elasticity, Forces};
    use crate::tear::Tearing;
    use crate::{Cloth, Grip, Key, Placement, Simulation};
    use ripstop_mesh::{ChangeLog, NodeId, Vec2, generate};

    /// Legs of trousers are this long, and both together as wide [m].
    const LEG: f64 = 0.02;

    /// Trousers of 1 mm edges whose legs point up and down already, and are pulled apart; they never tear.
    fn trousers(h: f64) -> (Simulation, Forces) {
        let fabric = Fabric {
            density: 0.2,
            bend: 1e-6,
            damping: 2e-4,
            elasticity: Some(Elasticity { weft: 2000.0, across: 40.0, warp: 2000.0, shear: 60.0 }.into()),
            strength: Some(Strength { weft: 100.0, warp: 100.0, bias: None }),
            toughness: Some(Energies { weft: 0.1, warp: 0.1, grid: None }),
            ..Fabric::default()
        };
        let mesh = generate::grid(Vec2::new(LEG, 2.0 * LEG), [21, 41]).unwrap();
        let mut cloth = Cloth::flat(mesh, fabric.density, Placement::default());
        let mut log = ChangeLog::new();
        cut(&mut cloth, &[Vec2::new(0.5 * LEG, 0.0), Vec2::new(0.5 * LEG, LEG)], 2e-4, &mut log);
        cloth.follow(&log);
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for n in cloth.mesh.nodes() {
            let uv = cloth.mesh.node_uv(n);
            let middle = cloth.mesh.fan(n).map(|c| cloth.mesh.face_uv(c.face()).iter().map(|p| p.x).sum::<f64>() / 3.0);
            let is_left = middle.clone().sum::<f64>() / (middle.count() as f64) < 0.5 * LEG;
            let down = (LEG - uv.y).max(0.0);
            cloth.x[n] = Vec3::new(uv.x, uv.y.max(LEG), if is_left { -down } else { down });
            if uv.y < 1e-9 {
                if is_left { &mut left } else { &mut right }.push(n);
            }
        }
        let grip = |nodes: &[NodeId], speed: f64| {
            let key = |time: f64| Key { time, shift: Vec3::Z * (speed * time), turn: Vec3::ZERO };
            Grip::moving("leg", nodes, &cloth, vec![key(0.0), key(1.0)])
        };
        let (left, right) = (grip(&left, -0.02), grip(&right, 0.02));
        let never = Toughness::of(&fabric, &cloth).unwrap().stronger(1e9);
        let tearing = Tearing::new(never, Through::of(&cloth));
        let potentials = || membrane(&fabric, fabric.law(), &cloth);
        let forces = Forces::new(potentials());
        let xpbd = Box::new(Xpbd::new(XpbdSettings::default()));
        let simulation = Simulation::boxed(cloth.clone(), potentials(), xpbd, h).tearing(tearing);
        (simulation.grip(left).grip(right), forces)
    }

    #[test]
    fn forces_are_in_balance_with_accelerations_at_every_node_and_grip() {
        let h = 1.0 / 480.0;
        let (mut simulation, mut forces) = trousers(h);
        let (mut left, mut amiss, mut loads) = (0.0, 0.0, 0.0);
        for step in 0..60 {
            let before = simulation.cloth().v.clone();
            simulation.step().unwrap();
            simulation.weigh_grips();
            // By then legs are taut.
            if step < 30 {
                continue;
            }
            let cloth = simulation.cloth();
            let gained = |n: NodeId| (cloth.v[n] - before[n]) * (cloth.mass[n] / h);
            let free = || cloth.mesh.nodes().filter(|&n| !cloth.is_held(n));
            let (mut force, still) = (vec![Vec3::ZERO; cloth.x.len()], vec![Vec3::ZERO; cloth.x.len()]);
            forces.evaluate(cloth, &cloth.x, &still, &mut force);
            left += free().map(|n| (force[n.0 as usize] - gained(n)).length_squared()).sum::<f64>().sqrt();
            let by_grips: Vec3 = simulation.grips().iter().map(|grip| grip.load).sum();
            amiss += (by_grips + free().map(gained).sum::<Vec3>()).length();
            loads += 0.5 * simulation.grips().iter().map(|grip| grip.load.z.abs()).sum::<f64>();
        }
        // Both are about 0.01 or less. From where projections end, a quarter or more of the load is left at nodes; with damping, grips are off by a twentieth or more.
        assert!(left < 0.1 * loads, "{} of the load is left at nodes", left / loads);
        assert!(amiss < 0.02 * loads, "grips are off by {} of the load", amiss / loads);
    }
}
