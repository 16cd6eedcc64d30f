//! Real threads on the same keys: exactly the limit, and counts that are exact when all have gone.
#![expect(clippy::unwrap_used, reason = "a test tells what is wrong by failing")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use limiter::{Budget, Capacity, Counter, Gcra, Keyed, Log, Moment, Quota, Seed, State, WhenFull};

const NOW: Moment = Moment(10_000_000_000);

fn keyed<S: State>(limit: u64, keys_max: usize) -> (Keyed<S>, Arc<Budget>) {
    let room = Arc::new(Budget::new(Capacity { keys_max, timestamps_max: 1_000_000 }));
    let quota = Quota::new(limit, Duration::from_secs(60)).unwrap();
    (Keyed::new(quota, Arc::clone(&room), WhenFull::Deny, Seed::new([5; 32])), room)
}

/// Limit 50, a hundred calls at once: fifty pass.
fn exactly_the_limit<S: State + Sync>() {
    for _ in 0..100 {
        let (keyed, _) = keyed::<S>(50, 1_000);
        let allowed = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let passed = (0..25).filter(|_| keyed.check(b"key", 1, NOW).is_allowed()).count();
                    allowed.fetch_add(passed, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(allowed.into_inner(), 50);
    }
}

#[test]
fn exactly_the_limit_passes() {
    exactly_the_limit::<Log>();
    exactly_the_limit::<Gcra>();
    exactly_the_limit::<Counter>();
}

/// Threads that add keys, one by one and many at once, one that sweeps and one that edits: never more keys than there is room
/// for, and none at the end.
fn room_is_exact<S: State + Sync>() {
    let (keyed, room) = keyed::<S>(2, 500);
    let later = |round: u64| Moment(NOW.0 + round * 10_000_000_000);
    thread::scope(|scope| {
        let (keyed, room) = (&keyed, &room);
        for thread in 0..3_u64 {
            scope.spawn(move || {
                let mut decisions = Vec::new();
                for round in 0..40 {
                    let keys: Vec<[u8; 16]> =
                        (0..100).map(|n| u128::from(n * 3 + thread + round * 7).to_le_bytes()).collect();
                    let asks: Vec<(&[u8], u64)> = keys.iter().map(|key| (key.as_slice(), 1)).collect();
                    keyed.check_many(&asks, later(round), &mut decisions);
                    keys.iter().for_each(|key| decisions.push(keyed.check(key, 1, later(round))));
                    assert!(room.keys() <= 500 && room.timestamps() <= 1_000_000);
                }
            });
        }
        scope.spawn(move || {
            for round in 0..40 {
                keyed.sweep(keyed.shards(), later(round));
                keyed.set_quota(Quota::new(2 + round % 2, Duration::from_secs(60)).unwrap(), later(round));
            }
        });
    });
    assert_eq!((room.keys(), room.timestamps()), (keyed.keys(), keyed.timestamps()));
    keyed.sweep(keyed.shards(), later(1_000));
    assert_eq!((room.keys(), room.timestamps()), (0, 0));
}

#[test]
fn room_is_exact_among_threads() {
    room_is_exact::<Log>();
    room_is_exact::<Gcra>();
    room_is_exact::<Counter>();
}
