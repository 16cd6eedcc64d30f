//! More arrivals than the target answers: a load step at a rate whose responses come at a lower rate, second after
//! second, while the number in flight grows to its cap or past the end of the load step. Does not say which resource
//! the target lacks.

use super::Candidate;
use super::format::{count, moment, number, time};
use super::series::{TimeRanges, last_above_zero, value_at};
use super::thresholds::{BACKLOG_MIN, BACKLOG_MIN_S, CEILING_TOLERANCE, OFFERED_ABOVE_MIN, SUSTAINED_MIN_S};
use super::view::RunView;
use crate::aggregate::{LoadStepFigures, Series};
use crate::format::sanitize;

/// Load steps that are listed one by one.
const LISTED_MAX: usize = 5;

/// A load step that requested more than was answered.
struct OverloadedStep<'a> {
    load_step: &'a LoadStepFigures,
    offered_per_s: f64,
    /// Successful responses in a typical second of it.
    answered_per_s: f64,
    /// How much longer than its arrivals its responses took to arrive.
    backlog_s: f64,
}

pub(super) fn candidates(view: &RunView<'_>) -> Vec<Candidate> {
    let mut found: Vec<OverloadedStep<'_>> =
        view.input.load_steps.iter().filter_map(|load_step| OverloadedStep::from_step(load_step, view)).collect();
    found.sort_by(|a, b| b.backlog_s.total_cmp(&a.backlog_s));
    let Some(worst) = found.first() else { return Vec::new() };
    let sentence = format!(
        "More arrived than the target can answer: about {} a second. {} a second arrived in `{}`, and the last of them was answered {} \
         after it was due.",
        number(worst.answered_per_s),
        number(worst.offered_per_s),
        sanitize(&worst.load_step.label),
        time(worst.backlog_s)
    );
    let ended: u64 = found.iter().map(|one| one.load_step.op.count).sum();
    let explains = ended as f64 / view.arrivals().ended.max(1) as f64;
    let listed = found.iter().take(LISTED_MAX).map(|one| {
        let text = format!(
            "from {} on {} a second arrived and {} a second were answered, second after second; the queue took {} more",
            moment(one.load_step.start_s),
            number(one.offered_per_s),
            number(one.answered_per_s),
            time(one.backlog_s)
        );
        (format!("load step {}", sanitize(&one.load_step.label)), text)
    });
    let most = |figure: &str| view.series(figure).and_then(Series::peak);
    let text = |(t_s, most): (f64, f64)| format!("at most {} at {}", count(most as u64), moment(t_s));
    let case = Candidate::new("overloaded", explains, sentence)
        .all_evidence(listed)
        .evidence("load.in_flight", most("load.in_flight").map(text))
        .evidence("load.queued", most("load.queued").filter(|(_, most)| *most > 0.0).map(text));
    let refuted_by = "At a higher rate more requests a second are answered, or another client gets responses that this one waits for.";
    let advice =
        "Stay below this rate, or find the resource that the target lacks: CPUs, connections, workers, a lock.";
    vec![case.with_advice(refuted_by, advice)]
}

impl<'a> OverloadedStep<'a> {
    /// None if the target kept up, or was delayed for a while and not all the time; a search reports itself which of
    /// its levels were too much.
    fn from_step(load_step: &'a LoadStepFigures, view: &RunView<'_>) -> Option<Self> {
        let offered_per_s = load_step.offered_per_s.filter(|per_s| *per_s > 0.0 && load_step.overload.is_none())?;
        let due_s = load_step.due_s()?;
        // What times out behind the last arrival was not queued: the queue is what is answered.
        let bounds = (load_step.start_s, load_step.start_s + load_step.length_s);
        let answers = view.ops.iter().flat_map(|op| [op.ok, op.denied]).flatten();
        let end_s = answers.filter_map(|series| last_above_zero(series, bounds)).fold(bounds.0, f64::max).min(bounds.1);
        let backlog_s = end_s - load_step.start_s - due_s;
        let overlaps = |other: &LoadStepFigures| {
            other.load_step != load_step.load_step
                && other.start_s < end_s
                && other.start_s + other.length_s > load_step.start_s + backlog_s
        };
        // The load of overlapping load steps cannot be told apart.
        let is_alone = !view.input.load_steps.iter().any(overlaps);
        let is_late = backlog_s >= BACKLOG_MIN_S.max(BACKLOG_MIN * due_s);
        if !is_alone || !is_late {
            return None;
        }
        let faults = TimeRanges::new(view.disturbances.iter().map(|one| one.window_s));
        let seconds = (load_step.start_s.ceil() as u64 + 1..end_s.floor() as u64).map(|second| second as f64);
        let known = seconds.filter(|t_s| !faults.contains(*t_s)).filter_map(|t_s| {
            let all = view.ops.iter().filter_map(|op| value_at(op.ok?, t_s)).reduce(|sum, one| sum + one);
            all.filter(|per_s| per_s.is_finite())
        });
        let mut per_s: Vec<f64> = known.collect();
        per_s.sort_by(f64::total_cmp);
        let median = *per_s.get(per_s.len() / 2)?;
        let is_flat = |value: &&f64| (**value - median).abs() <= CEILING_TOLERANCE * median;
        let flat = per_s.iter().filter(is_flat).count();
        let lasts = per_s.len() as f64 >= SUSTAINED_MIN_S && flat * 5 >= per_s.len() * 4;
        let is_short = offered_per_s >= OFFERED_ABOVE_MIN * median;
        (lasts && is_short).then_some(Self { load_step, offered_per_s, answered_per_s: median, backlog_s })
    }
}
