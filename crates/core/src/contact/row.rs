//! Contacts as rows: what pushes two touching things apart, and rubs.
//!
//! A row is a place where something touches something: r = Σ w u + s (b + θ × a) is how much the two have moved against each other since the beginning of
//! the step, C = g + n·r how far they are from being too near. Over a part h of the step
//!
//! λ ≥ 0,  λ = −h k C where that is positive,  |μ| ≤ f λ,  μ against the slip, and no slip while |μ| < f λ
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | u, w | `weights` | m, 1 | displacements of the cloth's nodes and their weights, positive on one side, negative on the other |
//! | b, θ, a, s | [`Twist`], `arm`, `sign` | m, 1, m, 1 | displacement and turn of a body, from its middle to the place, and on which side it is |
//! | n, g | `normal`, `gap` | 1, m | direction from one to the other, distance minus thickness at the beginning |
//! | k | `stiffness` | N/m | how hard thickness is |
//! | f | `friction` | 1 | Coulomb's coefficient |
//! | λ, μ | `push`, `drag` | N·s | impulses along n and across |
//!
//! [`relax`] meets these laws row by row (projected Gauss-Seidel), with the masses of nodes and bodies alone. For small steps that is all there is
//! to it. In a large implicit step it isn't enough: a node that is stopped pulls its neighbours along by forces larger than its weight a thousand
//! times. [`Predictor`] therefore puts the rows into the implicit system as springs (K = k n nᵀ and, while they stick, k across; while they
//! slide, the force f λ/h against the slip), and relaxation only adds what is still missing. Bodies are eliminated from the system: each is a change of it of rank six.
//!
//! Every impulse acts on both sides, so momentum is kept to rounding.

use crate::math::{Mat3, Vec3, Vec3f, mapped, outer};
use crate::potential::{Shift, narrow, widen};
use crate::sparse::{BlockMatrix, Coupling};
use smallvec::SmallVec;

/// No body.
pub const NOBODY: u32 = u32::MAX;

/// A place where two things touch, or are tied to each other.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Nodes of the cloth; those not used have weight zero.
    pub nodes: [u32; 4],
    /// Their weights.
    pub weights: [f64; 4],
    /// Body, or [`NOBODY`].
    pub body: u32,
    /// Side of the body, ±1.
    pub sign: f64,
    /// From the body's middle to the place [m].
    pub arm: Vec3,
    /// Direction of the push on what has positive weight.
    pub normal: Vec3,
    /// Distance minus thickness at the beginning of the step [m]; for a tie not used.
    pub gap: f64,
    /// The same for the law of [`Predictor`], which is softer, and the thickness of that law [m].
    pub soft_gap: f64,
    /// See [`Self::soft_gap`].
    pub soft_thickness: f64,
    /// Distance of the two at the beginning of the step, or where they would meet [m].
    pub distance: f64,
    /// Of a point and a triangle: which corners of the triangle the point is nearest to, bit by bit.
    pub feature: u8,
    /// Thickness [m].
    pub thickness: f64,
    /// Stiffness [N/m].
    pub stiffness: f64,
    /// Coefficient of friction.
    pub friction: f64,
    /// Impulse along the normal in this part [N·s].
    pub push: f64,
    /// Impulse across it; for a tie the whole impulse.
    pub drag: Vec3,
    /// A tie: where it is away from at the beginning of the step [m].
    pub tie: Option<Vec3>,
    /// Force along the normal and across at the end of the part before [N].
    pub before: (f64, Vec3),
    /// Impulse that an implicit system has already given in this part [N·s].
    pub taken: Vec3,
    /// r at the beginning of the part [m].
    was: Vec3,
    /// How much the row gives way to an impulse: along the normal and across [1/kg].
    ease: (f64, f64),
    /// How much more it would have to give way so that no node goes farther than [`LEVER`] allows [1/kg].
    lever: f64,
}

impl Row {
    /// A row without history; the masses come later.
    pub fn new(nodes: [u32; 4], weights: [f64; 4], body: (u32, f64, Vec3)) -> Self {
        Self {
            nodes,
            weights,
            body: body.0,
            sign: body.1,
            arm: body.2,
            normal: Vec3::ZERO,
            gap: 0.0,
            soft_gap: 0.0,
            soft_thickness: 0.0,
            distance: 0.0,
            feature: 0,
            stiffness: 0.0,
            friction: 0.0,
            push: 0.0,
            drag: Vec3::ZERO,
            tie: None,
            before: (0.0, Vec3::ZERO),
            thickness: 0.0,
            taken: Vec3::ZERO,
            was: Vec3::ZERO,
            ease: (0.0, 0.0),
            lever: 0.0,
        }
    }

    /// Σ w `of(node)`.
    #[inline(always)]
    fn across(&self, of: impl Fn(usize) -> Vec3) -> Vec3 {
        let [a, b, c, d] = mapped(self.nodes, |n| n as usize);
        let [wa, wb, wc, wd] = self.weights;
        of(a) * wa + of(b) * wb + of(c) * wc + of(d) * wd
    }

    /// r at the end of a part of `h` [s].
    #[inline(always)]
    fn moved(&self, bodies: &[Twist], moves: &(impl Moves + ?Sized), h: f64) -> Vec3 {
        let shift = bodies.get(self.body as usize).map_or(Vec3::ZERO, |b| b.shift(self.arm, h) * self.sign);
        self.across(|n| moves.get(n)) + shift
    }

    /// Part of a vector across the normal.
    #[inline(always)]
    fn tangent(&self, v: Vec3) -> Vec3 {
        v - self.normal * self.normal.dot(v)
    }
}

/// How far a row moves a node at most, over what is missing at its place. Beside a node that is held, a place moves by a small share of what its other corners do: to make up for a millimetre they would have to be
/// thrown aside by many. Among free nodes of one mass it is never more than one.
pub const LEVER: f64 = 4.0;

/// A body as rows see it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Twist {
    /// Velocity of its middle [m/s].
    pub velocity: Vec3,
    /// Angular velocity [rad/s].
    pub spin: Vec3,
    /// One over its mass [1/kg], zero if it isn't free.
    pub lightness: f64,
    /// Inverse of its inertia [1/(kg·m²)].
    pub ease: Mat3,
    /// What of its velocity and spin is foreseen to come from other bodies that it touches [m/s, rad/s].
    pub foreseen: (Vec3, Vec3),
    /// Displacement of its middle since the beginning of the step [m].
    pub moved: Vec3,
    /// Turn since then [rad].
    pub turned: Vec3,
}

impl Twist {
    /// Velocity of a place [m/s].
    #[inline(always)]
    pub fn speed(&self, arm: Vec3) -> Vec3 {
        self.velocity + self.spin.cross(arm)
    }

    /// Displacement of a place since the beginning of the step, at the end of a part of `h` [s].
    #[inline(always)]
    fn shift(&self, arm: Vec3, h: f64) -> Vec3 {
        self.moved + self.turned.cross(arm) + self.speed(arm) * h
    }

    /// Takes an impulse [N·s] at a place.
    #[inline(always)]
    pub fn kick(&mut self, impulse: Vec3, arm: Vec3) {
        self.velocity += impulse * self.lightness;
        self.spin += self.ease * arm.cross(impulse);
    }

    /// Ends a part of `h` [s].
    pub fn advance(&mut self, h: f64) {
        self.moved += self.velocity * h;
        self.turned += self.spin * h;
    }
}

/// Displacements of nodes since the beginning of the step, which rows change.
pub trait Moves {
    /// Displacement of a node [m].
    fn get(&self, node: usize) -> Vec3;
    /// Moves a node on [m].
    fn add(&mut self, node: usize, by: Vec3);
}

/// Positions and velocities of a cloth that has gone through its step.
pub struct Arrived<'a> {
    /// Where nodes were at the beginning [m].
    pub start: &'a [Vec3],
    /// Where they are [m].
    pub x: &'a mut [Vec3],
    /// Their velocities [m/s].
    pub v: &'a mut [Vec3],
    /// Length of the part that velocities are to account for [s].
    pub h: f64,
}

impl Moves for Arrived<'_> {
    #[inline(always)]
    fn get(&self, node: usize) -> Vec3 {
        self.x[node] - self.start[node]
    }
    #[inline(always)]
    fn add(&mut self, node: usize, by: Vec3) {
        self.x[node] += by;
        self.v[node] += by / self.h;
    }
}

/// Shifts of position-based integrators.
pub struct Shifted<'a> {
    /// Shifts by place.
    pub shift: &'a mut [Shift],
    /// The place of every node.
    pub places: &'a [u32],
}

impl Moves for Shifted<'_> {
    #[inline(always)]
    fn get(&self, node: usize) -> Vec3 {
        widen(self.shift[self.places[node] as usize])
    }
    #[inline(always)]
    fn add(&mut self, node: usize, by: Vec3) {
        let shift = &mut self.shift[self.places[node] as usize];
        *shift = narrow(widen(*shift) + by);
    }
}

/// Begins a part of a step: notes where the two sides are, and how easily they move. Impulses start from zero.
pub fn begin(rows: &mut [Row], bodies: &[Twist], inverse_mass: &[f64], displaced: impl Fn(usize) -> Vec3) {
    weigh(rows, bodies, inverse_mass);
    go_on(rows, bodies, displaced);
}

/// Begins a further part, in which all is as heavy as in the one before.
pub fn go_on(rows: &mut [Row], bodies: &[Twist], displaced: impl Fn(usize) -> Vec3) {
    for row in rows {
        row.was = row.across(&displaced);
        if let Some(body) = bodies.get(row.body as usize) {
            row.was += (body.moved + body.turned.cross(row.arm)) * row.sign;
        }
        (row.push, row.drag, row.taken) = (0.0, Vec3::ZERO, Vec3::ZERO);
    }
}

/// Finds how easily both sides move.
fn weigh(rows: &mut [Row], bodies: &[Twist], inverse_mass: &[f64]) {
    for row in rows {
        let mass: f64 = row.nodes.iter().zip(row.weights).map(|(&n, w)| w * w * inverse_mass[n as usize]).sum();
        row.ease = (mass, mass);
        let farthest = row.nodes.iter().zip(row.weights).map(|(&n, w)| w.abs() * inverse_mass[n as usize]);
        row.lever = farthest.fold(0.0, f64::max) / LEVER;
        if let Some(body) = bodies.get(row.body as usize) {
            // m⁻¹ + n·(I⁻¹ (a × n)) × a, and of the other two directions their sum, which is no less than either.
            let turn = |d: Vec3| (body.ease * row.arm.cross(d)).cross(row.arm).dot(d);
            let along = turn(row.normal);
            let all = turn(Vec3::X) + turn(Vec3::Y) + turn(Vec3::Z);
            row.ease.0 += body.lightness + along;
            row.ease.1 += body.lightness + if row.tie.is_some() { all } else { all - along };
        }
        row.lever = (row.lever - row.ease.0).max(0.0);
    }
}

/// Goes over all rows up to `sweeps` times, until nothing moves by more than `enough` [m]; what is too near by up to the share `allowed` of the thickness, or of the distance if
/// that is less, is left to be. `moved` is a buffer.
///
/// Rows that contradict each other, as those of cloth between a hand and a pin do, would squeeze out what is between them, farther in every sweep. So no node moves by more than [`LEVER`] times what was missing
/// anywhere before the first sweep.
pub fn relax(
    rows: &mut [Row],
    bodies: &mut [Twist],
    moves: &mut (impl Moves + ?Sized),
    inverse_mass: &[f64],
    h: f64,
    (sweeps, enough, allowed): (u32, f64, f64),
    moved: &mut Vec<Vec3>,
) {
    let missing = |row: &Row| match row.tie {
        Some(_) => 0.0,
        None => row.thickness.max(-row.gap - row.normal.dot(row.moved(bodies, moves, h))),
    };
    let reach = LEVER * rows.iter().map(missing).fold(0.0, f64::max);
    moved.resize(inverse_mass.len(), Vec3::ZERO);
    rows.iter().flat_map(|row| row.nodes).for_each(|n| moved[n as usize] = Vec3::ZERO);
    for _ in 0..sweeps {
        let mut largest = 0.0f64;
        for row in rows.iter_mut() {
            largest = largest.max(relax_row(row, bodies, moves, inverse_mass, h, allowed, (moved, reach)));
        }
        if largest <= enough {
            break;
        }
    }
}

#[inline]
fn relax_row(
    row: &mut Row,
    bodies: &mut [Twist],
    moves: &mut (impl Moves + ?Sized),
    inverse_mass: &[f64],
    h: f64,
    allowed: f64,
    (moved, reach): (&mut [Vec3], f64),
) -> f64 {
    let r = row.moved(bodies, moves, h);
    let soft = 1.0 / (h * row.stiffness);
    let impulse = if let Some(tie) = row.tie {
        if row.ease.1 <= 0.0 {
            return 0.0;
        }
        let change = -(tie + r + (row.taken + row.drag) * soft) / (h * row.ease.1 + soft);
        row.drag += change;
        change
    } else {
        // Of what is pressed already half of what is left, or it could go through within what is allowed.
        let room = if row.gap < 0.0 { row.thickness.min(row.distance) } else { row.thickness };
        let c = row.gap + row.normal.dot(r) + allowed * room;
        if row.ease.0 <= 0.0 || (c >= 0.0 && row.push == 0.0) {
            return 0.0;
        }
        let soft = soft + h * row.lever;
        let push = (row.push - (c + row.push * soft) / (h * row.ease.0 + soft)).max(0.0);
        let change = push - row.push;
        row.push = push;
        // The push moves the two along the normal only, so slip is still what it was.
        let limit = row.friction * push;
        let mut drag = row.drag - row.tangent(r - row.was) / (h * (row.ease.1 + row.lever));
        let size = drag.length();
        if size > limit {
            drag *= limit / size;
        }
        let rub = drag - row.drag;
        row.drag = drag;
        row.normal * change + rub
    };
    if impulse == Vec3::ZERO {
        return 0.0;
    }
    for (&n, w) in row.nodes.iter().zip(row.weights) {
        let (n, by) = (n as usize, w * inverse_mass[n as usize] * h);
        if by == 0.0 {
            continue;
        }
        let (mut by, before) = (impulse * by, moved[n]);
        let far = (before + by).length_squared();
        if row.tie.is_none() && far > reach * reach {
            by = (before + by) * (reach / far.sqrt()) - before;
        }
        moved[n] = before + by;
        moves.add(n, by);
    }
    if let Some(body) = bodies.get_mut(row.body as usize) {
        body.kick(impulse * row.sign, row.arm);
    }
    impulse.length() * row.ease.0 * h
}

/// A symmetric positive definite 6×6 matrix, as its Cholesky factor.
#[derive(Clone, Copy, Debug)]
struct Six([[f64; 6]; 6]);

type Six6 = [[f64; 6]; 6];

impl Six {
    fn factor(mut a: Six6) -> Self {
        for j in 0..6 {
            for k in 0..j {
                for i in j..6 {
                    a[i][j] -= a[i][k] * a[j][k];
                }
            }
            let root = a[j][j].max(f64::MIN_POSITIVE).sqrt();
            for i in j..6 {
                a[i][j] /= root;
            }
        }
        Self(a)
    }

    fn solve(&self, mut b: [f64; 6]) -> [f64; 6] {
        let l = &self.0;
        for i in 0..6 {
            for k in 0..i {
                b[i] -= l[i][k] * b[k];
            }
            b[i] /= l[i][i];
        }
        for i in (0..6).rev() {
            for k in i + 1..6 {
                b[i] -= l[k][i] * b[k];
            }
            b[i] /= l[i][i];
        }
        b
    }
}

fn join(v: Vec3, w: Vec3) -> [f64; 6] {
    [v.x, v.y, v.z, w.x, w.y, w.z]
}

/// Force of thickness [N] at a distance too large by `c` [m], and how fast it falls: nothing from half the thickness on, k |c| from minus half of it on, and smooth between, so
/// that light things touch softly.
fn press(k: f64, thickness: f64, c: f64) -> (f64, f64) {
    let soft = 0.5 * thickness;
    if c >= soft {
        (0.0, 0.0)
    } else if c <= -soft {
        (-k * c, k)
    } else {
        (k * (soft - c) * (soft - c) / (4.0 * soft), k * (soft - c) / (2.0 * soft))
    }
}

/// The thickness with which that force is `force` [N] at a distance [m].
pub fn fitting(k: f64, force: f64, distance: f64) -> f64 {
    // distance = 3/2 t − √(2 t force / k) where it is smooth, t − force / k below.
    let root = (2.0 * force / k).sqrt();
    let smooth = (root + (root * root + 6.0 * distance).sqrt()) / 3.0;
    if force < 0.5 * k * smooth * smooth { smooth * smooth } else { distance + force / k }
}

/// Dashpot over spring of thickness, in steps.
const CALM: f64 = 2.0;

/// A row as a spring in an implicit system.
#[derive(Clone, Copy)]
struct Stiff {
    /// K [N/m].
    k: Mat3,
    /// Force if nothing moved in this part, by the line that is its force now [N].
    force: Vec3,
    /// It acts at all.
    on: bool,
    /// Nodes on one side and nothing free on the other: all of it is in the matrix.
    simple: bool,
}

/// A free body in the system.
#[derive(Clone, Copy)]
struct Inside {
    /// M + h² Σ GᵀKG.
    system: Six,
    /// M, and M u₀.
    mass: Six6,
    momentum: [f64; 6],
    free: bool,
}

/// All rows as part of an implicit system for the velocities of nodes.
///
/// Forces of rows are no straight lines: they push or don't, stick or slide. So the system is solved with the lines that touch them at the velocities before the step, then with those at the velocities
/// that came out, and so on; a round that ends uphill, by the slope along its way, is [shortened](Self::shorten). Across, a row is a spring that begins with the force of before and yields where friction can't hold it, by the push of before; what touches for the first time
/// doesn't rub yet.
#[derive(Default)]
pub struct Predictor {
    stiff: Vec<Stiff>,
    inside: Vec<Inside>,
    /// Impulses that nodes have got from the lines that were solved with [N·s], and those before that round.
    given: Vec<Vec3>,
    given_before: Vec<Vec3>,
    /// Those of the whole round.
    whole: Vec<Vec3>,
    h: f64,
}

/// The predictor with the rows it was made from.
pub struct Linked<'a> {
    predictor: &'a Predictor,
    rows: &'a [Row],
    inverse_mass: &'a [f64],
}

impl Predictor {
    /// Takes the rows and bodies of a part of `h` [s], from velocities `v`.
    pub fn link(&mut self, rows: &[Row], bodies: &[Twist], v: &[Vec3], h: f64) {
        self.h = h;
        self.stiff.clear();
        self.given.clear();
        self.inside.clear();
        for body in bodies {
            let mut mass = [[0.0; 6]; 6];
            let mut momentum = [0.0; 6];
            let free = body.lightness > 0.0;
            if free {
                let inertia = body.ease.inverse();
                momentum = join(body.velocity / body.lightness, inertia * body.spin);
                for i in 0..3 {
                    mass[i][i] = 1.0 / body.lightness;
                    for j in 0..3 {
                        mass[3 + i][3 + j] = inertia.col(j)[i];
                    }
                }
            }
            self.inside.push(Inside { system: Six(mass), mass, momentum, free });
        }
        for row in rows {
            let free = bodies.get(row.body as usize).is_some_and(|b| b.lightness > 0.0);
            let one_side = row.weights.iter().all(|w| *w >= 0.0) || row.weights.iter().all(|w| *w <= 0.0);
            self.stiff.push(Stiff { k: Mat3::ZERO, force: Vec3::ZERO, on: false, simple: !free && one_side });
        }
        let twists: Vec<(Vec3, Vec3)> = bodies.iter().map(|body| (body.velocity, body.spin)).collect();
        self.draw(rows, &twists, v);
    }

    /// Notes what nodes get by the lines if their velocities are `v`: a round of solving has found them. Before the lines are drawn anew, or momentum would be lost.
    pub fn note(&mut self, rows: &[Row], bodies: &[Twist], v: &[Vec3]) {
        self.whole = self.outcome(rows, bodies, v);
        self.given.resize(rows.len(), Vec3::ZERO);
        self.given_before.clone_from(&self.given);
        self.given.clone_from(&self.whole);
    }

    /// Goes only a `share` of the way from where the last round began to what it found.
    pub fn shorten(&mut self, share: f64) {
        for ((given, before), whole) in self.given.iter_mut().zip(&self.given_before).zip(&self.whole) {
            *given = *before + (*whole - *before) * share;
        }
    }

    /// Draws the lines anew, for velocities `v` at the end of the part, and bodies that have got what was noted.
    pub fn redraw(&mut self, rows: &[Row], bodies: &[Twist], v: &[Vec3]) {
        let mut ends = bodies.to_vec();
        for (row, &impulse) in rows.iter().zip(&self.given) {
            if let Some(body) = ends.get_mut(row.body as usize) {
                body.kick(impulse * row.sign, row.arm);
            }
        }
        let twists: Vec<(Vec3, Vec3)> = ends.iter().map(|body| (body.velocity, body.spin)).collect();
        self.draw(rows, &twists, v);
    }

    fn draw(&mut self, rows: &[Row], twists: &[(Vec3, Vec3)], v: &[Vec3]) {
        let h = self.h;
        for (stiff, row) in self.stiff.iter_mut().zip(rows) {
            let speed = twists.get(row.body as usize).map_or(Vec3::ZERO, |&(v, w)| (v + w.cross(row.arm)) * row.sign);
            let relative = row.across(|n| v[n]) + speed;
            if let Some(tie) = row.tie {
                (stiff.k, stiff.force) = (Mat3::IDENTITY * row.stiffness, (tie + row.was) * -row.stiffness);
                stiff.on = true;
                continue;
            }
            let c = row.soft_gap + row.normal.dot(row.was + relative * h);
            let (push, k) = press(row.stiffness, row.soft_thickness, c);
            stiff.on = k > 0.0;
            if !stiff.on {
                continue;
            }
            let along = outer(row.normal, row.normal);
            let across = Mat3::IDENTITY - along;
            let slip = row.tangent(relative) * h;
            // By the push of before: friction that follows the push within a step drives it on, and nothing settles.
            let held = press(row.stiffness, row.soft_thickness, row.soft_gap).0;
            let limit = row.friction * if row.before.0 > 0.0 { row.before.0 } else { held };
            let held = row.tangent(row.before.1).clamp_length_max(limit) - slip * k;
            let (drag, give) = if limit == 0.0 {
                (Vec3::ZERO, Mat3::ZERO)
            } else if held.length() <= limit {
                (held, across * k)
            } else {
                let unit = held / held.length();
                (unit * limit, (across - outer(unit, unit)) * (k * limit / held.length()))
            };
            // Nothing bounces: what comes or goes along the normal is slowed down by a dashpot of some steps.
            let slowed = CALM * k * h * row.normal.dot(relative);
            stiff.k = along * ((1.0 + CALM) * k) + give;
            stiff.force = row.normal * (push - slowed) + drag + stiff.k * relative * h;
        }
        self.factor(rows);
    }

    /// The systems of bodies.
    fn factor(&mut self, rows: &[Row]) {
        let h2 = self.h * self.h;
        self.inside.iter_mut().for_each(|inside| inside.system = Six(inside.mass));
        for (stiff, row) in self.stiff.iter().zip(rows).filter(|(stiff, _)| stiff.on) {
            let Some(inside) = self.inside.get_mut(row.body as usize).filter(|inside| inside.free) else { continue };
            // h² GᵀKG by its columns G e: motions along and about the axes.
            for j in 0..6 {
                let axis = [Vec3::X, Vec3::Y, Vec3::Z][j % 3];
                let column = stiff.k * if j < 3 { axis } else { axis.cross(row.arm) } * h2;
                let column = join(column, row.arm.cross(column));
                for (i, value) in column.into_iter().enumerate() {
                    inside.system.0[i][j] += value;
                }
            }
        }
        for inside in self.inside.iter_mut().filter(|inside| inside.free) {
            inside.system = Six::factor(inside.system.0);
        }
    }

    /// Ties nodes in the matrix: the part of the rows that acts within one side, whose nodes are neighbours.
    pub fn tie(&self, rows: &[Row], inverse_mass: &[f64], matrix: &mut BlockMatrix) {
        for (stiff, row) in self.stiff.iter().zip(rows).filter(|(stiff, _)| stiff.on) {
            let spring = (stiff.k * (self.h * self.h)).to_cols_array();
            for side in [1.0, -1.0] {
                let of_side = |(n, w): &(u32, f64)| w * side > 0.0 && inverse_mass[*n as usize] > 0.0;
                let nodes: SmallVec<[_; 4]> = row.nodes.into_iter().zip(row.weights).filter(of_side).collect();
                matrix.tie(&nodes, &spring);
            }
        }
    }

    /// As part of a matrix that has been [tied](Self::tie).
    pub fn linked<'a>(&'a self, rows: &'a [Row], inverse_mass: &'a [f64]) -> Linked<'a> {
        Linked { predictor: self, rows, inverse_mass }
    }

    /// Velocities and spins of free bodies at the end of the part, or their change with `v`.
    fn twists(&self, rows: &[Row], change: bool, v: impl Fn(usize) -> Vec3) -> Vec<(Vec3, Vec3)> {
        let share = if change { 0.0 } else { 1.0 };
        let mut right: Vec<[f64; 6]> = self.inside.iter().map(|inside| inside.momentum.map(|p| p * share)).collect();
        for (stiff, row) in self.stiff.iter().zip(rows).filter(|(stiff, _)| stiff.on) {
            if !self.inside.get(row.body as usize).is_some_and(|inside| inside.free) {
                continue;
            }
            let impulse = (stiff.force * share - stiff.k * row.across(&v) * self.h) * (self.h * row.sign);
            let impulse = join(impulse, row.arm.cross(impulse));
            (0..6).for_each(|k| right[row.body as usize][k] += impulse[k]);
        }
        let solve = |(inside, right): (&Inside, [f64; 6])| {
            if !inside.free {
                return (Vec3::ZERO, Vec3::ZERO);
            }
            let [a, b, c, d, e, f] = inside.system.solve(right);
            (Vec3::new(a, b, c), Vec3::new(d, e, f))
        };
        self.inside.iter().zip(right).map(solve).collect()
    }

    /// Velocities and spins of all bodies at the end of the part.
    fn ends(&self, rows: &[Row], bodies: &[Twist], v: &[Vec3]) -> Vec<(Vec3, Vec3)> {
        let mut twists = self.twists(rows, false, |n| v[n]);
        for (twist, body) in twists.iter_mut().zip(bodies).filter(|(_, body)| body.lightness == 0.0) {
            *twist = (body.velocity, body.spin);
        }
        twists
    }

    /// Impulse of each row on what has positive weight, if nodes have velocities `v` at the end of the part [N·s].
    fn outcome(&self, rows: &[Row], bodies: &[Twist], v: &[Vec3]) -> Vec<Vec3> {
        let twists = self.ends(rows, bodies, v);
        let of = |(stiff, row): (&Stiff, &Row)| {
            if !stiff.on {
                return Vec3::ZERO;
            }
            let speed = twists.get(row.body as usize).map_or(Vec3::ZERO, |&(v, w)| (v + w.cross(row.arm)) * row.sign);
            (stiff.force - stiff.k * (row.across(|n| v[n]) + speed) * self.h) * self.h
        };
        self.stiff.iter().zip(rows).map(of).collect()
    }

    /// Adds the impulses that nodes get if their velocities are `v` at the end of the part [N·s].
    pub fn add_impulses(&self, rows: &[Row], bodies: &[Twist], v: &[Vec3], out: &mut [Vec3]) {
        for (row, impulse) in rows.iter().zip(self.outcome(rows, bodies, v)) {
            for (&n, w) in row.nodes.iter().zip(row.weights) {
                out[n as usize] += impulse * w;
            }
        }
    }

    /// True if a row acts on a body that is free.
    pub fn moves_bodies(&self, rows: &[Row]) -> bool {
        let free = |row: &Row| self.inside.get(row.body as usize).is_some_and(|inside| inside.free);
        self.stiff.iter().zip(rows).any(|(stiff, row)| stiff.on && free(row))
    }

    /// Adds the impulses [N·s] that would just bring what touches to where it may be, if nothing but its own mass held it, from velocities `v` on. Stiff rows ask
    /// for far more at first, so these are the measure of what a system may leave.
    pub fn add_stops(&self, rows: &[Row], bodies: &[Twist], v: &[Vec3], out: &mut [Vec3]) {
        for (_, row) in self.stiff.iter().zip(rows).filter(|(stiff, row)| stiff.on && row.tie.is_none()) {
            let speed = bodies.get(row.body as usize).map_or(Vec3::ZERO, |body| body.speed(row.arm) * row.sign);
            let c = row.soft_gap - 0.5 * row.soft_thickness
                + row.normal.dot(row.was + (row.across(|n| v[n]) + speed) * self.h);
            if c >= 0.0 || row.ease.0 <= 0.0 {
                continue;
            }
            for (&n, w) in row.nodes.iter().zip(row.weights) {
                out[n as usize] -= row.normal * (w * c / (self.h * row.ease.0));
            }
        }
    }

    /// Ends the part: rows and bodies take the impulses that nodes have got.
    pub fn settle(&self, rows: &mut [Row], bodies: &mut [Twist]) {
        for (row, &impulse) in rows.iter_mut().zip(&self.given) {
            row.taken = impulse;
            if let Some(body) = bodies.get_mut(row.body as usize) {
                body.kick(impulse * row.sign, row.arm);
            }
        }
    }
}

impl Linked<'_> {
    fn product(&self, x: impl Fn(usize) -> Vec3, mut add: impl FnMut(usize, Vec3)) {
        let Self { predictor, rows, inverse_mass } = self;
        let h2 = predictor.h * predictor.h;
        let any_body = predictor.inside.iter().any(|inside| inside.free);
        let twists = if any_body { predictor.twists(rows, true, &x) } else { Vec::new() };
        for (stiff, row) in predictor.stiff.iter().zip(*rows) {
            if stiff.simple || !stiff.on {
                continue;
            }
            let speed = twists
                .get(row.body as usize)
                .map_or(Vec3::ZERO, |&(velocity, spin)| (velocity + spin.cross(row.arm)) * row.sign);
            let mut sides = [Vec3::ZERO; 2];
            for (&n, w) in row.nodes.iter().zip(row.weights) {
                sides[usize::from(w < 0.0)] += x(n as usize) * w;
            }
            // What acts within one side is in the matrix: here it is moved by the other one, and by the body.
            let by = [sides[1], sides[0]].map(|other| stiff.k * (other + speed) * h2);
            for (&n, w) in row.nodes.iter().zip(row.weights) {
                if w != 0.0 && inverse_mass[n as usize] > 0.0 {
                    add(n as usize, by[usize::from(w < 0.0)] * w);
                }
            }
        }
    }
}

impl Coupling for Linked<'_> {
    fn add_product(&self, x: &[Vec3], product: &mut [Vec3]) {
        self.product(|n| x[n], |n, by| product[n] += by);
    }

    fn add_product_single(&self, x: &[Vec3f], product: &mut [Vec3f]) {
        self.product(|n| x[n].as_dvec3(), |n, by| product[n] += by.as_vec3a());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fitting_thickness_gives_the_force_at_the_distance() {
        for (force, distance) in [(1e-4, 1e-3), (0.3, 1e-3), (5.0, 1e-3), (40.0, 1e-4), (0.0, 2e-3), (1e-3, 1e-9)] {
            let thickness = fitting(2000.0, force, distance);
            let (found, slope) = press(2000.0, thickness, distance - thickness);
            assert!((found - force).abs() < 1e-6 * (1e-3 + force), "{force} N at {distance} m: {found} N");
            assert!(slope >= 0.0);
        }
    }

    #[test]
    fn a_factored_system_solves() {
        let mut a = [[0.0; 6]; 6];
        for (i, row) in a.iter_mut().enumerate() {
            for (j, value) in row.iter_mut().enumerate() {
                *value = if i == j { 4.0 + i as f64 } else { 1.0 / (1.0 + (i + j) as f64) };
            }
        }
        let x = [1.0, -2.0, 0.5, 3.0, -1.0, 0.25];
        let b: [f64; 6] = std::array::from_fn(|i| (0..6).map(|j| a[i][j] * x[j]).sum());
        let found = Six::factor(a).solve(b);
        assert!(found.iter().zip(x).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
    }
}
