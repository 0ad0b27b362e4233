//! What a model hands an integrator: energies and forces, one dynamic call per set of elements.
//!
//! An [`Element`] is a pure function on a few nodes, written for one row. An [`ElementSet`] owns the rows of one kind of
//! element and the loop over them: every element writes the forces on its own nodes to its own slots, then every node
//! gathers its slots in the order of the elements. So any number of threads gives the same bits. Rows are kept in
//! blocks of [`LANES`](crate::lanes::LANES), and the loop over a block becomes vector code: so does any width of vectors.
//!
//! To add one: a file here with an `impl Element`, and its line in the model that uses it. What its kernel must keep to
//! in order to be fast stands at [`Element`]; [`Stretch`] is the shortest example.

mod air;
mod bend;
mod gravity;
mod set;
mod shear;
mod stretch;

pub use air::{Air, Drag};
pub use bend::Bend;
pub use gravity::Gravity;
pub use set::{Element, ElementSet, Row};
pub use shear::Shear;
pub use stretch::Stretch;

use crate::cloth::{Cloth, Touched};
use crate::math::Vec3;

/// A source of force.
pub trait Potential: Send + Sync {
    /// Name in statistics.
    fn name(&self) -> &'static str;

    /// Stored energy [J]; zero for loads that have none (wind, drag).
    fn energy(&self, cloth: &Cloth) -> f64;

    /// Adds the force on every node [N], for positions `x` and velocities `v` of the nodes of `cloth`.
    fn add_force(&mut self, cloth: &Cloth, x: &[Vec3], v: &[Vec3], scratch: &mut Scratch, force: &mut [Vec3]);

    /// Follows edits of the cloth and changes of rest values.
    fn follow(&mut self, _cloth: &Cloth, _touched: &Touched) {}

    /// Adds to every node an upper bound of the stiffness it feels [N/m] and of the damping [N·s/m], from which the
    /// largest stable explicit step is estimated.
    fn add_bounds(&self, _cloth: &Cloth, _stiffness: &mut [f64], _damping: &mut [f64]) {}

    /// Tells loads that change with time where the clock stands [s].
    fn set_time(&mut self, _time: f64) {}
}

/// Slots that the sets of a model use one after the other.
#[derive(Default)]
pub struct Scratch {
    pub(crate) slots: Vec<f64>,
}

/// All potentials of a model, as integrators see them.
pub struct Forces {
    /// The potentials, in the order in which they are added up.
    pub potentials: Vec<Box<dyn Potential>>,
    scratch: Scratch,
}

impl Forces {
    /// The sum of these potentials.
    pub fn new(potentials: Vec<Box<dyn Potential>>) -> Self {
        Self { potentials, scratch: Scratch::default() }
    }

    /// The force on every node [N].
    pub fn evaluate(&mut self, cloth: &Cloth, x: &[Vec3], v: &[Vec3], force: &mut [Vec3]) {
        force.fill(Vec3::ZERO);
        for potential in &mut self.potentials {
            potential.add_force(cloth, x, v, &mut self.scratch, force);
        }
    }

    /// Follows edits of the cloth.
    pub fn follow(&mut self, cloth: &Cloth, touched: &Touched) {
        for potential in &mut self.potentials {
            potential.follow(cloth, touched);
        }
    }

    /// Upper bounds of the highest angular frequency [1/s] and of the fastest damping rate [1/s] of free nodes.
    pub fn rates(&self, cloth: &Cloth) -> (f64, f64) {
        let mut stiffness = vec![0.0; cloth.x.len()];
        let mut damping = vec![0.0; cloth.x.len()];
        for potential in &self.potentials {
            potential.add_bounds(cloth, &mut stiffness, &mut damping);
        }
        let highest = |bound: &[f64]| bound.iter().zip(&*cloth.inverse_mass).map(|(k, w)| k * w).fold(0.0, f64::max);
        (highest(&stiffness).sqrt(), highest(&damping))
    }
}

#[cfg(test)]
pub(crate) mod laws {
    //! Laws that every element must obey, shared by the tests of all of them.

    use super::*;

    /// Force is minus the gradient of the energy, by central differences.
    pub fn force_is_the_gradient<const N: usize, const R: usize, E: Element<N, R>>(
        element: &E,
        rest: &[f64; R],
        x: [Vec3; N],
        unit: f64,
    ) {
        let still = [Vec3::ZERO; N];
        let force = element.force(rest, &x, &still);
        let h = 1e-6;
        for n in 0..N {
            for k in 0..3 {
                let energy = |d: f64| {
                    let mut y = x;
                    y[n][k] += d;
                    element.energy(rest, &y)
                };
                let slope = (energy(h) - energy(-h)) / (2.0 * h);
                assert!((force[n][k] + slope).abs() < 1e-6 * unit, "node {n} axis {k}: {} vs {}", force[n][k], -slope);
            }
        }
    }

    /// No net force and no net torque.
    pub fn balanced<const N: usize>(x: [Vec3; N], force: [Vec3; N], unit: f64) {
        let net: Vec3 = force.iter().sum();
        let torque: Vec3 = x.iter().zip(&force).map(|(x, f)| x.cross(*f)).sum();
        assert!(net.length() < 1e-12 * unit, "net force {net}");
        assert!(torque.length() < 1e-12 * unit, "net torque {torque}");
    }
}
