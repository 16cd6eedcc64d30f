//! `report.md`: the record for people, in 80 columns. The two numbers first, then the gates, then what they rest
//! on. Pure. Says nothing that was not measured.

use std::fmt::Write as _;

use super::Run;
use super::headline::headline;
use super::words::{count, mebibytes, number, table, wrapped};
use crate::fold::{Figures, OpFigures, Point, WorkFigures};
use crate::verdict::{Judged, Verdict};

/// Columns that a line may take.
const WIDTH: usize = 80;

/// Rows of the drain curve.
const CURVE_ROWS_MAX: usize = 20;

/// Characters of the bar beside the drain curve.
const BAR: u64 = 20;

/// Characters of a cell beyond which its text moves below the table.
const CELL_MAX: usize = 18;

/// The report of a run.
#[must_use]
pub fn markdown(run: &Run) -> String {
    let headline = headline(run);
    let top = [
        format!("# {}: {}\n", run.scenario.name, run.verdict.word()),
        format!("**{}**\n", headline.took),
        format!("**{}**\n", headline.lasted),
        wrapped(&headline.stands, WIDTH, "") + ".\n",
        wrapped(&run.scenario.summary, WIDTH, "") + ".\n",
    ];
    let parts = [gates(run), hints(run), journeys(run), work(run), errors(run), processes(run), conditions(run)];
    let mut text = top.join("\n");
    for part in parts.iter().filter(|part| !part.is_empty()) {
        text.push('\n');
        text.push_str(part);
    }
    text
}

fn section(title: &str, body: &str) -> String {
    if body.is_empty() { String::new() } else { format!("## {title}\n\n{body}") }
}

fn gates(run: &Run) -> String {
    if run.gates.is_empty() {
        return String::new();
    }
    let mut below = String::new();
    let rows: Vec<Vec<String>> = run.gates.iter().map(|gate| gate_row(gate, run.verdict, &mut below)).collect();
    let mut body = table(4, &["", "gate", "limit", "value"], &rows);
    if !below.is_empty() {
        let _ = write!(body, "\n{below}");
    }
    section("Gates", &body)
}

fn gate_row(gate: &Judged, verdict: Verdict, below: &mut String) -> Vec<String> {
    let word = match (gate.ok, verdict) {
        (true, _) => "ok",
        (false, Verdict::Void) => "void",
        (false, _) => "FAIL",
    };
    let sign = gate.limit.split(|c: char| !"=!<>".contains(c)).next().unwrap_or_default();
    let limit = match gate.limit_value {
        Some(value) => format!("{sign} {}", number(Some(value))),
        None => gate.limit.clone(),
    };
    let value = match (&gate.value, gate.value.as_f64()) {
        (_, Some(value)) => number(Some(value)),
        (serde_json::Value::String(text), None) => text.clone(),
        (_, None) => "no figure".to_owned(),
    };
    let mut cell = |text: String, said: &str| {
        if text.chars().count() <= CELL_MAX {
            return text;
        }
        let _ = writeln!(below, "{}", wrapped(&format!("- {} {said}: {text}", gate.name), WIDTH, "  "));
        "see below".to_owned()
    };
    let (limit, value) = (cell(limit, "demands"), cell(value, "found"));
    if gate.limit_value.is_some() {
        let _ = writeln!(below, "{}", wrapped(&format!("- {} {}", gate.name, gate.limit), WIDTH, "  "));
    }
    vec![word.to_owned(), gate.name.clone(), limit, value]
}

/// What the figures themselves say about the bottleneck; nothing when they say nothing.
fn hints(run: &Run) -> String {
    let mut hints = Vec::new();
    let generator = &run.results.generator;
    if generator.schedule_lag_ms.p99.is_some_and(|lag| lag > generator.lag_p99_max_ms) {
        hints.push(format!(
            "The lab fell behind its own plan: schedule lag p99 {} ms, bound {} ms. Gates that failed are void.",
            number(generator.schedule_lag_ms.p99),
            number(Some(generator.lag_p99_max_ms)),
        ));
    }
    if generator.capped > 0 {
        hints.push(format!(
            "{} of {} arrivals waited in the lab for a free place in flight; their latency includes the wait, their \
             service time does not.",
            count(generator.capped),
            count(generator.arrivals),
        ));
    }
    for (name, journey) in &run.results.journeys {
        if journey.op.retries > 0 {
            hints.push(format!("{name}: {} repeats after tries that got no answer.", count(journey.op.retries)));
        }
    }
    for (name, work) in &run.results.work {
        if let (Some(wait), Some(run_s)) = (work.queue_wait_s.p99, work.run_s.p99)
            && wait > run_s
        {
            let (wait, run_s) = (number(Some(wait)), number(Some(run_s)));
            hints.push(format!("{name}: at p99 it waited {wait} s in the queue, longer than it ran ({run_s} s)."));
        }
    }
    let lines: String = hints.iter().map(|hint| wrapped(&format!("- {hint}"), WIDTH, "  ") + "\n").collect();
    section("What the figures say", &lines)
}

fn journeys(run: &Run) -> String {
    let mut ops: Vec<(String, &OpFigures)> = Vec::new();
    for (name, journey) in &run.results.journeys {
        ops.push((name.clone(), &journey.op));
        ops.extend(journey.steps.iter().map(|(step, op)| (format!("- {step}"), op)));
    }
    let counts: Vec<Vec<String>> = ops
        .iter()
        .map(|(name, op)| {
            [name.clone()].into_iter().chain([op.count, op.ok, op.denied, op.errors, op.retries].map(count)).collect()
        })
        .collect();
    let times: Vec<Vec<String>> = ops
        .iter()
        .flat_map(|(name, op)| {
            [statistics(&format!("{name} latency"), &op.latency_ms), statistics("  service time", &op.service_ms)]
        })
        .collect();
    let body = [
        table(1, &["journey", "count", "ok", "denied", "errors", "repeats"], &counts),
        table(1, &["ms", "avg", "p50", "p95", "p99", "max"], &times),
        "Latency counts from the intended moment, service time from the moment of\nsending; both of good answers only.\n".to_owned(),
    ];
    section("Requests", &body.join("\n"))
}

fn statistics(name: &str, figures: &Figures) -> Vec<String> {
    let values = [figures.avg, figures.p50, figures.p95, figures.p99, figures.max];
    [name.to_owned()].into_iter().chain(values.map(number)).collect()
}

fn work(run: &Run) -> String {
    let parts: Vec<String> = run.results.work.iter().map(|(name, work)| work_part(run, name, work)).collect();
    parts.join("\n")
}

fn work_part(run: &Run, name: &str, work: &WorkFigures) -> String {
    let counts = [work.created, work.finished, work.failed, work.stuck, work.waiting, work.running].map(count).to_vec();
    let mut rows = vec![
        statistics("completion, s", &work.completion_s),
        statistics("queue wait, s", &work.queue_wait_s),
        statistics("run, s", &work.run_s),
    ];
    rows.extend(work.derived.iter().chain(&work.figures).map(|(name, figures)| statistics(name, figures)));
    let mut facts = vec![
        format!("throughput {} a minute", number(work.throughput_per_min)),
        match work.drain_s {
            Some(drain_s) => format!("drained {} s after the last arrival was due", number(Some(drain_s))),
            None => "not drained when the trial ended".to_owned(),
        },
    ];
    facts.extend(work.progress_per_s.iter().map(|(name, rate)| format!("{name} {} a second", number(Some(*rate)))));
    facts.extend(
        work.figures.iter().filter_map(|(name, figures)| Some(format!("{name} {} in all", number(Some(figures.sum?))))),
    );
    facts.extend(cpu_facts(run, work));
    if work.duplicates > 0 {
        facts.push(format!("{} ids were given out twice", count(work.duplicates)));
    }
    let lines: String = facts.iter().map(|fact| format!("- {fact}\n")).collect();
    let body = [
        table(0, &["created", "finished", "failed", "stuck", "waiting", "running"], &[counts]),
        table(1, &["", "avg", "p50", "p95", "p99", "max"], &rows),
        lines,
        curve(&work.drain_curve),
    ];
    section(&format!("Work: {name}"), &body.join("\n"))
}

/// What a finished piece, and a unit of its progress, cost the target's processor.
fn cpu_facts(run: &Run, work: &WorkFigures) -> Vec<String> {
    let Some(cpu_s) = run.results.server.process.cpu_s.filter(|_| work.finished > 0) else { return Vec::new() };
    let mut facts =
        vec![format!("target's CPU {} ms per finished piece", number(Some(cpu_s * 1000.0 / work.finished as f64)))];
    for name in work.progress_per_s.keys() {
        if let Some(sum) = work.figures.get(name).and_then(|figures| figures.sum).filter(|sum| *sum > 0.0) {
            facts.push(format!("target's CPU {} ms per unit of {name}", number(Some(cpu_s * 1000.0 / sum))));
        }
    }
    facts
}

fn curve(points: &[Point]) -> String {
    let step = points.len().div_ceil(CURVE_ROWS_MAX).max(1);
    let last = points.len().saturating_sub(1);
    // Counted from the end, so that the last point always stands there.
    let shown = points.iter().enumerate().filter(|(i, _)| (last - i).is_multiple_of(step));
    let rows: Vec<Vec<String>> = shown
        .map(|(_, point)| {
            let Point { t_s, waiting, running, finished, failed, stuck } = *point;
            let all = waiting + running + finished + failed + stuck;
            let bar = (finished * BAR).checked_div(all).unwrap_or(0) as usize;
            let counts = [waiting, running, finished, failed, stuck].map(count);
            ["#".repeat(bar), format!("{t_s:.1}")].into_iter().chain(counts).collect()
        })
        .collect();
    table(1, &["finished", "t, s", "waiting", "running", "finished", "failed", "stuck"], &rows)
}

fn errors(run: &Run) -> String {
    let line = |group: &crate::fold::ErrorGroup| {
        let step = group.step.as_ref().map_or_else(String::new, |step| format!(" {step}"));
        let text = format!("- {}{step}: {} x {}: {}", group.journey, count(group.count), group.kind, group.sample);
        wrapped(&text, WIDTH, "  ") + "\n"
    };
    section("Errors", &run.errors.iter().map(line).collect::<String>())
}

fn processes(run: &Run) -> String {
    let results = &run.results;
    let generator =
        crate::fold::ProcessFigures { rss_bytes: results.generator.rss_bytes, cpu_s: results.generator.cpu_s };
    let named = [("server", &results.server.process), ("lab", &generator)];
    let others = results.processes.iter().map(|(name, process)| (name.as_str(), process));
    let rows: Vec<Vec<String>> = named
        .into_iter()
        .chain(others)
        .filter_map(|(name, process)| {
            let rss = process.rss_bytes?;
            let memory = [rss.first, rss.peak, rss.last].map(mebibytes);
            Some([name.to_owned()].into_iter().chain(memory).chain([number(process.cpu_s)]).collect())
        })
        .collect();
    match rows.as_slice() {
        [] => String::new(),
        rows => section("Processes", &table(1, &["process", "RSS first", "RSS peak", "RSS last", "CPU s"], rows)),
    }
}

fn conditions(run: &Run) -> String {
    let (machine, scenario) = (&run.machine, &run.scenario);
    let settings = if scenario.settings.is_empty() { "none".to_owned() } else { scenario.settings.join(" ") };
    let lag = &run.results.generator.schedule_lag_ms;
    let mut facts = vec![
        format!("run {}, started {}, {} s", run.id, run.started_at, number(Some(run.duration_s))),
        format!("target {}, seed {}, settings: {settings}", scenario.target, scenario.seed),
        format!("scenario {}", scenario.hash),
        format!("schedule lag of the lab: p99 {} ms, max {} ms", number(lag.p99), number(lag.max)),
        format!(
            "{} cores, {}, {}, Linux {}, fsync p50 {} ms",
            machine.cores.map_or_else(|| "?".to_owned(), |cores| cores.to_string()),
            machine.cpu_model.as_deref().unwrap_or("unknown processor"),
            machine.memory_bytes.map_or_else(|| "unknown memory".to_owned(), mebibytes),
            machine.kernel.as_deref().unwrap_or("?"),
            number(machine.fsync_ms_p50),
        ),
    ];
    facts.extend(run.notes.iter().cloned());
    let lines: String = facts.iter().map(|fact| wrapped(&format!("- {fact}"), WIDTH, "  ") + "\n").collect();
    section("Conditions", &lines)
}
