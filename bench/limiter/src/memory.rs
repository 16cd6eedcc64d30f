//! What a key of GCRA costs, and that the memory comes back: fills a limiter, lets all keys expire, sweeps, and prints
//! what the process held at each step. Takes the number of keys; prints one row a step.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use limiter::{Budget, Capacity, Gcra, Keyed, Moment, Quota, Seed, WhenFull};

#[global_allocator]
static JEMALLOC: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The options of the `gauntlet` binary, so that what is measured here is what it holds.
#[expect(unsafe_code, reason = "jemalloc finds its options under this name only; nothing else can have the name")]
#[unsafe(export_name = "_rjem_malloc_conf")]
#[used]
static OPTIONS: &[u8; 73] = b"background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:1000,narenas:2\0";

const KEYS_DEFAULT: u64 = 10_000_000;
const WINDOW: Duration = Duration::from_secs(60);

fn main() {
    let keys = std::env::args().nth(1).map_or(KEYS_DEFAULT, |keys| keys.parse().expect("a number of keys"));
    let room = Arc::new(Budget::new(Capacity { keys_max: keys as usize, timestamps_max: 0 }));
    let quota = Quota::new(100, WINDOW).expect("a limit and a window");
    let keyed = Keyed::<Gcra>::new(quota, room, WhenFull::Deny, Seed::new([7; 32]));
    let base_bytes = resident_bytes();
    println!("empty           {:>12} bytes, {} shards", base_bytes, keyed.shards());

    let began = Instant::now();
    let now = Moment::after(Duration::from_secs(1));
    let allowed = (0..keys).filter(|key| keyed.check(&name(*key), 1, now).is_allowed()).count();
    let (held_bytes, took) = (resident_bytes() - base_bytes, began.elapsed());
    let each = held_bytes as f64 / keys as f64;
    println!("{allowed} keys   {held_bytes:>12} bytes, {each:.1} a key of 16 bytes; in {:.1} s", took.as_secs_f64());

    let (forgotten, mut took) = sweep(&keyed, now.plus(WINDOW));
    took.sort_unstable();
    let [median, longest] = [took[took.len() / 2], took[took.len() - 1]].map(|took| took.as_secs_f64() * 1_000.0);
    println!("{forgotten} forgotten, a shard at a time: {median:.2} ms each (median), {longest:.2} ms at most");
    println!("swept           {:>12} bytes above empty", settled_bytes().saturating_sub(base_bytes));
}

/// A key of 16 bytes.
fn name(key: u64) -> [u8; 16] {
    u128::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835).to_le_bytes()
}

/// Sweeps all shards; how many keys went, and how long each took.
fn sweep(keyed: &Keyed<Gcra>, now: Moment) -> (usize, Vec<Duration>) {
    let sweep_one = |_| {
        let began = Instant::now();
        (keyed.sweep(1, now), began.elapsed())
    };
    let swept: Vec<(usize, Duration)> = (0..keyed.shards()).map(sweep_one).collect();
    (swept.iter().map(|one| one.0).sum(), swept.into_iter().map(|one| one.1).collect())
}

/// Resident memory when the allocator has returned what it wants to: the least of ten seconds.
fn settled_bytes() -> u64 {
    let looks = (0..20).map(|_| {
        thread::sleep(Duration::from_millis(500));
        resident_bytes()
    });
    looks.min().unwrap_or_else(resident_bytes)
}

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells what a process holds");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line of resident memory");
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number of kilobytes");
    kib * 1_024
}
