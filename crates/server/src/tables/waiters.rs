//! Who is at a table: those who wait for news of it, and those who waited until a moment ago. Shared by the table's keeper and
//! whoever waits, so that a wait that is given up frees its place at once, whether or not anybody ever rings.
//!
//! A wait is a place in a list: no task, no channel, no timer. Knows no table: the keeper says who gets what.

use super::wait_permits::{WaitPermit, WaitPermits};
use super::{Feed, FeedResponse, TableError, Waiter};
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
pub(super) type WaitResult = Result<Arc<FeedResponse>, TableError>;

/// Seats for which an empty room keeps its memory: a table's players, who come again and again.
const SLOTS_KEPT: usize = 8;

/// What the rooms of one keeper share: where they say that somebody came or went.
pub(super) struct PresenceNotifier {
    pub(super) wait_permits: Arc<WaitPermits>,
    pub(super) metrics: Arc<Metrics>,
    /// How long somebody counts as present once his last wait has ended.
    pub(super) grace: Duration,
    /// Tables in whose rooms somebody came or went, each once.
    changed: Mutex<Vec<TableId>>,
    notify: Notify,
}

impl PresenceNotifier {
    pub(super) fn new(tally: Arc<WaitPermits>, metrics: Arc<Metrics>, grace: Duration) -> Self {
        Self { wait_permits: tally, metrics, grace, changed: Mutex::default(), notify: Notify::new() }
    }

    /// Waits until somebody came or went since the last [`PresenceNotifier::take_changed`].
    pub(super) async fn notified(&self) {
        self.notify.notified().await;
    }

    /// The tables in whose rooms somebody came or went.
    pub(super) fn take_changed(&self) -> Vec<TableId> {
        std::mem::take(&mut *self.changed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn notify_changed(&self, table: TableId) {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner).push(table);
        self.notify.notify_one();
    }
}

/// The room around one table.
pub(super) struct Waiters {
    table: TableId,
    presence: Arc<PresenceNotifier>,
    state: Mutex<WaitersState>,
}

#[derive(Default)]
struct WaitersState {
    /// Why nobody is told anything here any more.
    closed: Option<TableError>,
    /// Whether the keeper knows already that somebody came or went.
    is_change_noted: bool,
    slots: Vec<WaitSlot>,
    /// The first free seat; seats beyond the last are free, too.
    first_free: Option<u32>,
    waiting: usize,
    /// Who is here or was a moment ago, sorted.
    present: Vec<PresentPlayer>,
    /// Whose presence is told: those who sit at the table.
    members: Vec<PlayerId>,
}

enum WaitSlot {
    Free { next: Option<u32> },
    Waiting { waiter: Waiter, after: u64, waker: Option<Waker> },
    Answered { waiter: Waiter, answer: WaitResult },
}

struct PresentPlayer {
    player: PlayerId,
    waits: u32,
    /// When his last wait ended.
    left_at: Instant,
}

impl Waiters {
    /// What one who waits takes in it.
    #[cfg(test)]
    pub(super) fn slot_bytes() -> usize {
        size_of::<WaitSlot>()
    }

    pub(super) fn new(table: TableId, hall: Arc<PresenceNotifier>) -> Arc<Self> {
        Arc::new(Self { table, presence: hall, state: Mutex::default() })
    }

    /// Begins a wait for what comes after `after`.
    pub(super) fn add(self: &Arc<Self>, after: u64, place: WaitPermit) -> FeedWait {
        let mut state = self.lock();
        let waiter = place.into_waiter();
        let seat = WaitSlot::Waiting { waiter, after, waker: None };
        let at = match state.first_free {
            Some(at) => {
                let before = std::mem::replace(&mut state.slots[at as usize], seat);
                state.first_free = if let WaitSlot::Free { next } = before { next } else { None };
                at
            }
            None => {
                state.slots.push(seat);
                u32::try_from(state.slots.len() - 1)
                    .expect("places are counted, and fewer than there are 32-bit numbers")
            }
        };
        state.waiting += 1;
        self.presence.metrics.table_waiter_added();
        if let Some(player) = waiter.player {
            self.mark_present(&mut state, player, 1);
        }
        drop(state);
        FeedWait(WaitState::Waiting { room: self.clone(), at })
    }

    /// Somebody looked and went again.
    pub(super) fn touch(&self, player: PlayerId) {
        let mut state = self.lock();
        if state.closed.is_none() && state.has_room_for(player) {
            self.mark_present(&mut state, player, 0);
            self.mark_changed(&mut state);
        }
    }

    fn mark_present(&self, state: &mut WaitersState, player: PlayerId, waits: u32) {
        let left_at = Instant::now();
        match state.present.binary_search_by_key(&player, |present| present.player) {
            Ok(at) => {
                let present = &mut state.present[at];
                (present.waits, present.left_at) = (present.waits + waits, left_at);
            }
            Err(at) => {
                state.present.insert(at, PresentPlayer { player, waits, left_at });
                self.presence.metrics.players_joined(1);
                self.mark_changed(state);
            }
        }
    }

    /// Answers those to whom `cut` gives something: it is asked for the viewer and the last thing that he got. How many.
    pub(super) fn answer_waiters(&self, mut cut: impl FnMut(Option<PlayerId>, u64) -> Option<WaitResult>) -> usize {
        let mut wakers = Vec::new();
        let mut told = 0;
        let mut state = self.lock();
        for seat in &mut state.slots {
            let WaitSlot::Waiting { waiter, after, waker } = seat else { continue };
            let Some(answer) = cut(waiter.player, *after) else { continue };
            wakers.extend(waker.take());
            *seat = WaitSlot::Answered { waiter: *waiter, answer };
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
        self.presence.metrics.players_left(present);
        self.answer_waiters(|_, _| Some(Err(why.clone())));
    }

    /// Whose presence is told.
    pub(super) fn set_members(&self, members: impl Iterator<Item = PlayerId>) {
        let mut state = self.lock();
        state.members.clear();
        state.members.extend(members);
    }

    /// Whether this player is here, or was a moment ago.
    pub(super) fn is_present(&self, player: PlayerId) -> bool {
        let state = self.lock();
        let at = state.present.binary_search_by_key(&player, |present| present.player);
        at.is_ok_and(|at| state.present[at].is_present(self.presence.grace, Instant::now()))
    }

    /// Members that are here, or were a moment ago.
    pub(super) fn online(&self) -> Vec<PlayerId> {
        self.online_of(&self.lock())
    }

    fn online_of(&self, state: &WaitersState) -> Vec<PlayerId> {
        let now = Instant::now();
        let here = state.present.iter().filter(|present| present.is_present(self.presence.grace, now));
        here.map(|present| present.player).filter(|player| state.members.contains(player)).collect()
    }

    /// Forgets those who went long enough ago. Whether there were any.
    pub(super) fn forget_absent(&self) -> bool {
        let mut state = self.lock();
        let (now, before) = (Instant::now(), state.present.len());
        state.present.retain(|present| present.is_present(self.presence.grace, now));
        let gone = before - state.present.len();
        self.presence.metrics.players_left(gone);
        gone > 0
    }

    /// When the next player will have been away long enough to be absent.
    pub(super) fn next_absence(&self) -> Option<Instant> {
        let state = self.lock();
        let away = state.present.iter().filter(|present| present.waits == 0);
        away.map(|present| present.left_at + self.presence.grace).min()
    }

    /// The keeper is about to look: what happens from now on is noted anew.
    pub(super) fn clear_changed(&self) {
        self.lock().is_change_noted = false;
    }

    /// Whether nobody waits and nobody is present.
    pub(super) fn is_empty(&self) -> bool {
        let state = self.lock();
        state.waiting == 0 && state.present.is_empty()
    }

    fn remove(&self, at: u32) {
        let mut state = self.lock();
        let next = state.first_free.replace(at);
        let waiter = match std::mem::replace(&mut state.slots[at as usize], WaitSlot::Free { next }) {
            WaitSlot::Waiting { waiter, .. } | WaitSlot::Answered { waiter, .. } => waiter,
            WaitSlot::Free { .. } => return,
        };
        state.waiting -= 1;
        if state.waiting == 0 {
            state.slots.clear();
            // A crowd that came once must not be remembered for ever.
            state.slots.shrink_to(SLOTS_KEPT);
            state.first_free = None;
        }
        self.presence.wait_permits.release(waiter);
        self.presence.metrics.table_waiter_removed();
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
        self.mark_changed(&mut state);
    }

    fn mark_changed(&self, state: &mut WaitersState) {
        if !std::mem::replace(&mut state.is_change_noted, true) {
            self.presence.notify_changed(self.table);
        }
    }

    /// No update leaves the state broken for another, even if a holder of the lock panicked.
    fn lock(&self) -> MutexGuard<'_, WaitersState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WaitersState {
    /// Whoever sits at the table, or is counted already, has a place; strangers share the rest.
    fn has_room_for(&self, player: PlayerId) -> bool {
        self.members.contains(&player)
            || self.present.len() < TABLE_PRESENT_MAX
            || self.present.binary_search_by_key(&player, |present| present.player).is_ok()
    }
}

impl PresentPlayer {
    fn is_present(&self, grace: Duration, now: Instant) -> bool {
        self.waits > 0 || now < self.left_at + grace
    }
}

/// A wait for news of a table. Dropped, it costs nothing any more.
pub struct FeedWait(WaitState);

enum WaitState {
    Ready(Arc<FeedResponse>),
    Waiting { room: Arc<Waiters>, at: u32 },
    Over,
}

impl FeedWait {
    /// A wait that is over before it began.
    pub(super) fn ready(answer: Arc<FeedResponse>) -> Self {
        Self(WaitState::Ready(answer))
    }

    /// What to answer when there is no time left to wait: nothing new, and who is online. What came in the last moment is not
    /// lost: it is there for whoever asks again.
    ///
    /// `None` once the wait has been answered.
    #[must_use]
    pub fn so_far(&self) -> Option<Arc<FeedResponse>> {
        match &self.0 {
            WaitState::Ready(answer) => Some(answer.clone()),
            WaitState::Over => None,
            WaitState::Waiting { room, at } => {
                let state = room.lock();
                match &state.slots[*at as usize] {
                    WaitSlot::Waiting { after, .. } => {
                        let feed = Feed::News(FeedUpdate { events: Vec::new(), seq: *after, committed_at_us: None });
                        Some(Arc::new(FeedResponse::new(feed, room.online_of(&state))))
                    }
                    WaitSlot::Answered { answer, .. } => answer.as_ref().ok().cloned(),
                    WaitSlot::Free { .. } => None,
                }
            }
        }
    }
}

impl Future for FeedWait {
    type Output = WaitResult;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<WaitResult> {
        if let WaitState::Waiting { room, at } = &self.0 {
            let mut state = room.lock();
            match &mut state.slots[*at as usize] {
                WaitSlot::Waiting { waker: Some(waker), .. } => waker.clone_from(context.waker()),
                WaitSlot::Waiting { waker, .. } => *waker = Some(context.waker().clone()),
                WaitSlot::Answered { answer, .. } => {
                    let answer = answer.clone();
                    drop(state);
                    self.finish();
                    return Poll::Ready(answer);
                }
                WaitSlot::Free { .. } => {}
            }
            return Poll::Pending;
        }
        match std::mem::replace(&mut self.0, WaitState::Over) {
            WaitState::Ready(answer) => Poll::Ready(Ok(answer)),
            WaitState::Waiting { .. } | WaitState::Over => Poll::Pending,
        }
    }
}

impl FeedWait {
    fn finish(&mut self) {
        if let WaitState::Waiting { room, at } = std::mem::replace(&mut self.0, WaitState::Over) {
            room.remove(at);
        }
    }
}

impl Drop for FeedWait {
    fn drop(&mut self) {
        self.finish();
    }
}
