//! Which connection to close when there is no room: the one whose client has been silent for longest, among those that may be
//! closed for it.
//!
//! One entry for each connection, in a heap by the time at which it was last looked at. A connection that was heard of since
//! goes back into the heap when its entry comes up, so that nothing is done when a client says something. Pure: knows no
//! sockets, and is told the time.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::{Arc, Weak};

/// Entries of connections that are gone are swept once there are more of them than this, and than of those that are there.
const GONE_MIN: usize = 64;

/// What may be closed for having been silent.
pub(super) trait Idle {
    /// The second since which it has been silent; `None` if it must not be closed, now and in the future.
    fn silent_since_s(&self) -> Option<u32>;
}

/// Connections in the order in which they are closed.
#[derive(Debug)]
pub(super) struct IdleOrder<T>(BinaryHeap<Entry<T>>);

#[derive(Debug)]
struct Entry<T> {
    /// No later than the last word of its client.
    since_s: u32,
    of: Weak<T>,
}

impl<T> Default for IdleOrder<T> {
    fn default() -> Self {
        Self(BinaryHeap::new())
    }
}

impl<T: Idle> IdleOrder<T> {
    /// One more connection, while so many are open.
    pub(super) fn put(&mut self, one: &Arc<T>, open: usize) {
        if self.0.len() >= 2 * open + GONE_MIN {
            self.0.retain(|entry| entry.of.strong_count() > 0);
        }
        if let Some(since_s) = one.silent_since_s() {
            self.0.push(Entry { since_s, of: Arc::downgrade(one) });
        }
    }

    /// Takes out the one that has been silent for longest, if it has been since `until_s` or before.
    pub(super) fn idlest(&mut self, until_s: u32) -> Option<Arc<T>> {
        while self.0.peek()?.since_s <= until_s {
            let Entry { since_s, of } = self.0.pop()?;
            let Some(one) = of.upgrade() else { continue };
            match one.silent_since_s() {
                Some(later_s) if later_s > since_s => self.0.push(Entry { since_s: later_s, of }),
                Some(_) => return Some(one),
                None => {}
            }
        }
        None
    }
}

/// The largest entry is the one that has been silent for longest.
impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.since_s.cmp(&self.since_s)
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.since_s == other.since_s
    }
}

impl<T> Eq for Entry<T> {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    /// A connection whose client was last heard of then; `KEPT` is one that stays.
    struct One(AtomicU32);

    const KEPT: u32 = u32::MAX;

    impl One {
        fn new(since_s: u32) -> Arc<Self> {
            Arc::new(Self(AtomicU32::new(since_s)))
        }
    }

    impl Idle for One {
        fn silent_since_s(&self) -> Option<u32> {
            Some(self.0.load(Relaxed)).filter(|since_s| *since_s != KEPT)
        }
    }

    #[test]
    fn a_thousand_silent_viewers_stay_whatever_comes() {
        let mut order = IdleOrder::default();
        let viewers: Vec<_> = (0..1_000).map(|_| One::new(0)).collect();
        viewers.iter().for_each(|viewer| order.put(viewer, 1_000));
        // Registered in their first second, and silent for ten minutes.
        viewers.iter().for_each(|viewer| viewer.0.store(KEPT, Relaxed));
        let stranger = One::new(599);
        order.put(&stranger, 1_001);
        assert!(order.idlest(600).is_some_and(|closed| Arc::ptr_eq(&closed, &stranger)));
        assert!(order.idlest(600).is_none());
        assert!(order.0.is_empty(), "connections that stay are not looked at again");
    }

    #[test]
    fn connections_that_are_gone_take_no_memory_for_long() {
        let mut order = IdleOrder::default();
        let open: Vec<_> = (0..10).map(|_| One::new(0)).collect();
        open.iter().for_each(|one| order.put(one, open.len()));
        for _ in 0..10_000 {
            order.put(&One::new(1), open.len());
            assert!(order.0.len() <= 2 * open.len() + GONE_MIN);
        }
        assert_eq!(open.iter().filter(|_| order.idlest(1).is_some()).count(), open.len());
    }

    proptest! {
        /// Whatever is said meanwhile, they are closed in the order of their silence, and none that was heard of lately.
        #[test]
        fn the_idlest_is_closed_first(
            begun in prop::collection::vec(0_u32..50, 1..40),
            said in prop::collection::vec((any::<prop::sample::Index>(), 0_u32..100), 0..80),
            until_s in 0_u32..120,
        ) {
            let mut order = IdleOrder::default();
            let all: Vec<_> = begun.iter().map(|at| One::new(*at)).collect();
            all.iter().for_each(|one| order.put(one, all.len()));
            for (index, at) in said {
                index.get(&all).0.fetch_max(at, Relaxed);
            }
            let mut want: Vec<u32> = all.iter().map(|one| one.0.load(Relaxed)).filter(|at| *at <= until_s).collect();
            want.sort_unstable();
            let mut have = Vec::new();
            while let Some(one) = order.idlest(until_s) {
                have.push(one.0.load(Relaxed));
            }
            prop_assert_eq!(have, want);
        }
    }
}
