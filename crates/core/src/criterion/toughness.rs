//! Strength and toughness: a tear starts where cloth is loaded to its strength along a line, and runs on where the energy that it sets free
//! pays for the yarns it breaks. The load does not depend on the mesh.
//!
//! **At a tip**: ω = max(J·d / (G_c(d) f) + Z, N̄(d) / (R(d) f)), along the d that makes J·d / (G_c(d) f) largest
//!
//! J_k = Σ A [(FᵀF S)_kj − W δ_kj] ∂q/∂X_j,  q = clamp(2 (1 − r / ϱ), 0, 1)
//!
//! G_c(d) = G_warp |d·u| + G_weft |d·v|: yarns that the tear counts out
//!
//! Z = Σ F·δ′ (1 / G − q / (G_c(d) f)), over the bonds behind the tip
//!
//! **Elsewhere**: ω = N̄ / (R f), the largest of some directions, at nodes away from tips
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | J | `release` | N = J/m | energy set free per length as the tip goes on, by direction |
//! | F, S | | 1, N/m | what the material has become, and its elastic stress (second Piola-Kirchhoff) of a face |
//! | W, A | | J/m², m² | stored energy per area, and area |
//! | q | | 1 | one around the tip, falling to zero at the distance ϱ; zero on the cloth's own border |
//! | ϱ | `radius` | m | max(4 h, ℓ), at most half of the way to another tip, for the mean edge h |
//! | d | | 1 | direction of the tear (unit, material): yarn directions within 45° of the tip's, the tip's own, and 45° to both sides |
//! | F, δ′ | `zone_of` | N, 1 | pull of a bond, and how much wider its lips get per length away from the tip |
//! | G | | N | what tearing cost where that bond is, f included |
//! | G_weft, G_warp | [`Toughness`] | N | energy per length of tear that breaks weft, or warp, yarns |
//! | N̄ | `mean_load` | N/m | load per width across the line, mean over the length ℓ: from a border or tip inward, elsewhere half to each side |
//! | R | [`Strengths`] | N/m | strength by direction of the tear |
//! | ℓ | `length` | m | G_c / (π W_b) · c: strength and toughness together fix it. W_b is the energy per area at which a strip breaks, c how much a sheet that shears easily lowers it (1 if it is isotropic) |
//! | f | | 1 | [resistance](crate::tear::Resistance), on both |
//!
//! Between yarn directions J·d / G_c(d) has no maximum of its own (it is a ratio of two linear functions of tan φ), so the candidates hold the best
//! line exactly. The corners of G_c lock tears to yarns, as in real cloth.
//!
//! J is the same around every contour as long as nothing acts on the lips between them. Bonds do: each takes F·δ′ of the energy on its way to the tip, so those that aren't all within ϱ, as in trousers, whose lips are held until they
//! are far apart, leave too little to be seen, and the load rose until it was enough; by how much depended on the mesh. What they take therefore counts as well, each by what its own yarns cost: across stronger yarns the cost at the tip alone says nothing
//! of what is spent behind it. As yarns give way steadily the sum over all bonds is one, and nothing is left for the tip itself.
//!
//! Starts: none in a step in which a tip goes on, one in a step, none within 1.2 ℓ ahead of a tip (√(c₁₁/c₃₃) times that beside it): there the tip decides, unless it can't go on. Above three times the strength
//! a tear starts in every round, and while tips go on elsewhere.
//! Loads are per width of cloth at rest, as a testing machine has them, from stress that is smoothed over the faces of each node.
//!
//! What is torn is held by a [`Bond`](crate::potential::Bond) that spends G_c Δa as the lips open. In the k-th round of a step a tip goes on by an edge if its energy pays for
//! k of them (one more while the bond behind it hasn't begun to give way, since that energy is still to come), or if the load ahead of it is above the strength.
//!
//! Source: J by Rice 1968, who has F δ′ for cohesive zones too, as an integral over faces (Shih, Moran and Nakamura 1986); the rule as a whole was found by experiment, see
//! `docs/toughness.md`. Limits: bending and inertia are left out of J; needs a model with stress in faces.

use super::smooth::{Numbered, Smooth, goes_on, load, mean_over_fan, metric, threads};
use super::{Criterion, Strengths, View, star};
use crate::cloth::{Cloth, Touched};
use crate::fabric::{Fabric, Strength, StrongYarns, Toughness as Energies};
use crate::math::{Sym2, Vec2, Vec3, atan2, inverse_or_zero, sin_cos};
use crate::parallel;
use crate::potential::{Bond, Forces};
use crate::tear::{Part, Request, heading};
use ripstop_mesh::{CornerId, FaceId, Id, Mesh, NodeId};
use std::collections::{HashMap, HashSet};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};
use std::hash::BuildHasherDefault;

/// Strength, toughness and the length between them.
#[derive(Clone, Debug)]
pub struct Toughness {
    /// Required strength.
    pub strengths: Strengths,
    /// Energy per length of tear.
    pub energies: Energies,
    /// ℓ [m].
    pub length: f64,
    /// How far a tip's influence on stress reaches beside it, over ahead of it.
    pub broad: f64,
    /// Mean edge at the start, or what edges are made finer to [m].
    edge: f64,
    /// Tips that were looked at in this step, as long as all around them is as it was.
    known: HashMap<NodeId, Known, BuildHasherDefault<Numbered>>,
    /// What J and Z of each tip are sums over, as long as the mesh around it and along its lips is as it was.
    rings: HashMap<NodeId, Ring, BuildHasherDefault<Numbered>>,
}

/// What J and Z of a tip are sums over.
#[derive(Clone, Debug, PartialEq)]
struct Ring {
    /// ϱ [m].
    radius: f64,
    /// Faces in which q changes, with ∇q [1/m] and their area [m²].
    faces: Vec<(FaceId, Vec2, f64)>,
    lips: Lips,
}

/// The way along both lips behind a tip.
#[derive(Clone, Debug, Default, PartialEq)]
struct Lips {
    /// Nodes that had a bond when they were passed: later ones come with an edit. How far behind they are [m], and the sign of their lip.
    bonded: Vec<(NodeId, f64, f64)>,
    /// All nodes on the way and those at its ends: as long as none of them is edited it is the same.
    passed: Vec<NodeId>,
}

/// What is known of a tip.
#[derive(Clone, Debug)]
struct Known {
    /// Where it was [m].
    place: Vec3,
    /// ω by energy and by load.
    ratios: [f64; 2],
    /// Direction in which it goes on.
    d: Vec2,
    /// Nodes of the bonds behind it.
    bonded: Vec<NodeId>,
}

/// ϱ in mean edges.
const RADIUS: f64 = 4.0;
/// How far from tips nothing starts, in ℓ.
const SHADOW: f64 = 1.2;
/// Load over strength from which a tear starts in every round, also while tips go on elsewhere: a hand that moves by more than an edge in a step overtakes them.
const OVERLOAD: f64 = 3.0;
/// How much more the stretch across a line may be than that of the longest edge.
const NEARLY: f64 = 1.5;
/// How far tips reach beside them at most, over ahead of them.
const BROADEST: f64 = 8.0;
/// Nodes that are looked at one after the other, with what is known of their neighbours.
const STARTS: usize = 256;
/// Faces around a tip that there is room for at first.
const ROOM: usize = 224;
/// Directions that a start tries besides those of the yarns.
const TRIES: usize = 8;

impl Toughness {
    /// By these properties of a fabric, for a cloth as it is at the start.
    ///
    /// # Errors
    /// The key of the fabric that is missing.
    pub fn of(fabric: &Fabric, cloth: &Cloth) -> Result<Self, &'static str> {
        let strength = fabric.strength.ok_or("strength")?;
        let energies = fabric.toughness.ok_or("toughness")?;
        let (length, broad) = length_of(fabric, strength, energies);
        Ok(Self {
            strengths: strength.by_tear(),
            energies,
            length,
            broad,
            edge: cloth.mean_edge(),
            known: HashMap::default(),
            rings: HashMap::default(),
        })
    }

    /// The same for cloth whose edges are as long as this where it tears [m].
    pub fn finer(self, edge: f64) -> Self {
        Self { edge, ..self }
    }

    /// The same of cloth that is stronger and tougher by a factor: ℓ stays.
    pub fn stronger(mut self, factor: f64) -> Self {
        self.strengths = self.strengths.stronger(factor);
        let Energies { weft, warp, grid } = self.energies;
        self.energies = Energies { weft: weft * factor, warp: warp * factor, grid };
        self
    }

    /// G_c of a tear from `at` over `way` [m] of material: what its yarns cost per length [N].
    fn cost(&self, at: Vec2, way: Vec2) -> f64 {
        let length = way.length();
        let Energies { weft, warp, grid } = self.energies;
        let yarns = |from: f64, by: f64| match grid {
            None => by.abs(),
            Some(grid) => strong(grid, from, by),
        };
        (warp * yarns(at.x, way.x) + weft * yarns(at.y, way.y)) / length
    }

    /// The directions in which a tip may go on.
    fn directions(heading: Vec2) -> impl Iterator<Item = Vec2> {
        let (sin, cos) = sin_cos(FRAC_PI_4);
        let turned = |s: f64| Vec2::new(cos * heading.x - s * heading.y, s * heading.x + cos * heading.y);
        let yarns = [Vec2::X, Vec2::NEG_X, Vec2::Y, Vec2::NEG_Y];
        let near = yarns.into_iter().filter(move |yarn| yarn.dot(heading) > cos - 1e-9);
        near.chain([heading, turned(sin), turned(-sin)])
    }

    /// ω of a tip by energy and by load, and the direction in which it goes on.
    fn tip(&self, view: View<'_>, n: NodeId, ring: &Ring) -> Option<Known> {
        let heading = heading(&view.cloth.mesh, n)?;
        let release = released(view, ring);
        let mut best: Option<(f64, Vec2)> = None;
        for d in Self::directions(heading) {
            let ratio = release.dot(d) / self.price(view, n, d);
            // Straight on, or along a yarn, unless something else is better by more than rounding.
            if best.is_none_or(|(most, _)| ratio > most + 1e-9 * most.abs()) {
                best = Some((ratio, d));
            }
        }
        let (ratio, d) = best?;
        let (zone, bonded) = zone(view.cloth, n, ring, self.price(view, n, d));
        Some(Known { place: view.cloth.x[n], ratios: [ratio + zone, self.by_load(view, n, d)], d, bonded })
    }

    /// Looks at the tips around which something has changed since the last round, or at all of them.
    fn look_at(&mut self, view: View<'_>, tips: &[NodeId]) {
        let place = |n: NodeId| view.cloth.x[n];
        // Rounds in which nothing moves follow each other.
        self.known.retain(|&n, known| view.round > 0 && known.place == place(n));
        let new: Vec<NodeId> = tips.iter().copied().filter(|n| !self.known.contains_key(n)).collect();
        let found = parallel::map(&new, 1, |tips| {
            let &n = tips.first()?;
            let (seen, unseen) = match self.rings.get(&n) {
                Some(ring) => (self.tip(view, n, ring), None),
                None => {
                    let ring = self.ring(view.cloth, n);
                    (self.tip(view, n, &ring), Some(ring))
                }
            };
            Some((n, seen, unseen))
        });
        for (n, seen, unseen) in found.into_iter().flatten() {
            self.known.extend(seen.map(|seen| (n, seen)));
            self.rings.extend(unseen.map(|ring| (n, ring)));
        }
    }

    /// ω of a tip that goes on in this round, and its direction; of one that was [looked at](Self::look_at).
    fn goes_on(&self, view: View<'_>, n: NodeId) -> Option<(f64, Vec2)> {
        let &Known { ratios: [energy, load], d, .. } = self.known.get(&n)?;
        // As long as the bond behind it only takes up its load, the energy that the last edge cost is still to come.
        let paid = if holds_fast(view.cloth, n) { view.round.max(1) } else { view.round };
        (energy > f64::from(paid + 1) || load > 1.0).then(|| (energy.max(load), d))
    }

    /// ϱ of a tip [m].
    fn radius(&self, cloth: &Cloth, n: NodeId) -> f64 {
        let at = cloth.mesh.node_uv(n);
        let others = cloth.tips.iter().filter(|tip| tip.node != n);
        let apart = others.map(|tip| cloth.mesh.node_uv(tip.node).distance(at)).fold(f64::INFINITY, f64::min);
        (RADIUS * self.edge).max(self.length).min((0.5 * apart).max(1.5 * self.edge))
    }

    /// G_c f of the next edge along `d` [N].
    fn price(&self, view: View<'_>, n: NodeId, d: Vec2) -> f64 {
        self.cost(view.cloth.mesh.node_uv(n), d * self.edge) * view.resist(n, d.perp())
    }

    fn by_load(&self, view: View<'_>, n: NodeId, d: Vec2) -> f64 {
        let mut smooth = Smooth::new(view);
        let (sum, count) = smooth.line(n, d, self.samples(1.0));
        if count == 0 { 0.0 } else { sum / f64::from(count) / self.required(view, n, d) }
    }

    /// R f of a line along `d` [N/m].
    fn required(&self, view: View<'_>, n: NodeId, d: Vec2) -> f64 {
        let d = if d.y < 0.0 || (d.y == 0.0 && d.x < 0.0) { -d } else { d };
        self.strengths.at(atan2(d.y, d.x)) * view.resist(n, d.perp())
    }

    /// Places along a share of ℓ: how many, and the distance between them [m].
    fn samples(&self, share: f64) -> (u32, f64) {
        let length = share * self.length;
        let count = (2.0 * length / self.edge).ceil().clamp(2.0, 32.0);
        (count as u32, length / count)
    }

    /// The faces around a tip in which q changes.
    fn ring(&self, cloth: &Cloth, n: NodeId) -> Ring {
        let mesh = &cloth.mesh;
        let at = mesh.node_uv(n);
        let radius = self.radius(cloth, n);
        let weight = |c: CornerId| {
            let near = within(mesh.uv(c).distance(at), radius);
            if near > 0.0 && on_own_border(cloth, mesh.node(c)) { 0.0 } else { near }
        };
        let changes = |face: FaceId| {
            let corners = face.corners();
            let q = corners.map(weight);
            if q[0] == q[1] && q[1] == q[2] {
                return None;
            }
            let uv = corners.map(|c| mesh.uv(c));
            let (p, r) = (uv[1] - uv[0], uv[2] - uv[0]);
            let twice = p.perp_dot(r);
            let slope =
                Vec2::new(r.y * (q[1] - q[0]) - p.y * (q[2] - q[0]), p.x * (q[2] - q[0]) - r.x * (q[1] - q[0])) / twice;
            Some((face, slope, 0.5 * twice.abs()))
        };
        let around = faces_within(mesh, n, radius);
        let mut faces = Vec::with_capacity(around.len());
        faces.extend(around.into_iter().filter_map(changes));
        Ring { radius, faces, lips: Lips::of(cloth, n) }
    }

    /// The directions that a start tries, with the strength there [N/m].
    fn tried(&self) -> [(Vec2, f64); 2 * TRIES] {
        std::array::from_fn(|k| {
            let angle = PI * k as f64 / (2 * TRIES) as f64;
            let (sin, cos) = sin_cos(angle);
            (Vec2::new(cos, sin), self.strengths.at(angle))
        })
    }

    /// No line across a node is loaded more there [N/m].
    fn largest(&self, smooth: &mut Smooth<'_>, n: NodeId) -> f64 {
        let (stress, metric) = smooth.at(n);
        stress.largest().0 * metric.largest().0.max(0.0).sqrt()
    }

    /// The best line of a node where nothing has torn, of those that are loaded to `least` of their strength there: ω and its direction.
    fn start(
        &self,
        view: View<'_>,
        smooth: &mut Smooth<'_>,
        tried: &[(Vec2, f64)],
        n: NodeId,
        least: f64,
    ) -> Option<(f64, Vec2)> {
        let mut best: Option<(f64, Vec2)> = None;
        if self.largest(smooth, n) < least * self.strengths.least() * view.resistance.least() {
            return None;
        }
        let (stress, metric) = smooth.at(n);
        for &(d, strength) in tried {
            let required = strength * view.resist(n, d.perp());
            if load(stress, metric, d.perp()) < least * required {
                continue;
            }
            let ratio = self.around(smooth, n, d) / required;
            if best.is_none_or(|(most, _)| ratio > most * (1.0 + 1e-9)) {
                best = Some((ratio, d));
            }
        }
        best
    }

    /// Mean load across a line through a node [N/m], half of ℓ to each side; what is outside is taken on the other side.
    fn around(&self, smooth: &mut Smooth<'_>, n: NodeId, d: Vec2) -> f64 {
        let (count, step) = self.samples(0.5);
        let [ahead, behind] = [d, -d].map(|d| smooth.line(n, d, (count, step)));
        let missing = |side: (f64, u32)| count - side.1;
        let mut whole = |d: Vec2, less: u32| smooth.line(n, d, (count + less, step));
        let (ahead, behind) = match (missing(ahead), missing(behind)) {
            (0, less) if less > 0 => (whole(d, less), behind),
            (less, 0) if less > 0 => (ahead, whole(-d, less)),
            _ => (ahead, behind),
        };
        let places = ahead.1 + behind.1;
        if places == 0 { 0.0 } else { (ahead.0 + behind.0) / f64::from(places) }
    }

    /// True if one of these tips, by places and headings, is so near that it is the tip that decides.
    fn in_shadow(&self, cloth: &Cloth, tips: &[(Vec2, Vec2)], n: NodeId) -> bool {
        let at = cloth.mesh.node_uv(n);
        let reach = SHADOW * self.length.max(self.edge);
        tips.iter().any(|&(tip, ahead)| {
            let off = at - tip;
            let (along, across) = (off.dot(ahead) / reach, off.perp_dot(ahead) / (reach * self.broad));
            along * along + across * across < 1.0
        })
    }

    /// Every node around a face that may be loaded to `least` of its strength.
    fn hot(&self, view: View<'_>, least: f64) -> Vec<NodeId> {
        let longest = 1.0 + view.fields.largest_edge_strain.max(0.0);
        let enough = least * self.strengths.least() * view.resistance.least() / longest;
        let mesh = &view.cloth.mesh;
        // The sum is no less than the largest.
        let hot = |s: Sym2| s.xx.max(s.yy) + s.xy.abs() >= enough && s.largest().0 >= enough;
        let count = view.fields.face_stress.len();
        let mut found = vec![Vec::new(); count.div_ceil(parallel::CHUNK)];
        parallel::for_each_chunk(&mut found, 1, |chunk, found| {
            let faces = (chunk * parallel::CHUNK..count.min((chunk + 1) * parallel::CHUNK)).map(FaceId::new);
            found[0].extend(faces.filter(|&f| hot(view.fields.face_stress[f]) && !mesh.is_retired_face(f)));
        });
        if found.iter().all(Vec::is_empty) {
            return Vec::new();
        }
        let mut beside = vec![false; mesh.node_count()];
        found.iter().flatten().flat_map(|&f| mesh.face_nodes(f)).for_each(|n| beside[n.index()] = true);
        beside.iter().enumerate().filter(|(_, beside)| **beside).map(|(n, _)| NodeId::new(n)).collect()
    }

    /// True if such a node may be loaded so itself. Single faces tremble, and hardly any edge is as long as the longest; a node has the mean of its faces, and their edges.
    fn loaded(&self, view: View<'_>, n: NodeId, least: f64) -> bool {
        let mesh = &view.cloth.mesh;
        let [mean] = mean_over_fan(view.cloth, n, |face| [view.fields.face_stress[face]]);
        let edges = mesh.fan(n).flat_map(|c| [c, c.next(), c.prev()]).map(|c| mesh.edge(c));
        let longest = 1.0 + edges.map(|e| view.fields.edge_strain[e]).fold(0.0, f64::max);
        NEARLY * mean.largest().0 * longest >= least * self.strengths.least() * view.resistance.least()
    }
}

/// ℓ [m], and how far tips reach beside them over ahead of them.
fn length_of(fabric: &Fabric, strength: Strength, energies: Energies) -> (f64, f64) {
    let by_angle = [(0.0, strength.weft, energies.weft), (FRAC_PI_2, strength.warp, energies.warp)];
    let shear = fabric.law().at_rest().shear;
    let sides = by_angle.map(|(angle, load, toughness)| {
        let (energy, stretch) = fabric.energy_up_to(angle, load);
        // Young's modulus over what shearing leaves of it at a tip (Sih, Paris and Irwin 1965, both directions alike).
        let ratio = load / stretch / shear.max(f64::MIN_POSITIVE);
        (toughness / (PI * energy) / (0.5 * (1.0 + 0.5 * ratio)).sqrt().max(1.0), ratio)
    });
    let [(a, p), (b, q)] = sides;
    ((a * b).sqrt(), (0.5 * (p + q)).sqrt().clamp(1.0, BROADEST))
}

/// How many widths of plain cloth the yarns between `from` and `from + by` are worth [m].
fn strong(StrongYarns { spacing, width, factor }: StrongYarns, from: f64, by: f64) -> f64 {
    // Width of strong yarns between zero and a place; they are centred on multiples of the spacing.
    let up_to = |place: f64| {
        let cells = (place / spacing + 0.5).floor();
        let inside = place - cells * spacing;
        cells * width + (inside + 0.5 * width).clamp(0.0, width)
    };
    by.abs() + (factor - 1.0) * (up_to(from + by) - up_to(from)).abs()
}

#[inline]
fn times(t: Sym2, v: Vec2) -> Vec2 {
    Vec2::new(t.xx * v.x + t.xy * v.y, t.xy * v.x + t.yy * v.y)
}

/// J, of the faces in which q changes [N].
fn released(view: View<'_>, ring: &Ring) -> Vec2 {
    let of_face = |&(face, slope, area): &(FaceId, Vec2, f64)| {
        let (stress, energy) = view.forces.face(face, &view.cloth.x);
        // (FᵀF S) ∇q.
        times(metric(view.cloth, face), times(stress, slope)) * area - slope * energy
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
        let stressed = times(forces.face(face, &cloth.x).0, slope);
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
    /// Where.
    uv: Vec2,
    /// From one lip to the other [m].
    apart: Vec3,
    /// F: what the bond pulls [N].
    pull: Vec3,
    /// G: what tearing cost there per length [N].
    cost: f64,
}

/// Z of a tip that would pay `price` [N] to go on, and the nodes of the bonds behind it.
fn zone(cloth: &Cloth, n: NodeId, ring: &Ring, price: f64) -> (f64, Vec<NodeId>) {
    let (held, bonded) = zone_of(cloth, n, &ring.lips);
    let at = cloth.mesh.node_uv(n);
    let mut sum = 0.0;
    for (k, here) in held.iter().enumerate().skip(1) {
        let (before, after) = (&held[k - 1], held.get(k + 1).unwrap_or(here));
        let slope = (after.apart - before.apart) * inverse_or_zero(after.way - before.way);
        sum += here.pull.dot(slope) * (1.0 / here.cost - within(here.uv.distance(at), ring.radius) / price);
    }
    (sum, bonded)
}

/// What holds the lips behind a tip, from the tip on, which is the first, to where they are widest apart; and the nodes of all bonds of these lips.
fn zone_of(cloth: &Cloth, n: NodeId, lips: &Lips) -> (Vec<Held>, Vec<NodeId>) {
    let mut held = vec![Held { way: 0.0, uv: cloth.mesh.node_uv(n), apart: Vec3::ZERO, pull: Vec3::ZERO, cost: 1.0 }];
    let mut bonded = Vec::new();
    for &(at, way, sign) in &lips.bonded {
        let Some(bond) = cloth.bonds.of(at) else { continue };
        bonded.extend([bond.node, bond.from]);
        let apart = (cloth.x[bond.from] - cloth.x[bond.node]) * sign;
        let pull = apart * bond.stiffness(apart.length());
        held.push(Held { way, uv: cloth.mesh.node_uv(at), apart, pull, cost: bond.cost });
    }
    held.sort_by(|a, b| a.way.total_cmp(&b.way));
    // Beyond that it is the zone of the tip at the other end.
    let widest = (0..held.len()).max_by(|&a, &b| held[a].apart.length().total_cmp(&held[b].apart.length()));
    held.truncate(1 + widest.unwrap_or(0));
    (held, bonded)
}

impl Lips {
    /// Those behind a tip.
    fn of(cloth: &Cloth, n: NodeId) -> Self {
        let mesh = &cloth.mesh;
        let mut lips = Self::default();
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
                if cloth.bonds.of(at).is_some() {
                    lips.bonded.push((at, way, sign));
                }
            }
        }
        lips
    }
}

/// The node after one on a torn border, or the one before it.
fn beside_on_lip(cloth: &Cloth, n: NodeId, before: bool) -> Option<NodeId> {
    let mesh = &cloth.mesh;
    let c = if before { mesh.fan(n).last()?.prev() } else { mesh.fan(n).next()? };
    let e = mesh.edge(c);
    (mesh.is_border_edge(e) && cloth.torn[e]).then(|| mesh.node(if before { c } else { c.next() }))
}

/// True if the lips beside a tip are held by a bond that hasn't begun to give way.
fn holds_fast(cloth: &Cloth, n: NodeId) -> bool {
    let lips = star(&cloth.mesh, n).filter(|&(e, _)| cloth.mesh.is_border_edge(e));
    let mut ends = lips.flat_map(|(e, _)| cloth.mesh.edge_nodes(e)).filter(|&end| end != n);
    ends.any(|end| cloth.bonds.of(end).is_some_and(Bond::is_fast))
}

/// True if a node is on a border that no tear has made.
fn on_own_border(cloth: &Cloth, n: NodeId) -> bool {
    cloth.mesh.is_border_node(n) && star(&cloth.mesh, n).any(|(e, _)| cloth.mesh.is_border_edge(e) && !cloth.torn[e])
}

/// The faces with a corner within a distance of a node, on one patch of material coordinates.
pub(crate) fn faces_within(mesh: &Mesh, n: NodeId, radius: f64) -> Vec<FaceId> {
    let at = mesh.node_uv(n);
    // Room at once: threads that ask for more and more memory wait for each other.
    let (mut found, mut known) =
        (Vec::with_capacity(ROOM), HashSet::with_capacity_and_hasher(ROOM, BuildHasherDefault::<Numbered>::default()));
    found.extend(mesh.fan(n).map(|c| c.face()));
    known.extend(found.iter().copied());
    let mut next = 0;
    while next < found.len() {
        for c in found[next].corners() {
            let Some(twin) = mesh.twin(c).filter(|&twin| goes_on(mesh, c, twin)) else { continue };
            let near = twin.face().corners().into_iter().any(|c| mesh.uv(c).distance(at) < radius);
            if near && known.insert(twin.face()) {
                found.push(twin.face());
            }
        }
        next += 1;
    }
    found
}

impl Criterion for Toughness {
    fn name(&self) -> &'static str {
        "toughness"
    }

    fn wants_stress(&self) -> bool {
        true
    }

    fn wants_balance(&self) -> bool {
        true
    }

    fn find(&mut self, view: View<'_>, requests: &mut Vec<Request>) {
        let cloth = view.cloth;
        let mut living = Vec::new();
        let tips: Vec<NodeId> = cloth.tips.iter().map(|tip| tip.node).filter(|&n| view.can_part(n)).collect();
        self.look_at(view, &tips);
        let going = parallel::map(&tips, 1, |tips| {
            let &node = tips.first()?;
            let part = self.goes_on(view, node).map(|(ratio, d)| Part { node, pull: d.perp(), ratio });
            part.is_none_or(|part| (view.opens)(&part)).then_some((node, part))
        });
        for (node, part) in going.into_iter().flatten() {
            living.push(node);
            requests.extend(part.map(Request::Part));
        }
        let first = view.round == 0 && requests.is_empty();
        let least = if first { 1.0 } else { OVERLOAD };
        let heading = |&tip: &NodeId| heading(&cloth.mesh, tip).map(|ahead| (cloth.mesh.node_uv(tip), ahead));
        let (living, tried): (Vec<_>, _) = (living.iter().filter_map(heading).collect(), self.tried());
        let starts = parallel::map(&self.hot(view, least), STARTS, |nodes| {
            let mut smooth = Smooth::new(view);
            let may = |n: NodeId| {
                let whole = !cloth.weak[n] && view.can_part(n);
                whole && self.loaded(view, n, least) && !self.in_shadow(cloth, &living, n)
            };
            // The most loaded first: who is loaded less than the best line so far on its own is not asked for lines.
            let (mut found, mut most) = (Vec::new(), least);
            let mut asked: Vec<(f64, NodeId)> =
                nodes.iter().filter(|&&n| may(n)).map(|&n| (self.largest(&mut smooth, n), n)).collect();
            asked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            for (_, node) in asked {
                let best = self.start(view, &mut smooth, &tried, node, most).filter(|(ratio, _)| *ratio > least);
                let Some((ratio, d)) = best else { continue };
                most = most.max(ratio);
                found.push(Part { node, pull: d.perp(), ratio });
            }
            found
        });
        let mut found = starts.concat();
        found.sort_by(|a, b| b.ratio.total_cmp(&a.ratio).then(a.node.cmp(&b.node)));
        requests.extend(found.into_iter().find(|part| (view.opens)(part)).map(Request::Part));
    }

    fn spends(&self, view: View<'_>, part: &Part, at: Vec2, way: Vec2) -> Option<f64> {
        Some(self.cost(at, way) * view.resist(part.node, part.pull))
    }

    fn bonds(&self) -> bool {
        true
    }

    fn follow(&mut self, cloth: &Cloth, touched: &Touched) {
        // As far as stress is looked at from a tip, and beyond another tip with which it shares that.
        let reach = 2.0 * (RADIUS * self.edge).max(self.length) + 2.0 * self.edge;
        let places: Vec<Vec2> = touched.nodes.iter().map(|&n| cloth.mesh.node_uv(n)).collect();
        let near = |n: NodeId| places.iter().any(|place| place.distance(cloth.mesh.node_uv(n)) < reach);
        let edited = |n: &NodeId| touched.nodes.binary_search(n).is_ok();
        self.known.retain(|&n, known| !near(n) && !known.bonded.iter().any(edited));
        let mut marked = vec![false; cloth.mesh.node_count()];
        touched.nodes.iter().for_each(|n| marked[n.index()] = true);
        let led_on = |ring: &Ring| ring.lips.passed.iter().any(|n| marked[n.index()]);
        self.rings.retain(|&n, ring| cloth.weak[n] && !near(n) && !led_on(ring));
    }

    fn ratio(&self, view: View<'_>, request: &Request) -> f64 {
        let Request::Part(part) = request else { return 0.0 };
        if view.cloth.weak[part.node] {
            self.tip(view, part.node, &self.ring(view.cloth, part.node))
                .map_or(0.0, |known| known.ratios[0].max(known.ratios[1]))
        } else {
            self.start(view, &mut Smooth::new(view), &self.tried(), part.node, 1.0).map_or(0.0, |(ratio, _)| ratio)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use crate::integrator::{Implicit, ImplicitSettings};
    use crate::model::membrane;
    use crate::opening::{Through, cut};
    use crate::potential::Elasticity;
    use crate::simulation::Simulation;
    use crate::tear::{Fields, Resistance, Tearing};
    use crate::{Grip, Key};
    use ripstop_mesh::{ChangeLog, generate};

    const WIDTH: f64 = 0.1;

    fn fabric() -> Fabric {
        Fabric {
            elasticity: Some(Elasticity { weft: 2000.0, across: 40.0, warp: 2000.0, shear: 500.0 }.into()),
            strength: Some(Strength { weft: 100.0, warp: 100.0, bias: None }),
            toughness: Some(Energies { weft: 0.1, warp: 0.1, grid: None }),
            ..Fabric::default()
        }
    }

    /// A sheet with a slit to its middle, held by bonds all along, and pulled until they give way a little.
    fn bonded(mesh: Mesh, fabric: &Fabric) -> Cloth {
        let mut cloth = Cloth::flat(mesh, 0.2, Placement::default());
        let middle = Vec2::splat(0.5 * WIDTH);
        let mut log = ChangeLog::new();
        cut(&mut cloth, &[Vec2::new(0.0, middle.y), middle], 5e-4, &mut log);
        cloth.follow(&log);
        let on_slit = |n: &NodeId| cloth.mesh.node_uv(*n).distance(middle) > 1e-6 && heading(&cloth.mesh, *n).is_some();
        let slit: Vec<NodeId> = cloth
            .mesh
            .nodes()
            .filter(|n| (cloth.mesh.node_uv(*n).y - middle.y).abs() < 1e-9 && cloth.mesh.node_uv(*n).x < middle.x)
            .filter(on_slit)
            .collect();
        for (k, &node) in slit.iter().enumerate() {
            let same = |other: &&NodeId| cloth.mesh.node_uv(**other).distance(cloth.mesh.node_uv(node)) < 1e-9;
            if let Some(&from) = slit[..k].iter().find(same) {
                cloth.bonds.add(Bond::new(node, from, 0.05, (0.1, 1e-3)));
            }
        }
        assert!(cloth.bonds.iter().count() > 10);
        let side = |top: bool| {
            let at = if top { WIDTH } else { 0.0 };
            let nodes = cloth.mesh.nodes().filter(|&n| (cloth.mesh.node_uv(n).y - at).abs() < 1e-9);
            let shift = Vec3::Y * if top { 1e-3 } else { -1e-3 };
            let keys = [(0.0, Vec3::ZERO), (0.5, shift)];
            let keys = keys.map(|(time, shift)| Key { time, shift, turn: Vec3::ZERO });
            Grip::moving("side", &nodes.collect::<Vec<_>>(), &cloth, keys.to_vec())
        };
        let (low, high) = (side(false), side(true));
        let never = Toughness::of(fabric, &cloth).unwrap().stronger(1e9);
        let tearing = Tearing::new(never, Through::of(&cloth));
        let settings = ImplicitSettings { tolerance: 1e-6, newton: 3, ..ImplicitSettings::default() };
        let potentials = membrane(fabric, fabric.law(), &cloth);
        let mut simulation =
            Simulation::boxed(cloth, potentials, Box::new(Implicit::new(settings)), 0.02).tearing(tearing);
        simulation = simulation.grip(low).grip(high);
        for _ in 0..100 {
            simulation.step().unwrap();
        }
        simulation.cloth().clone()
    }

    #[test]
    fn it_does_not_matter_how_far_around_a_held_tip_one_looks() {
        let fabric = fabric();
        for mesh in [
            generate::grid(Vec2::splat(WIDTH), [41, 41]).unwrap(),
            generate::irregular(Vec2::splat(WIDTH), 0.0025, 1).unwrap(),
        ] {
            let cloth = bonded(mesh, &fabric);
            let forces = Forces::new(membrane(&fabric, fabric.law(), &cloth));
            let (fields, resistance) = (Fields::of(&cloth, &forces), Resistance::default());
            let view = View {
                cloth: &cloth,
                fields: &fields,
                resistance: &resistance,
                forces: &forces,
                round: 0,
                opens: &|_| true,
            };
            let tip = cloth.tips.iter().next().unwrap().node;
            let seen = [0.0025, 0.005, 0.0075].map(|edge| {
                let criterion = Toughness::of(&fabric, &cloth).unwrap().finer(edge);
                let ring = criterion.ring(view.cloth, tip);
                let Known { ratios, d, .. } = criterion.tip(view, tip, &ring).unwrap();
                assert!(d.distance(Vec2::X) < 1e-9, "{d}");
                (ratios[0], released(view, &ring).dot(d) / 0.1)
            });
            let [(near, alone), (wider, _), (wide, _)] = seen;
            // Bonds beyond the nearest contour take a fifth of the energy or more.
            assert!(alone < 0.8 * near, "{seen:?}");
            assert!((near / wide - 1.0).abs() < 0.03 && (wider / wide - 1.0).abs() < 0.03, "{seen:?}");
        }
    }

    #[test]
    fn what_is_remembered_of_a_tip_is_forgotten_when_its_lips_are_edited_however_far_behind() {
        let fabric = fabric();
        let mut cloth = bonded(generate::grid(Vec2::splat(WIDTH), [41, 41]).unwrap(), &fabric);
        let mut criterion = Toughness::of(&fabric, &cloth).unwrap();
        let tip = cloth.tips.iter().next().unwrap().node;
        let ring = criterion.ring(&cloth, tip);
        criterion.rings.insert(tip, ring);
        // Opens an edge straight up from a node, far enough from the tip for its ring.
        let mut open = |cloth: &mut Cloth, from: Vec2| {
            let at = |n: NodeId, place: Vec2| cloth.mesh.node_uv(n).distance(place) < 1e-9;
            let up = |n: NodeId| {
                star(&cloth.mesh, n)
                    .find(|&(e, _)| cloth.mesh.edge_nodes(e).iter().any(|&end| at(end, from + Vec2::Y * 0.0025)))
            };
            let (edge, _) = cloth.mesh.nodes().filter(|&n| at(n, from)).find_map(up).unwrap();
            let mut log = ChangeLog::new();
            cloth.mesh.open_edge(edge, &mut log);
            cloth.follow(&log);
            criterion.follow(cloth, &Touched::by(&cloth.mesh, &log));
            (criterion.rings.get(&tip).cloned(), criterion.ring(cloth, tip))
        };
        let (kept, anew) = open(&mut cloth, Vec2::new(0.09, 0.09));
        assert!(kept.is_some_and(|kept| kept == anew), "what is torn elsewhere is nothing to it");
        let lips = anew.lips;
        let (kept, anew) = open(&mut cloth, Vec2::new(0.01, 0.05));
        assert!(lips != anew.lips, "the lip goes on along the branch");
        assert!(kept.is_none());
    }
}
