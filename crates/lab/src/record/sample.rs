//! One row of what happened: the four moments of an exchange, and how it ended. Refuses to know histograms and
//! files.

use std::fmt::{self, Display, Formatter};
use std::io::Write as _;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// One arrival's journey, or one step of it. Moments count from the start of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The arrival's place in its leg.
    pub index: u64,
    /// The journey.
    pub journey: usize,
    /// The step; none for the journey as a whole.
    pub step: Option<usize>,
    /// When it was due: by the plan, or, for a later step, at the end of the step before.
    pub intended: Duration,
    /// When the first byte of the request was handed over.
    pub sent: Duration,
    /// When the head of the answer had come, if one came.
    pub first_byte: Option<Duration>,
    /// When all was over.
    pub done: Duration,
    /// How much of the wait before `sent` was the lab's own doing: an arrival that waits for a free place in
    /// flight waits for the target.
    pub lag: Duration,
    /// How much of the time from `intended` to `done` was the lab's own doing: it was sent late or behind a pause of the
    /// lab, or its answer was there before the lab looked.
    pub generator_delay: Duration,
    /// The same for the time from `sent` to `done`.
    pub generator_delay_service: Duration,
    /// Repeats after tries that got no answer.
    pub retries: u64,
    /// How it ended.
    pub class: Class,
    /// Whether its answer was waited for: how long it took says nothing about speed.
    pub is_long_poll: bool,
    /// How late the answer came after what it tells of, where it tells of anything.
    pub wake_delay: Option<Duration>,
    /// How much of that was the lab's own doing.
    pub generator_delay_wake: Duration,
}

impl Sample {
    /// Appends its row of samples.csv.
    pub fn write_row(&self, part: u32, rows: &mut Vec<u8>) {
        let us = |moment: Duration| moment.as_micros();
        // Writing into memory does not fail.
        let _ = writeln!(
            rows,
            "{part},{},{},{},{},{},{},{},{},{},{}",
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

/// How an exchange ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// As was hoped for.
    Ok,
    /// Refused politely, as the scenario said it might be.
    Denied,
    /// Otherwise.
    Error(ErrorKind),
}

/// Why there was no good answer. Closed, so that reports can group without comparing sentences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ErrorKind {
    /// No connection.
    Connect,
    /// The other side closed the connection in order, before the first byte of an answer.
    Closed,
    /// The connection was reset, or broke otherwise.
    Reset,
    /// The other side closed the connection in the middle of an answer.
    Truncated,
    /// The time was over.
    Timeout(Awaited),
    /// A longer answer than the lab reads.
    PictureError,
    /// A status that is neither expected nor a denial.
    Status(u16),
    /// Bytes that are no answer in HTTP.
    Malformed,
    /// A body whose chunks are framed wrongly.
    BadChunk,
    /// Bytes behind the end of an answer, as its head states it.
    ExcessBytes,
    /// An answer that does not hold what the scenario keeps from it.
    Answer,
    /// An answer that leaves something out of the sequence that it continues, or says something twice.
    Sequence,
    /// The request could not be put together.
    Request,
    /// More kinds than are told apart.
    Other,
}

/// What had not happened when the time was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Awaited {
    /// A connection.
    Connect,
    /// The end of the TLS handshake.
    Tls,
    /// The first byte of the answer.
    FirstByte,
    /// The rest of the answer.
    Body,
}

impl Display for ErrorKind {
    /// The word that stands in records.
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
            Self::PictureError => "too_large",
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
    /// Whether no whole answer came at all, so that a repeat with the same key is right.
    #[must_use]
    pub fn is_transport(self) -> bool {
        matches!(self, Self::Connect | Self::Closed | Self::Reset | Self::Truncated | Self::Timeout(_))
    }
}

impl Display for Class {
    /// The word that stands in records.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ok => f.write_str("ok"),
            Self::Denied => f.write_str("denied"),
            Self::Error(trouble) => trouble.fmt(f),
        }
    }
}
