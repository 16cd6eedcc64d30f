//! Rounds of status requests: asks for the pieces that have not ended, over connections of its own so
//! that the load is not disturbed. A target that does not answer for a while is not an error here; its work then
//! simply makes no progress. Only a transport that fails is such silence: an answer that says that a piece is not known,
//! or that something is wrong, holds no other piece up. Refuses to interpret answers: the tracker does.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use http::{HeaderMap, HeaderValue, header};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior};

use super::Trackers;
use crate::flag::wait_until_raised;
use crate::generator::{ControlClient, ControlRequest, excerpt};
use crate::limits::REQUEST_TIMEOUT;
use crate::record::timeline::{TimelineRow, WorkRow};
use crate::scenario::{Scenario, Scope, StatusRequest, WorkSpec};
use crate::trial::TimelineLog;

/// Everything that rounds share.
#[derive(Debug)]
pub struct StatusPoller {
    /// The trial.
    pub scenario: Arc<Scenario>,
    /// The target, over connections that carry no load.
    pub client: Arc<ControlClient>,
    /// Headers of every request.
    pub headers: HeaderMap,
    /// Values of the whole run.
    pub globals: BTreeMap<String, String>,
    /// The trackers.
    pub trackers: Arc<Trackers>,
    /// Where rows go.
    pub(crate) log: Arc<TimelineLog>,
    /// The moment that the plan counts from.
    pub start: Instant,
    /// The first answer that could not be understood, for the report.
    pub first_misread: Mutex<Option<String>>,
}

impl StatusPoller {
    /// The first answer that could not be understood.
    pub(crate) fn take_first_misread(&self) -> Option<String> {
        self.first_misread.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Follows the work at that place until, after the last arrival, nothing is left that could still move, or
    /// the scenario gives up, or `stop` says so.
    pub async fn run(&self, place: usize, driven: watch::Receiver<bool>, mut stop: watch::Receiver<bool>) {
        tokio::select! {
            biased;
            () = wait_until_raised(&mut stop) => {}
            () = self.run_rounds(place, driven) => {}
        }
        let now = self.start.elapsed();
        self.trackers.tracker(place).record_point(now);
    }

    async fn run_rounds(&self, place: usize, driven: watch::Receiver<bool>) {
        let work = &self.scenario.work_specs[place];
        let (mut order, mut silent_rounds) = (PollOrder::default(), 0);
        let mut ticks = tokio::time::interval_at(self.start + work.poll_interval, work.poll_interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut driven_since = None;
        loop {
            ticks.tick().await;
            // Read before the round: the round then sees everything that was created until the end.
            if *driven.borrow() && driven_since.is_none() {
                driven_since = Some(Instant::now());
            }
            let began = self.start.elapsed();
            let round = self.run_round(place, work, began, &mut order).await;
            silent_rounds = if round.got_response { 0 } else { silent_rounds + 1 };
            let now = self.start.elapsed();
            let point = {
                let mut tracker = self.trackers.tracker(place);
                if silent_rounds >= SILENT_ROUNDS {
                    tracker.mark_all_polled(began);
                }
                tracker.record_point(now)
            };
            self.log.write(&TimelineRow::Work(WorkRow { work: work.name.clone(), point, poll_errors: round.errors }));
            let Some(since) = driven_since else { continue };
            if self.trackers.tracker(place).is_settled() || since.elapsed() >= work.give_up_after {
                return;
            }
        }
    }

    /// Asks once for every piece that has not ended. A target that is away would make every request of the round wait:
    /// the next round goes on behind those that were met with silence.
    async fn run_round(&self, place: usize, work: &WorkSpec, began: Duration, order: &mut PollOrder) -> PollRound {
        let unfinished = order.apply(self.trackers.tracker(place).unfinished());
        let mut round = PollRound::default();
        let (StatusRequest::Bulk { ids_max: size, .. } | StatusRequest::Single { concurrency: size }) =
            work.status_request;
        for chunk in unfinished.chunks(size) {
            let heard = match &work.status_request {
                StatusRequest::Bulk { ids_member, .. } => {
                    self.poll_chunk(place, work, ids_member, chunk, &mut round).await
                }
                StatusRequest::Single { .. } => self.poll_each(place, work, chunk, &mut round).await,
            };
            self.trackers.tracker(place).mark_polled(chunk, began);
            round.got_response |= heard;
            if !heard {
                order.resume_after(chunk);
                break;
            }
        }
        // Nothing to ask for is no silence.
        round.got_response |= unfinished.is_empty();
        round
    }

    /// Asks for many at once; gives whether an answer came.
    async fn poll_chunk(
        &self,
        place: usize,
        work: &WorkSpec,
        member: &str,
        ids: &[Box<str>],
        round: &mut PollRound,
    ) -> bool {
        let answer = self.request_many(work, member, ids).await;
        let heard = !matches!(answer, Err(StatusError::NoResponse(_)));
        let now = self.start.elapsed();
        let seen = answer.map_err(StatusError::message);
        let seen = seen.and_then(|answer| self.trackers.tracker(place).observe(ids, &answer, now));
        round.errors += self.note_misread(seen);
        heard
    }

    /// Asks for each of these at once; gives whether any answer came.
    async fn poll_each(&self, place: usize, work: &WorkSpec, ids: &[Box<str>], round: &mut PollRound) -> bool {
        let answers = join_all(ids.iter().map(|id| self.request_one(work, id))).await;
        let heard = !answers.iter().all(|answer| matches!(answer, Err(StatusError::NoResponse(_))));
        let now = self.start.elapsed();
        for (id, answer) in ids.iter().zip(answers) {
            let seen = match answer {
                Ok(answer) => self.trackers.tracker(place).observe_item(id, &answer, now),
                Err(StatusError::Unknown(_)) => {
                    self.trackers.tracker(place).observe_unknown(id, now);
                    Ok(())
                }
                Err(other) => Err(other.message()),
            };
            round.errors += self.note_misread(seen);
        }
        heard
    }

    /// One for what could not be understood, of which the first message is kept.
    fn note_misread(&self, seen: Result<(), String>) -> u64 {
        let Err(message) = seen else { return 0 };
        self.first_misread.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(message);
        1
    }

    async fn request_many(&self, work: &WorkSpec, member: &str, ids: &[Box<str>]) -> Result<Value, StatusError> {
        let path = work.path.render(&Scope::for_run(&self.globals)).map_err(StatusError::Invalid)?;
        let mut headers = self.headers.clone();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.request_status(work, &path, headers, Bytes::from(json!({ member: ids }).to_string())).await
    }

    async fn request_one(&self, work: &WorkSpec, id: &str) -> Result<Value, StatusError> {
        let kept = [("id".to_owned(), id.to_owned())];
        let path =
            work.path.render(&Scope { kept: &kept, ..Scope::for_run(&self.globals) }).map_err(StatusError::Invalid)?;
        self.request_status(work, &path, self.headers.clone(), Bytes::new()).await
    }

    async fn request_status(
        &self,
        work: &WorkSpec,
        path: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Value, StatusError> {
        let call = ControlRequest {
            method: work.method.clone(),
            path: path.parse().map_err(|_| StatusError::Invalid(format!("`{path}` is not a path")))?,
            headers,
            body,
            timeout: REQUEST_TIMEOUT,
            // Asking for a status changes nothing, whatever the method.
            idempotent: true,
        };
        let reply = self.client.send(&call).await.map_err(|failure| match failure.kind.is_transport() {
            true => StatusError::NoResponse(failure.message),
            false => StatusError::Invalid(failure.message),
        })?;
        if !(200..300).contains(&reply.status) {
            let message = format!("{path} answered {}: {}", reply.status, excerpt(&reply.body));
            // Of a request for many these say nothing about a single piece.
            let of_piece =
                matches!(work.status_request, StatusRequest::Single { .. }) && matches!(reply.status, 404 | 410);
            return Err(if of_piece { StatusError::Unknown(message) } else { StatusError::Invalid(message) });
        }
        serde_json::from_slice(&reply.body)
            .map_err(|error| StatusError::Invalid(format!("not JSON ({error}): {}", excerpt(&reply.body))))
    }
}

/// After so many rounds without any answer in a row the target is taken to be silent for all pieces alike.
const SILENT_ROUNDS: u32 = 2;

/// What came of a round.
#[derive(Debug, Default)]
struct PollRound {
    /// Status requests without a good answer.
    errors: u64,
    /// Whether any answer came.
    got_response: bool,
}

/// Why there is no status.
enum StatusError {
    /// No answer came.
    NoResponse(String),
    /// The server answers that it does not know the piece.
    Unknown(String),
    /// An answer that cannot be used, or a request that could not be sent.
    Invalid(String),
}

impl StatusError {
    fn message(self) -> String {
        let (Self::NoResponse(message) | Self::Unknown(message) | Self::Invalid(message)) = self;
        message
    }
}

/// Where a round begins: behind the pieces for which the round before it got no answer, so that those never keep the
/// others from being asked for.
#[derive(Debug, Default)]
struct PollOrder {
    resume_after: Option<Box<str>>,
}

impl PollOrder {
    /// Takes ids in their order; gives them in the order of this round.
    fn apply(&mut self, mut ids: Vec<Box<str>>) -> Vec<Box<str>> {
        if let Some(behind) = self.resume_after.take() {
            let at = ids.partition_point(|id| *id <= behind);
            ids.rotate_left(at);
        }
        ids
    }

    fn resume_after(&mut self, chunk: &[Box<str>]) {
        self.resume_after = chunk.last().cloned();
    }
}
