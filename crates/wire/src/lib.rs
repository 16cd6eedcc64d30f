//! What crosses the network: the shapes of requests and responses, problem details and times. Only this crate knows
//! JSON and protocol buffers; it does not know what any of it means.

pub mod api;
pub mod delimited;
pub mod escape;
pub mod grpc;
pub mod otlp;
pub mod problem;
pub mod time;
pub mod viewer;
pub mod webhook;
pub mod websocket;
pub mod world;

/// The messages of `proto/`, by their packages.
#[expect(unreachable_pub, reason = "the modules above say which messages are public")]
mod proto {
    include!(concat!(env!("OUT_DIR"), "/proto.rs"));
}
