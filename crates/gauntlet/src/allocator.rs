//! The allocator, how soon it returns memory to the system, and its statistics.

use metrics::AllocatorStats;

#[cfg(feature = "jemalloc")]
#[global_allocator]
static JEMALLOC: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// What jemalloc reads before its first allocation. Freed pages go back to the system after a second, also when nothing is
/// allocated any more; two arenas, since a handful of threads gains nothing from more and each keeps pages of its own.
#[cfg(feature = "jemalloc")]
#[expect(unsafe_code, reason = "jemalloc finds its options under this name only; nothing else can have the name")]
#[unsafe(export_name = "_rjem_malloc_conf")]
#[used]
static OPTIONS: &[u8; 73] = b"background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:1000,narenas:2\0";

/// What the allocator counts; nothing of the system's.
pub(crate) fn allocator_stats() -> Option<AllocatorStats> {
    #[cfg(feature = "jemalloc")]
    return read_stats().ok();
    #[cfg(not(feature = "jemalloc"))]
    None
}

/// The sums over all arenas, as of now. A thread's own cache hands its counts on now and then: they may lag a little.
#[cfg(feature = "jemalloc")]
fn read_stats() -> tikv_jemalloc_ctl::Result<AllocatorStats> {
    use tikv_jemalloc_ctl::{Access, AsName, epoch, stats};
    // 4096 stands for all arenas together (jemalloc(3), MALLCTL_ARENAS_ALL).
    const SMALL: &[u8] = b"stats.arenas.4096.small.nrequests\0";
    const LARGE: &[u8] = b"stats.arenas.4096.large.nrequests\0";
    epoch::advance()?;
    let (small, large): (u64, u64) = (SMALL.name().read()?, LARGE.name().read()?);
    Ok(AllocatorStats {
        allocations: small + large,
        allocated_bytes: stats::allocated::read()? as u64,
        metadata_bytes: stats::metadata::read()? as u64,
        resident_bytes: stats::resident::read()? as u64,
    })
}

#[cfg(all(test, feature = "jemalloc"))]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    fn what_is_allocated_is_counted() {
        const BYTES: usize = 64 * 1024 * 1024;
        let before = read_stats().unwrap();
        let held = black_box(vec![1_u8; BYTES]);
        let after = read_stats().unwrap();
        assert!(after.allocations > before.allocations, "{before:?} {after:?}");
        assert!(after.allocated_bytes >= before.allocated_bytes + BYTES as u64 / 2, "{before:?} {after:?}");
        assert!(after.resident_bytes >= held.len() as u64 && after.metadata_bytes > 0, "{after:?}");
    }
}
