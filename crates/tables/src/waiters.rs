//! The clients at a table: those that wait for updates, and those that waited until a moment ago. Shared by the table's owner task and the
//! waits, so that an abandoned wait frees its slot at once, without a notification.
//!
//! A wait is a slot in a list: no task, no channel, no timer. Knows no table: the owner task decides who gets what.

use super::wait_permits::{WaitPermit, WaitPermits};
use super::{Feed, FeedResponse, TableError, Waiter};
use engine::ids::{PlayerId, TableId};
use engine::limits::TABLE_PRESENT_MAX;
use engine::tables::FeedUpdate;
use metrics::Metrics;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The result of a wait.
pub(super) type WaitResult = Result<Arc<FeedResponse>, TableError>;

/// Slots for which an empty list keeps its memory: a table's players, who come again and again.
const SLOTS_KEPT: usize = 8;

/// Shared by the waiters of all tables of one owner task: notifies it of presence changes.
pub(super) struct PresenceNotifier {
    pub(super) wait_permits: Arc<WaitPermits>,
    pub(super) metrics: Arc<Metrics>,
    /// How long a player counts as present after its last wait has ended.
    pub(super) grace: Duration,
    /// Tables with presence changes, each once.
    changed: Mutex<Vec<TableId>>,
    notify: Notify,
}

impl PresenceNotifier {
    pub(super) fn new(wait_permits: Arc<WaitPermits>, metrics: Arc<Metrics>, grace: Duration) -> Self {
        Self { wait_permits, metrics, grace, changed: Mutex::default(), notify: Notify::new() }
    }

    /// Waits for a presence change since the last [`PresenceNotifier::take_changed`].
    pub(super) async fn notified(&self) {
        self.notify.notified().await;
    }

    /// The tables with presence changes.
    pub(super) fn take_changed(&self) -> Vec<TableId> {
        std::mem::take(&mut *self.changed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn notify_changed(&self, table: TableId) {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner).push(table);
        self.notify.notify_one();
    }
}

/// The waiters of one table.
pub(super) struct Waiters {
    table: TableId,
    presence: Arc<PresenceNotifier>,
    state: Mutex<WaitersState>,
}

#[derive(Default)]
struct WaitersState {
    /// Why waits end here at once.
    closed: Option<TableError>,
    /// Whether the owner task is notified already of a presence change.
    is_change_noted: bool,
    slots: Vec<WaitSlot>,
    /// The first free slot; slots beyond the last are free, too.
    first_free: Option<u32>,
    waiting: usize,
    /// Players who are present, sorted.
    present: Vec<PresentPlayer>,
    /// Players whose presence is published: the table's members.
    members: Vec<PlayerId>,
}

enum WaitSlot {
    Free { next: Option<u32> },
    Waiting { waiter: Waiter, after: u64, waker: Option<Waker> },
    Answered { waiter: Waiter, response: WaitResult },
}

struct PresentPlayer {
    player: PlayerId,
    waits: u32,
    /// When its last wait ended.
    left_at: Instant,
}

impl Waiters {
    /// Memory of one wait.
    #[cfg(test)]
    pub(super) fn slot_bytes() -> usize {
        size_of::<WaitSlot>()
    }

    pub(super) fn new(table: TableId, presence: Arc<PresenceNotifier>) -> Arc<Self> {
        Arc::new(Self { table, presence, state: Mutex::default() })
    }

    /// Begins a wait for what comes after `after`.
    pub(super) fn add(self: &Arc<Self>, after: u64, permit: WaitPermit) -> FeedWait {
        let mut state = self.lock();
        let waiter = permit.into_waiter();
        let slot = WaitSlot::Waiting { waiter, after, waker: None };
        let at = match state.first_free {
            Some(at) => {
                let previous = std::mem::replace(&mut state.slots[at as usize], slot);
                state.first_free = if let WaitSlot::Free { next } = previous { next } else { None };
                at
            }
            None => {
                state.slots.push(slot);
                u32::try_from(state.slots.len() - 1)
                    .expect("permits are counted, and fewer than there are 32-bit numbers")
            }
        };
        state.waiting += 1;
        self.presence.metrics.tables.waiters.inc();
        if let Some(player) = waiter.player {
            self.mark_present(&mut state, player, 1);
        }
        drop(state);
        FeedWait(WaitState::Waiting { waiters: self.clone(), at })
    }

    /// Counts a player as present who polled without waiting.
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
                self.presence.metrics.tables.players.inc();
                self.mark_changed(state);
            }
        }
    }

    /// Answers the waits for which `response_for` returns something; it gets the viewer and its cursor. Returns how many.
    pub(super) fn answer_waiters(
        &self,
        mut response_for: impl FnMut(Option<PlayerId>, u64) -> Option<WaitResult>,
    ) -> usize {
        let mut wakers = Vec::new();
        let mut answered = 0;
        let mut state = self.lock();
        for slot in &mut state.slots {
            let WaitSlot::Waiting { waiter, after, waker } = slot else { continue };
            let Some(response) = response_for(waiter.player, *after) else { continue };
            wakers.extend(waker.take());
            *slot = WaitSlot::Answered { waiter: *waiter, response };
            answered += 1;
        }
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
        answered
    }

    /// Ends all waits with this error; nothing more comes from here.
    pub(super) fn close(&self, error: &TableError) {
        let mut state = self.lock();
        state.closed = Some(error.clone());
        let present = std::mem::take(&mut state.present).len();
        drop(state);
        self.presence.metrics.tables.players.sub(present);
        self.answer_waiters(|_, _| Some(Err(error.clone())));
    }

    /// Sets the players whose presence is published.
    pub(super) fn set_members(&self, members: impl Iterator<Item = PlayerId>) {
        let mut state = self.lock();
        state.members.clear();
        state.members.extend(members);
    }

    /// Whether this player waits, or did a moment ago.
    pub(super) fn is_present(&self, player: PlayerId) -> bool {
        let state = self.lock();
        let at = state.present.binary_search_by_key(&player, |present| present.player);
        at.is_ok_and(|at| state.present[at].is_present(self.presence.grace, Instant::now()))
    }

    /// Members that are present.
    pub(super) fn online(&self) -> Vec<PlayerId> {
        self.online_of(&self.lock())
    }

    fn online_of(&self, state: &WaitersState) -> Vec<PlayerId> {
        let now = Instant::now();
        let here = state.present.iter().filter(|present| present.is_present(self.presence.grace, now));
        here.map(|present| present.player).filter(|player| state.members.contains(player)).collect()
    }

    /// Forgets players who have been absent long enough. Returns whether there were any.
    pub(super) fn forget_absent(&self) -> bool {
        let mut state = self.lock();
        let (now, before) = (Instant::now(), state.present.len());
        state.present.retain(|present| present.is_present(self.presence.grace, now));
        let gone = before - state.present.len();
        self.presence.metrics.tables.players.sub(gone);
        gone > 0
    }

    /// When the next player will have been away long enough to be absent.
    pub(super) fn next_absence(&self) -> Option<Instant> {
        let state = self.lock();
        let away = state.present.iter().filter(|present| present.waits == 0);
        away.map(|present| present.left_at + self.presence.grace).min()
    }

    /// The owner task is about to look: later changes notify it again.
    pub(super) fn clear_changed(&self) {
        self.lock().is_change_noted = false;
    }

    /// Whether there are no waits and no present players.
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
            // The memory of a large crowd is not kept for ever.
            state.slots.shrink_to(SLOTS_KEPT);
            state.first_free = None;
        }
        self.presence.wait_permits.release(waiter);
        self.presence.metrics.tables.waiters.dec();
        if state.closed.is_some() {
            return;
        }
        if let Some(player) = waiter.player
            && let Ok(index) = state.present.binary_search_by_key(&player, |present| present.player)
        {
            let present = &mut state.present[index];
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

    /// Every update leaves the state consistent, even if a holder of the lock panicked.
    fn lock(&self) -> MutexGuard<'_, WaitersState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WaitersState {
    /// Members, and players who are counted already, have a place; other players share the rest.
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

/// A wait for updates of a table. Dropping it frees everything.
pub struct FeedWait(WaitState);

enum WaitState {
    Ready(Arc<FeedResponse>),
    Waiting { waiters: Arc<Waiters>, at: u32 },
    Over,
}

impl FeedWait {
    /// A wait that is over before it began.
    pub(super) fn ready(response: Arc<FeedResponse>) -> Self {
        Self(WaitState::Ready(response))
    }

    /// The response when the time to wait is over: nothing new, and who is online. What came in the last moment is not lost: the next
    /// request gets it.
    ///
    /// `None` once the wait has been answered.
    #[must_use]
    pub fn so_far(&self) -> Option<Arc<FeedResponse>> {
        match &self.0 {
            WaitState::Ready(response) => Some(response.clone()),
            WaitState::Over => None,
            WaitState::Waiting { waiters, at } => {
                let state = waiters.lock();
                match &state.slots[*at as usize] {
                    WaitSlot::Waiting { after, .. } => {
                        let feed = Feed::News(FeedUpdate { events: Vec::new(), seq: *after, committed_at_us: None });
                        Some(Arc::new(FeedResponse::new(feed, waiters.online_of(&state))))
                    }
                    WaitSlot::Answered { response, .. } => response.as_ref().ok().cloned(),
                    WaitSlot::Free { .. } => None,
                }
            }
        }
    }
}

impl Future for FeedWait {
    type Output = WaitResult;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<WaitResult> {
        if let WaitState::Waiting { waiters, at } = &self.0 {
            let mut state = waiters.lock();
            match &mut state.slots[*at as usize] {
                WaitSlot::Waiting { waker: Some(waker), .. } => waker.clone_from(context.waker()),
                WaitSlot::Waiting { waker, .. } => *waker = Some(context.waker().clone()),
                WaitSlot::Answered { response, .. } => {
                    let response = response.clone();
                    drop(state);
                    self.finish();
                    return Poll::Ready(response);
                }
                WaitSlot::Free { .. } => {}
            }
            return Poll::Pending;
        }
        match std::mem::replace(&mut self.0, WaitState::Over) {
            WaitState::Ready(response) => Poll::Ready(Ok(response)),
            WaitState::Waiting { .. } | WaitState::Over => Poll::Pending,
        }
    }
}

impl FeedWait {
    fn finish(&mut self) {
        if let WaitState::Waiting { waiters, at } = std::mem::replace(&mut self.0, WaitState::Over) {
            waiters.remove(at);
        }
    }
}

impl Drop for FeedWait {
    fn drop(&mut self) {
        self.finish();
    }
}
