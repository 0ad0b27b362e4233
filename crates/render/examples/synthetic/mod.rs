//! A made-up torn cloth for trying the renderer without a simulation: a hung sheet with folds, torn from its foot.

use glam::{Vec2, Vec3, vec2, vec3};
use ripstop_render::{Cloth, lips};

/// Owned lists behind a [`Cloth`].
pub struct Hanging {
    pub positions: Vec<Vec3>,
    pub velocities: Vec<Vec3>,
    pub faces: Vec<[u32; 3]>,
    pub corner_uv: Vec<[Vec2; 3]>,
    pub value: Vec<f32>,
    pub piece: Vec<u32>,
    pub held: Vec<u32>,
    pub torn: Vec<[u32; 2]>,
}

impl Hanging {
    /// A sheet 1.2 m × 0.9 m of about `face_count` faces at time `t` [s].
    pub fn new(face_count: usize, t: f32) -> Self {
        let rows = libm::sqrtf(face_count as f32 * 0.5 * 0.75) as usize;
        let columns = (rows * 4 / 3).max(4) & !1;
        let size = vec2(1.2, 0.9);
        let tear_column = columns / 2;
        let tear_rows = rows * 7 / 10;
        // The tear wanders like one that follows the mesh.
        let node = |i: usize, j: usize| (j * (columns + 1) + i) as u32;
        let uv_at = |i: usize, j: usize| {
            let mut u = i as f32 / columns as f32;
            let v = j as f32 / rows as f32;
            let wander = 0.035 * libm::sinf(9.0 * v) + 0.012 * libm::sinf(31.0 * v);
            u += wander * 4.0 * u * (1.0 - u);
            vec2(u, v) * size
        };
        let mut uv: Vec<Vec2> =
            (0..=rows).flat_map(|j| (0..=columns).map(move |i| (i, j))).map(|(i, j)| uv_at(i, j)).collect();
        let mut side: Vec<f32> =
            (0..=rows).flat_map(|_| (0..=columns).map(|i| if i <= tear_column { -1.0 } else { 1.0 })).collect();
        let mut twin = vec![None; tear_rows];
        for (j, t) in twin.iter_mut().enumerate() {
            *t = Some(uv.len() as u32);
            uv.push(uv[node(tear_column, j) as usize]);
            side.push(1.0);
        }
        let mut faces = Vec::new();
        for j in 0..rows {
            for i in 0..columns {
                let pick = |i: usize, j: usize, right: bool| match twin.get(j) {
                    Some(Some(t)) if i == tear_column && right => *t,
                    _ => node(i, j),
                };
                let right = i >= tear_column;
                let q = [pick(i, j, right), pick(i + 1, j, right), pick(i + 1, j + 1, right), pick(i, j + 1, right)];
                if (i + j) % 2 == 0 {
                    faces.extend([[q[0], q[1], q[2]], [q[0], q[2], q[3]]]);
                } else {
                    faces.extend([[q[0], q[1], q[3]], [q[1], q[2], q[3]]]);
                }
            }
        }
        let tip = uv[node(tear_column, tear_rows) as usize];
        let place = |uv: Vec2, side: f32, t: f32| drape(uv, side, t, size, tip);
        let positions: Vec<Vec3> = uv.iter().zip(&side).map(|(&p, &s)| place(p, s, t)).collect();
        let later = uv.iter().zip(&side).map(|(&p, &s)| place(p, s, t + 1e-3));
        let velocities = later.zip(&positions).map(|(a, &b)| (a - b) * 1e3).collect();
        let value = uv.iter().map(|p| 0.21 / (1.0 + 90.0 * (*p - tip).length_squared()) + 0.02 * p.y).collect();
        let piece = side.iter().map(|&s| if s < 0.0 { 0 } else { 1 }).collect();
        let corner_uv: Vec<[Vec2; 3]> = faces.iter().map(|f: &[u32; 3]| f.map(|n| uv[n as usize])).collect();
        let held = (0..=8).map(|k| node(columns * k / 8, rows)).collect();
        let torn = lips::torn_edges(&faces, &corner_uv);
        Self { positions, velocities, faces, corner_uv, value, piece, held, torn }
    }

    /// The cloth to draw.
    pub fn cloth(&self) -> Cloth<'_> {
        Cloth {
            positions: &self.positions,
            velocities: &self.velocities,
            faces: &self.faces,
            corner_uv: &self.corner_uv,
            node_value: Some(&self.value),
            node_piece: Some(&self.piece),
            held: &self.held,
            torn_edges: &self.torn,
            thickness: 0.0,
        }
    }
}

/// Folds that deepen towards the foot; below the tip of the tear the two sides part and curl.
fn drape(uv: Vec2, side: f32, t: f32, size: Vec2, tip: Vec2) -> Vec3 {
    let down = 1.0 - uv.y / size.y;
    let x = uv.x - size.x * 0.5;
    let gap = ((tip.y - uv.y) / tip.y).max(0.0);
    let fold = 0.012 + 0.055 * down;
    let mut z = fold * libm::sinf(x * 17.0 + 0.9 * libm::sinf(2.0 * uv.y + 1.4 * t) + 1.7 * t)
        + 0.05 * down * libm::sinf(5.0 * x - 2.1 * t + 1.0)
        + 0.006 * libm::sinf(23.0 * uv.y + 11.0 * x);
    let near = 1.0 / (1.0 + 30.0 * x * x);
    let part = side * gap * gap * 0.16 * (0.35 + 0.65 * near);
    z += gap * gap * near * (0.10 + side * 0.10 * libm::sinf(3.0 * t + 0.6));
    let sag = 0.03 * libm::sinf(x * 21.0) * libm::sinf(x * 21.0) * down;
    vec3(x * 0.93 + part, 0.32 + uv.y * 0.97 + sag + 0.05 * gap * gap * near, z)
}
