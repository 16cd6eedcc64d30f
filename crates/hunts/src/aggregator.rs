//! The aggregator: reads logs of claims from their cursors, and saves the resulting counts together with the new cursors.
//!
//! It is notified through a bounded queue to which senders never wait, so notices may be dropped. Work without a notice is found by reading
//! the logs. An operator may stop and restart it; while it is stopped, claims are kept for it. These claims are all that grows meanwhile,
//! so a stop is bounded in time and in claims: then counting starts again by itself.

use super::Hunts;
use engine::commands::{Command, Outcome, WorldCommand};
use engine::hunts::aggregate_claims;
use engine::ids::WorldId;
use engine::limits::{AGGREGATE_ROWS_MAX, HUNT_CLAIMS_UNCOUNTED_MAX, HUNT_COUNT_PAUSE_MAX, HUNT_NOTICES_MAX};
use engine::rows::AggregationLag;
use metrics::Metrics;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use store::StoreError;
use tokio::sync::{Mutex, MutexGuard, mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

/// The minimum time between two passes: the claims of one are counted in one commit.
const PASS_EVERY: Duration = Duration::from_millis(250);
/// How often logs without a notice are looked for: those of nodes that died, and of dropped notices.
const SWEEP_EVERY: Duration = Duration::from_secs(10);
/// Logs that one sweep takes up.
const SWEEP_MAX: usize = 1_000;

/// The interface of the aggregator for the rest of the process.
pub struct AggregatorHandle {
    notices: mpsc::Sender<WorldId>,
    /// Held by the running aggregator.
    inbox: Mutex<mpsc::Receiver<WorldId>>,
    /// A notice was dropped: all logs are to be read.
    has_dropped_notice: AtomicBool,
    is_enabled: watch::Sender<bool>,
    /// Entries that this process has counted.
    counted: watch::Sender<u64>,
    pause_max: Pause,
    metrics: Arc<Metrics>,
}

/// How long counting may be stopped, or has been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pause {
    duration: Duration,
    /// Entries that are uncounted meanwhile.
    entries_behind: u64,
}

impl Pause {
    const MAX: Self = Self { duration: HUNT_COUNT_PAUSE_MAX, entries_behind: HUNT_CLAIMS_UNCOUNTED_MAX };

    fn is_beyond(self, max: Self) -> bool {
        self.duration >= max.duration || self.entries_behind >= max.entries_behind
    }
}

impl AggregatorHandle {
    pub(super) fn new(metrics: Arc<Metrics>) -> Self {
        let (notices, inbox) = mpsc::channel(HUNT_NOTICES_MAX);
        Self {
            notices,
            inbox: Mutex::new(inbox),
            has_dropped_notice: AtomicBool::new(false),
            is_enabled: watch::Sender::new(true),
            counted: watch::Sender::new(0),
            pause_max: Pause::MAX,
            metrics,
        }
    }

    /// Notifies the aggregator that a world's log has grown. Never waits.
    pub(super) fn notify(&self, world: WorldId) {
        if self.notices.try_send(world).is_err() {
            self.has_dropped_notice.store(true, Ordering::Release);
            self.metrics.hunts.notices_lost.inc();
        }
    }

    /// Stops or restarts counting, between two commits; idempotent. A stop that takes too long ends by itself.
    pub fn set_enabled(&self, is_on: bool) {
        self.is_enabled.send_replace(is_on);
    }

    /// Whether this process counts.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        *self.is_enabled.borrow()
    }

    /// The number of entries that this process has counted, as a subscription.
    #[must_use]
    pub fn subscribe_counted(&self) -> watch::Receiver<u64> {
        self.counted.subscribe()
    }
}

/// Counts until the drain.
pub(super) async fn run(hunts: &Hunts) {
    let mut aggregator = Aggregator {
        hunts,
        inbox: hunts.aggregator.inbox.lock().await,
        enabled: hunts.aggregator.is_enabled.subscribe(),
        pending: BTreeSet::new(),
        uncountable: BTreeMap::new(),
        sweep_at: Instant::now(),
    };
    tokio::select! {
        () = hunts.drain.begun() => {}
        () = aggregator.run() => {}
    }
}

struct Aggregator<'a> {
    hunts: &'a Hunts,
    inbox: MutexGuard<'a, mpsc::Receiver<WorldId>>,
    enabled: watch::Receiver<bool>,
    pending: BTreeSet<WorldId>,
    /// Logs that cannot be counted any further, and the entry at which they stand: each is logged once.
    uncountable: BTreeMap<WorldId, u32>,
    sweep_at: Instant,
}

impl Aggregator<'_> {
    async fn run(&mut self) {
        let mut is_failing = false;
        loop {
            self.wait_while_disabled().await;
            self.wait_for_work().await;
            let passed = self.pass().await;
            match &passed {
                Err(error) if !is_failing => {
                    tracing::warn!(%error, "hunts cannot be counted now; nothing is lost, and counting is tried again");
                }
                Ok(()) if is_failing => tracing::info!("hunts are counted again"),
                Ok(()) | Err(_) => {}
            }
            is_failing = passed.is_err();
            sleep(PASS_EVERY).await;
        }
    }

    /// Waits while counting is stopped, up to the limit.
    async fn wait_while_disabled(&mut self) {
        let since = Instant::now();
        while !*self.enabled.borrow_and_update() {
            tokio::select! {
                _ = self.enabled.changed() => continue,
                () = sleep(SWEEP_EVERY) => {}
            }
            // While the store cannot be read the backlog does not grow either: claims go into the same store.
            let behind = self.read_backlog().await.map_or(0, |behind| entries(&behind));
            let pause = Pause { duration: since.elapsed(), entries_behind: behind };
            let aggregation = &self.hunts.aggregator;
            if pause.is_beyond(aggregation.pause_max) {
                tracing::warn!(?pause, "hunts are counted again automatically: counting was stopped for too long");
                aggregation.set_enabled(true);
            }
        }
    }

    /// The logs that are not counted to their end.
    async fn read_backlog(&self) -> Result<Vec<AggregationLag>, StoreError> {
        let behind = self.hunts.node.store.read(|reader| reader.aggregation_lags(SWEEP_MAX)).await?;
        self.hunts.metrics.hunts.claims_uncounted.set(entries(&behind));
        Ok(behind)
    }

    /// Waits for a notice, or for the next sweep.
    async fn wait_for_work(&mut self) {
        let aggregation = &self.hunts.aggregator;
        if self.pending.is_empty() && !aggregation.has_dropped_notice.load(Ordering::Acquire) {
            tokio::select! {
                world = self.inbox.recv() => self.pending.extend(world),
                () = sleep_until(self.sweep_at) => {}
                _ = self.enabled.changed() => return,
            }
        }
        while let Ok(world) = self.inbox.try_recv() {
            self.pending.insert(world);
        }
    }

    async fn pass(&mut self) -> Result<(), StoreError> {
        if Instant::now() >= self.sweep_at || self.hunts.aggregator.has_dropped_notice.swap(false, Ordering::AcqRel) {
            let behind = self.read_backlog().await;
            if behind.is_err() {
                self.hunts.aggregator.has_dropped_notice.store(true, Ordering::Release);
            }
            self.pending.extend(behind?.into_iter().map(|world| world.id));
            self.sweep_at = Instant::now() + SWEEP_EVERY;
        }
        // Round robin: one log that grows all the time does not keep the others waiting.
        while !self.pending.is_empty() && *self.enabled.borrow() {
            for world in self.pending.clone() {
                if self.count(world).await? {
                    self.pending.remove(&world);
                }
            }
        }
        Ok(())
    }

    /// Counts a world's next entries; returns whether that was all for now.
    async fn count(&mut self, id: WorldId) -> Result<bool, StoreError> {
        let page = self.hunts.node.store.read(move |reader| {
            let Some(cursor) = reader.world_log(id, 0, 0)?.map(|page| page.aggregated_version) else { return Ok(None) };
            Ok(reader.world_log(id, cursor, AGGREGATE_ROWS_MAX)?.map(|page| (cursor, page)))
        });
        let (cursor, page) = match page.await {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(true),
            // The store has told of it. Hunts that can be read are counted.
            Err(StoreError::Damaged(_)) => return Ok(true),
            Err(error) => return Err(error),
        };
        // Another node moved the cursor between the two reads: the next pass is right.
        if page.aggregated_version != cursor {
            return Ok(false);
        }
        if page.rows.is_empty() {
            return Ok(true);
        }
        match aggregate_claims(id, cursor, &page.rows) {
            Ok(aggregate) => {
                let is_last = aggregate.to_version >= page.version;
                let outcome = self.hunts.node.store.commit(Command::World(WorldCommand::Aggregate(aggregate))).await?;
                Ok(self.record_outcome(id, outcome, page.rows.len(), is_last))
            }
            Err(reason) => {
                if self.uncountable.insert(id, cursor) != Some(cursor) {
                    tracing::error!(world = %id, %reason, "a hunt cannot be counted any further; its claims are kept for study");
                }
                Ok(true)
            }
        }
    }

    /// Handles the outcome of a count; returns whether that was all for now.
    fn record_outcome(&self, id: WorldId, outcome: Outcome, entries: usize, is_last: bool) -> bool {
        match outcome {
            Outcome::Done => {
                self.hunts.metrics.hunts.claims_counted.add(entries as u64);
                self.hunts.aggregator.counted.send_modify(|counted| *counted += entries as u64);
                is_last
            }
            // Another node was first.
            Outcome::VersionConflict(_) => false,
            Outcome::NotFound => true,
            other => {
                tracing::error!(world = %id, outcome = ?other, "the store answered a count with something else");
                true
            }
        }
    }
}

/// The number of uncounted entries.
pub fn entries(behind: &[AggregationLag]) -> u64 {
    behind.iter().map(|world| u64::from(world.version.saturating_sub(world.aggregated_version))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use node::Node;
    use node::clock::Clock;
    use node::drain::Drain;
    use store::testing::MemoryDatabase;
    use store::{Store, StoreConfig};

    #[track_caller]
    fn check(lasts_s: u64, behind: u64, want: bool) {
        let pause = Pause { duration: Duration::from_secs(lasts_s), entries_behind: behind };
        assert_eq!(pause.is_beyond(Pause::MAX), want, "{pause:?}");
    }

    #[test]
    fn a_stop_is_limited_by_time_and_by_claims() {
        let (most_s, most) = (HUNT_COUNT_PAUSE_MAX.as_secs(), HUNT_CLAIMS_UNCOUNTED_MAX);
        check(0, 0, false);
        check(most_s - 1, most - 1, false);
        check(most_s, 0, true);
        check(0, most, true);
    }

    #[tokio::test(start_paused = true)]
    async fn a_forgotten_stop_ends_by_itself() {
        let metrics = Arc::<Metrics>::default();
        let store = Store::open(Arc::new(MemoryDatabase::new()), StoreConfig { readers: 1 }, metrics.clone()).unwrap();
        let node = Node::new(store, Clock::default(), "127.0.0.1:1");
        let hunts = Arc::new(Hunts::new(8, node, Drain::default(), metrics));
        let aggregation = &hunts.aggregator;
        aggregation.set_enabled(false);
        let (mut switch, began) = (aggregation.is_enabled.subscribe(), Instant::now());
        tokio::spawn({
            let hunts = hunts.clone();
            async move { run(&hunts).await }
        });
        assert!(*switch.wait_for(|is_on| *is_on).await.unwrap());
        let stood = began.elapsed();
        assert!((HUNT_COUNT_PAUSE_MAX..HUNT_COUNT_PAUSE_MAX + 2 * SWEEP_EVERY).contains(&stood), "{stood:?}");
    }
}
