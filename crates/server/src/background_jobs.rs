//! Chores: what must be done now and then and by nobody in particular. Each is idempotent, takes no input, and finds out
//! for itself what there is to do; a chore that fails is tried again at its next turn, and an episode of failures is one line.

use crate::app::App;
use crate::config::ServeMode;
use crate::gateway::shed;
use crate::grants;
use crate::metrics::Metrics;
use engine::commands::{Command, Outcome, WorldCommand};
use engine::limits::{HUNT_RETENTION, WORLDS_ENDED_MAX};
use engine::rows::HuntCursor;
use std::time::Duration;
use store::StoreError;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

/// How often old matches and idempotency keys are looked for.
const RETIRE_EVERY: Duration = Duration::from_secs(60);
/// Matches forgotten by one command, so that no write waits long behind it.
const RETIRE_BATCH: usize = 256;
/// Commands of one turn: a backlog is worked off over several turns.
const RETIRE_BATCHES_MAX: usize = 64;
/// How often hunts are looked for that are over and whose last round nobody has ended.
const FINISH_EVERY: Duration = Duration::from_secs(5);
/// Such hunts of one page, and of one turn: each takes memory by its cells while it is brought in.
const FINISH_BATCH: usize = 64;
const FINISH_BATCHES_MAX: usize = 16;
/// How often dates are compared with those of a shared database, or of this system.
const CLOCK_EVERY: Duration = Duration::from_secs(30);
/// A clock that is further off than this was set: none is so slow or fast.
const CLOCK_SET_MIN: Duration = Duration::from_secs(1);
/// How often the recent past is written down.
const TICK_EVERY: Duration = Duration::from_secs(1);
/// How long the probe sleeps to see how late it wakes, where it decides what is shed: some hundred times in the seconds over which
/// the shedder takes its quantile.
const PROBE_SLEEP: Duration = Duration::from_millis(10);
/// The same where only people look at the figure, over a minute: an idle process should sleep.
const PROBE_SLEEP_IDLY: Duration = Duration::from_millis(100);

/// Does every chore in its rhythm until the drain. Old matches, and feeds of games, are the business of those who play them.
pub async fn run(app: App) {
    let of_games = async {
        if app.config.serve_mode == ServeMode::All {
            tokio::join!(
                run_periodically(grants::REVOCATION_CHECK_EVERY, "grants", &app, grants::revoke_ended),
                run_periodically(RETIRE_EVERY, "retire", &app, retire_matches),
                run_periodically(RETIRE_EVERY, "retire_games", &app, retire_games),
                run_periodically(RETIRE_EVERY, "retire_worlds", &app, retire_worlds),
                run_periodically(FINISH_EVERY, "finish_hunts", &app, finish_hunts)
            );
        }
    };
    let all = async {
        tokio::join!(
            of_games,
            run_periodically(CLOCK_EVERY, "clock", &app, compare_clocks),
            run_periodically(CLOCK_EVERY, "quotas", &app, sweep_quotas),
            tick_metrics(&app.metrics),
            probe_scheduler(&app),
            shed::watch_load(&app),
            app.limits.sweep(),
        );
    };
    tokio::select! {
        () = app.drain.begun() => {}
        () = all => {}
    }
}

async fn run_periodically<D>(period: Duration, name: &'static str, app: &App, chore: impl Fn(App) -> D)
where
    D: Future<Output = Result<(), StoreError>>,
{
    let mut turns = interval(period);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut episode = FailureStreak { name, is_failing: false };
    loop {
        turns.tick().await;
        if episode.record(chore(app.clone()).await) {
            app.metrics.job_failed();
        }
    }
}

/// A run of failures of one chore: its beginning and its end are logged, nothing between.
struct FailureStreak {
    name: &'static str,
    is_failing: bool,
}

impl FailureStreak {
    /// Takes note of how the chore went; whether it failed.
    fn record(&mut self, done: Result<(), StoreError>) -> bool {
        let was_failing = self.is_failing;
        self.is_failing = done.is_err();
        match done {
            Err(error) if !was_failing => {
                tracing::warn!(chore = self.name, %error, "a chore failed; it is tried again at its next turn");
            }
            Ok(()) if was_failing => tracing::info!(chore = self.name, "a chore that had failed is done"),
            Ok(()) | Err(_) => {}
        }
        self.is_failing
    }
}

/// Forgets what is beyond the age and size that the configuration keeps, and idempotency keys past their time.
async fn retire_matches(app: App) -> Result<(), StoreError> {
    for _ in 0..RETIRE_BATCHES_MAX {
        let command = Command::RetireMatches {
            now: app.clock.now(),
            keep_for: app.config.keep_for,
            keep_archive_bytes: app.config.keep_archive_bytes,
            max: RETIRE_BATCH,
        };
        match app.store.commit(command).await? {
            Outcome::Retired(RETIRE_BATCH) => {}
            Outcome::Retired(_) => return Ok(()),
            other => {
                tracing::error!(outcome = ?other, "the store answered a retirement with something else");
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Forgets games of cards that ended longer ago than the configuration keeps them, with the tables at which nothing is left.
async fn retire_games(app: App) -> Result<(), StoreError> {
    for _ in 0..RETIRE_BATCHES_MAX {
        let (now, keep_for) = (app.clock.now(), app.config.stories_keep_for);
        match app.store.commit(Command::RetireGames { now, keep_for, max: RETIRE_BATCH }).await? {
            Outcome::Retired(RETIRE_BATCH) => {}
            Outcome::Retired(_) => return Ok(()),
            other => {
                tracing::error!(outcome = ?other, "the store answered a retirement of games with something else");
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Ends hunts that nobody joined. Forgets hunts that were over a day ago, or that are more than are kept, and are counted to the end.
async fn retire_worlds(app: App) -> Result<(), StoreError> {
    let (now, max) = (app.clock.now(), RETIRE_BATCHES_MAX * RETIRE_BATCH);
    let end = WorldCommand::EndUnjoined { now, made_before: now.minus(app.config.quotas_unjoined_timeout), max };
    app.store.commit(Command::World(end)).await?;
    for _ in 0..RETIRE_BATCHES_MAX {
        let (now, keep_for, keep_max) = (app.clock.now(), HUNT_RETENTION, WORLDS_ENDED_MAX);
        let retire = WorldCommand::Retire { now, keep_for, keep_max, max: RETIRE_BATCH };
        match app.store.commit(Command::World(retire)).await? {
            Outcome::Retired(RETIRE_BATCH) => {}
            Outcome::Retired(_) => return Ok(()),
            other => {
                tracing::error!(outcome = ?other, "the store answered a retirement of worlds with something else");
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Ends the last rounds of hunts that are over and that nobody has in memory: their players had gone, or their node. What cannot be
/// finished now is found again at the next turn.
async fn finish_hunts(app: App) -> Result<(), StoreError> {
    let mut after = None;
    for _ in 0..FINISH_BATCHES_MAX {
        let now = app.clock.now();
        let rows = app.store.read(move |reader| reader.unfinished_hunts(after, FINISH_BATCH, now)).await?;
        after = rows.last().map(HuntCursor::of);
        let is_last = rows.len() < FINISH_BATCH;
        for row in rows {
            let name = row.name.clone();
            if let Err(error) = app.worlds.finish(row).await {
                tracing::debug!(world = %name, %error, "a hunt that is over could not be finished now");
            }
        }
        if is_last {
            break;
        }
    }
    Ok(())
}

/// Forgets addresses that have made nothing for an hour.
async fn sweep_quotas(app: App) -> Result<(), StoreError> {
    app.quotas.sweep(app.limits.now());
    Ok(())
}

/// Takes dates over from whoever knows best: the clock of a database that several nodes share, or this system's. By how many
/// milliseconds dates are set on by that.
///
/// # Errors
/// The store's, when it cannot be asked.
pub async fn correct_clock(app: &App) -> Result<i64, StoreError> {
    let clock = app.clock.clone();
    let read = app.store.read(move |reader| {
        // Asked here and not before the wait for a reader, which would count as the database's delay.
        let asked = clock.raw();
        Ok((reader.database_time()?, asked))
    });
    Ok(match read.await? {
        (Some(database_now), asked) => app.clock.correct(database_now, asked),
        (None, _) => app.clock.correct(app.clock.system(), app.clock.raw()),
    })
}

async fn compare_clocks(app: App) -> Result<(), StoreError> {
    let set_on_ms = correct_clock(&app).await?;
    if set_on_ms.unsigned_abs() >= CLOCK_SET_MIN.as_millis() as u64 {
        let whose = if app.store.is_shared() { "database" } else { "system" };
        tracing::warn!(
            set_on_ms,
            whose,
            "a clock was set: dates follow it; rounds, graces, paces and tickets go on as they were"
        );
    }
    Ok(())
}

/// Writes the recent past down, so that rates and quantiles can look back.
async fn tick_metrics(metrics: &Metrics) {
    let mut turns = interval(TICK_EVERY);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        metrics.tick(turns.tick().await.into_std());
    }
}

/// Measures how late a task comes to its turn once its time has come. Timers are rounded up to a millisecond, so an idle
/// machine shows up to that much.
async fn probe_scheduler(app: &App) {
    let pause = if app.config.shed_scheduler_delay.is_some() { PROBE_SLEEP } else { PROBE_SLEEP_IDLY };
    loop {
        let due = Instant::now() + pause;
        sleep_until(due).await;
        app.metrics.scheduler_delayed(due.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_ends_of_an_episode_are_told() {
        let lost = || Err(StoreError::Unavailable { why: "gone".to_owned() });
        let mut episode = FailureStreak { name: "chore", is_failing: false };
        let noted: Vec<_> =
            [Ok(()), lost(), lost(), Ok(()), Ok(())].into_iter().map(|done| episode.record(done)).collect();
        assert_eq!(noted, [false, true, true, false, false]);
    }
}
