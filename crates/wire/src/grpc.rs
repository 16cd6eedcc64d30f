//! Messages of the gRPC services: Envoy's rate limit service, version 3, as far as it is served (`proto/rls.proto`), and gRPC's
//! health service (`proto/health.proto`). Knows neither limits nor who is healthy.

pub use crate::proto::envoy::service::ratelimit::v3::rate_limit_descriptor::{Entry, RateLimitOverride};
pub use crate::proto::envoy::service::ratelimit::v3::rate_limit_response::{Code, DescriptorStatus, RateLimit};
pub use crate::proto::envoy::service::ratelimit::v3::{
    HeaderValue, RateLimitDescriptor, RateLimitRequest, RateLimitResponse, Unit,
};
pub use crate::proto::grpc::health::v1::health_check_response::ServingStatus;
pub use crate::proto::grpc::health::v1::{HealthCheckRequest, HealthCheckResponse};

/// The one method of the rate limit service, as a path of HTTP/2.
pub const SHOULD_RATE_LIMIT: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
/// The health service: returns the status once.
pub const HEALTH_CHECK: &str = "/grpc.health.v1.Health/Check";
/// Streams the status and every change.
pub const HEALTH_WATCH: &str = "/grpc.health.v1.Health/Watch";
