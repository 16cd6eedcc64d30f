//! What trials leave behind besides reports: directories in which nothing happened, which are removed, and the
//! directory of a lab that was killed, which the user should know of. Does not read what was recorded.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::limits::INTERRUPTED_AFTER;

/// The files in the directory of a run before anything happens.
const START_FILES: [&str; 3] = ["start.json", "scenario.toml", "scenario-files.json"];

/// Removes the directory of a run that could not begin, unless it contains a reason: output of a started process, or
/// records.
pub(crate) fn remove_if_unused(dir: &Path) {
    let Ok(mut entries) = std::fs::read_dir(dir) else { return };
    let is_more = |name: &std::ffi::OsStr| !START_FILES.iter().any(|known| name == *known);
    if !entries.any(|entry| entry.map_or(true, |entry| is_more(&entry.file_name()))) {
        let _ = std::fs::remove_dir_all(dir);
    }
}

/// The last run in `out`, if its lab was killed before it could write a report. A run that recorded something a moment
/// ago may still be running.
pub(crate) fn find_interrupted_run(out: &Path, now: SystemTime) -> Option<PathBuf> {
    let runs = std::fs::read_dir(out).ok()?.flatten().map(|entry| entry.path());
    let last = runs.filter(|dir| dir.join("start.json").exists()).max()?;
    let recorded = std::fs::metadata(last.join("timeline.jsonl")).ok()?.modified().ok()?;
    let is_old = now.duration_since(recorded).is_ok_and(|age| age >= INTERRUPTED_AFTER);
    (is_old && !last.join("run.json").exists()).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with these files, removed at the end.
    struct TestDir(PathBuf);

    impl TestDir {
        fn with(name: &str, files: &[&str]) -> Self {
            let folder = Self(std::env::temp_dir().join(format!("lab-left-{}-{name}", std::process::id())));
            for file in files {
                let path = folder.0.join(file);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, "").unwrap();
            }
            folder
        }
    }

    impl Drop for TestDir {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[track_caller]
    fn check_removed(name: &str, files: &[&str], stays: bool) {
        let folder = TestDir::with(name, files);
        remove_if_unused(&folder.0);
        assert_eq!(folder.0.exists(), stays, "{files:?}");
    }

    #[test]
    fn only_directories_without_information_are_removed() {
        check_removed("refused", &["start.json", "scenario.toml", "scenario-files.json"], false);
        check_removed("started", &["start.json", "scenario.toml", "server.log"], true);
        check_removed("recorded", &["start.json", "timeline.jsonl"], true);
    }

    #[track_caller]
    fn check_cut_off(name: &str, files: &[&str], later: std::time::Duration, expected: Option<&str>) {
        let folder = TestDir::with(name, files);
        let found = find_interrupted_run(&folder.0, SystemTime::now() + later);
        assert_eq!(found, expected.map(|run| folder.0.join(run)), "{files:?}");
    }

    #[test]
    fn the_last_run_without_a_report_is_found() {
        let (hour, none) = (std::time::Duration::from_secs(3_600), std::time::Duration::ZERO);
        let cut = ["1/start.json", "1/timeline.jsonl", "1/run.json", "2/start.json", "2/timeline.jsonl"];
        check_cut_off("cut", &cut, hour, Some("2"));
        // It may be running.
        check_cut_off("running", &cut, none, None);
        check_cut_off("reported", &["2/start.json", "2/timeline.jsonl", "2/run.json"], hour, None);
        // Another one came after it.
        check_cut_off("later", &[&cut[..], &["3/start.json", "3/timeline.jsonl", "3/run.json"]].concat(), hour, None);
        // It could not begin, or is not a run.
        check_cut_off("begun", &["2/start.json", "2/server.log"], hour, None);
        check_cut_off("others", &["2/timeline.jsonl"], hour, None);
        check_cut_off("nothing", &[], hour, None);
    }
}
