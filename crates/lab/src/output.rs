//! What the commands of the lab print, and how they end. Does not know the commands.

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

pub(crate) const EXIT_COULD_NOT_RUN: u8 = 1;
const EXIT_USAGE: u8 = 2;
pub(crate) const EXIT_INTERRUPTED: u8 = 130;

/// Why a command has failed, and the exit code that says so.
#[derive(Debug)]
pub(crate) struct CliError {
    pub(crate) code: u8,
    pub(crate) message: String,
}

impl CliError {
    /// The arguments are invalid.
    pub(crate) fn usage(message: String) -> Self {
        Self { code: EXIT_USAGE, message }
    }

    /// They are valid, and it could not be done.
    pub(crate) fn failed(message: String) -> Self {
        Self { code: EXIT_COULD_NOT_RUN, message }
    }

    /// Says on the terminal why `gauntlet COMMAND` ends with this exit code.
    pub(crate) fn print_and_exit(&self, command: &str) -> ExitCode {
        let _ = writeln!(std::io::stderr(), "gauntlet {command}: {}", self.message);
        ExitCode::from(self.code)
    }
}

/// The reader may have closed the pipe; the exit code reports the result.
pub(crate) fn print_stdout(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Whether standard output shows colours, and the user wants them.
pub(crate) fn has_colours() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}
