//! The loop: one thread that waits for sockets, reads what came, and answers. As few system calls as possible: for a
//! request on an open connection, one to read and one to write. Does not understand requests.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, accept_with, bind, listen, socket_with, sockopt};
use rustix::time::{ClockId, clock_gettime};

use crate::connection::{Connection, SendOutcome};
use crate::deadlines::{Deadlines, now};
use crate::replies::Replies;
use crate::report::Report;

/// Events that are taken from the kernel at once.
const EVENTS: usize = 256;

/// Bytes that are read from a client at once.
const READ_BYTES: usize = 64 * 1024;

/// Connections that wait to be accepted; the kernel takes the smaller of this and its own `somaxconn`.
const BACKLOG: i32 = 65_535;

/// What is no client has a number that no file has.
const LISTENER: u64 = u64::MAX;
const TIMER: u64 = u64::MAX - 1;
const END: u64 = u64::MAX - 2;

#[derive(Debug)]
pub(crate) struct Server {
    epoll: OwnedFd,
    listener: OwnedFd,
    is_accepting: bool,
    /// By their file numbers, which the kernel keeps small.
    connections: Vec<Option<Connection>>,
    replies: Replies,
    deadlines: Option<Deadlines>,
    buffer: Vec<u8>,
    accepted: u64,
    requests: u64,
}

/// A socket on the loopback that shares its port with others of this kind.
///
/// # Errors
/// Another program has the port.
pub(crate) fn bind_port(port: u16) -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    sockopt::set_socket_reuseport(&socket, true)?;
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?;
    Ok(socket)
}

pub(crate) fn port_of(socket: &OwnedFd) -> io::Result<u16> {
    let address = rustix::net::getsockname(socket)?;
    SocketAddr::try_from(address).map(|address| address.port()).map_err(Into::into)
}

impl Server {
    /// Listens at `listener`.
    pub(crate) fn new(listener: OwnedFd, replies: Replies, deadlines: Option<Deadlines>) -> io::Result<Self> {
        listen(&listener, BACKLOG)?;
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        if let Some(deadlines) = &deadlines {
            // Edge-triggered, so it need not be read: setting it again is enough.
            epoll::add(&epoll, deadlines.timer(), EventData::new_u64(TIMER), EventFlags::IN | EventFlags::ET)?;
        }
        let (connections, buffer) = (Vec::new(), vec![0; READ_BYTES]);
        let (is_accepting, accepted, requests) = (true, 0, 0);
        Ok(Self { epoll, listener, is_accepting, connections, replies, deadlines, buffer, accepted, requests })
    }

    /// Answers until one of `ends` is readable.
    pub(crate) fn run(&mut self, ends: &[OwnedFd]) -> io::Result<Report> {
        for end in ends {
            epoll::add(&self.epoll, end, EventData::new_u64(END), EventFlags::IN)?;
        }
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        loop {
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in events.drain(..) {
                match event.data.u64() {
                    END => return Ok(self.report()),
                    LISTENER => self.accept()?,
                    TIMER => {}
                    place => self.serve(place as usize)?,
                }
            }
            self.send_due()?;
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            match accept_with(&self.listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                Ok(socket) => self.add_connection(socket)?,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(error @ (Errno::MFILE | Errno::NFILE)) => return self.set_accepting(false, error),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn add_connection(&mut self, socket: OwnedFd) -> io::Result<()> {
        sockopt::set_tcp_nodelay(&socket, true)?;
        let place = socket.as_raw_fd() as usize;
        epoll::add(&self.epoll, &socket, EventData::new_u64(place as u64), EventFlags::IN)?;
        if place >= self.connections.len() {
            self.connections.resize_with(place + 1, || None);
        }
        self.accepted += 1;
        self.connections[place] = Some(Connection::new(socket, self.accepted));
        Ok(())
    }

    /// Without a free file number, accepting again would only spin.
    fn set_accepting(&mut self, accepting: bool, because: Errno) -> io::Result<()> {
        if accepting == self.is_accepting {
            return Ok(());
        }
        eprintln!("canned: {} connections ({because})", if accepting { "accepts again" } else { "accepts no more" });
        self.is_accepting = accepting;
        let flags = if accepting { EventFlags::IN } else { EventFlags::empty() };
        Ok(epoll::modify(&self.epoll, &self.listener, EventData::new_u64(LISTENER), flags)?)
    }

    /// Reads from a client, or continues writing to one that was blocked.
    fn serve(&mut self, place: usize) -> io::Result<()> {
        let Some(Some(connection)) = self.connections.get_mut(place) else { return Ok(()) };
        if connection.is_blocked {
            return self.send_replies(place, 0);
        }
        let (serial, received) = (connection.serial, connection.receive(&mut self.buffer));
        let Some(count) = received else { return self.close(place) };
        self.requests += count;
        let Some(deadlines) = &mut self.deadlines else { return self.send_replies(place, count) };
        let has_room = deadlines.schedule(count, place, serial, now());
        if has_room { Ok(()) } else { self.close(place) }
    }

    fn send_replies(&mut self, place: usize, count: u64) -> io::Result<()> {
        let Some(Some(connection)) = self.connections.get_mut(place) else { return Ok(()) };
        let paid = connection.send_replies(count, &self.replies);
        let is_blocked = paid == SendOutcome::Blocked;
        if paid == SendOutcome::Gone {
            return self.close(place);
        }
        if connection.is_blocked != is_blocked {
            connection.is_blocked = is_blocked;
            let flags = if is_blocked { EventFlags::OUT } else { EventFlags::IN };
            epoll::modify(&self.epoll, &connection.socket, EventData::new_u64(place as u64), flags)?;
        }
        Ok(())
    }

    fn close(&mut self, place: usize) -> io::Result<()> {
        self.connections[place] = None;
        if self.is_accepting { Ok(()) } else { self.set_accepting(true, Errno::MFILE) }
    }

    fn send_due(&mut self) -> io::Result<()> {
        while let Some(answer) = self.deadlines.as_mut().and_then(Deadlines::pop_due) {
            let client = self.connections.get(answer.connection).and_then(Option::as_ref);
            if client.is_some_and(|connection| connection.serial == answer.serial) {
                self.send_replies(answer.connection, 1)?;
            }
        }
        self.deadlines.as_mut().map_or(Ok(()), Deadlines::arm)
    }

    fn report(&self) -> Report {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        Report {
            processes: 1,
            connections: self.accepted,
            requests: self.requests,
            cpu_s: cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9,
            late_answers: self.deadlines.as_ref().map_or(0, |deadlines| deadlines.late_answers),
            late_ms_max: self.deadlines.as_ref().map_or(0.0, |deadlines| deadlines.late_max.as_secs_f64() * 1000.0),
        }
    }
}
