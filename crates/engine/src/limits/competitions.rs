//! Limits of what drives competitions and of what is shown of them.

use std::time::Duration;

/// Competitions that are read at once, to be advanced one after the other.
pub const COMPETITIONS_PAGE: usize = 256;
/// Pause before a competition that could not be moved on is tried again; it doubles with each further failure.
pub const COMPETITION_RETRY_MIN: Duration = Duration::from_secs(1);
/// Longest such pause.
pub const COMPETITION_RETRY_MAX: Duration = Duration::from_secs(60);
/// Competitions that cannot be advanced of which a process knows that: further ones are tried each time, and not logged.
pub const COMPETITIONS_FAILING_KNOWN_MAX: usize = 1_024;
/// Rendered pages of competitions that a process keeps.
pub const VIEW_CACHE_ENTRIES_MAX: usize = 4_096;
/// Bytes of the rendered pages that a process keeps: that of a tournament of 1,024 bots has about a megabyte, a usual one a fiftieth of that.
pub const VIEW_CACHE_BYTES_MAX: usize = 64 << 20;
/// Pages that are rendered at once; others wait. One that takes long does not keep the rest waiting.
pub const VIEW_RENDERINGS_AT_ONCE_MAX: usize = 2;
/// Pages that wait to be rendered, one of each competition and kind: a waiting one holds a copy of its competition.
pub const VIEW_RENDERINGS_WAITING_MAX: usize = 64;
