//! Rounds of status requests: asks for the pieces that have not ended, over connections of its own so
//! that the load is not disturbed. A target that does not answer for a while is not an error here; its work then
//! simply makes no progress. Refuses to interpret answers: the tracker does.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::future::join_all;
use http::{HeaderMap, HeaderValue, header};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior};

use super::Board;
use crate::drive::{Call, Client, excerpt};
use crate::flag::raised;
use crate::limits::REQUEST_TIMEOUT;
use crate::record::timeline::{Row, WorkRow};
use crate::scenario::{Asking, Scenario, Scope, Work};
use crate::trial::Log;

/// Everything that rounds share.
#[derive(Debug)]
pub struct Follow {
    /// The trial.
    pub scenario: Arc<Scenario>,
    /// The target, over connections that carry no load.
    pub client: Arc<Client>,
    /// Headers of every request.
    pub headers: HeaderMap,
    /// Values of the whole run.
    pub globals: BTreeMap<String, String>,
    /// The trackers.
    pub board: Arc<Board>,
    /// Where rows go.
    pub(crate) log: Arc<Log>,
    /// The moment that the plan counts from.
    pub start: Instant,
    /// The first answer that could not be understood, for the report.
    pub misread: Mutex<Option<String>>,
}

impl Follow {
    /// The first answer that could not be understood.
    pub(crate) fn take_misread(&self) -> Option<String> {
        self.misread.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Follows the work at that place until, after the last arrival, nothing is left that could still move, or
    /// the scenario gives up, or `stop` says so.
    pub async fn run(&self, place: usize, driven: watch::Receiver<bool>, mut stop: watch::Receiver<bool>) {
        tokio::select! {
            biased;
            () = raised(&mut stop) => {}
            () = self.rounds(place, driven) => {}
        }
        let now = self.start.elapsed();
        self.board.tracker(place).mark(now);
    }

    async fn rounds(&self, place: usize, driven: watch::Receiver<bool>) {
        let work = &self.scenario.works[place];
        let mut ticks = tokio::time::interval_at(self.start + work.poll, work.poll);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut driven_since = None;
        loop {
            ticks.tick().await;
            // Read before the round: the round then sees everything that was created until the end.
            if *driven.borrow() && driven_since.is_none() {
                driven_since = Some(Instant::now());
            }
            let began = self.start.elapsed();
            let poll_errors = self.round(place, work).await;
            let now = self.start.elapsed();
            let point = {
                let mut tracker = self.board.tracker(place);
                tracker.looked(began);
                tracker.mark(now)
            };
            self.log.write(&Row::Work(WorkRow { work: work.name.clone(), point, poll_errors }));
            let Some(since) = driven_since else { continue };
            if self.board.tracker(place).is_settled() || since.elapsed() >= work.give_up_after {
                return;
            }
        }
    }

    /// Asks once for every piece that has not ended; gives the number of requests without a good answer. A target that is
    /// away would make every request of the round wait: the next round asks again.
    async fn round(&self, place: usize, work: &Work) -> u64 {
        let unfinished = self.board.tracker(place).unfinished();
        let mut errors = 0;
        match &work.asking {
            Asking::Bulk { ids, bulk } => {
                for chunk in unfinished.chunks(*bulk) {
                    let answer = self.ask_many(work, ids, chunk).await;
                    let silent = answer.is_err();
                    let now = self.start.elapsed();
                    let seen = answer.and_then(|answer| self.board.tracker(place).observe(&answer, now));
                    errors += self.note_misread(seen);
                    if silent {
                        break;
                    }
                }
            }
            Asking::Each { at_once } => {
                for chunk in unfinished.chunks(*at_once) {
                    let answers = join_all(chunk.iter().map(|id| self.ask_one(work, id))).await;
                    let silent = answers.iter().all(Result::is_err);
                    let now = self.start.elapsed();
                    for (id, answer) in chunk.iter().zip(answers) {
                        let seen = answer.and_then(|answer| self.board.tracker(place).observe_piece(id, &answer, now));
                        errors += self.note_misread(seen);
                    }
                    if silent {
                        break;
                    }
                }
            }
        }
        errors
    }

    /// One for what could not be understood, of which the first message is kept.
    fn note_misread(&self, seen: Result<(), String>) -> u64 {
        let Err(message) = seen else { return 0 };
        self.misread.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(message);
        1
    }

    async fn ask_many(&self, work: &Work, member: &str, ids: &[Box<str>]) -> Result<Value, String> {
        let path = work.path.render(&Scope::of_run(&self.globals))?;
        let mut headers = self.headers.clone();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.ask(work, &path, headers, Bytes::from(json!({ member: ids }).to_string())).await
    }

    async fn ask_one(&self, work: &Work, id: &str) -> Result<Value, String> {
        let kept = [("id".to_owned(), id.to_owned())];
        let path = work.path.render(&Scope { kept: &kept, ..Scope::of_run(&self.globals) })?;
        self.ask(work, &path, self.headers.clone(), Bytes::new()).await
    }

    async fn ask(&self, work: &Work, path: &str, headers: HeaderMap, body: Bytes) -> Result<Value, String> {
        let call = Call {
            method: work.method.clone(),
            path: path.parse().map_err(|_| format!("`{path}` is not a path"))?,
            headers,
            body,
            timeout: REQUEST_TIMEOUT,
            // Asking for a status changes nothing, whatever the method.
            repeatable: true,
        };
        let reply = self.client.send(&call).await.map_err(|failure| failure.message)?;
        if !(200..300).contains(&reply.status) {
            return Err(format!("{path} answered {}: {}", reply.status, excerpt(&reply.body)));
        }
        serde_json::from_slice(&reply.body).map_err(|error| format!("not JSON ({error}): {}", excerpt(&reply.body)))
    }
}
