//! Messages over connections that speak in frames: which frame answers a step, which one was pushed, and what is said in
//! between. One step at a time is under way on a connection, so that the first frame that answers is its answer. Refuses
//! to know how frames are told apart.

use super::course::Load;
use super::journey::Outcome;
use super::links::{Link, Phase};
use super::{Key, Stage, Wake, Worker};
use crate::drive::Failure;
use crate::drive::call::Scratch;
use crate::drive::crew::Begun;
use crate::drive::speech::{self, Codec, Opening, Word};
use crate::record::Trouble;
use crate::scenario::message::Said;
use crate::scenario::{Enough, Message, Says, Scope, Socket, Until, mix};

/// What the draws of masks and keys begin with; nobody has to guess them, and no two connections share one.
const NONCE_SEED: u64 = 0x006d_6173_6b73;

/// Writes a message into the payload of the scratch; gives what kind of frame carries it.
///
/// # Errors
/// A name has no value, or one that its field cannot hold.
pub(super) fn write(message: &Message, scope: &Scope<'_>, scratch: &mut Scratch) -> Result<Word, String> {
    scratch.payload.clear();
    match &message.says {
        Says::Json(template) => {
            scratch.out.clear();
            template.render_into(scope, &mut scratch.out)?;
            scratch.payload.extend_from_slice(scratch.out.as_bytes());
            Ok(Word::Text)
        }
        Says::Protobuf(encoder) => {
            encoder.fill(scope, &mut scratch.payload, &mut scratch.out)?;
            Ok(Word::Binary)
        }
    }
}

/// What a frame is to a step that waits for one.
enum Meaning {
    Answer,
    Denial,
    /// It says that something is wrong.
    Wrong,
    /// Nothing: it was pushed.
    Push,
}

impl Worker {
    /// Asks the other side to speak in frames from here on.
    pub(super) fn ask_for_frames(&mut self, key: Key, opening: &Opening) {
        let nonce = self.nonce();
        let mut request = Vec::new();
        let codec = opening.write(nonce, &mut request);
        if let Some(link) = self.links.get_mut(key) {
            (link.phase, link.codec) = (Phase::Asking, Codec::WebSocket(codec));
        }
        self.send(key, &request);
    }

    fn nonce(&mut self) -> u64 {
        self.nonces += 1;
        mix(mix(NONCE_SEED, u64::from(self.number)), self.nonces)
    }

    /// Sends the message in the scratch. Where nothing answers it, the step is over once the kernel has all of it.
    pub(super) fn speak(&mut self, link: Key, word: Word, scratch: &mut Scratch) {
        self.say(link, word, &scratch.payload, &mut scratch.frame);
        self.all_sent(link);
    }

    /// The kernel may have all that was said over a connection: where a message is that nothing answers, its step is
    /// over.
    pub(super) fn all_sent(&mut self, link: Key) {
        let sent = self.links.get(link).filter(|link| self.has_said_all(link));
        if let Some(key) = sent.and_then(|link| link.flight) {
            // Not from here: a way of many such steps would be as deep as it is long.
            self.wake_at(self.now, Wake::Said(key));
        }
    }

    /// Whether the step under way on a connection is a message that nothing answers, and the kernel has all of it.
    pub(super) fn has_said_all(&self, link: &Link) -> bool {
        let flight = link.flight.and_then(|key| self.flights.get(key));
        let Some(flight) = flight.filter(|flight| flight.stage == Stage::Exchanging) else { return false };
        let message = self.calls[flight.journey].calls[flight.step].step.message();
        link.phase == Phase::Open && !link.writing && message.is_some_and(|message| message.answers.is_empty())
    }

    fn say(&mut self, link: Key, word: Word, payload: &[u8], frame: &mut Vec<u8>) {
        let mask = self.nonce() as u32;
        frame.clear();
        if let Some(link) = self.links.get(link) {
            link.codec.wrap(word, payload, mask.to_be_bytes(), frame);
        }
        self.send(link, frame);
    }

    /// A message that nothing answers has been sent; or it ended otherwise meanwhile, and its flight has gone on.
    pub(super) fn said(&mut self, key: Key) {
        let link = self.flights.get(key).and_then(|flight| self.links.get(flight.link?));
        if link.is_some_and(|link| self.has_said_all(link)) {
            self.end_saying(key);
        }
    }

    /// Ends the step of a message that nothing answers.
    pub(super) fn end_saying(&mut self, key: Key) {
        let now = self.at();
        if let Some(flight) = self.flights.get_mut(key) {
            flight.times.step_head = Some(now);
        }
        self.end_step(key, &Outcome::Ok);
    }

    /// Shows that somebody is there.
    pub(super) fn pong(&mut self, link: Key, payload: &[u8]) {
        let mut frame = std::mem::take(&mut self.scratch.frame);
        self.say(link, Word::Pong, payload, &mut frame);
        self.scratch.frame = frame;
    }

    /// Says that nothing more will be said.
    pub(super) fn say_close(&mut self, link: Key) {
        let open = self.links.get(link).filter(|link| link.phase == Phase::Open && link.unsent.is_empty());
        if open.is_some_and(|link| matches!(link.codec, Codec::WebSocket(_))) {
            let mut frame = Vec::new();
            let mask = (self.nonce() as u32).to_be_bytes();
            if let Some(link) = self.links.get(link) {
                link.codec.wrap(Word::Close, &[], mask, &mut frame);
                // It is closed in any case.
                let _ = crate::drive::socket::write(&link.fd, &frame);
            }
        }
    }

    /// Takes a frame that has come.
    pub(super) fn on_frame(&mut self, link: Key, frame: &[u8]) {
        let setting = self.setting.clone();
        let Some(socket) = &setting.scenario.target.socket else { return };
        let asked = self.links.get(link).and_then(|link| link.flight);
        let asked = asked.filter(|key| self.flights.get(*key).is_some_and(|flight| flight.stage == Stage::Exchanging));
        match (self.meaning_of(socket, asked, frame), asked) {
            (Ok(Meaning::Answer), Some(key)) => self.take_answer(link, key, socket, frame),
            (Ok(Meaning::Denial), Some(key)) => self.end_step(key, &Outcome::Denied),
            // It is the last word of its connection, whoever it was said to.
            (Ok(Meaning::Wrong), _) => self.lost(link, said_wrong(socket, frame), false),
            (Ok(Meaning::Push | Meaning::Answer | Meaning::Denial), _) => self.count_push(link, frame),
            (Err(failure), _) => self.lost(link, failure, false),
        }
    }

    fn meaning_of(&self, socket: &Socket, asked: Option<Key>, frame: &[u8]) -> Result<Meaning, Failure> {
        let step = asked.and_then(|key| {
            let flight = self.flights.get(key)?;
            self.calls[flight.journey].calls[flight.step].step.message()
        });
        if let Some(message) = step {
            let any = |said: &[Said]| said.iter().try_fold(false, |is, said| Ok(is || speech::says(said, frame)?));
            if any(&message.answers)? {
                return Ok(Meaning::Answer);
            }
            if any(&message.denied)? {
                return Ok(Meaning::Denial);
            }
        }
        match &socket.error {
            Some(error) if speech::holds(error, frame)? => Ok(Meaning::Wrong),
            _ => Ok(Meaning::Push),
        }
    }

    /// Takes in what the answer to a step says.
    fn take_answer(&mut self, link: Key, key: Key, socket: &Socket, frame: &[u8]) {
        let now = self.at();
        if let Some(link) = self.links.get_mut(link) {
            link.used = true;
        }
        if let Some(flight) = self.flights.get_mut(key) {
            flight.times.step_head = Some(now);
        }
        let kept = self.keep_of_frame(key, socket, frame);
        self.remember(key, frame);
        self.end_step(key, &kept.map_or_else(Outcome::Failed, |()| Outcome::Ok));
    }

    /// Remembers an answer that says whether its step is taken again.
    fn remember(&mut self, key: Key, frame: &[u8]) {
        let Some(flight) = self.flights.get_mut(key) else { return };
        let reads = |until: &Until| matches!(until.says, Some(Enough::Frame(_)));
        let repeats = &self.calls[flight.journey].repeats;
        if repeats.iter().any(|repeat| repeat.last == flight.step && reads(&repeat.until)) {
            flight.body.clear();
            flight.body.bytes.extend_from_slice(frame);
        }
    }

    fn keep_of_frame(&mut self, key: Key, socket: &Socket, frame: &[u8]) -> Result<(), Failure> {
        let (calls, done) = (self.calls.clone(), self.at());
        let Some(flight) = self.flights.get_mut(key) else { return Ok(()) };
        let call = &calls[flight.journey].calls[flight.step];
        let Some(message) = call.step.message() else { return Ok(()) };
        let mut begun = None;
        for (keep, way) in call.step.keep.iter().zip(&message.keeps) {
            let value = speech::keep(way, &socket.language, frame)?;
            flight.kept.keep(&keep.name, &value);
            let starts = call.step.starts.as_ref() == Some(&keep.name);
            begun = begun.or(starts.then_some(value));
        }
        if let (Some(work), Some(id)) = (call.work, begun) {
            let intended = flight.arrival.intended;
            self.note_news(Begun { work, id: id.into(), intended, done });
        }
        Ok(())
    }

    /// Whether a connection belongs to a leg that is still being opened.
    fn is_coming_in(&self, link: Key) -> bool {
        let Some(link) = self.links.get(link) else { return false };
        let of_flight = || self.flights.get(link.flight?).map(|flight| flight.leg);
        let leg = link.held.map(|(at, _)| at).or_else(of_flight);
        leg.is_some_and(|at| matches!(&self.courses[at].load, Load::Held(held) if !held.is_asked()))
    }

    /// Counts a frame that nobody asked for, under the first name that fits it. How late it came counts once everybody
    /// is in.
    fn count_push(&mut self, link: Key, frame: &[u8]) {
        let setting = self.setting.clone();
        let pushes = &setting.scenario.pushes;
        let named = pushes.iter().position(|push| speech::holds(&push.at, frame).unwrap_or(false));
        let since = named.and_then(|place| pushes[place].since.as_ref());
        let happened = match since.map(|way| speech::micros(way, frame)).transpose() {
            Ok(happened) => happened.flatten(),
            Err(failure) => return self.lost(link, failure, false),
        };
        // While a crowd comes in, what it does to those who are there already is no figure of the load that follows.
        let delay = happened.filter(|_| !self.is_coming_in(link)).map(|at| self.now.since_unix_us(at));
        let now = self.at();
        let delay = delay.map(|delay| (delay, self.pauses.between(now.saturating_sub(delay), now)));
        self.book.turn(now);
        self.book.pushed(named.unwrap_or(pushes.len()), frame.len(), delay);
    }
}

fn said_wrong(socket: &Socket, frame: &[u8]) -> Failure {
    let said = speech::excerpt(&socket.language, frame);
    Failure::new(Trouble::Answer, format!("the service says that something is wrong: {said}"))
}
