//! Seasons. The log of a ladder has one entry for each season that has ended, and nothing else: its length tells which season is under way.
//!
//! A season is a run of results: it begins behind the last result of the season before, and ends with the result that its log entry names.
//! A result counts for the season in which its number lies. A season is ended by the first result that ended at or after its time, which
//! belongs to the next one already; where none comes, by the time itself. At its end every active entry begins the next season with the
//! rating of a bot that has not played; the entries of the season that has ended are left as they are: they are its archive.

use crate::competitions::{CompetitionResult, CompetitionRow};
use crate::pack::{DecodeError, decode_versioned, encode_versioned, packed};
use crate::time::UnixMs;

const FORMAT: u8 = 1;

/// A season that has ended: an entry of a ladder's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeasonEnd {
    /// From 1.
    pub season: u32,
    /// The number of its last result; that of the season before, if it has none.
    pub last_result: u64,
    pub ended_at: UnixMs,
    /// Whether it ended with the ladder itself: no season follows.
    pub is_last: bool,
}
packed!(SeasonEnd { season, last_result, ended_at, is_last });

impl SeasonEnd {
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encode_versioned(FORMAT, self)
    }

    /// # Errors
    /// [`DecodeError`], saying what is wrong.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        decode_versioned(FORMAT, bytes)
    }
}

/// The season for which the next result counts. That of a ladder that has ended is its last.
#[must_use]
pub fn current_season(row: &CompetitionRow) -> u32 {
    if row.status.is_ended() { row.version.max(1) } else { row.version.saturating_add(1) }
}

/// How many of these results, the next ones of a ladder, still belong to the season that ends at `due_at`.
#[must_use]
pub fn results_within(results: &[CompetitionResult], due_at: Option<UnixMs>) -> usize {
    let Some(due_at) = due_at else { return results.len() };
    results.iter().position(|result| result.ended_at >= due_at).unwrap_or(results.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::competitions::{CompetitionKind, CompetitionStatus, ResultSummary};
    use crate::ids::{AccountId, CompetitionId, MatchId};
    use crate::matches::lifecycle::MatchState;

    #[track_caller]
    fn check(ends: &[i64], due_at: Option<i64>, want: usize) {
        let result = |(number, ended_at): (u64, &i64)| CompetitionResult {
            number,
            match_id: MatchId(1),
            key: 0,
            ended_at: UnixMs(*ended_at),
            ending: MatchState::Finished,
            summary: ResultSummary::default(),
        };
        let results: Vec<_> = (1..).zip(ends).map(result).collect();
        assert_eq!(results_within(&results, due_at.map(UnixMs)), want);
    }

    #[test]
    fn the_first_late_result_ends_a_season() {
        check(&[], Some(5), 0);
        check(&[1, 9, 3], None, 3);
        check(&[1, 2, 3], Some(5), 3);
        check(&[1, 4, 5, 4], Some(5), 2);
        check(&[5], Some(5), 0);
    }

    #[test]
    fn the_log_tells_the_season() {
        let (id, account) = (CompetitionId(1), AccountId(1));
        let mut row = CompetitionRow::new(id, CompetitionKind::Ladder, account, "l".to_owned(), Vec::new(), UnixMs(0));
        row.status = CompetitionStatus::Running;
        assert_eq!(current_season(&row), 1);
        row.version = 1;
        assert_eq!(current_season(&row), 2);
        (row.version, row.status) = (2, CompetitionStatus::Finished);
        assert_eq!(current_season(&row), 2);
        let end = SeasonEnd { season: 2, last_result: 70_000, ended_at: UnixMs(5), is_last: true };
        assert_eq!(SeasonEnd::decode(&end.encode()), Ok(end));
    }
}
