//! `ripstop check`

use crate::{End, say};
use anyhow::Result;
use ripstop::body::Drive;
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
    let simulation = &built.simulation;
    let mesh = &simulation.cloth().mesh;
    let variant = part.name.as_ref().map_or(String::new(), |name| format!(" ({name})"));
    say(format!("{}{variant}: {}", part.path().display(), scene.title));
    say(format!(
        "  cloth: {} nodes, {} edges, {} faces, {:.3} m²",
        mesh.node_count(),
        mesh.edge_count(),
        mesh.face_count(),
        mesh.area()
    ));
    for grip in simulation.grips() {
        let moves =
            if grip.keys.is_empty() { "holds".into() } else { format!("moves by {} keyframes", grip.keys.len()) };
        let release = grip.release.map_or(String::new(), |t| format!(", lets go at {t} s"));
        say(format!("  grip `{}`: {} nodes, {moves}{release}", grip.name, grip.nodes().count()));
    }
    for body in built.simulation.bodies().iter() {
        let moves = match &body.drive {
            Drive::Fixed => "fixed".into(),
            Drive::Scripted(keys) => format!("moves by {} keyframes", keys.len()),
            Drive::Free { mass, .. } => format!("free, {mass} kg"),
        };
        let ties = if body.ties.is_empty() { String::new() } else { format!(", holds {} nodes", body.ties.len()) };
        let (shape, faces) = (body.shape.name(), body.surface.triangles.len());
        say(format!("  body `{}`: {shape} of {faces} triangles, {moves}{ties}", body.name));
    }
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
    say(format!(
        "  {} frames of {} steps of {:.3e} s (stable up to about {:.1e} s)",
        built.frame_count + 1,
        built.steps_per_frame,
        simulation.step_length(),
        simulation.stable_step()
    ));
    for warning in &built.warnings {
        say(format!("  warning: {warning}"));
    }
    Ok(())
}
