//! Steps that are taken again: so many times, for so long, until the answer says that it is over, or for as long as
//! the journey goes on. Which step comes next is decided here, from counts and moments alone. Refuses to know
//! requests, clocks and answers.

use std::time::Duration;

use super::denial::Word;
use super::document::Value;
use super::message::{Known, Said};
use super::reader::At;
use crate::limits::{ROUNDS_MAX, WAIT_MAX};

/// A step, or several in a row, that are taken again.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeat {
    /// The first step, by its place in the journey.
    pub first: usize,
    /// The last one; its answer says whether it is over.
    pub last: usize,
    /// When it ends.
    pub until: Until,
}

/// When a repeat ends: at whatever of it comes first. Without any of it, with the journey.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Until {
    /// Rounds in all.
    pub times: Option<u64>,
    /// No round begins when so much time has passed since the first one began.
    pub lasting: Option<Duration>,
    /// What the last answer of a round says when it is over. Bounds that are reached before are an error.
    pub says: Option<Enough>,
}

/// What says that a repeat is over.
#[derive(Clone, Debug, PartialEq)]
pub enum Enough {
    /// The document that answers a request.
    Body(Word),
    /// The frame that answers a message.
    Frame(Box<Said>),
}

/// Where an arrival goes after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// To this step.
    Step(usize),
    /// Nowhere: its way is over.
    Over,
    /// Nowhere: so many rounds were not enough for the answer that was waited for.
    Unmet(u64),
}

/// How far an arrival has come in the repeats of its journey.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    rounds: Vec<Round>,
    /// Rounds of any repeat that are behind it.
    passed: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Round {
    passed: u64,
    since: Option<Duration>,
}

impl Until {
    /// `4`, `"always"`, or `{ times, for, until = { at, is } }`. Only what stands beside a journey may go on always.
    ///
    /// Where messages are repeated, `known` is what they are written in.
    pub(super) fn read(at: &At<'_>, may_go_on: bool, known: Option<Known<'_>>) -> Option<Self> {
        match &at.node.value {
            Value::Table(_) => Self::read_table(at, known),
            Value::Text(text) if text == "always" && may_go_on => Some(Self::default()),
            Value::Text(text) if text == "always" => {
                at.wrong("can be \"always\" only at the end of what runs beside a journey");
                None
            }
            Value::Int(_) => at.int(1..=ROUNDS_MAX).map(|times| Self { times: Some(times), ..Self::default() }),
            Value::Text(_) | Value::Float(_) | Value::Flag(_) | Value::List(_) => {
                at.wrong("must be a whole number, \"always\", or { times, for, until = { at, is } }");
                None
            }
        }
    }

    fn read_table(at: &At<'_>, known: Option<Known<'_>>) -> Option<Self> {
        let fields = at.fields()?;
        let times = fields.take("times").and_then(|at| at.int(1..=ROUNDS_MAX));
        let lasting = fields.take("for").and_then(|at| at.duration(Duration::from_millis(1)..=WAIT_MAX));
        let says = fields.take("until").and_then(|at| match known {
            None => Word::read(&at).map(Enough::Body),
            Some(known) => Said::of(&at, known).map(|said| Enough::Frame(Box::new(said))),
        });
        let is_bounded = fields.has("times") || fields.has("for");
        fields.close();
        if !is_bounded {
            at.wrong("needs `times` or `for`: nothing is repeated without a bound");
        }
        Some(Self { times, lasting, says })
    }

    fn allows_another(&self, round: Round, now: Duration) -> bool {
        let begun = round.since.unwrap_or(now);
        self.times.is_none_or(|times| round.passed < times)
            && self.lasting.is_none_or(|lasting| now.saturating_sub(begun) < lasting)
    }
}

impl Rounds {
    /// Before the first step of a journey with so many repeats; keeps its memory.
    pub fn begin(&mut self, repeats: usize) {
        self.passed = 0;
        self.rounds.clear();
        self.rounds.resize(repeats, Round::default());
    }

    /// Rounds of any repeat that are behind it: the same step never sees a number twice.
    #[must_use]
    pub fn passed(&self) -> u64 {
        self.passed
    }

    /// Comes to a step.
    pub fn enter(&mut self, repeats: &[Repeat], step: usize, now: Duration) {
        for (round, repeat) in self.rounds.iter_mut().zip(repeats) {
            if repeat.first == step {
                round.since.get_or_insert(now);
            }
        }
    }

    /// Where it goes after a step that went well; `end` is the place after the last step of its way. `says` reads the
    /// answer. Inner repeats stand before outer ones.
    ///
    /// # Errors
    /// Those of `says`.
    pub fn after<E>(
        &mut self,
        repeats: &[Repeat],
        (step, end): (usize, usize),
        now: Duration,
        says: impl Fn(&Enough) -> Result<bool, E>,
    ) -> Result<Next, E> {
        for (round, repeat) in self.rounds.iter_mut().zip(repeats).filter(|(_, repeat)| repeat.last == step) {
            round.passed += 1;
            let is_over = repeat.until.says.as_ref().map(&says).transpose()?;
            let passed = round.passed;
            if is_over != Some(true) && repeat.until.allows_another(*round, now) {
                self.passed += 1;
                return Ok(Next::Step(repeat.first));
            }
            *round = Round::default();
            if is_over == Some(false) {
                return Ok(Next::Unmet(passed));
            }
        }
        Ok(if step + 1 < end { Next::Step(step + 1) } else { Next::Over })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeat(first: usize, last: usize, until: Until) -> Repeat {
        Repeat { first, last, until }
    }

    fn times(times: u64) -> Until {
        Until { times: Some(times), ..Until::default() }
    }

    fn says() -> Option<Enough> {
        Some(Enough::Body(Word { at: "/over".to_owned(), is: true.into() }))
    }

    /// The way through `steps` steps, one second each, where every answer after the given second says that it is over.
    #[track_caller]
    fn check(steps: usize, repeats: &[Repeat], over_after_s: u64, expected: &[usize], end: Next) {
        let mut rounds = Rounds::default();
        rounds.begin(repeats.len());
        let (mut way, mut step) = (Vec::new(), 0);
        for second in 0..100 {
            let at = Duration::from_secs(second);
            rounds.enter(repeats, step, at);
            way.push(step);
            let says = |_: &Enough| Ok::<bool, ()>(second >= over_after_s);
            match rounds.after(repeats, (step, steps), at + Duration::from_secs(1), says) {
                Ok(Next::Step(next)) => step = next,
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
        check(3, &[], 0, &[0, 1, 2], Next::Over);
        check(2, &[repeat(1, 1, times(3))], 0, &[0, 1, 1, 1], Next::Over);
        check(3, &[repeat(0, 1, times(2))], 0, &[0, 1, 0, 1, 2], Next::Over);
        // An inner repeat begins anew in each round of the outer one.
        check(2, &[repeat(1, 1, times(2)), repeat(0, 1, times(2))], 0, &[0, 1, 1, 0, 1, 1], Next::Over);
        // Three seconds have passed when the third round ends.
        let lasting = Until { lasting: Some(Duration::from_secs(3)), ..Until::default() };
        check(2, &[repeat(0, 0, lasting)], 0, &[0, 0, 0, 1], Next::Over);
        check(1, &[repeat(0, 0, Until { says: says(), ..times(9) })], 2, &[0, 0, 0], Next::Over);
        check(1, &[repeat(0, 0, Until { says: says(), ..times(2) })], 9, &[0, 0], Next::Unmet(2));
    }

    #[test]
    fn no_two_rounds_have_one_number() {
        let repeats = [repeat(0, 0, times(2)), repeat(0, 0, times(2))];
        let mut rounds = Rounds::default();
        rounds.begin(2);
        let mut numbers = vec![rounds.passed()];
        while let Ok(Next::Step(_)) = rounds.after::<()>(&repeats, (0, 1), Duration::ZERO, |_| Ok(false)) {
            numbers.push(rounds.passed());
        }
        assert_eq!(numbers, [0, 1, 2, 3]);
    }

    #[test]
    fn an_answer_that_cannot_be_read_ends_the_way() {
        let mut rounds = Rounds::default();
        rounds.begin(1);
        let repeats = [repeat(0, 0, Until { says: says(), ..times(2) })];
        assert_eq!(rounds.after(&repeats, (0, 1), Duration::ZERO, |_| Err("no JSON")), Err("no JSON"));
    }
}
