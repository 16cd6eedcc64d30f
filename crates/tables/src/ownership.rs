//! The ownership of a process's tables: one lease, under which its owner tasks own their tables. When the lease is lost everything is
//! dropped and acquired again under a new one. On a drain nothing new is accepted, what is in flight is finished, and the lease is
//! released, so that other nodes may take over at once.
//!
//! Tables without an owner that have timers are claimed at intervals: so their games go on after a process has died.

use super::environment::TableEnvironment;
use super::message::OwnerMessage;
use super::owner_task::{OwnerTask, OwnerTaskEnd};
use super::{OwnerMailbox, Tables, TablesState};
use engine::commands::{Command, Outcome};
use engine::ids::WorkerId;
use engine::limits::{CLAIM_INTERVAL_MIN, TABLE_CLAIM_MAX, TABLE_DRAIN_LINGER};
use node::drain::Drain;
use node::lease::{self, Lease};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use store::StoreError;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

/// An owner task whose mailbox stays full for this long does not read it any more. Shorter than a drain may take.
const OWNER_STUCK_AFTER: Duration = Duration::from_secs(2);

/// Acquires lease after lease until the drain.
pub async fn run<O: TableEnvironment>(environment: O, tables: Tables, drain: Drain) {
    let slot = &tables.shared.lease_slot;
    while !drain.has_begun() {
        let worker = WorkerId::new(environment.now(), environment.random_bytes());
        let (renewer, lease) = lease::LeaseRenewer::new(environment.clone(), worker, slot.clone());
        tokio::select! {
            biased;
            () = drain.begun() => break,
            holds = renewer.acquire() => if !holds { continue },
        }
        tracing::info!(worker.id = %worker, "tables are served under a new lease");
        let mut ownership = TableOwnership::start(&environment, &tables.shared, worker, &lease);
        let end = tokio::select! {
            biased;
            () = renewer.renew_until_lost() => OwnershipEnd::LeaseLost,
            end = ownership.run(&drain) => end,
        };
        ownership.stop(end).await;
    }
    slot.vacate(&environment).await;
    tables.shared.is_draining.store(true, Ordering::Release);
}

/// Why the ownership under one lease ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OwnershipEnd {
    Drained,
    LeaseLost,
    /// An owner task ended because of a defect.
    Broken,
}

struct TableOwnership<O: TableEnvironment> {
    environment: O,
    shared: Arc<TablesState>,
    worker: WorkerId,
    owner_tasks: JoinSet<OwnerTaskEnd>,
    /// The number of the next claim; one whose response was lost is repeated under its number.
    claim_number: u64,
    /// Tables that were taken over and not logged yet.
    taken_over: usize,
}

impl<O: TableEnvironment> TableOwnership<O> {
    fn start(environment: &O, shared: &Arc<TablesState>, worker: WorkerId, lease: &Lease) -> Self {
        let mut owner_tasks = JoinSet::new();
        for mailbox in &shared.mailboxes {
            let (inbox, presence) = (mailbox.inbox.clone(), mailbox.presence.clone());
            let owner_task = OwnerTask::new(environment.clone(), worker, lease.clone(), shared.clone(), presence);
            owner_tasks.spawn(async move { owner_task.run(inbox.lock_owned().await).await });
        }
        shared.is_serving.store(true, Ordering::Release);
        Self {
            environment: environment.clone(),
            shared: shared.clone(),
            worker,
            owner_tasks,
            claim_number: 1,
            taken_over: 0,
        }
    }

    /// Claims tables without an owner until the drain, or until something ends the ownership.
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

    /// Claims tables without an owner once. Returns whether there may be more to claim at once.
    async fn claim(&mut self) -> Result<bool, OwnershipEnd> {
        let loaded = self.shared.loaded.load(Ordering::Relaxed);
        let max = self.shared.config.tables_max.saturating_sub(loaded).min(TABLE_CLAIM_MAX);
        if max == 0 {
            return Ok(false);
        }
        let claim_began_at = Instant::now();
        let claim =
            Command::ClaimTables { worker: self.worker, number: self.claim_number, now: self.environment.now(), max };
        match self.environment.commit(claim).await {
            Ok(Outcome::TablesClaimed(claimed)) => {
                self.claim_number += 1;
                let is_more = claimed.len() == max;
                self.shared.metrics.tables.taken_over.add(claimed.len() as u64);
                self.taken_over += claimed.len();
                if !is_more && self.taken_over > 0 {
                    let tables = std::mem::take(&mut self.taken_over);
                    tracing::info!(worker.id = %self.worker, tables, "took over tables without an owner");
                }
                for claimed in claimed {
                    let table = claimed.id;
                    let adopt = OwnerMessage::Adopt { claimed: Box::new(claimed), claim_began_at };
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
            // The store handle has logged it. The claim may have been saved: it is repeated after the usual period.
            Err(StoreError::Unavailable { .. } | StoreError::Overloaded { .. }) => Ok(false),
            Err(error @ (StoreError::WrongSchema { .. } | StoreError::Corrupt { .. } | StoreError::Damaged(_))) => {
                tracing::error!(error = %error, "no tables can be claimed");
                Ok(false)
            }
        }
    }

    /// Sends a message to an owner task. Returns false if its mailbox stays full: the task is stuck, or gone.
    async fn send(&self, mailbox: &OwnerMailbox, message: OwnerMessage) -> bool {
        let is_sent = mailbox.sender.send_timeout(message, OWNER_STUCK_AFTER).await.is_ok();
        if is_sent {
            self.shared.metrics.tables.messages.inc();
        }
        is_sent
    }

    /// The drain. Nothing is accepted any more; the gateway answers waiting clients, spread over a moment in which requests are served as
    /// before. Then what is in flight is finished.
    async fn drain(&mut self) -> OwnershipEnd {
        self.shared.is_draining.store(true, Ordering::Release);
        if self.shared.wait_permits.in_use() > 0 {
            sleep(TABLE_DRAIN_LINGER).await;
        }
        for mailbox in &self.shared.mailboxes {
            if !self.send(mailbox, OwnerMessage::Drain).await {
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

    /// Ends the owner tasks: all waiting clients must try again.
    async fn stop(mut self, last: OwnershipEnd) {
        self.shared.is_serving.store(false, Ordering::Release);
        self.owner_tasks.shutdown().await;
        for mailbox in &self.shared.mailboxes {
            let mut inbox = mailbox.inbox.lock().await;
            while inbox.try_recv().is_ok() {
                self.shared.metrics.tables.messages.dec();
            }
        }
        match last {
            // All tables are free at once.
            OwnershipEnd::Drained | OwnershipEnd::Broken => {
                self.shared.lease_slot.release(&self.environment, self.worker).await;
            }
            // Others may own everything already, so nothing is written. The next lease releases what they do not own.
            OwnershipEnd::LeaseLost => self.shared.metrics.process.leases_lost.inc(),
        }
        tracing::info!(worker.id = %self.worker, reason = ?last, "tables are no longer served under this lease");
    }
}

/// However the ownership ends, no requests are sent to owner tasks that are gone.
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
            tracing::error!(%error, "an owner task of tables ended, by a defect of this program; tables are acquired under a new lease");
            OwnershipEnd::Broken
        }
    }
}
