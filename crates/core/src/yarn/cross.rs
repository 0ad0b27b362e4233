//! All yarns of a substep, and what warps and wefts tell each other where they cross.
//!
//! Yarns are computed in groups, one in each lane ([`super::line`]). A group of warps and one of wefts meet in a square of crossings; what one has found there goes to the other as that square, turned: rows become
//! lanes. So nothing goes by way of tables of its own, and a group reads what it needs of the others once. All crossings are taken for one particle at first; those that are two are put right one by one ([`Own`]).
//!
//! Positions are kept in double precision. What yarns are solved with are differences of them, taken before they are rounded: springs where inertia alone takes their ends, and how far particles are moved
//! from there. Both are known to one part in ten million in single precision, a spring of a millimetre to 0.1 nm; positions themselves would be known to 10 nm, which is 1e-5 of a spring.

use super::line::{Block, GROUP, Lane, Node, ZERO, eliminate, pull_on, relax_back, relax_rest, substitute};
use super::points::Points;
use super::sheet::{Rows, between, for_each_part};
use super::slide;
use super::state::{Kind, Woven};
use crate::lanes::{self, LANES, Work};
use glam::{Mat4, Vec4};

/// A yarn at a crossing of two particles, in its group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own {
    /// Its place along the yarn.
    pub at: u32,
    pub lane: u32,
    pub crossing: u32,
    /// What is kept of it meanwhile [m].
    pub d: [f32; 3],
}

/// Turns a square of crossings, four by four: `of(r, c)` has numbers c to c + 3 of row r, `put(c, r, …)` gets numbers r to r + 3 of column c.
#[inline(always)]
fn turn(of: impl Fn(usize, usize) -> Vec4, mut put: impl FnMut(usize, usize, [f32; 4])) {
    for r in (0..GROUP).step_by(4) {
        for c in (0..GROUP).step_by(4) {
            let columns = Mat4::from_cols(of(r, c), of(r + 1, c), of(r + 2, c), of(r + 3, c)).transpose();
            for k in 0..4 {
                put(c + k, r, columns.col(k).to_array());
            }
        }
    }
}

/// [`turn`], into a lane of every node of a group: as many as there are.
#[inline(always)]
fn turn_into(nodes: &mut [Node], lane: impl Fn(&mut Node) -> &mut Lane, of: impl Fn(usize, usize) -> Vec4) {
    match nodes.first_chunk_mut::<GROUP>() {
        Some(all) => turn(of, |k, l, four| lane(&mut all[k])[l..l + 4].copy_from_slice(&four)),
        None => turn(of, |k, l, four| {
            if let Some(node) = nodes.get_mut(k) {
                lane(node)[l..l + 4].copy_from_slice(&four);
            }
        }),
    }
}

/// Number `g` of the squares of a strip, by rows.
#[inline(always)]
fn square(strip: &Strip, g: usize) -> [&Lane; GROUP] {
    let mut rows = [&ZERO; GROUP];
    for l in 0..GROUP {
        rows[l] = strip[l][g * GROUP..].first_chunk().expect("strips are made of squares");
    }
    rows
}

/// Four numbers from `first` on.
#[inline(always)]
fn four(numbers: &Lane, first: usize) -> Vec4 {
    let n = &numbers[first..first + 4];
    Vec4::new(n[0], n[1], n[2], n[3])
}

/// What all groups see of the cloth.
#[derive(Clone, Copy)]
struct Seen<'a> {
    kind: &'a [Kind],
    /// Where inertia takes particles.
    guess: &'a Points,
    warps: usize,
    wefts: usize,
    /// One over the share of stiffness that pushed springs have.
    buckle: f32,
    /// The first substep of a step.
    first: bool,
}

impl Seen<'_> {
    /// Row `l` of a group of wefts; past the last one that again.
    #[inline(always)]
    fn row(self, group: usize, l: usize) -> usize {
        (group * GROUP + l).min(self.wefts - 1)
    }

    /// The particle of a weft.
    #[inline(always)]
    fn particle(self, c: usize) -> usize {
        if self.kind[c].is_one() { c } else { c + self.kind.len() }
    }
}

/// What pulls at a group of warps, where inertia takes them.
pub(super) struct Pull<'a> {
    pub nodes: &'a mut [Node],
    pub group: usize,
    /// Where inertia takes particles.
    pub guess: &'a Points,
    pub warps: usize,
    /// The first substep of a step.
    pub first: bool,
}

impl Work for Pull<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { nodes, group, guess, warps, first } = self;
        let count = nodes.len();
        let (begin, end) = (group * GROUP, ((group + 1) * GROUP).min(warps));
        for (axis, column) in guess.0.iter().enumerate() {
            let rows = column[..count * warps].chunks_exact(warps);
            for ((here, next), node) in rows.clone().zip(rows.skip(1)).zip(&mut *nodes) {
                let (here, next) = (&here[begin..end], &next[begin..end]);
                let mut e = [0.0; GROUP];
                if let (Some(here), Some(next)) = (here.first_chunk::<GROUP>(), next.first_chunk::<GROUP>()) {
                    for l in 0..GROUP {
                        e[l] = (next[l] - here[l]) as f32;
                    }
                } else {
                    for (l, e) in e.iter_mut().enumerate() {
                        let l = l.min(here.len() - 1);
                        *e = (next[l] - here[l]) as f32;
                    }
                }
                node.e[axis] = e;
            }
        }
        pull::<false>(nodes, first);
    }
}

/// [`pull_on`], as the first substep of a step needs it or another one.
#[inline(always)]
fn pull<const RELAX: bool>(nodes: &mut [Node], first: bool) {
    if first {
        pull_on::<RELAX, true>(nodes);
    } else {
        pull_on::<RELAX, false>(nodes);
    }
}

/// Numbers of some crossings of the rows of a group of wefts.
type Strip = [[f32; LANES]; GROUP];

/// Nothing at all of them.
const NOTHING: Strip = [[0.0; LANES]; GROUP];

/// Groups of warps in a strip.
const GROUPS: usize = LANES / GROUP;

/// Wefts of a group go on with the tensions that they have, and what pulls at warps with them.
struct GoOn<'a> {
    nodes: &'a mut [Node],
    group: usize,
    own: &'a [Own],
    /// All warps.
    across: &'a [Block],
    /// Where all but tensions has brought particles.
    at: &'a Points,
    seen: Seen<'a>,
}

impl Work for GoOn<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { nodes, group, own, across, at, seen } = self;
        let (mut e, mut d) = (NOTHING, NOTHING);
        for (strip, (nodes, across)) in nodes.chunks_mut(LANES).zip(across.chunks(GROUPS)).enumerate() {
            let count = nodes.len();
            let mut beside = [[&across[0].nodes[0]; GROUP]; GROUPS];
            for (beside, across) in beside.iter_mut().zip(across) {
                for l in 0..GROUP {
                    beside[l] = &across.nodes[seen.row(group, l)];
                }
            }
            for axis in 0..3 {
                for l in 0..GROUP {
                    let begin = seen.row(group, l) * seen.warps;
                    let row = begin + strip * LANES..begin + strip * LANES + count;
                    let from = &seen.guess.0[axis][row.clone()];
                    d[l] = between(from, &at.0[axis][row.clone()]);
                    // There is no spring after the last node.
                    let springs = row.end.min(begin + seen.warps - 1) - row.start;
                    e[l] = between(&from[..springs], &seen.guess.0[axis][row.start + 1..row.start + 1 + springs]);
                }
                for (g, (nodes, beside)) in nodes.chunks_mut(GROUP).zip(&beside).enumerate() {
                    let (e, d) = (square(&e, g), square(&d, g));
                    turn_into(nodes, |node| &mut node.e[axis], |l, k| four(e[l], k));
                    turn_into(nodes, |node| &mut node.d[axis], |l, k| four(d[l], k) + four(&beside[l].d[axis], k));
                }
            }
            for (nodes, beside) in nodes.chunks_mut(GROUP).zip(&beside) {
                turn_into(nodes, |node| &mut node.across, |l, k| 2.0 * four(&beside[l].heavy, k));
            }
        }
        for own in own {
            own.begin(nodes, at, seen);
        }
        pull::<true>(nodes, seen.first);
        relax_back(nodes);
    }
}

impl Own {
    /// The weft isn't moved or held by the warp, and its springs go to a particle of its own.
    fn begin(&self, nodes: &mut [Node], at: &Points, seen: Seen<'_>) {
        let (s, l, c) = (self.at as usize, self.lane as usize, self.crossing as usize);
        for axis in 0..3 {
            let (guess, p) = (&seen.guess.0[axis], seen.particle(c));
            nodes[s].d[axis][l] = (at.0[axis][p] - guess[p]) as f32;
            if s + 1 < nodes.len() {
                nodes[s].e[axis][l] = (guess[seen.particle(c + 1)] - guess[p]) as f32;
            }
            if s > 0 {
                nodes[s - 1].e[axis][l] = (guess[p] - guess[seen.particle(c - 1)]) as f32;
            }
        }
        nodes[s].across[l] = 0.0;
    }

    /// Keeps what moves it, or brings it back and keeps what moves the other yarn instead.
    fn swap(&mut self, node: &mut Node) {
        for (kept, d) in self.d.iter_mut().zip(&mut node.d) {
            std::mem::swap(kept, &mut d[self.lane as usize]);
        }
    }
}

/// Warps of a group: what is left of the tensions that they have, then what is missing.
struct Warps<'a> {
    nodes: &'a mut [Node],
    group: usize,
    own: &'a mut [Own],
    /// All wefts.
    across: &'a [Block],
    /// Where all but tensions has brought particles.
    at: &'a Points,
    seen: Seen<'a>,
}

impl Work for Warps<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { nodes, group, own, across, at, seen } = self;
        for own in &mut *own {
            own.swap(&mut nodes[own.at as usize]);
        }
        for (nodes, across) in nodes.chunks_mut(GROUP).zip(across) {
            let mut beside = [&across.nodes[0]; GROUP];
            for k in 0..GROUP {
                beside[k] = &across.nodes[(group * GROUP + k).min(seen.warps - 1)];
            }
            for axis in 0..3 {
                turn_into(nodes, |node| &mut node.d[axis], |k, l| four(&beside[k].d[axis], l));
            }
            turn_into(nodes, |node| &mut node.across, |k, l| 2.0 * four(&beside[k].heavy, l));
        }
        for own in own {
            let (node, l, c) = (&mut nodes[own.at as usize], own.lane as usize, own.crossing as usize);
            own.swap(node);
            for axis in 0..3 {
                node.d[axis][l] += (at.0[axis][c] - seen.guess.0[axis][c]) as f32;
            }
            // The weft doesn't hold it, and it has not been moved by the weft.
            (node.across[l], node.heavy[l]) = (0.0, 0.0);
        }
        relax_rest(nodes);
        eliminate::<true>(nodes, seen.buckle);
        substitute(nodes, seen.first);
    }
}

/// Wefts of a group, where warps have come: what is missing. Then particles go there.
struct Wefts<'a, 'b> {
    nodes: &'a mut [Node],
    group: usize,
    own: &'a mut [Own],
    /// All warps.
    across: &'a [Block],
    /// Where particles go: those of warps, and those of wefts that have their own.
    to: &'a mut [Rows<'b>; 2],
    seen: Seen<'a>,
}

impl Work for Wefts<'_, '_> {
    #[inline(always)]
    fn run(self) {
        let Self { nodes, group, own, across, to, seen } = self;
        for own in &mut *own {
            own.swap(&mut nodes[own.at as usize]);
        }
        for (nodes, across) in nodes.chunks_mut(GROUP).zip(across) {
            let mut beside = [&across.nodes[0]; GROUP];
            for l in 0..GROUP {
                beside[l] = &across.nodes[seen.row(group, l)];
            }
            for axis in 0..3 {
                turn_into(nodes, |node| &mut node.d[axis], |l, k| four(&beside[l].d[axis], k));
            }
        }
        for own in &mut *own {
            own.swap(&mut nodes[own.at as usize]);
        }
        eliminate::<false>(nodes, seen.buckle);
        substitute(nodes, seen.first);
        let (begin, rows) = (group * GROUP * seen.warps, to[0][0].len() / seen.warps);
        let mut d = NOTHING;
        for (strip, nodes) in nodes.chunks(LANES).enumerate() {
            for axis in 0..3 {
                for (g, nodes) in nodes.chunks(GROUP).enumerate() {
                    let of = |k: usize, l: usize| four(&nodes[k.min(nodes.len() - 1)].d[axis], l);
                    turn(of, |l, k, four| d[l][g * GROUP + k..g * GROUP + k + 4].copy_from_slice(&four));
                }
                for (l, d) in d.iter().enumerate().take(rows) {
                    let first = l * seen.warps + strip * LANES;
                    let count = nodes.len();
                    let to = &mut to[0][axis][first..first + count];
                    let from = &seen.guess.0[axis][begin + first..begin + first + count];
                    if let (Some(to), Some(from)) = (to.first_chunk_mut::<LANES>(), from.first_chunk::<LANES>()) {
                        for i in 0..LANES {
                            to[i] = from[i] + f64::from(d[i]);
                        }
                    } else {
                        for i in 0..count {
                            to[i] = from[i] + f64::from(d[i]);
                        }
                    }
                }
            }
        }
        let half = seen.kind.len();
        for own in own {
            let (node, c) = (&nodes[own.at as usize], own.crossing as usize);
            for axis in 0..3 {
                let (low, high) = (f64::from(own.d[axis]), f64::from(node.d[axis][own.lane as usize]));
                to[0][axis][c - begin] = seen.guess.0[axis][c] + low;
                to[1][axis][c - begin] = seen.guess.0[axis][c + half] + high;
            }
        }
    }
}

impl Woven {
    /// All yarns, in the first substep of a step or another one. First both families go on with the tensions that they have (what pulls at warps is known from `shear`), then warps and after them wefts get
    /// what is missing, and flow through the crossings that they slide through ([`super::slide`]).
    pub(super) fn solve_lines(&mut self, first_substep: bool) {
        let by = self.flow();
        let Self { at, spec, kind, tables, .. } = self;
        let super::tables::Tables { warps, wefts, guess, own: [warp_own, weft_own], slides, .. } = tables;
        let [warp_slides, weft_slides] = slides;
        let half = kind.len();
        let buckle = (1.0 / spec.compression) as f32;
        let seen = Seen { kind, guess, warps: spec.warps, wefts: spec.wefts, buckle, first: first_substep };
        let (across, from) = (&*warps, &*at);
        let groups = wefts.iter_mut().zip(&*weft_own).enumerate().collect();
        for_each_part(groups, half, |(group, (block, own))| {
            lanes::run(GoOn { nodes: &mut block.nodes, group, own, across, at: from, seen });
        });
        let across = &*wefts;
        let groups = warps.iter_mut().zip(warp_own).zip(warp_slides).enumerate().collect();
        for_each_part(groups, half, |(group, ((block, own), slides))| {
            lanes::run(Warps { nodes: &mut block.nodes, group, own, across, at: from, seen });
            slide::flow(slides, block, by);
        });
        let across = &*warps;
        let rows = at.halves(half, GROUP * spec.warps);
        let groups = wefts.iter_mut().zip(weft_own).zip(weft_slides).zip(rows).enumerate().collect();
        for_each_part(groups, half, |(group, (((block, own), slides), mut to))| {
            lanes::run(Wefts { nodes: &mut block.nodes, group, own, across, to: &mut to, seen });
            slide::flow(slides, block, by);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use crate::math::{Vec3, hash_unit};
    use crate::yarn::{Family, Spec};

    #[test]
    fn squares_are_turned() {
        let rows: Vec<[f32; GROUP]> = (0..GROUP).map(|r| std::array::from_fn(|c| (10 * r + c) as f32)).collect();
        // All of them, and fewer than a group has.
        for count in [GROUP, 5] {
            let mut nodes = Block::new(count).nodes;
            turn_into(&mut nodes, |node| &mut node.heavy, |r, c| four(&rows[r], c));
            for (c, node) in nodes.iter().enumerate() {
                assert_eq!(node.heavy, std::array::from_fn(|r| (10 * r + c) as f32));
            }
        }
    }

    const WARPS: usize = 45;
    const COUNT: usize = WARPS * 19;

    /// A crumpled cloth whose last groups aren't full, torn in some places, its yarns taut by up to `tension` [N], after a substep: how far its particles were moved. Counted from the last yarn if `back`.
    fn moved(tension: f64, back: bool) -> (Woven, Points) {
        let mut spec = Spec::muslin(WARPS, 19);
        (spec.gravity, spec.air, spec.shear) = (Vec3::ZERO, 0.0, 0.0);
        let size = 0.2 * spec.spacing;
        let mut cloth = Woven::new(spec, Placement::default()).unwrap();
        let number = |c: usize| if back { COUNT - 1 - c } else { c };
        cloth.split(&[47, 190, 191, 192, 235, 300, 854].map(number), Kind::Disconnected);
        let (warp, segment) = if back { (WARPS - 1 - 8, 17 - 9) } else { (8, 9) };
        cloth.cut(Family::Warp, warp, segment, 1.0, false);
        let h = 5e-4;
        let (way, end) = if back { (-1.0, cloth.at.get(COUNT - 1)) } else { (1.0, Vec3::ZERO) };
        for grid in 0..2 {
            for c in 0..COUNT {
                let r = |k| hash_unit(11 + grid, 3 * c as u64 + k) - 0.5;
                let flat = Vec3::new((c % WARPS) as f64, (c / WARPS) as f64, 0.0) * cloth.spec.spacing;
                let x = flat + Vec3::new(r(0), r(1), r(2)) * size;
                cloth.at.set(number(c) + grid as usize * COUNT, end + x * way);
            }
        }
        for c in 0..COUNT {
            let pull = |k: u64| tension * h * h * hash_unit(12 + k, c as u64);
            // A spring begins at its other end if counted back.
            let begins = |stride: usize| if back { (COUNT - 1).checked_sub(c + stride) } else { Some(c) };
            begins(WARPS).into_iter().for_each(|c| cloth.warp.pull[c] = pull(0));
            begins(1).into_iter().for_each(|c| cloth.weft.pull[c] = pull(1));
        }
        cloth.follow(h);
        let before = cloth.at.clone();
        cloth.predict(h, true);
        cloth.shear(h, Some(true));
        cloth.solve_lines(true);
        let mut by = Points::zeros(2 * COUNT);
        for grid in [0, COUNT] {
            for c in 0..COUNT {
                let p = number(c) + grid;
                by.set(c + grid, (cloth.at.get(p) - before.get(p)) * way);
            }
        }
        (cloth, by)
    }

    #[test]
    fn forces_come_in_pairs() {
        let (cloth, by) = moved(0.0, false);
        let w = &cloth.tables.w;
        let used = (0..2 * COUNT).filter(|&p| w[p] > 0.0);
        let (sum, all) = used.fold((Vec3::ZERO, 0.0), |(sum, all), p| {
            let by = by.get(p) / w[p];
            (sum + by, all + by.length())
        });
        assert!(all > 0.01 * cloth.spec.spacing * cloth.spec.node_mass() * COUNT as f64);
        // Each is known to 1e-7 of what it is.
        assert!(sum.length() < 1e-7 * all, "{} of {all}", sum.length());
    }

    #[test]
    fn it_does_not_matter_where_yarns_are_counted_from() {
        let ((cloth, there), (_, back)) = (moved(2e-4, false), moved(2e-4, true));
        let used = (0..2 * COUNT).filter(|&p| cloth.tables.w[p] > 0.0);
        let far = used.clone().map(|p| there.get(p).length()).fold(0.0, f64::max);
        assert!(far > 0.05 * cloth.spec.spacing);
        // Elimination goes the other way, and springs are known to 6e-8 of their length; some ten roundings.
        for p in used {
            let (a, b) = (there.get(p), back.get(p));
            assert!(a.distance(b) < 1e-6 * cloth.spec.spacing, "particle {p}: {a} and {b}");
        }
    }
}
