//! The poll: one question, one answer, and as much time between the two as the client likes.

use super::{FeedReader, messages};
use crate::app::App;
use crate::gateway::listener::park::{LongPoll, ParkToken, WaitEnd, park_or_wait};
use crate::gateway::problem::{ApiError, ApiResult};
use crate::gateway::revocation::{RequestGrant, refusal_response};
use crate::tables::FeedWait;
use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use engine::ids::TableId;
use futures_util::FutureExt;
use http::Response as Whole;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::Instant;

/// Answers a poll: at once if it is behind or does not wait, parked otherwise.
pub(super) async fn respond(
    app: &App,
    reader: FeedReader,
    granted: RequestGrant,
    after: u64,
    wait: Duration,
    pass: Option<ParkToken>,
) -> ApiResult<Response> {
    let FeedReader { table, waiter } = reader;
    if wait.is_zero() {
        let answer = app.tables.feed(table, waiter.player, after).await?;
        return Ok(messages::poll_response(table, &answer).map(Body::from));
    }
    let deadline = Instant::now() + wait;
    let mut waiting = app.tables.wait(table, waiter, after).await?;
    if let Some(answer) = (&mut waiting).now_or_never() {
        return Ok(messages::poll_response(table, &*answer?).map(Body::from));
    }
    Ok(park_or_wait(pass, deadline, granted.until_revoked(FeedPoll { table, waiting })).await)
}

/// A poll that waits: all that is kept of it.
struct FeedPoll {
    table: TableId,
    waiting: FeedWait,
}

impl FeedPoll {
    fn response(&self, answer: Result<&crate::tables::FeedResponse, ApiError>) -> Whole<Bytes> {
        match answer {
            Ok(answer) => messages::poll_response(self.table, answer),
            Err(error) => refusal_response(error),
        }
    }
}

impl LongPoll for FeedPoll {
    fn poll_response(&mut self, context: &mut Context<'_>) -> Poll<Whole<Bytes>> {
        let answer = ready!(Pin::new(&mut self.waiting).poll(context));
        Poll::Ready(self.response(answer.as_deref().map_err(|error| error.clone().into())))
    }

    fn finish(&mut self, _: WaitEnd) -> Whole<Bytes> {
        if let Some(answer) = self.waiting.so_far() {
            return self.response(Ok(&answer));
        }
        // Only a failure is no answer, and whatever ended the wait did so before we did.
        let ended = (&mut self.waiting).now_or_never();
        let unforeseen = || ApiError::Internal("a wait ended without an answer".to_owned());
        let answer = ended.map_or_else(|| Err(unforeseen()), |answer| answer.map_err(ApiError::from));
        match answer {
            Ok(answer) => self.response(Ok(&answer)),
            Err(error) => refusal_response(error),
        }
    }
}
