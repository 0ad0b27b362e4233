//! `stats.csv`, read again for plots.

/// The columns of a run's statistics.
pub struct Stats {
    columns: Vec<(String, Vec<f64>)>,
}

impl Stats {
    /// Reads the text of a file; a row with another number of entries than the head is an error.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().enumerate();
        let head = lines.next().map_or("", |(_, head)| head);
        let mut columns: Vec<(String, Vec<f64>)> = head.split(',').map(|name| (name.into(), Vec::new())).collect();
        for (i, line) in lines {
            let values: Vec<&str> = line.split(',').collect();
            if values.len() != columns.len() {
                return Err(format!("line {}: {} entries, but {} columns", i + 1, values.len(), columns.len()));
            }
            for (column, value) in columns.iter_mut().zip(values) {
                // What is no number leaves a gap in the plot.
                column.1.push(value.parse().unwrap_or(f64::NAN));
            }
        }
        Ok(Self { columns })
    }

    /// A column, empty if there is none of that name.
    pub fn column(&self, name: &str) -> &[f64] {
        self.columns.iter().find(|c| c.0 == name).map_or(&[], |c| &c.1)
    }

    /// What stands between `before` and `after` in the names of columns, in order.
    pub fn names(&self, before: &str, after: &str) -> Vec<String> {
        let inner = |name: &str| name.strip_prefix(before)?.strip_suffix(after).map(String::from);
        self.columns.iter().filter_map(|c| inner(&c.0)).collect()
    }

    /// Points of one column over another.
    pub fn points(&self, x: &str, y: &str) -> Vec<(f64, f64)> {
        self.column(x).iter().copied().zip(self.column(y).iter().copied()).collect()
    }

    /// Magnitude of the load on a grip [N], per frame.
    pub fn load(&self, grip: &str) -> Vec<f64> {
        let part = |axis: char| self.column(&format!("load_{grip}_{axis}"));
        part('x').iter().zip(part('y')).zip(part('z')).map(|((x, y), z)| (x * x + y * y + z * z).sqrt()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_name() {
        let stats = Stats::parse("time,load_my_grip_x,load_my_grip_y,load_my_grip_z\n0,1,2,2\n1,,0,0\n").unwrap();
        assert_eq!(stats.names("load_", "_x"), ["my_grip"]);
        assert_eq!(stats.load("my_grip")[0], 3.0);
        assert!(stats.load("my_grip")[1].is_nan() && stats.column("none").is_empty());
        assert_eq!(stats.points("time", "load_my_grip_y"), [(0.0, 2.0), (1.0, 0.0)]);
    }

    #[test]
    fn a_torn_row_is_an_error() {
        assert!(Stats::parse("a,b\n1\n").err().unwrap().contains("line 2: 1 entries, but 2 columns"));
        assert!(Stats::parse("").unwrap().column("a").is_empty());
    }
}
