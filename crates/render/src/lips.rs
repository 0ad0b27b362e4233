//! Borders of the sheet: which are torn, their rim, and the loose fibres that hang out of a tear.
//!
//! A torn cloth shows pale raw fibre. Each torn lip gets a rounded rim, and fibres about as dense as the weave,
//! running along that family of yarns (warp or weft) which crosses the lip more squarely: those are the yarns that the
//! tear has cut. Length, bend and place come from a hash of (face, corner), so a fibre stays the same over a film.

use crate::curve::{Curve, Round};
use crate::sample::{hash2, unit};
use crate::scene::Cloth;
use glam::{Vec2, Vec3};
use rayon::prelude::*;

/// At most this many fibres on a cloth; above it each lip gets proportionally fewer.
const MOST_FIBRES: f32 = 40_000.0;

/// Border edges as (face, k): those that belong to one face only.
pub fn border_edges(faces: &[[u32; 3]]) -> Vec<[u32; 2]> {
    let mut sides: Vec<(u64, u32, u32)> = Vec::with_capacity(faces.len() * 3);
    for (f, face) in faces.iter().enumerate() {
        for k in 0..3 {
            let (a, b) = (face[k], face[(k + 1) % 3]);
            sides.push(((a.min(b) as u64) << 32 | a.max(b) as u64, f as u32, k as u32));
        }
    }
    sides.par_sort_unstable();
    let mut border: Vec<[u32; 2]> =
        sides.chunk_by(|x, y| x.0 == y.0).filter(|c| c.len() == 1).map(|c| [c[0].1, c[0].2]).collect();
    border.sort_unstable();
    border
}

/// Torn lips found by their material coordinates: border edges that lie on another border edge in uv, since a tear opens an
/// edge but leaves uv alone. Use it where the tears themselves are not recorded. Limit: a lip whose other side was
/// split after the tear isn't found.
pub fn torn_edges(faces: &[[u32; 3]], corner_uv: &[[Vec2; 3]]) -> Vec<[u32; 2]> {
    if corner_uv.len() != faces.len() {
        return Vec::new();
    }
    let (low, high) = uv_bounds(corner_uv);
    let step = (high - low).max_element().max(1e-9) * 2e-5;
    let key = |[f, k]: [u32; 2]| {
        let uv = &corner_uv[f as usize];
        let at = |k: u32| {
            let q = ((uv[k as usize] - low) / step).round();
            [q.x as i64, q.y as i64]
        };
        let (a, b) = (at(k), at((k + 1) % 3));
        if a <= b { [a, b] } else { [b, a] }
    };
    let mut keyed: Vec<_> = border_edges(faces).into_iter().map(|e| (key(e), e)).collect();
    keyed.sort_unstable();
    let mut torn: Vec<[u32; 2]> =
        keyed.chunk_by(|x, y| x.0 == y.0).filter(|c| c.len() > 1).flat_map(|c| c.iter().map(|x| x.1)).collect();
    torn.sort_unstable();
    torn
}

/// Lowest and highest uv.
pub(crate) fn uv_bounds(corner_uv: &[[Vec2; 3]]) -> (Vec2, Vec2) {
    let (low, high) =
        corner_uv.iter().flatten().fold((Vec2::MAX, Vec2::MIN), |(low, high), &p| (low.min(p), high.max(p)));
    if low.x <= high.x { (low, high) } else { (Vec2::ZERO, Vec2::ZERO) }
}

/// Change of position with u and with v over face `f`, if its uv are not degenerate.
pub(crate) fn tangents(p: [Vec3; 3], uv: [Vec2; 3]) -> Option<[Vec3; 2]> {
    let (e1, e2) = (p[1] - p[0], p[2] - p[0]);
    let (w1, w2) = (uv[1] - uv[0], uv[2] - uv[0]);
    let det = w1.x * w2.y - w2.x * w1.y;
    (det.abs() > 1e-20).then(|| [(e1 * w2.y - e2 * w1.y) / det, (e2 * w1.x - e1 * w2.x) / det])
}

/// How the lips of one cloth are drawn.
pub(crate) struct Lips<'a> {
    pub cloth: &'a Cloth<'a>,
    /// Shutter time [s], which turns velocities into ways.
    pub open_seconds: f32,
    /// Distance of yarns [m].
    pub pitch: f32,
    /// Radius of the rim [m].
    pub radius: f32,
    /// Owner numbers of torn rim, whole border and fibres.
    pub owners: [u32; 3],
    pub up: Vec3,
}

impl Lips<'_> {
    fn motion(&self, node: u32) -> Vec3 {
        self.cloth.velocities.get(node as usize).map_or(Vec3::ZERO, |v| *v * self.open_seconds)
    }

    fn ends(&self, [f, k]: [u32; 2]) -> [u32; 2] {
        let face = self.cloth.faces[f as usize];
        [face[k as usize], face[(k as usize + 1) % 3]]
    }

    /// Rounded rims along all borders.
    pub fn rims(&self, out: &mut Vec<Round>) {
        let torn: std::collections::BTreeSet<[u32; 2]> = self.cloth.torn_edges.iter().copied().collect();
        for edge in border_edges(self.cloth.faces) {
            let nodes = self.ends(edge);
            let is_torn = torn.contains(&edge);
            out.push(Round {
                ends: nodes.map(|n| self.cloth.positions[n as usize]),
                motion: nodes.map(|n| self.motion(n)),
                radius: self.radius,
                cover: [1.0; 2],
                along: 0.0,
                bend: [Vec3::ZERO; 2],
                owner: self.owners[if is_torn { 0 } else { 1 }],
            });
        }
    }

    /// Loose fibres out of torn lips.
    pub fn fibres(&self, out: &mut Vec<Round>) {
        let length = |e: &[u32; 2]| {
            let [a, b] = self.ends(*e).map(|n| self.cloth.positions[n as usize]);
            a.distance(b)
        };
        let total: f32 = self.cloth.torn_edges.iter().map(length).sum();
        let per_metre = (1.7 / self.pitch).min(MOST_FIBRES / total.max(1e-9));
        for &edge in self.cloth.torn_edges {
            let seed = hash2(edge[0].wrapping_mul(3).wrapping_add(edge[1]), 0x51ed);
            let exact = length(&edge) * per_metre;
            // The fraction decides by chance, so that density holds on fine meshes too.
            let count = exact as u32 + u32::from(unit(seed) < exact.fract());
            for i in 0..count {
                self.fibre(edge, hash2(seed, i), out);
            }
        }
    }

    fn fibre(&self, edge: [u32; 2], seed: u32, out: &mut Vec<Round>) {
        let [f, k] = edge.map(|x| x as usize);
        let face = self.cloth.faces[f];
        let p = face.map(|n| self.cloth.positions[n as usize]);
        let Some(uv) = self.cloth.corner_uv.get(f) else { return };
        let Some(axes) = tangents(p, *uv) else { return };
        let random = |i: u32| unit(hash2(seed, i));
        let (a, b, inner) = (p[k], p[(k + 1) % 3], p[(k + 2) % 3]);
        let along = b - a;
        // Out of the face, square to the lip.
        let out_of = (a - inner).reject_from(along.try_normalize().unwrap_or(Vec3::X)).normalize_or_zero();
        let normal = along.cross(out_of).normalize_or_zero();
        let Some(yarn) = axes
            .map(|axis| axis.normalize_or_zero())
            .into_iter()
            .max_by(|x, y| x.dot(out_of).abs().total_cmp(&y.dot(out_of).abs()))
        else {
            return;
        };
        let yarn = if yarn.dot(out_of) < 0.0 { -yarn } else { yarn };
        let s = random(1);
        let start = a.lerp(b, s) - yarn * (0.7 * self.pitch);
        // Mostly short, a few long.
        let r = random(2);
        let reach = self.pitch * (0.9 + 2.6 * r * r * r + 1.0 * random(3));
        let side = along.normalize_or_zero() * (random(4) - 0.5) * 1.3 + normal * (random(5) - 0.5) * 1.1;
        let curl = normal * (random(6) - 0.5) + along.normalize_or_zero() * (random(7) - 0.5) - self.up * 0.35;
        let point = |x: f32| start + (yarn * x + side * (0.5 * x * x) + curl * (0.6 * x * x * x)) * reach;
        let points = [point(0.0), point(0.4), point(0.75), point(1.05)];
        let motion = self.motion(face[k]).lerp(self.motion(face[(k + 1) % 3]), s);
        Curve {
            points: &points,
            motion: &[motion; 4],
            radius: self.pitch * (0.05 + 0.05 * random(8)),
            tip_fade: [0.0, reach * 0.5],
            owner: self.owners[2],
        }
        .cut(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::{vec2, vec3};

    /// Two squares of two faces each, side by side; joined, or torn along the middle.
    fn squares(torn: bool) -> (Vec<Vec3>, Vec<[u32; 3]>, Vec<[Vec2; 3]>) {
        let mut p = vec![];
        for x in 0..3 {
            p.extend([vec3(x as f32, 0.0, 0.0), vec3(x as f32, 1.0, 0.0)]);
        }
        let mut faces = vec![[0, 2, 1], [1, 2, 3], [2, 4, 3], [3, 4, 5]];
        let uv = faces.iter().map(|f: &[u32; 3]| f.map(|n| p[n as usize].truncate())).collect();
        if torn {
            p.extend([p[2], p[3]]);
            (faces[2], faces[3]) = ([6, 4, 7], [7, 4, 5]);
        }
        (p, faces, uv)
    }

    #[test]
    fn tears_are_found_by_uv() {
        let (_, faces, uv) = squares(false);
        assert_eq!(border_edges(&faces).len(), 6);
        assert!(torn_edges(&faces, &uv).is_empty());
        let (_, faces, uv) = squares(true);
        assert_eq!(border_edges(&faces).len(), 8);
        assert_eq!(torn_edges(&faces, &uv), vec![[1, 1], [2, 2]]);
    }

    #[test]
    fn fibres_leave_the_sheet_across_the_tear() {
        let (positions, faces, uv) = squares(true);
        let torn = torn_edges(&faces, &uv)[..1].to_vec();
        let cloth =
            Cloth { positions: &positions, faces: &faces, corner_uv: &uv, torn_edges: &torn, ..Cloth::default() };
        let lips =
            Lips { cloth: &cloth, open_seconds: 0.0, pitch: 0.02, radius: 0.004, owners: [0, 1, 2], up: Vec3::Y };
        let mut rounds = Vec::new();
        lips.fibres(&mut rounds);
        // One lip 1 m long at 85 fibres per metre, 12 rounds each.
        assert!((960..1080).contains(&rounds.len()), "{}", rounds.len());
        // Left lip at x = 1: fibres point to +x and end just beyond it.
        let reach = rounds.iter().map(|r| r.ends[1].x).fold(0.0, f32::max);
        assert!(reach > 1.03 && reach < 1.2, "{reach}");
        let mut rims = Vec::new();
        lips.rims(&mut rims);
        assert_eq!(rims.iter().filter(|r| r.owner == 0).count(), 1);
    }

    #[test]
    fn tangents_recover_a_linear_map() {
        let uv = [vec2(0.1, 0.2), vec2(0.9, 0.3), vec2(0.4, 1.0)];
        let (du, dv) = (vec3(1.0, 2.0, 0.0), vec3(0.0, -1.0, 3.0));
        let [a, b] = tangents(uv.map(|q| du * q.x + dv * q.y), uv).unwrap();
        assert!((a - du).length() < 1e-4 && (b - dv).length() < 1e-4);
        assert!(tangents([Vec3::ZERO; 3], [Vec2::ONE; 3]).is_none());
    }
}
