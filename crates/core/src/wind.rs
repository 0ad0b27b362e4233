//! Wind over time: keyframes, and gusts that travel with it.

use crate::keyframe;
use crate::math::{Vec3, hash_unit};
use serde::{Deserialize, Serialize};

/// Wind velocity as a function of time and place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wind {
    /// Times [s], ascending, and velocities [m/s]; between them linear, outside them constant. Empty: still air.
    pub keys: Vec<(f64, Vec3)>,
    /// Times [s], ascending, from which on it blows with these velocities [m/s] instead, whatever the keys say.
    pub shifts: Vec<(f64, Vec3)>,
    /// Relative strength of gusts: the wind varies by this share of itself, up and down.
    pub gust: f64,
    /// Time from gust to gust [s].
    pub period: f64,
    /// Distance from gust to gust along the wind [m].
    pub length: f64,
    /// Other seeds give other gusts.
    pub seed: u64,
}

impl Wind {
    /// Mean velocity at a time [m/s], without gusts.
    pub fn mean(&self, time: f64) -> Vec3 {
        if let Some(shift) = self.shifts.partition_point(|shift| shift.0 <= time).checked_sub(1) {
            return self.shifts[shift].1;
        }
        keyframe::around(&self.keys, time, |key| key.0).map_or(Vec3::ZERO, |(a, b, s)| a.1.lerp(b.1, s))
    }

    /// Lets it blow otherwise from a time on [s], which is after all shifts so far; a shift at the same time is replaced.
    pub fn shift(&mut self, time: f64, velocity: Vec3) {
        self.shifts.retain(|shift| shift.0 < time);
        self.shifts.push((time, velocity));
    }

    /// What gusts multiply the mean wind by, at a place, when the mean blows along `direction`.
    #[inline]
    pub fn gust_factor(&self, time: f64, place: Vec3, direction: Vec3) -> f64 {
        if self.gust == 0.0 {
            return 1.0;
        }
        let phase = time / self.period - place.dot(direction) / self.length;
        let cell = phase.floor();
        let t = phase - cell;
        let value = |cell: f64| 2.0 * hash_unit(self.seed, cell as i64 as u64) - 1.0;
        let (a, b) = (value(cell), value(cell + 1.0));
        1.0 + self.gust * (a + (b - a) * (t * t * (3.0 - 2.0 * t)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wind_follows_its_keys_and_still_air_has_none() {
        let wind = Wind { keys: vec![(1.0, Vec3::X), (2.0, Vec3::X * 3.0)], ..Wind::default() };
        assert_eq!(wind.mean(1.5), Vec3::X * 2.0);
        let shifted = Wind { shifts: vec![(1.2, Vec3::Z), (1.6, Vec3::Y)], ..wind.clone() };
        assert_eq!([1.0, 1.3, 9.0].map(|t| shifted.mean(t)), [Vec3::X, Vec3::Z, Vec3::Y]);
        assert_eq!(Wind::default().mean(1.0), Vec3::ZERO);
    }

    #[test]
    fn gusts_stay_within_their_share_and_are_smooth() {
        let wind = Wind { gust: 0.3, period: 0.5, length: 2.0, seed: 4, ..Wind::default() };
        let at = |t: f64| wind.gust_factor(t, Vec3::ZERO, Vec3::X);
        let mut range = (f64::MAX, f64::MIN);
        for i in 0..2000 {
            let t = f64::from(i) * 0.01;
            range = (range.0.min(at(t)), range.1.max(at(t)));
            // Smoothstep is at most 1.5 steep, over values that differ by at most 2.
            assert!((at(t + 1e-3) - at(t)).abs() <= 0.3 * 2.0 * 1.5 * 1e-3 / 0.5 + 1e-12);
        }
        assert!(range.0 >= 0.7 && range.1 <= 1.3 && range.1 - range.0 > 0.3, "{range:?}");
        // A gust travels: seen again one period later one length down the wind.
        assert!(
            (wind.gust_factor(0.2, Vec3::ZERO, Vec3::X) - wind.gust_factor(0.7, Vec3::X * 2.0, Vec3::X)).abs() < 1e-12
        );
    }
}
