//! Matchmaking: a party takes a ticket, and waits until it ends.

use super::refusal::HuntRefusal;
use super::show;
use crate::app::App;
use crate::clock::random_bytes;
use crate::gateway::extract::{Id, Json, Queried};
use crate::gateway::granted::Granted;
use crate::gateway::listener::park::{GiveUp, Parked, Pass, park_or_wait};
use crate::gateway::problem::{ApiError, ApiResult, Thing};
use crate::gateway::stories::feed::wait;
use crate::gateway::stories::who::Sitter;
use crate::hunts::{TicketSeen, TicketState, Whereabouts, enter, whereabouts};
use axum::Json as Answer;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use engine::ids::{PlayerId, TicketId};
use engine::limits::{TICKET_SETTLING_MAX, TICKET_WAIT_DEFAULT, TICKET_WAIT_MAX, TICKET_WAIT_MIN};
use engine::matchmaking::{Region, Ticket};
use engine::time::UnixMs;
use http::Response as Whole;
use serde::Deserialize;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, timeout};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::api::{CreateTicket, TicketView};
use wire::problem::Problem;

/// Where a ticket is asked about, also by nodes that send such requests on.
pub(in crate::gateway) const TICKET: &str = "/api/hunts/tickets/{id}";
/// Players of a match when nobody asks for a number.
const PLAYERS: u8 = 4;
/// The rating of a party that brings none.
const RATING: u16 = 1_000;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(create_ticket)).routes(routes!(get_ticket, cancel_ticket))
}

/// Take a ticket: find others to hunt with
///
/// **Who:** anybody with a player's or a guest's token, one ticket at a time, alone or for a party. Others suit it who want a match of the
/// same size, in the same region (or anywhere), with a rating as near as both accept; what they accept widens with the wait.
/// It always ends: `matched` with a hunt that only its players may enter, `timed_out`, or `cancelled`. Any node may be asked: all of
/// them lay tickets on one desk.
#[utoipa::path(post, path = "/api/hunts/tickets", tag = "hunts", security(("bearer" = []), ("cookie" = [])), request_body = CreateTicket, responses(
    (status = 201, description = "It waits.", body = TicketView, headers(("Location" = String, description = "Where the ticket is"))),
    (status = 409, description = "`already_waiting`", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "`too_many_waiting`, `draining`, `desk_elsewhere` (the desk passes from one server to another): try again after `Retry-After`", body = Problem, content_type = "application/problem+json"),
))]
async fn create_ticket(
    State(app): State<App>,
    sitter: Sitter,
    Json(asked): Json<CreateTicket>,
) -> ApiResult<(StatusCode, [(HeaderName, String); 1], Answer<TicketView>)> {
    let id = TicketId::new(app.clock.now(), random_bytes());
    let ticket = ticket(&asked, sitter.player(), id, app.clock.steady())?;
    let seen = enter(&app, ticket).await?.map_err(HuntRefusal::from)?;
    let place = format!("/api/hunts/tickets/{}", seen.ticket.id);
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], Answer(show::ticket(&seen))))
}

/// How long a poll waits.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct WaitQuery {
    /// How long to wait for its end, at most 10 minutes: `25s`, `500ms`, `2m`. Nothing: no wait.
    #[param(value_type = Option<String>)]
    wait: Option<String>,
}

/// How it stands with a ticket
///
/// **Who:** its party. With `wait`, it is answered when the ticket ends, or as it is at the end of that time. An ended ticket can be asked
/// about for five minutes.
#[utoipa::path(get, path = "/api/hunts/tickets/{id}", tag = "hunts", security(("bearer" = []), ("cookie" = [])), params(("id" = String, Path), WaitQuery), responses(
    (status = 200, description = "The ticket.", body = TicketView),
    (status = 404, description = "`no_such_ticket`: it ended more than five minutes ago, or not of this party", body = Problem, content_type = "application/problem+json"),
    (status = 410, description = "`ticket_lost`: the process that took it has ended or keeps tickets no longer, and the ticket ended with that: take another one", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "`desk_elsewhere`: the node that keeps tickets cannot be asked now: try again after `Retry-After`", body = Problem, content_type = "application/problem+json"),
))]
async fn get_ticket(
    State(app): State<App>,
    sitter: Sitter,
    granted: Granted,
    Id(id): Id<TicketId>,
    Queried(query): Queried<WaitQuery>,
    Pass(pass): Pass,
) -> ApiResult<Response> {
    let wait = wait(query.wait.as_deref(), app.config.stories_poll_wait_max)?;
    let Some(seen) = app.hunts.matchmaker.look(id, sitter.player()) else { return Err(unknown(&app, id).await) };
    if wait.is_zero() || seen.state.borrow().is_end() {
        return Ok(Answer(show::ticket(&seen)).into_response());
    }
    Ok(park_or_wait(pass, Instant::now() + wait, granted.to(Waiting::new(seen))).await)
}

/// Take a ticket back
///
/// **Who:** its party: without one of them it is not the party that was to play. It ends as `cancelled`, unless it has ended; one whose
/// hunt is made at this moment may still be `matched`. The answer has its end: once it is there, the caller may take another one.
#[utoipa::path(delete, path = "/api/hunts/tickets/{id}", tag = "hunts", security(("bearer" = []), ("cookie" = [])), params(("id" = String, Path)), responses(
    (status = 200, description = "The ticket, ended.", body = TicketView),
    (status = 404, description = "`no_such_ticket`: it ended more than five minutes ago, or not of this party", body = Problem, content_type = "application/problem+json"),
    (status = 410, description = "`ticket_lost`: the process that took it has ended or keeps tickets no longer, and the ticket ended with that: take another one", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "`desk_elsewhere`: the node that keeps tickets cannot be asked now; `ticket_settling`: its hunt is still being saved, and it ends with that: try again after `Retry-After`", body = Problem, content_type = "application/problem+json"),
))]
async fn cancel_ticket(State(app): State<App>, sitter: Sitter, Id(id): Id<TicketId>) -> ApiResult<Answer<TicketView>> {
    let seen = app.hunts.matchmaker.cancel(id, sitter.player(), app.clock.steady());
    match seen {
        Some(seen) => ended(seen).await.map(|seen| Answer(show::ticket(&seen))),
        None => Err(unknown(&app, id).await),
    }
}

/// A ticket that was given up, once it has ended: at once, unless its hunt is being saved.
async fn ended(mut seen: TicketSeen) -> ApiResult<TicketSeen> {
    // The sender is dropped only after the end.
    let end = timeout(TICKET_SETTLING_MAX, seen.state.wait_for(TicketState::is_end)).await.map(drop);
    end.map(|()| seen).map_err(|_| HuntRefusal::TicketSettling.into())
}

/// Why nothing is known of a ticket here. It ends with the lease under which it was taken: nobody must wait for it then.
async fn unknown(app: &App, id: TicketId) -> ApiError {
    match whereabouts(app, id).await {
        Ok(Whereabouts::At(address)) => HuntRefusal::TicketElsewhere { address }.into(),
        Ok(Whereabouts::Forgotten) => ApiError::Missing(Thing::Ticket),
        Ok(Whereabouts::Lost) => HuntRefusal::TicketLost.into(),
        Err(error) => error.into(),
    }
}

fn ticket(asked: &CreateTicket, owner: PlayerId, id: TicketId, now: UnixMs) -> ApiResult<Ticket> {
    let others = asked.party.iter().flatten().enumerate().map(|(at, text)| {
        text.parse().map_err(|error| ApiError::bad_value(format!("/party/{at}"), format!("the player's id is {error}")))
    });
    let party = std::iter::once(Ok(owner)).chain(others).collect::<ApiResult<_>>()?;
    let region = asked.region.as_deref().map(str::parse::<Region>).transpose();
    Ok(Ticket {
        id,
        owner,
        party,
        // What has no room is refused like the nearest number that has.
        players: asked.players.map_or(PLAYERS, |players| u8::try_from(players.max(0)).unwrap_or(u8::MAX)),
        region: region.map_err(|error| ApiError::bad_value("/region", format!("the region is {error}")))?,
        rating: asked.rating.map_or(RATING, |rating| u16::try_from(rating).unwrap_or(u16::MAX)),
        since: now,
        until: now.after(patience(asked.wait_ms)?),
    })
}

fn patience(asked_ms: Option<i64>) -> ApiResult<Duration> {
    let Some(asked_ms) = asked_ms else { return Ok(TICKET_WAIT_DEFAULT) };
    let span = u64::try_from(asked_ms).ok().map(Duration::from_millis);
    span.filter(|span| (TICKET_WAIT_MIN..=TICKET_WAIT_MAX).contains(span)).ok_or_else(|| {
        let (least, most) = (TICKET_WAIT_MIN.as_millis(), TICKET_WAIT_MAX.as_millis());
        ApiError::bad_value("/wait_ms", format!("wait_ms must be from {least} to {most}"))
    })
}

/// A poll that waits for a ticket's end: all that is kept of it.
struct Waiting {
    seen: TicketSeen,
    ended: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Waiting {
    fn new(seen: TicketSeen) -> Self {
        let mut state = seen.state.clone();
        let ended = Box::pin(async move {
            // The sender is dropped only after the end.
            let _ = state.wait_for(TicketState::is_end).await;
        });
        Self { seen, ended }
    }

    fn answer(&self) -> Whole<Bytes> {
        let body = serde_json::to_vec(&show::ticket(&self.seen)).expect("a ticket holds only text and numbers");
        let mut response = Whole::new(Bytes::from(body));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

impl Parked for Waiting {
    fn poll_answer(&mut self, context: &mut Context<'_>) -> Poll<Whole<Bytes>> {
        ready!(self.ended.as_mut().poll(context));
        Poll::Ready(self.answer())
    }

    fn give_up(&mut self, _: GiveUp) -> Whole<Bytes> {
        self.answer()
    }
}
