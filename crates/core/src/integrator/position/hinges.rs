//! Hinges as vector code: bending, which position-based integrators project less often than triangles, but which costs more each time.
//!
//! Δλ and the moves are those of [`Place`](crate::potential::Place) for C = θ and α = 1/κ, in single precision, with θ, κ and what crushed faces have left of it as in
//! [`Bend`](crate::potential::Bend). With e = x₁ − x₀, unit normals n̂₁ and n̂₂ of the two faces and their heights r₁ and r₂ over the edge:
//!
//! ∂θ/∂x₂ = −n̂₁/r₁,  ∂θ/∂x₃ = −n̂₂/r₂,  ∂θ/∂x₁ = s₂ n̂₁/r₁ + s₃ n̂₂/r₂,  ∂θ/∂x₀ = (1 − s₂) n̂₁/r₁ + (1 − s₃) n̂₂/r₂
//!
//! Δx_k = −w_k ∂θ/∂x_k (κ θ + λ/s²) / (κ Σ w |∂θ/∂x|² + 1/s²)
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | s₂, s₃ | `feet` | 1 | where the outer nodes are along the edge |
//! | 1/r₁, 1/r₂ | `steep` | 1/m | one over heights |
//! | s | `span` | s | the time that a projection stands for |
//! | w, λ | | | as in `potential/project.rs` |
//!
//! Hinges have no damping. Differences at the beginning of the step are from double precision; blocks, windows and what reaches farther are as in `springs.rs`.

use super::domain::{Places, WINDOW};
use super::windows::{self, Block as _, Filled, Numbers, WIDTH, Window, Windows};
use crate::lanes::{self, Work};
use crate::math::Vec3;
use crate::potential::{CRUSHED, Hinge, Shift, narrow};
use glam::Vec4;

/// Blocks of one colour that are projected together at most, as for springs.
const RUN: usize = 8;

type Vectors = [Shift; WIDTH];

/// Hinges of one colour.
#[derive(Clone)]
struct Block {
    /// Places of the nodes in the window, times the bytes of a shift, so that they needn't be multiplied.
    nodes: [[u16; 4]; WIDTH],
    /// From the first node to the others at the beginning of the step [m].
    apart: [Vectors; 3],
    /// κ [N·m].
    stiffness: Numbers,
    /// Square of the least height of a face that has all of it [m²].
    least: Numbers,
    /// One over masses [1/kg].
    lightness: [Numbers; 4],
}

impl windows::Block<4> for Block {
    type Element = Hinge;

    const EMPTY: Self = Self {
        nodes: [[0; 4]; WIDTH],
        apart: [[[0.0; 4]; WIDTH]; 3],
        stiffness: [0.0; WIDTH],
        least: [0.0; WIDTH],
        lightness: [[0.0; WIDTH]; 4],
    };
    const RUN: usize = RUN;

    fn nodes(hinge: &mut Hinge) -> &mut [u32; 4] {
        &mut hinge.nodes
    }

    fn set(&mut self, lane: usize, hinge: Hinge) {
        self.nodes[lane] = hinge.nodes.map(|place| (place << 4) as u16);
        self.stiffness[lane] = hinge.stiffness as f32;
        self.least[lane] = (CRUSHED * CRUSHED * hinge.low_squared) as f32;
    }

    #[inline(always)]
    fn places(&self, lane: usize) -> [usize; 4] {
        const { assert!(WINDOW.is_power_of_two() && WINDOW <= 4096) };
        let [a, b, c, d] = self.nodes[lane];
        [
            a as usize >> 4 & (WINDOW - 1),
            b as usize >> 4 & (WINDOW - 1),
            c as usize >> 4 & (WINDOW - 1),
            d as usize >> 4 & (WINDOW - 1),
        ]
    }

    fn begin(&mut self, lane: usize, nodes: [usize; 4], start: &[Vec3], inverse_mass: &[f64]) {
        for k in 0..4 {
            self.lightness[k][lane] = inverse_mass[nodes[k]] as f32;
        }
        for k in 0..3 {
            self.apart[k][lane] = narrow(start[nodes[k + 1]] - start[nodes[0]]);
        }
    }
}

/// Blocks of one part.
type Blocks = Filled<Block, Hinge>;

/// Hinges that are projected together.
#[derive(Default)]
pub struct Hinges {
    windows: Windows<Blocks>,
    law: Law,
}

/// What all hinges share.
#[derive(Clone, Copy, Default)]
struct Law {
    /// 1/s² [1/s²].
    per_span2: f32,
    /// Of a move that stands for several substeps, what comes in one of them.
    share: f32,
}

impl Hinges {
    /// Divides and colours hinges, in their order.
    pub fn renew(&mut self, hinges: &[Hinge], places: &Places) {
        self.windows.renew(hinges, places);
    }

    /// Takes what stays the same in a step of substeps of `h` [s], each of whose projections stands for a time of `span` [s].
    pub fn begin(&mut self, start: &[Vec3], inverse_mass: &[f64], h: f64, span: f64) {
        self.law = Law { per_span2: (1.0 / (span * span)) as f32, share: (h / span) as f32 };
        self.windows.each(|blocks, nodes| blocks.begin(nodes, start, inverse_mass));
    }

    /// Forgets λ, before the first of several iterations.
    pub fn forget(&mut self) {
        self.windows.each(|blocks, _| blocks.forget());
    }

    /// Projects every hinge once; tables are of [whole windows](super::domain::padded). `again` if this is one of several iterations.
    pub fn sweep(&mut self, shift: &mut [Shift], before: &[Shift], again: bool) {
        let law = self.law;
        self.windows.sweep(shift, before, |blocks, shift, _| {
            if again {
                lanes::run(Sweep::<true> { blocks, shift, law });
            } else {
                lanes::run(Sweep::<false> { blocks, shift, law });
            }
        });
    }
}

/// The loop over blocks.
struct Sweep<'a, const AGAIN: bool> {
    blocks: &'a mut Blocks,
    shift: &'a mut Window,
    law: Law,
}

/// a + (b − c).
#[inline(always)]
fn further(a: Shift, b: Shift, c: Shift) -> Shift {
    (Vec4::from_array(a) + (Vec4::from_array(b) - Vec4::from_array(c))).to_array()
}

#[inline(always)]
fn dot(a: Shift, b: Shift) -> f32 {
    (a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3])
}

#[inline(always)]
fn cross(a: Shift, b: Shift) -> Shift {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0], a[3] * b[3]]
}

/// [`crate::math::angle`] in single precision, of a sine and cosine: the first missing term of the series is below 1e-8.
#[inline(always)]
fn angle(s: f32, c: f32) -> f32 {
    use std::f32::consts::{FRAC_1_SQRT_2, FRAC_PI_2, FRAC_PI_4, PI};
    let (y, x) = (s.abs(), 1.0 + c.abs());
    let (sin, cos, twice) = if y < x * 0.2024 {
        (0.0, 1.0, 0.0)
    } else if y < x * 0.668 {
        (0.382_683_43, 0.923_879_5, FRAC_PI_4)
    } else {
        (FRAC_1_SQRT_2, FRAC_1_SQRT_2, FRAC_PI_2)
    };
    let t = (y * cos - x * sin) / (x * cos + y * sin);
    let (q, t2) = (t * t, 2.0 * t);
    let near = (twice + t2) + t2 * q * ((-1.0 / 3.0 + q * (1.0 / 5.0)) + q * q * (-1.0 / 7.0 + q * (1.0 / 9.0)));
    (if c < 0.0 { PI - near } else { near }).copysign(s)
}

/// x + a n.
#[inline(always)]
fn moved(x: Shift, n: Shift, a: f32) -> Shift {
    [x[0] + n[0] * a, x[1] + n[1] * a, x[2] + n[2] * a, x[3] + n[3] * a]
}

impl<const AGAIN: bool> Work for Sweep<'_, AGAIN> {
    #[inline(always)]
    fn run(self) {
        let Self { blocks: Filled { blocks, lambda, runs, .. }, shift, law: Law { per_span2, share } } = self;
        // The edge and the ways to the outer nodes; then the normals.
        let mut ways = [[[[0.0f32; 4]; WIDTH]; 3]; RUN];
        let mut normals = [[[[0.0f32; 4]; WIDTH]; 2]; RUN];
        // Along the normals: of the first two nodes along both, then of the others along one each.
        let mut on = [[[0.0f32; WIDTH]; 6]; RUN];
        let (mut sin, mut cos, mut turned, mut left) =
            ([0.0f32; WIDTH], [0.0f32; WIDTH], [0.0f32; WIDTH], [0.0f32; WIDTH]);
        let (mut steep, mut feet) = ([[0.0f32; WIDTH]; 2], [[0.0f32; WIDTH]; 2]);
        let (mut blocks, mut lambda) = (&blocks[..], &mut lambda[..]);
        for &count in &*runs {
            let (run, rest) = blocks.split_at((count as usize).min(RUN));
            let (run_lambda, rest_lambda) = lambda.split_at_mut(run.len());
            (blocks, lambda) = (rest, rest_lambda);
            for (k, block) in run.iter().enumerate() {
                for lane in 0..WIDTH {
                    let [a, b, c, d] = block.places(lane);
                    let first = shift[a];
                    ways[k][0][lane] = further(block.apart[0][lane], shift[b], first);
                    ways[k][1][lane] = further(block.apart[1][lane], shift[c], first);
                    ways[k][2][lane] = further(block.apart[2][lane], shift[d], first);
                }
            }
            for (k, (block, lambda)) in run.iter().zip(run_lambda).enumerate() {
                let [w0, w1, w2, w3] = &block.lightness;
                let (ways, normals, on) = (&ways[k], &mut normals[k], &mut on[k]);
                // In three loops: one of all of it is too long for the compiler to make vectors of.
                for lane in 0..WIDTH {
                    let (e, p, q) = (ways[0][lane], ways[1][lane], ways[2][lane]);
                    let (n1, n2) = (cross(e, p), cross(q, e));
                    let (s1, s2, square) = (dot(n1, n1), dot(n2, n2), dot(e, e));
                    let per_1 = 1.0 / (s1 + f32::MIN_POSITIVE).sqrt();
                    let per_2 = 1.0 / (s2 + f32::MIN_POSITIVE).sqrt();
                    let length = square.sqrt();
                    let per_square = 1.0 / (square + f32::MIN_POSITIVE);
                    normals[0][lane] = [n1[0] * per_1, n1[1] * per_1, n1[2] * per_1, n1[3] * per_1];
                    normals[1][lane] = [n2[0] * per_2, n2[1] * per_2, n2[2] * per_2, n2[3] * per_2];
                    cos[lane] = dot(n1, n2) * per_1 * per_2;
                    steep[0][lane] = length * per_1;
                    steep[1][lane] = length * per_2;
                    sin[lane] = -(dot(n1, q) * per_1 * steep[1][lane]);
                    feet[0][lane] = dot(p, e) * per_square;
                    feet[1][lane] = dot(q, e) * per_square;
                    let low = if s1 < s2 { s1 } else { s2 };
                    left[lane] = low / (block.least[lane] * square + f32::MIN_POSITIVE);
                }
                for lane in 0..WIDTH {
                    turned[lane] = angle(sin[lane], cos[lane]);
                }
                for lane in 0..WIDTH {
                    let left = if left[lane] < 1.0 { left[lane] } else { 1.0 };
                    let (stiffness, cos) = (block.stiffness[lane] * left, cos[lane]);
                    let steep = [steep[0][lane], steep[1][lane]];
                    let far = [steep[0] * feet[0][lane], steep[1] * feet[1][lane]];
                    let near = [steep[0] - far[0], steep[1] - far[1]];
                    let size = |a: f32, b: f32| a * a + 2.0 * a * b * cos + b * b;
                    let give = w0[lane] * size(near[0], near[1])
                        + w1[lane] * size(far[0], far[1])
                        + w2[lane] * (steep[0] * steep[0])
                        + w3[lane] * (steep[1] * steep[1]);
                    let mut value = stiffness * turned[lane];
                    if AGAIN {
                        value += per_span2 * lambda[lane];
                    }
                    let change = -value / (stiffness * give + per_span2);
                    // What has no extent, or is between held nodes, is left alone.
                    let change = if give > 0.0 && give < f32::INFINITY { change } else { 0.0 };
                    if AGAIN {
                        lambda[lane] += change;
                    }
                    let by = change * share;
                    on[0][lane] = w0[lane] * by * near[0];
                    on[1][lane] = w0[lane] * by * near[1];
                    on[2][lane] = w1[lane] * by * far[0];
                    on[3][lane] = w1[lane] * by * far[1];
                    on[4][lane] = -w2[lane] * by * steep[0];
                    on[5][lane] = -w3[lane] * by * steep[1];
                }
            }
            for (k, block) in run.iter().enumerate() {
                let on = &on[k];
                for lane in 0..WIDTH {
                    let [a, b, c, d] = block.places(lane);
                    let (n1, n2) = (normals[k][0][lane], normals[k][1][lane]);
                    shift[a] = moved(moved(shift[a], n1, on[0][lane]), n2, on[1][lane]);
                    shift[b] = moved(moved(shift[b], n1, on[2][lane]), n2, on[3][lane]);
                    shift[c] = moved(shift[c], n1, on[4][lane]);
                    shift[d] = moved(shift[d], n2, on[5][lane]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::{Cloth, Placement};
    use crate::potential::{Bend, Element, ElementSet, Place, Plain, Potential, widen};
    use ripstop_mesh::{EdgeId, NodeId, Vec2, generate};

    #[test]
    fn angles_are_those_of_double_precision() {
        for k in -1000..=1000 {
            let turned = f64::from(k) * 3.14159e-3;
            let (sin, cos) = crate::math::sin_cos(turned);
            let off = f64::from(angle(sin as f32, cos as f32)) - turned;
            assert!(off.abs() < 5e-7, "{turned}: {off}");
        }
    }

    #[test]
    fn moves_are_those_of_double_precision_whatever_the_width() {
        let mesh = generate::irregular(Vec2::ONE, 0.06, 3).unwrap();
        let origin = Vec3::new(100.0, -300.0, 50.0);
        let mut cloth = Cloth::flat(mesh, 0.2, Placement { origin, ..Placement::default() });
        for n in cloth.mesh.nodes() {
            let noise = |key: u64| crate::math::hash_unit(key, u64::from(n.0)) - 0.5;
            cloth.x[n] += Vec3::new(noise(1), noise(2), noise(3)) * 0.03;
        }
        cloth.hold(NodeId(0), Some(0));
        let set = ElementSet::new(Bend { stiffness: 0.02 }, &cloth);
        let Some(Plain::Hinges(all)) = set.plain() else { panic!("all are hinges") };
        let inner = cloth.mesh.edges().filter(|&e| !cloth.mesh.is_border_edge(e));
        let rows: Vec<(EdgeId, Hinge)> = inner.zip(all.iter().copied()).collect();
        let mut made = Hinges::default();
        made.renew(&all, &Places::new(&cloth));
        // A projection in every fourth substep.
        let (h, span) = (1e-3, 4e-3);
        made.begin(&cloth.x, &cloth.inverse_mass, h, span);
        assert!(made.windows.inside.len() == 1 && made.windows.far.is_empty());
        let noise = |key: u64, n: usize| (crate::math::hash_unit(key, n as u64) - 0.5) as f32 * 1e-2;
        let shifts: Vec<Shift> = (0..cloth.x.len()).map(|n| [noise(4, n), noise(5, n), noise(6, n), 0.0]).collect();
        let swept = |width| {
            let (mut shift, mut blocks) = ([[0.0; 4]; WINDOW], made.windows.inside[0].clone());
            shift[..shifts.len()].copy_from_slice(&shifts);
            for _ in 0..3 {
                let (blocks, shift) = (&mut blocks, &mut shift);
                lanes::run_at(width, Sweep::<true> { blocks, shift, law: made.law });
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
        let blocks = &made.windows.inside[0];
        let lanes = blocks.blocks.iter().zip(&blocks.counts);
        let order: Vec<[usize; 4]> = lanes.flat_map(|(b, &n)| (0..n).map(|lane| b.places(lane))).collect();
        let edge = |nodes: &[usize; 4]| {
            let same = |hinge: &Hinge| hinge.nodes.map(|n| n as usize) == *nodes;
            rows.iter().find(|(_, hinge)| same(hinge)).expect("it is there").0
        };
        let edges: Vec<EdgeId> = order.iter().map(edge).collect();
        assert_eq!(edges.len(), rows.len(), "every hinge is there once");
        let (mut exact, mut lambda) = (shifts.clone(), vec![0.0; order.len()]);
        let before = vec![[0.0; 4]; WINDOW];
        for _ in 0..3 {
            for ((nodes, &e), lambda) in order.iter().zip(&edges).zip(&mut lambda) {
                let mut place = Place {
                    start: &cloth.x,
                    inverse_mass: &cloth.inverse_mass,
                    before: &before,
                    first: 0,
                    shift: &mut exact,
                    h,
                    span,
                };
                let (_, rest) = set.element.row(&cloth, e).expect("a hinge");
                place.project(nodes, 0.0, lambda, |x| set.element.constraint(&rest, x));
            }
        }
        let far = |(a, b): (&Shift, &Shift)| (widen(*a) - widen(*b)).length();
        let off = exact.iter().zip(&narrow_vectors).map(far).fold(0.0, f64::max);
        let most = exact.iter().zip(&shifts).map(far).fold(0.0, f64::max);
        // Angles of single precision are good to 1e-6.
        assert!(most > 1e-3 && off < 1e-4 * most, "moved by up to {most} m, {off} m apart");
    }
}
