//! Bytes that are not what was written are found, said, and concern nothing but what they belong to.

use crate::bot_health::{calls, health, save, save_calls};
use crate::competitions::{advance, competition, competition_id, create_competition};
use crate::fixtures::*;
use crate::ladders::{LADDER, public_bot};
use crate::stories::*;
use crate::unreadable_rows;
use crate::world_fixtures::*;
use engine::commands::{Advance, Command, IndexChange, Outcome};
use engine::competitions::CompetitionKind;
use engine::ids::WorldId;
use engine::ladders::entry::EntryRecord;
use engine::ladders::ranking::{RankingFilter, RankingOrder};
use engine::rows::WorldRow;
use engine::tables::Phase;
use std::collections::BTreeSet;
use store::testing::DamageRows;
use store::{CompetitionFilter, Damage, StoreError, StoredKind};

/// Bits that are flipped of each kind, spread over its bytes. That a checksum finds each of them is a test of its own.
const FLIPS: usize = 12;

/// What is kept, of every kind, twice: 1 and 2.
fn filled(database: &dyn DamageRows) -> StoreFixture {
    let mut held = StoreFixture::new(database);
    // Matches 1 and 2 are played, 3 and 4 were.
    for n in 1..=4 {
        held.run(n);
    }
    for n in [1, 2] {
        held.assert_outcome(append(n, 1, 0, 3), Outcome::Done);
        held.assert_outcome(finish(n + 2, 1, 0, 3, at(9)), Outcome::Done);
    }
    held.open_tables(&[1, 2]);
    for n in [1, 2] {
        let over = IndexChange::UpsertGame(in_phase(game(n, 1), Phase::Complete, Some(at(9))));
        held.assert_outcome(entry_with(n, 2, vec![over, archive(game_id(n, 1), &[1])]), Outcome::Done);
        held.assert_outcome(ensure(&hunt(n, None), &[]), world_is(&hunt(n, None)));
        held.own_world(1, n);
        held.assert_outcome(claims(n, 1, 0, 3), Outcome::Done);
        held.assert_outcome(snapshot(n, 1, 0, 9), Outcome::Done);
        held.start_duel(n, [20 + n]);
        let log = Advance { entries: vec![vec![7; 9]; 2], ..Advance::of(&row_of(&mut held, n), at(6)) };
        held.assert_outcome(advance(log), Outcome::Done);
        held.assert_outcome(cancel(20 + n, at(7)), Outcome::Done);
        held.assert_outcome(public_bot(n, 1), Outcome::Done);
        held.assert_outcome(save(n, 0, &health(1, 2)), Outcome::Done);
        held.assert_outcome(save_calls(7, &[calls(n, 10, 3)]), Outcome::Done);
        let key = format!("key {n}");
        held.assert_outcome(create_with_key(&key, 1, [30 + n], at(1)), Outcome::Done);
        held.assert_outcome(open_with_key(n, &key, 1, 10 + n, at(1)), Outcome::Done);
        let bytes = vec![n as u8; 32];
        let secret = Command::EnsureSecret { name: format!("secret {n}"), bytes: bytes.clone() };
        held.assert_outcome(secret, Outcome::Secret(bytes));
    }
    held.start_ladder(true, 0);
    for n in [1, 2] {
        held.assert_entered(n, 1, at(1));
    }
    held
}

fn row_of(held: &mut StoreFixture, n: u128) -> engine::competitions::CompetitionRow {
    held.reader.competition(competition_id(n)).unwrap().unwrap()
}

/// Reads number 1 or 2 of a kind.
type Read = fn(&mut StoreFixture, u128) -> Result<(), StoreError>;

/// Where the bytes of number 1 are, whether they are refused or done without, and how they are read.
struct Kept {
    kind: StoredKind,
    table: &'static str,
    column: &'static str,
    /// Of which the first is number 1.
    owner: &'static str,
    is_refused: bool,
    read: Read,
}

const fn kept(kind: StoredKind, table: &'static str, owner: &'static str, read: Read) -> Kept {
    Kept { kind, table, column: "data", owner, is_refused: true, read }
}

fn commit(held: &mut StoreFixture, command: Command) -> Result<(), StoreError> {
    held.writer.commit(&[command]).map(drop)
}

fn every_kind() -> Vec<Kept> {
    use StoredKind as K;
    let match_log: Read = |held, n| held.reader.match_log(match_id(n), 0, 9).map(drop);
    let archive: Read = |held, n| held.reader.match_log(match_id(n + 2), 0, 9).map(drop);
    let table: Read = |held, n| commit(held, claim_table(1, n, at(2)));
    let world: Read = |held, n| commit(held, claim_world(1, n, at(2)));
    vec![
        kept(K::MatchEntry, "match_log", "match_id", match_log),
        kept(K::MatchArchive, "match_archive", "match_id", archive),
        kept(K::TableEntry, "story_log", "table_id", table),
        kept(K::TableSnapshot, "story_bases", "table_id", table),
        kept(K::GameRecord, "story_records", "table_id", |held, n| held.reader.story_game(game_id(n, 1)).map(drop)),
        Kept {
            column: "settings",
            ..kept(K::World, "worlds", "id", |held, n| held.reader.world(world_id(n), at(2)).map(drop))
        },
        kept(K::WorldEntry, "world_log", "world_id", |held, n| held.reader.world_log(world_id(n), 0, 9).map(drop)),
        kept(K::WorldSnapshot, "world_snapshots", "world_id", world),
        Kept {
            column: "definition",
            ..kept(K::Competition, "competitions", "id", |held, n| held.reader.competition(competition_id(n)).map(drop))
        },
        kept(K::CompetitionEntry, "competition_log", "competition", |held, n| {
            held.reader.competition_log(competition_id(n), 0, 9).map(drop)
        }),
        kept(K::CompetitionResult, "competition_results", "competition", |held, n| {
            held.reader.competition_results(competition_id(n), 0, 9).map(drop)
        }),
        Kept {
            column: "seats",
            is_refused: false,
            ..kept(K::LadderEntry, "ladder_entries", "bot", |held, n| {
                held.reader.ladders().ladder_entries_of(LADDER, 1, &[bot_id(n)]).map(drop)
            })
        },
        Kept {
            column: "records",
            is_refused: false,
            ..kept(K::BotHealth, "bot_health", "bot", |held, n| held.reader.bot_health(&[bot_id(n)]).map(drop))
        },
        Kept {
            is_refused: false,
            ..kept(K::BotCalls, "bot_calls", "bot", |held, n| held.reader.bot_calls(bot_id(n), 0).map(drop))
        },
        Kept {
            column: "answer",
            ..kept(K::Response, "idempotency_keys", "key", |held, n| {
                held.reader.idempotent_response(account_id(1), &format!("key {n}")).map(drop)
            })
        },
        Kept {
            column: "answer",
            ..kept(K::Response, "story_answers", "key", |held, n| {
                held.reader.story_idempotent_response(player_id(n), &format!("key {n}")).map(drop)
            })
        },
        kept(K::Secret, "secrets", "name", |held, n| held.reader.secret(&format!("secret {n}")).map(drop)),
    ]
}

impl StoreFixture {
    fn take_damages(&mut self) -> Vec<Damage> {
        let mut damages = self.reader.take_damages();
        damages.append(&mut self.writer.take_damages());
        damages
    }

    /// The damage that a read meets.
    #[track_caller]
    fn met(&mut self, kept: &Kept, n: u128) -> Option<StoredKind> {
        let read = (kept.read)(self, n);
        let passed_over = self.take_damages().pop();
        match read {
            Ok(()) => passed_over.map(|damage| damage.kind).inspect(|kind| assert!(!kept.is_refused, "{kind:?}")),
            Err(StoreError::Damaged(damage)) => Some(damage.kind).inspect(|kind| assert!(kept.is_refused, "{kind:?}")),
            Err(other) => panic!("{other}"),
        }
    }
}

pub(crate) fn what_is_whole_has_its_checksum(database: &dyn DamageRows) {
    let mut held = filled(database);
    let report = database.check_checksums();
    assert_eq!((report.damaged, report.without_checksum), (0, 0), "{:?}", report.shown);
    assert!(report.rows > 40, "{}", report.rows);
    for kept in every_kind() {
        for n in [1, 2] {
            assert_eq!(held.met(&kept, n), None, "{:?}", kept.kind);
        }
    }
}

pub(crate) fn every_kind_of_damage_is_found_and_stays_confined(database: &dyn DamageRows) {
    let tested: BTreeSet<StoredKind> =
        every_kind().iter().map(|kept| kept.kind).chain(unreadable_rows::every_kind(database)).collect();
    assert!(database.is_shared() || tested == StoredKind::ALL.into(), "a kind has no test: {tested:?}");
    let mut held = filled(database);
    for kept in every_kind() {
        let Kept { kind, table, column, owner, .. } = kept;
        let key = if table.ends_with("_log") { format!("{owner}, version") } else { owner.to_owned() };
        let first = format!("({key}) = (SELECT {key} FROM {table} ORDER BY {key} LIMIT 1)");
        let mut whole = Vec::new();
        database.rewrite((table, column, &first), &mut |bytes| whole.clone_from(bytes));
        let bits = whole.len() * 8;
        for bit in (0..bits).step_by(bits.div_ceil(FLIPS)).chain([bits - 1]) {
            database.rewrite((table, column, &first), &mut |bytes| bytes[bit / 8] ^= 1 << (bit % 8));
            assert_eq!(held.met(&kept, 1), Some(kind), "bit {bit} of {table}");
            assert_eq!(held.met(&kept, 2), None, "bit {bit} of {table}");
            let report = database.check_checksums();
            let found: Vec<_> = report.shown.iter().map(|damage| damage.kind).collect();
            assert_eq!((report.damaged, found), (1, vec![kind]), "bit {bit} of {table}");
            database.rewrite((table, column, &first), &mut |bytes| bytes.clone_from(&whole));
        }
        assert_eq!(held.met(&kept, 1), None, "{table} is mended");
        database.run_unchecked(&format!("UPDATE {table} SET checksum = checksum + 1 WHERE {first}"));
        assert_eq!(held.met(&kept, 1), Some(kind), "the checksum itself in {table}");
        database.run_unchecked(&format!("UPDATE {table} SET checksum = checksum - 1 WHERE {first}"));
    }
}

pub(crate) fn lists_do_without_what_is_damaged(database: &dyn DamageRows) {
    let mut held = filled(database);
    for (table, column) in [("competitions", "definition"), ("ladder_entries", "seats"), ("bot_health", "records")] {
        let key = if table == "competitions" { "id" } else { "bot" };
        let first = format!("{key} = (SELECT {key} FROM {table} ORDER BY {key} LIMIT 1)");
        database.rewrite((table, column, &first), &mut |bytes| bytes[0] ^= 1);
    }
    let duels = CompetitionFilter { kind: CompetitionKind::Duel, account: Some(account_id(1)), before: None, limit: 9 };
    let listed = held.reader.competitions(&duels).unwrap();
    assert_eq!(listed.iter().map(|row| row.id).collect::<Vec<_>>(), [competition_id(2)]);
    assert_eq!(held.take_damages()[0].kind, StoredKind::Competition);
    let order = RankingOrder::Rating;
    let ranking = RankingFilter { ladder: LADDER, season: 1, order, is_ranked: false, after: None, limit: 9 };
    assert_eq!(held.reader.ladders().ladder_ranking(&ranking).unwrap().len(), 2);
    assert_eq!(held.take_damages()[0].kind, StoredKind::LadderEntry);
    let health_of = held.reader.bot_health(&[bot_id(1), bot_id(2)]).unwrap();
    assert_eq!(health_of.iter().map(|row| row.health.records.len()).collect::<Vec<_>>(), [0, 2]);
    assert_eq!(held.take_damages()[0].kind, StoredKind::BotHealth);
    // Nothing is made of what is damaged, and nothing is written over it.
    let refused = held.writer.commit(&[advance(Advance::of(&competition(1), at(9)))]);
    assert!(matches!(refused, Err(StoreError::Damaged(_))), "{refused:?}");
    held.assert_outcome(create_competition(&competition(3)), Outcome::Done);
}

pub(crate) fn a_damaged_table_is_in_no_others_way(database: &dyn DamageRows) {
    let mut held = StoreFixture::new(database);
    held.open_tables(&[1, 2, 3, 4]);
    for (table, column, number) in [("story_log", "data", 1), ("story_bases", "data", 2)] {
        let skipped = format!("(SELECT DISTINCT table_id FROM {table} ORDER BY table_id LIMIT 1 OFFSET {number})");
        let version = if table == "story_log" { "AND version = 1" } else { "" };
        database.rewrite((table, column, &format!("table_id = {skipped} {version}")), &mut |bytes| bytes[0] ^= 0x10);
    }
    let later = at(1_000_000);
    held.assert_outcome(lease(2, later), Outcome::Done);
    let claim = claim_tables(2, later, 9);
    for _ in 0..2 {
        held.takes_tables(claim.clone(), &[(1, 2), (4, 2)]);
        let kinds: Vec<_> = held.take_damages().iter().map(|damage| damage.kind).collect();
        assert_eq!(kinds, [StoredKind::TableEntry, StoredKind::TableSnapshot]);
    }
    held.takes_tables(claim_tables(2, later, 9), &[]);
    let refused = held.writer.commit(&[claim_table(2, 2, later)]);
    assert!(matches!(refused, Err(StoreError::Damaged(_))), "{refused:?}");
}

pub(crate) fn worlds_that_cannot_be_read_break_no_list(database: &dyn DamageRows) {
    let mut held = StoreFixture::new(database);
    let row_of = |n: u128| WorldRow { admission: engine::rows::Admission::Everybody, ..hunt(n, Some(at(900))) };
    for n in 1..=6 {
        held.assert_outcome(ensure(&row_of(n), &[]), world_is(&row_of(n)));
        held.own_world(1, n);
    }
    let changes = ["name = 'Not A Name!'", "admission = 'nobody'"];
    for (change, n) in changes.into_iter().zip([1, 3]) {
        let name = row_of(n).name;
        database.run_unchecked(&format!("UPDATE worlds SET {change} WHERE name = '{name}'"));
    }
    database.rewrite(("worlds", "settings", "name = 'hunt-4'"), &mut |bytes| bytes[0] ^= 1);
    let ids = |want: &[u128]| want.iter().copied().map(world_id).collect::<Vec<WorldId>>();
    let of = |entries: Vec<engine::rows::WorldEntry>| entries.iter().map(|entry| entry.row.id).collect::<Vec<_>>();
    // A page is full as long as there are rows that can be read.
    assert_eq!(of(held.reader.worlds(None, 2, None, at(1)).unwrap()), ids(&[2, 5]));
    assert_eq!(of(held.reader.worlds(Some(world_id(5)), 2, None, at(1)).unwrap()), ids(&[6]));
    assert_eq!(of(held.reader.hunt_lobby(None, 2, true, at(1)).unwrap()), ids(&[6, 5]));
    assert_eq!(of(held.reader.hunt_lobby(None, 9, true, at(1)).unwrap()), ids(&[6, 5, 2]));
    let unfinished = held.reader.unfinished_hunts(None, 2, at(1_000_000)).unwrap();
    assert_eq!(unfinished.iter().map(|row| row.id).collect::<Vec<_>>(), ids(&[2, 5]));
    assert!(held.take_damages().iter().all(|damage| damage.kind == StoredKind::World));
    for n in [1, 3, 4] {
        let refused = held.reader.world(world_id(n), at(1));
        assert!(matches!(refused, Err(StoreError::Damaged(_))), "{refused:?}");
    }
    let report = database.check_checksums();
    assert_eq!(report.damaged, 3, "{:?}", report.shown);
    // A kind that there is not is in no lobby, and breaks no other list.
    database.run_unchecked("UPDATE worlds SET kind = 'moon' WHERE name = 'hunt-6'");
    assert_eq!(of(held.reader.worlds(None, 9, None, at(1)).unwrap()), ids(&[2, 5]));
}

pub(crate) fn what_a_program_of_before_writes_anew_is_not_taken_for_damaged(database: &dyn DamageRows) {
    let mut held = filled(database);
    let seats = EntryRecord { seats: vec![3], ..EntryRecord::default() };
    let anew = [
        ("story_bases", "data", "table_id"),
        ("story_records", "data", "table_id"),
        ("world_snapshots", "data", "world_id"),
        ("ladder_entries", "seats", "bot"),
        ("bot_health", "records", "bot"),
        ("bot_calls", "data", "bot"),
        ("idempotency_keys", "answer", "key"),
        ("story_answers", "answer", "key"),
    ];
    for (without_checksum, (table, column, owner)) in (1..).zip(anew) {
        let first = format!("{owner} = (SELECT {owner} FROM {table} ORDER BY {owner} LIMIT 1)");
        database.rewrite_as_before((table, column, &first), &mut |bytes| match table {
            "ladder_entries" => *bytes = seats.encode_seats(),
            "bot_health" => *bytes = health(3, 1).encode_records(),
            _ => bytes.push(1),
        });
        let report = database.check_checksums();
        assert_eq!((report.without_checksum, report.damaged), (without_checksum, 0), "{table}: {:?}", report.shown);
    }
    // A program that knows checksums writes them again.
    held.assert_outcome(snapshot(1, 1, 0, 20), Outcome::Done);
    held.assert_outcome(save(1, 1, &health(3, 1)), Outcome::Done);
    assert_eq!(database.check_checksums().without_checksum, 6);
}
