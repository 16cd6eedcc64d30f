//! The maps and the three orders in which matches are searched. Only [`MemoryData::change`] touches the orders.

use super::stories::Stories;
use super::worlds::Worlds;
use crate::counters::MinuteCounts;
use crate::semantics;
use engine::ids::{AccountId, BotId, MatchId, TokenId, WorkerId};
use engine::matches::lifecycle::MatchState;
use engine::rows::{Account, Bot, LimitOverride, LimitPolicy, MatchLogRow, MatchRow, Token};
use engine::time::UnixMs;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Default)]
pub(super) struct MemoryData {
    pub(super) accounts: BTreeMap<AccountId, AccountEntry>,
    pub(super) tokens: BTreeMap<TokenId, Token>,
    pub(super) bots: BTreeMap<BotId, Bot>,
    pub(super) matches: BTreeMap<MatchId, MatchEntry>,
    pub(super) workers: BTreeMap<WorkerId, WorkerEntry>,
    pub(super) responses: BTreeMap<(AccountId, String), ResponseEntry>,
    pub(super) minutes: BTreeMap<i64, MinuteCounts>,
    pub(super) limit_policies: BTreeMap<String, LimitPolicy>,
    pub(super) limit_overrides: BTreeMap<(String, Vec<u8>), LimitOverride>,
    pub(super) secrets: BTreeMap<String, Vec<u8>>,
    pub(super) stories: Stories,
    pub(super) worlds: Worlds,
    /// Changes of the rules of the limiter so far.
    pub(super) limit_rules_version: u64,
    /// The highest tag that was claimed from the queue.
    pub(super) virtual_time: u64,
    pub(super) archive_bytes: u64,
    /// Waiting matches in fair order.
    pub(super) waiting: BTreeSet<(u64, MatchId)>,
    pub(super) running: BTreeSet<(Option<WorkerId>, MatchId)>,
    /// Ended matches, oldest end first.
    pub(super) ended: BTreeSet<(UnixMs, MatchId)>,
}

#[derive(Clone)]
pub(super) struct AccountEntry {
    pub(super) account: Account,
    /// The tag of its newest match in the queue.
    pub(super) fair_tag: u64,
}

#[derive(Clone)]
pub(super) struct MatchEntry {
    pub(super) row: MatchRow,
    /// Its place in the queue, while it waits.
    pub(super) fair_tag: u64,
    /// Entries in the log at the last claim.
    pub(super) claimed_version: u32,
    /// The number of its worker's claim that took it.
    pub(super) claim: u64,
    pub(super) log: MatchLog,
}

#[derive(Clone)]
pub(super) enum MatchLog {
    Live(Vec<MatchLogRow>),
    Archived(Vec<u8>),
}

#[derive(Clone)]
pub(super) struct WorkerEntry {
    pub(super) address: String,
    pub(super) lease_until: UnixMs,
    pub(super) is_given_up: bool,
    /// The highest number of its claims so far.
    pub(super) claims: u64,
    /// The highest number of its claims of tables so far.
    pub(super) table_claims: u64,
}

#[derive(Clone)]
pub(super) struct ResponseEntry {
    pub(super) fingerprint: [u8; 32],
    pub(super) response: Vec<u8>,
    pub(super) created_at: UnixMs,
}

impl MatchEntry {
    pub(super) fn live_log(&self) -> &[MatchLogRow] {
        match &self.log {
            MatchLog::Live(rows) => rows,
            MatchLog::Archived(_) => &[],
        }
    }

    /// Brings the status in line with the end of the log.
    pub(super) fn sync_status(&mut self) {
        let last = self.live_log().last();
        let counters = last.map_or((0, 0, 0), |row| (row.version + 1, row.turns, row.late_moves));
        (self.row.status.version, self.row.status.turns, self.row.status.late_moves) = counters;
    }

    pub(super) fn move_to(&mut self, state: MatchState, now: UnixMs) {
        self.row.status.state = state;
        self.row.status.updated_at = now;
        self.row.status.ended_at = state.is_ended().then_some(now);
        if state != MatchState::Running {
            self.row.status.worker = None;
        }
        if state != MatchState::Failed {
            self.row.status.failure = None;
        }
    }
}

impl MemoryData {
    pub(super) fn insert(&mut self, entry: MatchEntry) {
        self.index_match(&entry);
        self.matches.insert(entry.row.spec.id, entry);
    }

    /// Changes a match and keeps the orders true; `None` when there is no such match.
    pub(super) fn change<T>(&mut self, id: MatchId, change: impl FnOnce(&mut MatchEntry) -> T) -> Option<T> {
        let mut entry = self.remove(id)?;
        let result = change(&mut entry);
        self.insert(entry);
        Some(result)
    }

    pub(super) fn remove(&mut self, id: MatchId) -> Option<MatchEntry> {
        let entry = self.matches.remove(&id)?;
        self.unindex_match(&entry);
        Some(entry)
    }

    fn index_match(&mut self, entry: &MatchEntry) {
        let status = &entry.row.status;
        match (status.state, status.ended_at) {
            (MatchState::Waiting, _) => self.waiting.insert((entry.fair_tag, status.id)),
            (MatchState::Running, _) => self.running.insert((status.worker, status.id)),
            (MatchState::Finished | MatchState::Failed | MatchState::Cancelled, Some(at)) => {
                self.ended.insert((at, status.id))
            }
            (MatchState::Finished | MatchState::Failed | MatchState::Cancelled, None) => false,
        };
    }

    fn unindex_match(&mut self, entry: &MatchEntry) {
        let status = &entry.row.status;
        self.waiting.remove(&(entry.fair_tag, status.id));
        self.running.remove(&(status.worker, status.id));
        if let Some(at) = status.ended_at {
            self.ended.remove(&(at, status.id));
        }
    }

    pub(super) fn lease_holds(&self, worker: WorkerId, now: UnixMs) -> bool {
        let lease = self.workers.get(&worker);
        lease.is_some_and(|lease| semantics::lease_holds(lease.lease_until, lease.is_given_up, now))
    }

    /// Running matches without a live worker, oldest first.
    pub(super) fn orphans(&self, now: UnixMs) -> Vec<MatchId> {
        let is_orphan = |worker: Option<WorkerId>| worker.is_none_or(|worker| !self.lease_holds(worker, now));
        let mut orphans: Vec<_> = self.running.iter().filter(|(worker, _)| is_orphan(*worker)).map(|at| at.1).collect();
        orphans.sort_unstable();
        orphans
    }
}
