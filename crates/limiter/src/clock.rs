//! A clock that never goes back, made of one that may. Refuses to know what time it really is.
//!
//! A call may come with an earlier moment than the one before it for two reasons. Its thread was slow between reading the clock
//! and asking, perhaps by as long as the whole process was stopped: then it is now, not then. Or the clock was set back: then
//! all calls are earlier from now on, and whoever was told to wait must not wait for the old time to come again. The two look
//! the same at first. A call of the second kind is recognised by others like it: when a second has passed on the earlier clock
//! and nobody has come with the later one, the clock was set back, and time goes on from where it stood.

use crate::Moment;
use crate::limits::STRAGGLER_NS_MAX;

/// Time of one shard.
#[derive(Debug)]
pub(crate) struct Clock {
    /// The latest moment that a caller came with, on the clock that callers have now.
    latest: u64,
    /// By how much that clock has been set back since the beginning.
    set_back_ns: u64,
    /// The first moment of what may be a clock that was set back; the end of time while there is no doubt.
    doubt: u64,
}

/// What a shard takes for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    /// Never earlier than any reading before.
    pub(crate) now: Moment,
    /// How much that is ahead of the caller's clock: to be taken off what the caller is told.
    pub(crate) ahead_ns: u64,
}

impl Clock {
    pub(crate) const fn new() -> Self {
        Self { latest: 0, set_back_ns: 0, doubt: u64::MAX }
    }

    #[inline]
    pub(crate) fn read(&mut self, now: Moment) -> Reading {
        if now.0 < self.latest {
            return self.read_earlier(now);
        }
        self.latest = now.0;
        self.doubt = u64::MAX;
        self.reading()
    }

    #[cold]
    fn read_earlier(&mut self, now: Moment) -> Reading {
        if self.latest - now.0 <= STRAGGLER_NS_MAX {
            return self.reading();
        }
        let first = self.doubt.min(now.0);
        if now.0 - first >= STRAGGLER_NS_MAX {
            self.set_back_ns = self.set_back_ns.saturating_add(self.latest - first);
            self.latest = now.0;
            self.doubt = u64::MAX;
            return self.reading();
        }
        self.doubt = first;
        let standing = self.reading().now;
        Reading { now: standing, ahead_ns: standing.ns_since(now) }
    }

    fn reading(&self) -> Reading {
        Reading { now: Moment(self.latest).plus_ns(self.set_back_ns), ahead_ns: self.set_back_ns }
    }
}
