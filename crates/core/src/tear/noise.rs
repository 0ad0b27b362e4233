//! Strength that varies from place to place as woven cloth does, so that a tear wanders and no two runs look alike.
//!
//! factor(u, v) = 1 + a · n(u / l, v / l),  n in (−1, 1) with mean zero
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | a | `amount` | 1 | how much strength varies, 0 to 1 |
//! | l | `scale` | m | from a strong place to the next weak one |
//! | n | | 1 | value noise: a random number at every corner of a square lattice, smooth (6t⁵ − 15t⁴ + 10t³) between |
//!
//! The random numbers are hashes of (seed, lattice cell): the factor depends on the place in the material alone, so another
//! mesh, another number of threads or a resumed run has the same weak places.
//!
//! Source: Perlin 2002 for the smooth step; value noise is common knowledge. Limits: material further than 10¹² scales from
//! the origin is as strong as there. Patches of material with the same coordinates have the same noise.

use crate::math::{Vec2, hash_unit};
use serde::{Deserialize, Serialize};

/// Variation of strength by place.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    /// From a strong place to the next weak one [m].
    pub scale: f64,
    /// Share by which strength varies, 0 to 1.
    pub amount: f64,
    /// Other seeds have other weak places.
    #[serde(default)]
    pub seed: u64,
}

/// Lattice cells from the origin beyond which nothing changes: whole numbers are exact up to there.
const FAR: f64 = 1e12;

impl Noise {
    /// Factor at a material point [m]: above zero, and with mean one.
    pub fn at(&self, uv: Vec2) -> f64 {
        let p = (uv / self.scale).clamp(Vec2::splat(-FAR), Vec2::splat(FAR));
        let cell = p.floor();
        let smooth = |t: f64| t * t * t * (t * (6.0 * t - 15.0) + 10.0);
        let (s, t) = (smooth(p.x - cell.x), smooth(p.y - cell.y));
        let (i, j) = (cell.x as i64, cell.y as i64);
        let row = |j| self.corner(i, j) * (1.0 - s) + self.corner(i + 1, j) * s;
        1.0 + self.amount * (row(j) * (1.0 - t) + row(j + 1) * t)
    }

    /// The random number of a corner of the lattice, in (−1, 1).
    fn corner(&self, i: i64, j: i64) -> f64 {
        // The row's hash seeds the column's: cells on a diagonal have nothing in common.
        let row = (hash_unit(self.seed, j as u64) * (1u64 << 53) as f64) as u64;
        // Half of the smallest step away from both ends, so that strength never is zero.
        2.0 * hash_unit(row, i as u64) - (1.0 - 0.5 * f64::EPSILON)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_mesh::generate;

    const NOISE: Noise = Noise { scale: 0.1, amount: 0.8, seed: 7 };

    /// Factors at points `apart` [m] from each other along a line.
    fn line(noise: Noise, apart: f64, count: u32) -> Vec<f64> {
        (0..count).map(|i| noise.at(Vec2::new(0.37 + apart * f64::from(i), -3.11))).collect()
    }

    #[test]
    fn the_same_place_is_as_strong_in_any_mesh() {
        let coarse = generate::grid(Vec2::ONE, [5, 5]).unwrap();
        let fine = generate::grid(Vec2::ONE, [9, 9]).unwrap();
        let mut shared = 0;
        for n in coarse.nodes() {
            let uv = coarse.node_uv(n);
            let twin = fine.nodes().find(|&m| fine.node_uv(m) == uv).unwrap();
            assert_eq!(NOISE.at(uv).to_bits(), NOISE.at(fine.node_uv(twin)).to_bits());
            shared += 1;
        }
        assert_eq!(shared, 25);
        assert_ne!(NOISE.at(Vec2::ZERO), Noise { seed: 8, ..NOISE }.at(Vec2::ZERO));
    }

    #[test]
    fn the_mean_is_one_and_the_amount_is_not_passed() {
        let mesh = generate::irregular(Vec2::new(8.0, 8.0), 0.1, 1).unwrap();
        for amount in [0.0, 0.3, 1.0] {
            let noise = Noise { amount, ..NOISE };
            let all: Vec<f64> = mesh.nodes().map(|n| noise.at(mesh.node_uv(n))).collect();
            let mean = all.iter().sum::<f64>() / all.len() as f64;
            // 6400 corners of deviation 1/√3: the mean is off by 0.0072 of the amount, four times that is far.
            assert!((mean - 1.0).abs() < 0.03 * amount + 1e-12, "{mean}");
            let most = all.iter().map(|f| (f - 1.0).abs()).fold(0.0, f64::max);
            assert!(most <= amount && most >= 0.8 * amount, "{most} of {amount}");
            assert!(all.iter().all(|f| *f > 0.0));
        }
    }

    #[test]
    fn it_changes_over_its_scale() {
        // Between neighbours far closer than the scale hardly at all; a scale or more apart nothing is in common.
        let change = |apart: f64| {
            let all = line(NOISE, apart, 2000);
            all.windows(2).map(|p| (p[1] - p[0]) * (p[1] - p[0])).sum::<f64>().sqrt()
        };
        let (near, half, far) = (change(0.001), change(0.05), change(0.2));
        assert!(near < 0.1 * far && half < 0.8 * far && half > 0.2 * far, "{near} {half} {far}");
        // Ten times the scale, ten times as far for the same change.
        let wide = Noise { scale: 1.0, ..NOISE };
        let slope = |noise: Noise, apart| line(noise, apart, 2).windows(2).map(|p| p[1] - p[0]).sum::<f64>();
        assert!(slope(wide, 1e-6).abs() < 20.0 * 1e-6);
    }

    #[test]
    fn far_away_it_still_is_a_number() {
        for uv in [Vec2::splat(1e300), Vec2::splat(-1e300), Vec2::new(0.0, f64::MAX)] {
            assert!(NOISE.at(uv) > 0.0);
        }
        assert!(Noise { scale: 1e-320, ..NOISE }.at(Vec2::ONE) > 0.0);
    }
}
