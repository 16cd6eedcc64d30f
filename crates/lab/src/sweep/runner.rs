//! One run after another. Refuses to know how a run is made, and how it is judged.

use std::path::PathBuf;

use super::plan::{PlannedRun, SweepPlan};
use crate::report::Run;
use crate::verdict::Verdict;

/// A run's record and its directory; or why there is none.
pub type RunResult = Result<(Run, PathBuf), RunFailure>;

/// Why there is no run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunFailure {
    /// It could not be carried out; the sentence says why.
    Failed(String),
    /// Somebody ended everything at once.
    Aborted,
}

/// A run of a sweep.
#[derive(Clone, Debug)]
pub struct SweepRun {
    /// Whose turn it was.
    pub planned: PlannedRun,
    /// What came of it.
    pub result: RunResult,
}

/// Everything that a sweep made.
#[derive(Clone, Debug)]
pub struct SweepOutcome {
    /// The runs in their order.
    pub runs: Vec<SweepRun>,
    /// Whether it was ended before all were made.
    pub interrupted: bool,
}

/// Makes the runs of a plan, and tells of each when it is over, with its place in the plan. A combination that could
/// not run once is not tried again; a run that somebody interrupted is the last.
pub fn run_all(
    plan: &SweepPlan,
    run_one: &mut dyn FnMut(PlannedRun, &[String]) -> RunResult,
    tell: &mut dyn FnMut(usize, &SweepRun),
) -> SweepOutcome {
    let mut outcome = SweepOutcome { runs: Vec::new(), interrupted: false };
    for (place, turn) in plan.runs.iter().enumerate() {
        let failed = |made: &SweepRun| made.planned.combination_index == turn.combination_index && made.result.is_err();
        if outcome.runs.iter().any(failed) {
            continue;
        }
        let made = SweepRun { planned: *turn, result: run_one(*turn, &plan.combinations[turn.combination_index]) };
        outcome.interrupted = match &made.result {
            Ok((run, _)) => run.verdict == Verdict::Interrupted,
            Err(RunFailure::Aborted) => true,
            Err(RunFailure::Failed(_)) => false,
        };
        tell(place, &made);
        outcome.runs.push(made);
        if outcome.interrupted {
            break;
        }
    }
    outcome
}
