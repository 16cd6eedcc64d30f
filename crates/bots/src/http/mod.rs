//! HTTP/1.1 as far as a bot needs it: bytes to messages, refusals to problems. Pure: no sockets, no tasks, no clock.
//! Knows nothing of bots, paths or JSON bodies.

mod chunked;
mod message;
mod problem;

pub(crate) use message::{ParsedMessage, Progress, RequestParser};
pub(crate) use problem::{Method, Problem, Status};
