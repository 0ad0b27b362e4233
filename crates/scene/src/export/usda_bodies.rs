//! Rigid bodies as USD text: their surfaces once, their motion as transforms.
//!
//! | attribute | sampled | |
//! |---|---|---|
//! | `xformOp:translate`, `xformOp:orient` | every frame, once if they never change | [m], unit quaternion |
//! | `visibility` | of a body that arrives later: at the first frame and when it does | |
//! | `points`, `faceVertexCounts`, `faceVertexIndices`, `extent` | once | in the body's own coordinates [m] |
//!
//! A prim's name is the body's, with an underscore for what USD doesn't take; `userProperties:name` has it unchanged. Turns
//! of neighbouring frames have the sign with which a reader blends them the short way round.

use super::Result;
use super::beside::Beside;
use super::number::{put_row, put_u32};
use super::usda::{extent, list, quoted, rows, sample};
use crate::cache::{BodyPose, BodySurface};

/// Prims of all bodies, with where they are in every frame; nothing if there are none.
pub(super) fn prims(file: &mut Beside, bodies: &[BodySurface], poses: &[(u32, Vec<BodyPose>)]) -> Result<()> {
    if bodies.is_empty() {
        return Ok(());
    }
    text(file, "\n    def Scope \"bodies\"\n    {\n");
    let mut names: Vec<String> = Vec::new();
    for (i, body) in bodies.iter().enumerate() {
        let name = identifier(&body.name, &names);
        let motion: Vec<(u32, BodyPose)> =
            poses.iter().filter_map(|(index, all)| Some((*index, *all.get(i)?))).collect();
        let first = poses.first().map(|(index, _)| *index);
        prim(file, &name, body, &motion, first)?;
        names.push(name);
    }
    text(file, "    }\n");
    Ok(())
}

/// One body, in a run that begins with the frame `first`.
fn prim(
    file: &mut Beside,
    name: &str,
    body: &BodySurface,
    motion: &[(u32, BodyPose)],
    first: Option<u32>,
) -> Result<()> {
    let opening = format!(
        r#"        def Mesh "{name}"
        {{
            uniform bool doubleSided = 1
            uniform token orientation = "rightHanded"
            uniform token subdivisionScheme = "none"
            custom string userProperties:name = {}
            int[] faceVertexCounts = "#,
        quoted(&body.name)
    );
    text(file, &opening);
    list(file, &body.triangles, |out, _| out.push(b'3'))?;
    text(file, "\n            int[] faceVertexIndices = ");
    list(file, body.triangles.as_flattened(), |out, &point| put_u32(out, point))?;
    text(file, "\n            point3f[] points = ");
    rows(file, &body.points)?;
    text(file, "\n            float3[] extent = ");
    rows(file, &extent(&body.points))?;
    text(file, "\n");
    let arrives = motion.first().map(|(index, _)| *index);
    if arrives != first {
        text(file, "            token visibility.timeSamples = {\n");
        for (index, word) in first.map(|at| (at, "invisible")).into_iter().chain(arrives.map(|at| (at, "inherited"))) {
            text(file, "    ");
            sample(file, index);
            text(file, &format!("\"{word}\",\n"));
        }
        text(file, "            }\n");
    }
    let places: Vec<_> = motion.iter().map(|(index, pose)| (*index, pose.position)).collect();
    samples(file, "float3 xformOp:translate", &places);
    let mut turns: Vec<(u32, [f32; 4])> = Vec::new();
    for (index, pose) in motion {
        let [x, y, z, w] = pose.rotation;
        let turn = [w, x, y, z];
        let along = turns.last().map_or(1.0, |(_, last)| (0..4).map(|k| last[k] * turn[k]).sum::<f32>());
        turns.push((*index, if along < 0.0 { turn.map(|x| -x) } else { turn }));
    }
    samples(file, "quatf xformOp:orient", &turns);
    text(file, "            uniform token[] xformOpOrder = [\"xformOp:translate\", \"xformOp:orient\"]\n        }\n");
    Ok(())
}

/// An attribute with a sample on every frame, or a plain value if all are the same.
fn samples<const N: usize>(file: &mut Beside, declaration: &str, values: &[(u32, [f32; N])]) {
    let row = |file: &mut Beside, value: &[f32; N]| {
        file.out.push(b'(');
        put_row(&mut file.out, value, b", ");
        file.out.push(b')');
    };
    let Some((_, first)) = values.first() else { return };
    if values.iter().all(|(_, value)| value == first) {
        text(file, &format!("            {declaration} = "));
        row(file, first);
        text(file, "\n");
        return;
    }
    text(file, &format!("            {declaration}.timeSamples = {{\n"));
    for (index, value) in values {
        text(file, "    ");
        sample(file, *index);
        row(file, value);
        text(file, ",\n");
    }
    text(file, "            }\n");
}

/// A name that USD takes, unlike all in `taken`.
fn identifier(name: &str, taken: &[String]) -> String {
    let mut word: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if word.is_empty() || word.starts_with(|c: char| c.is_ascii_digit()) {
        word.insert(0, '_');
    }
    while taken.contains(&word) {
        word.push('_');
    }
    word
}

fn text(file: &mut Beside, text: &str) {
    file.out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_and_each_is_there_once() {
        assert_eq!(identifier("ball", &[]), "ball");
        assert_eq!(identifier("2nd ball", &[]), "_2nd_ball");
        assert_eq!(identifier("a-b", &["a_b".into(), "a_b_".into()]), "a_b__");
        assert_eq!(identifier("", &[]), "_");
    }
}
