//! The allocator, and how soon it gives memory back.

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
