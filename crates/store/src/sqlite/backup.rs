//! A copy of a data file while servers use it: everything that is committed when the copy begins, and nothing later. Knows no names of files:
//! its caller says where from and where to, and keeps others away from the copy.

use super::connection::{self, Access, OrStoreError, store_error};
use super::migrate;
use super::session::Session;
use crate::checksums::ChecksumReport;
use crate::contract::StoreError;
use crate::sql::checked_rows;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use std::fs::File;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Pages of 4 KiB that are copied at a time: a megabyte.
const PAGES_AT_ONCE: i32 = 256;
/// After each megabyte the copy rests for as long as it took, at most so long: the server writes to the same disk.
const REST_MAX: Duration = Duration::from_millis(50);

/// Copies the data file `from` to `to`, an empty file, and verifies the copy. Whatever is written meanwhile is not in it.
///
/// # Errors
/// `from` is no data file or is damaged, `to` cannot be written, or the disk is full.
pub fn copy(from: &Path, to: &Path) -> Result<(), StoreError> {
    let source = connection::open(from, Access::Read)?;
    check_is_store(&source, from)?;
    // As long as this is open the source stays what it is now: SQLite's backup begins anew when another process has written.
    source.execute_batch("BEGIN").or_store_error()?;
    source.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).or_store_error()?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut target = Connection::open_with_flags(to, flags).or_store_error()?;
    // No process reads it before it is whole.
    target.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF").or_store_error()?;
    let backup = Backup::new(&source, &mut target).or_store_error()?;
    loop {
        let began = Instant::now();
        match backup.step(PAGES_AT_ONCE).or_store_error()? {
            StepResult::Done => break,
            _ => thread::sleep(began.elapsed().min(REST_MAX)),
        }
    }
    drop(backup);
    target.close().map_err(|(_, error)| store_error(&error))?;
    verify(to)?;
    let synced = File::open(to).and_then(|file| file.sync_all());
    synced.map_err(|error| StoreError::Unavailable { why: format!("{}: {error}", to.display()) })
}

/// That it is a data file of this program, and of no later version.
fn check_is_store(db: &Connection, file: &Path) -> Result<(), StoreError> {
    migrate::check_not_newer(db, file)?;
    match migrate::version(db, file)?.found {
        0 => Err(StoreError::WrongSchema { why: format!("{} is empty: no server has used it", file.display()) }),
        _ => Ok(()),
    }
}

/// Verifies that a file is a data file of this program and of no later version, and that its pages and indexes agree, as of one moment.
///
/// # Errors
/// What is wrong with it.
pub fn verify(file: &Path) -> Result<(), StoreError> {
    let db = connection::open(file, Access::Read)?;
    check_is_store(&db, file)?;
    let found: String = db.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)).or_store_error()?;
    match found.as_str() {
        "ok" => Ok(()),
        found => Err(StoreError::WrongSchema { why: format!("{} is damaged: {found}", file.display()) }),
    }
}

/// Holds every checksum of a file against its bytes. `None` for a file from before there were checksums.
///
/// # Errors
/// The file cannot be read.
pub fn check_checksums(file: &Path) -> Result<Option<ChecksumReport>, StoreError> {
    let db = connection::open(file, Access::Read)?;
    if migrate::version(&db, file)?.found < migrate::CHECKSUMS_SINCE {
        return Ok(None);
    }
    checked_rows::check(&mut Session::new(db)).map(Some)
}

/// Takes the write-ahead log into the file, which is whole by itself then. SQLite does so when the last connection closes, but a reader that closes
/// last may not write.
///
/// # Errors
/// The file is in use, or cannot be written.
pub fn take_in_log(file: &Path) -> Result<(), StoreError> {
    let db = connection::open(file, Access::Write)?;
    let is_busy: bool = db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).or_store_error()?;
    if is_busy {
        return Err(StoreError::Unavailable {
            why: format!("{} is in use: its log cannot be taken in", file.display()),
        });
    }
    db.close().map_err(|(_, error)| store_error(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::SchemaPolicy;
    use crate::testing::TempDir;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// A file that another connection writes to all the time, two rows at once.
    fn busy(file: &Path, is_over: &AtomicBool) -> i64 {
        let mut db = connection::open(file, Access::Write).unwrap();
        migrate::migrate(&mut db, file, SchemaPolicy::Migrate).unwrap();
        db.execute_batch("CREATE TABLE pairs (a INTEGER, filler BLOB)").unwrap();
        let mut written = 0;
        while !is_over.load(Ordering::SeqCst) || written < 20 {
            let transaction = db.transaction().unwrap();
            for _ in 0..2 {
                transaction.execute("INSERT INTO pairs VALUES (?1, randomblob(65536))", [written]).unwrap();
            }
            transaction.commit().unwrap();
            written += 1;
        }
        written
    }

    #[test]
    fn a_copy_is_of_one_moment_while_the_file_is_written_to() {
        let folder = TempDir::new();
        let (from, to) = (folder.path().join("from.db"), folder.path().join("to.db"));
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let writer = scope.spawn(|| busy(&from, &is_over));
            let has_pairs =
                || connection::open(&from, Access::Read).and_then(|db| pairs(&db)).is_ok_and(|pairs| pairs.0 > 10);
            while !has_pairs() {
                thread::yield_now();
            }
            for _ in 0..3 {
                let _ = std::fs::remove_file(&to);
                File::create_new(&to).unwrap();
                copy(&from, &to).unwrap();
                let (rows, halves) = pairs(&connection::open(&to, Access::Read).unwrap()).unwrap();
                assert!(rows > 10 && halves == 0, "{rows} rows, {halves} halves of a transaction");
            }
            is_over.store(true, Ordering::SeqCst);
            assert!(writer.join().unwrap() >= 20);
        });
    }

    /// Rows, and those whose transaction is not whole.
    fn pairs(db: &Connection) -> Result<(i64, i64), StoreError> {
        let rows = db.query_row("SELECT count(*) FROM pairs", [], |row| row.get(0)).or_store_error()?;
        let halves = "SELECT count(*) FROM (SELECT a FROM pairs GROUP BY a HAVING count(*) <> 2)";
        Ok((rows, db.query_row(halves, [], |row| row.get(0)).or_store_error()?))
    }

    #[test]
    fn the_log_is_taken_in_while_a_reader_is_open() {
        let folder = TempDir::new();
        let (file, log) = (folder.path().join("games.db"), folder.path().join("games.db-wal"));
        let mut writer = connection::open(&file, Access::Write).unwrap();
        connection::prepare_to_write(&writer).unwrap();
        migrate::migrate(&mut writer, &file, SchemaPolicy::Migrate).unwrap();
        let reader = connection::open(&file, Access::Read).unwrap();
        migrate::check_not_newer(&reader, &file).unwrap();
        writer.close().unwrap();
        let bytes = || std::fs::metadata(&log).map_or(0, |found| found.len());
        assert_ne!(bytes(), 0, "what is tested is not there");
        take_in_log(&file).unwrap();
        assert_eq!(bytes(), 0);
        drop(reader);
        verify(&file).unwrap();
    }

    /// What is said of a file with these bytes.
    #[track_caller]
    fn check_refused(bytes: &[u8], want: &str) {
        let folder = TempDir::new();
        let file = folder.path().join("file.db");
        std::fs::write(&file, bytes).unwrap();
        let refused = verify(&file).unwrap_err().to_string();
        assert!(refused.contains(want), "{refused}");
    }

    #[test]
    fn what_is_damaged_or_no_data_file_is_refused() {
        check_refused(b"no database at all, but long enough to be one", "not a database");
        check_refused(b"", "empty");
        let folder = TempDir::new();
        let file = folder.path().join("whole.db");
        let mut db = connection::open(&file, Access::Write).unwrap();
        migrate::migrate(&mut db, &file, SchemaPolicy::Migrate).unwrap();
        db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        db.close().unwrap();
        verify(&file).unwrap();
        let mut bytes = std::fs::read(&file).unwrap();
        let middle = bytes.len() / 2 / 4096 * 4096;
        bytes[middle..middle + 64].fill(0xff);
        check_refused(&bytes, "damaged");
    }
}
