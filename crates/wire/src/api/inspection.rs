//! The inspection of one game: what an operator needs to see why a match makes no progress.

use crate::time::Timestamp;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A game as an operator sees it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Inspection {
    /// Its id.
    pub id: String,
    /// `waiting`, `running`, `finished`, `failed` or `cancelled`.
    pub status: String,
    /// The account that created it.
    pub account_id: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its status last changed.
    pub updated_at: Timestamp,
    /// When it (last) entered the queue.
    pub enqueued_at: Timestamp,
    /// When the first /start was sent.
    #[schema(required)]
    pub started_at: Option<Timestamp>,
    /// When it finished, failed or was cancelled.
    #[schema(required)]
    pub finished_at: Option<Timestamp>,
    /// Turns played.
    pub turns: u32,
    /// Moves, over all snakes, that came late or never.
    pub late_moves: u32,
    /// Why it failed.
    #[schema(required)]
    pub failure: Option<String>,
    /// Who tried, and how often.
    pub attempts: InspectionAttempts,
    /// The worker that runs it now, if one does.
    #[schema(required)]
    pub worker: Option<InspectionWorker>,
    /// The node that runs it or ran it last, as `host:port`; null before it was first taken up.
    #[schema(required)]
    pub node: Option<String>,
    /// The end of its log.
    pub log: InspectionLog,
}

/// Who tried to run a game, and how often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct InspectionAttempts {
    /// The fencing token of the last claim; 0 before the first.
    pub epoch: u32,
    /// Claims since it last got any further.
    pub charged: u32,
}

/// The worker that runs a game.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct InspectionWorker {
    /// Its id: a new one for each start of a process.
    pub id: String,
    /// Where it can be reached; null when its lease has ended and the game waits to be taken over.
    #[schema(required)]
    pub address: Option<String>,
}

/// The end of a game's log.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct InspectionLog {
    /// Entries in the whole log.
    pub version: u32,
    /// The last entries, oldest first.
    pub tail: Vec<InspectionLogEntry>,
}

/// One entry of a game's log.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct InspectionLogEntry {
    /// Its place in the log, from 0.
    pub version: u32,
    /// Turns played once it counts.
    pub turns: u32,
    /// Late moves so far once it counts.
    pub late_moves: u32,
    /// What it says, or why it cannot be read.
    #[schema(value_type = Object)]
    pub entry: Value,
}
