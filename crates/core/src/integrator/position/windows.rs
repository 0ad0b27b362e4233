//! Elements in blocks, window by window: what springs and triangles have in common.
//!
//! Elements inside a window and between two are projected where their nodes are; those that [reach far](domain::windows) have the shifts of their nodes copied into a window of their own and back, some at the same time.

use super::domain::{self, CROWDED, Distant, Parts, Places, WINDOW};
use crate::math::Vec3;
use crate::parallel;
use crate::potential::Shift;

/// The shifts of a window. Of a fixed length, so that no index needs to be checked.
pub type Window = [Shift; WINDOW];

/// Elements of one part, each with `N` nodes.
pub trait Blocks<const N: usize>: Clone + Default + Send {
    /// An element as it is given.
    type Element: Copy + PartialEq + Send + Sync;

    /// Its nodes.
    fn nodes(element: &mut Self::Element) -> &mut [u32; N];

    /// The elements that it was made of, whose nodes are places in the window.
    fn elements(&mut self) -> &mut Vec<Self::Element>;

    /// Takes all elements away.
    fn clear(&mut self);

    /// Adds elements of one colour, whose nodes are places in the window.
    fn add(&mut self, colour: usize, elements: impl Iterator<Item = Self::Element>);

    /// Makes it of these elements, whose nodes are places in the window; it stays as it is if it was made of the same.
    fn renew(&mut self, elements: Vec<Self::Element>) {
        if *self.elements() == elements {
            return;
        }
        self.clear();
        let places: Vec<u32> = elements.iter().flat_map(|&element| nodes_of::<Self, N>(element)).collect();
        domain::colour(N, &places, |colour, group| {
            self.add(colour, group.iter().map(|&k| elements[k as usize]));
        });
        *self.elements() = elements;
    }
}

fn nodes_of<B: Blocks<N>, const N: usize>(mut element: B::Element) -> [u32; N] {
    *B::nodes(&mut element)
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
    type Element: Copy + PartialEq + Send + Sync;
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

    /// Takes what stays the same in a step, of these places.
    fn begin(&mut self, lane: usize, nodes: [usize; N], start: &[Vec3], inverse_mass: &[f64]);
}

/// Blocks of one part.
#[derive(Clone)]
pub struct Filled<B, E> {
    elements: Vec<E>,
    pub blocks: Vec<B>,
    /// How many elements each has.
    pub counts: Vec<usize>,
    /// λ of each, for more than one iteration.
    pub lambda: Vec<Numbers>,
    /// How many successive blocks are projected together.
    pub runs: Vec<u32>,
}

impl<B, E> Default for Filled<B, E> {
    fn default() -> Self {
        Self { elements: Vec::new(), blocks: Vec::new(), counts: Vec::new(), lambda: Vec::new(), runs: Vec::new() }
    }
}

impl<B: Block<N>, const N: usize> Blocks<N> for Filled<B, B::Element> {
    type Element = B::Element;

    fn elements(&mut self) -> &mut Vec<B::Element> {
        &mut self.elements
    }

    fn clear(&mut self) {
        self.blocks.clear();
        self.counts.clear();
        self.lambda.clear();
        self.runs.clear();
    }

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

impl<B, E> Filled<B, E> {
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

/// Which place of all has one in a window.
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

/// Elements between some nodes anywhere, with room for where these are and were.
#[derive(Clone)]
pub struct Far<B> {
    pub nodes: Vec<u32>,
    pub blocks: B,
    here: Box<Window>,
    was: Box<Window>,
}

impl<B: Default> Default for Far<B> {
    fn default() -> Self {
        let room = || Box::new([[0.0; 4]; WINDOW]);
        Self { nodes: Vec::new(), blocks: B::default(), here: room(), was: room() }
    }
}

/// All elements.
#[derive(Default)]
pub struct Windows<B> {
    pub inside: Vec<B>,
    pub between: Vec<B>,
    /// Those of one round share no node.
    pub far: Vec<Vec<Far<B>>>,
}

/// An element with these places in a window instead of nodes.
fn placed<B: Blocks<N>, const N: usize>(mut element: B::Element, places: [u32; N]) -> B::Element {
    *B::nodes(&mut element) = places;
    element
}

impl<B> Windows<B> {
    /// Divides and colours elements, in their order; what has not changed since stays as it is.
    pub fn renew<const N: usize>(&mut self, elements: &[B::Element], places: &Places)
    where
        B: Blocks<N>,
    {
        let nodes: Vec<[u32; N]> =
            elements.iter().map(|&element| nodes_of::<B, N>(element).map(|n| places.of[n as usize])).collect();
        let Parts { inside, between, far } = domain::divide(places.len(), nodes.iter().map(|nodes| &nodes[..]));
        for (shift, rows, parts) in [(0, inside, &mut self.inside), (WINDOW / 2, between, &mut self.between)] {
            parts.resize_with(rows.len(), B::default);
            parallel::for_each_chunk(parts, 1, |window, part| {
                let first = (shift + window * WINDOW) as u32;
                let here = |&row: &u32| placed::<B, N>(elements[row as usize], nodes[row as usize].map(|n| n - first));
                part[0].renew(rows[window].iter().map(here).collect());
            });
        }
        let ends: Vec<[u32; N]> = far.iter().map(|&row| nodes[row as usize]).collect();
        let rounds = domain::windows(&ends, &places.homes);
        self.far.resize_with(rounds.len(), Vec::new);
        for (parts, round) in self.far.iter_mut().zip(rounds) {
            parts.resize_with(round.len(), Far::default);
            parallel::for_each_chunk(parts, 1, |k, part| {
                let Distant { rows, nodes, places } = &round[k];
                let there =
                    |(&row, places): (&u32, &[u32; N])| placed::<B, N>(elements[far[row as usize] as usize], *places);
                part[0].nodes.clone_from(nodes);
                part[0].blocks.renew(rows.iter().zip(places.as_chunks().0).map(there).collect());
            });
        }
    }

    /// Calls `work` for every part with the nodes of its window.
    pub fn each(&mut self, work: impl Fn(&mut B, Nodes<'_>) + Sync)
    where
        B: Send,
    {
        for (first, parts) in [(0, &mut self.inside), (WINDOW / 2, &mut self.between)] {
            parallel::for_each_chunk(parts, 1, |window, part| work(&mut part[0], Nodes::From(first + window * WINDOW)));
        }
        for round in &mut self.far {
            parallel::for_each_chunk(round, 1, |_, part| {
                let Far { nodes, blocks, .. } = &mut part[0];
                work(blocks, Nodes::These(nodes));
            });
        }
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
        for round in &mut self.far {
            parallel::for_each_chunk(round, 1, |_, part| {
                let Far { nodes, blocks, here, was } = &mut part[0];
                for (k, &n) in nodes.iter().enumerate() {
                    (here[k], was[k]) = (shift[n as usize], before[n as usize]);
                }
                work(blocks, here, was);
            });
            for Far { nodes, here, .. } in round {
                nodes.iter().zip(&here[..]).for_each(|(&n, here)| shift[n as usize] = *here);
            }
        }
    }
}
