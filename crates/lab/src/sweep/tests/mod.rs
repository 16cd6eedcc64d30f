//! Sweeps of made-up runs: the table, the best combination, the text if there is none, and what their records say.

mod record;

use std::path::PathBuf;

use super::runner::RunResult;
use super::table::Ranking;
use super::{
    Objective, PlannedRun, SweepOutcome, SweepPlan, SweepRun, SweepTable, Variation, markdown, plan, run_all, table,
};
use crate::compare::tests::fixture::TEST_RUN;
use crate::output::{CliError, EXIT_INTERRUPTED};
use crate::report::Run;
use crate::trial::FinishedTrial;
use crate::verdict::{GateResult, Verdict};

fn variations() -> Vec<Variation> {
    ["workers=25,50,200", "pool=30,55"].map(|text| Variation::parse(text).unwrap()).into()
}

fn run_id(planned: PlannedRun) -> String {
    format!("run-{}-{}", planned.round, planned.combination_index)
}

/// A run with this throughput and CPU time.
fn run(planned: PlannedRun, per_min: f64, cpu_s: f64, verdict: Verdict) -> Run {
    let mut run: Run = serde_json::from_value(TEST_RUN.run_json()).unwrap();
    run.id = run_id(planned);
    run.verdict = verdict;
    run.gates.retain(|gate| gate.ok);
    if verdict == Verdict::Failed {
        let mut stuck = GateResult::implicit("game.stuck", "= 0", "", false);
        stuck.value = 25.into();
        run.gates.push(stuck);
    }
    run.results.work.values_mut().for_each(|work| work.throughput_per_min = Some(per_min));
    run.results.server.process.cpu_s = Some(cpu_s);
    run
}

fn finished(run: Run) -> RunResult {
    Ok(FinishedTrial { run, dir: PathBuf::from("runs") })
}

/// Fifty workers are best, slightly ahead of two hundred, which cost more; a pool of 30 fails.
fn service(planned: PlannedRun, values: &[String]) -> RunResult {
    let wobble = 1.0 + 0.004 * ((planned.round * 7 + planned.combination_index * 3) % 5) as f64;
    let (per_min, cpu_s) = match values[0].as_str() {
        "25" => (57.0, 20.0),
        "50" => (102.0, 40.0),
        _ => (101.5, 30.0),
    };
    let verdict = if values[1] == "30" { Verdict::Failed } else { Verdict::Passed };
    finished(run(planned, per_min * wobble, cpu_s, verdict))
}

fn swept(repeats: usize, run_one: &mut dyn FnMut(PlannedRun, &[String]) -> RunResult) -> (SweepPlan, SweepOutcome) {
    let plan = plan(&variations(), repeats, 5).unwrap();
    let mut one = |_: &SweepOutcome, planned: PlannedRun| {
        let result = run_one(planned, &plan.combinations[planned.combination_index]);
        SweepRun { planned, id: run_id(planned), result }
    };
    let outcome = run_all(&plan, &mut one, &mut |_, _| {});
    (plan, outcome)
}

fn shown(repeats: usize, objective: &Objective) -> SweepTable {
    let (plan, outcome) = swept(repeats, &mut service);
    table(&variations(), &plan, &outcome, objective)
}

#[track_caller]
fn check(repeats: usize, objective: &Objective, best: &str, rankings: [Ranking; 3]) {
    let table = shown(repeats, objective);
    assert_eq!(table.best.map(|index| table.rows[index].values.concat()).as_deref(), Some(best));
    let passing: Vec<Ranking> = table.rows.iter().filter(|row| row.has_passed()).map(|row| row.ranking).collect();
    assert_eq!(passing, rankings);
    assert!(table.rows.iter().filter(|row| !row.has_passed()).all(|row| row.ranking == Ranking::Failed));
}

#[test]
fn the_best_is_the_best_of_those_whose_gates_pass() {
    use Ranking::{Behind, Best, Tied, Unknown};
    // In the order of 25, 50 and 200 workers.
    check(4, &Objective::Throughput, "5055", [Behind, Best, Tied]);
    check(1, &Objective::Throughput, "5055", [Unknown, Best, Unknown]);
    check(4, &Objective::parse("server.cpu_s"), "2555", [Best, Behind, Behind]);
    check(4, &Objective::parse("max:server.cpu_s"), "5055", [Behind, Best, Behind]);
}

#[test]
fn a_sweep_in_markdown() {
    insta::assert_snapshot!("sweep", markdown(&shown(4, &Objective::Throughput)));
}

#[test]
fn a_sweep_that_was_ended_shows_what_there_is() {
    let mut made = 0;
    let (plan, outcome) = swept(2, &mut |planned, values| {
        made += 1;
        let mut trial = service(planned, values)?;
        if made == 5 {
            trial.run.verdict = Verdict::Interrupted;
        }
        Ok(trial)
    });
    assert!(outcome.interrupted && outcome.runs.len() == 5 && plan.runs.len() == 12);
    let table = table(&variations(), &plan, &outcome, &Objective::Throughput);
    assert_eq!(table.rows.iter().map(|row| row.runs).sum::<usize>(), 4);
    assert!(markdown(&table).contains("ended before all runs were made"));
}

#[test]
fn a_combination_that_cannot_run_is_not_tried_again() {
    let mut tried = 0;
    let (plan, outcome) = swept(3, &mut |planned, values| {
        if values[0] == "200" {
            tried += 1;
            return Err(CliError::failed("the server refused its settings".to_owned()));
        }
        service(planned, values)
    });
    assert_eq!((tried, outcome.runs.len()), (2, 14));
    let table = table(&variations(), &plan, &outcome, &Objective::Throughput);
    let row = table.rows.iter().find(|row| row.values == ["200", "55"]).unwrap();
    assert_eq!((row.runs, row.ranking, row.has_passed()), (0, Ranking::Failed, false));
    assert!(markdown(&table).contains("workers=200 pool=55: could not run: the server refused its settings"));
}

/// What came up once and then did not is not certified, however good that one run was.
#[test]
fn a_combination_that_could_not_run_once_is_not_the_best() {
    let (plan, outcome) = swept(2, &mut |planned: PlannedRun, values| match values[0].as_str() {
        "200" if planned.round == 1 => Err(CliError::failed("it was not ready in time".to_owned())),
        "200" => finished(run(planned, 9_999.0, 1.0, Verdict::Passed)),
        _ => service(planned, values),
    });
    let table = table(&variations(), &plan, &outcome, &Objective::Throughput);
    let rows: Vec<_> = table.rows.iter().filter(|row| row.values[0] == "200").collect();
    assert!(!rows.is_empty() && rows.iter().all(|row| (row.runs, row.failures, row.has_passed()) == (1, 1, false)));
    assert_ne!(table.best.map(|best| table.rows[best].values[0].as_str()), Some("200"));
    assert!(markdown(&table).contains("could not run"));
}

#[test]
fn an_abort_ends_the_sweep() {
    let (_, outcome) = swept(2, &mut |planned: PlannedRun, values| {
        let aborted = CliError { code: EXIT_INTERRUPTED, message: "ended at once".to_owned() };
        if planned.round == 0 { service(planned, values) } else { Err(aborted) }
    });
    assert!(outcome.interrupted && outcome.runs.len() == 7);
}

#[test]
fn where_no_gates_hold_there_is_no_best() {
    let mut failing = |planned, _: &[String]| finished(run(planned, 100.0, 1.0, Verdict::Failed));
    let (plan, outcome) = swept(1, &mut failing);
    let table = table(&variations(), &plan, &outcome, &Objective::Throughput);
    assert_eq!(table.best, None);
    assert!(markdown(&table).starts_with("**In no combination do the gates hold in every run"));
}

#[test]
fn void_runs_do_not_pass() {
    let mut void = |planned, _: &[String]| finished(run(planned, 100.0, 1.0, Verdict::Void));
    let (plan, outcome) = swept(1, &mut void);
    let table = table(&variations(), &plan, &outcome, &Objective::Throughput);
    assert!(table.rows.iter().all(|row| row.passed == 0 && row.notes.iter().any(|note| note.contains("is void"))));
}
