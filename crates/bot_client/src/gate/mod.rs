//! The one gate through which every call of a bot goes: games, faces, probes and checks. It decides by the address that is about to be
//! connected to, not by its name, whether the call may be made now, and how many connections an address may have.
//!
//! A host that never asked to be called must not be flooded because a stranger registered its URL. See `engine::limits` for what it gets at
//! most, and `budget` for how that is kept. Everything is in this process's memory, and begins anew with it.

mod budget;
mod meter;

pub(super) use budget::{Ending, Purpose};

use crate::target::Target;
use budget::{AddressBudget, BotKey, Caller, Grant, Room};
use engine::ids::AccountId;
use engine::limits::{
    ACCOUNT_CONNECTIONS_PER_ADDRESS_MAX, CALL_BUDGET_ACCOUNTS_MAX, CALL_BUDGET_ADDRESSES_MAX, CALL_BUDGET_BOTS_MAX,
    CALL_BUDGET_PERIOD, CALL_BUDGET_WAIT_MAX, CONNECTIONS_PER_BOT_ADDRESS_MAX,
};
use metrics::Metrics;
use quotas::address_key::AddressKey;
use quotas::fair_semaphore::{FairPermit, FairSemaphore};
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

/// To which addresses the limits apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitedAddresses {
    /// To none: for a program that calls one bot for its owner.
    None,
    /// To all but loopback ones, which are this machine's own.
    OffLoopback,
    All,
}

/// Who is called, for whom and what for.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallSubject<'a> {
    /// The bot: its standing goes by its program, and by the account.
    pub(super) target: &'a Target,
    /// Whose game or check it is.
    pub(super) account: AccountId,
    pub(super) purpose: Purpose,
}

pub(super) struct Gate {
    limited: LimitedAddresses,
    begun: Instant,
    hasher: RandomState,
    state: Mutex<GateState>,
    metrics: Arc<Metrics>,
}

#[derive(Default)]
struct GateState {
    addresses: HashMap<AddressKey, AddressState>,
    /// Over all addresses.
    accounts: usize,
    bots: usize,
}

struct AddressState {
    budget: AddressBudget,
    /// Calls under way, in turn by account.
    connections: Arc<FairSemaphore<AccountId>>,
    of_accounts: HashMap<AccountId, AccountAccess>,
    /// Connections, idle ones included.
    open: Arc<()>,
}

/// What the calls of one account at an address wait for.
#[derive(Clone)]
struct AccountAccess {
    connections: Arc<Semaphore>,
    /// Notified when one of them was answered.
    answered: Arc<Notify>,
}

/// A call that may be made now, with its connection's permit. Dropping it without [`Admission::settle`] counts the call as failed.
pub(super) struct Admission {
    /// `None` where no limits apply.
    counted: Option<CountedCall>,
}

struct CountedCall {
    gate: Arc<Gate>,
    address: AddressKey,
    caller: Caller,
    grant: Grant,
    is_settled: bool,
    _of_address: FairPermit<AccountId>,
    _of_account: OwnedSemaphorePermit,
}

/// The call may not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Throttled;

impl AccountAccess {
    fn new() -> Self {
        let connections = Arc::new(Semaphore::new(ACCOUNT_CONNECTIONS_PER_ADDRESS_MAX as usize));
        Self { connections, answered: Arc::default() }
    }

    fn is_used(&self) -> bool {
        Arc::strong_count(&self.connections) > 1 || Arc::strong_count(&self.answered) > 1
    }
}

impl AddressState {
    fn new(now: Duration) -> Self {
        Self {
            budget: AddressBudget::new(now),
            connections: FairSemaphore::new(CONNECTIONS_PER_BOT_ADDRESS_MAX as usize),
            of_accounts: HashMap::new(),
            open: Arc::default(),
        }
    }

    fn has_calls(&self) -> bool {
        Arc::strong_count(&self.connections) > 1 || Arc::strong_count(&self.open) > 1
    }
}

impl Gate {
    pub(super) fn new(limited: LimitedAddresses, metrics: Arc<Metrics>) -> Arc<Self> {
        let (hasher, state) = (RandomState::new(), Mutex::default());
        Arc::new(Self { limited, begun: Instant::now(), hasher, state, metrics })
    }

    /// Waits for a connection, and until the call may be made. Only the second wait ends at `give_up_at`; the wait for a connection has no limit:
    /// it is fair between accounts, and each connection ends with its bot's time.
    ///
    /// # Errors
    /// It may not be made.
    pub(super) async fn admit(
        self: &Arc<Self>,
        ip: IpAddr,
        subject: CallSubject<'_>,
        give_up_at: Instant,
    ) -> Result<Admission, Throttled> {
        if !self.is_limited(ip) {
            return Ok(Admission { counted: None });
        }
        // Apart, so that calls without limits carry no room for its waits.
        Box::pin(self.admit_limited(ip, subject, give_up_at)).await
    }

    async fn admit_limited(
        self: &Arc<Self>,
        ip: IpAddr,
        subject: CallSubject<'_>,
        give_up_at: Instant,
    ) -> Result<Admission, Throttled> {
        let address = AddressKey::of(ip);
        let bot: BotKey = self.hasher.hash_one((subject.target.program(), subject.account));
        let caller = Caller { account: subject.account, bot, purpose: subject.purpose };
        loop {
            let Some((connections, access)) = self.permits(address, caller.account) else {
                return Err(self.refuse());
            };
            let of_account = access.connections.acquire_owned().await.expect("it is never closed");
            let of_address = connections.acquire(caller.account).await;
            // Created before the decision: no answer that comes after it is missed.
            let answered = access.answered.notified_owned();
            let retry_in = match self.try_call(address, caller) {
                Ok(grant) => {
                    let gate = self.clone();
                    let (is_settled, _of_address, _of_account) = (false, of_address, of_account);
                    let counted = CountedCall { gate, address, caller, grant, is_settled, _of_address, _of_account };
                    return Ok(Admission { counted: Some(counted) });
                }
                Err(retry_in) => retry_in,
            };
            // No connection is held while waiting.
            drop((of_address, of_account));
            let retry_at = Instant::now() + retry_in;
            let is_answered = timeout_at(retry_at.min(give_up_at), answered).await.is_ok();
            if !is_answered && Instant::now() >= give_up_at {
                return Err(self.refuse());
            }
        }
    }

    /// A connection to this address is open for as long as the token is kept; `None` where connections are not limited. Idle connections have
    /// to be closed if `true` comes with it: there are as many as there may be.
    pub(super) fn open_connection(&self, ip: IpAddr) -> Option<(Arc<()>, bool)> {
        if !self.is_limited(ip) {
            return None;
        }
        let state = self.lock();
        let open = state.addresses.get(&AddressKey::of(ip))?.open.clone();
        let is_full = Arc::strong_count(&open) - 1 > CONNECTIONS_PER_BOT_ADDRESS_MAX as usize;
        Some((open, is_full))
    }

    /// Forgets what has no effect any more. For a background job.
    pub(super) fn sweep(&self) {
        let now = self.now();
        let mut state = self.lock();
        let (mut accounts, mut bots) = (0, 0);
        state.addresses.retain(|_, address| {
            let is_empty = address.budget.sweep(now);
            address.of_accounts.retain(|_, access| access.is_used());
            let is_kept = !is_empty || address.has_calls();
            let (accounts_here, bots_here) = if is_kept { address.budget.len() } else { (0, 0) };
            (accounts, bots) = (accounts + accounts_here, bots + bots_here);
            is_kept
        });
        (state.accounts, state.bots) = (accounts, bots);
    }

    /// Calls since the last valid move, over all accounts and addresses.
    #[cfg(test)]
    pub(super) fn calls_without_move(&self) -> u32 {
        self.lock().addresses.values().map(|address| address.budget.calls_without_move()).sum()
    }

    fn is_limited(&self, ip: IpAddr) -> bool {
        match self.limited {
            LimitedAddresses::None => false,
            LimitedAddresses::OffLoopback => !ip.to_canonical().is_loopback(),
            LimitedAddresses::All => true,
        }
    }

    /// `None` when no more addresses can be remembered.
    fn permits(
        &self,
        address: AddressKey,
        account: AccountId,
    ) -> Option<(Arc<FairSemaphore<AccountId>>, AccountAccess)> {
        let now = self.now();
        let mut state = self.lock();
        if state.addresses.len() >= CALL_BUDGET_ADDRESSES_MAX && !state.addresses.contains_key(&address) {
            return None;
        }
        let state = state.addresses.entry(address).or_insert_with(|| AddressState::new(now));
        let of_account = state.of_accounts.entry(account).or_insert_with(AccountAccess::new);
        Some((state.connections.clone(), of_account.clone()))
    }

    /// A grant, or when to try again at the latest.
    fn try_call(&self, address: AddressKey, caller: Caller) -> Result<Grant, Duration> {
        self.with_budget(address, |budget, room, now| budget.try_call(caller, room, now))
            .unwrap_or(Err(CALL_BUDGET_PERIOD))
    }

    fn settle(&self, call: &CountedCall, ending: Ending) {
        let CountedCall { address, caller, grant, .. } = *call;
        let frees_others =
            self.with_budget(address, |budget, room, now| budget.settle(caller, grant, ending, room, now));
        if frees_others == Some(true) {
            let answered = {
                let state = self.lock();
                let found = state.addresses.get(&address).and_then(|found| found.of_accounts.get(&caller.account));
                found.map(|access| access.answered.clone())
            };
            answered.inspect(|answered| answered.notify_waiters());
        }
    }

    /// Changes the budget of an address, which is kept for as long as it has calls.
    fn with_budget<T>(
        &self,
        address: AddressKey,
        change: impl FnOnce(&mut AddressBudget, Room, Duration) -> T,
    ) -> Option<T> {
        let now = self.now();
        let mut state = self.lock();
        let room = state.room();
        let budget = &mut state.addresses.get_mut(&address)?.budget;
        let before = budget.len();
        let changed = change(budget, room, now);
        let after = budget.len();
        state.add(before, after);
        Some(changed)
    }

    fn refuse(&self) -> Throttled {
        self.metrics.matches.bot_calls_throttled.inc();
        Throttled
    }

    fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Every update leaves the state consistent, even if a holder of the lock panicked.
    fn lock(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GateState {
    fn room(&self) -> Room {
        Room { accounts: self.accounts < CALL_BUDGET_ACCOUNTS_MAX, bots: self.bots < CALL_BUDGET_BOTS_MAX }
    }

    fn add(&mut self, before: (usize, usize), after: (usize, usize)) {
        self.accounts += after.0 - before.0;
        self.bots += after.1 - before.1;
    }
}

impl Admission {
    /// How the call went.
    pub(super) fn settle(mut self, ending: Ending) {
        if let Some(call) = &mut self.counted {
            call.is_settled = true;
            call.gate.settle(call, ending);
        }
    }
}

impl Drop for CountedCall {
    fn drop(&mut self) {
        if !self.is_settled {
            self.gate.settle(self, Ending::Failed);
        }
    }
}

/// When a call that begins to wait at this moment is given up.
pub(super) fn give_up_at(begun: Instant) -> Instant {
    begun + CALL_BUDGET_WAIT_MAX
}

const _: () = assert!(CALL_BUDGET_WAIT_MAX.as_millis() < CALL_BUDGET_PERIOD.as_millis());

#[cfg(test)]
mod tests;
