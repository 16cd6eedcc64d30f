//! Matchmaking: a party takes a ticket, and waits until it ends.

use super::view;
use crate::app::App;
use crate::extract::{JsonBody, PathId, QueryParams};
use crate::listener::park::{LongPoll, MaybePark, WaitEnd, park_or_wait};
use crate::problem::{ApiError, ApiResult, HuntRefusal, Resource};
use crate::quota::QuotaSubject;
use crate::revocation::RequestGrant;
use crate::stories::extract::ActingPlayer;
use crate::stories::feed::{JSON, parse_wait, uncached_response};
use crate::world_options::duration_within;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use engine::ids::{PlayerId, TicketId};
use engine::limits::{TICKET_SETTLING_MAX, TICKET_WAIT_DEFAULT, TICKET_WAIT_MAX, TICKET_WAIT_MIN};
use engine::matchmaking::{Region, Ticket};
use engine::time::UnixMs;
use http::Response as Whole;
use hunts::{TicketError, TicketLocation, TicketReceiver, TicketStatus, join_ticket, locate_ticket, submit_ticket};
use node::clock::random_bytes;
use serde::Deserialize;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::time::{Instant, timeout};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::api::{CreateTicket, TicketView};

/// Players of a match unless the request sets a number.
const PLAYERS_DEFAULT: u8 = 4;
/// The rating of a party without one.
const RATING_DEFAULT: u16 = 1_000;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(create_ticket)).routes(routes!(get_ticket, cancel_ticket)).routes(routes!(join))
}

/// Create a ticket: find players to hunt with
///
/// **Who:** anyone with a player's or a guest's token who has no ticket and is in no hunt of a match. With `party_size`, it is `gathering`
/// until the party is complete: its id is the invitation with which the others join it. Then it is matched with other tickets that fit: for a
/// match of the same size, in the same region (or anywhere), with a rating as near as both accept; the accepted distance grows with the wait.
/// It always ends: `matched` with a hunt that only its players may enter, `timed_out`, or `cancelled`. Every node answers: all of them share
/// one matchmaking queue.
#[utoipa::path(post, path = "/api/hunts/tickets", tag = "hunts", security(("bearer" = []), ("cookie" = [])), request_body = CreateTicket, responses(
    (status = 201, description = "It waits.", body = TicketView, headers(("Location" = String, description = "The ticket's path"))),
    (status = 409, description = "`already_waiting`; `in_hunt`: the caller was matched into a hunt that is not over, and has not left it"),
    (status = 429, description = "`address_quota`: clients of this address have as many tickets that wait, or whose hunt is not over, as one address may have; or a rate limit. `Retry-After` says when to try again."),
    (status = 503, description = "`too_many_waiting`, `draining`, `tickets_elsewhere` (the matchmaking queue is moving to another server): try again after `Retry-After`"),
))]
async fn create_ticket(
    State(app): State<App>,
    player: ActingPlayer,
    quota_subject: QuotaSubject,
    JsonBody(requested): JsonBody<CreateTicket>,
) -> ApiResult<(StatusCode, [(HeaderName, String); 1], Json<TicketView>)> {
    let id = TicketId::new(app.node.clock.now(), random_bytes());
    let ticket = parse_ticket(&requested, player.player(), id, app.node.clock.steady())?;
    let seen = submit_ticket(&app.hunts, ticket, quota_subject.address).await?.map_err(HuntRefusal::from)?;
    let view = view::ticket(&seen.borrow());
    let path = format!("/api/hunts/tickets/{}", view.id);
    Ok((StatusCode::CREATED, [(header::LOCATION, path)], Json(view)))
}

/// Join the party of a ticket
///
/// **Who:** anyone with a player's or a guest's token who knows its id, has no other ticket and is in no hunt of a match. **When:** while it is
/// `gathering`. Joining again changes nothing. When the party is complete, the wait for other parties begins, of the same length.
#[utoipa::path(post, path = "/api/hunts/tickets/{id}/join", tag = "hunts", security(("bearer" = []), ("cookie" = [])), params(("id" = String, Path)), responses(
    (status = 200, description = "The ticket, joined.", body = TicketView),
    (status = 404, description = "`no_such_ticket`: it ended more than five minutes ago, or there never was one"),
    (status = 409, description = "`party_full`; `ticket_not_waiting`: it has ended, or its match is made at this moment; `already_waiting`; `in_hunt`"),
    (status = 410, description = "`ticket_lost`: the process that had it has ended or no longer keeps tickets, and the ticket ended with that: create another one"),
    (status = 503, description = "`tickets_elsewhere`: the node that keeps tickets cannot be reached now: try again after `Retry-After`"),
))]
async fn join(
    State(app): State<App>,
    player: ActingPlayer,
    PathId(id): PathId<TicketId>,
) -> ApiResult<Json<TicketView>> {
    match join_ticket(&app.hunts, id, player.player()).await? {
        Ok(seen) => Ok(Json(view::ticket(&seen.borrow()))),
        Err(TicketError::NotOwner | TicketError::NoSuchTicket) => {
            resolve_elsewhere(&app, id, player.player()).await.map(Json)
        }
        Err(refused) => Err(HuntRefusal::from(refused).into()),
    }
}

/// How long a poll waits.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct WaitQuery {
    /// How long to wait for its end, at most 10 minutes: `25s`, `500ms`, `2m`. Absent: no wait.
    #[param(value_type = Option<String>)]
    wait: Option<String>,
}

/// Get a ticket
///
/// **Who:** its party. With `wait`, the response comes when the ticket ends, or at the end of that time. A ticket that has ended can be read
/// for five minutes.
#[utoipa::path(get, path = "/api/hunts/tickets/{id}", tag = "hunts", security(("bearer" = []), ("cookie" = [])), params(("id" = String, Path), WaitQuery), responses(
    (status = 200, description = "The ticket.", body = TicketView),
    (status = 404, description = "`no_such_ticket`: it ended more than five minutes ago, or not of this party"),
    (status = 410, description = "`ticket_lost`: the process that had it has ended or no longer keeps tickets, and the ticket ended with that: create another one"),
    (status = 503, description = "`tickets_elsewhere`: the node that keeps tickets cannot be reached now: try again after `Retry-After`"),
))]
async fn get_ticket(
    State(app): State<App>,
    player: ActingPlayer,
    grant: RequestGrant,
    PathId(id): PathId<TicketId>,
    QueryParams(query): QueryParams<WaitQuery>,
    MaybePark(park_token): MaybePark,
) -> ApiResult<Response> {
    let wait = parse_wait(query.wait.as_deref(), app.config.poll_wait_max)?;
    let Some(seen) = app.hunts.matchmaker.find(id, player.player()) else {
        return resolve_elsewhere(&app, id, player.player()).await.map(|view| Json(view).into_response());
    };
    if wait.is_zero() || seen.borrow().state.is_final() {
        return Ok(Json(view::ticket(&seen.borrow())).into_response());
    }
    Ok(park_or_wait(park_token, Instant::now() + wait, grant.until_revoked(TicketPoll::new(seen))).await)
}

/// Cancel a ticket
///
/// **Who:** any member of its party, or an operator. It ends as `cancelled`, unless it has ended; a ticket whose hunt is being created may
/// still be `matched`. The response has the final state: after it, the caller may create another one.
#[utoipa::path(delete, path = "/api/hunts/tickets/{id}", tag = "hunts", security(("bearer" = []), ("cookie" = [])), params(("id" = String, Path)), responses(
    (status = 200, description = "The ticket, ended.", body = TicketView),
    (status = 404, description = "`no_such_ticket`: it ended more than five minutes ago, or not of this party"),
    (status = 410, description = "`ticket_lost`: the process that had it has ended or no longer keeps tickets, and the ticket ended with that: create another one"),
    (status = 503, description = "`tickets_elsewhere`: the node that keeps tickets cannot be reached now; `ticket_settling`: its hunt is still being saved, and it ends with that: try again after `Retry-After`"),
))]
async fn cancel_ticket(
    State(app): State<App>,
    player: ActingPlayer,
    quota_subject: QuotaSubject,
    PathId(id): PathId<TicketId>,
) -> ApiResult<Json<TicketView>> {
    let member = (!quota_subject.is_operator).then(|| player.player());
    let seen = app.hunts.matchmaker.cancel(id, member, app.node.clock.steady());
    let ended = match seen {
        Some(seen) => wait_for_end(seen).await?,
        None => None,
    };
    match ended {
        Some(view) => Ok(Json(view)),
        None => resolve_elsewhere(&app, id, player.player()).await.map(Json),
    }
}

/// A cancelled ticket, once it has ended: at once, unless its hunt is being saved. `None` if this process no longer knows it.
async fn wait_for_end(mut seen: TicketReceiver) -> ApiResult<Option<TicketView>> {
    let end = timeout(TICKET_SETTLING_MAX, seen.wait_for(|standing| standing.state.is_final())).await;
    match end {
        Ok(standing) => Ok(standing.ok().map(|standing| view::ticket(&standing))),
        Err(_) => Err(HuntRefusal::TicketSettling.into()),
    }
}

/// A ticket that this process does not know. It ends with the lease under which it was taken; a player who was matched still gets the hunt.
async fn resolve_elsewhere(app: &App, id: TicketId, player: PlayerId) -> ApiResult<TicketView> {
    match locate_ticket(&app.hunts, id, player).await? {
        TicketLocation::Matched(hunt) => Ok(view::matched_ticket(id, player, &hunt)),
        TicketLocation::Elsewhere(address) => Err(HuntRefusal::TicketElsewhere { address }.into()),
        TicketLocation::Forgotten => Err(ApiError::NotFound(Resource::Ticket)),
        TicketLocation::Lost => Err(HuntRefusal::TicketLost.into()),
        TicketLocation::Unknown => Err(HuntRefusal::Ticket(TicketError::NotOwner).into()),
    }
}

fn parse_ticket(requested: &CreateTicket, owner: PlayerId, id: TicketId, now: UnixMs) -> ApiResult<Ticket> {
    let region = requested.region.as_deref().map(str::parse::<Region>).transpose();
    Ok(Ticket {
        id,
        owner,
        party: vec![owner],
        party_size: requested.party_size.map_or(1, saturating_u8),
        players: requested.players.map_or(PLAYERS_DEFAULT, saturating_u8),
        region: region.map_err(|error| ApiError::bad_value("/region", format!("the region is {error}")))?,
        rating: requested.rating.map_or(RATING_DEFAULT, |rating| u16::try_from(rating).unwrap_or(u16::MAX)),
        since: now,
        until: now.plus(
            requested.wait_ms.map_or(Ok(TICKET_WAIT_DEFAULT), |ms| {
                duration_within("wait_ms", ms, TICKET_WAIT_MIN..=TICKET_WAIT_MAX)
            })?,
        ),
    })
}

/// A number that does not fit is refused like the nearest one that does.
fn saturating_u8(requested: i64) -> u8 {
    u8::try_from(requested.max(0)).unwrap_or(u8::MAX)
}

/// A poll that waits for a ticket's end: all that is kept of it.
struct TicketPoll {
    ticket: TicketReceiver,
    ended: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl TicketPoll {
    fn new(seen: TicketReceiver) -> Self {
        let mut state = seen.clone();
        let ended = Box::pin(async move {
            // Without a sender this process knows no more of it: the client's next request is answered by the node that does.
            let _ = state.wait_for(|standing: &TicketStatus| standing.state.is_final()).await;
        });
        Self { ticket: seen, ended }
    }

    fn response(&self) -> Whole<Bytes> {
        let body =
            serde_json::to_vec(&view::ticket(&self.ticket.borrow())).expect("a ticket holds only text and numbers");
        uncached_response(StatusCode::OK, JSON, body.into())
    }
}

impl LongPoll for TicketPoll {
    fn poll_response(&mut self, context: &mut Context<'_>) -> Poll<Whole<Bytes>> {
        ready!(self.ended.as_mut().poll(context));
        Poll::Ready(self.response())
    }

    fn finish(&mut self, _: WaitEnd) -> Whole<Bytes> {
        self.response()
    }
}
