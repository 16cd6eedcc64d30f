//! What laws of this suite commit, recorded, with what is stored after each of their commits: the load of the tests with faults.

use engine::commands::{Command, Outcome};
use rusqlite::{Connection, OpenFlags};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store::sqlite::SqliteDatabase;
use store::testing::TempDir;
use store::{Backend, Database, Observer, Reader, Store, StoreConfig, StoreError};

type Law = fn(&dyn Database);
type Commits = Arc<Mutex<Vec<Vec<Command>>>>;

/// A database that remembers what was committed to it.
struct RecordingDatabase {
    inner: SqliteDatabase,
    commits: Commits,
}

struct RecordingWriter {
    inner: Box<dyn Backend>,
    commits: Commits,
}

impl Backend for RecordingWriter {
    fn commit(&mut self, commands: &[Command]) -> Result<Vec<Outcome>, StoreError> {
        self.commits.lock().unwrap().push(commands.to_vec());
        self.inner.commit(commands)
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        self.inner.probe()
    }
}

impl Database for RecordingDatabase {
    fn writer(&self) -> Result<Box<dyn Backend>, StoreError> {
        Ok(Box::new(RecordingWriter { inner: self.inner.writer()?, commits: Arc::clone(&self.commits) }))
    }
    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        self.inner.reader()
    }
    fn is_shared(&self) -> bool {
        false
    }
    fn kind(&self) -> &'static str {
        "recording"
    }
}

pub(super) struct NullObserver;

impl Observer for NullObserver {
    fn committed(&self, _: usize, _: Duration, _: Duration, _: bool) {}
    fn read(&self, _: Duration, _: Duration, _: bool) {}
}

pub(super) fn open(file: &Path) -> Result<Store, StoreError> {
    Store::open(Arc::new(SqliteDatabase::new(file)), StoreConfig { readers: 1 }, Arc::new(NullObserver))
}

/// Requests, each committed as one, and what becomes of them where nothing fails.
pub(super) struct Recorded {
    dir: TempDir,
    pub(super) requests: Vec<Vec<Command>>,
    pub(super) outcomes: Vec<Vec<Outcome>>,
    /// What is stored before each request, and after the last.
    pub(super) states: Vec<String>,
}

impl Recorded {
    /// What a law commits.
    pub(super) fn of(law: Law) -> Self {
        let dir = TempDir::new();
        let commits = Commits::default();
        let inner = SqliteDatabase::new(dir.path().join("law.db"));
        law(&RecordingDatabase { inner, commits: Arc::clone(&commits) });
        let requests = std::mem::take(&mut *commits.lock().unwrap());
        let file = dir.path().join("reference.db");
        let store = open(&file).unwrap();
        let mut states = vec![stored(&file).unwrap()];
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut outcomes = Vec::new();
        for request in &requests {
            outcomes.push(runtime.block_on(store.commit_all(request.clone())).unwrap());
            states.push(stored(&file).unwrap());
        }
        runtime.block_on(store.close());
        let recorded = Self { dir, requests, outcomes, states };
        drop(SqliteDatabase::new(recorded.empty()).writer().unwrap());
        recorded
    }

    /// A file with the schema and nothing in it.
    pub(super) fn empty(&self) -> PathBuf {
        self.dir.path().join("empty.db")
    }

    /// A file with everything in it.
    pub(super) fn full(&self) -> PathBuf {
        self.dir.path().join("reference.db")
    }
}

/// Everything that is stored in a file, which may be in use: every row of every table, and the schema. It is read by the system's own
/// VFS, and nothing is repaired or copied on the way.
pub(super) fn stored(file: &Path) -> rusqlite::Result<String> {
    read_all(file, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

/// The same of a file that is not in use and may still have a journal to roll back.
pub(super) fn stored_at_rest(file: &Path) -> rusqlite::Result<String> {
    read_all(file, OpenFlags::SQLITE_OPEN_READ_WRITE)
}

fn read_all(file: &Path, access: OpenFlags) -> rusqlite::Result<String> {
    let db = Connection::open_with_flags_and_vfs(file, access | OpenFlags::SQLITE_OPEN_NO_MUTEX, c"unix")?;
    db.busy_timeout(Duration::from_secs(5))?;
    db.execute_batch("BEGIN")?;
    let mut text = String::new();
    for pragma in ["application_id", "user_version"] {
        let value: i64 = db.pragma_query_value(None, pragma, |row| row.get(0))?;
        let _ = writeln!(text, "{pragma} {value}");
    }
    let mut schema = db.prepare("SELECT name, sql, type = 'table' FROM sqlite_schema ORDER BY name")?;
    let entries = schema.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    for entry in entries {
        let (name, sql, is_table): (String, Option<String>, bool) = entry?;
        let _ = writeln!(text, "{name}: {}", sql.unwrap_or_default());
        if !is_table {
            continue;
        }
        let mut rows = db.prepare(&format!("SELECT * FROM \"{name}\""))?;
        let columns = rows.column_count();
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let values: Vec<_> = (0..columns).map(|column| row.get_ref(column)).collect::<Result<_, _>>()?;
            let _ = writeln!(text, "{name} {values:?}");
        }
    }
    Ok(text)
}

/// The first line in which two states differ.
pub(super) fn difference(got: &str, want: &str) -> String {
    let lines = got.lines().zip(want.lines()).find(|(got, want)| got != want);
    format!("{lines:?}, {} and {} lines", got.lines().count(), want.lines().count())
}

/// That pages and indexes of a file that is not in use agree.
#[track_caller]
pub(super) fn assert_whole(file: &Path) {
    let db = Connection::open(file).unwrap();
    let found: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(found, "ok", "{}", file.display());
}
