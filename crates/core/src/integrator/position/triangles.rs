//! Triangles of a membrane as vector code: the loop in which position-based integrators spend their time on sheets of finite elements.
//!
//! Δλ and the moves are those of [`Place`](crate::potential::Place) for C = √(2U) and α = 1, in single precision, with U of the [membrane](crate::potential::Membrane) whose matrix C is
//! constant. With p = x₁ − x₀ and q = x₂ − x₀ everything follows from three products p·p, p·q and q·q:
//!
//! U·U = u₁² p·p + 2 u₁u₂ p·q + u₂² q·q, likewise V·V and U·V;  ∂U/∂x₁ = a p + b q,  ∂U/∂x₂ = b p + c q,  ∂U/∂x₀ = −(a + b) p − (b + c) q
//!
//! a = A (σ_uu u₁² + 2 σ_uv u₁v₁ + σ_vv v₁²),  b = A (σ_uu u₁u₂ + σ_uv (u₁v₂ + u₂v₁) + σ_vv v₁v₂),  c = A (σ_uu u₂² + 2 σ_uv u₂v₂ + σ_vv v₂²)
//!
//! Δx_k = −w_k ∂U/∂x_k (2U + γ Σ ∂U/∂x·(x − x₀) + α̃ λ C) / ((1 + γ) Σ w |∂U/∂x|² + 2U α̃)
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | u, v | `weights` | 1/m | weights r_u and r_v of the second and third node |
//! | A σ | `su`, `sv`, `ss` | N·m | stress times area |
//! | w, α̃, γ, λ | | | as in `potential/project.rs` |
//!
//! So there is no root, and of each triangle three nodes are read and written and three products taken. Nodes are read as vectors of four ([`Vec4`]): of arrays the compiler makes gathers of single numbers, for half as much time again. Differences at the beginning of the step are from double precision; blocks, windows and what reaches
//! farther are as in `springs.rs`.

use super::domain::{Places, WINDOW};
use super::windows::{self, Block as _, Filled, Numbers, WIDTH, Window, Windows};
use crate::lanes::{self, Work};
use crate::math::Vec3;
use crate::potential::{Elasticity, Shift, Triangle, narrow};
use glam::Vec4;

/// Blocks of one colour that are projected together at most, as for springs.
const RUN: usize = 8;

/// Triangles of one colour.
#[derive(Clone)]
struct Block {
    /// Places of the nodes in the window, times the bytes of a shift, so that they needn't be multiplied.
    nodes: [[u16; 3]; WIDTH],
    /// p and q at the beginning of the step [m].
    apart: [[Shift; 2]; WIDTH],
    /// u₁, u₂, v₁, v₂ [1/m].
    weights: [Numbers; 4],
    /// [m²]
    area: Numbers,
    /// U·U, U·V and V·V at rest.
    metric: [Numbers; 3],
    /// One over masses [1/kg].
    lightness: [Numbers; 3],
}

impl windows::Block<3> for Block {
    type Element = Triangle;

    const EMPTY: Self = Self {
        nodes: [[0; 3]; WIDTH],
        apart: [[[0.0; 4]; 2]; WIDTH],
        weights: [[0.0; WIDTH]; 4],
        area: [0.0; WIDTH],
        metric: [[0.0; WIDTH]; 3],
        lightness: [[0.0; WIDTH]; 3],
    };
    const RUN: usize = RUN;

    fn nodes(triangle: &mut Triangle) -> &mut [u32; 3] {
        &mut triangle.nodes
    }

    fn set(&mut self, lane: usize, triangle: Triangle) {
        self.nodes[lane] = triangle.nodes.map(|place| (place << 4) as u16);
        (0..4).for_each(|k| self.weights[k][lane] = triangle.weights[k] as f32);
        (0..3).for_each(|k| self.metric[k][lane] = triangle.metric[k] as f32);
        self.area[lane] = triangle.area as f32;
    }

    #[inline(always)]
    fn places(&self, lane: usize) -> [usize; 3] {
        const { assert!(WINDOW.is_power_of_two() && WINDOW <= 4096) };
        let [a, b, c] = self.nodes[lane];
        [a as usize >> 4 & (WINDOW - 1), b as usize >> 4 & (WINDOW - 1), c as usize >> 4 & (WINDOW - 1)]
    }

    fn begin(&mut self, lane: usize, [a, b, c]: [usize; 3], start: &[Vec3], inverse_mass: &[f64]) {
        self.apart[lane] = [narrow(start[b] - start[a]), narrow(start[c] - start[a])];
        for (k, n) in [a, b, c].into_iter().enumerate() {
            self.lightness[k][lane] = inverse_mass[n] as f32;
        }
    }
}

/// Blocks of one part.
type Blocks = Filled<Block, Triangle>;

impl Blocks {
    /// Projects all of them once. `again` if this is one of several iterations.
    fn sweep(&mut self, shift: &mut Window, before: &Window, again: bool, law: Law) {
        match (again, law.gamma != 0.0) {
            (false, false) => lanes::run(Sweep::<false, false> { blocks: self, shift, before, law }),
            (false, true) => lanes::run(Sweep::<false, true> { blocks: self, shift, before, law }),
            (true, false) => lanes::run(Sweep::<true, false> { blocks: self, shift, before, law }),
            (true, true) => lanes::run(Sweep::<true, true> { blocks: self, shift, before, law }),
        }
    }
}

/// Triangles that are projected together.
#[derive(Default)]
pub struct Triangles {
    windows: Windows<Blocks>,
    law: Law,
    /// Dashpot over spring [s].
    lag: f64,
}

/// What all triangles share.
#[derive(Clone, Copy, Default)]
struct Law {
    /// c₁₁, c₁₂, c₂₂, c₃₃ [N/m].
    c: [f32; 4],
    /// α̃ [1/s²].
    soft: f32,
    gamma: f32,
    /// Of a move that stands for several substeps, what comes in one of them; and the other way round.
    share: f32,
    onward: f32,
}

impl Triangles {
    /// Divides and colours triangles, in their order. `lag` is dashpot over spring [s].
    pub fn renew(&mut self, triangles: &[Triangle], elasticity: Elasticity, lag: f64, places: &Places) {
        let Elasticity { weft, across, warp, shear } = elasticity;
        (self.law.c, self.lag) = ([weft, across, warp, shear].map(|c| c as f32), lag);
        self.windows.renew(triangles, places);
    }

    /// Takes what stays the same in a step of substeps of `h` [s], each of whose projections stands for a time of `span` [s].
    pub fn begin(&mut self, start: &[Vec3], inverse_mass: &[f64], h: f64, span: f64) {
        (self.law.soft, self.law.gamma) = ((1.0 / (span * span)) as f32, (self.lag / span) as f32);
        (self.law.share, self.law.onward) = ((h / span) as f32, (span / h) as f32);
        self.windows.each(|blocks, nodes| blocks.begin(nodes, start, inverse_mass));
    }

    /// Forgets λ, before the first of several iterations.
    pub fn forget(&mut self) {
        self.windows.each(|blocks, _| blocks.forget());
    }

    /// Projects every triangle once; tables are of [whole windows](domain::padded). `again` if this is one of several iterations.
    pub fn sweep(&mut self, shift: &mut [Shift], before: &[Shift], again: bool) {
        let law = self.law;
        self.windows.sweep(shift, before, |blocks, shift, before| blocks.sweep(shift, before, again, law));
    }
}

/// The loop over blocks.
struct Sweep<'a, const AGAIN: bool, const DAMPED: bool> {
    blocks: &'a mut Blocks,
    shift: &'a mut Window,
    before: &'a Window,
    law: Law,
}

#[inline(always)]
fn less(a: Shift, b: Shift) -> Shift {
    (Vec4::from_array(a) - Vec4::from_array(b)).to_array()
}

#[inline(always)]
fn sum(a: Shift, b: Shift) -> Shift {
    (Vec4::from_array(a) + Vec4::from_array(b)).to_array()
}

/// a p + b q.
#[inline(always)]
fn along(p: Shift, a: f32, q: Shift, b: f32) -> Shift {
    [p[0] * a + q[0] * b, p[1] * a + q[1] * b, p[2] * a + q[2] * b, p[3] * a + q[3] * b]
}

#[inline(always)]
fn dot(a: Shift, b: Shift) -> f32 {
    (a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3])
}

impl<const AGAIN: bool, const DAMPED: bool> Work for Sweep<'_, AGAIN, DAMPED> {
    #[inline(always)]
    fn run(self) {
        let Self { blocks: Filled { blocks, lambda, runs, .. }, shift, before, law } = self;
        let Law { c: [c11, c12, c22, c33], soft, gamma, share, onward } = law;
        let mut p = [[[0.0; 4]; WIDTH]; RUN];
        let mut q = [[[0.0; 4]; WIDTH]; RUN];
        let mut went_p = [[[0.0; 4]; WIDTH]; RUN];
        let mut went_q = [[[0.0; 4]; WIDTH]; RUN];
        // Of the three nodes.
        let mut moves = [[[[0.0; 4]; WIDTH]; 3]; RUN];
        let (mut blocks, mut lambda) = (&blocks[..], &mut lambda[..]);
        for &count in &*runs {
            let (run, rest) = blocks.split_at((count as usize).min(RUN));
            let (run_lambda, rest_lambda) = lambda.split_at_mut(run.len());
            (blocks, lambda) = (rest, rest_lambda);
            for (k, block) in run.iter().enumerate() {
                for lane in 0..WIDTH {
                    let [a, b, c] = block.places(lane);
                    let (by_p, by_q) = (less(shift[b], shift[a]), less(shift[c], shift[a]));
                    p[k][lane] = sum(block.apart[lane][0], by_p);
                    q[k][lane] = sum(block.apart[lane][1], by_q);
                    if DAMPED {
                        went_p[k][lane] = less(by_p, less(before[b], before[a]));
                        went_q[k][lane] = less(by_q, less(before[c], before[a]));
                    }
                }
            }
            for (k, (block, lambda)) in run.iter().zip(run_lambda).enumerate() {
                let [u1, u2, v1, v2] = &block.weights;
                let [w0, w1, w2] = &block.lightness;
                let [move_0, move_1, move_2] = &mut moves[k];
                for lane in 0..WIDTH {
                    let (p, q) = (p[k][lane], q[k][lane]);
                    let (pp, pq, qq) = (dot(p, p), dot(p, q), dot(q, q));
                    let (u1, u2, v1, v2) = (u1[lane], u2[lane], v1[lane], v2[lane]);
                    let (u11, u12, u22) = (u1 * u1, u1 * u2, u2 * u2);
                    let (v11, v12, v22) = (v1 * v1, v1 * v2, v2 * v2);
                    let (m11, m12, m22) = (u1 * v1, u1 * v2 + u2 * v1, u2 * v2);
                    let e_u = 0.5 * ((u11 * pp + 2.0 * u12 * pq + u22 * qq) - block.metric[0][lane]);
                    let e_v = 0.5 * ((v11 * pp + 2.0 * v12 * pq + v22 * qq) - block.metric[2][lane]);
                    let e_s = (m11 * pp + m12 * pq + m22 * qq) - block.metric[1][lane];
                    let area = block.area[lane];
                    let su = area * (c11 * e_u + c12 * e_v);
                    let sv = area * (c12 * e_u + c22 * e_v);
                    let ss = area * (c33 * e_s);
                    let twice = su * e_u + sv * e_v + ss * e_s;
                    let a = su * u11 + 2.0 * ss * m11 + sv * v11;
                    let b = su * u12 + ss * m12 + sv * v12;
                    let c = su * u22 + 2.0 * ss * m22 + sv * v22;
                    let (d, e) = (a + b, b + c);
                    let size = |x: f32, y: f32| x * x * pp + 2.0 * x * y * pq + y * y * qq;
                    let give = w0[lane] * size(d, e) + w1[lane] * size(a, b) + w2[lane] * size(b, c);
                    let mut value = twice;
                    if DAMPED {
                        let (dp, dq) = (went_p[k][lane], went_q[k][lane]);
                        value += gamma * onward * (a * dot(p, dp) + b * (dot(q, dp) + dot(p, dq)) + c * dot(q, dq));
                    }
                    let root = if AGAIN { twice.max(0.0).sqrt() } else { 0.0 };
                    if AGAIN {
                        value += soft * lambda[lane] * root;
                    }
                    let part = value / ((1.0 + gamma) * give + soft * twice).max(f32::MIN_POSITIVE);
                    // Between held nodes alone nothing gives way.
                    let part = if give > 0.0 { part } else { 0.0 };
                    if AGAIN {
                        lambda[lane] -= root * part;
                    }
                    let part = part * share;
                    let [on_0, on_1, on_2] = [w0[lane] * part, -w1[lane] * part, -w2[lane] * part];
                    move_0[lane] = along(p, on_0 * d, q, on_0 * e);
                    move_1[lane] = along(p, on_1 * a, q, on_1 * b);
                    move_2[lane] = along(p, on_2 * b, q, on_2 * c);
                }
            }
            for (block, moves) in run.iter().zip(&moves) {
                for lane in 0..WIDTH {
                    let places = block.places(lane);
                    for n in 0..3 {
                        let x = &mut shift[places[n]];
                        *x = sum(*x, moves[n][lane]);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::{Cloth, Placement};
    use crate::potential::{ElementSet, Membrane, Place, Plain, Potential, widen};
    use ripstop_mesh::{ChangeLog, Id, Mesh, NodeId, Vec2, generate};

    const SHEET: Membrane =
        Membrane { elasticity: Elasticity { weft: 500.0, across: 80.0, warp: 300.0, shear: 60.0 }, damping: 3e-4 };

    fn triangles(cloth: &Cloth) -> (Vec<Triangle>, Triangles) {
        let set = ElementSet::new(SHEET, cloth);
        let Some(Plain::Triangles(all, _)) = set.plain() else { panic!("C is constant") };
        let mut made = Triangles::default();
        made.renew(&all, SHEET.elasticity, SHEET.damping, &Places::new(cloth));
        (all, made)
    }

    /// Nodes of all triangles, run by run.
    fn runs(made: &Triangles) -> Vec<Vec<[usize; 3]>> {
        let mut all = Vec::new();
        let mut add = |blocks: &Blocks, node: &dyn Fn(usize) -> usize| {
            let mut lanes = blocks.blocks.iter().zip(&blocks.counts);
            for &count in &blocks.runs {
                let run = lanes.by_ref().take(count as usize);
                all.push(run.flat_map(|(b, &n)| (0..n).map(|lane| b.places(lane).map(node))).collect());
            }
        };
        for (first, part) in [(0, &made.windows.inside), (WINDOW / 2, &made.windows.between)] {
            for (window, blocks) in part.iter().enumerate() {
                add(blocks, &|place| first + window * WINDOW + place);
            }
        }
        made.windows.far.iter().flatten().for_each(|far| add(&far.blocks, &|place| far.nodes[place] as usize));
        all
    }

    #[test]
    fn every_triangle_is_there_once_and_no_run_has_a_node_twice() {
        let mut cloth = Cloth::flat(generate::grid(Vec2::ONE, [80, 80]).unwrap(), 0.2, Placement::default());
        for torn in [false, true] {
            if torn {
                let mut log = ChangeLog::new();
                for e in cloth.mesh.edges().step_by(3) {
                    cloth.mesh.open_edge(e, &mut log);
                }
                cloth.follow(&log);
            }
            let (all, made) = triangles(&cloth);
            assert!(
                !made.windows.between.is_empty()
                    && torn == made.windows.far.first().is_some_and(|round| round.len() > 1)
            );
            let runs = runs(&made);
            for run in &runs {
                let mut nodes: Vec<usize> = run.concat();
                nodes.sort_unstable();
                assert!(nodes.windows(2).all(|pair| pair[0] != pair[1]), "a node twice in a run");
            }
            let mut found = runs.concat();
            let place = Places::new(&cloth).of;
            let mut wanted: Vec<[usize; 3]> = all.iter().map(|t| t.nodes.map(|n| place[n as usize] as usize)).collect();
            found.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(found, wanted);
        }
    }

    #[test]
    fn a_node_with_more_triangles_than_colours_is_no_trouble() {
        let rim: Vec<Vec2> = (0..200)
            .map(|k| {
                let (sin, cos) = crate::math::sin_cos(f64::from(k) * std::f64::consts::PI / 100.0);
                Vec2::new(cos, sin)
            })
            .collect();
        let faces: Vec<[u32; 3]> = (0..200).map(|k| [200, k, (k + 1) % 200]).collect();
        let uv: Vec<[Vec2; 3]> = faces.iter().map(|f| [Vec2::ZERO, rim[f[1] as usize], rim[f[2] as usize]]).collect();
        let cloth = Cloth::flat(Mesh::from_faces(201, &faces, &uv).unwrap(), 0.2, Placement::default());
        let (all, made) = triangles(&cloth);
        assert_eq!(runs(&made).concat().len(), all.len());
        assert!(runs(&made).iter().all(|run| run.len() == 1), "all of them share a node");
    }

    #[test]
    fn moves_are_those_of_double_precision_whatever_the_width() {
        let mesh = generate::irregular(Vec2::ONE, 0.06, 3).unwrap();
        let origin = Vec3::new(100.0, -300.0, 50.0);
        let mut cloth = Cloth::flat(mesh, 0.2, Placement { origin, ..Placement::default() });
        for n in cloth.mesh.nodes() {
            let noise = |key: u64| crate::math::hash_unit(key, u64::from(n.0)) - 0.5;
            cloth.x[n] += Vec3::new(noise(1), noise(2), noise(3)) * 0.02;
        }
        cloth.hold(NodeId(0), Some(0));
        let set = ElementSet::new(SHEET, &cloth);
        let (_, mut made) = triangles(&cloth);
        // A projection in every fourth substep.
        let (h, span) = (1e-3, 4e-3);
        made.begin(&cloth.x, &cloth.inverse_mass, h, span);
        assert_eq!(made.windows.inside.len(), 1);
        let noise = |key: u64, n: usize| (crate::math::hash_unit(key, n as u64) - 0.5) as f32 * 1e-2;
        let shifts: Vec<Shift> = (0..cloth.x.len()).map(|n| [noise(4, n), noise(5, n), noise(6, n), 0.0]).collect();
        let before: Vec<Shift> = (0..WINDOW).map(|n| [noise(7, n), noise(8, n), 0.0, 0.0]).collect();
        let swept = |width| {
            let (mut shift, mut blocks) = ([[0.0; 4]; WINDOW], made.windows.inside[0].clone());
            shift[..shifts.len()].copy_from_slice(&shifts);
            let Ok(before): Result<&Window, _> = before[..].try_into() else { panic!("a window") };
            for _ in 0..3 {
                let (blocks, shift) = (&mut blocks, &mut shift);
                lanes::run_at(width, Sweep::<true, true> { blocks, shift, before, law: made.law });
            }
            shift
        };
        let narrow_vectors = swept(lanes::Width::Narrow);
        for width in lanes::Width::ALL.into_iter().filter(|width| width.is_here()) {
            let same =
                swept(width).iter().zip(&narrow_vectors).all(|(a, b)| a.map(f32::to_bits) == b.map(f32::to_bits));
            assert!(same, "{width:?}");
        }
        // The same by the element itself, in the same order.
        let mut exact = shifts.clone();
        let rows: Vec<[usize; 3]> = runs(&made).concat();
        let face = |nodes: &[usize; 3]| {
            cloth.mesh.faces().find(|&f| cloth.mesh.face_nodes(f).map(Id::index) == *nodes).expect("it is there")
        };
        let faces: Vec<_> = rows.iter().map(face).collect();
        let mut lambda = vec![0.0; rows.len()];
        for _ in 0..3 {
            for ((nodes, &f), lambda) in rows.iter().zip(&faces).zip(&mut lambda) {
                let mut place = Place {
                    start: &cloth.x,
                    inverse_mass: &cloth.inverse_mass,
                    before: &before,
                    first: 0,
                    shift: &mut exact,
                    h,
                    span,
                };
                let (_, rest) = crate::potential::Element::row(&set.element, &cloth, f).expect("a face");
                place.project(nodes, SHEET.damping, lambda, |x| {
                    crate::potential::Element::constraint(&set.element, &rest, x)
                });
            }
        }
        let far = |(a, b): (&Shift, &Shift)| (widen(*a) - widen(*b)).length();
        let off = exact.iter().zip(&narrow_vectors).map(far).fold(0.0, f64::max);
        let most = exact.iter().zip(&shifts).map(far).fold(0.0, f64::max);
        // Strain of single precision is good to 1e-6, and moves are a hundredth of an edge.
        assert!(most > 1e-3 && off < 1e-4 * most, "moved by up to {most} m, {off} m apart");
    }
}
