//! Does the load at which cloth tears depend on the mesh? Specimens of a testing laboratory, torn with criterion `toughness` on meshes of several sizes and
//! kinds, and the same with `directional` for comparison.
//!
//! `cargo run --release -p ripstop --example toughness -- [slit|edge|pinned|trouser|strip|all] [implicit|xpbd] [toughness|directional] [sizes] [finer]`
//!
//! Sizes are in millimetres, like `4,2`; with another number after them meshes are made that fine where they tear.
//!
//! Prints for every mesh: the load at the first tear [N], the largest load [N], the mean load while tearing [N], the work of the grips less stored energy per torn length
//! [N], and how far the tear is off its line [mm].

mod specimen;

use specimen::{Specimen, run};

fn main() {
    let argument = |k: usize| std::env::args().nth(k).unwrap_or_default();
    let wanted = argument(1);
    let sizes: Vec<f64> = match argument(4).as_str() {
        "" => vec![4.0, 2.0, 1.0],
        list => list.split(',').map(|size| size.parse().expect("sizes in mm, like 4,2")).collect(),
    };
    let fine = argument(5).parse().map_or(f64::INFINITY, |mm: f64| mm * 1e-3);
    let all = [
        ("strip", Specimen::Strip),
        ("slit", Specimen::Slit),
        ("edge", Specimen::Edge),
        ("pinned", Specimen::Pinned),
        ("trouser", Specimen::Trouser),
    ];
    for (name, specimen) in all.into_iter().filter(|(name, _)| wanted == *name || wanted == "all" || wanted.is_empty())
    {
        println!(
            "{name}: size [mm], mesh, load at the first tear [N], largest load [N], mean load [N], work per length [N], off its line [mm], steps"
        );
        for &size in &sizes {
            let mut peaks = Vec::new();
            for (mesh, seed) in [("regular", 0), ("irregular 1", 1), ("irregular 2", 2)] {
                let run = run(specimen, (size * 1e-3, fine), seed, &argument(2), &argument(3));
                println!(
                    "  {size:4} {mesh:12} {:8.4} {:8.4} {:8.4} {:8.4} {:6.2} {:6}",
                    run.onset,
                    run.largest,
                    run.mean,
                    run.work,
                    1e3 * run.off,
                    run.steps
                );
                peaks.push(if specimen == Specimen::Trouser { run.mean } else { run.largest });
            }
            let mean = peaks.iter().sum::<f64>() / peaks.len() as f64;
            let spread =
                (peaks.iter().map(|p| (p / mean - 1.0) * (p / mean - 1.0)).sum::<f64>() / peaks.len() as f64).sqrt();
            println!("  {size:4} all          {mean:8.4}, variation {:.1} %", 100.0 * spread);
        }
    }
}
