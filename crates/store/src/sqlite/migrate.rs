//! The schema, step by step. `application_id` of the file marks it as ours and `user_version` is its schema version;
//! `gauntlet_schema` says which programs may use it.

use super::connection::{BUSY_TIMEOUT, OrStoreError, prepare_to_write, store_error, unreadable};
use crate::contract::StoreError;
use crate::schema::{SchemaPolicy, SchemaVersion, wrong_schema};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};
use std::path::Path;
use std::time::Duration;

/// "Gntl": marks a file as one of ours.
const APPLICATION_ID: i32 = 0x476e_746c;
/// The steps; the version of a schema is how many of them it has seen. A step that was released is never changed.
const MIGRATIONS: [&str; 30] = [
    include_str!("../../migrations/sqlite/0001_first.sql"),
    include_str!("../../migrations/sqlite/0002_node.sql"),
    include_str!("../../migrations/sqlite/0003_limits.sql"),
    include_str!("../../migrations/sqlite/0004_stories.sql"),
    include_str!("../../migrations/sqlite/0005_worlds.sql"),
    include_str!("../../migrations/sqlite/0006_story_names.sql"),
    include_str!("../../migrations/sqlite/0007_desk.sql"),
    include_str!("../../migrations/sqlite/0008_unfinished_hunts.sql"),
    include_str!("../../migrations/sqlite/0009_tickets.sql"),
    include_str!("../../migrations/sqlite/0010_plain_names.sql"),
    include_str!("../../migrations/sqlite/0011_public_matches.sql"),
    include_str!("../../migrations/sqlite/0012_competitions.sql"),
    include_str!("../../migrations/sqlite/0013_ladders.sql"),
    include_str!("../../migrations/sqlite/0014_bot_health.sql"),
    include_str!("../../migrations/sqlite/0015_evidence.sql"),
    include_str!("../../migrations/sqlite/0016_private_seats.sql"),
    include_str!("../../migrations/sqlite/0017_running_competitions.sql"),
    include_str!("../../migrations/sqlite/0018_competition_repairs.sql"),
    include_str!("../../migrations/sqlite/0019_competitions_due.sql"),
    include_str!("../../migrations/sqlite/0020_waiting_by_account.sql"),
    include_str!("../../migrations/sqlite/0021_one_time_codes.sql"),
    include_str!("../../migrations/sqlite/0022_bot_pages.sql"),
    include_str!("../../migrations/sqlite/0023_bans.sql"),
    include_str!("../../migrations/sqlite/0024_audit.sql"),
    include_str!("../../migrations/sqlite/0025_ends_of_tokens.sql"),
    include_str!("../../migrations/sqlite/0026_retention.sql"),
    include_str!("../../migrations/sqlite/0027_checksums.sql"),
    include_str!("../../migrations/sqlite/0028_deleted_accounts.sql"),
    include_str!("../../migrations/sqlite/0029_checksums_of_entries.sql"),
    include_str!("../../migrations/sqlite/0030_bans_of_admins.sql"),
];
const VERSION_KNOWN: i32 = MIGRATIONS.len() as i32;
/// The oldest version whose programs may read and write a file of the newest: the last step that such a program would not survive. Raise it
/// only with such a step (docs/decisions/0077).
const COMPATIBLE_FROM: i32 = 22;
const _: () = assert!(COMPATIBLE_FROM <= VERSION_KNOWN);
/// The version from which on checksums are those of this program.
pub(super) const CHECKSUMS_SINCE: i64 = 29;
/// How long one program waits for another that migrates the same file.
const MIGRATION_WAIT: Duration = Duration::from_secs(3_600);
/// Beside the version: which programs may use the file, and the version of the program that made it, 0 where that is not known.
const ABOUT_SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS gauntlet_schema (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        compatible_from INTEGER NOT NULL,
        created_with INTEGER NOT NULL
    ) STRICT";

/// Brings the file to the newest version that this program knows, if this policy lets it; the version before.
pub(super) fn migrate(db: &mut Connection, file: &Path, policy: SchemaPolicy) -> Result<i64, StoreError> {
    let store = file.display().to_string();
    let must_migrate = version(db, file)?.must_migrate(policy, &store)?;
    prepare_to_write(db)?;
    if !must_migrate {
        return Ok(version(db, file)?.found);
    }
    db.busy_timeout(MIGRATION_WAIT).or_store_error()?;
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate).or_store_error()?;
    // Another program may have been faster.
    let found = version(&transaction, file)?;
    if found.must_migrate(policy, &store)? {
        run_steps(&transaction, found.found).or_store_error()?;
    }
    transaction.commit().or_store_error()?;
    db.busy_timeout(BUSY_TIMEOUT).or_store_error()?;
    Ok(found.found)
}

fn run_steps(db: &Connection, version: i64) -> rusqlite::Result<()> {
    db.execute_batch(ABOUT_SCHEMA)?;
    let created_with = if version == 0 { VERSION_KNOWN } else { 0 };
    db.execute(
        "INSERT INTO gauntlet_schema VALUES (1, ?1, ?2) ON CONFLICT (one) DO UPDATE SET compatible_from = excluded.compatible_from",
        [COMPATIBLE_FROM, created_with],
    )?;
    for (step, number) in MIGRATIONS.iter().zip(1_i64..).filter(|(_, number)| *number > version) {
        db.execute_batch(step)?;
        db.pragma_update(None, "user_version", number)?;
    }
    db.pragma_update(None, "application_id", APPLICATION_ID)
}

/// Refuses a file that a reader could not understand.
pub(super) fn check(db: &Connection, file: &Path, policy: SchemaPolicy) -> Result<(), StoreError> {
    version(db, file)?.check_readable(policy, &file.display().to_string())
}

/// Refuses a file of another program, and one that is newer than this program.
pub(super) fn check_not_newer(db: &Connection, file: &Path) -> Result<(), StoreError> {
    let version = version(db, file)?;
    if version.found > version.known {
        return Err(version.refuse_newer(&file.display().to_string()));
    }
    Ok(())
}

/// The schema version of a file of ours, or of an empty one.
pub(super) fn version(db: &Connection, file: &Path) -> Result<SchemaVersion, StoreError> {
    let pragma = |name: &str| db.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let read = || -> rusqlite::Result<_> {
        let tables = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))?;
        Ok((pragma("application_id")?, pragma("user_version")?, tables))
    };
    let (application_id, version, tables) = read().map_err(|error| not_a_database(&error, file))?;
    if application_id != APPLICATION_ID && (application_id != 0 || version != 0 || tables != 0) {
        return Err(wrong_schema(format!(
            "{} is a database of another program (application id {application_id:#x}, ours is {APPLICATION_ID:#x}); \
             name another data file",
            file.display()
        )));
    }
    let compatible_from = if version > VERSION_KNOWN { compatible_from(db).or_store_error()? } else { None };
    Ok(SchemaVersion::new(version.into(), compatible_from, VERSION_KNOWN.into()))
}

/// The oldest version whose programs may use this file, where it says so.
fn compatible_from(db: &Connection) -> rusqlite::Result<Option<i64>> {
    let is_there = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'gauntlet_schema'";
    if db.query_row(is_there, [], |_| Ok(())).optional()?.is_none() {
        return Ok(None);
    }
    db.query_row("SELECT compatible_from FROM gauntlet_schema", [], |row| row.get(0)).optional()
}

fn not_a_database(error: &rusqlite::Error, file: &Path) -> StoreError {
    match store_error(error) {
        StoreError::Corrupt { .. } => unreadable(file, error),
        other => other,
    }
}
