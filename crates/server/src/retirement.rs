//! Deletes what is old, and what is left of deleted accounts: every minute, in batches with rests between them, at the one node that leads this job. What may be deleted, each
//! command finds out for itself; two nodes that both believe that they lead do no harm.
//!
//! docs/operate.md, "Tables", has a row for every table that grows.

use crate::periodic::run_periodically;
use engine::commands::{
    AuditCommand, BanCommand, CodeCommand, Command, CompetitionCommand, GuestRecords, Outcome, WorldCommand,
};
use engine::ids::{AuditId, PlayerId};
use engine::leadership::LeaderJob;
use engine::limits::{GUEST_TOKEN_LIFETIME, WORLDS_ENDED_MAX};
use engine::time::UnixMs;
use gateway::account_clearing::AccountClearing;
use gateway::app::App;
use gateway::auth::TOKEN_CACHE_TTL;
use gateway::grants::REVOCATION_CHECK_EVERY;
use metrics::{RetentionLag, RetiredKind};
use node::leader::lead;
use std::time::Duration;
use store::StoreError;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

/// How often what is old is looked for.
const RETIRE_EVERY: Duration = Duration::from_secs(60);
/// How often all players are looked through for guests who cannot come back.
const RETIRE_GUESTS_EVERY: Duration = Duration::from_secs(3_600);
/// How often it is looked for accounts that were deleted.
const CLEAR_ACCOUNTS_EVERY: Duration = Duration::from_secs(5);
/// From an account's deletion: longer than any node keeps a token in its cache, also by another clock.
const CLEAR_ACCOUNTS_AFTER: Duration = Duration::from_secs(5);
const _: () = assert!(
    CLEAR_ACCOUNTS_AFTER.as_secs() > TOKEN_CACHE_TTL.as_secs() + REVOCATION_CHECK_EVERY.as_secs(),
    "no node creates anything for an account that is being cleared"
);
/// Matches deleted by one command, so that no write waits long behind it.
const RETIRE_BATCH: usize = 256;
/// Competitions deleted by one command: each has up to some thousands of results.
const RETIRE_COMPETITIONS_BATCH: usize = 4;
/// Commands of one period: a backlog is worked off over several periods.
const RETIRE_BATCHES_MAX: usize = 64;
/// Between two batches others write.
const RETIRE_REST_MAX: Duration = Duration::from_millis(500);

/// Deletes whenever no other node does, until the drain.
pub(crate) async fn run(app: App) {
    let (node, drain) = (app.node.clone(), app.drain.clone());
    lead(node, LeaderJob::Retention, drain, move |_| retire_all(app.clone())).await;
}

/// What a process deletes that serves no games and holds no leases.
pub(crate) async fn run_without_lease(app: &App) {
    tokio::join!(
        run_periodically(RETIRE_EVERY, "retire_bans", app, retire_expired_bans),
        run_periodically(RETIRE_EVERY, "retire_audit", app, retire_audit_entries),
    );
}

async fn retire_all(app: App) {
    let _lags = LagsOfLeader(app.clone());
    tokio::join!(
        run_periodically(RETIRE_EVERY, "retire", &app, retire_matches),
        run_periodically(RETIRE_EVERY, "retire_codes", &app, retire_expired_codes),
        run_periodically(RETIRE_EVERY, "retire_games", &app, retire_games),
        run_periodically(RETIRE_EVERY, "retire_worlds", &app, retire_worlds),
        run_periodically(RETIRE_EVERY, "retire_bans", &app, retire_expired_bans),
        run_periodically(RETIRE_EVERY, "retire_audit", &app, retire_audit_entries),
        run_periodically(RETIRE_EVERY, "retire_competitions", &app, retire_competitions),
        clear_accounts(&app),
        run_periodically(RETIRE_GUESTS_EVERY, "retire_guests", &app, retire_guests),
        run_periodically(RETIRE_EVERY, "retention_lag", &app, measure_lag),
    );
}

/// Not before every node has dropped the tokens: what one of them created meanwhile would be left.
async fn clear_accounts(app: &App) {
    let clearing = Mutex::new(AccountClearing::default());
    let look = |app: App| {
        let clearing = &clearing;
        async move {
            let until = app.node.clock.now().minus(CLEAR_ACCOUNTS_AFTER);
            clearing.lock().await.look(&app, until).await
        }
    };
    run_periodically(CLEAR_ACCOUNTS_EVERY, "clear_accounts", app, look).await;
}

/// Deletes matches beyond the configured age and size, and expired idempotency keys.
async fn retire_matches(app: App) -> Result<(), StoreError> {
    retire(&app, RetiredKind::Matches, RETIRE_BATCH, || Command::RetireMatches {
        now: app.node.clock.now(),
        keep_for: app.config.keep_for.period(),
        keep_archive_bytes: app.config.keep_archive_bytes,
        keep_answers_for: app.config.answers_keep_for,
        max: RETIRE_BATCH,
    })
    .await
}

/// Deletes card games that ended longer ago than the configuration keeps them, with the tables that are then empty.
async fn retire_games(app: App) -> Result<(), StoreError> {
    retire(&app, RetiredKind::StoryGames, RETIRE_BATCH, || Command::RetireGames {
        now: app.node.clock.now(),
        keep_for: app.config.stories_keep_for.period(),
        keep_answers_for: app.config.answers_keep_for,
        max: RETIRE_BATCH,
    })
    .await
}

/// Deletes invitations, sign-in links and browsers' sessions that have expired. Open connections of such a session end with its token.
async fn retire_expired_codes(app: App) -> Result<(), StoreError> {
    retire(&app, RetiredKind::Codes, RETIRE_BATCH, || {
        Command::Code(CodeCommand::RetireExpired { now: app.node.clock.now(), max: RETIRE_BATCH })
    })
    .await
}

/// Deletes bans that have expired.
async fn retire_expired_bans(app: App) -> Result<(), StoreError> {
    retire(&app, RetiredKind::Bans, RETIRE_BATCH, || {
        Command::Ban(BanCommand::RetireExpired { now: app.node.clock.now(), max: RETIRE_BATCH })
    })
    .await
}

/// Deletes entries of the audit log that are older than the configuration keeps them.
async fn retire_audit_entries(app: App) -> Result<(), StoreError> {
    retire(&app, RetiredKind::AuditEntries, RETIRE_BATCH, || {
        let before = AuditId::first_of(app.node.clock.now().minus(app.config.audit_keep_for));
        Command::Audit(AuditCommand::Retire { before, max: RETIRE_BATCH })
    })
    .await
}

/// Ends hunts without players. Deletes hunts that have been over for longer than the configuration keeps them, or are beyond the number that
/// is kept, once they are counted to the end.
async fn retire_worlds(app: App) -> Result<(), StoreError> {
    let (now, max) = (app.node.clock.now(), RETIRE_BATCHES_MAX * RETIRE_BATCH);
    let end = WorldCommand::EndUnjoined { now, made_before: now.minus(app.config.quotas_unjoined_timeout), max };
    app.node.store.commit(Command::World(end)).await?;
    let (keep_for, keep_max, max) = (app.config.hunts_keep_for, WORLDS_ENDED_MAX, RETIRE_BATCH);
    retire(&app, RetiredKind::Hunts, RETIRE_BATCH, || {
        Command::World(WorldCommand::Retire { now: app.node.clock.now(), keep_for, keep_max, max })
    })
    .await
}

/// Deletes ended duels and tournaments, where a period is set.
async fn retire_competitions(app: App) -> Result<(), StoreError> {
    let Some(keep_for) = app.config.competitions_keep_for else { return Ok(()) };
    let max = RETIRE_COMPETITIONS_BATCH;
    retire(&app, RetiredKind::Competitions, max, || {
        Command::Competition(CompetitionCommand::Retire { now: app.node.clock.now(), keep_for, max })
    })
    .await
}

/// Commits this command until it finds less than a batch to delete, but not for ever. It rests between two for as long as the first took.
async fn retire(app: &App, kind: RetiredKind, batch: usize, command: impl Fn() -> Command) -> Result<(), StoreError> {
    for _ in 0..RETIRE_BATCHES_MAX {
        let began = Instant::now();
        match app.node.store.commit(command()).await? {
            Outcome::Retired(count) => {
                app.metrics.process.retired.add(kind, count);
                if count < batch {
                    return Ok(());
                }
                sleep(began.elapsed().min(RETIRE_REST_MAX)).await;
            }
            other => {
                log_unexpected(kind, &other);
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Looks through all players once, and deletes what is kept of guests whose token ended longer ago than the configuration says.
async fn retire_guests(app: App) -> Result<(), StoreError> {
    let Some(keep_for) = app.config.guests_keep_for.period() else { return Ok(()) };
    let made_before = app.node.clock.now().minus(GUEST_TOKEN_LIFETIME).minus(keep_for);
    for records in GuestRecords::ALL {
        let mut after = Some(PlayerId(0));
        while let Some(player) = after {
            let began = Instant::now();
            let command = Command::RetireGuests { records, after: player, made_before, max: RETIRE_BATCH };
            after = match app.node.store.commit(command).await? {
                Outcome::GuestsRetired { count, next } => {
                    app.metrics.process.retired.add(RetiredKind::Guests, count);
                    next
                }
                other => {
                    log_unexpected(RetiredKind::Guests, &other);
                    return Ok(());
                }
            };
            sleep(began.elapsed().min(RETIRE_REST_MAX)).await;
        }
    }
    Ok(())
}

fn log_unexpected(kind: RetiredKind, outcome: &Outcome) {
    tracing::error!(kind = kind.name(), ?outcome, "the store answered a retirement with something else");
}

/// Publishes by how much the oldest of each kind has outlived its period: what cannot be deleted, or is made faster than it is deleted.
async fn measure_lag(app: App) -> Result<(), StoreError> {
    let now = app.node.clock.now();
    let kept = app.node.store.read(move |reader| reader.oldest_kept(now)).await?;
    let config = &app.config;
    let lag = |oldest: Option<UnixMs>, period: Option<Duration>| match (oldest, period) {
        (Some(oldest), Some(period)) => now.since(oldest).saturating_sub(period).as_secs(),
        _ => 0,
    };
    app.metrics.process.retention_lag.set([
        lag(kept.matches, config.keep_for.period()),
        lag(kept.story_games, config.stories_keep_for.period()),
        lag(kept.hunts, Some(config.hunts_keep_for)),
        lag(kept.competitions, config.competitions_keep_for),
    ]);
    Ok(())
}

/// A node that does not lead any more knows nothing of what another one deletes.
struct LagsOfLeader(App);

impl Drop for LagsOfLeader {
    fn drop(&mut self) {
        self.0.metrics.process.retention_lag.set([0; RetentionLag::KINDS.len()]);
    }
}
