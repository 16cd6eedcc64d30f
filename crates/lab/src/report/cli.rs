//! `gauntlet report DIR`: makes every report of a run again from what was recorded, also of a run whose lab was killed
//! before it could write its own. Does not change what was recorded.

use std::path::PathBuf;
use std::process::ExitCode;

use super::rebuild::load_or_rebuild;
use super::run_files::write_reports;
use super::summary;
use crate::output::{CliError, has_colours, print_stdout};

/// Makes the reports of runs again from what was recorded
#[derive(Clone, Debug, clap::Args)]
pub struct ReportArgs {
    /// Directories of runs, such as runs/20260131-120000-ab12
    #[arg(required = true, value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
}

/// Writes report.md and report.html of each directory again; run.json too, if the lab could not.
#[must_use]
pub fn run(args: &ReportArgs) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for dir in &args.dirs {
        let made = load_or_rebuild(dir).and_then(|recorded| {
            write_reports(&recorded.run, &recorded.timeline.series, dir)?;
            Ok(recorded.run)
        });
        match made {
            Ok(run) => print_stdout(&summary(&run, dir, has_colours())),
            Err(message) => code = CliError::failed(message).print_and_exit("report"),
        }
    }
    code
}
