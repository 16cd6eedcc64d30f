//! How each figure is tested: second by second with one run per side, run by run with several. Does not decide.

use super::Side;
use super::figures::{ComparedFigure, FigureKind, FigureOutcome, WorseDirection};
use super::load::RunRecord;
use super::op_comparison::{OpComparison, PERCENTILES, RESOLUTION, seed_from_id};
use super::run_series::RateSeries;
use super::stats::{ComparisonScale, EventCount, Family, PairResampling, Ratio, UndecidedReason};
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
        let figure = &mut figures[index % count];
        figure.outcomes.push(FigureOutcome::new(answer, figure.worse_direction));
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
type FigureFn<'a> = &'a dyn Fn(&RunRecord) -> Option<f64>;

/// A time that work takes, in seconds.
type WorkTimeFn = fn(&WorkFigures) -> Option<f64>;

/// A count of an outcome of work.
type WorkCountFn = fn(&WorkFigures) -> u64;

impl<'a> FigureCollector<'a> {
    fn add_figure(&mut self, subject: &str, name: &'static str, unit: &'static str, kind: FigureKind) {
        let worse = if kind == FigureKind::Throughput { WorseDirection::Lower } else { WorseDirection::Higher };
        let outcomes = Vec::new();
        self.figures.push(ComparedFigure {
            subject: subject.to_owned(),
            name,
            unit,
            kind,
            worse_direction: worse,
            outcomes,
        });
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
        PERCENTILES.iter().for_each(|percentile| self.add_figure(op, percentile.name, "ms", FigureKind::Time));
        let resamplings = self.single_records().map(|records| OpComparison::new(records, op));
        match resamplings {
            Some(Ok(resamplings)) => resamplings.compare(self.family),
            Some(Err(reason)) => self.compare_op_runs(op, Some(reason)),
            None => self.compare_op_runs(op, None),
        }
    }

    /// One figure per run: several runs are compared, a single one is only shown.
    fn compare_op_runs(&mut self, op: &str, reason: Option<UndecidedReason>) {
        self.compare_values(ComparisonScale::Ratio, RESOLUTION, reason, &|record| throughput(record, op));
        self.compare_share(op, |op| op.errors, reason);
        self.compare_share(op, |op| op.denied, reason);
        for percentile in &PERCENTILES {
            let of = |record: &RunRecord| (percentile.figure)(op_figures(record, op)?, percentile.quantile);
            self.compare_values(ComparisonScale::Ratio, RESOLUTION, reason, &of);
        }
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
        let figures = |record: &RunRecord, find: &dyn Fn(&WorkFigures) -> Option<f64>| {
            record.run.results.work.get(work).and_then(find)
        };
        self.add_figure(work, "finished", "/min", FigureKind::Throughput);
        let rates = self.single_records().map(|records| records.map(|record| record.series.finished_per_min(work)));
        match rates {
            Some([before, after]) if before.overall().is_some() && after.overall().is_some() => {
                let frame = self.resampling(&before.numerator, &after.numerator);
                self.compare_rate(frame, [&before, &after]);
            }
            _ => self.compare_values(ComparisonScale::Ratio, RESOLUTION, None, &|record| {
                figures(record, &|work| work.throughput_per_min)
            }),
        }
        let times: [(&'static str, WorkTimeFn); 3] = [
            ("completion p50", |work| work.completion_s.p50),
            ("completion p99", |work| work.completion_s.p99),
            ("queue wait p99", |work| work.queue_wait_s.p99),
        ];
        for (name, time) in times {
            self.add_figure(work, name, "s", FigureKind::Time);
            self.compare_values(ComparisonScale::Ratio, RESOLUTION, None, &|record| figures(record, &time));
        }
        self.add_figure(work, "drain", "s", FigureKind::Time);
        let drains = self.side_values(&|record| figures(record, &|work| work.drain_s));
        let shortest = drains.iter().flatten().flatten().fold(f64::INFINITY, |least: f64, drain| least.min(*drain));
        self.compare_runs(
            ComparisonScale::Ratio,
            (POLL_DELAY_DEVIATION_S / shortest).clamp(RESOLUTION, 1.0),
            0.0,
            None,
            &drains,
        );
        let mut counts: Vec<(&str, WorkCountFn)> = vec![("stuck", |work| work.stuck), ("failed", |work| work.failed)];
        let unknown = |record: &RunRecord| record.run.results.work.get(work).is_some_and(|work| work.unknown > 0);
        if [self.before, self.after].iter().flat_map(|side| side.records.iter()).any(unknown) {
            counts.push(("unknown", |work| work.unknown));
        }
        for (name, count) in counts {
            self.add_figure(work, name, "", FigureKind::Count);
            self.compare_counts(&|record| record.run.results.work.get(work).map(|work| (count(work), work.created)));
        }
    }

    fn compare_server(&mut self) {
        self.add_figure("server", "RSS peak", "MiB", FigureKind::Cost);
        let peak = |record: &RunRecord| Some(record.run.results.server.process.rss_bytes?.peak as f64 / MIB);
        self.compare_values(ComparisonScale::Ratio, RESOLUTION, None, &peak);
        self.add_figure("server", "CPU per 1,000 good answers", "s", FigureKind::Cost);
        let rates = self.single_records().map(|records| records.map(|record| record.series.cpu_per_1000()));
        match rates {
            Some([before, after]) if before.overall().is_some() && after.overall().is_some() => {
                let frame = self.resampling(&before.denominator, &after.denominator);
                self.compare_rate(frame, [&before, &after]);
            }
            _ => self.compare_values(ComparisonScale::Ratio, RESOLUTION, None, &cpu_per_1000),
        }
    }

    fn resampling(&self, before: &[f64], after: &[f64]) -> Result<PairResampling, UndecidedReason> {
        let seeds = self.single_records().ok_or(UndecidedReason::OneRun)?.map(|record| seed_from_id(&record.run.id));
        PairResampling::new(before, after, seeds)
    }

    fn compare_rate(&mut self, frame: Result<PairResampling, UndecidedReason>, [before, after]: [&RateSeries; 2]) {
        let Ok(frame) = frame else {
            return self.family.add_undecided(before.overall(), after.overall(), UndecidedReason::TooShort);
        };
        let first = Ratio::new(&frame.before, &before.numerator, &before.denominator);
        let second = Ratio::new(&frame.after, &after.numerator, &after.denominator);
        self.family.add_series(&frame, ComparisonScale::Ratio, [&first, &second], RESOLUTION);
    }

    fn compare_counts(&mut self, of: &dyn Fn(&RunRecord) -> Option<(u64, u64)>) {
        if let Some([before, after]) = self.single_records() {
            let count =
                |record: &RunRecord| of(record).map(|(events, all)| EventCount { events, exposure: all as f64 });
            return match (count(before), count(after)) {
                (Some(before), Some(after)) => self.family.add_counts(before, after),
                _ => self.family.add_undecided(None, None, UndecidedReason::Missing),
            };
        }
        let values = self.side_values(&|record| of(record).map(|(events, _)| events as f64));
        let all = || values.iter().flatten().flatten();
        // Counts vary at least as much as independent events: their variance is their mean.
        let floor = all().sum::<f64>() / all().count().max(1) as f64;
        self.compare_runs(ComparisonScale::Difference, 0.0, floor, None, &values);
    }

    fn compare_values(
        &mut self,
        scale: ComparisonScale,
        grain: f64,
        reason: Option<UndecidedReason>,
        find: FigureFn<'_>,
    ) {
        let values = self.side_values(find);
        self.compare_runs(scale, grain, 0.0, reason, &values);
    }

    /// The figure of every run of both sides.
    fn side_values(&self, find: FigureFn<'_>) -> [Option<Vec<f64>>; 2] {
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
