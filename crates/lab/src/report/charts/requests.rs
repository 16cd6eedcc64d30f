//! Charts of the requests: latency from the intended moment against service time, throughput, load, the distribution of
//! latency, how every batch ended.

use super::{SeriesByName, TimeCharts, gate_threshold, into_chart};
use crate::aggregate::{JourneyFigures, LoadStepFigures, Statistics};
use crate::format::sanitize;
use crate::limits::REPORT_ROWS_MAX;
use crate::report::Run;
use crate::report::svg::{BarChart, BarGroup, Chart, ChartAxis, ChartPoint, Layer, LayerStyle, SeriesChart, Unit};

/// What a gap between the two lines means.
const WAIT_NOTE: &str = "Where latency leaves service time, requests waited in the lab because the target did not take \
                     them: the wait is the target's doing, and a caller would feel it.";

/// The same if the lab itself paused.
const WAIT_NOTE_PAUSED: &str = "Where latency leaves service time, requests waited in the lab: because the target did not take \
                            them, or because the lab itself had paused, as it did here.";

/// Steps of a journey with their own colour.
const STEPS_MAX: usize = 6;

pub(in crate::report) fn charts(run: &Run, series: &SeriesByName) -> Vec<Chart> {
    let sheet = TimeCharts::new(run, series);
    let mut charts = Vec::new();
    for (name, journey) in &run.results.journeys {
        charts.extend(into_chart(latency(run, &sheet, name)));
        charts.extend(into_chart(throughput(&sheet, name)));
        charts.extend(into_chart(spread(name, journey)));
        charts.extend(into_chart(steps(&sheet, name, journey)));
        charts.extend(into_chart(wake_delays(run, &sheet, name, journey)));
    }
    charts.extend(into_chart(load(&sheet)));
    charts
}

fn latency(run: &Run, sheet: &TimeCharts<'_>, name: &str) -> Option<SeriesChart> {
    let line = |figure: &str, label: &str, colour: usize, form: LayerStyle| {
        sheet.line(&format!("op.{name}.{figure}"), label, colour, form)
    };
    let lines = [
        line("latency_p99_ms", "latency p99", 0, LayerStyle::Line),
        line("service_p99_ms", "service time p99", 1, LayerStyle::Line),
        line("latency_p50_ms", "latency p50", 0, LayerStyle::Dashed),
        line("service_p50_ms", "service time p50", 1, LayerStyle::Dashed),
    ];
    let are_apart = apart(lines[0].as_ref(), lines[1].as_ref()) || apart(lines[2].as_ref(), lines[3].as_ref());
    let title = format!("{name}: latency and service time");
    let mut curves = sheet.chart(&title, Unit::number("ms"), lines.into_iter().flatten().collect())?;
    curves.y.log = true;
    if are_apart {
        curves.caption = if run.results.generator.pauses.is_some() { WAIT_NOTE_PAUSED } else { WAIT_NOTE }.to_owned();
    }
    curves.thresholds.extend(gate_threshold(run, &format!("{name}.latency_ms.p99")));
    curves.thresholds.extend(gate_threshold(run, &format!("{name}.service_ms.p99")));
    Some(curves)
}

/// Whether latency differs visibly from service time anywhere.
fn apart(latency: Option<&Layer>, service: Option<&Layer>) -> bool {
    let Some((latency, service)) = latency.zip(service) else { return false };
    latency.points.iter().zip(&service.points).any(|(latency, service)| latency.high > 1.25 * service.high + 1.0)
}

fn throughput(sheet: &TimeCharts<'_>, name: &str) -> Option<SeriesChart> {
    let line = |figure: &str, label: &str, colour: usize| {
        let layer = sheet.line(&format!("op.{name}.{figure}"), label, colour, LayerStyle::Line)?;
        // What never happened needs no line.
        let happened = colour == 2 || layer.points.iter().any(|dot| dot.high > 0.0);
        happened.then_some(layer)
    };
    let lines = [line("ok_per_s", "ok", 2), line("denied_per_s", "denied", 4), line("errors_per_s", "errors", 1)];
    let lines = lines.into_iter().flatten().collect();
    sheet.chart(&format!("{name}: throughput"), Unit::number("a second"), lines)
}

/// Latency by percentile over the whole run, on an axis on which each nine takes the same room.
fn spread(name: &str, journey: &JourneyFigures) -> Option<SeriesChart> {
    let layer = |label: &str, figures: &Statistics, colour: usize| {
        let at = [
            (2.0, figures.p50),
            (10.0, figures.p90),
            (20.0, figures.p95),
            (100.0, figures.p99),
            (1e3, figures.p999),
            (1e4, figures.p9999),
            (1e5, figures.p99999),
        ];
        let dots = at.into_iter().filter_map(|(one_of, value)| Some(ChartPoint::new(one_of, value?))).collect();
        Layer { name: label.to_owned(), colour, style: LayerStyle::Line, points: dots }
    };
    let curves = SeriesChart {
        title: format!("{}: latency by percentile", sanitize(name)),
        caption: String::new(),
        x: ChartAxis { unit: Unit::PercentileRank, log: true, reaches_at_least: 0.0 },
        y: ChartAxis { unit: Unit::number("ms"), log: true, reaches_at_least: 0.0 },
        layers: vec![layer("latency", &journey.op.latency_ms, 0), layer("service time", &journey.op.service_ms, 1)],
        bands: Vec::new(),
        marks: Vec::new(),
        thresholds: Vec::new(),
    };
    let curves = curves.non_empty()?;
    (curves.layers.iter().any(|layer| layer.points.len() > 2)).then_some(curves)
}

fn steps(sheet: &TimeCharts<'_>, name: &str, journey: &JourneyFigures) -> Option<SeriesChart> {
    let line = |(i, step): (usize, &String)| {
        sheet.line(&format!("op.{name}.steps.{step}.latency_p99_ms"), step, i, LayerStyle::Line)
    };
    let lines = slowest(journey).into_iter().enumerate().filter_map(line).collect();
    let mut curves = sheet.chart(&format!("{name}: latency p99 by step"), Unit::number("ms"), lines)?;
    if journey.steps.len() > STEPS_MAX {
        curves.caption = format!("The {STEPS_MAX} slowest of {} steps, in the order of play.", journey.steps.len());
    }
    curves.y.log = true;
    Some(curves)
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
fn wake_delays(run: &Run, sheet: &TimeCharts<'_>, name: &str, journey: &JourneyFigures) -> Option<SeriesChart> {
    let waiting = || journey.steps.iter().filter(|(_, step)| step.wake_ms.is_some()).map(|(step, _)| step);
    let line = |(i, step): (usize, &String)| {
        let of = |figure: &str| format!("op.{name}.steps.{step}.wake_{figure}_ms");
        let p99 = sheet.line(&of("p99"), &format!("{step} p99"), i, LayerStyle::Line);
        [p99, sheet.line(&of("p50"), &format!("{step} p50"), i, LayerStyle::Dashed)]
    };
    let lines = waiting().take(STEPS_MAX).enumerate().flat_map(line).flatten().collect();
    let mut curves = sheet.chart(&format!("{name}: from what happened to its arrival"), Unit::number("ms"), lines)?;
    curves.y.log = true;
    curves
        .thresholds
        .extend(waiting().filter_map(|step| gate_threshold(run, &format!("{name}.steps.{step}.wake_ms.p99"))));
    Some(curves)
}

fn load(sheet: &TimeCharts<'_>) -> Option<SeriesChart> {
    let lines = [
        sheet.line("load.in_flight", "in flight", 0, LayerStyle::Line),
        sheet.line("load.queued", "due, waiting in the lab", 1, LayerStyle::Line),
        sheet.line("load.connections", "connections", 3, LayerStyle::Dashed),
        sheet.line("load.waiting", "answers waited for", 4, LayerStyle::Line),
    ];
    sheet.chart("Load", Unit::count("requests, connections"), lines.into_iter().flatten().collect())
}

/// How every load step ended, if there are several and not so many that bars become lines.
pub(in crate::report) fn outcomes(parts: &[&LoadStepFigures]) -> Option<Chart> {
    let group = |part: &&LoadStepFigures| {
        let label = if part.label.is_empty() { &part.phase } else { &part.label };
        let op = &part.op;
        BarGroup { label: sanitize(label), values: [op.ok, op.errors, op.denied].map(|count| count as f64).to_vec() }
    };
    let bars = BarChart {
        title: "How every part ended".to_owned(),
        caption: String::new(),
        unit: Unit::count("requests"),
        names: [("ok", 2), ("errors", 1), ("denied", 4)].map(|(name, colour)| (name.to_owned(), colour)).to_vec(),
        groups: parts.iter().map(group).collect(),
    };
    (2..=REPORT_ROWS_MAX).contains(&parts.len()).then(|| bars.into())
}
