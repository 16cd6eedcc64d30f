//! Connections of one standing, in the order in which they may be evicted: first the one whose client has been idle for longest.
//!
//! One entry for each connection, in a heap by the time at which it was last looked at. A connection whose client sent something
//! since goes back into the heap when its entry comes up, so that nothing is done when a client sends something. Pure: knows no
//! sockets, and takes the time as an argument.

use quotas::address_key::AddressKey;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::{Arc, Weak};

/// Entries of closed connections are swept once there are more of them than this, and more than twice the open ones.
const STALE_ENTRIES_MIN: usize = 64;

/// What is known of the principal on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// The principal is not known.
    #[default]
    Anonymous,
    /// A guest, which any client can become.
    Guest,
    /// An account, or another node. Such a connection is never evicted.
    Account,
}

/// What decides about eviction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) rank: Rank,
    /// The address that the connection counts for, if any.
    pub(super) address: Option<AddressKey>,
}

/// Can be closed for being idle.
pub(super) trait Evictable {
    /// The second since which it has been idle; `None` if its standing is different, now and in the future.
    fn idle_since_s(&self, standing: Standing) -> Option<u32>;
}

/// Connections of one standing, in the order in which they are evicted.
#[derive(Debug)]
pub(super) struct IdleQueue<T> {
    standing: Standing,
    heap: BinaryHeap<IdleEntry<T>>,
}

#[derive(Debug)]
struct IdleEntry<T> {
    /// No later than the client's last activity.
    since_s: u32,
    target: Weak<T>,
}

impl<T: Evictable> IdleQueue<T> {
    pub(super) fn new(standing: Standing) -> Self {
        Self { standing, heap: BinaryHeap::new() }
    }

    /// Adds a connection; `open` is the number of open ones.
    pub(super) fn push(&mut self, one: &Arc<T>, open: usize) {
        if self.heap.len() >= 2 * open + STALE_ENTRIES_MIN {
            self.heap.retain(|entry| entry.target.strong_count() > 0);
        }
        if let Some(since_s) = one.idle_since_s(self.standing) {
            self.heap.push(IdleEntry { since_s, target: Arc::downgrade(one) });
        }
    }

    /// Removes the one that has been idle for longest, if it has been since `until_s` or before. The others that it looks at go
    /// into `looked_at`, so that the caller can drop them outside the lock.
    pub(super) fn pop_idlest(&mut self, until_s: u32, looked_at: &mut Vec<Arc<T>>) -> Option<Arc<T>> {
        while self.heap.peek()?.since_s <= until_s {
            let IdleEntry { since_s, target } = self.heap.pop()?;
            let Some(one) = target.upgrade() else { continue };
            match one.idle_since_s(self.standing) {
                Some(later_s) if later_s > since_s => self.heap.push(IdleEntry { since_s: later_s, target }),
                Some(_) => return Some(one),
                None => {}
            }
            looked_at.push(one);
        }
        None
    }
}

/// The largest entry is the one that has been idle for longest.
impl<T> Ord for IdleEntry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.since_s.cmp(&self.since_s)
    }
}

impl<T> PartialOrd for IdleEntry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for IdleEntry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.since_s == other.since_s
    }
}

impl<T> Eq for IdleEntry<T> {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    /// A connection whose client was last active then; `PROTECTED` is one that is never evicted.
    struct One(AtomicU32);

    const PROTECTED: u32 = u32::MAX;

    impl One {
        fn new(since_s: u32) -> Arc<Self> {
            Arc::new(Self(AtomicU32::new(since_s)))
        }
    }

    impl Evictable for One {
        fn idle_since_s(&self, _: Standing) -> Option<u32> {
            Some(self.0.load(Relaxed)).filter(|since_s| *since_s != PROTECTED)
        }
    }

    #[test]
    fn protected_connections_are_never_evicted() {
        let mut queue = IdleQueue::new(Standing::default());
        let viewers: Vec<_> = (0..1_000).map(|_| One::new(0)).collect();
        viewers.iter().for_each(|viewer| queue.push(viewer, 1_000));
        // Registered in their first second, and idle for ten minutes.
        viewers.iter().for_each(|viewer| viewer.0.store(PROTECTED, Relaxed));
        let stranger = One::new(599);
        queue.push(&stranger, 1_001);
        assert!(queue.pop_idlest(600, &mut Vec::new()).is_some_and(|closed| Arc::ptr_eq(&closed, &stranger)));
        assert!(queue.pop_idlest(600, &mut Vec::new()).is_none());
        assert!(queue.heap.is_empty(), "protected connections are not looked at again");
    }

    #[test]
    fn entries_of_closed_connections_are_swept() {
        let mut queue = IdleQueue::new(Standing::default());
        let open: Vec<_> = (0..10).map(|_| One::new(0)).collect();
        open.iter().for_each(|one| queue.push(one, open.len()));
        for _ in 0..10_000 {
            queue.push(&One::new(1), open.len());
            assert!(queue.heap.len() <= 2 * open.len() + STALE_ENTRIES_MIN);
        }
        assert_eq!(open.iter().filter(|_| queue.pop_idlest(1, &mut Vec::new()).is_some()).count(), open.len());
    }

    proptest! {
        /// Connections are evicted in the order of their idleness, whatever they send meanwhile, and none that was active lately.
        #[test]
        fn the_idlest_is_closed_first(
            opened in prop::collection::vec(0_u32..50, 1..40),
            active in prop::collection::vec((any::<prop::sample::Index>(), 0_u32..100), 0..80),
            until_s in 0_u32..120,
        ) {
            let mut queue = IdleQueue::new(Standing::default());
            let all: Vec<_> = opened.iter().map(|at| One::new(*at)).collect();
            all.iter().for_each(|one| queue.push(one, all.len()));
            for (index, at) in active {
                index.get(&all).0.fetch_max(at, Relaxed);
            }
            let mut want: Vec<u32> = all.iter().map(|one| one.0.load(Relaxed)).filter(|at| *at <= until_s).collect();
            want.sort_unstable();
            let mut have = Vec::new();
            while let Some(one) = queue.pop_idlest(until_s, &mut Vec::new()) {
                have.push(one.0.load(Relaxed));
            }
            prop_assert_eq!(have, want);
        }
    }
}
