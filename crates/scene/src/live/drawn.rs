//! What a page draws: tables of single numbers, ready for a graphics card.

use super::paint::Painted;
use crate::cache::{Frame, Topology};
use ripstop::Vec2;
use ripstop::sets::Sets;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What colours show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shade {
    /// Nothing.
    #[default]
    Fabric,
    /// Strain over what tears the cloth.
    Strain,
    /// Plastic strain, likewise.
    Plastic,
    /// Numbers of pieces.
    Pieces,
    /// Relative strength as painted.
    Map,
}

/// The cloth of a frame, one vertex per node and place on the material.
#[derive(Default)]
pub struct Drawn {
    /// Grows with every other topology.
    pub version: u32,
    /// Pieces.
    pub pieces: usize,
    /// Places [m].
    pub points: Vec<[f32; 3]>,
    /// Unit normals.
    pub normals: Vec<[f32; 3]>,
    /// What colours show, by vertex; nothing for [`Shade::Fabric`].
    pub shade: Vec<f32>,
    /// Vertices of triangles.
    pub triangles: Vec<[u32; 3]>,
    /// Places on the material [m].
    pub uv: Vec<[f32; 2]>,
    /// Torn border edges, the cloth on their left.
    pub lips: Vec<[u32; 2]>,
    /// Vertices that are held.
    pub held: Vec<u32>,
    /// First point, number of points, 1 for a warp, and number of every yarn's curve.
    pub curves: Vec<[u32; 4]>,
    node: Vec<u32>,
    piece: Vec<u32>,
    topology: Option<Arc<Topology>>,
}

impl Drawn {
    /// Takes a frame in; `strain` is what tears the cloth.
    pub fn take(&mut self, frame: &Frame, shade: Shade, strain: f64, map: Option<&Painted>) {
        if self.topology.as_ref().is_none_or(|known| !Arc::ptr_eq(known, &frame.topology)) {
            self.link(&frame.topology);
        }
        let mut normals = vec![[0f32; 3]; frame.points.len()];
        for face in &frame.topology.faces {
            let [a, b, c] = face.map(|n| glam::Vec3::from(frame.points[n as usize]));
            let normal = (b - a).cross(c - a);
            for &n in face {
                normals[n as usize] = (glam::Vec3::from(normals[n as usize]) + normal).to_array();
            }
        }
        let at = |n: &u32| *n as usize;
        self.points.clear();
        self.points.extend(self.node.iter().map(|n| frame.points[at(n)]));
        self.normals.clear();
        self.normals
            .extend(self.node.iter().map(|n| glam::Vec3::from(normals[at(n)]).normalize_or(glam::Vec3::Y).to_array()));
        self.shade.clear();
        let share = |value: f32| (f64::from(value) / strain).clamp(0.0, 1.0) as f32;
        match shade {
            Shade::Fabric => {}
            Shade::Strain => self.shade.extend(self.node.iter().map(|n| share(frame.strain[at(n)]))),
            Shade::Plastic => self.shade.extend(self.node.iter().map(|n| share(frame.plastic[at(n)]))),
            Shade::Pieces => self.shade.extend(self.piece.iter().map(|piece| *piece as f32)),
            Shade::Map => self.shade.extend(
                self.uv.iter().map(|uv| map.map_or(1.0, |map| map.at(Vec2::from_array(uv.map(f64::from))) as f32)),
            ),
        }
        self.curves.clear();
        if let Some(yarns) = &frame.yarns {
            let row = |(curve, range): (&crate::cache::Curve, std::ops::Range<usize>)| {
                [range.start as u32, range.len() as u32, u32::from(curve.warp), curve.yarn]
            };
            self.curves.extend(yarns.ranges().map(row));
        }
    }

    fn link(&mut self, topology: &Arc<Topology>) {
        let mut vertices: BTreeMap<(u32, [u32; 2]), u32> = BTreeMap::new();
        self.node.clear();
        self.uv.clear();
        self.triangles.clear();
        self.lips.clear();
        let mut pieces = Sets::new(topology.node_count());
        for ((face, uv), torn) in topology.faces.iter().zip(&topology.corner_uv).zip(&topology.torn) {
            let mut corners = [0; 3];
            for k in 0..3 {
                corners[k] = *vertices.entry((face[k], uv[k].map(f32::to_bits))).or_insert_with(|| {
                    self.node.push(face[k]);
                    self.uv.push(uv[k]);
                    self.node.len() as u32 - 1
                });
                pieces.join(face[k], face[(k + 1) % 3]);
            }
            self.triangles.push(corners);
            self.lips.extend((0..3).filter(|&k| torn[k]).map(|k| [corners[k], corners[(k + 1) % 3]]));
        }
        let mut number: BTreeMap<u32, u32> = BTreeMap::new();
        self.piece.clear();
        for n in &self.node {
            let next = number.len() as u32;
            self.piece.push(*number.entry(pieces.root(*n)).or_insert(next));
        }
        self.pieces = number.len();
        self.held.clear();
        self.held.extend((0..self.node.len() as u32).filter(|v| topology.held[self.node[*v as usize] as usize]));
        self.topology = Some(topology.clone());
        self.version += 1;
    }
}
