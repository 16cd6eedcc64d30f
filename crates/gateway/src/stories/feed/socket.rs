//! The WebSocket: the same messages. Clients send nothing on it; they act by requests.

use super::{FeedReader, messages};
use crate::app::App;
use crate::close_handshake::{Ended, Unasked, close_socket};
use crate::extract::QueryParams;
use crate::problem::{ApiError, ApiResult};
use crate::revocation::RequestGrant;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::response::Response;
use bytes::Bytes;
use engine::limits::FEED_HEARTBEAT_INTERVAL;
use serde::Deserialize;
use std::time::Duration;
use tables::FeedWait;
use tokio::time::{Instant, interval_at, timeout};
use wire::problem::Problem;

/// A client that reads nothing for so long is disconnected.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);
/// Buffer of one socket, in bytes: clients send nothing large.
const READ_BUFFER_BYTES: usize = 512;
const INCOMING_BYTES_MAX: usize = 4_096;

#[derive(Debug, Deserialize)]
pub(super) struct SocketQuery {
    after: Option<u64>,
}

/// The events of a table, over a WebSocket
///
/// The messages of the event stream, one per text frame: `update` for new events, `view` first if there is no `after`, and
/// whenever the cursor was too old. Send nothing. The close code 1008 means that the viewer's token was deleted (`token_unknown`) or has
/// expired (`token_expired`), at most two seconds before, or that the client sent more than 200 frames a second for a while (`too_fast`).
#[utoipa::path(get, path = "/api/stories/tables/{table}/socket", tag = "stories",
    params(
        ("table" = String, Path),
        ("after" = Option<u64>, Query, description = "The last event that the viewer has"),
    ),
    responses(
        (status = 101, description = "A WebSocket of `StoryMessage`s", body = wire::api::StoryMessage),
        (status = 404, description = "`no_such_table`", body = Problem, content_type = "application/problem+json"),
        (status = 400, description = "`bad_upgrade`: the request has a body, or is not a GET", body = Problem, content_type = "application/problem+json"),
        (status = 426, description = "`upgrade_required`", body = Problem, content_type = "application/problem+json"),
        (status = 429, description = "`too_many_waiters`: of this player, or from this address; or a rate limit. `Retry-After` says when to try again.", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "`too_many_waiters`, `too_many_tables`, `draining`, `table_busy`, `tables_not_served`, `table_elsewhere`: this node cannot do it now; or the store cannot be reached, or the server is overloaded. Try again after `Retry-After`.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn open_socket(
    State(app): State<App>,
    reader: FeedReader,
    grant: RequestGrant,
    QueryParams(query): QueryParams<SocketQuery>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> ApiResult<Response> {
    let upgrade = upgrade.map_err(|_| ApiError::UpgradeRequired)?;
    let (after, first) = match query.after {
        Some(after) => (after, None),
        None => {
            let (seq, message) = messages::first_message(&app.tables.view(reader.table, reader.waiter.player).await?);
            (seq, Some(message))
        }
    };
    // Refusals are sent while they can be sent over HTTP.
    let waiting = app.tables.wait(reader.table, reader.waiter, after).await?;
    let upgrade = upgrade
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(0)
        .max_message_size(INCOMING_BYTES_MAX)
        .max_frame_size(INCOMING_BYTES_MAX);
    Ok(upgrade.on_upgrade(move |socket| async move {
        serve_socket(&app, reader, grant, first, waiting, socket).await;
    }))
}

/// Why a socket is closed.
enum SocketEnd {
    /// The client disconnected, or reads nothing any more.
    Disconnected,
    /// The client sent something invalid, or too much: the status, and the reason.
    Refused(u16, &'static str),
    /// This process drains, or the table moved: the client should connect again.
    Reconnect,
}

async fn serve_socket(
    app: &App,
    reader: FeedReader,
    grant: RequestGrant,
    first: Option<Bytes>,
    waiting: FeedWait,
    mut socket: WebSocket,
) {
    match grant.until_revoked(send_updates(app, reader, first, waiting, &mut socket)).run().await {
        Ok(SocketEnd::Disconnected) => {}
        Ok(SocketEnd::Refused(code, reason)) => close_socket(socket, code, reason).await,
        Ok(SocketEnd::Reconnect) => {
            close_socket(socket, close_code::RESTART, "the table is not here any more: connect again").await;
        }
        Err(reason) => close_socket(socket, close_code::POLICY, ApiError::from(reason).status_and_code().1).await,
    }
}

async fn send_updates(
    app: &App,
    reader: FeedReader,
    first: Option<Bytes>,
    mut waiting: FeedWait,
    socket: &mut WebSocket,
) -> SocketEnd {
    if let Some(message) = first
        && let Err(end) = send(socket, text_message(message)).await
    {
        return end;
    }
    let mut ping = interval_at(Instant::now() + FEED_HEARTBEAT_INTERVAL, FEED_HEARTBEAT_INTERVAL);
    let mut inbound = Unasked::default();
    let mut draining = std::pin::pin!(app.drain.begun_with_jitter());
    loop {
        let response = tokio::select! {
            response = &mut waiting => response,
            () = &mut draining => return SocketEnd::Reconnect,
            _ = ping.tick() => {
                if let Err(end) = send(socket, Message::Ping(Bytes::new())).await {
                    return end;
                }
                continue;
            }
            received = socket.recv() => match inbound.received(received, app.clock.steady_us()) {
                Some(Ended::Gone) => return SocketEnd::Disconnected,
                Some(Ended::Refused(code, reason)) => return SocketEnd::Refused(code, reason),
                None => continue,
            },
        };
        let Ok(response) = response else { return SocketEnd::Reconnect };
        let (seq, message) = messages::message(reader.table, &response);
        // The next wait first: it keeps the reader among the players present.
        let next = app.tables.wait(reader.table, reader.waiter, seq).await;
        if let Err(end) = send(socket, text_message(message)).await {
            return end;
        }
        waiting = match next {
            Ok(next) => next,
            Err(_) => return SocketEnd::Reconnect,
        };
    }
}

async fn send(socket: &mut WebSocket, message: Message) -> Result<(), SocketEnd> {
    match timeout(SEND_TIMEOUT, socket.send(message)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(SocketEnd::Disconnected),
    }
}

fn text_message(message: Bytes) -> Message {
    Message::Text(Utf8Bytes::try_from(message).expect("JSON is UTF-8"))
}
