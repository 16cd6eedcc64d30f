//! The timeline: rows in, named figures over time out, in constant memory, while a trial runs or when its file is read
//! again. Does not know files, and what a figure is good for.
//!
//! A value holds from its time until the next one. What is counted in a row has the row's time; what happened between
//! two rows has the time of the first. What is unknown has no value: a second in which a worker did not run has no rate,
//! and a sampled figure holds for a second if the next sample is missing. A second in which the lab ran and nothing ended
//! has a rate of 0, and no latency. The rate of a counter is its mean between two samples, however far they are apart.
//! The names:
//!
//! ```text
//! op.OP.ok_per_s .errors_per_s .denied_per_s            responses by outcome
//! op.OP.latency_p50_ms .latency_p99_ms                  from the intended time, ok responses
//! op.OP.service_p50_ms .service_p99_ms                  from sending
//! op.OP.wake_p50_ms .wake_p99_ms                        from the event in a response until it was received
//! load.in_flight .queued .connections .waiting          the load at a moment
//! generator.lag_p99_ms                                  the generator's schedule
//! work.WORK.waiting .running .finished .failed .stuck .unknown .unfinished
//! process.NAME.rss_bytes .pss_bytes .cpu_cores .threads .open_files .context_switches_per_s ...
//! machine.KEY, observe.NAME.FIGURE                      as in the row
//! metric.NAME{LABELS}                                   a gauge
//! metric.NAME_total{LABELS}.per_s                       a counter
//! metric.NAME{LABELS}.per_s .mean_s .under_way          a histogram or summary of times: rate, mean, and mean
//!                                                       concurrency
//! metric.NAME{LABELS}.per_s .mean .sum_per_s            one of anything else
//! ```

mod metrics;
mod ops;
mod outages;
mod processes;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use super::gaps::Unrecorded;
use super::results::ObservedFigure;
use super::series::Series;
use crate::format::round;
use crate::limits::{
    LOAD_STEPS_MAX, METRIC_POINTS_MAX, METRIC_SERIES_MAX, SAMPLER_EVERY, SERIES_MAX, SERIES_POINTS_MAX, SILENCES_MAX,
    TIMELINE_NOTES_MAX, UNSAMPLED_MIN,
};
use crate::measurement::SECOND_OPEN_FOR_S;
use crate::measurement::timeline::{
    FaultRow, LoadStepRow, NoteRow, PauseRow, SamplerRow, SilenceRow, TimelineRow, WorkRow,
};
pub(crate) use metrics::seconds_in_unit;
use ops::OpenSeconds;
pub(crate) use outages::Outage;
use outages::Outages;

/// All series of a timeline, by name.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// Figures over time.
    pub series: BTreeMap<String, Series>,
    /// In the order of their starts.
    pub load_steps: Vec<LoadStepSpan>,
    /// Faults that were carried out.
    pub faults: Vec<FaultRow>,
    /// Times in which requests were in flight and none ended, in the order of their starts.
    pub(crate) silences: Vec<SilenceRow>,
    /// Notes for the reader.
    pub notes: Vec<NoteRow>,
    /// Times without data.
    pub unrecorded: Unrecorded,
    /// The time of the last sample.
    sampled_s: Option<f64>,
    preferred: BTreeSet<String>,
    metric_series: usize,
    /// The largest number of names in one row for which there was no room.
    omitted_metrics: usize,
    counters: Counters,
    seconds: OpenSeconds,
    outages: Outages,
}

/// A load step on the timeline.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadStepSpan {
    pub number: u32,
    pub phase: String,
    /// What it is: `burst 2`, `50 clients`.
    pub label: String,
    /// When it started, in seconds from the start of the plan.
    pub start_s: f64,
    /// When it was over.
    pub end_s: Option<f64>,
}

/// The class of a series: it decides how much room the series may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SeriesClass {
    /// The load and the work: few, and every report draws them.
    Load,
    /// Processes, the machine, observers, steps.
    Resource,
    /// One of the target's metrics.
    Metric,
    /// One of the target's metrics that the scenario names.
    PreferredMetric,
}

impl Timeline {
    /// An empty timeline that has room for these metrics, whatever other metrics the target has.
    #[must_use]
    pub fn with_preferred_metrics(metrics: impl IntoIterator<Item = String>) -> Self {
        Self { preferred: metrics.into_iter().collect(), ..Self::default() }
    }

    /// Adds a row. Rows come approximately in the order of time.
    pub fn add(&mut self, row: &TimelineRow) {
        match row {
            TimelineRow::Op(row) => self.add_op(row),
            TimelineRow::Sample(row) => self.add_sampler_row(row),
            TimelineRow::Work(row) => self.add_work(row),
            TimelineRow::LoadStep(row) => self.add_load_step(row),
            TimelineRow::Pause(row) => self.add_pause(row),
            TimelineRow::Lag(row) => self.push(SeriesClass::Load, "generator.lag_p99_ms", row.t_s, row.p99_ms),
            TimelineRow::Silence(row) => self.add_silence(row),
            TimelineRow::Fault(row) if row.t_s.is_finite() && self.faults.len() < TIMELINE_NOTES_MAX => {
                self.faults.push(row.clone());
            }
            TimelineRow::Note(row) if self.notes.len() < TIMELINE_NOTES_MAX => self.notes.push(row.clone()),
            TimelineRow::Opening(_)
            | TimelineRow::Held(_)
            | TimelineRow::Fault(_)
            | TimelineRow::Note(_)
            | TimelineRow::Unknown => {}
        }
    }

    /// Adds the seconds that were still open, once there are no more rows; until then the last second of every
    /// operation is missing. Removes series without values.
    pub fn close(&mut self) {
        self.close_seconds();
        self.outages.close();
        self.series.retain(|_, series| !series.points.is_empty());
        if self.omitted_metrics > 0 {
            let note = format!(
                "{} of the target's metrics are not in the figures over time, which keep {METRIC_SERIES_MAX}; timeline.jsonl \
                 has them all, and those that [signals] names come first",
                self.omitted_metrics
            );
            self.omitted_metrics = 0;
            self.notes.push(NoteRow { t_s: 0.0, note });
        }
    }

    /// Times in which everything that ended had failed.
    pub(crate) fn outages(&self) -> &[Outage] {
        self.outages.all()
    }

    /// The ongoing outage, as far as seconds are complete.
    pub(crate) fn outage(&self) -> Option<&Outage> {
        self.outages.current()
    }

    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Series> {
        self.series.get(name)
    }

    /// Seconds of which one worker's data is missing have no rate, not that of the other workers either.
    fn add_pause(&mut self, row: &PauseRow) {
        let Some((from_s, to_s)) = self.unrecorded.requests.add_pause(row) else { return };
        let rates = self.series.iter_mut().filter(|(name, _)| name.starts_with("op.") && name.ends_with("_per_s"));
        rates.for_each(|(_, series)| series.forget(from_s, to_s));
    }

    fn add_silence(&mut self, row: &SilenceRow) {
        if !row.t_s.is_finite() || !row.until_s.is_finite() || row.until_s <= row.t_s {
            return;
        }
        match self.silences.last_mut().filter(|last| last.t_s == row.t_s) {
            Some(last) => *last = *row,
            None => self.silences.push(*row),
        }
        if self.silences.len() > SILENCES_MAX {
            let length = |index: &usize| self.silences[*index].until_s - self.silences[*index].t_s;
            let shortest = (0..self.silences.len()).min_by(|a, b| length(a).total_cmp(&length(b)));
            shortest.map(|index| self.silences.remove(index));
        }
    }

    pub(crate) fn sampled_s(&self) -> Option<f64> {
        self.sampled_s
    }

    /// If samples before this one are missing, the last values hold only for a second.
    fn note_sample_time(&mut self, t_s: f64) {
        if !t_s.is_finite() {
            return;
        }
        let Some(last_s) = self.sampled_s.replace(t_s).filter(|last_s| t_s - last_s > UNSAMPLED_MIN.as_secs_f64())
        else {
            return;
        };
        let from_s = last_s + SAMPLER_EVERY.as_secs_f64();
        self.unrecorded.samples.add(from_s, t_s);
        let sampled = self.series.iter_mut().filter(|(name, _)| !name.starts_with("op."));
        sampled.for_each(|(_, series)| series.end_at(from_s));
    }

    fn add_sampler_row(&mut self, row: &SamplerRow) {
        self.note_sample_time(row.t_s);
        if row.t_s.is_finite() {
            let second = row.t_s.max(0.0) as u64;
            let complete_before = second.saturating_sub(SECOND_OPEN_FOR_S);
            self.outages.complete(complete_before);
            self.push_seconds_before(complete_before);
        }
        let load = [("in_flight", row.in_flight), ("queued", row.queued), ("connections", row.connections)];
        // Few trials have long polls, and those that do not from the start.
        let has_long_polls = row.waiting > 0 || self.series.contains_key("load.waiting");
        for (figure, value) in load.into_iter().chain(has_long_polls.then_some(("waiting", row.waiting))) {
            self.push(SeriesClass::Load, &format!("load.{figure}"), row.t_s, value as f64);
        }
        for (name, figures) in &row.processes {
            self.add_process(name, row.t_s, figures);
        }
        for (key, value) in &row.machine {
            self.push(SeriesClass::Resource, &format!("machine.{key}"), row.t_s, *value);
        }
        for (name, value) in &row.observed {
            self.push(SeriesClass::Resource, &format!("observe.{name}"), row.t_s, *value);
        }
        self.add_metrics(row.t_s, &row.metrics);
    }

    fn add_work(&mut self, row: &WorkRow) {
        let point = &row.point;
        let counts = [
            ("waiting", point.waiting),
            ("running", point.running),
            ("finished", point.finished),
            ("failed", point.failed),
            ("stuck", point.stuck),
            ("unknown", point.unknown),
            ("unfinished", point.unfinished()),
        ];
        for (count, value) in counts {
            self.push(SeriesClass::Load, &format!("work.{}.{count}", row.work), point.t_s, value as f64);
        }
    }

    fn add_load_step(&mut self, row: &LoadStepRow) {
        if row.over {
            if let Some(open) =
                self.load_steps.iter_mut().rev().find(|open| open.number == row.load_step && open.end_s.is_none())
            {
                open.end_s = Some(row.t_s);
            }
        } else if self.load_steps.len() < LOAD_STEPS_MAX as usize {
            let (phase, label) = (row.phase.clone(), row.label.clone());
            self.load_steps.push(LoadStepSpan { number: row.load_step, phase, label, start_s: row.t_s, end_s: None });
        }
    }

    /// Adds a value to a series, which is created if there is room for it.
    fn push(&mut self, room: SeriesClass, name: &str, t_s: f64, value: f64) {
        self.push_until(room, name, (t_s, None), value);
    }

    /// The same for a value with an end.
    fn push_until(&mut self, room: SeriesClass, name: &str, (t_s, until_s): (f64, Option<f64>), value: f64) {
        if !t_s.is_finite() || !value.is_finite() {
            return;
        }
        if self.create_series(room, name)
            && let Some(series) = self.series.get_mut(name)
        {
            series.push_until(t_s, until_s, value);
        }
    }

    /// Creates a series if there is none; returns whether there is one now.
    fn create_series(&mut self, room: SeriesClass, name: &str) -> bool {
        if self.series.contains_key(name) {
            return true;
        }
        let is_full = room == SeriesClass::Metric && self.metric_series >= METRIC_SERIES_MAX;
        if is_full || self.series.len() >= SERIES_MAX {
            return false;
        }
        self.metric_series += usize::from(room == SeriesClass::Metric);
        let points_max = if room == SeriesClass::Load { SERIES_POINTS_MAX } else { METRIC_POINTS_MAX };
        self.series.insert(name.to_owned(), Series::with_points_max(points_max));
        true
    }
}

/// Figures of the observers over the whole run.
#[must_use]
pub fn observer_figures(timeline: &Timeline) -> BTreeMap<String, BTreeMap<String, ObservedFigure>> {
    let mut all: BTreeMap<String, BTreeMap<String, ObservedFigure>> = BTreeMap::new();
    for (name, series) in &timeline.series {
        let Some((observer, figure)) = name.strip_prefix("observe.").and_then(|rest| rest.split_once('.')) else {
            continue;
        };
        if let Some(found) = ObservedFigure::from_series(series) {
            all.entry(observer.to_owned()).or_default().insert(figure.to_owned(), found);
        }
    }
    all
}

impl ObservedFigure {
    /// The statistics of a series; none of an empty one.
    #[must_use]
    pub fn from_series(series: &Series) -> Option<Self> {
        let count: u64 = series.points.iter().map(|point| point.n).sum();
        let sum: f64 = series.points.iter().map(|point| point.mean * point.n as f64).sum();
        Some(Self {
            min: series.points.iter().map(|point| point.min).min_by(f64::total_cmp)?,
            avg: round(sum / count as f64),
            max: series.peak()?.1,
            last: series.last()?,
        })
    }
}

/// The last values of counters, and when they were sampled.
#[derive(Clone, Debug, Default)]
struct Counters(BTreeMap<String, (f64, f64)>);

/// By how much a counter rose between two rows.
#[derive(Clone, Copy, Debug, PartialEq)]
struct CounterIncrease {
    /// The time of the first row.
    start_s: f64,
    /// The time between them, in seconds, more than zero.
    duration_s: f64,
    by: f64,
}

impl Counters {
    /// Records a counter's value. A counter that is new, or fell because its process restarted, has no increase.
    fn increase_since_last(&mut self, name: &str, t_s: f64, value: f64) -> Option<CounterIncrease> {
        if !t_s.is_finite() || !value.is_finite() {
            return None;
        }
        let Some(last) = self.0.get_mut(name) else {
            self.0.insert(name.to_owned(), (t_s, value));
            return None;
        };
        let (from_s, before) = std::mem::replace(last, (t_s, value));
        let (took_s, by) = (t_s - from_s, value - before);
        (took_s > 0.0 && by >= 0.0).then_some(CounterIncrease { start_s: from_s, duration_s: took_s, by })
    }
}

impl CounterIncrease {
    /// From one sample to the other.
    fn span(self) -> (f64, Option<f64>) {
        (self.start_s, Some(self.start_s + self.duration_s))
    }

    fn per_s(self) -> f64 {
        self.by / self.duration_s
    }
}
