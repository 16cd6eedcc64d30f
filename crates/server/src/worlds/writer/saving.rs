//! How a writer saves: one commit of claims under way, the next collects meanwhile; and now and then a snapshot of what is soft.
//!
//! What the store refuses is not asked for twice: a world whose log another has, or of which nobody knows whether it was saved,
//! leaves memory, and whoever loads it next finds what is so.

use super::{Course, Writer};
use crate::worlds::door::Order;
use crate::worlds::outlet::Ending;
use crate::worlds::outside::Outside;
use engine::commands::{Command, Outcome, WorldAppend, WorldCommand};
use engine::limits::{WORLD_COMMIT_RETRY, WORLD_SNAPSHOT_BYTES_KEPT};
use std::time::{Duration, Instant};
use store::StoreError;

/// What is under way to the store, and what is due.
pub(super) struct Saving {
    epoch: u32,
    /// Claims under way.
    flight: Option<Flight>,
    /// Claims that the store had no room for: tried again at this time.
    again: Option<(Instant, WorldAppend)>,
    snapshot_every: Duration,
    snapshot_at: Instant,
    is_snapshot_under_way: bool,
    /// Whether the last snapshot was not kept.
    is_owing: bool,
    /// Where snapshots are written first.
    bytes: Vec<u8>,
}

/// Claims on their way to the store.
struct Flight {
    append: WorldAppend,
    begun: Instant,
}

impl Saving {
    pub(super) fn new(epoch: u32, snapshot_every: Duration, now: Instant) -> Self {
        Self {
            epoch,
            flight: None,
            again: None,
            snapshot_every,
            snapshot_at: now + snapshot_every,
            is_snapshot_under_way: false,
            is_owing: false,
            bytes: Vec::new(),
        }
    }

    /// The fencing token of this writer.
    pub(super) fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Whether no claim waits for the store, and no snapshot is on its way: it would come after the last one, and be older.
    pub(super) fn is_settled(&self) -> bool {
        self.flight.is_none() && self.again.is_none() && !self.is_snapshot_under_way
    }

    /// When there is something to do by itself.
    pub(super) fn due(&self, has_changed: bool) -> Option<Instant> {
        let snapshot = ((has_changed || self.is_owing) && !self.is_snapshot_under_way).then_some(self.snapshot_at);
        let again = self.again.as_ref().map(|(at, _)| *at);
        [snapshot, again].into_iter().flatten().min()
    }
}

impl<O: Outside> Writer<O> {
    /// Sends claims off that wait, unless some are under way.
    pub(super) fn save_claims(&mut self) {
        if self.saving.flight.is_some() {
            return;
        }
        let append = match self.saving.again.take() {
            Some((at, append)) if self.round < at => return self.saving.again = Some((at, append)),
            Some((_, append)) => append,
            None => {
                let Some(pending) = self.world.take_claims() else { return };
                WorldAppend {
                    id: self.inside.facts.id,
                    epoch: self.saving.epoch,
                    expected_version: pending.expected_version,
                    rows: pending.rows,
                }
            }
        };
        self.saving.flight = Some(Flight { append: append.clone(), begun: Instant::now() });
        self.commit(WorldCommand::Append(append), Order::Claimed);
    }

    /// The store's word on claims.
    pub(super) fn claims_saved(&mut self, outcome: Result<Outcome, StoreError>) {
        let Some(flight) = self.saving.flight.take() else { return };
        let figures = self.inside.metrics.worlds();
        figures.claim_wait.observe(flight.begun.elapsed());
        match outcome {
            Ok(Outcome::Done) => {
                let version = flight.append.expected_version + flight.append.rows.len() as u32;
                figures.claims.add(flight.append.rows.len() as u64);
                if let Err(error) = self.world.committed(version, self.now_us, &mut self.answers) {
                    tracing::error!(world = %self.inside.facts.name, %error, "a world broke an invariant of ours; it leaves memory");
                    self.course = Course::Lost(Ending::Broken);
                }
                self.outside.claimed(self.inside.facts.id);
            }
            // Nothing was tried.
            Err(StoreError::Overloaded { .. }) => {
                self.saving.again = Some((self.round + WORLD_COMMIT_RETRY, flight.append));
            }
            lost => {
                figures.claims_lost.add(flight.append.rows.len() as u64);
                tracing::warn!(
                    world = %self.inside.facts.name, outcome = ?lost,
                    "claims of a world were not saved, or nobody knows; it leaves memory, and is read again for whoever comes"
                );
                self.course = Course::Lost(Ending::WorldMoved);
            }
        }
    }

    /// Keeps what is soft, if it is time and anything changed.
    pub(super) fn save_snapshot(&mut self) {
        let saving = &mut self.saving;
        if !(self.world.has_changed() || saving.is_owing)
            || saving.is_snapshot_under_way
            || self.round < saving.snapshot_at
        {
            return;
        }
        let begun = Instant::now();
        saving.bytes.clear();
        let claims_version = self.world.snapshot(false, &mut saving.bytes);
        let bytes = saving.bytes.clone();
        if saving.bytes.capacity() > WORLD_SNAPSHOT_BYTES_KEPT {
            saving.bytes = Vec::new();
        }
        (saving.is_snapshot_under_way, saving.is_owing) = (true, false);
        let figures = self.inside.metrics.worlds();
        figures.snapshot.observe(begun.elapsed());
        figures.snapshot_bytes.add(bytes.len() as u64);
        let (id, epoch) = (self.inside.facts.id, saving.epoch);
        self.commit(WorldCommand::Snapshot { id, epoch, claims_version, bytes }, Order::Kept);
    }

    /// The store's word on a snapshot. One that was not kept costs what it would have brought back, and nothing else.
    pub(super) fn snapshot_saved(&mut self, outcome: Result<Outcome, StoreError>) {
        self.saving.is_snapshot_under_way = false;
        self.saving.snapshot_at = self.round + self.saving.snapshot_every;
        match outcome {
            Ok(Outcome::Done) => {}
            Ok(Outcome::Fenced) => {
                tracing::warn!(world = %self.inside.facts.name, "another node has this world; it leaves memory here");
                self.course = Course::Lost(Ending::WorldMoved);
            }
            other => {
                self.saving.is_owing = true;
                self.inside.metrics.worlds().snapshots_lost.inc();
                tracing::warn!(world = %self.inside.facts.name, outcome = ?other, "a snapshot was not kept; tried again later");
            }
        }
    }

    /// What the life should keep of a world that ends in order.
    pub(super) fn last_snapshot(&mut self) -> Option<(u32, Vec<u8>)> {
        let is_in_order = matches!(self.course, Course::Ended(_));
        if !is_in_order {
            return None;
        }
        let mut bytes = Vec::new();
        let claims_version = self.world.snapshot(true, &mut bytes);
        Some((claims_version, bytes))
    }

    /// Hands a command to the store; its outcome comes back as an order.
    fn commit(&self, command: WorldCommand, order: fn(Result<Outcome, StoreError>) -> Order) {
        let (outside, mailbox) = (self.outside.clone(), self.inside.mailbox.clone());
        self.runtime.spawn(async move {
            let outcome = outside.commit(Command::World(command)).await;
            // A writer that is gone has been given up: whoever loads the world finds what was saved.
            let _ = mailbox.tray.order(order(outcome));
        });
    }
}
