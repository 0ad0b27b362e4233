//! Plots for report pages, as SVG text (by `plotters`).
//!
//! Drawn for a narrow screen: 960 units wide with 32-unit letters, so a phone shows them at 12 pixels, and scaled to the
//! width of the page (`plotters` rounds to whole units, hence so many). Letters and axes take the page's own text colour (`currentColor`), the ground is left open, and the
//! colours of the lines are of middle lightness: the same plot serves paper and a dark page.

use crate::error::RenderError;
use plotters::coord::Shift;
use plotters::prelude::*;

/// Stands for the page's text colour until the text is rewritten.
const INK: RGBColor = RGBColor(1, 2, 3);
/// Colours of lines: apart in hue and lightness, readable on white and on near-black.
const LINES: [RGBColor; 8] = [
    RGBColor(214, 84, 48),
    RGBColor(30, 129, 176),
    RGBColor(62, 150, 81),
    RGBColor(190, 130, 20),
    RGBColor(146, 96, 178),
    RGBColor(200, 80, 130),
    RGBColor(90, 140, 140),
    RGBColor(130, 120, 110),
];
const SIZE: (u32, u32) = (960, 640);

/// One line of a plot.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Points (x, y); those that aren't finite leave a gap.
    pub points: Vec<(f64, f64)>,
}

/// What is written on a plot. Units belong in the labels: `time [s]`.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    /// Above the plot; also the picture's name for those who can't see it.
    pub title: String,
    /// Under the horizontal axis.
    pub x: String,
    /// Beside the vertical axis.
    pub y: String,
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Several lines over common axes.
pub fn lines(labels: &Labels, series: &[Series]) -> Result<String, RenderError> {
    let finite = |p: &&(f64, f64)| p.0.is_finite() && p.1.is_finite();
    let points = || series.iter().flat_map(|s| s.points.iter()).filter(finite);
    let x_range = spread(points().map(|p| p.0), false);
    let y_range = spread(points().map(|p| p.1), true);
    draw(labels, SIZE, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(16)
            .margin_right(36)
            .caption(&labels.title, text(38))
            .x_label_area_size(96)
            .y_label_area_size(140)
            .build_cartesian_2d(x_range.0..x_range.1, y_range.0..y_range.1)?;
        let (x_digits, y_digits) = (digits(x_range), digits(y_range));
        chart
            .configure_mesh()
            .set_all_tick_mark_size(8)
            .x_desc(&labels.x)
            .y_desc(&labels.y)
            .x_labels(6)
            .y_labels(6)
            .axis_desc_style(text(32))
            .label_style(text(32))
            .axis_style(INK.mix(0.6).stroke_width(2))
            .bold_line_style(INK.mix(0.14).stroke_width(2))
            .light_line_style(INK.mix(0.0))
            .x_label_formatter(&|x| number(*x, x_digits))
            .y_label_formatter(&|y| number(*y, y_digits))
            .draw()?;
        for (i, s) in series.iter().enumerate() {
            let style = LINES[i % LINES.len()].stroke_width(4);
            let runs: Vec<&[(f64, f64)]> = s.points.split(|p| !finite(&p)).filter(|run| !run.is_empty()).collect();
            for (k, run) in runs.iter().enumerate() {
                let line = chart.draw_series(LineSeries::new(thinned(run), style))?;
                if k == 0 && !s.name.is_empty() {
                    line.label(&s.name).legend(move |(x, y)| PathElement::new([(x, y), (x + 36, y)], style));
                }
            }
        }
        if series.iter().any(|s| !s.name.is_empty() && !s.points.is_empty()) {
            chart
                .configure_series_labels()
                .position(emptiest_corner(series, x_range, y_range))
                .label_font(text(32))
                .legend_area_size(50)
                .margin(12)
                .draw()?;
        }
        Ok(())
    })
}

/// Named bars.
pub fn bars(labels: &Labels, values: &[(String, f64)]) -> Result<String, RenderError> {
    let y_range = spread(values.iter().map(|v| v.1).filter(|v| v.is_finite()), true);
    let count = values.len().max(1);
    draw(labels, SIZE, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(16)
            .margin_right(36)
            .caption(&labels.title, text(38))
            .x_label_area_size(96)
            .y_label_area_size(140)
            .build_cartesian_2d(0.0..count as f64, y_range.0..y_range.1)?;
        let name = |x: &f64| {
            let i = libm::floor(*x);
            let at_middle = (*x - i - 0.5).abs() < 0.01;
            if at_middle { values.get(i as usize).map_or(String::new(), |v| v.0.clone()) } else { String::new() }
        };
        let y_digits = digits(y_range);
        chart
            .configure_mesh()
            .set_all_tick_mark_size(8)
            .disable_x_mesh()
            .x_desc(&labels.x)
            .y_desc(&labels.y)
            .x_labels(2 * count + 1)
            .y_labels(6)
            .axis_desc_style(text(32))
            .label_style(text(32))
            .axis_style(INK.mix(0.6).stroke_width(2))
            .bold_line_style(INK.mix(0.14).stroke_width(2))
            .light_line_style(INK.mix(0.0))
            .x_label_formatter(&name)
            .y_label_formatter(&|y| number(*y, y_digits))
            .draw()?;
        chart.draw_series(values.iter().enumerate().filter(|(_, v)| v.1.is_finite()).map(|(i, v)| {
            let x = i as f64;
            Rectangle::new([(x + 0.15, 0.0), (x + 0.85, v.1)], LINES[i % LINES.len()].filled())
        }))?;
        Ok(())
    })
}

/// Torn length by direction: bin `i` of `n` (18 by custom) holds directions from `180°·i/n` to `180°·(i+1)/n`, 0° along the
/// weft (right), 90° along the warp (up). A tear has no sign, so the rose is drawn twice, mirrored through its middle.
pub fn rose(labels: &Labels, bins: &[f64]) -> Result<String, RenderError> {
    let largest = bins.iter().copied().filter(|b| b.is_finite()).fold(0.0, f64::max);
    let total: f64 = bins.iter().copied().filter(|b| b.is_finite() && *b > 0.0).sum();
    let (width, height) = (960_i32, 800_i32);
    let (cx, cy, radius) = (width as f64 / 2.0, 420.0, 285.0);
    let at = |degrees: f64, r: f64| {
        let a = degrees.to_radians();
        ((cx + r * libm::cos(a)) as i32, (cy - r * libm::sin(a)) as i32)
    };
    draw(labels, (width as u32, height as u32), |area| {
        let middle = |size| {
            text(size).pos(plotters::style::text_anchor::Pos::new(
                plotters::style::text_anchor::HPos::Center,
                plotters::style::text_anchor::VPos::Center,
            ))
        };
        area.draw(&Text::new(labels.title.clone(), (width / 2, 34), middle(38)))?;
        for ring in 1..=2 {
            area.draw(&Circle::new(
                (cx as i32, cy as i32),
                (radius * ring as f64 / 2.0) as i32,
                INK.mix(0.22).stroke_width(2),
            ))?;
        }
        for k in 0..4 {
            let a = 45.0 * k as f64;
            area.draw(&PathElement::new([at(a, radius), at(a + 180.0, radius)], INK.mix(0.14).stroke_width(2)))?;
        }
        let step = 180.0 / bins.len().max(1) as f64;
        for (i, &value) in bins.iter().enumerate().filter(|(_, v)| v.is_finite() && **v > 0.0) {
            // Area, not radius, stands for the amount.
            let r = radius * (value / largest).sqrt();
            for half in [0.0, 180.0] {
                let from = half + step * i as f64;
                let arc = (0..=8).map(|k| at(from + step * k as f64 / 8.0, r));
                let wedge: Vec<(i32, i32)> = std::iter::once((cx as i32, cy as i32)).chain(arc).collect();
                area.draw(&Polygon::new(wedge.clone(), LINES[0].mix(0.75)))?;
                area.draw(&PathElement::new([wedge.as_slice(), &wedge[..1]].concat(), LINES[0].stroke_width(2)))?;
            }
        }
        for (degrees, name) in [(0.0, "0° weft"), (90.0, "90° warp"), (180.0, "180°")] {
            let (x, y) = at(degrees, radius + if degrees == 90.0 { 28.0 } else { 74.0 });
            area.draw(&Text::new(name, (x, y), middle(32)))?;
        }
        let foot = if total > 0.0 {
            format!("{}  (outer ring: {})", labels.x, number(largest, digits((0.0, largest)) + 1))
        } else {
            format!("{}  (nothing torn)", labels.x)
        };
        area.draw(&Text::new(foot, (width / 2, height - 30), middle(32)))?;
        Ok(())
    })
}

fn text(size: u32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&INK)
}

/// Runs a drawing, then makes the text fit for a page.
fn draw(
    labels: &Labels,
    (width, height): (u32, u32),
    body: impl FnOnce(&Area) -> Result<(), Box<dyn std::error::Error>>,
) -> Result<String, RenderError> {
    let fail = |cause: String| RenderError::Plot { title: labels.title.clone(), cause };
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (width, height)).into_drawing_area();
        body(&area).map_err(|e| fail(e.to_string()))?;
        area.present().map_err(|e| fail(e.to_string()))?;
    }
    let head = format!("<svg width=\"{width}\" height=\"{height}\" ");
    let name: String = labels.title.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
    let own = format!(
        "<svg role=\"img\" aria-label=\"{name}\" style=\"width:100%;max-width:{}px;height:auto\" font-family=\"system-ui, sans-serif\" ",
        width * 3 / 4
    );
    Ok(svg.replacen(&head, &own, 1).replace("#010203", "currentColor").replace(" font-family=\"sans-serif\"", ""))
}

/// Range of axis for values: a little wider than they are; `from_zero` reaches down (or up) to 0 where that is near.
fn spread(values: impl Iterator<Item = f64>, from_zero: bool) -> (f64, f64) {
    let (mut low, mut high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
    if low > high {
        return (0.0, 1.0);
    }
    if from_zero && low > 0.0 && low < 0.6 * high {
        low = 0.0;
    }
    if from_zero && high < 0.0 && high > 0.6 * low {
        high = 0.0;
    }
    let width = high - low;
    if width <= 1e-12 * low.abs().max(high.abs()).max(1e-30) {
        let pad = high.abs().max(1e-12) * 0.5;
        return if high == 0.0 { (0.0, 1.0) } else { (low - pad, high + pad) };
    }
    let pad = if from_zero { 0.05 * width } else { 0.0 };
    (if low == 0.0 { low } else { low - pad }, if high == 0.0 { high } else { high + pad })
}

/// Digits after the point that tell the marks of an axis apart.
fn digits((low, high): (f64, f64)) -> usize {
    let step = (high - low) / 6.0;
    (0 - libm::floor(libm::log10(step.max(1e-300))) as i64).clamp(0, 12) as usize
}

/// A number short enough for an axis.
fn number(value: f64, digits: usize) -> String {
    let size = value.abs();
    if value == 0.0 || size < 1e-12 {
        return "0".into();
    }
    if size >= 1e5 || digits > 4 {
        return format!("{value:.1e}");
    }
    format!("{value:.digits$}")
}

/// At most a thousand points, keeping the lowest and highest of each stretch: peaks stay, the file stays small.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    const MOST: usize = 1000;
    if points.len() <= MOST {
        return points.to_vec();
    }
    points
        .chunks(points.len().div_ceil(MOST / 2))
        .flat_map(|chunk| {
            let by = |a: &usize, b: &usize| chunk[*a].1.total_cmp(&chunk[*b].1);
            let low = (0..chunk.len()).min_by(by).unwrap_or(0);
            let high = (0..chunk.len()).max_by(by).unwrap_or(0);
            [chunk[low.min(high)], chunk[low.max(high)]]
        })
        .collect()
}

/// The corner with the fewest points in it.
fn emptiest_corner(series: &[Series], x: (f64, f64), y: (f64, f64)) -> SeriesLabelPosition {
    let corners = [
        (SeriesLabelPosition::UpperRight, true, true),
        (SeriesLabelPosition::UpperLeft, false, true),
        (SeriesLabelPosition::LowerRight, true, false),
        (SeriesLabelPosition::LowerLeft, false, false),
    ];
    let crowd = |right: bool, top: bool| {
        let inside = |p: &&(f64, f64)| {
            let (u, v) = ((p.0 - x.0) / (x.1 - x.0), (p.1 - y.0) / (y.1 - y.0));
            (if right { u > 0.55 } else { u < 0.45 }) && (if top { v > 0.6 } else { v < 0.4 })
        };
        series.iter().map(|s| s.points.iter().filter(inside).count()).sum::<usize>()
    };
    corners
        .into_iter()
        .min_by_key(|&(_, right, top)| crowd(right, top))
        .map_or(SeriesLabelPosition::UpperRight, |c| c.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels() -> Labels {
        Labels { title: "Energy & <loss>".into(), x: "time [s]".into(), y: "energy [J]".into() }
    }

    fn words(svg: &str) -> Vec<String> {
        let document = roxmltree::Document::parse(svg).expect("valid XML");
        document
            .descendants()
            .filter(|n| n.has_tag_name("text"))
            .map(|n| n.text().unwrap_or("").trim().to_string())
            .collect()
    }

    #[test]
    fn a_line_plot_is_valid_and_labelled() {
        let wave = |f: f64| (0..5000).map(|i| (i as f64 * 1e-3, libm::sin(i as f64 * f))).collect();
        let mut broken: Vec<(f64, f64)> = wave(2e-3);
        broken[100].1 = f64::NAN;
        let series =
            [Series { name: "kinetic".into(), points: wave(1e-3) }, Series { name: "elastic".into(), points: broken }];
        let svg = lines(&labels(), &series).unwrap();
        let words = words(&svg);
        for word in ["Energy & <loss>", "time [s]", "energy [J]", "kinetic", "elastic"] {
            assert!(words.iter().any(|w| w == word), "{word} not in {words:?}");
        }
        assert!(svg.contains("currentColor") && !svg.contains("#010203"));
        assert!(!svg.contains("NaN") && svg.len() < 100_000, "{}", svg.len());
        let document = roxmltree::Document::parse(&svg).unwrap();
        assert!(document.root_element().attribute("viewBox").is_some());
        assert!(document.root_element().attribute("width").is_none());
    }

    #[test]
    fn empty_and_flat_data_still_give_axes() {
        assert!(words(&lines(&labels(), &[]).unwrap()).contains(&"time [s]".to_string()));
        let flat = Series { name: "flat".into(), points: vec![(0.0, 3.0), (1.0, 3.0)] };
        assert!(lines(&labels(), &[flat]).is_ok());
        assert!(rose(&labels(), &[0.0; 18]).unwrap().contains("nothing torn"));
        assert!(bars(&labels(), &[]).is_ok());
    }

    #[test]
    fn a_rose_is_mirrored() {
        let mut bins = [0.0; 18];
        bins[0] = 2.0;
        let svg = rose(&labels(), &bins).unwrap();
        let document = roxmltree::Document::parse(&svg).unwrap();
        let polygons: Vec<_> = document.descendants().filter(|n| n.has_tag_name("polygon")).collect();
        assert_eq!(polygons.len(), 2);
        // Sum of x over both wedges is balanced about the middle, 480.
        let xs: Vec<f64> = polygons
            .iter()
            .flat_map(|p| p.attribute("points").unwrap().split_whitespace())
            .map(|pair| pair.split(',').next().unwrap().parse().unwrap())
            .collect();
        let mean = xs.iter().sum::<f64>() / xs.len() as f64;
        assert!((mean - 480.0).abs() < 1.0, "{mean}");
        assert!(xs.iter().any(|x| *x > 740.0));
    }

    #[test]
    fn bars_carry_their_names() {
        let values = ["drive", "integrate", "tear"].map(|n| (n.to_string(), n.len() as f64));
        let words = words(&bars(&labels(), &values).unwrap());
        for (name, _) in &values {
            assert!(words.contains(name), "{name} not in {words:?}");
        }
    }

    #[test]
    fn thinning_keeps_peaks() {
        let mut points: Vec<(f64, f64)> = (0..10_000).map(|i| (i as f64, 0.0)).collect();
        points[4321].1 = 9.0;
        let thin = thinned(&points);
        assert!(thin.len() <= 1000 && thin.contains(&(4321.0, 9.0)));
    }
}
