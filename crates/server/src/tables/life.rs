//! The life of a process's tables: one lease, under which its keepers own what they own. When the lease is lost everything is
//! dropped and a new life begins; when the process leaves, nothing new is begun, what is under way is finished, and the lease is
//! given up, so that other nodes may take everything over at once.
//!
//! Tables that nobody owns and that have something to do by themselves are looked for again and again: so timers go on, whoever
//! died.

use super::keeper::{End, Keeper};
use super::message::Message;
use super::outside::Outside;
use super::{Desk, Shared, Tables};
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
const KEEPER_STUCK_AFTER: Duration = Duration::from_secs(2);

/// Runs one life after another until the drain.
pub async fn run<O: Outside>(outside: O, tables: Tables, drain: Drain) {
    let seat = &tables.shared.seat;
    while !drain.has_begun() {
        let worker = WorkerId::new(outside.now(), outside.random());
        let (keeper, lease) = lease::Keeper::new(outside.clone(), worker, seat.clone());
        tokio::select! {
            biased;
            () = drain.begun() => break,
            holds = keeper.acquire() => if !holds { continue },
        }
        tracing::info!(worker.id = %worker, "a life of tables begins");
        let mut life = Life::begin(&outside, &tables.shared, worker, &lease);
        let end = tokio::select! {
            biased;
            () = keeper.keep() => Last::LeaseLost,
            end = life.live(&drain) => end,
        };
        life.end(end).await;
    }
    seat.vacate(&outside).await;
    tables.shared.is_leaving.store(true, Ordering::Release);
}

/// Why a life ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Drained,
    LeaseLost,
    /// A keeper ended by a defect of ours.
    Broken,
}

struct Life<O: Outside> {
    outside: O,
    shared: Arc<Shared>,
    worker: WorkerId,
    keepers: JoinSet<End>,
    /// The number of the next claim; one whose answer was lost is repeated under its number.
    claim_number: u64,
    /// Tables that were taken over and of which nothing was said yet.
    taken_over: usize,
}

impl<O: Outside> Life<O> {
    fn begin(outside: &O, shared: &Arc<Shared>, worker: WorkerId, lease: &Lease) -> Self {
        let mut keepers = JoinSet::new();
        for desk in &shared.desks {
            let (inbox, hall) = (desk.inbox.clone(), desk.hall.clone());
            let keeper = Keeper::new(outside.clone(), worker, lease.clone(), shared.clone(), hall);
            keepers.spawn(async move { keeper.keep(inbox.lock_owned().await).await });
        }
        shared.is_serving.store(true, Ordering::Release);
        Self { outside: outside.clone(), shared: shared.clone(), worker, keepers, claim_number: 1, taken_over: 0 }
    }

    /// Looks for tables that nobody owns until the drain, or until something ends the life.
    async fn live(&mut self, drain: &Drain) -> Last {
        let mut look_at = Instant::now();
        loop {
            tokio::select! {
                biased;
                () = drain.begun() => return self.leave().await,
                Some(ended) = self.keepers.join_next() => return last_of(&ended),
                () = sleep_until(look_at) => match self.claim().await {
                    Ok(true) => look_at = Instant::now() + CLAIM_INTERVAL_MIN,
                    Ok(false) => look_at = Instant::now() + self.shared.settings.claim_period,
                    Err(last) => return last,
                },
            }
        }
    }

    /// One claim of tables that nobody owns. Whether there may be more to claim at once.
    async fn claim(&mut self) -> Result<bool, Last> {
        let loaded = self.shared.loaded.load(Ordering::Relaxed);
        let max = self.shared.settings.tables_max.saturating_sub(loaded).min(TABLE_CLAIM_MAX);
        if max == 0 {
            return Ok(false);
        }
        let asked_at = Instant::now();
        let claim =
            Command::ClaimTables { worker: self.worker, number: self.claim_number, now: self.outside.now(), max };
        match self.outside.commit(claim).await {
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
                    let adopt = Message::Adopt { claimed: Box::new(claimed), asked_at };
                    if !self.tell(self.shared.desk_of(table), adopt).await {
                        return Err(Last::Broken);
                    }
                }
                Ok(is_more)
            }
            Ok(Outcome::LeaseLost) => Err(Last::LeaseLost),
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
    async fn tell(&self, desk: &Desk, message: Message) -> bool {
        let is_told = desk.sender.send_timeout(message, KEEPER_STUCK_AFTER).await.is_ok();
        if is_told {
            self.shared.metrics.table_mail_came();
        }
        is_told
    }

    /// The drain. Nothing that lasts is begun any more; who waits is answered by the gateway, spread over a moment in which
    /// everybody is served as before. Then what is under way is finished.
    async fn leave(&mut self) -> Last {
        self.shared.is_leaving.store(true, Ordering::Release);
        if self.shared.tally.taken() > 0 {
            sleep(TABLE_DRAIN_LINGER).await;
        }
        for desk in &self.shared.desks {
            if !self.tell(desk, Message::Leave).await {
                return Last::Broken;
            }
        }
        while let Some(ended) = self.keepers.join_next().await {
            if !matches!(ended, Ok(End::Left)) {
                return last_of(&ended);
            }
        }
        Last::Drained
    }

    /// Everybody who waits for anything is told to come again.
    async fn end(mut self, last: Last) {
        self.shared.is_serving.store(false, Ordering::Release);
        self.keepers.shutdown().await;
        for desk in &self.shared.desks {
            let mut inbox = desk.inbox.lock().await;
            while inbox.try_recv().is_ok() {
                self.shared.metrics.table_mail_went(1);
            }
        }
        match last {
            // All tables are free with it, at once.
            Last::Drained | Last::Broken => self.shared.seat.give_up(&self.outside, self.worker).await,
            // Others may own everything already, so nothing is written. The next life frees what they do not.
            Last::LeaseLost => self.shared.metrics.lease_lost(0),
        }
        tracing::info!(worker.id = %self.worker, why = ?last, "a life of tables ends");
    }
}

/// However a life ends, nobody asks keepers that are gone.
impl<O: Outside> Drop for Life<O> {
    fn drop(&mut self) {
        self.shared.is_serving.store(false, Ordering::Release);
    }
}

fn last_of(ended: &Result<End, tokio::task::JoinError>) -> Last {
    match ended {
        Ok(End::LeaseLost) => Last::LeaseLost,
        Ok(End::Left) => Last::Drained,
        Err(error) => {
            tracing::error!(%error, "a keeper of tables ended, by a defect of this program; a new life begins");
            Last::Broken
        }
    }
}
