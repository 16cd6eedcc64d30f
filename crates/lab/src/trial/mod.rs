//! A trial from beginning to end, along the spine: scenario → plan → drive → record → fold → verdict → report.
//! The first two and the last three are pure; this is the edge that gives them clocks, sockets and files, and
//! that stops everything it started in every way out.

mod conductor;
mod ending;
mod fleet;
mod hold;
mod left;
mod needs;
mod neighbours;
mod observe;
mod prepare;
mod pulse;
mod search;
mod secrets;
mod silence;
mod stage;
mod watched;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

pub use fleet::{Fleet, Order, Roster, orders};
pub(crate) use left::cut_off;
pub use secrets::Secrets;
pub(crate) use stage::Log;

use crate::aggregate::{Aggregate, Basis, Results, Timeline, round};
use crate::clock::{rfc3339, unix_ms_now};
use crate::flag::wait_until_raised;
use crate::generator::ControlClient;
use crate::guard::Guard;
use crate::machine::Machine;
use crate::report::words::number;
use crate::report::{Run, ScenarioRecord, Screen, Start, write_reports};
use crate::safety;
use crate::scenario::{Base, Recipe, Rows, Scenario, Scope};
use crate::verdict::{Judged, judge_gates, verdict};
use prepare::prepare;
use stage::Stage;

/// The trial could not be carried out; the sentence says why and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CouldNotRun(pub String);

/// Everything that a trial needs besides its scenario.
#[derive(Debug)]
pub struct Trial {
    /// What to do.
    pub scenario: Scenario,
    /// The text of the scenario, kept beside the record.
    pub text: String,
    /// How the scenario was put together, for worker processes.
    pub recipe: Recipe,
    /// The rows of its feeds, in their order.
    pub feeds: Vec<Rows>,
    /// The scenario's identity.
    pub hash: String,
    /// The identity of the scenario's text, whatever was set.
    pub text_hash: String,
    /// What the command line changed.
    pub settings: Vec<String>,
    /// Where the directory of the run is made.
    pub out: PathBuf,
    /// The seed of the plan.
    pub seed: u64,
    /// The target's process, where the lab does not start it.
    pub pid: Option<u32>,
    /// Whether every sample is written.
    pub samples: bool,
    /// Hosts besides this machine that the user may load.
    pub may_load: Vec<String>,
    /// What keeps children from outliving the lab, and within their limits.
    pub guard: Option<Guard>,
    /// The program that carries workers in processes of their own: this executable, where it knows how.
    pub worker_program: Option<PathBuf>,
    /// The version and the commit of this program.
    pub program: String,
    /// Becomes true when somebody wants the trial to end.
    pub interrupt: watch::Receiver<bool>,
    /// Takes the directory of the run, once there is something to make a report of.
    pub made: Arc<OnceLock<PathBuf>>,
    /// Where progress is shown.
    pub screen: Screen,
}

/// A trial that was carried out.
#[derive(Debug)]
pub struct Finished {
    /// Its record, as it stands in `run.json`.
    pub run: Run,
    /// Its directory.
    pub dir: PathBuf,
}

/// How the driving ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Done,
    Interrupted,
    Died(String),
    OutOfBounds(String),
}

impl End {
    /// Why whatever was still to come did not.
    fn why_over(&self, now: Duration) -> String {
        let now_s = number(Some(now.as_secs_f64()));
        match self {
            Self::Done => format!("the load was over at {now_s} s"),
            Self::Interrupted => format!("the run was interrupted at {now_s} s"),
            Self::Died(_) => format!("the run was cut short at {now_s} s by the end of a process"),
            Self::OutOfBounds(_) => format!("the run was ended by its bounds at {now_s} s"),
        }
    }
}

/// Carries a trial out and writes its record.
///
/// # Errors
/// The trial could not begin, or its record could not be written. Whatever was started has been stopped.
pub async fn run(mut trial: Trial) -> Result<Finished, CouldNotRun> {
    let id = new_id()?;
    let hosts = permitted(&trial).await?;
    let dir = trial.out.join(&id);
    let secrets = Secrets::resolve(&trial.scenario.secrets, &|name| std::env::var(name).ok())?;
    let mut fleet = trial.guard.clone().map_or_else(Fleet::default, Fleet::guarded);
    fleet.confine(&trial.scenario.target.limits, &id)?;
    std::fs::create_dir_all(&dir).map_err(|error| CouldNotRun(format!("{}: {error}", dir.display())))?;
    let outcome = carry_out(&mut trial, &id, &dir, hosts, &secrets, &mut fleet).await;
    fleet.stop().await;
    let (run, timeline) = outcome.map_err(|error| {
        left::take_away(&dir);
        CouldNotRun(secrets.strike(&error.0))
    })?;
    let run = run.struck(&|text| secrets.strike(text));
    write_reports(&run, &timeline.series, &dir).map_err(CouldNotRun)?;
    Ok(Finished { run, dir })
}

/// Where the load goes, resolved.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hosts {
    /// Where the target answers requests.
    pub(crate) addresses: Vec<SocketAddr>,
    /// Its doors for messages.
    pub(crate) doors: Vec<Vec<SocketAddr>>,
}

/// All hosts of the target, once it is certain that they may be loaded.
async fn permitted(trial: &Trial) -> Result<Hosts, CouldNotRun> {
    let target = &trial.scenario.target;
    let mut hosts = Hosts { addresses: addresses_of(&target.url, trial).await?, doors: Vec::new() };
    for door in target.socket.iter().flat_map(|socket| &socket.doors) {
        hosts.doors.push(addresses_of(&door.base, trial).await?);
    }
    Ok(hosts)
}

async fn addresses_of(base: &Base, trial: &Trial) -> Result<Vec<SocketAddr>, CouldNotRun> {
    let found = tokio::net::lookup_host((base.host.as_str(), base.port)).await;
    let found = found.map_err(|error| CouldNotRun(format!("the target's host {} is not known: {error}", base.host)))?;
    let addresses: Vec<SocketAddr> = found.collect();
    let ips: Vec<_> = addresses.iter().map(SocketAddr::ip).collect();
    safety::check_allowed(&base.host, &ips, &trial.may_load).map_err(CouldNotRun)?;
    Ok(addresses)
}

async fn carry_out(
    trial: &mut Trial,
    id: &str,
    dir: &Path,
    hosts: Hosts,
    secrets: &Secrets,
    fleet: &mut Fleet,
) -> Result<(Run, Timeline), CouldNotRun> {
    let scenario = Arc::new(trial.scenario.clone());
    let mut record = Beginning::new(trial, id, Machine::inspect(dir));
    record.start.write(dir, &trial.text, &trial.recipe.files()).map_err(CouldNotRun)?;
    trial.made.get_or_init(|| dir.to_owned());
    record.notes = needs::preflight(trial, &hosts.addresses, dir)?;
    record.notes.extend(fleet.keep_together(&scenario, id));
    let mut globals =
        BTreeMap::from([("run.id".to_owned(), id.to_owned()), ("run.dir".to_owned(), dir.display().to_string())]);
    globals.extend(secrets.values().map(|(name, value)| (name.to_owned(), value.to_owned())));

    let mut interrupt = trial.interrupt.clone();
    let preparing = async {
        fleet.start(&scenario, &Scope::of_run(&globals), dir).await?;
        let client = ControlClient::new(&scenario.target.url).await.map_err(|failure| CouldNotRun(failure.message))?;
        prepare(&scenario, std::mem::take(&mut trial.feeds), Arc::new(client), globals.clone(), secrets).await
    };
    let prepared = tokio::select! {
        biased;
        () = wait_until_raised(&mut interrupt) => None,
        prepared = preparing => Some(prepared?),
    };
    let Some(prepared) = prepared else { return Ok((record.interrupted_early(&scenario), Timeline::default())) };
    let stage = Stage::set(trial, scenario, id, dir, hosts, prepared)?;
    stage.play(trial, fleet, record).await
}

/// What is known of a run before it starts.
pub(crate) struct Beginning {
    pub(crate) start: Start,
    pub(crate) notes: Vec<String>,
    begun: Instant,
}

impl Beginning {
    fn new(trial: &Trial, id: &str, machine: Machine) -> Self {
        let scenario = ScenarioRecord {
            name: trial.scenario.name.clone(),
            summary: trial.scenario.summary.clone(),
            hash: trial.hash.clone(),
            text_hash: trial.text_hash.clone(),
            seed: trial.seed,
            settings: trial.settings.clone(),
            target: trial.scenario.target.url.url(),
            formulas: trial.scenario.formulas(),
            headline: trial.scenario.headline.clone(),
        };
        let start = Start {
            format: Run::FORMAT,
            id: id.to_owned(),
            program: trial.program.clone(),
            scenario,
            started_at: rfc3339(unix_ms_now()),
            machine,
        };
        Self { start, notes: Vec::new(), begun: Instant::now() }
    }

    pub(crate) fn into_run(self, results: Results, gates: Vec<Judged>, interrupted: bool) -> Run {
        let verdict = verdict(&gates, interrupted);
        let mut run = self.start.into_run(results, gates, verdict);
        run.duration_s = round(self.begun.elapsed().as_secs_f64());
        run.notes = self.notes;
        run
    }

    /// The record of a run that was ended before its first arrival.
    fn interrupted_early(self, scenario: &Scenario) -> Run {
        let fold = Aggregate::new(&scenario.journeys).with_pushes(&scenario.pushes);
        let generator = fold.generator(scenario.generator.lag_p99_max);
        let (journeys, push) = (fold.journeys(&|_| None, Basis::Measured), fold.pushes(Basis::Measured));
        let results = Results { journeys, push, generator, ..Results::default() };
        let gates = judge_gates(&scenario.gates, &results.to_json());
        self.into_run(results, gates, true)
    }
}

/// Sorts by time, and tells two runs of one second apart.
fn new_id() -> Result<String, CouldNotRun> {
    let now = rfc3339(unix_ms_now());
    let digits: String = now.chars().filter(char::is_ascii_digit).collect();
    Ok(format!("{}-{}-{}", &digits[..8], &digits[8..14], random_hex(2)?))
}

fn random_hex(bytes: usize) -> Result<String, CouldNotRun> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random)
        .map_err(|error| CouldNotRun(format!("this system gives no random numbers: {error}")))?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}
