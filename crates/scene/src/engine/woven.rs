//! Woven cloth: yarns that break. Frames carry all yarns as curves, and beside them the sheet as far as it is whole: the triangles of the grid
//! of crossings whose sides aren't cut and whose crossings hold, each crossing at the middle of its yarns.

use super::{Engine, EngineError, Moment, Start, State, StateRef, Torn};
use crate::body;
use crate::cache::{Curve, Frame, Passed, Topology, Yarns};
use ripstop::body::{BodiesState, BodyError, BodySpec};
use ripstop::grip::Key;
use ripstop::mesh::{FaceId, Id, Mesh};
use ripstop::opening::{self, Patch};
use ripstop::tear::HandTear;
use ripstop::yarn::{self, By, Cut, Family, Hold, Kind, Passing, Woven, inside_bodies};
use ripstop::{Bodies, Grip, Stage, Vec2, Vec3, Watch};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// Woven cloth with its bodies.
pub struct Weaving {
    /// The cloth.
    pub woven: Woven,
    bodies: Bodies,
    /// The grid of crossings as triangles.
    grid: Mesh,
    /// Yarns cut in the last step.
    last: Vec<Cut>,
    /// Yarns that have passed through each other since the last frame, and between that and the one before.
    passing: Vec<Passing>,
    passed: Vec<Passing>,
    /// Who looks for these from outside, if anyone does.
    watch: Option<yarn::Watch>,
    /// Grips that take hold later, in order of their times.
    late: Vec<Grip>,
    /// Lines to cut along, in order of their times.
    cuts: Vec<HandTear>,
}

/// Its state, as read from a checkpoint.
#[derive(Clone, Deserialize)]
pub struct WovenState {
    woven: Woven,
    bodies: BodiesState,
}

/// The same, to be written.
#[derive(Serialize)]
pub struct WovenRef<'a> {
    woven: &'a Woven,
    bodies: &'a Bodies,
}

impl Weaving {
    /// A cloth among bodies; `grid` has a node for every crossing, in their order.
    pub fn new(woven: Woven, bodies: Bodies, grid: Mesh) -> Self {
        Self {
            woven,
            bodies,
            grid,
            last: Vec::new(),
            passing: Vec::new(),
            passed: Vec::new(),
            watch: None,
            late: Vec::new(),
            cuts: Vec::new(),
        }
    }

    /// Grips whose time [s] has come take hold.
    fn take_late(&mut self, time: f64) {
        let due = self.late.partition_point(|grip| grip.from.is_none_or(|from| from <= time));
        for grip in self.late.drain(..due) {
            let crossings: Vec<usize> = grip.wanted().map(|n| n.index()).collect();
            self.woven.hold(&grip.name, &crossings, By::Keys(grip.keys), grip.release, &self.bodies);
        }
    }

    /// Cuts along lines whose time [s] has come.
    fn cut_due(&mut self, time: f64) {
        let due = self.cuts.partition_point(|cut| cut.time < time);
        self.cuts.drain(..due).for_each(|cut| self.woven.cut_along(&cut.path));
    }

    /// Middle of the yarns of a crossing, of what `of` tells of each.
    fn both(&self, of: impl Fn(Family) -> Vec3) -> Vec3 {
        (of(Family::Warp) + of(Family::Weft)) * 0.5
    }

    fn place(&self, crossing: usize) -> Vec3 {
        self.both(|family| self.woven.position(family, crossing))
    }

    /// Is the spring from a crossing along a family's yarn there?
    fn live(&self, family: Family, crossing: usize) -> bool {
        self.woven.springs(family).stiffness[crossing] > 0.0
    }

    /// Is what joins two neighbours on the grid there? Diagonals always are.
    fn joined(&self, a: usize, b: usize) -> bool {
        let (low, warps) = (a.min(b), self.woven.spec().warps);
        match a.max(b) - low {
            1 => self.live(Family::Weft, low),
            step if step == warps => self.live(Family::Warp, low),
            _ => true,
        }
    }

    /// By face of the grid: are its crossings and its sides there?
    fn whole(&self) -> Vec<bool> {
        let holds = |n: usize| self.woven.kind(n) != Kind::Disconnected;
        let whole = |f| {
            let [a, b, c] = self.grid.face_nodes(f).map(|n| n.index());
            [a, b, c].into_iter().all(holds) && self.joined(a, b) && self.joined(b, c) && self.joined(c, a)
        };
        self.grid.faces().map(whole).collect()
    }

    fn topology(&self) -> Topology {
        let (grid, whole) = (&self.grid, self.whole());
        let there = || grid.faces().filter(|f| whole[f.index()]);
        let lip = |c| grid.twin(c).is_some_and(|twin| !whole[twin.face().index()]);
        let mut held = vec![false; self.woven.crossings()];
        // What bodies hold is seen by the bodies.
        let by_grip = |hold: &&Hold| !hold.is_released() && matches!(hold.by, By::Keys(_));
        for hold in self.woven.holds().iter().filter(by_grip) {
            hold.crossings().for_each(|c| held[c] = true);
        }
        Topology {
            faces: there().map(|f| grid.face_nodes(f).map(|n| n.0)).collect(),
            corner_uv: there().map(|f| grid.face_uv(f).map(|p| p.as_vec2().to_array())).collect(),
            torn: there().map(|f| f.corners().map(lip)).collect(),
            parent: (0..self.woven.crossings() as u32).collect(),
            held,
        }
    }

    /// The crossing at a place along a yarn.
    fn crossing(&self, family: Family, yarn: usize, along: usize) -> usize {
        match family {
            Family::Warp => self.woven.crossing(yarn, along),
            Family::Weft => self.woven.crossing(along, yarn),
        }
    }

    /// All yarns; lone points, cut off on both sides, aren't drawn.
    fn yarns(&self) -> Yarns {
        let spec = self.woven.spec();
        let mut yarns = Yarns {
            spacing: spec.spacing as f32,
            thickness: spec.thickness as f32,
            crossings: [spec.wefts as u32, spec.warps as u32],
            ..Yarns::default()
        };
        for run in self.woven.runs().into_iter().filter(|run| run.points.len() > 1) {
            let (warp, yarn, first) = (run.family == Family::Warp, run.yarn, run.first);
            yarns.curves.push(Curve { warp, yarn: yarn as u32, first: first as u32, count: run.points.len() as u32 });
            yarns.points.extend(run.points.iter().map(|p| p.as_vec3().to_array()));
            let velocity =
                |s: usize| self.woven.velocity(run.family, self.crossing(run.family, yarn, s)).as_vec3().to_array();
            yarns.velocities.extend((first..first + run.points.len()).map(velocity));
            let held = |s: usize| self.woven.is_held(self.crossing(run.family, yarn, s));
            yarns.held.extend((first..first + run.points.len()).map(held));
            yarns.loose.extend(run.kinds.iter().map(|kind| match kind {
                Kind::Welded => 0,
                Kind::Connected => 1,
                Kind::Sliding | Kind::Loose => 2,
                Kind::Disconnected => 3,
            }));
        }
        yarns.passed = self
            .passed
            .iter()
            .map(|passing| Passed {
                yarns: passing.yarns.map(|yarn| yarn as u32),
                place: passing.place.as_vec3().to_array(),
            })
            .collect();
        yarns
    }

    fn torn(&self, cut: &Cut) -> (Torn, Value) {
        let (woven, spec) = (&self.woven, self.woven.spec());
        let warp = cut.family == Family::Warp;
        let (i, j) = if warp { (cut.yarn, cut.segment) } else { (cut.segment, cut.yarn) };
        let half = |along: bool| if along { 0.5 } else { 0.0 };
        let uv = Vec2::new(i as f64 + half(!warp), j as f64 + half(warp)) * spec.spacing;
        let node = woven.crossing(i, j);
        // The cloth parts along the other family.
        let (other, stride) = if warp { (Family::Weft, 1) } else { (Family::Warp, spec.warps) };
        let last = if warp { i + 1 == spec.warps } else { j + 1 == spec.wefts };
        let (a, b) = if last { (node - stride, node) } else { (node, node + stride) };
        let direction = (woven.position(other, b) - woven.position(other, a)).normalize_or_zero();
        let angle = if warp { 0.0 } else { std::f64::consts::FRAC_PI_2 };
        let torn = Torn {
            time: cut.time,
            node: node as u32,
            uv,
            place: cut.place,
            direction,
            angle,
            length: spec.spacing,
            seam: None,
            cut: None,
        };
        let line = json!({
            "time": cut.time,
            "yarn": if warp { "warp" } else { "weft" },
            "number": cut.yarn,
            "segment": cut.segment,
            "node": node,
            "uv": uv.to_array(),
            "place": cut.place.to_array(),
            "direction": angle.to_degrees(),
            "length": spec.spacing,
            "ratio": cut.ratio.is_finite().then_some(cut.ratio),
            "cause": if cut.by_hand { "cut" } else { "yarn_tension" },
        });
        (torn, line)
    }
}

/// How far a hold has moved by its keyframes [m].
fn shift(hold: &Hold, time: f64) -> Vec3 {
    match &hold.by {
        By::Keys(keys) => Key::at(keys, time).shift,
        By::Body(_) => Vec3::ZERO,
    }
}

impl Engine for Weaving {
    fn step(&mut self, watch: &mut dyn Watch) -> Result<(), EngineError> {
        let due = self.time() + 0.5 * self.step_length();
        self.bodies.arrive(due);
        self.take_late(due);
        self.cut_due(due);
        watch.enter(Stage::Integrate);
        if let Some(yarns) = &mut self.watch {
            self.woven.step_watched(&mut self.bodies, |woven| yarns.look(woven))?;
            yarns.end_step(&self.woven);
        } else {
            self.woven.step(&mut self.bodies)?;
        }
        self.last = self.woven.take_events();
        self.passing.extend(self.woven.take_passings());
        Ok(())
    }

    fn watch_passings(&mut self) {
        self.watch = Some(yarn::Watch::new(&self.woven));
    }

    fn weigh(&mut self) {
        self.passed = std::mem::take(&mut self.passing);
        let seen = self.watch.as_mut().map(yarn::Watch::take).unwrap_or_default();
        // What the cloth told itself is seen from outside too.
        let told = |of: &Passing| self.passed.iter().any(|p| (p.yarns, p.segments) == (of.yarns, of.segments));
        let seen: Vec<Passing> = seen.into_iter().filter(|of| !told(of)).collect();
        self.passed.extend(seen);
    }

    fn time(&self) -> f64 {
        self.woven.time()
    }

    fn step_count(&self) -> u64 {
        self.woven.step_count()
    }

    fn step_length(&self) -> f64 {
        self.woven.spec().step
    }

    fn stable_step(&self) -> f64 {
        f64::INFINITY
    }

    fn state_hash(&self) -> u64 {
        let mut print = ripstop::math::Fingerprint::default();
        print.word(self.woven.fingerprint());
        self.bodies.fingerprint(&mut print);
        print.value()
    }

    fn bodies(&self) -> &Bodies {
        &self.bodies
    }

    fn counts(&self) -> Start {
        let (woven, spec) = (&self.woven, self.woven.spec());
        let count = woven.crossings();
        let springs = |family| (0..count).filter(|&c| self.live(family, c)).count();
        let held = woven.holds().iter().filter(|hold| !hold.is_released()).flat_map(Hold::crossings);
        let (mass, middle) = (0..count).fold((0.0, Vec3::ZERO), |(mass, sum), c| {
            let m = spec.node_mass();
            (mass + m, sum + self.place(c) * m)
        });
        Start {
            nodes: count,
            edges: springs(Family::Warp) + springs(Family::Weft),
            faces: self.grid.face_count(),
            pieces: woven.piece_sizes().len(),
            area: count as f64 * spec.spacing * spec.spacing,
            spacing: spec.spacing,
            hold_height: held.map(|c| self.place(c).y).fold(f64::MIN, f64::max),
            middle: middle / mass,
        }
    }

    fn piece_areas(&self) -> Vec<f64> {
        // A crossing's two particles stand for half of its area each.
        let half = 0.5 * self.woven.spec().spacing * self.woven.spec().spacing;
        self.woven.piece_sizes().into_iter().map(|size| size as f64 * half).collect()
    }

    fn torn(&self) -> Vec<(Torn, Value)> {
        self.last.iter().map(|cut| self.torn(cut)).collect()
    }

    fn tear_count(&self) -> u64 {
        self.woven.cut_count()
    }

    fn largest_strain(&self) -> f64 {
        self.woven.largest_strain()
    }

    fn moment(&self, _: &Start) -> Moment {
        let (woven, time) = (&self.woven, self.time());
        let low = |family| (0..woven.crossings()).map(|c| woven.position(family, c).y).fold(f64::MAX, f64::min);
        Moment {
            time,
            lowest: low(Family::Warp).min(low(Family::Weft)),
            waist: f64::NAN,
            loads: woven.holds().iter().map(|hold| hold.load).collect(),
            shifts: woven.holds().iter().map(|hold| shift(hold, time)).collect(),
        }
    }

    fn energies(&self) -> Vec<(&'static str, f64)> {
        vec![("kinetic", self.woven.kinetic_energy())]
    }

    fn grips(&self) -> Vec<(&str, Vec3, Vec3)> {
        let time = self.time();
        self.woven.holds().iter().map(|hold| (hold.name.as_str(), hold.load, shift(hold, time))).collect()
    }

    fn own_counts(&self) -> Vec<(&'static str, f64)> {
        let counts = self.woven.counts();
        [("couples", counts.couples), ("disconnected", counts.disconnected), ("torn_yarns", counts.torn_yarns)]
            .map(|(name, count)| (name, count as f64))
            .to_vec()
    }

    fn speed(&self) -> f64 {
        let mass = self.woven.crossings() as f64 * self.woven.spec().node_mass();
        (2.0 * self.woven.kinetic_energy() / mass).sqrt()
    }

    /// Yarns that have passed through each other since the frame before, and points in bodies.
    fn crossings(&mut self) -> usize {
        let runs = self.woven.runs();
        let free = runs.iter().flat_map(|run| run.points.iter().zip(run.first..).map(move |(p, s)| (run, *p, s)));
        let free = free.filter(|(run, _, s)| !self.woven.is_held(self.crossing(run.family, run.yarn, *s)));
        let inside = inside_bodies(free.map(|(_, p, _)| p), &self.bodies);
        self.passed.len() + inside
    }

    /// Strain of a node is the largest of the springs at its crossing.
    fn frame(&self, index: u32, last: Option<&Arc<Topology>>) -> Frame {
        let woven = &self.woven;
        let count = woven.crossings();
        let mut strain = vec![0f32; count];
        for (family, stride) in [(Family::Warp, woven.spec().warps), (Family::Weft, 1)] {
            for c in (0..count).filter(|&c| self.live(family, c)) {
                let length = woven.position(family, c).distance(woven.position(family, c + stride));
                let most = (length / woven.springs(family).rest[c] - 1.0) as f32;
                for n in [c, c + stride] {
                    strain[n] = strain[n].max(most);
                }
            }
        }
        let topology = self.topology();
        let topology = last.filter(|last| ***last == topology).cloned().unwrap_or_else(|| Arc::new(topology));
        let single = |v: Vec3| v.as_vec3().to_array();
        Frame {
            index,
            time: self.time(),
            points: (0..count).map(|c| single(self.place(c))).collect(),
            velocities: (0..count).map(|c| single(self.both(|family| woven.velocity(family, c)))).collect(),
            strain,
            plastic: vec![0.0; count],
            topology,
            bodies: body::poses(&self.bodies),
            yarns: Some(self.yarns()),
        }
    }

    fn state(&self) -> StateRef<'_> {
        StateRef::Woven(WovenRef { woven: &self.woven, bodies: &self.bodies })
    }

    fn restore(&mut self, state: State) -> bool {
        let State::Woven(state) = state else { return false };
        let WovenState { woven, bodies } = *state;
        self.woven = woven;
        let reached = self.time() - 0.5 * self.step_length();
        self.late.retain(|grip| grip.from.is_some_and(|from| from > reached));
        self.cuts.retain(|cut| cut.time >= reached);
        self.bodies.arrive(reached);
        self.bodies.restore(bodies)
    }

    fn take(&mut self, grip: Grip) {
        self.late.push(grip);
        self.late.sort_by(|a, b| a.from.unwrap_or(0.0).total_cmp(&b.from.unwrap_or(0.0)));
    }

    fn holder(&self, node: u32) -> Option<&str> {
        let by_hand = |hold: &&Hold| !hold.is_released() && matches!(hold.by, By::Keys(_));
        let mut holds = self.woven.holds().iter().filter(by_hand);
        holds.find(|hold| hold.crossings().any(|c| c == node as usize)).map(|hold| hold.name.as_str())
    }

    fn steer(&mut self, name: &str, key: Key) {
        if let Some(grip) = self.late.iter_mut().find(|grip| grip.name == name) {
            grip.keys.push(key);
        } else if let Some(By::Keys(keys)) = self.woven.hold_mut(name).map(|hold| &mut hold.by) {
            keys.push(key);
        }
    }

    fn let_go(&mut self, name: &str, time: f64) {
        if let Some(grip) = self.late.iter_mut().find(|grip| grip.name == name) {
            grip.release = Some(time);
        } else if let Some(hold) = self.woven.hold_mut(name) {
            hold.release = Some(time);
        }
    }

    fn add_body(&mut self, spec: BodySpec) -> Result<(), BodyError> {
        self.bodies.add(spec)
    }

    fn shift_wind(&mut self, time: f64, velocity: Vec3) {
        self.woven.shift_wind(time, velocity);
    }

    fn cut(&mut self, time: f64, path: Vec<Vec2>) {
        self.cuts.push(HandTear { time, path });
        self.cuts.sort_by(|a, b| a.time.total_cmp(&b.time));
    }

    fn trace(&self, path: &[Vec3]) -> Vec<Vec<Vec2>> {
        let (grid, whole) = (&self.grid, self.whole());
        let there = |f: FaceId| whole[f.index()];
        let patches = grid.faces().filter(|&f| there(f)).map(|f| {
            let [a, b, c] = f.corners();
            Patch {
                x: grid.face_nodes(f).map(|n| self.place(n.index())),
                uv: grid.face_uv(f),
                open: [b, c, a].map(|side| grid.twin(side).is_none_or(|twin| !there(twin.face()))),
            }
        });
        let spacing = self.woven.spec().spacing;
        opening::trace_on(&patches.collect::<Vec<_>>(), spacing, path, spacing)
    }

    fn woven(&self) -> Option<&Weaving> {
        Some(self)
    }
}
