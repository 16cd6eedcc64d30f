//! One process that the trial started: whether it runs, what it is meant to do next, and its group. Does not know why.

use std::future::poll_fn;
use std::pin::pin;
use std::process::ExitStatus;
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::Child;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::log_tail::read_tail;
use super::process_spec::{ProcessSpec, SpawnCommand};

/// How long killed processes may take to exit.
const GROUP_KILL_WITHIN: Duration = Duration::from_millis(500);

/// The interval between checks of a killed group.
const GROUP_KILL_POLL_EVERY: Duration = Duration::from_millis(5);

pub(super) struct ManagedProcess {
    pub(super) spec: ProcessSpec,
    pub(super) command: SpawnCommand,
    /// None while it is down.
    pub(super) running: Option<RunningProcess>,
    /// The current step of its restart: the old group exits, or the new process becomes ready.
    pub(super) restart_task: Option<AbortHandle>,
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

impl ManagedProcess {
    pub(super) fn name(&self) -> &str {
        &self.spec.name
    }

    /// A sentence about a process that has exited without being terminated.
    pub(super) fn unexpected_exit(&mut self) -> Option<String> {
        let running = self.running.as_mut().filter(|running| running.intent == Intent::KeepRunning)?;
        let status = running.child.try_wait().ok()??;
        Some(self.unexpected_exit_message(status))
    }

    pub(super) fn unexpected_exit_message(&self, status: ExitStatus) -> String {
        let tail = read_tail(&self.command.log);
        match crate::guard::refusal(status.code(), tail.last_line()) {
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
