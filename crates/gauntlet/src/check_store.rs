//! `gauntlet check-store`: reads a whole store, whatever database it is in, and lists what of it is damaged.

use crate::cli_settings::{load, with_settings};
use crate::output::{CliError, print_line};
use crate::serve::store_description;
use clap::{ArgMatches, Command};
use server::process::check_rows;
use settings::StoreLocation;
use std::process::ExitCode;
use store::checksums::ChecksumReport;
use store::sqlite::backup;

pub(crate) fn command() -> Command {
    let about = "Reads the data file or database and lists what of it is damaged, also while servers run";
    with_settings(Command::new("check-store").about(about), |setting| matches!(setting.key, "store.data" | "store.url"))
        .after_help(
            "Every checksum is compared, every row that has a text is read, and of a data file all pages and indexes, each as of one moment; \
             nothing is changed. Ends with 1 if anything is damaged. What to do then: docs/operate.md, \"Damaged data\".",
        )
}

pub(crate) fn run(typed: &ArgMatches) -> Result<ExitCode, CliError> {
    let config = load(typed)?;
    if let StoreLocation::Sqlite(data) = config.store()
        && !data.is_file()
    {
        return Err(CliError::failed(format_args!(
            "{} is no file; name the server's data file with --data, or its database with --store-url",
            data.display()
        )));
    }
    let report = check_rows(&config)?;
    print_line(format_args!("{}:", store_description(&config)))?;
    print_report(&report)?;
    // PostgreSQL checks its own pages, where it was told to (data_checksums).
    if let StoreLocation::Sqlite(data) = config.store() {
        backup::verify(data)?;
        print_line("all pages and indexes agree")?;
    }
    Ok(if report.damaged == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Lists what is damaged.
pub(crate) fn print_report(report: &ChecksumReport) -> Result<(), CliError> {
    let ChecksumReport { rows, without_checksum, damaged, shown, .. } = report;
    let at_least = if *damaged >= ChecksumReport::COUNTED_MAX { "at least " } else { "" };
    for damage in shown {
        print_line(format_args!("damaged: {} ({damage})", damage.kind.name()))?;
    }
    print_line(format_args!(
        "checksums of {} rows compared, {without_checksum} more have none: {at_least}{damaged} rows are damaged{}",
        rows - without_checksum,
        if shown.len() as u64 == *damaged { "" } else { ", of which the first are listed" }
    ))
}
