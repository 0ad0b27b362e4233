//! Contact: cloth on itself, on bodies, bodies on cloth.
//!
//! Two stages of the step. `find` lists what is near what ([`field`](Field), a [tree](tree) of boxes) and makes a [row](row) of every pair that is nearer than
//! twice the thickness. Every integrator takes these rows into its own motion, in the one way that suits it; see [`row`]. `resolve` then looks at the way that everything has gone
//! since the beginning of the step: what would have passed through something is [stopped](resolve), by impulses, and by moving rigidly what impulses don't settle.
//! So if nothing crosses at the beginning of a step, nothing does at its end. What crosses slightly before the first step is freed by [`Contacts::untangle`].
//!
//! To bodies cloth is the only thing that isn't rapier's: they collide among each other by themselves (`crate::body`), and are pushed by the cloth through these rows.
//!
//! | setting | unit | meaning |
//! |---|---|---|
//! | `thickness` | m | distance that is kept, between layers and to bodies; at most a quarter of the mean edge |
//! | `friction` | 1 | Coulomb's coefficient, of cloth on cloth, and on bodies that have none of their own |
//! | `stiffness` | N/m | resistance of thickness, per place of contact |
//! | `on_itself` | | false: cloth may pass through cloth |
//!
//! Sharp edges of bodies cut instead where the cloth resists less than they press: [`blade`].
//!
//! Source: Bridson, Fedkiw, Anderson 2002 (repulsion, impulses, zones), which Bartels 2014 and Metaaphanon 2009 describe; Karaöz 2015 §2.6 (when corners meet).
//! Deviations: repulsion is in the integrators instead of after them; times of contact by inclusion instead of a cubic ([`ccd`]).
//!
//! Limits: pairs nearer than 10⁻⁹ m, as the two lips of a fresh tear are, are kept and pushed apart along the line between their triangles, which is not always the shortest way.

pub mod blade;
pub mod ccd;
pub mod crossing;
pub mod distance;
mod field;
mod flat;
mod part;
mod resolve;
pub mod row;
pub mod tree;
mod untangle;

use crate::body::Bodies;
use crate::cloth::Cloth;
use crate::math::{Vec3, array, mapped};
use crate::parallel;
use crate::potential::{Shift, widen};
pub use blade::{Cutting, Stroke};
use field::{Field, Pair};
use ripstop_mesh::{Change, NodeId};
use row::{Arrived, NOBODY, Predictor, Row, Shifted, Twist};
use serde::{Deserialize, Serialize};
pub use untangle::{Freed, Untangled};

/// Nearer than this two things have no direction from one to the other [m].
const TOUCHING: f64 = 1e-9;

/// Sweeps over all rows at the end of a step, at most.
const SWEEPS: u32 = 40;

/// Sweeps over all rows in a substep of a position-based integrator, at most. Several rows hold the same nodes, and one that comes first pushes too far; with two sweeps some of that is left in every substep
/// and grows until cloth under a ball is thrown off it (strains of 200 %; 40 % with eight or twenty).
const SUBSTEP_SWEEPS: u32 = 8;

/// What moves by less than this share of the thickness in a sweep is left to be.
const ENOUGH: f64 = 1e-3;

/// Share of an edge that things may stray from the way a list of pairs takes them to go, twice.
const SLACK: f64 = 0.1;

/// How contacts behave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactSettings {
    /// Distance that is kept [m].
    pub thickness: f64,
    /// Coefficient of friction.
    pub friction: f64,
    /// Resistance of thickness, per place of contact [N/m].
    pub stiffness: f64,
    /// Cloth can't pass through cloth.
    pub on_itself: bool,
}

impl ContactSettings {
    /// Thickness that is used for a cloth: its mesh must be able to tell layers apart [m].
    fn fitting(&self, cloth: &Cloth) -> f64 {
        self.thickness.min(0.25 * cloth.mean_edge())
    }
}

/// What a contact remembers from step to step: its force along the normal and across [N].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    pair: Pair,
    push: f64,
    drag: Vec3,
}

/// How contact went in the last step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Places nearer than thickness, with a push.
    pub touching: u32,
    /// Pairs that would have passed through each other.
    pub stopped: u32,
    /// Nodes that had to be moved rigidly with what they touch.
    pub frozen: u32,
    /// Pairs that could not be kept apart.
    pub failed: u32,
}

impl Report {
    /// Takes in another step: the most that touched, and the sum of everything else.
    pub fn add(&mut self, other: &Self) {
        self.touching = self.touching.max(other.touching);
        self.stopped = self.stopped.saturating_add(other.stopped);
        self.frozen = self.frozen.saturating_add(other.frozen);
        self.failed = self.failed.saturating_add(other.failed);
    }
}

/// All contacts of a cloth.
#[derive(Default)]
pub struct Contacts {
    settings: Option<ContactSettings>,
    /// Thickness that is used [m].
    thickness: f64,
    /// Mean edge of the cloth [m].
    edge: f64,
    field: Field,
    linked: bool,
    /// How cloth resists blades; none cut if there is nothing.
    cutting: Option<Cutting>,
    /// Force along every sharp edge in the step before [N/m].
    pressed: Vec<f64>,
    /// Where nodes were at the beginning of the step [m].
    start: Vec<Vec3>,
    bodies: Vec<Twist>,
    rows: Vec<Row>,
    moved: Vec<Vec3>,
    keys: Vec<Pair>,
    found: Vec<Vec<(Pair, Row)>>,
    memory: Vec<Memory>,
    predictor: Predictor,
    resolver: resolve::Resolver,
    report: Report,
}

impl Contacts {
    /// Contacts with these settings.
    pub fn new(settings: ContactSettings) -> Self {
        Self { settings: Some(settings), ..Self::default() }
    }

    /// Lets sharp edges of bodies cut.
    pub fn cut(&mut self, cutting: Cutting) {
        self.cutting = Some(cutting);
    }

    /// How cloth resists blades, if they cut.
    pub fn cutting(&self) -> Option<Cutting> {
        self.cutting
    }

    /// Thickness that is used [m].
    pub fn thickness(&self) -> f64 {
        self.thickness
    }

    /// Where nodes were at the beginning of the step [m].
    pub fn start(&self) -> &[Vec3] {
        &self.start
    }

    /// Takes other places for that, after edits in the middle of a step.
    pub fn restart(&mut self, x: &[Vec3]) {
        self.start.clear();
        self.start.extend_from_slice(x);
    }

    /// True if things can touch; otherwise bodies only hold what is tied to them.
    pub fn is_on(&self) -> bool {
        self.settings.is_some()
    }

    /// The thickness that is used for a cloth [m], if things can touch.
    pub fn fitting(&self, cloth: &Cloth) -> Option<f64> {
        self.settings.map(|settings| settings.fitting(cloth))
    }

    /// Contacts now, with their forces.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// How the last step went.
    pub fn report(&self) -> Report {
        self.report
    }

    /// What a checkpoint keeps.
    pub fn memory(&self) -> &[Memory] {
        &self.memory
    }

    /// Goes on from a checkpoint.
    pub fn restore(&mut self, memory: Vec<Memory>) {
        (self.memory, self.linked) = (memory, false);
    }

    /// Follows edits of the cloth: what is near what is looked for anew. Nodes that have just parted lie at the same place, where neither is on any side of the
    /// other; each [steps back](part) into its own faces by a little, so that lips begin beside each other. Bodies are where they are, or where they were at the beginning of the step.
    pub fn follow(&mut self, cloth: &mut Cloth, bodies: (&Bodies, bool), log: &[Change]) {
        self.linked = false;
        if self.settings.is_some_and(|settings| settings.on_itself || self.cutting.is_some()) {
            part::step_back(cloth, bodies, log, self.thickness);
        }
    }

    /// Frees cloth that crosses bodies or itself slightly; to be called before the first step. Deep crossings stay as they are.
    pub fn untangle(&self, cloth: &mut Cloth, bodies: &Bodies) -> Untangled {
        let Some(settings) = self.settings else { return Untangled::default() };
        untangle::untangle(cloth, bodies, settings.fitting(cloth), settings.on_itself)
    }

    /// Looks for contacts at the beginning of a step of `h` [s]: what is near, and what would meet if everything went on as it moves now.
    ///
    /// Bodies that meet each other in the step, as one that falls on a floor, are taken to go the way that is left to them: cloth that is pushed along by one which seems to go through the floor
    /// is thrown about.
    pub fn find(&mut self, cloth: &Cloth, bodies: &mut Bodies, h: f64) {
        self.report = Report::default();
        if !self.is_on() && bodies.is_empty() {
            return;
        }
        self.start.clear();
        self.start.extend_from_slice(&cloth.x);
        let foreseen = bodies.foresee(h);
        let bodies = &*bodies;
        self.bodies.clear();
        self.bodies.extend(foreseen.into_iter().enumerate().map(|(b, foreseen)| {
            let (lightness, ease) = bodies.inertia(b);
            let (velocity, spin) = (bodies.velocity(b) + foreseen.0, bodies.spin(b) + foreseen.1);
            Twist { velocity, spin, lightness, ease, foreseen, ..Twist::default() }
        }));
        self.rows.clear();
        self.keys.clear();
        if let Some(settings) = self.settings {
            if !self.linked {
                let points = self.field.body_points;
                self.field.link(cloth, bodies, settings.on_itself);
                if self.field.body_points != points && points > 0 {
                    // Cloth has become fine enough to meet a ball as it is: what is remembered is of other numbers.
                    self.memory.clear();
                }
                self.thickness = settings.fitting(cloth);
                self.edge = cloth.mean_edge();
                self.linked = true;
            }
            self.field.hold(&cloth.inverse_mass);
            Field::place(&mut self.field.start, &self.field.round, &cloth.x, bodies, false);
            let twists = &self.bodies;
            let v = if cloth.drift.is_empty() { &cloth.v } else { &cloth.drift };
            self.field.foresee(v, |b, x| twists[b].speed(x - bodies.middle(b)), h);
            self.field.list(2.0 * self.thickness, self.slack(), None);
            self.press(cloth);
            self.make_rows(cloth, bodies, settings);
        }
        for (b, body) in bodies.iter().enumerate() {
            for &(node, at) in &body.ties {
                let place = bodies.pose(b).apply(at);
                let mut row = Row::new([node.0; 4], [1.0, 0.0, 0.0, 0.0], (b as u32, -1.0, place - bodies.middle(b)));
                row.tie = Some(cloth.x[node] - place);
                row.stiffness = TIE;
                self.rows.push(row);
            }
        }
    }

    /// Slack of lists of pairs [m].
    fn slack(&self) -> f64 {
        self.thickness.max(SLACK * self.edge)
    }

    fn make_rows(&mut self, cloth: &Cloth, bodies: &Bodies, settings: ContactSettings) {
        let size = 4096;
        self.found.resize_with(self.field.pairs.len().div_ceil(size), Vec::new);
        let (mut found, mut apart) = (std::mem::take(&mut self.found), std::mem::take(&mut self.field.apart));
        let this = &*self;
        parallel::for_each_domain(&mut apart, size, &mut found, |first, apart, list| {
            list.clear();
            for (&pair, apart) in this.field.pairs[first..].iter().zip(apart) {
                list.extend(this.make_row(pair, apart, cloth, bodies, settings).map(|row| (pair, row)));
            }
        });
        (self.found, self.field.apart) = (found, apart);
        self.take_rows();
    }

    /// The row of a pair, if it is near or will be. Its distance at the beginning of the step is left in `apart`.
    fn make_row(
        &self,
        pair: Pair,
        apart: &mut f32,
        cloth: &Cloth,
        bodies: &Bodies,
        settings: ContactSettings,
    ) -> Option<Row> {
        let Self { field, thickness, .. } = self;
        let corners = field.corners(pair);
        if field.is_gripped(corners) {
            return None;
        }
        let place = self.place(pair, corners, apart)?;
        let near = 2.0 * *thickness;
        if self.is_left_to_nodes(pair, corners, place.weights) {
            return None;
        }
        if place.now && rests_near(cloth, field, pair, corners, place.weights, near) {
            return None;
        }
        if self.is_cutting(pair, place.weights, cloth, bodies) {
            return None;
        }
        let mut row = field.row(corners, place.weights, bodies);
        (row.normal, row.gap, row.distance) = (place.normal, place.gap, place.distance);
        row.arm -= place.normal * (row.sign * field.radius(pair));
        match pair {
            Pair::PointFace(..) => row.feature = (0..3).map(|k| u8::from(place.weights[k + 1] < 0.0) << k).sum(),
            // An edge that is met at its end is met by that point.
            Pair::EdgeEdge(..) if place.weights.iter().any(|w| w.abs() < 1e-9) => return None,
            Pair::EdgeEdge(..) | Pair::BallNode(..) => {}
        }
        self.harden(&mut row, pair, bodies, settings);
        Some(row)
    }

    /// True if a triangle need not keep away from a ball because its nodes do: it is nearest with one of them, or comes nearer between them by less than a quarter of the thickness.
    fn is_left_to_nodes(&self, pair: Pair, corners: [u32; 4], weights: [f64; 4]) -> bool {
        let Self { field, thickness, .. } = self;
        let radius = field.radius(pair);
        if radius == 0.0 || !matches!(pair, Pair::PointFace(..)) {
            return false;
        }
        let [_, a, b, c] = mapped(corners, |p| field.start[p as usize]);
        let longest = a.distance_squared(b).max(b.distance_squared(c)).max(c.distance_squared(a));
        weights[1..].iter().filter(|w| **w < 0.0).count() == 1 || longest < 8.0 * radius * 0.25 * *thickness
    }

    /// Where two things are near, or will meet.
    fn place(&self, pair: Pair, corners: [u32; 4], known: &mut f32) -> Option<Place> {
        let Self { field, thickness, .. } = self;
        let start = mapped(corners, |p| field.start[p as usize]);
        let (weights, mut apart) = nearest(pair, start);
        let radius = field.radius(pair);
        let mut distance = apart.length() - radius;
        *known = field::rounded_down(distance.max(0.0));
        if radius > 0.0 {
            // Of the way from the middle of a ball what is outside of it.
            distance = distance.max(TOUCHING);
            apart = apart.try_normalize()? * distance;
        }
        if distance < TOUCHING {
            (apart, distance) = (field.beside(pair)? * TOUCHING, TOUCHING);
        }
        let honed = !field.honed(corners).is_empty();
        if distance < 2.0 * *thickness {
            if honed && field.nearer(corners, weights, distance, |p| field.start[p as usize]).is_some() {
                return None;
            }
            return Some(Place { weights, normal: apart / distance, distance, gap: distance - *thickness, now: true });
        }
        // Not near yet, but it will be there: what counts is the place and direction of the meeting.
        let time = resolve::meet(field, pair, corners, distance, KEPT * *thickness)?;
        let gone: [Vec3; 4] = array(|k| field.now[corners[k] as usize] - start[k]);
        let (weights, apart) = nearest(pair, array(|k| start[k] + gone[k] * time));
        let apart = apart - apart.clamp_length_max(radius);
        let distance = apart.length();
        // Blades meet cloth with their sides, foreseen; all else of them waits until it is near.
        let outside = || (start[2] - start[1]).cross(start[3] - start[1]).dot(start[0] - start[1]) > 0.0;
        let by_side = |pair| matches!(pair, Pair::PointFace(..)) && field.is_body(corners[1]) && outside();
        if honed && !(by_side(pair) && weights[1..].iter().all(|w| *w < 0.0)) {
            return None;
        }
        let along = (0..4).map(|k| gone[k] * weights[k]).sum::<Vec3>().dot(apart) / distance;
        let gap = distance - *thickness - along * time;
        let meets = distance >= TOUCHING && along < 0.0;
        meets.then(|| Place { weights, normal: apart / distance, distance, gap, now: false })
    }

    /// Gives a row its friction and stiffness, and what it remembers.
    fn harden(&self, row: &mut Row, pair: Pair, bodies: &Bodies, settings: ContactSettings) {
        let Self { memory, thickness, bodies: twists, .. } = self;
        (row.friction, row.stiffness, row.thickness) = (settings.friction, settings.stiffness, *thickness);
        if row.body != NOBODY {
            row.friction = bodies.get(row.body as usize).and_then(|body| body.friction).unwrap_or(settings.friction);
        }
        let known = memory.binary_search_by(|known| known.pair.cmp(&pair));
        row.before = known.map_or((0.0, Vec3::ZERO), |at| (memory[at].push, memory[at].drag));
        // Without free bodies nothing presses harder than the cloth itself. With one all bodies are pressed on, that which it falls on too.
        let heaviest = twists.iter().map(|twist| twist.lightness).filter(|w| *w > 0.0).fold(f64::INFINITY, f64::min);
        if let Some(twist) = twists.get(row.body as usize).filter(|_| heaviest.is_finite()) {
            // As stiff as its load needs, of which a quarter of the thickness gives way: what a heavy body presses on a floor would go through it otherwise.
            row.stiffness = row.stiffness.max(4.0 * row.before.0 / *thickness);
            // From the start as stiff as the cloth around the place: by so much that a body can rest on it, or by what an edge stretched by a quarter would pull.
            let lightness = if twist.lightness > 0.0 { twist.lightness } else { heaviest };
            let rest = 20.0 / (lightness * *thickness);
            let cloth = 0.25 * settings.stiffness * self.edge / *thickness;
            row.stiffness = row.stiffness.max(rest.min(cloth));
        }
        // What is pressed is pushed back as hard as before, and thickness that is missing at the start is made up for slowly.
        let slowly = 0.02 * *thickness;
        let now = row.gap + *thickness;
        row.soft_thickness = thickness.min(row::fitting(row.stiffness, row.before.0, now) + slowly);
        row.soft_gap = now - row.soft_thickness;
        row.gap = row.gap.max(-row.before.0 / row.stiffness - slowly);
    }

    /// Takes over what was found, in order, without what another row stands for.
    fn take_rows(&mut self) {
        let Self { found, field, keys, rows, .. } = self;
        let mut all: Vec<&(Pair, Row)> = found.iter().flatten().collect();
        // The order of the list is the tree's, and that has a history.
        all.sort_unstable_by_key(|(pair, _)| *pair);
        let point = |pair: Pair| if let Pair::PointFace(point, _) = pair { Some(point) } else { None };
        let mut corners: Vec<(u32, u32)> = Vec::new();
        for group in all.chunk_by(|a, b| point(a.0).is_some() && point(a.0) == point(b.0)) {
            // A ball has as many triangles around its one point as touch it, so only those are compared that share a corner.
            corners.clear();
            if group.len() > 1 {
                for (k, entry) in group.iter().enumerate() {
                    corners.extend(field.corners(entry.0)[1..].iter().map(|&p| (p, k as u32)));
                }
                corners.sort_unstable();
            }
            for (k, entry) in group.iter().enumerate() {
                let own = field.corners(entry.0);
                let on = (0..3).find(|bit| entry.1.feature >> bit & 1 == 1).map_or(own[1], |bit| own[bit + 1]);
                let first = corners.partition_point(|(p, _)| *p < on);
                let beside = corners[first..].iter().take_while(|(p, _)| *p == on).map(|&(_, other)| other as usize);
                let mut others = beside.filter(|other| *other != k);
                if !others.any(|other| covers(field, group[other], entry, other < k)) {
                    keys.push(entry.0);
                    rows.push(entry.1);
                }
            }
        }
    }

    /// Takes the rows into a step of `h` [s] that is otherwise done: what explicit integrators call at their end.
    pub fn finish(&mut self, cloth: &mut Cloth, h: f64) {
        row::begin(&mut self.rows, &self.bodies, &cloth.inverse_mass, |_| Vec3::ZERO);
        self.relax(cloth, h, 0.0);
    }

    /// Begins a part of an implicit step of `h` [s]. False if there is nothing to take in.
    pub fn predict(&mut self, cloth: &Cloth, h: f64) -> bool {
        if self.rows.is_empty() {
            return false;
        }
        let (start, x) = (&self.start, &cloth.x);
        row::begin(&mut self.rows, &self.bodies, &cloth.inverse_mass, |n| x.as_ref()[n] - start[n]);
        self.predictor.link(&self.rows, &self.bodies, &cloth.v, h);
        true
    }

    /// The rows as part of the implicit system.
    pub fn predictor(&mut self) -> (&mut Predictor, &[Row], &[Twist]) {
        (&mut self.predictor, &self.rows, &self.bodies)
    }

    /// Ends a part of an implicit step of `h` [s], at whose end the cloth has arrived.
    pub fn settle(&mut self, cloth: &mut Cloth, h: f64) {
        if !self.rows.is_empty() {
            self.predictor.settle(&mut self.rows, &mut self.bodies);
        }
        // What the system found is left to be, unless it is no longer thickness that keeps things apart.
        self.relax(cloth, h, 0.5);
    }

    fn relax(&mut self, cloth: &mut Cloth, h: f64, allowed: f64) {
        if self.rows.is_empty() {
            return self.end_part(h);
        }
        let Cloth { x, v, inverse_mass, .. } = cloth;
        let mut moves = Arrived { start: &self.start, x, v, h };
        let enough = 1e-4 * self.thickness;
        let limits = (SWEEPS, enough, allowed);
        row::relax(&mut self.rows, &mut self.bodies, &mut moves, inverse_mass, h, limits, &mut self.moved);
        self.end_part(h);
    }

    /// Projects the rows once in a substep of `h` [s] of a position-based integrator, from shifts `before` to `now`; `first` in the first one of a step.
    pub fn project(&mut self, mut now: Shifted<'_>, before: &[Shift], inverse_mass: &[f64], h: f64, first: bool) {
        if !self.rows.is_empty() {
            let was = |n: usize| widen(before[now.places[n] as usize]);
            if first {
                row::begin(&mut self.rows, &self.bodies, inverse_mass, was);
            } else {
                row::go_on(&mut self.rows, &self.bodies, was);
            }
            let enough = ENOUGH * self.thickness;
            let limits = (SUBSTEP_SWEEPS, enough, 0.0);
            row::relax(&mut self.rows, &mut self.bodies, &mut now, inverse_mass, h, limits, &mut self.moved);
        }
        self.end_part(h);
    }

    fn end_part(&mut self, h: f64) {
        for row in &mut self.rows {
            let taken = row.normal.dot(row.taken);
            let across = row.drag + row.taken - row.normal * taken;
            row.before = ((row.push + taken).max(0.0) / h, across / h);
        }
        self.bodies.iter_mut().for_each(|body| body.advance(h));
    }

    /// Ends the motion of all integrators: bodies get the velocities that the cloth has given them, and contacts remember their forces.
    pub fn release(&mut self, bodies: &mut Bodies) {
        for (b, twist) in self.bodies.iter().enumerate().filter(|(_, twist)| twist.lightness > 0.0) {
            bodies.set_velocity(b, twist.velocity - twist.foreseen.0, twist.spin - twist.foreseen.1);
        }
        self.memory.clear();
        for (&pair, row) in self.keys.iter().zip(&self.rows) {
            let (push, drag) = row.before;
            if push > 0.0 {
                self.memory.push(Memory { pair, push, drag });
            }
        }
        self.report.touching = self.memory.len() as u32;
    }

    /// Notes the mean velocity of every node over the step of `h` [s] that is done, for what will meet in the next one.
    pub fn note_drift(&self, cloth: &mut Cloth, h: f64) {
        let (x, start) = (&cloth.x, &self.start);
        cloth.drift.grow(x.len(), Vec3::ZERO);
        parallel::for_each(&mut cloth.drift, |i, drift| *drift = (x.as_ref()[i] - start[i]) / h);
    }

    /// Stops what would have passed through something on the way from the beginning of the step of `h` [s] to now.
    pub fn resolve(&mut self, cloth: &mut Cloth, bodies: &mut Bodies, h: f64) {
        let Some(settings) = self.settings else { return };
        if !self.linked {
            // Edits in the middle of the step.
            self.field.link(cloth, bodies, settings.on_itself);
            self.linked = true;
        }
        self.field.hold(&cloth.inverse_mass);
        Field::place(&mut self.field.start, &self.field.round, &self.start, bodies, true);
        Field::place(&mut self.field.now, &self.field.round, &cloth.x, bodies, false);
        let slack = self.slack();
        self.field.list(2.0 * self.thickness, slack, None);
        let sizes = (self.thickness, slack, settings.friction);
        self.resolver.run(&mut self.field, cloth, bodies, sizes, h, &mut self.report);
    }
}

/// Where two things are near, or will meet.
struct Place {
    /// Weights of the corners of the pair at its two nearest points.
    weights: [f64; 4],
    normal: Vec3,
    /// At the beginning of the step, or where they meet [m].
    distance: f64,
    /// Distance minus thickness, as it is or would be at the beginning of the step along the normal [m].
    gap: f64,
    /// They are near already.
    now: bool,
}

/// Share of the thickness that is kept between things that would have passed through each other.
const KEPT: f64 = 0.1;

/// Stiffness of what ties a node to a body [N/m].
const TIE: f64 = 1e5;

/// Weights of the corners of a pair at its two nearest points, and the vector from the second to the first.
#[inline]
fn nearest(pair: Pair, x: [Vec3; 4]) -> ([f64; 4], Vec3) {
    let [a, b, c, d] = x;
    let weights = match pair {
        Pair::PointFace(..) => {
            let [u, v, w] = distance::point_triangle(a, [b, c, d]).weights;
            [1.0, -u, -v, -w]
        }
        Pair::EdgeEdge(..) => {
            let (s, t) = distance::edge_edge([a, b], [c, d]);
            [1.0 - s, s, t - 1.0, -t]
        }
        Pair::BallNode(..) => [1.0, -1.0, 0.0, 0.0],
    };
    // From differences, so that it is exact far from the origin.
    let apart = match pair {
        Pair::PointFace(..) => (a - b) - (c - b) * -weights[2] - (d - b) * -weights[3],
        Pair::EdgeEdge(..) => (a - c) + (b - a) * weights[1] - (d - c) * -weights[3],
        Pair::BallNode(..) => a - b,
    };
    (weights, apart)
}

/// True if the contact of a point with the border of a triangle is not one of its own: another triangle has that border too, and is nearer, or `first` and as near.
fn covers(field: &Field, (pair, row): &(Pair, Row), (of, with): &(Pair, Row), first: bool) -> bool {
    let (corners, own) = (field.corners(*pair), field.corners(*of));
    let border = with.feature.count_ones() < 3;
    let shared = (0..3).filter(|k| with.feature >> k & 1 == 1).all(|k| corners[1..].contains(&own[k + 1]));
    border && shared && (row.distance < with.distance || (first && row.distance == with.distance))
}

/// True if two parts of the cloth that share a neighbour are nearer than `near` at rest: the mesh is finer there than the cloth is thick.
fn rests_near(cloth: &Cloth, field: &Field, pair: Pair, corners: [u32; 4], weights: [f64; 4], near: f64) -> bool {
    if corners.iter().any(|&p| field.is_body(p)) {
        return false;
    }
    let nodes = corners.map(|p| NodeId(p - field.body_points as u32));
    let uv = nodes.map(|n| cloth.mesh.node_uv(n));
    let apart = uv[0] * weights[0] + uv[1] * weights[1] + uv[2] * weights[2] + uv[3] * weights[3];
    if apart.length() >= near {
        return false;
    }
    let second = if matches!(pair, Pair::EdgeEdge(..)) { 2 } else { 1 };
    let joined = |a: NodeId, b: NodeId| {
        cloth.mesh.fan(a).any(|c| [c.next(), c.prev()].into_iter().any(|c| cloth.mesh.node(c) == b))
    };
    nodes[..second].iter().any(|&a| nodes[second..].iter().any(|&b| joined(a, b)))
}
