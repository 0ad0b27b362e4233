//! Random frames for tests: a strip of faces that is torn now and then.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{BodyPose, BodySurface, CacheHeader, CacheWriter, Curve, Frame, Passed, Topology, Yarns};

/// A folder that goes away with the first value, and a cache in it.
pub fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("frames.bin");
    (folder, path)
}

/// The header of all samples.
pub fn header() -> CacheHeader {
    CacheHeader { scene: "strip — \"é\"".into(), frames_per_second: 24.0 }
}

/// Writes frames; returns where the header and every frame end.
pub fn write(path: &Path, frames: &[Frame]) -> Vec<u64> {
    write_with(path, &[], frames)
}

/// The same with bodies.
pub fn write_with(path: &Path, bodies: &[BodySurface], frames: &[Frame]) -> Vec<u64> {
    let mut writer = CacheWriter::create_with(path, header(), bodies).unwrap();
    let mut ends = vec![writer.position()];
    for frame in frames {
        writer.append(frame).unwrap();
        ends.push(writer.position());
    }
    writer.flush().unwrap();
    ends
}

/// `count` frames; about every third changes the topology: a node is split, or a hold lets go.
pub fn frames(seed: u64, count: u32) -> Vec<Frame> {
    let mut random = Random(seed);
    let mut topology = Arc::new(strip(5));
    (0..count)
        .map(|index| {
            if index > 0 && random.next().is_multiple_of(3) {
                tear(Arc::make_mut(&mut topology), &mut random);
            }
            let nodes = topology.node_count();
            Frame {
                index,
                time: f64::from(index) / 24.0,
                points: (0..nodes).map(|_| [(); 3].map(|()| random.float())).collect(),
                velocities: (0..nodes).map(|_| [(); 3].map(|()| random.float() * 10.0)).collect(),
                strain: (0..nodes).map(|_| random.float() * 1e-6).collect(),
                plastic: (0..nodes).map(|_| random.float()).collect(),
                topology: topology.clone(),
                bodies: vec![BodyPose { position: [0.0, random.float(), 0.0], rotation: [0.0, 0.6, 0.0, 0.8] }],
                yarns: seed.is_multiple_of(2).then(|| yarns(&mut random)),
            }
        })
        .collect()
}

/// A warp in two parts and a weft.
fn yarns(random: &mut Random) -> Yarns {
    let curve = |warp, yarn, first, count| Curve { warp, yarn, first, count };
    Yarns {
        spacing: 1e-3,
        thickness: 2e-4,
        crossings: [7, 3],
        curves: vec![curve(true, 1, 0, 2), curve(true, 1, 4, 3), curve(false, 0, 0, 3)],
        points: (0..8).map(|_| [(); 3].map(|()| random.float())).collect(),
        velocities: (0..8).map(|_| [(); 3].map(|()| random.float())).collect(),
        loose: vec![0, 1, 2, 3, 0, 0, 2, 2],
        held: (0..8).map(|i| i == 4).collect(),
        passed: vec![Passed { yarns: [2, 1], place: [(); 3].map(|()| random.float()) }],
    }
}

/// The body of all samples: a tetrahedron.
pub fn bodies() -> Vec<BodySurface> {
    vec![BodySurface {
        name: "bôdy 1".into(),
        colour: Some([0.25, 0.5, 1.0]),
        points: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        triangles: vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
    }]
}

/// Two rows of nodes, two faces per cell.
fn strip(cells: u32) -> Topology {
    let mut strip = Topology::default();
    let uv = |node: u32| [(node / 2) as f32 * 0.1, (node % 2) as f32 * 0.1];
    for a in (0..cells).map(|cell| 2 * cell) {
        for face in [[a, a + 2, a + 1], [a + 1, a + 2, a + 3]] {
            strip.faces.push(face);
            strip.corner_uv.push(face.map(uv));
            strip.torn.push([false; 3]);
        }
    }
    strip.parent = (0..2 * cells + 2).collect();
    strip.held = strip.parent.iter().map(|&node| node < 2).collect();
    strip
}

/// Gives a corner its own node; now and then only lets go of a hold.
fn tear(topology: &mut Topology, random: &mut Random) {
    if random.next().is_multiple_of(4) {
        topology.held[0] = !topology.held[0];
        return;
    }
    let (face, k) = (random.next() as usize % topology.face_count(), random.next() as usize % 3);
    topology.parent.push(topology.faces[face][k]);
    topology.held.push(false);
    topology.faces[face][k] = topology.parent.len() as u32 - 1;
    topology.torn[face][k] = true;
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Between -1 and 1.
    fn float(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}
