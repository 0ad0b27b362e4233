//! The one place that knows rapier: shapes, mass and the step of bodies among themselves.
//!
//! rapier's vectors are of another version of `glam`; they are converted here and nowhere else.

use super::{Body, Drive, Pose, Shape, State, Surface};
use crate::math::{Mat3, Quat, Real, Vec3};
use rapier3d_f64::math as theirs;
use rapier3d_f64::parry::transformation;
use rapier3d_f64::prelude::{
    BroadPhaseBvh, CCDSolver, ColliderBuilder, ColliderSet, ImpulseJointSet, IntegrationParameters, IslandManager,
    MassProperties, MultibodyJointSet, NarrowPhase, PhysicsPipeline, RigidBodyBuilder, RigidBodyHandle, RigidBodySet,
    SharedShape, SoftBodySet, TriMeshFlags,
};
use serde::{Deserialize, Serialize};

/// Friction of bodies on each other where none is given; two coefficients are averaged.
const FRICTION: Real = 0.5;
/// Passes over all contacts in each of rapier's substeps.
const PASSES: usize = 4;

/// rapier's state: all that the next step depends on.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Sets {
    islands: IslandManager,
    broad_phase: BroadPhaseBvh,
    narrow_phase: NarrowPhase,
    bodies: RigidBodySet,
    colliders: ColliderSet,
}

/// rapier's state and what it works with.
pub(super) struct World {
    pub sets: Sets,
    handles: Vec<RigidBodyHandle>,
    parameters: IntegrationParameters,
    pipeline: PhysicsPipeline,
    ccd: CCDSolver,
    joints: ImpulseJointSet,
    multibody_joints: MultibodyJointSet,
    soft_bodies: SoftBodySet,
}

impl World {
    /// Keeps bodies this far apart [m], twice: room for cloth between them.
    pub fn leave_room(&mut self, skin: Real) {
        for (_, collider) in self.sets.colliders.iter_mut() {
            collider.set_contact_skin(skin);
        }
    }

    /// A world with these bodies in it.
    pub fn new(bodies: &[Body]) -> Self {
        let mut sets = Sets {
            islands: IslandManager::new(),
            broad_phase: BroadPhaseBvh::new(),
            narrow_phase: NarrowPhase::new(),
            bodies: RigidBodySet::new(),
            colliders: ColliderSet::new(),
        };
        let handles = bodies.iter().map(|body| sets.insert(body)).collect();
        let smallest = bodies.iter().filter_map(size).fold(1.0, Real::min);
        let parameters = IntegrationParameters {
            // rapier's distances (how far ahead contacts are seen, how fast bodies are pushed apart) are for things of
            // about a metre.
            length_unit: smallest,
            // A contact that is kept while things move by a twentieth of their size is too coarse for what rests on cloth.
            contact_recycling: false,
            normalized_max_linear_velocity: Real::MAX,
            num_internal_pgs_iterations: PASSES,
            ..Default::default()
        };
        Self {
            sets,
            handles,
            parameters,
            pipeline: PhysicsPipeline::new(),
            ccd: CCDSolver::new(),
            joints: ImpulseJointSet::new(),
            multibody_joints: MultibodyJointSet::new(),
            soft_bodies: SoftBodySet::new(),
        }
    }

    /// Puts another body into it, with this room around it [m].
    pub fn add(&mut self, body: &Body, room: Real) {
        self.handles.push(self.sets.insert(body));
        let unit = &mut self.parameters.length_unit;
        *unit = unit.min(size(body).unwrap_or(*unit));
        self.leave_room(room);
    }

    /// One step of `h` [s] with the velocities as they are: contacts of bodies, new poses and velocities.
    /// A scripted body goes to `target`.
    pub fn step(&mut self, h: Real, bodies: &mut [Body], target: impl Fn(&Body) -> Pose) {
        self.run(h, bodies, &target);
        for (body, &handle) in bodies.iter_mut().zip(&self.handles) {
            match body.drive {
                Drive::Fixed => {}
                Drive::Scripted(_) => body.now.pose = target(body),
                Drive::Free { .. } => body.now = self.sets.state(handle),
            }
        }
    }

    /// Where such a step would bring each body, and how it would move then; nothing is done.
    pub fn foresee(&mut self, h: Real, bodies: &[Body], target: impl Fn(&Body) -> Pose) -> Vec<State> {
        let kept = self.sets.clone();
        self.run(h, bodies, &target);
        let moved = std::mem::replace(&mut self.sets, kept);
        self.handles.iter().map(|&handle| moved.state(handle)).collect()
    }

    /// rapier's part of a step.
    fn run(&mut self, h: Real, bodies: &[Body], target: impl Fn(&Body) -> Pose) {
        for (body, &handle) in bodies.iter().zip(&self.handles) {
            let State { pose, velocity, spin } = body.now;
            let theirs = &mut self.sets.bodies[handle];
            // What rapier put there itself comes back unchanged, so this is only done where something else moved it.
            theirs.set_position(to_pose(pose), true);
            match body.drive {
                Drive::Fixed => {}
                Drive::Scripted(_) => theirs.set_next_kinematic_position(to_pose(target(body))),
                Drive::Free { .. } => {
                    theirs.set_linvel(to_vector(velocity), true);
                    theirs.set_angvel(to_vector(spin), true);
                }
            }
        }
        self.parameters.dt = h;
        self.pipeline.step(
            theirs::Vector::ZERO,
            &self.parameters,
            &mut self.sets.islands,
            &mut self.sets.broad_phase,
            &mut self.sets.narrow_phase,
            &mut self.sets.bodies,
            &mut self.sets.colliders,
            &mut self.joints,
            &mut self.multibody_joints,
            &mut self.soft_bodies,
            &mut self.ccd,
            &(),
            &(),
        );
    }
}

/// Size of a free body [m].
fn size(body: &Body) -> Option<Real> {
    body.is_free().then(|| body.surface.extent())
}

impl Sets {
    fn state(&self, handle: RigidBodyHandle) -> State {
        let theirs = &self.bodies[handle];
        let (velocity, spin) = (from_vector(theirs.linvel()), from_vector(theirs.angvel()));
        State { pose: from_pose(theirs.position()), velocity, spin }
    }

    fn insert(&mut self, body: &Body) -> RigidBodyHandle {
        let builder = match body.drive {
            Drive::Fixed => RigidBodyBuilder::fixed(),
            Drive::Scripted(_) => RigidBodyBuilder::kinematic_position_based(),
            // What it will meet in a step is a contact from the beginning of the step on, so that it stops there and doesn't go on into the room for cloth.
            Drive::Free { .. } => {
                RigidBodyBuilder::dynamic().ccd_enabled(true).soft_ccd_prediction(body.surface.extent())
            }
        };
        let builder = builder.pose(to_pose(body.now.pose)).can_sleep(false).allow_fast_rotation(true);
        let handle = self.bodies.insert(builder);
        let collider = ColliderBuilder::new(exact_shape(&body.shape, &body.surface))
            .friction(body.friction.unwrap_or(FRICTION))
            .mass_properties(body.solid.theirs());
        self.colliders.insert_with_parent(collider, handle, &mut self.bodies);
        handle
    }
}

/// Mass of a body, and how it is spread.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Solid {
    /// Mass [kg]; zero for a body that isn't free.
    pub mass: Real,
    /// Centre of mass in the body's own coordinates [m].
    pub middle: Vec3,
    /// Inertia about it in the body's own axes [kg·m²]; zero for a body that isn't free.
    pub inertia: Mat3,
}

impl Solid {
    /// A body of uniform density; `mass` is zero for one that isn't free, which has a middle all the same.
    pub fn new(shape: &Shape, surface: &Surface, mass: Real) -> Self {
        let unit = match shape {
            Shape::Ball { radius } => MassProperties::from_ball(1.0, *radius),
            Shape::Box { sides } => MassProperties::from_cuboid(1.0, to_vector(*sides * 0.5)),
            Shape::Capsule { radius, height } => {
                let end = to_vector(Vec3::Y * (0.5 * height - radius));
                MassProperties::from_capsule(1.0, -end, end, *radius)
            }
            Shape::Cylinder { radius, height } => MassProperties::from_cylinder(1.0, 0.5 * height, *radius),
            Shape::Hull { .. } | Shape::Mesh { .. } if surface.closed => {
                MassProperties::from_trimesh(1.0, &to_vectors(&surface.points), &surface.triangles)
            }
            Shape::Hull { .. } | Shape::Mesh { .. } => {
                let middle = surface.points.iter().sum::<Vec3>() / surface.points.len() as Real;
                return Self { mass: 0.0, middle, inertia: Mat3::ZERO };
            }
            Shape::Plane => return Self::default(),
        };
        let inertia = unit.reconstruct_inertia_matrix();
        let share = mass / unit.mass();
        let columns = [inertia.x_axis, inertia.y_axis, inertia.z_axis].map(|c| from_vector(c) * share);
        Self { mass, middle: from_vector(unit.local_com), inertia: Mat3::from_cols(columns[0], columns[1], columns[2]) }
    }

    fn theirs(&self) -> MassProperties {
        let [x, y, z] = [self.inertia.x_axis, self.inertia.y_axis, self.inertia.z_axis].map(to_vector);
        MassProperties::with_inertia_matrix(to_vector(self.middle), self.mass, theirs::Matrix::from_cols(x, y, z))
    }
}

/// The shape that other bodies meet.
fn exact_shape(shape: &Shape, surface: &Surface) -> SharedShape {
    match shape {
        Shape::Ball { radius } => SharedShape::ball(*radius),
        Shape::Box { sides } => SharedShape::cuboid(0.5 * sides.x, 0.5 * sides.y, 0.5 * sides.z),
        Shape::Capsule { radius, height } => SharedShape::capsule_y(0.5 * height - radius, *radius),
        Shape::Cylinder { radius, height } => SharedShape::cylinder(0.5 * height, *radius),
        Shape::Hull { .. } => SharedShape::convex_mesh(to_vectors(&surface.points), &surface.triangles)
            .unwrap_or_else(|| triangles(surface)),
        Shape::Mesh { .. } => triangles(surface),
        Shape::Plane => SharedShape::halfspace(theirs::Vector::Y),
    }
}

fn triangles(surface: &Surface) -> SharedShape {
    let made = |flags| SharedShape::trimesh_with_flags(to_vectors(&surface.points), surface.triangles.clone(), flags);
    // Without flags only a mesh without faces is refused, and there is none.
    let flags = if surface.closed { TriMeshFlags::FIX_INTERNAL_EDGES } else { TriMeshFlags::empty() };
    made(flags).or_else(|_| made(TriMeshFlags::empty())).unwrap_or_else(|_| SharedShape::ball(surface.extent()))
}

/// Points and triangles of the convex hull, if one was found.
pub(super) fn convex_hull(points: &[Vec3]) -> Option<(Vec<Vec3>, Vec<[u32; 3]>)> {
    let (points, triangles) = transformation::try_convex_hull(&to_vectors(points)).ok()?;
    Some((points.into_iter().map(from_vector).collect(), triangles))
}

fn to_vector(v: Vec3) -> theirs::Vector {
    theirs::Vector::from_array(v.to_array())
}

fn to_vectors(points: &[Vec3]) -> Vec<theirs::Vector> {
    points.iter().copied().map(to_vector).collect()
}

fn from_vector(v: theirs::Vector) -> Vec3 {
    Vec3::from_array(v.to_array())
}

fn to_pose(pose: Pose) -> theirs::Pose {
    theirs::Pose::from_parts(to_vector(pose.place), theirs::Rotation::from_array(pose.turn.to_array()))
}

fn from_pose(pose: &theirs::Pose) -> Pose {
    Pose { place: from_vector(pose.translation), turn: Quat::from_array(pose.rotation.to_array()) }
}
