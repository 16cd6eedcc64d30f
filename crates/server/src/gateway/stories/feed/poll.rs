//! The poll: one question, one answer, and as much time between the two as the client likes.

use super::{Reader, shape};
use crate::app::App;
use crate::gateway::granted::{Granted, whole};
use crate::gateway::listener::park::{CanPark, GiveUp, Parked, park_or_wait};
use crate::gateway::problem::{ApiError, ApiResult};
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
pub(super) async fn answer(
    app: &App,
    reader: Reader,
    granted: Granted,
    after: u64,
    wait: Duration,
    pass: Option<CanPark>,
) -> ApiResult<Response> {
    let Reader { table, waiter } = reader;
    if wait.is_zero() {
        let answer = app.tables.feed(table, waiter.player, after).await?;
        return Ok(shape::polled(table, &answer).map(Body::from));
    }
    let deadline = Instant::now() + wait;
    let mut waiting = app.tables.wait(table, waiter, after).await?;
    if let Some(answer) = (&mut waiting).now_or_never() {
        return Ok(shape::polled(table, &*answer?).map(Body::from));
    }
    Ok(park_or_wait(pass, deadline, granted.to(Polling { table, waiting })).await)
}

/// A poll that waits: all that is kept of it.
struct Polling {
    table: TableId,
    waiting: FeedWait,
}

impl Polling {
    fn shaped(&self, answer: Result<&crate::tables::FeedResponse, ApiError>) -> Whole<Bytes> {
        match answer {
            Ok(answer) => shape::polled(self.table, answer),
            Err(error) => whole(error),
        }
    }
}

impl Parked for Polling {
    fn poll_answer(&mut self, context: &mut Context<'_>) -> Poll<Whole<Bytes>> {
        let answer = ready!(Pin::new(&mut self.waiting).poll(context));
        Poll::Ready(self.shaped(answer.as_deref().map_err(|error| error.clone().into())))
    }

    fn give_up(&mut self, _: GiveUp) -> Whole<Bytes> {
        if let Some(answer) = self.waiting.so_far() {
            return self.shaped(Ok(&answer));
        }
        // Only a failure is no answer, and whatever ended the wait did so before we did.
        let ended = (&mut self.waiting).now_or_never();
        let unforeseen = || ApiError::Unforeseen("a wait ended without an answer".to_owned());
        let answer = ended.map_or_else(|| Err(unforeseen()), |answer| answer.map_err(ApiError::from));
        match answer {
            Ok(answer) => self.shaped(Ok(&answer)),
            Err(error) => whole(error),
        }
    }
}
