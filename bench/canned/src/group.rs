//! Several processes on one port, where one may not open as many files as are needed: the kernel spreads connections
//! over them (SO_REUSEPORT). This one only starts them, waits, and adds up their reports. It serves no client.

use std::io::{self, BufRead, BufReader};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::report::Report;
use crate::stop_signals;

struct Member {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Member {
    /// Starts this program with these arguments, and waits until it prints that it listens.
    fn start(words: &[String]) -> io::Result<Self> {
        let program = std::env::current_exe()?;
        let mut child = Command::new(program).args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("a process was started without its pipes"));
        };
        let mut member = Self { child, input, output: BufReader::new(output) };
        member.line()?;
        Ok(member)
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.output.read_line(&mut line)? {
            0 => Err(io::Error::other(format!("process {} ended before its time", self.child.id()))),
            _ => Ok(line),
        }
    }

    /// Closes its input, which ends it.
    fn stop(self) -> io::Result<Report> {
        let Self { mut child, input, mut output } = self;
        drop(input);
        let mut line = String::new();
        output.read_line(&mut line)?;
        child.wait()?;
        serde_json::from_str(&line).map_err(io::Error::from)
    }
}

/// Runs `count` processes until a signal; `words` are theirs, `listening` is called when all of them listen.
pub(crate) fn run(count: usize, words: &[String], listening: impl FnOnce()) -> io::Result<Report> {
    let signals = stop_signals::signals()?;
    let members = (0..count).map(|_| Member::start(words)).collect::<io::Result<Vec<_>>>()?;
    listening();
    while rustix::io::read(&signals, &mut [0; 1]) == Err(rustix::io::Errno::INTR) {}
    let mut report = Report::default();
    for member in members {
        report.add(&member.stop()?);
    }
    Ok(report)
}
