//! The curve that a testing machine draws: load on a grip against its travel, and the figures that standards read from it.

use crate::tally::Tally;
use serde::{Deserialize, Serialize};

/// What is read from a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// The largest load [N] (ISO 13934-1).
    Largest,
    /// Travel at the largest load [m].
    TravelAtLargest,
    /// Mean of the peaks in the last three quarters of the way from the first peak on [N] (ISO 13937-2, read by a computer).
    MeanOfPeaks,
    /// Mean load over that way [N]: what its work comes to.
    Mean,
    /// Mean of the five highest peaks [N] (ASTM D2261).
    FiveHighestPeaks,
}

impl Reading {
    /// Its name in scenes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Largest => "largest",
            Self::TravelAtLargest => "travel_at_largest",
            Self::MeanOfPeaks => "mean_of_peaks",
            Self::Mean => "mean",
            Self::FiveHighestPeaks => "five_highest_peaks",
        }
    }
}

/// Load [N] against travel [m], from frame to frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadCurve {
    /// Travel and load.
    pub points: Vec<(f64, f64)>,
}

/// How far the load must rise before a peak and fall after it, over the largest load: less is noise of single edges.
const PEAK: f64 = 0.01;

impl LoadCurve {
    /// Of a grip by its number.
    pub fn of(tally: &Tally, grip: usize) -> Self {
        Self { points: tally.moments.iter().map(|m| (m.shifts[grip].length(), m.loads[grip].length())).collect() }
    }

    /// Of a grip by its name, from the `stats.csv` of a finished run; `None` if it isn't there.
    pub fn of_stats(text: &str, grip: &str) -> Option<Self> {
        let mut lines = text.lines();
        let head: Vec<&str> = lines.next()?.split(',').collect();
        let column = |name: String| head.iter().position(|title| *title == name);
        let columns = [
            column(format!("travel_{grip}"))?,
            column(format!("load_{grip}_x"))?,
            column(format!("load_{grip}_y"))?,
            column(format!("load_{grip}_z"))?,
        ];
        let point = |line: &str| {
            let cells: Vec<&str> = line.split(',').collect();
            let [travel, x, y, z] = columns.map(|k| cells.get(k)?.parse::<f64>().ok());
            Some((travel?, (x? * x? + y? * y? + z? * z?).sqrt()))
        };
        Some(Self { points: lines.map(point).collect::<Option<_>>()? })
    }

    /// What a standard reads; not a number if there is nothing to read.
    pub fn read(&self, reading: Reading) -> f64 {
        match reading {
            Reading::Largest => self.largest().1,
            Reading::TravelAtLargest => self.largest().0,
            Reading::MeanOfPeaks => self.mean_of(&self.peaks()),
            Reading::Mean => self.mean_of(&self.points),
            Reading::FiveHighestPeaks => {
                let mut loads: Vec<f64> = self.peaks().iter().map(|peak| peak.1).collect();
                loads.sort_by(|a, b| b.total_cmp(a));
                mean(loads.into_iter().take(5))
            }
        }
    }

    /// Mean of those loads that are in the last three quarters of the way from the first peak on.
    fn mean_of(&self, points: &[(f64, f64)]) -> f64 {
        let Some(&(first, _)) = self.peaks().first() else { return f64::NAN };
        let end = self.points.last().map_or(first, |p| p.0);
        let from = first + 0.25 * (end - first);
        mean(points.iter().filter(|point| point.0 >= from).map(|point| point.1))
    }

    fn largest(&self) -> (f64, f64) {
        self.points.iter().copied().fold((f64::NAN, f64::NAN), |most, p| if p.1 <= most.1 { most } else { p })
    }

    /// Where the load has risen and then falls, each by more than noise.
    pub fn peaks(&self) -> Vec<(f64, f64)> {
        let noise = PEAK * self.largest().1;
        let mut found = Vec::new();
        let (mut low, mut high) = (f64::INFINITY, (0.0, f64::NEG_INFINITY));
        for &(travel, load) in &self.points {
            low = low.min(load);
            if load > high.1 && load > low + noise {
                high = (travel, load);
            }
            if load < high.1 - noise {
                found.push(high);
                (low, high) = (load, (0.0, f64::NEG_INFINITY));
            }
        }
        found
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    sum / f64::from(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saw(peaks: &[f64]) -> LoadCurve {
        let mut points = vec![(0.0, 0.0)];
        for (k, peak) in peaks.iter().enumerate() {
            let at = k as f64 + 1.0;
            points.extend([(at, *peak), (at + 0.5, 0.5)]);
        }
        LoadCurve { points }
    }

    #[test]
    fn peaks_are_read_as_the_standards_say() {
        let curve = saw(&[9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
        assert_eq!(curve.peaks().len(), 8);
        // From the first peak at 1 to the end at 8.5 a quarter is 1.875: peaks from 2.875 on.
        assert_eq!(curve.read(Reading::MeanOfPeaks), (2.0 + 3.0 + 4.0 + 5.0 + 6.0 + 7.0) / 6.0);
        // Six peaks and the six valleys of half a newton after them.
        assert_eq!(curve.read(Reading::Mean), (27.0 + 6.0 * 0.5) / 12.0);
        assert_eq!(curve.read(Reading::FiveHighestPeaks), (9.0 + 7.0 + 6.0 + 5.0 + 4.0) / 5.0);
        assert_eq!((curve.read(Reading::Largest), curve.read(Reading::TravelAtLargest)), (9.0, 1.0));
    }

    #[test]
    fn what_never_falls_has_no_peak_and_noise_is_none() {
        let rising = LoadCurve { points: (0..10).map(|k| (f64::from(k), f64::from(k))).collect() };
        assert!(rising.peaks().is_empty() && rising.read(Reading::MeanOfPeaks).is_nan());
        let noisy = LoadCurve { points: (0..10).map(|k| (f64::from(k), 10.0 + 0.05 * f64::from(k % 2))).collect() };
        assert!(noisy.peaks().is_empty());
        assert!(LoadCurve::default().read(Reading::Largest).is_nan());
        let text = "frame,load_jaw_x,load_jaw_y,load_jaw_z,travel_jaw\n0,3,0,4,0.5\n1,0,1,0,0.6\n";
        assert_eq!(LoadCurve::of_stats(text, "jaw").unwrap().points, [(0.5, 5.0), (0.6, 1.0)]);
        assert_eq!(LoadCurve::of_stats(text, "hand"), None);
    }
}
