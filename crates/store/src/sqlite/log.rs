//! Appends to the logs of matches. The statement carries the fences.

use super::Batch;
use crate::columns::match_entry;
use crate::contract::StoreError;
use crate::semantics;
use crate::sql::{Dialect as _, Session as _, values};
use engine::commands::{MatchAppend, Outcome};
use engine::rows::MatchLogRow;

/// Adds an entry if its match is this writer's and its log ends just before it: the fences and the write in one
/// statement. The end of the log is found by `EXISTS` and by the key, because a scalar subquery over it makes SQLite
/// compile the statement anew each time it runs (7 µs a row became 29).
pub(super) const APPEND: &str = "
    INSERT INTO match_log (match_id, version, turns, late_moves, data, checksum)
    SELECT ?1, ?2, ?3, ?4, ?5, ?7 FROM matches
    WHERE id = ?1 AND state = 'running' AND epoch = ?6
      AND (?2 = 0 OR EXISTS (SELECT 1 FROM match_log WHERE match_id = ?1 AND version = ?2 - 1))
    ON CONFLICT (match_id, version) DO NOTHING";

impl Batch<'_> {
    pub(super) fn append(&mut self, append: &MatchAppend) -> Result<Outcome, StoreError> {
        if let Err(refusal) = semantics::check_append(append, append.expected_version) {
            return self.refusal(append, refusal);
        }
        let Some((first, rest)) = append.rows.split_first() else { return self.append_nothing(append) };
        if !self.add(append, first)? {
            return self.refusal(append, Outcome::Fenced);
        }
        for row in rest {
            self.add(append, row)?;
        }
        self.start(append)?;
        Ok(Outcome::Done)
    }

    fn add(&mut self, append: &MatchAppend, row: &MatchLogRow) -> Result<bool, StoreError> {
        let checksum = match_entry(append.id, row.version).checksum(&row.bytes);
        let entry = values![append.id, row.version, row.turns, row.late_moves, &row.bytes, append.epoch, checksum];
        Ok(self.session.run(APPEND, entry)? == 1)
    }

    fn append_nothing(&mut self, append: &MatchAppend) -> Result<Outcome, StoreError> {
        if let Err(refusal) = self.check(append)? {
            return Ok(refusal);
        }
        self.start(append)?;
        Ok(Outcome::Done)
    }

    fn start(&mut self, append: &MatchAppend) -> Result<(), StoreError> {
        if let Some(started_at) = append.started_at {
            self.session.run(
                "UPDATE matches SET started_at = coalesce(started_at, ?2) WHERE id = ?1",
                values![append.id, started_at],
            )?;
        }
        Ok(())
    }

    /// The precise refusal of an append that did not happen.
    fn refusal(&mut self, append: &MatchAppend, otherwise: Outcome) -> Result<Outcome, StoreError> {
        Ok(self.check(append)?.err().unwrap_or(otherwise))
    }

    fn check(&mut self, append: &MatchAppend) -> Result<Result<(), Outcome>, StoreError> {
        let held = self.session.write_fence(append.id)?;
        Ok(held.map_or(Err(Outcome::Fenced), |held| held.check_append(append)))
    }
}
