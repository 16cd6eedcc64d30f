//! Reads. Counts are counted here: the other stores keep counters, and are compared with these counts.

use super::data::{MatchEntry, MatchLog, MemoryData};
use crate::archives;
use crate::contract::{BotFilter, MatchFilter, StoreError};
use crate::counters::{FAILURES_SCANNED_MAX, FAILURES_SHOWN_MAX, StatsWindows, day_before, mean};
use engine::ids::{AccountId, BotId, MatchId, TokenId, WorkerId};
use engine::matches::lifecycle::MatchState;
use engine::rows::{
    Account, Bot, MatchCounts, MatchLogPage, MatchLogRow, MatchRow, MatchStats, MatchStatus, RecentFailure, Token,
    WindowCounts,
};
use engine::time::UnixMs;
use std::collections::BTreeMap;

impl MemoryData {
    pub(super) fn token(&self, digest: &[u8; 32]) -> Option<Token> {
        self.tokens.values().find(|token| token.digest == *digest).cloned()
    }

    pub(super) fn tokens_of(&self, account: AccountId) -> Vec<Token> {
        self.tokens.values().rev().filter(|token| token.account == account).cloned().collect()
    }

    pub(super) fn account(&self, id: AccountId) -> Option<Account> {
        self.accounts.get(&id).map(|entry| entry.account.clone())
    }

    pub(super) fn account_named(&self, name: &str) -> Option<Account> {
        self.accounts.values().find(|entry| entry.account.name == name).map(|entry| entry.account.clone())
    }

    pub(super) fn existing_tokens(&self, ids: &[TokenId]) -> Vec<TokenId> {
        ids.iter().copied().filter(|id| self.tokens.contains_key(id)).collect()
    }

    pub(super) fn bots_by_id(&self, ids: &[BotId]) -> Vec<Bot> {
        self.bots.values().filter(|bot| ids.contains(&bot.id)).cloned().collect()
    }

    pub(super) fn bots_of(&self, filter: &BotFilter) -> Vec<Bot> {
        let is_before = |bot: &&Bot| filter.before.is_none_or(|before| bot.id < before);
        let theirs = self.bots.values().rev().filter(|bot| bot.account == filter.account);
        theirs.filter(is_before).take(filter.limit).cloned().collect()
    }

    pub(super) fn match_by_id(&self, id: MatchId) -> Option<MatchRow> {
        self.matches.get(&id).map(|entry| entry.row.clone())
    }

    pub(super) fn matches_of(&self, filter: &MatchFilter) -> Vec<MatchRow> {
        let is_shown = |row: &&MatchRow| {
            filter.before.is_none_or(|before| row.spec.id < before)
                && filter.account.is_none_or(|account| row.account == account)
                && filter.bot.is_none_or(|bot| row.spec.seats.iter().any(|seat| seat.bot == bot))
        };
        self.matches.values().rev().map(|entry| &entry.row).filter(is_shown).take(filter.limit).cloned().collect()
    }

    pub(super) fn statuses(&self, ids: &[MatchId]) -> Vec<MatchStatus> {
        ids.iter().filter_map(|id| self.matches.get(id)).map(|entry| entry.row.status.clone()).collect()
    }

    pub(super) fn log_page(&self, id: MatchId, from: u32, limit: usize) -> Result<Option<MatchLogPage>, StoreError> {
        let Some(entry) = self.matches.get(&id) else { return Ok(None) };
        let rows = log_page(entry, from, limit)?;
        Ok(Some(MatchLogPage { state: entry.row.status.state, version: entry.row.status.version, rows }))
    }

    pub(super) fn idempotent_response(&self, account: AccountId, key: &str) -> Option<([u8; 32], Vec<u8>)> {
        let entry = self.responses.get(&(account, key.to_owned()))?;
        Some((entry.fingerprint, entry.response.clone()))
    }

    pub(super) fn lease_address(&self, worker: WorkerId, now: UnixMs) -> Option<String> {
        let lease = self.workers.get(&worker).filter(|_| self.lease_holds(worker, now));
        lease.map(|lease| lease.address.clone())
    }

    pub(super) fn leases_at(&self, address: &str, now: UnixMs) -> Vec<(WorkerId, UnixMs)> {
        let at =
            self.workers.iter().filter(|(worker, lease)| lease.address == address && self.lease_holds(**worker, now));
        let mut found: Vec<_> = at.map(|(worker, lease)| (*worker, lease.lease_until)).collect();
        found.sort_unstable();
        found
    }

    pub(super) fn stats(&self, now: UnixMs) -> MatchStats {
        let windows = StatsWindows::ending_at(now);
        let mut stats =
            MatchStats { counts: self.counts(), orphaned: self.orphans(now).len() as u64, ..MatchStats::default() };
        let (mut timed, mut duration_ms) = (WindowCounts::default(), WindowCounts::default());
        for (&minute, counters) in &self.minutes {
            windows.add(&mut stats.created, minute, counters.created);
            windows.add(&mut stats.finished, minute, counters.finished);
            windows.add(&mut timed, minute, counters.with_duration);
            windows.add(&mut duration_ms, minute, counters.duration_ms);
        }
        stats.duration_ms_avg = mean(duration_ms.last_24h, timed.last_24h);
        stats.failures = self.failures(day_before(now));
        stats
    }

    pub(super) fn counts(&self) -> MatchCounts {
        let count =
            |state: MatchState| self.matches.values().filter(|entry| entry.row.status.state == state).count() as u64;
        MatchCounts {
            waiting: count(MatchState::Waiting),
            running: count(MatchState::Running),
            finished: count(MatchState::Finished),
            failed: count(MatchState::Failed),
            cancelled: count(MatchState::Cancelled),
        }
    }

    fn failures(&self, since: UnixMs) -> Vec<RecentFailure> {
        let newest_first = self.ended.iter().rev().take_while(|(ended_at, _)| *ended_at >= since);
        let statuses = newest_first.map(|(ended_at, id)| (*ended_at, &self.matches[id].row.status));
        let failed = statuses.filter_map(|(ended_at, status)| Some((ended_at, status.failure.as_ref()?)));
        let mut by_reason = BTreeMap::<&String, RecentFailure>::new();
        for (ended_at, message) in failed.take(FAILURES_SCANNED_MAX) {
            let first = RecentFailure { count: 0, message: message.clone(), last_at: ended_at };
            by_reason.entry(message).or_insert(first).count += 1;
        }
        let mut failures: Vec<_> = by_reason.into_values().collect();
        failures.sort_by(|a, b| (b.count, b.last_at, &a.message).cmp(&(a.count, a.last_at, &b.message)));
        failures.truncate(FAILURES_SHOWN_MAX);
        failures
    }
}

fn log_page(entry: &MatchEntry, from: u32, limit: usize) -> Result<Vec<MatchLogRow>, StoreError> {
    match &entry.log {
        MatchLog::Live(rows) => Ok(rows.iter().skip(from as usize).take(limit).cloned().collect()),
        MatchLog::Archived(archive) => {
            archives::decode_rows(entry.row.spec.id, archive, entry.row.status.version, from, limit)
        }
    }
}
