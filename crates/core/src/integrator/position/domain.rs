//! Where nodes are kept, and which elements may be projected at the same time.
//!
//! Nodes have *[places](Places)* in tables of whole *windows* of [`WINDOW`] places. An element with all its nodes in one window is *inside* it; one
//! across the border of two, within half a window of it, is *between*: inside a window that is shifted by half. Windows don't
//! touch each other's nodes, so threads take one each: first what is inside, then what is between. What reaches *far* comes
//! last. Within a part, elements have *colours*: no two of one colour share a node, so a block of one colour is vector code. A window's nodes stay in the first cache while
//! all of its elements are projected.
//!
//! Nodes from the start are in the order of their numbers, the same count in every window and an even number of windows, so that two threads have equal shares. In the middle of each window there is room for nodes that tears
//! make: these have the last numbers, but are kept in the half of a window in which the node is that they came from, so that elements stay inside or between. What finds no room has places behind all others; its elements
//! reach far, and are divided by where their nodes came from.
//!
//! All are functions of the mesh as it is (colours: greedily in the order of rows), never of how it came to be so: a resumed
//! run has the same. After a tear everything is divided anew, and parts are coloured anew of which something has changed.

use crate::cloth::Cloth;
use ripstop_mesh::Id;

/// Places in a window: 32 kB of shifts.
pub const WINDOW: usize = 2048;

/// Nodes from the start in a window, at most, where there are several: a sixth is room.
const FULL: usize = 1700;

/// How many places a table needs that is divided into whole windows.
pub fn padded(node_count: usize) -> usize {
    node_count.max(1).next_multiple_of(WINDOW)
}

/// A place for every node.
#[derive(Clone, Default)]
pub struct Places {
    /// That of each node.
    pub of: Vec<u32>,
    /// The node of each place, [`Places::EMPTY`] if there is none.
    pub node: Vec<u32>,
    /// The place of the node from the start that the node of each place came from.
    pub homes: Vec<u32>,
}

impl Places {
    /// Has no node.
    pub const EMPTY: u32 = u32::MAX;

    /// One after the other.
    pub fn plain(node_count: usize) -> Self {
        let of: Vec<u32> = (0..node_count as u32).collect();
        Self::at(of.clone(), &of, padded(node_count))
    }

    /// With room for what tears make.
    pub fn new(cloth: &Cloth) -> Self {
        let mut homes: Vec<u32> = Vec::with_capacity(cloth.parent.len());
        for (n, parent) in cloth.parent.iter().enumerate() {
            // Parents are older.
            homes.push(homes.get(parent.index()).copied().unwrap_or(n as u32));
        }
        let first = homes.iter().enumerate().take_while(|(n, home)| *n == **home as usize).count();
        if first <= FULL {
            let of: Vec<u32> = (0..homes.len() as u32).collect();
            return Self::at(of, &homes, padded(homes.len()));
        }
        let windows = 2 * first.div_ceil(2 * FULL);
        let each = first.div_ceil(windows);
        // The room of each window, from both of its ends.
        let (low, high) = (each / 2, WINDOW - each.div_ceil(2));
        let mut rooms = vec![[low, high]; windows];
        let mut of: Vec<u32> = Vec::with_capacity(homes.len());
        let mut behind = windows * WINDOW;
        for (n, &home) in homes.iter().enumerate() {
            let home = home as usize;
            let place = if n < first {
                let at = n % each;
                n / each * WINDOW + if at < low { at } else { WINDOW - each + at }
            } else {
                let (window, upper) = (home / each, home % each >= low);
                let room = rooms.get_mut(window).filter(|_| home < first);
                match room {
                    Some([next, _]) if !upper && *next < WINDOW / 2 => {
                        *next += 1;
                        window * WINDOW + *next - 1
                    }
                    Some([_, next]) if upper && *next > WINDOW / 2 => {
                        *next -= 1;
                        window * WINDOW + *next
                    }
                    _ => {
                        behind += 1;
                        behind - 1
                    }
                }
            };
            of.push(place as u32);
        }
        Self::at(of, &homes, padded(behind))
    }

    fn at(of: Vec<u32>, homes: &[u32], count: usize) -> Self {
        let (mut node, mut home_places) = (vec![Self::EMPTY; count], (0..count as u32).collect::<Vec<u32>>());
        for (n, &place) in of.iter().enumerate() {
            node[place as usize] = n as u32;
            home_places[place as usize] = of[homes[n] as usize];
        }
        Self { of, node, homes: home_places }
    }

    /// How many places there are, with those that have no node.
    pub fn len(&self) -> usize {
        self.node.len()
    }
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

impl<T> Parts<T> {
    /// What `make` makes of each, told the number of its first node.
    pub fn map<R>(self, mut make: impl FnMut(usize, T) -> R) -> Parts<R> {
        let mut windows = |all: Vec<T>, first: usize| {
            all.into_iter().enumerate().map(|(k, part)| make(first + k * WINDOW, part)).collect()
        };
        let (inside, between) = (windows(self.inside, 0), windows(self.between, WINDOW / 2));
        Parts { inside, between, far: make(0, self.far) }
    }
}

/// Divides elements by the places of their nodes, of a table of so many: which of them are in each part, in their order.
pub fn divide<'a>(place_count: usize, elements: impl Iterator<Item = &'a [u32]>) -> Parts<Vec<u32>> {
    let count = padded(place_count) / WINDOW;
    let mut parts =
        Parts { inside: vec![Vec::new(); count], between: vec![Vec::new(); count.saturating_sub(1)], far: Vec::new() };
    for (row, nodes) in elements.enumerate() {
        let window = |shift| common(nodes.iter().map(|&n| n as usize), shift);
        let inside = window(0).and_then(|at| parts.inside.get_mut(at));
        let part = match inside {
            Some(part) => part,
            None => window(WINDOW / 2).and_then(|at| parts.between.get_mut(at)).unwrap_or(&mut parts.far),
        };
        part.push(row as u32);
    }
    parts
}

/// The window that all of some nodes are in, if windows begin so far behind the first node.
fn common(mut nodes: impl Iterator<Item = usize>, shift: usize) -> Option<usize> {
    let window = |n: usize| Some(n.checked_sub(shift)? / WINDOW);
    let first = window(nodes.next()?)?;
    nodes.all(|n| window(n) == Some(first)).then_some(first)
}

/// Elements of one part share a colour only up to this one: elements of it may share nodes, since all others were taken.
pub const CROWDED: usize = 63;

/// Colours elements on `each` nodes, of whose numbers `places` has one after the other. `add` gets a colour and which of the elements have it, in their order.
pub fn colour(each: usize, places: &[u32], mut add: impl FnMut(usize, &[u32])) {
    // A bit for each colour that is taken at a node.
    let mut taken = vec![0u64; places.iter().max().map_or(0, |&last| last as usize + 1)];
    let mut start = [0; CROWDED + 2];
    let colours: Vec<u8> = (places.chunks_exact(each))
        .map(|nodes| {
            let all = nodes.iter().fold(0, |all, &n| all | taken[n as usize]);
            let colour = (all.trailing_ones() as usize).min(CROWDED);
            nodes.iter().for_each(|&n| taken[n as usize] |= 1 << colour);
            start[colour + 1] += 1;
            colour as u8
        })
        .collect();
    for colour in 0..=CROWDED {
        start[colour + 1] += start[colour];
    }
    let (mut order, mut next) = (vec![0; colours.len()], start);
    for (element, &colour) in colours.iter().enumerate() {
        order[next[colour as usize]] = element as u32;
        next[colour as usize] += 1;
    }
    for colour in 0..=CROWDED {
        let group = &order[start[colour]..start[colour + 1]];
        if !group.is_empty() {
            add(colour, group);
        }
    }
}

/// Some elements that reach far, whose nodes have room in one window.
pub struct Distant {
    /// Which of the elements.
    pub rows: Vec<u32>,
    /// Places of their nodes, each once.
    pub nodes: Vec<u32>,
    /// For each element the places of its nodes among these.
    pub places: Vec<u32>,
}

/// Puts elements that reach far into windows of their own. Windows of one round share no node: nodes that tears have made and that found no room are far from those around them, but not by their *homes*, the nodes from
/// the start that they came from, so elements are divided by the windows of homes as others are by those of nodes. What reaches far even so, or has no room, comes after that, a window in each round.
pub fn windows<const N: usize>(elements: &[[u32; N]], homes: &[u32]) -> Vec<Vec<Distant>> {
    let key = |nodes: &[u32; N]| {
        let window = |shift| common(nodes.iter().map(|&n| homes[n as usize] as usize), shift);
        let inside = window(0).map(|at| (0, at));
        inside.or_else(|| Some((1, window(WINDOW / 2)?))).unwrap_or((2, 0))
    };
    let mut order: Vec<(usize, usize, u32)> = elements
        .iter()
        .enumerate()
        .map(|(row, nodes)| {
            let (round, window) = key(nodes);
            (round, window, row as u32)
        })
        .collect();
    order.sort_unstable();
    let mut place = vec![u32::MAX; homes.len()];
    let (mut rounds, mut rest) = ([Vec::new(), Vec::new()], Vec::new());
    for group in order.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let mut rows: Vec<u32> = group.iter().map(|&(_, _, row)| row).collect();
        if let Some(round) = rounds.get_mut(group[0].0) {
            round.push(fill(elements, &mut rows, &mut place));
        }
        rest.append(&mut rows);
    }
    rest.sort_unstable();
    let mut rounds: Vec<Vec<Distant>> = rounds.into_iter().filter(|round| !round.is_empty()).collect();
    while !rest.is_empty() {
        rounds.push(vec![fill(elements, &mut rest, &mut place)]);
    }
    rounds
}

/// Takes as many of some rows, one after the other, as have room in a window; `place` is empty before and after.
fn fill<const N: usize>(elements: &[[u32; N]], rows: &mut Vec<u32>, place: &mut [u32]) -> Distant {
    let (mut nodes, mut places) = (Vec::new(), Vec::new());
    let count = rows.iter().take_while(|&&row| {
        let fits = nodes.len() + N <= WINDOW;
        for n in elements[row as usize].into_iter().filter(|_| fits) {
            let at = &mut place[n as usize];
            if *at == u32::MAX {
                *at = nodes.len() as u32;
                nodes.push(n);
            }
            places.push(*at);
        }
        fits
    });
    let left = rows.split_off(count.count());
    nodes.iter().for_each(|&n| place[n as usize] = u32::MAX);
    Distant { rows: std::mem::replace(rows, left), nodes, places }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use ripstop_mesh::{ChangeLog, Vec2, generate};

    #[test]
    fn every_node_has_a_place_in_the_half_of_the_window_that_it_came_from() {
        for (side, every) in [(30, 4), (60, 9), (100, 17), (100, 3)] {
            let mut cloth = Cloth::flat(generate::grid(Vec2::ONE, [side, side]).unwrap(), 0.2, Placement::default());
            let whole = Places::new(&cloth);
            let mut log = ChangeLog::new();
            for e in cloth.mesh.edges().step_by(every) {
                cloth.mesh.open_edge(e, &mut log);
            }
            cloth.follow(&log);
            let places = Places::new(&cloth);
            assert!(cloth.x.len() > whole.of.len() && places.of.starts_with(&whole.of), "who was there stays");
            for (n, &place) in places.of.iter().enumerate() {
                assert_eq!(places.node[place as usize] as usize, n, "one node, one place");
            }
            assert_eq!(places.node.iter().filter(|&&n| n != Places::EMPTY).count(), cloth.x.len());
            assert_eq!(places.len() % WINDOW, 0);
            let windows = whole.len() / WINDOW;
            assert!(windows == 1 || windows.is_multiple_of(2), "{windows} windows of {side}²");
            let half = |place: u32| place as usize / (WINDOW / 2);
            for &place in &places.of {
                let (home, room) = (places.homes[place as usize], half(place) < 2 * windows);
                assert!(!room || windows == 1 || half(home) == half(place), "{place} of {home}");
            }
        }
    }
}
