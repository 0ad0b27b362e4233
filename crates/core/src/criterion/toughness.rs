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
//! a tear starts in every round, and while tips go on elsewhere. It starts at the best line that opens; nodes that are loaded less themselves than the best line so far aren't asked for lines.
//! Loads are per width of cloth at rest, as a testing machine has them, from stress that is smoothed over the faces of each node.
//!
//! What is torn is held by a [`Bond`](crate::potential::Bond) that spends G_c Δa as the lips open. In the k-th round of a step a tip goes on by an edge if its energy pays for
//! k of them (one more while the bond behind it hasn't begun to give way, since that energy is still to come), or if the load ahead of it is above the strength.
//!
//! Source: J by Rice 1968, who has F δ′ for cohesive zones too, as an integral over faces (Shih, Moran and Nakamura 1986); the rule as a whole was found by experiment, see
//! `docs/toughness.md`. Limits: bending and inertia are left out of J; needs a model with stress in faces.

use super::release::{Bonded, Lips, Ring, released};
use super::smooth::{Line, Smooth, load};
use super::{Criterion, Strengths, View};
use crate::cloth::{Cloth, Touched};
use crate::fabric::{Fabric, Strength, StrongYarns, Toughness as Energies};
use crate::math::{Vec2, Vec3, atan2, sin_cos};
use crate::parallel;
use crate::tear::{Part, Request};
use ripstop_mesh::{Column, Marks, NodeId};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

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
    /// What is kept of tips, in the order of their nodes.
    tips: Vec<Kept>,
}

/// What is kept of a tip.
#[derive(Clone, Debug)]
struct Kept {
    node: NodeId,
    /// What J is a sum over and where it may go on, as long as the mesh around it is as it was.
    ring: Option<(Ring, Vec<Way>)>,
    /// What Z is a sum over, as long as the mesh along its lips is as it was.
    lips: Option<Lips>,
    /// What is ahead of it, and in which direction that is, as long as the mesh there is as it was.
    ahead: Option<(Vec2, Line)>,
    /// What was found in this step, as long as all around it is as it was.
    known: Option<Known>,
}

impl Kept {
    fn nothing(node: NodeId) -> Self {
        Self { node, ring: None, lips: None, ahead: None, known: None }
    }

    /// What it asks for if it goes on in this round; of one that was [looked at](Toughness::look_at).
    fn goes_on(&self, round: u32) -> Option<Part> {
        let &Known { ratios: [energy, load], d, is_fast, .. } = self.known.as_ref()?;
        // As long as the bond behind it only takes up its load, the energy that the last edge cost is still to come.
        let paid = if is_fast { round.max(1) } else { round };
        let ratio = (energy > f64::from(paid + 1) || load > 1.0).then(|| energy.max(load))?;
        Some(Part { node: self.node, pull: d.perp(), ratio })
    }
}

/// A direction in which a tip may go on.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Way {
    /// Unit, material.
    d: Vec2,
    /// What the yarns of the next edge cost per length [N].
    cost: f64,
    /// R of plain cloth [N/m].
    strength: f64,
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
    /// The lips beside it are held by a bond that hasn't begun to give way.
    is_fast: bool,
}

/// Nodes around loaded faces. No node is loaded more than the most loaded of its faces, where stress and stretch are most in the same one.
#[derive(Default)]
struct Hot {
    nodes: Vec<NodeId>,
    /// The load of the most loaded such face around each node [N/m], zero around none; empty if there are none at all.
    most: Column<NodeId, f32>,
}

impl Hot {
    fn most(&self, n: NodeId) -> f32 {
        if self.most.is_empty() { 0.0 } else { self.most[n] }
    }
}

/// ϱ in mean edges.
const RADIUS: f64 = 4.0;
/// How far from tips nothing starts, in ℓ.
const SHADOW: f64 = 1.2;
/// Load over strength from which a tear starts in every round, also while tips go on elsewhere: a hand that moves by more than an edge in a step overtakes them.
const OVERLOAD: f64 = 3.0;
/// How much more a line at a node may be loaded than the mean of the node's faces, each by its most loaded line. Where more stress comes with more stretch it is less than that; where one face has the stress and those beside it are stretched without, it may be more.
const NEARLY: f64 = 1.5;
/// How far tips reach beside them at most, over ahead of them.
const BROADEST: f64 = 8.0;
/// Nodes that are looked at one after the other, with what is known of their neighbours.
const STARTS: usize = 64;
/// How many of the most loaded are looked at before the others.
const FIRST: usize = 128;
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
        Ok(Self { strengths: strength.by_tear(), energies, length, broad, edge: cloth.mean_edge(), tips: Vec::new() })
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

    /// Where a tip at `at` that points along `heading` may go on.
    fn ways(&self, at: Vec2, heading: Option<Vec2>) -> Vec<Way> {
        let way = |d: Vec2| {
            let up = if d.y < 0.0 || (d.y == 0.0 && d.x < 0.0) { -d } else { d };
            Way { d, cost: self.cost(at, d * self.edge), strength: self.strengths.at(atan2(up.y, up.x)) }
        };
        heading.into_iter().flat_map(Self::directions).map(way).collect()
    }

    /// Finds what is to be known of a tip, by what is kept of it or is found anew. ω by load is zero if the line ahead is known to be loaded to less than its strength, since none of its nodes are `loaded`.
    fn look_at(&self, view: View<'_>, kept: &mut Kept, bonds: &Bonded<'_>, loaded: Option<&Hot>) {
        let (cloth, n) = (view.cloth, kept.node);
        let (ring, ways) = kept.ring.get_or_insert_with(|| {
            let at = cloth.mesh.node_uv(n);
            let ring = Ring::of(cloth, n, self.radius(n, at, places_of_tips(cloth)));
            let ways = self.ways(at, ring.heading);
            (ring, ways)
        });
        let release = released(view, ring);
        let mut best: Option<(f64, f64, Way)> = None;
        for way in ways {
            // G_c f of the next edge [N].
            let price = way.cost * view.resist(n, way.d.perp());
            let ratio = release.dot(way.d) / price;
            // Straight on, or along a yarn, unless something else is better by more than rounding.
            if best.is_none_or(|(most, ..)| ratio > most + 1e-9 * most.abs()) {
                best = Some((ratio, price, *way));
            }
        }
        let Some((ratio, price, Way { d, strength, .. })) = best else { return };
        let lips = kept.lips.get_or_insert_with(|| Lips::of(cloth, n));
        let zone = lips.zone(cloth, (n, ring.radius), bonds, price);
        let ahead = kept.ahead.take().filter(|(along, _)| *along == d);
        let ahead = ahead.unwrap_or_else(|| (d, Line::of(&cloth.mesh, n, d, self.samples(1.0))));
        let (_, line) = kept.ahead.insert(ahead);
        let may = loaded.is_none_or(|loaded| line.nodes().any(|n| loaded.most(n) > 0.0));
        let load = if may { Smooth::new(view).mean_load(line, d) / (strength * view.resist(n, d.perp())) } else { 0.0 };
        let (place, ratios, is_fast) = (cloth.x[n], [ratio + zone, load], lips.hold_fast(bonds));
        kept.known = Some(Known { place, ratios, d, is_fast });
    }

    /// Looks at the tips, which are in order, around which something has changed since the last round, or at all of them.
    fn look(&mut self, view: View<'_>, tips: &[NodeId]) -> Option<Hot> {
        let mut before = std::mem::take(&mut self.tips).into_iter().peekable();
        let mut kept = |node: NodeId| {
            while before.next_if(|kept| kept.node < node).is_some() {}
            let mut kept = before.next_if(|kept| kept.node == node).unwrap_or_else(|| Kept::nothing(node));
            // Rounds in which nothing moves follow each other.
            kept.known = kept.known.filter(|known| view.round > 0 && known.place == view.cloth.x[node]);
            kept
        };
        let mut tips: Vec<Kept> = tips.iter().map(|&n| kept(n)).collect();
        // Later only few are looked at.
        let loaded = (view.round == 0).then(|| self.hot(view, 1.0));
        let bonds = Bonded::of(view.cloth);
        parallel::for_each_chunk(&mut tips, 1, |_, kept| {
            if kept[0].known.is_none() {
                self.look_at(view, &mut kept[0], &bonds, loaded.as_ref());
            }
        });
        self.tips = tips;
        loaded
    }

    /// ϱ of a tip at a place among all tips [m].
    fn radius(&self, n: NodeId, at: Vec2, tips: impl Iterator<Item = (NodeId, Vec2)>) -> f64 {
        let others = tips.filter(|tip| tip.0 != n);
        let apart = others.map(|tip| tip.1.distance(at)).fold(f64::INFINITY, f64::min);
        (RADIUS * self.edge).max(self.length).min((0.5 * apart).max(1.5 * self.edge))
    }

    /// Places along a share of ℓ: how many, and the distance between them [m].
    fn samples(&self, share: f64) -> (u32, f64) {
        let length = share * self.length;
        let count = (2.0 * length / self.edge).ceil().clamp(2.0, 32.0);
        (count as u32, length / count)
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
        if self.largest(smooth, n) < self.enough(view, least) {
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
        let farthest = reach * self.broad;
        tips.iter().any(|&(tip, ahead)| {
            let off = at - tip;
            // Most are far.
            if off.length_squared() > farthest * farthest {
                return false;
            }
            let (along, across) = (off.dot(ahead) / reach, off.perp_dot(ahead) / (reach * self.broad));
            along * along + across * across < 1.0
        })
    }

    /// The nodes around faces that may be loaded to `least` of their strength.
    fn hot(&self, view: View<'_>, least: f64) -> Hot {
        let mesh = &view.cloth.mesh;
        let mut hot = Hot::default();
        view.fields.faces.visit_loaded(self.enough(view, least), |face, load| {
            hot.most.grow(mesh.node_count(), 0.0);
            for n in mesh.face_nodes(face) {
                let most = &mut hot.most[n];
                if *most == 0.0 {
                    hot.nodes.push(n);
                }
                *most = most.max(load);
            }
        });
        hot
    }

    /// The best start at some nodes that opens, of those where no tip of the `living` decides and that are loaded to more than `least` of their strength.
    fn best_start(&self, view: View<'_>, nodes: &[NodeId], living: &[(Vec2, Vec2)], least: f64) -> Option<Part> {
        let (cloth, enough, tried) = (view.cloth, self.enough(view, least), self.tried());
        let starts = parallel::map(nodes, STARTS, |nodes| {
            let mut smooth = Smooth::new(view);
            let mut may = |n: NodeId| {
                let may = !cloth.weak[n] && view.can_part(n) && self.loaded(view, n, enough);
                let load = if may { self.largest(&mut smooth, n) } else { 0.0 };
                (load >= enough && !self.in_shadow(cloth, living, n)).then_some((load, n))
            };
            // The most loaded first: who is loaded less than the best line so far on its own is not asked for lines.
            let mut asked: Vec<(f64, NodeId)> = nodes.iter().filter_map(|&n| may(n)).collect();
            asked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            asked.into_iter().fold(None, |best: Option<Part>, (_, node)| {
                let most = best.map_or(least, |best| best.ratio);
                let line = self.start(view, &mut smooth, &tried, node, most).filter(|(ratio, _)| *ratio > most);
                let part = line.map(|(ratio, d)| Part { node, pull: d.perp(), ratio });
                part.filter(view.opens).or(best)
            })
        });
        let better = |a: &Part, b: &Part| a.ratio.total_cmp(&b.ratio).then(b.node.cmp(&a.node));
        starts.into_iter().flatten().max_by(better)
    }

    /// No line is loaded to `least` of its strength below this [N/m].
    fn enough(&self, view: View<'_>, least: f64) -> f64 {
        least * self.strengths.least() * view.resistance.least()
    }

    /// True if a node may be loaded to `enough` [N/m] itself: single faces tremble, and a node has the mean of its faces.
    fn loaded(&self, view: View<'_>, n: NodeId, enough: f64) -> bool {
        let (mut sum, mut area) = (0.0, 0.0);
        for face in view.cloth.mesh.fan(n).map(|c| c.face()) {
            let share = view.fields.faces.at(face).area;
            (sum, area) = (sum + share * view.fields.faces.load(face), area + share);
        }
        NEARLY * sum >= enough * area
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

/// All tips and where they are.
fn places_of_tips(cloth: &Cloth) -> impl Iterator<Item = (NodeId, Vec2)> {
    cloth.tips.iter().map(|tip| (tip.node, cloth.mesh.node_uv(tip.node)))
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
        let mut tips: Vec<NodeId> = cloth.tips.iter().map(|tip| tip.node).filter(|&n| view.can_part(n)).collect();
        tips.sort_unstable();
        let loaded = self.look(view, &tips);
        let going: Vec<Part> = self.tips.iter().filter_map(|tip| tip.goes_on(view.round)).collect();
        let opens = parallel::map(&going, 1, |parts| parts.iter().all(view.opens));
        let (open, stuck): (Vec<_>, Vec<_>) = going.into_iter().zip(opens).partition(|(_, opens)| *opens);
        requests.extend(open.into_iter().map(|(part, _)| Request::Part(part)));
        let first = view.round == 0 && requests.is_empty();
        let least = if first { 1.0 } else { OVERLOAD };
        let heading = |tip: &Kept| Some((cloth.mesh.node_uv(tip.node), tip.ring.as_ref()?.0.heading?));
        let living = self.tips.iter().filter(|tip| !stuck.iter().any(|(part, _)| part.node == tip.node));
        let living: Vec<_> = living.filter_map(heading).collect();
        let (hot, enough) = (loaded.unwrap_or_else(|| self.hot(view, least)), self.enough(view, least));
        let mut nodes = hot.nodes.clone();
        nodes.retain(|&n| f64::from(hot.most(n)) >= enough);
        nodes.sort_unstable_by(|&a, &b| hot.most(b).total_cmp(&hot.most(a)).then(a.cmp(&b)));
        // The best one is mostly found among the first of them, and then the others needn't be asked.
        let rest = nodes.split_off(nodes.len().min(FIRST));
        let best = self.best_start(view, &nodes, &living, least);
        let least = best.map_or(least, |best| best.ratio);
        let enough = self.enough(view, least);
        let rest: Vec<NodeId> = rest.into_iter().take_while(|&n| f64::from(hot.most(n)) >= enough).collect();
        requests.extend(self.best_start(view, &rest, &living, least).or(best).map(Request::Part));
    }

    fn spends(&self, view: View<'_>, part: &Part, at: Vec2, way: Vec2) -> Option<f64> {
        Some(self.cost(at, way) * view.resist(part.node, part.pull))
    }

    fn bonds(&self) -> bool {
        true
    }

    fn follow(&mut self, cloth: &Cloth, touched: &Touched) {
        // As far as stress is looked at from a tip.
        let seen = (RADIUS * self.edge).max(self.length) + 2.0 * self.edge;
        let places: Vec<Vec2> = touched.nodes.iter().map(|&n| cloth.mesh.node_uv(n)).collect();
        let edited = Marks::of(cloth.mesh.node_count(), touched.nodes.iter().copied());
        let all: Vec<(NodeId, Vec2)> = places_of_tips(cloth).collect();
        let mut tips = std::mem::take(&mut self.tips);
        tips.retain(|tip| cloth.weak[tip.node]);
        for tip in &mut tips {
            let (n, at) = (tip.node, cloth.mesh.node_uv(tip.node));
            let nearest = places.iter().map(|place| place.distance_squared(at)).fold(f64::INFINITY, f64::min);
            tip.ring.take_if(|(ring, _)| {
                nearest <= ring.reach * ring.reach || self.radius(n, at, all.iter().copied()) != ring.radius
            });
            // The tip itself may have been edited without a node behind it.
            tip.lips.take_if(|lips| edited.has(n) || lips.passed().any(|n| edited.has(n)));
            tip.ahead.take_if(|(_, line)| line.passed().any(|n| edited.has(n)));
            let whole = tip.ring.is_some() && tip.lips.is_some();
            tip.known.take_if(|_| !whole || nearest <= seen * seen);
        }
        self.tips = tips;
    }

    fn ratio(&self, view: View<'_>, request: &Request) -> f64 {
        let Request::Part(part) = request else { return 0.0 };
        if view.cloth.weak[part.node] {
            let mut tip = Kept::nothing(part.node);
            self.look_at(view, &mut tip, &Bonded::of(view.cloth), None);
            tip.known.map_or(0.0, |known| known.ratios[0].max(known.ratios[1]))
        } else {
            self.start(view, &mut Smooth::new(view), &self.tried(), part.node, 1.0).map_or(0.0, |(ratio, _)| ratio)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use crate::criterion::star;
    use crate::integrator::{Implicit, ImplicitSettings};
    use crate::model::membrane;
    use crate::opening::{Through, cut};
    use crate::potential::Elasticity;
    use crate::potential::{Bond, Forces};
    use crate::simulation::Simulation;
    use crate::tear::{Fields, Resistance, Tearing, heading};
    use crate::{Grip, Key};
    use ripstop_mesh::{ChangeLog, Mesh, generate};

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
                let mut kept = Kept::nothing(tip);
                criterion.look_at(view, &mut kept, &Bonded::of(&cloth), None);
                let (Known { ratios, d, .. }, (ring, _)) = (kept.known.unwrap(), kept.ring.unwrap());
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
    fn the_best_start_that_opens_is_found_whatever_is_left_out() {
        let fabric = fabric();
        let mut cloth =
            Cloth::flat(generate::irregular(Vec2::splat(WIDTH), 0.0025, 2).unwrap(), 0.2, Placement::default());
        // Strain is most a third of the way from the lower border.
        for n in cloth.mesh.nodes() {
            let uv = cloth.mesh.node_uv(n) / WIDTH;
            let off = uv.y - 0.3;
            cloth.x[n].x = WIDTH * uv.x * (1.12 - 0.3 * off * off - 0.02 * uv.x);
        }
        let forces = Forces::new(membrane(&fabric, fabric.law(), &cloth));
        let (fields, resistance) = (Fields::of(&cloth, &forces), Resistance::default());
        for every in [1, 3, 50] {
            // Of the best places only some open.
            let opens = |part: &Part| part.node.0.is_multiple_of(every);
            let view = View {
                cloth: &cloth,
                fields: &fields,
                resistance: &resistance,
                forces: &forces,
                round: 0,
                opens: &opens,
            };
            let mut criterion = Toughness::of(&fabric, &cloth).unwrap();
            let mut requests = Vec::new();
            criterion.find(view, &mut requests);
            let [Request::Part(found)] = requests[..] else { panic!("{requests:?}") };
            let (tried, mut smooth) = (criterion.tried(), Smooth::new(view));
            let all = cloth.mesh.nodes().filter(|&n| view.can_part(n)).filter_map(|node| {
                let (ratio, d) = criterion.start(view, &mut smooth, &tried, node, 1.0)?;
                Some(Part { node, pull: d.perp(), ratio })
            });
            let all: Vec<Part> = all.filter(|part| part.ratio > 1.0).collect();
            assert!(all.len() > 2 * FIRST, "{}", all.len());
            let best = all.into_iter().filter(opens).max_by(|a, b| a.ratio.total_cmp(&b.ratio)).unwrap();
            assert_eq!(found, best);
        }
    }

    #[test]
    fn what_is_remembered_of_a_tip_is_forgotten_when_its_lips_are_edited_however_far_behind() {
        let fabric = fabric();
        let mut cloth = bonded(generate::grid(Vec2::splat(WIDTH), [41, 41]).unwrap(), &fabric);
        let mut criterion = Toughness::of(&fabric, &cloth).unwrap();
        let tip = cloth.tips.iter().next().unwrap().node;
        criterion.tips = vec![Kept { lips: Some(Lips::of(&cloth, tip)), ..Kept::nothing(tip) }];
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
            (criterion.tips[0].lips.clone(), Lips::of(cloth, tip))
        };
        let (kept, anew) = open(&mut cloth, Vec2::new(0.09, 0.09));
        assert!(kept.is_some_and(|kept| kept == anew), "what is torn elsewhere is nothing to it");
        let lips = anew;
        let (kept, anew) = open(&mut cloth, Vec2::new(0.01, 0.05));
        assert!(lips != anew, "the lip goes on along the branch");
        assert!(kept.is_none());
    }

    #[test]
    fn what_is_kept_of_tips_is_what_would_be_found_anew() {
        let fabric = fabric();
        let mesh = generate::irregular(Vec2::splat(WIDTH), 0.0025, 4).unwrap();
        let mut cloth = Cloth::flat(mesh, 0.2, Placement::default());
        let mut criterion = Toughness::of(&fabric, &cloth).unwrap();
        let edges: Vec<_> = cloth.mesh.edges().collect();
        let (mut kept, mut lines) = (0, 0);
        for round in 0..60 {
            let mut log = ChangeLog::new();
            cloth.mesh.open_edge(edges[edges.len() * (37 * round % 60) / 60], &mut log);
            cloth.follow(&log);
            criterion.follow(&cloth, &Touched::by(&cloth.mesh, &log));
            let mut nodes: Vec<NodeId> = cloth.tips.iter().map(|tip| tip.node).collect();
            nodes.sort_unstable();
            let look = |&n: &NodeId| {
                let at = cloth.mesh.node_uv(n);
                let ring = Ring::of(&cloth, n, criterion.radius(n, at, places_of_tips(&cloth)));
                let ways = criterion.ways(at, ring.heading);
                let d = ways.first().map_or(Vec2::X, |way| way.d);
                let line = Line::of(&cloth.mesh, n, d, criterion.samples(1.0));
                let anew = Kept {
                    ring: Some((ring, ways)),
                    lips: Some(Lips::of(&cloth, n)),
                    ahead: Some((d, line)),
                    ..Kept::nothing(n)
                };
                if let Some(before) = criterion.tips.iter().find(|kept| kept.node == n) {
                    assert!(before.ring.is_none() || before.ring == anew.ring, "round {round}, {n:?}");
                    assert!(before.lips.is_none() || before.lips == anew.lips, "round {round}, {n:?}");
                    let along = |kept: &Kept| kept.ahead.as_ref().map(|(d, _)| *d);
                    if along(before) == along(&anew) {
                        assert!(before.ahead == anew.ahead, "round {round}, {n:?}");
                        lines += 1;
                    }
                    kept += usize::from(before.ring.is_some()) + usize::from(before.lips.is_some());
                }
                anew
            };
            let looked = nodes.iter().map(look).collect();
            criterion.tips = looked;
        }
        assert!(kept > 2000 && lines > 1000, "{kept}, {lines}");
    }
}
