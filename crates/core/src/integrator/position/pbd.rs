//! Position-based dynamics with strain limits, in order of distance to what is held.
//!
//! 1. v ← v + h w f,  x ← x₀ + h v, with the loads f as they are at the beginning.
//! 2. Every element is projected once with its compliance, see `potential/project.rs`.
//! 3. `sweeps` times: an edge longer than (1 + `limit`) l₀ is shortened to that, its ends moving by their inverse masses; edges near
//!    held nodes first.
//! 4. v ← (x − x₀)/h
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | N_proj | `sweeps` | | sweeps of strain limiting |
//! | θ | `limit` | 1 | largest strain of an edge that sweeps leave alone |
//! | l₀ | `cloth.rest` | m | rest length of the edge |
//! | w | `cloth.inverse_mass` | 1/kg | zero for a held node |
//!
//! Order: edges by the fewest edges from either end to a held node, then by id; what no held node reaches comes last. It is a
//! function of the mesh and of what is held, and is computed anew when they change.
//!
//! Source: Metaaphanon 2009 §4.1 (Müller 2007). Deviations: M integrates springs explicitly, but k Δt²/m is about 42 with the
//! figures of its Table 1, far past the explicit limit; here springs are projected once with compliance 1/k. M finds N_proj
//! by a test run; here it is a setting. Any triangle mesh in place of M's quadrilaterals.
//!
//! Limits: sweeps follow each other, on one thread. Too few leave edges beyond the limit, the more so the finer the mesh.
//! Steps of a frame damp motion strongly.

use super::{Shifts, Tables};
use crate::cloth::Cloth;
use crate::integrator::{Integrator, Motion};
use crate::math::{Vec3, inverse_or_zero};
use crate::potential::{Constraint, Place};
use ripstop_mesh::{EdgeId, Id, NodeId};
use serde::Deserialize;
use std::collections::VecDeque;

/// Settings of [`Pbd`].
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PbdSettings {
    /// Sweeps of strain limiting in a step.
    pub sweeps: u32,
    /// Largest strain that they leave alone.
    pub limit: f64,
}

impl Default for PbdSettings {
    /// N_proj and the smallest strain that tears in Metaaphanon 2009, Table 1.
    fn default() -> Self {
        Self { sweeps: 40, limit: 0.05 }
    }
}

/// Position-based dynamics with strain limits.
#[derive(Default)]
pub struct Pbd {
    /// How.
    pub settings: PbdSettings,
    tables: Tables,
    shifts: Shifts,
    load: Vec<Vec3>,
    order: Vec<EdgeId>,
    held: Vec<bool>,
}

/// Edges by their distance to held nodes.
fn order(cloth: &Cloth) -> Vec<EdgeId> {
    let mesh = &cloth.mesh;
    let mut distance = vec![u32::MAX; mesh.node_count()];
    let mut next: VecDeque<NodeId> = mesh.nodes().filter(|&n| cloth.inverse_mass[n] == 0.0).collect();
    next.iter().for_each(|n| distance[n.index()] = 0);
    while let Some(n) = next.pop_front() {
        for corner in mesh.fan(n) {
            for other in [mesh.node(corner.next()), mesh.node(corner.prev())] {
                if distance[other.index()] == u32::MAX {
                    distance[other.index()] = distance[n.index()] + 1;
                    next.push_back(other);
                }
            }
        }
    }
    let mut edges: Vec<EdgeId> = mesh.edges().collect();
    edges.sort_by_key(|&e| mesh.edge_nodes(e).map(|n| distance[n.index()]).into_iter().min());
    edges
}

impl Pbd {
    /// PBD with these settings.
    pub fn new(settings: PbdSettings) -> Self {
        Self { settings, ..Self::default() }
    }
}

impl Integrator for Pbd {
    fn name(&self) -> &'static str {
        "pbd"
    }

    fn advance(&mut self, Motion { cloth, forces, contacts, .. }: Motion<'_>, h: f64) {
        let Self { settings, tables, shifts, load, order: edges, held } = self;
        let held_now = || cloth.inverse_mass.iter().map(|w| *w == 0.0);
        if tables.link(cloth, forces) || !held.iter().copied().eq(held_now()) {
            *edges = order(cloth);
            held.clear();
            held.extend(held_now());
        }
        load.resize(cloth.x.len(), Vec3::ZERO);
        forces.evaluate_part(false, cloth, &cloth.x, &cloth.v, load);
        shifts.begin(cloth, &tables.places, load, h);
        tables.begin(shifts, 1);
        shifts.predict(true);
        tables.forget(false);
        tables.sweep_general(forces, shifts, 0, false);
        tables.sweep_springs(shifts, false);
        let (Shifts { now: shift, before, start, inverse_mass, .. }, places) = (&mut *shifts, &tables.places);
        let mut place = Place { start, inverse_mass, before, first: 0, shift, h, span: h };
        for _ in 0..settings.sweeps {
            for &e in &*edges {
                let most = (1.0 + settings.limit) * cloth.rest[e];
                let nodes = cloth.mesh.edge_nodes(e).map(|n| places.of[n.index()] as usize);
                place.project(&nodes, 0.0, &mut 0.0, |x| {
                    let along = x[1] - x[0];
                    let length = along.length();
                    let unit = along * inverse_or_zero(length);
                    Constraint { value: (length - most).max(0.0), slope: [-unit, unit], compliance: 0.0 }
                });
            }
        }
        if let Some(contacts) = contacts {
            shifts.meet(contacts, &tables.places, &cloth.inverse_mass, true);
        }
        shifts.settle();
        shifts.end(cloth, &tables.places, h);
    }

    fn contact_step(&self) -> f64 {
        super::CONTACT_STEP
    }

    fn trembles(&self) -> bool {
        true
    }

    fn stable_step(&self, _omega: f64, _rate: f64) -> f64 {
        f64::INFINITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use crate::fabric::Fabric;
    use crate::model::{self, Surroundings};
    use crate::potential::Forces;
    use ripstop_mesh::{ChangeLog, Vec2, generate};

    fn hung(stretch: f64) -> (Cloth, Forces) {
        let fabric = Fabric { stretch, ..Fabric::default() };
        let mesh = generate::grid(Vec2::ONE, [15, 15]).unwrap();
        let mut cloth = Cloth::flat(mesh, fabric.density, Placement { warp: Vec3::Z, ..Placement::default() });
        for corner in [14 * 15, 15 * 15 - 1] {
            cloth.hold(NodeId(corner), Some(0));
        }
        let mut potentials = model::springs(&fabric, &cloth);
        potentials.extend(Surroundings::default().loads(&cloth));
        let forces = Forces::new(potentials);
        (cloth, forces)
    }

    fn largest_strain(cloth: &Cloth) -> f64 {
        cloth.mesh.edges().map(|e| cloth.elastic_strain(e)).fold(0.0, f64::max)
    }

    #[test]
    fn strain_stays_below_the_limit_even_of_soft_springs() {
        let (mut cloth, mut forces) = hung(5.0);
        let mut pbd = Pbd::new(PbdSettings { sweeps: 300, limit: 0.04 });
        let mut worst = 0.0;
        for _ in 0..120 {
            pbd.advance(Motion::new(&mut cloth, &mut forces), 1.0 / 240.0);
            worst = largest_strain(&cloth).max(worst);
        }
        // Sweeps leave a rest that halves with some dozens of them.
        assert!(worst < 0.045, "{worst}");
        assert!(worst > 0.039, "springs as soft as these reach the limit: {worst}");
    }

    #[test]
    fn near_held_nodes_first_leaves_less_than_by_id() {
        let leaves = |reverse: bool| {
            let (mut cloth, mut forces) = hung(5.0);
            let mut pbd = Pbd::new(PbdSettings { sweeps: 8, limit: 0.02 });
            let mut sum = 0.0;
            for step in 0..120 {
                pbd.advance(Motion::new(&mut cloth, &mut forces), 1.0 / 240.0);
                if step == 0 && reverse {
                    pbd.order.reverse();
                }
                sum += largest_strain(&cloth);
            }
            sum
        };
        let (near, far) = (leaves(false), leaves(true));
        assert!(near < far, "{near} against {far} with the farthest first");
    }

    #[test]
    fn the_order_follows_tears_and_holds() {
        let (mut cloth, _) = hung(5.0);
        let first = order(&cloth);
        let at_held = |cloth: &Cloth, e: EdgeId| cloth.mesh.edge_nodes(e).into_iter().any(|n| cloth.is_held(n));
        let near = cloth.mesh.edges().filter(|&e| at_held(&cloth, e)).count();
        assert!(first[..near].iter().all(|&e| at_held(&cloth, e)));
        let mut log = ChangeLog::new();
        for e in first.iter().copied().filter(|&e| at_held(&cloth, e)).collect::<Vec<_>>() {
            cloth.mesh.open_edge(e, &mut log);
        }
        cloth.follow(&log);
        let mut all = order(&cloth);
        assert_eq!(all.len(), cloth.mesh.edge_count());
        all.sort();
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "every edge once");
    }
}
