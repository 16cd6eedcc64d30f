//! How a writer saves: one commit of claims under way, the next collects meanwhile; and now and then a snapshot of what is soft, written
//! a portion a round, so that no move waits for all of it.
//!
//! What the store refuses is not asked for twice: a world whose log another has, or of which nobody knows whether it was saved,
//! leaves memory, and whoever loads it next finds what is so.

use super::snapshot_schedule::SnapshotSchedule;
use super::{Writer, WriterState};
use crate::worlds::client_sink::CloseReason;
use crate::worlds::environment::WorldEnvironment;
use crate::worlds::handle::ControlMessage;
use engine::commands::{Command, Outcome, WorldAppend, WorldCommand};
use engine::limits::{WORLD_COMMIT_RETRY_DELAY, WORLD_SNAPSHOT_MOVERS_PER_SLICE};
use engine::worlds::{IdWatermark, Snapshot};
use std::time::Instant;
use store::StoreError;

/// What is under way to the store, and what is due.
pub(super) struct PendingSaves {
    epoch: u32,
    /// Claims under way.
    claims_in_flight: Option<PendingAppend>,
    /// Claims that the store had no room for: tried again at this time.
    retry: Option<(Instant, WorldAppend)>,
    schedule: SnapshotSchedule,
    snapshot: SnapshotState,
    /// Whether the last snapshot was not kept.
    is_snapshot_lost: bool,
    /// Whether that was said: the beginning of such a time is logged, and its end.
    is_failing: bool,
}

/// How far the next snapshot is.
enum SnapshotState {
    /// The last one has everything.
    None,
    /// Something has changed: it is begun then.
    Due(Instant),
    /// It was due then, and is being written.
    Begun(Instant, Snapshot),
    /// On its way to the store.
    Sent(IdWatermark),
}

/// Claims on their way to the store.
struct PendingAppend {
    append: WorldAppend,
    begun: Instant,
}

impl PendingSaves {
    pub(super) fn new(epoch: u32, beat: SnapshotSchedule) -> Self {
        Self {
            epoch,
            claims_in_flight: None,
            retry: None,
            schedule: beat,
            snapshot: SnapshotState::None,
            is_snapshot_lost: false,
            is_failing: false,
        }
    }

    /// The fencing token of this writer.
    pub(super) fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Whether no claim waits for the store, and no snapshot is on its way: it would come after the last one, and be older.
    pub(super) fn is_settled(&self) -> bool {
        self.claims_in_flight.is_none() && self.retry.is_none() && !matches!(self.snapshot, SnapshotState::Sent(_))
    }

    /// When there is something to do by itself.
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
    /// Sends claims off that wait, unless some are under way.
    pub(super) fn save_claims(&mut self) {
        if self.saving.claims_in_flight.is_some() {
            return;
        }
        let append = match self.saving.retry.take() {
            Some((at, append)) if self.round_began < at => return self.saving.retry = Some((at, append)),
            Some((_, append)) => append,
            None => {
                let Some(pending) = self.world.take_claims() else { return };
                WorldAppend {
                    id: self.context.info.id,
                    epoch: self.saving.epoch,
                    expected_version: pending.expected_version,
                    rows: pending.rows,
                }
            }
        };
        self.saving.claims_in_flight = Some(PendingAppend { append: append.clone(), begun: Instant::now() });
        self.commit(|| WorldCommand::Append(append), ControlMessage::ClaimsSaved);
    }

    /// The store's word on claims.
    pub(super) fn claims_saved(&mut self, outcome: Result<Outcome, StoreError>) {
        let Some(flight) = self.saving.claims_in_flight.take() else { return };
        let figures = self.context.metrics.worlds();
        figures.claim_wait.observe(flight.begun.elapsed());
        match outcome {
            Ok(Outcome::Done) => {
                let version = flight.append.expected_version + flight.append.rows.len() as u32;
                figures.claims.add(flight.append.rows.len() as u64);
                if let Err(error) = self.world.committed(version, self.now_us, &mut self.answers) {
                    tracing::error!(world = %self.context.info.name, %error, "a world broke an invariant of ours; it leaves memory");
                    self.state = WriterState::Lost(CloseReason::Broken);
                }
                self.environment.notify_claims_saved(self.context.info.id);
            }
            // Nothing was tried.
            Err(StoreError::Overloaded { .. }) => {
                self.saving.retry = Some((self.round_began + WORLD_COMMIT_RETRY_DELAY, flight.append));
            }
            lost => {
                figures.claims_lost.add(flight.append.rows.len() as u64);
                tracing::warn!(
                    world = %self.context.info.name, outcome = ?lost,
                    "claims of a world were not saved, or nobody knows; it leaves memory, and is read again for whoever comes"
                );
                self.state = WriterState::Lost(CloseReason::WorldMoved);
            }
        }
    }

    /// Keeps what is soft, if anything changed: from the world's next beat on, a portion a round.
    pub(super) fn save_snapshot(&mut self) {
        let begun = Instant::now();
        let (at, mut snapshot) = match std::mem::replace(&mut self.saving.snapshot, SnapshotState::None) {
            sent @ SnapshotState::Sent(_) => return self.saving.snapshot = sent,
            // The last one follows, and has everything.
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
        self.context.metrics.worlds().snapshot.observe(begun.elapsed());
        if is_whole {
            (self.saving.snapshot, self.saving.is_snapshot_lost) = (SnapshotState::Sent(snapshot.id_watermark), false);
            self.send_snapshot(snapshot);
        } else {
            self.saving.snapshot = SnapshotState::Begun(at, snapshot);
        }
    }

    /// Hands a snapshot to the store. It is put together on the way: megabytes are not copied while somebody waits for a move.
    fn send_snapshot(&self, snapshot: Snapshot) {
        let (id, epoch, metrics) = (self.context.info.id, self.saving.epoch, self.context.metrics.clone());
        let command = move || {
            let (claims_version, bytes) = (snapshot.claims_version, snapshot.into_bytes());
            metrics.worlds().snapshot_bytes.add(bytes.len() as u64);
            WorldCommand::Snapshot { id, epoch, claims_version, bytes }
        };
        self.commit(command, ControlMessage::SnapshotSaved);
    }

    /// The store's word on a snapshot. One that was not kept costs what it would have brought back, and nothing else.
    pub(super) fn snapshot_saved(&mut self, outcome: Result<Outcome, StoreError>) {
        let SnapshotState::Sent(mark) = std::mem::replace(&mut self.saving.snapshot, SnapshotState::None) else {
            return;
        };
        match outcome {
            Ok(Outcome::Done) => {
                self.world.snapshot_saved(mark);
                if std::mem::take(&mut self.saving.is_failing) {
                    tracing::info!(world = %self.context.info.name, "snapshots are kept again");
                }
            }
            Ok(Outcome::Fenced) => {
                tracing::warn!(world = %self.context.info.name, "another node has this world; it leaves memory here");
                self.state = WriterState::Lost(CloseReason::WorldMoved);
            }
            other => {
                self.saving.is_snapshot_lost = true;
                self.context.metrics.worlds().snapshots_lost.inc();
                if !std::mem::replace(&mut self.saving.is_failing, true) {
                    tracing::warn!(world = %self.context.info.name, outcome = ?other, "a snapshot was not kept; tried again until one is");
                }
            }
        }
    }

    /// What the life should keep of a world that ends in order.
    pub(super) fn last_snapshot(&mut self) -> Option<(u32, Vec<u8>)> {
        let is_in_order = matches!(self.state, WriterState::Ended(_));
        if !is_in_order {
            return None;
        }
        let snapshot = self.world.snapshot(true);
        Some((snapshot.claims_version, snapshot.into_bytes()))
    }

    /// Hands a command to the store; its outcome comes back as an order.
    fn commit(
        &self,
        command: impl FnOnce() -> WorldCommand + Send + 'static,
        order: fn(Result<Outcome, StoreError>) -> ControlMessage,
    ) {
        let (outside, mailbox) = (self.environment.clone(), self.context.inbox.clone());
        self.runtime.spawn(async move {
            let outcome = outside.commit(Command::World(command())).await;
            // A writer that is gone has been given up: whoever loads the world finds what was saved.
            let _ = mailbox.mailbox.send_control(order(outcome));
        });
    }
}
