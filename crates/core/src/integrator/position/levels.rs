//! Coarser graphs of the cloth, which carry corrections far in one sweep.
//!
//! Projection moves a correction by one edge per sweep, so a fine sheet looks like rubber. Here every graph has a coarser one, of about a
//! quarter of its nodes: held nodes, and in the order of their numbers every node that isn't the neighbour of one chosen before.
//! Each substep, before the springs: middles of mass go up, the coarsest graph is projected first, and what it moved goes down.
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
//! of the straight line in the material, or, where the way through the graph is longer by a quarter, around a slit or over a seam of
//! the material coordinates, that way and the reach of both middles: never less than what unstretched cloth allows. So a slit
//! opens freely, and a piece that is cut off has no spring to the rest.
//!
//! All of it is a function of the mesh, of rest lengths and of what is held, and is built anew when one of these changes. Limits: springs
//! of all levels pull side by side, so the cloth is stiffer than its fabric; more substeps with fewer levels are closer to it.
//! Source: Müller 2008 (hierarchical position-based dynamics); deviations: middles of mass in place of the chosen nodes themselves,
//! compliance, and lengths that see slits.

use super::Shifts;
use super::springs::Springs;
use crate::cloth::Cloth;
use crate::math::{Vec2, Vec3};
use crate::parallel;
use crate::potential::{Shift, Spring};

/// Nodes below which a graph is not made coarser.
const FEWEST: usize = 16;
/// A way around that is longer than the straight one by this factor leads around a slit.
const DETOUR: f64 = 1.25;

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

/// Neighbours of every node of a graph: `of[start[n]..start[n + 1]]`, each with its link.
struct Around {
    start: Vec<u32>,
    of: Vec<(u32, u32)>,
}

impl Around {
    fn new(node_count: usize, links: &[Link]) -> Self {
        let mut start = vec![0; node_count + 1];
        links.iter().flat_map(|link| link.nodes).for_each(|n| start[n as usize + 1] += 1);
        for n in 0..node_count {
            start[n + 1] += start[n];
        }
        let mut of = vec![(0, 0); 2 * links.len()];
        for (i, link) in links.iter().enumerate() {
            let [a, b] = link.nodes;
            for (n, other) in [(a, b), (b, a)] {
                of[start[n as usize] as usize] = (other, i as u32);
                start[n as usize] += 1;
            }
        }
        start.rotate_right(1);
        start[0] = 0;
        Self { start, of }
    }

    fn at(&self, n: usize) -> &[(u32, u32)] {
        &self.of[self.start[n] as usize..self.start[n + 1] as usize]
    }
}

/// One coarser graph and how it hangs together with the finer one.
struct Level {
    springs: Springs,
    inverse_mass: Vec<f64>,
    /// For every finer node the coarse ones that move it, and their weights.
    parents: Vec<([u32; 4], [f32; 4])>,
    /// For every coarse node the finer ones whose middle it is, and their shares: `child[first[n]..first[n + 1]]`.
    first: Vec<u32>,
    child: Vec<(u32, f32)>,
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
        let uv: Vec<Vec2> = mesh.nodes().map(|n| mesh.node_uv(n)).collect();
        let held = cloth.inverse_mass.iter().map(|w| *w == 0.0).collect();
        Self { links: links.collect(), middle: uv.clone(), uv, mass: cloth.mass.to_vec(), held }
    }

    /// Numbers of nodes in the coarser graph: held nodes, and in order every node with no neighbour among those before.
    fn choose(&self, around: &Around) -> (Vec<u32>, Vec<usize>) {
        const NONE: u32 = u32::MAX;
        let (mut number, mut chosen) = (vec![NONE; self.mass.len()], Vec::new());
        let mut covered = vec![false; self.mass.len()];
        let held = (0..self.mass.len()).filter(|&n| self.held[n]);
        for n in held.chain(0..self.mass.len()) {
            if number[n] == NONE && (self.held[n] || !covered[n]) {
                number[n] = 0;
                around.at(n).iter().for_each(|&(other, _)| covered[other as usize] = true);
            }
        }
        for n in 0..self.mass.len() {
            if number[n] != NONE {
                number[n] = chosen.len() as u32;
                chosen.push(n);
            }
        }
        (number, chosen)
    }

    /// The next coarser graph.
    fn coarser(&self) -> Option<(Self, Level)> {
        let around = Around::new(self.mass.len(), &self.links);
        let (number, chosen) = self.choose(&around);
        if chosen.len() < FEWEST || chosen.len() * 5 > self.mass.len() * 4 {
            return None;
        }
        let parents: Vec<([u32; 4], [f32; 4])> = (0..self.mass.len())
            .map(|n| {
                if number[n] != u32::MAX {
                    return ([number[n], 0, 0, 0], [1.0, 0.0, 0.0, 0.0]);
                }
                let mut near: Vec<(f64, u32)> = (around.at(n).iter())
                    .filter(|(other, _)| number[*other as usize] != u32::MAX)
                    .map(|&(other, link)| (self.links[link as usize].apart, number[other as usize]))
                    .collect();
                near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                near.truncate(4);
                let whole: f64 = near.iter().map(|(apart, _)| 1.0 / apart).sum();
                let (mut to, mut weight) = ([0; 4], [0.0; 4]);
                for (k, (apart, c)) in near.into_iter().enumerate() {
                    (to[k], weight[k]) = (c, (1.0 / (apart * whole)) as f32);
                }
                (to, weight)
            })
            .collect();
        let count = chosen.len();
        let (mut mass, mut middle, mut reach) = (vec![0.0; count], vec![Vec2::ZERO; count], vec![0.0; count]);
        let mut first = vec![0u32; count + 1];
        for (n, (to, weight)) in parents.iter().enumerate() {
            for (&c, &weight) in to.iter().zip(weight).filter(|(_, weight)| **weight > 0.0) {
                let (c, part) = (c as usize, f64::from(weight) * self.mass[n]);
                mass[c] += part;
                middle[c] += self.middle[n] * part;
                reach[c] += self.uv[chosen[c]].distance(self.middle[n]) * part;
                first[c + 1] += 1;
            }
        }
        for c in 0..count {
            first[c + 1] += first[c];
        }
        let mut child = vec![(0, 0.0); first[count] as usize];
        for (n, (to, weight)) in parents.iter().enumerate() {
            for (&c, &weight) in to.iter().zip(weight).filter(|(_, weight)| **weight > 0.0) {
                let share = f64::from(weight) * self.mass[n] / mass[c as usize];
                child[first[c as usize] as usize] = (n as u32, share as f32);
                first[c as usize] += 1;
            }
        }
        first.rotate_right(1);
        first[0] = 0;
        for (c, &n) in chosen.iter().enumerate() {
            (middle[c], reach[c]) = (middle[c] / mass[c], reach[c] / mass[c]);
            if self.held[n] {
                (middle[c], reach[c]) = (self.uv[n], 0.0);
                // A held node stands for itself.
                for (other, share) in &mut child[first[c] as usize..first[c + 1] as usize] {
                    *share = if *other as usize == n { 1.0 } else { 0.0 };
                }
            }
        }
        let uv: Vec<Vec2> = chosen.iter().map(|&n| self.uv[n]).collect();
        let held: Vec<bool> = chosen.iter().map(|&n| self.held[n]).collect();
        let mut ways = Vec::new();
        for n in (0..self.mass.len()).filter(|&n| number[n] == u32::MAX) {
            let near = || around.at(n).iter().filter(|(other, _)| number[*other as usize] != u32::MAX);
            for &(a, one) in near() {
                for &(b, two) in near().filter(|(b, _)| number[a as usize] < number[*b as usize]) {
                    let (one, two) = (&self.links[one as usize], &self.links[two as usize]);
                    let (length, ends) = (one.apart + two.apart, [number[a as usize], number[b as usize]]);
                    let flow = (one.apart * one.flow + two.apart * two.flow) / length;
                    ways.push((ends, length, flow, 0.5 * (one.stiffness + two.stiffness)));
                }
            }
        }
        ways.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        ways.dedup_by_key(|way| way.0);
        let links: Vec<Link> = (ways.into_iter())
            .filter(|(ends, ..)| !ends.iter().all(|&c| held[c as usize]))
            .map(|(nodes, length, flow, stiffness)| {
                let [a, b] = nodes.map(|c| c as usize);
                let straight = uv[a].distance(uv[b]);
                let open = straight <= length * (1.0 + 1e-9) && length <= DETOUR * straight;
                let (apart, middle) = if open {
                    (straight, middle[a].distance(middle[b]))
                } else {
                    (length, length + reach[a] + reach[b])
                };
                Link { nodes, apart, flow, middle, stiffness }
            })
            .collect();
        let springs = links.iter().map(|link| Spring {
            nodes: link.nodes,
            rest: link.middle * link.flow,
            stiffness: link.stiffness,
        });
        let mut springs = Springs::new(springs, count);
        springs.push = 0.0;
        let inverse_mass = mass.iter().zip(&held).map(|(m, held)| if *held { 0.0 } else { 1.0 / m }).collect();
        let level = Level {
            springs,
            inverse_mass,
            parents,
            first,
            child,
            start: vec![Vec3::ZERO; count],
            was: vec![[0.0; 4]; count],
            now: vec![[0.0; 4]; count],
        };
        Some((Self { links, uv, middle, mass, held }, level))
    }
}

impl Level {
    fn children(&self, c: usize) -> &[(u32, f32)] {
        &self.child[self.first[c] as usize..self.first[c + 1] as usize]
    }
}

impl Levels {
    /// Builds `count` levels, or fewer for a small cloth. `bound` is an upper bound of the stiffness at each node [N/m].
    pub fn new(cloth: &Cloth, bound: &[f64], count: u32) -> Self {
        let mut graph = Graph::of(cloth, bound);
        let mut levels = Vec::new();
        let held = graph.held.clone();
        for _ in 0..count {
            let Some((coarse, level)) = graph.coarser() else { break };
            graph = coarse;
            levels.push(level);
        }
        Self { levels, held }
    }

    /// True if they were built with these nodes held.
    pub fn fit(&self, cloth: &Cloth) -> bool {
        self.held.iter().copied().eq(cloth.inverse_mass.iter().map(|w| *w == 0.0))
    }

    /// Begins a step of substeps of `h` [s].
    pub fn begin(&mut self, start: &[Vec3], h: f64) {
        for l in 0..self.levels.len() {
            let (finer, rest) = self.levels.split_at_mut(l);
            let level = &mut rest[0];
            let fine: &[Vec3] = finer.last().map_or(start, |finer| &finer.start);
            let mut places = std::mem::take(&mut level.start);
            parallel::for_each(&mut places, |c, place| {
                // By differences from the first, so that large coordinates lose nothing.
                let children = level.children(c);
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
            parallel::for_each_pair(&mut now, &mut was, |c, now, was| {
                let mut sum = [0.0; 4];
                for &(n, share) in level.children(c) {
                    for k in 0..4 {
                        sum[k] += fine[n as usize][k] * share;
                    }
                }
                (*now, *was) = (sum, sum);
            });
            (level.now, level.was) = (now, was);
        }
        for l in (0..self.levels.len()).rev() {
            let (finer, rest) = self.levels.split_at_mut(l);
            let Level { springs, now, was, parents, .. } = &mut rest[0];
            springs.sweep(now, was, false);
            parallel::for_each(was, |c, was| {
                for k in 0..4 {
                    was[k] = now[c][k] - was[k];
                }
            });
            let (change, parents): (&[Shift], &[_]) = (was, parents);
            let fine = finer.last_mut().map_or(&mut shifts.now, |finer| &mut finer.now);
            parallel::for_each(fine, |n, shift| {
                let (to, weight) = &parents[n];
                for (&c, &weight) in to.iter().zip(weight) {
                    for k in 0..4 {
                        shift[k] += change[c as usize][k] * weight;
                    }
                }
            });
        }
    }
}
