//! Other engines behind one face.

use crate::ball::Ball;
use crate::hang::Sheet;
use anyhow::Context;
use rapier3d::prelude::*;
use ripstop::Vec3;

/// rapier's cloth: nodes numbered as ours, its own material, no contact.
pub struct Rapier {
    world: PhysicsWorld,
    cloth: SoftBodyHandle,
}

impl Rapier {
    /// The sheet with rapier's defaults but for the number of its substeps.
    pub fn new(sheet: &Sheet, substeps: usize, threads: usize) -> anyhow::Result<Self> {
        let mut world = PhysicsWorld::new();
        world.gravity = Vector::new(0.0, -9.81, 0.0);
        world.integration_parameters.dt = 1.0 / 60.0;
        world.integration_parameters.num_solver_iterations = substeps;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().context("threads")?;
        world.physics_pipeline.set_thread_pool(Some(std::sync::Arc::new(pool)));
        let step = 1.0 / (sheet.side - 1) as f32;
        // Our nodes run along the weft first: rapier's second axis.
        let cloth = SoftBodyBuilder::cloth(
            Vector::ZERO,
            Vector::new(0.0, 0.0, step),
            Vector::new(step, 0.0, 0.0),
            sheet.side,
            sheet.side,
        )
        .mass(sheet.density as f32)
        .pinned_particles(sheet.held.iter().map(|&n| n as u32))
        .no_surface_collider()
        .can_sleep(false);
        let cloth = world.soft_bodies.insert(cloth, &mut world.bodies, &mut world.colliders);
        Ok(Self { world, cloth })
    }

    /// A level sheet of 1 m² held on two sides, met by a ball from above; contact and all else as rapier has it. Its edges tear at `tear_strain`, if at all. By default rapier's cloth passes through
    /// itself; not if it meets `itself`.
    pub fn with_ball(
        side: usize,
        density: f64,
        ball: &Ball,
        threads: usize,
        tear_strain: Option<f32>,
        itself: bool,
    ) -> anyhow::Result<(Self, RigidBodyHandle)> {
        let mut world = PhysicsWorld::new();
        world.gravity = Vector::new(0.0, -9.81, 0.0);
        world.integration_parameters.dt = 1.0 / 60.0;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().context("threads")?;
        world.physics_pipeline.set_thread_pool(Some(std::sync::Arc::new(pool)));
        let step = 1.0 / (side - 1) as f32;
        let mut cloth =
            SoftBodyBuilder::cloth(Vector::ZERO, Vector::new(0.0, 0.0, step), Vector::new(step, 0.0, 0.0), side, side)
                .mass(density as f32)
                .pinned_particles((0..side).flat_map(|row| [row * side, row * side + side - 1]).map(|n| n as u32))
                .self_contacts(itself)
                .can_sleep(false);
        if let Some(strain) = tear_strain {
            cloth = cloth.tear_strain(strain);
        }
        let cloth = world.soft_bodies.insert(cloth, &mut world.bodies, &mut world.colliders);
        let single = |v: Vec3| Vector::new(v.x as f32, v.y as f32, v.z as f32);
        let body =
            RigidBodyBuilder::dynamic().translation(single(ball.place)).linvel(single(ball.velocity)).can_sleep(false);
        let body = world.bodies.insert(body);
        let radius = ball.radius as f32;
        let volume = 4.0 / 3.0 * std::f32::consts::PI * radius * radius * radius;
        let collider = ColliderBuilder::ball(radius).density(ball.mass as f32 / volume);
        world.colliders.insert_with_parent(collider, body, &mut world.bodies);
        Ok((Self { world, cloth }, body))
    }

    /// Height of a body.
    pub fn height(&self, body: RigidBodyHandle) -> f64 {
        f64::from(self.world.bodies[body].translation().y)
    }

    /// One frame.
    pub fn frame(&mut self) {
        self.world.step();
    }

    /// Where its nodes are.
    pub fn positions(&self) -> Vec<Vec3> {
        let at = |p: Vector| Vec3::new(f64::from(p.x), f64::from(p.y), f64::from(p.z));
        self.world.soft_bodies[self.cloth].particle_positions().map(at).collect()
    }
}
