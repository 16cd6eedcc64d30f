//! One run after another. Refuses to know how a run is made, and how it is judged.

use std::path::PathBuf;

use super::plan::{Plan, Turn};
use crate::report::Run;
use crate::verdict::Verdict;

/// A run's record and its directory; or why there is none.
pub type Attempt = Result<(Run, PathBuf), NoRun>;

/// Why there is no run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoRun {
    /// It could not be carried out; the sentence says why.
    Failed(String),
    /// Somebody ended everything at once.
    Ended,
}

/// A run of a sweep.
#[derive(Clone, Debug)]
pub struct Made {
    /// Whose turn it was.
    pub turn: Turn,
    /// What came of it.
    pub attempt: Attempt,
}

/// Everything that a sweep made.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The runs in their order.
    pub made: Vec<Made>,
    /// Whether it was ended before all were made.
    pub interrupted: bool,
}

/// Makes the runs of a plan, and tells of each when it is over, with its place in the plan. A combination that could
/// not run once is not tried again; a run that somebody interrupted is the last.
pub fn carry(
    plan: &Plan,
    run_one: &mut dyn FnMut(Turn, &[String]) -> Attempt,
    tell: &mut dyn FnMut(usize, &Made),
) -> Outcome {
    let mut outcome = Outcome { made: Vec::new(), interrupted: false };
    for (place, turn) in plan.turns.iter().enumerate() {
        let failed = |made: &Made| made.turn.combination == turn.combination && made.attempt.is_err();
        if outcome.made.iter().any(failed) {
            continue;
        }
        let made = Made { turn: *turn, attempt: run_one(*turn, &plan.combinations[turn.combination]) };
        outcome.interrupted = match &made.attempt {
            Ok((run, _)) => run.verdict == Verdict::Interrupted,
            Err(NoRun::Ended) => true,
            Err(NoRun::Failed(_)) => false,
        };
        tell(place, &made);
        outcome.made.push(made);
        if outcome.interrupted {
            break;
        }
    }
    outcome
}
