//! Makes one run after another. Does not know how a run is made and evaluated.

use super::plan::{PlannedRun, SweepPlan};
use crate::output::{CliError, EXIT_INTERRUPTED};
use crate::trial::FinishedTrial;
use crate::verdict::Verdict;

/// What became of a run.
pub(crate) type RunResult = Result<FinishedTrial, CliError>;

#[derive(Debug)]
pub(crate) struct SweepRun {
    pub(crate) planned: PlannedRun,
    pub(crate) result: RunResult,
}

#[derive(Debug)]
pub(crate) struct SweepOutcome {
    /// The runs in order.
    pub(crate) runs: Vec<SweepRun>,
    /// Whether it was interrupted before all runs were made.
    pub(crate) interrupted: bool,
}

/// Makes the runs of a plan, and reports each when it is over, with its index in the plan. A combination that failed to
/// run once is not retried; an interrupted run is the last.
pub(crate) fn run_all(
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
            Ok(finished) => finished.run.verdict == Verdict::Interrupted,
            Err(error) => error.code == EXIT_INTERRUPTED,
        };
        report(index, &made);
        outcome.runs.push(made);
        if outcome.interrupted {
            break;
        }
    }
    outcome
}
