//! One process of the trial: whether it runs, what its log says when it fails, and the current step of its restart. Does
//! not know why it is restarted.

use std::fmt;
use std::fs::File;
use std::future::poll_fn;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::ExitStatus;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::running_process::{Intent, RunningProcess, SpawnCommand};
use crate::generator::Trust;
use crate::scenario::BaseUrl;

/// Lines of a log that an error message quotes.
const TAIL_LINES: usize = 10;

/// Bytes at the end of a log in which those lines are searched.
const TAIL_BYTES: u64 = 4096;

/// A process that the trial needs: where it listens, and when it is ready.
#[derive(Clone)]
pub(super) struct ProcessSpec {
    pub(super) name: String,
    pub(super) base: BaseUrl,
    /// Where its host was found, once, before it was started.
    pub(super) addresses: Vec<SocketAddr>,
    pub(super) trust: Trust,
    pub(super) ready_path: Option<String>,
    pub(super) ready_timeout: Duration,
}

pub(super) struct ManagedProcess {
    pub(super) spec: ProcessSpec,
    pub(super) command: SpawnCommand,
    /// None while it is down.
    pub(super) running: Option<RunningProcess>,
    /// The current step of its restart: the old group exits, or the new process becomes ready.
    pub(super) restart_task: Option<AbortHandle>,
}

/// A finished step of a restart that runs in the background. Processes and faults are given by their indices.
pub(super) enum RestartEvent {
    /// The old process and its group are gone.
    OldProcessGone { process: usize, fault: usize },
    /// The new process is ready, or was not in time.
    Ready { process: usize, fault: usize, outcome: Result<(), String> },
}

impl ProcessSpec {
    /// The sentence about a process that is not ready; its log is quoted if the lab started it.
    pub(super) fn not_ready_message(&self, why: &str, log: Option<&Path>) -> String {
        let log = log.map_or_else(String::new, |log| LogTail::read(log).to_string());
        format!("{} was not ready within {:?}: {why}{log}", self.name, self.ready_timeout)
    }
}

impl ManagedProcess {
    pub(super) fn name(&self) -> &str {
        &self.spec.name
    }

    /// Whether the process itself, and not only its restart, is under way.
    pub(super) fn is_running(&mut self) -> bool {
        self.running.as_mut().is_some_and(|running| matches!(running.child.try_wait(), Ok(None)))
    }

    /// A sentence about a process that has exited without being terminated.
    pub(super) fn unexpected_exit(&mut self) -> Option<String> {
        let running = self.running.as_mut().filter(|running| running.intent == Intent::KeepRunning)?;
        let status = running.child.try_wait().ok()??;
        Some(self.unexpected_exit_message(status))
    }

    pub(super) fn unexpected_exit_message(&self, status: ExitStatus) -> String {
        let tail = LogTail::read(&self.command.log);
        match crate::guard::refusal(status.code(), tail.lines.last().map(String::as_str)) {
            Some(why) => format!("{} could not be started: {why}", self.name()),
            None => format!("{} ended by itself ({status}){tail}", self.name()),
        }
    }

    /// Cancels the current step of its restart.
    pub(super) fn cancel_restart(&mut self) {
        if let Some(event) = self.restart_task.take() {
            event.abort();
        }
    }

    /// When it is to be killed, if it exits for a restart and takes too long.
    pub(super) fn kill_at(&self) -> Option<Instant> {
        match self.running.as_ref()?.intent {
            Intent::Restart { kill_at, .. } => Some(kill_at),
            Intent::KeepRunning | Intent::Exit => None,
        }
    }

    /// Whether its old process is still exiting for a restart.
    pub(super) fn is_restarting(&self) -> bool {
        match &self.running {
            Some(running) => matches!(running.intent, Intent::Restart { .. }),
            None => self.restart_task.is_some(),
        }
    }

    fn poll_exit(&mut self, cx: &mut Context<'_>) -> Poll<ExitStatus> {
        let Some(running) = &mut self.running else { return Poll::Pending };
        match pin!(running.child.wait()).poll(cx) {
            Poll::Ready(Ok(status)) => Poll::Ready(status),
            // If the status cannot be read, it never arrives.
            Poll::Ready(Err(_)) | Poll::Pending => Poll::Pending,
        }
    }
}

/// Waits until one of the running processes has exited, and returns which. May be dropped and called again.
pub(super) async fn next_exit(members: &mut [ManagedProcess]) -> (usize, ExitStatus) {
    poll_fn(|cx| {
        let ended = members.iter_mut().enumerate().find_map(|(index, member)| match member.poll_exit(cx) {
            Poll::Ready(status) => Some((index, status)),
            Poll::Pending => None,
        });
        ended.map_or(Poll::Pending, Poll::Ready)
    })
    .await
}

/// The last lines of a log, formatted for the end of a message.
struct LogTail {
    log: PathBuf,
    lines: Vec<String>,
}

impl LogTail {
    /// Reads the end of a log; empty if the log cannot be read.
    fn read(log: &Path) -> Self {
        let read = || -> std::io::Result<String> {
            let mut file = File::open(log)?;
            let len = file.metadata()?.len();
            file.seek(SeekFrom::Start(len.saturating_sub(TAIL_BYTES)))?;
            let mut bytes = Vec::new();
            file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        let text = read().unwrap_or_default();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        Self { log: log.to_owned(), lines: lines[lines.len().saturating_sub(TAIL_LINES)..].to_vec() }
    }
}

impl fmt::Display for LogTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let log = self.log.display();
        match self.lines.as_slice() {
            [] => write!(f, "; its log {log} is empty"),
            lines => write!(f, "; the end of {log}:\n  {}", lines.join("\n  ")),
        }
    }
}
