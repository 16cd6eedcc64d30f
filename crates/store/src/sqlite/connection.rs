//! Opens the file, and maps SQLite's errors to what a caller must do.

use crate::contract::StoreError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// The first version whose WAL reset cannot lose a commit when a checkpoint runs in parallel with the writer
/// (sqlite.org, release notes of 3.51.3).
const VERSION_MIN: i32 = 3_051_003;
/// How long a transaction waits for another process that writes.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Time between two attempts where SQLite itself does not wait.
const BUSY_RETRY: Duration = Duration::from_millis(10);
/// Statements kept ready: all that we have.
const STATEMENT_CACHE_SIZE: usize = 192;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Write,
    Read,
}

/// Whether this names no file but a database in memory, which only tests and simulations have.
pub(super) fn is_in_memory(file: &Path) -> bool {
    cfg!(any(test, feature = "testing")) && file.starts_with("file:")
}

pub(super) fn open(file: &Path, access: Access) -> Result<Connection, StoreError> {
    let version = rusqlite::version_number();
    if version < VERSION_MIN {
        let found = rusqlite::version();
        let why = format!(
            "SQLite {found} can lose a commit; this program needs 3.51.3 or newer: build it with the bundled one"
        );
        return Err(StoreError::WrongSchema { why });
    }
    let addressing = if is_in_memory(file) { OpenFlags::SQLITE_OPEN_URI } else { OpenFlags::empty() };
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX
        | addressing
        | match access {
            Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
            Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        };
    let db = Connection::open_with_flags(file, flags).map_err(|error| opening(file, &error))?;
    db.busy_timeout(BUSY_TIMEOUT).or_store_error()?;
    db.set_prepared_statement_cache_capacity(STATEMENT_CACHE_SIZE);
    // A plan must not depend on bound values: otherwise SQLite prepares a statement anew for every other player, which
    // was a third of a read.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).or_store_error()?;
    if access == Access::Read {
        // In KiB: the system's own cache of the file is right behind it.
        db.pragma_update(None, "cache_size", -512).map_err(|error| opening(file, &error))?;
    }
    Ok(db)
}

/// Settings of a connection that writes. They change the file: only for a file that is known to be ours.
///
/// Pages stay at 4 KiB: a commit writes whole pages, and a turn is a hundred bytes. Checkpoints are the business of
/// [`super::checkpoint`].
pub(super) fn prepare_to_write(db: &Connection) -> Result<(), StoreError> {
    db.pragma_update(None, "page_size", 4096).or_store_error()?;
    let mode = retry_while_busy(|| use_write_ahead_log(db)).or_store_error()?;
    // A database in memory keeps no journal file.
    if !["wal", "memory"].contains(&mode.as_str()) {
        let why = format!("the file system does not allow a write-ahead log (the journal stays in mode {mode})");
        return Err(StoreError::Unavailable { why });
    }
    db.execute_batch(
        "PRAGMA synchronous = FULL;
         PRAGMA foreign_keys = ON;
         PRAGMA temp_store = MEMORY;
         PRAGMA cache_size = -8192;
         PRAGMA journal_size_limit = 67108864;
         PRAGMA wal_autocheckpoint = 0;",
    )
    .or_store_error()
}

fn use_write_ahead_log(db: &Connection) -> rusqlite::Result<String> {
    db.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))
}

/// Tries again what finds the file locked, for as long as a transaction would wait. SQLite does not wait for a lock when the mode of the
/// journal changes, so that of two processes that open a new file at once one would fail.
fn retry_while_busy<T>(mut attempt: impl FnMut() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let started = Instant::now();
    loop {
        match attempt() {
            Err(error) if is_busy(&error) && started.elapsed() < BUSY_TIMEOUT => thread::sleep(BUSY_RETRY),
            done => return done,
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

fn opening(file: &Path, error: &rusqlite::Error) -> StoreError {
    match store_error(error) {
        StoreError::Unavailable { why } => StoreError::Unavailable { why: format!("{}: {why}", file.display()) },
        StoreError::Corrupt { .. } => unreadable(file, error),
        other => other,
    }
}

/// A file that is no database, or was one.
pub(super) fn unreadable(file: &Path, error: &rusqlite::Error) -> StoreError {
    let (what, remedy) = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => ("not a database of SQLite", ""),
        _ => ("damaged", "restore it from a backup, or "),
    };
    StoreError::WrongSchema { why: format!("{} is {what} ({error}); {remedy}name another data file", file.display()) }
}

/// What is lost may come back; what contradicts the schema or our own reading of it does not.
pub(super) fn store_error(error: &rusqlite::Error) -> StoreError {
    use rusqlite::Error as E;
    let why = error.to_string();
    match error {
        E::FromSqlConversionFailure(..)
        | E::IntegralValueOutOfRange(..)
        | E::InvalidColumnType(..)
        | E::Utf8Error(..) => StoreError::Corrupt { why },
        _ => match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::ConstraintViolation) => {
                StoreError::Corrupt { why }
            }
            Some(ErrorCode::DatabaseBusy) => {
                StoreError::Unavailable { why: format!("{why}: another process is writing to it; try again") }
            }
            _ => StoreError::Unavailable { why },
        },
    }
}

/// `?` for SQLite's errors; a conversion of the foreign type itself would let them through unread.
pub(super) trait OrStoreError<T> {
    fn or_store_error(self) -> Result<T, StoreError>;
}

impl<T> OrStoreError<T> for rusqlite::Result<T> {
    fn or_store_error(self) -> Result<T, StoreError> {
        self.map_err(|error| store_error(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;
    use rusqlite::ffi;

    #[track_caller]
    fn check(code: i32, is_corrupt: bool) {
        let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        assert_eq!(matches!(store_error(&error), StoreError::Corrupt { .. }), is_corrupt, "{error}");
    }

    #[test]
    fn only_what_cannot_come_right_is_corrupt() {
        check(ffi::SQLITE_FULL, false);
        check(ffi::SQLITE_IOERR, false);
        check(ffi::SQLITE_READONLY, false);
        check(ffi::SQLITE_CANTOPEN, false);
        check(ffi::SQLITE_BUSY, false);
        check(ffi::SQLITE_NOMEM, false);
        check(ffi::SQLITE_CORRUPT, true);
        check(ffi::SQLITE_NOTADB, true);
        check(ffi::SQLITE_CONSTRAINT, true);
    }

    #[test]
    fn no_lock_counts_the_memory_of_all_threads() {
        let db = Connection::open_in_memory().unwrap();
        let sql = "SELECT sqlite_compileoption_used('DEFAULT_MEMSTATUS=0')";
        let is_built_so: bool = db.query_row(sql, [], |row| row.get(0)).unwrap();
        assert!(
            is_built_so,
            "SQLite was built without .cargo/config.toml, which says why: call cargo in the repository"
        );
    }

    #[test]
    fn a_new_file_that_another_process_writes_is_tried_again() {
        let dir = TempDir::new();
        let file = dir.path().join("new.db");
        let other = Connection::open(&file).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let db = open(&file, Access::Write).unwrap();
        let mut attempts = 0;
        let mode = retry_while_busy(|| {
            attempts += 1;
            use_write_ahead_log(&db).inspect_err(|_| other.execute_batch("COMMIT").unwrap())
        });
        assert_eq!((mode.unwrap().as_str(), attempts), ("wal", 2));
    }
}
