//! Delayed answers: who gets one when, and the timer that wakes the server for the next. Does not know how an answer is
//! sent.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime, timerfd_create,
    timerfd_settime,
};

use crate::capacity::Capacity;

/// An answer later than this after its moment is counted as late.
const LATE_AFTER: Duration = Duration::from_micros(200);

/// Answers that may wait at once; a client with more is disconnected.
const WAITING_MAX: usize = 4_000_000;

/// A client's answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScheduledReply {
    at: Duration,
    /// The client's place among the connections.
    pub(crate) connection: usize,
    /// Which client at that place.
    pub(crate) serial: u64,
}

/// The answers that wait. Their moments never run back, because all take the same time.
#[derive(Debug)]
pub(crate) struct Deadlines {
    capacity: Capacity,
    waiting: VecDeque<ScheduledReply>,
    timer: OwnedFd,
    /// What the timer was last set for.
    armed: Duration,
    pub(crate) late_answers: u64,
    pub(crate) late_max: Duration,
}

impl Deadlines {
    /// Nothing waits.
    ///
    /// # Errors
    /// The kernel gives no timer.
    pub(crate) fn new(capacity: Capacity) -> io::Result<Self> {
        // A timer of its own, because those of epoll are rounded up by the slack of the thread.
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        let (armed, late_max) = (Duration::ZERO, Duration::ZERO);
        Ok(Self { capacity, waiting: VecDeque::new(), timer, armed, late_answers: 0, late_max })
    }

    /// Becomes readable when an answer is due.
    pub(crate) fn timer(&self) -> &OwnedFd {
        &self.timer
    }

    /// Takes requests that came `now`; whether there was room for them.
    pub(crate) fn schedule(&mut self, count: u64, place: usize, serial: u64, now: Duration) -> bool {
        if count > WAITING_MAX as u64 - self.waiting.len() as u64 {
            return false;
        }
        for _ in 0..count {
            self.waiting.push_back(ScheduledReply { at: self.capacity.answered_at(now), connection: place, serial });
        }
        true
    }

    /// The next answer that is due, if one is.
    pub(crate) fn pop_due(&mut self) -> Option<ScheduledReply> {
        let (first, now) = (self.waiting.front()?, now());
        if first.at > now {
            return None;
        }
        let late = now - first.at;
        self.late_answers += u64::from(late > LATE_AFTER);
        self.late_max = self.late_max.max(late);
        self.waiting.pop_front()
    }

    /// Sets the timer for the first answer that waits.
    ///
    /// # Errors
    /// The kernel refuses; it has no reason to.
    pub(crate) fn arm(&mut self) -> io::Result<()> {
        let Some(at) = self.waiting.front().map(|answer| answer.at).filter(|&at| at != self.armed) else {
            return Ok(());
        };
        self.armed = at;
        let it_value = Timespec::try_from(at).map_err(io::Error::other)?;
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &Itimerspec { it_interval, it_value })?;
        Ok(())
    }
}

/// The monotonic clock.
pub(crate) fn now() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec as u32)
}
