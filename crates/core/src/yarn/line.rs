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
//! | λ/h² | `tension` | N | what the spring pulls with; summed over substeps |
//!
//! Both matrices are tridiagonal and diagonally dominant, so nothing can go wrong in elimination; a cut spring is a row of its own with
//! λ = 0. All warps, then all wefts: whole cloth shares its nodes, so one sees what the other has done. Eight yarns are computed together, one
//! in each lane; yarns don't depend on each other, so threads change nothing.
//!
//! Bend springs (every other node, rest length the sum of the two between) are weak: they act explicitly before, with a force
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
    /// One for a spring, zero for a cut one.
    pub live: Vec<Lane>,
    /// Sum of tensions over substeps [N].
    pub tension: Vec<Lane>,
    /// Tension of the last substep, times h² [N s²].
    pub pull: Vec<Lane>,
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
            live: zeros(),
            tension: zeros(),
            pull: zeros(),
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
    /// Stiffness of bend springs [N/m].
    pub bend: f64,
    /// One over the share of stiffness that pushed springs have.
    pub buckle: f64,
}

/// Shortest length that has a direction [m].
const SHORT: f64 = 1e-12;

impl Work for Solve<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { block: b, h2, bend, buckle } = self;
        if bend > 0.0 {
            bend_yarns(b, h2, bend);
        }
        pull_on(b);
        let count = b.w.len();
        let [x, y, z] = &mut b.x;
        let (x, y, z) = (&mut x[..count], &mut y[..count], &mut z[..count]);
        let [nx, ny, nz] = &mut b.n;
        let (nx, ny, nz) = (&mut nx[..count], &mut ny[..count], &mut nz[..count]);
        let pull = &mut b.pull[..count];
        let (w, rest, soft, live) = (&b.w[..count], &b.rest[..count], &b.soft[..count], &b.live[..count]);
        let (off, inverse, lambda) = (&mut b.off[..count], &mut b.inverse[..count], &mut b.lambda[..count]);
        let tension = &mut b.tension[..count];
        // There: elimination. What a spring knows of the one before it.
        let mut before = [[0.0; GROUP]; 6];
        for s in 0..count - 1 {
            for l in 0..GROUP {
                let d = [x[s + 1][l] - x[s][l], y[s + 1][l] - y[s][l], z[s + 1][l] - z[s][l]];
                let length = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
                let over = 1.0 / length.max(SHORT);
                let n = [d[0] * over, d[1] * over, d[2] * over];
                let stretched = (length - rest[s][l]) * live[s][l];
                // A spring that pulled a moment ago is as stiff as it was; else it would give way in both directions.
                let pushed = stretched < 0.0 && pull[s][l] <= 0.0;
                let softness = if pushed { soft[s][l] * buckle } else { soft[s][l] };
                let missing = (stretched - softness * pull[s][l]) * live[s][l];
                let [px, py, pz, p_live, p_inverse, p_lambda] = before.map(|lane| lane[l]);
                let coupled = -w[s][l] * (px * n[0] + py * n[1] + pz * n[2]) * p_live * live[s][l];
                let diagonal = w[s][l] + w[s + 1][l] + softness - coupled * coupled * p_inverse;
                let inverted = 1.0 / diagonal;
                let right = (missing - coupled * p_lambda) * inverted;
                (nx[s][l], ny[s][l], nz[s][l]) = (n[0], n[1], n[2]);
                (off[s][l], inverse[s][l], lambda[s][l]) = (coupled, inverted, right);
                let now = [n[0], n[1], n[2], live[s][l], inverted, right];
                for (lane, value) in before.iter_mut().zip(now) {
                    lane[l] = value;
                }
            }
        }
        // And back: forces, from the last spring to the first, and what they move.
        let per_h2 = 1.0 / h2;
        let mut after = [[0.0; GROUP]; 4];
        let mut coupled_after = [0.0; GROUP];
        for s in (0..count - 1).rev() {
            for l in 0..GROUP {
                let [ax, ay, az, a_lambda] = after.map(|lane| lane[l]);
                let force = lambda[s][l] - coupled_after[l] * inverse[s][l] * a_lambda;
                let (px, py, pz) = (nx[s][l] * force, ny[s][l] * force, nz[s][l] * force);
                let whole = pull[s][l] + force;
                pull[s][l] = whole;
                tension[s][l] += whole * per_h2;
                x[s + 1][l] += w[s + 1][l] * (ax - px);
                y[s + 1][l] += w[s + 1][l] * (ay - py);
                z[s + 1][l] += w[s + 1][l] * (az - pz);
                for (lane, value) in after.iter_mut().zip([px, py, pz, force]) {
                    lane[l] = value;
                }
                coupled_after[l] = off[s][l];
            }
        }
        for l in 0..GROUP {
            x[0][l] += w[0][l] * after[0][l];
            y[0][l] += w[0][l] * after[1][l];
            z[0][l] += w[0][l] * after[2][l];
        }
    }
}

/// The tensions of the last substep go on, along the directions that the yarn then has: (1 + w L) x = x, where L is the Laplacian of the chain
/// with λ/length of each spring.
#[inline(always)]
fn pull_on(b: &mut Block) {
    let count = b.w.len();
    let [x, y, z] = &mut b.x;
    let (x, y, z) = (&mut x[..count], &mut y[..count], &mut z[..count]);
    let (w, live, pull) = (&b.w[..count], &b.live[..count], &mut b.pull[..count]);
    let ratio = &mut b.off[..count];
    // λ/length of the spring before, and what elimination has made of the node before.
    let mut before = [[0.0; GROUP]; 2];
    for s in 0..count {
        for l in 0..GROUP {
            let next = (s + 1).min(count - 1);
            let d = [x[next][l] - x[s][l], y[next][l] - y[s][l], z[next][l] - z[s][l]];
            let length = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
            // A yarn that is pushed doesn't go on pushing: that would not be stable.
            let on = pull[s][l].max(0.0) * live[s][l];
            pull[s][l] = on;
            let g = if s + 1 < count { on / length.max(SHORT) } else { 0.0 };
            let [g_before, ratio_before] = [before[0][l], before[1][l]];
            let low = w[s][l] * g_before;
            let inverse = 1.0 / (1.0 + low + w[s][l] * g - low * ratio_before);
            ratio[s][l] = w[s][l] * g * inverse;
            before[0][l] = g;
            before[1][l] = ratio[s][l];
            let last = s.saturating_sub(1);
            let low = if s > 0 { low } else { 0.0 };
            x[s][l] = (x[s][l] + low * x[last][l]) * inverse;
            y[s][l] = (y[s][l] + low * y[last][l]) * inverse;
            z[s][l] = (z[s][l] + low * z[last][l]) * inverse;
        }
    }
    for s in (0..count - 1).rev() {
        for l in 0..GROUP {
            x[s][l] += ratio[s][l] * x[s + 1][l];
            y[s][l] += ratio[s][l] * y[s + 1][l];
            z[s][l] += ratio[s][l] * z[s + 1][l];
        }
    }
}

/// Bend springs from every node to the next but one.
#[inline(always)]
fn bend_yarns(b: &mut Block, h2: f64, bend: f64) {
    let count = b.w.len();
    let [x, y, z] = &mut b.x;
    let (x, y, z) = (&mut x[..count], &mut y[..count], &mut z[..count]);
    let [nx, ny, nz] = &mut b.n;
    let (nx, ny, nz) = (&mut nx[..count], &mut ny[..count], &mut nz[..count]);
    let (w, rest, live) = (&b.w[..count], &b.rest[..count], &b.live[..count]);
    // Row s: the spring from node s to s + 2, as what it does to the nodes per inverse mass.
    for s in 0..count.saturating_sub(2) {
        for l in 0..GROUP {
            let d = [x[s + 2][l] - x[s][l], y[s + 2][l] - y[s][l], z[s + 2][l] - z[s][l]];
            let length = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
            let k = bend * h2 / (1.0 + 2.0 * bend * h2 * (w[s][l] + w[s + 2][l])) * live[s][l] * live[s + 1][l];
            let pull = k * (length - rest[s][l] - rest[s + 1][l]) / length.max(SHORT);
            (nx[s][l], ny[s][l], nz[s][l]) = (d[0] * pull, d[1] * pull, d[2] * pull);
        }
    }
    for s in 0..count.saturating_sub(2) {
        for l in 0..GROUP {
            x[s][l] += w[s][l] * nx[s][l];
            y[s][l] += w[s][l] * ny[s][l];
            z[s][l] += w[s][l] * nz[s][l];
            x[s + 2][l] -= w[s + 2][l] * nx[s][l];
            y[s + 2][l] -= w[s + 2][l] * ny[s][l];
            z[s + 2][l] -= w[s + 2][l] * nz[s][l];
        }
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
                (b.rest[s][l], b.soft[s][l]) = (1.0, 1.0 / (10.0 * h2));
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
        Solve { block: &mut b, h2, bend: 0.0, buckle: 1.0 }.run();
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
        bend_yarns(&mut straight, h2, 5.0);
        assert_eq!(straight.x, before);
        let mut from = zigzag(9, h2);
        from.w[0] = [2.0; GROUP];
        let mut b = from.clone();
        bend_yarns(&mut b, h2, 5.0);
        for a in 0..3 {
            assert!((momentum(&b, &from, a, 1) + (b.x[a][0][1] - from.x[a][0][1]) / 2.0).abs() < 1e-14);
        }
        assert_ne!(b.x, from.x);
    }

    #[test]
    fn the_width_of_vectors_changes_no_bit() {
        let at = |width| {
            let mut b = zigzag(30, 1e-2);
            run_at(width, Solve { block: &mut b, h2: 1e-2, bend: 1.0, buckle: 8.0 });
            b.x
        };
        assert_eq!(at(Width::Narrow), at(Width::Four));
        assert_eq!(at(Width::Narrow), at(Width::Eight));
    }
}
