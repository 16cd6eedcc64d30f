//! Loading a table, and loading it again when its saved state is unknown.

use super::{Operation, OwnedTable, RETRY_PAUSE_MAX, RETRY_PAUSE_MIN, TableResult, catch_panic};
use crate::TableError;
use crate::environment::TableEnvironment;
use crate::owner_context::{ClaimError, OwnerContext};
use engine::commands::{ClaimedTable, Outcome};
use engine::limits::LEASE_DURATION;
use engine::tables::Table;
use store::StoreError;

impl OwnedTable {
    /// Claims the table and loads it from the store; until then it answers no request.
    pub(crate) fn load<O: TableEnvironment>(&mut self, context: &mut OwnerContext<O>, reads_owner_first: bool) {
        self.table = None;
        self.disarm(context);
        if context.is_draining {
            return self.refuse_all(&TableError::Draining);
        }
        context.shared.metrics.tables.loads.inc();
        context.claim(self.id, reads_owner_first);
        self.operation = Some(Box::new(Operation::Loading));
    }

    /// A claim has ended.
    pub(crate) fn claimed<O: TableEnvironment>(
        &mut self,
        context: &mut OwnerContext<O>,
        claimed: Result<Outcome, ClaimError>,
    ) -> TableResult {
        self.operation = None;
        match claimed {
            Ok(Outcome::TableClaimed(claimed)) => self.adopt(context, &claimed),
            // Our own address: an earlier process, whose lease has not expired yet.
            Ok(Outcome::TableElsewhere { address }) if address == context.environment.address() => {
                Err(TableError::HeldByPreviousProcess { lease: LEASE_DURATION })
            }
            Ok(Outcome::TableElsewhere { address }) => Err(TableError::Elsewhere { address }),
            Ok(Outcome::NotFound) => Err(TableError::NoSuchTable),
            Ok(Outcome::LeaseLost) => {
                context.is_lease_lost = true;
                Err(TableError::NotServing)
            }
            Ok(other) => {
                tracing::error!(table.id = %self.id, outcome = ?other, "the store answered a claim of a table with something else");
                let why = "an unexpected outcome of a claim".to_owned();
                self.claim_again(context, StoreError::Unavailable { why })
            }
            // It would be as damaged the next time.
            Err(ClaimError { error: error @ StoreError::Damaged(_), .. }) => Err(TableError::Store(error)),
            Err(ClaimError { error, may_be_ours: false }) if self.waiters.is_none() => Err(TableError::Store(error)),
            Err(ClaimError { error, .. }) => self.claim_again(context, error),
        }
    }

    /// The claim may have been saved: refuses what waits, and claims again after a pause.
    fn claim_again<O: TableEnvironment>(&mut self, context: &mut OwnerContext<O>, error: StoreError) -> TableResult {
        self.refuse_all(&TableError::Store(error));
        context.schedule_retry(self.id, self.retry_pause);
        self.retry_pause = (self.retry_pause * 2).min(RETRY_PAUSE_MAX);
        self.operation = Some(Box::new(Operation::WaitingToRetry));
        Ok(())
    }

    /// The pause after a claim without an answer is over.
    pub(crate) fn retry_due<O: TableEnvironment>(&mut self, context: &mut OwnerContext<O>) -> TableResult {
        self.operation = None;
        self.load(context, false);
        Ok(())
    }

    /// Takes the table as the store returned it.
    pub(crate) fn adopt<O: TableEnvironment>(
        &mut self,
        context: &mut OwnerContext<O>,
        claimed: &ClaimedTable,
    ) -> TableResult {
        let restored = catch_panic(self.id, || Table::restore(&claimed.snapshot, &claimed.rows))?;
        let table = restored.map_err(|corrupt| {
            tracing::error!(table.id = %self.id, %corrupt, "a table cannot be read");
            TableError::Broken
        })?;
        self.epoch = claimed.epoch;
        // One without a live game counts against no account: a viewer of it would use up its opener's quota.
        let is_live = table.live_game().is_some();
        self.permit = is_live.then(|| context.shared.table_permits.acquire_unchecked(table.opener()));
        self.unknown_opening = None;
        self.table = Some(Box::new(table));
        self.retry_pause = RETRY_PAUSE_MIN;
        self.last_request_at = context.environment.steady_now();
        self.presence_assumed_until = Some(self.last_request_at.plus(context.shared.config.presence_grace));
        self.notify_waiters(context, None)?;
        self.resume_queue(context)
    }

    /// The ownership has claimed the table, too. The operation in flight tells which claim has the higher epoch.
    pub(crate) fn claimed_concurrently<O: TableEnvironment>(&mut self, context: &mut OwnerContext<O>, epoch: u32) {
        if self.operation.is_none() && epoch > self.epoch {
            self.load(context, false);
        }
    }
}
