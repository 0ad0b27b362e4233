//! The woven cloth of Metaaphanon 2009, timed: `cargo run --release -p ripstop --example yarn -- CASE [WARPS WEFTS [THREADS]] [key=value …]`.
//!
//! Cases: `two-balls`, `ball` (with `weave=twill`), `cube`, `out-of-plane`, `bars`, `corner-load`, `hang`. Pictures are made by `ripstop run scenes/metaaphanon/…`, figures over sizes by `ripstop-bench yarns`.
//! Keys: `weave` (plain, twill21, twill, twill31, satin, basket), `ratio` (breaking force over friction, or `none`), `seed`, `frames`, `substeps`,
//! `all_yarn=1`, `self=0`, `verbose=1` (every fifth frame: counts, largest strain, load, mean speeds of whole cloth, of what slides and of what is free), `check=1` (counts passings of yarns, followed by substeps, and particles in bodies).

use ripstop::body::{Bodies, BodySpec, Drive, Pose, Shape};
use ripstop::cloth::Placement;
use ripstop::yarn::{
    By, Family, Kind, Passing, Run, Solver, Spec, Strand, Watch, Weave, Woven, inside_bodies, overlaps, passings,
};
use ripstop::{Key, Vec3};
use std::collections::{BTreeSet, HashMap};
use std::error::Error;
use std::time::Instant;

type Keys = HashMap<String, String>;

/// Keyframes of a straight motion from `from` to `to` [s].
fn moving(from: f64, to: f64, shift: Vec3) -> By {
    let key = |time, shift| Key { time, shift, turn: Vec3::ZERO };
    By::Keys(vec![key(from, Vec3::ZERO), key(to, shift)])
}

fn still() -> By {
    By::Keys(Vec::new())
}

/// Crossings of a rectangle of yarns.
fn patch(cloth: &Woven, warps: std::ops::Range<usize>, wefts: std::ops::Range<usize>) -> Vec<usize> {
    wefts.flat_map(|j| warps.clone().map(move |i| (i, j))).map(|(i, j)| cloth.crossing(i, j)).collect()
}

fn free(name: &str, shape: Shape, place: Vec3, mass: f64, velocity: Vec3) -> BodySpec {
    BodySpec::new(name, shape).at(Pose::at(place)).driven(Drive::Free { mass, velocity, spin: Vec3::ZERO })
}

/// A case: the cloth, its bodies and how many frames to run.
fn make(case: &str, w: usize, h: usize, keys: &Keys) -> Result<(Woven, Bodies, usize), Box<dyn Error>> {
    let get = |key: &str| keys.get(key).map(String::as_str);
    let mut spec = Spec::muslin(w, h);
    spec.weave = match get("weave").unwrap_or("plain") {
        "plain" => Weave::plain(),
        "twill" => Weave::twill(2, 2)?,
        "twill21" => Weave::twill(2, 1)?,
        "twill31" => Weave::twill(3, 1)?,
        "satin" => Weave::satin5(),
        "basket" => Weave::basket(),
        other => return Err(format!("no weave `{other}`").into()),
    };
    let number = |key: &str| get(key).map(str::parse::<f64>).transpose();
    // Stronger than muslin, so that sheets held at their sides carry themselves with some to spare.
    spec.stretch = number("stretch")?.unwrap_or(24.0);
    spec = spec.with_break_over_friction(20.0);
    match get("ratio") {
        Some("none") => spec.sliding = ripstop::yarn::Sliding::Frictionless,
        _ => {
            spec = match number("ratio")? {
                Some(ratio) => spec.with_break_over_friction(ratio),
                None => spec,
            }
        }
    }
    if let Some(seed) = number("seed")? {
        spec.seed = seed as u64;
    }
    if let Some(substeps) = number("substeps")? {
        spec.solver = Solver::Lines { substeps: substeps as u32 };
    }
    for (key, value) in [
        ("shear", &mut spec.shear),
        ("bend", &mut spec.bend),
        ("density", &mut spec.density),
        ("gravity", &mut spec.gravity.y),
        ("compression", &mut spec.compression),
        ("free", &mut spec.damping.free),
        ("thickness", &mut spec.thickness),
        ("packing", &mut spec.packing),
        ("transition", &mut spec.transition),
    ] {
        if let Some(set) = number(key)? {
            *value = set;
        }
    }
    spec.unbreakable = get("unbreakable") == Some("1");
    spec.all_yarn = get("all_yarn") == Some("1");
    spec.self_collision = get("self") != Some("0");
    let (l, gravity) = (spec.spacing, spec.gravity);
    let size = Vec3::new((w - 1) as f64 * l, (h - 1) as f64 * l, 0.0);
    let mut cloth = Woven::new(spec, Placement::default())?;
    let none = Bodies::default();
    let grip = (w.min(h) / 4).max(2);
    let mut bodies = Vec::new();
    let mut tie = None;
    let frames = match case {
        "two-balls" => {
            let reach = 0.6 * size.x;
            let left = patch(&cloth, 0..grip, h - grip..h);
            let right = patch(&cloth, w - grip..w, h - grip..h);
            cloth.hold("left", &left, moving(0.2, 2.2, Vec3::X * -reach), None, &none);
            cloth.hold("right", &right, moving(0.2, 2.2, Vec3::X * reach), None, &none);
            80
        }
        "bars" => {
            let left = patch(&cloth, 0..2, 0..h);
            let right = patch(&cloth, w - 2..w, 0..h);
            cloth.hold("left", &left, moving(0.2, 2.2, Vec3::X * -0.3 * size.x), None, &none);
            cloth.hold("right", &right, moving(0.2, 2.2, Vec3::X * 0.3 * size.x), None, &none);
            80
        }
        "hang" => {
            let top = patch(&cloth, 0..w, h - 2..h);
            cloth.hold("top", &top, still(), None, &none);
            60
        }
        "out-of-plane" => {
            let left = patch(&cloth, 0..w / 3, h - 2..h);
            let right = patch(&cloth, w - w / 3..w, h - 2..h);
            cloth.hold("left", &left, moving(0.2, 2.2, Vec3::Z * -0.6 * size.x), None, &none);
            cloth.hold("right", &right, moving(0.2, 2.2, Vec3::Z * 0.6 * size.x), None, &none);
            80
        }
        "ball" => {
            for (name, columns) in [("left", 0..2), ("right", w - 2..w)] {
                let bar = patch(&cloth, columns, 0..h);
                cloth.hold(name, &bar, still(), None, &none);
            }
            let radius = 0.2 * size.y;
            let place = size * 0.5 + Vec3::Z * (radius + 0.005);
            bodies.push(free("ball", Shape::Ball { radius }, place, 3e-4, Vec3::Z * -1.5));
            60
        }
        "cube" | "corner-load" => {
            let top = patch(&cloth, 0..w, h - 2..h);
            cloth.hold("top", &top, still(), None, &none);
            let side = 0.12 * size.x;
            let place = Vec3::new(size.x - 0.3 * side, -0.5 * side, 0.0);
            bodies.push(free("cube", Shape::Box { sides: Vec3::splat(side) }, place, 1e-3, Vec3::ZERO));
            tie = Some(patch(&cloth, w - grip..w, 0..grip.min(3)));
            80
        }
        _ => return Err(format!("no case `{case}`").into()),
    };
    let bodies = Bodies::new(bodies, gravity)?;
    if let Some(tie) = tie {
        cloth.hold("tie", &tie, By::Body(0), None, &bodies);
    }
    let frames = get("frames").map_or(Ok(frames), str::parse)?;
    Ok((cloth, bodies, frames))
}

/// Passings and the like, counted.
struct Check {
    watch: Watch,
    /// Yarns after the last frame.
    frame: Vec<Run>,
    /// Passings by the way of the yarns, and if they went straight from frame to frame.
    passed: usize,
    passed_straight: usize,
    overlaps: usize,
    inside: usize,
}

fn strands(runs: &[Run], radius: f64) -> Vec<Strand<'_>> {
    runs.iter().map(|run| run.strand(radius)).collect()
}

impl Check {
    fn new(cloth: &Woven) -> Self {
        let (watch, frame) = (Watch::new(cloth), cloth.runs());
        Self { watch, frame, passed: 0, passed_straight: 0, overlaps: 0, inside: 0 }
    }

    fn end_frame(&mut self, cloth: &Woven, bodies: &Bodies) {
        let passed = self.watch.take();
        for Passing { yarns, segments, time, place } in &passed {
            println!("passing at {time:.4} s: yarns {yarns:?}, segments {segments:?}, at {place:.5}");
        }
        self.passed += passed.len();
        let (radius, runs) = (0.5 * cloth.spec().thickness, cloth.runs());
        let now = strands(&runs, radius);
        self.passed_straight += passings(&strands(&self.frame, radius), &now).len();
        self.overlaps += overlaps(&now, 0.5).len();
        let held: BTreeSet<usize> = cloth.holds().iter().flat_map(|hold| hold.crossings()).collect();
        let both = |c: usize| Family::BOTH.map(|family| cloth.position(family, c));
        let free = (0..cloth.crossings()).filter(|c| !held.contains(c));
        self.inside += inside_bodies(free.flat_map(both), bodies);
        self.frame = runs;
    }

    fn report(&self, told: usize) {
        println!(
            "passings: {} by the way of the yarns, {} straight from frame to frame, {told} told by the cloth itself; overlaps {}, points in bodies {}",
            self.passed, self.passed_straight, self.overlaps, self.inside
        );
    }
}

/// Root of the mean square of the speeds of yarns at crossings of a kind [m/s].
fn speed(cloth: &Woven, kind: Kind) -> f64 {
    let of = (0..cloth.crossings()).filter(|&c| cloth.kind(c) == kind);
    let all: Vec<f64> =
        of.flat_map(|c| Family::BOTH.map(|family| cloth.velocity(family, c).length_squared())).collect();
    (all.iter().sum::<f64>() / all.len().max(1) as f64).sqrt()
}

/// Milliseconds per frame: of the whole sequence, before the first cut, and after it.
struct Times {
    all: f64,
    before: f64,
    after: f64,
}

fn run(mut cloth: Woven, mut bodies: Bodies, frames: usize, keys: &Keys) -> Result<(Woven, Times), Box<dyn Error>> {
    let steps = (1.0 / 30.0 / cloth.spec().step).round() as usize;
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut check = keys.contains_key("check").then(|| Check::new(&cloth));
    for frame in 0..frames {
        let torn = cloth.counts().cuts > 0;
        let start = Instant::now();
        for _ in 0..steps {
            if let Some(check) = &mut check {
                cloth.step_watched(&mut bodies, |cloth| check.watch.look(cloth))?;
                check.watch.end_step(&cloth);
            } else {
                cloth.step(&mut bodies)?;
            }
        }
        let ms = start.elapsed().as_secs_f64() * 1e3;
        if let Some(check) = &mut check {
            check.end_frame(&cloth, &bodies);
        }
        if torn {
            after.push(ms)
        } else {
            before.push(ms)
        }
        if keys.contains_key("verbose") && frame % 5 == 4 {
            let c = cloth.counts();
            let load = cloth.holds().iter().map(|hold| hold.load.length()).fold(0.0, f64::max);
            let passed = check.as_ref().map_or(0, |check| check.passed);
            println!(
                "frame {frame:3} {ms:6.1} ms  couples {:5} disconnected {:5} cuts {:4} pieces {:3} strain {:.3} load {load:.2e} speeds {:.4} {:.4} {:.4} passed {passed}",
                c.couples,
                c.disconnected,
                c.cuts,
                c.pieces,
                cloth.largest_strain(),
                speed(&cloth, Kind::Welded),
                speed(&cloth, Kind::Loose).max(speed(&cloth, Kind::Sliding)),
                speed(&cloth, Kind::Disconnected),
            );
        }
    }
    let told = cloth.take_passings().len();
    match check {
        Some(check) => check.report(told),
        None => println!("passings: {told} told by the cloth itself"),
    }
    let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len().max(1) as f64;
    let all: Vec<f64> = before.iter().chain(&after).copied().collect();
    Ok((cloth, Times { all: mean(&all), before: mean(&before), after: mean(&after) }))
}

fn report(case: &str, cloth: &Woven, times: &Times) {
    let counts = cloth.counts();
    let mut free = cloth.free_lengths();
    free.sort_by(f64::total_cmp);
    let mean = free.iter().sum::<f64>() / free.len().max(1) as f64;
    let tenth = free.get(free.len() * 9 / 10).copied().unwrap_or(0.0);
    let spec = cloth.spec();
    println!(
        "{case} {}×{}: {:.1} ms/frame (before the first cut {:.1}, after {:.1}); couples {}, disconnected {}, cuts {} in {} yarns, pieces {} (largest {}), free ends mean {mean:.1}, 90th percentile {tenth:.1}, fingerprint {:016x}",
        spec.warps,
        spec.wefts,
        times.all,
        times.before,
        times.after,
        counts.couples,
        counts.disconnected,
        counts.cuts,
        counts.torn_yarns,
        counts.pieces,
        counts.largest,
        cloth.fingerprint()
    );
}

fn main() -> Result<(), Box<dyn Error>> {
    let (keys, plain): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|arg| arg.contains('='));
    let keys: Keys = keys.iter().filter_map(|arg| arg.split_once('=')).map(|(a, b)| (a.into(), b.into())).collect();
    let case = plain.first().map_or("two-balls", String::as_str);
    let size = |at: usize, default: usize| plain.get(at).map_or(Ok(default), |text| text.parse());
    let default = match case {
        "cube" => (160, 80),
        _ => (80, 40),
    };
    let (w, h) = (size(1, default.0)?, size(2, default.1)?);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(size(3, 2)?).build()?;
    // The error becomes text, since it can't cross from thread to thread.
    pool.install(|| go(case, w, h, &keys).map_err(|error| error.to_string()))?;
    Ok(())
}

fn go(case: &str, w: usize, h: usize, keys: &Keys) -> Result<(), Box<dyn Error>> {
    let (cloth, bodies, frames) = make(case, w, h, keys)?;
    let (cloth, times) = run(cloth, bodies, frames, keys)?;
    report(case, &cloth, &times);
    Ok(())
}
