//! Why a request that was forwarded to another node has no response of that node.

use axum::http::StatusCode;

/// The kind of resource that a forwardable request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardTarget {
    Tables,
    /// A matchmaking ticket.
    Tickets,
    /// A player's mover in a hunt.
    Hunts,
}

/// Why the other node did not answer a forwarded request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForwardError {
    /// It cannot be reached: nothing was done.
    #[error("the node responsible for this request cannot be reached; nothing was done: try again in a moment")]
    Unreachable,
    /// It was reached, and did not answer.
    #[error(
        "the node responsible for this request did not answer; it is unknown whether the request was done: check before trying again"
    )]
    NoResponse,
    /// It disconnected while a request waited there for events.
    #[error("the node responsible for this request disconnected while the request waited: try again")]
    Interrupted,
    /// Too many requests are being forwarded.
    #[error("too many requests are being forwarded to other nodes; nothing was done: try again in a moment")]
    TooMany,
    /// Too many from one address wait at other nodes.
    #[error("as many requests from this address wait at other nodes as allowed: {max}")]
    TooManyOfAddress { max: usize },
}

impl ForwardError {
    /// The status and the stable code.
    pub(super) fn status_and_code(self, target: ForwardTarget) -> (StatusCode, &'static str) {
        let (elsewhere, unanswered) = match target {
            ForwardTarget::Tables => ("table_elsewhere", "table_silent"),
            ForwardTarget::Tickets => ("tickets_elsewhere", "tickets_unanswered"),
            ForwardTarget::Hunts => ("world_elsewhere", "hunt_unanswered"),
        };
        match self {
            Self::Unreachable | Self::TooMany | Self::Interrupted => (StatusCode::SERVICE_UNAVAILABLE, elsewhere),
            Self::TooManyOfAddress { .. } => (StatusCode::TOO_MANY_REQUESTS, "too_many_waiters"),
            Self::NoResponse => (StatusCode::GATEWAY_TIMEOUT, unanswered),
        }
    }

    /// Whether the other node was not contacted at all.
    pub(crate) fn is_local(self) -> bool {
        matches!(self, Self::TooMany | Self::TooManyOfAddress { .. })
    }
}
