//! Strength by direction: at a node the line along which the stress of its faces pulls the cloth apart most, compared with what
//! cloth holds along that line.
//!
//! ω = ζ(α) / (R(α) f),  the largest over all lines α through the node
//!
//! ζ = min(q₁·n, −q₂·n),  q₁ = (1 / L) Σ σ⁺ₖ ∫ₖ n̂ dl over the arcs of the unit circle on the side of n, q₂ over the others
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | α | `angle` | rad | direction of the *line of the tear* in the material, from weft (u) towards warp (v) |
//! | n | `normal` | 1 | across that line: the pull of the request |
//! | σ⁺ₖ | `pull` | N/m | tensile part of the stress of face k |
//! | ∫ₖ n̂ dl | | 1 | over the arc of face k: the quarter-turned chord between its ends |
//! | L | `length` | 1 | how much of the line is in the cloth: 2 inside, 1 on the border, where its other half is outside |
//! | ζ | | N/m | separation strength; what pulls on one side only (a rigid motion, a one-sided load) doesn't count |
//! | R | [`Strengths`] | N/m | required strength along the line: a table of directions, linear between them, the same again after 180° |
//! | f | | 1 | [resistance](crate::tear::Resistance) |
//!
//! In a uniform stress ζ = nᵀσ⁺n at every node inside any mesh, and on a straight border for lines across it that is free of load.
//!
//! **The best line.** While neither end of the line passes an edge, the terms of whole faces are constant vectors, and those of the two faces
//! that the line divides are linear in n. So with Q = q₁ + q₂, which is the same for all lines, on each such sector
//!
//! L ζ = d·n + nᵀMn − ½ |Q·n|,  M = σ⁺ᵢ + σ⁺ⱼ
//!
//! Sectors end at edges; pieces of them at the directions of the table and at Q. On a piece from α₀ to α₁, R is linear, and ζ is
//! below its chord plus c (α₁ − α₀)² / 8, c = (|d| + 2 (μ₁ − μ₂)) / L for the eigenvalues μ of M. A chord over a linear R is largest at
//! an end. So ω on the piece is at most max(ω₀, ω₁) + c (α₁ − α₀)² / (8 min(R₀, R₁)): pieces that can't exceed the best line by 10⁻⁴ of its ω are
//! left, the others halved. The line found is the best one *to 10⁻⁴ of ω* ([`BOUND`]), whatever stresses and table are; and when
//! only ω > 1 is asked for, most pieces are left at once. (With `weave`, or on a seam, f changes with the line: there
//! pieces are halved down to 3°.) Nodes are looked at only if π/2 times the largest stress around them, π times on the border, exceeds the least R f:
//! no ζ is larger than that.
//!
//! Source: Karaöz 2015 eqs. 2.69–2.71, 3.1–3.4 (after Pfaff and others 2014). Deviations: the quarter turn of chords, which the print drops;
//! ζ along the normal of the line rather than along q̂₁ − q̂₂, so that a shear along the line doesn't open it; per length, so that it is in
//! N/m; all lines instead of three per triangle; angles from weft, as everywhere here: K's angle is that from warp, the other way round, so
//! K's 0, 45, 90, 135° are 90, 45, 0, 135° here. K tears one line in an iteration and then waits one for relaxation: `per_step = 1` with
//! `policy = { end_of_step = { rounds = 1 } }`; `pause` makes a place wait longer.
//!
//! Limits: needs a model with stress in faces (the membrane). Stress at the tip of a tear grows as triangles shrink: the load at which
//! cloth tears on from a tip depends on the mesh. Nodes on the border of a patch of material coordinates see both patches as one.

use super::{Criterion, Seen, View};
use crate::math::{Sym2, Vec2, atan2, sin_cos};
use crate::tear::{Part, Request};
use ripstop_mesh::NodeId;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::f64::consts::{FRAC_PI_2, PI};

/// What cloth holds along one direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Direction {
    /// Direction of the line of the tear, from weft [degrees], 0 to 180.
    pub angle: f64,
    /// Force per length of that line at which cloth parts [N/m].
    pub strength: f64,
}

/// Required strength by direction of the tear.
#[derive(Clone, Debug, PartialEq)]
pub struct Strengths {
    /// Angle [rad], unit vector and strength [N/m] of each direction, in order.
    rows: Vec<(f64, Vec2, f64)>,
    least: f64,
}

impl Strengths {
    /// From a table in order of angles. One direction alone means the same strength in all.
    ///
    /// # Errors
    /// The row and key that make no sense, and why.
    pub fn new(table: &[Direction]) -> Result<Self, (usize, &'static str, String)> {
        if table.is_empty() {
            return Err((0, "", "there is no direction in it".into()));
        }
        for (k, row) in table.iter().enumerate() {
            let Direction { angle, strength } = *row;
            if !(0.0..180.0).contains(&angle) {
                return Err((k, "angle", format!("`angle` is {angle}, but directions go from 0 to below 180 degrees")));
            }
            if !(strength > 0.0 && strength.is_finite()) {
                return Err((k, "strength", format!("`strength` is {strength}, but must be above zero [N/m]")));
            }
            if k > 0 && angle <= table[k - 1].angle {
                let before = table[k - 1].angle;
                let cause = if angle == before { "is there twice" } else { "comes after a larger one" };
                return Err((k, "angle", format!("the direction of {angle}° {cause}")));
            }
        }
        let row = |row: &Direction| {
            let (sin, cos) = sin_cos(row.angle.to_radians());
            (row.angle.to_radians(), Vec2::new(cos, sin), row.strength)
        };
        let least = table.iter().map(|row| row.strength).fold(f64::INFINITY, f64::min);
        Ok(Self { rows: table.iter().map(row).collect(), least })
    }

    /// The same times a factor.
    pub fn stronger(mut self, factor: f64) -> Self {
        self.rows.iter_mut().for_each(|row| row.2 *= factor);
        self.least *= factor;
        self
    }

    /// The least of all directions [N/m].
    pub fn least(&self) -> f64 {
        self.least
    }

    /// Strength along a line [N/m], for its angle from 0 to 2π [rad].
    pub fn at(&self, angle: f64) -> f64 {
        let angle = if angle >= PI { angle - PI } else { angle };
        let after = self.rows.partition_point(|row| row.0 <= angle);
        let count = self.rows.len();
        let (from, to) = (self.rows[(after + count - 1) % count], self.rows[after % count]);
        // Round the half turn: before the first direction, and after the last one.
        let begin = if after == 0 { from.0 - PI } else { from.0 };
        let end = if after == count { to.0 + PI } else { to.0 };
        from.2 + (to.2 - from.2) * ((angle - begin) / (end - begin))
    }
}

/// Missed ω over ω, at most.
pub const BOUND: f64 = 1e-4;
/// Pieces are no wider where resistance changes with the line [rad].
const FINE: f64 = 0.05;

/// Stress of faces against strength by direction.
#[derive(Clone, Debug)]
pub struct Directional {
    /// Required strength.
    pub strengths: Strengths,
    seen: Seen,
}

/// One face at a node.
#[derive(Clone, Copy, Debug)]
struct Sector {
    /// Unit vectors along its edges, in the order of turning.
    from: Vec2,
    to: Vec2,
    /// Tensile part of its stress [N/m].
    pull: Sym2,
}

impl Sector {
    fn holds(&self, s: Vec2) -> bool {
        self.from.perp_dot(s) > 0.0 && s.perp_dot(self.to) > 0.0
    }
}

#[inline]
fn times(t: Sym2, v: Vec2) -> Vec2 {
    Vec2::new(t.xx * v.x + t.xy * v.y, t.xy * v.x + t.yy * v.y)
}

/// The faces around a node, with their stresses.
#[derive(Clone, Debug)]
pub struct Sectors {
    faces: SmallVec<[Sector; 8]>,
    /// Q: what all of them pull together.
    unbalanced: Vec2,
}

/// L ζ as a function of n while neither end of the line passes an edge.
#[derive(Clone, Copy, Debug)]
struct Span {
    linear: Vec2,
    square: Sym2,
    length: f64,
}

/// A line through the node.
#[derive(Clone, Copy, Debug)]
struct Line {
    angle: f64,
    along: Vec2,
    /// R f there, and ω.
    required: f64,
    ratio: f64,
}

impl Sectors {
    /// The faces around `n`.
    pub fn of(view: View<'_>, n: NodeId) -> Self {
        let mesh = &view.cloth.mesh;
        let mut unbalanced = Vec2::ZERO;
        let face = |c: ripstop_mesh::CornerId| {
            let at = mesh.uv(c);
            let [a, b] = [c.next(), c.prev()].map(|c| (mesh.uv(c) - at).normalize_or_zero());
            let (from, to) = if a.perp_dot(b) >= 0.0 { (a, b) } else { (b, a) };
            let pull = view.fields.faces.at(c.face()).stress.positive_part();
            unbalanced -= times(pull, (to - from).perp());
            Sector { from, to, pull }
        };
        let faces = mesh.fan(n).map(face).collect();
        Self { faces, unbalanced }
    }

    /// L ζ near the line along `s`, which is along no edge.
    fn span(&self, s: Vec2) -> Span {
        let normal = s.perp();
        let (mut linear, mut square, mut length) = (Vec2::ZERO, Sym2::default(), 0.0);
        for face in &self.faces {
            let sum = face.from + face.to;
            if face.holds(s) {
                linear -= times(face.pull, sum.perp()) * 0.5;
                (square, length) = (square + face.pull, length + 1.0);
            } else if face.holds(-s) {
                linear += times(face.pull, sum.perp()) * 0.5;
                (square, length) = (square + face.pull, length + 1.0);
            } else {
                let half = times(face.pull, (face.to - face.from).perp()) * 0.5;
                linear += if sum.dot(normal) > 0.0 { -half } else { half };
            }
        }
        Span { linear, square, length }
    }

    /// ζ of the line along `s` [N/m]: below zero if the two sides push.
    pub fn along(&self, s: Vec2) -> f64 {
        self.separation(&self.span(s), s)
    }

    fn separation(&self, span: &Span, s: Vec2) -> f64 {
        let n = s.perp();
        if span.length == 0.0 {
            return 0.0;
        }
        (span.linear.dot(n) + span.square.along(n) - 0.5 * self.unbalanced.dot(n).abs()) / span.length
    }
}

/// Angle of a line [rad], 0 to below π, and its direction turned to fit.
fn upward(d: Vec2) -> (f64, Vec2) {
    let d = if d.y < 0.0 || (d.y == 0.0 && d.x < 0.0) { -d } else { d };
    (atan2(d.y, d.x), d)
}

impl Directional {
    /// Tears by these strengths.
    pub fn new(strengths: Strengths) -> Self {
        Self { strengths, seen: Seen::default() }
    }

    /// ω of the line along `s`, and what it is compared with [N/m].
    fn ratio_of(&self, view: View<'_>, n: NodeId, (angle, s): (f64, Vec2), separation: f64) -> (f64, f64) {
        let required = self.strengths.at(angle) * view.resist(n, s.perp());
        (separation / required, required)
    }

    /// The line through `n` with the largest ω, to [`BOUND`] of it, if that is more than `above`: its ω, and the direction across it.
    pub fn best(&self, view: View<'_>, n: NodeId, above: f64) -> Option<(f64, Vec2)> {
        let around = Sectors::of(view, n);
        let mut ends: SmallVec<[(f64, Vec2); 24]> = SmallVec::new();
        ends.extend([(0.0, Vec2::X), (FRAC_PI_2, Vec2::Y)]);
        ends.extend(around.faces.iter().flat_map(|face| [face.from, face.to]).map(upward));
        ends.extend(self.strengths.rows.iter().map(|&(angle, along, _)| (angle, along)));
        ends.extend(around.unbalanced.try_normalize().map(upward));
        ends.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        ends.push((ends[0].0 + PI, -ends[0].1));
        let finest = if view.resistance.is_even(n) { PI } else { FINE };
        let mut best = (above.max(0.0), None);
        let mut left: SmallVec<[(Line, Line, u8); 24]> = SmallVec::new();
        let mut spans: SmallVec<[Span; 24]> = SmallVec::new();
        let line = |span: &Span, (angle, along): (f64, Vec2), best: &mut (f64, Option<Vec2>)| {
            let (ratio, required) = self.ratio_of(view, n, (angle, along), around.separation(span, along));
            if ratio > best.0 {
                *best = (ratio, Some(along.perp()));
            }
            Line { angle, along, required, ratio }
        };
        for pair in ends.windows(2).filter(|pair| pair[1].0 - pair[0].0 > 1e-9) {
            let span = around.span((pair[0].1 + pair[1].1).normalize_or_zero());
            if span.length > 0.0 {
                let from = line(&span, pair[0], &mut best);
                let to = line(&span, pair[1], &mut best);
                left.push((from, to, spans.len() as u8));
                spans.push(span);
            }
        }
        while let Some((from, to, k)) = left.pop() {
            let span = &spans[k as usize];
            let width = to.angle - from.angle;
            let Sym2 { xx, xy, yy } = span.square;
            let spread = ((xx - yy) * (xx - yy) + 4.0 * xy * xy).sqrt();
            let bend = (span.linear.length() + 2.0 * spread) / span.length;
            let most = from.ratio.max(to.ratio) + bend * width * width / (8.0 * from.required.min(to.required));
            let wide = width > finest && most > 0.5 * best.0;
            if (most > best.0 * (1.0 + BOUND) || wide) && width > 1e-6 {
                let middle = (0.5 * (from.angle + to.angle), (from.along + to.along).normalize_or_zero());
                let middle = line(span, middle, &mut best);
                left.extend([(from, middle, k), (middle, to, k)]);
            }
        }
        best.1.map(|pull| (best.0, pull))
    }
}

impl Criterion for Directional {
    fn name(&self) -> &'static str {
        "directional"
    }

    fn wants_stress(&self) -> bool {
        true
    }

    fn find(&mut self, view: View<'_>, requests: &mut Vec<Request>) {
        let mesh = &view.cloth.mesh;
        let gate = self.strengths.least * view.resistance.least() / PI;
        self.seen.begin(mesh.node_count());
        for f in mesh.faces() {
            let Sym2 { xx, xy, yy } = view.fields.faces.at(f).stress;
            // The larger eigenvalue against the gate, without a root.
            let over = xx.max(yy) > gate || (xx + yy > 2.0 * gate) || (xx - gate) * (yy - gate) < xy * xy;
            if !over {
                continue;
            }
            for node in mesh.face_nodes(f) {
                if !self.seen.is_new(node) {
                    continue;
                }
                let most = mesh.fan(node).map(|c| view.fields.faces.at(c.face()).stress.most()).fold(0.0, f64::max);
                let factor = if mesh.is_border_node(node) { PI } else { FRAC_PI_2 };
                if factor * most <= self.strengths.least * view.resistance.least_at(view.cloth, node)
                    || !view.can_part(node)
                {
                    continue;
                }
                let best = self.best(view, node, 1.0);
                requests.extend(best.map(|(ratio, pull)| Request::Part(Part { node, pull, ratio })));
            }
        }
    }

    fn ratio(&self, view: View<'_>, request: &Request) -> f64 {
        let Request::Part(part) = request else { return 0.0 };
        // Of the same line: a hair beside it, should it be along an edge.
        let s = upward(-part.pull.perp());
        let beside = |turn: f64| {
            let off = (s.1 + s.1.perp() * turn).normalize();
            Sectors::of(view, part.node).along(off)
        };
        self.ratio_of(view, part.node, s, beside(1e-9).max(beside(-1e-9))).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::{Cloth, Placement};
    use crate::math::{Vec3, hash_unit};
    use crate::model::membrane;
    use crate::potential::{Elasticity, Forces, Law, Stressed};
    use crate::tear::{Fields, Resistance};
    use crate::{Fabric, opening};
    use ripstop_mesh::{ChangeLog, Mesh, generate};

    const SHEET: Elasticity = Elasticity { weft: 300.0, across: 40.0, warp: 200.0, shear: 50.0 };

    fn table(rows: &[(f64, f64)]) -> Strengths {
        let rows: Vec<_> = rows.iter().map(|&(angle, strength)| Direction { angle, strength }).collect();
        Strengths::new(&rows).unwrap()
    }

    fn even() -> Strengths {
        table(&[(0.0, 10.0)])
    }

    fn stress_all(cloth: &Cloth, fields: &mut Fields, stress: Sym2) {
        cloth.mesh.faces().for_each(|f| fields.faces.put(f, Stressed { stress, ..fields.faces.at(f) }));
    }

    fn measured(cloth: &Cloth) -> Fields {
        Fields::of(cloth, &Forces::new(membrane(&Fabric::default(), SHEET, cloth)))
    }

    fn mapped(mesh: Mesh, weft: Vec3, warp: Vec3) -> Cloth {
        Cloth::flat(mesh, 0.2, Placement { origin: Vec3::ZERO, weft, warp })
    }

    fn meshes() -> [Mesh; 2] {
        [generate::grid(Vec2::ONE, [6, 6]).unwrap(), generate::irregular(Vec2::ONE, 0.15, 9).unwrap()]
    }

    fn direction(degrees: f64) -> Vec2 {
        let (sin, cos) = sin_cos(degrees.to_radians());
        Vec2::new(cos, sin)
    }

    /// How much stress that is told in single precision may be off [N/m]: strain by some 2⁻²⁴.
    fn single() -> f64 {
        4e-7 * Elasticity::of(&Fabric::default()).most()
    }

    #[test]
    fn uniform_stress_separates_by_its_normal_part_on_any_mesh_and_at_straight_borders() {
        for mesh in meshes() {
            let cloth = mapped(mesh, Vec3::new(1.1, 0.02, 0.0), Vec3::new(0.03, 1.05, 0.1));
            let fields = measured(&cloth);
            let stress = fields.faces.at(ripstop_mesh::FaceId(0)).stress;
            assert!(stress.xx > 10.0 && stress.xy > 1.0);
            let view = View {
                cloth: &cloth,
                fields: &fields,
                resistance: &Resistance::default(),
                forces: &Forces::new(Vec::new()),
                round: 0,
                opens: &|_| true,
            };
            for n in cloth.mesh.nodes().filter(|&n| !cloth.mesh.is_border_node(n)) {
                for degrees in [1.3, 33.0, 61.0, 104.0, 151.0] {
                    let s = direction(degrees);
                    let (is, want) = (Sectors::of(view, n).along(s), stress.along(s.perp()));
                    assert!((is - want).abs() < single(), "{is} for {want}");
                }
                let (ratio, pull) = Directional::new(even()).best(view, n, 0.0).unwrap();
                let (largest, axis) = stress.largest();
                let (least, most) = ((largest - single()) * (1.0 - BOUND), largest + single());
                assert!(ratio <= most / 10.0 && ratio >= least / 10.0, "{ratio}");
                assert!(pull.perp_dot(axis).abs() < 0.03);
            }
        }
        // Pulled along u alone, at the lower border: as strong as inside.
        let cloth = mapped(generate::grid(Vec2::ONE, [6, 6]).unwrap(), Vec3::X * 1.1, Vec3::Y);
        let mut fields = measured(&cloth);
        stress_all(&cloth, &mut fields, Sym2 { xx: 30.0, xy: 0.0, yy: 0.0 });
        let view = View {
            cloth: &cloth,
            fields: &fields,
            resistance: &Resistance::default(),
            forces: &Forces::new(Vec::new()),
            round: 0,
            opens: &|_| true,
        };
        let n = cloth.mesh.nodes().find(|&n| cloth.mesh.node_uv(n).distance(Vec2::new(0.4, 0.0)) < 1e-9).unwrap();
        let (ratio, pull) = Directional::new(even()).best(view, n, 0.0).unwrap();
        assert!((ratio - 3.0).abs() < 3.0 * BOUND && pull.y.abs() < 0.03, "{ratio} {pull}");
    }

    #[test]
    fn rest_rigid_motion_and_a_one_sided_pull_do_not_tear() {
        let turned = crate::math::rotate(Vec3::X, Vec3::Z, 0.7);
        let cloth = mapped(meshes()[1].clone(), turned, crate::math::rotate(Vec3::Y, Vec3::Z, 0.7));
        let mut fields = measured(&cloth);
        let n = cloth.mesh.nodes().find(|&n| !cloth.mesh.is_border_node(n)).unwrap();
        let strict = Directional::new(even());
        let resistance = Resistance::default();
        let best = |fields: &Fields| {
            strict.best(
                View {
                    cloth: &cloth,
                    fields,
                    resistance: &resistance,
                    forces: &Forces::new(Vec::new()),
                    round: 0,
                    opens: &|_| true,
                },
                n,
                0.0,
            )
        };
        assert!(best(&fields).is_none_or(|(ratio, _)| ratio < single() / 10.0));
        // One face of the star pulls, and nothing on the other side of the node answers: at most what a line through that
        // face itself finds on both of its sides.
        let c = cloth.mesh.fan(n).next().unwrap();
        let d = ((cloth.mesh.uv(c.next()) + cloth.mesh.uv(c.prev())) * 0.5 - cloth.mesh.uv(c)).normalize();
        fields.faces.put(c.face(), Stressed { stress: Sym2::outer(d, 100.0), ..fields.faces.at(c.face()) });
        let one_sided = best(&fields).map_or(0.0, |(ratio, _)| ratio);
        assert!(one_sided < 0.02 * 10.0, "{one_sided}");
    }

    #[test]
    fn the_search_finds_the_best_line_to_its_bound() {
        let mut cloth = mapped(generate::irregular(Vec2::ONE, 0.12, 2).unwrap(), Vec3::X * 1.1, Vec3::Y * 1.02);
        let mut log = ChangeLog::new();
        opening::open_path(&mut cloth.mesh, &[Vec2::new(0.3, 0.5), Vec2::new(0.7, 0.5)], &mut log);
        cloth.follow(&log);
        for n in cloth.mesh.nodes() {
            let shake = |k| 0.01 * hash_unit(k, u64::from(n.0));
            cloth.x[n] += Vec3::new(shake(1), shake(2), shake(3));
        }
        let fields = measured(&cloth);
        let resistance = Resistance::default();
        let view = View {
            cloth: &cloth,
            fields: &fields,
            resistance: &resistance,
            forces: &Forces::new(Vec::new()),
            round: 0,
            opens: &|_| true,
        };
        let strengths = table(&[(0.0, 12.0), (45.0, 25.0), (90.0, 35.0), (110.0, 9.0)]);
        let criterion = Directional::new(strengths.clone());
        for n in cloth.mesh.nodes() {
            let around = Sectors::of(view, n);
            let tried = (0..3600).map(|k| {
                let degrees = f64::from(k) * 0.05 + 0.0123;
                around.along(direction(degrees)) / strengths.at(degrees.to_radians())
            });
            let tried = tried.fold(0.0, f64::max);
            let found = criterion.best(view, n, 0.0).map_or(0.0, |(ratio, _)| ratio);
            assert!(found >= tried * (1.0 - BOUND), "{found} is less than {tried}");
            assert!(found <= tried * 1.01 + 1e-9, "{found} is more than {tried} at {}", cloth.mesh.node_uv(n));
            // What is passed over has no ω above one: no line is stronger than the bound that nodes are chosen by.
            let most = cloth.mesh.fan(n).map(|c| fields.faces.at(c.face()).stress.most()).fold(0.0, f64::max);
            let factor = if cloth.mesh.is_border_node(n) { PI } else { FRAC_PI_2 };
            assert!(found * strengths.least <= factor * most + 1e-9);
            // Asked for more than that there is nothing, and the same line has the same ω.
            assert!(criterion.best(view, n, found).is_none());
            if let Some((ratio, pull)) = criterion.best(view, n, 0.0) {
                let again = criterion.ratio(view, &Request::Part(Part { node: n, pull, ratio }));
                assert!((again - ratio).abs() < 1e-6 * ratio, "{again} for {ratio}");
            }
        }
    }

    #[test]
    fn weak_warp_lines_tear_along_warp_and_swapped_data_swap_them() {
        // The same pull both ways: strength alone says where the tear goes.
        let cloth = mapped(meshes()[1].clone(), Vec3::X * 1.1, Vec3::Y * 1.1);
        let mut fields = measured(&cloth);
        stress_all(&cloth, &mut fields, Sym2 { xx: 20.0, xy: 0.0, yy: 20.0 });
        let view = View {
            cloth: &cloth,
            fields: &fields,
            resistance: &Resistance::default(),
            forces: &Forces::new(Vec::new()),
            round: 0,
            opens: &|_| true,
        };
        let n = cloth.mesh.nodes().find(|&n| !cloth.mesh.is_border_node(n)).unwrap();
        let pull = |strengths| Directional::new(strengths).best(view, n, 1.0).unwrap().1;
        let warp = pull(table(&[(0.0, 35.0), (45.0, 25.0), (90.0, 12.0), (135.0, 25.0)]));
        assert!(warp.x.abs() > 0.999, "a tear along v is pulled along u: {warp}");
        let weft = pull(table(&[(0.0, 12.0), (45.0, 25.0), (90.0, 35.0), (135.0, 25.0)]));
        assert!(weft.y.abs() > 0.999, "{weft}");
        let bias = pull(table(&[(0.0, 30.0), (45.0, 12.0), (90.0, 30.0)]));
        assert!(bias.dot(direction(135.0)).abs() > 0.999, "a tear along 45°: {bias}");
    }

    #[test]
    fn strength_is_linear_between_directions_and_comes_again_after_half_a_turn() {
        let strengths = table(&[(10.0, 10.0), (100.0, 20.0)]);
        for (degrees, want) in
            [(10.0, 10.0), (55.0, 15.0), (100.0, 20.0), (145.0, 15.0), (0.0, 10.0 + 10.0 / 9.0), (325.0, 15.0)]
        {
            let is = strengths.at(f64::to_radians(degrees));
            assert!((is - want).abs() < 1e-9, "{is} at {degrees}°");
        }
        assert_eq!(even().at(1.0), 10.0);
        let row = |angle, strength| Direction { angle, strength };
        let bad = |rows: &[Direction]| Strengths::new(rows).map(|_| ()).unwrap_err();
        assert_eq!(bad(&[row(0.0, 1.0), row(180.0, 1.0)]).0, 1);
        assert_eq!(bad(&[row(f64::NAN, 1.0)]).1, "angle");
        assert_eq!(bad(&[row(0.0, 1.0), row(10.0, 0.0)]).1, "strength");
        assert!(bad(&[row(5.0, 1.0), row(5.0, 2.0)]).2.contains("twice"));
        assert!(bad(&[row(5.0, 1.0), row(4.0, 2.0)]).2.contains("larger"));
        assert!(Strengths::new(&[]).is_err());
    }
}
