//! When viewers' views are due: no burst of views stands between two moves, and every viewer gets the rate that it asked for.

use super::super::subscribers::Subscribers;
use super::recording_sink::RecordingSink;
use engine::worlds::{MoverId, MoverRef};
use std::collections::BTreeMap;

const VIEWERS: u32 = 1_000;
const SLICE_US: u64 = 2_000;
/// Schedules are polled a little after whole slices, so that hardly a view is due at the very microsecond.
const OFFSET_US: u64 = 777;
/// From one round of a writer to the next.
const ROUND_US: u64 = 500;

/// `count` viewers who register in the same moment.
fn all_at_once(count: u32, per_s: u8) -> Subscribers {
    let mut subscribers = Subscribers::new(0);
    for slot in 0..count {
        let (occupancy, _) = subscribers.add(MoverRef { slot, id: MoverId(slot + 1) }, RecordingSink::new(), 0);
        let index = subscribers.index_of(occupancy).unwrap();
        subscribers.set_view_rate(index, Some(per_s), 0);
    }
    subscribers
}

/// The indexes of the views due until `now_us`.
fn turns(subscribers: &mut Subscribers, now_us: u64) -> Vec<u32> {
    std::iter::from_fn(|| subscribers.next_due_view(now_us).map(|(index, _)| index)).collect()
}

#[test]
fn viewers_who_come_at_once_are_spread_over_the_tick() {
    let mut subscribers = all_at_once(VIEWERS, 5);
    assert_eq!(turns(&mut subscribers, 0).len(), VIEWERS as usize, "every viewer sees something at once");
    for slice in 0..500 {
        let served = turns(&mut subscribers, slice * SLICE_US + OFFSET_US).len();
        assert!(served <= 2 * VIEWERS as usize / 100, "{served} in one of the hundred slices of a tick");
    }
}

/// A writer serves a bounded number in a round: viewers whose first view comes in a later round are spread as well.
#[test]
fn viewers_who_come_at_once_are_spread_however_many_rounds_their_first_view_takes() {
    let mut subscribers = all_at_once(VIEWERS, 5);
    for round in 0..10 {
        let served = (0..100).filter(|_| subscribers.next_due_view(round * ROUND_US).is_some()).count();
        assert_eq!(served, 100);
    }
    for slice in 10 * ROUND_US / SLICE_US + 1..500 {
        let served = turns(&mut subscribers, slice * SLICE_US + OFFSET_US).len();
        assert!(served <= 2 * VIEWERS as usize / 100, "{served} in one of the hundred slices of a tick");
    }
}

#[track_caller]
fn check(per_s: u8) {
    let mut subscribers = all_at_once(100, per_s);
    turns(&mut subscribers, 0);
    let mut seen: BTreeMap<u32, usize> = BTreeMap::new();
    for slice in 0..1_000 {
        for index in turns(&mut subscribers, slice * SLICE_US + OFFSET_US) {
            *seen.entry(index).or_default() += 1;
        }
    }
    let want = 2 * usize::from(per_s);
    assert_eq!(seen.len(), 100);
    assert!(seen.values().all(|count| (want - 1..=want + 1).contains(count)), "{per_s} a second: {seen:?}");
}

#[test]
fn every_viewer_gets_the_rate_it_asked_for() {
    [1, 2, 5, 20, 60].into_iter().for_each(check);
}
