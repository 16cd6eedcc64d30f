//! The one place where a worker waits: an epoll set with deadlines finer than a millisecond, and a bell that other
//! threads ring. Refuses to know what the descriptors are for.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;

use super::slab::SlabKey;

/// Events taken from the system at once: few, so that what has become due meanwhile does not wait long.
const EVENTS_PER_WAIT: usize = 128;

/// The data of the bell, which no key has: generations begin at 0 and places are counted from 0.
const WAKER_DATA: u64 = u64::MAX;

/// What the system has to say about one descriptor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub(crate) key: SlabKey,
    pub(crate) flags: EventFlags,
}

/// An epoll set.
pub(crate) struct Poller {
    epoll: OwnedFd,
    waker: Waker,
    events: Vec<Event>,
}

/// Wakes a worker from another thread.
#[derive(Clone, Debug)]
pub(crate) struct Waker(Arc<OwnedFd>);

impl Waker {
    /// Rings it; ringing twice is ringing once.
    pub(crate) fn wake(&self) {
        // It can only fail when it has been rung 2^64 times without being heard.
        let _ = rustix::io::write(&*self.0, &1u64.to_ne_bytes());
    }
}

impl Poller {
    /// An empty set.
    ///
    /// # Errors
    /// No descriptors are left, or the kernel is too old for deadlines below a millisecond.
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let waker = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        epoll::add(&epoll, &waker, EventData::new_u64(WAKER_DATA), EventFlags::IN)?;
        let nothing = Event { flags: EventFlags::empty(), data: EventData::new_u64(0) };
        let mut poller = Self { epoll, waker: Waker(waker), events: vec![nothing; EVENTS_PER_WAIT] };
        match poller.poll(Some(Duration::ZERO)) {
            Err(Errno::NOSYS) => Err(io::Error::other("the lab needs Linux 5.11 or later (epoll_pwait2)")),
            Err(error) => Err(error.into()),
            Ok(_) => Ok(poller),
        }
    }

    /// The bell of this set.
    pub(crate) fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Adds a descriptor; closing it takes it out again.
    pub(crate) fn add(&self, fd: impl AsFd, key: SlabKey, interest: EventFlags) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, fd, EventData::new_u64(key.to_u64()), interest)?)
    }

    /// Changes what is to be said about a descriptor.
    pub(crate) fn modify(&self, fd: impl AsFd, key: SlabKey, interest: EventFlags) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, fd, EventData::new_u64(key.to_u64()), interest)?)
    }

    /// Waits until something is ready, the bell rings or the time is over; for ever without a time. Gives the number
    /// of events, to be asked for with [`Poller::event`].
    pub(crate) fn wait(&mut self, time: Option<Duration>) -> io::Result<usize> {
        match self.poll(time) {
            Err(Errno::INTR) => Ok(0),
            other => Ok(other?),
        }
    }

    fn poll(&mut self, time: Option<Duration>) -> Result<usize, Errno> {
        let time = time.map(|time| Timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: time.subsec_nanos().into(),
        });
        epoll::wait(&self.epoll, self.events.as_mut_slice(), time.as_ref())
    }

    /// An event of the last wait; none for the bell, which is silent again afterwards.
    pub(crate) fn event(&self, at: usize) -> Option<Ready> {
        let Event { flags, data } = self.events[at];
        if data.u64() == WAKER_DATA {
            let mut count = [0; 8];
            // Another event may have been heard for it already.
            let _ = rustix::io::read(&*self.waker.0, &mut count);
            return None;
        }
        Some(Ready { key: SlabKey::from_u64(data.u64()), flags })
    }
}
