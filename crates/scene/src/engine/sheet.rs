//! A sheet: triangles that part along edges.

use super::{Effort, Engine, EngineError, Moment, Start, State, StateRef, Torn};
use crate::body;
use crate::cache::{Frame, Topology};
use ripstop::body::{BodyError, BodySpec};
use ripstop::contact::crossing::Crossings;
use ripstop::mesh::{Column, EdgeId, Id, NodeId, pieces};
use ripstop::tear::{Cause, Event, HandTear, SeamReason};
use ripstop::{Bodies, Cloth, Grip, Key, Simulation, Vec2, Vec3, Watch, opening};
use serde_json::{Value, json};
use std::sync::Arc;

impl Engine for Simulation {
    fn step(&mut self, watch: &mut dyn Watch) -> Result<(), EngineError> {
        Ok(self.step_watched(watch)?)
    }

    fn weigh(&mut self) {
        self.weigh_grips();
    }

    fn time(&self) -> f64 {
        self.time()
    }

    fn step_count(&self) -> u64 {
        self.step_count()
    }

    fn step_length(&self) -> f64 {
        self.step_length()
    }

    fn stable_step(&self) -> f64 {
        self.stable_step()
    }

    fn state_hash(&self) -> u64 {
        self.state_hash()
    }

    fn bodies(&self) -> &Bodies {
        self.bodies()
    }

    fn counts(&self) -> Start {
        let cloth = self.cloth();
        let mesh = &cloth.mesh;
        let held = mesh.nodes().filter(|&n| cloth.is_held(n)).map(|n| cloth.x[n].y);
        Start {
            nodes: mesh.nodes().len(),
            edges: mesh.edges().len(),
            faces: mesh.faces().len(),
            pieces: pieces(mesh).areas.len(),
            area: mesh.area(),
            spacing: cloth.mean_edge(),
            hold_height: held.fold(f64::MIN, f64::max),
            middle: middle(cloth),
        }
    }

    fn piece_areas(&self) -> Vec<f64> {
        pieces(&self.cloth().mesh).areas
    }

    fn torn(&self) -> Vec<(Torn, Value)> {
        self.events().iter().map(|event| (torn(event), line(self, event))).collect()
    }

    fn tear_count(&self) -> u64 {
        self.tear_count()
    }

    fn effort(&self) -> Effort {
        Effort { residual: self.unfinished().map(|u| u.residual), contact: self.contacts().report() }
    }

    fn largest_strain(&self) -> f64 {
        let cloth = self.cloth();
        cloth.mesh.edges().map(|e| cloth.total_strain(e)).fold(0.0, f64::max)
    }

    fn moment(&self, start: &Start) -> Moment {
        let (cloth, time) = (self.cloth(), self.time());
        Moment {
            time,
            lowest: cloth.mesh.nodes().map(|n| cloth.x[n].y).fold(f64::MAX, f64::min),
            waist: waist(cloth, start.spacing),
            loads: self.grips().iter().map(|g| g.load).collect(),
            shifts: self.grips().iter().map(|g| g.key(time).shift).collect(),
        }
    }

    fn energies(&self) -> Vec<(&'static str, f64)> {
        self.energies()
    }

    fn grips(&self) -> Vec<(&str, Vec3, Vec3)> {
        let time = self.time();
        self.grips().iter().map(|g| (g.name.as_str(), g.load, g.key(time).shift)).collect()
    }

    fn speed(&self) -> f64 {
        let cloth = self.cloth();
        (2.0 * cloth.kinetic_energy() / cloth.mass.iter().sum::<f64>()).sqrt()
    }

    fn crossings(&mut self) -> usize {
        Crossings::of(self.cloth(), self.bodies()).count()
    }

    /// Numbers as other programs want them. Strain of a node is the largest of its edges.
    fn frame(&self, index: u32, last: Option<&Arc<Topology>>) -> Frame {
        let cloth = self.cloth();
        let mesh = &cloth.mesh;
        let (mut strain, mut plastic) = (vec![0f32; mesh.node_count()], vec![0f32; mesh.node_count()]);
        for (e, flow) in mesh.edges().zip(plastic_strains(cloth)) {
            for n in mesh.edge_nodes(e) {
                let i = n.index();
                strain[i] = strain[i].max(cloth.total_strain(e) as f32);
                plastic[i] = plastic[i].max(flow as f32);
            }
        }
        // A retired node goes along with the one that it went into, so that no point stays behind.
        let single = |column: &Column<NodeId, Vec3>| {
            column.ids().map(|n| column[cloth.stands_for(n)].as_vec3().to_array()).collect()
        };
        let topology = topology(self);
        let topology = last.filter(|last| ***last == topology).cloned().unwrap_or_else(|| Arc::new(topology));
        Frame {
            index,
            time: self.time(),
            points: single(&cloth.x),
            velocities: single(&cloth.v),
            strain,
            plastic,
            topology,
            bodies: body::poses(self.bodies()),
            yarns: None,
        }
    }

    fn state(&self) -> StateRef<'_> {
        StateRef::Sheet(self.snapshot())
    }

    fn restore(&mut self, state: State) -> bool {
        let State::Sheet(snapshot) = state else { return false };
        self.restore(*snapshot);
        true
    }

    fn take(&mut self, grip: Grip) {
        self.add_grip(grip);
    }

    fn holder(&self, node: u32) -> Option<&str> {
        self.grips().iter().find(|grip| grip.nodes().any(|n| n.0 == node)).map(|grip| grip.name.as_str())
    }

    fn steer(&mut self, name: &str, key: Key) {
        if let Some(grip) = self.grips_mut().iter_mut().find(|grip| grip.name == name) {
            grip.keys.push(key);
        }
    }

    fn let_go(&mut self, name: &str, time: f64) {
        if let Some(grip) = self.grips_mut().iter_mut().find(|grip| grip.name == name) {
            grip.release = Some(time);
        }
    }

    fn add_body(&mut self, spec: BodySpec) -> Result<(), BodyError> {
        self.add_body(spec)
    }

    fn shift_wind(&mut self, time: f64, velocity: Vec3) {
        self.shift_wind(time, velocity);
    }

    fn cut(&mut self, time: f64, path: Vec<Vec2>) {
        self.add_hand(HandTear { time, path }, true);
    }

    fn trace(&self, path: &[Vec3]) -> Vec<Vec<Vec2>> {
        opening::trace(self.cloth(), path, self.cloth().mean_edge())
    }

    fn into_sheet(self: Box<Self>) -> Option<Simulation> {
        Some(*self)
    }

    fn sheet(&self) -> Option<&Simulation> {
        Some(self)
    }
}

fn topology(simulation: &Simulation) -> Topology {
    let cloth = simulation.cloth();
    let mesh = &cloth.mesh;
    Topology {
        faces: mesh.faces().map(|f| mesh.face_nodes(f).map(|n| n.0)).collect(),
        corner_uv: mesh.faces().map(|f| mesh.face_uv(f).map(|p| p.as_vec2().to_array())).collect(),
        torn: mesh.faces().map(|f| f.corners().map(|c| cloth.torn[mesh.edge(c)])).collect(),
        parent: cloth.parent.iter().map(|n| n.0).collect(),
        held: cloth.held_by.iter().map(|grip| *grip != 0).collect(),
    }
}

fn torn(e: &Event) -> Torn {
    Torn {
        time: e.time,
        node: e.node.0,
        uv: e.uv,
        place: e.place,
        direction: e.direction,
        angle: e.angle,
        length: e.length,
        seam: e.seam,
        cut: if let Cause::Cut { body } = e.cause { Some(body) } else { None },
    }
}

fn line(simulation: &Simulation, event: &Event) -> Value {
    let cause = match event.cause {
        Cause::Load { criterion } => criterion,
        Cause::Hand => "hand",
        Cause::Cut { .. } => "cut",
        Cause::Seam { reason: SeamReason::Load, .. } => "seam",
        Cause::Seam { reason: SeamReason::Time, .. } => "seam_opens_at",
        Cause::Seam { reason: SeamReason::Unpick, .. } => "seam_unpick",
    };
    let mut line = json!({
        "time": event.time,
        "step": event.step,
        "edge": event.edge.0,
        "lip": event.lip.0,
        "node": event.node.0,
        "uv": event.uv.to_array(),
        "place": event.place.to_array(),
        "direction": event.angle.to_degrees(),
        "length": event.length,
        "ratio": event.ratio.is_finite().then_some(event.ratio),
        "cause": cause,
    });
    if let Some(seam) = event.seam.and_then(|seam| simulation.cloth().seams.iter().nth(seam as usize)) {
        line["seam"] = seam.name.as_str().into();
    }
    if let Cause::Cut { body } = event.cause
        && let Some(body) = simulation.bodies().get(body as usize)
    {
        line["body"] = body.name.as_str().into();
    }
    line
}

/// Middle of a cloth's mass [m].
fn middle(cloth: &Cloth) -> Vec3 {
    let nodes = cloth.mesh.nodes();
    nodes.map(|n| cloth.x[n] * cloth.mass[n]).sum::<Vec3>() / cloth.mass.iter().sum::<f64>()
}

/// Distance between the two ends of the line u = middle, over its material length.
fn waist(cloth: &Cloth, spacing: f64) -> f64 {
    let mesh = &cloth.mesh;
    let bounds = mesh.nodes().map(|n| mesh.node_uv(n)).fold((Vec2::MAX, Vec2::MIN), |(a, b), p| (a.min(p), b.max(p)));
    let middle = 0.5 * (bounds.0.x + bounds.1.x);
    let nearest = |v: f64| {
        let off = |n: &NodeId| mesh.node_uv(*n).distance_squared(Vec2::new(middle, v));
        mesh.nodes().min_by(|a, b| off(a).total_cmp(&off(b))).filter(|n| off(n).sqrt() < spacing)
    };
    match (nearest(bounds.0.y), nearest(bounds.1.y)) {
        (Some(a), Some(b)) => cloth.x[a].distance(cloth.x[b]) / mesh.node_uv(a).distance(mesh.node_uv(b)),
        _ => f64::NAN,
    }
}

/// Plastic strain of every edge.
pub fn plastic_strains(cloth: &Cloth) -> impl Iterator<Item = f64> + '_ {
    cloth.mesh.edges().map(|e: EdgeId| cloth.rest[e] / cloth.woven[e] - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop::Placement;
    use ripstop::integrator::SemiImplicit;
    use ripstop::mesh::{ChangeLog, generate};

    #[test]
    fn a_frame_names_nothing_that_was_taken_away() {
        let mesh = generate::grid(Vec2::ONE, [5, 5]).unwrap();
        let mut cloth = Cloth::flat(mesh, 0.2, Placement::default());
        let (faces, mut log) = (cloth.mesh.faces().len(), ChangeLog::new());
        let node = cloth.mesh.split_edge(EdgeId(20), 0.5, &mut log);
        cloth.follow(&log);
        log.clear();
        assert!(cloth.mesh.merge(node, EdgeId(20), &mut log));
        cloth.follow(&log);
        // What is left of the node stays where it was while the cloth goes on.
        cloth.mesh.nodes().for_each(|n| cloth.x[n] += Vec3::Z * 9.0);
        let simulation = Simulation::new(cloth, Vec::new(), SemiImplicit::default(), 1e-3);
        let frame = simulation.frame(0, None);
        frame.topology.check().unwrap();
        assert_eq!((frame.topology.face_count(), simulation.counts().faces), (faces, faces));
        assert!(frame.topology.faces.iter().all(|face| !face.contains(&node.0)));
        assert_eq!(frame.points.len(), frame.topology.node_count());
        assert!(frame.points.iter().all(|point| point[2] == 9.0), "no point stays behind");
        assert_eq!(simulation.counts().nodes, 25);
        assert!((simulation.moment(&simulation.counts()).lowest).abs() < 1e-12);
    }
}
