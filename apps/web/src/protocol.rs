//! What the page asks and what it is told, in JSON. A request is `{"do": name, …}`; one that fails is answered by `{"error": …}` with place,
//! cause and advice as the command line prints them. Lengths in metres, times in seconds, y is up.

use crate::clock::Clock;
use ripstop::Vec3;
use ripstop_scene::cache::BodySurface;
use ripstop_scene::live::{Change, Live, Ray, Shade};
use ripstop_scene::{SceneError, inline};
use serde::Deserialize;
use serde_json::{Value, json};

/// Everything that can be asked.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    /// Another scene; the one before stays if this can't be.
    Load {
        name: String,
        text: String,
        #[serde(default)]
        files: Vec<File>,
        variant: Option<String>,
    },
    Step {
        count: u64,
    },
    /// What to draw; `known` is the version of the topology that the page has.
    Frame {
        #[serde(default)]
        colouring: Shade,
        known: i64,
    },
    Bodies {},
    Grab {
        hand: u32,
        ray: Ray,
    },
    Drag {
        hand: u32,
        to: Vec3,
    },
    Release {
        hand: u32,
    },
    Pick {
        ray: Ray,
    },
    Pin {
        ray: Ray,
    },
    Cut {
        rays: Vec<Ray>,
    },
    Throw {
        ray: Ray,
        radius: f64,
        mass: f64,
        speed: f64,
    },
    Wind {
        velocity: Vec3,
    },
    Set(Change),
    Paint {
        ray: Ray,
        radius: f64,
        strength: f64,
    },
    PaintEnd {},
    PaintClear {},
    Restart {},
    Rewind {
        seconds: f64,
    },
    Export {
        what: Form,
    },
    Hash {},
}

/// A file that a scene names.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    /// Base64.
    data: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Form {
    Toml,
    Obj,
    Usda,
}

/// The scene that is played, and what was last drawn of it.
#[derive(Default)]
pub struct Desk {
    live: Option<Live>,
    shade: Shade,
    clock: Clock,
}

/// Steps that one request may ask for: the page must be answered in time.
const MOST_STEPS: u64 = 10_000;

type Answer = Result<Value, SceneError>;

fn plain(cause: impl Into<String>, advice: &str) -> SceneError {
    SceneError::of_file("page", cause, advice)
}

impl Desk {
    /// Answers a request.
    pub fn answer(&mut self, request: &[u8]) -> String {
        let parsed = serde_json::from_slice(request)
            .map_err(|e| plain(format!("a request that can't be read: {e}"), "docs/page.md says what can be asked"));
        let answer = parsed.and_then(|request| self.carry_out(request));
        answer.unwrap_or_else(|error| fault(&error)).to_string()
    }

    /// Address and bytes of a table of the last frame: 0 points, 1 normals, 2 shade, 3 triangles, 4 places on the material, 5 torn lips, 6 held
    /// vertices, 7 points of yarns, 8 curves of yarns, 9 states of points of yarns.
    pub fn part(&mut self, which: u32) -> (*const u8, usize) {
        fn bytes<T>(table: &[T]) -> (*const u8, usize) {
            (table.as_ptr().cast(), size_of_val(table))
        }
        let Some(live) = &mut self.live else { return (std::ptr::null(), 0) };
        let (drawn, frame) = live.drawn();
        let yarns = frame.and_then(|frame| frame.yarns.as_ref());
        match which {
            0 => bytes(&drawn.points),
            1 => bytes(&drawn.normals),
            2 => bytes(&drawn.shade),
            3 => bytes(&drawn.triangles),
            4 => bytes(&drawn.uv),
            5 => bytes(&drawn.lips),
            6 => bytes(&drawn.held),
            7 => yarns.map_or((std::ptr::null(), 0), |yarns| bytes(&yarns.points)),
            8 => bytes(&drawn.curves),
            9 => yarns.map_or((std::ptr::null(), 0), |yarns| bytes(&yarns.loose)),
            _ => (std::ptr::null(), 0),
        }
    }

    fn live(&mut self) -> Result<&mut Live, SceneError> {
        self.live.as_mut().ok_or_else(|| plain("no scene is loaded", "load one first"))
    }

    fn carry_out(&mut self, request: Request) -> Answer {
        match request {
            Request::Load { name, text, files, variant } => {
                let find = |wanted: &str| {
                    let file = files.iter().find(|file| file.name == wanted)?;
                    inline::decode(&file.data)
                };
                self.live = Some(Live::load(&name, &text, variant.as_deref(), &find)?);
                self.clock = Clock::default();
                loaded(self.live()?)
            }
            Request::Step { count } => self.step(count),
            Request::Frame { colouring, known } => {
                self.shade = colouring;
                self.frame(known)
            }
            Request::Bodies {} => Ok(json!({ "bodies": bodies(self.live()?) })),
            Request::Grab { hand, ray } => Ok(json!({ "at": self.live()?.grab(hand, ray) })),
            Request::Drag { hand, to } => {
                self.live()?.drag(hand, to);
                Ok(json!({}))
            }
            Request::Release { hand } => {
                self.live()?.release(hand);
                Ok(json!({}))
            }
            Request::Pick { ray } => Ok(match self.live()?.pick(ray) {
                None => json!({ "at": null }),
                Some((hit, held)) => json!({ "at": hit.at, "uv": hit.uv, "held": held }),
            }),
            Request::Pin { ray } => Ok(json!({ "pinned": self.live()?.pin(ray) })),
            Request::Cut { rays } => Ok(json!({ "stretches": self.live()?.cut(&rays) })),
            Request::Throw { ray, radius, mass, speed } => {
                self.live()?.throw(ray, radius, mass, speed)?;
                Ok(json!({ "bodies": bodies(self.live()?) }))
            }
            Request::Wind { velocity } => {
                self.live()?.wind(velocity)?;
                Ok(json!({}))
            }
            Request::Set(change) => {
                self.live()?.set(change)?;
                loaded(self.live()?)
            }
            Request::Paint { ray, radius, strength } => {
                Ok(json!({ "painted": self.live()?.paint(ray, radius, strength)? }))
            }
            Request::PaintEnd {} => {
                self.live()?.paint_end()?;
                loaded(self.live()?)
            }
            Request::PaintClear {} => {
                self.live()?.paint_clear()?;
                loaded(self.live()?)
            }
            Request::Restart {} => {
                self.live()?.restart()?;
                loaded(self.live()?)
            }
            Request::Rewind { seconds } => Ok(json!({ "time": self.live()?.rewind(seconds)? })),
            Request::Export { what } => export(self.live()?, &what),
            Request::Hash {} => {
                let engine = &self.live()?.built().engine;
                Ok(json!({ "hash": format!("{:016x}", engine.state_hash()), "step": engine.step_count() }))
            }
        }
    }

    fn step(&mut self, count: u64) -> Answer {
        let Some(live) = &mut self.live else { return Err(plain("no scene is loaded", "load one first")) };
        if count > MOST_STEPS {
            return Err(plain(format!("{count} steps at once"), "ask for fewer, several times"));
        }
        let stopped = |cause: String| plain(cause, "rewind, or start again; a smaller step or stronger cloth may help");
        if live.is_broken() {
            return Err(stopped("the last step could not be taken".into()));
        }
        let torn = live.advance(count, &mut self.clock);
        self.clock.stop();
        self.clock.steps += count;
        let torn = torn.map_err(|e| stopped(e.to_string()))?;
        let engine = &live.built().engine;
        Ok(json!({ "time": engine.time(), "step": engine.step_count(), "torn": torn }))
    }

    fn frame(&mut self, known: i64) -> Answer {
        let clock = std::mem::take(&mut self.clock);
        let shade = self.shade;
        let live = self.live()?;
        let (version, pieces, faces, vertices, places, woven) = {
            let (drawn, frame) = live.draw(shade);
            let place = |b: &ripstop_scene::cache::BodyPose| [&b.position[..], &b.rotation[..]].concat();
            let places: Vec<f32> = frame.bodies.iter().flat_map(place).collect();
            (drawn.version, drawn.pieces, drawn.triangles.len(), drawn.points.len(), places, frame.yarns.is_some())
        };
        let engine = &live.built().engine;
        let grip = |(name, load, _): (&str, Vec3, Vec3)| {
            let hand = live.hand(name);
            json!({
                "name": name,
                "hand": hand.map(|(number, _)| number),
                "load": load.length(),
                "at": hand.map(|(_, at)| at),
            })
        };
        Ok(json!({
            "time": engine.time(),
            "step": engine.step_count(),
            "nodes": if woven { engine.counts().nodes } else { engine.sheet().map_or(0, |s| s.cloth().mesh.nodes().len()) },
            "vertices": vertices,
            "faces": faces,
            "tears": engine.tear_count(),
            "pieces": pieces,
            "version": version,
            "changed": i64::from(version) != known,
            "largest_strain": engine.largest_strain(),
            "stages": clock.stages,
            "steps": clock.steps,
            "grips": engine.grips().into_iter().map(grip).collect::<Vec<_>>(),
            "bodies": places,
            "body_count": engine.bodies().all().count(),
            "yarns": woven,
        }))
    }
}

fn fault(error: &SceneError) -> Value {
    json!({ "error": {
        "text": error.to_string(),
        "file": inline::shown(&error.file),
        "line": error.line,
        "cause": error.cause,
        "advice": error.advice,
    } })
}

fn bodies(live: &Live) -> Vec<Value> {
    let there = live.built().engine.bodies().len();
    let body = |(i, body): (usize, BodySurface)| {
        json!({
            "name": body.name,
            "colour": body.colour,
            "points": body.points.as_flattened(),
            "triangles": body.triangles.as_flattened(),
            "there": i < there,
        })
    };
    live.bodies().into_iter().enumerate().map(body).collect()
}

fn loaded(live: &mut Live) -> Answer {
    let (low, high) = {
        let (drawn, _) = live.draw(Shade::Fabric);
        let all = drawn.points.iter();
        all.fold(([f32::MAX; 3], [f32::MIN; 3]), |(low, high), p| {
            (std::array::from_fn(|k| low[k].min(p[k])), std::array::from_fn(|k| high[k].max(p[k])))
        })
    };
    let (scene, built) = (live.scene(), live.built());
    let counts = built.engine.counts();
    let (uv_low, uv_high) = live.uv_bounds();
    let (variants, variant) = live.variants();
    let look = &scene.look;
    Ok(json!({
        "title": scene.title,
        "source": scene.source,
        "kind": if built.engine.woven().is_some() { "woven" } else { "sheet" },
        "name": live.name(),
        "variant": variant,
        "variants": variants,
        "duration": scene.time.duration,
        "fps": scene.time.fps,
        "step": built.engine.step_length(),
        "steps_per_frame": built.steps_per_frame,
        "low": low,
        "high": high,
        "camera": scene.camera.map(|c| json!({ "eye": c.eye, "target": c.target, "angle": c.angle })),
        "look": {
            "colour": look.colour,
            "weft_colour": look.weft_colour,
            "floor": look.floor,
            "texture": live.texture(),
            "uv_low": uv_low,
            "uv_high": uv_high,
        },
        "warnings": built.warnings,
        "bodies": bodies(live),
        "options": live.options(),
        "spacing": counts.spacing,
        "thickness": live.thickness(),
    }))
}

fn export(live: &mut Live, what: &Form) -> Answer {
    let stem =
        std::path::Path::new(live.name()).file_stem().map_or("cloth".into(), |s| s.to_string_lossy().into_owned());
    let failed = |e: String| plain(e, "nothing was written");
    let (ending, text) = match what {
        Form::Toml => ("toml", live.scene_text()),
        Form::Obj => ("obj", live.obj().map_err(failed)?),
        Form::Usda => ("usda", live.usda().map_err(failed)?),
    };
    Ok(json!({ "name": format!("{stem}-played.{ending}"), "text": text }))
}

#[cfg(test)]
mod tests;
