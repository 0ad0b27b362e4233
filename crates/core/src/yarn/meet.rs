//! Yarns and bodies: particles keep half a thickness from every shape, and crossings where both yarns are one particle a whole one.
//!
//! A particle that is nearer is moved out along the surface's normal, and rubs by Coulomb's law. What moves it moves a free body the other way.
//!
//! Balls, boxes, capsules, cylinders and planes are met as what they are, hulls and meshes by their triangles. Those are kept in a grid of cells, each with the triangles
//! that are within reach of it; the nearest one tells the distance, and of several that are equally near the one that is seen least aslant, which tells inside from outside. Open meshes
//! have no inside: a particle stays on the side from which it comes, and has passed if the way of its substep goes through a triangle.
//!
//! Which particles may come near a body is asked once per step, by the velocities they have.
//!
//! Source: Metaaphanon 2009 §4.2 (particles against faces of rigid bodies). Limits: bodies move once per step, with the velocity that pushes have
//! left them; segments between particles pass through what is thinner than they are long; what is deeper in a mesh than two spacings stays there.

use super::hold::ahead;
use super::state::Woven;
use crate::body::{Bodies, Body, Shape, Surface};
use crate::contact::{crossing, distance};
use crate::math::Vec3;

/// Cells along the longest side of a grid, at most.
const CELLS: f64 = 24.0;

/// How deep in a mesh, and how far outside of any shape, particles are looked for [spacings].
const REACH: f64 = 2.0;

/// Two distances that differ by less than this share of the surface's size are the same.
const SAME: f64 = 1e-9;

/// A body as yarns meet it.
#[derive(Clone, Debug, Default)]
pub(super) struct Solid {
    /// Particles that may touch it within the step.
    near: Vec<u32>,
    /// Middle and radius of a ball around it, in its own coordinates [m].
    middle: Vec3,
    radius: f64,
    /// Number of its triangles, to know it by.
    triangles: usize,
    grid: Option<Grid>,
}

/// Triangles by the cells that they are near to.
#[derive(Clone, Debug)]
struct Grid {
    low: Vec3,
    cell: f64,
    count: [usize; 3],
    /// Where the triangles of each cell end.
    ends: Vec<u32>,
    triangles: Vec<u32>,
}

impl Grid {
    fn new(surface: &Surface, reach: f64) -> Self {
        let (low, high) = surface.points.iter().fold((Vec3::MAX, Vec3::MIN), |(a, b), &p| (a.min(p), b.max(p)));
        let (low, high) = (low - reach, high + reach);
        let cell = ((high - low).max_element() / CELLS).max(reach);
        let count = ((high - low) / cell).to_array().map(|n| n as usize + 1);
        let mut grid = Self { low, cell, count, ends: Vec::new(), triangles: Vec::new() };
        let mut lists = vec![Vec::new(); count.iter().product()];
        for (t, triangle) in surface.triangles.iter().enumerate() {
            let corners = triangle.map(|n| surface.points[n as usize]);
            let [a, b, c] = corners;
            let from = grid.place(a.min(b).min(c) - reach);
            let to = grid.place(a.max(b).max(c) + reach);
            for z in from[2]..=to[2] {
                for y in from[1]..=to[1] {
                    for x in from[0]..=to[0] {
                        let middle = low + (Vec3::new(x as f64, y as f64, z as f64) + 0.5) * cell;
                        // Half the diagonal of a cell is 0.87 of its side.
                        let near = reach + 0.87 * cell;
                        if distance::point_triangle_squared(middle, corners) <= near * near {
                            lists[grid.number([x, y, z])].push(t as u32);
                        }
                    }
                }
            }
        }
        for list in lists {
            grid.triangles.extend(list);
            grid.ends.push(grid.triangles.len() as u32);
        }
        grid
    }

    /// The cell of a point, or the nearest one.
    fn place(&self, p: Vec3) -> [usize; 3] {
        let at = ((p - self.low) / self.cell).to_array();
        // What is below zero becomes zero.
        std::array::from_fn(|k| (at[k] as usize).min(self.count[k] - 1))
    }

    fn number(&self, [x, y, z]: [usize; 3]) -> usize {
        (z * self.count[1] + y) * self.count[0] + x
    }

    /// Triangles near a point.
    fn near(&self, p: Vec3) -> &[u32] {
        let k = self.number(self.place(p));
        let begin = if k == 0 { 0 } else { self.ends[k - 1] };
        &self.triangles[begin as usize..self.ends[k] as usize]
    }

    /// Out of a surface, for a point that was at `from`: distance [m] and direction (unit). Nothing if it is far.
    fn outside(&self, surface: &Surface, p: Vec3, from: Vec3) -> Option<(f64, Vec3)> {
        let corners = |t: u32| surface.triangles[t as usize].map(|n| surface.points[n as usize]);
        let across = |[a, b, c]: [Vec3; 3]| (b - a).cross(c - a).normalize_or_zero();
        let same = SAME * self.cell * CELLS;
        // Distance, from the nearest point, along the normal, the normal.
        let mut best: Option<(f64, Vec3, f64, Vec3)> = None;
        for &t in self.near(p) {
            let triangle = corners(t);
            let arm = p - distance::point_triangle(p, triangle).of(triangle);
            let far = arm.length();
            let near = best.map_or(f64::INFINITY, |best| best.0);
            if far > near + same {
                continue;
            }
            let normal = across(triangle);
            let along = arm.dot(normal);
            if far < near - same || best.is_none_or(|best| along.abs() > best.2.abs()) {
                best = Some((far, arm, along, normal));
            }
        }
        let (far, arm, along, normal) = best?;
        let out = |side: f64| if far > same { arm * (side / far) } else { normal * side };
        if surface.closed {
            return Some(if along >= 0.0 { (far, out(1.0)) } else { (-far, out(-1.0)) });
        }
        let pierced = self.near(p).iter().find(|&&t| crossing::edge_crosses([from, p], corners(t), 0.0));
        Some(match pierced {
            Some(&t) => {
                let normal = across(corners(t));
                let side = if (from - p).dot(normal) >= 0.0 { 1.0 } else { -1.0 };
                (-far, normal * side)
            }
            None => (far, if far > same { arm / far } else { normal * if along < 0.0 { -1.0 } else { 1.0 } }),
        })
    }
}

/// Out of a shape that a formula tells: distance [m] and direction (unit), in its own coordinates.
fn outside(shape: &Shape, p: Vec3) -> Option<(f64, Vec3)> {
    let round = |arm: Vec3, radius: f64| (arm.length() - radius, arm.try_normalize().unwrap_or(Vec3::Y));
    match shape {
        Shape::Ball { radius } => Some(round(p, *radius)),
        Shape::Capsule { radius, height } => {
            let half = 0.5 * height - radius;
            Some(round(p - Vec3::Y * p.y.clamp(-half, half), *radius))
        }
        Shape::Plane => Some((p.y, Vec3::Y)),
        Shape::Cylinder { radius, height } => {
            let (beside, side) = round(Vec3::new(p.x, 0.0, p.z), *radius);
            // On the axis any side is as good.
            let side = if side == Vec3::Y { Vec3::X } else { side };
            let (above, end) = (p.y.abs() - 0.5 * height, if p.y < 0.0 { -Vec3::Y } else { Vec3::Y });
            Some(if beside > 0.0 && above > 0.0 {
                let out = side * beside + end * above;
                (out.length(), out.normalize())
            } else if beside > above {
                (beside, side)
            } else {
                (above, end)
            })
        }
        Shape::Box { sides } => {
            let half = *sides * 0.5;
            let beyond = p.abs() - half;
            let sign = Vec3::ONE.copysign(p);
            if beyond.max_element() > 0.0 {
                let out = beyond.max(Vec3::ZERO);
                return Some((out.length(), (out * sign).normalize()));
            }
            let axis = match beyond.max_element() {
                most if most == beyond.x => Vec3::X,
                most if most == beyond.y => Vec3::Y,
                _ => Vec3::Z,
            };
            Some((beyond.max_element(), axis * sign))
        }
        Shape::Hull { .. } | Shape::Mesh { .. } => None,
    }
}

impl Solid {
    fn new(body: &Body, reach: f64) -> Self {
        let points = &body.surface.points;
        let middle = points.iter().copied().sum::<Vec3>() / points.len().max(1) as f64;
        let radius = points.iter().map(|p| p.distance(middle)).fold(0.0, f64::max);
        // Points of round shapes are on them, but edges between them aren't.
        let radius = 1.01 * radius;
        let grid = outside(&body.shape, Vec3::X).is_none().then(|| Grid::new(&body.surface, reach));
        Self { near: Vec::new(), middle, radius, triangles: body.surface.triangles.len(), grid }
    }
}

impl Woven {
    /// Particles that may touch bodies within the step.
    pub(super) fn find_near_bodies(&mut self, bodies: &Bodies) {
        let mut solids = std::mem::take(&mut self.tables.solids);
        let reach = REACH * self.spec.spacing + self.spec.thickness;
        let known = solids.len() == bodies.len()
            && solids.iter().zip(bodies.iter()).all(|(s, body)| s.triangles == body.surface.triangles.len());
        if !known {
            solids = bodies.iter().map(|body| Solid::new(body, reach)).collect();
        }
        for (i, (solid, body)) in solids.iter_mut().zip(bodies.iter()).enumerate() {
            let (pose, velocity, spin) = (bodies.pose(i), bodies.velocity(i), bodies.spin(i).length());
            let middle = pose.apply(solid.middle);
            solid.near.clear();
            for p in (0..self.at.len()).filter(|&p| self.tables.w[p] > 0.0) {
                let x = self.at.get(p);
                let far = match body.shape {
                    Shape::Plane => pose.local(x).y,
                    _ => x.distance(middle) - solid.radius,
                };
                // Twice the way that it would go as it does.
                let goes = 2.0 * self.spec.step * (self.v.get(p).distance(velocity) + spin * solid.radius);
                if far < reach + goes {
                    solid.near.push(p as u32);
                }
            }
        }
        self.tables.solids = solids;
    }

    /// Keeps particles out of bodies at the end of a substep of `h` [s].
    pub(super) fn meet_bodies(&mut self, bodies: &mut Bodies, h: f64) {
        for i in 0..bodies.len() {
            let (pose, pose_before) = (ahead(bodies, i, h), bodies.pose(i));
            let (Some(body), Some(solid)) = (bodies.get(i), self.tables.solids.get(i)) else { continue };
            let friction = body.friction.unwrap_or(self.spec.body_friction);
            let (velocity, spin, middle) =
                (bodies.velocity(i), bodies.spin(i), bodies.middle(i) + bodies.velocity(i) * h);
            let (mut impulse, mut turning) = (Vec3::ZERO, Vec3::ZERO);
            for &p in &solid.near {
                let p = p as usize;
                let (x, before, w) = (self.at.get(p), self.tables.before.get(p), self.tables.w[p]);
                let local = pose.local(x);
                let found = match &solid.grid {
                    None => outside(&body.shape, local),
                    Some(grid) => grid.outside(&body.surface, local, pose_before.local(before)),
                };
                // Where both yarns are one particle one of them is half a thickness nearer.
                let both = self.kind.get(p).is_some_and(|kind| kind.is_one());
                let keep_off = if both { self.spec.thickness } else { 0.5 * self.spec.thickness };
                let Some((distance, normal)) = found.filter(|found| found.0 < keep_off) else { continue };
                let normal = pose.turn * normal;
                let out = keep_off - distance;
                let surface = (velocity + spin.cross(x - middle)) * h;
                let slid = x - before - surface;
                let slid = slid - normal * normal.dot(slid);
                let length = slid.length();
                let rub = if length > friction * out { friction * out / length } else { 1.0 };
                let moved = normal * out - slid * rub;
                self.tables.zones.note(p, x, before);
                self.at.set(p, x + moved);
                self.tables.zones.moved(p, x + moved);
                let push = moved / (-w * h);
                impulse += push;
                turning += (x - middle).cross(push);
            }
            bodies.push(i, impulse, turning);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::BodySpec;
    use crate::math::hash_unit;

    /// A cylinder, and its surface as a mesh.
    fn both() -> [Body; 2] {
        let one = |shape| Bodies::new(vec![BodySpec::new("one", shape)], Vec3::ZERO).unwrap().get(0).unwrap().clone();
        let cylinder = one(Shape::Cylinder { radius: 0.02, height: 0.05 });
        let Surface { points, triangles, .. } = cylinder.surface.clone();
        [cylinder, one(Shape::Mesh { points, triangles })]
    }

    #[test]
    fn triangles_tell_the_distance_that_the_formula_does() {
        let [cylinder, mesh] = both();
        let grid = Grid::new(&mesh.surface, 4e-3);
        let mut found = 0;
        for key in 0..4000_u64 {
            let r = |k| hash_unit(3, 3 * key + k) - 0.5;
            let p = Vec3::new(r(0), r(1), r(2)) * 0.07;
            let (law, direction) = outside(&cylinder.shape, p).unwrap();
            if law.abs() > 2e-3 {
                continue;
            }
            let (far, n) = grid.outside(&mesh.surface, p, p).expect("it is near");
            // Triangles are within 0.0022 radius of the round side.
            assert!((far - law).abs() < 0.0023 * 0.02, "{p}: {far} instead of {law}");
            // Directions agree away from the surface, where they are not a matter of which triangle, and from the rims.
            if law.abs() > 1e-3 && (p.y.abs() - 0.025).abs() > 3e-3 {
                assert!(n.dot(direction) > 0.98, "{p}: {n} instead of {direction}");
            }
            found += 1;
        }
        assert!(found > 300, "{found}");
    }

    #[test]
    fn an_open_sheet_is_met_from_the_side_one_comes_from() {
        let points = vec![Vec3::ZERO, Vec3::X * 0.1, Vec3::Z * 0.1];
        let shape = Shape::Mesh { points, triangles: vec![[0, 2, 1]] };
        let body = Bodies::new(vec![BodySpec::new("sheet", shape)], Vec3::ZERO).unwrap().get(0).unwrap().clone();
        let grid = Grid::new(&body.surface, 4e-3);
        let at = |y: f64| Vec3::new(0.03, y, 0.03);
        for side in [1.0, -1.0] {
            let (far, n) = grid.outside(&body.surface, at(-1e-3 * side), at(1e-3 * side)).unwrap();
            assert!((far + 1e-3).abs() < 1e-12 && n.distance(Vec3::Y * side) < 1e-12, "{far} {n}");
            let (far, n) = grid.outside(&body.surface, at(1e-3 * side), at(2e-3 * side)).unwrap();
            assert!((far - 1e-3).abs() < 1e-12 && n.distance(Vec3::Y * side) < 1e-12, "{far} {n}");
        }
        // Around the rim it goes from one side to the other without passing.
        let beside = |y: f64| Vec3::new(-1e-3, y, 0.03);
        let (far, n) = grid.outside(&body.surface, beside(-1e-4), beside(1e-4)).unwrap();
        assert!(far > 0.0 && n.x < -0.9, "{far} {n}");
    }
}
