//! Evens out the grain of shadow and sky light on things of one colour.
//!
//! A pixel takes the mean of 7 × 7 pixels around it, each weighted by how well it agrees: `w = 1 / (1 + (Δ/2σ)⁴)` with Δ the
//! difference in displayed brightness and σ the larger error of the two means, measured over 3 × 3 pixels. Shadow edges,
//! where Δ is many σ, stay. A second round takes every third pixel, with the errors that the first has left, and so reaches
//! the coarser grain (the *à trous* scheme of H. Dammertz et al., 2010). Pixels that show cloth texture, fibres or an
//! outline take no part.

use glam::Vec3;
use rayon::prelude::*;

const REACH: usize = 3;
/// Stands for texture, fibres and outlines.
pub(crate) const ROUGH: u32 = 0;
/// Error left after the first round: 49 neighbours of unequal weight count as about 16.
const LEFT: f32 = 0.25;

/// What is known of a pixel's samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    /// Displayed brightness.
    pub level: f32,
    /// Error of its mean.
    pub error: f32,
    /// The one thing of even colour that all samples met, or [`ROUGH`].
    pub thing: u32,
}

/// The light of all pixels, evened; `levels` gives the displayed brightness of light.
pub(crate) fn smoothed(
    light: Vec<Vec3>,
    states: &[State],
    width: usize,
    level: impl Fn(Vec3) -> f32 + Sync,
) -> Vec<Vec3> {
    let height = light.len() / width;
    // One pixel's error from a few samples is itself uncertain.
    let errors: Vec<f32> = (0..light.len())
        .into_par_iter()
        .map(|i| {
            let (x, y) = (i % width, i / width);
            let (left, right) = (x.saturating_sub(1), (x + 2).min(width));
            let rows = y.saturating_sub(1)..(y + 2).min(height);
            let around = rows.flat_map(|j| &states[j * width + left..j * width + right]);
            let (sum, count) = around.fold((0.0, 0.0), |(s, n), p| (s + p.error, n + 1.0));
            sum / count
        })
        .collect();
    let levels: Vec<f32> = states.iter().map(|s| s.level).collect();
    let once = round(&light, &levels, &errors, states, width, 1);
    let levels: Vec<f32> = once.par_iter().map(|&l| level(l)).collect();
    let errors: Vec<f32> = errors.iter().map(|e| e * LEFT).collect();
    round(&once, &levels, &errors, states, width, 3)
}

fn round(light: &[Vec3], levels: &[f32], errors: &[f32], states: &[State], width: usize, stride: usize) -> Vec<Vec3> {
    let height = light.len() / width;
    let along = |centre: usize, end: usize| {
        let back = (centre / stride).min(REACH);
        (centre - back * stride..(centre + REACH * stride + 1).min(end)).step_by(stride)
    };
    (0..light.len())
        .into_par_iter()
        .map(|i| {
            if states[i].thing == ROUGH || errors[i] == 0.0 {
                return light[i];
            }
            let (mut sum, mut total) = (Vec3::ZERO, 0.0);
            for y in along(i / width, height) {
                for x in along(i % width, width) {
                    let k = y * width + x;
                    if states[k].thing == states[i].thing {
                        let r = (levels[k] - levels[i]) / (2.0 * errors[i].max(errors[k]));
                        let w = 1.0 / (1.0 + r * r * r * r);
                        sum += light[k] * w;
                        total += w;
                    }
                }
            }
            sum / total
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{hash2, unit};

    #[test]
    fn grain_goes_and_edges_stay() {
        let (width, height) = (40, 20);
        // Two even halves with grain of ±0.02 around 0.3 and 0.7.
        let level = |i: usize| {
            let base = if i % width < width / 2 { 0.3 } else { 0.7 };
            base + 0.04 * (unit(hash2(i as u32, 5)) - 0.5)
        };
        let light: Vec<Vec3> = (0..width * height).map(|i| Vec3::splat(level(i))).collect();
        let states: Vec<State> = light.iter().map(|l| State { level: l.x, error: 0.0115, thing: 1 }).collect();
        let out = smoothed(light.clone(), &states, width, |l| l.x);
        let deviation = |list: &[Vec3]| {
            let of = |i: usize| list[i].x - if i % width < width / 2 { 0.3 } else { 0.7 };
            ((0..list.len()).map(|i| of(i) * of(i)).sum::<f32>() / list.len() as f32).sqrt()
        };
        assert!(deviation(&out) < 0.25 * deviation(&light), "{} {}", deviation(&out), deviation(&light));
        // Two things of the same brightness don't mix.
        let red: Vec<Vec3> = (0..40).map(|i| if i < 20 { Vec3::X } else { Vec3::Z }).collect();
        let state = |i: u32| State { level: 0.5, error: 0.1, thing: 1 + i / 20 };
        let two: Vec<State> = (0..40).map(state).collect();
        assert_eq!(smoothed(red.clone(), &two, 40, |_| 0.5), red);
        // Pixels not of even colour are left as they are.
        let rough: Vec<State> = states.iter().map(|s| State { thing: ROUGH, ..*s }).collect();
        assert_eq!(smoothed(light.clone(), &rough, width, |l| l.x), light);
    }
}
