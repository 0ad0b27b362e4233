//! Stress along lines: what [`Toughness`](super::Toughness) holds against strength.
//!
//! Stress and metric of a node are the means over its faces, by area; between nodes they are interpolated. The load across a line is that per width of cloth at rest, as a testing machine has it.

use super::View;
use crate::cloth::Cloth;
use crate::math::{Sym2, Vec2, Vec3};
use ripstop_mesh::{CornerId, FaceId, Mesh, NodeId, barycentric};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Stress and metric at nodes, smoothed over their faces as they are asked for.
pub(super) struct Smooth<'a> {
    view: View<'a>,
    known: HashMap<NodeId, (Sym2, Sym2), BuildHasherDefault<Numbered>>,
}

/// Hashes of numbers: nobody chooses them to collide, and lines ask for many.
#[derive(Default)]
pub(super) struct Numbered(u64);

impl Hasher for Numbered {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(u32::from(byte)));
    }

    fn write_u32(&mut self, number: u32) {
        // Fibonacci hashing (Knuth, vol. 3, 6.4).
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl<'a> Smooth<'a> {
    pub fn new(view: View<'a>) -> Self {
        Self { view, known: HashMap::default() }
    }

    pub fn at(&mut self, n: NodeId) -> (Sym2, Sym2) {
        let View { cloth, fields, .. } = self.view;
        *self.known.entry(n).or_insert_with(|| {
            let [stress, square] = mean_over_fan(cloth, n, |face| [fields.face_stress[face], metric(cloth, face)]);
            (stress, square)
        })
    }

    /// Sum of the load across the line from a node along `d` at places `step` [m] apart, from half a step on, and how many of them are on the cloth.
    pub fn line(&mut self, n: NodeId, d: Vec2, (count, step): (u32, f64)) -> (f64, u32) {
        let cloth = self.view.cloth;
        let mesh = &cloth.mesh;
        let origin = mesh.node_uv(n);
        let mut sum = 0.0;
        let Some(mut face) = mesh.fan(n).find(|&c| looks_into(mesh, c, d)).map(|c| c.face()) else { return (0.0, 0) };
        for k in 0..count {
            let place = origin + d * ((f64::from(k) + 0.5) * step);
            let Some((found, shares)) = locate(mesh, face, place) else { return (sum, k) };
            face = found;
            let (mut stress, mut square) = (Sym2::default(), Sym2::default());
            for (corner, share) in mesh.face_nodes(face).into_iter().zip(shares) {
                let (s, m) = self.at(corner);
                (stress, square) = (stress + scaled(s, share), square + scaled(m, share));
            }
            sum += load(stress, square, d.perp());
        }
        (sum, count)
    }
}

/// The means of some tensors over the faces of a node, by their area.
pub(super) fn mean_over_fan<const K: usize>(cloth: &Cloth, n: NodeId, of: impl Fn(FaceId) -> [Sym2; K]) -> [Sym2; K] {
    let (mut sum, mut area) = ([Sym2::default(); K], 0.0);
    for face in cloth.mesh.fan(n).map(|c| c.face()) {
        let share = cloth.mesh.face_area(face).abs();
        sum.iter_mut().zip(of(face)).for_each(|(sum, of)| *sum = *sum + scaled(of, share));
        area += share;
    }
    sum.map(|sum| scaled(sum, 1.0 / area))
}

fn scaled(t: Sym2, by: f64) -> Sym2 {
    Sym2 { xx: t.xx * by, xy: t.xy * by, yy: t.yy * by }
}

/// True if a ray from the node of a corner goes into its face.
fn looks_into(mesh: &Mesh, c: CornerId, d: Vec2) -> bool {
    let [a, b] = [c.next(), c.prev()].map(|to| (mesh.uv(to) - mesh.uv(c)).normalize_or_zero());
    let turn = a.perp_dot(b).signum();
    turn * a.perp_dot(d) >= -1e-9 && turn * d.perp_dot(b) >= -1e-9 && (a + b).dot(d) > 0.0
}

/// The face that holds a material point, looked for from `face` on, and the shares of its corners.
fn locate(mesh: &Mesh, mut face: FaceId, place: Vec2) -> Option<(FaceId, [f64; 3])> {
    for _ in 0..64 {
        let shares = barycentric(mesh.face_uv(face), place)?;
        let least = (0..3).min_by(|&a, &b| shares[a].total_cmp(&shares[b]))?;
        if shares[least] >= -1e-9 {
            return Some((face, shares));
        }
        // Out across the edge opposite the corner with the least share.
        let across = face.corners()[(least + 1) % 3];
        let twin = mesh.twin(across).filter(|&twin| goes_on(mesh, across, twin))?;
        face = twin.face();
    }
    None
}

/// U and V of a face: what a metre of weft and of warp has become.
pub(super) fn threads(cloth: &Cloth, face: FaceId) -> (Vec3, Vec3, f64) {
    let [a, b, c] = cloth.mesh.face_uv(face);
    let [x, y, z] = cloth.mesh.face_nodes(face).map(|n| cloth.x[n]);
    let (p, r, y, z) = (b - a, c - a, y - x, z - x);
    let twice = p.perp_dot(r);
    ((y * r.y - z * p.y) / twice, (z * p.x - y * r.x) / twice, twice)
}

/// FᵀF of a face.
pub(super) fn metric(cloth: &Cloth, face: FaceId) -> Sym2 {
    let (u, v, _) = threads(cloth, face);
    Sym2 { xx: u.dot(u), xy: u.dot(v), yy: v.dot(v) }
}

/// Load per width at rest across a line whose normal is `n` [N/m].
pub(super) fn load(stress: Sym2, metric: Sym2, n: Vec2) -> f64 {
    stress.along(n) * metric.along(n).max(0.0).sqrt()
}

/// True if material coordinates go on across an edge.
pub(super) fn goes_on(mesh: &Mesh, c: CornerId, twin: CornerId) -> bool {
    mesh.uv(c) == mesh.uv(twin.next()) && mesh.uv(c.next()) == mesh.uv(twin)
}
