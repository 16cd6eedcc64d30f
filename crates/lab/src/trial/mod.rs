//! A trial from beginning to end: scenario → plan → load → record → aggregate → verdict → report. The first two and the
//! last three are pure; this module gives them clocks, sockets and files, and stops everything it started, however the
//! trial ends.

mod conclude;
mod held_phase;
mod load_scheduler;
mod neighbours;
mod observers;
mod opening_barrier;
mod prepare;
mod requirements;
mod run_context;
mod run_directory;
mod run_load;
mod sampler;
mod search;
mod secrets;
mod silence;
mod supervisor;
mod totals;
mod watched_process;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

pub(crate) use run_directory::find_interrupted_run;
pub use secrets::Secrets;
pub use supervisor::{ProcessList, ProcessSupervisor, ScheduledFault, fault_schedule};

use crate::aggregate::{Aggregate, Results, Timeline};
use crate::clock::{rfc3339, unix_ms_now};
use crate::format::{number, round};
use crate::generator::ControlClient;
use crate::guard::Guard;
use crate::limits::INTERRUPT_DRAIN;
use crate::machine::Machine;
use crate::measurement::Basis;
use crate::report::{Run, ScenarioRecord, Screen, StartRecord, write_reports};
use crate::safety;
use crate::scenario::{BaseUrl, Document, FeedRows, Scenario, Scope};
use crate::verdict::{GateResult, evaluate_gates, overall_verdict};
use conclude::conclude;
use prepare::prepare;
use run_context::RunContext;
use run_load::run_load;
use totals::totals_increase;

/// Everything that a trial needs.
#[derive(Debug)]
pub struct Trial {
    /// The scenario as it was read, with its settings; stored with the record.
    pub document: Document,
    /// The same, validated.
    pub scenario: Scenario,
    /// The rows of its feeds, in order.
    pub feeds: Vec<FeedRows>,
    /// Where the directory of the run is created.
    pub out_dir: PathBuf,
    /// The seed of the plan.
    pub seed: u64,
    /// The target's process, if the lab does not start it.
    pub target_pid: Option<u32>,
    /// Whether every sample is written.
    pub writes_samples: bool,
    /// Hosts other than this machine that the user may load.
    pub allowed_hosts: Vec<String>,
    /// Ends child processes with the lab, and holds them within their limits.
    pub guard: Option<Guard>,
    /// The program that runs worker processes: this executable, if it can.
    pub worker_program: Option<PathBuf>,
    /// The version and the commit of this program.
    pub program: String,
    /// Cancelled when the user wants the trial to end.
    pub interrupt: CancellationToken,
    /// Set to the directory of the run once it has enough for a report.
    pub run_dir: Arc<OnceLock<PathBuf>>,
    /// The id of the run; a new one if none was chosen.
    pub id: Option<String>,
    /// Where progress is shown.
    pub screen: Screen,
}

/// A trial that was carried out.
#[derive(Debug)]
pub struct FinishedTrial {
    /// Its record, as in `run.json`.
    pub run: Run,
    /// Its directory.
    pub dir: PathBuf,
}

/// How the load ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TrialEnd {
    Done,
    Interrupted,
    ProcessExited(String),
    BoundReached(String),
}

impl TrialEnd {
    /// Why the rest of the plan did not take place.
    fn reason(&self, now: Duration) -> String {
        let now_s = number(Some(now.as_secs_f64()));
        match self {
            Self::Done => format!("the load was over at {now_s} s"),
            Self::Interrupted => format!("the run was interrupted at {now_s} s"),
            Self::ProcessExited(_) => format!("the run was cut short at {now_s} s by the end of a process"),
            Self::BoundReached(_) => format!("the run was ended by its bounds at {now_s} s"),
        }
    }
}

/// Carries a trial out and writes its record.
///
/// # Errors
/// The sentence that says why it could not begin, or its record could not be written, and what to do. Everything that was started has been stopped.
pub async fn run(mut trial: Trial) -> Result<FinishedTrial, String> {
    let id = trial.id.take().map_or_else(new_run_id, Ok)?;
    let hosts = resolve_permitted(&trial).await?;
    let dir = trial.out_dir.join(&id);
    let secrets = Secrets::resolve(&trial.scenario.secrets, &|name| std::env::var(name).ok())?;
    let mut supervisor = trial.guard.clone().map_or_else(ProcessSupervisor::default, ProcessSupervisor::with_guard);
    supervisor.apply_limits(&trial.scenario.target.limits, &id)?;
    supervisor.target_addresses.clone_from(&hosts.target);
    std::fs::create_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let outcome = execute(&mut trial, &id, &dir, hosts, &secrets, &mut supervisor).await;
    supervisor.stop().await;
    let (run, timeline) = outcome.map_err(|error| {
        run_directory::remove_if_unused(&dir);
        secrets.redact(&error)
    })?;
    let run = run.redacted(&|text| secrets.redact(text));
    write_reports(&run, &timeline.series, &dir)?;
    Ok(FinishedTrial { run, dir })
}

/// The resolved addresses of the load.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResolvedEndpoints {
    /// Where the target answers requests.
    pub(crate) target: Vec<SocketAddr>,
    /// Its endpoints for messages.
    pub(crate) message_endpoints: Vec<Vec<SocketAddr>>,
}

/// Resolves all hosts of the target, once it is certain that they may be loaded.
async fn resolve_permitted(trial: &Trial) -> Result<ResolvedEndpoints, String> {
    let target = &trial.scenario.target;
    let mut message_endpoints = Vec::new();
    for endpoint in target.socket.iter().flat_map(|socket| &socket.endpoints) {
        message_endpoints.push(resolve_addresses(&endpoint.base, trial).await?);
    }
    Ok(ResolvedEndpoints { target: resolve_addresses(&target.url, trial).await?, message_endpoints })
}

async fn resolve_addresses(base: &BaseUrl, trial: &Trial) -> Result<Vec<SocketAddr>, String> {
    let ips = names::look_up(&base.host).await;
    let ips = ips.map_err(|error| format!("the target's host {} is not known: {error}", base.host))?;
    safety::check_allowed(&base.host, &ips, &trial.allowed_hosts)?;
    Ok(ips.into_iter().map(|ip| SocketAddr::new(ip, base.port)).collect())
}

async fn execute(
    trial: &mut Trial,
    id: &str,
    dir: &Path,
    hosts: ResolvedEndpoints,
    secrets: &Secrets,
    supervisor: &mut ProcessSupervisor,
) -> Result<(Run, Timeline), String> {
    let scenario = Arc::new(trial.scenario.clone());
    let mut record = PendingRun::new(trial, id, Machine::inspect(dir));
    record.start.write(dir, trial.document.text(), &trial.document.source().files())?;
    trial.run_dir.get_or_init(|| dir.to_owned());
    record.notes = requirements::check_preflight(trial, &hosts.target, dir)?;
    record.notes.extend(supervisor.create_trial_cgroup(&scenario, id));
    let mut globals =
        BTreeMap::from([("run.id".to_owned(), id.to_owned()), ("run.dir".to_owned(), dir.display().to_string())]);
    globals.extend(secrets.values().map(|(name, value)| (name.to_owned(), value.to_owned())));

    let interrupt = trial.interrupt.clone();
    let preparing = async {
        supervisor.start(&scenario, &Scope::for_run(&globals), dir).await?;
        let client = ControlClient::for_target(&scenario.target, &hosts.target).map_err(|failure| failure.message)?;
        prepare(&scenario, std::mem::take(&mut trial.feeds), client, globals.clone(), secrets).await
    };
    let prepared = tokio::select! {
        biased;
        () = interrupt.cancelled() => None,
        prepared = preparing => Some(prepared?),
    };
    let Some(prepared) = prepared else { return Ok((record.interrupted_early(&scenario), Timeline::default())) };
    if scenario.target.spawn.is_some() {
        trial.screen.announce(&format!("The target is ready: {}/", scenario.target.url.url().trim_end_matches('/')));
    }
    let (context, reports) = RunContext::new(trial, scenario, id, dir, hosts, prepared)?;
    let mut load = run_load(&context, reports, trial, supervisor).await?;
    record.notes.append(&mut load.notes);
    let unknown = || vec![None; context.scenario.work_specs.len()];
    let totals = totals_increase(&context, load.elapsed);
    let rises = match load.end {
        TrialEnd::Done => totals.await,
        // The user who interrupts is waiting: a target that does not answer is not polled for long.
        TrialEnd::Interrupted => timeout(INTERRUPT_DRAIN, totals).await.unwrap_or_else(|_| unknown()),
        TrialEnd::ProcessExited(_) | TrialEnd::BoundReached(_) => unknown(),
    };
    Ok(conclude(&context, record, &load, &rises, supervisor))
}

/// What is known of a run before it starts.
pub(crate) struct PendingRun {
    pub(crate) start: StartRecord,
    pub(crate) notes: Vec<String>,
    started_at: Instant,
}

impl PendingRun {
    fn new(trial: &Trial, id: &str, machine: Machine) -> Self {
        let scenario = ScenarioRecord {
            name: trial.scenario.name.clone(),
            summary: trial.scenario.summary.clone(),
            hash: trial.document.hash(),
            text_hash: trial.document.text_hash(),
            seed: trial.seed,
            settings: trial.document.settings(),
            target: trial.scenario.target.url.url(),
            formulas: trial.scenario.derived_formulas(),
            headline: trial.scenario.headline.clone(),
        };
        let start = StartRecord {
            format: Run::FORMAT,
            id: id.to_owned(),
            program: trial.program.clone(),
            scenario,
            started_at: rfc3339(unix_ms_now()),
            machine,
        };
        Self { start, notes: Vec::new(), started_at: Instant::now() }
    }

    pub(crate) fn into_run(self, results: Results, gates: Vec<GateResult>, interrupted: bool) -> Run {
        let verdict = overall_verdict(&gates, interrupted);
        let mut run = self.start.into_run(results, gates, verdict);
        run.duration_s = round(self.started_at.elapsed().as_secs_f64());
        run.notes = self.notes;
        run
    }

    /// The record of a run that was interrupted before its first arrival.
    fn interrupted_early(self, scenario: &Scenario) -> Run {
        let aggregate = Aggregate::new(&scenario.journeys).with_pushes(&scenario.pushes);
        let results = Results {
            journeys: aggregate.journeys(&|_| None, Basis::Measured),
            push: aggregate.pushes(Basis::Measured),
            generator: aggregate.generator(scenario.generator.lag_p99_max),
            ..Results::default()
        };
        let gates = evaluate_gates(&scenario.gates, &results.to_json());
        self.into_run(results, gates, true)
    }
}

/// A run's id: sorts by time, and distinguishes two runs of one second.
///
/// # Errors
/// The system has no random numbers.
pub fn new_run_id() -> Result<String, String> {
    let now = rfc3339(unix_ms_now());
    let digits: String = now.chars().filter(char::is_ascii_digit).collect();
    Ok(format!("{}-{}-{}", &digits[..8], &digits[8..14], random_hex(2)?))
}

/// Characters of a run's id.
const RUN_ID_CHARS_MAX: usize = 64;

/// Whether a text is a run's id: lower-case letters, digits and hyphens, of which none comes first. So it is a name of a directory and never a path.
#[must_use]
pub fn is_run_id(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.len() <= RUN_ID_CHARS_MAX
        && text.bytes().next().is_some_and(is_plain)
        && text.bytes().all(|byte| is_plain(byte) || byte == b'-')
}

pub(crate) fn parse_run_id(text: &str) -> Result<String, String> {
    let expected = format!("expected at most {RUN_ID_CHARS_MAX} lower-case letters, digits and hyphens");
    is_run_id(text).then(|| text.to_owned()).ok_or(expected)
}

fn random_hex(bytes: usize) -> Result<String, String> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random).map_err(|error| format!("this system gives no random numbers: {error}"))?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, is_id: bool) {
        assert_eq!((is_run_id(text), parse_run_id(text).is_ok()), (is_id, is_id), "{text:?}");
    }

    #[test]
    fn an_id_is_a_name_and_no_path() {
        check(&new_run_id().unwrap(), true);
        check("a", true);
        for text in ["", ".", "..", "-a", "a/b", "a.b", "A", "a b", &"a".repeat(RUN_ID_CHARS_MAX + 1)] {
            check(text, false);
        }
    }
}
