//! The queue of matches, in its order, without those of accounts that may take no further slot of the worker that claims.
//!
//! An account may have many matches waiting while it has all the slots that it may have. They are not read: from then on each account is
//! found by a step in the index by account, and only the matches of accounts that are admitted are read.

use super::claims::{Candidate, candidate};
use super::{Dialect, ID_MIN, skip_locked, values};
use crate::columns::Columns;
use crate::contract::StoreError;
use engine::ids::{AccountId, MatchId};
use engine::matches::slots::SlotUsage;
use std::collections::BTreeSet;

/// The beginning of the queue: ?1 matches.
pub(crate) fn first_waiting<S: Dialect>() -> String {
    let lock = skip_locked::<S>("FOR NO KEY UPDATE");
    format!(
        "SELECT id, account, attempts_charged, claimed_version, fair_tag FROM matches
         WHERE state = 'waiting' ORDER BY fair_tag, id LIMIT ?1 {lock}"
    )
}

/// The first ?2 waiting matches of account ?1.
pub(crate) fn first_waiting_of<S: Dialect>() -> String {
    let lock = skip_locked::<S>("FOR NO KEY UPDATE");
    format!(
        "SELECT id, account, attempts_charged, claimed_version, fair_tag FROM matches
         WHERE state = 'waiting' AND account = ?1 ORDER BY fair_tag, id LIMIT ?2 {lock}"
    )
}

/// The ?2 accounts with waiting matches that come first in the queue: two seeks in an index for each that has any. ?1 is before every account.
pub(crate) const ACCOUNTS_WAITING: &str = "
    WITH RECURSIVE waiting (account) AS (
        SELECT (SELECT account FROM matches WHERE state = 'waiting' AND account >= ?1 ORDER BY account LIMIT 1)
        UNION ALL
        SELECT (SELECT account FROM matches WHERE state = 'waiting' AND account > waiting.account ORDER BY account LIMIT 1)
        FROM waiting WHERE waiting.account IS NOT NULL
    )
    SELECT waiting.account, (SELECT m.fair_tag FROM matches m WHERE m.state = 'waiting' AND m.account = waiting.account
                             ORDER BY m.fair_tag LIMIT 1) AS first_tag
    FROM waiting WHERE waiting.account IS NOT NULL ORDER BY first_tag, waiting.account LIMIT ?2";

/// The place of a match in the queue.
type QueuePosition = (u64, MatchId);

/// What a claim has read of the queue.
pub(super) struct WaitingMatches<'s> {
    slots: &'s mut SlotUsage,
    /// Accounts that may take no more. Slots only become fewer while a worker claims, so it stays like this until the claim ends.
    passed_over: BTreeSet<AccountId>,
    is_exhausted: bool,
}

impl<'s> WaitingMatches<'s> {
    pub(super) fn new(slots: &'s mut SlotUsage) -> Self {
        let passed_over = slots.accounts_at_threshold().collect();
        Self { is_exhausted: slots.free() == 0, slots, passed_over }
    }

    /// Whether nothing that is admitted is left.
    pub(super) fn is_exhausted(&self) -> bool {
        self.is_exhausted
    }

    /// The next matches that are admitted, at most `max`, and at least one unless the queue is exhausted. They must be claimed before the next
    /// call, and have taken their slots.
    pub(super) fn next_admitted<S: Dialect>(
        &mut self,
        session: &mut S,
        max: usize,
    ) -> Result<Vec<Candidate>, StoreError> {
        while !self.is_exhausted {
            let waiting = if self.passed_over.is_empty() {
                self.read_first(session, max)?
            } else {
                self.read_of_admitted(session, max)?
            };
            let admitted = self.admit(waiting, max);
            if !admitted.is_empty() {
                return Ok(admitted);
            }
        }
        Ok(Vec::new())
    }

    /// From the beginning of the queue, whosever they are.
    fn read_first<S: Dialect>(&mut self, session: &mut S, max: usize) -> Result<Vec<Candidate>, StoreError> {
        let waiting = session.all(&first_waiting::<S>(), values![max], |row| candidate(row))?;
        self.is_exhausted = waiting.len() < max;
        Ok(waiting)
    }

    /// From the beginning of the queue, without those of accounts that are passed over.
    fn read_of_admitted<S: Dialect>(&mut self, session: &mut S, max: usize) -> Result<Vec<Candidate>, StoreError> {
        let accounts = session
            .all(ACCOUNTS_WAITING, values![ID_MIN, max + self.passed_over.len()], |row| row.id().map(AccountId))?;
        let mut accounts: Vec<_> = accounts.into_iter().filter(|account| !self.passed_over.contains(account)).collect();
        accounts.truncate(max);
        // Twice as many as may be taken, so that accounts whose matches come close together seldom need another look.
        let page = (2 * max).div_ceil(accounts.len().max(1));
        let mut waiting = Vec::new();
        // Behind this an account whose page was full may have more.
        let mut read_until: Option<QueuePosition> = None;
        for account in &accounts {
            let of_account = session.all(&first_waiting_of::<S>(), values![*account, page], |row| candidate(row))?;
            if let Some(last) = of_account.last().filter(|_| of_account.len() == page) {
                read_until = Some(read_until.map_or(position(last), |until| until.min(position(last))));
            }
            waiting.extend(of_account);
        }
        self.is_exhausted = waiting.is_empty();
        waiting.sort_unstable_by_key(position);
        waiting.retain(|candidate| read_until.is_none_or(|until| position(candidate) <= until));
        Ok(waiting)
    }

    /// Those that the slots admit.
    fn admit(&mut self, waiting: Vec<Candidate>, max: usize) -> Vec<Candidate> {
        let mut admitted = Vec::new();
        for candidate in waiting {
            if admitted.len() == max {
                break;
            }
            if self.slots.admits(candidate.account) {
                self.slots.take(candidate.account);
                admitted.push(candidate);
            } else {
                self.passed_over.insert(candidate.account);
            }
        }
        self.is_exhausted |= self.slots.free() == 0;
        admitted
    }
}

fn position(candidate: &Candidate) -> QueuePosition {
    (candidate.tag, candidate.id)
}
