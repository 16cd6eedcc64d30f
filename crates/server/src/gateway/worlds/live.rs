//! The life of a connection whose mover is in a world: one small task, woken when something comes, when the socket takes more, or
//! when the connection is ended. A future written by hand, so that it is no larger than what it knows.

use super::ears::{Ears, Flow};
use super::line::{Line, Stirring};
use super::linger::linger;
use super::opening::{Grants, Opening};
use super::parting::{Farewell, Parting};
use super::register::view_options;
use super::say::put_refusal;
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
pub(super) struct Live {
    line: Arc<Line>,
    ears: Ears,
    door: WorldHandle,
    /// Dropped with the connection, however that ends: the mover is lost then.
    place: Option<MoverHandle>,
    app: App,
    _grants: Grants,
}

impl Live {
    pub(super) fn new(opening: Opening, door: WorldHandle, place: MoverHandle) -> Self {
        let Opening { app, line, ears, grants, .. } = opening;
        Self { line, ears, door, place: Some(place), app, _grants: grants }
    }

    /// Hears what was said behind the registration.
    ///
    /// # Errors
    /// The connection ends.
    pub(super) fn catch_up(&mut self) -> Result<(), Parting> {
        if self.ears.has_kept() { self.listen(Ears::hear_kept) } else { Ok(()) }
    }

    fn listen(&mut self, hear: Hear) -> Result<(), Parting> {
        let now_us = self.app.clock.steady_us();
        INPUTS.with_borrow_mut(|inputs| {
            inputs.clear();
            let Self { line, ears, door, place, .. } = self;
            let mut is_leaving = false;
            let heard = hear(ears, line, now_us, &mut |asked| {
                let Some(seated) = place else { return Err(Parting::Gone) };
                if let ClientMessage::Leave(_) = asked {
                    is_leaving = true;
                    return Err(Parting::Bye(None));
                }
                inputs.extend(take(line, seated, &asked, now_us)?);
                Ok(Flow::On)
            });
            // Whatever came before the end was said all the same, and is in the mailbox before it.
            let sent = send(line, door, inputs);
            place.take_if(|_| is_leaving).into_iter().for_each(MoverHandle::leave);
            sent.and(heard)
        })
    }
}

type Hear = fn(&mut Ears, &Line, i64, &mut dyn FnMut(ClientMessage) -> Result<Flow, Parting>) -> Result<(), Parting>;

impl Future for Live {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let parting = loop {
            let heard = match ready!(self.line.poll(context)) {
                Stirring::Said => self.listen(Ears::hear_more),
                Stirring::Takes => {
                    self.line.flush();
                    Ok(())
                }
                Stirring::Ended => break Parting::Gone,
            };
            if let Err(parting) = heard {
                break parting;
            }
        };
        self.line.part(&parting);
        tokio::spawn(linger(self.line.clone()));
        Poll::Ready(())
    }
}

/// What somebody asks for: an input for the world, or nothing that the world must decide.
fn take(line: &Line, place: &MoverHandle, asked: &ClientMessage, now_us: i64) -> Result<Option<Input>, Parting> {
    let input = |seq, what| Ok(Some(Input { mover: place.seat(), seq, tag: 0, at_us: now_us, kind: what }));
    match asked {
        ClientMessage::Move(step) => {
            let code = u8::try_from(step.step).ok().and_then(Step::from_code);
            input(step.seq, InputKind::Step(code.ok_or_else(|| Farewell::malformed("a step is a number from 0 to 8"))?))
        }
        ClientMessage::Dig(dig) => input(dig.seq, InputKind::Dig),
        ClientMessage::Grab(grab) => input(grab.seq, InputKind::Grab),
        ClientMessage::Watch(watch) => {
            let options = watch.view.map(view_options).transpose();
            match options.map(|options| place.watch(options)) {
                // The world answers, in its turn: views as before are still on their way.
                Ok(Ok(())) => {}
                Ok(Err(SendError::Busy)) => refuse_busy(line, 0),
                Ok(Err(SendError::Gone(why))) => return Err(Parting::Ended(why.into())),
                Err(refused) => {
                    let mut frame = Vec::new();
                    put_refusal(0, refused, line.format(), &mut frame);
                    line.tell_now(&frame);
                }
            }
            Ok(None)
        }
        ClientMessage::Leave(_) | ClientMessage::Hello(_) | ClientMessage::Register(_) => {
            Err(Farewell::out_of_turn("a mover is registered here already: move, dig, grab, watch or leave").into())
        }
    }
}

/// Puts inputs into the world's mailbox; what it does not take is refused, and may be sent again with the same number.
fn send(line: &Line, door: &WorldHandle, inputs: &mut Vec<Input>) -> Result<(), Parting> {
    if inputs.is_empty() {
        return Ok(());
    }
    match door.send(inputs) {
        Ok(()) => Ok(()),
        Err(SendError::Busy) => {
            inputs.drain(..).for_each(|input| refuse_busy(line, input.seq));
            Ok(())
        }
        Err(SendError::Gone(why)) => Err(Parting::Ended(why.into())),
    }
}

fn refuse_busy(line: &Line, seq: u32) {
    let reason = if line.format().has_reasons { BUSY_REASON } else { "" };
    line.say(&Refusal { seq, code: BUSY, reason, expected_seq: 0 });
}
