//! `ripstop verify`: crossings in made caches and in a run, exit codes, and what is said of folders without a good cache.

mod support;

use ripstop_scene::cache::{CacheHeader, CacheWriter, Frame, Topology};
use std::sync::Arc;
use support::{Folder, STRIP, stderr, stdout};

/// Two faces: one flat, one upright whose lowest corner is at this height over it.
fn frame(index: u32, height: f32) -> Frame {
    let topology = Topology {
        faces: vec![[0, 1, 2], [3, 4, 5]],
        corner_uv: vec![[[0.0; 2]; 3]; 2],
        torn: vec![[false; 3]; 2],
        parent: (0..6).collect(),
        held: vec![false; 6],
    };
    let flat = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    let upright = [[0.25, 0.25, height], [0.25, 0.25, height + 1.0], [0.5, 0.25, height + 1.0]];
    Frame {
        index,
        time: f64::from(index) / 24.0,
        points: [flat, upright].concat(),
        velocities: vec![[0.0; 3]; 6],
        strain: vec![0.0; 6],
        plastic: vec![0.0; 6],
        topology: Arc::new(topology),
        bodies: vec![],
        yarns: None,
    }
}

/// A cache in `folder/name` with the upright face at these heights.
fn write(folder: &Folder, name: &str, heights: &[f32]) {
    folder.write(name, []);
    let header = CacheHeader { scene: "made".into(), frames_per_second: 24.0 };
    let mut writer = CacheWriter::create(folder.path(name), header).unwrap();
    for (index, height) in heights.iter().enumerate() {
        writer.append(&frame(index as u32, *height)).unwrap();
    }
    writer.flush().unwrap();
}

#[test]
fn a_run_without_crossings_ends_with_0() {
    let folder = Folder::new();
    folder.write("strip.toml", STRIP);
    folder.succeed(&["run", "strip.toml", "--format", "none"]);
    assert_eq!(folder.succeed(&["verify", "out/strip"]), "strip: no crossings in 7 frames\n");
}

#[test]
fn a_run_that_looks_from_outside_tells_what_it_does_not_know_of() {
    let scene = r#"
title = "Woven cloth that falls onto its own half, through which nothing keeps it from passing"

[time]
duration = 0.2
step = 0.0042

[cloth.woven]
yarns = [12, 24]
on_itself = false

[[grip]]
name = "one"
where = { side = "bottom" }

[[grip]]
name = "other"
where = { side = "top" }
keys = [{ t = 0 }, { t = 0.1, move = [0, -0.022, 0.004] }, { t = 0.2, move = [0, -0.022, -0.004] }]
"#;
    let folder = Folder::new();
    folder.write("fold.toml", scene);
    let run = ["run", "fold.toml", "--format", "none"];
    folder.succeed(&run);
    assert_eq!(folder.succeed(&["verify", "out/fold"]), "fold: no crossings in 7 frames\n");
    let blind = folder.summary("out/fold");
    folder.succeed(&[&run[..], &["--verify"]].concat());
    let output = folder.run(&["verify", "out/fold"]);
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    assert_eq!(folder.summary("out/fold")["state_hash"], blind["state_hash"], "looking changes nothing");
}

#[test]
fn crossings_are_told_frame_by_frame_and_end_with_1() {
    let folder = Folder::new();
    write(&folder, "made/frames.bin", &[0.5, -0.25, 0.1, -0.5]);
    let output = folder.run(&["verify", "made"]);
    assert_eq!(output.status.code(), Some(1));
    // The upright face is 0.25 h / (h + 1) wide at the flat one.
    assert_eq!(
        stdout(&output),
        "frame 1 (0.042 s): crossings: 1 with itself; first faces 0 and 1 at 0.2812, 0.2500, 0.0000\n\
         frame 3 (0.125 s): crossings: 1 with itself; first faces 0 and 1 at 0.3125, 0.2500, 0.0000\n\
         made: 2 crossings with itself, 0 with bodies, in 2 of 4 frames\n"
    );
    let output = folder.run(&["verify", "made", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let page: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(page[0]["totals"]["itself"], 2);
    assert_eq!(page[0]["bad_frames"][1]["first"]["faces"], serde_json::json!([0, 1]));
    assert_eq!(page[0]["bad_frames"][1]["frame"], 3);
}

#[test]
fn many_bad_frames_are_not_all_told_but_all_in_json() {
    let folder = Folder::new();
    write(&folder, "made/frames.bin", &[-0.5; 33]);
    let output = folder.run(&["verify", "made"]);
    let text = stdout(&output);
    assert_eq!(text.lines().count(), 22, "{text}");
    assert!(text.contains("… and 13 frames more"), "{text}");
    let page: serde_json::Value = serde_json::from_str(&stdout(&folder.run(&["verify", "made", "--json"]))).unwrap();
    assert_eq!(page[0]["bad_frames"].as_array().unwrap().len(), 33);
}

#[test]
fn folders_without_a_good_cache_are_errors() {
    let folder = Folder::new();
    folder.write("empty/notes.txt", "");
    write(&folder, "part/frames.bin.part", &[0.5]);
    write(&folder, "none/frames.bin", &[]);
    write(&folder, "cut/frames.bin", &[0.5, 0.5]);
    write(&folder, "damaged/frames.bin", &[0.5, 0.5]);
    let bytes = folder.read("cut/frames.bin");
    folder.write("cut/frames.bin", &bytes[..bytes.len() - 3]);
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 1;
    folder.write("damaged/frames.bin", flipped);
    folder.write("other/frames.bin", "not at all a cache, but some text");
    let mut page = String::new();
    for name in ["nowhere", "empty", "part", "none", "cut", "damaged", "other"] {
        let output = folder.run(&["verify", name]);
        assert_eq!(output.status.code(), Some(2), "{name}: {}", stdout(&output));
        assert_eq!(stdout(&output), "");
        page += &format!("$ ripstop verify {name}\n{}\n", stderr(&output));
    }
    insta::assert_snapshot!("verify_errors", page);
}
