//! Admission: whether a request is taken at all, decided before a byte of its body is read.
//!
//! Two different questions with two different answers. The load shedder ([`super::shed`]) asks how the house is, and refuses
//! new work with 503 whoever brings it; the rate limiter asks how much *this* caller has had, and refuses with 429. Neither
//! counts what the other refused. Finds the caller on the way, once: extractors take it from here.
//!
//! Knows no policies and no counts: those are the limiter's.

mod client;
mod route;
mod subject;

pub(super) use subject::RateLimitSubject;

use subject::RateLimitCharge;

use super::auth::{self, Identity};
use super::forward;
use super::listener::{ConnectionHandle, ProxiedPermit};
use super::problem::ApiResult;
use super::shed;
use crate::address_key::AddressKey;
use crate::app::App;
use crate::config::Config;
use axum::extract::{ConnectInfo, FromRequestParts, MatchedPath, Request, State};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use engine::rows::Role;
use route::RouteClass;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// Stands in the extensions of a request that was let in: the address of its client, if it has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientAddress(pub(in crate::gateway) Option<IpAddr>);

impl ClientAddress {
    /// What the address counts as, for the rate limiter and for everything else that counts clients by address.
    pub(crate) fn address_key(self) -> Option<AddressKey> {
        self.0.map(AddressKey::of)
    }
}

/// A request that came past admission has no address, like one that came over no connection.
impl<S: Sync> FromRequestParts<S> for ClientAddress {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get().copied().unwrap_or(Self(None)))
    }
}

/// Lets a request through to its handler, or refuses it. A layer for the whole router.
pub(super) async fn admit(State(app): State<App>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let Some(class) = route_class(&parts) else {
        return next.run(Request::from_parts(parts, body)).await;
    };
    let identity = auth::identify(&parts, &app).await;
    let connection = parts.extensions.get::<ConnectionHandle>().cloned();
    connection.iter().for_each(|connection| connection.raise(identity.rank()));
    if is_policy_repair(&parts, &identity) {
        parts.extensions.insert(identity);
        return next.run(Request::from_parts(parts, body)).await;
    }
    let forwarded = forward::read_mark(&app, &parts).await;
    let client = forwarded.map_or_else(|| address_of_request(&parts, &app), |forwarded| forwarded.client);
    if forwarded.is_some() {
        connection.iter().for_each(ConnectionHandle::mark_as_node);
    }
    let share = match connection
        .filter(|_| forwarded.is_none())
        .map(|connection| acquire_proxied_permit(&connection, client, &parts))
    {
        None => None,
        Some(Ok(share)) => share,
        Some(Err(refusal)) => return refusal.into_response(),
    };
    let payer = RateLimitSubject::new(class, &identity, client);
    // The node at which it came in has charged its client.
    let charge = || if forwarded.is_some() { Ok(RateLimitCharge::default()) } else { payer.charge(&app.limits) };
    let charged = shed_if_overloaded(&app, class, &identity).and_then(|()| charge());
    let paid = match charged {
        Ok(paid) => paid,
        Err(refusal) => return refusal.into_response(),
    };
    parts.extensions.insert(identity);
    parts.extensions.insert(payer);
    parts.extensions.insert(ClientAddress(client));
    forwarded.map(|forwarded| parts.extensions.insert(forwarded));
    let mut answer = paid.add_headers(next.run(Request::from_parts(parts, body)).await);
    share.map(|share| answer.extensions_mut().insert(share));
    answer
}

/// What a request through a proxy takes of its client's share of connections: until it is answered, or its connection ends
/// where that has become a WebSocket.
fn acquire_proxied_permit(
    connection: &ConnectionHandle,
    client: Option<IpAddr>,
    parts: &Parts,
) -> ApiResult<Option<Arc<ProxiedPermit>>> {
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| peer.ip().to_canonical());
    match client.filter(|client| peer != Some(*client)) {
        Some(client) => Ok(connection.acquire_proxied_permit(client)?),
        None => Ok(None),
    }
}

/// Charges a connection that speaks frames, and so never brings a request, to its address: as whoever asks without a token to be told.
///
/// # Errors
/// Which refusal it is; nothing was taken.
pub(super) fn admit_connection(app: &App, address: Option<IpAddr>) -> ApiResult<()> {
    RateLimitSubject::new(RouteClass::Watch, &Identity::Anonymous, address).charge(&app.limits).map(drop)
}

fn route_class(parts: &Parts) -> Option<RouteClass> {
    RouteClass::of(&parts.method, parts.extensions.get::<MatchedPath>().map(MatchedPath::as_str))
}

/// Whoever made a policy too strict must be able to mend it.
fn is_policy_repair(parts: &Parts, identity: &Identity) -> bool {
    let is_about_policies =
        parts.extensions.get::<MatchedPath>().is_some_and(|path| path.as_str().starts_with("/api/limits/policies"));
    is_about_policies && identity.as_caller().is_some_and(|caller| caller.role >= Role::Operator)
}

/// Whose address a request over a connection of this peer is from.
pub(super) fn client_address(peer: IpAddr, headers: &HeaderMap, config: &Config) -> IpAddr {
    client::client_address(peer, headers, &config.http_trusted_proxies)
}

fn address_of_request(parts: &Parts, app: &App) -> Option<IpAddr> {
    let ConnectInfo(peer) = parts.extensions.get::<ConnectInfo<SocketAddr>>()?;
    Some(client_address(peer.ip(), &parts.headers, &app.config))
}

/// New games are the work that can wait. Operators are let through: it is they who find out what is wrong. Whoever will be
/// told that the token is no good is not told to come again.
fn shed_if_overloaded(app: &App, class: RouteClass, identity: &Identity) -> ApiResult<()> {
    let is_of_a_user = match identity {
        Identity::Guest(_) => true,
        other => other.as_caller().is_some_and(|caller| caller.role < Role::Operator),
    };
    let is_sheddable = class == RouteClass::Create && is_of_a_user;
    match app.shedder.overload().filter(|_| is_sheddable) {
        None => Ok(()),
        Some(overload) => {
            app.metrics.shed(overload);
            Err(shed::refusal(overload))
        }
    }
}
