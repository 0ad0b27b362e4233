//! What the program says of itself, and what `check` says of a scene.

mod support;

use support::{Folder, STRIP, stderr, stdout, without_numbers};

#[test]
fn help() {
    let folder = Folder::new();
    for (name, args) in [
        ("help", vec!["--help"]),
        ("help_run", vec!["run", "--help"]),
        ("help_render", vec!["render", "--help"]),
        ("help_sheet", vec!["sheet", "--help"]),
        ("help_verify", vec!["verify", "--help"]),
        ("help_check", vec!["check", "--help"]),
        ("help_scenes", vec!["scenes", "--help"]),
        ("help_fabric", vec!["fabric", "--help"]),
        ("help_fabric_show", vec!["fabric", "show", "--help"]),
        ("help_fabric_import", vec!["fabric", "import", "--help"]),
    ] {
        insta::assert_snapshot!(name, folder.succeed(&args));
    }
}

#[test]
fn nothing_asked_for_is_an_error_with_the_help() {
    let output = Folder::new().run(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("Usage: ripstop"), "{}", stderr(&output));
}

#[test]
fn wrong_arguments_end_with_2_and_name_the_right_ones() {
    let folder = Folder::new();
    folder.write("strip.toml", STRIP);
    let mut page = String::new();
    for args in [
        &["rnu", "strip.toml"][..],
        &["run"],
        &["run", "strip.toml", "--frame", "3"],
        &["run", "strip.toml", "--frames", "0"],
        &["run", "strip.toml", "--threads", "many"],
        &["run", "strip.toml", "--format", "usd"],
    ] {
        let output = folder.run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        page += &format!("$ ripstop {}\n{}\n", args.join(" "), stderr(&output));
    }
    assert!(!folder.has("out"));
    insta::assert_snapshot!("wrong_arguments", page);
}

#[test]
fn check_says_what_a_scene_would_do_and_runs_nothing() {
    let folder = Folder::new();
    folder.write("strip.toml", STRIP);
    let text = folder.succeed(&["check", "strip.toml"]);
    // The numbers that follow from the scene file: 9 × 5 nodes, 8 × 4 cells of two faces, n + f − 1 edges.
    assert!(text.contains("45 nodes, 108 edges, 64 faces, 0.500 m²"), "{text}");
    assert!(text.contains("grip `held`: 5 nodes, holds") && text.contains("moves by 2 keyframes"), "{text}");
    assert!(text.contains("7 frames of 34 steps"), "0.2 s at 30 a second and the start: {text}");
    assert!(!folder.has("out"), "check writes nothing");
    insta::assert_snapshot!("check", without_numbers(&text));
}

#[test]
fn check_warns_of_a_step_that_may_blow_up() {
    let folder = Folder::new();
    folder.write("strip.toml", STRIP);
    let stable = folder.succeed(&["check", "strip.toml"]);
    let limit: f64 = stable.split("stable up to about ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    // A frame of two steps, so that each of them is 1.5 times the limit.
    let scene = support::strip("step = 1e-3", &format!("fps = {}\nstep = {}", 1.0 / (3.0 * limit), 1.5 * limit));
    folder.write("strip.toml", scene);
    let text = folder.succeed(&["check", "strip.toml"]);
    assert!(text.contains("warning: a step of") && text.contains("it may blow up"), "{text}");
}

#[test]
fn scenes_are_listed_with_their_titles() {
    let folder = Folder::new();
    folder.write("scenes/b.toml", STRIP);
    folder.write("scenes/group/a.toml", support::strip("A strip pulled at both ends", "Another"));
    folder.write("scenes/notes.txt", "no scene");
    let output = folder.run(&["scenes"]);
    assert!(output.status.success());
    assert_eq!(stdout(&output), "scenes/b.toml        A strip pulled at both ends\nscenes/group/a.toml  Another\n");
}

#[test]
fn an_unmet_expectation_ends_with_1_and_is_told() {
    let folder = Folder::new();
    folder.write("strip.toml", format!("{STRIP}\n[expect]\npieces = 3\narea_change = {{ max = 1e-9 }}\n"));
    let output = folder.run(&["run", "strip.toml", "--format", "none"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("1 of 2 expectations met"), "{}", stdout(&output));
    assert!(stdout(&output).contains("not met: pieces is 1.0000, expected 3"), "{}", stdout(&output));
    let outcomes = folder.summary("out/strip")["expectations"].clone();
    assert_eq!((outcomes[0]["met"].as_bool(), outcomes[1]["met"].as_bool()), (Some(false), Some(true)));
}

#[test]
fn a_grip_that_jumps_is_told_before_it_runs() {
    let folder = Folder::new();
    folder.write("strip.toml", support::strip("  { t = 0.0 },\n", ""));
    assert!(folder.succeed(&["check", "strip.toml"]).contains("warning: grip `pulled` jumps in its first step"));
    let output = folder.run(&["run", "strip.toml", "--format", "none", "--frames", "1"]);
    assert!(stderr(&output).contains("warning: grip `pulled` jumps in its first step"), "{}", stderr(&output));
    folder.write("strip.toml", STRIP);
    assert!(!folder.succeed(&["check", "strip.toml"]).contains("jumps"));
}
