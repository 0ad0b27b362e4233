//! Elements in blocks, window by window: what springs and triangles have in common.
//!
//! Elements inside a window and between two are projected where their nodes are; those that [reach far](domain::windows) have the shifts of their nodes copied into a window of their own and back, one after the other.

use super::domain::{self, CROWDED, Distant, Parts, WINDOW};
use crate::math::Vec3;
use crate::parallel;
use crate::potential::Shift;

/// The shifts of a window. Of a fixed length, so that no index needs to be checked.
pub type Window = [Shift; WINDOW];

/// Elements of one part, each with `N` nodes.
pub trait Blocks<const N: usize>: Clone + Default + Send {
    /// An element as it is given.
    type Element: Copy;

    /// Its nodes.
    fn nodes(element: &mut Self::Element) -> &mut [u32; N];

    /// Adds elements of one colour, whose nodes are places in the window.
    fn add(&mut self, colour: usize, elements: impl Iterator<Item = Self::Element>);
}

/// Elements in a block: one of the widest vectors.
pub const WIDTH: usize = 16;

/// One number for each of them.
pub type Numbers = [f32; WIDTH];

/// Of so many new blocks of a colour, how many are projected together, at most `most`.
pub fn runs(blocks: usize, colour: usize, most: usize) -> impl Iterator<Item = u32> {
    let most = if colour == CROWDED { 1 } else { most };
    (0..blocks).step_by(most).map(move |first| (blocks - first).min(most) as u32)
}

/// Elements of one colour, each on `N` nodes. Lanes that have none are elements without extent at the first node.
pub trait Block<const N: usize>: Clone + Send {
    /// An element as it is given.
    type Element: Copy;
    /// Without elements.
    const EMPTY: Self;
    /// Blocks of one colour that are projected together at most.
    const RUN: usize;

    /// The nodes of an element.
    fn nodes(element: &mut Self::Element) -> &mut [u32; N];

    /// Takes an element, whose nodes are places in the window.
    fn set(&mut self, lane: usize, element: Self::Element);

    /// Places of the nodes in the window.
    fn places(&self, lane: usize) -> [usize; N];

    /// Takes what stays the same in a step, of these nodes.
    fn begin(&mut self, lane: usize, nodes: [usize; N], start: &[Vec3], inverse_mass: &[f64]);
}

/// Blocks of one part.
#[derive(Clone)]
pub struct Filled<B> {
    pub blocks: Vec<B>,
    /// How many elements each has.
    pub counts: Vec<usize>,
    /// λ of each, for more than one iteration.
    pub lambda: Vec<Numbers>,
    /// How many successive blocks are projected together.
    pub runs: Vec<u32>,
}

impl<B> Default for Filled<B> {
    fn default() -> Self {
        Self { blocks: Vec::new(), counts: Vec::new(), lambda: Vec::new(), runs: Vec::new() }
    }
}

impl<B: Block<N>, const N: usize> Blocks<N> for Filled<B> {
    type Element = B::Element;

    fn nodes(element: &mut B::Element) -> &mut [u32; N] {
        B::nodes(element)
    }

    fn add(&mut self, colour: usize, elements: impl Iterator<Item = B::Element>) {
        let width = if colour == CROWDED { 1 } else { WIDTH };
        let before = self.blocks.len();
        // A sheet has two triangles and three hinges for each node, and each colour a block that isn't full.
        let enough = (N - 1) * WINDOW / WIDTH + CROWDED;
        self.blocks.reserve(if before == 0 { enough } else { elements.size_hint().0.div_ceil(width) });
        for (k, element) in elements.enumerate() {
            let lane = k % width;
            if lane == 0 {
                self.blocks.push(B::EMPTY);
                self.counts.push(0);
                self.lambda.push([0.0; WIDTH]);
            }
            if let (Some(block), Some(count)) = (self.blocks.last_mut(), self.counts.last_mut()) {
                block.set(lane, element);
                *count = lane + 1;
            }
        }
        self.runs.extend(runs(self.blocks.len() - before, colour, B::RUN));
    }
}

impl<B> Filled<B> {
    /// Takes what stays the same in a step.
    pub fn begin<const N: usize>(&mut self, nodes: Nodes<'_>, start: &[Vec3], inverse_mass: &[f64])
    where
        B: Block<N>,
    {
        for (block, &count) in self.blocks.iter_mut().zip(&self.counts) {
            for lane in 0..count {
                let here = block.places(lane).map(|place| nodes.at(place));
                block.begin(lane, here, start, inverse_mass);
            }
        }
    }

    /// Forgets λ.
    pub fn forget(&mut self) {
        self.lambda.fill([0.0; WIDTH]);
    }
}

/// Which node has a place in a window.
#[derive(Clone, Copy)]
pub enum Nodes<'a> {
    /// One after the other, from this one on.
    From(usize),
    /// These.
    These(&'a [u32]),
}

impl Nodes<'_> {
    #[inline(always)]
    pub fn at(&self, place: usize) -> usize {
        match self {
            Self::From(first) => first + place,
            Self::These(nodes) => nodes[place] as usize,
        }
    }
}

/// Elements between some nodes anywhere.
#[derive(Clone, Default)]
pub struct Far<B> {
    pub nodes: Vec<u32>,
    pub blocks: B,
}

/// All elements.
#[derive(Default)]
pub struct Windows<B> {
    pub inside: Vec<B>,
    pub between: Vec<B>,
    pub far: Vec<Far<B>>,
}

/// An element with places instead of nodes.
fn placed<B: Blocks<N>, const N: usize>(mut element: B::Element, place: impl Fn(usize, u32) -> u32) -> B::Element {
    let nodes = B::nodes(&mut element);
    (0..N).for_each(|k| nodes[k] = place(k, nodes[k]));
    element
}

impl<B> Windows<B> {
    /// Divides and colours elements, in their order.
    pub fn new<const N: usize>(elements: &[B::Element], node_count: usize) -> Self
    where
        B: Blocks<N>,
    {
        let nodes_of = |element: &B::Element| *B::nodes(&mut element.clone());
        let rows: Vec<u32> = elements.iter().flat_map(nodes_of).collect();
        let mut distant = Vec::new();
        let add = |blocks: &mut B, first: Option<usize>, colour, group: &[u32]| match first {
            Some(first) => {
                let here = |&row: &u32| placed::<B, N>(elements[row as usize], |_, n| n - first as u32);
                blocks.add(colour, group.iter().map(here));
            }
            None => distant.extend_from_slice(group),
        };
        let Parts { inside, between, .. } = domain::divide(node_count, N, &rows, add);
        distant.sort_unstable();
        let distant: Vec<B::Element> = distant.into_iter().map(|row| elements[row as usize]).collect();
        let part = |Distant { rows, nodes, places }: Distant| {
            let some = &distant[rows];
            let add = |blocks: &mut B, _, colour, group: &[u32]| {
                let there = |&row: &u32| placed::<B, N>(some[row as usize], |k, _| places[N * row as usize + k]);
                blocks.add(colour, group.iter().map(there));
            };
            Far { nodes, blocks: domain::divide(WINDOW, N, &places, add).inside.pop().unwrap_or_default() }
        };
        let far = domain::windows(distant.iter().map(nodes_of), node_count).into_iter().map(part).collect();
        Self { inside, between, far }
    }

    /// Calls `work` for every part with the nodes of its window.
    pub fn each(&mut self, work: impl Fn(&mut B, Nodes<'_>) + Sync)
    where
        B: Send,
    {
        for (first, parts) in [(0, &mut self.inside), (WINDOW / 2, &mut self.between)] {
            parallel::for_each_chunk(parts, 1, |window, part| work(&mut part[0], Nodes::From(first + window * WINDOW)));
        }
        self.far.iter_mut().for_each(|far| work(&mut far.blocks, Nodes::These(&far.nodes)));
    }

    /// Calls `work` for every part with where the nodes of its window are and were; tables are of [whole windows](domain::padded).
    pub fn sweep(&mut self, shift: &mut [Shift], before: &[Shift], work: impl Fn(&mut B, &mut Window, &Window) + Sync)
    where
        B: Send,
    {
        let windows = |shift: &mut [Shift], before: &[Shift], parts: &mut [B]| {
            let before = before.as_chunks().0;
            parallel::for_each_domain(shift.as_chunks_mut().0, 1, parts, |window, shift, part| {
                work(part, &mut shift[0], &before[window]);
            });
        };
        windows(shift, before, &mut self.inside);
        windows(&mut shift[WINDOW / 2..], &before[WINDOW / 2..], &mut self.between);
        if self.far.is_empty() {
            return;
        }
        let (mut here, mut was) = ([[0.0; 4]; WINDOW], [[0.0; 4]; WINDOW]);
        for Far { nodes, blocks } in &mut self.far {
            for (k, &n) in nodes.iter().enumerate() {
                (here[k], was[k]) = (shift[n as usize], before[n as usize]);
            }
            work(blocks, &mut here, &was);
            nodes.iter().zip(&here).for_each(|(&n, here)| shift[n as usize] = *here);
        }
    }
}
