//! The end of a process's log, quoted when the process fails. Reads no more of it.

use std::fmt;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// Lines of a log that an error message quotes.
const TAIL_LINES: usize = 10;

/// Bytes at the end of a log in which those lines are searched.
const TAIL_BYTES: u64 = 4096;

/// The last lines of a log, formatted for the end of a message.
pub(super) struct LogTail {
    log: PathBuf,
    lines: Vec<String>,
}

impl LogTail {
    pub(super) fn last_line(&self) -> Option<&str> {
        self.lines.last().map(String::as_str)
    }
}

impl fmt::Display for LogTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let log = self.log.display();
        match self.lines.as_slice() {
            [] => write!(f, "; its log {log} is empty"),
            lines => write!(f, "; the end of {log}:\n  {}", lines.join("\n  ")),
        }
    }
}

/// Reads the end of a log; empty if the log cannot be read.
pub(super) fn read_tail(log: &Path) -> LogTail {
    let read = || -> std::io::Result<String> {
        let mut file = File::open(log)?;
        let len = file.metadata()?.len();
        file.seek(SeekFrom::Start(len.saturating_sub(TAIL_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let text = read().unwrap_or_default();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    LogTail { log: log.to_owned(), lines: lines[lines.len().saturating_sub(TAIL_LINES)..].to_vec() }
}
