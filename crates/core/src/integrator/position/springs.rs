//! Springs between nodes as vector code: the loop that position-based integrators spend their time in.
//!
//! Δλ and the moves are those of [`Place`](crate::potential::Place), for C = l − l₀ and α = 1/k, in single precision. What doesn't change
//! during a step is computed once at its beginning: d₀ = x_b − x_a (from double precision, so that lengths are exact to 1e-7 of
//! themselves wherever the cloth is) and w/((1 + γ)(w_a + w_b) + α̃). A spring is then the difference of two shifts, one
//! root and one division.
//!
//! What takes time is reading and writing nodes, so a spring has 36 bytes that are read in a row, both its ends are one number,
//! and its nodes are in a window of fixed length (see `domain.rs`), where no index can be wrong. Springs that reach
//! farther have their nodes copied into a window and back.

use super::domain::{CROWDED, Places, WINDOW};
use super::windows::{Numbers, WIDTH, Window, Windows, runs};
use crate::lanes::{self, Work};
use crate::math::Vec3;
use crate::potential::{Shift, Spring, narrow};

/// Blocks of one colour that are projected together at most. First all differences are taken, then all moves computed, then all nodes
/// moved: if there are many, none waits for what another has just written.
const RUN: usize = 16;

/// The two ends of a spring by their places in the window, each times sixteen: their distances in bytes, which saves the
/// multiplication. One number for both, since reading is what the loop spends its time with.
#[derive(Clone, Copy)]
struct Ends(u32);

impl Ends {
    fn new([a, b]: [usize; 2]) -> Self {
        debug_assert!(a < WINDOW && b < WINDOW);
        Self(((a * 16) | ((b * 16) << 16)) as u32)
    }

    #[inline(always)]
    fn places(self) -> [usize; 2] {
        const { assert!(WINDOW.is_power_of_two() && WINDOW <= 4096) };
        [self.0 as usize >> 4 & (WINDOW - 1), self.0 as usize >> 20 & (WINDOW - 1)]
    }
}

/// Springs of one colour. Lanes that have none are springs without stiffness from the first node to itself.
#[derive(Clone)]
struct Block {
    ends: [Ends; WIDTH],
    /// x_b − x_a at the beginning of the step [m].
    apart: [Shift; WIDTH],
    /// l₀ [m].
    rest: Numbers,
    /// w / ((1 + γ)(w_a + w_b) + α̃) of both ends; negative of the second.
    on_a: Numbers,
    on_b: Numbers,
}

impl Block {
    const EMPTY: Self = Self {
        ends: [Ends(0); WIDTH],
        apart: [[1.0, 0.0, 0.0, 0.0]; WIDTH],
        rest: [1.0; WIDTH],
        on_a: [0.0; WIDTH],
        on_b: [0.0; WIDTH],
    };
}

/// What a block needs less often.
#[derive(Clone)]
struct Aside {
    /// How many springs.
    count: usize,
    /// k [N/m].
    stiffness: Numbers,
    /// 1/((1 + γ)(w_a + w_b) + α̃) [kg], α̃ and λ, for more than one iteration.
    share: Numbers,
    soft: Numbers,
    lambda: Numbers,
}

impl Aside {
    const EMPTY: Self =
        Self { count: 0, stiffness: [1.0; WIDTH], share: [0.0; WIDTH], soft: [0.0; WIDTH], lambda: [0.0; WIDTH] };
}

/// Blocks of one part.
#[derive(Clone, Default)]
struct Blocks {
    elements: Vec<Spring>,
    blocks: Vec<Block>,
    aside: Vec<Aside>,
    /// How many successive blocks are projected together.
    runs: Vec<u32>,
}

impl super::windows::Blocks<2> for Blocks {
    type Element = Spring;

    fn nodes(spring: &mut Spring) -> &mut [u32; 2] {
        &mut spring.nodes
    }

    fn elements(&mut self) -> &mut Vec<Spring> {
        &mut self.elements
    }

    fn clear(&mut self) {
        self.blocks.clear();
        self.aside.clear();
        self.runs.clear();
    }

    fn add(&mut self, colour: usize, springs: impl Iterator<Item = Spring>) {
        let mut full = true;
        let blocks_before = self.blocks.len();
        for spring in springs {
            if full {
                self.blocks.push(Block::EMPTY);
                self.aside.push(Aside::EMPTY);
            }
            if let (Some(block), Some(aside)) = (self.blocks.last_mut(), self.aside.last_mut()) {
                let lane = aside.count;
                block.ends[lane] = Ends::new(spring.nodes.map(|place| place as usize));
                (block.rest[lane], aside.stiffness[lane]) = (spring.rest as f32, spring.stiffness as f32);
                aside.count += 1;
                full = aside.count == WIDTH || colour == CROWDED;
            }
        }
        self.runs.extend(runs(self.blocks.len() - blocks_before, colour, RUN));
    }
}

impl Blocks {
    /// Computes what stays the same in a step. `node` says which node has a place.
    fn begin(&mut self, node: impl Fn(usize) -> usize, start: &[Vec3], inverse_mass: &[f64], (h, gamma): (f64, f64)) {
        for (block, aside) in self.blocks.iter_mut().zip(&mut self.aside) {
            for lane in 0..aside.count {
                let [a, b] = block.ends[lane].places().map(&node);
                let (w_a, w_b) = (inverse_mass[a], inverse_mass[b]);
                let soft = 1.0 / (f64::from(aside.stiffness[lane]) * h * h);
                let share = 1.0 / ((1.0 + gamma) * (w_a + w_b) + soft);
                block.apart[lane] = narrow(start[b] - start[a]);
                (block.on_a[lane], block.on_b[lane]) = ((share * w_a) as f32, -(share * w_b) as f32);
                (aside.share[lane], aside.soft[lane]) = (share as f32, soft as f32);
            }
        }
    }

    /// Projects all of them once. `again` if this is one of several iterations.
    fn sweep(&mut self, shift: &mut Window, before: &Window, again: bool, (push, gamma): (f32, f32)) {
        match (again, gamma != 0.0) {
            (false, false) => lanes::run(Sweep::<false, false> { blocks: self, shift, before, push, gamma }),
            (false, true) => lanes::run(Sweep::<false, true> { blocks: self, shift, before, push, gamma }),
            (true, false) => lanes::run(Sweep::<true, false> { blocks: self, shift, before, push, gamma }),
            (true, true) => lanes::run(Sweep::<true, true> { blocks: self, shift, before, push, gamma }),
        }
    }
}

/// Springs that are projected together.
#[derive(Default)]
pub struct Springs {
    windows: Windows<Blocks>,
    /// Resistance to compression, of that to stretch.
    push: f32,
    /// Dashpot over spring [s].
    lag: f64,
    gamma: f32,
}

impl Springs {
    /// Springs that resist compression by this share of what they resist stretch by, with dashpots of `lag` over them [s].
    pub fn new(push: f32, lag: f64) -> Self {
        Self { windows: Windows::default(), push, lag, gamma: 0.0 }
    }

    /// Divides and colours springs, in their order.
    pub fn renew(&mut self, springs: &[Spring], places: &Places) {
        self.windows.renew(springs, places);
    }

    /// Computes what stays the same in a step of substeps of `h` [s].
    pub fn begin(&mut self, start: &[Vec3], inverse_mass: &[f64], h: f64) {
        let gamma = self.lag / h;
        self.gamma = gamma as f32;
        self.windows.each(|blocks, nodes| blocks.begin(|place| nodes.at(place), start, inverse_mass, (h, gamma)));
    }

    /// Forgets λ, before the first of several iterations.
    pub fn forget(&mut self) {
        self.windows.each(|blocks, _| blocks.aside.iter_mut().for_each(|aside| aside.lambda = [0.0; WIDTH]));
    }

    /// Projects every spring once; tables are of [whole windows](domain::padded). `again` if this is one of several iterations.
    pub fn sweep(&mut self, shift: &mut [Shift], before: &[Shift], again: bool) {
        let law = (self.push, self.gamma);
        self.windows.sweep(shift, before, |blocks, shift, before| blocks.sweep(shift, before, again, law));
    }
}

/// The loop over blocks.
struct Sweep<'a, const AGAIN: bool, const DAMPED: bool> {
    blocks: &'a mut Blocks,
    shift: &'a mut Window,
    before: &'a Window,
    push: f32,
    gamma: f32,
}

#[inline(always)]
fn less(a: Shift, b: Shift) -> Shift {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3]]
}

#[inline(always)]
fn plus(a: Shift, b: Shift, times: f32) -> Shift {
    [a[0] + b[0] * times, a[1] + b[1] * times, a[2] + b[2] * times, a[3] + b[3] * times]
}

impl<const AGAIN: bool, const DAMPED: bool> Work for Sweep<'_, AGAIN, DAMPED> {
    #[inline(always)]
    fn run(self) {
        let Self { blocks: Blocks { blocks, aside, runs, .. }, shift, before, push, gamma } = self;
        let mut along = [[[1.0, 0.0, 0.0, 0.0]; WIDTH]; RUN];
        let mut moved = [[[0.0; 4]; WIDTH]; RUN];
        let mut on = [[[0.0; WIDTH]; 2]; RUN];
        let (mut blocks, mut aside) = (&blocks[..], &mut aside[..]);
        for &count in &*runs {
            let (run, rest) = blocks.split_at((count as usize).min(RUN));
            let (run_aside, rest_aside) = aside.split_at_mut(run.len());
            (blocks, aside) = (rest, rest_aside);
            for ((block, along), moved) in run.iter().zip(&mut along).zip(&mut moved) {
                for lane in 0..WIDTH {
                    let [a, b] = block.ends[lane].places();
                    let difference = less(shift[b], shift[a]);
                    along[lane] = plus(block.apart[lane], difference, 1.0);
                    if DAMPED {
                        moved[lane] = less(difference, less(before[b], before[a]));
                    }
                }
            }
            for ((((block, along), moved), on), aside) in run.iter().zip(&along).zip(&moved).zip(&mut on).zip(run_aside)
            {
                let [on_a, on_b] = on;
                for lane in 0..WIDTH {
                    // The fourth number is zero; leaving it out would leave a gap that the compiler fills with single rows.
                    let [x, y, z, o] = along[lane];
                    let length = ((x * x + y * y) + (z * z + o * o)).sqrt().max(f32::MIN_POSITIVE);
                    let over = length - block.rest[lane];
                    let mut value = if over < 0.0 { over * push } else { over };
                    if DAMPED {
                        let [u, v, w, r] = moved[lane];
                        value += gamma * (((x * u + y * v) + (z * w + o * r)) / length);
                    }
                    if AGAIN {
                        value += aside.soft[lane] * aside.lambda[lane];
                        aside.lambda[lane] -= value * aside.share[lane];
                    }
                    let part = value / length;
                    (on_a[lane], on_b[lane]) = (part * block.on_a[lane], part * block.on_b[lane]);
                }
            }
            for ((block, along), [on_a, on_b]) in run.iter().zip(&along).zip(&on) {
                for lane in 0..WIDTH {
                    let [a, b] = block.ends[lane].places();
                    shift[a] = plus(shift[a], along[lane], on_a[lane]);
                    shift[b] = plus(shift[b], along[lane], on_b[lane]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::{Cloth, Placement};
    use proptest::prelude::*;
    use ripstop_mesh::{ChangeLog, EdgeId, Vec2, generate};

    fn springs(cloth: &Cloth) -> Springs {
        let spring = |e: EdgeId| {
            let nodes = cloth.mesh.edge_nodes(e).map(|n| n.0);
            Spring { nodes, rest: cloth.rest[e], stiffness: 100.0 + f64::from(e.0) }
        };
        let mut springs = Springs::new(1.0, 0.0);
        springs.renew(&cloth.mesh.edges().map(spring).collect::<Vec<_>>(), &Places::new(cloth));
        springs
    }

    /// The ends of the springs of every run.
    fn runs(blocks: &Blocks) -> Vec<Vec<[usize; 2]>> {
        let mut lanes = blocks.blocks.iter().zip(&blocks.aside);
        let ends = |count: &u32| {
            let run = lanes.by_ref().take(*count as usize);
            run.flat_map(|(block, aside)| block.ends[..aside.count].iter().map(|ends| ends.places())).collect()
        };
        blocks.runs.iter().map(ends).collect()
    }

    /// Every spring once; none at two nodes of one run.
    fn check(springs: &Springs, cloth: &Cloth) -> Result<(), TestCaseError> {
        let mut found = Vec::new();
        let mut all_runs = Vec::new();
        for (first, part) in [(0, &springs.windows.inside), (WINDOW / 2, &springs.windows.between)] {
            for (window, blocks) in part.iter().enumerate() {
                let first = first + window * WINDOW;
                all_runs.extend(runs(blocks).into_iter().map(|run| {
                    run.into_iter().map(|ends| ends.map(|place| first + place)).collect::<Vec<[usize; 2]>>()
                }));
            }
        }
        for round in &springs.windows.far {
            let mut nodes: Vec<u32> = round.iter().flat_map(|far| far.nodes.iter().copied()).collect();
            nodes.sort_unstable();
            prop_assert!(nodes.windows(2).all(|pair| pair[0] != pair[1]), "a node twice in a round");
        }
        for super::super::windows::Far { nodes, blocks, .. } in springs.windows.far.iter().flatten() {
            all_runs.extend(runs(blocks).into_iter().map(|run| {
                run.into_iter().map(|ends| ends.map(|place| nodes[place] as usize)).collect::<Vec<[usize; 2]>>()
            }));
        }
        for run in all_runs {
            prop_assert!(!run.is_empty());
            let mut nodes: Vec<usize> = run.iter().flatten().copied().collect();
            nodes.sort_unstable();
            prop_assert!(nodes.windows(2).all(|pair| pair[0] != pair[1]), "a node twice in a run");
            found.extend(run);
        }
        let place = Places::new(cloth).of;
        let mut all: Vec<[usize; 2]> =
            cloth.mesh.edges().map(|e| cloth.mesh.edge_nodes(e).map(|n| place[n.0 as usize] as usize)).collect();
        found.sort_unstable();
        all.sort_unstable();
        prop_assert_eq!(found, all);
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn no_run_has_a_node_twice_whatever_was_torn(edits in prop::collection::vec(any::<u32>(), 1..200)) {
            let mesh = generate::irregular(Vec2::ONE, 0.017, 3).unwrap();
            let mut cloth = Cloth::flat(mesh, 0.2, Placement::default());
            assert!(cloth.x.len() > WINDOW, "more than one window");
            let mut log = ChangeLog::new();
            for id in edits {
                cloth.mesh.open_edge(EdgeId(id % cloth.mesh.edge_count() as u32), &mut log);
            }
            cloth.follow(&log);
            check(&springs(&cloth), &cloth)?;
        }
    }

    #[test]
    fn what_is_torn_stays_in_its_window_while_there_is_room() {
        let mesh = generate::grid(Vec2::ONE, [100, 100]).unwrap();
        let mut cloth = Cloth::flat(mesh, 0.2, Placement::default());
        let mut log = ChangeLog::new();
        for e in cloth.mesh.edges().step_by(23) {
            cloth.mesh.open_edge(e, &mut log);
        }
        cloth.follow(&log);
        assert!(cloth.x.len() > 10_300, "{} nodes", cloth.x.len());
        let made = springs(&cloth);
        assert!(made.windows.far.is_empty() && !made.windows.between.is_empty());
        check(&made, &cloth).unwrap();
    }

    #[test]
    fn what_finds_no_room_is_far_and_has_its_springs() {
        let mesh = generate::grid(Vec2::ONE, [80, 80]).unwrap();
        let mut cloth = Cloth::flat(mesh, 0.2, Placement::default());
        assert!(springs(&cloth).windows.far.is_empty() && !springs(&cloth).windows.between.is_empty());
        let mut log = ChangeLog::new();
        for e in cloth.mesh.edges().step_by(3) {
            cloth.mesh.open_edge(e, &mut log);
        }
        cloth.follow(&log);
        let made = springs(&cloth);
        let rounds: Vec<usize> = made.windows.far.iter().map(Vec::len).collect();
        assert!(rounds[0] > 1 && rounds.len() < 6, "what was torn is near its home for the most part: {rounds:?}");
        check(&made, &cloth).unwrap();
    }

    #[test]
    fn a_node_with_more_springs_than_colours_is_no_trouble() {
        // A wheel of 200 spokes.
        let rim: Vec<Vec2> = (0..200)
            .map(|k| {
                let (sin, cos) = crate::math::sin_cos(f64::from(k) * std::f64::consts::PI / 100.0);
                Vec2::new(cos, sin)
            })
            .collect();
        let faces: Vec<[u32; 3]> = (0..200).map(|k| [200, k, (k + 1) % 200]).collect();
        let uv: Vec<[Vec2; 3]> = faces.iter().map(|f| [Vec2::ZERO, rim[f[1] as usize], rim[f[2] as usize]]).collect();
        let cloth = Cloth::flat(ripstop_mesh::Mesh::from_faces(201, &faces, &uv).unwrap(), 0.2, Placement::default());
        check(&springs(&cloth), &cloth).unwrap();
    }

    #[test]
    fn all_widths_give_the_same_bits_and_those_of_double_precision_but_for_its_last_digits() {
        let mesh = generate::irregular(Vec2::ONE, 0.06, 3).unwrap();
        let origin = Vec3::new(100.0, -300.0, 50.0);
        let mut cloth = Cloth::flat(mesh, 0.2, Placement { origin, ..Placement::default() });
        for n in cloth.mesh.nodes() {
            let noise = |key: u64| crate::math::hash_unit(key, u64::from(n.0)) - 0.5;
            cloth.x[n] += Vec3::new(noise(1), noise(2), noise(3)) * 0.02;
        }
        cloth.hold(ripstop_mesh::NodeId(0), Some(0));
        let h = 1e-3;
        let mut made = springs(&cloth);
        made.lag = 2e-4;
        made.begin(&cloth.x, &cloth.inverse_mass, h);
        let noise = |key: u64, n: usize| (crate::math::hash_unit(key, n as u64) - 0.5) as f32 * 1e-2;
        let shifts: Vec<Shift> = (0..cloth.x.len()).map(|n| [noise(4, n), noise(5, n), noise(6, n), 0.0]).collect();
        let before = [[0.0; 4]; WINDOW];
        assert_eq!(made.windows.inside.len(), 1);
        let swept = |width| {
            let (mut shift, mut blocks) = ([[0.0; 4]; WINDOW], made.windows.inside[0].clone());
            shift[..shifts.len()].copy_from_slice(&shifts);
            for _ in 0..3 {
                let (blocks, shift, before) = (&mut blocks, &mut shift, &before);
                lanes::run_at(width, Sweep::<true, true> { blocks, shift, before, push: 1.0, gamma: made.gamma });
            }
            shift
        };
        let narrow_vectors = swept(lanes::Width::Narrow);
        for width in lanes::Width::ALL.into_iter().filter(|width| width.is_here()) {
            let same =
                swept(width).iter().zip(&narrow_vectors).all(|(a, b)| a.map(f32::to_bits) == b.map(f32::to_bits));
            assert!(same, "{width:?}");
        }
        // The same in double precision, in the same order.
        let mut exact: Vec<Vec3> = shifts.iter().map(|&s| crate::potential::widen(s)).collect();
        let rows: Vec<[usize; 2]> = runs(&made.windows.inside[0]).concat();
        let edge = |[a, b]: [usize; 2]| {
            cloth.mesh.edges().find(|&e| cloth.mesh.edge_nodes(e).map(|n| n.0 as usize) == [a, b]).unwrap()
        };
        let edges: Vec<EdgeId> = rows.iter().map(|&row| edge(row)).collect();
        let mut lambda = vec![0.0; rows.len()];
        for _ in 0..3 {
            for (i, (&[a, b], &e)) in rows.iter().zip(&edges).enumerate() {
                let along = cloth.x.as_ref()[b] - cloth.x.as_ref()[a] + exact[b] - exact[a];
                let (length, w) = (along.length(), [a, b].map(|n| cloth.inverse_mass.as_ref()[n]));
                let (soft, gamma) = (1.0 / ((100.0 + f64::from(e.0)) * h * h), 2e-4 / h);
                let value =
                    length - cloth.rest[e] + soft * lambda[i] + gamma * (exact[b] - exact[a]).dot(along / length);
                let change = -value / ((1.0 + gamma) * (w[0] + w[1]) + soft);
                lambda[i] += change;
                exact[a] -= along / length * (w[0] * change);
                exact[b] += along / length * (w[1] * change);
            }
        }
        for (a, b) in narrow_vectors.iter().zip(&exact) {
            // Lengths of 6 cm to 1e-7 of themselves, added up over a few neighbours.
            assert!((crate::potential::widen(*a) - *b).length() < 1e-7, "{a:?} against {b}");
        }
    }
}
