//! For tests, simulations and benchmarks: a temporary directory, a database in memory, and a private PostgreSQL cluster,
//! from Debian's package, that cannot outlive the process which started it.

pub mod faulty_disk;
pub mod statements;

use crate::checksums::ChecksumReport;
use crate::contract::{Backend, Database, Reader, StoreError};
use crate::postgres::PostgresDatabase;
use crate::sqlite::SqliteDatabase;
use engine::competitions::CompetitionResult;
use engine::ids::CompetitionId;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

static COUNT: AtomicU32 = AtomicU32::new(0);

/// Ladders of any age, for tests and benchmarks.
pub trait RecordUnplayed {
    /// Records results of matches that were never played, in one transaction, in the rows that the commits of their ends would have
    /// written. They take the next numbers of the ladder, whatever theirs are.
    ///
    /// # Errors
    /// As for [`Database::writer`], and what the database refuses.
    fn record_unplayed(&self, ladder: CompetitionId, results: &[CompetitionResult]) -> Result<(), StoreError>;
}

/// A store that is changed behind its back, as a disk or a hand would do it: no trigger acts, and no constraint holds.
pub trait DamageRows: Database {
    /// Runs a statement.
    ///
    /// # Panics
    /// When that fails.
    fn run_unchecked(&self, sql: &str);

    /// Changes the bytes in a column of the one row of a table of which this holds: `(table, column, condition)`.
    ///
    /// # Panics
    /// When there is no such row.
    fn rewrite(&self, place: (&str, &str, &str), change: &mut dyn FnMut(&mut Vec<u8>));

    /// The same as a program does it that knows no checksums: triggers act.
    ///
    /// # Panics
    /// When there is no such row.
    fn rewrite_as_before(&self, place: (&str, &str, &str), change: &mut dyn FnMut(&mut Vec<u8>));

    /// Holds all checksums against what they are of.
    ///
    /// # Panics
    /// When the store cannot be read.
    fn check_checksums(&self) -> ChecksumReport;
}

/// A new directory, removed when this is dropped.
#[derive(Debug)]
pub struct TempDir {
    path: PathBuf,
}

impl TempDir {
    /// Creates it under the system's directory for temporary files.
    ///
    /// # Panics
    /// When it cannot be created: no test can continue then.
    #[must_use]
    pub fn new() -> Self {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("gauntlet-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary directory can be made");
        Self { path }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Default for TempDir {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// A database of SQLite's in memory, which its clones share. It is gone with the last of its connections.
#[derive(Clone)]
pub struct MemoryDatabase {
    sqlite: SqliteDatabase,
    _first_connection: Arc<Mutex<Box<dyn Backend>>>,
}

impl MemoryDatabase {
    /// A new one with its schema.
    ///
    /// # Panics
    /// When there is no memory for it.
    #[must_use]
    pub fn new() -> Self {
        let sqlite = SqliteDatabase::new(format!("file:/{}?vfs=memdb", COUNT.fetch_add(1, Ordering::Relaxed)));
        let connection = sqlite.writer().expect("a database in memory can be opened");
        Self { sqlite, _first_connection: Arc::new(Mutex::new(connection)) }
    }
}

impl Default for MemoryDatabase {
    fn default() -> Self {
        Self::new()
    }
}

impl Database for MemoryDatabase {
    fn writer(&self) -> Result<Box<dyn Backend>, StoreError> {
        self.sqlite.writer()
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        self.sqlite.reader()
    }

    fn is_shared(&self) -> bool {
        self.sqlite.is_shared()
    }

    fn kind(&self) -> &'static str {
        "memory"
    }
}

impl DamageRows for MemoryDatabase {
    fn run_unchecked(&self, sql: &str) {
        self.sqlite.run_unchecked(sql);
    }

    fn rewrite(&self, place: (&str, &str, &str), change: &mut dyn FnMut(&mut Vec<u8>)) {
        self.sqlite.rewrite(place, change);
    }

    fn rewrite_as_before(&self, place: (&str, &str, &str), change: &mut dyn FnMut(&mut Vec<u8>)) {
        self.sqlite.rewrite_as_before(place, change);
    }

    fn check_checksums(&self) -> ChecksumReport {
        self.sqlite.check_checksums()
    }
}

/// A PostgreSQL server on a Unix socket in a directory of its own. It ends when this is dropped, and also when this process dies
/// in any way: a guard process waits at the end of a pipe.
pub struct PostgresCluster {
    dir: PathBuf,
    programs: PathBuf,
    is_durable: bool,
    connections_max: usize,
    /// Its port on 127.0.0.1, if it has one.
    tcp_port: Option<u16>,
    server: Mutex<Option<Child>>,
    /// Set once there is a database with the schema, of which copies are made.
    template: OnceLock<()>,
    guard: Child,
    /// The guard acts when this is closed.
    lifeline: Option<ChildStdin>,
}

/// The database of a cluster that has the schema and no row.
const TEMPLATE: &str = "with_schema";
/// Enough for all tests of a process that share a cluster.
const CONNECTIONS_MAX: usize = 200;
/// A server that does not answer for so long after its start never will, be the machine ever so busy.
const START_TIMEOUT: Duration = Duration::from_secs(300);
const START_CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Waits until its standard input ends, then ends the server, then removes the directory.
const GUARD: &str = r#"
cat >/dev/null
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
if [ -n "$pid" ]; then
    kill -QUIT "$pid" 2>/dev/null
    while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
fi
rm -rf "$1"
"#;

impl PostgresCluster {
    /// A cluster that does not wait for the disk: fast, and safe as long as the machine itself does not fail.
    ///
    /// # Panics
    /// When PostgreSQL is not installed (the message names the package) or does not start.
    #[must_use]
    pub fn start() -> Self {
        Self::start_as(false, CONNECTIONS_MAX, None)
    }

    /// The same with so many connections.
    ///
    /// # Panics
    /// As for [`PostgresCluster::start`].
    #[must_use]
    pub fn start_with_connections(connections_max: usize) -> Self {
        Self::start_as(false, connections_max, None)
    }

    /// A cluster that waits for the disk at every commit.
    ///
    /// # Panics
    /// As for [`PostgresCluster::start`].
    #[must_use]
    pub fn start_durable() -> Self {
        Self::start_as(true, CONNECTIONS_MAX, None)
    }

    /// A cluster that listens on 127.0.0.1, too, and on no other address.
    ///
    /// # Panics
    /// As for [`PostgresCluster::start`].
    #[must_use]
    pub fn start_on_tcp() -> Self {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
        Self::start_as(false, CONNECTIONS_MAX, Some(free.expect("there is a free port").port()))
    }

    /// Its port on 127.0.0.1; 5432 stands in the name of the Unix socket of one that has none.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.tcp_port.unwrap_or(5432)
    }

    /// Starts it again with this certificate and key (PEM), and these lines of who may connect (`pg_hba.conf`).
    ///
    /// # Panics
    /// When that fails.
    pub fn restart_with_tls(&self, certificate: &str, key: &str, access: &str) {
        for (name, text) in [("server.crt", certificate), ("server.key", key), ("pg_hba.conf", access)] {
            let path = self.dir.join("data").join(name);
            std::fs::write(&path, text).expect("the cluster's directory can be written");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("it is ours");
            give_to_postgres(&path);
        }
        self.restart_with("ALTER SYSTEM SET ssl = on");
    }

    /// Starts it again after this statement.
    ///
    /// # Panics
    /// When that fails.
    pub fn restart_with(&self, sql: &str) {
        self.run(sql);
        self.stop();
        self.resume();
    }

    /// The one cluster that tests of a process share, for those that do not stop it.
    ///
    /// # Panics
    /// As for [`PostgresCluster::start`].
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<PostgresCluster> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    fn start_as(is_durable: bool, connections_max: usize, tcp_port: Option<u16>) -> Self {
        let programs = programs();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("gauntlet-pg-{}-{count}", std::process::id()));
        make_own_dir(&dir);
        let mut guard = Command::new("sh");
        guard.args(["-c", GUARD, "guard"]).arg(&dir).stdin(Stdio::piped()).process_group(0);
        let mut guard = guard.spawn().expect("a shell can be started");
        let lifeline = guard.stdin.take();
        let (server, template) = (Mutex::new(None), OnceLock::new());
        let cluster = Self { dir, programs, is_durable, connections_max, tcp_port, server, template, guard, lifeline };
        cluster.init();
        cluster.resume();
        cluster
    }

    fn init(&self) {
        let mut initdb = self.program("initdb");
        initdb.args(["--username=gauntlet", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]);
        let made = initdb.arg("-D").arg(self.dir.join("data")).output().expect("initdb can be started");
        assert!(made.status.success(), "initdb failed: {}", String::from_utf8_lossy(&made.stderr));
    }

    /// Starts the server again after [`PostgresCluster::stop`]; returns when it answers.
    ///
    /// # Panics
    /// When it does not start.
    pub fn resume(&self) {
        let fsync = if self.is_durable { "fsync=on" } else { "fsync=off" };
        let mut postgres = self.program("postgres");
        postgres.arg("-D").arg(self.dir.join("data")).arg("-k").arg(&self.dir);
        let connections = format!("max_connections={}", self.connections_max);
        let port = format!("port={}", self.port());
        let addresses = if self.tcp_port.is_some() { "listen_addresses=127.0.0.1" } else { "listen_addresses=" };
        for setting in [addresses, &port, fsync, &connections, "shared_buffers=64MB"] {
            postgres.args(["-c", setting]);
        }
        let log = std::fs::File::create(self.dir.join("log")).expect("a log can be written");
        let mut server = postgres.stderr(log).stdout(Stdio::null()).spawn().expect("postgres can be started");
        let began = Instant::now();
        while let Err(why) = self.psql("SELECT 1") {
            let ended = server.try_wait().expect("a child can be waited for");
            if ended.is_some() || began.elapsed() > START_TIMEOUT {
                let log = std::fs::read_to_string(self.dir.join("log")).unwrap_or_default();
                panic!("PostgreSQL does not start (it ended: {ended:?}): {why}\n{log}");
            }
            // The server needs the processor more than the next attempt does.
            std::thread::sleep(START_CHECK_INTERVAL);
        }
        *self.lock() = Some(server);
    }

    /// Stops the server at once, as a crash would: connections break, nothing is flushed.
    ///
    /// # Panics
    /// When it cannot be stopped.
    pub fn stop(&self) {
        if let Some(mut server) = self.lock().take() {
            let stopped = Command::new("kill").args(["-QUIT", &server.id().to_string()]).status();
            assert!(stopped.as_ref().is_ok_and(ExitStatus::success), "PostgreSQL cannot be stopped: {stopped:?}");
            server.wait().expect("a child can be waited for");
        }
    }

    /// A new database in this cluster with the schema of this version and no row. Every one but the first is a copy, which takes a fifth
    /// of what the migrations would.
    ///
    /// # Panics
    /// When the server does not answer.
    #[must_use]
    pub fn new_database(&self) -> PostgresDatabase {
        let database = |name: &str| PostgresDatabase::new(&self.url_of(name)).expect("this is a proper address");
        self.template.get_or_init(|| {
            self.run(&format!("CREATE DATABASE {TEMPLATE} TEMPLATE template0"));
            drop(database(TEMPLATE).writer().expect("an empty database can be migrated"));
            // As for template0: a session in it, be it the database's own cleaner, would be in the way of a copy.
            self.run(&format!("ALTER DATABASE {TEMPLATE} ALLOW_CONNECTIONS false"));
        });
        database(&self.copy(TEMPLATE))
    }

    /// The address of a new, empty database in this cluster.
    ///
    /// # Panics
    /// As for [`PostgresCluster::new_database`].
    #[must_use]
    pub fn new_empty_database_url(&self) -> String {
        self.url_of(&self.copy("template0"))
    }

    /// The name of a new copy of this database.
    fn copy(&self, template: &str) -> String {
        let name = format!("test_{}", COUNT.fetch_add(1, Ordering::Relaxed));
        self.run(&format!("CREATE DATABASE {name} TEMPLATE {template}"));
        name
    }

    fn url_of(&self, name: &str) -> String {
        format!("host={} port={} user=gauntlet dbname={name}", self.dir.display(), self.port())
    }

    /// Runs one statement as the superuser.
    ///
    /// # Panics
    /// When it fails.
    pub fn run(&self, sql: &str) {
        if let Err(why) = self.psql(sql) {
            panic!("{sql}: {why}");
        }
    }

    fn psql(&self, sql: &str) -> Result<(), String> {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.arg("-h").arg(&self.dir).args([
            "-p",
            &self.port().to_string(),
            "-U",
            "gauntlet",
            "-d",
            "postgres",
            "-c",
            sql,
        ]);
        let ran = psql.stdin(Stdio::null()).output().map_err(|error| format!("psql cannot be started: {error}"))?;
        if ran.status.success() {
            return Ok(());
        }
        Err(format!("psql ended with {}: {}", ran.status, String::from_utf8_lossy(&ran.stderr)))
    }

    /// A program of PostgreSQL's, as a user that it agrees to run as.
    fn program(&self, name: &str) -> Command {
        let program = self.programs.join(name);
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.current_dir(&self.dir).stdin(Stdio::null()).process_group(0);
        command
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Child>> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PostgresCluster {
    fn drop(&mut self) {
        self.stop();
        self.lifeline = None;
        let _ = self.guard.wait();
    }
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|of_us| std::os::unix::fs::MetadataExt::uid(&of_us) == 0)
}

fn make_own_dir(dir: &Path) {
    // Left behind by a process that had this id before.
    let _ = std::fs::remove_dir_all(dir);
    std::fs::create_dir_all(dir).expect("a temporary directory can be made");
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o700)).expect("it is ours");
    give_to_postgres(dir);
}

/// What root made, given to the user as whom PostgreSQL runs.
fn give_to_postgres(path: &Path) {
    if is_root() {
        let id = |flag: &str| -> Option<u32> {
            let output = Command::new("id").args([flag, "postgres"]).output().ok()?;
            String::from_utf8_lossy(&output.stdout).trim().parse().ok()
        };
        let (user, group) = (id("-u"), id("-g"));
        assert!(user.is_some(), "there is no user postgres, as whom PostgreSQL must run here: {INSTALL}");
        chown(path, user, group).expect("root may give a file away");
    }
}

const INSTALL: &str = "install Debian's package: apt-get install postgresql";

/// Where the newest installed PostgreSQL keeps its programs: Debian's place, or the directory of a `postgres` on the path.
fn programs() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let version = |dir: &std::fs::DirEntry| dir.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
    let newest = versions.filter_map(|dir| Some((version(&dir)?, dir.path().join("bin")))).max();
    let on_path = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).find(|dir| dir.join("postgres").exists())
    };
    let found = newest.map(|(_, bin)| bin).filter(|bin| bin.join("postgres").exists()).or_else(on_path);
    found.unwrap_or_else(|| panic!("PostgreSQL is needed for this test and is not installed: {INSTALL}"))
}
