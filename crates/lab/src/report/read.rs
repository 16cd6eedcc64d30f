//! Reads a `run.json` of this program's format.

use std::fmt::Display;
use std::path::Path;

use super::Run;
use crate::limits::RECORD_BYTES_MAX;

/// The part that every version of a record has.
#[derive(serde::Deserialize)]
struct FormatVersion {
    format: u64,
}

impl Run {
    /// Reads a `run.json`.
    ///
    /// # Errors
    /// A sentence that says what is wrong with which file: it is missing, too long, no record, or of another version.
    pub fn read(file: &Path) -> Result<Self, String> {
        let wrong = |error: &dyn Display| format!("{}: {error}", file.display());
        let bytes = std::fs::metadata(file).map_err(|error| wrong(&error))?.len();
        if bytes > RECORD_BYTES_MAX {
            return Err(wrong(&format!("{bytes} bytes are too many for a run; at most {RECORD_BYTES_MAX} are read")));
        }
        let text = std::fs::read_to_string(file).map_err(|error| wrong(&error))?;
        let no_record = |error: serde_json::Error| wrong(&format!("this is no record of a run: {error}"));
        let FormatVersion { format: found } = serde_json::from_str(&text).map_err(no_record)?;
        if found != Self::FORMAT {
            let read = Self::FORMAT;
            return Err(wrong(&format!(
                "written in format {found}, and this program reads {read}: run the trial again"
            )));
        }
        serde_json::from_str(&text).map_err(no_record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::load_or_rebuild;

    /// What `gauntlet report` and `gauntlet compare` answer to a directory with this `run.json`.
    #[track_caller]
    fn check(name: &str, text: &str, want: &str) {
        let dir = std::env::temp_dir().join(format!("lab-read-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("run.json"), text).unwrap();
        let refused = [load_or_rebuild(&dir).map(|_| ()), Run::read(&dir.join("run.json")).map(|_| ())];
        std::fs::remove_dir_all(&dir).unwrap();
        for result in refused {
            let error = result.unwrap_err();
            assert!(error.contains("run.json: ") && error.contains(want), "{error}");
        }
    }

    #[test]
    fn records_of_other_versions_are_refused() {
        check("older", r#"{"format": 2}"#, "written in format 2, and this program reads 3");
        check("newer", r#"{"format": 4, "x": []}"#, "written in format 4");
        check("none", "{}", "no record of a run");
        check("text", "no JSON", "no record of a run");
    }
}
