//! Polls the status of items that have not ended, over connections of its own so that the load is not disturbed. A
//! target that does not respond for a while is not an error here; its work just makes no progress. Only a transport
//! failure counts as silence: a response that says that an item is unknown, or that reports an error, delays no other
//! item. Does not interpret responses: the tracker does.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use http::{HeaderMap, HeaderValue, header};
use serde_json::{Value, json};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::poll_order::PollOrder;
use super::{ControlTarget, Trackers};
use crate::generator::{ControlRequest, excerpt};
use crate::limits::REQUEST_TIMEOUT;
use crate::measurement::timeline::{TimelineRow, WorkRow};
use crate::measurement::{Awaited, ErrorKind};
use crate::record::TimelineLog;
use crate::scenario::{Scenario, Scope, StatusRequest, WorkSpec};

#[derive(Debug)]
pub(crate) struct StatusPoller<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) target: &'a ControlTarget,
    pub(crate) trackers: &'a Trackers,
    pub(crate) log: &'a TimelineLog,
    /// The start of the plan.
    pub(crate) start: Instant,
    /// The first response that could not be understood, for the report.
    pub(crate) first_misread: &'a Mutex<Option<String>>,
}

impl StatusPoller<'_> {
    /// Polls the work with this index until, after the last arrival, nothing is left that could still move, or the
    /// scenario gives up, or the token `stop` ends it.
    pub(crate) async fn run(&self, index: usize, driven: &CancellationToken, stop: &CancellationToken) {
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = self.run_rounds(index, driven) => {}
        }
        let now = self.start.elapsed();
        self.trackers.tracker(index).record_point(now);
    }

    async fn run_rounds(&self, index: usize, driven: &CancellationToken) {
        let work = &self.scenario.work_specs[index];
        let (mut order, mut silent_rounds) = (PollOrder::default(), 0);
        let mut ticks = tokio::time::interval_at(self.start + work.poll_interval, work.poll_interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut driven_since = None;
        loop {
            ticks.tick().await;
            // Read before the round: the round then sees everything that was created until the end.
            if driven.is_cancelled() && driven_since.is_none() {
                driven_since = Some(Instant::now());
            }
            let began = self.start.elapsed();
            let round = self.run_round(index, work, began, &mut order).await;
            silent_rounds = if round.got_response { 0 } else { silent_rounds + 1 };
            let now = self.start.elapsed();
            let point = {
                let mut tracker = self.trackers.tracker(index);
                if silent_rounds >= SILENT_ROUNDS {
                    tracker.mark_all_polled(began);
                }
                tracker.record_point(now)
            };
            self.log.write(&TimelineRow::Work(WorkRow { work: work.name.clone(), point, poll_errors: round.errors }));
            let Some(since) = driven_since else { continue };
            if self.trackers.tracker(index).is_settled() || since.elapsed() >= work.give_up_after {
                return;
            }
        }
    }

    /// Polls every item that has not ended once. An unreachable target would make every request of the round wait: the
    /// next round continues after the items that got no response.
    async fn run_round(&self, index: usize, work: &WorkSpec, began: Duration, order: &mut PollOrder) -> PollRound {
        let (StatusRequest::Bulk { ids_max: at_once, .. } | StatusRequest::Single { concurrency: at_once }) =
            work.status_request;
        let groups = order.groups(self.trackers.tracker(index).unfinished(), at_once);
        // A round without requests is not silent.
        let mut round = PollRound { errors: 0, got_response: groups.is_empty() };
        for group in groups {
            let response = match &work.status_request {
                StatusRequest::Bulk { ids_member, .. } => {
                    self.poll_group(index, work, ids_member, &group, &mut round).await
                }
                StatusRequest::Single { .. } => self.poll_each(index, work, &group, &mut round).await,
            };
            self.trackers.tracker(index).mark_polled(&group, began);
            match response {
                GroupResponse::Received => {
                    round.got_response = true;
                    order.got_response(&group);
                }
                GroupResponse::None { may_be_an_item } => {
                    order.got_no_response(&group, may_be_an_item);
                    break;
                }
            }
        }
        round
    }

    /// Polls many items with one request.
    async fn poll_group(
        &self,
        index: usize,
        work: &WorkSpec,
        member: &str,
        ids: &[Box<str>],
        round: &mut PollRound,
    ) -> GroupResponse {
        let response = self.request_many(work, member, ids).await;
        let group_response = match response {
            Err(StatusError::NotReached(_)) => GroupResponse::None { may_be_an_item: false },
            Err(StatusError::NoResponse(_)) => GroupResponse::None { may_be_an_item: true },
            Ok(_) | Err(StatusError::Unknown(_) | StatusError::Invalid(_)) => GroupResponse::Received,
        };
        let now = self.start.elapsed();
        let observed = response.map_err(StatusError::message);
        let observed = observed.and_then(|response| self.trackers.tracker(index).observe(ids, &response, now));
        round.errors += self.note_misread(observed);
        group_response
    }

    /// Polls each item with its own request; one response is enough.
    async fn poll_each(&self, index: usize, work: &WorkSpec, ids: &[Box<str>], round: &mut PollRound) -> GroupResponse {
        let responses = join_all(ids.iter().map(|id| self.request_one(work, id))).await;
        let is_missing = |response: &Result<Value, StatusError>| {
            matches!(response, Err(StatusError::NoResponse(_) | StatusError::NotReached(_)))
        };
        let group_response = if responses.iter().all(is_missing) {
            GroupResponse::None { may_be_an_item: false }
        } else {
            GroupResponse::Received
        };
        let now = self.start.elapsed();
        for (id, response) in ids.iter().zip(responses) {
            let observed = match response {
                Ok(response) => self.trackers.tracker(index).observe_item(id, &response, now),
                Err(StatusError::Unknown(_)) => {
                    self.trackers.tracker(index).observe_unknown(id, now);
                    Ok(())
                }
                Err(other) => Err(other.message()),
            };
            round.errors += self.note_misread(observed);
        }
        group_response
    }

    /// Returns 1 if a response could not be understood; the first message is kept.
    fn note_misread(&self, observed: Result<(), String>) -> u64 {
        let Err(message) = observed else { return 0 };
        self.first_misread.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(message);
        1
    }

    async fn request_many(&self, work: &WorkSpec, member: &str, ids: &[Box<str>]) -> Result<Value, StatusError> {
        let path = work.path.render(&Scope::for_run(&self.target.globals)).map_err(StatusError::Invalid)?;
        let mut headers = self.target.headers.clone();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.request_status(work, &path, headers, Bytes::from(json!({ member: ids }).to_string())).await
    }

    async fn request_one(&self, work: &WorkSpec, id: &str) -> Result<Value, StatusError> {
        let kept = [("id".to_owned(), id.to_owned())];
        let path = work
            .path
            .render(&Scope { kept: &kept, ..Scope::for_run(&self.target.globals) })
            .map_err(StatusError::Invalid)?;
        self.request_status(work, &path, self.target.headers.clone(), Bytes::new()).await
    }

    async fn request_status(
        &self,
        work: &WorkSpec,
        path: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Value, StatusError> {
        let request = ControlRequest {
            method: work.method.clone(),
            path: path.parse().map_err(|_| StatusError::Invalid(format!("`{path}` is not a path")))?,
            headers,
            body,
            timeout: REQUEST_TIMEOUT,
            // A status request changes nothing, whatever its method.
            idempotent: true,
        };
        let response = self.target.client.send(&request).await.map_err(|failure| match failure.kind {
            ErrorKind::Connect | ErrorKind::Timeout(Awaited::Connect) => StatusError::NotReached(failure.message),
            kind if kind.is_transport() => StatusError::NoResponse(failure.message),
            _ => StatusError::Invalid(failure.message),
        })?;
        if !(200..300).contains(&response.status) {
            let message = format!("{path} answered {}: {}", response.status, excerpt(&response.body));
            // The response to a request for many says nothing about a single item.
            let of_item =
                matches!(work.status_request, StatusRequest::Single { .. }) && matches!(response.status, 404 | 410);
            return Err(if of_item { StatusError::Unknown(message) } else { StatusError::Invalid(message) });
        }
        serde_json::from_slice(&response.body)
            .map_err(|error| StatusError::Invalid(format!("not JSON ({error}): {}", excerpt(&response.body))))
    }
}

/// After so many rounds in a row without any response the target counts as silent for all items alike.
const SILENT_ROUNDS: u32 = 2;

#[derive(Debug, Default)]
struct PollRound {
    /// Status requests without a good response.
    errors: u64,
    got_response: bool,
}

/// What came of a request for a group of items.
enum GroupResponse {
    Received,
    /// See [`PollOrder::got_no_response`].
    None {
        may_be_an_item: bool,
    },
}

enum StatusError {
    /// There was no connection.
    NotReached(String),
    NoResponse(String),
    /// The server does not know the item.
    Unknown(String),
    /// A response that cannot be used, or a request that could not be sent.
    Invalid(String),
}

impl StatusError {
    fn message(self) -> String {
        let (Self::NotReached(message) | Self::NoResponse(message) | Self::Unknown(message) | Self::Invalid(message)) =
            self;
        message
    }
}
