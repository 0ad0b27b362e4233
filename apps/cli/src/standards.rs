//! `ripstop standards`

use crate::fabric::find;
use crate::{End, say};
use anyhow::{Context, Result};
use ripstop_render::plot::{self, Labels, Series};
use ripstop_scene::curve::{LoadCurve, Reading};
use ripstop_scene::fabric::{KnownFabric, names};
use ripstop_scene::run::Options;
use ripstop_scene::standards::{ALL, STRIP_LENGTH, Standard};
use ripstop_scene::whole::write_whole;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

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

/// One test in one direction.
struct Job {
    standard: &'static Standard,
    warp: bool,
    /// Which yarns break, in words.
    breaks: &'static str,
}

/// What all tests share.
struct Laboratory {
    known: KnownFabric,
    /// The fabric as scenes name it, and as files do.
    fabric: String,
    stem: String,
    output: PathBuf,
}

/// Lines of the table, printed in its order as soon as those before them are.
#[derive(Default)]
struct Rows {
    printed: usize,
    waiting: BTreeMap<usize, Vec<String>>,
}

impl Rows {
    fn add(&mut self, place: usize, lines: Vec<String>) {
        self.waiting.insert(place, lines);
        while let Some(lines) = self.waiting.remove(&self.printed) {
            lines.iter().for_each(say);
            self.printed += 1;
        }
    }
}

/// Runs the tests, as many at once as there are threads, and prints the table.
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
    // A fabric that is the same in both directions is pulled in one.
    let same = known.fabric.turned() == known.fabric && known.tests.values().all(|test| test.warp == test.weft);
    let directions: &[_] = if same { &[(true, "both")] } else { &[(true, "warp"), (false, "weft")] };
    let jobs = ALL.iter().flat_map(|standard| directions.iter().map(move |direction| (standard, direction)));
    let jobs: Vec<Job> = jobs.map(|(standard, &(warp, breaks))| Job { standard, warp, breaks }).collect();
    let laboratory = Laboratory { known, fabric, stem, output };
    say(&laboratory.known.title);
    say(format!(
        "  {:9} {:12} {:>6} {:>10} {:>10} {:>7}",
        "test", "standard", "breaks", "load [N]", "reference", "off"
    ));
    let (next, rows) = (AtomicUsize::new(0), Mutex::new(Rows::default()));
    // Specimens are small: a thread for each gets more done than all threads for one after the other.
    let work = || -> Result<()> {
        let pool = crate::threads(Some(1))?;
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(place) else { return Ok(()) };
            let lines = pool.install(|| laboratory.test(job));
            // What fails ends the table.
            let lines = lines.inspect_err(|_| next.store(jobs.len(), Ordering::Relaxed))?;
            rows.lock().expect("no line panics").add(place, lines);
        }
    };
    let threads = args.threads.map_or_else(rayon::current_num_threads, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(jobs.len())).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no test panics"))
    })?;
    say(format!("curves and runs: {}", laboratory.output.display()));
    Ok(End::Done)
}

impl Laboratory {
    /// Runs one test, draws its curve, and returns its lines of the table.
    fn test(&self, &Job { standard, warp, breaks }: &Job) -> Result<Vec<String>> {
        let name = format!("{}-{breaks}", standard.name);
        let part = standard.part(&self.fabric, warp)?;
        let folder = self.output.join(&name);
        let options = Options {
            folder: folder.clone(),
            frames: None,
            resume: false,
            verify: false,
            formats: Vec::new(),
            checkpoint_every: 1000,
        };
        ripstop_scene::run::run(&part, &name, &options, &mut |_| {})?;
        let stats = folder.join("stats.csv");
        let text = std::fs::read_to_string(&stats).with_context(|| format!("{}: can't be read", stats.display()))?;
        let curve = LoadCurve::of_stats(&text, "jaw")
            .with_context(|| format!("{}: has no curve of the grip `jaw`", stats.display()))?;
        let load = curve.read(standard.reading);
        let reference = standard.expected(&self.known, warp);
        let column = |value: Option<f64>| value.map_or("-".into(), |v| format!("{v:.1}"));
        let off = reference.map_or("-".into(), |r| format!("{:+.0} %", 100.0 * (load / r - 1.0)));
        let mut lines = vec![format!(
            "  {:9} {:12} {breaks:>6} {:>10} {:>10} {off:>7}",
            standard.name,
            standard.by,
            column(Some(load)),
            column(reference)
        )];
        if standard.reading == Reading::Largest {
            let found = curve.read(Reading::TravelAtLargest) / STRIP_LENGTH;
            let measured = self.known.tests.get(standard.name).and_then(|test| test.elongation);
            let measured = measured.map(|both| both[usize::from(!warp)]);
            let beside = measured.map_or(String::new(), |m| format!(", reference {:.1} %", 100.0 * m));
            lines.push(format!("  {:9} {:12} {:>6} elongation {:.1} %{beside}", "", "", "", 100.0 * found));
        } else {
            let mean = curve.read(Reading::Mean);
            let off = reference.map_or(String::new(), |r| format!(", {:+.0} %", 100.0 * (mean / r - 1.0)));
            lines.push(format!("  {:9} {:12} {:>6} mean load {mean:.1} N{off}", "", "", ""));
        }
        let end = curve.points.last().map_or(0.0, |p| p.0);
        let mut series = vec![Series { name: "simulated".into(), points: millimetres(&curve.points) }];
        if let Some(reference) = reference {
            let points = millimetres(&[(0.0, reference), (end, reference)]);
            series.push(Series { name: "reference".into(), points });
        }
        let title = format!("{}, {}, {breaks}", self.stem, standard.by);
        let labels = Labels { title, x: "travel [mm]".into(), y: "load [N]".into() };
        let file = self.output.join(format!("{name}.svg"));
        write_whole(&file, plot::lines(&labels, &series)?.as_bytes())
            .with_context(|| format!("{}: can't be written\n       choose another folder with -o", file.display()))?;
        Ok(lines)
    }
}

fn millimetres(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    points.iter().map(|(travel, load)| (1e3 * travel, *load)).collect()
}
