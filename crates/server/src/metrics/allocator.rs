//! What the allocator says of itself. Which one it is, the binary knows: it hands in how to ask.

use super::text::Page;
use std::sync::OnceLock;

/// What an allocator has done and holds.
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

/// How the allocator of this process is asked. The first who says so is heard.
pub fn set_allocator_stats_source(ask: fn() -> Option<AllocatorStats>) {
    let _ = STATS_SOURCE.set(ask);
}

impl AllocatorStats {
    /// What it says now; `None` when nobody knows how to ask it.
    #[must_use]
    pub fn read() -> Option<Self> {
        STATS_SOURCE.get().and_then(|ask| ask())
    }

    pub(crate) fn expose(self, page: &mut Page) {
        let figures = [
            ("gauntlet_allocations_total", "Allocations of memory.", "counter", self.allocations),
            ("gauntlet_allocated_bytes", "Memory that the program holds, in bytes.", "gauge", self.allocated_bytes),
            (
                "gauntlet_allocator_metadata_bytes",
                "Memory of the allocator's own records, in bytes.",
                "gauge",
                self.metadata_bytes,
            ),
            (
                "gauntlet_allocator_resident_bytes",
                "Memory that the allocator keeps, for the program or for later, in bytes.",
                "gauge",
                self.resident_bytes,
            ),
        ];
        figures.into_iter().for_each(|(name, help, kind, value)| page.number(name, help, kind, Some(value)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allocator_that_can_be_asked_is_on_the_page() {
        let said = AllocatorStats { allocations: 1, allocated_bytes: 2, metadata_bytes: 3, resident_bytes: 4 };
        let mut page = Page::default();
        said.expose(&mut page);
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
