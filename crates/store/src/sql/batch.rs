//! A transaction that executes commands.

use super::{Dialect, values};
use crate::columns::Columns;
use crate::contract::StoreError;
use crate::counters::CounterChanges;
use engine::commands::{Command, Outcome};

/// One transaction on its way.
pub(crate) struct Batch<'s, S> {
    pub(crate) session: &'s mut S,
    pub(crate) counters: CounterChanges,
    /// The highest tag that was claimed in this batch.
    pub(crate) virtual_time_reached: Option<u64>,
}

impl<'s, S: Dialect> Batch<'s, S> {
    pub(crate) fn new(session: &'s mut S) -> Self {
        Self { session, counters: CounterChanges::default(), virtual_time_reached: None }
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

    /// Executes a command that both stores execute alike.
    pub(crate) fn apply_common(&mut self, command: &Command) -> Result<Outcome, StoreError> {
        match command {
            Command::EnsureAccount(account) => self.ensure_account(account),
            Command::CreateToken(token) => self.create_token(token),
            Command::DeleteToken { id, account } => self.delete_token(*id, *account),
            Command::CreateBot(bot) => self.create_bot(bot),
            Command::UpdateBot(bot) => self.update_bot(bot),
            Command::DeleteBot { id, account } => self.delete_bot(*id, *account),
            Command::CancelMatch { id, account, now } => self.cancel(*id, *account, *now),
            Command::RequeueMatch { id, now } => self.requeue(*id, *now),
            Command::RenewLease { worker, address, now, until } => self.renew_lease(*worker, address, *now, *until),
            Command::EndLease { worker } => self.end_lease(*worker),
            Command::FinishMatch { append, result, archive, now } => self.finish(append, result, archive, *now),
            Command::FailMatch { id, epoch, reason, now } => self.fail(*id, *epoch, reason, *now),
            Command::ReleaseMatch { id, epoch, is_refunded } => self.release(*id, *epoch, *is_refunded),
            Command::RetireMatches { now, keep_for, keep_archive_bytes, max } => {
                self.retire(*now, *keep_for, *keep_archive_bytes, *max)
            }
            Command::PutLimitPolicy(policy) => self.put_limit_policy(policy),
            Command::DeleteLimitPolicy { name } => self.delete_limit_policy(name),
            Command::PutLimitOverride(quota) => self.put_limit_override(quota),
            Command::DeleteLimitOverride { policy, key } => self.delete_limit_override(policy, key),
            Command::ClaimTable { id, worker, now } => self.claim_table(*id, *worker, *now),
            Command::ClaimTables { worker, number, now, max } => self.claim_tables(*worker, *number, *now, *max),
            Command::EnsureSecret { name, bytes } => self.ensure_secret(name, bytes),
            Command::World(command) => self.world(command),
            Command::CreateMatches(_)
            | Command::ClaimMatches { .. }
            | Command::EndAllLeases
            | Command::AppendMatch(_)
            | Command::OpenTable(_)
            | Command::AppendTable(_)
            | Command::ReleaseTable { .. }
            | Command::RetireGames { .. } => unreachable!("each store executes these in its own way"),
        }
    }
}
