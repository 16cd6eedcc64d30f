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
    /// Its id, which names its directory.
    pub(crate) id: String,
    pub(crate) result: RunResult,
}

#[derive(Debug, Default)]
pub(crate) struct SweepOutcome {
    /// The runs in order.
    pub(crate) runs: Vec<SweepRun>,
    /// Whether no run follows.
    pub(crate) over: bool,
    /// Whether it was interrupted before all runs were made.
    pub(crate) interrupted: bool,
}

impl SweepOutcome {
    /// Whether this run is made, or is not made any more: a combination that failed to run once is not retried.
    pub(crate) fn is_settled(&self, planned: &PlannedRun) -> bool {
        let is_same = |made: &&SweepRun| made.planned.combination_index == planned.combination_index;
        self.runs.iter().filter(is_same).any(|made| made.planned.round == planned.round || made.result.is_err())
    }
}

/// Makes the runs of a plan, and reports each when it is over, with its index in the plan. The function that makes one
/// gets what was made before it. A combination that failed to run once is not retried; an interrupted run is the last.
pub(crate) fn run_all(
    plan: &SweepPlan,
    run_one: &mut dyn FnMut(&SweepOutcome, PlannedRun) -> SweepRun,
    report: &mut dyn FnMut(usize, &SweepRun),
) -> SweepOutcome {
    let mut outcome = SweepOutcome::default();
    for (index, planned) in plan.runs.iter().enumerate() {
        if outcome.is_settled(planned) {
            continue;
        }
        let made = run_one(&outcome, *planned);
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
    outcome.over = true;
    outcome
}
