//! The schema, step by step. Nodes that start together take turns by an advisory lock.

use super::session::Session;
use crate::columns::Columns;
use crate::contract::StoreError;
use crate::sql::{Session as _, values};

/// The steps; the version of a schema is how many of them it has seen. A step that was released is never changed.
const MIGRATIONS: [&str; 26] = [
    include_str!("../../migrations/postgres/0001_first.sql"),
    include_str!("../../migrations/postgres/0002_node.sql"),
    include_str!("../../migrations/postgres/0003_limits.sql"),
    include_str!("../../migrations/postgres/0004_stories.sql"),
    include_str!("../../migrations/postgres/0005_worlds.sql"),
    include_str!("../../migrations/postgres/0006_story_names.sql"),
    include_str!("../../migrations/postgres/0007_desk.sql"),
    include_str!("../../migrations/postgres/0008_unfinished_hunts.sql"),
    include_str!("../../migrations/postgres/0009_tickets.sql"),
    include_str!("../../migrations/postgres/0010_unjoined_worlds.sql"),
    include_str!("../../migrations/postgres/0011_plain_names.sql"),
    include_str!("../../migrations/postgres/0012_public_matches.sql"),
    include_str!("../../migrations/postgres/0013_competitions.sql"),
    include_str!("../../migrations/postgres/0014_ladders.sql"),
    include_str!("../../migrations/postgres/0015_bot_health.sql"),
    include_str!("../../migrations/postgres/0016_evidence.sql"),
    include_str!("../../migrations/postgres/0017_private_seats.sql"),
    include_str!("../../migrations/postgres/0018_running_competitions.sql"),
    include_str!("../../migrations/postgres/0019_competition_repairs.sql"),
    include_str!("../../migrations/postgres/0020_competitions_due.sql"),
    include_str!("../../migrations/postgres/0021_ladder_vacuum.sql"),
    include_str!("../../migrations/postgres/0022_waiting_by_account.sql"),
    include_str!("../../migrations/postgres/0023_one_time_codes.sql"),
    include_str!("../../migrations/postgres/0024_bot_pages.sql"),
    include_str!("../../migrations/postgres/0025_accounts_by_name.sql"),
    include_str!("../../migrations/postgres/0026_bans.sql"),
];
const VERSION_KNOWN: i64 = MIGRATIONS.len() as i64;
/// "Gntl": the advisory lock held while the schema is changed.
const LOCK: i64 = 0x476e_746c;

/// Brings the database to the newest version that this program knows.
pub(super) fn migrate(session: &mut Session) -> Result<(), StoreError> {
    if version(session)? == VERSION_KNOWN {
        return Ok(());
    }
    session.script("BEGIN")?;
    let migrated = migrate_in_turn(session);
    session.script(if migrated.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    migrated
}

fn migrate_in_turn(session: &mut Session) -> Result<(), StoreError> {
    session.script(&format!("SET LOCAL lock_timeout = '60s'; SELECT pg_advisory_xact_lock({LOCK})"))?;
    let version = version(session)?;
    if version == 0 {
        session
            .script("CREATE TABLE gauntlet_schema (version BIGINT NOT NULL); INSERT INTO gauntlet_schema VALUES (0)")?;
    }
    for (step, number) in MIGRATIONS.iter().zip(1_i64..).filter(|(_, number)| *number > version) {
        session.script(step)?;
        session.run("UPDATE gauntlet_schema SET version = ?1", values![number])?;
    }
    Ok(())
}

/// Refuses a database that a reader could not understand.
pub(super) fn check(session: &mut Session) -> Result<(), StoreError> {
    match version(session)? {
        VERSION_KNOWN => Ok(()),
        older => {
            let why =
                format!("the database is at schema version {older} of {VERSION_KNOWN}: its writer has not been opened");
            Err(StoreError::Unavailable { why })
        }
    }
}

/// 0 for an empty database.
fn version(session: &mut Session) -> Result<i64, StoreError> {
    let ours = "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'gauntlet_schema'";
    if !session.exists(ours, &[])? {
        let others =
            "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename LIMIT 1";
        return match session.first(others, &[], |row| row.text())? {
            None => Ok(0),
            Some(table) => Err(wrong_schema(format!(
                "the database holds tables of another program (such as {table}) and no schema version of ours; name an \
                 empty database"
            ))),
        };
    }
    let version = session.first("SELECT version FROM gauntlet_schema", &[], |row| row.int())?.unwrap_or_default();
    if version > VERSION_KNOWN {
        return Err(wrong_schema(format!(
            "the database has schema version {version}, and this program knows versions up to {VERSION_KNOWN}: it was written by \
             a newer program; run that one, or restore a backup from before the upgrade"
        )));
    }
    Ok(version)
}

fn wrong_schema(why: String) -> StoreError {
    StoreError::WrongSchema { why }
}
