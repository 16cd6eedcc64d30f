//! `gauntlet backup` and `gauntlet restore`: a copy of the data file, also while its server runs, and a data file out of a copy. A copy is
//! whole before it has its name, and a restored one was replayed in part before it has its own.

use crate::args;
use crate::check_store::print_report;
use crate::cli_settings::{load, with_settings};
use crate::output::{CliError, print_line};
use clap::{ArgMatches, Args, Command};
use engine::matches::machine::MatchMachine;
use engine::rows::MatchRow;
use engine::tables::GameRecord;
use metrics::Metrics;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use server::process::{DataLock, StoreLocationError};
use settings::{Config, StoreLocation};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use store::checksums::ChecksumReport;
use store::sqlite::{SqliteDatabase, backup};
use store::{MatchFilter, Store, StoreConfig, StoreError};

/// The newest matches, and the newest games of Stories, that are read whole before a restored file is taken.
const SAMPLE: usize = 200;
/// Entries of a log that are read at a time.
const LOG_PAGE: usize = 256;
/// Rights of the files that are made: for this user alone.
const FILE_MODE: u32 = 0o600;
const MIB: u64 = 1024 * 1024;

#[derive(Args)]
struct FileArgs {
    /// The backup
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

#[derive(Args)]
struct RestoreArgs {
    #[command(flatten)]
    file: FileArgs,
    /// Restore a backup that has damaged rows: what they belong to cannot be read, everything else can
    #[arg(long)]
    accept_damage: bool,
}

pub(crate) fn backup_command() -> Command {
    let about = "Copies the data file, also while a server runs: everything that is saved at this moment";
    FileArgs::augment_args(file_command("backup", about)).after_help(
        "The copy is verified and whole before it is there under its name. An existing file is never overwritten. Rows whose checksums do not \
         match were damaged before: they are copied as they are, listed, and the command ends with 1.",
    )
}

pub(crate) fn restore_command() -> Command {
    let about = "Makes the data file of a server that does not run out of a backup";
    RestoreArgs::augment_args(file_command("restore", about)).after_help(
        "The backup is verified, brought to this program's version, every checksum in it is compared, and the newest matches are replayed, \
         before it becomes the data file. An existing data file is never overwritten.",
    )
}

fn file_command(name: &'static str, about: &'static str) -> Command {
    let command = Command::new(name).about(about);
    with_settings(command, |setting| matches!(setting.key, "store.data" | "store.url"))
}

pub(crate) fn back_up(typed: &ArgMatches) -> Result<ExitCode, CliError> {
    let (config, FileArgs { file }) = (load(typed)?, args(typed)?);
    let data = data_file(&config)?;
    if !data.exists() {
        return Err(CliError::failed(format_args!(
            "there is no data file {}: name the server's with --data",
            data.display()
        )));
    }
    let part = PartialFile::of(&file)?;
    backup::copy(data, &part.0)?;
    let checksums = backup::check_checksums(&part.0)?;
    let bytes = std::fs::metadata(&part.0).map_err(|error| unusable(&file, &error))?.len();
    part.finish(&file)?;
    print_line(format_args!(
        "{} has everything that was saved in {} ({} MiB), verified",
        file.display(),
        data.display(),
        bytes / MIB
    ))?;
    print_checksums(checksums.as_ref())?;
    match checksums {
        Some(ChecksumReport { damaged: 1.., .. }) => Err(CliError::failed(format_args!(
            "{} has damaged rows, and so has this copy: keep the backups from before (docs/operate.md, \"Damaged data\")",
            data.display()
        ))),
        _ => Ok(ExitCode::SUCCESS),
    }
}

pub(crate) fn restore(typed: &ArgMatches) -> Result<ExitCode, CliError> {
    let (config, RestoreArgs { file: FileArgs { file }, accept_damage }) = (load(typed)?, args(typed)?);
    let data = data_file(&config)?;
    let _alone = DataLock::acquire(&config).map_err(|error| match error {
        StoreLocationError::InUse { path, .. } => CliError::failed(format_args!(
            "a server uses {}: stop it first, or name another file with --data",
            path.display()
        )),
        other => CliError::failed(other),
    })?;
    // Only the lock has made it: what has no bytes has no data.
    let is_empty = std::fs::metadata(data).is_ok_and(|found| found.len() == 0);
    if !is_empty {
        return Err(CliError::failed(format_args!(
            "{} has data already, and a restore overwrites nothing: move it away, with the files beside it that end in -wal and -shm, or name \
             another with --data",
            data.display()
        )));
    }
    let part = PartialFile::of(&beside(data, ".restored"))?;
    part.write(&file).map_err(|error| unusable(&file, &error))?;
    backup::verify(&part.0)?;
    let sample = crate::runtime::runtime(1)?.block_on(read_sample(&part.0, accept_damage))?;
    std::fs::remove_file(data).map_err(|error| unusable(data, &error))?;
    part.finish(data)?;
    print_line(format_args!(
        "{} is restored from {}: verified, {} matches and {} games of Stories replayed. A server that begins with it goes on from there",
        data.display(),
        file.display(),
        sample.matches,
        sample.games
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn data_file(config: &Config) -> Result<&Path, CliError> {
    match config.store() {
        StoreLocation::Sqlite(data) => Ok(data),
        StoreLocation::Postgres(_) => Err(CliError::usage(
            "store.url is set: PostgreSQL has its own backups, pg_dump and archived write-ahead logs; docs/operate.md says in which order",
        )),
    }
}

/// What was replayed of a store.
#[derive(Debug, Default)]
struct Sample {
    matches: usize,
    games: usize,
}

fn print_checksums(checksums: Option<&ChecksumReport>) -> Result<(), CliError> {
    match checksums {
        Some(report) => print_report(report),
        None => print_line(format_args!("it is from before there were checksums of rows")),
    }
}

/// Brings the file to this program's version, compares its checksums, and replays the newest of what is in it.
async fn read_sample(file: &Path, accept_damage: bool) -> Result<Sample, CliError> {
    let database = Arc::new(SqliteDatabase::new(file));
    let store = Store::open(database, StoreConfig { readers: 1 }, Arc::new(Metrics::default()))?;
    let sample = match check_checksums(file, accept_damage) {
        Ok(()) => replay_newest(&store, accept_damage).await,
        Err(error) => Err(error),
    };
    store.close().await;
    backup::take_in_log(file)?;
    sample
}

fn check_checksums(file: &Path, accept_damage: bool) -> Result<(), CliError> {
    let checksums = backup::check_checksums(file)?;
    print_checksums(checksums.as_ref())?;
    match checksums {
        Some(ChecksumReport { damaged: 1.., .. }) if !accept_damage => Err(CliError::failed(
            "the backup has damaged rows: take another one, or add --accept-damage to go on without what they belong to",
        )),
        _ => Ok(()),
    }
}

/// What is damaged is passed over where that is accepted.
async fn replay_newest(store: &Store, accept_damage: bool) -> Result<Sample, CliError> {
    let filter = MatchFilter { limit: SAMPLE, ..MatchFilter::default() };
    let matches: Vec<MatchRow> = store.read(move |reader| reader.matches(&filter)).await?;
    let mut sample = Sample::default();
    for row in &matches {
        sample.matches += usize::from(unless_damaged(replay_match(store, row).await, accept_damage)?);
    }
    let games = store.read(move |reader| reader.story_history(None, SAMPLE)).await?;
    for game in &games {
        let id = game.id;
        let recorded = store.read(move |reader| reader.story_game(id)).await;
        let read = recorded.map_err(ReplayError::Store).and_then(|recorded| {
            let record = recorded.and_then(|(_, record)| record);
            let read = record.map(|bytes| GameRecord::from_bytes(&bytes)).transpose();
            read.map(drop).map_err(|error| ReplayError::Broken(format!("game {id}: {error}")))
        });
        sample.games += usize::from(unless_damaged(read, accept_damage)?);
    }
    Ok(sample)
}

/// Why something was not replayed.
enum ReplayError {
    Store(StoreError),
    Broken(String),
}

impl From<StoreError> for ReplayError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Whether something was replayed, or is damaged and may be.
fn unless_damaged(replayed: Result<(), ReplayError>, accept_damage: bool) -> Result<bool, CliError> {
    match replayed {
        Ok(()) => Ok(true),
        Err(ReplayError::Store(StoreError::Damaged(_))) if accept_damage => Ok(false),
        Err(ReplayError::Store(error)) => Err(error.into()),
        Err(ReplayError::Broken(what)) => {
            Err(CliError::failed(format_args!("the backup cannot be replayed: {what}; take another one")))
        }
    }
}

async fn replay_match(store: &Store, row: &MatchRow) -> Result<(), ReplayError> {
    let id = row.spec.id;
    let broken = |error: &dyn std::fmt::Display| ReplayError::Broken(format!("match {id}: {error}"));
    let mut machine = MatchMachine::new(row.spec.clone()).map_err(|error| broken(&error))?;
    loop {
        let from = machine.version();
        let page = store.read(move |reader| reader.match_log(id, from, LOG_PAGE)).await?;
        let Some(page) = page.filter(|page| !page.rows.is_empty()) else { return Ok(()) };
        for entry in &page.rows {
            machine.replay(entry).map_err(|error| broken(&error))?;
        }
    }
}

fn unusable(file: &Path, error: &io::Error) -> CliError {
    CliError::failed(format_args!("{} cannot be used: {error}", file.display()))
}

fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// A file that is being made beside its place, and is removed unless it is finished.
struct PartialFile(PathBuf);

impl PartialFile {
    /// An empty one. What an interrupted command left there is replaced.
    fn of(file: &Path) -> Result<Self, CliError> {
        if file.exists() {
            return Err(CliError::failed(format_args!("{} is there already: name another file", file.display())));
        }
        let part = Self(beside(file, ".part"));
        let made = OpenOptions::new().write(true).create(true).truncate(true).mode(FILE_MODE).open(&part.0);
        made.map_err(|error| unusable(&part.0, &error))?;
        Ok(part)
    }

    /// Fills it with the bytes of another file. Its rights stay its own: `fs::copy` would take over those of the other.
    fn write(&self, from: &Path) -> io::Result<()> {
        let mut part = OpenOptions::new().write(true).open(&self.0)?;
        io::copy(&mut File::open(from)?, &mut part).map(drop)
    }

    /// Gives it its name, where nothing is.
    fn finish(self, file: &Path) -> Result<(), CliError> {
        let named = File::open(&self.0).and_then(|part| {
            part.sync_all()?;
            renameat_with(CWD, &self.0, CWD, file, RenameFlags::NOREPLACE)?;
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            File::open(folder)?.sync_all()
        });
        named.map_err(|error| unusable(file, &error))
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        for ending in ["", "-wal", "-shm", "-journal"] {
            let _ = std::fs::remove_file(beside(&self.0, ending));
        }
    }
}
