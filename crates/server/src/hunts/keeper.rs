//! Who keeps the matchmakers' desk. Tickets of all nodes lie on one, so that those who suit each other meet wherever they asked: one
//! process keeps it under a lease, from the first ticket that comes to it until it leaves or the lease is lost, and the others send
//! their callers there. A ticket's id says under which lease it was taken, so that everybody knows whether it can still be asked for.

use super::matchmaker::{NotTaken, TicketSeen, is_taken_under};
use crate::address_key::AddressKey;
use crate::app::App;
use crate::clock::random_bytes;
use crate::lease::{self, Seat, Tenant};
use engine::commands::{Command, Outcome, WorldCommand};
use engine::ids::{PlayerId, TicketId, WorkerId};
use engine::matchmaking::Ticket;
use engine::rows::WorldRow;
use std::time::Duration;
use store::StoreError;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

/// How often it is looked for a keeper before somebody with a ticket is told to come again.
const LOOKS_MAX: usize = 3;
/// How long one look waits for this process to become the keeper.
const LOOK_MAX: Duration = Duration::from_secs(1);

/// This process's part in it.
#[derive(Default)]
pub struct Keeping {
    seat: Seat,
    wanted: Notify,
    /// Attempts to keep the desk that have come to something, whatever it was.
    attempts: watch::Sender<u64>,
}

/// What is to be said of a ticket that is not on this desk.
#[derive(Clone, Debug, PartialEq)]
pub enum Whereabouts {
    /// On the desk that the process at this address keeps.
    At(String),
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
pub async fn enter(
    app: &App,
    ticket: Ticket,
    address: Option<AddressKey>,
) -> Result<Result<TicketSeen, NotTaken>, StoreError> {
    let (matchmaker, keeping) = (&app.hunts.matchmaker, &app.hunts.keeping);
    let mut attempts = keeping.attempts.subscribe();
    for _ in 0..LOOKS_MAX {
        if app.drain.has_begun() {
            return Ok(Err(NotTaken::Leaving));
        }
        let last = matchmaker.last_match(ticket.owner);
        if matchmaker.kept_by().is_some() {
            if let Some(hunt) = hunt_of(app, ticket.owner).await? {
                return Ok(Err(NotTaken::InHunt(hunt.name)));
            }
            match matchmaker.enter(ticket.clone(), last, address) {
                Err(NotTaken::JustMatched) => continue,
                Err(NotTaken::NotHere) => {}
                entered => return Ok(entered),
            }
        }
        let now = app.clock.now();
        let keeper = app.store.read(move |reader| reader.matchmaking_queue_owner(now)).await?;
        // At our own address it is this process in a moment, or one before it whose lease has not ended yet.
        if let Some(keeper) = keeper.filter(|keeper| keeper.address != app.address()) {
            return Ok(Err(NotTaken::Elsewhere { address: keeper.address }));
        }
        keeping.wanted.notify_one();
        let _ = timeout(LOOK_MAX, attempts.changed()).await;
    }
    Ok(Err(NotTaken::NotHere))
}

/// Lets somebody join the party of a ticket that was taken here.
///
/// # Errors
/// The store's.
pub async fn join(app: &App, id: TicketId, player: PlayerId) -> Result<Result<TicketSeen, NotTaken>, StoreError> {
    let matchmaker = &app.hunts.matchmaker;
    for _ in 0..LOOKS_MAX {
        let last = matchmaker.last_match(player);
        if !matchmaker.took(id) {
            break;
        }
        if let Some(hunt) = hunt_of(app, player).await? {
            return Ok(Err(NotTaken::InHunt(hunt.name)));
        }
        match matchmaker.join(id, player, last, app.clock.steady()) {
            Err(NotTaken::JustMatched) => {}
            joined => return Ok(joined),
        }
    }
    Ok(Err(NotTaken::NotHere))
}

/// The hunt in which somebody plays who was matched.
async fn hunt_of(app: &App, player: PlayerId) -> Result<Option<WorldRow>, StoreError> {
    let now = app.clock.now();
    app.store.read(move |reader| reader.hunt_of_player(player, now)).await
}

/// Where a ticket is that is not on this desk. Whoever took it may be about to save its hunt until another process keeps the desk: where
/// nobody does, this one does first.
///
/// # Errors
/// The store's.
pub async fn whereabouts(app: &App, id: TicketId, player: PlayerId) -> Result<Whereabouts, StoreError> {
    let keeping = &app.hunts.keeping;
    let mut attempts = keeping.attempts.subscribe();
    for _ in 0..LOOKS_MAX {
        if app.hunts.matchmaker.took(id) {
            return Ok(Whereabouts::Forgotten);
        }
        let now = app.clock.now();
        // In this order: once another keeps the desk, nothing is saved for this ticket any more.
        let read = app
            .store
            .read(move |reader| Ok((reader.matchmaking_queue_owner(now)?, reader.hunt_of_ticket(id, player)?)));
        match read.await? {
            (_, Some(hunt)) => return Ok(Whereabouts::Matched(Box::new(hunt))),
            (Some(keeper), None) if !is_taken_under(id, keeper.worker) => return Ok(Whereabouts::Lost),
            (Some(keeper), None) if keeper.address != app.address() => return Ok(Whereabouts::At(keeper.address)),
            (Some(_) | None, None) => {}
        }
        if app.drain.has_begun() {
            break;
        }
        keeping.wanted.notify_one();
        let _ = timeout(LOOK_MAX, attempts.changed()).await;
    }
    Ok(Whereabouts::Unknown)
}

/// Keeps the desk whenever it is wanted and free, until the drain. Without its keeper, every ticket on it ends.
pub(super) async fn run(app: &App) {
    let (matchmaker, keeping) = (&app.hunts.matchmaker, &app.hunts.keeping);
    while !app.drain.has_begun() {
        // Should it have ended by a defect, it goes on where it was.
        let worker = match matchmaker.kept_by() {
            Some(worker) => worker,
            None => {
                tokio::select! {
                    () = keeping.wanted.notified() => {}
                    () = app.drain.begun() => return,
                }
                WorkerId::new(app.clock.now(), random_bytes())
            }
        };
        tokio::select! {
            () = keep(app, worker) => {}
            () = app.drain.begun() => {}
        }
        matchmaker.close(app.clock.steady());
        keeping.seat.give_up(app, worker).await;
        keeping.attempts.send_modify(|attempts| *attempts += 1);
    }
}

/// Keeps the desk until the lease is lost, unless another process keeps it.
async fn keep(app: &App, worker: WorkerId) {
    let (keeper, lease) = lease::Keeper::new(app.clone(), worker, app.hunts.keeping.seat.clone());
    if !keeper.acquire().await || !is_ours(app, worker).await {
        return;
    }
    tracing::info!(worker.id = %worker, "tickets are taken here, for all nodes");
    app.hunts.matchmaker.open(worker, lease);
    app.hunts.keeping.attempts.send_modify(|attempts| *attempts += 1);
    keeper.keep().await;
    tracing::warn!(worker.id = %worker, "the lease of the matchmakers' desk is lost; its tickets are cancelled");
    app.metrics.lease_lost(0);
}

async fn is_ours(app: &App, worker: WorkerId) -> bool {
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
