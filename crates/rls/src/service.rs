//! The served methods, from the path to the response. Knows no sockets.

use super::health::{Health, HealthCheck, HealthWatch};
use super::{request, response};
use engine::limits::RLS_MESSAGE_BYTES_MAX;
use rate_limit::{RateLimiter, ServiceToken};
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tonic::body::Body;
use tonic::codec::EnabledCompressionEncodings;
use tonic::server::{Grpc, UnaryService};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;
use tower::Service;
use wire::grpc::{HEALTH_CHECK, HEALTH_WATCH, RateLimitRequest, RateLimitResponse, SHOULD_RATE_LIMIT};

/// All services of the port.
#[derive(Clone)]
pub(super) struct Services {
    pub(super) rls: Rls,
    pub(super) health: Health,
    /// The token that requests must carry. Health checks need none: a proxy that has no token yet must see that the server runs.
    pub(super) token: Option<ServiceToken>,
}

/// Envoy's `RateLimitService`.
#[derive(Clone)]
pub(super) struct Rls(pub(super) Arc<RateLimiter>);

/// Longest request of a health check: the name of a service.
const HEALTH_BYTES_MAX: usize = 1_024;

impl Service<http::Request<Body>> for Services {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let Self { rls, health, token } = self.clone();
        Box::pin(async move {
            let is_authorized = token.is_none_or(|token| token.is_presented_in(request.headers()));
            Ok(match (request.uri().path(), is_authorized) {
                (HEALTH_CHECK, _) => grpc(HEALTH_BYTES_MAX).unary(HealthCheck(health), request).await,
                (HEALTH_WATCH, _) => grpc(HEALTH_BYTES_MAX).server_streaming(HealthWatch(health), request).await,
                // Without a hint at what was wrong with the token.
                (_, false) => Status::unauthenticated(
                    "this port requires a token: send the metadata `authorization: Bearer <token>`",
                )
                .into_http(),
                (SHOULD_RATE_LIMIT, true) => grpc(RLS_MESSAGE_BYTES_MAX).unary(rls, request).await,
                (other, true) => {
                    let reason = format!(
                        "{other} is not served here: expected {SHOULD_RATE_LIMIT}, {HEALTH_CHECK} or {HEALTH_WATCH}"
                    );
                    Status::unimplemented(reason).into_http()
                }
            })
        })
    }
}

/// A codec for requests of at most so many bytes, without compression.
fn grpc<Reply, Message>(bytes_max: usize) -> Grpc<ProstCodec<Reply, Message>>
where
    Reply: prost::Message + Send + 'static,
    Message: prost::Message + Default + Send + 'static,
{
    let none = EnabledCompressionEncodings::default;
    Grpc::new(ProstCodec::default())
        .apply_max_message_size_config(Some(bytes_max), None)
        .apply_compression_config(none(), none())
}

impl UnaryService<RateLimitRequest> for Rls {
    type Response = RateLimitResponse;
    type Future = Ready<Result<Response<RateLimitResponse>, Status>>;

    fn call(&mut self, request: Request<RateLimitRequest>) -> Self::Future {
        ready(self.should_rate_limit(request.into_inner()).map(Response::new))
    }
}

impl Rls {
    fn should_rate_limit(&self, request: RateLimitRequest) -> Result<RateLimitResponse, Status> {
        let request = request::parse_request(request)?;
        let result = self.0.check_with(&request.hits(), &request.quotas());
        Ok(response::response(&result, request.descriptor_count(), self.0.now()))
    }
}
