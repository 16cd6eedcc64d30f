//! The command line of a sweep: from arguments to an exit code. Handles signals, files and the terminal, so that the
//! other modules do not have to.
//!
//! Exit codes: 0 a best was found · 1 no run could be made · 2 usage · 3 in no combination the gates hold · 130
//! interrupted.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use super::{
    Objective, PlannedRun, SweepDirectory, SweepHead, SweepOutcome, SweepPlan, SweepRun, SweepRunRecord, SweepScenario,
    SweepTable, Variation, markdown, plan, run_all, table,
};
use crate::cli::{RunArgs, TrialRunner, assemble};
use crate::clock::{rfc3339, unix_ms_now};
use crate::format::{first_few, number};
use crate::output::{CliError, EXIT_COULD_NOT_RUN, EXIT_INTERRUPTED, print_stdout};
use crate::scenario::{Scenario, known_figures};
use crate::trial::{FinishedTrial, new_run_id};
use crate::verdict::Verdict;

const EXIT_NONE_PASSED: u8 = 3;

/// What the options alone do not say.
const HELP: &str = "\
Each round runs every combination once, in an order of its own, every second round backwards, so that a machine whose
speed drifts affects all combinations equally. All runs of a round have one seed. At most 100 combinations and 1,000 runs.
The best is the best of those whose gates passed in every run; those that are not worse by more than noise are as good.
The table and the names of the runs are in sweep.json, in a directory beside theirs, from the first run on.

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
    match table.verdict {
        Some(Verdict::Interrupted) => EXIT_INTERRUPTED,
        _ if table.best.is_some() => 0,
        _ if made => EXIT_NONE_PASSED,
        _ => EXIT_COULD_NOT_RUN,
    }
}

fn execute(args: SweepArgs, program: &str) -> Result<SweepTable, CliError> {
    let parse =
        |text: &String| Variation::parse(text).map_err(|message| CliError::usage(format!("--vary {text}: {message}")));
    let variations: Vec<Variation> = args.variations.iter().map(parse).collect::<Result<_, _>>()?;
    let seed = args.run.seed.map_or_else(crate::cli::new_seed, Ok)?;
    let plan = plan(&variations, args.repeat, seed).map_err(CliError::usage)?;
    let objective = args.best.as_deref().map_or(Objective::Throughput, Objective::parse);
    let scenario = check(&args.run, &variations, &plan, &objective)?;
    let id = args.run.id.clone().map_or_else(new_run_id, Ok).map_err(CliError::failed)?;
    let scenario = SweepScenario {
        settings: args.run.settings.clone(),
        target: scenario.target.spawn.is_none().then(|| scenario.target.url.url()),
        seed,
        name: scenario.name,
        summary: scenario.summary,
    };
    let head = SweepHead { id, program: program.to_owned(), scenario, started_at: rfc3339(unix_ms_now()) };
    let directory = SweepDirectory::create(&args.run.out, &head.id).map_err(CliError::failed)?;
    let sweep = Sweep {
        run: &args.run,
        variations: &variations,
        plan: &plan,
        objective: &objective,
        head,
        directory,
        began: Instant::now(),
    };
    let table = sweep.run(program)?;
    if let Some(path) = args.markdown {
        let wrong = |error| CliError::failed(format!("{}: {error}", path.display()));
        std::fs::write(&path, markdown(&table)).map_err(wrong)?;
    }
    Ok(table)
}

/// Checks, before the first byte is sent, that every combination is a valid scenario that has the figure of the
/// objective. Returns one of them.
fn check(
    run: &RunArgs,
    variations: &[Variation],
    plan: &SweepPlan,
    objective: &Objective,
) -> Result<Scenario, CliError> {
    let mut last = None;
    for values in &plan.combinations {
        let assembled = assemble(&run_args(run, variations, values, None))?;
        check_measure(&assembled.scenario, objective)?;
        last = Some(assembled.scenario);
    }
    Ok(last.expect("a plan has a combination"))
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

/// A sweep that is valid.
struct Sweep<'a> {
    /// What every run has in common.
    run: &'a RunArgs,
    variations: &'a [Variation],
    plan: &'a SweepPlan,
    objective: &'a Objective,
    head: SweepHead,
    directory: SweepDirectory,
    began: Instant,
}

impl Sweep<'_> {
    fn run(&self, program: &str) -> Result<SweepTable, CliError> {
        let mut runner = TrialRunner::new(program)?;
        self.write(&SweepOutcome::default(), None).map_err(CliError::failed)?;
        let mut run_one = |before: &SweepOutcome, planned: PlannedRun| {
            let id = match new_run_id() {
                Ok(id) => id,
                Err(message) => return SweepRun { planned, id: String::new(), result: Err(CliError::failed(message)) },
            };
            self.write_or_warn(before, Some((id.as_str(), planned)));
            let values = &self.plan.combinations[planned.combination_index];
            let args = run_args(self.run, self.variations, values, Some(planned.seed));
            SweepRun { planned, result: runner.run(RunArgs { id: Some(id.clone()), ..args }), id }
        };
        let all = self.plan.runs.len();
        let mut report = |index: usize, made: &SweepRun| {
            if !self.run.quiet {
                let line = run_line(self.variations, self.plan, made, self.objective);
                let _ = writeln!(std::io::stderr(), "run {} of {all}: {line}", index + 1);
            }
        };
        let outcome = run_all(self.plan, &mut run_one, &mut report);
        self.write_or_warn(&outcome, None);
        if !self.run.quiet {
            let _ = writeln!(std::io::stderr(), "The table and its runs: {}", self.directory.file().display());
        }
        Ok(self.table(&outcome))
    }

    fn table(&self, outcome: &SweepOutcome) -> SweepTable {
        table(self.variations, self.plan, outcome, self.objective)
    }

    /// Writes what is made until now, and which run goes on.
    fn write(&self, outcome: &SweepOutcome, running: Option<(&str, PlannedRun)>) -> Result<(), String> {
        let running = running.map(|(id, planned)| SweepRunRecord::running(id, planned));
        let duration_s = self.began.elapsed().as_secs_f64();
        let record = self.head.record(self.plan, outcome, self.table(outcome), self.objective, running, duration_s);
        self.directory.write(&record)
    }

    /// A sweep whose record cannot be written goes on: its table is printed at the end.
    fn write_or_warn(&self, outcome: &SweepOutcome, running: Option<(&str, PlannedRun)>) {
        if let Err(message) = self.write(outcome, running) {
            let _ = writeln!(std::io::stderr(), "gauntlet sweep: {message}");
        }
    }
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
