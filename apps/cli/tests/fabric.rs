//! `ripstop fabric`: what it lists, shows, imports and refuses.

mod support;

use support::{Folder, change, stderr, strip};

/// Measurements of no fabric, in the layout of those that there are.
const MEASURED: &str = r#"{
    "density": 0.25,
    "stretching": [
        [200.0, 10.0, 900.0, 50.0],
        [230.0, 40.0, 950.0, -5.0],
        [220.0, 40.0, 950.0, 60.0],
        [220.0, 60.0, 960.0, 80.0],
        [220.0, 40.0, 950.0, 70.0],
        [220.0, 40.0, 950.0, 70.0]
    ],
    "bending": [
        [6e-5, 6e-5, 6e-5, 6e-5, 2e-5],
        [7e-5, 6e-5, 6e-5, 7e-5, 3e-5],
        [9e-5, 1e-4, 1e-4, 1e-4, 8e-5]
    ]
}
"#;

#[test]
fn fabrics_are_listed_and_shown() {
    let folder = Folder::new();
    insta::assert_snapshot!("fabric_list", folder.succeed(&["fabric", "list"]));
    insta::assert_snapshot!("fabric_show", folder.succeed(&["fabric", "show", "tshirt"]));
    let text = folder.succeed(&["fabric", "show", "silk", "-o", "silk.svg"]);
    assert!(text.contains("drawn: silk.svg"), "{text}");
    let plot = folder.text("silk.svg");
    assert!(plot.starts_with("<svg") && plot.contains("45° to the weft") && plot.contains("load [N/m]"), "{plot}");
}

#[test]
fn measurements_become_a_fabric_that_scenes_can_use() {
    let folder = Folder::new();
    folder.write("mine.json", MEASURED);
    let output = folder.run(&["fabric", "import", "mine.json", "-o", "mine.toml"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("below zero in the rows of 0°"), "{}", stderr(&output));
    insta::assert_snapshot!("fabric_imported", folder.text("mine.toml"));
    // Shown and simulated alike from either file.
    assert_eq!(folder.succeed(&["fabric", "show", "mine.toml"]), folder.succeed(&["fabric", "show", "mine.json"]));
    let hash = |file: &str| {
        folder.write(
            "strip.toml",
            strip("density = 0.2", &format!("file = \"{file}\"\n[model.membrane]\n[integrator.implicit]")),
        );
        folder.succeed(&["run", "strip.toml", "--format", "none"]);
        folder.read("out/strip/frames.bin")
    };
    assert!(hash("mine.toml") == hash("mine.json"));
}

#[test]
fn bad_fabrics_are_refused() {
    let mut page = String::new();
    let mut refuse = |title: &str, folder: &Folder, args: &[&str]| {
        let output = folder.run(args);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{title}: {text}");
        assert!(text.starts_with("error: ") && text.lines().count() >= 2, "{title}: {text}");
        page += &format!("# {title}\n{text}\n");
    };
    let folder = Folder::new();
    let mut measured = |title: &str, text: &str| {
        folder.write("bad.json", text);
        refuse(title, &folder, &["fabric", "import", "bad.json", "-o", "out.toml"]);
        assert!(!folder.has("out.toml"));
    };
    measured("missing key", &change(MEASURED, "\"density\": 0.25,", ""));
    measured("wrong shape: rows", &change(MEASURED, "[220.0, 60.0, 960.0, 80.0],", ""));
    measured("wrong shape: columns", &change(MEASURED, "[220.0, 60.0, 960.0, 80.0]", "[220.0, 60.0, 960.0]"));
    measured("wrong shape: bending", &change(MEASURED, "6e-5, 6e-5, 2e-5]", "6e-5, 2e-5]"));
    measured("not a number", &change(MEASURED, "230.0", "NaN"));
    measured("text for a number", &change(MEASURED, "230.0", "\"soft\""));
    measured("negative density", &change(MEASURED, "0.25", "-0.25"));
    measured("negative stiffness", &change(MEASURED, "230.0", "-230.0"));
    measured("negative bending", &change(MEASURED, "7e-5, 3e-5", "-7e-5, 3e-5"));
    measured("not positive definite", &change(MEASURED, "200.0, 10.0", "200.0, 600.0"));
    measured("not JSON", "density = 0.25\n");
    measured("empty", "");
    refuse("missing file", &folder, &["fabric", "import", "nowhere.json"]);
    refuse("missing fabric file", &folder, &["fabric", "show", "nowhere.toml"]);
    refuse("unknown name", &folder, &["fabric", "show", "dennim"]);
    folder.write("scene.toml", support::STRIP);
    refuse("a scene", &folder, &["fabric", "show", "scene.toml"]);
    folder.write("odd.toml", "title = \"x\"\n[fabric]\nname = \"denim\"\n");
    refuse("a fabric of a fabric", &folder, &["fabric", "show", "odd.toml"]);
    folder.write("odd.toml", "title = \"x\"\n[fabric]\nfriction = -1\n");
    refuse("negative friction", &folder, &["fabric", "show", "odd.toml"]);
    folder.write("odd.json", MEASURED);
    refuse("no such folder", &folder, &["fabric", "import", "odd.json", "-o", "no/such/out.toml"]);
    let mut scene = |title: &str, fabric: &str| {
        folder.write("strip.toml", strip("density = 0.2", fabric));
        refuse(title, &folder, &["check", "strip.toml"]);
    };
    scene("scene: unknown name", "name = \"dennim\"");
    scene("scene: missing file", "file = \"nowhere.toml\"");
    scene("scene: name and file", "name = \"denim\"\nfile = \"odd.toml\"");
    scene("scene: Poisson's ratio", "[fabric.elasticity.isotropic]\nyoung = 100\npoisson = 2");
    scene("scene: too many numbers", "[fabric.bending]\ncurvatures = [0, 1, 2, 3, 4, 5]\nstiffness = []");
    scene("scene: unknown elasticity", "[fabric.elasticity.isotopic]\nyoung = 100");
    insta::assert_snapshot!("bad_fabrics", page);
}
