//! Opening `through`: the tear follows its line through triangles, not along their edges.
//!
//! From the node, in each of the two directions of the line across the pull, the ray meets the opposite edge of one face, at the share t of
//! its length. Then the first of these that is possible:
//!
//! - within a quarter of an end (t < ¼ or t > ¾) that end *moves onto the line*, in the material, and the edge to it opens;
//! - elsewhere the opposite edge is *divided* where the line meets it, with both of its faces, and the new edge to that point opens;
//! - whichever of the two is not possible there, the other;
//! - the edge of the face nearest to the ray opens as it is, if it is within 60° of it.
//!
//! On the border, which includes the tip of a tear, one of the two rays is followed: as in [`Snap`](super::Snap) the one that best parts the
//! faces into those pulled one way and those pulled the other.
//!
//! A moved node takes place and velocity from the point of the cloth that it is at now, so the cloth stays where it is; lengths, masses
//! and stiffness follow, and momentum is kept. Nodes don't move that are on the border, held, untearable or on a seam, nor where a node beside them
//! was made in the same round, nor where that would move the surface by more than [`Cloth::stray`], so that cloth that lies on a body doesn't cut into it.
//!
//! No needles: neither dividing nor moving leaves an angle below 10° or an edge below 0.35 of the mean edge at the start, unless it was worse
//! before. So no number of tears makes an angle smaller than the smaller of 10° and what the mesh began with, and a fourth of the
//! explicit step at the start stays stable ([`Through::STEP`]).
//!
//! Source: Karaöz 2015 §2.7 (the line), Pfaff and others 2014 (moving nodes to it). Limits: where a face can be neither divided nor changed, the tear goes along an edge and then on beside its line.

use super::snap::{self, NEAR};
use super::{Choice, Edges, Opening, Shape, open_all};
use crate::cloth::Cloth;
use crate::criterion::star;
use crate::math::Vec2;
use crate::tear::{Part, heading};
use ripstop_mesh::{ChangeLog, CornerId, EdgeId, Id, Mesh, NodeId};
use smallvec::SmallVec;

/// Goes through triangles.
#[derive(Clone, Copy, Debug)]
pub struct Through {
    shape: Shape,
}

/// Share of the opposite edge within which its end is moved rather than the edge divided.
const END: f64 = 0.25;
/// Ends nearer to the line than this share of their distance are on it.
const ON: f64 = 1e-3;

/// How a tear gets across one face.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// Along an edge.
    Edge(EdgeId),
    /// An end of the opposite edge moves to this material point.
    Move(NodeId, Vec2),
    /// The opposite edge is divided at this share.
    Split(EdgeId, f64),
}

impl Way {
    fn numbers(self) -> Choice {
        match self {
            Self::Edge(EdgeId(e)) => [1, e.into(), 0],
            Self::Move(NodeId(n), uv) => [(u64::from(n) << 2) | 2, uv.x.to_bits(), uv.y.to_bits()],
            Self::Split(EdgeId(e), at) => [3, e.into(), at.to_bits()],
        }
    }
}

impl Through {
    /// For a cloth as it is at the start.
    pub fn of(cloth: &Cloth) -> Self {
        Self { shape: Shape::of(cloth) }
    }

    /// For a cloth whose edges are as long as this where it tears [m].
    pub fn finer(self, edge: f64) -> Self {
        Self { shape: self.shape.finer(edge) }
    }

    /// What the stable step of an explicit integrator may shrink to, over what it is at the start.
    pub const STEP: f64 = 0.25;

    /// How the tear leaves `node` along `ray`.
    fn way(&self, cloth: &Cloth, node: NodeId, ray: Vec2) -> Option<Way> {
        let mesh = &cloth.mesh;
        let (c, at) = mesh.fan(node).find_map(|c| Some((c, meets(mesh, c, ray)?)))?;
        let origin = mesh.uv(c);
        let (end, near) = if at < 0.5 { (c.next(), at) } else { (c.prev(), 1.0 - at) };
        let spoke = mesh.uv(end) - origin;
        let edge = mesh.edge(if at < 0.5 { c } else { c.prev() });
        let inner = !mesh.is_border_edge(edge);
        let off = ray.perp_dot(spoke).abs();
        if off <= ON * spoke.length() && inner {
            return Some(Way::Edge(edge));
        }
        let across = c.next();
        let opposite = mesh.edge(across);
        let share = if mesh.edge_corner(opposite) == across { at } else { 1.0 - at };
        let split = self.shape.may_split(mesh, opposite, share).then_some(Way::Split(opposite, share));
        let foot = origin + ray * ray.dot(spoke);
        let moved = || self.may_move(cloth, mesh.node(end), foot).then_some(Way::Move(mesh.node(end), foot));
        let way = if near < END { moved().or(split) } else { split.or_else(moved) };
        way.or_else(|| (inner && ray.dot(spoke) > NEAR * spoke.length()).then_some(Way::Edge(edge)))
    }

    fn may_move(&self, cloth: &Cloth, n: NodeId, uv: Vec2) -> bool {
        let mesh = &cloth.mesh;
        let known = |e: EdgeId| mesh.edge_nodes(e).iter().all(|n| n.index() < cloth.x.len());
        !mesh.is_border_node(n)
            && star(mesh, n).all(|(e, _)| known(e))
            && !cloth.untearable.get(n.index()).is_some_and(|kept| *kept)
            && self.shape.may_move(mesh, n, uv)
            && cloth.may_slide(n, uv)
    }

    /// The rays along which the cloth parts.
    fn rays(&self, cloth: &Cloth, part: &Part) -> SmallVec<[Vec2; 2]> {
        let (mesh, line) = (&cloth.mesh, part.pull.perp());
        let both = [line, -line];
        if !mesh.is_border_node(part.node) {
            return SmallVec::from_slice(&both);
        }
        let scored = both.into_iter().filter_map(|ray| Some((parts(mesh, part, ray)?, ray)));
        let best = scored.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, ray)| ray);
        // Where neither parts pulls that differ, on from a tip.
        let on = || heading(mesh, part.node).filter(|_| cloth.weak[part.node]).map(|to| line * line.dot(to).signum());
        best.or_else(on).into_iter().collect()
    }

    /// Where no face can be crossed: the closest edges across the pull, or at a tip, which must not be caught, whichever leads on.
    fn along_an_edge(&self, cloth: &Cloth, part: &Part) -> Edges {
        let (mesh, n) = (&cloth.mesh, part.node);
        let edges = snap::nearest(mesh, n, part.pull);
        if !edges.is_empty() || !cloth.weak[n] {
            return edges;
        }
        let Some(&ray) = self.rays(cloth, part).first() else { return edges };
        let inner = star(mesh, n).filter(|&(e, _)| !mesh.is_border_edge(e) && !keeps(cloth, e));
        let onward = inner.map(|(e, along)| (e, along.normalize_or_zero().dot(ray))).filter(|(_, on)| *on > 0.0);
        onward.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(e, _)| e).into_iter().collect()
    }
}

/// True if an end of an edge never parts.
fn keeps(cloth: &Cloth, e: EdgeId) -> bool {
    cloth.mesh.edge_nodes(e).iter().any(|n| cloth.untearable.get(n.index()).is_some_and(|kept| *kept))
}

/// Where a ray from the node of a corner meets the opposite edge of its face: the share of its length, if it does.
fn meets(mesh: &Mesh, c: CornerId, ray: Vec2) -> Option<f64> {
    let [a, b] = [c.next(), c.prev()].map(|to| mesh.uv(to) - mesh.uv(c));
    let turn = a.perp_dot(b).signum();
    let (before, after) = (turn * a.perp_dot(ray), turn * ray.perp_dot(b));
    (before >= 0.0 && after >= 0.0 && before + after > 0.0).then(|| before / (before + after))
}

/// How well a ray at a node of the border parts its faces into those pulled one way and those pulled the other, if it does.
fn parts(mesh: &Mesh, part: &Part, ray: Vec2) -> Option<f64> {
    let pulled = |a: Vec2, b: Vec2| a.angle_to(b).abs() * (a + b).normalize_or_zero().dot(part.pull);
    let (mut before, mut after, mut met) = (0.0, 0.0, false);
    for c in mesh.fan(part.node) {
        let [a, b] = [c.next(), c.prev()].map(|to| (mesh.uv(to) - mesh.uv(c)).normalize_or_zero());
        if !met && meets(mesh, c, ray).is_some() {
            met = true;
            before += pulled(a, ray);
            after += pulled(ray, b);
        } else if met {
            after += pulled(a, b);
        } else {
            before += pulled(a, b);
        }
    }
    (met && before * after < 0.0).then(|| f64::min(before.abs(), after.abs()))
}

impl Opening for Through {
    fn name(&self) -> &'static str {
        "through"
    }

    fn can_open(&self, cloth: &Cloth, part: &Part) -> bool {
        self.rays(cloth, part).iter().any(|&ray| self.way(cloth, part.node, ray).is_some())
            || !self.along_an_edge(cloth, part).is_empty()
    }

    fn choice(&self, cloth: &Cloth, part: &Part) -> Option<Choice> {
        // The second of two ways depends on what the first one has made. Where there is none the edge that opens follows from the material alone.
        let chosen = |ray: &Vec2| self.way(cloth, part.node, *ray).map_or([0; 3], Way::numbers);
        cloth.mesh.is_border_node(part.node).then(|| self.rays(cloth, part).first().map_or([0; 3], chosen))
    }

    fn open(&self, cloth: &mut Cloth, part: &Part, log: &mut ChangeLog) {
        let mut edges = Edges::new();
        for ray in self.rays(cloth, part) {
            let Some(way) = self.way(cloth, part.node, ray) else { continue };
            let to = match way {
                Way::Edge(e) => {
                    edges.push(e);
                    continue;
                }
                Way::Move(end, uv) => {
                    cloth.mesh.relocate(end, uv, log);
                    end
                }
                Way::Split(e, at) => cloth.mesh.split_edge(e, at, log),
            };
            let ends = |e: EdgeId| cloth.mesh.edge_nodes(e).contains(&to);
            edges.extend(star(&cloth.mesh, part.node).map(|(e, _)| e).find(|&e| ends(e)));
        }
        if edges.is_empty() {
            edges = self.along_an_edge(cloth, part);
        }
        open_all(cloth, edges, log);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{largest_cosine, sheet};
    use super::*;
    use crate::math::{Vec3, hash_unit, sin_cos};
    use ripstop_mesh::{Change, generate, pieces};

    fn node_at(cloth: &Cloth, uv: Vec2) -> NodeId {
        crate::opening::nearest_node(&cloth.mesh, uv)
    }

    fn opened(cloth: &mut Cloth, part: Part) -> Vec<(Vec2, Vec2)> {
        let through = Through::of(cloth);
        let mut log = ChangeLog::new();
        through.open(cloth, &part, &mut log);
        cloth.follow(&log);
        cloth.mesh.check().unwrap();
        let ends = |change: &Change| match *change {
            Change::EdgeOpened { edge, .. } => {
                let [a, b] = cloth.mesh.edge_nodes(edge);
                Some((cloth.mesh.node_uv(a), cloth.mesh.node_uv(b)))
            }
            _ => None,
        };
        log.iter().filter_map(ends).collect()
    }

    #[test]
    fn inside_two_edges_on_the_line_open_whatever_its_direction() {
        for seed in 0..4 {
            for degrees in [3.0, 20.0, 45.0, 71.0, 90.0, 110.0, 168.0] {
                let mut cloth = sheet(generate::irregular(Vec2::ONE, 0.1, seed).unwrap());
                let node = node_at(&cloth, Vec2::splat(0.5));
                let (sin, cos) = sin_cos(f64::to_radians(degrees));
                let line = Vec2::new(cos, sin);
                let nodes = cloth.mesh.node_count();
                let ends = opened(&mut cloth, Part { node, pull: line.perp(), ratio: 1.1 });
                assert_eq!(ends.len(), 2, "{degrees}°, mesh {seed}");
                assert!(cloth.mesh.node_count() > nodes);
                assert!((cloth.mesh.area() - 1.0).abs() < 1e-12);
                for (a, b) in ends {
                    let off = (b - a).normalize().perp_dot(line).abs();
                    assert!(off < 1.1 * ON, "{degrees}°, mesh {seed}: off by {off}");
                }
            }
        }
    }

    #[test]
    fn a_tear_crosses_the_sheet_in_a_straight_line_between_its_edges() {
        for (seed, degrees) in [(4, 90.0), (5, 75.0), (6, 105.0), (7, 60.0)] {
            let mut cloth = sheet(generate::irregular(Vec2::ONE, 0.1, seed).unwrap());
            let (sin, cos) = sin_cos(f64::to_radians(degrees));
            let line = Vec2::new(cos, sin);
            let mut tip = node_at(&cloth, Vec2::new(0.5, 0.0));
            let start = cloth.mesh.node_uv(tip);
            let mut off = 0.0f64;
            for _ in 0..40 {
                let ends = opened(&mut cloth, Part { node: tip, pull: line.perp(), ratio: 1.1 });
                assert!(!ends.is_empty(), "stuck at {}", cloth.mesh.node_uv(tip));
                for p in ends.iter().flat_map(|(a, b)| [*a, *b]) {
                    off = off.max((p - start).perp_dot(line).abs());
                }
                if pieces(&cloth.mesh).areas.len() == 2 {
                    break;
                }
                let tips: Vec<NodeId> = cloth.mesh.nodes().filter(|&n| cloth.weak[n]).collect();
                assert_eq!(tips.len(), 1);
                tip = tips[0];
            }
            assert_eq!(pieces(&cloth.mesh).areas.len(), 2, "{degrees}°");
            // Where a face can be neither divided nor changed the tear goes on beside the line.
            assert!(off < 0.05, "{degrees}°: {off} m off the line, half an edge");
        }
    }

    #[test]
    fn no_needles_after_five_hundred_tears() {
        let mut cloth = sheet(generate::irregular(Vec2::ONE, 0.06, 3).unwrap());
        cloth.x.iter_mut().for_each(|x| *x = Vec3::new(1.1 * x.x, x.y, 0.2 * x.x * x.y));
        let through = Through::of(&cloth);
        let smallest = |mesh: &Mesh| mesh.faces().map(|f| largest_cosine(mesh.face_uv(f))).fold(-1.0, f64::max);
        let shortest = |mesh: &Mesh| mesh.edges().map(|e| mesh.edge_length(e)).fold(f64::INFINITY, f64::min);
        let start = (smallest(&cloth.mesh), shortest(&cloth.mesh));
        let (area, mass) = (cloth.mesh.area(), cloth.mass.iter().sum::<f64>());
        let (mut tears, mut moves) = (0, 0);
        for k in 0..5000 {
            let node = NodeId((hash_unit(1, k) * cloth.mesh.node_count() as f64) as u32);
            let pull = Vec2::from_angle(7.0 * hash_unit(2, k));
            let mut log = ChangeLog::new();
            through.open(&mut cloth, &Part { node, pull, ratio: 1.1 }, &mut log);
            cloth.follow(&log);
            tears += usize::from(!log.is_empty());
            moves += log.iter().filter(|change| matches!(change, Change::NodeMoved { .. })).count();
            if tears == 500 {
                break;
            }
        }
        cloth.mesh.check().unwrap();
        assert!(tears == 500 && moves > 20, "{tears} tears, {moves} moves");
        let end = (smallest(&cloth.mesh), shortest(&cloth.mesh));
        assert!(end.0 <= start.0.max(through.shape.least_angle) + 1e-12, "cosine {} became {}", start.0, end.0);
        assert!(end.1 >= start.1.min(through.shape.least_length) - 1e-12, "{} m became {} m", start.1, end.1);
        assert!((cloth.mesh.area() / area - 1.0).abs() < 1e-12);
        assert!((cloth.mass.iter().sum::<f64>() / mass - 1.0).abs() < 1e-12);
    }
}
