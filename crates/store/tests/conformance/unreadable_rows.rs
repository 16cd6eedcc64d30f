//! A row of which a plain column cannot be read: it is refused where it is asked for alone, left out where it is one of many, and stands in
//! no other's way.

use crate::bans::{ban, create_ban};
use crate::codes::create_code;
use crate::competitions::competition_id;
use crate::fixtures::*;
use crate::ladders::{LADDER, enter, public_bot, result};
use crate::stories::*;
use crate::world_fixtures::*;
use engine::commands::{
    Aggregate, AuditCommand, BanCommand, Command, CompetitionCommand, IndexChange, LadderCommand, Outcome,
    RepairRatings, WorldCommand,
};
use engine::competitions::{CompetitionKind, CompetitionRow};
use engine::ladders::entry::EntryRecord;
use engine::ladders::rating::RatingChanges;
use engine::matches::lifecycle::MatchState;
use engine::rows::{AuditFilter, Ban, Bot};
use engine::tables::Phase;
use std::collections::BTreeSet;
use store::testing::DamageRows;
use store::{AccountFilter, BotFilter, CompetitionFilter, MatchFilter, StoreError, StoredKind};

/// How many rows there are of each list, but of duels.
const ROWS: usize = 4;
const DUELS: u128 = 3;

/// Four of every kind.
fn filled(database: &dyn DamageRows) -> StoreFixture {
    let mut held = StoreFixture::new(database);
    let numbers = 1..=ROWS as u128;
    for n in 2..=ROWS as u128 {
        held.assert_outcome(Command::EnsureAccount(account(n)), Outcome::Account(account_id(n)));
    }
    held.assert_outcome(create(1, numbers.clone(), at(0)), Outcome::Done);
    held.open_tables(&[1, 2, 3, 4]);
    held.assert_outcome(ensure(&hunt(1, None), &[]), world_is(&hunt(1, None)));
    held.own_world(1, 1);
    held.assert_outcome(claims(1, 1, 0, 1), Outcome::Done);
    let hunters = numbers.clone().map(|n| delta(n, "hunter", 5, 1)).collect();
    let counted = Aggregate { hunters, ..aggregate(1, 0, 1) };
    held.assert_outcome(Command::World(WorldCommand::Aggregate(counted)), Outcome::Done);
    for n in numbers {
        held.assert_outcome(Command::CreateToken(token(n, 1)), Outcome::Done);
        held.assert_outcome(Command::CreateBot(Bot { is_public: true, ..bot(n, 1) }), Outcome::Done);
        held.assert_outcome(create_code(n, None, 1), Outcome::Done);
        held.assert_outcome(create_ban(&ban(n, &format!("address:10.0.0.{n}"), 1, None)), Outcome::Done);
        let entry = crate::audit::full(n as i64, "ban", "10.0.0.1");
        held.assert_outcome(Command::Audit(AuditCommand::Record(entry)), Outcome::Done);
        let over = IndexChange::UpsertGame(in_phase(game(n, 1), Phase::Complete, Some(at(9))));
        held.assert_outcome(entry_with(n, 2, vec![over, archive(game_id(n, 1), &[1]), award(n, 3)]), Outcome::Done);
        held.assert_outcome(lease(10 + n, at(0)), Outcome::Done);
        // An account has so many at once.
        if n <= DUELS {
            held.start_duel(n, [20 + n]);
        }
        let policy = limit_policy(&format!("policy-{n}"), "{}");
        held.assert_outcome(Command::PutLimitPolicy(policy), Outcome::Done);
    }
    held
}

/// How many rows a list has, at most so many.
type List = fn(&mut StoreFixture, usize) -> usize;
/// Reads number 2 alone.
type One = fn(&mut StoreFixture) -> Result<(), StoreError>;

/// A column of number 2 of a table, what it reads as where it is damaged and where it is whole, and what shows the row.
struct Unreadable {
    kind: StoredKind,
    table: &'static str,
    /// The order of the rows, and how many are before the one of number 2.
    key: (&'static str, usize),
    column: &'static str,
    /// Texts of SQL.
    damaged: &'static str,
    whole: &'static str,
    list: List,
    one: Option<One>,
}

/// A text that is not UTF-8, before all others in their order: PostgreSQL has none.
const NOT_UTF8: &str = "CAST(x'21ff' AS TEXT)";
const UNKNOWN: &str = "'moon'";

fn row(kind: StoredKind, place: (&'static str, &'static str), whole: &'static str, list: List) -> Unreadable {
    let (table, column) = place;
    Unreadable { kind, table, key: ("id", 1), column, damaged: UNKNOWN, whole, list, one: None }
}

impl Unreadable {
    fn one(self, one: One) -> Self {
        Self { one: Some(one), ..self }
    }

    fn key(self, key: &'static str, before: usize) -> Self {
        Self { key: (key, before), ..self }
    }

    fn damaged(self, damaged: &'static str) -> Self {
        Self { damaged, ..self }
    }

    /// The statement that puts this text there.
    fn set(&self, text: &str) -> String {
        let Self { table, key: (key, before), column, .. } = self;
        let which = format!("({key}) = (SELECT {key} FROM {table} ORDER BY {key} LIMIT 1 OFFSET {before})");
        format!("UPDATE {table} SET {column} = {text} WHERE {which}")
    }
}

fn every_table(database: &dyn DamageRows) -> Vec<Unreadable> {
    use StoredKind as K;
    let matches: List = |held, limit| {
        let filter = MatchFilter { before: Some(match_id(ROWS as u128 + 1)), limit, ..MatchFilter::default() };
        held.reader.matches(&filter).unwrap().len()
    };
    let of_match: One = |held| held.reader.match_by_id(match_id(2)).map(drop);
    let statuses: List = |held, limit| held.reader.statuses(&[1, 2, 3, 4].map(match_id)).unwrap().len().min(limit);
    let tokens: List = |held, limit| held.reader.tokens(account_id(1)).unwrap().len().min(limit);
    let token: One = |held| held.reader.token(&token(2, 1).digest).map(drop);
    let codes: List = |held, limit| held.reader.invites(None, limit, at(2)).unwrap().len();
    let bans: List = |held, limit| held.reader.bans().ban_page(None, limit, at(2)).unwrap().len();
    let audit: List = |held, limit| {
        let filter = AuditFilter { limit, ..crate::audit::all() };
        held.reader.audit().audit_page(&filter).unwrap().len()
    };
    let games: List = |held, limit| held.history(None, limit).len();
    let standings: List = |held, limit| held.reader.standings(&[1, 2, 3, 4].map(player_id)).unwrap().len().min(limit);
    let hunters: List = |held, limit| held.reader.hunt_leaderboard(None, limit).unwrap().len();
    let duels: List = |held, limit| {
        let filter =
            CompetitionFilter { kind: CompetitionKind::Duel, account: Some(account_id(1)), before: None, limit };
        held.reader.competitions(&filter).unwrap().len()
    };
    let by_id: List =
        |held, limit| held.reader.competitions_by_id(&[1, 2, 3, 4].map(competition_id)).unwrap().len().min(limit);
    let mut rows = vec![
        row(K::Match, ("matches", "ruleset"), "'royale'", matches).one(of_match),
        row(K::Match, ("matches", "map"), "'royale'", matches).one(of_match),
        row(K::Match, ("matches", "state"), "'waiting'", statuses).one(of_match),
        row(K::Match, ("seats", "cause"), "NULL", matches).key("match_id, seat", 2).one(of_match),
        row(K::Token, ("tokens", "role"), "'player'", tokens).one(token),
        row(K::Code, ("one_time_codes", "role"), "'player'", codes),
        row(K::Ban, ("bans", "target"), "'address:10.0.0.9'", bans),
        row(K::AuditEntry, ("audit_entries", "address"), "'10.0.0.1'", audit),
        row(K::Game, ("story_games", "phase"), "'complete'", games)
            .key("table_id", 1)
            .one(|held| held.reader.story_game(game_id(2, 1)).map(drop)),
        row(K::Player, ("story_standings", "earned"), "0", standings).key("player", 1).damaged("-1"),
        row(K::Player, ("hunters", "rounds"), "0", hunters)
            .key("player", 1)
            .damaged("-1")
            .one(|held| held.reader.hunter(player_id(2)).map(drop)),
        row(K::Competition, ("competitions", "status"), "'running'", duels)
            .one(|held| held.reader.competition(competition_id(2)).map(drop)),
        row(K::Competition, ("competitions", "status"), "'running'", by_id),
    ];
    if !database.is_shared() {
        let accounts: List =
            |held, limit| held.reader.accounts(&AccountFilter { limit, ..AccountFilter::default() }).unwrap().len();
        let bots: List =
            |held, limit| held.reader.bots(&BotFilter { account: account_id(1), before: None, limit }).unwrap().len();
        let public: List = |held, limit| held.reader.public_bots(None, limit).unwrap().len();
        let of_ids: List = |held, limit| held.reader.bots_by_id(&[1, 2, 3, 4].map(bot_id)).unwrap().len().min(limit);
        let workers: List = |held, limit| {
            held.reader.nodes(at(1), 99).unwrap().iter().map(|node| node.workers.len()).sum::<usize>().min(limit)
        };
        let policies: List = |held, limit| held.reader.limit_rules().unwrap().policies.len().min(limit);
        let texts = [
            row(K::Match, ("matches", "node"), "NULL", matches).one(of_match),
            row(K::Match, ("seats", "url"), "'http://whole'", matches).key("match_id, seat", 2).one(of_match),
            row(K::Account, ("accounts", "name"), "'whole'", accounts)
                .one(|held| held.reader.account(account_id(2)).map(drop)),
            row(K::Bot, ("bots", "name"), "'whole'", bots),
            row(K::Bot, ("bots", "url"), "'http://whole'", public),
            row(K::Bot, ("bots", "url"), "'http://whole'", of_ids),
            row(K::Token, ("tokens", "name"), "'whole'", tokens).one(token),
            row(K::LimitRule, ("limit_policies", "definition"), "'{}'", policies).key("name", 1),
            row(K::Lease, ("workers", "address"), "'127.0.0.1:9'", workers),
        ];
        rows.extend(texts.into_iter().map(|row| row.damaged(NOT_UTF8)));
    }
    rows
}

/// PostgreSQL cannot be made to have all of them.
pub(crate) fn every_kind(database: &dyn DamageRows) -> impl Iterator<Item = StoredKind> {
    every_table(database).into_iter().map(|row| row.kind)
}

impl StoreFixture {
    /// Of what was passed over.
    fn damaged_kinds(&mut self) -> BTreeSet<StoredKind> {
        let mut damages = self.reader.take_damages();
        damages.append(&mut self.writer.take_damages());
        damages.into_iter().map(|damage| damage.kind).collect()
    }
}

pub(crate) fn a_row_that_cannot_be_read_is_left_out_of_lists(database: &dyn DamageRows) {
    let mut held = filled(database);
    for row in every_table(database) {
        let (list, kinds) = (row.list, BTreeSet::from([row.kind]));
        let what = format!("{} of {}", row.column, row.table);
        let before = list(&mut held, 99);
        assert!(before as u128 >= DUELS && held.damaged_kinds().is_empty(), "{what}: {before} rows");
        database.run_unchecked(&row.set(row.damaged));
        assert_eq!((list(&mut held, 99), held.damaged_kinds()), (before - 1, kinds.clone()), "{what}");
        // A page is full as long as there are rows that can be read.
        assert_eq!((list(&mut held, before - 1), held.damaged_kinds()), (before - 1, kinds), "{what}");
        if let Some(one) = row.one {
            let refused = one(&mut held).unwrap_err();
            assert!(matches!(&refused, StoreError::Damaged(damage) if damage.kind == row.kind), "{what}: {refused}");
        }
        let found: Vec<StoredKind> = database.check_checksums().shown.iter().map(|damage| damage.kind).collect();
        assert_eq!(found, [row.kind], "{what}");
        database.run_unchecked(&row.set(row.whole));
        assert_eq!((list(&mut held, 99), held.damaged_kinds()), (before, BTreeSet::new()), "{what} is mended");
    }
}

pub(crate) fn a_ban_holds_without_what_is_damaged(database: &dyn DamageRows) {
    let mut held = filled(database);
    let bans = |held: &mut StoreFixture| held.reader.bans().ban_list(at(2)).unwrap().bans;
    let whole = bans(&mut held);
    let column = |column, mended| row(StoredKind::Ban, ("bans", column), mended, |_, limit| limit);
    let mut damaged = vec![(column("made_by_role", "NULL"), Ban { made_by_role: None, ..whole[2].clone() })];
    if !database.is_shared() {
        let reason = column("reason", "'whole'").damaged(NOT_UTF8);
        damaged.push((reason, Ban { reason: String::new(), made_by_role: None, ..whole[2].clone() }));
    }
    for (row, want) in damaged {
        database.run_unchecked(&row.set(row.damaged));
        assert_eq!((bans(&mut held).len(), held.damaged_kinds()), (ROWS, BTreeSet::from([StoredKind::Ban])));
        assert_eq!(bans(&mut held)[2], want, "{}", row.column);
        assert_eq!(database.check_checksums().damaged, 1, "{}", row.column);
        database.run_unchecked(&row.set(row.whole));
        held.damaged_kinds();
    }
    // It can be lifted, and made again.
    let lift = BanCommand::Lift { id: whole[2].id, now: at(2) };
    held.assert_outcome(Command::Ban(lift), Outcome::Done);
    held.assert_outcome(create_ban(&whole[2]), Outcome::Done);
}

pub(crate) fn damaged_bots_of_a_deleted_account_are_deleted(database: &dyn DamageRows) {
    let mut held = filled(database);
    let bot = row(StoredKind::Bot, ("bots", "name"), "'whole'", |_, limit| limit).damaged(NOT_UTF8);
    if !database.is_shared() {
        database.run_unchecked(&bot.set(bot.damaged));
    }
    let left = held.reader.deletions().bots_left(account_id(1), 3).unwrap();
    assert_eq!(left, [1, 2, 3].map(bot_id));
    for id in left {
        held.assert_outcome(Command::DeleteBot { id, account: account_id(1) }, Outcome::Done);
    }
    assert_eq!(held.reader.deletions().bots_left(account_id(1), 3), Ok(vec![bot_id(4)]));
}

pub(crate) fn damage_is_counted_once(database: &dyn DamageRows) {
    // More than are shown. Each row is read twice, for its checksum and for its columns.
    const DAMAGED: usize = 150;
    let mut held = StoreFixture::new(database);
    for n in 1..=DAMAGED as u128 {
        let row = CompetitionRow::new(
            competition_id(n),
            CompetitionKind::Duel,
            account_id(1),
            format!("no. {n}"),
            vec![1],
            at(0),
        );
        let create = CompetitionCommand::Create { row, live_max: DAMAGED, idempotency: None };
        held.assert_outcome(Command::Competition(create), Outcome::Done);
    }
    database.run_unchecked("UPDATE competitions SET checksum = checksum + 1");
    let report = database.check_checksums();
    assert_eq!((report.damaged as usize, report.shown.len()), (DAMAGED, 100));
}

pub(crate) fn a_page_of_damaged_rows_is_not_the_last(database: &dyn DamageRows) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(create(1, 1..=20, at(0)), Outcome::Done);
    let ids = format!("(SELECT id FROM matches ORDER BY id DESC LIMIT {} OFFSET 1)", 9);
    database.run_unchecked(&format!("UPDATE matches SET map = 'moon' WHERE id IN {ids}"));
    let page = |before, limit| MatchFilter { before, limit, ..MatchFilter::default() };
    assert_eq!(held.listed(&page(None, 2)), [20, 10]);
    assert_eq!(held.listed(&page(Some(match_id(20)), 3)), [10, 9, 8]);
    assert_eq!(held.listed(&page(None, 99)).len(), 11);
}

pub(crate) fn a_damaged_match_is_in_no_others_way(database: &dyn DamageRows) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(create(1, 1..=3, at(0)), Outcome::Done);
    held.start_duel(1, [4, 5]);
    let map = |n: usize| row(StoredKind::Match, ("matches", "map"), "'royale'", |_, limit| limit).key("id", n - 1);
    // Of match 2 the map, of match 4 a seat, of match 5 what it is played for.
    let seat = row(StoredKind::Match, ("seats", "cause"), "NULL", |_, limit| limit).key("match_id, seat", 6);
    let origin = row(StoredKind::Match, ("matches", "competition_kind"), "'duel'", |_, limit| limit).key("id", 4);
    for damaged in [map(2), seat, origin] {
        database.run_unchecked(&damaged.set(damaged.damaged));
    }
    held.assert_outcome(lease(1, at(1)), Outcome::Done);
    let first = claim(1, at(1), 9);
    held.assert_claims(first.clone(), &[(1, 1, 1), (3, 1, 1)]);
    assert_eq!(held.damaged_kinds(), BTreeSet::from([StoredKind::Match]));
    // They have ended, so that no slot and no competition waits for them.
    for n in [2, 4, 5] {
        let status = held.status(n);
        assert_eq!(status.state, MatchState::Failed);
        assert!(status.failure.as_deref().is_some_and(|why| why.contains("it is damaged")), "{status:?}");
    }
    let counts = held.stats(at(2)).counts;
    assert_eq!((counts.waiting, counts.running, counts.failed), (0, 2, 3), "{counts:?}");
    let results = held.reader.competition_results(competition_id(1), 0, 9).unwrap();
    assert_eq!(results.iter().map(|result| result.match_id).collect::<Vec<_>>(), [match_id(4)]);
    // The same claim again gets what it got, without what was damaged since.
    database.run_unchecked(&map(3).set(UNKNOWN));
    held.assert_claims(first, &[(1, 1, 1)]);
    held.is_in(3, MatchState::Failed);
    // What is mended is played.
    database.run_unchecked(&map(2).set("'royale'"));
    held.assert_outcome(requeue(2, at(3)), Outcome::Done);
    held.assert_outcome(lease(2, at(3)), Outcome::Done);
    held.assert_claims(claim(2, at(3), 9), &[(2, 2, 1)]);
}

pub(crate) fn a_damaged_match_is_refused_to_its_writer_alone(database: &dyn DamageRows) {
    let mut held = StoreFixture::new(database);
    held.run(1);
    held.assert_outcome(create(1, [2], at(0)), Outcome::Done);
    held.assert_claims(claim(1, at(0), 1), &[(2, 1, 1)]);
    let state = row(StoredKind::Match, ("matches", "state"), "'running'", |_, limit| limit).key("id", 0);
    database.run_unchecked(&state.set(UNKNOWN));
    let refused = held.writer.commit(&[append(1, 1, 0, 1)]);
    assert!(matches!(&refused, Err(StoreError::Damaged(_))), "{refused:?}");
    held.assert_outcome(append(2, 1, 0, 1), Outcome::Done);
    database.run_unchecked(&state.set(state.whole));
    held.assert_outcome(append(1, 1, 0, 1), Outcome::Done);
}

pub(crate) fn an_entry_is_rated_on_without_what_is_damaged(database: &dyn DamageRows) {
    let mut held = StoreFixture::new(database);
    held.start_ladder(true, 2);
    for n in [1, 3, 5] {
        held.assert_outcome(public_bot(n, 1), Outcome::Done);
        held.assert_entered(n, 1, at(1));
    }
    let results = [result(1, &[(1, 1), (3, 2)]), result(2, &[(1, 2), (5, 1)])];
    let mut whole = RatingChanges::default();
    results.iter().for_each(|result| whole.apply(result));
    held.assert_rated(1, &results[..1]);
    let first = "bot = (SELECT bot FROM ladder_entries ORDER BY bot LIMIT 1)";
    let mut bytes = Vec::new();
    database.rewrite(("ladder_entries", "seats", first), &mut |seats| {
        seats[1] ^= 4;
        bytes.clone_from(seats);
    });
    held.assert_rated(1, &results[1..]);
    assert_eq!(held.damaged_kinds(), BTreeSet::from([StoredKind::LadderEntry]));
    let mut record = |n: u128| held.entry(1, n).unwrap().record;
    for n in [3, 5] {
        assert!(record(n).is_identical(&whole.records[&bot_id(n)]), "bot {n}");
    }
    // All but the games by seat is as if nothing had happened, and nothing was written over those.
    let known = EntryRecord { seats: Vec::new(), ..whole.records[&bot_id(1)].clone() };
    assert!(record(1).is_identical(&known), "{:?}", record(1));
    database.rewrite(("ladder_entries", "seats", first), &mut |seats| assert_eq!(*seats, bytes));
    // Once its record is known again, it is written.
    let record = whole.records[&bot_id(1)].clone();
    let repair = RepairRatings { records: vec![(bot_id(1), record.clone())], ..no_repair(2) };
    held.assert_outcome(Command::Ladder(LadderCommand::Repair(Box::new(repair))), Outcome::Done);
    held.damaged_kinds();
    assert!(held.entry(1, 1).unwrap().record.is_identical(&record));
    assert_eq!((held.damaged_kinds(), database.check_checksums().damaged), (BTreeSet::new(), 0));
    // One of which a figure cannot be read is there all the same.
    database.run_unchecked(&format!("UPDATE ladder_entries SET games = -1 WHERE {first}"));
    assert_eq!(held.entry(1, 1), None);
    let entered = held.reader.ladders().ladder_bots_of(LADDER, 1, &[1, 3, 7].map(bot_id)).unwrap();
    assert_eq!(BTreeSet::from_iter(entered), BTreeSet::from([1, 3].map(bot_id)));
    let entered = held.writer.commit(&[enter(1, 1, at(9))]);
    assert!(matches!(&entered, Err(StoreError::Damaged(_))), "{entered:?}");
}

fn no_repair(expected_results_applied: u64) -> RepairRatings {
    RepairRatings {
        ladder: LADDER,
        season: 1,
        expected_results_applied,
        records: Vec::new(),
        strangers: Vec::new(),
        games: Vec::new(),
        games_removed: Vec::new(),
        meetings: Vec::new(),
        seats: Vec::new(),
        now: at(9),
    }
}

pub(crate) fn a_damaged_standing_is_in_no_others_way(database: &dyn DamageRows) {
    let mut held = StoreFixture::new(database);
    held.open_tables(&[1]);
    let awards = |from| entry_with(1, from, vec![award(1, 3), award(2, 4), award(3, 5)]);
    held.assert_outcome(awards(2), Outcome::Done);
    let first = row(StoredKind::Player, ("story_standings", "earned"), "0", |_, limit| limit).key("player", 0);
    database.run_unchecked(&first.set("-1"));
    held.assert_outcome(awards(3), Outcome::Done);
    assert_eq!(held.damaged_kinds(), BTreeSet::from([StoredKind::Player]));
    let scores = |held: &mut StoreFixture| -> Vec<u64> {
        let standings = held.reader.standings(&[1, 2, 3].map(player_id)).unwrap();
        standings.iter().map(|(_, standing)| standing.score).collect()
    };
    assert_eq!(scores(&mut held), [8, 10]);
    database.run_unchecked(&first.set(first.whole));
    assert_eq!(scores(&mut held), [3, 8, 10], "nothing was written over it");
}

pub(crate) fn a_hunt_whose_log_is_damaged_goes_when_its_time_is_over(database: &dyn DamageRows) {
    let mut held = StoreFixture::new(database);
    for n in [1, 2, 3] {
        held.assert_outcome(ensure(&hunt(n, Some(at(10))), &[]), world_is(&hunt(n, Some(at(10)))));
        held.own_world(1, n);
        held.assert_outcome(claims(n, 1, 0, 3), Outcome::Done);
        held.assert_outcome(finish_world(n, 1), Outcome::Done);
    }
    // Of the first the entry that is counted next, of the second one that is counted already.
    held.assert_outcome(counted(1, 0, 1), Outcome::Done);
    held.assert_outcome(counted(2, 0, 1), Outcome::Done);
    for (version, before) in [(1, 0), (0, 1)] {
        let world = format!("(SELECT id FROM worlds ORDER BY id LIMIT 1 OFFSET {before})");
        let place = format!("version = {version} AND world_id = {world}");
        database.rewrite(("world_log", "data", &place), &mut |bytes| bytes[0] ^= 1);
    }
    held.assert_outcome(retire_worlds(at(15), 10, 9), Outcome::Retired(0));
    assert_eq!(held.damaged_kinds(), BTreeSet::new(), "its time is not over");
    held.assert_outcome(counted(3, 0, 3), Outcome::Done);
    held.assert_outcome(retire_worlds(at(30), 10, 1), Outcome::Retired(1));
    held.assert_outcome(retire_worlds(at(30), 10, 9), Outcome::Retired(1));
    assert_eq!(held.damaged_kinds(), BTreeSet::from([StoredKind::WorldEntry]));
    assert_eq!(held.reader.world_log(world_id(1), 0, 9), Ok(None));
    assert!(held.reader.world(world_id(2), at(30)).unwrap().is_some(), "it is counted first");
    held.assert_outcome(counted(2, 1, 3), Outcome::Done);
    held.assert_outcome(retire_worlds(at(30), 10, 9), Outcome::Retired(1));
}
