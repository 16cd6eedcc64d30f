//! Tests: the plans of SQLite's frequent queries. None may scan all matches, all seats or all logs.

use crate::contract::MatchList;
use crate::sql::claims::{CLAIMED_BEFORE, RUNNING, RUNNING_COUNT, lost_holders};
use crate::sql::creations::WAITING_COUNT;
use crate::sql::match_lists::{ended_public, running_public};
use crate::sql::reader::{COUNTS, FAILURES, PROBES, SCHEDULED, WINDOWS, public_bots};
use crate::sql::waiting::{ACCOUNTS_WAITING, first_waiting, first_waiting_of};
use crate::sql::{
    account_deletion, accounts, activity, bot_health, codes, competitions, guest_retirement, ladders, last_admin,
    leaders, match_lists, matches, nodes, retire, worlds,
};
use crate::sqlite::connection::{self, Access};
use crate::sqlite::log::APPEND;
use crate::sqlite::migrate;
use crate::sqlite::reader::status_by_id;
use crate::sqlite::session::{Session, plan};
use crate::sqlite::tables;
use engine::commands::NamesPage;
use engine::ids::{AccountId, BotId};
use engine::matches::result::SeatOutcome;
use rusqlite::Connection;
use std::path::Path;

fn database() -> Connection {
    let memory = Path::new(":memory:");
    let mut db = connection::open(memory, Access::Write).unwrap();
    migrate::migrate(&mut db, memory, crate::SchemaPolicy::Migrate).unwrap();
    db
}

/// The query uses `index`, in the index's order, and scans no table with many rows.
#[track_caller]
fn check(sql: &str, index: &str) {
    let steps = plan(&database(), sql).unwrap();
    let is_search = |step: &String| step.starts_with("SEARCH") && step.contains(index);
    assert!(steps.iter().any(is_search), "no search by {index}: {steps:#?}");
    let small = ["SCAN CONSTANT ROW", "SCAN holders", "SCAN counters", "SCAN newest"];
    let is_scan = |step: &String| step.starts_with("SCAN") && !small.iter().any(|small| step.starts_with(small));
    assert!(!steps.iter().any(is_scan), "a table is looked through: {steps:#?}");
    let is_sorted = |step: &String| step.contains("TEMP B-TREE FOR ORDER BY");
    assert!(sql == FAILURES || !steps.iter().any(is_sorted), "sorted: {steps:#?}");
}

#[test]
fn the_queue_is_read_from_its_indexes() {
    // From its beginning, in its order, as far as the limit.
    assert_eq!(plan(&database(), &first_waiting::<Session>()).unwrap(), ["SCAN matches USING INDEX matches_waiting"]);
    check(&first_waiting_of::<Session>(), "matches_waiting_by_account (account=?)");
    for seek in ["account>?", "account=?"] {
        let steps = plan(&database(), ACCOUNTS_WAITING).unwrap();
        let is_seek = |step: &&String| step.contains(&format!("COVERING INDEX matches_waiting_by_account ({seek})"));
        assert!(steps.iter().any(|step| is_seek(&step)), "{steps:#?}");
        let is_scan = |step: &&String| step.starts_with("SCAN") && !step.starts_with("SCAN waiting");
        assert_eq!(steps.iter().filter(is_scan).count(), 1, "a constant row and nothing else: {steps:#?}");
    }
    check(&format!("{WAITING_COUNT} = ?1 GROUP BY account"), "COVERING INDEX matches_waiting_by_account (account=?)");
    check(&lost_holders("matches", "state = 'running'"), "matches_running (worker>?)");
    check(&format!("{RUNNING} worker IS ?1 ORDER BY id LIMIT ?2"), "matches_running (worker=?)");
    check(CLAIMED_BEFORE, "matches_running (worker=?)");
}

#[test]
fn what_a_deleted_account_has_is_found_by_indexes() {
    check(account_deletion::BOTS_LEFT, "bots_by_account (account=?)");
    check(account_deletion::UNCLEARED, "accounts_uncleared (deleted_at>? AND deleted_at<?)");
    check(account_deletion::LIVE_COMPETITIONS, "competitions_live (account=?)");
    check(account_deletion::LIVE_HUNTS, "worlds_by_creator (creator=?");
    for (state, queue) in [("waiting", "matches_waiting"), ("running", "matches_running")] {
        let steps = plan(&database(), &account_deletion::live_seat(state)).unwrap();
        let is_queue = |step: &&String| step.contains(queue);
        assert!(steps.iter().any(|step| is_queue(&step)), "what is under way is walked: {steps:#?}");
        assert!(steps.iter().all(|step| !step.starts_with("SCAN") || is_queue(&step)), "{steps:#?}");
    }
    let mut page = Some(NamesPage::FIRST);
    while let Some(kind) = page {
        for walk in [account_deletion::page_end(kind), account_deletion::forget(kind)] {
            check(&walk, ">?");
        }
        page = kind.next_kind();
    }
    check(matches::SEAT_OWNERS, "PRIMARY KEY (match_id=?)");
    check(last_admin::ADMIN_TOKEN, "tokens_of_admins (account=?)");
    check(last_admin::LASTING_TOKENS, "tokens_of_admins (account>?)");
    check(last_admin::LIVE_BANS, "(target=?)");
}

#[test]
fn an_append_finds_its_match_and_the_end_of_its_log() {
    check(APPEND, "PRIMARY KEY (id=?)");
    check(APPEND, "PRIMARY KEY (match_id=? AND version=?)");
}

#[test]
fn a_status_is_one_row() {
    assert_eq!(
        plan(&database(), &status_by_id()).unwrap(),
        ["SEARCH matches USING PRIMARY KEY (id=?)"],
        "nothing is joined to it"
    );
}

#[test]
fn statistics_count_no_matches() {
    check(WINDOWS, "INTEGER PRIMARY KEY (rowid>?)");
    check(FAILURES, "matches_ended (state=? AND ended_at>?)");
    check(SCHEDULED, "competitions_due (kind=? AND due_at>?)");
    let probes = plan(&database(), PROBES).unwrap();
    let [search, scan] = ["SEARCH bot_health USING COVERING INDEX bot_health_due (next_probe_at>?)", "SCAN due"];
    assert!(probes.iter().any(|step| step == search), "{probes:#?}");
    assert!(probes.iter().all(|step| !step.starts_with("SCAN") || step == scan), "{probes:#?}");
    check(&format!("{RUNNING_COUNT} worker IS ?1"), "COVERING INDEX matches_running (worker=?)");
    let steps = plan(&database(), COUNTS).unwrap();
    assert_eq!(steps, ["SCAN counters"], "a handful of figures");
}

#[test]
fn retirement_begins_at_the_oldest_end() {
    check(&retire::oldest::<Session>(), "matches_ended (state=? AND ended_at<?)");
    check(&retire::oldest_archives::<Session>(), "matches_ended (state=?");
    check(retire::OLDEST_MATCH, "matches_ended (state=? AND ended_at<?)");
    check(retire::OLDEST_GAME, "story_games_ended (ended_at<?)");
    check(retire::OLDEST_HUNT, "worlds_by_end (ends_at<?)");
    check(retire::OLDEST_COMPETITION, "competitions_ended (ended_at<?)");
    for records in engine::commands::GuestRecords::ALL {
        check(&guest_retirement::page::<Session>(records), "PRIMARY KEY (player>? AND player<?)");
    }
}

#[test]
fn lists_are_read_from_their_indexes() {
    let page = |list| format!("SELECT * FROM matches WHERE {}", match_lists::which(list));
    check(&page(MatchList::All), "PRIMARY KEY (id<?)");
    check(&page(MatchList::OfAccount(AccountId(1))), "matches_by_account (account=? AND id<?)");
    let of_bot = |outcome, viewer| page(MatchList::OfBot { bot: BotId(1), outcome, viewer });
    check(&of_bot(None, None), "seats_by_bot (bot=? AND match_id<?)");
    check(&of_bot(None, None), "matches USING PRIMARY KEY (id=?)");
    let lost = Some(SeatOutcome::Lost);
    check(&of_bot(lost, None), "COVERING INDEX seats_by_outcome (bot=? AND outcome=? AND match_id<?)");
}

/// What a viewer may not see is not even stepped over.
#[test]
fn lists_for_a_viewer_are_two_walks_of_an_index() {
    for (outcome, index) in [
        (None, "COVERING INDEX seats_by_viewer (bot=? AND private_to=? AND match_id<?)"),
        (
            Some(SeatOutcome::Lost),
            "COVERING INDEX seats_by_viewer_and_outcome (bot=? AND private_to=? AND outcome=? AND match_id<?)",
        ),
    ] {
        let list = MatchList::OfBot { bot: BotId(1), outcome, viewer: Some(AccountId(1)) };
        let steps = plan(&database(), &format!("SELECT * FROM matches WHERE {}", match_lists::which(list))).unwrap();
        let walks = steps.iter().filter(|step| step.starts_with("SEARCH") && step.contains(index)).count();
        assert_eq!(walks, 2, "{steps:#?}");
        let is_allowed = |step: &String| ["public", "own", "seen"].iter().any(|part| step == &format!("SCAN {part}"));
        assert!(!steps.iter().any(|step| step.starts_with("SCAN") && !is_allowed(step)), "{steps:#?}");
    }
}

#[test]
fn lists_of_public_matches_are_read_from_their_indexes() {
    let of = |which: String| format!("SELECT * FROM matches WHERE {which}");
    check(&of(running_public::<Session>(false)), "matches_public_running (id<?)");
    check(&of(running_public::<Session>(true)), "matches_public_running (id<?)");
    check(&of(ended_public::<Session>(false)), "matches_public_ended (ended_at>? AND (ended_at,id)<(?,?))");
    check(
        &of(ended_public::<Session>(true)),
        "matches_public_ended_by_map (map=? AND ended_at>? AND (ended_at,id)<(?,?))",
    );
}

#[test]
fn public_bots_are_read_from_their_index() {
    check(&public_bots::<Session>(), "bots_public (id<?)");
}

/// Whatever is counted every second ends at its limit, on an index that holds nothing but what is counted.
#[test]
fn what_goes_on_in_public_is_counted_on_indexes() {
    let check = |name: &str, want: &[&str]| {
        let queries = activity::queries::<Session>();
        let sql = &queries.iter().find(|(known, _)| *known == name).expect("it is asked").1;
        let mut steps = plan(&database(), sql).unwrap();
        steps.retain(|step| !step.starts_with("CO-ROUTINE") && !step.contains("SUBQUERY"));
        assert_eq!(steps, want, "{name}");
    };
    let search = "SEARCH matches USING COVERING INDEX";
    check("public matches that run", &[&format!("{search} matches_public_running (id<?)"), "SCAN running"]);
    check("public matches that wait", &["SCAN matches USING INDEX matches_waiting", "SCAN next"]);
    check("public matches that ended", &[&format!("{search} matches_public_ended (ended_at>?)"), "SCAN ended"]);
    check("stories", &["SCAN story_tables USING COVERING INDEX story_tables_live", "SCAN live"]);
    check("open stories", &["SCAN story_games USING INDEX story_games_open", "SCAN open"]);
    check("open ladders", &["SEARCH competitions USING INDEX competitions_running (kind=?)", "SCAN open"]);
    let result = "USING PRIMARY KEY (competition=? AND number";
    check(
        "matches that were rated",
        &[
            "SEARCH c USING INDEX competitions_running (kind=?)",
            &format!("SEARCH l {result}=?)"),
            "SCAN active",
            &format!("SEARCH r {result}>? AND number<?)"),
        ],
    );
}

/// What workers hold is counted on indexes of what is under way; there are few workers.
#[test]
fn nodes_and_what_they_hold_are_read_from_small_tables_and_indexes() {
    let check = |sql: &str, want: &str| {
        let mut steps = plan(&database(), sql).unwrap();
        steps.retain(|step| !step.starts_with("USE TEMP B-TREE") && !step.starts_with("CO-ROUTINE"));
        assert_eq!(steps.iter().filter(|step| *step != "SCAN live").collect::<Vec<_>>(), [want], "{sql}");
    };
    let of_worker = |sql: &str| format!("{sql} = ?1 GROUP BY worker");
    check(nodes::LEASES, "SCAN workers");
    check(&of_worker(nodes::MATCHES), "SEARCH matches USING COVERING INDEX matches_running (worker=?)");
    let tables = of_worker(&nodes::tables::<Session>());
    check(&tables, "SEARCH story_tables USING COVERING INDEX story_tables_live (worker=?)");
    check(nodes::WORLDS, "SEARCH worlds USING INDEX worlds_by_end (ends_at>?)");
    check(nodes::LEADERS, "SCAN leaders");
}

/// The named query about stories uses these searches, and otherwise only constants.
#[track_caller]
fn check_story(name: &str, want: &[&str]) {
    check_named(tables::queries(), name, want);
}

/// The same for a query about worlds.
#[track_caller]
fn check_world(name: &str, want: &[&str]) {
    check_named(worlds::queries::<Session>(), name, want);
}

#[track_caller]
fn check_named(questions: Vec<(&'static str, String)>, name: &str, want: &[&str]) {
    let sql = questions.into_iter().find(|(known, _)| *known == name).expect("it is asked").1;
    let mut steps = plan(&database(), &sql).unwrap();
    let aside = [
        "SCAN CONSTANT ROW",
        "SCAN holders",
        "SCAN logged",
        "SCAN (subquery",
        "SCAN known",
        "SCAN theirs",
        "SETUP",
        "RECURSIVE STEP",
        "CO-ROUTINE",
        "SCALAR",
        "CORRELATED",
    ];
    steps.retain(|step| !aside.iter().any(|aside| step.starts_with(aside)));
    assert_eq!(steps, want, "{name}");
}

#[test]
fn writes_to_tables_find_their_rows_by_key() {
    let seats = "SEARCH story_seats USING PRIMARY KEY (table_id=? AND number=?)";
    let game = "SEARCH g USING PRIMARY KEY (table_id=? AND number=?)";
    check_story(
        "append",
        &[
            "SEARCH story_tables USING PRIMARY KEY (id=?)",
            "SEARCH story_log USING PRIMARY KEY (table_id=? AND version=?)",
        ],
    );
    check_story("live or not", &["SEARCH story_tables USING PRIMARY KEY (id=?)"]);
    check_story("seat", &[game]);
    check_story("record", &[game]);
    check_story("seats of the invited", &[&seats.replace("story_seats", "s")]);
    check_story("seats at the end", &[seats]);
    check_story("seat of a winner", &["SEARCH story_seats USING PRIMARY KEY (table_id=? AND number=? AND player=?)"]);
}

#[test]
fn lists_of_games_are_walked_in_their_order() {
    let game = "SEARCH g USING PRIMARY KEY (table_id=? AND number=?)";
    let record = "SEARCH r USING INDEX sqlite_autoindex_story_records_1 (table_id=? AND number=?) LEFT-JOIN";
    check_story("state of a game", &[game, record]);
    let seats =
        "SEARCH s USING INDEX story_seats_by_player (player=? AND is_ended=? AND (created_at,table_id,number)<(?,?,?))";
    check_story("games of a player", &[seats, game]);
    check_story("lobby", &["SEARCH g USING INDEX story_games_open ((created_at,table_id,number)<(?,?,?))"]);
    check_story(
        "history",
        &["SEARCH g USING INDEX story_games_ended (ended_at>? AND (ended_at,table_id,number)<(?,?,?))"],
    );
    check_story("standing", &["SEARCH story_standings USING PRIMARY KEY (player=?)"]);
    check_story("remembered answer", &["SEARCH story_answers USING PRIMARY KEY (player=? AND key=?)"]);
}

#[test]
fn tables_to_take_over_are_found_by_their_owners() {
    let worker = "SEARCH w USING PRIMARY KEY (id=?) LEFT-JOIN";
    check_story("owner", &["SEARCH t USING PRIMARY KEY (id=?)", worker]);
    let next = "SEARCH story_tables USING COVERING INDEX story_tables_live (worker>?)";
    check_story("lost holders", &[next, next, "SEARCH workers USING PRIMARY KEY (id=?) LEFT-JOIN"]);
    let live = "SEARCH story_tables USING COVERING INDEX story_tables_live (worker=?)";
    check_story("live tables of a worker", &[live]);
    check_story("tables claimed before", &["SEARCH story_tables USING INDEX story_tables_live (worker=?)"]);
    let base = "SEARCH story_bases USING INDEX sqlite_autoindex_story_bases_1 (table_id=?) LEFT-JOIN";
    check_story("load", &["SEARCH story_tables USING PRIMARY KEY (id=?)", base]);
    check_story("load of the log", &["SEARCH story_log USING PRIMARY KEY (table_id=?)"]);
}

/// Tables without games are the few whose last game was just deleted: their index is read as a whole, and no other.
#[test]
fn old_games_are_found_at_the_beginning_of_their_index() {
    check_story("oldest games", &["SEARCH g USING COVERING INDEX story_games_ended (ended_at<?)"]);
    let games = "SEARCH story_games USING PRIMARY KEY (table_id=?)";
    check_story("bare mark", &["SEARCH story_tables USING PRIMARY KEY (id=?)", games]);
    let by_table = "SEARCH g USING PRIMARY KEY (table_id=?)";
    check_story("bare tables used again", &["SCAN story_tables USING COVERING INDEX story_tables_bare", by_table]);
    let worker = "SEARCH w USING PRIMARY KEY (id=?) LEFT-JOIN";
    check_story("bare tables", &["SCAN t USING INDEX story_tables_bare", by_table, worker]);
}

#[test]
fn writes_to_worlds_find_their_rows_by_key() {
    let end = "SEARCH world_log USING PRIMARY KEY (world_id=?)";
    check_world("held", &["SEARCH worlds USING PRIMARY KEY (id=?)", end]);
    check_world("forgotten entries", &["SEARCH world_log USING PRIMARY KEY (world_id=? AND version<?)"]);
    let snapshot = "SEARCH s USING INDEX sqlite_autoindex_world_snapshots_1 (world_id=?) LEFT-JOIN";
    check_world("load of a world", &["SEARCH w USING PRIMARY KEY (id=?)", snapshot]);
    check_world("load of claims", &["SEARCH world_log USING PRIMARY KEY (world_id=? AND version>?)"]);
    check_world(
        "worlds of a creator",
        &["SEARCH worlds USING COVERING INDEX worlds_by_creator (creator=? AND ends_at>?)"],
    );
    // As far as the limit.
    check_world("live worlds", &["SEARCH worlds USING COVERING INDEX worlds_by_end (ends_at>?)"]);
    check_world("the last world to be kept", &["SEARCH worlds USING COVERING INDEX worlds_by_end (ends_at<?)"]);
    check_world("unjoined worlds", &["SEARCH worlds USING INDEX worlds_by_end (ends_at>?)"]);
    check_world("joined", &["SEARCH world_members USING PRIMARY KEY (world_id=? AND player=?)"]);
    check_world("hunter", &["SEARCH hunters USING PRIMARY KEY (player=?)"]);
    check_world("totals", &["SEARCH hunt_totals USING INTEGER PRIMARY KEY (rowid=?)"]);
}

#[test]
fn health_and_calls_are_found_by_their_indexes() {
    let queries = bot_health::queries();
    let check = |name: &str, index: &str| {
        let query = queries.iter().find(|(known, _)| *known == name).expect("it is asked");
        check(&query.1, index);
    };
    check("bots to probe", "bot_health_due (next_probe_at<?)");
    check("calls of a bot", "PRIMARY KEY (bot=? AND hour>?)");
    check("old calls", "bot_calls_by_hour (hour<?)");
    // From its beginning, in its order, as far as the limit.
    let steps = plan(&database(), bot_health::PAUSED).unwrap();
    assert_eq!(steps, ["SCAN bot_health USING COVERING INDEX bot_health_paused"]);
}

#[test]
fn competitions_are_found_by_their_indexes() {
    let queries = competitions::queries::<Session>();
    let check = |name: &str, index: &str| {
        let query = queries.iter().find(|(known, _)| *known == name).expect("it is asked");
        check(&query.1, index);
    };
    check("competition", "PRIMARY KEY (id=?)");
    check("live competitions of an account", "competitions_live (account=? AND kind=?)");
    check("log of a competition", "PRIMARY KEY (competition=? AND version>?)");
    check("results of a competition", "PRIMARY KEY (competition=? AND number>?)");
    check("public competitions", "competitions_public (kind=? AND id<?)");
    check("competitions of an account", "competitions_by_account (account=? AND kind=? AND id<?)");
    check("competitions that are due", "competitions_due (kind=? AND (due_at,id)>(?,?) AND due_at<?)");
    check("competitions with results", "competitions_unapplied (kind=? AND id>?)");
    check("running competitions", "competitions_running (kind=? AND id>?)");
    check("old competitions", "competitions_ended (ended_at<?)");
    check("matches of deleted bots", "matches_live_by_competition (competition>?)");
    check("matches of deleted bots", "PRIMARY KEY (match_id=?)");
}

#[test]
fn games_of_a_competition_are_read_from_its_indexes() {
    let page = |is_live| format!("SELECT * FROM matches WHERE {}", competitions::matches_of(is_live));
    check(&page(false), "matches_by_competition (competition=? AND id<?)");
    check(&page(true), "matches_live_by_competition (competition=? AND id<?)");
}

#[test]
fn pages_of_ladders_are_walked_in_their_order() {
    let queries = ladders::queries::<Session>();
    let check = |name: &str, index: &str| {
        let query = queries.iter().find(|(known, _)| *known == name).expect("it is asked");
        check(&query.1, index);
    };
    let page = "(ladder=? AND season=? AND is_ranked=? AND";
    check("ranking by rating", &format!("INDEX ladder_entries_by_score {page} (score,bot)<(?,?))"));
    check("ranking by food", &format!("INDEX ladder_entries_by_food {page} (food_eaten,bot)<(?,?))"));
    check("entries that are better", &format!("COVERING INDEX ladder_entries_by_score {page} (score,bot)>(?,?))"));
    check("accounts with active entries", "COVERING INDEX ladder_entries_by_account");
    check("active entries", "COVERING INDEX ladder_entries_by");
    check("entries by bot", "e USING PRIMARY KEY (ladder=? AND season=? AND bot>?)");
    check("entries of a bot", "e USING INDEX ladder_entries_by_bot (bot=?)");
    check("ladders of a bot", "e USING INDEX ladder_entries_by_bot (bot=?)");
    check("entry", "e USING PRIMARY KEY (ladder=? AND season=? AND bot=?)");
    check("rated games of a bot", "ladder_games_by_bot (ladder=? AND (bot,number)>(?,?) AND (bot,number)<(?,?))");
    check("rated games of results", "PRIMARY KEY (ladder=? AND number>? AND number<?)");
    check("meetings of a bot", "m USING PRIMARY KEY (ladder=? AND season=? AND bot=? AND opponent>?)");
    check("meetings", "PRIMARY KEY (ladder=? AND season=? AND (bot,opponent)>(?,?))");
    check("seats of a season", "PRIMARY KEY (ladder=? AND season=?)");
    check("invitation", "PRIMARY KEY (ladder=? AND account=?)");
    check("invitations", "i USING PRIMARY KEY (ladder=? AND account>?)");
    check("ladders to which an account is invited", "ladder_invitations_by_account (account=? AND ladder>?)");
}

#[test]
fn the_leader_of_a_job_is_found_by_key() {
    let want = ["SEARCH leaders USING PRIMARY KEY (job=?)", "SEARCH l USING PRIMARY KEY (id=?)"];
    assert_eq!(plan(&database(), leaders::LEADER).unwrap(), want);
}

#[test]
fn lists_of_worlds_are_walked_in_their_order() {
    let worker = "SEARCH l USING PRIMARY KEY (id=?) LEFT-JOIN";
    check_world("world", &["SEARCH w USING PRIMARY KEY (id=?)", worker]);
    check_world("world of a name", &["SEARCH w USING INDEX sqlite_autoindex_worlds_2 (name=?)", worker]);
    let joined = "SEARCH m USING PRIMARY KEY (world_id=? AND player=?)";
    check_world("worlds", &["SEARCH w USING PRIMARY KEY (id>?)", joined, worker]);
    let lobby = "SEARCH w USING INDEX worlds_by_end (ends_at>? AND (ends_at,id)<(?,?))";
    check_world("hunts", &[lobby, worker]);
    check_world("log", &["SEARCH world_log USING PRIMARY KEY (world_id=? AND version>?)"]);
    check_world("members", &["SEARCH world_members USING PRIMARY KEY (world_id=?)"]);
    check_world("leaderboard", &["SEARCH hunters USING INDEX hunters_by_points ((points,player)<(?,?))"]);
    check_world("rounds", &["SEARCH hunt_rounds USING PRIMARY KEY (world_id=? AND number<?)"]);
}

#[test]
fn what_is_old_or_not_counted_is_found_by_its_index() {
    let (end, next) =
        ("SEARCH world_log USING PRIMARY KEY (world_id=?)", "SEARCH world_log USING PRIMARY KEY (world_id>?)");
    // The end is read twice: to compare, and to return it.
    check_world("worlds behind", &[next, next, "SEARCH w USING PRIMARY KEY (id=?)", end, end]);
    let old = "SEARCH w USING INDEX worlds_by_end (ends_at<?)";
    let lease = "SEARCH l USING PRIMARY KEY (id=?) LEFT-JOIN";
    check_world("old worlds", &[old, "SEARCH e USING PRIMARY KEY (world_id=? AND version>?)", lease]);
    let not_counted = "SEARCH e EXISTS USING PRIMARY KEY (world_id=? AND version>?)";
    check_world("old worlds that are not counted", &[old, lease, not_counted]);
}

#[test]
fn accounts_are_listed_from_the_index_of_their_names() {
    check(&accounts::by_name::<Session>(), "sqlite_autoindex_accounts_2 (name>? AND name<?)");
    check(&accounts::by_name::<Session>(), "COVERING INDEX tokens_by_account (account=?)");
}

#[test]
fn codes_and_sessions_are_found_by_their_indexes() {
    check(&codes::by_digest(), "sqlite_autoindex_one_time_codes_2 (digest=?)");
    check(codes::INVITES_COUNT, "one_time_codes_by_account (account=?)");
    check(codes::LINKS_COUNT, "one_time_codes_by_account (account=?)");
    check(&codes::invites_page(), "one_time_codes_by_account (account=? AND id<?)");
    check(codes::SESSIONS, "tokens_by_account (account=?)");
    check(&codes::expired::<Session>("one_time_codes"), "one_time_codes_by_expiry (expires_at<?)");
    check(&codes::expired::<Session>("tokens"), "tokens_by_expiry (expires_at<?)");
}
