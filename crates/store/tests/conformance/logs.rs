//! Match logs: written under fences, read back alike before and after the end.

use crate::fixtures::*;
use engine::commands::{Append, Command, Outcome};
use engine::matches::life::State;
use engine::rows::{LogPage, LogRow};
use store::Database;

pub(crate) fn entries_are_read_back(database: &dyn Database) {
    let mut held = Held::new(database);
    held.run(1);
    held.did(append(1, 1, 0, 1), Outcome::Done);
    held.did(append(1, 1, 1, 9), Outcome::Done);
    let want = LogPage { state: State::Running, version: 10, rows: (0..10).map(entry).collect() };
    assert_eq!(held.log(1), want);
    let status = held.status(1);
    assert_eq!((status.version, status.turns, status.late_moves), (10, 9, 4));
}

pub(crate) fn a_writer_of_the_past_is_fenced(database: &dyn Database) {
    let mut held = Held::new(database);
    held.run(1);
    held.did(append(1, 1, 0, 2), Outcome::Done);
    held.did(lease(2, at(5_000)), Outcome::Done);
    held.takes(claim(2, at(5_000), 1), &[(1, 2, 1)]);
    held.did(append(1, 1, 2, 1), Outcome::Fenced);
    held.did(finish(1, 1, 2, 1, at(5_001)), Outcome::Fenced);
    held.did(fail(1, 1, at(5_001)), Outcome::Fenced);
    held.did(release(1, 1, true), Outcome::Fenced);
    held.did(append(1, 3, 2, 1), Outcome::Fenced);
    held.did(append(9, 1, 0, 1), Outcome::Fenced);
    assert_eq!(held.log(1).version, 2);
    held.did(append(1, 2, 2, 1), Outcome::Done);
}

pub(crate) fn the_expected_version_is_checked(database: &dyn Database) {
    let mut held = Held::new(database);
    held.run(1);
    held.did(append(1, 1, 1, 1), Outcome::VersionIs(0));
    held.did(append(1, 1, 0, 2), Outcome::Done);
    held.did(append(1, 1, 0, 2), Outcome::VersionIs(2));
    held.did(append(1, 1, 1, 1), Outcome::VersionIs(2));
    held.did(append(1, 1, 3, 1), Outcome::VersionIs(2));
    held.did(append(1, 1, 1, 0), Outcome::VersionIs(2));
    held.did(append(1, 1, 2, 0), Outcome::Done);
    held.did(append(1, 9, 1, 1), Outcome::Fenced);
}

pub(crate) fn entries_with_gaps_are_refused(database: &dyn Database) {
    let mut held = Held::new(database);
    held.run(1);
    let gap = Append { rows: vec![entry(0), entry(2)], ..append_rows(1, 1, 0, 0) };
    held.did(Command::Append(gap), Outcome::VersionIs(0));
    let shifted = Append { rows: vec![entry(1)], ..append_rows(1, 1, 0, 0) };
    held.did(Command::Append(shifted), Outcome::VersionIs(0));
    assert_eq!(held.log(1).rows, []);
    assert_eq!(held.status(1).started_at, None, "a refusal starts nothing");
}

pub(crate) fn a_start_is_remembered_once(database: &dyn Database) {
    let mut held = Held::new(database);
    held.run(1);
    assert_eq!(held.status(1).started_at, None);
    held.did(append(1, 1, 0, 1), Outcome::Done);
    assert_eq!(held.status(1).started_at, Some(at(77)));
    let again = Append { started_at: Some(at(99)), ..append_rows(1, 1, 1, 1) };
    held.did(Command::Append(again), Outcome::Done);
    assert_eq!(held.status(1).started_at, Some(at(77)));
}

pub(crate) fn finishing_archives_the_log(database: &dyn Database) {
    let mut held = Held::new(database);
    held.run(1);
    held.did(append(1, 1, 0, 120), Outcome::Done);
    let before = held.log(1);
    held.did(finish(1, 1, 120, 2, at(9)), Outcome::Done);
    let after = held.log(1);
    assert_eq!((after.state, after.version), (State::Finished, 122));
    assert_eq!(after.rows[..120], before.rows);
    assert_eq!(after.rows[120..], [entry(120), entry(121)]);
}

pub(crate) fn a_finished_match_tells_its_result(database: &dyn Database) {
    let mut held = Held::new(database);
    held.run(1);
    held.did(finish(1, 1, 0, 7, at(9)), Outcome::Done);
    let row = held.reader.match_by_id(match_id(1)).expect("the store is there").expect("the match is known");
    assert_eq!((row.spec, row.result), (spec(1), Some(result(6))));
    let status = held.status(1);
    assert_eq!(status, row.status);
    assert_eq!((status.version, status.turns, status.late_moves), (7, 6, 3));
    assert_eq!((status.started_at, status.ended_at, status.updated_at), (Some(at(77)), Some(at(9)), at(9)));
    assert_eq!((status.worker, status.failure), (None, None));
}

pub(crate) fn finishing_is_fenced_and_versioned(database: &dyn Database) {
    let mut held = Held::new(database);
    held.run(1);
    held.did(append(1, 1, 0, 3), Outcome::Done);
    held.did(finish(1, 2, 3, 1, at(9)), Outcome::Fenced);
    held.did(finish(1, 1, 2, 1, at(9)), Outcome::VersionIs(3));
    held.did(finish(9, 1, 0, 1, at(9)), Outcome::Fenced);
    held.is_in(1, State::Running);
    held.did(finish(1, 1, 3, 1, at(9)), Outcome::Done);
    held.did(finish(1, 1, 3, 1, at(9)), Outcome::Fenced);
    held.did(append(1, 1, 4, 1), Outcome::Fenced);
    assert_eq!(held.stats(at(9)).finished.last_hour, 1, "finished once");
}

pub(crate) fn an_archive_may_come_compressed_or_not(database: &dyn Database) {
    let mut held = Held::new(database);
    held.run(1);
    held.did(finish(1, 1, 0, 200, at(9)), Outcome::Done);
    assert_eq!(held.log(1).rows.len(), 200);
    // The same bytes again, as the door hands them in: compressed beforehand.
    held.did(create(1, [2], at(0)), Outcome::Done);
    held.takes(claim(1, at(1), 1), &[(2, 1, 1)]);
    let Command::Finish { append, result, archive, now } = finish(2, 1, 0, 200, at(9)) else { unreachable!() };
    let archive = zstd::bulk::compress(&archive, 1).expect("it can be compressed");
    held.did(Command::Finish { append, result, archive, now }, Outcome::Done);
    assert_eq!(held.log(2).rows, held.log(1).rows);
}

pub(crate) fn a_log_without_entries_finishes(database: &dyn Database) {
    let mut held = Held::new(database);
    held.run(1);
    held.did(finish(1, 1, 0, 0, at(9)), Outcome::Done);
    assert_eq!(held.log(1), LogPage { state: State::Finished, version: 0, rows: vec![] });
}

pub(crate) fn large_entries_are_kept(database: &dyn Database) {
    let mut held = Held::new(database);
    held.run(1);
    // 16 seats that all shout the longest shout in four-byte characters.
    let bytes: Vec<u8> = (0..16 * 1_032).map(|at| (at % 251) as u8).collect();
    let row = LogRow { version: 0, turns: 0, late_moves: u32::MAX, bytes };
    let append = Append { rows: vec![row.clone()], ..append_rows(1, 1, 0, 0) };
    held.did(Command::Append(append), Outcome::Done);
    assert_eq!(held.log(1).rows, [row]);
}
