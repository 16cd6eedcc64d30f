//! Interleavings of everything that may happen to the same keys at once, tried by shuttle: it chooses which thread
//! continues at every lock and every counter, and a deadlock is a failure.
#![expect(clippy::unwrap_used, reason = "a test tells what is wrong by failing")]

use std::sync::Arc;
use std::time::Duration;

use limiter::{
    Algorithm, Budget, Capacity, Counter, Decision, Gcra, Hit, Keyed, Limiter, Log, Moment, Outcome, Pattern, Policy,
    Quota, Seed, State, WhenFull,
};
use shuttle::thread;

const SCHEDULES: usize = 2_000;
const NOW: Moment = Moment(10_000_000_000);
const LATER: Moment = Moment(200_000_000_000);

fn quota(limit: u64) -> Quota {
    Quota::new(limit, Duration::from_secs(60)).unwrap()
}

fn keyed<S: State>(limit: u64, keys_max: usize) -> (Arc<Keyed<S>>, Arc<Budget>) {
    let room = Arc::new(Budget::new(Capacity { keys_max, timestamps_max: 1_000 }));
    let keyed = Keyed::new(quota(limit), Arc::clone(&room), WhenFull::Deny, Seed::new([5; 32]));
    (Arc::new(keyed), room)
}

fn joined<T: 'static>(threads: Vec<thread::JoinHandle<T>>) -> Vec<T> {
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

/// The quotas that are in force one after another during checks.
#[derive(Clone, Copy)]
struct Edits {
    policy: [u64; 3],
    own: u64,
    takes_back: bool,
}

/// There and back: what the log and the counter remember through every edit.
const DOWN_AND_UP: Edits = Edits { policy: [3, 2, 4], own: 1, takes_back: true };
/// Only upwards: what GCRA remembers, which forgets what is beyond a lowered limit.
const UP: Edits = Edits { policy: [2, 3, 4], own: 5, takes_back: false };

/// Three threads check one key, two units each, while one sweeps, one edits the quota, and one sets an override: the
/// largest quota is never exceeded.
fn checks_sweeps_and_edits<S: State + Sync + 'static>(edit: Edits) {
    let (keyed, room) = keyed::<S>(edit.policy[0], 100);
    let checks: Vec<_> = (0..3)
        .map(|_| {
            let keyed = Arc::clone(&keyed);
            thread::spawn(move || (0..2).filter(|_| keyed.check(b"key", 1, NOW).is_allowed()).count() as u64)
        })
        .collect();
    let sweeps = Arc::clone(&keyed);
    let edits = Arc::clone(&keyed);
    let overrides = Arc::clone(&keyed);
    let others = vec![
        thread::spawn(move || {
            sweeps.sweep(sweeps.shards(), NOW);
        }),
        thread::spawn(move || edit.policy[1..].iter().for_each(|limit| edits.set_quota(quota(*limit), NOW))),
        thread::spawn(move || {
            overrides.set_override(b"key", quota(edit.own), NOW).unwrap();
            if edit.takes_back {
                overrides.remove_override(b"key", NOW);
            }
        }),
    ];
    let allowed: u64 = joined(checks).into_iter().sum();
    joined(others);
    let most = edit.own.max(edit.policy[2]);
    assert!(allowed <= most, "{allowed} of at most {most}");
    let last = if edit.takes_back { edit.policy[2] } else { edit.own };
    assert_eq!(keyed.quota_of(b"key"), quota(last));
    let Decision::Allow { remaining, .. } = keyed.check(b"key", 0, NOW) else { panic!("a look is allowed") };
    assert_eq!(remaining, last.saturating_sub(allowed), "left after {allowed}");
    assert_eq!((room.keys(), room.timestamps()), (keyed.keys(), keyed.timestamps()));
}

#[test]
fn no_key_gets_more_than_the_largest_quota() {
    for edits in [DOWN_AND_UP, UP] {
        shuttle::check_random(move || checks_sweeps_and_edits::<Log>(edits), SCHEDULES);
        shuttle::check_random(move || checks_sweeps_and_edits::<Counter>(edits), SCHEDULES);
    }
    shuttle::check_random(|| checks_sweeps_and_edits::<Gcra>(UP), SCHEDULES);
}

/// Threads whose clocks differ: the moments that a shard counts by never fall, and the limit holds in each window of them.
#[test]
fn late_threads_do_not_move_the_clock() {
    let run = || {
        let (keyed, _) = keyed::<Log>(2, 100);
        let threads = [0, 1, 30, 59]
            .map(|late_s| {
                let keyed = Arc::clone(&keyed);
                thread::spawn(move || keyed.check(b"key", 1, Moment(LATER.0 - late_s * 1_000_000_000)).is_allowed())
            })
            .into_iter()
            .collect();
        let allowed = joined(threads).into_iter().filter(|allowed| *allowed).count();
        assert_eq!(allowed, 2);
    };
    shuttle::check_random(run, SCHEDULES);
}

/// More keys than there is room for, one by one and many at once, while idle ones are swept: never beyond the room, and exact
/// at the end.
fn room_is_exact<S: State + Sync + 'static>() {
    let (keyed, room) = keyed::<S>(1, 3);
    let single = Arc::clone(&keyed);
    let many = Arc::clone(&keyed);
    let sweeps = Arc::clone(&keyed);
    let watch = Arc::clone(&room);
    joined(vec![
        thread::spawn(move || {
            for key in [b"a", b"b", b"c"] {
                single.check(key, 1, NOW);
                assert!(watch.keys() <= 3);
            }
        }),
        thread::spawn(move || {
            let mut decisions = Vec::new();
            many.check_many(&[(b"c", 1), (b"d", 1), (b"a", 1)], LATER, &mut decisions);
            assert_eq!(decisions.len(), 3);
        }),
        thread::spawn(move || {
            sweeps.sweep(sweeps.shards(), LATER);
        }),
    ]);
    assert_eq!((room.keys(), room.timestamps()), (keyed.keys(), keyed.timestamps()));
    assert!(room.keys() <= 3);
    keyed.sweep(keyed.shards(), Moment(2 * LATER.0));
    assert_eq!((room.keys(), room.timestamps()), (0, 0));
}

#[test]
fn room_is_exact_in_every_order() {
    shuttle::check_random(room_is_exact::<Log>, SCHEDULES);
    shuttle::check_random(room_is_exact::<Gcra>, SCHEDULES);
}

fn policy(name: &str, algorithm: Algorithm) -> Policy {
    Policy {
        name: name.into(),
        class: Pattern::everything(),
        key: Pattern::everything(),
        algorithm,
        quota: quota(3),
        is_shadow: false,
        when_full: WhenFull::Deny,
    }
}

/// Hits in opposite orders, a set of policies whose order is reversed, sweeps and overrides: no thread waits for ever,
/// and what one policy was charged, the other was.
#[test]
fn many_policies_take_all_or_nothing() {
    let run = || {
        let limiter = Arc::new(Limiter::new(Capacity { keys_max: 100, timestamps_max: 100 }, Seed::new([5; 32])));
        let policies = vec![policy("one", Algorithm::Gcra), policy("two", Algorithm::Log)];
        limiter.set_policies(policies.clone(), NOW).unwrap();
        let checks = [["a", "b"], ["b", "a"], ["a", "a"]]
            .map(|keys| {
                let limiter = Arc::clone(&limiter);
                thread::spawn(move || {
                    let hits = keys.map(|key| Hit { class: "", key: key.as_bytes(), cost: 1 });
                    limiter.check(&hits, NOW).outcome == Outcome::Allowed
                })
            })
            .into_iter()
            .collect();
        let (edits, sweeps) = (Arc::clone(&limiter), Arc::clone(&limiter));
        let others = vec![
            thread::spawn(move || {
                edits.set_policies(policies.into_iter().rev().collect(), NOW).unwrap();
                edits.set_override("one", b"b", quota(2), NOW).unwrap();
            }),
            thread::spawn(move || {
                sweeps.sweep(sweeps.shards(), NOW);
            }),
        ];
        let allowed = joined(checks);
        joined(others);
        let used = |key: &str| {
            let ruling = limiter.check(&[Hit { class: "", key: key.as_bytes(), cost: 0 }], NOW);
            let used = ruling.decisions.iter().map(|part| match part.decision {
                Decision::Allow { remaining, .. } => part.quota.limit() - remaining,
                _ => panic!("a look is allowed"),
            });
            used.collect::<Vec<_>>()
        };
        let units: [u64; 3] = std::array::from_fn(|check| u64::from(allowed[check]));
        assert_eq!(used("a"), [units[0] + units[1] + 2 * units[2]; 2]);
        assert_eq!(used("b"), [units[0] + units[1]; 2]);
    };
    shuttle::check_random(run, SCHEDULES);
    shuttle::check_pct(run, SCHEDULES, 3);
}

/// A key is given a quota of its own while its policy changes to another algorithm: the new counts know it.
#[test]
fn no_override_is_lost_in_a_change_of_policies() {
    let run = || {
        let limiter = Arc::new(Limiter::new(Capacity { keys_max: 100, timestamps_max: 100 }, Seed::new([5; 32])));
        limiter.set_policies(vec![policy("one", Algorithm::Gcra)], NOW).unwrap();
        let (edits, overrides) = (Arc::clone(&limiter), Arc::clone(&limiter));
        joined(vec![
            thread::spawn(move || edits.set_policies(vec![policy("one", Algorithm::Log)], NOW).unwrap()),
            thread::spawn(move || overrides.set_override("one", b"b", quota(7), NOW).unwrap()),
        ]);
        let ruling = limiter.check(&[Hit { class: "", key: b"b", cost: 1 }], NOW);
        assert_eq!(ruling.decisions[0].quota, quota(7));
        assert_eq!(limiter.stats()[0].overrides, 1);
    };
    shuttle::check_random(run, SCHEDULES);
}
