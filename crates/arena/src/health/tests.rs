//! Sweeps and statistics over a real store in memory, with scripted bots and a clock that the test moves.

use super::statistics_writer::write;
use super::{BotProber, HealthChange, record, recorder, sweep};
use crate::testing::TestArena;
use bot_client::probe::{ProbeCall, ProbeReport};
use bot_client::signing::CallSigner;
use bot_client::statistics::{BotStatistics, Presence, hour_of};
use engine::commands::Command;
use engine::health::{CallFault, EvidenceSource, HealthRecord, HealthStatus};
use engine::ids::{AccountId, BotId};
use engine::limits::{
    HEALTH_CONFLICTS_MAX, HEALTH_INTERVAL, HEALTH_PROBES_AT_ONCE, HEALTH_PROBES_PER_ACCOUNT, HEALTH_RETRY_MIN,
};
use engine::matches::entry::AnswerClass;
use engine::time::UnixMs;
use node::lease::LeaseContext;
use std::time::Duration;
use store::StoreError;

/// One match of a competition for each of these bots, played or silent.
async fn play(arena: &TestArena, statistics: &BotStatistics, matches: &[(u128, bool)]) {
    for &(bot, is_silent) in matches {
        let presence = if is_silent { Presence::Silent } else { Presence::Played };
        statistics.record_match(BotId(bot), presence, true);
    }
    write(arena, statistics, 1).await.unwrap();
}

#[tokio::test]
async fn a_bot_that_competes_is_probed_paused_and_brought_back() {
    let arena = TestArena::new(2);
    let statistics = BotStatistics::new(arena.metrics.clone());
    sweep::pass(&arena, &arena, || true).await.unwrap();
    assert_eq!(arena.calls_made(), [], "a bot that plays in no competition is left alone");
    play(&arena, &statistics, &[(1, false), (2, false)]).await;
    arena.set_fault(2, Some(CallFault::ConnectionRefused));
    sweep::pass(&arena, &arena, || true).await.unwrap();
    let mut calls = arena.calls_made();
    calls.sort_by_key(|(bot, _)| *bot);
    let want = [(1, "index"), (1, "start"), (1, "move"), (1, "end"), (2, "index")];
    assert_eq!(calls, want, "a host that refuses is called once");
    assert_eq!((arena.status(1), arena.status(2)), (HealthStatus::Healthy, HealthStatus::Failing));
    sweep::pass(&arena, &arena, || true).await.unwrap();
    assert_eq!(arena.calls_made(), [], "none is due");
    for _ in 0..2 {
        arena.pass_time(HEALTH_RETRY_MIN * 2);
        sweep::pass(&arena, &arena, || true).await.unwrap();
    }
    assert_eq!(arena.paused(), [2]);
    assert_eq!(arena.health(2).unwrap().reason, Some(CallFault::ConnectionRefused));
    arena.set_fault(2, None);
    for want in [HealthStatus::Paused, HealthStatus::Healthy] {
        arena.pass_time(HEALTH_RETRY_MIN * 4);
        sweep::pass(&arena, &arena, || true).await.unwrap();
        assert_eq!(arena.status(2), want);
    }
    assert_eq!(arena.paused(), [0; 0]);
    let metrics = &arena.metrics.matches;
    assert_eq!((metrics.bots_paused.get(), metrics.bots_resumed.get()), (1, 1));
}

/// Probes during which the second bot becomes due.
#[derive(Clone)]
struct EventfulProbes(TestArena);

impl BotProber for EventfulProbes {
    async fn probe(&self, call: ProbeCall) -> ProbeReport {
        recorder::watch(&self.0, &[BotId(2)], self.0.now()).await.unwrap();
        self.0.probe(call).await
    }

    async fn signer(&self, bot: BotId, now: UnixMs) -> Result<Option<CallSigner>, StoreError> {
        self.0.signer(bot, now).await
    }
}

#[tokio::test]
async fn a_bot_that_becomes_due_during_a_pass_is_probed_in_it() {
    let arena = TestArena::new(2);
    play(&arena, &BotStatistics::new(arena.metrics.clone()), &[(1, false)]).await;
    sweep::pass(&arena, &EventfulProbes(arena.clone()), || true).await.unwrap();
    assert_eq!((arena.status(1), arena.status(2)), (HealthStatus::Healthy, HealthStatus::Healthy));
}

#[tokio::test]
async fn one_pass_probes_each_bot_once_however_many_are_due() {
    let bots = 2 * HEALTH_PROBES_AT_ONCE as u128 + 1;
    let arena = TestArena::new(bots);
    let due: Vec<_> = (1..=bots).map(|bot| (bot, false)).collect();
    play(&arena, &BotStatistics::new(arena.metrics.clone()), &due).await;
    sweep::pass(&arena, &arena, || true).await.unwrap();
    assert!((1..=bots).all(|bot| arena.health(bot).unwrap().records.len() == 1));
}

/// Bots that answer after the test says so; counts those that wait, by account.
#[derive(Clone)]
struct HeldProbes {
    arena: TestArena,
    /// Of the account whose bots are held.
    held: AccountId,
    is_released: tokio::sync::watch::Receiver<bool>,
    waiting: std::sync::Arc<std::sync::atomic::AtomicUsize>,
}

impl BotProber for HeldProbes {
    async fn probe(&self, call: ProbeCall) -> ProbeReport {
        if call.account == self.held {
            self.waiting.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            self.is_released.clone().wait_for(|is_released| *is_released).await.unwrap();
        }
        self.arena.probe(call).await
    }

    async fn signer(&self, bot: BotId, now: UnixMs) -> Result<Option<CallSigner>, StoreError> {
        self.arena.signer(bot, now).await
    }
}

#[tokio::test]
async fn bots_of_one_account_that_never_answer_delay_no_other_accounts() {
    let tarpits = 2 * HEALTH_PROBES_AT_ONCE as u128;
    let arena = TestArena::new(tarpits);
    let other = tarpits + 1;
    arena.add_bot(other, AccountId(2));
    let due: Vec<_> = (1..=other).map(|bot| (bot, false)).collect();
    play(&arena, &BotStatistics::new(arena.metrics.clone()), &due).await;
    let (release, is_released) = tokio::sync::watch::channel(false);
    let prober = HeldProbes { arena: arena.clone(), held: AccountId(1), is_released, waiting: Default::default() };
    let (environment, probes) = (arena.clone(), prober.clone());
    let pass = tokio::spawn(async move { sweep::pass(&environment, &probes, || true).await });
    while arena.health(other).unwrap().records.is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(prober.waiting.load(std::sync::atomic::Ordering::Relaxed), HEALTH_PROBES_PER_ACCOUNT);
    release.send(true).unwrap();
    pass.await.unwrap().unwrap();
    assert!((1..=other).all(|bot| arena.health(bot).unwrap().records.len() == 1));
}

#[tokio::test]
async fn silent_matches_are_evidence_and_those_of_one_time_are_one_piece() {
    let arena = TestArena::new(2);
    let statistics = BotStatistics::new(arena.metrics.clone());
    play(&arena, &statistics, &[(1, true), (1, true), (1, true), (2, true), (2, false)]).await;
    assert_eq!((arena.status(1), arena.status(2)), (HealthStatus::Failing, HealthStatus::Untested));
    play(&arena, &statistics, &[(1, true)]).await;
    play(&arena, &statistics, &[(1, true)]).await;
    assert_eq!(arena.paused(), [1]);
    assert_eq!(arena.health(1).unwrap().reason, Some(CallFault::SilentInMatch));
}

#[tokio::test]
async fn a_fault_of_this_server_pauses_no_bot() {
    let arena = TestArena::new(1);
    play(&arena, &BotStatistics::new(arena.metrics.clone()), &[(1, false)]).await;
    arena.set_fault(1, Some(CallFault::ServerFault));
    for _ in 0..5 {
        sweep::pass(&arena, &arena, || true).await.unwrap();
        arena.pass_time(HEALTH_INTERVAL);
    }
    let health = arena.health(1).unwrap();
    assert_eq!((health.status, health.failures, health.records.len()), (HealthStatus::Untested, 0, 5));
}

#[tokio::test]
async fn evidence_about_a_deleted_bot_is_dropped() {
    let arena = TestArena::new(1);
    arena.commit_now(Command::DeleteBot { id: BotId(1), account: AccountId(1) });
    let evidence = HealthRecord { at: arena.now(), source: EvidenceSource::Request, fault: None, took_ms: 1 };
    assert_eq!(record(&arena, BotId(1), evidence).await, Ok(HealthChange::NoSuchBot));
}

#[tokio::test]
async fn a_bot_whose_health_others_write_all_the_time_is_there() {
    let arena = TestArena::new(1);
    let evidence = HealthRecord { at: arena.now(), source: EvidenceSource::Request, fault: None, took_ms: 1 };
    arena.set_conflicts_to_come(HEALTH_CONFLICTS_MAX);
    assert_eq!(record(&arena, BotId(1), evidence).await, Ok(HealthChange::Busy));
    arena.set_conflicts_to_come(HEALTH_CONFLICTS_MAX - 1);
    let saved = record(&arena, BotId(1), evidence).await;
    assert!(matches!(saved, Ok(HealthChange::Saved(health)) if health.records.len() == 1));
}

#[tokio::test]
async fn counted_calls_survive_a_store_that_is_away() {
    let arena = TestArena::new(1);
    let statistics = BotStatistics::new(arena.metrics.clone());
    let stored = || {
        let rows = arena.read_now(|reader| reader.bot_calls(BotId(1), 0));
        rows.iter().map(|row| (row.hour, row.calls.total())).collect::<Vec<_>>()
    };
    statistics.record_call(BotId(1), arena.now(), AnswerClass::Valid, 20);
    arena.set_store_away(true);
    assert!(write(&arena, &statistics, 1).await.is_err());
    arena.set_store_away(false);
    statistics.record_call(BotId(1), arena.now(), AnswerClass::Late, 500);
    write(&arena, &statistics, 1).await.unwrap();
    write(&arena, &statistics, 1).await.unwrap();
    let hour = hour_of(arena.now());
    assert_eq!(stored(), [(hour, 2)]);
    arena.pass_time(Duration::from_secs(3_600));
    statistics.record_call(BotId(1), arena.now(), AnswerClass::Valid, 20);
    write(&arena, &statistics, 1).await.unwrap();
    assert_eq!(stored(), [(hour, 2), (hour + 1, 1)]);
}

#[tokio::test]
async fn evidence_of_matches_survives_a_store_that_is_away() {
    for commits_before in 0..4 {
        let arena = TestArena::new(2);
        let statistics = BotStatistics::new(arena.metrics.clone());
        statistics.record_match(BotId(1), Presence::Silent, true);
        statistics.record_match(BotId(2), Presence::Silent, true);
        arena.set_store_away_after(commits_before);
        assert!(write(&arena, &statistics, 1).await.is_err());
        arena.set_store_away(false);
        for _ in 0..2 {
            write(&arena, &statistics, 1).await.unwrap();
        }
        for bot in [1, 2] {
            let health = arena.health(bot).unwrap();
            let is_watched = health.watched_until > arena.now();
            assert_eq!((health.failures, is_watched), (1, true), "{commits_before}");
        }
    }
}

/// One that was suspended, and one that took over from it.
#[tokio::test]
async fn two_sweeps_at_once_count_each_probe_once() {
    let arena = TestArena::new(2);
    play(&arena, &BotStatistics::new(arena.metrics.clone()), &[(1, false), (2, false)]).await;
    arena.set_fault(2, Some(CallFault::TooLate));
    for failures in 1..=3 {
        let (one, other) = tokio::join!(sweep::pass(&arena, &arena, || true), sweep::pass(&arena, &arena, || true));
        one.and(other).unwrap();
        let health = arena.health(2).unwrap();
        assert_eq!((health.failures, health.records.len()), (failures, usize::from(failures)));
        arena.pass_time(HEALTH_INTERVAL);
    }
    assert!(arena.conflicts() > 0, "they must have met, or this proves nothing");
    assert_eq!((arena.paused(), arena.metrics.matches.bots_paused.get()), (vec![2], 1));
}
