//! A sample: the times of one exchange, and its result. Does not know histograms and files.

use std::fmt::{self, Display, Formatter, Write as _};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// One arrival's journey, or one step of it. Times count from the start of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The arrival's index in its load.
    pub index: u64,
    pub journey: usize,
    /// The step; none for the journey as a whole.
    pub step: Option<usize>,
    /// When it was due: by the plan, or, for a later step, at the end of the step before.
    pub intended: Duration,
    /// When the first byte of the request was handed to the kernel.
    pub sent: Duration,
    /// When the head of the response was received, if it was.
    pub first_byte: Option<Duration>,
    pub done: Duration,
    /// The generator's own share of the wait before `sent`; an arrival that waits for a slot waits for the target.
    pub lag: Duration,
    /// The generator's own share of the time from `intended` to `done`: it was sent late or behind a pause, or its
    /// response was there before the worker read it.
    pub generator_delay: Duration,
    /// The same for the time from `sent` to `done`.
    pub generator_delay_service: Duration,
    /// Retries after attempts without a response.
    pub retries: u64,
    pub class: Class,
    /// Whether it is a long poll, whose duration says nothing about speed.
    pub is_long_poll: bool,
    /// From the event in the response until it was received, if it has an event.
    pub wake_delay: Option<Duration>,
    /// The generator's own share of that.
    pub generator_delay_wake: Duration,
}

impl Sample {
    pub fn write_row(&self, load_step: u32, rows: &mut String) {
        let us = |moment: Duration| moment.as_micros();
        // Writing into memory does not fail.
        let _ = writeln!(
            rows,
            "{load_step},{},{},{},{},{},{},{},{},{},{}",
            self.index,
            self.journey,
            self.step.map_or_else(String::new, |step| step.to_string()),
            us(self.intended),
            us(self.sent),
            self.first_byte.map_or_else(String::new, |moment| us(moment).to_string()),
            us(self.done),
            us(self.lag),
            self.retries,
            self.class,
        );
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// As expected.
    Ok,
    /// A denial that the scenario allows for.
    Denied,
    Error(ErrorKind),
}

/// Why there is no ok response. A closed enum, so that reports can group without comparing messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ErrorKind {
    Connect,
    /// The peer closed the connection in order, before the first byte of a response.
    Closed,
    Reset,
    /// The peer closed the connection in the middle of a response.
    Truncated,
    Timeout(Awaited),
    /// A longer response than the lab reads.
    TooLarge,
    /// A status that is neither expected nor a denial.
    Status(u16),
    /// Bytes that are no HTTP response.
    Malformed,
    /// A chunked body with faulty framing.
    BadChunk,
    /// Bytes after the end of a response.
    ExcessBytes,
    /// A response without a value that the scenario keeps.
    Answer,
    /// A response that omits or repeats an event of its sequence.
    Sequence,
    /// The request could not be built.
    Request,
    /// More kinds than are kept apart.
    Other,
}

/// What had not happened when the timeout expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Awaited {
    Connect,
    Tls,
    FirstByte,
    /// The rest of the response.
    Body,
}

impl Display for ErrorKind {
    /// The name in records.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let word = match self {
            Self::Connect => "connect",
            Self::Closed => "closed",
            Self::Reset => "reset",
            Self::Truncated => "truncated",
            Self::Timeout(Awaited::Connect) => "timeout_connect",
            Self::Timeout(Awaited::Tls) => "timeout_tls",
            Self::Timeout(Awaited::FirstByte) => "timeout_first_byte",
            Self::Timeout(Awaited::Body) => "timeout_body",
            Self::TooLarge => "too_large",
            Self::Status(status) => return write!(f, "status_{status}"),
            Self::Malformed => "malformed",
            Self::BadChunk => "bad_chunk",
            Self::ExcessBytes => "excess_bytes",
            Self::Answer => "answer",
            Self::Sequence => "sequence",
            Self::Request => "request",
            Self::Other => "other",
        };
        f.write_str(word)
    }
}

impl ErrorKind {
    /// Whether no complete response was received, so that a retry with the same key is right.
    #[must_use]
    pub fn is_transport(self) -> bool {
        matches!(self, Self::Connect | Self::Closed | Self::Reset | Self::Truncated | Self::Timeout(_))
    }
}

impl Display for Class {
    /// The name in records.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ok => f.write_str("ok"),
            Self::Denied => f.write_str("denied"),
            Self::Error(kind) => kind.fmt(f),
        }
    }
}
