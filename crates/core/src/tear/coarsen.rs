//! Cloth that was made fine becomes coarse again when tears have gone on: nodes that aren't needed any more are [taken away](ripstop_mesh::Mesh::merge), one at a time.
//!
//! A node goes if nobody would see it go:
//!
//! | what | how far |
//! |---|---|
//! | it wasn't there at the start, and none of its triangles becomes longer than the longest edge then | [`Coarse`] |
//! | it and all around it are farther than that from every tip, and from where a tear is about to start | [`FAR`] |
//! | the triangles that stay are no flatter than halving makes them, or flatter than those that were there | [`LOW`] |
//! | the surface stays where it is, by a share of h, and by less than what contact allows | [`BULGE`] |
//! | strain is as even as that around it, in the triangles that were there and in those that stay | [`EVEN`], [`SLIGHT`] |
//! | it goes along with what is around it | [`BULGE`] in a step |
//! | nothing holds it or waits for it, it isn't bonded, sewn, part of what never parts, nor between a lip and a border that no tear has made | |
//!
//! Cloth that is far from a tip but folded, wrinkled or in motion stays fine until it is calm. What is made fine lies within 9 h of a tip, and it is needed within 5 h (`refine.rs`): so a tip has to come
//! back by 9 h until what was taken away is made again, and nothing is made and taken away in turns.
//! Where a tear was about to start, cloth was made fine too; it stays so until the cloth has parted there (`Cloth::asked`), since otherwise it would be asked for again at once.
//!
//! Lips become coarse where they are straight in the material: elsewhere the material would change. All of it is a function of the state and of the cloth at the start.

use super::Refine;
use crate::cloth::Cloth;
use crate::criterion::star;
use crate::math::{Vec2, Vec3};
use ripstop_mesh::{ChangeLog, CornerId, EdgeId, Id, Merged, NodeId, barycentric};

/// How far from tips cloth becomes coarse again [h]: as far beyond what is made fine (9 h) as that is beyond what must be (5 h).
const FAR: f64 = 14.0;
/// Steps from one look to the next: what has become calm has time.
const STEPS: u64 = 16;
/// Looks at all nodes in one go, at most: what one leaves may let another go.
const ROUNDS: usize = 4;
/// Height over longest side that triangles keep. Halving goes down to 0.3 where the lowest was 0.42 at the start, and what is left on the way back may be lower: with 0.25 irregular sheets become what they were,
/// and as good as they were, with 0.3 a tenth stays that could go, with 0.4 half.
const LOW: f64 = 0.25;
/// How far the surface may move [h].
const BULGE: f64 = 0.05;
/// How far strains may differ, as a share of the largest of them. With half of this, and a fifth of the next, 40 to 70 % more triangles are left, and the largest loads of slit sheets are the same to 10⁻⁴.
const EVEN: f64 = 0.2;
/// The same where there is hardly any: fabrics are strained by 0.05 to 0.3 where they tear.
const SLIGHT: f64 = 5e-3;
/// How far plastic flow of edges may differ.
const FLOW: f64 = 1e-6;

/// What the cloth was at the start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coarse {
    /// How many nodes there were: those stay.
    nodes: usize,
    /// The longest edge [m].
    longest: f64,
}

impl Coarse {
    pub(crate) fn of(cloth: &Cloth) -> Self {
        Self { nodes: cloth.mesh.node_count(), longest: cloth.woven.iter().copied().fold(0.0, f64::max) }
    }
}

/// A node as part of the cloth.
struct Point {
    uv: Vec2,
    x: Vec3,
    v: Vec3,
}

impl Refine {
    /// True if it is time to look again what can go.
    pub(crate) fn is_due(step: u64) -> bool {
        step.is_multiple_of(STEPS)
    }

    /// Takes away what isn't needed any more, in a cloth that is stepped by `h` [s]; `kept` are nodes that stay whatever they are, in order. The cloth has followed all edits, and has followed these.
    pub(crate) fn coarsen(&self, coarse: Coarse, cloth: &mut Cloth, kept: &[NodeId], h: f64, log: &mut ChangeLog) {
        let (mesh, parted_at) = (&cloth.mesh, &cloth.parted_at);
        cloth.asked.retain(|&(n, before)| !mesh.is_retired_node(n) && parted_at[n] == before);
        let tips = cloth.tips.iter().map(|tip| tip.node).chain(cloth.asked.iter().map(|&(n, _)| n));
        let tips: Vec<Vec2> = tips.map(|n| cloth.mesh.node_uv(n)).collect();
        let mut bonded: Vec<NodeId> = cloth.bonds.iter().flat_map(|bond| [bond.node, bond.from]).collect();
        bonded.sort_unstable();
        let stays = |n: NodeId| kept.binary_search(&n).is_ok() || bonded.binary_search(&n).is_ok();
        // The last made first, as halving would be undone.
        let mut left: Vec<NodeId> = cloth.mesh.nodes().filter(|n| n.index() >= coarse.nodes && !stays(*n)).collect();
        left.reverse();
        for _ in 0..ROUNDS {
            let before = left.len();
            left.retain(|&n| {
                let Some(edge) = self.way_out(coarse, cloth, n, &tips, h) else { return true };
                let mut own = ChangeLog::new();
                if !cloth.mesh.merge(n, edge, &mut own) {
                    return true;
                }
                cloth.follow(&own);
                log.append(&mut own);
                false
            });
            if left.len() == before {
                break;
            }
        }
    }

    /// The edge along which a node can go, if it can: of several the one that leaves the best triangles.
    fn way_out(&self, coarse: Coarse, cloth: &Cloth, n: NodeId, tips: &[Vec2], h: f64) -> Option<EdgeId> {
        let mesh = &cloth.mesh;
        let far = |at: Vec2| tips.iter().all(|tip| tip.distance(at) > FAR * self.edge);
        if !far(mesh.node_uv(n)) || cloth.weak[n] || cloth.untearable.get(n.index()).is_some_and(|kept| *kept) {
            return None;
        }
        let around = |c: CornerId| [c, c.next(), c.prev()];
        let free = |c: CornerId| !cloth.is_held(mesh.node(c)) && far(mesh.uv(c));
        if !mesh.fan(n).flat_map(around).all(free) || !is_plain(cloth, n) {
            return None;
        }
        let sound = |&(_, Merged { height: [was, is], longest, .. }): &(EdgeId, Merged)| {
            is >= LOW.min(was) && longest <= coarse.longest * (1.0 + 1e-9)
        };
        let ways = star(mesh, n).filter_map(|(e, _)| Some((e, mesh.merged(n, e)?))).filter(sound);
        // Of equals the first.
        let best = ways.fold(None, |best: Option<(EdgeId, Merged)>, way| match best {
            Some(best) if best.1.height[1] >= way.1.height[1] => Some(best),
            _ => Some(way),
        });
        best.filter(|(_, merged)| self.is_calm(cloth, n, merged.into, h)).map(|(e, _)| e)
    }

    /// True if cloth that is without a node, its triangles with their corner in `into`, is where it was, strained as it was, and moves as it did.
    fn is_calm(&self, cloth: &Cloth, n: NodeId, into: NodeId, h: f64) -> bool {
        let mesh = &cloth.mesh;
        let point = |c: CornerId| {
            let n = mesh.node(c);
            Point { uv: mesh.uv(c), x: cloth.x[n], v: cloth.v[n] }
        };
        let Some(to) = mesh.fan(n).flat_map(|c| [c.next(), c.prev()]).find(|&c| mesh.node(c) == into) else {
            return false;
        };
        let Some(from) = mesh.fan(n).next() else { return false };
        let (from, to) = (point(from), point(to));
        let most = (BULGE * self.edge).min(cloth.stray);
        let (mut least, mut largest) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        let mut note = |triangle: [&Point; 3]| {
            for (k, strain) in strain(triangle).into_iter().enumerate() {
                (least[k], largest[k]) = (least[k].min(strain), largest[k].max(strain));
            }
        };
        // In which of the new triangles the node's place is, by its least weight, and how far from there it is and moves.
        let mut inside = (f64::NEG_INFINITY, f64::INFINITY, f64::INFINITY);
        for c in mesh.fan(n) {
            let (a, b) = (point(c.next()), point(c.prev()));
            note([&from, &a, &b]);
            if [c.next(), c.prev()].into_iter().any(|c| mesh.node(c) == into) {
                continue;
            }
            note([&to, &a, &b]);
            let Some(w) = barycentric([to.uv, a.uv, b.uv], from.uv) else { return false };
            let least = w[0].min(w[1]).min(w[2]);
            if least > inside.0 {
                let x = to.x * w[0] + a.x * w[1] + b.x * w[2];
                let v = to.v * w[0] + a.v * w[1] + b.v * w[2];
                inside = (least, x.distance(from.x), v.distance(from.v));
            }
        }
        let even = (0..3).all(|k| {
            let size = least[k].abs().max(largest[k].abs());
            largest[k] - least[k] <= SLIGHT + EVEN * size
        });
        even && inside.1 <= most && inside.2 * h <= most && self.stays_between(cloth, n, (&from, &to), most)
    }

    /// True if the surface moves by no more than `most` [m] where an old edge and a new one cross. Both are flat between such places and the node, so it moves by no more anywhere.
    fn stays_between(&self, cloth: &Cloth, n: NodeId, (from, to): (&Point, &Point), most: f64) -> bool {
        let mesh = &cloth.mesh;
        let ring = || star(mesh, n).map(|(e, way)| (e, from.uv + way));
        let place = |e: EdgeId| {
            let [a, b] = mesh.edge_nodes(e);
            cloth.x[if a == n { b } else { a }]
        };
        ring().all(|(old, p)| {
            ring().filter(|(new, _)| *new != old).all(|(new, q)| {
                let (along, across, apart) = (p - from.uv, q - to.uv, to.uv - from.uv);
                let area = along.perp_dot(across);
                let (s, t) = (apart.perp_dot(across) / area, apart.perp_dot(along) / area);
                // Edges that only meet at their ends, or are one and the same line, don't cross.
                let crosses = [s, t].into_iter().all(|share| share > 1e-9 && share < 1.0 - 1e-9);
                !crosses || from.x.lerp(place(old), s).distance(to.x.lerp(place(new), t)) <= most
            })
        })
    }
}

/// True if no edge of a node is sewn, all have flowed alike, and on a border those that are there are both torn or both not.
fn is_plain(cloth: &Cloth, n: NodeId) -> bool {
    let mesh = &cloth.mesh;
    let flow = |e: EdgeId| cloth.rest[e] / cloth.woven[e];
    let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
    let (mut torn, mut whole) = (false, false);
    for e in mesh.fan(n).flat_map(|c| c.face().corners()).map(|c| mesh.edge(c)) {
        if cloth.seams.of(e).is_some() {
            return false;
        }
        (least, most) = (least.min(flow(e)), most.max(flow(e)));
        if mesh.is_border_edge(e) && mesh.edge_nodes(e).contains(&n) {
            (torn, whole) = (torn || cloth.torn[e], whole || !cloth.torn[e]);
        }
    }
    most - least <= FLOW && !(torn && whole)
}

/// Green's strain of a triangle: along weft and warp, and the shear between them.
fn strain([a, b, c]: [&Point; 3]) -> [f64; 3] {
    let (p, q, along, beside) = (b.uv - a.uv, c.uv - a.uv, b.x - a.x, c.x - a.x);
    let area = p.perp_dot(q);
    let weft = (along * q.y - beside * p.y) / area;
    let warp = (beside * p.x - along * q.x) / area;
    [0.5 * (weft.length_squared() - 1.0), 0.5 * (warp.length_squared() - 1.0), weft.dot(warp)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use crate::opening::nearest_node;
    use ripstop_mesh::{Mesh, generate, height_share};

    const REFINE: Refine = Refine { edge: 0.01 };
    /// Of a step [s].
    const H: f64 = 1e-3;

    /// A sheet, strained and moving alike everywhere, that was made fine around a place.
    fn refined(mesh: Mesh) -> (Cloth, Coarse, NodeId) {
        let mut cloth = Cloth::flat(mesh, 0.2, Placement::default());
        for n in cloth.mesh.nodes() {
            let p = cloth.x[n];
            cloth.x[n] = Vec3::new(1.1 * p.x, p.y + 0.05 * p.x, 0.2 * p.x);
            cloth.v[n] = Vec3::new(0.0, p.x, -p.y);
        }
        let coarse = Coarse::of(&cloth);
        let node = nearest_node(&cloth.mesh, Vec2::new(0.33, 0.6));
        let mut log = ChangeLog::new();
        assert!(REFINE.around(&mut cloth.mesh, &[node], &mut log));
        cloth.follow(&log);
        (cloth, coarse, node)
    }

    fn sheets() -> [Mesh; 2] {
        [generate::irregular(Vec2::ONE, 0.1, 2).unwrap(), generate::grid(Vec2::ONE, [11, 11]).unwrap()]
    }

    #[test]
    fn what_was_made_fine_is_coarse_again_and_nothing_is_lost() {
        for mesh in sheets() {
            let (faces, lowest) = (mesh.faces().len(), |mesh: &Mesh| {
                mesh.faces().map(|f| height_share(mesh.face_uv(f))).fold(1.0, f64::min)
            });
            let was = lowest(&mesh);
            let (mut cloth, coarse, _) = refined(mesh);
            let momentum = |cloth: &Cloth| cloth.mesh.nodes().map(|n| cloth.v[n] * cloth.mass[n]).sum::<Vec3>();
            let (fine, area, moves, moving) =
                (cloth.mesh.faces().len(), cloth.mesh.area(), momentum(&cloth), cloth.kinetic_energy());
            let mut log = ChangeLog::new();
            REFINE.coarsen(coarse, &mut cloth, &[], H, &mut log);
            cloth.mesh.check().unwrap();
            let now = cloth.mesh.faces().len();
            println!("{faces} faces, {fine} fine ones, {now} again");
            // Every node that was added can go, if not always to where it came from.
            assert!(fine > 3 * faces && 10 * now < 11 * faces, "{faces}, {fine}, {now} faces");
            assert!((0..coarse.nodes).all(|n| !cloth.mesh.is_retired_node(NodeId::new(n))));
            let longest = cloth.mesh.edges().map(|e| cloth.mesh.edge_length(e)).fold(0.0, f64::max);
            assert!(longest <= coarse.longest * (1.0 + 1e-9) && lowest(&cloth.mesh) >= LOW.min(0.5 * was));
            assert!((cloth.mesh.area() / area - 1.0).abs() < 1e-12);
            assert!((momentum(&cloth) - moves).length() < 1e-12 && cloth.kinetic_energy() <= moving);
            // The strain was even, and so it is.
            let strained = |e: EdgeId| cloth.mesh.edge_nodes(e).map(|n| (cloth.x[n], cloth.mesh.node_uv(n)));
            for [(x, p), (y, q)] in cloth.mesh.edges().map(strained) {
                let d = q - p;
                assert!((y - x).distance(Vec3::new(1.1 * d.x, d.y + 0.05 * d.x, 0.2 * d.x)) < 1e-12);
            }
            log.clear();
            REFINE.coarsen(coarse, &mut cloth, &[], H, &mut log);
            assert!(log.is_empty() || now < fine / 4, "what can go has gone");
        }
    }

    #[test]
    fn what_is_needed_stays() {
        for mesh in sheets() {
            let (cloth, coarse, node) = refined(mesh);
            let coarsened = |change: &dyn Fn(&mut Cloth) -> Vec<NodeId>| {
                let mut cloth = cloth.clone();
                let kept = change(&mut cloth);
                let mut log = ChangeLog::new();
                REFINE.coarsen(coarse, &mut cloth, &kept, H, &mut log);
                (cloth, log.len())
            };
            let (_, all) = coarsened(&|_| Vec::new());
            assert!(all > 100);
            // Around where a tear is about to start.
            let at = cloth.mesh.node_uv(node);
            let (asked, some) = coarsened(&|cloth| {
                cloth.asked.push((node, f64::NEG_INFINITY));
                Vec::new()
            });
            assert!(some < all);
            assert!(asked.mesh.retired().nodes.iter().all(|&n| cloth.mesh.node_uv(n).distance(at) > FAR * REFINE.edge));
            // Not any more when it has parted there.
            let (_, parted) = coarsened(&|cloth| {
                cloth.asked.push((node, f64::NEG_INFINITY));
                cloth.parted_at[node] = 0.5;
                Vec::new()
            });
            assert_eq!(parted, all);
            // What somebody keeps.
            let kept: Vec<NodeId> = cloth.mesh.nodes().filter(|n| n.index() >= coarse.nodes).step_by(3).collect();
            let (other, _) = coarsened(&|_| kept.clone());
            assert!(kept.iter().all(|&n| !other.mesh.is_retired_node(n)));
            // What is held, and all beside it.
            let held = *kept.last().unwrap();
            let (other, _) = coarsened(&|cloth| {
                cloth.hold(held, Some(0));
                Vec::new()
            });
            assert!(!other.mesh.is_retired_node(held));
            // Folded cloth, by more than the surface may move, and cloth that trembles.
            let wavy = |x: Vec3| 2e-3 * (x.x * 150.0) % 3e-3;
            let (_, folded) = coarsened(&|cloth| {
                cloth.x.iter_mut().for_each(|x| x.z += wavy(*x));
                Vec::new()
            });
            assert!(4 * folded < all, "{folded} of {all}");
            let (_, moving) = coarsened(&|cloth| {
                for n in cloth.mesh.nodes() {
                    cloth.v[n] += Vec3::Z * if n.0 % 2 == 0 { 2.0 } else { -2.0 };
                }
                Vec::new()
            });
            assert!(2 * moving < all, "{moving} of {all}");
        }
    }
}
