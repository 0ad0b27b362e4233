//! Which elements may be projected at the same time.
//!
//! Nodes are divided into *domains* of successive numbers. An element with all its nodes in one domain belongs to it; the others
//! *cross*. Domains don't touch each other's nodes, so threads take one each; what crosses comes afterwards, on one thread. Within a
//! domain, or among those that cross, springs have *colours*: no two of one colour share a node, so a block of one colour is vector
//! code. A domain's nodes stay in the first caches while all of its elements are projected.
//!
//! Both are functions of the mesh as it is (colours: greedily in the order of rows), never of how it came to be so: a resumed
//! run has the same. After a tear everything is divided and coloured anew, one pass over the rows.

/// Nodes in a domain of a cloth with so many: bands of about sixteen rows, so that few elements cross.
pub fn size(node_count: usize) -> usize {
    let across = (node_count as f64).sqrt().ceil() as usize;
    (16 * across).next_multiple_of(64).max(1024)
}

/// The domain that has all these nodes, if one has.
#[inline]
pub fn of(nodes: &[usize], size: usize) -> Option<usize> {
    let first = nodes.first()? / size;
    nodes.iter().all(|n| n / size == first).then_some(first)
}

/// Colours given out one after the other: the first that no earlier element at the same nodes has.
pub struct Colours {
    taken: Vec<u64>,
}

impl Colours {
    /// The last colour: elements of it may share nodes, since all others were taken.
    pub const CROWDED: usize = 63;

    /// No colour is taken at any of so many nodes.
    pub fn new(node_count: usize) -> Self {
        Self { taken: vec![0; node_count] }
    }

    /// The colour of the next element.
    pub fn next(&mut self, nodes: [usize; 2]) -> usize {
        let taken = self.taken[nodes[0]] | self.taken[nodes[1]];
        let colour = (taken.trailing_ones() as usize).min(Self::CROWDED);
        nodes.iter().for_each(|&n| self.taken[n] |= 1 << colour);
        colour
    }
}
