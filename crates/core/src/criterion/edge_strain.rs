//! An edge that is stretched too far parts the cloth at one of its ends.
//!
//! ω = ε / (s f),  ε = l / l_woven − 1,  s strength, f resistance of the node
//!
//! The pull is along the edge. Of its two ends the one whose edges are stretched more in sum parts (the lower id if
//! equal), among those that can.
//!
//! Source: Souza 2014 as told by Bartels 2014 §5 ("the strain of some edge is over a user-controlled threshold"), who
//! leaves open which end. Limits: the threshold means another load on another mesh.

use super::{Criterion, View};
use crate::criterion::star;
use crate::tear::Request;
use ripstop_mesh::{EdgeId, NodeId};

/// Strain of single edges against a strength.
#[derive(Clone, Copy, Debug)]
pub struct EdgeStrain {
    /// Strain at which cloth tears.
    pub strength: f64,
}

impl EdgeStrain {
    fn end(&self, view: View<'_>, e: EdgeId) -> Option<NodeId> {
        let stretched =
            |n: NodeId| star(&view.cloth.mesh, n).map(|(e, _)| view.fields.edge_strain[e].max(0.0)).sum::<f64>();
        let ends = view.cloth.mesh.edge_nodes(e).map(|n| view.can_part(n).then(|| (n, stretched(n))));
        match ends {
            [Some(a), Some(b)] if b.1 > a.1 || (b.1 == a.1 && b.0 < a.0) => Some(b.0),
            [Some(a), _] => Some(a.0),
            [None, b] => b.map(|b| b.0),
        }
    }

    fn request(&self, view: View<'_>, e: EdgeId) -> Option<Request> {
        let strain = view.fields.edge_strain[e];
        // Without a node that gives way more easily than the map's weakest point there is nothing to look up.
        if strain <= self.strength * view.resistance.least() {
            return None;
        }
        let node = self.end(view, e)?;
        let c = view.cloth.mesh.edge_corner(e);
        let pull = (view.cloth.mesh.uv(c.next()) - view.cloth.mesh.uv(c)).normalize_or_zero();
        Some(Request::Part { node, pull, ratio: strain / (self.strength * view.resistance.at(node, pull)) })
    }
}

impl Criterion for EdgeStrain {
    fn name(&self) -> &'static str {
        "edge_strain"
    }

    fn find(&mut self, view: View<'_>, requests: &mut Vec<Request>) {
        if view.fields.largest_edge_strain <= self.strength * view.resistance.least() {
            return;
        }
        let found = view.cloth.mesh.edges().filter_map(|e| self.request(view, e));
        requests.extend(found.filter(|request| request.ratio() > 1.0));
    }

    fn ratio(&self, view: View<'_>, request: &Request) -> f64 {
        let Request::Part { node, pull, .. } = *request else { return 0.0 };
        let strains = star(&view.cloth.mesh, node)
            .filter(|(_, d)| d.perp_dot(pull).abs() < 1e-9 * d.length())
            .map(|(e, _)| view.fields.edge_strain[e] / (self.strength * view.resistance.at(node, pull)));
        strains.fold(0.0, f64::max)
    }
}
