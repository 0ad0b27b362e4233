//! `ripstop standards`

use crate::fabric::find;
use crate::{End, say};
use anyhow::{Context, Result};
use ripstop_render::plot::{Labels, Series, lines};
use ripstop_scene::curve::{LoadCurve, Reading};
use ripstop_scene::fabric::names;
use ripstop_scene::run::Options;
use ripstop_scene::standards::{ALL, STRIP_LENGTH};
use ripstop_scene::whole::write_whole;
use std::path::PathBuf;

/// Arguments of `ripstop standards`.
#[derive(clap::Args)]
pub struct Args {
    /// Name of a fabric, or a fabric file; it must have `strength` and `toughness`
    #[arg(value_name = "FABRIC")]
    fabric: String,
    /// Folder for runs and plots [default: out/standards/<fabric>]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Threads to use [default: all cores]; the results don't depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

/// Runs the tests one after the other and prints the table.
pub fn standards(args: &Args) -> Result<End> {
    let known = find(&args.fabric)?;
    let path = PathBuf::from(&args.fabric);
    let (fabric, stem) = if names().any(|name| name == args.fabric) {
        (args.fabric.clone(), args.fabric.clone())
    } else {
        let whole = std::path::absolute(&path)?;
        let stem = path.file_stem().map_or("fabric".into(), |stem| stem.to_string_lossy().into_owned());
        (whole.to_string_lossy().into_owned(), stem)
    };
    let output = args.output.clone().unwrap_or_else(|| ["out", "standards", &stem].iter().collect());
    let pool = crate::threads(args.threads)?;
    say(&known.title);
    say(format!(
        "  {:9} {:12} {:>6} {:>10} {:>10} {:>7}",
        "test", "standard", "breaks", "load [N]", "reference", "off"
    ));
    for standard in &ALL {
        for warp in [true, false] {
            let breaks = if warp { "warp" } else { "weft" };
            let name = format!("{}-{breaks}", standard.name);
            let part = standard.part(&fabric, warp)?;
            let folder = output.join(&name);
            let options = Options {
                folder: folder.clone(),
                frames: None,
                resume: false,
                formats: Vec::new(),
                checkpoint_every: 1000,
            };
            pool.install(|| ripstop_scene::run::run(&part, &name, &options, &mut |_| {}))?;
            let stats = folder.join("stats.csv");
            let text =
                std::fs::read_to_string(&stats).with_context(|| format!("{}: can't be read", stats.display()))?;
            let curve = LoadCurve::of_stats(&text, "jaw")
                .with_context(|| format!("{}: has no curve of the grip `jaw`", stats.display()))?;
            let load = curve.read(standard.reading);
            let reference = standard.expected(&known, warp);
            let column = |value: Option<f64>| value.map_or("-".into(), |v| format!("{v:.1}"));
            let off = reference.map_or("-".into(), |r| format!("{:+.0} %", 100.0 * (load / r - 1.0)));
            say(format!(
                "  {:9} {:12} {breaks:>6} {:>10} {:>10} {off:>7}",
                standard.name,
                standard.by,
                column(Some(load)),
                column(reference)
            ));
            if standard.reading != Reading::Largest {
                let mean = curve.read(Reading::Mean);
                let off = reference.map_or(String::new(), |r| format!(", {:+.0} %", 100.0 * (mean / r - 1.0)));
                say(format!("  {:9} {:12} {:>6} mean load {mean:.1} N{off}", "", "", ""));
            }
            if standard.reading == Reading::Largest {
                let found = curve.read(Reading::TravelAtLargest) / STRIP_LENGTH;
                let measured = known.tests.get(standard.name).and_then(|test| test.elongation);
                let measured = measured.map(|both| both[usize::from(!warp)]);
                let beside = measured.map_or(String::new(), |m| format!(", reference {:.1} %", 100.0 * m));
                say(format!("  {:9} {:12} {:>6} elongation {:.1} %{beside}", "", "", "", 100.0 * found));
            }
            let end = curve.points.last().map_or(0.0, |p| p.0);
            let mut series = vec![Series { name: "simulated".into(), points: millimetres(&curve.points) }];
            if let Some(reference) = reference {
                series.push(Series {
                    name: "reference".into(),
                    points: millimetres(&[(0.0, reference), (end, reference)]),
                });
            }
            let title = format!("{stem}, {}, {breaks}", standard.by);
            let labels = Labels { title, x: "travel [mm]".into(), y: "load [N]".into() };
            let plot = output.join(format!("{name}.svg"));
            write_whole(&plot, lines(&labels, &series)?.as_bytes()).with_context(|| {
                format!("{}: can't be written\n       choose another folder with -o", plot.display())
            })?;
        }
    }
    say(format!("curves and runs: {}", output.display()));
    Ok(End::Done)
}

fn millimetres(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    points.iter().map(|(travel, load)| (1e3 * travel, *load)).collect()
}
