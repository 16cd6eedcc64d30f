//! Charts of the requests: latency from the intended moment against service time, throughput, load, the distribution of
//! latency, how every batch ended.

use super::{TimeCharts, stacked};
use crate::aggregate::{JourneyFigures, LoadStepFigures, OpFigures, Statistics};
use crate::format::sanitize;
use crate::limits::REPORT_ROWS_MAX;
use crate::report::levels::label;
use crate::report::svg::{ChartAxis, ChartPoint, Layer, LayerStyle, SeriesChart, Unit};

/// What a gap between the two lines means.
const WAIT_NOTE: &str = "Where latency leaves service time, requests waited in the lab because the target did not take \
                     them: the wait is the target's doing, and a caller would feel it.";

/// The same if the lab itself paused.
const WAIT_NOTE_PAUSED: &str = "Where latency leaves service time, requests waited in the lab: because the target did not take \
                            them, or because the lab itself had paused, as it did here.";

/// Steps of a journey with their own colour.
const STEPS_MAX: usize = 6;

pub(in crate::report) fn charts(sheet: &TimeCharts<'_>) -> Vec<SeriesChart> {
    let of_journey = |(name, journey): (&String, &JourneyFigures)| {
        let (latency, throughput) = (latency(sheet, name), throughput(sheet, name));
        [latency, throughput, spread(name, journey), steps(sheet, name, journey), wake_delays(sheet, name, journey)]
    };
    sheet.run.results.journeys.iter().flat_map(of_journey).chain([load(sheet)]).flatten().collect()
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

/// How every load step ended, if there are several and not so many that bars become lines.
pub(in crate::report) fn outcomes(parts: &[&LoadStepFigures]) -> Option<SeriesChart> {
    let layer = |name: &str, colour: usize, count: fn(&OpFigures) -> u64| {
        let points = (1..).zip(parts).map(|(i, part)| ChartPoint::new(f64::from(i), count(&part.op) as f64));
        Layer::new(name, colour, LayerStyle::Bars, points.collect())
    };
    let layers = [layer("ok", 2, |op| op.ok), layer("errors", 1, |op| op.errors), layer("denied", 4, |op| op.denied)];
    let chart = SeriesChart {
        title: "How every load step ended".to_owned(),
        x: ChartAxis {
            unit: Unit::Items(parts.iter().map(|part| sanitize(label(part))).collect()),
            log: false,
            reaches_at_least: (parts.len() + 1) as f64,
        },
        y: ChartAxis { unit: Unit::count("requests"), ..ChartAxis::default() },
        layers: stacked(layers),
        ..SeriesChart::default()
    };
    chart.non_empty().filter(|_| (2..=REPORT_ROWS_MAX).contains(&parts.len()))
}
