//! How much a thread allocates while it does something. Memory that C code takes for itself is not counted.

use tikv_jemalloc_ctl::thread;

/// Most that may be allocated in all, whether it was given back or not: copying what was read again for each byte counts as well.
#[derive(Clone, Copy, Debug)]
pub struct MemoryBound {
    /// Whatever the input: tables, buffers of a fixed size, texts of errors.
    pub fixed: u64,
    /// For each byte of the input.
    pub per_byte: u64,
}

impl MemoryBound {
    /// What fits a parser that makes texts and lists of its input a few times over.
    pub const USUAL: Self = Self { fixed: 64 * 1024, per_byte: 256 };

    pub(crate) fn for_bytes(self, count: usize) -> u64 {
        self.fixed + self.per_byte * count as u64
    }
}

/// Bytes that this thread allocates during the call.
pub(crate) fn allocated_by(action: impl FnOnce()) -> u64 {
    let allocated = || thread::allocatedp::read().expect("jemalloc counts what each thread allocates").get();
    let before = allocated();
    action();
    allocated() - before
}
