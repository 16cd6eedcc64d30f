//! The command line of a sweep: from arguments to an exit code. Knows signals, files and the terminal, so that the rest
//! does not have to.
//!
//! Exit codes: 0 a best was found · 1 no run could be made · 2 usage · 3 in no combination the gates hold · 130
//! interrupted.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use super::{Made, Measure, NoRun, Outcome, Plan, Table, Turn, Variation, carry, markdown, plan, table};
use crate::aggregate::known_figures;
use crate::cli::{RunArgs, Runner, Stopped, assemble};
use crate::report::Run;
use crate::report::words::{first_few, number};
use crate::scenario::Scenario;

const COULD_NOT_RUN: u8 = 1;
const USAGE: u8 = 2;
const NONE_HOLDS: u8 = 3;
const INTERRUPTED: u8 = 130;

/// What the options alone do not say.
const HELP: &str = "\
Each round runs every combination once, in an order of its own, every second round backwards, so that a machine that
drifts meets all combinations alike. All runs of a round have one seed. At most 100 combinations and 1,000 runs.
The best is the best of those whose gates hold in every run; what is no worse beyond the noise is as good.

Exit codes: 0 a best was found, 1 no run could be made, 2 usage, 3 in no combination the gates hold, 130 interrupted.";

/// Run a scenario under every combination of some settings, in rounds, and say which did best at what cost.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct SweepArgs {
    /// What every run has in common
    #[command(flatten)]
    pub run: RunArgs,
    /// Vary a setting, as --set knows them; several are combined
    #[arg(long = "vary", value_name = "KEY=VALUE,VALUE", required_unless_present = "list")]
    pub variations: Vec<String>,
    /// Rounds over all combinations; from two on, noise is told from difference
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub repeat: usize,
    /// What makes a combination the best, by the path of a figure such as create_game.latency_ms.p99; max: or min:
    /// before it says which way. By default the highest throughput
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
    match carry_out(args, program) {
        Ok(table) => {
            say(&markdown(&table));
            ExitCode::from(code(&table))
        }
        Err(Stopped::Usage(message)) => fail(USAGE, &message),
        Err(Stopped::CouldNotRun(message)) => fail(COULD_NOT_RUN, &message),
        Err(Stopped::Killed(_)) => fail(INTERRUPTED, "ended at once"),
    }
}

fn code(table: &Table) -> u8 {
    let made = table.rows.iter().any(|row| row.runs > 0);
    match table.best {
        _ if table.interrupted => INTERRUPTED,
        Some(_) => 0,
        None if made => NONE_HOLDS,
        None => COULD_NOT_RUN,
    }
}

fn carry_out(args: SweepArgs, program: &str) -> Result<Table, Stopped> {
    let parse = |text: &String| Variation::parse(text).map_err(|message| usage(&format!("--vary {text}: {message}")));
    let variations: Vec<Variation> = args.variations.iter().map(parse).collect::<Result<_, _>>()?;
    let seed = args.run.seed.map_or_else(crate::cli::new_seed, Ok)?;
    let plan = plan(&variations, args.repeat, seed).map_err(|message| usage(&message))?;
    let measure = args.best.as_deref().map_or(Measure::Throughput, Measure::parse);
    check(&args.run, &variations, &plan, &measure)?;
    let outcome = make(&args.run, program, &variations, &plan, &measure)?;
    let table = table(&variations, &plan, &outcome, &measure);
    if let Some(path) = args.markdown {
        let wrong = |error| Stopped::CouldNotRun(format!("{}: {error}", path.display()));
        std::fs::write(&path, markdown(&table)).map_err(wrong)?;
    }
    Ok(table)
}

/// Every combination is a scenario that can be run, and knows the figure that it is measured by: before the first byte
/// is sent.
fn check(run: &RunArgs, variations: &[Variation], plan: &Plan, measure: &Measure) -> Result<(), Stopped> {
    for values in &plan.combinations {
        let assembled = assemble(&with(run, variations, values, None))?;
        check_measure(&assembled.scenario, measure)?;
    }
    Ok(())
}

fn check_measure(scenario: &Scenario, measure: &Measure) -> Result<(), Stopped> {
    let Measure::Path { path, .. } = measure else { return Ok(()) };
    let known =
        known_figures(&scenario.journeys, &scenario.works, &scenario.phases, &scenario.observers, &scenario.pushes);
    if known.contains(path) {
        return Ok(());
    }
    let last = path.rsplit('.').next().unwrap_or(path);
    let alike = first_few(known.iter().filter(|known| known.ends_with(last)), ", ");
    let hint = if alike.is_empty() { alike } else { format!("; there are {alike}") };
    Err(usage(&format!("--best {path}: this scenario has no such figure{hint}")))
}

/// The arguments of one run.
fn with(run: &RunArgs, variations: &[Variation], values: &[String], seed: Option<u64>) -> RunArgs {
    let varied = variations.iter().zip(values).map(|(variation, value)| format!("{}={value}", variation.key));
    let settings = run.settings.iter().cloned().chain(varied).collect();
    RunArgs { settings, seed: seed.or(run.seed), ..run.clone() }
}

fn make(
    run: &RunArgs,
    program: &str,
    variations: &[Variation],
    plan: &Plan,
    measure: &Measure,
) -> Result<Outcome, Stopped> {
    let mut runner = Runner::new(program)?;
    let mut run_one = |turn: Turn, values: &[String]| {
        let finished = runner.carry_out(with(run, variations, values, Some(turn.seed)));
        finished.map(|finished| (finished.run, finished.dir)).map_err(|stopped| match stopped {
            Stopped::Usage(message) | Stopped::CouldNotRun(message) => NoRun::Failed(message),
            Stopped::Killed(_) => NoRun::Ended,
        })
    };
    let all = plan.turns.len();
    let mut tell = |place: usize, made: &Made| {
        if !run.quiet {
            tell(&format!("run {} of {all}: {}", place + 1, line(variations, plan, made, measure)));
        }
    };
    Ok(carry(plan, &mut run_one, &mut tell))
}

fn line(variations: &[Variation], plan: &Plan, made: &Made, measure: &Measure) -> String {
    let values = &plan.combinations[made.turn.combination];
    let pairs: Vec<String> =
        variations.iter().zip(values).map(|(variation, value)| format!("{}={value}", variation.key)).collect();
    let result = match &made.attempt {
        Ok((run, dir)) => format!("{}, {}, {}", run.verdict.word(), figure(run, measure), dir.display()),
        Err(NoRun::Failed(why)) => format!("could not run: {why}"),
        Err(NoRun::Ended) => "ended at once".to_owned(),
    };
    format!("{}: {result}", pairs.join(" "))
}

fn figure(run: &Run, measure: &Measure) -> String {
    format!("{} {}", measure.name(run), number(measure.of(run)))
}

fn usage(message: &str) -> Stopped {
    Stopped::Usage(message.to_owned())
}

/// Nobody may be listening any more; the exit code says it all the same.
fn say(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn fail(code: u8, message: &str) -> ExitCode {
    tell(&format!("gauntlet sweep: {message}"));
    ExitCode::from(code)
}
