//! The rate limiter for proxies: Envoy's rate limit service, version 3, over gRPC on a port of its own.
//!
//! A domain is a class, each descriptor a hit; all hits of a request are decided together. gRPC's health service is served as well. The
//! port belongs into the proxies' network; a token can be required, encryption is left to a proxy in front. Knows no policies
//! and keeps no counts: both are [`rate_limit`]'s.

mod health;
mod listener;
mod request;
mod response;
mod service;

use engine::limits::RLS_CONNECTIONS_MAX;
use health::Health;
use listener::GrpcListener;
use metrics::Metrics;
use quotas::address_limit::AddressLimit;
use rate_limit::{RateLimiter, ServiceToken};
use service::{Rls, Services};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};
use tokio::time::sleep;
use tonic::transport::Server;

/// Requests in progress on one connection.
const STREAMS_MAX: u32 = 1_024;
/// Longest list of headers of a request, in bytes.
const HEADERS_BYTES_MAX: u32 = 16 * 1024;
/// A peer gets so many pings before its silence closes the connection.
const PINGS_MAX: u32 = 3;

/// Limits on what clients may use.
#[derive(Clone, Debug)]
pub struct RlsConfig {
    /// Time from the head of a request to its response.
    pub request_timeout: Duration,
    /// Time within which a peer must send something.
    pub idle_timeout: Duration,
    /// Connections at the same time, at most [`RLS_CONNECTIONS_MAX`].
    pub connections_max: usize,
    /// The cap on connections of one address.
    pub address_limit: AddressLimit,
    /// Time that requests in progress get after the shutdown signal.
    pub drain_max: Duration,
    /// The token that requests must carry, except health checks.
    pub token: Option<ServiceToken>,
}

/// Serves until `shutdown` completes and then until the last request in progress is answered, for at most [`RlsConfig::drain_max`].
pub async fn serve(
    listener: TcpListener,
    limits: Arc<RateLimiter>,
    config: RlsConfig,
    metrics: Arc<Metrics>,
    shutdown: impl Future<Output = ()>,
) {
    let (shutdown_sender, shutdown_receiver) = oneshot::channel();
    let (drain_sender, draining) = watch::channel(false);
    let services = Services { rls: Rls(limits), health: Health::new(draining), token: config.token };
    let caps = (config.connections_max.min(RLS_CONNECTIONS_MAX), config.address_limit.clone());
    let connections = GrpcListener::new(listener, caps, config.idle_timeout, metrics).incoming();
    let served = Server::builder()
        .timeout(config.request_timeout)
        .max_concurrent_streams(STREAMS_MAX)
        .http2_max_header_list_size(HEADERS_BYTES_MAX)
        .http2_keepalive_interval(Some(config.idle_timeout / PINGS_MAX))
        .http2_keepalive_timeout(Some(config.idle_timeout))
        .serve_with_incoming_shutdown(services, connections, async move {
            shutdown.await;
            drain_sender.send_replace(true);
            let _ = shutdown_sender.send(());
        });
    tokio::select! {
        ended = served => if let Err(error) = ended {
            tracing::error!(%error, "the gRPC service ended because of a defect");
        },
        () = drain_timeout(shutdown_receiver, config.drain_max) => {
            tracing::warn!("gRPC connections are closed: the time to finish their requests is over");
        }
    }
}

/// Completes so long after the shutdown signal; never without it.
async fn drain_timeout(shutdown_receiver: oneshot::Receiver<()>, drain_max: Duration) {
    if shutdown_receiver.await.is_err() {
        std::future::pending::<()>().await;
    }
    sleep(drain_max).await;
}

#[cfg(test)]
mod tests;
