//! Pixar's library opens an exported cloth with changing topology and sees on every frame what was simulated.
//!
//! The library is installed once, into the target folder. Without Python or network the test says that it was skipped;
//! with `CI=true` that is a failure.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::{env, fs};

use ripstop_scene::cache::{
    BodyPose, BodySurface, CacheHeader, CacheReader, CacheWriter, Curve, Frame, Topology, Yarns,
};
use ripstop_scene::export;

const CELLS: u32 = 6;
const NODES: u32 = CELLS + 1;

/// A square sheet in the plane z = 0.
fn sheet() -> Topology {
    let node = |i: u32, j: u32| j * NODES + i;
    let uv = |node: u32| [(node % NODES) as f32 / CELLS as f32, (node / NODES) as f32 / CELLS as f32];
    let cells = (0..CELLS).flat_map(|j| (0..CELLS).map(move |i| (i, j)));
    let faces: Vec<[u32; 3]> = cells
        .flat_map(|(i, j)| {
            let [a, b, c, d] = [node(i, j), node(i + 1, j), node(i + 1, j + 1), node(i, j + 1)];
            [[a, b, c], [a, c, d]]
        })
        .collect();
    Topology {
        corner_uv: faces.iter().map(|face| face.map(uv)).collect(),
        torn: vec![[false; 3]; faces.len()],
        parent: (0..NODES * NODES).collect(),
        held: (0..NODES * NODES).map(|node| node >= NODES * CELLS).collect(),
        faces,
    }
}

/// Opens the middle line at row `j`: the faces right of it get a node of their own.
fn open_middle(topology: &mut Topology, j: u32) {
    let (old, new) = (j * NODES + CELLS / 2, topology.parent.len() as u32);
    for (face, uv) in topology.faces.iter_mut().zip(&topology.corner_uv) {
        let right = uv.iter().map(|uv| uv[0]).sum::<f32>() > 1.5;
        face.iter_mut().filter(|node| right && **node == old).for_each(|node| *node = new);
    }
    topology.parent.push(old);
    topology.held.push(topology.held[old as usize]);
}

/// Splits a face at its middle: one node and two faces more.
fn split_face(topology: &mut Topology, face: usize) {
    let ([a, b, c], uv, middle) = (topology.faces[face], topology.corner_uv[face], topology.parent.len() as u32);
    let centre = [0, 1].map(|k| (uv[0][k] + uv[1][k] + uv[2][k]) / 3.0);
    topology.faces[face] = [a, b, middle];
    topology.faces.extend([[b, c, middle], [c, a, middle]]);
    topology.corner_uv[face] = [uv[0], uv[1], centre];
    topology.corner_uv.extend([[uv[1], uv[2], centre], [uv[2], uv[0], centre]]);
    topology.torn.extend([[false; 3]; 2]);
    topology.parent.push(a);
    topology.held.push(false);
}

/// A sheet that swings for three frames, tears for four, is refined, is remapped without any change of size, and swings on.
fn frames() -> Vec<Frame> {
    let mut topology = Arc::new(sheet());
    (1..=14)
        .map(|index| {
            let time = f64::from(index) / 24.0;
            match index {
                4..=7 => open_middle(Arc::make_mut(&mut topology), index - 4),
                9 => split_face(Arc::make_mut(&mut topology), 11),
                12 => Arc::make_mut(&mut topology).corner_uv.iter_mut().for_each(|face| face[0][0] += 0.01),
                _ => {}
            }
            let nodes = topology.parent.len() as u32;
            let swing = |node: u32| triangle_wave(0.37 * node as f32 + 2.0 * time as f32);
            Frame {
                index,
                time,
                points: (0..nodes).map(|n| [n as f32 / 7.0, swing(n), -0.1 * swing(n + 1)]).collect(),
                velocities: (0..nodes).map(|n| [0.0, swing(n + 2) * 3.0, 1e-9 * n as f32]).collect(),
                strain: (0..nodes).map(|n| swing(n).abs() * 1e-3).collect(),
                plastic: (0..nodes).map(|n| (n % 5) as f32 * 1e-7).collect(),
                topology: topology.clone(),
                bodies: vec![STILL, turned(time as f32)],
                yarns: Some(yarns(index, time as f32)),
            }
        })
        .collect()
}

const STILL: BodyPose = BodyPose { position: [0.5, -2.0, 0.25], rotation: [0.0, 0.6, 0.0, 0.8] };

/// A body that falls and turns about x, more than once around.
fn turned(time: f32) -> BodyPose {
    let (s, c) = sin_cos_of_twice(4.0 * time);
    BodyPose { position: [0.1, 1.0 - time, -0.3], rotation: [s, 0.0, 0.0, c] }
}

/// Sine and cosine of 2 atan t.
fn sin_cos_of_twice(t: f32) -> (f32, f32) {
    (2.0 * t / (1.0 + t * t), (1.0 - t * t) / (1.0 + t * t))
}

/// Three warps; the second is cut in frame 5, and its end in frame 8 is alone, so that it is drawn no more.
fn yarns(index: u32, time: f32) -> Yarns {
    let curve = |yarn, first, count| Curve { warp: yarn != 2, yarn, first, count };
    let curves = match index {
        0..5 => vec![curve(0, 0, 6), curve(1, 0, 6), curve(2, 0, 4)],
        5..8 => vec![curve(0, 0, 6), curve(1, 0, 3), curve(1, 3, 3), curve(2, 0, 4)],
        _ => vec![curve(0, 0, 6), curve(1, 0, 3), curve(2, 0, 4)],
    };
    let points: Vec<[f32; 3]> = curves
        .iter()
        .flat_map(|c| (c.first..c.first + c.count).map(|s| [s as f32, c.yarn as f32, time * s as f32]))
        .collect();
    Yarns {
        spacing: 1.0,
        thickness: 0.1,
        crossings: [6, 4],
        curves,
        velocities: points.iter().map(|p| [0.0, 0.0, p[0]]).collect(),
        held: vec![false; points.len()],
        passed: Vec::new(),
        loose: points.iter().map(|p| if p[1] == 1.0 && index >= 4 { 2 } else { 0 }).collect(),
        points,
    }
}

/// Two bodies whose names USD would take for one and the same word.
fn bodies() -> Vec<BodySurface> {
    ["a ball", "a_ball"].map(tetrahedron).to_vec()
}

fn tetrahedron(name: &str) -> BodySurface {
    BodySurface {
        name: name.into(),
        colour: None,
        points: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        triangles: vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
    }
}

/// A triangle wave of height 1 and length 4.
fn triangle_wave(x: f32) -> f32 {
    1.0 - ((x.rem_euclid(4.0)) - 2.0).abs()
}

fn expected(frames: &[Frame], bodies: &[BodySurface]) -> serde_json::Value {
    let frames: Vec<serde_json::Value> = frames
        .iter()
        .map(|frame| {
            let placed = bodies.iter().zip(&frame.bodies).map(|(body, pose)| body.placed(pose).collect::<Vec<_>>());
            serde_json::json!({
                "index": frame.index, "points": frame.points, "velocities": frame.velocities,
                "faces": frame.topology.faces, "st": frame.topology.corner_uv.as_flattened(),
                "strain": frame.strain, "plastic": frame.plastic, "parent": frame.topology.parent,
                "bodies": placed.collect::<Vec<_>>(),
                "yarns": frame.yarns.as_ref().map(|yarns| serde_json::json!({
                    "counts": yarns.curves.iter().map(|c| c.count).collect::<Vec<_>>(),
                    "family": yarns.curves.iter().map(|c| u32::from(!c.warp)).collect::<Vec<_>>(),
                    "yarn": yarns.curves.iter().map(|c| c.yarn).collect::<Vec<_>>(),
                    "first": yarns.curves.iter().map(|c| c.first).collect::<Vec<_>>(),
                    "points": yarns.points, "velocities": yarns.velocities, "loose": yarns.loose,
                })),
            })
        })
        .collect();
    serde_json::json!({ "frames_per_second": 24.0, "frames": frames })
}

/// A Python that has Pixar's library, installed if need be; or why there is none.
fn python_with_usd() -> Result<PathBuf, String> {
    let run = |command: &mut Command| {
        let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(()) } else { Err(format!("{command:?}: {text}")) }
    };
    let venv = Path::new(env!("CARGO_TARGET_TMPDIR")).join("usd-venv");
    let python = venv.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let imports = |python: &Path| run(Command::new(python).args(["-c", "from pxr import Usd"]));
    if imports(&python).is_err() {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet", "usd-core"]))?;
        imports(&python)?;
    }
    Ok(python)
}

#[test]
fn pixars_library_sees_what_was_simulated() {
    let python = match python_with_usd() {
        Ok(python) => python,
        Err(cause) if env::var("CI").is_ok_and(|ci| ci == "true") => panic!("cannot install usd-core: {cause}"),
        Err(cause) => {
            eprintln!("SKIPPED: no usd-core, so nobody opened the USD file. {cause}");
            return;
        }
    };
    let folder = tempfile::tempdir().unwrap();
    let [cache, usd, json] = ["frames.bin", "cloth.usda", "expected.json"].map(|name| folder.path().join(name));
    let check = |frames: &[Frame], bodies: &[BodySurface], sizes: usize| {
        let header = CacheHeader { scene: "a \"quoted\" sheet\\".into(), frames_per_second: 24.0 };
        let mut writer = CacheWriter::create_with(&cache, header, bodies).unwrap();
        frames.iter().for_each(|frame| writer.append(frame).unwrap());
        export::usda(&mut CacheReader::open(&cache).unwrap(), &usd, &mut |_| {}).unwrap();
        fs::write(&json, expected(frames, bodies).to_string()).unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/usd_check.py");
        let output = Command::new(&python).arg(script).args([&usd, &json]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
        assert!(text.contains(&format!("{} frames, {sizes} different sizes", frames.len())), "{text}");
        println!("{text}");
    };
    let frames = frames();
    let sheet =
        |frames: &[Frame]| frames.iter().cloned().map(|frame| Frame { yarns: None, ..frame }).collect::<Vec<_>>();
    check(&sheet(&frames[..3]), &[], 1); // one topology: plain values instead of samples
    check(&frames[..1], &bodies(), 1);
    check(&frames, &bodies(), 6); // before, four tears, one split
}
