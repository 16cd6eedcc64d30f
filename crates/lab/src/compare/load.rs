//! From the directory of a run to its record. Does not evaluate what
//! it reads.

use std::path::{Path, PathBuf};

use super::run_series::RunSeries;
use crate::limits::COMPARE_UNITS_MAX;
use crate::report::{Run, for_each_histogram, for_each_timeline_row};

/// A run as it was recorded.
#[derive(Clone, Debug)]
pub(crate) struct RunRecord {
    pub(crate) dir: PathBuf,
    pub(crate) run: Run,
    /// Its data over time.
    pub(crate) series: RunSeries,
}

/// Reads every run of every side. All are cut into the same units of time: seconds, or as many of them as keep the
/// longest run within [`COMPARE_UNITS_MAX`].
///
/// # Errors
/// A sentence about the first record that cannot be read.
pub(crate) fn load(sides: &[Vec<PathBuf>]) -> Result<Vec<Vec<RunRecord>>, String> {
    let read_side = |side: &Vec<PathBuf>| side.iter().map(|dir| read_run(dir)).collect::<Result<Vec<_>, _>>();
    let runs = sides.iter().map(read_side).collect::<Result<Vec<_>, _>>()?;
    let longest_s = runs.iter().flatten().map(|(_, run)| run.duration_s).fold(0.0, f64::max);
    let unit_s = ((longest_s / COMPARE_UNITS_MAX as f64).ceil() as u64).max(1);
    let with_times = |(dir, run): (PathBuf, Run)| {
        let times = read_series(&dir, unit_s)?;
        Ok(RunRecord { dir, run, series: times })
    };
    runs.into_iter().map(|side| side.into_iter().map(with_times).collect()).collect()
}

/// Reads the figures of a run. The path names its directory, or the `run.json` in it.
///
/// # Errors
/// A sentence that says what is wrong with which file.
pub(crate) fn read_run(path: &Path) -> Result<(PathBuf, Run), String> {
    let is_file = path.file_name().is_some_and(|name| name == "run.json");
    let dir = if is_file { path.parent().unwrap_or(Path::new(".")) } else { path };
    let file = dir.join("run.json");
    Ok((dir.to_owned(), Run::read(&file)?))
}

/// Reads the timeline and the histograms; a run without them still has its figures.
fn read_series(dir: &Path, unit_s: u64) -> Result<RunSeries, String> {
    let mut times = RunSeries::new(unit_s);
    for_each_timeline_row(dir, |row| times.add_row(row))?;
    for_each_histogram(dir, |entry| times.add_histogram(&entry))?;
    Ok(times)
}
