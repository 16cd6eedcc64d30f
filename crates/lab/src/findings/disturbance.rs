//! The time in which a fault was felt: from the moment of a fault to the first second in which responses were as before.
//! What happens in that time is attributed to the fault, and no other finding uses it. Does not evaluate whether a
//! fault should have been survived.

use super::format::{pluralize, time};
use super::op_series::OpSeries;
use super::series::{TimeRanges, area, mean, value_at};
use super::thresholds::{
    BASELINE_S, DISTURBED_MIN_S, EFFECT_LATENCY_MIN_MS, EFFECT_WITHIN_S, RECOVERED_LATENCY_FACTOR,
    RECOVERED_LATENCY_MARGIN_MS, SILENCE_RATE_MIN,
};
use crate::aggregate::{LoadStepFigures, Series, Timeline};
use crate::measurement::timeline::FaultRow;

/// What one fault did.
#[derive(Clone, Debug)]
pub(super) struct Disturbance<'a> {
    pub(super) fault: &'a FaultRow,
    /// From the fault until responses were as before, or until the load was over; empty if the fault had no effect.
    pub(super) window_s: (f64, f64),
    /// Whether responses were as before again.
    has_recovered: bool,
    /// The whole seconds of that time.
    pub(super) seconds: (f64, f64),
    /// Arrivals that ended with errors in them, beyond the rate before.
    pub(super) errors: f64,
    /// How long the slowest successful responses in that time took, in milliseconds, if that is longer than before the
    /// fault.
    slowest_ms: Option<f64>,
    /// How long they took before the fault.
    baseline_ms: Option<f64>,
}

/// Responses over time, of all operations.
struct ResponseSeries<'a, 'b> {
    ops: &'b [OpSeries<'a>],
    /// Times for which it is not known what ended.
    unrecorded: TimeRanges,
    in_flight: Option<&'a Series>,
}

/// Responses before a fault.
struct Baseline {
    ok_per_s: f64,
    errors_per_s: f64,
    latency_p99_ms: Option<f64>,
}

pub(super) fn disturbances<'a>(timeline: &'a Timeline, ops: &[OpSeries<'a>]) -> Vec<Disturbance<'a>> {
    let unknown = TimeRanges::new(timeline.unrecorded.requests.iter());
    let answers = ResponseSeries { ops, unrecorded: unknown, in_flight: timeline.get("load.in_flight") };
    let faults = &timeline.faults;
    let harmful = faults.iter().filter(|fault| fault.has_reached() && fault.act != "continue" && fault.t_s.is_finite());
    harmful.filter_map(|fault| Disturbance::from_fault(fault, &answers)).collect()
}

impl<'a> Disturbance<'a> {
    /// None if there was no load before or after the fault.
    fn from_fault(fault: &'a FaultRow, answers: &ResponseSeries<'a, '_>) -> Option<Self> {
        let before = Baseline::before_fault(fault.t_s, answers)?;
        let last_s = answers.last_s()?;
        // A row covers what ended in a second, so the fault's own second is the first that can show its effect.
        let first_s = fault.t_s.floor();
        let felt_s =
            seconds(first_s, last_s.min(first_s + EFFECT_WITHIN_S)).find(|t_s| before.is_disturbed(*t_s, answers));
        let back_s = felt_s.and_then(|felt_s| seconds(felt_s, last_s).find(|t_s| before.has_recovered(*t_s, answers)));
        let end_s = if felt_s.is_some() { back_s.unwrap_or(last_s + 1.0) } else { fault.t_s };
        let end_s = if felt_s.is_some() { end_s.max(fault.ready_again_s.unwrap_or(end_s)) } else { end_s };
        let times = TimeRanges::new([(first_s, end_s)]);
        let known_s = times.difference(&answers.unrecorded).total_s();
        let slow = seconds(first_s, end_s - 1.0).filter(|t_s| !answers.unrecorded.contains(*t_s));
        let late_ms = slow.filter_map(|t_s| answers.slowest_ms(t_s).filter(|_| !before.is_fast_enough(t_s, answers)));
        Some(Self {
            fault,
            window_s: (fault.t_s, end_s),
            seconds: (first_s, end_s),
            has_recovered: felt_s.is_none() || back_s.is_some(),
            errors: (answers.errors(&times) - before.errors_per_s * known_s).max(0.0),
            slowest_ms: late_ms.max_by(f64::total_cmp),
            baseline_ms: before.latency_p99_ms,
        })
    }

    /// The same while the run continues at `now_s`: an effect that is not over continues, and one that is not visible
    /// yet may still appear.
    pub(super) fn window_until_s(&self, now_s: f64) -> (f64, f64) {
        let is_new = now_s < self.fault.t_s + EFFECT_WITHIN_S;
        let end_s = if self.has_recovered && !is_new { self.window_s.1 } else { now_s.max(self.window_s.1) };
        (self.window_s.0, end_s)
    }

    pub(super) fn duration_s(&self) -> f64 {
        (self.window_s.1 - self.window_s.0).max(0.0)
    }

    pub(super) fn is_material(&self) -> bool {
        let is_late = self.slowest_ms.is_some_and(|late_ms| late_ms >= EFFECT_LATENCY_MIN_MS);
        self.duration_s() > 0.0 && (self.errors >= 1.0 || is_late || self.duration_s() >= DISTURBED_MIN_S)
    }

    /// Arrivals that were never sent in that time: those of load steps that were over before responses were as before.
    pub(super) fn not_sent(&self, load_steps: &[LoadStepFigures]) -> u64 {
        let (from_s, to_s) = self.window_s;
        let ended =
            load_steps.iter().filter(|load_step| (from_s..=to_s).contains(&(load_step.start_s + load_step.length_s)));
        ended.map(|load_step| load_step.not_sent).sum()
    }

    pub(super) fn sentence(&self, load_steps: &[LoadStepFigures]) -> String {
        let errors = match self.errors.round() as u64 {
            0 => "no errors".to_owned(),
            errors => pluralize(errors, "error"),
        };
        let not_sent = match self.not_sent(load_steps) {
            0 => String::new(),
            arrivals => format!(", {} never sent", pluralize(arrivals, "arrival")),
        };
        let late = self.slowest_ms.map_or_else(String::new, |late_ms| {
            let before = self.baseline_ms.map_or_else(String::new, |ms| format!(" ({} before)", time(ms / 1000.0)));
            format!(", successful responses that took up to {}{before}", time(late_ms / 1000.0))
        });
        // Figures come once a second: the moment within it is unknown.
        let back = match self.has_recovered {
            true => format!("responses were as before again within {} s", self.duration_s().ceil()),
            false => "responses were not as before until the load was over".to_owned(),
        };
        format!("{errors}{not_sent}{late}; {back}")
    }
}

impl<'a> ResponseSeries<'a, '_> {
    fn ok(&self, times: &TimeRanges) -> f64 {
        self.total(times, |op| op.ok)
    }

    fn errors(&self, times: &TimeRanges) -> f64 {
        self.total(times, |op| op.errors)
    }

    fn total(&self, times: &TimeRanges, of: impl Fn(&OpSeries<'a>) -> Option<&'a Series>) -> f64 {
        self.ops.iter().filter_map(|op| Some(area(of(op)?, times).0)).sum()
    }

    fn slowest_ms(&self, t_s: f64) -> Option<f64> {
        self.ops.iter().filter_map(|op| value_at(op.latency_p99_ms?, t_s)).max_by(f64::total_cmp)
    }

    /// Whether requests were in flight and none of them ended for two seconds.
    fn is_silent(&self, t_s: f64) -> bool {
        let times = TimeRanges::new([(t_s, t_s + 2.0)]);
        if times.difference(&self.unrecorded) != times {
            return false;
        }
        let is_waiting =
            self.in_flight.and_then(|series| value_at(series, t_s + 1.0)).is_some_and(|in_flight| in_flight >= 1.0);
        is_waiting && self.ok(&times) + self.errors(&times) + self.total(&times, |op| op.denied) == 0.0
    }

    fn last_s(&self) -> Option<f64> {
        let last = self.ops.iter().filter_map(|op| op.ok?.points.last()).map(|point| point.t_s);
        last.max_by(f64::total_cmp)
    }
}

impl Baseline {
    fn before_fault(fault_s: f64, answers: &ResponseSeries<'_, '_>) -> Option<Self> {
        let times =
            TimeRanges::new([((fault_s - BASELINE_S).max(0.0), fault_s.floor())]).difference(&answers.unrecorded);
        let ok_per_s = answers.ok(&times) / times.total_s();
        let errors_per_s = answers.errors(&times) / times.total_s();
        let slow = answers.ops.iter().filter_map(|op| mean(op.latency_p99_ms?, &times)).max_by(f64::total_cmp);
        (!times.is_empty() && ok_per_s > 0.0).then_some(Self { ok_per_s, errors_per_s, latency_p99_ms: slow })
    }

    /// Whether a second differs from before. A lower rate alone means nothing: the plan may have requested less.
    fn is_disturbed(&self, t_s: f64, answers: &ResponseSeries<'_, '_>) -> bool {
        let second = TimeRanges::new([(t_s, t_s + 1.0)]);
        let is_slow = answers.ok(&second) > 0.0 && !self.is_fast_enough(t_s, answers);
        let is_silent = self.ok_per_s >= SILENCE_RATE_MIN && answers.is_silent(t_s);
        self.has_new_errors(&second, answers) || is_slow || is_silent
    }

    /// Whether a second is as before: successful responses arrive, and as quickly.
    fn has_recovered(&self, t_s: f64, answers: &ResponseSeries<'_, '_>) -> bool {
        let second = TimeRanges::new([(t_s, t_s + 1.0)]);
        answers.ok(&second) > 0.0 && !self.has_new_errors(&second, answers) && self.is_fast_enough(t_s, answers)
    }

    fn has_new_errors(&self, second: &TimeRanges, answers: &ResponseSeries<'_, '_>) -> bool {
        answers.errors(second) > self.errors_per_s.ceil()
    }

    fn is_fast_enough(&self, t_s: f64, answers: &ResponseSeries<'_, '_>) -> bool {
        let both = self.latency_p99_ms.zip(answers.slowest_ms(t_s));
        both.is_none_or(|(before_ms, now_ms)| {
            now_ms <= RECOVERED_LATENCY_FACTOR * before_ms + RECOVERED_LATENCY_MARGIN_MS
        })
    }
}

/// The starts of the seconds of a range, both ends included.
fn seconds(from_s: f64, to_s: f64) -> impl Iterator<Item = f64> {
    let count = if to_s >= from_s { (to_s - from_s) as u64 + 1 } else { 0 };
    (0..count).map(move |second| from_s + second as f64)
}
