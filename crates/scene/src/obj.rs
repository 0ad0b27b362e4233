//! Cloth and bodies from OBJ files, through `tobj`.

use crate::file::UvSource;
use ripstop::mesh::{Column, Mesh, NodeId};
use ripstop::{Vec2, Vec3};
use std::path::Path;

/// Cause and advice of a file that can't be used.
type Fault = (String, String);

/// What a file holds.
struct Triangles {
    positions: Vec<Vec3>,
    faces: Vec<[u32; 3]>,
    /// Texture coordinates of every corner, if all have some.
    textures: Option<Vec<[Vec2; 3]>>,
}

/// Reads all objects of a file as one sheet of cloth. Polygons become triangles, positions are scaled to metres.
pub fn read(path: &Path, scale: f64, uv: UvSource) -> Result<(Mesh, Column<NodeId, Vec3>), Fault> {
    let Triangles { positions, faces, textures } = triangles(path, scale)?;
    let uv = match (uv, textures) {
        (UvSource::Metres, Some(textures)) => textures,
        (UvSource::Metres, None) => {
            return Err(("has no texture coordinates".into(), "use uv = \"flat\", or unwrap the mesh".into()));
        }
        (UvSource::Scaled, Some(textures)) => scaled(&positions, &faces, textures)?,
        (UvSource::Scaled | UvSource::Flat, _) => flat(&positions, &faces)?,
    };
    let mesh = Mesh::from_faces(positions.len(), &faces, &uv).map_err(|e| {
        (
            e.to_string(),
            "repair the mesh, for instance by \"merge by distance\" and \"recalculate normals\" (faces count from 0)"
                .into(),
        )
    })?;
    Ok((mesh, Column::from_rows(positions)))
}

/// Reads all objects of a file as points and triangles of one body, in metres.
pub fn read_body(path: &Path, scale: f64) -> Result<(Vec<Vec3>, Vec<[u32; 3]>), Fault> {
    let Triangles { mut positions, mut faces, .. } = triangles(path, scale)?;
    // Each group has points of its own, where the shape has one.
    let mut first = std::collections::BTreeMap::new();
    let bits = |p: &Vec3| p.to_array().map(|x| (x + 0.0).to_bits());
    let number: Vec<u32> =
        positions.iter().enumerate().map(|(i, p)| *first.entry(bits(p)).or_insert(i as u32)).collect();
    faces.iter_mut().flatten().for_each(|n| *n = number[*n as usize]);
    drop_unused(&mut positions, &mut faces);
    Ok((positions, faces))
}

/// The edges of a body with these `points` that a group, object or material of its file names: its line elements (`l`), and what its faces have in common.
pub fn sharp(path: &Path, scale: f64, name: &str, points: &[Vec3]) -> Result<Vec<[u32; 2]>, Fault> {
    let text = crate::inline::read(path)
        .map_err(|e| (format!("can't be read: {e}"), "paths are relative to the scene's folder".into()))?;
    let text = String::from_utf8_lossy(&text);
    let mut positions: Vec<Vec3> = Vec::new();
    let (mut object, mut groups, mut material): (Option<&str>, Vec<&str>, Option<&str>) = (None, Vec::new(), None);
    let (mut edges, mut sides) = (Vec::new(), Vec::new());
    let mut names: Vec<&str> = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let kind = words.next();
        match kind {
            Some("v") => positions.push(vertex(words, scale)),
            Some("o") => object = words.next(),
            Some("g") => groups = words.collect(),
            Some("usemtl") => material = words.next(),
            Some("f" | "l") => {
                let here = || object.into_iter().chain(groups.iter().copied()).chain(material);
                names.extend(here());
                if !here().any(|other| other == name) {
                    continue;
                }
                let place = |word: &str| points.iter().position(|p| Some(*p) == indexed(&positions, word));
                // What isn't there, its reader has refused; points without faces are no part of the body.
                let ends: Vec<u32> = words.filter_map(place).map(|p| p as u32).collect();
                if kind == Some("l") {
                    edges.extend(ends.windows(2).map(|p| [p[0].min(p[1]), p[0].max(p[1])]));
                } else {
                    let next = ends.iter().cycle().skip(1);
                    sides.extend(ends.iter().zip(next).map(|(&a, &b)| [a.min(b), a.max(b)]));
                }
            }
            _ => {}
        }
    }
    names.sort_unstable();
    names.dedup();
    if !names.contains(&name) {
        let advice = match names.as_slice() {
            [] => "give its edges (`l`) or faces a group, object or material of that name".into(),
            names => crate::error::suggest(name, names, "groups, objects and materials"),
        };
        return Err((format!("no group, object or material `{name}`"), advice));
    }
    sides.sort_unstable();
    edges.extend(sides.chunk_by(|a, b| a == b).filter(|same| same.len() > 1).map(|same| same[0]));
    if edges.is_empty() {
        let advice = "two faces that meet in the sharp edge must have it, or line elements (`l`)";
        return Err((format!("`{name}` has no edge"), advice.into()));
    }
    Ok(edges)
}

/// The place of a vertex line: in single precision, as the faces' reader has it, so that places agree to the last bit.
fn vertex<'a>(mut words: impl Iterator<Item = &'a str>, scale: f64) -> Vec3 {
    let mut next = || words.next().and_then(|w| w.parse::<f32>().ok()).unwrap_or(f32::NAN);
    Vec3::from([next(), next(), next()].map(f64::from)) * scale
}

/// The vertex that a word of a face or line names, if it is there.
fn indexed(positions: &[Vec3], word: &str) -> Option<Vec3> {
    let index = word.split('/').next()?.parse::<i64>().ok()?;
    let index = if index < 0 { positions.len() as i64 + index } else { index - 1 };
    positions.get(usize::try_from(index).ok()?).copied()
}

fn triangles(path: &Path, scale: f64) -> Result<Triangles, Fault> {
    if !(scale.is_finite() && scale > 0.0) {
        return Err((format!("a scale of {scale}"), "metres per unit must be above zero".into()));
    }
    let text = crate::inline::read(path)
        .map_err(|e| (format!("can't be read: {e}"), "paths are relative to the scene's folder".into()))?;
    let options =
        tobj::LoadOptions { triangulate: true, ignore_points: true, ignore_lines: true, ..Default::default() };
    // Materials are no matter here, so none are looked for.
    let loaded = tobj::load_obj_buf(&mut without_lines(&text).as_slice(), &options, |_| Ok(Default::default()));
    let (models, _) = loaded.map_err(|e| match faulty_line(&String::from_utf8_lossy(&text)) {
        Some(cause) => (cause, "repair that line".into()),
        None => (e.to_string(), "is it a Wavefront OBJ file?".to_string()),
    })?;
    let mut positions: Vec<Vec3> = Vec::new();
    let mut faces: Vec<[u32; 3]> = Vec::new();
    let mut textures: Vec<[Vec2; 3]> = Vec::new();
    let mut textured = true;
    for model in &models {
        let (mesh, base) = (&model.mesh, positions.len() as u32);
        positions.extend(mesh.positions.as_chunks::<3>().0.iter().map(|p| Vec3::from(p.map(f64::from)) * scale));
        faces.extend(mesh.indices.as_chunks::<3>().0.iter().map(|f| f.map(|n| n + base)));
        let at = |i: &u32| {
            Vec2::new(f64::from(mesh.texcoords[2 * *i as usize]), f64::from(mesh.texcoords[2 * *i as usize + 1]))
        };
        textured &= mesh.texcoord_indices.len() == mesh.indices.len();
        if textured {
            textures.extend(mesh.texcoord_indices.as_chunks::<3>().0.iter().map(|f| f.each_ref().map(at)));
        }
    }
    if let Some(bad) = positions.iter().position(|p| !p.is_finite()) {
        let face = faces.iter().position(|f| f.contains(&(bad as u32)));
        return Err((
            format!("vertex {} (face {}) is not a number", bad + 1, face.map_or("none".into(), |f| f.to_string())),
            "repair the file".into(),
        ));
    }
    if faces.is_empty() {
        return Err(("has no faces".into(), "is it a Wavefront OBJ file?".into()));
    }
    if let Some(face) = textures.iter().position(|uv| !uv.iter().all(|p| p.is_finite())) {
        return Err((format!("face {face} has a texture coordinate that is not a number"), "repair the file".into()));
    }
    drop_unused(&mut positions, &mut faces);
    Ok(Triangles { positions, faces, textures: textured.then_some(textures) })
}

/// The text without its line elements: `tobj` takes one of three points for a triangle.
fn without_lines(text: &[u8]) -> Vec<u8> {
    let is_line = |line: &&[u8]| matches!(line.trim_ascii_start(), [b'l', b' ' | b'\t', ..]);
    text.split_inclusive(|b| *b == b'\n').filter(|line| !is_line(line)).flatten().copied().collect()
}

/// The line elements of a group or object of a file, each from point to point [m].
pub fn lines(path: &Path, scale: f64, group: &str) -> Result<Vec<[Vec3; 2]>, Fault> {
    let text = crate::inline::read(path)
        .map_err(|e| (format!("can't be read: {e}"), "paths are relative to the scene's folder".into()))?;
    let text = String::from_utf8_lossy(&text);
    let mut positions: Vec<Vec3> = Vec::new();
    let (mut object, mut groups): (Option<&str>, Vec<&str>) = (None, Vec::new());
    let mut lines = Vec::new();
    let mut others: Vec<&str> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("v") => positions.push(vertex(words, scale)),
            Some("o") => object = words.next(),
            Some("g") => groups = words.collect(),
            Some("l") if object == Some(group) || groups.contains(&group) => {
                let points: Option<Vec<Vec3>> = words.map(|word| indexed(&positions, word)).collect();
                let points = points.filter(|points| points.len() >= 2).ok_or_else(|| {
                    let cause = format!("line {}: a line needs two vertices or more that are there", number + 1);
                    (cause, "repair that line".to_string())
                })?;
                lines.extend(points.windows(2).map(|ends| [ends[0], ends[1]]));
            }
            Some("l") => others.extend(object.into_iter().chain(groups.iter().copied())),
            _ => {}
        }
    }
    if lines.is_empty() {
        others.sort_unstable();
        others.dedup();
        let advice = match others.as_slice() {
            [] => "export the seam's edges as lines (`l`) of a named object".into(),
            others => crate::error::suggest(group, others, "groups with lines"),
        };
        return Err((format!("no group or object `{group}` with lines"), advice));
    }
    Ok(lines)
}

/// Which line of a file that can't be read is wrong, and why: its reader doesn't tell.
fn faulty_line(text: &str) -> Option<String> {
    let count = |kind: &str| text.lines().filter(|line| line.split_whitespace().next() == Some(kind)).count();
    let counts = [count("v"), count("vt"), count("vn")];
    for (i, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("v") if words.clone().take(3).filter(|w| w.parse::<f64>().is_ok()).count() < 3 => {
                return Some(format!("line {}: a vertex needs three numbers", i + 1));
            }
            Some("f") => {
                for (word, (k, what)) in
                    words.flat_map(|w| w.split('/').zip(["vertex", "texture", "normal"].iter().enumerate()))
                {
                    let number = word.parse::<i64>().ok().filter(|n| n.unsigned_abs() as usize <= counts[k] && *n != 0);
                    if !word.is_empty() && number.is_none() {
                        return Some(format!(
                            "line {}: a face names {what} {word}, but there are {}",
                            i + 1,
                            counts[k]
                        ));
                    }
                }
            }
            _ => {}
        }
    }
    None
}

/// Points and lines of the file that no face uses are part of nothing.
fn drop_unused(positions: &mut Vec<Vec3>, faces: &mut [[u32; 3]]) {
    let mut number = vec![u32::MAX; positions.len()];
    let mut kept = Vec::new();
    for n in faces.iter_mut().flatten() {
        let new = &mut number[*n as usize];
        if *new == u32::MAX {
            *new = kept.len() as u32;
            kept.push(positions[*n as usize]);
        }
        *n = *new;
    }
    *positions = kept;
}

fn double_area(positions: &[Vec3], f: &[u32; 3]) -> Vec3 {
    let [a, b, c] = f.map(|n| positions[n as usize]);
    (b - a).cross(c - a)
}

/// Texture coordinates, scaled so that their area is the area of the shape.
fn scaled(positions: &[Vec3], faces: &[[u32; 3]], mut uv: Vec<[Vec2; 3]>) -> Result<Vec<[Vec2; 3]>, Fault> {
    let shape: f64 = faces.iter().map(|f| double_area(positions, f).length()).sum();
    let texture: f64 = uv.iter().map(|[a, b, c]| (*b - *a).perp_dot(*c - *a).abs()).sum();
    let factor = (shape / texture).sqrt();
    if !factor.is_finite() || factor == 0.0 {
        return Err(("the texture coordinates have no area".into(), "use uv = \"flat\", or unwrap the mesh".into()));
    }
    uv.iter_mut().flatten().for_each(|p| *p *= factor);
    Ok(uv)
}

/// Material coordinates from a flat shape, in its own plane: u along its longer side.
fn flat(positions: &[Vec3], faces: &[[u32; 3]]) -> Result<Vec<[Vec2; 3]>, Fault> {
    let normal: Vec3 = faces.iter().map(|f| double_area(positions, f)).sum();
    let Some(normal) = normal.try_normalize() else {
        return Err(("has no texture coordinates and is not flat".into(), "unwrap the mesh, or lay it flat".into()));
    };
    let (low, high) = positions.iter().fold((Vec3::MAX, Vec3::MIN), |(a, b), &p| (a.min(p), b.max(p)));
    let middle = (low + high) * 0.5;
    let off = positions.iter().map(|p| (*p - middle).dot(normal).abs()).fold(0.0, f64::max);
    let extent = (high - low).length();
    if off > 1e-3 * extent {
        return Err((
            format!("has no texture coordinates and is not flat: {off:.3} m out of plane"),
            "unwrap the mesh, or lay it flat".into(),
        ));
    }
    // The world axis closest to the plane that is longest becomes u.
    let span = high - low;
    let axis = if span.x >= span.y.max(span.z) {
        Vec3::X
    } else if span.y >= span.z {
        Vec3::Y
    } else {
        Vec3::Z
    };
    let u = (axis - normal * axis.dot(normal)).normalize();
    let v = normal.cross(u);
    let at = |n: u32| positions[n as usize] - middle;
    Ok(faces.iter().map(|f| f.map(|n| Vec2::new(at(n).dot(u), at(n).dot(v)))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str, uv: UvSource) -> Result<(Mesh, Column<NodeId, Vec3>), Fault> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cloth.obj");
        std::fs::write(&path, text).unwrap();
        read(&path, 2.0, uv)
    }

    const SQUARE: &str = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 9 9 9\n";

    #[test]
    fn quads_become_triangles_in_metres() {
        let (mesh, x) = read_text(&format!("{SQUARE}f 1 2 3 4\n"), UvSource::Scaled).unwrap();
        assert_eq!((mesh.node_count(), mesh.face_count()), (4, 2));
        assert!((mesh.area() - 4.0).abs() < 1e-6, "flat shape, scaled by 2: {}", mesh.area());
        assert_eq!(x[NodeId(2)], Vec3::new(2.0, 2.0, 0.0));
    }

    #[test]
    fn texture_coordinates_are_scaled_to_the_area_of_the_shape() {
        let text = format!("{SQUARE}vt 0 0\nvt 0.5 0\nvt 0.5 0.5\nvt 0 0.5\nf 1/1 2/2 3/3 4/4\n");
        assert!((read_text(&text, UvSource::Scaled).unwrap().0.area() - 4.0).abs() < 1e-6);
        assert!((read_text(&text, UvSource::Metres).unwrap().0.area() - 0.25).abs() < 1e-6);
    }

    #[test]
    fn lines_are_no_faces_and_have_their_groups() {
        let text = format!("{SQUARE}f 1 2 3 4\no side\nl 1 2 3\ng a b\nl -5 -2\n");
        let (mesh, _) = read_text(&text, UvSource::Scaled).unwrap();
        assert_eq!((mesh.node_count(), mesh.face_count()), (4, 2));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cloth.obj");
        std::fs::write(&path, text).unwrap();
        let of = |group: &str| lines(&path, 2.0, group);
        let at = |x, y| Vec3::new(x, y, 0.0);
        assert_eq!(of("b").unwrap(), [[at(0.0, 0.0), at(0.0, 2.0)]]);
        let all = [[at(0.0, 0.0), at(2.0, 0.0)], [at(2.0, 0.0), at(2.0, 2.0)], [at(0.0, 0.0), at(0.0, 2.0)]];
        assert_eq!(of("side").unwrap(), all, "a group inside an object is part of it");
        assert!(of("sid").unwrap_err().1.contains("did you mean `side`?"));
    }

    #[test]
    fn sharp_edges_are_lines_and_what_faces_of_a_name_have_in_common() {
        // A tetrahedron in two groups, which share the edges 2-3, 3-4 and 4-2, and a point that no face has.
        let text = "v 9 9 9\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\ng sides\nusemtl steel\nf 2 4 3\nf 2 3 5\nf 2 5 4\n\
            g end\nusemtl wood\nf 3 4 5\ng line\nl 3 4\nl 1 2\n";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("body.obj");
        std::fs::write(&path, text).unwrap();
        let (points, faces) = read_body(&path, 2.0).unwrap();
        assert_eq!((points.len(), faces.len()), (4, 4), "points of two groups are one");
        let of = |name: &str| {
            let edges = sharp(&path, 2.0, name, &points)?;
            let place = |p: u32| points[p as usize] * 0.5;
            Ok::<_, Fault>(edges.into_iter().map(|[a, b]| [place(a), place(b)]).collect::<Vec<_>>())
        };
        let from_corner = |edge: &[Vec3; 2]| edge.contains(&Vec3::ZERO);
        for name in ["sides", "steel"] {
            let found = of(name).unwrap();
            assert!(found.len() == 3 && found.iter().all(from_corner), "{name}: {found:?}");
        }
        let line = of("line").unwrap();
        assert!(line.len() == 1 && !from_corner(&line[0]), "{line:?}");
        assert!(of("end").unwrap_err().0.contains("no edge"));
        assert!(of("stel").unwrap_err().1.contains("did you mean `steel`?"));
    }

    #[test]
    fn bad_files_are_refused_with_the_face() {
        let cause = |text: &str| read_text(text, UvSource::Scaled).unwrap_err().0;
        assert!(cause(&format!("{SQUARE}f 1 2 3\nf 1 2 4\n")).contains("face 1 is turned over"));
        assert!(cause("v 0 0 0\nv 1 nan 0\nv 0 1 0\nf 1 2 3\n").contains("vertex 2"));
        assert!(cause(&format!("{SQUARE}f 1 2 9\n")).len() > 5);
        assert!(cause("").contains("no faces"), "{}", cause(""));
        assert!(cause(&format!("{SQUARE}v 0 0 1\nf 1 2 3\nf 1 3 6\n")).contains("not flat"));
    }
}
