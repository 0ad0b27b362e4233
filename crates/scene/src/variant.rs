//! Variants: one scene file that is several runs, and what they promise together.
//!
//! A file with `[[variant]]` tables is run once for each: its own keys are laid over those of the file. A table that chooses a kind
//! (`[integrator.rk4]`) takes the place of another kind's.

use crate::cache::CacheReader;
use crate::error::SceneError;
use crate::expect::{Alike, Together};
use crate::file::Scene;
use crate::inline;
use crate::load::Built;
use crate::run::RunError;
use crate::source::{Origin, Source};
use crate::summary::{Outcome, Summary};
use ripstop::Vec3;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Tables that choose a kind by the name of the table in them.
const CHOICES: [&str; 4] = ["cloth", "model", "integrator", "criterion"];

/// One run of a scene file: the file itself if it has no variants.
#[derive(Clone, Debug)]
pub struct Part {
    /// Name of the variant.
    pub name: Option<String>,
    /// It must fail while it runs.
    pub fails: bool,
    pub(crate) source: Source,
}

/// A scene file.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Its runs, at least one.
    pub parts: Vec<Part>,
    /// What they promise together.
    pub together: Together,
}

impl Part {
    /// One scene's text, as if it stood in a file at `path`.
    pub(crate) fn of_text(path: &Path, text: String) -> Self {
        Self { name: None, fails: false, source: Source { path: path.to_path_buf(), text, origin: None } }
    }

    /// Reads tables and builds the simulation; every value is checked.
    pub fn build(&self) -> Result<(Scene, Built), SceneError> {
        let scene: Scene = self.source.parse()?;
        let built = scene.build(&self.source)?;
        Ok((scene, built))
    }

    /// The summary of an earlier run in this folder, if it was of just this and came to its end.
    pub fn finished_in(&self, folder: &Path) -> Option<Summary> {
        let kept = std::fs::read_to_string(folder.join(crate::keep::SCENE_FILE)).ok()?;
        let summary = std::fs::read(folder.join("summary.json")).ok()?;
        (kept == self.source.text).then(|| serde_json::from_slice(&summary).ok())?
    }

    /// The file it stands in.
    pub fn path(&self) -> &Path {
        &self.source.path
    }
}

impl Parts {
    /// Reads a scene file.
    pub fn read(path: &Path) -> Result<Self, SceneError> {
        Self::of(Source::read(path)?)
    }

    /// The same of a file's text.
    pub fn of_text(path: &Path, text: &str) -> Result<Self, SceneError> {
        Self::of(Source { path: path.to_path_buf(), text: text.into(), origin: None })
    }

    /// Files that its scenes name, as they name them, with their bytes; those that can't be read are left out.
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        let found = RefCell::new(BTreeMap::new());
        for part in &self.parts {
            let mut table: Table = part.source.text.parse().unwrap_or_default();
            inline::carry(&mut table, &|name| {
                let bytes = inline::read(&part.source.beside(name)).ok()?;
                found.borrow_mut().insert(name.to_string(), bytes.clone());
                Some(bytes)
            });
        }
        found.into_inner().into_iter().collect()
    }

    fn of(source: Source) -> Result<Self, SceneError> {
        // A file that is no TOML is explained when its tables are read.
        let Ok(mut common) = source.text.parse::<Table>() else { return Ok(Self::whole(source)) };
        let together = common.remove("together");
        let Some(variants) = common.remove("variant") else {
            if together.is_some() {
                let advice = "add [[variant]] tables: it says what they promise together";
                return Err(source.fault(&["together"], "[together] without variants", advice));
            }
            return Ok(Self::whole(source));
        };
        let together = match together {
            None => Together::default(),
            Some(table) => table.try_into().map_err(|e: toml::de::Error| {
                let (cause, advice) = source.explain(e.message(), None);
                source.fault(&["together"], format!("{cause} in [together]"), advice)
            })?,
        };
        let Value::Array(variants) = variants else {
            return Err(source.fault(
                &["variant"],
                "`variant` is no list of tables",
                "write [[variant]], in two brackets",
            ));
        };
        let mut parts: Vec<Part> = Vec::new();
        for (index, variant) in variants.into_iter().enumerate() {
            let part = one(&source, &common, index, variant)?;
            if parts.iter().any(|other| other.name == part.name) {
                let cause = format!("two variants are named `{}`", part.name.as_deref().unwrap_or_default());
                return Err(source.fault(&["variant", &index.to_string(), "name"], cause, "give each its own name"));
            }
            parts.push(part);
        }
        if parts.is_empty() {
            return Err(source.fault(&["variant"], "no variants in the list", "add one, or leave `variant` out"));
        }
        let ascending = together.ascending.as_ref().map(|order| ("ascending", &order.variants));
        let alike = together.alike.as_ref().map(|alike| ("alike", &alike.variants));
        for (key, variants) in ascending.into_iter().chain(alike) {
            let known = |name: &&String| parts.iter().any(|part| part.name.as_ref() == Some(name));
            let at = ["together", key, "variants"];
            if let Some(name) = variants.iter().find(|name| !known(name)) {
                let names: Vec<&str> = parts.iter().filter_map(|part| part.name.as_deref()).collect();
                let cause = format!("there is no variant `{name}`");
                return Err(source.fault(&at, cause, format!("there are {}", names.join(", "))));
            }
            if variants.len() < 2 {
                return Err(source.fault(&at, "one variant can't be compared", "name at least two"));
            }
        }
        Ok(Self { parts, together })
    }

    fn whole(source: Source) -> Self {
        Self { parts: vec![Part { name: None, fails: false, source }], together: Together::default() }
    }

    /// True if the file has several runs.
    pub fn is_several(&self) -> bool {
        self.parts.iter().any(|part| part.name.is_some())
    }
}

/// The file with the keys of a variant laid over it.
fn one(source: &Source, common: &Table, index: usize, variant: Value) -> Result<Part, SceneError> {
    let at = index.to_string();
    let fault = |key: &str, cause: &str, advice: &str| source.fault(&["variant", &at, key], cause, advice);
    let Value::Table(mut own) = variant else {
        return Err(fault("", "a variant is a table", "write [[variant]], in two brackets"));
    };
    let name = match own.remove("name") {
        Some(Value::String(name)) if is_folder(&name) => name,
        Some(_) => {
            let advice = "letters, digits, - and _: it becomes the name of a folder";
            return Err(fault("name", "this can't be a variant's name", advice));
        }
        None => return Err(fault("", "a variant without a name", "add a line `name = \"…\"`")),
    };
    let fails = match own.remove("fails") {
        None => false,
        Some(Value::Boolean(fails)) => fails,
        Some(_) => return Err(fault("fails", "`fails` is neither true nor false", "write `fails = true`")),
    };
    let mut merged = common.clone();
    lay_over(&mut merged, own);
    let text = toml::to_string(&merged).expect("tables that were read can be written");
    let origin = Origin { text: source.text.clone(), index, name: name.clone() };
    Ok(Part { name: Some(name), fails, source: Source { path: source.path.clone(), text, origin: Some(origin) } })
}

fn is_folder(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

fn lay_over(below: &mut Table, above: Table) {
    for (key, value) in above {
        let chooses = CHOICES.contains(&key.as_str());
        match (below.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) if !chooses || below.keys().eq(above.keys()) => {
                lay_over(below, above);
            }
            (_, value) => {
                below.insert(key, value);
            }
        }
    }
}

/// Holds what variants promise together against their results, which lie in `folders`.
pub fn judge(together: &Together, folders: &[PathBuf]) -> Result<Vec<Outcome>, RunError> {
    let mut found = Vec::new();
    if let Some(range) = together.same_shape {
        let ends = folders.iter().map(|folder| end_of(folder)).collect::<Result<Vec<_>, _>>()?;
        let mut value = 0.0_f64;
        for (i, (a, width)) in ends.iter().enumerate() {
            for (b, _) in &ends[..i] {
                let apart = a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
                value = value.max(if a.len() == b.len() { apart / width } else { f64::NAN });
            }
        }
        let met = range.holds(value);
        found.push(Outcome { name: "same_shape".into(), expected: range.to_string(), value: Some(value), met });
    }
    if let Some(order) = &together.ascending {
        let values = values_in(folders, &order.variants, &order.of);
        // The smallest growth from one to the next; nothing to measure if one of them is missing.
        let growth = values.windows(2).map(|pair| Some(pair[1]? - pair[0]?));
        let least = growth.reduce(|a, b| Some(a?.min(b?))).flatten();
        let expected = format!("{} grows from {}", order.of, order.variants.join(" to "));
        let met = least.is_some_and(|growth| growth > 0.0);
        found.push(Outcome { name: format!("ascending {}", order.of), expected, value: least, met });
    }
    if let Some(Alike { of, variants, within }) = &together.alike {
        let values: Option<Vec<f64>> = values_in(folders, variants, of).into_iter().collect();
        let apart = values.map(|values| {
            let (low, high) = values.iter().fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(*v), high.max(*v)));
            (high - low) * values.len() as f64 / values.iter().sum::<f64>().abs()
        });
        let expected = format!("{of} of {} differs by at most {within}", variants.join(", "));
        let met = apart.is_some_and(|apart| apart <= *within);
        found.push(Outcome { name: format!("alike {of}"), expected, value: apart, met });
    }
    Ok(found)
}

/// What came out for an expectation in each of these variants.
fn values_in(folders: &[PathBuf], variants: &[String], name: &str) -> Vec<Option<f64>> {
    let folder = |variant: &String| folders.iter().find(|folder| folder.ends_with(variant));
    variants.iter().map(|variant| value_in(folder(variant)?, name)).collect()
}

/// What came out for an expectation of a finished run.
fn value_in(folder: &Path, name: &str) -> Option<f64> {
    let summary: Summary = serde_json::from_slice(&std::fs::read(folder.join("summary.json")).ok()?).ok()?;
    summary.expectations.into_iter().find(|outcome| outcome.name == name)?.value
}

/// Nodes of the last frame of a run, and the larger side of its material [m].
fn end_of(folder: &Path) -> Result<(Vec<Vec3>, f64), RunError> {
    let mut reader = CacheReader::open(folder.join("frames.bin"))?;
    let last = reader.frame(reader.frame_count() - 1)?;
    let uv = || last.topology.corner_uv.iter().flatten();
    let side = |k: usize| {
        let (low, high) =
            uv().fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), p| (low.min(p[k]), high.max(p[k])));
        f64::from(high - low)
    };
    let points = last.points.iter().map(|p| Vec3::from_array(p.map(f64::from))).collect();
    Ok((points, side(0).max(side(1))))
}

/// Scenes for tests.
#[cfg(test)]
pub(crate) mod sample {
    use super::{Parts, SceneError};
    use tempfile::TempDir;

    /// Reads a scene from a folder of its own, in which there are these files too.
    pub fn read(text: &str, files: &[(&str, &str)]) -> (TempDir, Result<Parts, SceneError>) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files.iter().chain(&[("scene.toml", text)]) {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let parts = Parts::read(&folder.path().join("scene.toml"));
        (folder, parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
title = "t"

[time]
duration = 1
step = 1e-3

[cloth.grid]
size = [1, 1]
nodes = [5, 5]

[integrator.implicit]
substeps = 2

[together]
same_shape = { max = 0.01 }

[[variant]]
name = "fine"
time.step = 1e-4
integrator.implicit = { newton = 3 }

[[variant]]
name = "rk4"
fails = true

[variant.integrator.rk4]
"#;

    fn read(text: &str) -> Result<Parts, SceneError> {
        sample::read(text, &[]).1
    }

    #[test]
    fn a_variant_is_the_file_with_its_own_keys_over_it() {
        let parts = read(FILE).unwrap();
        assert!(parts.together.same_shape.is_some());
        let [fine, rk4] = [0, 1].map(|i| parts.parts[i].source.text.parse::<Table>().unwrap());
        assert_eq!(fine["time"]["step"].as_float(), Some(1e-4));
        assert_eq!(fine["time"]["duration"].as_integer(), Some(1));
        assert_eq!(fine["integrator"]["implicit"]["substeps"].as_integer(), Some(2));
        assert_eq!(fine["integrator"]["implicit"]["newton"].as_integer(), Some(3));
        assert_eq!(rk4["integrator"].as_table().unwrap().keys().collect::<Vec<_>>(), ["rk4"]);
        assert!(parts.parts[1].fails && !parts.parts[0].fails);
        assert!(parts.parts.iter().all(|part| part.build().is_ok()));
    }

    #[test]
    fn errors_are_found_where_they_are_written() {
        let line = |text: &str| {
            let parts = read(text).unwrap();
            let error = parts.parts.iter().find_map(|part| part.build().err()).unwrap();
            assert!(error.cause.starts_with("variant `"), "{error}");
            text.lines().nth(error.line.unwrap() - 1).unwrap().to_string()
        };
        assert_eq!(line(&FILE.replace("time.step = 1e-4", "time.step = -1")), "time.step = -1");
        assert_eq!(line(&FILE.replace("substeps = 2", "substeps = 0")), "substeps = 0");
        assert_eq!(line(&FILE.replace("time.step = 1e-4", "time.stop = 1e-4")), "time.stop = 1e-4");
        assert_eq!(line(&FILE.replace("nodes = [5, 5]", "nodes = [5, 5, 5]")), "nodes = [5, 5, 5]");
    }

    #[test]
    fn impossible_variants_are_refused() {
        let cause = |from: &str, to: &str| read(&FILE.replace(from, to)).unwrap_err().to_string();
        assert!(cause("\"rk4\"", "\"fine\"").contains("two variants are named `fine`"));
        assert!(cause("\"rk4\"", "\"../rk4\"").contains("name of a folder"));
        assert!(cause("name = \"rk4\"\n", "").contains("without a name"));
        assert!(cause("fails = true", "fails = 1").contains("fails = true"));
        assert!(cause("same_shape", "same_shade").contains("same_shade"));
        assert!(read("title = \"t\"\n[together]\n").unwrap_err().to_string().contains("without variants"));
    }
}
