//! The clock of a call: the time that the bot has had.
//!
//! It stands still while this process is stalled: a call whose time is up during a
//! stall gets what it lost again before it is judged, so that an answer that lay in the socket is read, and a bot that is silent is late,
//! whatever a stranger does to the server. Only a stall that uses up [`BOT_STALL_TIMEOUTS_MAX`] makes the call the server's own fault.

use engine::health::CallFault;
use engine::limits::{BOT_STALL_TIMEOUTS_MAX, BOT_STALL_WAIT_MIN, BOT_STALLS_PER_CALL};
use metrics::Metrics;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

pub(super) struct CallClock<'a> {
    metrics: &'a Metrics,
    timeout: Duration,
    begun: Instant,
}

/// What to do with a call that has no answer yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judgement {
    Wait(Duration),
    /// The bot has had its time.
    Late,
    /// This process was stalled for nearly all of the time that a call may last.
    Stalled,
}

impl<'a> CallClock<'a> {
    /// Starts now.
    pub(super) fn start(metrics: &'a Metrics, timeout: Duration) -> Self {
        Self { metrics, timeout, begun: Instant::now() }
    }

    /// Runs a part of the call until the bot's time is up. What is ready by then counts, also if this process comes to it later.
    ///
    /// # Errors
    /// Whose fault it is that there is no output.
    pub(super) async fn run<F: Future>(&self, part: F) -> Result<F::Output, CallFault> {
        let mut part = pin!(part);
        let mut now = Instant::now();
        let mut wait = self.timeout.saturating_sub(now - self.begun);
        loop {
            if let Ok(output) = timeout_at(now + wait, &mut part).await {
                return Ok(output);
            }
            now = Instant::now();
            match judge(now - self.begun, self.stalled(now), self.timeout) {
                Judgement::Wait(longer) => wait = longer,
                Judgement::Late => return Err(CallFault::TooLate),
                Judgement::Stalled => return Err(CallFault::ServerFault),
            }
        }
    }

    /// Waits for something that is not the bot's: its clock stands still meanwhile. What was counted before is moved to the end of the wait.
    pub(super) async fn aside<F: Future>(&mut self, wait: F) -> F::Output {
        let mut wait = pin!(wait);
        // Mostly there is nothing to wait for, and no time to measure.
        if let Poll::Ready(output) = poll_fn(|context| Poll::Ready(wait.as_mut().poll(context))).await {
            return output;
        }
        let begun = Instant::now();
        let output = wait.await;
        self.begun += begun.elapsed();
        output
    }

    /// When it was started, later by what was waited for aside.
    pub(super) fn begun_at(&self) -> Instant {
        self.begun
    }

    /// The time that the bot has had, at most its timeout.
    pub(super) fn elapsed(&self) -> Duration {
        let now = Instant::now();
        (now - self.begun).saturating_sub(self.stalled(now)).min(self.timeout)
    }

    /// What the call has lost by stalls. A stall delays a call at most once for each step for which it waits, so many short ones cost it less
    /// than their sum.
    fn stalled(&self, now: Instant) -> Duration {
        let stalled = self.metrics.stalls.between(self.begun.into_std(), now.into_std());
        stalled.total.min(stalled.longest * BOT_STALLS_PER_CALL)
    }
}

fn judge(passed: Duration, stalled: Duration, timeout: Duration) -> Judgement {
    let longest = (timeout * BOT_STALL_TIMEOUTS_MAX).max(timeout + BOT_STALL_WAIT_MIN);
    let had = passed.saturating_sub(stalled);
    if had >= timeout {
        Judgement::Late
    } else if passed >= longest {
        Judgement::Stalled
    } else {
        Judgement::Wait((timeout - had).min(longest - passed))
    }
}

#[cfg(test)]
mod tests;
