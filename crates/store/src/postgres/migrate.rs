//! The schema, step by step. Nodes that start together take turns by an advisory lock.

use super::session::Session;
use crate::columns::Columns;
use crate::contract::StoreError;
use crate::schema::{SchemaPolicy, SchemaVersion, wrong_schema};
use crate::sql::{Session as _, values};

/// The steps; the version of a schema is how many of them it has seen. A step that was released is never changed.
const MIGRATIONS: [&str; 33] = [
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
    include_str!("../../migrations/postgres/0027_audit.sql"),
    include_str!("../../migrations/postgres/0028_ends_of_tokens.sql"),
    include_str!("../../migrations/postgres/0029_retention.sql"),
    include_str!("../../migrations/postgres/0030_checksums.sql"),
    include_str!("../../migrations/postgres/0031_deleted_accounts.sql"),
    include_str!("../../migrations/postgres/0032_checksums_of_entries.sql"),
    include_str!("../../migrations/postgres/0033_bans_of_admins.sql"),
];
const VERSION_KNOWN: i64 = MIGRATIONS.len() as i64;
/// The oldest version whose programs may read and write a database of the newest: the last step that such a program would not survive. Raise
/// it only with such a step (docs/decisions/0077).
const COMPATIBLE_FROM: i64 = 25;
const _: () = assert!(COMPATIBLE_FROM <= VERSION_KNOWN);
/// "Gntl": the advisory lock held while the schema is changed.
const LOCK: i64 = 0x476e_746c;
/// What the database is called in errors.
const STORE: &str = "the database";
/// A migration of many rows takes its time, and so does waiting for another node's; a step does not wait for a table for any longer than
/// those who wait behind it may.
const WITHOUT_TIMEOUT: &str = "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '1h'";
const WITH_SHORT_LOCKS: &str = "SET LOCAL lock_timeout = '10s'";
/// Beside the version: which programs may use the database, and the version of the program that made it, 0 where that is not known.
const ABOUT_SCHEMA: &str = "
    ALTER TABLE gauntlet_schema ADD COLUMN IF NOT EXISTS compatible_from BIGINT NOT NULL DEFAULT 0;
    ALTER TABLE gauntlet_schema ADD COLUMN IF NOT EXISTS created_with BIGINT NOT NULL DEFAULT 0";

/// Brings the database to the newest version that this program knows, if this policy lets it; the version before.
pub(super) fn migrate(session: &mut Session, policy: SchemaPolicy) -> Result<i64, StoreError> {
    let before = version(session)?;
    if !before.must_migrate(policy, STORE)? {
        return Ok(before.found);
    }
    session.script("BEGIN")?;
    let migrated = migrate_in_turn(session, policy, &MIGRATIONS);
    session.script(if migrated.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    migrated
}

pub(super) fn migrate_in_turn(session: &mut Session, policy: SchemaPolicy, steps: &[&str]) -> Result<i64, StoreError> {
    session.script(WITHOUT_TIMEOUT)?;
    session.script(&format!("SELECT pg_advisory_xact_lock({LOCK})"))?;
    session.script(WITH_SHORT_LOCKS)?;
    // Another node may have been faster.
    let before = version(session)?;
    if !before.must_migrate(policy, STORE)? {
        return Ok(before.found);
    }
    if before.found == 0 {
        session
            .script("CREATE TABLE gauntlet_schema (version BIGINT NOT NULL); INSERT INTO gauntlet_schema VALUES (0)")?;
    }
    session.script(ABOUT_SCHEMA)?;
    for (step, number) in steps.iter().zip(1_i64..).filter(|(_, number)| *number > before.found) {
        session.script(step)?;
        session.run("UPDATE gauntlet_schema SET version = ?1", values![number])?;
    }
    session.run("UPDATE gauntlet_schema SET compatible_from = ?1", values![COMPATIBLE_FROM])?;
    if before.found == 0 {
        session.run("UPDATE gauntlet_schema SET created_with = ?1", values![VERSION_KNOWN])?;
    }
    Ok(before.found)
}

/// Refuses a database that a reader could not understand.
pub(super) fn check(session: &mut Session, policy: SchemaPolicy) -> Result<(), StoreError> {
    version(session)?.check_readable(policy, STORE)
}

/// Brings it to the version of this program and no other; the version before.
pub(super) fn migrate_known(session: &mut Session) -> Result<i64, StoreError> {
    let before = version(session)?;
    if before.found > before.known {
        return Err(before.refuse_newer(STORE));
    }
    migrate(session, SchemaPolicy::Migrate)
}

/// The schema version of a database of ours, or of an empty one.
pub(super) fn version(session: &mut Session) -> Result<SchemaVersion, StoreError> {
    let ours = "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'gauntlet_schema'";
    if !session.exists(ours, &[])? {
        let others =
            "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename LIMIT 1";
        return match session.first(others, &[], |row| row.text())? {
            None => Ok(SchemaVersion::new(0, None, VERSION_KNOWN)),
            Some(table) => Err(wrong_schema(format!(
                "the database holds tables of another program (such as {table}) and no schema version of ours; name an \
                 empty database"
            ))),
        };
    }
    let version = session.first("SELECT version FROM gauntlet_schema", &[], |row| row.int())?.unwrap_or_default();
    let compatible_from = if version > VERSION_KNOWN { compatible_from(session)? } else { None };
    Ok(SchemaVersion::new(version, compatible_from, VERSION_KNOWN))
}

/// The oldest version whose programs may use this database, where it says so.
fn compatible_from(session: &mut Session) -> Result<Option<i64>, StoreError> {
    let is_there =
        "SELECT 1 FROM pg_attribute WHERE attrelid = 'gauntlet_schema'::regclass AND attname = 'compatible_from'";
    if !session.exists(is_there, &[])? {
        return Ok(None);
    }
    session.first("SELECT compatible_from FROM gauntlet_schema", &[], |row| row.int())
}
