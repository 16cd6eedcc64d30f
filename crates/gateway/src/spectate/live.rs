//! The events socket: all frames so far, then each as it is saved, then `game_end`.

use crate::app::App;
use crate::client_address::ClientAddress;
use crate::extract::PathId;
use crate::live_matches::{Frames, LiveError, encode};
use crate::outbound_socket::{Ended, OutboundSocket, OutboundUpgrade};
use crate::problem::{ApiError, ApiResult, Resource};
use crate::revocation::{PublicGrant, RequestGrant};
use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, close_code};
use axum::response::Response;
use engine::ids::MatchId;
use engine::matches::lifecycle::MatchState;
use engine::matches::spec::MatchSpec;
use matches::spectate::{SliceOutcome, TooManySpectators};
use quotas::address_key::AddressKey;
use std::convert::Infallible;
use std::time::Duration;
use tokio::time::sleep;
use wire::viewer::Event;

/// How often to poll without a notification: on a database that other nodes write to, and on a SQLite file.
const POLL_EVERY_SHARED: Duration = Duration::from_millis(250);
const POLL_EVERY_EXCLUSIVE: Duration = Duration::from_secs(5);
const PING_EVERY: Duration = Duration::from_secs(30);

/// All frames of a game, then each new one as it is played, then `game_end`. A viewer that reconnects gets them all again.
///
/// Of a game that was cancelled, or has failed, an `error` says so before `game_end`. Of a game that does not exist, an `error` is all
/// there is.
#[utoipa::path(
    get, path = "/api/games/{id}/events", tag = "spectators",
    params(("id" = String, Path, description = "Id of the game")),
    responses(
        (status = 101, description = "A WebSocket of `frame`, `game_end` and `error` messages"),
        (status = 426, description = "`upgrade_required`"),
        (status = 429, description = "`too_many_spectators`: from this address"),
        (status = 503, description = "`too_many_spectators`"),
    ),
)]
pub(super) async fn watch_events(
    State(app): State<App>,
    client: ClientAddress,
    PublicGrant(grant): PublicGrant,
    PathId(id): PathId<MatchId>,
    upgrade: ApiResult<OutboundUpgrade>,
) -> ApiResult<Response> {
    let address = client.address_key();
    // Before the upgrade: browsers hide why a socket is refused, so pages repeat the request without one.
    let permit = app.spectators.acquire(address).map_err(spectator_refusal)?;
    let OutboundUpgrade(upgrade) = upgrade?;
    let found = app.replays.read(address, move |reader| reader.match_by_id(id)).await?;
    Ok(upgrade.on_upgrade(move |socket| async move {
        app.metrics.process.spectators.inc();
        match found {
            Some(row) => watch(&app, address, row.spec, grant, socket).await,
            None => refuse(&app, socket).await,
        }
        app.metrics.process.spectators.dec();
        drop(permit);
    }))
}

/// Why a viewer's socket is closed.
enum Closing {
    /// All frames were sent; with a reason where the game has no result.
    Over(Option<&'static str>),
    /// The game cannot be shown.
    Failed(String),
    /// Whatever the game does.
    Ended(Ended),
}

impl From<Ended> for Closing {
    fn from(ended: Ended) -> Self {
        Self::Ended(ended)
    }
}

/// This process drains: the viewer should reconnect, to another.
const RECONNECT: Ended = Ended::Closed(close_code::RESTART, "the server restarts: connect again");

pub(crate) fn spectator_refusal(error: TooManySpectators) -> ApiError {
    match error {
        TooManySpectators::InAll => ApiError::TooManySpectators,
        TooManySpectators::AtAddress => ApiError::TooManySpectatorsHere,
    }
}

/// For viewers that upgrade before they ask whether there is such a game: a refused upgrade would tell a page nothing.
async fn refuse(app: &App, socket: WebSocket) {
    let mut socket = OutboundSocket::new(socket, PING_EVERY, &app.node.clock);
    let message = ApiError::NotFound(Resource::Game).to_string();
    if socket.send(Message::Text(json(&Event::Error { message }).into())).await.is_ok() {
        socket.close(close_code::NORMAL, "there is no such game").await;
    }
}

async fn watch(app: &App, address: Option<AddressKey>, spec: MatchSpec, grant: RequestGrant, socket: WebSocket) {
    let mut socket = OutboundSocket::new(socket, PING_EVERY, &app.node.clock);
    let closing = match grant.until_revoked(stream_frames(app, address, spec, &mut socket)).run().await {
        Ok(Err(closing)) => closing,
        Ok(Ok(never)) => match never {},
        Err(reason) => return socket.close(close_code::POLICY, reason.close_reason()).await,
    };
    let (events, code, reason) = match closing {
        Closing::Ended(Ended::Gone) => return,
        Closing::Ended(Ended::Closed(code, reason)) => (vec![], code, reason),
        Closing::Over(None) => (vec![Event::GameEnd {}], close_code::NORMAL, "the game is over"),
        Closing::Over(Some(reason)) => (error_and_end(reason), close_code::NORMAL, reason),
        Closing::Failed(reason) => (error_and_end(&reason), close_code::ERROR, "the game cannot be shown"),
    };
    for event in &events {
        if socket.send(Message::Text(json(event).into())).await.is_err() {
            return;
        }
    }
    socket.close(code, reason).await;
}

fn error_and_end(reason: &str) -> Vec<Event> {
    vec![Event::Error { message: reason.to_owned() }, Event::GameEnd {}]
}

/// Why a game that has ended has no result, if it has none.
fn without_result(state: MatchState) -> Option<&'static str> {
    match state {
        MatchState::Waiting | MatchState::Running | MatchState::Finished => None,
        MatchState::Cancelled => Some("this game was cancelled: it has no result"),
        MatchState::Failed => Some("this game failed: it has no result"),
    }
}

/// Subscribes, then reads; reads again after each notification. Until it is caught up a viewer replays by itself, then it shares with others.
async fn stream_frames(
    app: &App,
    address: Option<AddressKey>,
    spec: MatchSpec,
    socket: &mut OutboundSocket<'_>,
) -> Result<Infallible, Closing> {
    let id = spec.id;
    let mut subscription = app.notifier.subscribe(id);
    let live = app.live_matches.join(&app.notifier, id);
    let look_every = if app.node.store.is_shared() { POLL_EVERY_SHARED } else { POLL_EVERY_EXCLUSIVE };
    let replay_from = |shown: u32| {
        let begun = app.replays.begin(address, spec.clone(), shown..u32::MAX, encode);
        begun.map(Some).map_err(|reason| Closing::Failed(reason.to_string()))
    };
    let mut shown = 0;
    let mut replay = replay_from(shown)?;
    loop {
        let read = match &replay {
            Some(replay) => replay.next().await.map(|slice| Some(slice.into())).map_err(LiveError::Store),
            None => live.frames_from(&app.replays, &spec, shown, look_every).await,
        };
        match read {
            Ok(Some(Frames { texts, outcome })) => {
                for frame in texts {
                    socket.send(Message::Text(frame)).await?;
                    shown += 1;
                }
                match outcome {
                    SliceOutcome::More => continue,
                    SliceOutcome::CaughtUp(state) if state.is_ended() => {
                        return Err(Closing::Over(without_result(state)));
                    }
                    SliceOutcome::CaughtUp(_) => replay = None,
                    // Retired while it was watched, or shown as far as turns can be counted.
                    SliceOutcome::Gone | SliceOutcome::Done => return Err(Closing::Over(None)),
                    SliceOutcome::Broken(reason) => return Err(Closing::Failed(reason)),
                }
            }
            // It read too slowly to share.
            Ok(None) => {
                replay = replay_from(shown)?;
                continue;
            }
            Err(LiveError::Match(reason)) => return Err(Closing::Failed(reason.to_string())),
            // The store is unavailable: what is saved is still there when it is back.
            Err(LiveError::Store(error)) => tracing::debug!(match.id = %id, %error, "a viewer waits for the store"),
        }
        let change = async {
            tokio::select! {
                biased;
                () = app.drain.begun() => Err(RECONNECT),
                () = subscription.changed() => Ok(()),
                () = sleep(look_every) => Ok(()),
            }
        };
        socket.wait_for(change).await??;
    }
}

fn json(event: &Event) -> String {
    serde_json::to_string(event).expect("plain shapes always become JSON in memory")
}
