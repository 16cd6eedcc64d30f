//! Rebuilds a record from a run's directory: from `run.json` if it exists, else from what was written while the trial
//! ran: the start record, the histograms of every second, the timeline. A run whose lab was killed thus has a report
//! like any other; it has no verdict. Does not measure.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::Run;
use super::run_files::{StartRecord, for_each_histogram, for_each_timeline_row, read_json_file};
use crate::aggregate::{
    Aggregate, GeneratorFigures, LoadStepFigures, PhaseFigures, Results, Timeline, Total, WorkFigures, phase_figures,
};
use crate::default_gates::default_gates;
use crate::findings::{FindingsInput, find_bottlenecks};
use crate::format::{count, number};
use crate::limits::LOAD_STEPS_MAX;
use crate::measurement::WorkPoint;
use crate::measurement::timeline::{LoadStepRow, TimelineRow};
use crate::measurement::{
    Basis, HeldStats, Interval, OpId, OpKey, OpStats, OutcomeCounts, PauseImpact, PushStats, TimeHistogram,
};
use crate::record::hlog::{self, HistogramKind};
use crate::record::{LoadStepAccumulator, LoadStepSpec};
use crate::scenario::message::OTHER_PUSH;
use crate::scenario::{Document, Scenario};
use crate::verdict::{Verdict, evaluate_gates, evaluate_opening};

/// The contents of a run's directory.
#[derive(Debug)]
pub struct RecordedRun {
    pub run: Run,
    /// Its figures over time.
    pub timeline: Timeline,
}

/// Reads the directory of a run.
///
/// # Errors
/// It is no run directory, or a file in it cannot be read; the sentence says which.
pub fn load_or_rebuild(dir: &Path) -> Result<RecordedRun, String> {
    let mut rows = TimelineScan::default();
    rows.unread = for_each_timeline_row(dir, |row| rows.add_row(row))?;
    rows.timeline.close();
    let run = match dir.join("run.json").exists() {
        true => Run::read(&dir.join("run.json"))?,
        false => rebuild_run(dir, &rows)?,
    };
    Ok(RecordedRun { run, timeline: rows.timeline })
}

/// What a timeline contains besides figures over time.
#[derive(Default)]
struct TimelineScan {
    timeline: Timeline,
    /// Lines that could not be read.
    unread: u64,
    /// The totals of every operation of every load step.
    ops: BTreeMap<(u32, String), OutcomeCounts>,
    /// When the connections that load steps hold were due, and when all of them were open.
    openings: Vec<LoadStepRow>,
    /// What happened to them, by load step.
    held: BTreeMap<u32, HeldStats>,
    /// The last counts of every kind of work.
    work: BTreeMap<String, WorkPoint>,
    /// The end of the last recorded second of each load step; what came after it is unknown.
    recorded_s: BTreeMap<u32, f64>,
    end_s: f64,
    /// Arrivals that were over at the last sample, and when that was.
    done: OutcomeCounts,
    sampled_s: f64,
}

impl TimelineScan {
    fn add_row(&mut self, row: &TimelineRow) {
        self.timeline.add(row);
        match row {
            TimelineRow::Op(row) => {
                *self.ops.entry((row.load_step, row.op.clone())).or_default() += row.counts;
                let recorded_s = self.recorded_s.entry(row.load_step).or_default();
                *recorded_s = recorded_s.max(row.t_s + 1.0);
                self.end_s = self.end_s.max(row.t_s + 1.0);
            }
            TimelineRow::Work(row) => {
                self.work.insert(row.work.clone(), row.point);
            }
            TimelineRow::Sample(row) => {
                self.end_s = self.end_s.max(row.t_s);
                self.done = row.arrivals;
                self.sampled_s = row.t_s;
            }
            TimelineRow::Opening(row) if self.openings.len() < 2 * LOAD_STEPS_MAX as usize => {
                self.openings.push(row.clone());
            }
            TimelineRow::Held(row) => {
                // The times are in the histograms.
                self.held.entry(row.load_step).or_default().count_in_second(row.t_s as u64, row.counts);
                self.end_s = self.end_s.max(row.t_s + 1.0);
            }
            TimelineRow::Opening(_)
            | TimelineRow::LoadStep(_)
            | TimelineRow::Lag(_)
            | TimelineRow::Pause(_)
            | TimelineRow::Silence(_)
            | TimelineRow::Fault(_)
            | TimelineRow::Note(_)
            | TimelineRow::Unknown => {}
        }
    }
}

/// Counts arrivals that the last sample has and no written second has. A second is written some time after its end, so
/// the last ones before the lab was killed have no rows.
fn count_unwritten(rows: &TimelineScan, total: &mut Total) -> Option<String> {
    let OutcomeCounts { ok, denied, errors } = rows.done;
    let missing = rows.done.total().saturating_sub(total.arrivals);
    if missing == 0 {
        return None;
    }
    let written_s = rows.recorded_s.values().copied().fold(0.0, f64::max);
    (total.ok, total.denied, total.errors) = (total.ok.max(ok), total.denied.max(denied), total.errors.max(errors));
    total.arrivals += missing;
    Some(format!(
        "The last {} s before the lab was ended are known only as a sum: {} more arrivals were over by {} s; which they were \
         and how long they took was not written yet.",
        number(Some((rows.sampled_s - written_s).max(0.0))),
        count(missing),
        number(Some(rows.sampled_s)),
    ))
}

fn rebuild_run(dir: &Path, rows: &TimelineScan) -> Result<Run, String> {
    let start_path = dir.join("start.json");
    if !start_path.exists() {
        return Err(format!("{} is no directory of a run: it has neither run.json nor start.json", dir.display()));
    }
    let start: StartRecord = read_json_file(&start_path)?;
    let scenario = read_scenario(dir, &start)?;
    let names = OpNames::from_scenario(&scenario);
    let mut aggregate = Aggregate::new(&scenario.journeys).with_pushes(&scenario.pushes);
    let mut steps = begun_load_steps(rows, &scenario);
    for ((load_step, op), counts) in &rows.ops {
        add_interval(&mut aggregate, &mut steps, names.counts_interval(*load_step, op, *counts));
    }
    let held = rows.held.iter().map(|(load_step, held)| (*load_step, held.clone())).collect();
    steps.add_interval(&Interval { held, ..Interval::default() });
    for_each_histogram(dir, |entry| add_interval(&mut aggregate, &mut steps, names.histogram_interval(entry)))?;
    for span in &rows.timeline.load_steps {
        let end_s = span.end_s.or_else(|| rows.recorded_s.get(&span.number).copied()).unwrap_or(rows.end_s);
        steps.count_worker_done(span.number, 1, duration_from_s(end_s), 0, PauseImpact::default());
    }
    let load_steps = steps.figures_on(Basis::Measured);
    let mut results = results(&scenario, &aggregate, &load_steps, rows, steps.phase_figures(Basis::Measured));
    let unwritten = results.total.as_mut().and_then(|total| count_unwritten(rows, total));
    let mut gates = evaluate_gates(&scenario.gates, &results.to_json());
    gates.extend(evaluate_gates(&default_gates(&scenario), &results.to_json()));
    gates.extend(scenario.phases.iter().filter_map(|phase| {
        let held = results.phases.get(&phase.name)?.connections.as_ref()?;
        evaluate_opening(phase, held, "")
    }));
    let mut run = start.into_run(results, gates, Verdict::Interrupted);
    run.duration_s = rows.end_s;
    run.faults = rows.timeline.faults.clone();
    run.load_steps = load_steps;
    run.findings = find_bottlenecks(&FindingsInput {
        results: &run.results,
        load_steps: &run.load_steps,
        errors: &run.errors,
        timeline: &rows.timeline,
        metric_roles: &scenario.metric_roles,
        machine: &run.machine,
        limits: scenario.target.limits,
        process_exits: &[],
        workers: scenario.generator.workers.unwrap_or(1),
        denies_by_status: scenario.denies_by_status(),
    });
    run.notes.push(
        "The lab was ended before it could write its record: this one was made from what was recorded until then. \
         Messages of errors, arrivals never sent, bytes of what was pushed and processor times are not known."
            .to_owned(),
    );
    run.notes.extend(unwritten);
    run.notes.extend((rows.unread > 0).then(|| {
        format!("Lines of the timeline that could not be read, and that its figures are without: {}.", rows.unread)
    }));
    Ok(run)
}

/// The scenario as it was run, except for ports that were chosen then.
fn read_scenario(dir: &Path, start: &StartRecord) -> Result<Scenario, String> {
    let path = dir.join("scenario.toml");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let wrong = |error: &dyn std::fmt::Display| format!("{} cannot be read: {error}", path.display());
    let mut document = Document::parse(&text).map_err(|error| wrong(&error))?;
    for setting in &start.scenario.settings {
        document.set(setting).map_err(|error| wrong(&error))?;
    }
    for variable in document.free_port_variables() {
        document.set_port(&variable, 1);
    }
    for (name, text) in StartRecord::read_files(dir)? {
        document.add_file(&name, &text);
    }
    Scenario::read(&document).map_err(|error| wrong(&error))
}

/// The load steps that had begun, and those whose connections were still being opened.
fn begun_load_steps(rows: &TimelineScan, scenario: &Scenario) -> LoadStepAccumulator {
    let mut steps = LoadStepAccumulator::new(&scenario.journeys);
    for row in rows.openings.iter().filter(|row| !row.over) {
        steps.begin(load_step_spec((row.load_step, &row.phase, &row.label), row.t_s, scenario, true));
    }
    for row in rows.openings.iter().filter(|row| row.over) {
        steps.count_worker_open(row.load_step, 1, duration_from_s(row.t_s));
    }
    for span in &rows.timeline.load_steps {
        match steps.spec(span.number) {
            Some(_) => steps.start_requests_at(span.number, duration_from_s(span.start_s)),
            None => steps.begin(load_step_spec((span.number, &span.phase, &span.label), span.start_s, scenario, false)),
        }
    }
    steps
}

fn load_step_spec(
    (load_step, phase, label): (u32, &str, &str),
    start_s: f64,
    scenario: &Scenario,
    opens: bool,
) -> LoadStepSpec {
    let (name, label) = (phase.to_owned(), label.to_owned());
    let phase = scenario.phases.iter().find(|phase| phase.name == name);
    let held = phase.filter(|_| opens).and_then(|phase| phase.load_profile.held());
    let held = held.map(|(connections, opening)| (connections, opening.timeout));
    LoadStepSpec {
        number: load_step,
        phase: name,
        steps_of_phase: phase.map_or(0, |phase| phase.load_profile.load_step_count()),
        label,
        start: duration_from_s(start_s),
        clients: held.map(|(connections, _)| connections),
        journey: phase.map_or(0, |phase| phase.journey_index),
        opening: phase.and_then(|phase| phase.opening_journey),
        open_within: held.map(|(_, within)| within),
        resumes_phase: phase
            .and_then(|phase| phase.resumes_phase)
            .map(|position| scenario.phases[position].name.clone()),
        ..LoadStepSpec::default()
    }
}

fn duration_from_s(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

fn add_interval(aggregate: &mut Aggregate, steps: &mut LoadStepAccumulator, interval: Option<Interval>) {
    let Some(interval) = interval else { return };
    aggregate.add(&interval);
    steps.add_interval(&interval);
}

/// Operations and kinds of pushes, by name.
struct OpNames {
    ops: BTreeMap<String, OpId>,
    pushes: BTreeMap<String, usize>,
}

impl OpNames {
    fn from_scenario(scenario: &Scenario) -> Self {
        let mut names = BTreeMap::new();
        for (position, journey) in scenario.journeys.iter().enumerate() {
            names.insert(journey.name.clone(), OpId { journey: position, step: None });
            for (number, step) in journey.steps.iter().enumerate() {
                let name = format!("{}.steps.{}", journey.name, step.name);
                names.insert(name, OpId { journey: position, step: Some(number) });
            }
        }
        let pushes = scenario.pushes.iter().map(|push| push.name.as_str()).chain([OTHER_PUSH]);
        let pushes = (0..).zip(pushes).map(|(position, name)| (format!("push.{name}"), position)).collect();
        Self { ops: names, pushes }
    }

    /// The counts of rows of the timeline; the times are in the histograms.
    fn counts_interval(&self, load_step: u32, op: &str, counts: OutcomeCounts) -> Option<Interval> {
        if let Some(push) = self.pushes.get(op) {
            let pushed = PushStats { frames: counts.ok, seconds: Some((0, 0)), ..PushStats::default() };
            return Some(Interval { pushes: vec![(*push, pushed)], ..Interval::default() });
        }
        let stats = OpStats { counts, ..OpStats::default() };
        Some(Interval { ops: vec![(OpKey { load_step, op: *self.ops.get(op)? }, stats)], ..Interval::default() })
    }

    fn histogram_interval(&self, entry: hlog::Entry) -> Option<Interval> {
        let (load_step, times) = (entry.load_step, TimeHistogram::from(entry.histogram));
        if entry.figure == HistogramKind::Lag {
            return Some(Interval { lag: Some(times), ..Interval::default() });
        }
        if entry.figure == HistogramKind::Opening {
            let held = HeldStats { opening: times, ..HeldStats::default() };
            return Some(Interval { held: vec![(load_step, held)], ..Interval::default() });
        }
        if let Some(push) = self.pushes.get(&entry.op) {
            let seconds = Some((entry.second, entry.second));
            let pushed = PushStats { delay: times, seconds, ..PushStats::default() };
            return Some(Interval { pushes: vec![(*push, pushed)], ..Interval::default() });
        }
        let mut stats = OpStats::default();
        match entry.figure {
            HistogramKind::Latency => stats.latency = times,
            HistogramKind::Service => stats.service = times,
            HistogramKind::Waited => stats.long_polls.get_or_insert_default().waited = times,
            HistogramKind::Wake => stats.long_polls.get_or_insert_default().wake_delay = times,
            HistogramKind::Failed | HistogramKind::Lag | HistogramKind::Opening => stats.failed = times,
        }
        Some(Interval { ops: vec![(OpKey { load_step, op: *self.ops.get(&entry.op)? }, stats)], ..Interval::default() })
    }
}

fn results(
    scenario: &Scenario,
    aggregate: &Aggregate,
    load_steps: &[LoadStepFigures],
    rows: &TimelineScan,
    requested: BTreeMap<String, PhaseFigures>,
) -> Results {
    let work = scenario.work_specs.iter().filter_map(|work| {
        let point = rows.work.get(&work.name)?;
        let figures = WorkFigures {
            created: point.created(),
            finished: point.finished,
            failed: point.failed,
            stuck: point.stuck,
            unknown: point.unknown,
            waiting: point.waiting,
            running: point.running,
            ..WorkFigures::default()
        };
        Some((work.name.clone(), figures))
    });
    Results {
        total: Some(aggregate.total(Basis::Measured)),
        phases: phase_figures(scenario, load_steps, requested, |_| None),
        journeys: aggregate
            .journeys(&|journey| crate::aggregate::journey_active_s(scenario, load_steps, journey), Basis::Measured),
        work: work.collect(),
        observe: crate::aggregate::observer_figures(&rows.timeline),
        push: aggregate.pushes(Basis::Measured),
        generator: GeneratorFigures {
            unrecorded: rows.timeline.unrecorded.or_none(),
            ..aggregate.generator(scenario.generator.lag_p99_max)
        },
        ..Results::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;
    use crate::report::ScenarioRecord;

    const SCENARIO: &str = "format = 1\nname = \"t\"\nsummary = \"t\"\n[target]\nurl = \"http://127.0.0.1:1\"\n\
        [[phase]]\nname = \"p\"\narrivals = { batch = 1 }\nin_flight_max = 1\njourney = \"j\"\n\
        [[journey]]\nname = \"j\"\n[[journey.step]]\nrequest = \"GET /\"\n";

    /// What the notes of a run with this timeline say about lines that cannot be read.
    #[track_caller]
    fn check(name: &str, timeline: Option<&str>, expected: Option<&str>) {
        let dir = std::env::temp_dir().join(format!("lab-rebuild-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let start = StartRecord {
            format: Run::FORMAT,
            id: "t".to_owned(),
            program: String::new(),
            scenario: ScenarioRecord::default(),
            started_at: String::new(),
            machine: Machine::default(),
        };
        start.write(&dir, SCENARIO, &BTreeMap::new()).unwrap();
        timeline.map_or(Ok(()), |text| std::fs::write(dir.join("timeline.jsonl"), text)).unwrap();
        let rebuilt = load_or_rebuild(&dir);
        std::fs::remove_dir_all(&dir).unwrap();
        let notes = rebuilt.unwrap().run.notes;
        let found: Vec<&str> = notes.iter().map(String::as_str).filter(|note| note.starts_with("Lines of")).collect();
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn a_rebuilt_run_says_how_many_lines_of_its_timeline_could_not_be_read() {
        let note = "Lines of the timeline that could not be read, and that its figures are without: 1.";
        check("none", None, None);
        check("broken", Some("{broken\n"), Some(note));
        check("cut-off", Some("{broken"), None);
    }
}
