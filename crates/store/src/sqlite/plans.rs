//! Tests: how SQLite answers the questions that are asked often. None may look through all matches, all seats or all logs.

use super::claim::{CLAIMED_BEFORE, HOLDERS, RUNNING_OF, WAITING};
use super::connection::{self, Access};
use super::log::APPEND;
use super::migrate;
use super::reader::{COUNTS, FAILURES, RUNNING_COUNT, WINDOWS, match_ids, status_by_id};
use super::retire::{OLDEST, OLDEST_ARCHIVES};
use crate::contract::MatchFilter;
use engine::ids::{AccountId, BotId, MatchId};
use rusqlite::Connection;
use std::path::Path;

fn database() -> Connection {
    let memory = Path::new(":memory:");
    let mut db = connection::open(memory, Access::Write).unwrap();
    migrate::migrate(&mut db, memory).unwrap();
    db
}

/// The steps of a plan, as `EXPLAIN QUERY PLAN` words them.
fn plan(db: &Connection, sql: &str) -> Vec<String> {
    let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let count = statement.parameter_count();
    let nothing = rusqlite::params_from_iter(vec![rusqlite::types::Null; count]);
    let steps = statement.query_map(nothing, |row| row.get(3)).unwrap();
    steps.map(|step| step.unwrap()).collect()
}

/// The question is answered by way of `index`, in the index's order, and no table with many rows is looked through.
#[track_caller]
fn check(sql: &str, index: &str) {
    let steps = plan(&database(), sql);
    let is_search = |step: &String| step.starts_with("SEARCH") && step.contains(index);
    assert!(steps.iter().any(is_search), "no search by {index}: {steps:#?}");
    let small = ["SCAN CONSTANT ROW", "SCAN holders", "SCAN tally", "SCAN (subquery"];
    let is_scan = |step: &String| step.starts_with("SCAN") && !small.iter().any(|small| step.starts_with(small));
    assert!(!steps.iter().any(is_scan), "a table is looked through: {steps:#?}");
    let is_sorted = |step: &String| step.contains("TEMP B-TREE FOR ORDER BY");
    assert!(sql == FAILURES || !steps.iter().any(is_sorted), "sorted: {steps:#?}");
}

#[test]
fn the_queue_is_read_from_its_indexes() {
    // From its beginning, in its order, as far as the limit.
    assert_eq!(plan(&database(), WAITING), ["SCAN matches USING COVERING INDEX matches_waiting"]);
    check(HOLDERS, "matches_running (worker>?)");
    check(RUNNING_OF, "matches_running (worker=?)");
    check(CLAIMED_BEFORE, "matches_running (worker=?)");
}

#[test]
fn an_append_finds_its_match_and_the_end_of_its_log() {
    check(APPEND, "PRIMARY KEY (id=?)");
    check(APPEND, "PRIMARY KEY (match_id=? AND version=?)");
}

#[test]
fn a_status_is_one_row() {
    assert_eq!(
        plan(&database(), &status_by_id()),
        ["SEARCH matches USING PRIMARY KEY (id=?)"],
        "nothing is joined to it"
    );
}

#[test]
fn statistics_count_no_matches() {
    check(WINDOWS, "INTEGER PRIMARY KEY (rowid>?)");
    check(FAILURES, "matches_ended (state=? AND ended_at>?)");
    check(RUNNING_COUNT, "COVERING INDEX matches_running (worker=?)");
    let steps = plan(&database(), COUNTS);
    assert_eq!(steps, ["SCAN tally"], "a handful of figures");
}

#[test]
fn retirement_begins_at_the_oldest_end() {
    check(OLDEST, "matches_ended (state=? AND ended_at<?)");
    check(OLDEST_ARCHIVES, "matches_ended (state=?");
}

#[test]
fn lists_are_read_from_their_indexes() {
    let filter = |account: bool, bot: bool| MatchFilter {
        account: account.then_some(AccountId(1)),
        bot: bot.then_some(BotId(1)),
        before: Some(MatchId(1)),
        limit: 20,
    };
    check(&match_ids(&filter(false, false)), "PRIMARY KEY (id<?)");
    check(&match_ids(&filter(true, false)), "matches_by_account (account=? AND id<?)");
    check(&match_ids(&filter(false, true)), "seats_by_bot (bot=? AND match_id<?)");
    check(&match_ids(&filter(true, true)), "seats_by_bot (bot=? AND match_id<?)");
}
