//! Plays a scene at random, as `npm run monkey` does in a browser but without one and without waiting: drags, cuts, throws, pins, winds, goes back.
//! `cargo run -p ripstop-web --example play -- SCENE SECONDS SEED…` ends with an error if the engine refuses a step or a number is not one, and saves what was played until then as a scene, which
//! `ripstop run` plays again. Otherwise it says what the longest steps were and what they spent their time on. Played seconds are of the scene.

use ripstop_web::protocol::Desk;
use serde_json::{Value, json};
use std::error::Error;
use std::time::Instant;

/// Mulberry32.
struct Chance(u32);

impl Chance {
    fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x6d2b_79f5);
        let mut t = (self.0 ^ (self.0 >> 15)).wrapping_mul(self.0 | 1);
        t ^= t.wrapping_add((t ^ (t >> 7)).wrapping_mul(t | 61));
        f64::from(t ^ (t >> 14)) / 4_294_967_296.0
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.share()
    }
}

/// A step that took long.
struct Long {
    ms: f64,
    time: f64,
    bodies: u64,
    after: &'static str,
    stages: Value,
}

struct Play {
    desk: Desk,
    chance: Chance,
    low: [f64; 3],
    high: [f64; 3],
    step: f64,
    longest: Vec<Long>,
    ms: Vec<f64>,
    last: &'static str,
}

impl Play {
    fn ask(&mut self, request: &Value) -> Result<Value, String> {
        let reply: Value = serde_json::from_str(&self.desk.answer(request.to_string().as_bytes())).expect("JSON");
        match reply.get("error") {
            Some(error) => Err(format!("{request}: {}", error["text"].as_str().unwrap_or_default())),
            None => Ok(reply),
        }
    }

    /// A place in the scene's box, or a little beside it.
    fn place(&mut self) -> [f64; 3] {
        std::array::from_fn(|k| {
            let share = self.chance.between(-0.1, 1.1);
            self.low[k] + (self.high[k] - self.low[k]) * share
        })
    }

    fn size(&self) -> f64 {
        (0..3).map(|k| self.high[k] - self.low[k]).map(|side| side * side).sum::<f64>().sqrt()
    }

    fn ray(&self, to: [f64; 3]) -> Value {
        let size = self.size();
        let eye: [f64; 3] =
            std::array::from_fn(|k| 0.5 * (self.low[k] + self.high[k]) + [0.38, 0.24, 1.0][k] * 1.8 * size);
        let direction: [f64; 3] = std::array::from_fn(|k| to[k] - eye[k]);
        json!({ "origin": eye, "direction": direction })
    }

    /// Lets time pass.
    fn pass(&mut self, seconds: f64) -> Result<(), String> {
        for _ in 0..((seconds / self.step).round() as u64).max(1) {
            let begin = Instant::now();
            let reply = self.ask(&json!({ "do": "step", "count": 1 }))?;
            let ms = begin.elapsed().as_secs_f64() * 1e3;
            let frame = self.ask(&json!({ "do": "frame", "known": 0 }))?;
            if !frame["largest_strain"].is_f64() {
                return Err(format!("a number is not one: {frame}"));
            }
            self.ms.push(ms);
            self.longest.push(Long {
                ms,
                time: reply["time"].as_f64().unwrap_or_default(),
                bodies: frame["body_count"].as_u64().unwrap_or_default(),
                after: self.last,
                stages: frame["stages"].clone(),
            });
            self.longest.sort_by(|a, b| b.ms.total_cmp(&a.ms));
            self.longest.truncate(5);
        }
        Ok(())
    }

    fn act(&mut self) -> Result<(), String> {
        const ACTIONS: [&str; 10] = ["drag", "drag", "drag", "drag", "cut", "cut", "ball", "pin", "wind", "back"];
        let name = ACTIONS[(self.chance.share() * ACTIONS.len() as f64) as usize];
        self.last = name;
        match name {
            "drag" => {
                let from = self.place();
                let ray = self.ray(from);
                let at = self.ask(&json!({ "do": "grab", "hand": 1, "ray": ray }))?["at"].clone();
                let Ok(mut now) = serde_json::from_value::<[f64; 3]>(at) else { return Ok(()) };
                for _ in 0..3 {
                    let to = self.place();
                    for k in 1..=12 {
                        let on: [f64; 3] = std::array::from_fn(|i| now[i] + (to[i] - now[i]) * f64::from(k) / 12.0);
                        self.ask(&json!({ "do": "drag", "hand": 1, "to": on }))?;
                        self.pass(0.015)?;
                    }
                    now = to;
                }
                self.ask(&json!({ "do": "release", "hand": 1 }))?;
            }
            "cut" => {
                let places = [self.place(), self.place(), self.place()];
                let between = |a: [f64; 3], b: [f64; 3], t: f64| std::array::from_fn(|k| a[k] + (b[k] - a[k]) * t);
                let along = |i: u32| {
                    let t = f64::from(i) / 12.0;
                    if t < 1.0 { between(places[0], places[1], t) } else { between(places[1], places[2], t - 1.0) }
                };
                let rays: Vec<Value> = (0..=24).map(|i| self.ray(along(i))).collect();
                self.ask(&json!({ "do": "cut", "rays": rays }))?;
            }
            "ball" => {
                let (to, size) = (self.place(), self.size());
                // The ball of the page.
                let (radius, mass, speed) = (0.06 * size, 0.6 * size * size, 4.0 * size);
                let request =
                    json!({ "do": "throw", "ray": self.ray(to), "radius": radius, "mass": mass, "speed": speed });
                // One that would begin inside the cloth is refused.
                let _ = self.ask(&request);
            }
            "pin" => {
                let to = self.place();
                self.ask(&json!({ "do": "pin", "ray": self.ray(to) }))?;
            }
            "wind" => {
                let speed = self.chance.between(0.0, 12.0);
                self.ask(&json!({ "do": "wind", "velocity": [0.0, 0.0, -speed] }))?;
            }
            _ => {
                self.ask(&json!({ "do": "rewind", "seconds": 2.0 }))?;
            }
        }
        let pause = self.chance.between(0.0, 0.4);
        self.pass(pause)
    }
}

/// Actions after which the scene starts again: what is torn to shreds can't be torn.
const ROUND: u32 = 40;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let scene = words.next().ok_or("which scene?")?;
    let seconds: f64 = words.next().ok_or("how many seconds?")?.parse()?;
    let text = std::fs::read_to_string(&scene)?;
    for seed in words {
        let mut play = Play {
            desk: Desk::default(),
            chance: Chance(seed.parse()?),
            low: [0.0; 3],
            high: [0.0; 3],
            step: 0.0,
            longest: Vec::new(),
            ms: Vec::new(),
            last: "",
        };
        let loaded = play.ask(&json!({ "do": "load", "name": scene, "text": text, "variant": null }))?;
        play.low = serde_json::from_value(loaded["low"].clone())?;
        play.high = serde_json::from_value(loaded["high"].clone())?;
        play.step = loaded["step"].as_f64().ok_or("no step")?;
        let mut actions = 0;
        while play.ms.len() as f64 * play.step < seconds {
            if let Err(error) = play.act() {
                let file = std::env::temp_dir().join(format!("play-{seed}.toml"));
                let played = play.ask(&json!({ "do": "export", "what": "toml" }))?;
                std::fs::write(&file, played["text"].as_str().unwrap_or_default())?;
                return Err(format!("seed {seed}, action {actions}: {error}; saved as {}", file.display()).into());
            }
            actions += 1;
            if actions % ROUND == 0 {
                play.ask(&json!({ "do": "restart" }))?;
            }
        }
        play.ms.sort_by(f64::total_cmp);
        let at = |share: f64| play.ms[((play.ms.len() - 1) as f64 * share) as usize];
        println!(
            "seed {seed}: {actions} actions, {} steps; ms per step: median {:.1}, 90 % {:.1}, 99 % {:.1}, longest {:.1}",
            play.ms.len(),
            at(0.5),
            at(0.9),
            at(0.99),
            at(1.0)
        );
        for Long { ms, time, bodies, after, stages } in &play.longest {
            println!("  {ms:.0} ms at {time:.3} s, {bodies} bodies, after {after}: {stages}");
        }
    }
    Ok(())
}
