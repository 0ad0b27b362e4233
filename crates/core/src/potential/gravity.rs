//! Weight: F = m g (Phillips 2008 eq. 19).

use super::{Potential, Scratch};
use crate::cloth::Cloth;
use crate::math::Vec3;
use crate::parallel;
use ripstop_mesh::{Id, NodeId};

/// Uniform gravity.
pub struct Gravity {
    /// Acceleration [m/s²].
    pub acceleration: Vec3,
}

impl Potential for Gravity {
    fn name(&self) -> &'static str {
        "gravity"
    }

    fn energy(&self, cloth: &Cloth) -> f64 {
        -parallel::sum(cloth.x.len(), |i| {
            let n = NodeId::new(i);
            cloth.mass[n] * self.acceleration.dot(cloth.x[n])
        })
    }

    fn add_force(&mut self, cloth: &Cloth, _x: &[Vec3], _v: &[Vec3], _scratch: &mut Scratch, force: &mut [Vec3]) {
        for (force, &mass) in force.iter_mut().zip(&*cloth.mass) {
            *force += self.acceleration * mass;
        }
    }
}
