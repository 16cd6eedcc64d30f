//! A viewer's feed of a table, delivered in three ways with one cursor: a long poll, an event stream, a WebSocket. The table filters and
//! numbers its events; this module only delivers them.
//!
//! Waiters are counted and woken by `tables`; parking them is the listener's task.

mod messages;
mod poll;
mod socket;
mod stream;
#[cfg(test)]
mod tests;

pub(crate) use messages::{JSON, uncached_response};

use super::extract::ViewingPlayer;
use super::view;
use crate::app::App;
use crate::client_address::ClientAddress;
use crate::event_stream;
use crate::extract::{PathId, QueryParams};
use crate::forward::FEED_ROUTE;
use crate::header_values::accepts_event_stream;
use crate::listener::park::MaybePark;
use crate::problem::{ApiError, ApiResult};
use crate::revocation::RequestGrant;
use axum::Json;
use axum::body::Body;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use axum::response::{IntoResponse, Response};
use engine::ids::TableId;
use serde::Deserialize;
use std::time::Duration;
use tables::Waiter;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::api::{StoryFeed, StoryFeedTooOld};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_feed)).routes(routes!(socket::open_socket))
}

/// A viewer of a table.
#[derive(Clone, Copy, Debug)]
struct FeedReader {
    table: TableId,
    waiter: Waiter,
}

impl FromRequestParts<App> for FeedReader {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        let ViewingPlayer(player) = ViewingPlayer::from_request_parts(parts, app).await?;
        let PathId(table) = PathId::<TableId>::from_request_parts(parts, app).await?;
        let address = parts.extensions.get::<ClientAddress>().and_then(|client| client.address_key());
        Ok(Self { table, waiter: Waiter { player, address } })
    }
}

/// The cursor of a reader, and how long a poll waits.
#[derive(Debug, Deserialize)]
struct FeedQuery {
    after: Option<u64>,
    wait: Option<String>,
}

/// The events of a table
///
/// Public; each viewer gets the events that they may know, numbered for them without gaps. With `after`, the number of the last event that the
/// viewer has: answered at once if there are newer ones, on the first one otherwise, and without events at the end of `wait`
/// (`25s`, `500ms`, `2m`; absent: no wait). Without `after`: everything that the viewer may know, and their cursor.
///
/// With `Accept: text/event-stream` the same comes as Server-Sent Events, first the view if there is no cursor; each event's data is
/// a message as on the socket, its id the cursor, so that `Last-Event-ID` continues where a stream ended.
///
/// At most two seconds after the viewer's token was deleted or has expired, a waiting poll is answered with 401, and a stream ends
/// with an event `problem`.
#[utoipa::path(get, path = FEED_ROUTE, operation_id = "get_story_feed", tag = "stories", security((), ("bearer" = [])),
    params(
        ("table" = String, Path),
        ("after" = Option<u64>, Query, description = "The last event that the viewer has"),
        ("wait" = Option<String>, Query, description = "How long to wait for the next event, at most 10 minutes"),
        ("Last-Event-ID" = Option<u64>, Header, description = "The same as `after`, of an event stream; takes precedence over it"),
    ),
    responses(
        (status = 200, description = "The events; without `after` a `StoryState`.", body = StoryFeed),
        (status = 401, description = "`token_unknown`, `token_expired`: also of a waiting poll"),
        (status = 410, description = "`cursor_too_old`: start again from the view in it", body = StoryFeedTooOld, content_type = "application/problem+json"),
        (status = 429, description = "`too_many_waiters`: of this player, or from this address; or a rate limit. `Retry-After` says when to try again."),
        (status = 503, description = "`too_many_waiters`, `too_many_tables`, `draining`, `table_busy`, `tables_not_served`, `table_elsewhere`: this node cannot do it now; or the store cannot be reached, or the server is overloaded. Try again after `Retry-After`."),
    ),
)]
async fn get_feed(
    State(app): State<App>,
    reader: FeedReader,
    grant: RequestGrant,
    QueryParams(query): QueryParams<FeedQuery>,
    method: Method,
    headers: HeaderMap,
    MaybePark(park_token): MaybePark,
) -> ApiResult<Response> {
    if accepts_event_stream(&headers) {
        let cursor = event_stream::cursor(&headers, query.after)?;
        return match park_token {
            Some(park_token) => stream::start(&app, reader, grant, cursor, park_token).await,
            None if method == Method::HEAD => Ok(event_stream::head().map(|()| Body::empty())),
            None => Err(ApiError::bad_value("Accept", "a stream is requested by a GET without a body")),
        };
    }
    let wait = parse_wait(query.wait.as_deref(), app.config.poll_wait_max)?;
    match query.after {
        Some(after) => poll::respond(&app, reader, grant, after, wait, park_token).await,
        None => {
            let seen = app.tables.view(reader.table, reader.waiter.player).await?;
            Ok(Json(view::state(&seen.view, &seen.online, None)).into_response())
        }
    }
}

/// Parses how long a poll waits: a whole number with `ms`, `s` or `m`.
pub(crate) fn parse_wait(text: Option<&str>, max: Duration) -> ApiResult<Duration> {
    let Some(text) = text else { return Ok(Duration::ZERO) };
    let units = [("ms", 1), ("s", 1_000), ("m", 60_000), ("", 1_000)];
    let (amount, unit_ms) =
        units.iter().find_map(|(unit, ms)| Some((text.strip_suffix(unit)?, ms))).unwrap_or((text, &0));
    let ms = amount.parse::<u32>().ok().map(|amount| u64::from(amount) * unit_ms);
    let span = ms.map(Duration::from_millis).filter(|span| *span <= max);
    span.ok_or_else(|| {
        let reason = format!("expected a time from 0s to {}s, such as 25s, 500ms or 2m", max.as_secs());
        ApiError::bad_value("wait", reason)
    })
}
