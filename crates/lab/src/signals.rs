//! The signals that end a trial: Ctrl-C, SIGTERM, and the hang-up of a terminal that is closed. Each must be handled: a
//! lab that dies of one leaves the server and the bots running, because they lead their own process groups. Does not
//! know the reaction to them.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The line of a process's status, on Linux, with the signals that it ignores, as a hexadecimal mask.
const IGNORED: &str = "SigIgn:";

/// The signals, received from the moment of creation.
pub(crate) struct ShutdownSignals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Option<Signal>,
}

impl ShutdownSignals {
    /// Starts to listen. A hang-up that this process was started to ignore, as by `nohup`, stays ignored.
    ///
    /// # Errors
    /// The system cannot register signal handlers.
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
    fn an_ignored_hang_up_is_detected() {
        check("Name:\tgauntlet\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000000\n", true);
        check("Name:\tgauntlet\nSigIgn:\t0000000000001000\nSigCgt:\t0000000000000001\n", false);
        check("SigIgn:\tnonsense\n", false);
        check("", false);
    }
}
