//! Who runs a writer: its thread, and, while that sleeps, whoever brings a few inputs. To wake a thread for one move costs more than
//! the move, and the thread that brought it is awake.
//!
//! The turn of the writer's tray says who has the writer, so that there is one at a time. Knows nothing of worlds.

use super::handle::WriterInbox;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// What a writer does.
pub(super) trait RoundRunner: Send {
    /// Keeps the distance between rounds; when there is something to do by itself.
    fn throttle(&mut self) -> Instant;
    /// One round. Whether more may follow.
    fn run_round(&mut self) -> bool;
    /// One round on the thread of somebody who brought a few inputs, if it is short. Whether the writer's own thread has something to
    /// do now.
    fn run_inline_round(&mut self) -> bool;
    /// Nothing follows.
    fn end(self: Box<Self>);
}

/// The place of a writer whose thread sleeps.
#[derive(Default)]
pub(super) struct ParkedWriter(Mutex<Option<Box<dyn RoundRunner>>>);

impl ParkedWriter {
    fn put(&self, writer: Box<dyn RoundRunner>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(writer);
    }

    fn take(&self) -> Option<Box<dyn RoundRunner>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Serves a world to its end in this process, on this thread and beside it.
pub(super) fn run_writer(mailbox: &WriterInbox, mut writer: Box<dyn RoundRunner>) {
    loop {
        let until = writer.throttle();
        mailbox.parked_writer.put(writer);
        mailbox.mailbox.wait(until);
        // It broke down on somebody else's thread, and has ended.
        let Some(back) = mailbox.parked_writer.take() else { return };
        writer = back;
        if !writer.run_round() {
            return writer.end();
        }
    }
}

/// One round by whoever has been lent the turn of a mailbox's tray.
pub(super) fn round_aside(mailbox: &WriterInbox) {
    let mut turn = InlineRun { inbox: mailbox, should_notify: true };
    if let Some(mut writer) = mailbox.parked_writer.take() {
        turn.should_notify = writer.run_inline_round();
        mailbox.parked_writer.put(writer);
    }
}

/// A turn that goes back however its round ends; after a round that broke down, to the thread, which finds the bench empty.
struct InlineRun<'a> {
    inbox: &'a WriterInbox,
    should_notify: bool,
}

impl Drop for InlineRun<'_> {
    fn drop(&mut self) {
        self.inbox.mailbox.finish_inline(self.should_notify);
    }
}
