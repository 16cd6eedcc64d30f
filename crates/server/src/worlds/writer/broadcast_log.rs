//! News that everybody in a world is told, a portion at a time: no answer waits behind thousands of frames that nobody asked for, and
//! tellers have most of their time for what somebody waits for. Whoever is told anything else hears first what is new to him, so that
//! nobody learns from an answer what the news was to say.
//!
//! Knows neither outlets nor threads nor a clock.

use engine::limits::{WORLD_EVENTS_PAUSE_MAX, WORLD_EVENTS_PER_SLICE, WORLD_EVENTS_REST_FACTOR};
use std::collections::VecDeque;
use std::ops::Range;
use std::time::{Duration, Instant};

/// How soon to look again whether a portion has been told.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// News that some have not heard yet, and how far the telling has come.
#[derive(Debug)]
pub(super) struct BroadcastLog<T> {
    items: VecDeque<T>,
    /// The number of the first of them.
    first: u64,
    pass: Option<BroadcastPass>,
    /// When the portion was handed over that may not be told yet.
    sent_at: Option<Instant>,
    paused_until: Instant,
}

/// One way along all lines.
#[derive(Debug)]
struct BroadcastPass {
    next: u32,
    index_end: u32,
    /// News below this number everybody has heard when it is over.
    goal: u64,
}

impl<T> BroadcastLog<T> {
    /// Nothing is new.
    pub(super) fn new(now: Instant) -> Self {
        Self { items: VecDeque::new(), first: 0, pass: None, sent_at: None, paused_until: now }
    }

    pub(super) fn publish(&mut self, item: T) {
        self.items.push_back(item);
    }

    /// The number of the next news: whoever comes now has heard all before it.
    pub(super) fn next_number(&self) -> u64 {
        self.first + self.items.len() as u64
    }

    /// What somebody has not heard who has heard everything below this number.
    pub(super) fn since(&self, heard: u64) -> impl Iterator<Item = &T> {
        let known = heard.saturating_sub(self.first);
        self.items.iter().skip(usize::try_from(known).unwrap_or(usize::MAX))
    }

    /// When to look for the next portion, if there is one.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        let due = if self.sent_at.is_some() { now + POLL_INTERVAL } else { self.paused_until };
        (!self.items.is_empty()).then_some(due)
    }

    /// The lines whose turn it is, of so many. `is_told` says whether what was handed over before has been told: for some times as
    /// long as that took, nobody is told news.
    pub(super) fn next_portion(&mut self, lines: u32, is_told: bool, now: Instant) -> Option<Range<u32>> {
        if self.items.is_empty() {
            return None;
        }
        if let Some(handed_at) = self.sent_at {
            let took = now.saturating_duration_since(handed_at);
            if !is_told && took < WORLD_EVENTS_PAUSE_MAX {
                return None;
            }
            self.sent_at = None;
            self.paused_until = now + (took * WORLD_EVENTS_REST_FACTOR).min(WORLD_EVENTS_PAUSE_MAX);
        }
        if now < self.paused_until {
            return None;
        }
        let goal = self.next_number();
        let pass = self.pass.get_or_insert(BroadcastPass { next: 0, index_end: lines, goal });
        Some(pass.next..pass.index_end.min(pass.next.saturating_add(WORLD_EVENTS_PER_SLICE)))
    }

    /// Those lines have heard everything.
    pub(super) fn mark_sent(&mut self, portion: &Range<u32>, now: Instant) {
        let Some(pass) = &mut self.pass else { return };
        pass.next = portion.end;
        if pass.next < pass.index_end {
            self.sent_at = Some(now);
            return;
        }
        // Whoever came meanwhile has heard of it by coming.
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

    /// Tells portion after portion, each of which takes so long, until nothing is left; when each went out, and its lines.
    #[track_caller]
    fn check(lines: u32, took: Duration, want: &[(u64, Range<u32>)]) {
        let start = Instant::now();
        let (mut bulletin, mut now, mut told_at) = (BroadcastLog::new(start), start, start);
        bulletin.publish("a round began");
        let mut found = Vec::new();
        while let Some(due) = bulletin.due(now) {
            now = now.max(due);
            if let Some(portion) = bulletin.next_portion(lines, now >= told_at, now) {
                bulletin.mark_sent(&portion, now);
                told_at = now + took;
                found.push(((now - start).as_millis() as u64, portion));
            }
        }
        assert_eq!(found, want);
    }

    #[test]
    fn portions_leave_tellers_most_of_their_time() {
        check(0, MS, &[(0, 0..0)]);
        check(64, MS, &[(0, 0..64)]);
        check(65, MS, &[(0, 0..64), (10, 64..65)]);
        check(150, 3 * MS, &[(0, 0..64), (30, 64..128), (60, 128..150)]);
        // However long it takes, it goes on.
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
        /// Whoever stays hears everything that happens after he came, once and in order; and nothing is kept that all have heard.
        #[test]
        fn everybody_hears_everything_once_and_in_order(events in events()) {
            let mut now = Instant::now();
            let mut bulletin = BroadcastLog::new(now);
            // Of each line: since when it is here, and what it has heard.
            let mut lines = vec![(0, Vec::new()); 150];
            let mut published = 0_u64;
            let hear = |bulletin: &BroadcastLog<u64>, line: &mut (u64, Vec<u64>)| {
                let heard = line.0 + line.1.len() as u64;
                line.1.extend(bulletin.since(heard));
            };
            let portion = |bulletin: &mut BroadcastLog<u64>, lines: &mut Vec<(u64, Vec<u64>)>, now: Instant| {
                if let Some(portion) = bulletin.next_portion(lines.len() as u32, true, now) {
                    portion.clone().for_each(|line| hear(bulletin, &mut lines[line as usize]));
                    bulletin.mark_sent(&portion, now);
                }
            };
            for event in events {
                now += MS;
                match event {
                    Event::Publish => {
                        bulletin.publish(published);
                        published += 1;
                    }
                    Event::Portion => portion(&mut bulletin, &mut lines, now),
                    Event::Answer(line) => {
                        let count = lines.len();
                        hear(&bulletin, &mut lines[line as usize % count]);
                    }
                    Event::Come(line) => match lines.get_mut(line as usize) {
                        Some(there) => *there = (bulletin.next_number(), Vec::new()),
                        None => lines.push((bulletin.next_number(), Vec::new())),
                    },
                }
                prop_assert_eq!(bulletin.next_number(), published);
            }
            while let Some(due) = bulletin.due(now) {
                now = now.max(due) + MS;
                portion(&mut bulletin, &mut lines, now);
            }
            for (since, heard) in lines {
                prop_assert_eq!(heard, (since..published).collect::<Vec<u64>>());
            }
        }
    }
}
