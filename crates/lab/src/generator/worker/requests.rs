//! Requests of journeys over connections: which connection a request takes, and to which exchange received bytes belong.
//! Does not know when requests are due, and neither what a response means.

use rustix::event::epoll::EventFlags;

use super::connections::{Connection, Progress, Received};
use super::exchange::{self, ConnectionLost, FrameClass, Resend, StepOutcome};
use super::pacer::{LoadState, Purpose};
use super::running_journeys::StepState;
use super::{Timer, Worker};
use crate::generator::decoder::{Event, ResponseBody};
use crate::generator::framing::{self, Opcode};
use crate::generator::keys::{ConnectionKey, JourneyKey};
use crate::generator::messages::StartedWork;
use crate::generator::poller::Ready;
use crate::generator::{Failure, prepared};
use crate::limits::{LINGER, READ_BYTES};
use crate::measurement::{Awaited, ErrorKind};
use crate::scenario::{ArrivalContext, Reconnect, Scope};

/// Reads from one connection before the next connection's turn.
const READS_PER_TURN: usize = 8;

/// How a held connection was lost without the worker having closed it.
pub(super) struct ConnectionLoss<'a> {
    pub(super) failure: &'a Failure,
    /// Whether the peer closed it in order, instead of breaking it off.
    pub(super) closed_cleanly: bool,
    /// Whether no request was in flight on it.
    pub(super) was_idle: bool,
}

impl Worker {
    /// Sends the request over the journey's own connection, an idle one, or a new one.
    pub(super) fn dispatch(&mut self, key: JourneyKey) {
        let Some(running) = self.running.get(key) else { return };
        // A framed connection belongs to one user; no other journey continues on it.
        let reusing = running.purpose == Purpose::Journey
            && !self.journeys[running.journey_index].spec.uses_messages
            && self.pacer.load(running.load_index).spec.reconnect == Reconnect::Never;
        let connection = running.connection.or_else(|| if reusing { self.connections.take_idle() } else { None });
        match connection {
            Some(connection) => self.send_step(connection, key),
            None => self.open_connection(key),
        }
    }

    fn open_connection(&mut self, key: JourneyKey) {
        let Some(running) = self.running.get_mut(key) else { return };
        let uses_messages = self.journeys[running.journey_index].spec.uses_messages;
        let endpoint = self.connections.endpoint_for(uses_messages, running.arrival.index);
        match self.connections.open(endpoint, key) {
            Ok(connection) => running.connection = Some(connection),
            Err(failure) => self.end_step(key, &StepOutcome::Failed(failure)),
        }
    }

    pub(super) fn on_ready(&mut self, ready: Ready) {
        let Ready { key, flags } = ready;
        match self.connections.on_ready(ready) {
            Ok(Progress::Nothing) => {}
            Ok(Progress::Opened) => self.on_connection_open(key),
            Ok(Progress::Ready { flushed, readable }) => {
                if flushed {
                    self.on_flushed(key);
                }
                if readable {
                    self.read_ready(key, flags.contains(EventFlags::RDHUP));
                }
            }
            Err(failure) => self.on_connection_lost(key, failure, true),
        }
    }

    /// The connection carries requests or messages from here on.
    fn on_connection_open(&mut self, connection: ConnectionKey) {
        let Some(key) = self.connections.get(connection).and_then(|connection| connection.user) else { return };
        match self.running.get(key).map(|running| running.purpose) {
            Some(Purpose::Journey | Purpose::OpenWithJourney) => self.send_step(connection, key),
            Some(Purpose::OpenConnection) => self.on_held_connection_open(connection, key),
            None => {}
        }
    }

    /// Sends the request or message of the current step.
    fn send_step(&mut self, link: ConnectionKey, key: JourneyKey) {
        let (Some(running), Some(connection)) = (self.running.get_mut(key), self.connections.get_mut(link)) else {
            return;
        };
        let journey = &self.journeys[running.journey_index];
        let prepared = &journey.steps[running.step];
        running.connection = Some(link);
        (connection.user, connection.has_written) = (Some(key), false);
        let message_number = u64::from(connection.message_count) + 1;
        connection.message_count += u32::from(prepared.step.message().is_some_and(|message| message.is_numbered));
        let (inputs, arrival) = (&self.config.inputs, &running.arrival);
        let scope = Scope {
            globals: &inputs.globals,
            kept: running.kept.values(),
            picks: &inputs.picks,
            feeds: &inputs.feeds,
            arrival: Some(ArrivalContext {
                run_id: &inputs.run_id,
                load_step: arrival.load_step,
                index: arrival.index,
                seed: arrival.seed,
                round: running.rounds.completed_rounds(),
                message_number,
            }),
        };
        let last = running.step + 1 == running.end_step && journey.spec.repeats.is_empty();
        let close = match self.pacer.load(running.load_index).spec.reconnect {
            Reconnect::Never => false,
            Reconnect::Journey => last,
            Reconnect::Request => true,
        };
        let rendered = match prepared.step.message() {
            Some(message) => prepared::encode_message(message, &scope, &mut self.scratch).map(|opcode| {
                // A message without a response is over once the kernel has taken it.
                self.connections.send_frame(link, opcode, &self.scratch.payload).map(|_| true)
            }),
            None => match prepared.render(&scope, close, &mut self.scratch) {
                Ok(bytes) => {
                    connection.codec.expect_response(prepared.head_only);
                    Ok(self.connections.send(link, bytes))
                }
                Err(message) => Err(message),
            },
        };
        match rendered {
            Ok(sent) => self.after_send(link, sent),
            Err(message) => self.end_step(key, &StepOutcome::Failed(Failure::new(ErrorKind::Request, message))),
        }
    }

    /// Takes what the pool returns for a sending: whether the kernel may just have taken everything, or why the
    /// connection is lost.
    fn after_send(&mut self, link: ConnectionKey, sent: Result<bool, Failure>) {
        match sent {
            Ok(true) => self.on_flushed(link),
            Ok(false) => {}
            Err(failure) => self.on_connection_lost(link, failure, true),
        }
    }

    /// The kernel may have taken everything: ends the step of a message that gets no response.
    fn on_flushed(&mut self, link: ConnectionKey) {
        let sent = self.connections.get(link).filter(|connection| self.has_sent_message(connection));
        if let Some(key) = sent.and_then(|connection| connection.user) {
            // Through a timer: many such steps in a row would recurse as deep as they are many.
            self.set_timer(self.clock.now(), Timer::MessageSent(key));
        }
    }

    /// Whether the step in flight is a message that gets no response, and the kernel has taken all of it.
    fn has_sent_message(&self, connection: &Connection) -> bool {
        let running = connection.user.and_then(|key| self.running.get(key));
        let Some(running) = running.filter(|running| running.step_state == StepState::Exchanging) else { return false };
        let message = self.journeys[running.journey_index].steps[running.step].step.message();
        message.is_some_and(|message| message.answer_matches.is_empty()) && connection.has_sent_all()
    }

    /// A message that gets no response was sent; unless its step has ended otherwise meanwhile.
    pub(super) fn on_message_sent(&mut self, key: JourneyKey) {
        let connection = self.running.get(key).and_then(|running| self.connections.get(running.connection?));
        if connection.is_some_and(|connection| self.has_sent_message(connection)) {
            self.end_send_step(key);
        }
    }

    /// Ends the step of a message that gets no response.
    fn end_send_step(&mut self, key: JourneyKey) {
        if let Some(running) = self.running.get_mut(key) {
            running.exchange.head_at = Some(self.clock.now());
        }
        self.end_step(key, &StepOutcome::Ok);
    }

    /// Reads what was received. The poller reports again what is left.
    fn read_ready(&mut self, link: ConnectionKey, hung_up: bool) {
        let mut buffer = std::mem::take(&mut self.read_buffer);
        for _ in 0..READS_PER_TURN {
            let read = self.connections.read(link, &mut buffer);
            self.read_clock();
            match read {
                Ok((Received::Bytes(count), is_encrypted)) => {
                    let last = hung_up && count < buffer.len();
                    if is_encrypted {
                        self.receive_encrypted(link, &buffer[..count], last);
                    } else {
                        self.receive(link, &buffer[..count], last);
                    }
                    // The close that the poller has reported is still to be read.
                    if count < buffer.len() && !hung_up {
                        break;
                    }
                    continue;
                }
                Ok((Received::Closed, _)) => self.on_peer_closed(link),
                Ok((Received::Nothing | Received::Opened, _)) => {}
                Err(failure) => self.on_connection_lost(link, failure, false),
            }
            break;
        }
        self.read_buffer = buffer;
    }

    fn receive_encrypted(&mut self, link: ConnectionKey, mut bytes: &[u8], hung_up: bool) {
        let mut plain = std::mem::take(&mut self.plaintext_buffer);
        plain.resize(READ_BYTES, 0);
        loop {
            match self.connections.decrypt(link, &mut bytes, &mut plain) {
                Ok(Received::Bytes(count)) => {
                    self.receive(link, &plain[..count], hung_up && bytes.is_empty());
                    continue;
                }
                Ok(Received::Opened) => {
                    self.on_connection_open(link);
                    continue;
                }
                Ok(Received::Nothing) => {}
                Ok(Received::Closed) => self.on_peer_closed(link),
                Err(failure) => self.on_connection_lost(link, failure, false),
            }
            break;
        }
        self.plaintext_buffer = plain;
        // TLS may have records of its own to send.
        let flushed = self.connections.flush(link);
        self.after_send(link, flushed);
    }

    /// Takes received bytes. `ended` says that none will follow them.
    fn receive(&mut self, link: ConnectionKey, bytes: &[u8], ended: bool) {
        let Some(connection) = self.connections.get_mut(link) else { return };
        let mut waiting = std::mem::take(&mut connection.partial);
        let unread = if waiting.is_empty() {
            let unread = self.decode(link, bytes, ended);
            if unread > 0 {
                waiting = self.connections.take_buffer();
                waiting.extend_from_slice(bytes);
            }
            unread
        } else {
            waiting.extend_from_slice(bytes);
            self.decode(link, &waiting, ended)
        };
        waiting.drain(..waiting.len() - unread);
        match self.connections.get_mut(link) {
            Some(connection) if unread > 0 => connection.partial = waiting,
            _ => self.connections.return_buffer(waiting),
        }
    }

    /// Decodes what is complete; returns how many bytes are left.
    fn decode(&mut self, link: ConnectionKey, bytes: &[u8], ended: bool) -> usize {
        let mut rest = bytes;
        while let Some(connection) = self.connections.get_mut(link) {
            let mut unused = ResponseBody::default();
            let running = connection.user.and_then(|key| self.running.get_mut(key));
            let body = running.map_or(&mut unused, |running| &mut running.exchange.body);
            let (consumed, event) = match connection.codec.decode(rest, body) {
                Ok((0, Event::NeedMore)) => break,
                Ok(decoded) => decoded,
                Err(failure) => {
                    // A close frame arrives as a failure of the kind `Closed`.
                    connection.peer_closed = failure.kind == ErrorKind::Closed;
                    self.on_connection_lost(link, failure, false);
                    break;
                }
            };
            let (now, later) = rest.split_at(consumed);
            rest = later;
            match event {
                Event::NeedMore => {}
                Event::Head { status } => self.on_head(link, status, now),
                Event::Done { keep } => {
                    self.on_response_end(link, keep && rest.is_empty(), ended, rest);
                    if rest.is_empty() {
                        break;
                    }
                }
                Event::Frame(frame) => self.on_frame(link, frame.bytes(now)),
                Event::Ping(range) => self.send_pong(link, &now[range]),
                Event::Upgraded => {
                    self.connections.set_open(link);
                    self.on_connection_open(link);
                }
            }
        }
        rest.len()
    }

    fn on_head(&mut self, link: ConnectionKey, status: u16, head: &[u8]) {
        let key = self.connections.get(link).and_then(|connection| connection.user);
        let Some(running) = key.and_then(|key| self.running.get_mut(key)) else { return };
        let prepared = &self.journeys[running.journey_index].steps[running.step];
        running.exchange.on_head(prepared, &mut running.kept, (status, head), self.clock.now());
    }

    /// A response is complete; `excess` was received after it.
    fn on_response_end(&mut self, link: ConnectionKey, keep: bool, ended: bool, excess: &[u8]) {
        let Some(connection) = self.connections.get_mut(link) else { return };
        let Some(key) = connection.user else { return };
        connection.has_responded = true;
        // A response that overtakes its request leaves a connection that cannot be used again.
        let keep = keep && connection.is_flushed();
        let Some(running) = self.running.get_mut(key) else { return };
        if !keep || self.pacer.load(running.load_index).spec.reconnect == Reconnect::Request {
            running.connection = None;
            if !keep {
                self.record_loss(link, true);
            }
            self.retire_connection(link, !keep && !ended);
        }
        self.running.disarm(key);
        let Some(running) = self.running.get_mut(key) else { return };
        let prepared = &self.journeys[running.journey_index].steps[running.step];
        let outcome = running.exchange.evaluate(prepared, &mut running.kept, excess);
        self.record_wake_delay(key);
        self.queue_started_work(key);
        self.end_step(key, &outcome);
    }

    /// Records the wake delay: how late an event was received that happened while the journey watched for it. An event
    /// of the first response may be older than the watch; one that happened between two polls is not, and counts.
    fn record_wake_delay(&mut self, key: JourneyKey) {
        let Some(running) = self.running.get_mut(key) else { return };
        let (Some(happened), Some(head)) = (running.exchange.event_unix_us, running.exchange.head_at) else { return };
        if running.watching_since_unix_us.is_some_and(|watching| happened >= watching) {
            let wake = self.clock.since_unix_us(head, happened);
            let generator_delay = self.pauses.paused_between(head.saturating_sub(wake), head);
            running.wake_delay = Some((wake, generator_delay));
        }
    }

    /// Reports the work that a response has started.
    fn queue_started_work(&mut self, key: JourneyKey) {
        let done = self.clock.now();
        let Some(running) = self.running.get_mut(key) else { return };
        let Some(work_index) = self.journeys[running.journey_index].steps[running.step].work_index else { return };
        for id in running.exchange.started_ids.drain(..) {
            let work = StartedWork { work_index, id: id.into(), intended: running.arrival.intended, done };
            self.reports.queue_started_work(work, done);
        }
    }

    fn on_frame(&mut self, link: ConnectionKey, frame: &[u8]) {
        let Some(socket) = &self.config.scenario.target.socket else { return };
        let user = self.connections.get(link).and_then(|connection| connection.user);
        let awaiting = user.and_then(|key| {
            let running = self.running.get_mut(key).filter(|running| running.step_state == StepState::Exchanging)?;
            Some((key, &self.journeys[running.journey_index].steps[running.step], running))
        });
        match (exchange::classify_frame(awaiting.as_ref().map(|(_, prepared, _)| *prepared), socket, frame), awaiting) {
            (Ok(FrameClass::Answer), Some((key, prepared, running))) => {
                let now = self.clock.now();
                let outcome = running.exchange.on_answer_frame(prepared, socket, &mut running.kept, frame, now);
                if let Some(connection) = self.connections.get_mut(link) {
                    connection.has_responded = true;
                }
                self.queue_started_work(key);
                self.end_step(key, &outcome);
            }
            (Ok(FrameClass::Denial), Some((key, ..))) => self.end_step(key, &StepOutcome::Denied),
            // An error frame ends its connection, whether it answers a step or not.
            (Ok(FrameClass::Error), _) => {
                let failure = exchange::error_frame_failure(socket, frame);
                self.on_connection_lost(link, failure, false);
            }
            (Ok(FrameClass::Push | FrameClass::Answer | FrameClass::Denial), _) => self.record_push(link, frame),
            (Err(failure), _) => self.on_connection_lost(link, failure, false),
        }
    }

    /// Counts a pushed frame under the first push that matches it. Its delay counts once all connections are open.
    fn record_push(&mut self, link: ConnectionKey, frame: &[u8]) {
        let pushes = &self.config.scenario.pushes;
        let named = pushes.iter().position(|push| framing::has_value(&push.path, frame).unwrap_or(false));
        let push_index = named.unwrap_or(pushes.len());
        let since = named.and_then(|index| pushes[index].event_time.as_ref());
        let happened = match since.map(|path| framing::read_micros(path, frame)).transpose() {
            Ok(happened) => happened.flatten(),
            Err(failure) => return self.on_connection_lost(link, failure, false),
        };
        let now = self.clock.now();
        // While connections open, the burst of pushes that this causes says nothing about the load that follows.
        let delay = happened.filter(|_| !self.is_still_opening(link)).map(|at| {
            let delay = self.clock.since_unix_us(now, at);
            (delay, self.pauses.paused_between(now.saturating_sub(delay), now))
        });
        self.reports.accumulator.advance_to(now);
        self.reports.accumulator.record_push(push_index, frame.len(), delay);
    }

    /// Whether a connection belongs to a load that is still opening its connections.
    fn is_still_opening(&self, link: ConnectionKey) -> bool {
        let Some(connection) = self.connections.get(link) else { return false };
        let of_user = || self.running.get(connection.user?).map(|running| running.load_index);
        let load_index = connection.held.map(|(load_index, _)| load_index).or_else(of_user);
        load_index.is_some_and(
            |index| matches!(&self.pacer.load(index).state, LoadState::Held(held) if !held.has_started_requests()),
        )
    }

    fn send_pong(&mut self, link: ConnectionKey, payload: &[u8]) {
        let sent = self.connections.send_frame(link, Opcode::Pong, payload);
        self.after_send(link, sent);
    }

    /// Gives a connection up. With `linger` the peer is expected to close first.
    fn retire_connection(&mut self, link: ConnectionKey, linger: bool) {
        if !linger {
            return self.close_connection(link);
        }
        if let Some(held) = self.connections.get_mut(link).and_then(|connection| connection.held.take()) {
            self.on_held_connection_gone(held, None);
        }
        self.connections.linger(link, self.clock.now() + LINGER);
    }

    pub(super) fn close_connection(&mut self, link: ConnectionKey) {
        self.remove_connection(link, None);
    }

    /// Removes a connection and informs its owner.
    fn remove_connection(&mut self, link: ConnectionKey, failure: Option<&Failure>) -> Option<Connection> {
        let connection = self.connections.remove(link)?;
        if let Some(held) = connection.held {
            let (was_idle, closed_cleanly) = (connection.user.is_none(), connection.peer_closed);
            let loss = failure.map(|failure| ConnectionLoss { failure, closed_cleanly, was_idle });
            self.on_held_connection_gone(held, loss);
        }
        Some(connection)
    }

    /// The peer has closed a connection.
    fn on_peer_closed(&mut self, link: ConnectionKey) {
        let Some(connection) = self.connections.get_mut(link) else { return };
        connection.peer_closed = true;
        match connection.codec.decode_eof() {
            Ok(()) => self.on_response_end(link, false, true, &[]),
            Err(failure) => self.on_connection_lost(link, failure, false),
        }
    }

    /// A connection is of no use any more; with `sending` that became known while its request was sent. The request
    /// fails with `failure`, or is resent over another connection.
    fn on_connection_lost(&mut self, link: ConnectionKey, failure: Failure, sending: bool) {
        let Some(connection) = self.remove_connection(link, Some(&failure)) else { return };
        let Some(key) = connection.user else { return };
        let gone = matches!(failure.kind, ErrorKind::Closed | ErrorKind::Reset);
        let has_sent_message = !sending && gone && self.has_sent_message(&connection);
        let Some(running) = self.running.get_mut(key) else { return };
        running.connection = None;
        match running.step_state {
            // The last message may have asked for the close: only the next step needs the connection, and this one
            // succeeded.
            StepState::Exchanging if has_sent_message => {
                running.connection_failure = Some(failure);
                return self.end_send_step(key);
            }
            StepState::Exchanging => {}
            // The user ends with the connection: the journey must not continue on another one.
            StepState::Delayed if connection.codec.is_framed() => {
                running.connection_failure = Some(failure);
                return;
            }
            StepState::Delayed | StepState::Idle => return,
        }
        let prepared = &self.journeys[running.journey_index].steps[running.step];
        let (has_written, is_reused) = (connection.has_written, connection.has_responded);
        let lost = ConnectionLost { kind: failure.kind, sending, has_written, is_reused };
        match running.exchange.on_connection_lost(prepared, lost) {
            Resend::No => return self.end_step(key, &StepOutcome::Failed(failure)),
            Resend::Unsent => {}
            Resend::Retry => {
                running.retries += 1;
                self.reports.accumulator.current().resent += 1;
            }
        }
        self.open_connection(key);
    }

    /// Fails what has timed out.
    pub(super) fn expire_timeouts(&mut self) {
        while let Some((_, key)) = self.running.next_timeout().filter(|(deadline, _)| *deadline <= self.clock.now()) {
            self.running.disarm(key);
            let Some(running) = self.running.get_mut(key) else { continue };
            let has_head = running.exchange.head_at.is_some();
            let timeout = self.journeys[running.journey_index].steps[running.step].step.timeout;
            let link = running.connection.take();
            let connection = link.and_then(|link| self.connections.get(link));
            let awaited = connection.map_or(Awaited::Connect, |connection| connection.awaited(has_head));
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
            self.end_step(key, &StepOutcome::Failed(Failure::new(ErrorKind::Timeout(awaited), message)));
        }
    }

    /// Counts the bytes and connections since the last time.
    pub(super) fn count_traffic(&mut self) {
        let traffic = std::mem::take(&mut self.connections.traffic);
        if !traffic.is_empty() {
            let interval = self.reports.accumulator.current();
            interval.sent_bytes += traffic.sent_bytes;
            interval.received_bytes += traffic.received_bytes;
            interval.connects += traffic.connects;
        }
    }
}
