//! The end of a process's log, for whoever must find out why it failed. Refuses to read more of it.

use std::fmt;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// Lines of a log that an error message quotes.
const LINES: usize = 10;

/// Bytes at the end of a log in which those lines are looked for.
const BYTES: u64 = 4096;

/// The last lines of a log, ready to stand at the end of a message.
pub(super) struct Tail {
    log: PathBuf,
    lines: Vec<String>,
}

impl Tail {
    pub(super) fn last_line(&self) -> Option<&str> {
        self.lines.last().map(String::as_str)
    }
}

impl fmt::Display for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let log = self.log.display();
        match self.lines.as_slice() {
            [] => write!(f, "; its log {log} is empty"),
            lines => write!(f, "; the end of {log}:\n  {}", lines.join("\n  ")),
        }
    }
}

/// Reads the end of a log; of one that cannot be read it is empty.
pub(super) fn tail(log: &Path) -> Tail {
    let read = || -> std::io::Result<String> {
        let mut file = File::open(log)?;
        let len = file.metadata()?.len();
        file.seek(SeekFrom::Start(len.saturating_sub(BYTES)))?;
        let mut bytes = Vec::new();
        file.take(BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let text = read().unwrap_or_default();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    Tail { log: log.to_owned(), lines: lines[lines.len().saturating_sub(LINES)..].to_vec() }
}
