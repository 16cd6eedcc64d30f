//! What to do after a failed accept: retry, pause, or give up. Decides only; the server waits.

use std::io;
use std::time::Duration;

use crate::limits::{ACCEPT_PAUSE_FIRST, ACCEPT_PAUSE_MAX};

/// How many accepts in a row have failed for want of something.
#[derive(Debug, Default)]
pub(crate) struct AcceptBackoff {
    pause: Duration,
}

/// What follows from a failed accept.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AcceptAction {
    /// It was the client's connection that failed; the next one may be well.
    Continue,
    /// Descriptors or memory are short (EMFILE and the like): accepting again at once would only burn time.
    Pause(Duration),
    /// The listener itself is broken.
    WaitEnd,
}

impl AcceptBackoff {
    /// An accept succeeded: the next pause is a short one again.
    pub(crate) fn reset(&mut self) {
        self.pause = Duration::ZERO;
    }

    /// Judges a failed accept.
    pub(crate) fn on_error(&mut self, error: &io::Error) -> AcceptAction {
        use io::ErrorKind as Kind;
        match error.kind() {
            Kind::ConnectionAborted
            | Kind::ConnectionReset
            | Kind::ConnectionRefused
            | Kind::HostUnreachable
            | Kind::Interrupted
            | Kind::NetworkDown
            | Kind::NetworkUnreachable
            | Kind::TimedOut => AcceptAction::Continue,
            Kind::InvalidInput => AcceptAction::WaitEnd,
            _ => {
                self.pause = (self.pause * 2).clamp(ACCEPT_PAUSE_FIRST, ACCEPT_PAUSE_MAX);
                AcceptAction::Pause(self.pause)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ECONNABORTED: i32 = 103;
    const EINVAL: i32 = 22;
    const EMFILE: i32 = 24;
    const ENFILE: i32 = 23;

    #[track_caller]
    fn check(errors: &[i32], expected: AcceptAction) {
        let mut patience = AcceptBackoff::default();
        let verdict = errors.iter().map(|&code| patience.on_error(&io::Error::from_raw_os_error(code))).last();
        assert_eq!(verdict, Some(expected), "{errors:?}");
    }

    #[test]
    fn shortage_pauses_longer_and_longer() {
        check(&[ECONNABORTED], AcceptAction::Continue);
        check(&[EINVAL], AcceptAction::WaitEnd);
        check(&[EMFILE], AcceptAction::Pause(Duration::from_millis(10)));
        check(&[EMFILE, ENFILE, EMFILE], AcceptAction::Pause(Duration::from_millis(40)));
        check(&[EMFILE; 30], AcceptAction::Pause(ACCEPT_PAUSE_MAX));
    }

    #[test]
    fn success_restores_patience() {
        let mut patience = AcceptBackoff::default();
        let shortage = io::Error::from_raw_os_error(EMFILE);
        patience.on_error(&shortage);
        patience.on_error(&shortage);
        patience.reset();
        assert_eq!(patience.on_error(&shortage), AcceptAction::Pause(ACCEPT_PAUSE_FIRST));
    }
}
