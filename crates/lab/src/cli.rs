//! The command line of a trial: from arguments to an exit code. Handles files, signals and the terminal, so that the
//! other modules do not have to.
//!
//! Exit codes: 0 passed · 1 could not run · 2 usage · 3 a gate failed · 4 void · 130 interrupted.

use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::SystemTime;

use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::default_gates::count_gates;
use crate::format::pluralize;
use crate::guard::Guard;
use crate::limits::{FEED_BYTES_MAX, INTERRUPT_DRAIN};
use crate::machine::start_ticks;
use crate::output::{CliError, EXIT_INTERRUPTED, has_colours, print_stdout};
use crate::report::{Screen, summary};
use crate::safety;
use crate::scenario::{
    BUILTIN_FILES, BaseUrl, Document, Feed, FeedRows, Scenario, ValidationError, ValidationErrors, builtin, builtins,
};
use crate::signals::ShutdownSignals;
use crate::trial::{FinishedTrial, Trial, find_interrupted_run};

/// Load-tests a service and reports how much load it sustained
#[derive(Clone, Debug, clap::Args)]
pub struct RunArgs {
    /// A built-in scenario by its name, or the path of a scenario file
    #[arg(required_unless_present = "list")]
    pub scenario: Option<String>,
    /// Test the service that runs at this URL instead of starting one
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
    /// Change a variable of the scenario, or any key by its dotted path, such as phase.create.arrivals.batch=10
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
    /// Where the directory of the run is created
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub out: PathBuf,
    /// Id of the run, which names its directory: for a program that starts this one and wants to know it
    #[arg(long, value_name = "ID", hide = true, value_parser = crate::trial::parse_run_id)]
    pub id: Option<String>,
    /// Seed of the plan; by default a new one, which the record contains
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Measure memory and CPU of this process as the target's, if the lab does not start it
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
    /// Write every sample as a row of samples.csv
    #[arg(long)]
    pub samples: bool,
    /// Allow load on this host, which is not this machine: only one that you own or may load. May be repeated
    #[arg(long, value_name = "HOST")]
    pub allow_host: Vec<String>,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
    /// List the built-in scenarios
    #[arg(long)]
    pub list: bool,
    /// Validate the scenario, its settings and its files, and send nothing
    #[arg(long)]
    pub check: bool,
}

/// Runs trials one after another, and handles signals during and between them.
pub(crate) struct TrialRunner {
    runtime: Runtime,
    signals: ShutdownSignals,
    program: String,
}

/// Runs a trial and prints its result on the terminal. The record names `program`, its version and commit.
#[must_use]
pub fn run(args: RunArgs, program: &str) -> ExitCode {
    if args.list {
        print_stdout(&list_scenarios());
        return ExitCode::SUCCESS;
    }
    if args.check {
        return match assemble(&args) {
            Ok(assembled) => match check_target_allowed(&assembled.scenario, &args.allow_host) {
                Ok(()) => {
                    print_stdout(&check_summary(&assembled.scenario));
                    ExitCode::SUCCESS
                }
                Err(message) => CliError::failed(message).print_and_exit("run"),
            },
            Err(error) => error.print_and_exit("run"),
        };
    }
    if let Some(dir) = find_interrupted_run(&args.out, SystemTime::now()).filter(|_| !args.quiet) {
        let _ = writeln!(std::io::stderr(), "{}", interrupted_run_message(&dir));
    }
    match TrialRunner::new(program).and_then(|mut runner| runner.run(args)) {
        Ok(finished) => {
            print_stdout(&summary(&finished.run, &finished.dir, has_colours()));
            ExitCode::from(finished.run.verdict.exit_code())
        }
        Err(error) => error.print_and_exit("run"),
    }
}

/// Whether the hosts of the target may be loaded, as far as their addresses are known without sending anything to them.
fn check_target_allowed(scenario: &Scenario, allow_host: &[String]) -> Result<(), String> {
    let endpoints = scenario.target.socket.iter().flat_map(|socket| &socket.endpoints).map(|endpoint| &endpoint.base);
    for base in std::iter::once(&scenario.target.url).chain(endpoints) {
        let Ok(addresses) = names::look_up_blocking(&base.host) else { continue };
        safety::check_allowed(&base.host, &addresses, allow_host)?;
    }
    Ok(())
}

/// What `--check` prints for a valid scenario.
fn check_summary(scenario: &Scenario) -> String {
    let gates = count_gates(scenario);
    let implicit = match gates - scenario.gates.len() {
        0 => String::new(),
        implicit => format!(" ({implicit} of them in no file)"),
    };
    format!(
        "{} can be run: {}, {}, {}, {}; nothing was sent\n",
        scenario.name,
        pluralize(scenario.phases.len() as u64, "phase"),
        pluralize(scenario.journeys.len() as u64, "journey"),
        pluralize(gates as u64, "gate") + &implicit,
        pluralize(scenario.feeds.len() as u64, "feed"),
    )
}

impl TrialRunner {
    /// Starts to handle signals.
    pub(crate) fn new(program: &str) -> Result<Self, CliError> {
        // One thread: the lab shares the machine with what it measures.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| CliError::failed(format!("no runtime: {error}")))?;
        let signals = runtime.block_on(async { ShutdownSignals::listen() });
        let signals = signals.map_err(|error| CliError::failed(format!("no signals: {error}")))?;
        Ok(Self { runtime, signals, program: program.to_owned() })
    }

    /// Checks the scenario of these arguments and runs the trial.
    pub(crate) fn run(&mut self, args: RunArgs) -> Result<FinishedTrial, CliError> {
        let AssembledTrial { document, scenario, feeds } = assemble(&args)?;
        let interrupt = CancellationToken::new();
        let trial = Trial {
            document,
            scenario,
            feeds,
            out_dir: args.out,
            id: args.id,
            seed: args.seed.map_or_else(new_seed, Ok)?,
            target_pid: args.pid,
            writes_samples: args.samples,
            allowed_hosts: args.allow_host,
            guard: Guard::own().ok(),
            worker_program: std::env::current_exe().ok(),
            program: self.program.clone(),
            interrupt: interrupt.clone(),
            run_dir: Arc::default(),
            screen: if args.quiet { Screen::quiet() } else { Screen::stderr() },
        };
        self.runtime.block_on(run_until_killed(trial, &interrupt, &mut self.signals))
    }
}

/// The validated trial of the arguments: nothing has been sent.
pub(crate) struct AssembledTrial {
    document: Document,
    pub(crate) scenario: Scenario,
    /// The rows of its feeds, in order.
    feeds: Vec<FeedRows>,
}

/// The scenario of these arguments, with their settings, its free ports found and its files read.
pub(crate) fn assemble(args: &RunArgs) -> Result<AssembledTrial, CliError> {
    let name = args.scenario.as_deref().unwrap_or_default();
    let text = scenario_text(name)?;
    let mut document = Document::parse(&text).map_err(|errors| scenario_error(name, &errors))?;
    for setting in &args.settings {
        document.set(setting).map_err(|errors| scenario_error(name, &errors))?;
    }
    if let Some(target) = &args.target {
        BaseUrl::parse(target).map_err(|message| CliError::usage(format!("--target {message}")))?;
        document.set_target(target.trim_end_matches('/'));
    }
    let free = document.free_port_variables();
    for (variable, port) in free.iter().zip(free_ports(free.len())?) {
        document.set_port(variable, port);
    }
    let beside = scenario_dir(args);
    add_referenced_files(&mut document, name, &beside);
    let scenario = Scenario::read(&document)
        .map_err(|errors| scenario_error(name, &add_feed_errors(errors, &document, name, &beside)))?;
    if args.pid.is_some() && scenario.target.spawn.is_some() {
        return Err(CliError::usage("--pid is for a service that runs already: use it with --target".to_owned()));
    }
    if let Some(pid) = args.pid.filter(|pid| start_ticks(*pid).is_none()) {
        return Err(CliError::usage(format!(
            "--pid {pid}: there is no such process here; give the id of the target's"
        )));
    }
    let feeds = read_feeds(&scenario.feeds, name, &beside).map_err(|errors| scenario_error(name, &errors))?;
    scenario.known_values(&feeds).map_err(|errors| scenario_error(name, &errors))?;
    Ok(AssembledTrial { document, scenario, feeds })
}

/// The errors of a scenario, and its feeds whose files are missing: all of it at once.
fn add_feed_errors(mut errors: ValidationErrors, document: &Document, name: &str, beside: &Path) -> ValidationErrors {
    for (origin, key, file) in
        document.feed_files().into_iter().filter(|(_, _, file)| built_in_file(name, file).is_none())
    {
        if let Err(message) = check_feed_size(&beside.join(file)) {
            errors.0.push(ValidationError { origin, key, message });
        }
    }
    errors.0.sort();
    errors.0.dedup();
    errors
}

/// The rows of all feeds, whose files are next to the scenario; or everything that is wrong with them.
fn read_feeds(feeds: &[Feed], name: &str, beside: &Path) -> Result<Vec<FeedRows>, ValidationErrors> {
    let (mut rows, mut errors) = (Vec::with_capacity(feeds.len()), Vec::new());
    for feed in feeds {
        let built_in =
            built_in_file(name, &feed.file).map(|text| feed.parse_rows(text).map_err(|error| unusable(&error)));
        match built_in.unwrap_or_else(|| read_feed(feed, &beside.join(&feed.file))) {
            Ok(read) => rows.push(read),
            Err(message) => errors.push(feed.validation_error(message)),
        }
    }
    if errors.is_empty() { Ok(rows) } else { Err(ValidationErrors(errors)) }
}

/// Checks that the file of a feed exists and is not too long.
fn check_feed_size(path: &Path) -> Result<(), String> {
    let size = std::fs::metadata(path).map_err(|error| format!("cannot be read: {}: {error}", path.display()))?.len();
    match size <= FEED_BYTES_MAX as u64 {
        true => Ok(()),
        false => Err(format!("is too long: {} has {size} bytes, a feed has at most {FEED_BYTES_MAX}", path.display())),
    }
}

fn read_feed(feed: &Feed, path: &Path) -> Result<FeedRows, String> {
    check_feed_size(path)?;
    let cannot = |error: std::io::Error| format!("cannot be read: {}: {error}", path.display());
    feed.parse_rows(&std::fs::read_to_string(path).map_err(cannot)?).map_err(|error| unusable(&error))
}

fn unusable(message: &str) -> String {
    format!("cannot be used: {message}")
}

/// A file that comes with the lab, for the scenarios that do.
fn built_in_file(name: &str, file: &str) -> Option<&'static str> {
    let found = BUILTIN_FILES.iter().find(|(known, _)| *known == file);
    found.filter(|_| builtin(name).is_some()).map(|(_, text)| *text)
}

/// Adds the files that a scenario names; for a missing one, the reader reports the line in which it is named.
fn add_referenced_files(document: &mut Document, name: &str, beside: &Path) {
    for file in document.required_files() {
        let text = match built_in_file(name, &file) {
            Some(text) => Some(text.to_owned()),
            None => std::fs::read_to_string(beside.join(&file)).ok(),
        };
        if let Some(text) = text {
            document.add_file(&file, &text);
        }
    }
}

/// The base of the scenario's relative paths: its own folder.
fn scenario_dir(args: &RunArgs) -> PathBuf {
    let name = args.scenario.as_deref().filter(|name| builtin(name).is_none());
    name.and_then(|name| Path::new(name).parent()).map_or_else(PathBuf::new, Path::to_path_buf)
}

/// A random seed.
pub(crate) fn new_seed() -> Result<u64, CliError> {
    getrandom::u32().map(u64::from).map_err(|error| CliError::failed(error.to_string()))
}

/// The first signal ends the trial with a report. The second one drops it, which kills what it started.
async fn run_until_killed(
    trial: Trial,
    interrupt: &CancellationToken,
    signals: &mut ShutdownSignals,
) -> Result<FinishedTrial, CliError> {
    let (made, speaker) = (trial.run_dir.clone(), trial.screen.printer());
    let killed = async {
        signals.next().await;
        interrupt.cancel();
        speaker.print(&stopping_message());
        signals.next().await;
    };
    tokio::select! {
        finished = crate::trial::run(trial) => finished.map_err(CliError::failed),
        () = killed => {
            let message = killed_message(made.get().map(PathBuf::as_path));
            Err(CliError { code: EXIT_INTERRUPTED, message })
        }
    }
}

/// The message after the first signal.
fn stopping_message() -> String {
    format!(
        "gauntlet run: winding down: nothing new begins, and work has {} s to come to its end; the report follows. Once more \
         ends at once.",
        INTERRUPT_DRAIN.as_secs()
    )
}

/// The message about an earlier run without a report, before the next one begins.
fn interrupted_run_message(cut_off: &Path) -> String {
    let dir = cut_off.display();
    format!("gauntlet run: the last run was cut off and has no report; to make one: gauntlet report {dir}")
}

/// The message about a run that a second signal aborted.
fn killed_message(dir: Option<&Path>) -> String {
    match dir {
        Some(dir) => {
            let dir = dir.display();
            format!("ended at once; what was recorded until then: gauntlet report {dir}")
        }
        None => "ended at once; nothing was recorded yet".to_owned(),
    }
}

fn scenario_text(name: &str) -> Result<String, CliError> {
    if let Some(found) = builtin(name) {
        return Ok(found.toml.to_owned());
    }
    let is_path = name.contains('/') || Path::new(name).extension().is_some_and(|extension| extension == "toml");
    if !is_path {
        return Err(CliError::usage(format!(
            "there is no built-in scenario `{name}`. There are:\n{}",
            list_scenarios()
        )));
    }
    std::fs::read_to_string(name).map_err(|error| CliError::usage(format!("{name}: {error}")))
}

fn scenario_error(name: &str, errors: &dyn std::fmt::Display) -> CliError {
    CliError::usage(format!("the scenario {name} cannot be run; nothing was sent:\n{errors}"))
}

/// Loopback ports on which no process listens. All are held until all are found, so that no two are the same.
fn free_ports(count: usize) -> Result<Vec<u16>, CliError> {
    let none = |error: std::io::Error| CliError::failed(format!("no free port: {error}"));
    let held: Vec<TcpListener> =
        (0..count).map(|_| TcpListener::bind(("127.0.0.1", 0))).collect::<Result<_, _>>().map_err(none)?;
    held.iter().map(|listener| Ok(listener.local_addr()?.port())).collect::<Result<_, _>>().map_err(none)
}

fn list_scenarios() -> String {
    let width = builtins().iter().map(|builtin| builtin.name.len()).max().unwrap_or_default();
    let line = |name: &str, text: &str| {
        let document = Document::parse(text).ok();
        let summary = document.as_ref().and_then(Document::summary).unwrap_or_default();
        format!("  {name:<width$}  {summary}\n")
    };
    builtins().iter().map(|builtin| line(builtin.name, builtin.toml)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_ended(dir: Option<&str>, expected: &str) {
        assert_eq!(killed_message(dir.map(Path::new)), expected);
    }

    #[test]
    fn the_message_after_a_second_signal_explains_how_to_get_a_report() {
        check_ended(Some("runs/a"), "ended at once; what was recorded until then: gauntlet report runs/a");
        check_ended(None, "ended at once; nothing was recorded yet");
    }

    #[test]
    fn an_interrupted_earlier_run_is_mentioned_with_advice() {
        let expected = "gauntlet run: the last run was cut off and has no report; to make one: gauntlet report runs/a";
        assert_eq!(interrupted_run_message(Path::new("runs/a")), expected);
    }

    /// What `--check` prints for a file with these changes; there are no files next to it.
    fn checked(changes: &[(&str, &str)], target: Option<&str>, pid: Option<u32>) -> Result<String, String> {
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let mut text = String::from(
            "format = 1\nname = \"t\"\nsummary = \"s\"\n[target]\nurl = \"http://127.0.0.1:4000\"\n[[phase]]\nname = \"p\"\n\
             arrivals = { rate = 5, for = \"1s\" }\nin_flight_max = 1\njourney = \"j\"\n[[journey]]\nname = \"j\"\n\
             [[journey.step]]\nrequest = \"GET /\"\n",
        );
        for (from, to) in changes {
            assert!(text.contains(from));
            text = text.replace(from, to);
        }
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("lab-check-{}-{number}.toml", std::process::id()));
        std::fs::write(&path, text).unwrap();
        #[derive(clap::Parser)]
        struct Cli {
            #[command(flatten)]
            run: RunArgs,
        }
        let words = ["run", path.to_str().unwrap()].into_iter().chain(target.iter().flat_map(|url| ["--target", url]));
        let mut args = <Cli as clap::Parser>::parse_from(words).run;
        args.pid = pid;
        let found = match assemble(&args) {
            Ok(assembled) => {
                check_target_allowed(&assembled.scenario, &args.allow_host).map(|()| check_summary(&assembled.scenario))
            }
            Err(error) => Err(error.message),
        };
        std::fs::remove_file(&path).unwrap();
        found
    }

    #[test]
    fn a_check_reports_the_same_errors_as_a_run() {
        let refused = checked(&[], Some("http://10.0.0.1:80"), None).unwrap_err();
        assert!(refused.starts_with("10.0.0.1 is not this machine."), "{refused}");
        let told = checked(&[], Some("http://127.0.0.1:80"), Some(std::process::id())).unwrap();
        assert_eq!(
            told,
            "t can be run: 1 phase, 1 journey, 1 gate (1 of them in no file), 0 feeds; nothing was sent\n"
        );
        let judged = "[gates]\n\"j.errors\" = \"= 0\"\n[target]";
        assert!(checked(&[("[target]", judged)], None, None).unwrap().contains(", 1 gate, "));
    }

    #[test]
    fn a_missing_process_cannot_be_watched() {
        let refused = checked(&[], Some("http://127.0.0.1:80"), Some(u32::MAX)).unwrap_err();
        assert!(refused.starts_with("--pid 4294967295: there is no such process here"), "{refused}");
    }

    #[test]
    fn a_missing_feed_is_reported_with_all_other_errors() {
        let feed = "[feed.users]\nfile = \"no-such-file.csv\"\nformat = \"csv\"\norder = \"cycle\"\n[target]";
        let errors = checked(&[("[target]", feed), ("rate = 5", "rate = -5")], None, None).unwrap_err();
        assert!(errors.contains("`feed.users.file` cannot be read: "), "{errors}");
        assert!(errors.contains("must be above 0, and at most 10000000, not -5"), "{errors}");
    }

    #[test]
    fn summaries_of_the_listing_are_aligned() {
        let listing = list_scenarios();
        let column = |(line, builtin): (&str, &crate::scenario::Builtin)| {
            let rest = &line[2 + builtin.name.len()..];
            2 + builtin.name.len() + rest.len() - rest.trim_start().len()
        };
        let columns: std::collections::BTreeSet<usize> = listing.lines().zip(builtins()).map(column).collect();
        assert_eq!((listing.lines().count(), columns.len()), (builtins().len(), 1), "{listing}");
    }
}
