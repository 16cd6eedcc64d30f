//! Which results rate whom, and that applying them in portions is applying them at once.

use super::*;
use crate::competitions::{ResultSummary, SeatSummary};
use crate::ids::MatchId;
use crate::matches::lifecycle::MatchState;
use crate::time::UnixMs;
use proptest::collection::vec;
use proptest::prelude::*;

/// A result whose seats are bot and place.
fn result(number: u64, seats: &[(u128, u8)]) -> CompetitionResult {
    let seat = |&(bot, place): &(u128, u8)| SeatSummary {
        bot: BotId(bot),
        place,
        cause: None,
        food_eaten: bot as u32,
        is_silent: false,
    };
    CompetitionResult {
        number,
        match_id: MatchId(number.into()),
        key: number,
        ended_at: UnixMs(number as i64 * 1_000),
        ending: MatchState::Finished,
        summary: ResultSummary { seats: seats.iter().map(seat).collect(), turns: 100, ..ResultSummary::default() },
    }
}

fn applied(results: &[CompetitionResult]) -> RatingChanges {
    let mut changes = RatingChanges::default();
    results.iter().for_each(|result| changes.apply(result));
    changes
}

#[track_caller]
fn check(change: impl FnOnce(&mut CompetitionResult), is_rated: bool) {
    let mut result = result(1, &[(1, 1), (2, 2)]);
    change(&mut result);
    let changes = applied(std::slice::from_ref(&result));
    assert_eq!(changes.rated, u64::from(is_rated));
    assert_eq!(changes.records.is_empty(), !is_rated);
    assert_eq!(RatingChanges::bots_of(&[result]).is_empty(), !is_rated);
}

#[test]
fn only_a_match_that_was_played_without_our_fault_rates() {
    check(|_| (), true);
    check(|result| result.ending = MatchState::Failed, false);
    check(|result| result.ending = MatchState::Cancelled, false);
    check(|result| result.summary.is_server_fault = true, false);
    check(|result| result.summary.is_draw = true, true);
    check(|result| result.summary.seats[1].is_silent = true, false);
    check(|result| result.summary.seats[1].bot = BotId(1), false);
    check(|result| result.summary.seats.truncate(1), false);
    check(|result| result.summary.seats.clear(), false);
}

#[test]
fn a_game_is_counted_everywhere_once() {
    let changes = applied(&[result(7, &[(1, 1), (2, 1), (3, 3)])]);
    let [first, second, third] = [1, 2, 3].map(|bot| changes.records[&BotId(bot)].clone());
    assert!(first.rating.is_identical(second.rating), "a tie of equals");
    assert!(third.rating.mu < Rating::START.mu && first.rating.mu > Rating::START.mu);
    assert_eq!((first.games, first.first_places, first.food_eaten), (1, 1, 1));
    assert_eq!((third.games, third.first_places, third.food_eaten), (1, 0, 3));
    assert_eq!([first.seats, second.seats, third.seats], [vec![1, 0, 0], vec![0, 1, 0], vec![0, 0, 1]]);
    let counts = |bot, opponent| changes.meetings[&(BotId(bot), BotId(opponent))];
    assert_eq!(counts(1, 2), MeetingCounts { wins: 0, losses: 0, ties: 1 });
    assert_eq!(counts(1, 3), MeetingCounts { wins: 1, losses: 0, ties: 0 });
    assert_eq!(counts(3, 1), MeetingCounts { wins: 0, losses: 1, ties: 0 });
    assert_eq!(changes.meetings.len(), 6);
    assert_eq!(changes.seats[2], SeatCounts { games: 1, first_places: 0, places: 3 });
    let games: Vec<_> = changes.games.iter().map(|game| (game.number, game.seat, game.place, game.players)).collect();
    assert_eq!(games, [(7, 0, 1, 3), (7, 1, 1, 3), (7, 2, 3, 3)]);
}

#[test]
fn a_rank_needs_ten_games() {
    let results: Vec<_> = (1..=10).map(|number| result(number, &[(1, 1), (2, 2)])).collect();
    assert!(!applied(&results[..9]).records[&BotId(1)].is_ranked());
    assert!(applied(&results).records[&BotId(1)].is_ranked());
}

fn results() -> impl Strategy<Value = Vec<CompetitionResult>> {
    let seats = vec((1u128..=12, 1u8..=4), 2..=4);
    vec(seats, 1..40).prop_map(|games| games.iter().zip(1..).map(|(seats, number)| result(number, seats)).collect())
}

proptest! {
    /// A restart after any result changes nothing: the rest is applied to what was saved.
    #[test]
    fn portions_give_the_same_bits((results, cut) in (results(), 0usize..40)) {
        let at_once = applied(&results);
        let (before, after) = results.split_at(cut.min(results.len()));
        let before = applied(before);
        let mut rest = RatingChanges::from_records(before.records.clone());
        after.iter().for_each(|result| rest.apply(result));
        for (bot, record) in &at_once.records {
            prop_assert!(record.is_identical(&rest.records[bot]));
        }
        let games: Vec<_> = before.games.iter().chain(&rest.games).cloned().collect();
        prop_assert_eq!(games, at_once.games);
        let mut meetings = before.meetings;
        for (pair, counts) in rest.meetings {
            meetings.entry(pair).or_default().add(counts);
        }
        prop_assert_eq!(meetings, at_once.meetings);
    }

    #[test]
    fn sums_agree(results in results()) {
        let changes = applied(&results);
        let places: usize = changes.records.values().map(|record| record.games as usize).sum();
        prop_assert_eq!(places, changes.games.len());
        let by_seat: u64 = changes.seats.iter().map(|seat| seat.games).sum();
        prop_assert_eq!(by_seat as usize, places);
        for record in changes.records.values() {
            prop_assert_eq!(record.seats.iter().sum::<u32>(), record.games);
        }
        for (&(bot, opponent), counts) in &changes.meetings {
            let other = changes.meetings[&(opponent, bot)];
            prop_assert_eq!((counts.wins, counts.losses, counts.ties), (other.losses, other.wins, other.ties));
        }
    }
}
