//! What a ray meets on the cloth as it lies in a frame.

use crate::cache::Frame;
use ripstop::{Vec2, Vec3};
use serde::Deserialize;
use std::collections::BTreeSet;

/// A half-line, such as the line of sight through a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Ray {
    /// Where it begins [m].
    pub origin: Vec3,
    /// Where it goes; any length but zero.
    pub direction: Vec3,
}

/// Where a ray first meets the cloth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Place in the world [m].
    pub at: Vec3,
    /// Place on the material [m].
    pub uv: Vec2,
    /// Nearest node of the face that is met.
    pub node: u32,
}

fn point(frame: &Frame, node: u32) -> Vec3 {
    Vec3::from_array(frame.points[node as usize].map(f64::from))
}

/// Where `ray` first meets the cloth, from either side.
pub fn pick(frame: &Frame, ray: Ray) -> Option<Hit> {
    let direction = ray.direction.try_normalize()?;
    let mut best: Option<(f64, Hit)> = None;
    for (face, uv) in frame.topology.faces.iter().zip(&frame.topology.corner_uv) {
        let [a, b, c] = face.map(|n| point(frame, n));
        let (e1, e2) = (b - a, c - a);
        let across = direction.cross(e2);
        let size = e1.dot(across);
        if size == 0.0 {
            continue;
        }
        let from = ray.origin - a;
        let s = from.dot(across) / size;
        let other = from.cross(e1);
        let t = direction.dot(other) / size;
        let far = e2.dot(other) / size;
        // Comparisons are false for what is no number.
        let inside = s >= 0.0 && t >= 0.0 && s + t <= 1.0 && far > 0.0;
        if !inside || best.is_some_and(|(nearest, _)| far >= nearest) {
            continue;
        }
        let weights = [1.0 - s - t, s, t];
        let corner = (0..3).max_by(|&i, &j| weights[i].total_cmp(&weights[j])).unwrap_or(0);
        let uv = (0..3).map(|k| Vec2::from_array(uv[k].map(f64::from)) * weights[k]).sum();
        best = Some((far, Hit { at: ray.origin + direction * far, uv, node: face[corner] }));
    }
    best.map(|(_, hit)| hit)
}

/// Nodes around one that hang together within a distance [m], as a fingertip takes them; none that is held already.
pub fn fingertip(frame: &Frame, node: u32, radius: f64) -> Vec<u32> {
    let middle = point(frame, node);
    let near = |n: &u32| point(frame, *n).distance(middle) <= radius;
    let mut found = BTreeSet::from([node]);
    loop {
        let before = found.len();
        for face in &frame.topology.faces {
            if face.iter().any(|n| found.contains(n)) {
                found.extend(face.iter().copied().filter(near));
            }
        }
        if found.len() == before {
            break;
        }
    }
    found.into_iter().filter(|n| !frame.topology.held[*n as usize]).collect()
}
