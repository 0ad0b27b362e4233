//! Yarns as USD curves beside the mesh: every yarn between two cuts is one curve, so that artists can render them.
//!
//! | attribute | sampled | |
//! |---|---|---|
//! | `curveVertexCounts` | where they change | points of every curve |
//! | `points`, `velocities`, `extent` | every frame | [m], [m/s], [m] |
//! | `primvars:family`, `primvars:yarn`, `primvars:first` | where they change | per curve: 0 warp, 1 weft; number of the yarn; crossing along it of its first point |
//! | `primvars:loose` | where it changes | per point: 0 whole cloth, 1 connected, 2 slides, 3 free |
//! | `widths` | once | diameter [m] |
//!
//! The curves are Catmull-Rom splines through their points (`basis = "catmullRom"`, `wrap = "pinned"`), as our own pictures have them. A yarn
//! keeps its number in all frames; when it is cut, its parts go on under the same number with another `first`.

use super::Result;
use super::usda::{Attribute, Stage, extent, list, rows, sample};
use crate::cache::Yarns;

/// Times the cache is read for them.
pub(super) const PASSES: usize = 7;

/// A number for every curve, or for every point.
type Numbers = fn(&Yarns) -> Vec<u32>;

const NAMED: [(&str, Option<&str>, Numbers); 5] = [
    ("int[] curveVertexCounts", None, |yarns| yarns.curves.iter().map(|c| c.count).collect()),
    ("int[] primvars:family", Some("uniform"), |yarns| yarns.curves.iter().map(|c| u32::from(!c.warp)).collect()),
    ("int[] primvars:yarn", Some("uniform"), |yarns| yarns.curves.iter().map(|c| c.yarn).collect()),
    ("int[] primvars:first", Some("uniform"), |yarns| yarns.curves.iter().map(|c| c.first).collect()),
    ("int[] primvars:loose", Some("vertex"), |yarns| yarns.loose.iter().map(|&kind| u32::from(kind)).collect()),
];

/// Writes the prim. Every frame has yarns.
pub(super) fn prim(stage: &mut Stage<'_>) -> Result<()> {
    stage.text(
        r#"    def BasisCurves "yarns"
    {
        uniform token basis = "catmullRom"
        uniform token type = "cubic"
        uniform token wrap = "pinned"
"#,
    );
    let first = stage.reader.frame(0)?.yarns.unwrap_or_default();
    stage.text(&format!(
        "        float[] widths = [{}] (\n            interpolation = \"constant\"\n        )\n",
        2.0 * first.radius()
    ));
    for (declaration, interpolation, values) in NAMED {
        let attribute = Attribute { declaration, interpolation };
        let mut last = None;
        stage.frames(&attribute, |frame, file| {
            let now = values(frame.yarns.as_ref().unwrap_or(&Yarns::default()));
            if last.as_ref() != Some(&now) {
                sample(file, frame.index);
                list(file, &now, |out, &value| super::number::put_u32(out, value))?;
                file.out.extend_from_slice(b",\n");
                last = Some(now);
            }
            Ok(())
        })?;
    }
    let mut extents = Vec::new();
    let points = Attribute { declaration: "point3f[] points", interpolation: None };
    stage.per_frame(&points, |frame, file| {
        let points = frame.yarns.as_ref().map_or(&[][..], |yarns| &yarns.points);
        let reach = first.radius();
        let [low, high] = extent(points);
        extents.push((frame.index, [low.map(|x| x - reach), high.map(|x| x + reach)]));
        rows(file, points)
    })?;
    stage.extents(&extents);
    let velocities = Attribute { declaration: "vector3f[] velocities", interpolation: None };
    stage.per_frame(&velocities, |frame, file| {
        rows(file, frame.yarns.as_ref().map_or(&[][..], |yarns| &yarns.velocities))
    })?;
    stage.text("    }\n");
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::cache::{CacheReader, sample};
    use crate::export::usda;

    #[test]
    fn curves_are_written_beside_the_mesh_and_what_stays_is_written_once() {
        let (folder, cache) = sample::place();
        // Samples of even seeds have yarns: two parts of a warp and a weft, the same in all frames.
        sample::write(&cache, &sample::frames(2, 4));
        let path = folder.path().join("cloth.usda");
        let mut steps = Vec::new();
        usda(&mut CacheReader::open(&cache).unwrap(), &path, &mut |p| steps.push((p.done, p.total))).unwrap();
        assert_eq!(steps.last(), Some(&(44, 44)));
        let text = std::fs::read_to_string(&path).unwrap();
        let (_, curves) = text.split_once("def BasisCurves \"yarns\"").unwrap();
        let (curves, _) = curves.split_once("\n    }\n").unwrap();
        assert!(curves.contains("int[] curveVertexCounts.timeSamples = {\n            0: [2, 3, 3],\n        }"));
        assert!(curves.contains("int[] primvars:family.timeSamples = {\n            0: [0, 0, 1],\n        }"));
        assert!(curves.contains("int[] primvars:first.timeSamples = {\n            0: [0, 4, 0],\n        }"));
        assert_eq!(curves.matches("point3f[] points.timeSamples").count(), 1);
        assert_eq!(curves.lines().filter(|line| line.trim_start().starts_with("3: [(")).count(), 3);
        assert!(curves.contains("float[] widths = [0.0006]"));
    }
}
