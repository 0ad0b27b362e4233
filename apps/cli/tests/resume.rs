//! A run that was killed goes on as if nothing had happened, and threads change no bit.

mod support;

use std::time::{Duration, Instant};
use support::{Folder, change};

/// About 400 nodes that tear by load and by hand, over 61 frames.
const TORN: &str = r#"title = "A sheet that tears while it is killed"

[time]
duration = 0.4
fps = 150
step = 7e-4

[cloth.irregular]
size = [1.0, 0.7]
spacing = 0.04
seed = 3

[fabric]
density = 0.3
stretch = 100.0
shear = 10.0
damping = 4e-4

[air.wind]
keys = [{ t = 0.0, velocity = [0, 0, 3] }]
gust = { amount = 0.5, period = 0.2, length = 0.5 }

[[grip]]
name = "held"
where = { side = "left" }

[[grip]]
name = "pulled"
where = { side = "right" }
keys = [{ t = 0.0 }, { t = 0.4, move = [0.5, 0, 0], turn = [40, 0, 0] }]
release = 0.37

[[hand]]
t = 0.02
path = [[0.5, 0.0], [0.5, 0.2]]

[plastic]
yield_strain = 0.12
flow = 0.5

[tear.criterion.separation_tensor]
strength = 0.2
"#;

/// Kills a run once `enough` says so; it must not have ended by itself.
fn kill_when(folder: &Folder, args: &[&str], enough: impl Fn() -> bool) {
    let mut run = folder.command(args).spawn().unwrap();
    let begun = Instant::now();
    while !enough() {
        assert!(run.try_wait().unwrap().is_none(), "ended before it could be killed");
        assert!(begun.elapsed() < Duration::from_secs(120), "never came so far");
        std::thread::sleep(Duration::from_millis(1));
    }
    run.kill().unwrap();
    assert!(run.wait().unwrap().code().is_none(), "ended by itself before the kill");
}

/// The columns of `stats.csv` that are not seconds.
fn without_seconds(stats: &str) -> Vec<String> {
    let head: Vec<&str> = stats.lines().next().unwrap().split(',').collect();
    let kept: Vec<usize> = (0..head.len()).filter(|&i| !head[i].starts_with("seconds_")).collect();
    assert!(kept.len() > 10 && kept.len() < head.len());
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells.len(), head.len(), "{line}");
        kept.iter().map(|&i| cells[i]).collect::<Vec<_>>().join(",")
    };
    stats.lines().map(row).collect()
}

#[test]
fn a_killed_run_resumed_is_the_same_as_one_that_was_not() {
    killed_and_resumed(TORN);
}

#[test]
fn so_it_is_with_tables_that_follow_from_the_cloth() {
    // Colours, order and coarser graphs of position-based integrators are not in the checkpoint.
    let position = |table: &str| change(TORN, "[air.wind]", &format!("{table}\n\n[air.wind]"));
    killed_and_resumed(&position("[integrator.xpbd]\nsubsteps = 3\nlevels = 3"));
    killed_and_resumed(&position("[integrator.pbd]\nsweeps = 5\nlimit = 0.3"));
}

#[test]
fn so_it_is_in_the_middle_of_a_cut() {
    let blade = r#"
[[body]]
name = "blade"
shape = { hull = { points = [[0, 0, -0.3], [0, 0, 0.3], [-0.003, 0.05, -0.3], [0.003, 0.05, -0.3], [-0.003, 0.05, 0.3], [0.003, 0.05, 0.3]] } }
sharp = { below = 40 }
place = [0.45, 0.72, 0]
keys = [{ t = 0 }, { t = 0.4, move = [0, -0.5, 0] }]
"#;
    let cloth = change(TORN, "shear = 10.0", "shear = 10.0\ncut_resistance = 4.0");
    let cloth =
        change(&change(&cloth, "step = 7e-4", "step = 1.2e-3"), "[air.wind]", "[integrator.implicit]\n\n[air.wind]");
    let events = killed_and_resumed(&format!("{cloth}{blade}"));
    assert!(events.contains("\"body\":\"blade\",\"cause\":\"cut\""), "{events}");
}

#[test]
fn so_it_is_with_seams_that_are_half_undone() {
    let seams = r#"
[[seam]]
name = "weak"
path = [[0.3, 0.0], [0.35, 0.7]]
strength = 0.6

[[seam]]
name = "unpicked"
path = [[0.7, 0.7], [0.65, 0.0]]
unpick = { from = 0.05, to = 0.35, reverse = true }

[[seam]]
name = "late"
path = [[0.4, 0.3], [0.6, 0.35]]
opens_at = 0.3

[tear.noise]
scale = 0.1
amount = 0.4

[[tear.untearable]]
where = { disc = { at = [0.5, 0.5], radius = 0.1 } }
"#;
    let events = killed_and_resumed(&format!("{TORN}{seams}"));
    for cause in ["\"seam\"", "\"seam_unpick\"", "\"seam_opens_at\"", "\"separation_tensor\"", "\"hand\""] {
        assert!(events.contains(&format!("\"cause\":{cause}")), "{cause} is among the causes");
    }
    assert!(events.contains("\"seam\":\"unpicked\""), "seams are named");
}

#[test]
fn so_it_is_with_nodes_that_have_slid() {
    // Tears through triangles and exact cuts move nodes within the material.
    let torn = change(TORN, "[air.wind]", "[model.membrane]\n\n[integrator.implicit]\n\n[air.wind]");
    let torn = change(&torn, "[plastic]\nyield_strain = 0.12\nflow = 0.5\n", "[tear]\nopening = \"through\"\n");
    let torn = change(&torn, "path = [[0.5, 0.0], [0.5, 0.2]]", "path = [[0.51, -0.1], [0.47, 0.22]]\ncut = true");
    let table = "directional]\nstrengths = [{ angle = 0, strength = 9 }, { angle = 90, strength = 12 }]";
    let events = killed_and_resumed(&change(&torn, "separation_tensor]\nstrength = 0.2", table));
    assert!(events.contains("\"cause\":\"directional\""));
}

#[test]
fn so_it_is_with_woven_cloth() {
    let scene = r#"
title = "Woven cloth pulled apart, with a load that hangs on it"

[time]
duration = 2
step = 0.0042

[cloth.woven]
yarns = [30, 30]
weave = { twill = [2, 1] }

[[grip]]
name = "left"
where = { side = "left" }

[[body]]
name = "bar"
shape = { box = { sides = [0.001, 0.03, 0.001] } }
place = [0.029, 0.0145, 0]
holds = { side = "right" }
keys = [{ t = 0 }, { t = 1.2, move = [0.012, 0, 0] }]

[[body]]
name = "load"
shape = { ball = { radius = 0.002 } }
place = [0.015, -0.0025, 0]
holds = { disc = { at = [0.015, 0], radius = 0.0021 } }
mass = 3e-5

[expect]
crossings = { min = 0 }
"#;
    let events = killed_and_resumed(scene);
    assert!(events.contains("\"cause\":\"yarn_tension\"") && events.contains("\"yarn\":\"weft\""));
}

/// What happened, if being killed changed nothing.
fn killed_and_resumed(torn: &str) -> String {
    let folder = Folder::new();
    folder.write("torn.toml", torn);
    folder.succeed(&["run", "torn.toml", "-o", "whole"]);
    let whole = folder.summary("whole");
    assert!(whole["start"]["nodes"].as_u64().unwrap() >= 400, "{}", whole["start"]);
    assert!(whole["tears"].as_u64().unwrap() > 20, "it tears: {}", whole["tears"]);
    assert_eq!(whole["frames"], 61);

    let length = |name: &str| std::fs::metadata(folder.path(name)).map_or(0, |m| m.len());
    let all = length("whole/frames.bin");
    // Once before anything is kept, then after a fifth and two fifths of the way: far enough from the end to be caught.
    for (share, resumed) in [(0, false), (1, true), (2, true)] {
        let mut args = vec!["run", "torn.toml", "-o", "killed"];
        if resumed && folder.has("killed/checkpoint.bin") {
            args.push("--resume");
        }
        kill_when(&folder, &args, || {
            let far = length("killed/frames.bin.part") > share * all / 5;
            far && (share == 0 || folder.has("killed/checkpoint.bin"))
        });
        for name in ["summary.json", "cloth.usda", "frames.bin", "events.jsonl", "stats.csv"] {
            assert!(!folder.has(&format!("killed/{name}")), "{name} looks finished after a kill");
        }
        assert!(folder.has("killed/frames.bin.part"));
    }
    folder.succeed(&["run", "torn.toml", "-o", "killed", "--resume"]);

    let killed = folder.summary("killed");
    assert_eq!(killed["state_hash"], whole["state_hash"]);
    for name in ["frames.bin", "events.jsonl", "cloth.usda"] {
        let same = folder.read(&format!("killed/{name}")) == folder.read(&format!("whole/{name}"));
        assert!(same, "{name} differs");
    }
    let stats = |run: &str| without_seconds(&folder.text(&format!("{run}/stats.csv")));
    assert_eq!(stats("killed"), stats("whole"));
    assert_eq!(folder.files("killed"), folder.files("whole"), "nothing is left behind");
    // Everything else in the summary is the same too.
    let timeless = |mut summary: serde_json::Value| {
        let fields = summary.as_object_mut().unwrap();
        assert!(fields.remove("seconds").is_some() && fields.remove("real_time_ratio").is_some());
        summary
    };
    assert_eq!(timeless(killed), timeless(whole));
    folder.text("whole/events.jsonl")
}

#[test]
fn threads_change_no_bit() {
    // Several chunks of 1024 rows, of nodes as well as of edges and faces; soft, so that a few long steps do.
    let changes = [
        ("[cloth.irregular]", "[cloth.grid]"),
        ("spacing = 0.04\nseed = 3", "nodes = [90, 60]"),
        ("duration = 0.4\nfps = 150\nstep = 7e-4", "duration = 0.003\nfps = 1000\nstep = 1e-4"),
        ("stretch = 100.0\nshear = 10.0\ndamping = 4e-4", "stretch = 20.0\nshear = 1.0\ndamping = 1e-4"),
        ("{ t = 0.4, move = [0.5, 0, 0], turn = [40, 0, 0] }", "{ t = 0.003, move = [0.01, 0, 0] }"),
        ("t = 0.02\npath = [[0.5, 0.0], [0.5, 0.2]]", "t = 0.0005\npath = [[0.5, 0.0], [0.5, 0.7]]"),
    ];
    let large = changes.iter().fold(TORN.to_string(), |scene, (from, to)| change(&scene, from, to));
    let folder = Folder::new();
    folder.write("large.toml", large);
    for threads in ["1", "2"] {
        folder.succeed(&["run", "large.toml", "-o", threads, "--threads", threads, "--format", "none"]);
    }
    let one = folder.summary("1");
    assert!(one["start"]["nodes"].as_u64().unwrap() > 5000, "{}", one["start"]);
    let events = folder.text("1/events.jsonl");
    assert!(events.contains("\"hand\"") && events.contains("\"separation_tensor\""), "by hand and by load");
    assert_eq!(folder.summary("2")["state_hash"], one["state_hash"]);
    assert_eq!(folder.text("2/events.jsonl"), events);
    assert!(folder.read("2/frames.bin") == folder.read("1/frames.bin"));
}

#[test]
fn the_summary_tells_all_it_should() {
    let folder = Folder::new();
    folder.write("torn.toml", format!("{TORN}\n[expect]\ntears = {{ min = 5 }}\n"));
    folder.succeed(&["run", "torn.toml", "--format", "none"]);
    let summary = folder.summary("out/torn");
    let number = |path: &str| {
        summary.pointer(path).unwrap_or_else(|| panic!("no {path}")).as_f64().unwrap_or_else(|| panic!("{path}"))
    };
    let list = |path: &str| -> Vec<f64> {
        summary.pointer(path).unwrap().as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
    };
    assert_eq!(summary["scene"], "torn");
    assert_eq!(summary["title"], "A sheet that tears while it is killed");
    assert_eq!(summary["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(summary["state_hash"].as_str().unwrap().len(), 16);
    assert_eq!(number("/frames"), 61.0);
    // Faces are kept, nodes and pieces only grow, and each piece has an area.
    assert_eq!(number("/start/faces"), number("/end/faces"));
    assert!(number("/end/nodes") > number("/start/nodes"));
    assert_eq!(number("/start/pieces"), 1.0);
    let areas = list("/piece_areas");
    assert_eq!(areas.len() as f64, number("/end/pieces"));
    assert!(areas.is_sorted_by(|a, b| a >= b), "largest first: {areas:?}");
    assert!((number("/start/area") - 0.7).abs() < 1e-12 && (areas.iter().sum::<f64>() - 0.7).abs() < 1e-9);
    assert!((number("/end/area") - 0.7).abs() < 1e-9);
    // One line of events.jsonl for each tear; the summary adds them up.
    let events: Vec<serde_json::Value> =
        folder.text("out/torn/events.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.len() as f64, number("/tears"));
    assert_eq!(number("/cuts"), 0.0);
    let length: f64 = events.iter().map(|e| e["length"].as_f64().unwrap()).sum();
    assert!((number("/torn_length") - length).abs() < 1e-9);
    let bins = list("/torn_histogram");
    assert_eq!(bins.len(), 18);
    assert!((bins.iter().sum::<f64>() - length).abs() < 1e-9);
    // The first tear is the one by hand.
    assert_eq!(events[0]["cause"], "hand");
    assert!((number("/first_tear/time") - 0.02).abs() < 7e-4);
    assert_eq!(number("/first_tear/node"), events[0]["node"].as_f64().unwrap());
    assert_eq!((list("/first_tear/uv").len(), list("/first_tear/place").len()), (2, 3));
    assert!((0.0..180.0).contains(&number("/first_tear/direction")));
    assert!(number("/largest_strain") > 0.2, "it tore at 0.2");
    for energy in ["stretch", "shear", "bend", "gravity", "kinetic"] {
        assert!(number(&format!("/energies/{energy}")).is_finite());
    }
    for stage in ["drive", "integrate", "measure", "tear", "follow", "record", "total"] {
        assert!(number(&format!("/seconds/{stage}")) >= 0.0);
    }
    assert!(number("/real_time_ratio") > 0.0);
    let outcome = &summary["expectations"][0];
    assert_eq!((&outcome["name"], &outcome["expected"]), (&"tears".into(), &"at least 5".into()));
    assert_eq!((outcome["value"].as_f64().unwrap(), &outcome["met"]), (number("/tears"), &true.into()));
}

#[test]
fn a_new_run_replaces_an_old_one() {
    let folder = Folder::new();
    folder.write("torn.toml", TORN);
    folder.succeed(&["run", "torn.toml", "--frames", "12"]);
    assert_eq!(folder.summary("out/torn")["frames"], 12);
    folder.succeed(&["run", "torn.toml", "--frames", "3", "--format", "obj,ply"]);
    assert_eq!(folder.summary("out/torn")["frames"], 3);
    assert!(!folder.has("out/torn/cloth.usda"), "the export of the old run must not look like this one's");
    assert_eq!((folder.files("out/torn/obj").len(), folder.files("out/torn/ply").len()), (3, 3));
    folder.succeed(&["run", "torn.toml", "--frames", "2", "--format", "none"]);
    assert_eq!(folder.files("out/torn"), ["events.jsonl", "frames.bin", "scene.toml", "stats.csv", "summary.json"]);
}
