//! Which elements may be projected at the same time.
//!
//! Nodes are divided into *windows* of [`WINDOW`] successive numbers. An element with all its nodes in one window is *inside* it; one
//! across the border of two, within half a window of it, is *between*: inside a window that is shifted by half. Windows don't
//! touch each other's nodes, so threads take one each: first what is inside, then what is between. What reaches *far* comes
//! last, on one thread; nodes that tears have made, which have the last numbers, are among them. Within a part, elements have
//! *colours*: no two of one colour share a node, so a block of one colour is vector code. A window's nodes stay in the first cache while
//! all of its elements are projected.
//!
//! All are functions of the mesh as it is (colours: greedily in the order of rows), never of how it came to be so: a resumed
//! run has the same. After a tear everything is divided and coloured anew, two passes over the rows.

/// Nodes in a window: 32 kB of shifts.
pub const WINDOW: usize = 2048;

/// How many nodes a table needs that is divided into whole windows.
pub fn padded(node_count: usize) -> usize {
    node_count.max(1).next_multiple_of(WINDOW)
}

/// Something for every part that elements are divided into.
#[derive(Clone, Default)]
pub struct Parts<T> {
    /// Inside each window.
    pub inside: Vec<T>,
    /// Between each window and the next.
    pub between: Vec<T>,
    /// What reaches far.
    pub far: T,
}

impl<T: Default> Parts<T> {
    /// One for each part of so many nodes.
    fn new(node_count: usize) -> Self {
        let count = padded(node_count) / WINDOW;
        let some = |count: usize| (0..count).map(|_| T::default()).collect();
        Self { inside: some(count), between: some(count.saturating_sub(1)), far: T::default() }
    }

    /// The part with this number, and its first node if it is a window.
    fn part(&mut self, number: usize) -> (&mut T, Option<usize>) {
        let (inside, between) = (self.inside.len(), self.between.len());
        match number {
            n if n < inside => (&mut self.inside[n], Some(n * WINDOW)),
            n if n < inside + between => (&mut self.between[n - inside], Some((n - inside) * WINDOW + WINDOW / 2)),
            _ => (&mut self.far, None),
        }
    }
}

/// Elements of one part share a colour only up to this one: elements of it may share nodes, since all others were taken.
pub const CROWDED: usize = 63;

/// Divides elements on `each` nodes, of which `rows` has one after the other, by parts and colours. `add` gets a part, the number of its first node unless
/// it is the far one, a colour and the numbers of the rows that have it, in their order.
pub fn divide<T: Default>(
    node_count: usize,
    each: usize,
    rows: &[u32],
    mut add: impl FnMut(&mut T, Option<usize>, usize, &[u32]),
) -> Parts<T> {
    let mut parts = Parts::<T>::new(node_count);
    let (inside, between) = (parts.inside.len(), parts.between.len());
    let far = inside + between;
    // A bit for each colour that is taken at a node: by what is inside, between and far.
    let mut taken = vec![[0u64; 3]; node_count];
    let mut start = vec![0u32; (far + 1) * (CROWDED + 1) + 1];
    let keys: Vec<u32> = (rows.chunks_exact(each))
        .map(|nodes| {
            let within = |shift: usize| {
                let first = (nodes[0] as usize).checked_sub(shift)? / WINDOW;
                let fits = nodes.iter().all(|&n| (n as usize).checked_sub(shift).is_some_and(|n| n / WINDOW == first));
                fits.then_some(first)
            };
            let (class, part) = match (within(0), within(WINDOW / 2)) {
                (Some(part), _) => (0, part),
                (None, Some(part)) if part < between => (1, inside + part),
                _ => (2, far),
            };
            let all = nodes.iter().fold(0, |all, &n| all | taken[n as usize][class]);
            let colour = (all.trailing_ones() as usize).min(CROWDED);
            nodes.iter().for_each(|&n| taken[n as usize][class] |= 1 << colour);
            let key = part * (CROWDED + 1) + colour;
            start[key + 1] += 1;
            key as u32
        })
        .collect();
    for key in 1..start.len() {
        start[key] += start[key - 1];
    }
    let mut order = vec![0; keys.len()];
    for (row, &key) in keys.iter().enumerate() {
        order[start[key as usize] as usize] = row as u32;
        start[key as usize] += 1;
    }
    let mut begin = 0;
    for (key, &end) in start[..start.len() - 1].iter().enumerate() {
        if end as usize > begin {
            let (part, first) = parts.part(key / (CROWDED + 1));
            add(part, first, key % (CROWDED + 1), &order[begin..end as usize]);
            begin = end as usize;
        }
    }
    parts
}

/// Some elements that reach far, as many in a row as have their nodes in one window.
pub struct Distant {
    /// Which of the elements.
    pub rows: std::ops::Range<usize>,
    /// Their nodes, each once.
    pub nodes: Vec<u32>,
    /// For each element the places of its nodes among these.
    pub places: Vec<u32>,
}

/// Puts elements that reach far into windows of their own, in their order.
pub fn windows<const N: usize>(elements: impl Iterator<Item = [u32; N]>, node_count: usize) -> Vec<Distant> {
    let mut all: Vec<Distant> = Vec::new();
    let mut place = vec![u32::MAX; node_count];
    for (row, nodes) in elements.enumerate() {
        if all.last().is_none_or(|last| last.nodes.len() + N > WINDOW) {
            place.fill(u32::MAX);
            all.push(Distant { rows: row..row, nodes: Vec::new(), places: Vec::new() });
        }
        let Some(last) = all.last_mut() else { continue };
        for n in nodes {
            let at = &mut place[n as usize];
            if *at == u32::MAX {
                *at = last.nodes.len() as u32;
                last.nodes.push(n);
            }
            last.places.push(*at);
        }
        last.rows.end = row + 1;
    }
    all
}
