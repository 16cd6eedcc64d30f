//! A bot's answers now beside those that were played. Pure.

use super::recording::Recorded;
use engine::health::CallFault;
use engine::matches::entry::AnswerClass;
use engine::matches::machine::BotAnswer;
use rules::snake::Move;
use std::process::ExitCode;
use wire::api::CallOutcome;

/// One request for a move, and both answers to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Comparison {
    pub(super) turn: u32,
    /// What it counted for in the game.
    pub(super) played: CallOutcome,
    /// The move of a valid answer now.
    pub(super) answered: Option<Move>,
    pub(super) class: AnswerClass,
    /// What was most probably wrong with the call, where there is no valid answer now.
    pub(super) fault: Option<CallFault>,
    /// How long the answer took now, in milliseconds.
    pub(super) latency_ms: u16,
}

pub(super) fn compare(recorded: &Recorded, answer: &BotAnswer) -> Comparison {
    Comparison {
        turn: recorded.turn,
        played: recorded.answer.clone(),
        answered: answer.mv,
        class: answer.class,
        fault: CallFault::probable(answer.class, answer.response.as_deref()),
        latency_ms: answer.latency_ms,
    }
}

impl Comparison {
    /// Whether a valid answer is another move than the one that was played.
    pub(super) fn differs(&self) -> bool {
        self.answered.is_some_and(|answered| Some(answered.as_str()) != self.played.played.as_deref())
    }

    /// Whether a person wants to see it.
    pub(super) fn is_notable(&self) -> bool {
        self.answered.is_none() || self.differs()
    }
}

/// What came of all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) moves: usize,
    pub(super) same: usize,
    pub(super) differ: usize,
    pub(super) without_answer: usize,
    /// Of valid answers: the middle one, the 99th of 100, the longest. `None` when there was none.
    pub(super) latency_ms: Option<[u16; 3]>,
}

pub(super) fn summarize(comparisons: &[Comparison]) -> Summary {
    let count = |is_so: fn(&Comparison) -> bool| comparisons.iter().filter(|comparison| is_so(comparison)).count();
    let mut latencies: Vec<u16> =
        comparisons.iter().filter(|turn| turn.answered.is_some()).map(|turn| turn.latency_ms).collect();
    latencies.sort_unstable();
    let (differ, without_answer) = (count(Comparison::differs), count(|turn| turn.answered.is_none()));
    let moves = comparisons.len();
    let latency_ms = (!latencies.is_empty()).then(|| [50, 99, 100].map(|percent| percentile(&latencies, percent)));
    Summary { moves, same: moves - differ - without_answer, differ, without_answer, latency_ms }
}

/// The least value that so many percent of all do not exceed (nearest rank); `sorted` is not empty.
fn percentile(sorted: &[u16], percent: usize) -> u16 {
    sorted[(sorted.len() * percent).div_ceil(100).max(1) - 1]
}

impl Summary {
    pub(super) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }

    /// A bot that does not answer is worse than one that moves otherwise.
    fn code(&self) -> u8 {
        match (self.without_answer, self.differ) {
            (0, 0) => 0,
            (0, _) => 3,
            _ => 4,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn turn(turn: u32, played: &str, answered: Option<Move>, latency_ms: u16) -> Comparison {
        let class = if answered.is_some() { AnswerClass::Valid } else { AnswerClass::Malformed };
        let fault = CallFault::probable(class, None);
        let played = CallOutcome {
            class: "valid".to_owned(),
            latency_ms: 1,
            played: Some(played.to_owned()),
            shout: String::new(),
            response: None,
        };
        Comparison { turn, played, answered, class, fault, latency_ms }
    }

    #[track_caller]
    fn check(turns: &[(&str, Option<Move>, u16)], want: (usize, usize, usize), latency_ms: Option<[u16; 3]>, code: u8) {
        let turns: Vec<_> = turns.iter().map(|&(played, answered, ms)| turn(0, played, answered, ms)).collect();
        let summary = summarize(&turns);
        assert_eq!((summary.same, summary.differ, summary.without_answer), want);
        assert_eq!((summary.latency_ms, summary.code(), summary.moves), (latency_ms, code, turns.len()));
    }

    #[test]
    fn what_came_of_all() {
        check(&[], (0, 0, 0), None, 0);
        check(&[("up", Some(Move::Up), 7)], (1, 0, 0), Some([7, 7, 7]), 0);
        check(&[("up", Some(Move::Up), 7), ("up", Some(Move::Left), 9)], (1, 1, 0), Some([7, 9, 9]), 3);
        check(&[("up", None, 500), ("up", Some(Move::Left), 9)], (0, 1, 1), Some([9, 9, 9]), 4);
        check(&[("up", None, 500)], (0, 0, 1), None, 4);
    }
}
