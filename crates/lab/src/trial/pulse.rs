//! Once a second: memory and processor time of every process, the target's metrics, what is in flight; onto the
//! timeline beside the rows of work, and onto the screen. Refuses to decide anything.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use crate::drive::{Call, Drive};
use crate::flag::raised;
use crate::fold::round;
use crate::limits::PULSE;
use crate::machine::Host;
use crate::metrics;
use crate::record::Lines;
use crate::report::{Progress, Screen};
use crate::work::Follow;

use super::watched::Watched;

/// The name under which the lab itself is watched.
pub(crate) const GENERATOR: &str = "generator";

/// The name under which the target is watched.
pub(crate) const SERVER: &str = "server";

/// One row of the timeline.
#[derive(Debug, Serialize)]
struct Row<'a> {
    kind: &'static str,
    t_s: f64,
    in_flight: u64,
    ok: u64,
    denied: u64,
    errors: u64,
    processes: BTreeMap<&'a str, BTreeMap<String, f64>>,
    machine: BTreeMap<String, f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<BTreeMap<String, f64>>,
}

/// The pulse of a running trial.
pub(crate) struct Pulse<'a> {
    pub(crate) drive: Arc<Drive>,
    pub(crate) follow: Arc<Follow>,
    pub(crate) timeline: Arc<Mutex<Lines>>,
    pub(crate) watched: &'a Mutex<Vec<Watched>>,
    /// Who bears which name now: what was started again has another process id.
    pub(crate) roster: watch::Receiver<Vec<(String, u32)>>,
    /// The machine at the last beat.
    pub(crate) host: Host,
    pub(crate) screen: &'a mut Screen,
    pub(crate) planned: u64,
}

impl Pulse<'_> {
    /// Beats until it is dropped.
    pub(crate) async fn run(&mut self, mut ended: watch::Receiver<bool>) {
        let mut ticks = tokio::time::interval_at(self.drive.start, PULSE);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = raised(&mut ended) => return,
                _ = ticks.tick() => self.beat().await,
            }
        }
    }

    async fn beat(&mut self) {
        let metrics = self.scrape().await;
        let now = self.drive.start.elapsed();
        let (ok, denied, errors) = self.drive.recorder.fold().counts();
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        Watched::follow_all(&mut watched, &self.roster.borrow_and_update());
        Watched::look_all(&mut watched);
        let host = std::mem::replace(&mut self.host, Host::look());
        let row = Row {
            kind: "pulse",
            t_s: round(now.as_secs_f64()),
            in_flight: self.drive.recorder.in_flight(),
            ok,
            denied,
            errors,
            processes: watched.iter().map(|process| (process.name(), process.now())).collect(),
            machine: self.host.since(&host).by_name(),
            metrics,
        };
        self.timeline.lock().unwrap_or_else(PoisonError::into_inner).write(&row);
        let server = watched.iter().find(|process| process.name() == SERVER);
        let progress = Progress {
            elapsed: now,
            planned: self.planned,
            done: ok + denied + errors,
            in_flight: row.in_flight,
            errors,
            denied,
            work: self.drive.board.all().map(|(name, tracker)| (name.to_owned(), tracker.counts(now))).collect(),
            server_rss_bytes: server.map(Watched::rss_bytes),
        };
        self.screen.show(&progress);
    }

    /// A target that does not answer in time has no metrics in this row.
    async fn scrape(&self) -> Option<BTreeMap<String, f64>> {
        let path = self.drive.scenario.target.metrics.as_deref()?;
        let call = Call {
            method: Method::GET,
            path: path.parse().ok()?,
            headers: self.drive.headers.clone(),
            body: Bytes::new(),
            timeout: Duration::from_millis(900),
            repeatable: true,
        };
        let reply = self.follow.client.send(&call).await.ok().filter(|reply| reply.status == 200)?;
        Some(metrics::parse(&String::from_utf8_lossy(&reply.body)))
    }
}
