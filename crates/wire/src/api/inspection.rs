//! The inspection of one game: what an operator needs to see why a match makes no progress.

use super::games::GameStatus;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A game as an operator sees it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Inspection {
    /// Where it is.
    #[serde(flatten)]
    pub status: GameStatus,
    /// The account that created it.
    pub account_id: String,
    /// Who tried, and how often.
    pub attempts: InspectionAttempts,
    /// The worker that runs it now, if one does.
    #[schema(required)]
    pub worker: Option<InspectionWorker>,
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
