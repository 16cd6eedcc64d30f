//! Protocol buffers of gRPC's health service: `proto/health.proto` in this crate, field by field, written by hand and
//! compared with the file by a test. Does not know who is healthy.

use prost::{Enumeration, Message};

/// Returns the status once.
pub const CHECK: &str = "/grpc.health.v1.Health/Check";
/// Streams the status and every change.
pub const WATCH: &str = "/grpc.health.v1.Health/Watch";

/// Is this service well?
#[derive(Clone, PartialEq, Eq, Message)]
pub struct HealthCheckRequest {
    /// The full name of a service; empty for the server as a whole.
    #[prost(string, tag = "1")]
    pub service: String,
}

/// The answer.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct HealthCheckResponse {
    #[prost(enumeration = "ServingStatus", tag = "1")]
    pub status: i32,
}

/// How a service is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum ServingStatus {
    /// Never sent.
    Unknown = 0,
    /// It answers.
    Serving = 1,
    /// It is about to leave.
    NotServing = 2,
    /// There is no such service. `Check` returns an error instead.
    ServiceUnknown = 3,
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost_reflect::{DescriptorPool, DynamicMessage};

    /// `message` must read, by the file, as `text`.
    #[track_caller]
    fn check(message: &impl Message, name: &str, text: &str) {
        let files = protox::compile(["health.proto"], [concat!(env!("CARGO_MANIFEST_DIR"), "/proto")]).unwrap();
        let pool = DescriptorPool::from_file_descriptor_set(files).unwrap();
        let descriptor = pool.get_message_by_name(&format!("grpc.health.v1.{name}")).unwrap();
        let read = DynamicMessage::decode(descriptor, message.encode_to_vec().as_slice()).unwrap();
        assert_eq!(read.to_text_format(), text);
    }

    #[test]
    fn the_structs_agree_with_the_proto_file() {
        check(&HealthCheckRequest { service: "s".to_owned() }, "HealthCheckRequest", r#"service:"s""#);
        let statuses = [
            (ServingStatus::Serving, "SERVING"),
            (ServingStatus::NotServing, "NOT_SERVING"),
            (ServingStatus::ServiceUnknown, "SERVICE_UNKNOWN"),
        ];
        for (status, name) in statuses {
            let response = HealthCheckResponse { status: status.into() };
            check(&response, "HealthCheckResponse", &format!("status:{name}"));
        }
    }
}
