//! Tips of tears: where each tear ends, how it came to be and how far it has come.
//!
//! A tip is born where cloth opens that had no tip there (one at a border, two inside), goes on with every edge that opens at it, branches
//! when two do, and ends where it meets a border or another tear. Whatever opens the edge, load, hand, seam or blade, tips follow the edit log.

use crate::math::{Vec2, atan2, sin_cos};
use ripstop_mesh::{Change, CornerId, EdgeId, Mesh, NodeId};
use serde::{Deserialize, Serialize};

/// The end of a tear.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tip {
    /// Its number, from zero; no two tips of a run have the same.
    pub number: u32,
    /// Where it is.
    pub node: NodeId,
    /// How far it has come [m].
    pub length: f64,
    /// The tip that it branched from.
    pub from: Option<u32>,
}

/// The tips of a cloth, in the order in which they came to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tips {
    living: Vec<Tip>,
    born: u32,
    /// Edges that opened in the last edits, with the tips that went along them.
    #[serde(skip)]
    went: Vec<(EdgeId, u32)>,
}

impl Tips {
    /// All that there are now.
    pub fn iter(&self) -> impl Iterator<Item = &Tip> {
        self.living.iter()
    }

    /// How many there have been.
    pub fn born(&self) -> u32 {
        self.born
    }

    /// The tip that went along an edge in the last edits.
    pub(crate) fn along(&self, edge: EdgeId) -> Option<u32> {
        self.went.iter().find(|(e, _)| *e == edge).map(|(_, tip)| *tip)
    }

    /// Follows the edits in `log`, which `mesh` has gone through; `is_tip` says where tips are now.
    pub(crate) fn follow(&mut self, mesh: &Mesh, log: &[Change], is_tip: impl Fn(NodeId) -> bool) {
        self.went.clear();
        if log.is_empty() {
            return;
        }
        let origin = |mut n: NodeId| {
            // Copies are made one from the other; the last made is looked up first.
            for change in log.iter().rev() {
                if let Change::NodeSplit { node, copy } = *change
                    && copy == n
                {
                    n = node;
                }
            }
            n
        };
        let known = self.born;
        // Nodes that tips have left in these edits.
        let mut left: Vec<(NodeId, u32)> = Vec::new();
        for change in log {
            let Change::EdgeOpened { edge, .. } = *change else { continue };
            let ends = mesh.edge_nodes(edge).map(origin);
            let length = mesh.edge_length(edge);
            let at = |tips: &Self, n: NodeId| tips.living.iter().position(|tip| tip.node == n);
            let (tip, from, to) = match (at(self, ends[0]), at(self, ends[1])) {
                (Some(tip), _) => (tip, ends[0], ends[1]),
                (None, Some(tip)) => (tip, ends[1], ends[0]),
                (None, None) => {
                    // A tear begins, with a tip at each end until it is known which of them are tips; off a node that a tip has just left it is a branch.
                    let branch = left.iter().find(|(node, _)| ends.contains(node)).copied();
                    for node in ends.into_iter().filter(|&n| branch.is_none_or(|(off, _)| off != n)) {
                        let from = branch.map(|(_, number)| number);
                        self.living.push(Tip { number: self.born, node, length, from });
                        self.went.push((edge, self.born));
                        self.born += 1;
                    }
                    continue;
                }
            };
            let number = self.living[tip].number;
            self.living[tip].node = to;
            self.living[tip].length += length;
            left.push((from, number));
            self.went.push((edge, number));
            // Where a tip is already the two are one: the elder stays.
            let mut met = self.living.iter().enumerate().filter(|(_, tip)| tip.node == to).map(|(k, _)| k);
            if let (Some(_), Some(younger)) = (met.next(), met.next()) {
                self.living.remove(younger);
            }
        }
        self.living.retain(|tip| is_tip(tip.node));
        self.renumber(known);
    }

    /// Numbers the tips that have come to be since there were `known` in turn, leaving out what was none in the end.
    fn renumber(&mut self, known: u32) {
        let stayed: Vec<u32> = self.living.iter().map(|tip| tip.number).filter(|number| *number >= known).collect();
        let renamed = |number: u32| match stayed.iter().position(|stayed| *stayed == number) {
            Some(place) => Some(known + place as u32),
            None => Some(number).filter(|number| *number < known),
        };
        self.went.retain_mut(|(_, tip)| renamed(*tip).map(|number| *tip = number).is_some());
        for tip in &mut self.living {
            tip.number = renamed(tip.number).unwrap_or(tip.number);
            tip.from = tip.from.and_then(renamed);
        }
        self.born = known + stayed.len() as u32;
    }
}

/// Angle from one unit vector to another [rad].
fn turn(from: Vec2, to: Vec2) -> f64 {
    atan2(from.perp_dot(to), from.dot(to))
}

/// The direction in which a tip points: into the middle of its faces, away from both lips (unit, material). `None` inside.
pub(crate) fn heading(mesh: &Mesh, n: NodeId) -> Option<Vec2> {
    if !mesh.is_border_node(n) {
        return None;
    }
    let along = |c: CornerId, to: CornerId| (mesh.uv(to) - mesh.uv(c)).normalize_or_zero();
    let all: f64 = mesh.fan(n).map(|c| turn(along(c, c.next()), along(c, c.prev()))).sum();
    let first = mesh.fan(n).next()?;
    let (sin, cos) = sin_cos(0.5 * all);
    let lip = along(first, first.next());
    Vec2::new(cos * lip.x - sin * lip.y, sin * lip.x + cos * lip.y).try_normalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::{Cloth, Placement};
    use crate::opening::open_path;
    use ripstop_mesh::{ChangeLog, generate};

    fn tear(cloth: &mut Cloth, path: &[[f64; 2]]) -> Vec<Tip> {
        let mut log = ChangeLog::new();
        let path: Vec<Vec2> = path.iter().map(|&p| Vec2::from(p)).collect();
        open_path(&mut cloth.mesh, &path, &mut log);
        cloth.follow(&log);
        cloth.tips.iter().copied().collect()
    }

    fn sheet() -> Cloth {
        Cloth::flat(generate::grid(Vec2::ONE, [9, 9]).unwrap(), 0.2, Placement::default())
    }

    #[test]
    fn a_tip_goes_on_and_ends_at_the_border() {
        let mut cloth = sheet();
        let tips = tear(&mut cloth, &[[0.0, 0.5], [0.25, 0.5]]);
        let [tip] = tips[..] else { panic!("{tips:?}") };
        assert_eq!((tip.number, tip.length, cloth.mesh.node_uv(tip.node)), (0, 0.25, Vec2::new(0.25, 0.5)));
        assert!(heading(&cloth.mesh, tip.node).unwrap().distance(Vec2::X) < 1e-12);
        let tips = tear(&mut cloth, &[[0.25, 0.5], [0.5, 0.5]]);
        assert_eq!((tips.len(), tips[0].number, tips[0].length), (1, 0, 0.5));
        assert!(tear(&mut cloth, &[[0.5, 0.5], [1.0, 0.5]]).is_empty());
        assert_eq!(cloth.tips.born(), 1);
    }

    #[test]
    fn a_tear_inside_has_two_and_they_merge_with_others() {
        let mut cloth = sheet();
        let tips = tear(&mut cloth, &[[0.375, 0.5], [0.625, 0.5]]);
        assert_eq!(tips.len(), 2);
        let [a, b] = [tips[0].node, tips[1].node].map(|n| heading(&cloth.mesh, n).unwrap());
        assert!((a + b).length() < 1e-12);
        // A second tear from the border runs into the first: its tip ends there, and so does the one it meets.
        let tips = tear(&mut cloth, &[[0.0, 0.5], [0.375, 0.5]]);
        assert_eq!(tips.len(), 1, "{tips:?}");
        assert_eq!(cloth.mesh.node_uv(tips[0].node), Vec2::new(0.625, 0.5));
    }

    #[test]
    fn two_edges_at_a_tip_are_a_branch() {
        let mut cloth = sheet();
        tear(&mut cloth, &[[0.0, 0.5], [0.25, 0.5]]);
        let mut log = ChangeLog::new();
        let tip = cloth.tips.iter().next().unwrap().node;
        let edges: Vec<EdgeId> = crate::criterion::star(&cloth.mesh, tip)
            .filter(|(_, d)| d.x.abs() < 1e-12 && d.y.abs() > 0.1)
            .map(|(e, _)| e)
            .collect();
        for e in edges {
            cloth.mesh.open_edge(e, &mut log);
        }
        cloth.follow(&log);
        let tips: Vec<Tip> = cloth.tips.iter().copied().collect();
        assert_eq!(tips.len(), 2, "{tips:?}");
        assert_eq!((tips[0].number, tips[1].number, tips[1].from), (0, 1, Some(0)));
    }
}
