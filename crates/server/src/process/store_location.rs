//! Where matches are stored: the folder, its lock, and the store in it.

use settings::{Config, StoreLocation};
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::checksums::ChecksumReport;
use store::postgres::PostgresDatabase;
use store::sqlite::SqliteDatabase;
use store::{Database, Observer, SchemaPolicy, SchemaVersion, Store, StoreConfig, StoreError};

/// Why the data file or database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreLocationError {
    /// The folder of the data file cannot be created, or its lock cannot be opened.
    #[error("cannot use {}: {source}; choose another file with --data, or give this user the right to write there", path.display())]
    Unusable {
        /// What could not be created or opened.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The data file is a folder.
    #[error("{} is a folder: name the data file itself with --data, such as {}", path.display(), path.join("gauntlet.db").display())]
    IsDirectory { path: PathBuf },
    /// The data file has several names: servers that use different ones would not know of each other.
    #[error(
        "{} has {names} names (hard links): SQLite keeps what it is writing beside the name by which it was opened, so a server at \
         another name would destroy it; remove the other links, or start from a copy of its own",
        path.display()
    )]
    HardLinked {
        path: PathBuf,
        /// The number of its names.
        names: u64,
    },
    /// The database does not open.
    #[error("{location} does not open: {why}; {remedy}")]
    CannotOpen {
        /// What was to be opened, without secrets.
        location: String,
        /// The store's error.
        why: String,
        remedy: &'static str,
    },
    /// Another process uses the file: a server, or a command that must be alone with it.
    #[error(
        "{} is in use by another process of Gauntlet{}: two servers on one SQLite file would play the same matches; stop the other one, \
         choose another file with --data, or let both share a PostgreSQL database with --store-url",
        path.display(), pid.as_ref().map(|pid| format!(" (process {pid})")).unwrap_or_default()
    )]
    InUse {
        path: PathBuf,
        /// The other process, if known.
        pid: Option<u32>,
    },
}

/// Rights of files and folders that this program makes: what is stored (hands of cards, secrets of bots, hashes of tokens) is for its user alone.
/// SQLite gives the files beside a data file the same rights.
const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;
/// Rights of everybody else.
const OTHERS: u32 = 0o077;

/// The right to be alone with a data file, to serve from it or to put it right: held as long as this lives, released by the system however the
/// process ends. It is the reason why leases in a SQLite file need no end: the holder knows that no other process serves.
#[derive(Debug)]
pub struct DataLock {
    _file: Option<File>,
}

impl DataLock {
    /// Takes the lock beside the data file; a shared database needs none.
    ///
    /// # Errors
    /// [`StoreLocationError::InUse`], or why the lock cannot be opened.
    pub fn acquire(config: &Config) -> Result<Self, StoreLocationError> {
        match config.store() {
            StoreLocation::Sqlite(data) => lock(data).map(|file| Self { _file: Some(file) }),
            StoreLocation::Postgres(_) => Ok(Self { _file: None }),
        }
    }
}

fn lock(data: &Path) -> Result<File, StoreLocationError> {
    if data.is_dir() {
        return Err(StoreLocationError::IsDirectory { path: data.to_owned() });
    }
    create_parent_dir(data)?;
    let data = &canonical_path(data)?;
    let mut path = data.as_os_str().to_owned();
    path.push(".lock");
    let path = PathBuf::from(path);
    let unusable = |source| StoreLocationError::Unusable { path: path.clone(), source };
    let mut options = OpenOptions::new();
    let mut file =
        options.read(true).write(true).create(true).truncate(false).mode(FILE_MODE).open(&path).map_err(unusable)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(StoreLocationError::InUse { path: data.to_owned(), pid: read_pid(&mut file) });
        }
        Err(TryLockError::Error(source)) => return Err(unusable(source)),
    }
    // The number only helps the operator of the refused server; the lock holds without it.
    let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
    Ok(file)
}

/// The canonical name of a data file, which determines its lock, whatever symbolic links lead there. A missing file is created: only then
/// does it have such a name.
fn canonical_path(data: &Path) -> Result<PathBuf, StoreLocationError> {
    let unusable = |source| StoreLocationError::Unusable { path: data.to_owned(), source };
    create_file(data)?;
    let found = data.metadata().map_err(unusable)?;
    if found.nlink() > 1 {
        return Err(StoreLocationError::HardLinked { path: data.to_owned(), names: found.nlink() });
    }
    if found.mode() & OTHERS != 0 {
        let data = data.display();
        tracing::warn!(
            "other users of this machine may use the data file {data}: chmod 600 {data}, if that is not meant"
        );
    }
    data.canonicalize().map_err(unusable)
}

fn read_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// Makes a data file that is missing.
fn create_file(data: &Path) -> Result<(), StoreLocationError> {
    if matches!(data.metadata(), Err(error) if error.kind() == io::ErrorKind::NotFound) {
        let made = OpenOptions::new().append(true).create(true).mode(FILE_MODE).open(data);
        made.map_err(|source| StoreLocationError::Unusable { path: data.to_owned(), source })?;
    }
    Ok(())
}

fn create_parent_dir(data: &Path) -> Result<(), StoreLocationError> {
    let Some(folder) = data.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return Ok(()) };
    let made = DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder);
    made.map_err(|source| StoreLocationError::Unusable { path: folder.to_owned(), source })
}

/// Opens the store that `config` names. Several processes may do this on one file; only one may serve from it.
///
/// # Errors
/// [`StoreLocationError`] as [`super::ServeError::StoreLocation`], and the store's errors: those of its schema, too, as far as `policy` does not
/// let it be changed.
pub async fn open_store(
    config: &Config,
    policy: SchemaPolicy,
    observer: Arc<dyn Observer>,
) -> Result<Store, super::ServeError> {
    let mut postgres = None;
    let database: Arc<dyn Database> = match config.store() {
        StoreLocation::Sqlite(data) => Arc::new(sqlite(data)?.with_policy(policy)),
        StoreLocation::Postgres(url) => {
            Arc::new(postgres.insert(PostgresDatabase::new(url.expose())?.with_policy(policy)).clone())
        }
    };
    let sizes = StoreConfig { readers: config.store_connections };
    // Opening migrates the schema and may take long: not on a runtime thread.
    let opened = tokio::task::spawn_blocking(move || Store::open(database, sizes, observer)).await;
    let opened =
        opened.unwrap_or_else(|error| Err(StoreError::Unavailable { why: format!("opening it failed: {error}") }));
    let hosts = postgres.map(|database| database.plain_text_hosts()).unwrap_or_default();
    if opened.is_ok() && !hosts.is_empty() {
        tracing::warn!(
            "the connection to the database at {} is not encrypted: any machine in the network between can read and change what is stored; \
             turn TLS on there and add sslmode=verify-full&sslrootcert=FILE to --store-url (docs/operate.md)",
            hosts.join(", ")
        );
    }
    opened.map_err(|error| open_error(config, error))
}

/// The data file, which is made if there is none.
fn sqlite(data: &Path) -> Result<SqliteDatabase, StoreLocationError> {
    create_parent_dir(data)?;
    create_file(data)?;
    Ok(SqliteDatabase::new(data))
}

/// The version of the schema of the store that `config` names. Changes nothing. Blocks.
///
/// # Errors
/// As for [`open_store`].
pub fn schema_version(config: &Config) -> Result<SchemaVersion, super::ServeError> {
    let version = match config.store() {
        StoreLocation::Sqlite(data) => SqliteDatabase::new(data).schema_version(),
        StoreLocation::Postgres(url) => {
            PostgresDatabase::new(url.expose()).and_then(|database| database.schema_version())
        }
    };
    version.map_err(|error| open_error(config, error))
}

/// Compares every checksum of the store that `config` names, and reads every row that has a text, also while servers use it. Blocks.
///
/// # Errors
/// It cannot be read, or is of another version than this program.
pub fn check_rows(config: &Config) -> Result<ChecksumReport, super::ServeError> {
    let report = match config.store() {
        StoreLocation::Sqlite(data) => SqliteDatabase::new(data).check_rows(),
        StoreLocation::Postgres(url) => PostgresDatabase::new(url.expose()).and_then(|database| database.check_rows()),
    };
    report.map_err(|error| open_error(config, error))
}

/// Whether this store was made by a version that deletes by itself what is old.
pub(super) async fn has_retention_periods(store: &Store) -> Result<bool, StoreError> {
    store.read(|reader| reader.created_with()).await.map(|version| version > 0)
}

/// Brings the store that `config` names to the version of this program; its version before. A data file must not be in use. Blocks.
///
/// # Errors
/// As for [`open_store`].
pub fn migrate_store(config: &Config) -> Result<i64, super::ServeError> {
    // A file of another program is refused before a lock is made beside it.
    schema_version(config)?;
    let _alone = DataLock::acquire(config)?;
    let before = match config.store() {
        StoreLocation::Sqlite(data) => sqlite(data)?.migrate(),
        StoreLocation::Postgres(url) => PostgresDatabase::new(url.expose()).and_then(|database| database.migrate()),
    };
    before.map_err(|error| open_error(config, error))
}

/// Opens the dedicated readers that the components of a process have requested meanwhile.
pub(super) async fn open_dedicated_readers(config: &Config, store: &Store) -> Result<(), super::ServeError> {
    let store = store.clone();
    let opened = tokio::task::spawn_blocking(move || store.open_readers_apart()).await;
    let opened =
        opened.unwrap_or_else(|error| Err(StoreError::Unavailable { why: format!("opening readers failed: {error}") }));
    opened.map_err(|error| open_error(config, error))
}

/// The operator must fix a store that cannot be reached at the start; other errors contain their remedy.
fn open_error(config: &Config, error: StoreError) -> super::ServeError {
    let StoreError::Unavailable { why } = error else { return error.into() };
    let (location, remedy) = match config.store() {
        StoreLocation::Sqlite(data) => (
            format!("the data file {}", data.display()),
            "if another process holds it, try again; if not, see that this user may read and write it, and its folder",
        ),
        StoreLocation::Postgres(_) => (
            "the PostgreSQL database of --store-url".to_owned(),
            "see that it runs there and takes connections, that user, password and database name are right, and that its \
             max_connections allows every server one to write, store.connections and replays.threads to read, and one for /readyz",
        ),
    };
    StoreLocationError::CannotOpen { location, why, remedy }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_has_one_server() {
        let folder = std::env::temp_dir().join(format!("gauntlet-lock-{}", std::process::id()));
        let data = folder.join("deep").join("games.db");
        let first = lock(&data).unwrap();
        assert!(matches!(lock(&folder), Err(StoreLocationError::IsDirectory { .. })));
        let refused = lock(&data).unwrap_err();
        assert!(
            matches!(&refused, StoreLocationError::InUse { pid: Some(pid), .. } if *pid == std::process::id()),
            "{refused}"
        );
        drop(first);
        lock(&data).unwrap();
        lock(&folder.join("other.db")).unwrap();
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[track_caller]
    fn check_mode(path: &Path, want: u32) {
        assert_eq!(path.metadata().unwrap().mode() & 0o777, want, "{}", path.display());
    }

    #[tokio::test]
    async fn what_is_stored_is_for_this_user_alone() {
        let folder = std::env::temp_dir().join(format!("gauntlet-modes-{}", std::process::id()));
        let data = folder.join("deep/games.db");
        let mut config = Config::default();
        config.data = data;
        let lock = DataLock::acquire(&config).unwrap();
        let store = open_store(&config, SchemaPolicy::Migrate, Arc::new(metrics::Metrics::default())).await.unwrap();
        for folder in [&folder, &folder.join("deep")] {
            check_mode(folder, FOLDER_MODE);
        }
        for file in ["games.db", "games.db-wal", "games.db-shm", "games.db.lock"] {
            check_mode(&folder.join("deep").join(file), FILE_MODE);
        }
        drop((store, lock));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn one_file_has_one_server_under_any_name() {
        let folder = std::env::temp_dir().join(format!("gauntlet-names-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("real")).unwrap();
        let (data, by_file, by_folder) = (folder.join("real/games.db"), folder.join("link.db"), folder.join("also"));
        std::os::unix::fs::symlink("real/games.db", &by_file).unwrap();
        std::os::unix::fs::symlink("real", &by_folder).unwrap();
        // The first server creates the file, through a link that leads nowhere yet.
        let first = lock(&by_file).unwrap();
        for rival in [&data, &by_file, &by_folder.join("games.db")] {
            let refused = lock(rival).unwrap_err();
            assert!(matches!(refused, StoreLocationError::InUse { .. }), "{}: {refused}", rival.display());
        }
        drop(first);
        let linked = folder.join("linked.db");
        std::fs::hard_link(&data, &linked).unwrap();
        for name in [&data, &linked] {
            let refused = lock(name).unwrap_err();
            assert!(
                matches!(refused, StoreLocationError::HardLinked { names: 2, .. }),
                "{}: {refused}",
                name.display()
            );
        }
        std::fs::remove_file(&linked).unwrap();
        lock(&data).unwrap();
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_created_is_named() {
        let refused = lock(Path::new("/proc/nowhere/games.db")).unwrap_err();
        assert!(refused.to_string().starts_with("cannot use /proc/nowhere: "), "{refused}");
    }
}
