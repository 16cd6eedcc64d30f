//! Why a connection ends, and its last message: one error frame with a code, a reason, and the close code.

use crate::problem::ApiError;
use engine::limits::{WORLD_FRAME_BYTES_MAX, WORLD_FRAMES_PER_S_MAX, WORLD_HELLO_BYTES_MAX, WORLD_REGISTRATIONS_MAX};
use std::borrow::Cow;
use std::time::Duration;
use wire::delimited::FramingError;
use wire::websocket::Violation;
use wire::world::{Error, Malformed, VERSION};
use worlds::{CloseReason, VisitError};

/// Close codes (RFC 6455, section 7.4.1). Over TCP they are in the error frame alone.
const PROTOCOL_ERROR: u16 = 1002;
const INVALID_PAYLOAD: u16 = 1007;
const POLICY_VIOLATION: u16 = 1008;
const MESSAGE_TOO_BIG: u16 = 1009;
const INTERNAL_ERROR: u16 = 1011;
const SERVICE_RESTART: u16 = 1012;
const TRY_AGAIN_LATER: u16 = 1013;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Disconnect {
    /// The peer disconnected, or does not read: no message can be delivered.
    Lost,
    /// The peer closed; over a WebSocket it is answered with this close code.
    ClosedByPeer(Option<u16>),
    /// The server closes, and says why.
    ClosedByServer(CloseMessage),
}

/// The last message to the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CloseMessage {
    /// Stable, for programs.
    pub(super) code: &'static str,
    reason: Cow<'static, str>,
    /// The close code.
    pub(super) close: u16,
    address: String,
}

impl CloseMessage {
    fn new(code: &'static str, close: u16, reason: impl Into<Cow<'static, str>>) -> Self {
        Self { code, reason: reason.into(), close, address: String::new() }
    }

    pub(super) fn frame(&self) -> Error {
        Error {
            code: self.code.to_owned(),
            reason: self.reason.to_string(),
            close: self.close.into(),
            address: self.address.clone(),
        }
    }

    /// A frame that is not expected in this state.
    pub(super) fn unexpected_frame(expected: &'static str) -> Self {
        Self::new("out_of_turn", PROTOCOL_ERROR, expected)
    }

    /// The client speaks an unsupported version.
    pub(super) fn unsupported_version(theirs: u32) -> Self {
        Self::new(
            "version",
            PROTOCOL_ERROR,
            format!("this server speaks version {VERSION}, not {theirs}: send a hello with it"),
        )
    }

    /// A frame has an invalid value.
    pub(super) fn malformed(reason: &'static str) -> Self {
        Self::new("malformed", PROTOCOL_ERROR, reason)
    }

    /// The client exceeds the frame rate.
    pub(super) fn too_fast() -> Self {
        let reason = format!("more than {WORLD_FRAMES_PER_S_MAX} frames a second came for a while: send less");
        Self::new("too_fast", POLICY_VIOLATION, reason)
    }

    /// No mover registered on the connection, however often it was tried.
    pub(super) fn too_many_registrations() -> Self {
        let reason =
            format!("{WORLD_REGISTRATIONS_MAX} registrations were refused: connect again when one can succeed");
        Self::new("too_fast", POLICY_VIOLATION, reason)
    }

    /// No mover registered on the connection in time.
    pub(super) fn registration_timeout(time: Duration) -> Self {
        let reason = format!("no mover registered within {} ms: connect when a mover is ready", time.as_millis());
        Self::new("too_slow", POLICY_VIOLATION, reason)
    }

    /// The client does not read its output.
    pub(super) fn slow_consumer() -> Self {
        Self::new(
            "not_read",
            POLICY_VIOLATION,
            "the output has not been read for too long: read faster, or request fewer views",
        )
    }

    /// The name of the world is invalid or missing.
    pub(super) fn bad_world_name(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new("no_such_world", POLICY_VIOLATION, reason)
    }

    /// The client is not allowed to enter.
    pub(super) fn refused(error: &ApiError) -> Self {
        let (_, code) = error.status_and_code();
        Self::new(code, POLICY_VIOLATION, error.to_string())
    }

    /// The client has used up a limit, and may connect again later.
    pub(super) fn try_later(error: &ApiError) -> Self {
        let (_, code) = error.status_and_code();
        let reason = match error {
            // In HTTP the text points to headers, and a frame has none.
            ApiError::RateLimited(_) => "too many connections came from this address: connect again later".to_owned(),
            ApiError::ConnectionsFull => {
                "as many connections are open as this server can hold: connect again later".to_owned()
            }
            error => error.to_string(),
        };
        Self::new(code, TRY_AGAIN_LATER, reason)
    }

    /// The world's mailbox is full.
    pub(super) fn busy() -> Self {
        Self::new("busy", TRY_AGAIN_LATER, "too many enter this world at once: try again in a moment")
    }
}

impl From<ApiError> for Disconnect {
    fn from(error: ApiError) -> Self {
        CloseMessage::refused(&error).into()
    }
}

impl From<CloseMessage> for Disconnect {
    fn from(message: CloseMessage) -> Self {
        Self::ClosedByServer(message)
    }
}

impl From<Malformed> for CloseMessage {
    fn from(Malformed(reason): Malformed) -> Self {
        Self::new("malformed", PROTOCOL_ERROR, reason)
    }
}

impl From<FramingError> for CloseMessage {
    fn from(error: FramingError) -> Self {
        match error {
            FramingError::BadLength => Self::malformed("a frame must follow its length as a varint of at most 5 bytes"),
            FramingError::Empty => Self::malformed("a frame must not be empty"),
            FramingError::TooLong { bytes } => {
                let reason = format!(
                    "a frame of {bytes} bytes: a hello has at most {WORLD_HELLO_BYTES_MAX}, others {WORLD_FRAME_BYTES_MAX}"
                );
                Self::new("oversized", MESSAGE_TOO_BIG, reason)
            }
        }
    }
}

impl From<Violation> for CloseMessage {
    fn from(violation: Violation) -> Self {
        match violation {
            Violation::Protocol(reason) => Self::malformed(reason),
            Violation::NotText => Self::new("malformed", INVALID_PAYLOAD, "a text is not UTF-8"),
            Violation::TooLong => {
                Self::new("oversized", MESSAGE_TOO_BIG, format!("a message has at most {WORLD_FRAME_BYTES_MAX} bytes"))
            }
        }
    }
}

impl From<CloseReason> for CloseMessage {
    fn from(reason: CloseReason) -> Self {
        match reason {
            CloseReason::WorldMoved => {
                Self::new("world_moved", SERVICE_RESTART, "the world is not here any more: connect again")
            }
            CloseReason::Unloaded => Self::new(
                "world_unloaded",
                TRY_AGAIN_LATER,
                "this server needed the memory for another world, as this one was idle or your address held the most: connect again",
            ),
            CloseReason::Draining => {
                Self::new("draining", SERVICE_RESTART, "this server is shutting down: connect again")
            }
            CloseReason::Over => Self::from(VisitError::Over),
            CloseReason::Replaced => {
                Self::new("replaced", POLICY_VIOLATION, "this mover was resumed on another connection")
            }
            CloseReason::Left => Self::new("not_joined", POLICY_VIOLATION, "this player has left the hunt"),
            CloseReason::Gone => {
                Self::new("unknown_mover", POLICY_VIOLATION, "there is no such mover any more: register again")
            }
            CloseReason::Broken => Self::new(
                "broken",
                INTERNAL_ERROR,
                "this world failed because of a defect of the server: its log says more",
            ),
        }
    }
}

impl From<VisitError> for CloseMessage {
    fn from(error: VisitError) -> Self {
        let reason = error.to_string();
        match error {
            VisitError::NoSuchWorld => Self::bad_world_name(reason),
            VisitError::Over => Self::new("over", POLICY_VIOLATION, reason),
            VisitError::Elsewhere { address } => Self { address, ..Self::new("elsewhere", SERVICE_RESTART, reason) },
            VisitError::Draining => Self::new("draining", SERVICE_RESTART, reason),
            VisitError::Busy => Self::new("busy", TRY_AGAIN_LATER, reason),
            VisitError::WorldsFull => Self::new("worlds_full", TRY_AGAIN_LATER, reason),
            VisitError::YourShare => Self::new("your_share", TRY_AGAIN_LATER, reason),
            VisitError::TooManyWorlds { .. } => Self::new("too_many_worlds", TRY_AGAIN_LATER, reason),
            // Only operators may read why a database was unreachable.
            VisitError::Store(_) => {
                Self::new("unavailable", TRY_AGAIN_LATER, "this server cannot read the world now: try again")
            }
            VisitError::Broken | VisitError::Damaged => Self::new("broken", INTERNAL_ERROR, reason),
        }
    }
}
