//! The allocator's statistics. The binary knows which allocator it uses, and provides the function that reads them.

use super::text::{FamilyKind, Page};
use std::sync::OnceLock;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllocatorStats {
    /// Allocations so far.
    pub allocations: u64,
    /// Bytes that the program holds.
    pub allocated_bytes: u64,
    /// Bytes of the allocator's own records.
    pub metadata_bytes: u64,
    /// Bytes that the allocator keeps in memory, for the program or for later.
    pub resident_bytes: u64,
}

static STATS_SOURCE: OnceLock<fn() -> Option<AllocatorStats>> = OnceLock::new();

/// Sets how the allocator's statistics are read. Only the first call counts.
pub fn set_allocator_stats_source(read_stats: fn() -> Option<AllocatorStats>) {
    let _ = STATS_SOURCE.set(read_stats);
}

impl AllocatorStats {
    /// The current statistics; `None` without a source.
    #[must_use]
    pub fn read() -> Option<Self> {
        STATS_SOURCE.get().and_then(|read_stats| read_stats())
    }

    pub fn expose(self, page: &mut Page) {
        let metrics = [
            ("gauntlet_allocations_total", "Allocations of memory.", FamilyKind::Counter, self.allocations),
            (
                "gauntlet_allocated_bytes",
                "Memory that the program holds, in bytes.",
                FamilyKind::Gauge,
                self.allocated_bytes,
            ),
            (
                "gauntlet_allocator_metadata_bytes",
                "Memory of the allocator's own records, in bytes.",
                FamilyKind::Gauge,
                self.metadata_bytes,
            ),
            (
                "gauntlet_allocator_resident_bytes",
                "Memory that the allocator keeps, for the program or for later, in bytes.",
                FamilyKind::Gauge,
                self.resident_bytes,
            ),
        ];
        metrics.into_iter().for_each(|(name, help, kind, value)| page.number(name, help, kind, Some(value)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allocator_with_statistics_is_on_the_page() {
        let stats = AllocatorStats { allocations: 1, allocated_bytes: 2, metadata_bytes: 3, resident_bytes: 4 };
        let mut page = Page::default();
        stats.expose(&mut page);
        let text = page.into_text();
        let samples: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
        let want = [
            "gauntlet_allocations_total 1",
            "gauntlet_allocated_bytes 2",
            "gauntlet_allocator_metadata_bytes 3",
            "gauntlet_allocator_resident_bytes 4",
        ];
        assert_eq!(samples, want);
    }
}
