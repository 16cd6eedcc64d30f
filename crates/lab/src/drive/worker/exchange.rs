//! Requests and answers over connections: which connection a request takes, what its bytes mean, and what becomes of
//! it when the connection is lost. Refuses to know when requests are due.

use std::io;

use super::flights::Role;
use super::holding::Gone;
use super::journey::Outcome;
use super::links::{Link, Phase, Speech, To};
use super::{Key, Stage, Worker, speaking};
use crate::drive::Failure;
use crate::drive::answer::{self, Meaning};
use crate::drive::http1::{self, Http1};
use crate::drive::protocol::{Body, Event, Protocol, Request, Wanted};
use crate::drive::speech::{Codec, Lengths, WebSocket, bytes_of};
use crate::limits::{LINGER, LINGERING_MAX};
use crate::record::{Awaited, Trouble};
use crate::scenario::{Draw, Reconnect, Scope, Source};

impl Worker {
    /// Sends a flight's request over the connection that it has, or one that nobody uses, or a new one.
    pub(super) fn dispatch(&mut self, key: Key) {
        let Some(flight) = self.flights.get(key) else { return };
        let opening = matches!(flight.role, Role::Opening | Role::Joining);
        // A connection that speaks in frames is somebody, and nobody else goes on with it.
        let reusing = !opening
            && !self.calls[flight.journey].speaks
            && self.courses[flight.leg].leg.reconnect == Reconnect::Never;
        let link = flight.link.or_else(|| if reusing { self.links.pick_up() } else { None });
        match link {
            Some(link) => self.transmit(link, key),
            None => self.open_link(key, None),
        }
    }

    /// Opens a connection for a flight, at the address that is next after one that failed.
    fn open_link(&mut self, key: Key, failed: Option<usize>) {
        let Some(flight) = self.flights.get(key) else { return };
        let number = self.routes.host_of(self.calls[flight.journey].speaks, flight.arrival.index);
        let host = &self.routes.hosts[number];
        let (count, preferred) = (host.addresses.len(), host.preferred);
        let mut at = failed.map_or(preferred, |at| host.next(at));
        let mut first = failed.is_none();
        let mut failure = Failure::new(Trouble::Connect, "the target has no address");
        while count > 0 && (first || at != preferred) {
            let to = To { host: number as u16, address: at as u16 };
            match self.try_open(key, to) {
                Ok(()) => return,
                Err(error) => failure = self.not_connected(to, &error),
            }
            first = false;
            at = (at + 1) % count;
        }
        self.end_step(key, &Outcome::Failed(failure));
    }

    fn try_open(&mut self, key: Key, to: To) -> io::Result<()> {
        let fd = self.routes.open(to)?;
        let codec = match self.routes.host(to).speech {
            Speech::Requests => Codec::Http1(Http1::default()),
            Speech::Lengths => Codec::Lengths(Lengths),
            Speech::WebSocket(_) => Codec::WebSocket(WebSocket::default()),
        };
        let link = self.links.add(Link::new(fd, to, codec, Some(key)));
        if let Err(error) = self.await_connection(link) {
            self.links.remove(link);
            return Err(error);
        }
        if let Some(flight) = self.flights.get_mut(key) {
            flight.link = Some(link);
        }
        Ok(())
    }

    fn not_connected(&self, to: To, error: &io::Error) -> Failure {
        Failure::new(Trouble::Connect, format!("{}: {error}", self.routes.address(to)))
    }

    /// A connection could not be opened: the next address may do.
    pub(super) fn refused(&mut self, key: Key, error: &io::Error) {
        let Some(link) = self.links.remove(key) else { return };
        let failure = self.not_connected(link.to, error);
        let Some(flight) = link.flight else { return };
        if let Some(flight) = self.flights.get_mut(flight) {
            flight.link = None;
        }
        let (host, address) = (self.routes.host(link.to), usize::from(link.to.address));
        if host.next(address) == host.preferred {
            self.end_step(flight, &Outcome::Failed(failure));
        } else {
            self.open_link(flight, Some(address));
        }
    }

    /// A connection is there.
    pub(super) fn connected(&mut self, key: Key) {
        self.book.connected();
        let Some(link) = self.links.get_mut(key) else { return };
        let host = &mut self.routes.hosts[usize::from(link.to.host)];
        host.preferred = usize::from(link.to.address);
        match host.speech.clone() {
            Speech::WebSocket(opening) => self.ask_for_frames(key, &opening),
            Speech::Requests | Speech::Lengths => self.agreed(key),
        }
    }

    /// A connection carries what it was opened for.
    pub(super) fn agreed(&mut self, key: Key) {
        let Some(link) = self.links.get_mut(key) else { return };
        link.phase = Phase::Open;
        let Some(flight) = link.flight else { return };
        match self.flights.get(flight).map(|flight| flight.role) {
            Some(Role::Journey | Role::Beside { .. } | Role::Joining) => self.transmit(key, flight),
            Some(Role::Opening) => self.opened(key, flight),
            None => {}
        }
    }

    /// Puts what a flight's step asks or says onto a connection.
    fn transmit(&mut self, link_key: Key, key: Key) {
        let calls = self.calls.clone();
        let (Some(flight), Some(link)) = (self.flights.get_mut(key), self.links.get_mut(link_key)) else { return };
        let call = &calls[flight.journey].calls[flight.step];
        flight.link = Some(link_key);
        link.flight = Some(key);
        let (setting, arrival) = (&self.setting, &flight.arrival);
        let scope = Scope {
            globals: &setting.globals,
            kept: flight.kept.values(),
            picks: &setting.picks,
            feeds: &setting.feeds,
            draw: Some(Draw {
                run_id: &setting.run_id,
                part: arrival.part,
                index: arrival.index,
                seed: arrival.seed,
                round: flight.rounds.passed(),
                nth: u64::from(link.said) + 1,
            }),
        };
        if let Some(message) = call.step.message() {
            let mut scratch = std::mem::take(&mut self.scratch);
            let written = speaking::write(message, &scope, &mut scratch);
            link.said += u32::from(message.is_numbered);
            match written {
                Ok(word) => self.speak(link_key, word, &mut scratch),
                Err(message) => self.end_step(key, &Outcome::Failed(Failure::new(Trouble::Request, message))),
            }
            self.scratch = scratch;
            return;
        }
        let last = flight.step + 1 == flight.end && calls[flight.journey].repeats.is_empty();
        let close = match self.courses[flight.leg].leg.reconnect {
            Reconnect::Never => false,
            Reconnect::Journey => last,
            Reconnect::Request => true,
        };
        let mut scratch = std::mem::take(&mut self.scratch);
        match call.bytes(&scope, close, &mut scratch) {
            Ok(bytes) => {
                link.codec.begin(Request { head_only: call.head_only });
                self.send(link_key, bytes);
            }
            Err(message) => self.end_step(key, &Outcome::Failed(Failure::new(Trouble::Request, message))),
        }
        self.scratch = scratch;
    }

    /// Takes bytes of an answer. `ended` says that none will follow them.
    pub(super) fn receive(&mut self, key: Key, bytes: &[u8], ended: bool) {
        let Some(link) = self.links.get_mut(key) else { return };
        let mut waiting = std::mem::take(&mut link.partial);
        let unread = if waiting.is_empty() {
            let unread = self.understand(key, bytes, ended);
            if unread > 0 {
                waiting = self.links.borrow();
                waiting.extend_from_slice(bytes);
            }
            unread
        } else {
            waiting.extend_from_slice(bytes);
            self.understand(key, &waiting, ended)
        };
        waiting.drain(..waiting.len() - unread);
        match self.links.get_mut(key) {
            Some(link) if unread > 0 => link.partial = waiting,
            _ => self.links.give(waiting),
        }
    }

    /// Takes as much of the bytes as they mean anything; gives how many are left.
    fn understand(&mut self, key: Key, bytes: &[u8], ended: bool) -> usize {
        let mut rest = bytes;
        while let Some(link) = self.links.get_mut(key) {
            let mut nobody = Body::default();
            let body = link.flight.and_then(|flight| self.flights.get_mut(flight)).map(|flight| &mut flight.body);
            let taken = link.codec.take(rest, body.unwrap_or(&mut nobody));
            let (now, later) = rest.split_at(taken.bytes);
            rest = later;
            match taken.event {
                Event::More if taken.bytes == 0 => break,
                Event::More => {}
                Event::Head { status } => self.on_head(key, status, now),
                Event::Done { keep } => {
                    self.on_done(key, keep && rest.is_empty(), ended, rest);
                    if rest.is_empty() {
                        break;
                    }
                }
                Event::Frame(frame) => self.on_frame(key, bytes_of(&frame, now)),
                Event::Ping(range) => self.pong(key, &now[range]),
                Event::Agreed => self.agreed(key),
                Event::Broken(failure) => {
                    // A frame that says that this is the end.
                    link.ended = failure.trouble == Trouble::Closed;
                    self.lost(key, failure, false);
                    break;
                }
            }
        }
        rest.len()
    }

    fn on_head(&mut self, link: Key, status: u16, head: &[u8]) {
        let (calls, now) = (self.calls.clone(), self.at());
        let key = self.links.get(link).and_then(|link| link.flight);
        let Some(flight) = key.and_then(|key| self.flights.get_mut(key)) else { return };
        let call = &calls[flight.journey].calls[flight.step];
        flight.status = status;
        flight.times.step_head = Some(now);
        flight.body.wanted = match answer::meaning(&call.step, status) {
            Meaning::Unexpected => Wanted::Excerpt,
            Meaning::Expected if call.reads_body => Wanted::Whole,
            Meaning::Expected | Meaning::Denied => Wanted::Nothing,
        };
        if answer::meaning(&call.step, status) != Meaning::Expected {
            return;
        }
        for keep in &call.step.keep {
            let Source::Header(name) = &keep.from else { continue };
            match answer::keep_of_head(name.as_str(), http1::header(head, name.as_str())) {
                Ok(kept) => flight.kept.keep(&keep.name, &kept.text),
                Err(failure) => flight.missing = Some(failure),
            }
        }
    }

    /// An answer is complete; `excess` came behind it.
    fn on_done(&mut self, link_key: Key, keep: bool, ended: bool, excess: &[u8]) {
        let Some(link) = self.links.get_mut(link_key) else { return };
        let Some(key) = link.flight else { return };
        link.used = true;
        // An answer that overtakes its request leaves a connection on which nothing else can be said.
        let keep = keep && link.unsent.is_empty();
        let Some(flight) = self.flights.get_mut(key) else { return };
        if !keep || self.courses[flight.leg].leg.reconnect == Reconnect::Request {
            flight.link = None;
            if !keep {
                self.note_gone(link_key, true);
            }
            self.part_with(link_key, !keep && !ended);
        }
        // Empty lines are put up with, as in front of an answer.
        let excess = excess.iter().any(|byte| !matches!(byte, b'\r' | b'\n')).then_some(excess.len());
        self.answered(key, excess);
    }

    /// Gives a connection up. Where the other side is about to close it, that comes first.
    pub(super) fn part_with(&mut self, key: Key, linger: bool) {
        let Some(link) = self.links.get_mut(key) else { return };
        if !linger {
            return self.close_link(key);
        }
        (link.phase, link.flight) = (Phase::Lingering, None);
        if let Some((at, member)) = link.held.take() {
            self.let_go(at, member, None);
        }
        self.lingering.push_back((self.now + LINGER, key));
        if self.lingering.len() > LINGERING_MAX
            && let Some((_, oldest)) = self.lingering.pop_front()
        {
            self.close_link(oldest);
        }
    }

    pub(super) fn close_link(&mut self, key: Key) {
        self.take_link(key, None);
    }

    /// Takes a connection away from whoever holds it.
    fn take_link(&mut self, key: Key, failure: Option<&Failure>) -> Option<Link> {
        self.say_goodbye(key);
        let link = self.links.remove(key)?;
        if let Some((at, member)) = link.held {
            let was_idle = link.flight.is_none();
            let in_order = link.ended;
            self.let_go(at, member, failure.map(|failure| Gone { failure, in_order, was_idle }));
        }
        Some(link)
    }

    /// The other side has ended a connection.
    pub(super) fn ended(&mut self, key: Key) {
        let Some(link) = self.links.get_mut(key) else { return };
        link.ended = true;
        match link.codec.end() {
            Event::Done { .. } => self.on_done(key, false, true, &[]),
            Event::Broken(failure) => self.lost(key, failure, false),
            Event::More | Event::Head { .. } | Event::Frame(_) | Event::Ping(_) | Event::Agreed => self.close_link(key),
        }
    }

    /// A connection has ended without TLS's word that this is the end: what came last may be cut off.
    pub(super) fn cut_off(&mut self, key: Key) {
        let Some(link) = self.links.get_mut(key) else { return };
        let failure = match (link.phase, link.codec.end()) {
            (Phase::Shaking, _) => Failure::new(Trouble::Connect, "TLS: the connection was closed in the handshake"),
            (_, Event::Broken(failure)) => failure,
            _ => Failure::new(Trouble::Truncated, "the connection was closed without TLS's close_notify"),
        };
        self.lost(key, failure, false);
    }

    /// A connection is of no use any more. What the request meets is its failure, with one exception: a connection that was
    /// kept and that the other side closed in order before the first byte of an answer may have been closed before
    /// the request went out. Then the request goes out once more over a new one, where a second time does no harm, and is
    /// counted. One of which no byte had gone out has not been sent at all.
    pub(super) fn lost(&mut self, link_key: Key, failure: Failure, unsent: bool) {
        let calls = self.calls.clone();
        let Some(link) = self.take_link(link_key, Some(&failure)) else { return };
        let Some(key) = link.flight else { return };
        let gone = matches!(failure.trouble, Trouble::Closed | Trouble::Reset);
        let has_said_all = !unsent && gone && self.has_said_all(&link);
        let Some(flight) = self.flights.get_mut(key) else { return };
        flight.link = None;
        if link.codec.speaks() {
            // Whoever it was to the other side is gone with it: nothing goes on over another one.
            match flight.stage {
                // Its last word may have been to ask for this: what follows needs the connection, and this did not.
                Stage::Exchanging if has_said_all => {
                    flight.lost = Some(failure);
                    self.end_saying(key);
                }
                Stage::Exchanging => self.end_step(key, &Outcome::Failed(failure)),
                Stage::Waiting => flight.lost = Some(failure),
                Stage::Resting => {}
            }
            return;
        }
        if flight.stage != Stage::Exchanging {
            return;
        }
        let call = &calls[flight.journey].calls[flight.step];
        let unsent = unsent && !flight.wrote;
        let closed = flight.times.step_head.is_none() && failure.trouble == Trouble::Closed && call.repeatable;
        if link.used && !flight.resent && (unsent || closed) {
            flight.resent = true;
            if std::mem::take(&mut flight.wrote) {
                flight.retries += 1;
                self.book.resent();
            }
            return self.open_link(key, None);
        }
        self.end_step(key, &Outcome::Failed(failure));
    }

    /// Gives up what has taken too long.
    pub(super) fn expire(&mut self) {
        while let Some((deadline, key)) = self.flights.first_to_expire() {
            if deadline > self.now {
                break;
            }
            self.flights.disarm(key);
            let Some(flight) = self.flights.get_mut(key) else { continue };
            let (link, has_head) = (flight.link.take(), flight.times.step_head.is_some());
            let timeout = self.calls[flight.journey].calls[flight.step].step.timeout;
            let awaited = match link.and_then(|link| self.links.get(link)) {
                Some(link) => awaited(link, has_head),
                None => Awaited::Connect,
            };
            if let Some(link) = link {
                self.note_gone(link, false);
                self.close_link(link);
            }
            let message = match awaited {
                Awaited::Connect => format!("no connection within {timeout:?}"),
                Awaited::Tls => format!("no end of the TLS handshake within {timeout:?}"),
                Awaited::FirstByte => format!("no answer within {timeout:?}"),
                Awaited::Body => format!("no whole answer within {timeout:?}"),
            };
            let failure = Failure::new(Trouble::Timeout(awaited), message);
            self.end_step(key, &Outcome::Failed(failure));
        }
        while let Some((_, key)) = self.lingering.front().copied().filter(|(until, _)| *until <= self.now) {
            self.lingering.pop_front();
            self.close_link(key);
        }
    }
}

/// What a flight still waits for over a connection; `has_head` says whether it got the head of its answer.
fn awaited(link: &Link, has_head: bool) -> Awaited {
    match link.phase {
        Phase::Connecting | Phase::Asking => Awaited::Connect,
        Phase::Shaking => Awaited::Tls,
        Phase::Open | Phase::Lingering if has_head || link.codec.has_begun() => Awaited::Body,
        Phase::Open | Phase::Lingering => Awaited::FirstByte,
    }
}
