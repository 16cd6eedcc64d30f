//! Requests and answers over connections: which connection a request takes, what its bytes mean, and what becomes of
//! it when the connection is lost. Refuses to know when requests are due.

use std::io;

use super::connections::{Connection, ConnectionState, EndpointAddress, EndpointProtocol};
use super::hold_load::ConnectionLoss;
use super::journey::StepOutcome;
use super::running_journeys::Role;
use super::{SlabKey, StepState, Worker, messages};
use crate::generator::Failure;
use crate::generator::decoder::{BodyCapture, Decoder, Event, ExpectedResponse, ResponseBody};
use crate::generator::framing::{Codec, LengthDelimited, WebSocketDecoder, payload_of};
use crate::generator::http1::{self, Http1Decoder};
use crate::generator::response::{self, StatusClass};
use crate::limits::{LINGER, LINGERING_MAX};
use crate::record::{Awaited, ErrorKind};
use crate::scenario::{ArrivalContext, Reconnect, Scope, ValueSource};

impl Worker {
    /// Sends a flight's request over the connection that it has, or one that nobody uses, or a new one.
    pub(super) fn dispatch(&mut self, key: SlabKey) {
        let Some(flight) = self.running.get(key) else { return };
        let opening = matches!(flight.role, Role::OpenConnection | Role::OpenWithJourney);
        // A connection that speaks in frames is somebody, and nobody else goes on with it.
        let reusing = !opening
            && !self.journeys[flight.journey_index].uses_messages
            && self.loads[flight.load_index].spec.reconnect == Reconnect::Never;
        let link = flight.connection.or_else(|| if reusing { self.connections.take_idle() } else { None });
        match link {
            Some(link) => self.send_step(link, key),
            None => self.open_connection(key, None),
        }
    }

    /// Opens a connection for a flight, at the address that is next after one that failed.
    fn open_connection(&mut self, key: SlabKey, failed: Option<usize>) {
        let Some(flight) = self.running.get(key) else { return };
        let number =
            self.connector.endpoint_for(self.journeys[flight.journey_index].uses_messages, flight.arrival.index);
        let host = &self.connector.endpoints[number];
        let (count, preferred) = (host.addresses.len(), host.preferred_index);
        let mut at = failed.map_or(preferred, |at| host.next_address(at));
        let mut first = failed.is_none();
        let mut failure = Failure::new(ErrorKind::Connect, "the target has no address");
        while count > 0 && (first || at != preferred) {
            let to = EndpointAddress { endpoint_index: number as u16, address_index: at as u16 };
            match self.try_connect(key, to) {
                Ok(()) => return,
                Err(error) => failure = self.connect_failure(to, &error),
            }
            first = false;
            at = (at + 1) % count;
        }
        self.end_step(key, &StepOutcome::Failed(failure));
    }

    fn try_connect(&mut self, key: SlabKey, to: EndpointAddress) -> io::Result<()> {
        let fd = self.connector.start_connect(to)?;
        let codec = match self.connector.endpoint(to).protocol {
            EndpointProtocol::Http1 => Codec::Http1(Http1Decoder::default()),
            EndpointProtocol::LengthDelimited => Codec::LengthDelimited(LengthDelimited),
            EndpointProtocol::WebSocket(_) => Codec::WebSocket(WebSocketDecoder::default()),
        };
        let link = self.connections.add(Connection::new(fd, to, codec, Some(key)));
        if let Err(error) = self.register_connection(link) {
            self.connections.remove(link);
            return Err(error);
        }
        if let Some(flight) = self.running.get_mut(key) {
            flight.connection = Some(link);
        }
        Ok(())
    }

    fn connect_failure(&self, to: EndpointAddress, error: &io::Error) -> Failure {
        Failure::new(ErrorKind::Connect, format!("{}: {error}", self.connector.address(to)))
    }

    /// A connection could not be opened: the next address may do.
    pub(super) fn on_connect_failed(&mut self, key: SlabKey, error: &io::Error) {
        let Some(link) = self.connections.remove(key) else { return };
        let failure = self.connect_failure(link.endpoint, error);
        let Some(flight) = link.running_journey else { return };
        if let Some(flight) = self.running.get_mut(flight) {
            flight.connection = None;
        }
        let (host, address) = (self.connector.endpoint(link.endpoint), usize::from(link.endpoint.address_index));
        if host.next_address(address) == host.preferred_index {
            self.end_step(flight, &StepOutcome::Failed(failure));
        } else {
            self.open_connection(flight, Some(address));
        }
    }

    /// A connection is there.
    pub(super) fn on_transport_ready(&mut self, key: SlabKey) {
        self.accumulator.count_connect();
        let Some(link) = self.connections.get_mut(key) else { return };
        let host = &mut self.connector.endpoints[usize::from(link.endpoint.endpoint_index)];
        host.preferred_index = usize::from(link.endpoint.address_index);
        match host.protocol.clone() {
            EndpointProtocol::WebSocket(opening) => self.send_upgrade_request(key, &opening),
            EndpointProtocol::Http1 | EndpointProtocol::LengthDelimited => self.on_connection_open(key),
        }
    }

    /// A connection carries what it was opened for.
    pub(super) fn on_connection_open(&mut self, key: SlabKey) {
        let Some(link) = self.connections.get_mut(key) else { return };
        link.state = ConnectionState::Open;
        let Some(flight) = link.running_journey else { return };
        match self.running.get(flight).map(|flight| flight.role) {
            Some(Role::Journey | Role::Background { .. } | Role::OpenWithJourney) => self.send_step(key, flight),
            Some(Role::OpenConnection) => self.on_held_connection_open(key, flight),
            None => {}
        }
    }

    /// Puts what a flight's step asks or says onto a connection.
    fn send_step(&mut self, link_key: SlabKey, key: SlabKey) {
        let calls = self.journeys.clone();
        let (Some(flight), Some(link)) = (self.running.get_mut(key), self.connections.get_mut(link_key)) else {
            return;
        };
        let call = &calls[flight.journey_index].steps[flight.step];
        flight.connection = Some(link_key);
        link.running_journey = Some(key);
        let (setting, arrival) = (&self.config, &flight.arrival);
        let scope = Scope {
            globals: &setting.globals,
            kept: flight.kept.values(),
            picks: &setting.picks,
            feeds: &setting.feeds,
            arrival: Some(ArrivalContext {
                run_id: &setting.run_id,
                load_step: arrival.load_step,
                index: arrival.index,
                seed: arrival.seed,
                round: flight.rounds.completed_rounds(),
                message_number: u64::from(link.message_count) + 1,
            }),
        };
        if let Some(message) = call.step.message() {
            let mut scratch = std::mem::take(&mut self.scratch);
            let written = messages::encode_message(message, &scope, &mut scratch);
            link.message_count += u32::from(message.is_numbered);
            match written {
                Ok(word) => self.send_message(link_key, word, &mut scratch),
                Err(message) => self.end_step(key, &StepOutcome::Failed(Failure::new(ErrorKind::Request, message))),
            }
            self.scratch = scratch;
            return;
        }
        let last = flight.step + 1 == flight.end_step && calls[flight.journey_index].repeats.is_empty();
        let close = match self.loads[flight.load_index].spec.reconnect {
            Reconnect::Never => false,
            Reconnect::Journey => last,
            Reconnect::Request => true,
        };
        let mut scratch = std::mem::take(&mut self.scratch);
        match call.render(&scope, close, &mut scratch) {
            Ok(bytes) => {
                link.codec.expect_response(ExpectedResponse { head_only: call.head_only });
                self.send(link_key, bytes);
            }
            Err(message) => self.end_step(key, &StepOutcome::Failed(Failure::new(ErrorKind::Request, message))),
        }
        self.scratch = scratch;
    }

    /// Takes bytes of an answer. `ended` says that none will follow them.
    pub(super) fn receive(&mut self, key: SlabKey, bytes: &[u8], ended: bool) {
        let Some(link) = self.connections.get_mut(key) else { return };
        let mut waiting = std::mem::take(&mut link.partial);
        let unread = if waiting.is_empty() {
            let unread = self.decode_received(key, bytes, ended);
            if unread > 0 {
                waiting = self.connections.take_buffer();
                waiting.extend_from_slice(bytes);
            }
            unread
        } else {
            waiting.extend_from_slice(bytes);
            self.decode_received(key, &waiting, ended)
        };
        waiting.drain(..waiting.len() - unread);
        match self.connections.get_mut(key) {
            Some(link) if unread > 0 => link.partial = waiting,
            _ => self.connections.return_buffer(waiting),
        }
    }

    /// Takes as much of the bytes as they mean anything; gives how many are left.
    fn decode_received(&mut self, key: SlabKey, bytes: &[u8], ended: bool) -> usize {
        let mut rest = bytes;
        while let Some(link) = self.connections.get_mut(key) {
            let mut nobody = ResponseBody::default();
            let body =
                link.running_journey.and_then(|flight| self.running.get_mut(flight)).map(|flight| &mut flight.body);
            let taken = link.codec.decode(rest, body.unwrap_or(&mut nobody));
            let (now, later) = rest.split_at(taken.consumed);
            rest = later;
            match taken.event {
                Event::NeedMore if taken.consumed == 0 => break,
                Event::NeedMore => {}
                Event::Head { status } => self.on_head(key, status, now),
                Event::Done { keep } => {
                    self.on_response_end(key, keep && rest.is_empty(), ended, rest);
                    if rest.is_empty() {
                        break;
                    }
                }
                Event::Frame(frame) => self.on_frame(key, payload_of(&frame, now)),
                Event::Ping(range) => self.send_pong(key, &now[range]),
                Event::Upgraded => self.on_connection_open(key),
                Event::Failed(failure) => {
                    // A frame that says that this is the end.
                    link.peer_closed = failure.kind == ErrorKind::Closed;
                    self.on_connection_lost(key, failure, false);
                    break;
                }
            }
        }
        rest.len()
    }

    fn on_head(&mut self, link: SlabKey, status: u16, head: &[u8]) {
        let (calls, now) = (self.journeys.clone(), self.plan_time());
        let key = self.connections.get(link).and_then(|link| link.running_journey);
        let Some(flight) = key.and_then(|key| self.running.get_mut(key)) else { return };
        let call = &calls[flight.journey_index].steps[flight.step];
        flight.status = status;
        flight.times.step_head = Some(now);
        flight.body.capture = match response::classify_status(&call.step, status) {
            StatusClass::Unexpected => BodyCapture::Excerpt,
            StatusClass::Expected if call.needs_body => BodyCapture::Whole,
            StatusClass::Expected | StatusClass::Denied => BodyCapture::Nothing,
        };
        if response::classify_status(&call.step, status) != StatusClass::Expected {
            return;
        }
        for keep in &call.step.keep {
            let ValueSource::Header(name) = &keep.source else { continue };
            match response::keep_from_header(name.as_str(), http1::header(head, name.as_str())) {
                Ok(kept) => flight.kept.insert(&keep.name, &kept.text),
                Err(failure) => flight.header_failure = Some(failure),
            }
        }
    }

    /// An answer is complete; `excess` came behind it.
    fn on_response_end(&mut self, link_key: SlabKey, keep: bool, ended: bool, excess: &[u8]) {
        let Some(link) = self.connections.get_mut(link_key) else { return };
        let Some(key) = link.running_journey else { return };
        link.has_responded = true;
        // An answer that overtakes its request leaves a connection on which nothing else can be said.
        let keep = keep && link.unsent.is_empty();
        let Some(flight) = self.running.get_mut(key) else { return };
        if !keep || self.loads[flight.load_index].spec.reconnect == Reconnect::Request {
            flight.connection = None;
            if !keep {
                self.record_loss(link_key, true);
            }
            self.retire_connection(link_key, !keep && !ended);
        }
        // Empty lines are put up with, as in front of an answer.
        let excess = excess.iter().any(|byte| !matches!(byte, b'\r' | b'\n')).then_some(excess.len());
        self.on_response(key, excess);
    }

    /// Gives a connection up. Where the other side is about to close it, that comes first.
    pub(super) fn retire_connection(&mut self, key: SlabKey, linger: bool) {
        let Some(link) = self.connections.get_mut(key) else { return };
        if !linger {
            return self.close_connection(key);
        }
        (link.state, link.running_journey) = (ConnectionState::Lingering, None);
        if let Some((at, member)) = link.held.take() {
            self.on_held_connection_gone(at, member, None);
        }
        self.lingering.push_back((self.now + LINGER, key));
        if self.lingering.len() > LINGERING_MAX
            && let Some((_, oldest)) = self.lingering.pop_front()
        {
            self.close_connection(oldest);
        }
    }

    pub(super) fn close_connection(&mut self, key: SlabKey) {
        self.remove_connection(key, None);
    }

    /// Takes a connection away from whoever holds it.
    fn remove_connection(&mut self, key: SlabKey, failure: Option<&Failure>) -> Option<Connection> {
        self.send_close(key);
        let link = self.connections.remove(key)?;
        if let Some((at, member)) = link.held {
            let was_idle = link.running_journey.is_none();
            let in_order = link.peer_closed;
            self.on_held_connection_gone(
                at,
                member,
                failure.map(|failure| ConnectionLoss { failure, closed_cleanly: in_order, was_idle }),
            );
        }
        Some(link)
    }

    /// The other side has ended a connection.
    pub(super) fn on_peer_closed(&mut self, key: SlabKey) {
        let Some(link) = self.connections.get_mut(key) else { return };
        link.peer_closed = true;
        match link.codec.decode_eof() {
            Event::Done { .. } => self.on_response_end(key, false, true, &[]),
            Event::Failed(failure) => self.on_connection_lost(key, failure, false),
            Event::NeedMore | Event::Head { .. } | Event::Frame(_) | Event::Ping(_) | Event::Upgraded => {
                self.close_connection(key)
            }
        }
    }

    /// A connection has ended without TLS's word that this is the end: what came last may be cut off.
    pub(super) fn on_truncated(&mut self, key: SlabKey) {
        let Some(link) = self.connections.get_mut(key) else { return };
        let failure = match (link.state, link.codec.decode_eof()) {
            (ConnectionState::TlsHandshake, _) => {
                Failure::new(ErrorKind::Connect, "TLS: the connection was closed in the handshake")
            }
            (_, Event::Failed(failure)) => failure,
            _ => Failure::new(ErrorKind::Truncated, "the connection was closed without TLS's close_notify"),
        };
        self.on_connection_lost(key, failure, false);
    }

    /// A connection is of no use any more. What the request meets is its failure, with one exception: a connection that was
    /// kept and that the other side closed in order before the first byte of an answer may have been closed before
    /// the request went out. Then the request goes out once more over a new one, where a second time does no harm, and is
    /// counted. One of which no byte had gone out has not been sent at all.
    pub(super) fn on_connection_lost(&mut self, link_key: SlabKey, failure: Failure, unsent: bool) {
        let calls = self.journeys.clone();
        let Some(link) = self.remove_connection(link_key, Some(&failure)) else { return };
        let Some(key) = link.running_journey else { return };
        let gone = matches!(failure.kind, ErrorKind::Closed | ErrorKind::Reset);
        let has_said_all = !unsent && gone && self.has_sent_all(&link);
        let Some(flight) = self.running.get_mut(key) else { return };
        flight.connection = None;
        if link.codec.is_framed() {
            // Whoever it was to the other side is gone with it: nothing goes on over another one.
            match flight.step_state {
                // Its last word may have been to ask for this: what follows needs the connection, and this did not.
                StepState::Exchanging if has_said_all => {
                    flight.connection_failure = Some(failure);
                    self.end_send_step(key);
                }
                StepState::Exchanging => self.end_step(key, &StepOutcome::Failed(failure)),
                StepState::Delayed => flight.connection_failure = Some(failure),
                StepState::Idle => {}
            }
            return;
        }
        if flight.step_state != StepState::Exchanging {
            return;
        }
        let call = &calls[flight.journey_index].steps[flight.step];
        let unsent = unsent && !flight.has_written;
        let closed = flight.times.step_head.is_none() && failure.kind == ErrorKind::Closed && call.idempotent;
        if link.has_responded && !flight.resent && (unsent || closed) {
            flight.resent = true;
            if std::mem::take(&mut flight.has_written) {
                flight.retries += 1;
                self.accumulator.count_resend();
            }
            return self.open_connection(key, None);
        }
        self.end_step(key, &StepOutcome::Failed(failure));
    }

    /// Gives up what has taken too long.
    pub(super) fn expire_timeouts(&mut self) {
        while let Some((deadline, key)) = self.running.next_timeout() {
            if deadline > self.now {
                break;
            }
            self.running.disarm(key);
            let Some(flight) = self.running.get_mut(key) else { continue };
            let (link, has_head) = (flight.connection.take(), flight.times.step_head.is_some());
            let timeout = self.journeys[flight.journey_index].steps[flight.step].step.timeout;
            let awaited = match link.and_then(|link| self.connections.get(link)) {
                Some(link) => awaited(link, has_head),
                None => Awaited::Connect,
            };
            if let Some(link) = link {
                self.record_loss(link, false);
                self.close_connection(link);
            }
            let message = match awaited {
                Awaited::Connect => format!("no connection within {timeout:?}"),
                Awaited::Tls => format!("no end of the TLS handshake within {timeout:?}"),
                Awaited::FirstByte => format!("no answer within {timeout:?}"),
                Awaited::Body => format!("no whole answer within {timeout:?}"),
            };
            let failure = Failure::new(ErrorKind::Timeout(awaited), message);
            self.end_step(key, &StepOutcome::Failed(failure));
        }
        while let Some((_, key)) = self.lingering.front().copied().filter(|(until, _)| *until <= self.now) {
            self.lingering.pop_front();
            self.close_connection(key);
        }
    }
}

/// What a flight still waits for over a connection; `has_head` says whether it got the head of its answer.
fn awaited(link: &Connection, has_head: bool) -> Awaited {
    match link.state {
        ConnectionState::Connecting | ConnectionState::Upgrading => Awaited::Connect,
        ConnectionState::TlsHandshake => Awaited::Tls,
        ConnectionState::Open | ConnectionState::Lingering if has_head || link.codec.has_response_started() => {
            Awaited::Body
        }
        ConnectionState::Open | ConnectionState::Lingering => Awaited::FirstByte,
    }
}
