//! Who in a world is told what through which outlet, and whose turn it is to be shown around: viewers are spread over their periods,
//! so that no burst of views stands between two moves.
//!
//! Knows seats and outlets; what a viewer sees, the world knows.

use super::client_sink::ClientSink;
use super::handle::Occupancy;
use super::timer_ring::TimerRing;
use engine::worlds::MoverRef;
use std::collections::VecDeque;
use std::sync::Arc;

/// No post.
const NONE: u32 = u32::MAX;
/// Viewers' turns are kept to this many microseconds.
const VIEW_TICK_US: u64 = 2_000;
/// The golden ratio in 1/2^32: steps of it, modulo one, leave no gap among any number of viewers.
const GOLDEN: u32 = 0x9e37_79b9;

/// One mover with an outlet.
pub(super) struct Subscriber {
    pub(super) occupancy: Occupancy,
    pub(super) sink: Arc<dyn ClientSink>,
    /// Turns since the last view at which none was cut.
    pub(super) skipped: u32,
    /// The number below which he has heard all news.
    pub(super) next_event: u64,
    schedule: Option<ViewSchedule>,
}

/// When a viewer's next view is due.
#[derive(Clone, Copy)]
struct ViewSchedule {
    due_us: u64,
    period_us: u64,
    /// He has a phase of his own. Who waits for his first view has that of whoever came in the same moment.
    has_phase: bool,
}

#[derive(Default)]
struct SubscriberSlot {
    subscriber: Option<Subscriber>,
    /// The ring, or the queue of turns, has this place's number: it cannot be given to somebody else.
    is_armed: bool,
}

/// All movers of a world that have outlets. A line is a post's number while it is held.
pub(super) struct Subscribers {
    index_by_seat_slot: Vec<u32>,
    slots: Vec<SubscriberSlot>,
    free: Vec<u32>,
    timers: TimerRing,
    /// Turns that have come and were not served yet.
    due_queue: VecDeque<u32>,
    due: Vec<u32>,
    count: usize,
    viewers: usize,
    /// Rises with every hold.
    last_generation: u32,
}

impl Subscribers {
    pub(super) fn new(now_us: u64) -> Self {
        Self {
            index_by_seat_slot: Vec::new(),
            slots: Vec::new(),
            free: Vec::new(),
            timers: TimerRing::new(VIEW_TICK_US, now_us),
            due_queue: VecDeque::new(),
            due: Vec::new(),
            count: 0,
            viewers: 0,
            last_generation: 0,
        }
    }

    /// Movers with outlets.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Those of them that want views.
    pub(super) fn viewers(&self) -> usize {
        self.viewers
    }

    /// Gives a mover an outlet that has heard all news below a number; the one that it had comes back with its line.
    pub(super) fn add(
        &mut self,
        seat: MoverRef,
        outlet: Arc<dyn ClientSink>,
        heard: u64,
    ) -> (Occupancy, Option<(u32, Subscriber)>) {
        let before = self.index_of_seat(seat).and_then(|line| self.clear_slot(line).map(|post| (line, post)));
        self.last_generation = self.last_generation.wrapping_add(1);
        let hold = Occupancy { seat, generation: self.last_generation };
        let line = self.free.pop().unwrap_or_else(|| {
            self.slots.push(SubscriberSlot::default());
            u32::try_from(self.slots.len() - 1).expect("connections are fewer than 32-bit numbers")
        });
        self.slots[line as usize].subscriber =
            Some(Subscriber { occupancy: hold, sink: outlet, skipped: 0, next_event: heard, schedule: None });
        let slot = seat.slot as usize;
        if self.index_by_seat_slot.len() <= slot {
            self.index_by_seat_slot.resize(slot + 1, NONE);
        }
        self.index_by_seat_slot[slot] = line;
        self.count += 1;
        (hold, before)
    }

    /// Takes the outlet away, if this hold still has it.
    pub(super) fn remove(&mut self, hold: Occupancy) -> Option<Subscriber> {
        let line = self.index_of(hold)?;
        self.clear_slot(line)
    }

    /// Takes the outlet of a mover that is gone.
    pub(super) fn remove_seat(&mut self, seat: MoverRef) -> Option<(u32, Subscriber)> {
        let line = self.index_of_seat(seat)?;
        self.clear_slot(line).map(|post| (line, post))
    }

    /// A viewer's turn went by without a view.
    pub(super) fn mark_skipped(&mut self, line: u32) {
        if let Some(post) = self.slots.get_mut(line as usize).and_then(|place| place.subscriber.as_mut()) {
            post.skipped = post.skipped.saturating_add(1);
        }
    }

    /// A viewer knows the newest.
    pub(super) fn mark_caught_up(&mut self, line: u32) {
        if let Some(post) = self.slots.get_mut(line as usize).and_then(|place| place.subscriber.as_mut()) {
            post.skipped = 0;
        }
    }

    /// This line has heard all news below a number. Below which it had before, if anybody has it.
    pub(super) fn advance_events(&mut self, line: u32, heard: u64) -> Option<u64> {
        let post = self.slots.get_mut(line as usize)?.subscriber.as_mut()?;
        Some(std::mem::replace(&mut post.next_event, heard))
    }

    /// Lines that somebody has or may get: all are below this number.
    pub(super) fn index_end(&self) -> u32 {
        self.slots.len() as u32
    }

    /// The line of a mover, if it has an outlet.
    pub(super) fn index_of_seat(&self, seat: MoverRef) -> Option<u32> {
        let line = *self.index_by_seat_slot.get(seat.slot as usize)?;
        self.get(line).filter(|post| post.occupancy.seat == seat).map(|_| line)
    }

    /// The line of a hold, if nobody came after it.
    pub(super) fn index_of(&self, hold: Occupancy) -> Option<u32> {
        self.index_of_seat(hold.seat).filter(|line| self.get(*line).is_some_and(|post| post.occupancy == hold))
    }

    /// Who has this line.
    pub(super) fn get(&self, line: u32) -> Option<&Subscriber> {
        self.slots.get(line as usize)?.subscriber.as_ref()
    }

    /// A mover wants so many views a second from now on; or none. Who had none gets the first at once, who had others gets it when the
    /// next of those would have come: asking for views brings no more of them.
    pub(super) fn set_view_rate(&mut self, line: u32, per_s: Option<u8>, now_us: u64) {
        let Some(place) = self.slots.get_mut(line as usize) else { return };
        let Some(post) = &mut place.subscriber else { return };
        self.viewers -= usize::from(post.schedule.is_some());
        let period_us = |per_s: u8| 1_000_000 / u64::from(per_s.max(1));
        post.schedule =
            per_s.map(|per_s| ViewSchedule { due_us: now_us, period_us: period_us(per_s), has_phase: false });
        self.viewers += usize::from(post.schedule.is_some());
        if post.schedule.is_some() && !place.is_armed {
            place.is_armed = true;
            self.due_queue.push_back(line);
        }
    }

    /// When the next turn is due; now, if one waits.
    pub(super) fn next_us(&self) -> Option<u64> {
        if self.due_queue.is_empty() { self.timers.next_us() } else { Some(0) }
    }

    /// The next viewer whose turn has come, with the microseconds by which it is late. His next turn is a period later.
    pub(super) fn next_due_view(&mut self, now_us: u64) -> Option<(u32, u64)> {
        loop {
            let line = match self.due_queue.pop_front() {
                Some(line) => line,
                None if self.timers.expire(now_us, &mut self.due) => {
                    self.due_queue.extend(self.due.drain(..));
                    continue;
                }
                None => return None,
            };
            if let Some(late_us) = self.due_view(line, now_us) {
                return Some((line, late_us));
            }
        }
    }

    /// A number came up: whose turn it is, or nobody's any more, or not yet.
    fn due_view(&mut self, line: u32, now_us: u64) -> Option<u64> {
        let place = &mut self.slots[line as usize];
        place.is_armed = false;
        let Some(turn) = place.subscriber.as_mut().and_then(|post| post.schedule.as_mut()) else {
            if place.subscriber.is_none() {
                self.free.push(line);
            }
            return None;
        };
        place.is_armed = true;
        if turn.due_us > now_us {
            self.timers.arm(line, turn.due_us);
            return None;
        }
        let late_us = now_us - turn.due_us;
        // From the first view on, and whenever turns were missed, the viewer's phase is drawn anew.
        turn.due_us = if turn.has_phase && late_us <= turn.period_us {
            turn.due_us + turn.period_us
        } else {
            now_us + ((turn.period_us * u64::from(line.wrapping_mul(GOLDEN))) >> 32).max(1)
        };
        turn.has_phase = true;
        self.timers.arm(line, turn.due_us);
        Some(late_us)
    }

    fn clear_slot(&mut self, line: u32) -> Option<Subscriber> {
        let place = self.slots.get_mut(line as usize)?;
        let post = place.subscriber.take()?;
        if !place.is_armed {
            self.free.push(line);
        }
        self.index_by_seat_slot[post.occupancy.seat.slot as usize] = NONE;
        self.count -= 1;
        self.viewers -= usize::from(post.schedule.is_some());
        Some(post)
    }
}
