//! The separation tensor: strains of the edges around a node, added up so that opposite pulls don't cancel and a
//! one-sided pull doesn't count.
//!
//! ζ = Σ M(εᵢ) − M(Σ εᵢ),  M(v) = v vᵀ / |v|,  εᵢ = εᵢ dᵢ
//!
//! The largest eigenvalue of ζ against the strength says whether the node tears, its eigenvector is the pull, and the tear
//! runs across it.
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | εᵢ | `strain` | 1 | strain of edge i at the node, plastic and elastic (total) |
//! | dᵢ | | 1 | direction of the edge in the material |
//! | s | `strength` | 1 | strain at which the fabric tears |
//! | ω | `ratio` | 1 | λ₁ / (s · resistance) |
//!
//! Source: Phillips 2008 eqs. 29–30 (after O'Brien and Hodgins 1999).
//!
//! Deviations. (1) The tensor lives in the plane of the material instead of space: the same eigenpairs, since
//! the principal stretch F N and the line F N⊥ are at right angles when N is principal. (2) In the raw form the size of ζ grows
//! with number and layout of the edges, about 2.25 times the strain in a regular six-star, so that a strength means
//! another strain on another mesh. Form `Normalised` (the default) divides by the star's own response, which is the
//! linear map A : E ↦ Σ (dᵢᵀ E dᵢ) dᵢ dᵢᵀ:
//!
//! ζ = A⁻¹ (Σ gᵢ dᵢ dᵢᵀ − M(r)),  r = Σ (gᵢ − dᵢᵀ E dᵢ) dᵢ,  E = A⁻¹ Σ gᵢ dᵢ dᵢᵀ,  gᵢ = εᵢ + εᵢ²/2
//!
//! E is the strain that fits all edges best, gᵢ Green's strain of an edge, and r what is left unbalanced after that fit (for a
//! star with a centre of symmetry it equals Σ gᵢ dᵢ). Then λ₁, turned back into an elongation, is exactly s in a uniform
//! strain s, at any node of any mesh, however large s is. (A star with edges in two directions only, as at every other node
//! of a grid with alternating diagonals, doesn't see shear; there the rim of its faces is counted with it.) Form `Raw` is the thesis to the letter (tensile edges only, in
//! the material plane).
//!
//! Limits: nodes on the border of a patch of material coordinates see edges from both patches as if they were one.

use super::{Criterion, Seen, View};
use crate::cloth::{Cloth, Touched};
use crate::math::{Sym2, Vec2};
use crate::tear::{Part, Request};
use ripstop_mesh::{Column, CornerId, EdgeId, Id, Mesh, NodeId};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// How large the tensor is taken to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A uniform strain has itself as largest eigenvalue, on any mesh.
    #[default]
    Normalised,
    /// As in the thesis.
    Raw,
}

/// The separation tensor against a strength.
#[derive(Clone, Debug, Default)]
pub struct SeparationTensor {
    /// Strain at which cloth tears.
    pub strength: f64,
    /// Size of the tensor.
    pub form: Form,
    seen: Seen,
    fits: Column<NodeId, Fit>,
}

/// E of a node as a linear function of the strains of its edges, in single precision: a quick upper bound of λ₁. Made when
/// cloth is first strained enough to look.
#[derive(Clone, Copy, Debug)]
struct Fit {
    /// Edges counted; more than there is room for if the node must be looked at in full.
    count: u32,
    edges: [EdgeId; FIT_EDGES],
    /// A⁻¹ d dᵀ of each: xx, xy, yy.
    weights: [[f32; 3]; FIT_EDGES],
}

const FIT_EDGES: usize = 8;

impl Fit {
    const UNKNOWN: Self = Self { count: u32::MAX, edges: [EdgeId(0); FIT_EDGES], weights: [[0.0; 3]; FIT_EDGES] };

    fn of(cloth: &Cloth, n: NodeId) -> Self {
        let Some((strains, _, response)) = fit(cloth, n, |_| 0.0) else { return Self::UNKNOWN };
        let mut fit = Self { count: strains.len() as u32, ..Self::UNKNOWN };
        let edges = star(&cloth.mesh, n).chain(rim(&cloth.mesh, n)).map(|(e, _)| e);
        for (k, (e, &(_, d))) in edges.zip(&strains).take(FIT_EDGES).enumerate() {
            let weight = response.invert(Sym2::outer(d, 1.0));
            fit.edges[k] = e;
            fit.weights[k] = [weight.xx as f32, weight.xy as f32, weight.yy as f32];
        }
        fit
    }

    /// Largest eigenvalue of E; infinite if it must be looked at in full.
    fn largest(&self, strain: &Column<EdgeId, f64>) -> f64 {
        if self.count as usize > FIT_EDGES {
            return f64::INFINITY;
        }
        let [mut xx, mut xy, mut yy] = [0.0; 3];
        for k in 0..self.count as usize {
            let (g, w) = (green(strain[self.edges[k]]), self.weights[k]);
            (xx, xy, yy) = (xx + g * f64::from(w[0]), xy + g * f64::from(w[1]), yy + g * f64::from(w[2]));
        }
        let half = 0.5 * (xx - yy);
        0.5 * (xx + yy) + (half * half + xy * xy).sqrt()
    }
}

/// Green's strain of an elongation.
#[inline]
fn green(strain: f64) -> f64 {
    strain + 0.5 * strain * strain
}

/// A node is looked at closely if one of its edges reaches this share of the least strength: in a uniform strain every star
/// whose directions are at most 78° apart has an edge with cos² 39° = 0.6 of it. (Four edges at right angles can have as
/// little as half; their neighbours see it.) The raw form is up to ten times the strain in stars of twenty edges.
pub const GATE: f64 = 0.6;
const RAW_GATE: f64 = 0.1;

impl SeparationTensor {
    /// Tears at this strain.
    pub fn new(strength: f64, form: Form) -> Self {
        Self { strength, form, seen: Seen::default(), fits: Column::new() }
    }

    /// False only if λ₁ is surely below the resistance.
    fn may_part(&self, view: View<'_>, n: NodeId) -> bool {
        // The thousandth is for single precision.
        let resistance = self.strength * view.resistance.least_at(view.cloth, n);
        self.form == Form::Raw || self.fits[n].largest(&view.fields.edge_strain) > 0.999 * green(resistance)
    }

    fn request(&self, view: View<'_>, node: NodeId) -> Option<Request> {
        let (value, pull) = separation(view.cloth, node, self.form, |e| view.fields.edge_strain[e])?;
        Some(Request::Part(Part { node, pull, ratio: value / (self.strength * view.resist(node, pull)) }))
    }
}

impl Criterion for SeparationTensor {
    fn name(&self) -> &'static str {
        "separation_tensor"
    }

    fn find(&mut self, view: View<'_>, requests: &mut Vec<Request>) {
        let share = if self.form == Form::Raw { RAW_GATE } else { GATE };
        let gate = share * self.strength * view.resistance.least();
        if view.fields.largest_edge_strain < gate {
            return;
        }
        self.seen.begin(view.cloth.mesh.node_count());
        if self.form == Form::Normalised {
            self.fits.extend_to(view.cloth.mesh.node_count(), |n| Fit::of(view.cloth, n));
        }
        for e in view.cloth.mesh.edges().filter(|&e| view.fields.edge_strain[e] > gate) {
            for n in view.cloth.mesh.edge_nodes(e) {
                if self.seen.is_new(n) && self.may_part(view, n) && view.can_part(n) {
                    requests.extend(self.request(view, n).filter(|request| request.ratio() > 1.0));
                }
            }
        }
    }

    fn follow(&mut self, cloth: &Cloth, touched: &Touched) {
        let known = self.fits.len();
        for &n in touched.nodes.iter().filter(|n| n.index() < known) {
            self.fits[n] = Fit::of(cloth, n);
        }
    }

    fn ratio(&self, view: View<'_>, request: &Request) -> f64 {
        let Request::Part(part) = request else { return 0.0 };
        self.request(view, part.node).map_or(0.0, |request| request.ratio())
    }
}

/// The edges at a node with their vectors in the material [m], away from the node.
pub fn star(mesh: &Mesh, n: NodeId) -> impl Iterator<Item = (EdgeId, Vec2)> + '_ {
    let spoke = move |at: CornerId, to: CornerId, side: CornerId| (mesh.edge(side), mesh.uv(to) - mesh.uv(at));
    mesh.fan(n).flat_map(move |c| {
        // The last corner of an open fan has one more edge, the one that arrives at the node.
        let last = mesh.twin(c.prev()).is_none().then(|| spoke(c, c.prev(), c.prev()));
        [Some(spoke(c, c.next(), c)), last].into_iter().flatten()
    })
}

/// The edges opposite a node in its faces, with their vectors in the material [m].
fn rim(mesh: &Mesh, n: NodeId) -> impl Iterator<Item = (EdgeId, Vec2)> + '_ {
    mesh.fan(n).map(|c| (mesh.edge(c.next()), mesh.uv(c.prev()) - mesh.uv(c.next())))
}

/// Strains of some edges with their directions (unit).
type Strains = SmallVec<[(f64, Vec2); 16]>;

/// Green's strains of the star of a node, how many they are, and its response; with the rim if the star alone can't see shear.
fn fit(cloth: &Cloth, n: NodeId, strain: impl Fn(EdgeId) -> f64) -> Option<(Strains, usize, Response)> {
    let strained = |(e, d): (EdgeId, Vec2)| (green(strain(e)), d / cloth.woven[e]);
    let mut strains: Strains = star(&cloth.mesh, n).map(strained).collect();
    let own = strains.len();
    let response = Response::of(&strains).or_else(|| {
        strains.extend(rim(&cloth.mesh, n).map(strained));
        Response::of(&strains)
    })?;
    Some((strains, own, response))
}

/// Largest eigenvalue of the separation tensor at a node, as a strain, and its axis in the material. `None` if nothing
/// pulls there.
pub fn separation(cloth: &Cloth, n: NodeId, form: Form, strain: impl Fn(EdgeId) -> f64) -> Option<(f64, Vec2)> {
    let mesh = &cloth.mesh;
    let sum = |strains: &Strains| strains.iter().fold(Sym2::default(), |sum, &(e, d)| sum + Sym2::outer(d, e));
    let (value, axis) = match form {
        Form::Raw => {
            let pulls: Strains =
                star(mesh, n).map(|(e, d)| (strain(e), d / cloth.woven[e])).filter(|&(e, _)| e > 0.0).collect();
            (sum(&pulls) - unbalanced(pulls.iter().copied())).largest()
        }
        Form::Normalised => {
            let (strains, own, response) = fit(cloth, n, &strain)?;
            let fit = response.invert(sum(&strains));
            let left = unbalanced(strains[..own].iter().map(|&(g, d)| (g - fit.along(d), d)));
            let (value, axis) = (fit - response.invert(left)).largest();
            // A one-sided pull takes away, it never adds.
            let value = value.min(fit.largest().0);
            ((1.0 + 2.0 * value).max(0.0).sqrt() - 1.0, axis)
        }
    };
    (value > 0.0).then_some((value, axis))
}

/// M of the sum of strain vectors: the part of a pull that nothing on the other side of the node answers.
fn unbalanced(strains: impl Iterator<Item = (f64, Vec2)>) -> Sym2 {
    let sum: Vec2 = strains.map(|(e, d)| d * e).sum();
    let size = sum.length();
    if size > 0.0 { Sym2::outer(sum / size, size) } else { Sym2::default() }
}

/// The linear map A from a strain to Σ (dᵀ E d) d dᵀ, in coordinates (xx, yy, √2 xy) where it is symmetric; inverted.
struct Response([[f64; 3]; 3]);

impl Response {
    /// `None` if the directions leave a strain unseen: two of them leave shear.
    fn of(strains: &Strains) -> Option<Self> {
        let mut a = [[0.0f64; 3]; 3];
        for (_, d) in strains {
            let m = [d.x * d.x, d.y * d.y, std::f64::consts::SQRT_2 * d.x * d.y];
            for i in 0..3 {
                for j in 0..3 {
                    a[i][j] += m[i] * m[j];
                }
            }
        }
        let trace = a[0][0] + a[1][1] + a[2][2];
        inverse(&a, 1e-4 * trace * trace * trace).map(Self)
    }

    fn invert(&self, t: Sym2) -> Sym2 {
        let root2 = std::f64::consts::SQRT_2;
        let m = [t.xx, t.yy, root2 * t.xy];
        let row = |i: usize| self.0[i][0] * m[0] + self.0[i][1] * m[1] + self.0[i][2] * m[2];
        Sym2 { xx: row(0), yy: row(1), xy: row(2) / root2 }
    }
}

/// Inverse of a symmetric matrix by cofactors, if its determinant is above `least`.
fn inverse(a: &[[f64; 3]; 3], least: f64) -> Option<[[f64; 3]; 3]> {
    let at = |i: usize, j: usize| a[i % 3][j % 3];
    let cofactor = |i, j| at(i + 1, j + 1) * at(i + 2, j + 2) - at(i + 1, j + 2) * at(i + 2, j + 1);
    let det: f64 = (0..3).map(|k| a[0][k] * cofactor(0, k)).sum();
    (det > least).then(|| std::array::from_fn(|i| std::array::from_fn(|j| cofactor(i, j) / det)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use crate::math::{Vec3, sin_cos};
    use ripstop_mesh::generate;

    fn pulled(mesh: Mesh, axis: Vec2, s: f64) -> Cloth {
        let mut cloth = Cloth::flat(mesh, 0.2, Placement::default());
        for n in cloth.mesh.nodes() {
            let p = cloth.mesh.node_uv(n);
            let q = p + axis * (s * p.dot(axis));
            cloth.x[n] = Vec3::new(q.x, q.y, 0.3);
        }
        cloth
    }

    #[test]
    fn uniform_strain_is_found_exactly_at_every_node_of_any_mesh() {
        for mesh in [generate::grid(Vec2::ONE, [6, 6]).unwrap(), generate::irregular(Vec2::ONE, 0.15, 9).unwrap()] {
            for (degrees, s) in [(0.0, 0.1), (30.0, 0.1), (77.0, 0.4), (135.0, 1e-3)] {
                let (sin, cos) = sin_cos(f64::to_radians(degrees));
                let axis = Vec2::new(cos, sin);
                let cloth = pulled(mesh.clone(), axis, s);
                for n in cloth.mesh.nodes().filter(|&n| !cloth.mesh.is_border_node(n)) {
                    let (value, pull) = separation(&cloth, n, Form::Normalised, |e| cloth.total_strain(e)).unwrap();
                    assert!((value - s).abs() < 1e-12, "{value} for {s}");
                    assert!(pull.perp_dot(axis).abs() < 1e-9);
                }
            }
        }
    }

    #[test]
    fn the_quick_bound_never_hides_a_tear() {
        let mut cloth = pulled(generate::irregular(Vec2::ONE, 0.12, 2).unwrap(), Vec2::X, 0.1);
        // Shake it, and open a slit, so that stars of all kinds are strained unevenly.
        for n in cloth.mesh.nodes() {
            let shake = |k| 0.02 * crate::math::hash_unit(k, u64::from(n.0));
            cloth.x[n] += Vec3::new(shake(1), shake(2), shake(3));
        }
        let mut log = Vec::new();
        crate::opening::open_path(&mut cloth.mesh, &[Vec2::new(0.3, 0.5), Vec2::new(0.7, 0.5)], &mut log);
        cloth.follow(&log);
        let strain = Column::from_rows(cloth.mesh.edges().map(|e| cloth.total_strain(e)).collect());
        for n in cloth.mesh.nodes() {
            let Some((value, _)) = separation(&cloth, n, Form::Normalised, |e| strain[e]) else { continue };
            let bound = Fit::of(&cloth, n).largest(&strain);
            assert!(bound > 0.999 * green(value), "{bound} hides {value}");
        }
    }

    #[test]
    fn the_raw_form_grows_with_the_star() {
        // Six equal edges at 60°: Σ cos⁴ = 2.25.
        let mesh = six_star();
        let cloth = pulled(mesh, Vec2::X, 1e-4);
        let (value, _) = separation(&cloth, NodeId(0), Form::Raw, |e| cloth.total_strain(e)).unwrap();
        assert!((value / 1e-4 - 2.25).abs() < 1e-3, "{value}");
    }

    #[test]
    fn a_one_sided_pull_does_not_count() {
        let mesh = six_star();
        let single = mesh.edges().find(|&e| mesh.edge_nodes(e).contains(&NodeId(0))).unwrap();
        let cloth = Cloth::flat(mesh, 0.2, Placement::default());
        for form in [Form::Raw, Form::Normalised] {
            let found = separation(&cloth, NodeId(0), form, |e| if e == single { 0.2 } else { 0.0 });
            assert!(found.is_none_or(|(value, _)| value < 1e-12), "{form:?}: {found:?}");
        }
    }

    fn six_star() -> Mesh {
        let rim = |k: u32| {
            let (s, c) = sin_cos(f64::from(k) * std::f64::consts::FRAC_PI_3);
            Vec2::new(c, s)
        };
        let faces: Vec<_> = (0..6).map(|k| [0, k + 1, (k + 1) % 6 + 1]).collect();
        let uv: Vec<_> = (0..6).map(|k| [Vec2::ZERO, rim(k), rim(k + 1)]).collect();
        Mesh::from_faces(7, &faces, &uv).unwrap()
    }
}
