//! A connection whose mover is in a world: one small task, woken when input arrives, when the socket accepts more output, or when the
//! connection is closed. A hand-written future, so that it is no larger than its state.

use super::connection::{WakeReason, WorldConnection, linger};
use super::disconnect::{CloseMessage, Disconnect};
use super::frames::write_refusal;
use super::reader::{FrameReader, ReadFlow};
use super::registration::parse_view_options;
use crate::app::App;
use crate::auth::Principal;
use crate::grants::Grant;
use crate::revocation;
use engine::worlds::{Input, InputKind};
use rules::world::Step;
use std::cell::RefCell;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};
use wire::world::{ClientMessage, Refusal};
use worlds::{MoverHandle, SendError, WorldHandle};

/// The code of an input that was refused because the mailbox is full.
const BUSY: &str = "busy";
const BUSY_REASON: &str = "too many inputs wait for this world: send it again, with the same number";

thread_local! {
    /// Inputs of one read: one buffer for every thread, not for every connection.
    static INPUTS: RefCell<Vec<Input>> = const { RefCell::new(Vec::new()) };
}

pub(super) struct MoverConnection {
    pub(super) connection: Arc<WorldConnection>,
    pub(super) reader: FrameReader,
    pub(super) world: WorldHandle,
    /// Dropped with the connection, however that ends: the mover then counts as lost.
    pub(super) mover: Option<MoverHandle>,
    pub(super) app: App,
    pub(super) _grants: ConnectionGrants,
}

/// The grants that the connection depends on: of its request's credential and address, and of its registration's token.
pub(super) struct ConnectionGrants {
    _connected: Grant,
    pub(super) registered: Option<Grant>,
}

impl ConnectionGrants {
    /// The grants of a connection before a mover is registered.
    pub(super) fn connected(
        app: &App,
        connection: &Arc<WorldConnection>,
        principal: Option<&Principal>,
        address: Option<IpAddr>,
    ) -> Self {
        let connection: Weak<WorldConnection> = Arc::downgrade(connection);
        Self { _connected: revocation::register_grant(app, principal, address, connection), registered: None }
    }
}

impl MoverConnection {
    /// Processes what the client sent behind the registration.
    ///
    /// # Errors
    /// The connection ends.
    pub(super) fn process_buffered(&mut self) -> Result<(), Disconnect> {
        if self.reader.has_buffered() { self.process_frames(FrameReader::read_buffered) } else { Ok(()) }
    }

    fn process_frames(&mut self, read: ReadFn) -> Result<(), Disconnect> {
        let now_us = self.app.node.clock.steady_us();
        INPUTS.with_borrow_mut(|inputs| {
            inputs.clear();
            let Self { connection, reader, world, mover, .. } = self;
            let mut is_leaving = false;
            let result = read(reader, connection, now_us, &mut |message| {
                let Some(handle) = mover else { return Err(Disconnect::Lost) };
                if let ClientMessage::Leave(_) = message {
                    is_leaving = true;
                    return Err(Disconnect::ClosedByPeer(None));
                }
                inputs.extend(to_input(connection, handle, &message, now_us)?);
                Ok(ReadFlow::Continue)
            });
            // Inputs before the end count all the same, and precede it in the mailbox.
            let sent = send_inputs(connection, world, inputs);
            mover.take_if(|_| is_leaving).into_iter().for_each(MoverHandle::leave);
            sent.and(result)
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
        let disconnect = loop {
            let result = match ready!(self.connection.poll_ready(context)) {
                WakeReason::Readable => self.process_frames(FrameReader::read_socket),
                WakeReason::Writable => {
                    self.connection.flush();
                    Ok(())
                }
                WakeReason::Closed => break Disconnect::Lost,
            };
            if let Err(disconnect) = result {
                break disconnect;
            }
        };
        self.connection.close_with(&disconnect);
        tokio::spawn(linger(self.connection.clone()));
        Poll::Ready(())
    }
}

/// The input of a client's message, if the world must decide about it.
fn to_input(
    connection: &WorldConnection,
    mover: &MoverHandle,
    message: &ClientMessage,
    now_us: i64,
) -> Result<Option<Input>, Disconnect> {
    let input = |seq, kind| Ok(Some(Input { mover: mover.seat(), seq, tag: 0, at_us: now_us, kind }));
    match message {
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
            match options.map(|options| mover.watch(options)) {
                // The world responds in order: views with the previous options are still on their way.
                Ok(Ok(())) => {}
                Ok(Err(SendError::Busy)) => refuse_busy(connection, 0),
                Ok(Err(SendError::Gone(reason))) => return Err(Disconnect::ClosedByServer(reason.into())),
                Err(refusal) => {
                    let mut frame = Vec::new();
                    write_refusal(0, refusal, connection.format(), &mut frame);
                    connection.send_frames(&frame);
                }
            }
            Ok(None)
        }
        ClientMessage::Leave(_) | ClientMessage::Hello(_) | ClientMessage::Register(_) => {
            Err(CloseMessage::unexpected_frame("a mover is registered here already: move, dig, grab, watch or leave")
                .into())
        }
    }
}

/// Puts inputs into the world's mailbox; inputs that it does not accept are refused, and may be sent again with the same number.
fn send_inputs(connection: &WorldConnection, world: &WorldHandle, inputs: &mut Vec<Input>) -> Result<(), Disconnect> {
    if inputs.is_empty() {
        return Ok(());
    }
    match world.send(inputs) {
        Ok(()) => Ok(()),
        Err(SendError::Busy) => {
            inputs.drain(..).for_each(|input| refuse_busy(connection, input.seq));
            Ok(())
        }
        Err(SendError::Gone(reason)) => Err(Disconnect::ClosedByServer(reason.into())),
    }
}

fn refuse_busy(connection: &WorldConnection, seq: u32) {
    let reason = if connection.format().has_reasons { BUSY_REASON } else { "" };
    connection.send_message(&Refusal { seq, code: BUSY, reason, expected_seq: 0 });
}
