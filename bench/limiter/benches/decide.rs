//! Decisions a second on one core, a million keys of 16 bytes in random order. Every call hashes its key and reads a clock, as
//! a server must; a batch reads it once. About half the calls are allowed.
//!
//! Three clocks: `std` is `Instant::now`, which waits until all loads before it have come, so that no two calls overlap; `tsc` is
//! the time-stamp counter by quanta, which does not; `coarse` is the kernel's, which moves by a tick of some milliseconds and
//! costs next to nothing: for limits whose windows are longer than that. Pin it to a core (`taskset -c 1`) of a machine that is otherwise idle: what
//! is measured is the memory more than the processor.

use std::hint::black_box;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use limiter::{Budget, Capacity, Counter, Gcra, Keyed, Log, Moment, Quota, Seed, State, WhenFull};
use rustix::time::{ClockId, clock_gettime};

#[global_allocator]
static JEMALLOC: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const KEYS: usize = 1_000_000;
/// Logs of 100 timestamps take 800 bytes each.
const LOGS: usize = 100_000;
const BATCH: usize = 64;

type Key = [u8; 16];

/// All keys once, in random order.
fn keys() -> Vec<Key> {
    let mut dice = 0x9e37_79b9_7f4a_7c15_u64;
    let mut keys: Vec<Key> =
        (0..KEYS).map(|n| format!("{n:016x}").into_bytes().try_into().expect("16 digits")).collect();
    for at in (1..KEYS).rev() {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        keys.swap(at, (dice >> 33) as usize % (at + 1));
    }
    keys
}

fn quota(limit: u64, window: Duration) -> Quota {
    Quota::new(limit, window).expect("a limit and a window")
}

fn keyed<S: State>(quota: Quota) -> Keyed<S> {
    let room = Arc::new(Budget::new(Capacity { keys_max: 2 * KEYS, timestamps_max: 200 * LOGS }));
    Keyed::new(quota, room, WhenFull::Deny, Seed::new([7; 32]))
}

/// A call for each key, again and again; the first round, which fills the tables, is not measured.
fn each(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, keys: &[Key], mut call: impl FnMut(&Key)) {
    keys.iter().for_each(&mut call);
    group.throughput(Throughput::Elements(1));
    let mut stream = keys.iter().cycle();
    group.bench_function(name, |bencher| bencher.iter(|| call(stream.next().expect("a cycle does not end"))));
}

/// The same in batches.
fn many(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    keys: &[Key],
    keyed: &Keyed<Gcra>,
    now: impl Fn() -> Moment,
) {
    let asks: Vec<(&[u8], u64)> = keys.iter().map(|key| (key.as_slice(), 1)).collect();
    let mut batches = asks.chunks_exact(BATCH).cycle();
    let mut decisions = Vec::with_capacity(BATCH);
    group.throughput(Throughput::Elements(BATCH as u64));
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            decisions.clear();
            keyed.check_many(batches.next().expect("a cycle does not end"), now(), &mut decisions);
            black_box(&decisions);
        });
    });
}

fn decide(criterion: &mut Criterion) {
    let keys = keys();
    let five = quota(5, Duration::from_secs(1));
    let origin = Instant::now();
    let std = || Moment::after(origin.elapsed());
    let counter = quanta::Clock::new();
    let begin = counter.raw();
    let tsc = || Moment(counter.delta_as_nanos(begin, counter.raw()));
    let coarse = || {
        let now = clock_gettime(ClockId::MonotonicCoarse);
        Moment(now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs())
    };

    let mut group = criterion.benchmark_group("decide");
    group.sample_size(20).measurement_time(Duration::from_secs(5));
    each(&mut group, "clock std", &keys, |_| _ = black_box(std()));
    each(&mut group, "clock tsc", &keys, |_| _ = black_box(tsc()));
    each(&mut group, "clock coarse", &keys, |_| _ = black_box(coarse()));

    let gcra = keyed::<Gcra>(five);
    each(&mut group, "gcra std", &keys, |key| _ = black_box(gcra.check(key, 1, std())));
    each(&mut group, "gcra std, 1000 keys", &keys[..1_000], |key| _ = black_box(gcra.check(key, 1, std())));
    many(&mut group, "gcra std, batches of 64", &keys, &gcra, std);
    drop(gcra);
    let gcra = keyed::<Gcra>(five);
    each(&mut group, "gcra coarse", &keys, |key| _ = black_box(gcra.check(key, 1, coarse())));
    drop(gcra);
    let gcra = keyed::<Gcra>(five);
    each(&mut group, "gcra tsc", &keys, |key| _ = black_box(gcra.check(key, 1, tsc())));
    drop(gcra);
    let sliding = keyed::<Counter>(five);
    each(&mut group, "counter tsc", &keys, |key| _ = black_box(sliding.check(key, 1, tsc())));
    drop(sliding);

    let log = keyed::<Log>(quota(100, Duration::from_secs(2)));
    keys[..LOGS].iter().for_each(|key| _ = log.check(key, 100, tsc()));
    each(&mut group, "log of 100 stamps tsc, 100000 keys", &keys[..LOGS], |key| {
        _ = black_box(log.check(key, 1, tsc()));
    });
    drop(log);

    let governor = governor::RateLimiter::dashmap(governor::Quota::per_second(NonZeroU32::new(5).expect("not zero")));
    each(&mut group, "governor 0.10 tsc", &keys, |key| _ = black_box(governor.check_key(key)));
}

criterion_group!(benches, decide);
criterion_main!(benches);
