//! The result of a sweep: one row per combination, which of them is the best, and which are as good within the noise.
//! Pure. Does not know how it is shown.

use serde::{Deserialize, Serialize};

use super::objective::{Objective, cost, format_gate_value};
use super::plan::{SweepPlan, Variation};
use super::runner::{SweepOutcome, SweepRun};
use crate::compare::stats::{ComparisonScale, Decision, Family};
use crate::limits::SWEEP_NOTES_MAX;
use crate::output::EXIT_INTERRUPTED;
use crate::report::Run;
use crate::statistics::median;
use crate::verdict::Verdict;

/// The resolution of a figure of a run, as a share.
const RESOLUTION: f64 = 0.001;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SweepTable {
    /// What it showed: gates hold in some combination, or in none; or it was interrupted. None while it goes on.
    pub(crate) verdict: Option<Verdict>,
    /// The settings that were varied.
    pub(crate) keys: Vec<String>,
    /// The name of the objective.
    pub(crate) objective: String,
    /// One for each combination, in the order of the plan.
    pub(crate) rows: Vec<SweepRow>,
    /// The index of the best row, if gates pass in any.
    pub(crate) best: Option<usize>,
    /// The planned runs of every combination.
    pub(crate) rounds: usize,
}

/// One combination.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SweepRow {
    /// Its values, one for each key.
    pub(crate) values: Vec<String>,
    /// Runs that were finished.
    pub(crate) runs: usize,
    /// Runs that could not be made: the target did not start, for example.
    #[serde(default)]
    pub(crate) failures: usize,
    /// Of those that were finished: runs whose gates all hold.
    pub(crate) passed: usize,
    pub(crate) objective: FigureSummary,
    /// CPU seconds of the target.
    pub(crate) cpu_s: FigureSummary,
    /// The target's peak memory, in bytes.
    pub(crate) rss_bytes: FigureSummary,
    pub(crate) ranking: Ranking,
    /// Gates that did not hold, void runs, and why a run could not be made; each once.
    pub(crate) notes: Vec<String>,
}

/// A figure over the runs of a combination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct FigureSummary {
    pub(crate) median: Option<f64>,
    /// The minimum and the maximum, if there are several runs.
    pub(crate) range: Option<(f64, f64)>,
}

/// How a combination compares to the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ranking {
    Best,
    /// Its gates pass, and no difference from the best is beyond the noise.
    Tied,
    /// Its gates pass, and it is behind the best, beyond the noise.
    Behind,
    /// Its gates pass, but it cannot be decided: single runs give no estimate of the noise.
    Unknown,
    /// A gate does not hold, or there is no run.
    Failed,
}

impl FigureSummary {
    fn from_values(values: Vec<f64>) -> Self {
        let least = values.iter().copied().min_by(f64::total_cmp);
        let range = least.zip(values.iter().copied().max_by(f64::total_cmp)).filter(|_| values.len() > 1);
        Self { median: median(values), range }
    }
}

/// Makes the table of the runs.
#[must_use]
pub(crate) fn table(
    variations: &[Variation],
    plan: &SweepPlan,
    outcome: &SweepOutcome,
    measure: &Objective,
) -> SweepTable {
    let combinations: Vec<Combination<'_>> =
        (0..plan.combinations.len()).map(|index| Combination::from_runs(index, plan, &outcome.runs)).collect();
    let name = outcome.runs.iter().find_map(|made| made.result.as_ref().ok());
    let mut table = SweepTable {
        verdict: None,
        keys: variations.iter().map(|variation| variation.key.clone()).collect(),
        objective: name.map_or_else(|| "throughput".to_owned(), |finished| measure.name(&finished.run)),
        rows: combinations.iter().map(|it| it.row(measure)).collect(),
        best: None,
        rounds: plan.runs.len() / plan.combinations.len().max(1),
    };
    let figures: Vec<Vec<f64>> = combinations.iter().map(|it| it.figures(measure)).collect();
    table.best = best_index(&table.rows, measure);
    if let Some(best) = table.best {
        let rankings = rank_rows(&table.rows, &figures, best);
        table.rows.iter_mut().zip(rankings).for_each(|(row, standing)| row.ranking = standing);
    }
    table.verdict = outcome.over.then_some(match table.best {
        _ if outcome.interrupted => Verdict::Interrupted,
        Some(_) => Verdict::Passed,
        None => Verdict::Failed,
    });
    table
}

/// The runs of one combination.
struct Combination<'a> {
    values: &'a [String],
    runs: Vec<&'a Run>,
    failures: Vec<&'a str>,
}

impl<'a> Combination<'a> {
    fn from_runs(index: usize, plan: &'a SweepPlan, made: &'a [SweepRun]) -> Self {
        let own = || made.iter().filter(move |made| made.planned.combination_index == index);
        let runs = own().filter_map(|made| Some(&made.result.as_ref().ok()?.run));
        let errors = own().filter_map(|made| made.result.as_ref().err());
        Self {
            values: &plan.combinations[index],
            runs: runs.filter(|run| run.verdict != Verdict::Interrupted).collect(),
            failures: errors
                .filter(|error| error.code != EXIT_INTERRUPTED)
                .map(|error| error.message.as_str())
                .collect(),
        }
    }

    fn figures(&self, measure: &Objective) -> Vec<f64> {
        self.runs.iter().filter_map(|run| measure.value(run)).collect()
    }

    fn row(&self, measure: &Objective) -> SweepRow {
        let costs = || self.runs.iter().map(|run| cost(run));
        SweepRow {
            values: self.values.to_vec(),
            runs: self.runs.len(),
            failures: self.failures.len(),
            passed: self.runs.iter().filter(|run| run.verdict == Verdict::Passed).count(),
            objective: FigureSummary::from_values(self.figures(measure)),
            cpu_s: FigureSummary::from_values(costs().filter_map(|(cpu_s, _)| cpu_s).collect()),
            rss_bytes: FigureSummary::from_values(costs().filter_map(|(_, rss_bytes)| rss_bytes).collect()),
            ranking: Ranking::Failed,
            notes: self.notes(),
        }
    }

    fn notes(&self) -> Vec<String> {
        let (mut notes, mut more) = (Vec::<String>::new(), false);
        let mut add = |note: String| {
            if notes.contains(&note) {
                return;
            }
            if notes.len() < SWEEP_NOTES_MAX { notes.push(note) } else { more = true }
        };
        for run in &self.runs {
            if run.verdict == Verdict::Void {
                add(format!("the run {} is void: the lab fell behind its own plan", run.id));
            }
            for gate in run.gates.iter().filter(|gate| !gate.ok) {
                add(format!("{} {}: found {}", gate.name, gate.limit, format_gate_value(&gate.value)));
            }
        }
        self.failures.iter().for_each(|why| add(format!("could not run: {why}")));
        notes.extend(more.then(|| "and more, in the reports of its runs".to_owned()));
        notes
    }
}

impl SweepRow {
    /// Whether every run could be made and its gates hold, and there is one.
    #[must_use]
    pub(crate) fn has_passed(&self) -> bool {
        self.runs > 0 && self.passed == self.runs && self.failures == 0
    }
}

/// The best of those whose gates pass; of several with one median, the first.
fn best_index(rows: &[SweepRow], measure: &Objective) -> Option<usize> {
    let passing = rows.iter().enumerate().filter(|(_, row)| row.has_passed());
    let medians = passing.filter_map(|(index, row)| Some((index, row.objective.median?)));
    let better = |a: f64, b: f64| if measure.is_higher_better() { a > b } else { a < b };
    let best = medians.reduce(|best, next| if better(next.1, best.1) { next } else { best });
    best.map(|(index, _)| index)
}

/// All that pass are compared with the best at once, so that many combinations do not produce many false differences.
fn rank_rows(rows: &[SweepRow], figures: &[Vec<f64>], best: usize) -> Vec<Ranking> {
    let others: Vec<usize> = (0..rows.len())
        .filter(|index| *index != best && rows[*index].has_passed() && !figures[*index].is_empty())
        .collect();
    let mut family = Family::default();
    others
        .iter()
        .for_each(|index| family.add_runs(ComparisonScale::Ratio, [&figures[best], &figures[*index]], RESOLUTION, 0.0));
    let mut rankings = vec![Ranking::Failed; rows.len()];
    rankings[best] = Ranking::Best;
    for (index, answer) in others.into_iter().zip(family.decide()) {
        rankings[index] = match answer.decision {
            Decision::Higher | Decision::Lower => Ranking::Behind,
            Decision::NotSignificant | Decision::Equal => Ranking::Tied,
            Decision::Unknown(_) => Ranking::Unknown,
        };
    }
    rankings
}
