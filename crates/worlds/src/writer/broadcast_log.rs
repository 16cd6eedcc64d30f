//! Events for all subscribers, sent a portion at a time: no answer waits behind thousands of event frames, and sender threads have most of
//! their time for answers. Before any other message a subscriber gets the events it has not received, so that no answer reveals what an
//! event was to say.
//!
//! Knows neither sinks nor threads nor a clock.

use engine::limits::{WORLD_EVENTS_PAUSE_MAX, WORLD_EVENTS_PER_SLICE, WORLD_EVENTS_REST_FACTOR};
use std::collections::VecDeque;
use std::ops::Range;
use std::time::{Duration, Instant};

/// How soon to check again whether a portion has been sent.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Events that some subscribers have not received yet, and the progress of sending them.
#[derive(Debug)]
pub(super) struct BroadcastLog<T> {
    items: VecDeque<T>,
    /// The number of the first of them.
    first: u64,
    pass: Option<BroadcastPass>,
    /// When the portion was handed over that may still be unsent.
    sent_at: Option<Instant>,
    paused_until: Instant,
}

/// One pass over all indexes.
#[derive(Debug)]
struct BroadcastPass {
    next: u32,
    index_end: u32,
    /// All subscribers have received the events below this number when the pass is over.
    goal: u64,
}

impl<T> BroadcastLog<T> {
    pub(super) fn new(now: Instant) -> Self {
        Self { items: VecDeque::new(), first: 0, pass: None, sent_at: None, paused_until: now }
    }

    pub(super) fn publish(&mut self, item: T) {
        self.items.push_back(item);
    }

    /// The number of the next event: a new subscriber needs none before it.
    pub(super) fn next_number(&self) -> u64 {
        self.first + self.items.len() as u64
    }

    /// The events from this number on.
    pub(super) fn since(&self, number: u64) -> impl Iterator<Item = &T> {
        let known = number.saturating_sub(self.first);
        self.items.iter().skip(usize::try_from(known).unwrap_or(usize::MAX))
    }

    /// When to check for the next portion, if there is one.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        let due = if self.sent_at.is_some() { now + POLL_INTERVAL } else { self.paused_until };
        (!self.items.is_empty()).then_some(due)
    }

    /// The next range of the `index_end` indexes. `is_sent` says whether the portion handed over before has been sent: the next one waits
    /// for a multiple of the time that took.
    pub(super) fn next_portion(&mut self, index_end: u32, is_sent: bool, now: Instant) -> Option<Range<u32>> {
        if self.items.is_empty() {
            return None;
        }
        if let Some(sent_at) = self.sent_at {
            let took = now.saturating_duration_since(sent_at);
            if !is_sent && took < WORLD_EVENTS_PAUSE_MAX {
                return None;
            }
            self.sent_at = None;
            self.paused_until = now + (took * WORLD_EVENTS_REST_FACTOR).min(WORLD_EVENTS_PAUSE_MAX);
        }
        if now < self.paused_until {
            return None;
        }
        let goal = self.next_number();
        let pass = self.pass.get_or_insert(BroadcastPass { next: 0, index_end, goal });
        Some(pass.next..pass.index_end.min(pass.next.saturating_add(WORLD_EVENTS_PER_SLICE)))
    }

    /// Those indexes have received everything.
    pub(super) fn mark_sent(&mut self, portion: &Range<u32>, now: Instant) {
        let Some(pass) = &mut self.pass else { return };
        pass.next = portion.end;
        if pass.next < pass.index_end {
            self.sent_at = Some(now);
            return;
        }
        // A subscriber that came meanwhile needs none of these.
        let old = pass.goal.saturating_sub(self.first);
        self.items.drain(..usize::try_from(old).unwrap_or(usize::MAX).min(self.items.len()));
        self.first = pass.goal;
        self.pass = None;
        self.sent_at = (!self.items.is_empty()).then_some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);

    /// Sends portion after portion, each of which takes `took`, until nothing is left; checks when each was handed over, and its indexes.
    #[track_caller]
    fn check(index_end: u32, took: Duration, want: &[(u64, Range<u32>)]) {
        let start = Instant::now();
        let (mut log, mut now, mut sent_at) = (BroadcastLog::new(start), start, start);
        log.publish("a round began");
        let mut found = Vec::new();
        while let Some(due) = log.due(now) {
            now = now.max(due);
            if let Some(portion) = log.next_portion(index_end, now >= sent_at, now) {
                log.mark_sent(&portion, now);
                sent_at = now + took;
                found.push(((now - start).as_millis() as u64, portion));
            }
        }
        assert_eq!(found, want);
    }

    #[test]
    fn portions_leave_sender_threads_most_of_their_time() {
        check(0, MS, &[(0, 0..0)]);
        check(64, MS, &[(0, 0..64)]);
        check(65, MS, &[(0, 0..64), (10, 64..65)]);
        check(150, 3 * MS, &[(0, 0..64), (30, 64..128), (60, 128..150)]);
        // However long it takes, sending goes on.
        check(150, 40 * MS, &[(0, 0..64), (140, 64..128), (280, 128..150)]);
        check(150, Duration::from_secs(60), &[(0, 0..64), (200, 64..128), (400, 128..150)]);
    }

    #[derive(Clone, Debug)]
    enum Event {
        Publish,
        Portion,
        Answer(u32),
        Come(u32),
    }

    fn events() -> impl Strategy<Value = Vec<Event>> {
        let event = prop_oneof![
            1 => Just(Event::Publish),
            4 => Just(Event::Portion),
            2 => (0..200_u32).prop_map(Event::Answer),
            1 => (0..200_u32).prop_map(Event::Come),
        ];
        prop::collection::vec(event, 0..200)
    }

    proptest! {
        /// A subscriber receives every event after it came, once and in order; and no event is kept that all have received.
        #[test]
        fn every_subscriber_receives_every_event_once_and_in_order(events in events()) {
            let mut now = Instant::now();
            let mut log = BroadcastLog::new(now);
            // Of each subscriber: since which event it is here, and the events it has received.
            let mut index_end = vec![(0, Vec::new()); 150];
            let mut published = 0_u64;
            let receive = |log: &BroadcastLog<u64>, index: &mut (u64, Vec<u64>)| {
                let number = index.0 + index.1.len() as u64;
                index.1.extend(log.since(number));
            };
            let portion = |log: &mut BroadcastLog<u64>, index_end: &mut Vec<(u64, Vec<u64>)>, now: Instant| {
                if let Some(portion) = log.next_portion(index_end.len() as u32, true, now) {
                    portion.clone().for_each(|index| receive(log, &mut index_end[index as usize]));
                    log.mark_sent(&portion, now);
                }
            };
            for event in events {
                now += MS;
                match event {
                    Event::Publish => {
                        log.publish(published);
                        published += 1;
                    }
                    Event::Portion => portion(&mut log, &mut index_end, now),
                    Event::Answer(index) => {
                        let count = index_end.len();
                        receive(&log, &mut index_end[index as usize % count]);
                    }
                    Event::Come(index) => match index_end.get_mut(index as usize) {
                        Some(subscriber) => *subscriber = (log.next_number(), Vec::new()),
                        None => index_end.push((log.next_number(), Vec::new())),
                    },
                }
                prop_assert_eq!(log.next_number(), published);
            }
            while let Some(due) = log.due(now) {
                now = now.max(due) + MS;
                portion(&mut log, &mut index_end, now);
            }
            for (since, number) in index_end {
                prop_assert_eq!(number, (since..published).collect::<Vec<u64>>());
            }
        }
    }
}
