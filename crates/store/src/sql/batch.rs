//! A transaction that executes commands.

use super::competitions::PendingResult;
use super::game_index::Awards;
use super::{Dialect, RowStatement, values};
use crate::columns::Columns;
use crate::contract::StoreError;
use crate::counters::CounterChanges;
use engine::commands::{Command, Outcome};

static LOCK_COUNTERS: RowStatement = RowStatement::new(
    "name text",
    "SELECT 1 FROM {new}, counters c WHERE c.name = new.name ORDER BY c.name FOR NO KEY UPDATE OF c",
);
/// A counter changes by a number, and is brought up to another.
static CHANGE_COUNTERS: RowStatement = RowStatement::new(
    "name text, change bigint, at_least bigint",
    "UPDATE counters SET value = CASE WHEN new.at_least > value THEN new.at_least ELSE value + new.change END
     FROM {new} WHERE counters.name = new.name",
);

/// One transaction on its way.
pub(crate) struct Batch<'s, S> {
    pub(crate) session: &'s mut S,
    pub(crate) counters: CounterChanges,
    /// The highest tag that was claimed in this batch.
    pub(crate) virtual_time_reached: Option<u64>,
    /// What players were awarded in this batch.
    pub(super) awards: Awards,
    /// Results of matches that ended in this batch.
    pub(super) results: Vec<PendingResult>,
    /// Whether the command before did what it was for: then its entry in the audit log is added.
    pub(super) is_last_done: bool,
}

impl<'s, S: Dialect> Batch<'s, S> {
    pub(crate) fn new(session: &'s mut S) -> Self {
        Self {
            session,
            counters: CounterChanges::default(),
            virtual_time_reached: None,
            awards: Awards::default(),
            results: Vec::new(),
            is_last_done: false,
        }
    }

    /// A counter without this batch's changes.
    pub(crate) fn counter(&mut self, name: &str) -> Result<i64, StoreError> {
        let value = self.session.first("SELECT value FROM counters WHERE name = ?1", values![name], |row| row.int())?;
        Ok(value.unwrap_or_default())
    }

    pub(crate) fn virtual_time(&mut self) -> Result<u64, StoreError> {
        let reached = self.virtual_time_reached.unwrap_or_default();
        Ok(reached.max(self.counter("virtual_time")? as u64))
    }

    /// Last of all, so that nodes which share a database hold the rows that all of them write only for the moment of the commit.
    pub(crate) fn write_counters(&mut self) -> Result<(), StoreError> {
        let reached = self.virtual_time_reached.map(|reached| ("virtual_time", 0, reached as i64));
        let changes = || self.counters.changes().map(|(name, change)| (name, change, i64::MIN)).chain(reached);
        if S::HAS_ROW_LOCKS {
            self.session.all_rows(&LOCK_COUNTERS, changes().map(|(name, ..)| *values![name]), |_| Ok(()))?;
        }
        let changes = changes().map(|(name, change, at_least)| *values![name, change, at_least]);
        self.session.run_rows(&CHANGE_COUNTERS, changes)?;
        for (minute, counts) in &self.counters.minutes {
            self.session.run(
                "INSERT INTO minutes AS m (minute, created, finished, timed, duration_ms) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (minute) DO UPDATE SET
                   created = m.created + excluded.created, finished = m.finished + excluded.finished,
                   timed = m.timed + excluded.timed, duration_ms = m.duration_ms + excluded.duration_ms",
                values![
                    *minute,
                    counts.created as i64,
                    counts.finished as i64,
                    counts.with_duration as i64,
                    counts.duration_ms as i64,
                ],
            )?;
        }
        Ok(())
    }

    /// Executes a command that both stores execute alike.
    pub(crate) fn apply_common(&mut self, command: &Command) -> Result<Outcome, StoreError> {
        let outcome = self.dispatch(command)?;
        self.is_last_done = matches!(
            outcome,
            Outcome::Done | Outcome::Account(_) | Outcome::AccountDeleted(_) | Outcome::LadderEntry(_)
        );
        Ok(outcome)
    }

    fn dispatch(&mut self, command: &Command) -> Result<Outcome, StoreError> {
        match command {
            Command::EnsureAccount(account) => self.ensure_account(account),
            Command::CreateToken(token) => self.create_token(token),
            Command::DeleteToken { id, account, now } => self.delete_token(*id, *account, *now),
            Command::RecordTokenUses(uses) => self.record_token_uses(uses),
            Command::CreateBot(bot) => self.create_bot(bot),
            Command::UpdateBot(bot) => self.update_bot(bot),
            Command::DeleteBot { id, account } => self.delete_bot(*id, *account),
            Command::CreateMatches(create) => self.create_all(&[create]).map(single_outcome),
            Command::ClaimMatches { worker, number, now, max, slots, attempts_max } => {
                self.claim(*worker, *number, *now, *max, slots.clone(), *attempts_max)
            }
            Command::CancelMatch { id, account, now } => self.cancel(*id, *account, *now),
            Command::RequeueMatch { id, now } => self.requeue(*id, *now),
            Command::RenewLease { worker, address, now, until } => self.renew_lease(*worker, address, *now, *until),
            Command::EndLease { worker } => self.end_lease(*worker),
            Command::FinishMatch { append, result, archive, now } => self.finish(append, result, archive, *now),
            Command::FailMatch { id, epoch, reason, now } => self.fail(*id, *epoch, reason, *now),
            Command::ReleaseMatch { id, epoch, is_refunded } => self.release(*id, *epoch, *is_refunded),
            Command::RetireMatches { now, keep_for, keep_archive_bytes, keep_answers_for, max } => {
                self.retire_small_things(*now, *keep_answers_for)?;
                self.retire(*now, *keep_for, *keep_archive_bytes, *max)
            }
            Command::PutLimitPolicy(policy) => self.put_limit_policy(policy),
            Command::DeleteLimitPolicy { name } => self.delete_limit_policy(name),
            Command::PutLimitOverride(quota) => self.put_limit_override(quota),
            Command::DeleteLimitOverride { policy, key } => self.delete_limit_override(policy, key),
            Command::ClaimTable { id, worker, now } => self.claim_table(*id, *worker, *now),
            Command::ClaimTables { worker, number, now, max } => self.claim_tables(*worker, *number, *now, *max),
            Command::RetireGames { now, keep_for, keep_answers_for, max } => {
                self.retire_keys("story_answers", "player", now.minus(*keep_answers_for))?;
                self.retire_games(*now, *keep_for, *max)
            }
            Command::RetireGuests { records, after, made_before, max } => {
                self.retire_guests(*records, *after, *made_before, *max)
            }
            Command::EnsureSecret { name, bytes } => self.ensure_secret(name, bytes),
            Command::AcquireLeadership { job, worker, now } => self.acquire_leadership(*job, *worker, *now),
            Command::Competition(command) => self.competition(command),
            Command::Ladder(command) => self.ladder(command),
            Command::World(command) => self.world(command),
            Command::Bot(command) => self.bot_command(command),
            Command::Code(command) => self.code_command(command),
            Command::Account(command) => self.account_command(command),
            Command::Ban(command) => self.ban_command(command),
            Command::Audit(command) => self.audit_command(command),
            Command::EndAllLeases
            | Command::AppendMatch(_)
            | Command::OpenTable(_)
            | Command::AppendTable(_)
            | Command::ReleaseTable { .. } => unreachable!("each store executes these in its own way"),
        }
    }
}

fn single_outcome(outcomes: Vec<Outcome>) -> Outcome {
    outcomes.into_iter().next().unwrap_or(Outcome::Done)
}
