//! The owner of the matchmaking queue. The tickets of all nodes are in one queue, so that they can be matched wherever they were submitted:
//! one process owns it under a lease, from the first ticket it gets until it drains or the lease is lost, and the others forward their
//! clients there. A ticket's id tells the lease under which it was accepted, so that every node knows whether it can still be found.

use super::Hunts;
use super::matchmaker::{TicketError, TicketReceiver, is_issued_under};
use engine::commands::{Command, Outcome};
use engine::ids::{PlayerId, TicketId, WorkerId};
use engine::leadership::LeaderJob;
use engine::matchmaking::Ticket;
use engine::rows::WorldRow;
use node::clock::random_bytes;
use node::lease::{self, LeaseContext, LeaseSlot};
use quotas::address_key::AddressKey;
use std::time::Duration;
use store::StoreError;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

/// How often the owner is looked up before a client with a ticket gets an error.
const ATTEMPTS_MAX: usize = 3;
/// How long one attempt waits for this process to become the owner.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(1);

/// This process's state.
#[derive(Default)]
pub struct QueueLease {
    lease_slot: LeaseSlot,
    requested: Notify,
    /// Attempts to acquire the queue that have ended, with any result.
    attempts: watch::Sender<u64>,
}

/// Where a ticket is that is not in this process's queue.
#[derive(Clone, Debug, PartialEq)]
pub enum TicketLocation {
    /// In the queue of the process at this address.
    Elsewhere(String),
    /// It would be here: it has ended and was evicted, or never existed.
    Forgotten,
    /// It was matched, and the accepting process died before its whole party knew: this is their hunt.
    Matched(Box<WorldRow>),
    /// It was accepted under a lease that has ended, and ended with it without a match.
    Lost,
    /// The accepting process may still be saving its hunt.
    Unknown,
}

/// Accepts a ticket, if this process or none owns the queue. It counts against the quota of this address.
///
/// # Errors
/// The store's.
pub async fn submit_ticket(
    hunts: &Hunts,
    ticket: Ticket,
    address: Option<AddressKey>,
) -> Result<Result<TicketReceiver, TicketError>, StoreError> {
    let (matchmaker, queue_lease) = (&hunts.matchmaker, &hunts.queue_lease);
    let mut attempts = queue_lease.attempts.subscribe();
    for _ in 0..ATTEMPTS_MAX {
        if hunts.drain.has_begun() {
            return Ok(Err(TicketError::Draining));
        }
        let last = matchmaker.last_match(ticket.owner);
        if matchmaker.owner().is_some() {
            if let Some(hunt) = active_hunt_of(hunts, ticket.owner).await? {
                return Ok(Err(TicketError::InHunt(hunt.name)));
            }
            match matchmaker.submit(ticket.clone(), last, address) {
                Err(TicketError::JustMatched) => continue,
                Err(TicketError::NotOwner) => {}
                entered => return Ok(entered),
            }
        }
        let now = hunts.node.clock.now();
        let owner = hunts.node.store.read(move |reader| reader.leader(LeaderJob::MatchmakingQueue, now)).await?;
        // Our own address means this process in a moment, or an earlier one whose lease has not expired yet.
        if let Some(owner) = owner.filter(|owner| owner.address != hunts.node.address()) {
            return Ok(Err(TicketError::Elsewhere { address: owner.address }));
        }
        queue_lease.requested.notify_one();
        let _ = timeout(ATTEMPT_TIMEOUT, attempts.changed()).await;
    }
    Ok(Err(TicketError::NotOwner))
}

/// Adds a player to the party of a ticket that was accepted here.
///
/// # Errors
/// The store's.
pub async fn join_ticket(
    hunts: &Hunts,
    id: TicketId,
    player: PlayerId,
) -> Result<Result<TicketReceiver, TicketError>, StoreError> {
    let matchmaker = &hunts.matchmaker;
    for _ in 0..ATTEMPTS_MAX {
        let last = matchmaker.last_match(player);
        if !matchmaker.lock().has_issued(id) {
            break;
        }
        if let Some(hunt) = active_hunt_of(hunts, player).await? {
            return Ok(Err(TicketError::InHunt(hunt.name)));
        }
        let joined = matchmaker.lock().join(id, player, last, hunts.node.clock.steady());
        match joined {
            Err(TicketError::JustMatched) => {}
            joined => return Ok(joined),
        }
    }
    Ok(Err(TicketError::NotOwner))
}

/// The hunt of a match in which a player plays.
async fn active_hunt_of(hunts: &Hunts, player: PlayerId) -> Result<Option<WorldRow>, StoreError> {
    let now = hunts.node.clock.now();
    hunts.node.store.read(move |reader| reader.hunt_of_player(player, now)).await
}

/// Where a ticket is that is not in this process's queue. The process that accepted it may save its hunt until another process owns the
/// queue: without an owner, this process acquires it first.
///
/// # Errors
/// The store's.
pub async fn locate_ticket(hunts: &Hunts, id: TicketId, player: PlayerId) -> Result<TicketLocation, StoreError> {
    let queue_lease = &hunts.queue_lease;
    let mut attempts = queue_lease.attempts.subscribe();
    for _ in 0..ATTEMPTS_MAX {
        if hunts.matchmaker.lock().has_issued(id) {
            return Ok(TicketLocation::Forgotten);
        }
        let now = hunts.node.clock.now();
        // In this order: once another process owns the queue, no hunt is saved for this ticket any more.
        let read = hunts.node.store.read(move |reader| {
            Ok((reader.leader(LeaderJob::MatchmakingQueue, now)?, reader.hunt_of_ticket(id, player)?))
        });
        match read.await? {
            (_, Some(hunt)) => return Ok(TicketLocation::Matched(Box::new(hunt))),
            (Some(owner), None) if !is_issued_under(id, owner.worker) => return Ok(TicketLocation::Lost),
            (Some(owner), None) if owner.address != hunts.node.address() => {
                return Ok(TicketLocation::Elsewhere(owner.address));
            }
            (Some(_) | None, None) => {}
        }
        if hunts.drain.has_begun() {
            break;
        }
        queue_lease.requested.notify_one();
        let _ = timeout(ATTEMPT_TIMEOUT, attempts.changed()).await;
    }
    Ok(TicketLocation::Unknown)
}

/// Owns the queue whenever that is requested and it is free, until the drain. Without its owner, every ticket in it ends.
pub(super) async fn run(hunts: &Hunts) {
    let (matchmaker, queue_lease) = (&hunts.matchmaker, &hunts.queue_lease);
    while !hunts.drain.has_begun() {
        // If it ended because of a defect, it goes on under the same lease.
        let worker = match matchmaker.owner() {
            Some(worker) => worker,
            None => {
                tokio::select! {
                    () = queue_lease.requested.notified() => {}
                    () = hunts.drain.begun() => return,
                }
                WorkerId::new(hunts.node.clock.now(), random_bytes())
            }
        };
        tokio::select! {
            () = hold_queue(hunts, worker) => {}
            () = hunts.drain.begun() => {}
        }
        matchmaker.stop_accepting(hunts.node.clock.steady());
        queue_lease.lease_slot.release(&hunts.node, worker).await;
        queue_lease.attempts.send_modify(|attempts| *attempts += 1);
    }
}

/// Owns the queue until the lease is lost, unless another process owns it.
async fn hold_queue(hunts: &Hunts, worker: WorkerId) {
    let (renewer, lease) = lease::LeaseRenewer::new(hunts.node.clone(), worker, hunts.queue_lease.lease_slot.clone());
    if !renewer.acquire().await || !try_acquire_queue(hunts, worker).await {
        return;
    }
    tracing::info!(worker.id = %worker, "this node owns the matchmaking queue");
    hunts.matchmaker.start_accepting(worker, lease);
    hunts.queue_lease.attempts.send_modify(|attempts| *attempts += 1);
    renewer.renew_until_lost().await;
    tracing::warn!(worker.id = %worker, "the lease of the matchmaking queue is lost; its tickets are cancelled");
    hunts.metrics.process.leases_lost.inc();
}

async fn try_acquire_queue(hunts: &Hunts, worker: WorkerId) -> bool {
    let job = LeaderJob::MatchmakingQueue;
    let acquire = Command::AcquireLeadership { job, worker, now: hunts.node.clock.now() };
    match hunts.node.store.commit(acquire).await {
        Ok(Outcome::LedBy(owner)) => owner.worker == worker,
        Ok(Outcome::LeaseLost) | Err(_) => false,
        Ok(other) => {
            tracing::error!(outcome = ?other, "the store answered an acquisition of the matchmaking queue with something else");
            false
        }
    }
}
