//! Normals of crossings where both yarns are one particle: along them the two are drawn, half a thickness off on either side.
//!
//! The normal follows the yarns, all at once, row by row as vector code: what [`Woven::turn_normal`] does to one. Directions of segments are computed once and serve both of their ends. Rows write to themselves.
//!
//! Where a crossing is bent sharply or sheared nearly shut that isn't enough: yarns could pass through each other as the normal turns. With a, b the arms of warp and weft as drawn and n the normal, two arms touch where
//! n is a sum of b and −a with weights of zero or more: on four arcs of the sphere, which go around the normals that are allowed. So where n·(b × a) of two arms is small, or an arm is, what was drawn when the step began is held against what is
//! drawn now ([`super::pass`]), without what all arms have turned together, and if arms have passed the normal is chosen, of directions all around, with which none has, and which keeps the arms furthest apart. A normal moves the yarns that are drawn along it, so pairs
//! that have passed by that count likewise. If there is none, the crossing becomes a `knot`.
//!
//! What turns fast needs more. A normal is told from its opposite by the one before, and where arms have turned by much by that one turned as they have: else a crossing at the edge of the cloth that turns by more than a right angle in a step would be
//! inside out, its yarns having slipped around the end of one of them. And what was bent, or has a normal that doesn't follow its yarns, is asked in the step after too (`bent`), and so is what turns by much: two normals that follow their yarns tell nothing of what was between them.

use super::line::GROUP;
use super::pass::has_passed;
use super::state::{Family, Woven};
use crate::contact::distance;
use crate::lanes::{self, Work};
use crate::math::{Mat3, Quat, Vec3};
use crate::parallel;
use smallvec::SmallVec;

/// A row of vectors.
type Row = [Vec<f64>; 3];

fn row<const COLUMNS: usize>(count: usize) -> [Vec<f64>; COLUMNS] {
    [(); COLUMNS].map(|()| vec![0.0; count])
}

/// A row of segments: their directions (unit), and one over their lengths [1/m]; zero for those that are cut.
type Segments = [Vec<f64>; 4];

/// Directions of segments, and one over their lengths.
struct Directions<'a> {
    to: [&'a mut [f64]; 4],
    begin: [&'a [f64]; 3],
    end: [&'a [f64]; 3],
    stiffness: &'a [f64],
}

impl Work for Directions<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { to: [tx, ty, tz, tl], begin: [ax, ay, az], end: [bx, by, bz], stiffness } = self;
        let count = stiffness.len();
        let (tx, ty, tz, tl) = (&mut tx[..count], &mut ty[..count], &mut tz[..count], &mut tl[..count]);
        let (ax, ay, az) = (&ax[..count], &ay[..count], &az[..count]);
        let (bx, by, bz) = (&bx[..count], &by[..count], &bz[..count]);
        for i in 0..count {
            let d = [bx[i] - ax[i], by[i] - ay[i], bz[i] - az[i]];
            let per = 1.0 / (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
            let there = (per > 0.0) & (per < f64::INFINITY) & (stiffness[i] > 0.0);
            tx[i] = if there { d[0] * per } else { 0.0 };
            ty[i] = if there { d[1] * per } else { 0.0 };
            tz[i] = if there { d[2] * per } else { 0.0 };
            tl[i] = if there { per } else { 0.0 };
        }
    }
}

/// Normals from the directions of both yarns before and after; zero where they say little about the cloth.
struct Across<'a> {
    normals: &'a mut Row,
    /// Least n·(b × a) of two arms (unit); zero if an arm is short.
    least: &'a mut [f64],
    weft: &'a Segments,
    below: &'a Segments,
    above: &'a Segments,
    /// One over the length of arms that are [m].
    short: f64,
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
        let Self { normals: [nx, ny, nz], least, weft, below, above, short } = self;
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
            let is_short =
                (before[3][i] > short) | (after[3][i] > short) | (below[3][i] > short) | (above[3][i] > short);
            least[i] = if is_short & (worst > 0.0) { 0.0 } else { worst };
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

/// Length of an arm [T] up to which it is looked at however it is bent: its ends are drawn half a thickness off, so that its direction isn't that of the yarn between its particles.
const SHORT: f64 = 3.0;

/// Share of T within which yarns touch: that a normal is as good as one with which they have passed, it just isn't seen.
const TOUCHING: f64 = 1e-3;

/// Cosine by which an arm turns in a step so little that its way is as good as straight, and a normal so little that it is no reason to ask.
const LITTLE: f64 = 0.8;

/// Directions all around: the centres of the outer cells of 5 × 5 × 5.
fn around() -> impl Iterator<Item = Vec3> {
    let cells = (0..125).map(|k| Vec3::new((k % 5) as f64, (k / 5 % 5) as f64, (k / 25) as f64) - 2.0);
    cells.filter(|cell| cell.abs().max_element() == 2.0).map(|cell| cell.normalize())
}

/// The arms of a crossing that is one particle: where the next points along warp and weft are drawn, when the step began and now.
pub(super) struct Arms {
    ends: [SmallVec<[[Vec3; 2]; 2]>; 2],
    /// Where warp and weft were drawn at the crossing itself when the step began.
    from: [Vec3; 2],
    /// Where it is.
    at: Vec3,
    /// Half a thickness; negative where the weft is on top.
    half: f64,
    /// The normal when the step began.
    normal: Vec3,
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
        Self { ends, from, at: cloth.at.get(c), half: half(c), normal: before[c] }
    }

    /// How many arms of the warp have passed through arms of the weft if this is the normal.
    pub fn passed(&self, normal: Vec3) -> usize {
        let to = [self.at + normal * self.half, self.at - normal * self.half];
        let pairs = self.ends[0].iter().flat_map(|a| self.ends[1].iter().map(move |b| (a, b)));
        let corners = |k: usize, ends: &[Vec3; 2], [a, b]: [&[Vec3; 2]; 2]| [ends[0], a[k], ends[1], b[k]];
        pairs.filter(|&(a, b)| has_passed(&corners(0, &self.from, [a, b]), &corners(1, &to, [a, b]))).count()
    }

    /// The same; one more if some of them touch.
    pub fn wrong(&self, normal: Vec3) -> usize {
        let touching = 2.0 * TOUCHING * self.half;
        self.passed(normal) + usize::from(self.apart(normal) < touching * touching)
    }

    /// Square of the least distance of an arm of the warp from one of the weft [m²].
    fn apart(&self, normal: Vec3) -> f64 {
        let to = [self.at + normal * self.half, self.at - normal * self.half];
        let pairs = self.ends[0].iter().flat_map(|a| self.ends[1].iter().map(move |b| (a, b)));
        pairs.map(|(a, b)| distance::edge_edge_squared([to[0], a[1]], [to[1], b[1]])).fold(f64::INFINITY, f64::min)
    }

    /// The arms of a crossing, by straight ways if they have turned little and haven't passed by these, else turned.
    pub fn followed(cloth: &Woven, c: usize, before: &[Vec3]) -> Self {
        let arms = Self::of(cloth, c, before);
        let straight = arms.turn_little() && arms.passed(cloth.normal[c]) == 0;
        if straight { arms } else { arms.turned() }
    }

    /// True if the ways of all of them are as good as straight.
    fn turn_little(&self) -> bool {
        let middle = (self.from[0] + self.from[1]) * 0.5;
        self.ends.iter().flatten().all(|[from, to]| {
            let (from, to) = (*from - middle, *to - self.at);
            from.dot(to) > LITTLE * (from.length_squared() * to.length_squared()).sqrt()
        })
    }

    /// The same, with all that was when the step began turned as the arms have turned since. Straight ways of what turns fast go through each other; nothing does that turns together.
    fn turned(mut self) -> Self {
        let middle = (self.from[0] + self.from[1]) * 0.5;
        let at = self.at;
        let arms = self.ends.iter().flatten().map(|&[from, to]| [from - middle, to - at].map(Vec3::normalize_or_zero));
        let turn = fitted(arms);
        let go = |x: Vec3| at + turn * (x - middle);
        self.ends.iter_mut().flatten().for_each(|[from, _]| *from = go(*from));
        self.from = self.from.map(go);
        self.normal = turn * self.normal;
        self
    }

    /// Normals that are likely within the four arcs: midways between their ends, which are the directions of the arms.
    fn likely(&self) -> impl Iterator<Item = Vec3> {
        let to = |family: usize| {
            self.ends[family].iter().map(|end| (end[1] - self.at).normalize_or_zero()).sum::<Vec3>().normalize_or_zero()
        };
        let (a, b) = (to(0), to(1));
        [b, -b, a, -a, b - a, a - b].into_iter()
    }

    /// The normal with which the fewest have passed, and how many, if any have with this one. `pairs` counts others that have passed with a normal; `thorough` looks all around.
    fn other_normal(&self, normal: Vec3, pairs: impl Fn(Vec3) -> usize, thorough: bool) -> Option<(Vec3, usize)> {
        let passed = |n: Vec3| self.wrong(n) + pairs(n);
        if passed(normal) == 0 {
            return None;
        }
        let rank = |n: Vec3| (passed(n), -self.apart(n));
        let between = [0.25, 0.5, 0.75, 1.0].map(|t| normal.lerp(self.normal, t)).into_iter();
        let mut best = (rank(normal), normal);
        let ask = |best: &mut ((usize, f64), Vec3), n: Vec3| {
            let here = rank(n);
            if here < best.0 {
                *best = (here, n);
            }
        };
        between.chain(self.likely()).filter_map(Vec3::try_normalize).for_each(|n| ask(&mut best, n));
        if thorough && best.0.0 > 0 {
            around().for_each(|n| ask(&mut best, n));
            // If none will do, nearer and nearer around the best.
            for step in [0.25, 0.12, 0.06, 0.03] {
                let (middle, passed) = (best.1, best.0.0);
                if passed > 0 {
                    around().filter_map(|by| (middle + by * step).try_normalize()).for_each(|n| ask(&mut best, n));
                }
            }
        }
        Some((best.1, best.0.0))
    }
}

/// The turn that brings the first of all two vectors nearest to the second ones: the eigenvector of the largest eigenvalue of Horn's matrix (1987, "Closed-form solution of absolute orientation using unit quaternions"), by squaring it again and again.
pub(super) fn fitted(pairs: impl Iterator<Item = [Vec3; 2]>) -> Quat {
    let (mut m, mut size) = ([[0.0; 4]; 4], 0.0);
    // What they don't tell, since all are along one line, stays as it is.
    let still = [Vec3::X, Vec3::Y, Vec3::Z].map(|axis| [axis * 5e-3; 2]);
    for [a, b] in pairs.chain(still) {
        let (dot, cross) = (a.dot(b), a.cross(b));
        let sum = Mat3::from_cols(a * b.x, a * b.y, a * b.z);
        let sum = sum + sum.transpose();
        m[3][3] += dot;
        for i in 0..3 {
            m[i][3] += cross[i];
            m[3][i] += cross[i];
            for k in 0..3 {
                m[i][k] += sum.col(k)[i] - if i == k { dot } else { 0.0 };
            }
        }
        size += a.length() * b.length();
    }
    // No eigenvalue is below minus the size.
    (0..4).for_each(|i| m[i][i] += size);
    for _ in 0..16 {
        let per = 1.0 / (m[0][0] + m[1][1] + m[2][2] + m[3][3]);
        let n = m.map(|row| row.map(|x| x * per));
        m = std::array::from_fn(|i| std::array::from_fn(|k| (0..4).map(|j| n[i][j] * n[j][k]).sum()));
    }
    let longest = (0..4).max_by(|&i, &k| m[i][i].total_cmp(&m[k][k])).unwrap_or(3);
    let [x, y, z, w] = m[longest];
    Quat::from_xyzw(x, y, z, w).normalize()
}

impl Woven {
    /// Normals of all crossings that are one particle, such that no yarn passes through another one there, nor elsewhere by being drawn at another place.
    pub(super) fn turn_normals(&mut self) {
        let mut before = std::mem::take(&mut self.tables.normal_before);
        before.clone_from(&self.normal);
        let mut bent = self.follow_yarns();
        let mut doubtful: Vec<usize> =
            self.bent.iter().map(|&c| c as usize).filter(|&c| self.kind[c].is_one()).collect();
        doubtful.extend_from_slice(&bent);
        doubtful.sort_unstable();
        doubtful.dedup();
        self.turn_along(&doubtful, &before);
        // Nearly all of them are fine, which is found out all at once.
        let mut fine = vec![false; doubtful.len()];
        parallel::for_each_chunk(&mut fine, FEW, |first, fine| {
            for (k, fine) in fine.iter_mut().enumerate() {
                let c = doubtful[first + k];
                *fine = Arms::followed(self, c, &before).passed(self.normal[c]) == 0;
            }
        });
        let mut passed = fine.iter().map(|fine| !fine);
        doubtful.retain(|_| passed.next().expect("as many as are doubtful"));
        let mut through = self.turned_through();
        doubtful.extend(through.iter().flat_map(|&k| self.crossings_of(k)));
        // A crossing that takes another normal moves the ends of its neighbours' arms.
        let (mut left, mut asked) = (Vec::new(), !through.is_empty());
        for _ in 0..ROUNDS {
            doubtful.sort_unstable();
            doubtful.dedup();
            let mut changed = Vec::new();
            for &c in &doubtful {
                if let Some((normal, passed)) = self.other_normal(c, &before, true) {
                    self.normal[c] = normal;
                    changed.push(c);
                    asked = true;
                    left.extend((passed > 0).then_some(c));
                }
            }
            doubtful = changed.iter().flat_map(|&c| self.around(c)).filter(|&c| self.kind[c].is_one()).collect();
            bent.extend(changed);
        }
        // Others have turned since they were asked, and around those that turned last none was asked.
        left.extend(doubtful);
        left.sort_unstable();
        left.dedup();
        left.retain(|&c| Arms::followed(self, c, &before).wrong(self.normal[c]) > 0);
        if asked {
            through = self.turned_through();
        }
        if !left.is_empty() || !through.is_empty() {
            let untied = self.normal.clone();
            (through, left) = self.tie_knots(through, left, &before);
            bent.extend((0..untied.len()).filter(|&c| self.normal[c] != untied[c]));
        }
        bent.sort_unstable();
        bent.dedup();
        self.bent.clear();
        self.bent.extend(bent.into_iter().map(|c| c as u32));
        for c in left {
            self.tell_passing([c as u32, (self.kind.len() + c) as u32], self.at.get(c));
        }
        self.tables.wrong = through;
        self.tables.normal_before = before;
    }

    /// Of crossings whose arms have turned by much, the normal is on the side to which the one before has turned with them; where the yarns tell nothing it is that one.
    fn turn_along(&mut self, crossings: &[usize], before: &[Vec3]) {
        let mut turned = vec![None; crossings.len()];
        parallel::for_each_chunk(&mut turned, FEW, |first, turned| {
            for (k, turned) in turned.iter_mut().enumerate() {
                let arms = Arms::of(self, crossings[first + k], before);
                *turned = (!arms.turn_little()).then(|| arms.turned().normal);
            }
        });
        for (&c, turned) in crossings.iter().zip(turned) {
            let Some(turned) = turned else { continue };
            let normal = &mut self.normal[c];
            if *normal == before[c] {
                *normal = turned.normalize();
            } else if normal.dot(turned) < 0.0 {
                *normal = -*normal;
            }
        }
    }

    /// Another normal for a crossing, and how many have passed with it, if any have with the one it has.
    pub(super) fn other_normal(&mut self, c: usize, before: &[Vec3], thorough: bool) -> Option<(Vec3, usize)> {
        let mut zones = std::mem::take(&mut self.tables.zones);
        let mut pairs = Vec::new();
        self.pairs_around(&mut zones.around, [c as u32].into_iter(), &mut pairs);
        self.tables.zones = zones;
        let through = |n: Vec3| pairs.iter().filter(|&&k| self.has_passed_with(k, c, n)).count();
        Arms::followed(self, c, before).other_normal(self.normal[c], through, thorough)
    }

    /// Normals from yarns alone; crossings whose yarns are so bent that they may have passed with them.
    fn follow_yarns(&mut self) -> Vec<usize> {
        let (warps, wefts, half) = (self.spec.warps, self.spec.wefts, self.kind.len());
        let thickness = self.spec.thickness;
        let Self { normal, at, kind, warp, weft, .. } = self;
        let of = |begin: usize| at.0.each_ref().map(|column| &column[begin..begin + warps]);
        let mut bent = vec![Vec::new(); wefts.div_ceil(GROUP)];
        parallel::for_each_domain(normal, GROUP * warps, &mut bent, |first, normals, bent| {
            let (mut below, mut above, mut across) = (row(warps), row(warps), row(warps));
            let short = 1.0 / (SHORT * thickness);
            let mut least = vec![0.0; warps];
            let (mut along, mut apart) = (row(warps + 1), row(warps));
            let climb = |to: &mut Segments, begin: usize| {
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
                lanes::run(Across {
                    normals: normals_to,
                    least: least_to,
                    weft: &along,
                    below: &below,
                    above: &above,
                    short,
                });
                for (i, normal) in normals.iter_mut().enumerate().filter(|(i, _)| kinds[*i].is_one()) {
                    let n = Vec3::new(across[0][i], across[1][i], across[2][i]);
                    let along = n.dot(*normal);
                    if n != Vec3::ZERO {
                        *normal = if along < 0.0 { -n } else { n };
                    }
                    if along < LITTLE || least[i] < BENT {
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
        let (mut kept, mut changed) = (0, 0);
        for seed in 0..400 {
            let mut cloth = Woven::new(Spec::muslin(5, 5), Placement::default()).unwrap();
            cloth.follow(1e-3);
            let c = cloth.crossing(2, 2);
            // From a crossing with arms anywhere to one with arms near that, and all of it turned.
            let random = |k: u64| Vec3::from([0, 1, 2].map(|a| hash_unit(seed, 3 * k + a) - 0.5));
            let arms = cloth.around(c);
            for (k, &arm) in arms.iter().enumerate() {
                cloth.at.add(arm, random(k as u64) * 2.4e-3);
            }
            cloth.turn_normals();
            cloth.take_passings();
            let before = cloth.normal.clone();
            let (turn, middle) = (crate::math::turn(random(20) * 4.0), cloth.at.get(c));
            for p in 0..cloth.crossings() {
                let k = arms.iter().position(|&arm| arm == p);
                let by = k.map_or(Vec3::ZERO, |k| random(10 + k as u64) * 1.2e-3);
                let (from, to) = (cloth.at.get(p), middle + turn * (cloth.at.get(p) + by - middle));
                cloth.gone.set(p, to - from);
                cloth.at.set(p, to);
            }
            let wanted = cloth.at.clone();
            cloth.turn_normals();
            assert!(cloth.take_passings().is_empty(), "{seed}");
            assert_eq!(Arms::followed(&cloth, c, &before).wrong(cloth.normal[c]), 0, "{seed}");
            let follows = cloth.cloth_normal(c).unwrap_or(before[c]);
            changed += usize::from(follows.dot(cloth.normal[c]).abs() < 1.0 - 1e-12);
            kept += usize::from(cloth.at == wanted);
        }
        // Nearly always there is such a normal, and not always it is the one that follows the yarns.
        assert!(kept > 380 && kept < 400 && changed > 4, "{kept} {changed}");
    }

    #[test]
    fn normals_turn_with_cloth_however_far_it_turns_in_a_step() {
        for (seed, angle) in (0..60).flat_map(|seed| [0.5, 1.6, 2.2, 3.0].map(|angle| (seed, angle))) {
            let mut cloth = Woven::new(Spec::muslin(5, 4), Placement::default()).unwrap();
            let random = |k: u64| Vec3::from([0, 1, 2].map(|a| hash_unit(seed, 3 * k + a) - 0.5));
            for p in 0..cloth.crossings() {
                cloth.at.add(p, random(p as u64) * (0.4 * cloth.spec.spacing));
            }
            cloth.follow(1e-3);
            cloth.turn_normals();
            // Some are inside out, where a yarn ends.
            for c in (0..cloth.crossings()).filter(|&c| c < 5 && hash_unit(seed, 400 + c as u64) < 0.5) {
                cloth.normal[c] = -cloth.normal[c];
            }
            cloth.turn_normals();
            let (before, turn) = (cloth.normal.clone(), Quat::from_axis_angle(random(100).normalize(), angle));
            for p in 0..cloth.crossings() {
                let (from, to) = (cloth.at.get(p), turn * cloth.at.get(p));
                cloth.gone.set(p, to - from);
                cloth.at.set(p, to);
            }
            cloth.turn_normals();
            assert!(cloth.take_passings().is_empty());
            // At the edges of the cloth too, where one yarn might slip around the end of the other.
            for (c, before) in before.into_iter().enumerate() {
                let off = cloth.normal[c].distance(turn * before);
                assert!(off < 1e-9, "{seed}: {angle}, crossing {c} is off by {off}");
            }
        }
    }

    #[test]
    fn yarns_that_are_thrown_about_at_a_crossing_do_not_pass_step_after_step() {
        let mut turned = 0;
        for seed in 0..150 {
            let mut cloth = Woven::new(Spec::muslin(4, 4), Placement::default()).unwrap();
            let far = 0.4 * (0.4 + 0.6 * hash_unit(seed, 0)) * cloth.spec.spacing;
            cloth.follow(1e-3);
            for step in 0..12 {
                // Each about its place in cloth that turns on the whole.
                let random =
                    |k: u64| Vec3::from([0, 1, 2].map(|a| hash_unit(seed, 1000 * (step + 1) + 3 * k + a) - 0.5));
                let turn = crate::math::turn(random(100) * 3.0);
                for c in 0..cloth.crossings() {
                    let woven = Vec3::new((c % 4) as f64 - 1.5, (c / 4) as f64 - 1.5, 0.0) * cloth.spec.spacing;
                    let (from, to) = (cloth.at.get(c), turn * (woven + random(c as u64) * (2.0 * far)));
                    cloth.gone.set(c, to - from);
                    cloth.at.set(c, to);
                }
                cloth.turn_normals();
                assert!(cloth.take_passings().is_empty(), "{seed}: step {step}");
                let before = std::mem::take(&mut cloth.tables.normal_before);
                for c in 0..cloth.crossings() {
                    assert_eq!(
                        Arms::followed(&cloth, c, &before).passed(cloth.normal[c]),
                        0,
                        "{seed}: step {step}, {c}"
                    );
                    turned += usize::from(before[c].dot(cloth.normal[c]) < 0.0);
                }
            }
        }
        assert!(turned > 1000, "{turned}");
    }

    #[test]
    fn crossings_at_which_yarns_have_passed_are_asked() {
        let mut passed = 0;
        // Crossings as far apart as they are woven, and as they come to lie where yarns have slipped together.
        for (seed, size) in (0..2000).map(|seed| (seed, if seed % 2 == 0 { 1.0 } else { 0.36 })) {
            let mut cloth = Woven::new(Spec::muslin(5, 5), Placement::default()).unwrap();
            let random = |k: u64| Vec3::from([0, 1, 2].map(|a| hash_unit(seed, 3 * k + a) - 0.5));
            let far = size * cloth.spec.spacing * hash_unit(seed, 900);
            for p in 0..cloth.crossings() {
                cloth.at.set(p, cloth.at.get(p) * size + random(p as u64) * far);
            }
            cloth.follow(1e-3);
            cloth.turn_normals();
            let before = cloth.normal.clone();
            for p in 0..cloth.crossings() {
                let by = random(100 + p as u64) * far;
                cloth.gone.set(p, by);
                cloth.at.add(p, by);
            }
            let asked = cloth.follow_yarns();
            for c in 0..cloth.crossings() {
                if Arms::followed(&cloth, c, &before).passed(cloth.normal[c]) > 0 {
                    passed += 1;
                    assert!(asked.contains(&c), "{seed}: {c}");
                }
            }
        }
        assert!(passed > 100, "{passed}");
    }

    #[test]
    fn a_normal_along_which_yarns_touch_will_not_do() {
        // Both yarns end here; the normal between their directions brings one end onto the other yarn.
        let (a, b, half) = (Vec3::Y, Vec3::X, 0.1);
        let one = |end: Vec3| SmallVec::from_slice(&[[end, end]]);
        for side in [1.0, -1.0] {
            let normal = Vec3::Z * side;
            let arms =
                Arms { ends: [one(a), one(b)], from: [normal * half, -normal * half], at: Vec3::ZERO, half, normal };
            let touching = (b - a).normalize();
            assert!(arms.apart(touching) < 1e-20);
            // Another yarn is in the way of all others.
            let others = |n: Vec3| usize::from(n.distance(touching) > 1e-9);
            let (_, wrong) = arms.other_normal(normal, others, true).expect("it is in the way of this one too");
            assert!(wrong > 0, "{side}");
        }
    }

    #[test]
    fn the_turn_that_fits_is_the_one_that_was_made() {
        for seed in 0..200 {
            let random = |k: u64| Vec3::from([0, 1, 2].map(|a| 2.0 * hash_unit(seed, 3 * k + a) - 1.0));
            let turn = crate::math::turn(random(0) * 1.5);
            let arms: Vec<Vec3> = (1..5).map(random).collect();
            let found = fitted(arms.iter().map(|&arm| [arm, turn * arm]));
            for arm in &arms {
                // What is added for arms that tell nothing draws it back by little.
                assert!((found * *arm).distance(turn * *arm) < 1e-3, "{seed}");
            }
            let exactly = fitted(arms.iter().map(|&arm| [arm, arm]));
            assert!(arms.iter().all(|&arm| (exactly * arm).distance(arm) < 1e-12));
        }
    }
}
