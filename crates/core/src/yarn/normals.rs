//! Normals of crossings where both yarns are one particle: along them the two are drawn, half a thickness off on either side.
//!
//! The normal follows the yarns, all at once, row by row as vector code: what [`Woven::turn_normal`] does to one. Directions of segments are computed once and serve both of their ends. Rows write to themselves.
//!
//! Where a crossing is bent sharply or sheared nearly shut that isn't enough: yarns could pass through each other as the normal turns. With a, b the arms of warp and weft as drawn and n the normal, two arms touch where
//! n is a sum of b and −a with weights of zero or more: on four arcs of the sphere, which go around the normals that are allowed. So where n·(b × a) of two arms is small, what was drawn when the step began is held against what is
//! drawn now ([`super::pass`]), and if arms have passed the normal is chosen, of directions all around, with which none has, and which keeps the arms furthest apart. If there is none, that is told ([`Woven::take_passings`]).

use super::line::GROUP;
use super::pass::has_passed;
use super::state::{Family, Woven};
use crate::contact::distance;
use crate::lanes::{self, Work};
use crate::math::Vec3;
use crate::parallel;
use smallvec::SmallVec;

/// A row of vectors.
type Row = [Vec<f64>; 3];

fn row(count: usize) -> Row {
    [(); 3].map(|()| vec![0.0; count])
}

/// Directions of segments (unit), zero for those that are cut.
struct Directions<'a> {
    to: [&'a mut [f64]; 3],
    begin: [&'a [f64]; 3],
    end: [&'a [f64]; 3],
    stiffness: &'a [f64],
}

impl Work for Directions<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { to: [tx, ty, tz], begin: [ax, ay, az], end: [bx, by, bz], stiffness } = self;
        let count = stiffness.len();
        let (tx, ty, tz) = (&mut tx[..count], &mut ty[..count], &mut tz[..count]);
        let (ax, ay, az) = (&ax[..count], &ay[..count], &az[..count]);
        let (bx, by, bz) = (&bx[..count], &by[..count], &bz[..count]);
        for i in 0..count {
            let d = [bx[i] - ax[i], by[i] - ay[i], bz[i] - az[i]];
            let per = 1.0 / (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
            let there = (per > 0.0) & (per < f64::INFINITY) & (stiffness[i] > 0.0);
            tx[i] = if there { d[0] * per } else { 0.0 };
            ty[i] = if there { d[1] * per } else { 0.0 };
            tz[i] = if there { d[2] * per } else { 0.0 };
        }
    }
}

/// Normals from the directions of both yarns before and after; zero where they say little about the cloth.
struct Across<'a> {
    normals: &'a mut Row,
    /// Least n·(b × a) of two arms (unit).
    least: &'a mut [f64],
    weft: &'a Row,
    below: &'a Row,
    above: &'a Row,
}

#[inline(always)]
fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - b[1] * a[2], a[2] * b[0] - b[2] * a[0], a[0] * b[1] - b[0] * a[1]]
}

#[inline(always)]
fn square(v: [f64; 3]) -> f64 {
    v[0] * v[0] + v[1] * v[1] + v[2] * v[2]
}

/// The smaller one of `worst` and n·(b × a), `per` being one over |n|; where a yarn ends there is no arm.
#[inline(always)]
fn least_of(worst: f64, b: [f64; 3], a: [f64; 3], n: [f64; 3], per: f64) -> f64 {
    let m = cross(b, a);
    let here = (m[0] * n[0] + m[1] * n[1] + m[2] * n[2]) * per;
    let there = (square(a) > 0.0) & (square(b) > 0.0);
    if there & (here < worst) { here } else { worst }
}

impl Work for Across<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { normals: [nx, ny, nz], least, weft, below, above } = self;
        let count = nx.len();
        let (ny, nz, least) = (&mut ny[..count], &mut nz[..count], &mut least[..count]);
        let before = weft.each_ref().map(|column| &column[..count]);
        let after = weft.each_ref().map(|column| &column[1..][..count]);
        let below = below.each_ref().map(|column| &column[..count]);
        let above = above.each_ref().map(|column| &column[..count]);
        for i in 0..count {
            let (ba, aa) = ([before[0][i], before[1][i], before[2][i]], [after[0][i], after[1][i], after[2][i]]);
            let (bb, ab) = ([below[0][i], below[1][i], below[2][i]], [above[0][i], above[1][i], above[2][i]]);
            let u = [0.0 + ba[0] + aa[0], 0.0 + ba[1] + aa[1], 0.0 + ba[2] + aa[2]];
            let v = [0.0 + bb[0] + ab[0], 0.0 + bb[1] + ab[1], 0.0 + bb[2] + ab[2]];
            let n = cross(u, v);
            let enough = square(n) > Woven::ASLANT * square(u) * square(v);
            let per = 1.0 / square(n).sqrt();
            let worst = if enough { 1.0 } else { 0.0 };
            let worst = least_of(worst, ba, bb, n, per);
            let worst = least_of(worst, ba, ab, n, per);
            let worst = least_of(worst, aa, bb, n, per);
            let worst = least_of(worst, aa, ab, n, per);
            least[i] = worst;
            nx[i] = if enough { n[0] * per } else { 0.0 };
            ny[i] = if enough { n[1] * per } else { 0.0 };
            nz[i] = if enough { n[2] * per } else { 0.0 };
        }
    }
}

/// How often crossings beside those that took another normal are asked again, at most.
const ROUNDS: usize = 6;

/// Doubtful crossings that are work for one thread.
const FEW: usize = 16;

/// Cosine below which n·(b × a) of two arms (unit) is looked at.
const BENT: f64 = 0.5;

/// Directions all around: the centres of the outer cells of 5 × 5 × 5.
fn around() -> impl Iterator<Item = Vec3> {
    let cells = (0..125).map(|k| Vec3::new((k % 5) as f64, (k / 5 % 5) as f64, (k / 25) as f64) - 2.0);
    cells.filter(|cell| cell.abs().max_element() == 2.0).map(|cell| cell.normalize())
}

/// The arms of a crossing that is one particle: where the next points along warp and weft are drawn, when the step began and now.
struct Arms {
    ends: [SmallVec<[[Vec3; 2]; 2]>; 2],
    /// Where warp and weft were drawn at the crossing itself when the step began.
    from: [Vec3; 2],
    /// Where it is.
    at: Vec3,
    /// Half a thickness; negative where the weft is on top.
    half: f64,
}

impl Arms {
    fn of(cloth: &Woven, c: usize, before: &[Vec3]) -> Self {
        let half = |c: usize| 0.5 * cloth.spec.thickness * cloth.side(c);
        let drawn_before = |family: Family, c: usize| {
            let p = cloth.particle(family, c);
            let x = cloth.at.get(p) - cloth.gone.get(p);
            let over = before[c] * if family == Family::Warp { half(c) } else { -half(c) };
            if cloth.kind[c].is_one() { x + over } else { x }
        };
        let ends = Family::BOTH.map(|family| {
            let ((count, stride), along) = (cloth.line(family), cloth.on_yarn(family, c).1);
            let back = (along > 0 && cloth.live(family, c - stride)).then(|| c - stride);
            let forth = (along + 1 < count && cloth.live(family, c)).then(|| c + stride);
            back.into_iter().chain(forth).map(|c| [drawn_before(family, c), cloth.drawn(family, c)]).collect()
        });
        let from = Family::BOTH.map(|family| drawn_before(family, c));
        Self { ends, from, at: cloth.at.get(c), half: half(c) }
    }

    /// How many arms of the warp have passed through arms of the weft if this is the normal.
    fn passed(&self, normal: Vec3) -> usize {
        let to = [self.at + normal * self.half, self.at - normal * self.half];
        let pairs = self.ends[0].iter().flat_map(|a| self.ends[1].iter().map(move |b| (a, b)));
        let corners = |k: usize, ends: &[Vec3; 2], [a, b]: [&[Vec3; 2]; 2]| [ends[0], a[k], ends[1], b[k]];
        pairs.filter(|&(a, b)| has_passed(&corners(0, &self.from, [a, b]), &corners(1, &to, [a, b]))).count()
    }

    /// Square of the least distance of an arm of the warp from one of the weft [m²].
    fn apart(&self, normal: Vec3) -> f64 {
        let to = [self.at + normal * self.half, self.at - normal * self.half];
        let pairs = self.ends[0].iter().flat_map(|a| self.ends[1].iter().map(move |b| (a, b)));
        pairs.map(|(a, b)| distance::edge_edge_squared([to[0], a[1]], [to[1], b[1]])).fold(f64::INFINITY, f64::min)
    }

    /// The normal with which the fewest arms have passed, and how many, if any have with this one; `before` it was another one.
    fn other_normal(&self, normal: Vec3, before: Vec3) -> Option<(Vec3, usize)> {
        let passed = self.passed(normal);
        if passed == 0 {
            return None;
        }
        let rank = |n: Vec3| (self.passed(n), -self.apart(n));
        let between = [0.25, 0.5, 0.75, 1.0].map(|t| normal.lerp(before, t)).into_iter();
        let mut best = ((passed, -self.apart(normal)), normal);
        for n in between.filter_map(Vec3::try_normalize).chain(around()) {
            let here = rank(n);
            if here < best.0 {
                best = (here, n);
            }
        }
        Some((best.1, best.0.0))
    }
}

impl Woven {
    /// Normals of all crossings that are one particle, such that no yarn passes through another one there.
    pub(super) fn turn_normals(&mut self) {
        let mut before = std::mem::take(&mut self.tables.normal_before);
        before.clone_from(&self.normal);
        let mut doubtful = self.follow_yarns();
        // Nearly all of them are fine, which is found out all at once.
        let mut fine = vec![false; doubtful.len()];
        parallel::for_each_chunk(&mut fine, FEW, |first, fine| {
            for (k, fine) in fine.iter_mut().enumerate() {
                let c = doubtful[first + k];
                *fine = Arms::of(self, c, &before).passed(self.normal[c]) == 0;
            }
        });
        let mut passed = fine.iter().map(|fine| !fine);
        doubtful.retain(|_| passed.next().expect("as many as are doubtful"));
        // A crossing that takes another normal moves the ends of its neighbours' arms.
        for _ in 0..ROUNDS {
            let mut changed = Vec::new();
            for &c in &doubtful {
                let arms = Arms::of(self, c, &before);
                if let Some((normal, passed)) = arms.other_normal(self.normal[c], before[c]) {
                    self.normal[c] = normal;
                    changed.push(c);
                    if passed > 0 {
                        self.tell_passing([c as u32, (self.kind.len() + c) as u32], self.at.get(c));
                    }
                }
            }
            doubtful = changed.iter().flat_map(|&c| self.around(c)).filter(|&c| self.kind[c].is_one()).collect();
            doubtful.sort_unstable();
            doubtful.dedup();
        }
        self.tables.normal_before = before;
    }

    /// Normals from yarns alone; crossings whose yarns are so bent that they may have passed with them.
    fn follow_yarns(&mut self) -> Vec<usize> {
        let (warps, wefts, half) = (self.spec.warps, self.spec.wefts, self.kind.len());
        let Self { normal, at, kind, warp, weft, .. } = self;
        let of = |begin: usize| at.0.each_ref().map(|column| &column[begin..begin + warps]);
        let mut bent = vec![Vec::new(); wefts.div_ceil(GROUP)];
        parallel::for_each_domain(normal, GROUP * warps, &mut bent, |first, normals, bent| {
            let (mut below, mut above, mut across) = (row(warps), row(warps), row(warps));
            let mut least = vec![0.0; warps];
            let (mut along, mut apart) = (row(warps + 1), row(warps));
            let climb = |to: &mut Row, begin: usize| {
                let to = to.each_mut().map(Vec::as_mut_slice);
                let stiffness = &warp.stiffness[begin..begin + warps];
                lanes::run(Directions { to, begin: of(begin), end: of(begin + warps), stiffness });
            };
            if first > 0 {
                climb(&mut above, first - warps);
            }
            for (k, normals) in normals.chunks_mut(warps).enumerate() {
                let begin = first + k * warps;
                std::mem::swap(&mut below, &mut above);
                if begin / warps + 1 < wefts {
                    climb(&mut above, begin);
                } else {
                    above.iter_mut().for_each(|column| column.fill(0.0));
                }
                let kinds = &kind[begin..begin + warps];
                let mut low = of(begin);
                if !kinds.iter().all(|kind| kind.is_one()) {
                    for (axis, column) in apart.iter_mut().enumerate() {
                        for (i, x) in column.iter_mut().enumerate() {
                            *x = at.0[axis][begin + i + if kinds[i].is_one() { 0 } else { half }];
                        }
                    }
                    low = apart.each_ref().map(Vec::as_slice);
                }
                let to = along.each_mut().map(|column| &mut column[1..]);
                let (begins, ends) = (low.map(|column| &column[..warps - 1]), low.map(|column| &column[1..]));
                let stiffness = &weft.stiffness[begin..begin + warps - 1];
                lanes::run(Directions { to, begin: begins, end: ends, stiffness });
                let (normals_to, least_to) = (&mut across, &mut least[..]);
                lanes::run(Across { normals: normals_to, least: least_to, weft: &along, below: &below, above: &above });
                for (i, normal) in normals.iter_mut().enumerate().filter(|(i, _)| kinds[*i].is_one()) {
                    let n = Vec3::new(across[0][i], across[1][i], across[2][i]);
                    let turned = n.dot(*normal) < 0.0;
                    if n != Vec3::ZERO {
                        *normal = if turned { -n } else { n };
                    }
                    if turned || least[i] < BENT {
                        bent.push(begin + i);
                    }
                }
            }
        });
        bent.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use crate::math::hash_unit;
    use crate::yarn::{Family, Kind, Spec};

    #[test]
    fn all_at_once_are_those_of_each_one() {
        let mut cloth = Woven::new(Spec::muslin(21, 19), Placement::default()).unwrap();
        cloth.split(&(60..80).chain(200..230).collect::<Vec<_>>(), Kind::Disconnected);
        for p in 0..cloth.at.len() {
            let r = |k| hash_unit(5, 3 * p as u64 + k) - 0.5;
            // Some folded over, some in one place with a neighbour.
            cloth.at.add(p, Vec3::new(r(0), r(1), r(2)) * if p % 7 == 0 { 2e-3 } else { 4e-4 });
        }
        cloth.at.set(100, cloth.at.get(101));
        for (family, c) in [(Family::Weft, 30), (Family::Warp, 31), (Family::Weft, 150), (Family::Warp, 205)] {
            cloth.springs_mut(family).stiffness[c] = 0.0;
        }
        let mut one_by_one = cloth.clone();
        let one = (0..cloth.crossings()).filter(|&c| cloth.kind[c].is_one()).collect::<Vec<_>>();
        let before = cloth.normal.clone();
        one.iter().for_each(|&c| one_by_one.turn_normal(c));
        cloth.follow_yarns();
        assert_eq!(cloth.normal, one_by_one.normal);
        assert!(cloth.normal.iter().zip(&before).filter(|(a, b)| a != b).count() > 250);
    }

    #[test]
    fn yarns_that_turn_at_a_crossing_do_not_pass_through_each_other() {
        let (mut turned, mut changed) = (0, 0);
        for seed in 0..400 {
            let mut cloth = Woven::new(Spec::muslin(5, 5), Placement::default()).unwrap();
            let c = cloth.crossing(2, 2);
            // From a crossing with arms anywhere to one with arms near that, as long as none goes through another one's direction.
            let random = |k: u64| Vec3::from([0, 1, 2].map(|a| hash_unit(seed, 3 * k + a) - 0.5));
            let arms = cloth.around(c);
            for (k, &arm) in arms.iter().enumerate() {
                cloth.at.add(arm, random(k as u64) * 2.4e-3);
            }
            cloth.turn_normals();
            let before = cloth.normal.clone();
            for (k, &arm) in arms.iter().enumerate() {
                let by = random(10 + k as u64) * 1.2e-3;
                cloth.gone.set(arm, by);
                cloth.at.add(arm, by);
            }
            cloth.turn_normals();
            let arms = Arms::of(&cloth, c, &before);
            let told = !cloth.take_passings().is_empty();
            assert!(told || arms.passed(cloth.normal[c]) == 0, "{seed}");
            let follows = cloth.cloth_normal(c).unwrap_or(before[c]);
            changed += usize::from(follows.dot(cloth.normal[c]) < 1.0 - 1e-12);
            turned += usize::from(!told);
        }
        // Nearly always there is such a normal, and not always it is the one that follows the yarns.
        assert!(turned > 390 && changed > 4, "{turned} {changed}");
    }
}
