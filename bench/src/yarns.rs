//! Woven cloth pulled apart by two corners (Metaaphanon 2009, Fig. 6): time per frame against crossings (Fig. 10a), and over the sequence for two levels and for
//! yarns alone (Fig. 10b).
//!
//! All sizes have the same sequence: what yarns bear of the cloth's weight grows with its width, so at 240 × 120 corners would tear off before they are pulled. Gravity goes down and times go up with the width, counted from 80 warps;
//! then loads of yarns by weight and by motion are those of 80 × 40, and speeds are too.

use anyhow::{Context, Result};
use ripstop::Vec3;
use ripstop::body::Bodies;
use ripstop::cloth::Placement;
use ripstop::grip::Key;
use ripstop::yarn::{By, Spec, Woven};
use ripstop_render::plot::{self, Labels, Series};
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

/// One sequence.
#[derive(Serialize)]
struct Row {
    warps: usize,
    wefts: usize,
    threads: usize,
    all_yarn: bool,
    /// Of the strengths of yarns.
    seed: u64,
    /// Mean over the whole sequence [ms].
    ms_per_frame: f64,
    /// Mean before the first cut [ms].
    before: f64,
    /// Of every frame [ms].
    frames: Vec<f64>,
    cuts: u64,
    couples: usize,
}

const FRAMES: usize = 80;
const PER_FRAME: u32 = 8;

/// Warps of the cloth that has so many frames and full gravity.
const WARPS: usize = 80;

/// A cloth whose upper corners are drawn apart by 1.2 of its width, at 80 warps from 0.2 to 2.2 s.
fn cloth(warps: usize, wefts: usize, all_yarn: bool, seed: u64) -> Result<Woven> {
    let mut spec = Spec::muslin(warps, wefts);
    spec.seed = seed;
    spec.stretch = 24.0;
    spec = spec.with_break_over_friction(20.0);
    spec.all_yarn = all_yarn;
    let longer = warps as f64 / WARPS as f64;
    spec.gravity /= longer;
    let reach = 0.6 * (warps - 1) as f64 * spec.spacing;
    let mut cloth = Woven::new(spec, Placement::default())?;
    let grip = (warps.min(wefts) / 4).max(2);
    for (name, from, way) in [("left", 0, -reach), ("right", warps - grip, reach)] {
        let all = (wefts - grip..wefts).flat_map(|j| (from..from + grip).map(move |i| (i, j)));
        let crossings: Vec<usize> = all.map(|(i, j)| cloth.crossing(i, j)).collect();
        let key = |time, x| Key { time, shift: Vec3::X * x, turn: Vec3::ZERO };
        cloth.hold(
            name,
            &crossings,
            By::Keys(vec![key(0.2 * longer, 0.0), key(2.2 * longer, way)]),
            None,
            &Bodies::default(),
        );
    }
    Ok(cloth)
}

fn row([warps, wefts]: [usize; 2], threads: usize, all_yarn: bool, seed: u64) -> Result<Row> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let mut cloth = cloth(warps, wefts, all_yarn, seed)?;
    let mut none = Bodies::default();
    let (mut frames, mut whole) = (Vec::new(), 0);
    for _ in 0..FRAMES * warps / WARPS {
        let start = Instant::now();
        pool.install(|| (0..PER_FRAME).try_for_each(|_| cloth.step(&mut none)))?;
        frames.push(1e3 * start.elapsed().as_secs_f64());
        whole += usize::from(cloth.cut_count() == 0);
    }
    let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len().max(1) as f64;
    let row = Row {
        warps,
        wefts,
        threads,
        all_yarn,
        seed,
        ms_per_frame: mean(&frames),
        before: mean(&frames[..whole]),
        cuts: cloth.cut_count(),
        couples: cloth.counts().couples,
        frames,
    };
    println!(
        "| {} × {} | {} | {} | {} | {:.1} | {:.1} | {} |",
        row.warps,
        row.wefts,
        row.seed,
        row.threads,
        if all_yarn { "all yarn" } else { "two levels" },
        row.ms_per_frame,
        row.before,
        row.cuts
    );
    Ok(row)
}

/// Runs all of it.
pub fn run(sizes: &[u32], threads: &[u16], seeds: u16, all: u32, output: &Path) -> Result<()> {
    std::fs::create_dir_all(output).with_context(|| format!("{}", output.display()))?;
    println!(
        "| yarns | seed | threads | model | ms per frame | before the first cut | cuts |\n|---|---|---|---|---|---|---|"
    );
    let mut rows = Vec::new();
    for &count in threads {
        for seed in 1..=u64::from(seeds) {
            for &warps in sizes {
                rows.push(row([warps as usize, warps as usize / 2], count.into(), false, seed)?);
            }
            // The paper's square has its time too; another shape tears otherwise, so it isn't on the line.
            rows.push(row([64, 64], count.into(), false, seed)?);
        }
    }
    type Of = fn(&Row) -> f64;
    let mean = |count: u16, [warps, wefts]: [usize; 2], of: Of| {
        let same = |row: &&Row| row.threads == usize::from(count) && [row.warps, row.wefts] == [warps, wefts];
        rows.iter().filter(same).map(of).sum::<f64>() / f64::from(seeds)
    };
    // How a sequence tears is chance, and cloth in folds costs more: the mean over the seeds.
    let points = |count: u16, of: Of| -> Vec<(f64, f64)> {
        let point = |&warps: &u32| {
            let size = [warps as usize, warps as usize / 2];
            ((size[0] * size[1]) as f64, mean(count, size, of))
        };
        sizes.iter().map(point).collect()
    };
    println!("\nmean over {seeds} seeds\n| yarns | threads | ms per frame | before the first cut |\n|---|---|---|---|");
    for &count in threads {
        let sizes = sizes.iter().map(|&warps| [warps as usize, warps as usize / 2]).chain([[64, 64]]);
        for [warps, wefts] in sizes {
            let of = |of: Of| mean(count, [warps, wefts], of);
            let (all, before) = (of(|row| row.ms_per_frame), of(|row| row.before));
            println!("| {warps} × {wefts} | {count} | {all:.1} | {before:.1} |");
        }
    }
    for &count in threads {
        let both: [(&str, Of); 2] = [("all of it", |row| row.ms_per_frame), ("before the first cut", |row| row.before)];
        for (name, of) in both {
            let (slope, fit) = line(&points(count, of));
            println!("{count} threads, {name}: {:.2} µs per crossing and frame, R² = {fit:.4}", 1e3 * slope);
        }
    }
    let points = points(threads[0], |row| row.ms_per_frame);
    let write = |name: &str, text: &str| {
        let path = output.join(name);
        std::fs::write(&path, text).with_context(|| format!("{}", path.display()))
    };
    let labels = |title: &str, x: &str| Labels { title: title.into(), x: x.into(), y: "ms per frame".into() };
    let scaling = Series { name: "two levels".into(), points };
    write("yarns-scaling.svg", &plot::lines(&labels("Time against crossings", "crossings"), &[scaling])?)?;
    if all > 0 {
        let both = [false, true].map(|all_yarn| row([all as usize, all as usize / 2], threads[0].into(), all_yarn, 1));
        let [two, yarns] = both;
        let (two, yarns) = (two?, yarns?);
        println!(
            "\ntwo levels {:.2} × faster before the first cut, {:.2} × over all",
            yarns.before / two.before,
            yarns.ms_per_frame / two.ms_per_frame
        );
        let series = |name: &str, row: &Row| Series {
            name: name.into(),
            points: row.frames.iter().enumerate().map(|(k, ms)| (k as f64, *ms)).collect(),
        };
        let series = [series("two levels", &two), series("all yarn", &yarns)];
        write("yarns-levels.svg", &plot::lines(&labels("Two levels against yarns alone", "frame"), &series)?)?;
        rows.extend([two, yarns]);
    }
    write("yarns.json", &serde_json::to_string_pretty(&rows)?)
}

/// Slope of the straight line through points, and the share of variance that it explains.
fn line(points: &[(f64, f64)]) -> (f64, f64) {
    let n = points.len() as f64;
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (mx, my) = (mean(&|p| p.0), mean(&|p| p.1));
    let (xx, yy) = (mean(&|p| (p.0 - mx) * (p.0 - mx)), mean(&|p| (p.1 - my) * (p.1 - my)));
    let xy = mean(&|p| (p.0 - mx) * (p.1 - my));
    (xy / xx, xy * xy / (xx * yy))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_straight_line_is_told_from_a_bent_one() {
        let straight: Vec<_> = (1..7).map(|x| (f64::from(x), 3.0 * f64::from(x) + 1.0)).collect();
        let (slope, fit) = super::line(&straight);
        assert!((slope - 3.0).abs() < 1e-12 && (fit - 1.0).abs() < 1e-12);
        let bent: Vec<_> = (1..7).map(|x| (f64::from(x), f64::from(x * x * x))).collect();
        assert!(super::line(&bent).1 < 0.95);
    }
}
