//! Bad input ends with exit code 2 and a text that says place, cause and what to do. The texts are snapshots: a change
//! of one is a change of what users read.

mod support;

use ripstop_scene::cache::CacheReader;
use support::{Folder, STRIP, all_files, change, stderr, strip, without_numbers};

/// Collects what the program says about one bad input after another.
#[derive(Default)]
struct Page(String);

impl Page {
    fn add(&mut self, title: &str, output: &std::process::Output) {
        let text = stderr(output);
        assert_eq!(output.status.code(), Some(2), "{title}: {text}");
        assert!(text.starts_with("error: "), "{title}: {text}");
        assert!(!text.contains("panicked"), "{title}: {text}");
        assert!(text.lines().count() >= 2, "{title}: no advice in:\n{text}");
        self.0 += &format!("# {title}\n{text}\n");
    }

    /// Runs `scene` in `folder`: it must be refused before anything is written.
    fn refuse_in(&mut self, folder: &Folder, title: &str, scene: impl AsRef<[u8]>) {
        folder.write("strip.toml", scene);
        self.add(title, &folder.run(&["run", "strip.toml"]));
        assert!(!folder.has("out"), "{title}: a refused scene leaves no results");
    }

    fn refuse(&mut self, title: &str, scene: impl AsRef<[u8]>) {
        self.refuse_in(&Folder::new(), title, scene);
    }
}

#[test]
fn the_scene_without_faults_runs() {
    // Otherwise every refusal below could have another reason than the one it is about.
    let folder = Folder::new();
    folder.write("strip.toml", STRIP);
    folder.succeed(&["run", "strip.toml", "--format", "none"]);
    assert_eq!(folder.files("out/strip"), ["events.jsonl", "frames.bin", "scene.toml", "stats.csv", "summary.json"]);
}

#[test]
fn words() {
    let mut page = Page::default();
    page.refuse("unknown key", strip("strength = 0.3", "strenght = 0.3"));
    page.refuse("unknown key, nothing like it", strip("density = 0.2", "weight_per_area = 0.2"));
    page.refuse("unknown key of a policy", strip("opening = \"snap\"", "policy = { end_of_step = { runds = 2 } }"));
    page.refuse("unknown table", strip("[fabric]", "[fabrics]"));
    page.refuse("unknown key in a list", strip("{ t = 0.2, move", "{ t = 0.2, mov"));
    page.refuse("unknown kind", strip("[cloth.grid]", "[cloth.gird]"));
    page.refuse("unknown word", strip("opening = \"snap\"", "opening = \"snip\""));
    page.refuse("unknown side", strip("\"left\"", "\"port\""));
    page.refuse("unknown range key", format!("{STRIP}\n[expect]\ntears = {{ mni = 3 }}\n"));
    page.refuse("two kinds at once", format!("{STRIP}\n[tear.criterion.edge_strain]\nstrength = 1.0\n"));
    insta::assert_snapshot!("words", page.0);
}

#[test]
fn types() {
    let mut page = Page::default();
    page.refuse("text for a number", strip("step = 1e-3", "step = \"small\""));
    page.refuse("number for a text", strip("name = \"held\"", "name = 7"));
    page.refuse("two numbers for three", strip("move = [0.1, 0, 0]", "move = [0.1, 0]"));
    page.refuse("four numbers for two", strip("size = [1.0, 0.5]", "size = [1.0, 0.5, 3.0, 4.0]"));
    page.refuse("three numbers for two", strip("nodes = [9, 5]", "nodes = [9, 5, 2]"));
    page.refuse("five points for two", strip("{ side = \"left\" }", "{ box = [[0, 0], [1, 1, 1]] }"));
    page.refuse("word for a table", strip("opening = \"snap\"", "policy = \"end_of_step\""));
    page.refuse("part of a node", strip("nodes = [9, 5]", "nodes = [9, 5.5]"));
    page.refuse("fewer than no nodes", strip("nodes = [9, 5]", "nodes = [9, -5]"));
    page.refuse("number for a table", strip("{ side = \"left\" }", "3"));
    page.refuse("range of one", format!("{STRIP}\n[expect]\ntears = [3]\n"));
    page.refuse("range the wrong way round", format!("{STRIP}\n[expect]\ntears = [8, 2]\n"));
    insta::assert_snapshot!("types", page.0);
}

#[test]
fn missing_and_malformed() {
    let mut page = Page::default();
    page.refuse("missing key", strip("step = 1e-3\n", ""));
    page.refuse("missing table", strip("[cloth.grid]\nsize = [1.0, 0.5]\nnodes = [9, 5]\n", ""));
    page.refuse("no kind", format!("{}\n[model]\n", STRIP));
    page.refuse("missing key in a list", strip("{ t = 0.0 }", "{}"));
    page.refuse("missing criterion", strip("[tear.criterion.separation_tensor]\nstrength = 0.3\n", ""));
    page.refuse("empty file", "");
    page.refuse("syntax: bracket", strip("size = [1.0, 0.5]", "size = [1.0, 0.5"));
    page.refuse("syntax: no value", strip("step = 1e-3", "step ="));
    page.refuse("syntax: no quotes", strip("\"snap\"", "snap"));
    page.refuse("key twice", strip("step = 1e-3", "step = 1e-3\nstep = 2e-3"));
    page.refuse("not text", b"title = \"\xff\xfe\"\n".as_slice());
    let folder = Folder::new();
    page.add("missing scene", &folder.run(&["run", "nowhere.toml"]));
    page.add("missing scene, checked", &folder.run(&["check", "nowhere.toml"]));
    page.add("folder for a scene", &folder.run(&["run", "."]));
    page.add("missing gallery", &folder.run(&["scenes"]));
    folder.write("scenes/readme.txt", "");
    page.add("empty gallery", &folder.run(&["scenes"]));
    insta::assert_snapshot!("missing_and_malformed", page.0);
}

#[test]
fn numbers() {
    let mut page = Page::default();
    page.refuse("negative density", strip("density = 0.2", "density = -0.2"));
    page.refuse("stiffness not a number", strip("density = 0.2", "stretch = nan"));
    page.refuse("negative step", strip("step = 1e-3", "step = -1e-3"));
    page.refuse("no step", strip("step = 1e-3", "step = 0.0"));
    page.refuse("step not a number", strip("step = 1e-3", "step = nan"));
    page.refuse("step without end", strip("step = 1e-3", "step = 1e-300"));
    page.refuse("no duration", strip("duration = 0.2", "duration = 0"));
    page.refuse("endless", strip("duration = 0.2", "duration = inf"));
    page.refuse("age of the universe", strip("duration = 0.2", "duration = 4e17"));
    page.refuse("gravity not a number", format!("gravity = [0, nan, 0]\n{STRIP}"));
    page.refuse("negative air", format!("{STRIP}\n[air]\nviscous = -1.0\n"));
    page.refuse(
        "gusts without period",
        format!("{STRIP}\n[air.wind]\ngust = {{ amount = 1, period = 0, length = 1 }}\n"),
    );
    page.refuse(
        "gusts not a number",
        format!("{STRIP}\n[air.wind]\ngust = {{ amount = nan, period = 1, length = 1 }}\n"),
    );
    page.refuse("wind not a number", format!("{STRIP}\n[air.wind]\nkeys = [{{ t = 0, velocity = [nan, 0, 0] }}]\n"));
    page.refuse("wind out of order", format!("{STRIP}\n[air.wind]\nkeys = [\n  {{ t = 1, velocity = [1, 0, 0] }},\n  {{ t = 0, velocity = [1, 0, 0] }},\n]\n"));
    page.refuse("strength of zero", strip("strength = 0.3", "strength = 0"));
    page.refuse("weave above one", strip("opening = \"snap\"", "weave = 1.5"));
    page.refuse("no rounds", strip("opening = \"snap\"", "policy = { end_of_step = { rounds = 0 } }"));
    page.refuse("no yield strain", format!("{STRIP}\n[plastic]\nyield_strain = 0\n"));
    page.refuse("flow above one", format!("{STRIP}\n[plastic]\nyield_strain = 0.1\nflow = 2\n"));
    page.refuse("place not a unit", format!("{STRIP}\n[place]\nweft = [2, 0, 0]\n"));
    page.refuse("place not a number", format!("{STRIP}\n[place]\norigin = [nan, 0, 0]\n"));
    page.refuse("place askew", format!("{STRIP}\n[place]\nweft = [0.6, 0.8, 0]\n"));
    page.refuse("camera in its own target", format!("{STRIP}\n[camera]\neye = [0, 0, 1]\ntarget = [0, 0, 1]\n"));
    page.refuse("angle of view", format!("{STRIP}\n[camera]\neye = [0, 0, 1]\ntarget = [0, 0, 0]\nangle = 180\n"));
    insta::assert_snapshot!("numbers", page.0);
}

#[test]
fn integrators() {
    let mut page = Page::default();
    let mut refuse = |title: &str, table: &str| {
        let folder = Folder::new();
        folder.write("strip.toml", format!("{STRIP}\n[integrator.{table}\n"));
        page.add(title, &folder.run(&["check", "strip.toml"]));
        assert_eq!(folder.run(&["run", "strip.toml"]).status.code(), Some(2), "{title}");
        assert!(!folder.has("out"), "{title}: a refused scene leaves no results");
    };
    refuse("no substeps", "xpbd]\nsubsteps = 0");
    refuse("fewer than no substeps", "xpbd]\nsubsteps = -4");
    refuse("part of a substep", "xpbd]\nsubsteps = 2.5");
    refuse("substeps without end", "xpbd]\nsubsteps = 4000000000");
    refuse("substeps beyond counting", "xpbd]\nsubsteps = 99999999999");
    refuse("no iterations", "xpbd]\niterations = 0");
    refuse("fewer than no levels", "xpbd]\nlevels = -1");
    refuse("unknown key of xpbd", "xpbd]\nsubstep = 8");
    refuse("key of another", "xpbd]\nsweeps = 8");
    refuse("no sweeps", "pbd]\nsweeps = 0");
    refuse("sweeps without end", "pbd]\nsweeps = 4000000000");
    refuse("limit below zero", "pbd]\nlimit = -0.1");
    refuse("limit not a number", "pbd]\nlimit = nan");
    refuse("no limit", "pbd]\nlimit = inf");
    refuse("word for a limit", "pbd]\nlimit = \"none\"");
    refuse("unknown key of pbd", "pbd]\nsweep = 8");
    refuse("implicit without substeps", "implicit]\nsubsteps = 0");
    refuse("unknown integrator", "xpdb]\nsubsteps = 8");
    insta::assert_snapshot!("integrators", page.0);
}

#[test]
fn strength_by_direction() {
    let mut page = Page::default();
    let table = |rows: &str, model: &str| {
        let criterion = format!("[tear.criterion.directional]\nstrengths = {rows}\n\n{model}");
        strip("[tear.criterion.separation_tensor]\nstrength = 0.3\n", &criterion)
    };
    let mut refuse = |title: &str, rows: &str| page.refuse(title, table(rows, "[model.membrane]\n"));
    refuse("no direction", "[]");
    refuse("not in order", "[{ angle = 90, strength = 30 }, { angle = 0, strength = 20 }]");
    refuse("a direction twice", "[{ angle = 0, strength = 30 }, { angle = 0, strength = 20 }]");
    refuse("half a turn", "[{ angle = 0, strength = 30 }, { angle = 180, strength = 30 }]");
    refuse("below zero degrees", "[{ angle = -45, strength = 30 }]");
    refuse("strength below zero", "[{ angle = 0, strength = 30 }, { angle = 90, strength = -2 }]");
    refuse("strength not a number", "[{ angle = 0, strength = nan }]");
    refuse("unknown key of a direction", "[{ angel = 0, strength = 30 }]");
    refuse("a number alone", "30.0");
    page.refuse("stress of springs", table("[{ angle = 0, strength = 30 }]", ""));
    // One direction alone means all.
    let folder = Folder::new();
    folder.write("strip.toml", table("[{ angle = 30, strength = 30 }]", "[model.membrane]\n"));
    folder.succeed(&["check", "strip.toml"]);
    insta::assert_snapshot!("strength_by_direction", page.0);
}

#[test]
fn limits_of_tearing() {
    let mut page = Page::default();
    let mut refuse = |title: &str, from: &str, to: &str| {
        let folder = Folder::new();
        folder.write("strip.toml", STRIP.replace(from, to));
        page.add(title, &folder.run(&["check", "strip.toml"]));
        assert_eq!(folder.run(&["run", "strip.toml"]).status.code(), Some(2), "{title}");
    };
    let opening = "opening = \"snap\"";
    refuse("no weak strength", opening, "weak = 0.0");
    refuse("no tears in a step", opening, "per_step = 0");
    refuse("no tears in a second", opening, "per_second = 0");
    refuse("pause below zero", opening, "pause = -1.0");
    refuse("pieces below zero", opening, "smallest_piece = -0.1");
    refuse("unknown opening", opening, "opening = \"half\"");
    refuse("springs below zero", "[tear]", "[model.springs]\nbend_shear = -3.0\n\n[tear]");
    refuse("explicit steps for halves", opening, "opening = \"halve\"");
    refuse("edges of no length", opening, "refine = 0.0");
    refuse("explicit steps for finer edges", opening, "refine = 0.01");
    let mut implicit = |title: &str, refine: &str| {
        let text = STRIP.replace("[tear]", "[integrator.implicit]\n\n[tear]").replace(opening, refine);
        let folder = Folder::new();
        folder.write("strip.toml", text);
        page.add(title, &folder.run(&["check", "strip.toml"]));
    };
    implicit("finer edges that are longer", "refine = 3.0");
    insta::assert_snapshot!("limits_of_tearing", page.0);
}

#[test]
fn a_step_far_past_stability() {
    let mut page = Page::default();
    page.refuse("step far past stability", strip("step = 1e-3", "step = 2e-2"));
    page.0 = without_numbers(&page.0);
    insta::assert_snapshot!("stability", page.0);
}

#[test]
fn cloths() {
    let mut page = Page::default();
    page.refuse("no size", strip("size = [1.0, 0.5]", "size = [1.0, 0]"));
    page.refuse("negative size", strip("size = [1.0, 0.5]", "size = [-1.0, 0.5]"));
    page.refuse("size not a number", strip("size = [1.0, 0.5]", "size = [nan, 0.5]"));
    page.refuse("one row of nodes", strip("nodes = [9, 5]", "nodes = [1, 5]"));
    page.refuse("too many nodes", strip("nodes = [9, 5]", "nodes = [4000000000, 4000000000]"));
    let irregular = |spacing: &str| {
        strip(
            "[cloth.grid]\nsize = [1.0, 0.5]\nnodes = [9, 5]",
            &format!("[cloth.irregular]\nsize = [1.0, 0.5]\nspacing = {spacing}"),
        )
    };
    page.refuse("spacing larger than the sheet", irregular("0.6"));
    page.refuse("no spacing", irregular("0"));
    page.refuse("spacing not a number", irregular("nan"));
    page.refuse("too many nodes by spacing", irregular("1e-12"));
    insta::assert_snapshot!("cloths", page.0);
}

#[test]
fn grips_and_hands() {
    let mut page = Page::default();
    page.refuse("grip that catches no node", strip("{ side = \"left\" }", "{ box = [[2, 2], [3, 3]] }"));
    page.refuse("grip between the nodes", strip("{ side = \"left\" }", "{ box = [[0.01, 0.01], [0.02, 0.02]] }"));
    page.refuse("two grips on one node", strip("{ side = \"left\" }", "{ side = \"bottom\" }"));
    page.refuse("polygon of two corners", strip("{ side = \"left\" }", "{ polygon = [[0, 0], [0, 1]] }"));
    page.refuse("near nowhere", strip("{ side = \"left\" }", "{ near = [nan, 0] }"));
    page.refuse("two grips of one name", strip("name = \"pulled\"", "name = \"held\""));
    page.refuse("keyframes out of order", strip("{ t = 0.0 }", "{ t = 0.3 }"));
    page.refuse("two keyframes at once", strip("{ t = 0.0 }", "{ t = 0.2 }"));
    page.refuse("keyframe not a number", strip("move = [0.1, 0, 0]", "move = [nan, 0, 0]"));
    page.refuse("release not a number", strip("name = \"held\"", "name = \"held\"\nrelease = nan"));
    page.refuse("hand with one point", format!("{STRIP}\n[[hand]]\nt = 0.1\npath = [[0.5, 0.5]]\n"));
    page.refuse("hand not a number", format!("{STRIP}\n[[hand]]\nt = 0.1\npath = [[0.5, 0.5], [nan, 0]]\n"));
    page.refuse("hand at no time", format!("{STRIP}\n[[hand]]\nt = nan\npath = [[0.5, 0.5], [0, 0]]\n"));
    page.refuse(
        "expectation of a grip that isn't",
        format!("{STRIP}\n[expect]\nsnags = {{ grip = \"puled\", fall = 0.2, count = 3 }}\n"),
    );
    page.refuse(
        "expectation of a map that isn't",
        format!("{STRIP}\n[expect]\ntorn_in_weak = {{ below = 0.5, share = 1 }}\n"),
    );
    page.refuse(
        "onset like a scene that isn't",
        format!("{STRIP}\n[expect]\nonset = {{ like = \"other.toml\", within = 0.1 }}\n"),
    );
    page.refuse(
        "expected path of one point",
        format!("{STRIP}\n[expect]\ntorn_path = {{ path = [[0.5, 0.5]], off = 0 }}\n"),
    );
    insta::assert_snapshot!("grips_and_hands", page.0);
}

const WOVEN: &str = r#"title = "Woven"

[time]
duration = 0.1
step = 0.004

[cloth.woven]
yarns = [12, 8]
weave = "plain"

[[grip]]
name = "held"
where = { side = "left" }
"#;

#[test]
fn woven_cloth() {
    let folder = Folder::new();
    folder.write("woven.toml", WOVEN);
    folder.succeed(&["run", "woven.toml", "--format", "none"]);
    let mut page = Page::default();
    let mut swap = |title: &str, from: &str, to: &str| page.refuse(title, change(WOVEN, from, to));
    swap("one warp", "[12, 8]", "[1, 8]");
    swap("three numbers of yarns", "[12, 8]", "[12, 8, 3]");
    swap("too many yarns", "[12, 8]", "[20000, 20000]");
    swap("no such weave", "\"plain\"", "\"plane\"");
    swap("yarn that isn't woven in", "\"plain\"", "{ rows = [[1, 1], [0, 1]] }");
    swap("rows of different lengths", "\"plain\"", "{ rows = [[1, 0], [0]] }");
    swap("twill on one side", "\"plain\"", "{ twill = [2, 0] }");
    swap("no spacing", "weave", "spacing = 0\nweave");
    swap("thicker than its spacing", "weave", "thickness = 0.002\nweave");
    swap("friction below zero", "weave", "friction = -1\nweave");
    swap("damping below zero", "weave", "damping = { free = -1 }\nweave");
    swap("no ripstop", "weave", "ripstop = { every = 0, factor = 2 }\nweave");
    swap("no sweeps", "weave", "solver = { sweeps = { count = 0 } }\nweave");
    swap("cloth too heavy for any number of sweeps", "weave", "solver = { sweeps = {} }\ndensity = 500\nweave");
    swap("grip that catches no crossing", "{ side = \"left\" }", "{ box = [[1, 1], [2, 2]] }");
    let mut add = |title: &str, more: &str| page.refuse(title, format!("{WOVEN}\n{more}\n"));
    add("fabric of woven cloth", "[fabric]\ndensity = 0.1");
    add("tear of woven cloth", "[tear.criterion.edge_strain]\nstrength = 0.2");
    add("integrator of woven cloth", "[integrator.rk4]");
    add("expectation of sheets", "[expect]\nopenings = 3");
    let body = |body: &str| format!("[[body]]\nname = \"thing\"\n{body}");
    add("blade", &body("shape = { box = { sides = [1, 1, 1] } }\nplace = [0, 5, 0]\nsharp = { below = 100 }"));
    add("body in the cloth", &body("shape = { ball = { radius = 0.004 } }\nplace = [0.005, 0.004, 0]"));
    let variants = "[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"";
    add(
        "order of a variant that isn't",
        &format!("{variants}\n[together]\nascending = {{ of = \"tears\", variants = [\"a\", \"c\"] }}"),
    );
    add(
        "likeness of one variant",
        &format!("{variants}\n[together]\nalike = {{ of = \"tears\", variants = [\"a\"], within = 0.1 }}"),
    );
    add("line with one point across woven cloth", "[[hand]]\nt = 0.1\npath = [[0.5, 0.5]]");
    insta::assert_snapshot!("woven_cloth", page.0);
}

#[test]
fn bodies() {
    let mut page = Page::default();
    let mut refuse =
        |title: &str, body: &str| page.refuse(title, format!("{STRIP}\n[[body]]\nname = \"thing\"\n{body}\n"));
    let ball = "shape = { ball = { radius = 0.1 } }";
    refuse("body without a shape", "");
    refuse("unknown shape", "shape = { bal = { radius = 0.1 } }");
    refuse("unknown key of a shape", "shape = { ball = { diameter = 0.1 } }");
    refuse("no radius", "shape = { ball = { radius = 0 } }");
    refuse("box inside out", "shape = { box = { sides = [1, -1, 1] } }");
    refuse("four sides", "shape = { box = { sides = [1, 1, 1, 1] } }");
    refuse("short capsule", "shape = { capsule = { radius = 0.5, height = 0.6 } }");
    refuse("flat hull", "shape = { hull = { points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]] } }");
    refuse("mesh that isn't there", "shape = { mesh = { file = \"chair.obj\" } }");
    refuse("free plane", "shape = \"plane\"\nmass = 1");
    refuse("no mass", &format!("{ball}\nmass = 0"));
    refuse("mass and keyframes", &format!("{ball}\nmass = 1\nkeys = [{{ t = 0 }}]"));
    refuse("velocity without mass", &format!("{ball}\nvelocity = [1, 0, 0]"));
    refuse("place not a number", &format!("{ball}\nplace = [nan, 0, 0]"));
    refuse("keyframes of a body out of order", &format!("{ball}\nkeys = [\n  {{ t = 1 }},\n  {{ t = 0 }},\n]"));
    refuse("negative friction", &format!("{ball}\nfriction = -1"));
    refuse("holds no node", &format!("{ball}\nholds = {{ box = [[2, 2], [3, 3]] }}"));
    refuse("holds a gripped node", &format!("{ball}\nholds = {{ side = \"left\" }}"));
    refuse("two bodies of one name", &format!("{ball}\n\n[[body]]\nname = \"thing\"\nshape = \"plane\""));
    let folder = Folder::new();
    folder.write("open.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    let open = "[[body]]\nname = \"thing\"\nshape = { mesh = { file = \"open.obj\" } }\nmass = 1\n";
    page.refuse_in(&folder, "free body of an open mesh", format!("{STRIP}\n{open}"));
    insta::assert_snapshot!("bodies", page.0);
}

#[test]
fn blades() {
    let mut page = Page::default();
    let thing = "[[body]]\nname = \"thing\"\nplace = [0, 0, 1]\n";
    let cube = "shape = { box = { sides = [0.1, 0.1, 0.1] } }";
    let mut refuse = |title: &str, sharp: &str| {
        page.refuse(title, format!("{STRIP}\n[integrator.implicit]\n{thing}{cube}\nsharp = {sharp}\n"));
    };
    refuse("nothing that sharp", "{ below = 40 }");
    refuse("no angle", "{ below = 0 }");
    refuse("more than flat", "{ below = 180 }");
    refuse("angle not a number", "{ below = nan }");
    refuse("group of a box", "{ group = \"edge\" }");
    refuse("neither", "{ above = 3 }");
    refuse("two kinds at once", "{ below = 40, group = \"edge\" }");
    let folder = Folder::new();
    let faces =
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\no body\nf 1 3 2\nf 1 2 4\nf 1 4 3\ng tip\nf 2 3 4\ng edge\nl 1 2\n";
    folder.write("blade.obj", faces);
    let mesh = format!("[integrator.implicit]\n{thing}shape = {{ mesh = {{ file = \"blade.obj\" }} }}\n");
    page.refuse_in(&folder, "group that isn't there", format!("{STRIP}\n{mesh}sharp = {{ group = \"egde\" }}\n"));
    page.refuse_in(&folder, "group of one face", format!("{STRIP}\n{mesh}sharp = {{ group = \"tip\" }}\n"));
    page.refuse("no resistance", strip("density = 0.2", "density = 0.2\ncut_resistance = -1"));
    insta::assert_snapshot!("blades", page.0);
}

#[test]
fn contacts() {
    let mut page = Page::default();
    let mut refuse = |title: &str, table: &str| page.refuse(title, format!("{STRIP}\n{table}\n"));
    refuse("no thickness", "[contact]\nthickness = 0.0");
    refuse("negative friction", "[contact]\nfriction = -0.1");
    refuse("no stiffness", "[contact]\nstiffness = 0.0");
    refuse("unknown key", "[contact]\nthikness = 0.001");
    let ball = "[[body]]\nname = \"ball\"\nshape = { ball = { radius = 0.05 } }";
    refuse("a body that crosses the cloth", &format!("{ball}\nplace = [0.1, 0.1, 0.0]"));
    refuse("cloth inside a body", "[[body]]\nname = \"room\"\nshape = { ball = { radius = 5.0 } }");
    insta::assert_snapshot!("contacts", page.0);
}

#[test]
fn direction() {
    let mut page = Page::default();
    let mut refuse = |title: &str, table: &str| page.refuse(title, format!("{STRIP}\n{table}\n"));
    refuse("noise without a scale", "[tear.noise]\nscale = 0\namount = 0.3");
    refuse("noise above one", "[tear.noise]\nscale = 0.1\namount = 1.5");
    refuse("noise not a number", "[tear.noise]\nscale = 0.1\namount = nan");
    refuse("unknown key of noise", "[tear.noise]\nscale = 0.1\namout = 0.5");
    refuse("untearable without a place", "[[tear.untearable]]");
    refuse("untearable nowhere", "[[tear.untearable]]\nwhere = { disc = { at = [3, 3], radius = 0.1 } }");
    refuse("untearable not a number", "[[tear.untearable]]\nwhere = { disc = { at = [nan, 3], radius = 0.1 } }");
    let path = "path = [[0.5, 0.0], [0.5, 0.5]]";
    let mut seam = |title: &str, keys: &str| refuse(title, &format!("[[seam]]\nname = \"side\"\n{keys}"));
    seam("seam without a line", "strength = 0.5");
    seam("seam of one point", "path = [[0.5, 0.0]]\nstrength = 0.5");
    seam("seam beside the cloth", "path = [[0.5, 0.0], [0.5, 2.0]]\nstrength = 0.5");
    seam("seam not a number", "path = [[0.5, 0.0], [0.5, nan]]\nstrength = 0.5");
    seam("seam in three dimensions", "path = [[0.5, 0.0], [0.5, 0.5, 0.0]]\nstrength = 0.5");
    seam("seam on the border", "path = [[0.0, 0.0], [0.0, 0.5]]\nstrength = 0.5");
    seam("seam shorter than an edge", "path = [[0.5, 0.25], [0.51, 0.25]]\nstrength = 0.5");
    seam("seam that never opens", path);
    seam("seam without strength", &format!("{path}\nstrength = 0"));
    seam("seam stronger than cloth", &format!("{path}\nstrength = 1.2"));
    seam("seam opens at no time", &format!("{path}\nopens_at = nan"));
    seam("unpicked backwards in time", &format!("{path}\nunpick = {{ from = 2, to = 1 }}"));
    seam("unpicked without end", &format!("{path}\nunpick = {{ from = 0, to = inf }}"));
    seam("unpicked without an end", &format!("{path}\nunpick = {{ from = 0 }}"));
    seam("opens at once and bit by bit", &format!("{path}\nopens_at = 1\nunpick = {{ from = 0, to = 2 }}"));
    seam("group of no file", "group = \"side\"\nstrength = 0.5");
    seam("path and group", &format!("{path}\ngroup = \"side\"\nstrength = 0.5"));
    seam("unknown key of a seam", &format!("{path}\nopen_at = 1"));
    seam("two seams of one name", &format!("{path}\nopens_at = 1\n\n[[seam]]\nname = \"side\"\n{path}\nopens_at = 2"));
    seam("two seams on one line", &format!("{path}\nopens_at = 1\n\n[[seam]]\nname = \"edge\"\n{path}\nopens_at = 2"));
    seam(
        "expectation of a seam that isn't",
        &format!("{path}\nopens_at = 1\n\n[expect]\ntorn_on_seam = {{ name = \"sied\", share = 1 }}"),
    );
    refuse("expectation of no seam", "[expect]\ntorn_on_seam = { share = 1 }");
    refuse("evenly backwards", "[expect]\ntorn_evenly = { from = 2, to = 1, off = { max = 0.1 } }");
    let tearless = strip("[tear]\nopening = \"snap\"\n\n[tear.criterion.separation_tensor]\nstrength = 0.3\n", "");
    page.refuse(
        "seam that load can't open",
        format!("{tearless}\n[[seam]]\nname = \"side\"\n{path}\nstrength = 0.5\n"),
    );
    let obj = strip("[cloth.grid]\nsize = [1.0, 0.5]\nnodes = [9, 5]", "[cloth.obj]\nfile = \"cloth.obj\"");
    let obj = format!("{obj}\n[[seam]]\nname = \"side\"\ngroup = \"side\"\nopens_at = 0.1\n");
    let square = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3\nf 1 3 4\n";
    for (title, lines) in [
        ("OBJ without lines", ""),
        ("OBJ with other lines", "o sied\nl 1 3\n"),
        ("line on no edge", "o side\nl 2 4\n"),
        ("line of one point", "o side\nl 1\n"),
        ("line without its vertex", "o side\nl 1 9\n"),
        ("line on the border", "o side\nl 1 2\n"),
    ] {
        let folder = Folder::new();
        folder.write("cloth.obj", format!("{square}{lines}"));
        page.refuse_in(&folder, title, &obj);
    }
    insta::assert_snapshot!("direction", page.0);
}

#[test]
fn strength_maps() {
    let mut page = Page::default();
    let mapped = format!("{STRIP}\n[tear.map]\nimage = \"maps/weak.png\"\n");
    page.refuse("missing picture", &mapped);
    let folder = Folder::new();
    folder.write("maps/weak.png", "not a picture");
    page.refuse_in(&folder, "picture that isn't one", &mapped);
    // The start of a PNG file, cut off after its header.
    folder.write("maps/weak.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x08\0\0\0\x08\x08\0\0\0\0");
    page.refuse_in(&folder, "half a picture", &mapped);
    let folder = Folder::new();
    folder.write("maps/weak.png", one_pixel());
    page.refuse_in(&folder, "strength of black", format!("{mapped}black = -1\n"));
    insta::assert_snapshot!("strength_maps", page.0);
}

/// A portable graymap of one pixel would do, but only PNG and JPEG are read: a PNG with one grey pixel.
fn one_pixel() -> Vec<u8> {
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut chunk = |kind: &[u8; 4], data: &[u8]| {
        png.extend((data.len() as u32).to_be_bytes());
        let body = [kind.as_slice(), data].concat();
        png.extend(&body);
        png.extend(crc(&body).to_be_bytes());
    };
    chunk(b"IHDR", &[0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0]);
    // zlib: one stored block with the filter byte and the pixel, and its Adler sum.
    chunk(b"IDAT", &[0x78, 0x01, 0x01, 2, 0, 0xfd, 0xff, 0, 0x80, 0x00, 0x82, 0x00, 0x81]);
    chunk(b"IEND", &[]);
    png
}

fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| if sum & 1 == 1 { 0xedb8_8320 ^ (sum >> 1) } else { sum >> 1 })
    })
}

#[test]
fn meshes() {
    const SQUARE: &str = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n";
    let mut page = Page::default();
    let scene = strip("[cloth.grid]\nsize = [1.0, 0.5]\nnodes = [9, 5]", "[cloth.obj]\nfile = \"cloth.obj\"");
    page.refuse("missing OBJ", &scene);
    let mut refuse = |title: &str, obj: String| {
        let folder = Folder::new();
        folder.write("cloth.obj", obj);
        page.refuse_in(&folder, title, &scene);
    };
    refuse("not an OBJ", "{ \"this\": \"is JSON\" }\n".into());
    refuse("empty OBJ", String::new());
    refuse("half a vertex", "v 0 0\nf 1 1 1\n".into());
    refuse("face without its vertex", format!("{SQUARE}f 1 2 9\n"));
    refuse(
        "three faces on an edge",
        format!("{SQUARE}v 0 0 1\nvt 0 0\nvt 1 0\nvt 1 1\nf 1/1 2/2 3/3\nf 2/2 1/1 4/3\nf 1/1 2/2 5/3\n"),
    );
    refuse("texture that isn't there", format!("{SQUARE}vt 0 0\nf 1/1 2/2 3/3\n"));
    refuse("faces that meet in a point", "v 0 0 0\nv 1 0 0\nv 1 1 0\nv -1 0 0\nv -1 -1 0\nf 1 2 3\nf 1 4 5\n".into());
    refuse("face turned over", format!("{SQUARE}vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nf 1/1 2/2 3/3\nf 1/1 4/4 3/3\n"));
    refuse("same face twice", format!("{SQUARE}f 1 2 3\nf 2 3 1\n"));
    refuse("vertex not a number", "v 0 0 0\nv 1 nan 0\nv 0 1 0\nf 1 2 3\n".into());
    refuse("texture not a number", format!("{SQUARE}vt 0 0\nvt 1 nan\nvt 1 1\nf 1/1 2/2 3/3\n"));
    refuse("face without area", format!("{SQUARE}v 2 0 0\nf 1 2 3\nf 1 5 2\n"));
    refuse("face that uses a vertex twice", format!("{SQUARE}f 1 2 3\nf 1 3 3\n"));
    refuse("texture without area", format!("{SQUARE}vt 0 0\nf 1/1 2/1 3/1\n"));
    refuse("not flat", format!("{SQUARE}v 0 0 1\nf 1 2 3\nf 1 3 5\n"));
    let folder = Folder::new();
    folder.write("cloth.obj", format!("{SQUARE}f 1 2 3 4\n"));
    page.refuse_in(&folder, "scale of zero", change(&scene, "file = \"cloth.obj\"", "file = \"cloth.obj\"\nscale = 0"));
    page.refuse_in(
        &folder,
        "no texture",
        change(&scene, "file = \"cloth.obj\"", "file = \"cloth.obj\"\nuv = \"metres\""),
    );
    insta::assert_snapshot!("meshes", page.0);
}

#[test]
fn outputs_that_cannot_be_written() {
    let mut page = Page::default();
    let folder = Folder::new();
    folder.write("strip.toml", STRIP);
    folder.write("taken", "a file");
    page.add("file in the way", &folder.run(&["run", "strip.toml", "-o", "taken"]));
    page.add("file on the way", &folder.run(&["run", "strip.toml", "-o", "taken/results"]));
    assert_eq!(folder.text("taken"), "a file", "what is in the way stays");
    folder.write("full/frames.bin.part/file", "");
    page.add("folder in the way", &folder.run(&["run", "strip.toml", "-o", "full"]));
    folder.write("other/strip.toml", STRIP);
    page.add("two scenes of one name", &folder.run(&["run", "strip.toml", "other/strip.toml"]));
    insta::assert_snapshot!("outputs", page.0);
}

/// What must not be there after a run that failed.
fn nothing_looks_finished(folder: &Folder, out: &str) {
    let files = folder.files(out);
    for name in ["summary.json", "cloth.usda"] {
        assert!(!files.iter().any(|f| f == name), "{name} looks finished in {files:?}");
    }
    assert!(!files.iter().any(|f| f.ends_with(".tmp")), "left behind: {files:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn full_disks() {
    let mut page = Page::default();
    let longer = strip("duration = 0.2", "duration = 0.5");
    // A real "no space left": the file that is written beside leads to a device that is always full.
    for (title, name) in [
        ("full at a checkpoint", "checkpoint.bin.tmp"),
        ("full at the export", "cloth.usda.tmp"),
        ("full at the summary", "summary.json.tmp"),
    ] {
        let folder = Folder::new();
        folder.write("strip.toml", &longer);
        std::fs::create_dir_all(folder.path("out/strip")).unwrap();
        std::os::unix::fs::symlink("/dev/full", folder.path("out/strip").join(name)).unwrap();
        page.add(title, &folder.run(&["run", "strip.toml"]));
        assert!(!folder.has("out/strip/summary.json"), "{title}");
        if name == "checkpoint.bin.tmp" {
            nothing_looks_finished(&folder, "out/strip");
        } else {
            // There is room again: it goes on from its checkpoint, as the text says.
            folder.succeed(&["run", "strip.toml", "--resume"]);
            assert_eq!(folder.summary("out/strip")["frames"], 16, "{title}");
            assert!(folder.has("out/strip/cloth.usda"));
        }
    }
    // A limit on the size of files, which the growing cache meets.
    let folder = Folder::new();
    folder.write("strip.toml", &longer);
    page.add("file too large", &folder.shell("trap '' XFSZ; ulimit -f 16", &["run", "strip.toml"]).output().unwrap());
    nothing_looks_finished(&folder, "out/strip");
    let reader = CacheReader::open(folder.path("out/strip/frames.bin.part")).unwrap();
    assert!(reader.frame_count() > 0 && reader.left_over() == 0, "whole frames only");
    insta::assert_snapshot!("full_disks", page.0);
}

#[test]
fn a_run_that_blows_up() {
    let mut page = Page::default();
    // A violent pull after some quiet frames, far from anything that can be foreseen from the cloth at rest.
    let quiet = change(
        &strip("step = 1e-3", "step = 1e-3\nfps = 100"),
        "{ t = 0.0 },\n  { t = 0.2, move = [0.1, 0, 0] }",
        "{ t = 0.13 },\n  { t = 0.131, move = [400, 0, 0] }",
    );
    let scene = quiet.replace("strength = 0.3", "strength = 1e9");
    let folder = Folder::new();
    folder.write("strip.toml", &scene);
    let output = folder.run(&["run", "strip.toml"]);
    page.add("after a checkpoint", &output);
    let text = stderr(&output);
    let word = |before: &str| text.split(before).nth(1).unwrap().split([' ', ')', ':']).next().unwrap().to_string();
    assert!((0.13..0.2).contains(&word("t = ").parse::<f64>().unwrap()), "{text}");
    assert!(word("node ").parse::<usize>().unwrap() < 200, "{text}");
    nothing_looks_finished(&folder, "out/strip");
    assert!(!folder.has("out/strip/frames.bin"));
    assert!(folder.has("out/strip/checkpoint.bin"));
    every_number_is_finite(&folder, 13);

    // The same at once: no checkpoint yet.
    let folder = Folder::new();
    folder.write("strip.toml", scene.replace("0.13 }", "0.03 }").replace("0.131", "0.031"));
    page.add("before a checkpoint", &folder.run(&["run", "strip.toml"]));
    every_number_is_finite(&folder, 3);
    page.0 = without_numbers(&page.0);
    insta::assert_snapshot!("blow_up", page.0);
}

/// All frames of the unfinished cache are readable (reading refuses what is not finite), and no text has a NaN.
fn every_number_is_finite(folder: &Folder, at_least: usize) {
    let mut reader = CacheReader::open(folder.path("out/strip/frames.bin.part")).unwrap();
    assert!(reader.frame_count() >= at_least && reader.left_over() == 0, "{} frames", reader.frame_count());
    for frame in reader.frames() {
        let frame = frame.unwrap();
        assert!(frame.points.iter().chain(&frame.velocities).flatten().all(|x| x.is_finite()));
    }
    for path in all_files(&folder.path("out")) {
        if let Ok(text) = std::fs::read_to_string(&path) {
            let text = text.to_lowercase();
            assert!(!text.contains("nan") && !text.contains("inf"), "{}: {text}", path.display());
        }
    }
}

#[test]
fn resuming() {
    let mut page = Page::default();
    let folder = Folder::new();
    folder.write("strip.toml", strip("duration = 0.2", "duration = 0.5"));
    page.add("nothing to resume", &folder.run(&["run", "strip.toml", "--resume"]));
    // A run that stops at the summary leaves a checkpoint behind.
    std::fs::create_dir_all(folder.path("out/strip/summary.json.tmp")).unwrap();
    let stopped = folder.run(&["run", "strip.toml", "--format", "none"]);
    assert_eq!(stopped.status.code(), Some(2), "{}", stderr(&stopped));
    let whole = folder.read("out/strip/checkpoint.bin");
    folder.write("strip.toml", strip("duration = 0.2", "duration = 0.6"));
    page.add("changed scene", &folder.run(&["run", "strip.toml", "--resume"]));
    folder.write("strip.toml", strip("duration = 0.2", "duration = 0.5"));
    let mut damaged = |title: &str, bytes: &[u8]| {
        folder.write("out/strip/checkpoint.bin", bytes);
        page.add(title, &folder.run(&["run", "strip.toml", "--resume"]));
    };
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    damaged("one bit wrong", &flipped);
    damaged("cut short", &whole[..whole.len() / 2]);
    damaged("almost empty", &whole[..7]);
    damaged("another file", b"a text that is long enough");
    damaged("of another version", &[&whole[..8], &99u32.to_le_bytes(), &whole[12..]].concat());
    folder.write("out/strip/checkpoint.bin", &whole);
    page.add("fewer frames than there are", &folder.run(&["run", "strip.toml", "--resume", "--frames", "3"]));
    std::fs::remove_file(folder.path("out/strip/frames.bin")).unwrap();
    page.add("frames gone", &folder.run(&["run", "strip.toml", "--resume"]));
    insta::assert_snapshot!("resuming", page.0);
}

#[test]
fn a_slip_in_the_last_variant_is_found_before_the_first_one_runs() {
    let mut page = Page::default();
    page.refuse(
        "last variant",
        format!("{STRIP}\n[[variant]]\nname = \"good\"\n\n[[variant]]\nname = \"bad\"\ntime.stop = 1\n"),
    );
    assert!(page.0.contains("variant `bad`: unknown key `stop`"), "{}", page.0);
}
