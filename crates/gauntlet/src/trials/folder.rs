//! The folder of runs: which directories are runs or sweeps, and which of their files may be read. Links are refused, and so is whatever is
//! no plain file: what a run consists of lies in its own directory. Does not read reports.

use engine::limits::{TRIAL_DISK_BYTES_FREE_MIN, TRIAL_RECORD_BYTES_MAX, TRIAL_RUNS_MAX};
use gateway::problem::TrialRefusal;
use lab::limits::INTERRUPTED_AFTER;
use lab::trial::is_run_id;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use wire::api::TrialKind;

const RECORD: &str = "run.json";
const START: &str = "start.json";
const SWEEP: &str = "sweep.json";
/// What grows while a trial runs.
const SERIES: [&str; 2] = ["timeline.jsonl", "intervals.hlog"];
const OTHERS: [&str; 2] = ["scenario.toml", "scenario-files.json"];

pub(super) struct Folder(PathBuf);

/// What is in the directory of a run or of a sweep, which has nothing but its record.
pub(super) struct RunFiles {
    pub(super) dir: PathBuf,
    pub(super) kind: TrialKind,
    pub(super) has_record: bool,
    pub(super) record_bytes: u64,
    /// Of each of the files over time, the most.
    pub(super) series_bytes: u64,
    /// Something was written a moment ago.
    pub(super) is_fresh: bool,
}

/// What a list says of a run: members of `run.json`, of which `start.json` and `sweep.json` have some.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Brief {
    pub(super) verdict: Option<String>,
    pub(super) started_at: Option<String>,
    pub(super) duration_s: Option<f64>,
    #[serde(default)]
    pub(super) scenario: BriefScenario,
    /// Of a sweep: its runs that are over.
    #[serde(default)]
    pub(super) runs: Vec<IgnoredAny>,
    pub(super) runs_planned: Option<usize>,
    /// The run of a sweep that goes on.
    pub(super) running: Option<BriefSweepRun>,
}

#[derive(Debug, Deserialize)]
pub(super) struct BriefSweepRun {
    pub(super) id: String,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct BriefScenario {
    pub(super) name: Option<String>,
    pub(super) summary: Option<String>,
    pub(super) target: Option<String>,
}

impl Folder {
    /// # Errors
    /// There is no such folder.
    pub(super) fn open(dir: &Path) -> io::Result<Self> {
        let dir = dir.canonicalize()?;
        if dir.is_dir() { Ok(Self(dir)) } else { Err(io::Error::from(io::ErrorKind::NotADirectory)) }
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Names of directories that may be runs, in order.
    pub(super) fn names(&self) -> Result<Vec<String>, TrialRefusal> {
        let refused = |error: io::Error| TrialRefusal::Folder(error.to_string());
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.0).map_err(refused)? {
            let entry = entry.map_err(refused)?;
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let name = entry.file_name().into_string().ok().filter(|name| is_dir && is_run_id(name));
            names.extend(name);
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Whether another run has room.
    pub(super) fn has_room(&self) -> Result<(), TrialRefusal> {
        let runs = self.names()?.len();
        if runs >= TRIAL_RUNS_MAX {
            return Err(TrialRefusal::Folder(format!(
                "it has {runs} runs, and no trial is started beside {TRIAL_RUNS_MAX} or more: move some away"
            )));
        }
        let disk = rustix::fs::statvfs(&self.0).map_err(|error| TrialRefusal::Folder(error.to_string()))?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        if free < TRIAL_DISK_BYTES_FREE_MIN {
            return Err(TrialRefusal::Folder(format!(
                "its disk has {} MiB free, and no trial is started with fewer than {}: delete some runs",
                free >> 20,
                TRIAL_DISK_BYTES_FREE_MIN >> 20
            )));
        }
        Ok(())
    }

    /// The files of this run or sweep.
    pub(super) fn files(&self, name: &str) -> Result<RunFiles, TrialRefusal> {
        let dir = self.0.join(name);
        let is_run = is_run_id(name) && fs::symlink_metadata(&dir).is_ok_and(|found| found.is_dir());
        if !is_run {
            return Err(TrialRefusal::NoSuchRun);
        }
        let (record, start) = (plain_file(&dir, RECORD)?, plain_file(&dir, START)?);
        if record.is_none() && start.is_none() {
            return sweep_files(dir);
        }
        let others = OTHERS.map(|name| plain_file(&dir, name));
        let others = others.into_iter().collect::<Result<Vec<_>, _>>()?;
        let series = SERIES.map(|name| plain_file(&dir, name)).into_iter().collect::<Result<Vec<_>, _>>()?;
        let size = |found: &Option<Metadata>| found.as_ref().map_or(0, Metadata::len);
        Ok(RunFiles {
            kind: TrialKind::Run,
            has_record: record.is_some(),
            record_bytes: others.iter().chain([&record, &start]).map(size).max().unwrap_or(0),
            series_bytes: series.iter().map(size).max().unwrap_or(0),
            is_fresh: series.iter().chain([&start]).flatten().any(is_new),
            dir,
        })
    }
}

fn sweep_files(dir: PathBuf) -> Result<RunFiles, TrialRefusal> {
    let record = plain_file(&dir, SWEEP)?.ok_or(TrialRefusal::NoSuchRun)?;
    Ok(RunFiles {
        kind: TrialKind::Sweep,
        has_record: true,
        record_bytes: record.len(),
        series_bytes: 0,
        is_fresh: is_new(&record),
        dir,
    })
}

/// Whether something was written a moment ago.
fn is_new(found: &Metadata) -> bool {
    let age = found.modified().map(|at| SystemTime::now().duration_since(at).unwrap_or_default());
    age.is_ok_and(|age| age < INTERRUPTED_AFTER)
}

/// A file of a run, if it is there. A link is none of ours: it may lead anywhere.
fn plain_file(dir: &Path, name: &str) -> Result<Option<Metadata>, TrialRefusal> {
    match fs::symlink_metadata(dir.join(name)) {
        Ok(found) if found.is_file() => Ok(Some(found)),
        Ok(_) => Err(TrialRefusal::Unreadable(format!("{name} is no plain file"))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(TrialRefusal::Unreadable(format!("{name}: {error}"))),
    }
}

impl RunFiles {
    /// What a list says of it.
    pub(super) fn brief(&self) -> Result<Brief, String> {
        let name = match self.kind {
            TrialKind::Sweep => SWEEP,
            TrialKind::Run if self.has_record => RECORD,
            TrialKind::Run => START,
        };
        let wrong = |error: &dyn std::fmt::Display| format!("{name}: {error}");
        let mut text = String::new();
        let file = File::open(self.dir.join(name)).map_err(|error| wrong(&error))?;
        file.take(TRIAL_RECORD_BYTES_MAX).read_to_string(&mut text).map_err(|error| wrong(&error))?;
        serde_json::from_str(&text).map_err(|error| wrong(&error))
    }
}
