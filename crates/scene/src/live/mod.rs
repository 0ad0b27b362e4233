//! A scene that is played with: step it, grab it, cut it, throw things at it, and take what was done away as a scene that does the same.
//!
//! Everything that is done between two steps is done to the running engine and noted in [`document::Actions`]. A scene with those notes ([`Live::scene_text`])
//! builds an engine that takes the same steps, bit for bit: what is due at a step is due at its time, and keyframes lie between two steps, so that no step depends on one that
//! was added after it. Choices that have no time (fabric, criterion, strength, map) start the scene again.
//!
//! [`Live::rewind`] builds the scene anew with what had been done by then, and goes on from a snapshot.

mod choices;
mod criteria;
pub mod document;
mod drawn;
mod paint;
mod pick;

pub use choices::{Abilities, Change, Choice, Chosen, Options};
pub use drawn::{Drawn, Shade};
pub use pick::{Hit, Ray};

use crate::body;
use crate::cache::{BodySurface, CacheHeader, CacheWriter, Frame};
use crate::engine::{EngineError, State};
use crate::error::SceneError;
use crate::export;
use crate::file::{BodyTable, Scene};
use crate::inline;
use crate::load::Built;
use crate::variant::{Part, Parts};
use document::{Actions, Grabbed, Settings};
use paint::{BLACK, Painted};
use ripstop::{Grip, Key, Vec2, Vec3, Watch};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use toml::{Table, Value};

/// Time between snapshots, and how far back they reach [s].
const SNAPSHOT_EVERY: f64 = 0.25;
const SNAPSHOTS_REACH: f64 = 10.0;
/// Bytes of all snapshots together, at most.
const SNAPSHOT_BYTES: usize = 128 << 20;
/// Radius of a fingertip, in mean edges and as a share of the cloth.
const FINGERTIP: (f64, f64) = (1.6, 0.02);
/// How fast a hand can move, in sizes of the cloth per second: a jump of the pointer is no blow.
const HAND_SPEED: f64 = 5.0;
/// How far it can move in a step, in mean edges: what is drawn out faster than tears can open is strained beyond all bounds, and such steps take seconds or fail.
const HAND_WAY: f64 = 1.5;
/// How far before its target a thrown ball starts [m], at most.
const THROW_FROM: f64 = 1.2;

/// A hand that holds the cloth.
struct Hand {
    name: String,
    /// Where it took hold, and where it is to go [m].
    start: Vec3,
    target: Vec3,
    /// How far it has gone [m].
    shift: Vec3,
}

/// A state to go back to.
struct Kept {
    step: u64,
    state: Vec<u8>,
}

/// A scene being played.
pub struct Live {
    name: String,
    /// The file's scenes, and the one that is played.
    parts: Parts,
    variant: usize,
    /// The scene as it was read, with its files in it and without expectations.
    base: Table,
    settings: Settings,
    actions: Actions,
    scene: Scene,
    built: Built,
    hands: BTreeMap<u32, Hand>,
    /// Grips and bodies made so far, for their names.
    made: u32,
    kept: VecDeque<Kept>,
    frame: Option<(u64, Frame)>,
    drawn: Drawn,
    strain: f64,
    /// Corners of the material [m].
    bounds: (Vec2, Vec2),
    /// Strain at which the yarns of the scene as it was read break.
    breaking: Option<f64>,
    painting: Option<Painted>,
    broken: bool,
}

impl Live {
    /// Reads a scene from its text; `files` finds what it names.
    pub fn load(
        name: &str,
        text: &str,
        variant: Option<&str>,
        files: &dyn Fn(&str) -> Option<Vec<u8>>,
    ) -> Result<Self, SceneError> {
        let parts = Parts::of_text(Path::new(name), text)?;
        let chosen = match variant {
            None => 0,
            Some(wanted) => {
                parts.parts.iter().position(|part| part.name.as_deref() == Some(wanted)).ok_or_else(|| {
                    let names: Vec<&str> = parts.parts.iter().filter_map(|part| part.name.as_deref()).collect();
                    SceneError::of_file(
                        name,
                        format!("there is no variant `{wanted}`"),
                        format!("there are {}", names.join(", ")),
                    )
                })?
            }
        };
        let part = &parts.parts[chosen];
        let tables = part.source.parse::<Scene>()?;
        let mut base: Table = part.source.text.parse().unwrap_or_default();
        base.remove("expect");
        let carried = inline::carry(&mut base, files);
        // Built as it stands in its file where that can be, so that errors have their lines.
        let (scene, built) = if carried > 0 || tables.expect.onset.is_some() {
            Self::build(name, &base).map_err(|e| SceneError { line: None, ..e })?
        } else {
            part.build()?
        };
        let breaking = built.engine.woven().map(|weaving| weaving.woven.spec().breaking);
        let mut live = Self {
            name: name.into(),
            parts,
            variant: chosen,
            base,
            settings: Settings::default(),
            actions: Actions::default(),
            scene,
            built,
            hands: BTreeMap::new(),
            made: 0,
            kept: VecDeque::new(),
            frame: None,
            drawn: Drawn::default(),
            strain: 1.0,
            bounds: (Vec2::ZERO, Vec2::ZERO),
            breaking,
            painting: None,
            broken: false,
        };
        live.begin();
        Ok(live)
    }

    /// Builds the scene in a table.
    fn build(name: &str, table: &Table) -> Result<(Scene, Built), SceneError> {
        let text = toml::to_string(table).expect("tables that were read can be written");
        Part::of_text(Path::new(name), text).build()
    }

    /// What follows from a scene that was just built.
    fn begin(&mut self) {
        let document = self.document();
        let strain = document::strain_of(&document, self.built.fabric.stretch);
        // Woven cloth breaks at strains of the same order.
        self.strain = strain.filter(|strain| *strain > 0.0 && strain.is_finite()).unwrap_or(0.1);
        self.frame = None;
        self.hands.clear();
        self.broken = false;
        // Tears make no more material than there is.
        let all = self.frame().topology.corner_uv.iter().flatten().map(|p| Vec2::from_array(p.map(f64::from)));
        self.bounds = all.fold((Vec2::MAX, Vec2::MIN), |(low, high), p| (low.min(p), high.max(p)));
    }

    /// The scene as it is played, without what was done.
    fn document(&self) -> Table {
        let mut document = self.base.clone();
        document::choose(&mut document, &self.settings, self.built.fabric.stretch, self.breaking);
        document
    }

    fn rebuild(&mut self) -> Result<(), SceneError> {
        let mut document = self.document();
        document::enact(&mut document, &self.actions);
        (self.scene, self.built) = Self::build(&self.name, &document)?;
        self.begin();
        Ok(())
    }

    /// The scene.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// The scene made ready: its engine, fabric, steps.
    pub fn built(&self) -> &Built {
        &self.built
    }

    /// Name of its file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Names of its variants, and of the one that is played.
    pub fn variants(&self) -> (Vec<&str>, Option<&str>) {
        let names = self.parts.parts.iter().filter_map(|part| part.name.as_deref()).collect();
        (names, self.parts.parts[self.variant].name.as_deref())
    }

    /// The picture on the cloth, in the place of a file's name.
    pub fn texture(&self) -> Option<&str> {
        self.scene.look.texture.as_deref().filter(|name| inline::is_inside(name))
    }

    fn time_step(&self) -> (u64, f64) {
        (self.built.engine.step_count(), self.built.engine.step_length())
    }

    fn now(&self) -> f64 {
        let (step, h) = self.time_step();
        step as f64 * h
    }

    /// Starts again; what was done is forgotten, what was chosen stays.
    pub fn restart(&mut self) -> Result<(), SceneError> {
        self.actions = Actions::default();
        self.kept.clear();
        self.rebuild()
    }

    /// Chooses otherwise and starts again; if that can't be, all stays as it is.
    pub fn set(&mut self, change: Change) -> Result<(), SceneError> {
        let Change { fabric, criterion, opening, strength, map } = change;
        if let Some(strength) = strength
            && !(strength > 0.0 && strength.is_finite())
        {
            let cause = format!("a strength of {strength} times its own");
            return Err(SceneError::of_file(&self.name, cause, "it must be above zero"));
        }
        if let Some(unknown) = criterion.as_deref().filter(|name| criteria::offer(name).is_none()) {
            let names: Vec<&str> = criteria::OFFERS.iter().map(|offer| offer.name).collect();
            let cause = format!("there is no criterion `{unknown}`");
            return Err(SceneError::of_file(&self.name, cause, format!("there are {}", names.join(", "))));
        }
        let (low, high) = self.uv_bounds();
        let map = map.map(|name| Painted::over(low, high, Some((&name, BLACK)))).transpose()?;
        let before = self.settings.clone();
        self.settings.map = map.or(self.settings.map.take());
        self.settings.strength = strength.unwrap_or(self.settings.strength);
        self.settings.fabric = fabric.or(self.settings.fabric.take());
        self.settings.criterion = criterion.or(self.settings.criterion.take());
        self.settings.opening = opening.or(self.settings.opening.take());
        self.try_again(before)
    }

    /// Starts again with other settings, or goes back to those before.
    fn try_again(&mut self, before: Settings) -> Result<(), SceneError> {
        match Self::build(&self.name, &self.document()) {
            Ok(_) => self.restart(),
            Err(error) => {
                self.settings = before;
                Err(error)
            }
        }
    }

    /// Takes steps. After an error the state is of no use: [rewind](Self::rewind) or [start again](Self::restart). Returns how much was torn.
    pub fn advance(&mut self, count: u64, watch: &mut dyn Watch) -> Result<u64, EngineError> {
        let (step, h) = self.time_step();
        if self.kept.is_empty() {
            self.keep();
        }
        let reach = (HAND_SPEED * self.extent() * h).min(HAND_WAY * self.built.engine.counts().spacing) * count as f64;
        // Halfway between two steps: no step falls on a keyframe, nor outside of those there are.
        let time = ((step + count) as f64 + 0.5) * h;
        for hand in self.hands.values_mut() {
            let way = hand.target - hand.start - hand.shift;
            hand.shift += way.clamp_length_max(reach);
            let key = Key { time, shift: hand.shift, turn: Vec3::ZERO };
            self.built.engine.steer(&hand.name, key);
            if let Some(grip) = self.actions.grips.iter_mut().find(|grip| grip.name == hand.name) {
                grip.keys.push(key);
            }
        }
        let before = self.built.engine.tear_count();
        for _ in 0..count {
            self.built.engine.step(watch).inspect_err(|_| self.broken = true)?;
        }
        self.built.engine.weigh();
        let last = self.kept.back().map_or(0, |kept| kept.step);
        if (self.built.engine.step_count() - last) as f64 * h >= SNAPSHOT_EVERY {
            self.keep();
        }
        Ok(self.built.engine.tear_count() - before)
    }

    /// True after a step that could not be taken.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Size of the material [m].
    fn extent(&self) -> f64 {
        let (low, high) = self.uv_bounds();
        (high - low).length()
    }

    /// Corners of the material [m].
    pub fn uv_bounds(&self) -> (Vec2, Vec2) {
        self.bounds
    }

    fn keep(&mut self) {
        let (step, h) = self.time_step();
        // A state that can't be written can't be gone back to.
        let Ok(state) = postcard::to_allocvec(&self.built.engine.state()) else { return };
        self.kept.push_back(Kept { step, state });
        let bytes = |kept: &VecDeque<Kept>| kept.iter().map(|kept| kept.state.len()).sum::<usize>();
        // The start is kept for good.
        while self.kept.len() > 2
            && ((step - self.kept[1].step) as f64 * h > SNAPSHOTS_REACH || bytes(&self.kept) > SNAPSHOT_BYTES)
        {
            self.kept.remove(1);
        }
    }

    /// Goes back by about so many seconds, or as far as is known. All hands let go. Returns the time [s].
    pub fn rewind(&mut self, seconds: f64) -> Result<f64, SceneError> {
        let (step, h) = self.time_step();
        let wanted = (step as f64 - seconds.max(0.0) / h).max(0.0) as u64;
        let Some(at) = self.kept.iter().rposition(|kept| kept.step <= wanted) else {
            self.restart()?;
            return Ok(0.0);
        };
        self.kept.truncate(at + 1);
        let Kept { step, state } = self.kept.pop_back().expect("just found");
        let time = step as f64 * h;
        self.actions.back_to(time, 0.5 * h);
        self.rebuild()?;
        let known = postcard::from_bytes::<State>(&state).is_ok_and(|state| self.built.engine.restore(state));
        debug_assert!(known, "a snapshot of the same scene");
        self.kept.push_back(Kept { step, state });
        let released: Vec<&str> = self.actions.releases.iter().map(|(name, _)| name.as_str()).collect();
        let fingers =
            self.actions.grips.iter().filter(|grip| !grip.keys.is_empty() && !released.contains(&&*grip.name));
        for name in fingers.map(|grip| grip.name.clone()).collect::<Vec<_>>() {
            self.let_go(name);
        }
        Ok(time)
    }

    /// The cloth as it is now.
    fn frame(&mut self) -> &Frame {
        let step = self.built.engine.step_count();
        if self.frame.as_ref().is_none_or(|(known, _)| *known != step) {
            let last = self.frame.take().map(|(_, frame)| frame.topology);
            self.frame = Some((step, self.built.engine.frame(step as u32, last.as_ref())));
        }
        &self.frame.as_ref().expect("just made").1
    }

    /// What to draw.
    pub fn draw(&mut self, shade: Shade) -> (&Drawn, &Frame) {
        let strain = self.strain;
        self.frame();
        let (_, frame) = self.frame.as_ref().expect("just made");
        let map = self.painting.as_ref().or(self.settings.map.as_ref());
        self.drawn.take(frame, shade, strain, map);
        (&self.drawn, frame)
    }

    /// What was last [drawn](Self::draw).
    pub fn drawn(&self) -> (&Drawn, Option<&Frame>) {
        (&self.drawn, self.frame.as_ref().map(|(_, frame)| frame))
    }

    /// Thickness of the cloth [m].
    pub fn thickness(&self) -> f64 {
        self.built.engine.woven().map_or(self.built.fabric.thickness, |weaving| weaving.woven.spec().thickness)
    }

    /// Surfaces of bodies, also of those still to arrive.
    pub fn bodies(&self) -> Vec<BodySurface> {
        let mut tables = self.scene.body.clone();
        let thrown = self.actions.bodies.iter().filter_map(|(_, table)| table.clone().try_into::<BodyTable>().ok());
        tables.extend(thrown);
        body::surfaces(self.built.engine.bodies(), &tables)
    }

    /// Where a ray meets the cloth, and whether it is held there.
    pub fn pick(&mut self, ray: Ray) -> Option<(Hit, bool)> {
        let frame = self.frame();
        let hit = pick::pick(frame, ray)?;
        Some((hit, frame.topology.held[hit.node as usize]))
    }

    /// A fingertip's nodes around a node.
    fn fingertip(&mut self, node: u32) -> Vec<u32> {
        let spacing = self.built.engine.counts().spacing;
        let radius = (FINGERTIP.0 * spacing).max(FINGERTIP.1 * self.extent());
        pick::fingertip(self.frame(), node, radius)
    }

    /// A name that no grip or body has; a scene may have such names itself, from an earlier play.
    fn fresh_name(&mut self, kind: &str) -> String {
        loop {
            self.made += 1;
            let name = format!("{kind} {}", self.made);
            let scene = &self.scene;
            let mut known = scene.grip.iter().map(|grip| &grip.name).chain(scene.body.iter().map(|body| &body.name));
            if !known.any(|taken| *taken == name) {
                return name;
            }
        }
    }

    fn take(&mut self, kind: &str, nodes: Vec<u32>, keys: Vec<Key>) -> String {
        let (name, from) = (self.fresh_name(kind), self.now());
        let numbers: Vec<ripstop::mesh::NodeId> = nodes.iter().copied().map(ripstop::mesh::NodeId).collect();
        self.built.engine.take(Grip::of_numbers(name.clone(), &numbers, keys.clone(), from));
        self.actions.grips.push(Grabbed { name: name.clone(), from, nodes, keys });
        name
    }

    fn let_go(&mut self, name: String) {
        let now = self.now();
        // What took hold in this very moment never did.
        let grips = &mut self.actions.grips;
        let fresh = grips.iter().any(|grip| grip.name == name && grip.from >= now);
        let time = if fresh { now + 0.75 * self.built.engine.step_length() } else { now };
        self.built.engine.let_go(&name, time);
        self.actions.releases.push((name, time));
    }

    /// Takes hold where a ray meets the cloth; returns where.
    pub fn grab(&mut self, hand: u32, ray: Ray) -> Option<Vec3> {
        self.release(hand);
        let (hit, _) = self.pick(ray)?;
        let nodes = self.fingertip(hit.node);
        if nodes.is_empty() {
            return None;
        }
        let (step, h) = self.time_step();
        let first = Key { time: (step as f64 + 0.5) * h, shift: Vec3::ZERO, turn: Vec3::ZERO };
        let name = self.take("hand", nodes, vec![first]);
        self.hands.insert(hand, Hand { name, start: hit.at, target: hit.at, shift: Vec3::ZERO });
        Some(hit.at)
    }

    /// Moves a hand to a place [m].
    pub fn drag(&mut self, hand: u32, to: Vec3) {
        if let Some(hand) = self.hands.get_mut(&hand).filter(|_| to.is_finite()) {
            hand.target = to;
        }
    }

    /// Lets a hand go.
    pub fn release(&mut self, hand: u32) {
        if let Some(hand) = self.hands.remove(&hand) {
            self.let_go(hand.name);
        }
    }

    /// The hand with the grip of this name, and where it is [m].
    pub fn hand(&self, grip: &str) -> Option<(u32, Vec3)> {
        let (number, hand) = self.hands.iter().find(|(_, hand)| hand.name == grip)?;
        Some((*number, hand.start + hand.shift))
    }

    /// Pins the cloth where a ray meets it, or frees what holds it there. True if it is pinned then; nothing if the ray misses.
    pub fn pin(&mut self, ray: Ray) -> Option<bool> {
        let (hit, held) = self.pick(ray)?;
        if !held {
            let nodes = self.fingertip(hit.node);
            self.take("pin", nodes, Vec::new());
            return Some(true);
        }
        let name = self.built.engine.holder(hit.node)?.to_string();
        self.hands.retain(|_, hand| hand.name != name);
        self.let_go(name);
        Some(false)
    }

    /// Cuts where rays meet the cloth, one after the other; returns in how many stretches.
    pub fn cut(&mut self, rays: &[Ray]) -> usize {
        let now = self.now();
        let hits: Vec<Option<Vec3>> = rays.iter().map(|ray| self.pick(*ray).map(|(hit, _)| hit.at)).collect();
        // A ray that misses right beside one that meets goes on at its distance, so that cuts come in from the border.
        let place = |i: usize| {
            let beside = [i.checked_sub(1), Some(i + 1)].into_iter().flatten().find_map(|j| *hits.get(j)?);
            let far = |at: Vec3| rays[i].origin + rays[i].direction.normalize_or_zero() * at.distance(rays[i].origin);
            hits[i].or(beside.map(far))
        };
        let mut stretches = Vec::new();
        let places: Vec<Option<Vec3>> = (0..rays.len()).map(place).collect();
        for path in places.split(Option::is_none) {
            let path: Vec<Vec3> = path.iter().flatten().copied().collect();
            stretches.extend(self.built.engine.trace(&path));
        }
        stretches.retain(|path| path.len() > 1);
        for path in &stretches {
            self.built.engine.cut(now, path.clone());
            self.actions.cuts.push((now, path.clone()));
        }
        stretches.len()
    }

    /// Throws a ball along a ray, so that it meets what the ray meets.
    pub fn throw(&mut self, ray: Ray, radius: f64, mass: f64, speed: f64) -> Result<(), SceneError> {
        let fault = |cause: String, advice: &str| Err(SceneError::of_file(&self.name, cause, advice));
        let Some(direction) = ray.direction.try_normalize().filter(|_| ray.origin.is_finite()) else {
            return fault("a ball thrown nowhere".into(), "give a direction");
        };
        for (what, value) in [("radius", radius), ("mass", mass), ("speed", speed)] {
            if !(value.is_finite() && value > 0.0) {
                return fault(format!("a ball with a {what} of {value}"), "it must be above zero");
            }
        }
        let now = self.now();
        let hit = self.pick(ray).map(|(hit, _)| hit.at);
        let far = hit.map_or(THROW_FROM, |at| at.distance(ray.origin));
        let (from, gravity) = (THROW_FROM.min(far), self.scene.gravity);
        let place = hit.unwrap_or(ray.origin + direction * THROW_FROM) - direction * from;
        let nearest = self.frame().points.iter().map(|p| Vec3::from_array(p.map(f64::from)).distance(place));
        if nearest.fold(f64::INFINITY, f64::min) < 1.2 * radius {
            let advice = "step back, or take a smaller ball";
            return Err(SceneError::of_file(&self.name, "the ball would begin inside the cloth", advice));
        }
        // Upwards by what it falls on its way.
        let velocity = direction * speed - gravity * (0.5 * from / speed);
        let table = document::ball(&self.fresh_name("ball"), now, radius, mass, place, velocity);
        let given: BodyTable = table.clone().try_into().expect("a table of our own");
        let spec = given.spec(&Part::of_text(Path::new(&self.name), String::new()).source, 0)?;
        self.built.engine.add_body(spec).map_err(|e| SceneError::of_file(&self.name, e.cause, e.advice))?;
        self.actions.bodies.push((now, table));
        Ok(())
    }

    /// Lets another wind blow from now on [m/s].
    pub fn wind(&mut self, velocity: Vec3) -> Result<(), SceneError> {
        if !velocity.is_finite() {
            return Err(SceneError::of_file(&self.name, "a wind that is no number", "give metres per second"));
        }
        let (step, h) = self.time_step();
        // Between the step before and the next.
        let time = (step as f64 - 0.5) * h;
        self.built.engine.shift_wind(time, velocity);
        self.actions.winds.retain(|(at, _)| *at < time);
        self.actions.winds.push((time, velocity));
        Ok(())
    }

    /// Paints the strength of the cloth where a ray meets it: `strength` 0 to 1 within a radius [m]. False if the ray misses. The first dab starts again.
    pub fn paint(&mut self, ray: Ray, radius: f64, strength: f64) -> Result<bool, SceneError> {
        if self.painting.is_none() {
            let table = self.scene.tear.as_ref();
            let Some(tear) = table else {
                return Err(SceneError::of_file(
                    &self.name,
                    "this cloth doesn't tear by load",
                    "choose a criterion first",
                ));
            };
            let map = tear.map.as_ref().map(|map| (map.image.as_str(), map.black));
            let (low, high) = self.uv_bounds();
            let painting = Painted::over(low, high, map)?;
            if self.built.engine.step_count() > 0 {
                self.restart()?;
            }
            self.painting = Some(painting);
        }
        let hit = self.pick(ray);
        if let (Some((hit, _)), Some(painting)) = (hit, &mut self.painting) {
            painting.dab(hit.uv, radius, strength);
        }
        Ok(hit.is_some())
    }

    /// The painted map counts from now on: the scene starts again.
    pub fn paint_end(&mut self) -> Result<(), SceneError> {
        let before = self.settings.clone();
        self.settings.map = self.painting.take().or(self.settings.map.take());
        self.try_again(before)
    }

    /// Takes the painted map away.
    pub fn paint_clear(&mut self) -> Result<(), SceneError> {
        let before = self.settings.clone();
        (self.painting, self.settings.map) = (None, None);
        self.try_again(before)
    }

    /// The scene with what was chosen and done: it does the same when it is run.
    pub fn scene_text(&self) -> String {
        let mut document = self.document();
        document::enact(&mut document, &self.actions);
        let step = self.built.engine.step_count();
        if let Some(time) = document.get_mut("time").and_then(Value::as_table_mut).filter(|_| step > 0) {
            // Whole frames, up to now.
            let frames = step.div_ceil(self.built.steps_per_frame) as f64;
            time.insert("duration".into(), Value::Float(frames / self.scene.time.fps));
        }
        let text = toml::to_string(&document).expect("tables that were read can be written");
        format!("# Played on the page of ripstop from {}.\n{text}", self.name)
    }

    /// The shape now, as OBJ.
    pub fn obj(&mut self) -> Result<String, String> {
        let bodies = self.bodies();
        let text = export::obj_text(self.frame(), &bodies).map_err(|e| e.to_string())?;
        String::from_utf8(text).map_err(|e| e.to_string())
    }

    /// The shape now, as USD.
    pub fn usda(&mut self) -> Result<String, String> {
        let header = CacheHeader { scene: self.scene.title.clone(), frames_per_second: self.scene.time.fps };
        let bodies = self.bodies();
        let mut writer = CacheWriter::in_memory(header, &bodies).map_err(|e| e.to_string())?;
        writer.append(self.frame()).map_err(|e| e.to_string())?;
        let mut reader = writer.into_reader().map_err(|e| e.to_string())?;
        let text = export::usda_text(&mut reader).map_err(|e| e.to_string())?;
        String::from_utf8(text).map_err(|e| e.to_string())
    }
}

#[cfg(test)]
mod tests;
