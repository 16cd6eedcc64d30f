//! The matchmaker: keeps the pool of those who wait, makes a hunt for each match, and tells each ticket how it ended.
//!
//! Tickets are soft: they live in the process that keeps the desk (see `keeper`), and end with its lease, cancelled. One that is
//! taken always ends: matched, timed out or cancelled. A hunt that could not be saved is no match: its tickets wait on. One of which
//! nobody knows whether it was saved is saved again until that is known, so that nobody is matched twice. While one is being saved,
//! everybody else's time goes on.

use super::matches::{Match, SaveOutcome, UnsettledMatches, save_hunts};
use super::new_hunt;
use crate::address_key::AddressKey;
use crate::app::App;
use crate::keyed_permits::{KeyedPermit, KeyedPermits};
use crate::lease::Lease;
use crate::metrics::Metrics;
use crate::quotas::{QuotaExceeded, QuotaKind};
use engine::ids::{PlayerId, TicketId, WorkerId, WorldName};
use engine::limits::{TICKET_PLAYERS_MIN, TICKET_RETENTION, TICKETS_KNOWN_MAX, TICKETS_MAX};
use engine::matchmaking::{MatchingRules, Ticket, TicketEnd, TicketPool, TicketRefusal};
use engine::time::UnixMs;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::sleep;

/// How often matches are looked for while somebody waits.
const STEP_EVERY: Duration = Duration::from_millis(200);
/// How often it is looked for what can be forgotten while nobody waits.
const FORGET_EVERY: Duration = Duration::from_secs(60);

/// How it stands with a ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TicketState {
    /// Nobody suits it yet.
    Waiting,
    /// It has a hunt.
    Matched(WorldName),
    /// Nobody suited it in time.
    TimedOut,
    /// One of its party took it back, or this process keeps the desk no longer.
    Cancelled,
}

impl TicketState {
    /// Whether it stays so.
    #[must_use]
    pub fn is_final(&self) -> bool {
        *self != Self::Waiting
    }

    /// The name on the wire.
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

/// A ticket and how it stands with it.
#[derive(Clone, Debug)]
pub struct TicketStatus {
    /// What was asked for, and who has joined so far.
    pub ticket: Arc<Ticket>,
    /// Whether it has ended, and how.
    pub state: TicketState,
}

impl TicketStatus {
    /// The name on the wire.
    #[must_use]
    pub fn name(&self) -> &'static str {
        if self.state == TicketState::Waiting && !self.ticket.is_party_complete() {
            "gathering"
        } else {
            self.state.name()
        }
    }
}

/// A ticket as its party sees it, now and later. Without its sender nothing more is known of it here.
pub type TicketReceiver = watch::Receiver<TicketStatus>;

/// Why a ticket is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TicketError {
    /// It cannot be matched.
    #[error(transparent)]
    Refused(#[from] TicketRefusal),
    /// The player was matched before, and plays.
    #[error("you were matched into the hunt {0}, which is not over: leave it first (POST /api/hunts/{0}/leave)")]
    InHunt(WorldName),
    /// The player was matched at this moment: look again.
    #[error("you were matched at this moment: look at your ticket")]
    JustMatched,
    /// No ticket has this id, or not any more.
    #[error("no such ticket: it has ended, or there never was one")]
    NoSuchTicket,
    /// The clients of its address have as many as they may have.
    #[error(transparent)]
    Quota(#[from] QuotaExceeded),
    /// This process leaves.
    #[error("this server is leaving: try again in a moment, of whoever serves then")]
    Draining,
    /// This process does not keep the desk.
    #[error("the desk on which tickets lie passes from one server to another; nothing was done: try again in a moment")]
    NotOwner,
    /// Another process keeps the desk.
    #[error(
        "another server keeps the desk on which tickets lie, and could not be asked; nothing was done: try again in a moment"
    )]
    Elsewhere {
        /// Where.
        address: String,
    },
}

/// Whether a ticket was taken under this lease: the last 32 bits of its id are those of the lease's worker.
pub(super) fn is_issued_under(id: TicketId, worker: WorkerId) -> bool {
    id.0 as u32 == worker.0 as u32
}

/// Those who wait, and those who did.
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
struct MatchmakingQueue {
    pool: TicketPool,
    tickets: BTreeMap<TicketId, TicketRecord>,
    /// Tickets that have not ended, by those on them.
    open_by_player: BTreeMap<PlayerId, TicketId>,
    /// The last tickets by which players were matched, as far as they are known.
    matched_by_player: BTreeMap<PlayerId, TicketId>,
    /// Matches whose hunts are to be saved, again or at last.
    unsaved: Vec<Match>,
    /// Tickets that have ended, in the order of their ends.
    ended: VecDeque<(UnixMs, TicketId)>,
    /// Of tickets that were matched, what they take of their address's quota until their hunt is over, in the order of these ends.
    playing_permits: VecDeque<(UnixMs, KeyedPermit<AddressKey>)>,
    owner: Option<QueueOwner>,
}

/// Under what this process keeps the desk.
struct QueueOwner {
    worker: WorkerId,
    lease: Lease,
}

struct TicketRecord {
    status: watch::Sender<TicketStatus>,
    /// One of its party took it back while its hunt was being saved.
    is_cancel_requested: bool,
    /// What it takes of its address's quota.
    permit: Option<KeyedPermit<AddressKey>>,
}

impl Matchmaker {
    pub(super) fn new(per_address_max: usize, metrics: Arc<Metrics>) -> Self {
        let desk = MatchmakingQueue { pool: TicketPool::new(MatchingRules::default()), ..MatchmakingQueue::default() };
        let shares = Arc::default();
        Self {
            queue: Mutex::new(desk),
            arrived: Notify::new(),
            failures: AtomicU64::new(0),
            metrics,
            address_permits: shares,
            per_address_max,
        }
    }

    /// Every update under this lock is whole before anything can panic.
    fn lock(&self) -> MutexGuard<'_, MatchmakingQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a ticket was taken under the lease of now, whatever became of it.
    pub(super) fn has_issued(&self, id: TicketId) -> bool {
        self.lock().has_issued(id)
    }

    /// For whom this process keeps the desk.
    pub(super) fn owner(&self) -> Option<WorkerId> {
        self.lock().owner.as_ref().map(|tenure| tenure.worker)
    }

    /// From now on tickets are taken here.
    pub(super) fn start_accepting(&self, worker: WorkerId, lease: Lease) {
        self.lock().owner = Some(QueueOwner { worker, lease });
    }

    /// Takes a ticket, whose id then says under which lease it was taken. `last` is what [`Matchmaker::last_match`] said of its owner
    /// before it was looked whether he plays in a hunt.
    ///
    /// # Errors
    /// [`TicketError`], and nothing has changed.
    pub(super) fn submit(
        &self,
        ticket: Ticket,
        last: Option<TicketId>,
        address: Option<AddressKey>,
    ) -> Result<TicketReceiver, TicketError> {
        let mut desk = self.lock();
        desk.evict_ended(ticket.since);
        let share = address.map(|address| self.acquire_quota(address)).transpose();
        let seen = desk.submit(ticket, last, share)?;
        drop(desk);
        self.metrics.hunt_ticket_submitted();
        self.arrived.notify_one();
        Ok(seen)
    }

    /// Somebody joins the party of a ticket. `last` as for [`Matchmaker::submit`].
    ///
    /// # Errors
    /// [`TicketError`], and nothing has changed.
    pub(super) fn join(
        &self,
        id: TicketId,
        player: PlayerId,
        last: Option<TicketId>,
        now: UnixMs,
    ) -> Result<TicketReceiver, TicketError> {
        self.lock().join(id, player, last, now)
    }

    /// By which ticket a player was matched last, as far as that is known here.
    pub(super) fn last_match(&self, player: PlayerId) -> Option<TicketId> {
        self.lock().matched_by_player.get(&player).copied()
    }

    fn acquire_quota(&self, address: AddressKey) -> Result<KeyedPermit<AddressKey>, QuotaExceeded> {
        let max = self.per_address_max;
        KeyedPermit::try_acquire(&self.address_permits, address, max).ok_or_else(|| {
            self.metrics.quota_exceeded(QuotaKind::Tickets);
            QuotaExceeded::at_once(QuotaKind::Tickets, max)
        })
    }

    /// A ticket, for somebody of its party; `None` when there is none such, or not any more.
    #[must_use]
    pub fn find(&self, id: TicketId, viewer: PlayerId) -> Option<TicketReceiver> {
        let desk = self.lock();
        let known = desk.tickets.get(&id).filter(|known| known.has_member(viewer))?;
        Some(known.status.subscribe())
    }

    /// Takes a ticket back, for an operator (`None`) or anybody of its party: it ends as cancelled, unless it has ended. One whose match is being saved at this
    /// moment ends with that, as matched or cancelled: wait for its end. `None` when there is none such of his.
    #[must_use]
    pub fn cancel(&self, id: TicketId, member: Option<PlayerId>, now: UnixMs) -> Option<TicketReceiver> {
        let mut desk = self.lock();
        let may = |known: &&mut TicketRecord| member.is_none_or(|member| known.has_member(member));
        let known = desk.tickets.get_mut(&id).filter(may)?;
        known.is_cancel_requested = true;
        let seen = known.status.subscribe();
        if desk.pool.cancel(id).is_some() {
            desk.end_ticket(id, TicketState::Cancelled, now, &self.metrics);
        }
        Some(seen)
    }

    /// How many wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.lock().waiting()
    }

    /// How often hunts of the matched could not be saved so far.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// One look at everybody who waits: ends those whose time is over; those who are matched are to be given a hunt, made at `date`.
    /// Nobody is matched while a hunt could not be entered.
    fn step(&self, now: UnixMs, date: UnixMs, has_room: bool) -> Vec<Match> {
        let mut desk = self.lock();
        desk.evict_ended(now);
        // Without a keeper nobody waits.
        let Some(keeper) = desk.owner.as_ref().map(|tenure| tenure.worker) else { return Vec::new() };
        let mut matches = std::mem::take(&mut desk.unsaved);
        for ended in if has_room { desk.pool.step(now) } else { desk.pool.expire(now) } {
            match ended {
                TicketEnd::TimedOut(ticket) => desk.end_ticket(ticket.id, TicketState::TimedOut, now, &self.metrics),
                TicketEnd::Matched(tickets) => matches.push(Match::new(tickets, keeper, date)),
            }
        }
        matches
    }

    /// What became of the hunt of a match.
    pub(super) fn settle(&self, made: Match, saved: SaveOutcome, now: UnixMs) {
        let (mut desk, metrics) = (self.lock(), &self.metrics);
        match saved {
            SaveOutcome::Saved if !made.is_dissolved => {
                for ticket in made.tickets {
                    desk.end_ticket(ticket.id, TicketState::Matched(made.hunt.name.clone()), now, metrics);
                }
            }
            SaveOutcome::Saved | SaveOutcome::Refused => desk.requeue(made.tickets, now, metrics),
            SaveOutcome::NotTried if !made.is_in_doubt => desk.requeue(made.tickets, now, metrics),
            SaveOutcome::NotTried | SaveOutcome::Unknown => desk.retry_save(made, now, metrics),
            // Whether it was saved is for the next keeper to say, who can know.
            SaveOutcome::NotOwner => made.tickets.iter().for_each(|ticket| desk.drop_ticket(ticket.id, metrics)),
        }
    }

    /// Everybody who still waits is told that nothing will come of it here. Whose hunt is being saved is told what becomes of it.
    pub(super) fn stop_accepting(&self, now: UnixMs) {
        let mut desk = self.lock();
        desk.owner = None;
        for made in std::mem::take(&mut desk.unsaved) {
            made.tickets.iter().for_each(|ticket| desk.drop_ticket(ticket.id, &self.metrics));
        }
        let open: BTreeSet<_> = desk.open_by_player.values().copied().collect();
        for id in open {
            if desk.pool.cancel(id).is_some() {
                desk.end_ticket(id, TicketState::Cancelled, now, &self.metrics);
            }
        }
    }

    /// Until it is time for the next look at everybody who waits.
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
    fn has_issued(&self, id: TicketId) -> bool {
        self.owner.as_ref().is_some_and(|tenure| is_issued_under(id, tenure.worker))
    }

    /// Tickets that have not ended.
    fn waiting(&self) -> usize {
        self.tickets.len() - self.ended.len()
    }

    fn submit(
        &mut self,
        mut ticket: Ticket,
        last: Option<TicketId>,
        share: Result<Option<KeyedPermit<AddressKey>>, QuotaExceeded>,
    ) -> Result<TicketReceiver, TicketError> {
        let tenure = self.owner.as_ref().filter(|tenure| tenure.lease.is_valid()).ok_or(TicketError::NotOwner)?;
        let mark = u128::from(u32::MAX);
        ticket.id = TicketId(ticket.id.0 & !mark | tenure.worker.0 & mark);
        self.check_is_free(ticket.owner, None, last)?;
        // Those included whose hunt is being saved. Tickets that have ended take nobody's place.
        if self.open_by_player.len() >= TICKETS_MAX {
            return Err(TicketRefusal::QueueFull.into());
        }
        let share = share?;
        self.pool.add(ticket.clone())?;
        let id = ticket.id;
        self.open_by_player.insert(ticket.owner, id);
        let standing = watch::Sender::new(TicketStatus { ticket: Arc::new(ticket), state: TicketState::Waiting });
        let seen = standing.subscribe();
        self.tickets.insert(id, TicketRecord { status: standing, is_cancel_requested: false, permit: share });
        Ok(seen)
    }

    fn join(
        &mut self,
        id: TicketId,
        player: PlayerId,
        last: Option<TicketId>,
        now: UnixMs,
    ) -> Result<TicketReceiver, TicketError> {
        if !self.has_issued(id) || self.owner.as_ref().is_none_or(|tenure| !tenure.lease.is_valid()) {
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
        known.status.send_modify(|standing| standing.ticket = ticket);
        Ok(known.status.subscribe())
    }

    /// Whether a player is on no other ticket, and was not matched since it was looked whether he plays.
    fn check_is_free(&self, player: PlayerId, on: Option<TicketId>, last: Option<TicketId>) -> Result<(), TicketError> {
        // Also while its hunt is being saved, when the pool does not know it.
        if let Some(id) = self.open_by_player.get(&player).filter(|id| Some(**id) != on) {
            return Err(TicketRefusal::AlreadyWaiting(*id).into());
        }
        if self.matched_by_player.get(&player).copied() == last { Ok(()) } else { Err(TicketError::JustMatched) }
    }

    /// Those whose hunt is not to be had wait on, but for those who gave up.
    fn requeue(&mut self, tickets: Vec<Ticket>, now: UnixMs, metrics: &Metrics) {
        for ticket in tickets {
            if self.is_wanted(ticket.id) {
                self.pool.reinsert(vec![ticket]);
            } else {
                self.end_ticket(ticket.id, TicketState::Cancelled, now, metrics);
            }
        }
    }

    /// A hunt of which nobody knows whether it was saved. Who gave up is out now: whatever is found, nobody plays in it.
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

    /// Nothing is known here any more of a ticket that has not ended; whoever waits for it asks again, and is told by the store.
    fn drop_ticket(&mut self, id: TicketId, metrics: &Metrics) {
        if self.tickets.get(&id).is_some_and(|known| !known.status.borrow().state.is_final())
            && let Some(known) = self.tickets.remove(&id)
        {
            metrics.hunt_ticket_ended(&TicketState::Cancelled);
            self.release_party(id, &known.status.borrow().ticket.party.clone());
        }
    }

    /// Those on a ticket may take others.
    fn release_party(&mut self, id: TicketId, party: &[PlayerId]) {
        for player in party {
            if self.open_by_player.get(player) == Some(&id) {
                self.open_by_player.remove(player);
            }
        }
    }

    /// A ticket ends once, whoever says so first.
    fn end_ticket(&mut self, id: TicketId, state: TicketState, now: UnixMs, metrics: &Metrics) {
        let is_open = |known: &&mut TicketRecord| !known.status.borrow().state.is_final();
        let Some(known) = self.tickets.get_mut(&id).filter(is_open) else { return };
        metrics.hunt_ticket_ended(&state);
        let party = known.status.borrow().ticket.party.clone();
        let share = known.permit.take();
        if let TicketState::Matched(_) = state {
            self.playing_permits.extend(share.map(|share| (now.plus(new_hunt::matched_hunt_duration()), share)));
            self.matched_by_player.extend(party.iter().map(|player| (*player, id)));
        }
        known.status.send_modify(|standing| standing.state = state);
        self.release_party(id, &party);
        self.ended.push_back((now, id));
        self.evict_ended(now);
    }

    /// Forgets tickets that ended long ago, or before more others than are kept.
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

/// Whether a hunt of those who are matched could be brought into this process's memory, as far as that is not another node's to say.
fn has_room(app: &App, date: UnixMs) -> bool {
    let hunt = new_hunt::matched_hunt_row(TICKET_PLAYERS_MIN, date);
    app.worlds.check_room(&hunt, None, app.clock.steady_us()).is_ok()
}

/// Makes matches until the drain, and settles those that were made. Hunts are saved beside it: a store that takes its time keeps nobody
/// from giving up in time.
pub(super) async fn run(app: &App) {
    let matchmaker = &app.hunts.matchmaker;
    let (mut savings, mut is_failing) = (FuturesUnordered::new(), false);
    let (mut leaving, mut pause) = (pin!(app.drain.begun()), pin!(matchmaker.wait_for_next_step()));
    loop {
        tokio::select! {
            () = &mut leaving => break,
            () = &mut pause => {
                let (now, date) = (app.clock.steady(), app.clock.now());
                let matches = matchmaker.step(now, date, has_room(app, date));
                if !matches.is_empty() {
                    savings.push(save_hunts(app, UnsettledMatches { app, matches }));
                }
                pause.set(matchmaker.wait_for_next_step());
            }
            Some(is_saved) = savings.next() => {
                if is_saved && is_failing {
                    tracing::info!("hunts of the matched are saved again");
                } else if !is_saved && !is_failing {
                    tracing::warn!("hunts of the matched cannot be saved; their parties wait on");
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
