//! Sweeps and statistics over a real store in memory, with scripted bots and a clock that the test moves.

use super::statistics_writer::write;
use super::{BotProber, record, sweep};
use crate::environment::ArenaEnvironment;
use bot_client::CallFailure;
use bot_client::probe::{ProbeCall, ProbeReport, ProbeStep};
use bot_client::signing::CallSigner;
use bot_client::statistics::{BotStatistics, hour_of};
use engine::commands::{Command, Outcome};
use engine::health::{BotHealth, CallFault, EvidenceSource, HealthRecord, HealthStatus};
use engine::ids::{AccountId, BotId};
use engine::leadership::LeaderJob;
use engine::limits::{HEALTH_INTERVAL, HEALTH_RETRY_MIN};
use engine::matches::entry::AnswerClass;
use engine::rows::{Account, Bot, WorldOwner};
use engine::time::UnixMs;
use metrics::Metrics;
use node::leader::LeaderContext;
use node::lease::LeaseContext;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store::testing::MemoryDatabase;
use store::{Backend, Database, Reader, StoreError};

struct Shared {
    writer: Box<dyn Backend>,
    reader: Box<dyn Reader>,
    now: UnixMs,
    /// What each bot's calls for moves end with; those without pass.
    faults: BTreeMap<BotId, CallFault>,
    /// Calls that were made.
    calls: Vec<(BotId, ProbeStep)>,
    is_store_away: bool,
}

#[derive(Clone)]
struct TestArena {
    shared: Arc<Mutex<Shared>>,
    metrics: Arc<Metrics>,
}

impl TestArena {
    fn new(bots: u128) -> Self {
        let database = MemoryDatabase::new();
        let (writer, reader) = (database.writer().unwrap(), database.reader().unwrap());
        let now = UnixMs(1_700_000_000_000);
        let (faults, calls) = (BTreeMap::new(), Vec::new());
        let shared = Shared { writer, reader, now, faults, calls, is_store_away: false };
        let arena = Self { shared: Arc::new(Mutex::new(shared)), metrics: Arc::default() };
        arena.commit_now(Command::EnsureAccount(Account { id: AccountId(1), name: "a".to_owned(), created_at: now }));
        for n in 1..=bots {
            let (name, url) = (format!("bot {n}"), format!("http://{n}.example/"));
            let bot = Bot {
                id: BotId(n),
                account: AccountId(1),
                name,
                url,
                is_public: true,
                created_at: now,
                updated_at: now,
            };
            arena.commit_now(Command::CreateBot(bot));
        }
        arena
    }

    fn commit_now(&self, command: Command) -> Outcome {
        self.shared.lock().unwrap().writer.commit(&[command]).unwrap().remove(0)
    }

    fn pass_time(&self, span: Duration) {
        let mut shared = self.shared.lock().unwrap();
        shared.now = shared.now.plus(span);
    }

    fn set_fault(&self, bot: u128, fault: Option<CallFault>) {
        let mut shared = self.shared.lock().unwrap();
        match fault {
            Some(fault) => drop(shared.faults.insert(BotId(bot), fault)),
            None => drop(shared.faults.remove(&BotId(bot))),
        }
    }

    fn health(&self, bot: u128) -> Option<BotHealth> {
        let rows = self.shared.lock().unwrap().reader.bot_health(&[BotId(bot)]).unwrap();
        rows.into_iter().next().map(|row| row.health)
    }

    fn status(&self, bot: u128) -> HealthStatus {
        self.health(bot).unwrap_or_default().status
    }

    fn paused(&self) -> Vec<u128> {
        self.shared.lock().unwrap().reader.paused_bots(99).unwrap().into_iter().map(|bot| bot.0).collect()
    }

    fn calls_made(&self) -> Vec<(u128, &'static str)> {
        let calls = std::mem::take(&mut self.shared.lock().unwrap().calls);
        calls.into_iter().map(|(bot, step)| (bot.0, step.name())).collect()
    }
}

impl LeaseContext for TestArena {
    fn now(&self) -> UnixMs {
        self.shared.lock().unwrap().now
    }

    fn random_bytes(&self) -> [u8; 10] {
        [0; 10]
    }

    fn address(&self) -> String {
        "here:1".to_owned()
    }

    fn has_exclusive_store(&self) -> bool {
        true
    }

    async fn commit(&self, command: Command) -> Result<Outcome, StoreError> {
        if self.shared.lock().unwrap().is_store_away {
            return Err(StoreError::Unavailable { why: "away".to_owned() });
        }
        Ok(self.commit_now(command))
    }
}

impl LeaderContext for TestArena {
    async fn leader(&self, _job: LeaderJob) -> Result<Option<WorldOwner>, StoreError> {
        Ok(None)
    }
}

impl ArenaEnvironment for TestArena {
    async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        query(&mut *self.shared.lock().unwrap().reader)
    }

    fn notify_queue(&self) {}

    fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}

impl BotProber for TestArena {
    async fn probe(&self, call: ProbeCall) -> ProbeReport {
        let number: String = call.url.chars().filter(char::is_ascii_digit).collect();
        let bot = BotId(number.parse().unwrap());
        let mut shared = self.shared.lock().unwrap();
        shared.calls.push((bot, call.step));
        let fault = shared.faults.get(&bot).copied();
        let is_of_host = fault.is_some_and(|fault| fault == CallFault::ConnectionRefused);
        let failure = fault.filter(|_| is_of_host || call.step == ProbeStep::Move).map(CallFailure::from);
        ProbeReport { failure, total: Duration::from_millis(5), ..ProbeReport::default() }
    }

    async fn signer(&self, _bot: BotId, _now: UnixMs) -> Result<Option<CallSigner>, StoreError> {
        Ok(None)
    }
}

/// One match of a competition for each of these bots, played or silent.
async fn play(arena: &TestArena, statistics: &BotStatistics, matches: &[(u128, bool)]) {
    for &(bot, is_silent) in matches {
        statistics.record_match(BotId(bot), is_silent, true);
    }
    write(arena, statistics, 1).await.unwrap();
}

#[tokio::test]
async fn a_bot_that_competes_is_probed_paused_and_brought_back() {
    let arena = TestArena::new(2);
    let statistics = BotStatistics::new(arena.metrics.clone());
    sweep::pass(&arena, &arena).await.unwrap();
    assert_eq!(arena.calls_made(), [], "a bot that plays in no competition is left alone");
    play(&arena, &statistics, &[(1, false), (2, false)]).await;
    arena.set_fault(2, Some(CallFault::ConnectionRefused));
    sweep::pass(&arena, &arena).await.unwrap();
    let mut calls = arena.calls_made();
    calls.sort_by_key(|(bot, _)| *bot);
    let want = [(1, "index"), (1, "start"), (1, "move"), (1, "end"), (2, "index")];
    assert_eq!(calls, want, "a host that refuses is called once");
    assert_eq!((arena.status(1), arena.status(2)), (HealthStatus::Healthy, HealthStatus::Failing));
    sweep::pass(&arena, &arena).await.unwrap();
    assert_eq!(arena.calls_made(), [], "none is due");
    for _ in 0..2 {
        arena.pass_time(HEALTH_RETRY_MIN * 2);
        sweep::pass(&arena, &arena).await.unwrap();
    }
    assert_eq!(arena.paused(), [2]);
    assert_eq!(arena.health(2).unwrap().reason, Some(CallFault::ConnectionRefused));
    arena.set_fault(2, None);
    for want in [HealthStatus::Paused, HealthStatus::Healthy] {
        arena.pass_time(HEALTH_RETRY_MIN * 4);
        sweep::pass(&arena, &arena).await.unwrap();
        assert_eq!(arena.status(2), want);
    }
    assert_eq!(arena.paused(), [0; 0]);
    let metrics = &arena.metrics.matches;
    assert_eq!((metrics.bots_paused.get(), metrics.bots_resumed.get()), (1, 1));
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
        sweep::pass(&arena, &arena).await.unwrap();
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
    assert_eq!(record(&arena, BotId(1), evidence).await, Ok(None));
}

#[tokio::test]
async fn counted_calls_survive_a_store_that_is_away() {
    let arena = TestArena::new(1);
    let statistics = BotStatistics::new(arena.metrics.clone());
    let stored = || {
        let rows = arena.shared.lock().unwrap().reader.bot_calls(BotId(1), 0).unwrap();
        rows.iter().map(|row| (row.hour, row.calls.total())).collect::<Vec<_>>()
    };
    statistics.record_call(BotId(1), arena.now(), AnswerClass::Valid, 20);
    arena.shared.lock().unwrap().is_store_away = true;
    assert!(write(&arena, &statistics, 1).await.is_err());
    arena.shared.lock().unwrap().is_store_away = false;
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
