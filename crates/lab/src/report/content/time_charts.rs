//! Which charts a run has, and from which figures of the timeline they are made. All charts over time share one axis,
//! so that they can be compared; load steps and faults are on each of them. Pure. Does not draw.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::OverTime;
use crate::aggregate::{LoadStepFigures, Series, SeriesBucket};
use crate::findings::{Evidence, Finding};
use crate::format::sanitize;
use crate::measurement::WorkPoint;
use crate::report::Run;
use crate::report::chart::{
    Band, ChartAxis, ChartPoint, Heatmap, HeatmapByName, Layer, LayerStyle, Mark, SeriesChart, Threshold, Unit,
};
use crate::report::levels::label;
use crate::verdict::GateResult;

/// Figures over time, by their names on the timeline.
type SeriesByName = BTreeMap<String, Series>;

/// The share of the time of two bands that both must cover to be drawn as one.
const OVERLAP_MIN: f64 = 0.8;

/// Characters of a fault next to its line.
const MARK_CHARS_MAX: usize = 28;

/// Charts for one finding.
const EVIDENCE_MAX: usize = 4;

/// The states of work from below, with their colours.
pub(super) const STATES: [(&str, usize); 6] =
    [("finished", 2), ("failed", 1), ("stuck", 5), ("unknown", 3), ("running", 0), ("waiting", 4)];

/// What all charts over time have in common.
pub(super) struct TimeCharts<'a> {
    pub(super) run: &'a Run,
    series: Cow<'a, SeriesByName>,
    heatmaps: &'a HeatmapByName,
    end_s: f64,
    bands: Vec<Band>,
    marks: Vec<Mark>,
}

impl<'a> TimeCharts<'a> {
    pub(super) fn new(run: &'a Run, over_time: &'a OverTime) -> Self {
        let series = with_drain_curves(run, &over_time.series);
        let last = series.values().filter_map(|series| Some(series.points.last()?.t_s));
        let ends = last.chain(run.load_steps.iter().map(|load_step| load_step.start_s + load_step.length_s));
        let end_s = ends.filter(|end_s| end_s.is_finite()).fold(0.0, f64::max);
        Self { run, end_s, bands: bands(run), marks: marks(run), series, heatmaps: &over_time.heatmaps }
    }

    /// A line of one figure, if it exists.
    pub(super) fn line(&self, key: &str, name: &str, colour: usize, style: LayerStyle) -> Option<Layer> {
        let points = &self.series.get(key)?.points;
        let layer = Layer::new(&sanitize(name), colour, style, points.iter().map(chart_point).collect());
        Some(Layer { figure: key.to_owned(), ..layer })
    }

    /// How late something arrived after the event that it reports.
    pub(super) fn wake_lines(&self, op: &str, name: &str, colour: usize) -> [Option<Layer>; 2] {
        [("p99", LayerStyle::Line), ("p50", LayerStyle::Dashed)].map(|(percentile, style)| {
            self.line(&format!("{op}.wake_{percentile}_ms"), &format!("{name} {percentile}"), colour, style)
        })
    }

    /// A chart of the layers that exist; none without any.
    pub(super) fn chart(
        &self,
        title: &str,
        unit: Unit,
        layers: impl IntoIterator<Item = Option<Layer>>,
    ) -> Option<SeriesChart> {
        let layers: Vec<Layer> = layers.into_iter().flatten().collect();
        let chart = SeriesChart {
            title: sanitize(title),
            x: ChartAxis { unit: Unit::Time, log: false, reaches_at_least: self.end_s },
            y: ChartAxis { unit, ..ChartAxis::default() },
            findings: self.findings_on(&layers),
            layers,
            bands: self.bands.clone(),
            marks: self.marks.clone(),
            ..SeriesChart::default()
        };
        chart.non_empty()
    }

    /// What the findings say that rest on one of these figures.
    fn findings_on(&self, layers: &[Layer]) -> Vec<String> {
        let shows = |evidence: &Evidence| layers.iter().any(|layer| layer.figure == evidence.figure);
        let shown = self.run.findings.iter().filter(|finding| finding.evidence.iter().any(shows));
        shown.map(|finding| sanitize(&finding.sentence)).collect()
    }

    /// How the times of a journey were spread, second by second.
    pub(super) fn heatmap(&self, journey: &str) -> Option<Heatmap> {
        let title = format!("{}: latency, second by second", sanitize(journey));
        Some(Heatmap { title, ..self.heatmaps.get(journey)?.clone() })
    }

    /// Names of the middle of keys like `process.NAME.rss_bytes`.
    pub(super) fn names_between(&self, head: &str, tail: &str) -> Vec<&str> {
        self.series.keys().filter_map(|key| key.strip_prefix(head)?.strip_suffix(tail)).collect()
    }

    /// The upper bound that a gate sets on a figure.
    pub(super) fn gate_threshold(&self, figure: &str) -> Option<Threshold> {
        let gates = self.run.gates.iter().filter(|gate| gate.name == figure && gate.limit.starts_with('<'));
        let limit = |gate: &GateResult| {
            gate.limit_value.or_else(|| gate.limit.trim_start_matches(['<', '=', ' ']).parse().ok())
        };
        let (y, gate) = gates.filter_map(|gate| Some((limit(gate)?, gate))).min_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(Threshold { y, label: format!("gate: {} {}", sanitize(&gate.name), sanitize(&gate.limit)) })
    }

    /// The figures on which a finding rests, as far as the timeline has them.
    pub(super) fn evidence(&self, finding: &Finding) -> Vec<SeriesChart> {
        let chart = |Evidence { figure, .. }: &Evidence| {
            self.chart(figure, figure_unit(figure), [self.line(figure, figure, 0, LayerStyle::Line)])
        };
        // They stand below the finding itself.
        let own = |chart| SeriesChart { findings: Vec::new(), ..chart };
        finding.evidence.iter().filter_map(chart).map(own).take(EVIDENCE_MAX).collect()
    }
}

fn chart_point(stretch: &SeriesBucket) -> ChartPoint {
    ChartPoint { x: stretch.t_s, y: stretch.mean, low: stretch.min, high: stretch.max, until: stretch.until_s }
}

/// Layers on top of each other, without those that are zero throughout. Counts that were taken together have the same
/// position; points without a counterpart below are left out.
pub(super) fn stacked(layers: impl IntoIterator<Item = Layer>) -> Vec<Layer> {
    let mut stack: Vec<Layer> = Vec::new();
    for mut layer in layers {
        if layer.points.iter().all(|dot| dot.high <= 0.0) {
            continue;
        }
        layer.points = match stack.last() {
            None => layer.points.iter().map(|dot| ChartPoint { low: 0.0, high: dot.y, ..*dot }).collect(),
            Some(below) => {
                let pairs = layer.points.iter().zip(&below.points).filter(|(dot, below)| dot.x == below.x);
                let on_top = |(dot, below): (&ChartPoint, &ChartPoint)| {
                    let high = below.high + dot.y;
                    ChartPoint { y: high, low: below.high, high, ..*dot }
                };
                pairs.map(on_top).collect()
            }
        };
        stack.push(layer);
    }
    stack
}

fn bands(run: &Run) -> Vec<Band> {
    let band = |load_step: &LoadStepFigures| Band {
        from: load_step.start_s,
        to: load_step.start_s + load_step.length_s,
        label: sanitize(label(load_step)),
    };
    let opening = |load_step: &LoadStepFigures| {
        let held = load_step.connections.as_ref()?;
        let to = held.opening_s.map_or(load_step.start_s, |opening_s| held.from_s + opening_s);
        Some(Band { from: held.from_s, to, label: format!("{}: opening", sanitize(&load_step.phase)) })
    };
    // A single load step needs no name, unless something comes before it.
    let opens = run.load_steps.iter().any(|load_step| load_step.connections.is_some());
    if run.load_steps.len() < 2 && !opens {
        return Vec::new();
    }
    let (openings, load_steps) = (run.load_steps.iter().filter_map(opening), run.load_steps.iter().map(band));
    merge_bands(openings).into_iter().chain(merge_bands(load_steps)).collect()
}

/// Overlapping bands become one, with the names of all of them: concurrent phases.
fn merge_bands(bands: impl Iterator<Item = Band>) -> Vec<Band> {
    let mut all: Vec<Band> = Vec::new();
    for band in bands {
        let shared = |other: &&mut Band| {
            let both = other.to.min(band.to) - other.from.max(band.from);
            both > 0.0 && both >= OVERLAP_MIN * (other.to.max(band.to) - other.from.min(band.from))
        };
        match all.iter_mut().find(shared) {
            Some(other) => {
                (other.from, other.to) = (other.from.min(band.from), other.to.max(band.to));
                other.label = format!("{}, {}", other.label, band.label);
            }
            None => all.push(band),
        }
    }
    all
}

fn marks(run: &Run) -> Vec<Mark> {
    let carried_out = run.faults.iter().filter(|fault| fault.failed.is_none());
    let mark = |x: f64, text: String| Mark { x, label: text.chars().take(MARK_CHARS_MAX).collect(), is_fault: true };
    let marks = carried_out.flat_map(|fault| {
        let process = sanitize(&fault.process);
        let done = mark(fault.t_s, format!("{} {process}", sanitize(&fault.act)));
        [done].into_iter().chain(fault.ready_again_s.map(|x| mark(x, format!("{process} ready again"))))
    });
    marks.collect()
}

/// The unit of a figure of the timeline, from its name.
pub(super) fn figure_unit(name: &str) -> Unit {
    let ends = |suffix: &str| name.ends_with(suffix);
    match name {
        _ if ends("_bytes") => Unit::Bytes,
        _ if ends("_ms") => Unit::number("ms"),
        _ if ends("_per_s") => Unit::number("a second"),
        _ if ends("_cores") => Unit::number("cores"),
        _ if ends("_share") => Unit::number("share"),
        _ if ends("_s") || ends("_seconds") => Unit::number("s"),
        _ => Unit::number(""),
    }
}

/// The series with the thinned curves of the record, for work that the timeline does not have.
fn with_drain_curves<'a>(run: &Run, series: &'a SeriesByName) -> Cow<'a, SeriesByName> {
    let mut all = Cow::Borrowed(series);
    for (name, work) in &run.results.work {
        if STATES.iter().any(|(state, _)| series.contains_key(&series_name(name, state))) {
            continue;
        }
        for WorkPoint { t_s, waiting, running, finished, failed, stuck, unknown } in work.drain_curve.iter().copied() {
            let counts = [finished, failed, stuck, unknown, running, waiting];
            for ((state, _), count) in STATES.iter().zip(counts) {
                all.to_mut().entry(series_name(name, state)).or_default().push(t_s, count as f64);
            }
        }
    }
    all
}

pub(super) fn series_name(name: &str, state: &str) -> String {
    format!("work.{name}.{state}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concurrent_phases_share_a_band() {
        let band = |from: f64, to: f64, label: &str| Band { from, to, label: label.to_owned() };
        let all = [
            band(3.0, 33.0, "hunters"),
            band(3.02, 33.0, "viewers"),
            band(40.0, 50.0, "later"),
            band(40.0, 44.0, "short"),
        ];
        let found: Vec<(f64, f64, String)> =
            merge_bands(all.into_iter()).into_iter().map(|band| (band.from, band.to, band.label)).collect();
        let expected = [(3.0, 33.0, "hunters, viewers"), (40.0, 50.0, "later"), (40.0, 44.0, "short")];
        assert!(found.into_iter().eq(expected.map(|(from, to, label)| (from, to, label.to_owned()))));
    }
}
