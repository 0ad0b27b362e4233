//! Where a rigid thing is.

use crate::math::{Quat, Vec3};
use serde::{Deserialize, Serialize};

/// Place and turn: a point p of the thing is at turn·p + place.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pose {
    /// Where the thing's own origin is [m].
    pub place: Vec3,
    /// How it is turned (unit).
    pub turn: Quat,
}

impl Default for Pose {
    /// At the origin, unturned.
    fn default() -> Self {
        Self { place: Vec3::ZERO, turn: Quat::IDENTITY }
    }
}

impl Pose {
    /// Unturned, with its origin at `place` [m].
    pub fn at(place: Vec3) -> Self {
        Self { place, ..Self::default() }
    }

    /// A point of the thing in the world.
    #[inline]
    pub fn apply(&self, local: Vec3) -> Vec3 {
        self.turn * local + self.place
    }

    /// A point of the world, as a point of the thing.
    #[inline]
    pub fn local(&self, world: Vec3) -> Vec3 {
        self.turn.conjugate() * (world - self.place)
    }

    /// The pose that undoes this one.
    pub fn inverse(&self) -> Self {
        let turn = self.turn.conjugate();
        Self { place: -(turn * self.place), turn }
    }

    /// True if all numbers are.
    pub fn is_finite(&self) -> bool {
        self.place.is_finite() && self.turn.is_finite()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::turn;

    #[test]
    fn a_pose_and_its_inverse_cancel() {
        let pose = Pose { place: Vec3::new(1.0, -2.0, 0.5), turn: turn(Vec3::new(0.3, 1.0, -0.7)) };
        let p = Vec3::new(0.2, 0.4, -3.0);
        assert!((pose.local(pose.apply(p)) - p).length() < 1e-15);
        assert!((pose.inverse().apply(pose.apply(p)) - p).length() < 1e-14);
    }
}
