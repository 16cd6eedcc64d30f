//! Times in which the lab did not run: the pauses of its workers, and the times of a run without data, which are not
//! times in which nothing happened. Does not know why.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::format::{count, number, round};
use crate::limits::{UNRECORDED_MIN, UNRECORDED_SPANS_MAX};
use crate::measurement::timeline::PauseRow;

/// The times without data: of requests, and of what is sampled once a second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Unrecorded {
    /// Whole seconds of which a worker did not run for half or more, and those in which it ran again: what ended
    /// meanwhile was read then, or only by other workers. These seconds have no rate.
    pub requests: Spans,
    /// Times in which the load, processes, the machine and the target's metrics were not sampled.
    pub samples: Spans,
}

/// Disjoint times in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Spans(Vec<Span>);

/// In seconds from the start of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Span {
    pub from_s: f64,
    pub to_s: f64,
}

impl Unrecorded {
    /// A sentence for the reader of figures over time.
    pub(crate) fn sentence(&self) -> String {
        let part = |of: &str, spans: &Spans| {
            let (first_s, _) = spans.iter().next()?;
            let (length_s, at_s) = (number(Some(spans.length_s())), number(Some(first_s)));
            let at = match spans.0.len() {
                1 => format!("at {at_s} s"),
                times => format!("in {} stretches, the first at {at_s} s", count(times as u64)),
            };
            Some(format!("{length_s} s of {of} ({at})"))
        };
        let all = [part("the requests", &self.requests), part("processes, machine and metrics", &self.samples)];
        let all: Vec<String> = all.into_iter().flatten().collect();
        format!(
            "Nothing is known of {}: the lab did not run. Figures over time have gaps there, not zeros, and no rate of a \
             second counts them.",
            all.join("; and of ")
        )
    }

    /// None if nothing is missing.
    pub(crate) fn or_none(&self) -> Option<Self> {
        (!self.requests.0.is_empty() || !self.samples.0.is_empty()).then(|| self.clone())
    }
}

impl Spans {
    /// Adds a time. If there are too many, it is merged with the last one, together with what lies between.
    pub(super) fn add(&mut self, from_s: f64, to_s: f64) {
        let first = self.0.partition_point(|span| span.to_s < from_s);
        let after = self.0.partition_point(|span| span.from_s <= to_s).max(first);
        let is_full = first == after && self.0.len() >= UNRECORDED_SPANS_MAX;
        let touched = if is_full { self.0.len() - 1..self.0.len() } else { first..after };
        let joined = self.0[touched.clone()].iter().fold(Span { from_s, to_s }, |all, span| Span {
            from_s: all.from_s.min(span.from_s),
            to_s: all.to_s.max(span.to_s),
        });
        self.0.splice(touched, [joined]);
    }

    /// Adds the whole seconds of which a pause is half or more, and the one in which it ended; returns their start and
    /// end.
    pub(crate) fn add_pause(&mut self, pause: &PauseRow) -> Option<(f64, f64)> {
        let (from_s, to_s) = ((pause.t_s.max(0.0) - 0.5).ceil().max(0.0), pause.until_s.ceil());
        let is_long = pause.until_s - pause.t_s >= UNRECORDED_MIN.as_secs_f64();
        if !is_long || !to_s.is_finite() || from_s >= to_s {
            return None;
        }
        self.add(from_s, to_s);
        Some((from_s, to_s))
    }

    pub(crate) fn contains(&self, t_s: f64) -> bool {
        let next = self.0.partition_point(|span| span.to_s <= t_s);
        self.0.get(next).is_some_and(|span| span.from_s <= t_s)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.0.iter().map(|span| (span.from_s, span.to_s))
    }

    #[must_use]
    pub fn length_s(&self) -> f64 {
        self.iter().map(|(from_s, to_s)| to_s - from_s).sum()
    }
}

/// How many pauses there were, how long, the longest. A pause of the whole lab is one of each worker.
#[derive(Clone, Debug, Default)]
pub(crate) struct PauseAggregate {
    count: u64,
    sum: Duration,
    /// The length of the longest, and when it started.
    longest: (Duration, Duration),
    workers: BTreeSet<u32>,
}

/// Times in which workers should have run and did not: stopped, or starved of processor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PauseFigures {
    /// How many, of all workers.
    pub count: u64,
    /// How many workers paused at all.
    pub workers: u64,
    /// All of them together, in seconds of a worker.
    pub sum_s: f64,
    /// The longest, in seconds.
    pub longest_s: f64,
    /// When the longest started, in seconds from the start of the plan.
    pub longest_at_s: f64,
}

impl PauseAggregate {
    pub(crate) fn add(&mut self, worker: u32, (from, to): (Duration, Duration)) {
        let length = to.saturating_sub(from);
        self.count += 1;
        self.sum += length;
        self.workers.insert(worker);
        if length > self.longest.0 {
            self.longest = (length, from);
        }
    }

    pub(crate) fn total(&self) -> Duration {
        self.sum
    }

    /// The figures; none if there were no pauses.
    pub(crate) fn figures(&self) -> Option<PauseFigures> {
        let seconds = |time: Duration| round(time.as_secs_f64());
        (self.count > 0).then(|| PauseFigures {
            count: self.count,
            workers: self.workers.len() as u64,
            sum_s: seconds(self.sum),
            longest_s: seconds(self.longest.0),
            longest_at_s: seconds(self.longest.1),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(added: &[(f64, f64)], expected: &[(f64, f64)]) {
        let mut spans = Spans::default();
        added.iter().for_each(|(from_s, to_s)| spans.add(*from_s, *to_s));
        assert_eq!(spans.iter().collect::<Vec<_>>(), expected);
        for (from_s, to_s) in expected {
            assert!(spans.contains(*from_s) && !spans.contains(*to_s) && !spans.contains(from_s - 0.1));
        }
    }

    #[test]
    fn spans_are_ordered_and_disjoint() {
        check(&[], &[]);
        check(&[(5.0, 8.0), (1.0, 2.0)], &[(1.0, 2.0), (5.0, 8.0)]);
        // A pause of the whole lab is one pause of each worker.
        check(&[(5.0, 8.0), (5.0, 8.0), (6.0, 9.0), (4.0, 5.0)], &[(4.0, 9.0)]);
        check(&[(1.0, 2.0), (3.0, 4.0), (0.0, 9.0)], &[(0.0, 9.0)]);
    }

    #[track_caller]
    fn check_pause(t_s: f64, until_s: f64, expected: Option<(f64, f64)>) {
        let mut spans = Spans::default();
        assert_eq!(spans.add_pause(&PauseRow { t_s, until_s, worker: 0 }), expected);
        assert_eq!(spans.iter().next(), expected);
    }

    #[test]
    fn a_second_is_unknown_if_half_of_it_was_paused() {
        check_pause(5.3, 8.3, Some((5.0, 9.0)));
        check_pause(5.5, 8.0, Some((5.0, 8.0)));
        check_pause(5.6, 8.6, Some((6.0, 9.0)));
        check_pause(5.6, 6.4, Some((6.0, 7.0)));
        check_pause(5.45, 5.55, None);
        check_pause(-1.0, 1.0, Some((0.0, 1.0)));
        check_pause(f64::NAN, 3.0, None);
        check_pause(3.0, f64::INFINITY, None);
        check_pause(8.0, 5.0, None);
    }

    #[track_caller]
    fn check_sentence(requests: &[(f64, f64)], samples: &[(f64, f64)], expected: &str) {
        let spans = |all: &[(f64, f64)]| {
            let mut spans = Spans::default();
            all.iter().for_each(|(from_s, to_s)| spans.add(*from_s, *to_s));
            spans
        };
        let sentence = Unrecorded { requests: spans(requests), samples: spans(samples) }.sentence();
        assert!(sentence.starts_with(expected), "{sentence}");
    }

    #[test]
    fn the_sentence_names_what_is_missing() {
        let both = "Nothing is known of 4 s of the requests (at 5 s); and of 2.30 s of processes, machine and metrics (at 6 s): ";
        check_sentence(&[(5.0, 9.0)], &[(6.0, 8.3)], both);
        let two = "Nothing is known of 5 s of the requests (in 2 stretches, the first at 1 s): the lab did not run.";
        check_sentence(&[(1.0, 2.0), (5.0, 9.0)], &[], two);
        check_sentence(&[], &[(6.0, 8.0)], "Nothing is known of 2 s of processes, machine and metrics (at 6 s): ");
    }

    #[test]
    fn spans_over_the_limit_are_merged() {
        let mut spans = Spans::default();
        (0..2 * UNRECORDED_SPANS_MAX).for_each(|n| spans.add(2.0 * n as f64, 2.0 * n as f64 + 1.0));
        assert_eq!(spans.0.len(), UNRECORDED_SPANS_MAX);
        assert!((0..2 * UNRECORDED_SPANS_MAX).all(|n| spans.contains(2.0 * n as f64)));
    }
}
