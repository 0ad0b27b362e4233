//! The verbs: all tear methods and tools are made of these.

use crate::{Change, ChangeLog, CornerId, EdgeId, FaceId, Id, Mesh, NodeId, Vec2};

/// Height over longest side below which [`Mesh::slide`] calls a triangle a sliver: angles of 11° and more are left.
pub const LEAST_HEIGHT: f64 = 0.2;

/// Height of a triangle over its longest side, which is at most the sine of its smallest angle; negative if it is turned over.
pub fn height_share(points: [Vec2; 3]) -> f64 {
    let longest = (0..3).map(|k| points[k].distance_squared(points[(k + 1) % 3])).fold(0.0, f64::max);
    (points[1] - points[0]).perp_dot(points[2] - points[0]) / longest
}

/// Weights of a triangle's corners for the point `p`; none if the triangle has no area.
pub fn barycentric([a, b, c]: [Vec2; 3], p: Vec2) -> Option<[f64; 3]> {
    let area = (b - a).perp_dot(c - a);
    let (v, w) = ((p - a).perp_dot(c - a) / area, (b - a).perp_dot(p - a) / area);
    (v.is_finite() && w.is_finite()).then_some([1.0 - v - w, v, w])
}

impl Mesh {
    /// Divides an edge at the fraction `at` of its length from tail to head, and with it the faces beside it.
    /// Nothing moves: the new node lies on the edge, its uv on each side between the old ones.
    ///
    /// # Panics
    /// If `at` is not inside (0, 1), or the edge is retired.
    pub fn split_edge(&mut self, edge: EdgeId, at: f64, log: &mut ChangeLog) -> NodeId {
        assert!(at > 0.0 && at < 1.0, "split_edge at {at}");
        assert!(!self.is_retired_edge(edge), "split_edge of {edge:?}, which is retired");
        let c = self.edge_corner[edge];
        let [tail, head] = self.edge_nodes(edge);
        let twin = self.twin(c);
        let node = self.node_corner.push(CornerId::NONE);
        let uv = self.uv(c).lerp(self.uv(c.next()), at);
        // Where both sides agree on the material they agree on the new node too, in every bit.
        let uv_twin = twin.map(|d| {
            let [b, a] = [self.uv(d), self.uv(d.next())];
            if [a, b] == [self.uv(c), self.uv(c.next())] { uv } else { b.lerp(a, 1.0 - at) }
        });
        let (c_rest, face, spoke) = self.split_side(c, uv, node);
        let rest = self.edge_corner.push(c_rest);
        self.corner_edge[c_rest] = rest;
        self.node_corner[node] = c_rest;
        let (mut faces, mut spokes) = ([Some((c.face(), face)), None], [Some(spoke), None]);
        if let Some((d, uv)) = twin.zip(uv_twin) {
            let (d_rest, other, spoke) = self.split_side(d, uv, node);
            // The twin runs the other way: its new half is the one at the tail.
            self.link(c, d_rest, edge);
            self.link(c_rest, d, rest);
            faces[1] = Some((d.face(), other));
            spokes[1] = Some(spoke);
        }
        self.edge_corner[edge] = c;
        self.edge_corner[rest] = c_rest;
        log.push(Change::EdgeSplit { edge, rest, tail, head, at, node, faces, spokes });
        node
    }

    /// One side of an edge split: the face (a, b, o) of the half-edge `c` = a→b becomes (a, m, o) and a new face
    /// (m, b, o), with m at `uv_m`. Returns the new half-edge m→b, the new face and the new edge m–o.
    fn split_side(&mut self, c: CornerId, uv_m: Vec2, m: NodeId) -> (CornerId, FaceId, EdgeId) {
        let (n, p) = (c.next(), c.prev());
        let (b, o) = (self.node(n), self.node(p));
        let (uv_b, uv_o) = (self.uv(n), self.uv(p));
        let (edge_bo, twin_bo) = (self.edge(n), self.corner_twin[n]);
        let face = self.push_face([m, b, o], [uv_m, uv_b, uv_o]);
        let [c2, n2, p2] = face.corners();
        self.corner_node[n] = m;
        self.corner_uv[n] = uv_m;
        self.move_side(n, n2, edge_bo, twin_bo);
        if self.node_corner[b] == n {
            self.node_corner[b] = n2;
        }
        let spoke = self.edge_corner.push(n);
        self.link(n, p2, spoke);
        (c2, face, spoke)
    }

    /// Divides a face into three at the point with barycentric weights `at`. Nothing moves.
    ///
    /// # Panics
    /// If a weight is not inside (0, 1), or the face is retired.
    pub fn split_face(&mut self, face: FaceId, at: [f64; 3], log: &mut ChangeLog) -> NodeId {
        assert!(at.iter().all(|&w| w > 0.0 && w < 1.0), "split_face at {at:?}");
        assert!(!self.is_retired_face(face), "split_face of {face:?}, which is retired");
        let corners = face.corners();
        let [a, b, c] = corners.map(|k| self.node(k));
        let [uv_a, uv_b, uv_c] = corners.map(|k| self.uv(k));
        let edges = corners.map(|k| self.edge(k));
        let [_, twin_bc, twin_ca] = corners.map(|k| self.corner_twin[k]);
        let sum = at[0] + at[1] + at[2];
        let uv_m = (uv_a * at[0] + uv_b * at[1] + uv_c * at[2]) / sum;
        let m = self.node_corner.push(corners[2]);
        let f1 = self.push_face([b, c, m], [uv_b, uv_c, uv_m]);
        let f2 = self.push_face([c, a, m], [uv_c, uv_a, uv_m]);
        let (d, e) = (f1.corners(), f2.corners());
        self.corner_node[corners[2]] = m;
        self.corner_uv[corners[2]] = uv_m;
        self.move_side(corners[1], d[0], edges[1], twin_bc);
        self.move_side(corners[2], e[0], edges[2], twin_ca);
        for (node, old, new) in [(b, corners[1], d[0]), (c, corners[2], e[0])] {
            if self.node_corner[node] == old {
                self.node_corner[node] = new;
            }
        }
        let [sa, sb, sc] = [corners[2], corners[1], d[1]].map(|k| self.edge_corner.push(k));
        self.link(corners[2], e[1], sa);
        self.link(corners[1], d[2], sb);
        self.link(d[1], e[2], sc);
        log.push(Change::FaceSplit {
            face,
            corners: [a, b, c],
            edges,
            at: at.map(|w| w / sum),
            node: m,
            faces: [f1, f2],
            spokes: [sa, sb, sc],
        });
        m
    }

    /// Unlinks the two sides of an edge. A node whose corners then no longer form one fan gets a second node:
    /// this yields crack tips, branches, one-point connections and pieces. Returns false, and does nothing, if the
    /// edge is on the border already, or retired.
    pub fn open_edge(&mut self, edge: EdgeId, log: &mut ChangeLog) -> bool {
        let c = self.edge_corner[edge];
        let Some(d) = self.twin(c).filter(|&d| d != c) else { return false };
        self.corner_twin[c] = CornerId::NONE;
        self.corner_twin[d] = CornerId::NONE;
        let lip = self.edge_corner.push(d);
        self.corner_edge[d] = lip;
        log.push(Change::EdgeOpened { edge, lip });
        // At each end one side's corner now begins its fan (no twin), the other side's ends its fan.
        self.separate_fans(c, d.next(), log);
        self.separate_fans(d, c.next(), log);
        true
    }

    /// `begin` starts an open fan at its node. If that fan doesn't also contain `end`, a corner of the same node,
    /// the fan whose smallest corner is larger moves to a new node.
    fn separate_fans(&mut self, begin: CornerId, end: CornerId, log: &mut ChangeLog) {
        let node = self.node(begin);
        self.node_corner[node] = begin;
        if self.fan(node).any(|c| c == end) {
            return;
        }
        let other = self.first_of_fan(end);
        let smallest = |first| self.open_fan(first).min();
        let (stays, moves) = if smallest(begin) < smallest(other) { (begin, other) } else { (other, begin) };
        let copy = self.node_corner.push(moves);
        self.node_corner[node] = stays;
        let moved: Vec<_> = self.open_fan(moves).collect();
        for c in moved {
            self.corner_node[c] = copy;
        }
        log.push(Change::NodeSplit { node, copy });
    }

    /// The corners of an open fan from its first one on, whatever node they name at the moment.
    fn open_fan(&self, first: CornerId) -> impl Iterator<Item = CornerId> + '_ {
        std::iter::successors(Some(first), |c| self.twin(c.prev()))
    }

    /// Moves a node within the material [m], if its faces stay sound: none turns over or becomes a sliver (a height below
    /// [`LEAST_HEIGHT`] of its longest side, unless it was worse before), and their area together stays, so that the border is kept.
    /// Returns whether it moved. It is not in any log: while a cloth is in use, only the cloth slides its nodes.
    pub fn slide(&mut self, node: NodeId, uv: Vec2) -> bool {
        self.slide_within(node, uv, LEAST_HEIGHT)
    }

    fn slide_within(&mut self, node: NodeId, uv: Vec2, least: f64) -> bool {
        let may = self.may_slide_within(node, uv, least);
        if may {
            let fan: Vec<CornerId> = self.fan(node).collect();
            fan.iter().for_each(|&c| self.corner_uv[c] = uv);
        }
        may
    }

    /// True if [`slide`](Self::slide) would move the node.
    pub fn may_slide(&self, node: NodeId, uv: Vec2) -> bool {
        self.may_slide_within(node, uv, LEAST_HEIGHT)
    }

    /// The same with another height over longest side that faces must keep.
    pub fn may_slide_within(&self, node: NodeId, uv: Vec2, least: f64) -> bool {
        let first = self.node_uv(node);
        let area = |points: [Vec2; 3]| 0.5 * (points[1] - points[0]).perp_dot(points[2] - points[0]);
        let (mut before, mut after) = (0.0, 0.0);
        for c in self.fan(node) {
            let was = [c, c.next(), c.prev()].map(|c| self.uv(c));
            let is = [uv, was[1], was[2]];
            // A node with several places in the material is on the border of a patch.
            if was[0] != first || height_share(is) < least.min(height_share(was)) {
                return false;
            }
            before += area(was);
            after += area(is);
        }
        (after - before).abs() <= 1e-9 * before.abs()
    }

    /// The corner of a node, among those of its faces, in whose face a place of the material [m] beside the node lies, and its weights in that face.
    pub fn place_beside(&self, node: NodeId, uv: Vec2) -> Option<(CornerId, [f64; 3])> {
        let least = |w: &[f64; 3]| w[0].min(w[1]).min(w[2]);
        let weights = |c: CornerId| Some((c, barycentric([c, c.next(), c.prev()].map(|c| self.uv(c)), uv)?));
        let nearest = self.fan(node).filter_map(weights).max_by(|a, b| least(&a.1).total_cmp(&least(&b.1)));
        nearest.filter(|(_, w)| least(w) > -1e-9)
    }

    /// Moves a node within the material [m] as [`slide`](Self::slide) does, as an edit that tables can follow. Returns whether it moved.
    pub fn relocate(&mut self, node: NodeId, uv: Vec2, log: &mut ChangeLog) -> bool {
        self.relocate_within(node, uv, LEAST_HEIGHT, log)
    }

    /// The same with another height over longest side that faces must keep.
    pub fn relocate_within(&mut self, node: NodeId, uv: Vec2, least: f64, log: &mut ChangeLog) -> bool {
        let Some((c, at)) = self.place_beside(node, uv) else { return false };
        let corners = [c, c.next(), c.prev()].map(|c| self.node(c));
        let moved = self.slide_within(node, uv, least);
        if moved {
            log.push(Change::NodeMoved { node, corners, at });
        }
        moved
    }

    /// Turns an edge within the quadrilateral of its two faces. Returns false, and does nothing, if it is on the border, if the faces don't agree on the material there,
    /// or if a face would turn over or become a sliver (a height below [`LEAST_HEIGHT`] of its longest side, unless the worse of the two was worse before).
    pub fn flip_edge(&mut self, edge: EdgeId, log: &mut ChangeLog) -> bool {
        let Some([was, is]) = self.flipped_heights(edge) else { return false };
        if is < LEAST_HEIGHT.min(was) || is <= 0.0 {
            return false;
        }
        // Faces (a, b, o) and (b, a, p) become (p, b, o) and (o, a, p).
        let c = self.edge_corner[edge];
        let Some(d) = self.twin(c) else { return false };
        let [a, b, o, p] = [c, d, c.prev(), d.prev()].map(|c| self.node(c));
        let [uv_o, uv_p] = [c.prev(), d.prev()].map(|c| self.uv(c));
        let (pb, oa) = (self.edge(d.prev()), self.edge(c.prev()));
        let (twin_pb, twin_oa) = (self.corner_twin[d.prev()], self.corner_twin[c.prev()]);
        let sides = [oa, self.edge(c.next()), self.edge(d.next()), pb];
        (self.corner_node[c], self.corner_uv[c]) = (p, uv_p);
        (self.corner_node[d], self.corner_uv[d]) = (o, uv_o);
        self.move_side(d.prev(), c, pb, twin_pb);
        self.move_side(c.prev(), d, oa, twin_oa);
        self.link(c.prev(), d.prev(), edge);
        self.edge_corner[edge] = c.prev();
        for (node, old, new) in [(a, c, d.next()), (b, d, c.next()), (o, c.prev(), d), (p, d.prev(), c)] {
            if self.node_corner[node] == old {
                self.node_corner[node] = new;
            }
        }
        log.push(Change::EdgeFlipped { edge, corners: [a, b, o, p], sides });
        true
    }

    /// The smaller [`height_share`] of the two faces of an edge, as it is and as it would be with the edge turned; none where it can't be.
    pub fn flipped_heights(&self, edge: EdgeId) -> Option<[f64; 2]> {
        let c = self.edge_corner[edge];
        let d = self.twin(c).filter(|&d| d != c)?;
        let [a, b, o, p] = [c, c.next(), c.prev(), d.prev()].map(|c| self.uv(c));
        if [self.uv(d.next()), self.uv(d)] != [a, b] {
            return None;
        }
        let pair = |first, second| f64::min(height_share(first), height_share(second));
        Some([pair([a, b, o], [b, a, p]), pair([p, b, o], [o, a, p])])
    }

    fn push_face(&mut self, nodes: [NodeId; 3], uv: [Vec2; 3]) -> FaceId {
        let face = FaceId::new(self.face_count());
        for k in 0..3 {
            self.corner_node.push(nodes[k]);
            self.corner_uv.push(uv[k]);
            self.corner_twin.push(CornerId::NONE);
            self.corner_edge.push(EdgeId(u32::MAX));
        }
        face
    }

    pub(crate) fn link(&mut self, c: CornerId, d: CornerId, edge: EdgeId) {
        self.corner_twin[c] = d;
        self.corner_twin[d] = c;
        self.corner_edge[c] = edge;
        self.corner_edge[d] = edge;
    }

    /// Half-edge `new` takes over the side of `edge` that was `old`.
    fn move_side(&mut self, old: CornerId, new: CornerId, edge: EdgeId, twin: CornerId) {
        self.corner_edge[new] = edge;
        self.corner_twin[new] = twin;
        if let Some(t) = twin.some() {
            self.corner_twin[t] = new;
        }
        if self.edge_corner[edge] == old {
            self.edge_corner[edge] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;

    #[test]
    fn a_relocated_node_says_where_it_has_gone() {
        let mut mesh = generate::irregular(Vec2::ONE, 0.2, 3).unwrap();
        let inner = mesh.nodes().find(|&n| !mesh.is_border_node(n)).unwrap();
        let old: Vec<Vec2> = mesh.nodes().map(|n| mesh.node_uv(n)).collect();
        let mut log = ChangeLog::new();
        let to = old[inner.index()] + Vec2::new(0.013, -0.008);
        assert!(mesh.relocate(inner, to, &mut log));
        let [Change::NodeMoved { node, corners, at }] = log[..] else { panic!("one change") };
        assert_eq!((node, corners[0], mesh.node_uv(inner)), (inner, inner, to));
        let mixed: Vec2 = corners.iter().zip(at).map(|(n, w)| old[n.index()] * w).sum();
        assert!(mixed.distance(to) < 1e-15);
        mesh.check().unwrap();
        let border = mesh.nodes().find(|&n| mesh.is_border_node(n)).unwrap();
        let inwards = mesh.node_uv(border).lerp(Vec2::splat(0.5), 0.02);
        assert!(!mesh.relocate(border, inwards, &mut log) && log.len() == 1, "the border is kept");
        assert!(!mesh.relocate(inner, to + Vec2::splat(3.0), &mut log) && log.len() == 1);
    }

    #[test]
    fn a_node_slides_only_where_its_faces_stay_sound() {
        let mut mesh = generate::grid(Vec2::ONE, [5, 5]).unwrap();
        let at = |mesh: &Mesh, uv| mesh.nodes().find(|&n| mesh.node_uv(n) == uv).unwrap();
        let (inner, side, corner) =
            (at(&mesh, Vec2::splat(0.5)), at(&mesh, Vec2::new(0.5, 0.0)), at(&mesh, Vec2::ZERO));
        assert!(mesh.slide(inner, Vec2::new(0.58, 0.45)));
        assert_eq!(mesh.node_uv(inner), Vec2::new(0.58, 0.45));
        assert!(!mesh.slide(inner, Vec2::new(0.74, 0.5)), "slivers");
        assert!(!mesh.slide(inner, Vec2::new(0.9, 0.5)), "turned over");
        assert!(!mesh.slide(side, Vec2::new(0.5, 0.05)) && !mesh.slide(side, Vec2::new(0.5, -0.05)), "off the border");
        assert!(mesh.slide(side, Vec2::new(0.55, 0.0)), "along the border");
        assert!(!mesh.slide(corner, Vec2::new(0.05, 0.0)), "a corner stays");
        assert!((mesh.area() - 1.0).abs() < 1e-12);
        mesh.check().unwrap();
    }
}
