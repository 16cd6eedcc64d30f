//! Match logs: written under fences, read back alike before and after the end.

use crate::fixtures::*;
use engine::commands::{Command, MatchAppend, Outcome};
use engine::matches::lifecycle::MatchState;
use engine::rows::{MatchLogPage, MatchLogRow};
use store::Database;

pub(crate) fn entries_are_read_back(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.run(1);
    held.assert_outcome(append(1, 1, 0, 1), Outcome::Done);
    held.assert_outcome(append(1, 1, 1, 9), Outcome::Done);
    let want = MatchLogPage { state: MatchState::Running, version: 10, rows: (0..10).map(entry).collect() };
    assert_eq!(held.log(1), want);
    let status = held.status(1);
    assert_eq!((status.version, status.turns, status.late_moves), (10, 9, 4));
}

pub(crate) fn a_writer_of_the_past_is_fenced(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.run(1);
    held.assert_outcome(append(1, 1, 0, 2), Outcome::Done);
    held.assert_outcome(lease(2, at(5_000)), Outcome::Done);
    held.assert_claims(claim(2, at(5_000), 1), &[(1, 2, 1)]);
    held.assert_outcome(append(1, 1, 2, 1), Outcome::Fenced);
    held.assert_outcome(finish(1, 1, 2, 1, at(5_001)), Outcome::Fenced);
    held.assert_outcome(fail(1, 1, at(5_001)), Outcome::Fenced);
    held.assert_outcome(release(1, 1, true), Outcome::Fenced);
    held.assert_outcome(append(1, 3, 2, 1), Outcome::Fenced);
    held.assert_outcome(append(9, 1, 0, 1), Outcome::Fenced);
    assert_eq!(held.log(1).version, 2);
    held.assert_outcome(append(1, 2, 2, 1), Outcome::Done);
}

pub(crate) fn the_expected_version_is_checked(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.run(1);
    held.assert_outcome(append(1, 1, 1, 1), Outcome::VersionConflict(0));
    held.assert_outcome(append(1, 1, 0, 2), Outcome::Done);
    held.assert_outcome(append(1, 1, 0, 2), Outcome::VersionConflict(2));
    held.assert_outcome(append(1, 1, 1, 1), Outcome::VersionConflict(2));
    held.assert_outcome(append(1, 1, 3, 1), Outcome::VersionConflict(2));
    held.assert_outcome(append(1, 1, 1, 0), Outcome::VersionConflict(2));
    held.assert_outcome(append(1, 1, 2, 0), Outcome::Done);
    held.assert_outcome(append(1, 9, 1, 1), Outcome::Fenced);
}

pub(crate) fn entries_with_gaps_are_refused(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.run(1);
    let gap = MatchAppend { rows: vec![entry(0), entry(2)], ..append_rows(1, 1, 0, 0) };
    held.assert_outcome(Command::AppendMatch(gap), Outcome::VersionConflict(0));
    let shifted = MatchAppend { rows: vec![entry(1)], ..append_rows(1, 1, 0, 0) };
    held.assert_outcome(Command::AppendMatch(shifted), Outcome::VersionConflict(0));
    assert_eq!(held.log(1).rows, []);
    assert_eq!(held.status(1).started_at, None, "a refusal starts nothing");
}

pub(crate) fn a_start_is_remembered_once(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.run(1);
    assert_eq!(held.status(1).started_at, None);
    held.assert_outcome(append(1, 1, 0, 1), Outcome::Done);
    assert_eq!(held.status(1).started_at, Some(at(77)));
    let again = MatchAppend { started_at: Some(at(99)), ..append_rows(1, 1, 1, 1) };
    held.assert_outcome(Command::AppendMatch(again), Outcome::Done);
    assert_eq!(held.status(1).started_at, Some(at(77)));
}

pub(crate) fn finishing_archives_the_log(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.run(1);
    held.assert_outcome(append(1, 1, 0, 120), Outcome::Done);
    let before = held.log(1);
    held.assert_outcome(finish(1, 1, 120, 2, at(9)), Outcome::Done);
    let after = held.log(1);
    assert_eq!((after.state, after.version), (MatchState::Finished, 122));
    assert_eq!(after.rows[..120], before.rows);
    assert_eq!(after.rows[120..], [entry(120), entry(121)]);
}

pub(crate) fn a_finished_match_has_its_result(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.run(1);
    held.assert_outcome(finish(1, 1, 0, 7, at(9)), Outcome::Done);
    let row = held.reader.match_by_id(match_id(1)).expect("the store is there").expect("the match is known");
    assert_eq!((row.spec, row.result), (spec(1), Some(result(6))));
    let status = held.status(1);
    assert_eq!(status, row.status);
    assert_eq!((status.version, status.turns, status.late_moves), (7, 6, 3));
    assert_eq!((status.started_at, status.ended_at, status.updated_at), (Some(at(77)), Some(at(9)), at(9)));
    assert_eq!((status.worker, status.failure), (None, None));
}

pub(crate) fn finishing_is_fenced_and_versioned(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.run(1);
    held.assert_outcome(append(1, 1, 0, 3), Outcome::Done);
    held.assert_outcome(finish(1, 2, 3, 1, at(9)), Outcome::Fenced);
    held.assert_outcome(finish(1, 1, 2, 1, at(9)), Outcome::VersionConflict(3));
    held.assert_outcome(finish(9, 1, 0, 1, at(9)), Outcome::Fenced);
    held.is_in(1, MatchState::Running);
    held.assert_outcome(finish(1, 1, 3, 1, at(9)), Outcome::Done);
    held.assert_outcome(finish(1, 1, 3, 1, at(9)), Outcome::Fenced);
    held.assert_outcome(append(1, 1, 4, 1), Outcome::Fenced);
    assert_eq!(held.stats(at(9)).finished.last_hour, 1, "finished once");
}

pub(crate) fn an_archive_may_come_compressed_or_not(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.run(1);
    held.assert_outcome(finish(1, 1, 0, 200, at(9)), Outcome::Done);
    assert_eq!(held.log(1).rows.len(), 200);
    // The same bytes again, as [`store::Store`] passes them: compressed beforehand.
    held.assert_outcome(create(1, [2], at(0)), Outcome::Done);
    held.assert_claims(claim(1, at(1), 1), &[(2, 1, 1)]);
    let Command::FinishMatch { append, result, archive, now } = finish(2, 1, 0, 200, at(9)) else { unreachable!() };
    let archive = zstd::bulk::compress(&archive, 1).expect("it can be compressed");
    held.assert_outcome(Command::FinishMatch { append, result, archive, now }, Outcome::Done);
    assert_eq!(held.log(2).rows, held.log(1).rows);
}

pub(crate) fn a_log_without_entries_finishes(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.run(1);
    held.assert_outcome(finish(1, 1, 0, 0, at(9)), Outcome::Done);
    assert_eq!(held.log(1), MatchLogPage { state: MatchState::Finished, version: 0, rows: vec![] });
}

pub(crate) fn large_entries_are_kept(database: &dyn Database) {
    let mut held = StoreFixture::new(database);
    held.run(1);
    // 16 seats that all shout the longest shout in four-byte characters.
    let bytes: Vec<u8> = (0..16 * 1_032).map(|at| (at % 251) as u8).collect();
    let row = MatchLogRow { version: 0, turns: 0, late_moves: u32::MAX, bytes };
    let append = MatchAppend { rows: vec![row.clone()], ..append_rows(1, 1, 0, 0) };
    held.assert_outcome(Command::AppendMatch(append), Outcome::Done);
    assert_eq!(held.log(1).rows, [row]);
}
