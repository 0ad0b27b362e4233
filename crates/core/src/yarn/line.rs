//! Yarns solved at once: the structural springs of a yarn are a chain, and the equations of a chain are solved exactly in one
//! pass there and one back.
//!
//! Compliant constraints (XPBD) of one substep h, all springs s of a yarn together. First the tensions of the last substep go on, implicitly: along
//! the directions that the yarn has at the end, so that a taut yarn doesn't flutter however light it is (explicitly it would beyond
//! T = m l/(3 h²)). Then what is missing, linearised there:
//!
//! x_s − w_s (λ_s/|d_s| (x_{s+1} − x_s) − λ_{s−1}/|d_{s−1}| (x_s − x_{s−1})) = x_s where the substep has brought it, λ ≥ 0 the last one;
//! (w_s + w_{s+1} + 1/(k_s h²)) μ_s − w_s (n_{s−1}·n_s) μ_{s−1} − w_{s+1} (n_s·n_{s+1}) μ_{s+1} = |x_{s+1} − x_s| − l_s − λ_s/(k_s h²),
//! x_s ← x_s + w_s (n_s μ_s − n_{s−1} μ_{s−1}),  λ ← λ + μ
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | x, w | `x`, `w` | m, 1/kg | nodes of the yarn and their inverse masses (zero where held) |
//! | n, l, k | `n`, `rest`, `soft` | 1, m, N/m | direction, rest length and stiffness of springs; `soft` is 1/(k h²) |
//! | \|d\| | `over` | m | length of a spring in the substep before (one over it) |
//! | λ/h² | `tension` | N | what the spring pulls with; summed over substeps |
//!
//! Both matrices are tridiagonal and diagonally dominant, so nothing can go wrong in elimination; a cut spring is a row of its own with
//! λ = 0. All warps, then all wefts: whole cloth shares its nodes, so one sees what the other has done. Eight yarns are computed together, one
//! in each lane; yarns don't depend on each other, so threads change nothing.
//!
//! Bend springs (every other node, rest length the sum of the two between) are weak: they act explicitly before, in every other substep for both, with a force
//! divided by 1 + 2 k h² (w + w), which keeps them stable for any stiffness.
//!
//! Source: Macklin et al. 2016 for the constraint; Thomas' algorithm. Metaaphanon 2009 §4.1 sweeps spring by spring ([`super::sweep`]), which
//! doesn't converge: a hanging sheet of 40 wefts keeps several per cent of strain that no spring has. Deviation: pushed springs are softer
//! (`compression`), since yarns buckle between crossings.
//! Limits: linearised once per substep; what warps and wefts do to each other within a substep converges from substep to substep only.

use crate::lanes::Work;

/// Yarns that are computed together.
pub(super) const GROUP: usize = 8;

/// One number for each of them.
pub(super) type Lane = [f64; GROUP];

/// Some yarns, node by node.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    /// Positions [m].
    pub x: [Vec<Lane>; 3],
    /// Inverse masses [1/kg].
    pub w: Vec<Lane>,
    /// Rest lengths of springs, from each node to the next [m].
    pub rest: Vec<Lane>,
    /// 1/(k h²) of each [1/kg]; anything above zero for a cut one.
    pub soft: Vec<Lane>,
    /// k h²/(1 + 2 k h² (w + w)) of the bend spring from each node to the next but one [kg].
    pub bend: Vec<Lane>,
    /// One for a spring, zero for a cut one.
    pub live: Vec<Lane>,
    /// Sum of tensions over substeps [N].
    pub tension: Vec<Lane>,
    /// Tension of the last substep, times h² [N s²].
    pub pull: Vec<Lane>,
    /// One over the length of each spring in the last substep [1/m].
    over: Vec<Lane>,
    n: [Vec<Lane>; 3],
    off: Vec<Lane>,
    inverse: Vec<Lane>,
    lambda: Vec<Lane>,
}

impl Block {
    /// Room for yarns of `count` nodes.
    pub fn new(count: usize) -> Self {
        let zeros = || vec![[0.0; GROUP]; count];
        let three = || [zeros(), zeros(), zeros()];
        Self {
            x: three(),
            w: zeros(),
            rest: zeros(),
            soft: vec![[1.0; GROUP]; count],
            bend: zeros(),
            live: zeros(),
            tension: zeros(),
            pull: zeros(),
            over: zeros(),
            n: three(),
            off: zeros(),
            inverse: zeros(),
            lambda: zeros(),
        }
    }
}

/// One substep of the yarns of a block.
pub(super) struct Solve<'a> {
    /// The yarns.
    pub block: &'a mut Block,
    /// Square of the substep [s²].
    pub h2: f64,
    /// True if bend springs act in this substep.
    pub bend: bool,
    /// True in the first substep of a step: lengths of the last substep aren't known.
    pub first: bool,
    /// One over the share of stiffness that pushed springs have.
    pub buckle: f64,
}

/// Shortest length that has a direction [m].
const SHORT: f64 = 1e-12;

impl Work for Solve<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { block: b, h2, bend, first, buckle } = self;
        if bend {
            bend_yarns(b);
        }
        if first {
            measure(b);
        }
        pull_on(b);
        let count = b.w.len();
        let [x, y, z] = b.x.each_mut().map(|column| &mut column[..count]);
        let [nx, ny, nz] = b.n.each_mut().map(|column| &mut column[..count]);
        let (w, rest, soft, live) = (&b.w[..count], &b.rest[..count], &b.soft[..count], &b.live[..count]);
        let (off, inverse, lambda) = (&mut b.off[..count], &mut b.inverse[..count], &mut b.lambda[..count]);
        let (tension, pull, over) = (&mut b.tension[..count], &mut b.pull[..count], &mut b.over[..count]);
        // There: elimination. What a spring knows of the one before it: direction, whether it is there, and its row.
        let mut n_before = [Row::ZERO; 3];
        let (mut live_before, mut inverse_before, mut lambda_before) = (Row::ZERO, Row::ZERO, Row::ZERO);
        let mut from = [Row(x[0]), Row(y[0]), Row(z[0])];
        for s in 0..count - 1 {
            let to = [Row(x[s + 1]), Row(y[s + 1]), Row(z[s + 1])];
            let (n, length, inverse_length) = direction(from, to);
            over[s] = inverse_length.0;
            from = to;
            let (alive, pulled) = (Row(live[s]), Row(pull[s]));
            let stretched = (length - Row(rest[s])) * alive;
            // A spring that pulled a moment ago is as stiff as it was; else it would give way in both directions.
            let softness = Row::each(|l| {
                let pushed = stretched.0[l] < 0.0 && pulled.0[l] <= 0.0;
                if pushed { soft[s][l] * buckle } else { soft[s][l] }
            });
            let missing = (stretched - softness * pulled) * alive;
            let coupled = Row::ZERO - Row(w[s]) * dot(n_before, n) * live_before * alive;
            let diagonal = Row(w[s]) + Row(w[s + 1]) + softness - coupled * coupled * inverse_before;
            inverse_before = Row::each(|l| 1.0 / diagonal.0[l]);
            lambda_before = (missing - coupled * lambda_before) * inverse_before;
            (n_before, live_before) = (n, alive);
            (nx[s], ny[s], nz[s]) = (n[0].0, n[1].0, n[2].0);
            (off[s], inverse[s], lambda[s]) = (coupled.0, inverse_before.0, lambda_before.0);
        }
        // And back: forces, from the last spring to the first, and what they move.
        let per_h2 = 1.0 / h2;
        let mut after = [Row::ZERO; 3];
        let (mut force, mut coupled) = (Row::ZERO, Row::ZERO);
        for s in (0..count - 1).rev() {
            force = Row(lambda[s]) - coupled * Row(inverse[s]) * force;
            coupled = Row(off[s]);
            let whole = Row(pull[s]) + force;
            pull[s] = whole.0;
            tension[s] = (Row(tension[s]) + whole * Row([per_h2; GROUP])).0;
            let here = [Row(nx[s]) * force, Row(ny[s]) * force, Row(nz[s]) * force];
            let w = Row(w[s + 1]);
            x[s + 1] = (Row(x[s + 1]) + w * (after[0] - here[0])).0;
            y[s + 1] = (Row(y[s + 1]) + w * (after[1] - here[1])).0;
            z[s + 1] = (Row(z[s + 1]) + w * (after[2] - here[2])).0;
            after = here;
        }
        let w = Row(w[0]);
        x[0] = (Row(x[0]) + w * after[0]).0;
        y[0] = (Row(y[0]) + w * after[1]).0;
        z[0] = (Row(z[0]) + w * after[2]).0;
    }
}

/// A number for each yarn of a group, to compute with.
#[derive(Clone, Copy)]
struct Row(Lane);

impl Row {
    const ZERO: Self = Self([0.0; GROUP]);

    #[inline(always)]
    fn each(of: impl Fn(usize) -> f64) -> Self {
        Self(std::array::from_fn(of))
    }
}

impl std::ops::Add for Row {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self::each(|l| self.0[l] + other.0[l])
    }
}

impl std::ops::Sub for Row {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self::each(|l| self.0[l] - other.0[l])
    }
}

impl std::ops::Mul for Row {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self::each(|l| self.0[l] * other.0[l])
    }
}

#[inline(always)]
fn dot(a: [Row; 3], b: [Row; 3]) -> Row {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Direction (unit) and distance from one point to another, and one over it.
#[inline(always)]
fn direction(from: [Row; 3], to: [Row; 3]) -> ([Row; 3], Row, Row) {
    let d = [to[0] - from[0], to[1] - from[1], to[2] - from[2]];
    let squared = dot(d, d);
    let length = Row::each(|l| squared.0[l].sqrt());
    let over = Row::each(|l| 1.0 / length.0[l].max(SHORT));
    ([d[0] * over, d[1] * over, d[2] * over], length, over)
}

/// Lengths of all springs.
#[inline(always)]
fn measure(b: &mut Block) {
    let count = b.w.len();
    let [x, y, z] = b.x.each_ref().map(|column| &column[..count]);
    let over = &mut b.over[..count];
    for s in 0..count - 1 {
        let at = |s: usize| [Row(x[s]), Row(y[s]), Row(z[s])];
        over[s] = direction(at(s), at(s + 1)).2.0;
    }
}

/// The tensions of the last substep go on, along the directions that the yarn then has: (1 + w L) x = x, where L is the Laplacian of the chain
/// with λ/length of each spring.
#[inline(always)]
fn pull_on(b: &mut Block) {
    let count = b.w.len();
    let [x, y, z] = b.x.each_mut().map(|column| &mut column[..count]);
    let (w, live, pull, over) = (&b.w[..count], &b.live[..count], &mut b.pull[..count], &b.over[..count]);
    let ratio = &mut b.off[..count];
    // λ/length of the spring before, and what elimination has made of the node before.
    let (mut g_before, mut ratio_before, mut before) = (Row::ZERO, Row::ZERO, [Row::ZERO; 3]);
    for s in 0..count {
        let here = [Row(x[s]), Row(y[s]), Row(z[s])];
        let g = if s + 1 < count {
            // A yarn that is pushed doesn't go on pushing: that would not be stable.
            pull[s] = std::array::from_fn(|l| pull[s][l].max(0.0) * live[s][l]);
            Row(pull[s]) * Row(over[s])
        } else {
            Row::ZERO
        };
        let (low, high) = (Row(w[s]) * g_before, Row(w[s]) * g);
        let diagonal = low + high - low * ratio_before;
        let inverse = Row::each(|l| 1.0 / (1.0 + diagonal.0[l]));
        ratio_before = high * inverse;
        ratio[s] = ratio_before.0;
        g_before = g;
        before = [
            (here[0] + low * before[0]) * inverse,
            (here[1] + low * before[1]) * inverse,
            (here[2] + low * before[2]) * inverse,
        ];
        (x[s], y[s], z[s]) = (before[0].0, before[1].0, before[2].0);
    }
    let mut after = [Row(x[count - 1]), Row(y[count - 1]), Row(z[count - 1])];
    for s in (0..count - 1).rev() {
        let r = Row(ratio[s]);
        after = [Row(x[s]) + r * after[0], Row(y[s]) + r * after[1], Row(z[s]) + r * after[2]];
        (x[s], y[s], z[s]) = (after[0].0, after[1].0, after[2].0);
    }
}

/// Bend springs from every node to the next but one.
#[inline(always)]
fn bend_yarns(b: &mut Block) {
    let count = b.w.len();
    let [x, y, z] = b.x.each_mut().map(|column| &mut column[..count]);
    let (w, rest, live, k) = (&b.w[..count], &b.rest[..count], &b.live[..count], &b.bend[..count]);
    // What the springs from the last node and the one before it did; positions that springs see are those before any acted.
    let mut pulls = [[Row::ZERO; 3]; 2];
    for s in 0..count {
        let here = [Row(x[s]), Row(y[s]), Row(z[s])];
        let pull = if s + 2 < count {
            let there = [Row(x[s + 2]), Row(y[s + 2]), Row(z[s + 2])];
            let (n, length, _) = direction(here, there);
            let stretched = (length - Row(rest[s]) - Row(rest[s + 1])) * Row(live[s]) * Row(live[s + 1]);
            let force = stretched * Row(k[s]);
            [n[0] * force, n[1] * force, n[2] * force]
        } else {
            [Row::ZERO; 3]
        };
        let w = Row(w[s]);
        x[s] = (here[0] + w * (pull[0] - pulls[0][0])).0;
        y[s] = (here[1] + w * (pull[1] - pulls[0][1])).0;
        z[s] = (here[2] + w * (pull[2] - pulls[0][2])).0;
        pulls = [pulls[1], pull];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::{Width, run_at};
    use crate::math::hash_unit;

    /// A zigzag of `count` nodes, the first held, springs of 10 N/m; lane 3 has its fifth spring cut.
    fn zigzag(count: usize, h2: f64) -> Block {
        let mut b = Block::new(count);
        for s in 0..count {
            for l in 0..GROUP {
                let r = |k| hash_unit(l as u64, (3 * s + k) as u64);
                (b.x[0][s][l], b.x[1][s][l], b.x[2][s][l]) = (s as f64 + 0.4 * r(0), 0.4 * r(1), 0.4 * r(2));
                b.w[s][l] = if s == 0 { 0.0 } else { 2.0 };
                b.live[s][l] = if l == 3 && s == 5 { 0.0 } else { 1.0 };
                (b.rest[s][l], b.soft[s][l], b.bend[s][l]) = (1.0, 1.0 / (10.0 * h2), 0.04);
            }
        }
        b
    }

    fn momentum(b: &Block, from: &Block, axis: usize, lane: usize) -> f64 {
        (1..b.w.len()).map(|s| (b.x[axis][s][lane] - from.x[axis][s][lane]) / b.w[s][lane]).sum()
    }

    #[test]
    fn the_equations_are_solved_and_what_is_cut_pulls_nothing() {
        let (count, h2) = (40, 1e-2);
        let from = zigzag(count, h2);
        let mut b = from.clone();
        Solve { block: &mut b, h2, bend: false, first: true, buckle: 1.0 }.run();
        for l in 0..GROUP {
            for s in 0..count - 1 {
                // Linearised length after the move, less rest length, is what the force stretches the spring by.
                let d = |b: &Block, axis: usize| b.x[axis][s + 1][l] - b.x[axis][s][l];
                let length = (0..3).map(|a| d(&from, a) * d(&from, a)).sum::<f64>().sqrt();
                let moved = (0..3).map(|a| d(&from, a) / length * d(&b, a)).sum::<f64>();
                let force = b.tension[s][l];
                if from.live[s][l] == 0.0 {
                    assert_eq!(force, 0.0);
                } else {
                    assert!((moved - 1.0 - force / 10.0).abs() < 1e-12, "spring {s} of yarn {l}");
                }
            }
            // The held end takes up what the first spring pulls with; nothing else is lost.
            let n = [0, 1, 2].map(|a| b.x[a][1][l] * 0.0 + from.x[a][1][l] - from.x[a][0][l]);
            let length = n.iter().map(|c| c * c).sum::<f64>().sqrt();
            for a in 0..3 {
                let lost = momentum(&b, &from, a, l) + n[a] / length * b.tension[0][l] * h2;
                assert!(lost.abs() < 1e-12, "{lost}");
            }
        }
    }

    #[test]
    fn bend_springs_keep_momentum_and_straight_yarns() {
        let h2 = 1e-2;
        let mut straight = zigzag(9, h2);
        for s in 0..9 {
            (straight.x[0][s], straight.x[1][s], straight.x[2][s]) = ([s as f64; GROUP], [0.0; GROUP], [0.0; GROUP]);
        }
        let before = straight.x.clone();
        bend_yarns(&mut straight);
        assert_eq!(straight.x, before);
        let mut from = zigzag(9, h2);
        from.w[0] = [2.0; GROUP];
        let mut b = from.clone();
        bend_yarns(&mut b);
        for a in 0..3 {
            assert!((momentum(&b, &from, a, 1) + (b.x[a][0][1] - from.x[a][0][1]) / 2.0).abs() < 1e-14);
        }
        assert_ne!(b.x, from.x);
    }

    #[test]
    fn the_width_of_vectors_changes_no_bit() {
        let at = |width| {
            let mut b = zigzag(30, 1e-2);
            run_at(width, Solve { block: &mut b, h2: 1e-2, bend: true, first: true, buckle: 8.0 });
            b.x
        };
        assert_eq!(at(Width::Narrow), at(Width::Four));
        assert_eq!(at(Width::Narrow), at(Width::Eight));
    }
}
