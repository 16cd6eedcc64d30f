//! Trials for operators of a server: runs and sweeps in its folder, and one run that it starts at a time, as `gauntlet run` in a process of
//! its own. Puts the gateway's routes and the lab together; knows neither's inside.

mod child;
mod folder;
#[cfg(test)]
mod tests;

use child::{Runner, Target};
use engine::limits::{TRIAL_RECORD_BYTES_MAX, TRIAL_SERIES_BYTES_MAX};
use folder::{Brief, Folder, RunFiles};
use gateway::problem::TrialRefusal;
use gateway::trials::{Trials, TrialsHandle};
use lab::compare::{CompareError, compare_documents};
use lab::report::read_document;
use lab::scenario::{builtin, builtins};
use lab::sweep::read_document as read_sweep;
use serde_json::Value;
use settings::Config;
use std::io;
use std::sync::Arc;
use wire::api::{TrialKind, TrialRun, TrialScenario, TrialState, Trials as TrialsView};

/// The trials of a process.
pub(crate) struct ServerTrials {
    folder: Folder,
    targets: Vec<String>,
    scenarios: Vec<TrialScenario>,
    runner: Runner,
}

impl ServerTrials {
    /// The trials in the folder of the configuration; none without one.
    ///
    /// # Errors
    /// There is no such folder.
    pub(crate) fn of(config: &Config) -> io::Result<Option<Arc<Self>>> {
        let Some(dir) = &config.trials_dir else { return Ok(None) };
        let folder = Folder::open(dir)?;
        let scenarios = builtins().iter().map(|builtin| {
            let (summary, has_own_server) = builtin.description();
            TrialScenario { name: builtin.name.to_owned(), summary, has_own_server }
        });
        let runner = Runner::new(folder.path());
        let targets = config.trials_targets.0.clone();
        Ok(Some(Arc::new(Self { folder, targets, scenarios: scenarios.collect(), runner })))
    }

    /// What the gateway gets.
    pub(crate) fn handle(trials: Option<&Arc<Self>>) -> TrialsHandle {
        TrialsHandle::new(trials.map(|trials| trials.clone() as Arc<dyn Trials>))
    }

    /// Asks the trial that goes on to end, and waits a little: what is left of it ends with this process.
    pub(crate) fn end(&self) {
        self.runner.end();
    }

    /// Whether a run goes on: here, or elsewhere and something was written a moment ago.
    fn is_running(&self, name: &str, files: &RunFiles) -> bool {
        self.runner.is_running(name) || (!files.has_record && files.is_fresh)
    }

    /// Whether a sweep goes on: it has no verdict, and something was written a moment ago, of it or of the run that it makes.
    fn is_sweeping(&self, files: &RunFiles, sweep: &Brief) -> bool {
        let run = || self.folder.files(&sweep.running.as_ref()?.id).ok();
        sweep.verdict.is_none() && (files.is_fresh || run().is_some_and(|run| run.is_fresh))
    }

    /// The files of a run that a page shows.
    fn files(&self, name: &str) -> Result<RunFiles, TrialRefusal> {
        let files = self.folder.files(name)?;
        if files.record_bytes > TRIAL_RECORD_BYTES_MAX || files.series_bytes > TRIAL_SERIES_BYTES_MAX {
            return Err(TrialRefusal::TooLarge);
        }
        Ok(files)
    }

    fn row(&self, name: String) -> Option<TrialRun> {
        let files = self.folder.files(&name);
        let kind = files.as_ref().map_or(TrialKind::Run, |files| files.kind);
        let read = match &files {
            // Nothing of ours is in it.
            Err(TrialRefusal::NoSuchRun) => return None,
            Err(refusal) => Err(refusal.to_string()),
            Ok(files) => files.brief(),
        };
        let is_running = files.as_ref().is_ok_and(|files| match kind {
            TrialKind::Run => self.is_running(&name, files),
            TrialKind::Sweep => read.as_ref().is_ok_and(|sweep| self.is_sweeping(files, sweep)),
        });
        let can_stop = self.runner.is_running(&name);
        let state = match &read {
            _ if is_running => TrialState::Running,
            Err(_) => TrialState::Unreadable,
            Ok(brief) if brief.verdict.is_some() => TrialState::Over,
            Ok(_) => TrialState::Interrupted,
        };
        let unreadable = read.as_ref().err().filter(|_| state == TrialState::Unreadable).cloned();
        let brief = read.unwrap_or_default();
        Some(TrialRun {
            name,
            kind,
            state,
            can_stop,
            verdict: brief.verdict.filter(|_| state == TrialState::Over),
            scenario: brief.scenario.name,
            summary: brief.scenario.summary,
            target: brief.scenario.target,
            started_at: brief.started_at,
            duration_s: brief.duration_s,
            runs_made: brief.runs_planned.map(|_| brief.runs.len()),
            runs_planned: brief.runs_planned,
            unreadable,
        })
    }
}

fn bytes(document: &Value) -> Vec<u8> {
    document.to_string().into_bytes()
}

impl Trials for ServerTrials {
    fn overview(&self) -> TrialsView {
        TrialsView {
            scenarios: self.scenarios.clone(),
            targets: self.targets.clone(),
            running: self.runner.running(),
            failure: self.runner.failure(),
        }
    }

    fn runs(&self, after: Option<&str>, limit: usize) -> Result<Vec<TrialRun>, TrialRefusal> {
        let names = self.folder.names()?;
        let later = names.into_iter().rev().filter(|name| after.is_none_or(|after| name.as_str() < after));
        Ok(later.filter_map(|name| self.row(name)).take(limit).collect())
    }

    fn report(&self, name: &str) -> Result<Vec<u8>, TrialRefusal> {
        let files = self.files(name)?;
        if files.kind == TrialKind::Sweep {
            let sweep = files.brief().map_err(TrialRefusal::Unreadable)?;
            let document = read_sweep(&files.dir, self.is_sweeping(&files, &sweep));
            return document.map(|document| bytes(&document)).map_err(TrialRefusal::Unreadable);
        }
        let is_running = self.is_running(name, &files);
        match read_document(&files.dir, is_running) {
            Ok(document) => Ok(bytes(&document)),
            // Its files are being written at this moment.
            Err(_) if is_running => Err(TrialRefusal::Busy),
            Err(message) => Err(TrialRefusal::Unreadable(message)),
        }
    }

    fn comparison(&self, first: &str, second: &str) -> Result<Vec<u8>, TrialRefusal> {
        let (one, other) = (self.files(first)?, self.files(second)?);
        for (name, files) in [(first, &one), (second, &other)] {
            if files.kind == TrialKind::Sweep {
                let reason = format!("{name} is a sweep: compare two of its runs, which its own page lists");
                return Err(TrialRefusal::Incomparable(reason));
            }
            if !files.has_record {
                let reason = format!("{name} has no record yet: `gauntlet report` makes one of a run that was cut off");
                return Err(TrialRefusal::Incomparable(reason));
            }
        }
        match compare_documents(&one.dir, &other.dir) {
            Ok(document) => Ok(bytes(&document)),
            Err(error @ CompareError::Unreadable(_)) => Err(TrialRefusal::Unreadable(error.to_string())),
            Err(error @ CompareError::Incomparable(_)) => Err(TrialRefusal::Incomparable(error.to_string())),
        }
    }

    fn start(&self, scenario: &str, target: Option<&str>) -> Result<String, TrialRefusal> {
        let known = builtin(scenario).ok_or(TrialRefusal::UnknownScenario)?;
        let target = match target {
            None if !known.description().1 => return Err(TrialRefusal::TargetNeeded),
            None => None,
            Some(url) => Some(Target::find(&self.targets, url).ok_or(TrialRefusal::UnknownTarget)?),
        };
        self.folder.has_room()?;
        self.runner.start(known.name, target.as_ref())
    }

    fn stop(&self, name: &str) -> Result<(), TrialRefusal> {
        self.folder
            .files(name)
            .map(drop)
            .or_else(|error| if self.runner.is_running(name) { Ok(()) } else { Err(error) })?;
        self.runner.stop(name)
    }
}
