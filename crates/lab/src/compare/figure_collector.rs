//! How each figure is tested: second by second with one run per side, run by run with several. Does not decide.

use super::Side;
use super::figures::{ComparedFigure, FigureKind, WorseDirection};
use super::load::RunRecord;
use super::op_comparison::{self, RESOLUTION, TIMES, compare_rate, resampling};
use super::run_series::RateSeries;
use super::stats::{ComparisonScale, EventCount, Family, UndecidedReason};
use crate::aggregate::{OpFigures, WorkFigures};

/// How much the wait for the next poll shifts the moment at which work is seen to be over, in seconds: the deviation of
/// a uniform distribution over a second.
const POLL_DELAY_DEVIATION_S: f64 = 0.29;

const MIB: f64 = 1024.0 * 1024.0;

/// Adds every figure of every side against the first, and decides all of them together.
pub(super) fn evaluate_figures(sides: &[Side], mut family: Family) -> Vec<ComparedFigure> {
    let mut figures = collect_figures(sides, &mut family);
    let count = figures.len().max(1);
    for (index, answer) in family.decide().into_iter().enumerate() {
        figures[index % count].outcomes.push(answer);
    }
    figures.retain(|figure| !figure.is_empty());
    figures
}

/// Adds every figure of every side against the first: side by side, always the same figures in the same order.
fn collect_figures(sides: &[Side], family: &mut Family) -> Vec<ComparedFigure> {
    let (ops, works) = (unique_names(sides, op_names), unique_names(sides, work_names));
    let mut figures = Vec::new();
    for after in &sides[1..] {
        let mut asked = FigureCollector { family, figures: Vec::new(), before: &sides[0], after };
        ops.iter().for_each(|op| asked.compare_op(op));
        works.iter().for_each(|work| asked.compare_work(work));
        asked.compare_server();
        figures = asked.figures;
    }
    figures
}

fn unique_names(sides: &[Side], of: fn(&RunRecord) -> Vec<String>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in sides.iter().flat_map(|side| &side.records).flat_map(of) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn op_names(record: &RunRecord) -> Vec<String> {
    let journeys = record.run.results.journeys.iter();
    let named = journeys.flat_map(|(name, journey)| {
        [name.clone()].into_iter().chain(journey.steps.keys().map(move |step| format!("{name}.steps.{step}")))
    });
    named.collect()
}

fn work_names(record: &RunRecord) -> Vec<String> {
    record.run.results.work.keys().cloned().collect()
}

fn op_figures<'a>(record: &'a RunRecord, op: &str) -> Option<&'a OpFigures> {
    let journeys = &record.run.results.journeys;
    match op.split_once(".steps.") {
        Some((journey, step)) => journeys.get(journey)?.steps.get(step),
        None => Some(&journeys.get(op)?.op),
    }
}

/// Adds the figures of one side against the first, in one order.
struct FigureCollector<'a> {
    family: &'a mut Family,
    figures: Vec<ComparedFigure>,
    before: &'a Side,
    after: &'a Side,
}

/// Extracts a figure from a run, when the run is the unit.
type FigureFn<'a, 'b> = &'b dyn Fn(&'a RunRecord) -> Option<f64>;

/// A time that work takes, in seconds.
type WorkTimeFn = fn(&WorkFigures) -> Option<f64>;

/// A count of an outcome of work.
type WorkCountFn = fn(&WorkFigures) -> u64;

impl<'a> FigureCollector<'a> {
    fn add_figure(&mut self, subject: &str, name: &'static str, unit: &'static str, kind: FigureKind) {
        let worse_direction =
            if kind == FigureKind::Throughput { WorseDirection::Lower } else { WorseDirection::Higher };
        let (subject, outcomes) = (subject.to_owned(), Vec::new());
        self.figures.push(ComparedFigure { subject, name, unit, kind, worse_direction, outcomes });
    }

    /// The two runs, if there is one per side.
    fn single_records(&self) -> Option<[&'a RunRecord; 2]> {
        match (self.before.records.as_slice(), self.after.records.as_slice()) {
            ([before], [after]) => Some([before, after]),
            _ => None,
        }
    }

    fn compare_op(&mut self, op: &str) {
        self.add_figure(op, "throughput", "/s", FigureKind::Throughput);
        self.add_figure(op, "errors", "%", FigureKind::Share);
        self.add_figure(op, "denied", "%", FigureKind::Share);
        let percentiles = || TIMES.iter().flat_map(|times| times.percentiles);
        percentiles().for_each(|(name, ..)| self.add_figure(op, name, "ms", FigureKind::Time));
        let compared = self.single_records().map(|records| op_comparison::compare_op(self.family, records, op));
        if compared == Some(Ok(())) {
            return;
        }
        // One figure per run: several runs are compared, a single one is only shown.
        let reason = compared.and_then(Result::err);
        self.compare_values(reason, &|record| throughput(record, op));
        self.compare_share(op, |op| op.errors, reason);
        self.compare_share(op, |op| op.denied, reason);
        percentiles().for_each(|(_, _, figure)| self.compare_values(reason, &|record| figure(op_figures(record, op)?)));
    }

    fn compare_share(&mut self, op: &str, events: fn(&OpFigures) -> u64, reason: Option<UndecidedReason>) {
        let percent = |op: &OpFigures| (op.count > 0).then(|| 100.0 * events(op) as f64 / op.count as f64);
        let values = self.side_values(&|record| percent(op_figures(record, op)?));
        let records = || self.before.records.iter().chain(&self.after.records);
        let ops: Vec<&OpFigures> = records().filter_map(|record| op_figures(record, op)).collect();
        let answers = ops.iter().map(|op| op.count).sum::<u64>().max(1) as f64;
        let mean = ops.iter().map(|op| events(op)).sum::<u64>() as f64 / answers;
        if reason.is_some() && values.iter().flatten().flatten().all(|share| *share == 0.0) && !ops.is_empty() {
            let none = EventCount { events: 0, exposure: answers };
            return self.family.add_counts(none, none);
        }
        // A share varies at least as much as that of independent responses, of which a run has this many.
        let floor = 100.0 * 100.0 * mean * (1.0 - mean) * ops.len() as f64 / answers;
        self.compare_runs(ComparisonScale::Difference, 0.0, floor, reason, &values);
    }

    fn compare_work(&mut self, work: &str) {
        let figures = |record: &'a RunRecord| record.run.results.work.get(work);
        self.add_figure(work, "finished", "/min", FigureKind::Throughput);
        self.compare_rate(|record| record.series.finished_per_min(work), |rate| &rate.numerator, &|record| {
            figures(record)?.throughput_per_min
        });
        let times: [(&'static str, WorkTimeFn); 3] = [
            ("completion p50", |work| work.completion_s.p50),
            ("completion p99", |work| work.completion_s.p99),
            ("queue wait p99", |work| work.queue_wait_s.p99),
        ];
        for (name, time) in times {
            self.add_figure(work, name, "s", FigureKind::Time);
            self.compare_values(None, &|record| time(figures(record)?));
        }
        self.add_figure(work, "drain", "s", FigureKind::Time);
        let drains = self.side_values(&|record| figures(record)?.drain_s);
        let shortest = drains.iter().flatten().flatten().fold(f64::INFINITY, |least: f64, drain| least.min(*drain));
        let grain = (POLL_DELAY_DEVIATION_S / shortest).clamp(RESOLUTION, 1.0);
        self.compare_runs(ComparisonScale::Ratio, grain, 0.0, None, &drains);
        let mut counts: Vec<(&str, WorkCountFn)> = vec![("stuck", |work| work.stuck), ("failed", |work| work.failed)];
        let unknown = |record| figures(record).is_some_and(|work| work.unknown > 0);
        if [self.before, self.after].iter().flat_map(|side| side.records.iter()).any(unknown) {
            counts.push(("unknown", |work| work.unknown));
        }
        for (name, count) in counts {
            self.add_figure(work, name, "", FigureKind::Count);
            self.compare_counts(&|record| figures(record).map(|work| (count(work), work.created)));
        }
    }

    fn compare_server(&mut self) {
        self.add_figure("server", "RSS peak", "MiB", FigureKind::Cost);
        self.compare_values(None, &|record| Some(record.run.results.server.process.rss_bytes?.peak as f64 / MIB));
        self.add_figure("server", "CPU per 1,000 good answers", "s", FigureKind::Cost);
        self.compare_rate(|record| record.series.cpu_per_1000(), |rate| &rate.denominator, &cpu_per_1000);
    }

    /// A rate over time where there is one run per side and its timeline has it, else the figures of the runs. `events`
    /// is what the plan determines.
    fn compare_rate(
        &mut self,
        rate: impl Fn(&RunRecord) -> RateSeries,
        events: fn(&RateSeries) -> &[f64],
        find: FigureFn<'a, '_>,
    ) {
        let rates = self.single_records().map(|records| (records, records.map(rate)));
        match rates {
            Some((records, rates)) if rates.iter().all(|rate| rate.overall().is_some()) => {
                let resampling = resampling(records, rates.each_ref().map(events));
                compare_rate(self.family, resampling, ComparisonScale::Ratio, &rates, RESOLUTION);
            }
            _ => self.compare_values(None, find),
        }
    }

    fn compare_counts(&mut self, of: &dyn Fn(&'a RunRecord) -> Option<(u64, u64)>) {
        if let Some(records) = self.single_records() {
            let counts = records.map(|record| of(record).map(|(events, all)| (events, all as f64)));
            return match counts.map(|count| count.map(|(events, exposure)| EventCount { events, exposure })) {
                [Some(before), Some(after)] => self.family.add_counts(before, after),
                _ => self.family.add_undecided(None, None, UndecidedReason::Missing),
            };
        }
        let values = self.side_values(&|record| of(record).map(|(events, _)| events as f64));
        let all = || values.iter().flatten().flatten();
        // Counts vary at least as much as independent events: their variance is their mean.
        let floor = all().sum::<f64>() / all().count().max(1) as f64;
        self.compare_runs(ComparisonScale::Difference, 0.0, floor, None, &values);
    }

    /// A time, a rate or a cost of every run.
    fn compare_values(&mut self, reason: Option<UndecidedReason>, find: FigureFn<'a, '_>) {
        let values = self.side_values(find);
        self.compare_runs(ComparisonScale::Ratio, RESOLUTION, 0.0, reason, &values);
    }

    /// The figure of every run of both sides.
    fn side_values(&self, find: FigureFn<'a, '_>) -> [Option<Vec<f64>>; 2] {
        [self.before, self.after].map(|side| side.records.iter().map(find).collect())
    }

    fn compare_runs(
        &mut self,
        scale: ComparisonScale,
        grain: f64,
        floor: f64,
        reason: Option<UndecidedReason>,
        values: &[Option<Vec<f64>>; 2],
    ) {
        let [before, after] = values.each_ref().map(|side| side.as_deref().unwrap_or_default());
        match reason {
            Some(reason) => self.family.add_undecided(before.first().copied(), after.first().copied(), reason),
            None => self.family.add_runs(scale, [before, after], grain, floor),
        }
    }
}

/// Successful responses per second, over the time in which responses came.
fn throughput(record: &RunRecord, op: &str) -> Option<f64> {
    let times = &record.series;
    let (_, inner) = times.active(op)?;
    let seconds = inner.len() as f64 * times.unit_s as f64;
    (seconds > 0.0).then(|| inner.iter().map(|counts| counts.ok).sum::<f64>() / seconds)
}

fn cpu_per_1000(record: &RunRecord) -> Option<f64> {
    let results = &record.run.results;
    let ok: u64 = results.journeys.values().map(|journey| journey.op.ok).sum();
    results.server.process.cpu_s.filter(|_| ok > 0).map(|cpu_s| cpu_s * 1000.0 / ok as f64)
}
