//! Once a second: every process and the machine, the target's metrics, the observers' figures, the load; onto the
//! timeline beside the rows of work, and onto the screen. Refuses to decide anything.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use super::conductor::Conductor;
use super::fleet::Roster;
use super::neighbours::Neighbours;
use super::observe::{Latest, Observers, Unread};
use super::silence::Silences;
use super::stage::{Log, Stage};
use super::watched::Watched;
use crate::aggregate::{Aggregate, Timeline, round};
use crate::findings::OutageNow;
use crate::flag::wait_until_raised;
use crate::generator::{ControlClient, ControlRequest};
use crate::limits::{GAUGES_EVERY, SAMPLER_EVERY};
use crate::machine::HostCounters;
use crate::metrics;
use crate::record::timeline::{FaultRow, SamplerRow, TimelineRow};
use crate::report::words::number;
use crate::report::{Progress, Screen};
use crate::scenario::{Arrivals, Journey, Phase};

/// The name under which the lab itself is watched.
pub(crate) const GENERATOR: &str = "generator";

/// The name under which the target is watched.
pub(crate) const SERVER: &str = "server";

/// The figure over time of the processors that the target keeps busy.
const SERVER_CORES: &str = "process.server.cpu_cores";

/// What the figures of programs that have nothing to do with the trial begin with.
pub(crate) const NEIGHBOUR: &str = "cores_of.";

/// How long the target's metrics may take; a later answer belongs to no second.
const SCRAPE_WITHIN: Duration = Duration::from_millis(900);

/// The pulse of a running trial.
pub(crate) struct Pulse<'a> {
    conductor: Arc<Conductor>,
    log: Arc<Log>,
    client: Arc<ControlClient>,
    headers: HeaderMap,
    globals: BTreeMap<String, String>,
    roster: watch::Receiver<Roster>,
    watched: Vec<Watched>,
    host: HostCounters,
    neighbours: Neighbours,
    latest: Latest,
    /// What the target did not tell.
    unread: Unread,
    /// The target's process where it ran already, until it has gone; and what was said of that.
    given: Option<u32>,
    gone: Option<String>,
    planned: u64,
    planned_s: Option<f64>,
    /// Whether an arrival may be several requests.
    tells_steps_apart: bool,
    /// Faults and notes that the screen was told of.
    told: (usize, usize),
    screen: &'a mut Screen,
}

impl<'a> Pulse<'a> {
    pub(crate) fn new(
        stage: &Stage,
        watched: Vec<Watched>,
        given: Option<u32>,
        roster: watch::Receiver<Roster>,
        screen: &'a mut Screen,
    ) -> Self {
        let phases = &stage.scenario.phases;
        Self {
            conductor: stage.conductor.clone(),
            log: stage.log.clone(),
            client: stage.before.client.clone(),
            headers: stage.before.headers.clone(),
            globals: stage.before.globals.clone(),
            roster,
            watched,
            host: HostCounters::read(),
            neighbours: Neighbours::default(),
            latest: Latest::default(),
            unread: Unread::default(),
            given,
            gone: None,
            planned: phases.iter().map(planned).sum::<Option<u64>>().unwrap_or(0),
            planned_s: planned_s(phases),
            tells_steps_apart: stage.scenario.journeys.iter().any(Journey::tells_steps_apart),
            told: (0, 0),
            screen,
        }
    }

    /// Beats until the trial is over.
    pub(crate) async fn run(&mut self, mut ended: watch::Receiver<bool>) {
        let observers = Observers {
            client: self.client.clone(),
            headers: self.headers.clone(),
            globals: self.globals.clone(),
            start: self.conductor.start,
            latest: self.latest.clone(),
            unread: self.unread.clone(),
        };
        let scenario = self.conductor.scenario.clone();
        let observing = observers.run(&scenario.observers, ended.clone());
        let silences = watch_silences(self.conductor.clone(), self.log.clone(), ended.clone());
        let beating = async {
            let mut ticks = tokio::time::interval_at(self.conductor.start, SAMPLER_EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    () = wait_until_raised(&mut ended) => return,
                    _ = ticks.tick() => self.beat().await,
                }
            }
        };
        tokio::join!(beating, observing, silences);
    }

    /// Looks a last time; gives what was watched, and what could not be.
    pub(crate) fn finish(mut self) -> (Vec<Watched>, Vec<String>) {
        self.screen.clear();
        Watched::look_all(&mut self.watched);
        let notes = self.gone.into_iter().chain(self.unread.sentences()).collect();
        (self.watched, notes)
    }

    /// The target's process that ran already is nobody's child here: that it has gone is only seen.
    fn look_after_given(&mut self, now: Duration) {
        let Some(pid) = self.given else { return };
        if self.watched.iter().any(|watched| watched.name() == SERVER && watched.is_there()) {
            return;
        }
        self.given = None;
        let gone = format!(
            "The process {pid}, which --pid names as the target's, had ended by {} s: its figures end there.",
            number(Some(now.as_secs_f64()))
        );
        self.conductor.note(gone.clone());
        self.gone = Some(gone);
    }

    async fn beat(&mut self) {
        let metrics = self.scrape().await;
        let now = self.conductor.start.elapsed();
        self.conductor.recorder.close_seconds(now).iter().for_each(|row| self.log.write(row));
        Watched::follow_all(&mut self.watched, &self.roster.borrow());
        Watched::look_all(&mut self.watched);
        self.look_after_given(now);
        let row = self.row(now, metrics);
        let progress = self.progress(now, &row);
        self.log.write(&TimelineRow::Pulse(row));
        let progress = Progress { outage: self.outage(), ..progress };
        self.screen.show(&progress);
    }

    fn row(&mut self, now: Duration, metrics: Option<BTreeMap<String, f64>>) -> SamplerRow {
        let gauges = self.conductor.crew.gauges();
        let (ok, denied, errors) = self.conductor.recorder.with_aggregate(Aggregate::arrival_counts);
        let host = HostCounters::read();
        let mut machine = host.since(&self.host).by_name();
        let known = self.watched.iter().flat_map(Watched::pids).copied().collect();
        let others = self.neighbours.look(&known);
        machine.extend(others.into_iter().map(|(name, cores)| (format!("{NEIGHBOUR}{name}"), cores)));
        self.host = host;
        SamplerRow {
            t_s: round(now.as_secs_f64()),
            in_flight: gauges.in_flight,
            queued: gauges.queued,
            connections: gauges.connections,
            waiting: gauges.long_polls,
            ok,
            denied,
            errors,
            requests: self.conductor.recorder.with_aggregate(Aggregate::request_counts).total(),
            lag_p99_ms: None,
            processes: self.watched.iter().map(|watched| (watched.name().to_owned(), watched.now())).collect(),
            machine,
            metrics: metrics.unwrap_or_default(),
            observed: self.latest.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    fn progress(&mut self, now: Duration, row: &SamplerRow) -> Progress {
        let notes = self.news();
        let cores = |timeline: &Timeline| timeline.series.get(SERVER_CORES)?.last();
        let latest = self.conductor.recorder.last_second();
        let of_server = |figure: &str| row.processes.get(SERVER).and_then(|server| server.get(figure)).copied();
        let requests = self.conductor.recorder.with_aggregate(Aggregate::request_counts);
        Progress {
            elapsed: now,
            planned_s: self.planned_s,
            planned: self.planned,
            done: row.ok + row.denied + row.errors,
            in_flight: row.in_flight,
            requests: self.tells_steps_apart.then_some(row.requests),
            waiting: row.waiting,
            // A journey that goes on has not failed, but its request has; a lost connection is of no request.
            errors: row.errors.max(requests.errors),
            denied: row.denied.max(requests.denied),
            work: self.conductor.board.all().map(|(name, tracker)| (name.to_owned(), tracker.counts(now))).collect(),
            server_rss_bytes: of_server("rss_bytes").map(|bytes| bytes as u64),
            throughput_per_s: latest.ok_per_s,
            latency_p99_ms: latest.latency_p99_ms,
            queued: row.queued,
            connections: row.connections,
            part: self.conductor.recorder.with_load_steps(|book| book.current(now).map(|spec| spec.label.clone())),
            server_cpu_cores: self.log.look(cores),
            outage: None,
            notes,
        }
    }

    /// Whether the target answers nobody, or nobody well, as far as the timeline knows.
    fn outage(&self) -> Option<OutageNow> {
        let journeys = &self.conductor.scenario.journeys;
        let names: Vec<&str> = journeys.iter().map(|journey| journey.name.as_str()).collect();
        self.log.look(|timeline| OutageNow::find(timeline, &names))
    }

    /// Faults and notes since the last beat.
    fn news(&mut self) -> Vec<String> {
        let (faults_told, notes_told) = self.told;
        let (news, told) = self.log.look(|timeline| {
            let faults = timeline.faults.iter().skip(faults_told).map(told_of);
            let notes = timeline.notes.iter().skip(notes_told).map(|row| row.note.clone());
            (faults.chain(notes).collect(), (timeline.faults.len(), timeline.notes.len()))
        });
        self.told = told;
        news
    }

    /// A target that does not answer in time has no metrics in this row.
    async fn scrape(&self) -> Option<BTreeMap<String, f64>> {
        let path = self.conductor.scenario.target.metrics.as_deref()?;
        let call = ControlRequest {
            method: Method::GET,
            path: path.parse().ok()?,
            headers: self.headers.clone(),
            body: Bytes::new(),
            timeout: SCRAPE_WITHIN,
            idempotent: true,
        };
        let what = format!("The target's metrics ({path})");
        let reply = match self.client.send(&call).await {
            Ok(reply) if reply.status == 200 => reply,
            Ok(reply) => {
                self.unread.note(&what, || format!("it answered {}, and not 200", reply.status));
                return None;
            }
            Err(failure) => {
                self.unread.note(&what, || failure.message);
                return None;
            }
        };
        let found = metrics::parse(&String::from_utf8_lossy(&reply.body));
        if found.is_empty() {
            self.unread.note(&what, || "the answer has no sample in the text format of Prometheus".to_owned());
        }
        Some(found)
    }
}

/// Looks at the load many times a second, for silences, until the trial is over.
async fn watch_silences(conductor: Arc<Conductor>, log: Arc<Log>, mut ended: watch::Receiver<bool>) {
    let mut silences = Silences::default();
    let mut ticks = tokio::time::interval_at(conductor.start, GAUGES_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = wait_until_raised(&mut ended) => break,
            _ = ticks.tick() => {}
        }
        let row = silences.look(conductor.start.elapsed(), conductor.crew.gauges());
        row.into_iter().for_each(|row| log.write(&TimelineRow::Silence(row)));
    }
    silences.end().into_iter().for_each(|row| log.write(&TimelineRow::Silence(row)));
}

fn told_of(fault: &FaultRow) -> String {
    let failed = fault.failed.as_ref().map_or_else(String::new, |why| format!(", which failed: {why}"));
    format!("{} {}{failed}", fault.act, fault.process)
}

/// Arrivals of a phase; what its connections say first is a journey as well.
fn planned(phase: &Phase) -> Option<u64> {
    let said_first = match phase.arrivals {
        Arrivals::Hold { connections, opening, .. } if phase.opening.is_some() => opening.missing(connections),
        _ => 0,
    };
    Some(phase.arrivals.count()?.saturating_add(said_first))
}

/// When the last arrival is due; none where the target's answers decide it.
fn planned_s(phases: &[Phase]) -> Option<f64> {
    let (mut turn, mut end) = (Duration::ZERO, Duration::ZERO);
    for phase in phases {
        let length = phase.arrivals.lasting()?;
        match phase.at {
            Some(at) => end = end.max(at.saturating_add(length)),
            None => turn = turn.saturating_add(phase.after).saturating_add(length),
        }
    }
    Some(end.max(turn).as_secs_f64())
}
