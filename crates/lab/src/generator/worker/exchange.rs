//! Requests and responses over connections: which connection a request takes, what received bytes mean, and what
//! happens to a request when its connection is lost. Does not know when requests are due.

use std::io;

use super::connections::{Connection, ConnectionState, EndpointAddress, EndpointProtocol};
use super::hold_load::ConnectionLoss;
use super::journey::StepOutcome;
use super::running_journeys::Role;
use super::{SlabKey, StepState, Worker, messages};
use crate::generator::Failure;
use crate::generator::decoder::{BodyCapture, Event, ResponseBody};
use crate::generator::framing::{Codec, WebSocketDecoder};
use crate::generator::http1::{self, Http1Decoder};
use crate::generator::response::{self, StatusClass};
use crate::limits::{LINGER, LINGERING_MAX};
use crate::measurement::{Awaited, ErrorKind};
use crate::scenario::{ArrivalContext, Reconnect, Scope, ValueSource};

impl Worker {
    /// Sends the request over the journey's own connection, an idle one, or a new one.
    pub(super) fn dispatch(&mut self, key: SlabKey) {
        let Some(running) = self.running.get(key) else { return };
        let opening = matches!(running.role, Role::OpenConnection | Role::OpenWithJourney);
        // A framed connection belongs to one user; no other journey continues on it.
        let reusing = !opening
            && !self.journeys[running.journey_index].uses_messages
            && self.loads[running.load_index].spec.reconnect == Reconnect::Never;
        let connection = running.connection.or_else(|| if reusing { self.connections.take_idle() } else { None });
        match connection {
            Some(connection) => self.send_step(connection, key),
            None => self.open_connection(key, None),
        }
    }

    /// Opens a connection, at the address after `failed` if one is given.
    fn open_connection(&mut self, key: SlabKey, failed: Option<usize>) {
        let Some(running) = self.running.get(key) else { return };
        let number =
            self.connector.endpoint_for(self.journeys[running.journey_index].uses_messages, running.arrival.index);
        let endpoint = &self.connector.endpoints[number];
        let (count, preferred) = (endpoint.addresses.len(), endpoint.preferred_index);
        let mut at = failed.map_or(preferred, |at| endpoint.next_address(at));
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
            EndpointProtocol::LengthDelimited => Codec::LengthDelimited,
            EndpointProtocol::WebSocket(_) => Codec::WebSocket(WebSocketDecoder::default()),
        };
        let connection = self.connections.add(Connection::new(fd, to, codec, Some(key)));
        if let Err(error) = self.register_connection(connection) {
            self.connections.remove(connection);
            return Err(error);
        }
        if let Some(running) = self.running.get_mut(key) {
            running.connection = Some(connection);
        }
        Ok(())
    }

    fn connect_failure(&self, to: EndpointAddress, error: &io::Error) -> Failure {
        Failure::new(ErrorKind::Connect, format!("{}: {error}", self.connector.address(to)))
    }

    /// Tries the next address, if there is one.
    pub(super) fn on_connect_failed(&mut self, key: SlabKey, error: &io::Error) {
        let Some(connection) = self.connections.remove(key) else { return };
        let failure = self.connect_failure(connection.endpoint, error);
        let Some(running) = connection.running_journey else { return };
        if let Some(running) = self.running.get_mut(running) {
            running.connection = None;
        }
        let (endpoint, address) =
            (self.connector.endpoint(connection.endpoint), usize::from(connection.endpoint.address_index));
        if endpoint.next_address(address) == endpoint.preferred_index {
            self.end_step(running, &StepOutcome::Failed(failure));
        } else {
            self.open_connection(running, Some(address));
        }
    }

    /// The transport is connected: starts the upgrade, if the endpoint needs one.
    pub(super) fn on_transport_ready(&mut self, key: SlabKey) {
        self.accumulator.count_connect();
        let Some(connection) = self.connections.get_mut(key) else { return };
        let endpoint = &mut self.connector.endpoints[usize::from(connection.endpoint.endpoint_index)];
        endpoint.preferred_index = usize::from(connection.endpoint.address_index);
        match endpoint.protocol.clone() {
            EndpointProtocol::WebSocket(opening) => self.send_upgrade_request(key, &opening),
            EndpointProtocol::Http1 | EndpointProtocol::LengthDelimited => self.on_connection_open(key),
        }
    }

    /// The connection carries requests or messages from here on.
    pub(super) fn on_connection_open(&mut self, key: SlabKey) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.state = ConnectionState::Open;
        let Some(running) = connection.running_journey else { return };
        match self.running.get(running).map(|running| running.role) {
            Some(Role::Journey | Role::Background { .. } | Role::OpenWithJourney) => self.send_step(key, running),
            Some(Role::OpenConnection) => self.on_held_connection_open(key, running),
            None => {}
        }
    }

    /// Sends the request or message of the current step.
    fn send_step(&mut self, link_key: SlabKey, key: SlabKey) {
        let journeys = self.journeys.clone();
        let (Some(running), Some(connection)) = (self.running.get_mut(key), self.connections.get_mut(link_key)) else {
            return;
        };
        let prepared = &journeys[running.journey_index].steps[running.step];
        running.connection = Some(link_key);
        connection.running_journey = Some(key);
        let (config, arrival) = (&self.config, &running.arrival);
        let scope = Scope {
            globals: &config.globals,
            kept: running.kept.values(),
            picks: &config.picks,
            feeds: &config.feeds,
            arrival: Some(ArrivalContext {
                run_id: &config.run_id,
                load_step: arrival.load_step,
                index: arrival.index,
                seed: arrival.seed,
                round: running.rounds.completed_rounds(),
                message_number: u64::from(connection.message_count) + 1,
            }),
        };
        if let Some(message) = prepared.step.message() {
            let mut scratch = std::mem::take(&mut self.scratch);
            let written = messages::encode_message(message, &scope, &mut scratch);
            connection.message_count += u32::from(message.is_numbered);
            match written {
                Ok(opcode) => self.send_message(link_key, opcode, &mut scratch),
                Err(message) => self.end_step(key, &StepOutcome::Failed(Failure::new(ErrorKind::Request, message))),
            }
            self.scratch = scratch;
            return;
        }
        let last = running.step + 1 == running.end_step && journeys[running.journey_index].repeats.is_empty();
        let close = match self.loads[running.load_index].spec.reconnect {
            Reconnect::Never => false,
            Reconnect::Journey => last,
            Reconnect::Request => true,
        };
        let mut scratch = std::mem::take(&mut self.scratch);
        match prepared.render(&scope, close, &mut scratch) {
            Ok(bytes) => {
                connection.codec.expect_response(prepared.head_only);
                self.send(link_key, bytes);
            }
            Err(message) => self.end_step(key, &StepOutcome::Failed(Failure::new(ErrorKind::Request, message))),
        }
        self.scratch = scratch;
    }

    /// Takes received bytes. `ended` says that none will follow them.
    pub(super) fn receive(&mut self, key: SlabKey, bytes: &[u8], ended: bool) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        let mut waiting = std::mem::take(&mut connection.partial);
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
            Some(connection) if unread > 0 => connection.partial = waiting,
            _ => self.connections.return_buffer(waiting),
        }
    }

    /// Decodes what is complete; returns how many bytes are left.
    fn decode_received(&mut self, key: SlabKey, bytes: &[u8], ended: bool) -> usize {
        let mut rest = bytes;
        while let Some(connection) = self.connections.get_mut(key) {
            let mut unused = ResponseBody::default();
            let body = connection
                .running_journey
                .and_then(|running| self.running.get_mut(running))
                .map(|running| &mut running.body);
            let (consumed, event) = match connection.codec.decode(rest, body.unwrap_or(&mut unused)) {
                Ok(decoded) => decoded,
                Err(failure) => {
                    // A close frame arrives as a failure of the kind `Closed`.
                    connection.peer_closed = failure.kind == ErrorKind::Closed;
                    self.on_connection_lost(key, failure, false);
                    break;
                }
            };
            let (now, later) = rest.split_at(consumed);
            rest = later;
            match event {
                Event::NeedMore if consumed == 0 => break,
                Event::NeedMore => {}
                Event::Head { status } => self.on_head(key, status, now),
                Event::Done { keep } => {
                    self.on_response_end(key, keep && rest.is_empty(), ended, rest);
                    if rest.is_empty() {
                        break;
                    }
                }
                Event::Frame(frame) => self.on_frame(key, frame.bytes(now)),
                Event::Ping(range) => self.send_pong(key, &now[range]),
                Event::Upgraded => self.on_connection_open(key),
            }
        }
        rest.len()
    }

    fn on_head(&mut self, connection: SlabKey, status: u16, head: &[u8]) {
        let (journeys, now) = (self.journeys.clone(), self.plan_time());
        let key = self.connections.get(connection).and_then(|connection| connection.running_journey);
        let Some(running) = key.and_then(|key| self.running.get_mut(key)) else { return };
        let prepared = &journeys[running.journey_index].steps[running.step];
        running.status = status;
        running.times.step_head = Some(now);
        running.body.capture = match response::classify_status(&prepared.step, status) {
            StatusClass::Unexpected => BodyCapture::Excerpt,
            StatusClass::Expected if prepared.needs_body => BodyCapture::Whole,
            StatusClass::Expected | StatusClass::Denied => BodyCapture::Nothing,
        };
        if response::classify_status(&prepared.step, status) != StatusClass::Expected {
            return;
        }
        for keep in &prepared.step.keep {
            let ValueSource::Header(name) = &keep.source else { continue };
            match response::keep_from_header(name.as_str(), http1::header(head, name.as_str())) {
                Ok(kept) => running.kept.insert(&keep.name, &kept.text),
                Err(failure) => running.header_failure = Some(failure),
            }
        }
    }

    /// A response is complete; `excess` was received after it.
    fn on_response_end(&mut self, link_key: SlabKey, keep: bool, ended: bool, excess: &[u8]) {
        let Some(connection) = self.connections.get_mut(link_key) else { return };
        let Some(key) = connection.running_journey else { return };
        connection.has_responded = true;
        // A response that overtakes its request leaves a connection that cannot be used again.
        let keep = keep && connection.unsent.is_empty();
        let Some(running) = self.running.get_mut(key) else { return };
        if !keep || self.loads[running.load_index].spec.reconnect == Reconnect::Request {
            running.connection = None;
            if !keep {
                self.record_loss(link_key, true);
            }
            self.retire_connection(link_key, !keep && !ended);
        }
        // Empty lines are tolerated, as before a response.
        let excess = excess.iter().any(|byte| !matches!(byte, b'\r' | b'\n')).then_some(excess.len());
        self.on_response(key, excess);
    }

    /// Gives a connection up. With `linger` the peer is expected to close first.
    pub(super) fn retire_connection(&mut self, key: SlabKey, linger: bool) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        if !linger {
            return self.close_connection(key);
        }
        (connection.state, connection.running_journey) = (ConnectionState::Lingering, None);
        if let Some((at, held_index)) = connection.held.take() {
            self.on_held_connection_gone(at, held_index, None);
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

    /// Removes a connection and informs its owner.
    fn remove_connection(&mut self, key: SlabKey, failure: Option<&Failure>) -> Option<Connection> {
        self.send_close(key);
        let connection = self.connections.remove(key)?;
        if let Some((at, held_index)) = connection.held {
            let was_idle = connection.running_journey.is_none();
            let in_order = connection.peer_closed;
            self.on_held_connection_gone(
                at,
                held_index,
                failure.map(|failure| ConnectionLoss { failure, closed_cleanly: in_order, was_idle }),
            );
        }
        Some(connection)
    }

    /// The peer has closed a connection.
    pub(super) fn on_peer_closed(&mut self, key: SlabKey) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.peer_closed = true;
        match connection.codec.decode_eof() {
            Ok(()) => self.on_response_end(key, false, true, &[]),
            Err(failure) => self.on_connection_lost(key, failure, false),
        }
    }

    /// A connection ended without TLS close_notify: the last bytes may be missing.
    pub(super) fn on_truncated(&mut self, key: SlabKey) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        let failure = match (connection.state, connection.codec.decode_eof()) {
            (ConnectionState::TlsHandshake, _) => {
                Failure::new(ErrorKind::Connect, "TLS: the connection was closed in the handshake")
            }
            (_, Err(failure)) => failure,
            _ => Failure::new(ErrorKind::Truncated, "the connection was closed without TLS's close_notify"),
        };
        self.on_connection_lost(key, failure, false);
    }

    /// A connection is of no use any more. The request fails with `failure`, with one exception: a reused connection
    /// that the peer closed in order before the first byte of a response may have been closed before the request was
    /// sent. Then the request is resent once over a new connection, if it is idempotent, and counted. A request of
    /// which no byte was sent has not been sent at all.
    pub(super) fn on_connection_lost(&mut self, link_key: SlabKey, failure: Failure, unsent: bool) {
        let journeys = self.journeys.clone();
        let Some(connection) = self.remove_connection(link_key, Some(&failure)) else { return };
        let Some(key) = connection.running_journey else { return };
        let gone = matches!(failure.kind, ErrorKind::Closed | ErrorKind::Reset);
        let has_sent_all = !unsent && gone && self.has_sent_all(&connection);
        let Some(running) = self.running.get_mut(key) else { return };
        running.connection = None;
        if connection.codec.is_framed() {
            // The user ends with the connection: the journey must not continue on another one.
            match running.step_state {
                // The last message may have asked for the close: only the next step needs the connection, and this one
                // succeeded.
                StepState::Exchanging if has_sent_all => {
                    running.connection_failure = Some(failure);
                    self.end_send_step(key);
                }
                StepState::Exchanging => self.end_step(key, &StepOutcome::Failed(failure)),
                StepState::Delayed => running.connection_failure = Some(failure),
                StepState::Idle => {}
            }
            return;
        }
        if running.step_state != StepState::Exchanging {
            return;
        }
        let prepared = &journeys[running.journey_index].steps[running.step];
        let unsent = unsent && !running.has_written;
        let closed = running.times.step_head.is_none() && failure.kind == ErrorKind::Closed && prepared.idempotent;
        if connection.has_responded && !running.resent && (unsent || closed) {
            running.resent = true;
            if std::mem::take(&mut running.has_written) {
                running.retries += 1;
                self.accumulator.count_resend();
            }
            return self.open_connection(key, None);
        }
        self.end_step(key, &StepOutcome::Failed(failure));
    }

    /// Fails what has timed out.
    pub(super) fn expire_timeouts(&mut self) {
        while let Some((deadline, key)) = self.running.next_timeout() {
            if deadline > self.now {
                break;
            }
            self.running.disarm(key);
            let Some(running) = self.running.get_mut(key) else { continue };
            let (connection, has_head) = (running.connection.take(), running.times.step_head.is_some());
            let timeout = self.journeys[running.journey_index].steps[running.step].step.timeout;
            let awaited = match connection.and_then(|connection| self.connections.get(connection)) {
                Some(connection) => awaited(connection, has_head),
                None => Awaited::Connect,
            };
            if let Some(connection) = connection {
                self.record_loss(connection, false);
                self.close_connection(connection);
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

/// What a request still waits for; `has_head` says whether the head of its response was received.
fn awaited(connection: &Connection, has_head: bool) -> Awaited {
    match connection.state {
        ConnectionState::Connecting | ConnectionState::Upgrading => Awaited::Connect,
        ConnectionState::TlsHandshake => Awaited::Tls,
        ConnectionState::Open | ConnectionState::Lingering if has_head || connection.codec.has_response_started() => {
            Awaited::Body
        }
        ConnectionState::Open | ConnectionState::Lingering => Awaited::FirstByte,
    }
}
