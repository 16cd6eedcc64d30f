//! The life of a connection whose mover is in a world: one small task, woken when something comes, when the socket takes more, or
//! when the connection is ended. A future written by hand, so that it is no larger than what it knows.

use super::connection::{WakeReason, WorldConnection};
use super::disconnect::{CloseMessage, Disconnect};
use super::frames::write_refusal;
use super::handshake::{ConnectionGrants, Handshake};
use super::linger::linger;
use super::reader::{FrameReader, ReadFlow};
use super::registration::parse_view_options;
use crate::app::App;
use crate::worlds::{MoverHandle, SendError, WorldHandle};
use engine::worlds::{Input, InputKind};
use rules::world::Step;
use std::cell::RefCell;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use wire::world::{ClientMessage, Refusal};

/// The code of an input that was not taken because too many wait.
const BUSY: &str = "busy";
const BUSY_REASON: &str = "too many inputs wait for this world: send it again, with the same number";

thread_local! {
    /// What one connection wants at once: one for every thread, not for every connection.
    static INPUTS: RefCell<Vec<Input>> = const { RefCell::new(Vec::new()) };
}

/// A connection whose mover is in a world.
pub(super) struct MoverConnection {
    connection: Arc<WorldConnection>,
    reader: FrameReader,
    world: WorldHandle,
    /// Dropped with the connection, however that ends: the mover is lost then.
    mover: Option<MoverHandle>,
    app: App,
    _grants: ConnectionGrants,
}

impl MoverConnection {
    pub(super) fn new(opening: Handshake, door: WorldHandle, place: MoverHandle) -> Self {
        let Handshake { app, connection: line, reader: ears, grants, .. } = opening;
        Self { connection: line, reader: ears, world: door, mover: Some(place), app, _grants: grants }
    }

    /// Hears what was said behind the registration.
    ///
    /// # Errors
    /// The connection ends.
    pub(super) fn process_buffered(&mut self) -> Result<(), Disconnect> {
        if self.reader.has_buffered() { self.process_frames(FrameReader::read_buffered) } else { Ok(()) }
    }

    fn process_frames(&mut self, hear: ReadFn) -> Result<(), Disconnect> {
        let now_us = self.app.clock.steady_us();
        INPUTS.with_borrow_mut(|inputs| {
            inputs.clear();
            let Self { connection: line, reader: ears, world: door, mover: place, .. } = self;
            let mut is_leaving = false;
            let heard = hear(ears, line, now_us, &mut |asked| {
                let Some(seated) = place else { return Err(Disconnect::Lost) };
                if let ClientMessage::Leave(_) = asked {
                    is_leaving = true;
                    return Err(Disconnect::ClosedByPeer(None));
                }
                inputs.extend(to_input(line, seated, &asked, now_us)?);
                Ok(ReadFlow::Continue)
            });
            // Whatever came before the end was said all the same, and is in the mailbox before it.
            let sent = send_inputs(line, door, inputs);
            place.take_if(|_| is_leaving).into_iter().for_each(MoverHandle::leave);
            sent.and(heard)
        })
    }
}

type ReadFn = fn(
    &mut FrameReader,
    &WorldConnection,
    i64,
    &mut dyn FnMut(ClientMessage) -> Result<ReadFlow, Disconnect>,
) -> Result<(), Disconnect>;

impl Future for MoverConnection {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let parting = loop {
            let heard = match ready!(self.connection.poll_ready(context)) {
                WakeReason::Readable => self.process_frames(FrameReader::read_socket),
                WakeReason::Writable => {
                    self.connection.flush();
                    Ok(())
                }
                WakeReason::Closed => break Disconnect::Lost,
            };
            if let Err(parting) = heard {
                break parting;
            }
        };
        self.connection.close_with(&parting);
        tokio::spawn(linger(self.connection.clone()));
        Poll::Ready(())
    }
}

/// What somebody asks for: an input for the world, or nothing that the world must decide.
fn to_input(
    line: &WorldConnection,
    place: &MoverHandle,
    asked: &ClientMessage,
    now_us: i64,
) -> Result<Option<Input>, Disconnect> {
    let input = |seq, what| Ok(Some(Input { mover: place.seat(), seq, tag: 0, at_us: now_us, kind: what }));
    match asked {
        ClientMessage::Move(step) => {
            let code = u8::try_from(step.step).ok().and_then(Step::from_code);
            input(
                step.seq,
                InputKind::Step(code.ok_or_else(|| CloseMessage::malformed("a step is a number from 0 to 8"))?),
            )
        }
        ClientMessage::Dig(dig) => input(dig.seq, InputKind::Dig),
        ClientMessage::Grab(grab) => input(grab.seq, InputKind::Grab),
        ClientMessage::Watch(watch) => {
            let options = watch.view.map(parse_view_options).transpose();
            match options.map(|options| place.watch(options)) {
                // The world answers, in its turn: views as before are still on their way.
                Ok(Ok(())) => {}
                Ok(Err(SendError::Busy)) => refuse_busy(line, 0),
                Ok(Err(SendError::Gone(why))) => return Err(Disconnect::ClosedByServer(why.into())),
                Err(refused) => {
                    let mut frame = Vec::new();
                    write_refusal(0, refused, line.format(), &mut frame);
                    line.send_frames(&frame);
                }
            }
            Ok(None)
        }
        ClientMessage::Leave(_) | ClientMessage::Hello(_) | ClientMessage::Register(_) => {
            Err(CloseMessage::out_of_turn("a mover is registered here already: move, dig, grab, watch or leave").into())
        }
    }
}

/// Puts inputs into the world's mailbox; what it does not take is refused, and may be sent again with the same number.
fn send_inputs(line: &WorldConnection, door: &WorldHandle, inputs: &mut Vec<Input>) -> Result<(), Disconnect> {
    if inputs.is_empty() {
        return Ok(());
    }
    match door.send(inputs) {
        Ok(()) => Ok(()),
        Err(SendError::Busy) => {
            inputs.drain(..).for_each(|input| refuse_busy(line, input.seq));
            Ok(())
        }
        Err(SendError::Gone(why)) => Err(Disconnect::ClosedByServer(why.into())),
    }
}

fn refuse_busy(line: &WorldConnection, seq: u32) {
    let reason = if line.format().has_reasons { BUSY_REASON } else { "" };
    line.send_message(&Refusal { seq, code: BUSY, reason, expected_seq: 0 });
}
