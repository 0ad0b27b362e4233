//! USD text: one mesh whose points, topology and primvars change with time, for every program that reads USD through
//! Pixar's library, as Blender and Houdini do.
//!
//! | attribute | sampled | |
//! |---|---|---|
//! | `points`, `velocities`, `extent` | every frame | [m], [m/s], [m] |
//! | `primvars:strain`, `primvars:plastic` | every frame | per node [1] |
//! | `faceVertexCounts`, `faceVertexIndices` | where they change | |
//! | `primvars:st` | where it changes | per corner, material coordinates [m] |
//! | `primvars:parent` | where it changes | per node: the node it was split from, or that it went into when it was taken away |
//!
//! A time code is a frame's number. Yarns of woven cloth are curves beside the mesh (`usda_yarns.rs`). Rigid bodies are meshes below `bodies`, moved by their transform.
//!
//! # Between two frames
//!
//! A reader that asks for a time between two samples gets a blend of the two if their sizes are equal, and the earlier
//! one if they differ or are whole numbers (OpenUSD, `UsdInterpolationTypeLinear`). So around a tear points, indices and
//! primvars all stay those of the frame before it, and sizes never mix. One case needs care: `st` is sampled
//! sparsely, and if it changes without changing size it would be blended over all frames since the last sample. It is
//! then sampled once more on the frame before the change.
//!
//! Velocities have the same samples as points, as USD demands, so motion blur works across a change.

use std::path::Path;
use std::sync::Arc;

use super::beside::Beside;
use super::number::{put_f32, put_row, put_u32};
use super::{Progress, Result, not_empty, usda_bodies, usda_yarns};
use crate::cache::{CacheReader, Frame, METRES_PER_UNIT, Topology, UP_AXIS};

/// Times the cache is read from start to end: in USD text all samples of one attribute stand together.
const PASSES: usize = 4;

/// Writes all frames to one `.usda` file.
pub fn usda(reader: &mut CacheReader, path: impl AsRef<Path>, progress: &mut dyn FnMut(Progress)) -> Result<()> {
    not_empty(reader)?;
    write(reader, Beside::create(path.as_ref())?, progress)?.finish()
}

/// The same as text in memory.
pub fn usda_text(reader: &mut CacheReader) -> Result<Vec<u8>> {
    not_empty(reader)?;
    Ok(std::mem::take(&mut write(reader, Beside::in_memory(), &mut |_| {})?.out))
}

fn write(reader: &mut CacheReader, file: Beside, progress: &mut dyn FnMut(Progress)) -> Result<Beside> {
    let woven = reader.frame(0)?.yarns.is_some();
    let total = (PASSES + if woven { usda_yarns::PASSES } else { 0 }) * reader.frame_count();
    let bodies = reader.bodies()?;
    let mut stage = Stage { reader, file, progress, done: 0, total };
    stage.open();
    stage.topology()?;
    let (mut extents, mut poses) = (Vec::new(), Vec::new());
    let points = Attribute { declaration: "point3f[] points", interpolation: None };
    stage.per_frame(&points, |frame, file| {
        extents.push((frame.index, extent(&frame.points)));
        poses.push((frame.index, frame.bodies.clone()));
        rows(file, &frame.points)
    })?;
    stage.extents(&extents);
    let velocities = Attribute { declaration: "vector3f[] velocities", interpolation: None };
    stage.per_frame(&velocities, |frame, file| rows(file, &frame.velocities))?;
    let strain = Attribute { declaration: "float[] primvars:strain", interpolation: Some("vertex") };
    stage.per_frame(&strain, |frame, file| scalars(file, &frame.strain))?;
    let plastic = Attribute { declaration: "float[] primvars:plastic", interpolation: Some("vertex") };
    stage.per_frame(&plastic, |frame, file| scalars(file, &frame.plastic))?;
    stage.text("    }\n");
    if woven {
        usda_yarns::prim(&mut stage)?;
    }
    usda_bodies::prims(&mut stage.file, &bodies, &poses)?;
    stage.text("}\n");
    let Stage { file, progress, done, total, .. } = stage;
    progress(Progress { done, total });
    Ok(file)
}

/// An attribute's type and name, and how it lies on the mesh if it is a primvar.
pub(super) struct Attribute {
    pub declaration: &'static str,
    pub interpolation: Option<&'static str>,
}

impl Attribute {
    /// The end of its declaration.
    fn metadata(&self) -> String {
        match self.interpolation {
            None => "\n".into(),
            Some(interpolation) => format!(" (\n            interpolation = \"{interpolation}\"\n        )\n"),
        }
    }
}

/// What a reader makes of the time between a sample and the next.
enum Then {
    /// The next is the same, so it isn't written.
    Same,
    /// The first holds until the next.
    Held,
    /// The first goes over into the next.
    Blended,
}

/// The file being written and the cache it is written from.
pub(super) struct Stage<'a> {
    pub reader: &'a mut CacheReader,
    file: Beside,
    progress: &'a mut dyn FnMut(Progress),
    done: usize,
    total: usize,
}

impl Stage<'_> {
    pub fn text(&mut self, text: &str) {
        self.file.out.extend_from_slice(text.as_bytes());
    }

    /// The layer's metadata and the prims up to their attributes.
    fn open(&mut self) {
        let header = self.reader.header();
        let entries = self.reader.entries();
        let (first, last) = (entries[0].index, entries[entries.len() - 1].index);
        let scene = quoted(&header.scene);
        let fps = header.frames_per_second;
        let version = env!("CARGO_PKG_VERSION");
        let opening = format!(
            r#"#usda 1.0
(
    customLayerData = {{
        string creator = "ripstop {version}"
        string scene = {scene}
    }}
    defaultPrim = "cloth"
    endTimeCode = {last}
    framesPerSecond = {fps}
    metersPerUnit = {METRES_PER_UNIT}
    startTimeCode = {first}
    timeCodesPerSecond = {fps}
    upAxis = "{UP_AXIS}"
)

def Xform "cloth" (
    kind = "component"
)
{{
    def Mesh "sheet"
    {{
        uniform bool doubleSided = 1
        uniform token orientation = "rightHanded"
        uniform token subdivisionScheme = "none"
"#
        );
        self.text(&opening);
    }

    /// All attributes that change only with the topology.
    fn topology(&mut self) -> Result<()> {
        let counts = Attribute { declaration: "int[] faceVertexCounts", interpolation: None };
        self.where_changed(
            &counts,
            |a, b| if a.face_count() == b.face_count() { Then::Same } else { Then::Held },
            |topology, file| list(file, &topology.faces, |out, _| out.push(b'3')),
        )?;
        let indices = Attribute { declaration: "int[] faceVertexIndices", interpolation: None };
        self.where_changed(
            &indices,
            |a, b| if a.faces == b.faces { Then::Same } else { Then::Held },
            |topology, file| list(file, topology.faces.as_flattened(), |out, &node| put_u32(out, node)),
        )?;
        let parent = Attribute { declaration: "int[] primvars:parent", interpolation: Some("vertex") };
        self.where_changed(
            &parent,
            |a, b| if a.parent == b.parent { Then::Same } else { Then::Held },
            |topology, file| list(file, &topology.parent, |out, &node| put_u32(out, node)),
        )?;
        let st = Attribute { declaration: "texCoord2f[] primvars:st", interpolation: Some("faceVarying") };
        self.where_changed(
            &st,
            |a, b| match a.face_count() == b.face_count() {
                true if a.corner_uv == b.corner_uv => Then::Same,
                true => Then::Blended,
                false => Then::Held,
            },
            |topology, file| rows(file, topology.corner_uv.as_flattened()),
        )
    }

    /// An attribute with a sample on every frame.
    pub fn per_frame(
        &mut self,
        attribute: &Attribute,
        mut put: impl FnMut(&Frame, &mut Beside) -> Result<()>,
    ) -> Result<()> {
        self.frames(attribute, |frame, file| {
            sample(file, frame.index);
            put(frame, file)?;
            file.out.extend_from_slice(b",\n");
            Ok(())
        })
    }

    /// An attribute whose samples `put` writes, frame by frame.
    pub fn frames(
        &mut self,
        attribute: &Attribute,
        mut put: impl FnMut(&Frame, &mut Beside) -> Result<()>,
    ) -> Result<()> {
        self.samples(attribute);
        for frame in self.reader.frames() {
            (self.progress)(Progress { done: self.done, total: self.total });
            put(&frame?, &mut self.file)?;
            self.done += 1;
        }
        self.text("        }\n");
        Ok(())
    }

    /// An attribute of the topology with a sample where it changes; a plain value if there is only one topology.
    fn where_changed(
        &mut self,
        attribute: &Attribute,
        then: impl Fn(&Topology, &Topology) -> Then,
        put: impl Fn(&Topology, &mut Beside) -> Result<()>,
    ) -> Result<()> {
        let changes: Vec<usize> =
            (0..self.reader.frame_count()).filter(|&record| self.reader.entries()[record].topology_changed).collect();
        if changes.len() == 1 {
            self.text(&format!("        {} = ", attribute.declaration));
            put(&*self.reader.topology(0)?, &mut self.file)?;
            self.text(&attribute.metadata());
            return Ok(());
        }
        self.samples(attribute);
        // The value that holds, and the record it was sampled at last.
        let mut held: Option<(Arc<Topology>, usize)> = None;
        for record in changes {
            let topology = self.reader.topology(record)?;
            if let Some((before, sampled)) = &held {
                match then(before, &topology) {
                    Then::Same => continue,
                    Then::Blended if *sampled + 1 < record => self.sample_topology(record - 1, before, &put)?,
                    Then::Blended | Then::Held => {}
                }
            }
            self.sample_topology(record, &topology, &put)?;
            held = Some((topology, record));
        }
        self.text("        }\n");
        Ok(())
    }

    fn sample_topology(
        &mut self,
        record: usize,
        topology: &Topology,
        put: &impl Fn(&Topology, &mut Beside) -> Result<()>,
    ) -> Result<()> {
        sample(&mut self.file, self.reader.entries()[record].index);
        put(topology, &mut self.file)?;
        self.text(",\n");
        Ok(())
    }

    pub fn extents(&mut self, extents: &[(u32, [[f32; 3]; 2])]) {
        self.samples(&Attribute { declaration: "float3[] extent", interpolation: None });
        for (index, corners) in extents {
            sample(&mut self.file, *index);
            self.text("[(");
            put_row(&mut self.file.out, &corners[0], b", ");
            self.text("), (");
            put_row(&mut self.file.out, &corners[1], b", ");
            self.text(")],\n");
        }
        self.text("        }\n");
    }

    /// Opens the samples of an attribute.
    fn samples(&mut self, attribute: &Attribute) {
        let Attribute { declaration, interpolation } = attribute;
        if interpolation.is_some() {
            self.text(&format!("        {declaration}{}", attribute.metadata()));
        }
        self.text(&format!("        {declaration}.timeSamples = {{\n"));
    }
}

pub(super) fn sample(file: &mut Beside, index: u32) {
    file.out.extend_from_slice(b"            ");
    put_u32(&mut file.out, index);
    file.out.extend_from_slice(b": ");
}

pub(super) fn list<T>(file: &mut Beside, values: &[T], put: impl Fn(&mut Vec<u8>, &T)) -> Result<()> {
    file.out.push(b'[');
    for (k, value) in values.iter().enumerate() {
        if k > 0 {
            file.out.extend_from_slice(b", ");
        }
        put(&mut file.out, value);
        file.spill()?;
    }
    file.out.push(b']');
    Ok(())
}

pub(super) fn rows<const N: usize>(file: &mut Beside, rows: &[[f32; N]]) -> Result<()> {
    list(file, rows, |out, row| {
        out.push(b'(');
        put_row(out, row, b", ");
        out.push(b')');
    })
}

fn scalars(file: &mut Beside, values: &[f32]) -> Result<()> {
    list(file, values, |out, &x| put_f32(out, x))
}

/// The corners of the box around all points.
pub(super) fn extent(points: &[[f32; 3]]) -> [[f32; 3]; 2] {
    let first = points.first().copied().unwrap_or_default();
    points.iter().fold([first, first], |[low, high], point| {
        [std::array::from_fn(|k| low[k].min(point[k])), std::array::from_fn(|k| high[k].max(point[k]))]
    })
}

/// A string as USD text writes it.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            c if c.is_control() => quoted.push(' '),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::cache::sample;

    /// The time codes an attribute is sampled at.
    fn times(text: &str, attribute: &str) -> Vec<u32> {
        let start = text.find(&format!("{attribute}.timeSamples = {{\n")).unwrap();
        let samples = text[start..].lines().skip(1).take_while(|line| line.trim() != "}");
        samples.map(|line| line.trim().split_once(':').unwrap().0.parse().unwrap()).collect()
    }

    #[test]
    fn topology_is_sampled_where_it_changes_and_uv_is_held_before_it_does() {
        let (folder, cache) = sample::place();
        let path = folder.path().join("cloth.usda");
        let mut frames = sample::frames(1, 1);
        for index in 1..9 {
            let mut frame = Frame { index, ..frames[0].clone() };
            let topology = Arc::make_mut(&mut frame.topology);
            topology.held[0] = index < 2; // lets go: no sample at all
            if index >= 5 {
                topology.faces[3].rotate_left(1); // faces and uv change, no size does
                topology.corner_uv[3].rotate_left(1);
            }
            frames.push(frame);
        }
        sample::write(&cache, &frames);
        usda(&mut CacheReader::open(&cache).unwrap(), &path, &mut |_| {}).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(times(&text, "points"), (0..9).collect::<Vec<_>>());
        assert_eq!(times(&text, "velocities"), times(&text, "points"));
        assert_eq!(times(&text, "extent"), times(&text, "points"));
        assert_eq!(times(&text, "faceVertexCounts"), [0]);
        assert_eq!(times(&text, "faceVertexIndices"), [0, 5]);
        assert_eq!(times(&text, "primvars:parent"), [0]);
        assert_eq!(times(&text, "primvars:st"), [0, 4, 5]);
    }

    #[test]
    fn progress_ends_at_its_total() {
        let (folder, cache) = sample::place();
        sample::write(&cache, &sample::frames(1, 5));
        let mut steps = Vec::new();
        let mut reader = CacheReader::open(&cache).unwrap();
        usda(&mut reader, folder.path().join("cloth.usda"), &mut |p| steps.push((p.done, p.total))).unwrap();
        assert_eq!(steps, (0..=20).map(|done| (done, 20)).collect::<Vec<_>>());
    }

    #[test]
    fn an_export_that_fails_leaves_nothing_that_looks_finished() {
        let (folder, cache) = sample::place();
        let text = |target: &Path| {
            let error = usda(&mut CacheReader::open(&cache).unwrap(), target, &mut |_| {}).unwrap_err().to_string();
            error.replace(&folder.path().display().to_string(), "out")
        };
        sample::write(&cache, &[]);
        assert_eq!(
            text(&folder.path().join("cloth.usda")),
            "out/frames.bin: no whole frame in it, so nothing to export\n       run the scene again"
        );
        sample::write(&cache, &sample::frames(1, 5));
        assert_eq!(
            text(&folder.path().join("nowhere/cloth.usda")),
            "out/nowhere/cloth.usda: cannot create it: No such file or directory (os error 2)\n       check the path"
        );
        assert_eq!(
            text(&cache.join("cloth.usda")),
            "out/frames.bin/cloth.usda: cannot create it: Not a directory (os error 20)\n       \
             a file and a folder are mixed up: check the path"
        );
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["frames.bin"]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_keeps_the_export_before() {
        let (folder, cache) = sample::place();
        let path = folder.path().join("cloth.usda");
        sample::write(&cache, &sample::frames(1, 5));
        fs::write(&path, "the export before").unwrap();
        std::os::unix::fs::symlink("/dev/full", folder.path().join("cloth.usda.tmp")).unwrap();
        let error = usda(&mut CacheReader::open(&cache).unwrap(), &path, &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains("cloth.usda: cannot write it: No space left on device"), "{error}");
        assert!(error.contains("make room or choose another disk"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "the export before");
        assert!(!folder.path().join("cloth.usda.tmp").exists());
    }

    /// A folder that may not be written to. The superuser may write anywhere: then this has nothing to see.
    #[test]
    #[cfg(unix)]
    fn a_read_only_folder_is_an_error_with_advice() {
        use std::os::unix::fs::PermissionsExt;
        let (folder, cache) = sample::place();
        sample::write(&cache, &sample::frames(1, 2));
        let locked = folder.path().join("locked");
        fs::create_dir(&locked).unwrap();
        fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
        if fs::write(locked.join("probe"), "").is_ok() {
            println!("skipped: this user may write to a read-only folder");
            return;
        }
        let export = usda(&mut CacheReader::open(&cache).unwrap(), locked.join("cloth.usda"), &mut |_| {});
        let error = export.unwrap_err().to_string();
        assert!(error.contains("cloth.usda: cannot create it: Permission denied"), "{error}");
        assert!(error.contains("check the permissions, or choose another folder with `-o`"), "{error}");
    }

    #[test]
    fn a_name_with_quotes_and_line_breaks_stays_one_string() {
        assert_eq!(quoted("a \"b\" \\ c\nd é"), "\"a \\\"b\\\" \\\\ c d é\"");
    }
}
