//! Commands to a store about competitions.

use super::{CreateMatches, Idempotency};
use crate::competitions::{CompetitionRow, CompetitionStatus};
use crate::ids::{AccountId, CompetitionId};
use crate::matches::spec::MatchSpec;
use crate::time::UnixMs;
use std::time::Duration;

/// One thing to do about a competition.
#[derive(Clone, Debug, PartialEq)]
pub enum CompetitionCommand {
    /// Make a competition. → `Done` | `Replayed` and `KeyReused` (its key was used before) | `Duplicate` (the id is known) |
    /// `LimitReached` (competitions of this kind and account that have not ended) | `NotFound` (no such account)
    Create {
        row: CompetitionRow,
        /// Competitions of this kind that the account may have at once.
        live_max: usize,
        /// A key of the account's that stands for this request.
        idempotency: Option<Idempotency>,
    },
    /// Move a competition on: all of it or nothing. → `Done` | `NotFound` | `VersionConflict` (another writer came first: the
    /// outcome has the version that is there)
    Advance(Advance),
    /// Put matches of a running competition into the queue, and change nothing else of it: results may be applied meanwhile. → `Done` |
    /// `NotFound` (no such competition that is running) | `VersionConflict` (others have created matches meanwhile)
    AddMatches(AddMatches),
    /// Delete duels and tournaments that ended longer ago than this and have no match under way, oldest first and at most `max`, with
    /// their logs and results. Ladders stay: their ratings follow from their results. → `Retired`
    Retire { now: UnixMs, keep_for: Duration, max: usize },
}

/// Matches for a competition whose matches do not follow from its results alone.
#[derive(Clone, Debug, PartialEq)]
pub struct AddMatches {
    pub id: CompetitionId,
    /// In whose share of the queue they wait, and who may call them off.
    pub account: AccountId,
    /// Matches that were ever created for it before these.
    pub expected_matches_created: u64,
    /// Each with this competition as its origin.
    pub matches: Vec<MatchSpec>,
    pub now: UnixMs,
}

impl AddMatches {
    /// Their creation.
    #[must_use]
    pub fn creation(&self) -> CreateMatches {
        CreateMatches { account: self.account, idempotency: None, matches: self.matches.clone(), now: self.now }
    }
}

/// What follows from results, or from time, or from a request of the owner.
#[derive(Clone, Debug, PartialEq)]
pub struct Advance {
    pub id: CompetitionId,
    /// Its owner.
    pub account: AccountId,
    /// Entries that its log has before these.
    pub expected_version: u32,
    /// The number of the last result that was applied before.
    pub expected_results_applied: u64,
    /// [`CompetitionRow::repairs`] when this was decided.
    pub expected_repairs: u64,
    /// Entries for its log, in the bytes of its kind. Without any, concurrent writers at the same version are told apart by
    /// the results alone.
    pub entries: Vec<Vec<u8>>,
    /// The number of the last result that is applied with this.
    pub results_applied: u64,
    pub status: CompetitionStatus,
    /// When it wants to be advanced next without a result.
    pub due_at: Option<UnixMs>,
    /// Matches for the queue, each with this competition as its origin.
    pub matches: Vec<MatchSpec>,
    pub now: UnixMs,
}

impl Advance {
    /// One that changes nothing yet.
    #[must_use]
    pub fn of(row: &CompetitionRow, now: UnixMs) -> Self {
        Self {
            id: row.id,
            account: row.account,
            expected_version: row.version,
            expected_results_applied: row.results_applied,
            expected_repairs: row.repairs,
            entries: Vec::new(),
            results_applied: row.results_applied,
            status: row.status,
            due_at: row.due_at,
            matches: Vec::new(),
            now,
        }
    }

    /// The creation of its matches, in the name of its competition's owner.
    #[must_use]
    pub fn creation(&self) -> CreateMatches {
        CreateMatches { account: self.account, idempotency: None, matches: self.matches.clone(), now: self.now }
    }
}
