//! The text of a scene file, and where in it things stand.

use crate::error::{SceneError, suggest};
use crate::inline;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A file that was read.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub path: PathBuf,
    /// What there is to parse: the file, or one of its variants written out.
    pub text: String,
    /// Of a variant, where it comes from.
    pub origin: Option<Origin>,
}

/// The file that a variant was made from.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// The file as it is.
    pub text: String,
    /// Which of its `[[variant]]`s.
    pub index: usize,
    /// Its name.
    pub name: String,
}

impl Source {
    pub fn read(path: &Path) -> Result<Self, SceneError> {
        let text = std::fs::read(path).map_err(|e| {
            SceneError::of_file(path, format!("can't be read: {e}"), "`ripstop scenes` lists those there are")
        })?;
        let text = String::from_utf8(text)
            .map_err(|_| SceneError::of_file(path, "is not text (UTF-8)", "scenes are TOML files"))?;
        Ok(Self { path: path.to_path_buf(), text, origin: None })
    }

    /// Parses the text; errors carry the line, and for misspelt words the nearest right one.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, SceneError> {
        let parsed = toml::from_str(&self.text).map_err(|e| {
            let (cause, advice) = self.explain(e.message(), e.span());
            self.error_at(e.span().map(|span| span.start), cause, advice)
        })?;
        match DeTable::parse(&self.text).ok().and_then(|root| too_long(root.get_ref())) {
            None => Ok(parsed),
            Some((at, cause, advice)) => Err(self.error_at(Some(at), cause, advice)),
        }
    }

    /// An error about what stands at an offset of the text.
    fn error_at(&self, offset: Option<usize>, cause: String, advice: String) -> SceneError {
        match (&self.origin, offset) {
            (Some(_), Some(offset)) => {
                let path = path_at(&self.text, offset);
                self.fault(&path.iter().map(String::as_str).collect::<Vec<_>>(), cause, advice)
            }
            (_, offset) => self.error(offset.map(|at| line_at(&self.text, at)), cause, advice),
        }
    }

    fn error(&self, line: Option<usize>, cause: String, advice: String) -> SceneError {
        let cause = match &self.origin {
            Some(origin) => format!("variant `{}`: {cause}", origin.name),
            None => cause,
        };
        SceneError { file: self.path.clone(), line, cause, advice }
    }

    /// An error about the value at `path` (keys and array indices), if it can be found in the text.
    pub fn fault(&self, path: &[&str], cause: impl Into<String>, advice: impl Into<String>) -> SceneError {
        let line = match &self.origin {
            None => find(&self.text, path).map(|(_, at)| line_at(&self.text, at)),
            Some(origin) => {
                // Where the variant says it itself, or else where the file says it for all.
                let index = origin.index.to_string();
                let inside: Vec<&str> = ["variant", &index].iter().chain(path).copied().collect();
                let own =
                    find(&origin.text, &inside).filter(|(depth, _)| *depth > 2).map(|(depth, at)| (depth - 2, at));
                let common = find(&origin.text, path);
                let found = if own.map(|f| f.0) >= common.map(|f| f.0) { own } else { common };
                found.map(|(_, at)| line_at(&origin.text, at))
            }
        };
        self.error(line, cause.into(), advice.into())
    }

    /// A file named in the scene, relative to the folder of the scene; the name itself if it carries the file.
    pub fn beside(&self, file: &str) -> PathBuf {
        inline::beside(self.path.parent().unwrap_or(Path::new("")), file)
    }

    /// Turns the words of serde and the parser into ours: cause and advice.
    pub fn explain(&self, message: &str, span: Option<std::ops::Range<usize>>) -> (String, String) {
        let first = message.lines().next().unwrap_or(message);
        let quoted: Vec<&str> = first.split('`').skip(1).step_by(2).collect();
        let around = span.and_then(|span| self.table_around(span.start));
        let table = around.as_ref().map_or(String::new(), |t| format!(" in [{t}]"));
        for (start, kind, kinds) in
            [("unknown field", "unknown key", "keys"), ("unknown variant", "unknown word", "words")]
        {
            if first.starts_with(start) {
                let (wrong, right) = (quoted.first().copied().unwrap_or("?"), quoted.get(1..).unwrap_or(&[]));
                // A table with a wrong name is not in itself.
                let around =
                    around.as_deref().map(|t| t.strip_suffix(wrong).map_or(t, |outer| outer.trim_end_matches('.')));
                let table = around.filter(|t| !t.is_empty()).map_or(String::new(), |t| format!(" in [{t}]"));
                return (format!("{kind} `{wrong}`{table}"), suggest(wrong, right, kinds));
            }
        }
        if let Some((wrong, right)) =
            first.strip_prefix("unexpected keys in table: ").and_then(|m| m.split_once(", available keys: "))
        {
            let wrong = wrong.split(", ").next().unwrap_or(wrong);
            let right: Vec<&str> = right.split(", ").collect();
            return (format!("unknown key `{wrong}`{table}"), suggest(wrong, &right, "keys"));
        }
        if first.starts_with("missing field") {
            let key = quoted.first().copied().unwrap_or("?");
            let advice = match TABLES.iter().find(|(name, _)| *name == key) {
                Some((_, tables)) => format!("add a table {tables}"),
                None => format!("add a line `{key} = …`"),
            };
            return (format!("missing key `{key}`{table}"), advice);
        }
        if first.starts_with("wanted exactly 1 element") {
            return match around.as_deref().and_then(|t| t.rsplit_once('.')) {
                Some((outer, _)) if first.contains("more than") => {
                    (format!("several kinds in [{outer}]"), "keep one of the tables".into())
                }
                _ => (format!("no kind is chosen{table}"), "docs/scenes.md says which there are".into()),
            };
        }
        if let Some(wanted) = first.strip_prefix("wanted ") {
            return (format!("wrong type{table}"), format!("expected a {wanted}"));
        }
        if let Some((count, expected)) = first.strip_prefix("invalid length ").and_then(|m| m.split_once(", expected "))
        {
            return (format!("a list of {count} values{table}"), format!("expected {}", plain(expected)));
        }
        if first == "duplicate key" {
            return (format!("the same key twice{table}"), "keep one of them".into());
        }
        let (cause, expected) = first.split_once(", expected ").unwrap_or((first, ""));
        let wrong = ["invalid type: ", "invalid value: "].iter().find_map(|start| cause.strip_prefix(start));
        match (wrong, expected) {
            (Some(found), _) => {
                (format!("wrong type{table}: {}", plain(found)), format!("expected {}", plain(expected)))
            }
            (None, "") => (format!("{cause}{table}"), "docs/scenes.md says what may stand here".into()),
            (None, _) => (format!("{cause}{table}"), format!("expected {}", plain(expected))),
        }
    }

    /// Dotted name of the table that the text at `offset` belongs to, if it is not the root.
    fn table_around(&self, offset: usize) -> Option<String> {
        let names = path_to(&self.text, offset);
        let names: Vec<&str> = names.iter().filter_map(Part::table).collect();
        (!names.is_empty()).then(|| names.join("."))
    }
}

fn line_at(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|&b| b == b'\n').count()
}

/// How much of `path` (keys and array indices) is in the text, and where the deepest part of it is.
fn find(text: &str, path: &[&str]) -> Option<(usize, usize)> {
    let root = DeTable::parse(text).ok()?;
    let mut table = Some(root.get_ref());
    let mut array: Option<&toml::de::DeArray<'_>> = None;
    let mut found = None;
    for (depth, part) in path.iter().enumerate() {
        let (start, value) = if let Some(t) = table {
            let Some((key, value)) = t.iter().find(|(key, _)| key.get_ref() == part) else { break };
            (key.span().start, value)
        } else {
            let Some(value) = array.and_then(|a| a.get(part.parse::<usize>().ok()?)) else { break };
            (value.span().start, value)
        };
        found = Some((depth + 1, start));
        (table, array) = match value.get_ref() {
            DeValue::Table(t) => (Some(t), None),
            DeValue::Array(a) => (None, Some(a)),
            _ => (None, None),
        };
    }
    found
}

/// A part of the way to some place in a text.
enum Part {
    Table(String),
    Index(usize),
    Value(String),
}

impl Part {
    fn table(&self) -> Option<&str> {
        if let Self::Table(name) = self { Some(name) } else { None }
    }
}

/// Keys and indices that lead to what stands at `offset`.
fn path_at(text: &str, offset: usize) -> Vec<String> {
    let word = |part: &Part| match part {
        Part::Table(name) | Part::Value(name) => name.clone(),
        Part::Index(index) => index.to_string(),
    };
    path_to(text, offset).iter().map(word).collect()
}

fn path_to(text: &str, offset: usize) -> Vec<Part> {
    let mut path = Vec::new();
    let Ok(root) = DeTable::parse(text) else { return path };
    let mut table = root.get_ref();
    'deeper: loop {
        for (key, value) in table.iter() {
            let here = value.span().contains(&offset) || key.span().contains(&offset);
            let inner = match value.get_ref() {
                DeValue::Table(t) => Some((t, None)),
                DeValue::Array(a) => a.iter().enumerate().find_map(|(i, v)| match v.get_ref() {
                    DeValue::Table(t) if holds(t, offset) || v.span().contains(&offset) => Some((t, Some(i))),
                    _ => None,
                }),
                _ => None,
            };
            if let Some((inner, index)) = inner.filter(|(t, _)| holds(t, offset) || value.span().contains(&offset)) {
                path.push(Part::Table(key.get_ref().to_string()));
                path.extend(index.map(Part::Index));
                table = inner;
                continue 'deeper;
            }
            if here {
                path.push(Part::Value(key.get_ref().to_string()));
                return path;
            }
        }
        return path;
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

/// In the words of users instead of programmers.
fn plain(text: &str) -> String {
    match text {
        "f64" | "f32" => return "a number".into(),
        "usize" | "u32" | "u64" => return "a whole number, zero or more".into(),
        "literal string" => return "a number, a text in quotes, or another value".into(),
        _ => {}
    }
    [
        ("a sequence", "a list"),
        ("f64 values", "numbers"),
        ("an array of length", "a list of length"),
        ("a map", "a table"),
        ("struct", "table"),
        ("unit variant", "only a word"),
        ("table variant", "a table"),
    ]
    .iter()
    .fold(text.to_string(), |text, (from, to)| text.replace(from, to))
}

/// Required keys that are tables, and how to write them.
const TABLES: [(&str, &str); 3] = [
    ("time", "[time]"),
    ("cloth", "[cloth.grid], [cloth.irregular] or [cloth.obj]"),
    ("criterion", "[tear.criterion.separation_tensor], [tear.criterion.edge_strain] or [tear.criterion.directional]"),
];

/// Lists of fixed length, with the lengths of the list and of the lists in it; zero is any. (Serde stops reading a
/// list when it has what it needs, so a fourth coordinate would go unnoticed.)
const LENGTHS: [(&str, &[usize]); 28] = [
    ("matrices", &[6, 4]),
    ("stiffness", &[3, 5]),
    ("curvatures", &[5]),
    ("size", &[2]),
    ("nodes", &[2]),
    ("near", &[2]),
    ("box", &[2, 2]),
    ("path", &[0, 2]),
    ("polygon", &[0, 2]),
    ("direction", &[2]),
    ("gravity", &[3]),
    ("at", &[2]),
    ("origin", &[3]),
    ("weft", &[3]),
    ("warp", &[3]),
    ("velocity", &[3]),
    ("move", &[3]),
    ("turn", &[3]),
    ("eye", &[3]),
    ("target", &[3]),
    ("colour", &[3]),
    ("weft_colour", &[3]),
    ("yarns", &[2]),
    ("twill", &[2]),
    ("place", &[3]),
    ("spin", &[3]),
    ("sides", &[3]),
    ("points", &[0, 3]),
];

/// The first list with more values than it can have: its place, cause and advice.
fn too_long(table: &DeTable<'_>) -> Option<(usize, String, String)> {
    table.iter().find_map(|(key, value)| {
        let lengths = LENGTHS.iter().find(|(name, _)| key.get_ref() == name).map_or(&[][..], |(_, lengths)| lengths);
        check_lengths(key.get_ref(), value, lengths)
    })
}

fn check_lengths(key: &str, value: &Spanned<DeValue<'_>>, lengths: &[usize]) -> Option<(usize, String, String)> {
    match value.get_ref() {
        DeValue::Table(inner) => too_long(inner),
        DeValue::Array(list) => {
            let (most, inner) = lengths.split_first().map_or((0, &[][..]), |(most, inner)| (*most, inner));
            if most > 0 && list.len() > most {
                let cause = format!("`{key}` has a list of {} values", list.len());
                return Some((value.span().start, cause, format!("it takes {most}")));
            }
            list.iter().find_map(|value| check_lengths(key, value, inner))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_every_vector_is_checked() {
        let file = include_str!("file.rs").lines().chain(include_str!("expect.rs").lines());
        let lines: Vec<&str> = file.map(str::trim).filter(|line| !line.starts_with("//")).collect();
        let mut found = 0;
        for pair in lines.windows(2) {
            let field = pair[1].strip_prefix("pub ").unwrap_or(pair[1]);
            let Some((name, kind)) = field.split_once(": ").or(field.split_once('(')) else { continue };
            let vector = ["Vec2", "Vec3", "[Vec2; 2]", "Vec<Vec2>", "Vec<Vec3>", "[usize; 2]", "Option<[f32; 3]>"];
            if !vector.contains(&kind.trim_end_matches([',', ')'])) || !name.chars().all(char::is_alphanumeric) {
                continue;
            }
            let renamed = pair[0].split("rename = \"").nth(1).and_then(|t| t.split('"').next());
            let key = renamed.map_or(name.to_lowercase(), String::from);
            assert!(LENGTHS.iter().any(|(name, _)| *name == key), "no length for `{key}`");
            found += 1;
        }
        assert!(found >= 19, "only {found} vectors found in the sources");
    }

    #[test]
    fn finds_the_line_of_a_value_by_its_path() {
        let source = Source {
            path: "x.toml".into(),
            text: "a = 1\n[b]\nc = 2\n\n[[d]]\ne = 3\n[[d]]\ne = [\n  { t = 1 },\n  { t = 2 },\n]\n".into(),
            origin: None,
        };
        let line = |path: &[&str]| source.fault(path, "", "").line;
        assert_eq!(line(&["a"]), Some(1));
        assert_eq!(line(&["b", "c"]), Some(3));
        assert_eq!(line(&["d", "1", "e", "1", "t"]), Some(10));
        assert_eq!(line(&["b", "missing"]), Some(2), "the deepest part there is");
        assert_eq!(line(&["nothing"]), None);
    }
}
