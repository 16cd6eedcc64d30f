//! Decisions a second on one core. Every call reads the clock and hashes its key, as a server must.
//!
//! A million keys of 16 bytes in random order, and a quota of which half the calls get what they ask for.

use std::hint::black_box;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime};
use limiter::{Capacity, Counter, Gcra, Keyed, Log, Moment, Quota, Room, Seed, State, WhenFull};

const KEYS: usize = 1_000_000;

type Key = [u8; 16];

fn keys() -> Vec<Key> {
    let mut dice = 0x9e37_79b9_7f4a_7c15_u64;
    let mut keys: Vec<Key> = (0..KEYS).map(|n| format!("{n:016x}").into_bytes().try_into().expect("16")).collect();
    for at in (1..KEYS).rev() {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        keys.swap(at, (dice >> 33) as usize % (at + 1));
    }
    keys
}

fn keyed<S: State>(quota: Quota) -> Keyed<S> {
    let room = Arc::new(Room::new(Capacity { keys_max: 2 * KEYS, stamps_max: 200 * KEYS }));
    Keyed::new(quota, room, WhenFull::Deny, Seed::new([7; 32]))
}

/// One call a key, again and again.
fn each(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, keys: &[Key], mut call: impl FnMut(&Key)) {
    keys.iter().for_each(&mut call);
    group.bench_function(name, |bencher| {
        let mut stream = keys.iter().cycle();
        bencher.iter_custom(|calls| {
            let began = Instant::now();
            for _ in 0..calls {
                call(stream.next().expect("a cycle does not end"));
            }
            began.elapsed()
        });
    });
}

fn decide(criterion: &mut Criterion) {
    let keys = keys();
    let quota = Quota::new(5, Duration::from_secs(1)).expect("a limit and a window");
    let origin = Instant::now();
    let now = || Moment::after(origin.elapsed());
    let mut group = criterion.benchmark_group("decide");
    group.throughput(Throughput::Elements(1)).sample_size(20).measurement_time(Duration::from_secs(5));
    each(&mut group, "clock", &keys, |key| {
        black_box((now(), key));
    });
    let gcra = keyed::<Gcra>(quota);
    each(&mut group, "gcra", &keys, |key| {
        black_box(gcra.check(key, 1, now()));
    });
    let counter = keyed::<Counter>(quota);
    each(&mut group, "counter", &keys, |key| {
        black_box(counter.check(key, 1, now()));
    });
    let hundred = Quota::new(100, Duration::from_secs(20)).expect("a limit and a window");
    let log = keyed::<Log>(hundred);
    each(&mut group, "log", &keys, |key| {
        black_box(log.check(key, 1, now()));
    });
    let per_second = governor::Quota::per_second(NonZeroU32::new(5).expect("not zero"));
    let governor = governor::RateLimiter::dashmap(per_second);
    each(&mut group, "governor", &keys, |key| {
        black_box(governor.check_key(key).is_ok());
    });
}

criterion_group!(benches, decide);
criterion_main!(benches);
