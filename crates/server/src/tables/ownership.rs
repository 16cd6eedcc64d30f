//! The life of a process's tables: one lease, under which its keepers own what they own. When the lease is lost everything is
//! dropped and a new life begins; when the process leaves, nothing new is begun, what is under way is finished, and the lease is
//! given up, so that other nodes may take everything over at once.
//!
//! Tables that nobody owns and that have something to do by themselves are looked for again and again: so timers go on, whoever
//! died.

use super::environment::TableEnvironment;
use super::message::OwnerMessage;
use super::owner_task::{OwnerTask, OwnerTaskEnd};
use super::{OwnerMailbox, Tables, TablesState};
use crate::app::Drain;
use crate::lease::{self, Lease};
use engine::commands::{Command, Outcome};
use engine::ids::WorkerId;
use engine::limits::{CLAIM_INTERVAL_MIN, TABLE_CLAIM_MAX, TABLE_DRAIN_LINGER};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use store::StoreError;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

/// A keeper whose mailbox stays full for so long does not read it any more. Shorter than a drain may take.
const OWNER_STUCK_AFTER: Duration = Duration::from_secs(2);

/// Runs one life after another until the drain.
pub async fn run<O: TableEnvironment>(outside: O, tables: Tables, drain: Drain) {
    let seat = &tables.shared.lease_slot;
    while !drain.has_begun() {
        let worker = WorkerId::new(outside.now(), outside.random_bytes());
        let (keeper, lease) = lease::LeaseRenewer::new(outside.clone(), worker, seat.clone());
        tokio::select! {
            biased;
            () = drain.begun() => break,
            holds = keeper.acquire() => if !holds { continue },
        }
        tracing::info!(worker.id = %worker, "a life of tables begins");
        let mut life = TableOwnership::start(&outside, &tables.shared, worker, &lease);
        let end = tokio::select! {
            biased;
            () = keeper.renew_until_lost() => OwnershipEnd::LeaseLost,
            end = life.run(&drain) => end,
        };
        life.stop(end).await;
    }
    seat.vacate(&outside).await;
    tables.shared.is_draining.store(true, Ordering::Release);
}

/// Why a life ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OwnershipEnd {
    Drained,
    LeaseLost,
    /// A keeper ended by a defect of ours.
    Broken,
}

struct TableOwnership<O: TableEnvironment> {
    environment: O,
    shared: Arc<TablesState>,
    worker: WorkerId,
    owner_tasks: JoinSet<OwnerTaskEnd>,
    /// The number of the next claim; one whose answer was lost is repeated under its number.
    claim_number: u64,
    /// Tables that were taken over and of which nothing was said yet.
    taken_over: usize,
}

impl<O: TableEnvironment> TableOwnership<O> {
    fn start(outside: &O, shared: &Arc<TablesState>, worker: WorkerId, lease: &Lease) -> Self {
        let mut keepers = JoinSet::new();
        for desk in &shared.mailboxes {
            let (inbox, hall) = (desk.inbox.clone(), desk.presence.clone());
            let keeper = OwnerTask::new(outside.clone(), worker, lease.clone(), shared.clone(), hall);
            keepers.spawn(async move { keeper.run(inbox.lock_owned().await).await });
        }
        shared.is_serving.store(true, Ordering::Release);
        Self {
            environment: outside.clone(),
            shared: shared.clone(),
            worker,
            owner_tasks: keepers,
            claim_number: 1,
            taken_over: 0,
        }
    }

    /// Looks for tables that nobody owns until the drain, or until something ends the life.
    async fn run(&mut self, drain: &Drain) -> OwnershipEnd {
        let mut look_at = Instant::now();
        loop {
            tokio::select! {
                biased;
                () = drain.begun() => return self.drain().await,
                Some(ended) = self.owner_tasks.join_next() => return end_of_task(&ended),
                () = sleep_until(look_at) => match self.claim().await {
                    Ok(true) => look_at = Instant::now() + CLAIM_INTERVAL_MIN,
                    Ok(false) => look_at = Instant::now() + self.shared.config.claim_period,
                    Err(last) => return last,
                },
            }
        }
    }

    /// One claim of tables that nobody owns. Whether there may be more to claim at once.
    async fn claim(&mut self) -> Result<bool, OwnershipEnd> {
        let loaded = self.shared.loaded.load(Ordering::Relaxed);
        let max = self.shared.config.tables_max.saturating_sub(loaded).min(TABLE_CLAIM_MAX);
        if max == 0 {
            return Ok(false);
        }
        let asked_at = Instant::now();
        let claim =
            Command::ClaimTables { worker: self.worker, number: self.claim_number, now: self.environment.now(), max };
        match self.environment.commit(claim).await {
            Ok(Outcome::TablesClaimed(claimed)) => {
                self.claim_number += 1;
                let is_more = claimed.len() == max;
                self.shared.metrics.tables_taken_over(claimed.len());
                self.taken_over += claimed.len();
                if !is_more && self.taken_over > 0 {
                    let tables = std::mem::take(&mut self.taken_over);
                    tracing::info!(worker.id = %self.worker, tables, "took over tables that nobody owned any more");
                }
                for claimed in claimed {
                    let table = claimed.id;
                    let adopt = OwnerMessage::Adopt { claimed: Box::new(claimed), asked_at };
                    if !self.send(self.shared.mailbox_of(table), adopt).await {
                        return Err(OwnershipEnd::Broken);
                    }
                }
                Ok(is_more)
            }
            Ok(Outcome::LeaseLost) => Err(OwnershipEnd::LeaseLost),
            Ok(other) => {
                tracing::error!(outcome = ?other, "the store answered a claim of tables with something else");
                Ok(false)
            }
            // The door has logged it. The claim may have been saved all the same: it is repeated after the usual period.
            Err(StoreError::Unavailable { .. } | StoreError::Overloaded { .. }) => Ok(false),
            Err(why @ (StoreError::WrongSchema { .. } | StoreError::Corrupt { .. })) => {
                tracing::error!(error = %why, "no tables can be claimed");
                Ok(false)
            }
        }
    }

    /// Puts a message into a keeper's mailbox. A keeper that takes nothing for so long is stuck, or gone with its mailbox full: whether
    /// this one is not.
    async fn send(&self, desk: &OwnerMailbox, message: OwnerMessage) -> bool {
        let is_told = desk.sender.send_timeout(message, OWNER_STUCK_AFTER).await.is_ok();
        if is_told {
            self.shared.metrics.table_message_enqueued();
        }
        is_told
    }

    /// The drain. Nothing that lasts is begun any more; who waits is answered by the gateway, spread over a moment in which
    /// everybody is served as before. Then what is under way is finished.
    async fn drain(&mut self) -> OwnershipEnd {
        self.shared.is_draining.store(true, Ordering::Release);
        if self.shared.wait_permits.in_use() > 0 {
            sleep(TABLE_DRAIN_LINGER).await;
        }
        for desk in &self.shared.mailboxes {
            if !self.send(desk, OwnerMessage::Drain).await {
                return OwnershipEnd::Broken;
            }
        }
        while let Some(ended) = self.owner_tasks.join_next().await {
            if !matches!(ended, Ok(OwnerTaskEnd::Drained)) {
                return end_of_task(&ended);
            }
        }
        OwnershipEnd::Drained
    }

    /// Everybody who waits for anything is told to come again.
    async fn stop(mut self, last: OwnershipEnd) {
        self.shared.is_serving.store(false, Ordering::Release);
        self.owner_tasks.shutdown().await;
        for desk in &self.shared.mailboxes {
            let mut inbox = desk.inbox.lock().await;
            while inbox.try_recv().is_ok() {
                self.shared.metrics.table_messages_dequeued(1);
            }
        }
        match last {
            // All tables are free with it, at once.
            OwnershipEnd::Drained | OwnershipEnd::Broken => {
                self.shared.lease_slot.release(&self.environment, self.worker).await
            }
            // Others may own everything already, so nothing is written. The next life frees what they do not.
            OwnershipEnd::LeaseLost => self.shared.metrics.lease_lost(0),
        }
        tracing::info!(worker.id = %self.worker, why = ?last, "a life of tables ends");
    }
}

/// However a life ends, nobody asks keepers that are gone.
impl<O: TableEnvironment> Drop for TableOwnership<O> {
    fn drop(&mut self) {
        self.shared.is_serving.store(false, Ordering::Release);
    }
}

fn end_of_task(ended: &Result<OwnerTaskEnd, tokio::task::JoinError>) -> OwnershipEnd {
    match ended {
        Ok(OwnerTaskEnd::LeaseLost) => OwnershipEnd::LeaseLost,
        Ok(OwnerTaskEnd::Drained) => OwnershipEnd::Drained,
        Err(error) => {
            tracing::error!(%error, "a keeper of tables ended, by a defect of this program; a new life begins");
            OwnershipEnd::Broken
        }
    }
}
