//! Other engines behind one face.

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
