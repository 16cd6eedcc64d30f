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
use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};
use server::process::{DataLock, StoreLocationError};
use settings::{Config, StoreLocation};
use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
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
    if !data.is_file() {
        return Err(CliError::failed(format_args!(
            "{} is no file: name the server's data file with --data",
            data.display()
        )));
    }
    let part = PartialFile::of(&file)?;
    backup::copy(data, &part.path)?;
    let checksums = backup::check_checksums(&part.path)?;
    let bytes = std::fs::metadata(&part.path).map_err(|error| unusable(&file, &error))?.len();
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
    check_backup(&file)?;
    let is_new = check_place(data)?;
    let _alone = DataLock::acquire(&config).map_err(|error| match error {
        StoreLocationError::InUse { path, .. } => CliError::failed(format_args!(
            "a server uses {}: stop it first, or name another file with --data",
            path.display()
        )),
        other => CliError::failed(other),
    })?;
    // The lock has made it, if nothing was there: what has no bytes has no data.
    let _empty = EmptyDataFile { data, is_new };
    let is_empty = std::fs::metadata(data).is_ok_and(|found| found.len() == 0);
    if !is_empty {
        return Err(CliError::failed(format_args!(
            "{} has data already, and a restore overwrites nothing: move it away, with the files beside it that end in -wal and -shm, or name \
             another with --data",
            data.display()
        )));
    }
    check_logs(data)?;
    let part = PartialFile::of(&beside(data, ".restored"))?;
    part.write(&file).map_err(|error| unusable(&file, &error))?;
    // What is wrong with the copy is wrong with the backup, which is what the reader knows.
    let unfit = |error: &str| {
        let (copy, backup) = (part.path.display().to_string(), file.display().to_string());
        CliError::failed(format_args!("{backup} is not restored: {}", error.replace(&copy, &backup)))
    };
    backup::verify(&part.path).map_err(|error| unfit(&error.to_string()))?;
    let sample = crate::runtime::runtime(1)?.block_on(read_sample(&part.path, accept_damage));
    let sample = sample.map_err(|error| unfit(error.text()))?;
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

/// A data file that a server uses, or used when it was killed, is whole only together with its log.
fn check_backup(file: &Path) -> Result<(), CliError> {
    let found = std::fs::metadata(file).map_err(|error| unusable(file, &error))?;
    if !found.is_file() {
        return Err(CliError::failed(format_args!("{} is no file: name a backup", file.display())));
    }
    let log = beside(file, "-wal");
    if std::fs::metadata(&log).is_ok_and(|found| found.len() > 0) {
        return Err(CliError::failed(format_args!(
            "a part of what {} has is in {}: it is a server's data file. Make a backup of it, and restore that: gauntlet backup FILE --data {}",
            file.display(),
            log.display(),
            file.display()
        )));
    }
    Ok(())
}

/// That nothing but a file is where a data file is to be put; whether there is nothing yet.
fn check_place(data: &Path) -> Result<bool, CliError> {
    let found = data.symlink_metadata().ok();
    if found.as_ref().is_some_and(|found| !found.is_file()) {
        return Err(CliError::failed(format_args!(
            "{} is something other than a file: name another data file with --data",
            data.display()
        )));
    }
    Ok(found.is_none())
}

/// That no log of another data file is beside it, which SQLite would read for its own.
fn check_logs(data: &Path) -> Result<(), CliError> {
    let left = ["-wal", "-shm", "-journal"].map(|ending| beside(data, ending));
    if let Some(left) = left.iter().find(|left| left.symlink_metadata().is_ok()) {
        return Err(CliError::failed(format_args!(
            "{} is there, of a data file that was in this place: move it away, to where that data file is, or name another with --data",
            left.display()
        )));
    }
    Ok(())
}

/// The place of a data file that is restored. What is not restored leaves no empty file there.
struct EmptyDataFile<'a> {
    data: &'a Path,
    is_new: bool,
}

impl Drop for EmptyDataFile<'_> {
    fn drop(&mut self) {
        if self.is_new && std::fs::metadata(self.data).is_ok_and(|found| found.len() == 0) {
            let _ = std::fs::remove_file(self.data);
        }
    }
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
struct PartialFile {
    path: PathBuf,
    /// Locked. Open as long as SQLite uses the file: to close any handle of it takes SQLite's own locks away.
    file: File,
}

impl PartialFile {
    /// An empty one. What an interrupted command left there is replaced.
    fn of(file: &Path) -> Result<Self, CliError> {
        if file.exists() {
            return Err(CliError::failed(format_args!("{} is there already: name another file", file.display())));
        }
        let path = beside(file, ".part");
        let mut options = OpenOptions::new();
        options
            .write(true)
            .create(true)
            .truncate(false)
            .mode(FILE_MODE)
            .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
        let part = options.open(&path).map_err(|error| unusable(&path, &error))?;
        match part.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(CliError::failed(format_args!("another command makes {} now", file.display())));
            }
            Err(TryLockError::Error(error)) => return Err(unusable(&path, &error)),
        }
        let found = part.metadata().map_err(|error| unusable(&path, &error))?;
        // A command that ended meanwhile has given it its name: it is no beginning any more.
        if path.symlink_metadata().ok().map(|named| (named.dev(), named.ino())) != Some((found.dev(), found.ino())) {
            return Err(CliError::failed(format_args!("another command made {} just now", file.display())));
        }
        // What is also somewhere else is not ours.
        if !found.is_file() || found.nlink() != 1 {
            return Err(CliError::failed(format_args!(
                "{} is something other than the file of a command that was interrupted: move it away",
                path.display()
            )));
        }
        let emptied = part.set_len(0).and_then(|()| part.set_permissions(Permissions::from_mode(FILE_MODE)));
        emptied.map_err(|error| unusable(&path, &error))?;
        Ok(Self { path, file: part })
    }

    /// Fills it with the bytes of another file. Its rights stay its own: `fs::copy` would take over those of the other.
    fn write(&self, from: &Path) -> io::Result<()> {
        io::copy(&mut File::open(from)?, &mut &self.file).map(drop)
    }

    /// Gives it its name, where nothing is.
    fn finish(self, file: &Path) -> Result<(), CliError> {
        let named = self.file.sync_all().and_then(|()| {
            renameat_with(CWD, &self.path, CWD, file, RenameFlags::NOREPLACE)?;
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            File::open(folder)?.sync_all()
        });
        named.map_err(|error| unusable(file, &error))
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        for ending in ["", "-wal", "-shm", "-journal"] {
            let _ = std::fs::remove_file(beside(&self.path, ending));
        }
    }
}
