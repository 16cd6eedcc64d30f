//! Who keeps the matchmakers' desk. Tickets of all nodes lie on one, so that those who suit each other meet wherever they asked: one
//! process keeps it under a lease, from the first ticket that comes to it until it leaves or the lease is lost, and the others send
//! their callers there. A ticket's id says under which lease it was taken, so that everybody knows whether it can still be asked for.

use super::matchmaker::{TicketError, TicketReceiver, is_issued_under};
use crate::address_key::AddressKey;
use crate::app::App;
use crate::clock::random_bytes;
use crate::lease::{self, LeaseContext, LeaseSlot};
use engine::commands::{Command, Outcome, WorldCommand};
use engine::ids::{PlayerId, TicketId, WorkerId};
use engine::matchmaking::Ticket;
use engine::rows::WorldRow;
use std::time::Duration;
use store::StoreError;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

/// How often it is looked for a keeper before somebody with a ticket is told to come again.
const ATTEMPTS_MAX: usize = 3;
/// How long one look waits for this process to become the keeper.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(1);

/// This process's part in it.
#[derive(Default)]
pub struct QueueLease {
    lease_slot: LeaseSlot,
    requested: Notify,
    /// Attempts to keep the desk that have come to something, whatever it was.
    attempts: watch::Sender<u64>,
}

/// What is to be said of a ticket that is not on this desk.
#[derive(Clone, Debug, PartialEq)]
pub enum TicketLocation {
    /// On the desk that the process at this address keeps.
    Elsewhere(String),
    /// It would be here: it has ended and is forgotten, or there never was one.
    Forgotten,
    /// It was matched, and whoever took it died before all of its party were told: this is their hunt.
    Matched(Box<WorldRow>),
    /// It was taken under a lease that has ended, and ended with it; nobody was matched by it, and nobody will be.
    Lost,
    /// Whoever took it may be saving its hunt still.
    Unknown,
}

/// Takes a ticket, where the desk is kept here or nowhere. It counts against the quota of this address.
///
/// # Errors
/// The store's.
pub async fn submit_ticket(
    app: &App,
    ticket: Ticket,
    address: Option<AddressKey>,
) -> Result<Result<TicketReceiver, TicketError>, StoreError> {
    let (matchmaker, keeping) = (&app.hunts.matchmaker, &app.hunts.queue_lease);
    let mut attempts = keeping.attempts.subscribe();
    for _ in 0..ATTEMPTS_MAX {
        if app.drain.has_begun() {
            return Ok(Err(TicketError::Draining));
        }
        let last = matchmaker.last_match(ticket.owner);
        if matchmaker.owner().is_some() {
            if let Some(hunt) = active_hunt_of(app, ticket.owner).await? {
                return Ok(Err(TicketError::InHunt(hunt.name)));
            }
            match matchmaker.submit(ticket.clone(), last, address) {
                Err(TicketError::JustMatched) => continue,
                Err(TicketError::NotOwner) => {}
                entered => return Ok(entered),
            }
        }
        let now = app.clock.now();
        let keeper = app.store.read(move |reader| reader.matchmaking_queue_owner(now)).await?;
        // At our own address it is this process in a moment, or one before it whose lease has not ended yet.
        if let Some(keeper) = keeper.filter(|keeper| keeper.address != app.address()) {
            return Ok(Err(TicketError::Elsewhere { address: keeper.address }));
        }
        keeping.requested.notify_one();
        let _ = timeout(ATTEMPT_TIMEOUT, attempts.changed()).await;
    }
    Ok(Err(TicketError::NotOwner))
}

/// Lets somebody join the party of a ticket that was taken here.
///
/// # Errors
/// The store's.
pub async fn join_ticket(
    app: &App,
    id: TicketId,
    player: PlayerId,
) -> Result<Result<TicketReceiver, TicketError>, StoreError> {
    let matchmaker = &app.hunts.matchmaker;
    for _ in 0..ATTEMPTS_MAX {
        let last = matchmaker.last_match(player);
        if !matchmaker.has_issued(id) {
            break;
        }
        if let Some(hunt) = active_hunt_of(app, player).await? {
            return Ok(Err(TicketError::InHunt(hunt.name)));
        }
        match matchmaker.join(id, player, last, app.clock.steady()) {
            Err(TicketError::JustMatched) => {}
            joined => return Ok(joined),
        }
    }
    Ok(Err(TicketError::NotOwner))
}

/// The hunt in which somebody plays who was matched.
async fn active_hunt_of(app: &App, player: PlayerId) -> Result<Option<WorldRow>, StoreError> {
    let now = app.clock.now();
    app.store.read(move |reader| reader.hunt_of_player(player, now)).await
}

/// Where a ticket is that is not on this desk. Whoever took it may be about to save its hunt until another process keeps the desk: where
/// nobody does, this one does first.
///
/// # Errors
/// The store's.
pub async fn locate_ticket(app: &App, id: TicketId, player: PlayerId) -> Result<TicketLocation, StoreError> {
    let keeping = &app.hunts.queue_lease;
    let mut attempts = keeping.attempts.subscribe();
    for _ in 0..ATTEMPTS_MAX {
        if app.hunts.matchmaker.has_issued(id) {
            return Ok(TicketLocation::Forgotten);
        }
        let now = app.clock.now();
        // In this order: once another keeps the desk, nothing is saved for this ticket any more.
        let read = app
            .store
            .read(move |reader| Ok((reader.matchmaking_queue_owner(now)?, reader.hunt_of_ticket(id, player)?)));
        match read.await? {
            (_, Some(hunt)) => return Ok(TicketLocation::Matched(Box::new(hunt))),
            (Some(keeper), None) if !is_issued_under(id, keeper.worker) => return Ok(TicketLocation::Lost),
            (Some(keeper), None) if keeper.address != app.address() => {
                return Ok(TicketLocation::Elsewhere(keeper.address));
            }
            (Some(_) | None, None) => {}
        }
        if app.drain.has_begun() {
            break;
        }
        keeping.requested.notify_one();
        let _ = timeout(ATTEMPT_TIMEOUT, attempts.changed()).await;
    }
    Ok(TicketLocation::Unknown)
}

/// Keeps the desk whenever it is wanted and free, until the drain. Without its keeper, every ticket on it ends.
pub(super) async fn run(app: &App) {
    let (matchmaker, keeping) = (&app.hunts.matchmaker, &app.hunts.queue_lease);
    while !app.drain.has_begun() {
        // Should it have ended by a defect, it goes on where it was.
        let worker = match matchmaker.owner() {
            Some(worker) => worker,
            None => {
                tokio::select! {
                    () = keeping.requested.notified() => {}
                    () = app.drain.begun() => return,
                }
                WorkerId::new(app.clock.now(), random_bytes())
            }
        };
        tokio::select! {
            () = hold_queue(app, worker) => {}
            () = app.drain.begun() => {}
        }
        matchmaker.stop_accepting(app.clock.steady());
        keeping.lease_slot.release(app, worker).await;
        keeping.attempts.send_modify(|attempts| *attempts += 1);
    }
}

/// Keeps the desk until the lease is lost, unless another process keeps it.
async fn hold_queue(app: &App, worker: WorkerId) {
    let (keeper, lease) = lease::LeaseRenewer::new(app.clone(), worker, app.hunts.queue_lease.lease_slot.clone());
    if !keeper.acquire().await || !try_acquire_queue(app, worker).await {
        return;
    }
    tracing::info!(worker.id = %worker, "tickets are taken here, for all nodes");
    app.hunts.matchmaker.start_accepting(worker, lease);
    app.hunts.queue_lease.attempts.send_modify(|attempts| *attempts += 1);
    keeper.renew_until_lost().await;
    tracing::warn!(worker.id = %worker, "the lease of the matchmakers' desk is lost; its tickets are cancelled");
    app.metrics.lease_lost(0);
}

async fn try_acquire_queue(app: &App, worker: WorkerId) -> bool {
    let keep = WorldCommand::AcquireQueue { worker, now: app.clock.now() };
    match app.store.commit(Command::World(keep)).await {
        Ok(Outcome::QueueOwnedBy(keeper)) => keeper.worker == worker,
        Ok(Outcome::LeaseLost) | Err(_) => false,
        Ok(other) => {
            tracing::error!(outcome = ?other, "the store answered a question for the desk with something else");
            false
        }
    }
}
