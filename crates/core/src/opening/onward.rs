//! Opening `onward`: at the tip of a tear the tear goes on along one existing edge, on the side that still holds.
//!
//! At a weak node (the tip of a tear, [`Cloth::weak`]), whose edges lie in order from one lip to the other:
//!
//! 1. t, the *tension edge*: the one most nearly along the pull, d its direction away from the node;
//! 2. r, the edge that *resists* most: the largest strainₖ · (−d · dₖ), its force along the axis against d;
//! 3. the edges between t and r are those through whose faces the two still hang together (on the other side is the tear);
//! 4. of these the one nearest to the perpendicular of d opens.
//!
//! The edge's other end is the new tip. A tip whose tension edge and resisting edge are neighbours has no edge between them:
//! there the border rule of [`Snap`](super::Snap) chooses, as it does at nodes of the cloth's border. Nodes inside the cloth that are not weak
//! open like `snap`: two edges nearest to the perpendicular.
//!
//! One-point connections (§3.2.3) need no rule: a node whose faces no longer form one fan is doubled by
//! [`Mesh::open_edge`], so two tears that meet in a node part it.
//!
//! Source: Önal & İşler 2013 §3.2.2, Figs. 7–10. Deviations: directions are those of the material, and forces are strains, so
//! that the choice is the same for every model.

use super::snap::{self, nearest};
use super::{Edges, Opening, open_all};
use crate::cloth::Cloth;
use crate::criterion::star;
use crate::math::Vec2;
use crate::tear::Part;
use ripstop_mesh::{ChangeLog, EdgeId};
use smallvec::SmallVec;

/// Goes on from tips along existing edges.
#[derive(Clone, Copy, Debug, Default)]
pub struct Onward;

impl Opening for Onward {
    fn name(&self) -> &'static str {
        "onward"
    }

    fn can_open(&self, cloth: &Cloth, part: &Part) -> bool {
        !edges(cloth, part).is_empty()
    }

    fn open(&self, cloth: &mut Cloth, part: &Part, log: &mut ChangeLog) {
        open_all(cloth, edges(cloth, part), log);
    }
}

/// What opens at `part`.
pub(super) fn edges(cloth: &Cloth, part: &Part) -> Edges {
    let path = if cloth.weak[part.node] { path(cloth, part) } else { None };
    path.map_or_else(|| nearest(&cloth.mesh, part.node, part.pull), |e| Edges::from_slice(&[e]))
}

/// The edge along which a tear goes on from its tip.
fn path(cloth: &Cloth, part: &Part) -> Option<EdgeId> {
    let spokes: SmallVec<[(EdgeId, Vec2); 16]> =
        star(&cloth.mesh, part.node).map(|(e, d)| (e, d.normalize_or_zero())).collect();
    let largest = |score: &dyn Fn(usize) -> f64, among: std::ops::Range<usize>| {
        among.max_by(|&a, &b| score(a).total_cmp(&score(b)))
    };
    let tension = largest(&|k| spokes[k].1.dot(part.pull).abs(), 0..spokes.len())?;
    let along = spokes[tension].1;
    let resists = |k: usize| {
        let against = -spokes[k].1.dot(along);
        // An edge that is not stretched pulls nothing; where none is, the most opposed one counts.
        if against > 0.0 { cloth.total_strain(spokes[k].0).max(1e-9) * against } else { against }
    };
    let resisting = largest(&resists, 0..spokes.len())?;
    let between = tension.min(resisting) + 1..tension.max(resisting);
    let chosen = largest(&|k| spokes[k].1.perp_dot(along).abs(), between)?;
    (spokes[chosen].1.perp_dot(along).abs() > snap::NEAR).then(|| spokes[chosen].0)
}

#[cfg(test)]
mod tests {
    use super::super::sheet;
    use super::*;
    use crate::math::Vec3;
    use ripstop_mesh::{NodeId, generate};

    /// A sheet with a cut from its left side to its middle, pulled along v.
    fn notched() -> (Cloth, NodeId) {
        let mesh = generate::grid(Vec2::ONE, [9, 9]).unwrap();
        let mut cloth = sheet(mesh);
        let mut log = ChangeLog::new();
        super::super::open_path(&mut cloth.mesh, &[Vec2::new(0.0, 0.5), Vec2::new(0.5, 0.5)], &mut log);
        cloth.follow(&log);
        cloth.x.iter_mut().for_each(|x| *x = Vec3::new(x.x, 1.1 * x.y, 0.0));
        let tips: Vec<NodeId> = cloth.mesh.nodes().filter(|&n| cloth.weak[n]).collect();
        assert_eq!(tips.len(), 1);
        (cloth, tips[0])
    }

    #[test]
    fn the_mark_moves_on_with_the_tip_along_the_line() {
        let (mut cloth, mut tip) = notched();
        for step in 1..4 {
            let part = Part { node: tip, pull: Vec2::Y, ratio: 1.1 };
            let mut log = ChangeLog::new();
            Onward.open(&mut cloth, &part, &mut log);
            cloth.follow(&log);
            let tips: Vec<NodeId> = cloth.mesh.nodes().filter(|&n| cloth.weak[n]).collect();
            assert_eq!(tips.len(), 1);
            tip = tips[0];
            assert_eq!(cloth.mesh.node_uv(tip), Vec2::new(0.5 + 0.125 * f64::from(step), 0.5));
        }
        let part = Part { node: tip, pull: Vec2::Y, ratio: 1.1 };
        let mut log = ChangeLog::new();
        Onward.open(&mut cloth, &part, &mut log);
        cloth.follow(&log);
        assert_eq!(ripstop_mesh::pieces(&cloth.mesh).areas.len(), 2);
        assert!(cloth.weak.iter().all(|weak| !weak), "a tear that is through has no tip");
    }

    #[test]
    fn it_goes_on_where_the_cloth_still_holds_and_not_back_along_the_tear() {
        // Pulled down and to the left, against the tear: the edges below the tear are slack, those ahead of it hold.
        let (mut cloth, tip) = notched();
        let at = cloth.mesh.node_uv(tip);
        for degrees in [60.0, 75.0, 90.0, 105.0, 120.0] {
            let pull = Vec2::from_angle(f64::to_radians(degrees));
            let [e] = edges(&cloth, &Part { node: tip, pull, ratio: 1.1 })[..] else { panic!("one edge") };
            let [a, b] = cloth.mesh.edge_nodes(e).map(|n| cloth.mesh.node_uv(n));
            let to = if a == at { b } else { a };
            assert!(to.x > at.x, "{degrees}°: to {to}");
        }
        cloth.weak.iter_mut().for_each(|weak| *weak = false);
    }
}
