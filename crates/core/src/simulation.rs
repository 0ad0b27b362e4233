//! The step.

use crate::body::{Bodies, BodiesState, BodyError, BodySpec, State};
use crate::cloth::{Cloth, Touched};
use crate::contact::{ContactSettings, Contacts, Cutting, Memory, Stroke, Untangled, blade};
use crate::grip::Grip;
use crate::integrator::{Integrator, Motion, Unsolved};
use crate::math::{Fingerprint, Vec2, Vec3};
use crate::opening::{self, tip, tip::Tip};
use crate::plastic::Plasticity;
use crate::potential::{ElementSet, Forces, Hold, Potential};
use crate::tear::{Cause, Event, HandTear, Policy, Tearing, cut_along, event, seam, tear_by_hand};
use ripstop_mesh::{ChangeLog, Column, FaceId, Id, NodeId};
use serde::{Deserialize, Serialize};

/// The stages of a step, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Grips and wind move on; grips let go.
    Drive,
    /// What is near what.
    FindContacts,
    /// Positions and velocities advance.
    Integrate,
    /// What would have passed through something is stopped.
    ResolveContacts,
    /// Strain is measured, cloth flows, the criterion looks for tears.
    Measure,
    /// Requests become edits of the mesh.
    Tear,
    /// Every table follows the edits.
    Follow,
    /// The clock moves on, events get their time.
    Record,
}

impl Stage {
    /// All stages in order.
    pub const ALL: [Self; 8] = [
        Self::Drive,
        Self::FindContacts,
        Self::Integrate,
        Self::ResolveContacts,
        Self::Measure,
        Self::Tear,
        Self::Follow,
        Self::Record,
    ];

    /// Name in profiles and errors.
    pub fn name(self) -> &'static str {
        match self {
            Self::Drive => "drive",
            Self::FindContacts => "find_contacts",
            Self::Integrate => "integrate",
            Self::ResolveContacts => "resolve_contacts",
            Self::Measure => "measure",
            Self::Tear => "tear",
            Self::Follow => "follow",
            Self::Record => "record",
        }
    }
}

/// Is told of every stage as it begins: a clock outside the engine, for profiles.
pub trait Watch {
    /// `stage` begins, and with it the one before ends.
    fn enter(&mut self, stage: Stage);
}

/// Nobody watches.
impl Watch for () {
    fn enter(&mut self, _stage: Stage) {}
}

/// Why a step could not be taken. The state is then not to be used any more.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StepError {
    /// A position or velocity is not a number.
    #[error("step {step} (t = {time:.4} s): node {node} became non-finite in `{}`", stage.name())]
    NotFinite {
        /// Step, from zero.
        step: u64,
        /// Time at its beginning [s].
        time: f64,
        /// First such node.
        node: NodeId,
        /// Stage after which it was found.
        stage: Stage,
    },
    /// A node crossed more than the whole cloth in one step: the step is too large for the stiffness.
    #[error("step {step} (t = {time:.4} s): node {node} flies at {speed:.0} m/s after `{}`, across the whole cloth in one step", stage.name())]
    Exploded {
        /// Step, from zero.
        step: u64,
        /// Time at its beginning [s].
        time: f64,
        /// First such node.
        node: NodeId,
        /// Its speed [m/s].
        speed: f64,
        /// Stage after which it was found.
        stage: Stage,
    },
    /// An implicit integrator could not solve its equations.
    #[error(
        "step {step} (t = {time:.4} s): the system in `integrate` isn't solved after {iterations} iterations, {residual:.1e} of it is left"
    )]
    Unsolved {
        /// Step, from zero.
        step: u64,
        /// Time at its beginning [s].
        time: f64,
        /// Iterations taken.
        iterations: u32,
        /// What was left of the right-hand side, as a share of it.
        residual: f64,
    },
}

/// What a checkpoint keeps: with the same scene, everything that the rest of a run depends on.
#[derive(Clone, Deserialize)]
pub struct Snapshot {
    cloth: Cloth,
    grips: Vec<Grip>,
    bodies: BodiesState,
    contacts: Vec<Memory>,
    step: u64,
    hand_done: usize,
    tears: u64,
    openings: u64,
    begun: u64,
    allowance: f64,
}

/// A [`Snapshot`] in writing, without a copy of the state.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SnapshotRef<'a> {
    cloth: &'a Cloth,
    grips: &'a [Grip],
    bodies: &'a Bodies,
    contacts: &'a [Memory],
    step: u64,
    hand_done: usize,
    tears: u64,
    openings: u64,
    begun: u64,
    allowance: f64,
}

/// What each of two bodies leaves for cloth between them, in thicknesses.
const ROOM: f64 = 1.25;

/// How far a blade may go in a part of a step, in mean edges: lips need time to part before it.
const PACE: f64 = 0.5;

/// Parts that a step is divided into for blades, at most.
const MOST_PARTS: f64 = 32.0;

/// A tip that is further than so many mean edges from where it was led is cut on from there.
const NOT_THERE: f64 = 0.1;

/// How far nodes that slide may move the surface where things touch, in thicknesses.
const STRAY: f64 = 0.25;

/// A cloth in motion.
pub struct Simulation {
    cloth: Cloth,
    forces: Forces,
    integrator: Box<dyn Integrator>,
    grips: Vec<Grip>,
    bodies: Bodies,
    contacts: Contacts,
    contact_later: Option<(ContactSettings, Cutting)>,
    tearing: Option<Tearing>,
    plasticity: Option<Plasticity>,
    /// Each with whether it is an exact cut.
    hand_tears: Vec<(HandTear, bool)>,
    hand_done: usize,
    /// Cuts that a program has asked for since the last step.
    cuts: Vec<Vec<Vec2>>,
    finest: f64,
    h: f64,
    step: u64,
    tears: u64,
    openings: u64,
    begun: u64,
    topology_version: u64,
    reach: f64,
    /// What is faster is slowed down to this [m/s].
    fastest: Option<f64>,
    log: ChangeLog,
    /// Edits that the cloth has followed and the tables not yet.
    followed: ChangeLog,
    events: Vec<Event>,
    described: usize,
    unfinished: Option<Unsolved>,
    /// A blade has cut since the start was remembered, so that there is no way back to it.
    no_way_back: bool,
    /// Positions, velocities, lean and drift when this part of the step began.
    start: [Vec<Vec3>; 4],
    bodies_start: Vec<State>,
}

impl Simulation {
    /// A cloth moved by `potentials` through an integrator in steps of `h` [s].
    pub fn new(
        cloth: Cloth,
        potentials: Vec<Box<dyn Potential>>,
        integrator: impl Integrator + 'static,
        h: f64,
    ) -> Self {
        Self::boxed(cloth, potentials, Box::new(integrator), h)
    }

    /// The same for an integrator chosen at run time.
    pub fn boxed(cloth: Cloth, potentials: Vec<Box<dyn Potential>>, integrator: Box<dyn Integrator>, h: f64) -> Self {
        let (reach, finest) = (cloth.extent(), opening::FINEST * cloth.mean_edge());
        Self {
            forces: Forces::new(potentials),
            cloth,
            integrator,
            grips: Vec::new(),
            bodies: Bodies::default(),
            contacts: Contacts::default(),
            contact_later: None,
            tearing: None,
            plasticity: None,
            hand_tears: Vec::new(),
            hand_done: 0,
            cuts: Vec::new(),
            finest,
            h,
            step: 0,
            tears: 0,
            openings: 0,
            begun: 0,
            topology_version: 0,
            reach,
            fastest: None,
            log: ChangeLog::new(),
            followed: ChangeLog::new(),
            events: Vec::new(),
            described: 0,
            unfinished: None,
            no_way_back: false,
            start: Default::default(),
            bodies_start: Vec::new(),
        }
    }

    /// Slows down what is faster than this [m/s], instead of ending when a node crosses the whole cloth in a step. For play: scraps that snap off overloaded cloth can be as fast as that.
    pub fn fastest(mut self, speed: f64) -> Self {
        self.fastest = Some(speed);
        self
    }

    /// Adds a grip, which takes hold at once or in its time.
    pub fn grip(mut self, grip: Grip) -> Self {
        self.add_grip(grip);
        self
    }

    /// Adds a grip between two steps; one that takes hold later does so in its time.
    pub fn add_grip(&mut self, grip: Grip) {
        grip.take(self.grips.len(), &mut self.cloth);
        self.topology_version += u64::from(grip.holds());
        self.grips.push(grip);
    }

    /// The grips, to give them other keyframes or another time to let go.
    pub fn grips_mut(&mut self) -> &mut [Grip] {
        &mut self.grips
    }

    /// Adds a body between two steps, to arrive at its [time](BodySpec::from).
    pub fn add_body(&mut self, spec: BodySpec) -> Result<(), BodyError> {
        self.bodies.add(spec)
    }

    /// Lets another wind blow from a time on [s, m/s].
    pub fn shift_wind(&mut self, time: f64, velocity: Vec3) {
        self.forces.potentials.iter_mut().for_each(|potential| potential.shift_wind(time, velocity));
    }

    /// Puts bodies into the world. The cloth meets them if there is [contact](Self::contact).
    pub fn with_bodies(mut self, bodies: Bodies) -> Self {
        self.bodies = bodies;
        self.leave_room();
        self
    }

    /// Lets things touch.
    pub fn contact(mut self, settings: ContactSettings) -> Self {
        self.contacts = Contacts::new(settings);
        self.leave_room();
        self
    }

    /// The same from the first body on that arrives.
    pub fn contact_with_bodies(mut self, settings: ContactSettings, cutting: Cutting) -> Self {
        self.contact_later = Some((settings, cutting));
        self
    }

    /// Bodies whose time has come are there from now on.
    fn arrive(&mut self, time: f64) {
        if !self.bodies.arrive(time) {
            return;
        }
        if let Some((settings, cutting)) = self.contact_later.take().filter(|_| !self.contacts.is_on()) {
            self.contacts = Contacts::new(settings);
            self.contacts.cut(cutting);
        }
        // Points of bodies are numbered before those of cloth, so what contacts remember is of other numbers.
        self.contacts.restore(Vec::new());
        self.leave_room();
    }

    fn leave_room(&mut self) {
        if let Some(thickness) = self.contacts.fitting(&self.cloth) {
            self.bodies.leave_room(ROOM * thickness);
            self.cloth.stray = STRAY * thickness;
        }
    }

    /// Lets sharp edges of bodies cut the cloth. Nothing to do without [contact](Self::contact), which comes first.
    pub fn cutting(mut self, cutting: Cutting) -> Self {
        self.contacts.cut(cutting);
        self
    }

    /// Frees cloth that crosses itself or bodies slightly, before the first step; deep crossings stay. Nothing to do without [contact](Self::contact).
    pub fn untangle(&mut self) -> Untangled {
        let freed = self.contacts.untangle(&mut self.cloth, &self.bodies);
        self.reach = self.reach.max(self.cloth.extent());
        freed
    }

    /// Lets the cloth tear.
    pub fn tearing(mut self, mut tearing: Tearing) -> Self {
        tearing.begin_with(&self.cloth);
        if tearing.criterion.wants_balance() {
            self.integrator.balance();
        }
        if tearing.criterion.bonds() {
            self.forces.potentials.push(Box::new(ElementSet::new(Hold, &self.cloth)));
        }
        self.tearing = Some(tearing);
        self
    }

    /// Lets the cloth yield.
    pub fn plasticity(mut self, plasticity: Plasticity) -> Self {
        self.plasticity = Some(plasticity);
        self
    }

    /// Adds a tear by hand.
    pub fn tear_by_hand(self, hand: HandTear) -> Self {
        self.by_hand(hand, false)
    }

    /// Adds a cut by hand, which follows its line exactly ([`opening::cut`]).
    pub fn cut_by_hand(self, hand: HandTear) -> Self {
        self.by_hand(hand, true)
    }

    fn by_hand(mut self, hand: HandTear, exact: bool) -> Self {
        self.add_hand(hand, exact);
        self
    }

    /// Adds a tear by hand, or an exact cut, between two steps; its time must not be before them.
    pub fn add_hand(&mut self, hand: HandTear, exact: bool) {
        self.hand_tears.push((hand, exact));
        self.hand_tears.sort_by(|(a, _), (b, _)| a.time.total_cmp(&b.time));
    }

    /// Cuts the cloth exactly along a line on the material [m] ([`opening::cut`]), when the next step begins. A checkpoint doesn't keep what
    /// is not cut yet.
    pub fn cut(&mut self, path: &[Vec2]) {
        self.cuts.push(path.to_vec());
    }

    /// The same along a line in the world [m], where it is `within` a distance [m] of the cloth as it lies now. Returns how many
    /// stretches of the line are on the cloth ([`opening::trace`]).
    pub fn cut_world(&mut self, path: &[Vec3], within: f64) -> usize {
        let stretches = opening::trace(&self.cloth, path, within);
        let count = stretches.len();
        self.cuts.extend(stretches);
        count
    }

    /// Advances by one step.
    pub fn step(&mut self) -> Result<(), StepError> {
        self.step_watched(&mut ())
    }

    /// Advances by one step and tells `watch` of every stage.
    pub fn step_watched(&mut self, watch: &mut dyn Watch) -> Result<(), StepError> {
        self.drive(watch);
        match self.tearing.as_ref().map(|t| t.policy) {
            None => self.integrate(0.0, self.h, watch)?,
            Some(Policy::EndOfStep { rounds }) => {
                self.integrate(0.0, self.h, watch)?;
                for _ in 0..rounds {
                    if !self.measure_fine(self.h, watch) {
                        break;
                    }
                    self.tear(watch);
                    self.follow(self.h, watch);
                }
            }
            Some(Policy::FirstTear { limit }) => {
                let mut left = self.h;
                for _ in 0..limit {
                    self.remember();
                    self.integrate(self.h - left, left, watch)?;
                    if !self.measure_fine(self.h, watch) {
                        left = 0.0;
                        break;
                    }
                    if self.no_way_back {
                        self.tear(watch);
                        self.follow(self.h, watch);
                        left = 0.0;
                        break;
                    }
                    let share = self.go_back(watch);
                    self.integrate(self.h - left, share * left, watch)?;
                    left -= share * left;
                    self.tear(watch);
                    self.follow(self.h - left, watch);
                }
                self.integrate(self.h - left, left, watch)?;
            }
        }
        self.flow(watch);
        self.record(watch);
        Ok(())
    }

    fn drive(&mut self, watch: &mut dyn Watch) {
        watch.enter(Stage::Drive);
        self.events.clear();
        self.described = 0;
        self.unfinished = None;
        let (time, h) = (self.time(), self.h);
        if let Some(tearing) = &mut self.tearing {
            tearing.begin(h);
        }
        self.arrive(time + 0.5 * h);
        for (number, grip) in self.grips.iter_mut().enumerate() {
            let held = grip.holds();
            grip.drive(number, &mut self.cloth, time, h);
            self.topology_version += u64::from(held != grip.holds());
        }
        for potential in &mut self.forces.potentials {
            potential.set_time(time);
        }
        // Tears by hand come first, so that they are in the forces of this step.
        while let Some((hand, exact)) =
            self.hand_tears.get(self.hand_done).filter(|(hand, _)| hand.time < time + 0.5 * h)
        {
            if *exact {
                self.cuts.push(hand.path.clone());
            } else {
                tear_by_hand(&mut self.cloth, hand, &mut self.log, &mut self.events);
            }
            self.hand_done += 1;
        }
        for path in std::mem::take(&mut self.cuts) {
            // Cuts move nodes, so every table is to know the cloth as it is.
            if !self.log.is_empty() {
                self.follow(0.0, watch);
            }
            cut_along(&mut self.cloth, &path, (self.finest, &[]), Cause::Hand, &mut self.log, &mut self.events);
        }
        seam::open_due(&mut self.cloth, time + 0.5 * h, &mut self.log, &mut self.events);
        if !self.log.is_empty() {
            self.follow(0.0, watch);
        }
        if let Some(tearing) = &mut self.tearing {
            tearing.refine_tips(&mut self.cloth, &mut self.log);
            if !self.log.is_empty() {
                self.follow(0.0, watch);
            }
        }
        if let Some(tearing) = &self.tearing {
            let tied = self.bodies.iter().flat_map(|body| body.ties.iter().map(|&(n, _)| n));
            let kept = self.grips.iter().flat_map(Grip::keeps).chain(tied);
            tearing.coarsen(&mut self.cloth, (self.step, h), kept, &mut self.followed);
            if !self.followed.is_empty() {
                watch.enter(Stage::Follow);
                self.contacts.follow(&mut self.cloth, (&self.bodies, false), &self.followed);
                self.follow_tables(0.0);
            }
        }
    }

    /// Advances cloth and bodies by `h` [s], `since` [s] after the beginning of the step.
    fn integrate(&mut self, since: f64, h: f64, watch: &mut dyn Watch) -> Result<(), StepError> {
        if h <= 0.0 {
            return Ok(());
        }
        let touch = self.contacts.is_on() || !self.bodies.is_empty();
        // A thousandth of slack: steps of 1/240 s come in many roundings.
        let by_step = if touch { h / self.integrator.contact_step() - 1e-3 } else { 1.0 };
        let by_blades = self.blade_way(h) - 1e-3;
        let parts = by_step.max(by_blades).ceil().clamp(1.0, MOST_PARTS.max(by_step.ceil())) as u32;
        let part = h / f64::from(parts);
        for k in 0..parts {
            self.integrate_part(since + f64::from(k) * part, part, 1.0 / f64::from(parts), watch)?;
        }
        Ok(())
    }

    /// How far sharp edges go in a time of `h` [s] as they move now, in what a blade may go in a step.
    fn blade_way(&self, h: f64) -> f64 {
        let edge = self.finest / opening::FINEST;
        if self.contacts.cutting().is_none() { 0.0 } else { self.bodies.sharp_speed() * h / (PACE * edge) }
    }

    /// One of the parts of a step, the `share` of it.
    fn integrate_part(&mut self, since: f64, h: f64, share: f64, watch: &mut dyn Watch) -> Result<(), StepError> {
        let touch = self.contacts.is_on() || !self.bodies.is_empty();
        if touch {
            watch.enter(Stage::FindContacts);
            self.bodies.drive(self.time() + since, h);
            let strokes = self.contacts.foreseen_strokes(&self.cloth, &self.bodies, h);
            self.cut_by_blades(&strokes, None, since, watch);
            self.contacts.find(&self.cloth, &mut self.bodies, h);
        }
        watch.enter(Stage::Integrate);
        let contacts = touch.then_some(&mut self.contacts);
        self.integrator.advance(Motion { cloth: &mut self.cloth, forces: &mut self.forces, contacts, share }, h);
        self.slow_down(h);
        self.check(Stage::Integrate)?;
        if touch {
            watch.enter(Stage::ResolveContacts);
            self.contacts.release(&mut self.bodies);
            self.bodies.advance(h);
            let strokes = self.contacts.actual_strokes(&self.cloth, &self.bodies, h);
            if !strokes.is_empty() {
                let mut before = self.cloth.clone();
                before.x.copy_from_slice(self.contacts.start());
                self.cut_by_blades(&strokes, Some(&mut before), since + h, watch);
                self.contacts.restart(&before.x);
            }
            self.contacts.resolve(&mut self.cloth, &mut self.bodies, h);
            if self.integrator.trembles() {
                self.contacts.note_drift(&mut self.cloth, h);
            }
            // Where things are is settled by now.
            self.slow_down(0.0);
            self.check(Stage::ResolveContacts)?;
        }
        let residual = |unfinished: Option<Unsolved>| unfinished.map_or(0.0, |u| u.residual);
        let unfinished = self.integrator.unfinished();
        if residual(unfinished) > residual(self.unfinished) {
            self.unfinished = unfinished;
        }
        match self.integrator.unsolved() {
            None => Ok(()),
            Some(Unsolved { iterations, residual }) => {
                Err(StepError::Unsolved { step: self.step, time: self.time(), iterations, residual })
            }
        }
    }

    /// Cuts where blades pass through, `since` [s] after the beginning of the step; likewise the cloth as it was when this part of the step began.
    fn cut_by_blades(&mut self, strokes: &[Stroke], mut before: Option<&mut Cloth>, since: f64, watch: &mut dyn Watch) {
        let Some(cutting) = self.contacts.cutting() else { return };
        for stroke in strokes {
            let first = self.events.len();
            self.cut_by_blade(stroke, before.as_deref_mut());
            let length: f64 = self.events[first..].iter().map(|event| event.length).sum();
            self.bodies.slow_down(stroke.body as usize, cutting.resistance * self.contacts.thickness() * length);
        }
        if !self.followed.is_empty() {
            watch.enter(Stage::Follow);
            self.follow_tables(since);
            self.no_way_back = true;
        }
    }

    fn cut_by_blade(&mut self, stroke: &Stroke, mut before: Option<&mut Cloth>) {
        let Stroke { body, path, tip, at_blade } = stroke;
        let (Some(&from), Some(&goal)) = (path.first(), path.last()) else { return };
        let edge = self.finest / opening::FINEST;
        let Some(tip) = *tip else {
            self.cut_line(*body, path, before.as_deref_mut());
            for (end, _) in [from, goal].into_iter().zip(at_blade).filter(|(_, at_blade)| **at_blade) {
                self.lead_nearest(*body, end, before.as_deref_mut());
            }
            return;
        };
        let [_, onward @ ..] = &path[..] else { return };
        if Tip::of(&self.cloth, tip).is_none() {
            return;
        }
        // Round a corner: the tip stays there, and the slit has another from there on.
        let last = self.lead_tip(*body, (tip, onward[0]), before.as_deref_mut());
        let here = self.cloth.mesh.node_uv(last);
        if onward.len() > 1 || here.distance(goal) > NOT_THERE * edge {
            self.cut_line(*body, &[here, goal], before.as_deref_mut());
            self.lead_nearest(*body, goal, before);
        }
    }

    /// Cuts along a line; the tables don't know yet.
    fn cut_line(&mut self, body: u32, path: &[Vec2], mut before: Option<&mut Cloth>) {
        let fixed = self.contacts.around_blade(&self.cloth, before.as_deref(), &self.bodies, body as usize);
        let (finest, cause) = ((self.finest, &fixed[..]), Cause::Cut { body });
        // What may slide is settled for both.
        let stray = std::mem::replace(&mut self.cloth.stray, f64::INFINITY);
        cut_along(&mut self.cloth, path, finest, cause, &mut self.log, &mut self.events);
        if let Some(before) = &mut before {
            let mut log = ChangeLog::new();
            before.stray = f64::INFINITY;
            opening::cut_around(before, path, self.finest, &fixed, &mut log);
            debug_assert!(log == self.log, "cuts depend on the material alone");
            before.follow(&log);
            self.contacts.follow(before, (&self.bodies, true), &log);
        }
        self.cloth.stray = stray;
        self.follow_cloth();
    }

    /// Brings the tip nearest to a place of the material there.
    fn lead_nearest(&mut self, body: u32, goal: Vec2, before: Option<&mut Cloth>) {
        let edge = self.finest / opening::FINEST;
        let tips = Tip::all(&self.cloth).into_iter().filter(|tip| tip.at.distance(goal) < edge);
        if let Some(tip) = tips.min_by(|a, b| a.at.distance(goal).total_cmp(&b.at.distance(goal))) {
            self.lead_tip(body, (tip.node, goal), before);
        }
    }

    /// Brings a tip to a place of the material, as near as it goes; the tables don't know yet. Returns the node that is the tip then.
    fn lead_tip(&mut self, body: u32, (node, goal): (NodeId, Vec2), mut before: Option<&mut Cloth>) -> NodeId {
        let edge = self.finest / opening::FINEST;
        let (was, place) = (self.cloth.mesh.node_uv(node), self.cloth.x[node]);
        let near = self.contacts.triangles_near(&self.bodies, body as usize, place, 6.0 * edge);
        let clear = |view: usize, t: [Vec3; 4]| !near[view].iter().any(|&triangle| blade::meets(t, triangle));
        let start = before.as_deref().map(|before| before.x.as_ref());
        let last = tip::lead(&mut self.cloth, start, (node, goal), edge, &clear, &mut self.log);
        if self.log.is_empty() {
            return last;
        }
        if let Some(before) = &mut before {
            before.mesh.clone_from(&self.cloth.mesh);
            before.follow(&self.log);
            self.contacts.follow(before, (&self.bodies, true), &self.log);
        }
        self.follow_cloth();
        if let Some(tip) = Tip::of(&self.cloth, last) {
            event::follow_tip(&self.cloth, &tip, (was, place), Cause::Cut { body }, (self.described, &mut self.events));
        }
        last
    }

    /// True if there is something to tear, `since` [s] after the beginning of the step.
    fn measure(&mut self, since: f64, watch: &mut dyn Watch) -> bool {
        watch.enter(Stage::Measure);
        let time = self.time() + since;
        let Some(tearing) = &mut self.tearing else { return false };
        tearing.measure(&self.cloth, &self.forces, time);
        !tearing.requests.is_empty()
    }

    /// The same, after the cloth was made as fine as it is to be where it tears. If it was, there is no way back to the beginning of the step.
    fn measure_fine(&mut self, since: f64, watch: &mut dyn Watch) -> bool {
        if !self.measure(since, watch) {
            return false;
        }
        let Some(tearing) = &mut self.tearing else { return false };
        if !tearing.refine_asked(&mut self.cloth, &mut self.log) {
            return true;
        }
        self.no_way_back = true;
        self.follow(since, watch);
        self.measure(since, watch)
    }

    fn tear(&mut self, watch: &mut dyn Watch) {
        watch.enter(Stage::Tear);
        if let Some(tearing) = &mut self.tearing {
            let (opened, begun) = tearing.resolve(&mut self.cloth, &self.forces, &mut self.log, &mut self.events);
            (self.openings, self.begun) = (self.openings + opened, self.begun + begun);
        }
    }

    /// Brings all tables up to date with the edits, and dates their events `since` [s] into the step.
    fn follow(&mut self, since: f64, watch: &mut dyn Watch) {
        watch.enter(Stage::Follow);
        self.follow_cloth();
        self.follow_tables(since);
    }

    /// The cloth follows the edits in the log, so that more can be made before the tables follow all of them.
    fn follow_cloth(&mut self) {
        self.cloth.follow(&self.log);
        if let Some(tearing) = &mut self.tearing {
            tearing.ease(&mut self.cloth, &self.log);
        }
        self.contacts.follow(&mut self.cloth, (&self.bodies, false), &self.log);
        self.followed.append(&mut self.log);
    }

    fn follow_tables(&mut self, since: f64) {
        self.topology_version += 1;
        let (time, log) = (self.time() + since, &self.followed);
        self.cloth.note_time(log, time);
        let touched = Touched::by(&self.cloth.mesh, log);
        self.forces.follow(&self.cloth, &touched);
        self.integrator.follow(&touched);
        for change in log {
            self.grips.iter_mut().for_each(|grip| grip.follow(change));
            self.bodies.follow(change);
        }
        if let Some(tearing) = &mut self.tearing {
            let nodes = tearing.hold(&mut self.cloth, &self.forces, log);
            if !nodes.is_empty() {
                self.forces.follow(&self.cloth, &Touched { nodes, topology: true, ..Touched::default() });
            }
            tearing.follow(&self.cloth, &touched);
        }
        self.followed.clear();
        let step = self.step;
        for event in &mut self.events[self.described..] {
            (event.time, event.step, event.tip) = (time, step, self.cloth.tips.along(event.edge));
        }
        self.described = self.events.len();
    }

    /// Bonds wear, cloth flows.
    fn flow(&mut self, watch: &mut dyn Watch) {
        let (nodes, topology) = self.cloth.wear_bonds();
        if topology || !nodes.is_empty() {
            self.forces.follow(&self.cloth, &Touched { nodes, topology, ..Touched::default() });
            self.integrator.follow(&Touched { topology, ..Touched::default() });
        }
        let Some(plasticity) = &self.plasticity else { return };
        watch.enter(Stage::Measure);
        if let Some(touched) = plasticity.flow(&mut self.cloth) {
            self.forces.follow(&self.cloth, &touched);
            self.integrator.follow(&touched);
        }
    }

    fn record(&mut self, watch: &mut dyn Watch) {
        watch.enter(Stage::Record);
        self.tears += self.events.len() as u64;
        self.step += 1;
    }

    fn remember(&mut self) {
        self.no_way_back = false;
        for (kept, column) in self.start.iter_mut().zip(self.cloth.motion()) {
            kept.clear();
            kept.extend_from_slice(column);
        }
        self.bodies_start.clear();
        self.bodies_start.extend(self.bodies.iter().map(|body| body.state()));
    }

    /// Restores the remembered state, and returns after which share of the way the first tear comes.
    fn go_back(&mut self, watch: &mut dyn Watch) -> f64 {
        watch.enter(Stage::Measure);
        let [x, v, lean, drift] = &self.start;
        self.cloth.x.copy_from_slice(x);
        self.cloth.v.copy_from_slice(v);
        self.cloth.lean = Column::from_rows(lean.clone());
        self.cloth.drift = Column::from_rows(drift.clone());
        for (b, state) in self.bodies_start.iter().enumerate() {
            self.bodies.set_pose(b, state.pose);
            self.bodies.set_velocity(b, state.velocity, state.spin);
        }
        self.tearing.as_mut().map_or(1.0, |tearing| tearing.keep_earliest(&self.cloth, &self.forces))
    }

    /// Slows down what is too fast, and takes back what that went too far in the last `h` [s].
    fn slow_down(&mut self, h: f64) {
        let Some(fastest) = self.fastest else { return };
        let Cloth { x, v, inverse_mass, .. } = &mut self.cloth;
        for ((x, v), w) in x.iter_mut().zip(v.iter_mut()).zip(inverse_mass.iter()) {
            let speed = v.length();
            if speed > fastest && speed.is_finite() && *w > 0.0 {
                let slower = *v * (fastest / speed);
                *x += (slower - *v) * h;
                *v = slower;
            }
        }
    }

    fn check(&self, stage: Stage) -> Result<(), StepError> {
        let (step, time, limit) = (self.step, self.time(), self.reach / self.h);
        for node in self.cloth.mesh.nodes() {
            let speed_squared = self.cloth.v[node].length_squared();
            if !(self.cloth.x[node].is_finite() && speed_squared.is_finite()) {
                return Err(StepError::NotFinite { step, time, node, stage });
            }
            if speed_squared > limit * limit && !self.cloth.is_held(node) {
                return Err(StepError::Exploded { step, time, node, speed: speed_squared.sqrt(), stage });
            }
        }
        Ok(())
    }

    /// Time at the end of the last step [s].
    pub fn time(&self) -> f64 {
        self.step as f64 * self.h
    }
    /// Steps taken.
    pub fn step_count(&self) -> u64 {
        self.step
    }
    /// Length of a step [s].
    pub fn step_length(&self) -> f64 {
        self.h
    }
    /// The cloth.
    pub fn cloth(&self) -> &Cloth {
        &self.cloth
    }
    /// The grips.
    pub fn grips(&self) -> &[Grip] {
        &self.grips
    }
    /// The bodies; there may be none.
    pub fn bodies(&self) -> &Bodies {
        &self.bodies
    }
    /// The bodies alone.
    pub fn into_bodies(self) -> Bodies {
        self.bodies
    }
    /// The contacts, as they were in the last step.
    pub fn contacts(&self) -> &Contacts {
        &self.contacts
    }
    /// Grows whenever the mesh changes or a grip lets go.
    pub fn topology_version(&self) -> u64 {
        self.topology_version
    }
    /// Edges opened so far.
    pub fn tear_count(&self) -> u64 {
        self.tears
    }
    /// Times that the cloth parted by load: each opens one edge or a few.
    pub fn opening_count(&self) -> u64 {
        self.openings
    }
    /// Those of them that began a tear inside whole cloth, away from every border and tear.
    pub fn begun_count(&self) -> u64 {
        self.begun
    }
    /// Edges opened in the last step.
    pub fn events(&self) -> &[Event] {
        &self.events
    }
    /// Where the integrator ended furthest from its goal in the last step, if it did anywhere.
    pub fn unfinished(&self) -> Option<Unsolved> {
        self.unfinished
    }
    /// How it tears, if it does.
    pub fn tears_by(&self) -> Option<&Tearing> {
        self.tearing.as_ref()
    }
    /// Potentials with their energies [J], the kinetic one last.
    pub fn energies(&self) -> Vec<(&'static str, f64)> {
        let stored = self.forces.potentials.iter().map(|p| (p.name(), p.energy(&self.cloth)));
        stored.chain([("kinetic", self.cloth.kinetic_energy())]).collect()
    }

    /// Evaluates the forces once more and notes the load on every grip.
    pub fn weigh_grips(&mut self) {
        let mut force = vec![Vec3::ZERO; self.cloth.x.len()];
        let Self { cloth, forces, .. } = self;
        if self.integrator.is_balanced() {
            let mut elastic = force.clone();
            forces.evaluate_part(true, cloth, &cloth.x, &force, &mut elastic);
            forces.evaluate_part(false, cloth, &cloth.x, &cloth.v, &mut force);
            force.iter_mut().zip(elastic).for_each(|(force, elastic)| *force += elastic);
        } else {
            forces.evaluate(cloth, &cloth.x, &cloth.v, &mut force);
        }
        for grip in &mut self.grips {
            grip.weigh(&force);
        }
    }

    /// An estimate of the largest step [s] with which the integrator is stable. Never too large by much; it may be half of
    /// what would still do.
    pub fn stable_step(&self) -> f64 {
        let (omega, rate) = self.forces.rates(&self.cloth);
        self.integrator.stable_step(omega, rate)
    }

    /// Fingerprint of the state: equal for runs that agree in every bit.
    pub fn state_hash(&self) -> u64 {
        let mut print = Fingerprint::default();
        for n in self.cloth.mesh.nodes() {
            print.vector(self.cloth.x[n]);
            print.vector(self.cloth.v[n]);
        }
        for c in self.cloth.mesh.corners() {
            print.word(u64::from(self.cloth.mesh.node(c).0));
        }
        self.bodies.fingerprint(&mut print);
        for rest in self.cloth.rest.iter() {
            print.word(rest.to_bits());
        }
        print.value()
    }

    /// Everything a checkpoint has to keep.
    pub fn snapshot(&self) -> SnapshotRef<'_> {
        SnapshotRef {
            cloth: &self.cloth,
            grips: &self.grips,
            bodies: &self.bodies,
            contacts: self.contacts.memory(),
            step: self.step,
            hand_done: self.hand_done,
            tears: self.tears,
            openings: self.openings,
            begun: self.begun,
            allowance: self.tearing.as_ref().map_or(0.0, Tearing::allowance),
        }
    }

    /// Goes on from a checkpoint of the same scene, bit for bit.
    pub fn restore(&mut self, snapshot: Snapshot) {
        let Snapshot { cloth, grips, bodies, contacts, step, hand_done, tears, openings, begun, allowance } = snapshot;
        // All that had arrived by then.
        self.arrive((step as f64 - 0.5) * self.h);
        let known = self.bodies.restore(bodies);
        debug_assert!(known, "a checkpoint of the same scene");
        self.contacts.restore(contacts);
        (self.cloth, self.grips, self.step, self.hand_done) = (cloth, grips, step, hand_done);
        (self.tears, self.openings, self.begun) = (tears, openings, begun);
        let all = Touched {
            // What is retired is among them: here it may have been there.
            nodes: self.cloth.x.ids().collect(),
            edges: self.cloth.woven.ids().collect(),
            faces: (0..self.cloth.mesh.face_count()).map(FaceId::new).collect(),
            topology: true,
        };
        self.forces.follow(&self.cloth, &all);
        self.integrator.follow(&all);
        if let Some(tearing) = &mut self.tearing {
            tearing.follow(&self.cloth, &all);
            tearing.restore(allowance);
        }
    }
}
