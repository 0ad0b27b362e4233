//! Bundles of segments that are compared with each other as vector code.
//!
//! Two bundles' segments are candidates unless they stay apart for all of a step, if all goes on as in the last one: along one of the axes, by boxes around where they are and how far they go beside each other, or along one more line, by
//! where they begin and where they end. Of those that are left, the nearest points are found, and whether they come nearer by as much. What is apart by as much on the same side at both times is so in between, since all ends go straight.
//!
//! Numbers are in single precision, counted from a place in the cloth: 10⁻⁷ of its size is far less than a yarn's thickness, and whoever asks adds as much to the distance.

use crate::contact::tree::Swept;
use crate::lanes::{self, Work};
use glam::Vec3A;

/// Segments in a bundle, at most.
pub(super) const MOST: usize = 32;

/// Those that are looked at together: what is near is mostly in one part, and many bundles are small.
const PART: usize = 16;

/// One number for each of them.
type Lane = [f32; MOST];

const ZERO: [Lane; 3] = [[0.0; MOST]; 3];

/// Segments in motion.
#[derive(Clone, Debug)]
pub(super) struct Bundle {
    pub count: usize,
    /// Where their ends are drawn [m]; behind the last one comes the first again, up to the end of its part.
    at: [[Lane; 3]; 2],
    /// How far these go in a step [m].
    way: [[Lane; 3]; 2],
    /// One over the square of their length [1/m²].
    per: Lane,
    /// Particles at their ends.
    particles: [[u32; MOST]; 2],
    /// Around all of them.
    pub around: Swept,
    /// Mean normal of the cloth there (unit).
    pub normal: Vec3A,
}

impl Default for Bundle {
    fn default() -> Self {
        let (at, way, particles) = ([ZERO; 2], [ZERO; 2], [[0; MOST]; 2]);
        Self { count: 0, at, way, per: [0.0; MOST], particles, around: Swept::NONE, normal: Vec3A::ZERO }
    }
}

/// Two segments that may come near each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// Their places in their bundles.
    pub segments: [u8; 2],
    /// How far they come nearer to each other in a step, at most [m].
    pub way: f32,
}

impl Bundle {
    /// Takes these segments, given as where their ends are and how far they go [m], and the particles there.
    pub fn fill(&mut self, segments: impl Iterator<Item = [(Vec3A, Vec3A, u32); 2]>, normal: Vec3A) {
        (self.count, self.normal, self.around) = (0, normal, Swept::NONE);
        let mut first = [(Vec3A::ZERO, Vec3A::ZERO, 0); 2];
        for ends in segments {
            if self.count == 0 {
                first = ends;
            }
            self.put(self.count, ends);
            self.count += 1;
        }
        for k in self.count..self.count.next_multiple_of(PART) {
            self.put(k, first);
        }
        lanes::run(Around { bundle: self });
    }

    fn put(&mut self, k: usize, ends: [(Vec3A, Vec3A, u32); 2]) {
        for (end, (x, u, particle)) in ends.into_iter().enumerate() {
            self.particles[end][k] = particle;
            for axis in 0..3 {
                (self.at[end][axis][k], self.way[end][axis][k]) = (x[axis], u[axis]);
            }
        }
    }

    /// The line along which two bundles stay furthest apart, of their normals and of that between their middles, and how far, at least [m]; or the first of these along which it is more than `enough`.
    pub fn gap(&self, other: &Self, enough: f32) -> (Vec3A, f32) {
        let between = (self.around.middle() - other.around.middle()).normalize_or_zero();
        let mut best = (self.normal, f32::NEG_INFINITY);
        for along in [self.normal, other.normal, between] {
            let (mut a, mut b) = ([0.0; 4], [0.0; 4]);
            lanes::run(Extents { bundles: [self, other], along, to: [&mut a, &mut b] });
            let gap = |k: usize| (b[k] - a[k + 1]).max(a[k] - b[k + 1]);
            // On the same side at the end as when it begins.
            let same = (b[0] > a[1]) == (b[2] > a[3]);
            let apart = gap(0).min(gap(2));
            if same && apart > best.1 {
                best = (along, apart);
            }
            if best.1 > enough {
                break;
            }
        }
        best
    }

    /// Pairs of segments of two bundles, or of one, that may come as near as `reach` [m]; `along` is a line along which many are apart. Those that share a particle belong together, and aren't asked for.
    pub fn candidates(&self, other: &Self, along: Vec3A, reach: f32, found: &mut Vec<Candidate>) {
        found.clear();
        lanes::run(Candidates { bundles: [self, other], along, reach, found });
    }

    /// Where segments are along a line, from and to, and where they are at the end of the step.
    #[inline(always)]
    fn extents(&self, along: [f32; 3]) -> [Lane; 4] {
        let mut to = [[0.0; MOST]; 4];
        for begin in (0..MOST).step_by(PART) {
            if begin >= self.count {
                break;
            }
            let ([ax, ay, az], [bx, by, bz]) = (parts(&self.at[0], begin), parts(&self.at[1], begin));
            let ([ux, uy, uz], [vx, vy, vz]) = (parts(&self.way[0], begin), parts(&self.way[1], begin));
            let mut here = [[0.0; PART]; 4];
            for k in 0..PART {
                let a = ax[k] * along[0] + ay[k] * along[1] + az[k] * along[2];
                let b = bx[k] * along[0] + by[k] * along[1] + bz[k] * along[2];
                let u = ux[k] * along[0] + uy[k] * along[1] + uz[k] * along[2];
                let v = vx[k] * along[0] + vy[k] * along[1] + vz[k] * along[2];
                let (c, d) = (a + u, b + v);
                here[0][k] = smaller(a, b);
                here[1][k] = larger(a, b);
                here[2][k] = smaller(c, d);
                here[3][k] = larger(c, d);
            }
            to.iter_mut().zip(here).for_each(|(to, here)| to[begin..begin + PART].copy_from_slice(&here));
        }
        to
    }
}

/// Bounds of all segments that were put into a bundle, and their lengths.
struct Around<'a> {
    bundle: &'a mut Bundle,
}

impl Work for Around<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { bundle } = self;
        let count = bundle.count;
        if count == 0 {
            return;
        }
        let [low, high, least, most] = bundle.boxes();
        for axis in 0..3 {
            let [low, high, least, most] = extent(&[low[axis], high[axis], least[axis], most[axis]], count);
            let around = &mut bundle.around;
            (around.low[axis], around.high[axis], around.least[axis], around.most[axis]) = (low, high, least, most);
        }
        for begin in (0..MOST).step_by(PART) {
            if begin >= count {
                break;
            }
            let ([ax, ay, az], [bx, by, bz]) = (parts(&bundle.at[0], begin), parts(&bundle.at[1], begin));
            let mut here = [0.0; PART];
            for k in 0..PART {
                here[k] = 1.0 / larger(square([ax[k] - bx[k], ay[k] - by[k], az[k] - bz[k]]), SHORT);
            }
            bundle.per[begin..begin + PART].copy_from_slice(&here);
        }
    }
}

impl Bundle {
    /// Boxes around segments and around their ways: low, high, least, most. They are computed sooner than read from where many bundles are kept.
    #[inline(always)]
    fn boxes(&self) -> [[Lane; 3]; 4] {
        let [mut low, mut high, mut least, mut most] = [ZERO; 4];
        for axis in 0..3 {
            [low[axis], high[axis]] = bounds([&self.at[0][axis], &self.at[1][axis]], self.count);
            [least[axis], most[axis]] = bounds([&self.way[0][axis], &self.way[1][axis]], self.count);
        }
        [low, high, least, most]
    }
}

/// The smaller and the larger one of two numbers of each segment.
#[inline(always)]
fn bounds([a, b]: [&Lane; 2], count: usize) -> [Lane; 2] {
    let (mut low, mut high) = ([0.0; MOST], [0.0; MOST]);
    for begin in (0..MOST).step_by(PART) {
        if begin >= count {
            break;
        }
        let (a, b) = (part(a, begin), part(b, begin));
        let (mut l, mut h) = ([0.0; PART], [0.0; PART]);
        for k in 0..PART {
            l[k] = smaller(a[k], b[k]);
            h[k] = larger(a[k], b[k]);
        }
        low[begin..begin + PART].copy_from_slice(&l);
        high[begin..begin + PART].copy_from_slice(&h);
    }
    [low, high]
}

/// Where bundles are along a line, and where they are at the end of the step.
struct Extents<'a> {
    bundles: [&'a Bundle; 2],
    along: Vec3A,
    to: [&'a mut [f32; 4]; 2],
}

impl Work for Extents<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { bundles: [a, b], along, to: [c, d] } = self;
        *c = extent(&a.extents(along.to_array()), a.count);
        *d = extent(&b.extents(along.to_array()), b.count);
    }
}

/// Of so many segments.
#[inline(always)]
fn extent(all: &[Lane; 4], count: usize) -> [f32; 4] {
    let mut of = [0, 1, 2, 3].map(|n| *part(&all[n], 0));
    let [low, high, low_then, high_then] = &mut of;
    for begin in (PART..count).step_by(PART) {
        let [l, h, l_then, h_then] = [0, 1, 2, 3].map(|n| part(&all[n], begin));
        for k in 0..PART {
            low[k] = smaller(low[k], l[k]);
            high[k] = larger(high[k], h[k]);
            low_then[k] = smaller(low_then[k], l_then[k]);
            high_then[k] = larger(high_then[k], h_then[k]);
        }
    }
    // Halves on each other, so that it stays vector code.
    let mut half = PART / 2;
    while half > 0 {
        for k in 0..half {
            low[k] = smaller(low[k], low[k + half]);
            high[k] = larger(high[k], high[k + half]);
            low_then[k] = smaller(low_then[k], low_then[k + half]);
            high_then[k] = larger(high_then[k], high_then[k + half]);
        }
        half /= 2;
    }
    of.map(|of| of[0])
}

/// Pairs that may come near each other.
struct Candidates<'a> {
    bundles: [&'a Bundle; 2],
    along: Vec3A,
    reach: f32,
    found: &'a mut Vec<Candidate>,
}

impl Work for Candidates<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { bundles: [a, b], along, reach, found } = self;
        let along = along.to_array();
        let itself = std::ptr::eq(a, b);
        // Most are far from all of the others: first by boxes.
        let own = a.boxes();
        let mut far = far_from(&own, a.count, (!itself).then_some(&b.around), reach);
        if mask(part(&far, 0)) & mask(part(&far, PART)) == ALL {
            return;
        }
        let its = b.boxes();
        let far_there = far_from(&its, b.count, (!itself).then_some(&a.around), reach);
        let all_far = [0, PART].map(|begin| mask(part(&far_there, begin)) == ALL);
        let (one, other) = (a.extents(along), b.extents(along));
        if !itself {
            let all = extent(&other, b.count);
            for begin in (0..a.count).step_by(PART) {
                let [one_low, one_high, one_low_then, one_high_then] = [0, 1, 2, 3].map(|n| part(&one[n], begin));
                for k in 0..PART {
                    let beyond = (all[0] - reach > one_high[k]) & (all[2] - reach > one_high_then[k]);
                    let before = (all[1] + reach < one_low[k]) & (all[3] + reach < one_low_then[k]);
                    far[begin + k] |= u32::from(beyond | before);
                }
            }
        }
        for k in (0..a.count).filter(|&k| far[k] == 0) {
            // Along the line they are apart, one way or the other, all the time.
            let (low, high, low_then, high_then) =
                (one[0][k] - reach, one[1][k] + reach, one[2][k] - reach, one[3][k] + reach);
            let of = |lanes: &[Lane; 3]| [lanes[0][k], lanes[1][k], lanes[2][k]];
            let (own_low, own_high, least, most) = (of(&own[0]), of(&own[1]), of(&own[2]), of(&own[3]));
            let (p, q) = (a.particles[0][k], a.particles[1][k]);
            for begin in (0..MOST).step_by(PART) {
                // Each two of one bundle once.
                if all_far[begin / PART] || itself && begin + PART <= k + 1 {
                    continue;
                }
                let first = if itself { k as u32 + 1 } else { 0 };
                let (other_low, other_high) = (part(&other[0], begin), part(&other[1], begin));
                let (other_low_then, other_high_then) = (part(&other[2], begin), part(&other[3], begin));
                let (its_low, its_high) = (parts(&its[0], begin), parts(&its[1], begin));
                let (its_least, its_most) = (parts(&its[2], begin), parts(&its[3], begin));
                let (its_p, its_q) = (part(&b.particles[0], begin), part(&b.particles[1], begin));
                let its_far = part(&far_there, begin);
                let mut near = [0_u32; PART];
                for l in 0..PART {
                    let beyond = (other_low[l] > high) & (other_low_then[l] > high_then);
                    let before = (other_high[l] < low) & (other_high_then[l] < low_then);
                    let meet = |axis: usize| {
                        let forth = larger(most[axis] - its_least[axis][l], 0.0) + reach;
                        let back = larger(its_most[axis][l] - least[axis], 0.0) + reach;
                        (own_high[axis] + forth >= its_low[axis][l]) & (its_high[axis][l] + back >= own_low[axis])
                    };
                    let joined = (its_p[l] == p) | (its_p[l] == q) | (its_q[l] == p) | (its_q[l] == q);
                    let asked = (its_far[l] == 0) & ((begin + l) as u32 >= first) & !joined;
                    near[l] = u32::from(!(beyond | before) & meet(0) & meet(1) & meet(2) & asked);
                }
                if near.iter().fold(0, |any, near| any | near) == 0 {
                    continue;
                }
                let mut ways = [0.0; PART];
                a.approach(k, b, begin, reach, &mut near, &mut ways);
                let mut met = mask(&near);
                while met != 0 {
                    let l = met.trailing_zeros() as usize;
                    found.push(Candidate { segments: [k as u8, (begin + l) as u8], way: ways[l] });
                    met &= met - 1;
                }
            }
        }
    }
}

/// All of a part.
const ALL: u32 = (1 << PART) - 1;

/// One bit for each of a part: those that aren't zero but one.
#[inline(always)]
fn mask(part: &[u32; PART]) -> u32 {
    let mut mask = 0;
    for l in 0..PART {
        mask |= part[l] << l;
    }
    mask
}

/// One for each of some boxes that is far from all that is within some bounds, and behind the last one.
#[inline(always)]
fn far_from(boxes: &[[Lane; 3]; 4], count: usize, around: Option<&Swept>, reach: f32) -> [u32; MOST] {
    let mut far = [1; MOST];
    far[..count].fill(0);
    let Some(around) = around else { return far };
    let (low, high) = (around.low.to_array(), around.high.to_array());
    let (least, most) = (around.least.to_array(), around.most.to_array());
    for begin in (0..MOST).step_by(PART) {
        if begin >= count {
            break;
        }
        let (own_low, own_high) = (parts(&boxes[0], begin), parts(&boxes[1], begin));
        let (own_least, own_most) = (parts(&boxes[2], begin), parts(&boxes[3], begin));
        let mut here = *part(&far, begin);
        for axis in 0..3 {
            for k in 0..PART {
                let (forth, back) = (own_most[axis][k] - least[axis], most[axis] - own_least[axis][k]);
                let (forth, back) = (larger(forth, 0.0), larger(back, 0.0));
                let meet = (own_high[axis][k] + (forth + reach) >= low[axis])
                    & (high[axis] + (back + reach) >= own_low[axis][k]);
                here[k] |= u32::from(!meet);
            }
        }
        far[begin..begin + PART].copy_from_slice(&here);
    }
    far
}

impl Bundle {
    /// Which segments of another bundle, from `begin` on, come as near to one of this one as `reach` [m], of those that may; how far they come nearer to each other, at most [m].
    #[inline(always)]
    fn approach(
        &self,
        k: usize,
        other: &Self,
        begin: usize,
        reach: f32,
        near: &mut [u32; PART],
        ways: &mut [f32; PART],
    ) {
        let of = |lanes: &[Lane; 3]| [lanes[0][k], lanes[1][k], lanes[2][k]];
        let (p, q, u, v) = (of(&self.at[0]), of(&self.at[1]), of(&self.way[0]), of(&self.way[1]));
        let d1 = minus(q, p);
        let (a, own_per) = (dot(d1, d1), self.per[k]);
        let per = part(&other.per, begin);
        let ([cx, cy, cz], [dx, dy, dz]) = (parts(&other.at[0], begin), parts(&other.at[1], begin));
        let ([rx, ry, rz], [sx, sy, sz]) = (parts(&other.way[0], begin), parts(&other.way[1], begin));
        for l in 0..PART {
            let (c, d) = ([cx[l], cy[l], cz[l]], [dx[l], dy[l], dz[l]]);
            let (r, s) = ([rx[l], ry[l], rz[l]], [sx[l], sy[l], sz[l]]);
            // They can't meet if no two ends come nearer to each other by as much as is between their nearest points.
            let go = [square(minus(u, r)), square(minus(u, s)), square(minus(v, r)), square(minus(v, s))];
            let most = larger(larger(go[0], go[1]), larger(go[2], go[3])).sqrt();
            let (d2, from) = (minus(d, c), minus(p, c));
            let (e, b, f, g) = (dot(d2, d2), dot(d1, d2), dot(d1, from), dot(d2, from));
            let area = a * e - b * b;
            let first = if area > 1e-4 * a * e { clamp((b * g - f * e) / area) } else { 0.5 };
            let t = clamp((b * first + g) * per[l]);
            let first = clamp((b * t - f) * own_per);
            let between = [
                from[0] + d1[0] * first - d2[0] * t,
                from[1] + d1[1] * first - d2[1] * t,
                from[2] + d1[2] * first - d2[2] * t,
            ];
            // Nor if they stay so far apart along the line between them.
            let (own, its) = ([dot(p, between), dot(q, between)], [dot(c, between), dot(d, between)]);
            let (go, goes) = ([dot(u, between), dot(v, between)], [dot(r, between), dot(s, between)]);
            let begins = smaller(own[0], own[1]) - larger(its[0], its[1]);
            let ends = smaller(own[0] + go[0], own[1] + go[1]) - larger(its[0] + goes[0], its[1] + goes[1]);
            // In squares: a root takes as long as all the rest.
            let (length, least, beyond) = (square(between), smaller(begins, ends), reach + most);
            let stays = (least > 0.0) & (least * least > reach * reach * length);
            let far = (length > beyond * beyond) | ((length > reach * reach) & stays);
            near[l] &= u32::from(!far);
            ways[l] = most;
        }
    }
}

/// Numbers from `begin` on.
#[inline(always)]
fn part<T>(lane: &[T; MOST], begin: usize) -> &[T; PART] {
    lane[begin..].first_chunk().expect("lanes are made of parts")
}

#[inline(always)]
fn parts(lanes: &[Lane; 3], begin: usize) -> [&[f32; PART]; 3] {
    [part(&lanes[0], begin), part(&lanes[1], begin), part(&lanes[2], begin)]
}

/// Square of a length that is none [m²].
const SHORT: f32 = 1e-24;

#[inline(always)]
fn minus(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

#[inline(always)]
fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[inline(always)]
fn square(a: [f32; 3]) -> f32 {
    dot(a, a)
}

#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

#[inline(always)]
fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

#[inline(always)]
fn clamp(a: f32) -> f32 {
    smaller(larger(a, 0.0), 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::distance;
    use crate::math::{Vec3, hash_unit};

    /// Where the ends of a segment are and how far they go [m].
    fn ends(bundle: &Bundle, k: usize) -> ([Vec3; 2], [Vec3; 2]) {
        let of = |lanes: &[Lane; 3]| Vec3::new(lanes[0][k].into(), lanes[1][k].into(), lanes[2][k].into());
        ([of(&bundle.at[0]), of(&bundle.at[1])], [of(&bundle.way[0]), of(&bundle.way[1])])
    }

    fn bundle(seed: u64, count: usize, shift: Vec3A) -> Bundle {
        let vector = |k: usize| Vec3A::from_array([0, 1, 2].map(|a| hash_unit(seed, (3 * k + a) as u64) as f32 - 0.5));
        let end = |k: usize| (vector(2 * k) * 4.0 + shift, vector(2 * k + 1) * 0.6, (1000 * seed) as u32 + k as u32);
        let mut of = Bundle::default();
        let other = |k: usize| (end(2 * k).0 + vector(1000 + k), end(2 * k + 1).1, end(2 * k + 1).2);
        of.fill((0..count).map(|k| [end(2 * k), other(k)]), Vec3A::Z);
        of
    }

    #[test]
    fn candidates_are_all_that_come_near_and_few_more() {
        let (mut near, mut asked) = (0, 0);
        for seed in 0..60 {
            let (a, b) = (bundle(seed, 31, Vec3A::ZERO), bundle(seed + 100, 19, Vec3A::new(0.8, 0.4, 1.0)));
            let along = a.gap(&b, f32::INFINITY).0;
            for (a, b) in [(&a, &b), (&a, &a)] {
                let mut found = Vec::new();
                a.candidates(b, along, 0.3, &mut found);
                for k in 0..a.count {
                    for l in if std::ptr::eq(a, b) { k + 1 } else { 0 }..b.count {
                        let ((x, u), (y, v)) = (ends(a, k), ends(b, l));
                        let apart = |t: f64| {
                            let of = |x: [Vec3; 2], u: [Vec3; 2]| [x[0] + u[0] * t, x[1] + u[1] * t];
                            distance::edge_edge_squared(of(x, u), of(y, v)).sqrt()
                        };
                        let meets = (0..=10).any(|t| apart(f64::from(t) / 10.0) < 0.299);
                        let is_found = found.iter().any(|found| found.segments == [k as u8, l as u8]);
                        assert!(is_found || !meets, "{seed}: {k} {l}");
                        near += usize::from(meets);
                    }
                }
                asked += found.len();
                assert!(found.windows(2).all(|two| two[0].segments < two[1].segments));
            }
        }
        assert!(near > 400 && asked < 2 * near, "{near} {asked}");
    }

    #[test]
    fn bundles_that_are_apart_stay_apart() {
        for seed in 0..200 {
            let shift = Vec3A::new(0.0, 2.0, 5.0 - 0.01 * seed as f32);
            let (a, b) = (bundle(seed, 9, Vec3A::ZERO), bundle(seed + 500, 32, shift));
            let apart = a.gap(&b, f32::INFINITY).1;
            let mut found = Vec::new();
            a.candidates(&b, Vec3A::X, apart, &mut found);
            for [k, l] in found.iter().map(|found| found.segments.map(usize::from)) {
                let ((x, u), (y, v)) = (ends(&a, k), ends(&b, l));
                for t in [0.0, 0.3, 0.7, 1.0] {
                    let of = |x: [Vec3; 2], u: [Vec3; 2]| [x[0] + u[0] * t, x[1] + u[1] * t];
                    let least = distance::edge_edge_squared(of(x, u), of(y, v)).sqrt();
                    assert!(least > f64::from(apart) - 1e-5, "{seed}: {least} instead of {apart}");
                }
            }
        }
    }
}
