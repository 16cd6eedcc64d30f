//! What a command prints: results on standard output, everything else on the error output.

use engine::printable::is_unprintable;
use std::error::Error;
use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct CliError {
    code: u8,
    text: String,
}

impl CliError {
    /// Typed or configured wrongly.
    pub(crate) fn usage(text: impl Display) -> Self {
        Self { code: 2, text: text.to_string() }
    }

    /// Right, but it cannot be done.
    pub(crate) fn failed(text: impl Display) -> Self {
        Self { code: 1, text: text.to_string() }
    }

    /// The same with another sentence.
    pub(crate) fn with(self, sentence: impl Display) -> Self {
        Self { text: format!("{}; {sentence}", self.text), ..self }
    }

    /// What it says.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Prints it, and returns the exit code.
    pub(crate) fn report(self) -> ExitCode {
        print_note(format_args!("gauntlet: {}", self.text));
        ExitCode::from(self.code)
    }
}

impl<E: Error> From<E> for CliError {
    fn from(error: E) -> Self {
        Self::failed(error)
    }
}

/// Text of others in one line, in which nothing controls the terminal or changes the direction of what follows: each such character is a
/// space.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|char| if is_unprintable(char) { ' ' } else { char }).collect()
}

/// Writes an answer. A reader that has seen enough (`| head -1`) is no failure.
pub(crate) fn print_line(text: impl Display) -> Result<(), CliError> {
    let mut output = io::stdout().lock();
    match writeln!(output, "{text}").and_then(|()| output.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(CliError::failed(format_args!("the answer could not be written: {error}")))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Writes a remark. A closed error output is ignored.
pub(crate) fn print_note(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &str) {
        assert_eq!(printable(text), want, "{text:?}");
    }

    #[test]
    fn text_of_others_is_one_line_that_controls_nothing() {
        check("Schlängel 🐍", "Schlängel 🐍");
        check("two\nlines", "two lines");
        check("\u{1b}[2J", " [2J");
        check("evil\u{202e}live\u{2066}", "evil live ");
    }
}
