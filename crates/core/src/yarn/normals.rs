//! Normals of all crossings at once, row by row as vector code: what [`Woven::turn_normal`] does to one.
//!
//! Directions of segments are computed once and serve both of their ends. Rows write to themselves.

use super::line::GROUP;
use super::state::Woven;
use crate::lanes::{self, Work};
use crate::math::Vec3;
use crate::parallel;

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
    weft: &'a Row,
    below: &'a Row,
    above: &'a Row,
}

impl Work for Across<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { normals: [nx, ny, nz], weft, below, above } = self;
        let count = nx.len();
        let (ny, nz) = (&mut ny[..count], &mut nz[..count]);
        let before = weft.each_ref().map(|column| &column[..count]);
        let after = weft.each_ref().map(|column| &column[1..][..count]);
        let below = below.each_ref().map(|column| &column[..count]);
        let above = above.each_ref().map(|column| &column[..count]);
        for i in 0..count {
            let u = [0, 1, 2].map(|a| 0.0 + before[a][i] + after[a][i]);
            let v = [0, 1, 2].map(|a| 0.0 + below[a][i] + above[a][i]);
            let n = [u[1] * v[2] - v[1] * u[2], u[2] * v[0] - v[2] * u[0], u[0] * v[1] - v[0] * u[1]];
            let square = |v: [f64; 3]| v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
            let enough = square(n) > Woven::ASLANT * square(u) * square(v);
            let per = 1.0 / square(n).sqrt();
            nx[i] = if enough { n[0] * per } else { 0.0 };
            ny[i] = if enough { n[1] * per } else { 0.0 };
            nz[i] = if enough { n[2] * per } else { 0.0 };
        }
    }
}

impl Woven {
    /// Normals of all crossings that are one particle.
    pub(super) fn turn_normals(&mut self) {
        let (warps, wefts, half) = (self.spec.warps, self.spec.wefts, self.kind.len());
        let Self { normal, at, kind, warp, weft, .. } = self;
        let of = |begin: usize| at.0.each_ref().map(|column| &column[begin..begin + warps]);
        parallel::for_each_chunk(normal, GROUP * warps, |first, normals| {
            let (mut below, mut above, mut across) = (row(warps), row(warps), row(warps));
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
                lanes::run(Across { normals: &mut across, weft: &along, below: &below, above: &above });
                for (i, normal) in normals.iter_mut().enumerate() {
                    let n = Vec3::new(across[0][i], across[1][i], across[2][i]);
                    if n != Vec3::ZERO && kinds[i].is_one() {
                        *normal = if n.dot(*normal) < 0.0 { -n } else { n };
                    }
                }
            }
        });
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
        cloth.turn_normals();
        assert_eq!(cloth.normal, one_by_one.normal);
        assert!(cloth.normal.iter().zip(&before).filter(|(a, b)| a != b).count() > 250);
    }
}
