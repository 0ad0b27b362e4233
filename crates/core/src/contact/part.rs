//! Lips of a fresh tear step back from each other.
//!
//! A node that has parted lies where its copy lies, and nothing tells on which side of the other each of them is. So each moves by a twentieth of the thickness along
//!
//! d = Σ (m − x) / |m − x|
//!
//! over its faces, where m is the middle of the side opposite to the node at x: into its own faces. That way may be barred: cloth that is folded or pressed on a body has other
//! cloth, or the body, within less than that, and would begin the next step on the wrong side of it. Nodes go one after the other, and each only as far, a half, a quarter … of the way, as nothing
//! comes in its way, by the same test that stops everything else ([`meet_on_way`]); the last resort is to stay.
//!
//! Deviation: what lies within a nanometre of the node, as the faces of its copy do, is in its way only if they would cross, and never are bodies that cut, which stand between the lips.

use super::crossing::corners_cross;
use super::field::Pair;
use super::resolve::meet_on_way;
use super::{KEPT, TOUCHING, nearest};
use crate::body::Bodies;
use crate::cloth::Cloth;
use crate::math::Vec3;
use ripstop_mesh::{Change, FaceId, NodeId};

/// Share of the thickness by which a lip steps back.
const BACK: f64 = 0.05;

/// Times that the way is halved before a node stays where it is.
const HALVINGS: u32 = 4;

const POINT: Pair = Pair::PointFace(0, 0);
const EDGE: Pair = Pair::EdgeEdge(0, 0);

/// Nodes that have parted by `log` step back, where bodies are now, or were at the beginning of the step. `thickness` in [m].
pub fn step_back(cloth: &mut Cloth, (bodies, before): (&Bodies, bool), log: &[Change], thickness: f64) {
    let parted = log.iter().filter_map(|change| match *change {
        Change::NodeSplit { node, copy } => Some([node, copy]),
        _ => None,
    });
    let parted: Vec<NodeId> = parted.flatten().filter(|&n| !cloth.is_held(n)).collect();
    if parted.is_empty() {
        return;
    }
    let solids = triangles(bodies, before);
    let near = faces_near(cloth, &parted, BACK * thickness);
    for (&n, near) in parted.iter().zip(&near) {
        let (mesh, x) = (&cloth.mesh, &cloth.x);
        let rim = mesh.fan(n).map(|c| (x[mesh.node(c.next())] + x[mesh.node(c.prev())]) * 0.5 - x[n]);
        let by = rim.map(Vec3::normalize_or_zero).sum::<Vec3>().normalize_or_zero() * (BACK * thickness);
        let star = Star::around(cloth, n, by, near, &solids);
        let share = (0..=HALVINGS)
            .map(|k| 1.0 / f64::from(1u32 << k))
            .find(|share| star.is_free(by * *share, KEPT * thickness));
        cloth.x[n] += by * share.unwrap_or(0.0);
    }
}

/// A box [m].
type Bounds = [Vec3; 2];

fn bounds(points: impl Iterator<Item = Vec3>) -> Bounds {
    let none = [Vec3::INFINITY, Vec3::NEG_INFINITY];
    points.fold(none, |[low, high], p| [low.min(p), high.max(p)])
}

fn grown([low, high]: Bounds, by: f64) -> Bounds {
    [low - Vec3::splat(by), high + Vec3::splat(by)]
}

fn overlap([low, high]: Bounds, [least, most]: Bounds) -> bool {
    least.cmple(high).all() && most.cmpge(low).all()
}

/// What a node and its faces take up.
fn around(cloth: &Cloth, n: NodeId) -> Bounds {
    let (mesh, x) = (&cloth.mesh, &cloth.x);
    bounds(mesh.fan(n).flat_map(|c| mesh.face_nodes(c.face())).map(|n| x[n]))
}

/// For each of these nodes the faces that may be near it while all of them step back by `way` [m], once each time that they are named.
fn faces_near(cloth: &Cloth, nodes: &[NodeId], way: f64) -> Vec<Vec<FaceId>> {
    let mut sorted = nodes.to_vec();
    sorted.sort_unstable();
    let often = sorted.chunk_by(|a, b| a == b).map(<[NodeId]>::len).max().unwrap_or(0);
    // What a node looks at, and what both may have moved by then; a third for rounding.
    let margin = (2 + 2 * often + 1) as f64 * way;
    let boxes: Vec<Bounds> = nodes.iter().map(|&n| grown(around(cloth, n), margin)).collect();
    let all = bounds(boxes.iter().flatten().copied());
    let mut near = vec![Vec::new(); nodes.len()];
    for f in cloth.mesh.faces() {
        let [a, b, c] = cloth.mesh.face_nodes(f);
        let (a, b, c) = (cloth.x[a], cloth.x[b], cloth.x[c]);
        let face = [a.min(b).min(c), a.max(b).max(c)];
        if overlap(all, face) {
            for (_, near) in boxes.iter().zip(&mut near).filter(|(bounds, _)| overlap(**bounds, face)) {
                near.push(f);
            }
        }
    }
    near
}

/// The triangles of all bodies that don't cut and hold nothing.
fn triangles(bodies: &Bodies, before: bool) -> Vec<[Vec3; 3]> {
    let mut all = Vec::new();
    for (b, body) in bodies.iter().enumerate().filter(|(_, body)| body.ties.is_empty() && body.surface.sharp.is_empty())
    {
        let pose = if before { bodies.pose_before(b) } else { bodies.pose(b) };
        let points: Vec<Vec3> = body.surface.points.iter().map(|&p| pose.apply(p)).collect();
        all.extend(body.surface.triangles.iter().map(|t| t.map(|p| points[p as usize])));
    }
    all
}

/// A corner: its place [m] and its node, if it is one of the cloth.
type Corner = (Vec3, Option<NodeId>);

/// A node with its faces, and the triangles that are near them.
struct Star {
    node: NodeId,
    x: Vec3,
    /// The two other corners of its faces.
    faces: Vec<[Corner; 2]>,
    near: Vec<[Corner; 3]>,
}

impl Star {
    /// Of the cloth's faces these are looked at.
    fn around(cloth: &Cloth, node: NodeId, by: Vec3, near: &[FaceId], solids: &[[Vec3; 3]]) -> Self {
        let (mesh, x) = (&cloth.mesh, &cloth.x);
        let corner = |n: NodeId| (x[n], Some(n));
        let faces: Vec<[Corner; 2]> =
            mesh.fan(node).map(|c| [c.next(), c.prev()].map(|c| corner(mesh.node(c)))).collect();
        // What comes nearer than half of what it was, by this way, begins within twice the way.
        let reached = grown(around(cloth, node), 2.0 * by.length());
        let touches = |t: [Vec3; 3]| overlap(reached, bounds(t.into_iter()));
        let of_cloth = near.iter().map(|&f| mesh.face_nodes(f));
        let of_cloth = of_cloth.filter(|f| !f.contains(&node) && touches(f.map(|n| x[n])));
        let of_bodies = solids.iter().filter(|t| touches(**t)).map(|t| t.map(|p| (p, None)));
        let near = of_cloth.map(|f| f.map(corner)).chain(of_bodies).collect();
        Self { node, x: x[node], faces, near }
    }

    /// True if nothing comes nearer than `gap` [m], or than half of what it was, while the node moves.
    fn is_free(&self, by: Vec3, gap: f64) -> bool {
        let (own, moved) = ((self.x, Some(self.node)), self.x + by);
        let free = |pair: Pair, corners: [Corner; 4]| {
            let from = corners.map(|(x, _)| x);
            let apart = nearest(pair, from).1.length();
            let to = corners.map(|(x, n)| if n == own.1 { moved } else { x });
            apart < TOUCHING || meet_on_way(pair, from, to, apart, gap).is_none()
        };
        let same = |a: Corner, b: Corner| a.1.is_some() && a.1 == b.1;
        // What lies at the same place as the node, as its copy's faces do, has no distance that could be kept; but it must not be on the other side afterwards.
        let crosses = |&near: &[Corner; 3], &[p, q]: &[Corner; 2]| {
            let mut both = (0..3).flat_map(|i| [(i, 1, p), (i, 2, q)]).filter(|&(i, _, corner)| same(near[i], corner));
            let shared = both.next().map(|(i, k, _)| [i, k]);
            both.next().is_none() && corners_cross(near.map(|(x, _)| x), [moved, p.0, q.0], shared)
        };
        if self.near.iter().any(|near| self.faces.iter().any(|face| crosses(near, face))) {
            return false;
        }
        self.near.iter().all(|&[a, b, c]| {
            free(POINT, [own, a, b, c])
                && self.faces.iter().all(|&[p, q]| {
                    let faced = [a, b, c].into_iter().all(|x| same(x, p) || same(x, q) || free(POINT, [x, own, p, q]));
                    // Every side at the node is the first one of a face, or the last one of the last.
                    faced
                        && [p, q].into_iter().all(|p| {
                            let sides = [[a, b], [b, c], [c, a]].into_iter();
                            sides.into_iter().all(|[a, b]| same(a, p) || same(b, p) || free(EDGE, [own, p, a, b]))
                        })
                })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::{BodySpec, Pose, Shape};
    use crate::cloth::Placement;
    use crate::contact::crossing::Crossings;
    use ripstop_mesh::{ChangeLog, Vec2, generate};

    const THICKNESS: f64 = 1e-3;

    /// A sheet bent over a ridge along its middle and torn across it, from the border on, whose lips have stepped back; and where they were. Lips on the ridge step back downwards.
    fn roof(specs: Vec<BodySpec>, thickness: f64) -> (Cloth, Bodies, Vec<Vec3>) {
        let mesh = generate::grid(Vec2::splat(0.2), [5, 5]).unwrap();
        let mut cloth = Cloth::flat(mesh, 0.2, Placement { warp: Vec3::Z, ..Placement::default() });
        for x in cloth.x.iter_mut() {
            x.y = -(x.x - 0.1).abs();
        }
        let bodies = Bodies::new(specs, Vec3::ZERO).unwrap();
        let mut log = ChangeLog::new();
        let torn: Vec<_> = cloth
            .mesh
            .edges()
            .filter(|&e| {
                let ends = cloth.mesh.edge_nodes(e).map(|n| cloth.mesh.node_uv(n));
                ends.iter().all(|uv| (uv.y - 0.1).abs() < 1e-9 && uv.x < 0.16)
            })
            .collect();
        for e in torn {
            cloth.mesh.open_edge(e, &mut log);
        }
        cloth.follow(&log);
        let before = cloth.x.to_vec();
        step_back(&mut cloth, (&bodies, false), &log, thickness);
        (cloth, bodies, before)
    }

    /// A box whose upper side is this far below the ridge [m], along the whole of it.
    fn under(depth: f64) -> BodySpec {
        let size = Vec3::new(0.02, 0.01, 0.3);
        let place = Pose::at(Vec3::new(0.1, -depth - 0.5 * size.y, 0.1));
        BodySpec::new("under", Shape::Box { sides: size }).at(place)
    }

    #[test]
    fn lips_step_back_where_nothing_is_in_their_way() {
        let (cloth, _, before) = roof(Vec::new(), THICKNESS);
        let moved =
            cloth.x.iter().zip(&before).filter(|(a, b)| ((**a - **b).length() - BACK * THICKNESS).abs() < 1e-12);
        assert_eq!(moved.count(), 6, "three nodes and their copies");
    }

    #[test]
    fn lips_do_not_step_back_into_what_is_near() {
        for depth in [1e-6, 1e-5, 3e-5] {
            // So narrow that the slopes keep clear of it.
            let size = Vec3::new(1e-7, 0.01, 0.3);
            let place = Pose::at(Vec3::new(0.1, -depth - 0.5 * size.y, 0.1));
            let (cloth, bodies, before) =
                roof(vec![BodySpec::new("back", Shape::Box { sides: size }).at(place)], THICKNESS);
            assert_eq!(Crossings::of(&cloth, &bodies).count(), 0, "{depth} m below");
            let low = cloth.x.iter().zip(&before).filter(|(a, b)| a.y < b.y - depth);
            assert!(low.count() <= 4, "{depth} m below: only lips beside the ridge");
            assert!(cloth.x.iter().zip(&before).all(|(a, b)| (*a - *b).length() <= BACK * THICKNESS + 1e-12));
        }
        // Far enough below they go all the way.
        let (cloth, _, before) = roof(vec![under(0.03)], THICKNESS);
        assert_eq!(cloth.x.iter().zip(&before).filter(|(a, b)| a != b).count(), 6);
    }
}
