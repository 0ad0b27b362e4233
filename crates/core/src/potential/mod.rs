//! What a model hands an integrator: energies and forces, one dynamic call per set of elements.
//!
//! An [`Element`] is a pure function on a few nodes, written for one row. An [`ElementSet`] owns the rows of one kind of
//! element and the loop over them: every element writes the forces on its own nodes to its own slots, then every node
//! gathers its slots in the order of the elements. So any number of threads gives the same bits. Rows are kept in
//! blocks of [`LANES`](crate::lanes::LANES), and the loop over a block becomes vector code: so does any width of vectors.
//!
//! To add one: a file here with an `impl Element`, and its line in the model that uses it. What its kernel must keep to
//! in order to be fast stands at [`Element`]; [`Stretch`] is the shortest example.

mod air;
mod bend;
mod bend_shear;
mod bond;
mod crimped;
mod gravity;
mod measured;
mod measured_bend;
mod membrane;
mod project;
mod set;
mod shear;
mod stressed;
mod stretch;

pub use air::{Air, Drag};
pub use bend::Bend;
pub(crate) use bend::CRUSHED;
pub use bend_shear::BendShear;
pub use bond::{Bond, Bonds, Hold};
pub use crimped::{Crimped, Curve};
pub use gravity::Gravity;
pub use measured::{Measured, MeasuredLaw, ROWS};
pub use measured_bend::{Bending, MeasuredBend};
pub use membrane::{Elasticity, Law, Membrane};
pub use project::{Batch, Constraint, Hinge, Place, Plain, Shift, Spring, Triangle, narrow, widen};
pub use set::{Element, ElementSet, Row, Tangent};
pub use shear::Shear;
pub use stressed::{Faces, Stressed};
pub use stretch::Stretch;

use crate::cloth::{Cloth, Touched};
use crate::math::Vec3;
use crate::sparse::{BlockMatrix, Pattern, Rows};
use ripstop_mesh::FaceId;

/// A source of force.
pub trait Potential: Send + Sync {
    /// Name in statistics.
    fn name(&self) -> &'static str;

    /// Stored energy [J]; zero for loads that have none (wind, drag).
    fn energy(&self, cloth: &Cloth) -> f64;

    /// Adds the force on every node [N], for positions `x` and velocities `v` of the nodes of `cloth`.
    fn add_force(&mut self, cloth: &Cloth, x: &[Vec3], v: &[Vec3], scratch: &mut Scratch, force: &mut [Vec3]);

    /// True if faces have stress.
    fn is_stressed(&self) -> bool {
        false
    }

    /// What every face is under at positions `x`, instead of what is there or added to it; for those [with stress](Self::is_stressed).
    fn put_stress(&self, _x: &[Vec3], _added: bool, _faces: &mut Faces) {}

    /// The same of one face.
    fn face(&self, _face: FaceId, _x: &[Vec3]) -> Option<Stressed> {
        None
    }

    /// Follows edits of the cloth and changes of rest values.
    fn follow(&mut self, _cloth: &Cloth, _touched: &Touched) {}

    /// Adds to every node an upper bound of the stiffness it feels [N/m] and of the damping [N·s/m], from which the
    /// largest stable explicit step is estimated.
    fn add_bounds(&self, _cloth: &Cloth, _stiffness: &mut [f64], _damping: &mut [f64]) {}

    /// Tells loads that change with time where the clock stands [s].
    fn set_time(&mut self, _time: f64) {}

    /// Tells loads by wind that it blows with another velocity [m/s] from a time [s] on.
    fn shift_wind(&mut self, _time: f64, _velocity: Vec3) {}

    /// True if implicit integrators take this force at the end of the step, by its stiffness and damping.
    fn is_stiff(&self) -> bool {
        false
    }

    /// Makes ready what is asked for by nodes, after edits.
    fn link(&mut self) {}

    /// Appends the nodes of elements with stiffness that have come, gone or changed nodes since they were last
    /// [looked up](Self::place). What follows is for those that are [linked](Self::link).
    fn add_changed(&self, _nodes: &mut Vec<u32>) {}

    /// Appends the nodes that [`add_stiffness`](Self::add_stiffness) couples with `node`, some of them more than once.
    fn add_coupled(&self, _node: usize, _columns: &mut Vec<u32>) {}

    /// Looks up where the elements around `nodes` have their blocks in the rows of `pattern`.
    fn place(&mut self, _pattern: &Pattern, _nodes: &[u32]) {}

    /// Adds `per_x` · K + `per_v` · D at positions `x` to some rows of the matrix whose pattern was
    /// [looked up](Self::place), right of the diagonal: stiffness [N/m], made positive semi-definite, and damping [N·s/m].
    fn add_stiffness(&self, _x: &[Vec3], _per_x: f64, _per_v: f64, _rows: &mut Rows) {}

    /// Changes whenever a row does.
    fn version(&self) -> u64 {
        0
    }

    /// Calls `visit` with the number and the nodes of every row.
    fn visit_rows(&self, _visit: &mut dyn FnMut(u32, &[usize])) {}

    /// All rows as what position-based integrators project themselves, if that is all they are.
    fn plain(&self) -> Option<Plain> {
        None
    }

    /// Dashpot over spring of all rows [s].
    fn lag(&self) -> f64 {
        0.0
    }

    /// Copies `rows`, no two of which share a node, into blocks at the end of `batch`.
    fn copy_rows(&self, _rows: &[u32], _batch: &mut Batch) {}

    /// Projects all rows of `batch`, one block after the other.
    fn project(&self, _batch: &mut Batch, _place: &mut Place<'_>) {}
}

/// Slots that the sets of a model use one after the other.
#[derive(Default)]
pub struct Scratch {
    pub(crate) slots: Vec<f64>,
}

/// All potentials of a model, as integrators see them.
pub struct Forces {
    /// The potentials, in the order in which they are added up.
    pub potentials: Vec<Box<dyn Potential>>,
    scratch: Scratch,
}

impl Forces {
    /// The sum of these potentials.
    pub fn new(potentials: Vec<Box<dyn Potential>>) -> Self {
        Self { potentials, scratch: Scratch::default() }
    }

    /// What one face is under.
    pub fn face(&self, face: FaceId, x: &[Vec3]) -> Stressed {
        let of_each = self.potentials.iter().filter_map(|potential| potential.face(face, x));
        of_each.fold(Stressed::default(), Stressed::and)
    }

    /// What all faces are under, for which there is room in `faces`.
    pub fn stress(&self, x: &[Vec3], faces: &mut Faces) {
        let stressed = self.potentials.iter().filter(|potential| potential.is_stressed());
        stressed.enumerate().for_each(|(k, potential)| potential.put_stress(x, k > 0, faces));
    }

    /// The force on every node [N].
    pub fn evaluate(&mut self, cloth: &Cloth, x: &[Vec3], v: &[Vec3], force: &mut [Vec3]) {
        force.fill(Vec3::ZERO);
        for potential in &mut self.potentials {
            potential.add_force(cloth, x, v, &mut self.scratch, force);
        }
    }

    /// The force on every node [N] of the potentials that [are stiff](Potential::is_stiff), or of the others.
    pub fn evaluate_part(&mut self, stiff: bool, cloth: &Cloth, x: &[Vec3], v: &[Vec3], force: &mut [Vec3]) {
        force.fill(Vec3::ZERO);
        for potential in self.potentials.iter_mut().filter(|potential| potential.is_stiff() == stiff) {
            potential.add_force(cloth, x, v, &mut self.scratch, force);
        }
    }

    /// Brings a matrix's pattern up to date with edits that all potentials have followed: the pairs of nodes that pull at each
    /// other, for `node_count` nodes. Only rows of nodes of changed elements are made anew; all of them if there are none yet.
    /// There can be one such pattern for each set of potentials.
    pub fn link_stiffness(&mut self, pattern: &mut Pattern, node_count: usize) {
        self.potentials.iter_mut().for_each(|potential| potential.link());
        let mut nodes: Vec<u32> = (pattern.row_count() as u32..node_count as u32).collect();
        if pattern.row_count() > 0 {
            self.potentials.iter().for_each(|potential| potential.add_changed(&mut nodes));
            nodes.sort_unstable();
            nodes.dedup();
        }
        pattern.follow(node_count, &nodes, |node, columns| {
            self.potentials.iter().for_each(|potential| potential.add_coupled(node, columns));
        });
        self.potentials.iter_mut().for_each(|potential| potential.place(pattern, &nodes));
    }

    /// Fills a matrix, whose pattern is [linked](Self::link_stiffness), with mass, stiffness and damping of all potentials:
    /// M + `per_x` · K + `per_v` · D, see [`Potential::add_stiffness`].
    pub fn fill_stiffness(&self, mass: &[f64], x: &[Vec3], per_x: f64, per_v: f64, matrix: &mut BlockMatrix) {
        matrix.fill_half(mass, |rows| {
            self.potentials.iter().for_each(|potential| potential.add_stiffness(x, per_x, per_v, rows));
        });
    }

    /// Follows edits of the cloth.
    pub fn follow(&mut self, cloth: &Cloth, touched: &Touched) {
        for potential in &mut self.potentials {
            potential.follow(cloth, touched);
        }
    }

    /// An upper bound of the stiffness at every node [N/m].
    pub fn bounds(&self, cloth: &Cloth) -> Vec<f64> {
        let (mut stiffness, mut damping) = (vec![0.0; cloth.x.len()], vec![0.0; cloth.x.len()]);
        for potential in &self.potentials {
            potential.add_bounds(cloth, &mut stiffness, &mut damping);
        }
        stiffness
    }

    /// Upper bounds of the highest angular frequency [1/s] and of the fastest damping rate [1/s] of free nodes.
    pub fn rates(&self, cloth: &Cloth) -> (f64, f64) {
        let mut stiffness = vec![0.0; cloth.x.len()];
        let mut damping = vec![0.0; cloth.x.len()];
        for potential in &self.potentials {
            potential.add_bounds(cloth, &mut stiffness, &mut damping);
        }
        let highest = |bound: &[f64]| bound.iter().zip(&*cloth.inverse_mass).map(|(k, w)| k * w).fold(0.0, f64::max);
        (highest(&stiffness).sqrt(), highest(&damping))
    }
}

#[cfg(test)]
pub(crate) mod laws {
    //! Laws that every element must obey, shared by the tests of all of them.

    use super::*;
    use crate::math::Mat3;

    /// Force is minus the gradient of the energy, by central differences.
    pub fn force_is_the_gradient<const N: usize, const R: usize, E: Element<N, R>>(
        element: &E,
        rest: &[f64; R],
        x: [Vec3; N],
        unit: f64,
    ) {
        let still = [Vec3::ZERO; N];
        let force = element.force(rest, &x, &still);
        let h = 1e-6;
        for n in 0..N {
            for k in 0..3 {
                let energy = |d: f64| {
                    let mut y = x;
                    y[n][k] += d;
                    element.energy(rest, &y)
                };
                let slope = (energy(h) - energy(-h)) / (2.0 * h);
                assert!((force[n][k] + slope).abs() < 1e-6 * unit, "node {n} axis {k}: {} vs {}", force[n][k], -slope);
            }
        }
    }

    /// No net force and no net torque.
    pub fn balanced<const N: usize>(x: [Vec3; N], force: [Vec3; N], unit: f64) {
        let net: Vec3 = force.iter().sum();
        let torque: Vec3 = x.iter().zip(&force).map(|(x, f)| x.cross(*f)).sum();
        assert!(net.length() < 1e-12 * unit, "net force {net}");
        assert!(torque.length() < 1e-12 * unit, "net torque {torque}");
    }

    /// The force for positions and velocities that differ by `d` in one number.
    fn force_at<const N: usize, const R: usize, E: Element<N, R>>(
        (element, rest): (&E, &[f64; R]),
        (mut x, mut v): ([Vec3; N], [Vec3; N]),
        (node, axis): (usize, usize),
        (dx, dv): (f64, f64),
    ) -> [Vec3; N] {
        x[node][axis] += dx;
        v[node][axis] += dv;
        element.force(rest, &x, &v)
    }

    /// Stiffness is minus the slope of the force, by central differences: where nothing is clamped or left out.
    pub fn stiffness_is_the_slope<const N: usize, const R: usize, E: Element<N, R>>(
        element: &E,
        rest: &[f64; R],
        x: [Vec3; N],
        unit: f64,
    ) {
        let exact = element.tangent(rest, &x, 1.0, 0.0);
        let (h, still) = (1e-6, [Vec3::ZERO; N]);
        for (j, axis) in (0..N).flat_map(|j| [(j, 0), (j, 1), (j, 2)]) {
            let [ahead, behind] = [h, -h].map(|d| force_at((element, rest), (x, still), (j, axis), (d, 0.0)));
            for i in 0..N {
                let (slope, column) = ((behind[i] - ahead[i]) / (2.0 * h), exact[i][j].col(axis));
                assert!((slope - column).length() < 1e-6 * unit, "block {i} {j} axis {axis}: {column} vs {slope}");
            }
        }
        stiffness_never_pushes(element, rest, x, unit);
    }

    /// Damping is minus the slope of the force over velocities, and the force is linear in them.
    pub fn damping_is_the_slope<const N: usize, const R: usize, E: Element<N, R>>(
        element: &E,
        rest: &[f64; R],
        x: [Vec3; N],
        unit: f64,
    ) {
        let exact = element.tangent(rest, &x, 0.0, 1.0);
        let still = [Vec3::ZERO; N];
        for (j, axis) in (0..N).flat_map(|j| [(j, 0), (j, 1), (j, 2)]) {
            let [at_rest, moving] = [0.0, 3.0].map(|d| force_at((element, rest), (x, still), (j, axis), (0.0, d)));
            for i in 0..N {
                let (slope, column) = ((at_rest[i] - moving[i]) / 3.0, exact[i][j].col(axis));
                assert!((slope - column).length() < 1e-9 * unit, "block {i} {j} axis {axis}: {column} vs {slope}");
            }
        }
    }

    /// Stiffness is symmetric and positive semi-definite: no motion is helped along, and a translation costs nothing.
    pub fn stiffness_never_pushes<const N: usize, const R: usize, E: Element<N, R>>(
        element: &E,
        rest: &[f64; R],
        x: [Vec3; N],
        unit: f64,
    ) {
        let stiffness = element.tangent(rest, &x, 1.0, 0.0);
        for row in &stiffness {
            let sum = row.iter().fold(Mat3::ZERO, |sum, block| sum + *block);
            assert!(sum.to_cols_array().iter().all(|d| d.abs() < 1e-12 * unit), "a translation costs {sum}");
        }
        for (i, j) in (0..N).flat_map(|i| (0..N).map(move |j| (i, j))) {
            let skew = stiffness[i][j] - stiffness[j][i].transpose();
            assert!(skew.to_cols_array().iter().all(|d| d.abs() < 1e-12 * unit), "blocks {i} {j}");
        }
        for seed in 0..500 {
            let number = |i: usize, k: u64| 2.0 * crate::math::hash_unit(seed, 3 * i as u64 + k) - 1.0;
            let d: [Vec3; N] = std::array::from_fn(|i| Vec3::new(number(i, 0), number(i, 1), number(i, 2)));
            let work: f64 =
                (0..N).flat_map(|i| (0..N).map(move |j| (i, j))).map(|(i, j)| d[i].dot(stiffness[i][j] * d[j])).sum();
            assert!(work > -1e-12 * unit, "motion {d:?} gains {work}");
        }
    }
}
