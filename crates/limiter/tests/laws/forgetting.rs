//! Forgetting idle keys admits nothing more, and the budget is counted exactly.

use std::sync::Arc;

use limiter::{Budget, Capacity, Decision, Gcra, Keyed, Log, Moment, Quota, State, WhenFull};
use proptest::prelude::*;

use crate::for_each_algorithm;
use crate::support::{keyed, keyed_in, later, quota, quotas};

/// One step in the life of many keys.
#[derive(Clone, Debug)]
enum Step {
    Check { key: u8, cost: u64 },
    Sweep { shards: usize },
    Quota { quota: Quota },
    Override { key: u8, quota: Quota },
    NoOverride { key: u8 },
}

fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
    let key = 0_u8..40;
    let step = prop_oneof![
        12 => (key.clone(), 0_u64..5).prop_map(|(key, cost)| Step::Check { key, cost }),
        4 => (0_usize..20).prop_map(|shards| Step::Sweep { shards }),
        1 => quotas().prop_map(|quota| Step::Quota { quota }),
        1 => (key.clone(), quotas()).prop_map(|(key, quota)| Step::Override { key, quota }),
        1 => key.prop_map(|key| Step::NoOverride { key }),
    ];
    prop::collection::vec((0_u64..60, step), 1..150)
}

/// Short and long ones.
fn key(number: u8) -> Vec<u8> {
    vec![number; usize::from(number)]
}

fn live<S: State>(keyed: &Keyed<S>, step: &Step, now: Moment) -> Option<Decision> {
    match step {
        Step::Check { key: number, cost } => return Some(keyed.check(&key(*number), *cost, now)),
        Step::Sweep { .. } => {}
        Step::Quota { quota } => keyed.set_quota(*quota, now),
        Step::Override { key: number, quota } => keyed.set_override(&key(*number), *quota, now).unwrap(),
        Step::NoOverride { key: number } => {
            keyed.remove_override(&key(*number), now);
        }
    }
    None
}

fn sweeps_change_no_decision<S: State>(steps: &[(u64, Step)]) -> Result<(), TestCaseError> {
    let (swept, kept) = (keyed::<S>(quota(4, 100)), keyed::<S>(quota(4, 100)));
    let mut now = Moment(1_000);
    for (gap, step) in steps {
        now = later(now, *gap);
        if let Step::Sweep { shards } = step {
            swept.sweep(*shards, now);
        }
        prop_assert_eq!(live(&swept, step, now), live(&kept, step, now), "{:?} at {:?}", step, now);
        prop_assert!(swept.keys() <= kept.keys());
    }
    Ok(())
}

/// Never more than there is room for; and when all is over, nothing is held.
fn room_is_exact<S: State>(steps: &[(u64, Step)], when_full: WhenFull) -> Result<(), TestCaseError> {
    let room = Arc::new(Budget::new(Capacity { keys_max: 6, timestamps_max: 20 }));
    let keyed = keyed_in::<S>(quota(4, 100), Arc::clone(&room), when_full);
    let mut now = Moment(1_000);
    for (gap, step) in steps {
        now = later(now, *gap);
        if let Step::Sweep { shards } = step {
            keyed.sweep(*shards, now);
        }
        let decision = live(&keyed, step, now);
        prop_assert!(decision != Some(Decision::Full) || when_full == WhenFull::Deny);
        prop_assert!(room.keys() <= 6 && room.timestamps() <= 20, "{:?}", room);
        prop_assert_eq!((room.keys(), room.timestamps()), (keyed.keys(), keyed.timestamps()));
    }
    let forgotten = keyed.keys();
    prop_assert_eq!(keyed.sweep(keyed.shards(), later(now, 1_000_000)), forgotten);
    prop_assert_eq!((room.keys(), room.timestamps()), (0, 0));
    Ok(())
}

proptest! {
    #[test]
    fn forgetting_admits_nothing_more(steps in steps()) {
        for_each_algorithm!(sweeps_change_no_decision(&steps));
    }

    #[test]
    fn room_is_counted_exactly(steps in steps(), admits in any::<bool>()) {
        let when_full = if admits { WhenFull::Admit } else { WhenFull::Deny };
        for_each_algorithm!(room_is_exact(&steps, when_full));
    }
}

/// A key beyond the last is denied, or admitted without being counted; one that is held is served as ever.
#[test]
fn full_is_full() {
    for (when_full, stranger) in [
        (WhenFull::Deny, Decision::Full),
        (WhenFull::Admit, Decision::Allow { remaining: 1, whole_at: Moment(11_000) }),
    ] {
        let room = Arc::new(Budget::new(Capacity { keys_max: 2, timestamps_max: 0 }));
        let keyed = keyed_in::<Gcra>(quota(2, 2_000), Arc::clone(&room), when_full);
        let now = Moment(10_000);
        assert!(keyed.check(b"one", 1, now).is_allowed());
        assert!(keyed.check(b"two", 2, now).is_allowed());
        for _ in 0..5 {
            assert_eq!(keyed.check(b"three", 1, now), stranger);
        }
        assert_eq!(keyed.check(b"three", 0, now), Decision::Allow { remaining: 2, whole_at: now });
        assert_eq!(keyed.check(b"three", 3, now), Decision::Never);
        assert!(keyed.check(b"one", 1, now).is_allowed());
        assert_eq!(keyed.check(b"one", 1, now), Decision::NotUntil { at: Moment(11_000) });
        assert_eq!(room.keys(), 2);
    }
}

/// A full shard removes its own idle keys, without a sweep: only a key whose shard has none does not fit.
#[test]
fn idle_keys_make_way() {
    let room = Arc::new(Budget::new(Capacity { keys_max: 10_000, timestamps_max: 0 }));
    let keyed = keyed_in::<Gcra>(quota(1, 1_000), Arc::clone(&room), WhenFull::Deny);
    let admitted = |round: u64| {
        let now = Moment(1_000_000 + round * 2_000);
        let key = |n: u64| format!("{round}-{n}");
        (0..10_000).filter(|n| keyed.check(key(*n).as_bytes(), 1, now).is_allowed()).count()
    };
    let rounds = [admitted(0), admitted(1), admitted(2)];
    assert!(rounds[0] == 10_000 && rounds.iter().all(|admitted| *admitted > 9_500), "{rounds:?}");
    let held = room.keys();
    assert_eq!((keyed.sweep(keyed.shards(), Moment(2_000_000)), room.keys()), (held, 0));
}

/// Timestamps count as well: a log without budget for them is denied and stores nothing.
#[test]
fn stamps_are_room() {
    let room = Arc::new(Budget::new(Capacity { keys_max: 10, timestamps_max: 10 }));
    let keyed = keyed_in::<Log>(quota(1_000_000, 1_000), Arc::clone(&room), WhenFull::Deny);
    assert_eq!(keyed.check(b"many", 500_000, Moment(5_000)), Decision::Full);
    assert_eq!((room.keys(), room.timestamps()), (0, 0));
    assert!(keyed.check(b"some", 8, Moment(5_000)).is_allowed());
    assert_eq!(keyed.check(b"more", 8, Moment(5_000)), Decision::Full);
    assert_eq!(keyed.sweep(keyed.shards(), Moment(6_000)), 1);
    assert!(keyed.check(b"more", 8, Moment(6_000)).is_allowed());
    assert_eq!((room.keys(), room.timestamps()), (1, 8));
}

/// A window longer than all others survives every sweep.
#[test]
fn a_longer_window_survives_sweeps() {
    let keyed = keyed::<Log>(quota(2, 1_000));
    keyed.set_override(b"slow", quota(1, 1_000_000), Moment(0)).unwrap();
    assert!(keyed.check(b"slow", 1, Moment(5_000)).is_allowed());
    assert!(keyed.check(b"fast", 1, Moment(5_000)).is_allowed());
    assert_eq!(keyed.sweep(keyed.shards(), Moment(900_000)), 1);
    assert_eq!(keyed.check(b"slow", 1, Moment(900_000)), Decision::NotUntil { at: Moment(1_005_000) });
    assert_eq!(keyed.sweep(keyed.shards(), Moment(1_005_000)), 1);
}

/// What counts no longer gives its room back.
#[test]
fn room_comes_back_when_counts_go() {
    let room = Arc::new(Budget::new(Capacity { keys_max: 10, timestamps_max: 100 }));
    let keyed = keyed_in::<Log>(quota(5, 1_000), Arc::clone(&room), WhenFull::Deny);
    assert!(keyed.check(b"key", 3, Moment(5_000)).is_allowed());
    assert!(room.keys() == 1 && room.timestamps() >= 3);
    drop(keyed);
    assert_eq!((room.keys(), room.timestamps()), (0, 0));
}
