//! What every engine is judged by: how much the threads of its sheet are stretched.

use ripstop::{Cloth, Vec3};

/// Edges that end nearer to a held corner than this don't count [m]: at a point the strain of a sheet is infinite, so
/// what a mesh shows there says how fine the mesh is.
const AWAY: f64 = 0.1;

/// Strain of the edges of a sheet, as shares of 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct Strain {
    /// What one edge in a hundred exceeds.
    pub p99: f64,
    /// Of all edges.
    pub mean: f64,
    /// Largest away from the held corners.
    pub max: f64,
    /// Largest of all.
    pub pin: f64,
}

impl Strain {
    /// Of the sheet's mesh, its nodes at `x`: so engines with other springs are judged by the same edges.
    pub fn of(sheet: &Cloth, held: &[usize], x: &[Vec3]) -> Self {
        let uv = |n: usize| sheet.mesh.node_uv(ripstop::mesh::NodeId(n as u32));
        let mut pin = f64::NEG_INFINITY;
        let mut strains = Vec::with_capacity(sheet.mesh.edge_count());
        for e in sheet.mesh.edges() {
            let [a, b] = sheet.mesh.edge_nodes(e).map(|n| n.0 as usize);
            let strain = x[a].distance(x[b]) / uv(a).distance(uv(b)) - 1.0;
            pin = pin.max(strain);
            if held.iter().all(|&n| uv(a).distance(uv(n)).min(uv(b).distance(uv(n))) >= AWAY) {
                strains.push(strain);
            }
        }
        strains.sort_by(f64::total_cmp);
        let mean = strains.iter().sum::<f64>() / strains.len() as f64;
        Self { p99: strains[strains.len() * 99 / 100], mean, max: strains[strains.len() - 1], pin }
    }

    /// Mean over several states.
    pub fn mean_of(states: &[Self]) -> Self {
        let mean = |of: fn(&Self) -> f64| states.iter().map(of).sum::<f64>() / states.len() as f64;
        Self { p99: mean(|s| s.p99), mean: mean(|s| s.mean), max: mean(|s| s.max), pin: mean(|s| s.pin) }
    }
}
