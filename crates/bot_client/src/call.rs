//! What is sent to a bot.

use super::signing::CallSigner;
use bytes::Bytes;
use engine::ids::AccountId;
use std::time::Duration;
use telemetry::Span;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Webhook {
    /// POST /start: sent once.
    Start,
    /// POST /move: sent again if the bot may not have received it.
    Move,
    /// POST /end: sent once.
    End,
}

impl Webhook {
    /// The last segment of the URL.
    #[must_use]
    pub fn segment(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Move => "move",
            Self::End => "end",
        }
    }
}

#[derive(Debug)]
pub struct BotCall {
    /// The bot's base URL.
    pub url: String,
    pub webhook: Webhook,
    /// The JSON body.
    pub body: Bytes,
    /// From sending to the end of the answer.
    pub timeout: Duration,
    /// Signs the call, if the bot's owner wants that.
    pub signer: Option<CallSigner>,
    /// The account on whose behalf it is made.
    pub account: AccountId,
    /// Its span, where its match is traced.
    pub span: Option<Span>,
}

/// The calls of a probe, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProbeStep {
    /// GET /
    Index,
    Start,
    Move,
    End,
}

impl ProbeStep {
    pub const ALL: [Self; 4] = [Self::Index, Self::Start, Self::Move, Self::End];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::Start => "start",
            Self::Move => "move",
            Self::End => "end",
        }
    }
}
