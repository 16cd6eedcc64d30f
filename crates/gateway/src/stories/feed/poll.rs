//! The long poll: one request, one response, and between the two as much time as the client likes.

use super::{FeedReader, messages};
use crate::app::App;
use crate::listener::park::{LongPoll, ParkToken, WaitEnd, park_or_wait};
use crate::problem::{ApiError, ApiResult};
use crate::revocation::RequestGrant;
use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use engine::ids::TableId;
use futures_util::FutureExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tables::{FeedResponse, FeedWait, TableError};
use tokio::time::Instant;

/// Answers a poll: at once if its cursor is behind or it does not wait, parked otherwise.
pub(super) async fn respond(
    app: &App,
    reader: FeedReader,
    grant: RequestGrant,
    after: u64,
    wait: Duration,
    park_token: Option<ParkToken>,
) -> ApiResult<Response> {
    let FeedReader { table, waiter } = reader;
    if wait.is_zero() {
        let response = app.tables.feed(table, waiter.player, after).await?;
        return Ok(messages::poll_response(table, &response).map(Body::from));
    }
    let deadline = Instant::now() + wait;
    let mut waiting = app.tables.wait(table, waiter, after).await?;
    if let Some(response) = (&mut waiting).now_or_never() {
        return Ok(messages::poll_response(table, &*response?).map(Body::from));
    }
    Ok(park_or_wait(park_token, deadline, grant.until_revoked(FeedPoll { table, waiting })).await)
}

/// A waiting poll: all that is kept of it.
struct FeedPoll {
    table: TableId,
    waiting: FeedWait,
}

impl FeedPoll {
    fn response(&self, response: Result<Arc<FeedResponse>, TableError>) -> http::Response<Bytes> {
        match response {
            Ok(response) => messages::poll_response(self.table, &response),
            Err(error) => ApiError::from(error).into_complete_response(),
        }
    }
}

impl LongPoll for FeedPoll {
    fn poll_response(&mut self, context: &mut Context<'_>) -> Poll<http::Response<Bytes>> {
        let response = ready!(Pin::new(&mut self.waiting).poll(context));
        Poll::Ready(self.response(response))
    }

    fn finish(&mut self, _: WaitEnd) -> http::Response<Bytes> {
        if let Some(response) = self.waiting.so_far() {
            return self.response(Ok(response));
        }
        // Only a failure leaves no response, and it has ended the wait already.
        match (&mut self.waiting).now_or_never() {
            Some(response) => self.response(response),
            None => ApiError::Internal("a wait ended without a response".to_owned()).into_complete_response(),
        }
    }
}
