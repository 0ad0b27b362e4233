//! docs/scenes.md names every key and word that scenes may have, and its examples are scenes.

use std::path::Path;
use toml::{Table, Value};

const MANUAL: &str = include_str!("../../../docs/scenes.md");

/// Source files with the tables of the scene file, and the types of the core that are part of it.
const SOURCES: [(&str, &[&str]); 16] = [
    (include_str!("../src/file.rs"), &[]),
    (include_str!("../src/expect.rs"), &[]),
    (include_str!("../src/woven.rs"), &[]),
    (include_str!("../../core/src/fabric.rs"), &["ElasticityKind", "Strength"]),
    (include_str!("../../core/src/potential/measured.rs"), &["Measured"]),
    (include_str!("../../core/src/potential/measured_bend.rs"), &["Bending"]),
    (include_str!("../../core/src/cloth.rs"), &["Placement"]),
    (include_str!("../../core/src/plastic.rs"), &["Plasticity"]),
    (include_str!("../../core/src/tear/mod.rs"), &["Policy"]),
    (include_str!("../../core/src/tear/noise.rs"), &["Noise"]),
    (include_str!("../../core/src/tear/seam.rs"), &["Unpick"]),
    (include_str!("../../core/src/criterion/separation_tensor.rs"), &["Form"]),
    (include_str!("../../core/src/integrator/implicit.rs"), &["ImplicitSettings"]),
    (include_str!("../../core/src/integrator/position/xpbd.rs"), &["XpbdSettings"]),
    (include_str!("../../core/src/integrator/position/pbd.rs"), &["PbdSettings"]),
    (include_str!("../../core/src/sparse/precondition.rs"), &["PreconditionerKind"]),
];

fn snake_case(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}

/// Keys and words of the types that serde reads, with the type they belong to; `only` those if any are named.
fn words(source: &str, only: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let (mut derived, mut inside, mut rename) = (false, None::<(String, bool)>, None::<String>);
    for line in source.lines() {
        let text = line.trim();
        match &inside {
            None => {
                derived = match text {
                    _ if text.starts_with("#[derive(") => text.contains("Deserialize"),
                    _ if text.starts_with("#[") || text.starts_with("///") => derived,
                    _ => {
                        let mut parts = text.trim_start_matches("pub ").split([' ', '{']);
                        let kind = parts.next().unwrap_or_default();
                        let name = parts.next().unwrap_or_default();
                        let wanted = only.is_empty() || only.contains(&name);
                        if derived && wanted && (kind == "struct" || kind == "enum") {
                            inside = Some((name.to_string(), kind == "enum"));
                        }
                        false
                    }
                };
            }
            Some(_) if line.starts_with('}') => inside = None,
            Some((_, _)) if text.starts_with("#[serde(") => {
                rename = text.split("rename = \"").nth(1).and_then(|t| t.split('"').next()).map(String::from);
            }
            Some((owner, is_enum)) if !text.starts_with("//") => {
                let name: String =
                    text.trim_start_matches("pub ").chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if !name.is_empty() {
                    let variant = *is_enum && name.starts_with(char::is_uppercase);
                    let spelt = if variant { snake_case(&name) } else { name };
                    found.push((owner.clone(), rename.take().unwrap_or(spelt)));
                }
            }
            Some(_) => {}
        }
    }
    found
}

#[test]
fn every_key_and_word_is_in_the_manual() {
    let found: Vec<_> = SOURCES.iter().flat_map(|(source, only)| words(source, only)).collect();
    // That the sources are read rightly: one of each sort must be among them.
    for (owner, word) in [
        ("Scene", "title"),
        ("ClothKind", "irregular"),
        ("ClothKind", "spacing"),
        ("GripTable", "where"),
        ("GripKey", "move"),
        ("BodyTable", "holds"),
        ("ShapeKind", "capsule"),
        ("Expect", "large_pieces"),
        ("FabricTable", "density"),
        ("ElasticityKind", "poisson"),
        ("Measured", "matrices"),
        ("Bending", "curvatures"),
        ("Placement", "weft"),
        ("Plasticity", "yield_strain"),
        ("Policy", "rounds"),
        ("Noise", "amount"),
        ("Unpick", "reverse"),
        ("SeamTable", "opens_at"),
        ("Form", "raw"),
        ("CriterionKind", "edge_strain"),
    ] {
        assert!(found.contains(&(owner.into(), word.into())), "{owner}.{word} not found in the sources");
    }
    let missing: Vec<_> = found
        .iter()
        .filter(|(_, word)| {
            let spellings =
                [format!("`{word}`"), format!("`\"{word}\"`"), format!("`[{word}]`"), format!("`[[{word}]]`")];
            let kinds = format!("`[{word}.…]`");
            !spellings.iter().chain([&kinds]).any(|spelling| MANUAL.contains(spelling))
        })
        .collect();
    assert!(missing.is_empty(), "not in docs/scenes.md: {missing:?}");
}

/// The examples of the manual.
fn examples() -> Vec<Table> {
    let blocks: Vec<&str> = MANUAL.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() > 10);
    blocks.iter().map(|text| text.parse().unwrap_or_else(|e| panic!("{e}\n{text}"))).collect()
}

#[test]
fn every_example_is_a_scene_or_part_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let square = "v 0 0 0\nv 100 0 0\nv 100 70 0\nv 0 70 0\nf 1 2 3 4\n";
    std::fs::write(at("shirt.obj"), square).unwrap();
    std::fs::write(at("chair.obj"), square).unwrap();
    image::GrayImage::new(4, 4).save(at("weak.png")).unwrap();
    let examples = examples();
    let whole = &examples[0];
    read(&at("whole.toml"), whole);
    for part in &examples[1..] {
        if part.contains_key("title") {
            read(&at("another.toml"), part);
            continue;
        }
        let mut scene = whole.clone();
        scene.extend(part.clone());
        if !part.contains_key("grip") && part.contains_key("cloth") {
            // Another cloth may have no node where the grips of the whole scene look for one.
            scene.insert("grip".into(), Value::Array(Vec::new()));
        }
        if part.contains_key("grip") {
            scene.remove("expect");
        }
        read(&at("part.toml"), &scene);
    }
}

fn read(path: &Path, scene: &Table) {
    let text = toml::to_string(scene).unwrap();
    std::fs::write(path, &text).unwrap();
    let parts = ripstop_scene::variant::Parts::read(path).unwrap_or_else(|e| panic!("{e}\n{text}"));
    for part in parts.parts {
        part.build().unwrap_or_else(|e| panic!("{e}\n{text}"));
    }
}

#[test]
fn defaults_are_those_of_the_program() {
    let text = "title = \"x\"\n[time]\nduration = 1\nstep = 1e-4\n[cloth.grid]\nsize = [1, 1]\nnodes = [3, 3]\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("least.toml");
    std::fs::write(&path, text).unwrap();
    let (scene, built) = ripstop_scene::variant::Parts::read(&path).unwrap().parts[0].build().unwrap();
    // A row of the manual: | `key` | unit | `default` | …
    let default = |key: &str, unit: &str| -> f64 {
        let row = format!("| `{key}` | {unit} | `").replace("|  |", "| |");
        let (_, rest) = MANUAL.split_once(&row).unwrap_or_else(|| panic!("no row {row}"));
        rest.split('`').next().unwrap().parse().unwrap()
    };
    assert_eq!(default("fps", "1/s"), scene.time.fps);
    assert_eq!(default("density", "kg/m²"), built.fabric.density);
    assert_eq!(default("stretch", "N/m"), built.fabric.stretch);
    assert_eq!(default("shear", "N/m"), built.fabric.shear);
    assert_eq!(default("bend", "N·m"), built.fabric.bend);
    assert_eq!(default("damping", "s"), built.fabric.damping);
    assert_eq!(default("thickness", "m"), built.fabric.thickness);
    assert_eq!(default("friction", ""), built.fabric.friction);
    assert_eq!(default("viscous", "kg/(m²·s)"), scene.air.viscous);
    assert_eq!(default("pressure", "kg/m³"), scene.air.pressure);
    assert_eq!(default("drag", "kg/m³"), scene.air.drag);
}
