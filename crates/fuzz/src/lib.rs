//! The parsers of bytes from outside, in one table, and what must hold for each of them whatever the bytes: no panic, memory in proportion
//! to the bytes, and what a target's own check demands (what is decoded encodes to the same bytes, bytes in pieces lead to what the same
//! bytes at once lead to). The program beside it lets libFuzzer search for bytes that break one of these; the tests run the kept corpus.
//!
//! Does not know how bytes are found.

pub mod memory;
mod pieces;
mod planted;
mod targets;

pub use pieces::Pieces;
pub use planted::PLANTED;
pub use targets::TARGETS;

use memory::MemoryBound;
use tikv_jemallocator::Jemalloc;

/// Counts what each thread allocates, which the system's allocator does not.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// One parser.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// As on the command line, and the name of its folder in the corpus.
    pub name: &'static str,
    /// Parses the bytes, and panics where something does not hold.
    pub check: fn(&[u8]),
    /// Bytes that it accepts, as they are written today: a search that began with none would only ever be refused.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// What one call of `check` may allocate in all.
    pub memory: MemoryBound,
}

impl Target {
    /// Runs the check within its memory.
    ///
    /// # Panics
    /// If something does not hold.
    pub fn run(&self, bytes: &[u8]) {
        let allocated = memory::allocated_by(|| (self.check)(bytes));
        let most = self.memory.for_bytes(bytes.len());
        assert!(
            allocated <= most,
            "{} allocated {allocated} bytes for an input of {}, and {most} are in proportion",
            self.name,
            bytes.len()
        );
    }
}

/// The target of this name, planted ones too.
#[must_use]
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().chain(PLANTED).find(|target| target.name == name)
}

#[cfg(test)]
mod tests;
