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
//! | x | `e`, `d` | m | nodes of the yarn: springs from each to the next where inertia alone takes them, and how far they are moved from there |
//! | w | `w` | 1/kg | their inverse masses (zero where held) |
//! | n, l, k | `n`, `rest`, `soft` | 1, m, N/m | direction, rest length and stiffness of springs; `soft` is 1/(k h²) |
//! | \|d\| | `over` | m | length of a spring in the substep before (one over it) |
//! | λ | `pull` | N s² | what the spring pulls with, times h²; `tension` is the sum over substeps |
//! | D | `across`, `heavy` | 1 | diagonal of w L of the yarns that cross (twice it), and of these |
//!
//! Both matrices are tridiagonal and diagonally dominant, so nothing can go wrong in elimination; a cut spring is a row of its own with
//! λ = 0. All warps, then all wefts: whole cloth shares its nodes, so one sees what the other has done (`cross`). Eight yarns are computed together, one
//! in each lane; yarns don't depend on each other, so threads change nothing.
//!
//! Single precision is enough: no position is in these equations, only springs and displacements. A length is known to 6e-8 of itself, so a tension to about 1e-6 of what breaks a yarn at 7 % of strain, and a displacement of 10 µm
//! to a picometre. What one substep leaves the next one sees, from positions in double precision.
//!
//! Bend springs (every other node, rest length the sum of the two between) are weak: they act with the tensions, with a force
//! divided by 1 + 2 k h² (w + w), which keeps them stable for any stiffness.
//!
//! Source: Macklin et al. 2016 for the constraint; Thomas' algorithm. Metaaphanon 2009 §4.1 sweeps spring by spring ([`super::sweep`]), which
//! doesn't converge: a hanging sheet of 40 wefts keeps several per cent of strain that no spring has. Deviation: pushed springs are softer
//! (`compression`), since yarns buckle between crossings.
//! Limits: linearised once per substep; what warps and wefts do to each other within a substep converges from substep to substep only.

/// Yarns that are computed together.
pub(super) const GROUP: usize = 8;

/// One number for each of them.
pub(super) type Lane = [f32; GROUP];

/// A node of some yarns, one in each lane, and the spring from it to the next one. All that a loop along them needs is side by side, and no lane lies across two lines of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Node {
    /// Inverse masses [1/kg].
    pub w: Lane,
    /// Rest lengths of springs [m], rounded from those of the [`Block`].
    pub rest: Lane,
    /// 1/(k h²) of springs [1/kg]; anything above zero for a cut one.
    pub soft: Lane,
    /// k h²/(1 + 2 k h² (w + w)) of the bend spring to the next node but one [kg]; zero if there is none.
    pub bend: Lane,
    /// One for a spring, zero for a cut one and at the last node.
    pub live: Lane,
    /// Tensions of the last substep, times h² [N s²]; zero where nothing is live.
    pub pull: Lane,
    /// Sums of these over the substeps of a step.
    pub tension: Lane,
    /// One over lengths of springs in the last substep [1/m]; from [`pull_on`] to [`eliminate`] λ over them [N s²/m].
    pub over: Lane,
    /// Springs where inertia takes their ends [m]; after [`eliminate`] their directions.
    pub e: [Lane; 3],
    /// What moves particles from there, then what they are moved by [m].
    pub d: [Lane; 3],
    /// w (λ/length before + λ/length after): what the yarn holds a particle with, over its inertia.
    pub heavy: Lane,
    /// Twice the same of the yarn that crosses there, zero where it has a particle of its own; after [`eliminate`] what elimination knows of a spring's force.
    pub across: Lane,
    /// What elimination has in store for the way back.
    ratio: Lane,
}

/// Nothing, for each yarn of a group.
pub(super) const ZERO: Lane = [0.0; GROUP];

impl Node {
    /// No mass, no spring.
    const NONE: Self = Self {
        w: ZERO,
        rest: ZERO,
        soft: [1.0; GROUP],
        bend: ZERO,
        live: ZERO,
        pull: ZERO,
        tension: ZERO,
        over: ZERO,
        e: [ZERO; 3],
        d: [ZERO; 3],
        heavy: ZERO,
        across: ZERO,
        ratio: ZERO,
    };
}

/// Some yarns.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    /// Node by node.
    pub nodes: Vec<Node>,
    /// Rest lengths as they are kept [m]: what flows from spring to spring is far less than single precision tells apart.
    pub rest: Vec<[f64; GROUP]>,
}

impl Block {
    /// Room for yarns of `count` nodes.
    pub fn new(count: usize) -> Self {
        Self { nodes: vec![Node::NONE; count], rest: vec![[0.0; GROUP]; count] }
    }
}

/// Shortest length that has a direction [m].
const SHORT: f32 = 1e-12;

// Below, what is done for each yarn of a group is one loop, and what it writes is copied out afterwards: so it becomes vector code.

/// What pulls at particles where inertia takes them: springs with the tensions of the last substep, −w L x with L the Laplacian of the chain with λ/length of each spring, and bend springs.
/// With `RELAX` it is added to d, and the way there of (1 + w L + 2 D) d = d is gone at once, D that of the yarns which cross these; [`relax_back`] is the way back. In the `FIRST` substep of a step the lengths of the last one aren't known, and taken from where springs are.
#[inline(always)]
pub(super) fn pull_on<const RELAX: bool, const FIRST: bool>(nodes: &mut [Node]) {
    let count = nodes.len();
    // What springs did to the node before, bend springs to the one before and the one before that; and what elimination has made of the node before.
    let ([mut px, mut py, mut pz], mut g_before) = ([ZERO; 3], ZERO);
    let ([mut qx, mut qy, mut qz], [mut rx, mut ry, mut rz]) = ([ZERO; 3], [ZERO; 3]);
    let ([mut ux, mut uy, mut uz], mut ratio_before) = ([ZERO; 3], ZERO);
    for s in 0..count {
        let next = (s + 1).min(count - 1);
        let ([fx, fy, fz], rest_next) = (nodes[next].e, nodes[next].rest);
        let node = &mut nodes[s];
        let ([ex, ey, ez], [dx, dy, dz]) = (&node.e, &node.d);
        let (w, rest, k, over, across, pulled) =
            (&node.w, &node.rest, &node.bend, &node.over, &node.across, &node.pull);
        let (mut pull, mut g_here, mut held) = (ZERO, ZERO, ZERO);
        let [mut x, mut y, mut z] = [ZERO; 3];
        for l in 0..GROUP {
            // A yarn that is pushed doesn't go on pushing: that would not be stable.
            let tension = pulled[l].max(0.0);
            let length = (ex[l] * ex[l] + ey[l] * ey[l] + ez[l] * ez[l]).sqrt();
            let g = tension * if FIRST { 1.0 / length.max(SHORT) } else { over[l] };
            let (low, high) = (w[l] * g_before[l], w[l] * g);
            let heavy = low + high;
            let along = (g * ex[l], g * ey[l], g * ez[l]);
            let far = (ex[l] + fx[l], ey[l] + fy[l], ez[l] + fz[l]);
            let length = (far.0 * far.0 + far.1 * far.1 + far.2 * far.2).sqrt();
            let force = (length - (rest[l] + rest_next[l])) * k[l] / length.max(SHORT);
            let aside = (far.0 * force, far.1 * force, far.2 * force);
            let by = (
                w[l] * ((along.0 - px[l]) + (aside.0 - qx[l])),
                w[l] * ((along.1 - py[l]) + (aside.1 - qy[l])),
                w[l] * ((along.2 - pz[l]) + (aside.2 - qz[l])),
            );
            (px[l], py[l], pz[l]) = along;
            (qx[l], qy[l], qz[l]) = (rx[l], ry[l], rz[l]);
            (rx[l], ry[l], rz[l]) = aside;
            if RELAX {
                let inverse = 1.0 / (1.0 + across[l] + (heavy - low * ratio_before[l]));
                ux[l] = (dx[l] + by.0 + low * ux[l]) * inverse;
                uy[l] = (dy[l] + by.1 + low * uy[l]) * inverse;
                uz[l] = (dz[l] + by.2 + low * uz[l]) * inverse;
                ratio_before[l] = high * inverse;
            } else {
                (x[l], y[l], z[l]) = by;
            }
            (pull[l], held[l], g_here[l], g_before[l]) = (tension, heavy, g, g);
        }
        (node.pull, node.over, node.heavy) = (pull, g_here, held);
        node.d = if RELAX { [ux, uy, uz] } else { [x, y, z] };
        if RELAX {
            node.ratio = ratio_before;
        }
    }
}

/// The way back.
#[inline(always)]
pub(super) fn relax_back(nodes: &mut [Node]) {
    let [mut x, mut y, mut z] = [ZERO; 3];
    for node in nodes.iter_mut().rev() {
        let ([dx, dy, dz], ratio) = (&node.d, &node.ratio);
        for l in 0..GROUP {
            x[l] = dx[l] + ratio[l] * x[l];
            y[l] = dy[l] + ratio[l] * y[l];
            z[l] = dz[l] + ratio[l] * z[l];
        }
        node.d = [x, y, z];
    }
}

/// What is left to do after the wefts, for warps that were moved by d with them, the way there: with r = (1 + w L + 2 D)⁻¹ (2 D' − w L) d, D' their own and D that of the wefts, they are moved by d + r, which is
/// (1 + w L + 2 D)⁻¹ (1 + 2 D + 2 D') d. Where a warp has a particle of its own d is what pulls at it, D and D' on the right are zero. [`eliminate`] begins with the way back.
#[inline(always)]
pub(super) fn relax_rest(nodes: &mut [Node]) {
    let (mut g_before, mut ratio_before, [mut x, mut y, mut z]) = (ZERO, ZERO, [ZERO; 3]);
    for node in nodes {
        let ([dx, dy, dz], w, over, heavy) = (&node.d, &node.w, &node.over, &node.heavy);
        let across = &node.across;
        for l in 0..GROUP {
            let g = over[l];
            let (low, high) = (w[l] * g_before[l], w[l] * g);
            let inverse = 1.0 / (1.0 + across[l] + (low + high - low * ratio_before[l]));
            let all = 1.0 + across[l] + 2.0 * heavy[l];
            x[l] = (dx[l] * all + low * x[l]) * inverse;
            y[l] = (dy[l] * all + low * y[l]) * inverse;
            z[l] = (dz[l] * all + low * z[l]) * inverse;
            (g_before[l], ratio_before[l]) = (g, high * inverse);
        }
        (node.d, node.ratio) = ([x, y, z], ratio_before);
    }
}

/// What tensions are still missing, from the last spring to the first, where particles have been moved by d; with `RELAXED` the way back of [`relax_rest`] first. `buckle` is one over the share of stiffness that pushed springs have.
#[inline(always)]
pub(super) fn eliminate<const RELAXED: bool>(nodes: &mut [Node], buckle: f32) {
    // What a spring knows of the next one: how its first node is moved and how heavy that is, its direction (nothing if it is cut), and its row.
    let ([mut x, mut y, mut z], [mut nx, mut ny, mut nz]) = ([ZERO; 3], [ZERO; 3]);
    let (mut w_next, mut row, mut found) = (ZERO, ZERO, ZERO);
    for node in nodes.iter_mut().rev() {
        let ([ex, ey, ez], [dx, dy, dz], ratio, w) = (&node.e, &node.d, &node.ratio, &node.w);
        let (rest, soft, live, pull) = (&node.rest, &node.soft, &node.live, &node.pull);
        let (mut over, mut kept) = (ZERO, ZERO);
        for l in 0..GROUP {
            let from = if RELAXED {
                (dx[l] + ratio[l] * x[l], dy[l] + ratio[l] * y[l], dz[l] + ratio[l] * z[l])
            } else {
                (dx[l], dy[l], dz[l])
            };
            let along = (ex[l] + (x[l] - from.0), ey[l] + (y[l] - from.1), ez[l] + (z[l] - from.2));
            let length = (along.0 * along.0 + along.1 * along.1 + along.2 * along.2).sqrt();
            let per = 1.0 / length.max(SHORT);
            let unit = per * live[l];
            let here = (along.0 * unit, along.1 * unit, along.2 * unit);
            let stretched = (length - rest[l]) * live[l];
            // A spring that pulled a moment ago is as stiff as it was; else it would give way in both directions.
            let pushed = (stretched < 0.0) & (pull[l] <= 0.0);
            let softness = if pushed { soft[l] * buckle } else { soft[l] };
            let missing = stretched - softness * pull[l];
            let straight = nx[l] * here.0 + ny[l] * here.1 + nz[l] * here.2;
            let coupled = 0.0 - w_next[l] * straight;
            kept[l] = coupled * row[l];
            let inverse = 1.0 / (w[l] + w_next[l] + softness - coupled * kept[l]);
            found[l] = (missing - coupled * found[l]) * inverse;
            (x[l], y[l], z[l]) = from;
            (nx[l], ny[l], nz[l]) = here;
            (row[l], w_next[l], over[l]) = (inverse, w[l], per);
        }
        (node.e, node.over, node.across, node.ratio) = ([nx, ny, nz], over, found, kept);
        if RELAXED {
            node.d = [x, y, z];
        }
    }
}

/// The way back: forces, and what they move. `first` in the first substep of a step, from which on tensions are summed.
#[inline(always)]
pub(super) fn substitute(nodes: &mut [Node], first: bool) {
    let sums = if first { 0.0 } else { 1.0 };
    let ([mut px, mut py, mut pz], mut force, mut kept) = ([ZERO; 3], ZERO, ZERO);
    for node in nodes {
        let ([nx, ny, nz], w, found, ratio) = (&node.e, &node.w, &node.across, &node.ratio);
        let (mut pull, mut sum, [mut x, mut y, mut z]) = (node.pull, node.tension, node.d);
        for l in 0..GROUP {
            let f = found[l] - kept[l] * force[l];
            pull[l] += f;
            sum[l] = sum[l] * sums + pull[l];
            let here = (nx[l] * f, ny[l] * f, nz[l] * f);
            x[l] += w[l] * (here.0 - px[l]);
            y[l] += w[l] * (here.1 - py[l]);
            z[l] += w[l] * (here.2 - pz[l]);
            (px[l], py[l], pz[l]) = here;
            (force[l], kept[l]) = (f, ratio[l]);
        }
        (node.pull, node.tension, node.d) = (pull, sum, [x, y, z]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::{Width, Work, run_at};
    use crate::math::hash_unit;

    /// Single precision knows numbers of about one to 6e-8; what is tested below has gone through some ten operations.
    const EXACT: f64 = 1e-6;

    /// A zigzag of `count` nodes, the first held, springs of about one metre and 10 N/m; lane 3 has its fifth spring cut.
    fn zigzag(count: usize, h2: f64) -> Vec<Node> {
        let mut nodes = vec![Node::NONE; count];
        for s in 0..count {
            for l in 0..GROUP {
                let at = |s: usize, a: usize| {
                    let aside = 0.4 * hash_unit(l as u64, (3 * s + a) as u64);
                    if a == 0 { s as f64 + aside } else { aside }
                };
                let (node, there) = (&mut nodes[s], s + 1 < count);
                node.w[l] = if s == 0 { 0.0 } else { 2.0 };
                node.live[l] = if !there || (l == 3 && s == 5) { 0.0 } else { 1.0 };
                (node.rest[l], node.soft[l]) = (1.0, (1.0 / (10.0 * h2)) as f32);
                node.bend[l] = if s + 2 < count { 0.04 } else { 0.0 };
                (0..3).for_each(|a| node.e[a][l] = if there { (at(s + 1, a) - at(s, a)) as f32 } else { 0.0 });
            }
        }
        nodes
    }

    /// The same, with this tension times h² in all springs.
    fn taut(count: usize, pull: f32) -> Vec<Node> {
        let mut nodes = zigzag(count, 1e-2);
        nodes.iter_mut().for_each(|node| node.pull = node.live.map(|live| live * pull));
        nodes
    }

    fn d(nodes: &[Node], s: usize, axis: usize, lane: usize) -> f64 {
        f64::from(nodes[s].d[axis][lane])
    }

    /// w L d at a node, by the definition, with λ/length as `pull_on` leaves it.
    fn laplacian(nodes: &[Node], s: usize, axis: usize, lane: usize) -> f64 {
        let force = |s: usize| f64::from(nodes[s].over[lane]) * (d(nodes, s + 1, axis, lane) - d(nodes, s, axis, lane));
        let before = if s > 0 { force(s - 1) } else { 0.0 };
        let after = if s + 1 < nodes.len() { force(s) } else { 0.0 };
        f64::from(nodes[s].w[lane]) * (before - after)
    }

    #[test]
    fn the_equations_are_solved_and_what_is_cut_pulls_nothing() {
        let (count, h2) = (40, 1e-2);
        let from = zigzag(count, h2);
        let mut nodes = from.clone();
        eliminate::<false>(&mut nodes, 1.0);
        substitute(&mut nodes, true);
        for l in 0..GROUP {
            let direction = |s: usize| {
                let e = from[s].e.map(|e| f64::from(e[l]));
                let length = e.iter().map(|c| c * c).sum::<f64>().sqrt();
                (e.map(|c| c / length), length)
            };
            for s in 0..count - 1 {
                // Linearised length after the move, less rest length, is what the force stretches the spring by.
                let (n, length) = direction(s);
                let longer = (0..3).map(|a| n[a] * (d(&nodes, s + 1, a, l) - d(&nodes, s, a, l))).sum::<f64>();
                let force = f64::from(nodes[s].pull[l]) / h2;
                if from[s].live[l] == 0.0 {
                    assert_eq!(force, 0.0);
                } else {
                    let left = length + longer - 1.0 - force / 10.0;
                    assert!(left.abs() < EXACT, "spring {s} of yarn {l}: {left}");
                }
                assert_eq!(nodes[s].tension[l], nodes[s].pull[l]);
            }
            // The held end takes up what the first spring pulls with; nothing else is lost.
            for (a, n) in direction(0).0.into_iter().enumerate() {
                let moved = (1..count).map(|s| d(&nodes, s, a, l) / f64::from(nodes[s].w[l])).sum::<f64>();
                let lost = moved + n * f64::from(nodes[0].pull[l]);
                assert!(lost.abs() < EXACT, "{lost}");
            }
        }
    }

    #[test]
    fn bend_springs_keep_momentum_and_straight_yarns() {
        let mut straight = zigzag(9, 1e-2);
        straight.iter_mut().for_each(|node| node.e = [[1.0; GROUP], ZERO, ZERO]);
        pull_on::<false, true>(&mut straight);
        assert!(straight.iter().all(|node| node.d == [ZERO; 3]));
        let mut nodes = zigzag(9, 1e-2);
        nodes[0].w = [2.0; GROUP];
        pull_on::<false, true>(&mut nodes);
        for a in 0..3 {
            assert!((0..9).map(|s| d(&nodes, s, a, 1)).sum::<f64>().abs() < EXACT);
        }
        assert!((0..9).any(|s| d(&nodes, s, 1, 1).abs() > 1e-3));
    }

    #[test]
    fn what_tensions_move_is_what_they_pull_at_the_end() {
        let count = 30;
        let mut pulled = taut(count, 0.3);
        pulled.iter_mut().for_each(|node| node.bend = ZERO);
        let mut moved = pulled.clone();
        pull_on::<false, true>(&mut pulled);
        // (1 + 2 D + w L) d = what pulls, and what has moved particles besides.
        for (s, node) in moved.iter_mut().enumerate() {
            (node.across, node.d[2]) = ([0.1 * s as f32; GROUP], [0.01 * s as f32; GROUP]);
        }
        pull_on::<true, true>(&mut moved);
        relax_back(&mut moved);
        for s in 0..count {
            for l in 0..GROUP {
                for a in 0..3 {
                    let law = d(&pulled, s, a, l) + if a == 2 { 0.01 * s as f64 } else { 0.0 };
                    let sides = (1.0 + 0.1 * s as f64) * d(&moved, s, a, l) + laplacian(&moved, s, a, l);
                    assert!((sides - law).abs() < EXACT, "{sides} instead of {law}");
                }
            }
        }
        assert!((0..count).any(|s| d(&moved, s, 1, 1).abs() > 1e-2));
        // What is left after a turn of the others, d + r: (1 + 2 D + w L) r = 2 D' d − w L d; what has a particle of its own isn't moved or held by them.
        (moved[7].across, moved[7].heavy) = (ZERO, ZERO);
        let (mut rest, mut shared) = (moved.clone(), moved.clone());
        shared[7].d = [ZERO; 3];
        relax_rest(&mut rest);
        eliminate::<true>(&mut rest, 1.0);
        for l in 0..GROUP {
            for a in 0..3 {
                let mut r = moved.clone();
                (0..count).for_each(|s| r[s].d[a][l] = rest[s].d[a][l] - shared[s].d[a][l]);
                for s in 0..count {
                    let own = if s == 7 { d(&moved, s, a, l) } else { 0.0 };
                    let held = 2.0 * f64::from(moved[s].heavy[l]) * d(&moved, s, a, l);
                    let law = own + held - laplacian(&shared, s, a, l);
                    let sides = (1.0 + f64::from(moved[s].across[l])) * d(&r, s, a, l) + laplacian(&r, s, a, l);
                    assert!((sides - law).abs() < EXACT, "{sides} instead of {law}");
                }
            }
        }
    }

    /// A substep of one group.
    struct All<'a>(&'a mut [Node]);

    impl Work for All<'_> {
        #[inline(always)]
        fn run(self) {
            pull_on::<true, true>(self.0);
            relax_back(self.0);
            relax_rest(self.0);
            eliminate::<true>(self.0, 8.0);
            substitute(self.0, true);
        }
    }

    #[test]
    fn the_width_of_vectors_changes_no_bit() {
        let at = |width| {
            let mut nodes = taut(30, 0.01);
            run_at(width, All(&mut nodes));
            nodes.iter().flat_map(|node| [node.d[0], node.d[1], node.d[2], node.pull]).collect::<Vec<_>>()
        };
        assert_eq!(at(Width::Narrow), at(Width::Four));
        assert_eq!(at(Width::Narrow), at(Width::Eight));
    }
}
