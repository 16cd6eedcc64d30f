//! One process of a shard: started so that it cannot outlive the supervisor, its output read, stopped by a signal,
//! killed if it does not stop. Does not know whether there will be another one.

use lab::guard::{Guard, ProcessLimits};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader, Lines};
use tokio::process::{Child as Process, ChildStdout, Command};
use tokio::time::timeout;

/// A running process of a shard.
pub(super) struct Child {
    process: Process,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Child {
    /// Starts this very program with these words. Call it on the main thread: the bond is to the thread that starts.
    pub(super) fn start(number: usize, args: &[OsString]) -> io::Result<Self> {
        let program: OsString = std::env::current_exe()?.into();
        let command: Vec<OsString> = [program].into_iter().chain(args.iter().cloned()).collect();
        let command_line = Guard::own()?.wrap(&ProcessLimits::default(), &command);
        let mut command = Command::new(&command_line[0]);
        command
            .args(&command_line[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        // A Ctrl-C at the terminal is the supervisor's to hand on: twice would mean "at once".
        command.process_group(0);
        let mut process = command.spawn()?;
        let (output, errors) = (process.stdout.take(), process.stderr.take());
        let pipe = || io::Error::other("a pipe to the shard is missing");
        tokio::spawn(forward_stderr(number, errors.ok_or_else(pipe)?));
        Ok(Self { process, lines: BufReader::new(output.ok_or_else(pipe)?).lines() })
    }

    pub(super) fn pid(&self) -> Option<u32> {
        self.process.id()
    }

    /// The address in its ready line; `None` when it ends without printing one.
    pub(super) async fn wait_for_address(&mut self) -> Option<SocketAddr> {
        while let Ok(Some(line)) = self.lines.next_line().await {
            if let Some(address) = address_in(&line) {
                return Some(address);
            }
        }
        None
    }

    /// How it ended, when it has. Losing the race in a `select!` loses nothing.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.process.wait().await
    }

    /// Sends it SIGTERM, and waits; kills it when it does not end within `stop_max`.
    pub(super) async fn stop(mut self, stop_max: Duration) {
        send_signal(self.pid(), Signal::TERM);
        if timeout(stop_max, self.process.wait()).await.is_err() {
            tracing::error!(pid = self.pid(), "a shard did not stop within {stop_max:?}, and is killed");
            let _ = self.process.kill().await;
        }
    }
}

/// Passes a signal on. One that has ended ignores it.
pub(super) fn send_signal(pid: Option<u32>, signal: Signal) {
    if let Some(pid) = pid.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?)) {
        let _ = kill_process(pid, signal);
    }
}

/// The address in a server's first line.
fn address_in(line: &str) -> Option<SocketAddr> {
    line.split_once("http://")?.1.split(' ').next()?.parse().ok()
}

/// Forwards a shard's error output, with its number in front; lines of JSON are unchanged.
async fn forward_stderr(number: usize, errors: impl AsyncRead + Unpin) {
    let mut lines = BufReader::new(errors).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if line.starts_with('{') {
            crate::output::print_note(line);
        } else {
            crate::output::print_note(format_args!("shard {number}: {line}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, want: Option<&str>) {
        assert_eq!(address_in(line).map(|address| address.to_string()).as_deref(), want, "{line}");
    }

    #[test]
    fn reads_the_address_from_the_ready_line() {
        check("gauntlet serves http://127.0.0.1:4001 (store: sqlite a.db, process: 7)", Some("127.0.0.1:4001"));
        check("gauntlet serves http://[::1]:4001 (x)", Some("[::1]:4001"));
        check("gauntlet serves http://nowhere (x)", None);
        check("", None);
    }
}
