//! The sinks of a world's movers, and when each viewer's next view is due: viewers are spread over their periods, so that no burst of views
//! stands between two moves.
//!
//! Knows seats and sinks; what a viewer sees, the world knows.

use super::client_sink::ClientSink;
use super::inbox::Occupancy;
use super::timer_ring::TimerRing;
use engine::worlds::MoverRef;
use std::collections::VecDeque;
use std::sync::Arc;

/// No index.
const NONE: u32 = u32::MAX;
/// Resolution of view timers in microseconds.
const VIEW_TICK_US: u64 = 2_000;
/// The golden ratio in 1/2^32: steps of it, modulo one, leave no gap among any number of viewers.
const GOLDEN: u32 = 0x9e37_79b9;

/// A mover with a sink.
pub(super) struct Subscriber {
    pub(super) occupancy: Occupancy,
    pub(super) sink: Arc<dyn ClientSink>,
    /// Due views that were skipped since the last one.
    pub(super) skipped: u32,
    /// The number of the first event that it has not received.
    pub(super) next_event: u64,
    schedule: Option<ViewSchedule>,
}

/// When a viewer's next view is due.
#[derive(Clone, Copy)]
struct ViewSchedule {
    due_us: u64,
    period_us: u64,
    /// It has its own phase. Until its first view, it has that of all movers that registered in the same moment.
    has_phase: bool,
}

#[derive(Default)]
struct SubscriberSlot {
    subscriber: Option<Subscriber>,
    /// The timer ring, or the queue of due views, contains this slot's number: the slot cannot be reused.
    is_armed: bool,
}

/// All movers of a world that have sinks. An index is a slot's number while it is occupied.
pub(super) struct Subscribers {
    index_by_seat_slot: Vec<u32>,
    slots: Vec<SubscriberSlot>,
    free: Vec<u32>,
    timers: TimerRing,
    /// Views that are due and not served yet.
    due_queue: VecDeque<u32>,
    due: Vec<u32>,
    count: usize,
    viewers: usize,
    /// Rises with every occupancy.
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

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Those of them that want views.
    pub(super) fn viewers(&self) -> usize {
        self.viewers
    }

    /// Adds a mover's sink, which has received all events below `next_event`; a previous sink of the mover is returned with its index.
    pub(super) fn add(
        &mut self,
        seat: MoverRef,
        sink: Arc<dyn ClientSink>,
        next_event: u64,
    ) -> (Occupancy, Option<(u32, Subscriber)>) {
        let previous =
            self.index_of_seat(seat).and_then(|index| self.clear_slot(index).map(|subscriber| (index, subscriber)));
        self.last_generation = self.last_generation.wrapping_add(1);
        let occupancy = Occupancy { seat, generation: self.last_generation };
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(SubscriberSlot::default());
            u32::try_from(self.slots.len() - 1).expect("connections are fewer than 32-bit numbers")
        });
        self.slots[index as usize].subscriber =
            Some(Subscriber { occupancy, sink, skipped: 0, next_event, schedule: None });
        let slot = seat.slot as usize;
        if self.index_by_seat_slot.len() <= slot {
            self.index_by_seat_slot.resize(slot + 1, NONE);
        }
        self.index_by_seat_slot[slot] = index;
        self.count += 1;
        (occupancy, previous)
    }

    /// Removes the sink, if this occupancy still has it.
    pub(super) fn remove(&mut self, occupancy: Occupancy) -> Option<Subscriber> {
        let index = self.index_of(occupancy)?;
        self.clear_slot(index)
    }

    /// Removes the sink of a mover that is gone.
    pub(super) fn remove_seat(&mut self, seat: MoverRef) -> Option<(u32, Subscriber)> {
        let index = self.index_of_seat(seat)?;
        self.clear_slot(index).map(|subscriber| (index, subscriber))
    }

    /// A due view was skipped.
    pub(super) fn mark_skipped(&mut self, index: u32) {
        if let Some(subscriber) = self.get_mut(index) {
            subscriber.skipped = subscriber.skipped.saturating_add(1);
        }
    }

    /// A viewer has the newest view.
    pub(super) fn mark_caught_up(&mut self, index: u32) {
        if let Some(subscriber) = self.get_mut(index) {
            subscriber.skipped = 0;
        }
    }

    /// Marks all events below a number as received. Returns the previous number, if the index is occupied.
    pub(super) fn advance_events(&mut self, index: u32, next_event: u64) -> Option<u64> {
        Some(std::mem::replace(&mut self.get_mut(index)?.next_event, next_event))
    }

    /// All indexes in use are below this number.
    pub(super) fn index_end(&self) -> u32 {
        self.slots.len() as u32
    }

    /// The index of a mover, if it has a sink.
    pub(super) fn index_of_seat(&self, seat: MoverRef) -> Option<u32> {
        let index = *self.index_by_seat_slot.get(seat.slot as usize)?;
        self.get(index).filter(|subscriber| subscriber.occupancy.seat == seat).map(|_| index)
    }

    /// The index of an occupancy, if it is still current.
    pub(super) fn index_of(&self, occupancy: Occupancy) -> Option<u32> {
        self.index_of_seat(occupancy.seat)
            .filter(|index| self.get(*index).is_some_and(|subscriber| subscriber.occupancy == occupancy))
    }

    pub(super) fn get(&self, index: u32) -> Option<&Subscriber> {
        self.slots.get(index as usize)?.subscriber.as_ref()
    }

    fn get_mut(&mut self, index: u32) -> Option<&mut Subscriber> {
        self.slots.get_mut(index as usize)?.subscriber.as_mut()
    }

    /// Sets a mover's views per second, or none. A mover without views gets the first at once, one with views gets it when the next would
    /// have come: asking for views brings no more of them.
    pub(super) fn set_view_rate(&mut self, index: u32, per_s: Option<u8>, now_us: u64) {
        let Some(slot) = self.slots.get_mut(index as usize) else { return };
        let Some(subscriber) = &mut slot.subscriber else { return };
        self.viewers -= usize::from(subscriber.schedule.is_some());
        let period_us = |per_s: u8| 1_000_000 / u64::from(per_s.max(1));
        subscriber.schedule =
            per_s.map(|per_s| ViewSchedule { due_us: now_us, period_us: period_us(per_s), has_phase: false });
        self.viewers += usize::from(subscriber.schedule.is_some());
        if subscriber.schedule.is_some() && !slot.is_armed {
            slot.is_armed = true;
            self.due_queue.push_back(index);
        }
    }

    /// When the next view is due; now, if one waits.
    pub(super) fn next_us(&self) -> Option<u64> {
        if self.due_queue.is_empty() { self.timers.next_us() } else { Some(0) }
    }

    /// The next viewer whose view is due, with the microseconds by which it is late. Its next view is due a period later.
    pub(super) fn next_due_view(&mut self, now_us: u64) -> Option<(u32, u64)> {
        loop {
            let index = match self.due_queue.pop_front() {
                Some(index) => index,
                None if self.timers.expire(now_us, &mut self.due) => {
                    self.due_queue.extend(self.due.drain(..));
                    continue;
                }
                None => return None,
            };
            if let Some(late_us) = self.due_view(index, now_us) {
                return Some((index, late_us));
            }
        }
    }

    /// A timer fired: the view is due, or not yet, or the slot is free.
    fn due_view(&mut self, index: u32, now_us: u64) -> Option<u64> {
        let slot = &mut self.slots[index as usize];
        slot.is_armed = false;
        let Some(schedule) = slot.subscriber.as_mut().and_then(|subscriber| subscriber.schedule.as_mut()) else {
            if slot.subscriber.is_none() {
                self.free.push(index);
            }
            return None;
        };
        slot.is_armed = true;
        if schedule.due_us > now_us {
            self.timers.arm(index, schedule.due_us);
            return None;
        }
        let late_us = now_us - schedule.due_us;
        // After the first view, and whenever views were missed, the viewer's phase is chosen anew.
        schedule.due_us = if schedule.has_phase && late_us <= schedule.period_us {
            schedule.due_us + schedule.period_us
        } else {
            now_us + ((schedule.period_us * u64::from(index.wrapping_mul(GOLDEN))) >> 32).max(1)
        };
        schedule.has_phase = true;
        self.timers.arm(index, schedule.due_us);
        Some(late_us)
    }

    fn clear_slot(&mut self, index: u32) -> Option<Subscriber> {
        let slot = self.slots.get_mut(index as usize)?;
        let subscriber = slot.subscriber.take()?;
        if !slot.is_armed {
            self.free.push(index);
        }
        self.index_by_seat_slot[subscriber.occupancy.seat.slot as usize] = NONE;
        self.count -= 1;
        self.viewers -= usize::from(subscriber.schedule.is_some());
        Some(subscriber)
    }
}
