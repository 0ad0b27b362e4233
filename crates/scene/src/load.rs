//! From a scene file to a simulation: everything is checked here, before anything runs.

use crate::engine::Engine;
use crate::error::SceneError;
use crate::file::{
    ClothKind, CriterionKind, GripKey, IntegratorKind, Map, ModelKind, OpeningKind, Scene, Side, Tear, Where,
};
use crate::source::Source;
use crate::variant::Parts;
use ripstop::contact::crossing::{self, Crossings};
use ripstop::contact::{ContactSettings, Cutting, Freed, Untangled};
use ripstop::grip::{Grip, Key};
use ripstop::integrator::{Euler, Implicit, Integrator, Midpoint, Pbd, Rk4, SemiImplicit, Xpbd};
use ripstop::mesh::{Column, FaceId, Id, Mesh, MeshError, NodeId, generate, pieces};
use ripstop::model::Surroundings;
use ripstop::opening::{Halve, Onward, Opening, Plane, Snap, Through, cut};
use ripstop::tear::{Coherence, HandTear, Hem, Refine, Resistance, StrengthMap, Tearing};
use ripstop::{Cloth, Fabric, Simulation, Vec2, Vec3, criterion, model, wind};
use std::path::Path;

/// A scene made ready to run.
pub struct Built {
    /// What moves, at time zero.
    pub engine: Box<dyn Engine>,
    /// What the cloth is made of.
    pub fabric: Fabric,
    /// Steps in a frame.
    pub steps_per_frame: u64,
    /// Frames after the first one.
    pub frame_count: u32,
    /// Things that will work but may not be meant.
    pub warnings: Vec<String>,
    /// What crossed at the start, and how it was freed.
    pub untangled: Untangled,
}

impl Scene {
    /// The title alone, without building anything.
    pub fn title(path: &Path) -> Result<String, SceneError> {
        let parts = Parts::read(path)?.parts;
        Ok(parts[0].source.parse::<Self>()?.title)
    }

    /// The tables alone, without building anything: enough to draw a run again.
    pub fn parse(path: &Path) -> Result<Self, SceneError> {
        Source::read(path)?.parse()
    }

    pub(crate) fn build(&self, source: &Source) -> Result<Built, SceneError> {
        let fabric = self.validate(source)?;
        if let ClothKind::Woven(table) = &self.cloth {
            return self.build_woven(source, table, fabric);
        }
        let (mut mesh, positions) = self.mesh(source)?;
        let seams = self.seams(source, &mut mesh, positions.as_ref())?;
        let bounds = uv_bounds(&mesh);
        let mut cloth = match positions {
            Some(x) => Cloth::shaped(mesh, fabric.density, x),
            None => Cloth::flat(mesh, fabric.density, self.place),
        };
        self.sew(source, &mut cloth, seams)?;
        self.keep_whole(source, &mut cloth, bounds)?;
        let grips = self.grips(source, &mut cloth, bounds)?;
        let bodies = self.bodies(source, &cloth, bounds, &grips)?;
        let tearing = self.tearing(source, &fabric, bounds, &cloth, &grips)?;
        let mut potentials = match self.model.elasticity(&fabric) {
            None => model::springs(&fabric, &cloth),
            Some(elasticity) => model::membrane(&fabric, elasticity, &cloth),
        };
        if let ModelKind::Springs { bend_shear } = self.model
            && bend_shear > 0.0
        {
            potentials.push(model::bend_shear(bend_shear, &fabric, &cloth));
        }
        potentials.extend(self.surroundings().loads(&cloth));
        let integrator: Box<dyn Integrator> = match self.integrator {
            IntegratorKind::Euler {} => Box::new(Euler::default()),
            IntegratorKind::Midpoint {} => Box::new(Midpoint::default()),
            IntegratorKind::Rk4 {} => Box::new(Rk4::default()),
            IntegratorKind::SemiImplicit(settings) => Box::new(SemiImplicit::new(settings)),
            IntegratorKind::Implicit(settings) => Box::new(Implicit::new(settings)),
            IntegratorKind::Xpbd(settings) => Box::new(Xpbd::new(settings)),
            IntegratorKind::Pbd(settings) => Box::new(Pbd::new(settings)),
        };
        let (steps_per_frame, h, frame_count) = self.steps();
        let name = integrator.name();
        let mut simulation = Simulation::boxed(cloth, potentials, integrator, h);
        if let Some(fastest) = self.time.fastest {
            simulation = simulation.fastest(fastest);
        }
        let table = self.contact.unwrap_or_default();
        let settings = ContactSettings {
            thickness: table.thickness.unwrap_or(fabric.thickness),
            friction: table.friction.unwrap_or(fabric.friction),
            stiffness: table.stiffness.unwrap_or(fabric.stretch),
            on_itself: table.on_itself,
        };
        let touches = self.contact.is_some() || !bodies.is_empty();
        simulation = simulation.with_bodies(bodies);
        simulation = if touches {
            simulation.contact(settings).cutting(Cutting::of(&fabric))
        } else {
            simulation.contact_with_bodies(settings, Cutting::of(&fabric))
        };
        for grip in grips {
            simulation = simulation.grip(grip);
        }
        if let Some(tearing) = tearing {
            simulation = simulation.tearing(tearing);
        }
        if let Some(plastic) = self.plastic {
            simulation = simulation.plasticity(plastic);
        }
        for hand in &self.hand {
            let line = HandTear { time: hand.t, path: hand.path.clone() };
            simulation = if hand.cut { simulation.cut_by_hand(line) } else { simulation.tear_by_hand(line) };
        }
        let shrink = match self.tear.as_ref().map(Tear::opening) {
            _ if self.hand.iter().any(|hand| hand.cut) || self.body.iter().any(|body| body.sharp.is_some()) => {
                cut::STEP
            }
            Some(OpeningKind::Halve) => Halve::STEP,
            Some(OpeningKind::Through) => Through::STEP,
            _ => 1.0,
        };
        let mut warnings = stable(source, name, h, shrink * simulation.stable_step())?;
        warnings.extend(simulation.grips().iter().filter_map(jumps));
        if let (Some(CriterionKind::Toughness { .. }), IntegratorKind::Pbd(_)) =
            (self.tear.as_ref().map(|tear| &tear.criterion), &self.integrator)
        {
            let warning = "`toughness` reads stress, but `pbd` limits strain whatever the load, so cloth tears too early or never";
            warnings.push(format!("{warning}; use [integrator.xpbd] or [integrator.implicit]"));
        }
        let untangled = simulation.untangle();
        if simulation.contacts().is_on() {
            nothing_inside(source, &simulation)?;
        }
        warnings.extend(freed_of("a body", untangled.bodies));
        warnings.extend(freed_of("itself", untangled.itself));
        let bodies = simulation.bodies();
        warnings.extend(bodies.iter().filter_map(|b| Some(format!("body `{}`: {}", b.name, b.warning.as_ref()?))));
        Ok(Built { engine: Box::new(simulation), fabric, steps_per_frame, frame_count, warnings, untangled })
    }

    /// Steps in a frame, the length of one [s], and frames after the first.
    pub(crate) fn steps(&self) -> (u64, f64, u32) {
        let per_frame = (1.0 / (self.time.fps * self.time.step)).ceil().max(1.0) as u64;
        let h = 1.0 / (self.time.fps * per_frame as f64);
        (per_frame, h, (self.time.duration * self.time.fps).round().max(1.0) as u32)
    }

    fn mesh(&self, source: &Source) -> Result<(Mesh, Option<Column<NodeId, Vec3>>), SceneError> {
        match &self.cloth {
            ClothKind::Grid { size, nodes } => {
                not_too_many(source, &["cloth", "grid", "nodes"], nodes[0] as f64 * nodes[1] as f64)?;
                let at = |e: MeshError| match e {
                    MeshError::Empty => source.fault(
                        &["cloth", "grid", "nodes"],
                        format!("a grid of {} × {} nodes has no faces", nodes[0], nodes[1]),
                        "it needs at least 2 × 2",
                    ),
                    e => source.fault(&["cloth", "grid", "size"], e.to_string(), "both sides must be above zero [m]"),
                };
                Ok((generate::grid(positive_size(source, "grid", *size)?, *nodes).map_err(at)?, None))
            }
            ClothKind::Irregular { size, spacing, seed } => {
                let size = positive_size(source, "irregular", *size)?;
                if *spacing > 0.0 {
                    not_too_many(source, &["cloth", "irregular", "spacing"], size.x * size.y / (spacing * spacing))?;
                }
                let mesh = generate::irregular(size, *spacing, *seed).map_err(|_| {
                    source.fault(
                        &["cloth", "irregular", "spacing"],
                        format!("a spacing of {spacing} m doesn't fit a sheet of {} × {} m", size.x, size.y),
                        "it must be above zero and at most the shorter side",
                    )
                })?;
                Ok((mesh, None))
            }
            ClothKind::Obj { file, scale, uv } => {
                let path = source.beside(file);
                let (mesh, x) = crate::obj::read(&path, *scale, *uv).map_err(|(cause, advice)| {
                    source.fault(&["cloth", "obj", "file"], format!("{}: {cause}", crate::inline::shown(&path)), advice)
                })?;
                Ok((mesh, Some(x)))
            }
            ClothKind::Woven(_) => unreachable!("woven cloth is built by itself"),
        }
    }

    pub(crate) fn grips(
        &self,
        source: &Source,
        cloth: &mut Cloth,
        bounds: (Vec2, Vec2),
    ) -> Result<Vec<Grip>, SceneError> {
        let mut taken: Column<NodeId, Option<usize>> = Column::filled(cloth.mesh.node_count(), None);
        let mut grips = Vec::new();
        for (i, table) in self.grip.iter().enumerate() {
            let number = i.to_string();
            let (name, keys) = (table.name.clone(), keyframes(&table.keys));
            let mut grip = match (table.from, &table.place) {
                (Some(from), Where::Numbers(numbers)) if !numbers.is_empty() => {
                    // Tearing makes nodes, so some may not be there yet.
                    let nodes: Vec<NodeId> = numbers.iter().copied().map(NodeId).collect();
                    Grip::of_numbers(name, &nodes, keys, from)
                }
                (from, place) => {
                    let nodes = select(&cloth.mesh, place, bounds);
                    if nodes.is_empty() {
                        let cause = format!("grip `{name}` catches no node");
                        return Err(source.fault(&["grip", &number, "where"], cause, reach(bounds)));
                    }
                    let grip = Grip::moving(name, &nodes, cloth, keys);
                    if let Some(from) = from { grip.since(from) } else { grip }
                }
            };
            for n in grip.nodes() {
                if let Some(other) = taken[n].replace(i) {
                    return Err(source.fault(
                        &["grip", &number, "where"],
                        format!(
                            "grip `{}` takes node {n}, which grip `{}` holds already",
                            table.name, self.grip[other].name
                        ),
                        "make their areas apart",
                    ));
                }
            }
            grip.release = table.release;
            grips.push(grip);
        }
        Ok(grips)
    }

    fn tearing(
        &self,
        source: &Source,
        fabric: &Fabric,
        bounds: (Vec2, Vec2),
        cloth: &Cloth,
        grips: &[Grip],
    ) -> Result<Option<Tearing>, SceneError> {
        let Some(tear) = &self.tear else { return Ok(None) };
        let mean = cloth.mean_edge();
        let edge = tear.refine.unwrap_or(mean);
        if edge > mean {
            let cause = format!("edges of {edge} m where it tears are longer than those that it has, {mean:.3} m");
            return Err(source.fault(&["tear", "refine"], cause, "give less, or leave it out"));
        }
        let opening: Box<dyn Opening> = match tear.opening() {
            OpeningKind::Snap => Box::new(Snap),
            OpeningKind::Plane => Box::new(Plane),
            OpeningKind::Onward => Box::new(Onward),
            OpeningKind::Halve => Box::new(Halve::of(cloth)),
            OpeningKind::Through => Box::new(Through::of(cloth).finer(edge)),
        };
        let criterion: Box<dyn criterion::Criterion> = match &tear.criterion {
            CriterionKind::SeparationTensor { strength, form } => {
                Box::new(criterion::SeparationTensor::new(*strength, *form))
            }
            CriterionKind::EdgeStrain { strength } => Box::new(criterion::EdgeStrain { strength: *strength }),
            CriterionKind::Directional { strengths } => {
                let strengths = criterion::Strengths::new(strengths).expect("validated");
                Box::new(criterion::Directional::new(strengths))
            }
            CriterionKind::Toughness { factor } => {
                Box::new(criterion::Toughness::of(fabric, cloth).expect("validated").stronger(*factor).finer(edge))
            }
        };
        let map = tear.map.as_ref().map(|map| strength_map(source, map, bounds)).transpose()?;
        let mut tearing = Tearing::boxed(criterion, opening);
        let hem = tear.hem.map(|hem| Hem {
            points: grips.iter().flat_map(Grip::nodes).map(|n| cloth.mesh.node_uv(n)).collect(),
            width: hem.width,
            factor: hem.factor,
        });
        tearing.resistance = Resistance::new(map, hem, tear.weave).with_noise(tear.noise);
        tearing.resistance.weak = tear.weak;
        tearing.policy = tear.policy();
        tearing.refine = tear.refine.map(|edge| Refine { edge });
        tearing.coherence = Coherence {
            per_step: tear.per_step.unwrap_or(u32::MAX),
            per_second: tear.per_second.unwrap_or(f64::INFINITY),
            pause: tear.pause,
            smallest_piece: tear.smallest_piece(edge),
        };
        Ok(Some(tearing))
    }

    pub(crate) fn surroundings(&self) -> Surroundings {
        let air = &self.air;
        let gust = air.wind.gust;
        Surroundings {
            gravity: self.gravity,
            viscous: air.viscous,
            pressure: air.pressure,
            drag: air.drag,
            wind: wind::Wind {
                keys: air.wind.keys.iter().map(|key| (key.t, key.velocity)).collect(),
                shifts: air.wind.shifts.iter().map(|key| (key.t, key.velocity)).collect(),
                gust: gust.map_or(0.0, |g| g.amount),
                period: gust.map_or(1.0, |g| g.period),
                length: gust.map_or(1.0, |g| g.length),
                seed: gust.map_or(0, |g| g.seed),
            },
        }
    }
}

/// Nothing can be kept apart that is on both sides of something at the start, or on the wrong one.
fn nothing_inside(source: &Source, simulation: &Simulation) -> Result<(), SceneError> {
    let (cloth, bodies) = (simulation.cloth(), simulation.bodies());
    if bodies.is_empty() {
        return Ok(());
    }
    let found = pieces(&cloth.mesh);
    let first = |piece: usize| found.of_face.iter().position(|&of| of as usize == piece);
    let faces = (0..found.areas.len()).filter_map(first).map(FaceId::new);
    let firsts: Vec<NodeId> = faces.map(|f| cloth.mesh.face_nodes(f)[0]).collect();
    for ((b, body), crossed) in bodies.iter().enumerate().zip(Crossings::of(cloth, bodies).bodies) {
        let pose = bodies.pose(b);
        let local = |n: NodeId| crossing::inside(&body.surface.points, &body.surface.triangles, pose.local(cloth.x[n]));
        // What doesn't cross the surface is wholly inside or wholly outside, piece by piece: a node of each tells.
        let inside =
            body.surface.closed && body.ties.is_empty() && crossed.is_empty() && firsts.iter().copied().any(local);
        let cause = if inside {
            format!("the cloth is inside body `{}` at the start", body.name)
        } else if !crossed.is_empty() {
            format!(
                "body `{}` crosses the cloth in {} places at the start, too deep to be freed",
                body.name,
                crossed.len()
            )
        } else {
            continue;
        };
        let advice = "move one of them, by `place`: contact keeps things on the side where they begin";
        return Err(source.fault(&["body", &b.to_string(), "place"], cause, advice));
    }
    Ok(())
}

/// What to say of crossings at the start.
fn freed_of(what: &str, freed: Option<Freed>) -> Option<String> {
    let Freed { crossings, depth, rounds, clean } = freed?;
    Some(if clean {
        format!(
            "the cloth crossed {what} in {crossings} places at the start; it was freed in {rounds} rounds, nodes moved by up to {:.2} mm",
            1e3 * depth
        )
    } else {
        format!(
            "the cloth crosses {what} in {crossings} places at the start, too deep to be freed; they stay crossed until something pulls them apart"
        )
    })
}

/// Axis times angle, from degrees to radians.
pub(crate) fn radians(turn: Vec3) -> Vec3 {
    turn * std::f64::consts::PI / 180.0
}

pub(crate) fn keyframes(keys: &[GripKey]) -> Vec<Key> {
    keys.iter().map(|key| Key { time: key.t, shift: key.shift, turn: radians(key.turn) }).collect()
}

/// What to say of a selection that finds nothing.
pub(crate) fn reach((low, high): (Vec2, Vec2)) -> String {
    format!(
        "the cloth reaches from ({}, {}) to ({}, {}) m; `near` takes the node nearest to a point",
        low.x, low.y, high.x, high.y
    )
}

/// A step past the limit by this much is refused: the estimate of the limit may be half of the true one.
const FAR_PAST: f64 = 2.5;

fn stable(source: &Source, integrator: &str, h: f64, limit: f64) -> Result<Vec<String>, SceneError> {
    if h <= limit {
        return Ok(Vec::new());
    }
    let says = format!(
        "a step of {h:.2e} s is {:.1} times the stable step of `{integrator}` for this cloth, about {limit:.2e} s",
        h / limit
    );
    if h > FAR_PAST * limit {
        return Err(source.fault(
            &["time", "step"],
            says,
            format!("set `step` to {limit:.1e} or less, or take `integrator.implicit`, or make the fabric softer or the mesh coarser"),
        ));
    }
    Ok(vec![format!("{says}; it may blow up")])
}

/// More nodes than any machine has memory for, at 1.5 kB each: asking for them is a slip, not a wish.
const MOST_NODES: f64 = 5e8;

pub(crate) fn not_too_many(source: &Source, path: &[&str], nodes: f64) -> Result<(), SceneError> {
    if nodes > MOST_NODES {
        let cause = format!("the cloth would have about {nodes:.0e} nodes");
        return Err(source.fault(path, cause, format!("make it coarser: at most {MOST_NODES:.0e} nodes are possible")));
    }
    Ok(())
}

/// Keyframes hold before the first one too, so a first one away from rest moves the grip there within a step.
pub(crate) fn jumps(grip: &Grip) -> Option<String> {
    let start = grip.key(grip.from.unwrap_or(0.0));
    (start.shift != Vec3::ZERO || start.turn != Vec3::ZERO).then(|| {
        let from = grip.from.unwrap_or(0.0);
        format!("grip `{}` jumps in its first step; add {{ t = {from:?}, move = [0, 0, 0] }} to its keys", grip.name)
    })
}

fn positive_size(source: &Source, kind: &str, size: Vec2) -> Result<Vec2, SceneError> {
    if size.is_finite() && size.x > 0.0 && size.y > 0.0 {
        return Ok(size);
    }
    let cause = format!("the cloth has no area: `size` is {} × {} m", size.x, size.y);
    Err(source.fault(&["cloth", kind, "size"], cause, "both sides must be above zero"))
}

pub(crate) fn uv_bounds(mesh: &Mesh) -> (Vec2, Vec2) {
    let points = mesh.corners().map(|c| mesh.uv(c));
    points.fold((Vec2::MAX, Vec2::MIN), |(low, high), p| (low.min(p), high.max(p)))
}

pub(crate) fn select(mesh: &Mesh, place: &Where, (low, high): (Vec2, Vec2)) -> Vec<NodeId> {
    // Borders are found in spite of rounding.
    let slack = 1e-9 * (high - low).length();
    let within = |from: Vec2, to: Vec2| {
        let (a, b) = (from.min(to) - slack, from.max(to) + slack);
        mesh.nodes().filter(|&n| mesh.node_uv(n).cmpge(a).all() && mesh.node_uv(n).cmple(b).all()).collect()
    };
    match *place {
        Where::Side(Side::Left) => within(low, Vec2::new(low.x, high.y)),
        Where::Side(Side::Right) => within(Vec2::new(high.x, low.y), high),
        Where::Side(Side::Bottom) => within(low, Vec2::new(high.x, low.y)),
        Where::Side(Side::Top) => within(Vec2::new(low.x, high.y), high),
        Where::Box([from, to]) => within(from, to),
        Where::Polygon(ref corners) => mesh.nodes().filter(|&n| in_polygon(corners, mesh.node_uv(n), slack)).collect(),
        Where::Disc { at, radius } => mesh.nodes().filter(|&n| mesh.node_uv(n).distance(at) <= radius).collect(),
        Where::Numbers(ref numbers) => {
            numbers.iter().copied().map(NodeId).filter(|n| n.index() < mesh.node_count()).collect()
        }
        Where::Border => mesh.nodes().filter(|&n| mesh.is_border_node(n)).collect(),
        Where::Near(uv) => {
            let far = |n: &NodeId| mesh.node_uv(*n).distance_squared(uv);
            mesh.nodes().min_by(|a, b| far(a).total_cmp(&far(b))).into_iter().collect()
        }
    }
}

/// True if a point is in a polygon, or within `slack` of its border.
fn in_polygon(corners: &[Vec2], p: Vec2, slack: f64) -> bool {
    let sides = || corners.iter().zip(corners.iter().cycle().skip(1));
    let beside = |a: Vec2, b: Vec2| {
        let along = ((p - a).dot(b - a) / (b - a).length_squared().max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        a.lerp(b, along).distance(p) <= slack
    };
    // A ray to the right meets sides that go up and sides that go down.
    let meets = |a: Vec2, b: Vec2| (a.y > p.y) != (b.y > p.y) && p.x < a.x + (b.x - a.x) * (p.y - a.y) / (b.y - a.y);
    sides().any(|(&a, &b)| beside(a, b)) || sides().filter(|&(&a, &b)| meets(a, b)).count() % 2 == 1
}

fn strength_map(source: &Source, map: &Map, (low, high): (Vec2, Vec2)) -> Result<StrengthMap, SceneError> {
    let path = source.beside(&map.image);
    let key = ["tear", "map", "image"];
    let bytes = crate::inline::read(&path).map_err(|e| {
        source.fault(
            &key,
            format!("strength map {}: {e}", crate::inline::shown(&path)),
            "paths are relative to the scene's folder",
        )
    })?;
    let picture = image::load_from_memory(&bytes).map_err(|e| {
        source.fault(
            &key,
            format!("strength map {} is no picture: {e}", crate::inline::shown(&path)),
            "use a PNG or JPEG file; white is full strength",
        )
    })?;
    let picture = picture.to_luma16();
    let factor = |p: &image::Luma<u16>| map.black + (1.0 - map.black) * f64::from(p.0[0]) / 65535.0;
    Ok(StrengthMap {
        width: picture.width() as usize,
        height: picture.height() as usize,
        factors: picture.pixels().map(factor).collect(),
        origin: low,
        size: high - low,
    })
}

#[cfg(test)]
mod tests {
    use crate::load::Built;
    use crate::variant::sample;

    #[test]
    fn polygons_hold_what_is_in_them_and_on_their_sides() {
        use ripstop::Vec2;
        // A square with a notch from above down to its middle.
        let corners = [[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [2.0, 2.0], [0.0, 4.0]].map(Vec2::from);
        let holds = |u: f64, v: f64| super::in_polygon(&corners, Vec2::new(u, v), 1e-9);
        assert!(holds(1.0, 1.0) && holds(0.5, 3.0) && holds(3.5, 3.0), "inside");
        assert!(holds(0.0, 2.0) && holds(4.0, 4.0) && holds(2.0, 2.0) && holds(3.0, 3.0), "on its sides");
        assert!(!holds(2.0, 3.0) && !holds(-1.0, 2.0) && !holds(2.0, -0.1) && !holds(4.1, 1.0), "outside");
    }

    const SCENE: &str = r#"
title = "t"
gravity = [0, -9.81, 0]

[time]
duration = 0.1
step = 0.004

[cloth.grid]
size = [0.4, 0.4]
nodes = [11, 11]

[integrator.implicit]

[[body]]
name = "floor"
shape = "plane"
place = [0, HEIGHT, 0]
"#;

    /// A sheet that stands upright from y = 0 on, with a floor at a height [m].
    fn built(height: &str) -> Result<Built, String> {
        let (_folder, parts) = sample::read(&SCENE.replace("HEIGHT", height), &[]);
        parts.unwrap().parts[0].build().map(|(_, built)| built).map_err(|e| e.to_string())
    }

    #[test]
    fn slight_crossings_are_freed_and_told_and_deep_ones_refused() {
        let clean = built("-0.01").unwrap();
        assert_eq!((clean.untangled.bodies, clean.untangled.itself), (None, None));
        assert!(clean.warnings.is_empty(), "{:?}", clean.warnings);
        let poking = built("0.001").unwrap();
        let freed = poking.untangled.bodies.unwrap();
        assert!(freed.clean && freed.crossings >= 10 && freed.depth < 0.01, "{freed:?}");
        assert!(poking.engine.sheet().unwrap().cloth().x.iter().all(|x| x.y > 0.001));
        let [warning] = &poking.warnings[..] else { panic!("{:?}", poking.warnings) };
        assert!(warning.contains("crossed a body") && warning.contains("freed"), "{warning}");
        let error = built("0.19").err().unwrap();
        assert!(error.contains("body `floor` crosses the cloth") && error.contains("too deep"), "{error}");
    }
}
