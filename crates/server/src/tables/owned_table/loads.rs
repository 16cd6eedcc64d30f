//! How a table comes into memory, and is read again when nobody knows how it stands.

use super::{Operation, OwnedTable, RETRY_PAUSE_MAX, RETRY_PAUSE_MIN, TableResult, catch_panic};
use crate::tables::TableError;
use crate::tables::environment::TableEnvironment;
use crate::tables::load::{ClaimError, ClaimOutcome};
use crate::tables::owner_task::OwnerContext;
use engine::commands::ClaimedTable;
use engine::limits::LEASE_DURATION;
use engine::tables::Table;

impl OwnedTable {
    /// Claims the table and reads it as it is in the store; until then nothing is said about it.
    pub(in crate::tables) fn load<O: TableEnvironment>(&mut self, ways: &mut OwnerContext<O>, asks_first: bool) {
        self.table = None;
        self.disarm(ways);
        if ways.is_draining {
            return self.refuse_all(&TableError::Draining);
        }
        ways.shared.metrics.table_loading();
        ways.claim(self.id, asks_first);
        self.operation = Some(Box::new(Operation::Loading));
    }

    /// A claim of ours is over.
    pub(in crate::tables) fn claimed<O: TableEnvironment>(
        &mut self,
        ways: &mut OwnerContext<O>,
        claimed: Result<ClaimOutcome, ClaimError>,
    ) -> TableResult {
        self.operation = None;
        match claimed {
            Ok(ClaimOutcome::Ours(claimed)) => self.adopt(ways, &claimed),
            // Our own address: an earlier life of this process, whose lease has not ended yet.
            Ok(ClaimOutcome::Elsewhere(address)) if address == ways.environment.address() => {
                Err(TableError::HeldByPreviousProcess { lease: LEASE_DURATION })
            }
            Ok(ClaimOutcome::Elsewhere(address)) => Err(TableError::Elsewhere { address }),
            Ok(ClaimOutcome::Missing) => Err(TableError::NoSuchTable),
            Ok(ClaimOutcome::LeaseLost) => {
                ways.is_lease_lost = true;
                Err(TableError::NotServing)
            }
            Err(ClaimError { why, may_be_ours: false }) if self.waiters.is_none() => Err(TableError::Store(why)),
            Err(ClaimError { why, .. }) => {
                self.refuse_all(&TableError::Store(why));
                ways.schedule_retry(self.id, self.retry_pause);
                self.retry_pause = (self.retry_pause * 2).min(RETRY_PAUSE_MAX);
                self.operation = Some(Box::new(Operation::WaitingToRetry));
                Ok(())
            }
        }
    }

    /// The pause after a claim that was not answered is over.
    pub(in crate::tables) fn retry_due<O: TableEnvironment>(&mut self, ways: &mut OwnerContext<O>) -> TableResult {
        self.operation = None;
        self.load(ways, false);
        Ok(())
    }

    /// Takes the table as the store gave it.
    pub(in crate::tables) fn adopt<O: TableEnvironment>(
        &mut self,
        ways: &mut OwnerContext<O>,
        claimed: &ClaimedTable,
    ) -> TableResult {
        let restored = catch_panic(self.id, || Table::restore(&claimed.snapshot, &claimed.rows))?;
        let table = restored.map_err(|corrupt| {
            tracing::error!(table.id = %self.id, %corrupt, "a table cannot be read");
            TableError::Broken
        })?;
        self.epoch = claimed.epoch;
        self.permit = Some(ways.shared.table_permits.acquire_unchecked(table.opener()));
        self.unknown_opening = None;
        self.table = Some(Box::new(table));
        self.retry_pause = RETRY_PAUSE_MIN;
        self.last_request_at = ways.environment.steady_now();
        self.presence_assumed_until = Some(self.last_request_at.plus(ways.shared.config.presence_grace));
        self.notify_waiters(ways, None)?;
        self.resume_queue(ways)
    }

    /// The life has claimed the table, too. What is under way settles who has the higher epoch.
    pub(in crate::tables) fn claimed_concurrently<O: TableEnvironment>(
        &mut self,
        ways: &mut OwnerContext<O>,
        epoch: u32,
    ) {
        if self.operation.is_none() && epoch > self.epoch {
            self.load(ways, false);
        }
    }
}
