//! Springs between nodes as vector code: the loop that position-based integrators spend their time in.
//!
//! Δλ and the moves are those of [`Place`](crate::potential::Place), for C = l − l₀ and α = 1/k, in single precision. What doesn't change
//! during a step is computed once at its beginning: d₀ = x_b − x_a (from double precision, so that lengths are exact to 1e-7 of
//! themselves wherever the cloth is) and 1/((1 + γ)(w_a + w_b) + α̃). A spring is then the difference of two shifts, one
//! root and one division.

use super::domain::{self, Colours};
use crate::lanes::{self, Work};
use crate::math::Vec3;
use crate::parallel;
use crate::potential::{Shift, Spring, narrow};

/// Springs in a block: several of the widest vectors, so that roots and divisions of one don't wait for those of another.
const WIDTH: usize = 64;

type Numbers = [f32; WIDTH];

/// Springs of one colour.
#[derive(Clone)]
struct Block {
    /// Ends, counted from the first node of the domain.
    a: [u32; WIDTH],
    b: [u32; WIDTH],
    /// x_b − x_a at the beginning of the step [m].
    apart: [Shift; WIDTH],
    /// l₀ [m].
    rest: Numbers,
    /// k [N/m].
    stiffness: Numbers,
    /// 1/((1 + γ)(w_a + w_b) + α̃) [kg].
    share: Numbers,
    /// Inverse masses [1/kg].
    w_a: Numbers,
    w_b: Numbers,
    /// α̃ and λ, for more than one iteration.
    soft: Numbers,
    lambda: Numbers,
    /// How many springs; the rest computes nothing that is used.
    count: u32,
}

impl Block {
    const EMPTY: Self = Self {
        a: [0; WIDTH],
        b: [0; WIDTH],
        apart: [[1.0, 0.0, 0.0, 0.0]; WIDTH],
        rest: [1.0; WIDTH],
        stiffness: [1.0; WIDTH],
        share: [0.0; WIDTH],
        w_a: [0.0; WIDTH],
        w_b: [0.0; WIDTH],
        soft: [0.0; WIDTH],
        lambda: [0.0; WIDTH],
        count: 0,
    };
}

/// Springs that are projected together.
#[derive(Default)]
pub struct Springs {
    domain: usize,
    domains: Vec<Vec<Block>>,
    crossing: Vec<Block>,
    /// Resistance to compression, of that to stretch.
    pub push: f32,
    /// Dashpot over spring [s].
    pub lag: f64,
    gamma: f32,
}

/// Sorts springs by colour into blocks; nodes are counted from `first`.
fn blocks(mut springs: Vec<(usize, Spring)>, first: usize) -> Vec<Block> {
    springs.sort_by_key(|(colour, _)| *colour);
    let mut blocks: Vec<Block> = Vec::with_capacity(springs.len() / WIDTH + 16);
    let mut last = usize::MAX;
    for (colour, spring) in springs {
        let full = blocks.last().is_none_or(|block| block.count as usize == WIDTH);
        if colour != last || colour == Colours::CROWDED || full {
            blocks.push(Block::EMPTY);
            last = colour;
        }
        if let Some(block) = blocks.last_mut() {
            let lane = block.count as usize;
            [block.a[lane], block.b[lane]] = spring.nodes.map(|n| n - first as u32);
            (block.rest[lane], block.stiffness[lane]) = (spring.rest as f32, spring.stiffness as f32);
            block.count += 1;
        }
    }
    blocks
}

impl Springs {
    /// Divides and colours springs, in their order.
    pub fn new(springs: impl Iterator<Item = Spring>, node_count: usize) -> Self {
        let domain = domain::size(node_count);
        let mut inside: Vec<Vec<(usize, Spring)>> = vec![Vec::new(); node_count.div_ceil(domain)];
        let mut crossing = Vec::new();
        let (mut colours, mut crossing_colours) = (Colours::new(node_count), Colours::new(node_count));
        for spring in springs {
            let nodes = spring.nodes.map(|n| n as usize);
            match domain::of(&nodes, domain) {
                Some(d) => inside[d].push((colours.next(nodes), spring)),
                None => crossing.push((crossing_colours.next(nodes), spring)),
            }
        }
        let domains = inside.into_iter().enumerate().map(|(d, springs)| blocks(springs, d * domain)).collect();
        Self { domain, domains, crossing: blocks(crossing, 0), push: 1.0, lag: 0.0, gamma: 0.0 }
    }

    /// Computes what stays the same in a step of substeps of `h` [s].
    pub fn begin(&mut self, start: &[Vec3], inverse_mass: &[f64], h: f64) {
        let gamma = self.lag / h;
        self.gamma = gamma as f32;
        let prepare = |first: usize, blocks: &mut Vec<Block>| {
            for block in blocks {
                for lane in 0..block.count as usize {
                    let (a, b) = (first + block.a[lane] as usize, first + block.b[lane] as usize);
                    let (w_a, w_b) = (inverse_mass[a], inverse_mass[b]);
                    let soft = 1.0 / (f64::from(block.stiffness[lane]) * h * h);
                    block.apart[lane] = narrow(start[b] - start[a]);
                    block.share[lane] = (1.0 / ((1.0 + gamma) * (w_a + w_b) + soft)) as f32;
                    (block.w_a[lane], block.w_b[lane]) = (w_a as f32, w_b as f32);
                    block.soft[lane] = soft as f32;
                }
            }
        };
        let size = self.domain;
        parallel::for_each_chunk(&mut self.domains, 1, |d, blocks| prepare(d * size, &mut blocks[0]));
        prepare(0, &mut self.crossing);
    }

    /// Forgets λ, before the first of several iterations.
    pub fn forget(&mut self) {
        self.domains.iter_mut().flatten().chain(&mut self.crossing).for_each(|block| block.lambda = [0.0; WIDTH]);
    }

    /// Projects every spring once. `again` if this is one of several iterations.
    pub fn sweep(&mut self, shift: &mut [Shift], before: &[Shift], again: bool) {
        let (push, gamma, size) = (self.push, self.gamma, self.domain);
        let run = |first: usize, blocks: &mut [Block], shift: &mut [Shift]| {
            let before = &before[first..first + shift.len()];
            match (again, gamma != 0.0) {
                (false, false) => lanes::run(Sweep::<false, false> { blocks, shift, before, push, gamma }),
                (false, true) => lanes::run(Sweep::<false, true> { blocks, shift, before, push, gamma }),
                (true, false) => lanes::run(Sweep::<true, false> { blocks, shift, before, push, gamma }),
                (true, true) => lanes::run(Sweep::<true, true> { blocks, shift, before, push, gamma }),
            }
        };
        parallel::for_each_domain(shift, size, &mut self.domains, |first, shift, blocks| run(first, blocks, shift));
        run(0, &mut self.crossing, shift);
    }
}

/// The loop over blocks.
struct Sweep<'a, const AGAIN: bool, const DAMPED: bool> {
    blocks: &'a mut [Block],
    shift: &'a mut [Shift],
    before: &'a [Shift],
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
        let shift = self.shift;
        let mut along = [[1.0, 0.0, 0.0, 0.0]; WIDTH];
        let mut moved = [[0.0; 4]; WIDTH];
        for block in self.blocks {
            let count = block.count as usize;
            block.project::<AGAIN, DAMPED>(count, shift, self.before, &mut along, &mut moved, (self.push, self.gamma));
        }
    }
}

impl Block {
    #[inline(always)]
    fn project<const AGAIN: bool, const DAMPED: bool>(
        &mut self,
        count: usize,
        shift: &mut [Shift],
        before: &[Shift],
        along: &mut [Shift; WIDTH],
        moved: &mut [Shift; WIDTH],
        (push, gamma): (f32, f32),
    ) {
        for lane in 0..count {
            let (a, b) = (self.a[lane] as usize, self.b[lane] as usize);
            let difference = less(shift[b], shift[a]);
            along[lane] = plus(self.apart[lane], difference, 1.0);
            if DAMPED {
                moved[lane] = less(difference, less(before[b], before[a]));
            }
        }
        let (mut on_a, mut on_b) = ([0.0f32; WIDTH], [0.0f32; WIDTH]);
        for lane in 0..WIDTH {
            // The fourth number is zero; leaving it out would leave a gap that the compiler fills with single rows.
            let [x, y, z, o] = along[lane];
            let length = ((x * x + y * y) + (z * z + o * o)).sqrt().max(f32::MIN_POSITIVE);
            let over = length - self.rest[lane];
            let mut value = if over < 0.0 { over * push } else { over };
            if DAMPED {
                let [u, v, w, r] = moved[lane];
                value += gamma * (((x * u + y * v) + (z * w + o * r)) / length);
            }
            if AGAIN {
                value += self.soft[lane] * self.lambda[lane];
            }
            let part = value * self.share[lane];
            if AGAIN {
                self.lambda[lane] -= part;
            }
            let part = part / length;
            on_a[lane] = part * self.w_a[lane];
            on_b[lane] = -(part * self.w_b[lane]);
        }
        for lane in 0..count {
            let (a, b) = (self.a[lane] as usize, self.b[lane] as usize);
            shift[a] = plus(shift[a], along[lane], on_a[lane]);
            shift[b] = plus(shift[b], along[lane], on_b[lane]);
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
        Springs::new(cloth.mesh.edges().map(spring), cloth.x.len())
    }

    /// Every spring once; none at two nodes of one block.
    fn check(springs: &Springs, cloth: &Cloth) -> Result<(), TestCaseError> {
        let mut found = Vec::new();
        let places = springs.domains.iter().enumerate().map(|(d, blocks)| (d * springs.domain, blocks));
        for (first, blocks) in places.chain([(0, &springs.crossing)]) {
            for block in blocks {
                let count = block.count as usize;
                prop_assert!(count > 0);
                let mut nodes: Vec<usize> =
                    block.a[..count].iter().chain(&block.b[..count]).map(|&n| first + n as usize).collect();
                for lane in 0..count {
                    found.push([nodes[lane], nodes[count + lane]]);
                }
                nodes.sort_unstable();
                prop_assert!(nodes.windows(2).all(|pair| pair[0] != pair[1]), "a node twice in a block");
            }
        }
        let mut all: Vec<[usize; 2]> =
            cloth.mesh.edges().map(|e| cloth.mesh.edge_nodes(e).map(|n| n.0 as usize)).collect();
        found.sort_unstable();
        all.sort_unstable();
        prop_assert_eq!(found, all);
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn no_block_has_a_node_twice_whatever_was_torn(edits in prop::collection::vec(any::<u32>(), 1..200)) {
            let mesh = generate::irregular(Vec2::ONE, 0.025, 3).unwrap();
            let mut cloth = Cloth::flat(mesh, 0.2, Placement::default());
            assert!(cloth.x.len() > 1024, "more than one domain");
            let mut log = ChangeLog::new();
            for id in edits {
                cloth.mesh.open_edge(EdgeId(id % cloth.mesh.edge_count() as u32), &mut log);
            }
            cloth.follow(&log);
            check(&springs(&cloth), &cloth)?;
        }
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
        let before = vec![[0.0; 4]; shifts.len()];
        assert_eq!(made.domains.len(), 1);
        let swept = |width| {
            let (mut shift, mut blocks) = (shifts.clone(), made.domains[0].clone());
            for _ in 0..3 {
                let (blocks, shift, before) = (&mut blocks[..], &mut shift[..], &before[..]);
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
        let rows: Vec<[usize; 2]> = (made.domains[0].iter())
            .flat_map(|block| (0..block.count as usize).map(|lane| [block.a[lane] as usize, block.b[lane] as usize]))
            .collect();
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
