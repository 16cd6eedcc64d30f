//! Tests: which indexes PostgreSQL can use for the queries about stories. The tables are empty here, so the planner is
//! told to scan a table, or to sort, only where there is no other way.

use crate::columns::Columns;
use crate::contract::{Backend, Database, StoreError};
use crate::postgres::appends::KEPT;
use crate::postgres::batch::PostgresWriter;
use crate::postgres::session::Session;
use crate::postgres::tables::TABLE_HEADS;
use crate::sql::{Session as _, accounts, bot_health, competitions, ladders, tables, worlds};
use crate::testing::PostgresCluster;
use ::postgres::NoTls;
use engine::commands::{Command, CreateMatches, MatchAppend, Outcome};
use engine::ids::{AccountId, BotId, MatchId, WorkerId};
use engine::matches::slots::SlotUsage;
use engine::matches::spec::{MatchSpec, SeatSpec};
use engine::rows::{Account, MatchLogRow};
use engine::time::UnixMs;
use rules::chance::Seed;
use rules::snake::{Map, Rules, Ruleset, Settings};
use std::sync::{Mutex, OnceLock, PoisonError};

const NOW: UnixMs = UnixMs(1_700_000_040_000);
const SETTINGS: &str = "
    SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off; SET enable_hashjoin = off;
    SET enable_mergejoin = off; SET plan_cache_mode = force_generic_plan;";

fn session() -> Session {
    let url = PostgresCluster::shared().new_empty_database_url();
    drop(crate::postgres::PostgresDatabase::new(&url).unwrap().writer().unwrap());
    let mut session = Session::new(::postgres::Client::connect(&url, NoTls).unwrap());
    session.script(SETTINGS).unwrap();
    session
}

/// The plan of a statement for values that are not known yet.
fn plan(session: &mut Session, sql: &str) -> Result<String, StoreError> {
    let sql = sql.replace('?', "$");
    let count = (1..).take_while(|number| sql.contains(&format!("${number}"))).count();
    let nothing = vec!["NULL"; count].join(", ");
    session.script(&format!("PREPARE asked AS {sql}"))?;
    let explain = format!("EXPLAIN EXECUTE asked{}", if count > 0 { format!(" ({nothing})") } else { String::new() });
    let steps = session.all(&explain, &[], |row| row.text())?;
    session.script("DEALLOCATE asked")?;
    Ok(steps.join("\n"))
}

/// What only this database is sent, and the step of the walk over holders: a plan does not show it where it stands.
fn own_queries() -> Vec<(&'static str, String)> {
    let holders = tables::lost_table_holders::<Session>();
    let step = holders.split_once("UNION ALL").and_then(|(_, rest)| rest.split_once("SELECT (")?.1.split_once(')'));
    let step = step.expect("the walk has a step").0.replace("holders.worker", "?1");
    vec![
        ("tables with the ends of their logs", format!("{TABLE_HEADS} = ANY ($1)")),
        ("next holder", step),
        ("load", format!("{} = ANY ($1) ORDER BY id", tables::LOAD)),
        ("load of the log", format!("{} = ANY ($1) ORDER BY table_id, version", tables::LOAD_ROWS)),
    ]
}

/// Every one of `want` is a step of the named query's plan, and nothing is sorted or scanned.
#[track_caller]
fn check(name: &str, want: &[&str]) {
    static SESSION: OnceLock<Mutex<Session>> = OnceLock::new();
    let session = SESSION.get_or_init(|| Mutex::new(session()));
    let questions = own_queries().into_iter().chain(tables::queries::<Session>()).chain(worlds::queries::<Session>());
    let questions = questions.chain(competitions::queries::<Session>()).chain(bot_health::queries());
    let questions = questions.chain(ladders::queries::<Session>());
    let questions = questions.chain([("accounts by name", accounts::by_name::<Session>())]);
    let sql = questions.into_iter().find(|(known, _)| *known == name).expect("it is asked").1;
    let plan = plan(&mut session.lock().unwrap_or_else(PoisonError::into_inner), &sql).unwrap();
    for step in want {
        assert!(plan.contains(step), "{name}: no {step:?} in\n{plan}");
    }
    assert!(!plan.contains("Seq Scan") && !plan.contains("Sort"), "{name}:\n{plan}");
}

#[test]
fn lists_of_games_are_walked_in_their_order() {
    let before =
        "Index Cond: ((player = $1) AND (is_ended = $2) AND (ROW(created_at, table_id, number) < ROW($3, $4, $5)))";
    check("games of a player", &["Index Scan Backward using story_seats_by_player", before, "story_games_pkey"]);
    let before = "Index Cond: (ROW(created_at, table_id, number) < ROW($1, $2, $3))";
    check("lobby", &["Index Scan Backward using story_games_open", before]);
    let before = "Index Cond: (ROW(ended_at, table_id, number) < ROW($1, $2, $3))";
    check("history", &["Index Scan Backward using story_games_ended", before]);
    check("state of a game", &["story_games_pkey", "story_records_pkey"]);
    check("owner", &["story_tables_pkey"]);
}

#[test]
fn tables_to_take_over_are_found_by_their_owners() {
    check("lost holders", &["Index Only Scan using story_tables_live", "Index Cond: (worker >= $2)"]);
    check("next holder", &["Index Only Scan using story_tables_live", "Index Cond: (worker > $1)"]);
    check("tables claimed before", &["story_tables_live", "Index Cond: (worker = $1)"]);
    check("load", &["story_tables_pkey", "story_bases_pkey"]);
    check("load of the log", &["story_log_pkey"]);
    check("tables with the ends of their logs", &["story_tables_pkey", "Backward using story_log_pkey"]);
}

#[test]
fn accounts_are_listed_from_the_index_of_their_names() {
    let condition = "Index Cond: (((name)::text >= $1) AND ((name)::text < $2))";
    check("accounts by name", &["Index Scan using accounts_by_name", condition, "tokens_by_account"]);
}

#[test]
fn old_games_are_found_at_the_beginning_of_their_index() {
    check("oldest games", &["Index Scan using story_games_ended", "Index Cond: (ended_at < $1)"]);
    check("bare tables", &["story_tables_bare"]);
    check("bare tables used again", &["story_tables_bare"]);
}

#[test]
fn lists_of_worlds_are_walked_in_their_order() {
    check("worlds", &["Index Scan using worlds_pkey", "Index Cond: (id > $2)"]);
    check("world", &["worlds_pkey"]);
    check("world of a name", &["worlds_name_key"]);
    let lobby = "Index Cond: ((ends_at > $1) AND (ROW(ends_at, id) < ROW($2, $3)))";
    check("hunts", &["Index Scan Backward using worlds_by_end", lobby]);
    let condition = "Index Cond: (ROW(points, player) < ROW($1, $2))";
    check("leaderboard", &["Index Scan Backward using hunters_by_points", condition]);
    check("rounds", &["Index Scan Backward using hunt_rounds_pkey"]);
    check("members", &["world_members_pkey"]);
    check("joined", &["world_members_pkey"]);
    check("log", &["Index Scan using world_log_pkey"]);
}

#[test]
fn worlds_are_written_by_key() {
    check("held", &["worlds_pkey", "Backward using world_log_pkey"]);
    check("load of a world", &["worlds_pkey", "world_snapshots_pkey"]);
    check("load of claims", &["Index Scan using world_log_pkey"]);
    check("worlds of a creator", &["worlds_by_creator"]);
    check("live worlds", &["worlds_by_end"]);
    check("the last world to be kept", &["worlds_by_end"]);
    check("unjoined worlds", &["worlds_unjoined"]);
    check("hunter", &["hunters_pkey"]);
    check("totals", &["hunt_totals_pkey"]);
}

#[test]
fn health_and_calls_are_found_by_their_indexes() {
    check("bots to probe", &["Index Scan using bot_health_due", "next_probe_at <= $1", "bots_pkey"]);
    check("paused bots", &["using bot_health_paused"]);
    check("calls of a bot", &["using bot_calls_pkey", "((bot = $1) AND (hour >= $2))"]);
    check("old calls", &["using bot_calls_by_hour", "hour < $1"]);
}

#[test]
fn competitions_are_found_by_their_indexes() {
    check("competition", &["competitions_pkey"]);
    check("live competitions of an account", &["competitions_live"]);
    check("log of a competition", &["Index Scan using competition_log_pkey"]);
    let after = "Index Cond: ((competition = $1) AND (number > $2))";
    check("results of a competition", &["Index Scan using competition_results_pkey", after]);
    let before = "Index Cond: ((kind = $1) AND (id < $2))";
    check("public competitions", &["Index Scan Backward using competitions_public", before]);
    check("competitions of an account", &["Index Scan Backward using competitions_by_account"]);
    check("competitions that are due", &["Index Scan using competitions_due", "due_at <= $2"]);
    check("competitions with results", &["Index Scan using competitions_unapplied"]);
    check("running competitions", &["Index Scan using competitions_running"]);
}

#[test]
fn pages_of_ladders_are_walked_in_their_order() {
    let page = |column: &str| {
        format!("(ladder = $1) AND (season = $2) AND (is_ranked = $3) AND (ROW({column}, bot) < ROW($4, $5))")
    };
    check("ranking by rating", &["Backward using ladder_entries_by_score", &page("score")]);
    check("ranking by food", &["Backward using ladder_entries_by_food", &page("food_eaten")]);
    let better = page("score").replace('<', ">");
    check("entries that are better", &["Only Scan using ladder_entries_by_score", &better]);
    check(
        "accounts with active entries",
        &["Only Scan using ladder_entries_by_account", "(ladder = $1) AND (season = $2)"],
    );
    check("active entries", &["Only Scan using ladder_entries_by", "(ladder = $1) AND (season = $2)"]);
    check("entries by bot", &["ladder_entries_pkey", "(ladder = $1) AND (season = $2) AND (bot > $3)"]);
    check("entries of a bot", &["using ladder_entries_by_bot"]);
    check("ladders of a bot", &["using ladder_entries_by_bot", "Index Scan using competitions_"]);
    check("entry", &["ladder_entries_pkey", "(ladder = $1) AND (season = $2) AND (bot = $3)"]);
    let of_bot = "(ROW(bot, number) >= ROW($2, 0)) AND (ROW(bot, number) < ROW($2, $3))";
    check("rated games of a bot", &["Backward using ladder_games_by_bot", of_bot]);
    check("rated games of results", &["ladder_games_pkey", "(number > $2) AND (number <= $3)"]);
    check("meetings of a bot", &["ladder_meetings_pkey", "(bot = $3) AND (opponent > $4)"]);
    check("meetings", &["ladder_meetings_pkey", "(ROW(bot, opponent) > ROW($3, $4))"]);
    check("seats of a season", &["ladder_seats_pkey", "(ladder = $1) AND (season = $2)"]);
    check("invitation", &["Only Scan using ladder_invitations"]);
    check("invitations", &["ladder_invitations_pkey", "(ladder = $1) AND (account > $2)"]);
    check("ladders to which an account is invited", &["ladder_invitations_by_account", "(ladder > $2)"]);
}

#[test]
fn what_is_old_or_not_counted_is_found_by_its_index() {
    check("worlds behind", &["worlds_pkey", "Backward using world_log_pkey", "Only Scan using world_log_pkey"]);
    for name in ["old worlds", "old worlds that are not counted"] {
        check(name, &["Index Scan using worlds_by_end", "Index Cond: (ends_at < $1)"]);
    }
}

/// A match in the hands of a worker; entries of its log follow.
fn writer_of_a_match() -> PostgresWriter {
    let url = PostgresCluster::shared().new_empty_database_url();
    let mut writer = PostgresWriter::new(crate::postgres::connection::Connector::new(&url).unwrap().open().unwrap());
    crate::postgres::migrate::migrate(&mut writer.session, crate::SchemaPolicy::Migrate).unwrap();
    let account = Account { id: AccountId(1), name: "a".to_owned(), created_at: NOW };
    let settings =
        Settings { food_spawn_chance: 15, minimum_food: 1, hazard_damage_per_turn: 14, shrink_every_n_turns: 25 };
    let spec = MatchSpec {
        id: MatchId(1),
        rules: Rules { ruleset: Ruleset::Standard, map: Map::Standard, settings, solo: true },
        width: 11,
        height: 11,
        seed: Seed(1),
        timeout_ms: 500,
        turns_max: 5_000,
        origin: None,
        is_public: false,
        seats: vec![SeatSpec {
            bot: BotId(1),
            name: "b".to_owned(),
            owner: "a".to_owned(),
            url: "http://bots.example".to_owned(),
        }],
    };
    let create = CreateMatches { account: account.id, idempotency: None, matches: vec![spec], now: NOW };
    for command in [Command::EnsureAccount(account), Command::CreateMatches(create), lease()] {
        writer.commit(&[command]).unwrap();
    }
    let claim = Command::ClaimMatches {
        worker: WorkerId(1),
        number: 1,
        now: NOW,
        max: 1,
        slots: SlotUsage::new(1),
        attempts_max: 3,
    };
    let claimed = writer.commit(&[claim]).unwrap();
    assert!(matches!(claimed.as_slice(), [Outcome::MatchesClaimed(claimed)] if claimed.len() == 1), "{claimed:?}");
    writer
}

fn lease() -> Command {
    let (worker, until) = (WorkerId(1), UnixMs(NOW.0 + 60_000));
    Command::RenewLease { worker, address: "10.0.0.1:4000".to_owned(), now: NOW, until }
}

#[test]
fn appends_are_planned_once_and_nothing_else_is() {
    let mut writer = writer_of_a_match();
    for version in 0..12 {
        let rows = vec![MatchLogRow { version, turns: version, late_moves: 0, bytes: vec![7] }];
        let append = MatchAppend {
            id: MatchId(1),
            epoch: 1,
            rows,
            expected_version: version,
            started_at: (version == 0).then_some(NOW),
        };
        // Alone, and with something that is not an append.
        let batch = [Command::AppendMatch(append), lease()];
        let done = writer.commit(&batch[..1 + version as usize % 2]).unwrap();
        assert!(matches!(done[0], Outcome::Done), "{done:?}");
    }
    let planned = "SELECT statement, generic_plans::bigint, custom_plans::bigint FROM pg_prepared_statements
                   WHERE parameter_types <> '{}'";
    let planned = writer.session.all(planned, &[], |row| Ok((row.text()?, row.int()?, row.int()?))).unwrap();
    for (sql, kept, new) in &planned {
        let is_kept = KEPT.contains(&sql.as_str());
        assert_eq!((*kept > 0, *new > 0), (is_kept, !is_kept), "{kept} kept, {new} new: {sql}");
    }
    let sent = |sql: &str| planned.iter().find(|(known, ..)| known == sql).map_or(0, |(_, kept, _)| *kept);
    assert_eq!(KEPT.map(sent), [12, 12, 12, 1], "locks, states, rows, starts");
}
