//! A record made again from a directory: from `run.json` where it stands, else from what was written while the trial
//! ran: its beginning, the histograms of every second, the timeline. A run whose lab was killed has a report like any
//! other; it has no verdict of its own. Refuses to measure.

use std::collections::BTreeMap;
use std::path::Path;

use super::start::Start;
use super::{Run, read_json_file};
use crate::fold::{Fold, PartFigures, Results, Timeline, WorkFigures, read_timeline};
use crate::record::hlog::{self, Figure};
use crate::record::timeline::{OpRow, PartRow};
use crate::record::{Book, Cell, Interval, Op, PartSpec};
use crate::scenario::{Document, Journey, Scenario};
use crate::verdict::{Verdict, judge_gates};

/// What stands in a directory of a run.
#[derive(Debug)]
pub struct Recorded {
    /// The record.
    pub run: Run,
    /// Its figures over time.
    pub timeline: Timeline,
}

/// Reads a directory of a run.
///
/// # Errors
/// It is none, or a file in it cannot be read; the sentence says which.
pub fn recorded(dir: &Path) -> Result<Recorded, String> {
    let timeline_path = dir.join("timeline.jsonl");
    let timeline = match timeline_path.exists() {
        true => read_timeline(&timeline_path).map_err(|error| format!("{}: {error}", timeline_path.display()))?,
        false => Timeline::default(),
    };
    let run = match dir.join("run.json").exists() {
        true => read_json_file(&dir.join("run.json"))?,
        false => made_again(dir, &timeline)?,
    };
    Ok(Recorded { run, timeline })
}

fn made_again(dir: &Path, timeline: &Timeline) -> Result<Run, String> {
    let start_path = dir.join("start.json");
    if !start_path.exists() {
        return Err(format!("{} is no directory of a run: it has neither run.json nor start.json", dir.display()));
    }
    let start: Start = read_json_file(&start_path)?;
    let scenario = scenario_of(dir, &start)?;
    let names = Names::of(&scenario.journeys);
    let mut fold = Fold::new(&scenario.journeys);
    let mut book = begun(&timeline.parts);
    for row in &timeline.ops_total {
        take(&mut fold, &mut book, names.counts(row));
    }
    let hlog_path = dir.join("intervals.hlog");
    if hlog_path.exists() {
        let entries = hlog::read(&hlog_path).map_err(|error| format!("{}: {error}", hlog_path.display()))?;
        for entry in entries {
            let entry = entry.map_err(|error| format!("{}: {error}", hlog_path.display()))?;
            take(&mut fold, &mut book, names.times(entry));
        }
    }
    let parts = book.all();
    let results = results(&scenario, &fold, &parts, timeline);
    let gates = judge_gates(&scenario.gates, &results.to_json());
    let mut run = start.into_run(results, gates, Verdict::Interrupted);
    run.duration_s = timeline.end_s();
    run.faults = timeline.faults.clone();
    run.parts = parts;
    run.notes.push(
        "The lab was ended before it could write its record: this one was made from what was recorded until then. \
         Messages of errors, arrivals never sent and processor times are not known."
            .to_owned(),
    );
    Ok(run)
}

/// The scenario as it was run, but for ports that were chosen then.
fn scenario_of(dir: &Path, start: &Start) -> Result<Scenario, String> {
    let path = dir.join("scenario.toml");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let wrong = |mistakes: &dyn std::fmt::Display| format!("{} cannot be read: {mistakes}", path.display());
    let mut document = Document::parse(&text).map_err(|mistakes| wrong(&mistakes))?;
    for setting in &start.scenario.settings {
        document.set(setting).map_err(|mistakes| wrong(&mistakes))?;
    }
    for variable in document.free_ports() {
        document.set_port(&variable, 1);
    }
    Scenario::read(&document).map_err(|mistakes| wrong(&mistakes))
}

fn begun(parts: &[PartRow]) -> Book {
    let mut book = Book::default();
    for row in parts.iter().filter(|row| !row.over) {
        book.begin(PartSpec {
            part: row.part,
            phase: row.phase.clone(),
            label: row.label.clone(),
            start: std::time::Duration::from_secs_f64(row.t_s.max(0.0)),
            ..PartSpec::default()
        });
    }
    for row in parts.iter().filter(|row| row.over) {
        book.ended(row.part, std::time::Duration::from_secs_f64(row.t_s.max(0.0)));
    }
    book
}

fn take(fold: &mut Fold, book: &mut Book, interval: Option<Interval>) {
    let Some(interval) = interval else { return };
    fold.add(&interval);
    interval.cells.iter().filter(|cell| cell.op.step.is_none()).for_each(|cell| book.add(cell));
}

/// Operations by their names.
struct Names(BTreeMap<String, Op>);

impl Names {
    fn of(journeys: &[Journey]) -> Self {
        let mut names = BTreeMap::new();
        for (place, journey) in journeys.iter().enumerate() {
            names.insert(journey.name.clone(), Op { journey: place, step: None });
            for (number, step) in journey.steps.iter().enumerate() {
                let name = format!("{}.steps.{}", journey.name, step.name);
                names.insert(name, Op { journey: place, step: Some(number) });
            }
        }
        Self(names)
    }

    /// What a row of the timeline counts; the times stand in the histograms.
    fn counts(&self, row: &OpRow) -> Option<Interval> {
        let cell = Cell { ok: row.ok, denied: row.denied, errors: row.errors, ..Cell::new(row.part, *self.0.get(&row.op)?) };
        Some(Interval { cells: vec![cell], ..Interval::default() })
    }

    fn times(&self, entry: hlog::Entry) -> Option<Interval> {
        if entry.figure == Figure::Lag {
            return Some(Interval { lag_us: Some(entry.histogram), ..Interval::default() });
        }
        let mut cell = Cell::new(entry.part, *self.0.get(&entry.op)?);
        match entry.figure {
            Figure::Latency => cell.latency_us = entry.histogram,
            Figure::Service => cell.service_us = entry.histogram,
            Figure::Failed | Figure::Lag => cell.failed_us = entry.histogram,
        }
        Some(Interval { cells: vec![cell], ..Interval::default() })
    }
}

fn results(scenario: &Scenario, fold: &Fold, parts: &[PartFigures], timeline: &Timeline) -> Results {
    let work = scenario.works.iter().filter_map(|work| {
        let point = timeline.work.get(&work.name)?;
        let created = point.waiting + point.running + point.finished + point.failed + point.stuck;
        let figures = WorkFigures {
            created,
            finished: point.finished,
            failed: point.failed,
            stuck: point.stuck,
            waiting: point.waiting,
            running: point.running,
            ..WorkFigures::default()
        };
        Some((work.name.clone(), figures))
    });
    Results {
        journeys: fold.journeys(crate::fold::active_s(parts)),
        work: work.collect(),
        observe: timeline.observed(),
        generator: fold.generator(scenario.generator.lag_p99_max),
        ..Results::default()
    }
}
