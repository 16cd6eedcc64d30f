//! How threads hand things to each other in batches: two lists under a lock, exchanged for the taker's empty ones, and one wake-up
//! however much was put in. A thing that is put in costs its copy and nothing else; nothing is allocated once the lists have grown.
//!
//! One lane is bounded, and says so when it is full; the other is for what comes seldom and must never be refused. Knows neither
//! what the things are nor who hands them over.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Places that a list keeps when it is empty: what a burst took is given back.
const KEPT: usize = 4_096;

/// Why something was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// As many wait as may.
    Full,
    /// Nobody takes anything out any more.
    Closed,
}

/// What one thread takes, in batches, and any number of others put in.
pub(super) struct Tray<T, O> {
    inside: Mutex<Inside<T, O>>,
    bell: Condvar,
    max: usize,
}

struct Inside<T, O> {
    things: Vec<T>,
    orders: Vec<O>,
    /// The taker waits for the bell.
    is_waiting: bool,
    is_closed: bool,
}

impl<T, O> Tray<T, O> {
    /// An empty tray with room for `max` things.
    pub(super) fn new(max: usize) -> Self {
        let inside = Inside { things: Vec::new(), orders: Vec::new(), is_waiting: false, is_closed: false };
        Self { inside: Mutex::new(inside), bell: Condvar::new(), max }
    }

    /// Puts in what there is room for, from the front; how many wait now. What was not taken stays in `things`.
    ///
    /// # Errors
    /// Why anything was left.
    pub(super) fn put(&self, things: &mut Vec<T>) -> Result<usize, Refused> {
        let mut inside = self.lock();
        if inside.is_closed {
            return Err(Refused::Closed);
        }
        let room = self.max.saturating_sub(inside.things.len());
        let is_all = things.len() <= room;
        inside.things.extend(things.drain(..room.min(things.len())));
        let waiting = inside.things.len();
        self.wake(inside);
        if is_all { Ok(waiting) } else { Err(Refused::Full) }
    }

    /// Puts in one order, always; gives it back when nobody takes anything any more.
    pub(super) fn order(&self, order: O) -> Result<(), O> {
        let mut inside = self.lock();
        if inside.is_closed {
            return Err(order);
        }
        inside.orders.push(order);
        self.wake(inside);
        Ok(())
    }

    /// Puts in one order unless `max` orders wait already.
    pub(super) fn order_within(&self, order: O, max: usize) -> Result<(), (Refused, O)> {
        let mut inside = self.lock();
        if inside.is_closed || inside.orders.len() >= max {
            let why = if inside.is_closed { Refused::Closed } else { Refused::Full };
            return Err((why, order));
        }
        inside.orders.push(order);
        self.wake(inside);
        Ok(())
    }

    /// Takes everything out, into lists that are empty. Waits until something is there, or until `until`. Whether the tray is
    /// open, or was not empty: more may come.
    pub(super) fn take(&self, things: &mut Vec<T>, orders: &mut Vec<O>, until: Option<Instant>) -> bool {
        let mut inside = self.lock();
        while inside.things.is_empty() && inside.orders.is_empty() && !inside.is_closed {
            inside.is_waiting = true;
            let (woken, is_late) = self.wait(inside, until);
            inside = woken;
            inside.is_waiting = false;
            if is_late {
                // A quiet moment: what a burst took is given back.
                shrink(&mut inside.things);
                shrink(&mut inside.orders);
                shrink(things);
                shrink(orders);
                break;
            }
        }
        debug_assert!(things.is_empty() && orders.is_empty(), "what was taken out before has been dealt with");
        std::mem::swap(&mut inside.things, things);
        std::mem::swap(&mut inside.orders, orders);
        !inside.is_closed || !things.is_empty() || !orders.is_empty()
    }

    /// Takes nothing more in, and wakes the taker.
    pub(super) fn close(&self) {
        let mut inside = self.lock();
        inside.is_closed = true;
        self.wake(inside);
    }

    /// Whether nothing more is taken in.
    pub(super) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Things that wait.
    pub(super) fn len(&self) -> usize {
        self.lock().things.len()
    }

    fn wait<'a>(
        &self,
        inside: MutexGuard<'a, Inside<T, O>>,
        until: Option<Instant>,
    ) -> (MutexGuard<'a, Inside<T, O>>, bool) {
        let Some(until) = until else {
            return (self.bell.wait(inside).unwrap_or_else(PoisonError::into_inner), false);
        };
        let pause = until.saturating_duration_since(Instant::now());
        if pause.is_zero() {
            return (inside, true);
        }
        let (inside, _) = self.bell.wait_timeout(inside, pause).unwrap_or_else(PoisonError::into_inner);
        (inside, false)
    }

    /// Rings once for everything that is put in until the taker wakes: a ring is a system call.
    fn wake(&self, mut inside: MutexGuard<'_, Inside<T, O>>) {
        let is_waiting = std::mem::take(&mut inside.is_waiting);
        drop(inside);
        if is_waiting {
            self.bell.notify_one();
        }
    }

    /// The lists are whole even if a holder of the lock panicked: each is changed by one call.
    fn lock(&self) -> MutexGuard<'_, Inside<T, O>> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn shrink<T>(list: &mut Vec<T>) {
    if list.capacity() > KEPT {
        list.shrink_to(KEPT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// What one take gives.
    fn taken(tray: &Tray<u32, &'static str>) -> (Vec<u32>, Vec<&'static str>) {
        let (mut things, mut orders) = (Vec::new(), Vec::new());
        tray.take(&mut things, &mut orders, Some(Instant::now()));
        (things, orders)
    }

    #[test]
    fn what_there_is_no_room_for_stays_with_its_owner() {
        let tray = Tray::new(3);
        let mut batch = vec![1, 2];
        assert_eq!((tray.put(&mut batch), batch.len()), (Ok(2), 0));
        batch.extend([3, 4, 5]);
        assert_eq!((tray.put(&mut batch), batch.as_slice()), (Err(Refused::Full), [4, 5].as_slice()));
        assert_eq!((tray.put(&mut batch), batch.as_slice()), (Err(Refused::Full), [4, 5].as_slice()));
        assert_eq!(tray.order("an order is taken all the same"), Ok(()));
        assert_eq!(tray.order_within("one too many", 1), Err((Refused::Full, "one too many")));
        assert_eq!(taken(&tray), (vec![1, 2, 3], vec!["an order is taken all the same"]));
        assert_eq!((tray.put(&mut batch), taken(&tray).0), (Ok(2), vec![4, 5]));
    }

    #[test]
    fn a_closed_tray_takes_nothing_and_gives_what_it_has() {
        let tray = Tray::new(3);
        assert_eq!(tray.put(&mut vec![1]), Ok(1));
        tray.close();
        let mut batch = vec![2];
        assert_eq!((tray.put(&mut batch), batch.len()), (Err(Refused::Closed), 1));
        assert_eq!(tray.order("late"), Err("late"));
        assert_eq!(tray.order_within("late", 9), Err((Refused::Closed, "late")));
        assert_eq!(taken(&tray).0, [1]);
    }

    #[test]
    fn a_taker_that_sleeps_is_woken_by_each_lane_and_by_the_end() {
        type Wake = fn(&Tray<u32, &'static str>);
        let ways: [Wake; 3] = [
            |tray| assert_eq!(tray.put(&mut vec![7]), Ok(1)),
            |tray| assert_eq!(tray.order("look"), Ok(())),
            |tray| tray.close(),
        ];
        for wake in ways {
            let tray = Arc::new(Tray::new(3));
            let taker = {
                let tray = tray.clone();
                std::thread::spawn(move || tray.take(&mut Vec::new(), &mut Vec::new(), None))
            };
            while !tray.lock().is_waiting {
                std::thread::yield_now();
            }
            wake(&tray);
            taker.join().unwrap();
        }
    }
}
