//! The events socket: all frames so far, then each as it is saved, then `game_end`.

use crate::app::App;
use crate::client_address::ClientAddress;
use crate::close_handshake::{Ended, Unasked, close_socket};
use crate::extract::PathId;
use crate::problem::{ApiError, ApiResult, Resource};
use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade, close_code};
use axum::response::Response;
use engine::ids::MatchId;
use engine::matches::lifecycle::MatchState;
use engine::matches::spec::MatchSpec;
use matches::spectate::{Replay, SliceOutcome, TooManySpectators};
use quotas::address_key::AddressKey;
use std::time::Duration;
use tokio::time::{Instant, Interval, interval_at, sleep, timeout};
use wire::viewer::{ErrorMessage, Event, Nothing};

/// A viewer that reads nothing for this long is gone.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);
/// How often to poll without a notification: on a database that other nodes write to, and on a SQLite file.
const POLL_EVERY_SHARED: Duration = Duration::from_millis(250);
const POLL_EVERY_EXCLUSIVE: Duration = Duration::from_secs(5);
/// A quiet viewer is pinged this often, so that one with a dead network does not stay for ever.
const PING_EVERY: Duration = Duration::from_secs(30);
/// Memory of one socket's buffers, in bytes: viewers send nothing of size.
const READ_BUFFER_BYTES: usize = 1_024;
const INCOMING_BYTES_MAX: usize = 4_096;

/// All frames of a game, then each new one as it is played, then `game_end`. A viewer that reconnects gets them all again.
///
/// Of a game that was cancelled, or has failed, an `error` says so before `game_end`.
#[utoipa::path(
    get, path = "/api/games/{id}/events", tag = "spectators",
    params(("id" = String, Path, description = "Id of the game")),
    responses(
        (status = 101, description = "A WebSocket of `frame`, `game_end` and `error` messages"),
        (status = 404, description = "`no_such_game`", body = wire::problem::Problem, content_type = "application/problem+json"),
        (status = 426, description = "`upgrade_required`", body = wire::problem::Problem, content_type = "application/problem+json"),
        (status = 429, description = "`too_many_spectators`: from this address", body = wire::problem::Problem, content_type = "application/problem+json"),
        (status = 503, description = "`too_many_spectators`", body = wire::problem::Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn watch_events(
    State(app): State<App>,
    client: ClientAddress,
    PathId(id): PathId<MatchId>,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> ApiResult<Response> {
    let upgrade = upgrade.map_err(|_| ApiError::UpgradeRequired)?;
    let address = client.address_key();
    let permit = app.spectators.acquire(address).map_err(refusal)?;
    let found = app.replays.read(address, move |reader| reader.match_by_id(id)).await?;
    let spec = found.ok_or(ApiError::NotFound(Resource::Game))?.spec;
    let upgrade = upgrade
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(0)
        .max_message_size(INCOMING_BYTES_MAX)
        .max_frame_size(INCOMING_BYTES_MAX);
    Ok(upgrade.on_upgrade(move |socket| async move {
        app.metrics.spectator_joined();
        watch(&app, address, spec, socket).await;
        app.metrics.spectator_left();
        drop(permit);
    }))
}

/// Why a viewer's socket is closed.
enum Closing {
    /// All frames were sent; with a reason where the game has no result.
    Over(Option<&'static str>),
    /// The viewer left, or reads nothing any more.
    Gone,
    /// The viewer sent something forbidden, or too much: the close code, and the reason.
    Refused(u16, &'static str),
    /// This process drains: the viewer should reconnect, to another.
    Draining,
    /// The game cannot be shown.
    Failed(String),
}

fn refusal(error: TooManySpectators) -> ApiError {
    match error {
        TooManySpectators::InAll => ApiError::TooManySpectators,
        TooManySpectators::AtAddress => ApiError::TooManySpectatorsHere,
    }
}

async fn watch(app: &App, address: Option<AddressKey>, spec: MatchSpec, mut socket: WebSocket) {
    let id = spec.id;
    let closing = match app.replays.begin(address, spec, 0..u32::MAX, |frame| json(&Event::Frame(frame))) {
        Ok(replay) => stream_frames(app, id, replay, &mut socket).await,
        Err(reason) => Closing::Failed(reason.to_string()),
    };
    let (events, code, reason) = match closing {
        Closing::Gone => return,
        Closing::Refused(code, reason) => (vec![], code, reason),
        Closing::Over(None) => (vec![Event::GameEnd(Nothing {})], close_code::NORMAL, "the game is over"),
        Closing::Over(Some(reason)) => (error_and_end(reason), close_code::NORMAL, reason),
        Closing::Draining => (vec![], close_code::RESTART, "the server restarts: connect again"),
        Closing::Failed(reason) => (error_and_end(&reason), close_code::ERROR, "the game cannot be shown"),
    };
    for event in &events {
        if send(&mut socket, Message::Text(json(event).into())).await.is_err() {
            return;
        }
    }
    close_socket(socket, code, reason).await;
}

fn error_and_end(reason: &str) -> Vec<Event> {
    vec![Event::Error(ErrorMessage { message: reason.to_owned() }), Event::GameEnd(Nothing {})]
}

/// Why a game that has ended has no result, if it has none.
fn without_result(state: MatchState) -> Option<&'static str> {
    match state {
        MatchState::Waiting | MatchState::Running | MatchState::Finished => None,
        MatchState::Cancelled => Some("this game was cancelled: it has no result"),
        MatchState::Failed => Some("this game failed: it has no result"),
    }
}

/// Subscribes, then reads; reads again after each notification.
async fn stream_frames(app: &App, id: MatchId, replay: Replay, socket: &mut WebSocket) -> Closing {
    let mut subscription = app.notifier.subscribe(id);
    let look_every = if app.store.is_shared() { POLL_EVERY_SHARED } else { POLL_EVERY_EXCLUSIVE };
    let mut ping = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
    let mut unexpected = Unasked::default();
    loop {
        match replay.next().await {
            Ok(slice) => {
                for frame in slice.frames {
                    if let Err(closing) = send(socket, Message::Text(frame.into())).await {
                        return closing;
                    }
                }
                match slice.outcome {
                    SliceOutcome::More => continue,
                    SliceOutcome::CaughtUp(state) if state.is_ended() => return Closing::Over(without_result(state)),
                    SliceOutcome::CaughtUp(_) => {}
                    // Retired while it was watched, or shown as far as turns can be counted.
                    SliceOutcome::Gone | SliceOutcome::Done => return Closing::Over(None),
                    SliceOutcome::Broken(reason) => return Closing::Failed(reason),
                }
            }
            // The store is unavailable: what is saved is still there when it is back.
            Err(error) => tracing::debug!(match.id = %id, %error, "a viewer waits for the store"),
        }
        if let Some(closing) =
            wait_for_change(app, &mut subscription, look_every, &mut ping, &mut unexpected, socket).await
        {
            return closing;
        }
    }
}

/// Waits for a reason to read again; returns a reason to close, if one comes first.
async fn wait_for_change(
    app: &App,
    subscription: &mut matches::notifier::Subscription,
    look_every: Duration,
    ping: &mut Interval,
    unexpected: &mut Unasked,
    socket: &mut WebSocket,
) -> Option<Closing> {
    let look = sleep(look_every);
    tokio::pin!(look);
    loop {
        tokio::select! {
            biased;
            () = app.drain.begun() => return Some(Closing::Draining),
            () = subscription.changed() => return None,
            () = &mut look => return None,
            _ = ping.tick() => if let Err(gone) = send(socket, Message::Ping(Vec::new().into())).await {
                return Some(gone);
            },
            received = socket.recv() => match unexpected.received(received, app.clock.steady_us()) {
                Some(Ended::Gone) => return Some(Closing::Gone),
                Some(Ended::Refused(code, reason)) => return Some(Closing::Refused(code, reason)),
                None => {}
            },
        }
    }
}

async fn send(socket: &mut WebSocket, message: Message) -> Result<(), Closing> {
    match timeout(SEND_TIMEOUT, socket.send(message)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(Closing::Gone),
    }
}

fn json(event: &Event) -> String {
    serde_json::to_string(event).expect("plain shapes always become JSON in memory")
}
