//! Where cloth can't meet itself: parts of it that are nearly flat, told by their deformation alone.
//!
//! Two points x, y of the material whose connecting line runs through cloth are carried to φ(x), φ(y). Along the line φ changes by F, triangle by triangle. If all F it passes
//! lie within ε of one A, |φ(x) − φ(y)| ≥ |A (x − y)| − ε |x − y| ≥ (σ − ε) |x − y|. Two things of a triangulation without a common node are at least as far from each other in the material as the
//! smallest height a of the triangles between them: a point leaves the triangles around it through the side opposite to it, and of two edges some end is nearest. So if
//!
//! (σ − ε) a > reach
//!
//! none of the cloth between comes as near as `reach` to another part of it. Corners move along straight lines, so F at the two ends of the time bound it in between.
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | F | [`Range`] | 1 | how material is deformed: 3 × 2, one for each triangle |
//! | A, ε | `middle`, `spread` | 1 | middle of the range of all F, and the length of half its diagonal |
//! | σ | `least` | 1 | least factor by which A changes lengths |
//! | a | `height` | m | smallest height of a triangle in the material |
//!
//! **The line must run through cloth.** For two clusters of triangles that is asked of the rectangle around them: from one of them all triangles are visited that can be reached across sides that
//! touch the inside of the rectangle. If no border is among those sides (the lips of a tear are borders, and so are seams where material coordinates jump), every line within the rectangle runs
//! through what was visited, and each place of the rectangle is passed once, as long as no triangle is turned over and none winds around a node more than once. Both clusters must have been visited whole. That depends on
//! the mesh alone and is kept until one of these triangles changes, or the tree of boxes is built anew.
//!
//! Source: the bound is the usual proof of the inverse function theorem. It does what bounds on normals with a test of contours do (Volino, Magnenat-Thalmann 1994; Provot 1997), without a contour, and for a distance instead of
//! a crossing.
//!
//! Limits: says nothing where cloth is bent by more than half a radian within a few triangles, or along borders that aren't parallel to an axis of the material; there pairs are looked for as between any other things.

use super::tree::Tree;
use crate::cloth::Cloth;
use crate::math::array;
use glam::{DVec2, Vec3A};
use ripstop_mesh::{CornerId, FaceId, Id, Mesh, NodeId};

/// Triangles of two clusters, at most and at least: beyond that cloth is hardly ever flat, below it isn't worth asking.
const SIZES: std::ops::RangeInclusive<usize> = 24..=4096;

/// Rounding of F in single precision, over the largest coordinate and the smallest height.
const ROUNDED: f32 = 4e-6;

const NONE: u32 = u32::MAX;

/// Bounds of F, column by column.
#[derive(Clone, Copy)]
struct Range {
    low: [Vec3A; 2],
    high: [Vec3A; 2],
}

impl Range {
    const NONE: Self = Self { low: [Vec3A::INFINITY; 2], high: [Vec3A::NEG_INFINITY; 2] };

    #[inline(always)]
    fn with(self, other: Self) -> Self {
        Self { low: array(|k| self.low[k].min(other.low[k])), high: array(|k| self.high[k].max(other.high[k])) }
    }

    /// σ − ε: lengths are changed by at least this factor.
    fn least(&self) -> f32 {
        let [a, b]: [Vec3A; 2] = array(|k| (self.low[k] + self.high[k]) * 0.5);
        let [c, d]: [Vec3A; 2] = array(|k| (self.high[k] - self.low[k]) * 0.5);
        let (p, q, r) = (a.length_squared(), b.length_squared(), a.dot(b));
        let square = 0.5 * (p + q - ((p - q) * (p - q) + 4.0 * r * r).sqrt());
        square.max(0.0).sqrt() - (c.length_squared() + d.length_squared()).sqrt()
    }
}

/// What a line between two clusters may run through besides them.
struct Region {
    around: Vec<u32>,
    /// Smallest height of all triangles [m].
    height: f32,
}

/// The material of all triangles of the cloth.
#[derive(Default)]
pub struct Flat {
    uv: Vec<[DVec2; 3]>,
    /// Neighbours across the sides from each corner to the next.
    across: Vec<[u32; 3]>,
    /// Weights of two sides in the columns of F.
    inverse: Vec<[f32; 4]>,
    /// Smallest heights [m]; zero for triangles that nothing can be said of.
    height: Vec<f32>,
    ranges: Vec<Range>,
    /// Ranges of the clusters of the tree.
    clusters: Vec<Range>,
    /// Of each cluster the others that it was asked for with, and what lies between.
    regions: Vec<Vec<(u32, Option<Region>)>>,
    /// Number of the first triangle of the cloth in the tree.
    first: u32,
    /// Stamps of triangles that are in the clusters, or were visited.
    seen: Vec<u32>,
    stamp: u32,
    stack: Vec<u32>,
}

/// Weights of two sides in the columns of F, and the smallest height [m].
fn measured([a, b, c]: [DVec2; 3]) -> ([f32; 4], f32) {
    let (p, q) = (b - a, c - a);
    let area = p.perp_dot(q);
    let longest = p.length().max(q.length()).max((c - b).length());
    let known = area > 0.0 && area.is_finite();
    let per = if known { 1.0 / area } else { 0.0 };
    let inverse = [q.y * per, -p.y * per, -q.x * per, p.x * per].map(|x| x as f32);
    (inverse, if known { (area / longest * (1.0 - 1e-6)) as f32 } else { 0.0 })
}

/// True if triangles wind around a node more than once: more than one of them has the first axis in it.
fn winds_again(mesh: &Mesh, n: NodeId) -> bool {
    let winds = |c: CornerId| {
        let y = mesh.uv(c).y;
        mesh.uv(c.next()).y <= y && mesh.uv(c.prev()).y > y
    };
    mesh.fan(n).filter(|&c| winds(c)).nth(1).is_some()
}

impl Flat {
    /// Takes the material anew where it has changed. Returns which triangles are others than before, or new.
    pub fn link(&mut self, cloth: &Cloth) -> Vec<bool> {
        let mesh = &cloth.mesh;
        let count = mesh.face_count();
        let known = self.uv.len().min(count);
        self.uv.resize(count, [DVec2::ZERO; 3]);
        self.across.resize(count, [NONE; 3]);
        self.inverse.resize(count, [0.0; 4]);
        self.height.resize(count, 0.0);
        let mut changed = vec![false; count];
        for k in mesh.retired().faces.iter().map(|f| f.index()) {
            changed[k] = k >= known || self.uv[k] != [DVec2::ZERO; 3];
            (self.uv[k], self.across[k]) = ([DVec2::ZERO; 3], [NONE; 3]);
            (self.inverse[k], self.height[k]) = ([0.0; 4], 0.0);
        }
        for f in mesh.faces() {
            let (k, uv) = (f.index(), mesh.face_uv(f));
            let across = f.corners().map(|c| match mesh.twin(c) {
                Some(twin) if mesh.uv(twin) == mesh.uv(c.next()) && mesh.uv(twin.next()) == mesh.uv(c) => twin.face().0,
                _ => NONE,
            });
            changed[k] = k >= known || uv != self.uv[k] || across != self.across[k];
            (self.uv[k], self.across[k]) = (uv, across);
        }
        // How triangles wind around a node depends on all of them.
        let others: Vec<FaceId> = mesh.faces().filter(|f| changed[f.index()]).collect();
        let nodes = others.iter().flat_map(|&f| mesh.face_nodes(f));
        let mut around: Vec<FaceId> = nodes.flat_map(|n| mesh.fan(n)).map(|c| c.face()).collect();
        around.sort_unstable();
        around.dedup();
        for f in around {
            let k = f.index();
            let (inverse, height) = measured(self.uv[k]);
            let wound = mesh.face_nodes(f).into_iter().any(|n| winds_again(mesh, n));
            let height = if wound { 0.0 } else { height };
            changed[k] |= height.to_bits() != self.height[k].to_bits();
            (self.inverse[k], self.height[k]) = (inverse, height);
        }
        self.seen.clear();
        self.seen.resize(count, 0);
        self.stamp = 0;
        changed
    }

    /// Forgets what it knows of lines through triangles that have changed: those of the cloth by their own number, and of each cluster whether it has one of them. Where a line has left the cloth it still does.
    pub fn forget_changed(&mut self, changed: &[bool], clusters: &[bool]) {
        for (regions, own) in self.regions.iter_mut().zip(clusters) {
            let good = |with: u32, region: &Region| {
                !own && !clusters[with as usize] && !region.around.iter().any(|&f| changed[f as usize])
            };
            regions.retain(|(with, region)| region.as_ref().is_none_or(|region| good(*with, region)));
        }
    }

    /// A neighbour of a triangle that has a smaller number, if there is one.
    pub fn beside(&self, face: u32) -> Option<u32> {
        self.across[face as usize].into_iter().filter(|&g| g < face).min()
    }

    /// The tree of boxes was built anew: its clusters are others.
    pub fn forget(&mut self) {
        self.regions.iter_mut().for_each(Vec::clear);
    }

    /// Takes where the triangles begin and by how much they move, of those that are `lively` or of all. In the tree they are numbered from `first` on.
    pub fn place(
        &mut self,
        tree: &Tree,
        first: u32,
        lively: Option<&[bool]>,
        corners: impl Fn(usize) -> [(Vec3A, Vec3A); 3],
    ) {
        self.first = first;
        self.ranges.resize(self.inverse.len(), Range::NONE);
        for (f, (range, &[i, j, k, l])) in self.ranges.iter_mut().zip(&self.inverse).enumerate() {
            if lively.is_some_and(|lively| !lively[f + first as usize]) {
                continue;
            }
            let [(a, u), (b, v), (c, w)] = corners(f);
            let (p, q, s, t) = (b - a, c - a, v - u, w - u);
            let begin = [p * i + q * j, p * k + q * l];
            let end = [begin[0] + (s * i + t * j), begin[1] + (s * k + t * l)];
            *range = Range {
                low: [begin[0].min(end[0]), begin[1].min(end[1])],
                high: [begin[0].max(end[0]), begin[1].max(end[1])],
            };
        }
        let ranges = &self.ranges;
        let of = |f: u32| if f < first { Range::NONE } else { ranges[(f - first) as usize] };
        tree.gather(Range::NONE, of, Range::with, &mut self.clusters);
        self.regions.resize_with(self.clusters.len(), Vec::new);
    }

    /// True if no two parts of two clusters of the tree, which may be one and the same, come as near to each other as `reach` [m]: but for those that share a node. Coordinates are at most
    /// `largest` [m].
    pub fn is_calm(&mut self, (a, b): (u32, u32), [of_a, of_b]: [&[u32]; 2], reach: f32, largest: f32) -> bool {
        let other = if a == b { &[] } else { of_b };
        if !SIZES.contains(&(of_a.len() + other.len())) {
            return false;
        }
        let mut range = self.clusters[a as usize].with(self.clusters[b as usize]);
        if range.least() <= 0.0 {
            return false;
        }
        let known = |regions: &[(u32, Option<Region>)]| regions.iter().position(|(with, _)| *with == b);
        let at = known(&self.regions[a as usize]).unwrap_or_else(|| {
            let region = self.region(of_a, other);
            self.regions[a as usize].push((b, region));
            self.regions[a as usize].len() - 1
        });
        let Some(region) = &self.regions[a as usize][at].1 else { return false };
        if range.least() * region.height - ROUNDED * largest <= reach {
            return false;
        }
        for &f in &region.around {
            range = range.with(self.ranges[f as usize]);
        }
        range.least() * region.height - ROUNDED * largest > reach
    }

    /// What lines between two clusters run through, if all of it is cloth.
    fn region(&mut self, a: &[u32], b: &[u32]) -> Option<Region> {
        let first = self.first;
        let Self { uv, across, height, seen, stack, stamp, .. } = self;
        if *stamp > u32::MAX - 2 {
            seen.fill(0);
            *stamp = 0;
        }
        *stamp += 2;
        let (inside, visited) = (*stamp - 1, *stamp);
        let (mut low, mut high) = (DVec2::INFINITY, DVec2::NEG_INFINITY);
        for f in a.iter().chain(b).map(|f| f - first) {
            seen[f as usize] = inside;
            for p in uv[f as usize] {
                (low, high) = (low.min(p), high.max(p));
            }
        }
        let touches = |p: DVec2, q: DVec2| p.min(q).cmplt(high).all() && p.max(q).cmpgt(low).all();
        let mut region = Region { around: Vec::new(), height: f32::INFINITY };
        let mut count = 0;
        stack.clear();
        if let Some(f) = a.first().map(|f| f - first) {
            (seen[f as usize], count) = (visited, 1);
            stack.push(f);
        }
        while let Some(f) = stack.pop() {
            let at = f as usize;
            region.height = region.height.min(height[at]);
            if height[at] == 0.0 {
                return None;
            }
            for k in 0..3 {
                let (g, touches) = (across[at][k], touches(uv[at][k], uv[at][(k + 1) % 3]));
                if g == NONE {
                    if touches {
                        return None;
                    }
                    continue;
                }
                let mark = &mut seen[g as usize];
                if *mark == visited || !(touches || *mark == inside) {
                    continue;
                }
                if *mark == inside {
                    count += 1;
                } else {
                    region.around.push(g);
                }
                *mark = visited;
                stack.push(g);
            }
        }
        (count == a.len() + b.len()).then_some(region)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use crate::math::Vec3;
    use ripstop_mesh::{ChangeLog, Vec2, generate};

    const SIDE: usize = 33;

    #[test]
    fn what_follows_edits_is_what_is_taken_anew() {
        let mesh = generate::irregular(Vec2::ONE, 0.08, 3).unwrap();
        let mut cloth = Cloth::flat(mesh, 0.2, Placement::default());
        let mut kept = Flat::default();
        kept.link(&cloth);
        for round in 0..8 {
            let mut log = ChangeLog::new();
            for e in cloth.mesh.edges().skip(7 * round).step_by(41) {
                cloth.mesh.open_edge(e, &mut log);
            }
            let e = cloth.mesh.edges().nth(3 + 50 * round).unwrap();
            cloth.mesh.split_edge(e, 0.3, &mut log);
            for e in cloth.mesh.edges().skip(5 * round).step_by(53).filter(|_| round % 2 == 1) {
                if !cloth.mesh.is_retired_edge(e) {
                    cloth.mesh.merge(cloth.mesh.edge_nodes(e)[0], e, &mut log);
                }
            }
            cloth.follow(&log);
            let before = (kept.uv.clone(), kept.across.clone(), kept.height.clone());
            let changed = kept.link(&cloth);
            let mut new = Flat::default();
            new.link(&cloth);
            assert_eq!((&kept.uv, &kept.across), (&new.uv, &new.across), "round {round}");
            assert_eq!((&kept.inverse, &kept.height), (&new.inverse, &new.height), "round {round}");
            for (f, &changed) in changed.iter().enumerate() {
                let same = before.0.get(f) == Some(&new.uv[f])
                    && before.1[f] == new.across[f]
                    && before.2[f].to_bits() == new.height[f].to_bits();
                assert_eq!(changed, !same, "round {round}, triangle {f}");
            }
            assert!(changed.contains(&true) && changed.contains(&false));
        }
    }

    /// A sheet of 1 m with a tree over it, at places given by material coordinates.
    struct Sheet {
        cloth: Cloth,
        tree: Tree,
        flat: Flat,
    }

    impl Sheet {
        fn new(edit: impl Fn(&mut Cloth)) -> Self {
            let mesh = generate::grid(Vec2::ONE, [SIDE; 2]).unwrap();
            let mut cloth = Cloth::flat(mesh, 0.2, Placement { warp: Vec3::Z, ..Placement::default() });
            edit(&mut cloth);
            let (mut tree, mut flat) = (Tree::default(), Flat::default());
            let middle = |f| cloth.mesh.face_nodes(f).map(|n| cloth.x[n].as_vec3a()).iter().sum::<Vec3A>() / 3.0;
            tree.build(&cloth.mesh.faces().map(middle).collect::<Vec<_>>(), 0);
            flat.link(&cloth);
            Self { cloth, tree, flat }
        }

        /// Pairs of triangles that are looked at: those of which a node is not calm.
        fn looked_at(&mut self, reach: f64, at: impl Fn(Vec3) -> [Vec3; 2] + Sync) -> Vec<(u32, u32)> {
            let Self { cloth, tree, flat } = self;
            let corners = |f: usize| {
                cloth.mesh.face_nodes(ripstop_mesh::FaceId(f as u32)).map(|n| {
                    let [from, to] = at(cloth.x[n]);
                    (from.as_vec3a(), (to - from).as_vec3a())
                })
            };
            tree.refit(|f| super::super::tree::Swept::of(corners(f as usize)));
            flat.place(tree, 0, None, corners);
            let mut lists = Vec::new();
            let calm = |nodes: (u32, u32), of: [&[u32]; 2]| flat.is_calm(nodes, of, reach as f32, 2.0);
            let take = |a: u32, b: u32, _: &_, _: &_, list: &mut Vec<(u32, u32)>| list.push((a.min(b), a.max(b)));
            tree.pairs(reach as f32, calm, take, &mut lists);
            let mut found = lists.concat();
            found.sort_unstable();
            found
        }

        /// Pairs of triangles without a common node that come nearer than `reach`, looked for at a few times.
        fn near(&self, reach: f64, at: impl Fn(Vec3) -> [Vec3; 2]) -> Vec<(u32, u32)> {
            let mesh = &self.cloth.mesh;
            let mut found = Vec::new();
            for time in [0.0, 0.3, 0.5, 0.7, 1.0] {
                let faces: Vec<[Vec3; 3]> = mesh
                    .faces()
                    .map(|f| mesh.face_nodes(f).map(|n| at(self.cloth.x[n])).map(|[from, to]| from.lerp(to, time)))
                    .collect();
                for (i, f) in faces.iter().enumerate() {
                    for (j, g) in faces.iter().enumerate().skip(i + 1) {
                        let nodes = |f: usize| mesh.face_nodes(ripstop_mesh::FaceId(f as u32));
                        if nodes(i).iter().any(|n| nodes(j).contains(n)) {
                            continue;
                        }
                        let points = f.iter().map(|p| (*p, *g)).chain(g.iter().map(|p| (*p, *f)));
                        let least = points.map(|(p, t)| super::super::distance::point_triangle_squared(p, t));
                        if least.fold(f64::INFINITY, f64::min) < reach * reach {
                            found.push((i as u32, j as u32));
                        }
                    }
                }
            }
            found.sort_unstable();
            found.dedup();
            found
        }
    }

    #[test]
    fn flat_and_gently_bent_cloth_needs_no_look() {
        let mut sheet = Sheet::new(|_| ());
        let all = (2 * (SIDE - 1) * (SIDE - 1)) as u32;
        assert!(all * (all - 1) / 2 > 1_000_000);
        assert_eq!(sheet.looked_at(0.008, |x| [x, x]), []);
        // Falls and turns as a whole, and waves.
        assert_eq!(sheet.looked_at(0.008, |x| [x, x * 0.9 + Vec3::Y]), []);
        let wave = |x: Vec3| Vec3::new(x.x, 0.01 * crate::math::sin_cos(12.0 * x.x).0, x.z);
        assert_eq!(sheet.looked_at(0.008, |x| [x, wave(x)]), []);
        // Nothing can be said of a reach as large as triangles are.
        assert!(!sheet.looked_at(0.03, |x| [x, x]).is_empty());
    }

    #[test]
    fn nothing_that_comes_near_is_left_out() {
        let reach = 0.01;
        let still = |at: fn(Vec3) -> Vec3| move |x: Vec3| [at(x), at(x)];
        // Folded in half, rolled up, crushed to a line, folded on the way.
        let fold = |x: Vec3| if x.x < 0.5 { x } else { Vec3::new(1.0 - x.x, 0.005, x.z) };
        let roll = |x: Vec3| {
            let (angle, radius) = (20.0 * x.x, 0.05 + 0.0015 * 20.0 * x.x);
            let (sin, cos) = crate::math::sin_cos(angle);
            Vec3::new(radius * cos, radius * sin, x.z)
        };
        let crush = |x: Vec3| Vec3::new(0.1 * x.x, 0.0, x.z);
        let moving = |x: Vec3| [x, if x.x < 0.5 { x } else { Vec3::new(1.0 - x.x, 0.002, x.z) }];
        let mut sheet = Sheet::new(|_| ());
        let mut check = |at: &(dyn Fn(Vec3) -> [Vec3; 2] + Sync), name: &str| {
            let (near, looked) = (sheet.near(reach, at), sheet.looked_at(reach, at));
            assert!(!near.is_empty(), "{name}");
            assert!(near.iter().all(|pair| looked.binary_search(pair).is_ok()), "{name}");
        };
        check(&still(fold), "fold");
        check(&still(roll), "roll");
        check(&still(crush), "crush");
        check(&moving, "moving");
    }

    #[test]
    fn lips_of_a_tear_are_looked_at() {
        let half = SIDE / 2;
        let slit = |cloth: &mut Cloth| {
            let mut log = ChangeLog::new();
            let on = |p: Vec2| (p.x - half as f64 / (SIDE - 1) as f64).abs() < 1e-9 && p.y > 0.2 && p.y < 0.8;
            let edges: Vec<_> = cloth.mesh.edges().collect();
            for e in edges {
                if cloth.mesh.edge_nodes(e).into_iter().all(|n| on(cloth.mesh.node_uv(n))) {
                    cloth.mesh.open_edge(e, &mut log);
                }
            }
            cloth.follow(&log);
        };
        let mut sheet = Sheet::new(slit);
        let at = |x: Vec3| [x, x];
        let (near, looked) = (sheet.near(0.008, at), sheet.looked_at(0.008, at));
        assert!(near.len() > SIDE / 2);
        assert!(near.iter().all(|pair| looked.binary_search(pair).is_ok()));
    }
}
