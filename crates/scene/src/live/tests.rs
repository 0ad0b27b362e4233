use super::*;

/// A sheet on a bar that tears where it is pulled.
const SHEET: &str = r#"
title = "t"
[time]
duration = 2
step = 0.008333333333333333
fps = 60
[cloth.grid]
size = [0.5, 0.5]
nodes = [16, 16]
[place]
weft = [1, 0, 0]
warp = [0, 1, 0]
[fabric]
stretch = 400
[integrator.implicit]
[[grip]]
name = "bar"
where = { side = "top" }
[tear]
opening = "through"
[tear.criterion.separation_tensor]
strength = 0.3
[expect]
tears = 0
"#;

const WOVEN: &str = r#"
title = "w"
[time]
duration = 1
step = 0.008333333333333333
fps = 60
[cloth.woven]
yarns = [16, 12]
[[grip]]
name = "bar"
where = { side = "top" }
"#;

fn live(text: &str) -> Live {
    Live::load("scene.toml", text, None, &|_| None).unwrap_or_else(|e| panic!("{e}"))
}

/// Straight at the sheet.
fn ray(x: f64, y: f64) -> Ray {
    Ray { origin: Vec3::new(x, y, 3.0), direction: -Vec3::Z }
}

fn steps(live: &mut Live, count: u64) {
    for _ in 0..count {
        live.advance(2, &mut ()).unwrap();
    }
}

/// The state of a scene's text after so many steps.
fn state_after(text: &str, steps: u64) -> u64 {
    let (_, mut built) = Part::of_text(Path::new("played.toml"), text.into()).build().unwrap_or_else(|e| panic!("{e}"));
    for _ in 0..steps {
        built.engine.step(&mut ()).unwrap();
    }
    built.engine.state_hash()
}

/// Everything that can be done to a sheet.
fn play(live: &mut Live) {
    steps(live, 5);
    live.grab(1, ray(0.25, 0.05)).unwrap();
    live.drag(1, Vec3::new(0.2, -0.4, 0.6));
    steps(live, 15);
    live.wind(Vec3::new(1.0, 0.0, 4.0)).unwrap();
    live.throw(ray(0.1, 0.3), 0.05, 0.3, 4.0).unwrap();
    assert!(live.grab(2, ray(0.4, 0.4)).is_some());
    steps(live, 5);
    live.release(2);
    assert_eq!(live.cut(&[ray(0.05, 0.1), ray(0.05, 0.35), ray(0.1, 0.4)]), 1);
    steps(live, 5);
    assert_eq!(live.pin(ray(0.45, 0.42)), Some(true));
    steps(live, 10);
    live.release(1);
    live.wind(Vec3::ZERO).unwrap();
    steps(live, 10);
}

#[test]
fn what_was_played_runs_again_bit_for_bit() {
    let mut live = live(SHEET);
    play(&mut live);
    let engine = &live.built().engine;
    assert!(engine.tear_count() > 5 && engine.bodies().len() == 1, "{} tears", engine.tear_count());
    let (hash, count, text) = (engine.state_hash(), engine.step_count(), live.scene_text());
    assert_eq!(state_after(&text, count), hash, "{text}");
    // The same again as a scene that is played.
    let mut again = self::live(&text);
    steps(&mut again, count / 2);
    assert_eq!(again.built().engine.state_hash(), hash);
    assert!(again.scene_text().contains("[[body]]"));
}

#[test]
fn rewinding_goes_back_to_what_was_and_on_as_before() {
    let mut live = live(SHEET);
    play(&mut live);
    let (end, text) = (live.now(), live.scene_text());
    let time = live.rewind(0.3).unwrap();
    assert!(time <= end - 0.3 + 1e-9 && time > end - 0.8, "from {end} to {time} s");
    let (step, hash) = (live.built().engine.step_count(), live.built().engine.state_hash());
    assert_eq!(state_after(&text, step), hash, "it is what was there then");
    steps(&mut live, 10);
    let engine = &live.built().engine;
    assert_eq!(
        state_after(&live.scene_text(), engine.step_count()),
        engine.state_hash(),
        "and goes on by its own scene"
    );
    assert_eq!(live.rewind(100.0).unwrap(), 0.0);
    assert!(!live.scene_text().contains("hand 1") && live.built().engine.tear_count() == 0);
}

#[test]
fn woven_cloth_is_grabbed_and_hit_too() {
    let mut live = live(WOVEN);
    let middle = live.built().engine.counts().middle;
    let at = |dx: f64| Ray { origin: middle + Vec3::new(dx, 0.0, 0.5), direction: -Vec3::Z };
    steps(&mut live, 2);
    let below = |dx: f64| Ray { origin: middle + Vec3::new(dx, -0.003, 0.5), direction: -Vec3::Z };
    assert_eq!(live.cut(&[below(0.0), below(0.003)]), 1);
    assert_eq!(live.built().engine.tear_count(), 0, "cuts come with the next step");
    steps(&mut live, 1);
    // Three millimetres along the wefts, as far as there are between four warps.
    assert_eq!(live.built().engine.tear_count(), 3);
    live.grab(7, at(0.0)).unwrap();
    live.drag(7, middle - Vec3::Y * 0.02);
    steps(&mut live, 10);
    live.release(7);
    live.throw(at(0.003), 0.002, 1e-4, 1.0).unwrap();
    steps(&mut live, 10);
    let engine = &live.built().engine;
    let (hash, count) = (engine.state_hash(), engine.step_count());
    assert_eq!(state_after(&live.scene_text(), count), hash);
    let breaks = |live: &Live| live.built().engine.woven().unwrap().woven.spec().breaking;
    let before = breaks(&live);
    let time = live.rewind(0.1).unwrap();
    let engine = &live.built().engine;
    assert!(time > 0.2 && time < 0.3, "{time}");
    assert_eq!(state_after(&live.scene_text(), engine.step_count()), engine.state_hash());
    live.set(Change { strength: Some(0.5), ..Change::default() }).unwrap();
    live.set(Change { strength: Some(2.0), ..Change::default() }).unwrap();
    assert_eq!(breaks(&live), 2.0 * before, "of its own strength, not of the last");
}

#[test]
fn choices_start_again_and_bad_ones_change_nothing() {
    let mut live = live(SHEET);
    steps(&mut live, 5);
    let set = |live: &mut Live, change: Change| live.set(change);
    set(&mut live, Change { strength: Some(0.5), opening: Some("snap".into()), ..Change::default() }).unwrap();
    assert_eq!(live.built().engine.step_count(), 0);
    let text = live.scene_text();
    assert!(text.contains("strength = 0.15") && text.contains("opening = \"snap\""), "{text}");
    assert!(set(&mut live, Change { fabric: Some("tweed of my aunt".into()), ..Change::default() }).is_err());
    assert!(set(&mut live, Change { strength: Some(-1.0), ..Change::default() }).is_err());
    assert_eq!(live.scene_text(), text);
    let options = live.options();
    assert!(options.fabrics.len() > 2 && options.criteria.len() == 2, "{options:?}");
    set(&mut live, Change { criterion: Some("edge_strain".into()), ..Change::default() }).unwrap();
    assert_eq!(live.options().now.criterion.as_deref(), Some("edge_strain"));
    assert!(live.scene_text().contains("strength = 0.15"));
}

#[test]
fn a_fabric_without_toughness_tears_by_strain_where_another_tears_by_toughness() {
    let figures = "stretch = 400\n[fabric.strength]\nweft = 90\nwarp = 90\n[fabric.toughness]\nweft = 1\nwarp = 1\n[model.membrane]";
    let tough = SHEET.replace("stretch = 400", figures).replace("opening = \"through\"\n", "");
    let mut live = live(&tough.replace("separation_tensor]\nstrength = 0.3", "toughness]"));
    let now = |live: &Live| live.options().now;
    let chosen = |live: &Live| (now(live).criterion.unwrap(), now(live).opening.unwrap());
    assert_eq!(chosen(&live), ("toughness".into(), "through".into()));
    live.set(Change { fabric: Some("silk".into()), ..Change::default() }).unwrap();
    assert_eq!(chosen(&live), ("separation_tensor".into(), "through".into()));
    live.set(Change { fabric: Some("ripstop-nylon".into()), ..Change::default() }).unwrap();
    assert_eq!(chosen(&live), ("toughness".into(), "through".into()));
    steps(&mut live, 2);
}

#[test]
fn paint_makes_a_map_that_the_scene_carries() {
    let mut live = live(SHEET);
    steps(&mut live, 5);
    assert!(live.paint(ray(0.25, 0.25), 0.05, 0.2).unwrap());
    assert!(!live.paint(ray(9.0, 0.25), 0.05, 0.2).unwrap());
    assert_eq!(live.built().engine.step_count(), 0, "the map counts from the start");
    let (drawn, _) = live.draw(Shade::Map);
    assert!(drawn.shade.iter().any(|s| *s < 0.3) && drawn.shade.iter().any(|s| *s > 0.99));
    live.paint_end().unwrap();
    let text = live.scene_text();
    assert!(text.contains("data:image/png;base64,"));
    let again = self::live(&text);
    assert!(again.scene().tear.as_ref().unwrap().map.is_some());
    live.paint_clear().unwrap();
    assert!(!live.scene_text().contains("base64"));
}

#[test]
fn a_hand_goes_by_an_edge_and_a_half_a_step_at_most_and_gets_there() {
    // In steps so long that its speed alone would let it go farther.
    let mut live = live(&SHEET.replace("step = 0.008333333333333333", "step = 0.016666666666666666"));
    let from = live.grab(1, ray(0.25, 0.25)).unwrap();
    let to = from + Vec3::new(0.0, -0.1, 0.2);
    live.drag(1, to);
    let mut at = from;
    for _ in 0..60 {
        let most = 1.5 * live.built().engine.counts().spacing;
        live.advance(1, &mut ()).unwrap();
        let (_, now) = live.hand("hand 1").unwrap();
        assert!(now.distance(at) <= most * (1.0 + 1e-9), "{} m, {most} m", now.distance(at));
        at = now;
    }
    assert!(at.distance(to) < 1e-9, "{at} instead of {to}");
}

#[test]
fn a_hand_that_misses_or_throws_nonsense_does_nothing() {
    let mut live = live(SHEET);
    assert_eq!(live.grab(1, ray(7.0, 7.0)), None);
    assert_eq!(live.pin(ray(7.0, 7.0)), None);
    live.drag(1, Vec3::ZERO);
    live.release(1);
    assert!(live.throw(ray(0.2, 0.2), f64::NAN, 1.0, 1.0).is_err());
    assert!(live.throw(ray(0.2, 0.2), 5.0, 1.0, 1.0).unwrap_err().cause.contains("inside the cloth"));
    assert!(live.wind(Vec3::new(f64::NAN, 0.0, 0.0)).is_err());
    assert_eq!(live.cut(&[ray(7.0, 7.0), ray(8.0, 7.0)]), 0);
    steps(&mut live, 3);
    assert_eq!(live.built().engine.state_hash(), state_after(SHEET, 6));
}

#[test]
fn what_is_drawn_fits_together() {
    let mut live = live(SHEET);
    play(&mut live);
    let (drawn, frame) = live.draw(Shade::Pieces);
    let count = drawn.points.len();
    assert!([drawn.normals.len(), drawn.shade.len(), drawn.uv.len()].iter().all(|n| *n == count));
    assert_eq!(drawn.triangles.len(), frame.topology.faces.len());
    assert!(drawn.triangles.iter().flatten().chain(drawn.lips.iter().flatten()).all(|v| (*v as usize) < count));
    assert!(!drawn.lips.is_empty() && !drawn.held.is_empty());
    assert!(drawn.normals.iter().all(|n| (glam::Vec3::from(*n).length() - 1.0).abs() < 1e-3));
    let version = drawn.version;
    assert_eq!(live.draw(Shade::Fabric).0.version, version);
    let obj = live.obj().unwrap();
    assert!(obj.lines().filter(|line| line.starts_with("f ")).count() > 400 && obj.contains("o ball"));
    assert!(live.usda().unwrap().starts_with("#usda 1.0"));
}
