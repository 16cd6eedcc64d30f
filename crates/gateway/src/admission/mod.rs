//! Admission: whether a request is accepted at all, decided before a byte of its body is read.
//!
//! First, whether the caller or its address is banned ([`super::bans`]). Then two independent decisions. The load shedder ([`super::shed`]) looks at the state of the server, and refuses new work with 503
//! from every caller; the rate limiter looks at the usage of *this* caller, and refuses with 429. Neither counts what the other
//! refused. Identifies the caller on the way, once: extractors take it from here.
//!
//! Knows no policies and no counts: those are the limiter's.

mod route;
mod subject;

pub(super) use subject::RateLimitSubject;

use subject::RateLimitCharge;

use super::audit;
use super::auth::{Identity, Principal};
use super::client_address::{ClientAddress, UnreadableForwardedFor, client_address};
use super::forward;
use super::listener::{Connection, ProxiedPermit, Rank};
use super::origin::needs_valid_token;
use super::problem::{ApiError, ApiResult, HttpRefusal};
use super::shed;
use super::trace;
use crate::app::App;
use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::Method;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use metrics::Overload;
use route::{RouteClass, is_poll};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Weak};

/// Passes a request to its handler, or refuses it. A layer for the whole router.
pub(super) async fn admit(State(app): State<App>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let Some(class) = route_class(&parts) else {
        return next.run(Request::from_parts(parts, body)).await;
    };
    let identity = app.auth.identify(&parts).await.0;
    trace::record_principal(&parts.method, identity.principal());
    if needs_valid_token(&parts, &app.config) && identity.principal().is_none() {
        let refusal = identity.into_principal().err().unwrap_or(ApiError::CrossSite);
        return refusal.into_response();
    }
    if let Some(connection) = connection_of(&parts) {
        connection.raise_rank(identity.principal().map_or(Rank::Anonymous, Principal::rank));
    }
    // Only nodes of one database forward to each other.
    let forwarded = if app.node.store.is_shared() {
        forward::verify_forwarded(&app.guests, app.node.clock.now(), &parts).await
    } else {
        None
    };
    if let Some(trace) = parts.extensions.get() {
        trace::trace_caller(trace, identity.principal(), forwarded.is_some());
    }
    let client = match forwarded {
        Some(forwarded) => forwarded.client,
        None => match address_of_request(&parts, &app) {
            Ok(client) => client,
            Err(refusal) => return refusal.into_response(),
        },
    };
    if !is_sign_out(&parts)
        && let Err(refusal) = app.bans.check(identity.principal(), client)
    {
        return refusal.into_response();
    }
    if is_policy_repair(&parts, &identity) {
        parts.extensions.insert(identity);
        parts.extensions.insert(ClientAddress(client));
        return audit::record(&app, Request::from_parts(parts, body), next).await;
    }
    let proxied_permit = match connection_of(&parts) {
        Some(connection) if forwarded.is_some() => {
            connection.mark_as_node();
            Ok(None)
        }
        Some(connection) => acquire_proxied_permit(&connection, client, &parts),
        None => Ok(None),
    };
    let proxied_permit = match proxied_permit {
        Ok(proxied_permit) => proxied_permit,
        Err(refusal) => return refusal.into_response(),
    };
    let subject = RateLimitSubject::new(class, identity.principal(), client);
    // The node that received the request has charged its client.
    let charge = || if forwarded.is_some() { Ok(RateLimitCharge::default()) } else { subject.charge(&app.limits) };
    let charge = match shed_if_overloaded(&app, class, &parts, &identity).and_then(|()| charge()) {
        Ok(charge) => charge,
        Err(refusal) => return refusal.into_response(),
    };
    parts.extensions.insert(identity);
    parts.extensions.insert(subject);
    parts.extensions.insert(ClientAddress(client));
    let is_forwarded = forwarded.is_some();
    forwarded.map(|forwarded| parts.extensions.insert(forwarded));
    let request = Request::from_parts(parts, body);
    // The node that received the request records it.
    let response = if is_forwarded { next.run(request).await } else { audit::record(&app, request, next).await };
    let mut response = charge.add_headers(response);
    proxied_permit.map(|proxied_permit| response.extensions_mut().insert(proxied_permit));
    response
}

fn connection_of(parts: &Parts) -> Option<Arc<Connection>> {
    parts.extensions.get().and_then(Weak::upgrade)
}

/// The permit of a request through a proxy, counted for its client: held until the request is answered, or until its connection
/// ends if it was upgraded to a WebSocket.
fn acquire_proxied_permit(
    connection: &Connection,
    client: Option<IpAddr>,
    parts: &Parts,
) -> ApiResult<Option<Arc<ProxiedPermit>>> {
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| peer.ip().to_canonical());
    match client.filter(|client| peer != Some(*client)) {
        Some(client) => Ok(connection.acquire_proxied_permit(client)?),
        None => Ok(None),
    }
}

/// Charges a connection that speaks frames, and so never sends a request, to its address: like an anonymous request to watch.
///
/// # Errors
/// The refusal; nothing was charged.
pub(super) fn admit_connection(app: &App, address: Option<IpAddr>) -> ApiResult<()> {
    if app.shedder.is_short_of_memory() {
        app.metrics.process.shed.inc(Overload::Memory);
        return Err(shed::refusal(Overload::Memory));
    }
    RateLimitSubject::new(RouteClass::Watch, None, address).charge(&app.limits).map(drop)
}

fn route_class(parts: &Parts) -> Option<RouteClass> {
    RouteClass::of(&parts.method, parts.extensions.get::<MatchedPath>().map(MatchedPath::as_str))
}

/// The banned may still leave.
fn is_sign_out(parts: &Parts) -> bool {
    let route = parts.extensions.get::<MatchedPath>().map(MatchedPath::as_str);
    parts.method == Method::DELETE && route == Some("/api/session")
}

/// An operator whose policy is too strict must be able to change it.
fn is_policy_repair(parts: &Parts, identity: &Identity) -> bool {
    let is_about_policies =
        parts.extensions.get::<MatchedPath>().is_some_and(|path| path.as_str().starts_with("/api/limits/policies"));
    is_about_policies && identity.principal().is_some_and(Principal::is_operator)
}

fn address_of_request(parts: &Parts, app: &App) -> ApiResult<Option<IpAddr>> {
    let Some(ConnectInfo(peer)) = parts.extensions.get::<ConnectInfo<SocketAddr>>() else { return Ok(None) };
    let config = &app.config;
    let address = client_address(peer.ip(), &parts.headers, &config.http_trusted_proxies, config.counts_loopback());
    address.map(Some).map_err(|UnreadableForwardedFor| HttpRefusal::BadForwardedFor.into())
}

/// New games are the work that can wait; while memory is short, so is everything that keeps a connection open. A client that polls is there
/// already, and goes on. Operators are admitted: they find out what is wrong. A creation whose token will be refused is not shed.
fn shed_if_overloaded(app: &App, class: RouteClass, parts: &Parts, identity: &Identity) -> ApiResult<()> {
    let principal = identity.principal();
    let overload = match class {
        RouteClass::Create => app.shedder.overload().filter(|_| principal.is_some_and(|caller| !caller.is_operator())),
        RouteClass::Watch if app.shedder.is_short_of_memory() => {
            let is_admitted = is_poll(parts) || principal.is_some_and(Principal::is_operator);
            (!is_admitted).then_some(Overload::Memory)
        }
        RouteClass::Watch | RouteClass::Read | RouteClass::Write => None,
    };
    match overload {
        None => Ok(()),
        Some(overload) => {
            app.metrics.process.shed.inc(overload);
            Err(shed::refusal(overload))
        }
    }
}
