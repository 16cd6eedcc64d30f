//! Every limit of the limiter: a name with its unit, a sentence, and the relations that keep sums inside 64 bits.

/// Longest window: 146 years. A longer one is taken as this.
pub const WINDOW_NS_MAX: u64 = 1 << 62;
/// Most units of one quota. A larger limit is taken as this: no count gets so far.
pub const LIMIT_MAX: u64 = 1 << 62;
/// Policies in force at a time: each check looks at all of them.
pub const POLICIES_MAX: usize = 1_000;
/// Keys with an override, over all policies: they are kept until they are removed.
pub const OVERRIDES_MAX: usize = 100_000;
/// Longest pattern, in bytes.
pub const PATTERN_BYTES_MAX: usize = 256;

/// A call that comes this much later than a call with a later moment was slow; one that is further behind may mean that the
/// clock was set back.
pub(crate) const STRAGGLER_NS_MAX: u64 = 1_000_000_000;
/// Keys that one shard holds when a limiter is full: sweeping so many takes some tens of microseconds.
pub(crate) const SHARD_KEYS: usize = 8_192;
/// Keys that one check examines, of the shards that it has locked, to find idle ones when a limiter is full; it
/// finishes the shard that it has begun with. Idle keys of other shards are removed by the next sweep.
pub(crate) const ROOM_KEYS_MAX: usize = SHARD_KEYS;
/// Fewest shards: threads rarely meet at one.
pub(crate) const SHARDS_MIN: usize = 16;
/// Most shards of one policy: their heads still fit into a processor's nearest caches.
pub(crate) const SHARDS_MAX: usize = 4_096;
/// Most shards of all policies of a limiter, but for [`SHARDS_MIN`] each: their heads take 8 MiB.
pub(crate) const SHARDS_TOTAL_MAX: usize = 1 << 16;

// Because ceil(W / L) * L < W + L must not wrap, nor the sum of that and a moment of the first 292 years.
const _: () = assert!(WINDOW_NS_MAX <= (1 << 62) && LIMIT_MAX <= (1 << 62));
const _: () = assert!(SHARDS_MIN.is_power_of_two() && SHARDS_MAX.is_power_of_two() && SHARDS_MIN <= SHARDS_MAX);
// Because a limiter with as many policies as may be still has a choice.
const _: () = assert!(SHARDS_MIN * POLICIES_MAX <= SHARDS_TOTAL_MAX);
