//! Background jobs: periodic work without an owner. Each is idempotent, takes no input, and finds out for itself what there is to do. A
//! failed job is tried again at its next period; only the first failure of a streak and the recovery are logged.

use crate::periodic::run_periodically;
use crate::retirement;
use engine::commands::Command;
use engine::rows::HuntCursor;
use gateway::app::App;
use gateway::{bans, grants};
use settings::ServeMode;
use std::time::Duration;
use store::StoreError;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

/// How often it is saved which tokens were used: what is lost when a process dies.
const RECORD_USES_EVERY: Duration = Duration::from_secs(5);
/// How often hunts are looked for that are over and whose last round has not ended.
const FINISH_EVERY: Duration = Duration::from_secs(5);
/// Such hunts of one page, and of one period: each takes memory by its cells while it is loaded.
const FINISH_BATCH: usize = 64;
const FINISH_BATCHES_MAX: usize = 16;
/// How often the clock is compared with that of a shared database, or of this system.
const CLOCK_EVERY: Duration = Duration::from_secs(30);
/// A clock that is further off than this was set: none drifts so fast.
const CLOCK_SET_MIN: Duration = Duration::from_secs(1);
/// How often the metrics of the recent past are recorded.
const TICK_EVERY: Duration = Duration::from_secs(1);
/// How long the probe sleeps to measure how late it wakes, where that decides about shedding: some hundred times in the seconds over which
/// the shedder takes its quantile.
const PROBE_SLEEP: Duration = Duration::from_millis(10);
/// The same where only the metrics need it, over a minute: an idle process should sleep.
const PROBE_SLEEP_IDLY: Duration = Duration::from_millis(100);

/// Runs every job periodically until the drain. Those for games run only where games are served.
pub async fn run(app: App) {
    let of_games = async {
        if app.config.serve_mode == ServeMode::All {
            tokio::join!(
                run_periodically(grants::REVOCATION_CHECK_EVERY, "grants", &app, revoke_ended_grants),
                run_periodically(RECORD_USES_EVERY, "token_uses", &app, record_token_uses),
                run_periodically(FINISH_EVERY, "finish_hunts", &app, finish_hunts)
            );
        } else {
            retirement::run_without_lease(&app).await;
        }
    };
    let all = async {
        tokio::join!(
            of_games,
            run_periodically(bans::BANS_CHECK_EVERY, "bans", &app, refresh_bans),
            run_periodically(CLOCK_EVERY, "clock", &app, compare_clocks),
            run_periodically(CLOCK_EVERY, "quotas", &app, sweep_quotas),
            tick_metrics(&app),
            probe_scheduler(&app),
            app.shedder.watch(&app.node.store, &app.metrics),
            app.limits.sweep(),
        );
    };
    tokio::select! {
        () = app.drain.begun() => {}
        () = all => {}
    }
}

/// Saves which tokens were used last and when, all in one command. What cannot be saved is noted again at a later use.
///
/// # Errors
/// The store's, when it cannot be written.
pub async fn record_token_uses(app: App) -> Result<(), StoreError> {
    let uses = app.auth.uses.take(app.node.clock.now());
    if !uses.is_empty() {
        app.node.store.commit(Command::RecordTokenUses(uses)).await?;
    }
    Ok(())
}

/// Ends the last rounds of hunts that are over and not in memory: their players had left, or their node had died. What cannot be finished
/// now is found again at the next period.
async fn finish_hunts(app: App) -> Result<(), StoreError> {
    let mut after = None;
    for _ in 0..FINISH_BATCHES_MAX {
        let now = app.node.clock.now();
        let rows = app.node.store.read(move |reader| reader.unfinished_hunts(after, FINISH_BATCH, now)).await?;
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

async fn revoke_ended_grants(app: App) -> Result<(), StoreError> {
    grants::revoke_ended(&app.grants, &app.node.store, app.node.clock.now()).await
}

async fn refresh_bans(app: App) -> Result<(), StoreError> {
    grants::refresh_bans(&app.grants, &app.node.store, app.node.clock.now()).await
}

/// Forgets addresses that have created nothing for an hour.
async fn sweep_quotas(app: App) -> Result<(), StoreError> {
    app.quotas.sweep(app.limits.now());
    app.check_quotas.sweep(app.limits.now());
    Ok(())
}

/// Corrects the clock by the database that several nodes share, or by this system. Returns by how many milliseconds dates were adjusted.
///
/// # Errors
/// The store's, when it cannot be read.
pub async fn correct_clock(app: &App) -> Result<i64, StoreError> {
    let clock = app.node.clock.clone();
    let read = app.node.store.read(move |reader| {
        // Read here and not before the wait for a reader, which would count as the database's delay.
        let requested_at = clock.raw();
        Ok((reader.database_time()?, requested_at))
    });
    Ok(match read.await? {
        (Some(database_now), requested_at) => app.node.clock.correct(database_now, requested_at),
        (None, _) => app.node.clock.correct(app.node.clock.system(), app.node.clock.raw()),
    })
}

async fn compare_clocks(app: App) -> Result<(), StoreError> {
    let set_on_ms = correct_clock(&app).await?;
    if set_on_ms.unsigned_abs() >= CLOCK_SET_MIN.as_millis() as u64 {
        let source = if app.node.store.is_shared() { "database" } else { "system" };
        tracing::warn!(
            set_on_ms,
            source,
            "a clock was set: dates follow it; rounds, grace periods, rates and tickets are not affected"
        );
    }
    Ok(())
}

/// Records the recent past, for rates, quantiles and the history.
async fn tick_metrics(app: &App) {
    let mut turns = interval(TICK_EVERY);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let now = turns.tick().await.into_std();
        app.metrics.tick(now);
        gateway::history::record(app, now).await;
    }
}

/// Measures how late a task wakes from a sleep. Timers are rounded up to a millisecond, so an idle machine shows up to that much. While
/// matches run, bots are timed, and every pause of this process has to be known.
async fn probe_scheduler(app: &App) {
    let (metrics, is_shedding) = (&app.metrics, app.config.shed_scheduler_delay.is_some());
    loop {
        let is_needed = is_shedding || metrics.matches.running.get() > 0;
        let due = Instant::now() + if is_needed { PROBE_SLEEP } else { PROBE_SLEEP_IDLY };
        let wake = metrics.stalls.expect_wake(due.into_std());
        sleep_until(due).await;
        metrics.record_wake(wake, Instant::now().into_std());
    }
}
