//! The command line of a sweep: from arguments to an exit code. Handles signals, files and the terminal, so that the
//! other modules do not have to.
//!
//! Exit codes: 0 a best was found · 1 no run could be made · 2 usage · 3 in no combination the gates hold · 130
//! interrupted.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use super::{
    Objective, PlannedRun, SweepOutcome, SweepPlan, SweepRun, SweepTable, Variation, markdown, plan, run_all, table,
};
use crate::cli::{RunArgs, TrialRunner, assemble};
use crate::format::{first_few, number};
use crate::output::{CliError, EXIT_COULD_NOT_RUN, EXIT_INTERRUPTED, print_stdout};
use crate::scenario::{Scenario, known_figures};
use crate::trial::FinishedTrial;

const EXIT_NONE_PASSED: u8 = 3;

/// What the options alone do not say.
const HELP: &str = "\
Each round runs every combination once, in an order of its own, every second round backwards, so that a machine whose
speed drifts affects all combinations equally. All runs of a round have one seed. At most 100 combinations and 1,000 runs.
The best is the best of those whose gates passed in every run; those that are not worse by more than noise are as good.

Exit codes: 0 a best was found, 1 no run could be made, 2 usage, 3 no combination passed its gates, 130 interrupted.";

/// Runs a scenario under every combination of some settings, in rounds, and reports which did best at what cost
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct SweepArgs {
    /// What every run has in common
    #[command(flatten)]
    pub run: RunArgs,
    /// Vary a setting, named as for --set; several are combined
    #[arg(long = "vary", value_name = "KEY=VALUE,VALUE", required_unless_present = "list")]
    pub variations: Vec<String>,
    /// Rounds over all combinations; with two or more, differences can be told from noise
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub repeat: usize,
    /// Figure by which combinations are ranked, such as create_game.latency_ms.p99; the prefix max: or min: gives the
    /// direction. By default the highest throughput
    #[arg(long, value_name = "FIGURE")]
    pub best: Option<String>,
    /// Write the table as Markdown
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
}

/// Sweeps, prints, writes.
#[must_use]
pub fn run(args: SweepArgs, program: &str) -> ExitCode {
    if args.run.list {
        return crate::cli::run(args.run, program);
    }
    match execute(args, program) {
        Ok(table) => {
            print_stdout(&markdown(&table));
            ExitCode::from(exit_code(&table))
        }
        Err(error) => error.print_and_exit("sweep"),
    }
}

fn exit_code(table: &SweepTable) -> u8 {
    let made = table.rows.iter().any(|row| row.runs > 0);
    match table.best {
        _ if table.interrupted => EXIT_INTERRUPTED,
        Some(_) => 0,
        None if made => EXIT_NONE_PASSED,
        None => EXIT_COULD_NOT_RUN,
    }
}

fn execute(args: SweepArgs, program: &str) -> Result<SweepTable, CliError> {
    let parse =
        |text: &String| Variation::parse(text).map_err(|message| CliError::usage(format!("--vary {text}: {message}")));
    let variations: Vec<Variation> = args.variations.iter().map(parse).collect::<Result<_, _>>()?;
    let seed = args.run.seed.map_or_else(crate::cli::new_seed, Ok)?;
    let plan = plan(&variations, args.repeat, seed).map_err(CliError::usage)?;
    let objective = args.best.as_deref().map_or(Objective::Throughput, Objective::parse);
    check(&args.run, &variations, &plan, &objective)?;
    let outcome = run_sweep(&args.run, program, &variations, &plan, &objective)?;
    let table = table(&variations, &plan, &outcome, &objective);
    if let Some(path) = args.markdown {
        let wrong = |error| CliError::failed(format!("{}: {error}", path.display()));
        std::fs::write(&path, markdown(&table)).map_err(wrong)?;
    }
    Ok(table)
}

/// Checks, before the first byte is sent, that every combination is a valid scenario that has the figure of the
/// objective.
fn check(run: &RunArgs, variations: &[Variation], plan: &SweepPlan, objective: &Objective) -> Result<(), CliError> {
    for values in &plan.combinations {
        let assembled = assemble(&run_args(run, variations, values, None))?;
        check_measure(&assembled.scenario, objective)?;
    }
    Ok(())
}

fn check_measure(scenario: &Scenario, objective: &Objective) -> Result<(), CliError> {
    let Objective::Path { path, .. } = objective else { return Ok(()) };
    let known = known_figures(scenario);
    if known.contains(path) {
        return Ok(());
    }
    let last = path.rsplit('.').next().unwrap_or(path);
    let alike = first_few(known.iter().filter(|known| known.ends_with(last)), ", ");
    let hint = if alike.is_empty() { alike } else { format!("; there are {alike}") };
    Err(CliError::usage(format!("--best {path}: this scenario has no such figure{hint}")))
}

/// The arguments of one run.
fn run_args(run: &RunArgs, variations: &[Variation], values: &[String], seed: Option<u64>) -> RunArgs {
    let settings = [run.settings.as_slice(), &settings(variations, values)].concat();
    RunArgs { settings, seed: seed.or(run.seed), id: None, ..run.clone() }
}

fn settings(variations: &[Variation], values: &[String]) -> Vec<String> {
    variations.iter().zip(values).map(|(variation, value)| format!("{}={value}", variation.key)).collect()
}

fn run_sweep(
    run: &RunArgs,
    program: &str,
    variations: &[Variation],
    plan: &SweepPlan,
    objective: &Objective,
) -> Result<SweepOutcome, CliError> {
    let mut runner = TrialRunner::new(program)?;
    let mut run_one =
        |planned: PlannedRun, values: &[String]| runner.run(run_args(run, variations, values, Some(planned.seed)));
    let all = plan.runs.len();
    let mut report = |index: usize, made: &SweepRun| {
        if !run.quiet {
            let line = run_line(variations, plan, made, objective);
            let _ = writeln!(std::io::stderr(), "run {} of {all}: {line}", index + 1);
        }
    };
    Ok(run_all(plan, &mut run_one, &mut report))
}

fn run_line(variations: &[Variation], plan: &SweepPlan, made: &SweepRun, objective: &Objective) -> String {
    let pairs = settings(variations, &plan.combinations[made.planned.combination_index]);
    let result = match &made.result {
        Ok(FinishedTrial { run, dir }) => {
            let (name, value) = (objective.name(run), number(objective.value(run)));
            format!("{}, {name} {value}, {}", run.verdict.name(), dir.display())
        }
        Err(error) if error.code == EXIT_INTERRUPTED => "ended at once".to_owned(),
        Err(error) => format!("could not run: {}", error.message),
    };
    format!("{}: {result}", pairs.join(" "))
}
