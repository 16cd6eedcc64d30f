//! Tables: their logs and snapshots under their fences, and who owns them.

use crate::fixtures::*;
use crate::stories::*;
use engine::commands::{Command, OpenTable, Outcome, TableAppend};
use engine::limits::IDEMPOTENCY_RETENTION;
use engine::matches::slots::SlotUsage;
use engine::rows::TableOwner;
use store::Database;

fn append(append: TableAppend) -> Command {
    Command::AppendTable(append)
}

pub(crate) fn a_table_is_opened_once(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(open(1, 1, at(0)), Outcome::LeaseLost);
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    held.assert_outcome(open(1, 1, at(5_000)), Outcome::LeaseLost);
    let opened = |append: TableAppend| Command::OpenTable(OpenTable { append, ..opening(1, 1, at(0)) });
    held.assert_outcome(opened(entries(1, 2, 0, 1)), Outcome::Fenced);
    held.assert_outcome(opened(entries(1, 1, 1, 1)), Outcome::VersionConflict(0));
    held.assert_outcome(
        opened(TableAppend { snapshot: Some(base(2, 1)), ..entries(1, 1, 0, 1) }),
        Outcome::VersionConflict(0),
    );
    assert_eq!(held.reader.table_owner(table_id(1), at(0)), Ok(None), "nothing of it is left");
    held.assert_outcome(open(1, 1, at(4_999)), Outcome::Done);
    held.assert_outcome(open(1, 1, at(0)), Outcome::Duplicate);
    held.assert_outcome(opened(entries(1, 1, 1, 1)), Outcome::Duplicate);
    let claimed = held.taken_over(1);
    assert_eq!((claimed.id, claimed.epoch, claimed.snapshot_version), (table_id(1), 2, 0));
    assert_eq!(claimed.snapshot, base(0, 9).bytes);
    assert!(claimed.rows.into_iter().eq((0..2).map(table_row)));
}

pub(crate) fn a_table_may_begin_without_base_or_entries(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    let bare = |table, rows| OpenTable { append: entries(table, 1, 0, rows), ..opening(1, table, at(0)) };
    held.assert_outcome(Command::OpenTable(bare(1, 0)), Outcome::Done);
    held.assert_outcome(append(entries(1, 1, 0, 3)), Outcome::Done);
    let claimed = held.taken_over(1);
    assert_eq!((claimed.snapshot.len(), claimed.snapshot_version, claimed.rows.len()), (0, 0, 3));
    // A base over all first entries leaves none of them.
    let folded = OpenTable { append: TableAppend { snapshot: Some(base(2, 5)), ..bare(2, 2).append }, ..bare(2, 2) };
    held.assert_outcome(Command::OpenTable(folded), Outcome::Done);
    let claimed = held.taken_over(2);
    assert_eq!((claimed.snapshot.len(), claimed.snapshot_version, claimed.rows.len()), (5, 2, 0));
}

pub(crate) fn an_owner_of_the_past_is_fenced(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.open_tables(&[1]);
    held.assert_outcome(append(entries(1, 1, 2, 1)), Outcome::Done);
    held.assert_outcome(append(entries(1, 2, 3, 1)), Outcome::Fenced);
    held.assert_outcome(append(entries(7, 1, 0, 1)), Outcome::Fenced);
    held.takes_tables(claim_table(1, 1, at(1)), &[(1, 2)]);
    held.assert_outcome(append(entries(1, 1, 3, 1)), Outcome::Fenced);
    held.assert_outcome(append(entries(1, 1, 3, 0)), Outcome::Fenced);
    held.assert_outcome(append(entries(1, 2, 3, 1)), Outcome::Done);
    assert_eq!(held.taken_over(1).rows.len(), 4);
}

pub(crate) fn a_tables_version_is_checked(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.open_tables(&[1]);
    held.assert_outcome(append(entries(1, 1, 1, 2)), Outcome::VersionConflict(2));
    held.assert_outcome(append(entries(1, 1, 3, 1)), Outcome::VersionConflict(2));
    held.assert_outcome(append(entries(1, 1, 3, 0)), Outcome::VersionConflict(2));
    let mut gap = entries(1, 1, 2, 3);
    gap.rows.remove(1);
    held.assert_outcome(append(gap), Outcome::VersionConflict(2));
    held.assert_outcome(
        append(TableAppend { expected_version: 2, ..entries(1, 1, 3, 1) }),
        Outcome::VersionConflict(2),
    );
    held.assert_outcome(
        append(TableAppend { snapshot: Some(base(5, 1)), ..entries(1, 1, 2, 2) }),
        Outcome::VersionConflict(2),
    );
    held.assert_outcome(append(TableAppend { snapshot: Some(base(3, 1)), ..entries(1, 1, 2, 2) }), Outcome::Done);
    held.assert_outcome(
        append(TableAppend { snapshot: Some(base(2, 1)), ..entries(1, 1, 4, 1) }),
        Outcome::VersionConflict(4),
    );
    held.assert_outcome(
        append(TableAppend { snapshot: Some(base(2, 1)), ..entries(1, 1, 4, 0) }),
        Outcome::VersionConflict(4),
    );
    let claimed = held.taken_over(1);
    assert_eq!(claimed.snapshot_version, 3);
    assert!(claimed.rows.into_iter().eq([table_row(3)]), "what was refused left nothing");
}

pub(crate) fn a_base_forgets_what_is_under_it(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.open_tables(&[1]);
    held.assert_outcome(append(TableAppend { snapshot: Some(base(4, 300)), ..entries(1, 1, 2, 6) }), Outcome::Done);
    held.assert_outcome(append(entries(1, 1, 8, 1)), Outcome::Done);
    let claimed = held.taken_over(1);
    assert_eq!((claimed.snapshot_version, claimed.snapshot), (4, base(4, 300).bytes));
    assert!(claimed.rows.into_iter().eq((4..9).map(table_row)));
    // All of it, without a new entry: a table that leaves memory.
    held.assert_outcome(append(TableAppend { snapshot: Some(base(9, 10)), ..entries(1, 2, 9, 0) }), Outcome::Done);
    let claimed = held.taken_over(1);
    assert_eq!((claimed.snapshot_version, claimed.snapshot, claimed.rows.len()), (9, base(9, 10).bytes, 0));
    held.assert_outcome(append(entries(1, 3, 0, 1)), Outcome::VersionConflict(9));
    held.assert_outcome(append(entries(1, 3, 9, 2)), Outcome::Done);
    assert!(held.taken_over(1).rows.into_iter().eq((9..11).map(table_row)));
}

pub(crate) fn a_table_is_claimed_when_it_is_free(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.open_tables(&[1]);
    held.assert_outcome(claim_table(2, 1, at(0)), Outcome::LeaseLost);
    held.assert_outcome(lease(2, at(4_000)), Outcome::Done);
    held.assert_outcome(claim_table(2, 7, at(4_000)), Outcome::NotFound);
    let elsewhere = Outcome::TableElsewhere { address: "10.0.0.1:4000".to_owned() };
    held.assert_outcome(claim_table(2, 1, at(4_999)), elsewhere);
    held.takes_tables(claim_table(1, 1, at(4_999)), &[(1, 2)]);
    held.assert_outcome(claim_table(1, 1, at(5_000)), Outcome::LeaseLost);
    held.takes_tables(claim_table(2, 1, at(5_000)), &[(1, 3)]);
    held.takes_tables(claim_table(2, 1, at(5_000)), &[(1, 4)]);
    held.assert_outcome(Command::EndLease { worker: worker_id(2) }, Outcome::Done);
    held.assert_outcome(lease(3, at(5_000)), Outcome::Done);
    held.takes_tables(claim_table(3, 1, at(5_000)), &[(1, 5)]);
}

pub(crate) fn claims_name_the_owner(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.open_tables(&[1]);
    let owner =
        |worker: u128| TableOwner::Leased { worker: worker_id(worker), address: format!("10.0.0.{worker}:4000") };
    assert_eq!(held.reader.table_owner(table_id(7), at(0)), Ok(None));
    assert_eq!(held.reader.table_owner(table_id(1), at(4_999)), Ok(Some(owner(1))));
    assert_eq!(held.reader.table_owner(table_id(1), at(5_000)), Ok(Some(TableOwner::Unowned)));
    held.assert_outcome(lease(2, at(5_000)), Outcome::Done);
    held.takes_tables(claim_table(2, 1, at(5_000)), &[(1, 2)]);
    assert_eq!(held.reader.table_owner(table_id(1), at(5_000)), Ok(Some(owner(2))));
    held.assert_outcome(release_table(1, 2), Outcome::Done);
    assert_eq!(held.reader.table_owner(table_id(1), at(5_000)), Ok(Some(TableOwner::Unowned)));
}

pub(crate) fn a_released_table_is_free(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.open_tables(&[1]);
    held.assert_outcome(lease(2, at(0)), Outcome::Done);
    held.assert_outcome(release_table(1, 2), Outcome::Fenced);
    held.assert_outcome(release_table(7, 1), Outcome::Fenced);
    held.assert_outcome(release_table(1, 1), Outcome::Done);
    held.assert_outcome(release_table(1, 1), Outcome::Done);
    held.takes_tables(claim_table(2, 1, at(0)), &[(1, 2)]);
    held.assert_outcome(release_table(1, 1), Outcome::Fenced);
    assert!(
        matches!(held.commit_one(claim_table(1, 1, at(0))), Outcome::TableElsewhere { .. }),
        "it was not taken away"
    );
}

pub(crate) fn live_tables_without_an_owner_are_taken_over_together(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.open_tables(&[5, 4, 3, 2, 1]);
    held.assert_outcome(lease(2, at(0)), Outcome::Done);
    held.assert_outcome(open(2, 6, at(0)), Outcome::Done);
    held.assert_outcome(append(TableAppend { is_live: false, ..entries(2, 1, 2, 1) }), Outcome::Done);
    held.assert_outcome(release_table(4, 1), Outcome::Done);
    held.takes_tables(claim_tables(2, at(0), 9), &[(4, 2)]);
    held.takes_tables(claim_tables(2, at(0), 9), &[]);
    held.assert_outcome(lease(3, at(5_000)), Outcome::Done);
    held.takes_tables(claim_tables(3, at(5_000), 0), &[]);
    held.takes_tables(claim_tables(3, at(5_000), 3), &[(1, 2), (3, 2), (4, 3)]);
    held.takes_tables(claim_tables(3, at(5_000), 9), &[(5, 2), (6, 2)]);
    held.assert_outcome(claim_tables(1, at(5_000), 9), Outcome::LeaseLost);
    // What was asleep is woken by its next entry.
    held.takes_tables(claim_table(3, 2, at(5_000)), &[(2, 2)]);
    held.assert_outcome(append(entries(2, 2, 3, 1)), Outcome::Done);
    held.assert_outcome(lease(4, at(10_000)), Outcome::Done);
    held.takes_tables(claim_tables(4, at(10_000), 2), &[(1, 3), (2, 3)]);
}

pub(crate) fn a_repeated_claim_of_tables_takes_nothing_new(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.open_tables(&[1, 2, 3, 4, 5]);
    held.assert_outcome(lease(2, at(5_000)), Outcome::Done);
    let first = claim_tables(2, at(5_000), 4);
    held.takes_tables(first.clone(), &[(1, 2), (2, 2), (3, 2), (4, 2)]);
    held.takes_tables(first.clone(), &[(1, 2), (2, 2), (3, 2), (4, 2)]);
    held.assert_outcome(release_table(1, 2), Outcome::Done);
    held.assert_outcome(append(TableAppend { is_live: false, ..entries(2, 2, 2, 1) }), Outcome::Done);
    held.takes_tables(claim_table(2, 3, at(5_000)), &[(3, 3)]);
    held.assert_outcome(append(entries(4, 2, 2, 2)), Outcome::Done);
    match held.commit_one(first.clone()) {
        Outcome::TablesClaimed(again) => {
            let again: Vec<_> = again.iter().map(|table| (table.id, table.epoch, table.rows.len())).collect();
            assert_eq!(again, [(table_id(4), 2, 4)], "what it took and still holds live, as it is now");
        }
        other => panic!("{other:?}"),
    }
    // Claims of matches are counted apart.
    held.assert_outcome(create(1, [1], at(5_000)), Outcome::Done);
    let matches = Command::ClaimMatches {
        worker: worker_id(2),
        number: 1,
        now: at(5_000),
        max: 1,
        slots: SlotUsage::new(1),
        attempts_max: 3,
    };
    held.assert_claims(matches, &[(1, 1, 1)]);
    held.takes_tables(claim_tables(2, at(5_000), 9), &[(1, 3), (5, 2)]);
    held.assert_outcome(Command::EndLease { worker: worker_id(2) }, Outcome::Done);
    held.assert_outcome(first, Outcome::LeaseLost);
}

pub(crate) fn an_opening_repeats_its_answer(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    held.assert_outcome(open_with_key(1, "key", 7, 1, at(0)), Outcome::Done);
    held.assert_outcome(open_with_key(1, "key", 7, 2, at(1)), Outcome::Replayed(vec![7, 3]));
    held.assert_outcome(open_with_key(1, "key", 8, 2, at(1)), Outcome::KeyReused);
    held.assert_outcome(open_with_key(1, "key", 8, 2, at(5_000)), Outcome::LeaseLost);
    held.assert_outcome(open_with_key(2, "key", 8, 3, at(1)), Outcome::Done);
    held.assert_outcome(open_with_key(1, "other", 9, 1, at(1)), Outcome::Duplicate);
    assert_eq!(held.reader.story_idempotent_response(player_id(1), "key"), Ok(Some(([7; 32], vec![7, 3]))));
    assert_eq!(
        held.reader.story_idempotent_response(player_id(1), "other"),
        Ok(None),
        "what was refused is not remembered"
    );
    assert_eq!(held.reader.table_owner(table_id(2), at(1)), Ok(None));
    let outcomes = held.commit(&[open_with_key(3, "k", 1, 4, at(2)), open_with_key(3, "k", 1, 5, at(2))]);
    assert_eq!(outcomes, [Outcome::Done, Outcome::Replayed(vec![1, 3])], "in one batch");
}

pub(crate) fn a_key_of_an_opening_is_forgotten_in_time(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    let kept_ms = IDEMPOTENCY_RETENTION.as_millis() as i64;
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    held.assert_outcome(open_with_key(1, "key", 7, 1, at(0)), Outcome::Done);
    held.assert_outcome(lease(2, at(kept_ms)), Outcome::Done);
    let by_two = |command: Command| match command {
        Command::OpenTable(open) => Command::OpenTable(OpenTable { worker: worker_id(2), ..open }),
        other => other,
    };
    held.assert_outcome(by_two(open_with_key(1, "key", 8, 2, at(kept_ms - 1))), Outcome::KeyReused);
    held.assert_outcome(by_two(open_with_key(1, "key", 8, 2, at(kept_ms))), Outcome::Done);
    held.assert_outcome(retire_games(at(2 * kept_ms - 1), None, 9), Outcome::Retired(0));
    assert!(held.reader.story_idempotent_response(player_id(1), "key").is_ok_and(|answer| answer.is_some()));
    held.assert_outcome(retire_games(at(2 * kept_ms), None, 9), Outcome::Retired(0));
    assert_eq!(held.reader.story_idempotent_response(player_id(1), "key"), Ok(None));
}

pub(crate) fn refused_writes_disturb_no_neighbour(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.open_tables(&[1, 2]);
    let outcomes = held.commit(&[
        entry_with(1, 2, vec![award(1, 5)]),
        entry_with(1, 2, vec![award(1, 50), unseat(game_id(1, 1), 1)]),
        open(1, 2, at(0)),
        open(1, 3, at(0)),
        Command::EndLease { worker: worker_id(1) },
        open(1, 4, at(0)),
        append(entries(4, 1, 2, 1)),
        release_table(2, 9),
        release_table(2, 1),
        append(entries(3, 1, 2, 1)),
        lease(2, at(0)),
        Command::OpenTable(opening(2, 5, at(0))),
        claim_table(2, 2, at(0)),
        append(entries(2, 1, 2, 1)),
        append(entries(2, 2, 2, 1)),
    ]);
    let (done, fenced) = (Outcome::Done, Outcome::Fenced);
    assert!(matches!(outcomes[12], Outcome::TableClaimed(_)));
    let want = [
        &done,
        &Outcome::VersionConflict(3),
        &Outcome::Duplicate,
        &done,
        &done,
        &Outcome::LeaseLost,
        &fenced,
        &fenced,
        &done,
        &done,
        &done,
        &done,
        &outcomes[12],
        &fenced,
        &done,
    ];
    assert!(outcomes.iter().eq(want), "{outcomes:?}");
    assert_eq!(held.games_of(&seats_of(1, false, None, 9)), [(5, 1), (3, 1), (2, 1), (1, 1)]);
    let standings = held.reader.standings(&[player_id(1)]).expect("the store is there");
    assert_eq!(standings[0].1.score, 5, "the refused award is not kept");
    assert_eq!(held.taken_over(2).rows.len(), 3);
    assert_eq!(held.taken_over(3).rows.len(), 3);
}
