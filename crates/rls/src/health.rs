//! gRPC's health service (grpc.health.v1): proxies ask it whether to send requests here. It reports serving until the shutdown signal,
//! and not serving while requests in progress are finished. Knows no limits.

use futures_util::stream::once;
use futures_util::{Stream, StreamExt};
use std::future::{Ready, ready};
use std::pin::Pin;
use tokio::sync::watch;
use tonic::server::{ServerStreamingService, UnaryService};
use tonic::{Request, Response, Status};
use wire::grpc::{HealthCheckRequest, HealthCheckResponse, ServingStatus};

/// The only service with a health status, by its full name; the status of the server as a whole is the same.
const SERVICE: &str = "envoy.service.ratelimit.v3.RateLimitService";

/// Whether the process is draining.
#[derive(Clone)]
pub(super) struct Health {
    draining: watch::Receiver<bool>,
}

/// The unary check.
pub(super) struct HealthCheck(pub(super) Health);

/// The stream of changes.
pub(super) struct HealthWatch(pub(super) Health);

impl Health {
    pub(super) fn new(draining: watch::Receiver<bool>) -> Self {
        Self { draining }
    }

    /// The current status of a service; `None` if there is no such service.
    fn status(&self, service: &str) -> Option<ServingStatus> {
        let is_known = service.is_empty() || service == SERVICE;
        let status = if *self.draining.borrow() { ServingStatus::NotServing } else { ServingStatus::Serving };
        is_known.then_some(status)
    }

    /// The current status, and once more when it changes: it changes once.
    fn changes(mut self, service: String) -> impl Stream<Item = Result<HealthCheckResponse, Status>> {
        let status = move |health: &Self| health.status(&service).unwrap_or(ServingStatus::ServiceUnknown);
        let first = status(&self);
        let then = async move {
            // An error means that the sender of the signal is gone: there is nothing to wait for either.
            let _ = self.draining.wait_for(|is_draining| *is_draining).await;
            Some(status(&self)).filter(|now| *now != first)
        };
        once(ready(first)).chain(once(then).filter_map(ready)).map(|status| Ok(response(status)))
    }
}

fn response(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse { status: status.into() }
}

impl UnaryService<HealthCheckRequest> for HealthCheck {
    type Response = HealthCheckResponse;
    type Future = Ready<Result<Response<HealthCheckResponse>, Status>>;

    fn call(&mut self, request: Request<HealthCheckRequest>) -> Self::Future {
        let HealthCheckRequest { service } = request.into_inner();
        let unknown = || Status::not_found(format!("no such service: expected {SERVICE}, or none"));
        ready(self.0.status(&service).map(|status| Response::new(response(status))).ok_or_else(unknown))
    }
}

impl ServerStreamingService<HealthCheckRequest> for HealthWatch {
    type Response = HealthCheckResponse;
    type ResponseStream = Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send>>;
    type Future = Ready<Result<Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, request: Request<HealthCheckRequest>) -> Self::Future {
        let changes = self.0.clone().changes(request.into_inner().service);
        ready(Ok(Response::new(Box::pin(changes))))
    }
}
