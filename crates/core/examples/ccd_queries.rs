//! Answers queries for `tools/ccd_check.py`: reads 25 numbers each from standard input (0 for a point and a triangle or 1 for two edges,
//! the four corners at the beginning, at the end; little-endian f64) and writes the time of each, or −1.

use ripstop::Vec3;
use ripstop::contact::ccd::{Corners, Query, edge_edge, point_triangle};
use std::io::{Read, Write};

fn main() -> std::io::Result<()> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    let numbers: Vec<f64> = bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
    let mut answers = Vec::with_capacity(8 * numbers.len() / 25);
    let begin = std::time::Instant::now();
    for query in numbers.as_chunks::<25>().0 {
        let corner = |k: usize| Vec3::new(query[1 + 3 * k], query[2 + 3 * k], query[3 + 3 * k]);
        let from: Corners = std::array::from_fn(corner);
        let to: Corners = std::array::from_fn(|k| corner(4 + k));
        let ask = if query[0] == 0.0 { point_triangle } else { edge_edge };
        let answer = ask(&from, &to, Query::default()).unwrap_or(-1.0);
        answers.extend(answer.to_le_bytes());
    }
    let count = numbers.len() / 25;
    eprintln!("{count} queries, {:.2} µs each", 1e6 * begin.elapsed().as_secs_f64() / count.max(1) as f64);
    std::io::stdout().lock().write_all(&answers)
}
