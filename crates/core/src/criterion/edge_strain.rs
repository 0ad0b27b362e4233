//! An edge that is stretched too far parts the cloth at one of its ends.
//!
//! ω = ε / (s f),  ε = l / l_woven − 1,  s strength, f resistance of the node
//!
//! The pull is along the edge. Of its two ends a tip of a tear parts first, else the one whose edges are stretched more in sum (the lower
//! id if equal), among those that can.
//!
//! Source: Souza 2014 as told by Bartels 2014 §5 ("the strain of some edge is over a user-controlled threshold"), who
//! leaves open which end; Önal & İşler 2013 §3.2.2 (tips first). Limits: the threshold means another load on another mesh.

use super::{Criterion, View};
use crate::criterion::star;
use crate::tear::{Part, Request};
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
        let ends = view.cloth.mesh.edge_nodes(e).into_iter().filter(|&n| view.can_part(n));
        // A tip gives way before sound cloth does.
        let rank = |n: NodeId| (view.cloth.weak[n], stretched(n));
        ends.map(|n| (rank(n), n))
            .max_by(|((weak_a, a), p), ((weak_b, b), q)| weak_a.cmp(weak_b).then(a.total_cmp(b)).then(q.cmp(p)))
            .map(|(_, n)| n)
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
        Some(Request::Part(Part { node, pull, ratio: strain / (self.strength * view.resist(node, pull)) }))
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
        let Request::Part(Part { node, pull, .. }) = *request else { return 0.0 };
        let strains = star(&view.cloth.mesh, node)
            .filter(|(_, d)| d.perp_dot(pull).abs() < 1e-9 * d.length())
            .map(|(e, _)| view.fields.edge_strain[e] / (self.strength * view.resist(node, pull)));
        strains.fold(0.0, f64::max)
    }
}
