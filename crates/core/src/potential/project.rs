//! What position-based integrators do with an element: move its nodes so that its constraint is met.
//!
//! Δλ = −(C + α̃ λ + γ ∇C·(x − x₀)) / ((1 + γ) Σ w |∇C|² + α̃),  x ← x + w ∇C Δλ,  α̃ = α/h²,  γ = τ/h
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | C, ∇C | [`Constraint::value`], [`Constraint::slope`] | √J, √J/m, or what the element chooses | what is to be zero, and how it changes with the nodes |
//! | α | [`Constraint::compliance`] | C²/J | one over stiffness: the energy is C²/(2α) |
//! | λ | `lambda` | C·s²/α | sum of the Δλ of this substep |
//! | τ | [`Element::lag`](super::Element::lag) | s | dashpot over spring |
//! | w | `inverse_mass` | 1/kg | zero for a held node |
//! | h, x₀ | `h`, `before` | s, m | substep and where nodes were at its beginning |
//!
//! What is so soft that it is projected once for several substeps takes the time s of all of them (`span`) for h, and nodes get the share h/s of their moves: they go on by the velocity that this
//! gives them.
//!
//! Source: Macklin, Müller, Chentanez 2016 (XPBD), eqs. 18 and 26.

use super::Elasticity;
use crate::lanes::{LANES, Lanes};
use crate::math::Vec3;

/// A vector of single precision for a node; the fourth number is always zero and makes a row of four.
pub type Shift = [f32; 4];

/// The constraint of one element at one place.
pub struct Constraint<const N: usize> {
    /// C.
    pub value: f64,
    /// ∇C of each node.
    pub slope: [Vec3; N],
    /// α.
    pub compliance: f64,
}

/// A spring between two nodes, of which position-based integrators make vector code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spring {
    /// Its ends.
    pub nodes: [u32; 2],
    /// Rest length [m].
    pub rest: f64,
    /// Stiffness [N/m].
    pub stiffness: f64,
}

/// A triangle of a membrane whose matrix C is constant, of which they make vector code as well.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Triangle {
    /// Its corners.
    pub nodes: [u32; 3],
    /// Weights r_u of the second and third node, then r_v of them [1/m].
    pub weights: [f64; 4],
    /// Material area [m²].
    pub area: f64,
    /// U·U, U·V and V·V at rest.
    pub metric: [f64; 3],
}

/// A hinge between two faces, likewise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hinge {
    /// The two ends of its edge, then the outer nodes.
    pub nodes: [u32; 4],
    /// Moment over angle [N·m].
    pub stiffness: f64,
    /// The smaller of its two heights at rest, squared [m²].
    pub low_squared: f64,
}

/// Rows that are all of one such kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Plain {
    /// Springs.
    Springs(Vec<Spring>),
    /// Triangles, and C of all of them.
    Triangles(Vec<Triangle>, Elasticity),
    /// Hinges.
    Hinges(Vec<Hinge>),
}

/// Rows of one kind of elements in the order in which they are projected, in blocks of which every row is a lane. Rows of one
/// block share no node, so a block is vector code.
#[derive(Clone, Default)]
pub struct Batch {
    /// How many rows every block has.
    pub(super) counts: Vec<usize>,
    /// Nodes of every block: all first ones, all second ones and so on.
    pub(super) nodes: Vec<[u32; LANES]>,
    /// Rest values of every block, likewise.
    pub(super) rest: Vec<Lanes>,
    /// λ of every block.
    pub(super) lambda: Vec<Lanes>,
}

impl Batch {
    /// Says where nodes are kept, instead of which they are.
    pub fn place(&mut self, places: &[u32]) {
        self.nodes.as_flattened_mut().iter_mut().for_each(|n| *n = places[*n as usize]);
    }

    /// Forgets λ at the beginning of a substep.
    pub fn forget(&mut self) {
        self.lambda.fill([0.0; LANES]);
    }
}

/// Where elements are projected, by numbers of nodes or of places that these are kept in: some that may be moved, as single-precision shifts from where the step began.
/// Differences of places are thus as exact far from the origin as near it.
pub struct Place<'a> {
    /// Where all nodes were when the step began [m].
    pub start: &'a [Vec3],
    /// One over mass of all nodes [1/kg].
    pub inverse_mass: &'a [f64],
    /// Shifts of all nodes when the substep began [m].
    pub before: &'a [Shift],
    /// Number of the first node that may be moved.
    pub first: usize,
    /// Shifts of those nodes now [m].
    pub shift: &'a mut [Shift],
    /// Length of a substep [s].
    pub h: f64,
    /// Time that the projection stands for [s]: that of a substep, or of several.
    pub span: f64,
}

/// The vector of a shift.
#[inline(always)]
pub fn widen(s: Shift) -> Vec3 {
    Vec3::new(f64::from(s[0]), f64::from(s[1]), f64::from(s[2]))
}

/// The shift nearest to a vector.
#[inline(always)]
pub fn narrow(v: Vec3) -> Shift {
    [v.x as f32, v.y as f32, v.z as f32, 0.0]
}

impl Place<'_> {
    /// Projects one element on `nodes`, of which `constraint` is known as a function of places, and adds to its `lambda`.
    #[inline(always)]
    pub fn project<const N: usize>(
        &mut self,
        nodes: &[usize; N],
        lag: f64,
        lambda: &mut f64,
        constraint: impl Fn(&[Vec3; N]) -> Constraint<N>,
    ) {
        let x = nodes.map(|n| self.start[n] + widen(self.shift[n - self.first]));
        let Constraint { value, slope, compliance } = constraint(&x);
        let (mut give, mut moved) = (0.0, 0.0);
        for (k, &n) in nodes.iter().enumerate() {
            give += self.inverse_mass[n] * slope[k].length_squared();
            moved += slope[k].dot(widen(self.shift[n - self.first]) - widen(self.before[n]));
        }
        let (soft, gamma) = (compliance / (self.span * self.span), lag / self.span);
        let (share, onward) = (self.h / self.span, self.span / self.h);
        let whole = (1.0 + gamma) * give + soft;
        // Written so that an element without extent, or between held nodes, is left alone.
        if !(give > 0.0 && whole.is_finite()) {
            return;
        }
        let change = -(value + soft * *lambda + gamma * (moved * onward)) / whole;
        *lambda += change;
        for (k, &n) in nodes.iter().enumerate() {
            let shift = &mut self.shift[n - self.first];
            *shift = narrow(widen(*shift) + slope[k] * (self.inverse_mass[n] * change * share));
        }
    }
}
