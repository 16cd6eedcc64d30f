//! The load shedder: an overloaded server refuses new games, so that what was accepted is done in time. It has a code and a metric of its
//! own: a rate limiter that happens to keep the load down hides that there is too much of it, and from whom.
//!
//! The settings say how much is too much; all are off by default but for memory, which counts where a control group limits it. A reason
//! begins above its ceiling and ends below 80 % of it, that of memory below 95 % (hysteresis). While memory is short, nothing that keeps a
//! connection open is taken on either.
//! The load is sampled once a second; a request costs one load of an atomic.

mod recent;

use super::problem::ApiError;
use metrics::{ControlGroup, Metrics, Overload};
use node::clock::random_bytes;
use recent::{RecentWaits, StallDetector};
use settings::Config;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;
use store::Store;
use tokio::time::{MissedTickBehavior, interval, timeout};

/// How often the load is sampled.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);
/// A sample does not wait longer than this for the length of the queue.
const QUEUE_READ_TIMEOUT: Duration = Duration::from_millis(500);
/// A refused client may come again after at least so long, plus up to [`RETRY_SPREAD_S`] random seconds: clients that were refused together
/// should not come together again.
const RETRY_AFTER_MIN_S: u64 = 1;
const RETRY_SPREAD_S: u8 = 4;

/// The load at one moment; `None` is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Matches that wait in the queue, over all nodes.
    pub queue: Option<u64>,
    /// Wait for the store's writer: 99 of 100 batches in the last seconds, or the batch that does not come to its end.
    pub commit_wait: Option<Duration>,
    /// Delay of tasks for want of a processor: 99 of 100 in the last seconds.
    pub scheduler_delay: Option<Duration>,
    /// Memory of the control group that is taken, in thousandths of its limit.
    pub memory_permille: Option<u64>,
}

impl Load {
    /// Matches, microseconds, or thousandths.
    fn value(&self, overload: Overload) -> Option<u64> {
        match overload {
            Overload::Queue => self.queue,
            Overload::CommitWait => self.commit_wait.map(whole_us),
            Overload::SchedulerDelay => self.scheduler_delay.map(whole_us),
            Overload::Memory => self.memory_permille,
        }
    }
}

fn whole_us(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Whether the server is overloaded, and by what.
#[derive(Debug, Default)]
pub struct LoadShedder {
    /// In matches, microseconds, or thousandths; `None` where a reason is off.
    ceilings: [Option<u64>; Overload::ALL.len()],
    /// One bit for each reason that has begun and not ended.
    active: AtomicU8,
    /// What limits this process's memory.
    group: Option<ControlGroup>,
}

impl LoadShedder {
    /// A shedder with these ceilings, and no reason to shed.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let group = config.shed_memory_percent.and_then(|_| ControlGroup::find());
        let (commit, scheduler) = (config.shed_commit_wait, config.shed_scheduler_delay);
        let memory = config.shed_memory_percent.map(|percent| percent * 10);
        Self {
            ceilings: [config.shed_queue_max, commit.map(whole_us), scheduler.map(whole_us), memory],
            active: AtomicU8::default(),
            group,
        }
    }

    /// The overload now, if there is one.
    #[must_use]
    pub fn overload(&self) -> Option<Overload> {
        let over = self.active.load(Ordering::Relaxed);
        Overload::ALL.into_iter().find(|overload| over & bit(*overload) != 0)
    }

    /// Whether memory is short: then nothing is taken on that keeps a connection open.
    #[must_use]
    pub fn is_short_of_memory(&self) -> bool {
        self.active.load(Ordering::Relaxed) & bit(Overload::Memory) != 0
    }

    /// Updates the reasons by this load. What is unknown changes nothing.
    pub fn update(&self, load: &Load) {
        for (overload, ceiling) in Overload::ALL.into_iter().zip(self.ceilings) {
            if let (Some(ceiling), Some(value)) = (ceiling, load.value(overload)) {
                self.update_reason(overload, value, ceiling);
            }
        }
    }

    fn update_reason(&self, overload: Overload, value: u64, ceiling: u64) {
        let was_over = self.active.load(Ordering::Relaxed) & bit(overload) != 0;
        let is_over = is_over(overload, was_over, value, ceiling);
        let what = overload.name();
        match (was_over, is_over) {
            (false, true) => {
                self.active.fetch_or(bit(overload), Ordering::Relaxed);
                tracing::warn!(what, value, ceiling, "too much to do: new games are refused until it is less");
            }
            (true, false) => {
                self.active.fetch_and(!bit(overload), Ordering::Relaxed);
                tracing::info!(what, value, ceiling, "there is less to do: new games are taken again");
            }
            (true, true) | (false, false) => {}
        }
    }

    /// Samples the load as long as the process lives; nothing where every reason is off.
    pub async fn watch(&self, store: &Store, metrics: &Metrics) {
        if !self.is_enabled() {
            return;
        }
        let mut turns = interval(SAMPLE_INTERVAL);
        turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut recent, mut stall) = (RecentWaits::default(), StallDetector::default());
        loop {
            let now = turns.tick().await.into_std();
            let waits = metrics.waits();
            let stalled = stall.observe(now, waits.batches, store.commands_waiting());
            let (commit_wait, scheduler_delay) = recent.p99(waits);
            let queue = self.queue_length(store).await;
            let memory = self.group.as_ref().and_then(ControlGroup::memory);
            let memory_permille = memory.map(metrics::MemoryUse::permille);
            self.update(&Load { queue, commit_wait: commit_wait.max(stalled), scheduler_delay, memory_permille });
        }
    }

    fn is_enabled(&self) -> bool {
        let of_load = [Overload::Queue, Overload::CommitWait, Overload::SchedulerDelay];
        self.group.is_some() || of_load.into_iter().any(|overload| self.ceilings[overload as usize].is_some())
    }

    async fn queue_length(&self, store: &Store) -> Option<u64> {
        self.ceilings[Overload::Queue as usize]?;
        let counts = timeout(QUEUE_READ_TIMEOUT, store.read(|reader| reader.match_counts())).await;
        counts.ok()?.ok().map(|counts| counts.waiting)
    }
}

fn bit(overload: Overload) -> u8 {
    1 << overload as u8
}

/// Begins above the ceiling, and ends well below it. Most of a process's memory stays taken, whatever it refuses.
fn is_over(overload: Overload, was_over: bool, value: u64, ceiling: u64) -> bool {
    let end_percent = if overload == Overload::Memory { 95 } else { 80 };
    if was_over { u128::from(value) * 100 >= u128::from(ceiling) * end_percent } else { value > ceiling }
}

/// The refusal of a request because of this.
pub(super) fn refusal(overload: Overload) -> ApiError {
    let [chance] = random_bytes::<1>();
    ApiError::Overloaded { overload, retry_after_s: RETRY_AFTER_MIN_S + u64::from(chance % (RETRY_SPREAD_S + 1)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// A queue of these lengths, second by second, under a ceiling of 1,000: where new games are refused.
    #[track_caller]
    fn check(lengths: &[u64], want: &str) {
        let shedder = LoadShedder { ceilings: [Some(1_000), None, None, None], ..LoadShedder::default() };
        let shed = lengths.iter().map(|length| {
            shedder.update(&Load { queue: Some(*length), commit_wait: Some(9_999 * MS), ..Load::default() });
            if shedder.overload().is_some() { 'x' } else { '.' }
        });
        assert_eq!(shed.collect::<String>(), want, "{lengths:?}");
    }

    #[test]
    fn shedding_begins_above_the_ceiling_and_ends_below_four_fifths_of_it() {
        check(&[0, 999, 1_000], "...");
        check(&[1_001, 1_000, 801, 800, 799, 1_000, 1_001], "xxxx..x");
        check(&[u64::MAX, 0], "x.");
    }

    #[test]
    fn every_reason_has_its_own_ceiling() {
        let mut config = Config::default();
        config.shed_queue_max = Some(10);
        config.shed_commit_wait = Some(50 * MS);
        config.shed_scheduler_delay = Some(20 * MS);
        let shedder = LoadShedder::new(&config);
        let (queue, commit_wait, scheduler_delay) = (Some(0), Some(MS), Some(MS));
        let calm = Load { queue, commit_wait, scheduler_delay, memory_permille: Some(854) };
        let rows = [
            (calm, None),
            (Load { queue: Some(11), ..calm }, Some(Overload::Queue)),
            (calm, None),
            (Load { memory_permille: Some(900), ..calm }, None),
            (Load { memory_permille: Some(901), ..calm }, Some(Overload::Memory)),
            (Load { memory_permille: Some(855), ..calm }, Some(Overload::Memory)),
            (calm, None),
            (Load { commit_wait: Some(51 * MS), ..calm }, Some(Overload::CommitWait)),
            // Not known is not over.
            (Load::default(), Some(Overload::CommitWait)),
            (calm, None),
            (Load { scheduler_delay: Some(21 * MS), ..calm }, Some(Overload::SchedulerDelay)),
            (Load { queue: Some(11), scheduler_delay: Some(16 * MS), ..calm }, Some(Overload::Queue)),
            (Load { scheduler_delay: Some(16 * MS), ..calm }, Some(Overload::SchedulerDelay)),
            (Load { scheduler_delay: Some(15 * MS), ..calm }, None),
        ];
        for (row, (load, want)) in rows.into_iter().enumerate() {
            shedder.update(&load);
            assert_eq!(shedder.overload(), want, "row {row}: {load:?}");
        }
    }

    #[test]
    fn nothing_is_shed_by_default() {
        let shedder = LoadShedder::new(&Config::default());
        assert!(!shedder.is_enabled());
        let much = Duration::from_secs(3_600);
        shedder.update(&Load {
            queue: Some(u64::MAX),
            commit_wait: Some(much),
            scheduler_delay: Some(much),
            ..Load::default()
        });
        assert_eq!(shedder.overload(), None);
    }

    #[test]
    fn those_who_are_refused_together_come_back_apart() {
        let seconds = |error| match error {
            ApiError::Overloaded { retry_after_s, .. } => retry_after_s,
            other => panic!("{other:?}"),
        };
        let told: std::collections::BTreeSet<u64> = (0..1_000).map(|_| seconds(refusal(Overload::Queue))).collect();
        assert_eq!(told.into_iter().collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    }
}
