//! Shapes of bodies.

use super::BodyError;
use super::surface::{Surface, loose_edge};
use super::world;
use crate::math::{Real, Vec3};

/// The shape of a body, about its own origin. The axis of capsules and cylinders is y.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A ball about the origin.
    Ball {
        /// Radius [m].
        radius: Real,
    },
    /// A box about the origin.
    Box {
        /// Length of its sides along x, y, z [m].
        sides: Vec3,
    },
    /// A cylinder with round ends about the origin.
    Capsule {
        /// Radius [m].
        radius: Real,
        /// From end to end, at least twice the radius [m].
        height: Real,
    },
    /// A cylinder with flat ends about the origin.
    Cylinder {
        /// Radius [m].
        radius: Real,
        /// From end to end [m].
        height: Real,
    },
    /// The smallest convex body around points.
    Hull {
        /// Points [m].
        points: Vec<Vec3>,
    },
    /// Triangles; closed ones have an inside, open ones are met from both sides.
    Mesh {
        /// Points [m].
        points: Vec<Vec3>,
        /// Triangles, counter-clockwise from outside.
        triangles: Vec<[u32; 3]>,
    },
    /// All that is below y = 0. Fixed or scripted only.
    Plane,
}

/// Largest share of its extent by which a hull may be thin.
const FLAT: Real = 1e-6;

impl Shape {
    /// Word for it in texts.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ball { .. } => "ball",
            Self::Box { .. } => "box",
            Self::Capsule { .. } => "capsule",
            Self::Cylinder { .. } => "cylinder",
            Self::Hull { .. } => "hull",
            Self::Mesh { .. } => "mesh",
            Self::Plane => "plane",
        }
    }

    /// Its surface, and a warning about it if there is one; or cause and advice of a shape that can't be.
    pub(super) fn surface(&self) -> Result<(Surface, Option<String>), Fault> {
        match self {
            Self::Ball { radius } => positive("radius", *radius).map(|r| (Surface::ball(r), None)),
            Self::Box { sides } => {
                for side in sides.to_array() {
                    positive("sides", side)?;
                }
                Ok((Surface::cuboid(*sides), None))
            }
            Self::Capsule { radius, height } => {
                let (radius, height) = (positive("radius", *radius)?, positive("height", *height)?);
                if height <= 2.0 * radius {
                    let cause =
                        format!("a capsule of radius {radius} m is {height} m high, no more than its round ends");
                    return Err((cause, "`height` is from end to end; make it larger, or take a ball".into()));
                }
                Ok((Surface::capsule(radius, height), None))
            }
            Self::Cylinder { radius, height } => {
                Ok((Surface::cylinder(positive("radius", *radius)?, positive("height", *height)?), None))
            }
            Self::Hull { points } => hull(points).map(|surface| (surface, None)),
            Self::Mesh { points, triangles } => mesh(points, triangles),
            Self::Plane => Ok((Surface::plane(), None)),
        }
    }

    /// Refuses what a free body can't be.
    pub(super) fn check_solid(&self, surface: &Surface) -> Result<(), Fault> {
        if *self == Self::Plane {
            return Err((
                "a plane has no end, so it can't be free".into(),
                "leave out `mass`, or take a flat box".into(),
            ));
        }
        let Some(([a, b], count)) = loose_edge(&surface.triangles) else { return Ok(()) };
        let cause = match count {
            [0, 1] | [1, 0] => format!("its mesh is open: the edge from point {a} to point {b} has one face only"),
            [2, 0] | [0, 2] => {
                format!("its faces at the edge from point {a} to point {b} are turned against each other")
            }
            [p, q] => format!("{} faces meet at the edge from point {a} to point {b} of its mesh", p + q),
        };
        Err((cause, "a free body needs an inside: close the mesh (points count from 0), or leave out `mass`".into()))
    }
}

/// Cause and advice.
pub(super) type Fault = (String, String);

impl BodyError {
    /// An error about `key` of body `number`.
    pub(super) fn new(number: usize, name: &str, key: &'static str, (cause, advice): Fault) -> Self {
        Self { number, name: name.into(), key, cause, advice }
    }
}

pub(super) fn positive(key: &str, value: Real) -> Result<Real, Fault> {
    if value.is_finite() && value > 0.0 {
        return Ok(value);
    }
    let rule = if value > 0.0 { "finite" } else { "above zero" };
    Err((format!("`{key}` is {value}"), format!("it must be {rule}")))
}

fn numbers(points: &[Vec3]) -> Result<(), Fault> {
    match points.iter().position(|p| !p.is_finite()) {
        Some(bad) => Err((format!("point {bad} is not a number"), "points count from 0; give ordinary numbers".into())),
        None => Ok(()),
    }
}

fn hull(points: &[Vec3]) -> Result<Surface, Fault> {
    numbers(points)?;
    if points.len() < 4 {
        return Err((
            format!("a hull of {} points", points.len()),
            "it needs at least four, not all in a plane".into(),
        ));
    }
    let flat = || ("the points of the hull are all in a plane".into(), "add points, or take a thin box".into());
    // A tetrahedron as large as can be found quickly: the furthest point, then furthest from the line, from the plane.
    let a = points[0];
    let furthest = |far: &dyn Fn(Vec3) -> Real| {
        points.iter().copied().fold((a, 0.0), |best, p| if far(p) > best.1 { (p, far(p)) } else { best })
    };
    let (b, extent) = furthest(&|p| p.distance(a));
    let Some(along) = (b - a).try_normalize() else { return Err(flat()) };
    let (c, width) = furthest(&|p| (p - a).reject_from_normalized(along).length());
    let Some(normal) = along.cross(c - a).try_normalize() else { return Err(flat()) };
    let (_, thickness) = furthest(&|p| (p - a).dot(normal).abs());
    if width.min(thickness) < FLAT * extent {
        return Err(flat());
    }
    let surface = world::convex_hull(points).map(|(points, triangles)| Surface::new(points, triangles));
    surface.filter(|s| s.closed && s.volume() > 0.0).ok_or_else(|| {
        ("no hull was found around its points".into(), "leave out points that are the same or nearly so".into())
    })
}

fn mesh(points: &[Vec3], triangles: &[[u32; 3]]) -> Result<(Surface, Option<String>), Fault> {
    numbers(points)?;
    if triangles.is_empty() {
        return Err(("its mesh has no faces".into(), "give at least one".into()));
    }
    for (i, t) in triangles.iter().enumerate() {
        if let Some(missing) = t.iter().find(|&&n| n as usize >= points.len()) {
            let cause = format!("face {i} of its mesh names point {missing}, but there are {}", points.len());
            return Err((cause, "faces and points count from 0".into()));
        }
        let [a, b, c] = t.map(|n| points[n as usize]);
        if (b - a).cross(c - a) == Vec3::ZERO {
            return Err((format!("face {i} of its mesh has no area"), "delete it (faces count from 0)".into()));
        }
    }
    let mut surface = Surface::new(points.to_vec(), triangles.to_vec());
    if !surface.closed {
        return Ok((surface, None));
    }
    let volume = surface.volume();
    let size = surface.extent();
    if volume.abs() <= 1e-12 * size * size * size {
        let advice = "take an open sheet of triangles that is fixed, or give it thickness";
        return Err(("its mesh is closed but has no volume".into(), advice.into()));
    }
    if volume < 0.0 {
        surface.turn_over();
        return Ok((surface, Some("its mesh is inside out; all faces were turned over".into())));
    }
    Ok((surface, None))
}
