//! The WebSocket: the same messages. Clients send nothing on it; they act by requests.

use super::{FeedReader, messages};
use crate::app::App;
use crate::extract::QueryParams;
use crate::outbound_socket::{Ended, OutboundSocket, OutboundUpgrade};
use crate::problem::ApiResult;
use crate::revocation::RequestGrant;
use axum::extract::State;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket, close_code};
use axum::response::Response;
use bytes::Bytes;
use engine::limits::FEED_HEARTBEAT_INTERVAL;
use serde::Deserialize;
use std::convert::Infallible;
use tables::FeedWait;

/// This process drains, or the table moved.
const RECONNECT: Ended = Ended::Closed(close_code::RESTART, "the table is not here any more: connect again");

#[derive(Debug, Deserialize)]
pub(super) struct SocketQuery {
    after: Option<u64>,
}

/// The events of a table, over a WebSocket
///
/// The messages of the event stream, one per text frame: `update` for new events, `view` first if there is no `after`, and
/// whenever the cursor was too old. Send nothing. The close code 1008 means that the viewer's token was deleted (`token_unknown`) or has
/// expired (`token_expired`), at most two seconds before, or that the client sent more than 200 frames a second for a while (`too_fast`).
#[utoipa::path(get, path = "/api/stories/tables/{table}/socket", operation_id = "open_story_socket", tag = "stories", security((), ("bearer" = [])),
    params(
        ("table" = String, Path),
        ("after" = Option<u64>, Query, description = "The last event that the viewer has"),
    ),
    responses(
        (status = 101, description = "A WebSocket of `StoryMessage`s", body = wire::api::StoryMessage),
        (status = 400, description = "`bad_upgrade`: the request has a body, or is not a GET"),
        (status = 426, description = "`upgrade_required`"),
        (status = 429, description = "`too_many_waiters`: of this player, or from this address; or a rate limit. `Retry-After` says when to try again."),
        (status = 503, description = "`too_many_waiters`, `too_many_tables`, `draining`, `table_busy`, `tables_not_served`, `table_elsewhere`: this node cannot do it now; or the store cannot be reached, or the server is overloaded. Try again after `Retry-After`."),
    ),
)]
pub(super) async fn open_socket(
    State(app): State<App>,
    reader: FeedReader,
    grant: RequestGrant,
    QueryParams(query): QueryParams<SocketQuery>,
    OutboundUpgrade(upgrade): OutboundUpgrade,
) -> ApiResult<Response> {
    let (after, first) = match query.after {
        Some(after) => (after, None),
        None => {
            let (seq, message) = messages::first_message(&app.tables.view(reader.table, reader.waiter.player).await?);
            (seq, Some(message))
        }
    };
    // Refusals are sent while they can be sent over HTTP.
    let waiting = app.tables.wait(reader.table, reader.waiter, after).await?;
    Ok(upgrade.on_upgrade(move |socket| async move {
        serve_socket(&app, reader, grant, first, waiting, socket).await;
    }))
}

async fn serve_socket(
    app: &App,
    reader: FeedReader,
    grant: RequestGrant,
    first: Option<Bytes>,
    waiting: FeedWait,
    socket: WebSocket,
) {
    let mut socket = OutboundSocket::new(socket, FEED_HEARTBEAT_INTERVAL, &app.node.clock);
    match grant.until_revoked(send_updates(app, reader, first, waiting, &mut socket)).run().await {
        Ok(Err(Ended::Gone)) => {}
        Ok(Err(Ended::Closed(code, reason))) => socket.close(code, reason).await,
        Ok(Ok(never)) => match never {},
        Err(reason) => socket.close(close_code::POLICY, reason.close_reason()).await,
    }
}

async fn send_updates(
    app: &App,
    reader: FeedReader,
    first: Option<Bytes>,
    mut waiting: FeedWait,
    socket: &mut OutboundSocket<'_>,
) -> Result<Infallible, Ended> {
    if let Some(message) = first {
        socket.send(text_message(message)).await?;
    }
    let mut draining = std::pin::pin!(app.drain.begun_with_jitter());
    loop {
        let update = async {
            tokio::select! {
                response = &mut waiting => response.map_err(|_| RECONNECT),
                () = &mut draining => Err(RECONNECT),
            }
        };
        let response = socket.wait_for(update).await??;
        let (seq, message) = messages::message(reader.table, &response);
        // The next wait first: it keeps the reader among the players present.
        let next = app.tables.wait(reader.table, reader.waiter, seq).await;
        socket.send(text_message(message)).await?;
        waiting = next.map_err(|_| RECONNECT)?;
    }
}

fn text_message(message: Bytes) -> Message {
    Message::Text(Utf8Bytes::try_from(message).expect("JSON is UTF-8"))
}
