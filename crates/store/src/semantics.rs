//! Rules that all stores share: what a claim charges, who holds a lease, which entries fit a log. Functions of values;
//! the stores bring the values.

pub(crate) mod worlds;

use engine::commands::{Command, Idempotency, IndexChange, MatchAppend, Outcome, TableAppend};
use engine::ids::WorkerId;
use engine::limits::{FAILURE_BYTES_MAX, IDEMPOTENCY_RETENTION};
use engine::matches::lifecycle::{MatchEvent, MatchState};
use engine::matches::spec::MatchSpec;
use engine::time::UnixMs;
use std::collections::BTreeSet;
use std::time::Duration;

/// Who claims: a worker, in its claim of this number. A number that was used before takes nothing new.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatchClaimant<'a> {
    pub(crate) worker: WorkerId,
    pub(crate) number: u64,
    /// The address in its lease. A match keeps a copy: workers are deleted before their matches are, and a list of
    /// matches need not look up a worker for each.
    pub(crate) node: &'a str,
}

/// Idempotency keys that one call of `Retire` deletes at most, so that other commands do not wait long behind it.
pub(crate) const IDEMPOTENCY_KEYS_RETIRED_MAX: usize = 10_000;
/// How long the lease of a worker is remembered after its end. Until then the worker learns that it ended; a worker
/// that resumes later begins anew, and its old matches are fenced by their epochs.
pub(crate) const WORKER_RETENTION: Duration = Duration::from_secs(24 * 3_600);

/// Claims without progress once this claim counts: entries saved since the last claim clear the account.
pub(crate) fn attempts_after_claim(charged: u32, claimed_version: u32, version: u32) -> u32 {
    if version > claimed_version { 1 } else { charged.saturating_add(1) }
}

/// Claims without progress after a release.
pub(crate) fn attempts_after_release(charged: u32, is_refunded: bool) -> u32 {
    if is_refunded { charged.saturating_sub(1) } else { charged }
}

/// Why a match that no worker could run is given up.
pub(crate) fn out_of_attempts(attempts_max: u32, version: u32) -> String {
    format!(
        "given up after {attempts_max} attempts without progress: each time the worker was lost before it saved another \
         entry after the first {version}; look at the log and at what the workers logged, then requeue or cancel"
    )
}

/// A reason as it is kept: cut between characters to its length, without the zeros that PostgreSQL's texts cannot hold.
pub(crate) fn stored_reason(reason: &str) -> String {
    let is_cut = |at: &usize| reason.is_char_boundary(*at);
    let length = (0..=reason.len().min(FAILURE_BYTES_MAX)).rev().find(is_cut);
    reason[..length.unwrap_or_default()].replace('\0', " ")
}

/// Start-time fair queueing: the tag of an account's next match. An account with fewer waiting matches gets a lower
/// one.
pub(crate) fn next_fair_tag(virtual_time: u64, last_tag_of_account: u64) -> u64 {
    virtual_time.max(last_tag_of_account) + 1
}

/// Where an event of its writer leads a match, if the writer still is its writer.
pub(crate) fn writer_transition(
    state: MatchState,
    epoch: u32,
    event: MatchEvent,
    writer_epoch: u32,
) -> Result<MatchState, Outcome> {
    state.transition(event).filter(|_| epoch == writer_epoch).ok_or(Outcome::Fenced)
}

/// Whether this writer may add to the log of a match in this state. Adding is no event of a life: nothing but running allows it.
pub(crate) fn check_writer(state: MatchState, epoch: u32, writer_epoch: u32) -> Result<(), Outcome> {
    if state == MatchState::Running && epoch == writer_epoch { Ok(()) } else { Err(Outcome::Fenced) }
}

/// Whether these entries continue a log of `have` entries: the expected number, and no gap among them.
pub(crate) fn check_append(append: &MatchAppend, have: u32) -> Result<(), Outcome> {
    let is_contiguous = append.rows.iter().zip(have..).all(|(row, version)| row.version == version);
    if append.expected_version == have && is_contiguous { Ok(()) } else { Err(Outcome::VersionConflict(have)) }
}

/// Whether this writer may add to the log of a table that is in its `epoch`.
pub(crate) fn check_table_writer(epoch: u32, append: &TableAppend) -> Result<(), Outcome> {
    if epoch == append.epoch { Ok(()) } else { Err(Outcome::Fenced) }
}

/// Whether these entries continue a table's log of `have` entries, `base_version` of them under its base: the expected number,
/// no gap, and a new base, if there is one, that neither goes back nor runs ahead.
pub(crate) fn check_table_append(append: &TableAppend, base_version: u32, have: u32) -> Result<(), Outcome> {
    let is_contiguous = append.rows.iter().zip(have..).all(|(row, version)| row.version == version);
    let end = have.saturating_add(append.rows.len() as u32);
    let is_base_within = append.snapshot.as_ref().is_none_or(|base| (base_version..=end).contains(&base.version));
    if append.expected_version == have && is_contiguous && is_base_within {
        Ok(())
    } else {
        Err(Outcome::VersionConflict(have))
    }
}

/// Whether a table's first entries are in its first epoch and begin a log.
pub(crate) fn check_table_opening(append: &TableAppend) -> Result<(), Outcome> {
    check_table_writer(1, append)?;
    check_table_append(append, 0, 0)
}

/// Changes of lists in the order in which they are made: games, their seats, their ends, awards.
pub(crate) fn in_index_order(index: &[IndexChange]) -> impl Iterator<Item = &IndexChange> {
    let place = |change: &IndexChange| match change {
        IndexChange::UpsertGame(_) => 0,
        IndexChange::UpsertSeat { .. } | IndexChange::DeleteSeat { .. } => 1,
        IndexChange::ArchiveGame { .. } => 2,
        IndexChange::Award { .. } => 3,
    };
    (0..4).flat_map(move |now| index.iter().filter(move |change| place(change) == now))
}

/// Whether an append lists a game of its table: a table that was opened without one has none.
pub(crate) fn lists_a_game(append: &TableAppend) -> bool {
    append.index_changes.iter().any(|change| matches!(change, IndexChange::UpsertGame(_)))
}

/// A text that players wrote, as it is kept: without the zeros that PostgreSQL's texts cannot hold.
pub(crate) fn stored_text(text: &str) -> String {
    text.replace('\0', " ")
}

/// The response that is remembered for an idempotency key.
pub(crate) struct RememberedKey {
    pub(crate) fingerprint: [u8; 32],
    pub(crate) response: Vec<u8>,
    pub(crate) created_at: UnixMs,
}

impl RememberedKey {
    pub(crate) fn new(idempotency: &Idempotency, now: UnixMs) -> Self {
        Self { fingerprint: idempotency.fingerprint, response: idempotency.response.clone(), created_at: now }
    }

    /// What a request with this key gets, unless the key is forgotten by now.
    pub(crate) fn outcome(&self, idempotency: &Idempotency, now: UnixMs) -> Option<Outcome> {
        if self.created_at.plus(IDEMPOTENCY_RETENTION) <= now {
            return None;
        }
        let is_same = self.fingerprint == idempotency.fingerprint;
        Some(if is_same { Outcome::Replayed(self.response.clone()) } else { Outcome::KeyReused })
    }
}

/// Whether an id stands twice in a creation.
pub(crate) fn has_repeated_id(matches: &[MatchSpec]) -> bool {
    let mut seen = BTreeSet::new();
    !matches.iter().all(|spec| seen.insert(spec.id))
}

/// Whether a command may overtake what waits before it. A renewal may: the one thing that its neighbours could see of it is that a
/// lease which holds holds longer.
pub(crate) fn has_priority(command: &Command) -> bool {
    matches!(command, Command::RenewLease { .. })
}

/// How much of a group commit a command takes up.
pub(crate) fn commit_weight(command: &Command) -> usize {
    match command {
        Command::CreateMatches(create) => create.matches.len().max(1),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::commands::TableSnapshot;
    use engine::ids::TableId;
    use engine::rows::TableLogRow;

    #[track_caller]
    fn check_claims(claims: &[(u32, u32)], want: u32) {
        let (charged, _) = claims.iter().fold((0, 0), |(charged, _), &(claimed_version, version)| {
            (attempts_after_claim(charged, claimed_version, version), version)
        });
        assert_eq!(charged, want, "{claims:?}");
    }

    #[test]
    fn only_claims_without_progress_add_up() {
        check_claims(&[(0, 0)], 1);
        check_claims(&[(0, 0), (0, 0), (0, 0)], 3);
        check_claims(&[(0, 0), (0, 0), (0, 5)], 1);
        check_claims(&[(0, 0), (0, 5), (5, 5)], 2);
    }

    #[track_caller]
    fn check_table(expected_version: u32, rows: &[u32], base: Option<u32>, is_refused: bool) {
        let rows = rows.iter().map(|version| TableLogRow { version: *version, bytes: Vec::new() }).collect();
        let base = base.map(|version| TableSnapshot { version, bytes: Vec::new() });
        let (id, index) = (TableId(1), Vec::new());
        let append =
            TableAppend { id, epoch: 1, expected_version, rows, index_changes: index, snapshot: base, is_live: true };
        let want = if is_refused { Err(Outcome::VersionConflict(5)) } else { Ok(()) };
        assert_eq!(check_table_append(&append, 3, 5), want, "{append:?}");
    }

    /// Of a log of five entries, three under its base.
    #[test]
    fn a_base_stays_between_the_one_before_and_the_end() {
        check_table(5, &[5, 6], None, false);
        check_table(5, &[], None, false);
        check_table(4, &[4], None, true);
        check_table(5, &[6], None, true);
        check_table(5, &[5, 7], None, true);
        check_table(5, &[5], Some(2), true);
        check_table(5, &[5], Some(3), false);
        check_table(5, &[5], Some(6), false);
        check_table(5, &[5], Some(7), true);
        check_table(5, &[], Some(5), false);
    }

    #[test]
    fn a_refund_never_goes_below_zero() {
        assert_eq!(attempts_after_release(1, true), 0);
        assert_eq!(attempts_after_release(0, true), 0);
        assert_eq!(attempts_after_release(2, false), 2);
    }

    #[test]
    fn reasons_are_cut_between_characters() {
        assert_eq!(stored_reason("short\0er"), "short er");
        let long = "é".repeat(FAILURE_BYTES_MAX);
        assert_eq!(stored_reason(&long).len(), FAILURE_BYTES_MAX);
        assert_eq!(stored_reason(&format!("a{long}")).len(), FAILURE_BYTES_MAX - 1);
    }
}
