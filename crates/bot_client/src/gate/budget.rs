//! Which calls to one address may be made now: a bot's standing there, and what its account and all accounts have left. Time is an argument;
//! knows neither connections nor waiting.

use super::meter::{Meter, Rate};
use engine::ids::AccountId;
use engine::limits::{
    ACCOUNT_CALLS_BURST, ACCOUNT_CALLS_PAID_BACK, ACCOUNT_CONNECTIONS_PER_ADDRESS_MAX, ADDRESS_CALLS_BURST,
    ADDRESS_CALLS_PAID_BACK, CALL_BUDGET_PERIOD, CONNECTIONS_PER_BOT_ADDRESS_MAX, FAILURES_IN_STANDING_MAX,
    GUARANTEED_CALLS_PER_ACCOUNT, GUARANTEED_CALLS_PER_ADDRESS, NOTICES_WITHOUT_MOVE_MAX, STANDING_RETENTION,
};
use std::collections::HashMap;
use std::time::Duration;

/// Calls under way are counted when they fail, also beyond the burst: otherwise each that is paid back would let as many begin again.
const OF_ACCOUNT: Rate =
    Rate { max: ACCOUNT_CALLS_BURST + ACCOUNT_CONNECTIONS_PER_ADDRESS_MAX, paid_back: ACCOUNT_CALLS_PAID_BACK };
const OF_ADDRESS: Rate = Rate {
    max: ADDRESS_CALLS_BURST + GUARANTEED_CALLS_PER_ADDRESS + CONNECTIONS_PER_BOT_ADDRESS_MAX,
    paid_back: ADDRESS_CALLS_PAID_BACK,
};
/// How often a call is tried that waits for what other accounts do.
const RETRY_INTERVAL_MAX: Duration = Duration::from_millis(250);

/// What a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// `GET /` of a match.
    Index,
    /// `/start` and `/end` of a match.
    Notice,
    Move,
    /// Any call of a probe.
    Probe,
}

/// A bot as one account calls it, by the digest of its URL and the account: games of others, which may give it no time to answer, do not
/// touch the standing that it has here.
pub(super) type BotKey = u64;

#[derive(Clone, Copy, Debug)]
pub(super) struct Caller {
    pub(super) account: AccountId,
    pub(super) bot: BotKey,
    pub(super) purpose: Purpose,
}

/// How a call went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    ValidMove,
    /// An answer that says nothing about whether this is a bot; never to a request for a move.
    Neutral,
    Failed,
    /// This server could not make it.
    NotMade,
}

/// A call that may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grant {
    /// Whether it was counted before it is made: the bot is not in good standing.
    is_counted: bool,
}

#[derive(Debug)]
struct AccountBudget {
    counted: Meter,
    /// Calls without a valid move since the last one.
    streak: u32,
    /// Notices that were not counted, since then.
    notices: u32,
    /// Calls under way that were not counted.
    under_way: u32,
    used_at: Duration,
}

#[derive(Debug, Default)]
struct Standing {
    has_moved: bool,
    /// Moves that it failed to give, in a row.
    failures: u8,
    /// Calls that were counted before they were made, since the last valid move.
    counted: u32,
    used_at: Duration,
}

impl Standing {
    fn is_good(&self) -> bool {
        self.has_moved && self.failures < FAILURES_IN_STANDING_MAX
    }
}

/// What may be stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) accounts: bool,
    pub(super) bots: bool,
}

/// The budget of one address.
#[derive(Debug)]
pub(super) struct AddressBudget {
    counted: Meter,
    accounts: HashMap<AccountId, AccountBudget>,
    standings: HashMap<BotKey, Standing>,
    used_at: Duration,
}

impl AddressBudget {
    pub(super) fn new(now: Duration) -> Self {
        Self { counted: Meter::new(OF_ADDRESS, now), accounts: HashMap::new(), standings: HashMap::new(), used_at: now }
    }

    /// Accounts and bots that it has stored.
    pub(super) fn len(&self) -> (usize, usize) {
        (self.accounts.len(), self.standings.len())
    }

    /// Calls since the last valid move, over all accounts.
    #[cfg(test)]
    pub(super) fn calls_without_move(&self) -> u32 {
        self.accounts.values().map(|account| account.streak).sum()
    }

    /// Counts a call where that is needed.
    ///
    /// # Errors
    /// When to try again at the latest, unless a call is paid back before.
    pub(super) fn try_call(&mut self, caller: Caller, room: Room, now: Duration) -> Result<Grant, Duration> {
        self.used_at = now;
        if !room.accounts && !self.accounts.contains_key(&caller.account) {
            return Err(CALL_BUDGET_PERIOD);
        }
        let account = self.accounts.entry(caller.account).or_insert_with(|| AccountBudget {
            counted: Meter::new(OF_ACCOUNT, now),
            streak: 0,
            notices: 0,
            under_way: 0,
            used_at: now,
        });
        account.used_at = now;
        let standing = self.standings.get(&caller.bot);
        let is_free = standing.is_some_and(Standing::is_good)
            && (caller.purpose == Purpose::Move || account.notices + account.under_way < NOTICES_WITHOUT_MOVE_MAX);
        let percent = percent_of_limit(caller.purpose, is_free, standing);
        // Once a call has failed, those under way may fail as well.
        let may_fail = if account.streak > 0 { account.under_way } else { 0 };
        let limit = share(ACCOUNT_CALLS_BURST, percent).saturating_sub(may_fail);
        if let Some(wait) = account.counted.wait_for(limit, now) {
            return Err(wait);
        }
        let without_move = account.streak + account.notices + account.under_way;
        let limit = match (without_move < GUARANTEED_CALLS_PER_ACCOUNT, is_free) {
            (true, true) => None,
            (true, false) => Some(ADDRESS_CALLS_BURST + GUARANTEED_CALLS_PER_ADDRESS),
            (false, _) => Some(share(ADDRESS_CALLS_BURST, percent)),
        };
        if let Some(wait) = limit.and_then(|limit| self.counted.wait_for(limit, now)) {
            return Err(wait.min(RETRY_INTERVAL_MAX));
        }
        if is_free {
            account.under_way += 1;
        } else {
            account.counted.add(1, now);
            account.streak += 1;
            self.counted.add(1, now);
            if room.bots || standing.is_some() {
                let standing = self.standings.entry(caller.bot).or_default();
                standing.counted += 1;
                standing.used_at = now;
            }
        }
        Ok(Grant { is_counted: !is_free })
    }

    /// How a call went; whether other calls of its account may be made because of it.
    pub(super) fn settle(&mut self, caller: Caller, grant: Grant, ending: Ending, room: Room, now: Duration) -> bool {
        let Some(account) = self.accounts.get_mut(&caller.account) else { return false };
        if !grant.is_counted {
            account.under_way = account.under_way.saturating_sub(1);
        }
        match (ending, grant.is_counted) {
            (Ending::ValidMove, _) => {
                let mut paid_back = 1 + u32::from(grant.is_counted);
                if room.bots || self.standings.contains_key(&caller.bot) {
                    let standing = self.standings.entry(caller.bot).or_default();
                    paid_back = 1 + standing.counted;
                    *standing = Standing { has_moved: true, failures: 0, counted: 0, used_at: now };
                }
                account.counted.remove(paid_back, now);
                self.counted.remove(paid_back + account.notices, now);
                (account.streak, account.notices) = (0, 0);
                return true;
            }
            (Ending::NotMade, true) => {
                account.counted.remove(1, now);
                account.streak = account.streak.saturating_sub(1);
                self.counted.remove(1, now);
                if let Some(standing) = self.standings.get_mut(&caller.bot) {
                    standing.counted = standing.counted.saturating_sub(1);
                }
                return true;
            }
            (Ending::NotMade, false) => return true,
            (Ending::Neutral, true) => {}
            (Ending::Neutral, false) => {
                account.notices += 1;
                self.counted.add(1, now);
            }
            (Ending::Failed, is_counted) => {
                if let Some(standing) = self.standings.get_mut(&caller.bot) {
                    standing.failures = standing.failures.saturating_add(1);
                    standing.used_at = now;
                }
                if !is_counted {
                    account.counted.add(1, now);
                    account.streak += 1;
                    self.counted.add(1, now);
                }
            }
        }
        false
    }

    /// Forgets what has no effect any more; whether nothing is left.
    pub(super) fn sweep(&mut self, now: Duration) -> bool {
        let is_recent = |used_at: Duration, for_how_long: Duration| now.saturating_sub(used_at) < for_how_long;
        self.accounts.retain(|_, account| {
            account.under_way > 0 || is_recent(account.used_at, CALL_BUDGET_PERIOD) || !account.counted.is_empty(now)
        });
        self.standings.retain(|_, standing| is_recent(standing.used_at, STANDING_RETENTION));
        self.accounts.is_empty()
            && self.standings.is_empty()
            && !is_recent(self.used_at, CALL_BUDGET_PERIOD)
            && self.counted.is_empty(now)
    }
}

/// Up to which part of its limit a call may be counted. Steps towards a first valid move leave room for the next step, so that bots that
/// begin together do not stop each other half-way; bots that fail leave room for all others of their account.
fn percent_of_limit(purpose: Purpose, is_free: bool, standing: Option<&Standing>) -> u32 {
    let is_failing = standing.is_some_and(|standing| standing.failures >= FAILURES_IN_STANDING_MAX);
    match purpose {
        _ if is_free => 100,
        _ if is_failing => 50,
        Purpose::Index => 65,
        Purpose::Notice => 80,
        Purpose::Move | Purpose::Probe => 94,
    }
}

fn share(limit: u32, percent: u32) -> u32 {
    limit * percent / 100
}

#[cfg(test)]
mod tests;
