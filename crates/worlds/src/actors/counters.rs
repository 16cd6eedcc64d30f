//! What one actor worker has counted: its thread writes the counts at intervals, readers take them at any time.

use super::plan::{ActorStats, MoveTime, PlanShare};
use hdrhistogram::Histogram;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Digits of a time that are kept.
const DIGITS: u8 = 2;
/// Longest time that is distinguished from longer ones, in microseconds.
const MOVE_US_MAX: u64 = 60_000_000;
/// Reports of which a window consists.
const WINDOW_REPORTS: usize = 5;

/// Counts of a worker since its last report.
pub(super) struct Report {
    pub(super) times: Histogram<u64>,
    pub(super) refused: u64,
    pub(super) missed: u64,
    pub(super) delayed: u64,
    pub(super) mailbox_max: u64,
    /// Current numbers, not those since the last report.
    pub(super) registered: u32,
    pub(super) moving: u32,
}

/// The totals of one worker.
pub(super) struct ActorCounters {
    /// The worker's current share of the plan.
    share: Mutex<PlanShare>,
    /// Whether it was set since the worker last took it, perhaps to what it was.
    is_share_new: AtomicBool,
    totals: Mutex<CounterTotals>,
}

struct CounterTotals {
    run: Histogram<u64>,
    /// The last reports' times, the oldest first.
    window: VecDeque<Histogram<u64>>,
    stats: ActorStats,
}

impl Report {
    pub(super) fn new() -> Self {
        Self { times: histogram(), refused: 0, missed: 0, delayed: 0, mailbox_max: 0, registered: 0, moving: 0 }
    }

    pub(super) fn record_move(&mut self, took_us: u64) {
        self.times.saturating_record(took_us);
    }
}

impl ActorCounters {
    pub(super) fn new(share: PlanShare) -> Self {
        let counted = CounterTotals { run: histogram(), window: VecDeque::new(), stats: ActorStats::default() };
        Self { share: Mutex::new(share), is_share_new: AtomicBool::new(false), totals: Mutex::new(counted) }
    }

    pub(super) fn share(&self) -> PlanShare {
        *self.share.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_share(&self, share: PlanShare) {
        *self.share.lock().unwrap_or_else(PoisonError::into_inner) = share;
        self.is_share_new.store(true, Ordering::Release);
    }

    /// The share, if it was set since the last call.
    pub(super) fn take_new_share(&self) -> Option<PlanShare> {
        self.is_share_new.swap(false, Ordering::AcqRel).then(|| self.share())
    }

    /// Adds a report to the totals; the report starts again from zero.
    pub(super) fn add_report(&self, report: &mut Report) {
        let times = std::mem::replace(&mut report.times, histogram());
        let mut counted = self.lock();
        counted.run += &times;
        counted.window.push_back(times);
        if counted.window.len() > WINDOW_REPORTS {
            counted.window.pop_front();
        }
        let stats = &mut counted.stats;
        stats.refused += std::mem::take(&mut report.refused);
        stats.missed += std::mem::take(&mut report.missed);
        stats.delayed += std::mem::take(&mut report.delayed);
        stats.mailbox_max = stats.mailbox_max.max(std::mem::take(&mut report.mailbox_max));
        (stats.registered, stats.moving) = (report.registered, report.moving);
    }

    fn lock(&self) -> MutexGuard<'_, CounterTotals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sum over several workers.
pub(super) fn stats(counters: &[Arc<ActorCounters>]) -> ActorStats {
    let (mut run, mut window, mut all) = (histogram(), histogram(), ActorStats::default());
    for counters in counters {
        all.planned += counters.share().plan.count;
        let counted = counters.lock();
        run += &counted.run;
        counted.window.iter().for_each(|times| window += times);
        let stats = &counted.stats;
        all.registered += stats.registered;
        all.moving += stats.moving;
        all.refused += stats.refused;
        all.missed += stats.missed;
        all.delayed += stats.delayed;
        all.mailbox_max = all.mailbox_max.max(stats.mailbox_max);
    }
    (all.run, all.window) = (move_time(&run), move_time(&window));
    all
}

fn move_time(times: &Histogram<u64>) -> MoveTime {
    let is_any = !times.is_empty();
    let quantile = |q: f64| is_any.then(|| times.value_at_quantile(q) as f64 / 1e3);
    MoveTime {
        moves: times.len(),
        p50_ms: quantile(0.5),
        p99_ms: quantile(0.99),
        p999_ms: quantile(0.999),
        max_ms: is_any.then(|| times.max() as f64 / 1e3),
    }
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_max(MOVE_US_MAX, DIGITS).expect("the bounds are constants that the histogram takes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::ActorPlan;

    #[test]
    fn a_plan_that_is_set_again_is_new() {
        let share = ActorPlan::of(5).share(0, 1);
        let counters = ActorCounters::new(share);
        assert_eq!(counters.take_new_share(), None);
        counters.set_share(share);
        assert_eq!(counters.take_new_share(), Some(share));
        assert_eq!(counters.take_new_share(), None);
    }

    #[test]
    fn workers_are_summed_and_the_window_forgets() {
        let counters = [0, 1].map(|worker| Arc::new(ActorCounters::new(ActorPlan::of(5).share(worker, 2))));
        let mut report = Report::new();
        report.record_move(50_000);
        (report.registered, report.moving, report.missed, report.mailbox_max) = (3, 1, 2, 9);
        counters[0].add_report(&mut report);
        for _ in 0..WINDOW_REPORTS {
            report.record_move(1_000);
            counters[0].add_report(&mut report);
        }
        (report.registered, report.moving) = (2, 2);
        counters[1].add_report(&mut report);
        let stats = stats(&counters);
        assert_eq!((stats.planned, stats.registered, stats.moving), (5, 5, 3));
        assert_eq!((stats.missed, stats.mailbox_max), (2, 9));
        assert_eq!((stats.run.moves, stats.window.moves), (6, 5));
        assert!(stats.run.max_ms.is_some_and(|max| (49.0..51.0).contains(&max)), "{stats:?}");
        assert!(stats.window.max_ms.is_some_and(|max| max < 1.1), "{stats:?}");
    }
}
