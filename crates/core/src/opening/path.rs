//! A tear by hand: the edges along a line drawn on the material are opened, whatever the load.
//!
//! From the node nearest to each point of the line to the node nearest to the next, the cheapest way over edges, where
//! an edge costs its length times 1 + (distance of its middle from the line / mean edge length)². Nodes at the same place of the material
//! are the lips of an earlier tear: the way leads across it for nothing. Source: Phillips
//! 2008 §III.C.2 ("tears could easily be initiated manually").

use crate::math::Vec2;
use ripstop_mesh::{ChangeLog, EdgeId, Id, Mesh, NodeId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Opens the edges closest to the polyline `path` [m, material]. A path of one point, or beside the cloth, opens nothing.
pub fn open_path(mesh: &mut Mesh, path: &[Vec2], log: &mut ChangeLog) {
    let edges: Vec<(EdgeId, bool)> = path.windows(2).flat_map(|ends| way(mesh, ends[0], ends[1])).collect();
    for (e, _) in edges {
        mesh.open_edge(e, log);
    }
}

/// The node nearest to a material point [m].
pub fn nearest(mesh: &Mesh, uv: Vec2) -> NodeId {
    let far = |n: &NodeId| mesh.node_uv(*n).distance_squared(uv);
    mesh.nodes().min_by(|a, b| far(a).total_cmp(&far(b))).expect("a mesh has nodes")
}

/// The point of the line from `a` to `b` that is nearest to `p`.
pub fn nearest_on_line(p: Vec2, a: Vec2, b: Vec2) -> Vec2 {
    let along = b - a;
    if along == Vec2::ZERO {
        return a;
    }
    a + along * ((p - a).dot(along) / along.length_squared()).clamp(0.0, 1.0)
}

/// Dijkstra's search for the cheapest way from near `a` to near `b`: edges from `a` on, each with whether it is gone from tail to
/// head.
pub(crate) fn way(mesh: &Mesh, a: Vec2, b: Vec2) -> Vec<(EdgeId, bool)> {
    let (start, goal) = (nearest(mesh, a), nearest(mesh, b));
    let mean = mesh.edges().map(|e| mesh.edge_length(e)).sum::<f64>() / mesh.edges().len() as f64;
    let cost = |e: EdgeId| {
        let c = mesh.edge_corner(e);
        let middle = (mesh.uv(c) + mesh.uv(c.next())) * 0.5;
        let off = middle.distance(nearest_on_line(middle, a, b)) / mean;
        mesh.edge_length(e) * (1.0 + off * off)
    };
    let (place, nodes) = places(mesh);
    let mut best: Vec<(f64, Option<(EdgeId, usize)>)> = vec![(f64::INFINITY, None); nodes.len()];
    let (start, goal) = (place[start.index()], place[goal.index()]);
    // Costs are not negative, so their bits are in the same order as their values.
    let mut queue = BinaryHeap::from([Reverse((0u64, start))]);
    best[start].0 = 0.0;
    while let Some(Reverse((bits, at))) = queue.pop() {
        if at == goal {
            break;
        }
        if f64::from_bits(bits) > best[at].0 {
            continue;
        }
        for (e, _) in nodes[at].iter().flat_map(|&n| crate::criterion::star(mesh, n)) {
            let [p, q] = mesh.edge_nodes(e).map(|n| place[n.index()]);
            let to = if p == at { q } else { p };
            let total = f64::from_bits(bits) + cost(e);
            if total < best[to].0 {
                best[to] = (total, Some((e, at)));
                queue.push(Reverse((total.to_bits(), to)));
            }
        }
    }
    let back = |(_, from): &(EdgeId, usize)| best[*from].1;
    let forward = |(e, from): (EdgeId, usize)| (e, place[mesh.edge_nodes(e)[0].index()] == from);
    let mut way: Vec<_> = std::iter::successors(best[goal].1, back).map(forward).collect();
    way.reverse();
    way
}

/// The place of every node, and the nodes of every place: those with the same material coordinates.
fn places(mesh: &Mesh) -> (Vec<usize>, Vec<Vec<NodeId>>) {
    let bits = |n: NodeId| mesh.node_uv(n).to_array().map(f64::to_bits);
    let mut order: Vec<NodeId> = mesh.nodes().collect();
    order.sort_by_key(|&n| (bits(n), n));
    let nodes: Vec<Vec<NodeId>> = order.chunk_by(|&a, &b| bits(a) == bits(b)).map(<[NodeId]>::to_vec).collect();
    let mut place = vec![0; mesh.node_count()];
    for (at, nodes) in nodes.iter().enumerate() {
        nodes.iter().for_each(|n| place[n.index()] = at);
    }
    (place, nodes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_mesh::{generate, pieces};

    #[test]
    fn a_line_across_the_sheet_parts_it_along_the_line() {
        let mut mesh = generate::irregular(Vec2::ONE, 0.05, 4).unwrap();
        open_path(&mut mesh, &[Vec2::new(0.0, 0.2), Vec2::new(0.5, 0.3), Vec2::new(1.0, 0.9)], &mut ChangeLog::new());
        mesh.check().unwrap();
        let areas = pieces(&mesh).areas;
        // Below the line: 0.5 · 0.25 + 0.5 · 0.6 = 0.425; the edges wander by less than half a spacing about it.
        assert_eq!(areas.len(), 2);
        assert!((areas[1] - 0.425).abs() < 0.025, "{areas:?}");
    }

    #[test]
    fn a_line_goes_on_across_earlier_tears() {
        let mut mesh = generate::grid(Vec2::ONE, [13, 13]).unwrap();
        for x in [0.25, 0.5, 0.75] {
            open_path(&mut mesh, &[Vec2::new(x, 0.0), Vec2::new(x, 1.0)], &mut ChangeLog::new());
        }
        open_path(&mut mesh, &[Vec2::new(0.0, 0.5), Vec2::new(1.0, 0.5)], &mut ChangeLog::new());
        mesh.check().unwrap();
        assert_eq!(pieces(&mesh).areas.len(), 8);
    }
}
