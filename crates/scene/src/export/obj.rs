//! OBJ sequences: `v`, `vt` in metres, `f v/vt`. Every program reads them; they carry no velocities and no strain. Rigid
//! bodies follow the cloth as objects of their own, and so do yarns, as lines (`l`) in groups of warps and wefts.

use std::path::Path;

use super::beside::Beside;
use super::number::{put_row, put_u32};
use super::{Progress, Result, sequence};
use crate::cache::{BodySurface, CacheReader, Frame, Yarns};

/// Writes `cloth_NNNN.obj` into a folder for every frame.
///
/// Nodes keep their order from frame to frame: line `v` number i+1 is node i in every file that has it.
pub fn obj(reader: &mut CacheReader, folder: impl AsRef<Path>, progress: &mut dyn FnMut(Progress)) -> Result<()> {
    let bodies = reader.bodies()?;
    sequence::export(reader, folder.as_ref(), "obj", progress, |frame, file| {
        write(frame, file)?;
        let count = write_bodies(frame, &bodies, file)?;
        frame.yarns.as_ref().map_or(Ok(()), |yarns| write_yarns(yarns, count, file))
    })
}

/// One frame as text in memory.
pub fn obj_text(frame: &Frame, bodies: &[BodySurface]) -> Result<Vec<u8>> {
    let mut file = Beside::in_memory();
    write(frame, &mut file)?;
    let count = write_bodies(frame, bodies, &mut file)?;
    frame.yarns.as_ref().map_or(Ok(()), |yarns| write_yarns(yarns, count, &mut file))?;
    Ok(std::mem::take(&mut file.out))
}

/// Returns how many points are in the file then.
fn write_bodies(frame: &Frame, bodies: &[BodySurface], file: &mut Beside) -> Result<u32> {
    let mut before = frame.points.len() as u32;
    for (body, pose) in bodies.iter().zip(&frame.bodies) {
        let name: String =
            body.name.chars().map(|c| if c.is_whitespace() || c.is_control() { '_' } else { c }).collect();
        file.out.extend_from_slice(format!("o {name}\n").as_bytes());
        for point in body.placed(pose) {
            write_point(&point, file)?;
        }
        for triangle in &body.triangles {
            file.out.push(b'f');
            for point in triangle {
                file.out.push(b' ');
                put_u32(&mut file.out, before + point + 1);
            }
            file.out.push(b'\n');
            file.spill()?;
        }
        before += body.points.len() as u32;
    }
    Ok(before)
}

fn write_point(point: &[f32; 3], file: &mut Beside) -> Result<()> {
    file.out.extend_from_slice(b"v ");
    put_row(&mut file.out, point, b" ");
    file.out.push(b'\n');
    file.spill()
}

/// Yarns as lines, after `before` other points.
fn write_yarns(yarns: &Yarns, before: u32, file: &mut Beside) -> Result<()> {
    file.out.extend_from_slice(b"o yarns\n");
    for point in &yarns.points {
        write_point(point, file)?;
    }
    let mut group = None;
    for (curve, range) in yarns.ranges() {
        if group != Some(curve.warp) {
            group = Some(curve.warp);
            file.out.extend_from_slice(if curve.warp { b"g warps\n" } else { b"g wefts\n" });
        }
        file.out.push(b'l');
        for point in range {
            file.out.push(b' ');
            put_u32(&mut file.out, before + point as u32 + 1);
        }
        file.out.push(b'\n');
        file.spill()?;
    }
    Ok(())
}

fn write(frame: &Frame, file: &mut Beside) -> Result<()> {
    file.out.extend_from_slice(format!("# ripstop, frame {}, {} s\no cloth\n", frame.index, frame.time).as_bytes());
    for point in &frame.points {
        write_point(point, file)?;
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

    /// Reads points, faces and corner uv of an OBJ, and faces without uv, by the format's own rules.
    fn read(text: &str) -> (Vec<[f32; 3]>, Topology, Vec<[usize; 3]>) {
        let (mut points, mut uv, mut faces, mut corner_uv, mut bodies) = (vec![], vec![], vec![], vec![], vec![]);
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let word = words.next().unwrap();
            let rest: Vec<&str> = words.collect();
            match word {
                "v" => points.push([0, 1, 2].map(|k| rest[k].parse().unwrap())),
                "vt" => uv.push([0, 1].map(|k| rest[k].parse::<f32>().unwrap())),
                "f" => {
                    let Some(corners) = rest.iter().map(|corner| corner.split_once('/')).collect::<Option<Vec<_>>>()
                    else {
                        bodies.push([0, 1, 2].map(|k| rest[k].parse::<usize>().unwrap() - 1));
                        continue;
                    };
                    let corners = [corners[0], corners[1], corners[2]];
                    faces.push(corners.map(|(node, _)| node.parse::<u32>().unwrap() - 1));
                    corner_uv.push(corners.map(|(_, line)| uv[line.parse::<usize>().unwrap() - 1]));
                }
                _ => {}
            }
        }
        (points, Topology { faces, corner_uv, ..Topology::default() }, bodies)
    }

    #[test]
    fn yarns_are_lines_through_their_own_points() {
        let (folder, cache) = sample::place();
        let frames = sample::frames(4, 2);
        sample::write_with(&cache, &sample::bodies(), &frames);
        obj(&mut CacheReader::open(&cache).unwrap(), folder.path().join("obj"), &mut |_| {}).unwrap();
        for frame in &frames {
            let text =
                std::fs::read_to_string(folder.path().join(format!("obj/cloth_{:04}.obj", frame.index))).unwrap();
            let (points, ..) = read(&text);
            let yarns = frame.yarns.as_ref().unwrap();
            let own = points.len() - yarns.points.len();
            assert_eq!(points[own..], yarns.points);
            let lines: Vec<&str> = text.lines().skip_while(|line| *line != "g warps").collect();
            let number = |k: usize| (own + k + 1).to_string();
            let line = |range: std::ops::Range<usize>| format!("l {}", range.map(number).collect::<Vec<_>>().join(" "));
            assert_eq!(lines, ["g warps", &line(0..2), &line(2..5), "g wefts", &line(5..8)]);
        }
    }

    #[test]
    fn every_frame_reads_back() {
        let (folder, cache) = sample::place();
        let mut frames = sample::frames(9, 8);
        // A seam: two corners of one node with different uv.
        std::sync::Arc::make_mut(&mut frames[7].topology).corner_uv[0][1] = [5.0, 6.0];
        sample::write_with(&cache, &sample::bodies(), &frames);
        obj(&mut CacheReader::open(&cache).unwrap(), folder.path().join("obj"), &mut |_| {}).unwrap();
        for frame in &frames {
            let path = folder.path().join(format!("obj/cloth_{:04}.obj", frame.index));
            let (points, topology, bodies) = read(&std::fs::read_to_string(path).unwrap());
            let (cloth, body) = points.split_at(frame.points.len());
            assert_eq!(cloth, frame.points);
            // A tetrahedron turned by (0, 0.6, 0, 0.8): x to (0.28, 0, −0.96).
            let y = frame.bodies[0].position[1];
            for (point, exact) in
                body.iter().zip([[0.0, y, 0.0], [0.28, y, -0.96], [0.0, y + 1.0, 0.0], [0.96, y, 0.28]])
            {
                assert!((0..3).all(|k| (point[k] - exact[k]).abs() < 1e-6), "{point:?} {exact:?}");
            }
            let first = frame.points.len();
            assert_eq!(
                (body.len(), &bodies[..2]),
                (4, &[[first, first + 2, first + 1], [first, first + 1, first + 3]][..])
            );
            assert_eq!(topology.faces, frame.topology.faces);
            assert_eq!(topology.corner_uv, frame.topology.corner_uv);
        }
    }
}
