//! Tracks work that outlives its request, from creation to its end. A pure state machine: times and responses are
//! arguments, counts and figures are results. Does not know how the responses were received.
//!
//! Stuck means no progress: no change of the state and of none of the scenario's progress figures for the given time.
//! Age does not count, and an item that waits in a moving queue is not stuck either: it is stuck when nothing has left
//! the queue for that time. Time without polls proves nothing: a poll that started after that time must have found no
//! progress, or the lab's own absence would be held against the target.
//!
//! Unknown means that the server responds, and does not know an item whose creation it had answered. It may know it at
//! a later poll; without a change for as long as makes others stuck, it is no longer waited for.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

use super::holders::{Holder, Holders};
use crate::aggregate::{DrainCurve, Summary, TotalsFigures, WorkFigures};
use crate::clock::parse_rfc3339;
use crate::format::round;
use crate::limits::UNKNOWN_IDS_MAX;
use crate::measurement::WorkPoint;
use crate::scenario::{DerivedFigure, StatusMapping, WORK_ITEM_FIGURES, WorkSpec, WorkState};

#[derive(Debug)]
pub struct Tracker {
    status_mapping: StatusMapping,
    derived: Vec<DerivedFigure>,
    stuck_after: Duration,
    unfinished: BTreeMap<Box<str>, WorkItem>,
    ended: BTreeSet<Box<str>>,
    queue_moved_at: Duration,
    /// The start of the last round of polls that counts for all items.
    all_polled_at: Duration,
    first_due: Option<Duration>,
    last_due: Duration,
    last_end: Duration,
    holders: Holders,
    totals: EndedTotals,
    drain_curve: DrainCurve,
}

/// An item that has not ended.
#[derive(Debug)]
struct WorkItem {
    state: WorkState,
    due: Duration,
    progress_at: Duration,
    progress: Vec<Option<f64>>,
    /// The start of the round that polled it last.
    polled_at: Duration,
    /// Its holder at the last poll.
    holder: Option<Holder>,
}

/// The sums of ended items.
#[derive(Debug, Default)]
struct EndedTotals {
    finished: u64,
    failed: u64,
    duplicates: u64,
    first_created_ms: Option<i64>,
    last_finished_ms: Option<i64>,
    /// In the order of [`WORK_ITEM_FIGURES`].
    times: [Summary; 3],
    figures: Vec<Summary>,
    derived: Vec<Summary>,
}

impl Tracker {
    #[must_use]
    pub fn new(work: &WorkSpec) -> Self {
        Self {
            status_mapping: work.status_mapping.clone(),
            derived: work.derived.clone(),
            stuck_after: work.stuck_after,
            unfinished: BTreeMap::new(),
            ended: BTreeSet::new(),
            queue_moved_at: Duration::ZERO,
            all_polled_at: Duration::ZERO,
            first_due: None,
            last_due: Duration::ZERO,
            last_end: Duration::ZERO,
            holders: Holders::default(),
            totals: EndedTotals {
                figures: vec![Summary::default(); work.status_mapping.figures.len()],
                derived: vec![Summary::default(); work.derived.len()],
                ..EndedTotals::default()
            },
            drain_curve: DrainCurve::default(),
        }
    }

    /// An item was created by an arrival that was due at `due`, and the response was received at `now`.
    pub fn add_started(&mut self, id: &str, due: Duration, now: Duration) {
        if self.unfinished.contains_key(id) || self.ended.contains(id) {
            self.totals.duplicates += 1;
            return;
        }
        let progress = vec![None; self.status_mapping.progress.len()];
        let (state, looked_at) = (WorkState::Waiting, Duration::ZERO);
        self.unfinished
            .insert(id.into(), WorkItem { state, due, progress_at: now, progress, polled_at: looked_at, holder: None });
        self.first_due = Some(self.first_due.map_or(due, |first| first.min(due)));
        self.last_due = self.last_due.max(due);
    }

    /// The ids of all items that have not ended.
    #[must_use]
    pub fn unfinished(&self) -> Vec<Box<str>> {
        self.unfinished.keys().cloned().collect()
    }

    /// Processes the response to a status request for these ids. The server does not know those that it omits.
    ///
    /// # Errors
    /// The response is not what the scenario says; what could be read of it counts.
    pub fn observe(&mut self, requested_ids: &[Box<str>], response: &Value, now: Duration) -> Result<(), String> {
        let items = response.pointer(&self.status_mapping.items).and_then(Value::as_array);
        let items = items.ok_or_else(|| format!("no list at `{}`", self.status_mapping.items))?;
        let (mut named, mut all_named) = (BTreeSet::new(), true);
        let mut found = Ok(());
        for item in items {
            let Some(id) = item.pointer(&self.status_mapping.id).and_then(Value::as_str) else {
                all_named = false;
                found = found.and_then(|()| Err(format!("no id at `{}`", self.status_mapping.id)));
                continue;
            };
            named.insert(id);
            found = found.and(self.observe_item(id, item, now));
        }
        // An item whose id could not be read may be any of them.
        if all_named {
            requested_ids.iter().filter(|id| !named.contains(&***id)).for_each(|id| self.observe_unknown(id, now));
        }
        found
    }

    /// The server does not know an item.
    pub fn observe_unknown(&mut self, id: &str, now: Duration) {
        if let Some(item) = self.unfinished.get_mut(id).filter(|item| item.state != WorkState::Unknown) {
            (item.state, item.progress_at, item.holder) = (WorkState::Unknown, now, None);
        }
    }

    /// Processes the status of one item.
    ///
    /// # Errors
    /// It is not what the scenario says.
    pub fn observe_item(&mut self, id: &str, item: &Value, now: Duration) -> Result<(), String> {
        let text = |pointer: &str| item.pointer(pointer).and_then(Value::as_str);
        let Some(entry) = self.unfinished.get_mut(id) else { return Ok(()) };
        let word =
            text(&self.status_mapping.state).ok_or_else(|| format!("no state at `{}`", self.status_mapping.state))?;
        let state = self.status_mapping.state_of(word).ok_or_else(|| format!("the state \"{word}\" has no meaning"))?;
        let number = |figure: &usize| item.pointer(&self.status_mapping.figures[*figure].1).and_then(Value::as_f64);
        let progress: Vec<Option<f64>> = self.status_mapping.progress.iter().map(number).collect();
        if state == WorkState::Unknown {
            self.observe_unknown(id, now);
            return Ok(());
        }
        if entry.state != state || entry.progress != progress {
            entry.progress_at = now;
            entry.progress = progress;
        }
        if entry.state == WorkState::Waiting && state != WorkState::Waiting {
            self.queue_moved_at = now;
        }
        entry.state = state;
        entry.holder =
            self.status_mapping.holder.as_deref().and_then(|pointer| self.holders.intern(item.pointer(pointer)?));
        if matches!(state, WorkState::Finished | WorkState::Failed) {
            let due = entry.due;
            self.end_item(id, state, item, due, now);
        }
        Ok(())
    }

    fn end_item(&mut self, id: &str, state: WorkState, item: &Value, due: Duration, now: Duration) {
        if let Some((id, _)) = self.unfinished.remove_entry(id) {
            self.ended.insert(id);
        }
        self.last_end = self.last_end.max(now);
        if state == WorkState::Failed {
            self.totals.failed += 1;
            return;
        }
        self.totals.finished += 1;
        let [created, started, finished] = self.status_mapping.times.each_ref().map(|pointer| {
            let text = item.pointer(pointer.as_deref()?)?.as_str()?;
            parse_rfc3339(text)
        });
        let seconds = |from: Option<i64>, to: Option<i64>| Some((to? - from?) as f64 / 1000.0);
        let by_lab = self.status_mapping.times.iter().all(Option::is_none);
        let observed = by_lab.then(|| now.saturating_sub(due).as_secs_f64());
        let times = [seconds(created, started), seconds(started, finished), seconds(created, finished).or(observed)];
        let figure = |(_, pointer): &(String, String)| item.pointer(pointer).and_then(Value::as_f64);
        let figures: Vec<Option<f64>> = self.status_mapping.figures.iter().map(figure).collect();
        let own_names = self.status_mapping.figures.iter().map(|(name, _)| name.as_str());
        let named = || WORK_ITEM_FIGURES.into_iter().zip(times).chain(own_names.clone().zip(figures.iter().copied()));
        let value = |name: &str| named().find(|(known, _)| *known == name)?.1;
        let derived: Vec<Option<f64>> = self.derived.iter().map(|figure| figure.formula.evaluate(&value)).collect();
        self.totals.note_times(created, finished);
        self.totals.record(times.into_iter().chain(figures).chain(derived));
    }

    /// A round that started at `began` has polled these items, with a response or without one, which is no progress
    /// either.
    pub fn mark_polled(&mut self, requested_ids: &[Box<str>], began: Duration) {
        for id in requested_ids {
            if let Some(item) = self.unfinished.get_mut(id) {
                item.polled_at = began;
            }
        }
    }

    /// A round that started at `began` counts for every item, polled or not.
    pub fn mark_all_polled(&mut self, began: Duration) {
        self.all_polled_at = began;
    }

    /// Whether an item has not changed for too long.
    fn is_stalled(&self, item: &WorkItem) -> bool {
        let moved_at = match item.state {
            WorkState::Waiting => item.progress_at.max(self.queue_moved_at),
            WorkState::Running | WorkState::Finished | WorkState::Failed | WorkState::Unknown => item.progress_at,
        };
        item.polled_at.max(self.all_polled_at).saturating_sub(moved_at) >= self.stuck_after
    }

    fn is_stuck(&self, item: &WorkItem) -> bool {
        item.state != WorkState::Unknown && self.is_stalled(item)
    }

    /// The counts at a moment; they add up to what was created.
    #[must_use]
    pub fn counts(&self, now: Duration) -> WorkPoint {
        let mut point = WorkPoint {
            t_s: round(now.as_secs_f64()),
            finished: self.totals.finished,
            failed: self.totals.failed,
            ..WorkPoint::default()
        };
        for item in self.unfinished.values() {
            match item.state {
                WorkState::Unknown => point.unknown += 1,
                _ if self.is_stalled(item) => point.stuck += 1,
                WorkState::Waiting => point.waiting += 1,
                WorkState::Running | WorkState::Finished | WorkState::Failed => point.running += 1,
            }
        }
        point
    }

    /// Adds the current counts to the curve.
    pub fn record_point(&mut self, now: Duration) -> WorkPoint {
        let point = self.counts(now);
        self.drain_curve.push(point);
        point
    }

    /// Whether nothing is left that could still move.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.unfinished.values().all(|item| self.is_stalled(item))
    }

    /// Items in the server's queue, as far as they were polled.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.unfinished.values().filter(|item| item.state == WorkState::Waiting).count() as u64
    }

    #[must_use]
    pub fn created(&self) -> u64 {
        (self.unfinished.len() + self.ended.len()) as u64
    }

    /// The figures at the end.
    #[must_use]
    pub fn figures(&self, now: Duration, totals: Option<TotalsFigures>) -> WorkFigures {
        let point = self.counts(now);
        let sums = &self.totals;
        let named = |(name, summary): (&String, &Summary)| (name.clone(), summary.statistics());
        let figures = self.status_mapping.figures.iter().map(|(name, _)| name);
        let [queue_wait_s, run_s, completion_s] = sums.times.each_ref().map(Summary::statistics);
        WorkFigures {
            created: self.created(),
            finished: point.finished,
            failed: point.failed,
            stuck: point.stuck,
            stuck_by: self.stuck_by(),
            unknown: point.unknown,
            unknown_ids: self.unknown_ids(),
            waiting: point.waiting,
            running: point.running,
            duplicates: sums.duplicates,
            throughput_per_min: self.throughput_per_min(),
            drain_s: self.drain_time().map(|drain| round(drain.as_secs_f64())),
            queue_wait_s,
            run_s,
            completion_s,
            figures: figures.zip(&sums.figures).map(named).collect(),
            progress_per_s: self.progress_per_s(),
            derived: self.derived.iter().map(|figure| &figure.name).zip(&sums.derived).map(named).collect(),
            totals,
            drain_curve: self.drain_curve.points(),
        }
    }

    /// Stuck items by their last holder; empty if the scenario does not say where a status names it.
    fn stuck_by(&self) -> BTreeMap<String, u64> {
        let mut by = BTreeMap::new();
        if self.status_mapping.holder.is_some() {
            for item in self.unfinished.values().filter(|item| self.is_stuck(item)) {
                *by.entry(self.holders.name(item.holder).to_owned()).or_insert(0) += 1;
            }
        }
        by
    }

    fn unknown_ids(&self) -> Vec<String> {
        let unknown = self.unfinished.iter().filter(|(_, item)| item.state == WorkState::Unknown);
        unknown.take(UNKNOWN_IDS_MAX).map(|(id, _)| id.to_string()).collect()
    }

    fn drain_time(&self) -> Option<Duration> {
        let drained = self.unfinished.is_empty() && !self.ended.is_empty();
        drained.then(|| self.last_end.saturating_sub(self.last_due))
    }

    fn throughput_per_min(&self) -> Option<f64> {
        (self.totals.finished > 0).then_some(self.totals.finished as f64 * 60.0 / self.span_s()?).map(round)
    }

    fn progress_per_s(&self) -> BTreeMap<String, f64> {
        let Some(span_s) = self.span_s() else { return BTreeMap::new() };
        let per_s = |index: &usize| {
            let sum = self.totals.figures[*index].statistics().sum?;
            Some((self.status_mapping.figures[*index].0.clone(), round(sum / span_s)))
        };
        self.status_mapping.progress.iter().filter_map(per_s).collect()
    }

    /// Seconds from the first creation to the last finish, by the server's own times if it has them: they are finer
    /// than the lab's polls.
    fn span_s(&self) -> Option<f64> {
        let by_server = self.totals.first_created_ms.zip(self.totals.last_finished_ms);
        let span_s = match by_server {
            Some((first, last)) => (last - first) as f64 / 1000.0,
            None => self.last_end.checked_sub(self.first_due?)?.as_secs_f64(),
        };
        (span_s > 0.0).then_some(span_s)
    }
}

impl EndedTotals {
    fn note_times(&mut self, created: Option<i64>, finished: Option<i64>) {
        self.first_created_ms = self.first_created_ms.into_iter().chain(created).min();
        self.last_finished_ms = self.last_finished_ms.max(finished);
    }

    /// Adds a finished item's values: its times, its own figures, and those derived of them.
    fn record(&mut self, values: impl Iterator<Item = Option<f64>>) {
        let summaries = self.times.iter_mut().chain(&mut self.figures).chain(&mut self.derived);
        for (summary, value) in summaries.zip(values) {
            value.into_iter().for_each(|value| summary.record(value));
        }
    }
}
