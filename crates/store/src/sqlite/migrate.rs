//! The schema, step by step. `application_id` of the file marks it as ours and `user_version` is its schema version.

use super::connection::{OrStoreError, prepare_to_write, store_error, unreadable};
use crate::contract::StoreError;
use rusqlite::{Connection, TransactionBehavior};
use std::path::Path;

/// "Gntl": marks a file as one of ours.
const APPLICATION_ID: i32 = 0x476e_746c;
/// The steps; the version of a schema is how many of them it has seen. A step that was released is never changed.
const MIGRATIONS: [&str; 23] = [
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
];
const VERSION_KNOWN: i32 = MIGRATIONS.len() as i32;

/// Brings the file to the newest version that this program knows.
pub(super) fn migrate(db: &mut Connection, file: &Path) -> Result<(), StoreError> {
    version(db, file)?;
    prepare_to_write(db)?;
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate).or_store_error()?;
    let version = version(&transaction, file)?;
    for (step, number) in MIGRATIONS.iter().zip(1..).filter(|(_, number)| *number > version) {
        transaction.execute_batch(step).or_store_error()?;
        transaction.pragma_update(None, "user_version", number).or_store_error()?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID).or_store_error()?;
    }
    transaction.commit().or_store_error()
}

/// Refuses a file that a reader could not understand.
pub(super) fn check(db: &Connection, file: &Path) -> Result<(), StoreError> {
    match version(db, file)? {
        VERSION_KNOWN => Ok(()),
        older => {
            let why = format!(
                "{} is at schema version {older} of {VERSION_KNOWN}: its writer has not been opened",
                file.display()
            );
            Err(StoreError::Unavailable { why })
        }
    }
}

/// The schema version of a file that this program can read.
pub(super) fn version(db: &Connection, file: &Path) -> Result<i32, StoreError> {
    let pragma = |name: &str| db.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let read = || -> rusqlite::Result<_> {
        let tables = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))?;
        Ok((pragma("application_id")?, pragma("user_version")?, tables))
    };
    let (application_id, version, tables) = read().map_err(|error| not_a_database(&error, file))?;
    if application_id != APPLICATION_ID && (application_id != 0 || version != 0 || tables != 0) {
        let why = format!(
            "{} is a database of another program (application id {application_id:#x}, ours is {APPLICATION_ID:#x}); \
             name another data file",
            file.display()
        );
        return Err(StoreError::WrongSchema { why });
    }
    if version > VERSION_KNOWN {
        let why = format!(
            "{} has schema version {version}, and this program knows versions up to {VERSION_KNOWN}: it was written by a newer \
             program; run that one, or restore a backup from before the upgrade",
            file.display()
        );
        return Err(StoreError::WrongSchema { why });
    }
    Ok(version)
}

fn not_a_database(error: &rusqlite::Error, file: &Path) -> StoreError {
    match store_error(error) {
        StoreError::Corrupt { .. } => unreadable(file, error),
        other => other,
    }
}
