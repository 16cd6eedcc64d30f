//! What is said to whoever typed the command: answers on standard output, everything else on the error output.

use server::process::ServeError;
use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;
use store::StoreError;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    text: String,
}

impl Failure {
    /// Typed or configured wrongly.
    pub(crate) fn usage(text: impl Display) -> Self {
        Self { code: 2, text: text.to_string() }
    }

    /// Right, but it cannot be done.
    pub(crate) fn cannot(text: impl Display) -> Self {
        Self { code: 1, text: text.to_string() }
    }

    /// Says it, and gives the exit code.
    pub(crate) fn tell(self) -> ExitCode {
        note(format_args!("gauntlet: {}", self.text));
        ExitCode::from(self.code)
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        Self::cannot(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::cannot(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::cannot(error)
    }
}

/// Writes an answer. A reader that has seen enough (`| head -1`) is no failure.
pub(crate) fn say(text: impl Display) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    match writeln!(output, "{text}").and_then(|()| output.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::cannot(format_args!("the answer could not be written: {error}")))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Writes a remark. Where nobody listens there is nobody to tell.
pub(crate) fn note(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}
