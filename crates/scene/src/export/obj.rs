//! OBJ sequences: `v`, `vt` in metres, `f v/vt`. Every program reads them; they carry no velocities and no strain.

use std::path::Path;

use super::beside::Beside;
use super::number::{put_row, put_u32};
use super::{Progress, Result, sequence};
use crate::cache::{CacheReader, Frame};

/// Writes `cloth_NNNN.obj` into a folder for every frame.
///
/// Nodes keep their order from frame to frame: line `v` number i+1 is node i in every file that has it.
pub fn obj(reader: &mut CacheReader, folder: impl AsRef<Path>, progress: &mut dyn FnMut(Progress)) -> Result<()> {
    sequence::export(reader, folder.as_ref(), "obj", progress, write)
}

fn write(frame: &Frame, file: &mut Beside) -> Result<()> {
    file.out.extend_from_slice(format!("# ripstop, frame {}, {} s\no cloth\n", frame.index, frame.time).as_bytes());
    for point in &frame.points {
        file.out.extend_from_slice(b"v ");
        put_row(&mut file.out, point, b" ");
        file.out.push(b'\n');
        file.spill()?;
    }
    let topology = &frame.topology;
    // Corners around a node mostly share their uv: a line is written where it differs from the node's last.
    let mut uv_count = 0;
    let mut uv_at_node: Vec<Option<([f32; 2], u32)>> = vec![None; frame.points.len()];
    for (face, corner_uv) in topology.faces.iter().zip(&topology.corner_uv) {
        let mut corners = [(0, 0); 3];
        for k in 0..3 {
            let last = &mut uv_at_node[face[k] as usize];
            let line = match *last {
                Some((uv, line)) if uv == corner_uv[k] => line,
                _ => {
                    uv_count += 1;
                    *last = Some((corner_uv[k], uv_count));
                    file.out.extend_from_slice(b"vt ");
                    put_row(&mut file.out, &corner_uv[k], b" ");
                    file.out.push(b'\n');
                    uv_count
                }
            };
            corners[k] = (face[k] + 1, line);
        }
        file.out.push(b'f');
        for (node, uv) in corners {
            file.out.push(b' ');
            put_u32(&mut file.out, node);
            file.out.push(b'/');
            put_u32(&mut file.out, uv);
        }
        file.out.push(b'\n');
        file.spill()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::{Topology, sample};

    /// Reads points, faces and corner uv of an OBJ by the format's own rules.
    fn read(text: &str) -> (Vec<[f32; 3]>, Topology) {
        let (mut points, mut uv, mut faces, mut corner_uv) = (vec![], vec![], vec![], vec![]);
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let word = words.next().unwrap();
            let rest: Vec<&str> = words.collect();
            match word {
                "v" => points.push([0, 1, 2].map(|k| rest[k].parse().unwrap())),
                "vt" => uv.push([0, 1].map(|k| rest[k].parse::<f32>().unwrap())),
                "f" => {
                    let corners = [0, 1, 2].map(|k| rest[k].split_once('/').unwrap());
                    faces.push(corners.map(|(node, _)| node.parse::<u32>().unwrap() - 1));
                    corner_uv.push(corners.map(|(_, line)| uv[line.parse::<usize>().unwrap() - 1]));
                }
                _ => {}
            }
        }
        (points, Topology { faces, corner_uv, ..Topology::default() })
    }

    #[test]
    fn every_frame_reads_back() {
        let (folder, cache) = sample::place();
        let mut frames = sample::frames(9, 8);
        // A seam: two corners of one node with different uv.
        std::sync::Arc::make_mut(&mut frames[7].topology).corner_uv[0][1] = [5.0, 6.0];
        sample::write(&cache, &frames);
        obj(&mut CacheReader::open(&cache).unwrap(), folder.path().join("obj"), &mut |_| {}).unwrap();
        for frame in &frames {
            let path = folder.path().join(format!("obj/cloth_{:04}.obj", frame.index));
            let (points, topology) = read(&std::fs::read_to_string(path).unwrap());
            assert_eq!(points, frame.points);
            assert_eq!(topology.faces, frame.topology.faces);
            assert_eq!(topology.corner_uv, frame.topology.corner_uv);
        }
    }
}
