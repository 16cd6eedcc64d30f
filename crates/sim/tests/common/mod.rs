//! Shared by all simulation tests: fresh seeds, and what must have gone wrong.

use sim::{FaultCounts, FaultKind};
use std::time::{SystemTime, UNIX_EPOCH};

/// So many seeds that were never tried. The seed of a failure is printed and belongs into its test's list; `make simulate` tries more.
pub(crate) fn fresh_seeds(count: u64) -> impl Iterator<Item = u64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later than 1970").as_nanos() as u64;
    (0..count).map(move |at| now.wrapping_add(at))
}

/// Each of these kinds went wrong several times, or the seeds prove nothing.
#[track_caller]
pub(crate) fn check_happened(all: impl Iterator<Item = FaultCounts> + Clone, kinds: &[FaultKind]) {
    for kind in kinds {
        let count: u32 = all.clone().map(|counts| counts.get(*kind)).sum();
        assert!(count >= 5, "{} happened {count} times: {:?}", kind.name(), all.collect::<Vec<_>>());
    }
}
