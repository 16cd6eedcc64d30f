//! How a process is started: everything that the scenario says about it, filled in once, so that it can be restarted
//! exactly as before. Does not watch what it started.

use std::ffi::OsString;
use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Pid;
use tokio::process::Command as Spawn;

use super::managed_process::{Intent, RunningProcess};
use crate::guard::{Guard, ProcessLimits};
use crate::scenario::{BaseUrl, Command, Scope};
use crate::trial::TrialError;

/// The word that means the running executable.
const OWN_PROGRAM: &str = "gauntlet";

/// A process that the trial needs, and how to start it if it is not already running. It can hold secrets, so it is
/// never printed.
#[derive(Clone)]
pub(super) struct ProcessSpec {
    pub(super) name: String,
    pub(super) base: BaseUrl,
    pub(super) ready_path: Option<String>,
    pub(super) ready_timeout: Duration,
    pub(super) command: Option<SpawnCommand>,
}

/// A program, its arguments and its environment.
#[derive(Clone)]
pub(super) struct SpawnCommand {
    argv: Vec<OsString>,
    env: Vec<(String, String)>,
    pub(super) log: PathBuf,
}

impl SpawnCommand {
    /// Fills the command in. With a guard, the program ends with the lab and is held within the limits.
    pub(super) fn new(
        command: &Command,
        scope: &Scope<'_>,
        log: PathBuf,
        guard: Option<(&Guard, &ProcessLimits)>,
    ) -> Result<Self, String> {
        let words: Vec<String> = command.argv.iter().map(|word| word.render(scope)).collect::<Result<_, _>>()?;
        let mut words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
        match words.first_mut() {
            None => return Err("its command is empty".to_owned()),
            Some(program) if program == OWN_PROGRAM => {
                *program = std::env::current_exe().map_err(|error| error.to_string())?.into();
            }
            Some(_) => {}
        }
        if let Some((guard, bounds)) = guard {
            words = guard.wrap(bounds, &words);
        }
        let filled = |(key, value): &(String, crate::scenario::Template)| Ok((key.clone(), value.render(scope)?));
        let env = command.env.iter().map(filled).collect::<Result<_, String>>()?;
        Ok(Self { argv: words, env, log })
    }

    /// Starts it as the leader of its own process group. Its output is appended to the log.
    pub(super) fn spawn(&self) -> Result<RunningProcess, String> {
        let (program, arguments) = self.argv.split_first().ok_or("its command is empty")?;
        let append = File::options().append(true).create(true).open(&self.log);
        let output = append.and_then(|file| Ok((file.try_clone()?, file)));
        let (stdout, stderr) = output.map_err(|error| format!("{}: {error}", self.log.display()))?;
        let mut spawn = Spawn::new(program);
        spawn.args(arguments).stdin(Stdio::null()).stdout(stdout).stderr(stderr).process_group(0).kill_on_drop(true);
        spawn.envs(self.env.iter().map(|(key, value)| (key, value)));
        let child = spawn.spawn().map_err(|error| format!("{}: {error}", Path::new(program).display()))?;
        let pid = child.id().ok_or("it has no process id")?;
        let group = i32::try_from(pid).ok().and_then(Pid::from_raw);
        Ok(RunningProcess { child, pid, group, intent: Intent::KeepRunning })
    }
}

/// If another process already listens on the port, that process would look ready.
pub(super) fn check_port_free(spec: &ProcessSpec, advice: &str) -> Result<(), TrialError> {
    let BaseUrl { host, port, .. } = &spec.base;
    match TcpListener::bind((host.as_str(), *port)) {
        Ok(_) => Ok(()),
        Err(error) => {
            let name = &spec.name;
            Err(TrialError(format!("{name} cannot be started on {host}:{port} ({error}): {advice}")))
        }
    }
}
