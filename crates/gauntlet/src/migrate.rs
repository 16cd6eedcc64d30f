//! `gauntlet migrate`: brings the schema of a store to the version of this program, or says what would be done.

use crate::cli_settings::{load, with_settings};
use crate::output::{CliError, print_line};
use crate::serve::store_description;
use clap::{Arg, ArgAction, ArgMatches, Command};
use server::process::{migrate_store, schema_version};
use settings::StoreLocation;
use std::process::ExitCode;
use std::time::Instant;
use store::SchemaVersion;

const CHECK: &str = "check";

pub(crate) fn command() -> Command {
    let check = Arg::new(CHECK)
        .long(CHECK)
        .action(ArgAction::SetTrue)
        .help("Only say what would be done, and end with 1 if something would");
    let about = "Brings the data file or database to the version of this program";
    with_settings(Command::new("migrate").about(about), |setting| matches!(setting.key, "store.data" | "store.url"))
        .arg(check)
        .after_help(
            "All steps are one transaction: after a failure the store is as it was. A data file must not be in use; on a PostgreSQL database \
             servers of the version before go on. Nothing goes back to an older version: make a backup first.",
        )
}

pub(crate) fn run(typed: &ArgMatches) -> Result<ExitCode, CliError> {
    let config = load(typed)?;
    let store = store_description(&config);
    if let StoreLocation::Sqlite(data) = config.store()
        && !data.exists()
    {
        return Err(CliError::failed(format_args!(
            "there is no data file {}; name the server's with --data, or its database with --store-url (a new one is made by gauntlet serve)",
            data.display()
        )));
    }
    if typed.get_flag(CHECK) {
        let version = schema_version(&config)?;
        print_line(format_args!("{store}: {}", what_would_be_done(version)))?;
        return Ok(if version.found == version.known || version.is_compatible {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        });
    }
    let began = Instant::now();
    let before = migrate_store(&config)?;
    let known = schema_version(&config)?.known;
    print_line(format_args!("{store}: {}", what_was_done(before, known, began.elapsed().as_secs_f64())))?;
    Ok(ExitCode::SUCCESS)
}

fn what_would_be_done(SchemaVersion { found, known, is_compatible }: SchemaVersion) -> String {
    match found {
        0 => format!("is empty; gauntlet migrate would make schema version {known}"),
        _ if found == known => format!("has schema version {found}, the one of this program: nothing to do"),
        _ if found < known => {
            format!(
                "has schema version {found}; gauntlet migrate would run {} to version {known}",
                steps(known - found)
            )
        }
        _ if is_compatible => format!(
            "has schema version {found}, newer than the {known} of this program, which may go on serving from it; nothing goes back"
        ),
        _ => format!(
            "has schema version {found}, newer than the {known} of this program, which cannot use it: run the newer program, or restore a \
             backup from before the upgrade"
        ),
    }
}

fn what_was_done(before: i64, known: i64, seconds: f64) -> String {
    match before {
        0 => format!("was empty and has schema version {known} now"),
        _ if before == known => format!("had schema version {known}, the one of this program: nothing was done"),
        _ => format!("{} from schema version {before} to {known} in {seconds:.1} s", steps(known - before)),
    }
}

fn steps(count: i64) -> String {
    if count == 1 { "1 step".to_owned() } else { format!("{count} steps") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(found: i64, is_compatible: bool, want: &str) {
        let said = what_would_be_done(SchemaVersion { found, known: 5, is_compatible });
        assert!(said.contains(want), "{said}");
    }

    #[test]
    fn a_check_says_what_would_be_done() {
        check(0, false, "would make schema version 5");
        check(4, false, "would run 1 step to version 5");
        check(2, false, "would run 3 steps to version 5");
        check(5, false, "nothing to do");
        check(6, true, "may go on serving");
        check(6, false, "cannot use it");
    }
}
