//! `gauntlet backup` and `gauntlet restore`: a copy of the data file, also while its server runs, and a data file out of a copy. A copy is
//! whole before it has its name, and a restored one was replayed in part before it has its own.

use crate::args;
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
use store::sqlite::{SqliteDatabase, backup};
use store::{MatchFilter, Store, StoreConfig};

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

pub(crate) fn backup_command() -> Command {
    let about = "Copies the data file, also while a server runs: everything that is saved at this moment";
    file_command("backup", about).after_help(
        "The copy is verified and whole before it is there under its name. An existing file is never overwritten.",
    )
}

pub(crate) fn restore_command() -> Command {
    file_command("restore", "Makes the data file of a server that does not run out of a backup").after_help(
        "The backup is verified, brought to this program's version, and the newest matches in it are replayed, before it becomes the data \
         file. An existing data file is never overwritten.",
    )
}

fn file_command(name: &'static str, about: &'static str) -> Command {
    let command = Command::new(name).about(about);
    FileArgs::augment_args(with_settings(command, |setting| matches!(setting.key, "store.data" | "store.url")))
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
    let part = Part::of(&file)?;
    backup::copy(data, &part.0)?;
    let bytes = std::fs::metadata(&part.0).map_err(|error| unusable(&file, &error))?.len();
    part.finish(&file)?;
    print_line(format_args!(
        "{} has everything that was saved in {} ({} MiB), verified",
        file.display(),
        data.display(),
        bytes / MIB
    ))?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn restore(typed: &ArgMatches) -> Result<ExitCode, CliError> {
    let (config, FileArgs { file }) = (load(typed)?, args(typed)?);
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
    let part = Part::of(&beside(data, ".restored"))?;
    std::fs::copy(&file, &part.0).map_err(|error| unusable(&file, &error))?;
    backup::verify(&part.0)?;
    let sample = crate::runtime::runtime(1)?.block_on(read_sample(&part.0))?;
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

/// Brings the file to this program's version, and replays the newest of what is in it.
async fn read_sample(file: &Path) -> Result<Sample, CliError> {
    let database = Arc::new(SqliteDatabase::new(file));
    let store = Store::open(database, StoreConfig { readers: 1 }, Arc::new(Metrics::default()))?;
    let sample = replay_newest(&store).await;
    store.close().await;
    // Closed, it is one file again: what stood beside it was taken into it.
    let log = beside(file, "-wal");
    if std::fs::metadata(&log).is_ok_and(|found| found.len() > 0) {
        return Err(CliError::failed(format_args!("{} could not be taken into its data file", log.display())));
    }
    sample
}

async fn replay_newest(store: &Store) -> Result<Sample, CliError> {
    let filter = MatchFilter { limit: SAMPLE, ..MatchFilter::default() };
    let matches: Vec<MatchRow> = store.read(move |reader| reader.matches(&filter)).await?;
    for row in &matches {
        replay_match(store, row).await?;
    }
    let games = store.read(move |reader| reader.story_history(None, SAMPLE)).await?;
    for game in &games {
        let id = game.id;
        let recorded = store.read(move |reader| reader.story_game(id)).await?;
        if let Some(bytes) = recorded.and_then(|(_, record)| record) {
            GameRecord::from_bytes(&bytes).map_err(|error| damaged(format_args!("game {id}: {error}")))?;
        }
    }
    Ok(Sample { matches: matches.len(), games: games.len() })
}

async fn replay_match(store: &Store, row: &MatchRow) -> Result<(), CliError> {
    let id = row.spec.id;
    let broken = |error: &dyn std::fmt::Display| damaged(format_args!("match {id}: {error}"));
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

fn damaged(what: impl std::fmt::Display) -> CliError {
    CliError::failed(format_args!("the backup cannot be replayed: {what}; take another one"))
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
struct Part(PathBuf);

impl Part {
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

impl Drop for Part {
    fn drop(&mut self) {
        for ending in ["", "-wal", "-shm", "-journal"] {
            let _ = std::fs::remove_file(beside(&self.0, ending));
        }
    }
}
