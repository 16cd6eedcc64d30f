//! A trial from beginning to end, along the spine: scenario → plan → drive → record → fold → verdict → report.
//! The first two and the last three are pure; this is the edge that gives them clocks, sockets and files, and
//! that stops everything it started in every way out.

mod fleet;
mod prepare;
mod pulse;
mod secrets;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

pub use fleet::Fleet;
pub use secrets::Secrets;

use crate::clock::{rfc3339, unix_ms_now};
use crate::drive::{Client, Drive};
use crate::flag::raised;
use crate::fold::{Fold, ProcessFigures, Results, ServerFigures, TotalsFigures, round};
use crate::machine::Machine;
use crate::plan::{Plan, plan};
use crate::record::{Lines, Recorder, SampleFile};
use crate::report::{Run, ScenarioRecord, Screen, html, markdown};
use crate::scenario::{Scenario, Scope, Work};
use crate::verdict::{Circumstances, Judged, judge_gates, verdict};
use crate::work::{Board, Follow, reconcile};
use prepare::{Prepared, prepare, totals};
use pulse::{GENERATOR, Pulse, SERVER, Watched};

/// From the end of the preparations to the first moment of the plan.
const LEAD: Duration = Duration::from_millis(20);

/// Looks at the server's totals before a difference counts: a counter may be a moment behind the work it counts.
const RECONCILE_LOOKS: usize = 3;

/// From one such look to the next.
const RECONCILE_EVERY: Duration = Duration::from_secs(1);

/// The trial could not be carried out; the sentence says why and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CouldNotRun(pub String);

/// Everything that a trial needs besides its scenario.
#[derive(Debug)]
pub struct Trial {
    /// What to do.
    pub scenario: Scenario,
    /// The scenario's identity.
    pub hash: String,
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
    /// Becomes true when somebody wants the trial to end.
    pub interrupt: watch::Receiver<bool>,
    /// Where progress is shown.
    pub screen: Screen,
    /// The version and the commit of this program.
    pub program: String,
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
enum End {
    Done,
    Interrupted,
    Died(String),
}

/// Carries a trial out and writes its record.
///
/// # Errors
/// The trial could not begin, or its record could not be written. Whatever was started has been stopped.
pub async fn run(mut trial: Trial) -> Result<Finished, CouldNotRun> {
    let id = new_id()?;
    let dir = trial.out.join(&id);
    std::fs::create_dir_all(&dir).map_err(|error| CouldNotRun(format!("{}: {error}", dir.display())))?;
    let secrets = Secrets::resolve(&trial.scenario.secrets, &|name| std::env::var(name).ok())?;
    let mut fleet = Fleet::default();
    let outcome = carry_out(&mut trial, &id, &dir, &secrets, &mut fleet).await;
    fleet.stop().await;
    let run = outcome.map_err(|error| CouldNotRun(secrets.strike(&error.0)))?;
    let run = run.struck(&|text| secrets.strike(text));
    write_record(&run, &dir)?;
    Ok(Finished { run, dir })
}

async fn carry_out(
    trial: &mut Trial,
    id: &str,
    dir: &Path,
    secrets: &Secrets,
    fleet: &mut Fleet,
) -> Result<Run, CouldNotRun> {
    let scenario = Arc::new(trial.scenario.clone());
    let record = Beginning::new(trial, id, Machine::inspect(dir));
    let mut globals =
        BTreeMap::from([("run.id".to_owned(), id.to_owned()), ("run.dir".to_owned(), dir.display().to_string())]);
    globals.extend(secrets.values().map(|(name, value)| (name.to_owned(), value.to_owned())));
    let scope = Scope::of_run(&globals);

    let mut interrupt = trial.interrupt.clone();
    let preparing = async {
        fleet.start(&scenario, &scope, dir).await?;
        let client = Client::new(&scenario.target.url).await.map_err(|failure| CouldNotRun(failure.message))?;
        let prepared = prepare(&scenario, &client, globals.clone(), secrets).await?;
        Ok((client, prepared))
    };
    let prepared = tokio::select! {
        biased;
        () = raised(&mut interrupt) => None,
        prepared = preparing => Some(prepared?),
    };
    let Some((client, prepared)) = prepared else { return Ok(record.interrupted_early(&scenario)) };
    let stage = Stage::set(trial, scenario, id, dir, client, prepared).await?;
    stage.play(trial, fleet, record).await
}

/// What is known of a run before it starts.
struct Beginning {
    id: String,
    program: String,
    scenario: ScenarioRecord,
    machine: Machine,
    started_unix_ms: i64,
    begun: Instant,
}

impl Beginning {
    fn new(trial: &Trial, id: &str, machine: Machine) -> Self {
        let scenario = ScenarioRecord {
            name: trial.scenario.name.clone(),
            summary: trial.scenario.summary.clone(),
            hash: trial.hash.clone(),
            seed: trial.seed,
            settings: trial.settings.clone(),
            target: trial.scenario.target.url.url(),
            formulas: trial.scenario.formulas(),
        };
        let (id, program) = (id.to_owned(), trial.program.clone());
        Self { id, program, scenario, machine, started_unix_ms: unix_ms_now(), begun: Instant::now() }
    }

    fn into_run(self, results: Results, gates: Vec<Judged>, circumstances: Circumstances) -> Run {
        Run {
            format: Run::FORMAT,
            id: self.id,
            program: self.program,
            verdict: verdict(&gates, circumstances),
            scenario: self.scenario,
            started_at: rfc3339(self.started_unix_ms),
            duration_s: round(self.begun.elapsed().as_secs_f64()),
            gates,
            results,
            parts: Vec::new(),
            capacity: BTreeMap::new(),
            findings: Vec::new(),
            faults: Vec::new(),
            errors: Vec::new(),
            notes: Vec::new(),
            machine: self.machine,
        }
    }

    /// The record of a run that was ended before its first arrival.
    fn interrupted_early(self, scenario: &Scenario) -> Run {
        let fold = Fold::new(&scenario.journeys);
        let generator = fold.generator(scenario.generator.lag_p99_max);
        let results = Results { journeys: fold.journeys(), generator, ..Results::default() };
        let gates = judge_gates(&scenario.gates, &results.to_json());
        self.into_run(results, gates, Circumstances { interrupted: true, behind: false })
    }
}

/// A trial that is ready for its first arrival.
struct Stage {
    scenario: Arc<Scenario>,
    drive: Arc<Drive>,
    follow: Arc<Follow>,
    recorder: Arc<Recorder>,
    timeline: Arc<Mutex<Lines>>,
    before: Prepared,
}

impl Stage {
    async fn set(
        trial: &Trial,
        scenario: Arc<Scenario>,
        id: &str,
        dir: &Path,
        client: Client,
        before: Prepared,
    ) -> Result<Self, CouldNotRun> {
        let file = |error: std::io::Error| CouldNotRun(format!("{}: {error}", dir.display()));
        let samples = trial.samples.then(|| SampleFile::create(&dir.join("samples.csv"))).transpose().map_err(file)?;
        let timeline = Arc::new(Mutex::new(Lines::create(&dir.join("timeline.jsonl")).map_err(file)?));
        let recorder = Arc::new(Recorder::new(Fold::new(&scenario.journeys), samples));
        let board = Arc::new(Board::new(&scenario.works));
        let observer = Client::new(&scenario.target.url).await.map_err(|failure| CouldNotRun(failure.message))?;
        let start = Instant::now() + LEAD;
        let drive = Arc::new(Drive {
            scenario: scenario.clone(),
            client,
            headers: before.headers.clone(),
            globals: before.globals.clone(),
            picks: before.picks.clone(),
            run_id: id.to_owned(),
            recorder: recorder.clone(),
            board: board.clone(),
            start,
        });
        let follow = Arc::new(Follow {
            scenario: scenario.clone(),
            client: observer,
            headers: before.headers.clone(),
            globals: before.globals.clone(),
            board,
            timeline: timeline.clone(),
            start,
            misread: Mutex::default(),
        });
        Ok(Self { scenario, drive, follow, recorder, timeline, before })
    }

    /// Drives, follows, watches; then folds and judges.
    async fn play(self, trial: &mut Trial, fleet: &mut Fleet, record: Beginning) -> Result<Run, CouldNotRun> {
        let plans = plan(&self.scenario.phases, trial.seed);
        let watched = Mutex::new(self.watch(trial.pid, fleet));
        let (stop, stopped) = watch::channel(false);
        let (over, ended) = watch::channel(false);
        let mut pulse = Pulse {
            drive: self.drive.clone(),
            follow: self.follow.clone(),
            timeline: self.timeline.clone(),
            watched: &watched,
            screen: &mut trial.screen,
            planned: plans.iter().map(|plan| plan.len() as u64).sum(),
        };
        let load = async {
            let end = self.load(plans, fleet, &mut trial.interrupt, &stop, &stopped).await;
            over.send_replace(true);
            end
        };
        let ((), end) = tokio::join!(pulse.run(ended), load);
        trial.screen.clear();
        watched.lock().unwrap_or_else(PoisonError::into_inner).iter_mut().for_each(Watched::look);
        let now = self.drive.start.elapsed();
        let after = match end {
            End::Done => self.totals_after(now).await,
            End::Interrupted | End::Died(_) => vec![None; self.scenario.works.len()],
        };
        let watched = watched.into_inner().unwrap_or_else(PoisonError::into_inner);
        let results = self.results(now, &after, &watched);
        Ok(self.judge(record, results, &end))
    }

    /// The load and the work behind it, until both are over or something ends them.
    async fn load(
        &self,
        plans: Vec<Plan>,
        fleet: &mut Fleet,
        interrupt: &mut watch::Receiver<bool>,
        stop: &watch::Sender<bool>,
        stopped: &watch::Receiver<bool>,
    ) -> End {
        let (driven, seen_driven) = watch::channel(false);
        let mut following = tokio::task::JoinSet::new();
        for place in 0..self.scenario.works.len() {
            let (follow, driven, stopped) = (self.follow.clone(), seen_driven.clone(), stopped.clone());
            following.spawn(async move { follow.run(place, driven, stopped).await });
        }
        let work = async {
            self.drive.run(plans, stopped).await;
            driven.send_replace(true);
            while let Some(ended) = following.join_next().await {
                if let Err(error) = ended
                    && error.is_panic()
                {
                    std::panic::resume_unwind(error.into_panic());
                }
            }
        };
        tokio::pin!(work);
        let end = tokio::select! {
            () = &mut work => return End::Done,
            () = raised(interrupt) => End::Interrupted,
            death = fleet.first_death() => End::Died(death),
        };
        stop.send_replace(true);
        work.await;
        end
    }

    fn watch(&self, pid: Option<u32>, fleet: &Fleet) -> Vec<Watched> {
        let own = [(GENERATOR, std::process::id())];
        let given = pid.map(|pid| (SERVER, pid));
        let all = own.into_iter().chain(given).chain(fleet.pids());
        all.filter_map(|(name, pid)| Watched::new(name, pid)).collect()
    }

    /// What the server's totals rose by, for each kind of work.
    async fn totals_after(&self, now: Duration) -> Vec<Option<TotalsFigures>> {
        let mut rises = vec![None; self.scenario.works.len()];
        for look in 0..RECONCILE_LOOKS {
            if look > 0 {
                tokio::time::sleep(RECONCILE_EVERY).await;
            }
            let follow = &self.follow;
            let after = totals(&self.scenario, &follow.client, &self.before.headers, &self.before.globals).await;
            let Ok(after) = after else { continue };
            let rise =
                |(after, before): (Option<TotalsFigures>, &Option<TotalsFigures>)| Some(after?.since((*before)?));
            rises = after.into_iter().zip(&self.before.totals).map(rise).collect();
            if self.mismatches(now, &rises).is_empty() {
                break;
            }
        }
        rises
    }

    fn mismatches(&self, now: Duration, rises: &[Option<TotalsFigures>]) -> Vec<String> {
        let mut found = Vec::new();
        for (place, work) in self.scenario.works.iter().enumerate() {
            let Some(totals) = &work.totals else { continue };
            let figures = self.follow.board.tracker(place).figures(now, rises[place]);
            found.extend(reconcile(totals, &figures).into_iter().map(|mismatch| {
                let server = mismatch.server.map_or_else(|| "unknown".to_owned(), |count| count.to_string());
                format!("{} {}: lab {}, server {server}", work.name, mismatch.count, mismatch.lab)
            }));
        }
        found
    }

    fn results(&self, now: Duration, rises: &[Option<TotalsFigures>], watched: &[Watched]) -> Results {
        let fold = self.recorder.fold();
        let process = |name: &str| {
            let found = watched.iter().find(|process| process.name() == name);
            found.map_or_else(ProcessFigures::default, Watched::figures)
        };
        let work = |(place, work): (usize, &Work)| {
            (work.name.clone(), self.follow.board.tracker(place).figures(now, rises[place]))
        };
        let own = process(GENERATOR);
        let mut generator = fold.generator(self.scenario.generator.lag_p99_max);
        (generator.cpu_s, generator.rss_bytes) = (own.cpu_s, own.rss_bytes);
        let others = watched.iter().filter(|process| process.name() != GENERATOR && process.name() != SERVER);
        Results {
            journeys: fold.journeys(),
            work: self.scenario.works.iter().enumerate().map(work).collect(),
            generator,
            server: ServerFigures { process: process(SERVER), config: self.before.config.clone() },
            processes: others.map(|process| (process.name().to_owned(), process.figures())).collect(),
        }
    }

    fn judge(&self, record: Beginning, results: Results, end: &End) -> Run {
        let mut gates = judge_gates(&self.scenario.gates, &results.to_json());
        if self.scenario.works.iter().any(|work| work.totals.is_some()) {
            let rises: Vec<_> = self.scenario.works.iter().map(|work| results.work[&work.name].totals).collect();
            gates.push(reconciled(&self.mismatches(self.drive.start.elapsed(), &rises)));
        }
        if self.scenario.spawns() {
            gates.push(alive(end));
        }
        let lag = results.generator.schedule_lag_ms.p99;
        let circumstances = Circumstances {
            interrupted: matches!(end, End::Interrupted),
            behind: lag.is_some_and(|lag| lag > results.generator.lag_p99_max_ms),
        };
        let mut run = record.into_run(results, gates, circumstances);
        run.errors = self.recorder.fold().errors();
        run.notes = self.notes();
        run
    }

    /// What a reader must know about the record itself.
    fn notes(&self) -> Vec<String> {
        let misread = self.follow.misread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let misread = misread.map(|message| format!("A status request got no good answer; the first: {message}"));
        let samples = self.recorder.close().err().map(|error| format!("samples.csv is not complete: {error}"));
        let timeline = self.timeline.lock().unwrap_or_else(PoisonError::into_inner).failure();
        let timeline = timeline.map(|error| format!("timeline.jsonl is not complete: {error}"));
        [misread, samples, timeline].into_iter().flatten().collect()
    }
}

fn reconciled(mismatches: &[String]) -> Judged {
    let limit = "= server's totals";
    match mismatches {
        [] => Judged::implicit("reconciled", limit, "equal", true),
        found => Judged::implicit("reconciled", limit, &found.join("; "), false),
    }
}

fn alive(end: &End) -> Judged {
    let limit = "until the end";
    match end {
        End::Done | End::Interrupted => Judged::implicit("alive", limit, "yes", true),
        End::Died(death) => Judged::implicit("alive", limit, death, false),
    }
}

fn write_record(run: &Run, dir: &Path) -> Result<(), CouldNotRun> {
    let write = |name: &str, text: String| {
        let path = dir.join(name);
        std::fs::write(&path, text).map_err(|error| CouldNotRun(format!("{}: {error}", path.display())))
    };
    write("run.json", run.to_json_text())?;
    write("report.html", html(run, &BTreeMap::new()))?;
    write("report.md", markdown(run))
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
