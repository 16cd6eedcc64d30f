//! The matchmaker: keeps the pool of those who wait, makes a hunt for each match, and tells each ticket how it ended.
//!
//! Tickets are soft: they live in the process that keeps the desk (see `keeper`), and end with its lease, cancelled. One that is
//! taken always ends: matched, timed out or cancelled. A hunt that could not be saved is no match: its tickets wait on. While one is
//! being saved, everybody else's time goes on.

use super::make;
use crate::app::App;
use crate::lease::Lease;
use crate::metrics::Metrics;
use engine::commands::{Command, Outcome, WorldCommand};
use engine::ids::{PlayerId, TicketId, WorkerId, WorldName};
use engine::limits::{TICKET_KEPT, TICKETS_KNOWN_MAX, TICKETS_MAX};
use engine::matchmaking::{Ended, Pool, Terms, Ticket, TicketRefusal};
use engine::rows::WorldRow;
use engine::time::UnixMs;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::collections::{BTreeMap, VecDeque};
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

/// A ticket as its party sees it.
#[derive(Clone, Debug)]
pub struct TicketSeen {
    /// What was asked for.
    pub ticket: Arc<Ticket>,
    /// How it stands, now and later.
    pub state: watch::Receiver<TicketState>,
}

/// Why a ticket is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    /// It cannot be matched.
    #[error(transparent)]
    Refused(#[from] TicketRefusal),
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
}

#[derive(Default)]
struct Desk {
    pool: Pool,
    known: BTreeMap<TicketId, Known>,
    /// Tickets that have not ended, by their owners.
    open: BTreeMap<PlayerId, TicketId>,
    /// Tickets that have ended, in the order of their ends.
    ended: VecDeque<(UnixMs, TicketId)>,
    tenure: Option<Tenure>,
}

/// Under what this process keeps the desk.
struct Tenure {
    worker: WorkerId,
    lease: Lease,
}

struct Known {
    ticket: Arc<Ticket>,
    state: watch::Sender<TicketState>,
    /// One of its party took it back while its hunt was being saved.
    is_given_up: bool,
}

impl Matchmaker {
    pub(super) fn new(metrics: Arc<Metrics>) -> Self {
        let desk = Desk { pool: Pool::new(Terms::default()), ..Desk::default() };
        Self { desk: Mutex::new(desk), came: Notify::new(), failures: AtomicU64::new(0), metrics }
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

    /// Takes a ticket, whose id then says under which lease it was taken.
    ///
    /// # Errors
    /// [`NotTaken`], and nothing has changed.
    pub(super) fn enter(&self, ticket: Ticket) -> Result<TicketSeen, NotTaken> {
        let seen = self.desk().enter(ticket)?;
        self.metrics.hunt_ticket_came();
        self.came.notify_one();
        Ok(seen)
    }

    /// A ticket, for somebody of its party; `None` when there is none such, or not any more.
    #[must_use]
    pub fn look(&self, id: TicketId, viewer: PlayerId) -> Option<TicketSeen> {
        let desk = self.desk();
        let known = desk.known.get(&id).filter(|known| known.ticket.party.contains(&viewer))?;
        Some(known.seen())
    }

    /// Takes a ticket back, for anybody of its party, who need not have been asked before he was put into it: it ends as cancelled,
    /// unless it has ended. One whose match is being saved at this moment ends with that, as matched or cancelled: wait for its end.
    /// `None` when there is none such of his.
    #[must_use]
    pub fn cancel(&self, id: TicketId, member: PlayerId, now: UnixMs) -> Option<TicketSeen> {
        let mut desk = self.desk();
        let known = desk.known.get_mut(&id).filter(|known| known.ticket.party.contains(&member))?;
        known.is_given_up = true;
        let seen = known.seen();
        if desk.pool.cancel(id).is_some() {
            desk.end(id, TicketState::Cancelled, now, &self.metrics);
        }
        Some(seen)
    }

    /// How many wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.desk().open.len()
    }

    /// How often hunts of the matched could not be saved so far.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// One look at everybody who waits: ends those whose time is over; those who are matched are to be given a hunt.
    fn step(&self, now: UnixMs) -> Vec<Vec<Ticket>> {
        let mut desk = self.desk();
        desk.forget(now);
        let mut matches = Vec::new();
        for ended in desk.pool.step(now) {
            match ended {
                Ended::TimedOut(ticket) => desk.end(ticket.id, TicketState::TimedOut, now, &self.metrics),
                Ended::Matched(tickets) => matches.push(tickets),
            }
        }
        matches
    }

    /// What became of a match: its hunt's name, or nothing.
    fn settle(&self, tickets: Vec<Ticket>, hunt: Option<&WorldName>, now: UnixMs) {
        let mut desk = self.desk();
        let mut back = Vec::new();
        for ticket in tickets {
            let is_wanted = |known: &Known| !known.is_given_up;
            let is_given_up = !desk.took(ticket.id) || !desk.known.get(&ticket.id).is_some_and(is_wanted);
            match hunt {
                Some(name) => desk.end(ticket.id, TicketState::Matched(name.clone()), now, &self.metrics),
                None if is_given_up => desk.end(ticket.id, TicketState::Cancelled, now, &self.metrics),
                None => back.push(ticket),
            }
        }
        desk.pool.put_back(back);
    }

    /// Everybody who still waits is told that nothing will come of it here. Whose hunt is being saved is told what becomes of it.
    pub(super) fn close(&self, now: UnixMs) {
        let mut desk = self.desk();
        desk.tenure = None;
        let open: Vec<_> = desk.open.values().copied().collect();
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
    fn seen(&self) -> TicketSeen {
        TicketSeen { ticket: Arc::clone(&self.ticket), state: self.state.subscribe() }
    }
}

impl Desk {
    fn took(&self, id: TicketId) -> bool {
        self.tenure.as_ref().is_some_and(|tenure| is_taken_under(id, tenure.worker))
    }

    fn enter(&mut self, mut ticket: Ticket) -> Result<TicketSeen, NotTaken> {
        let tenure = self.tenure.as_ref().filter(|tenure| tenure.lease.holds()).ok_or(NotTaken::NotHere)?;
        let mark = u128::from(u32::MAX);
        ticket.id = TicketId(ticket.id.0 & !mark | tenure.worker.0 & mark);
        // Also while its hunt is being saved, when the pool does not know it.
        if let Some(id) = self.open.get(&ticket.owner) {
            return Err(TicketRefusal::Waiting(*id).into());
        }
        // Those included whose hunt is being saved. Tickets that have ended take nobody's place.
        if self.open.len() >= TICKETS_MAX {
            return Err(TicketRefusal::Full.into());
        }
        self.pool.enter(ticket.clone())?;
        self.open.insert(ticket.owner, ticket.id);
        let state = watch::Sender::new(TicketState::Waiting);
        let known = Known { ticket: Arc::new(ticket), state, is_given_up: false };
        let seen = known.seen();
        self.known.insert(known.ticket.id, known);
        Ok(seen)
    }

    /// A ticket ends once, whoever says so first.
    fn end(&mut self, id: TicketId, state: TicketState, now: UnixMs, metrics: &Metrics) {
        let Some(known) = self.known.get(&id).filter(|known| !known.state.borrow().is_end()) else { return };
        metrics.hunt_ticket_ended(&state);
        known.state.send_replace(state);
        self.open.remove(&known.ticket.owner);
        self.ended.push_back((now, id));
        self.forget(now);
    }

    /// Forgets tickets that ended long ago, or before more others than are kept.
    fn forget(&mut self, now: UnixMs) {
        while let Some(&(ended_at, id)) = self.ended.front()
            && (ended_at.after(TICKET_KEPT) <= now || self.ended.len() > TICKETS_KNOWN_MAX - TICKETS_MAX)
        {
            self.ended.pop_front();
            self.known.remove(&id);
        }
    }
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
                let matches = matchmaker.step(app.clock.steady());
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

/// Matches whose hunts are being saved. However that ends, nobody is forgotten: those who have none go back.
struct Unsettled<'a> {
    app: &'a App,
    matches: Vec<Vec<Ticket>>,
}

impl Drop for Unsettled<'_> {
    fn drop(&mut self) {
        for tickets in self.matches.drain(..) {
            self.app.hunts.matchmaker.settle(tickets, None, self.app.clock.steady());
        }
    }
}

/// Saves a hunt for each match, all in one commit; whether all of them were.
async fn make_hunts(app: &App, mut unsettled: Unsettled<'_>) -> bool {
    let now = app.clock.now();
    let hunts: Vec<WorldRow> = unsettled.matches.iter().map(|tickets| make::matched(players(tickets), now)).collect();
    let commands = unsettled.matches.iter().zip(&hunts).map(|(tickets, row)| {
        let members = tickets.iter().flat_map(|ticket| ticket.party.iter().copied()).collect();
        Command::World(WorldCommand::Ensure { row: row.clone(), members })
    });
    let outcomes = app.store.commit_all(commands.collect()).await.unwrap_or_default();
    let mut outcomes = outcomes.into_iter();
    let mut is_saved = true;
    for (tickets, row) in std::mem::take(&mut unsettled.matches).into_iter().zip(&hunts) {
        let is_made = matches!(outcomes.next(), Some(Outcome::WorldIs(made)) if made.id == row.id);
        is_saved &= is_made;
        app.hunts.matchmaker.settle(tickets, is_made.then_some(&row.name), app.clock.steady());
    }
    is_saved
}

fn players(tickets: &[Ticket]) -> u8 {
    tickets.first().map_or(0, |ticket| ticket.players)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::random_bytes;
    use crate::config::Config;
    use store::memory::MemoryDatabase;
    use store::{Store, StoreConfig};

    /// A ticket of a party of one.
    fn ticket(owner: u128, now: UnixMs) -> Ticket {
        let (owner, until) = (PlayerId(owner), now.after(Duration::from_secs(600)));
        let id = TicketId::new(now, random_bytes());
        Ticket { id, owner, party: vec![owner], players: 2, region: None, rating: 0, since: now, until }
    }

    /// Tickets that are taken and given back in a loop keep nobody out, and do not pile up.
    #[tokio::test]
    async fn ended_tickets_take_no_place() {
        let matchmaker = Matchmaker::new(Arc::default());
        matchmaker.open(WorkerId(1), Lease::for_ever());
        let now = UnixMs(1_700_000_000_000);
        let first = matchmaker.enter(ticket(1, now)).unwrap().ticket.id;
        assert!(matchmaker.cancel(first, PlayerId(1), now).is_some());
        for number in 0..=TICKETS_KNOWN_MAX as u128 {
            let owner = PlayerId(number % 48);
            let seen = matchmaker.enter(ticket(number % 48, now)).unwrap_or_else(|why| panic!("{number}: {why}"));
            assert!(matchmaker.cancel(seen.ticket.id, owner, now).is_some());
        }
        assert_eq!(matchmaker.desk().known.len(), TICKETS_KNOWN_MAX - TICKETS_MAX);
        assert!(matchmaker.look(first, PlayerId(1)).is_none(), "the earliest end is forgotten first");
    }

    #[tokio::test]
    async fn an_ended_ticket_is_known_for_five_minutes_and_makes_room() {
        let metrics = Arc::<Metrics>::default();
        let store = Store::open(Arc::new(MemoryDatabase::new()), StoreConfig { readers: 1 }, metrics.clone()).unwrap();
        let app = App::new(store, Arc::new(Config::default()), metrics, None);
        tokio::spawn(crate::hunts::run(app.clone()));
        let (now, owner) = (app.clock.now(), PlayerId(1));
        let (party, until) = (vec![owner], now.after(Duration::from_secs(600)));
        let id = TicketId::new(now, random_bytes());
        let ticket = Ticket { id, owner, party, players: 2, region: None, rating: 0, since: now, until };
        let seen = crate::hunts::enter(&app, ticket).await.unwrap().unwrap();
        let (matchmaker, id) = (&app.hunts.matchmaker, seen.ticket.id);
        assert!(matchmaker.cancel(id, owner, now).is_some());
        let is_known_after = |time: Duration| {
            matchmaker.step(now.after(time));
            matchmaker.look(id, owner).is_some()
        };
        assert!(is_known_after(TICKET_KEPT.saturating_sub(Duration::from_millis(1))));
        assert!(!is_known_after(TICKET_KEPT));
        assert!(matchmaker.took(id), "it is forgotten, and was not lost");
    }
}
