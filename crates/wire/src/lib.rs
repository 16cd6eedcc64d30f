//! What crosses the network: the shapes of requests and responses, problem details and times. Only this crate knows
//! JSON and protocol buffers; it does not know what any of it means.

pub mod api;
pub mod delimited;
pub mod health;
pub mod problem;
pub mod rls;
pub mod time;
pub mod viewer;
pub mod webhook;
pub mod websocket;
pub mod world;
