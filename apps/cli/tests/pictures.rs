//! Pictures, film, report and contact sheet, made by the program itself from a small scene with tiny pictures.

use ripstop_scene::cache::CacheReader;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use tempfile::TempDir;

/// A strip torn across within half a second. Its title must not be taken for a tag.
const SCENE: &str = r#"
title = "A <small> strip & its \"tear\""
[time]
duration = 0.5
fps = 20
step = 5e-4
[cloth.grid]
size = [0.4, 0.2]
nodes = [9, 5]
[fabric]
density = 0.3
stretch = 300.0
shear = 20.0
bend = 2e-5
damping = 4e-4
[[grip]]
name = "held"
where = { side = "left" }
[[grip]]
name = "pulled"
where = { side = "right" }
keys = [{ t = 0.0, move = [0, 0, 0] }, { t = 0.4, move = [0.2, 0, 0] }]
[tear]
opening = "snap"
hem = { width = 0.11, factor = 2.0 }
[tear.criterion.separation_tensor]
strength = 0.2
[expect]
tears = { min = 1 }
area_change = { max = 1e-9 }
"#;

const TINY: [&str; 3] = ["--size", "64x36", "--draft"];

fn ripstop(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ripstop")).current_dir(folder).args(args).output().unwrap()
}

/// Runs and expects it to go well; returns what was printed.
fn well(folder: &Path, args: &[&str]) -> String {
    let output = ripstop(folder, args);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{args:?}: {out}{err}");
    out.into_owned()
}

/// Runs and expects an error; returns its text.
fn fails(folder: &Path, args: &[&str]) -> String {
    let output = ripstop(folder, args);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
    text
}

/// The strip, run once for all tests: `strip.toml` and its results in `strip`.
fn strip() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("strip.toml"), SCENE).unwrap();
        well(folder.path(), &[&["run", "strip.toml", "-o", "strip", "--format", "none"], &TINY[..]].concat());
        folder
    });
    folder.path()
}

/// A copy of the strip's results that a test may spoil.
fn copy() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("strip");
    fs::create_dir(&to).unwrap();
    for entry in fs::read_dir(strip().join("strip")).unwrap() {
        let from = entry.unwrap().path();
        fs::copy(&from, to.join(from.file_name().unwrap())).unwrap();
    }
    folder
}

fn stills(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.file_name().unwrap().to_string_lossy().starts_with("still-"));
    files.sort();
    files
}

/// Number of pictures by the film's own table of sample sizes.
fn film_frames(path: &Path) -> u32 {
    let bytes = fs::read(path).unwrap();
    let table = bytes.windows(4).position(|name| name == b"stsz").expect("a table of sample sizes");
    // Version and flags, a common size, the count.
    u32::from_be_bytes(bytes[table + 12..table + 16].try_into().unwrap())
}

#[test]
fn a_run_makes_film_stills_and_nothing_half_written() {
    let folder = strip().join("strip");
    let frames = CacheReader::open(folder.join("frames.bin")).unwrap().frame_count();
    assert_eq!(frames, 11);
    assert_eq!(film_frames(&folder.join("preview.mp4")), 11);
    let stills = stills(&folder);
    assert!((4..=6).contains(&stills.len()), "{stills:?}");
    assert!(stills[0].ends_with("still-0000.png") && stills.last().unwrap().ends_with("still-0010.png"));
    for still in &stills {
        assert_eq!(image::image_dimensions(still).unwrap(), (64, 36));
    }
    let names = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    assert!(names.into_iter().all(|name| !name.ends_with(".tmp") && !name.ends_with(".part")));
}

#[test]
fn the_report_stands_on_its_own() {
    let folder = strip().join("strip");
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let document = roxmltree::Document::parse_with_options(&page, options).expect("well-formed");
    let all = |tag: &'static str| document.descendants().filter(move |n| n.has_tag_name(tag));
    assert_eq!(all("h1").next().unwrap().text(), Some("A <small> strip & its \"tear\""));
    let summary: ripstop_scene::Summary =
        serde_json::from_str(&fs::read_to_string(folder.join("summary.json")).unwrap()).unwrap();
    let cells: Vec<String> =
        all("td").map(|n| n.descendants().filter(|d| d.is_text()).filter_map(|d| d.text()).collect()).collect();
    assert!(!summary.expectations.is_empty());
    for outcome in &summary.expectations {
        assert!(cells.contains(&outcome.name), "{} not in {cells:?}", outcome.name);
    }
    for needed in [summary.state_hash.as_str(), summary.version.as_str(), "integrate"] {
        assert!(cells.iter().any(|cell| cell == needed), "{needed} not in {cells:?}");
    }
    assert_eq!(all("img").count(), stills(&folder).len());
    // Energies, strain, tears, load against travel and time, rose.
    assert_eq!(all("svg").count(), 6);
    assert!(all("pre").next().unwrap().descendants().any(|n| n.text() == Some(SCENE)));
    let sources = document.descendants().filter_map(|n| n.attribute("src").or(n.attribute("href")));
    for source in sources {
        assert!(source.starts_with("data:"), "{}", &source[..source.len().min(80)]);
    }
    assert!(!page.contains("<script") && !page.contains("http:") && !page.contains("https:") && !page.contains("url("));
}

#[test]
fn drawing_again_gives_the_same_pixels() {
    let folder = strip();
    well(folder, &[&["render", "strip", "-o", "again", "--threads", "1"], &TINY[..]].concat());
    let (first, again) = (stills(&folder.join("strip")), stills(&folder.join("again")));
    assert_eq!(first.len(), again.len());
    for (a, b) in first
        .iter()
        .chain([&folder.join("strip/preview.mp4")])
        .zip(again.iter().chain([&folder.join("again/preview.mp4")]))
    {
        assert!(fs::read(a).unwrap() == fs::read(b).unwrap(), "{} differs", b.display());
    }
}

#[test]
fn colours_and_cameras_change_the_picture() {
    let folder = strip();
    let still = |name: &str, extra: &[&str]| {
        let fixed = ["render", "strip", "--still", "5", "-o", name];
        well(folder, &[&fixed[..], &TINY, extra].concat());
        fs::read(folder.join(name).join("still-0005.png")).unwrap()
    };
    let mut seen = vec![still("c-camera", &["--camera", "-1,0.3,1:0.2,0.1,0"])];
    for colour in ["fabric", "checker", "strain", "plastic", "pieces", "wire"] {
        seen.push(still(&format!("c-{colour}"), &["--colour", colour]));
    }
    for (i, a) in seen.iter().enumerate() {
        assert!(seen[..i].iter().all(|b| a != b), "picture {i} is like one before");
    }
}

#[test]
fn a_sheet_holds_its_runs() {
    let folder = strip();
    let said = well(folder, &["sheet", "strip", "strip", "-o", "two.png", "--size", "96x54", "--draft"]);
    assert!(said.contains("2 runs -> two.png"), "{said}");
    let (width, height) = image::image_dimensions(folder.join("two.png")).unwrap();
    assert!(width > 2 * 96 && height > 54, "{width}×{height}");
    let missing = fails(folder, &["sheet", "strip", "nowhere"]);
    assert!(missing.contains("nowhere: no such folder"), "{missing}");
}

#[test]
fn no_film_means_no_pictures() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("strip.toml"), SCENE).unwrap();
    fs::create_dir(folder.path().join("o")).unwrap();
    // Left over from an earlier run: they must not look like this one's.
    for old in ["preview.mp4", "report.html", "still-0099.png"] {
        fs::write(folder.path().join("o").join(old), "old").unwrap();
    }
    well(folder.path(), &["run", "strip.toml", "-o", "o", "--frames", "2", "--format", "none", "--no-film"]);
    let mut names: Vec<String> =
        fs::read_dir(folder.path().join("o")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["events.jsonl", "frames.bin", "scene.toml", "stats.csv", "summary.json"]);
    let both = fails(folder.path(), &["run", "strip.toml", "--no-film", "--draft"]);
    assert!(both.contains("cannot be used with"), "{both}");
}

#[test]
fn a_texture_comes_along_or_is_missed_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    fs::write(here.join("strip.toml"), format!("{SCENE}\n[look]\ntexture = \"silk.png\"\n")).unwrap();
    let run = [&["run", "strip.toml", "-o", "o", "--frames", "2", "--format", "none"], &TINY[..]].concat();
    let missing = fails(here, &run);
    assert!(missing.contains("strip.toml:") && missing.contains("texture silk.png"), "{missing}");
    assert!(missing.contains("relative to the scene's folder") && !here.join("o").exists(), "{missing}");
    image::RgbImage::from_pixel(4, 4, image::Rgb([20, 60, 200])).save(here.join("silk.png")).unwrap();
    well(here, &run);
    // The original is no longer needed, its copy is.
    fs::remove_file(here.join("silk.png")).unwrap();
    let again = [&["render", "o", "--still", "0"], &TINY[..]].concat();
    well(here, &again);
    let picture = image::open(here.join("o/still-0000.png")).unwrap().to_rgb8();
    assert!(picture.pixels().any(|p| p.0[2] > p.0[0].saturating_add(60)), "nothing blue in it");
    fs::remove_file(here.join("o/texture.png")).unwrap();
    let gone = fails(here, &again);
    assert!(gone.contains("o/texture.png: texture not found"), "{gone}");
    // Other colourings don't need it.
    well(here, &[&again[..], &["--colour", "strain"]].concat());
}

#[test]
fn what_is_not_a_run_is_refused() {
    let folder = copy();
    let here = folder.path();
    let drawn = |args: &[&str]| fails(here, &[&["render"], args, &TINY[..]].concat());
    assert!(drawn(&["nowhere"]).contains("nowhere: no such folder"));
    let run = here.join("strip");
    fs::remove_file(run.join("scene.toml")).unwrap();
    assert!(drawn(&["strip"]).contains("scene.toml: not there"));
    fs::write(run.join("frames.bin"), "no cache").unwrap();
    assert!(drawn(&["strip"]).contains("not a ripstop cache"));
    fs::remove_file(run.join("frames.bin")).unwrap();
    let missing = drawn(&["strip"]);
    assert!(missing.contains("frames.bin: not there") && missing.contains("ripstop run SCENE -o strip"), "{missing}");
}

#[test]
fn a_cache_cut_short_is_drawn_as_far_as_it_goes() {
    let folder = copy();
    let cache = folder.path().join("strip/frames.bin");
    let bytes = fs::read(&cache).unwrap();
    fs::write(&cache, &bytes[..bytes.len() - 7]).unwrap();
    let output = ripstop(folder.path(), &[&["render", "strip"], &TINY[..]].concat());
    let warning = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && warning.contains("its 10 whole frames are drawn"), "{warning}");
    assert_eq!(film_frames(&folder.path().join("strip/preview.mp4")), 10);
    // Nothing but its header: an empty run.
    let header = (1..400).find(|&n| {
        fs::write(&cache, &bytes[..n]).unwrap();
        CacheReader::open(&cache).is_ok()
    });
    assert!(header.is_some());
    let empty = fails(folder.path(), &["render", "strip"]);
    assert!(empty.contains("no whole frame in it"), "{empty}");
}

#[test]
fn damage_in_the_middle_keeps_what_was_drawn() {
    let folder = copy();
    let cache = folder.path().join("strip/frames.bin");
    let mut bytes = fs::read(&cache).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    fs::write(&cache, &bytes).unwrap();
    let before = fs::read(folder.path().join("strip/preview.mp4")).unwrap();
    let text = fails(folder.path(), &[&["render", "strip"], &TINY[..]].concat());
    assert!(text.contains("frames.bin") && text.contains("damaged"), "{text}");
    assert!(before == fs::read(folder.path().join("strip/preview.mp4")).unwrap());
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_keeps_what_was_finished() {
    // The file that is written beside leads to a device that is always full.
    for name in ["still-0000.png", "preview.mp4", "report.html"] {
        let folder = copy();
        let run = folder.path().join("strip");
        for made in stills(&run).into_iter().chain(["preview.mp4", "report.html"].map(|name| run.join(name))) {
            fs::remove_file(made).unwrap();
        }
        std::os::unix::fs::symlink("/dev/full", run.join(format!("{name}.tmp"))).unwrap();
        let text = fails(folder.path(), &[&["render", "strip"], &TINY[..]].concat());
        assert!(text.contains(&format!("strip/{name}")) && text.contains("No space left"), "{text}");
        assert!(!run.join(name).exists() && !run.join(format!("{name}.tmp")).exists(), "{name}");
        assert_eq!(stills(&run).len() >= 4, name != "still-0000.png", "{name}");
        assert_eq!(run.join("preview.mp4").exists(), name == "report.html", "{name}");
        // There is room again.
        well(folder.path(), &[&["render", "strip"], &TINY[..]].concat());
        assert!(run.join("report.html").exists());
    }
}

#[test]
fn senseless_pictures_are_refused() {
    let folder = strip();
    let render = |args: &[&str]| fails(folder, &[&["render", "strip"], args].concat());
    assert!(render(&["--size", "0x36"]).contains("both sides must be 1 to 3840 pixels"));
    assert!(render(&["--size", "large"]).contains("such as 1280x720"));
    assert!(render(&["--camera", "1,2"]).contains("x,y,z:x,y,z"));
    assert!(render(&["--colour", "rainbow"]).contains("strain"));
    let far = render(&["--still", "5000"]);
    assert!(far.contains("no frame 5000") && far.contains("0 to 10"), "{far}");
    // In the middle of the sheet at the start.
    let inside = render(&["--still", "0", "--camera", "0.1,0.1,0:0.2,0.1,1", "--size", "64x36"]);
    assert!(inside.contains("frame 0 (0.00 s) of strip") && inside.contains("it stands in face"), "{inside}");
    assert!(inside.contains("move the eye back"), "{inside}");
    // A file where a folder should be, as good as a disk that refuses.
    fs::write(folder.join("in-the-way"), "").unwrap();
    assert!(render(&["-o", "in-the-way"]).contains("choose another folder with -o"));
    fs::create_dir_all(folder.join("blocked/still-0000.png")).unwrap();
    let blocked = render(&["-o", "blocked", "--still", "0", "--size", "64x36", "--draft"]);
    assert!(blocked.contains("still-0000.png: can't be written"), "{blocked}");
}
