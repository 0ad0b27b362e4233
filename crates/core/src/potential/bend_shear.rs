//! Bend-shear springs: one across every inner edge, between the outer corners of its two faces.
//!
//! F = (k (l − l₀) + d ḽ) ê between the two corners, as along an edge ([`Stretch`](super::Stretch))
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | l₀ | `rest` | m | distance of the corners when the two faces lie in one plane without stress |
//! | k | `stiffness` | N/m | S (A₁ + A₂) / l₀² |
//! | S | `model.springs.bend_shear` | N/m | stiffness of the sheet against shear and folding by these springs |
//! | d | | N·s/m | τ k |
//! | A₁, A₂ | | m² | material areas of the two faces |
//!
//! Pushing apart, the spring keeps the faces flat; pulling together, it keeps their angles. l₀ is by the cosine rule from the present rest lengths of
//! the five edges of the pair, so it follows plastic flow: with a, b the edge's ends, c and d the corners, α and β the angles at a,
//!
//! l₀² = ac² + ad² − 2 ac ad cos(α + β),  cos α = (ab² + ac² − bc²) / (2 ab ac)
//!
//! The springs belong to the edges and follow them: an edge that opens loses its spring, new edges get theirs.
//!
//! Source: Önal & İşler 2013 §3.1, Fig. 2. Deviations: k by area and length as for edges, so that it means the same on any mesh. Limits: the resistance to
//! bending of a spring between corners is of third order in the fold when flat, so thin cloth creases freely and then stiffens;
//! for measured bending take the hinges (`fabric.bend`).

use super::{Constraint, Element, Row, Stretch, Tangent};
use crate::cloth::Cloth;
use crate::math::Vec3;
use ripstop_mesh::{CornerId, EdgeId};

/// Springs across the inner edges.
pub struct BendShear(Stretch);

impl BendShear {
    /// Springs of this stiffness S [N/m] and dashpot over spring τ [s].
    pub fn new(stiffness: f64, damping: f64) -> Self {
        Self(Stretch { stiffness, damping })
    }
}

/// Distance of the outer corners of the faces on both sides of an edge, laid flat with their present rest lengths [m].
fn flat_distance(cloth: &Cloth, c: CornerId, d: CornerId) -> f64 {
    let length = |c: CornerId| cloth.rest[cloth.mesh.edge(c)];
    // At the tail of `c`: edge `c`, and in each face the side that joins the tail to the outer corner.
    let (ab, ac, bc) = (length(c), length(c.prev()), length(c.next()));
    let (ad, bd) = (length(d.next()), length(d.prev()));
    let cosine =
        |side: f64, opposite: f64| ((ab * ab + side * side - opposite * opposite) / (2.0 * ab * side)).clamp(-1.0, 1.0);
    let (p, q) = (cosine(ac, bc), cosine(ad, bd));
    let of_sum = p * q - ((1.0 - p * p) * (1.0 - q * q)).sqrt();
    (ac * ac + ad * ad - 2.0 * ac * ad * of_sum).max(0.0).sqrt()
}

impl Element<2, 2> for BendShear {
    type Key = EdgeId;
    const NAME: &'static str = "bend_shear";
    const STIFF: bool = true;

    fn row(&self, cloth: &Cloth, e: EdgeId) -> Option<Row<2, 2>> {
        let mesh = &cloth.mesh;
        let c = mesh.edge_corner(e);
        let d = mesh.twin(c)?;
        let rest = flat_distance(cloth, c, d);
        let area = mesh.face_area(c.face()).abs() + mesh.face_area(d.face()).abs();
        Some(([mesh.node(c.prev()), mesh.node(d.prev())], [rest, self.0.stiffness * area / (rest * rest)]))
    }

    #[inline(always)]
    fn energy(&self, spring: &[f64; 2], x: &[Vec3; 2]) -> f64 {
        self.0.energy(spring, x)
    }

    #[inline(always)]
    fn force(&self, spring: &[f64; 2], x: &[Vec3; 2], v: &[Vec3; 2]) -> [Vec3; 2] {
        self.0.force(spring, x, v)
    }

    #[inline(always)]
    fn tangent(&self, spring: &[f64; 2], x: &[Vec3; 2], per_x: f64, per_v: f64) -> Tangent<2> {
        self.0.tangent(spring, x, per_x, per_v)
    }

    fn constraint(&self, spring: &[f64; 2], x: &[Vec3; 2]) -> Constraint<2> {
        self.0.constraint(spring, x)
    }

    fn spring(&self, spring: &[f64; 2]) -> Option<[f64; 2]> {
        self.0.spring(spring)
    }

    fn lag(&self) -> f64 {
        self.0.lag()
    }

    fn bounds(&self, spring: &[f64; 2]) -> (f64, f64) {
        self.0.bounds(spring)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use crate::potential::{ElementSet, Potential};
    use ripstop_mesh::{ChangeLog, Vec2, generate};

    #[test]
    fn flat_cloth_is_at_rest_on_any_mesh_and_stays_so_through_edits() {
        for mesh in [generate::grid(Vec2::ONE, [6, 6]).unwrap(), generate::irregular(Vec2::ONE, 0.2, 2).unwrap()] {
            let mut cloth = Cloth::flat(mesh, 0.2, Placement::default());
            let energy = |cloth: &Cloth| ElementSet::new(BendShear::new(500.0, 0.0), cloth).energy(cloth);
            assert!(energy(&cloth) < 1e-20);
            let mut log = ChangeLog::new();
            for e in cloth.mesh.edges().step_by(7) {
                cloth.mesh.split_edge(e, 0.5, &mut log);
            }
            for e in cloth.mesh.edges().step_by(5) {
                cloth.mesh.open_edge(e, &mut log);
            }
            cloth.follow(&log);
            assert!(energy(&cloth) < 1e-20);
            // And it resists both: shear, and a fold.
            let mut sheared = cloth.clone();
            sheared.x.iter_mut().for_each(|x| x.x += 0.1 * x.y);
            assert!(energy(&sheared) > 0.01);
            cloth.x.iter_mut().for_each(|x| x.z = x.x * (1.0 - x.x));
            assert!(energy(&cloth) > 0.0);
        }
    }

    #[test]
    fn a_sheet_of_30_by_30_nodes_has_the_springs_of_the_paper() {
        let cloth = Cloth::flat(generate::grid(Vec2::ONE, [30, 30]).unwrap(), 0.2, Placement::default());
        let across = BendShear::new(1.0, 0.0);
        let inner = cloth.mesh.edges().filter(|&e| across.row(&cloth, e).is_some()).count();
        let counts = [cloth.mesh.node_count(), cloth.mesh.edge_count(), inner, cloth.mesh.face_count()];
        assert_eq!(counts, [900, 2581, 2465, 1682]);
    }

    #[test]
    fn a_flowed_pair_lies_flat_at_its_new_lengths() {
        let mut cloth = Cloth::flat(generate::grid(Vec2::ONE, [2, 2]).unwrap(), 0.2, Placement::default());
        cloth.x.iter_mut().for_each(|x| x.x *= 1.5);
        for e in cloth.mesh.edges() {
            let [a, b] = cloth.mesh.edge_nodes(e);
            cloth.rest[e] = cloth.x[a].distance(cloth.x[b]);
        }
        assert!(ElementSet::new(BendShear::new(500.0, 0.0), &cloth).energy(&cloth) < 1e-20);
    }
}
