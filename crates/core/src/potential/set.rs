//! The loop over all elements of one kind, written once.

use super::{Potential, Scratch};
use crate::cloth::{Cloth, Touched};
use crate::lanes::{self, LANES, Lanes, Work};
use crate::math::{Mat3, Vec3};
use crate::parallel;
use crate::sparse::{BlockMatrix, Pattern};
use ripstop_mesh::{EdgeId, FaceId, Id, Mesh, NodeId};

/// A kernel on `N` nodes with `R` rest values. Rows are numbered by an id of the mesh, so their order, and with it every
/// sum, is a function of the cloth and not of its history.
///
/// Kernels are written for one row; the loop over many rows becomes vector code if `force` and all it calls are
/// `#[inline(always)]`, have no branch (choose between two computed numbers instead, as
/// [`inverse_or_zero`](crate::math::inverse_or_zero) does), and call nothing but `math` and vectors: the `map` and
/// `from_fn` of arrays stay calls. A kernel that doesn't keep to this is slower, never wrong.
pub trait Element<const N: usize, const R: usize>: Send + Sync + 'static {
    /// What a row of this element is attached to.
    type Key: Key;
    /// Name in statistics.
    const NAME: &'static str;

    /// Nodes and rest values of the row of `key`; `None` if there is no element (a border edge has no hinge).
    fn row(&self, cloth: &Cloth, key: Self::Key) -> Option<Row<N, R>>;

    /// Stored energy [J].
    fn energy(&self, rest: &[f64; R], x: &[Vec3; N]) -> f64;

    /// Force on each node [N]; damping included.
    fn force(&self, rest: &[f64; R], x: &[Vec3; N], v: &[Vec3; N]) -> [Vec3; N];

    /// The force answers to position or damps: it has a [`tangent`](Self::tangent), and implicit integrators take it at
    /// the end of the step. Where this is false (loads) they take it at the beginning.
    const STIFF: bool = false;

    /// `per_x` · K + `per_v` · D, for K = −∂F/∂x [N/m], changed as little as makes it positive semi-definite, and
    /// D = −∂F/∂v [N·s/m]. Damping must be linear in the velocities: F(x, v) = F(x, 0) − D v.
    fn tangent(&self, _rest: &[f64; R], _x: &[Vec3; N], _per_x: f64, _per_v: f64) -> Tangent<N> {
        [[Mat3::ZERO; N]; N]
    }

    /// Upper bounds of the stiffness [N/m] and damping [N·s/m] this row adds at any of its nodes.
    fn bounds(&self, _rest: &[f64; R]) -> (f64, f64) {
        (0.0, 0.0)
    }

    /// See [`Potential::set_time`].
    fn set_time(&mut self, _time: f64) {}
}

/// A block for each pair of nodes of an element; symmetric as a whole.
pub type Tangent<const N: usize> = [[Mat3; N]; N];

/// One element: its nodes and rest values.
pub type Row<const N: usize, const R: usize> = ([NodeId; N], [f64; R]);

/// Ids that rows can be numbered by.
pub trait Key: Id {
    /// How many there are.
    fn count(mesh: &Mesh) -> usize;
    /// Those that an edit touched.
    fn touched(touched: &Touched) -> &[Self];
}

impl Key for EdgeId {
    fn count(mesh: &Mesh) -> usize {
        mesh.edge_count()
    }
    fn touched(touched: &Touched) -> &[Self] {
        &touched.edges
    }
}

impl Key for FaceId {
    fn count(mesh: &Mesh) -> usize {
        mesh.face_count()
    }
    fn touched(touched: &Touched) -> &[Self] {
        &touched.faces
    }
}

/// All elements of one kind.
pub struct ElementSet<const N: usize, const R: usize, E: Element<N, R>> {
    /// The kernel and what all rows share.
    pub element: E,
    blocks: Vec<Block<N, R>>,
    /// For node `n` the slots `gather[start[n]..start[n + 1]]`, in the order of the rows.
    start: Vec<u32>,
    gather: Vec<u32>,
}

/// Rows that are computed together, each a lane: all their first nodes, all their second ones and so on.
#[derive(Clone)]
struct Block<const N: usize, const R: usize> {
    nodes: [[u32; LANES]; N],
    rest: [Lanes; R],
    /// Bit by bit the lanes that have an element. The others compute something about node 0 that nobody gathers.
    live: u32,
}

/// A vector for each node of each row of a block. A slot is the place of its first component among all numbers of
/// all blocks; the others follow at a distance of [`LANES`].
type Vectors<const N: usize> = [[Lanes; 3]; N];

impl<const N: usize, const R: usize> Block<N, R> {
    const EMPTY: Self = Self { nodes: [[0; LANES]; N], rest: [[0.0; LANES]; R], live: 0 };

    fn set(&mut self, lane: usize, row: Option<Row<N, R>>) {
        let (nodes, rest) = row.unwrap_or(([NodeId(0); N], [0.0; R]));
        self.live = self.live & !(1 << lane) | u32::from(row.is_some()) << lane;
        (0..N).for_each(|k| self.nodes[k][lane] = nodes[k].0);
        (0..R).for_each(|r| self.rest[r][lane] = rest[r]);
    }

    fn row(&self, lane: usize) -> Option<([usize; N], [f64; R])> {
        let nodes = std::array::from_fn(|k| self.nodes[k][lane] as usize);
        (self.live >> lane & 1 == 1).then(|| (nodes, std::array::from_fn(|r| self.rest[r][lane])))
    }
}

impl<const N: usize, const R: usize, E: Element<N, R>> ElementSet<N, R, E> {
    /// The elements that `cloth` has.
    pub fn new(element: E, cloth: &Cloth) -> Self {
        let mut set = Self { element, blocks: Vec::new(), start: Vec::new(), gather: Vec::new() };
        set.update((0..E::Key::count(&cloth.mesh)).map(E::Key::new), cloth);
        set.link(cloth.x.len());
        set
    }

    fn update(&mut self, keys: impl Iterator<Item = E::Key>, cloth: &Cloth) {
        self.blocks.resize(E::Key::count(&cloth.mesh).div_ceil(LANES), Block::EMPTY);
        for key in keys {
            let i = key.index();
            self.blocks[i / LANES].set(i % LANES, self.element.row(cloth, key));
        }
    }

    /// Lists the slots of every node: a counting sort.
    fn link(&mut self, node_count: usize) {
        self.start.clear();
        self.start.resize(node_count + 1, 0);
        let Self { blocks, start, gather, .. } = self;
        for (_, nodes, _) in rows(blocks) {
            nodes.iter().for_each(|&n| start[n + 1] += 1);
        }
        for n in 0..node_count {
            start[n + 1] += start[n];
        }
        gather.resize(start[node_count] as usize, 0);
        // Filling from the front moves each start to the next node's; shift them back afterwards.
        for (row, nodes, _) in rows(blocks) {
            for (k, &n) in nodes.iter().enumerate() {
                let vector = row / LANES * N + k;
                gather[start[n] as usize] = (vector * 3 * LANES + row % LANES) as u32;
                start[n] += 1;
            }
        }
        start.rotate_right(1);
        start[0] = 0;
    }
}

/// All rows that have an element: number, nodes and rest values.
fn rows<const N: usize, const R: usize>(
    blocks: &[Block<N, R>],
) -> impl Iterator<Item = (usize, [usize; N], [f64; R])> + '_ {
    blocks.iter().enumerate().flat_map(|(b, block)| {
        (0..LANES).filter_map(move |lane| block.row(lane).map(|(nodes, rest)| (b * LANES + lane, nodes, rest)))
    })
}

/// The forces of some blocks.
struct Kernel<'a, const N: usize, const R: usize, E> {
    element: &'a E,
    blocks: &'a [Block<N, R>],
    x: &'a [Vec3],
    v: &'a [Vec3],
    slots: &'a mut [Vectors<N>],
}

impl<const N: usize, const R: usize, E: Element<N, R>> Work for Kernel<'_, N, R, E> {
    #[inline(always)]
    fn run(self) {
        // One length for both, so that one check does for both.
        let (x, v) = (self.x, &self.v[..self.x.len()]);
        let (mut x_lanes, mut v_lanes): (Vectors<N>, Vectors<N>) = ([[[0.0; LANES]; 3]; N], [[[0.0; LANES]; 3]; N]);
        for (block, slots) in self.blocks.iter().zip(self.slots) {
            for k in 0..N {
                for lane in 0..LANES {
                    let n = block.nodes[k][lane] as usize;
                    put(&mut x_lanes[k], lane, x[n]);
                    put(&mut v_lanes[k], lane, v[n]);
                }
            }
            for lane in 0..LANES {
                let (mut rest, mut x, mut v) = ([0.0; R], [Vec3::ZERO; N], [Vec3::ZERO; N]);
                for r in 0..R {
                    rest[r] = block.rest[r][lane];
                }
                for k in 0..N {
                    (x[k], v[k]) = (get(&x_lanes[k], lane), get(&v_lanes[k], lane));
                }
                let force = self.element.force(&rest, &x, &v);
                for k in 0..N {
                    put(&mut slots[k], lane, force[k]);
                }
            }
        }
    }
}

/// The sum over `slots`: of those in even and in odd places, then of both, since one chain of sums would have to wait
/// for itself.
#[inline(always)]
fn total<T: Copy>(slots: &[T], vector: impl Fn(T) -> Vec3) -> Vec3 {
    let (pairs, last) = slots.as_chunks::<2>();
    let (mut even, mut odd) = (Vec3::ZERO, Vec3::ZERO);
    for &[a, b] in pairs {
        even += vector(a);
        odd += vector(b);
    }
    if let [a] = *last {
        even += vector(a);
    }
    even + odd
}

#[inline(always)]
fn get(lanes: &[Lanes; 3], lane: usize) -> Vec3 {
    Vec3::new(lanes[0][lane], lanes[1][lane], lanes[2][lane])
}

#[inline(always)]
fn put(lanes: &mut [Lanes; 3], lane: usize, vector: Vec3) {
    (lanes[0][lane], lanes[1][lane], lanes[2][lane]) = (vector.x, vector.y, vector.z);
}

impl<const N: usize, const R: usize, E: Element<N, R>> Potential for ElementSet<N, R, E> {
    fn name(&self) -> &'static str {
        E::NAME
    }

    fn energy(&self, cloth: &Cloth) -> f64 {
        parallel::sum(self.blocks.len() * LANES, |i| {
            self.blocks[i / LANES]
                .row(i % LANES)
                .map_or(0.0, |(nodes, rest)| self.element.energy(&rest, &nodes.map(|n| cloth.x[NodeId::new(n)])))
        })
    }

    fn add_force(&mut self, _cloth: &Cloth, x: &[Vec3], v: &[Vec3], scratch: &mut Scratch, force: &mut [Vec3]) {
        let Self { element, blocks, start, gather } = self;
        let slot_count = blocks.len() * N * 3 * LANES;
        if scratch.slots.len() < slot_count {
            scratch.slots.resize(slot_count, 0.0);
        }
        let slots = &mut scratch.slots[..slot_count];
        let vectors = slots.as_chunks_mut::<LANES>().0.as_chunks_mut::<3>().0.as_chunks_mut::<N>().0;
        parallel::for_each_chunk(vectors, parallel::CHUNK / LANES, |first, slots| {
            let blocks = &blocks[first..first + slots.len()];
            lanes::run(Kernel { element: &*element, blocks, x, v, slots });
        });
        let slots = &*slots;
        let vector = |slot: u32| {
            let at = &slots[slot as usize..slot as usize + 2 * LANES + 1];
            Vec3::new(at[0], at[LANES], at[2 * LANES])
        };
        parallel::for_each(force, |n, force| {
            *force += total(&gather[start[n] as usize..start[n + 1] as usize], vector)
        });
    }

    fn follow(&mut self, cloth: &Cloth, touched: &Touched) {
        self.update(E::Key::touched(touched).iter().copied(), cloth);
        if touched.topology {
            self.link(cloth.x.len());
        }
    }

    fn add_bounds(&self, _cloth: &Cloth, stiffness: &mut [f64], damping: &mut [f64]) {
        for (_, nodes, rest) in rows(&self.blocks) {
            let (k, d) = self.element.bounds(&rest);
            for n in nodes {
                stiffness[n] += k;
                damping[n] += d;
            }
        }
    }

    fn set_time(&mut self, time: f64) {
        self.element.set_time(time);
    }

    fn is_stiff(&self) -> bool {
        E::STIFF
    }

    fn add_pattern(&self, pattern: &mut Pattern) {
        if E::STIFF {
            rows(&self.blocks).for_each(|(_, nodes, _)| pattern.add(&nodes));
        }
    }

    fn add_stiffness(&self, x: &[Vec3], per_x: f64, per_v: f64, matrix: &mut BlockMatrix) {
        if E::STIFF {
            for (_, nodes, rest) in rows(&self.blocks) {
                matrix.add(&nodes, &self.element.tangent(&rest, &nodes.map(|n| x[n]), per_x, per_v));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use crate::potential::{Air, Bend, Elasticity, Membrane, Shear, Stretch};
    use crate::wind::Wind;
    use ripstop_mesh::{ChangeLog, Vec2, generate};

    /// A crumpled sheet with some edges opened: angles of all sizes, rows without an element, a last block in part.
    fn crumpled() -> Cloth {
        let mut cloth =
            Cloth::flat(generate::irregular(Vec2::new(1.0, 0.7), 0.06, 3).unwrap(), 0.3, Placement::default());
        let mut log = ChangeLog::new();
        for e in cloth.mesh.edges().step_by(7) {
            cloth.mesh.open_edge(e, &mut log);
        }
        cloth.follow(&log);
        for n in cloth.mesh.nodes() {
            let noise = |key: u64| crate::math::hash_unit(key, u64::from(n.0)) - 0.5;
            cloth.x[n] += Vec3::new(noise(1), noise(2), noise(3)) * 0.1;
            cloth.v[n] = Vec3::new(noise(4), noise(5), noise(6));
        }
        // A face, its edges and its hinges without extent.
        for n in cloth.mesh.face_nodes(FaceId(5)) {
            cloth.x[n] = Vec3::ONE;
        }
        cloth
    }

    /// The set's forces, by vectors as wide as they come, and those of the kernel called row by row.
    fn agree<const N: usize, const R: usize, E: Element<N, R>>(element: E) {
        let cloth = crumpled();
        let mut set = ElementSet::new(element, &cloth);
        let mut force = vec![Vec3::ZERO; cloth.x.len()];
        set.add_force(&cloth, &cloth.x, &cloth.v, &mut Scratch::default(), &mut force);
        let mut parts = vec![Vec::new(); cloth.x.len()];
        for i in 0..E::Key::count(&cloth.mesh) {
            let Some((nodes, rest)) = set.element.row(&cloth, E::Key::new(i)) else { continue };
            let one = set.element.force(&rest, &nodes.map(|n| cloth.x[n]), &nodes.map(|n| cloth.v[n]));
            nodes.iter().zip(one).for_each(|(n, f)| parts[n.index()].push(f));
        }
        for (n, (a, parts)) in force.iter().zip(&parts).enumerate() {
            let b = Vec3::ZERO + total(parts, |part| part);
            assert!(a.is_finite());
            assert_eq!(a.to_array().map(f64::to_bits), b.to_array().map(f64::to_bits), "{} of node {n}", E::NAME);
        }
    }

    #[test]
    fn vectors_give_the_bits_of_single_rows() {
        agree(Stretch { stiffness: 300.0, damping: 0.01 });
        agree(Shear { stiffness: 20.0 });
        agree(Bend { stiffness: 1e-3 });
        agree(Membrane { elasticity: Elasticity::of(&crate::Fabric::default()), damping: 0.01 });
        let measured = crate::potential::measured::tests::KNIT;
        agree(Membrane { elasticity: crate::potential::MeasuredLaw::from(measured), damping: 0.01 });
        agree(crate::potential::MeasuredBend::from(crate::potential::Bending::constant([1e-3, 2e-3, 3e-3])));
        let wind = Wind { keys: vec![(0.0, Vec3::new(3.0, 1.0, 2.0))], gust: 0.3, period: 1.0, length: 0.5, seed: 1 };
        agree(Air::<true>::new(0.1, 0.7, wind.clone()));
        agree(Air::<false>::new(0.1, 0.7, wind));
    }

    #[test]
    fn all_widths_give_the_same_bits() {
        let cloth = crumpled();
        let set = ElementSet::new(Bend { stiffness: 1e-3 }, &cloth);
        let forces = |width| {
            let mut slots = vec![[[[0.0; LANES]; 3]; 4]; set.blocks.len()];
            let slots = &mut slots[..];
            let (element, blocks) = (&set.element, &set.blocks[..]);
            lanes::run_at(width, Kernel { element, blocks, x: &cloth.x, v: &cloth.v, slots });
            let force = |row: usize, k: usize| get(&slots[row / LANES][k], row % LANES).to_array().map(f64::to_bits);
            rows(&set.blocks).map(|(row, ..)| [0, 1, 2, 3].map(|k| force(row, k))).collect::<Vec<_>>()
        };
        let narrow = forces(lanes::Width::Narrow);
        for width in lanes::Width::ALL.into_iter().filter(|width| width.is_here()) {
            assert_eq!(forces(width), narrow, "{width:?}");
        }
    }
}
