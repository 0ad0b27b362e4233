//! Which triangles pass through each other, and what is inside a closed surface: how contact is judged afterwards.
//!
//! Two triangles **cross** if each has corners on both sides of the other's plane, and the two stretches in which they meet the other's plane, which
//! lie on one line, overlap. Every "on a side" and "overlap" means by more than a length `touching`. So triangles that touch, that lie in one plane or pass
//! into each other by less than `touching` don't cross. Triangles that share a node lie on neither side of each other there: they cross if they do so beyond
//! it. Those that share an edge meet nowhere else and never cross.
//!
//! An edge crosses a triangle if its ends lie on both sides and it goes through the inside, farther than `touching` from its sides.
//!
//! A point is **inside** a closed surface if the surface winds around it: the solid angles of its triangles, with their signs, sum to 4π
//! (inside-out: −4π) and not to 0. There is no ray that could hit an edge, and a small hole does no harm.
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | δ | `touching` | m | depth up to which passing into each other is touching: what the points may be wrong by |
//! | w | [`winding`] | 1 | times that the surface winds around a point |
//!
//! Source: the two stretches on one line are Möller 1997 (*A fast triangle–triangle intersection test*), written with lengths instead of determinants so that δ means
//! something; solid angles are van Oosterom and Strackee 1983; winding for inside is Jacobson et al. 2013. Candidates come from the [tree](super::tree) of boxes that contact has.
//!
//! Limits: a triangle without area has no sides and crosses nothing; the triangles around it do. Two sheets that meet in such a way that an edge of one lies
//! in a face of the other to within δ, its faces on both sides, touch. What is no number crosses nothing.

use super::tree::{Swept, Tree};
use crate::body::Bodies;
use crate::cloth::Cloth;
use crate::math::{Vec3, atan2};
use glam::Vec3A;
use std::f64::consts::PI;

/// How far apart boxes may be that meet but for single precision, over the size of the whole: two coordinates of 2⁻²⁴ each and what was rounded to subtract them, five times over.
const ROUNDED: f32 = 1e-6;

/// Depth that is touching where positions are known in double precision [m].
pub const TOUCHING: f64 = 1e-9;

/// Bound of the rounding of a distance from a plane, over that distance and 1 / sin of the angle of two sides: some ten operations of 2⁻⁵³ each, doubled.
const ROUNDING: f64 = 2e-15;

/// A triangle with its plane.
#[derive(Clone, Copy)]
struct Plane {
    corners: [Vec3; 3],
    /// Unit normal; zero without area.
    normal: Vec3,
    /// Rounding of the normal.
    blur: f64,
}

impl Plane {
    fn new(corners @ [a, b, c]: [Vec3; 3]) -> Self {
        let (ab, ac) = (b - a, c - a);
        let n = ab.cross(ac);
        let (area, sides) = (n.length(), ab.length() * ac.length());
        let normal = if area > 0.0 { n / area } else { Vec3::ZERO };
        Self { corners, normal, blur: if area > 0.0 { ROUNDING * sides / area } else { 0.0 } }
    }

    /// Distance above the plane [m], zero if it is below `touching` or rounding.
    #[inline]
    fn height(&self, p: Vec3, touching: f64) -> f64 {
        let from = p - self.corners[0];
        let height = from.dot(self.normal);
        if height.abs() > touching + self.blur * from.length() { height } else { 0.0 }
    }
}

/// Where a triangle goes through a plane, given the heights of its corners above it; nothing unless it has corners on both sides.
fn stretch(corners: [Vec3; 3], heights: [f64; 3]) -> Option<[Vec3; 2]> {
    let (low, high) = heights.iter().fold((0.0f64, 0.0f64), |(low, high), h| (low.min(*h), high.max(*h)));
    let both_sides = low < 0.0 && high > 0.0;
    if !both_sides {
        return None;
    }
    // Either one corner in the plane and an edge through it, or two edges.
    let (mut ends, mut count) = ([Vec3::ZERO; 2], 0);
    for k in 0..3 {
        let ([a, b], [from, to]) = ([corners[k], corners[(k + 1) % 3]], [heights[k], heights[(k + 1) % 3]]);
        let end = if from == 0.0 {
            a
        } else if (from < 0.0 && to > 0.0) || (from > 0.0 && to < 0.0) {
            a + (b - a) * (from / (from - to))
        } else {
            continue;
        };
        ends[count.min(1)] = end;
        count += 1;
    }
    (count == 2).then_some(ends)
}

/// The part of a line that two triangles have in common, if they cross. `shared` has the corners of each that are one node.
fn common(first: &Plane, second: &Plane, shared: Option<[usize; 2]>, touching: f64) -> Option<[Vec3; 2]> {
    let heights = |of: &Plane, over: &Plane, on: Option<usize>| {
        let mut heights = of.corners.map(|p| over.height(p, touching));
        if let Some(on) = on {
            heights[on] = 0.0;
        }
        heights
    };
    let [a, b] = stretch(first.corners, heights(first, second, shared.map(|s| s[0])))?;
    let [c, d] = stretch(second.corners, heights(second, first, shared.map(|s| s[1])))?;
    // All four on one line: along the longer stretch.
    let (origin, along) = if (b - a).length_squared() >= (d - c).length_squared() { (a, b - a) } else { (c, d - c) };
    let length = along.length();
    let along = along / length;
    let range = |p: Vec3, q: Vec3| {
        let (p, q) = ((p - origin).dot(along), (q - origin).dot(along));
        (p.min(q), p.max(q))
    };
    let ((low, high), (other_low, other_high)) = (range(a, b), range(c, d));
    let (begin, end) = (low.max(other_low), high.min(other_high));
    (end - begin > touching.max(ROUNDING * length)).then(|| [origin + along * begin, origin + along * end])
}

/// Middle of the line that two triangles without a common node have in common, if they cross.
pub fn triangles_crossing(first: [Vec3; 3], second: [Vec3; 3], touching: f64) -> Option<Vec3> {
    let [begin, end] = common(&Plane::new(first), &Plane::new(second), None, touching)?;
    Some((begin + end) * 0.5)
}

/// Whether two triangles without a common node cross.
pub fn triangles_cross(first: [Vec3; 3], second: [Vec3; 3], touching: f64) -> bool {
    triangles_crossing(first, second, touching).is_some()
}

/// Whether two triangles cross, of which one corner may be the same node, [`TOUCHING`] apart.
pub(super) fn corners_cross(first: [Vec3; 3], second: [Vec3; 3], shared: Option<[usize; 2]>) -> bool {
    common(&Plane::new(first), &Plane::new(second), shared, TOUCHING).is_some()
}

/// Whether an edge crosses a triangle: through its inside, not along or beside it.
pub fn edge_crosses([p, q]: [Vec3; 2], triangle: [Vec3; 3], touching: f64) -> bool {
    let plane = Plane::new(triangle);
    let (from, to) = (plane.height(p, touching), plane.height(q, touching));
    let both_sides = (from < 0.0 && to > 0.0) || (from > 0.0 && to < 0.0);
    if !both_sides {
        return false;
    }
    let x = p + (q - p) * (from / (from - to));
    (0..3).all(|k| {
        let (a, b) = (triangle[k], triangle[(k + 1) % 3]);
        // How far inside of this side.
        (b - a).cross(x - a).dot(plane.normal) > (touching + plane.blur * (x - a).length()) * (b - a).length()
    })
}

/// Middle of the line that two faces have in common, if they cross; nothing for numbers that aren't faces.
pub fn crossing_place(x: &[Vec3], faces: &[[u32; 3]], [first, second]: [u32; 2], touching: f64) -> Option<Vec3> {
    let [first, second] = [*faces.get(first as usize)?, *faces.get(second as usize)?];
    let [Some(one), Some(two)] = [corners(x, first), corners(x, second)] else { return None };
    let ends = common(&Plane::new(one), &Plane::new(two), shared(first, second)?, touching)?;
    Some((ends[0] + ends[1]) * 0.5)
}

/// Pairs of faces of one mesh that cross, each once with the smaller number first, in order.
///
/// Faces that name nodes which aren't there are left out.
pub fn crossings(x: &[Vec3], faces: &[[u32; 3]], touching: f64) -> Vec<[u32; 2]> {
    let planes = planes(x, faces);
    let cross = |[i, j]: &[u32; 2]| {
        let shared = shared(faces[*i as usize], faces[*j as usize]);
        shared.is_some_and(|shared| common(&planes[*i as usize], &planes[*j as usize], shared, touching).is_some())
    };
    let mut found = candidates(&planes, 0);
    found.retain(cross);
    found.sort_unstable();
    found
}

/// Pairs of a face of the first mesh and a face of the second one that cross, in order.
pub fn crossings_between(
    x: &[Vec3],
    faces: &[[u32; 3]],
    other_x: &[Vec3],
    other_faces: &[[u32; 3]],
    touching: f64,
) -> Vec<[u32; 2]> {
    let first = faces.len();
    if first == 0 {
        return Vec::new();
    }
    let mut all = planes(x, faces);
    all.extend(planes(other_x, other_faces));
    let mut found = candidates(&all, first);
    found.retain(|[i, j]| common(&all[*i as usize], &all[*j as usize], None, touching).is_some());
    found.iter_mut().for_each(|[_, j]| *j -= first as u32);
    found.sort_unstable();
    found
}

/// Everything that crosses in a cloth among bodies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Crossings {
    /// Pairs of faces of the cloth.
    pub itself: Vec<[u32; 2]>,
    /// For every body pairs of a face of the cloth and a triangle of the body; none for a body that holds cloth, which may be anywhere in it.
    pub bodies: Vec<Vec<[u32; 2]>>,
}

impl Crossings {
    /// Looks for all of them.
    pub fn of(cloth: &Cloth, bodies: &Bodies) -> Self {
        let faces: Vec<[u32; 3]> = cloth.mesh.faces().map(|f| cloth.mesh.face_nodes(f).map(|n| n.0)).collect();
        let with = bodies.iter().enumerate().map(|(b, body)| {
            if !body.ties.is_empty() {
                return Vec::new();
            }
            let points: Vec<Vec3> = body.surface.points.iter().map(|&p| bodies.pose(b).apply(p)).collect();
            crossings_between(&cloth.x, &faces, &points, &body.surface.triangles, TOUCHING)
        });
        Self { itself: crossings(&cloth.x, &faces, TOUCHING), bodies: with.collect() }
    }

    /// How many cross a body.
    pub fn with_bodies(&self) -> usize {
        self.bodies.iter().map(Vec::len).sum()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.itself.len() + self.with_bodies()
    }
}

/// How often a surface winds around a point: 1 inside a closed one whose faces are counter-clockwise seen from outside, 0 outside, −1 inside one
/// that is inside-out, something between for surfaces with holes and on the surface itself.
pub fn winding(x: &[Vec3], faces: &[[u32; 3]], p: Vec3) -> f64 {
    let angle = |face: &[u32; 3]| {
        let Some([a, b, c]) = corners(x, *face).map(|t| t.map(|x| x - p)) else { return 0.0 };
        let (la, lb, lc) = (a.length(), b.length(), c.length());
        // Half of the solid angle.
        atan2(a.dot(b.cross(c)), la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb)
    };
    faces.iter().map(angle).sum::<f64>() / (2.0 * PI)
}

/// Whether a point is inside a closed surface, inside-out or not.
pub fn inside(x: &[Vec3], faces: &[[u32; 3]], p: Vec3) -> bool {
    winding(x, faces, p).abs() > 0.5
}

fn corners(x: &[Vec3], face: [u32; 3]) -> Option<[Vec3; 3]> {
    let [a, b, c] = face.map(|node| x.get(node as usize).copied());
    Some([a?, b?, c?])
}

/// The corners of two faces that are one node, if there is one; `None` if there are more, so that they can't cross.
fn shared(first: [u32; 3], second: [u32; 3]) -> Option<Option<[usize; 2]>> {
    let mut found = None;
    for (i, j) in (0..3).flat_map(|i| (0..3).map(move |j| (i, j))) {
        if first[i] == second[j] {
            if found.is_some() {
                return None;
            }
            found = Some([i, j]);
        }
    }
    Some(found)
}

fn planes(x: &[Vec3], faces: &[[u32; 3]]) -> Vec<Plane> {
    faces.iter().map(|f| Plane::new(corners(x, *f).unwrap_or([Vec3::NAN; 3]))).collect()
}

/// Pairs of triangles that may meet, the smaller number first, in no order. If `first` is above zero, only pairs of one that is below it with one that isn't.
fn candidates(planes: &[Plane], first: usize) -> Vec<[u32; 2]> {
    // What isn't finite or isn't there gets no place in the tree.
    let finite = |f: &u32| planes[*f as usize].corners.iter().all(|x| x.is_finite());
    let faces: Vec<u32> = (0..planes.len() as u32).filter(finite).collect();
    let Some(origin) = faces.first().map(|&f| planes[f as usize].corners[0]) else { return Vec::new() };
    let all = faces.iter().flat_map(|&f| planes[f as usize].corners);
    let size = all.fold(f64::MIN_POSITIVE, |size, x| size.max((x - origin).abs().max_element()));
    // In units of the whole, so that single precision holds it whatever its size.
    let local = |f: u32| planes[faces[f as usize] as usize].corners.map(|x| ((x - origin) / size).as_vec3a());
    let middle = |f: u32| local(f).iter().sum::<Vec3A>() / 3.0;
    let mut tree = Tree::default();
    let own = faces.partition_point(|&f| (f as usize) < first) as u32;
    tree.build(&(0..faces.len() as u32).map(middle).collect::<Vec<_>>(), own);
    tree.refit(|f| Swept::of(local(f).map(|x| (x, Vec3A::ZERO))));
    let take = |a: u32, b: u32, _: &Swept, _: &Swept, list: &mut Vec<[u32; 2]>| {
        if first == 0 || (a < own) != (b < own) {
            list.push([a.min(b), a.max(b)].map(|f| faces[f as usize]));
        }
    };
    let mut lists = Vec::new();
    tree.pairs(ROUNDED, |_, _| false, take, &mut lists);
    lists.concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{hash_unit, rotate, sin_cos};

    const EXACT: f64 = 0.0;

    fn vector(seed: u64, key: u64) -> Vec3 {
        Vec3::from([0, 1, 2].map(|k| 2.0 * hash_unit(seed, 3 * key + k) - 1.0))
    }

    /// A sheet of `cells`² cells of size 1 / `cells`, two faces each, bent by `place`.
    fn sheet(cells: u32, place: impl Fn(f64, f64) -> Vec3) -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let at = |i: u32| f64::from(i) / f64::from(cells);
        let row = cells + 1;
        let x = (0..row * row).map(|n| place(at(n % row), at(n / row))).collect();
        let cell = |n: u32| {
            let a = n / cells * row + n % cells;
            [[a, a + 1, a + row], [a + 1, a + row + 1, a + row]]
        };
        (x, (0..cells * cells).flat_map(cell).collect())
    }

    /// A ball of triangles around the origin, counter-clockwise seen from outside.
    fn ball(radius: f64, rows: u32) -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let around = 2 * rows;
        let mut x = vec![Vec3::Y * radius];
        for i in 1..rows {
            let (s, c) = sin_cos(PI * f64::from(i) / f64::from(rows));
            for j in 0..around {
                let (sj, cj) = sin_cos(2.0 * PI * f64::from(j) / f64::from(around));
                x.push(Vec3::new(s * cj, c, s * sj) * radius);
            }
        }
        x.push(Vec3::NEG_Y * radius);
        let last = x.len() as u32 - 1;
        let node = |i: u32, j: u32| match i {
            0 => 0,
            _ if i == rows => last,
            _ => 1 + (i - 1) * around + j % around,
        };
        let mut faces = Vec::new();
        for (i, j) in (0..rows).flat_map(|i| (0..around).map(move |j| (i, j))) {
            let [a, b, c, d] = [node(i, j), node(i, j + 1), node(i + 1, j), node(i + 1, j + 1)];
            faces.extend([[a, b, d], [a, d, c]].into_iter().filter(|[a, b, c]| a != b && b != c && c != a));
        }
        (x, faces)
    }

    #[test]
    fn triangles_cross_where_an_edge_of_one_crosses_the_other() {
        let mut count = 0;
        for seed in 0..20_000 {
            let [a, b]: [[Vec3; 3]; 2] = [0, 1].map(|t| [0, 1, 2].map(|k| vector(seed, 3 * t + k)));
            let pierces = |a: [Vec3; 3], b: [Vec3; 3]| (0..3).any(|k| edge_crosses([a[k], a[(k + 1) % 3]], b, EXACT));
            let cross = triangles_cross(a, b, EXACT);
            assert_eq!(cross, pierces(a, b) || pierces(b, a), "{seed}");
            assert_eq!(
                cross,
                triangles_cross([b[1], b[0], b[2]], [a[2], a[0], a[1]], EXACT),
                "{seed}: order of corners"
            );
            count += usize::from(cross);
        }
        assert!(count > 1000 && count < 19_000, "{count}");
    }

    #[test]
    fn touching_and_lying_in_one_plane_is_not_crossing() {
        let [o, x, y, z] = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z];
        let flat = [o, x, y];
        let inside = (x + y) * 0.25;
        // A corner, an edge, a face on it; one in its plane that overlaps it; one beside it.
        assert!(!triangles_cross(flat, [inside, inside + z, inside + z + x], EXACT));
        assert!(!triangles_cross(flat, [inside, inside + x * 0.1, inside + z], EXACT));
        assert!(!triangles_cross(flat, [o - x, x, y * 0.5], EXACT));
        assert!(!triangles_cross(flat, flat, EXACT));
        assert!(!triangles_cross(flat, [x * 2.0 - z, x * 2.0 + z, x * 3.0], EXACT));
        // Through it, through its side, through its side only at a point.
        assert!(triangles_cross(flat, [inside - z, inside + z, x * 2.0 + z], EXACT));
        assert!(triangles_cross(flat, [x * 2.0 - z, x * 2.0 + z, inside], EXACT));
        assert!(!triangles_cross(flat, [x * 0.5 - z - y, x * 0.5 + z - y, x * 0.5], EXACT));
        // No deeper than what counts as touching.
        let poke = [inside - z * 1e-4, inside + z, inside + z + x];
        assert!(triangles_cross(flat, poke, 1e-5) && !triangles_cross(flat, poke, 2e-4));
        // Without area, and no numbers.
        assert!(!triangles_cross(flat, [inside - z, inside + z, inside], EXACT));
        assert!(!triangles_cross(flat, [inside - z, inside + z, Vec3::NAN], EXACT));
        // The edge alone.
        assert!(edge_crosses([inside - z, inside + z], flat, EXACT));
        assert!(!edge_crosses([inside, inside + z], flat, EXACT));
        assert!(!edge_crosses([x * 0.5 - z, x * 0.5 + z], flat, EXACT));
        assert!(!edge_crosses([x - z, x + z], flat, EXACT));
        assert!(!edge_crosses([o, inside], flat, EXACT));
    }

    #[test]
    fn a_bent_sheet_has_no_crossings_and_a_folded_one_has() {
        // A roll of three turns, 2 mm between them; the same with the turns 0.
        let roll = |between: f64| {
            sheet(40, move |u, v| {
                let angle = 6.0 * PI * u;
                let (s, c) = sin_cos(angle);
                Vec3::new(c, 0.0, s) * (0.05 + between * angle / (2.0 * PI)) + Vec3::Y * v
            })
        };
        let (x, faces) = roll(0.002);
        assert_eq!(crossings(&x, &faces, EXACT), Vec::<[u32; 2]>::new());
        // Crumpled by noise far larger than the cells: many.
        let noisy: Vec<Vec3> = (0..x.len()).map(|n| x[n] + vector(3, n as u64) * 0.05).collect();
        assert!(crossings(&noisy, &faces, EXACT).len() > 100);
        // Flat, everywhere in one plane, every which way.
        for seed in 0..20 {
            let turn = vector(seed, 0).normalize();
            let (x, faces) = sheet(30, |u, v| rotate(Vec3::new(u, v, 0.0), turn, 3.0 * hash_unit(seed, 9)));
            assert!(crossings(&x, &faces, EXACT).is_empty(), "{seed}");
        }
    }

    #[test]
    fn faces_around_one_node_cross_only_beyond_it() {
        let [o, x, y, z] = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z];
        // Two faces at node 0: one flat, the other through it or above it, or through the point only.
        let faces = [[0, 1, 2], [3, 0, 4]];
        let with = |p: Vec3, q: Vec3| crossings(&[o, x, y, p, q], &faces, EXACT);
        assert_eq!(with(x + y - z, x + y + z), [[0, 1]]);
        assert!(with(x + y + z * 0.1, x + z).is_empty());
        assert!(with(-x - y - z, -x - y + z).is_empty());
        // An edge in common: folded upon itself, nothing crosses.
        assert!(crossings(&[o, x, y, y], &[[0, 1, 2], [1, 0, 3]], EXACT).is_empty());
        let place = crossing_place(&[o, x, y, x + y - z, x + y + z], &faces, [0, 1], EXACT).unwrap();
        assert!((place - (x + y) * 0.25).length() < 1e-12, "{place}");
    }

    #[test]
    fn the_tree_finds_what_asking_everyone_finds() {
        let mut total = 0;
        for seed in 0..20 {
            let count = 12 * seed as usize;
            let x: Vec<Vec3> =
                (0..3 * count as u64).map(|k| vector(seed, k / 3) + vector(seed + 50, k) * 0.4).collect();
            let faces: Vec<[u32; 3]> = (0..count as u32).map(|f| [3 * f, 3 * f + 1, 3 * f + 2]).collect();
            let corners = |f: u32| faces[f as usize].map(|n| x[n as usize]);
            let mut expected = Vec::new();
            for i in 0..count as u32 {
                let ones = (i + 1..count as u32).filter(|j| triangles_cross(corners(i), corners(*j), EXACT));
                expected.extend(ones.map(|j| [i, j]));
            }
            assert_eq!(crossings(&x, &faces, EXACT), expected, "{seed}");
            total += expected.len();
            let half = count / 2;
            let between = crossings_between(&x, &faces[..half], &x, &faces[half..], EXACT);
            let expected = expected.into_iter().filter(|[i, j]| (*i as usize) < half && *j as usize >= half);
            assert_eq!(between, expected.map(|[i, j]| [i, j - half as u32]).collect::<Vec<_>>(), "{seed}");
        }
        assert!(total > 500, "{total}");
    }

    #[test]
    fn a_sheet_crosses_a_ball_along_a_circle() {
        let (ball_x, ball_faces) = ball(0.3, 24);
        let sheet_at = |height: f64| sheet(30, move |u, v| Vec3::new(u - 0.49, height, v - 0.51));
        let (x, faces) = sheet_at(0.1);
        let pairs = crossings_between(&x, &faces, &ball_x, &ball_faces, EXACT);
        let middle = |face: [u32; 3]| face.iter().map(|n| x[*n as usize]).sum::<Vec3>() / 3.0;
        let radius = (0.3f64 * 0.3 - 0.1 * 0.1).sqrt();
        for [face, _] in &pairs {
            let from_axis = middle(faces[*face as usize]).with_y(0.0).length();
            assert!((from_axis - radius).abs() < 0.04, "{from_axis}");
        }
        // The circle passes through cells of 1 / 30: at least as many faces as its length has.
        assert!(pairs.len() as f64 > 2.0 * PI * radius * 30.0, "{}", pairs.len());
        let (x, faces) = sheet_at(0.301);
        assert!(crossings_between(&x, &faces, &ball_x, &ball_faces, EXACT).is_empty());
    }

    #[test]
    fn points_are_inside_or_not() {
        let (x, faces) = ball(1.0, 12);
        let inside_out: Vec<[u32; 3]> = faces.iter().map(|[a, b, c]| [*a, *c, *b]).collect();
        for seed in 0..400 {
            let p =
                vector(seed, 0).normalize() * if seed % 2 == 0 { 0.95 } else { 1.01 } * hash_unit(seed, 77).max(0.1);
            let p = if seed % 2 == 0 { p } else { p.normalize() * (1.01 + hash_unit(seed, 78)) };
            assert_eq!(inside(&x, &faces, p), seed % 2 == 0, "{seed}");
            assert_eq!(inside(&x, &inside_out, p), seed % 2 == 0, "{seed}");
        }
        assert!((winding(&x, &faces, Vec3::ZERO) - 1.0).abs() < 1e-12);
        assert!((winding(&x, &inside_out, Vec3::splat(0.2)) + 1.0).abs() < 1e-12);
        assert!(winding(&x, &faces, Vec3::X * 3.0).abs() < 1e-12);
        // A hole of one face does no harm away from it; nothing has no inside; a face that isn't there is left out.
        assert!(inside(&x, &faces[1..], Vec3::ZERO));
        assert!(!inside(&[], &[], Vec3::ZERO) && !inside(&x, &[[0, 1, 9999]], Vec3::ZERO));
    }

    #[test]
    fn faces_that_name_nothing_and_points_that_are_no_numbers_are_left_out() {
        let [o, x, y, z] = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z];
        let points = [o, x, y, x * 0.3 - z, x * 0.3 + z + y, y * 0.3 + x * 0.3 + z, Vec3::NAN, Vec3::INFINITY];
        let faces = [[0, 1, 2], [3, 4, 5], [3, 4, 6], [3, 4, 7], [0, 1, 99]];
        assert_eq!(crossings(&points, &faces, EXACT), [[0, 1]]);
        assert!(
            crossings(&[], &[], EXACT).is_empty() && crossings_between(&[], &[], &points, &faces, EXACT).is_empty()
        );
        assert_eq!(crossing_place(&points, &faces, [0, 77], EXACT), None);
    }
}
