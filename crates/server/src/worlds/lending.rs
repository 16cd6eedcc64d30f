//! Who runs a writer: its thread, and, while that sleeps, whoever brings a few inputs. To wake a thread for one move costs more than
//! the move, and the thread that brought it is awake.
//!
//! The turn of the writer's tray says who has the writer, so that there is one at a time. Knows nothing of worlds.

use super::door::Mailbox;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// What a writer does.
pub(super) trait Rounds: Send {
    /// Keeps the distance between rounds; when there is something to do by itself.
    fn rest(&mut self) -> Instant;
    /// One round. Whether more may follow.
    fn round(&mut self) -> bool;
    /// One round on the thread of somebody who brought a few inputs, if it is short. Whether the writer's own thread has something to
    /// do now.
    fn round_aside(&mut self) -> bool;
    /// Nothing follows.
    fn end(self: Box<Self>);
}

/// The place of a writer whose thread sleeps.
#[derive(Default)]
pub(super) struct Bench(Mutex<Option<Box<dyn Rounds>>>);

impl Bench {
    fn lay(&self, writer: Box<dyn Rounds>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(writer);
    }

    fn take(&self) -> Option<Box<dyn Rounds>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Serves a world to its end in this process, on this thread and beside it.
pub(super) fn serve(mailbox: &Mailbox, mut writer: Box<dyn Rounds>) {
    loop {
        let until = writer.rest();
        mailbox.bench.lay(writer);
        mailbox.tray.wait(until);
        // It broke down on somebody else's thread, and has ended.
        let Some(back) = mailbox.bench.take() else { return };
        writer = back;
        if !writer.round() {
            return writer.end();
        }
    }
}

/// One round by whoever has been lent the turn of a mailbox's tray.
pub(super) fn round_aside(mailbox: &Mailbox) {
    let mut turn = Borrowed { mailbox, is_to_wake: true };
    if let Some(mut writer) = mailbox.bench.take() {
        turn.is_to_wake = writer.round_aside();
        mailbox.bench.lay(writer);
    }
}

/// A turn that goes back however its round ends; after a round that broke down, to the thread, which finds the bench empty.
struct Borrowed<'a> {
    mailbox: &'a Mailbox,
    is_to_wake: bool,
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        self.mailbox.tray.return_turn(self.is_to_wake);
    }
}
