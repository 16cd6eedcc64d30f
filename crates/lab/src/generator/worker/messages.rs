//! Messages over framed connections: which frame answers a step, which one was pushed, and the control frames in
//! between. One step at a time is in flight on a connection, so the first frame that matches is its response. Does not
//! know how frames are decoded.

use super::active_load::LoadState;
use super::connections::{Connection, ConnectionState};
use super::journey::StepOutcome;
use super::{SlabKey, StepState, Timer, Worker};
use crate::generator::Failure;
use crate::generator::framing::{self, Codec, Opcode, UpgradeRequest};
use crate::generator::messages::StartedWork;
use crate::generator::prepared::Scratch;
use crate::measurement::ErrorKind;
use crate::scenario::{Message, MessagePayload, Scope, SocketTarget, ValueMatch, mix};

/// The seed of nonces: they need not be unpredictable, but no two connections share one.
const NONCE_SEED: u64 = 0x006d_6173_6b73;

/// Encodes a message into the payload of the scratch; returns the kind of frame that carries it.
///
/// # Errors
/// A name has no value, or one that its field cannot hold.
pub(super) fn encode_message(message: &Message, scope: &Scope<'_>, scratch: &mut Scratch) -> Result<Opcode, String> {
    scratch.payload.clear();
    match &message.payload {
        MessagePayload::Json(template) => {
            scratch.text.clear();
            template.render_into(scope, &mut scratch.text)?;
            scratch.payload.extend_from_slice(scratch.text.as_bytes());
            Ok(Opcode::Text)
        }
        MessagePayload::Protobuf(encoder) => {
            encoder.encode(scope, &mut scratch.payload, &mut scratch.text)?;
            Ok(Opcode::Binary)
        }
    }
}

/// What a frame means to a step that waits for one.
enum FrameClass {
    Answer,
    Denial,
    /// The service reports an error.
    Error,
    /// It answers nothing.
    Push,
}

impl Worker {
    pub(super) fn send_upgrade_request(&mut self, key: SlabKey, opening: &UpgradeRequest) {
        let nonce = self.next_nonce();
        let mut request = Vec::new();
        let codec = opening.write(nonce, &mut request);
        if let Some(connection) = self.connections.get_mut(key) {
            (connection.state, connection.codec) = (ConnectionState::Upgrading, Codec::WebSocket(codec));
        }
        self.send(key, &request);
    }

    fn next_nonce(&mut self) -> u64 {
        self.nonce_count += 1;
        mix(mix(NONCE_SEED, u64::from(self.worker_index)), self.nonce_count)
    }

    /// Sends the message in the scratch. If it gets no response, its step is over once the kernel has taken all of it.
    pub(super) fn send_message(&mut self, connection: SlabKey, opcode: Opcode, scratch: &mut Scratch) {
        self.send_frame(connection, opcode, &scratch.payload, &mut scratch.frame);
        self.on_flushed(connection);
    }

    /// The kernel may have taken everything: ends the step of a message that gets no response.
    pub(super) fn on_flushed(&mut self, connection: SlabKey) {
        let sent = self.connections.get(connection).filter(|connection| self.has_sent_all(connection));
        if let Some(key) = sent.and_then(|connection| connection.running_journey) {
            // Through a timer: many such steps in a row would recurse as deep as they are many.
            self.set_timer(self.now, Timer::MessageSent(key));
        }
    }

    /// Whether the step in flight is a message that gets no response, and the kernel has taken all of it.
    pub(super) fn has_sent_all(&self, connection: &Connection) -> bool {
        let running = connection.running_journey.and_then(|key| self.running.get(key));
        let Some(running) = running.filter(|running| running.step_state == StepState::Exchanging) else { return false };
        let message = self.journeys[running.journey_index].steps[running.step].step.message();
        connection.state == ConnectionState::Open
            && !connection.awaits_writable
            && message.is_some_and(|message| message.answer_matches.is_empty())
    }

    fn send_frame(&mut self, connection: SlabKey, opcode: Opcode, payload: &[u8], frame: &mut Vec<u8>) {
        let mask = self.next_nonce() as u32;
        frame.clear();
        if let Some(connection) = self.connections.get(connection) {
            connection.codec.encode_frame(opcode, payload, mask.to_be_bytes(), frame);
        }
        self.send(connection, frame);
    }

    /// A message that gets no response was sent; unless its step has ended otherwise meanwhile.
    pub(super) fn on_message_sent(&mut self, key: SlabKey) {
        let connection = self.running.get(key).and_then(|running| self.connections.get(running.connection?));
        if connection.is_some_and(|connection| self.has_sent_all(connection)) {
            self.end_send_step(key);
        }
    }

    /// Ends the step of a message that gets no response.
    pub(super) fn end_send_step(&mut self, key: SlabKey) {
        let now = self.plan_time();
        if let Some(running) = self.running.get_mut(key) {
            running.times.step_head = Some(now);
        }
        self.end_step(key, &StepOutcome::Ok);
    }

    pub(super) fn send_pong(&mut self, connection: SlabKey, payload: &[u8]) {
        let mut frame = std::mem::take(&mut self.scratch.frame);
        self.send_frame(connection, Opcode::Pong, payload, &mut frame);
        self.scratch.frame = frame;
    }

    pub(super) fn send_close_frame(&mut self, connection: SlabKey) {
        let open = self
            .connections
            .get(connection)
            .filter(|connection| connection.state == ConnectionState::Open && connection.unsent.is_empty());
        if open.is_some_and(|connection| matches!(connection.codec, Codec::WebSocket(_))) {
            let mut frame = Vec::new();
            let mask = (self.next_nonce() as u32).to_be_bytes();
            if let Some(connection) = self.connections.get(connection) {
                connection.codec.encode_frame(Opcode::Close, &[], mask, &mut frame);
                // The connection is closed in any case.
                let _ = crate::generator::socket::write(&connection.fd, &frame);
            }
        }
    }

    pub(super) fn on_frame(&mut self, connection: SlabKey, frame: &[u8]) {
        let config = self.config.clone();
        let Some(socket) = &config.scenario.target.socket else { return };
        let awaiting = self.connections.get(connection).and_then(|connection| connection.running_journey);
        let awaiting = awaiting
            .filter(|key| self.running.get(*key).is_some_and(|running| running.step_state == StepState::Exchanging));
        match (self.classify_frame(socket, awaiting, frame), awaiting) {
            (Ok(FrameClass::Answer), Some(key)) => self.on_answer_frame(connection, key, socket, frame),
            (Ok(FrameClass::Denial), Some(key)) => self.end_step(key, &StepOutcome::Denied),
            // An error frame ends its connection, whether it answers a step or not.
            (Ok(FrameClass::Error), _) => {
                self.on_connection_lost(connection, error_frame_failure(socket, frame), false);
            }
            (Ok(FrameClass::Push | FrameClass::Answer | FrameClass::Denial), _) => self.record_push(connection, frame),
            (Err(failure), _) => self.on_connection_lost(connection, failure, false),
        }
    }

    fn classify_frame(
        &self,
        socket: &SocketTarget,
        awaiting: Option<SlabKey>,
        frame: &[u8],
    ) -> Result<FrameClass, Failure> {
        let step = awaiting.and_then(|key| {
            let running = self.running.get(key)?;
            self.journeys[running.journey_index].steps[running.step].step.message()
        });
        if let Some(message) = step {
            let any = |matcher: &[ValueMatch]| {
                matcher.iter().try_fold(false, |is, matcher| Ok(is || framing::value_matches(matcher, frame)?))
            };
            if any(&message.answer_matches)? {
                return Ok(FrameClass::Answer);
            }
            if any(&message.denied)? {
                return Ok(FrameClass::Denial);
            }
        }
        match &socket.error_path {
            Some(error) if framing::has_value(error, frame)? => Ok(FrameClass::Error),
            _ => Ok(FrameClass::Push),
        }
    }

    /// Processes the frame that answers a step.
    fn on_answer_frame(&mut self, connection: SlabKey, key: SlabKey, socket: &SocketTarget, frame: &[u8]) {
        let now = self.plan_time();
        if let Some(connection) = self.connections.get_mut(connection) {
            connection.has_responded = true;
        }
        if let Some(running) = self.running.get_mut(key) {
            running.times.step_head = Some(now);
        }
        let kept = self.keep_from_frame(key, socket, frame);
        self.remember_frame(key, frame);
        self.end_step(key, &kept.map_or_else(StepOutcome::Failed, |()| StepOutcome::Ok));
    }

    /// Keeps a frame that decides whether its step is repeated.
    fn remember_frame(&mut self, key: SlabKey, frame: &[u8]) {
        let Some(running) = self.running.get_mut(key) else { return };
        let repeats = &self.journeys[running.journey_index].repeats;
        if repeats.iter().any(|repeat| repeat.last_step == running.step && repeat.end.condition.is_some()) {
            running.body.clear();
            running.body.bytes.extend_from_slice(frame);
        }
    }

    fn keep_from_frame(&mut self, key: SlabKey, socket: &SocketTarget, frame: &[u8]) -> Result<(), Failure> {
        let (journeys, done) = (self.journeys.clone(), self.plan_time());
        let Some(running) = self.running.get_mut(key) else { return Ok(()) };
        let prepared = &journeys[running.journey_index].steps[running.step];
        let Some(message) = prepared.step.message() else { return Ok(()) };
        let mut created = None;
        for (keep, path) in prepared.step.keep.iter().zip(&message.kept_paths) {
            let value = framing::read_text(path, &socket.format, frame)?;
            running.kept.insert(&keep.name, &value);
            let starts = prepared.step.starts_work.as_ref() == Some(&keep.name);
            created = created.or(starts.then_some(value));
        }
        if let (Some(work), Some(id)) = (prepared.work_index, created) {
            let intended = running.arrival.intended;
            self.queue_started_work(StartedWork { work_index: work, id: id.into(), intended, done });
        }
        Ok(())
    }

    /// Whether a connection belongs to a load that is still opening its connections.
    fn is_still_opening(&self, connection: SlabKey) -> bool {
        let Some(connection) = self.connections.get(connection) else { return false };
        let of_flight = || self.running.get(connection.running_journey?).map(|running| running.load_index);
        let load_index = connection.held.map(|(at, _)| at).or_else(of_flight);
        load_index
            .is_some_and(|at| matches!(&self.loads[at].state, LoadState::Held(held) if !held.has_started_requests()))
    }

    /// Counts a pushed frame under the first push that matches it. Its delay counts once all connections are open.
    fn record_push(&mut self, connection: SlabKey, frame: &[u8]) {
        let config = self.config.clone();
        let pushes = &config.scenario.pushes;
        let named = pushes.iter().position(|push| framing::has_value(&push.path, frame).unwrap_or(false));
        let since = named.and_then(|index| pushes[index].event_time.as_ref());
        let happened = match since.map(|path| framing::read_micros(path, frame)).transpose() {
            Ok(happened) => happened.flatten(),
            Err(failure) => return self.on_connection_lost(connection, failure, false),
        };
        // While connections open, the burst of pushes that this causes says nothing about the load that follows.
        let delay = happened.filter(|_| !self.is_still_opening(connection)).map(|at| self.now.since_unix_us(at));
        let now = self.plan_time();
        let delay = delay.map(|delay| (delay, self.pauses.paused_between(now.saturating_sub(delay), now)));
        self.accumulator.advance_to(now);
        self.accumulator.record_push(named.unwrap_or(pushes.len()), frame.len(), delay);
    }
}

fn error_frame_failure(socket: &SocketTarget, frame: &[u8]) -> Failure {
    let text = framing::excerpt(&socket.format, frame);
    Failure::new(ErrorKind::Answer, format!("the service says that something is wrong: {text}"))
}
