//! PLY sequences, binary: the smallest of the sequences, and the one that carries velocities and strain.
//!
//! Vertex: `x y z` [m], `vx vy vz` [m/s], `strain`, `plastic` [1]. Face: `vertex_indices`, `texcoord` (six numbers, u
//! and v of each corner [m]).

use std::path::Path;

use super::beside::Beside;
use super::{Progress, Result, sequence};
use crate::cache::{CacheReader, Frame};

/// Writes `cloth_NNNN.ply` into a folder for every frame.
pub fn ply(reader: &mut CacheReader, folder: impl AsRef<Path>, progress: &mut dyn FnMut(Progress)) -> Result<()> {
    sequence::export(reader, folder.as_ref(), "ply", progress, write)
}

fn write(frame: &Frame, file: &mut Beside) -> Result<()> {
    let topology = &frame.topology;
    file.out.extend_from_slice(header(frame).as_bytes());
    for node in 0..frame.points.len() {
        let scalars = [frame.strain[node], frame.plastic[node]];
        put_f32(&mut file.out, &frame.points[node]);
        put_f32(&mut file.out, &frame.velocities[node]);
        put_f32(&mut file.out, &scalars);
        file.spill()?;
    }
    for (face, corner_uv) in topology.faces.iter().zip(&topology.corner_uv) {
        file.out.push(3);
        file.out.extend(face.iter().flat_map(|node| node.to_le_bytes()));
        file.out.push(6);
        put_f32(&mut file.out, corner_uv.as_flattened());
        file.spill()?;
    }
    Ok(())
}

fn header(frame: &Frame) -> String {
    let mut header = format!(
        "ply\nformat binary_little_endian 1.0\ncomment ripstop, frame {}, {} s\nelement vertex {}\n",
        frame.index,
        frame.time,
        frame.points.len()
    );
    for name in ["x", "y", "z", "vx", "vy", "vz", "strain", "plastic"] {
        header += &format!("property float {name}\n");
    }
    header += &format!("element face {}\n", frame.topology.face_count());
    header + "property list uchar int vertex_indices\nproperty list uchar float texcoord\nend_header\n"
}

fn put_f32(out: &mut Vec<u8>, values: &[f32]) {
    out.extend(values.iter().flat_map(|x| x.to_le_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::sample;

    #[test]
    fn every_frame_reads_back() {
        let (folder, cache) = sample::place();
        let frames = sample::frames(10, 8);
        sample::write(&cache, &frames);
        ply(&mut CacheReader::open(&cache).unwrap(), folder.path().join("ply"), &mut |_| {}).unwrap();
        for frame in &frames {
            let bytes = std::fs::read(folder.path().join(format!("ply/cloth_{:04}.ply", frame.index))).unwrap();
            let end = bytes.windows(11).position(|w| w == b"end_header\n").unwrap() + 11;
            let text = std::str::from_utf8(&bytes[..end]).unwrap();
            assert!(text.contains(&format!("element vertex {}\n", frame.points.len())));
            assert!(text.contains(&format!("element face {}\n", frame.topology.face_count())));
            let (vertices, faces) = bytes[end..].split_at(32 * frame.points.len());
            let float = |b: &[u8]| f32::from_le_bytes(b.try_into().unwrap());
            for (node, row) in vertices.chunks(32).enumerate() {
                let row: Vec<f32> = row.chunks(4).map(float).collect();
                assert_eq!(row[..3], frame.points[node]);
                assert_eq!(row[3..6], frame.velocities[node]);
                assert_eq!(row[6..], [frame.strain[node], frame.plastic[node]]);
            }
            assert_eq!(faces.len(), 38 * frame.topology.face_count());
            for (face, row) in faces.chunks(38).enumerate() {
                assert_eq!((row[0], row[13]), (3, 6));
                let nodes: Vec<u32> = row[1..13].chunks(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect();
                assert_eq!(nodes, frame.topology.faces[face]);
                let uv: Vec<f32> = row[14..].chunks(4).map(float).collect();
                assert_eq!(uv, frame.topology.corner_uv[face].as_flattened());
            }
        }
    }
}
