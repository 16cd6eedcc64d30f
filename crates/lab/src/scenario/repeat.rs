//! Repeats: steps that run a number of times, for a time, until the response ends them, or for as long as the journey
//! continues. Decides which step is next, from counts and moments alone. Does not know requests, clocks and responses.

use std::time::Duration;

use super::message::{FormatStatus, read_frame_match};
use super::reader::NodeReader;
use super::tree::Value;
use super::value_match::ValueMatch;
use crate::limits::{ROUNDS_MAX, WAIT_MAX};

/// A step, or several in a row, that are repeated.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeat {
    /// The first step, by its index in the journey.
    pub first_step: usize,
    /// The last one; its response decides whether the repeat is over.
    pub last_step: usize,
    pub end: RepeatEnd,
}

/// When a repeat ends: at the first of these. Without any of them, with the journey.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RepeatEnd {
    pub times: Option<u64>,
    /// No round begins once this much time has passed since the first one began.
    pub duration: Option<Duration>,
    /// What the last response of the final round contains. Reaching another bound before is an error.
    pub condition: Option<ValueMatch>,
}

/// What an arrival does after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    Step(usize),
    /// The journey is over.
    Done,
    /// The journey is over: this many rounds did not bring the awaited response.
    Unmet(u64),
}

/// How far an arrival has come in the repeats of its journey.
#[derive(Clone, Debug, Default)]
pub struct RepeatState {
    repeats: Vec<RepeatProgress>,
    /// Completed rounds of any repeat.
    completed: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct RepeatProgress {
    completed: u64,
    started_at: Option<Duration>,
}

impl RepeatEnd {
    /// `4`, `"always"`, or `{ times, for, until = { at, is } }`. Only a background loop may repeat always.
    ///
    /// If messages are repeated, `known` is their format.
    pub(super) fn read(at: &NodeReader<'_>, may_go_on: bool, known: Option<FormatStatus<'_>>) -> Option<Self> {
        match &at.node.value {
            Value::Table(_) => Self::read_table(at, known),
            Value::Text(text) if text == "always" && may_go_on => Some(Self::default()),
            Value::Text(text) if text == "always" => {
                at.reject("can be \"always\" only at the end of what runs beside a journey")
            }
            Value::Int(_) => at.int(1..=ROUNDS_MAX).map(|times| Self { times: Some(times), ..Self::default() }),
            Value::Text(_) | Value::Float(_) | Value::Bool(_) | Value::Array(_) => {
                at.reject("must be a whole number, \"always\", or { times, for, until = { at, is } }")
            }
        }
    }

    fn read_table(at: &NodeReader<'_>, known: Option<FormatStatus<'_>>) -> Option<Self> {
        let condition = |at: &NodeReader<'_>| match known {
            None => ValueMatch::read_json(at),
            Some(known) => read_frame_match(at, known),
        };
        at.table(|fields| {
            if !fields.has("times") && !fields.has("for") {
                at.add_error("needs `times` or `for`: nothing is repeated without a bound");
            }
            Self {
                times: fields.optional("times", |at| at.int(1..=ROUNDS_MAX)),
                duration: fields.optional("for", |at| at.duration(Duration::from_millis(1)..=WAIT_MAX)),
                condition: fields.optional("until", condition),
            }
        })
    }

    fn allows_another_round(&self, round: RepeatProgress, now: Duration) -> bool {
        let begun = round.started_at.unwrap_or(now);
        self.times.is_none_or(|times| round.completed < times)
            && self.duration.is_none_or(|duration| now.saturating_sub(begun) < duration)
    }
}

impl RepeatState {
    /// Resets to the start of a journey with this many repeats; keeps its allocation.
    pub fn reset(&mut self, repeats: usize) {
        self.completed = 0;
        self.repeats.clear();
        self.repeats.resize(repeats, RepeatProgress::default());
    }

    /// Completed rounds of any repeat: the same step never sees a number twice.
    #[must_use]
    pub fn completed_rounds(&self) -> u64 {
        self.completed
    }

    /// The arrival begins a step.
    pub fn enter_step(&mut self, repeats: &[Repeat], step: usize, now: Duration) {
        for (round, repeat) in self.repeats.iter_mut().zip(repeats) {
            if repeat.first_step == step {
                round.started_at.get_or_insert(now);
            }
        }
    }

    /// The next step after one that succeeded; `end` is the index after the last step of the journey. `is_met` evaluates
    /// the response. Inner repeats come before outer ones.
    ///
    /// # Errors
    /// Those of `is_met`.
    pub fn next_step<E>(
        &mut self,
        repeats: &[Repeat],
        (step, end): (usize, usize),
        now: Duration,
        is_met: impl Fn(&ValueMatch) -> Result<bool, E>,
    ) -> Result<NextStep, E> {
        for (round, repeat) in self.repeats.iter_mut().zip(repeats).filter(|(_, repeat)| repeat.last_step == step) {
            round.completed += 1;
            let is_over = repeat.end.condition.as_ref().map(&is_met).transpose()?;
            let passed = round.completed;
            if is_over != Some(true) && repeat.end.allows_another_round(*round, now) {
                self.completed += 1;
                return Ok(NextStep::Step(repeat.first_step));
            }
            *round = RepeatProgress::default();
            if is_over == Some(false) {
                return Ok(NextStep::Unmet(passed));
            }
        }
        Ok(if step + 1 < end { NextStep::Step(step + 1) } else { NextStep::Done })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::ValuePath;

    fn repeat(first: usize, last: usize, until: RepeatEnd) -> Repeat {
        Repeat { first_step: first, last_step: last, end: until }
    }

    fn times(times: u64) -> RepeatEnd {
        RepeatEnd { times: Some(times), ..RepeatEnd::default() }
    }

    fn end_condition() -> Option<ValueMatch> {
        let path = ValuePath { pointer: "/over".to_owned(), protobuf: None };
        Some(ValueMatch { path, expected: Some(true.into()) })
    }

    /// The sequence of `steps` steps, one second each, where every response after the given second ends the repeat.
    #[track_caller]
    fn check(steps: usize, repeats: &[Repeat], over_after_s: u64, expected: &[usize], end: NextStep) {
        let mut rounds = RepeatState::default();
        rounds.reset(repeats.len());
        let (mut way, mut step) = (Vec::new(), 0);
        for second in 0..100 {
            let at = Duration::from_secs(second);
            rounds.enter_step(repeats, step, at);
            way.push(step);
            let says = |_: &ValueMatch| Ok::<bool, ()>(second >= over_after_s);
            match rounds.next_step(repeats, (step, steps), at + Duration::from_secs(1), says) {
                Ok(NextStep::Step(next)) => step = next,
                other => {
                    assert_eq!((way.as_slice(), other), (expected, Ok(end)));
                    return;
                }
            }
        }
        panic!("it never ends: {way:?}");
    }

    #[test]
    fn ways() {
        check(3, &[], 0, &[0, 1, 2], NextStep::Done);
        check(2, &[repeat(1, 1, times(3))], 0, &[0, 1, 1, 1], NextStep::Done);
        check(3, &[repeat(0, 1, times(2))], 0, &[0, 1, 0, 1, 2], NextStep::Done);
        // An inner repeat starts over in each round of the outer one.
        check(2, &[repeat(1, 1, times(2)), repeat(0, 1, times(2))], 0, &[0, 1, 1, 0, 1, 1], NextStep::Done);
        // Three seconds have passed when the third round ends.
        let duration = RepeatEnd { duration: Some(Duration::from_secs(3)), ..RepeatEnd::default() };
        check(2, &[repeat(0, 0, duration)], 0, &[0, 0, 0, 1], NextStep::Done);
        check(1, &[repeat(0, 0, RepeatEnd { condition: end_condition(), ..times(9) })], 2, &[0, 0, 0], NextStep::Done);
        check(1, &[repeat(0, 0, RepeatEnd { condition: end_condition(), ..times(2) })], 9, &[0, 0], NextStep::Unmet(2));
    }

    #[test]
    fn no_two_rounds_have_one_number() {
        let repeats = [repeat(0, 0, times(2)), repeat(0, 0, times(2))];
        let mut rounds = RepeatState::default();
        rounds.reset(2);
        let mut numbers = vec![rounds.completed_rounds()];
        while let Ok(NextStep::Step(_)) = rounds.next_step::<()>(&repeats, (0, 1), Duration::ZERO, |_| Ok(false)) {
            numbers.push(rounds.completed_rounds());
        }
        assert_eq!(numbers, [0, 1, 2, 3]);
    }

    #[test]
    fn an_unreadable_response_ends_the_journey() {
        let mut rounds = RepeatState::default();
        rounds.reset(1);
        let repeats = [repeat(0, 0, RepeatEnd { condition: end_condition(), ..times(2) })];
        assert_eq!(rounds.next_step(&repeats, (0, 1), Duration::ZERO, |_| Err("no JSON")), Err("no JSON"));
    }
}
