//! Yarns as round curves.
//!
//! Through the points runs a Catmull–Rom spline: between `p₁` and `p₂` with neighbours `p₀`, `p₃`
//! `c(t) = p₁ + ½t(p₂−p₀) + t²(p₀ − 2½p₁ + 2p₂ − ½p₃) + t³(1½(p₁−p₂) + ½(p₃−p₀))`,
//! the ends mirrored. It is cut into short [`Round`]s, cylinders with ball ends, which rays meet exactly (I. Quilez'
//! quadratic for capsules). A tip fades by coverage: within the fade length a ray passes through with rising chance, and
//! the radius shrinks, so that ends look thinned and not chopped. Out of such a tip stand stray fibres ([`Curve::fuzz`]), as far apart and as long as chance has it.

use crate::sample::{hash2, unit};
use glam::Vec3;

/// Pieces per span of the spline: at 60° bend per span the chord error is below 1/100 of the span.
const PIECES: usize = 4;

/// Stray fibres at a tip.
const STRAYS: u32 = 16;

/// A cylinder with ball ends; a ball if both ends are one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    pub ends: [Vec3; 2],
    /// Way of each end while the shutter is open.
    pub motion: [Vec3; 2],
    pub radius: f32,
    /// Coverage at each end, 1 = solid.
    pub cover: [f32; 2],
    /// Length along its curve at the first end.
    pub along: f32,
    /// Which way its curve goes at each end, or zero: along the axis.
    pub bend: [Vec3; 2],
    pub owner: u32,
}

impl Round {
    /// Ends at shutter time `s` in −½..½.
    pub fn at(&self, s: f32) -> [Vec3; 2] {
        [self.ends[0] + self.motion[0] * s, self.ends[1] + self.motion[1] * s]
    }

    /// Nearest distance in `(t_min, t_max)` along the ray, with the place along the axis 0..1.
    pub fn meet(&self, o: Vec3, d: Vec3, t_min: f32, t_max: f32, s: f32) -> Option<(f32, f32)> {
        let [a, b] = self.at(s);
        // Solved about the foot nearest to the axis' middle: with a far eye the quadratic would lose its digits.
        let shift = ((a + b) * 0.5 - o).dot(d);
        let o = o + d * shift;
        let (ba, oa) = (b - a, o - a);
        let inside = |t: f32| t + shift > t_min && t + shift < t_max;
        let (baba, bard, baoa) = (ba.length_squared(), ba.dot(d), ba.dot(oa));
        let r2 = self.radius * self.radius;
        if baba > 1e-6 * r2 {
            let qa = baba - bard * bard;
            let qb = baba * d.dot(oa) - baoa * bard;
            let qc = baba * oa.length_squared() - baoa * baoa - r2 * baba;
            let h = qb * qb - qa * qc;
            if h < 0.0 {
                return None;
            }
            if qa > 1e-9 * baba {
                let t = (-qb - h.sqrt()) / qa;
                let y = baoa + t * bard;
                if y > 0.0 && y < baba && inside(t) {
                    return Some((t + shift, y / baba));
                }
            }
        }
        let ball = |centre: Vec3| {
            let oc = o - centre;
            let half_b = oc.dot(d);
            let h = half_b * half_b - (oc.length_squared() - r2);
            (h > 0.0).then(|| -half_b - h.sqrt()).filter(|&t| inside(t)).map(|t| t + shift)
        };
        match (ball(a), ball(b)) {
            (Some(x), Some(y)) if y < x => Some((y, 1.0)),
            (Some(x), _) => Some((x, 0.0)),
            (None, Some(y)) => Some((y, 1.0)),
            (None, None) => None,
        }
    }
}

/// A curve to be cut into rounds.
pub(crate) struct Curve<'a> {
    pub points: &'a [Vec3],
    /// Way of each point while the shutter is open, or empty.
    pub motion: &'a [Vec3],
    pub radius: f32,
    pub tip_fade: [f32; 2],
    pub owner: u32,
}

impl Curve<'_> {
    /// Places along the spline, `PIECES` for each span, of points or of their ways.
    fn places(&self, list: &[Vec3]) -> Vec<Vec3> {
        let n = self.points.len();
        let count = (n - 1) * PIECES;
        let place = |i: usize| {
            let span = (i / PIECES).min(n - 2);
            spline(list, span, (i - span * PIECES) as f32 / PIECES as f32)
        };
        if list.is_empty() { vec![Vec3::ZERO; count + 1] } else { (0..=count).map(place).collect() }
    }

    /// Appends its rounds.
    pub fn cut(&self, out: &mut Vec<Round>) {
        if self.points.len() < 2 || self.radius <= 0.0 {
            return;
        }
        let (places, motion) = (self.places(self.points), self.places(self.motion));
        let along = lengths(&places);
        let count = places.len() - 1;
        let total = along[count];
        let cover = |i: usize| {
            let end = |distance: f32, fade: f32| if fade > 0.0 { (distance / fade).min(1.0) } else { 1.0 };
            end(along[i], self.tip_fade[0]).min(end(total - along[i], self.tip_fade[1]))
        };
        let way = |i: usize| (places[(i + 1).min(count)] - places[i.saturating_sub(1)]).normalize_or_zero();
        out.extend((0..count).map(|i| {
            let c = [cover(i), cover(i + 1)];
            Round {
                ends: [places[i], places[i + 1]],
                motion: [motion[i], motion[i + 1]],
                radius: self.radius * (0.45 + 0.55 * (c[0] + c[1]) * 0.5),
                cover: c,
                along: along[i],
                bend: [way(i), way(i + 1)],
                owner: self.owner,
            }
        }));
    }

    /// Appends the rounds of stray fibres at tips that fade. They differ by `seed`.
    pub fn fuzz(&self, seed: u32, out: &mut Vec<Round>) {
        if self.points.len() < 2 || self.radius <= 0.0 {
            return;
        }
        for (end, &fade) in self.tip_fade.iter().enumerate().filter(|(_, fade)| **fade > 0.0) {
            let (mut places, mut motion) = (self.places(self.points), self.places(self.motion));
            if end == 0 {
                places.reverse();
                motion.reverse();
            }
            let along = lengths(&places);
            for k in 0..STRAYS {
                let random = |i: u32| unit(hash2(hash2(seed, 2 * k + end as u32), i));
                // Where it leaves the yarn, before the tip.
                let from = (along[along.len() - 1] - fade * (0.15 + 0.85 * random(0))).max(0.0);
                let i = along.partition_point(|&s| s < from).clamp(1, along.len() - 1);
                let ahead = (places[i] - places[i - 1]).normalize_or_zero();
                let aside = Vec3::new(random(1) - 0.5, random(2) - 0.5, random(3) - 0.5);
                let aside = aside.reject_from(ahead).normalize_or_zero();
                if ahead == Vec3::ZERO {
                    continue;
                }
                let reach = fade * (0.35 + 0.9 * random(4) * random(5));
                let curl = ahead.cross(aside) * (random(6) - 0.5);
                let start = places[i] + aside * (0.6 * self.radius);
                let point = |x: f32| start + (ahead * (0.9 * x) + aside * (0.55 * x * x) + curl * (x * x)) * reach;
                Curve {
                    points: &[point(0.0), point(0.5), point(1.0)],
                    motion: &[motion[i]; 3],
                    radius: self.radius * (0.05 + 0.05 * random(7)),
                    tip_fade: [0.0, 0.5 * reach],
                    owner: self.owner,
                }
                .cut(out);
            }
        }
    }
}

/// Length from the first place to each.
fn lengths(places: &[Vec3]) -> Vec<f32> {
    let mut along = vec![0.0; places.len()];
    for i in 1..places.len() {
        along[i] = along[i - 1] + places[i - 1].distance(places[i]);
    }
    along
}

/// Catmull–Rom between points `i` and `i + 1` of `p` (at least two points).
fn spline(p: &[Vec3], i: usize, t: f32) -> Vec3 {
    let (p1, p2) = (p[i], p[i + 1]);
    let p0 = if i > 0 { p[i - 1] } else { p1 * 2.0 - p2 };
    let p3 = if i + 2 < p.len() { p[i + 2] } else { p2 * 2.0 - p1 };
    p1 + (p2 - p0) * (0.5 * t)
        + (p0 - p1 * 2.5 + p2 * 2.0 - p3 * 0.5) * (t * t)
        + ((p1 - p2) * 1.5 + (p3 - p0) * 0.5) * (t * t * t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::vec3;

    fn round(a: Vec3, b: Vec3) -> Round {
        Round {
            ends: [a, b],
            motion: [Vec3::ZERO; 2],
            radius: 0.5,
            cover: [1.0; 2],
            along: 0.0,
            bend: [Vec3::ZERO; 2],
            owner: 0,
        }
    }

    #[test]
    fn rays_meet_cylinder_caps_and_balls_where_they_should() {
        let r = round(Vec3::ZERO, vec3(4.0, 0.0, 0.0));
        let meet = |o, d| r.meet(o, d, 1e-4, f32::INFINITY, 0.0);
        let (t, s) = meet(vec3(1.0, 3.0, 0.0), -Vec3::Y).unwrap();
        assert!((t - 2.5).abs() < 1e-5 && (s - 0.25).abs() < 1e-5);
        let (t, s) = meet(vec3(-3.0, 0.0, 0.0), Vec3::X).unwrap();
        assert!((t - 2.5).abs() < 1e-5 && s == 0.0);
        assert!(meet(vec3(1.0, 3.0, 0.51), -Vec3::Y).is_none());
        assert!(meet(vec3(1.0, 3.0, 0.0), Vec3::Y).is_none());
        let ball = round(Vec3::ONE, Vec3::ONE);
        let (t, _) = ball.meet(vec3(1.0, 1.0, 900.0), -Vec3::Z, 1e-4, f32::INFINITY, 0.0).unwrap();
        assert!((t - 898.5).abs() < 1e-3);
    }

    #[test]
    fn the_curve_passes_through_its_points_and_fades_at_tips() {
        let points = [Vec3::ZERO, vec3(1.0, 0.5, 0.0), vec3(2.0, 0.0, 0.3), vec3(3.0, 0.2, 0.0)];
        let mut rounds = Vec::new();
        Curve { points: &points, motion: &[], radius: 0.05, tip_fade: [0.0, 0.5], owner: 3 }.cut(&mut rounds);
        assert_eq!(rounds.len(), 3 * PIECES);
        for (i, p) in points.iter().enumerate().skip(1) {
            assert!(rounds[i * PIECES - 1].ends[1].distance(*p) < 1e-6);
        }
        assert!(rounds.windows(2).all(|w| w[0].ends[1] == w[1].ends[0]));
        let last = rounds.last().unwrap();
        assert_eq!((rounds[0].cover[0], last.cover[1]), (1.0, 0.0));
        assert!(last.radius < rounds[0].radius);
        // Too short a curve is nothing, not a panic.
        Curve { points: &points[..1], motion: &[], radius: 0.05, tip_fade: [0.0; 2], owner: 0 }.cut(&mut rounds);
    }

    #[test]
    fn fuzz_stands_at_tips_that_fade_and_nowhere_else() {
        let points = [Vec3::ZERO, Vec3::X, Vec3::X * 2.0];
        let fuzz = |tip_fade, seed| {
            let mut rounds = Vec::new();
            Curve { points: &points, motion: &[], radius: 0.05, tip_fade, owner: 3 }.fuzz(seed, &mut rounds);
            rounds
        };
        assert!(fuzz([0.0; 2], 1).is_empty());
        let last = fuzz([0.0, 0.4], 1);
        assert_eq!(last.len(), STRAYS as usize * 2 * PIECES);
        assert!(last.iter().all(|r| r.ends[0].x > 1.5 && r.ends[1].x < 3.0 && r.radius < 0.01));
        assert!(fuzz([0.4, 0.0], 1).iter().all(|r| r.ends[0].x < 0.5));
        assert!(fuzz([0.0, 0.4], 2)[0].ends != last[0].ends, "chance differs from yarn to yarn");
    }

    #[test]
    fn a_straight_spline_is_straight() {
        let p = [Vec3::ZERO, Vec3::X, Vec3::X * 2.0];
        for i in 0..=10 {
            let q = spline(&p, 1, i as f32 / 10.0);
            assert!((q - Vec3::X * (1.0 + i as f32 / 10.0)).length() < 1e-5);
        }
    }
}
