//! How a writer saves. One commit of claims is in flight at a time, the next collects meanwhile. Soft state is saved as a snapshot at
//! intervals, written a portion a round, so that no move waits for all of it.
//!
//! What the store refuses is not tried twice: a world whose log another worker has, or whose commit has an unknown outcome, leaves memory,
//! and the next owner loads what was saved.

use super::snapshot_schedule::SnapshotSchedule;
use super::{Writer, WriterState};
use crate::client_sink::CloseReason;
use crate::environment::WorldEnvironment;
use crate::inbox::ControlMessage;
use engine::commands::{Command, Outcome, WorldAppend, WorldCommand};
use engine::limits::{WORLD_COMMIT_RETRY_DELAY, WORLD_SNAPSHOT_MOVERS_PER_SLICE};
use engine::worlds::{IdWatermark, Snapshot};
use std::time::Instant;
use store::StoreError;

/// What is in flight to the store, and what is due.
pub(super) struct PendingSaves {
    claims_in_flight: Option<PendingAppend>,
    /// Claims that the store had no room for: tried again at this time.
    retry: Option<(Instant, WorldAppend)>,
    schedule: SnapshotSchedule,
    snapshot: SnapshotState,
    /// Whether the last snapshot was not saved.
    is_snapshot_lost: bool,
    /// Whether that was logged: only the first failure and the recovery are.
    is_failing: bool,
}

enum SnapshotState {
    /// The last one has everything.
    None,
    /// Something has changed: the snapshot begins then.
    Due(Instant),
    /// It was due then, and is being written.
    Begun(Instant, Snapshot),
    /// On its way to the store.
    Sent(IdWatermark),
}

struct PendingAppend {
    append: WorldAppend,
    begun: Instant,
}

impl PendingSaves {
    pub(super) fn new(schedule: SnapshotSchedule) -> Self {
        Self {
            claims_in_flight: None,
            retry: None,
            schedule,
            snapshot: SnapshotState::None,
            is_snapshot_lost: false,
            is_failing: false,
        }
    }

    /// Whether no claims and no snapshot are in flight: a snapshot would arrive after the last one, and be older.
    pub(super) fn is_settled(&self) -> bool {
        self.claims_in_flight.is_none() && self.retry.is_none() && !matches!(self.snapshot, SnapshotState::Sent(_))
    }

    /// When something is due by itself.
    pub(super) fn due(&self) -> Option<Instant> {
        let snapshot = match self.snapshot {
            SnapshotState::Due(at) | SnapshotState::Begun(at, _) => Some(at),
            SnapshotState::None | SnapshotState::Sent(_) => None,
        };
        let again = self.retry.as_ref().map(|(at, _)| *at);
        [snapshot, again].into_iter().flatten().min()
    }
}

impl<O: WorldEnvironment> Writer<O> {
    /// Sends pending claims to the store, unless some are in flight.
    pub(super) fn save_claims(&mut self) {
        if self.saving.claims_in_flight.is_some() {
            return;
        }
        let append = match self.saving.retry.take() {
            Some((at, append)) if self.round_began < at => return self.saving.retry = Some((at, append)),
            Some((_, append)) => append,
            None => {
                let Some(append) = self.world.take_claims() else { return };
                append
            }
        };
        self.saving.claims_in_flight = Some(PendingAppend { append: append.clone(), begun: Instant::now() });
        self.commit(|| WorldCommand::Append(append), ControlMessage::ClaimsSaved);
    }

    /// Handles the store's response to claims.
    pub(super) fn claims_saved(&mut self, outcome: Result<Outcome, StoreError>) {
        let Some(pending) = self.saving.claims_in_flight.take() else { return };
        let metrics = &self.context.metrics.worlds;
        metrics.claim_wait.observe(pending.begun.elapsed());
        match outcome {
            Ok(Outcome::Done) => {
                metrics.claims.add(pending.append.rows.len() as u64);
                if let Err(error) = self.world.committed(pending.append.version(), self.now_us, &mut self.answers) {
                    tracing::error!(world = %self.context.info.name, %error, "a world broke an invariant; it leaves memory");
                    self.state = WriterState::Lost(CloseReason::Broken);
                }
                (self.on_claims_saved)(self.context.info.id);
            }
            // Nothing was tried.
            Err(StoreError::Overloaded { .. }) => {
                self.saving.retry = Some((self.round_began + WORLD_COMMIT_RETRY_DELAY, pending.append));
            }
            unsaved => {
                metrics.claims_lost.add(pending.append.rows.len() as u64);
                tracing::warn!(
                    world = %self.context.info.name, outcome = ?unsaved,
                    "claims of a world were not saved, or the outcome is unknown; it leaves memory, and the next visitor loads it again"
                );
                self.state = WriterState::Lost(CloseReason::WorldMoved);
            }
        }
    }

    /// Saves soft state, if anything changed: from the next time of the world's schedule on, a portion a round.
    pub(super) fn save_snapshot(&mut self) {
        let begun = Instant::now();
        let (at, mut snapshot) = match std::mem::replace(&mut self.saving.snapshot, SnapshotState::None) {
            sent @ SnapshotState::Sent(_) => return self.saving.snapshot = sent,
            // The last snapshot follows, and has everything.
            _ if self.state != WriterState::Serving => return,
            SnapshotState::None if self.world.has_changed() || self.saving.is_snapshot_lost => {
                return self.saving.snapshot = SnapshotState::Due(self.saving.schedule.next_after(self.round_began));
            }
            SnapshotState::None => return,
            SnapshotState::Due(at) if self.round_began < at => return self.saving.snapshot = SnapshotState::Due(at),
            SnapshotState::Due(at) => (at, self.world.begin_snapshot(false)),
            SnapshotState::Begun(at, snapshot) => (at, snapshot),
        };
        let is_whole = self.world.write_movers(&mut snapshot, WORLD_SNAPSHOT_MOVERS_PER_SLICE);
        self.context.metrics.worlds.snapshot.observe(begun.elapsed());
        if is_whole {
            (self.saving.snapshot, self.saving.is_snapshot_lost) = (SnapshotState::Sent(snapshot.id_watermark), false);
            self.send_snapshot(snapshot);
        } else {
            self.saving.snapshot = SnapshotState::Begun(at, snapshot);
        }
    }

    /// Sends a snapshot to the store. It is assembled on the way: no move waits while megabytes are copied.
    fn send_snapshot(&self, snapshot: Snapshot) {
        let (id, epoch, metrics) = (self.context.info.id, self.world.epoch(), self.context.metrics.clone());
        let command = move || {
            let (claims_version, bytes) = (snapshot.claims_version, snapshot.into_bytes());
            metrics.worlds.snapshot_bytes.add(bytes.len() as u64);
            WorldCommand::Snapshot { id, epoch, claims_version, bytes }
        };
        self.commit(command, ControlMessage::SnapshotSaved);
    }

    /// Handles the store's response to a snapshot. If it was not saved, only soft state newer than the last one is at risk.
    pub(super) fn snapshot_saved(&mut self, outcome: Result<Outcome, StoreError>) {
        let SnapshotState::Sent(mark) = std::mem::replace(&mut self.saving.snapshot, SnapshotState::None) else {
            return;
        };
        match outcome {
            Ok(Outcome::Done) => {
                self.world.snapshot_saved(mark);
                if std::mem::take(&mut self.saving.is_failing) {
                    tracing::info!(world = %self.context.info.name, "snapshots are saved again");
                }
            }
            Ok(Outcome::Fenced) => {
                tracing::warn!(world = %self.context.info.name, "another node has this world; it leaves memory here");
                self.state = WriterState::Lost(CloseReason::WorldMoved);
            }
            other => {
                self.saving.is_snapshot_lost = true;
                self.context.metrics.worlds.snapshots_lost.inc();
                if !std::mem::replace(&mut self.saving.is_failing, true) {
                    tracing::warn!(world = %self.context.info.name, outcome = ?other, "a snapshot was not saved; trying again until one is");
                }
            }
        }
    }

    /// The last snapshot of a world that ends in order.
    pub(super) fn last_snapshot(&mut self) -> Option<(u32, Vec<u8>)> {
        let is_in_order = matches!(self.state, WriterState::Ended(_));
        if !is_in_order {
            return None;
        }
        let snapshot = self.world.snapshot(true);
        Some((snapshot.claims_version, snapshot.into_bytes()))
    }

    /// Sends a command to the store; its result comes back as a control message.
    fn commit(
        &self,
        command: impl FnOnce() -> WorldCommand + Send + 'static,
        message: fn(Result<Outcome, StoreError>) -> ControlMessage,
    ) {
        let (environment, mailbox) = (self.environment.clone(), self.context.inbox.clone());
        self.runtime.spawn(async move {
            let outcome = environment.commit(Command::World(command())).await;
            // A writer that is gone has given the world up: the next owner loads what was saved.
            let _ = mailbox.mailbox.send_control(message(outcome));
        });
    }
}
