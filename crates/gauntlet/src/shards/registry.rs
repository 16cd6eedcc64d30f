//! The state of the running shards: written by their supervising tasks, read by requests. In memory only.

use super::child::{self, Child};
use super::plan::ShardPlan;
use rustix::process::Signal;
use std::io;
use std::net::SocketAddr;
use std::process::ExitStatus;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

const BACKOFF_MIN: Duration = Duration::from_millis(250);
const BACKOFF_MAX: Duration = Duration::from_secs(15);
/// A shard that served for so long did not die of how it was started.
const HEALTHY_AFTER: Duration = Duration::from_secs(60);

/// The current commands to all supervising tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ShardCommands {
    /// To leave, for good.
    pub(super) stop: bool,
    /// How often policies were to be read again.
    pub(super) reloads: u64,
}

/// An event of a shard, for the start of the supervisor.
#[derive(Debug)]
pub(super) enum ShardEvent {
    Serving,
    /// It ended before it had ever served.
    FailedToStart(usize, String),
}

/// A shard as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shard {
    /// From 1.
    pub(super) number: usize,
    /// Where it serves, or served last.
    pub(super) address: SocketAddr,
    /// Where it answers operators, if they have a port of their own.
    pub(super) ops: Option<SocketAddr>,
    /// Its process, while it serves.
    pub(super) pid: Option<u32>,
    /// How often it was started again.
    pub(super) restarts: u64,
}

impl Shard {
    /// Where to query its health: a port that has free connections when the other has none, if there is one.
    pub(super) fn ops_address(&self) -> SocketAddr {
        self.ops.unwrap_or(self.address)
    }
}

/// All of them.
pub(super) struct ShardRegistry {
    shards: Mutex<Vec<Shard>>,
}

impl ShardRegistry {
    pub(super) fn new(plans: &[ShardPlan]) -> Self {
        let shard = |plan: &ShardPlan| Shard {
            number: plan.number,
            address: plan.address,
            ops: plan.ops,
            pid: None,
            restarts: 0,
        };
        Self { shards: Mutex::new(plans.iter().map(shard).collect()) }
    }

    /// How they all are now.
    pub(super) fn shards(&self) -> Vec<Shard> {
        self.lock().clone()
    }

    fn update(&self, number: usize, change: impl FnOnce(&mut Shard)) {
        if let Some(shard) = self.lock().iter_mut().find(|shard| shard.number == number) {
            change(shard);
        }
    }

    /// No code panics between two writes of one entry.
    fn lock(&self) -> MutexGuard<'_, Vec<Shard>> {
        self.shards.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps one shard alive until the order to leave. Each death is its own affair: the others serve on.
    pub(super) async fn supervise(
        &self,
        mut plan: ShardPlan,
        mut commands: watch::Receiver<ShardCommands>,
        events: mpsc::Sender<ShardEvent>,
    ) {
        let mut backoff = RestartBackoff::default();
        let mut has_served = false;
        loop {
            let began = Instant::now();
            let Some(reason) = self.run_once(&mut plan, &mut commands, &events, &mut has_served).await else { return };
            if !has_served {
                let _ = events.send(ShardEvent::FailedToStart(plan.number, reason.clone())).await;
            }
            let wait = backoff.next_delay(began.elapsed());
            tracing::error!(
                shard = plan.number,
                reason,
                wait_ms = wait.as_millis() as u64,
                "a shard ended; it is started again"
            );
            tokio::select! {
                () = sleep(wait) => {}
                () = follow_commands(&mut commands, None) => return,
            }
            self.update(plan.number, |shard| shard.restarts += 1);
        }
    }

    /// One process of a shard, from its start to its end; how it ended, or `None` when it was stopped by command.
    async fn run_once(
        &self,
        plan: &mut ShardPlan,
        commands: &mut watch::Receiver<ShardCommands>,
        events: &mpsc::Sender<ShardEvent>,
        has_served: &mut bool,
    ) -> Option<String> {
        let mut child = match Child::start(plan.number, &plan.args()) {
            Ok(child) => child,
            Err(error) => return Some(format!("it could not be started: {error}")),
        };
        let pid = child.pid();
        let serving = async {
            if let Some(address) = child.wait_for_address().await {
                plan.address = address;
                *has_served = true;
                self.update(plan.number, |shard| (shard.address, shard.pid) = (address, pid));
                let _ = events.send(ShardEvent::Serving).await;
            }
            child.wait().await
        };
        let ended = tokio::select! {
            ended = serving => Some(describe_exit(&ended)),
            () = follow_commands(commands, pid) => None,
        };
        if ended.is_none() {
            child.stop(plan.stop_max).await;
        }
        self.update(plan.number, |shard| shard.pid = None);
        ended
    }
}

/// When a shard that ended is started again: at once the first time, then later and later, and after a good while of
/// health at once again. Counts deaths without a good while between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct RestartBackoff {
    failures: u32,
}

impl RestartBackoff {
    /// It died, having served for so long; when to start it again.
    fn next_delay(&mut self, served: Duration) -> Duration {
        self.failures = if served >= HEALTHY_AFTER { 1 } else { self.failures.saturating_add(1) };
        match self.failures {
            1 => Duration::ZERO,
            deaths => BACKOFF_MIN.saturating_mul(1 << (deaths - 2).min(16)).min(BACKOFF_MAX),
        }
    }
}

/// Carries out what is ordered, until the order is to leave.
async fn follow_commands(commands: &mut watch::Receiver<ShardCommands>, pid: Option<u32>) {
    let mut done = *commands.borrow_and_update();
    while !done.stop {
        if commands.changed().await.is_err() {
            return;
        }
        let next = *commands.borrow_and_update();
        if next.reloads != done.reloads {
            child::send_signal(pid, Signal::HUP);
        }
        done = next;
    }
}

fn describe_exit(ended: &io::Result<ExitStatus>) -> String {
    match ended {
        Ok(status) => status.to_string(),
        Err(error) => format!("its exit status is unknown: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(served_s: &[u64], want_ms: &[u64]) {
        let mut life = RestartBackoff::default();
        let waits: Vec<u64> =
            served_s.iter().map(|served| life.next_delay(Duration::from_secs(*served)).as_millis() as u64).collect();
        assert_eq!(waits, want_ms, "{served_s:?}");
    }

    #[test]
    fn waits_grow_to_an_end_and_health_forgives() {
        check(&[0], &[0]);
        check(&[0, 0, 0, 0], &[0, 250, 500, 1_000]);
        check(&[1; 10], &[0, 250, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]);
        check(&[0, 0, 59, 60, 0], &[0, 250, 500, 0, 250]);
    }
}
