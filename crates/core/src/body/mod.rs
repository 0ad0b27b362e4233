//! Rigid bodies: things that cloth meets, fixed, moved by keyframes, or free with a mass.
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | x, q | [`Pose`] | m, – | where a body's own origin is, and how it is turned |
//! | c | [`Bodies::middle`] | m | its centre of mass |
//! | v, ω | [`Bodies::velocity`], [`Bodies::spin`] | m/s, rad/s | velocity of c; angular velocity |
//! | m, I | [`Bodies::inertia`] (inverse) | kg, kg·m² | mass; inertia about c in world axes |
//!
//! A step is, in this order,
//!
//! 1. [`Bodies::drive`]: v ← v + g h of free bodies; scripted ones get the v and ω that bring them to their keyframe;
//! 2. [`Bodies::foresee`]: what their contacts with each other would make of these velocities, for cloth to meet them where they will be;
//! 3. [`Bodies::push`], any number of times: v ← v + P/m, ω ← ω + I⁻¹L for an impulse P and an angular impulse L about c;
//! 4. [`Bodies::advance`]: c ← c + v h, and contacts of bodies among themselves;
//! 5. [`Bodies::set_pose`], [`Bodies::set_velocity`] and again `push`: whatever contact with cloth still corrects.
//!
//! Cloth meets the triangles of a body's [`Surface`], so one mechanism serves cloth on cloth and cloth on bodies; balls are met as they are by cloth that is fine beside them. Bodies
//! meet each other with their exact shapes, through rapier (Dimforge, `rapier3d-f64`): soft contacts, Coulomb friction
//! (the mean of both coefficients), no bounce. Its types stay inside [`mod@self`].
//!
//! Deviations: rapier's own gravity is off and its bodies never sleep, so that rest is the balance of forces on cloth and
//! off it. Limits: a body that starts inside another is pushed out at a few of its sizes per second; free meshes touch with
//! their triangles only, so a fast thin one can be caught inside another mesh (take hulls for small fast things); a
//! plane's surface ends [`surface::PLANE_REACH`] from its origin for cloth, and never for bodies.

mod pose;
mod shape;
pub mod surface;
mod world;

pub use pose::Pose;
pub use shape::Shape;
pub use surface::Surface;

use crate::grip::{self, Key};
use crate::math::{Fingerprint, Mat3, Real, Vec3, turn, turn_vector};
use ripstop_mesh::{Change, NodeId};
use serde::{Deserialize, Serialize, Serializer};
use shape::positive;
use world::{Sets, Solid, World};

/// What moves a body.
#[derive(Clone, Debug, PartialEq)]
pub enum Drive {
    /// Nothing.
    Fixed,
    /// Keyframes in order of time, relative to where it was put: displacement, and turn about its middle. Linear
    /// between, constant outside. It begins where they have it at time zero.
    Scripted(Vec<Key>),
    /// Forces.
    Free {
        /// Mass [kg], spread evenly.
        mass: Real,
        /// Velocity of its centre of mass at the start [m/s].
        velocity: Vec3,
        /// Angular velocity at the start [rad/s].
        spin: Vec3,
    },
}

/// A node of the cloth, and the point of a body that it is tied to, in the body's own coordinates [m].
pub type Tie = (NodeId, Vec3);

/// Which edges of a body cut.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Sharp {
    /// None.
    #[default]
    Nothing,
    /// Those whose wedge of matter is narrower than this [rad].
    Below(Real),
    /// Those between these pairs of points of its mesh.
    Edges(Vec<[u32; 2]>),
}

/// A body to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct BodySpec {
    /// Name in results.
    pub name: String,
    /// Its shape.
    pub shape: Shape,
    /// Where it is at the start.
    pub pose: Pose,
    /// What moves it.
    pub drive: Drive,
    /// Coefficient of friction; `None`: cloth has its own on it, and other bodies 0.5.
    pub friction: Option<Real>,
    /// Which of its edges cut cloth.
    pub sharp: Sharp,
    /// Time at which it arrives [s]; it is there from the start if none.
    pub from: Option<Real>,
}

impl BodySpec {
    /// A fixed body at the origin.
    pub fn new(name: impl Into<String>, shape: Shape) -> Self {
        let (pose, drive) = (Pose::default(), Drive::Fixed);
        Self { name: name.into(), shape, pose, drive, friction: None, sharp: Sharp::Nothing, from: None }
    }

    /// The same at another pose.
    pub fn at(mut self, pose: Pose) -> Self {
        self.pose = pose;
        self
    }

    /// The same, driven otherwise.
    pub fn driven(mut self, drive: Drive) -> Self {
        self.drive = drive;
        self
    }

    /// The same with edges that cut.
    pub fn sharpened(mut self, sharp: Sharp) -> Self {
        self.sharp = sharp;
        self
    }
}

/// Why a body can't be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("body `{name}`: {cause}; {advice}")]
pub struct BodyError {
    /// Which of the bodies, from zero.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// What about it: `shape`, `place`, `turn`, `keys`, `mass`, `velocity`, `spin`, `friction` or `sharp`.
    pub key: &'static str,
    /// What is wrong.
    pub cause: String,
    /// What to do about it.
    pub advice: String,
}

/// Where a body is and how it moves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Where it is.
    pub pose: Pose,
    /// Velocity of its centre of mass [m/s].
    pub velocity: Vec3,
    /// Angular velocity in world axes [rad/s].
    pub spin: Vec3,
}

/// A rigid body.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// Name in results.
    pub name: String,
    /// Its shape.
    pub shape: Shape,
    /// Its surface in its own coordinates.
    pub surface: Surface,
    /// What moves it.
    pub drive: Drive,
    /// Coefficient of friction, if it has its own.
    pub friction: Option<Real>,
    /// What of the cloth is tied to it.
    pub ties: Vec<Tie>,
    /// Something about it that may not be meant.
    pub warning: Option<String>,
    /// Where it is and how it moves.
    now: State,
    /// The same when the last step began.
    before: State,
    /// Where it was put.
    origin: Pose,
    solid: Solid,
    /// In its own axes [1/(kg·m²)]; zero unless free.
    inverse_inertia: Mat3,
}

impl Body {
    fn new(number: usize, spec: BodySpec) -> Result<Self, BodyError> {
        let BodySpec { name, shape, mut pose, drive, friction, sharp, from } = spec;
        let fault = |key: &'static str, fault| BodyError::new(number, &name, key, fault);
        let finite = |key: &'static str, values: &[Vec3]| match values.iter().all(|v| v.is_finite()) {
            true => Ok(()),
            false => Err(fault(key, (format!("`{key}` is not a number"), "give ordinary numbers".into()))),
        };
        let (mut surface, warning) = shape.surface().map_err(|f| fault("shape", f))?;
        let sharp = sharpen(&surface, &sharp).map_err(|f| fault("sharp", f))?;
        surface.sharpen(sharp);
        finite("place", &[pose.place])?;
        let length = pose.turn.length();
        if !(length.is_finite() && length > 0.0) {
            return Err(fault("turn", ("`turn` is no turn".into(), "give ordinary numbers".into())));
        }
        pose.turn /= length;
        if let Some(mu) = friction.filter(|mu| !(mu.is_finite() && *mu >= 0.0)) {
            return Err(fault("friction", (format!("`friction` is {mu}"), "it must be zero or more".into())));
        }
        let (mut mass, mut velocity, mut spin) = (0.0, Vec3::ZERO, Vec3::ZERO);
        match &drive {
            Drive::Fixed => {}
            Drive::Scripted(keys) => {
                finite("keys", &keys.iter().flat_map(|k| [k.shift, k.turn, Vec3::X * k.time]).collect::<Vec<_>>())?;
                if keys.windows(2).any(|pair| pair[0].time >= pair[1].time) {
                    let advice = "sort them by their times, each time once";
                    return Err(fault("keys", ("keyframes out of order".into(), advice.into())));
                }
            }
            Drive::Free { mass: m, velocity: v, spin: w } => {
                finite("velocity", &[*v])?;
                finite("spin", &[*w])?;
                (mass, velocity, spin) = (positive("mass", *m).map_err(|f| fault("mass", f))?, *v, *w);
                shape.check_solid(&surface).map_err(|f| fault("shape", f))?;
            }
        }
        let solid = Solid::new(&shape, &surface, mass);
        let inverse_inertia = if mass > 0.0 { solid.inertia.inverse() } else { Mat3::ZERO };
        if !(inverse_inertia.is_finite() && solid.middle.is_finite() && surface.extent().is_finite()) {
            let cause = format!("a {} of this size and mass is beyond what numbers can hold", shape.name());
            return Err(fault("shape", (cause, "sizes are in metres, masses in kilograms".into())));
        }
        let now = State { pose, velocity, spin };
        let mut body = Self {
            name,
            shape,
            surface,
            drive,
            friction,
            ties: Vec::new(),
            warning,
            now,
            before: now,
            origin: pose,
            solid,
            inverse_inertia,
        };
        body.now.pose = body.script(from.unwrap_or(0.0));
        body.before = body.now;
        Ok(body)
    }

    /// Where its keyframes have it at a time; where it is if it has none.
    fn script(&self, time: Real) -> Pose {
        let Drive::Scripted(keys) = &self.drive else { return self.now.pose };
        let key = Key::at(keys, time);
        let turn = if key.turn == Vec3::ZERO { self.origin.turn } else { turn(key.turn) * self.origin.turn };
        let middle = self.origin.apply(self.solid.middle) + key.shift;
        Pose { place: middle - turn * self.solid.middle, turn }
    }

    fn world_inertia(&self) -> Mat3 {
        let axes = Mat3::from_quat(self.now.pose.turn);
        axes * self.solid.inertia * axes.transpose()
    }

    /// Where it is and how it moves.
    pub fn state(&self) -> State {
        self.now
    }

    /// True if forces move it.
    pub fn is_free(&self) -> bool {
        matches!(self.drive, Drive::Free { .. })
    }

    /// Mass [kg]; zero unless it is free.
    pub fn mass(&self) -> Real {
        self.solid.mass
    }
}

/// The edges that cut, by their numbers.
fn sharpen(surface: &Surface, sharp: &Sharp) -> Result<Vec<u32>, shape::Fault> {
    match sharp {
        Sharp::Nothing => Ok(Vec::new()),
        Sharp::Below(angle) => {
            let degrees = angle.to_degrees();
            if !(degrees > 0.0 && degrees < 180.0) {
                let advice = "give degrees between 0 and 180; blades have 15 to 40".to_string();
                return Err((format!("edges sharper than {degrees:.0}°"), advice));
            }
            let wedges = surface.wedges();
            let found: Vec<u32> = (0..wedges.len()).filter(|&e| wedges[e] < *angle).map(|e| e as u32).collect();
            if found.is_empty() {
                let sharpest = wedges.iter().copied().fold(f64::INFINITY, f64::min).to_degrees();
                let cause = format!("none of its edges is sharper than {degrees:.0}°");
                return Err((cause, format!("its sharpest edge has {sharpest:.0}°")));
            }
            Ok(found)
        }
        Sharp::Edges(pairs) => {
            let number = |&[a, b]: &[u32; 2]| surface.edges.binary_search(&[a.min(b), a.max(b)]).ok();
            let mut found: Vec<u32> = pairs.iter().filter_map(number).map(|e| e as u32).collect();
            found.sort_unstable();
            found.dedup();
            if found.is_empty() {
                let advice = "name edges that are sides of its triangles".to_string();
                return Err(("none of its edges is among the sharp ones".into(), advice));
            }
            Ok(found)
        }
    }
}

/// All bodies of a simulation.
#[derive(Default)]
pub struct Bodies {
    bodies: Vec<Body>,
    gravity: Vec3,
    /// Time up to which bodies have come [s], now and when the last step began.
    clock: [Real; 2],
    /// Only if there are free bodies: others feel nothing.
    world: Option<World>,
    /// Those that arrive later, in order of time [s].
    waiting: Vec<(Real, Body)>,
    /// Room that is left for cloth on each [m].
    room: Real,
}

impl Bodies {
    /// Makes the bodies; refuses the first that can't be.
    pub fn new(specs: Vec<BodySpec>, gravity: Vec3) -> Result<Self, BodyError> {
        let (mut bodies, mut waiting) = (Vec::new(), Vec::new());
        for (i, spec) in specs.into_iter().enumerate() {
            let from = spec.from;
            let body = Body::new(i, spec)?;
            match from {
                None => bodies.push(body),
                Some(from) => waiting.push((from, body)),
            }
        }
        waiting.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let world = bodies.iter().any(Body::is_free).then(|| World::new(&bodies));
        Ok(Self { bodies, gravity, clock: [0.0; 2], world, waiting, room: 0.0 })
    }

    /// Adds a body, to arrive at its time, or in the next step.
    pub fn add(&mut self, spec: BodySpec) -> Result<(), BodyError> {
        let from = spec.from.unwrap_or(0.0);
        let body = Body::new(self.bodies.len() + self.waiting.len(), spec)?;
        let after = self.waiting.partition_point(|(time, _)| *time <= from);
        self.waiting.insert(after, (from, body));
        Ok(())
    }

    /// Lets bodies arrive whose time has come [s]; true if there are any. They come after all others.
    pub fn arrive(&mut self, time: Real) -> bool {
        let due = self.waiting.partition_point(|(from, _)| *from <= time);
        for (_, body) in self.waiting.drain(..due) {
            if let Some(world) = &mut self.world {
                world.add(&body, self.room);
            }
            self.bodies.push(body);
        }
        if self.world.is_none() && self.bodies.iter().any(Body::is_free) {
            let mut world = World::new(&self.bodies);
            world.leave_room(self.room);
            self.world = Some(world);
        }
        due > 0
    }

    /// All bodies in the order of their numbers, and after them those that are still to arrive.
    pub fn all(&self) -> impl Iterator<Item = &Body> {
        self.bodies.iter().chain(self.waiting.iter().map(|(_, body)| body))
    }

    /// Keeps bodies apart by two layers of this thickness [m], so that cloth finds room between them.
    pub(crate) fn leave_room(&mut self, thickness: Real) {
        self.room = thickness;
        if let Some(world) = &mut self.world {
            world.leave_room(thickness);
        }
    }

    /// Largest speed of an end of a sharp edge [m/s].
    pub fn sharp_speed(&self) -> Real {
        let of = |(b, body): (usize, &Body)| {
            let Surface { sharp, edges, points, .. } = &body.surface;
            let ends = sharp.iter().flat_map(|&e| edges[e as usize]).map(|p| self.pose(b).apply(points[p as usize]));
            ends.map(|p| self.velocity_at(b, p).length()).fold(0.0, Real::max)
        };
        self.bodies.iter().enumerate().map(of).fold(0.0, Real::max)
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.bodies.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.bodies.len()
    }

    /// All of them in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Body> {
        self.bodies.iter()
    }

    /// The body with a number, if there is one.
    pub fn get(&self, i: usize) -> Option<&Body> {
        self.bodies.get(i)
    }

    /// Where a body is.
    pub fn pose(&self, i: usize) -> Pose {
        self.bodies[i].now.pose
    }

    /// Where it was when the last [`Self::advance`] began.
    pub fn pose_before(&self, i: usize) -> Pose {
        self.bodies[i].before.pose
    }

    /// Velocity of its centre of mass [m/s].
    pub fn velocity(&self, i: usize) -> Vec3 {
        self.bodies[i].now.velocity
    }

    /// Angular velocity in world axes [rad/s].
    pub fn spin(&self, i: usize) -> Vec3 {
        self.bodies[i].now.spin
    }

    /// Its centre of mass in the world [m]; of an open mesh the mean of its points, of a plane its origin.
    pub fn middle(&self, i: usize) -> Vec3 {
        let body = &self.bodies[i];
        body.now.pose.apply(body.solid.middle)
    }

    /// Velocity of the point of a body that is at `at` in the world [m/s].
    pub fn velocity_at(&self, i: usize, at: Vec3) -> Vec3 {
        self.velocity(i) + self.spin(i).cross(at - self.middle(i))
    }

    /// Inverse mass [1/kg] and inverse inertia about the centre of mass in world axes [1/(kg·m²)]; zero unless free.
    pub fn inertia(&self, i: usize) -> (Real, Mat3) {
        let body = &self.bodies[i];
        if !body.is_free() {
            return (0.0, Mat3::ZERO);
        }
        let axes = Mat3::from_quat(body.now.pose.turn);
        (1.0 / body.solid.mass, axes * body.inverse_inertia * axes.transpose())
    }

    /// Begins a step from `time` to `time + h` [s]: gravity on free bodies, and for scripted ones the velocities that bring
    /// them to their keyframe.
    pub fn drive(&mut self, time: Real, h: Real) {
        self.clock = [time; 2];
        for body in &mut self.bodies {
            match body.drive {
                Drive::Fixed => {}
                Drive::Scripted(_) => {
                    let (from, to) = (body.now.pose, body.script(time + h));
                    body.now.velocity = (to.apply(body.solid.middle) - from.apply(body.solid.middle)) / h;
                    body.now.spin = turn_vector(to.turn * from.turn.conjugate()) / h;
                }
                Drive::Free { .. } => body.now.velocity += self.gravity * h,
            }
        }
    }

    /// By how much the mean velocity [m/s] and the spin [rad/s] of every body over a step of `h` [s] will differ from those it has now, by
    /// its contacts with other bodies. Nothing is done to the bodies.
    pub fn foresee(&mut self, h: Real) -> Vec<(Vec3, Vec3)> {
        let mut changes = vec![(Vec3::ZERO, Vec3::ZERO); self.bodies.len()];
        // One alone meets nothing.
        if self.bodies.len() < 2 || h <= 0.0 || self.broken().is_some() {
            return changes;
        }
        let Some(world) = &mut self.world else { return changes };
        let time = self.clock[0] + h;
        let ends = world.foresee(h, &self.bodies, |body| body.script(time));
        for ((body, end), change) in self.bodies.iter().zip(ends).zip(&mut changes).filter(|((b, _), _)| b.is_free()) {
            let State { pose, velocity, spin } = body.now;
            let middle = body.solid.middle;
            let mean = (end.pose.apply(middle) - pose.apply(middle)) / h - velocity;
            // A step without contacts comes out to rounding.
            if mean.length() > 1e-9 * velocity.length() || end.spin != spin {
                *change = (mean, end.spin - spin);
            }
        }
        changes
    }

    /// Changes the velocity of a free body by an impulse [N·s] and its spin by an angular impulse about its centre of
    /// mass [N·m·s]; others don't feel it.
    pub fn push(&mut self, i: usize, impulse: Vec3, turn: Vec3) {
        let (inverse_mass, inverse_inertia) = self.inertia(i);
        let now = &mut self.bodies[i].now;
        now.velocity += impulse * inverse_mass;
        now.spin += inverse_inertia * turn;
    }

    /// Takes work [J] from the motion of a free body's centre of mass, as far as there is any.
    pub fn slow_down(&mut self, i: usize, work: Real) {
        let body = &mut self.bodies[i];
        if body.is_free() {
            let speed = body.now.velocity.length();
            let left = (speed * speed - 2.0 * work / body.solid.mass).max(0.0).sqrt();
            if speed > 0.0 {
                body.now.velocity *= left / speed;
            }
        }
    }

    /// Moves all bodies on by `h` [s] with the velocities they have, less what their contacts with each other take.
    /// Scripted ones come to where their keyframes have them then. Nothing moves while [`Self::broken`] names a body.
    pub fn advance(&mut self, h: Real) {
        self.bodies.iter_mut().for_each(|body| body.before = body.now);
        self.clock[1] = self.clock[0];
        if h <= 0.0 || self.broken().is_some() {
            return;
        }
        self.clock[0] += h;
        let time = self.clock[0];
        match &mut self.world {
            Some(world) => world.step(h, &mut self.bodies, |body| body.script(time)),
            None => self.bodies.iter_mut().for_each(|body| body.now.pose = body.script(time)),
        }
    }

    /// Undoes the last [`Self::advance`] and what came after it: poses, velocities and spins are as it found them.
    pub fn go_back(&mut self) {
        self.bodies.iter_mut().for_each(|body| body.now = body.before);
        self.clock[0] = self.clock[1];
    }

    /// Puts a body elsewhere.
    pub fn set_pose(&mut self, i: usize, pose: Pose) {
        self.bodies[i].now.pose = pose;
    }

    /// Gives a body another velocity of its centre of mass [m/s] and spin [rad/s].
    pub fn set_velocity(&mut self, i: usize, velocity: Vec3, spin: Vec3) {
        (self.bodies[i].now.velocity, self.bodies[i].now.spin) = (velocity, spin);
    }

    /// Ties nodes, each with its place in the world [m], to a body where they are now.
    pub fn tie(&mut self, i: usize, nodes: impl IntoIterator<Item = (NodeId, Vec3)>) {
        let body = &mut self.bodies[i];
        body.ties.extend(nodes.into_iter().map(|(n, at)| (n, body.now.pose.local(at))));
    }

    /// Ties follow an edit of the mesh: what is split off tied nodes, or put between them, is tied too.
    pub fn follow(&mut self, change: &Change) {
        self.bodies.iter_mut().for_each(|body| grip::follow(&mut body.ties, change));
    }

    /// The first body of which a number is none, or infinite.
    pub fn broken(&self) -> Option<usize> {
        let whole = |s: &State| s.pose.is_finite() && s.velocity.is_finite() && s.spin.is_finite();
        self.bodies.iter().position(|body| !whole(&body.now))
    }

    fn free(&self) -> impl Iterator<Item = (&Body, usize)> {
        self.bodies.iter().zip(0..).filter(|(body, _)| body.is_free())
    }

    /// Momentum of the free bodies [kg·m/s].
    pub fn momentum(&self) -> Vec3 {
        self.free().map(|(body, _)| body.now.velocity * body.solid.mass).sum()
    }

    /// Angular momentum of the free bodies about the origin [kg·m²/s].
    pub fn angular_momentum(&self) -> Vec3 {
        let of = |(body, i): (&Body, usize)| {
            self.middle(i).cross(body.now.velocity * body.solid.mass) + body.world_inertia() * body.now.spin
        };
        self.free().map(of).sum()
    }

    /// Energy of motion of the free bodies [J].
    pub fn kinetic_energy(&self) -> Real {
        let of = |body: &Body| {
            let (v, w) = (body.now.velocity, body.now.spin);
            0.5 * (body.solid.mass * v.length_squared() + w.dot(body.world_inertia() * w))
        };
        self.free().map(|(body, _)| of(body)).sum()
    }

    /// Energy of the free bodies' weight, zero at the origin [J].
    pub fn potential_energy(&self) -> Real {
        self.free().map(|(body, i)| -body.solid.mass * self.gravity.dot(self.middle(i))).sum()
    }

    /// Takes in where all bodies are and how they move.
    pub fn fingerprint(&self, print: &mut Fingerprint) {
        for State { pose, velocity, spin } in self.bodies.iter().map(|body| body.now) {
            pose.turn.to_array().iter().for_each(|x| print.word(x.to_bits()));
            [pose.place, velocity, spin].iter().for_each(|v| print.vector(*v));
        }
    }

    /// Goes on from a state of bodies made from the same specifications, bit for bit; false, and nothing is done, if it
    /// is a state of other bodies.
    #[must_use]
    pub fn restore(&mut self, saved: BodiesState) -> bool {
        let BodiesState { bodies, clock, sets } = saved;
        if bodies.len() != self.bodies.len() || sets.is_some() != self.world.is_some() {
            return false;
        }
        self.clock = clock;
        for (body, (now, before, ties)) in self.bodies.iter_mut().zip(bodies) {
            (body.now, body.before, body.ties) = (now, before, ties);
        }
        if let (Some(world), Some(sets)) = (&mut self.world, sets) {
            world.sets = sets;
        }
        true
    }
}

impl std::fmt::Debug for Bodies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bodies").field("bodies", &self.bodies).field("clock", &self.clock).finish_non_exhaustive()
    }
}

/// What a checkpoint keeps of [`Bodies`]: with the same specifications, all that the next step depends on. Bodies
/// serialise as this.
#[derive(Clone, Deserialize)]
pub struct BodiesState {
    bodies: Vec<(State, State, Vec<Tie>)>,
    clock: [Real; 2],
    sets: Option<Sets>,
}

impl Serialize for Bodies {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Kept<'a> {
            bodies: Vec<(State, State, &'a [Tie])>,
            clock: [Real; 2],
            sets: Option<&'a Sets>,
        }
        let bodies = self.bodies.iter().map(|body| (body.now, body.before, &body.ties[..])).collect();
        Kept { bodies, clock: self.clock, sets: self.world.as_ref().map(|world| &world.sets) }.serialize(serializer)
    }
}

impl PartialEq for BodiesState {
    /// Compares where bodies are and how they move, not what rapier keeps of their contacts.
    fn eq(&self, other: &Self) -> bool {
        self.bodies == other.bodies && self.clock == other.clock
    }
}

impl std::fmt::Debug for BodiesState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BodiesState").field("bodies", &self.bodies).field("clock", &self.clock).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
