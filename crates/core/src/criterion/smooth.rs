//! Stress along lines: what [`Toughness`](super::Toughness) holds against strength.
//!
//! Stress and metric of a node are the means over its faces, by area; between nodes they are interpolated. The load across a line is that per width of cloth at rest, as a testing machine has it.

use super::View;
use crate::cloth::Cloth;
use crate::math::{Sym2, Vec2, Vec3};
use ripstop_mesh::{CornerId, FaceId, Id, Mesh, NodeId, barycentric};

/// Stress and metric at nodes, smoothed over their faces as they are asked for.
pub(super) struct Smooth<'a> {
    view: View<'a>,
    /// The last that were asked for, each at the place of its number: lines ask for a few nodes again and again.
    known: [(NodeId, Sym2, Sym2); KNOWN],
}

/// Nodes of which something is known.
const KNOWN: usize = 16;
/// Nodes of faces that a line passes that there is room for at first.
const ROOM: usize = 64;

impl<'a> Smooth<'a> {
    pub fn new(view: View<'a>) -> Self {
        Self { view, known: [(NodeId(u32::MAX), Sym2::default(), Sym2::default()); KNOWN] }
    }

    pub fn at(&mut self, n: NodeId) -> (Sym2, Sym2) {
        let View { cloth, fields, .. } = self.view;
        let known = &mut self.known[n.index() % KNOWN];
        if known.0 != n {
            let (mut stress, mut square, mut area) = (Sym2::default(), Sym2::default(), 0.0);
            for c in cloth.mesh.fan(n) {
                let face = fields.faces.at(c.face());
                (stress, square) = (stress + scaled(face.stress, face.area), square + scaled(face.metric, face.area));
                area += face.area;
            }
            *known = (n, scaled(stress, 1.0 / area), scaled(square, 1.0 / area));
        }
        (known.1, known.2)
    }

    /// Sum of the load across the line from a node along `d` at places `step` [m] apart, from half a step on, and how many of them are on the cloth.
    pub fn line(&mut self, n: NodeId, d: Vec2, samples: (u32, f64)) -> (f64, u32) {
        let mesh = &self.view.cloth.mesh;
        let (mut sum, mut count) = (0.0, 0);
        walk(mesh, n, d, samples, |face, shares| {
            if let Some(shares) = shares {
                sum += self.between(mesh.face_nodes(face), shares, d);
                count += 1;
            }
        });
        (sum, count)
    }

    /// The mean of the load across a line that goes along `d` [N/m].
    pub fn mean_load(&mut self, line: &Line, d: Vec2) -> f64 {
        let sum: f64 = line.places.iter().map(|&(nodes, shares)| self.between(nodes, shares, d)).sum();
        if line.places.is_empty() { 0.0 } else { sum / line.places.len() as f64 }
    }

    /// The load across `d` at a place between three nodes [N/m].
    fn between(&mut self, nodes: [NodeId; 3], shares: [f64; 3], d: Vec2) -> f64 {
        let (mut stress, mut square) = (Sym2::default(), Sym2::default());
        for (corner, share) in nodes.into_iter().zip(shares) {
            let (s, m) = self.at(corner);
            (stress, square) = (stress + scaled(s, share), square + scaled(m, share));
        }
        load(stress, square, d.perp())
    }
}

/// Where the places along a line are, as long as nothing is edited that it passes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    /// The nodes around each place, and their shares in it.
    places: Vec<([NodeId; 3], [f64; 3])>,
    /// The nodes of all faces on the way.
    passed: Vec<NodeId>,
}

impl Line {
    /// That from a node along `d`, its places `step` [m] apart, from half a step on.
    pub fn of(mesh: &Mesh, n: NodeId, d: Vec2, samples: (u32, f64)) -> Self {
        let mut line = Self { places: Vec::with_capacity(samples.0 as usize), passed: Vec::with_capacity(ROOM) };
        line.passed.push(n);
        walk(mesh, n, d, samples, |face, shares| {
            let nodes = mesh.face_nodes(face);
            line.passed.extend(nodes);
            line.places.extend(shares.map(|shares| (nodes, shares)));
        });
        line
    }

    /// The nodes around its places.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> {
        self.places.iter().flat_map(|(nodes, _)| *nodes)
    }

    /// The nodes of all faces on the way: as long as none of them is edited it is the same.
    pub fn passed(&self) -> impl Iterator<Item = NodeId> {
        self.passed.iter().copied()
    }
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

/// Goes from a node along `d` to places `step` [m] apart, from half a step on, as far as they are on the cloth. Calls `visit` with every face on the way, more than once maybe, and with the shares of its corners where it has such a place.
fn walk(mesh: &Mesh, n: NodeId, d: Vec2, (count, step): (u32, f64), mut visit: impl FnMut(FaceId, Option<[f64; 3]>)) {
    let origin = mesh.node_uv(n);
    let Some(mut face) = mesh.fan(n).find(|&c| looks_into(mesh, c, d)).map(|c| c.face()) else { return };
    for k in 0..count {
        let place = origin + d * ((f64::from(k) + 0.5) * step);
        let Some((found, shares)) = locate(mesh, face, place, |passed| visit(passed, None)) else { return };
        visit(found, Some(shares));
        face = found;
    }
}

/// The face that holds a material point, looked for from `face` on, and the shares of its corners. Calls `passed` with the faces that don't hold it.
fn locate(mesh: &Mesh, mut face: FaceId, place: Vec2, mut passed: impl FnMut(FaceId)) -> Option<(FaceId, [f64; 3])> {
    for _ in 0..64 {
        let shares = barycentric(mesh.face_uv(face), place)?;
        let least = (0..3).min_by(|&a, &b| shares[a].total_cmp(&shares[b]))?;
        if shares[least] >= -1e-9 {
            return Some((face, shares));
        }
        passed(face);
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

/// Load per width at rest across a line whose normal is `n` [N/m].
pub(super) fn load(stress: Sym2, metric: Sym2, n: Vec2) -> f64 {
    stress.along(n) * metric.along(n).max(0.0).sqrt()
}

/// True if material coordinates go on across an edge.
pub(super) fn goes_on(mesh: &Mesh, c: CornerId, twin: CornerId) -> bool {
    mesh.uv(c) == mesh.uv(twin.next()) && mesh.uv(c.next()) == mesh.uv(twin)
}
