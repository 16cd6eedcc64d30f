//! The result of a sweep: one row a combination, which of them is the best, and which are as good within the noise.
//! Pure. Refuses to know how it is shown.

use super::carry::{Attempt, Made, NoRun, Outcome};
use super::measure::{Measure, cost, gate_value};
use super::plan::{Plan, Variation};
use crate::compare::stats::{Call, Family, Scale};
use crate::report::Run;
use crate::verdict::Verdict;

/// The step to which a figure of a run is known, as a share.
const GRAIN: f64 = 0.001;

/// What a sweep showed.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The settings that were varied.
    pub keys: Vec<String>,
    /// What the measure is called.
    pub measure: String,
    /// One for each combination, in the order of the plan.
    pub rows: Vec<Row>,
    /// The place of the best row, where gates pass in any.
    pub best: Option<usize>,
    /// Whether it was ended before all runs were made.
    pub interrupted: bool,
    /// Runs of every combination, had all been made.
    pub repeats: usize,
}

/// One combination.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its values, one for each key.
    pub values: Vec<String>,
    /// Runs that were finished.
    pub runs: usize,
    /// Of those: runs whose gates all hold.
    pub passed: usize,
    /// The measure.
    pub measure: Cell,
    /// Processor seconds of the target.
    pub cpu_s: Cell,
    /// The target's peak of memory, in bytes.
    pub rss_bytes: Cell,
    /// How it stands to the best.
    pub standing: Standing,
    /// Gates that did not hold, void runs, and why a run could not be made; each once.
    pub notes: Vec<String>,
}

/// A figure over the runs of a combination.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cell {
    /// The middle one, or the mean of the two in the middle.
    pub median: Option<f64>,
    /// The lowest and the highest, where there are several.
    pub range: Option<(f64, f64)>,
}

/// How a combination stands to the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is the best.
    Best,
    /// Its gates pass, and no difference from the best is beyond the noise.
    AsGood,
    /// Its gates pass, and it is behind the best, beyond the noise.
    Behind,
    /// Its gates pass, and nobody can say: a single run has no noise to hold a difference against.
    Unknown,
    /// A gate does not hold, or there is no run.
    Out,
}

impl Cell {
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let middle = |place: usize| values.get(place).copied();
        let (low, high) = (values.len().saturating_sub(1) / 2, values.len() / 2);
        let range = match values.as_slice() {
            [low, .., high] => Some((*low, *high)),
            _ => None,
        };
        Self { median: middle(low).zip(middle(high)).map(|(low, high)| low.midpoint(high)), range }
    }
}

/// Makes the table of what was run.
#[must_use]
pub fn table(variations: &[Variation], plan: &Plan, outcome: &Outcome, measure: &Measure) -> Table {
    let combinations: Vec<Combination<'_>> =
        (0..plan.combinations.len()).map(|place| Combination::of(place, plan, &outcome.made)).collect();
    let name = outcome.made.iter().find_map(|made| made.attempt.as_ref().ok());
    let mut table = Table {
        keys: variations.iter().map(|variation| variation.key.clone()).collect(),
        measure: name.map_or_else(|| "throughput".to_owned(), |(run, _)| measure.name(run)),
        rows: combinations.iter().map(|it| it.row(measure)).collect(),
        best: None,
        interrupted: outcome.interrupted,
        repeats: plan.turns.len() / plan.combinations.len().max(1),
    };
    let figures: Vec<Vec<f64>> = combinations.iter().map(|it| it.figures(measure)).collect();
    table.best = best(&table.rows, measure);
    if let Some(best) = table.best {
        let standings = standings(&table.rows, &figures, best);
        table.rows.iter_mut().zip(standings).for_each(|(row, standing)| row.standing = standing);
    }
    table
}

/// The runs of one combination.
struct Combination<'a> {
    values: &'a [String],
    runs: Vec<&'a Run>,
    failures: Vec<&'a str>,
}

impl<'a> Combination<'a> {
    fn of(place: usize, plan: &'a Plan, made: &'a [Made]) -> Self {
        let own = || made.iter().filter(move |made| made.turn.combination == place);
        let runs = own().filter_map(|made| made.attempt.as_ref().ok()).map(|(run, _)| run);
        Self {
            values: &plan.combinations[place],
            runs: runs.filter(|run| run.verdict != Verdict::Interrupted).collect(),
            failures: own().filter_map(|made| failure(&made.attempt)).collect(),
        }
    }

    fn figures(&self, measure: &Measure) -> Vec<f64> {
        self.runs.iter().filter_map(|run| measure.of(run)).collect()
    }

    fn row(&self, measure: &Measure) -> Row {
        let costs = || self.runs.iter().map(|run| cost(run));
        Row {
            values: self.values.to_vec(),
            runs: self.runs.len(),
            passed: self.runs.iter().filter(|run| run.verdict == Verdict::Passed).count(),
            measure: Cell::of(self.figures(measure)),
            cpu_s: Cell::of(costs().filter_map(|(cpu_s, _)| cpu_s).collect()),
            rss_bytes: Cell::of(costs().filter_map(|(_, rss_bytes)| rss_bytes).collect()),
            standing: Standing::Out,
            notes: self.notes(),
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = Vec::new();
        let mut add = |note: String| {
            if !notes.contains(&note) {
                notes.push(note);
            }
        };
        for run in &self.runs {
            if run.verdict == Verdict::Void {
                add(format!("the run {} is void: the lab fell behind its own plan", run.id));
            }
            for gate in run.gates.iter().filter(|gate| !gate.ok) {
                add(format!("{} {}: found {}", gate.name, gate.limit, gate_value(&gate.value)));
            }
        }
        self.failures.iter().for_each(|why| add(format!("could not run: {why}")));
        notes
    }
}

fn failure(attempt: &Attempt) -> Option<&str> {
    match attempt {
        Err(NoRun::Failed(why)) => Some(why),
        Err(NoRun::Ended) | Ok(_) => None,
    }
}

impl Row {
    /// Whether its gates hold in every run, and there is one.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.runs > 0 && self.passed == self.runs
    }
}

/// The best of those whose gates pass; of several with one median, the first.
fn best(rows: &[Row], measure: &Measure) -> Option<usize> {
    let passing = rows.iter().enumerate().filter(|(_, row)| row.passes());
    let medians = passing.filter_map(|(place, row)| Some((place, row.measure.median?)));
    let better = |a: f64, b: f64| if measure.is_more_better() { a > b } else { a < b };
    let best = medians.reduce(|best, next| if better(next.1, best.1) { next } else { best });
    best.map(|(place, _)| place)
}

/// All that pass are held against the best at once, so that many combinations do not make many false differences.
fn standings(rows: &[Row], figures: &[Vec<f64>], best: usize) -> Vec<Standing> {
    let others: Vec<usize> = (0..rows.len())
        .filter(|place| *place != best && rows[*place].passes() && !figures[*place].is_empty())
        .collect();
    let mut family = Family::default();
    others.iter().for_each(|place| family.ask_runs(Scale::Ratio, [&figures[best], &figures[*place]], GRAIN, 0.0));
    let mut standings = vec![Standing::Out; rows.len()];
    standings[best] = Standing::Best;
    for (place, answer) in others.into_iter().zip(family.decide()) {
        standings[place] = match answer.call {
            Call::Higher | Call::Lower => Standing::Behind,
            Call::Noise | Call::Equal => Standing::AsGood,
            Call::Unknown(_) => Standing::Unknown,
        };
    }
    standings
}
