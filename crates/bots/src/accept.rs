//! What to do after an accept that failed: go on, pause, or give up. Decides only; the server waits.

use std::io;
use std::time::Duration;

use crate::limits::{ACCEPT_PAUSE_FIRST, ACCEPT_PAUSE_MAX};

/// How many accepts in a row have failed for want of something.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    pause: Duration,
}

/// What follows from a failed accept.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It was the client's connection that failed; the next one may be well.
    GoOn,
    /// Descriptors or memory are short (EMFILE and its kin): accepting again at once would only burn time.
    Pause(Duration),
    /// The listener itself is broken.
    GiveUp,
}

impl Patience {
    /// An accept succeeded: the next pause is a short one again.
    pub(crate) fn restore(&mut self) {
        self.pause = Duration::ZERO;
    }

    /// Judges a failed accept.
    pub(crate) fn judge(&mut self, error: &io::Error) -> Verdict {
        use io::ErrorKind as Kind;
        match error.kind() {
            Kind::ConnectionAborted
            | Kind::ConnectionReset
            | Kind::ConnectionRefused
            | Kind::HostUnreachable
            | Kind::Interrupted
            | Kind::NetworkDown
            | Kind::NetworkUnreachable
            | Kind::TimedOut => Verdict::GoOn,
            Kind::InvalidInput => Verdict::GiveUp,
            _ => {
                self.pause = (self.pause * 2).clamp(ACCEPT_PAUSE_FIRST, ACCEPT_PAUSE_MAX);
                Verdict::Pause(self.pause)
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
    fn check(errors: &[i32], expected: Verdict) {
        let mut patience = Patience::default();
        let verdict = errors.iter().map(|&code| patience.judge(&io::Error::from_raw_os_error(code))).last();
        assert_eq!(verdict, Some(expected), "{errors:?}");
    }

    #[test]
    fn shortage_pauses_longer_and_longer() {
        check(&[ECONNABORTED], Verdict::GoOn);
        check(&[EINVAL], Verdict::GiveUp);
        check(&[EMFILE], Verdict::Pause(Duration::from_millis(10)));
        check(&[EMFILE, ENFILE, EMFILE], Verdict::Pause(Duration::from_millis(40)));
        check(&[EMFILE; 30], Verdict::Pause(ACCEPT_PAUSE_MAX));
    }

    #[test]
    fn success_restores_patience() {
        let mut patience = Patience::default();
        let shortage = io::Error::from_raw_os_error(EMFILE);
        patience.judge(&shortage);
        patience.judge(&shortage);
        patience.restore();
        assert_eq!(patience.judge(&shortage), Verdict::Pause(ACCEPT_PAUSE_FIRST));
    }
}
