//! Errors of scenes: place, cause, what to do.

use std::path::PathBuf;

/// Why a scene can't be used.
#[derive(Clone, Debug, PartialEq)]
pub struct SceneError {
    /// The file at fault.
    pub file: PathBuf,
    /// Line in it, from one, where there is one.
    pub line: Option<usize>,
    /// What is wrong.
    pub cause: String,
    /// What to do about it.
    pub advice: String,
}

impl SceneError {
    /// An error of a whole file.
    pub fn of_file(file: impl Into<PathBuf>, cause: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { file: file.into(), line: None, cause: cause.into(), advice: advice.into() }
    }
}

impl std::fmt::Display for SceneError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:", crate::inline::shown(&self.file))?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}", self.cause)?;
        if !self.advice.is_empty() {
            write!(f, "\n       {}", self.advice)?;
        }
        Ok(())
    }
}

impl std::error::Error for SceneError {}

/// "did you mean `strength`? keys: …", or only the keys (words, grips: `kinds`) if none is close.
pub(crate) fn suggest(wrong: &str, right: &[&str], kinds: &str) -> String {
    let near = (right.iter()).map(|k| (strsim::damerau_levenshtein(wrong, k), k)).min_by_key(|(d, _)| *d);
    // A word is a likely slip if at most a third of it has to change.
    let meant = near.filter(|(d, k)| 3 * d <= k.len().max(wrong.len())).map(|(_, k)| format!("did you mean `{k}`? "));
    format!("{}{kinds}: {}", meant.unwrap_or_default(), right.join(", "))
}
