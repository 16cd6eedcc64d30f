//! When a world's snapshots begin: at a phase of their period that the world's id determines. So worlds that are loaded and filled at one
//! moment, in one process or in fifty on one disk, are not all written at one moment.

use engine::ids::WorldId;
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(super) struct SnapshotSchedule {
    first: Instant,
    period: Duration,
}

impl SnapshotSchedule {
    /// Every period from now on.
    pub(super) fn new(world: WorldId, period: Duration, now: Instant) -> Self {
        let period = period.max(Duration::from_micros(1));
        // The lowest bits of an id are random; those above hold its time and kind, which many have in common.
        let phase = (u128::from(world.0 as u32) * period.as_nanos()) >> u32::BITS;
        Self { first: now + Duration::from_nanos(u64::try_from(phase).unwrap_or(0)), period }
    }

    /// The first scheduled time after this moment: at most a period later.
    pub(super) fn next_after(&self, now: Instant) -> Instant {
        let since = now.checked_duration_since(self.first);
        since.map_or(self.first, |since| now + self.period - remainder(since, self.period))
    }
}

fn remainder(span: Duration, period: Duration) -> Duration {
    let nanos = span.as_nanos() % period.as_nanos();
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::time::UnixMs;

    const EVERY: Duration = Duration::from_secs(5);

    /// Checks a world's schedule after these moments, in milliseconds from when it was loaded.
    #[track_caller]
    fn check(world: u128, after_ms: &[u64], want_ms: &[u64]) {
        let now = Instant::now();
        let schedule = SnapshotSchedule::new(WorldId(world), EVERY, now);
        let after = |ms: &u64| (schedule.next_after(now + Duration::from_millis(*ms)) - now).as_millis() as u64;
        assert_eq!(after_ms.iter().map(after).collect::<Vec<_>>(), want_ms, "{world:x}");
    }

    #[test]
    fn snapshots_are_a_period_apart_and_a_world_has_its_own_phase() {
        check(0, &[0, 1, 4_999, 5_000, 12_000], &[5_000, 5_000, 5_000, 10_000, 15_000]);
        check(1 << 31, &[0, 2_499, 2_500, 2_501, 12_000], &[2_500, 2_500, 7_500, 7_500, 12_500]);
        check(u128::from(u32::MAX), &[0, 5_000], &[4_999, 9_999]);
        check(7 << 80 | 2 << 62 | 1 << 30, &[0, 1_250], &[1_250, 6_250]);
    }

    /// Fifty shards that are started and filled at once: nowhere do six snapshots begin within the share of one.
    #[test]
    fn worlds_that_begin_together_are_not_written_together() {
        let (now, worlds) = (Instant::now(), 53_u64);
        let id = |world: u64| {
            let mut drawn = [0; 10];
            drawn[2..].copy_from_slice(&world.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
            WorldId::new(UnixMs(1_700_000_000_000), drawn)
        };
        let mut firsts: Vec<Instant> =
            (1..=worlds).map(|world| SnapshotSchedule::new(id(world), EVERY, now).next_after(now)).collect();
        firsts.sort_unstable();
        let closest = firsts.windows(6).map(|some| some[5] - some[0]).min();
        assert!(closest > Some(EVERY / 53), "{closest:?}");
    }
}
