//! The loop over all elements of one kind, written once.

use super::stressed::{BLOCKS, FaceBlock, FaceLanes};
use super::{
    Batch, Constraint, Elasticity, Faces, Hinge, Place, Plain, Potential, Scratch, Shift, Spring, Stressed, Triangle,
    widen,
};
use crate::cloth::{Cloth, Touched};
use crate::lanes::{self, LANES, Lanes, Work};
use crate::lists::Lists;
use crate::math::{Mat3, Vec3, array, inverse_or_zero};
use crate::parallel;
use crate::sparse::{Pattern, Rows, TRANSPOSED};
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

    /// Nodes and rest values of the row of `key`; `None` if there is no element (a border edge has no hinge). Nobody asks for what is retired.
    fn row(&self, cloth: &Cloth, key: Self::Key) -> Option<Row<N, R>>;

    /// Stored energy [J].
    fn energy(&self, rest: &[f64; R], x: &[Vec3; N]) -> f64;

    /// Force on each node [N]; damping included.
    fn force(&self, rest: &[f64; R], x: &[Vec3; N], v: &[Vec3; N]) -> [Vec3; N];

    /// Elements are faces and have [stress](Self::stressed).
    const STRESSED: bool = false;

    /// What the face is under, by the ways from its first node to each one [m]. In single precision: see [`Stressed`].
    fn stressed(&self, _rest: &[f32; R], _ways: &[[f32; 3]; N]) -> Stressed {
        Stressed::default()
    }

    /// The force answers to position or damps: it has a [`tangent`](Self::tangent), and implicit integrators take it at
    /// the end of the step. Where this is false (loads) they take it at the beginning.
    const STIFF: bool = false;

    /// `per_x` · K + `per_v` · D, for K = −∂F/∂x [N/m], changed as little as makes it positive semi-definite, and
    /// D = −∂F/∂v [N·s/m]. Damping must be linear in the velocities: F(x, v) = F(x, 0) − D v. A translation must cost
    /// nothing: the blocks of a row add up to zero.
    fn tangent(&self, _rest: &[f64; R], _x: &[Vec3; N], _per_x: f64, _per_v: f64) -> Tangent<N> {
        [[Mat3::ZERO; N]; N]
    }

    /// What position-based integrators project: by default C = √(2U), which has compliance 1.
    #[inline(always)]
    fn constraint(&self, rest: &[f64; R], x: &[Vec3; N]) -> Constraint<N> {
        let value = (2.0 * self.energy(rest, x)).sqrt();
        let inverse = -inverse_or_zero(value);
        let mut slope = self.force(rest, x, &[Vec3::ZERO; N]);
        for k in 0..N {
            slope[k] *= inverse;
        }
        Constraint { value, slope, compliance: 1.0 }
    }

    /// Rest length [m] and stiffness [N/m] if the element is a plain spring.
    fn spring(&self, _rest: &[f64; R]) -> Option<[f64; 2]> {
        None
    }

    /// Weights, area and rest metric of a triangle ([`Triangle`](super::Triangle)), and the matrix C, if the element is a membrane whose C is constant.
    fn triangle(&self, _rest: &[f64; R]) -> Option<([f64; 4], f64, [f64; 3], Elasticity)> {
        None
    }

    /// Stiffness and the smaller height at rest, squared, of a hinge ([`Hinge`](super::Hinge)), if the element is one whose moment is in proportion to its angle.
    fn hinge(&self, _rest: &[f64; R]) -> Option<[f64; 2]> {
        None
    }

    /// Dashpot over spring τ [s]: what damps the constraint when it is projected.
    fn lag(&self) -> f64 {
        0.0
    }

    /// Upper bounds of the stiffness [N/m] and damping [N·s/m] this row adds at any of its nodes.
    fn bounds(&self, _rest: &[f64; R]) -> (f64, f64) {
        (0.0, 0.0)
    }

    /// See [`Potential::set_time`].
    fn set_time(&mut self, _time: f64) {}

    /// See [`Potential::shift_wind`].
    fn shift_wind(&mut self, _time: f64, _velocity: Vec3) {}
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
    /// True if it was taken away: it has no row.
    fn is_retired(self, mesh: &Mesh) -> bool;
}

impl Key for EdgeId {
    fn count(mesh: &Mesh) -> usize {
        mesh.edge_count()
    }
    fn touched(touched: &Touched) -> &[Self] {
        &touched.edges
    }
    fn is_retired(self, mesh: &Mesh) -> bool {
        mesh.is_retired_edge(self)
    }
}

impl Key for FaceId {
    fn count(mesh: &Mesh) -> usize {
        mesh.face_count()
    }
    fn touched(touched: &Touched) -> &[Self] {
        &touched.faces
    }
    fn is_retired(self, mesh: &Mesh) -> bool {
        mesh.is_retired_face(self)
    }
}

impl Key for NodeId {
    fn count(mesh: &Mesh) -> usize {
        mesh.node_count()
    }
    fn touched(touched: &Touched) -> &[Self] {
        &touched.nodes
    }
    fn is_retired(self, mesh: &Mesh) -> bool {
        mesh.is_retired_node(self)
    }
}

/// All elements of one kind.
pub struct ElementSet<const N: usize, const R: usize, E: Element<N, R>> {
    /// The kernel and what all rows share.
    pub element: E,
    blocks: Vec<Block<N, R>>,
    /// Rest values of each block of faces in single precision, for their [stress](Element::stressed).
    singles: Vec<[Singles; R]>,
    /// The slots of every node, in the order of the rows.
    gather: Lists,
    /// What isn't in these lists yet.
    unlinked: Option<Unlinked>,
    /// For each block where the matrix has its pairs of nodes, counted from the beginning of the first one's row. Empty
    /// unless an integrator asked for it.
    places: Vec<Pairs<N>>,
    /// Nodes whose elements have changed since those places were looked up.
    changed: Vec<u32>,
    /// How often rows have changed.
    version: u64,
}

/// A number for each row of a block.
type Singles = [f32; LANES];

/// A number for each pair of nodes of each row of a block.
type Pairs<const N: usize> = [[[u32; LANES]; N]; N];

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
        let nodes = array(|k| self.nodes[k][lane] as usize);
        (self.live >> lane & 1 == 1).then(|| (nodes, array(|r| self.rest[r][lane])))
    }
}

impl<const N: usize, const R: usize, E: Element<N, R>> ElementSet<N, R, E> {
    /// The elements that `cloth` has.
    pub fn new(element: E, cloth: &Cloth) -> Self {
        let mut set = Self {
            element,
            blocks: Vec::new(),
            singles: Vec::new(),
            gather: Lists::default(),
            unlinked: None,
            places: Vec::new(),
            changed: Vec::new(),
            version: 0,
        };
        set.update((0..E::Key::count(&cloth.mesh)).map(E::Key::new), cloth);
        set.link_all(cloth.x.len());
        set
    }

    fn update(&mut self, keys: impl Iterator<Item = E::Key>, cloth: &Cloth) {
        self.blocks.resize(E::Key::count(&cloth.mesh).div_ceil(LANES), Block::EMPTY);
        if E::STRESSED {
            self.singles.resize(self.blocks.len(), [[0.0; LANES]; R]);
        }
        for key in keys {
            let (block, lane) = (key.index() / LANES, key.index() % LANES);
            let row = if key.is_retired(&cloth.mesh) { None } else { self.element.row(cloth, key) };
            self.blocks[block].set(lane, row);
            if E::STRESSED {
                let rest = row.map_or([0.0; R], |(_, rest)| rest);
                (0..R).for_each(|r| self.singles[block][r][lane] = rest[r] as f32);
            }
        }
    }

    /// Lists the slots of every node.
    fn link_all(&mut self, node_count: usize) {
        self.unlinked = None;
        self.gather = Lists::collect(node_count, |put| {
            for (row, nodes, _) in rows(&self.blocks) {
                nodes.iter().enumerate().for_each(|(k, &n)| put(n, slot_of::<N>(row, k)));
            }
        });
        if !self.places.is_empty() {
            self.changed = (0..node_count as u32).collect();
        }
    }

    /// Nodes and rest values of a row.
    fn row(&self, row: usize) -> Option<([usize; N], [f64; R])> {
        self.blocks.get(row / LANES)?.row(row % LANES)
    }

    /// Follows a change of topology that touched `keys`. Lists are left as they are until somebody asks for them: who projects rows doesn't.
    fn unlink(&mut self, keys: &[E::Key], cloth: &Cloth) {
        let mut unlinked = self.unlinked.take().unwrap_or_default();
        unlinked.node_count = cloth.x.len();
        for row in keys.iter().map(|key| key.index()) {
            unlinked.rows.push(row as u32);
            unlinked.nodes.extend(self.row(row).into_iter().flat_map(|(nodes, _)| nodes.map(|n| n as u32)));
        }
        self.update(keys.iter().copied(), cloth);
        self.unlinked = Some(unlinked);
    }

    /// Lists the slots of the nodes of rows that have changed anew: those they had and those they have.
    fn relink(&mut self) {
        let Some(Unlinked { mut rows, nodes: mut changed, node_count }) = self.unlinked.take() else { return };
        rows.sort_unstable();
        rows.dedup();
        changed.extend(self.gather.row_count() as u32..node_count as u32);
        let mut new: Vec<(u32, u32)> = Vec::new();
        for row in rows.iter().map(|&row| row as usize) {
            if let Some((nodes, _)) = self.row(row) {
                new.extend((0..N).map(|k| (nodes[k] as u32, slot_of::<N>(row, k))));
            }
        }
        new.sort_unstable();
        changed.extend(new.iter().map(|(n, _)| n));
        changed.sort_unstable();
        changed.dedup();
        let mut slots = Vec::new();
        self.gather.follow(node_count, &changed, |n, old, list| {
            slots.clear();
            slots.extend(old.iter().filter(|&&slot| rows.binary_search(&(row_of::<N>(slot) as u32)).is_err()));
            let first = new.partition_point(|(m, _)| (*m as usize) < n);
            slots.extend(new[first..].iter().take_while(|(m, _)| *m as usize == n).map(|(_, slot)| slot));
            slots.sort_unstable_by_key(|&slot| row_of::<N>(slot));
            list.extend_from_slice(&slots);
        });
        if !self.places.is_empty() {
            self.changed.append(&mut changed);
        }
    }

    /// Of every element of a node the block, the lane, and which of its nodes it is.
    fn around(&self, node: usize) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        let vector = |slot: usize| (slot / (N * 3 * LANES), slot % LANES, slot / (3 * LANES) % N);
        self.gather.row(node).iter().map(move |&slot| vector(slot as usize))
    }
}

/// Rows that have come, gone or changed nodes since slots were last listed.
#[derive(Default)]
struct Unlinked {
    rows: Vec<u32>,
    /// Nodes that they had.
    nodes: Vec<u32>,
    /// How many nodes there are.
    node_count: usize,
}

/// The slot of node `k` of a row.
fn slot_of<const N: usize>(row: usize, k: usize) -> u32 {
    ((row / LANES * N + k) * 3 * LANES + row % LANES) as u32
}

/// The row that a slot belongs to.
fn row_of<const N: usize>(slot: u32) -> usize {
    slot as usize / (N * 3 * LANES) * LANES + slot as usize % LANES
}

/// All rows that have an element: number, nodes and rest values.
fn rows<const N: usize, const R: usize>(
    blocks: &[Block<N, R>],
) -> impl Iterator<Item = (usize, [usize; N], [f64; R])> + '_ {
    blocks.iter().enumerate().flat_map(|(b, block)| {
        (0..LANES).filter_map(move |lane| block.row(lane).map(|(nodes, rest)| (b * LANES + lane, nodes, rest)))
    })
}

impl<const N: usize, const R: usize, E: Element<N, R>> ElementSet<N, R, E> {
    /// Every row as something on `K` nodes, if all of them are.
    fn all<const K: usize, T>(&self, mut of: impl FnMut([u32; K], &[f64; R]) -> Option<T>) -> Option<Vec<T>> {
        let mut all = Vec::with_capacity(self.blocks.len() * LANES);
        for (_, nodes, rest) in rows(&self.blocks) {
            let nodes = <&[usize; K]>::try_from(&nodes[..]).ok()?;
            all.push(of(nodes.map(|n| n as u32), &rest)?);
        }
        Some(all)
    }
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
            if block.live == 0 {
                continue;
            }
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

/// The stress of the rows of some blocks, which are faces.
struct StressKernel<'a, const N: usize, const R: usize, E> {
    element: &'a E,
    blocks: &'a [Block<N, R>],
    singles: &'a [[Singles; R]],
    x: &'a [Vec3],
    added: bool,
    faces: &'a mut [FaceBlock],
    most: &'a mut [f32],
}

impl<const N: usize, const R: usize, E: Element<N, R>> Work for StressKernel<'_, N, R, E> {
    #[inline(always)]
    fn run(self) {
        let mut ways_lanes: [[Singles; 3]; N] = [[[0.0; LANES]; 3]; N];
        let mut out = FaceLanes::ZERO;
        let Self { element, blocks, singles, x, added, faces, most } = self;
        for at in 0..faces.len() {
            let (block, single) = (&blocks[at], &singles[at]);
            if at + 1 < faces.len() {
                // In the order in which they will be asked for.
                lanes::fetch(&blocks[at + 1].nodes);
                lanes::fetch(&singles[at + 1]);
                lanes::fetch(&faces[at + 1]);
            }
            for lane in 0..LANES {
                let first = x[block.nodes[0][lane] as usize];
                for k in 1..N {
                    let way = x[block.nodes[k][lane] as usize] - first;
                    ways_lanes[k][0][lane] = way.x as f32;
                    ways_lanes[k][1][lane] = way.y as f32;
                    ways_lanes[k][2][lane] = way.z as f32;
                }
            }
            for lane in 0..LANES {
                let (mut rest, mut ways) = ([0.0; R], [[0.0; 3]; N]);
                for r in 0..R {
                    rest[r] = single[r][lane];
                }
                for k in 1..N {
                    for c in 0..3 {
                        ways[k][c] = ways_lanes[k][c][lane];
                    }
                }
                out.put(lane, element.stressed(&rest, &ways));
            }
            if added {
                for lane in 0..LANES {
                    out.put(lane, faces[at].get(lane).and(out.get(lane)));
                }
            }
            if block.live != u32::MAX {
                (0..LANES)
                    .filter(|lane| block.live & (1 << lane) == 0)
                    .for_each(|lane| out.put(lane, Stressed::default()));
            }
            faces[at].set(&out);
            most[at] = out.most();
        }
    }
}

/// The tangents of one block of rows, in single precision: diagonal and what is above it, each block column by column.
struct TangentKernel<'a, const N: usize, const R: usize, E> {
    element: &'a E,
    block: &'a Block<N, R>,
    x: &'a [Vec3],
    per_x: f64,
    per_v: f64,
    out: &'a mut Tangents<N>,
}

/// Numbers of the blocks above the diagonal; the others follow from them, see [`BlockMatrix::fill_half`](crate::sparse::BlockMatrix::fill_half).
type Tangents<const N: usize> = [[[[f32; LANES]; 9]; N]; N];

impl<const N: usize, const R: usize, E: Element<N, R>> Work for TangentKernel<'_, N, R, E> {
    #[inline(always)]
    fn run(self) {
        let Self { element, block, x, per_x, per_v, out } = self;
        let mut x_lanes: Vectors<N> = [[[0.0; LANES]; 3]; N];
        for k in 0..N {
            for lane in 0..LANES {
                put(&mut x_lanes[k], lane, x[block.nodes[k][lane] as usize]);
            }
        }
        for lane in 0..LANES {
            let (mut rest, mut x) = ([0.0; R], [Vec3::ZERO; N]);
            for r in 0..R {
                rest[r] = block.rest[r][lane];
            }
            for k in 0..N {
                x[k] = get(&x_lanes[k], lane);
            }
            let tangent = element.tangent(&rest, &x, per_x, per_v);
            for a in 0..N {
                for b in a + 1..N {
                    let (columns, out) = (&tangent[a][b], &mut out[a][b]);
                    for (c, column) in [columns.x_axis, columns.y_axis, columns.z_axis].into_iter().enumerate() {
                        out[3 * c][lane] = column.x as f32;
                        out[3 * c + 1][lane] = column.y as f32;
                        out[3 * c + 2][lane] = column.z as f32;
                    }
                }
            }
        }
    }
}

/// The projection of some blocks, see [`Place::project`]; `DAMPED` if elements lag.
struct Projection<'a, 'b, const N: usize, const R: usize, E, const DAMPED: bool> {
    element: &'a E,
    batch: &'a mut Batch,
    place: &'a mut Place<'b>,
}

impl<const N: usize, const R: usize, E: Element<N, R>, const DAMPED: bool> Work
    for Projection<'_, '_, N, R, E, DAMPED>
{
    #[inline(always)]
    fn run(self) {
        let Self { element, batch: Batch { counts, nodes, rest, lambda }, place } = self;
        let (start, inverse_mass, before) = (place.start, place.inverse_mass, place.before);
        let (first, h, shift) = (place.first, place.h, &mut *place.shift);
        let (per_h2, gamma) = (1.0 / (place.span * place.span), element.lag() / place.span);
        // Of a move that stands for several substeps, what comes in this one; and a substep's motion over all of them.
        let (share, onward) = (h / place.span, place.span / h);
        let (mut x_lanes, mut moved): (Vectors<N>, Vectors<N>) = ([[[0.0; LANES]; 3]; N], [[[0.0; LANES]; 3]; N]);
        let mut w_lanes = [[0.0; LANES]; N];
        let mut moves: [[Shift; LANES]; N] = [[[0.0; 4]; LANES]; N];
        for (block, (&count, lambda)) in counts.iter().zip(lambda).enumerate() {
            let nodes = &nodes[block * N..(block + 1) * N];
            let Ok(rest): Result<&[Lanes; R], _> = rest[block * R..(block + 1) * R].try_into() else { return };
            for k in 0..N {
                for lane in 0..count {
                    let n = nodes[k][lane] as usize;
                    let here = widen(shift[n - first]);
                    put(&mut x_lanes[k], lane, start[n] + here);
                    w_lanes[k][lane] = inverse_mass[n];
                    if DAMPED {
                        put(&mut moved[k], lane, here - widen(before[n]));
                    }
                }
            }
            for lane in 0..LANES {
                let (mut one, mut x) = ([0.0; R], [Vec3::ZERO; N]);
                for r in 0..R {
                    one[r] = rest[r][lane];
                }
                for k in 0..N {
                    x[k] = get(&x_lanes[k], lane);
                }
                let Constraint { value, slope, compliance } = element.constraint(&one, &x);
                let (mut give, mut rate) = (0.0, 0.0);
                for k in 0..N {
                    give += w_lanes[k][lane] * slope[k].length_squared();
                    if DAMPED {
                        rate += slope[k].dot(get(&moved[k], lane));
                    }
                }
                let soft = compliance * per_h2;
                let whole = (1.0 + gamma) * give + soft;
                let change = -(value + soft * lambda[lane] + gamma * (rate * onward)) / whole;
                // An element without extent, or between held nodes, is left alone.
                let change = if give > 0.0 && whole < f64::INFINITY { change } else { 0.0 };
                lambda[lane] += change;
                for k in 0..N {
                    let by = slope[k] * (w_lanes[k][lane] * change * share);
                    moves[k][lane] = [by.x as f32, by.y as f32, by.z as f32, 0.0];
                }
            }
            for k in 0..N {
                for lane in 0..count {
                    let (shift, by) = (&mut shift[nodes[k][lane] as usize - first], moves[k][lane]);
                    *shift = [shift[0] + by[0], shift[1] + by[1], shift[2] + by[2], shift[3] + by[3]];
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

    fn is_stressed(&self) -> bool {
        E::STRESSED
    }

    fn put_stress(&self, x: &[Vec3], added: bool, faces: &mut Faces) {
        if E::STRESSED {
            let (faces, most) = faces.blocks_mut();
            parallel::for_each_domain(faces, BLOCKS, most, |first, faces, most| {
                let (element, blocks, singles) = (&self.element, &self.blocks[first..], &self.singles[first..]);
                lanes::run(StressKernel { element, blocks, singles, x, added, faces, most });
            });
        }
    }

    fn face(&self, face: FaceId, x: &[Vec3]) -> Option<Stressed> {
        if !E::STRESSED {
            return None;
        }
        let (block, lane) = (face.index() / LANES, face.index() % LANES);
        let (nodes, _) = self.blocks[block].row(lane)?;
        let ways = nodes.map(|n| (x[n] - x[nodes[0]]).to_array().map(|way| way as f32));
        Some(self.element.stressed(&array(|r| self.singles[block][r][lane]), &ways))
    }

    fn energy(&self, cloth: &Cloth) -> f64 {
        parallel::sum(self.blocks.len() * LANES, |i| {
            self.blocks[i / LANES]
                .row(i % LANES)
                .map_or(0.0, |(nodes, rest)| self.element.energy(&rest, &nodes.map(|n| cloth.x[NodeId::new(n)])))
        })
    }

    fn add_force(&mut self, _cloth: &Cloth, x: &[Vec3], v: &[Vec3], scratch: &mut Scratch, force: &mut [Vec3]) {
        self.relink();
        let Self { element, blocks, gather, .. } = self;
        if gather.item_count() == 0 {
            return;
        }
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
        parallel::for_each(force, |n, force| *force += total(gather.row(n), vector));
    }

    fn follow(&mut self, cloth: &Cloth, touched: &Touched) {
        let keys = E::Key::touched(touched);
        self.version += u64::from(!keys.is_empty());
        if touched.topology && 4 * keys.len() < E::Key::count(&cloth.mesh) {
            return self.unlink(keys, cloth);
        }
        self.update(keys.iter().copied(), cloth);
        if touched.topology {
            self.link_all(cloth.x.len());
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

    fn shift_wind(&mut self, time: f64, velocity: Vec3) {
        self.element.shift_wind(time, velocity);
    }

    fn is_stiff(&self) -> bool {
        E::STIFF
    }

    fn link(&mut self) {
        self.relink();
    }

    fn add_changed(&self, nodes: &mut Vec<u32>) {
        nodes.extend_from_slice(&self.changed);
    }

    fn add_coupled(&self, node: usize, columns: &mut Vec<u32>) {
        if E::STIFF {
            for (block, lane, _) in self.around(node) {
                columns.extend(self.blocks[block].nodes.iter().map(|nodes| nodes[lane]));
            }
        }
    }

    fn place(&mut self, pattern: &Pattern, nodes: &[u32]) {
        if !E::STIFF {
            return;
        }
        let mut places = std::mem::take(&mut self.places);
        places.resize(self.blocks.len(), [[[0; LANES]; N]; N]);
        // Only rows of these nodes have changed, so other rows of their elements have their places still.
        for &n in nodes {
            for (block, lane, a) in self.around(n as usize) {
                let columns = &self.blocks[block].nodes;
                for b in 0..N {
                    places[block][a][b][lane] = pattern.place(n as usize, columns[b][lane]);
                }
            }
        }
        self.places = places;
        self.changed.clear();
    }

    fn add_stiffness(&self, x: &[Vec3], per_x: f64, per_v: f64, matrix: &mut Rows) {
        if !E::STIFF {
            return;
        }
        let range = matrix.range();
        let (first, last) = (range.start as u32, range.end as u32);
        let mut tangents: Tangents<N> = [[[[0.0; LANES]; 9]; N]; N];
        for (block, places) in self.blocks.iter().zip(&self.places) {
            // Blocks that don't reach these rows belong to others, who get the same numbers.
            let (mut low, mut high) = (u32::MAX, 0);
            for &n in block.nodes.as_flattened() {
                (low, high) = (low.min(n), high.max(n));
            }
            if block.live == 0 || low >= last || high < first {
                continue;
            }
            lanes::run(TangentKernel { element: &self.element, block, x, per_x, per_v, out: &mut tangents });
            for lane in (0..LANES).filter(|lane| block.live >> lane & 1 == 1) {
                for (a, b) in (0..N).flat_map(|a| (a + 1..N).map(move |b| (a, b))) {
                    let [n, m] = [a, b].map(|k| block.nodes[k][lane]);
                    if !(first..last).contains(&n.min(m)) {
                        continue;
                    }
                    let row = matrix.row(n.min(m) as usize);
                    if n < m {
                        let sum = &mut row[places[a][b][lane] as usize];
                        (0..9).for_each(|k| sum[k] += tangents[a][b][k][lane]);
                    } else {
                        let sum = &mut row[places[b][a][lane] as usize];
                        (0..9).for_each(|k| sum[k] += tangents[a][b][TRANSPOSED[k]][lane]);
                    }
                }
            }
        }
    }

    fn version(&self) -> u64 {
        self.version
    }

    fn visit_rows(&self, visit: &mut dyn FnMut(u32, &[usize])) {
        rows(&self.blocks).for_each(|(row, nodes, _)| visit(row as u32, &nodes));
    }

    fn plain(&self) -> Option<Plain> {
        let spring = |nodes, rest: &_| {
            let [rest, stiffness] = self.element.spring(rest)?;
            Some(Spring { nodes, rest, stiffness })
        };
        if let Some(springs) = self.all(spring) {
            return Some(Plain::Springs(springs));
        }
        let mut c = None;
        let triangle = |nodes, rest: &_| {
            let (weights, area, metric, elasticity) = self.element.triangle(rest)?;
            c = Some(elasticity);
            Some(Triangle { nodes, weights, area, metric })
        };
        if let Some(triangles) = self.all(triangle) {
            return c.map(|c| Plain::Triangles(triangles, c));
        }
        let hinge = |nodes, rest: &_| {
            let [stiffness, low_squared] = self.element.hinge(rest)?;
            Some(Hinge { nodes, stiffness, low_squared })
        };
        self.all(hinge).map(Plain::Hinges)
    }

    fn lag(&self) -> f64 {
        self.element.lag()
    }

    fn copy_rows(&self, rows: &[u32], batch: &mut Batch) {
        for rows in rows.chunks(LANES) {
            let mut block = Block::<N, R>::EMPTY;
            for (lane, &row) in rows.iter().enumerate() {
                let (from, at) = (&self.blocks[row as usize / LANES], row as usize % LANES);
                (0..N).for_each(|k| block.nodes[k][lane] = from.nodes[k][at]);
                (0..R).for_each(|r| block.rest[r][lane] = from.rest[r][at]);
            }
            batch.counts.push(rows.len());
            batch.nodes.extend_from_slice(&block.nodes);
            batch.rest.extend_from_slice(&block.rest);
            batch.lambda.push([0.0; LANES]);
        }
    }

    fn project(&self, batch: &mut Batch, place: &mut Place<'_>) {
        if self.element.lag() > 0.0 {
            lanes::run(Projection::<N, R, E, true> { element: &self.element, batch, place });
        } else {
            lanes::run(Projection::<N, R, E, false> { element: &self.element, batch, place });
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
        let wind = Wind {
            keys: vec![(0.0, Vec3::new(3.0, 1.0, 2.0))],
            gust: 0.3,
            period: 1.0,
            length: 0.5,
            seed: 1,
            shifts: Vec::new(),
        };
        agree(Air::<true>::new(0.1, 0.7, wind.clone()));
        agree(Air::<false>::new(0.1, 0.7, wind));
    }

    fn place<'a>(cloth: &'a Cloth, inverse_mass: &'a [f64], before: &'a [Shift], shift: &'a mut [Shift]) -> Place<'a> {
        Place { start: &cloth.x, inverse_mass, before, first: 0, shift, h: 1e-3, span: 1e-3 }
    }

    /// Rows projected in blocks, at all widths, and one by one: the same bits at all widths, and the same places but for
    /// the last digits of single precision.
    fn projected_alike<const N: usize, const R: usize, E: Element<N, R>>(element: E) {
        let cloth = crumpled();
        let mut held = cloth.inverse_mass.to_vec();
        held.iter_mut().step_by(9).for_each(|w| *w = 0.0);
        let set = ElementSet::new(element, &cloth);
        // The first block of rows that share no node.
        let mut taken = vec![false; cloth.x.len()];
        let mut some = Vec::new();
        for (row, nodes, _) in rows(&set.blocks) {
            if nodes.iter().all(|&n| !taken[n]) {
                nodes.iter().for_each(|&n| taken[n] = true);
                some.push(row as u32);
            }
        }
        assert!(some.len() > LANES && some.len() % LANES != 0, "a block and a part of one");
        let mut batch = Batch::default();
        set.copy_rows(&some, &mut batch);
        let noise = |key: u64, n: usize| (crate::math::hash_unit(key, n as u64) - 0.5) as f32 * 1e-2;
        let shifts: Vec<Shift> = (0..cloth.x.len()).map(|n| [noise(4, n), noise(5, n), noise(6, n), 0.0]).collect();
        let before = vec![[0.0; 4]; shifts.len()];
        let swept = |width| {
            let (mut shift, mut batch) = (shifts.clone(), batch.clone());
            for _ in 0..2 {
                let (element, batch, place) =
                    (&set.element, &mut batch, &mut place(&cloth, &held, &before, &mut shift));
                lanes::run_at(width, Projection::<N, R, E, true> { element, batch, place });
            }
            shift
        };
        let narrow = swept(lanes::Width::Narrow);
        for width in lanes::Width::ALL.into_iter().filter(|width| width.is_here()) {
            let same = swept(width).iter().zip(&narrow).all(|(a, b)| a.map(f32::to_bits) == b.map(f32::to_bits));
            assert!(same, "{} {width:?}", E::NAME);
        }
        let (mut single, mut lambda) = (shifts.clone(), vec![0.0; some.len()]);
        for _ in 0..2 {
            let mut place = place(&cloth, &held, &before, &mut single);
            for (&row, lambda) in some.iter().zip(&mut lambda) {
                let (nodes, rest) = set.blocks[row as usize / LANES].row(row as usize % LANES).unwrap();
                place.project(&nodes, set.element.lag(), lambda, |x| set.element.constraint(&rest, x));
            }
        }
        let mut moved = 0.0;
        for n in 0..single.len() {
            let far = (widen(single[n]) - widen(narrow[n])).length();
            assert!(far <= 1e-7 * (0.01 + widen(single[n]).length()), "{} node {n}: {far} m apart", E::NAME);
            moved = (widen(single[n]) - widen(shifts[n])).length().max(moved);
        }
        assert!(moved > 1e-4, "{} moves something: {moved} m", E::NAME);
    }

    #[test]
    fn blocks_are_projected_as_single_rows_are() {
        projected_alike(Stretch { stiffness: 300.0, damping: 0.001 });
        projected_alike(Shear { stiffness: 20.0 });
        projected_alike(Bend { stiffness: 1e-2 });
        projected_alike(Membrane { elasticity: Elasticity::of(&crate::Fabric::default()), damping: 0.001 });
        let measured = crate::potential::measured::tests::KNIT;
        projected_alike(Membrane { elasticity: crate::potential::MeasuredLaw::from(measured), damping: 0.001 });
        projected_alike(crate::potential::MeasuredBend::from(crate::potential::Bending::constant([1e-2, 2e-2, 3e-2])));
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
