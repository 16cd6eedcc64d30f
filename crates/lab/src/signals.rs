//! The signals that end a trial: Ctrl-C, SIGTERM, and the hang-up of a terminal that is closed. Each must be heard:
//! whoever dies of one leaves the server and the bots behind, because they lead process groups of their own.
//! Refuses to know what is done about them.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The line of a process's status, on Linux, with the signals that it ignores, as a hexadecimal mask.
const IGNORED: &str = "SigIgn:";

/// The signals, heard from the moment they are made.
pub(crate) struct ShutdownSignals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Option<Signal>,
}

impl ShutdownSignals {
    /// Begins to listen. A hang-up that this process was started to ignore, as `nohup` does, stays ignored.
    ///
    /// # Errors
    /// The system's, when signals cannot be heard.
    pub(crate) fn listen() -> io::Result<Self> {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let hang_up = if is_hang_up_ignored(&status) { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())?, hang_up })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        let hang_up = async {
            match &mut self.hang_up {
                Some(hang_up) => hang_up.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = hang_up => {}
        }
    }
}

/// Whether a process with this status ignores SIGHUP, the signal of number 1: the lowest bit of the mask.
fn is_hang_up_ignored(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix(IGNORED));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(status: &str, want: bool) {
        assert_eq!(is_hang_up_ignored(status), want, "{status:?}");
    }

    #[test]
    fn an_ignored_hang_up_is_seen_in_the_status() {
        check("Name:\tgauntlet\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000000\n", true);
        check("Name:\tgauntlet\nSigIgn:\t0000000000001000\nSigCgt:\t0000000000000001\n", false);
        check("SigIgn:\tnonsense\n", false);
        check("", false);
    }
}
