//! State hashes of scenes after some steps, to be compared with those of the page: `cargo run -p ripstop-web --example hash -- 200 SCENE…` prints JSON; with
//! `variant` after a scene's name and `#`, that variant of it.

use ripstop_scene::variant::Parts;
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let steps: u64 = words.next().ok_or("how many steps?")?.parse()?;
    let mut rows = Vec::new();
    for word in words {
        let (scene, variant) = word.split_once('#').map_or((&*word, None), |(scene, variant)| (scene, Some(variant)));
        let parts = Parts::read(std::path::Path::new(scene))?.parts;
        let part = parts.iter().find(|part| variant.is_none() || part.name.as_deref() == variant);
        let (_, mut built) = part.ok_or("there is no such variant")?.build()?;
        let start = Instant::now();
        for _ in 0..steps {
            built.engine.step(&mut ())?;
        }
        let step_ms = start.elapsed().as_secs_f64() * 1e3 / steps as f64;
        let hash = format!("{:016x}", built.engine.state_hash());
        rows.push(
            serde_json::json!({ "scene": scene, "variant": variant, "steps": steps, "hash": hash, "step_ms": step_ms }),
        );
    }
    println!("{}", serde_json::to_string_pretty(&rows)?);
    Ok(())
}
