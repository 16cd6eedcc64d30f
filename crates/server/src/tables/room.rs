//! Who is at a table: those who wait for news of it, and those who waited until a moment ago. Shared by the table's keeper and
//! whoever waits, so that a wait that is given up frees its place at once, whether or not anybody ever rings.
//!
//! A wait is a place in a list: no task, no channel, no timer. Knows no table: the keeper says who gets what.

use super::tally::{Place, Tally};
use super::{Feed, FeedAnswer, TableError, Waiter};
use crate::metrics::Metrics;
use engine::ids::{PlayerId, TableId};
use engine::limits::TABLE_PRESENT_MAX;
use engine::tables::FeedUpdate;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// What somebody who waits gets in the end.
pub(super) type Answer = Result<Arc<FeedAnswer>, TableError>;

/// Seats for which an empty room keeps its memory: a table's players, who come again and again.
const SEATS_KEPT: usize = 8;

/// What the rooms of one keeper share: where they say that somebody came or went.
pub(super) struct Hall {
    pub(super) tally: Arc<Tally>,
    pub(super) metrics: Arc<Metrics>,
    /// How long somebody counts as present once his last wait has ended.
    pub(super) grace: Duration,
    /// Tables in whose rooms somebody came or went, each once.
    changed: Mutex<Vec<TableId>>,
    bell: Notify,
}

impl Hall {
    pub(super) fn new(tally: Arc<Tally>, metrics: Arc<Metrics>, grace: Duration) -> Self {
        Self { tally, metrics, grace, changed: Mutex::default(), bell: Notify::new() }
    }

    /// Waits until somebody came or went since the last [`Hall::take_changed`].
    pub(super) async fn rung(&self) {
        self.bell.notified().await;
    }

    /// The tables in whose rooms somebody came or went.
    pub(super) fn take_changed(&self) -> Vec<TableId> {
        std::mem::take(&mut *self.changed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note(&self, table: TableId) {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner).push(table);
        self.bell.notify_one();
    }
}

/// The room around one table.
pub(super) struct Room {
    table: TableId,
    hall: Arc<Hall>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Why nobody is told anything here any more.
    closed: Option<TableError>,
    /// Whether the keeper knows already that somebody came or went.
    is_noted: bool,
    seats: Vec<Seat>,
    /// The first free seat; seats beyond the last are free, too.
    free: Option<u32>,
    waiting: usize,
    /// Who is here or was a moment ago, sorted.
    present: Vec<Present>,
    /// Whose presence is told: those who sit at the table.
    members: Vec<PlayerId>,
}

enum Seat {
    Free { next: Option<u32> },
    Waits { waiter: Waiter, after: u64, waker: Option<Waker> },
    Answered { waiter: Waiter, answer: Answer },
}

struct Present {
    player: PlayerId,
    waits: u32,
    /// When his last wait ended.
    left_at: Instant,
}

impl Room {
    /// What one who waits takes in it.
    #[cfg(test)]
    pub(super) fn seat_bytes() -> usize {
        size_of::<Seat>()
    }

    pub(super) fn new(table: TableId, hall: Arc<Hall>) -> Arc<Self> {
        Arc::new(Self { table, hall, state: Mutex::default() })
    }

    /// Begins a wait for what comes after `after`.
    pub(super) fn enter(self: &Arc<Self>, after: u64, place: Place) -> Waiting {
        let mut state = self.lock();
        let waiter = place.keep();
        let seat = Seat::Waits { waiter, after, waker: None };
        let at = match state.free {
            Some(at) => {
                let before = std::mem::replace(&mut state.seats[at as usize], seat);
                state.free = if let Seat::Free { next } = before { next } else { None };
                at
            }
            None => {
                state.seats.push(seat);
                u32::try_from(state.seats.len() - 1)
                    .expect("places are counted, and fewer than there are 32-bit numbers")
            }
        };
        state.waiting += 1;
        self.hall.metrics.table_waiter_came();
        if let Some(player) = waiter.player {
            self.came(&mut state, player, 1);
        }
        drop(state);
        Waiting(Stage::Waits { room: self.clone(), at })
    }

    /// Somebody looked and went again.
    pub(super) fn touch(&self, player: PlayerId) {
        let mut state = self.lock();
        if state.closed.is_none() && state.has_place_for(player) {
            self.came(&mut state, player, 0);
            self.note(&mut state);
        }
    }

    fn came(&self, state: &mut State, player: PlayerId, waits: u32) {
        let left_at = Instant::now();
        match state.present.binary_search_by_key(&player, |present| present.player) {
            Ok(at) => {
                let present = &mut state.present[at];
                (present.waits, present.left_at) = (present.waits + waits, left_at);
            }
            Err(at) => {
                state.present.insert(at, Present { player, waits, left_at });
                self.hall.metrics.players_came(1);
                self.note(state);
            }
        }
    }

    /// Answers those to whom `cut` gives something: it is asked for the viewer and the last thing that he got. How many.
    pub(super) fn tell(&self, mut cut: impl FnMut(Option<PlayerId>, u64) -> Option<Answer>) -> usize {
        let mut wakers = Vec::new();
        let mut told = 0;
        let mut state = self.lock();
        for seat in &mut state.seats {
            let Seat::Waits { waiter, after, waker } = seat else { continue };
            let Some(answer) = cut(waiter.player, *after) else { continue };
            wakers.extend(waker.take());
            *seat = Seat::Answered { waiter: *waiter, answer };
            told += 1;
        }
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
        told
    }

    /// Tells everybody that nothing more will come from here, and why.
    pub(super) fn close(&self, why: &TableError) {
        let mut state = self.lock();
        state.closed = Some(why.clone());
        let present = std::mem::take(&mut state.present).len();
        drop(state);
        self.hall.metrics.players_went(present);
        self.tell(|_, _| Some(Err(why.clone())));
    }

    /// Whose presence is told.
    pub(super) fn know(&self, members: impl Iterator<Item = PlayerId>) {
        let mut state = self.lock();
        state.members.clear();
        state.members.extend(members);
    }

    /// Whether this player is here, or was a moment ago.
    pub(super) fn is_present(&self, player: PlayerId) -> bool {
        let state = self.lock();
        let at = state.present.binary_search_by_key(&player, |present| present.player);
        at.is_ok_and(|at| state.present[at].is_here(self.hall.grace, Instant::now()))
    }

    /// Members that are here, or were a moment ago.
    pub(super) fn online(&self) -> Vec<PlayerId> {
        self.online_of(&self.lock())
    }

    fn online_of(&self, state: &State) -> Vec<PlayerId> {
        let now = Instant::now();
        let here = state.present.iter().filter(|present| present.is_here(self.hall.grace, now));
        here.map(|present| present.player).filter(|player| state.members.contains(player)).collect()
    }

    /// Forgets those who went long enough ago. Whether there were any.
    pub(super) fn forget_absent(&self) -> bool {
        let mut state = self.lock();
        let (now, before) = (Instant::now(), state.present.len());
        state.present.retain(|present| present.is_here(self.hall.grace, now));
        let gone = before - state.present.len();
        self.hall.metrics.players_went(gone);
        gone > 0
    }

    /// When the next player will have been away long enough to be absent.
    pub(super) fn next_absence(&self) -> Option<Instant> {
        let state = self.lock();
        let away = state.present.iter().filter(|present| present.waits == 0);
        away.map(|present| present.left_at + self.hall.grace).min()
    }

    /// The keeper is about to look: what happens from now on is noted anew.
    pub(super) fn looked_at(&self) {
        self.lock().is_noted = false;
    }

    /// Whether nobody waits and nobody is present.
    pub(super) fn is_empty(&self) -> bool {
        let state = self.lock();
        state.waiting == 0 && state.present.is_empty()
    }

    fn leave(&self, at: u32) {
        let mut state = self.lock();
        let next = state.free.replace(at);
        let waiter = match std::mem::replace(&mut state.seats[at as usize], Seat::Free { next }) {
            Seat::Waits { waiter, .. } | Seat::Answered { waiter, .. } => waiter,
            Seat::Free { .. } => return,
        };
        state.waiting -= 1;
        if state.waiting == 0 {
            state.seats.clear();
            // A crowd that came once must not be remembered for ever.
            state.seats.shrink_to(SEATS_KEPT);
            state.free = None;
        }
        self.hall.tally.give_back(waiter);
        self.hall.metrics.table_waiter_went();
        if state.closed.is_some() {
            return;
        }
        if let Some(player) = waiter.player
            && let Ok(place) = state.present.binary_search_by_key(&player, |present| present.player)
        {
            let present = &mut state.present[place];
            present.waits = present.waits.saturating_sub(1);
            present.left_at = Instant::now();
        }
        self.note(&mut state);
    }

    fn note(&self, state: &mut State) {
        if !std::mem::replace(&mut state.is_noted, true) {
            self.hall.note(self.table);
        }
    }

    /// No update leaves the state broken for another, even if a holder of the lock panicked.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whoever sits at the table, or is counted already, has a place; strangers share the rest.
    fn has_place_for(&self, player: PlayerId) -> bool {
        self.members.contains(&player)
            || self.present.len() < TABLE_PRESENT_MAX
            || self.present.binary_search_by_key(&player, |present| present.player).is_ok()
    }
}

impl Present {
    fn is_here(&self, grace: Duration, now: Instant) -> bool {
        self.waits > 0 || now < self.left_at + grace
    }
}

/// A wait for news of a table. Dropped, it costs nothing any more.
pub struct Waiting(Stage);

enum Stage {
    Ready(Arc<FeedAnswer>),
    Waits { room: Arc<Room>, at: u32 },
    Over,
}

impl Waiting {
    /// A wait that is over before it began.
    pub(super) fn ready(answer: Arc<FeedAnswer>) -> Self {
        Self(Stage::Ready(answer))
    }

    /// What to answer when there is no time left to wait: nothing new, and who is online. What came in the last moment is not
    /// lost: it is there for whoever asks again.
    ///
    /// `None` once the wait has been answered.
    #[must_use]
    pub fn so_far(&self) -> Option<Arc<FeedAnswer>> {
        match &self.0 {
            Stage::Ready(answer) => Some(answer.clone()),
            Stage::Over => None,
            Stage::Waits { room, at } => {
                let state = room.lock();
                match &state.seats[*at as usize] {
                    Seat::Waits { after, .. } => {
                        let feed = Feed::News(FeedUpdate { events: Vec::new(), seq: *after, committed_at_us: None });
                        Some(Arc::new(FeedAnswer::new(feed, room.online_of(&state))))
                    }
                    Seat::Answered { answer, .. } => answer.as_ref().ok().cloned(),
                    Seat::Free { .. } => None,
                }
            }
        }
    }
}

impl Future for Waiting {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Answer> {
        if let Stage::Waits { room, at } = &self.0 {
            let mut state = room.lock();
            match &mut state.seats[*at as usize] {
                Seat::Waits { waker: Some(waker), .. } => waker.clone_from(context.waker()),
                Seat::Waits { waker, .. } => *waker = Some(context.waker().clone()),
                Seat::Answered { answer, .. } => {
                    let answer = answer.clone();
                    drop(state);
                    self.give_up();
                    return Poll::Ready(answer);
                }
                Seat::Free { .. } => {}
            }
            return Poll::Pending;
        }
        match std::mem::replace(&mut self.0, Stage::Over) {
            Stage::Ready(answer) => Poll::Ready(Ok(answer)),
            Stage::Waits { .. } | Stage::Over => Poll::Pending,
        }
    }
}

impl Waiting {
    fn give_up(&mut self) {
        if let Stage::Waits { room, at } = std::mem::replace(&mut self.0, Stage::Over) {
            room.leave(at);
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.give_up();
    }
}
