//! Plastic flow: cloth stretched past its yield strain stays longer.
//!
//! ε_total = ε_elastic + ε_plastic (Phillips 2008 eq. 33)
//!
//! Where the largest eigenvalue of the separation tensor of the *elastic* strains at a node passes `yield_strain`, the edges
//! of that node which are longer than their rest length take a new rest length between it and their present one:
//! l₀ ← l₀ + `flow` (l − l₀). With `flow` = 1, the thesis, it is the present length, and the elastic strain falls to
//! zero at once. Tearing looks at the total strain, so flow brings cloth closer to tearing.

use crate::cloth::{Cloth, Touched};
use crate::criterion::{Form, GATE, separation, star};
use ripstop_mesh::{EdgeId, NodeId};
use serde::{Deserialize, Serialize};

/// When and how much cloth yields.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plasticity {
    /// Elastic strain at which cloth yields.
    pub yield_strain: f64,
    /// Share of the elongation that stays, 0 to 1.
    #[serde(default = "whole")]
    pub flow: f64,
}

fn whole() -> f64 {
    1.0
}

impl Plasticity {
    /// Lets the cloth flow where it must; returns what changed, if anything.
    pub fn flow(&self, cloth: &mut Cloth) -> Option<Touched> {
        let strained = |e: &EdgeId| cloth.elastic_strain(*e) > GATE * self.yield_strain;
        let yields = |n: &NodeId| {
            let largest = separation(cloth, *n, Form::Normalised, |e| cloth.elastic_strain(e));
            largest.is_some_and(|(strain, _)| strain > self.yield_strain)
        };
        let ends = cloth.mesh.edges().filter(strained).flat_map(|e| cloth.mesh.edge_nodes(e));
        let mut nodes: Vec<NodeId> = ends.filter(yields).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let mut edges: Vec<EdgeId> = nodes.iter().flat_map(|&n| star(&cloth.mesh, n).map(|(e, _)| e)).collect();
        edges.retain(|&e| cloth.elastic_strain(e) > 0.0);
        edges.sort_unstable();
        edges.dedup();
        for &e in &edges {
            let longer = cloth.elastic_strain(e) * cloth.rest[e];
            cloth.rest[e] += self.flow * longer;
        }
        if edges.is_empty() {
            return None;
        }
        // Bend-shear springs have rest lengths by all edges of their two faces.
        let mesh = &cloth.mesh;
        let faces = edges.iter().flat_map(|&e| [Some(mesh.edge_corner(e)), mesh.twin(mesh.edge_corner(e))]).flatten();
        let mut edges: Vec<EdgeId> = faces.flat_map(|c| c.face().corners().map(|c| mesh.edge(c))).collect();
        edges.sort_unstable();
        edges.dedup();
        Some(Touched { edges, ..Touched::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use ripstop_mesh::{Vec2, generate};

    fn stretched(by: f64) -> Cloth {
        let mut cloth = Cloth::flat(generate::irregular(Vec2::ONE, 0.2, 3).unwrap(), 0.2, Placement::default());
        cloth.x.iter_mut().for_each(|x| x.x *= 1.0 + by);
        cloth
    }

    #[test]
    fn below_yield_nothing_stays() {
        let plastic = Plasticity { yield_strain: 0.1, flow: 1.0 };
        let mut cloth = stretched(0.09);
        assert!(plastic.flow(&mut cloth).is_none());
        assert_eq!(cloth.rest, cloth.woven);
    }

    #[test]
    fn past_yield_elastic_becomes_plastic_and_the_total_stays() {
        let plastic = Plasticity { yield_strain: 0.1, flow: 1.0 };
        let mut cloth = stretched(0.12);
        let total: Vec<_> = cloth.mesh.edges().map(|e| cloth.total_strain(e)).collect();
        let touched = plastic.flow(&mut cloth).unwrap();
        assert!(!touched.topology && touched.edges.len() > 10);
        for e in cloth.mesh.edges() {
            assert_eq!(cloth.total_strain(e), total[e.0 as usize]);
            assert!(cloth.elastic_strain(e) < 1e-12);
        }
        assert!(plastic.flow(&mut cloth).is_none(), "at rest in its new shape");
    }
}
