//! `report.html`: one page about a run that stands on its own, with pictures, film, plots, expectations and settings.
//!
//! The page is well-formed XML, has no scripts and names no other file, but for a film too large to be carried along. Stills go
//! in as JPEG (a tenth of the size of the PNG beside it).

mod html;
mod plots;
mod stats;

use crate::pictures::{Drawn, FILM};
use anyhow::{Context, Result, anyhow};
use html::{data_uri, escaped};
use ripstop_scene::whole::write_whole;
use ripstop_scene::{Outcome, Summary, keep};
use stats::Stats;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Films up to this size are part of the page [bytes].
const CARRIED: u64 = 8 << 20;
/// JPEG quality of stills, at which the weave keeps its threads.
const JPEG: u8 = 88;

/// Writes the report of the run in `folder`.
pub fn write(folder: &Path, drawn: &Drawn) -> Result<PathBuf> {
    let read = |name: &str| {
        let path = folder.join(name);
        std::fs::read_to_string(&path)
            .map_err(|e| anyhow!("{}: can't be read: {e}\n       run the scene again to have a report", path.display()))
    };
    let summary: Summary = serde_json::from_str(&read("summary.json")?)
        .map_err(|e| anyhow!("{}: broken: {e}\n       run the scene again", folder.join("summary.json").display()))?;
    let stats = Stats::parse(&read("stats.csv")?).map_err(|cause| {
        anyhow!("{}: {cause}\n       run the scene again to replace it", folder.join("stats.csv").display())
    })?;
    let page = page(&summary, &stats, &read(keep::SCENE_FILE)?, drawn)?;
    let path = folder.join("report.html");
    write_whole(&path, page.as_bytes()).map_err(|e| {
        let again = format!("make room, then `ripstop render {}` makes it", folder.display());
        anyhow!("{}: can't be written: {e}\n       {again}; film and stills are there", path.display())
    })?;
    Ok(path)
}

fn page(summary: &Summary, stats: &Stats, scene: &str, drawn: &Drawn) -> Result<String> {
    let title = escaped(&summary.title);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <title>{}: {title}</title>\n<style>\n{}</style>\n</head>\n<body>\n<h1>{title}</h1>\n",
        escaped(&summary.scene),
        include_str!("page.css"),
    );
    writeln!(page, "<p>{}</p>", outcome(summary))?;
    film(&mut page, drawn)?;
    stills(&mut page, drawn)?;
    expectations(&mut page, &summary.expectations)?;
    page += "<h2>Course</h2>\n<div class=\"grid\">\n";
    for plot in plots::plots(stats, summary)? {
        writeln!(page, "<figure>{}</figure>", html::inline(&plot))?;
    }
    page += "</div>\n";
    figures(&mut page, summary)?;
    seconds(&mut page, summary, drawn)?;
    writeln!(page, "<h2>Settings</h2>\n<pre><code>{}</code></pre>", escaped(scene))?;
    page += "</body>\n</html>\n";
    Ok(page)
}

/// One sentence: what happened.
fn outcome(summary: &Summary) -> String {
    let met = summary.expectations.iter().filter(|o| o.met).count();
    let count = summary.expectations.len();
    let torn = match &summary.first_tear {
        Some(first) => {
            format!("{} edges torn from {:.2} s on, {:.2} m in all", summary.tears, first.time, summary.torn_length)
        }
        None => "Nothing torn".into(),
    };
    let pieces = if summary.end.pieces == 1 { "one piece".into() } else { format!("{} pieces", summary.end.pieces) };
    let promised = match (count, met == count) {
        (0, _) => "nothing was promised".into(),
        (_, true) => format!("<span class=\"met\">all {count} expectations met</span>"),
        _ => format!("<span class=\"unmet\">{met} of {count} expectations met</span>"),
    };
    format!("{torn}; {pieces} at the end; {promised}.")
}

fn film(page: &mut String, drawn: &Drawn) -> Result<()> {
    let Some(path) = &drawn.film else { return Ok(()) };
    let length = std::fs::metadata(path).with_context(|| format!("{}: film is gone", path.display()))?.len();
    let source = if length <= CARRIED {
        let bytes = std::fs::read(path).with_context(|| format!("{}: can't be read", path.display()))?;
        data_uri("video/mp4", &bytes)
    } else {
        FILM.into()
    };
    writeln!(
        page,
        "<figure><video controls=\"controls\" loop=\"loop\" muted=\"muted\" playsinline=\"playsinline\" src=\"{source}\"></video></figure>"
    )?;
    Ok(())
}

fn stills(page: &mut String, drawn: &Drawn) -> Result<()> {
    if drawn.stills.is_empty() {
        return Ok(());
    }
    *page += "<h2>Stills</h2>\n<div class=\"grid\">\n";
    for still in &drawn.stills {
        let open = || format!("{}: still can't be read", still.path.display());
        let picture = image::open(&still.path).with_context(open)?.to_rgb8();
        let mut jpeg = Vec::new();
        image::codecs::jpeg::JpegEncoder::new_with_quality(&mut jpeg, JPEG)
            .encode_image(&picture)
            .with_context(open)?;
        let (width, height) = picture.dimensions();
        let caption = format!("{:.2} s, frame {}", still.time, still.index);
        writeln!(
            page,
            "<figure><img alt=\"The cloth at {caption}\" width=\"{width}\" height=\"{height}\" src=\"{}\"/>\
             <figcaption>{caption}</figcaption></figure>",
            data_uri("image/jpeg", &jpeg)
        )?;
    }
    *page += "</div>\n";
    Ok(())
}

fn expectations(page: &mut String, outcomes: &[Outcome]) -> Result<()> {
    *page += "<h2>Expectations</h2>\n";
    if outcomes.is_empty() {
        *page += "<p>None: the scene promises nothing, or the run was cut short.</p>\n";
        return Ok(());
    }
    *page += "<div class=\"wide\"><table>\n<tr><th>what</th><th>expected</th><th class=\"number\">came out</th><th></th></tr>\n";
    for outcome in outcomes {
        let value = outcome.value.map_or("nothing to measure".into(), html::number);
        let (class, word) = if outcome.met { ("met", "met") } else { ("unmet", "not met") };
        writeln!(
            page,
            "<tr><td><code>{}</code></td><td>{}</td><td class=\"number\">{value}</td><td class=\"{class}\">{word}</td></tr>",
            breakable(&outcome.name),
            escaped(&outcome.expected)
        )?;
    }
    *page += "</table></div>\n";
    Ok(())
}

/// A name that may go on in the next line after a point or an underscore.
fn breakable(name: &str) -> String {
    escaped(name).replace('_', "_<wbr/>").replace('.', ".<wbr/>")
}

fn figures(page: &mut String, summary: &Summary) -> Result<()> {
    let (start, end) = (&summary.start, &summary.end);
    let both = |a: usize, b: usize| if a == b { a.to_string() } else { format!("{a} → {b}") };
    let mut rows = vec![
        ("nodes", both(start.nodes, end.nodes)),
        ("faces", both(start.faces, end.faces)),
        ("pieces", both(start.pieces, end.pieces)),
        ("area", format!("{:.4} m²", end.area)),
        ("torn length", format!("{:.3} m", summary.torn_length)),
        ("largest strain", format!("{:.1} %", summary.largest_strain * 100.0)),
        ("frames", summary.frames.to_string()),
        ("steps", format!("{} of {:.3} ms", summary.steps, summary.step * 1e3)),
    ];
    if let Some(first) = &summary.first_tear {
        let [u, v] = first.uv;
        let place = format!("{:.3} s, at u = {u:.3} m, v = {v:.3} m, {:.0}° from weft", first.time, first.direction);
        rows.push(("first tear", place));
    }
    let hash = format!("<code>{}</code>", escaped(&summary.state_hash));
    let identity =
        [("scene", escaped(&summary.scene)), ("version", escaped(&summary.version)), ("hash of the last state", hash)];
    *page += "<h2>Figures</h2>\n<div class=\"wide\"><table>\n";
    for (name, value) in rows.into_iter().chain(identity) {
        writeln!(page, "<tr><td>{name}</td><td>{value}</td></tr>")?;
    }
    *page += "</table></div>\n";
    Ok(())
}

fn seconds(page: &mut String, summary: &Summary, drawn: &Drawn) -> Result<()> {
    *page += "<h2>Seconds</h2>\n<div class=\"wide\"><table>\n";
    let simulated = summary.seconds.iter().filter(|(stage, _)| *stage != "total");
    let mut rows: Vec<(String, f64)> = simulated.map(|(stage, s)| (stage.clone(), *s)).collect();
    rows.sort_by(|a, b| b.1.total_cmp(&a.1));
    if let Some(total) = summary.seconds.get("total") {
        rows.push(("simulation and its files in all".into(), *total));
    }
    let [stills, film] = drawn.seconds;
    rows.extend([(format!("{} stills", drawn.stills.len()), stills), ("film".into(), film)]);
    for (name, seconds) in rows {
        writeln!(page, "<tr><td>{}</td><td class=\"number\">{seconds:.2}</td></tr>", escaped(&name))?;
    }
    writeln!(page, "</table></div>\n<p class=\"quiet\">{:.2} × real time.</p>", summary.real_time_ratio)?;
    Ok(())
}
