//! Coarser graphs of the cloth, which carry corrections far in one sweep.
//!
//! Projection moves a correction by one edge per sweep, so a fine sheet looks like rubber. Here every graph has a coarser one, of about a
//! quarter of its nodes: held nodes, in the order of their numbers every node that isn't the neighbour of one chosen before, and then every
//! node that is the neighbour of one chosen node alone: it would follow that one as if it were rigid, and leave a step beside it.
//! Each substep, before the springs: middles of mass go up, the coarsest graph is projected first, and what it moved goes down. The first
//! coarser graph is projected once, those above, which cost little, twice.
//!
//! m_c = Σ P m,  x̄_c = Σ P m x / m_c,  x ← x + P (x̄_new − x̄)
//!
//! | symbol | unit | meaning |
//! |---|---|---|
//! | P | 1 | weights of at most four chosen neighbours, each by one over its distance; a chosen node has itself |
//! | m, m_c | kg | masses of the finer and of the coarser nodes |
//! | x̄_c | m | the middle of mass that a coarse node stands for; a held node stands for itself |
//!
//! With these, momentum and turning momentum are kept. Coarse nodes that share a neighbour are joined by a spring that resists
//! stretch only (resisting compression by a tenth as well left more strain in the hung sheet), as stiff as the cloth around it. Its length is that
//! of the straight line in the material, or, where the way through the graph is longer by a quarter (by half, if there are ways on both
//! sides of the line, so that no slit can be between), around a slit or over a seam of
//! the material coordinates, that way and the reach of both middles: never less than what unstretched cloth allows. So a slit
//! opens freely, and a piece that is cut off has no spring to the rest.
//!
//! All of it is a function of the mesh, of rest lengths and of what is held, and is built anew when one of these changes. Limits: springs
//! of all levels pull side by side, so the cloth is stiffer than its fabric; more substeps with fewer levels are closer to it.
//! Source: Müller 2008 (hierarchical position-based dynamics); deviations: middles of mass in place of the chosen nodes themselves,
//! compliance, and lengths that see slits.

use super::Shifts;
use super::domain::{self, Places};
use super::springs::Springs;
use crate::cloth::Cloth;
use crate::math::{Vec2, Vec3};
use crate::parallel;
use crate::potential::{Shift, Spring};

/// Nodes below which a graph is not made coarser.
const FEWEST: usize = 16;
/// A way that is longer than the straight line by this factor may lead around a slit.
const DETOUR: f64 = 1.25;
/// The same for ways on both sides of the line: around a square they are longer by √2.
const DETOUR_BOTH: f64 = 1.5;
/// Sweeps over the first coarser graph and over those above. Measured in the hung sheet of 100²: twice on the others takes a sixth off the
/// largest strain, twice on the first less than it costs.
const SWEEPS: [u32; 2] = [1, 2];

/// No number.
const NONE: u32 = u32::MAX;

/// An edge of a graph.
#[derive(Clone, Copy)]
struct Link {
    nodes: [u32; 2],
    /// Length between the two nodes in the material [m].
    apart: f64,
    /// Rest length over woven length.
    flow: f64,
    /// Length between the two middles of mass [m].
    middle: f64,
    /// Stiffness [N/m].
    stiffness: f64,
}

/// A graph of nodes with mass.
struct Graph {
    links: Vec<Link>,
    uv: Vec<Vec2>,
    /// Material coordinates of the middle of mass that a node stands for [m].
    middle: Vec<Vec2>,
    mass: Vec<f64>,
    held: Vec<bool>,
}

/// A list for every row of a table, one after the other.
struct Grouped<T> {
    start: Vec<u32>,
    of: Vec<T>,
}

impl<T: Copy + Default> Grouped<T> {
    /// All (row, item) in their order. A counting sort.
    fn collect(count: usize, items: impl Iterator<Item = (u32, T)> + Clone) -> Self {
        let mut start = vec![0; count + 1];
        items.clone().for_each(|(row, _)| start[row as usize + 1] += 1);
        for row in 0..count {
            start[row + 1] += start[row];
        }
        let mut of = vec![T::default(); start[count] as usize];
        for (row, item) in items {
            let at = &mut start[row as usize];
            of[*at as usize] = item;
            *at += 1;
        }
        // Filling has moved each start to the next row's.
        start.rotate_right(1);
        start[0] = 0;
        Self { start, of }
    }

    #[inline(always)]
    fn at(&self, row: usize) -> &[T] {
        &self.of[self.start[row] as usize..self.start[row + 1] as usize]
    }
}

/// Of every node the neighbours, each with its link.
type Around = Grouped<(u32, u32)>;

/// Of every node others and their weights.
type Weights = Grouped<(u32, f32)>;

impl Weights {
    /// Rows by the places of their nodes.
    fn by_place(&self, places: &Places) -> Self {
        let rows = (0..self.start.len() - 1).flat_map(|n| self.at(n).iter().map(move |item| (places.of[n], *item)));
        Self::collect(places.len(), rows)
    }

    /// The weighted sum of the shifts of the others.
    #[inline(always)]
    fn sum(&self, n: usize, shift: &[Shift]) -> Shift {
        let mut sum = [0.0; 4];
        for &(other, weight) in self.at(n) {
            let shift = shift[other as usize];
            for k in 0..4 {
                sum[k] += shift[k] * weight;
            }
        }
        sum
    }
}

/// A way between two chosen nodes over one of their neighbours, or straight: the other end, its length [m], flow and stiffness as in [`Link`],
/// and whether it runs left (1) or right (2) of the straight line or both.
type Way = (u32, f64, f64, f64, u8);

/// One coarser graph and how it hangs together with the finer one.
struct Level {
    springs: Springs,
    inverse_mass: Vec<f64>,
    /// For every finer node the coarse ones that move it.
    parents: Weights,
    /// For every coarse node the finer ones whose middle it is.
    children: Weights,
    start: Vec<Vec3>,
    was: Vec<Shift>,
    now: Vec<Shift>,
}

/// All coarser graphs, the finest first.
#[derive(Default)]
pub struct Levels {
    levels: Vec<Level>,
    held: Vec<bool>,
}

impl Graph {
    /// The edges of the cloth. `bound` is an upper bound of the stiffness at each node.
    fn of(cloth: &Cloth, bound: &[f64]) -> Self {
        let mesh = &cloth.mesh;
        let links = mesh.edges().map(|e| {
            let nodes = mesh.edge_nodes(e).map(|n| n.0);
            let (apart, flow) = (cloth.woven[e], cloth.rest[e] / cloth.woven[e]);
            // Springs of stiffness k on twelve half-edges around a node bound it by 12 k.
            let stiffness = (bound[nodes[0] as usize] + bound[nodes[1] as usize]) / 24.0;
            Link { nodes, apart, flow, middle: apart, stiffness }
        });
        let uv: Vec<Vec2> = cloth.x.ids().map(|n| mesh.node_uv(n)).collect();
        let held = cloth.inverse_mass.iter().map(|w| *w == 0.0).collect();
        Self { links: links.collect(), middle: uv.clone(), uv, mass: cloth.mass.to_vec(), held }
    }

    fn around(&self) -> Around {
        let ends = (self.links.iter().zip(0..)).flat_map(|(link, i)| {
            let [a, b] = link.nodes;
            [(a, (b, i)), (b, (a, i))]
        });
        Around::collect(self.mass.len(), ends)
    }

    /// Numbers of nodes in the coarser graph, and the nodes that have one.
    fn choose(&self, around: &Around) -> (Vec<u32>, Vec<usize>) {
        let count = self.mass.len();
        let (mut number, mut covered) = (vec![NONE; count], vec![false; count]);
        // What weighs nothing is retired: it is part of no coarser graph.
        let there = || (0..count).filter(|&n| self.mass[n] > 0.0);
        for n in there().filter(|&n| self.held[n]).chain(there()) {
            if number[n] == NONE && (self.held[n] || !covered[n]) {
                number[n] = 0;
                around.at(n).iter().for_each(|&(other, _)| covered[other as usize] = true);
            }
        }
        for n in 0..count {
            let parents = || around.at(n).iter().filter(|(other, _)| number[*other as usize] != NONE);
            if number[n] == NONE && parents().count() == 1 {
                number[n] = 0;
            }
        }
        let chosen: Vec<usize> = (0..count).filter(|&n| number[n] != NONE).collect();
        chosen.iter().zip(0..).for_each(|(&n, c)| number[n] = c);
        (number, chosen)
    }

    /// Of every finer node the coarse ones that move it.
    fn parents(&self, around: &Around, number: &[u32]) -> Weights {
        let mut all = Vec::with_capacity(4 * self.mass.len());
        let mut near: Vec<(f64, u32)> = Vec::new();
        for (n, &own) in number.iter().enumerate() {
            if own != NONE {
                all.push((n as u32, (own, 1.0)));
                continue;
            }
            near.clear();
            let chosen = around.at(n).iter().filter(|(other, _)| number[*other as usize] != NONE);
            near.extend(chosen.map(|&(other, link)| (self.links[link as usize].apart, number[other as usize])));
            near.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            near.truncate(4);
            let whole: f64 = near.iter().map(|(apart, _)| 1.0 / apart).sum();
            all.extend(near.iter().map(|&(apart, c)| (n as u32, (c, (1.0 / (apart * whole)) as f32))));
        }
        Weights::collect(self.mass.len(), all.iter().copied())
    }

    /// Of every chosen node the ways to those with higher numbers.
    fn ways(&self, around: &Around, number: &[u32], count: usize) -> Grouped<Way> {
        let mut ways: Vec<(u32, Way)> = Vec::with_capacity(16 * count);
        // Chosen neighbours: number, node and link.
        let mut near: Vec<(u32, u32, u32)> = Vec::new();
        for n in (0..self.mass.len()).filter(|&n| number[n] == NONE) {
            near.clear();
            near.extend(around.at(n).iter().map(|&(other, link)| (number[other as usize], other, link)));
            near.retain(|(c, ..)| *c != NONE);
            for &(from, a, one) in &near {
                for &(to, b, two) in near.iter().filter(|(to, ..)| from < *to) {
                    let (one, two) = (&self.links[one as usize], &self.links[two as usize]);
                    let length = one.apart + two.apart;
                    let flow = (one.apart * one.flow + two.apart * two.flow) / length;
                    let [start, end, middle] = [a as usize, b as usize, n].map(|n| self.uv[n]);
                    let (aside, level) = ((end - start).perp_dot(middle - start), 1e-6 * length * length);
                    let sides = u8::from(aside > -level) | u8::from(aside < level) << 1;
                    ways.push((from, (to, length, flow, 0.5 * (one.stiffness + two.stiffness), sides)));
                }
            }
        }
        for link in &self.links {
            let [a, b] = link.nodes.map(|n| number[n as usize]);
            if a.max(b) != NONE {
                ways.push((a.min(b), (a.max(b), link.apart, link.flow, link.stiffness, 3)));
            }
        }
        let mut ways = Grouped::collect(count, ways.iter().copied());
        for c in 0..count {
            let row = &mut ways.of[ways.start[c] as usize..ways.start[c + 1] as usize];
            row.sort_unstable_by(|a, b| {
                a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.total_cmp(&b.2)).then(a.3.total_cmp(&b.3))
            });
        }
        ways
    }

    /// The next coarser graph.
    fn coarser(&self) -> Option<(Self, Level)> {
        let around = self.around();
        let (number, chosen) = self.choose(&around);
        let there = self.mass.iter().filter(|mass| **mass > 0.0).count();
        if chosen.len() < FEWEST || chosen.len() * 5 > there * 4 {
            return None;
        }
        let parents = self.parents(&around, &number);
        let count = chosen.len();
        let (mut mass, mut middle, mut reach) = (vec![0.0; count], vec![Vec2::ZERO; count], vec![0.0; count]);
        for n in 0..self.mass.len() {
            for &(c, weight) in parents.at(n) {
                let (c, part) = (c as usize, f64::from(weight) * self.mass[n]);
                mass[c] += part;
                middle[c] += self.middle[n] * part;
                reach[c] += self.uv[chosen[c]].distance(self.middle[n]) * part;
            }
        }
        let uv: Vec<Vec2> = chosen.iter().map(|&n| self.uv[n]).collect();
        let held: Vec<bool> = chosen.iter().map(|&n| self.held[n]).collect();
        for c in 0..count {
            (middle[c], reach[c]) = (middle[c] / mass[c], reach[c] / mass[c]);
            if held[c] {
                (middle[c], reach[c]) = (uv[c], 0.0);
            }
        }
        let children = (0..self.mass.len()).flat_map(|n| {
            let (parents, mass, held, chosen) = (&parents, &mass, &held, &chosen);
            parents.at(n).iter().filter_map(move |&(c, weight)| {
                let (row, c) = (c, c as usize);
                // A held node stands for itself.
                let share = if held[c] { 1.0 } else { f64::from(weight) * self.mass[n] / mass[c] };
                (!held[c] || chosen[c] == n).then_some((row, (n as u32, share as f32)))
            })
        });
        let children = Weights::collect(count, children);
        let ways = self.ways(&around, &number, count);
        let mut links: Vec<Link> = Vec::with_capacity(4 * count);
        for a in 0..count {
            for ways in ways.at(a).chunk_by(|one, two| one.0 == two.0) {
                let (b, length, flow, stiffness, _) = ways[0];
                let nodes = [a as u32, b];
                let b = b as usize;
                if held[a] && held[b] {
                    continue;
                }
                let both = ways.iter().fold(0, |sides, way| sides | way.4) == 3;
                let straight = uv[a].distance(uv[b]);
                let most = if both { DETOUR_BOTH } else { DETOUR } * straight;
                let (apart, middle) = if straight <= length * (1.0 + 1e-9) && length <= most {
                    (straight, middle[a].distance(middle[b]))
                } else {
                    (length, length + reach[a] + reach[b])
                };
                links.push(Link { nodes, apart, flow, middle, stiffness });
            }
        }
        let springs: Vec<Spring> = (links.iter())
            .map(|link| Spring { nodes: link.nodes, rest: link.middle * link.flow, stiffness: link.stiffness })
            .collect();
        let links_between = springs;
        let mut springs = Springs::new(0.0, 0.0);
        springs.renew(&links_between, &Places::plain(count));
        let inverse_mass = mass.iter().zip(&held).map(|(m, held)| if *held { 0.0 } else { 1.0 / m }).collect();
        let level = Level {
            springs,
            inverse_mass,
            parents,
            children,
            start: vec![Vec3::ZERO; count],
            was: vec![[0.0; 4]; domain::padded(count)],
            now: vec![[0.0; 4]; domain::padded(count)],
        };
        Some((Self { links, uv, middle, mass, held }, level))
    }
}

impl Levels {
    /// Builds `count` levels, or fewer for a small cloth. `bound` is an upper bound of the stiffness at each node [N/m].
    pub fn new(cloth: &Cloth, places: &Places, bound: &[f64], count: u32) -> Self {
        let mut graph = Graph::of(cloth, bound);
        let mut levels = Vec::new();
        let held = graph.held.clone();
        for _ in 0..count {
            let Some((coarse, level)) = graph.coarser() else { break };
            graph = coarse;
            levels.push(level);
        }
        // The nodes of the cloth itself have places.
        if let Some(Level { parents, children, .. }) = levels.first_mut() {
            *parents = parents.by_place(places);
            children.of.iter_mut().for_each(|(n, _)| *n = places.of[*n as usize]);
        }
        Self { levels, held }
    }

    /// True if they were built with these nodes held.
    pub fn fit(&self, cloth: &Cloth) -> bool {
        self.held.iter().copied().eq(cloth.inverse_mass.iter().map(|w| *w == 0.0))
    }

    /// Begins a step of substeps of `h` [s]; places of the cloth are at `start`.
    pub fn begin(&mut self, start: &[Vec3], h: f64) {
        for l in 0..self.levels.len() {
            let (finer, rest) = self.levels.split_at_mut(l);
            let level = &mut rest[0];
            let fine: &[Vec3] = finer.last().map_or(start, |finer| &finer.start);
            let mut places = std::mem::take(&mut level.start);
            parallel::for_each(&mut places, |c, place| {
                // By differences from the first, so that large coordinates lose nothing.
                let children = level.children.at(c);
                let origin = fine[children[0].0 as usize];
                *place =
                    origin + children.iter().map(|&(n, s)| (fine[n as usize] - origin) * f64::from(s)).sum::<Vec3>();
            });
            level.start = places;
            level.springs.begin(&level.start, &level.inverse_mass, h);
        }
    }

    /// Projects all levels once, the coarsest first, and moves the nodes along.
    pub fn sweep(&mut self, shifts: &mut Shifts) {
        for l in 0..self.levels.len() {
            let (finer, rest) = self.levels.split_at_mut(l);
            let fine: &[Shift] = finer.last().map_or(&shifts.now, |finer| &finer.now);
            let level = &mut rest[0];
            let (mut now, mut was) = (std::mem::take(&mut level.now), std::mem::take(&mut level.was));
            let count = level.inverse_mass.len();
            parallel::for_each_pair(&mut now[..count], &mut was[..count], |c, now, was| {
                *now = level.children.sum(c, fine);
                *was = *now;
            });
            (level.now, level.was) = (now, was);
        }
        for l in (0..self.levels.len()).rev() {
            let (finer, rest) = self.levels.split_at_mut(l);
            let Level { springs, now, was, parents, inverse_mass, .. } = &mut rest[0];
            for _ in 0..SWEEPS[l.min(1)] {
                springs.sweep(now, was, false);
            }
            parallel::for_each(&mut was[..inverse_mass.len()], |c, was| {
                for k in 0..4 {
                    was[k] = now[c][k] - was[k];
                }
            });
            let (change, parents): (&[Shift], &Weights) = (was, parents);
            let fine = finer.last_mut().map_or(&mut shifts.now, |finer| &mut finer.now);
            let count = parents.start.len() - 1;
            parallel::for_each(&mut fine[..count], |n, shift| {
                let change = parents.sum(n, change);
                for k in 0..4 {
                    shift[k] += change[k];
                }
            });
        }
    }
}
