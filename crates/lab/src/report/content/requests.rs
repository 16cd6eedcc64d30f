//! The requests, and what the target pushed: how many, how they ended, how long they took, how late they came. Does not
//! evaluate the times.

use super::time_charts::TimeCharts;
use super::{ContentBlock, Section, Table, TableCell, statistics};
use crate::aggregate::{JourneyFigures, OpFigures, PushFigures, Statistics};
use crate::format::{number, sanitize};
use crate::report::Run;
use crate::report::chart::{ChartAxis, ChartPoint, Layer, LayerStyle, SeriesChart, Unit};

/// What the two times of a request are.
const TIMES_NOTE: &str = "Latency counts from the intended moment, service time from the moment of sending; both of successful \
                          responses only. A response that was waited for has neither: what counts is how late it came.";

pub(super) fn section(run: &Run, sheet: &TimeCharts<'_>) -> Section {
    let mut ops: Vec<(String, &OpFigures)> = Vec::new();
    for (name, journey) in &run.results.journeys {
        ops.push((name.clone(), &journey.op));
        ops.extend(journey.steps.iter().map(|(step, op)| (format!("- {step}"), op)));
    }
    if ops.is_empty() {
        return Section::new("requests", "Requests", []);
    }
    let note = ContentBlock::Text(TIMES_NOTE.to_owned());
    let blocks = [ContentBlock::Table(request_counts(run, &ops)), ContentBlock::Table(times(&ops)), note];
    let charts = sheet.run.results.journeys.iter().flat_map(|(name, journey)| journey_charts(sheet, name, journey));
    let load = ContentBlock::charts(load(sheet));
    Section::new("requests", "Requests", blocks.into_iter().chain(charts).chain(load))
}

fn request_counts(run: &Run, ops: &[(String, &OpFigures)]) -> Table {
    let row = |(name, op): &(String, &OpFigures)| {
        let not_sent = run.results.journeys.get(name).map_or(0, |journey| journey.not_sent);
        let counts = [op.count, op.ok, op.denied, op.errors, op.retries].map(TableCell::from);
        [TableCell::from(name.as_str())].into_iter().chain(counts).chain([TableCell::unless_zero(not_sent)]).collect()
    };
    let heading = ["journey", "count", "ok", "denied", "errors", "repeats", "not sent"];
    Table::new(1, &heading, ops.iter().map(row).collect()).without_empty_columns()
}

fn times(ops: &[(String, &OpFigures)]) -> Table {
    let rows = ops.iter().flat_map(|(name, op)| {
        let failed = (op.failed_ms.count > 0).then(|| statistics("· until denied or failed".to_owned(), &op.failed_ms));
        let good = match &op.waited_ms {
            None => [
                Some(statistics(format!("{name} latency"), &op.latency_ms)),
                Some(statistics("· service time".to_owned(), &op.service_ms)),
            ],
            Some(waited) => [
                Some(statistics(format!("{name} waited"), waited)),
                op.wake_ms.as_ref().map(|wake| statistics("· from what happened to its arrival".to_owned(), wake)),
            ],
        };
        good.into_iter().flatten().chain(failed)
    });
    Table::of_statistics(&["ms"], rows.collect(), Vec::new())
}

/// What a gap between the two lines means.
const WAIT_NOTE: &str = "Where latency leaves service time, requests waited in the lab because the target did not take \
                     them: the wait is the target's doing, and a caller would feel it.";

/// The same if the lab itself paused.
const WAIT_NOTE_PAUSED: &str = "Where latency leaves service time, requests waited in the lab: because the target did not take \
                            them, or because the lab itself had paused, as it did here.";

/// Steps of a journey with their own colour.
const STEPS_MAX: usize = 6;

fn journey_charts(
    sheet: &TimeCharts<'_>,
    name: &str,
    journey: &JourneyFigures,
) -> impl Iterator<Item = ContentBlock> + use<> {
    let heatmap = sheet.heatmap(name).map(ContentBlock::Heatmap);
    let over_time = [latency(sheet, name), throughput(sheet, name)].into_iter().flatten();
    let further = [spread(name, journey), steps(sheet, name, journey), wake_delays(sheet, name, journey)];
    ContentBlock::charts(over_time).chain(heatmap).chain(ContentBlock::charts(further.into_iter().flatten()))
}

fn latency(sheet: &TimeCharts<'_>, name: &str) -> Option<SeriesChart> {
    let line = |figure: &str, label: &str, colour: usize, style: LayerStyle| {
        sheet.line(&format!("op.{name}.{figure}"), label, colour, style)
    };
    let lines = [
        line("latency_p99_ms", "latency p99", 0, LayerStyle::Line),
        line("service_p99_ms", "service time p99", 1, LayerStyle::Line),
        line("latency_p50_ms", "latency p50", 0, LayerStyle::Dashed),
        line("service_p50_ms", "service time p50", 1, LayerStyle::Dashed),
    ];
    let are_apart = apart(lines[0].as_ref(), lines[1].as_ref()) || apart(lines[2].as_ref(), lines[3].as_ref());
    let caption = match sheet.run.results.generator.pauses {
        _ if !are_apart => "",
        Some(_) => WAIT_NOTE_PAUSED,
        None => WAIT_NOTE,
    };
    let gates = ["latency_ms", "service_ms"].map(|times| sheet.gate_threshold(&format!("{name}.{times}.p99")));
    let chart = sheet.chart(&format!("{name}: latency and service time"), Unit::number("ms"), lines)?;
    Some(SeriesChart { caption: caption.to_owned(), ..chart.with_log_y().with_thresholds(gates.into_iter().flatten()) })
}

/// Whether latency differs visibly from service time anywhere.
fn apart(latency: Option<&Layer>, service: Option<&Layer>) -> bool {
    let Some((latency, service)) = latency.zip(service) else { return false };
    latency.points.iter().zip(&service.points).any(|(latency, service)| latency.high > 1.25 * service.high + 1.0)
}

fn throughput(sheet: &TimeCharts<'_>, name: &str) -> Option<SeriesChart> {
    let line = |label: &str, colour: usize| {
        let layer = sheet.line(&format!("op.{name}.{label}_per_s"), label, colour, LayerStyle::Line)?;
        // What never happened needs no line.
        let happened = label == "ok" || layer.points.iter().any(|dot| dot.high > 0.0);
        happened.then_some(layer)
    };
    let lines = [line("ok", 2), line("denied", 4), line("errors", 1)];
    sheet.chart(&format!("{name}: throughput"), Unit::number("a second"), lines)
}

/// Latency by percentile over the whole run, on an axis on which each nine takes the same room.
fn spread(name: &str, journey: &JourneyFigures) -> Option<SeriesChart> {
    let layer = |label: &str, figures: &Statistics, colour: usize| {
        let Statistics { p50, p90, p95, p99, p999, p9999, p99999, .. } = *figures;
        let at = [2.0, 10.0, 20.0, 100.0, 1e3, 1e4, 1e5].into_iter().zip([p50, p90, p95, p99, p999, p9999, p99999]);
        let points = at.filter_map(|(one_of, value)| Some(ChartPoint::new(one_of, value?))).collect();
        Layer::new(label, colour, LayerStyle::Line, points)
    };
    let chart = SeriesChart {
        title: format!("{}: latency by percentile", sanitize(name)),
        x: ChartAxis { unit: Unit::PercentileRank, log: true, reaches_at_least: 0.0 },
        y: ChartAxis { unit: Unit::number("ms"), log: true, reaches_at_least: 0.0 },
        layers: vec![layer("latency", &journey.op.latency_ms, 0), layer("service time", &journey.op.service_ms, 1)],
        ..SeriesChart::default()
    };
    chart.non_empty().filter(|chart| chart.layers.iter().any(|layer| layer.points.len() > 2))
}

fn steps(sheet: &TimeCharts<'_>, name: &str, journey: &JourneyFigures) -> Option<SeriesChart> {
    let line = |(i, step): (usize, &String)| {
        sheet.line(&format!("op.{name}.steps.{step}.latency_p99_ms"), step, i, LayerStyle::Line)
    };
    let lines = slowest(journey).into_iter().enumerate().map(line);
    let chart = sheet.chart(&format!("{name}: latency p99 by step"), Unit::number("ms"), lines)?.with_log_y();
    let all = journey.steps.len();
    let is_cut = all > STEPS_MAX;
    let caption = is_cut.then(|| format!("The {STEPS_MAX} slowest of {all} steps, in the order of play."));
    Some(SeriesChart { caption: caption.unwrap_or_default(), ..chart })
}

/// The steps with the highest latency, as many as there are colours, in the order of the journey.
fn slowest(journey: &JourneyFigures) -> Vec<&String> {
    let p99 = |position: &usize| journey.steps[*position].latency_ms.p99_or_max().unwrap_or(f64::NEG_INFINITY);
    let mut places: Vec<usize> = (0..journey.steps.len()).collect();
    places.sort_by(|a, b| p99(b).total_cmp(&p99(a)));
    places.truncate(STEPS_MAX);
    places.sort_unstable();
    places.into_iter().filter_map(|position| journey.steps.get_index(position)).map(|(step, _)| step).collect()
}

/// How late the responses of long polls arrived.
fn wake_delays(sheet: &TimeCharts<'_>, name: &str, journey: &JourneyFigures) -> Option<SeriesChart> {
    let waiting = || journey.steps.iter().filter(|(_, step)| step.wake_ms.is_some()).map(|(step, _)| step);
    let lines = waiting().take(STEPS_MAX).enumerate();
    let lines = lines.flat_map(|(i, step)| sheet.wake_lines(&format!("op.{name}.steps.{step}"), step, i));
    let chart = sheet.chart(&format!("{name}: from what happened to its arrival"), Unit::number("ms"), lines)?;
    let gates = waiting().filter_map(|step| sheet.gate_threshold(&format!("{name}.steps.{step}.wake_ms.p99")));
    Some(chart.with_log_y().with_thresholds(gates))
}

fn load(sheet: &TimeCharts<'_>) -> Option<SeriesChart> {
    let lines = [
        sheet.line("load.in_flight", "in flight", 0, LayerStyle::Line),
        sheet.line("load.queued", "due, waiting in the lab", 1, LayerStyle::Line),
        sheet.line("load.connections", "connections", 3, LayerStyle::Dashed),
        sheet.line("load.waiting", "answers waited for", 4, LayerStyle::Line),
    ];
    sheet.chart("Load", Unit::count("requests, connections"), lines)
}

/// What a delay is.
const DELAY_NOTE: &str = "Delay counts from the event that a frame reports to its arrival, by the clock of the machine that both run on. \
     Where connections are held, it is taken from the moment on at which all of them are open.";

pub(super) fn push_section(run: &Run, sheet: &TimeCharts<'_>) -> Section {
    let pushes = &run.results.push;
    let count = |(name, push): (&String, &PushFigures)| {
        let rates = [push.frames_per_s, push.bytes_per_s].map(|rate| TableCell::from(number(rate)));
        [TableCell::from(name.as_str()), push.frames.into(), push.bytes.into()].into_iter().chain(rates).collect()
    };
    let heading = ["frames", "count", "bytes", "count/s", "bytes/s"];
    let counts = Table::new(1, &heading, pushes.iter().map(count).collect());
    let delayed = pushes.iter().filter(|(_, push)| push.delay_ms.count > 0);
    let delays: Vec<_> = delayed.map(|(name, push)| statistics(format!("{name} delay"), &push.delay_ms)).collect();
    let notes = if delays.is_empty() { String::new() } else { DELAY_NOTE.to_owned() };
    let delays = Table::of_statistics(&["ms"], delays, Vec::new());
    let blocks = [ContentBlock::Table(counts), ContentBlock::Table(delays), ContentBlock::Text(notes)];
    Section::new("pushes", "Pushes", blocks.into_iter().chain(ContentBlock::charts(push_charts(sheet))))
}

/// Kinds with their own colour; the table has all.
const KINDS_MAX: usize = 6;

fn push_charts(sheet: &TimeCharts<'_>) -> Vec<SeriesChart> {
    let kinds = || sheet.run.results.push.iter().take(KINDS_MAX).enumerate();
    let frames =
        kinds().map(|(i, (name, _))| sheet.line(&format!("op.push.{name}.ok_per_s"), name, i, LayerStyle::Line));
    let delayed = || kinds().filter(|(_, (_, push))| push.delay_ms.count > 0);
    let delays = delayed().flat_map(|(i, (name, _))| sheet.wake_lines(&format!("op.push.{name}"), name, i));
    let gates = delayed().filter_map(|(_, (name, _))| sheet.gate_threshold(&format!("push.{name}.delay_ms.p99")));
    let title = "From an event to the frame that reports it";
    let delays = sheet.chart(title, Unit::number("ms"), delays);
    let delays = delays.map(|chart| chart.with_log_y().with_thresholds(gates));
    [sheet.chart("Frames pushed", Unit::number("a second"), frames), delays].into_iter().flatten().collect()
}
