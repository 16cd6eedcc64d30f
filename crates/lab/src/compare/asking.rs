//! How each figure is asked about: second by second where there is one run a side, run by run where there are
//! several. Refuses to decide.

use super::Side;
use super::figures::{Figure, Kind, Worse};
use super::lanes::{OpLanes, PERCENTILES, seed};
use super::load::Record;
use super::stats::{Count, Family, Frame, Ratio, Reason, Scale};
use super::times::Rate;
use crate::aggregate::{OpFigures, WorkFigures};

/// Histograms tell values apart to three significant digits; rates are no better.
pub(super) const GRAIN: f64 = 0.001;

/// What the wait for the next look at the work does to the moment when it is seen to be over, in seconds: an even
/// spread over a second.
const LOOK_S: f64 = 0.29;

const MIB: f64 = 1024.0 * 1024.0;

/// Asks about every figure of every side against the first: side by side, always the same figures in the same order.
pub(super) fn ask(sides: &[Side], family: &mut Family) -> Vec<Figure> {
    let (ops, works) = (names(sides, op_names), names(sides, work_names));
    let mut figures = Vec::new();
    for after in &sides[1..] {
        let mut asked = Asking { family, figures: Vec::new(), before: &sides[0], after };
        ops.iter().for_each(|op| asked.op(op));
        works.iter().for_each(|work| asked.work(work));
        asked.server();
        figures = asked.figures;
    }
    figures
}

fn names(sides: &[Side], of: fn(&Record) -> Vec<String>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in sides.iter().flat_map(|side| &side.records).flat_map(of) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn op_names(record: &Record) -> Vec<String> {
    let journeys = record.run.results.journeys.iter();
    let named = journeys.flat_map(|(name, journey)| {
        [name.clone()].into_iter().chain(journey.steps.keys().map(move |step| format!("{name}.steps.{step}")))
    });
    named.collect()
}

fn work_names(record: &Record) -> Vec<String> {
    record.run.results.work.keys().cloned().collect()
}

fn op_figures<'a>(record: &'a Record, op: &str) -> Option<&'a OpFigures> {
    let journeys = &record.run.results.journeys;
    match op.split_once(".steps.") {
        Some((journey, step)) => journeys.get(journey)?.steps.get(step),
        None => Some(&journeys.get(op)?.op),
    }
}

/// What is asked about one side against the first, figure by figure in one order.
struct Asking<'a> {
    family: &'a mut Family,
    figures: Vec<Figure>,
    before: &'a Side,
    after: &'a Side,
}

/// How a figure of a run is found, where the run is the unit.
type Find<'a> = &'a dyn Fn(&Record) -> Option<f64>;

/// A time that work takes, in seconds.
type Time = fn(&WorkFigures) -> Option<f64>;

/// A count of what became of work.
type CountOf = fn(&WorkFigures) -> u64;

impl<'a> Asking<'a> {
    fn name(&mut self, subject: &str, name: &'static str, unit: &'static str, kind: Kind) {
        let worse = if kind == Kind::Throughput { Worse::Lower } else { Worse::Higher };
        let outcomes = Vec::new();
        self.figures.push(Figure { subject: subject.to_owned(), name, unit, kind, worse, outcomes });
    }

    /// The two runs, where there is one a side.
    fn single(&self) -> Option<[&'a Record; 2]> {
        match (self.before.records.as_slice(), self.after.records.as_slice()) {
            ([before], [after]) => Some([before, after]),
            _ => None,
        }
    }

    fn op(&mut self, op: &str) {
        self.name(op, "throughput", "/s", Kind::Throughput);
        self.name(op, "errors", "%", Kind::Share);
        self.name(op, "denied", "%", Kind::Share);
        PERCENTILES.iter().for_each(|percentile| self.name(op, percentile.name, "ms", Kind::Time));
        let lanes = self.single().map(|records| OpLanes::of(records, op));
        match lanes {
            Some(Ok(lanes)) => lanes.ask(self.family),
            Some(Err(reason)) => self.op_values(op, Some(reason)),
            None => self.op_values(op, None),
        }
    }

    /// One figure a run: of several runs they are compared, of a single one they are only shown.
    fn op_values(&mut self, op: &str, reason: Option<Reason>) {
        self.values(Scale::Ratio, GRAIN, reason, &|record| throughput(record, op));
        self.share(op, |op| op.errors, reason);
        self.share(op, |op| op.denied, reason);
        for percentile in &PERCENTILES {
            let of = |record: &Record| (percentile.of)(op_figures(record, op)?, percentile.quantile);
            self.values(Scale::Ratio, GRAIN, reason, &of);
        }
    }

    fn share(&mut self, op: &str, events: fn(&OpFigures) -> u64, reason: Option<Reason>) {
        let percent = |op: &OpFigures| (op.count > 0).then(|| 100.0 * events(op) as f64 / op.count as f64);
        let values = self.sides(&|record| percent(op_figures(record, op)?));
        let records = || self.before.records.iter().chain(&self.after.records);
        let ops: Vec<&OpFigures> = records().filter_map(|record| op_figures(record, op)).collect();
        let answers = ops.iter().map(|op| op.count).sum::<u64>().max(1) as f64;
        let mean = ops.iter().map(|op| events(op)).sum::<u64>() as f64 / answers;
        if reason.is_some() && values.iter().flatten().flatten().all(|share| *share == 0.0) && !ops.is_empty() {
            let none = Count { events: 0, of: answers };
            return self.family.ask_counts(none, none);
        }
        // A share scatters at least as much as one of independent answers, of which a run has so many.
        let floor = 100.0 * 100.0 * mean * (1.0 - mean) * ops.len() as f64 / answers;
        self.ask(Scale::Difference, 0.0, floor, reason, &values);
    }

    fn work(&mut self, work: &str) {
        let figures = |record: &Record, find: &dyn Fn(&WorkFigures) -> Option<f64>| {
            record.run.results.work.get(work).and_then(find)
        };
        self.name(work, "finished", "/min", Kind::Throughput);
        let rates = self.single().map(|records| records.map(|record| record.times.finished_per_min(work)));
        match rates {
            Some([before, after]) if before.whole().is_some() && after.whole().is_some() => {
                let frame = self.frame(&before.top, &after.top);
                self.rate(frame, [&before, &after]);
            }
            _ => self.values(Scale::Ratio, GRAIN, None, &|record| figures(record, &|work| work.throughput_per_min)),
        }
        let times: [(&'static str, Time); 3] = [
            ("completion p50", |work| work.completion_s.p50),
            ("completion p99", |work| work.completion_s.p99),
            ("queue wait p99", |work| work.queue_wait_s.p99),
        ];
        for (name, time) in times {
            self.name(work, name, "s", Kind::Time);
            self.values(Scale::Ratio, GRAIN, None, &|record| figures(record, &time));
        }
        self.name(work, "drain", "s", Kind::Time);
        let drains = self.sides(&|record| figures(record, &|work| work.drain_s));
        let shortest = drains.iter().flatten().flatten().fold(f64::INFINITY, |least: f64, drain| least.min(*drain));
        self.ask(Scale::Ratio, (LOOK_S / shortest).clamp(GRAIN, 1.0), 0.0, None, &drains);
        let mut counts: Vec<(&str, CountOf)> = vec![("stuck", |work| work.stuck), ("failed", |work| work.failed)];
        let unknown = |record: &Record| record.run.results.work.get(work).is_some_and(|work| work.unknown > 0);
        if [self.before, self.after].iter().flat_map(|side| side.records.iter()).any(unknown) {
            counts.push(("unknown", |work| work.unknown));
        }
        for (name, count) in counts {
            self.name(work, name, "", Kind::Count);
            self.count(&|record| record.run.results.work.get(work).map(|work| (count(work), work.created)));
        }
    }

    fn server(&mut self) {
        self.name("server", "RSS peak", "MiB", Kind::Cost);
        let peak = |record: &Record| Some(record.run.results.server.process.rss_bytes?.peak as f64 / MIB);
        self.values(Scale::Ratio, GRAIN, None, &peak);
        self.name("server", "CPU per 1,000 good answers", "s", Kind::Cost);
        let rates = self.single().map(|records| records.map(|record| record.times.cpu_per_1000()));
        match rates {
            Some([before, after]) if before.whole().is_some() && after.whole().is_some() => {
                let frame = self.frame(&before.bottom, &after.bottom);
                self.rate(frame, [&before, &after]);
            }
            _ => self.values(Scale::Ratio, GRAIN, None, &cpu_per_1000),
        }
    }

    fn frame(&self, before: &[f64], after: &[f64]) -> Result<Frame, Reason> {
        let seeds = self.single().ok_or(Reason::OneRun)?.map(|record| seed(&record.run.id));
        Frame::of(before, after, seeds)
    }

    fn rate(&mut self, frame: Result<Frame, Reason>, [before, after]: [&Rate; 2]) {
        let Ok(frame) = frame else {
            return self.family.ask_nothing(before.whole(), after.whole(), Reason::TooShort);
        };
        let first = Ratio::new(&frame.before, &before.top, &before.bottom);
        let second = Ratio::new(&frame.after, &after.top, &after.bottom);
        self.family.ask_series(&frame, Scale::Ratio, [&first, &second], GRAIN);
    }

    fn count(&mut self, of: &dyn Fn(&Record) -> Option<(u64, u64)>) {
        if let Some([before, after]) = self.single() {
            let count = |record: &Record| of(record).map(|(events, all)| Count { events, of: all as f64 });
            return match (count(before), count(after)) {
                (Some(before), Some(after)) => self.family.ask_counts(before, after),
                _ => self.family.ask_nothing(None, None, Reason::Missing),
            };
        }
        let values = self.sides(&|record| of(record).map(|(events, _)| events as f64));
        let all = || values.iter().flatten().flatten();
        // Counts scatter at least as independent events do: their variance is their mean.
        let floor = all().sum::<f64>() / all().count().max(1) as f64;
        self.ask(Scale::Difference, 0.0, floor, None, &values);
    }

    fn values(&mut self, scale: Scale, grain: f64, reason: Option<Reason>, find: Find<'_>) {
        let values = self.sides(find);
        self.ask(scale, grain, 0.0, reason, &values);
    }

    /// The figure of every run of both sides.
    fn sides(&self, find: Find<'_>) -> [Option<Vec<f64>>; 2] {
        [self.before, self.after].map(|side| side.records.iter().map(find).collect())
    }

    fn ask(&mut self, scale: Scale, grain: f64, floor: f64, reason: Option<Reason>, values: &[Option<Vec<f64>>; 2]) {
        let [before, after] = values.each_ref().map(|side| side.as_deref().unwrap_or_default());
        match reason {
            Some(reason) => self.family.ask_nothing(before.first().copied(), after.first().copied(), reason),
            None => self.family.ask_runs(scale, [before, after], grain, floor),
        }
    }
}

/// Good answers a second, over the time in which answers came.
fn throughput(record: &Record, op: &str) -> Option<f64> {
    let times = &record.times;
    let (_, inner) = times.active(op)?;
    let seconds = inner.len() as f64 * times.unit_s as f64;
    (seconds > 0.0).then(|| inner.iter().map(|counts| counts.ok).sum::<f64>() / seconds)
}

fn cpu_per_1000(record: &Record) -> Option<f64> {
    let results = &record.run.results;
    let ok: u64 = results.journeys.values().map(|journey| journey.op.ok).sum();
    results.server.process.cpu_s.filter(|_| ok > 0).map(|cpu_s| cpu_s * 1000.0 / ok as f64)
}
