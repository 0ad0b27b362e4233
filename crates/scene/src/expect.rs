//! What a scene promises, held against what came out.

use crate::curve::{LoadCurve, Reading};
use crate::engine::{Engine, Torn, plastic_strains};
use crate::file::Scene;
use crate::range::Range;
use crate::summary::Outcome;
use crate::tally::Tally;
use ripstop::mesh::pieces;
use ripstop::opening::nearest_on_line;
use ripstop::yarn::Woven;
use ripstop::{Simulation, Vec2, Vec3};
use serde::Deserialize;

/// `[expect]`: every key is optional; each one given is checked.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// Opened edges.
    pub tears: Option<Range>,
    /// Times that the cloth parted by load.
    pub openings: Option<Range>,
    /// Those of them that began a tear inside whole cloth.
    pub begun: Option<Range>,
    /// Edges that bodies cut.
    pub cuts: Option<Range>,
    /// Tips of tears at the end.
    pub tips: Option<Range>,
    /// Nodes at the end less those at the start.
    pub nodes_added: Option<Range>,
    /// Pieces at the end.
    pub pieces: Option<Range>,
    /// Pieces of at least a tenth of the area.
    pub large_pieces: Option<Range>,
    /// Share of the area in pieces smaller than that.
    pub crumbs: Option<Range>,
    /// Relative change of the material area.
    pub area_change: Option<Range>,
    /// Largest strain of an edge at any frame.
    pub largest_strain: Option<Range>,
    /// The first tear.
    pub first_tear: FirstTear,
    /// Onset compared with another scene.
    pub onset: Option<Onset>,
    /// Torn length by direction in the material.
    pub torn_along: Option<TornAlong>,
    /// Where opened edges lie.
    pub torn_path: Option<TornPath>,
    /// Share of the torn length where the strength map is weak.
    pub torn_in_weak: Option<TornInWeak>,
    /// Share of the torn length on seams.
    pub torn_on_seam: Option<TornOnSeam>,
    /// How evenly the torn length grows.
    pub torn_evenly: Option<TornEvenly>,
    /// Width across the middle at the first tear, over the material width.
    pub waist_at_tear: Option<Range>,
    /// Which way tears travel.
    pub tip_travel: Option<TipTravel>,
    /// Sudden falls of the load on a grip.
    pub snags: Option<Snags>,
    /// Figures of load against travel.
    pub load: Vec<LoadExpected>,
    /// Tears across the pull of their moment.
    pub across_pull: Option<AcrossPull>,
    /// Tears that began apart from all earlier ones.
    pub places: Option<Range>,
    /// The largest piece that nothing holds.
    pub lost: Option<Lost>,
    /// How far the cloth hangs down, later over earlier.
    pub sag: Option<Sag>,
    /// Standard deviation over mean of the plastic strain.
    pub plastic_spread: Option<Range>,
    /// Pairs of triangles that cross, of the cloth with itself and with bodies, over all frames.
    pub crossings: Option<Range>,
    /// How far the middle of the cloth has moved [m].
    pub travel: Option<Range>,
    /// Root mean square of the speed of the cloth at the end [m/s].
    pub speed: Option<Range>,
    /// Lowest point of the cloth at the end [m].
    pub lowest: Option<Range>,
    /// Bodies at the end.
    pub body: Vec<BodyEnd>,
    /// Woven cloth at the end.
    pub yarns: YarnsExpected,
}

/// `[[expect.body]]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BodyEnd {
    /// The body.
    pub name: String,
    /// Height of its middle [m].
    pub height: Option<Range>,
    /// How far its middle has moved [m].
    pub travel: Option<Range>,
    /// Its speed [m/s].
    pub speed: Option<Range>,
}

/// `[together]`: what the variants of a scene promise together.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Together {
    /// Largest distance of a node from itself in another variant, in the last frame, over the larger side of the cloth.
    pub same_shape: Option<Range>,
    /// An expectation whose value grows from variant to variant.
    pub ascending: Option<Ascending>,
    /// An expectation whose value is nearly the same in variants.
    pub alike: Option<Alike>,
}

/// `alike = { of = "load.jaw.largest", variants = ["coarse", "fine"], within = 0.05 }`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alike {
    /// Name of the expectation, as in `summary.json`.
    pub of: String,
    /// Variants.
    pub variants: Vec<String>,
    /// Largest difference of two of them, over their mean.
    pub within: f64,
}

/// `ascending = { of = "yarns.loosened", variants = ["plain", "twill"] }`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ascending {
    /// Name of the expectation, as in `summary.json`.
    pub of: String,
    /// Variants, the one with the smallest value first.
    pub variants: Vec<String>,
}

/// `first_tear = { … }`
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FirstTear {
    /// When [s].
    pub time: Option<Range>,
    /// Where along u [m].
    pub u: Option<Range>,
    /// Where along v [m].
    pub v: Option<Range>,
}

/// `onset = { like = "other.toml", within = 0.15 }`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Onset {
    /// The other scene, relative to this one.
    pub like: String,
    /// Largest relative difference of the first tear's time.
    pub within: f64,
}

/// `torn_along = { angle = 90, within = 25, share = { min = 0.6 } }`
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TornAlong {
    /// Direction from weft [degrees].
    pub angle: f64,
    /// The mean direction of the torn length lies within so many degrees of it.
    pub mean_within: Option<f64>,
    /// Degrees that count as along it.
    pub within: Option<f64>,
    /// Share of the torn length along it.
    pub share: Option<Range>,
}

/// `torn_path = { path = [[0.5, 0.0], [0.5, 1.0]], off = { max = 0.001 } }`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TornPath {
    /// Line on the material [m].
    pub path: Vec<Vec2>,
    /// Largest distance of the middle of an opened edge from the line [m].
    pub off: Range,
}

/// `torn_in_weak = { below = 0.6, share = { min = 0.8 } }`
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TornInWeak {
    /// Map factor below which cloth counts as weak.
    pub below: f64,
    /// Share of the torn length.
    pub share: Range,
}

/// `torn_on_seam = { name = "side", share = { min = 0.9 } }`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TornOnSeam {
    /// The seam; any if left out.
    pub name: Option<String>,
    /// Share of the torn length.
    pub share: Range,
}

/// `torn_evenly = { from = 0.5, to = 2.5, off = { max = 0.05 } }`
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TornEvenly {
    /// When it should begin [s].
    pub from: f64,
    /// When it should be through [s].
    pub to: f64,
    /// Largest difference of the torn length from a straight line over time, as a share of all that is torn in the end.
    pub off: Range,
}

/// `tip_travel = { direction = [0, -1], share = { min = 0.9 } }`
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TipTravel {
    /// Direction in the material.
    pub direction: Vec2,
    /// Share of the tears, after the first, that lie further along it than all before.
    pub share: Range,
}

/// `snags = { grip = "hand", fall = 0.2, count = { min = 3 } }`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snags {
    /// The grip.
    pub grip: String,
    /// Fall of the load from one frame to the next, as a share of the largest load so far.
    pub fall: f64,
    /// How often.
    pub count: Range,
}

/// `[[expect.load]]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadExpected {
    /// The grip.
    pub grip: String,
    /// What is read from its curve.
    pub reading: Reading,
    /// What it must be [N, or m].
    pub value: Range,
}

/// `across_pull = { grip = "hand", behind = 45, within = 35, share = { min = 0.7 } }`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcrossPull {
    /// The grip that pulls.
    pub grip: String,
    /// Only what tears behind the grip counts, seen from it within so many degrees of the line of its pull: there the pull
    /// opens the tear, on its flanks it shears it.
    pub behind: f64,
    /// Degrees from the perpendicular that count as across.
    pub within: f64,
    /// Share of the torn length, in every stretch between two keyframes in which at least three edges tear there.
    pub share: Range,
    /// Stretches of that kind.
    pub phases: Option<Range>,
}

/// `lost = { area = { min = 0.2 }, travel = { min = 1 } }`
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lost {
    /// Its share of the cloth's area.
    pub area: Range,
    /// How far its middle has moved from where it lay in the flat sheet [m].
    pub travel: Range,
}

/// `sag = { before = 1.0, after = 4.0, ratio = { min = 1.5 } }`
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sag {
    /// A time [s].
    pub before: f64,
    /// A later time [s].
    pub after: f64,
    /// Depth below the holds then over depth earlier.
    pub ratio: Range,
}

/// `yarns = { disconnected = { min = 20 }, free_length = { min = 1 } }`: woven cloth at the end.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct YarnsExpected {
    /// Crossings whose yarns are held together as two particles.
    pub couples: Option<Range>,
    /// Crossings whose yarns aren't held together any more.
    pub disconnected: Option<Range>,
    /// Yarns with a cut.
    pub torn: Option<Range>,
    /// Crossings that aren't held together any more per torn yarn.
    pub loosened: Option<Range>,
    /// Mean length of free ends of warps and of wefts alike [crossings].
    pub free_length: Option<Range>,
    /// Length of free ends that one in ten exceeds [crossings].
    pub long_ends: Option<Range>,
}

/// What the run left behind.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    /// The scene.
    pub scene: &'a Scene,
    /// Counted on the way.
    pub tally: &'a Tally,
    /// At the end.
    pub engine: &'a dyn Engine,
    /// Time of the first tear of the scene that `onset` names [s].
    pub other_onset: Option<f64>,
}

/// Outcomes so far.
#[derive(Default)]
struct Outcomes(Vec<Outcome>);

impl Outcomes {
    /// Holds a value against what was asked for, if anything was.
    fn hold(&mut self, name: &str, range: Option<Range>, value: f64) {
        if let Some(range) = range {
            self.0.push(Outcome {
                name: name.into(),
                expected: range.to_string(),
                value: Some(value).filter(|v| v.is_finite()),
                met: range.holds(value),
            });
        }
    }
}

/// Holds every expectation of a scene against the evidence.
pub fn judge(evidence: &Evidence<'_>) -> Vec<Outcome> {
    let mut found = Outcomes::default();
    judge_pieces(evidence, &mut found);
    judge_tears(evidence, &mut found);
    judge_grips(evidence, &mut found);
    judge_motion(evidence, &mut found);
    if let Some(simulation) = evidence.engine.sheet() {
        judge_sheet(evidence, simulation, &mut found);
    }
    if let Some(weaving) = evidence.engine.woven() {
        judge_yarns(&evidence.scene.expect.yarns, &weaving.woven, &mut found);
    }
    found.0
}

fn judge_pieces(Evidence { scene, tally, engine, .. }: &Evidence<'_>, found: &mut Outcomes) {
    let (expect, areas) = (&scene.expect, engine.piece_areas());
    let large: Vec<f64> = areas.iter().copied().filter(|a| *a >= 0.1 * tally.start.area).collect();
    found.hold("pieces", expect.pieces, areas.len() as f64);
    found.hold("large_pieces", expect.large_pieces, large.len() as f64);
    found.hold("crumbs", expect.crumbs, 1.0 - large.iter().sum::<f64>() / tally.start.area);
}

fn judge_tears(Evidence { scene, tally, other_onset, .. }: &Evidence<'_>, found: &mut Outcomes) {
    let expect = &scene.expect;
    found.hold("tears", expect.tears, tally.torn.len() as f64);
    found.hold("cuts", expect.cuts, tally.torn.iter().filter(|t| t.cut.is_some()).count() as f64);
    found.hold("largest_strain", expect.largest_strain, tally.largest_strain);
    let first = tally.torn.first();
    let of_first = |f: fn(&Torn) -> f64| first.map_or(f64::NAN, f);
    found.hold("first_tear.time", expect.first_tear.time, of_first(|t| t.time));
    found.hold("first_tear.u", expect.first_tear.u, of_first(|t| t.uv.x));
    found.hold("first_tear.v", expect.first_tear.v, of_first(|t| t.uv.y));
    if let Some(onset) = &expect.onset {
        let off = other_onset.map_or(f64::NAN, |other| (of_first(|t| t.time) / other - 1.0).abs());
        found.hold("onset", Some(Range { min: 0.0, max: onset.within }), off);
    }
    if let Some(along) = expect.torn_along {
        let mean = angle_between(mean_angle(&tally.torn), along.angle);
        found.hold("torn_along.mean_within", along.mean_within.map(|max| Range { min: 0.0, max }), mean);
        let near = |t: &Torn| angle_between(t.angle.to_degrees(), along.angle) <= along.within.unwrap_or(20.0);
        found.hold("torn_along.share", along.share, share_of_length(&tally.torn, near));
    }
    if let Some(TornPath { path, off }) = &expect.torn_path {
        found.hold("torn_path.off", Some(*off), tally.torn.iter().map(|t| off_line(t.uv, path)).fold(0.0, f64::max));
    }
    if let Some(evenly) = expect.torn_evenly {
        found.hold("torn_evenly.off", Some(evenly.off), uneven(&tally.torn, evenly.from, evenly.to));
    }
    if let Some(tip) = expect.tip_travel {
        found.hold("tip_travel.share", Some(tip.share), tip_travel(&tally.torn, tip.direction, tally.start.spacing));
    }
    found.hold("places", expect.places, separate_places(&tally.torn, 4.0 * tally.start.spacing) as f64);
}

fn judge_grips(Evidence { scene, tally, engine, .. }: &Evidence<'_>, found: &mut Outcomes) {
    let grip = |name: &str| engine.grips().iter().position(|(known, ..)| *known == name);
    if let Some(snags) = &scene.expect.snags {
        let count = grip(&snags.grip).map_or(f64::NAN, |g| count_snags(tally, g, snags.fall) as f64);
        found.hold("snags.count", Some(snags.count), count);
    }
    for LoadExpected { grip: name, reading, value } in &scene.expect.load {
        let read = grip(name).map_or(f64::NAN, |g| LoadCurve::of(tally, g).read(*reading));
        found.hold(&format!("load.{name}.{}", reading.name()), Some(*value), read);
    }
    if let (Some(across), Some(simulation)) = (&scene.expect.across_pull, engine.sheet()) {
        let phases = grip(&across.grip).map_or(Vec::new(), |g| across_pull(simulation, tally, g, across));
        let least = phases.iter().copied().reduce(f64::min).unwrap_or(f64::NAN);
        found.hold("across_pull.share", Some(across.share), least);
        found.hold("across_pull.phases", across.phases, phases.len() as f64);
    }
}

fn judge_motion(Evidence { scene, tally, engine, .. }: &Evidence<'_>, found: &mut Outcomes) {
    let expect = &scene.expect;
    if let Some(sag) = expect.sag {
        let depth = |time| tally.at(time).map_or(f64::NAN, |m| tally.start.hold_height - m.lowest);
        found.hold("sag.ratio", Some(sag.ratio), depth(sag.after) / depth(sag.before));
    }
    found.hold("crossings", expect.crossings, tally.crossings as f64);
    found.hold("travel", expect.travel, engine.counts().middle.distance(tally.start.middle));
    found.hold("speed", expect.speed, engine.speed());
    found.hold("lowest", expect.lowest, tally.moments.last().map_or(f64::NAN, |m| m.lowest));
    for end in &expect.body {
        let bodies = engine.bodies();
        let body = bodies.iter().position(|body| body.name == end.name);
        let of = |value: &dyn Fn(usize) -> f64| body.map_or(f64::NAN, value);
        let travel = |b: usize| bodies.middle(b).distance(tally.bodies[b]);
        found.hold(&format!("body.{}.height", end.name), end.height, of(&|b| bodies.middle(b).y));
        found.hold(&format!("body.{}.travel", end.name), end.travel, of(&travel));
        found.hold(&format!("body.{}.speed", end.name), end.speed, of(&|b| bodies.velocity(b).length()));
    }
}

/// What only sheets have.
fn judge_sheet(Evidence { scene, tally, .. }: &Evidence<'_>, simulation: &Simulation, found: &mut Outcomes) {
    let (expect, cloth) = (&scene.expect, simulation.cloth());
    found.hold("openings", expect.openings, simulation.opening_count() as f64);
    found.hold("begun", expect.begun, simulation.begun_count() as f64);
    found.hold("tips", expect.tips, cloth.weak.iter().filter(|weak| **weak).count() as f64);
    found.hold("nodes_added", expect.nodes_added, cloth.mesh.nodes().len() as f64 - tally.start.nodes as f64);
    found.hold("area_change", expect.area_change, (cloth.mesh.area() / tally.start.area - 1.0).abs());
    if let Some(weak) = expect.torn_in_weak {
        let map = simulation.tears_by().and_then(|t| t.resistance.map.as_ref());
        let share = map.map_or(f64::NAN, |map| share_of_length(&tally.torn, |t| map.at(t.uv) < weak.below));
        found.hold("torn_in_weak.share", Some(weak.share), share);
    }
    if let Some(on) = &expect.torn_on_seam {
        let named = |seam: u32| {
            let seam = cloth.seams.iter().nth(seam as usize);
            on.name.is_none() || seam.is_some_and(|seam| Some(&seam.name) == on.name.as_ref())
        };
        found.hold("torn_on_seam.share", Some(on.share), share_of_length(&tally.torn, |t| t.seam.is_some_and(named)));
    }
    let before_tear = tally.torn.first().and_then(|t| tally.moments.iter().rev().find(|m| m.time <= t.time));
    found.hold("waist_at_tear", expect.waist_at_tear, before_tear.map_or(f64::NAN, |m| m.waist));
    if let Some(lost) = expect.lost {
        let (area, travel) = lost_piece(simulation, tally, scene);
        found.hold("lost.area", Some(lost.area), area);
        found.hold("lost.travel", Some(lost.travel), travel);
    }
    if expect.plastic_spread.is_some() {
        let strains: Vec<f64> = plastic_strains(cloth).collect();
        let mean = strains.iter().sum::<f64>() / strains.len() as f64;
        let variance = strains.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / strains.len() as f64;
        found.hold("plastic_spread", expect.plastic_spread, variance.sqrt() / mean);
    }
}

/// What only woven cloth has.
fn judge_yarns(expect: &YarnsExpected, woven: &Woven, found: &mut Outcomes) {
    let counts = woven.counts();
    found.hold("yarns.couples", expect.couples, counts.couples as f64);
    found.hold("yarns.disconnected", expect.disconnected, counts.disconnected as f64);
    found.hold("yarns.torn", expect.torn, counts.torn_yarns as f64);
    found.hold("yarns.loosened", expect.loosened, counts.disconnected as f64 / counts.torn_yarns as f64);
    let mut free = woven.free_lengths();
    free.sort_by(f64::total_cmp);
    found.hold("yarns.free_length", expect.free_length, free.iter().sum::<f64>() / free.len() as f64);
    found.hold("yarns.long_ends", expect.long_ends, free.get(free.len() * 9 / 10).copied().unwrap_or(f64::NAN));
}

impl Expect {
    /// Keys that are given but are about sheets alone.
    pub(crate) fn of_sheets_alone(&self) -> Option<&'static str> {
        [
            ("openings", self.openings.is_some()),
            ("begun", self.begun.is_some()),
            ("cuts", self.cuts.is_some()),
            ("tips", self.tips.is_some()),
            ("nodes_added", self.nodes_added.is_some()),
            ("area_change", self.area_change.is_some()),
            ("torn_in_weak", self.torn_in_weak.is_some()),
            ("torn_on_seam", self.torn_on_seam.is_some()),
            ("waist_at_tear", self.waist_at_tear.is_some()),
            ("across_pull", self.across_pull.is_some()),
            ("lost", self.lost.is_some()),
            ("plastic_spread", self.plastic_spread.is_some()),
        ]
        .into_iter()
        .find_map(|(key, given)| given.then_some(key))
    }
}

/// Angle between two lines [degrees], 0 to 90.
fn angle_between(a: f64, b: f64) -> f64 {
    let d = (a - b).rem_euclid(180.0);
    d.min(180.0 - d)
}

/// Distance of a point from a line of several points [m].
fn off_line(p: Vec2, path: &[Vec2]) -> f64 {
    path.windows(2).map(|e| p.distance(nearest_on_line(p, e[0], e[1]))).fold(f64::INFINITY, f64::min)
}

/// Mean direction of lines, weighted by length [degrees]: the mean of doubled angles.
pub fn mean_angle(torn: &[Torn]) -> f64 {
    let sum: Vec2 = torn.iter().map(|t| t.length * double_angle(t.angle)).sum();
    0.5 * ripstop::math::atan2(sum.y, sum.x).to_degrees()
}

fn double_angle(angle: f64) -> Vec2 {
    let (s, c) = ripstop::math::sin_cos(2.0 * angle);
    Vec2::new(c, s)
}

fn share_of_length(torn: &[Torn], counts: impl Fn(&Torn) -> bool) -> f64 {
    let length = |all: &mut dyn Iterator<Item = &Torn>| all.map(|t| t.length).sum::<f64>();
    length(&mut torn.iter().filter(|t| counts(t))) / length(&mut torn.iter())
}

/// Largest difference of the torn length over time from a straight line between two times, as a share of all of it.
fn uneven(torn: &[Torn], from: f64, to: f64) -> f64 {
    let all: f64 = torn.iter().map(|t| t.length).sum();
    let (mut open, mut off) = (0.0, 0.0_f64);
    for t in torn {
        let due = ((t.time - from) / (to - from)).clamp(0.0, 1.0);
        // Just before and just after the edge opens.
        off = off.max((open / all - due).abs());
        open += t.length;
        off = off.max((open / all - due).abs());
    }
    if torn.is_empty() { f64::NAN } else { off }
}

fn tip_travel(torn: &[Torn], direction: Vec2, spacing: f64) -> f64 {
    let mut furthest = f64::NEG_INFINITY;
    let mut onward = 0;
    for t in torn {
        let along = t.uv.dot(direction.normalize_or_zero());
        // Two edges side by side belong to the same advance.
        onward += u32::from(along > furthest - spacing);
        furthest = furthest.max(along);
    }
    f64::from(onward) / torn.len() as f64
}

fn count_snags(tally: &Tally, grip: usize, fall: f64) -> usize {
    let mut largest: f64 = 0.0;
    let mut count = 0;
    for pair in tally.moments.windows(2) {
        let [was, is] = [&pair[0], &pair[1]].map(|m| m.loads[grip].length());
        largest = largest.max(was);
        count += usize::from(was - is > fall * largest);
    }
    count
}

/// For every stretch between keyframes of a grip in which at least three edges tear: the share of torn length across its motion.
fn across_pull(simulation: &Simulation, tally: &Tally, grip: usize, across: &AcrossPull) -> Vec<f64> {
    let grip = &simulation.grips()[grip];
    let (_, cos_behind) = ripstop::math::sin_cos(across.behind.to_radians());
    let (sin_within, _) = ripstop::math::sin_cos(across.within.to_radians());
    let keys = &grip.keys;
    let mut shares = Vec::new();
    for pair in keys.windows(2) {
        let Some(pull) = (pair[1].shift - pair[0].shift).try_normalize() else { continue };
        let behind = |t: &&Torn| (grip.middle(t.time) - t.place).normalize_or_zero().dot(pull) >= cos_behind;
        let during = |t: &&Torn| t.time > pair[0].time && t.time <= pair[1].time;
        let torn: Vec<Torn> = tally.torn.iter().filter(during).filter(behind).copied().collect();
        if torn.len() >= 3 {
            shares.push(share_of_length(&torn, |t| t.direction.dot(pull).abs() <= sin_within));
        }
    }
    shares
}

/// Tears that began further than `apart` from every earlier one.
fn separate_places(torn: &[Torn], apart: f64) -> usize {
    (0..torn.len()).filter(|&i| torn[..i].iter().all(|t| t.uv.distance(torn[i].uv) > apart)).count()
}

/// Share of area and travel of the largest piece that no grip holds.
fn lost_piece(simulation: &Simulation, tally: &Tally, scene: &Scene) -> (f64, f64) {
    let cloth = simulation.cloth();
    let mesh = &cloth.mesh;
    let pieces = pieces(mesh);
    let mut held = vec![false; pieces.areas.len()];
    let mut middle = vec![(Vec3::ZERO, Vec3::ZERO, 0.0); pieces.areas.len()];
    for f in mesh.faces() {
        let p = pieces.of_face[f] as usize;
        for n in mesh.face_nodes(f) {
            held[p] |= cloth.is_held(n);
            let (sum, start, weight) = &mut middle[p];
            *sum += cloth.x[n];
            let uv = mesh.node_uv(n);
            *start += scene.place.origin + scene.place.weft * uv.x + scene.place.warp * uv.y;
            *weight += 1.0;
        }
    }
    match (0..held.len()).find(|&p| !held[p]) {
        Some(p) => {
            let (sum, start, weight) = middle[p];
            (pieces.areas[p] / tally.start.area, ((sum - start) / weight).length())
        }
        None => (0.0, 0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn torn(angle: f64, length: f64, uv: [f64; 2]) -> Torn {
        let angle = angle.to_radians();
        Torn {
            time: 0.0,
            node: 0,
            uv: uv.into(),
            place: Vec3::ZERO,
            direction: Vec3::X,
            angle,
            length,
            seam: None,
            cut: None,
        }
    }

    #[test]
    fn directions_are_lines_not_arrows() {
        assert_eq!(angle_between(175.0, 5.0), 10.0);
        assert_eq!(angle_between(90.0, 0.0), 90.0);
        let lines = [torn(175.0, 1.0, [0.0; 2]), torn(5.0, 1.0, [0.0; 2])];
        assert!(angle_between(mean_angle(&lines), 0.0) < 1e-9);
    }

    #[test]
    fn a_line_of_several_points_is_as_far_as_its_nearest_part() {
        let path = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]].map(Vec2::from);
        for (p, off) in [([0.5, 0.1], 0.1), ([0.9, 0.5], 0.1), ([-0.3, 0.4], 0.5), ([1.0, 0.7], 0.0)] {
            assert!((off_line(p.into(), &path) - off).abs() < 1e-15, "{p:?}");
        }
    }

    #[test]
    fn places_apart_are_counted_once() {
        let all = [torn(0.0, 1.0, [0.0, 0.0]), torn(0.0, 1.0, [0.1, 0.0]), torn(0.0, 1.0, [1.0, 0.0])];
        assert_eq!(separate_places(&all, 0.5), 2);
    }

    #[test]
    fn a_pause_or_a_rush_is_not_even() {
        let at = |time: f64| Torn { time, ..torn(0.0, 0.1, [0.0; 2]) };
        let even: Vec<_> = (0..10).map(|i| at(1.05 + 0.1 * f64::from(i))).collect();
        assert!(uneven(&even, 1.0, 2.0) < 0.051);
        assert!(uneven(&even, 1.0, 3.0) > 0.4 && uneven(&even, 0.0, 2.0) > 0.4);
        let rush: Vec<_> = (0..10).map(|_| at(1.5)).collect();
        assert!((uneven(&rush, 1.0, 2.0) - 0.5).abs() < 1e-12);
        assert!(uneven(&[], 1.0, 2.0).is_nan());
    }

    #[test]
    fn a_tip_that_turns_back_is_noticed() {
        let down: Vec<_> = (0..10).map(|i| torn(90.0, 0.1, [0.0, -0.1 * f64::from(i)])).collect();
        assert_eq!(tip_travel(&down, Vec2::NEG_Y, 0.1), 1.0);
        assert!(tip_travel(&down, Vec2::Y, 0.1) < 0.3);
    }
}
