//! Compares what a store has of a season with what follows from its results: to the last bit.

use super::entry::{EntryRecord, Meeting, MeetingCounts, RatedGame, SeatCounts};
use super::rating::RatingChanges;
use crate::competitions::{CompetitionResult, CompetitionRow};
use crate::ids::BotId;
use std::collections::BTreeMap;

/// Results of a season, applied from its beginning. Keeps entries, meetings and seats in memory, of games only those of the last portion.
#[derive(Debug, Default)]
pub struct Recomputation {
    changes: RatingChanges,
}

/// What is stored of a season that results change again and again, and its ladder: all as of one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredSeason {
    pub row: CompetitionRow,
    pub season: u32,
    /// In the order of the bots.
    pub records: Vec<(BotId, EntryRecord)>,
    /// In the order of bot and opponent.
    pub meetings: Vec<Meeting>,
    pub seats: Vec<(u8, SeatCounts)>,
}

/// Rows that are not as they must be, as they must be.
#[derive(Clone, Debug, PartialEq)]
pub struct Differences<T> {
    pub wrong: Vec<T>,
    /// How many rows were compared.
    pub compared: u64,
}

impl<T> Default for Differences<T> {
    fn default() -> Self {
        Self { wrong: Vec::new(), compared: 0 }
    }
}

impl<T> Differences<T> {
    /// Compares a stored row, or its absence.
    fn compare(&mut self, is_same: bool, must_be: impl FnOnce() -> T) {
        self.compared += 1;
        if !is_same {
            self.wrong.push(must_be());
        }
    }
}

impl Recomputation {
    /// Applies the next results. Their games, as they must be stored.
    pub fn apply(&mut self, results: &[CompetitionResult]) -> Vec<RatedGame> {
        results.iter().for_each(|result| self.changes.apply(result));
        std::mem::take(&mut self.changes.games)
    }

    /// Results that rated.
    #[must_use]
    pub fn rated(&self) -> u64 {
        self.changes.rated
    }

    /// Takes each stored record, in any order and once; then those that are missing.
    #[must_use]
    pub fn records(&self, stored: impl IntoIterator<Item = (BotId, EntryRecord)>) -> Differences<(BotId, EntryRecord)> {
        let mut missing = self.changes.records.clone();
        let mut differences = Differences::default();
        for (bot, stored) in stored {
            // An entry without a rated game is as it was made.
            let must_be = missing.remove(&bot).unwrap_or_default();
            differences.compare(stored.is_identical(&must_be), || (bot, must_be));
        }
        missing.into_iter().for_each(|row| differences.compare(false, || row));
        differences
    }

    #[must_use]
    pub fn meetings(&self, stored: impl IntoIterator<Item = Meeting>) -> Differences<Meeting> {
        let mut missing = self.changes.meetings.clone();
        let mut differences = Differences::default();
        for Meeting { bot, opponent, counts } in stored {
            let must_be: MeetingCounts = missing.remove(&(bot, opponent)).unwrap_or_default();
            differences.compare(counts == must_be, || Meeting { bot, opponent, counts: must_be });
        }
        for ((bot, opponent), counts) in missing {
            differences.compare(false, || Meeting { bot, opponent, counts });
        }
        differences
    }

    #[must_use]
    pub fn seats(&self, stored: &[(u8, SeatCounts)]) -> Differences<(u8, SeatCounts)> {
        let mut differences = Differences::default();
        let count =
            self.changes.seats.len().max(stored.iter().map(|(seat, _)| usize::from(*seat) + 1).max().unwrap_or(0));
        for seat in 0..count {
            let must_be = self.changes.seats.get(seat).copied().unwrap_or_default();
            let have = stored.iter().find(|(of, _)| usize::from(*of) == seat).map(|(_, counts)| *counts);
            differences.compare(have.unwrap_or_default() == must_be, || (seat as u8, must_be));
        }
        differences
    }
}

/// Compares the games of a portion of results: those that are wrong or missing as they must be, and number and seat of those that no
/// result has.
#[must_use]
pub fn compare_games(must_be: &[RatedGame], stored: &[RatedGame]) -> (Differences<RatedGame>, Vec<(u64, u8)>) {
    let key = |game: &RatedGame| (game.number, game.seat);
    let mut left: BTreeMap<(u64, u8), &RatedGame> = stored.iter().map(|game| (key(game), game)).collect();
    let mut differences = Differences::default();
    for game in must_be {
        let is_same = left.remove(&key(game)).is_some_and(|have| have.is_identical(game));
        differences.compare(is_same, || game.clone());
    }
    (differences, left.into_keys().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::competitions::{ResultSummary, SeatSummary};
    use crate::ids::MatchId;
    use crate::matches::lifecycle::MatchState;
    use crate::time::UnixMs;

    fn result(number: u64, bots: [u128; 2]) -> CompetitionResult {
        let seat = |(bot, place): (u128, u8)| SeatSummary {
            bot: BotId(bot),
            place,
            cause: None,
            food_eaten: 2,
            is_silent: false,
        };
        CompetitionResult {
            number,
            match_id: MatchId(number.into()),
            key: 0,
            ended_at: UnixMs(number as i64),
            ending: MatchState::Finished,
            summary: ResultSummary { seats: bots.into_iter().zip(1..).map(seat).collect(), ..ResultSummary::default() },
        }
    }

    /// What a store would have of these results.
    fn stored(results: &[CompetitionResult]) -> RatingChanges {
        let mut changes = RatingChanges::default();
        results.iter().for_each(|result| changes.apply(result));
        changes
    }

    #[track_caller]
    fn check(break_it: impl FnOnce(&mut RatingChanges), want: [usize; 5]) {
        let results = [result(1, [1, 2]), result(2, [2, 3]), result(3, [3, 1])];
        let mut stored = stored(&results);
        break_it(&mut stored);
        let mut recomputation = Recomputation::default();
        let games = recomputation.apply(&results);
        let (games, removed) = compare_games(&games, &stored.games);
        let records = recomputation.records(stored.records.clone());
        let meetings = recomputation.meetings(stored.meeting_rows().collect::<Vec<_>>());
        let seats: Vec<(u8, SeatCounts)> = (0..).zip(stored.seats.iter().copied()).collect();
        let seats = recomputation.seats(&seats);
        let wrong = [records.wrong.len(), games.wrong.len(), removed.len(), meetings.wrong.len(), seats.wrong.len()];
        assert_eq!(wrong, want);
    }

    #[test]
    fn every_bit_is_compared() {
        check(|_| (), [0; 5]);
        check(
            |stored| {
                let rating = &mut stored.records.get_mut(&BotId(1)).unwrap().rating;
                rating.mu = f64::from_bits(rating.mu.to_bits() + 1);
            },
            [1, 0, 0, 0, 0],
        );
        check(|stored| stored.records.get_mut(&BotId(2)).unwrap().seats[0] += 1, [1, 0, 0, 0, 0]);
        check(
            |stored| {
                let _ = stored.records.remove(&BotId(3));
            },
            [1, 0, 0, 0, 0],
        );
        check(
            |stored| {
                let _ = stored.records.insert(BotId(9), EntryRecord::default());
            },
            [0; 5],
        );
        check(
            |stored| {
                let _ = stored.records.insert(BotId(9), EntryRecord { games: 1, ..EntryRecord::default() });
            },
            [1, 0, 0, 0, 0],
        );
        check(|stored| stored.games[4].after.sigma *= 0.5, [0, 1, 0, 0, 0]);
        check(
            |stored| {
                let _ = stored.games.pop();
            },
            [0, 1, 0, 0, 0],
        );
        check(|stored| stored.games[0].number = 77, [0, 1, 1, 0, 0]);
        check(|stored| stored.meetings.get_mut(&(BotId(1), BotId(2))).unwrap().ties += 1, [0, 0, 0, 1, 0]);
        check(
            |stored| {
                let _ = stored.meetings.remove(&(BotId(1), BotId(2)));
            },
            [0, 0, 0, 1, 0],
        );
        check(|stored| stored.seats[1].places += 1, [0, 0, 0, 0, 1]);
        check(
            |stored| {
                let _ = stored.seats.pop();
            },
            [0, 0, 0, 0, 1],
        );
        check(|stored| stored.seats.push(SeatCounts { games: 1, ..SeatCounts::default() }), [0, 0, 0, 0, 1]);
    }
}
