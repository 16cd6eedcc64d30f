//! Shared by all simulation tests: which seeds are taken.

use std::time::{SystemTime, UNIX_EPOCH};

/// The seeds that failed once, and then fresh ones: as many as `SIM_SEEDS` says, or so many without it. The seed of a failure is
/// printed and belongs into its test's list.
pub(crate) fn failed_and_fresh_seeds(failed_once: &[u64], usually: u64) -> impl Iterator<Item = u64> {
    let count = std::env::var("SIM_SEEDS").ok().and_then(|count| count.parse().ok()).unwrap_or(usually);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later than 1970").as_nanos() as u64;
    failed_once.iter().copied().chain((0..count).map(move |at| now.wrapping_add(at)))
}
