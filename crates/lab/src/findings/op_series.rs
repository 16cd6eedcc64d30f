//! A whole journey over time: what ended, how long it took, and how many of its requests were in flight. Does not know
//! what the target did meanwhile.

use super::FindingsInput;
use super::series::{TimeRanges, area, steps, value_at};
use crate::aggregate::{Series, Timeline};

/// A whole journey on the timeline.
#[derive(Clone, Debug)]
pub(super) struct OpSeries<'a> {
    pub(super) name: &'a str,
    pub(super) ok: Option<&'a Series>,
    pub(super) errors: Option<&'a Series>,
    pub(super) denied: Option<&'a Series>,
    pub(super) latency_p50_ms: Option<&'a Series>,
    pub(super) latency_p99_ms: Option<&'a Series>,
    pub(super) service_p50_ms: Option<&'a Series>,
    /// Over the whole run.
    service_avg_ms: Option<f64>,
}

impl<'a> OpSeries<'a> {
    pub(super) fn from_run(name: &'a str, input: &'a FindingsInput<'a>) -> Self {
        let service_avg_ms = input.results.journeys.get(name).and_then(|journey| journey.op.service_ms.avg);
        Self { service_avg_ms, ..Self::from_timeline(name, input.timeline) }
    }

    /// What the timeline alone shows.
    pub(super) fn from_timeline(name: &'a str, timeline: &'a Timeline) -> Self {
        let series = |figure: &str| timeline.get(&format!("op.{name}.{figure}"));
        Self {
            name,
            ok: series("ok_per_s"),
            errors: series("errors_per_s"),
            denied: series("denied_per_s"),
            latency_p50_ms: series("latency_p50_ms"),
            latency_p99_ms: series("latency_p99_ms"),
            service_p50_ms: series("service_p50_ms"),
            service_avg_ms: None,
        }
    }

    /// Successful responses in these times.
    pub(super) fn ok_count(&self, times: &TimeRanges) -> Option<f64> {
        let (answers, _) = area(self.ok?, times);
        (answers > 0.0).then_some(answers)
    }

    /// How long a successful response typically takes from sending, in seconds.
    pub(super) fn service_s(&self, times: &TimeRanges) -> Option<f64> {
        let typical_ms = weighted_mean(self.service_p50_ms, self.ok, times);
        // A median instead of a mean; if responses are of two kinds, the run's own mean is more accurate.
        let ms = typical_ms.into_iter().chain(self.service_avg_ms).max_by(f64::total_cmp)?;
        (ms > 0.0 && ms.is_finite()).then_some(ms / 1000.0)
    }

    /// The typical latency in these times, in milliseconds.
    pub(super) fn latency_ms(&self, times: &TimeRanges) -> Option<f64> {
        weighted_mean(self.latency_p50_ms, self.ok, times)
    }

    /// Requests in flight in the second at `t_s`, by Little's law.
    pub(super) fn concurrency(&self, t_s: f64) -> Option<f64> {
        let rate = value_at(self.ok?, t_s)?;
        if rate == 0.0 { Some(0.0) } else { Some(rate * value_at(self.service_p50_ms?, t_s)? / 1000.0) }
    }
}

/// The mean of a figure per response.
fn weighted_mean(figure: Option<&Series>, rate: Option<&Series>, times: &TimeRanges) -> Option<f64> {
    let (mut sum, mut answers) = (0.0, 0.0);
    let figure = figure?;
    for step in steps(rate?) {
        let Some(value) = value_at(figure, step.from_s) else { continue };
        let weight = step.value.mean * times.overlap_s((step.from_s, step.to_s));
        sum += weight * value;
        answers += weight;
    }
    (answers > 0.0).then(|| sum / answers).filter(|mean| mean.is_finite())
}
