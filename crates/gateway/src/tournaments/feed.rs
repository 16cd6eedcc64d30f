//! What happens in a tournament, delivered in three ways with one cursor: a long poll, an event stream, a WebSocket. A tournament's log is
//! kept whole, so that every cursor is good for ever. Watching counts among the spectators. The last event says how the tournament ended; then
//! a stream and a socket end, and who comes back with that cursor learns that nothing more comes.

use super::access::find_visible;
use super::view;
use crate::app::App;
use crate::client_address::ClientAddress;
use crate::event_stream::{self, CLOSING_COMMENT, HEARTBEAT, RETRY_FIELD};
use crate::extract::{MaybePrincipal, PathId, QueryParams};
use crate::header_values::accepts_event_stream;
use crate::listener::park::{ChunkStream, LongPoll, MaybePark, ParkMarker, WaitEnd, park_or_wait};
use crate::outbound_socket::{Ended, OutboundSocket, OutboundUpgrade};
use crate::problem::{ApiError, ApiResult};
use crate::revocation::RequestGrant;
use crate::spectate::spectator_refusal;
use crate::stories::feed::{JSON, parse_wait, uncached_response};
use axum::body::Body;
use axum::extract::State;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket, close_code};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use engine::ids::CompetitionId;
use engine::limits::FEED_HEARTBEAT_INTERVAL;
use engine::tournaments::LogEntry;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use matches::spectate::SpectatorPermit;
use serde::Deserialize;
use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::time::Instant;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::api::TournamentFeed;

/// Events of one message: some tens of kilobytes.
const PAGE: usize = 256;
/// This process drains, or cannot read the tournament now.
const RECONNECT: Ended =
    Ended::Closed(close_code::RESTART, "the tournament cannot be followed here now: connect again");

/// Nothing more happens.
const OVER: Ended = Ended::Closed(close_code::NORMAL, "the tournament is over");

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_feed)).routes(routes!(open_socket))
}

#[derive(Debug, Deserialize)]
struct FeedQuery {
    after: Option<u32>,
    wait: Option<String>,
}

/// A page of events, and what keeps its reader among the spectators.
type NextPage = BoxFuture<'static, ApiResult<TournamentFeed>>;

/// The events of a tournament
///
/// With `after`, the number of the last event that the client has (0 or absent: none): answered at once if there are newer ones, at most
/// 256, on the first one otherwise, and without events at the end of `wait` (`25s`, `500ms`, `2m`; absent: no wait). With
/// `Accept: text/event-stream` the same comes as Server-Sent Events, whose ids are cursors, so that `Last-Event-ID` continues where a
/// stream ended.
///
/// The last event is `ended`, with the champion. Behind it a stream ends; a request that comes back with its number is answered 204, which
/// browsers take for the end (a poll: at once, with `is_over`).
#[utoipa::path(get, path = "/api/tournaments/{id}/feed", operation_id = "get_tournament_feed", tag = "tournaments", security((), ("bearer" = [])),
    params(
        ("id" = String, Path),
        ("after" = Option<u32>, Query, description = "The last event that the client has"),
        ("wait" = Option<String>, Query, description = "How long to wait for the next event, at most 10 minutes"),
        ("Last-Event-ID" = Option<u32>, Header, description = "The same as `after`, of an event stream; takes precedence over it"),
    ),
    responses(
        (status = 200, description = "The events.", body = TournamentFeed),
        (status = 204, description = "Of an event stream: the client has the last event of a tournament that is over. Do not connect again."),
        (status = 429, description = "`too_many_spectators`: from this address; or a rate limit. `Retry-After` says when to try again."),
        (status = 503, description = "`too_many_spectators`; or the store cannot be reached"),
    ),
)]
#[expect(clippy::too_many_arguments, reason = "each is an extractor")]
async fn get_feed(
    State(app): State<App>,
    MaybePrincipal(principal): MaybePrincipal,
    client: ClientAddress,
    grant: RequestGrant,
    PathId(id): PathId<CompetitionId>,
    QueryParams(query): QueryParams<FeedQuery>,
    method: Method,
    headers: HeaderMap,
    MaybePark(park_token): MaybePark,
) -> ApiResult<Response> {
    let caller = principal.and_then(|principal| principal.account());
    let tournament = find_visible(&app, id, caller.as_ref()).await?;
    let last_seq = view::last_seq(&tournament.state);
    let after = event_stream::cursor(&headers, query.after)?.unwrap_or(0);
    check_cursor(after, last_seq)?;
    let is_at_end = view::is_over(&tournament.state) && after == last_seq;
    if accepts_event_stream(&headers) {
        return match park_token {
            // An EventSource does not connect again then (HTML Living Standard, section 9.2.3).
            _ if is_at_end => Ok(StatusCode::NO_CONTENT.into_response()),
            Some(park_token) => {
                let reader = FeedReader::new(&app, &client, id)?;
                let stream = FeedStream { state: StreamState::Retry, after, reader };
                let stream = grant.until_revoked(stream);
                Ok(ParkMarker::stream(park_token, event_stream::head(), FEED_HEARTBEAT_INTERVAL, stream))
            }
            None if method == Method::HEAD => Ok(event_stream::head().map(|()| Body::empty())),
            None => Err(ApiError::bad_value("Accept", "a stream is requested by a GET without a body")),
        };
    }
    let wait = parse_wait(query.wait.as_deref(), app.config.poll_wait_max)?;
    if wait.is_zero() || last_seq > after || is_at_end {
        return Ok(poll_response(&read_page(&app, id, after).await?).map(Body::from));
    }
    let deadline = Instant::now() + wait;
    let reader = FeedReader::new(&app, &client, id)?;
    let poll = FeedPoll { after, next: reader.next(after), _reader: reader };
    Ok(park_or_wait(park_token, deadline, grant.until_revoked(poll)).await)
}

fn check_cursor(after: u32, last_seq: u32) -> ApiResult<()> {
    if after <= last_seq {
        return Ok(());
    }
    Err(ApiError::bad_value(
        "after",
        format!("this tournament has {last_seq} events: expected the number of one of them"),
    ))
}

/// The events after this one, as far as they fit one page.
async fn read_page(app: &App, id: CompetitionId, after: u32) -> ApiResult<TournamentFeed> {
    let tournament = app.tournaments.load(id).await?;
    let version = tournament.state.version();
    let missing = version.saturating_sub(after) as usize;
    let entries = app.node.store.read(move |reader| reader.competition_log(id, after, missing.min(PAGE))).await?;
    let mut events = Vec::with_capacity(entries.len());
    for (seq, bytes) in (after + 1..).zip(&entries) {
        let entry = LogEntry::decode(bytes)
            .map_err(|error| ApiError::Internal(format!("entry {seq} of tournament {id}: {error}")))?;
        events.push(view::event(seq, &entry));
    }
    let is_over = view::is_over(&tournament.state) && after + events.len() as u32 >= version && events.len() < PAGE;
    if is_over && after <= version {
        events.push(view::ended_event(&tournament));
    }
    let timed_out = events.is_empty() && !is_over;
    Ok(TournamentFeed { seq: after + events.len() as u32, timed_out, is_over, events })
}

fn json(page: &TournamentFeed) -> Bytes {
    serde_json::to_vec(page).expect("plain shapes always become JSON in memory").into()
}

fn poll_response(page: &TournamentFeed) -> http::Response<Bytes> {
    uncached_response(StatusCode::OK, JSON, json(page))
}

/// Someone who follows a tournament.
struct FeedReader {
    app: App,
    id: CompetitionId,
    _permit: Arc<SpectatorPermit>,
}

impl FeedReader {
    fn new(app: &App, client: &ClientAddress, id: CompetitionId) -> ApiResult<Self> {
        let permit = app.spectators.acquire(client.address_key()).map_err(spectator_refusal)?;
        Ok(Self { app: app.clone(), id, _permit: Arc::new(permit) })
    }

    /// The next page, once there is one. Behind the last event, an empty one.
    fn next(&self, after: u32) -> NextPage {
        let (app, id) = (self.app.clone(), self.id);
        Box::pin(async move {
            // Subscribed before it is read: nothing is missed in between.
            let mut versions = app.tournaments.subscribe(id, after);
            loop {
                versions.mark_unchanged();
                let page = read_page(&app, id, after).await?;
                if !page.events.is_empty() || page.is_over {
                    return Ok(page);
                }
                let gone = || ApiError::Internal("a feed of a tournament ended".to_owned());
                versions.wait_for(|version| *version > after).await.map_err(|_| gone())?;
            }
        })
    }
}

/// A waiting poll.
struct FeedPoll {
    after: u32,
    next: NextPage,
    _reader: FeedReader,
}

impl LongPoll for FeedPoll {
    fn poll_response(&mut self, context: &mut Context<'_>) -> Poll<http::Response<Bytes>> {
        self.next.poll_unpin(context).map(|page| match page {
            Ok(page) => poll_response(&page),
            Err(error) => error.into_complete_response(),
        })
    }

    fn finish(&mut self, _: WaitEnd) -> http::Response<Bytes> {
        poll_response(&TournamentFeed { seq: self.after, timed_out: true, is_over: false, events: Vec::new() })
    }
}

/// A waiting stream. The next page is read when the client has taken the one before: behind a slow reader, the log is the only buffer.
struct FeedStream {
    reader: FeedReader,
    after: u32,
    state: StreamState,
}

enum StreamState {
    Retry,
    Waiting(NextPage),
    Ended,
}

impl ChunkStream for FeedStream {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match &mut self.state {
            StreamState::Ended => Poll::Ready(None),
            StreamState::Retry => {
                self.state = StreamState::Waiting(self.reader.next(self.after));
                Poll::Ready(Some(Bytes::from_static(RETRY_FIELD)))
            }
            StreamState::Waiting(next) => match next.poll_unpin(context) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(Ok(page)) => {
                    self.after = page.seq;
                    self.state = match page.is_over {
                        true => StreamState::Ended,
                        false => StreamState::Waiting(self.reader.next(page.seq)),
                    };
                    Poll::Ready(Some(event_stream::event(page.seq, &json(&page))))
                }
                Poll::Ready(Err(error)) => {
                    error.log();
                    self.state = StreamState::Ended;
                    Poll::Ready(None)
                }
            },
        }
    }

    fn heartbeat(&mut self) -> Bytes {
        Bytes::from_static(HEARTBEAT)
    }

    fn closing_chunk(&mut self) -> Bytes {
        Bytes::from_static(CLOSING_COMMENT)
    }
}

#[derive(Debug, Deserialize)]
struct SocketQuery {
    after: Option<u32>,
}

/// The events of a tournament, over a WebSocket
///
/// Each text frame is a `TournamentFeed`. Send nothing. Behind the event `ended` the server closes the socket with the status 1000.
#[utoipa::path(get, path = "/api/tournaments/{id}/socket", operation_id = "open_tournament_socket", tag = "tournaments", security((), ("bearer" = [])),
    params(
        ("id" = String, Path),
        ("after" = Option<u32>, Query, description = "The last event that the client has"),
    ),
    responses(
        (status = 101, description = "A WebSocket of `TournamentFeed`s", body = TournamentFeed),
        (status = 400, description = "`bad_upgrade`: the request has a body, or is not a GET"),
        (status = 426, description = "`upgrade_required`"),
        (status = 429, description = "`too_many_spectators`: from this address; or a rate limit. `Retry-After` says when to try again."),
        (status = 503, description = "`too_many_spectators`; or the store cannot be reached"),
    ),
)]
async fn open_socket(
    State(app): State<App>,
    MaybePrincipal(principal): MaybePrincipal,
    client: ClientAddress,
    grant: RequestGrant,
    PathId(id): PathId<CompetitionId>,
    QueryParams(query): QueryParams<SocketQuery>,
    OutboundUpgrade(upgrade): OutboundUpgrade,
) -> ApiResult<Response> {
    let caller = principal.and_then(|principal| principal.account());
    let tournament = find_visible(&app, id, caller.as_ref()).await?;
    let after = query.after.unwrap_or(0);
    check_cursor(after, view::last_seq(&tournament.state))?;
    let reader = FeedReader::new(&app, &client, id)?;
    Ok(upgrade.on_upgrade(move |socket| serve_socket(reader, grant, after, socket)).into_response())
}

async fn serve_socket(reader: FeedReader, grant: RequestGrant, after: u32, socket: WebSocket) {
    let app = reader.app.clone();
    let mut socket = OutboundSocket::new(socket, FEED_HEARTBEAT_INTERVAL, &app.node.clock);
    match grant.until_revoked(send_pages(&reader, after, &mut socket)).run().await {
        Ok(Err(Ended::Gone)) => {}
        Ok(Err(Ended::Closed(code, reason))) => socket.close(code, reason).await,
        Ok(Ok(never)) => match never {},
        Err(reason) => socket.close(close_code::POLICY, reason.close_reason()).await,
    }
}

async fn send_pages(reader: &FeedReader, mut after: u32, socket: &mut OutboundSocket<'_>) -> Result<Infallible, Ended> {
    let mut draining = std::pin::pin!(reader.app.drain.begun_with_jitter());
    loop {
        let next = async {
            tokio::select! {
                page = reader.next(after) => page.map_err(|_| RECONNECT),
                () = &mut draining => Err(RECONNECT),
            }
        };
        let page = socket.wait_for(next).await??;
        after = page.seq;
        let text = Utf8Bytes::try_from(json(&page)).expect("JSON is UTF-8");
        socket.send(Message::Text(text)).await?;
        if page.is_over {
            return Err(OVER);
        }
    }
}
