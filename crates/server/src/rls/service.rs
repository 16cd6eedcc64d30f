//! The one method of the service, from its path to its answer. Knows no sockets.

use super::{ask, tell};
use crate::limits::Limits;
use engine::limits::RLS_MESSAGE_BYTES_MAX;
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
use wire::rls::{RateLimitRequest, RateLimitResponse, SHOULD_RATE_LIMIT};

/// Envoy's `RateLimitService`.
#[derive(Clone)]
pub(super) struct Rls(pub(super) Arc<Limits>);

impl Service<http::Request<Body>> for Rls {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move {
            if request.uri().path() != SHOULD_RATE_LIMIT {
                let served = format!("{} is not served here: expected {SHOULD_RATE_LIMIT}", request.uri().path());
                return Ok(Status::unimplemented(served).into_http());
            }
            let mut grpc = Grpc::new(ProstCodec::default())
                .apply_max_message_size_config(Some(RLS_MESSAGE_BYTES_MAX), None)
                .apply_compression_config(
                    EnabledCompressionEncodings::default(),
                    EnabledCompressionEncodings::default(),
                );
            Ok(grpc.unary(service, request).await)
        })
    }
}

impl UnaryService<RateLimitRequest> for Rls {
    type Response = RateLimitResponse;
    type Future = Ready<Result<Response<RateLimitResponse>, Status>>;

    fn call(&mut self, request: Request<RateLimitRequest>) -> Self::Future {
        ready(self.judge(request.into_inner()).map(Response::new))
    }
}

impl Rls {
    fn judge(&self, request: RateLimitRequest) -> Result<RateLimitResponse, Status> {
        let question = ask::question(request)?;
        let ruling = self.0.check_with(&question.hits(), &question.quotas());
        Ok(tell::response(&ruling, question.descriptors(), self.0.now()))
    }
}
