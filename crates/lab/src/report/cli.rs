//! `gauntlet report DIR`: makes every report of a run again from what was recorded, also of a run whose lab was killed
//! before it could write its own. Does not change what was recorded.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use super::rebuild::load_or_rebuild;
use super::{summary, write_reports};

const EXIT_FAILED: u8 = 1;

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
    let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let mut code = ExitCode::SUCCESS;
    for dir in &args.dirs {
        let made = load_or_rebuild(dir).and_then(|recorded| {
            write_reports(&recorded.run, &recorded.timeline.series, dir)?;
            Ok(recorded.run)
        });
        // The reader may have closed the pipe; the exit code reports the result.
        match made {
            Ok(run) => {
                let _ = std::io::stdout().write_all(summary(&run, dir, colour).as_bytes());
            }
            Err(message) => {
                let _ = writeln!(std::io::stderr(), "gauntlet report: {message}");
                code = ExitCode::from(EXIT_FAILED);
            }
        }
    }
    code
}
