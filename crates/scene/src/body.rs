//! Rigid bodies: from their tables to [`Bodies`], and from those to the cache.

use crate::cache::{BodyPose, BodySurface};
use crate::error::SceneError;
use crate::file::{BodyTable, Scene, ShapeKind, SharpKind};
use crate::load::{keyframes, radians, reach, select};
use crate::source::Source;
use ripstop::body::{BodySpec, Drive, Pose, Shape, Sharp};
use ripstop::grip::Grip;
use ripstop::mesh::NodeId;
use ripstop::{Bodies, Cloth, Vec2, math};
use std::collections::BTreeMap;

impl Scene {
    /// The bodies, with what of the cloth is tied to them.
    pub(crate) fn bodies(
        &self,
        source: &Source,
        cloth: &Cloth,
        bounds: (Vec2, Vec2),
        grips: &[Grip],
    ) -> Result<Bodies, SceneError> {
        let specs = self.body.iter().enumerate().map(|(i, table)| table.spec(source, i));
        let specs = specs.collect::<Result<Vec<_>, SceneError>>()?;
        let mut bodies = Bodies::new(specs, self.gravity).map_err(|e| {
            let cause = format!("body `{}`: {}", e.name, e.cause);
            source.fault(&["body", &e.number.to_string(), e.key], cause, e.advice)
        })?;
        let gripped = grips.iter().flat_map(|grip| grip.nodes().map(move |n| (n, format!("grip `{}`", grip.name))));
        let mut taken: BTreeMap<NodeId, String> = gripped.collect();
        for (i, table) in self.body.iter().enumerate() {
            let Some(place) = &table.holds else { continue };
            let number = i.to_string();
            let fault = |cause, advice| source.fault(&["body", &number, "holds"], cause, advice);
            if table.from.is_some() {
                let cause = format!("body `{}` arrives later, so it can't hold anything", table.name);
                return Err(fault(cause, "leave `from` or `holds` out".into()));
            }
            let nodes = select(&cloth.mesh, place, bounds);
            if nodes.is_empty() {
                return Err(fault(format!("body `{}` holds no node", table.name), reach(bounds)));
            }
            for &n in &nodes {
                if let Some(other) = taken.insert(n, format!("body `{}`", table.name)) {
                    let cause = format!("body `{}` holds node {n}, which {other} holds already", table.name);
                    return Err(fault(cause, "make their areas apart".into()));
                }
            }
            let before = self.body[..i].iter().filter(|other| other.from.is_none()).count();
            bodies.tie(before, nodes.into_iter().map(|n| (n, cloth.x[n])));
        }
        Ok(bodies)
    }
}

impl BodyTable {
    /// The body to be made from the table with this number.
    pub(crate) fn spec(&self, source: &Source, number: usize) -> Result<BodySpec, SceneError> {
        let (name, shape) = (self.name.clone(), shape(source, number, self)?);
        let pose = Pose { place: self.place, turn: math::turn(radians(self.turn)) };
        let drive = match self.mass {
            Some(mass) => Drive::Free { mass, velocity: self.velocity, spin: radians(self.spin) },
            None if self.keys.is_empty() => Drive::Fixed,
            None => Drive::Scripted(keyframes(&self.keys)),
        };
        let sharp = sharp(source, number, self, &shape)?;
        Ok(BodySpec { name, shape, pose, drive, friction: self.friction, sharp, from: self.from })
    }
}

fn shape(source: &Source, number: usize, table: &BodyTable) -> Result<Shape, SceneError> {
    Ok(match &table.shape {
        ShapeKind::Ball { radius } => Shape::Ball { radius: *radius },
        ShapeKind::Box { sides } => Shape::Box { sides: *sides },
        ShapeKind::Capsule { radius, height } => Shape::Capsule { radius: *radius, height: *height },
        ShapeKind::Cylinder { radius, height } => Shape::Cylinder { radius: *radius, height: *height },
        ShapeKind::Hull { points } => Shape::Hull { points: points.clone() },
        ShapeKind::Mesh { file, scale } => {
            let path = source.beside(file);
            let (points, triangles) = crate::obj::read_body(&path, *scale).map_err(|(cause, advice)| {
                let key = ["body", &number.to_string(), "shape", "mesh", "file"];
                source.fault(&key, format!("{}: {cause}", crate::inline::shown(&path)), advice)
            })?;
            Shape::Mesh { points, triangles }
        }
        ShapeKind::Plane => Shape::Plane,
    })
}

fn sharp(source: &Source, number: usize, table: &BodyTable, shape: &Shape) -> Result<Sharp, SceneError> {
    let fault = |cause: String, advice: String| source.fault(&["body", &number.to_string(), "sharp"], cause, advice);
    match (&table.sharp, &table.shape, shape) {
        (None, ..) => Ok(Sharp::Nothing),
        (Some(SharpKind::Below(angle)), ..) => Ok(Sharp::Below(angle.to_radians())),
        (Some(SharpKind::Group(group)), ShapeKind::Mesh { file, scale }, Shape::Mesh { points, .. }) => {
            let path = source.beside(file);
            crate::obj::sharp(&path, *scale, group, points)
                .map(Sharp::Edges)
                .map_err(|(cause, advice)| fault(format!("{}: {cause}", crate::inline::shown(&path)), advice))
        }
        (Some(SharpKind::Group(group)), ..) => Err(fault(
            format!("body `{}` has no OBJ file in which `{group}` could be", table.name),
            "use sharp = { below = 40 } for edges narrower than 40°, or take a mesh".into(),
        )),
    }
}

/// What the cache keeps of bodies once.
pub(crate) fn surfaces(bodies: &Bodies, tables: &[BodyTable]) -> Vec<BodySurface> {
    let colour = |name: &str| tables.iter().find(|table| table.name == name).and_then(|table| table.colour);
    let surface = |body: &ripstop::body::Body| BodySurface {
        name: body.name.clone(),
        colour: colour(&body.name),
        points: body.surface.points.iter().map(|p| p.as_vec3().to_array()).collect(),
        triangles: body.surface.triangles.clone(),
    };
    bodies.all().map(surface).collect()
}

/// Where bodies are that have arrived, as a frame of the cache keeps it.
pub(crate) fn poses(bodies: &Bodies) -> Vec<BodyPose> {
    let single =
        |Pose { place, turn }| BodyPose { position: place.as_vec3().to_array(), rotation: turn.as_quat().to_array() };
    (0..bodies.len()).map(|i| single(bodies.pose(i))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variant::sample;
    use ripstop::Vec3;

    const SCENE: &str = r#"
title = "t"
gravity = [0, -5, 0]

[time]
duration = 1
step = 1e-3

[cloth.grid]
size = [1, 1]
nodes = [5, 5]

[[body]]
name = "floor"
shape = "plane"
place = [0, -1, 0]

[[body]]
name = "arm"
shape = { cylinder = { radius = 0.1, height = 1 } }
turn = [0, 0, 90]
keys = [{ t = 0, move = [0, 2, 0] }, { t = 1, turn = [0, 90, 0] }]
holds = { near = [0, 1] }

[[body]]
name = "cube"
shape = { mesh = { file = "cube.obj", scale = 0.5 } }
place = [3, 0, 0]
mass = 2
velocity = [1, 0, 0]
spin = [0, 180, 0]
colour = [1, 0.5, 0]
holds = { side = "bottom" }
"#;

    /// Inside out, with a point that no face uses.
    const CUBE: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nv 0 0 1\nv 1 0 1\nv 0 1 1\nv 1 1 1\nv 9 9 9\n\
        f 1 2 4 3\nf 5 7 8 6\nf 1 5 6 2\nf 3 4 8 7\nf 1 3 7 5\nf 2 6 8 4\n";

    #[test]
    fn tables_become_bodies() {
        let (_folder, parts) = sample::read(SCENE, &[("cube.obj", CUBE)]);
        let (scene, built) = parts.unwrap().parts[0].build().unwrap_or_else(|e| panic!("{e}"));
        let mut bodies = built.engine.into_sheet().unwrap().into_bodies();
        assert!(built.warnings.iter().any(|w| w.contains("body `cube`") && w.contains("inside out")));
        // The arm lies along x, two metres up, as its first keyframe has it; its tie is a point of it.
        assert!((bodies.pose(1).apply(Vec3::Y) - Vec3::new(-1.0, 2.0, 0.0)).length() < 1e-12);
        let ties = &bodies.get(1).unwrap().ties;
        assert_eq!(ties.len(), 1);
        assert!((bodies.pose(1).apply(ties[0].1) - Vec3::Y).length() < 1e-12, "{ties:?}");
        assert_eq!(bodies.get(2).unwrap().ties.len(), 5);
        // Half a unit wide, and where its middle is.
        assert!((bodies.middle(2) - Vec3::new(3.25, 0.25, 0.25)).length() < 1e-12);
        assert!((bodies.spin(2) - Vec3::Y * std::f64::consts::PI).length() < 1e-12);
        bodies.drive(0.0, 0.1);
        assert!((bodies.velocity(2) - Vec3::new(1.0, -0.5, 0.0)).length() < 1e-12, "the scene's gravity");
        bodies.advance(0.1);
        let (surfaces, poses) = (surfaces(&bodies, &scene.body), poses(&bodies));
        assert_eq!(surfaces.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["floor", "arm", "cube"]);
        assert_eq!((surfaces[1].colour, surfaces[2].colour), (None, Some([1.0, 0.5, 0.0])));
        assert_eq!((surfaces[2].points.len(), surfaces[2].triangles.len()), (8, 12));
        assert!(surfaces.iter().all(|s| s.check().is_ok()));
        assert_eq!(poses[0].position, [0.0, -1.0, 0.0]);
        let corner = surfaces[2].placed(&poses[2]).next().unwrap();
        let exact = bodies.pose(2).apply(Vec3::ZERO);
        assert!((Vec3::from_array(corner.map(f64::from)) - exact).length() < 1e-6, "{corner:?}");
    }
}
