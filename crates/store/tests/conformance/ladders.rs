//! Ladders: entries, ratings that move with the results they rest on, rankings, seasons, invitations.

use crate::fixtures::*;
use engine::commands::{Advance, Command, CompetitionCommand, LadderCommand, Outcome, RateResults, RepairRatings};
use engine::competitions::{
    CompetitionKind, CompetitionResult, CompetitionRow, CompetitionStatus, MatchOrigin, ResultSummary, SeatSummary,
};
use engine::ids::{BotId, CompetitionId, EntryId};
use engine::ladders::entry::{Entrant, LadderEntry, MeetingCounts};
use engine::ladders::ranking::{RankingCursor, RankingFilter, RankingOrder};
use engine::ladders::rating::RatingChanges;
use engine::ladders::season::SeasonEnd;
use engine::limits::LADDER_ENTRIES_PER_ACCOUNT_MAX;
use engine::matches::lifecycle::MatchState;
use engine::matches::spec::MatchSpec;
use engine::ratings::Rating;
use engine::time::UnixMs;
use store::Database;
use store::testing::RecordUnplayed;

pub(crate) const LADDER: CompetitionId = CompetitionId(0xf001);

pub(crate) fn enter(bot: u128, account: u128, now: UnixMs) -> Command {
    let entry = EntryId(0xf100 + bot);
    Command::Ladder(LadderCommand::Enter { ladder: LADDER, entry, bot: bot_id(bot), account: account_id(account), now })
}

fn leave(bot: u128, account: Option<u128>) -> Command {
    Command::Ladder(LadderCommand::Leave { ladder: LADDER, bot: bot_id(bot), account: account.map(account_id) })
}

/// A public bot.
pub(crate) fn public_bot(n: u128, account: u128) -> Command {
    Command::CreateBot(engine::rows::Bot { is_public: true, ..bot(n, account) })
}

/// Result `number` of a match between these bots, by seat with their places.
pub(crate) fn result(number: u64, seats: &[(u128, u8)]) -> CompetitionResult {
    let seat = |&(bot, place): &(u128, u8)| SeatSummary {
        bot: bot_id(bot),
        place,
        cause: None,
        food_eaten: 3,
        is_silent: false,
    };
    CompetitionResult {
        number,
        match_id: match_id(number.into()),
        key: number,
        ended_at: at(number as i64),
        ending: MatchState::Finished,
        summary: ResultSummary { seats: seats.iter().map(seat).collect(), ..ResultSummary::default() },
    }
}

impl StoreFixture {
    fn with_two_accounts(database: &dyn Database) -> Self {
        let mut held = Self::new(database);
        held.assert_outcome(Command::EnsureAccount(account(2)), Outcome::Account(account_id(2)));
        held
    }

    /// The ladder of account 1, running; so many of its matches have ended.
    pub(crate) fn start_ladder(&mut self, is_public: bool, results: u128) {
        let now = at(1);
        let name = "ladder".to_owned();
        let row = CompetitionRow::new(LADDER, CompetitionKind::Ladder, account_id(1), name, vec![1], now);
        let row = CompetitionRow { is_public, status: CompetitionStatus::Running, ..row };
        let create = CompetitionCommand::Create { row: row.clone(), live_max: 3, idempotency: None };
        self.assert_outcome(Command::Competition(create), Outcome::Done);
        self.end_matches(1..=results);
    }

    /// These matches of the ladder are created and end.
    fn end_matches(&mut self, matches: std::ops::RangeInclusive<u128>) {
        self.create_matches(matches.clone());
        matches.for_each(|n| self.assert_outcome(cancel(n, at(3)), Outcome::Done));
    }

    fn create_matches(&mut self, matches: std::ops::RangeInclusive<u128>) {
        let row = self.ladder();
        let origin = |key| Some(MatchOrigin { kind: CompetitionKind::Ladder, competition: LADDER, key });
        let spec_of = |n: u128| MatchSpec { origin: origin(n as u64), ..spec(n) };
        let specs = matches.map(spec_of).collect();
        let advance = Advance { matches: specs, ..Advance::of(&row, at(2)) };
        self.assert_outcome(Command::Competition(CompetitionCommand::Advance(advance)), Outcome::Done);
    }

    fn ladder(&mut self) -> CompetitionRow {
        self.reader.competition(LADDER).unwrap().unwrap()
    }

    pub(crate) fn entry(&mut self, season: u32, bot: u128) -> Option<LadderEntry> {
        self.reader.ladders().ladder_entries_of(LADDER, season, &[bot_id(bot)]).unwrap().pop()
    }

    fn ladders_of(&mut self, bot: u128) -> Vec<(CompetitionId, LadderEntry)> {
        let ladders = self.reader.ladders().ladders_of_bot(bot_id(bot), 9).unwrap();
        ladders.into_iter().map(|(row, entry)| (row.id, entry)).collect()
    }

    /// What these results change, on top of what is stored, and the command that says so.
    fn rate(&mut self, season: u32, results: &[CompetitionResult]) -> (RatingChanges, Command) {
        let bots: Vec<BotId> = RatingChanges::bots_of(results).into_iter().collect();
        let known = self.reader.ladders().ladder_entries_of(LADDER, season, &bots).unwrap();
        let stranger = |bot: &BotId| {
            let is_known = known.iter().any(|entry| entry.entrant.bot == *bot);
            let entrant = Entrant { entry: EntryId(bot.0 << 8), bot: *bot, account: None, name: "gone".to_owned() };
            (!is_known).then_some(entrant)
        };
        let strangers = bots.iter().filter_map(stranger).collect();
        let records = known.iter().map(|entry| (entry.entrant.bot, entry.record.clone())).collect();
        let mut changes = RatingChanges::from_records(records);
        results.iter().for_each(|result| changes.apply(result));
        let row = self.ladder();
        let results_applied = row.results_applied + results.len() as u64;
        let advance = Advance { results_applied, ..Advance::of(&row, at(9)) };
        let rate = RateResults { advance, season, changes: changes.clone(), strangers };
        (changes, Command::Ladder(LadderCommand::Rate(Box::new(rate))))
    }

    pub(crate) fn assert_rated(&mut self, season: u32, results: &[CompetitionResult]) -> RatingChanges {
        let (changes, command) = self.rate(season, results);
        self.assert_outcome(command, Outcome::Done);
        changes
    }

    pub(crate) fn assert_entered(&mut self, bot: u128, account: u128, now: UnixMs) -> LadderEntry {
        match self.commit_one(enter(bot, account, now)) {
            Outcome::LadderEntry(entry) => *entry,
            other => panic!("{other:?}"),
        }
    }

    fn ranking(&mut self, filter: &RankingFilter) -> Vec<u128> {
        let entries = self.reader.ladders().ladder_ranking(filter).unwrap();
        entries.iter().map(|entry| entry.entrant.bot.0 - 0xb000).collect()
    }
}

pub(crate) fn a_bot_enters_once(database: &dyn Database) {
    let mut held = StoreFixture::with_two_accounts(database);
    held.start_ladder(true, 0);
    held.assert_outcome(public_bot(5, 2), Outcome::Done);
    let first = held.assert_entered(5, 2, at(10));
    assert!(first.is_active && first.record.rating.is_identical(Rating::START));
    assert_eq!((first.season, first.joined_at, first.entrant.name.as_str()), (1, at(10), "bot-5"));
    assert_eq!((first.owner.as_deref(), first.entrant.account), (Some("account-2"), Some(account_id(2))));
    assert_eq!(held.assert_entered(5, 2, at(20)), first);
    assert_eq!(held.entry(1, 5), Some(first.clone()));
    held.assert_outcome(leave(5, Some(1)), Outcome::NotFound);
    held.assert_outcome(leave(5, Some(2)), Outcome::Done);
    held.assert_outcome(leave(5, Some(2)), Outcome::Done);
    held.assert_outcome(leave(6, None), Outcome::NotFound);
    assert!(!held.entry(1, 5).unwrap().is_active);
    assert_eq!(held.reader.ladders().ladder_active_entries(LADDER, 1), Ok(0));
    assert_eq!(held.assert_entered(5, 2, at(30)), first);
    assert_eq!(held.reader.ladders().ladder_active_entries(LADDER, 1), Ok(1));
    held.assert_outcome(public_bot(6, 2), Outcome::Done);
    held.assert_entered(6, 2, at(40));
    assert_eq!(held.reader.ladders().ladder_active_accounts(LADDER, 1), Ok(1));
    assert_eq!(held.reader.ladders().ladder_entries_of_bot(bot_id(5), 9), Ok(vec![first]));
    assert_eq!(held.reader.ladders().ladder_entries_of_bot(bot_id(6), 0), Ok(vec![]));
}

pub(crate) fn only_own_public_bots_enter(database: &dyn Database) {
    let mut held = StoreFixture::with_two_accounts(database);
    held.assert_outcome(enter(5, 2, at(1)), Outcome::NotFound);
    held.start_ladder(true, 0);
    held.assert_outcome(enter(5, 2, at(1)), Outcome::NotFound);
    held.assert_outcome(public_bot(5, 2), Outcome::Done);
    held.assert_outcome(enter(5, 1, at(1)), Outcome::NotFound);
    held.assert_outcome(Command::CreateBot(bot(6, 2)), Outcome::Done);
    held.assert_outcome(enter(6, 2, at(1)), Outcome::NotFound);
    let end = Advance { status: CompetitionStatus::Finished, ..Advance::of(&held.ladder(), at(8)) };
    held.assert_outcome(Command::Ladder(LadderCommand::EndSeason(end)), Outcome::Done);
    held.assert_outcome(enter(5, 2, at(9)), Outcome::NotOpen);
}

pub(crate) fn invitations_open_a_ladder(database: &dyn Database) {
    let mut held = StoreFixture::with_two_accounts(database);
    held.start_ladder(false, 0);
    held.assert_outcome(public_bot(5, 2), Outcome::Done);
    held.assert_outcome(public_bot(7, 1), Outcome::Done);
    held.assert_outcome(enter(5, 2, at(1)), Outcome::NotFound);
    held.assert_entered(7, 1, at(1));
    let invite = |n| Command::Ladder(LadderCommand::Invite { ladder: LADDER, account: account_id(n), now: at(4) });
    let uninvite = |n| Command::Ladder(LadderCommand::Uninvite { ladder: LADDER, account: account_id(n) });
    held.assert_outcome(invite(9), Outcome::NotFound);
    held.assert_outcome(invite(2), Outcome::Done);
    held.assert_outcome(invite(2), Outcome::Done);
    held.assert_entered(5, 2, at(5));
    let invited = held.reader.ladders().ladder_invitations(LADDER, None, 5).unwrap();
    assert_eq!(
        invited.iter().map(|row| (row.account, row.name.as_str())).collect::<Vec<_>>(),
        [(account_id(2), "account-2")]
    );
    assert_eq!(held.reader.ladders().ladders_invited_to(account_id(2), None, 5), Ok(vec![LADDER]));
    assert_eq!(held.reader.ladders().is_invited(LADDER, account_id(2)), Ok(true));
    held.assert_outcome(uninvite(2), Outcome::Done);
    held.assert_outcome(uninvite(2), Outcome::NotFound);
    assert!(!held.entry(1, 5).unwrap().is_active && held.entry(1, 7).unwrap().is_active);
    held.assert_outcome(enter(5, 2, at(6)), Outcome::NotFound);
    assert_eq!(held.reader.ladders().is_invited(LADDER, account_id(2)), Ok(false));
}

pub(crate) fn bots_that_are_gone_or_private_leave(database: &dyn Database) {
    let mut held = StoreFixture::with_two_accounts(database);
    held.start_ladder(true, 0);
    for n in [5, 7] {
        held.assert_outcome(public_bot(n, 2), Outcome::Done);
        held.assert_entered(n, 2, at(1));
    }
    held.assert_outcome(Command::DeleteBot { id: bot_id(5), account: account_id(1) }, Outcome::NotFound);
    assert!(held.entry(1, 5).unwrap().is_active);
    held.assert_outcome(Command::DeleteBot { id: bot_id(5), account: account_id(2) }, Outcome::Done);
    let gone = held.entry(1, 5).unwrap();
    assert_eq!((gone.is_active, gone.entrant.name.as_str()), (false, "bot-5"));
    let renamed = engine::rows::Bot { name: "other".to_owned(), is_public: true, ..bot(7, 2) };
    held.assert_outcome(Command::UpdateBot(renamed.clone()), Outcome::Done);
    let entry = held.entry(1, 7).unwrap();
    assert_eq!((entry.is_active, entry.entrant.name.as_str()), (true, "other"));
    held.assert_outcome(Command::UpdateBot(engine::rows::Bot { is_public: false, ..renamed }), Outcome::Done);
    assert!(!held.entry(1, 7).unwrap().is_active);
}

pub(crate) fn results_are_rated_once(database: &dyn Database) {
    let mut held = StoreFixture::with_two_accounts(database);
    held.start_ladder(true, 3);
    for n in [5, 7, 9] {
        held.assert_outcome(public_bot(n, 2), Outcome::Done);
        held.assert_entered(n, 2, at(1));
    }
    let results = [result(1, &[(5, 1), (7, 2), (9, 2)]), result(2, &[(11, 1), (5, 2)])];
    let (changes, command) = held.rate(1, &results);
    held.assert_outcome(command.clone(), Outcome::Done);
    held.assert_outcome(command, Outcome::VersionConflict(0));
    assert_eq!(held.ladder().results_applied, 2);
    for n in [5, 7, 9, 11] {
        let entry = held.entry(1, n).unwrap();
        assert!(entry.record.is_identical(&changes.records[&bot_id(n)]), "{entry:?}");
        assert_eq!(entry.is_active, n != 11);
    }
    let history = held.reader.ladders().ladder_games_of(LADDER, bot_id(5), None, 5).unwrap();
    let want: Vec<_> = changes.games.iter().rev().filter(|game| game.bot == bot_id(5)).cloned().collect();
    assert_eq!(history, want);
    assert_eq!(held.reader.ladders().ladder_games_of(LADDER, bot_id(5), Some(2), 5).unwrap(), want[1..]);
    assert_eq!(held.reader.ladders().ladder_games(LADDER, 0, 2), Ok(changes.games.clone()));
    assert_eq!(held.reader.ladders().ladder_games(LADDER, 1, 2).unwrap(), changes.games[3..]);
    // The next result is added to what is there.
    held.assert_rated(1, &[result(3, &[(7, 1), (5, 1)])]);
    let meetings = held.reader.ladders().ladder_meetings_of(LADDER, 1, bot_id(5), None, 5).unwrap();
    let named: Vec<_> =
        meetings.iter().map(|(meeting, name)| (meeting.opponent.0 - 0xb000, meeting.counts, name.as_str())).collect();
    let counts = |wins, losses, ties| MeetingCounts { wins, losses, ties };
    assert_eq!(named, [(7, counts(1, 0, 1), "bot-7"), (9, counts(1, 0, 0), "bot-9"), (11, counts(0, 1, 0), "gone")]);
    let after = held.reader.ladders().ladder_meetings_of(LADDER, 1, bot_id(5), Some(bot_id(7)), 1).unwrap();
    assert_eq!(after, meetings[1..2]);
    let all = held.reader.ladders().ladder_meetings(LADDER, 1, None, 100).unwrap();
    assert_eq!(all.len(), 8);
    let rest = held.reader.ladders().ladder_meetings(LADDER, 1, Some((all[4].bot, all[4].opponent)), 100).unwrap();
    assert_eq!(rest, all[5..]);
    let seats = held.reader.ladders().ladder_seats(LADDER, 1).unwrap();
    let seats: Vec<_> =
        seats.iter().map(|(seat, counts)| (*seat, counts.games, counts.first_places, counts.places)).collect();
    assert_eq!(seats, [(0, 3, 3, 3), (1, 3, 1, 5), (2, 1, 0, 2)]);
    let missing = held.reader.ladders().ladder_entries_of(LADDER, 2, &[bot_id(5)]).unwrap();
    assert_eq!(missing, []);
}

pub(crate) fn rankings_are_paged(database: &dyn Database) {
    let mut held = StoreFixture::with_two_accounts(database);
    held.start_ladder(true, 12);
    for n in [5, 7, 9, 11] {
        held.assert_outcome(public_bot(n, 2), Outcome::Done);
        held.assert_entered(n, 2, at(1));
    }
    // Bots 5, 7 and 9 have played enough, 11 has not.
    let results: Vec<_> = (1..=12).map(|n| result(n, &[(9, 1), (5, 2), (7, 3)])).collect();
    held.assert_rated(1, &results[..8]);
    held.assert_rated(1, &results[8..]);
    let filter = RankingFilter {
        ladder: LADDER,
        season: 1,
        order: RankingOrder::Rating,
        is_ranked: true,
        after: None,
        limit: 2,
    };
    assert_eq!(held.ranking(&filter), [9, 5]);
    let second = held.entry(1, 5).unwrap();
    let after = RankingCursor::of(&second, RankingOrder::Rating);
    assert_eq!(held.ranking(&RankingFilter { after: Some(after), ..filter.clone() }), [7]);
    assert_eq!(held.reader.ladders().ladder_rank(LADDER, 1, after), Ok(1));
    assert_eq!(held.ranking(&RankingFilter { is_ranked: false, ..filter.clone() }), [11]);
    // All have eaten the same: the later bot is first.
    let by_food = RankingFilter { order: RankingOrder::FoodEaten, ..filter.clone() };
    assert_eq!(held.ranking(&by_food), [9, 7]);
    let after = Some(RankingCursor::of(&held.entry(1, 7).unwrap(), RankingOrder::FoodEaten));
    assert_eq!(held.ranking(&RankingFilter { after, ..by_food }), [5]);
    held.assert_outcome(leave(9, None), Outcome::Done);
    assert_eq!(held.ranking(&filter), [5, 7]);
    let all = held.reader.ladders().ladder_entries(LADDER, 1, None, 3).unwrap();
    assert_eq!(all.iter().map(|entry| entry.entrant.bot.0 - 0xb000).collect::<Vec<_>>(), [5, 7, 9]);
    let rest = held.reader.ladders().ladder_entries(LADDER, 1, Some(bot_id(9)), 3).unwrap();
    assert_eq!(rest.len(), 1);
}

pub(crate) fn a_season_that_ends_is_kept(database: &dyn Database) {
    let mut held = StoreFixture::with_two_accounts(database);
    held.start_ladder(true, 1);
    for n in [5, 7, 9] {
        held.assert_outcome(public_bot(n, 2), Outcome::Done);
        held.assert_entered(n, 2, at(1));
    }
    held.assert_rated(1, &[result(1, &[(5, 1), (7, 2)])]);
    held.assert_outcome(leave(9, None), Outcome::Done);
    let old = held.entry(1, 5).unwrap();
    let end = SeasonEnd { season: 1, last_result: 1, ended_at: at(50), is_last: false }.encode();
    let advance = Advance { entries: vec![end.clone()], due_at: Some(at(99)), ..Advance::of(&held.ladder(), at(50)) };
    let end_season = Command::Ladder(LadderCommand::EndSeason(advance));
    held.assert_outcome(end_season.clone(), Outcome::Done);
    held.assert_outcome(end_season, Outcome::VersionConflict(1));
    assert_eq!(held.reader.competition_log(LADDER, 0, 5), Ok(vec![end]));
    assert_eq!(held.entry(1, 5), Some(old.clone()));
    let new = held.entry(2, 5).unwrap();
    assert!(new.is_active && new.record.rating.is_identical(Rating::START) && new.record.games == 0);
    assert_eq!((&new.entrant, new.joined_at), (&old.entrant, old.joined_at));
    assert_eq!(held.ladders_of(5), [(LADDER, new)], "the season that has ended is not one of its ladders");
    assert_eq!(held.entry(2, 9), None);
    // What happens to a bot now does not change the season that has ended.
    held.assert_outcome(Command::DeleteBot { id: bot_id(7), account: account_id(2) }, Outcome::Done);
    assert!(held.entry(1, 7).unwrap().is_active && !held.entry(2, 7).unwrap().is_active);
    assert_eq!(held.assert_entered(9, 2, at(60)).season, 2);
    // The ladder ends: no season follows.
    let last = SeasonEnd { season: 2, last_result: 1, ended_at: at(70), is_last: true }.encode();
    let status = CompetitionStatus::Finished;
    let advance = Advance { entries: vec![last], status, due_at: None, ..Advance::of(&held.ladder(), at(70)) };
    held.assert_outcome(Command::Ladder(LadderCommand::EndSeason(advance)), Outcome::Done);
    assert_eq!(held.entry(3, 5), None);
    assert_eq!(held.ladders_of(5), []);
    held.assert_outcome(Command::DeleteBot { id: bot_id(5), account: account_id(2) }, Outcome::Done);
    assert!(held.entry(2, 5).unwrap().is_active);
}

pub(crate) fn a_repair_writes_what_was_recomputed(database: &dyn Database) {
    let mut held = StoreFixture::with_two_accounts(database);
    held.start_ladder(true, 2);
    let changes = held.assert_rated(1, &[result(1, &[(5, 1), (7, 2)]), result(2, &[(5, 1), (7, 2)])]);
    let mut record = changes.records[&bot_id(5)].clone();
    (record.games, record.rating.mu) = (77, 12.5);
    let mut game = changes.games[0].clone();
    game.after.mu = 12.5;
    let mut meeting = changes.meeting_rows().next().unwrap();
    meeting.counts.ties = 66;
    let repair = RepairRatings {
        ladder: LADDER,
        season: 1,
        expected_results_applied: 1,
        records: vec![(bot_id(5), record.clone())],
        strangers: Vec::new(),
        games: vec![game.clone()],
        games_removed: vec![(2, 0), (2, 1)],
        meetings: vec![meeting],
        seats: vec![(0, changes.seats[1])],
        now: at(9),
    };
    let command = |repair: &RepairRatings| Command::Ladder(LadderCommand::Repair(Box::new(repair.clone())));
    held.assert_outcome(command(&repair), Outcome::VersionConflict(0));
    let stored = held.reader.ladders().ladder_season(LADDER, None).unwrap().unwrap();
    assert_eq!((&stored.row, stored.season), (&held.ladder(), 1));
    assert!(stored.records.into_iter().eq(changes.records.clone()));
    assert!(stored.meetings.into_iter().eq(changes.meeting_rows()));
    assert!(stored.seats.into_iter().eq((0..).zip(changes.seats.clone())));
    assert!(held.reader.ladders().ladder_season(LADDER, Some(7)).unwrap().unwrap().records.is_empty());
    assert_eq!(held.reader.ladders().ladder_season(CompetitionId(1), None), Ok(None));
    let (_, computed_before) = held.rate(1, &[result(3, &[(5, 1), (7, 2)])]);
    let repair = RepairRatings { expected_results_applied: 2, ..repair };
    held.assert_outcome(command(&repair), Outcome::Done);
    assert!(held.entry(1, 5).unwrap().record.is_identical(&record));
    assert!(held.entry(1, 7).unwrap().record.is_identical(&changes.records[&bot_id(7)]));
    assert_eq!(held.reader.ladders().ladder_games(LADDER, 0, 9), Ok(vec![game, changes.games[1].clone()]));
    assert_eq!(held.reader.ladders().ladder_meetings(LADDER, 1, None, 1), Ok(vec![meeting]));
    assert_eq!(held.reader.ladders().ladder_seats(LADDER, 1).unwrap()[0], (0, changes.seats[1]));
    // A rating that was computed from the records as they were would undo the repair.
    held.assert_outcome(computed_before, Outcome::VersionConflict(0));
    assert_eq!((held.ladder().results_applied, held.ladder().repairs), (2, 1));
    assert!(held.entry(1, 5).unwrap().record.is_identical(&record));
    let unknown = RepairRatings { ladder: CompetitionId(1), ..repair };
    held.assert_outcome(command(&unknown), Outcome::NotFound);
}

pub(crate) fn entries_of_an_account_are_bounded(database: &dyn Database) {
    let mut held = StoreFixture::with_two_accounts(database);
    held.start_ladder(true, 0);
    let bots = 1_000..=1_000 + LADDER_ENTRIES_PER_ACCOUNT_MAX as u128;
    let create: Vec<Command> = bots.clone().map(|n| public_bot(n, 2)).collect();
    assert!(held.commit(&create).iter().all(|outcome| *outcome == Outcome::Done));
    let entered = held.commit(&bots.map(|n| enter(n, 2, at(1))).collect::<Vec<_>>());
    let (last, before) = entered.split_last().unwrap();
    assert!(before.iter().all(|outcome| matches!(outcome, Outcome::LadderEntry(_))));
    assert_eq!(*last, Outcome::LimitReached);
    held.assert_outcome(leave(1_000, None), Outcome::Done);
    held.assert_entered(1_000 + LADDER_ENTRIES_PER_ACCOUNT_MAX as u128, 2, at(2));
}

pub(crate) fn results_are_recorded_without_matches(database: &(impl Database + RecordUnplayed)) {
    let mut held = StoreFixture::with_two_accounts(database);
    held.start_ladder(true, 1);
    let results: Vec<_> = (7..=9).map(|n| result(n, &[(5, 1), (7, 2)])).collect();
    database.record_unplayed(LADDER, &results).unwrap();
    let row = held.ladder();
    assert_eq!((row.matches_created, row.results, row.results_applied), (4, 4, 0));
    let numbered = (2..).zip(results).map(|(number, result)| CompetitionResult { number, ..result });
    assert!(held.reader.competition_results(LADDER, 1, 9).unwrap().into_iter().eq(numbered));
}

pub(crate) fn public_ladders_and_their_recent_matches_are_counted(database: &dyn Database) {
    let mut held = StoreFixture::with_two_accounts(database);
    held.start_ladder(true, 0);
    for (id, is_public, status) in [
        (2, false, CompetitionStatus::Running),
        (3, true, CompetitionStatus::Scheduled),
        (4, true, CompetitionStatus::Running),
    ] {
        let (id, name) = (CompetitionId(LADDER.0 + id), format!("ladder {id}"));
        let row = CompetitionRow::new(id, CompetitionKind::Ladder, account_id(1), name, vec![1], at(1));
        let row = CompetitionRow { is_public, status, ..row };
        let create = CompetitionCommand::Create { row, live_max: 9, idempotency: None };
        held.assert_outcome(Command::Competition(create), Outcome::Done);
    }
    held.create_matches(1..=4);
    held.assert_outcome(lease(1, at(2)), Outcome::Done);
    assert_eq!(held.claimed(claim(1, at(2), 4)).len(), 4);
    held.assert_outcome(finish(1, 1, 0, 3, at(10)), Outcome::Done);
    held.assert_outcome(finish(2, 1, 0, 3, at(20)), Outcome::Done);
    held.assert_outcome(cancel(3, at(30)), Outcome::Done);
    held.assert_outcome(finish(4, 1, 0, 3, at(40)), Outcome::Done);
    let check = |held: &mut StoreFixture, now_ms: i64, want: u64| {
        let activity = held.reader.public_activity(at(now_ms)).unwrap();
        assert_eq!((activity.ladders, activity.ladder_matches_rated), (2, want), "{now_ms}");
    };
    check(&mut held, 50, 0);
    held.assert_rated(1, &[result(1, &[(1, 1)]), result(2, &[(1, 1)])]);
    check(&mut held, 50, 2);
    held.assert_rated(1, &[result(3, &[(1, 1)]), result(4, &[(1, 1)])]);
    check(&mut held, 50, 3);
    check(&mut held, 60_010, 3);
    check(&mut held, 60_011, 2);
    check(&mut held, 60_040, 1);
    check(&mut held, 60_041, 0);
}

pub(crate) fn results_and_ratings_outlive_their_matches(database: &dyn Database) {
    let mut held = StoreFixture::with_two_accounts(database);
    held.assert_outcome(public_bot(1, 1), Outcome::Done);
    held.assert_outcome(public_bot(2, 2), Outcome::Done);
    held.start_ladder(true, 2);
    held.assert_rated(1, &[result(1, &[(1, 1), (2, 2)]), result(2, &[(2, 1), (1, 2)])]);
    let kept = |held: &mut StoreFixture| {
        let reader = &mut held.reader;
        let results = reader.competition_results(LADDER, 0, 9).unwrap();
        let games = [1, 2].map(|bot| reader.ladders().ladder_games_of(LADDER, bot_id(bot), None, 9).unwrap());
        let entries = reader.ladders().ladder_entries(LADDER, 1, None, 9).unwrap();
        let meetings = reader.ladders().ladder_meetings_of(LADDER, 1, bot_id(1), None, 9).unwrap();
        (results, games, entries, meetings, held.ladder())
    };
    let before = kept(&mut held);
    assert_eq!((before.0.len(), before.1.each_ref().map(Vec::len), before.2.len()), (2, [2, 2], 2));
    let (now, keep_for) = (at(1_000), Some(Default::default()));
    let retire = Command::RetireMatches {
        now,
        keep_for,
        keep_archive_bytes: None,
        keep_answers_for: Default::default(),
        max: 99,
    };
    held.assert_outcome(retire, Outcome::Retired(2));
    assert_eq!(held.reader.match_by_id(match_id(1)), Ok(None));
    assert_eq!(kept(&mut held), before);
}
