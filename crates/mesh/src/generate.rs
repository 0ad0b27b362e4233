//! Flat sheets to start from: a regular grid, and an irregular mesh that gives tears no line to follow.

use crate::{Mesh, MeshError, Vec2};
use spade::{DelaunayTriangulation, Point2, Triangulation};

/// A rectangle of `size` [m] with `nodes` (along u, along v) in rows, node `i + j·nodes[0]` at column `i`, row `j`.
/// Diagonals alternate, so that no direction is preferred.
pub fn grid(size: Vec2, nodes: [usize; 2]) -> Result<Mesh, MeshError> {
    let [nu, nv] = nodes;
    if nu < 2 || nv < 2 {
        return Err(MeshError::Empty);
    }
    let at = |i: usize, j: usize| size * Vec2::new(i as f64 / (nu - 1) as f64, j as f64 / (nv - 1) as f64);
    let id = |(i, j): (usize, usize)| (i + j * nu) as u32;
    let mut faces = Vec::with_capacity(2 * (nu - 1) * (nv - 1));
    let mut uv = Vec::with_capacity(faces.capacity());
    for j in 0..nv - 1 {
        for i in 0..nu - 1 {
            let [a, b, c, d] = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)];
            let triangles = if (i + j) % 2 == 0 { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] };
            for t in triangles {
                faces.push(t.map(id));
                uv.push(t.map(|(i, j)| at(i, j)));
            }
        }
    }
    Mesh::from_faces(nu * nv, &faces, &uv)
}

/// A rectangle of `size` [m] filled with nodes at about `spacing` [m] from each other in no regular pattern: evenly
/// spread points (farther apart than 0.75 spacing), smoothed, joined by Delaunay's triangulation. The same `seed`
/// gives the same mesh on every machine. Nodes are numbered in rows.
pub fn irregular(size: Vec2, spacing: f64, seed: u64) -> Result<Mesh, MeshError> {
    // Written so that a NaN is refused too.
    if !(spacing > 0.0 && size.x >= spacing && size.y >= spacing) {
        return Err(MeshError::Empty);
    }
    let mut points = border(size, spacing);
    let fixed = points.len();
    fill(&mut points, size, spacing, seed);
    for _ in 0..SMOOTHING {
        smooth(&mut points, fixed);
    }
    let row = |p: &Vec2| (p.y / spacing).floor();
    points.sort_by(|a, b| row(a).total_cmp(&row(b)).then(a.x.total_cmp(&b.x)).then(a.y.total_cmp(&b.y)));
    let faces = delaunay(&points);
    let uv: Vec<_> = faces.iter().map(|f| f.map(|n| points[n as usize])).collect();
    Mesh::from_faces(points.len(), &faces, &uv)
}

/// Rounds of moving every inner node to the middle of its neighbours: few enough to stay irregular.
const SMOOTHING: usize = 6;
/// Smallest distance of two nodes before smoothing, in units of the spacing. Dart throwing at this distance fills
/// the plane with about one node per spacing² · √3/2, like a grid of equilateral triangles.
const DART: f64 = 0.75;

fn border(size: Vec2, spacing: f64) -> Vec<Vec2> {
    let (nu, nv) = ((size.x / spacing).round().max(1.0) as usize, (size.y / spacing).round().max(1.0) as usize);
    let mut points = Vec::new();
    for i in 0..=nu {
        let u = size.x * i as f64 / nu as f64;
        points.extend([Vec2::new(u, 0.0), Vec2::new(u, size.y)]);
    }
    for j in 1..nv {
        let v = size.y * j as f64 / nv as f64;
        points.extend([Vec2::new(0.0, v), Vec2::new(size.x, v)]);
    }
    points
}

/// Throws darts until hardly any fits: a dart is kept if it is `DART` spacings away from all others.
fn fill(points: &mut Vec<Vec2>, size: Vec2, spacing: f64, seed: u64) {
    let reach = DART * spacing;
    let cells = [(size.x / reach).floor() as usize + 1, (size.y / reach).floor() as usize + 1];
    let cell = |p: Vec2| [((p.x / reach) as usize).min(cells[0] - 1), ((p.y / reach) as usize).min(cells[1] - 1)];
    let mut grid: Vec<Vec<u32>> = vec![Vec::new(); cells[0] * cells[1]];
    for (i, &p) in points.iter().enumerate() {
        let [x, y] = cell(p);
        grid[x + y * cells[0]].push(i as u32);
    }
    let mut random = SplitMix(seed);
    let throws = 30 * (size.x * size.y / (reach * reach)).ceil() as usize;
    for _ in 0..throws {
        let p = size * Vec2::new(random.unit(), random.unit());
        let inside = p.x.min(size.x - p.x).min(p.y.min(size.y - p.y)) >= 0.5 * reach;
        let [x, y] = cell(p);
        let near = |i: &u32| points[*i as usize].distance_squared(p) < reach * reach;
        let blocked = (y.saturating_sub(1)..=(y + 1).min(cells[1] - 1)).any(|y| {
            (x.saturating_sub(1)..=(x + 1).min(cells[0] - 1)).any(|x| grid[x + y * cells[0]].iter().any(near))
        });
        if inside && !blocked {
            grid[x + y * cells[0]].push(points.len() as u32);
            points.push(p);
        }
    }
}

fn smooth(points: &mut [Vec2], fixed: usize) {
    let mut sum = vec![(Vec2::ZERO, 0.0); points.len()];
    for [a, b, c] in delaunay(points).into_iter().map(|f| f.map(|n| n as usize)) {
        // Weighting by area (centroid of the faces around) keeps the spacing even.
        let area = (points[b] - points[a]).perp_dot(points[c] - points[a]);
        let centre = (points[a] + points[b] + points[c]) / 3.0;
        for n in [a, b, c] {
            sum[n].0 += centre * area;
            sum[n].1 += area;
        }
    }
    for (p, (s, w)) in points.iter_mut().zip(sum).skip(fixed) {
        if w > 0.0 {
            *p = s / w;
        }
    }
}

fn delaunay(points: &[Vec2]) -> Vec<[u32; 3]> {
    let vertices = points.iter().map(|p| Point2::new(p.x, p.y)).collect();
    // Distinct finite points can't be refused, and the bulk loader keeps their order.
    let triangulation: DelaunayTriangulation<Point2<f64>> =
        DelaunayTriangulation::bulk_load_stable(vertices).expect("distinct finite points");
    let mut faces: Vec<[u32; 3]> =
        triangulation.inner_faces().map(|f| f.vertices().map(|v| v.fix().index() as u32)).collect();
    // Points on a straight border may make faces without area: they are no part of the sheet.
    faces.retain(|f| {
        let [a, b, c] = f.map(|n| points[n as usize]);
        (b - a).perp_dot(c - a) > 1e-9 * a.distance_squared(b).max(a.distance_squared(c))
    });
    for f in &mut faces {
        let least = (0..3).min_by_key(|&k| f[k]).unwrap_or(0);
        f.rotate_left(least);
    }
    faces.sort_unstable();
    faces
}

/// SplitMix64 (Steele, Lea, Flood 2014): a hash of a counter, the same everywhere.
struct SplitMix(u64);

impl SplitMix {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn irregular_is_even_and_the_same_for_a_seed() {
        let size = Vec2::new(1.0, 0.6);
        let mesh = irregular(size, 0.04, 7).unwrap();
        mesh.check().unwrap();
        assert!((mesh.area() - 0.6).abs() < 1e-12, "fills the rectangle");
        assert_eq!(mesh, irregular(size, 0.04, 7).unwrap());
        assert_ne!(mesh, irregular(size, 0.04, 8).unwrap());
        let lengths: Vec<_> = mesh.edges().map(|e| mesh.edge_length(e)).collect();
        let mean = lengths.iter().sum::<f64>() / lengths.len() as f64;
        assert!((0.8..1.2).contains(&(mean / 0.04)), "mean edge {mean}");
        // A triangle of three nodes 0.75 spacings apart is the smallest that darts allow; smoothing evens it out.
        let shortest = lengths.iter().copied().fold(f64::MAX, f64::min);
        assert!(shortest > 0.4 * 0.04, "shortest edge {shortest}");
        let sharpest = mesh.faces().map(|f| sharpest_angle(mesh.face_uv(f))).fold(f64::MAX, f64::min);
        assert!(sharpest > 20f64.to_radians(), "sharpest angle {}°", sharpest.to_degrees());
    }

    fn sharpest_angle(p: [Vec2; 3]) -> f64 {
        (0..3).map(|k| (p[(k + 1) % 3] - p[k]).angle_to(p[(k + 2) % 3] - p[k]).abs()).fold(f64::MAX, f64::min)
    }

    #[test]
    fn sheets_without_room_are_refused() {
        assert_eq!(grid(Vec2::ONE, [1, 5]), Err(MeshError::Empty));
        assert!(grid(Vec2::ZERO, [3, 3]).is_err());
        assert!(irregular(Vec2::ONE, 0.0, 1).is_err());
        assert!(irregular(Vec2::ONE, 2.0, 1).is_err());
        assert!(irregular(Vec2::ONE, f64::NAN, 1).is_err());
    }
}
