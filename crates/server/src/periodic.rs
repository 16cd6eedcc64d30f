//! Runs a job again and again. A failed job is tried again at its next period; only the first failure of a streak and the recovery are
//! logged.

use gateway::app::App;
use std::time::Duration;
use store::StoreError;
use tokio::time::{MissedTickBehavior, interval};

/// Runs `job` now and after every `period`, for ever.
pub(crate) async fn run_periodically<D>(period: Duration, name: &'static str, app: &App, job: impl Fn(App) -> D)
where
    D: Future<Output = Result<(), StoreError>>,
{
    let mut turns = interval(period);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut streak = FailureStreak { name, is_failing: false };
    loop {
        turns.tick().await;
        if streak.record(job(app.clone()).await) {
            app.metrics.process.jobs_failed.inc();
        }
    }
}

/// A streak of failures of one job: its beginning and its end are logged, nothing between.
struct FailureStreak {
    name: &'static str,
    is_failing: bool,
}

impl FailureStreak {
    /// Notes the result of a run; returns whether it failed.
    fn record(&mut self, done: Result<(), StoreError>) -> bool {
        let was_failing = self.is_failing;
        self.is_failing = done.is_err();
        match done {
            Err(error) if !was_failing => {
                tracing::warn!(job = self.name, %error, "a background job failed; it is tried again at its next period");
            }
            Ok(()) if was_failing => tracing::info!(job = self.name, "a background job that had failed succeeded"),
            Ok(()) | Err(_) => {}
        }
        self.is_failing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_ends_of_a_failure_streak_are_logged() {
        let lost = || Err(StoreError::Unavailable { why: "gone".to_owned() });
        let mut streak = FailureStreak { name: "job", is_failing: false };
        let noted: Vec<_> =
            [Ok(()), lost(), lost(), Ok(()), Ok(())].into_iter().map(|done| streak.record(done)).collect();
        assert_eq!(noted, [false, true, true, false, false]);
    }
}
