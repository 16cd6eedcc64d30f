//! What the tests of the arena share: a real store in memory, scripted bots, and a clock that the test moves.

use crate::environment::ArenaEnvironment;
use crate::health::BotProber;
use bot_client::CallFailure;
use bot_client::probe::{ProbeCall, ProbeReport, ProbeStep};
use bot_client::signing::CallSigner;
use engine::commands::{Command, Outcome};
use engine::health::{BotHealth, CallFault, HealthStatus};
use engine::ids::{AccountId, BotId, MatchId};
use engine::leadership::LeaderJob;
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
use tokio::task::yield_now;

struct Shared {
    writer: Box<dyn Backend>,
    reader: Box<dyn Reader>,
    now: UnixMs,
    /// What each bot's calls for moves end with; those without pass.
    faults: BTreeMap<BotId, CallFault>,
    /// Calls that were made.
    calls: Vec<(BotId, ProbeStep)>,
    /// Matches whose spectators were notified.
    notified: Vec<MatchId>,
    /// Random bytes that were drawn: each differs from those before.
    draws: u64,
    /// Commits that were refused because another writer came first.
    conflicts: u64,
    /// Commits that were to call a match off.
    cancels: usize,
    is_store_away: bool,
    /// Commits until it is.
    away_after: Option<usize>,
    /// Commits before which another writer comes first.
    conflicts_to_come: usize,
}

/// One process's view of it; clones are other views of the same world.
#[derive(Clone)]
pub(crate) struct TestArena {
    shared: Arc<Mutex<Shared>>,
    pub(crate) metrics: Arc<Metrics>,
}

impl TestArena {
    pub(crate) fn new(bots: u128) -> Self {
        let database = MemoryDatabase::new();
        let (writer, reader) = (database.writer().unwrap(), database.reader().unwrap());
        let now = UnixMs(1_700_000_000_000);
        let (faults, calls) = (BTreeMap::new(), Vec::new());
        let shared = Shared {
            writer,
            reader,
            now,
            faults,
            calls,
            notified: Vec::new(),
            draws: 0,
            conflicts: 0,
            cancels: 0,
            is_store_away: false,
            away_after: None,
            conflicts_to_come: 0,
        };
        let arena = Self { shared: Arc::new(Mutex::new(shared)), metrics: Arc::default() };
        arena.commit_now(Command::EnsureAccount(Account { id: AccountId(1), name: "a".to_owned(), created_at: now }));
        (1..=bots).for_each(|n| arena.create_bot(n, AccountId(1)));
        arena
    }

    /// Another account with a bot.
    pub(crate) fn add_bot(&self, n: u128, account: AccountId) {
        let created_at = self.shared.lock().unwrap().now;
        let row = Account { id: account, name: format!("{}", account.0), created_at };
        self.commit_now(Command::EnsureAccount(row));
        self.create_bot(n, account);
    }

    fn create_bot(&self, n: u128, account: AccountId) {
        let now = self.shared.lock().unwrap().now;
        let (name, url) = (format!("bot {n}"), format!("http://{n}.example/"));
        let bot = Bot { id: BotId(n), account, name, url, is_public: true, created_at: now, updated_at: now };
        self.commit_now(Command::CreateBot(bot));
    }

    pub(crate) fn commit_now(&self, command: Command) -> Outcome {
        let mut shared = self.shared.lock().unwrap();
        shared.cancels += usize::from(matches!(command, Command::CancelMatch { .. }));
        let outcome = shared.writer.commit(&[command]).unwrap().remove(0);
        shared.conflicts += u64::from(matches!(outcome, Outcome::VersionConflict(_)));
        outcome
    }

    pub(crate) fn read_now<T>(&self, query: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError>) -> T {
        query(&mut *self.shared.lock().unwrap().reader).unwrap()
    }

    pub(crate) fn conflicts(&self) -> u64 {
        self.shared.lock().unwrap().conflicts
    }

    pub(crate) fn cancels(&self) -> usize {
        self.shared.lock().unwrap().cancels
    }

    pub(crate) fn set_store_away(&self, is_away: bool) {
        self.shared.lock().unwrap().is_store_away = is_away;
    }

    pub(crate) fn pass_time(&self, span: Duration) {
        let mut shared = self.shared.lock().unwrap();
        shared.now = shared.now.plus(span);
    }

    pub(crate) fn set_fault(&self, bot: u128, fault: Option<CallFault>) {
        let mut shared = self.shared.lock().unwrap();
        match fault {
            Some(fault) => drop(shared.faults.insert(BotId(bot), fault)),
            None => drop(shared.faults.remove(&BotId(bot))),
        }
    }

    /// The store goes away after this many commits more.
    pub(crate) fn set_store_away_after(&self, commits: usize) {
        self.shared.lock().unwrap().away_after = Some(commits);
    }

    pub(crate) fn set_conflicts_to_come(&self, commits: usize) {
        self.shared.lock().unwrap().conflicts_to_come = commits;
    }

    pub(crate) fn health(&self, bot: u128) -> Option<BotHealth> {
        let rows = self.read_now(|reader| reader.bot_health(&[BotId(bot)]));
        rows.into_iter().next().map(|row| row.health)
    }

    pub(crate) fn status(&self, bot: u128) -> HealthStatus {
        self.health(bot).unwrap_or_default().status
    }

    pub(crate) fn paused(&self) -> Vec<u128> {
        self.read_now(|reader| reader.paused_bots(99)).into_iter().map(|bot| bot.0).collect()
    }

    pub(crate) fn notified(&self) -> Vec<MatchId> {
        self.shared.lock().unwrap().notified.clone()
    }

    pub(crate) fn calls_made(&self) -> Vec<(u128, &'static str)> {
        let calls = std::mem::take(&mut self.shared.lock().unwrap().calls);
        calls.into_iter().map(|(bot, step)| (bot.0, step.name())).collect()
    }
}

impl LeaseContext for TestArena {
    fn now(&self) -> UnixMs {
        self.shared.lock().unwrap().now
    }

    fn random_bytes(&self) -> [u8; 10] {
        let mut shared = self.shared.lock().unwrap();
        shared.draws += 1;
        let mut bytes = [0; 10];
        bytes[..8].copy_from_slice(&shared.draws.to_be_bytes());
        bytes
    }

    fn address(&self) -> String {
        "here:1".to_owned()
    }

    fn has_exclusive_store(&self) -> bool {
        true
    }

    async fn commit(&self, command: Command) -> Result<Outcome, StoreError> {
        // Others have their turn between any two commands.
        yield_now().await;
        {
            let mut shared = self.shared.lock().unwrap();
            match shared.away_after {
                Some(0) => (shared.is_store_away, shared.away_after) = (true, None),
                after => shared.away_after = after.map(|commits| commits - 1),
            }
            if shared.is_store_away {
                return Err(StoreError::Unavailable { why: "away".to_owned() });
            }
            if shared.conflicts_to_come > 0 {
                shared.conflicts_to_come -= 1;
                return Ok(Outcome::VersionConflict(0));
            }
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
        yield_now().await;
        query(&mut *self.shared.lock().unwrap().reader)
    }

    fn notify_queue(&self) {}

    fn notify_match(&self, id: MatchId) {
        self.shared.lock().unwrap().notified.push(id);
    }

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
