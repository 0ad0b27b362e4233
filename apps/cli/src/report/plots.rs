//! The plots of a report, from `stats.csv` and `summary.json`.

use super::stats::Stats;
use ripstop_render::RenderError;
use ripstop_render::plot::{Labels, Series, lines, rose};
use ripstop_scene::Summary;

/// A grip that moves less than this [m] has no curve over its travel.
const MOVES: f64 = 1e-6;

/// All plots there is something to show in, as SVG.
pub fn plots(stats: &Stats, summary: &Summary) -> Result<Vec<String>, RenderError> {
    let labels = |title: &str, x: &str, y: &str| Labels { title: title.into(), x: x.into(), y: y.into() };
    let over_time = |name: &str, column: &str| Series { name: name.into(), points: stats.points("time", column) };
    let energies: Vec<Series> = stats
        .names("energy_", "")
        .iter()
        .map(|name| since_start(over_time(name, &format!("energy_{name}"))))
        // What is nothing all along says nothing.
        .filter(|s| s.points.iter().any(|p| p.1 != 0.0))
        .collect();
    let mut strain = over_time("", "largest_strain");
    strain.points.iter_mut().for_each(|p| p.1 *= 100.0);
    let mut all = vec![
        lines(&labels("Energies", "time [s]", "energy [J]"), &energies)?,
        lines(&labels("Largest strain of an edge", "time [s]", "strain [%]"), &[strain])?,
        lines(&labels("Torn edges", "time [s]", "edges"), &[over_time("", "tears")])?,
    ];
    let grips = stats.names("load_", "_x");
    let against = |name: &String, column: &str| {
        let x = stats.column(column).iter().copied();
        Series { name: name.replace('_', " "), points: x.zip(stats.load(name)).collect() }
    };
    let moving: Vec<Series> = grips
        .iter()
        .map(|grip| against(grip, &format!("travel_{grip}")))
        .filter(|s| s.points.iter().any(|p| p.0 > MOVES))
        .collect();
    if !moving.is_empty() {
        all.push(lines(&labels("Load on grips against their travel", "travel [m]", "load [N]"), &moving)?);
    }
    if !grips.is_empty() {
        let loads: Vec<Series> = grips.iter().map(|grip| against(grip, "time")).collect();
        all.push(lines(&labels("Load on grips over time", "time [s]", "load [N]"), &loads)?);
    }
    if summary.torn_length > 0.0 {
        all.push(rose(&labels("Direction of the torn length", "torn length [m]", ""), &summary.torn_histogram)?);
    }
    Ok(all)
}

/// Energy of height has no zero of its own, and would dwarf the others: its change since the start is shown.
fn since_start(mut series: Series) -> Series {
    if series.name == "gravity" {
        let start = series.points.first().map_or(0.0, |p| p.1);
        series.points.iter_mut().for_each(|p| p.1 -= start);
        series.name += " (change)";
    }
    series
}
