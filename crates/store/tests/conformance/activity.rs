//! What goes on in public, in numbers; ladders stand with theirs.

use crate::fixtures::*;
use crate::stories::{entries, entry_with, game, in_phase};
use engine::commands::{Command, IndexChange, Outcome, TableAppend};
use engine::rows::{GameRow, PublicActivity};
use engine::tables::Phase;
use store::Database;

#[track_caller]
fn check_matches(held: &mut StoreFixture, now_ms: i64, want: [u64; 3]) {
    let activity = held.reader.public_activity(at(now_ms)).unwrap();
    assert_eq!([activity.matches_waiting, activity.matches_running, activity.matches_ended], want, "{now_ms}");
}

pub(crate) fn public_matches_are_counted(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    assert_eq!(held.reader.public_activity(at(0)), Ok(PublicActivity::default()));
    // Those of even numbers are public.
    held.assert_outcome(create(1, 1..=10, at(0)), Outcome::Done);
    check_matches(&mut held, 0, [5, 0, 0]);
    held.assert_outcome(lease(1, at(0)), Outcome::Done);
    assert_eq!(held.claimed(claim(1, at(0), 7)).len(), 7);
    check_matches(&mut held, 0, [2, 3, 0]);
    held.assert_outcome(finish(2, 1, 0, 3, at(70)), Outcome::Done);
    held.assert_outcome(finish(3, 1, 0, 3, at(70)), Outcome::Done);
    held.assert_outcome(fail(4, 1, at(80)), Outcome::Done);
    held.assert_outcome(cancel(10, at(90)), Outcome::Done);
    check_matches(&mut held, 99, [1, 1, 3]);
    check_matches(&mut held, 60_070, [1, 1, 3]);
    check_matches(&mut held, 60_071, [1, 1, 2]);
    check_matches(&mut held, 60_091, [1, 1, 0]);
}

#[track_caller]
fn check_stories(held: &mut StoreFixture, want: [u64; 4]) {
    let activity = held.reader.public_activity(at(0)).unwrap();
    let open = [activity.open_stories, activity.open_stories_players, activity.open_stories_seats];
    assert_eq!([[activity.stories].as_slice(), &open].concat(), want);
}

pub(crate) fn stories_and_their_free_seats_are_counted(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    // Games of six with their storytellers.
    held.open_tables(&[1, 2, 3]);
    check_stories(&mut held, [3, 3, 3, 15]);
    let upsert = |row: GameRow| vec![IndexChange::UpsertGame(row)];
    held.assert_outcome(entry_with(1, 2, upsert(GameRow { players: 6, ..game(1, 1) })), Outcome::Done);
    check_stories(&mut held, [3, 2, 2, 10]);
    held.assert_outcome(entry_with(2, 2, upsert(in_phase(game(2, 1), Phase::Vote, None))), Outcome::Done);
    check_stories(&mut held, [3, 1, 1, 5]);
    let end = upsert(in_phase(game(3, 1), Phase::Canceled, Some(at(9))));
    let append = TableAppend { index_changes: end, is_live: false, ..entries(3, 1, 2, 1) };
    held.assert_outcome(Command::AppendTable(append), Outcome::Done);
    check_stories(&mut held, [2, 0, 0, 0]);
}
