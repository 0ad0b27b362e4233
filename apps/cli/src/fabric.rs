//! `ripstop fabric`

use crate::{End, say};
use anyhow::{Context, Result, bail};
use ripstop::Fabric;
use ripstop::fabric::ElasticityKind;
use ripstop_render::plot::{Labels, Series, lines};
use ripstop_scene::fabric::{KnownFabric, import, named, names, read, write};
use ripstop_scene::whole::write_whole;
use std::path::{Path, PathBuf};

/// Arguments of `ripstop fabric`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List the fabrics there are
    List,
    /// Say everything about a fabric, and how far it stretches under load
    Show {
        /// Name of a fabric, or a fabric file
        #[arg(value_name = "NAME-or-FILE")]
        fabric: String,
        /// Draw load against stretch into this SVG file
        #[arg(short, long, value_name = "SVG")]
        output: Option<PathBuf>,
    },
    /// Turn measurements (JSON with `density`, `stretching` 6 × 4, `bending` 3 × 5) into a fabric file
    Import {
        /// The measurements
        file: PathBuf,
        /// The fabric file; printed if left out
        #[arg(short, long, value_name = "TOML")]
        output: Option<PathBuf>,
    },
}

/// Angles of strips to the weft [degrees].
const STRIPS: [f64; 3] = [0.0, 45.0, 90.0];

/// Lists, shows or imports.
pub fn fabric(args: &Args) -> Result<End> {
    match &args.command {
        Command::List => list()?,
        Command::Show { fabric, output } => show(&find(fabric)?, output.as_deref())?,
        Command::Import { file, output } => {
            let known = import(file)?;
            match output {
                None => say(write(&known).trim_end()),
                Some(path) => {
                    save(path, &write(&known))?;
                    say(format!("{}: written; use it with `file` in [fabric] of a scene", path.display()));
                }
            }
            if let Some(note) = notes(&known.fabric) {
                eprintln!("note: {note}");
            }
        }
    }
    Ok(End::Done)
}

fn save(path: &Path, text: &str) -> Result<()> {
    write_whole(path, text.as_bytes())
        .with_context(|| format!("{}: can't be written\n       name a file in a folder that is there", path.display()))
}

/// A name, or else a file.
pub(crate) fn find(fabric: &str) -> Result<KnownFabric> {
    let path = Path::new(fabric);
    let by_name = named(fabric);
    if by_name.is_err() && (path.exists() || path.extension().is_some()) {
        return Ok(read(path)?);
    }
    match by_name {
        Ok(known) => Ok(known),
        Err((cause, advice)) => bail!("{cause}\n       {advice}"),
    }
}

/// What a reader of the figures should know.
fn notes(fabric: &Fabric) -> Option<String> {
    let Some(ElasticityKind::Measured(measured)) = fabric.elasticity else { return None };
    let raised: Vec<&str> = measured.raised().collect();
    (!raised.is_empty()).then(|| {
        format!("c33 or c12 is below zero in the rows of {}, where it can't be, and counts as zero", raised.join(", "))
    })
}

fn list() -> Result<()> {
    say(format!(
        "{:15} {:>5}  {:>11}  {:>9}  {:>15}  {}",
        "name", "g/m²", "10 N/m [%]", "bend", "strength", "what it is"
    ));
    say(format!("{:15} {:>5}  {:>11}  {:>9}  {:>15}", "", "", "weft warp", "µN·m", "weft warp kN/m"));
    for name in names() {
        let KnownFabric { title, fabric, .. } = find(name)?;
        let percent = |degrees: f64| 100.0 * fabric.stretch_under(degrees.to_radians(), 10.0);
        let strength = fabric.strength.map_or("-".into(), |s| format!("{:.1} {:.1}", 1e-3 * s.weft, 1e-3 * s.warp));
        say(format!(
            "{name:15} {:5.0}  {:>11}  {:9.1}  {strength:>15}  {title}",
            1e3 * fabric.density,
            format!("{:.2} {:.2}", percent(0.0), percent(90.0)),
            1e6 * fabric.bend,
        ));
    }
    Ok(())
}

fn show(known: &KnownFabric, plot: Option<&Path>) -> Result<()> {
    let KnownFabric { title, fabric, sources, .. } = known;
    say(title);
    let source = |key: &str| sources.get(key).map_or("no source given", String::as_str);
    for (key, value, unit) in [
        ("density", fabric.density, "kg/m²"),
        ("stretch", fabric.stretch, "N/m"),
        ("shear", fabric.shear, "N/m"),
        ("bend", fabric.bend, "N·m"),
        ("damping", fabric.damping, "s"),
        ("thickness", fabric.thickness, "m"),
        ("friction", fabric.friction, ""),
        ("cut_resistance", fabric.cut_resistance, "N/m"),
    ] {
        // What no source speaks of is the program's own default.
        let from = if sources.contains_key(key) { source(key) } else { "the default" };
        say(format!("  {key:14} {:>10} {unit:6} {from}", short(value)));
    }
    let law = fabric.law();
    say(format!(
        "  elasticity, {} [N/m]: {}",
        law.name(),
        if fabric.elasticity.is_some() { source("elasticity") } else { "as stretch and shear say" }
    ));
    say(format!("    {:8}{:>10}{:>10}{:>10}{:>10}", "", "c11", "c12", "c22", "c33"));
    let row =
        |name: &str, c: [f64; 4]| say(format!("    {name:8}{:>10.2}{:>10.2}{:>10.2}{:>10.2}", c[0], c[1], c[2], c[3]));
    match law {
        ElasticityKind::Measured(measured) => {
            ripstop::potential::ROWS.iter().zip(measured.matrices).for_each(|(name, c)| row(name, c));
            say(format!("    all but the first at a strain of {}", measured.strain));
        }
        _ => {
            let c = law.at_rest();
            row("", [c.weft, c.across, c.warp, c.shear]);
        }
    }
    if let Some(bending) = &fabric.bending {
        say(format!("  bending [µN·m] by curvature [1/m]: {}", source("bending")));
        let line = |name: &str, numbers: [f64; 5]| {
            say(format!("    {name:8}{}", numbers.map(|x| format!("{x:>10.2}")).concat()));
        };
        line("", bending.curvatures);
        ["weft", "bias", "warp"].iter().zip(bending.stiffness).for_each(|(name, b)| line(name, b.map(|b| 1e6 * b)));
    }
    if let Some(strength) = &fabric.strength {
        let bias = strength.bias.map_or(String::new(), |bias| format!(", bias {bias}"));
        say(format!("  strength [N/m]: weft {}, warp {}{bias}: {}", strength.weft, strength.warp, source("strength")));
    }
    if let Some(toughness) = &fabric.toughness {
        let grid = toughness.grid.map_or(String::new(), |g| {
            format!(", {} times that in yarns of {:.1} mm every {:.1} mm", g.factor, 1e3 * g.width, 1e3 * g.spacing)
        });
        let (weft, warp) = (toughness.weft, toughness.warp);
        say(format!("  toughness [N]: weft {weft}, warp {warp}{grid}: {}", source("toughness")));
    }
    for (test, reference) in &known.tests {
        let ripstop_scene::fabric::Reference { warp, weft, elongation, source } = reference;
        let longer =
            elongation.map_or(String::new(), |[a, b]| format!(", {:.0} and {:.0} % longer", 100.0 * a, 100.0 * b));
        say(format!("  measured, {test}: warp {warp} N, weft {weft} N{longer}: {source}"));
    }
    if let Some(note) = notes(fabric) {
        say(format!("  note: {note}"));
    }
    curves(fabric);
    if let Some(path) = plot {
        save(path, &draw(title, fabric)?)?;
        say(format!("  drawn: {}", path.display()));
    }
    Ok(())
}

/// Three digits.
fn short(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-2 { format!("{value:.2e}") } else { format!("{value:.3}") }
}

/// Load on strips by their stretch, as a table with bars.
fn curves(fabric: &Fabric) {
    say("  load [N/m] on strips cut at an angle to the weft, by stretch [%]:");
    say(format!("    {:>4}{}", "%", STRIPS.map(|a| format!("{:>10}", format!("{a}°"))).concat()));
    let largest = STRIPS.map(|a| fabric.load(a.to_radians(), 0.2)).into_iter().fold(f64::MIN_POSITIVE, f64::max);
    for percent in [1.0, 2.0, 5.0, 10.0, 15.0, 20.0] {
        let loads = STRIPS.map(|a| fabric.load(a.to_radians(), 0.01 * percent));
        // The bar reaches to the strip that pulls most; letters stand where the others are.
        let at = |load: f64| ((40.0 * load / largest).round().max(0.0) as usize).min(40);
        let mut bar = vec![' '; 41];
        bar.iter_mut().take(loads.map(at).into_iter().max().unwrap_or(0)).for_each(|c| *c = '·');
        loads.iter().zip(['0', '4', '9']).for_each(|(load, mark)| bar[at(*load)] = mark);
        let bar: String = bar.into_iter().collect();
        say(format!("    {percent:>4}{}  {}", loads.map(|load| format!("{load:>10.2}")).concat(), bar.trim_end()));
    }
}

fn draw(title: &str, fabric: &Fabric) -> Result<String> {
    let series = STRIPS.map(|degrees| Series {
        name: format!("{degrees}° to the weft"),
        points: (0..=100)
            .map(|k| (0.2 * f64::from(k), fabric.load(degrees.to_radians(), 2e-3 * f64::from(k))))
            .collect(),
    });
    let labels = Labels { title: title.into(), x: "stretch [%]".into(), y: "load [N/m]".into() };
    Ok(lines(&labels, &series)?)
}
