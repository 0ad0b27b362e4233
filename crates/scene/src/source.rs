//! The text of a scene file, and where in it things stand.

use crate::error::{SceneError, suggest};
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// A file that was read.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub path: PathBuf,
    pub text: String,
}

impl Source {
    pub fn read(path: &Path) -> Result<Self, SceneError> {
        let text = std::fs::read(path).map_err(|e| {
            SceneError::of_file(path, format!("can't be read: {e}"), "`ripstop scenes` lists those there are")
        })?;
        let text = String::from_utf8(text)
            .map_err(|_| SceneError::of_file(path, "is not text (UTF-8)", "scenes are TOML files"))?;
        Ok(Self { path: path.to_path_buf(), text })
    }

    /// Parses the text; errors carry the line, and for misspelt words the nearest right one.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, SceneError> {
        toml::from_str(&self.text).map_err(|e| {
            let line = e.span().map(|span| self.line_at(span.start));
            let (cause, advice) = self.explain(e.message(), e.span());
            SceneError { file: self.path.clone(), line, cause, advice }
        })
    }

    /// An error about the value at `path` (keys and array indices), if it can be found in the text.
    pub fn fault(&self, path: &[&str], cause: impl Into<String>, advice: impl Into<String>) -> SceneError {
        let line = self.find(path).map(|at| self.line_at(at));
        SceneError { file: self.path.clone(), line, cause: cause.into(), advice: advice.into() }
    }

    /// A file named in the scene, relative to the folder of the scene.
    pub fn beside(&self, file: &str) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(file)
    }

    fn line_at(&self, offset: usize) -> usize {
        1 + self.text.bytes().take(offset).filter(|&b| b == b'\n').count()
    }

    /// Offset of the deepest part of `path` that is there.
    fn find(&self, path: &[&str]) -> Option<usize> {
        let root = DeTable::parse(&self.text).ok()?;
        let mut table = Some(root.get_ref());
        let mut array: Option<&toml::de::DeArray<'_>> = None;
        let mut found = None;
        for part in path {
            let (start, value) = if let Some(t) = table {
                let Some((key, value)) = t.iter().find(|(key, _)| key.get_ref() == part) else { break };
                (key.span().start, value)
            } else {
                let Some(value) = array.and_then(|a| a.get(part.parse::<usize>().ok()?)) else { break };
                (value.span().start, value)
            };
            found = Some(start);
            (table, array) = match value.get_ref() {
                DeValue::Table(t) => (Some(t), None),
                DeValue::Array(a) => (None, Some(a)),
                _ => (None, None),
            };
        }
        found
    }

    /// Turns serde's words into ours.
    fn explain(&self, message: &str, span: Option<std::ops::Range<usize>>) -> (String, String) {
        let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
        let table = span.and_then(|span| self.table_around(span.start)).map_or(String::new(), |t| format!(" in [{t}]"));
        if message.starts_with("unknown field") || message.starts_with("unknown variant") {
            let (wrong, right) = (quoted.first().copied().unwrap_or("?"), quoted.get(1..).unwrap_or(&[]));
            let kind = if message.starts_with("unknown field") { "unknown key" } else { "unknown word" };
            return (format!("{kind} `{wrong}`{table}"), suggest(wrong, right));
        }
        if message.starts_with("missing field") {
            let key = quoted.first().copied().unwrap_or("?");
            return (format!("missing key `{key}`{table}"), format!("add a line `{key} = …`"));
        }
        let first = message.lines().next().unwrap_or(message);
        if let Some((found, expected)) = first.strip_prefix("invalid type: ").and_then(|m| m.split_once(", expected "))
        {
            return (format!("wrong type{table}: {found}"), format!("expected {}", plain(expected)));
        }
        (format!("{first}{table}"), String::new())
    }

    /// Dotted name of the table that the text at `offset` belongs to, if it is not the root.
    fn table_around(&self, offset: usize) -> Option<String> {
        let root = DeTable::parse(&self.text).ok()?;
        let mut names: Vec<String> = Vec::new();
        let mut table = root.get_ref();
        'deeper: loop {
            for (key, value) in table.iter() {
                let inner = match value.get_ref() {
                    DeValue::Table(t) => Some(t),
                    DeValue::Array(a) => a.iter().find_map(|v| match v.get_ref() {
                        DeValue::Table(t) if holds(t, offset) || v.span().contains(&offset) => Some(t),
                        _ => None,
                    }),
                    _ => None,
                };
                if let Some(inner) = inner.filter(|t| holds(t, offset) || value.span().contains(&offset)) {
                    names.push(key.get_ref().to_string());
                    table = inner;
                    continue 'deeper;
                }
            }
            break;
        }
        (!names.is_empty()).then(|| names.join("."))
    }
}

/// True if a key or value at `offset` is somewhere inside the table.
fn holds(table: &DeTable<'_>, offset: usize) -> bool {
    table.iter().any(|(key, value)| {
        key.span().contains(&offset)
            || value.span().contains(&offset)
            || matches!(value.get_ref(), DeValue::Table(t) if holds(t, offset))
    })
}

fn plain(expected: &str) -> String {
    match expected {
        "f64" => "a number".into(),
        "usize" | "u32" | "u64" => "a whole number, zero or more".into(),
        other => other.replace("a sequence", "a list").replace("a map", "a table").replace("struct", "table"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_line_of_a_value_by_its_path() {
        let source = Source {
            path: "x.toml".into(),
            text: "a = 1\n[b]\nc = 2\n\n[[d]]\ne = 3\n[[d]]\ne = [\n  { t = 1 },\n  { t = 2 },\n]\n".into(),
        };
        let line = |path: &[&str]| source.fault(path, "", "").line;
        assert_eq!(line(&["a"]), Some(1));
        assert_eq!(line(&["b", "c"]), Some(3));
        assert_eq!(line(&["d", "1", "e", "1", "t"]), Some(10));
        assert_eq!(line(&["b", "missing"]), Some(2), "the deepest part there is");
        assert_eq!(line(&["nothing"]), None);
    }
}
