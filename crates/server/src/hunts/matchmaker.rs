//! The matchmaker: keeps the pool of those who wait, makes a hunt for each match, and tells each ticket how it ended.
//!
//! Tickets are soft: they live in the process that keeps the desk (see `keeper`), and end with its lease, cancelled. One that is
//! taken always ends: matched, timed out or cancelled. A hunt that could not be saved is no match: its tickets wait on. One of which
//! nobody knows whether it was saved is saved again until that is known, so that nobody is matched twice. While one is being saved,
//! everybody else's time goes on.

use super::make;
use super::matches::{Match, Saved, Unsettled, make_hunts};
use crate::address_key::AddressKey;
use crate::app::App;
use crate::lease::Lease;
use crate::metrics::Metrics;
use crate::quotas::{Exceeded, Kind};
use crate::shares::{Share, Shares};
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
    pub fn is_end(&self) -> bool {
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
pub struct Standing {
    /// What was asked for, and who has joined so far.
    pub ticket: Arc<Ticket>,
    /// Whether it has ended, and how.
    pub state: TicketState,
}

impl Standing {
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
pub type TicketSeen = watch::Receiver<Standing>;

/// Why a ticket is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
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
    NoTicket,
    /// The clients of its address have as many as they may have.
    #[error(transparent)]
    Quota(#[from] Exceeded),
    /// This process leaves.
    #[error("this server is leaving: try again in a moment, of whoever serves then")]
    Leaving,
    /// This process does not keep the desk.
    #[error("the desk on which tickets lie passes from one server to another; nothing was done: try again in a moment")]
    NotHere,
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
pub(super) fn is_taken_under(id: TicketId, worker: WorkerId) -> bool {
    id.0 as u32 == worker.0 as u32
}

/// Those who wait, and those who did.
pub struct Matchmaker {
    desk: Mutex<Desk>,
    came: Notify,
    /// Rounds of matches that could not all be saved.
    failures: AtomicU64,
    metrics: Arc<Metrics>,
    /// Tickets by address.
    shares: Arc<Shares<AddressKey>>,
    per_address_max: usize,
}

#[derive(Default)]
struct Desk {
    pool: TicketPool,
    known: BTreeMap<TicketId, Known>,
    /// Tickets that have not ended, by those on them.
    open: BTreeMap<PlayerId, TicketId>,
    /// The last tickets by which players were matched, as far as they are known.
    matched: BTreeMap<PlayerId, TicketId>,
    /// Matches whose hunts are to be saved, again or at last.
    unsaved: Vec<Match>,
    /// Tickets that have ended, in the order of their ends.
    ended: VecDeque<(UnixMs, TicketId)>,
    /// Of tickets that were matched, what they take of their address's quota until their hunt is over, in the order of these ends.
    playing: VecDeque<(UnixMs, Share<AddressKey>)>,
    tenure: Option<Tenure>,
}

/// Under what this process keeps the desk.
struct Tenure {
    worker: WorkerId,
    lease: Lease,
}

struct Known {
    standing: watch::Sender<Standing>,
    /// One of its party took it back while its hunt was being saved.
    is_given_up: bool,
    /// What it takes of its address's quota.
    share: Option<Share<AddressKey>>,
}

impl Matchmaker {
    pub(super) fn new(per_address_max: usize, metrics: Arc<Metrics>) -> Self {
        let desk = Desk { pool: TicketPool::new(MatchingRules::default()), ..Desk::default() };
        let shares = Arc::default();
        Self {
            desk: Mutex::new(desk),
            came: Notify::new(),
            failures: AtomicU64::new(0),
            metrics,
            shares,
            per_address_max,
        }
    }

    /// Every update under this lock is whole before anything can panic.
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a ticket was taken under the lease of now, whatever became of it.
    pub(super) fn took(&self, id: TicketId) -> bool {
        self.desk().took(id)
    }

    /// For whom this process keeps the desk.
    pub(super) fn kept_by(&self) -> Option<WorkerId> {
        self.desk().tenure.as_ref().map(|tenure| tenure.worker)
    }

    /// From now on tickets are taken here.
    pub(super) fn open(&self, worker: WorkerId, lease: Lease) {
        self.desk().tenure = Some(Tenure { worker, lease });
    }

    /// Takes a ticket, whose id then says under which lease it was taken. `last` is what [`Matchmaker::last_match`] said of its owner
    /// before it was looked whether he plays in a hunt.
    ///
    /// # Errors
    /// [`NotTaken`], and nothing has changed.
    pub(super) fn enter(
        &self,
        ticket: Ticket,
        last: Option<TicketId>,
        address: Option<AddressKey>,
    ) -> Result<TicketSeen, NotTaken> {
        let mut desk = self.desk();
        desk.forget(ticket.since);
        let share = address.map(|address| self.share(address)).transpose();
        let seen = desk.enter(ticket, last, share)?;
        drop(desk);
        self.metrics.hunt_ticket_came();
        self.came.notify_one();
        Ok(seen)
    }

    /// Somebody joins the party of a ticket. `last` as for [`Matchmaker::enter`].
    ///
    /// # Errors
    /// [`NotTaken`], and nothing has changed.
    pub(super) fn join(
        &self,
        id: TicketId,
        player: PlayerId,
        last: Option<TicketId>,
        now: UnixMs,
    ) -> Result<TicketSeen, NotTaken> {
        self.desk().join(id, player, last, now)
    }

    /// By which ticket a player was matched last, as far as that is known here.
    pub(super) fn last_match(&self, player: PlayerId) -> Option<TicketId> {
        self.desk().matched.get(&player).copied()
    }

    fn share(&self, address: AddressKey) -> Result<Share<AddressKey>, Exceeded> {
        let max = self.per_address_max;
        Share::take(&self.shares, address, max).ok_or_else(|| {
            self.metrics.quota_exceeded(Kind::Tickets);
            Exceeded::at_once(Kind::Tickets, max)
        })
    }

    /// A ticket, for somebody of its party; `None` when there is none such, or not any more.
    #[must_use]
    pub fn look(&self, id: TicketId, viewer: PlayerId) -> Option<TicketSeen> {
        let desk = self.desk();
        let known = desk.known.get(&id).filter(|known| known.has(viewer))?;
        Some(known.standing.subscribe())
    }

    /// Takes a ticket back, for an operator (`None`) or anybody of its party: it ends as cancelled, unless it has ended. One whose match is being saved at this
    /// moment ends with that, as matched or cancelled: wait for its end. `None` when there is none such of his.
    #[must_use]
    pub fn cancel(&self, id: TicketId, member: Option<PlayerId>, now: UnixMs) -> Option<TicketSeen> {
        let mut desk = self.desk();
        let may = |known: &&mut Known| member.is_none_or(|member| known.has(member));
        let known = desk.known.get_mut(&id).filter(may)?;
        known.is_given_up = true;
        let seen = known.standing.subscribe();
        if desk.pool.cancel(id).is_some() {
            desk.end(id, TicketState::Cancelled, now, &self.metrics);
        }
        Some(seen)
    }

    /// How many wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.desk().waiting()
    }

    /// How often hunts of the matched could not be saved so far.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// One look at everybody who waits: ends those whose time is over; those who are matched are to be given a hunt, made at `date`.
    /// Nobody is matched while a hunt could not be entered.
    fn step(&self, now: UnixMs, date: UnixMs, has_room: bool) -> Vec<Match> {
        let mut desk = self.desk();
        desk.forget(now);
        // Without a keeper nobody waits.
        let Some(keeper) = desk.tenure.as_ref().map(|tenure| tenure.worker) else { return Vec::new() };
        let mut matches = std::mem::take(&mut desk.unsaved);
        for ended in if has_room { desk.pool.step(now) } else { desk.pool.expire(now) } {
            match ended {
                TicketEnd::TimedOut(ticket) => desk.end(ticket.id, TicketState::TimedOut, now, &self.metrics),
                TicketEnd::Matched(tickets) => matches.push(Match::new(tickets, keeper, date)),
            }
        }
        matches
    }

    /// What became of the hunt of a match.
    pub(super) fn settle(&self, made: Match, saved: Saved, now: UnixMs) {
        let (mut desk, metrics) = (self.desk(), &self.metrics);
        match saved {
            Saved::Yes if !made.is_dissolved => {
                for ticket in made.tickets {
                    desk.end(ticket.id, TicketState::Matched(made.hunt.name.clone()), now, metrics);
                }
            }
            Saved::Yes | Saved::No => desk.put_back(made.tickets, now, metrics),
            Saved::NotTried if !made.is_in_doubt => desk.put_back(made.tickets, now, metrics),
            Saved::NotTried | Saved::Unknown => desk.save_again(made, now, metrics),
            // Whether it was saved is for the next keeper to say, who can know.
            Saved::NotOurs => made.tickets.iter().for_each(|ticket| desk.drop_ticket(ticket.id, metrics)),
        }
    }

    /// Everybody who still waits is told that nothing will come of it here. Whose hunt is being saved is told what becomes of it.
    pub(super) fn close(&self, now: UnixMs) {
        let mut desk = self.desk();
        desk.tenure = None;
        for made in std::mem::take(&mut desk.unsaved) {
            made.tickets.iter().for_each(|ticket| desk.drop_ticket(ticket.id, &self.metrics));
        }
        let open: BTreeSet<_> = desk.open.values().copied().collect();
        for id in open {
            if desk.pool.cancel(id).is_some() {
                desk.end(id, TicketState::Cancelled, now, &self.metrics);
            }
        }
    }

    /// Until it is time for the next look at everybody who waits.
    async fn pause(&self) {
        if self.waiting() > 0 {
            return sleep(STEP_EVERY).await;
        }
        tokio::select! {
            () = self.came.notified() => {}
            () = sleep(FORGET_EVERY) => {}
        }
    }
}

impl Known {
    fn has(&self, player: PlayerId) -> bool {
        self.standing.borrow().ticket.party.contains(&player)
    }
}

impl Desk {
    fn took(&self, id: TicketId) -> bool {
        self.tenure.as_ref().is_some_and(|tenure| is_taken_under(id, tenure.worker))
    }

    /// Tickets that have not ended.
    fn waiting(&self) -> usize {
        self.known.len() - self.ended.len()
    }

    fn enter(
        &mut self,
        mut ticket: Ticket,
        last: Option<TicketId>,
        share: Result<Option<Share<AddressKey>>, Exceeded>,
    ) -> Result<TicketSeen, NotTaken> {
        let tenure = self.tenure.as_ref().filter(|tenure| tenure.lease.holds()).ok_or(NotTaken::NotHere)?;
        let mark = u128::from(u32::MAX);
        ticket.id = TicketId(ticket.id.0 & !mark | tenure.worker.0 & mark);
        self.check_is_free(ticket.owner, None, last)?;
        // Those included whose hunt is being saved. Tickets that have ended take nobody's place.
        if self.open.len() >= TICKETS_MAX {
            return Err(TicketRefusal::QueueFull.into());
        }
        let share = share?;
        self.pool.add(ticket.clone())?;
        let id = ticket.id;
        self.open.insert(ticket.owner, id);
        let standing = watch::Sender::new(Standing { ticket: Arc::new(ticket), state: TicketState::Waiting });
        let seen = standing.subscribe();
        self.known.insert(id, Known { standing, is_given_up: false, share });
        Ok(seen)
    }

    fn join(
        &mut self,
        id: TicketId,
        player: PlayerId,
        last: Option<TicketId>,
        now: UnixMs,
    ) -> Result<TicketSeen, NotTaken> {
        if !self.took(id) || self.tenure.as_ref().is_none_or(|tenure| !tenure.lease.holds()) {
            return Err(NotTaken::NotHere);
        }
        let known = self.known.get(&id).ok_or(NotTaken::NoTicket)?;
        if known.has(player) {
            return Ok(known.standing.subscribe());
        }
        self.check_is_free(player, Some(id), last)?;
        let ticket = Arc::new(self.pool.join(id, player, now)?.clone());
        self.open.insert(player, id);
        let known = self.known.get(&id).ok_or(NotTaken::NoTicket)?;
        known.standing.send_modify(|standing| standing.ticket = ticket);
        Ok(known.standing.subscribe())
    }

    /// Whether a player is on no other ticket, and was not matched since it was looked whether he plays.
    fn check_is_free(&self, player: PlayerId, on: Option<TicketId>, last: Option<TicketId>) -> Result<(), NotTaken> {
        // Also while its hunt is being saved, when the pool does not know it.
        if let Some(id) = self.open.get(&player).filter(|id| Some(**id) != on) {
            return Err(TicketRefusal::AlreadyWaiting(*id).into());
        }
        if self.matched.get(&player).copied() == last { Ok(()) } else { Err(NotTaken::JustMatched) }
    }

    /// Those whose hunt is not to be had wait on, but for those who gave up.
    fn put_back(&mut self, tickets: Vec<Ticket>, now: UnixMs, metrics: &Metrics) {
        for ticket in tickets {
            if self.is_wanted(ticket.id) {
                self.pool.reinsert(vec![ticket]);
            } else {
                self.end(ticket.id, TicketState::Cancelled, now, metrics);
            }
        }
    }

    /// A hunt of which nobody knows whether it was saved. Who gave up is out now: whatever is found, nobody plays in it.
    fn save_again(&mut self, mut made: Match, now: UnixMs, metrics: &Metrics) {
        if made.tickets.iter().any(|ticket| !self.took(ticket.id)) {
            return made.tickets.iter().for_each(|ticket| self.drop_ticket(ticket.id, metrics));
        }
        made.is_in_doubt = true;
        let given_up: Vec<_> = made.tickets.iter().map(|ticket| ticket.id).filter(|id| !self.is_wanted(*id)).collect();
        made.is_dissolved |= !given_up.is_empty();
        for id in given_up {
            self.end(id, TicketState::Cancelled, now, metrics);
        }
        self.unsaved.push(made);
    }

    fn is_wanted(&self, id: TicketId) -> bool {
        self.took(id) && self.known.get(&id).is_some_and(|known| !known.is_given_up)
    }

    /// Nothing is known here any more of a ticket that has not ended; whoever waits for it asks again, and is told by the store.
    fn drop_ticket(&mut self, id: TicketId, metrics: &Metrics) {
        if self.known.get(&id).is_some_and(|known| !known.standing.borrow().state.is_end())
            && let Some(known) = self.known.remove(&id)
        {
            metrics.hunt_ticket_ended(&TicketState::Cancelled);
            self.close(id, &known.standing.borrow().ticket.party.clone());
        }
    }

    /// Those on a ticket may take others.
    fn close(&mut self, id: TicketId, party: &[PlayerId]) {
        for player in party {
            if self.open.get(player) == Some(&id) {
                self.open.remove(player);
            }
        }
    }

    /// A ticket ends once, whoever says so first.
    fn end(&mut self, id: TicketId, state: TicketState, now: UnixMs, metrics: &Metrics) {
        let is_open = |known: &&mut Known| !known.standing.borrow().state.is_end();
        let Some(known) = self.known.get_mut(&id).filter(is_open) else { return };
        metrics.hunt_ticket_ended(&state);
        let party = known.standing.borrow().ticket.party.clone();
        let share = known.share.take();
        if let TicketState::Matched(_) = state {
            self.playing.extend(share.map(|share| (now.plus(make::matched_open()), share)));
            self.matched.extend(party.iter().map(|player| (*player, id)));
        }
        known.standing.send_modify(|standing| standing.state = state);
        self.close(id, &party);
        self.ended.push_back((now, id));
        self.forget(now);
    }

    /// Forgets tickets that ended long ago, or before more others than are kept.
    fn forget(&mut self, now: UnixMs) {
        while let Some(&(ended_at, id)) = self.ended.front()
            && (ended_at.plus(TICKET_RETENTION) <= now || self.ended.len() > TICKETS_KNOWN_MAX - TICKETS_MAX)
        {
            self.ended.pop_front();
            let Some(known) = self.known.remove(&id) else { continue };
            for player in &known.standing.borrow().ticket.party {
                if self.matched.get(player) == Some(&id) {
                    self.matched.remove(player);
                }
            }
        }
        while self.playing.front().is_some_and(|(over_at, _)| *over_at <= now) {
            self.playing.pop_front();
        }
    }
}

/// Whether a hunt of those who are matched could be brought into this process's memory, as far as that is not another node's to say.
fn has_room(app: &App, date: UnixMs) -> bool {
    let hunt = make::matched(TICKET_PLAYERS_MIN, date);
    app.worlds.check_room(&hunt, None, app.clock.steady_us()).is_ok()
}

/// Makes matches until the drain, and settles those that were made. Hunts are saved beside it: a store that takes its time keeps nobody
/// from giving up in time.
pub(super) async fn run(app: &App) {
    let matchmaker = &app.hunts.matchmaker;
    let (mut savings, mut is_failing) = (FuturesUnordered::new(), false);
    let (mut leaving, mut pause) = (pin!(app.drain.begun()), pin!(matchmaker.pause()));
    loop {
        tokio::select! {
            () = &mut leaving => break,
            () = &mut pause => {
                let (now, date) = (app.clock.steady(), app.clock.now());
                let matches = matchmaker.step(now, date, has_room(app, date));
                if !matches.is_empty() {
                    savings.push(make_hunts(app, Unsettled { app, matches }));
                }
                pause.set(matchmaker.pause());
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
