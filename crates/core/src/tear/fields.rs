//! Fields: what criteria look at, measured from the state: stress of faces or strain of edges.
//!
//! In the rounds of a step after the first only what is around a tear has changed: what stayed where it was, with the same rest values, is not measured again. It has the same bits as if it were.

use crate::cloth::{Cloth, Touched};
use crate::math::Vec3;
use crate::parallel;
use crate::potential::{Faces, Forces};
use ripstop_mesh::{Column, EdgeId, FaceId, Id, NodeId};

/// Quantities that criteria look at, measured from the state.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    /// Total strain of every edge, unless the criterion looks at stress.
    pub edge_strain: Column<EdgeId, f64>,
    /// Largest of all edges.
    pub largest_edge_strain: f64,
    /// What every face is under; no rows unless the criterion [wants](crate::criterion::Criterion::wants_stress) stress.
    pub faces: Faces,
    /// Ends of every edge and one over its woven length [1/m], side by side for speed.
    spans: Column<EdgeId, (NodeId, NodeId, f64)>,
    /// Where every node was when this was measured [m], if that is kept.
    measured_at: Vec<Vec3>,
    /// Edges and faces that edits have changed since.
    edited: (Vec<EdgeId>, Vec<FaceId>),
}

/// Share of the nodes that may have moved for the rest to be left as it was measured.
const FEW: usize = 8;
/// Places that are compared at once.
const PLACES: usize = 16;

impl Fields {
    /// All fields of a cloth.
    pub fn of(cloth: &Cloth, forces: &Forces) -> Self {
        let mut fields = Self::default();
        fields.follow(cloth, &Touched::default());
        fields.measure(cloth, forces, false, false);
        fields.measure(cloth, forces, true, false);
        fields
    }

    /// Follows edits of the cloth.
    pub(super) fn follow(&mut self, cloth: &Cloth, touched: &Touched) {
        let span = |e: EdgeId| {
            let [a, b] = cloth.mesh.edge_nodes(e);
            // What is retired isn't strained.
            (a, b, if cloth.mesh.is_retired_edge(e) { 0.0 } else { 1.0 / cloth.woven[e] })
        };
        let known = self.spans.len();
        for &e in touched.edges.iter().filter(|e| e.index() < known) {
            self.spans[e] = span(e);
        }
        self.spans.extend_to(cloth.mesh.edge_count(), span);
        self.edge_strain.grow(self.spans.len(), 0.0);
        self.edited.0.extend_from_slice(&touched.edges);
        self.edited.1.extend_from_slice(&touched.faces);
    }

    /// Measures `cloth`: its stress if that is wanted, otherwise its strain. If it is measured `again`, rest values are as they were but for edits that were followed.
    pub(super) fn measure(&mut self, cloth: &Cloth, forces: &Forces, stress: bool, again: bool) {
        if stress {
            self.faces.grow(cloth.mesh.face_count());
        }
        let edited = std::mem::take(&mut self.edited);
        match if again { self.moved(cloth) } else { None } {
            Some(moved) => self.measure_around(cloth, forces, stress, &moved, edited),
            None => self.measure_all(cloth, forces, stress),
        }
        if !stress {
            self.largest_edge_strain = largest(&self.edge_strain);
        }
    }

    fn measure_all(&mut self, cloth: &Cloth, forces: &Forces, stress: bool) {
        if stress {
            forces.stress(&cloth.x, &mut self.faces);
        } else {
            let spans = &self.spans;
            parallel::for_each(&mut self.edge_strain, |i, strain| *strain = strain_of(spans[EdgeId::new(i)], cloth));
        }
        self.measured_at.clear();
    }

    /// Keeps where the cloth was measured, which is where it is: it is to be measured again.
    pub(super) fn keep_places(&mut self, cloth: &Cloth) {
        if self.measured_at.is_empty() {
            self.measured_at.extend_from_slice(&cloth.x);
        }
    }

    /// Measures what nodes that have moved and edits have changed.
    fn measure_around(
        &mut self,
        cloth: &Cloth,
        forces: &Forces,
        stress: bool,
        moved: &[NodeId],
        (mut edges, mut faces): (Vec<EdgeId>, Vec<FaceId>),
    ) {
        let mesh = &cloth.mesh;
        let there = moved.iter().filter(|&&n| !mesh.is_retired_node(n));
        let around: Vec<FaceId> = there.flat_map(|&n| mesh.fan(n).map(|c| c.face())).collect();
        if stress {
            faces.extend(around);
            faces.sort_unstable();
            faces.dedup();
            faces.iter().for_each(|&f| self.faces.put(f, forces.face(f, &cloth.x)));
        } else {
            edges.extend(around.iter().flat_map(|f| f.corners()).map(|c| mesh.edge(c)));
            edges.iter().for_each(|&e| self.edge_strain[e] = strain_of(self.spans[e], cloth));
        }
        self.measured_at.resize(cloth.x.len(), Vec3::ZERO);
        moved.iter().for_each(|n| self.measured_at[n.index()] = cloth.x[*n]);
    }

    /// The nodes that aren't where they were measured, if they are few.
    fn moved(&self, cloth: &Cloth) -> Option<Vec<NodeId>> {
        let most = cloth.x.len() / FEW;
        let known = self.measured_at.len();
        let mut moved = Vec::new();
        for (k, (now, then)) in cloth.x.chunks(PLACES).zip(self.measured_at.chunks(PLACES)).enumerate() {
            // All of them at once: few have moved.
            let differs = |(a, b): (&Vec3, &Vec3)| (a.x != b.x) | (a.y != b.y) | (a.z != b.z);
            if now.iter().zip(then).fold(false, |any, pair| any | differs(pair)) {
                let there = now.iter().zip(then).enumerate().filter(|(_, pair)| differs(*pair));
                moved.extend(there.map(|(n, _)| NodeId::new(k * PLACES + n)));
                if moved.len() > most {
                    return None;
                }
            }
        }
        moved.extend((known..cloth.x.len()).map(NodeId::new));
        (moved.len() <= most).then_some(moved)
    }
}

fn strain_of((a, b, per_length): (NodeId, NodeId, f64), cloth: &Cloth) -> f64 {
    cloth.x[a].distance(cloth.x[b]) * per_length - 1.0
}

/// The largest of some numbers, by lanes.
fn largest(all: &[f64]) -> f64 {
    let larger = |a: f64, b: f64| if b > a { b } else { a };
    let (blocks, rest) = all.as_chunks::<8>();
    let lanes = blocks.iter().fold([f64::MIN; 8], |most, block| std::array::from_fn(|k| larger(most[k], block[k])));
    lanes.iter().chain(rest).copied().fold(f64::MIN, larger)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use crate::fabric::Fabric;
    use crate::math::{Vec2, hash_unit};
    use crate::model;
    use crate::potential::{Elasticity, Stressed};
    use ripstop_mesh::{ChangeLog, generate};

    #[test]
    fn what_is_measured_again_has_the_bits_of_what_is_measured_anew() {
        let mesh = generate::irregular(Vec2::ONE, 0.05, 3).unwrap();
        let mut cloth = Cloth::flat(mesh, 0.2, Placement::default());
        let stir = |cloth: &mut Cloth, n: NodeId, key: u64| {
            let noise = |axis: u64| 0.01 * (hash_unit(key, 3 * u64::from(n.0) + axis) - 0.5);
            cloth.x[n] += Vec3::new(noise(0), noise(1), noise(2));
        };
        cloth.mesh.nodes().for_each(|n| stir(&mut cloth, n, 1));
        let fabric = Fabric::default();
        let mut forces = Forces::new(model::membrane(&fabric, Elasticity::of(&fabric), &cloth));
        let mut fields = [false, true].map(|stress| (stress, Fields::of(&cloth, &forces)));
        fields.iter_mut().for_each(|(_, fields)| fields.keep_places(&cloth));
        for round in 0..6u32 {
            // Something opens, is divided and taken away again, and a few nodes move: some at that place, some elsewhere.
            let mut log = ChangeLog::new();
            let edges: Vec<EdgeId> = cloth.mesh.edges().skip(40 * round as usize).step_by(7).take(3).collect();
            cloth.mesh.open_edge(edges[0], &mut log);
            let node = cloth.mesh.split_edge(edges[1], 0.5, &mut log);
            if round % 2 == 1 {
                cloth.mesh.merge(node, edges[1], &mut log);
            }
            cloth.follow(&log);
            let touched = Touched::by(&cloth.mesh, &log);
            forces.follow(&cloth, &touched);
            fields.iter_mut().for_each(|(_, fields)| fields.follow(&cloth, &touched));
            for n in [touched.nodes[0], NodeId(5 + round), NodeId(cloth.x.len() as u32 - 1)] {
                if !cloth.mesh.is_retired_node(n) {
                    stir(&mut cloth, n, u64::from(2 + round));
                }
            }
            let anew = Fields::of(&cloth, &forces);
            for (stress, fields) in &mut fields {
                assert!(fields.moved(&cloth).is_some_and(|moved| !moved.is_empty()), "only some of it");
                fields.measure(&cloth, &forces, *stress, true);
                let bits = |fields: &Fields| -> Vec<u64> {
                    let of_face = |face: FaceId| {
                        let Stressed { stress: s, metric: m, energy, area } = fields.faces.at(face);
                        [s.xx, s.xy, s.yy, m.xx, m.xy, m.yy, energy, area, fields.faces.load(face)]
                    };
                    let faces = (0..cloth.mesh.face_count()).map(FaceId::new).flat_map(of_face);
                    let strain = fields.edge_strain.iter().copied().chain([fields.largest_edge_strain]);
                    let wanted: Vec<f64> = if *stress { faces.collect() } else { strain.collect() };
                    wanted.into_iter().map(f64::to_bits).collect()
                };
                assert!(bits(fields) == bits(&anew), "round {round}");
                assert_eq!(fields.measured_at, cloth.x.to_vec());
            }
        }
        // All of it has moved: nothing is left as it was.
        cloth.mesh.nodes().for_each(|n| stir(&mut cloth, n, 9));
        assert!(fields.iter().all(|(_, fields)| fields.moved(&cloth).is_none()));
    }
}
