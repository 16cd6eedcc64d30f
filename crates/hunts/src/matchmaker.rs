//! The matchmaker: keeps the pool of waiting tickets, makes a hunt for each match, and publishes the state of each ticket.
//!
//! Tickets are not stored: they live in the process that owns the matchmaking queue (see `queue_lease`), and are cancelled when its lease
//! ends. An accepted ticket always ends: matched, timed out or cancelled. If a hunt could not be saved, its tickets wait on. If it is
//! unknown whether it was saved, it is saved again until that is known, so that no player is matched twice. While one hunt is being saved,
//! other tickets are not delayed.

use super::Hunts;
use super::matches::{Match, SaveOutcome, UnsettledMatches, save_hunts};
use super::new_hunt;
use engine::ids::{PlayerId, TicketId, WorkerId, WorldName};
use engine::limits::{TICKET_PLAYERS_MIN, TICKET_RETENTION, TICKETS_KNOWN_MAX, TICKETS_MAX};
use engine::matchmaking::{MatchingRules, Ticket, TicketEnd, TicketPool, TicketRefusal};
use engine::rows::WorldRow;
use engine::time::UnixMs;
use futures_util::stream::{FuturesUnordered, StreamExt};
use metrics::Metrics;
use node::lease::Lease;
use quotas::address_key::AddressKey;
use quotas::keyed_permits::{KeyedPermit, KeyedPermits};
use quotas::{QuotaExceeded, QuotaKind};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::sleep;

/// How often matches are made while tickets wait.
const STEP_EVERY: Duration = Duration::from_millis(200);
/// How often ended tickets are evicted while none waits.
const FORGET_EVERY: Duration = Duration::from_secs(60);

/// The state of a ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TicketState {
    /// No match yet.
    Waiting,
    /// Matched into this hunt.
    Matched(WorldName),
    /// No match in time.
    TimedOut,
    /// A member cancelled it, or this process does not own the queue any more.
    Cancelled,
}

impl TicketState {
    /// Whether the state does not change any more.
    #[must_use]
    pub fn is_final(&self) -> bool {
        *self != Self::Waiting
    }

    /// The name in the API.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Matched(_) => "matched",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A ticket and its state.
#[derive(Clone, Debug)]
pub struct TicketStatus {
    /// The ticket and its members so far.
    pub ticket: Arc<Ticket>,
    pub state: TicketState,
}

impl TicketStatus {
    /// The name in the API.
    #[must_use]
    pub fn name(&self) -> &'static str {
        if self.state == TicketState::Waiting && !self.ticket.is_party_complete() {
            "gathering"
        } else {
            self.state.name()
        }
    }
}

/// Follows the status of a ticket. When the sender is dropped, this process knows nothing more of the ticket.
pub type TicketReceiver = watch::Receiver<TicketStatus>;

/// Why a ticket is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TicketError {
    #[error(transparent)]
    Refused(#[from] TicketRefusal),
    /// The player was matched before, into a hunt that is not over.
    #[error("you were matched into the hunt {0}, which is not over: leave it first (POST /api/hunts/{0}/leave)")]
    InHunt(WorldName),
    /// The player was matched at this moment: the client should read its ticket.
    #[error("you were matched at this moment: look at your ticket")]
    JustMatched,
    /// No ticket has this id, or not any more.
    #[error("no such ticket: it has ended, or there never was one")]
    NoSuchTicket,
    /// The client's address has reached its quota.
    #[error(transparent)]
    Quota(#[from] QuotaExceeded),
    #[error("this server is draining: try again in a moment, at another server")]
    Draining,
    /// No process owns the queue yet, or it is changing owners.
    #[error("the matchmaking queue is moving from one server to another; nothing was done: try again in a moment")]
    NotOwner,
    /// Another process owns the queue.
    #[error(
        "another server has the matchmaking queue, and could not be reached; nothing was done: try again in a moment"
    )]
    Elsewhere {
        /// Its `host:port`.
        address: String,
    },
}

/// Whether a ticket was accepted under this worker's lease: the last 32 bits of its id are the worker's.
pub(super) fn is_issued_under(id: TicketId, worker: WorkerId) -> bool {
    id.0 as u32 == worker.0 as u32
}

/// The waiting tickets, and those that ended recently.
pub struct Matchmaker {
    queue: Mutex<MatchmakingQueue>,
    arrived: Notify,
    /// Rounds of matches that could not all be saved.
    failures: AtomicU64,
    metrics: Arc<Metrics>,
    /// Tickets by address.
    address_permits: Arc<KeyedPermits<AddressKey>>,
    per_address_max: usize,
}

#[derive(Default)]
pub(super) struct MatchmakingQueue {
    pool: TicketPool,
    tickets: BTreeMap<TicketId, TicketRecord>,
    /// Tickets that have not ended, by player.
    open_by_player: BTreeMap<PlayerId, TicketId>,
    /// The last tickets by which players were matched, as far as they are known.
    matched_by_player: BTreeMap<PlayerId, TicketId>,
    /// Matches whose hunts are to be saved, for the first time or again.
    unsaved: Vec<Match>,
    /// Tickets that have ended, in the order of their ends.
    ended: VecDeque<(UnixMs, TicketId)>,
    /// Permits of matched tickets: they count against their address's quota until their hunt is over; in the order of these ends.
    playing_permits: VecDeque<(UnixMs, KeyedPermit<AddressKey>)>,
    owner: Option<QueueOwner>,
}

/// The worker and lease under which this process owns the queue.
struct QueueOwner {
    worker: WorkerId,
    lease: Lease,
}

struct TicketRecord {
    status: watch::Sender<TicketStatus>,
    /// A member cancelled it while its hunt was being saved.
    is_cancel_requested: bool,
    /// Counts it against its address's quota.
    permit: Option<KeyedPermit<AddressKey>>,
}

impl Matchmaker {
    pub(super) fn new(per_address_max: usize, metrics: Arc<Metrics>) -> Self {
        let queue = MatchmakingQueue { pool: TicketPool::new(MatchingRules::default()), ..MatchmakingQueue::default() };
        let address_permits = Arc::default();
        Self {
            queue: Mutex::new(queue),
            arrived: Notify::new(),
            failures: AtomicU64::new(0),
            metrics,
            address_permits,
            per_address_max,
        }
    }

    /// Every update under this lock is complete before anything can panic.
    pub(super) fn lock(&self) -> MutexGuard<'_, MatchmakingQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The worker under which this process owns the queue.
    pub(super) fn owner(&self) -> Option<WorkerId> {
        self.lock().owner.as_ref().map(|owner| owner.worker)
    }

    /// Accepts tickets from now on.
    pub(super) fn start_accepting(&self, worker: WorkerId, lease: Lease) {
        self.lock().owner = Some(QueueOwner { worker, lease });
    }

    /// Accepts a ticket, whose id then tells the lease under which it was accepted. `last` is what [`Matchmaker::last_match`] returned for
    /// its owner before the store was checked for an active hunt.
    ///
    /// # Errors
    /// [`TicketError`], and nothing has changed.
    pub(super) fn submit(
        &self,
        ticket: Ticket,
        last: Option<TicketId>,
        address: Option<AddressKey>,
    ) -> Result<TicketReceiver, TicketError> {
        let mut queue = self.lock();
        queue.evict_ended(ticket.since);
        let permit = address.map(|address| self.acquire_quota(address)).transpose();
        let seen = queue.submit(ticket, last, permit)?;
        drop(queue);
        self.metrics.hunts.tickets_waiting.inc();
        self.arrived.notify_one();
        Ok(seen)
    }

    /// The ticket by which a player was matched last, as far as it is known here.
    pub(super) fn last_match(&self, player: PlayerId) -> Option<TicketId> {
        self.lock().matched_by_player.get(&player).copied()
    }

    fn acquire_quota(&self, address: AddressKey) -> Result<KeyedPermit<AddressKey>, QuotaExceeded> {
        let max = self.per_address_max;
        KeyedPermit::try_acquire(&self.address_permits, address, max).ok_or_else(|| {
            self.metrics.process.quota_exceeded.inc(QuotaKind::Tickets);
            QuotaExceeded::at_once(QuotaKind::Tickets, max)
        })
    }

    /// A ticket, for a member of its party; `None` when the member has none with this id.
    #[must_use]
    pub fn find(&self, id: TicketId, viewer: PlayerId) -> Option<TicketReceiver> {
        let queue = self.lock();
        let known = queue.tickets.get(&id).filter(|known| known.has_member(viewer))?;
        Some(known.status.subscribe())
    }

    /// Cancels a ticket, for an operator (`None`) or a member of its party: it ends as cancelled, unless it has ended. If its match is
    /// being saved at this moment, it ends with that, as matched or cancelled: wait for its end. `None` when the member has none with this
    /// id.
    #[must_use]
    pub fn cancel(&self, id: TicketId, member: Option<PlayerId>, now: UnixMs) -> Option<TicketReceiver> {
        let mut queue = self.lock();
        let may = |known: &&mut TicketRecord| member.is_none_or(|member| known.has_member(member));
        let known = queue.tickets.get_mut(&id).filter(may)?;
        known.is_cancel_requested = true;
        let seen = known.status.subscribe();
        if queue.pool.remove(id).is_some() {
            queue.end_ticket(id, TicketState::Cancelled, now, &self.metrics);
        }
        Some(seen)
    }

    /// Players on tickets that have not ended.
    pub(super) fn waiting_players(&self) -> Vec<PlayerId> {
        self.lock().open_by_player.keys().copied().collect()
    }

    /// Cancels the tickets of a player who is gone, as the player would.
    pub(super) fn cancel_of(&self, player: PlayerId, now: UnixMs) {
        let ticket = self.lock().open_by_player.get(&player).copied();
        if let Some(id) = ticket {
            drop(self.cancel(id, Some(player), now));
        }
    }

    #[must_use]
    pub fn waiting(&self) -> usize {
        self.lock().waiting()
    }

    /// How often hunts of matches could not be saved so far.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// One step for all waiting tickets: ends those whose time is over, and returns the matches, whose hunts are to be made at `date`.
    /// Without room for a hunt, no match is made.
    fn step(&self, now: UnixMs, date: UnixMs, has_room: bool) -> Vec<Match> {
        let mut queue = self.lock();
        queue.evict_ended(now);
        // Without an owner of the queue no ticket waits.
        let Some(owner) = queue.owner.as_ref().map(|owner| owner.worker) else { return Vec::new() };
        let mut matches = std::mem::take(&mut queue.unsaved);
        for ended in if has_room { queue.pool.step(now) } else { queue.pool.expire(now) } {
            match ended {
                TicketEnd::TimedOut(ticket) => queue.end_ticket(ticket.id, TicketState::TimedOut, now, &self.metrics),
                TicketEnd::Matched(tickets) => matches.push(Match::new(tickets, owner, date)),
            }
        }
        matches
    }

    /// Applies the result of saving a match's hunt.
    pub(super) fn settle(&self, made: Match, saved: SaveOutcome, now: UnixMs) {
        let (mut queue, metrics) = (self.lock(), &self.metrics);
        match saved {
            SaveOutcome::Saved if !made.is_dissolved => {
                for ticket in made.tickets {
                    queue.end_ticket(ticket.id, TicketState::Matched(made.hunt.name.clone()), now, metrics);
                }
            }
            SaveOutcome::Saved | SaveOutcome::Refused => queue.requeue(made.tickets, now, metrics),
            SaveOutcome::NotTried if !made.is_in_doubt => queue.requeue(made.tickets, now, metrics),
            SaveOutcome::NotTried | SaveOutcome::Unknown => queue.retry_save(made, now, metrics),
            // Whether it was saved only the next owner of the queue can tell.
            SaveOutcome::NotOwner => made.tickets.iter().for_each(|ticket| queue.drop_ticket(ticket.id, metrics)),
        }
    }

    /// Cancels all waiting tickets. Those whose hunt is being saved end with its result.
    pub(super) fn stop_accepting(&self, now: UnixMs) {
        let mut queue = self.lock();
        queue.owner = None;
        for made in std::mem::take(&mut queue.unsaved) {
            made.tickets.iter().for_each(|ticket| queue.drop_ticket(ticket.id, &self.metrics));
        }
        let open: BTreeSet<_> = queue.open_by_player.values().copied().collect();
        for id in open {
            if queue.pool.remove(id).is_some() {
                queue.end_ticket(id, TicketState::Cancelled, now, &self.metrics);
            }
        }
    }

    /// Waits until the next step is due.
    async fn wait_for_next_step(&self) {
        if self.waiting() > 0 {
            return sleep(STEP_EVERY).await;
        }
        tokio::select! {
            () = self.arrived.notified() => {}
            () = sleep(FORGET_EVERY) => {}
        }
    }
}

impl TicketRecord {
    fn has_member(&self, player: PlayerId) -> bool {
        self.status.borrow().ticket.party.contains(&player)
    }
}

impl MatchmakingQueue {
    /// Whether a ticket was accepted under the current lease, whatever its state.
    pub(super) fn has_issued(&self, id: TicketId) -> bool {
        self.owner.as_ref().is_some_and(|owner| is_issued_under(id, owner.worker))
    }

    /// Tickets that have not ended.
    fn waiting(&self) -> usize {
        self.tickets.len() - self.ended.len()
    }

    fn submit(
        &mut self,
        mut ticket: Ticket,
        last: Option<TicketId>,
        permit: Result<Option<KeyedPermit<AddressKey>>, QuotaExceeded>,
    ) -> Result<TicketReceiver, TicketError> {
        let owner = self.owner.as_ref().filter(|owner| owner.lease.is_valid()).ok_or(TicketError::NotOwner)?;
        let mark = u128::from(u32::MAX);
        ticket.id = TicketId(ticket.id.0 & !mark | owner.worker.0 & mark);
        self.check_is_free(ticket.owner, None, last)?;
        // Includes those whose hunt is being saved. Tickets that have ended do not count.
        if self.open_by_player.len() >= TICKETS_MAX {
            return Err(TicketRefusal::QueueFull.into());
        }
        let permit = permit?;
        self.pool.add(ticket.clone())?;
        let id = ticket.id;
        self.open_by_player.insert(ticket.owner, id);
        let status = watch::Sender::new(TicketStatus { ticket: Arc::new(ticket), state: TicketState::Waiting });
        let seen = status.subscribe();
        self.tickets.insert(id, TicketRecord { status, is_cancel_requested: false, permit });
        Ok(seen)
    }

    /// Adds a player to the party of a ticket. `last` as for [`Matchmaker::submit`].
    ///
    /// # Errors
    /// [`TicketError`], and nothing has changed.
    pub(super) fn join(
        &mut self,
        id: TicketId,
        player: PlayerId,
        last: Option<TicketId>,
        now: UnixMs,
    ) -> Result<TicketReceiver, TicketError> {
        if !self.has_issued(id) || self.owner.as_ref().is_none_or(|owner| !owner.lease.is_valid()) {
            return Err(TicketError::NotOwner);
        }
        let known = self.tickets.get(&id).ok_or(TicketError::NoSuchTicket)?;
        if known.has_member(player) {
            return Ok(known.status.subscribe());
        }
        self.check_is_free(player, Some(id), last)?;
        let ticket = Arc::new(self.pool.join(id, player, now)?.clone());
        self.open_by_player.insert(player, id);
        let known = self.tickets.get(&id).ok_or(TicketError::NoSuchTicket)?;
        known.status.send_modify(|status| status.ticket = ticket);
        Ok(known.status.subscribe())
    }

    /// Checks that a player is on no other ticket, and was not matched since the check for an active hunt.
    fn check_is_free(&self, player: PlayerId, on: Option<TicketId>, last: Option<TicketId>) -> Result<(), TicketError> {
        // Also while its hunt is being saved, when the pool does not contain it.
        if let Some(id) = self.open_by_player.get(&player).filter(|id| Some(**id) != on) {
            return Err(TicketRefusal::AlreadyWaiting(*id).into());
        }
        if self.matched_by_player.get(&player).copied() == last { Ok(()) } else { Err(TicketError::JustMatched) }
    }

    /// Puts tickets whose hunt could not be made back into the pool, except cancelled ones.
    fn requeue(&mut self, tickets: Vec<Ticket>, now: UnixMs, metrics: &Metrics) {
        for ticket in tickets {
            if self.is_wanted(ticket.id) {
                self.pool.insert(ticket);
            } else {
                self.end_ticket(ticket.id, TicketState::Cancelled, now, metrics);
            }
        }
    }

    /// A hunt with an unknown outcome is saved again. A cancelled ticket dissolves it: whatever the outcome, it is not played.
    fn retry_save(&mut self, mut made: Match, now: UnixMs, metrics: &Metrics) {
        if made.tickets.iter().any(|ticket| !self.has_issued(ticket.id)) {
            return made.tickets.iter().for_each(|ticket| self.drop_ticket(ticket.id, metrics));
        }
        made.is_in_doubt = true;
        let given_up: Vec<_> = made.tickets.iter().map(|ticket| ticket.id).filter(|id| !self.is_wanted(*id)).collect();
        made.is_dissolved |= !given_up.is_empty();
        for id in given_up {
            self.end_ticket(id, TicketState::Cancelled, now, metrics);
        }
        self.unsaved.push(made);
    }

    fn is_wanted(&self, id: TicketId) -> bool {
        self.has_issued(id) && self.tickets.get(&id).is_some_and(|known| !known.is_cancel_requested)
    }

    /// Drops a ticket that has not ended; its clients ask again, and get the store's answer.
    fn drop_ticket(&mut self, id: TicketId, metrics: &Metrics) {
        if self.tickets.get(&id).is_some_and(|known| !known.status.borrow().state.is_final())
            && let Some(known) = self.tickets.remove(&id)
        {
            metrics.hunts.tickets_waiting.dec();
            metrics.hunts.tickets_cancelled.inc();
            self.release_party(id, &known.status.borrow().ticket.party.clone());
        }
    }

    /// Lets the players of a ticket have other tickets.
    fn release_party(&mut self, id: TicketId, party: &[PlayerId]) {
        for player in party {
            if self.open_by_player.get(player) == Some(&id) {
                self.open_by_player.remove(player);
            }
        }
    }

    /// Ends a ticket; only the first call counts.
    fn end_ticket(&mut self, id: TicketId, state: TicketState, now: UnixMs, metrics: &Metrics) {
        let is_open = |known: &&mut TicketRecord| !known.status.borrow().state.is_final();
        let Some(known) = self.tickets.get_mut(&id).filter(is_open) else { return };
        match state {
            TicketState::Waiting => {}
            TicketState::Matched(_) => metrics.hunts.tickets_matched.inc(),
            TicketState::TimedOut => metrics.hunts.tickets_timed_out.inc(),
            TicketState::Cancelled => metrics.hunts.tickets_cancelled.inc(),
        }
        if state.is_final() {
            metrics.hunts.tickets_waiting.dec();
        }
        let party = known.status.borrow().ticket.party.clone();
        let permit = known.permit.take();
        if let TicketState::Matched(_) = state {
            self.playing_permits.extend(permit.map(|permit| (now.plus(new_hunt::matched_hunt_duration()), permit)));
            self.matched_by_player.extend(party.iter().map(|player| (*player, id)));
        }
        known.status.send_modify(|status| status.state = state);
        self.release_party(id, &party);
        self.ended.push_back((now, id));
        self.evict_ended(now);
    }

    /// Evicts tickets that ended long ago, or before more others than are kept.
    fn evict_ended(&mut self, now: UnixMs) {
        while let Some(&(ended_at, id)) = self.ended.front()
            && (ended_at.plus(TICKET_RETENTION) <= now || self.ended.len() > TICKETS_KNOWN_MAX - TICKETS_MAX)
        {
            self.ended.pop_front();
            let Some(known) = self.tickets.remove(&id) else { continue };
            for player in &known.status.borrow().ticket.party {
                if self.matched_by_player.get(player) == Some(&id) {
                    self.matched_by_player.remove(player);
                }
            }
        }
        while self.playing_permits.front().is_some_and(|(over_at, _)| *over_at <= now) {
            self.playing_permits.pop_front();
        }
    }
}

/// Makes matches until the drain, and saves their hunts. `has_room` tells whether a hunt could be loaded into a process's memory, as far
/// as this node knows. Saving runs concurrently: a slow store does not keep tickets from timing out or
/// being cancelled.
pub(super) async fn run(hunts: &Hunts, has_room: impl Fn(&WorldRow) -> bool) {
    let matchmaker = &hunts.matchmaker;
    let (mut savings, mut is_failing) = (FuturesUnordered::new(), false);
    let (mut draining, mut pause) = (pin!(hunts.drain.begun()), pin!(matchmaker.wait_for_next_step()));
    loop {
        tokio::select! {
            () = &mut draining => break,
            () = &mut pause => {
                let (now, date) = (hunts.node.clock.steady(), hunts.node.clock.now());
                let has_room = has_room(&new_hunt::matched_hunt_row(TICKET_PLAYERS_MIN, date));
                let matches = matchmaker.step(now, date, has_room);
                if !matches.is_empty() {
                    savings.push(save_hunts(hunts, UnsettledMatches { hunts, matches }));
                }
                pause.set(matchmaker.wait_for_next_step());
            }
            Some(is_saved) = savings.next() => {
                if is_saved && is_failing {
                    tracing::info!("hunts of matched tickets are saved again");
                } else if !is_saved && !is_failing {
                    tracing::warn!("hunts of matched tickets cannot be saved; their parties wait on");
                }
                is_failing = !is_saved;
                matchmaker.failures.fetch_add(u64::from(is_failing), Ordering::Relaxed);
            }
        }
    }
    while savings.next().await.is_some() {}
}

#[cfg(test)]
mod tests;
