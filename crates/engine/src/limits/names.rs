//! Limits of looking bots' names up.

use std::time::Duration;

/// Lookups under way at the same time: each may take two sockets.
pub const NAME_LOOKUPS_AT_ONCE: usize = 64;
/// The same under one registered domain: its dead names delay only its own.
pub const NAME_LOOKUPS_PER_DOMAIN: usize = 8;
/// Names that are looked up or wait for their turn. Beyond that a call could not be made by this server …
pub const NAME_LOOKUPS_WAITING_MAX: usize = 8_192;
/// … and beyond this many of one registered domain the calls to it are too late.
pub const NAME_LOOKUPS_WAITING_PER_DOMAIN: usize = 512;
/// How long a call waits for its lookup's turn.
pub const NAME_TURN_WAIT_MAX: Duration = Duration::from_secs(10);
/// How long one lookup may take, over both families, all servers and repetitions.
pub const NAME_LOOKUP_TIMEOUT: Duration = Duration::from_secs(3);
/// How long one server has for one answer.
pub const NAME_QUERY_TIMEOUT: Duration = Duration::from_secs(1);
/// How long the second family of addresses is waited for once the first has answered (RFC 8305).
pub const NAME_SECOND_FAMILY_WAIT: Duration = Duration::from_millis(50);
/// Names in the cache, each with at most …
pub const NAME_CACHE_ENTRIES_MAX: usize = 10_000;
/// … this many addresses.
pub const NAME_ADDRESSES_MAX: usize = 16;
/// Longest name (RFC 1035), in bytes.
pub const NAME_BYTES_MAX: usize = 253;
/// Shortest and longest time for which addresses are taken from the cache, whatever their time to live.
pub const NAME_FRESH_MIN: Duration = Duration::from_secs(5);
/// See [`NAME_FRESH_MIN`].
pub const NAME_FRESH_MAX: Duration = Duration::from_secs(10 * 60);
/// How long addresses serve after that where a new lookup has no answer or must wait for its turn (RFC 8767).
pub const NAME_STALE_MAX: Duration = Duration::from_secs(10 * 60);
/// Longest time for which a name is taken to have no address: its owner may just have made it.
pub const NAME_MISSING_MAX: Duration = Duration::from_secs(60);
/// How long a name whose servers did not answer is not asked for again (RFC 9520).
pub const NAME_FAILED_FOR: Duration = Duration::from_secs(30);

const _: () = assert!(NAME_LOOKUPS_PER_DOMAIN * 8 <= NAME_LOOKUPS_AT_ONCE);
const _: () = assert!(NAME_LOOKUPS_WAITING_PER_DOMAIN * 8 <= NAME_LOOKUPS_WAITING_MAX);
const _: () =
    assert!(NAME_QUERY_TIMEOUT.as_millis() * 2 < NAME_LOOKUP_TIMEOUT.as_millis(), "a lost packet is repeated");
const _: () = assert!(NAME_FRESH_MIN.as_millis() <= NAME_MISSING_MAX.as_millis());
