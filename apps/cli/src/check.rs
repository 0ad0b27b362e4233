//! `ripstop check`

use crate::{End, say};
use anyhow::Result;
use ripstop::Simulation;
use ripstop::body::Drive;
use ripstop::yarn::{By, Sliding, Woven};
use ripstop_scene::variant::{Part, Parts};
use std::path::PathBuf;

/// Arguments of `ripstop check`.
#[derive(clap::Args)]
pub struct Args {
    /// Scene files
    #[arg(required = true, value_name = "SCENE")]
    scenes: Vec<PathBuf>,
}

/// Loads every scene and says what it would do.
pub fn check(args: &Args) -> Result<End> {
    for path in &args.scenes {
        for part in &Parts::read(path)?.parts {
            check_part(part)?;
        }
    }
    Ok(End::Done)
}

fn check_part(part: &Part) -> Result<()> {
    let (scene, built) = part.build()?;
    let engine = &built.engine;
    let variant = part.name.as_ref().map_or(String::new(), |name| format!(" ({name})"));
    say(format!("{}{variant}: {}", part.path().display(), scene.title));
    if let Some(weaving) = engine.woven() {
        check_woven(&weaving.woven);
    }
    if let Some(simulation) = engine.sheet() {
        check_sheet(simulation);
    }
    for body in engine.bodies().iter() {
        let moves = match &body.drive {
            Drive::Fixed => "fixed".into(),
            Drive::Scripted(keys) => format!("moves by {} keyframes", keys.len()),
            Drive::Free { mass, .. } => format!("free, {mass} kg"),
        };
        let ties = if body.ties.is_empty() { String::new() } else { format!(", holds {} nodes", body.ties.len()) };
        let (shape, faces) = (body.shape.name(), body.surface.triangles.len());
        say(format!("  body `{}`: {shape} of {faces} triangles, {moves}{ties}", body.name));
    }
    if let Some(simulation) = engine.sheet() {
        check_tearing(simulation);
    }
    let stable = Some(engine.stable_step()).filter(|step| step.is_finite());
    say(format!(
        "  {} frames of {} steps of {:.3e} s (stable up to {})",
        built.frame_count + 1,
        built.steps_per_frame,
        engine.step_length(),
        stable.map_or("any".into(), |step| format!("about {step:.1e} s"))
    ));
    for warning in &built.warnings {
        say(format!("  warning: {warning}"));
    }
    Ok(())
}

fn held(name: &str, count: usize, keys: &[ripstop::Key], release: Option<f64>) {
    let moves = if keys.is_empty() { "holds".into() } else { format!("moves by {} keyframes", keys.len()) };
    let release = release.map_or(String::new(), |t| format!(", lets go at {t} s"));
    say(format!("  grip `{name}`: {count} nodes, {moves}{release}"));
}

fn check_woven(woven: &Woven) {
    let spec = woven.spec();
    let size = [spec.warps, spec.wefts].map(|count| (count - 1) as f64 * spec.spacing);
    say(format!(
        "  cloth: {} warps and {} wefts woven, {:.1} × {:.1} cm; a yarn breaks at {:.2e} N",
        spec.warps,
        spec.wefts,
        100.0 * size[0],
        100.0 * size[1],
        spec.breaking_force()
    ));
    if let Sliding::Friction { force } = spec.sliding {
        say(format!("  yarns stick with {force:.2e} N per crossing, a {:.0}th of it", spec.breaking_force() / force));
    }
    for hold in woven.holds() {
        if let By::Keys(keys) = &hold.by {
            held(&hold.name, hold.crossings().count(), keys, hold.release);
        }
    }
}

fn check_sheet(simulation: &Simulation) {
    let mesh = &simulation.cloth().mesh;
    say(format!(
        "  cloth: {} nodes, {} edges, {} faces, {:.3} m²",
        mesh.node_count(),
        mesh.edge_count(),
        mesh.face_count(),
        mesh.area()
    ));
    for grip in simulation.grips() {
        held(&grip.name, grip.nodes().count(), &grip.keys, grip.release);
    }
}

fn check_tearing(simulation: &Simulation) {
    if let Some(tearing) = simulation.tears_by() {
        say(format!("  tears by {}, opens by {}", tearing.criterion.name(), tearing.opening.name()));
    }
    let seams = &simulation.cloth().seams;
    for (i, seam) in seams.iter().enumerate() {
        let stitches = seams.stitches().filter(|(_, stitch)| stitch.seam as usize == i).count();
        let strength = seam.strength.map(|f| format!("gives way at {f} of the cloth's strength"));
        let opens = seam.opens_at.map(|t| format!("opens at {t} s"));
        let unpick = seam.unpick.map(|u| format!("is unpicked from {} s to {} s", u.from, u.to));
        let when: Vec<String> = [strength, opens, unpick].into_iter().flatten().collect();
        say(format!("  seam `{}`: {stitches} stitches, {}", seam.name, when.join(", ")));
    }
}
