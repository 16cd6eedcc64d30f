//! The health of snakes: checks, history, latency by hour of the day, and secrets for signed calls.

use crate::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// What a check of a snake found.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct SnakeCheck {
    pub snake_id: String,
    /// The URL that was called.
    pub url: String,
    pub checked_at: Timestamp,
    /// Whether the snake could play: whether it answered the call for a move, in time and with a move.
    pub is_passed: bool,
    /// Why not.
    pub fault: Option<CallFault>,
    /// The calls that were made, in their order. After the first one whose failure says that the others would fail alike, there are no more.
    pub calls: Vec<CheckCall>,
    /// How long a move took, on a new and on an open connection; none if the call for a move was not answered with one.
    pub move_times: Option<MoveTimes>,
    /// The health of the snake after this check.
    pub health: SnakeHealth,
}

/// What was wrong with a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct CallFault {
    /// A stable name.
    #[schema(example = "html")]
    pub code: String,
    /// What was wrong.
    pub problem: String,
    /// What the snake's owner can do.
    pub remedy: String,
    /// More about it, where there is more.
    pub detail: Option<String>,
}

/// One call of a check.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct CheckCall {
    /// `index`, `start`, `move` or `end`.
    pub call: String,
    pub request: CheckRequest,
    /// What came back, as far as it was HTTP.
    pub response: Option<CheckResponse>,
    /// What was wrong; none: nothing.
    pub fault: Option<CallFault>,
    /// The class that such an answer has in a game's log.
    #[schema(example = "valid")]
    pub class: String,
    pub times_ms: CallTimes,
}

/// What was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct CheckRequest {
    #[schema(example = "POST")]
    pub method: String,
    pub url: String,
    /// The JSON body as text; empty for GET.
    pub body: String,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct CheckResponse {
    pub status: u16,
    /// The headers that explain an answer, such as content-type and location.
    pub headers: Vec<CheckHeader>,
    /// The first 256 bytes of the body as text. What is no text is replaced.
    pub body_start: String,
    /// Bytes of the body that were received.
    pub body_bytes: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct CheckHeader {
    pub name: String,
    pub value: String,
}

/// How long the snake took for a move, in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct MoveTimes {
    /// The first call, with what it takes to open a connection: as for the first move of a game.
    pub first_call_ms: f64,
    /// The same call on the connection that is open now: as for all other moves of a game. As many as fit into two seconds, at most eight.
    pub open_connection_ms: Vec<f64>,
    /// The median of those.
    pub open_connection_median_ms: Option<f64>,
    /// Whether the snake closed the connection: a game opens a new one for each move then.
    pub is_connection_closed: bool,
    /// What was wrong with a repeated call, if anything was.
    pub fault: Option<CallFault>,
}

/// How long the steps of a call took, in milliseconds; none for a step that was not finished. Each call of a check opens a connection of its
/// own; in games connections are kept, as for `move_times`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct CallTimes {
    /// To resolve the host's name.
    pub dns: Option<f64>,
    /// To connect.
    pub connect: Option<f64>,
    /// The TLS handshake; only of https.
    pub tls: Option<f64>,
    /// From the request to the first byte of the answer.
    pub first_byte: Option<f64>,
    /// All of it.
    pub total: f64,
}

/// The health of a snake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct SnakeHealth {
    /// `untested`, `healthy`, `failing` or `paused`. A paused snake gets no games on ladders.
    #[schema(example = "healthy")]
    pub status: String,
    /// When the status last changed; none while it is untested.
    pub since: Option<Timestamp>,
    /// Why it is failing or paused.
    pub reason: Option<CallFault>,
    /// Failures in a row: three pause a snake.
    pub failures_in_a_row: u8,
    /// Successes in a row: two bring a paused snake back.
    pub successes_in_a_row: u8,
    /// When it is probed next; none: only when its owner requests a check.
    pub next_probe_at: Option<Timestamp>,
    /// The latest evidence, newest first.
    pub records: Vec<SnakeHealthRecord>,
}

/// One piece of evidence about a snake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct SnakeHealthRecord {
    pub at: Timestamp,
    /// `sweep` (a regular probe), `request` (a check) or `match` (a game in which it gave no move at all).
    pub source: String,
    pub is_passed: bool,
    /// The code of what was wrong.
    pub fault: Option<String>,
    /// How long the call for a move took, in milliseconds.
    pub took_ms: u16,
}

/// How a snake answered calls for moves in the last two weeks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct SnakeLatency {
    /// The first day that is counted.
    pub since: Timestamp,
    /// One for each hour of the day, from 0 to 23 (UTC), all days together.
    pub hours: Vec<HourLatency>,
}

/// How a snake answered in one hour of the day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct HourLatency {
    /// 0 to 23, UTC.
    pub hour: u8,
    /// Calls for moves.
    pub calls: u64,
    /// The median of the latencies in milliseconds; a late answer counts as its timeout. At most a sixteenth too large.
    pub p50_ms: Option<u32>,
    pub p95_ms: Option<u32>,
    pub p99_ms: Option<u32>,
    /// Calls by the class of their answer; classes without any are left out.
    pub classes: Vec<ClassCount>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ClassCount {
    #[schema(example = "late")]
    pub class: String,
    pub calls: u32,
}

/// A new secret. It is shown this once.
#[derive(Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct SigningSecret {
    /// The key of the signatures: this text, as it stands.
    #[schema(example = "bsec_0123456789abcdef")]
    pub secret: String,
    pub created_at: Timestamp,
    /// Until then calls are signed with the secret before, too; none: there is none before.
    pub previous_until: Option<Timestamp>,
}
