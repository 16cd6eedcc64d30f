//! Why a bot's response is missing, and how that counts as an answer.

use engine::matches::entry::AnswerClass;

/// Why there is no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// No connection, or it broke.
    Unreachable,
    /// All addresses of the host are ones that must not be called.
    Forbidden,
    /// More bytes than are read.
    Oversized,
    /// Not HTTP.
    Malformed,
}

impl Failure {
    pub(super) fn class(&self) -> AnswerClass {
        match self {
            Self::Unreachable => AnswerClass::Unreachable,
            Self::Forbidden => AnswerClass::Forbidden,
            Self::Oversized => AnswerClass::Oversized,
            Self::Malformed => AnswerClass::Malformed,
        }
    }
}
