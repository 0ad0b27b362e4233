//! What is drawn: plain data, borrowed, with no tie to the simulator.
//!
//! Lengths are metres, times seconds, colours linear light (see [`crate::colour::srgb`]). An empty optional list means
//! "not known". [`Scene::check`] refuses what can't be drawn, naming the thing, the node or face, and the cause.

use crate::error::RenderError;
use glam::{Quat, Vec2, Vec3};

/// A triangulated sheet of cloth.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cloth<'a> {
    /// Node positions at the middle of the shutter [m].
    pub positions: &'a [Vec3],
    /// Node velocities [m/s], or empty: then no motion blur.
    pub velocities: &'a [Vec3],
    /// Nodes of each face. Nodes are doubled along tears, so sharing a node means being joined.
    pub faces: &'a [[u32; 3]],
    /// Material coordinates of each face's corners [m], weft = u, warp = v; or empty: drawn plain.
    pub corner_uv: &'a [[Vec2; 3]],
    /// One number per node to colour by (strain, plastic strain).
    pub node_value: Option<&'a [f32]>,
    /// Piece of each node.
    pub node_piece: Option<&'a [u32]>,
    /// Nodes held or gripped, marked by small balls.
    pub held: &'a [u32],
    /// Border edges that are torn lips: (face, k), the edge from corner k to the next. See [`crate::lips::torn_edges`].
    pub torn_edges: &'a [[u32; 2]],
    /// Thickness [m]; 0 draws a thickness that suits the size.
    pub thickness: f32,
}

/// Form of a body, about its own origin.
#[derive(Clone, Copy, Debug)]
pub enum Shape<'a> {
    /// A ball.
    Sphere {
        /// [m]
        radius: f32,
    },
    /// A box.
    Cuboid {
        /// Half the edge lengths [m].
        half: Vec3,
    },
    /// A cylinder with round ends, along its own y axis.
    Capsule {
        /// Half the length of the axis, without the caps [m].
        half_length: f32,
        /// [m]
        radius: f32,
    },
    /// Triangles.
    Mesh {
        /// Nodes [m].
        positions: &'a [Vec3],
        /// Nodes of each face.
        faces: &'a [[u32; 3]],
    },
}

/// A rigid thing in the scene.
#[derive(Clone, Copy, Debug)]
pub struct Body<'a> {
    /// Its form.
    pub shape: Shape<'a>,
    /// Place of its origin [m].
    pub position: Vec3,
    /// Its attitude.
    pub rotation: Quat,
    /// Velocity of its origin [m/s].
    pub velocity: Vec3,
    /// Angular velocity [rad/s].
    pub spin: Vec3,
    /// Its colour, or a pale ceramic.
    pub colour: Option<Vec3>,
}

impl<'a> Body<'a> {
    /// A body at rest.
    pub fn at(shape: Shape<'a>, position: Vec3) -> Self {
        Self { shape, position, rotation: Quat::IDENTITY, velocity: Vec3::ZERO, spin: Vec3::ZERO, colour: None }
    }
}

/// A yarn: a round curve through its points (Catmull–Rom).
#[derive(Clone, Copy, Debug, Default)]
pub struct Yarn<'a> {
    /// Points passed through [m].
    pub points: &'a [Vec3],
    /// Their velocities [m/s], or empty.
    pub velocities: &'a [Vec3],
    /// [m]
    pub radius: f32,
    /// Its colour, or the fabric's.
    pub colour: Option<Vec3>,
    /// Length over which the first and the last end thin out [m]; 0 ends it square.
    pub tip_fade: [f32; 2],
}

/// A sign in the picture.
#[derive(Clone, Copy, Debug)]
pub enum Marker {
    /// A small ball in space.
    Ball {
        /// [m]
        place: Vec3,
        /// Its colour.
        colour: Vec3,
    },
    /// A ring over the picture with a line along a direction: the most strained node.
    Peak {
        /// [m]
        place: Vec3,
        /// Direction of the line; zero draws none.
        direction: Vec3,
    },
}

/// Light of the studio.
#[derive(Clone, Copy, Debug)]
pub struct Light {
    /// Direction towards the sun, or `None`: over the camera's left shoulder.
    pub sun_direction: Option<Vec3>,
    /// Light of the sun on a face square to it.
    pub sun: Vec3,
    /// Half angle under which the sun is seen [degrees]: larger is softer.
    pub sun_radius_degrees: f32,
    /// Light of the sky overhead.
    pub sky: Vec3,
    /// Light from below the horizon.
    pub ground: Vec3,
    /// Backdrop low and high in the picture.
    pub backdrop: [Vec3; 2],
}

impl Default for Light {
    fn default() -> Self {
        Self {
            sun_direction: None,
            sun: Vec3::new(1.0, 0.88, 0.71) * 1.9,
            sun_radius_degrees: 3.5,
            sky: Vec3::new(0.88, 0.96, 1.12) * 0.52,
            ground: Vec3::new(1.0, 0.92, 0.83) * 0.17,
            backdrop: [Vec3::new(0.83, 0.76, 0.685), Vec3::new(0.31, 0.288, 0.272)],
        }
    }
}

/// Everything in one picture.
#[derive(Clone, Debug)]
pub struct Scene<'a> {
    /// Sheets.
    pub cloths: Vec<Cloth<'a>>,
    /// Rigid bodies.
    pub bodies: Vec<Body<'a>>,
    /// Yarns.
    pub yarns: Vec<Yarn<'a>>,
    /// Signs.
    pub markers: Vec<Marker>,
    /// Height of the floor along `up` [m], if there is one.
    pub floor: Option<f32>,
    /// Light.
    pub light: Light,
    /// Direction away from the ground.
    pub up: Vec3,
}

impl Default for Scene<'_> {
    fn default() -> Self {
        Self {
            cloths: Vec::new(),
            bodies: Vec::new(),
            yarns: Vec::new(),
            markers: Vec::new(),
            floor: None,
            light: Light::default(),
            up: Vec3::Y,
        }
    }
}

/// A box around things, sides along the axes [m].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Lowest corner.
    pub min: Vec3,
    /// Highest corner.
    pub max: Vec3,
}

impl Bounds {
    /// Around nothing.
    pub const EMPTY: Self = Self { min: Vec3::splat(f32::INFINITY), max: Vec3::splat(f32::NEG_INFINITY) };

    /// Around points; those that aren't finite are left out.
    pub fn of(points: impl IntoIterator<Item = Vec3>) -> Self {
        let mut bounds = Self::EMPTY;
        points.into_iter().filter(|p| p.is_finite()).for_each(|p| bounds.include(p, 0.0));
        bounds
    }

    /// Grows to hold a ball.
    pub fn include(&mut self, point: Vec3, radius: f32) {
        self.min = self.min.min(point - Vec3::splat(radius));
        self.max = self.max.max(point + Vec3::splat(radius));
    }

    /// Around both.
    pub fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        !(self.min.x <= self.max.x && self.min.y <= self.max.y && self.min.z <= self.max.z)
    }

    /// Middle.
    pub fn centre(&self) -> Vec3 {
        (self.min + self.max) * 0.5
    }

    /// Length of its diagonal [m].
    pub fn diagonal(&self) -> f32 {
        if self.is_empty() { 0.0 } else { (self.max - self.min).length() }
    }

    /// Its eight corners.
    pub fn corners(&self) -> [Vec3; 8] {
        std::array::from_fn(|i| {
            let pick = |bit: usize, a: f32, b: f32| if i & bit == 0 { a } else { b };
            Vec3::new(pick(1, self.min.x, self.max.x), pick(2, self.min.y, self.max.y), pick(4, self.min.z, self.max.z))
        })
    }
}

impl Body<'_> {
    /// The box around it.
    pub fn bounds(&self) -> Bounds {
        let mut bounds = Bounds::EMPTY;
        let place = |p: Vec3| self.position + self.rotation * p;
        match self.shape {
            Shape::Sphere { radius } => bounds.include(self.position, radius),
            Shape::Capsule { half_length, radius } => {
                bounds.include(place(Vec3::Y * half_length), radius);
                bounds.include(place(-Vec3::Y * half_length), radius);
            }
            Shape::Cuboid { half } => {
                Bounds { min: -half, max: half }.corners().iter().for_each(|&c| bounds.include(place(c), 0.0));
            }
            Shape::Mesh { positions, .. } => positions.iter().for_each(|&p| bounds.include(place(p), 0.0)),
        }
        bounds
    }
}

impl Scene<'_> {
    /// The box around all cloths, bodies and yarns (not the floor).
    pub fn bounds(&self) -> Bounds {
        let points = self.cloths.iter().flat_map(|c| c.positions).chain(self.yarns.iter().flat_map(|y| y.points));
        self.bodies.iter().fold(Bounds::of(points.copied()), |b, body| b.union(body.bounds()))
    }

    /// Refuses lists of wrong length, faces out of range and numbers that aren't finite.
    pub fn check(&self) -> Result<(), RenderError> {
        for (i, cloth) in self.cloths.iter().enumerate() {
            cloth.check(&format!("cloth {i}"))?;
        }
        for (i, yarn) in self.yarns.iter().enumerate() {
            let place = format!("yarn {i}");
            same_length(&place, "velocities", yarn.velocities.len(), yarn.points.len(), "points")?;
            all_finite(&place, "point", yarn.points)?;
            all_finite(&place, "velocity of point", yarn.velocities)?;
            finite(&place, "radius", yarn.radius)?;
        }
        for (i, body) in self.bodies.iter().enumerate() {
            let place = format!("body {i}");
            all_finite(&place, "position, velocity or spin", &[body.position, body.velocity, body.spin])?;
            if !body.rotation.is_finite() {
                return Err(RenderError::NonFinite { place, what: "rotation", index: 0 });
            }
            match body.shape {
                Shape::Sphere { radius } => finite(&place, "radius", radius)?,
                Shape::Cuboid { half } => all_finite(&place, "half size", &[half])?,
                Shape::Capsule { half_length, radius } => {
                    finite(&place, "half length", half_length)?;
                    finite(&place, "radius", radius)?;
                }
                Shape::Mesh { positions, faces } => {
                    all_finite(&place, "position of node", positions)?;
                    in_range(&place, faces, positions.len())?;
                }
            }
        }
        for (i, marker) in self.markers.iter().enumerate() {
            let (Marker::Ball { place, .. } | Marker::Peak { place, .. }) = marker;
            all_finite(&format!("marker {i}"), "place", &[*place])?;
        }
        if !self.up.is_finite() || self.up.length() < 1e-6 || self.floor.is_some_and(|h| !h.is_finite()) {
            return Err(RenderError::NonFinite { place: "scene".into(), what: "up direction or floor", index: 0 });
        }
        Ok(())
    }
}

impl Cloth<'_> {
    fn check(&self, place: &str) -> Result<(), RenderError> {
        let (nodes, faces) = (self.positions.len(), self.faces.len());
        same_length(place, "velocities", self.velocities.len(), nodes, "nodes")?;
        same_length(place, "corner_uv", self.corner_uv.len(), faces, "faces")?;
        same_length(place, "node_value", self.node_value.map_or(0, <[f32]>::len), nodes, "nodes")?;
        same_length(place, "node_piece", self.node_piece.map_or(0, <[u32]>::len), nodes, "nodes")?;
        in_range(place, self.faces, nodes)?;
        all_finite(place, "position of node", self.positions)?;
        all_finite(place, "velocity of node", self.velocities)?;
        let broken = self.corner_uv.iter().position(|uv| !uv.iter().all(|p| p.is_finite()));
        if let Some(index) = broken {
            return Err(RenderError::NonFinite { place: place.into(), what: "uv of face", index });
        }
        if let Some(index) = self.node_value.and_then(|v| v.iter().position(|x| !x.is_finite())) {
            return Err(RenderError::NonFinite { place: place.into(), what: "value of node", index });
        }
        let range = |what, index, target, value, count| {
            Err(RenderError::Range { place: place.into(), what, index, target, value, count })
        };
        if let Some(i) = self.held.iter().position(|&n| n as usize >= nodes) {
            return range("held entry", i, "node", self.held[i], nodes);
        }
        if let Some(i) = self.torn_edges.iter().position(|&[f, k]| f as usize >= faces || k > 2) {
            let [f, k] = self.torn_edges[i];
            let (target, value, count) = if k > 2 { ("corner", k, 3) } else { ("face", f, faces) };
            return range("torn edge", i, target, value, count);
        }
        finite(place, "thickness", self.thickness)
    }
}

fn same_length(
    place: &str,
    what: &'static str,
    found: usize,
    expected: usize,
    of: &'static str,
) -> Result<(), RenderError> {
    if found == 0 || found == expected {
        return Ok(());
    }
    Err(RenderError::Length { place: place.into(), what, found, expected, of })
}

fn all_finite(place: &str, what: &'static str, values: &[Vec3]) -> Result<(), RenderError> {
    // Beyond 1e15 m squared lengths overflow single precision: as good as not finite.
    match values.iter().position(|v| !v.is_finite() || v.abs().max_element() > 1e15) {
        Some(index) => Err(RenderError::NonFinite { place: place.into(), what, index }),
        None => Ok(()),
    }
}

fn finite(place: &str, what: &'static str, value: f32) -> Result<(), RenderError> {
    all_finite(place, what, &[Vec3::splat(value)])
}

fn in_range(place: &str, faces: &[[u32; 3]], count: usize) -> Result<(), RenderError> {
    match faces.iter().position(|f| f.iter().any(|&n| n as usize >= count)) {
        Some(index) => {
            let value = faces[index].into_iter().find(|&n| n as usize >= count).unwrap_or(0);
            Err(RenderError::Range { place: place.into(), what: "face", index, target: "node", value, count })
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(cloth: Cloth) -> String {
        let scene = Scene { cloths: vec![cloth], ..Scene::default() };
        scene.check().expect_err("must be refused").to_string()
    }

    #[test]
    fn bad_cloth_is_refused_with_its_place() {
        let p = [Vec3::ZERO, Vec3::X, Vec3::Y];
        let good = Cloth { positions: &p, faces: &[[0, 1, 2]], ..Cloth::default() };
        assert!(Scene { cloths: vec![good], ..Scene::default() }.check().is_ok());
        assert!(message(Cloth { faces: &[[0, 1, 3]], ..good }).contains("face 0 refers to node 3"));
        assert!(message(Cloth { velocities: &p[..2], ..good }).contains("velocities has 2 entries"));
        assert!(message(Cloth { torn_edges: &[[0, 3]], ..good }).contains("torn edge 0 refers to corner 3"));
        assert!(message(Cloth { held: &[9], ..good }).contains("node 9"));
        let nan = [Vec3::ZERO, Vec3::X, Vec3::splat(f32::NAN)];
        assert!(message(Cloth { positions: &nan, ..good }).contains("position of node 2 is not finite"));
        assert!(message(Cloth { node_value: Some(&[0.0, f32::INFINITY, 0.0]), ..good }).contains("value of node 1"));
    }

    #[test]
    fn a_turned_body_is_bounded() {
        let mut body = Body::at(Shape::Capsule { half_length: 1.0, radius: 0.25 }, Vec3::X);
        body.rotation = Quat::from_rotation_z(core::f32::consts::FRAC_PI_2);
        let b = body.bounds();
        assert!((b.min - Vec3::new(-0.25, -0.25, -0.25)).length() < 1e-5, "{b:?}");
        assert!((b.max - Vec3::new(2.25, 0.25, 0.25)).length() < 1e-5, "{b:?}");
    }
}
