//! Shared by all simulation tests: which seeds are taken, and the delays that bring an append behind its lease.

use engine::limits::LEASE_DURATION;
use sim::Faults;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Fresh seeds: as many as `SIM_SEEDS` says, or so many without it. The seed of a failure is printed and belongs into
/// its test's list.
pub(crate) fn fresh_seeds(usually: u64) -> impl Iterator<Item = u64> {
    let count = std::env::var("SIM_SEEDS").ok().and_then(|count| count.parse().ok()).unwrap_or(usually);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later than 1970").as_nanos() as u64;
    (0..count).map(move |at| now.wrapping_add(at))
}

/// Appends that arrive just after another process has claimed what they are about, and before it has written anything: nothing but the
/// epoch refuses them.
pub(crate) fn delay_appends_beyond_the_lease(faults: &mut Faults) {
    faults.commit_delayed_per_mille = 60;
    faults.delay_min = LEASE_DURATION;
    faults.delay_max = LEASE_DURATION + Duration::from_millis(1_200);
    faults.process_fault_interval = Some(Duration::from_secs(2));
}
