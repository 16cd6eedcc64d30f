//! Many keys of one policy at one moment.
//!
//! A key that is looked up alone is waited for: its line of memory is seldom in the processor's caches. Here some keys
//! are looked up one right after the other, so that their lines come together, before the first of them is decided.

use crate::clock::ClockReading;
use crate::key::KeyProbe;
use crate::shard::Shard;
use crate::sync::MutexGuard;
use crate::{Decision, Keyed, Moment, State};

/// Keys that are looked up together: about as many lines of memory as a processor can wait for at once.
const BATCH_KEYS: usize = 32;

/// One of them: the requested cost, and its shard.
struct KeyCheck<'a> {
    probe: KeyProbe<'a>,
    cost: u64,
    shard: usize,
    lock_index: usize,
}

/// Locked shards, each with its own time.
type Locks<'a, S> = Vec<(MutexGuard<'a, Shard<S>>, ClockReading)>;

impl<S: State> Keyed<S> {
    /// Checks many keys, each for itself and in their order, as if one after the other at one moment; adds their decisions to
    /// `decisions`. Some shards are locked at a time.
    pub fn check_many(&self, checks: &[(&[u8], u64)], now: Moment, decisions: &mut Vec<Decision>) {
        let (mut some, mut order) = (Vec::with_capacity(BATCH_KEYS), Vec::with_capacity(BATCH_KEYS));
        let mut locks = Locks::with_capacity(BATCH_KEYS);
        decisions.reserve(checks.len());
        for together in checks.chunks(BATCH_KEYS) {
            some.extend(together.iter().map(|(key, cost)| self.key_check(key, *cost)));
            self.lock_all(&mut some, &mut order, &mut locks, now);
            some.iter().for_each(|check| locks[check.lock_index].0.prefetch(check.probe));
            decisions.extend(some.drain(..).map(|check| {
                let (shard, reading) = &mut locks[check.lock_index];
                shard.check(self.shared(), check.probe, check.cost, reading.now).shifted_back(reading.ahead_ns)
            }));
            locks.clear();
        }
    }

    fn key_check<'a>(&self, key: &'a [u8], cost: u64) -> KeyCheck<'a> {
        let probe = self.probe(key);
        KeyCheck { probe, cost, shard: self.shard_of(probe.hash), lock_index: 0 }
    }

    /// Takes all locks, in the one order in which all callers take them.
    fn lock_all<'s>(
        &'s self,
        checks: &mut [KeyCheck<'_>],
        order: &mut Vec<(u32, u32)>,
        locks: &mut Locks<'s, S>,
        now: Moment,
    ) {
        order.clear();
        order.extend(checks.iter().zip(0..).map(|(check, at)| (check.shard as u32, at)));
        order.sort_unstable();
        for same in order.chunk_by(|one, next| one.0 == next.0) {
            let mut shard = self.lock(same[0].0 as usize);
            let reading = shard.read_clock(now);
            same.iter().for_each(|(_, at)| checks[*at as usize].lock_index = locks.len());
            locks.push((shard, reading));
        }
    }
}
