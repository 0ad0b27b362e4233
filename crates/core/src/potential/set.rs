//! The loop over all elements of one kind, written once.

use super::{Potential, Scratch};
use crate::cloth::{Cloth, Touched};
use crate::math::Vec3;
use crate::parallel;
use ripstop_mesh::{EdgeId, FaceId, Id, Mesh, NodeId};

/// A kernel on `N` nodes. Rows are numbered by an id of the mesh, so their order, and with it every sum, is a function
/// of the cloth and not of its history.
pub trait Element<const N: usize>: Send + Sync + 'static {
    /// What a row of this element is attached to.
    type Key: Key;
    /// Rest values of one row.
    type Rest: Copy + Default + Send + Sync;
    /// Name in statistics.
    const NAME: &'static str;

    /// Nodes and rest values of the row of `key`; `None` if there is no element (a border edge has no hinge).
    fn row(&self, cloth: &Cloth, key: Self::Key) -> Option<Row<N, Self::Rest>>;

    /// Stored energy [J].
    fn energy(&self, rest: &Self::Rest, x: &[Vec3; N]) -> f64;

    /// Force on each node [N]; damping included.
    fn force(&self, rest: &Self::Rest, x: &[Vec3; N], v: &[Vec3; N]) -> [Vec3; N];

    /// Upper bounds of the stiffness [N/m] and damping [N·s/m] this row adds at any of its nodes.
    fn bounds(&self, _rest: &Self::Rest) -> (f64, f64) {
        (0.0, 0.0)
    }

    /// See [`Potential::set_time`].
    fn set_time(&mut self, _time: f64) {}
}

/// One element: its nodes and rest values.
pub type Row<const N: usize, R> = ([NodeId; N], R);

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
pub struct ElementSet<const N: usize, E: Element<N>> {
    /// The kernel and what all rows share.
    pub element: E,
    /// Nodes of each row; the first is `NONE` where there is no element.
    nodes: Vec<[u32; N]>,
    rest: Vec<E::Rest>,
    /// For node `n` the slots `gather[start[n]..start[n + 1]]`, in ascending order.
    start: Vec<u32>,
    gather: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl<const N: usize, E: Element<N>> ElementSet<N, E> {
    /// The elements that `cloth` has.
    pub fn new(element: E, cloth: &Cloth) -> Self {
        let mut set = Self { element, nodes: Vec::new(), rest: Vec::new(), start: Vec::new(), gather: Vec::new() };
        set.update((0..E::Key::count(&cloth.mesh)).map(E::Key::new), cloth);
        set.link(cloth.x.len());
        set
    }

    fn update(&mut self, keys: impl Iterator<Item = E::Key>, cloth: &Cloth) {
        self.nodes.resize(E::Key::count(&cloth.mesh), [NONE; N]);
        self.rest.resize(self.nodes.len(), E::Rest::default());
        for key in keys {
            let i = key.index();
            (self.nodes[i], self.rest[i]) = match self.element.row(cloth, key) {
                Some((nodes, rest)) => (nodes.map(|n| n.0), rest),
                None => ([NONE; N], E::Rest::default()),
            };
        }
    }

    /// Lists the slots of every node: a counting sort.
    fn link(&mut self, node_count: usize) {
        self.start.clear();
        self.start.resize(node_count + 1, 0);
        let live = |nodes: &&[u32; N]| nodes[0] != NONE;
        for nodes in self.nodes.iter().filter(live) {
            nodes.iter().for_each(|&n| self.start[n as usize + 1] += 1);
        }
        for n in 0..node_count {
            self.start[n + 1] += self.start[n];
        }
        self.gather.resize(self.start[node_count] as usize, 0);
        // Filling from the front moves each start to the next node's; shift them back afterwards.
        for (row, nodes) in self.nodes.iter().enumerate().filter(|(_, nodes)| nodes[0] != NONE) {
            for (k, &n) in nodes.iter().enumerate() {
                let place = &mut self.start[n as usize];
                self.gather[*place as usize] = (row * N + k) as u32;
                *place += 1;
            }
        }
        self.start.rotate_right(1);
        self.start[0] = 0;
    }

    fn live(&self) -> impl Iterator<Item = (&[u32; N], &E::Rest)> {
        self.nodes.iter().zip(&self.rest).filter(|(nodes, _)| nodes[0] != NONE)
    }
}

impl<const N: usize, E: Element<N>> Potential for ElementSet<N, E> {
    fn name(&self) -> &'static str {
        E::NAME
    }

    fn energy(&self, cloth: &Cloth) -> f64 {
        parallel::sum(self.nodes.len(), |i| {
            let nodes = &self.nodes[i];
            if nodes[0] == NONE {
                return 0.0;
            }
            self.element.energy(&self.rest[i], &nodes.map(|n| cloth.x[NodeId(n)]))
        })
    }

    fn add_force(&mut self, _cloth: &Cloth, x: &[Vec3], v: &[Vec3], scratch: &mut Scratch, force: &mut [Vec3]) {
        let slot_count = self.nodes.len() * N;
        if scratch.slots.len() < slot_count {
            scratch.slots.resize(slot_count, Vec3::ZERO);
        }
        let (slots, _) = scratch.slots[..slot_count].as_chunks_mut::<N>();
        let Self { element, nodes, rest, start, gather } = self;
        parallel::for_each(slots, |i, slot| {
            let nodes = &nodes[i];
            if nodes[0] != NONE {
                *slot = element.force(&rest[i], &nodes.map(|n| x[n as usize]), &nodes.map(|n| v[n as usize]));
            }
        });
        let slots = &scratch.slots;
        parallel::for_each(force, |n, force| {
            for &slot in &gather[start[n] as usize..start[n + 1] as usize] {
                *force += slots[slot as usize];
            }
        });
    }

    fn follow(&mut self, cloth: &Cloth, touched: &Touched) {
        self.update(E::Key::touched(touched).iter().copied(), cloth);
        if touched.topology {
            self.link(cloth.x.len());
        }
    }

    fn add_bounds(&self, _cloth: &Cloth, stiffness: &mut [f64], damping: &mut [f64]) {
        for (nodes, rest) in self.live() {
            let (k, d) = self.element.bounds(rest);
            for &n in nodes {
                stiffness[n as usize] += k;
                damping[n as usize] += d;
            }
        }
    }

    fn set_time(&mut self, time: f64) {
        self.element.set_time(time);
    }
}
