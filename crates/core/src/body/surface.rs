//! Surfaces of shapes as triangles: what cloth meets of a body (but for balls, which fine cloth meets as they are), and what is drawn of it.
//!
//! | shape | points | triangles | furthest from the exact shape |
//! |---|---|---|---|
//! | ball | 2 562 | 5 120 | 0.0013 radius |
//! | capsule, cylinder | 48 around | | 0.0022 radius |
//! | box, hull, mesh | its own | | 0 |
//! | plane | 4 | 2 | 0, but it ends [`PLANE_REACH`] from its origin |
//!
//! All points are on the exact shape, so round ones are a little smaller than they should be. Triangles turn
//! counter-clockwise seen from outside; a plane's outside is its +y.

use crate::math::{Real, Vec3, atan2, sin_cos};
use std::collections::BTreeMap;
use std::f64::consts::PI;

/// How often a ball's icosahedron is divided in four.
const DIVISIONS: u32 = 4;
/// Points around capsules and cylinders; a multiple of four.
const AROUND: u32 = 48;
/// Most rings along a cylinder: long thin triangles make wide boxes in a tree.
const MOST_RINGS: Real = 64.0;
/// Faces at this angle or less to each other [rad] are in a plane.
const FLAT: Real = 1e-6;
/// How far the surface of a plane reaches from its origin, along x and z [m].
pub const PLANE_REACH: Real = 100.0;

/// Triangles around a body, in its own coordinates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surface {
    /// Points [m].
    pub points: Vec<Vec3>,
    /// Triangles, counter-clockwise from outside.
    pub triangles: Vec<[u32; 3]>,
    /// Every edge of them once, the smaller point first, in order.
    pub edges: Vec<[u32; 2]>,
    /// True if it has an inside: every edge joins two triangles that turn the same way.
    pub closed: bool,
    /// Edges that cut, by their numbers, in order.
    pub sharp: Vec<u32>,
    /// Of a surface with such edges: edges within a plane, which nothing meets before it meets the faces beside them.
    pub flat: Vec<u32>,
}

impl Surface {
    /// From triangles, whose points must be there.
    pub fn new(points: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Self {
        let mut edges: Vec<_> = sides(&triangles).map(|[a, b]| [a.min(b), a.max(b)]).collect();
        edges.sort_unstable();
        edges.dedup();
        let closed = !triangles.is_empty() && loose_edge(&triangles).is_none();
        Self { points, triangles, edges, closed, sharp: Vec::new(), flat: Vec::new() }
    }

    /// Lets edges cut, by their numbers, in order.
    pub(super) fn sharpen(&mut self, sharp: Vec<u32>) {
        if !sharp.is_empty() {
            let wedges = self.wedges();
            self.flat = (0..wedges.len() as u32).filter(|&e| (wedges[e as usize] - PI).abs() < FLAT).collect();
        }
        self.sharp = sharp;
    }

    /// Angle of the wedge of matter along every edge [rad]: below π where the surface bulges, zero where a sheet ends.
    pub fn wedges(&self) -> Vec<Real> {
        let corner = |n: u32| self.points[n as usize];
        let mut beside: Vec<Vec<u32>> = vec![Vec::new(); self.edges.len()];
        for (t, &[a, b, c]) in self.triangles.iter().enumerate() {
            for [p, q] in [[a, b], [b, c], [c, a]] {
                if let Ok(e) = self.edges.binary_search(&[p.min(q), p.max(q)]) {
                    beside[e].push(t as u32);
                }
            }
        }
        let wedge = |(&[p, q], beside): (&[u32; 2], &Vec<u32>)| {
            let [s, t] = beside[..] else { return if beside.len() == 1 { 0.0 } else { PI } };
            let [s, t] = [s, t].map(|t| self.triangles[t as usize]);
            let normal = |[a, b, c]: [u32; 3]| (corner(b) - corner(a)).cross(corner(c) - corner(a)).normalize_or_zero();
            let (m, n) = (normal(s), normal(t));
            let apex = t.into_iter().find(|k| *k != p && *k != q).map_or(Vec3::ZERO, corner);
            let turned = atan2(m.cross(n).length(), m.dot(n));
            if m.dot(apex - corner(p)) <= 0.0 { PI - turned } else { PI + turned }
        };
        self.edges.iter().zip(&beside).map(wedge).collect()
    }

    /// Volume inside [m³]; negative if it is inside out; without meaning unless it is closed.
    pub fn volume(&self) -> Real {
        // From a point near it, or the terms of a shape far away would cancel.
        let from = self.points.first().copied().unwrap_or_default();
        let corner = |n: u32| self.points[n as usize] - from;
        self.triangles.iter().map(|&[a, b, c]| corner(a).dot(corner(b).cross(corner(c)))).sum::<Real>() / 6.0
    }

    /// Length of the diagonal of the box around it [m].
    pub fn extent(&self) -> Real {
        let (low, high) = self.points.iter().fold((Vec3::MAX, Vec3::MIN), |(a, b), &p| (a.min(p), b.max(p)));
        (high - low).length()
    }

    /// Turns every triangle over.
    pub(super) fn turn_over(&mut self) {
        self.triangles.iter_mut().for_each(|t| t.swap(1, 2));
    }

    pub(super) fn ball(radius: Real) -> Self {
        // An icosahedron: three golden rectangles.
        let g = 0.5 * (1.0 + Real::sqrt(5.0));
        let mut points: Vec<Vec3> = Vec::new();
        for (a, b) in [(1.0, g), (-1.0, g), (1.0, -g), (-1.0, -g)] {
            points.extend([Vec3::new(0.0, a, b), Vec3::new(a, b, 0.0), Vec3::new(b, 0.0, a)]);
        }
        // Its triangles: neighbours are 2 apart, and no other pair of points is as near.
        let near = |i: usize, j: usize| (points[i] - points[j]).length() < 2.5;
        let mut triangles: Vec<[u32; 3]> = Vec::new();
        for i in 0..12 {
            for j in i + 1..12 {
                for k in j + 1..12 {
                    if near(i, j) && near(j, k) && near(k, i) {
                        let out = points[i].dot(points[j].cross(points[k])) > 0.0;
                        triangles.push([i, if out { j } else { k }, if out { k } else { j }].map(|n| n as u32));
                    }
                }
            }
        }
        points.iter_mut().for_each(|p| *p = p.normalize());
        for _ in 0..DIVISIONS {
            let mut middles = BTreeMap::new();
            let mut middle = |a: u32, b: u32| {
                *middles.entry((a.min(b), a.max(b))).or_insert_with(|| {
                    points.push((points[a as usize] + points[b as usize]).normalize());
                    points.len() as u32 - 1
                })
            };
            let mut finer = Vec::with_capacity(4 * triangles.len());
            for &[a, b, c] in &triangles {
                let [p, q, r] = [middle(a, b), middle(b, c), middle(c, a)];
                finer.extend([[a, p, r], [p, b, q], [r, q, c], [p, q, r]]);
            }
            triangles = finer;
        }
        points.iter_mut().for_each(|p| *p *= radius);
        Self::new(points, triangles)
    }

    pub(super) fn cuboid(size: Vec3) -> Self {
        let at = |i: u32| Vec3::new(f64::from(i & 1), f64::from(i >> 1 & 1), f64::from(i >> 2)) - 0.5;
        let quads = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
        Self::new((0..8).map(|i| at(i) * size).collect(), quads.iter().flat_map(|&q| halves(q)).collect())
    }

    pub(super) fn cylinder(radius: Real, height: Real) -> Self {
        let rings = (0.5 * height / radius).ceil().clamp(1.0, MOST_RINGS) as u32;
        let side = (0..=rings).map(|i| (radius, height * (f64::from(i) / f64::from(rings) - 0.5)));
        Self::lathe(&side.collect::<Vec<_>>(), 0.5 * height)
    }

    pub(super) fn capsule(radius: Real, height: Real) -> Self {
        let straight = 0.5 * height - radius;
        let quarter = AROUND / 4;
        let round = (1..=quarter).map(|i| sin_cos(0.5 * PI * f64::from(i) / f64::from(quarter)));
        let low: Vec<_> = round.map(|(s, c)| (radius * s, -straight - radius * c)).collect();
        let rings = (straight / radius).ceil().clamp(1.0, MOST_RINGS) as u32;
        let between = (1..rings).map(|i| (radius, straight * (2.0 * f64::from(i) / f64::from(rings) - 1.0)));
        let high = low.iter().rev().map(|&(r, y)| (r, -y));
        let profile: Vec<_> = low.iter().copied().chain(between).chain(high).collect();
        Self::lathe(&profile, 0.5 * height)
    }

    pub(super) fn plane() -> Self {
        let at = |x: f64, z: f64| Vec3::new(x, 0.0, z) * PLANE_REACH;
        Self::new(vec![at(-1.0, -1.0), at(-1.0, 1.0), at(1.0, 1.0), at(1.0, -1.0)], halves([0, 1, 2, 3]).to_vec())
    }

    /// A profile of (radius, y) from low to high, turned about the y axis and closed at −`half` and `half`.
    fn lathe(profile: &[(Real, Real)], half: Real) -> Self {
        let mut points = vec![Vec3::Y * -half, Vec3::Y * half];
        for &(r, y) in profile {
            points.extend((0..AROUND).map(|k| {
                let (s, c) = sin_cos(2.0 * PI * f64::from(k) / f64::from(AROUND));
                Vec3::new(r * c, y, -r * s)
            }));
        }
        let at = |ring: u32, k: u32| 2 + ring * AROUND + k % AROUND;
        let last = profile.len() as u32 - 1;
        let mut triangles = Vec::new();
        for k in 0..AROUND {
            triangles.push([0, at(0, k + 1), at(0, k)]);
            for ring in 0..last {
                triangles.extend(halves([at(ring, k), at(ring, k + 1), at(ring + 1, k + 1), at(ring + 1, k)]));
            }
            triangles.push([1, at(last, k), at(last, k + 1)]);
        }
        Self::new(points, triangles)
    }
}

/// Two triangles of a quad.
fn halves([a, b, c, d]: [u32; 4]) -> [[u32; 3]; 2] {
    [[a, b, c], [a, c, d]]
}

/// The sides of all triangles, from point to point.
fn sides(triangles: &[[u32; 3]]) -> impl Iterator<Item = [u32; 2]> + '_ {
    triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]])
}

/// An edge that keeps the triangles from being closed, and how many triangles pass it along and against its direction.
pub(super) fn loose_edge(triangles: &[[u32; 3]]) -> Option<([u32; 2], [usize; 2])> {
    let mut passes: BTreeMap<[u32; 2], [usize; 2]> = BTreeMap::new();
    for [a, b] in sides(triangles) {
        passes.entry([a.min(b), a.max(b)]).or_default()[usize::from(a > b)] += 1;
    }
    passes.into_iter().find(|(_, count)| *count != [1, 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surfaces_are_closed_outward_and_of_the_right_volume() {
        let (r, h) = (0.3, 1.1);
        let cases = [
            ("ball", Surface::ball(r), 4.0 / 3.0 * PI * r * r * r),
            ("box", Surface::cuboid(Vec3::new(1.0, 2.0, 0.5)), 1.0),
            ("cylinder", Surface::cylinder(r, h), PI * r * r * h),
            ("thin cylinder", Surface::cylinder(1e-3, h), PI * 1e-6 * h),
            ("capsule", Surface::capsule(r, h), PI * r * r * (h - 2.0 * r) + 4.0 / 3.0 * PI * r * r * r),
        ];
        for (name, surface, volume) in cases {
            assert!(surface.closed, "{name}");
            // Points on the exact shape: never larger, and a chord of 1/48 of a circle takes 0.3 % of its area.
            let share = surface.volume() / volume;
            assert!(share < 1.0 + 1e-12 && share > 0.995, "{name}: {share}");
            // Euler: V − E + F = 2 for what has no holes.
            assert_eq!(surface.points.len() + surface.triangles.len(), surface.edges.len() + 2, "{name}");
        }
        assert_eq!(Surface::ball(1.0).points.len(), 2562);
    }

    #[test]
    fn round_surfaces_are_as_near_as_promised() {
        for (surface, off) in [(Surface::ball(1.0), 0.0013), (Surface::cylinder(1.0, 2.0), 0.0022)] {
            for t in &surface.triangles {
                let middle = t.iter().map(|&n| surface.points[n as usize]).sum::<Vec3>() / 3.0;
                let far = if middle.y.abs() == 1.0 { 1.0 } else { middle.reject_from(Vec3::Y).length() };
                let far = if off < 0.002 { middle.length() } else { far };
                assert!(far > 1.0 - off, "{middle} is {} inside", 1.0 - far);
            }
        }
    }

    #[test]
    fn wedges_have_the_angle_of_their_faces() {
        let right = Surface::cuboid(Vec3::new(1.0, 2.0, 0.5)).wedges();
        let flat = right.iter().filter(|w| (**w - PI).abs() < 1e-12).count();
        assert_eq!((flat, right.len()), (6, 18), "a diagonal in each face");
        assert!(right.iter().all(|w| (w - PI).abs() < 1e-12 || (w - 0.5 * PI).abs() < 1e-12));
        // A roof of 30°, and the same turned inside out: a groove.
        let (s, c) = sin_cos(PI / 6.0);
        let points = vec![Vec3::ZERO, Vec3::Z, Vec3::X, Vec3::new(c, s, 0.0)];
        let roof = Surface::new(points.clone(), vec![[0, 1, 3], [0, 2, 1]]);
        let ridge = roof.edges.binary_search(&[0, 1]).unwrap();
        let wedge = roof.wedges()[ridge];
        let groove = Surface::new(points, vec![[0, 3, 1], [0, 1, 2]]).wedges()[ridge];
        assert!((wedge.min(groove) - PI / 6.0).abs() < 1e-12 && (wedge + groove - 2.0 * PI).abs() < 1e-12);
        assert_eq!(Surface::plane().wedges().iter().filter(|w| **w == 0.0).count(), 4, "a sheet ends sharp");
    }

    #[test]
    fn a_plane_looks_up_and_is_open() {
        let plane = Surface::plane();
        assert!(!plane.closed);
        for [a, b, c] in plane.triangles.iter().map(|t| t.map(|n| plane.points[n as usize])) {
            assert!((b - a).cross(c - a).normalize().distance(Vec3::Y) < 1e-15);
        }
    }

    #[test]
    fn loose_edges_are_found() {
        let mut surface = Surface::cuboid(Vec3::ONE);
        assert_eq!(loose_edge(&surface.triangles), None);
        surface.triangles[0].swap(0, 1);
        assert!(loose_edge(&surface.triangles).is_some_and(|(_, count)| count.contains(&2)));
        surface.triangles.remove(0);
        assert!(loose_edge(&surface.triangles).is_some_and(|(_, count)| count.contains(&0)));
    }
}
