//! What a tip sets free as it goes on, for [`Toughness`](super::Toughness): J, a sum over the faces around it, and Z, a sum over the bonds behind it. Symbols are those of that page.

use super::smooth::{goes_on, threads};
use super::{View, star};
use crate::cloth::Cloth;
use crate::math::{Sym2, Vec2, Vec3, inverse_or_zero};
use crate::potential::{Bond, Forces, Stressed};
use crate::tear::heading;
use ripstop_mesh::{CornerId, FaceId, Id, Marks, Mesh, NodeId};

/// Faces around a tip, or nodes along its lips, that there is room for at first.
const ROOM: usize = 224;

/// What J of a tip is a sum over.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ring {
    /// Where the tip points.
    pub heading: Option<Vec2>,
    /// ϱ [m].
    pub radius: f64,
    /// How far from the tip it was looked for faces [m]: as long as nothing is edited there they are the same.
    pub reach: f64,
    /// Faces in which q changes, with ∇q [1/m], in their order: those near each other in memory come one after the other.
    faces: Vec<(FaceId, [f32; 2])>,
}

/// The way along both lips behind a tip.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Lips {
    /// Nodes that had a bond when they were passed, from the tip on: later ones come with an edit. Where they are, how far behind [m], and the sign of their lip.
    bonded: Vec<(NodeId, Vec2, f64, f64)>,
    /// All nodes on the way, those at its ends, and those that bonds lead to: as long as none of them is edited it is the same.
    passed: Vec<NodeId>,
    /// The nodes next to the tip on the border.
    first: Vec<NodeId>,
}

impl Ring {
    /// That of a tip with this ϱ [m].
    pub fn of(cloth: &Cloth, n: NodeId, radius: f64) -> Self {
        let mesh = &cloth.mesh;
        let at = mesh.node_uv(n);
        // Faces share them.
        let mut borders: Vec<(NodeId, bool)> = Vec::new();
        let mut is_own = |n: NodeId| {
            if !mesh.is_border_node(n) {
                return false;
            }
            let known = borders.iter().find(|(known, _)| *known == n).map(|(_, own)| *own);
            known.unwrap_or_else(|| {
                borders.push((n, on_own_border(cloth, n)));
                borders[borders.len() - 1].1
            })
        };
        let mut weight = |c: CornerId| {
            let near = within(mesh.uv(c).distance(at), radius);
            if near > 0.0 && is_own(mesh.node(c)) { 0.0 } else { near }
        };
        let changes = |face: FaceId| {
            let corners = face.corners();
            let q = corners.map(&mut weight);
            if q[0] == q[1] && q[1] == q[2] {
                return None;
            }
            let uv = corners.map(|c| mesh.uv(c));
            let (p, r) = (uv[1] - uv[0], uv[2] - uv[0]);
            let twice = p.perp_dot(r);
            let slope =
                Vec2::new(r.y * (q[1] - q[0]) - p.y * (q[2] - q[0]), p.x * (q[2] - q[0]) - r.x * (q[1] - q[0])) / twice;
            Some((face, slope.to_array().map(|slope| slope as f32)))
        };
        let mut around = faces_within(mesh, n, radius);
        around.sort_unstable();
        let places = around.iter().flat_map(|face| mesh.face_uv(*face));
        let reach = places.map(|place| place.distance(at)).fold(0.0, f64::max);
        let mut faces = Vec::with_capacity(around.len());
        faces.extend(around.into_iter().filter_map(changes));
        Self { heading: heading(mesh, n), radius, reach, faces }
    }
}

#[inline]
fn times(t: Sym2, v: Vec2) -> Vec2 {
    Vec2::new(t.xx * v.x + t.xy * v.y, t.xy * v.x + t.yy * v.y)
}

/// J, of the faces in which q changes [N].
pub(super) fn released(view: View<'_>, ring: &Ring) -> Vec2 {
    let of_face = |&(face, slope): &(FaceId, [f32; 2])| {
        let slope = Vec2::from_array(slope.map(f64::from));
        let Stressed { stress, metric, energy, area } = view.fields.faces.at(face);
        // (FᵀF S) ∇q.
        times(metric, times(stress, slope)) * area - slope * energy
    };
    ring.faces.iter().map(of_face).sum()
}

/// What the faces of a node pull at it by their elastic stress [N].
pub(crate) fn pull_at(cloth: &Cloth, forces: &Forces, n: NodeId) -> Vec3 {
    let pull = |c: CornerId| {
        let face = c.face();
        let (u, v, twice) = threads(cloth, face);
        let across = cloth.mesh.uv(c.prev()) - cloth.mesh.uv(c.next());
        let slope = Vec2::new(-across.y, across.x) / twice;
        let stressed = times(forces.face(face, &cloth.x).stress, slope);
        (u * stressed.x + v * stressed.y) * (-0.5 * twice.abs())
    };
    cloth.mesh.fan(n).map(pull).sum()
}

/// q at a distance from a tip [m].
fn within(distance: f64, radius: f64) -> f64 {
    (2.0 * (1.0 - distance / radius)).clamp(0.0, 1.0)
}

/// A place behind a tip where a bond holds its lips.
struct Held {
    /// How far behind, along the lip [m].
    way: f64,
    /// How wide it is open [m].
    width: f64,
    /// Where.
    uv: Vec2,
    /// From one lip to the other [m].
    apart: Vec3,
    /// F: what the bond pulls [N].
    pull: Vec3,
    /// G: what tearing cost there per length [N].
    cost: f64,
}

/// All bonds, and where among them that of a node is: lips ask for many.
pub(super) struct Bonded<'a> {
    places: Vec<u32>,
    bonds: Vec<&'a Bond>,
}

impl<'a> Bonded<'a> {
    pub fn of(cloth: &'a Cloth) -> Self {
        let bonds: Vec<&Bond> = cloth.bonds.iter().collect();
        let mut places = vec![u32::MAX; cloth.mesh.node_count()];
        (0..).zip(&bonds).for_each(|(k, bond)| places[bond.node.index()] = k);
        Self { places, bonds }
    }

    fn at(&self, n: NodeId) -> Option<&'a Bond> {
        self.bonds.get(self.places[n.index()] as usize).copied()
    }
}

impl Lips {
    /// Those behind a tip.
    pub fn of(cloth: &Cloth, n: NodeId) -> Self {
        let mesh = &cloth.mesh;
        let border = star(mesh, n).filter(|&(e, _)| mesh.is_border_edge(e));
        let first = border.flat_map(|(e, _)| mesh.edge_nodes(e)).filter(|&end| end != n).collect();
        let mut lips = Self { bonded: Vec::with_capacity(ROOM), passed: Vec::with_capacity(ROOM), first };
        // A bond is known by the node that was split off, which may be on either lip.
        for (before, sign) in [(false, 1.0), (true, -1.0)] {
            let (mut at, mut way) = (n, 0.0);
            while let Some(next) = beside_on_lip(cloth, at, before) {
                lips.passed.push(next);
                if cloth.weak[next] {
                    break;
                }
                way += mesh.node_uv(next).distance(mesh.node_uv(at));
                at = next;
                if let Some(bond) = cloth.bonds.of(at) {
                    lips.bonded.push((at, mesh.node_uv(at), way, sign));
                    lips.passed.extend([bond.node, bond.from]);
                }
            }
        }
        lips.bonded.sort_by(|a, b| a.2.total_cmp(&b.2));
        lips
    }

    /// All nodes on the way, those at its ends, and those that bonds lead to: as long as none of them is edited it is the same, if the tip isn't edited either.
    pub fn passed(&self) -> impl Iterator<Item = NodeId> {
        self.passed.iter().copied()
    }

    /// True if they are held beside the tip by a bond that hasn't begun to give way.
    pub fn hold_fast(&self, bonds: &Bonded<'_>) -> bool {
        self.first.iter().any(|&end| bonds.at(end).is_some_and(Bond::is_fast))
    }

    /// Z of a tip with its ϱ [m] that would pay `price` [N] to go on, by what holds the lips behind it.
    pub fn zone(&self, cloth: &Cloth, (n, radius): (NodeId, f64), bonds: &Bonded<'_>, price: f64) -> f64 {
        let (at, held) = (cloth.mesh.node_uv(n), self.held(cloth, n, bonds));
        let mut sum = 0.0;
        for (k, here) in held.iter().enumerate().skip(1) {
            let (before, after) = (&held[k - 1], held.get(k + 1).unwrap_or(here));
            let slope = (after.apart - before.apart) * inverse_or_zero(after.way - before.way);
            sum += here.pull.dot(slope) * (1.0 / here.cost - within(here.uv.distance(at), radius) / price);
        }
        sum
    }

    /// What holds them, from the tip on, which is the first, to where they are widest apart.
    fn held(&self, cloth: &Cloth, n: NodeId, bonds: &Bonded<'_>) -> Vec<Held> {
        let mut held = Vec::with_capacity(1 + self.bonded.len());
        let uv = cloth.mesh.node_uv(n);
        held.push(Held { way: 0.0, width: 0.0, uv, apart: Vec3::ZERO, pull: Vec3::ZERO, cost: 1.0 });
        for &(at, uv, way, sign) in &self.bonded {
            let Some(bond) = bonds.at(at) else { continue };
            let apart = (cloth.x[bond.from] - cloth.x[bond.node]) * sign;
            let width = apart.length();
            held.push(Held { way, width, uv, apart, pull: apart * bond.stiffness(width), cost: bond.cost });
        }
        // Beyond that it is the zone of the tip at the other end.
        let widest = (0..held.len()).max_by(|&a, &b| held[a].width.total_cmp(&held[b].width));
        held.truncate(1 + widest.unwrap_or(0));
        held
    }
}

/// The node after one on a torn border, or the one before it.
fn beside_on_lip(cloth: &Cloth, n: NodeId, before: bool) -> Option<NodeId> {
    let mesh = &cloth.mesh;
    let c = if before { mesh.fan(n).last()?.prev() } else { mesh.fan(n).next()? };
    let e = mesh.edge(c);
    (mesh.is_border_edge(e) && cloth.torn[e]).then(|| mesh.node(if before { c } else { c.next() }))
}

/// True if a node is on a border that no tear has made.
fn on_own_border(cloth: &Cloth, n: NodeId) -> bool {
    cloth.mesh.is_border_node(n) && star(&cloth.mesh, n).any(|(e, _)| cloth.mesh.is_border_edge(e) && !cloth.torn[e])
}

/// The faces with a corner within a distance of a node, on one patch of material coordinates.
pub(crate) fn faces_within(mesh: &Mesh, n: NodeId, radius: f64) -> Vec<FaceId> {
    let at = mesh.node_uv(n);
    // Room at once: threads that ask for more and more memory wait for each other.
    let mut found = Vec::with_capacity(ROOM);
    found.extend(mesh.fan(n).map(|c| c.face()));
    let mut known = Marks::of(mesh.face_count(), found.iter().copied());
    let mut next = 0;
    while next < found.len() {
        for c in found[next].corners() {
            let Some(twin) = mesh.twin(c).filter(|&twin| goes_on(mesh, c, twin)) else { continue };
            let near = twin.face().corners().into_iter().any(|c| mesh.uv(c).distance(at) < radius);
            if near && known.add(twin.face()) {
                found.push(twin.face());
            }
        }
        next += 1;
    }
    found
}
