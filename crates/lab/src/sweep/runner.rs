//! Makes one run after another. Does not know how a run is made and evaluated.

use std::path::PathBuf;

use super::plan::{PlannedRun, SweepPlan};
use crate::report::Run;
use crate::verdict::Verdict;

/// A run's record and its directory; or why there is none.
pub type RunResult = Result<(Run, PathBuf), RunFailure>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunFailure {
    /// It could not be carried out; the sentence says why.
    Failed(String),
    /// The user aborted everything.
    Aborted,
}

#[derive(Clone, Debug)]
pub struct SweepRun {
    pub planned: PlannedRun,
    pub result: RunResult,
}

#[derive(Clone, Debug)]
pub struct SweepOutcome {
    /// The runs in order.
    pub runs: Vec<SweepRun>,
    /// Whether it was interrupted before all runs were made.
    pub interrupted: bool,
}

/// Makes the runs of a plan, and reports each when it is over, with its index in the plan. A combination that failed to
/// run once is not retried; an interrupted run is the last.
pub fn run_all(
    plan: &SweepPlan,
    run_one: &mut dyn FnMut(PlannedRun, &[String]) -> RunResult,
    report: &mut dyn FnMut(usize, &SweepRun),
) -> SweepOutcome {
    let mut outcome = SweepOutcome { runs: Vec::new(), interrupted: false };
    for (index, turn) in plan.runs.iter().enumerate() {
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
        report(index, &made);
        outcome.runs.push(made);
        if outcome.interrupted {
            break;
        }
    }
    outcome
}
