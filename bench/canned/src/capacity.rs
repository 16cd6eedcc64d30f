//! A known capacity: `servers` that each take `service` for a request, and one queue before them. When a request is
//! answered is arithmetic, so the capacity is `servers / service` exactly, however fast this machine is. Does not know
//! clocks and sockets.

use std::collections::VecDeque;
use std::time::Duration;

/// Servers with one queue. Moments count from any fixed one.
#[derive(Debug)]
pub(crate) struct Capacity {
    service: Duration,
    /// When each server is free. As every request takes the same time, the next one free is the one that was given
    /// work first.
    free_at: VecDeque<Duration>,
}

impl Capacity {
    pub(crate) fn new(servers: usize, service: Duration) -> Self {
        Self { service, free_at: VecDeque::from(vec![Duration::ZERO; servers]) }
    }

    /// When a request that comes `now` is answered. Moments must not run back.
    pub(crate) fn answered_at(&mut self, now: Duration) -> Duration {
        let free = self.free_at.pop_front().unwrap_or_default();
        let finish = now.max(free) + self.service;
        self.free_at.push_back(finish);
        finish
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[track_caller]
    fn check(servers: usize, arrivals_ms: &[u32], answers_ms: &[u32]) {
        let mut capacity = Capacity::new(servers, 10 * MS);
        let answers: Vec<Duration> = arrivals_ms.iter().map(|&at| capacity.answered_at(at * MS)).collect();
        assert_eq!(answers, answers_ms.iter().map(|&at| at * MS).collect::<Vec<_>>(), "{servers} servers");
    }

    #[test]
    fn requests_wait_for_the_first_free_server() {
        check(1, &[0, 0, 5, 100], &[10, 20, 30, 110]);
        check(2, &[0, 4, 5, 6, 30], &[10, 14, 20, 24, 40]);
        check(3, &[7, 7, 7, 7], &[17, 17, 17, 27]);
    }

    proptest! {
        /// The same with every server looked at.
        #[test]
        fn it_is_the_earliest_of_all(servers in 1usize..6, gaps in prop::collection::vec(0u32..15, 0..100)) {
            let mut capacity = Capacity::new(servers, 10 * MS);
            let mut free = vec![Duration::ZERO; servers];
            let mut now = Duration::ZERO;
            for gap in gaps {
                now += gap * MS;
                let earliest = free.iter_mut().min().unwrap();
                *earliest = now.max(*earliest) + 10 * MS;
                prop_assert_eq!(capacity.answered_at(now), *earliest);
            }
        }
    }
}
