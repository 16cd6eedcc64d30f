//! Protocol buffers of Envoy's rate limit service, version 3, as far as it is served: `proto/rls.proto` in this crate,
//! field by field. Written by hand, so that no build needs a compiler of protocol buffers; a test compares them with
//! the file. Does not know what a limit is.

use prost::{Enumeration, Message};

/// The one method, as a path of HTTP/2.
pub const SHOULD_RATE_LIMIT: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/// May these hits pass?
#[derive(Clone, PartialEq, Message)]
pub struct RateLimitRequest {
    /// What the descriptors belong to.
    #[prost(string, tag = "1")]
    pub domain: String,
    /// Who or what is counted.
    #[prost(message, repeated, tag = "2")]
    pub descriptors: Vec<RateLimitDescriptor>,
    /// Units that each descriptor costs; 0 means 1.
    #[prost(uint32, tag = "3")]
    pub hits_addend: u32,
}

/// One thing that is counted.
#[derive(Clone, PartialEq, Message)]
pub struct RateLimitDescriptor {
    /// What names it.
    #[prost(message, repeated, tag = "1")]
    pub entries: Vec<Entry>,
    /// The quota for it, where the client knows better than the policies.
    #[prost(message, optional, tag = "2")]
    pub limit: Option<RateLimitOverride>,
    /// Units that it costs, instead of the request's.
    #[prost(message, optional, tag = "3")]
    pub hits_addend: Option<u64>,
    /// Whether units are returned instead of taken.
    #[prost(bool, tag = "4")]
    pub is_negative_hits: bool,
}

/// A part of a descriptor's name.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Entry {
    /// What is meant, such as `remote_address`.
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(string, tag = "2")]
    pub value: String,
}

/// A quota that comes with a request.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct RateLimitOverride {
    /// Units that may be taken in one unit of time.
    #[prost(uint32, tag = "1")]
    pub requests_per_unit: u32,
    /// The unit of time.
    #[prost(enumeration = "Unit", tag = "2")]
    pub unit: i32,
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum Unit {
    /// None of the others.
    Unknown = 0,
    /// 1 s.
    Second = 1,
    /// 60 s.
    Minute = 2,
    /// 60 min.
    Hour = 3,
    /// 24 h.
    Day = 4,
    /// 30 days.
    Month = 5,
    /// 365 days.
    Year = 6,
    /// 7 days.
    Week = 7,
}

/// The answer.
#[derive(Clone, PartialEq, Message)]
pub struct RateLimitResponse {
    /// Over the limit as soon as one descriptor is.
    #[prost(enumeration = "Code", tag = "1")]
    pub overall_code: i32,
    /// One for each descriptor, in their order.
    #[prost(message, repeated, tag = "2")]
    pub statuses: Vec<DescriptorStatus>,
    /// Headers for the response to the limited client.
    #[prost(message, repeated, tag = "3")]
    pub response_headers_to_add: Vec<HeaderValue>,
}

/// Whether something may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum Code {
    /// Never sent.
    Unknown = 0,
    /// The request is allowed.
    Ok = 1,
    /// It may not.
    OverLimit = 2,
}

/// What became of one descriptor.
#[derive(Clone, PartialEq, Message)]
pub struct DescriptorStatus {
    /// Whether it alone could pass.
    #[prost(enumeration = "Code", tag = "1")]
    pub code: i32,
    /// The limit that comes first; none where none matches.
    #[prost(message, optional, tag = "2")]
    pub current_limit: Option<RateLimit>,
    /// Units that are left of it.
    #[prost(uint32, tag = "3")]
    pub limit_remaining: u32,
    /// How long until that changes for good.
    #[prost(message, optional, tag = "4")]
    pub duration_until_reset: Option<Duration>,
}

/// A limit that is in force.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct RateLimit {
    /// Units that may be taken in one unit of time.
    #[prost(uint32, tag = "1")]
    pub requests_per_unit: u32,
    /// The unit of time; unknown where the window is none of them.
    #[prost(enumeration = "Unit", tag = "2")]
    pub unit: i32,
    /// What its makers call it.
    #[prost(string, tag = "3")]
    pub name: String,
}

/// A span of time, as `google.protobuf.Duration` has it.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct Duration {
    /// Whole seconds.
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    /// Nanoseconds below a second.
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

/// A header of HTTP.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct HeaderValue {
    #[prost(string, tag = "1")]
    pub key: String,
    /// Its text.
    #[prost(string, tag = "2")]
    pub value: String,
}

impl From<std::time::Duration> for Duration {
    fn from(span: std::time::Duration) -> Self {
        // Nanoseconds below a second always fit.
        Self { seconds: i64::try_from(span.as_secs()).unwrap_or(i64::MAX), nanos: span.subsec_nanos().cast_signed() }
    }
}

#[cfg(test)]
mod tests;
