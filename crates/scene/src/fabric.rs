//! Fabrics by name and from files.
//!
//! A fabric file has a `title`, a table `[fabric]` like that of a scene, and `[sources]`: where each figure comes from. The ones
//! of `fabrics/` are part of the program. [`import`] reads the JSON files of Wang, O'Brien and Ramamoorthi 2011.

use crate::error::{SceneError, suggest};
use crate::file::FabricTable;
use crate::source::Source;
use ripstop::Fabric;
use ripstop::fabric::{ElasticityKind, StrongYarns};
use ripstop::potential::{Bending, Crimped, Curve, Measured};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Fabrics that are part of the program: name and text.
const BUILT_IN: [(&str, &str); 11] = [
    ("canvas", include_str!("../../../fabrics/canvas.toml")),
    ("cotton", include_str!("../../../fabrics/cotton.toml")),
    ("cotton-twill", include_str!("../../../fabrics/cotton-twill.toml")),
    ("denim", include_str!("../../../fabrics/denim.toml")),
    ("denim-strip", include_str!("../../../fabrics/denim-strip.toml")),
    ("pants", include_str!("../../../fabrics/pants.toml")),
    ("parachute-nylon", include_str!("../../../fabrics/parachute-nylon.toml")),
    ("ripstop-nylon", include_str!("../../../fabrics/ripstop-nylon.toml")),
    ("silk", include_str!("../../../fabrics/silk.toml")),
    ("swimsuit", include_str!("../../../fabrics/swimsuit.toml")),
    ("tshirt", include_str!("../../../fabrics/tshirt.toml")),
];

/// A fabric and what is known about it.
#[derive(Clone, Debug)]
pub struct KnownFabric {
    /// One line.
    pub title: String,
    /// Its figures.
    pub fabric: Fabric,
    /// Where each of them comes from, by key.
    pub sources: BTreeMap<String, String>,
    /// What laboratories measured, by the name of the test.
    pub tests: BTreeMap<String, Reference>,
}

/// `[tests.…]`: a measurement to hold a simulated test against, by the yarns that were broken.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// Force where warp yarns break [N].
    pub warp: f64,
    /// Force where weft yarns break [N].
    pub weft: f64,
    /// Elongation then, of warp and weft.
    pub elongation: Option<[f64; 2]>,
    /// Who measured it.
    pub source: String,
}

/// The text of a fabric file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FabricFile {
    title: String,
    #[serde(default)]
    sources: BTreeMap<String, String>,
    fabric: FabricTable,
    #[serde(default)]
    tests: BTreeMap<String, Reference>,
}

/// Names of the fabrics that are part of the program.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// A fabric that is part of the program; for another name cause and advice.
pub fn named(name: &str) -> Result<KnownFabric, (String, String)> {
    let Some((_, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) else {
        let all: Vec<&str> = names().collect();
        return Err((format!("there is no fabric `{name}`"), suggest(name, &all, "fabrics")));
    };
    let source = Source { path: format!("fabrics/{name}.toml").into(), text: (*text).into(), origin: None };
    // A test reads them all.
    parse(&source).map_err(|e| (e.to_string(), String::new()))
}

/// A fabric file, or measurements as JSON.
pub fn read(path: &Path) -> Result<KnownFabric, SceneError> {
    let carried = path.to_str().is_some_and(|name| name.starts_with("data:application/json"));
    if carried || path.extension().is_some_and(|e| e.eq_ignore_ascii_case("json")) {
        return import(path);
    }
    parse(&open(path)?)
}

fn open(path: &Path) -> Result<Source, SceneError> {
    let bytes = crate::inline::read(path).map_err(|e| {
        SceneError::of_file(path, format!("can't be read: {e}"), "`ripstop fabric list` lists those that need no file")
    })?;
    let text = String::from_utf8(bytes).map_err(|_| {
        SceneError::of_file(path, "is not text (UTF-8)", "fabrics are TOML files, or JSON measurements")
    })?;
    Ok(Source { path: path.to_path_buf(), text, origin: None })
}

fn parse(source: &Source) -> Result<KnownFabric, SceneError> {
    let FabricFile { title, sources, fabric, tests } = source.parse()?;
    if let Some(key) = [("name", &fabric.name), ("file", &fabric.file)].iter().find(|(_, given)| given.is_some()) {
        let cause = "a fabric file can't refer to another fabric";
        return Err(source.fault(
            &["fabric", key.0],
            cause,
            "write the figures here; scenes choose by `name` or `file`",
        ));
    }
    let fabric = fabric.over(Fabric::default());
    check(source, &fabric)?;
    Ok(KnownFabric { title, fabric, sources, tests })
}

/// Refuses a fabric that can't be, at the line of its `[fabric]` table.
pub(crate) fn check(source: &Source, fabric: &Fabric) -> Result<(), SceneError> {
    fabric.check().map_err(|(table, key, cause)| {
        let kind = fabric.elasticity.map_or("", |kind| kind.name());
        let path: &[&str] = match table {
            None => &["fabric", key],
            Some("elasticity") => &["fabric", "elasticity", kind, key],
            Some(table) => &["fabric", table, key],
        };
        source.fault(path, cause, "see `fabric` in docs/scenes.md for usual values")
    })
}

impl FabricTable {
    /// The fabric of a scene: the named one or that of a file, with what stands beside it changed.
    pub(crate) fn resolve(&self, source: &Source) -> Result<Fabric, SceneError> {
        let base = match (&self.name, &self.file) {
            (Some(_), Some(_)) => {
                let cause = "a fabric has a `name` or comes from a `file`, but not both";
                return Err(source.fault(&["fabric", "file"], cause, "keep one of them"));
            }
            (Some(name), None) => {
                named(name).map_err(|(cause, advice)| source.fault(&["fabric", "name"], cause, advice))?.fabric
            }
            (None, Some(file)) => {
                let path = source.beside(file);
                if !crate::inline::is_inside(file) && !path.is_file() {
                    let cause = format!("there is no fabric file {}", path.display());
                    return Err(source.fault(&["fabric", "file"], cause, "paths are relative to the scene's folder"));
                }
                read(&path)?.fabric
            }
            (None, None) => Fabric::default(),
        };
        let fabric = self.over(base);
        check(source, &fabric)?;
        Ok(if self.turned { fabric.turned() } else { fabric })
    }

    /// `base` with what is given here changed. What says less replaces what says more of the same: `stretch` or `shear`
    /// the elasticity, `bend` the bending by direction.
    fn over(&self, base: Fabric) -> Fabric {
        let plain = self.stretch.or(self.shear).is_some();
        Fabric {
            density: self.density.unwrap_or(base.density),
            stretch: self.stretch.unwrap_or(base.stretch),
            shear: self.shear.unwrap_or(base.shear),
            bend: self.bend.unwrap_or(base.bend),
            damping: self.damping.unwrap_or(base.damping),
            thickness: self.thickness.unwrap_or(base.thickness),
            friction: self.friction.unwrap_or(base.friction),
            cut_resistance: self.cut_resistance.unwrap_or(base.cut_resistance),
            elasticity: self.elasticity.or(if plain { None } else { base.elasticity }),
            bending: self.bending.or(if self.bend.is_some() { None } else { base.bending }),
            strength: self.strength.or(base.strength),
            toughness: self.toughness.or(base.toughness),
        }
    }
}

/// The layout of the measurements.
#[derive(Deserialize)]
struct Measurements {
    density: f64,
    stretching: Vec<Vec<f64>>,
    bending: Vec<Vec<f64>>,
}

/// Reads measurements as JSON: `density` [kg/m²], `stretching` (6 rows of c11, c12, c22, c33 [N/m]) and `bending` (3 rows of
/// 5 [N·m]).
pub fn import(path: &Path) -> Result<KnownFabric, SceneError> {
    let source = open(path)?;
    let fault = |line, cause: String, advice: &str| SceneError {
        file: source.path.clone(),
        line,
        cause,
        advice: advice.into(),
    };
    let layout = "measurements are JSON with `density`, `stretching` (6 × 4 numbers) and `bending` (3 × 5)";
    let found: Measurements = serde_json::from_str(&source.text).map_err(|e| {
        let text = e.to_string();
        let cause = text.split(" at line ").next().unwrap_or(&text).replace("missing field", "missing key");
        fault(Some(e.line()).filter(|line| *line > 0), cause, layout)
    })?;
    let shape = |key: &str, rows: &[Vec<f64>], height: usize, width: usize| {
        let wrong = rows.iter().position(|row| row.len() != width);
        match wrong {
            _ if rows.len() != height => Err(fault(None, format!("`{key}` has {} rows", rows.len()), layout)),
            Some(row) => {
                Err(fault(None, format!("row {} of `{key}` has {} numbers", row + 1, rows[row].len()), layout))
            }
            None => Ok(()),
        }
    };
    shape("stretching", &found.stretching, 6, 4)?;
    shape("bending", &found.bending, 3, 5)?;
    let mut measured = Measured { strain: 0.17, matrices: [[0.0; 4]; 6] };
    measured.matrices.iter_mut().zip(&found.stretching).for_each(|(to, from)| to.copy_from_slice(from));
    let mut bending = Bending::constant([0.0; 3]);
    bending.stiffness.iter_mut().zip(&found.bending).for_each(|(to, from)| to.copy_from_slice(from));
    let rest = measured.row(0);
    let strip = |along: f64, other: f64| along - rest.across * rest.across / other;
    // What models that know less use of it.
    let fabric = Fabric {
        density: found.density,
        stretch: (strip(rest.weft, rest.warp) * strip(rest.warp, rest.weft)).sqrt(),
        shear: rest.shear / 1.5,
        bend: bending.stiffness.iter().map(|row| row[0]).sum::<f64>() / 3.0,
        elasticity: Some(ElasticityKind::Measured(measured)),
        bending: Some(bending),
        ..Fabric::default()
    };
    // Tables first: plain figures follow from them.
    let tables = measured.check().map_err(|(_, cause)| ("stretching", cause));
    let tables = tables.and_then(|()| bending.check().map_err(|(_, cause)| ("bending", cause)));
    let all = tables.and_then(|()| fabric.check().map_err(|(_, key, cause)| (key, cause)));
    all.map_err(|(key, cause)| {
        let line = source.text.lines().position(|line| line.contains(&format!("\"{key}\""))).map(|at| at + 1);
        fault(line, cause, "there is no such sheet; check the file for slips")
    })?;
    let stem = path.file_stem().map_or("measured".into(), |stem| stem.to_string_lossy().into_owned());
    let file = path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
    let derived = "derived from the measurements at rest".to_string();
    let assumed = "assumed: the default of the program".to_string();
    let mut sources: BTreeMap<String, String> =
        ["density", "elasticity"].map(|key| (key.into(), format!("measured: {file}"))).into();
    sources.insert("bending".into(), format!("measured: {file}; the curvatures are assumed"));
    sources.extend(["stretch", "shear", "bend"].map(|key| (key.into(), derived.clone())));
    sources.extend(["thickness", "friction", "damping", "cut_resistance"].map(|key| (key.into(), assumed.clone())));
    Ok(KnownFabric { title: stem, fabric, sources, tests: BTreeMap::new() })
}

/// The text of a fabric file.
pub fn write(known: &KnownFabric) -> String {
    let KnownFabric { title, fabric, sources, .. } = known;
    let text = |text: &str| toml::Value::String(text.into()).to_string();
    let list =
        |numbers: &[f64]| format!("[{}]", numbers.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>().join(", "));
    let mut out = format!("title = {}\n\n[fabric]\n", text(title));
    let numbers = [
        ("density", fabric.density),
        ("stretch", fabric.stretch),
        ("shear", fabric.shear),
        ("bend", fabric.bend),
        ("damping", fabric.damping),
        ("thickness", fabric.thickness),
        ("friction", fabric.friction),
        ("cut_resistance", fabric.cut_resistance),
    ];
    numbers.iter().for_each(|(key, value)| out += &format!("{key} = {value:?}\n"));
    match fabric.elasticity {
        None => {}
        Some(ElasticityKind::Isotropic { young, poisson }) => {
            out += &format!("\n[fabric.elasticity.isotropic]\nyoung = {young:?}\npoisson = {poisson:?}\n");
        }
        Some(ElasticityKind::Orthotropic { c11, c12, c22, c33 }) => {
            out += &format!(
                "\n[fabric.elasticity.orthotropic]\nc11 = {c11:?}\nc12 = {c12:?}\nc22 = {c22:?}\nc33 = {c33:?}\n"
            );
        }
        Some(ElasticityKind::Measured(measured)) => {
            out += &format!("\n[fabric.elasticity.measured]\nstrain = {:?}\nmatrices = [\n", measured.strain);
            measured.matrices.iter().for_each(|row| out += &format!("    {},\n", list(row)));
            out += "]\n";
        }
        Some(ElasticityKind::Crimped(Crimped { weft, warp, c12, c33 })) => {
            out += &format!("\n[fabric.elasticity.crimped]\nc12 = {c12:?}\nc33 = {c33:?}\n");
            for (name, Curve { soft, locking, stiff }) in [("weft", weft), ("warp", warp)] {
                out += &format!("{name} = {{ soft = {soft:?}, locking = {locking:?}, stiff = {stiff:?} }}\n");
            }
        }
    }
    if let Some(bending) = &fabric.bending {
        out += &format!("\n[fabric.bending]\ncurvatures = {}\nstiffness = [\n", list(&bending.curvatures));
        bending.stiffness.iter().for_each(|row| out += &format!("    {},\n", list(row)));
        out += "]\n";
    }
    if let Some(strength) = &fabric.strength {
        out += &format!("\n[fabric.strength]\nweft = {:?}\nwarp = {:?}\n", strength.weft, strength.warp);
        strength.bias.iter().for_each(|bias| out += &format!("bias = {bias:?}\n"));
    }
    if let Some(toughness) = &fabric.toughness {
        out += &format!("\n[fabric.toughness]\nweft = {:?}\nwarp = {:?}\n", toughness.weft, toughness.warp);
        if let Some(StrongYarns { spacing, width, factor }) = toughness.grid {
            out += &format!("grid = {{ spacing = {spacing:?}, width = {width:?}, factor = {factor:?} }}\n");
        }
    }
    out += "\n[sources]\n";
    sources.iter().for_each(|(key, source)| out += &format!("{key} = {}\n", text(source)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};

    #[test]
    fn every_fabric_is_whole_and_every_figure_has_its_source() {
        for (name, text) in BUILT_IN {
            let known = named(name).unwrap_or_else(|(cause, advice)| panic!("{cause}\n{advice}"));
            assert!(!known.title.is_empty());
            let table: toml::Table = text.parse().unwrap();
            for key in table["fabric"].as_table().unwrap().keys() {
                assert!(known.sources.contains_key(key), "fabrics/{name}.toml: no source for `{key}`");
            }
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fabrics").join(format!("{name}.toml"));
            assert!(file.is_file());
        }
        let folder = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fabrics")).unwrap();
        assert_eq!(folder.count(), BUILT_IN.len(), "every file of fabrics/ is part of the program");
    }

    fn measured(name: &str) -> Measured {
        match named(name).unwrap().fabric.elasticity {
            Some(ElasticityKind::Measured(measured)) => measured,
            other => panic!("{name}: {other:?}"),
        }
    }

    #[test]
    fn figures_have_the_means_of_the_thesis() {
        // Karaöz 2015, Table 4.14. It counts what is below zero as zero.
        let table = [
            ("denim", [223.288325, 39.130220, 1048.432643, 69.412260]),
            ("tshirt", [83.893843, 67.652278, 281.209530, 22.680790]),
            ("pants", [2094.145196, 45.790863, 2129.397111, 58.980970]),
            ("swimsuit", [50.024568, 20.011822, 113.431254, 23.658169]),
        ];
        for (name, means) in table {
            let rows = measured(name).matrices;
            for (k, printed) in means.into_iter().enumerate() {
                let mean = rows.iter().map(|row| row[k].max(0.0)).sum::<f64>() / 6.0;
                assert!((mean - printed).abs() < 2e-3, "{name}, column {k}: {mean} against {printed}");
            }
        }
    }

    #[test]
    fn fabrics_stretch_in_the_order_of_the_thesis() {
        // Mean of strips along weft, bias and warp, as the means of Table 4.14 are over directions.
        let stretch = |name: &str, load: f64| {
            let fabric = named(name).unwrap().fabric;
            [0.0, FRAC_PI_4, FRAC_PI_2].iter().map(|angle| fabric.stretch_under(*angle, load)).sum::<f64>() / 3.0
        };
        for load in [15.0, 20.0, 30.0] {
            let order = ["swimsuit", "tshirt", "denim", "pants"].map(|name| stretch(name, load));
            assert!(order.windows(2).all(|pair| pair[0] > 1.05 * pair[1]), "{load} N/m: {order:?}");
        }
    }

    #[test]
    fn what_is_written_reads_the_same() {
        for name in names() {
            let known = named(name).unwrap();
            let source = Source { path: "x.toml".into(), text: write(&known), origin: None };
            let again = parse(&source).unwrap_or_else(|e| panic!("{e}\n{}", source.text));
            assert_eq!((again.fabric, again.sources, again.title), (known.fabric, known.sources, known.title));
        }
    }

    #[test]
    fn what_stands_beside_a_name_counts() {
        let source = Source { path: "x.toml".into(), text: String::new(), origin: None };
        let table = |text: &str| -> FabricTable { toml::from_str(text).unwrap() };
        let denim = named("denim").unwrap().fabric;
        assert_eq!(table("name = \"denim\"").resolve(&source).unwrap(), denim);
        let heavy = table("name = \"denim\"\ndensity = 1.0").resolve(&source).unwrap();
        assert_eq!(heavy, Fabric { density: 1.0, ..denim });
        let plain = table("name = \"denim\"\nstretch = 50.0").resolve(&source).unwrap();
        assert_eq!(plain, Fabric { stretch: 50.0, elasticity: None, ..denim });
        let limp = table("name = \"denim\"\nbend = 0.0").resolve(&source).unwrap();
        assert_eq!(limp, Fabric { bend: 0.0, bending: None, ..denim });
    }
}
