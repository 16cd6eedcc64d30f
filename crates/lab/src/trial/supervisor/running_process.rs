//! A process that the lab started, with its group: how it is started, signalled and ended. Does not know whether it is to
//! be started again.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::{Child, Command as Spawn};
use tokio::time::Instant;

use crate::guard::{Guard, ProcessLimits};
use crate::scenario::{Command, Scope, Template};

/// The word that means the running executable.
const OWN_PROGRAM: &str = "gauntlet";

/// How long killed processes may take to exit.
const GROUP_KILL_WITHIN: Duration = Duration::from_millis(500);

/// The interval between checks of a killed group.
const GROUP_KILL_POLL_EVERY: Duration = Duration::from_millis(5);

/// A program, its arguments and its environment: everything that the scenario says about it, filled in once, so that it
/// can be restarted exactly as before. It can hold secrets, so it is never printed.
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
        let filled = |(key, value): &(String, Template)| Ok((key.clone(), value.render(scope)?));
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

/// A process with its group. Dropping it kills the rest of the group.
#[derive(Debug)]
pub(super) struct RunningProcess {
    pub(super) child: Child,
    pub(super) pid: u32,
    /// The process group that the child leads, until the group has been killed.
    pub(super) group: Option<Pid>,
    pub(super) intent: Intent,
}

/// What is intended for a running process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intent {
    /// It runs until the end of the trial; its own exit is a failure.
    KeepRunning,
    /// The scenario terminated it.
    Exit,
    /// It exits to be started again. If it is still running by then, it is killed.
    Restart { fault: usize, kill_at: Instant },
}

impl RunningProcess {
    /// Signals the whole group, unless it has been killed: from then on its id may belong to another process.
    pub(super) fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // The whole group may have exited at this moment.
            let _ = kill_process_group(group, signal);
        }
    }

    /// The scenario terminates it.
    pub(super) fn end_with(&mut self, signal: Signal) {
        self.intent = Intent::Exit;
        self.signal(signal);
    }

    pub(super) fn postpone_kill(&mut self, until: Instant) {
        if let Intent::Restart { kill_at, .. } = &mut self.intent {
            *kill_at = until;
        }
    }

    /// Asks the group to exit. A stopped process receives the signal only once it continues.
    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
        self.signal(Signal::CONT);
    }

    /// Kills the rest of the group after its leader has exited, and waits until the group is gone. Zombies that are not
    /// reaped keep a group alive, so the wait is bounded.
    pub(super) async fn kill_group(mut self) {
        self.signal(Signal::KILL);
        let deadline = Instant::now() + GROUP_KILL_WITHIN;
        if let Some(group) = self.group.take() {
            while test_kill_process_group(group).is_ok() && Instant::now() < deadline {
                tokio::time::sleep(GROUP_KILL_POLL_EVERY).await;
            }
        }
    }
}

impl Drop for RunningProcess {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
