//! Where a worker waits: an epoll set with deadlines finer than a millisecond, and a waker for other threads. Does not
//! know what the descriptors are for.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;
use slotmap::{Key as _, KeyData};

use super::keys::ConnectionKey;

/// Few, so that what becomes due meanwhile does not wait long.
const EVENTS_PER_WAIT: usize = 128;

/// The waker's data, which no key has: that index is no key's.
const WAKER_DATA: u64 = u64::MAX;

/// The readiness of one descriptor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub(crate) key: ConnectionKey,
    pub(crate) flags: EventFlags,
}

pub(crate) struct Poller {
    epoll: OwnedFd,
    waker: Waker,
    events: Vec<Event>,
}

#[derive(Clone, Debug)]
pub(crate) struct Waker(Arc<OwnedFd>);

impl Waker {
    /// Wakes the worker; several wakes before it runs count as one.
    pub(crate) fn wake(&self) {
        // It can only fail after 2^64 wakes that were not read.
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

    pub(crate) fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Adds a descriptor; closing the descriptor removes it.
    pub(crate) fn add(&self, fd: impl AsFd, key: ConnectionKey, interest: EventFlags) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, fd, EventData::new_u64(key.data().as_ffi()), interest)?)
    }

    pub(crate) fn modify(&self, fd: impl AsFd, key: ConnectionKey, interest: EventFlags) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, fd, EventData::new_u64(key.data().as_ffi()), interest)?)
    }

    /// Waits until something is ready, the waker is used or the time is over; forever if no time is given. Returns the
    /// number of events for [`Poller::event`].
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

    /// An event of the last wait; none for the waker, which is reset.
    pub(crate) fn event(&self, at: usize) -> Option<Ready> {
        let Event { flags, data } = self.events[at];
        if data.u64() == WAKER_DATA {
            let mut count = [0; 8];
            // Another event may have reset it already.
            let _ = rustix::io::read(&*self.waker.0, &mut count);
            return None;
        }
        Some(Ready { key: KeyData::from_ffi(data.u64()).into(), flags })
    }
}
