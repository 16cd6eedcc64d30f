//! Why a connection ends, and the last thing that it is told: one error frame with a code, words, and the status of the close.

use crate::gateway::problem::ApiError;
use crate::worlds::{CloseReason, VisitError};
use engine::limits::{WORLD_FRAME_BYTES_MAX, WORLD_FRAMES_PER_S_MAX, WORLD_HELLO_BYTES_MAX};
use std::borrow::Cow;
use std::time::Duration;
use wire::delimited::FramingError;
use wire::websocket::Violation;
use wire::world::{Error, Malformed, VERSION};

/// Statuses of a close (RFC 6455, section 7.4.1). Over TCP they stand in the error frame alone.
const PROTOCOL_ERROR: u16 = 1002;
const INVALID_PAYLOAD: u16 = 1007;
const POLICY_VIOLATION: u16 = 1008;
const MESSAGE_TOO_BIG: u16 = 1009;
const INTERNAL_ERROR: u16 = 1011;
const SERVICE_RESTART: u16 = 1012;
const TRY_AGAIN_LATER: u16 = 1013;

/// How a connection ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Disconnect {
    /// The other side is gone, or does not take anything: there is nobody to tell.
    Lost,
    /// The other side has said that it goes; over a WebSocket it is answered with this status.
    ClosedByPeer(Option<u16>),
    /// We end it, and say why.
    ClosedByServer(CloseMessage),
}

/// What the other side is told at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CloseMessage {
    /// Stable, for programs.
    pub(super) code: &'static str,
    reason: Cow<'static, str>,
    /// The status of the close.
    pub(super) close: u16,
    address: String,
}

impl CloseMessage {
    fn new(code: &'static str, close: u16, reason: impl Into<Cow<'static, str>>) -> Self {
        Self { code, reason: reason.into(), close, address: String::new() }
    }

    /// The frame.
    pub(super) fn frame(&self) -> Error {
        Error {
            code: self.code.to_owned(),
            reason: self.reason.to_string(),
            close: self.close.into(),
            address: self.address.clone(),
        }
    }

    /// Something came at a moment when nobody expects it.
    pub(super) fn out_of_turn(expected: &'static str) -> Self {
        Self::new("out_of_turn", PROTOCOL_ERROR, expected)
    }

    /// The client speaks a version that is not spoken here.
    pub(super) fn unsupported_version(theirs: u32) -> Self {
        Self::new(
            "version",
            PROTOCOL_ERROR,
            format!("version {VERSION} is spoken here, not {theirs}: say hello with it"),
        )
    }

    /// A frame has a value that no frame can have.
    pub(super) fn malformed(why: &'static str) -> Self {
        Self::new("malformed", PROTOCOL_ERROR, why)
    }

    /// Frames come faster than anybody needs.
    pub(super) fn too_fast() -> Self {
        let why = format!("more than {WORLD_FRAMES_PER_S_MAX} frames a second came for a while: send less");
        Self::new("too_fast", POLICY_VIOLATION, why)
    }

    /// A connection that nobody has registered on in time.
    pub(super) fn too_slow(time: Duration) -> Self {
        let why = format!("nobody registered within {} ms: connect when somebody moves", time.as_millis());
        Self::new("too_slow", POLICY_VIOLATION, why)
    }

    /// What was said is not taken.
    pub(super) fn not_read() -> Self {
        Self::new(
            "not_read",
            POLICY_VIOLATION,
            "what was said has not been read for too long: read faster, or ask for fewer views",
        )
    }

    /// No world can have this name, or none was named.
    pub(super) fn bad_world_name(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new("no_such_world", POLICY_VIOLATION, reason)
    }

    /// Whoever connects may not come in.
    pub(super) fn refused(error: &ApiError) -> Self {
        let (_, code) = error.status_and_code();
        Self::new(code, POLICY_VIOLATION, error.to_string())
    }

    /// Whoever connects has had too much, and may come again.
    pub(super) fn try_later(error: &ApiError) -> Self {
        let (_, code) = error.status_and_code();
        let why = match error {
            // In HTTP the words point to headers, and a frame has none.
            ApiError::RateLimited(_) => "too many connections came from this address: connect again later".to_owned(),
            ApiError::ConnectionsFull => {
                "as many connections are open as this server can hold: connect again later".to_owned()
            }
            error => error.to_string(),
        };
        Self::new(code, TRY_AGAIN_LATER, why)
    }

    /// Too much waits at the world.
    pub(super) fn busy() -> Self {
        Self::new("busy", TRY_AGAIN_LATER, "too many come into this world at once: try again in a moment")
    }
}

impl From<CloseMessage> for Disconnect {
    fn from(farewell: CloseMessage) -> Self {
        Self::ClosedByServer(farewell)
    }
}

impl From<Malformed> for CloseMessage {
    fn from(Malformed(why): Malformed) -> Self {
        Self::new("malformed", PROTOCOL_ERROR, why)
    }
}

impl From<FramingError> for CloseMessage {
    fn from(broken: FramingError) -> Self {
        match broken {
            FramingError::BadLength => {
                Self::malformed("a frame stands behind its length as a varint of at most 5 bytes")
            }
            FramingError::Empty => Self::malformed("a frame without a byte says nothing"),
            FramingError::TooLong { bytes } => {
                let why = format!(
                    "a frame of {bytes} bytes: a hello has at most {WORLD_HELLO_BYTES_MAX}, others {WORLD_FRAME_BYTES_MAX}"
                );
                Self::new("oversized", MESSAGE_TOO_BIG, why)
            }
        }
    }
}

impl From<Violation> for CloseMessage {
    fn from(violation: Violation) -> Self {
        match violation {
            Violation::Protocol(why) => Self::malformed(why),
            Violation::NotText => Self::new("malformed", INVALID_PAYLOAD, "a text is not UTF-8"),
            Violation::TooLong => {
                Self::new("oversized", MESSAGE_TOO_BIG, format!("a message has at most {WORLD_FRAME_BYTES_MAX} bytes"))
            }
        }
    }
}

impl From<CloseReason> for CloseMessage {
    fn from(ending: CloseReason) -> Self {
        match ending {
            CloseReason::WorldMoved => {
                Self::new("world_moved", SERVICE_RESTART, "the world is not here any more: connect again")
            }
            CloseReason::Unloaded => Self::new(
                "world_unloaded",
                TRY_AGAIN_LATER,
                "this server needed the room for another world, as this one was silent or your address held the most: connect again",
            ),
            CloseReason::Draining => Self::new("draining", SERVICE_RESTART, "this server is leaving: connect again"),
            CloseReason::Over => Self::from(VisitError::Over),
            CloseReason::Replaced => {
                Self::new("replaced", POLICY_VIOLATION, "this mover was taken up on another connection")
            }
            CloseReason::Gone => {
                Self::new("unknown_mover", POLICY_VIOLATION, "there is no such mover any more: register again")
            }
            CloseReason::Broken => {
                Self::new("broken", INTERNAL_ERROR, "this world broke, by a defect of the server: its log says more")
            }
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
            VisitError::Broken => Self::new("broken", INTERNAL_ERROR, reason),
        }
    }
}
