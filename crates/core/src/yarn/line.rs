//! Yarns solved at once: the structural springs of a yarn are a chain, and the equations of a chain are solved exactly in one
//! pass there and one back.
//!
//! Compliant constraints (XPBD) of one substep h, all springs s of a yarn together. First the tensions of the last substep go on, implicitly: along
//! the directions that the yarns have at the end, so that a taut yarn doesn't flutter however light it is (explicitly it would beyond
//! T = m l/(3 h²)). Then what is missing, linearised there:
//!
//! (1 + w L_warp + w L_weft) x = x where the substep has brought it;
//! (w_s + w_{s+1} + 1/(k_s h²)) μ_s − w_s (n_{s−1}·n_s) μ_{s−1} − w_{s+1} (n_s·n_{s+1}) μ_{s+1} = |x_{s+1} − x_s| − l_s − λ_s/(k_s h²),
//! x_s ← x_s + w_s (n_s μ_s − n_{s−1} μ_{s−1}),  λ ← λ + μ
//!
//! L is the Laplacian of a yarn with λ/|d| of each spring, λ ≥ 0 the last tension. The first equation is solved in two turns from where inertia alone would have brought the particles: wefts with 1 + w L_weft + 2 D_warp,
//! then warps with 1 + w L_warp + 2 D_weft for what is left, D the diagonal of w L. Both are at least as large as the whole, so no turn goes too far, whatever pulls; and where warps, wefts and
//! all else are in balance there is nothing to do. What isn't done yet acts as inertia. If all warps went on first and then all wefts, each would draw the cloth to where it alone wants it, by T h²/m: a third
//! of a millimetre at a tear.
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
//! Bend springs (every other node, rest length the sum of the two between) are weak: they act with the tensions, with a force
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
    /// What tensions move them by [m]; of no meaning once missing tensions were found.
    pub d: [Vec<Lane>; 3],
    /// w (λ/length before + λ/length after): what the yarn holds a particle with, over its inertia. As long as `d`.
    pub heavy: Vec<Lane>,
    /// Twice the same of the yarn that crosses there; zero where it has a particle of its own. As long as `d`.
    pub across: Vec<Lane>,
    /// One where both yarns are one particle.
    pub shared: Vec<Lane>,
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
    off: Vec<Lane>,
}

impl Block {
    /// Room for yarns of `count` nodes.
    pub fn new(count: usize) -> Self {
        let zeros = || vec![[0.0; GROUP]; count];
        let three = || [zeros(), zeros(), zeros()];
        Self {
            x: three(),
            d: three(),
            heavy: zeros(),
            across: zeros(),
            shared: zeros(),
            w: zeros(),
            rest: zeros(),
            soft: vec![[1.0; GROUP]; count],
            bend: zeros(),
            live: zeros(),
            tension: zeros(),
            pull: zeros(),
            over: zeros(),
            off: zeros(),
        }
    }
}

/// What pulls at the particles of a block's yarns where inertia takes them: springs with the tensions of the last substep, and bend springs.
pub(super) struct Pulled<'a> {
    /// The yarns.
    pub block: &'a mut Block,
    /// True if there are bend springs.
    pub bend: bool,
    /// True in the first substep of a step: lengths of the last substep aren't known.
    pub first: bool,
}

/// (1 + w L + 2 D) d = d for the yarns of a block, D that of the yarns which cross them.
pub(super) struct Relax<'a> {
    /// The yarns.
    pub block: &'a mut Block,
}

/// What is left to do after the wefts, for warps that were moved by d with them: d ← (2 D − w L) d where they are one particle; where they aren't d is what pulls at them. Positions take d.
pub(super) struct Remain<'a> {
    /// The yarns.
    pub block: &'a mut Block,
}

/// What tensions are still missing, for the yarns of a block.
pub(super) struct Solve<'a> {
    /// The yarns.
    pub block: &'a mut Block,
    /// Square of the substep [s²].
    pub h2: f64,
    /// One over the share of stiffness that pushed springs have.
    pub buckle: f64,
}

/// Shortest length that has a direction [m].
const SHORT: f64 = 1e-12;

impl Work for Pulled<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { block: b, bend, first } = self;
        if first {
            measure(b);
        }
        pull_on(b);
        if bend {
            bend_yarns(b);
        }
    }
}

impl Work for Relax<'_> {
    #[inline(always)]
    fn run(self) {
        relax(self.block);
    }
}

impl Work for Remain<'_> {
    #[inline(always)]
    fn run(self) {
        remain(self.block);
    }
}

impl Work for Solve<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { block: b, h2, buckle } = self;
        let count = b.w.len();
        let [x, y, z] = b.x.each_mut().map(|column| &mut column[..count]);
        // What moved particles is done with: the directions of springs take its place, and more that is needed on the way back. Fewer columns are fewer that memory has to bring.
        let [nx, ny, nz] = b.d.each_mut().map(|column| &mut column[..count]);
        let (w, rest, soft, live) = (&b.w[..count], &b.rest[..count], &b.soft[..count], &b.live[..count]);
        let (off, inverse, lambda) = (&mut b.off[..count], &mut b.across[..count], &mut b.heavy[..count]);
        let (tension, pull, over) = (&mut b.tension[..count], &mut b.pull[..count], &mut b.over[..count]);
        // There: elimination. What a spring knows of the one before it: direction, whether it is there, and its row.
        let (mut n, mut alive, mut row, mut found) = ([ZERO; 3], ZERO, ZERO, ZERO);
        for s in 0..count - 1 {
            let (from, to) = ([&x[s], &y[s], &z[s]], [&x[s + 1], &y[s + 1], &z[s + 1]]);
            let (w, w_next, rest, soft, live, pull) = (&w[s], &w[s + 1], &rest[s], &soft[s], &live[s], &pull[s]);
            let (mut over_s, mut off_s) = (ZERO, ZERO);
            for l in 0..GROUP {
                let d = [to[0][l] - from[0][l], to[1][l] - from[1][l], to[2][l] - from[2][l]];
                let length = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
                let per = 1.0 / length.max(SHORT);
                let here = [d[0] * per, d[1] * per, d[2] * per];
                let stretched = (length - rest[l]) * live[l];
                // A spring that pulled a moment ago is as stiff as it was; else it would give way in both directions.
                let pushed = (stretched < 0.0) & (pull[l] <= 0.0);
                let softness = if pushed { soft[l] * buckle } else { soft[l] };
                let missing = (stretched - softness * pull[l]) * live[l];
                let straight = n[0][l] * here[0] + n[1][l] * here[1] + n[2][l] * here[2];
                let coupled = 0.0 - w[l] * straight * alive[l] * live[l];
                let inverse = 1.0 / (w[l] + w_next[l] + softness - coupled * coupled * row[l]);
                found[l] = (missing - coupled * found[l]) * inverse;
                (n[0][l], n[1][l], n[2][l]) = (here[0], here[1], here[2]);
                (alive[l], row[l], over_s[l], off_s[l]) = (live[l], inverse, per, coupled);
            }
            (over[s], off[s], inverse[s], lambda[s]) = (over_s, off_s, row, found);
            (nx[s], ny[s], nz[s]) = (n[0], n[1], n[2]);
        }
        // And back: forces, from the last spring to the first, and what they move.
        let per_h2 = 1.0 / h2;
        let (mut after, mut force, mut coupled) = ([ZERO; 3], ZERO, ZERO);
        for s in (0..count - 1).rev() {
            let (n, w, inverse, lambda, off) = ([&nx[s], &ny[s], &nz[s]], &w[s + 1], &inverse[s], &lambda[s], &off[s]);
            let mut to = [x[s + 1], y[s + 1], z[s + 1]];
            let (mut pulled, mut sum) = (pull[s], tension[s]);
            for l in 0..GROUP {
                let f = lambda[l] - coupled[l] * inverse[l] * force[l];
                pulled[l] += f;
                sum[l] += pulled[l] * per_h2;
                let here = [n[0][l] * f, n[1][l] * f, n[2][l] * f];
                to[0][l] += w[l] * (after[0][l] - here[0]);
                to[1][l] += w[l] * (after[1][l] - here[1]);
                to[2][l] += w[l] * (after[2][l] - here[2]);
                (after[0][l], after[1][l], after[2][l]) = (here[0], here[1], here[2]);
                (force[l], coupled[l]) = (f, off[l]);
            }
            (x[s + 1], y[s + 1], z[s + 1]) = (to[0], to[1], to[2]);
            (pull[s], tension[s]) = (pulled, sum);
        }
        for (x, after) in [&mut x[0], &mut y[0], &mut z[0]].into_iter().zip(after) {
            *x = std::array::from_fn(|l| x[l] + w[0][l] * after[l]);
        }
    }
}

/// Nothing, for each yarn of a group.
const ZERO: Lane = [0.0; GROUP];

// Below, what is done for each yarn of a group is one loop, and what it writes is copied out afterwards: so it becomes vector code.

/// Lengths of all springs.
#[inline(always)]
fn measure(b: &mut Block) {
    let count = b.w.len();
    let [x, y, z] = b.x.each_ref().map(|column| &column[..count]);
    let over = &mut b.over[..count];
    for s in 0..count - 1 {
        let (from, to) = ([&x[s], &y[s], &z[s]], [&x[s + 1], &y[s + 1], &z[s + 1]]);
        let mut over_s = ZERO;
        for l in 0..GROUP {
            let d = [to[0][l] - from[0][l], to[1][l] - from[1][l], to[2][l] - from[2][l]];
            over_s[l] = 1.0 / (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt().max(SHORT);
        }
        over[s] = over_s;
    }
}

/// What the tensions of the last substep move particles by, as they are now: d = −w L x, where L is the Laplacian of the chain with λ/length of each spring.
#[inline(always)]
fn pull_on(b: &mut Block) {
    let count = b.w.len();
    let [x, y, z] = b.x.each_ref().map(|column| &column[..count]);
    let [dx, dy, dz] = b.d.each_mut().map(|column| &mut column[..count]);
    let (w, live, pull, over) = (&b.w[..count], &b.live[..count], &mut b.pull[..count], &b.over[..count]);
    let heavy = &mut b.heavy[..count];
    let (mut before, mut g_before) = ([ZERO; 3], ZERO);
    for s in 0..count {
        let next = (s + 1).min(count - 1);
        let (from, to) = ([&x[s], &y[s], &z[s]], [&x[next], &y[next], &z[next]]);
        let (w, live, over) = (&w[s], &live[s], &over[s]);
        let (mut pulled, mut d, mut held) = (pull[s], [ZERO; 3], ZERO);
        // There is no spring after the last node.
        let there = if s + 1 < count { 1.0 } else { 0.0 };
        for l in 0..GROUP {
            // A yarn that is pushed doesn't go on pushing: that would not be stable.
            pulled[l] = pulled[l].max(0.0) * live[l];
            let g = pulled[l] * over[l] * there;
            held[l] = w[l] * (g_before[l] + g);
            g_before[l] = g;
            for a in 0..3 {
                let force = g * (to[a][l] - from[a][l]);
                d[a][l] = w[l] * (force - before[a][l]);
                before[a][l] = force;
            }
        }
        (pull[s], heavy[s]) = (pulled, held);
        (dx[s], dy[s], dz[s]) = (d[0], d[1], d[2]);
    }
}

/// See [`Remain`].
#[inline(always)]
fn remain(b: &mut Block) {
    let count = b.w.len();
    let [x, y, z] = b.x.each_mut().map(|column| &mut column[..count]);
    let [dx, dy, dz] = b.d.each_mut().map(|column| &mut column[..count]);
    let (w, pull, over) = (&b.w[..count], &b.pull[..count], &b.over[..count]);
    let (heavy, shared) = (&b.heavy[..count], &b.shared[..count]);
    let (mut g_before, mut before) = (ZERO, [ZERO; 3]);
    for s in 0..count {
        let next = (s + 1).min(count - 1);
        let after = [&dx[next], &dy[next], &dz[next]];
        let (w, pull, over, heavy, shared, shared_next) =
            (&w[s], &pull[s], &over[s], &heavy[s], &shared[s], &shared[next]);
        let there = if s + 1 < count { 1.0 } else { 0.0 };
        let (mut at, mut d) = ([x[s], y[s], z[s]], [dx[s], dy[s], dz[s]]);
        for l in 0..GROUP {
            let g = pull[l] * over[l] * there;
            for a in 0..3 {
                let gone = d[a][l] * shared[l];
                at[a][l] += gone;
                let beside = g_before[l] * before[a][l] + g * (after[a][l] * shared_next[l]);
                d[a][l] = d[a][l] - gone + heavy[l] * gone + w[l] * beside;
                before[a][l] = gone;
            }
            g_before[l] = g;
        }
        (x[s], y[s], z[s]) = (at[0], at[1], at[2]);
        (dx[s], dy[s], dz[s]) = (d[0], d[1], d[2]);
    }
}

/// Makes of what particles would be moved by what they are moved by, with tensions that go along with them, see [`Relax`].
#[inline(always)]
fn relax(b: &mut Block) {
    let count = b.w.len();
    let [x, y, z] = b.d.each_mut().map(|column| &mut column[..count]);
    let (w, pull, over, across) = (&b.w[..count], &b.pull[..count], &b.over[..count], &b.across[..count]);
    let ratio = &mut b.off[..count];
    // λ/length of the spring before, and what elimination has made of the node before.
    let (mut g_before, mut ratio_before, mut before) = (ZERO, ZERO, [ZERO; 3]);
    for s in 0..count {
        let here = [&x[s], &y[s], &z[s]];
        let (w, pull, over, across) = (&w[s], &pull[s], &over[s], &across[s]);
        let there = if s + 1 < count { 1.0 } else { 0.0 };
        for l in 0..GROUP {
            let g = pull[l] * over[l] * there;
            let (low, high) = (w[l] * g_before[l], w[l] * g);
            let inverse = 1.0 / (1.0 + across[l] + (low + high - low * ratio_before[l]));
            (g_before[l], ratio_before[l]) = (g, high * inverse);
            for a in 0..3 {
                before[a][l] = (here[a][l] + low * before[a][l]) * inverse;
            }
        }
        ratio[s] = ratio_before;
        (x[s], y[s], z[s]) = (before[0], before[1], before[2]);
    }
    let mut after = [x[count - 1], y[count - 1], z[count - 1]];
    for s in (0..count - 1).rev() {
        let here = [&x[s], &y[s], &z[s]];
        let ratio = &ratio[s];
        for l in 0..GROUP {
            for a in 0..3 {
                after[a][l] = here[a][l] + ratio[l] * after[a][l];
            }
        }
        (x[s], y[s], z[s]) = (after[0], after[1], after[2]);
    }
}

/// What bend springs from every node to the next but one move particles by, added.
#[inline(always)]
fn bend_yarns(b: &mut Block) {
    let count = b.w.len();
    let [x, y, z] = b.x.each_ref().map(|column| &column[..count]);
    let [dx, dy, dz] = b.d.each_mut().map(|column| &mut column[..count]);
    let (w, rest, live, k) = (&b.w[..count], &b.rest[..count], &b.live[..count], &b.bend[..count]);
    // What the springs from the last node and the one before it did.
    let mut pulls = [[ZERO; 3]; 2];
    for s in 0..count {
        let (next, last) = ((s + 1).min(count - 1), (s + 2).min(count - 1));
        let (from, to) = ([&x[s], &y[s], &z[s]], [&x[last], &y[last], &z[last]]);
        let (w, rest, rest_next, live, live_next, k) = (&w[s], &rest[s], &rest[next], &live[s], &live[next], &k[s]);
        let there = if s + 2 < count { 1.0 } else { 0.0 };
        let mut by = [dx[s], dy[s], dz[s]];
        let mut pull = [ZERO; 3];
        for l in 0..GROUP {
            let d = [to[0][l] - from[0][l], to[1][l] - from[1][l], to[2][l] - from[2][l]];
            let length = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
            let stretched = (length - rest[l] - rest_next[l]) * live[l] * live_next[l] * there;
            let force = stretched * k[l] / length.max(SHORT);
            for a in 0..3 {
                pull[a][l] = d[a] * force;
                by[a][l] += w[l] * (pull[a][l] - pulls[0][a][l]);
            }
        }
        (dx[s], dy[s], dz[s]) = (by[0], by[1], by[2]);
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
        Solve { block: &mut b, h2, buckle: 1.0 }.run();
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
        bend_yarns(&mut straight);
        assert!(straight.d.iter().flatten().flatten().all(|d| *d == 0.0));
        let mut from = zigzag(9, h2);
        from.w[0] = [2.0; GROUP];
        bend_yarns(&mut from);
        for a in 0..3 {
            assert!(from.d[a].iter().map(|d| d[1]).sum::<f64>().abs() < 1e-14);
        }
        assert!(from.d[1].iter().any(|d| d[1].abs() > 1e-3));
    }

    #[test]
    fn what_tensions_move_is_what_they_pull_at_the_end() {
        let mut b = zigzag(30, 1e-2);
        b.pull.fill([0.3; GROUP]);
        Pulled { block: &mut b, bend: false, first: true }.run();
        let pulled = b.d.clone();
        // With d in the place of x, the same forces: (1 + 2 D) d = pulled − w L d.
        b.across.iter_mut().enumerate().for_each(|(s, across)| *across = [0.1 * s as f64; GROUP]);
        Relax { block: &mut b }.run();
        let mut moved = b.clone();
        moved.x = b.d.clone();
        pull_on(&mut moved);
        for a in 0..3 {
            for (s, law) in pulled[a].iter().enumerate() {
                for l in 0..GROUP {
                    let left = (1.0 + b.across[s][l]) * b.d[a][s][l] - moved.d[a][s][l] - law[l];
                    assert!(left.abs() < 1e-14);
                }
            }
        }
        // What is left after a turn of the others: 2 D d − w L d, and what has a particle of its own isn't moved by them.
        moved.shared.fill([1.0; GROUP]);
        moved.shared[7] = [0.0; GROUP];
        moved.d.clone_from(&pulled);
        let mut gone = moved.clone();
        gone.x = pulled.clone();
        gone.x.iter_mut().for_each(|x| x[7] = [0.0; GROUP]);
        pull_on(&mut gone);
        Remain { block: &mut moved }.run();
        for a in 0..3 {
            for s in 0..30 {
                for l in 0..GROUP {
                    let own = if s == 7 { pulled[a][s][l] } else { 2.0 * b.heavy[s][l] * pulled[a][s][l] };
                    assert!((moved.d[a][s][l] - own - gone.d[a][s][l]).abs() < 1e-14);
                }
            }
        }
        assert!(b.d[1].iter().flatten().any(|d| d.abs() > 1e-2));
    }

    #[test]
    fn the_width_of_vectors_changes_no_bit() {
        let at = |width| {
            let mut b = zigzag(30, 1e-2);
            b.pull.fill([0.01; GROUP]);
            run_at(width, Pulled { block: &mut b, bend: true, first: true });
            run_at(width, Relax { block: &mut b });
            run_at(width, Solve { block: &mut b, h2: 1e-2, buckle: 8.0 });
            (b.x, b.d)
        };
        assert_eq!(at(Width::Narrow), at(Width::Four));
        assert_eq!(at(Width::Narrow), at(Width::Eight));
    }
}
