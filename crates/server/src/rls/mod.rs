//! The rate limiter for proxies: Envoy's rate limit service, version 3, over gRPC on a port of its own.
//!
//! A domain is a class, each descriptor a hit; all of a request are judged together. Beside it stands gRPC's health service. The
//! port belongs into the proxies' network; a token may be asked for, encryption is left to who stands in front. Knows no policies
//! and keeps no counts: both are [`crate::limits`]'s.

mod health;
mod listener;
mod request;
mod response;
mod service;

use crate::config::Config;
use crate::gateway::listener::AddressLimit;
use crate::metrics::Metrics;
use crate::rate_limit::{RateLimiter, ServiceToken};
use engine::limits::RLS_CONNECTIONS_MAX;
use health::Health;
use listener::GrpcListener;
use service::{Rls, Services};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};
use tokio::time::sleep;
use tonic::transport::Server;

/// Requests under way on one connection.
const STREAMS_MAX: u32 = 1_024;
/// Longest list of headers of a request, in bytes.
const HEADERS_BYTES_MAX: u32 = 16 * 1024;
/// A peer is asked for a sign of life so many times before its silence puts it out.
const PINGS_MAX: u32 = 3;

/// What clients may take.
#[derive(Clone, Debug)]
pub struct RlsConfig {
    /// Time from the head of a request to its answer.
    pub request_timeout: Duration,
    /// Time in which a peer must be heard of.
    pub idle_timeout: Duration,
    /// Connections at the same time.
    pub connections_max: usize,
    /// How many of them one address may have.
    pub address_limit: AddressLimit,
    /// Time that requests under way get once the signal to leave has come.
    pub drain_max: Duration,
    /// What requests must bring, but for health checks.
    token: Option<ServiceToken>,
}

impl RlsConfig {
    /// The terms in force.
    #[must_use]
    pub fn of(config: &Config, drain_max: Duration) -> Self {
        Self {
            request_timeout: config.http_body_timeout,
            idle_timeout: config.http_idle_timeout,
            connections_max: config.http_connections_max.min(RLS_CONNECTIONS_MAX),
            address_limit: AddressLimit::of(config),
            drain_max,
            token: config.limiter_grpc_token.as_ref().map(ServiceToken::new),
        }
    }
}

/// Serves until `shutdown` comes and then, for at most [`Terms::drain_max`], until the last request under way is answered.
pub async fn serve(
    listener: TcpListener,
    limits: Arc<RateLimiter>,
    terms: RlsConfig,
    metrics: Arc<Metrics>,
    shutdown: impl Future<Output = ()>,
) {
    let (leaving, left) = oneshot::channel();
    let (unwell, is_leaving) = watch::channel(false);
    let services = Services { rls: Rls(limits), health: Health::new(is_leaving), token: terms.token };
    let bounds = (terms.connections_max, terms.address_limit.clone());
    let connections = GrpcListener::new(listener, bounds, terms.idle_timeout, metrics).incoming();
    let served = Server::builder()
        .timeout(terms.request_timeout)
        .max_concurrent_streams(STREAMS_MAX)
        .http2_max_header_list_size(HEADERS_BYTES_MAX)
        .http2_keepalive_interval(Some(terms.idle_timeout / PINGS_MAX))
        .http2_keepalive_timeout(Some(terms.idle_timeout))
        .serve_with_incoming_shutdown(services, connections, async move {
            shutdown.await;
            unwell.send_replace(true);
            let _ = leaving.send(());
        });
    tokio::select! {
        ended = served => if let Err(error) = ended {
            tracing::error!(%error, "the gRPC service ended, by a defect of this program");
        },
        () = drain_timeout(left, terms.drain_max) => {
            tracing::warn!("gRPC clients are put out: the time to finish their requests is over");
        }
    }
}

/// Ends so long after the signal to leave; never before it.
async fn drain_timeout(left: oneshot::Receiver<()>, drain_max: Duration) {
    if left.await.is_err() {
        std::future::pending::<()>().await;
    }
    sleep(drain_max).await;
}

#[cfg(test)]
mod tests;
